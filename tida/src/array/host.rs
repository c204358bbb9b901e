//! Reading and writing values from the host.

use std::sync::atomic::{AtomicU64, Ordering};

use super::TileArray;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::memory::element::Element;
use crate::memory::rows::{Row, Shared, each_owned_row};

impl<T: Element, const D: usize> TileArray<T, D> {
    /// Sets every valid value to `value(index)`, on all threads, and waits until that is done. Ghosts keep what they
    /// held.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 2>::builder([2, 3]).build(&acc)?;
    /// u.fill(|[row, column]| (10 * row + column) as f64)?;
    /// assert_eq!(u.read_box(u.domain())?, [0.0, 1.0, 2.0, 10.0, 11.0, 12.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Values that the array's format cannot hold, if it is one of [`Saturation::Error`](crate::Saturation::Error); the
    /// array then has the nearest ones. Failures of work before are no errors here: what they spoiled is overwritten.
    #[track_caller]
    pub fn fill(&mut self, value: impl Fn([usize; D]) -> T + Sync) -> Result<(), Error> {
        let domain = self.layout.domain();
        self.write_rows(&domain, true, |at, n| {
            let mut index = at.map(|x| x as usize);
            index[D - 1] += n;
            value(index)
        })
    }

    /// Sets every valid value to `value`; waits until done. Ghosts are older than the cells then.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<i32, 1>::builder([3]).build(&acc)?;
    /// u.fill_value(7)?;
    /// assert_eq!(u.read_box(u.domain())?, [7; 3]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`fill`](TileArray::fill).
    #[track_caller]
    pub fn fill_value(&mut self, value: T) -> Result<(), Error> {
        let domain = self.layout.domain();
        self.write_rows(&domain, true, |_, _| value)
    }

    /// The valid values of a box, row-major. Waits for recorded work that they need.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 2>::builder([2, 3]).build(&acc)?;
    /// u.fill(|[row, column]| (10 * row + column) as f64)?;
    /// assert_eq!(u.read_box(GridBox::new([0, 1], [2, 2]))?, [1.0, 11.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A box that reaches outside the domain; no memory for the result; failed work that the values need.
    #[track_caller]
    pub fn read_box(&self, cells: GridBox<D>) -> Result<Vec<T>, Error> {
        let count = self.check_box("read", &cells)?;
        self.wait_for_box(&cells, false)?;
        let mut values: Vec<T> = Vec::new();
        reserve(&mut values, count)?;
        let out = Shared::new(values.as_mut_ptr());
        let (layout, storage, extent) = (&self.layout, &self.storage, cells.extent());
        self.acc.install(&|| {
            each_owned_row(layout, &cells, |region, at, length| {
                let first = position(&cells, &extent, at);
                // SAFETY: the row is in the region, of elements `T`; nothing recorded writes it while `self` is
                // borrowed, and what was recorded before has run.
                unsafe {
                    Row::new(layout, storage, region, at, length).get::<T>(|n, v| out.get().add(first + n).write(v))
                };
            });
        });
        // SAFETY: the regions' valid boxes cover the domain, so every value of the box was written.
        unsafe { values.set_len(count) };
        Ok(values)
    }

    /// Sets the valid values of a box from `values`, row-major. Waits for recorded work on them.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 2>::builder([2, 3]).build(&acc)?;
    /// u.write_box(GridBox::new([1, 0], [2, 2]), &[5.0, 6.0])?;
    /// assert_eq!(u.read_box(u.domain())?, [0.0, 0.0, 0.0, 5.0, 6.0, 0.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A box that reaches outside the domain; values of the wrong number; failed work on the array; values that the
    /// array's format cannot hold, as for [`fill`](TileArray::fill).
    #[track_caller]
    pub fn write_box(&mut self, cells: GridBox<D>, values: &[T]) -> Result<(), Error> {
        let count = self.check_box("write", &cells)?;
        if values.len() != count {
            return Err(Error::new(
                ErrorKind::Shape,
                format!("write the box {:?}..{:?} of {count} values", cells.lo, cells.hi),
                format!("{} values", values.len()),
                "give one value for each cell of the box, row-major",
            ));
        }
        let extent = cells.extent();
        self.write_rows(&cells, cells == self.layout.domain(), |at, n| values[position(&cells, &extent, at) + n])
    }

    /// Sets the values of a box inside the domain: `value(start of a row, position in it)`.
    #[track_caller]
    pub(super) fn write_rows(
        &mut self,
        cells: &GridBox<D>,
        all: bool,
        value: impl Fn([i64; D], usize) -> T + Sync,
    ) -> Result<(), Error> {
        if all {
            self.wait_to_replace()?
        } else {
            self.wait_for_box(cells, true)?
        };
        let (layout, storage) = (&self.layout, &self.storage);
        // Before the values, so that a panic of `value` leaves ghosts stale too.
        self.tracker.cells_written();
        let saturated = AtomicU64::new(0);
        self.acc.install_user(&|| {
            each_owned_row(layout, cells, |region, at, length| {
                // SAFETY: the row is in the region, of elements `T`; each row is handed to one thread, and recorded
                // work on the array, of which `self` is the only handle, has run.
                let beyond = unsafe { Row::new(layout, storage, region, at, length).set::<T>(|n| value(at, n)) };
                if beyond > 0 {
                    saturated.fetch_add(beyond, Ordering::Relaxed);
                }
            });
        })?;
        self.saturate(saturated.into_inner())
    }

    /// Counts values that the host wrote and the formats cannot hold.
    ///
    /// # Errors
    /// As the array's [`Saturation`](crate::Saturation) says.
    pub(super) fn saturate(&self, values: u64) -> Result<(), Error> {
        let counted = self.storage.saturate(values, || format!("write values into an array of {}", T::TYPE));
        self.storage.warn();
        counted
    }

    /// Number of cells of a box inside the domain.
    pub(super) fn check_box(&self, what: &str, cells: &GridBox<D>) -> Result<usize, Error> {
        if self.layout.domain().contains_box(cells) {
            return Ok(if cells.is_empty() { 0 } else { cells.cells() });
        }
        Err(Error::new(
            ErrorKind::OutOfRange,
            format!("{what} the box {:?}..{:?} of an array", cells.lo, cells.hi),
            format!("a domain of 0..{:?}", self.layout.shape),
            "keep the box inside the domain; ghost cells are reached by `with_grown_region`",
        ))
    }
}

/// Makes room for `count` values.
pub(crate) fn reserve<T>(values: &mut Vec<T>, count: usize) -> Result<(), Error> {
    values.try_reserve_exact(count).map_err(|_| {
        Error::new(
            ErrorKind::Memory,
            format!("read {count} values"),
            format!("no memory for {} bytes", count.saturating_mul(size_of::<T>())),
            "read smaller boxes, or write the array to a file",
        )
    })
}

/// Position of `at` in the row-major list of the cells of a box.
fn position<const D: usize>(cells: &GridBox<D>, extent: &[usize; D], at: [i64; D]) -> usize {
    (0..D).fold(0, |n, d| n * extent[d] + (at[d] - cells.lo[d]) as usize)
}
