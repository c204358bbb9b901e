//! Work that was recorded and has not finished, and who waits for its end.
//!
//! Waking a thread costs more than a small node. So those who wait say for what, and the end of a node wakes them only
//! then. Both sides write first and look afterwards, with all stores before all loads: either who waits sees the end,
//! or the end sees who waits. In the second case the end goes through the lock that who waits holds from its last look
//! to its sleep.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use crate::memory::node::Node;
use crate::sync::{AtomicUsize, Condvar, Mutex, lock, pass};

/// Counts nodes that were recorded and have not finished.
pub(super) struct Unfinished {
    /// As many as may be under way.
    look_ahead: usize,
    count: AtomicUsize,
    /// Threads that wait for all nodes, and for room to record more.
    for_all: AtomicUsize,
    for_room: AtomicUsize,
    /// Held from the last look to the sleep.
    asleep: Mutex<()>,
    ended: Condvar,
}

impl Unfinished {
    pub fn new(look_ahead: usize) -> Unfinished {
        let [count, for_all, for_room] = [(); 3].map(|()| AtomicUsize::new(0));
        Unfinished { look_ahead, count, for_all, for_room, asleep: Mutex::new(()), ended: Condvar::new() }
    }

    /// How many there are: as it was a moment ago, if other threads record or end nodes.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// One more: to be called before anything can end it.
    pub fn add(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// A node has its result. Wakes who waits for that.
    pub fn ended(&self, node: &Node) {
        let left = self.count.fetch_sub(1, Ordering::SeqCst) - 1;
        let wanted = node.is_watched()
            || (left == 0 && self.for_all.load(Ordering::SeqCst) > 0)
            || (left <= self.look_ahead / 2 && self.for_room.load(Ordering::SeqCst) > 0);
        if wanted {
            pass(&self.asleep);
            self.ended.notify_all();
        }
    }

    /// Whether as many are under way as may be.
    pub fn is_full(&self) -> bool {
        self.count() >= self.look_ahead
    }

    /// Waits until this node has finished; `wait` gets what it has to wait for.
    pub fn wait_for(&self, node: &Node, wait: impl FnOnce(&dyn Fn() -> bool)) {
        node.watch();
        wait(&|| node.is_finished());
    }

    /// Waits until all have finished.
    pub fn wait_for_all(&self, wait: impl FnOnce(&dyn Fn() -> bool)) {
        self.for_all.fetch_add(1, Ordering::SeqCst);
        wait(&|| self.count.load(Ordering::SeqCst) == 0);
        self.for_all.fetch_sub(1, Ordering::SeqCst);
    }

    /// Waits until half of the look-ahead is done.
    pub fn wait_for_room(&self, wait: impl FnOnce(&dyn Fn() -> bool)) {
        self.for_room.fetch_add(1, Ordering::SeqCst);
        wait(&|| self.count.load(Ordering::SeqCst) <= self.look_ahead / 2);
        self.for_room.fetch_sub(1, Ordering::SeqCst);
    }

    /// Sleeps until `done`, which the end of some node makes true. Only inside of a wait of the above.
    pub fn sleep_until(&self, done: &dyn Fn() -> bool) {
        let mut guard = lock(&self.asleep);
        while !done() {
            guard = self.ended.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
