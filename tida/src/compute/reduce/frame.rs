//! What a reduction is, whatever its kernel: its cells, how they are cut, and what a device launches of it.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;

use super::fold::SEGMENT;
use crate::device::plans::Hints;
use crate::error::Error;
use crate::grid::GridBox;
use crate::launch::decoded::{Codes, Wholes};
use crate::launch::device::{DeviceArg, DeviceLaunch, OnDevice};
use crate::launch::folded::runs::{FoldedRun, Run as SegmentRun};
use crate::launch::folded::{Cells, Folded};
use crate::launch::native::{NativeFold, NativeForm};
use crate::launch::prepare::Prepared;
use crate::launch::quoted::Quoted;
use crate::launch::site::{Site, Sites};
use crate::memory::layout::Layout;
use crate::memory::node::Queue;
use crate::parallel;

/// A reduction without its closure, and what it holds of its arguments.
pub(super) struct Frame<const D: usize> {
    pub quoted: Arc<Quoted>,
    pub run_checked: bool,
    pub valid_only: u16,
    pub layout: Arc<Layout<D>>,
    pub cells: GridBox<D>,
    /// Whole arrays that hold codes, decoded once.
    pub wholes: Wholes,
    pub prepared: Arc<Prepared>,
}

/// The arguments as a device finds them.
pub(super) type Held<'a> = SmallVec<[OnDevice<'a>; 8]>;

/// Cells of a row that are computed before they are folded: they stay in the first-level cache.
pub(super) const BLOCK: usize = 1024;

/// Segments of a group of the tree, two levels of it.
pub(super) const GROUP: usize = SEGMENT * SEGMENT;

/// Rows of the box, and a stretch of the last axis that starts at a multiple of [`BLOCK`].
pub(super) struct Piece<const D: usize> {
    /// The regions that hold the rows.
    pub regions: Along,
    /// The rows: all axes but the last count.
    pub rows: GridBox<D>,
    /// First and one past the last cell along the last axis.
    pub stretch: (i64, i64),
}

/// Regions that follow one another along the last axis: their numbers, and the first and one past the last cell of each
/// along it.
pub(super) type Along = Arc<[(usize, (i64, i64))]>;

impl<const D: usize> Frame<D> {
    /// Puts the kernels of the reduction of one scalar, which `prepared` gives, into a stream of a device.
    ///
    /// # Safety
    /// As [`DeviceLaunch::enqueue`], for all regions that have cells of the box.
    pub(super) unsafe fn on_device(
        &self,
        queue: &Queue<'_>,
        args: Held<'_>,
        (prepared, cells): (&Arc<Prepared>, &Cells),
        native: &Arc<dyn NativeFold>,
    ) -> Result<Folded, Error> {
        // SAFETY: handed on.
        unsafe {
            cells.enqueue(
                queue,
                DeviceLaunch {
                    native: NativeForm { sweeps: &[], fold: Some(native) },
                    ..self.launch(queue, args, (prepared, cells))
                },
            )
        }
    }

    /// The same of a run of the segments.
    ///
    /// # Safety
    /// As [`Frame::on_device`].
    pub(super) unsafe fn run_on_device(
        &self,
        queue: &Queue<'_>,
        args: Held<'_>,
        (prepared, cells): (&Arc<Prepared>, &Cells),
        run: &SegmentRun,
        native: &Arc<dyn NativeFold>,
    ) -> Result<FoldedRun, Error> {
        let native = NativeForm { sweeps: &[], fold: Some(native) };
        let launch = DeviceLaunch { native, ..self.launch(queue, args, (prepared, cells)) };
        // SAFETY: handed on.
        unsafe { cells.enqueue_run(queue, launch, run) }
    }

    /// The first kernel of the reduction of one scalar, with its arrays as the commands of `queue` find them.
    pub(super) fn launch<'a, 'b: 'a>(
        &'a self,
        queue: &'a Queue<'_>,
        args: Held<'b>,
        (prepared, cells): (&'a Arc<Prepared>, &Cells),
    ) -> DeviceLaunch<'a> {
        let placed = |arg: OnDevice<'b>| -> DeviceArg<'a> {
            let arg: DeviceArg<'a> = arg.0;
            arg.placed(queue)
        };
        DeviceLaunch {
            prepared,
            captures: &self.quoted.captures,
            args: args.into_iter().map(placed).collect(),
            goal: cells.goal(),
            checked: self.run_checked,
            valid_only: self.valid_only,
            block: None,
            march: None,
            cache: Hints::default(),
            order: None,
            colour: None,
            fold: None,
            within: None,
            varied: None,
            without: queue.device.asked.without,
            native: NativeForm::default(),
            list: None,
        }
    }

    /// Runs over pieces: all of them, whatever fails, since which failure is told is not to depend on which came first.
    ///
    /// # Errors
    /// The first failure.
    pub(super) fn each_piece(
        &self,
        pieces: &[Piece<D>],
        sites: Option<&[Option<Site>]>,
        run: &(dyn Fn(usize) -> Result<(), Error> + Sync),
    ) -> Result<(), Error> {
        let failed = match sites {
            None => {
                let failures = Mutex::new(Vec::new());
                parallel::each(pieces.len(), 1, &|number| {
                    let failure = run(number).err();
                    failures.lock().unwrap_or_else(PoisonError::into_inner).extend(failure);
                });
                Error::earliest(failures.into_inner().unwrap_or_else(PoisonError::into_inner))
            }
            Some(_) => Error::earliest((0..pieces.len()).filter_map(|number| run(number).err())),
        };
        failed.map_or(Ok(()), Err)
    }

    /// Where a device puts the segments of a part of an array: as those of a box that starts where a group of the tree
    /// starts, unless the part would be small in it. Gives that box too, and how many cells are before it.
    pub(super) fn line_of(&self, held: &GridBox<D>) -> (GridBox<D>, SegmentRun, u64) {
        let (own, part) = (slots_of(&self.cells, held), held.intersect(&self.cells));
        let planes = self.cells.extent()[0];
        let of_plane = if D == 1 { 1 } else { self.slots() / planes.max(1) };
        // Planes (or segments) after which groups start again.
        let mut every = 1;
        while every < GROUP && !(every * of_plane).is_multiple_of(GROUP) {
            every *= 2;
        }
        let first = own.start / of_plane.max(1);
        let start = first / every * every;
        let groups = (first - start) * of_plane <= own.len();
        let start = if groups { start } else { first };
        let mut line = self.cells;
        line.hi[0] = part.hi[0];
        line.lo[0] = match D {
            1 if start > 0 => (self.segments().0 + start as i64) * SEGMENT as i64,
            _ => self.cells.lo[0] + start as i64,
        };
        let before = (line.lo[0] - self.cells.lo[0]) as u64 * (self.cells.cells() / planes.max(1)) as u64;
        let at = |slot: usize| (slot - start * of_plane) as u64;
        (line, SegmentRun { own: at(own.start)..at(own.end), groups, ends: own.end == self.slots() }, before)
    }

    /// The first segment of a row of the box, and how many it has.
    pub(super) fn segments(&self) -> (i64, usize) {
        segments(&self.cells)
    }

    /// Segments of all rows.
    pub(super) fn slots(&self) -> usize {
        let rows: usize = self.cells.extent()[..D - 1].iter().product();
        rows.saturating_mul(self.segments().1)
    }

    /// The slots of a piece, if they are some whole groups of the tree.
    pub(super) fn groups(&self, piece: &Piece<D>, segments: usize, slots: usize) -> Option<Range<usize>> {
        let (first, end) = (self.row(piece.rows.lo), self.row(piece.rows.hi.map(|x| x - 1)) + 1);
        let last = D - 1;
        let rows: usize = piece.rows.extent()[..last].iter().product();
        let is_whole = end - first == rows && piece.stretch == (self.cells.lo[last], self.cells.hi[last]);
        let own = first * segments..end * segments;
        let ends = |at: usize| at == slots || at.is_multiple_of(SEGMENT);
        (is_whole && ends(own.start) && ends(own.end)).then_some(own)
    }

    /// The number of a row of the box.
    pub(super) fn row(&self, at: [i64; D]) -> usize {
        row(&self.cells, at)
    }

    /// Where the arguments of a piece are, if some hold codes.
    pub(super) fn decoded(&self, args: Held<'_>, piece: &Piece<D>, sites: Option<&[Option<Site>]>) -> Option<Sites> {
        if !self.prepared.is_coded {
            return None;
        }
        let codes = Codes {
            prepared: &self.prepared,
            captures: &self.quoted.captures,
            valid_only: self.valid_only,
            wholes: &self.wholes,
            grain: [1; 4],
        };
        let of = |(number, (lo, hi)): &(usize, (i64, i64))| {
            let mut cells = piece.rows;
            (cells.lo[D - 1], cells.hi[D - 1]) = (piece.stretch.0.max(*lo), piece.stretch.1.min(*hi));
            (*number, cells.widen())
        };
        let boxes: SmallVec<[_; 4]> = piece.regions.iter().map(of).collect();
        // SAFETY: the graph runs this node only while nothing writes what it reads.
        Some(unsafe { codes.sites(args, &boxes, sites) })
    }

    /// The box, in pieces of some ten thousand cells: of more where each thread has many of them.
    pub(super) fn pieces(&self) -> Vec<Piece<D>> {
        let last = D - 1;
        let along = self.layout.cuts.at[last].len() - 1;
        let mut pieces = Vec::new();
        let at_once = self.rows_at_once((self.cells.lo[last], self.cells.hi[last]));
        for group in 0..self.layout.regions.len() / along {
            let regions = &self.layout.regions[group * along..(group + 1) * along];
            let mut held = self.cells.intersect(&GridBox {
                lo: std::array::from_fn(|d| if d == last { self.cells.lo[d] } else { regions[0].valid.lo[d] }),
                hi: std::array::from_fn(|d| if d == last { self.cells.hi[d] } else { regions[0].valid.hi[d] }),
            });
            held = held.intersect(&self.owned());
            if held.is_empty() {
                continue;
            }
            let (first, end) = (regions[0].valid.lo[last], regions[along - 1].valid.hi[last]);
            held.lo[last] = self.cells.lo[last].max(first);
            held.hi[last] = self.cells.hi[last].min(end);
            if held.is_empty() {
                continue;
            }
            let ends = regions.iter().map(|region| (region.valid.lo[last], region.valid.hi[last]));
            let regions: Along = (group * along..).zip(ends).collect();
            pieces_of(held, &regions, at_once, &mut pieces);
        }
        pieces
    }

    /// What the layout owns of planes, with all that the box has along other axes.
    fn owned(&self) -> GridBox<D> {
        let mut owned = self.cells;
        (owned.lo[0], owned.hi[0]) = (self.layout.owned.lo[0], self.layout.owned.hi[0]);
        owned
    }

    /// Cells of a piece along a row of so many, and its rows.
    pub(super) fn rows_at_once(&self, (lo, hi): (i64, i64)) -> (usize, usize) {
        let row = (hi - lo) as usize;
        let share = self.cells.cells() / (16 * rayon::current_num_threads());
        let most = if share >= 64 * BLOCK { 64 * BLOCK } else { 16 * BLOCK };
        if row > most { (most, 1) } else { (row + BLOCK, (most / row.max(1)).max(1)) }
    }
}

/// Adds the pieces of a box that these regions hold: so many cells of so many rows.
pub(super) fn pieces_of<const D: usize>(
    held: GridBox<D>,
    regions: &Along,
    (stretch, rows): (usize, usize),
    pieces: &mut Vec<Piece<D>>,
) {
    let (mut lo, hi) = (held.lo[D - 1], held.hi[D - 1]);
    let mut of_rows = held;
    (of_rows.lo[D - 1], of_rows.hi[D - 1]) = (0, 1);
    while lo < hi {
        let end = (lo.div_euclid(BLOCK as i64) * BLOCK as i64 + stretch as i64).min(hi);
        for part in split_rows(&of_rows, rows) {
            pieces.push(Piece { regions: regions.clone(), rows: part, stretch: (lo, end) });
        }
        lo = end;
    }
}

/// Cuts the rows of a box into parts of about `rows` rows.
fn split_rows<const D: usize>(held: &GridBox<D>, rows: usize) -> Vec<GridBox<D>> {
    let mut parts = vec![*held];
    for axis in 0..D.saturating_sub(1) {
        let inner: usize = held.extent()[axis + 1..].iter().product();
        let step = (rows / inner.max(1)).max(1) as i64;
        parts = parts
            .into_iter()
            .flat_map(|b| {
                (b.lo[axis]..b.hi[axis]).step_by(step as usize).map(move |lo| {
                    let mut part = b;
                    part.lo[axis] = lo;
                    part.hi[axis] = (lo + step).min(b.hi[axis]);
                    part
                })
            })
            .collect();
        if inner <= rows {
            break;
        }
    }
    parts
}
/// The first segment of a row of a box, counted from the domain's low end, and how many a row has.
fn segments<const D: usize>(cells: &GridBox<D>) -> (i64, usize) {
    let (lo, hi) = (cells.lo[D - 1], cells.hi[D - 1]);
    let first = lo.div_euclid(SEGMENT as i64);
    (first, ((hi - 1).div_euclid(SEGMENT as i64) - first + 1) as usize)
}

/// The number of the row that a cell of a box is in.
fn row<const D: usize>(cells: &GridBox<D>, at: [i64; D]) -> usize {
    let extent = cells.extent();
    (0..D - 1).fold(0, |row, d| row * extent[d] + (at[d] - cells.lo[d]) as usize)
}

/// The slots of what a part of an array has of a box: a run of planes of the first axis.
pub(super) fn slots_of<const D: usize>(cells: &GridBox<D>, held: &GridBox<D>) -> Range<usize> {
    let part = held.intersect(cells);
    if part.is_empty() {
        return 0..0;
    }
    let (first, segments) = segments(cells);
    if D == 1 {
        let segment = |at: i64| (at.div_euclid(SEGMENT as i64) - first) as usize;
        return segment(part.lo[0])..segment(part.hi[0] - 1) + 1;
    }
    let end = row(cells, part.hi.map(|x| x - 1)) + 1;
    row(cells, part.lo) * segments..end * segments
}
