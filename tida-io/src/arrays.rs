//! Arrays of any element type and number of axes.

use tida::array::{BoxView, Field, Recorded};
use tida::{Centering, Element, ErrorKind, GridBox, TileAcc, TileArray};

use crate::{Error, Result};

mod sealed {
    pub trait Sealed {}
    impl<T: tida::Element, const D: usize> Sealed for tida::TileArray<T, D> {}
}

/// An array of any element type and number of axes, to be written or read with others: a [`TileArray`], and nothing
/// else.
pub trait Stored: sealed::Sealed {
    /// It, whatever its type.
    #[doc(hidden)]
    fn any(&self) -> Any<'_>;
    /// It, to be read.
    #[doc(hidden)]
    fn any_mut(&mut self) -> AnyMut<'_>;
}

/// An array, whatever its type.
#[doc(hidden)]
pub struct Any<'a>(pub(crate) &'a dyn Source);

/// The same, to be set.
#[doc(hidden)]
pub struct AnyMut<'a>(pub(crate) &'a mut dyn Target);

impl std::fmt::Debug for Any<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Any").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for AnyMut<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnyMut").finish_non_exhaustive()
    }
}

/// What takes the values of a box: it is given a function that copies a field to bytes.
pub(crate) type Take = Box<dyn FnOnce(&dyn Fn(&Field, &mut [u8]) -> tida::Result<()>) + Send>;

/// What values are taken of.
pub(crate) trait Source {
    fn acc(&self) -> &TileAcc;
    /// What it is, under a name.
    fn info(&self, name: &str) -> ArrayInfo;
    /// Has the values of a box taken once they are there, on a rank.
    #[track_caller]
    fn take_later(&self, rank: usize, cells: &Cells, take: Take) -> tida::Result<Recorded>;
    /// The rank that has most of a box.
    fn rank_of(&self, cells: &Cells) -> usize;
    /// How many cells of a box this rank has.
    fn count_here(&self, cells: &Cells) -> usize;
}

/// What values are set in.
pub(crate) trait Target {
    fn acc(&self) -> &TileAcc;
    fn info(&self, name: &str) -> ArrayInfo;
    /// The cells that this rank has.
    fn here(&self) -> Cells;
    /// Says that each rank sets its cells next.
    #[track_caller]
    fn set_on_ranks(&mut self);
    #[track_caller]
    fn set(&mut self, cells: &Cells, field: &Field, bytes: &[u8]) -> tida::Result<()>;
}

/// A box of cells of an array of any number of axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cells {
    /// The first cell on each axis, the slowest first.
    pub start: Vec<usize>,
    /// How many cells.
    pub extent: Vec<usize>,
}

impl Cells {
    /// Number of cells.
    pub fn count(&self) -> usize {
        self.extent.iter().product()
    }

    /// The cells that another box has too, if there are any.
    pub(crate) fn within(&self, other: &Cells) -> Option<Cells> {
        let ranges = (0..self.start.len()).map(|d| {
            let start = self.start[d].max(other.start[d]);
            let end = (self.start[d] + self.extent[d]).min(other.start[d] + other.extent[d]);
            (start, end.saturating_sub(start))
        });
        let (start, extent): (Vec<_>, Vec<_>) = ranges.unzip();
        Some(Cells { start, extent }).filter(|both| both.count() > 0)
    }

    fn of<const D: usize>(cells: GridBox<D>) -> Cells {
        Cells { start: cells.lo.iter().map(|lo| *lo as usize).collect(), extent: cells.extent().to_vec() }
    }

    fn to_box<const D: usize>(&self) -> GridBox<D> {
        let lo = std::array::from_fn(|d| self.start[d] as i64);
        GridBox::new(lo, std::array::from_fn(|d| lo[d] + self.extent[d] as i64))
    }
}

/// What an array is, for those that write it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ArrayInfo {
    /// Its name.
    pub name: String,
    /// Number of values on each axis, the slowest first.
    pub shape: Vec<usize>,
    /// The extent of its first region.
    pub region: Vec<usize>,
    /// Whether an axis is face-centred.
    pub faces: Vec<bool>,
    /// What its elements are made of.
    pub fields: Vec<Field>,
}

impl ArrayInfo {
    /// Bytes of one element.
    pub fn bytes(&self) -> usize {
        self.fields.iter().map(Field::bytes).sum()
    }

    /// Whether the elements are structs, whose fields are arrays of their own in a group.
    pub fn is_group(&self) -> bool {
        self.fields.iter().any(|field| !field.name().is_empty())
    }
}

fn info<T: Element, const D: usize>(array: &TileArray<T, D>, name: &str) -> ArrayInfo {
    let region = array.region_box(0).map_or(array.shape(), |region| region.extent());
    ArrayInfo {
        name: name.to_owned(),
        shape: array.shape().to_vec(),
        region: region.to_vec(),
        faces: array.centering().map(|centering| centering == Centering::Face).to_vec(),
        fields: TileArray::<T, D>::fields(),
    }
}

impl<T: Element, const D: usize> Stored for TileArray<T, D> {
    fn any(&self) -> Any<'_> {
        Any(self)
    }

    fn any_mut(&mut self) -> AnyMut<'_> {
        AnyMut(self)
    }
}

impl<T: Element, const D: usize> Source for TileArray<T, D> {
    fn acc(&self) -> &TileAcc {
        TileArray::acc(self)
    }

    fn info(&self, name: &str) -> ArrayInfo {
        info(self, name)
    }

    #[track_caller]
    fn take_later(&self, rank: usize, cells: &Cells, take: Take) -> tida::Result<Recorded> {
        self.with_box_later_on(rank, cells.to_box(), move |values: &BoxView<'_, D>| {
            take(&|field, to| values.copy_together(field, to))
        })
    }

    fn rank_of(&self, cells: &Cells) -> usize {
        TileArray::rank_of(self, cells.to_box())
    }

    fn count_here(&self, cells: &Cells) -> usize {
        Cells::of(self.cells_here()).within(cells).map_or(0, |both| both.count())
    }
}

impl<T: Element, const D: usize> Target for TileArray<T, D> {
    fn acc(&self) -> &TileAcc {
        TileArray::acc(self)
    }

    fn here(&self) -> Cells {
        Cells::of(self.cells_here())
    }

    #[track_caller]
    fn set_on_ranks(&mut self) {
        TileArray::set_on_ranks(self);
    }

    fn info(&self, name: &str) -> ArrayInfo {
        info(self, name)
    }

    #[track_caller]
    fn set(&mut self, cells: &Cells, field: &Field, bytes: &[u8]) -> tida::Result<()> {
        self.write_box_field_here(cells.to_box(), field, bytes)
    }
}

/// The boxes of a grid of parts that cover an array, in row-major order; those at its ends may be smaller.
///
/// # Errors
/// Parts of another number of axes, or of no cells.
pub(crate) fn parts(array: &ArrayInfo, part: &[usize]) -> Result<Vec<Cells>> {
    let shape = &array.shape;
    if part.len() != shape.len() || part.contains(&0) {
        let found = format!("parts of {part:?} cells");
        let advice =
            "give the parts of each array one number for each axis, from 1 on, in `RegionSink` and `RegionSource`";
        return Err(Error::new(ErrorKind::Argument, format!("cut {:?} of shape {shape:?}", array.name), found, advice));
    }
    let counts: Vec<usize> = shape.iter().zip(part).map(|(n, part)| n.div_ceil(*part)).collect();
    let place = |mut number: usize| {
        let mut start = vec![0; shape.len()];
        for d in (0..shape.len()).rev() {
            start[d] = (number % counts[d]) * part[d];
            number /= counts[d];
        }
        let extent = (0..shape.len()).map(|d| part[d].min(shape[d] - start[d])).collect();
        Cells { start, extent }
    };
    Ok((0..counts.iter().product()).map(place).collect())
}

/// The largest part of an extent that divides it, has at most so many bytes, and is cut along as few axes as that
/// takes, the slowest first.
pub(crate) fn fitting(extent: &[usize], bytes: usize, most: usize) -> Vec<usize> {
    let mut part = extent.to_vec();
    for d in 0..part.len() {
        let rest: usize = part[d + 1..].iter().product::<usize>().saturating_mul(bytes);
        let fits = |n: &usize| n.saturating_mul(rest) <= most;
        let divisors = (1..=extent[d]).rev().filter(|n| extent[d].is_multiple_of(*n));
        let found = divisors.into_iter().find(fits);
        part[d] = found.unwrap_or(1);
        if found.is_some() {
            break;
        }
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_a_shape_once() {
        let acc = TileAcc::builder().device(tida::Device::Cpu).build().unwrap();
        let array = info(&TileArray::<f32, 2>::builder([5, 4]).build(&acc).unwrap(), "u");
        let all = parts(&array, &[2, 3]).unwrap();
        assert_eq!(all.len(), 6);
        assert_eq!(all[0], Cells { start: vec![0, 0], extent: vec![2, 3] });
        assert_eq!(all[5], Cells { start: vec![4, 3], extent: vec![1, 1] });
        assert_eq!(all.iter().map(Cells::count).sum::<usize>(), 20);
        for wrong in [&[2, 0][..], &[2], &[]] {
            assert_eq!(parts(&array, wrong).unwrap_err().kind(), ErrorKind::Argument);
        }
    }

    #[test]
    fn parts_fit_and_divide_what_they_are_parts_of() {
        assert_eq!(fitting(&[64, 10, 10], 8, 1 << 20), [64, 10, 10]);
        assert_eq!(fitting(&[64, 10, 10], 8, 8 * 100 * 20), [16, 10, 10]);
        assert_eq!(fitting(&[7, 10, 10], 8, 8 * 100 * 6), [1, 10, 10]);
        assert_eq!(fitting(&[7, 10, 10], 8, 8 * 20), [1, 2, 10]);
        assert_eq!(fitting(&[7, 10, 10], 8, 1), [1, 1, 1]);
    }
}
