//! Sweeps: tiles of one loop, merged.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use smallvec::SmallVec;
use tida_kernels::plan::fuse::Faces;

use super::boxes::{BoxList, union};
use super::chain::Kind;
use super::driver::touch_all;
use super::ends::Ends;
use super::fuse::Pair;
use super::hybrid::Pace;
use super::node::{Done, Node, Queue};
use super::tracker::{BoxTouch, Mode, Touch, Tracker};
use crate::array::GridBox;
use crate::array::storage::Storage;
use crate::compute::args::OnDevice;
use crate::compute::ask::KernelId;
use crate::compute::cache::Hints;
use crate::compute::fused::OneStep;
use crate::compute::needs::Needs;
use crate::error::Error;

/// How steps of a sweep may run as one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fusible {
    /// The argument that is written.
    pub out: usize,
    /// The one that alternates with it.
    pub inp: usize,
    /// Cells that a step reads around each, along each of four axes (leading axes 0).
    pub halo: [i64; 4],
}

/// Steps that run as one launch, or as one for each part of their planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Together {
    pub steps: u32,
    /// Kernels that take turns.
    pub kernels: usize,
    /// The box of each step.
    pub cells: GridBox<4>,
    /// Planes of the first axis that a launch leaves, mostly: those of the box, or fewer.
    pub planes: i64,
    /// What lies beyond the box.
    pub faces: Faces,
}

impl Together {
    /// A box like those that launches leave, whose planes are along this axis.
    pub fn usual(&self, axis: usize) -> GridBox<4> {
        let mut cells = self.cells;
        cells.hi[axis] = cells.hi[axis].min(cells.lo[axis].saturating_add(self.planes));
        cells
    }
}

/// Runs a kernel over boxes of cells. One per sweep.
pub(crate) trait Launch: Send + Sync {
    /// Runs over a box inside one region.
    ///
    /// # Safety
    /// No one else writes what this reads or accesses what it writes.
    unsafe fn run(&self, region: usize, cells: GridBox<4>) -> Result<(), Error>;

    /// Boxes that it runs over start at multiples of this along each axis.
    fn grain(&self) -> [i64; 4] {
        [1; 4]
    }

    /// Puts the commands that run it over boxes of regions into a stream of the device. The data is there.
    ///
    /// # Safety
    /// As [`Launch::run`], until the node of `queue` has finished.
    unsafe fn enqueue(self: Arc<Self>, queue: &Queue<'_>, boxes: &[(usize, GridBox<4>)]) -> Result<Done, Error>;

    /// What it is as a step, if several may run as one launch on a device.
    fn step(&self) -> Option<OneStep<'_>> {
        None
    }

    /// What it is as one of several sweeps that run as one.
    fn part(&self) -> Option<OneStep<'_>> {
        None
    }

    /// Rows that it sweeps through all planes of a box before the next ones.
    fn rows(&self) -> i64 {
        i64::MAX
    }

    /// What keeps its arrays from streaming plane by plane.
    fn needs(&self) -> Option<Needs> {
        None
    }

    /// What such a step is given.
    fn args(&self) -> SmallVec<[OnDevice<'_>; 8]> {
        SmallVec::new()
    }
}

/// What makes two recorded computes parts of one sweep: the same kernel on the same arrays with the same captures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SweepKey {
    /// The kernel.
    pub kernel: KernelId,
    /// Type of the views: element types and kinds of the arguments.
    pub views: TypeId,
    /// Identity of each argument.
    pub args: SmallVec<[usize; 8]>,
    /// Captured values, as bits.
    pub captures: SmallVec<[u64; 8]>,
    /// Values of tables, as bits.
    pub tables: SmallVec<[u64; 8]>,
    /// Bit `n` keeps argument `n` to its valid cells.
    pub valid_only: u16,
    /// Whether accesses are checked.
    pub checked: bool,
    /// Whether it runs on the device, and the threads of a block that were asked for.
    pub on_device: bool,
    pub block: Option<[u32; 3]>,
    /// Cells along the first axis that a thread takes, if that was asked for.
    pub march: Option<u32>,
    /// What is to be cached, if that was asked for.
    pub cache: Hints,
}

/// A sweep that still takes tiles.
pub(crate) struct OpenSweep {
    pub key: SweepKey,
    pub node: Arc<Node>,
    /// The kind of the chain that it is a part of.
    pub kind: Option<Kind>,
    pub launch: Arc<dyn Launch>,
    pub boxes: Vec<(usize, GridBox<4>)>,
    /// What its tiles touch.
    pub arrays: SmallVec<[ArrayTouch; 4]>,
    /// Measures it, if its loop runs on both sides.
    pub pace: Option<Arc<Pace>>,
    /// It is the next of steps that may run as one launch, on arrays that take turns.
    pub turn: Option<Pair>,
    /// Arrays that it writes and whose ghosts are filled next.
    pub refilled: Vec<Arc<Storage>>,
    /// The reduction that it does the work of.
    pub ends: Option<Ends>,
}

impl OpenSweep {
    /// Adds a tile.
    pub fn add(&mut self, region: usize, cells: GridBox<4>, touches: &[BoxTouch]) {
        match self.boxes.last_mut() {
            Some((r, last)) if *r == region => match union(last, &cells) {
                Some(merged) => *last = merged,
                None => self.boxes.push((region, cells)),
            },
            _ => self.boxes.push((region, cells)),
        }
        self.merge_rows();
        self.touch(touches);
    }

    /// Adds what is touched.
    pub fn touch(&mut self, touches: &[BoxTouch]) {
        for touch in touches {
            let known = self.arrays.iter().position(|known| Arc::ptr_eq(&known.tracker, &touch.tracker));
            let n = known.unwrap_or_else(|| {
                self.arrays.push(ArrayTouch::new(&touch.tracker));
                self.arrays.len() - 1
            });
            self.arrays[n].add(touch);
        }
    }

    /// Tells the last of the open sweeps that touches an array that its ghosts are filled now, if it writes it on the
    /// device. Nothing else that was recorded since touches the array.
    ///
    /// Whether the sweeps may stay open, though no tile may join them now: ghosts of other arrays that they write may
    /// be filled too.
    pub fn is_refilled(open: &mut [OpenSweep], tracker: &Arc<Tracker>) -> bool {
        let waits = open.iter().all(|sweep| sweep.turn.is_none() && sweep.kind.is_none());
        let of = |array: &&ArrayTouch| Arc::ptr_eq(&array.tracker, tracker);
        let touches = |sweep: &&mut OpenSweep| sweep.arrays.iter().any(|array| of(&array));
        let Some(sweep) = open.iter_mut().rev().find(touches) else { return false };
        let usual = sweep.key.on_device && !sweep.key.checked && sweep.node.chain.is_none() && sweep.pace.is_none();
        // A fill before this one waits for the sweep, which must not wait for it.
        let again = sweep.refilled.iter().any(|storage| Arc::ptr_eq(storage, tracker.storage()));
        let tells = usual && !again && sweep.arrays.iter().find(of).is_some_and(|array| array.write);
        if tells {
            // It waits for those who read the ghosts too. Cells that others wrote stay as good or bad as they are.
            let touch = Touch::new(tracker, None, Mode::Move);
            touch_all(&sweep.node, &touch);
            sweep.refilled.push(tracker.storage().clone());
        }
        waits && tells
    }

    /// Rows of tiles become slabs, slabs a region.
    fn merge_rows(&mut self) {
        while let [.., (r0, a), (r1, b)] = self.boxes.as_slice() {
            if r0 != r1 {
                return;
            }
            let Some(merged) = union(a, b) else { return };
            let region = *r0;
            self.boxes.truncate(self.boxes.len() - 2);
            self.boxes.push((region, merged));
        }
    }

    /// Whether it touches one of these arrays.
    pub fn shares(&self, touches: &[BoxTouch]) -> bool {
        touches.iter().any(|new| self.arrays.iter().any(|old| Arc::ptr_eq(&old.tracker, &new.tracker)))
    }

    /// Whether a piece of work that touches this conflicts with any tile of the sweep.
    pub fn conflicts(&self, touches: &[BoxTouch], on_device: bool) -> bool {
        // Between host and device a region moves as a whole.
        let apart = self.key.on_device != on_device;
        touches.iter().any(|new| {
            let array = self.arrays.iter().find(|old| Arc::ptr_eq(&old.tracker, &new.tracker));
            array.and_then(|array| array.regions.get(&new.region)).is_some_and(|old| {
                (apart && (new.write.is_some() || old.writes()))
                    || new.write.is_some_and(|w| old.read.overlaps(&w) || old.write.overlaps(&w))
                    || new.read.is_some_and(|r| old.write.overlaps(&r))
            })
        })
    }
}

/// What the tiles of a sweep touch of one array, for the question whether a later tile may go before a later sweep.
pub(crate) struct ArrayTouch {
    pub tracker: Arc<Tracker>,
    /// By number.
    pub regions: BTreeMap<usize, RegionTouch>,
    /// The planes that are read around each plane of the first axis, and of the second: see [`BoxTouch::around`].
    pub around: Option<(i64, i64)>,
    pub across: Option<(i64, i64)>,
    /// Some region is written.
    pub write: bool,
    /// It is read as a whole array.
    pub whole: bool,
}

impl ArrayTouch {
    /// Whether its ghosts outlive their cells.
    pub fn keeps(&self) -> bool {
        self.regions.values().any(|touch| touch.keeps)
    }

    /// Whether all that is read of the array in `other` is read here.
    pub fn reads_all_of(&self, other: &ArrayTouch) -> bool {
        other.regions.iter().all(|(region, touch)| {
            touch.read.is_empty() || self.regions.get(region).is_some_and(|own| own.read.covers(&touch.read))
        })
    }
}

/// Cells of a region that the tiles of a sweep touch.
#[derive(Default)]
pub(crate) struct RegionTouch {
    read: BoxList,
    write: BoxList,
    /// See [`BoxTouch::keeps`].
    keeps: bool,
}

impl RegionTouch {
    /// Whether any cell is written.
    pub fn writes(&self) -> bool {
        !self.write.is_empty()
    }

    /// How it touches a region whose memory holds all of this box.
    fn mode(&self, all: &GridBox<4>) -> Mode {
        match self.writes() {
            false => Mode::Read,
            true if self.read.is_empty() && !self.keeps && self.write.has(all) => Mode::Overwrite,
            true => Mode::Update,
        }
    }
}

impl ArrayTouch {
    /// Whether all cells of these boxes are read, or all are written.
    pub fn has(&self, boxes: &[(usize, GridBox<4>)]) -> bool {
        boxes.iter().all(|(region, cells)| {
            let touch = self.regions.get(region);
            touch.is_some_and(|touch| touch.read.has(cells) || touch.write.has(cells))
        })
    }

    fn new(tracker: &Arc<Tracker>) -> ArrayTouch {
        ArrayTouch {
            tracker: tracker.clone(),
            regions: BTreeMap::new(),
            around: None,
            across: None,
            write: false,
            whole: false,
        }
    }

    fn add(&mut self, touch: &BoxTouch) {
        self.whole |= touch.whole;
        let region = self.regions.entry(touch.region).or_default();
        region.keeps |= touch.keeps;
        if let Some(cells) = touch.read {
            let both = |known: Option<(i64, i64)>, new: Option<(i64, i64)>| match (known, new) {
                (Some((lo, hi)), Some((low, high))) => Some((lo.min(low), hi.max(high))),
                (known, new) => known.or(new),
            };
            region.read.add(cells);
            self.around = both(self.around, Some(touch.around.unwrap_or_default()));
            self.across = both(self.across, touch.across);
        }
        if let Some(cells) = touch.write {
            region.write.add(cells);
            self.write = true;
        }
    }
}

/// The regions that a sweep touches, and how.
pub(super) fn touched(arrays: &[ArrayTouch]) -> impl Iterator<Item = (&Arc<Tracker>, usize, Mode)> {
    arrays.iter().flat_map(|array| {
        let mode = |region: usize, touch: &RegionTouch| {
            array.tracker.boxes().get(region).map_or(Mode::Update, |all| touch.mode(all))
        };
        array.regions.iter().map(move |(region, touch)| (&array.tracker, *region, mode(*region, touch)))
    })
}

/// Brings the arrays of a sweep to the device. Only from its node.
pub(super) fn bring(queue: &Queue<'_>, arrays: &[ArrayTouch]) -> Result<(), Error> {
    touched(arrays).try_for_each(|(tracker, region, mode)| {
        // SAFETY: the graph keeps all work that conflicts away until this node has finished.
        unsafe { tracker.to_device(queue, region, mode) }
    })
}

/// Cells of the smallest piece: below, a piece costs more than it saves.
const SMALL_PIECE: usize = 1 << 14;

/// Runs all boxes of a sweep, split so that every thread has work, in the current thread pool.
///
/// A few pieces a thread even out the threads' speeds; more would read the planes at their ends more often.
pub(crate) fn run_boxes(launch: &dyn Launch, boxes: &[(usize, GridBox<4>)]) -> Result<(), Error> {
    let (pieces, at_least) = pieces(boxes, launch.grain());
    let run = |&(region, cells): &(usize, GridBox<4>)| {
        // SAFETY: the graph lets a sweep run only when nothing that conflicts with it runs, its boxes do not overlap,
        // and its kernel writes the cell it runs at alone.
        unsafe { launch.run(region, cells) }
    };
    if let [one] = pieces.as_slice() {
        return run(one);
    }
    // All of them, whatever fails: which failure is told is not to depend on which came first.
    let failures = pieces.par_iter().with_min_len(at_least).filter_map(|piece| run(piece).err());
    failures.map(Some).reduce(|| None, earlier).map_or(Ok(()), Err)
}

/// Bytes of the cells of a part in the arrays of sweeps that run as one, those that several read once for each: what is
/// read should stay in a core's second-level cache. Less than that leaves parts of few rows, which cost more to start
/// than they save.
const PART: usize = 1 << 20;

/// Runs sweeps over the same boxes, part by part: one after the other over each part, so that the later ones find in a
/// cache what the first one read. Gives the result of each.
pub(super) fn run_together(launches: &[&dyn Launch], boxes: &[(usize, GridBox<4>)]) -> Vec<Result<(), Error>> {
    let bytes: usize = launches.iter().filter_map(|launch| launch.part()).map(|part| part.prepared.cell_bytes()).sum();
    let rows = launches.iter().map(|launch| launch.rows()).min().unwrap_or(i64::MAX);
    let cells_at_once = (PART / bytes.max(1)).max(1);
    let (pieces, at_least) = pieces(boxes, [1; 4]);
    let run = |(region, cells): &(usize, GridBox<4>)| {
        let mut failures: Vec<Option<Error>> = launches.iter().map(|_| None).collect();
        let mut stripe = *cells;
        while stripe.lo[2] < cells.hi[2] {
            stripe.hi[2] = stripe.lo[2].saturating_add(rows).min(cells.hi[2]);
            split(&stripe, cells_at_once, [1; 4], &mut |part| {
                for (launch, failure) in launches.iter().zip(&mut failures) {
                    // SAFETY: as in `run_boxes`; none of the sweeps writes what another one touches.
                    let ran = unsafe { launch.run(*region, part) };
                    *failure = earlier(failure.take(), ran.err());
                }
            });
            stripe.lo[2] = stripe.hi[2];
        }
        failures
    };
    let both =
        |a: Vec<Option<Error>>, b: Vec<Option<Error>>| a.into_iter().zip(b).map(|(a, b)| earlier(a, b)).collect();
    let none = || launches.iter().map(|_| None).collect();
    let failures = pieces.par_iter().with_min_len(at_least).map(run).reduce(none, both);
    failures.into_iter().map(|failure| failure.map_or(Ok(()), Err)).collect()
}

/// The failure of the first of two cells in row-major order.
fn earlier(a: Option<Error>, b: Option<Error>) -> Option<Error> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.is_before(&a) { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// The pieces of a sweep for the threads, and how many of them a thread should take at least.
fn pieces(boxes: &[(usize, GridBox<4>)], grain: [i64; 4]) -> (Vec<(usize, GridBox<4>)>, usize) {
    let total: usize = boxes.iter().map(|(_, b)| b.cells()).sum();
    let piece = (total / (rayon::current_num_threads() * 4)).max(SMALL_PIECE);
    let mut pieces = Vec::with_capacity(boxes.len() + total / piece);
    for (region, cells) in boxes {
        split(cells, piece, grain, &mut |part| pieces.push((*region, part)));
    }
    let at_least = (pieces.len() * SMALL_PIECE / 4 / total.max(1)).max(1);
    (pieces, at_least)
}

/// Cuts a box into parts of about `cells` cells along its slowest axis, and further if one plane is much more.
fn split(b: &GridBox<4>, cells: usize, grain: [i64; 4], give: &mut impl FnMut(GridBox<4>)) {
    let all = b.cells();
    let Some(axis) = (0..4).find(|&d| b.hi[d] - b.lo[d] > grain[d]) else {
        return give(*b);
    };
    if all <= cells + cells / 2 {
        return give(*b);
    }
    let n = (b.hi[axis] - b.lo[axis]) as usize;
    let plane = all / n;
    let parts = all.div_ceil(cells).min(n);
    for p in 0..parts {
        let mut part = *b;
        let cut = |p: usize| match p == parts {
            true => b.hi[axis],
            false => b.lo[axis] + (n * p / parts) as i64 / grain[axis] * grain[axis],
        };
        (part.lo[axis], part.hi[axis]) = (cut(p), cut(p + 1));
        if part.is_empty() {
            continue;
        }
        // Only what became smaller is cut further.
        let narrower = part.hi[axis] - part.lo[axis] <= grain[axis] && axis < 3;
        if plane > 2 * cells && narrower { split(&part, cells, grain, give) } else { give(part) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_tile_the_box() {
        for (hi, piece) in
            [([1, 7, 9, 100], 64), ([1, 1, 1, 100_000], 1000), ([2, 3, 500, 64], 4096), ([1, 1, 1, 1], 1)]
        {
            let b = GridBox::new([0; 4], hi);
            let mut parts = Vec::new();
            split(&b, piece, [1; 4], &mut |p| parts.push(p));
            assert_eq!(parts.iter().map(GridBox::cells).sum::<usize>(), b.cells());
            for (i, p) in parts.iter().enumerate() {
                assert!(!p.is_empty() && b.contains_box(p));
                assert!(parts[..i].iter().all(|q| !q.overlaps(p)));
            }
        }
    }
}
