//! Steps that repeat one before them are held back without a node ([decision
//! 0063](../../../docs/decisions/0063-small-grids.md)).
//!
//! A step that does what the one before its predecessor did (the same kernel, arrays, cells) touches nothing that those
//! two do not touch. As long as it runs in their launch nobody has to know it: it is what is launched, and no more. It
//! gets its node, and touches its arrays, when it is found to run by itself or to be the first of a launch, or before
//! anything else is recorded or waited for.

use std::panic::Location;
use std::sync::{Arc, Weak};

use super::driver::{Core, Recorder, lock};
use super::fuse::{HeldNode, Made};
use super::recording::{TileWork, touch_all};
use crate::grid::GridBox;
use crate::launch::step::Launch;
use crate::memory::node::{Node, Work};
use crate::memory::touched::ArrayTouch;
use crate::memory::tracker::{BoxTouch, Mode, Touch, Tracker};
use crate::run::op::{Op, Sweep};

/// What a step is made a node of, later.
pub(super) struct Later {
    pub name: &'static str,
    pub recorded: &'static Location<'static>,
    /// What a fill of ghosts does.
    pub work: Option<Work>,
}

impl ArrayTouch {
    /// Whether this is all that is touched of the array.
    fn is_of(&self, touch: &BoxTouch) -> bool {
        let one = |boxes: &[GridBox<4>], cells: Option<GridBox<4>>| boxes == cells.as_slice();
        let same = Arc::ptr_eq(&self.tracker, &touch.tracker) && self.whole == touch.whole && self.scale == touch.scale;
        same && self.regions.len() == 1
            && self.region(touch.region).is_some_and(|of| {
                one(of.read.boxes(), touch.read) && one(of.write.boxes(), touch.write) && of.keeps == touch.keeps
            })
    }
}

impl Sweep {
    /// Whether it is one tile: this one.
    fn is_of(&self, tile: &TileWork<'_>) -> bool {
        let same = |(array, touch): (&ArrayTouch, &BoxTouch)| array.is_of(touch);
        *self.boxes == [(tile.region, tile.cells)]
            && self.arrays.len() == tile.touches.len()
            && self.arrays.iter().zip(tile.touches).all(same)
    }

    /// The same, with the ghosts of this array filled next, or of none.
    pub(super) fn with_filled(&self, filled: Option<&Arc<Tracker>>) -> Sweep {
        let refilled = filled.map(|tracker| tracker.storage().clone()).into_iter().collect();
        let (launch, boxes, arrays) = (self.launch.clone(), self.boxes.clone(), self.arrays.clone());
        Sweep { launch, boxes, listed: None, arrays, turn: self.turn, refilled, edges: None }
    }
}

impl Recorder {
    /// The last of what is held back, if it is a sweep without a node.
    fn last_later(&mut self) -> Option<&mut Arc<Sweep>> {
        match self.fusing.held.last_mut() {
            Some(HeldNode { made: Made::Later(_), op: Op::Sweep(sweep) }) => Some(sweep),
            _ => None,
        }
    }

    /// No fill of ghosts follows the last step that is held back, or the one of this array does: it may be that of a
    /// step that was followed by something else.
    pub(super) fn follows_last(&mut self, filled: Option<&Arc<Tracker>>) {
        let Some(sweep) = self.last_later() else { return };
        let writes = |tracker: &&Arc<Tracker>| sweep.array(tracker).is_some_and(|array| array.write);
        let filled = filled.filter(writes);
        let known = sweep.refilled.first();
        let same = match (known, filled) {
            (Some(known), Some(tracker)) => Arc::ptr_eq(known, tracker.storage()),
            (None, None) => true,
            _ => false,
        };
        if !same {
            let changed = Arc::new(sweep.with_filled(filled));
            *sweep = changed.clone();
            self.fusing.is_now(&changed);
        }
    }
}

impl Core {
    /// Holds a tile back without a node, if it repeats a step; else gives back what makes its kernel.
    pub(super) fn repeat<F: FnOnce() -> Arc<dyn Launch>>(
        self: &Arc<Core>,
        recorder: &mut Recorder,
        tile: &TileWork<'_>,
        launch: F,
    ) -> Option<F> {
        let usual = tile.key.on_device && tile.pace.is_none() && tile.after.is_empty() && recorder.chain.is_none();
        // What is open are the steps before.
        let follows = recorder.open.iter().all(|open| open.is_held_back()) && !self.unfinished.is_full();
        let open = recorder.open.last().map(|open| open.node.number);
        if !(usual && follows && recorder.fusing.repeats(tile) && recorder.fusing.ends_with_last(open)) {
            return Some(launch);
        }
        self.close_all(recorder);
        recorder.follows_last(None);
        let repeated = recorder.fusing.repeated(tile).filter(|(before, _)| before.is_of(tile));
        let Some((before, turn)) = repeated else { return Some(launch) };
        let same = recorder.fusing.has_captured(tile);
        self.keep_fusing(recorder);
        let sweep = match same && before.turn == Some(turn) {
            true => before,
            false => {
                let of = if same { before.launch.clone() } else { launch() };
                let mut sweep = Sweep::of(of, &[]);
                sweep.add(tile.region, tile.cells, tile.touches);
                Arc::new(Sweep { turn: Some(turn), refilled: before.refilled.clone(), ..sweep })
            }
        };
        recorder.fusing.repeated_by(tile, &sweep);
        let later = Later { name: tile.name, recorded: tile.recorded, work: None };
        recorder.fusing.held.push(HeldNode { made: Made::Later(later), op: Op::Sweep(sweep) });
        None
    }

    /// Holds a fill of ghosts back without a node, if it follows such a step; else gives back what it does.
    pub(super) fn repeat_fill(
        self: &Arc<Core>,
        recorded: &'static Location<'static>,
        touches: &[Touch],
        fixed: bool,
        work: Work,
    ) -> Option<Work> {
        let mut recorder = lock(&self.recorder);
        let [touch] = touches else { return Some(work) };
        let writes = |sweep: &mut Arc<Sweep>| sweep.array(&touch.tracker).is_some_and(|array| array.write);
        if !recorder.last_later().is_some_and(writes) {
            return Some(work);
        }
        recorder.count += 1;
        recorder.follows_last(Some(&touch.tracker));
        let work = self.with_arrays(("fill_ghosts", recorded), touches, work, false);
        let later = Later { name: "fill_ghosts", recorded, work: Some(work) };
        let op = Op::Fill { tracker: touch.tracker.clone(), fixed };
        recorder.fusing.held.push(HeldNode { made: Made::Later(later), op });
        None
    }

    /// Gives all that is held back its node, before anyone asks arrays for what works on them.
    pub(super) fn settle_held(self: &Arc<Core>, recorder: &mut Recorder) {
        self.break_round(recorder);
        if recorder.fusing.held.last().is_none_or(|held| held.made.is_node()) {
            return;
        }
        recorder.follows_last(None);
        for held in &mut recorder.fusing.held {
            self.made(held);
        }
    }

    /// The node of what is held back, made now if it was not.
    pub(super) fn made(&self, HeldNode { made, op }: &mut HeldNode) -> Arc<Node> {
        let later = match made {
            Made::Node(node) => return node.clone(),
            Made::Later(later) => later,
        };
        let node = Node::new(later.name, later.recorded, true, None);
        // No cell of steps or rounds can fail.
        node.set_sure();
        self.unfinished.add();
        self.after_evictions(&node);
        if let Some(work) = later.work.take() {
            node.set_work(work);
        }
        match op {
            Op::Sweep(sweep) | Op::Fold(sweep, _) => {
                for array in &sweep.arrays {
                    for (region, touch) in &array.regions {
                        let (read, write) = (touch.read.boxes(), touch.write.boxes());
                        for n in 0..read.len().max(write.len()) {
                            array.tracker.add(*region, &node, read.get(n).copied(), write.get(n).copied());
                        }
                    }
                    // It waits for those who read the ghosts too: see `OpenSweep::is_refilled`.
                    if sweep.refilled.iter().any(|storage| Arc::ptr_eq(storage, array.tracker.storage())) {
                        touch_all(&node, &Touch::new(&array.tracker, None, Mode::Move));
                    }
                }
                let trackers: Vec<&Arc<Tracker>> = sweep.arrays.iter().map(|array| &array.tracker).collect();
                self.residents.use_now(&trackers);
            }
            Op::Fill { tracker, .. } => touch_all(&node, &Touch::new(tracker, None, Mode::Update)),
        }
        *made = Made::Node(node.clone());
        node
    }
}

/// A sweep that was held back, as long as it is held back or under way.
pub(super) type Known = Weak<Sweep>;
