//! Who gives commands. A device may tell what fails to who gave it, though others put their commands into the same
//! stream meanwhile.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// One piece of work that puts commands into streams, and marks their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Giver(u64);

impl Giver {
    fn new() -> Giver {
        static GIVERS: AtomicU64 = AtomicU64::new(0);
        Giver(GIVERS.fetch_add(1, Ordering::Relaxed))
    }

    /// The calling thread's piece of work.
    pub fn current() -> Giver {
        GIVER.get()
    }
}

thread_local! {
    /// A thread that says nothing does one piece of work after the other, and waits for each.
    static GIVER: Cell<Giver> = Cell::new(Giver::new());
}

/// A piece of work of its own, until it is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct Turn(Giver);

impl Turn {
    pub fn begin() -> Turn {
        Turn(GIVER.replace(Giver::new()))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        GIVER.set(self.0);
    }
}
