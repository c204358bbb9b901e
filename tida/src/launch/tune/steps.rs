//! Trials of several steps as one launch: how many, in which blocks, with how many cells a thread, with shuffles or
//! without.
//!
//! Such a launch reads one of the two arrays and writes the other, which the step after it overwrites whole
//! (docs/decisions/0018-fused-steps.md). So every candidate runs on the very arrays, whatever its number of steps,
//! before the launch that is due.

use std::cell::Cell;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use tida_kernels::emit::Param;
use tida_kernels::plan::fuse::{Asked, Faces, Parts, worth_a_trial};
use tida_kernels::plan::trials::{best, bucket, hopeless};
use tracing::{debug, info};

use super::{BUDGET, Found, PASSES, SMALLEST, alone, clocked, code, confirmed, record, repeats};
use crate::backend::{Facts, Memory, disk};
use crate::device::core::DeviceCore;
use crate::device::plans::{StepsKey, StepsWinner};
use crate::error::Error;
use crate::grid::GridBox;
use crate::launch::device::{Commands, DeviceLaunch, Held};
use crate::launch::prepare::Prepared;
use crate::memory::node::Queue;

impl StepsKey {
    fn of(prepared: &Prepared, device: &DeviceCore, cells: &GridBox<4>, faces: &Faces) -> StepsKey {
        StepsKey {
            analysed: std::ptr::from_ref(prepared) as usize,
            extent: prepared.extent(cells).iter().map(|n| bucket(*n)).collect(),
            faces: *faces,
            asked: device.asked.fuse.parts(),
            math: device.asked.math,
        }
    }
}

/// First line of what is stored: what it is, and the version of its form.
const HEAD: &str = "tida trials of steps 1";

impl StepsWinner {
    fn to_text(self) -> String {
        format!("{HEAD}\ngain {:.4}\n{}", self.gain, self.parts)
    }

    /// Nothing if it is not what [`StepsWinner::to_text`] gives.
    fn from_text(text: &str) -> Option<StepsWinner> {
        let mut lines = text.lines();
        lines.next().filter(|head| *head == HEAD)?;
        let gain: f64 = lines.next()?.strip_prefix("gain ")?.parse().ok()?;
        let parts = match lines.next()?.parse().ok()? {
            Asked::Parts(parts) => parts,
            Asked::Auto | Asked::Off => return None,
        };
        (lines.next().is_none() && gain.is_finite() && gain >= 1.0).then_some(StepsWinner { parts, gain })
    }
}

/// What trials found to be faster than what is chosen for steps over such a box.
pub(crate) fn known(prepared: &Prepared, device: &DeviceCore, cells: &GridBox<4>, faces: &Faces) -> Option<Parts> {
    if !device.asked.tune {
        return None;
    }
    let winner = *device.steps_winners().of(&StepsKey::of(prepared, device, cells, faces)).get()?;
    (winner.gain > 1.0).then_some(winner.parts)
}

/// What trials found for steps of a kernel, a line for each box.
pub(super) fn describe(prepared: &Arc<Prepared>, device: &DeviceCore) -> Vec<String> {
    let line = |(key, winner): (StepsKey, StepsWinner)| {
        let extent: Vec<String> = key.extent.iter().map(u64::to_string).collect();
        let found = match winner.gain > 1.0 {
            true => format!("{}: {:.2} times as fast as what was chosen", winner.parts, winner.gain),
            false => "nothing tried was faster than what was chosen".into(),
        };
        format!("steps over boxes of up to {} cells: {found}", extent.join(" x "))
    };
    let mine = |(key, _): &(StepsKey, StepsWinner)| key.analysed == Arc::as_ptr(prepared) as usize;
    device.steps_winners().all().into_iter().filter(mine).map(line).collect()
}

/// Tries ways to run steps over a box of a region, if it is the first launch of its kind; [`known`] has what was found.
///
/// # Safety
/// As [`enqueue_steps`](crate::launch::fused::enqueue_steps).
pub(crate) unsafe fn tried(
    launch: &DeviceLaunch<'_>,
    queue: &Queue<'_>,
    (region, cells): (usize, GridBox<4>),
    faces: &Faces,
) {
    let (prepared, device) = (launch.prepared, queue.device);
    if !device.asked.tune || !queue.rings.is_empty() || (cells.cells() as u64) < SMALLEST {
        return;
    }
    let place = device.steps_winners().of(&StepsKey::of(prepared, device, &cells, faces));
    // What is to be tried may be compiled now.
    if place.get().is_some() || device.compiler().is_busy() {
        return;
    }
    let one_at_a_time = device.trying();
    let _alone = one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
    if place.get().is_some() {
        return;
    }
    // What the trials use lives until it is known that nothing runs.
    let mut held = Held::new();
    // SAFETY: handed on.
    let found = queue.enqueue(|| unsafe { stored_or_found(launch, queue, (region, cells), faces, &mut held) });
    device.host_waited();
    let found = found.unwrap_or_else(|error| {
        debug!(kernel = prepared.place(), %error, "no trials of steps: one failed");
        Found::Nothing
    });
    let winner = match found {
        Found::Best(winner) => winner,
        Found::Nothing => StepsWinner { parts: device.asked.fuse.parts(), gain: 1.0 },
        Found::NotYet => return,
    };
    place.get_or_init(|| winner);
}

/// The winner that is kept on disk, else that of trials; none if there is nothing to try.
///
/// # Safety
/// As [`tried`]; what is held lives until nothing runs.
unsafe fn stored_or_found(
    launch: &DeviceLaunch<'_>,
    queue: &Queue<'_>,
    (region, cells): (usize, GridBox<4>),
    faces: &Faces,
    held: &mut Held,
) -> Result<Found<StepsWinner>, Error> {
    let (prepared, device) = (launch.prepared, queue.device);
    let Some(steps) = prepared.steps.as_ref() else { return Ok(Found::Nothing) };
    let (asked, extent) = (device.asked.fuse.parts(), prepared.extent(&cells));
    let target = prepared.target(device, steps, &extent, faces, false);
    let ways = worth_a_trial(steps, &target, &asked, u32::MAX);
    let Some(first) = ways.first() else { return Ok(Found::Nothing) };
    let facts = device.backend().facts();
    let on_disk = {
        let plan = launch.steps_plan(device, (region, &cells), &cells, first);
        let Facts { name, target, .. } = facts;
        let buckets: Vec<u64> = extent.iter().map(|n| bucket(*n)).collect();
        disk::Key::new(&[HEAD, &code(launch, &plan), name, target, &format!("{:?} {asked} {buckets:?}", plan.math)])
    };
    if let Some(bytes) = disk::load(on_disk) {
        match std::str::from_utf8(&bytes).ok().and_then(StepsWinner::from_text) {
            Some(winner) => return Ok(Found::Best(winner)),
            None => debug!(key = %on_disk, "a file of trials is not what was written"),
        }
    }
    if device.compiler().is_beside() {
        let plan = |way| launch.steps_plan(device, (region, &cells), &cells, way);
        let missing = ways.iter().filter(|way| launch.ready_beside(device, &plan(way)).is_none()).count();
        if missing > 0 {
            return Ok(Found::NotYet);
        }
    }
    alone(device)?;
    let record = record(prepared, queue, held)?;
    let (clock, started) = (Cell::new(false), Instant::now());
    let mut trials = Trials { launch, queue, clock, started, tried: Vec::new(), record };
    for way in &ways {
        if trials.is_late() {
            break;
        }
        let made = launch.steps_commands(device, (region, cells), &cells, way, held);
        // SAFETY: handed on.
        unsafe { trials.add(way.parts(), f64::from(way.fused.depth), made) };
    }
    // Steps by themselves.
    if asked == Parts::default() && !trials.is_late() {
        let parts = Parts { depth: Some(1), ..Parts::default() };
        let made = launch.commands(device, &[(region, cells)], &launch.wish(), held);
        // SAFETY: handed on.
        made.transpose().into_iter().for_each(|made| unsafe { trials.add(parts, 1.0, made) });
    }
    if trials.tried.is_empty() {
        return Ok(Found::Nothing);
    }
    // SAFETY: handed on.
    let (n, gain) = unsafe { trials.fastest()? };
    let winner = StepsWinner { parts: trials.tried[n].parts, gain };
    let tried: Vec<String> = trials.tried.iter().map(Tried::to_text).collect();
    let (kernel, device, tried) = (prepared.place(), &facts.name, tried.join("; "));
    info!(kernel, device, winner = %winner.parts, gain, tried, "ways to run several steps were tried");
    disk::store(on_disk, winner.to_text().as_bytes());
    Ok(Found::Best(winner))
}

/// A way that is tried.
struct Tried {
    parts: Parts,
    /// Steps of a launch.
    steps: f64,
    commands: Commands,
    /// Launches one after the other that are timed at once.
    repeats: usize,
    /// The fastest step, in seconds.
    seconds: f64,
    dropped: bool,
}

impl Tried {
    fn to_text(&self) -> String {
        format!("{}: {:.2} us a step", self.parts, self.seconds * 1e6)
    }
}

struct Trials<'a, 'l, 'q> {
    launch: &'a DeviceLaunch<'l>,
    queue: &'a Queue<'q>,
    /// The device's events have the time.
    clock: Cell<bool>,
    started: Instant,
    tried: Vec<Tried>,
    record: Option<Arc<Memory>>,
}

impl Trials<'_, '_, '_> {
    fn is_late(&self) -> bool {
        self.started.elapsed().as_secs_f64() > BUDGET
    }

    /// Adds a way and runs it once, for the driver to get ready and to know how long it takes. What cannot be compiled
    /// or run is left out.
    ///
    /// # Safety
    /// As [`tried`], with what the commands use alive.
    unsafe fn add(&mut self, parts: Parts, steps: f64, made: Result<Commands, Error>) {
        let ready = made.and_then(|commands| {
            if self.record.is_none() && commands.ready.source.params.contains(&Param::Fault) {
                return Ok(None);
            }
            // SAFETY: handed on; the kernel is given a record if it has one.
            let put = || unsafe { commands.put(self.launch, self.queue, self.record.as_deref()) };
            clocked(self.queue, &self.clock, 1, put)?;
            let seconds = clocked(self.queue, &self.clock, 1, put)?;
            let repeats = repeats(seconds);
            Ok(Some(Tried { parts, steps, commands, repeats, seconds: seconds / steps, dropped: false }))
        });
        match ready {
            Ok(tried) => self.tried.extend(tried),
            Err(error) => debug!(%error, way = %parts, "steps that cannot be tried"),
        }
    }

    /// Seconds of one step of a way.
    ///
    /// # Safety
    /// As [`tried`].
    unsafe fn run(&self, n: usize) -> Result<f64, Error> {
        let Tried { commands, repeats, steps, .. } = &self.tried[n];
        // SAFETY: handed on; the kernel is given a record if it has one.
        let put = || unsafe { commands.put(self.launch, self.queue, self.record.as_deref()) };
        Ok(clocked(self.queue, &self.clock, *repeats, put)? / steps)
    }

    fn best(&self) -> usize {
        let seconds: Vec<Option<f64>> = self.tried.iter().map(|one| (!one.dropped).then_some(one.seconds)).collect();
        best(&seconds)
    }

    /// Runs all in turn; the fastest, and how many times as fast as the first, which is what would be chosen, if that
    /// holds when both run again.
    ///
    /// # Safety
    /// As [`tried`].
    unsafe fn fastest(&mut self) -> Result<(usize, f64), Error> {
        for _ in 0..PASSES {
            let fastest = self.tried[self.best()].seconds;
            for n in 0..self.tried.len() {
                self.tried[n].dropped |= n > 0 && hopeless(self.tried[n].seconds, fastest);
                if !self.tried[n].dropped {
                    // SAFETY: handed on.
                    let seconds = unsafe { self.run(n)? };
                    self.tried[n].seconds = self.tried[n].seconds.min(seconds);
                }
            }
            if self.is_late() {
                break;
            }
        }
        let seconds: Vec<f64> = self.tried.iter().map(|one| one.seconds).collect();
        // SAFETY: handed on.
        confirmed(&seconds, self.best(), |n| unsafe { self.run(n) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_again() {
        let found = |text: &str| match text.parse() {
            Ok(Asked::Parts(parts)) => StepsWinner { parts, gain: 1.25 },
            other => panic!("{other:?}"),
        };
        for text in ["depth=5,block=128x1,cells=4x1,shuffle=off", "depth=1", "depth=3,block=32x16,cells=2x4,shuffle=on"]
        {
            let winner = found(text);
            assert_eq!(winner.parts.to_string(), text);
            assert_eq!(StepsWinner::from_text(&winner.to_text()), Some(winner));
        }
        for bad in
            ["", "tida trials of steps 1", "tida trials of steps 1\ngain 1.2", "tida trials of steps 1\ngain 1.2\noff"]
                .into_iter()
                .chain(["tida trials of steps 1\ngain nan\ndepth=3", "tida trials 1\ngain 1.2\ndepth=3"])
                .chain([
                    "tida trials of steps 1\ngain 1.2\ndepth=3\ndepth=3",
                    "tida trials of steps 1\ngain 0.5\ndepth=3",
                ])
        {
            assert_eq!(StepsWinner::from_text(bad), None, "{bad}");
        }
    }
}
