//! Building arrays from their values, from which ranges and scales may be found.

use std::sync::{Mutex, PoisonError};

#[cfg(feature = "ndarray")]
use ndarray::{ArrayView, Dim, Dimension};

#[cfg(feature = "ndarray")]
use crate::array::convert::value_of;
use tida_kernels::codec::{Format, found};

use super::TileArrayBuilder;
use crate::acc::TileAcc;
use crate::array::TileArray;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::memory::coding::{CHUNK, Compress, Values, paths};
use crate::memory::element::Element;
use crate::memory::rows::each_row;

/// The lowest and the highest value of a component.
#[derive(Clone, Copy)]
struct Extremes {
    low: f64,
    high: f64,
    /// Whether one is NaN. Infinite ones are among the lowest or the highest.
    nan: bool,
}

impl Extremes {
    const NONE: Extremes = Extremes { low: f64::INFINITY, high: f64::NEG_INFINITY, nan: false };

    fn take(&mut self, x: f64) {
        (self.low, self.high, self.nan) = (self.low.min(x), self.high.max(x), self.nan || x.is_nan());
    }

    fn join(&mut self, other: &Extremes) {
        (self.low, self.high) = (self.low.min(other.low), self.high.max(other.high));
        self.nan |= other.nan;
    }
}

impl<T: Element, const D: usize> TileArrayBuilder<T, D> {
    /// Builds the array and sets its values, given row-major. Formats that depend on the values are found first.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let range = TileArray::<f64, 1>::builder([4]).storage(Format::FoundRange { bits: 16 });
    /// let u = range.build_slice(&acc, &[0.0, 1.0, 2.0, 5.0])?;
    /// let most = u.storage_report()?.components[0].absolute; // half a cell of the range
    /// assert!((u.read_box(u.domain())?[3] - 5.0).abs() <= most && most < 1e-4);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`build`](Self::build); values of the wrong number; values of which no format can be found (NaN,
    /// infinite); values that a given format cannot hold.
    pub fn build_slice(&self, acc: &TileAcc, values: &[T]) -> Result<TileArray<T, D>, Error> {
        let shape = self.spec.shape();
        let count = shape.iter().try_fold(1usize, |count, n| count.checked_mul(*n));
        if count != Some(values.len()) {
            return Err(self.spec.error(
                ErrorKind::Shape,
                format!("{} values", values.len()),
                format!("give one value for each of {shape:?}, row-major"),
            ));
        }
        let position = |at: [i64; D]| (0..D).fold(0, |n, d| n * shape[d] + at[d] as usize);
        let found = self.found(acc, |at, n| values[position(at) + n])?;
        let mut array = found.build(acc)?;
        array.write_box(array.domain(), values)?;
        Ok(array)
    }

    /// Builds the array and sets its values to those of another one, which may have other cuts and formats. Formats
    /// that depend on the values are found first. While it runs it takes memory for all values.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f32, 1>::builder([4]).build(&acc)?;
    /// u.fill(|[i]| i as f32)?;
    /// let halves = TileArray::builder([4]).storage(Format::Half).build_copy(&acc, &u)?;
    /// assert_eq!(halves.read_box(u.domain())?, [0.0, 1.0, 2.0, 3.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`build_slice`](Self::build_slice), and failed work on the other array.
    pub fn build_copy(&self, acc: &TileAcc, other: &TileArray<T, D>) -> Result<TileArray<T, D>, Error> {
        if other.shape() != self.spec.shape() {
            return Err(self.spec.error(
                ErrorKind::Shape,
                format!("an array of shape {:?}", other.shape()),
                format!("give one of shape {:?}", self.spec.shape()),
            ));
        }
        self.build_slice(acc, &other.read_box(other.domain())?)
    }

    /// Builds the array and sets its values from an `ndarray` array. Formats that depend on the values are found first.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let values = tida::ndarray::array![[1.0, 2.0], [3.0, 4.0]];
    /// let u = TileArray::<f64, 2>::builder([2, 2]).ghost(1).build_ndarray(&acc, &values.view())?;
    /// assert_eq!(u.to_ndarray()?, values);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`build_slice`](Self::build_slice).
    #[cfg(feature = "ndarray")]
    pub fn build_ndarray(
        &self,
        acc: &TileAcc,
        values: &ArrayView<'_, T, Dim<[usize; D]>>,
    ) -> Result<TileArray<T, D>, Error>
    where
        Dim<[usize; D]>: Dimension,
    {
        if values.shape() != self.spec.shape() {
            return Err(self.spec.error(
                ErrorKind::Shape,
                format!("an ndarray of shape {:?}", values.shape()),
                format!("give one of shape {:?}", self.spec.shape()),
            ));
        }
        let mut array = self.found(acc, value_of(values))?.build(acc)?;
        array.copy_from_ndarray(values)?;
        Ok(array)
    }

    /// Whether some formats depend on the values.
    pub(in crate::array) fn is_found(&self) -> bool {
        self.spec.is_found()
    }

    /// The same with all components as they are, also on the link.
    pub(in crate::array) fn raw(&self) -> Self {
        let mut raw = self.clone();
        (raw.spec.format, raw.spec.fields, raw.spec.compress) = (Format::Raw, Vec::new(), Compress::Device);
        raw
    }

    /// The same with the formats that are found from all values: `value(start of a row, position in it)`.
    fn found(&self, acc: &TileAcc, value: impl Fn([i64; D], usize) -> T + Sync) -> Result<Self, Error> {
        if !self.is_found() {
            return Ok(self.clone());
        }
        let (paths, types) = (paths(&T::TYPE), T::TYPE.component_types());
        let formats = self.spec.formats(&paths)?;
        // Cuts that cannot be are errors before the values are looked at.
        self.spec.cuts()?;
        let floats: Vec<usize> = (0..types.len()).filter(|n| formats[*n].is_found() && types[*n].is_float()).collect();
        let before: Vec<usize> = (0..types.len()).map(|n| types[..n].iter().map(|ty| ty.size()).sum()).collect();
        let all = Mutex::new(vec![Extremes::NONE; types.len()]);
        let domain = GridBox { lo: [0; D], hi: self.spec.shape().map(|n| n as i64) };
        acc.install(&|| {
            each_row(&domain, &|at, length| {
                let (mut values, mut row) = (Values::<T>::new(), vec![Extremes::NONE; types.len()]);
                for first in (0..length).step_by(CHUNK) {
                    let n = CHUNK.min(length - first);
                    (0..n).for_each(|k| values.put(k, value(at, first + k)));
                    for component in &floats {
                        let extremes = &mut row[*component];
                        values.each_float(types[*component], before[*component], n, |x| extremes.take(x));
                    }
                }
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                all.iter_mut().zip(&row).for_each(|(all, row)| all.join(row));
            });
        });
        let all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut made = self.clone();
        for component in &floats {
            let path = &paths[*component];
            // All components of one path have one format.
            let mut of_path = Extremes::NONE;
            paths.iter().zip(&all).filter(|(other, _)| *other == path).for_each(|(_, part)| of_path.join(part));
            let (low, high) = if of_path.nan { (f64::NAN, f64::NAN) } else { (of_path.low, of_path.high) };
            let format = found(&formats[*component], types[*component], low, high);
            let format = format.map_err(|refused| self.spec.refused(refused, path))?;
            match path.is_empty() {
                true => made.spec.format = format,
                false => made.spec.fields.push((path.clone(), format)),
            }
        }
        Ok(made)
    }
}
