//! Timed trials: the plans that are worth a try run on the launch that is due, and the fastest is kept, in memory and
//! on disk (docs/decisions/0017-trials.md).
//!
//! A trial changes no result. A kernel that reads nothing of what it writes writes the same bits again. One that does
//! is given copies of the arrays that it writes, made anew before each run.

pub(super) mod steps;
mod winner;

use std::cell::Cell;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use tida_kernels::emit::{Param, emit};
use tida_kernels::plan::cache::Cache;
use tida_kernels::plan::trials::{Candidate, Fixed, Given, ROUNDS, best, bucket, gains, hopeless, idle};
use tida_kernels::plan::{Goal, Plan};
use tracing::{debug, info};

use winner::{HEAD, Lines};

use super::capture::integers;
use super::device::{Commands, DeviceArg, DeviceLaunch, Extent, Held};
use super::prepare::Prepared;
use crate::backend::{COPIES, Facts, Memory, disk};
use crate::device::core::DeviceCore;
use crate::device::ledger::Purpose;
use crate::device::plans::{Bucket, Hints, TrialKey, Winner, Wish};
use crate::error::Error;
use crate::grid::GridBox;
use crate::memory::node::Queue;

/// Cells of the smallest launch that is tried: below, a launch takes longer than what it runs.
const SMALLEST: u64 = 1 << 14;

/// Seconds of a run: what takes less runs several times, one after the other.
const RUN: f64 = 300e-6;

/// Most times that it does so.
const REPEATS: f64 = 64.0;

/// Runs of each plan, in turn; the fastest counts.
const PASSES: usize = 3;

/// Seconds after which no further plan is tried.
const BUDGET: f64 = 5.0;

/// What is to be asked for of the plan of a launch: what the user asked for and, if it can be tried, what the fastest
/// of the tried plans adds. The first launch of its kind is tried here.
///
/// # Safety
/// As [`DeviceLaunch::enqueue`].
pub(super) unsafe fn tuned(launch: &DeviceLaunch<'_>, queue: &Queue<'_>, boxes: &[(usize, GridBox<4>)]) -> Wish {
    let asked = launch.wish();
    let Some((extent, cells)) = launch.extents(boxes) else { return asked };
    if !can_be_tried(launch) || !queue.rings.is_empty() || cells < SMALLEST {
        return asked;
    }
    let size = (&extent[..], cells, boxes.len() > 1);
    let key = trial_key(launch, queue.device, size);
    let place = queue.device.winners().of(&key);
    let known = || place.get().map(|winner| winner.wish);
    // What is to be tried may be compiled now.
    if let Some(wish) = known().or_else(|| queue.device.compiler().is_busy().then_some(asked)) {
        return wish;
    }
    let one_at_a_time = queue.device.trying();
    let _alone = one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(wish) = known() {
        return wish;
    }
    let on_disk = disk_key(launch, queue.device, &key);
    let winner = stored(launch, queue.device, on_disk).map_or_else(
        || {
            // SAFETY: handed on.
            let found = unsafe { try_plans(launch, queue, boxes, (&extent, cells)) };
            queue.device.host_waited();
            if let Ok(Found::Best(winner)) = &found {
                disk::store(on_disk, winner.to_text().as_bytes());
            }
            found.unwrap_or_else(|error| {
                debug!(kernel = launch.prepared.place(), %error, "no trials: one failed");
                Found::Nothing
            })
        },
        Found::Best,
    );
    let winner = match winner {
        Found::Best(winner) => winner,
        Found::Nothing => Winner { wish: asked, gain: 1.0 },
        Found::NotYet => return asked,
    };
    place.get_or_init(|| winner).wish
}

/// What trials came to.
enum Found<W> {
    /// The fastest.
    Best(W),
    /// There was nothing to try.
    Nothing,
    /// What is to be tried is compiled beside: the launch that comes when that is ready tries it.
    NotYet,
}

/// What is to be asked for of the plan of a launch as things are.
pub(super) fn wish(launch: &DeviceLaunch<'_>, device: &DeviceCore, boxes: &[(usize, GridBox<4>)]) -> Wish {
    let size = launch.extents(boxes);
    let known = size.and_then(|(extent, cells)| known(launch, device, (&extent, cells, boxes.len() > 1)));
    known.map_or(launch.wish(), |winner| winner.wish)
}

/// The winner for boxes of this extent, so many cells and perhaps several boxes, if trials found one before, here or on
/// disk.
pub(crate) fn known(launch: &DeviceLaunch<'_>, device: &DeviceCore, size: (&[i64], u64, bool)) -> Option<Winner> {
    if !device.asked.tune || !can_be_tried(launch) {
        return None;
    }
    let key = trial_key(launch, device, size);
    let place = device.winners().of(&key);
    let found = place.get().copied().or_else(|| stored(launch, device, disk_key(launch, device, &key)))?;
    Some(*place.get_or_init(|| found))
}

/// What trials found for a kernel, a line for each size of boxes.
pub(crate) fn describe(prepared: &Arc<Prepared>, device: &DeviceCore) -> Vec<String> {
    let line = |(key, winner): (TrialKey, Winner)| {
        let extent: Vec<String> = key.bucket.extent.iter().map(u64::to_string).collect();
        let cells = key.bucket.cells;
        format!("boxes of up to {} cells, {cells} in all: {winner}", extent.join(" x "))
    };
    let mine = |(key, _): &(TrialKey, Winner)| key.analysed == Arc::as_ptr(prepared) as usize;
    let mut lines: Vec<String> = device.winners().all().into_iter().filter(mine).map(line).collect();
    lines.extend(steps::describe(prepared, device));
    lines.sort();
    lines
}

/// Whether trials are for such a launch: a sweep over whole arrays that no cell can fail in.
fn can_be_tried(launch: &DeviceLaunch<'_>) -> bool {
    let window = |arg: &DeviceArg<'_>| matches!(arg, DeviceArg::Tiled(array) if array.ring.is_some());
    launch.goal == Goal::Sweep
        && !launch.checked
        && !launch.prepared.analysis.may_fault
        && !launch.args.iter().any(window)
}

fn trial_key(launch: &DeviceLaunch<'_>, device: &DeviceCore, (extent, cells, many): (&[i64], u64, bool)) -> TrialKey {
    let prepared = launch.prepared;
    let mut cache = Hints::default();
    let mut walks = prepared.sharing.scopes.iter().filter_map(|scope| scope.walk.as_ref()).peekable();
    if walks.peek().is_some() {
        (0..prepared.kernel.args.len()).for_each(|arg| cache.set(arg, Cache::None));
    }
    let plainest = Wish { block: Some([64, 1, 1]), march: Some(1), cache, cells: Some([1, 1]) };
    let facts = device.backend().facts();
    let plain = launch.plan_for(&plainest, facts, device.asked.math, (extent, cells), many);
    let captures = integers(&prepared.analysis, launch.captures);
    let trips = walks.map(|walk| walk.trips(&prepared.analysis, &captures).map_or(0, bucket)).collect();
    let extent = extent.iter().map(|n| bucket(*n)).collect();
    TrialKey {
        analysed: Arc::as_ptr(prepared) as usize,
        asked: launch.wish(),
        plain,
        bucket: Bucket { extent, cells: bucket(i64::try_from(cells).unwrap_or(i64::MAX)), trips },
    }
}

/// What a winner is found by on disk: the plainest text of the kernel stands for the kernel, its types and how arrays
/// lie. The lines that it stands in at the user's do not count.
fn disk_key(launch: &DeviceLaunch<'_>, device: &DeviceCore, key: &TrialKey) -> disk::Key {
    let Facts { name, target, .. } = device.backend().facts();
    let others = format!("{:?} {:?} {:?}", key.plain.math, key.asked, key.bucket);
    disk::Key::new(&[HEAD, &code(launch, &key.plain), name, target, &others])
}

/// The text of a kernel with this plan, wherever it stands at the user's.
fn code(launch: &DeviceLaunch<'_>, plan: &Plan) -> String {
    let source = emit(&launch.prepared.kernel, &launch.prepared.analysis, plan);
    let code = |line: &str| line.split("  // ").next().unwrap_or_default().replace(&source.entry, "kernel");
    let lines: Vec<String> = source.text.lines().map(code).collect();
    lines.join("\n")
}

/// The winner that is kept on disk, if it can be one of this launch.
fn stored(launch: &DeviceLaunch<'_>, device: &DeviceCore, key: disk::Key) -> Option<Winner> {
    let bytes = disk::load(key)?;
    let winner = std::str::from_utf8(&bytes).ok().and_then(Winner::from_text);
    let most = device.backend().facts().block_threads;
    let asked = launch.wish();
    let fits = |winner: &Winner| {
        let Wish { block, march, cache, cells } = winner.wish;
        let threads = |block: [u32; 3]| block.iter().try_fold(1u32, |all, n| all.checked_mul(*n)).unwrap_or(0);
        block.is_none_or(|block| (1..=most).contains(&threads(block)))
            && cells.is_none_or(|cells| cells.iter().all(|n| (1..=64).contains(n)) && cells[0] * cells[1] <= 64)
            && (asked.cells.is_none() || cells == asked.cells)
            && cache.check(launch.prepared).is_ok()
            && (asked.block.is_none() || block == asked.block)
            && (asked.march.is_none() || march == asked.march)
            && (asked.cache.is_empty() || cache == asked.cache)
    };
    let good = winner.filter(fits);
    match &good {
        Some(winner) => debug!(kernel = launch.prepared.place(), plan = %winner, "a plan that trials found before"),
        None => debug!(%key, "a file of trials is not what was written"),
    }
    good
}

/// A plan that is tried.
struct Tried {
    candidate: Candidate,
    wish: Wish,
    commands: Commands,
    /// The fastest run, in seconds.
    seconds: Option<f64>,
    dropped: bool,
}

/// An array that is written in trials, with the memory that stands for it.
struct Scratch {
    arg: usize,
    real: Arc<Memory>,
    stands_for: Arc<Memory>,
}

/// Trials of one launch.
struct Trials<'a, 'l, 'q> {
    launch: &'a DeviceLaunch<'l>,
    queue: &'a Queue<'q>,
    boxes: &'a [(usize, GridBox<4>)],
    scratch: Vec<Scratch>,
    tried: Vec<Tried>,
    /// Runs one after the other that are timed at once.
    repeats: usize,
    /// The device's events have the time.
    clocked: Cell<bool>,
    started: Instant,
    record: Option<Arc<Memory>>,
    held: Held,
}

/// Times the plans that are worth a try; none if the launch cannot be tried after all.
///
/// # Safety
/// As [`DeviceLaunch::enqueue`].
unsafe fn try_plans(
    launch: &DeviceLaunch<'_>,
    queue: &Queue<'_>,
    boxes: &[(usize, GridBox<4>)],
    (extent, cells): (&Extent, u64),
) -> Result<Found<Winner>, Error> {
    let device = queue.device;
    let scratch = match scratch(launch, device, cells)? {
        Ok(scratch) => scratch,
        Err(why) => {
            debug!(kernel = launch.prepared.place(), why, "no trials");
            return Ok(Found::Nothing);
        }
    };
    alone(device)?;
    let mut held = Held::new();
    let mut trials = Trials {
        launch,
        queue,
        boxes,
        scratch,
        tried: Vec::new(),
        repeats: 1,
        clocked: Cell::new(false),
        started: Instant::now(),
        record: record(launch.prepared, queue, &mut held)?,
        held,
    };
    // What the trials use lives until it is known that nothing runs.
    // SAFETY: handed on.
    queue.enqueue(|| unsafe { trials.all(extent) })
}

/// A record for kernels that count what saturates. Nobody reads it: what trials write is written again by the launch
/// that is due.
fn record(prepared: &Prepared, queue: &Queue<'_>, held: &mut Held) -> Result<Option<Arc<Memory>>, Error> {
    if !prepared.analysis.counts {
        return Ok(None);
    }
    let record = Arc::new(queue.device.fault_record(queue.stream)?);
    held.push(record.clone());
    Ok(Some(record))
}

/// Memory in the place of arrays whose old values the kernel reads as it writes them; or why there is none.
fn scratch(
    launch: &DeviceLaunch<'_>,
    device: &DeviceCore,
    cells: u64,
) -> Result<Result<Vec<Scratch>, &'static str>, Error> {
    let mut all = Vec::new();
    for (arg, (of, usage)) in launch.args.iter().zip(&launch.prepared.analysis.args).enumerate() {
        let DeviceArg::Tiled(array) = of else { continue };
        if !usage.may_write || !usage.reads_old {
            continue;
        }
        // Others may write the rest of an array while this launch is tried.
        if array.layout.regions.iter().map(|region| region.valid.cells() as u64).sum::<u64>() != cells {
            return Ok(Err("it reads what it writes, in a part of its arrays"));
        }
        let real = array.memory(device)?;
        let reserved = device.try_reserve_now(Purpose::Trials, real.bytes() as u64);
        let allocate = |reserved| device.allocate(Purpose::Trials, real.bytes(), Some(Arc::new(reserved))).ok();
        let Some(stands_for) = reserved.and_then(allocate) else {
            return Ok(Err("it reads what it writes, and there is no room for a copy"));
        };
        all.push(Scratch { arg, real, stands_for: Arc::new(stands_for) });
    }
    Ok(Ok(all))
}

/// The arguments that some plan has tiles for.
fn tiled(prepared: &Prepared, plan: &Plan) -> Vec<u8> {
    let sharing = &prepared.sharing;
    if sharing.refusal(&prepared.kernel, plan).is_some() {
        return Vec::new();
    }
    (0..prepared.kernel.args.len()).filter(|arg| sharing.has(*arg)).filter_map(|arg| arg.try_into().ok()).collect()
}

impl Tried {
    fn to_text(&self) -> String {
        let name = match self.candidate == Candidate::default() {
            true => "chosen".into(),
            false => Lines(self.wish, ", ").to_string(),
        };
        let Plan { block: [x, y, z], march, .. } = self.commands.plan;
        let seconds = self.seconds.map_or("dropped".into(), |seconds| format!("{:.2} us", seconds * 1e6));
        format!("{name} ({x} x {y} x {z}, march {}): {seconds}", march.unwrap_or(1))
    }
}

impl Trials<'_, '_, '_> {
    /// Tries the chosen plan, then round after round; none if that plan cannot be tried.
    ///
    /// # Safety
    /// As [`DeviceLaunch::enqueue`].
    unsafe fn all(&mut self, extent: &Extent) -> Result<Found<Winner>, Error> {
        let (launch, prepared) = (self.launch, self.launch.prepared);
        // SAFETY: handed on.
        if unsafe { !self.add(Candidate::default())? } {
            return Ok(Found::Nothing);
        }
        // SAFETY: handed on. The first run was for the driver to get ready.
        let seconds = unsafe { self.run(0)? };
        if self.scratch.is_empty() {
            self.repeats = repeats(seconds);
        }
        let tiled = tiled(prepared, &self.tried[0].commands.plan);
        let facts = self.queue.device.backend().facts();
        let given = Given {
            extent,
            gpu: facts.gpu,
            maps: facts.maps,
            block_threads: facts.block_threads,
            marches: (prepared.saving.saved > 0 || prepared.saving.light) && prepared.kernel.rank > 1,
            walks: tiled.iter().any(|arg| prepared.sharing.walked(usize::from(*arg))),
            tiled: &tiled,
            product: prepared.sharing.is_product(prepared.kernel.rank),
            coarse: prepared.sharing.coarse.is_some(),
            fixed: Fixed {
                block: launch.wish().block.is_some(),
                march: launch.march.is_some(),
                cache: !launch.cache.is_empty(),
                cells: launch.without.cells.is_some(),
            },
        };
        for round in ROUNDS {
            let candidates = round(&given, &self.tried[self.best()].candidate);
            if !self.are_compiled(&candidates) {
                return Ok(Found::NotYet);
            }
            // SAFETY: handed on.
            unsafe { self.round(candidates)? };
        }
        // SAFETY: handed on.
        let (n, gain) = unsafe { self.confirmed()? };
        let winner = Winner { wish: self.tried[n].wish, gain };
        let tried: Vec<String> = self.tried.iter().map(Tried::to_text).collect();
        let (kernel, device, tried) = (prepared.place(), &facts.name, tried.join("; "));
        info!(kernel, device, %winner, tried, "plans were tried");
        Ok(Found::Best(winner))
    }

    /// Whether the kernels of all these are there; those that are not are compiled beside, where that can be.
    fn are_compiled(&self, candidates: &[Candidate]) -> bool {
        let Trials { launch, queue, boxes, .. } = *self;
        // What is refused cannot be tried, and that is known.
        let missing = |candidate: &&Candidate| {
            matches!(launch.is_compiled(queue.device, boxes, &self.wish(candidate)), Ok(false))
        };
        !queue.device.compiler().is_beside() || candidates.iter().filter(missing).count() == 0
    }

    /// What a candidate is to be asked for with.
    fn wish(&self, candidate: &Candidate) -> Wish {
        let asked = self.launch.wish();
        let mut cache = asked.cache;
        candidate.cache.iter().for_each(|(arg, how)| cache.set(usize::from(*arg), *how));
        let (block, march) = (asked.block.or(candidate.block), asked.march.or(candidate.march));
        Wish { block, march, cache, cells: asked.cells.or(candidate.cells) }
    }

    /// The number of the fastest.
    fn best(&self) -> usize {
        let seconds: Vec<Option<f64>> =
            self.tried.iter().map(|tried| tried.seconds.filter(|_| !tried.dropped)).collect();
        best(&seconds)
    }

    /// Whether the trials took as long as they may.
    fn is_late(&self) -> bool {
        self.started.elapsed().as_secs_f64() > BUDGET
    }

    /// Compiles a candidate and runs it once. `false` if its plan was tried already, or its kernel can fail.
    ///
    /// # Safety
    /// As [`DeviceLaunch::enqueue`].
    unsafe fn add(&mut self, candidate: Candidate) -> Result<bool, Error> {
        let Trials { launch, queue, .. } = *self;
        let wish = self.wish(&candidate);
        let Some(mut commands) = launch.commands(queue.device, self.boxes, &wish, &mut self.held)? else {
            return Ok(false);
        };
        let faults = self.record.is_none() && commands.ready.source.params.contains(&Param::Fault);
        if faults || self.tried.iter().any(|other| other.commands.plan == commands.plan) {
            return Ok(false);
        }
        for Scratch { arg, stands_for, .. } in &self.scratch {
            if let Some(memory) = commands.arrays.get_mut(*arg) {
                *memory = Some(stands_for.clone());
            }
        }
        self.tried.push(Tried { candidate, wish, commands, seconds: None, dropped: false });
        // SAFETY: handed on.
        unsafe { self.run_times(self.tried.len() - 1, 1)? };
        Ok(true)
    }

    /// Tries candidates, in turn with the chosen plan and the best so far.
    ///
    /// # Safety
    /// As [`DeviceLaunch::enqueue`].
    unsafe fn round(&mut self, candidates: Vec<Candidate>) -> Result<(), Error> {
        let (before, known) = (self.best(), self.tried.len());
        for candidate in candidates {
            if self.is_late() {
                break;
            }
            let known = self.tried.len();
            // SAFETY: handed on.
            if let Err(error) = unsafe { self.add(candidate) } {
                debug!(%error, "a plan that cannot be tried");
                self.tried.truncate(known);
            }
        }
        let occupancy: Vec<_> = self.tried.iter().map(|tried| tried.commands.ready.kernel.facts().occupancy).collect();
        for (n, idle) in idle(&occupancy).into_iter().enumerate().skip(known) {
            self.tried[n].dropped |= idle;
        }
        if self.tried.len() == known {
            return Ok(());
        }
        let mut turn: Vec<usize> = [0, before].into_iter().chain(known..self.tried.len()).collect();
        turn.dedup();
        for _ in 0..PASSES {
            for n in &turn {
                if self.tried[*n].dropped {
                    continue;
                }
                // SAFETY: handed on.
                let seconds = unsafe { self.run(*n)? };
                let known = &mut self.tried[*n].seconds;
                *known = Some(known.map_or(seconds, |known| known.min(seconds)));
            }
            let best = self.tried[self.best()].seconds.unwrap_or(f64::INFINITY);
            for n in turn.iter().filter(|n| **n > 0) {
                let tried = &mut self.tried[*n];
                tried.dropped |= tried.seconds.is_some_and(|seconds| hopeless(seconds, best));
            }
            if self.is_late() {
                break;
            }
        }
        Ok(())
    }

    /// The fastest, as [`confirmed`].
    ///
    /// # Safety
    /// As [`DeviceLaunch::enqueue`].
    unsafe fn confirmed(&self) -> Result<(usize, f64), Error> {
        let seconds: Vec<f64> = self.tried.iter().map(|tried| tried.seconds.unwrap_or(f64::INFINITY)).collect();
        // SAFETY: handed on.
        confirmed(&seconds, self.best(), |n| unsafe { self.run(n) })
    }

    /// Runs a plan and waits; gives the seconds of one run.
    ///
    /// # Safety
    /// As [`DeviceLaunch::enqueue`].
    unsafe fn run(&self, n: usize) -> Result<f64, Error> {
        // SAFETY: handed on.
        unsafe { self.run_times(n, self.repeats) }
    }

    /// As [`Trials::run`], so many times.
    ///
    /// # Safety
    /// As [`DeviceLaunch::enqueue`].
    unsafe fn run_times(&self, n: usize, times: usize) -> Result<f64, Error> {
        let (backend, stream) = (self.queue.device.backend(), self.queue.stream);
        for Scratch { real, stands_for, .. } in &self.scratch {
            // SAFETY: both have as many bytes and live until the end of the trials; the boxes of the launch are all
            // cells of the array, so that nothing else writes it meanwhile.
            unsafe { backend.copy(stream, (real, 0), (stands_for, 0), real.bytes())? };
        }
        let tried = &self.tried[n].commands;
        // What it writes may depend on what it reads; that is to be no part of its time.
        self.launch.materialize_ghosts(self.queue, self.boxes, |arg| tried.plan.reads_inside(arg))?;
        let record = self.record.as_deref();
        // SAFETY: the caller's promise; the kernel is given a record if it has one, and what it uses is held.
        clocked(self.queue, &self.clocked, times, || unsafe { tried.put(self.launch, self.queue, record) })
    }
}

/// Puts launches into a stream so many times and waits; gives the seconds of one. `clock` says whether the device's
/// events had the time so far.
fn clocked(
    queue: &Queue<'_>,
    clock: &Cell<bool>,
    times: usize,
    mut put: impl FnMut() -> Result<(), Error>,
) -> Result<f64, Error> {
    let (backend, stream) = (queue.device.backend(), queue.stream);
    // The device's clock starts when what waits in the stream ends; that of the host cannot.
    if !clock.get() {
        backend.record(stream)?.finish()?;
    }
    let (from, start) = (Instant::now(), backend.record_timed(stream)?);
    for _ in 0..times {
        put()?;
    }
    let end = backend.record_timed(stream)?;
    end.finish()?;
    let host = from.elapsed().as_secs_f64();
    queue.device.counts.trial();
    let device = start.time().zip(end.time()).map(|(start, end)| end - start).filter(|seconds| *seconds > 0.0);
    clock.set(device.is_some());
    Ok(device.unwrap_or(host) / times as f64)
}

/// The winner of those that took so many seconds, and how many times as fast as the chosen plan, the first, it is, if
/// that holds when both run in turn again; else the chosen plan.
fn confirmed(seconds: &[f64], winner: usize, run: impl Fn(usize) -> Result<f64, Error>) -> Result<(usize, f64), Error> {
    if winner == 0 || !gains(seconds[0], seconds[winner]) {
        return Ok((0, 1.0));
    }
    let mut again = [f64::INFINITY; 2];
    for _ in 0..PASSES {
        for (n, fastest) in [0, winner].into_iter().zip(&mut again) {
            *fastest = fastest.min(run(n)?);
        }
    }
    let [chosen, other] = again;
    Ok(if gains(chosen, other) { (winner, chosen / other) } else { (0, 1.0) })
}

/// Waits for what runs on a device, which would be timed too.
fn alone(device: &DeviceCore) -> Result<(), Error> {
    (0..=COPIES).try_for_each(|stream| device.backend().record(stream)?.finish())
}

/// Times as often as a launch of so many seconds runs in a trial, to be timed.
fn repeats(seconds: f64) -> usize {
    (RUN / seconds.max(1e-9)).ceil().clamp(1.0, REPEATS) as usize
}
