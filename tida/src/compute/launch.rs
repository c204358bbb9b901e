//! `compute`, and how a recorded kernel runs natively.

use std::any::TypeId;
use std::cell::LazyCell;
use std::marker::PhantomData;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::ir::{Binding, Type};
use tida_kernels::plan::Math;

use super::again::Calls;
use super::along::{AtOnce, Direction};
use super::args;
use super::args::{ArgInfo, Args, HeldArgs, How, Views};
use super::ask::{Answer, Ask, LINES, Run};
use super::check::{self, Line, Rule, Target, Touches, check};
use super::copies::{OverCopies, over_copies};
use super::native::{Form, Native, Part};
use super::one_region::Ends;
use super::view::{Checked, Proven};
use crate::acc::{Device, TileAcc};
use crate::backend::cpu::{self, EXCLUSIVE, Exclusive};
use crate::error::{Error, ErrorKind};
use crate::grid::{GridBox, narrow};
use crate::launch::decoded::Wholes;
use crate::launch::device::OnDevice;
use crate::launch::needs::Unproven;
use crate::launch::prepare::{Prepared, prepare};
use crate::launch::quoted::Quoted;
use crate::launch::step::Launch;
use crate::memory::node::Node;
use crate::memory::tracker::Side;
use crate::program::order::Carry;
use crate::record::driver::Core;
use crate::record::hybrid::LoopPart;
use crate::record::known::{Call, Found, Look};
use crate::record::recording::{GiveLaunch, TileAccess, TileWork};
use crate::record::sweep::{LoopAsked, SweepKey};
use crate::record::wait::outside_kernels;
use crate::run::op::Sweep;
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
    let infos = args.infos(tile.place);
    let hold = || args.hold(tile.place);
    record::<AtOnce, D, _, _>(tile, Rule::Cells, &infos, hold, kernel, recorded).map_err(|e| e.recorded_at(recorded))
}

/// Records a kernel over a tile, for arguments of which this is known and that are held so.
///
/// # Errors
/// As [`compute`], without the place that recorded it.
pub(super) fn record<O, const D: usize, H, N>(
    tile: &Tile<D>,
    rule: Rule,
    infos: &[ArgInfo<'_, D>],
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
    // (Both are large, and stay where they are.)
    let mut quoted = quote(&kernel)?;
    let calls = Calls { tile, rule, infos };
    let mut call = Call::new(TypeId::of::<Held<O, H, N, D>>(), quoted.id);
    let mut keeps = calls.describe(&quoted.captures, &mut call);
    if let Some(core) = keeps {
        match core.look_up(&call) {
            Look::Known(found) => {
                calls.record_as(core, &found, recorded);
                return Ok(());
            }
            Look::Seen => {}
            Look::New => keeps = None,
        }
    }
    let mut touches = Touches::new();
    let types = (TypeId::of::<H::Views<O::Proven>>(), H::BINDINGS);
    let planned = Planned::new(tile, rule, infos, (&mut quoted, types), &mut touches, recorded)?;
    let Some((planned, key)) = planned else { return Ok(()) };
    let launch = LazyCell::new(|| -> Arc<dyn Launch> {
        let form = Held::<O, H, N, D> { way: PhantomData, kernel, held: hold() };
        Arc::new(planned.native(quoted, Box::new(form)))
    });
    let key = Arc::new(key);
    planned.record(key.clone(), &|| launch.clone());
    if let Some(core) = keeps {
        planned.keep(core, call, key, launch.clone());
    }
    Ok(())
}

/// A launch that was checked: all of it but the kernel's closure. So this is compiled once, whatever the kernel.
struct Planned<'a, const D: usize> {
    tile: &'a Tile<D>,
    rule: Rule,
    infos: &'a [ArgInfo<'a, D>],
    recorded: &'static Location<'static>,
    prepared: Arc<Prepared>,
    acc: &'a TileAcc,
    /// Deferred scalars it captures.
    after: SmallVec<[Arc<Node>; 2]>,
    touches: &'a Touches,
    valid_only: u16,
    run_checked: bool,
    by_planes: bool,
    unproven: Unproven,
    carry: Option<Carry>,
    /// What was asked for, of devices.
    asked: LoopAsked,
    /// Its cells, with the copies of what other places own that it runs over.
    cells: GridBox<D>,
    over: Option<(OverCopies, u64)>,
    /// How it runs on both sides, if it may.
    part: Option<LoopPart>,
}

impl<'a, const D: usize> Planned<'a, D> {
    /// Checks a launch of what was quoted, and says what it joins and `touches`; nothing if there is nothing to run.
    fn new(
        tile: &'a Tile<D>,
        rule: Rule,
        infos: &'a [ArgInfo<'a, D>],
        (quoted, (views, bindings)): (&mut Quoted, (TypeId, &[Binding])),
        touches: &'a mut Touches,
        recorded: &'static Location<'static>,
    ) -> Result<Option<(Self, SweepKey)>, Error> {
        let prepared = prepare(quoted, views, D, bindings, || Some(Type::unit()))?;
        args::refuse_on_ranks(infos, &|| format!("compute the kernel at {}", prepared.place()))?;
        if tile.cells.is_empty() {
            others_write(infos, &prepared, tile);
            return Ok(None);
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
        let mut checked = check(&prepared, quoted.id, &quoted.captures, views, &target, infos, touches)?;
        let touches: &Touches = touches;
        prepared.warn_if_slow(&checked);
        let mut part = None;
        let in_place = rule.line().is_some() || rule.colour().is_some();
        if checked.key.on_device && !in_place && runs_on_both(&prepared, checked.acc, tile.device)? {
            let (core, measured) = (checked.acc.core(), rule.face().is_none());
            let part = part.insert(core.part(&checked.key, &tile.layout, tile.region, (touches, measured)));
            checked.key.on_device = part.on_device;
        }
        let over = over.map(|over| {
            let by = over.made_by(&checked.key, &quoted.captures, infos);
            (over, by)
        });
        let check::Checked { acc, key, after, valid_only, run_checked, by_planes, unproven, carry } = checked;
        let planned = Planned {
            tile,
            rule,
            infos,
            recorded,
            prepared,
            acc,
            after,
            touches,
            valid_only,
            run_checked,
            by_planes,
            unproven,
            carry,
            asked: key.asked,
            cells,
            over,
            part,
        };
        Ok(Some((planned, key)))
    }

    /// The kernel as it runs.
    fn native(&self, quoted: Quoted, form: Box<dyn Form>) -> Native {
        let (infos, prepared) = (self.infos, &self.prepared);
        Native {
            order: self.rule.line().map(Line::order::<D>),
            carry: self.carry,
            colour: self.rule.colour(),
            quoted,
            form,
            run_checked: self.run_checked,
            needs: (self.unproven, self.tile.grown),
            valid_only: self.valid_only,
            block: self.asked.block,
            march: self.asked.march,
            cache: self.asked.cache,
            rows: rows_at_once(infos, prepared, (self.tile.region, self.rule)),
            alone: infos.iter().any(ArgInfo::has_other_cuts),
            uneven: infos.iter().position(|info| info.is_uneven(self.touches)),
            wholes: Wholes::default(),
            prepared: prepared.clone(),
        }
    }

    /// What was found of it is known to the next call like it.
    fn keep(&self, core: &Core, call: Call, key: Arc<SweepKey>, launch: Arc<dyn Launch>) {
        if self.over.is_some() || self.part.is_some() || !self.after.is_empty() || self.prepared.is_coded {
            return;
        }
        let (tile, touches) = (self.tile, self.touches.iter().cloned().collect());
        let mut sweep = Sweep::of(launch, &[]);
        sweep.add(tile.region, self.cells.widen(), self.touches);
        let held = Calls { tile, rule: self.rule, infos: self.infos }.held();
        let (prepared, access, sweep) = (self.prepared.clone(), self.access(), Arc::new(sweep));
        core.keep(call, Found { prepared, key, touches, access, sweep, _held: held });
    }

    /// Which cells its accesses may go to.
    fn access(&self) -> TileAccess {
        TileAccess {
            by_planes: self.by_planes,
            grown: self.tile.grown,
            around_writes: self.prepared.reads_around_writes(),
            is_face: self.rule.face().is_some(),
        }
    }

    /// Records it.
    fn record(&self, key: Arc<SweepKey>, launch: GiveLaunch<'_>) {
        let (tile, prepared) = (self.tile, &self.prepared);
        let work = TileWork {
            key,
            region: tile.region,
            cells: self.cells.widen(),
            touches: self.touches,
            after: &self.after,
            name: "a kernel",
            recorded: self.recorded,
            access: self.access(),
            listed: tile.listed.as_ref(),
            pace: self.part.as_ref().and_then(|part| part.pace.clone()),
            known: None,
        };
        let side = self.acc.core().record_tile(work, launch);
        let both = self.part.as_ref().is_some_and(|part| part.both);
        let side = if both && side != Side::Chain { Side::Both } else { side };
        launch_written_over(self.infos, prepared, (tile, self.rule), side, self.over.as_ref());
    }
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
        "a function in it, such as `sin` or `exp`, that each side computes in its own way: its bits would depend on \
         how the loop is shared",
        "run these tiles on one side (`.device(Device::Cpu)`, or the device's own name), or build the accelerator with \
         `.math(Math::Fast)`, which gives the same bits up",
    ))
}

/// Tells the arrays that other ranks write them, if the tile stands for theirs.
pub(super) fn others_write<const D: usize>(infos: &[ArgInfo<'_, D>], prepared: &Prepared, tile: &Tile<D>) {
    for (info, plan) in infos.iter().zip(&prepared.args).filter(|_| tile.is_nowhere()) {
        if let (ArgInfo::Tiled(tiled), true) = (info, plan.written) {
            let ages = &tiled.tracker.ages;
            if tiled.layout.domain().overlaps(&tile.all) {
                ages.cells_written();
            }
            if tile.grown {
                ages.ghosts_overwritten(false);
            }
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
    over: Option<&(OverCopies, u64)>,
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
            match over {
                Some((over, made_by)) => {
                    tiled.tracker.ages.cells_swept(
                        tiled.layout.part,
                        over.swept(infos, prepared, (tiled.layout, &tile.cells), *made_by),
                        over.depths(infos, prepared),
                    );
                }
                None => tiled.tracker.ages.cells_written(),
            }
            if tile.grown {
                tiled.tracker.ages.ghosts_overwritten(tiled.reaches_set_faces(&tile.cells));
            }
        }
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

/// A kernel's closure, with what it holds of its arguments.
struct Held<O, H, N, const D: usize> {
    way: PhantomData<fn() -> O>,
    kernel: N,
    held: H,
}

impl<O, H, N, const D: usize> Form for Held<O, H, N, D>
where
    O: Direction,
    H: HeldArgs<D>,
    N: for<'b> Fn(Ask<'b, H::Views<O::Proven>, H::Views<O::Checked>, (), D>) + Send + Sync + 'static,
{
    fn on_device(&self) -> SmallVec<[OnDevice<'_>; 8]> {
        self.held.on_device()
    }

    fn ends(&self) -> SmallVec<[Ends<'_>; 8]> {
        self.held.ends()
    }

    unsafe fn run(&self, cells: &GridBox<4>, part: &Part<'_>) -> Result<(), Error> {
        let (cells, pass) = (narrow(cells), part.pass);
        let exclusive = if part.apart { self.held.exclusive(part.region, &cells) } else { [None; _] };
        // SAFETY: the memory of cells that this run alone writes, and of padding and ghosts between them, which the
        // graph counts as written with them; no one else touches it until the run has ended.
        let memory = unsafe { memory(exclusive) };
        cpu::vectorised_writing(
            memory,
            #[inline(always)]
            |starts| {
                let how =
                    How { valid_only: part.valid_only, cells: &cells, starts, sites: part.sites, alone: part.alone };
                if part.run_checked {
                    // SAFETY: the caller's promise; the views check themselves.
                    let views = unsafe { self.held.views::<O::Checked>(part.region, how) };
                    self.each_stripe(
                        cells,
                        part,
                        #[inline(always)]
                        // SAFETY: `()` takes no room.
                        |stripe| Ask::Checked(unsafe { Run::new(&views, stripe, NonNull::dangling().as_ptr(), pass) }),
                    )
                } else {
                    // SAFETY: the caller's promise; `check` has proven every access in range, for the tiles that these
                    // cells are part of.
                    let views = unsafe { self.held.views::<O::Proven>(part.region, how) };
                    self.each_stripe(
                        cells,
                        part,
                        #[inline(always)]
                        // SAFETY: `()` takes no room.
                        |stripe| Ask::Proven(unsafe { Run::new(&views, stripe, NonNull::dangling().as_ptr(), pass) }),
                    )
                }
            },
        )
    }
}

/// Memory that a run has to itself.
///
/// # Safety
/// It is there, and no one else touches it, as long as what is given is in use.
unsafe fn memory<'a>(exclusive: [Option<(*mut u8, usize)>; EXCLUSIVE]) -> Exclusive<'a> {
    exclusive.map(|memory| match memory {
        // SAFETY: the caller's promise.
        Some((first, bytes)) => unsafe { std::slice::from_raw_parts_mut(first, bytes) },
        None => &mut [],
    })
}

impl<O, H, N, const D: usize> Held<O, H, N, D> {
    /// Runs the kernel over the box, stripe by stripe: some rows of all planes.
    #[inline(always)]
    fn each_stripe<'b, P: 'b, C: 'b>(
        &self,
        cells: GridBox<D>,
        part: &Part<'_>,
        ask: impl Fn(GridBox<D>) -> Ask<'b, P, C, (), D>,
    ) -> Result<(), Error>
    where
        N: Fn(Ask<'b, P, C, (), D>),
    {
        let axis = D.saturating_sub(2);
        let mut stripe = cells;
        while stripe.lo[axis] < cells.hi[axis] {
            stripe.hi[axis] = stripe.lo[axis].saturating_add(part.rows).min(cells.hi[axis]);
            (self.kernel)(ask(stripe));
            part.pass.check()?;
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
