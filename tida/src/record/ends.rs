//! A reduction right after a sweep that wrote what it reads: on a device the sweep does its work too
//! (`launch/ending.rs`).
//!
//! Nothing waits for it: the sweep is open until something else is recorded, which the reduction is. Both nodes stay
//! nodes. That of the reduction comes after that of the sweep anyway, and takes what the sweep has left, or runs by
//! itself if it has left nothing.

use std::sync::Arc;

use super::driver::{Core, lock};
use super::sweep::OpenSweep;
use crate::error::Error;
use crate::launch::ending::Ending;
use crate::launch::prepare::Prepared;
use crate::memory::node::{Done, Queue};
use crate::run::op::Sweep;

/// The reduction that a sweep ends with, and the kernel of both.
#[derive(Clone)]
pub(crate) struct Ends {
    ending: Arc<Ending>,
    kernel: Arc<Prepared>,
}

impl Core {
    /// Has the last open sweep do the work of a reduction that is recorded next, if it may.
    pub fn end_with_fold(&self, ending: &Arc<Ending>) {
        if !self.rules.joins || self.device.is_none() {
            return;
        }
        let mut recorder = lock(&self.recorder);
        if let Some(sweep) = recorder.open.last_mut()
            && let Some(kernel) = sweep.with(ending)
        {
            sweep.ends = Some(Ends { ending: ending.clone(), kernel });
        }
    }
}

impl OpenSweep {
    /// The kernel of it and a reduction, if it may do the work of that: over the same cells, of arrays that it touches
    /// there, so that it waits for what the reduction waits for.
    fn with(&self, ending: &Ending) -> Option<Arc<Prepared>> {
        if !self.may_join() || !self.key.on_device || *self.work.boxes() != *ending.boxes() {
            return None;
        }
        let touched = ending.args().iter().all(|array| {
            let mut arrays = self.work.arrays.iter();
            arrays.any(|own| Arc::as_ptr(&own.tracker) as usize == *array && own.has(ending.boxes()))
        });
        if !touched {
            return None;
        }
        ending.after((self.work.launch.part()?, &self.key.args))
    }
}

impl Ends {
    /// Puts the sweep and the reduction into a stream; none if nothing was launched, and each is to run by itself.
    ///
    /// # Safety
    /// As [`Sweep::enqueue`].
    pub unsafe fn enqueue(&self, sweep: &Sweep, queue: &Queue<'_>) -> Option<Result<Done, Error>> {
        // A tile that came after it was asked is none of the reduction's cells.
        if *sweep.boxes() != *self.ending.boxes() {
            return None;
        }
        // SAFETY: handed on.
        let done = unsafe { self.ending.enqueue(&sweep.launch, &self.kernel, queue) };
        if matches!(done, Some(Ok(_))) {
            queue.device.counts.joined(1);
        }
        done
    }
}
