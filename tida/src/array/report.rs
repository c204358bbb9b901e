//! What formats cost and what they change (Salehi ch. 6 measures such errors).

use tida_kernels::codec::Format;

use super::TileArray;
use crate::error::{Error, ErrorKind};
use crate::memory::coding::{ComponentReport, Compress, StorageErrors, StorageReport, paths};
use crate::memory::element::Element;

impl<T: Element, const D: usize> TileArray<T, D> {
    /// What the array's formats cost and change: bounds of each component, values that saturated, bytes of a cell.
    /// Waits for recorded work, which may saturate more.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let u = TileArray::<f64, 1>::builder([4]).storage(Format::Range { bits: 16, min: 0.0, max: 1.0 }).build(&acc)?;
    /// let report = u.storage_report()?;
    /// assert_eq!((report.stored_bytes, report.raw_bytes, report.saturated), (2, 8, 0));
    /// assert_eq!(report.components[0].absolute, 0.5 / 65536.0); // half of one of 2^16 steps
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Failed work on the array.
    #[track_caller]
    pub fn storage_report(&self) -> Result<StorageReport, Error> {
        self.wait_to_read()?;
        let coding = self.layout.coding.as_deref();
        let components = paths(&T::TYPE).into_iter().enumerate().map(|(number, name)| {
            let codec = coding.and_then(|coding| coding.codec(number));
            let (absolute, relative) = codec.map_or((0.0, 0.0), |codec| codec.bound());
            let format = coding.and_then(|coding| coding.formats.get(number)).copied().unwrap_or(Format::Raw);
            ComponentReport { name, format, absolute, relative }
        });
        Ok(StorageReport {
            components: components.collect(),
            saturated: self.storage.saturated()
                + self.owners().iter().map(|part| part.storage.saturated()).sum::<u64>(),
            compress: coding.map_or(Compress::default(), |coding| coding.compress),
            stored_bytes: self.layout.element.bytes(),
            link_bytes: coding.map_or(T::TYPE.bytes(), |coding| coding.codes.bytes()),
            raw_bytes: T::TYPE.bytes(),
        })
    }
}

impl<T: Element + Into<f64>, const D: usize> TileArray<T, D> {
    /// The errors of the valid values against those of `raw`, an array of the same shape, for one that was computed
    /// raw.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut raw = TileArray::<f32, 1>::builder([2]).build(&acc)?;
    /// raw.write_box(raw.domain(), &[1.0, 0.1])?;
    /// let halves = TileArray::<f32, 1>::builder([2]).storage(Format::Half).build_copy(&acc, &raw)?;
    /// let errors = halves.storage_report_against(&raw)?;
    /// assert!(errors.values == 2 && errors.max > 0.0 && errors.max < 1e-3);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// An array of another shape; failed work on either; no memory for their values.
    #[track_caller]
    pub fn storage_report_against(&self, raw: &TileArray<T, D>) -> Result<StorageErrors, Error> {
        if self.shape() != raw.shape() {
            return Err(Error::new(
                ErrorKind::Shape,
                format!("compare an array of shape {:?}", self.shape()),
                format!("one of shape {:?}", raw.shape()),
                "compare arrays of one shape",
            ));
        }
        let (mut errors, mut sum, mut logarithms, mut different) = (StorageErrors::default(), 0.0, 0.0, 0u64);
        let whole = self.domain();
        // A plane at a time, so that large arrays are never held twice.
        for at in whole.lo[0]..whole.hi[0] {
            let mut plane = whole;
            (plane.lo[0], plane.hi[0]) = (at, at + 1);
            for (kept, exact) in self.read_box(plane)?.into_iter().zip(raw.read_box(plane)?) {
                let (kept, exact): (f64, f64) = (kept.into(), exact.into());
                if exact == 0.0 || !exact.is_finite() {
                    continue;
                }
                let error = ((kept - exact) / exact).abs();
                errors.values += 1;
                errors.max = errors.max.max(error);
                errors.max_absolute = errors.max_absolute.max((kept - exact).abs());
                sum += error;
                if error > 0.0 {
                    logarithms += error.ln();
                    different += 1;
                }
            }
        }
        errors.mean = if errors.values > 0 { sum / errors.values as f64 } else { 0.0 };
        errors.geometric_mean = if different > 0 { (logarithms / different as f64).exp() } else { 0.0 };
        Ok(errors)
    }
}
