//! Recording a reduction.

use std::any::TypeId;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;
use tida_kernels::element::ScalarType;
use tida_kernels::ir::Type;

use super::job::Job;
use super::link::InPieces;
use super::natively::Natively;
use super::ops::{Foldable, Reduction};
use super::places::{on_places, world_of};
use crate::acc::TileAcc;
use crate::compute::args::{ArgInfo, Args, HeldArgs, Views, refuse_on_ranks};
use crate::compute::ask::Ask;
use crate::compute::check::{Rule, Target, Touches, box_text, check};
use crate::compute::deferred::Scalar;
use crate::compute::launch::quote;
use crate::compute::view::{Checked, Proven};
use crate::device::plans::Hints;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::launch::decoded::Wholes;
use crate::launch::ending::Ending;
use crate::launch::folded::{Cells, Folded};
use crate::launch::native::NativeFold;
use crate::launch::prepare::{Prepared, prepare};
use crate::launch::quoted::Quoted;
use crate::memory::layout::Layout;
use crate::memory::node::{Node, Work};
use crate::memory::tracker::{Mode, Side, Touch, Tracker};
use crate::record::recording::TileWork;
use crate::record::sweep::SweepKey;
use crate::record::wait::outside_kernels;
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
/// If its arrays are larger than a device's memory, it is a part of the passes of the work before it: a norm in every
/// step costs no pass where planes stream, and at most one where regions do. [`TileAcc::streamed`] counts those.
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

/// What a reduction does with its arrays.
pub(super) struct Touched {
    pub acc: TileAcc,
    pub key: SweepKey,
    pub touches: Touches,
    pub after: SmallVec<[Arc<Node>; 2]>,
    pub run_checked: bool,
    pub valid_only: u16,
    by_planes: bool,
}

/// Checks a reduction over the cells of a box that regions of this layout have; nothing if they have none.
///
/// # Errors
/// As [`check`].
pub(super) fn touched<const D: usize>(
    prepared: &Prepared,
    quoted: &Quoted,
    views: TypeId,
    (layout, cells): (&Arc<Layout<D>>, &GridBox<D>),
    infos: &[ArgInfo<'_, D>],
) -> Result<Option<Touched>, Error> {
    let mut acc: Option<TileAcc> = None;
    let (mut touches, mut after, mut key) = (Touches::new(), SmallVec::new(), None);
    let (mut run_checked, mut valid_only, mut by_planes) = (false, 0, true);
    for region in 0..layout.regions.len() {
        let part = layout.own(region).intersect(cells);
        if part.is_empty() && !(cells.is_empty() && region == 0) {
            continue;
        }
        let target = Target {
            layout,
            region,
            cells: part,
            all: part,
            copies: [0; 2],
            rule: Rule::Cells,
            grown: false,
            holes: false,
            device: None,
            block: None,
            march: None,
            cache: Hints::default(),
        };
        let checked = check(prepared, quoted.id, &quoted.captures, views, &target, infos, &mut touches)?;
        run_checked |= checked.run_checked;
        valid_only |= checked.valid_only;
        by_planes &= checked.by_planes;
        after = checked.after;
        key = Some(checked.key);
        acc.get_or_insert_with(|| checked.acc.clone());
    }
    touches.retain(|touch| touch.read.is_some());
    let found = acc.zip(key);
    Ok(found.map(|(acc, key)| Touched { acc, key, touches, after, run_checked, valid_only, by_planes }))
}

/// The arrays that a reduction reads.
pub(super) fn trackers<'i, const D: usize>(infos: &'i [ArgInfo<'_, D>]) -> Vec<&'i Arc<Tracker>> {
    let trackers = infos.iter().filter_map(|info| match info {
        ArgInfo::Tiled(tiled) => Some(tiled.tracker),
        ArgInfo::Whole { tracker, .. } => Some(*tracker),
        ArgInfo::Table { .. } | ArgInfo::Refused { .. } => None,
    });
    trackers.collect()
}

/// Whether the kernels run on the host that write some of what is read.
pub(super) fn is_at_host(trackers: &[&Arc<Tracker>]) -> bool {
    trackers.iter().any(|tracker| matches!(tracker.side(), Side::Host | Side::Chain))
}

/// What a device folds of the cells of a reduction: each scalar of its values by itself; nothing if it folds none.
pub(super) fn on_device_cells<R, O, const D: usize>(
    layout: &Layout<D>,
    cells: &GridBox<D>,
    on_device: bool,
) -> SmallVec<[Cells; 2]>
where
    R: Foldable,
    O: Reduction<R>,
{
    let folds = on_device && (O::BY_PARTS || R::TYPE.components() == 1) && !cells.is_empty();
    let of = |ty: ScalarType| Cells::new(layout, cells, (ty, O::FOLD));
    match folds {
        true => R::TYPE.component_types().into_iter().map(of).collect(),
        false => SmallVec::new(),
    }
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
    let prepared =
        prepare(&mut quoted, views, D, <A::Held as HeldArgs<D>>::BINDINGS, || Some(Type::of_element(&R::TYPE)))
            .map_err(at)?;
    let infos = args.infos(0);
    let prepared = prepared.for_codes(infos.iter().map(ArgInfo::coding)).map_err(at)?;
    let layout = infos.iter().find_map(|info| match info {
        ArgInfo::Tiled(tiled) if tiled.level.is_none() => Some(tiled.layout.clone()),
        _ => None,
    });
    let tried = || format!("reduce the kernel at {}", prepared.place());
    refuse_on_ranks(&infos, tried).map_err(at)?;
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
    let (quoted, kernel) = (Arc::new(quoted), Arc::new(kernel));
    if layout.is_part() || world_of(&args).is_some() {
        return on_places(&args, (cells, op), (&prepared, &quoted, &kernel), recorded).map_err(at);
    }
    let touched = touched(&prepared, &quoted, views, (&layout, &cells), &infos).map_err(at)?;
    let Some(Touched { acc, key, touches, after, run_checked, valid_only, by_planes }) = touched else {
        return Err(at(Error::new(ErrorKind::Argument, tried(), "no region to reduce", "pass an array with cells")));
    };
    let job = Job {
        kernel,
        quoted,
        held: args.hold(0),
        run_checked,
        valid_only,
        layout,
        cells,
        op,
        wholes: Wholes::default(),
        prepared,
    };
    let (on_device, arrays) = (key.on_device, key.args.clone());
    let value = Arc::new(OnceLock::new());
    let result = value.clone();
    let on_device_cells = on_device_cells::<R, O, D>(&job.layout, &job.cells, on_device);
    let folds = !on_device_cells.is_empty();
    // While the arrays stream it is a part of what they stream for.
    if let Some(cells) = on_device_cells.first().filter(|cells| !cells.is_split()) {
        let work = TileWork {
            key,
            region: 0,
            cells: job.cells.widen(),
            touches: &touches,
            after: &after,
            name: "a reduction",
            recorded,
            by_planes,
            grown: false,
            reads_around_writes: false,
            is_face: false,
            listed: None,
            pace: None,
        };
        let bytes = |by_planes| on_device_cells.iter().map(|cells| cells.list_bytes(by_planes)).sum();
        if let Some(place) = acc.core().place_of_fold(&work, bytes) {
            let (parts, boxes) = (job.prepared.parts().map_err(at)?, cells.boxes.iter().copied().collect());
            let fold = InPieces::new(job, parts.iter().cloned().zip(on_device_cells), result);
            let node = acc.core().record_fold(&work, place, boxes, Arc::new(fold));
            return Ok(Scalar::new(acc, node, value));
        }
    }
    let touches: Vec<Touch> =
        touches.iter().map(|touch| Touch::new(&touch.tracker, Some(touch.region), Mode::Read)).collect();
    let is_backed = acc.folder().is_some();
    let trackers = trackers(&infos);
    let at_host = !is_backed && is_at_host(&trackers);
    // Until the reduction is recorded.
    let kept = (folds && !at_host).then(|| acc.core().try_reserve(&trackers)).flatten();
    let work = if kept.is_some() {
        let parts = job.prepared.parts().map_err(at)?;
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
    } else if is_backed {
        return Err(at(Error::new(
            ErrorKind::Memory,
            format!("reduce the kernel at {}", job.prepared.place()),
            "arrays that lie in files (`backed_by`), have no room in memory as a whole and cannot stream for it",
            "raise the memory limit, or reduce boxes of whole planes by an operator that devices fold",
        )));
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
