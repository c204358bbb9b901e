//! Sweeps: tiles of one loop, merged.

use std::any::TypeId;
use std::sync::Arc;

use smallvec::SmallVec;

use super::driver::touch_all;
use super::ends::Ends;
use super::hybrid::Pace;
use crate::device::plans::Hints;
use crate::grid::GridBox;
use crate::grid::boxes::union;
use crate::launch::quoted::KernelId;
use crate::launch::step::Launch;
use crate::memory::node::Node;
use crate::memory::storage::Storage;
use crate::memory::touched::ArrayTouch;
use crate::memory::tracker::{BoxTouch, Mode, Touch, Tracker};
use crate::run::chain::Kind;
use crate::run::steps::Pair;

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
        ArrayTouch::add_to(&mut self.arrays, touches);
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

    /// Whether it touches an array.
    pub fn touches(&self, tracker: &Arc<Tracker>) -> bool {
        self.arrays.iter().any(|array| Arc::ptr_eq(&array.tracker, tracker))
    }

    /// Whether it touches one of these arrays.
    pub fn shares(&self, touches: &[BoxTouch]) -> bool {
        touches.iter().any(|new| self.touches(&new.tracker))
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
