//! Running a reduction natively, and what a device launches of it.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;

use super::fold::{self, Lacking, Lanes, SEGMENT, tree};
use super::ops::{Foldable, Reduction};
use crate::array::reserve;
use crate::backend::cpu;
use crate::compute::args::HeldArgs;
use crate::compute::ask::Ask;
use crate::compute::view::{Checked, Proven};
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

/// A reduction to run: kernel, arguments, the cells, how they are cut.
pub(super) struct Job<H, N, O, const D: usize> {
    pub(super) kernel: Arc<N>,
    pub(super) quoted: Arc<Quoted>,
    pub(super) held: H,
    pub(super) run_checked: bool,
    pub(super) valid_only: u16,
    pub(super) layout: Arc<Layout<D>>,
    pub(super) cells: GridBox<D>,
    pub(super) op: O,
    /// Whole arrays that hold codes, decoded once.
    pub(super) wholes: Wholes,
    pub(super) prepared: Arc<Prepared>,
}

/// Cells of a row that are computed before they are folded: they stay in the first-level cache.
pub(super) const BLOCK: usize = 1024;

/// Segments of a group of the tree, two levels of it.
pub(super) const GROUP: usize = SEGMENT * SEGMENT;

/// Rows of the box, and a stretch of the last axis that starts at a multiple of [`BLOCK`].
pub(super) struct Piece<const D: usize> {
    /// The regions that hold the rows.
    pub(super) regions: Along,
    /// The rows: all axes but the last count.
    pub(super) rows: GridBox<D>,
    /// First and one past the last cell along the last axis.
    pub(super) stretch: (i64, i64),
}

/// Regions that follow one another along the last axis: their numbers, and the first and one past the last cell of each
/// along it.
pub(super) type Along = Arc<[(usize, (i64, i64))]>;

/// Where the pieces put their segments' values, and the number of the first of these slots. Each segment belongs to one
/// piece.
pub(super) struct Slots<P>(pub(super) *mut P, pub(super) usize);

// SAFETY: pieces write disjoint slots.
unsafe impl<P: Send> Sync for Slots<P> {}

impl<P> Slots<P> {
    /// Where a slot is.
    pub(super) fn at(&self, n: usize) -> *mut P {
        self.0.wrapping_add(n).wrapping_sub(self.1)
    }

    /// # Safety
    /// `n` is one of the slots, and no other thread writes it.
    pub(super) unsafe fn put(&self, n: usize, value: P) {
        // SAFETY: the caller's promise.
        unsafe { self.at(n).write(value) }
    }

    /// # Safety
    /// The slots are there and were written; no thread writes them any more.
    unsafe fn of(&self, slots: Range<usize>) -> &[P] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.0.add(slots.start - self.1), slots.len()) }
    }
}

/// Where a piece puts what it makes.
pub(super) struct To<'a, R, P> {
    /// The first segment of a row, and how many it has.
    pub(super) segments: (i64, usize),
    pub(super) slots: &'a Slots<P>,
    /// Room for the values of [`BLOCK`] cells, which nothing else reads or writes.
    pub(super) values: *mut R,
    pub(super) lanes: &'a mut Lanes<P>,
    pub(super) lacking: &'a mut Lacking<P>,
}

/// The values of [`BLOCK`] cells; no vector of them crosses a line of the cache.
#[repr(align(64))]
struct Values<R>([R; BLOCK]);

impl<H, N, O, const D: usize> Job<H, N, O, D> {
    /// Puts the kernels of the reduction of one scalar, which `prepared` gives, into a stream of a device.
    ///
    /// # Safety
    /// As [`DeviceLaunch::enqueue`], for all regions that have cells of the box.
    pub(super) unsafe fn on_device(
        &self,
        queue: &Queue<'_>,
        prepared: &Arc<Prepared>,
        cells: &Cells,
        native: &Arc<dyn NativeFold>,
    ) -> Result<Folded, Error>
    where
        H: HeldArgs<D>,
    {
        // SAFETY: handed on.
        unsafe {
            cells.enqueue(
                queue,
                DeviceLaunch {
                    native: NativeForm { sweeps: &[], fold: Some(native) },
                    ..self.launch(queue, prepared, cells)
                },
            )
        }
    }

    /// The same of a run of the segments.
    ///
    /// # Safety
    /// As [`Job::on_device`].
    pub(super) unsafe fn run_on_device(
        &self,
        queue: &Queue<'_>,
        (prepared, cells): (&Arc<Prepared>, &Cells),
        run: &SegmentRun,
        native: &Arc<dyn NativeFold>,
    ) -> Result<FoldedRun, Error>
    where
        H: HeldArgs<D>,
    {
        let native = NativeForm { sweeps: &[], fold: Some(native) };
        let launch = DeviceLaunch { native, ..self.launch(queue, prepared, cells) };
        // SAFETY: handed on.
        unsafe { cells.enqueue_run(queue, launch, run) }
    }

    /// The first kernel of the reduction of one scalar, with its arrays as the commands of `queue` find them.
    pub(super) fn launch<'a>(
        &'a self,
        queue: &'a Queue<'_>,
        prepared: &'a Arc<Prepared>,
        cells: &Cells,
    ) -> DeviceLaunch<'a>
    where
        H: HeldArgs<D>,
    {
        DeviceLaunch {
            prepared,
            captures: &self.quoted.captures,
            args: self.held.on_device().into_iter().map(|arg| placed(arg, queue)).collect(),
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

    /// Folds the cells, of arrays on the host or where `sites` says. On a simulated device it is its one thread that
    /// runs this: no other may come between.
    pub(super) fn run<R>(&self, sites: Option<&[Option<Site>]>) -> Result<O::Partial, Error>
    where
        R: Foldable,
        O: Reduction<R>,
        H: HeldArgs<D>,
        N: for<'b> Fn(Ask<'b, H::Views<Proven>, H::Views<Checked>, R, D>) + Send + Sync,
    {
        if self.cells.is_empty() {
            return Ok(self.op.identity());
        }
        let (_, segments) = self.segments();
        let (pieces, slots) = (self.pieces(), self.slots());
        // Pieces that have groups of the tree to themselves fold these too, while the segments' values are in the
        // cache.
        let ranges: Option<Vec<Range<usize>>> =
            pieces.iter().map(|piece| self.groups(piece, segments, slots)).collect();
        let mut partials = Vec::new();
        let mut next = Vec::new();
        reserve(&mut partials, slots)?;
        reserve(&mut next, ranges.as_ref().map_or(0, |_| slots.div_ceil(SEGMENT)))?;
        let (all, folded) = (Slots(partials.as_mut_ptr(), 0), Slots(next.as_mut_ptr(), 0));
        let run = |number: usize| {
            let own = ranges.as_ref().map(|ranges| (ranges[number].clone(), &folded));
            self.fold_piece(&pieces[number], &all, sites, own)
        };
        self.each_piece(&pieces, sites, run)?;
        let list = if ranges.is_some() {
            // SAFETY: the pieces have folded all groups, none having failed.
            unsafe { next.set_len(slots.div_ceil(SEGMENT)) };
            next
        } else {
            // SAFETY: the pieces have all segments of the box, and have written the value of each, none having failed.
            unsafe { partials.set_len(slots) };
            partials
        };
        Ok(tree(self.op, list, sites.is_none()))
    }

    /// The values of the segments that the layout's regions have, in their order: a run of those of the box.
    /// Threads share the pieces, but on a simulated device, as in [`Job::run`].
    pub(super) fn run_part<R>(&self, sites: Option<&[Option<Site>]>) -> Result<Vec<O::Partial>, Error>
    where
        R: Foldable,
        O: Reduction<R>,
        H: HeldArgs<D>,
        N: for<'b> Fn(Ask<'b, H::Views<Proven>, H::Views<Checked>, R, D>) + Send + Sync,
    {
        let (pieces, of) = (self.pieces(), slots_of(&self.cells, &self.layout.owned));
        let mut partials = Vec::new();
        reserve(&mut partials, of.len())?;
        let all = Slots(partials.as_mut_ptr(), of.start);
        self.each_piece(&pieces, sites, |number| self.fold_piece(&pieces[number], &all, sites, None))?;
        // SAFETY: the pieces have all segments of these rows, and have written the value of each, none having failed.
        unsafe { partials.set_len(of.len()) };
        Ok(partials)
    }

    /// Runs over pieces: all of them, whatever fails, since which failure is told is not to depend on which came first.
    ///
    /// # Errors
    /// The first failure.
    fn each_piece(
        &self,
        pieces: &[Piece<D>],
        sites: Option<&[Option<Site>]>,
        run: impl Fn(usize) -> Result<(), Error> + Sync,
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

    /// Folds the segments of a piece, and the groups of the tree that are the piece's `own`.
    fn fold_piece<R>(
        &self,
        piece: &Piece<D>,
        all: &Slots<O::Partial>,
        sites: Option<&[Option<Site>]>,
        own: Option<(Range<usize>, &Slots<O::Partial>)>,
    ) -> Result<(), Error>
    where
        R: Foldable,
        O: Reduction<R>,
        H: HeldArgs<D>,
        N: for<'b> Fn(Ask<'b, H::Views<Proven>, H::Views<Checked>, R, D>) + Send + Sync,
    {
        let mut values = Values([R::SOME; BLOCK]);
        let bytes = size_of_val(&values.0);
        // SAFETY: all of an array of numbers, or of pairs of them, which have no padding; any bytes are numbers.
        let memory = unsafe { std::slice::from_raw_parts_mut(values.0.as_mut_ptr().cast::<u8>(), bytes) };
        let mut lanes = Lanes::new(self.op.identity());
        let mut lacking = Lacking::new();
        // What is written is not what is read, which the compiler has to know.
        cpu::vectorised_writing(
            [memory, &mut [], &mut [], &mut []],
            #[inline(always)]
            |starts| {
                let (segments, values) = (self.segments(), starts[0].cast());
                let to = To { segments, slots: all, values, lanes: &mut lanes, lacking: &mut lacking };
                // (One call: what it runs is compiled into each.)
                let decoded = self.decoded(piece, sites);
                self.run_piece(piece, to, decoded.as_deref().or(sites))?;
                if let Some((own, folded)) = own {
                    let group = own.start / SEGMENT;
                    // SAFETY: this piece has written these slots, and no other does.
                    let list = unsafe { all.of(own) };
                    // SAFETY: the slots of these groups are this piece's alone.
                    fold::groups(self.op, list, &mut lanes, |n, value| unsafe { folded.put(group + n, value) });
                }
                Ok(())
            },
        )
    }

    /// Folds the segments of a box inside one region, of arrays on the host or where `sites` says.
    ///
    /// # Errors
    /// A fault of a cell: of the first one.
    pub(super) fn fold_part<R>(
        &self,
        region: usize,
        cells: GridBox<D>,
        sites: Option<&[Option<Site>]>,
        slots: &Slots<O::Partial>,
    ) -> Result<(), Error>
    where
        R: Foldable,
        O: Reduction<R>,
        H: HeldArgs<D>,
        N: for<'b> Fn(Ask<'b, H::Views<Proven>, H::Views<Checked>, R, D>) + Send + Sync,
    {
        let stretch = (cells.lo[D - 1], cells.hi[D - 1]);
        let (along, mut pieces) = (Arc::from([(region, stretch)]), Vec::new());
        pieces_of(cells, &along, self.rows_at_once(stretch), &mut pieces);
        Error::earliest(pieces.iter().filter_map(|piece| self.fold_piece(piece, slots, sites, None).err()))
            .map_or(Ok(()), Err)
    }

    /// The first segment of a row of the box, and how many it has.
    fn segments(&self) -> (i64, usize) {
        segments(&self.cells)
    }

    /// Segments of all rows.
    pub(super) fn slots(&self) -> usize {
        let rows: usize = self.cells.extent()[..D - 1].iter().product();
        rows.saturating_mul(self.segments().1)
    }

    /// The slots of a piece, if they are some whole groups of the tree.
    fn groups(&self, piece: &Piece<D>, segments: usize, slots: usize) -> Option<Range<usize>> {
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
    fn decoded(&self, piece: &Piece<D>, sites: Option<&[Option<Site>]>) -> Option<Sites>
    where
        H: HeldArgs<D>,
    {
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
        Some(unsafe { codes.sites(self.held.on_device(), &boxes, sites) })
    }

    /// The box, in pieces of some ten thousand cells: of more where each thread has many of them.
    fn pieces(&self) -> Vec<Piece<D>> {
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
    fn rows_at_once(&self, (lo, hi): (i64, i64)) -> (usize, usize) {
        let row = (hi - lo) as usize;
        let share = self.cells.cells() / (16 * rayon::current_num_threads());
        let most = if share >= 64 * BLOCK { 64 * BLOCK } else { 16 * BLOCK };
        if row > most { (most, 1) } else { (row + BLOCK, (most / row.max(1)).max(1)) }
    }
}

/// Where an argument is, as the commands of `queue` find it.
fn placed<'a>(arg: OnDevice<'a>, queue: &'a Queue<'_>) -> DeviceArg<'a> {
    arg.0.placed(queue)
}

/// Adds the pieces of a box that these regions hold: so many cells of so many rows.
fn pieces_of<const D: usize>(
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
