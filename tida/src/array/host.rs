//! Reading and writing values from the host.

use std::panic::Location;

use super::TileArray;
use super::parts::RowValues;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::memory::element::Element;
use crate::memory::rows::Row;
use crate::memory::tracker::Side;

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
    ///
    /// # Panics
    /// If `value` does. Some cells are set then, and others not.
    #[track_caller]
    pub fn fill(&mut self, value: impl Fn([usize; D]) -> T + Sync) -> Result<(), Error> {
        let domain = self.layout.domain();
        self.write_rows(&domain, &|at: [i64; D], n: usize| {
            let mut index = at.map(|x| x as usize);
            index[D - 1] += n;
            value(index)
        })
    }

    /// The same value for all cells, set by the host.
    #[track_caller]
    pub(crate) fn fill_here(&mut self, value: T) -> Result<(), Error> {
        let domain = self.layout.domain();
        self.write_rows(&domain, &|_: [i64; D], _: usize| value)
    }

    /// Whether kernels find the values on a device, or will: those that were recorded put them there. Values that a
    /// format may not hold are set by the host, which says so at once.
    pub(crate) fn is_filled_there(&self) -> bool {
        let (tracker, storage) = (&self.tracker, &self.storage);
        let coded = storage.coding().is_some();
        if tracker.side() != Side::Device || coded || storage.backing().is_some() || !storage.is_reserved() {
            return false;
        }
        let mut nodes = Vec::new();
        tracker.pending(None, true, &mut nodes);
        nodes.iter().any(|node| node.on_device && !node.is_finished()) || storage.count_on_device() == storage.regions()
    }

    /// The valid values of a box, row-major. Waits for recorded work that they need.
    ///
    /// Where the newest values are on a device, the box alone crosses the link: it is packed there, and the region
    /// stays. Of regions that lie wholly in the box all comes, and the host has them too from then on.
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
        if !self.is_parted() {
            return self.read_parts(&cells, count, &self.owned(&cells));
        }
        // What is everywhere each rank has by itself.
        let shared = if self.is_everywhere() { None } else { self.shared_call("read_box", Location::caller()) };
        self.start_all()?;
        match shared {
            Some((world, call)) => self.read_ranks(world, call, &cells, count),
            None => self.read_here(&cells, count),
        }
    }

    /// The values of what this rank has of a box.
    #[track_caller]
    pub(super) fn read_here(&self, cells: &GridBox<D>, count: usize) -> Result<Vec<T>, Error> {
        let mut values = Vec::new();
        reserve(&mut values, count)?;
        // Parts are runs of the first axis: what they have follows one another.
        self.each_part_of(cells, &mut |part, cells| {
            values.extend(part.read_parts(&cells, cells.cells(), &part.owned(&cells))?);
            Ok(())
        })?;
        Ok(values)
    }

    /// Sets the valid values of a box from `values`, row-major. Waits for recorded work on them.
    ///
    /// Where the newest values of a region are on a device, the box alone goes there; where the host has them too, it
    /// is written on both sides. A region that lies wholly in the box is written on the host, and moves when a kernel
    /// needs it.
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
        check_values(&cells, count, values.len())?;
        let extent = cells.extent();
        let value = |at: [i64; D], n: usize| values[position(&cells, &extent, at) + n];
        if cells == self.layout.domain() {
            return self.write_rows(&cells, &value);
        }
        self.shared_call("write_box", Location::caller());
        self.start_all()?;
        if self.is_parted() {
            return self.each_part_mut(&cells, &mut |part, cells| part.write_parts(&part.owned(&cells), &value));
        }
        let boxes = self.owned(&cells);
        self.write_parts(&boxes, &value)
    }

    /// The values of a box of one region's memory, row-major: of cells that it owns, and of its ghosts as they are.
    /// Waits for recorded work that they need.
    ///
    /// It moves as [`read_box`](TileArray::read_box) does; [`with_grown_region`](TileArray::with_grown_region) needs
    /// all of the region on the host. Where an array is cut along its first axis alone, the region comes whole for
    /// ghosts between regions, which have no memory of their own on a device.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 1>::builder([3]).ghost(1).boundary(Boundary::Fixed(9.0)).build(&acc)?;
    /// u.fill_ghosts()?;
    /// assert_eq!(u.read_grown_box(0, GridBox::new([-1], [1]))?, [9.0, 0.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A region that there is not, or a box that reaches outside its [`grown_box`](TileArray::grown_box); no memory for
    /// the result; failed work that the values need.
    #[track_caller]
    pub fn read_grown_box(&self, region: usize, cells: GridBox<D>) -> Result<Vec<T>, Error> {
        let count = self.untyped().check_grown("read", region, &cells)?;
        self.start_all()?;
        if let Some((part, of_part)) = self.part_of(region) {
            self.check_here(part, &|| format!("read cells and ghosts of region {region}"))?;
            let region = of_part;
            return self.parts[part].read_parts(&cells, count, &[(region, cells.widen())]);
        }
        self.read_parts(&cells, count, &[(region, cells.widen())])
    }

    /// Sets the values of a box of one region's memory from `values`, row-major: cells that it owns, and its ghosts.
    /// Waits for recorded work on them. The next [`fill_ghosts`](TileArray::fill_ghosts) replaces ghosts that have a
    /// boundary, and those that another region owns.
    ///
    /// It moves as [`write_box`](TileArray::write_box) does, and as [`read_grown_box`](TileArray::read_grown_box) where
    /// that has all of a region come.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 1>::builder([3]).ghost(1).build(&acc)?; // open: the user fills the ghosts
    /// u.write_grown_box(0, GridBox::new([3], [4]), &[8.0])?;
    /// assert_eq!(u.read_grown_box(0, GridBox::new([-1], [4]))?, [0.0, 0.0, 0.0, 0.0, 8.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`read_grown_box`](TileArray::read_grown_box), and as [`write_box`](TileArray::write_box).
    #[track_caller]
    pub fn write_grown_box(&mut self, region: usize, cells: GridBox<D>, values: &[T]) -> Result<(), Error> {
        let count = self.untyped().check_grown("write", region, &cells)?;
        check_values(&cells, count, values.len())?;
        let extent = cells.extent();
        let value = |at: [i64; D], n: usize| values[position(&cells, &extent, at) + n];
        if self.is_everywhere() {
            self.shared_call("write_grown_box", Location::caller());
        }
        self.start_all()?;
        // Where another rank has the region, it makes the same call.
        for (part, region) in self.parts_of(region) {
            self.parts[part].write_parts(&[(region, cells.widen())], &value)?;
        }
        if !self.is_parted() {
            self.write_parts(&[(region, cells.widen())], &value)?;
        }
        self.tracker.ages.ghosts_overwritten(true);
        Ok(())
    }

    /// Sets the values of all cells.
    #[track_caller]
    pub(super) fn write_rows(&mut self, cells: &GridBox<D>, values: &dyn RowValues<T, D>) -> Result<(), Error> {
        self.shared_call("write values", Location::caller());
        self.start_all()?;
        if self.is_parted() {
            return self.each_part_mut(cells, &mut |part, cells| part.write_rows(&cells, values));
        }
        self.wait_to_replace()?;
        // Before the values, so that a panic of `values` leaves ghosts stale too.
        self.tracker.ages.cells_written();
        // SAFETY: the row is in memory, of elements `T`; each row is handed to one thread, and recorded work on the
        // array, of which `self` is the only handle, has run.
        self.untyped().set_rows(cells, &|row: Row<'_>, at| unsafe { values.set(&row, at) })
    }

    /// Counts values that the host wrote and the formats cannot hold.
    ///
    /// # Errors
    /// As the array's [`Saturation`](crate::Saturation) says.
    pub(super) fn saturate(&self, values: u64) -> Result<(), Error> {
        self.untyped().saturate(values)
    }

    /// Number of cells of a box inside the domain.
    pub(super) fn check_box(&self, what: &str, cells: &GridBox<D>) -> Result<usize, Error> {
        self.layout.check_box(what, cells)
    }
}

/// Demands as many values as a box has cells.
fn check_values<const D: usize>(cells: &GridBox<D>, count: usize, found: usize) -> Result<(), Error> {
    if found == count {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Shape,
        format!("write the box {:?}..{:?} of {count} values", cells.lo, cells.hi),
        format!("{found} values"),
        "give one value for each cell of the box, row-major",
    ))
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
pub(super) fn position<const D: usize>(cells: &GridBox<D>, extent: &[usize; D], at: [i64; D]) -> usize {
    (0..D).fold(0, |n, d| n * extent[d] + (at[d] - cells.lo[d]) as usize)
}
