//! What every launch is checked for, before it is recorded.

mod around;
mod before;
mod colours;
mod levels;
mod rule;

use std::any::TypeId;
use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::analysis::{ArrayAccess, IndexForm, Interval, Symbol};
use tida_kernels::plan::wide::Beside;

use super::args::{ArgInfo, TiledInfo};
use crate::acc::{Device, TileAcc};
use crate::device::plans::Hints;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::launch::cache::{Asked, tiles};
use crate::launch::capture::{CapturedValue, Captures, integers};
use crate::launch::needs::Unproven;
use crate::launch::prepare::{ArgPlan, Prepared, cell_text};
use crate::launch::quoted::KernelId;
use crate::memory::layout::Layout;
use crate::memory::node::Node;
use crate::memory::tracker::BoxTouch;
use crate::program::order::Carry;
use crate::program::schedule::Scale;
use crate::record::sweep::{LoopAsked, SweepKey};

pub(crate) use rule::{Line, OneColour, Rule};

/// What the launches of a kernel over a box touch.
pub(crate) type Touches = SmallVec<[BoxTouch; 8]>;

/// A launch that is safe to record.
pub(crate) struct Checked<'a> {
    pub acc: &'a TileAcc,
    pub key: SweepKey,
    pub after: SmallVec<[Arc<Node>; 2]>,
    /// Bit `n` keeps argument `n` to its valid cells.
    pub valid_only: u16,
    /// Accesses are checked as the kernel runs.
    pub run_checked: bool,
    /// It may run plane by plane.
    pub by_planes: bool,
    /// Why: the first read that could not be proven.
    pub unproven: Unproven,
    /// What is carried to the first planes of regions, of a sweep with an order.
    pub carry: Option<Carry>,
}

/// Where a launch runs.
pub(crate) struct Target<'a, const D: usize> {
    pub layout: &'a Arc<Layout<D>>,
    pub region: usize,
    pub cells: GridBox<D>,
    /// A box of all cells of the loop.
    pub all: GridBox<D>,
    /// How many planes of these cells are copies of what other places own, below and above.
    pub copies: [i64; 2],
    pub rule: Rule,
    /// May write ghost cells.
    pub grown: bool,
    /// Does not run over all of the cells.
    pub holes: bool,
    /// Where to run, if not where the accelerator says.
    pub device: Option<Device>,
    /// Threads of a block on each axis, if asked for.
    pub block: Option<[usize; D]>,
    /// Cells along the first axis that a thread takes, if asked for.
    pub march: Option<usize>,
    /// What is to be cached, if that was asked for.
    pub cache: Hints,
}

/// Checks one launch of a kernel over a box, and adds what it touches. `kernel` tells it from others, with equal types
/// of views.
pub(crate) fn check<'a, const D: usize>(
    prepared: &Prepared,
    kernel: KernelId,
    captures: &Captures,
    views: TypeId,
    target: &Target<'_, D>,
    infos: &[ArgInfo<'a, D>],
    touches: &mut Touches,
) -> Result<Checked<'a>, Error> {
    let mut key = SweepKey {
        kernel,
        views,
        args: SmallVec::new(),
        captures: SmallVec::new(),
        tables: SmallVec::new(),
        valid_only: 0,
        checked: false,
        on_device: false,
        asked: LoopAsked {
            block: None,
            march: target.march.map(|cells| u32::try_from(cells).unwrap_or(u32::MAX)),
            cache: target.cache,
        },
        order: None,
        colour: target.rule.colour(),
    };
    target.cache.check(prepared)?;
    let mut after = SmallVec::new();
    let integers = integers(&prepared.analysis, captures);
    // (Constant tables are the same for every launch of a kernel.)
    for capture in &captures.list[..captures.list.len().saturating_sub(prepared.tables.len())] {
        match capture {
            CapturedValue::Scalar(v) => {
                key.captures.push(v.bits());
            }
            CapturedValue::Array(_, values) => {
                key.captures.extend(values.iter().map(|v| v.bits()));
            }
            CapturedValue::Deferred(later) => {
                key.captures.push(later.node.number);
                after.push(later.node.clone());
            }
        }
    }
    let mut launch = Launching {
        prepared,
        target,
        integers: &integers,
        run_checked: false,
        unproven: None,
        by_planes: true,
        carry: None,
    };
    let mut acc: Option<&TileAcc> = None;
    let mut valid_only = 0;
    for (number, (info, plan)) in infos.iter().zip(&prepared.args).enumerate() {
        if let Some((kind, found, advice)) = info.refused(target.grown, target.rule.face().is_some()) {
            return Err(Error::new(kind, launch.tried(), format!("`{}`, {found}", launch.name(number)), advice));
        }
        if let Some(other) = acc_of(info) {
            if acc.is_some_and(|acc| !acc.is(other)) {
                return Err(Error::new(
                    ErrorKind::Argument,
                    format!("compute the kernel at {}", prepared.place()),
                    format!("that `{}` lives on another accelerator than the arguments before it", launch.name(number)),
                    "build all arrays of a kernel on one `TileAcc`",
                ));
            }
            acc = Some(other);
        }
        match info {
            ArgInfo::Tiled(tiled) => {
                key.args.push(Arc::as_ptr(tiled.tracker) as usize);
                launch.tiled(number, tiled, plan, &mut valid_only, touches)?;
            }
            ArgInfo::Whole { tracker, shape, .. } => {
                key.args.push(Arc::as_ptr(tracker) as usize);
                launch.whole(number, shape, plan)?;
                touches.extend(tracker.boxes().iter().enumerate().map(|(region, all)| BoxTouch {
                    tracker: (*tracker).clone(),
                    region,
                    read: Some(*all),
                    write: None,
                    keeps: false,
                    whole: true,
                    around: None,
                    across: None,
                    scale: Scale::Same,
                    carried: false,
                }));
            }
            ArgInfo::Refused { .. } => {}
            ArgInfo::Table { len, bits } => {
                key.args.push(*len);
                key.tables.extend(bits.iter().copied());
                let mut shape = [1; 4];
                shape[0] = *len as i64;
                launch.whole(number, &shape, plan)?;
            }
        }
    }
    let Some(acc) = acc else {
        return Err(Error::new(
            ErrorKind::Argument,
            format!("compute the kernel at {}", prepared.place()),
            "no array among its arguments",
            "pass at least one array",
        ));
    };
    for capture in &captures.list {
        if let CapturedValue::Deferred(later) = capture {
            later.settle(acc.core())?;
        }
    }
    let run_checked = launch.run_checked;
    key.checked = run_checked;
    key.on_device = place(prepared, acc, target)?;
    key.asked.block = threads(prepared, Some(acc), target.block)?;
    if let (true, Some(device)) = (key.on_device && !target.cache.is_empty(), &acc.core().device) {
        let facts = device.backend().facts();
        let extent: SmallVec<[i64; 4]> = target.cells.extent().iter().map(|n| *n as i64).collect();
        let usual = prepared.usual_block(facts, &extent, &Beside::ONE);
        let all = target.cells.cells() as u64;
        let asked = Asked {
            hints: &target.cache,
            block: key.asked.block,
            usual,
            extent: &extent,
            all,
            cells: None,
            strip: None,
            ahead: None,
            checked: run_checked,
            captures: &integers,
        };
        tiles(prepared, facts, asked, &|_| false).map(drop).map_err(|large| large.error(prepared))?;
    }
    key.valid_only = valid_only;
    let (unproven, carry) = (launch.unproven, launch.carry);
    key.order = target.rule.line().map(|line| (line.order::<D>(), carry));
    if let Some((order, Some(carry))) = key.order {
        before::reach_alike(touches, &order.before(&target.cells.widen(), carry.planes));
    }
    let by_planes = !run_checked && launch.by_planes;
    Ok(Checked { acc, key, after, valid_only, run_checked, by_planes, unproven, carry })
}

/// Whether planes of an array hold the ghosts in a box: there are none between regions, and none beyond ends that
/// belong together.
fn has_ghosts_in_planes<const D: usize>(info: &TiledInfo<'_, D>, cells: &GridBox<D>) -> bool {
    let beyond = cells.lo[0] < 0 || cells.hi[0] > info.layout.shape[0] as i64;
    let ends = info.tracker.planar().is_some_and(|planar| planar.facts().period.is_some());
    info.layout.regions.len() == 1 && !(beyond && ends)
}

/// Adds what is touched of an array, and what a read of ghosts between regions touches of the neighbours, where these
/// are no memory of their own.
fn add_touch<const D: usize>(touch: BoxTouch, info: &TiledInfo<'_, D>, touches: &mut Touches) {
    if let (Some(read), None, true) = (touch.read, touch.write, info.tracker.storage().stays_in_row()) {
        let regions = info.layout.wide.regions.iter().enumerate();
        // Ghosts are no wider than the thinnest region.
        let near = regions.skip(touch.region.saturating_sub(1)).take(3).filter(|(n, _)| *n != touch.region);
        for (region, near) in near {
            let cells = read.intersect(&near.valid);
            if !cells.is_empty() {
                touches.push(BoxTouch { region, read: Some(cells), ..touch.clone() });
            }
        }
    }
    touches.push(touch);
}

/// Whether a launch runs on the device.
fn place<const D: usize>(prepared: &Prepared, acc: &TileAcc, target: &Target<'_, D>) -> Result<bool, Error> {
    let tried = || format!("compute the kernel at {}", prepared.place());
    let Some(device) = &acc.core().device else {
        return match target.device {
            None | Some(Device::Cpu | Device::Hybrid) => Ok(false),
            Some(other) => Err(Error::new(
                ErrorKind::Device,
                format!("{} on the device `{}`", tried(), other.name()),
                "arrays of an accelerator that runs on the CPU",
                format!("build them on `TileAcc::builder().device(Device::{other:?})`"),
            )),
        };
    };
    match target.device {
        // There the host is the device.
        Some(Device::Cpu) if acc.device() == Device::Cpu => {}
        Some(Device::Cpu) if acc.folder().is_some() => {
            return Err(Error::new(
                ErrorKind::Device,
                format!("{} on the device `cpu`", tried()),
                format!("arrays that lie in files (`backed_by`), of an accelerator of `{}`", acc.device().name()),
                "leave `.device(Device::Cpu)` out, or keep these arrays in memory",
            ));
        }
        Some(Device::Cpu) => return Ok(false),
        Some(Device::Hybrid) => {}
        Some(other) if other != acc.device() => {
            return Err(Error::new(
                ErrorKind::Device,
                format!("{} on the device `{}`", tried(), other.name()),
                format!("arrays of an accelerator of `{}`", acc.device().name()),
                "name that device, `Device::Cpu` or `Device::Hybrid`",
            ));
        }
        _ => {}
    }
    let facts = device.backend().facts();
    if prepared.uses_f64 && !facts.fp64 {
        return Err(Error::new(
            ErrorKind::Device,
            tried(),
            format!("f64 in it, which {} does not compute", facts.name),
            "use f32, or run these tiles with `.device(Device::Cpu)`",
        ));
    }
    Ok(true)
}

/// The threads of a block that were asked for, along x, y and z.
pub(super) fn threads<const D: usize>(
    prepared: &Prepared,
    acc: Option<&TileAcc>,
    block: Option<[usize; D]>,
) -> Result<Option<[u32; 3]>, Error> {
    let Some(block) = block else { return Ok(None) };
    let device = acc.and_then(|acc| acc.core().device.as_ref());
    let most = device.map_or(1024, |d| d.backend().facts().block_threads as usize);
    let all = block.iter().fold(1usize, |n, axis| n.saturating_mul(*axis));
    let along = |from_last: usize| D.checked_sub(from_last + 1).map_or(1, |axis| block[axis]);
    let [x, y, z] = [along(0), along(1), along(2).saturating_mul(along(3))];
    if all == 0 || all > most || z > 64 {
        return Err(Error::new(
            ErrorKind::Argument,
            format!("compute the kernel at {}", prepared.place()),
            format!("blocks of {block:?} threads"),
            format!("give every axis at least 1 thread, the axes before the last two at most 64, all {most} at most"),
        ));
    }
    Ok(Some([x as u32, y as u32, z as u32]))
}

/// The accelerator an argument lives on.
fn acc_of<'a, const D: usize>(info: &ArgInfo<'a, D>) -> Option<&'a TileAcc> {
    match info {
        ArgInfo::Tiled(tiled) => Some(tiled.acc),
        ArgInfo::Whole { acc, .. } => Some(acc),
        ArgInfo::Table { .. } | ArgInfo::Refused { .. } => None,
    }
}

struct Launching<'a, const D: usize> {
    prepared: &'a Prepared,
    target: &'a Target<'a, D>,
    integers: &'a [Option<Interval>],
    run_checked: bool,
    unproven: Unproven,
    /// Planes of its arrays have all the ghosts of the cells.
    by_planes: bool,
    carry: Option<Carry>,
}

impl<const D: usize> Launching<'_, D> {
    fn name(&self, arg: usize) -> &str {
        self.prepared.kernel.args.get(arg).map_or("", |a| &a.name)
    }

    fn tried(&self) -> String {
        format!("compute the kernel at {}", self.prepared.place())
    }

    /// Checks an array with the tile's cuts, and adds what is touched of it.
    fn tiled(
        &mut self,
        arg: usize,
        info: &TiledInfo<'_, D>,
        plan: &ArgPlan,
        valid_only: &mut u16,
        touches: &mut Touches,
    ) -> Result<(), Error> {
        let Target { region, cells, grown, .. } = *self.target;
        self.cuts(arg, info, plan)?;
        let held = &info.layout.regions[region];
        self.by_planes &= !grown || has_ghosts_in_planes(info, &cells);
        let mut touch = BoxTouch {
            tracker: info.tracker.clone(),
            region,
            read: None,
            write: None,
            keeps: info.tracker.ages.keeps_ghosts(),
            whole: false,
            around: Some((0, 0)),
            across: Some((0, 0)),
            scale: Scale::Same,
            carried: false,
        };
        if plan.written {
            let home = if grown { &held.grown } else { &held.valid };
            if !home.contains_box(&cells) {
                return Err(Error::new(
                    ErrorKind::Ghost,
                    self.tried(),
                    format!(
                        "a write of `{}` over {}, while the region holds {}",
                        self.name(arg),
                        box_text(&cells),
                        box_text(home)
                    ),
                    if grown {
                        "grow the tiles by no more than the array's ghost width"
                    } else {
                        "make the tiles from the array that is written (its centring decides which faces a region owns)"
                    },
                ));
            }
            // Ghosts at the edges of the region lie between the rows written: they count as written with them, so that
            // a run may have that stretch of memory to itself.
            let mut memory = cells;
            for d in 0..D {
                if cells.lo[d] <= held.valid.lo[d] {
                    memory.lo[d] = held.grown.lo[d];
                }
                if held.valid.hi[d] <= cells.hi[d] {
                    memory.hi[d] = held.grown.hi[d];
                }
            }
            let around = plan.reads_around_writes();
            touch.write = Some(if around { cells } else { memory }.widen());
            // Cells of other colours, and cells outside of the active blocks, stay as they are.
            let some_stay = self.target.holes || self.target.rule.colour().is_some();
            touch.read = (!plan.must_write || some_stay).then_some(cells.widen());
            let read = match self.target.rule {
                _ if !around => Vec::new(),
                Rule::Colour(one) => self.other_colours(arg, info, plan, (&touch, &one))?,
                Rule::Line(line) => self.before_writes(arg, info, plan, (&touch, &line))?,
                _ => self.around_writes(arg, info, plan, &touch)?,
            };
            add_touch(touch, info, touches);
            read.into_iter().for_each(|touch| add_touch(touch, info, touches));
            return Ok(());
        }
        if cells.is_empty() {
            // No cell reads anything.
            touches.push(touch);
            return Ok(());
        }
        let (boxes, opaque) = self.boxes(arg, info, plan)?;
        let hull = |a: GridBox<D>, b: GridBox<D>| {
            let lo = std::array::from_fn(|d| a.lo[d].min(b.lo[d]));
            GridBox::new(lo, std::array::from_fn(|d| a.hi[d].max(b.hi[d])))
        };
        let read = boxes.into_iter().reduce(hull);
        if let Some(read) = &read
            && self.reads_ghosts(info, read, &self.own(info))
            && !info.tracker.ages.ghosts_fresh()
        {
            return Err(self.stale(arg));
        }
        let opaque = opaque.map(|number| (arg, number));
        self.unproven = self.unproven.or(opaque);
        let opaque = opaque.is_some();
        if opaque {
            // Reads that only run time decides may touch all that the region holds; ghosts only if they are fresh.
            self.run_checked = true;
            let stale = held.grown != held.valid && !info.tracker.ages.ghosts_fresh();
            if stale && info.layout.overlap() != [0, 0] {
                return Err(self.stale(arg));
            }
            if stale {
                *valid_only |= 1 << arg;
            }
            touch.read = Some(if stale { held.valid.widen() } else { held.grown.widen() });
        } else {
            touch.read = read.map(|r| r.widen());
        }
        if let Some(level) = info.level {
            touch.scale = level.scale(&self.target.layout.cuts, &info.layout.cuts);
            touch.around = if opaque || grown { None } else { self.beside(arg, plan, touch.scale) };
            touch.across = None;
            add_touch(touch, info, touches);
            return Ok(());
        }
        touch.around = if opaque { None } else { self.around(arg, plan, 0) };
        touch.across = if opaque || D < 2 { None } else { self.around(arg, plan, 1) };
        add_touch(touch, info, touches);
        Ok(())
    }

    /// The cells of the region that are the array's own on this place, with the copies that the launch computes too.
    fn own(&self, info: &TiledInfo<'_, D>) -> GridBox<D> {
        let mut own = info.layout.own(self.target.region);
        (own.lo[0], own.hi[0]) = (own.lo[0] - self.target.copies[0], own.hi[0] + self.target.copies[1]);
        own
    }

    /// The boxes that reads of an array touch, and a read that cannot be proven to stay in what the region holds.
    fn boxes(
        &self,
        arg: usize,
        info: &TiledInfo<'_, D>,
        plan: &ArgPlan,
    ) -> Result<(SmallVec<[GridBox<D>; 4]>, Option<usize>), Error> {
        let Target { region, cells, .. } = *self.target;
        let held = &info.layout.regions[region];
        let mut boxes = SmallVec::new();
        if let Some(halo) = &plan.halo {
            let b = cells.grown(std::array::from_fn(|d| -halo[d].0), std::array::from_fn(|d| halo[d].1));
            // Cells that there are read cells; what is none has wrapped.
            if b.is_empty() || !held.grown.contains_box(&b) {
                return Err(self.too_narrow(arg, info, &b, &held.grown));
            }
            boxes.push(b);
        }
        let mut opaque = None;
        for &number in &plan.others {
            let access = &self.prepared.analysis.args[arg].accesses[number];
            match self.range_box(access) {
                Some(b) if b.is_empty() => {}
                Some(b) if held.grown.contains_box(&b) => boxes.push(b),
                Some(b) if !access.conditional && !self.prepared.analysis.is_told(access) => {
                    return Err(self.too_narrow(arg, info, &b, &held.grown));
                }
                _ => opaque = opaque.or(Some(number)),
            }
        }
        Ok((boxes, opaque))
    }

    /// The box of what an access touches, if that is known.
    fn range_box(&self, access: &ArrayAccess) -> Option<GridBox<D>> {
        let cells = &self.target.cells;
        let r = self.prepared.analysis.range(access, &cells.lo, &cells.hi, self.integers).filter(|r| r.len() == D)?;
        Some(GridBox::new(std::array::from_fn(|d| r[d].lo), std::array::from_fn(|d| r[d].hi.saturating_add(1))))
    }

    /// The first and the last plane along an axis that are read around each plane, if that is the same everywhere.
    fn around(&self, arg: usize, plan: &ArgPlan, axis: usize) -> Option<(i64, i64)> {
        let mut around = plan.halo.as_ref().map(|halo| halo[axis]);
        for &number in &plan.others {
            let here = self.reach(&self.prepared.analysis.args[arg].accesses[number], axis)?;
            around = Some(around.map_or(here, |(lo, hi)| (lo.min(here.0), hi.max(here.1))));
        }
        Some(around.unwrap_or((0, 0)))
    }

    /// The same of one access.
    fn reach(&self, access: &ArrayAccess, axis: usize) -> Option<(i64, i64)> {
        let cells = &self.target.cells;
        let reach = |plane: i64| {
            let (mut lo, mut hi) = (cells.lo, cells.hi);
            (lo[axis], hi[axis]) = (plane, plane + 1);
            let range = self.prepared.analysis.range(access, &lo, &hi, self.integers)?;
            let along = range.get(axis).filter(|along| range.len() == D && !along.is_empty())?;
            Some((along.lo.checked_sub(plane)?, along.hi.checked_sub(plane)?))
        };
        if !self.prepared.analysis.moves_evenly(access) {
            return None;
        }
        // What is the same at both ends is the same between them.
        let here = reach(cells.lo[axis])?;
        let same = reach(cells.lo[axis] + 1)? == here && reach(cells.hi[axis] - 1)? == here;
        same.then_some(here)
    }

    /// Whether a box reaches into ghosts that `fill_ghosts` fills.
    fn reads_ghosts(&self, info: &TiledInfo<'_, D>, read: &GridBox<D>, valid: &GridBox<D>) -> bool {
        (0..D).any(|d| {
            let is_users = |side: usize| info.open[d][side] && info.layout.is_at_face(valid, d, side);
            (read.lo[d] < valid.lo[d] && !is_users(0)) || (read.hi[d] > valid.hi[d] && !is_users(1))
        })
    }

    /// Checks a whole array or a table: an index that cannot be proven in range is checked as the kernel runs.
    fn whole(&mut self, arg: usize, shape: &[i64; 4], plan: &ArgPlan) -> Result<(), Error> {
        let cells = &self.target.cells;
        if cells.is_empty() {
            return Ok(());
        }
        let analysis = &self.prepared.analysis;
        for &number in &plan.others {
            let access = &analysis.args[arg].accesses[number];
            let range = analysis.range(access, &cells.lo, &cells.hi, self.integers);
            let inside = range.is_some_and(|r| {
                r.iter().any(|i| i.lo > i.hi) || r.iter().zip(shape).all(|(i, n)| i.lo >= 0 && i.hi < *n)
            });
            if !inside {
                self.run_checked = true;
                self.unproven = self.unproven.or(Some((arg, number)));
            }
        }
        Ok(())
    }

    fn too_narrow(&self, arg: usize, info: &TiledInfo<'_, D>, read: &GridBox<D>, held: &GridBox<D>) -> Error {
        let name = self.name(arg);
        let accesses = &self.prepared.analysis.args[arg].accesses;
        let cells = &self.target.cells;
        // The access that reaches furthest, for the message.
        let reach = |number: &usize| {
            let access = &accesses[*number];
            let range = self.prepared.analysis.range(access, &cells.lo, &cells.hi, self.integers);
            range.is_some_and(|r| (0..D).any(|d| r[d].lo < held.lo[d] || r[d].hi >= held.hi[d]))
        };
        let far = (0..accesses.len()).find(|n| !accesses[*n].write && reach(n));
        let place = far.map_or_else(
            || self.prepared.place(),
            |n| {
                let span = accesses[n].span;
                format!("{}:{}:{}", self.prepared.kernel.file, span.line, span.column)
            },
        );
        let cell = far.map_or_else(
            || format!("`{name}` at a computed index"),
            |n| cell_text(&self.prepared.analysis, &self.prepared.kernel, name, &accesses[n]),
        );
        let needed = (0..D)
            .map(|d| (held.lo[d] - read.lo[d]).max(read.hi[d] - held.hi[d]).max(0) as usize)
            .zip(info.layout.ghost)
            .map(|(more, ghost)| ghost[0].max(ghost[1]) + more)
            .max()
            .unwrap_or(0);
        let around = |access: &ArrayAccess| is_around(access) && self.prepared.analysis.moves_evenly(access);
        let advice = match info.level.is_some() || far.is_none_or(|n| around(&accesses[n])) {
            true => {
                format!("build `{name}` with `.ghost({needed})` or wider, or keep the tiles away with `.within(..)`")
            }
            false => {
                format!("pass it as `all(&{name})`: ghosts hold the cells around a region, `all` any cell of the array")
            }
        };
        Error::new(
            ErrorKind::Ghost,
            format!("compute the kernel at {place}"),
            format!(
                "a read of {cell}, which reaches {} while the region holds {} (ghost width {})",
                box_text(read),
                box_text(held),
                ghost_text(info.layout),
            ),
            advice,
        )
    }

    fn stale(&self, arg: usize) -> Error {
        let name = self.name(arg);
        Error::new(
            ErrorKind::StaleGhost,
            self.tried(),
            format!("a read of ghost cells of `{name}` that are older than the cells beside them"),
            format!("call `{name}.fill_ghosts()?` after the last write of `{name}` and before this loop"),
        )
    }
}

/// Whether an access goes along with the cell, by a distance that does not depend on where it is.
fn is_around(access: &ArrayAccess) -> bool {
    access.index.iter().zip(0..).all(|(along, axis)| match along {
        IndexForm::Affine(form) => {
            let of_the_cell = form.terms.iter().filter(|(symbol, _)| matches!(symbol, Symbol::At(_)));
            of_the_cell.eq([&(Symbol::At(axis), 1)])
        }
        IndexForm::Opaque(_) => false,
    })
}

/// `[0, 0]..[64, 64]`.
pub(crate) fn box_text<const D: usize>(b: &GridBox<D>) -> String {
    format!("{:?}..{:?}", b.lo, b.hi)
}

fn ghost_text<const D: usize>(layout: &Layout<D>) -> String {
    let uniform = layout.ghost.iter().flatten().all(|g| *g == layout.ghost[0][0]);
    if uniform { layout.ghost[0][0].to_string() } else { format!("{:?}", layout.ghost) }
}

fn cuts_text<const D: usize>(layout: &Layout<D>) -> String {
    let counts: Vec<usize> = layout.cuts.at.iter().map(|c| c.len().saturating_sub(1)).collect();
    format!("{counts:?} regions of {:?} cells", layout.cuts.cells)
}
