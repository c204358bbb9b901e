//! `compute`, and how a recorded kernel runs natively.

use std::any::TypeId;
use std::marker::PhantomData;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::analysis::Analysis;
use tida_kernels::ir::Type;
use tida_kernels::plan::Math;

use super::along::{AtOnce, Direction, waits};
use super::args;
use super::args::{ArgInfo, Args, HeldArgs, How, Infos, Views};
use super::ask::{Answer, Ask, LINES, Pass, Run};
use super::check::{Line, Rule, Target, Touches, check};
use super::copies::{OverCopies, made_by, over_copies};
use super::one_region::{Alone, Regions};
use super::view::{Checked, Proven};
use crate::acc::{Device, TileAcc};
use crate::backend::cpu;
use crate::device::plans::Hints;
use crate::error::{Error, ErrorKind};
use crate::grid::{GridBox, narrow};
use crate::launch::blocks::BlockList;
use crate::launch::capture::{CapturedValue, integers};
use crate::launch::carry::{self, ThroughDevice};
use crate::launch::decoded::{Codes, Wholes};
use crate::launch::device::OnDevice;
use crate::launch::fused::OneStep;
use crate::launch::native::NativeForm;
use crate::launch::needs::{Needs, Unproven};
use crate::launch::prepare::{Prepared, prepare};
use crate::launch::quoted::Quoted;
use crate::launch::site::Site;
use crate::launch::step::Launch;
use crate::launch::sweep::SweepLaunch;
use crate::memory::node::{Done, Queue};
use crate::memory::tracker::Side;
use crate::program::colour::CellColour;
use crate::program::order::{Carry, Order};
use crate::record::wait::{InKernel, outside_kernels};
use crate::tile::Tile;

/// Asks a kernel for its quotation.
pub(crate) fn quote<P, C, R, N, const D: usize>(kernel: &N) -> Result<Quoted, Error>
where
    N: for<'b> Fn(Ask<'b, P, C, R, D>),
{
    let mut quote = None;
    kernel(Ask::Quote(Answer { quote: &mut quote }));
    quote.ok_or_else(|| {
        Error::new(
            ErrorKind::Kernel,
            "ask a kernel what it does",
            "a closure that does not answer",
            "write it with `kernel!(|u, at| ..)`",
        )
    })
}

/// Records a kernel over the cells of a tile, and returns.
///
/// `args` is one argument or a tuple of up to 16: `&u`, `&mut u`, [`coarse`](super::coarse)`(&c)`,
/// [`fine`](super::fine)`(&f)`, [`all`](super::all)`(&a)`, [`table`](super::table)`(&s)`. The kernel writes `&mut`
/// arguments at `at` alone. It reads them there, and elsewhere such cells as no tile of the loop writes;
/// [`sweep_along`](super::sweep_along()) and [`sweep_colour`](super::sweep_colour()) let it read others. It reads `&u`
/// arguments around `at`, as far as their ghosts reach. Arrays have the cuts of the tile's array; their ghosts and
/// centring are their own.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f64, 2>::builder([4, 8]).regions([2, 1]).ghost(1).boundary(Boundary::Periodic).build(&acc)?;
/// u.fill(|[row, _]| row as f64)?;
/// u.fill_ghosts()?;
/// let mut slope = u.like()?;
/// let spacing = 0.5;
/// for tile in TileIter::new(&u) {
///     compute(&tile, (&mut slope, &u), kernel!(|slope, u, at| {
///         slope[at] = (u[at + [1, 0]] - u[at - [1, 0]]) / (2.0 * spacing);
///     }))?;
/// }
/// assert_eq!(slope.read_box(GridBox::new([0, 0], [4, 1]))?, [-2.0, 2.0, 2.0, -2.0]);
/// # Ok(()) }
/// ```
///
/// # Errors
/// What can be known now is reported now: a kernel that cannot be typed, a read past the ghosts, ghosts that are older
/// than the cells beside them, a race, arrays of other cuts. What shows only when the kernel runs (a division by zero,
/// a computed index out of range) comes out at the next host read of what it wrote, and at
/// [`TileAcc::sync`](crate::TileAcc::sync).
#[track_caller]
pub fn compute<const D: usize, A, N>(tile: &Tile<D>, args: A, kernel: N) -> Result<(), Error>
where
    A: Args<D>,
    N: for<'b> Fn(Ask<'b, Views<A, Proven, D>, Views<A, Checked, D>, (), D>) + Send + Sync + 'static,
{
    let recorded = Location::caller();
    let (infos, hold) = (args.infos(tile.place), || args.hold(tile.place));
    record::<AtOnce, D, _, _>(tile, Rule::Cells, &infos, hold, kernel, recorded).map_err(|e| e.recorded_at(recorded))
}

/// Records a kernel over a tile, for arguments of which this is known and that are held so.
///
/// # Errors
/// As [`compute`], without the place that recorded it.
pub(super) fn record<O, const D: usize, H, N>(
    tile: &Tile<D>,
    rule: Rule,
    infos: &Infos<'_, D>,
    hold: impl FnOnce() -> H,
    kernel: N,
    recorded: &'static Location<'static>,
) -> Result<(), Error>
where
    O: Direction,
    H: HeldArgs<D>,
    N: for<'b> Fn(Ask<'b, H::Views<O::Proven>, H::Views<O::Checked>, (), D>) + Send + Sync + 'static,
{
    outside_kernels("compute a kernel over a tile")?;
    tile.check()?;
    let mut quoted = quote(&kernel)?;
    let views = TypeId::of::<H::Views<O::Proven>>();
    let prepared = prepare(&mut quoted, views, D, H::BINDINGS, || Some(Type::unit()))?;
    args::refuse_on_ranks(infos, || format!("compute the kernel at {}", prepared.place()))?;
    if tile.cells.is_empty() {
        others_write(infos, &prepared, tile);
        return Ok(());
    }
    let prepared = prepared.for_codes(infos.iter().map(ArgInfo::coding))?;
    args::separate(infos, tile);
    let over = over_copies(tile, rule, &prepared, infos);
    let copies = over.as_ref().map_or([0; 2], |over| over.planes);
    over.iter().for_each(|over| over.give(infos, &prepared, recorded));
    let (mut cells, mut all) = (tile.cells, tile.all);
    (cells.lo[0], cells.hi[0]) = (cells.lo[0] - copies[0], cells.hi[0] + copies[1]);
    (all.lo[0], all.hi[0]) = (all.lo[0].min(cells.lo[0]), all.hi[0].max(cells.hi[0]));
    let target = Target {
        layout: &tile.layout,
        region: tile.region,
        cells,
        all,
        copies,
        rule,
        grown: tile.grown,
        holes: tile.listed.is_some(),
        device: tile.device,
        block: tile.block,
        march: tile.march,
        cache: tile.cache,
    };
    let mut touches = Touches::new();
    let mut checked = check(&prepared, quoted.id, &quoted.captures, views, &target, infos, &mut touches)?;
    prepared.warn_if_slow(&checked);
    let mut part = None;
    let in_place = rule.line().is_some() || rule.colour().is_some();
    if checked.key.on_device && !in_place && runs_on_both(&prepared, checked.acc, tile.device)? {
        let (core, measured) = (checked.acc.core(), rule.face().is_none());
        let part = part.insert(core.part(&checked.key, &tile.layout, tile.region, (&touches, measured)));
        checked.key.on_device = part.on_device;
    }
    let both = part.as_ref().is_some_and(|part| part.both);
    let made_by = over.as_ref().map(|_| made_by(&checked.key, infos));
    let work = crate::record::recording::TileWork {
        key: checked.key,
        region: tile.region,
        cells: cells.widen(),
        touches: &touches,
        after: &checked.after,
        name: "a kernel",
        recorded,
        by_planes: checked.by_planes,
        grown: tile.grown,
        reads_around_writes: prepared.reads_around_writes(),
        is_face: rule.face().is_some(),
        listed: tile.listed.as_ref(),
        pace: part.and_then(|part| part.pace),
    };
    let (run_checked, valid_only) = (checked.run_checked, checked.valid_only);
    let needs = (checked.unproven, tile.grown);
    let uneven = infos.iter().position(|info| info.is_uneven(&touches));
    let (block, march, cache) = (work.key.block, work.key.march, work.key.cache);
    let side = checked.acc.core().record_tile(work, || {
        Arc::new(Native::<O, H, N, D> {
            order: rule.line().map(Line::order::<D>),
            carry: checked.carry,
            colour: rule.colour(),
            way: PhantomData,
            kernel,
            quoted,
            held: hold(),
            run_checked,
            needs,
            valid_only,
            block,
            march,
            cache,
            rows: rows_at_once(infos, &prepared, (tile.region, rule)),
            alone: infos.iter().any(ArgInfo::has_other_cuts),
            uneven,
            wholes: Wholes::default(),
            prepared: prepared.clone(),
        })
    });
    let side = if both && side != Side::Chain { Side::Both } else { side };
    launch_written_over(infos, &prepared, (tile, rule), side, over.zip(made_by));
    Ok(())
}

/// Whether a kernel's tiles, which could run on the device, are to run on both sides.
fn runs_on_both(prepared: &Prepared, acc: &TileAcc, asked: Option<Device>) -> Result<bool, Error> {
    let hybrid = asked == Some(Device::Hybrid) || (asked.is_none() && acc.is_hybrid());
    // What lies in files is on no side.
    let (true, Some(device)) = (hybrid && acc.folder().is_none(), &acc.core().device) else { return Ok(false) };
    let native = device.backend().facts().native;
    let same = !prepared.analysis.uses_inexact || device.asked.math == Math::Fast || native;
    if same || asked.is_none() {
        return Ok(same);
    }
    Err(Error::new(
        ErrorKind::Device,
        format!("compute the kernel at {} on the CPU and the device at once", prepared.place()),
        "a function in it, such as `sin` or `exp`, that is each side's own library: its bits would depend on how the loop \
         is parted",
        "run these tiles on one side (`.device(Device::Cpu)`, or the device's own name), or build the accelerator with \
         `.math(Math::Fast)`, which gives the same bits up",
    ))
}

/// Tells the arrays that other ranks write them, if the tile stands for theirs.
pub(super) fn others_write<const D: usize>(infos: &[ArgInfo<'_, D>], prepared: &Prepared, tile: &Tile<D>) {
    for (info, plan) in infos.iter().zip(&prepared.args).filter(|_| tile.is_nowhere()) {
        if let (ArgInfo::Tiled(tiled), true) = (info, plan.written) {
            tiled.tracker.ages.cells_written();
        }
    }
}

/// Tells the arrays that a recorded launch writes.
pub(super) fn launch_written<const D: usize>(
    infos: &[ArgInfo<'_, D>],
    prepared: &Prepared,
    of: (&Tile<D>, Rule),
    side: Side,
) {
    launch_written_over(infos, prepared, of, side, None);
}

/// The same of a launch that may have run over copies of what other places own, and what it is known by then.
fn launch_written_over<const D: usize>(
    infos: &[ArgInfo<'_, D>],
    prepared: &Prepared,
    (tile, rule): (&Tile<D>, Rule),
    side: Side,
    over: Option<(OverCopies, u64)>,
) {
    for (info, plan) in infos.iter().zip(&prepared.args) {
        if let (ArgInfo::Tiled(tiled), true) = (info, plan.written) {
            tiled.tracker.written_at(side);
            if let Some(axis) = rule.face() {
                // A part of the fill.
                tiled.tracker.ages.face_set(axis);
                continue;
            }
            if !tiled.layout.domain().overlaps(&tile.cells) {
                // No cell is newer than the ghosts.
                tiled.tracker.ages.ghosts_written(tiled.reaches_set_faces(&tile.cells));
                continue;
            }
            match &over {
                Some((over, made_by)) => {
                    tiled.tracker.ages.cells_swept(
                        tiled.layout.part,
                        over.swept(infos, prepared, (tiled.layout, &tile.cells), *made_by),
                    );
                }
                None => tiled.tracker.ages.cells_written(),
            }
            if side == Side::Chain {
                // Ghosts are older than the cells again.
                tiled.tracker.ages.swap_due(false);
            }
            if tile.grown {
                tiled.tracker.ages.ghosts_overwritten(tiled.reaches_set_faces(&tile.cells));
            }
        }
    }
}

/// A kernel in its native form, with what it holds of its arguments.
struct Native<O, H, N, const D: usize> {
    /// How its cells run in order, if they do, and what is carried to those that come first.
    order: Option<Order>,
    carry: Option<Carry>,
    /// The colour of the cells that run, if not all do.
    colour: Option<CellColour>,
    way: PhantomData<fn() -> O>,
    kernel: N,
    quoted: Quoted,
    held: H,
    run_checked: bool,
    /// The first read that is, and whether tiles are grown.
    needs: (Unproven, bool),
    valid_only: u16,
    /// Threads of a block on a device, if asked for.
    block: Option<[u32; 3]>,
    /// Cells along the first axis that a thread of a device takes, if asked for.
    march: Option<u32>,
    /// What is to be cached on a device, if asked for.
    cache: Hints,
    /// Rows that are swept through all planes of a box before the next ones.
    rows: i64,
    /// An argument of another resolution that does not move along with the cell.
    uneven: Option<usize>,
    /// It is no step of several in one launch: arguments of another resolution are found by other numbers than a
    /// cell's.
    alone: bool,
    /// Whole arrays that hold codes, decoded once.
    wholes: Wholes,
    prepared: Arc<Prepared>,
}

/// How two parts of a sweep ended: with the failure of the first of two cells in row-major order.
fn together(first: Result<(), Error>, second: Result<(), Error>) -> Result<(), Error> {
    match (first, second) {
        (Err(first), Err(second)) => Err(if second.is_before(&first) { second } else { first }),
        (first, second) => first.and(second),
    }
}

/// Bytes of the planes that one row of a plane needs around it: they should stay in a core's second-level cache.
const PLANES: usize = 640 << 10;

/// How many rows of each plane to sweep at once, so that the planes that a kernel reads around a cell are still in the
/// cache when the next plane needs them.
fn rows_at_once<const D: usize>(infos: &[ArgInfo<'_, D>], prepared: &Prepared, (region, rule): (usize, Rule)) -> i64 {
    // Lines stay whole.
    if D < 3 || rule.line().is_some_and(|line| line.axis + 2 == D) {
        return i64::MAX;
    }
    let mut bytes = 0;
    for ((info, plan), binding) in infos.iter().zip(&prepared.args).zip(&prepared.kernel.args) {
        if let ArgInfo::Tiled(tiled) = info {
            let planes = plan.halo.map_or(1, |halo| (halo[D - 3].1 - halo[D - 3].0 + 1).clamp(1, 64) as usize);
            bytes += planes * tiled.layout.regions[region].strides[D - 2] * binding.element.bytes();
        }
    }
    ((PLANES / bytes.max(1)).max(LINES) / LINES * LINES) as i64
}

impl<O, H, N, const D: usize> Launch for Native<O, H, N, D>
where
    O: Direction,
    H: HeldArgs<D>,
    N: for<'b> Fn(Ask<'b, H::Views<O::Proven>, H::Views<O::Checked>, (), D>) + Send + Sync + 'static,
{
    unsafe fn run(&self, region: usize, cells: GridBox<4>) -> Result<(), Error> {
        let along = self.order.zip(self.carry);
        let crosses = |along: &_| carry::crosses(self.held.on_device(), &self.prepared.args, (region, &cells), *along);
        let Some(carried) = along.filter(crosses) else {
            // SAFETY: handed on.
            return unsafe { self.run_at(region, cells, None) };
        };
        // SAFETY: the caller's promise: the region before is read by this sweep, and is not written meanwhile.
        unsafe {
            let args = self.held.on_device();
            let bridges = carry::OnHost::take(args, &self.prepared.args, (region, &cells), carried);
            let first = self.run_at(region, bridges.head, Some(&bridges.sites(H::BINDINGS.len())));
            bridges.give();
            let rest = if bridges.rest.is_empty() { Ok(()) } else { self.run_at(region, bridges.rest, None) };
            together(first, rest)
        }
    }

    fn grain(&self) -> [i64; 4] {
        std::array::from_fn(|axis| if self.order.is_some_and(|order| order.axis == axis) { i64::MAX } else { 1 })
    }

    unsafe fn run_on(&self, region: usize, cells: GridBox<4>, sites: &[Option<Site>]) -> Result<(), Error> {
        // SAFETY: handed on.
        unsafe { self.run_at(region, cells, Some(sites)) }
    }

    unsafe fn enqueue(self: Arc<Self>, queue: &Queue<'_>, boxes: &[(usize, GridBox<4>)]) -> Result<Done, Error> {
        let native: [Arc<dyn Launch>; 1] = [self.clone()];
        // SAFETY: the caller's promise; `check` has proven every access in range or has it checked, for the tiles that
        // these boxes are part of; `self` holds the arrays.
        let put = |queue: &Queue<'_>, boxes: &[(usize, GridBox<4>)]| unsafe {
            let sweep = self.on_device(NativeForm { sweeps: &native, fold: None });
            sweep.enqueue(queue, self.held.on_device(), boxes, self.clone())
        };
        let Some(along) = self.order.zip(self.carry) else { return put(queue, boxes) };
        if carry::is_in_window(queue, self.held.on_device(), &self.prepared.args) {
            return put(queue, boxes);
        }
        let crosses =
            |of: &(usize, GridBox<4>)| carry::crosses(self.held.on_device(), &self.prepared.args, (of.0, &of.1), along);
        let mut held = Vec::new();
        let ends = queue.enqueue(|| {
            let mut ends = Vec::new();
            for layer in along.0.layers(boxes) {
                let (crossing, others): (Vec<_>, Vec<_>) = layer.into_iter().partition(crosses);
                if !others.is_empty() {
                    ends.push(put(queue, &others)?);
                }
                if crossing.is_empty() {
                    continue;
                }
                held.push(ThroughDevice::new(&crossing, along));
                let Some(through) = held.last_mut() else { continue };
                let args = self.held.on_device();
                // SAFETY: the caller's promise: what comes from the region before is read by this sweep.
                unsafe { through.bring(queue, args, &self.prepared.args)? };
                ends.push(put(&Queue { rings: &through.rings(queue), ..*queue }, &through.heads())?);
                // SAFETY: as above; these cells are among those that the sweep writes.
                unsafe { through.give(queue)? };
                let rest = through.rest();
                if !rest.is_empty() {
                    ends.push(put(queue, &rest)?);
                }
            }
            Ok(ends)
        })?;
        Ok(Box::new(move || {
            let ended = ends.into_iter().map(|end| end()).fold(Ok(()), together);
            drop(held);
            ended
        }))
    }

    unsafe fn enqueue_list(self: Arc<Self>, queue: &Queue<'_>, list: &Arc<BlockList>) -> Result<Done, Error> {
        let native: [Arc<dyn Launch>; 1] = [self.clone()];
        // SAFETY: as in `enqueue`: lists have no order.
        unsafe {
            let sweep = SweepLaunch { list: Some(list), ..self.on_device(NativeForm { sweeps: &native, fold: None }) };
            sweep.enqueue(queue, self.held.on_device(), list.spans(), self.clone())
        }
    }

    fn needs(&self) -> Option<Needs> {
        let downwards = self.order.is_some_and(|order| order.backward && order.axis + D == 4);
        let of_level = || Some(Needs::of_level(&self.prepared, self.uneven?));
        let needs = Needs::of(&self.prepared, self.needs.1, self.needs.0).or_else(of_level);
        needs.or_else(|| downwards.then(|| Needs::downwards(&self.prepared)))
    }

    fn step(&self) -> Option<OneStep<'_>> {
        let in_place = self.order.is_some() || self.colour.is_some();
        let other = self.alone || self.run_checked || self.valid_only != 0 || in_place;
        let alone = other || self.prepared.steps.is_none();
        (!alone).then_some(OneStep { prepared: &self.prepared, captures: &self.quoted.captures })
    }

    fn part(&self) -> Option<OneStep<'_>> {
        let around = self.prepared.reads_around_writes() || self.order.is_some() || self.colour.is_some();
        let alone = self.run_checked || self.valid_only != 0 || self.prepared.is_coded || around;
        (!alone).then_some(OneStep { prepared: &self.prepared, captures: &self.quoted.captures })
    }

    fn beside(&self) -> Option<OneStep<'_>> {
        let in_place = self.order.is_some() || self.colour.is_some();
        let other = self.run_checked || self.valid_only != 0 || self.prepared.is_coded || in_place;
        (!other).then_some(OneStep { prepared: &self.prepared, captures: &self.quoted.captures })
    }

    fn line(&self) -> Option<OneStep<'_>> {
        let alone = self.order.is_none() || self.carry.is_some() || self.run_checked;
        let other = alone || self.valid_only != 0 || self.prepared.is_coded || self.prepared.analysis.may_fault;
        (!other).then_some(OneStep { prepared: &self.prepared, captures: &self.quoted.captures })
    }

    fn is_sure(&self) -> bool {
        let Analysis { complete, may_fault, counts, .. } = self.prepared.analysis;
        let later = |value: &CapturedValue| matches!(value, CapturedValue::Deferred(_));
        let known = !self.quoted.captures.list.iter().any(later);
        known && complete && !(may_fault || counts || self.run_checked || self.order.is_some() || self.colour.is_some())
    }

    fn rows(&self) -> i64 {
        self.rows
    }

    fn order(&self) -> Option<Order> {
        self.order
    }

    fn carry(&self) -> Option<Carry> {
        self.carry
    }

    fn colour(&self) -> Option<CellColour> {
        self.colour
    }

    fn args(&self) -> SmallVec<[OnDevice<'_>; 8]> {
        self.held.on_device()
    }
}

impl<O, H, N, const D: usize> Native<O, H, N, D> {
    /// The sweep as a device launches it.
    fn on_device<'a>(&'a self, native: NativeForm<'a>) -> SweepLaunch<'a> {
        SweepLaunch {
            prepared: &self.prepared,
            captures: &self.quoted.captures,
            checked: self.run_checked,
            valid_only: self.valid_only,
            block: self.block,
            march: self.march,
            cache: self.cache,
            order: self.order,
            colour: self.colour,
            native,
            list: None,
        }
    }
}

impl<O, H, N, const D: usize> Native<O, H, N, D>
where
    O: Direction,
    H: HeldArgs<D>,
    N: for<'b> Fn(Ask<'b, H::Views<O::Proven>, H::Views<O::Checked>, (), D>) + Send + Sync + 'static,
{
    /// Runs over a box inside one region, of arrays on the host or where `sites` says.
    ///
    /// # Safety
    /// As [`Launch::run`].
    unsafe fn run_at(&self, region: usize, cells: GridBox<4>, sites: Option<&[Option<Site>]>) -> Result<(), Error> {
        if !self.prepared.is_coded {
            // SAFETY: handed on.
            return unsafe { self.run_values(region, cells, sites) };
        }
        let codes = Codes {
            prepared: &self.prepared,
            captures: &self.quoted.captures,
            valid_only: self.valid_only,
            wholes: &self.wholes,
            grain: self.grain(),
        };
        // SAFETY: the caller's promise, of the boxes that are handed on as of the whole.
        unsafe {
            codes.each(self.held.on_device(), (region, cells), sites, |cells, sites| {
                // Arrays on the host that hold values are found as by any other kernel.
                self.run_values(region, cells, Some(sites).filter(|sites| sites.iter().any(Option::is_some)))
            })
        }
    }

    /// The same of arrays that hold values.
    ///
    /// # Safety
    /// As [`Launch::run`].
    unsafe fn run_values(&self, region: usize, cells: GridBox<4>, sites: Option<&[Option<Site>]>) -> Result<(), Error> {
        let _running = InKernel::enter();
        let cells = narrow(&cells);
        let captures = &self.quoted.captures;
        let may_fault = self.run_checked || self.prepared.may_fault(&cells, captures);
        let ends = self.held.ends();
        // The first cell that raises a fault is the first of the whole box. Parts come from the first cell to the last.
        let backward = self.order.is_some_and(|order| order.backward);
        if may_fault || backward || cells.is_empty() || ends.iter().all(Option::is_none) {
            // SAFETY: handed on.
            return unsafe { self.run_part(region, cells, sites, &[], may_fault) };
        }
        let captures = integers(&self.prepared.analysis, captures);
        let regions = Regions { analysis: &self.prepared.analysis, captures: &captures, ends: &ends };
        // SAFETY: handed on, for parts that are the whole together; the analysis says which regions they read.
        let mut run = |part, alone: &Alone| unsafe { self.run_part(region, part, sites, alone, false) };
        regions.each(cells, &mut run)
    }

    /// The same of a box, with the regions that have all that it reads of whole arrays.
    ///
    /// # Safety
    /// As [`Launch::run`]; nothing else is read of those arrays.
    unsafe fn run_part(
        &self,
        region: usize,
        cells: GridBox<D>,
        sites: Option<&[Option<Site>]>,
        alone: &[Option<usize>],
        may_fault: bool,
    ) -> Result<(), Error> {
        let overwrites = self.prepared.analysis.args.iter().all(|arg| arg.must_write || !arg.may_write);
        // What is read of other cells lies in the same memory.
        let in_place = self.prepared.reads_around_writes();
        let pass = Pass::new(&self.quoted, &self.prepared.kernel.numbers, may_fault);
        let pass = pass.overwriting(overwrites).in_place::<D>(in_place, self.order);
        let pass = pass.coloured(self.colour);
        let pass = pass.waiting(self.order.is_some_and(|order| waits(&self.prepared, order)));
        let apart = sites.is_none() && !in_place;
        let exclusive = if apart { self.held.exclusive(region, &cells) } else { [None; _] };
        let memory = exclusive.map(|memory| match memory {
            // SAFETY: the memory of cells that this run alone writes, and of padding and ghosts between them, which
            // the graph counts as written with them; no one else touches it until the run has ended.
            Some((first, bytes)) => unsafe { std::slice::from_raw_parts_mut(first, bytes) },
            None => &mut [],
        });
        let ran = cpu::vectorised_writing(
            memory,
            #[inline(always)]
            |starts| {
                let how = How { valid_only: self.valid_only, cells: &cells, starts, sites, alone };
                if self.run_checked {
                    // SAFETY: the caller's promise; the views check themselves.
                    let views = unsafe { self.held.views::<O::Checked>(region, how) };
                    self.each_stripe(
                        cells,
                        &pass,
                        #[inline(always)]
                        // SAFETY: `()` takes no room.
                        |stripe| Ask::Checked(unsafe { Run::new(&views, stripe, NonNull::dangling().as_ptr(), &pass) }),
                    )
                } else {
                    // SAFETY: the caller's promise; `check` has proven every access in range, for the tiles that these
                    // cells are part of.
                    let views = unsafe { self.held.views::<O::Proven>(region, how) };
                    self.each_stripe(
                        cells,
                        &pass,
                        #[inline(always)]
                        // SAFETY: `()` takes no room.
                        |stripe| Ask::Proven(unsafe { Run::new(&views, stripe, NonNull::dangling().as_ptr(), &pass) }),
                    )
                }
            },
        );
        ran?;
        pass.fault(&self.prepared)
    }
}

impl<O, H, N, const D: usize> Native<O, H, N, D> {
    /// Runs the kernel over the box, stripe by stripe: some rows of all planes.
    #[inline(always)]
    fn each_stripe<'b, P: 'b, C: 'b>(
        &self,
        cells: GridBox<D>,
        pass: &Pass<'_>,
        ask: impl Fn(GridBox<D>) -> Ask<'b, P, C, (), D>,
    ) -> Result<(), Error>
    where
        N: Fn(Ask<'b, P, C, (), D>),
    {
        let axis = D.saturating_sub(2);
        let mut stripe = cells;
        while stripe.lo[axis] < cells.hi[axis] {
            stripe.hi[axis] = stripe.lo[axis].saturating_add(self.rows).min(cells.hi[axis]);
            (self.kernel)(ask(stripe));
            pass.check()?;
            stripe.lo[axis] = stripe.hi[axis];
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    #[test]
    fn a_native_panic_is_an_error_of_what_it_would_have_written() {
        let acc = TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap();
        let mut u = TileArray::<f64, 1>::builder([64]).build(&acc).unwrap();
        let v = u.like().unwrap();
        let touch = |mode| crate::memory::tracker::Touch::new(&u.tracker, None, mode);
        // No kernel can panic by itself; the same path runs ghost fills, copies and kernels.
        acc.record("a kernel that panics", vec![touch(crate::memory::tracker::Mode::Update)], || panic!("on purpose"));
        let error = u.read_box(u.domain()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panic);
        assert!(error.found().contains("on purpose") && error.recorded().is_some(), "{error}");
        assert!(v.read_box(v.domain()).is_ok());
        u.fill_value(1.0).unwrap();
        assert!(u.read_box(u.domain()).unwrap().iter().all(|x| *x == 1.0));
    }
}
