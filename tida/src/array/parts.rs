//! Reading and writing parts of regions where they are: on the host, or on the device, from where they come packed.

use super::TileArray;
use super::host::{position, reserve};
use super::untyped::Untyped;
use crate::error::Error;
use crate::grid::GridBox;
use crate::memory::element::Element;
use crate::memory::parts::OfRegion;
use crate::memory::rows::{Row, Shared};
use crate::memory::tracker::{Mode, Touch};

/// The values of a box: of each row that starts at a cell, one for each position in it. So what writes arrays is
/// compiled once for each element, and not for each closure.
pub(super) trait RowValues<T, const D: usize>: Sync {
    /// Sets a row that starts at a cell; gives how many components saturated.
    ///
    /// # Safety
    /// As [`Row::set`], of elements `T`.
    unsafe fn set(&self, row: &Row<'_>, at: [i64; D]) -> u64;
}

impl<T: Element, F: Fn([i64; D], usize) -> T + Sync, const D: usize> RowValues<T, D> for F {
    unsafe fn set(&self, row: &Row<'_>, at: [i64; D]) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { row.set::<T>(|n| self(at, n)) }
    }
}

impl<T: Element, const D: usize> TileArray<T, D> {
    /// What it is but for its element.
    pub(super) fn untyped(&self) -> Untyped<'_, D> {
        let (acc, layout, storage, tracker) = (&self.acc, &self.layout, &self.storage, &self.tracker);
        Untyped { acc, layout, storage, tracker, element: &const { T::TYPE } }
    }

    /// The parts of a box inside the domain, each with the region that owns it.
    pub(super) fn owned(&self, cells: &GridBox<D>) -> Vec<OfRegion> {
        self.layout.parts(cells)
    }

    /// Touches of the regions of parts.
    pub(super) fn touches(&self, parts: &[OfRegion], mode: &dyn Fn(&OfRegion) -> Mode) -> Vec<Touch> {
        self.untyped().touches(parts, mode)
    }

    /// The values of a box of `count` cells, of which each region has one of these parts.
    #[track_caller]
    pub(super) fn read_parts(&self, cells: &GridBox<D>, count: usize, parts: &[OfRegion]) -> Result<Vec<T>, Error> {
        let array = self.untyped();
        let parted = array.wait_for_parts(parts)?;
        let mut values: Vec<T> = Vec::new();
        reserve(&mut values, count)?;
        let (out, extent) = (Shared::new(values.as_mut_ptr()), cells.extent());
        array.take_parts(parted, &|row: Row<'_>, at: [i64; D]| {
            let first = position(cells, &extent, at);
            // SAFETY: the row is in memory, of elements `T`; nothing recorded writes it while `self` is borrowed, and
            // what was recorded before has run. There is room for all cells of the box.
            unsafe { row.get::<T>(|n, value| out.get().add(first + n).write(value)) };
        })?;
        // SAFETY: the parts cover the box, so every value of it was written.
        unsafe { values.set_len(count) };
        Ok(values)
    }

    /// Sets the values of parts of regions.
    #[track_caller]
    pub(super) fn write_parts(&mut self, parts: &[OfRegion], values: &dyn RowValues<T, D>) -> Result<(), Error> {
        // SAFETY: the row is in memory, of elements `T`; each row is handed to one thread, and recorded work on the
        // array, of which `self` is the only handle, has run.
        self.untyped().set_parts(parts, &|row: Row<'_>, at| unsafe { values.set(&row, at) })
    }
}
