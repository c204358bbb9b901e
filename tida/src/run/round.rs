//! A round of a program that repeats itself: sweeps and fills of ghosts, one after the other, as the work of one node.
//! What it launches is written down the first time, and put into the stream again later.

use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::op::Sweep;
use crate::backend::Memory;
use crate::device::notes::{Launches, Notes};
use crate::error::Error;
use crate::launch::fused::enqueue_steps;
use crate::launch::step::{Launch, Together};
use crate::memory::ghosts::owed::Owed;
use crate::memory::node::{DeviceWork, Done, Queue, all_ended};
use crate::memory::tracker::{Mode, Tracker};

/// Steps that run as one launch: from which region on, how, and what each of them launches.
pub(crate) type Several = (usize, Together, Arc<[Arc<dyn Launch>]>);

/// What one launch of a round does, or a fill.
pub(crate) enum Piece {
    /// A sweep, or the first of steps that run as one launch.
    Sweep { sweep: Arc<Sweep>, name: &'static str, recorded: &'static Location<'static>, steps: Option<Several> },
    /// A fill of an array's ghosts.
    Fill(DeviceWork, Arc<Tracker>),
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
                // SAFETY: handed on.
                ends.push(unsafe { piece.put(&queue, &mut fused)? });
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

impl Piece {
    /// # Safety
    /// As [`Tape::put`].
    unsafe fn put(self, queue: &Queue<'_>, fused: &mut Vec<u32>) -> Result<Done, Error> {
        let (sweep, name, recorded, steps) = match self {
            Piece::Fill(fill, tracker) => {
                let regions = 0..tracker.boxes().len();
                // SAFETY: the caller's promise.
                let mut bring = regions.map(|region| unsafe { tracker.to_device(queue, region, Mode::Update) });
                return queue.enqueue(|| bring.try_for_each(|brought| brought).and_then(|()| fill(queue)));
            }
            Piece::Sweep { sweep, name, recorded, steps } => (sweep, name, recorded, steps),
        };
        let queue = Queue { refilled: &sweep.refilled, ..*queue };
        let run = || match &steps {
            // SAFETY: the caller's promise.
            None => unsafe { sweep.enqueue(&queue) },
            Some((region, together, launches)) => {
                fused.push(together.steps);
                queue.device.counts.fused(together.steps);
                // SAFETY: the caller's promise. The box is that of each of the steps, and the first of them reads all
                // that they read of other arrays.
                unsafe { enqueue_steps(launches, &queue, (*region, together.cells), together) }
            }
        };
        let done = queue.enqueue(|| sweep.bring(&queue).and_then(|()| queue.put(name, recorded, run)))?;
        Ok(Box::new(move || {
            let ended = done();
            drop(sweep);
            ended
        }))
    }
}
