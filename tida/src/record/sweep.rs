//! Sweeps: tiles of one loop, merged.

use std::any::TypeId;
use std::sync::Arc;

use smallvec::SmallVec;

use super::ends::Ends;
use super::hybrid::Pace;
use super::recording::touch_all;
use crate::device::plans::Hints;
use crate::launch::quoted::KernelId;
use crate::memory::node::Node;
use crate::memory::touched::RegionTouch;
use crate::memory::tracker::{BoxTouch, Mode, Touch, Tracker};
use crate::program::colour::CellColour;
use crate::program::deps::{Before, need};
use crate::program::order::{Carry, Order};
use crate::program::place::Kind;
use crate::run::op::Sweep;

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
    /// Whether it runs on the device.
    pub on_device: bool,
    /// What its loop asked for.
    pub asked: LoopAsked,
    /// How cells run in order, and what is carried from region to region.
    pub order: Option<(Order, Option<Carry>)>,
    /// The colour of the cells that run, if not all do.
    pub colour: Option<CellColour>,
}

/// How a loop says that it is to run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LoopAsked {
    /// Threads of a block.
    pub block: Option<[u32; 3]>,
    /// Cells along the first axis that a thread takes.
    pub march: Option<u32>,
    /// What is to be cached.
    pub cache: Hints,
}

impl SweepKey {
    /// Whether this is the same but for the captured values, of which there are as many.
    pub fn is_like(&self, other: &SweepKey) -> bool {
        let SweepKey { kernel, views, args, captures, tables, valid_only, checked, on_device, .. } = self;
        let SweepKey { asked, order, colour, .. } = self;
        *args == other.args
            && (kernel, views, tables) == (&other.kernel, &other.views, &other.tables)
            && captures.len() == other.captures.len()
            && (valid_only, checked, on_device) == (&other.valid_only, &other.checked, &other.on_device)
            && (asked, order, colour) == (&other.asked, &other.order, &other.colour)
    }
}

/// Sweeps that still take tiles. They are large, and stay where they are until they close.
pub(crate) type OpenSweeps = Vec<Box<OpenSweep>>;

/// A sweep that still takes tiles.
pub(crate) struct OpenSweep {
    pub key: Arc<SweepKey>,
    pub node: Arc<Node>,
    /// The kind of the chain that it is a part of.
    pub kind: Option<Kind>,
    /// The tiles so far. It is shared with what is known of a call that came before, as long as that is all of it.
    pub work: Arc<Sweep>,
    /// Measures it, if its loop runs on both sides.
    pub pace: Option<Arc<Pace>>,
    /// The reduction that it does the work of.
    pub ends: Option<Ends>,
    /// It sets ghosts between steps that are held back.
    pub waits: bool,
}

impl OpenSweep {
    /// Tells the last of the open sweeps that touches an array that its ghosts are filled now, if it writes it on the
    /// device. Nothing else that was recorded since touches the array.
    ///
    /// Whether the sweeps may stay open, though no tile may join them now: ghosts of other arrays that they write may
    /// be filled too.
    pub fn is_refilled(open: &mut [Box<OpenSweep>], tracker: &Arc<Tracker>) -> bool {
        let waits = open.iter().all(|sweep| sweep.work.turn.is_none() && sweep.kind.is_none() && !sweep.waits);
        OpenSweep::tell_refilled(open, tracker).is_some() && waits
    }

    /// The same, and which one that is.
    pub fn tell_refilled(open: &mut [Box<OpenSweep>], tracker: &Arc<Tracker>) -> Option<usize> {
        let number = open.iter().rposition(|sweep| sweep.work.array(tracker).is_some())?;
        let sweep = open.get_mut(number)?;
        let usual = sweep.key.on_device && !sweep.key.checked && sweep.node.chain.is_none() && sweep.pace.is_none();
        // A fill before this one waits for the sweep, which must not wait for it.
        let again = sweep.work.refilled.iter().any(|storage| Arc::ptr_eq(storage, tracker.storage()));
        let tells = usual && !again && sweep.work.array(tracker).is_some_and(|array| array.write);
        if tells {
            // It waits for those who read the ghosts too. Cells that others wrote stay as good or bad as they are.
            let touch = Touch::new(tracker, None, Mode::Move);
            touch_all(&sweep.node, &touch);
            Arc::make_mut(&mut sweep.work).refilled.push(tracker.storage().clone());
        }
        tells.then_some(number)
    }

    /// Whether it is held back once it takes no more tiles, for steps after it that run with it.
    pub fn is_held_back(&self) -> bool {
        (self.work.turn.is_some() || self.waits) && self.node.chain.is_none()
    }

    /// Whether it touches one of these arrays.
    pub fn shares(&self, touches: &[BoxTouch]) -> bool {
        touches.iter().any(|new| self.work.array(&new.tracker).is_some())
    }

    /// Whether a piece of work that touches this conflicts with any tile of the sweep. What is `carried` between tiles
    /// of the sweep is no conflict, nor is what is read between tiles of one colour: cells of others, or their own.
    pub fn conflicts(&self, touches: &[BoxTouch], on_device: bool, same: bool) -> bool {
        let apart = self.key.on_device != on_device;
        let reads = !(same && self.key.colour.is_some());
        touches.iter().filter(|new| !(same && new.carried)).any(|new| {
            let old = self.work.array(&new.tracker).and_then(|array| array.region(new.region));
            old.is_some_and(|RegionTouch { read, write, .. }| {
                let before = Before { read: Some(read).filter(|_| reads), write: Some(write), apart };
                need(before, new.read.as_ref().filter(|_| reads), new.write.as_ref()).is_some()
            })
        })
    }
}
