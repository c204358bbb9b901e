//! A round of a program that repeats itself: sweeps and fills of ghosts, one after the other, as the work of one node.
//! What it launches is written down the first time, and put into the stream again later.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::backend::Memory;
use crate::device::notes::{Launches, Notes};
use crate::error::Error;
use crate::memory::ghosts::owed::Owed;
use crate::memory::node::{DeviceWork, Done, Queue, all_ended};
use crate::memory::tracker::{Mode, Tracker};

/// What one launch of a round does, or a fill; of several steps, how many these are.
pub(crate) struct Piece {
    pub work: DeviceWork,
    pub steps: Option<u32>,
}

/// What a round touches of an array.
pub(crate) struct RoundArray {
    pub tracker: Arc<Tracker>,
    pub regions: Vec<(usize, Mode)>,
    /// Its ghosts are filled.
    pub filled: bool,
}

/// What a stretch of a loop launches, if it is known.
#[derive(Debug, Default)]
pub(crate) struct Tape(Mutex<Option<Known>>);

#[derive(Debug)]
struct Known {
    launches: Launches,
    /// The memory of each array, whether a fill of its ghosts is owed before, and what is owed after.
    arrays: Vec<(Weak<Memory>, bool, Option<Arc<Owed>>)>,
    /// Steps of launches of several.
    fused: Vec<u32>,
}

/// The memory of an array, and what is owed of its ghosts.
type State = (Arc<Memory>, Option<Arc<Owed>>);

/// The state of each array; nothing while some array is on its way, or its ghosts are.
fn state_of(queue: &Queue<'_>, arrays: &[RoundArray]) -> Option<Vec<State>> {
    let of = |array: &RoundArray| {
        let storage = array.tracker.storage();
        let memory = storage.settled_memory()?;
        Some((memory, storage.settled_ghosts()?))
    };
    if queue.device.backend().facts().native {
        return None;
    }
    arrays.iter().map(of).collect()
}

impl Known {
    /// Whether it is of such a state.
    fn is_of(&self, state: &[State]) -> bool {
        let mut both = self.arrays.iter().zip(state);
        let same = both.all(|((memory, owes, _), (now, owed))| {
            std::ptr::eq(memory.as_ptr(), Arc::as_ptr(now)) && *owes == owed.is_some()
        });
        self.arrays.len() == state.len() && same
    }
}

impl Tape {
    /// Puts a round into a stream: as it is written down, if the arrays are where they were; else piece by piece, and
    /// writes it down.
    ///
    /// # Errors
    /// Memory that the device does not have, and what it refuses.
    ///
    /// # Safety
    /// The graph keeps all work away that conflicts with any of the pieces, until the node has finished.
    pub unsafe fn put(
        &self,
        queue: &Queue<'_>,
        arrays: Vec<RoundArray>,
        pieces: impl FnOnce() -> Vec<Piece>,
    ) -> Result<Done, Error> {
        queue.device.counts.round();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = state_of(queue, &arrays);
        if let (Some(known), Some(state)) = (&mut *known, &state)
            && known.is_of(state)
        {
            // SAFETY: handed on.
            if let Some(done) = unsafe { known.again(queue, &arrays)? } {
                return Ok(done);
            }
        }
        *known = None;
        let notes = state.as_ref().map(|_| Notes::default());
        let (mut ends, mut fused) = (Vec::new(), Vec::new());
        {
            let queue = Queue { notes: notes.as_ref(), ..*queue };
            for piece in pieces() {
                fused.extend(piece.steps);
                ends.push((piece.work)(&queue)?);
            }
        }
        let after = state_of(queue, &arrays);
        *known = notes.and_then(Notes::complete).zip(state.zip(after)).map(|(launches, (before, after))| {
            let array = |((memory, owes), (_, left)): ((Arc<Memory>, Option<_>), (_, _))| {
                (Arc::downgrade(&memory), owes.is_some(), left)
            };
            let arrays = before.into_iter().zip(after).map(array).collect();
            Known { launches, arrays, fused }
        });
        Ok(Box::new(move || {
            let ended = all_ended(ends);
            drop(arrays);
            ended
        }))
    }
}

impl Known {
    /// # Safety
    /// As [`Tape::put`].
    unsafe fn again(&mut self, queue: &Queue<'_>, arrays: &[RoundArray]) -> Result<Option<Done>, Error> {
        let put = || {
            for RoundArray { tracker, regions, filled } in arrays {
                for (region, mode) in regions {
                    // SAFETY: the caller's promise. It is there: this says who has written it.
                    unsafe { tracker.to_device(queue, *region, *mode)? };
                }
                if *filled {
                    tracker.storage().filled(true);
                }
            }
            // SAFETY: the caller's promise; the arrays are where they were.
            unsafe { self.launches.put(queue.device, queue.stream) }
        };
        let Some(uses) = queue.enqueue(put)? else { return Ok(None) };
        for (array, (_, owes, left)) in arrays.iter().zip(&self.arrays) {
            let storage = array.tracker.storage();
            match left {
                Some(owed) => storage.owe_ghosts(owed),
                None if *owes => storage.forget_ghosts(),
                None => {}
            }
        }
        queue.device.counts.launch(self.launches.pieces());
        self.fused.iter().for_each(|steps| queue.device.counts.fused(*steps));
        let trackers: Vec<Arc<Tracker>> = arrays.iter().map(|array| array.tracker.clone()).collect();
        Ok(Some(Box::new(move || {
            drop((uses, trackers));
            Ok(())
        })))
    }
}
