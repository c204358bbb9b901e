//! Running a chain on the host: sweeps over arrays larger than the caches, several at a time over blocks that fit one
//! (docs/decisions/0008-chains-on-the-cpu.md).
//!
//! Arrays stay where they are. Each operation trails those before it by what it reads, along the first axis (planes)
//! and along the second (rows): `program/schedule.rs` gives the steps along both. A **lane** is what the operations do
//! in one step of rows: it marches through the planes one step at a time (a plane, or some where they are short), with
//! a few planes of a few rows of each array in the cache of the thread that runs it. Step `k` of a lane comes after
//! step `k` of the lane before it and after step `k - 1` of its own: two cells of which one needs the other lie in
//! steps that are ordered along both axes, or in one step, where operations run in the order in which they were
//! recorded. So threads take lanes in turn, each a step behind the one before.
//!
//! Where the ends of the first axis belong together, the planes of a pass are those of the unwrapped axis
//! (`program/schedule/periodic.rs`): each operation starts where those before it have been, and goes once around. The
//! ghosts beyond an end are set with the plane of the other end that they are.

use std::borrow::Cow;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::smallvec;

use super::segments::{ring_fill, unwraps};
use super::{Chain, Link, Use};
use crate::backend::cpu::Caches;
use crate::device::timeline::{Label, Recorder as Times, Stats, host_span};
use crate::error::{Error, panicked};
use crate::grid::GridBox;
use crate::launch::pieces::run_boxes;
use crate::memory::ghosts::Which;
use crate::memory::ghosts::planes::{FillStep, Planar, PlaneFacts};
use crate::memory::tracker::{BoxTouch, Tracker, distinct};
use crate::parallel::lanes::Lanes;
use crate::program::schedule::{Access, PlaneOp, Reach, Skew, Write, hull_of, steps, unwrapped};
use crate::run::gate::Ready;
use crate::run::op::Op;

/// So many links are enough for several passes: more are not waited for while threads are idle.
pub(crate) const LONG: usize = 24;

/// The time that starting an operation on one step of a lane takes, in cells that could be swept meanwhile.
const START: f64 = 200.0;

/// Operations of a pass at most: more save little.
const DEEPEST: usize = 64;

/// Planes that a lane takes at once where they are short: an operation then finds what it read for the plane before in
/// the first-level cache, and threads look at each other less often.
const THICK: i64 = 4;

/// Bytes of one plane of a lane of one array that are short: of three such planes, two stay in the first-level cache.
const SHORT: f64 = 16384.0;

/// A pass has to save so much of what single sweeps load, to be worth its order.
const WORTH: f64 = 0.8;

/// What an accelerator knows of its host.
#[derive(Debug)]
pub(crate) struct Host {
    pub caches: Caches,
    /// Passes of more than one sweep over arrays, and sweeps done in them.
    passes: AtomicU64,
    sweeps: AtomicU64,
    /// Sweeps that ran with one before them.
    joined: AtomicU64,
}

impl Host {
    pub fn new(caches: Caches) -> Host {
        Host { caches, passes: AtomicU64::new(0), sweeps: AtomicU64::new(0), joined: AtomicU64::new(0) }
    }

    pub fn stats(&self) -> Stats {
        let counts = [&self.passes, &self.sweeps, &self.joined].map(|count| count.load(Ordering::Relaxed));
        let [passes, steps, joined] = counts;
        Stats { passes, steps, joined, ..Stats::default() }
    }

    /// Counts sweeps that ran with one before them.
    pub fn count_joined(&self, sweeps: u64) {
        self.joined.fetch_add(sweeps, Ordering::Relaxed);
    }

    /// Whether arrays are so large that a sweep leaves nothing of them in the caches for the next one.
    pub fn is_large(&self, touches: &[BoxTouch]) -> bool {
        let bytes = |tracker: &Arc<Tracker>| {
            tracker.planar().map_or(0, |planar| {
                let facts = planar.facts();
                (facts.grown.end - facts.grown.start) as usize * facts.stride * facts.element.bytes()
            })
        };
        // (Most are small, whatever comes twice among them.)
        let trackers = || touches.iter().map(|touch| &touch.tracker);
        let all = |trackers: &mut dyn Iterator<Item = &Arc<Tracker>>| trackers.map(bytes).sum::<usize>();
        all(&mut trackers()) > self.caches.last && all(&mut distinct(trackers()).into_iter()) > self.caches.last
    }

    /// Runs a chain, and gives the result of each of its nodes, in order. A failure of one becomes the failure of those
    /// that need its data when the nodes finish.
    pub fn run(&self, timeline: Option<&Times>, ready: &Ready<Chain>) -> Vec<Result<(), Error>> {
        let chain = &ready.work;
        let failure = |link: &Link| ready.failure(&link.node).map_or(Ok(()), Err);
        let mut results: Vec<Result<(), Error>> = chain.links.iter().map(failure).collect();
        let wave = Wave::new(chain, &results);
        for (link, result) in chain.links.iter().zip(&results) {
            if let (Op::Fill { tracker, fixed: true }, Ok(())) = (&link.op, result)
                && let Some(planar) = tracker.planar()
            {
                // SAFETY: the graph runs this only when no work conflicts with any node of the chain.
                unsafe { planar.regional.fill_on_host(tracker.storage(), Which::Fixed) };
            }
        }
        let mut first = 0;
        while first < wave.tasks.len() {
            let pass = wave.pass(first, &self.caches);
            first = pass.ops.end;
            let link = &chain.links[wave.tasks[pass.ops.start].link];
            let label = Label { name: link.node.name, recorded: link.node.recorded };
            if pass.sweeps > 1 {
                self.passes.fetch_add(1, Ordering::Relaxed);
                self.sweeps.fetch_add(pass.sweeps as u64, Ordering::Relaxed);
            }
            host_span(timeline, format_args!("{label}, {} together", pass.ops.len()), || wave.run(&pass));
        }
        for (number, error) in wave.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            if let Some(result @ Ok(())) = results.get_mut(number) {
                *result = Err(chain.links[number].node.failed(error));
            }
        }
        results
    }
}

/// Whether a sweep that touches this can be part of a chain on the host, besides what every chain asks: arrays of one
/// region, read around each row.
pub(crate) fn can_wave(touches: &[BoxTouch]) -> bool {
    touches.iter().all(|touch| touch.tracker.boxes().len() == 1 && touch.across.is_some())
}

/// Whether filling the ghosts of an array can be part of a chain on the host: each near the values that it is set to,
/// or beyond ends of the first axis that belong together.
pub(crate) fn can_fill(planar: &Planar) -> bool {
    let can = |step: &FillStep| !step.is_far() || is_around(planar.facts(), step);
    planar.facts().layout.regions.len() == 1 && planar.steps().iter().all(can)
}

/// Whether a step of a fill sets ghosts beyond ends that belong together: each ghost plane is one of the domain.
fn is_around(facts: &PlaneFacts, step: &FillStep) -> bool {
    let along = step.from.as_ref().is_some_and(|(axis, _)| *axis == 0);
    along && facts.is_ring() && facts.valid.start == 0
}

/// An operation of a chain.
struct WaveTask {
    /// Number of its node in the chain.
    link: usize,
    /// The step of a ghost fill; else it is the sweep of the link.
    fill: Option<(usize, FillStep)>,
    /// It sweeps cells, not ghosts beyond a face.
    is_sweep: bool,
    /// It runs at each plane of each lane, or most of them.
    is_everywhere: bool,
    /// The period of the first axis, if it can run over that unwrapped, and some ghosts of the chain are filled so.
    period: Option<i64>,
}

/// A chain on its way.
struct Wave<'a> {
    chain: &'a Chain,
    tasks: Vec<WaveTask>,
    /// The same along planes and along rows, for the order.
    along: [Vec<PlaneOp>; 2],
    /// Bytes of a row of each array.
    rows: Vec<usize>,
    /// The failures of links.
    failed: Mutex<Vec<(usize, Error)>>,
}

/// Operations that go over the arrays together.
#[derive(Debug)]
struct WavePass {
    ops: Range<usize>,
    /// Sweeps among them.
    sweeps: usize,
    /// Rows of a lane, and planes that it takes at once; none if there is but one operation to run.
    lane: Option<(i64, i64)>,
}

/// How far a kernel reads around each plane or row, if it reads, and all of them that it reads.
type Reads<'a> = (Option<(i64, i64)>, &'a Range<i64>);

/// A sweep along planes and along rows. Ghosts beyond a face are set at once, as a fill sets them.
fn of_sweep(boxes: &[(usize, GridBox<4>)], uses: &[Use], facts: &PlaneFacts) -> [PlaneOp; 2] {
    let (axis, domain) = (4 - facts.rank, facts.domain());
    let op = |axis: usize, reads: fn(&Use) -> Reads<'_>| {
        let planes = hull_of(boxes.iter().map(|(_, cells)| cells.lo[axis]..cells.hi[axis]));
        let beyond = planes.end <= domain.lo[axis] || domain.hi[axis] <= planes.start;
        let read = |one: &Use| match reads(one) {
            (Some(_), all) if beyond => Some(Reach::Planes(all.clone())),
            (around, _) => around.map(|(lo, hi)| Reach::Around(lo, hi)),
        };
        let access =
            |one: &Use| Access { array: one.array, read: read(one), write: one.write.then_some(Write::Part), scale: 1 };
        PlaneOp { planes, accesses: uses.iter().map(access).collect(), steps: 1, scale: 1 }
    };
    [op(axis, |one| (one.read, &one.planes)), op(axis + 1, |one| (one.across, &one.rows))]
}

impl<'a> Wave<'a> {
    fn new(chain: &'a Chain, results: &[Result<(), Error>]) -> Wave<'a> {
        let (mut tasks, mut along) = (Vec::new(), [Vec::new(), Vec::new()]);
        // (Each array of a chain on the host has planes.)
        let planars: Vec<&Arc<Planar>> = chain.arrays.iter().filter_map(|tracker| tracker.planar()).collect();
        let all = planars.len() == chain.arrays.len();
        let around = chain.links.iter().filter(|_| all).find_map(|link| ring_fill(link, &planars));
        let around = around.and_then(|array| planars[array].facts().period);
        let mut add = |link: usize, fill: Option<(usize, FillStep)>, [planes, rows]: [PlaneOp; 2]| {
            let is_sweep = fill.is_none() && !chain.links[link].is_face();
            let is_everywhere = fill.is_none() && !planes.runs_at_once() && !rows.runs_at_once();
            let period = around.filter(|_| unwraps(&chain.links[link], &planars, around.unwrap_or(0)));
            let period = period.filter(|period| planes.planes == (0..*period) && !planes.runs_at_once());
            tasks.push(WaveTask { link, fill, is_sweep, is_everywhere, period });
            along[0].push(planes);
            along[1].push(rows);
        };
        let planar = |array: usize| chain.arrays[array].planar();
        for (number, link) in chain.links.iter().enumerate().filter(|(number, _)| results[*number].is_ok()) {
            match (link.op.kernel(), link.filled()) {
                (Some(sweep), _) => {
                    let over = link.uses.first().and_then(|one| planar(one.array));
                    let ops = over.map(|planar| of_sweep(sweep.boxes(), &link.uses, planar.facts()));
                    ops.into_iter().for_each(|ops| add(number, None, ops));
                }
                (None, Some((array, _))) => {
                    let Some(planar) = planar(array) else { continue };
                    for step in planar.steps() {
                        // Planes that ghosts are go with them.
                        let around =
                            around.filter(|_| is_around(planar.facts(), &step) && planar.facts().period == around);
                        let op = |axis: usize| {
                            let (read, planes) = match (&step.from, around) {
                                (Some((0, _)), Some(period)) if axis == 0 => (Reach::Around(0, 0), 0..period),
                                (Some((from, cells)), _) if *from == axis => {
                                    (Reach::Planes(cells.clone()), step.cells[axis].clone())
                                }
                                _ => (Reach::Around(0, 0), step.cells[axis].clone()),
                            };
                            let access = Access { array, read: Some(read), write: Some(Write::Part), scale: 1 };
                            PlaneOp { planes, accesses: smallvec![access], steps: 1, scale: 1 }
                        };
                        let ops = [op(0), op(1)];
                        add(number, Some((array, step)), ops);
                    }
                }
                (None, None) => {}
            }
        }
        let row = |tracker: &Arc<Tracker>| {
            let facts = tracker.planar()?.facts();
            let region = facts.layout.regions.first()?;
            Some(region.strides[4 - facts.rank + 1] as usize * facts.element.bytes())
        };
        let rows = chain.arrays.iter().map(|tracker| row(tracker).unwrap_or(0)).collect();
        Wave { chain, tasks, along, rows, failed: Mutex::default() }
    }

    /// The operations from `first` on that go together, and the rows of a lane: those that load least.
    fn pass(&self, first: usize, caches: &Caches) -> WavePass {
        let arrays = self.rows.len();
        let mut skews = [Skew::new(arrays), Skew::new(arrays)];
        // A quarter of it is left to what else a sweep touches, and to chance.
        let room = (caches.thread / 4 * 3) as f64;
        let mut passes = Vec::new();
        let (mut sweeps, mut starts) = (0, 0);
        let period = self.tasks[first].period;
        let like = self.tasks[first..].iter().take(DEEPEST).take_while(|task| task.period == period).count();
        let planes = self.planes(first..first + like);
        for (number, task) in self.tasks.iter().enumerate().skip(first).take(like) {
            skews[0].add(&planes[number - first]);
            skews[1].add(&self.along[1][number]);
            sweeps += usize::from(task.is_sweep);
            starts += usize::from(task.is_everywhere);
            // Bytes for each row of a lane, and of the rows that it shares with the lanes beside it.
            let (mut each, mut shared, mut more) = (0.0, 0.0, 0);
            for ((planes, span), bytes) in skews[0].spans().zip(skews[1].spans()).zip(&self.rows) {
                let row = ((planes + 1) as usize * bytes) as f64;
                each += row;
                shared += row * span as f64;
                more = span.max(more);
            }
            let fitting = ((room - shared) / each).floor();
            if fitting < 1.0 {
                break;
            }
            let rows = self.lane(first..number + 1, &skews[1], fitting as i64);
            let (wide, all) = (rows as f64, self.rows.iter().sum::<usize>() as f64);
            let cells = all / (8 * arrays) as f64 * wide;
            let short = self.rows.iter().all(|bytes| *bytes as f64 * wide <= SHORT);
            let thicker = (THICK - 1) as f64 * all;
            let thick = if short && (each + thicker) * wide + shared <= room { THICK } else { 1 };
            let every = sweeps.max(1) as f64;
            let cost = (rows + more) as f64 / (wide * every) + START * starts as f64 / (every * cells.max(1.0));
            let lane = (sweeps > 1).then_some((rows, thick));
            passes.push((cost, WavePass { ops: first..number + 1, sweeps, lane }));
        }
        let best = passes.iter().enumerate().filter(|(_, (cost, _))| *cost <= WORTH);
        // Of equal ones the longest, as ghost fills cost nothing here.
        let best = best.rev().min_by(|(_, a), (_, b)| a.0.total_cmp(&b.0)).map_or(0, |(number, _)| number);
        // Passes of about one length.
        let left = self.tasks[first..].iter().take_while(|task| task.period == period).count();
        let even = left.div_ceil(left.div_ceil(best + 1));
        let alone = WavePass { ops: first..first + 1, sweeps: 1, lane: None };
        if best == 0 { alone } else { passes.into_iter().nth(even - 1).map_or(alone, |(_, pass)| pass) }
    }

    /// Operations that go together along planes: unwrapped, where the ends belong together.
    fn planes(&self, ops: Range<usize>) -> Cow<'_, [PlaneOp]> {
        let along = &self.along[0][ops.clone()];
        match self.tasks[ops.start].period {
            Some(period) => Cow::Owned(unwrapped(along, self.rows.len(), period, 0)),
            None => Cow::Borrowed(along),
        }
    }

    /// Rows of a lane, at most so many: all threads have as many lanes, of about one size.
    fn lane(&self, ops: Range<usize>, skew: &Skew, most: i64) -> i64 {
        let threads = rayon::current_num_threads() as i64;
        let levels = skew.levels(&self.along[1][ops]).max(1);
        let lanes = (levels + most - 1) / most;
        let lanes = (lanes + threads - 1) / threads * threads;
        ((levels + lanes - 1) / lanes).max(1)
    }

    fn run(&self, pass: &WavePass) {
        let arrays = self.rows.len();
        let Some((rows, thick)) = pass.lane else { return pass.ops.clone().for_each(|number| self.whole(number)) };
        let planes = steps(&self.planes(pass.ops.clone()), arrays, thick);
        let lanes = steps(&self.along[1][pass.ops.clone()], arrays, rows);
        let part = |lane: usize, step: usize| {
            for (op, (planes, rows)) in pass.ops.clone().zip(planes[step].iter().zip(&lanes[lane])) {
                self.part(op, planes, rows);
            }
        };
        let side_by_side = Lanes::new(lanes.len());
        let threads = rayon::current_num_threads().min(lanes.len());
        rayon::scope(|scope| (0..threads).for_each(|_| scope.spawn(|_| side_by_side.work(planes.len(), part))));
    }

    /// Runs an operation alone.
    fn whole(&self, number: usize) {
        let task = &self.tasks[number];
        match (self.chain.links[task.link].op.kernel(), &task.fill) {
            (Some(sweep), None) => self.guarded(task, || run_boxes(&*sweep.launch, sweep.boxes())),
            _ => self.part(number, &self.along[0][number].planes, &self.along[1][number].planes),
        }
    }

    /// Runs an operation over some planes, of the unwrapped axis where its ends belong together, and rows.
    fn part(&self, number: usize, planes: &Range<i64>, rows: &Range<i64>) {
        let Some(period) = self.tasks[number].period else { return self.part_of(number, planes, rows, None) };
        let mut next = planes.start;
        while next < planes.end {
            let before = next.div_euclid(period) * period;
            let end = planes.end.min(before + period);
            self.part_of(number, &(next - before..end - before), rows, Some(period));
            next = end;
        }
    }

    /// The same over planes of the domain.
    fn part_of(&self, number: usize, planes: &Range<i64>, rows: &Range<i64>, period: Option<i64>) {
        let task = &self.tasks[number];
        if planes.is_empty() || rows.is_empty() {
            return;
        }
        let link = &self.chain.links[task.link];
        self.guarded(task, || match (link.op.kernel(), &task.fill) {
            (Some(sweep), _) => {
                let planar = link.uses.first().and_then(|one| self.chain.arrays[one.array].planar());
                let Some(axis) = planar.map(|planar| 4 - planar.facts().rank) else { return Ok(()) };
                let mut failed = None;
                // Whole rows of one plane are memory of their own for a kernel.
                for plane in planes.clone() {
                    for (region, cells) in sweep.boxes() {
                        let mut cells = *cells;
                        cells.lo[axis] = cells.lo[axis].max(plane);
                        cells.hi[axis] = cells.hi[axis].min(plane + 1);
                        cells.lo[axis + 1] = cells.lo[axis + 1].max(rows.start);
                        cells.hi[axis + 1] = cells.hi[axis + 1].min(rows.end);
                        if !cells.is_empty() {
                            // SAFETY: what touches the cells that this reads or writes lies in steps that are ordered
                            // with this one, ghosts between the rows included, which count with their rows; the graph
                            // keeps all other work away.
                            let ran = unsafe { sweep.launch.run(*region, cells) };
                            failed = Error::earliest(failed.into_iter().chain(ran.err()));
                        }
                    }
                }
                failed.map_or(Ok(()), Err)
            }
            (_, Some((array, step))) => {
                let Some(planar) = self.chain.arrays[*array].planar() else { return Ok(()) };
                // The ghost planes that are these.
                let by = match (period, &step.from) {
                    (Some(period), Some((0, from))) => {
                        if step.cells[0].start < from.start {
                            -period
                        } else {
                            period
                        }
                    }
                    _ => 0,
                };
                let ghosts = planes.start + by..planes.end + by;
                // SAFETY: as above; the step is one of this array's.
                unsafe { planar.step_on_host(self.chain.arrays[*array].storage(), step, &ghosts, rows) };
                Ok(())
            }
            _ => Ok(()),
        });
    }

    /// Runs a piece of a task, and records how it fails. What works with what it leaves goes on: it fails with it.
    fn guarded(&self, task: &WaveTask, piece: impl FnOnce() -> Result<(), Error>) {
        let name = self.chain.links[task.link].node.name;
        let result = catch_unwind(AssertUnwindSafe(piece)).unwrap_or_else(|payload| Err(panicked(name, payload)));
        if let Err(error) = result {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            match failed.iter_mut().find(|(link, _)| *link == task.link) {
                Some((_, known)) if error.is_before(known) => *known = error,
                Some(_) => {}
                None => failed.push((task.link, error)),
            }
        }
    }
}

#[cfg(test)]
mod tests;
