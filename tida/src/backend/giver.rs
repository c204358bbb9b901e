//! Who gives commands. A device may tell what fails to who gave it, though others put their commands into the same
//! stream meanwhile.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// One piece of work that puts commands into streams, and marks their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Giver {
    number: u64,
    /// What was recorded before it has a lower one; 0 if it was not recorded.
    order: u64,
}

impl Giver {
    fn new(order: u64) -> Giver {
        static GIVERS: AtomicU64 = AtomicU64::new(0);
        Giver { number: GIVERS.fetch_add(1, Ordering::Relaxed), order }
    }

    /// Where it comes in the order of recorded work.
    pub fn order(&self) -> u64 {
        self.order
    }

    /// The calling thread's piece of work.
    pub fn current() -> Giver {
        GIVER.get()
    }
}

thread_local! {
    /// A thread that says nothing does one piece of work after the other, and waits for each.
    static GIVER: Cell<Giver> = Cell::new(Giver::new(0));
}

/// A piece of work of its own, until it is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct Turn(Giver);

impl Turn {
    /// Of the node of this number.
    pub fn begin(order: u64) -> Turn {
        Turn(GIVER.replace(Giver::new(order)))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        GIVER.set(self.0);
    }
}
