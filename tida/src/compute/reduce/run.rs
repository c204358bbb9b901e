//! Recording a reduction, and running it natively.

use std::any::TypeId;
use std::ops::Range;
use std::panic::Location;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use smallvec::SmallVec;
use tida_kernels::element::ScalarType;
use tida_kernels::ir::Type;

use super::fold::{self, Lacking, Lanes, SEGMENT, tree};
use super::natively::Natively;
use super::ops::{Foldable, Reduction};
use crate::acc::TileAcc;
use crate::array::reserve;
use crate::backend::cpu;
use crate::compute::args::{ArgInfo, Args, HeldArgs, How, Views};
use crate::compute::ask::{Ask, Pass, Run};
use crate::compute::check::{Target, box_text, check};
use crate::compute::deferred::Scalar;
use crate::compute::launch::quote;
use crate::compute::view::{Checked, Proven};
use crate::device::plans::Hints;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::launch::decoded::{Codes, Wholes};
use crate::launch::device::DeviceLaunch;
use crate::launch::ending::Ending;
use crate::launch::folded::{Cells, Folded};
use crate::launch::native::{NativeFold, NativeForm};
use crate::launch::prepare::{Prepared, prepare};
use crate::launch::quoted::Quoted;
use crate::launch::site::{Site, Sites};
use crate::memory::layout::Layout;
use crate::memory::node::{Queue, Work};
use crate::memory::tracker::{Mode, Side, Touch};
use crate::parallel;
use crate::record::wait::{InKernel, outside_kernels};
use crate::tile::Tile;

/// The cells of a reduction: a tile or a box of cells, by `into()`. See [`reduce_over`].
#[derive(Clone, Copy, Debug)]
pub struct Domain<const D: usize>(GridBox<D>);

impl<const D: usize> From<&Tile<D>> for Domain<D> {
    fn from(tile: &Tile<D>) -> Self {
        Domain(tile.cells)
    }
}

impl<const D: usize> From<GridBox<D>> for Domain<D> {
    fn from(cells: GridBox<D>) -> Self {
        Domain(cells)
    }
}

/// One value from all cells of an array. Waits for what it reads, and gives the value.
///
/// `args` are as for [`compute`](crate::compute()), all read only. The cells are those of the first array with
/// regions. The kernel gives the value of a cell. The order of folding is fixed by the box alone: cuts, tiles, threads
/// and devices change no bit.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let u = TileArray::<f64, 1>::builder([3]).build_slice(&acc, &[1.0, 2.0, 3.0])?;
/// assert_eq!(reduce(&u, Sum, kernel!(|u, at| u[at] * u[at]))?, 14.0);
/// assert_eq!(reduce(&u, ArgMax, kernel!(|u, at| -u[at]))?, ([0], -1.0));
/// # Ok(()) }
/// ```
///
/// # Errors
/// As for `compute`; the failure of work that wrote what is read; a box without cells where there is no value.
#[track_caller]
pub fn reduce<const D: usize, A, R, O, N>(args: A, op: O, kernel: N) -> Result<O::Output<D>, Error>
where
    A: Args<D>,
    R: Foldable,
    O: Reduction<R>,
    N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, R, D>) + Send + Sync + 'static,
{
    record(None, args, op, kernel, Location::caller())?.get()
}

/// As [`reduce`], over the cells of a tile or a box.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f64, 2>::builder([4, 8]).regions([2, 1]).build(&acc)?;
/// u.fill(|[row, _]| row as f64)?;
/// assert_eq!(reduce_over(GridBox::new([1, 0], [3, 2]), &u, Sum, kernel!(|u, at| u[at]))?, 6.0);
/// let tile = TileIter::new(&u).next().unwrap(); // rows 0 and 1
/// assert_eq!(reduce_over(&tile, &u, Max, kernel!(|u, at| u[at]))?, 1.0);
/// # Ok(()) }
/// ```
///
/// # Errors
/// As for [`reduce`]; a box that reaches outside the array.
#[track_caller]
pub fn reduce_over<const D: usize, A, R, O, N>(
    domain: impl Into<Domain<D>>,
    args: A,
    op: O,
    kernel: N,
) -> Result<O::Output<D>, Error>
where
    A: Args<D>,
    R: Foldable,
    O: Reduction<R>,
    N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, R, D>) + Send + Sync + 'static,
{
    record(Some(domain.into()), args, op, kernel, Location::caller())?.get()
}

/// Records a reduction and returns a [`Scalar`] that later kernels capture, without waiting.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let u = TileArray::<f64, 1>::builder([2]).build_slice(&acc, &[3.0, 5.0])?;
/// let mean = reduce_later(&u, Sum, kernel!(|u, at| u[at] / 2.0))?;
/// let mut rest = u.like()?;
/// for tile in TileIter::new(&u) {
///     compute(&tile, (&mut rest, &u), kernel!(|rest, u, at| rest[at] = u[at] - mean))?;
/// }
/// assert_eq!(rest.read_box(u.domain())?, [-1.0, 1.0]);
/// # Ok(()) }
/// ```
///
/// # Errors
/// What can be known now, as for [`compute`](crate::compute()); the rest comes out at [`Scalar::get`].
#[track_caller]
pub fn reduce_later<const D: usize, A, R, O, N>(args: A, op: O, kernel: N) -> Result<Scalar<O::Output<D>>, Error>
where
    A: Args<D>,
    R: Foldable,
    O: Reduction<R>,
    N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, R, D>) + Send + Sync + 'static,
{
    record(None, args, op, kernel, Location::caller())
}

/// As [`reduce_later`], over the cells of a tile or a box.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let u = TileArray::<f64, 1>::builder([3]).build_slice(&acc, &[1.0, 2.0, 4.0])?;
/// let sum = reduce_over_later(GridBox::new([1], [3]), &u, Sum, kernel!(|u, at| u[at]))?;
/// assert_eq!(sum.get()?, 6.0);
/// # Ok(()) }
/// ```
///
/// # Errors
/// As for [`reduce_later`]; a box that reaches outside the array.
#[track_caller]
pub fn reduce_over_later<const D: usize, A, R, O, N>(
    domain: impl Into<Domain<D>>,
    args: A,
    op: O,
    kernel: N,
) -> Result<Scalar<O::Output<D>>, Error>
where
    A: Args<D>,
    R: Foldable,
    O: Reduction<R>,
    N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, R, D>) + Send + Sync + 'static,
{
    record(Some(domain.into()), args, op, kernel, Location::caller())
}

fn record<const D: usize, A, R, O, N>(
    domain: Option<Domain<D>>,
    args: A,
    op: O,
    kernel: N,
    recorded: &'static Location<'static>,
) -> Result<Scalar<O::Output<D>>, Error>
where
    A: Args<D>,
    R: Foldable,
    O: Reduction<R>,
    N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, R, D>) + Send + Sync + 'static,
{
    let at = |e: Error| e.recorded_at(recorded);
    outside_kernels("reduce an array").map_err(at)?;
    let mut quoted = quote(&kernel).map_err(at)?;
    let views = TypeId::of::<Views<A, Proven, D>>();
    let prepared = prepare(&mut quoted, views, D, <A::Held as HeldArgs<D>>::BINDINGS, Some(Type::of_element(&R::TYPE)))
        .map_err(at)?;
    let infos = args.infos();
    let prepared = prepared.for_codes(infos.iter().map(ArgInfo::coding)).map_err(at)?;
    let layout = infos.iter().find_map(|info| match info {
        ArgInfo::Tiled(tiled) => Some(tiled.layout.clone()),
        _ => None,
    });
    let tried = || format!("reduce the kernel at {}", prepared.place());
    let Some(layout) = layout else {
        let advice = "pass `&u` for the array whose cells are reduced";
        return Err(at(Error::new(ErrorKind::Argument, tried(), "no array with regions among its arguments", advice)));
    };
    if let Some(arg) = prepared.args.iter().position(|a| a.written) {
        let found = format!("that it writes `{}`", prepared.kernel.args[arg].name);
        return Err(at(Error::new(ErrorKind::Argument, tried(), found, "write arrays in `compute`, and reduce after")));
    }
    let whole = GridBox::new([0; D], layout.shape.map(|n| n as i64));
    let cells = domain.map_or(whole, |d| d.0);
    if !whole.contains_box(&cells) {
        let found = format!("the box {}, which reaches outside the array's {}", box_text(&cells), box_text(&whole));
        return Err(at(Error::new(ErrorKind::Shape, tried(), found, "keep the box inside the array's valid cells")));
    }
    if cells.is_empty() && !O::OF_NOTHING {
        let advice = "reduce a box that has cells";
        return Err(at(Error::new(ErrorKind::Shape, tried(), format!("no cells in {}", box_text(&cells)), advice)));
    }
    let mut acc: Option<TileAcc> = None;
    let mut arrays = SmallVec::<[usize; 8]>::new();
    let (mut touches, mut after) = (Vec::new(), SmallVec::new());
    let (mut run_checked, mut valid_only, mut on_device) = (false, 0, false);
    for (region, r) in layout.regions.iter().enumerate() {
        let part = r.valid.intersect(&cells);
        if part.is_empty() && !(cells.is_empty() && region == 0) {
            continue;
        }
        let target = Target {
            layout: &layout,
            region,
            cells: part,
            grown: false,
            device: None,
            block: None,
            march: None,
            cache: Hints::default(),
        };
        let checked = check(&prepared, quoted.id, &quoted.captures, views, &target, &infos).map_err(at)?;
        run_checked |= checked.run_checked;
        valid_only |= checked.valid_only;
        let read = checked.touches.iter().filter(|touch| touch.read.is_some());
        touches.extend(read.map(|touch| Touch::new(&touch.tracker, Some(touch.region), Mode::Read)));
        after = checked.after;
        on_device |= checked.key.on_device;
        arrays = checked.key.args;
        acc.get_or_insert_with(|| checked.acc.clone());
    }
    let Some(acc) = acc else {
        return Err(at(Error::new(ErrorKind::Argument, tried(), "no region to reduce", "pass an array with cells")));
    };
    let job = Job {
        kernel,
        quoted,
        held: args.hold(),
        run_checked,
        valid_only,
        layout,
        cells,
        op,
        wholes: Wholes::default(),
        prepared,
    };
    let value = Arc::new(OnceLock::new());
    let result = value.clone();
    // Where the kernels run that write what is read.
    let at_host = infos.iter().any(|info| match info {
        ArgInfo::Tiled(tiled) => matches!(tiled.tracker.side(), Side::Host | Side::Chain),
        ArgInfo::Whole { tracker, .. } => matches!(tracker.side(), Side::Host | Side::Chain),
        ArgInfo::Table { .. } => false,
    });
    let trackers = infos.iter().filter_map(|info| match info {
        ArgInfo::Tiled(tiled) => Some(tiled.tracker),
        ArgInfo::Whole { tracker, .. } => Some(*tracker),
        ArgInfo::Table { .. } => None,
    });
    let trackers: Vec<_> = trackers.collect();
    let folds = on_device && !job.cells.is_empty() && (O::BY_PARTS || R::TYPE.components() == 1);
    // Until the reduction is recorded.
    let kept = (folds && !at_host).then(|| acc.core().try_reserve(&trackers)).flatten();
    let work = if kept.is_some() {
        let parts = job.prepared.parts().map_err(at)?;
        let of = |ty: ScalarType| Cells::new(&job.layout, &job.cells, (ty, O::FOLD));
        let on_device_cells: SmallVec<[Cells; 2]> = R::TYPE.component_types().into_iter().map(of).collect();
        let proven = !job.run_checked && job.valid_only == 0;
        let job = Arc::new(job);
        let native: Arc<dyn NativeFold> = Arc::new(Natively::new(job.clone(), result.clone()));
        let ending = match on_device_cells.as_slice() {
            [cells] => Ending::new(&job.prepared, &job.quoted.captures, &arrays, (cells, proven), &native),
            _ => None,
        };
        ending.iter().for_each(|ending| acc.core().end_with_fold(ending));
        Work::Device(Box::new(move |queue| {
            let left = ending.as_ref().and_then(|ending| ending.take());
            // SAFETY: the graph runs this node only while nothing writes what it reads; `check` has proven every
            // access in range, or has it checked.
            let on_device =
                |(prepared, cells): (&Arc<Prepared>, &Cells)| unsafe { job.on_device(queue, prepared, cells, &native) };
            // A native form gives all parts at once.
            let launches = if queue.device.backend().facts().native { 1 } else { parts.len() };
            let folded: SmallVec<[Folded; 2]> = match left {
                Some(folded) => SmallVec::from_iter([folded]),
                None => parts.iter().zip(&on_device_cells).take(launches).map(on_device).collect::<Result<_, _>>()?,
            };
            let device = queue.device.clone();
            Ok(Box::new(move || {
                let (mut all, mut place, mut known) = ([0; 2], 0, false);
                for ((folded, prepared), bits) in folded.into_iter().zip(&parts).zip(&mut all) {
                    if let Some(found) = folded.take(&device, prepared)? {
                        (*bits, place, known) = (found.0, found.1, true);
                    }
                }
                // A device that computes nothing gives what no cells give.
                let all = || if known { job.op.folded(all, place) } else { job.op.identity() };
                result.get_or_init(|| job.op.finish(all(), &job.cells));
                Ok(())
            }))
        }))
    } else {
        Work::Host(Box::new(move || {
            let folded = job.run(None)?;
            let _ = result.set(job.op.finish(folded, &job.cells));
            Ok(())
        }))
    };
    let node = acc.record_node("a reduction", recorded, &touches, &after, work);
    drop(kept);
    Ok(Scalar::new(acc, node, value))
}

/// A reduction to run: kernel, arguments, the cells, how they are cut.
pub(super) struct Job<H, N, O, const D: usize> {
    kernel: N,
    quoted: Quoted,
    pub held: H,
    run_checked: bool,
    valid_only: u16,
    layout: Arc<Layout<D>>,
    pub cells: GridBox<D>,
    pub op: O,
    /// Whole arrays that hold codes, decoded once.
    wholes: Wholes,
    prepared: Arc<Prepared>,
}

/// Cells of a row that are computed before they are folded: they stay in the first-level cache.
const BLOCK: usize = 1024;

/// Rows of the box, and a stretch of the last axis that starts at a multiple of [`BLOCK`].
struct Piece<const D: usize> {
    /// First of the regions that hold the rows; they follow one another along the last axis.
    regions: Range<usize>,
    /// The rows: all axes but the last count.
    rows: GridBox<D>,
    /// First and one past the last cell along the last axis.
    stretch: (i64, i64),
}

/// Where the pieces put their segments' values. Each segment belongs to one piece.
struct Slots<P>(*mut P);

// SAFETY: pieces write disjoint slots.
unsafe impl<P: Send> Sync for Slots<P> {}

impl<P> Slots<P> {
    /// # Safety
    /// `n` is below the number of slots, and no other thread writes it.
    unsafe fn put(&self, n: usize, value: P) {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(n).write(value) }
    }

    /// # Safety
    /// The slots are there and were written; no thread writes them any more.
    unsafe fn of(&self, slots: Range<usize>) -> &[P] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.0.add(slots.start), slots.len()) }
    }
}

/// Where a piece puts what it makes.
struct To<'a, R, P> {
    /// The first segment of a row, and how many it has.
    segments: (i64, usize),
    slots: &'a Slots<P>,
    /// Room for the values of [`BLOCK`] cells, which nothing else reads or writes.
    values: *mut R,
    lanes: &'a mut Lanes<P>,
    lacking: &'a mut Lacking<P>,
}

/// The values of [`BLOCK`] cells; no vector of them crosses a line of the cache.
#[repr(align(64))]
struct Values<R>([R; BLOCK]);

impl<H, N, O, const D: usize> Job<H, N, O, D> {
    /// Puts the kernels of the reduction of one scalar, which `prepared` gives, into a stream of a device.
    ///
    /// # Safety
    /// As [`DeviceLaunch::enqueue`], for all regions that have cells of the box.
    unsafe fn on_device(
        &self,
        queue: &Queue<'_>,
        prepared: &Arc<Prepared>,
        cells: &Cells,
        native: &Arc<dyn NativeFold>,
    ) -> Result<Folded, Error>
    where
        H: HeldArgs<D>,
    {
        let launch = DeviceLaunch {
            prepared,
            captures: &self.quoted.captures,
            args: self.held.on_device().into_iter().map(|arg| arg.0).collect(),
            goal: cells.goal(),
            checked: self.run_checked,
            valid_only: self.valid_only,
            block: None,
            march: None,
            cache: Hints::default(),
            fold: None,
            within: None,
            varied: None,
            without: queue.device.without(),
            native: NativeForm { sweeps: &[], fold: Some(native) },
        };
        // SAFETY: handed on.
        unsafe { cells.enqueue(queue, launch) }
    }

    /// Folds the cells, of arrays on the host or where `sites` says. On a simulated device it is its one thread that
    /// runs this: no other may come between.
    pub fn run<R>(&self, sites: Option<&[Option<Site>]>) -> Result<O::Partial, Error>
    where
        R: Foldable,
        O: Reduction<R>,
        H: HeldArgs<D>,
        N: for<'b> Fn(Ask<'b, H::Views<Proven>, H::Views<Checked>, R, D>) + Send + Sync,
    {
        if self.cells.is_empty() {
            return Ok(self.op.identity());
        }
        let last = D - 1;
        let first_segment = self.cells.lo[last].div_euclid(SEGMENT as i64);
        let segments = (self.cells.hi[last] - 1).div_euclid(SEGMENT as i64) - first_segment + 1;
        let segments = segments as usize;
        let rows: usize = self.cells.extent()[..last].iter().product();
        let pieces = self.pieces();
        let slots = rows.saturating_mul(segments);
        // Pieces that have groups of the tree to themselves fold these too, while the segments' values are in the
        // cache.
        let ranges: Option<Vec<Range<usize>>> =
            pieces.iter().map(|piece| self.groups(piece, segments, slots)).collect();
        let mut partials = Vec::new();
        let mut next = Vec::new();
        reserve(&mut partials, slots)?;
        reserve(&mut next, ranges.as_ref().map_or(0, |_| slots.div_ceil(SEGMENT)))?;
        let (all, folded) = (Slots(partials.as_mut_ptr()), Slots(next.as_mut_ptr()));
        let run = |number: usize| {
            let piece = &pieces[number];
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
                    let segments = (first_segment, segments);
                    let values = starts[0].cast();
                    let to = To { segments, slots: &all, values, lanes: &mut lanes, lacking: &mut lacking };
                    match self.decoded(piece, sites) {
                        Some(sites) => self.run_piece(piece, to, Some(&sites))?,
                        None => self.run_piece(piece, to, sites)?,
                    }
                    if let Some(own) = ranges.as_ref().map(|ranges| ranges[number].clone()) {
                        let group = own.start / SEGMENT;
                        // SAFETY: this piece has written these slots, and no other does.
                        let list = unsafe { all.of(own) };
                        // SAFETY: the slots of these groups are this piece's alone.
                        fold::groups(self.op, list, &mut lanes, |n, value| unsafe { folded.put(group + n, value) });
                    }
                    Ok(())
                },
            )
        };
        let failed = match sites {
            // All of them, whatever fails: which failure is told is not to depend on which came first.
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
        if let Some(error) = failed {
            return Err(error);
        }
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
    fn row(&self, at: [i64; D]) -> usize {
        let extent = self.cells.extent();
        (0..D - 1).fold(0, |row, d| row * extent[d] + (at[d] - self.cells.lo[d]) as usize)
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
        let mut cells = piece.rows;
        (cells.lo[D - 1], cells.hi[D - 1]) = piece.stretch;
        let of = |number: usize| (number, self.layout.regions[number].valid.intersect(&cells).widen());
        let boxes: SmallVec<[_; 4]> = piece.regions.clone().map(of).collect();
        // SAFETY: the graph runs this node only while nothing writes what it reads.
        Some(unsafe { codes.sites(self.held.on_device(), &boxes, sites) })
    }

    /// The box, in pieces of some ten thousand cells: of more where each thread has many of them.
    fn pieces(&self) -> Vec<Piece<D>> {
        let last = D - 1;
        let along = self.layout.cuts.at[last].len() - 1;
        let mut pieces = Vec::new();
        let row = (self.cells.hi[last] - self.cells.lo[last]) as usize;
        let share = self.cells.cells() / (16 * rayon::current_num_threads());
        let most = if share >= 64 * BLOCK { 64 * BLOCK } else { 16 * BLOCK };
        let (stretch, rows) = if row > most { (most, 1) } else { (row + BLOCK, (most / row).max(1)) };
        for group in 0..self.layout.regions.len() / along {
            let regions = group * along..(group + 1) * along;
            let mut bound = self.layout.regions[regions.start].valid;
            (bound.lo[last], bound.hi[last]) = (0, 1);
            let mut held = self.cells;
            (held.lo[last], held.hi[last]) = (0, 1);
            let held = held.intersect(&bound);
            if held.is_empty() {
                continue;
            }
            let mut lo = self.cells.lo[last];
            while lo < self.cells.hi[last] {
                let end = (lo.div_euclid(BLOCK as i64) * BLOCK as i64 + stretch as i64).min(self.cells.hi[last]);
                for part in split_rows(&held, rows) {
                    pieces.push(Piece { regions: regions.clone(), rows: part, stretch: (lo, end) });
                }
                lo = end;
            }
        }
        pieces
    }

    #[inline(always)]
    fn run_piece<R>(
        &self,
        piece: &Piece<D>,
        mut to: To<'_, R, O::Partial>,
        sites: Option<&[Option<Site>]>,
    ) -> Result<(), Error>
    where
        R: Foldable,
        O: Reduction<R>,
        H: HeldArgs<D>,
        N: for<'b> Fn(Ask<'b, H::Views<Proven>, H::Views<Checked>, R, D>) + Send + Sync,
    {
        let _running = InKernel::enter();
        let last = D - 1;
        let (start, end) = piece.stretch;
        let how = How {
            valid_only: self.valid_only,
            cells: &self.cells,
            starts: [std::ptr::null_mut(); _],
            sites,
            alone: &[],
        };
        let regions: SmallVec<[_; 4]> = piece
            .regions
            .clone()
            .map(|r| {
                // SAFETY: the graph runs this node only while nothing writes what it reads; proven views are used
                // inside the boxes that `check` has proven them for.
                let (proven, checked) = unsafe {
                    if self.run_checked {
                        (None, Some(self.held.views::<Checked>(r, how)))
                    } else {
                        (Some(self.held.views::<Proven>(r, how)), None)
                    }
                };
                (self.layout.regions[r].valid, proven, checked)
            })
            .filter(|(valid, ..)| valid.lo[last] < end && valid.hi[last] > start)
            .collect();
        let may_fault = self.run_checked || self.prepared.may_fault(&self.cells, &self.quoted.captures);
        let pass = Pass::new(&self.quoted, &self.prepared.kernel.numbers, may_fault);
        // Short rows that are in one region each run together.
        let along = D.saturating_sub(2);
        let together = if D > 1 && regions.len() == 1 { BLOCK as i64 / (end - start) } else { 1 };
        let mut row = piece.rows.lo;
        loop {
            let rows = if D > 1 { together.clamp(1, piece.rows.hi[along] - row[along]) } else { 1 };
            let mut block = start;
            while block < end {
                let aligned = block.div_euclid(BLOCK as i64) * BLOCK as i64;
                let block_end = if rows > 1 { end } else { (aligned + BLOCK as i64).min(end) };
                for (valid, proven, checked) in &regions {
                    let mut cells = GridBox { lo: row, hi: row.map(|x| x + 1) };
                    if D > 1 {
                        cells.hi[along] = row[along] + rows;
                    }
                    cells.lo[last] = block.max(valid.lo[last]);
                    cells.hi[last] = block_end.min(valid.hi[last]);
                    if cells.is_empty() {
                        continue;
                    }
                    // SAFETY: the cells of a row lie in `block..block_end`, at most `BLOCK` of them. Several rows are
                    // in one region, which has all their cells, at most `BLOCK`.
                    let out = unsafe { to.values.add((cells.lo[last] - block) as usize) };
                    if let Some(views) = proven {
                        // SAFETY: as many values follow `out` as the rows have cells.
                        (self.kernel)(Ask::Proven(unsafe { Run::new(views, cells, out, &pass) }));
                    } else if let Some(views) = checked {
                        // SAFETY: as above.
                        (self.kernel)(Ask::Checked(unsafe { Run::new(views, cells, out, &pass) }));
                    }
                    pass.check()?;
                }
                let mut at = row;
                at[last] = block;
                let len = (block_end - block) as usize;
                // SAFETY: the rows have at most `BLOCK` cells from `block` to `block_end`. Each lies in one of the
                // regions, which has written it (`pass` says that it ran).
                let values = unsafe { std::slice::from_raw_parts(to.values, rows as usize * len) };
                self.fold_rows(at, values, len, &mut to);
                block = block_end;
            }
            let mut axis = last;
            loop {
                if axis == 0 {
                    return pass.fault(&self.prepared);
                }
                axis -= 1;
                row[axis] += if axis == along { rows } else { 1 };
                if row[axis] < piece.rows.hi[axis] {
                    break;
                }
                row[axis] = piece.rows.lo[axis];
            }
        }
    }

    /// Folds the values of rows that follow one another along the axis before the last, `len` cells of each from `at`
    /// on, segment by segment.
    #[inline(always)]
    fn fold_rows<R>(&self, at: [i64; D], values: &[R], len: usize, to: &mut To<'_, R, O::Partial>)
    where
        R: Foldable,
        O: Reduction<R>,
    {
        let (last, extent) = (D - 1, self.cells.extent());
        let (first_segment, segments) = to.segments;
        let (op, slots) = (self.op, to.slots);
        // Rows of whole segments are as one row: their cells and their slots lie side by side.
        let one = len == extent[last] && len.is_multiple_of(SEGMENT) && at[last] % SEGMENT as i64 == 0;
        let len = if one { values.len() } else { len };
        for (row, values) in (self.row(at)..).zip(values.chunks_exact(len)) {
            let (mut cell, mut left) = (at[last], values);
            while !left.is_empty() {
                let (segment, first) = (cell.div_euclid(SEGMENT as i64), cell.rem_euclid(SEGMENT as i64) as usize);
                let slot = row * segments + (segment - first_segment) as usize;
                let index = (row * extent[last]) as u64 + (cell - self.cells.lo[last]) as u64;
                let (whole, _) = left.as_chunks::<SEGMENT>();
                let taken = if first == 0 && !whole.is_empty() {
                    let lift = |value, n: usize| op.lift(value, index + n as u64);
                    fold::whole(op, whole, to.lanes, lift, |n, value| {
                        // SAFETY: rows and segments number the slots; this piece alone has these rows and segments.
                        unsafe { slots.put(slot + n, value) }
                    });
                    whole.len() * SEGMENT
                } else {
                    let taken = left.len().min(SEGMENT - first);
                    to.lacking.add(op, slot, (&left[..taken], first), index);
                    if to.lacking.is_full() {
                        // SAFETY: as above.
                        to.lacking.fold(op, to.lanes, |slot, value| unsafe { slots.put(slot, value) });
                    }
                    taken
                };
                cell += taken as i64;
                left = &left[taken..];
            }
        }
        // SAFETY: as above.
        to.lacking.fold(op, to.lanes, |slot, value| unsafe { slots.put(slot, value) });
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
