//! Values of a box that recorded work will give.

use std::panic::Location;
use std::sync::{Arc, OnceLock};

use super::TileArray;
use super::host::{position, reserve};
use crate::acc::TileAcc;
use crate::error::{Error, ErrorKind};
use crate::grid::{GridBox, narrow};
use crate::memory::element::Element;
use crate::memory::layout::Layout;
use crate::memory::node::{Done, Node, Queue, Work};
use crate::memory::parts::OfRegion;
use crate::memory::rows::Row;
use crate::memory::slab::each_slab;
use crate::memory::storage::Storage;
use crate::memory::tracker::Mode;
use crate::record::wait::outside_kernels;

/// The result of [`TileArray::read_box_later`]: values of a box that are not there yet. The host can wait for them.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f64, 1>::builder([4]).build(&acc)?;
/// let mut seen = Vec::new();
/// for step in 0..3 {
///     for tile in TileIter::new(&u) {
///         compute(&tile, &mut u, kernel!(|u, at| u[at] = u[at] + 1.0))?;
///     }
///     seen.push(u.read_box_later(GridBox::new([1], [3]))?); // nobody waits
/// }
/// assert_eq!(seen[0].get()?, [1.0, 1.0]);
/// assert_eq!(seen[2].get()?, [3.0, 3.0]);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct BoxValues<T> {
    acc: TileAcc,
    /// The accelerator of all places of this rank, where their work may be needed too.
    all: Option<TileAcc>,
    node: Arc<Node>,
    values: Arc<OnceLock<Vec<T>>>,
}

impl<T> BoxValues<T> {
    /// Waits for the values, and gives them, row-major.
    ///
    /// # Errors
    /// The failure of work that the values depend on, or memory that the device does not have.
    #[track_caller]
    pub fn get(&self) -> Result<&[T], Error> {
        self.all.as_ref().map_or(Ok(()), TileAcc::flush)?;
        self.acc.wait_node(&self.node)?;
        self.values.get().map(Vec::as_slice).ok_or_else(|| {
            Error::new(
                ErrorKind::Panic,
                "get the values of a box",
                "none",
                "report this as a bug of tida: a box that came had none",
            )
        })
    }

    /// What ends when they are there.
    pub(super) fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// The values, if they are there already.
    pub fn try_get(&self) -> Option<&[T]> {
        self.values.get().map(Vec::as_slice)
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for BoxValues<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("BoxValues").field(&self.values.get()).finish()
    }
}

/// A box on its way, whose values come row by row.
struct Coming<T, const D: usize> {
    cells: GridBox<D>,
    layout: Arc<Layout<D>>,
    storage: Arc<Storage>,
    values: Vec<T>,
    to: Arc<OnceLock<Vec<T>>>,
}

impl<T: Element, const D: usize> Coming<T, D> {
    /// Takes the rows of a part.
    ///
    /// # Safety
    /// As [`Coming::take_stretches`].
    unsafe fn take<'a>(&mut self, part: &GridBox<4>, row: impl Fn([i64; D], usize) -> Row<'a>) {
        let part = narrow::<D>(part);
        // SAFETY: handed on.
        unsafe { self.take_stretches(part.rows().map(|at| (at, part.extent()[D - 1])), row) }
    }

    /// Takes stretches of cells that follow one another in the box, each by its first cell and their number.
    ///
    /// # Safety
    /// `row` gives such stretches of elements `T` in memory that nobody writes meanwhile, of cells of the box.
    unsafe fn take_stretches<'a>(
        &mut self,
        stretches: impl Iterator<Item = ([i64; D], usize)>,
        row: impl Fn([i64; D], usize) -> Row<'a>,
    ) {
        let (extent, out) = (self.cells.extent(), self.values.as_mut_ptr());
        for (at, length) in stretches {
            let first = position(&self.cells, &extent, at);
            // SAFETY: the caller's promise; there is room for all cells of the box.
            unsafe { row(at, length).get::<T>(|n, value| out.add(first + n).write(value)) };
        }
    }

    /// Takes parts of the host's memory.
    ///
    /// # Safety
    /// Nobody writes them meanwhile.
    ///
    /// # Errors
    /// A file that cannot be read.
    unsafe fn take_here(&mut self, parts: &[OfRegion]) -> Result<(), Error> {
        let (layout, storage) = (self.layout.clone(), self.storage.clone());
        if let Some(backing) = storage.backing() {
            let mut take = |slab: &Layout<D>, memory: &Storage, _: usize, cells: GridBox<4>| {
                // SAFETY: the caller's promise; the rows are in the slab.
                unsafe { self.take(&cells, |at, length| Row::new(slab, memory, 0, at, length)) };
                Ok(())
            };
            // SAFETY: the caller's promise, and the layout is the array's.
            return unsafe { each_slab((&layout, &storage, backing), parts, false, &mut take) };
        }
        for (region, cells) in parts {
            storage.unpack(*region);
            // SAFETY: the caller's promise; the rows are in the region.
            unsafe { self.take(cells, |at, length| Row::new(&layout, &storage, *region, at, length)) };
        }
        Ok(())
    }

    /// Hands the values out.
    ///
    /// # Safety
    /// All of them were taken.
    unsafe fn end(mut self) {
        // SAFETY: the caller's promise; there is room for all cells of the box.
        unsafe { self.values.set_len(if self.cells.is_empty() { 0 } else { self.cells.cells() }) };
        let _ = self.to.set(self.values);
    }

    /// Puts what brings the parts into the stream of a node on the device; the host's are taken at once.
    ///
    /// # Safety
    /// The node reads these parts: no one writes them meanwhile.
    unsafe fn send(mut self, queue: &Queue<'_>, parts: &[OfRegion]) -> Result<Done, Error> {
        let (layout, storage) = (self.layout.clone(), self.storage.clone());
        // SAFETY: the caller's promise, and the layout is the array's.
        let (sent, here) = unsafe { storage.send_boxes(queue, (&layout.wide, &layout.element), parts)? };
        // SAFETY: the caller's promise.
        unsafe { self.take_here(&here)? };
        let device = queue.device.clone();
        Ok(Box::new(move || {
            if let Some((batch, coming)) = sent {
                let host = coming.passage.host.start();
                for part in &batch.parts {
                    let row = |at, length| {
                        // SAFETY: the part is in the passage by now, which nobody else has.
                        unsafe { Row::packed(&layout, part, host, at, length) }
                    };
                    let stretches = narrow::<D>(&part.cells).stretches(&self.cells);
                    // SAFETY: a part lies packed: its cells follow one another there.
                    unsafe { self.take_stretches(stretches, row) };
                }
                device.passages().give(coming.passage);
            }
            // SAFETY: the parts that came and those that were here are all of the box.
            unsafe { self.end() };
            Ok(())
        }))
    }
}

impl<T: Element, const D: usize> TileArray<T, D> {
    /// Records that a box is read as the array is now, and returns at once: [`BoxValues::get`] waits for the values.
    /// What is recorded later may change the array meanwhile.
    ///
    /// Where the newest values are on a device, the box is packed there between the steps before and after it, and
    /// crosses the link while later steps run. It ends steps that were held back to run as one launch, and work that
    /// streams, if those touch this array: their values are needed in between.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f64, 2>::builder([2, 3]).build(&acc)?;
    /// u.fill(|[row, column]| (10 * row + column) as f64)?;
    /// let second = u.read_box_later(GridBox::new([1, 0], [2, 3]))?;
    /// u.fill_value(0.0)?;
    /// assert_eq!(second.get()?, [10.0, 11.0, 12.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// Of several ranks all make the call, and each is given the values.
    ///
    /// # Errors
    /// A box that reaches outside the domain; no memory for the result. Failed work shows at [`BoxValues::get`].
    #[track_caller]
    pub fn read_box_later(&self, cells: GridBox<D>) -> Result<BoxValues<T>, Error> {
        outside_kernels("read a box")?;
        let count = self.check_box("read", &cells)?;
        if self.is_parted() {
            return self.read_parts_later(&cells, count);
        }
        let (mut values, to) = (Vec::new(), Arc::new(OnceLock::new()));
        reserve(&mut values, count)?;
        let parts = self.owned(&cells);
        let touches = self.touches(&parts, &|_| Mode::Look);
        let (layout, storage) = (self.layout.clone(), self.storage.clone());
        let mut coming = Coming { cells, layout, storage, values, to: to.clone() };
        let work = match self.acc.core().device {
            // SAFETY: the node's touches keep all work away that writes the parts.
            Some(_) => Work::Device(Box::new(move |queue| unsafe { coming.send(queue, &parts) })),
            None => Work::Host(Box::new(move || {
                // SAFETY: as above; the parts are all of the box.
                unsafe {
                    coming.take_here(&parts)?;
                    coming.end();
                }
                Ok(())
            })),
        };
        let node = self.acc.record_node("read_box", Location::caller(), &touches, &[], work);
        Ok(BoxValues { acc: self.acc.clone(), all: None, node, values: to })
    }

    /// The same of an array on several places: each reads its part, and one of them puts these together. Of several
    /// ranks each gives what it has to all others.
    #[track_caller]
    fn read_parts_later(&self, cells: &GridBox<D>, count: usize) -> Result<BoxValues<T>, Error> {
        let recorded = Location::caller();
        let shared = if self.is_everywhere() { None } else { self.shared_call("read_box_later", recorded) };
        let shared = shared.filter(|(world, _)| world.ranks() > 1);
        let parts = self.of_parts(cells);
        let read = |(number, cells): &(usize, GridBox<D>)| self.parts[*number].read_box_later(*cells);
        let (mut values, to) = (Vec::new(), Arc::new(OnceLock::new()));
        // A rank without memory for all has made the call too, and tells the others.
        let room = reserve(&mut values, count);
        let own = room.and_then(|()| parts.iter().map(read).collect::<Result<Vec<BoxValues<T>>, Error>>());
        let home =
            parts.first().map_or_else(|| self.acc.places()[0].clone(), |(number, _)| self.parts[*number].acc.clone());
        let given = match shared {
            Some((world, call)) => self.exchange_later((world, call), &home, cells, own.as_ref().map_err(Error::clone)),
            None => Vec::new(),
        };
        let own = own?;
        if let ([one], []) = (own.as_slice(), given.as_slice()) {
            return Ok(one.clone());
        }
        let nodes: Vec<Arc<Node>> =
            own.iter().map(|part| &part.node).chain(given.iter().map(|of| &of.node)).cloned().collect();
        let (all, here) = (to.clone(), self.acc.rank());
        let work = Work::Host(Box::new(move || {
            // Parts are runs of the first axis: what ranks and their places have follows one another.
            let (before, after) = given.iter().partition::<Vec<_>, _>(|of| of.rank < here);
            before.into_iter().for_each(|of| of.append(&mut values));
            own.iter().filter_map(BoxValues::try_get).for_each(|part| values.extend_from_slice(part));
            after.into_iter().for_each(|of| of.append(&mut values));
            let _ = all.set(values);
            Ok(())
        }));
        let node = home.record_node("read_box", recorded, &[], &nodes, work);
        Ok(BoxValues { acc: home, all: Some(self.acc.clone()), node, values: to })
    }
}
