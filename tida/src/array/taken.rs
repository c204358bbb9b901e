//! Values for files and other programs, as bytes: taken in the order of recorded work, and set from the host.

use std::panic::Location;
use std::sync::{Arc, OnceLock};

use tida_kernels::element::{ElementType, ScalarType};

use super::TileArray;
use super::fields::{Field, fields_of};
use super::host::position;
use super::npy::stream::{Component, Values, components};
use crate::acc::TileAcc;
use crate::error::{Error, ErrorKind};
use crate::grid::{GridBox, narrow};
use crate::memory::element::Element;
use crate::memory::layout::Layout;
use crate::memory::node::{Node, Work};
use crate::memory::slab::each_slab;
use crate::memory::storage::Storage;
use crate::memory::tracker::{Mode, Touch};
use crate::parallel;
use crate::ranks::Bytes;
use crate::record::wait::{InKernel, outside_kernels};

/// Recorded work that the host can wait for. See [`TileArray::with_box_later`].
///
/// Nothing happens when it is dropped: the work runs all the same.
#[derive(Clone)]
pub struct Recorded {
    acc: TileAcc,
    /// Each with the accelerator of its place. None where other ranks do all of it.
    nodes: Vec<(TileAcc, Arc<Node>)>,
}

impl Recorded {
    /// Work on several places, or on none of this rank.
    pub(super) fn of(acc: &TileAcc, nodes: Vec<(TileAcc, Arc<Node>)>) -> Recorded {
        Recorded { acc: acc.clone(), nodes }
    }

    /// Waits until the work has run.
    ///
    /// # Errors
    /// Its failure, or that of work that it depends on; it did not run then.
    #[track_caller]
    pub fn wait(&self) -> Result<(), Error> {
        // It may need what other places have recorded.
        self.acc.flush()?;
        self.nodes.iter().try_for_each(|(acc, node)| acc.wait_node(node))
    }

    /// Whether it has run, or failed.
    pub fn is_done(&self) -> bool {
        self.nodes.iter().all(|(_, node)| node.is_finished())
    }
}

impl std::fmt::Debug for Recorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let work = self.nodes.first().map(|(_, node)| node.name);
        f.debug_struct("Recorded").field("work", &work).field("done", &self.is_done()).finish()
    }
}

/// The values of a box of cells, for as long as [`TileArray::with_box_later`] calls its closure.
pub struct BoxView<'a, const D: usize> {
    pub(super) cells: GridBox<D>,
    /// What values are; memory may hold codes of them.
    pub(super) element: ElementType,
    /// What the box consists of, in the order of its rows.
    pub(super) pieces: &'a [Piece<D>],
}

/// A part of a box: a run of its planes along the first axis.
pub(super) struct Piece<const D: usize> {
    pub cells: GridBox<D>,
    pub held: Held<D>,
}

/// Where the values of a part of a box are.
pub(super) enum Held<const D: usize> {
    /// In an array's memory.
    Array(Arc<Layout<D>>, Arc<Storage>),
    /// Packed by another place, or by another rank: one field after the other.
    Given(Arc<OnceLock<Bytes>>),
}

impl<const D: usize> Piece<D> {
    /// Copies a field, on this thread alone or on all of the pool that calls this.
    pub fn copy(&self, element: &ElementType, field: &Field, to: &mut [u8], together: bool) -> Result<(), Error> {
        let components = checked(element, &self.cells, field, to.len(), "copy")?;
        let (layout, storage) = match &self.held {
            Held::Array(layout, storage) => (layout, storage),
            Held::Given(bytes) => {
                let before = fields_of(element).into_iter().take_while(|other| other != field);
                let first = before.map(|other| other.bytes()).sum::<usize>() * self.cells.cells();
                let given = bytes.get().and_then(|bytes| bytes.as_slice().get(first..first + to.len()));
                let found = || "values of another place that are not there";
                let none = || {
                    Error::new(ErrorKind::Ranks, "copy the values of a box", found(), "report this as a bug of tida")
                };
                to.copy_from_slice(given.ok_or_else(none)?);
                return Ok(());
            }
        };
        let values = Values { layout, storage, components: &components };
        let Some(backing) = storage.backing() else {
            if !together {
                // SAFETY: these are components of the array, and the box lies in its domain; recorded work that writes
                // there waits for what calls this.
                unsafe { values.get_box(&self.cells, to) };
                return Ok(());
            }
            let (axis, bytes) = layers(&self.cells, field.bytes());
            let count = PIECE.div_ceil(bytes.max(1));
            parallel::each_piece(to, count * bytes, &|number, to| {
                let mut cells = self.cells;
                cells.lo[axis] += (number * count) as i64;
                cells.hi[axis] = cells.hi[axis].min(cells.lo[axis] + count as i64);
                // SAFETY: as above.
                unsafe { values.get_box(&cells, to) };
            });
            return Ok(());
        };
        // A disk is no faster for several threads.
        let bytes = field.bytes();
        let mut get = |slab: &Layout<D>, storage: &Storage, _: usize, part: GridBox<4>| {
            let values = Values { layout: slab, storage, components: &components };
            for (row, first) in rows(&self.cells, &part) {
                // SAFETY: as above, of the slab.
                unsafe { values.get_box(&row, &mut to[first * bytes..][..row.cells() * bytes]) };
            }
            Ok(())
        };
        // SAFETY: as above.
        unsafe { each_slab((layout, storage, backing), &layout.parts(&self.cells), false, &mut get) }
    }
}

/// Bytes that a thread copies at once.
const PIECE: usize = 512 << 10;

/// The first axis along which a box has several layers, else the last, and the bytes of a layer.
fn layers<const D: usize>(cells: &GridBox<D>, bytes: usize) -> (usize, usize) {
    let extent = cells.extent();
    let axis = extent.iter().position(|n| *n != 1).unwrap_or(D - 1);
    (axis, extent[axis + 1..].iter().product::<usize>() * bytes)
}

impl<const D: usize> BoxView<'_, D> {
    /// The box.
    pub fn cells(&self) -> GridBox<D> {
        self.cells
    }

    /// Copies one field of all cells: row-major, the field's own axes last, numbers in this machine's byte order.
    ///
    /// # Errors
    /// A field of other elements, or a slice that is not as long as the values; a file that cannot be read, where the
    /// array lies in one.
    pub fn copy(&self, field: &Field, to: &mut [u8]) -> Result<(), Error> {
        self.copy_by(field, to, false)
    }

    /// As [`copy`](Self::copy), by all threads of the accelerator: steps that overwrite the values wait for it.
    ///
    /// The calling thread may do other recorded work until all is copied, and call other `take`s. So it must not hold a
    /// lock that one of these wants.
    ///
    /// # Errors
    /// As [`copy`](Self::copy).
    pub fn copy_together(&self, field: &Field, to: &mut [u8]) -> Result<(), Error> {
        self.copy_by(field, to, true)
    }

    fn copy_by(&self, field: &Field, to: &mut [u8], together: bool) -> Result<(), Error> {
        checked(&self.element, &self.cells, field, to.len(), "copy")?;
        let mut rest = to;
        for piece in self.pieces {
            let (own, more) = rest.split_at_mut(piece.cells.cells() * field.bytes());
            piece.copy(&self.element, field, own, together)?;
            rest = more;
        }
        Ok(())
    }
}

impl<const D: usize> std::fmt::Debug for BoxView<'_, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BoxView").field("cells", &self.cells).finish_non_exhaustive()
    }
}

impl<T: Element, const D: usize> TileArray<T, D> {
    /// Records that `take` gets the valid values of a box as they are here in the program. Returns at once; `take` runs
    /// on a thread of the accelerator when the values are there, and what changes them later waits until it returns.
    ///
    /// This is for what takes values out of a running program, such as writers of files: `take` should copy them and
    /// hand them to a thread of its own, since the threads of the accelerator compute. It must not call what waits for
    /// recorded work or records more; such calls give an error in it. If work that the values need fails, `take` is
    /// dropped and never called. Steps that wait to run together, as in a loop out of core, end before it.
    ///
    /// ```
    /// use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<f32, 2>::builder([4, 8]).regions([2, 1]).build(&acc)?;
    /// u.fill(|[row, _]| row as f32)?;
    /// let (send, receive) = std::sync::mpsc::channel();
    /// let field = TileArray::<f32, 2>::fields().remove(0);
    /// let recorded = u.with_box_later(GridBox::new([1, 0], [3, 1]), move |values| {
    ///     let mut bytes = [0; 8];
    ///     send.send(values.copy(&field, &mut bytes).map(|()| bytes)).unwrap();
    /// })?;
    /// for tile in u.tiles() {
    ///     compute(&tile, &mut u, kernel!(|u, at| u[at] = 9.0))?; // later: `take` does not see it
    /// }
    /// recorded.wait()?;
    /// let bytes = receive.recv().unwrap()?;
    /// assert_eq!(bytes, [1.0f32.to_ne_bytes(), 2.0f32.to_ne_bytes()].concat()[..]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A box that reaches outside the domain, or of which another rank has a part.
    #[track_caller]
    pub fn with_box_later(
        &self,
        cells: GridBox<D>,
        take: impl FnOnce(&BoxView<'_, D>) + Send + 'static,
    ) -> Result<Recorded, Error> {
        outside_kernels("record that values are taken")?;
        self.check_box("take", &cells)?;
        if let Some(copy) = self.copy_here() {
            return copy.with_box_later(cells, take);
        }
        if self.is_parted() {
            self.check_box_here(&cells, "record that values are taken")?;
            return Ok(self.gather_later(None, &cells, take, Location::caller()));
        }
        let (touches, piece) = self.piece(&cells);
        let node = self.record_take(&self.acc, (cells, vec![piece]), (&touches, &[]), take, Location::caller());
        Ok(Recorded::of(&self.acc, vec![(self.acc.clone(), node)]))
    }

    /// A box of an array that lies on one place, and what reads it.
    pub(super) fn piece(&self, cells: &GridBox<D>) -> (Vec<Touch>, Piece<D>) {
        let touches = self.layout.owners(cells).map(|region| self.touch(Some(region), Mode::Read)).collect();
        (touches, Piece { cells: *cells, held: Held::Array(self.layout.clone(), self.storage.clone()) })
    }

    /// Records on a place that a closure gets the values of a box, of these pieces.
    pub(super) fn record_take(
        &self,
        place: &TileAcc,
        (cells, pieces): (GridBox<D>, Vec<Piece<D>>),
        (touches, after): (&[Touch], &[Arc<Node>]),
        take: impl FnOnce(&BoxView<'_, D>) + Send + 'static,
        recorded: &'static Location<'static>,
    ) -> Arc<Node> {
        let run = move || {
            // What waits in here would wait for itself.
            let _inside = InKernel::enter();
            take(&BoxView { cells, element: T::TYPE, pieces: &pieces });
            Ok(())
        };
        place.record_node("with_box_later", recorded, touches, after, Work::Host(Box::new(run)))
    }

    /// Sets one field of the valid values of a box from bytes: row-major, the field's own axes last, numbers in this
    /// machine's byte order. Waits for recorded work on them.
    ///
    /// ```
    /// use tida::prelude::*;
    /// # fn main() -> tida::Result<()> {
    /// # let acc = TileAcc::auto()?;
    /// let mut u = TileArray::<[u8; 2], 1>::builder([3]).build(&acc)?;
    /// let field = TileArray::<[u8; 2], 1>::fields().remove(0);
    /// u.write_box_field(GridBox::new([1], [3]), &field, &[1, 2, 3, 4])?;
    /// assert_eq!(u.read_box(u.domain())?, [[0, 0], [1, 2], [3, 4]]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A box that reaches outside the domain; a field of other elements; bytes of the wrong number; bytes of `bool`
    /// other than 0 and 1; failed work on the array; values that the array's format cannot hold, as for
    /// [`fill`](TileArray::fill).
    #[track_caller]
    pub fn write_box_field(&mut self, cells: GridBox<D>, field: &Field, bytes: &[u8]) -> Result<(), Error> {
        self.check_box("write", &cells)?;
        let components = self.check_field(&cells, field, bytes)?;
        if self.is_parted() {
            self.shared_call("write_box_field", Location::caller());
            return self.write_parts_field(&cells, field, bytes);
        }
        // The other fields, and cells of the same regions, keep what they have.
        self.acc.wait(&self.touches(&self.owned(&cells), &|_| Mode::Update))?;
        self.tracker.ages.cells_written();
        if let Some(backing) = self.storage.backing() {
            let mut saturated = 0;
            let mut set = |slab: &Layout<D>, storage: &Storage, _: usize, part: GridBox<4>| {
                let values = Values { layout: slab, storage, components: &components };
                for (row, first) in rows(&cells, &part) {
                    // SAFETY: as below, of the slab.
                    saturated += unsafe { values.set_box(&row, &bytes[first * field.bytes()..]) };
                }
                Ok(())
            };
            // SAFETY: as below.
            unsafe { each_slab((&self.layout, &self.storage, backing), &self.owned(&cells), true, &mut set)? };
            return self.saturate(saturated);
        }
        let values = Values { layout: &self.layout, storage: &self.storage, components: &components };
        // SAFETY: these are components of the array, and the box lies in its domain; recorded work on the array, of
        // which `self` is the only handle, has run; bytes of `bool` are 0 or 1.
        let saturated = unsafe { values.set_box(&cells, bytes) };
        self.saturate(saturated)
    }
}

impl<T: Element, const D: usize> TileArray<T, D> {
    /// The components of a field whose values in a box are to be set.
    ///
    /// # Errors
    /// A field of other elements; bytes of the wrong number; bytes of `bool` other than 0 and 1.
    pub(super) fn check_field(&self, cells: &GridBox<D>, field: &Field, bytes: &[u8]) -> Result<Vec<Component>, Error> {
        let components = checked(&T::TYPE, cells, field, bytes.len(), "set")?;
        match bytes.iter().find(|byte| field.scalar() == ScalarType::Bool && **byte > 1) {
            Some(other) => {
                let advice = "give 0 for false and 1 for true";
                Err(Error::new(ErrorKind::Argument, "set values of bool", format!("the byte {other}"), advice))
            }
            None => Ok(components),
        }
    }
}

/// The rows of a part of a box, each with the number of its first cell in the box.
fn rows<const D: usize>(cells: &GridBox<D>, part: &GridBox<4>) -> impl Iterator<Item = (GridBox<D>, usize)> {
    let (cells, part) = (*cells, narrow::<D>(part));
    let extent = cells.extent();
    part.rows().map(move |start| {
        let mut row = GridBox { lo: start, hi: start.map(|x| x + 1) };
        row.hi[D - 1] = part.hi[D - 1];
        (row, position(&cells, &extent, start))
    })
}

/// The components of a field of such elements, if a box of it has so many bytes.
fn checked<const D: usize>(
    element: &ElementType,
    cells: &GridBox<D>,
    field: &Field,
    length: usize,
    what: &str,
) -> Result<Vec<Component>, Error> {
    let tried =
        || format!("{what} the field {:?} of {} in the box {:?}..{:?}", field.name(), element, cells.lo, cells.hi);
    let all = components(element);
    let of_field = field.components().iter().map(|n| all.get(*n).copied().filter(|c| c.scalar == field.scalar()));
    let Some(components) = of_field.collect::<Option<Vec<Component>>>() else {
        let found = "a field of other elements";
        return Err(Error::new(ErrorKind::Argument, tried(), found, "take it from `TileArray::fields` of this array"));
    };
    let count = if cells.is_empty() { 0 } else { cells.cells() };
    let bytes = count * field.bytes();
    if bytes == length {
        return Ok(components);
    }
    let advice = format!("give {bytes} bytes, {} for each cell", field.bytes());
    Err(Error::new(ErrorKind::Shape, tried(), format!("{length} bytes"), advice))
}
