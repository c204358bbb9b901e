//! Lanes that threads go along side by side, each a step behind the one before it.

use std::sync::atomic::Ordering;

use crate::sync::{AtomicUsize, pause};

/// How far a lane has come: a line of the cache for each.
#[repr(align(128))]
struct Progress(AtomicUsize);

/// Lanes of one length, in the order in which threads take them.
pub(crate) struct Lanes {
    next: AtomicUsize,
    progress: Vec<Progress>,
}

impl Lanes {
    pub fn new(lanes: usize) -> Lanes {
        let progress = (0..lanes).map(|_| Progress(AtomicUsize::new(0))).collect();
        Lanes { next: AtomicUsize::new(0), progress }
    }

    /// Takes one lane after the other, until none is left, and calls `part` with the lane and each of its steps: once
    /// the lane before has that step behind it, whose writes are seen then.
    ///
    /// The lane before is done or in the hands of a thread that waits for none after. Nothing in `part` may wait for
    /// the pool.
    pub fn work(&self, steps: usize, part: impl Fn(usize, usize)) {
        while let lane = self.next.fetch_add(1, Ordering::Relaxed)
            && let Some(mine) = self.progress.get(lane)
        {
            for step in 0..steps {
                if let Some(Progress(before)) = lane.checked_sub(1).and_then(|before| self.progress.get(before)) {
                    let mut tries = 0;
                    while before.load(Ordering::Acquire) <= step {
                        tries += 1;
                        pause(tries);
                    }
                }
                part(lane, step);
                mine.0.store(step + 1, Ordering::Release);
            }
        }
    }
}
