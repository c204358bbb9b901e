//! Recording a reduction.

use std::any::TypeId;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::ir::{Binding, Type};
use tida_kernels::plan::FoldOp;

use super::frame::Frame;
use super::job::Job;
use super::link::InPieces;
use super::natively::Natively;
use super::ops::{Foldable, Reduction};
use super::places::{on_places, world_of};
use super::whole::{Reducing, Whole};
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
use crate::record::recording::{TileAccess, TileWork};
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

/// How a reduction folds, as data.
pub(super) struct Way {
    /// What a cell gives.
    pub value: ElementType,
    pub fold: FoldOp,
    /// Whether a device folds values of several scalars, each scalar by itself.
    pub by_parts: bool,
    /// Whether a box without cells has a value.
    pub of_nothing: bool,
}

impl Way {
    fn of<R: Foldable, O: Reduction<R>>() -> Way {
        Way { value: R::TYPE, fold: O::FOLD, by_parts: O::BY_PARTS, of_nothing: O::OF_NOTHING }
    }

    /// What a device folds of the cells of a reduction: each scalar of its values by itself; nothing if it folds none.
    pub fn on_device<const D: usize>(
        &self,
        layout: &Layout<D>,
        cells: &GridBox<D>,
        on_device: bool,
    ) -> SmallVec<[Cells; 2]> {
        let folds = on_device && (self.by_parts || self.value.components() == 1) && !cells.is_empty();
        let of = |ty: ScalarType| Cells::new(layout, cells, (ty, self.fold));
        match folds {
            true => self.value.component_types().into_iter().map(of).collect(),
            false => SmallVec::new(),
        }
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
    let quoted = quote(&kernel).map_err(at)?;
    let views = TypeId::of::<Views<A, Proven, D>>();
    let result: fn() -> Option<Type> = || Some(Type::of_element(&R::TYPE));
    let types = (views, <A::Held as HeldArgs<D>>::BINDINGS, result);
    let (infos, way) = (args.infos(0), Way::of::<R, O>());
    let planned = Planned::new(domain, &infos, (quoted, types), way).map_err(at)?;
    let kernel = Arc::new(kernel);
    let world = world_of(&|place| args.infos(place));
    if planned.layout.is_part() || world.is_some() {
        return on_places(&args, (&planned, world), (op, &kernel), recorded).map_err(at);
    }
    let (touched, frame) = planned.touched().map_err(at)?;
    let acc = touched.acc.clone();
    let value = Arc::new(OnceLock::new());
    let job = Job { frame, kernel, held: args.hold(0), op };
    let node = planned.record(touched, Arc::new(Whole::new(job, value.clone())), recorded).map_err(at)?;
    Ok(Scalar::new(acc, node, value))
}

/// A reduction that was checked: all of it but the kernel's closure. So this is compiled once, whatever the kernel.
pub(super) struct Planned<'a, const D: usize> {
    infos: &'a [ArgInfo<'a, D>],
    pub views: TypeId,
    pub quoted: Arc<Quoted>,
    pub prepared: Arc<Prepared>,
    pub layout: Arc<Layout<D>>,
    pub cells: GridBox<D>,
    pub way: Way,
}

/// The types of views, of arguments, and of a cell's value.
type Types<'a> = (TypeId, &'a [Binding], fn() -> Option<Type>);

impl<'a, const D: usize> Planned<'a, D> {
    fn new(
        domain: Option<Domain<D>>,
        infos: &'a [ArgInfo<'a, D>],
        (mut quoted, (views, bindings, result)): (Quoted, Types<'_>),
        way: Way,
    ) -> Result<Self, Error> {
        let prepared = prepare(&mut quoted, views, D, bindings, result)?;
        let prepared = prepared.for_codes(infos.iter().map(ArgInfo::coding))?;
        let layout = infos.iter().find_map(|info| match info {
            ArgInfo::Tiled(tiled) if tiled.level.is_none() => Some(tiled.layout.clone()),
            _ => None,
        });
        let tried = || format!("reduce the kernel at {}", prepared.place());
        let refused = |kind, found: String, advice: &'static str| Err(Error::new(kind, tried(), found, advice));
        refuse_on_ranks(infos, &tried)?;
        let Some(layout) = layout else {
            let advice = "pass `&u` for the array whose cells are reduced";
            return refused(ErrorKind::Argument, "no array with regions among its arguments".into(), advice);
        };
        if let Some(arg) = prepared.args.iter().position(|a| a.written) {
            let found = format!("that it writes `{}`", prepared.kernel.args[arg].name);
            return refused(ErrorKind::Argument, found, "write arrays in `compute`, and reduce after");
        }
        let whole = GridBox::new([0; D], layout.shape.map(|n| n as i64));
        let cells = domain.map_or(whole, |d| d.0);
        if !whole.contains_box(&cells) {
            let found = format!("the box {}, which reaches outside the array's {}", box_text(&cells), box_text(&whole));
            return refused(ErrorKind::Shape, found, "keep the box inside the array's valid cells");
        }
        if cells.is_empty() && !way.of_nothing {
            let advice = "reduce a box that has cells";
            return refused(ErrorKind::Shape, format!("no cells in {}", box_text(&cells)), advice);
        }
        Ok(Planned { infos, views, quoted: Arc::new(quoted), prepared, layout, cells, way })
    }

    /// What it does with its arrays.
    fn touched(&self) -> Result<(Touched, Frame<D>), Error> {
        let of = (&self.layout, &self.cells);
        let Some(touched) = touched(&self.prepared, &self.quoted, self.views, of, self.infos)? else {
            let tried = format!("reduce the kernel at {}", self.prepared.place());
            return Err(Error::new(ErrorKind::Argument, tried, "no region to reduce", "pass an array with cells"));
        };
        let frame = self.frame(&touched, self.layout.clone());
        Ok((touched, frame))
    }

    /// What its kernel is to know of the cells that regions of a layout have.
    pub fn frame(&self, touched: &Touched, layout: Arc<Layout<D>>) -> Frame<D> {
        Frame {
            quoted: self.quoted.clone(),
            run_checked: touched.run_checked,
            valid_only: touched.valid_only,
            layout,
            cells: self.cells,
            wholes: Wholes::default(),
            prepared: self.prepared.clone(),
        }
    }

    /// Records it, with what runs it.
    fn record(
        &self,
        touched: Touched,
        folds: Arc<dyn Reducing<D>>,
        recorded: &'static Location<'static>,
    ) -> Result<Arc<Node>, Error> {
        let Touched { acc, key, touches, after, by_planes, .. } = touched;
        let (on_device, arrays) = (key.on_device, key.args.clone());
        let on_device_cells = self.way.on_device(&self.layout, &self.cells, on_device);
        // While the arrays stream it is a part of what they stream for.
        if let Some(cells) = on_device_cells.first().filter(|cells| !cells.is_split()) {
            let work = TileWork {
                key: Arc::new(key),
                region: 0,
                cells: self.cells.widen(),
                touches: &touches,
                after: &after,
                name: "a reduction",
                recorded,
                access: TileAccess { by_planes, ..TileAccess::default() },
                listed: None,
                pace: None,
                known: None,
            };
            let bytes = |by_planes| on_device_cells.iter().map(|cells| cells.list_bytes(by_planes)).sum();
            if let Some(place) = acc.core().place_of_fold(&work, &bytes) {
                let (parts, boxes) = (self.prepared.parts()?, cells.boxes.iter().copied().collect());
                let fold = InPieces::new(folds, parts.iter().cloned().zip(on_device_cells).collect());
                return Ok(acc.core().record_fold(&work, place, boxes, Arc::new(fold)));
            }
        }
        let touches: Vec<Touch> =
            touches.iter().map(|touch| Touch::new(&touch.tracker, Some(touch.region), Mode::Read)).collect();
        let is_backed = acc.folder().is_some();
        let trackers = trackers(self.infos);
        let at_host = !is_backed && is_at_host(&trackers);
        // Until the reduction is recorded.
        let kept = (!on_device_cells.is_empty() && !at_host).then(|| acc.core().try_reserve(&trackers)).flatten();
        let work = if kept.is_some() {
            on_one_device(&acc, &folds, on_device_cells, &arrays)?
        } else if is_backed {
            return Err(Error::new(
                ErrorKind::Memory,
                format!("reduce the kernel at {}", self.prepared.place()),
                "arrays that lie in files (`backed_by`), have no room in memory as a whole and cannot stream for it",
                "raise the memory limit, or reduce boxes of whole planes by an operator that devices fold",
            ));
        } else {
            Work::Host(Box::new(move || folds.run(None)))
        };
        let node = acc.record_node("a reduction", recorded, &touches, &after, work);
        drop(kept);
        Ok(node)
    }
}

/// The work of a reduction that a device folds.
///
/// # Errors
/// A kernel that cannot be compiled for parts of values.
fn on_one_device<const D: usize>(
    acc: &TileAcc,
    folds: &Arc<dyn Reducing<D>>,
    cells: SmallVec<[Cells; 2]>,
    arrays: &[usize],
) -> Result<Work, Error> {
    let frame = folds.frame();
    let (parts, proven) = (frame.prepared.parts()?, !frame.run_checked && frame.valid_only == 0);
    let native: Arc<dyn NativeFold> = Arc::new(Natively(folds.clone()));
    let ending = match cells.as_slice() {
        [cells] => Ending::new(&frame.prepared, &frame.quoted.captures, arrays, (cells, proven), &native),
        _ => None,
    };
    ending.iter().for_each(|ending| acc.core().end_with_fold(ending));
    let folds = folds.clone();
    Ok(Work::Device(Box::new(move |queue| {
        let left = ending.as_ref().and_then(|ending| ending.take());
        // SAFETY: the graph runs this node only while nothing writes what it reads; `check` has proven every access in
        // range, or has it checked.
        let on_device =
            |of: (&Arc<Prepared>, &Cells)| unsafe { folds.frame().on_device(queue, folds.args(), of, &native) };
        // A native form gives all parts at once.
        let launches = if queue.device.backend().facts().native { 1 } else { parts.len() };
        let folded: SmallVec<[Folded; 2]> = match left {
            Some(folded) => SmallVec::from_iter([folded]),
            None => parts.iter().zip(&cells).take(launches).map(on_device).collect::<Result<_, _>>()?,
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
            folds.give(known.then_some((all, place)));
            Ok(())
        }))
    })))
}
