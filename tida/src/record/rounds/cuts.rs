//! Stretches of a loop that run as one node: what they launch together, what they touch, and their launches as they
//! were written down.

use std::sync::{Arc, Weak};

use super::Pending;
use super::parts::is;
use crate::launch::step::Together;
use crate::memory::touched::RegionTouch;
use crate::memory::tracker::{Mode, Tracker};
use crate::record::driver::Core;
use crate::record::fuse::shares;
use crate::record::in_core::{Several, in_core, together};
use crate::run::op::Op;
use crate::run::round::{Piece, RoundArray, Tape};

/// Boxes of a region that a round may touch.
const BOXES: usize = 16;

/// For each launch: how many of what is held back are its, and how they run together.
type Plan = Vec<(usize, Option<(usize, Together)>)>;

/// Where in the period a stretch begins, how much was held back, and whether all of it runs.
type Of = (usize, usize, bool);

/// How a stretch of a loop runs.
pub(super) struct Cut {
    pub of: Of,
    /// The values that its kernels have captured, by number, of each part that runs.
    captured: Vec<u64>,
    /// How much of what was held back runs.
    pub runs: usize,
    plan: Arc<Plan>,
    pub arrays: Vec<Array>,
    pub tape: Arc<Tape>,
}

/// What a round touches of an array.
pub(super) struct Array {
    pub tracker: Weak<Tracker>,
    pub regions: Vec<(usize, RegionTouch)>,
    filled: bool,
    /// Ghosts that some sweep leaves are filled next.
    pub refilled: bool,
}

impl Cut {
    /// How this runs: to the end, or as much of it as steps run together. Nothing if it touches too many boxes. Also
    /// whether all launches of several steps can be had now.
    pub fn new(core: &Core, of: Of, pending: &[Pending]) -> Option<(Cut, bool)> {
        let ops: Vec<&Op> = pending.iter().map(|held| &held.op).collect();
        let held = ops.iter().copied().map(Some).collect::<Vec<_>>();
        let (groups, runs, known) = core.groups(&held, of.2, &mut |_, _| {});
        let shape = |(count, group): (usize, Option<_>)| (count, group.map(|group| Core::shape(&group)));
        let plan = Arc::new(groups.into_iter().map(shape).collect());
        let arrays = touched(&ops[..runs]);
        let few = |(_, touch): &(usize, RegionTouch)| touch.read.boxes().len().max(touch.write.boxes().len()) <= BOXES;
        let few = arrays.iter().all(|array| array.regions.iter().all(few));
        let captured = pending[..runs].iter().map(|held| held.captured).collect();
        few.then(|| (Cut { of, captured, runs, plan, arrays, tape: Arc::default() }, known))
    }

    /// Whether kernels of what is held back have captured the same values.
    pub fn is_of(&self, pending: &[Pending]) -> bool {
        let now = pending.iter().map(|held| held.captured);
        self.runs <= pending.len() && now.take(self.runs).eq(self.captured.iter().copied())
    }

    /// What it touches, as its work is given it.
    pub fn touched(&self) -> Vec<RoundArray> {
        let mode = |touch: &RegionTouch| if touch.writes() { Mode::Update } else { Mode::Read };
        let of = |Array { tracker, regions, filled, .. }: &Array| {
            let regions = regions.iter().map(|(region, touch)| (*region, mode(touch))).collect();
            Some(RoundArray { tracker: tracker.upgrade()?, regions, filled: *filled })
        };
        self.arrays.iter().filter_map(of).collect()
    }

    /// How many sweeps are among what was held back, and their launches.
    pub fn shares(&self, pending: &[Pending]) -> (u64, u64) {
        let ops = pending.iter().map(|held| Some(&held.op));
        shares(ops, self.plan.iter().map(|(count, _)| *count))
    }

    /// What its launches are made of.
    pub fn pieces(&self, pending: Vec<Pending>) -> impl FnOnce() -> Vec<Piece> + Send + use<> {
        let plan = self.plan.clone();
        move || pieces(pending, &plan)
    }
}

/// What is touched by these, one after the other.
pub(super) fn touched(ops: &[&Op]) -> Vec<Array> {
    let mut arrays: Vec<Array> = Vec::new();
    fn of<'a>(arrays: &'a mut Vec<Array>, tracker: &Arc<Tracker>) -> &'a mut Array {
        let place = arrays.iter().position(|known| is(&known.tracker, tracker)).unwrap_or_else(|| {
            let tracker = Arc::downgrade(tracker);
            arrays.push(Array { tracker, regions: Vec::new(), filled: false, refilled: false });
            arrays.len() - 1
        });
        &mut arrays[place]
    }
    for op in ops {
        match op {
            Op::Sweep(sweep) | Op::Fold(sweep, _) => {
                for array in &sweep.arrays {
                    let known = of(&mut arrays, &array.tracker);
                    array.regions.iter().for_each(|(region, touch)| known.add(*region, touch));
                    let storage = array.tracker.storage();
                    known.refilled |= sweep.refilled.iter().any(|other| Arc::ptr_eq(other, storage));
                }
            }
            Op::Fill { tracker, .. } => {
                let known = of(&mut arrays, tracker);
                known.filled = true;
                for (region, all) in tracker.boxes().iter().enumerate() {
                    let mut touch = RegionTouch::default();
                    touch.read.add(*all);
                    touch.write.add(*all);
                    known.add(region, &touch);
                }
            }
        }
    }
    arrays
}

impl Array {
    /// Adds what is touched next: what was written before is no more read from outside.
    fn add(&mut self, region: usize, touch: &RegionTouch) {
        let place = self.regions.iter().position(|(known, _)| *known == region).unwrap_or_else(|| {
            self.regions.push((region, RegionTouch::default()));
            self.regions.len() - 1
        });
        let known = &mut self.regions[place].1;
        if !known.write.covers(&touch.read) {
            touch.read.boxes().iter().for_each(|cells| known.read.add(*cells));
        }
        touch.write.boxes().iter().for_each(|cells| known.write.add(*cells));
    }
}

fn pieces(pending: Vec<Pending>, plan: &Plan) -> Vec<Piece> {
    let (mut pieces, mut held) = (Vec::with_capacity(plan.len()), pending.into_iter());
    for (count, group) in plan {
        let mut all = held.by_ref().take(*count);
        let Some(Pending { name, recorded, op, .. }) = all.next() else { continue };
        let (work, steps) = match (op, group) {
            (Op::Sweep(sweep), Some((region, several))) => {
                let others = all.by_ref().filter_map(|held| held.op.kernel().map(|sweep| sweep.launch.clone()));
                let launches = std::iter::once(sweep.launch.clone()).chain(others);
                let launches = launches.take(several.kernels.max(several.steps as usize)).collect();
                let (cells, steps) = (vec![several.cells], several.steps);
                let several = Several { region: *region, together: *several, launches, counts: true };
                (together((name, recorded), sweep, several, cells, Arc::default()), Some(steps))
            }
            (op, _) => (in_core((name, recorded), op), None),
        };
        pieces.push(Piece { work, steps });
        all.for_each(drop);
    }
    pieces
}
