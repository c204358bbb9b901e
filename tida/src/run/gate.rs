//! Nodes that run together: the last one that may run starts all.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::error::Error;
use crate::memory::node::Node;
use crate::sync::{AtomicUsize, Mutex, MutexGuard, lock};

/// Lets some work run once all that its nodes wait for has finished.
pub(crate) struct Gate<T> {
    /// Nodes that still wait, and one while it still takes nodes.
    waiting: AtomicUsize,
    state: Mutex<GateState<T>>,
}

struct GateState<T> {
    work: Option<T>,
    /// Nodes that cannot run, with the failure of what they need.
    failed: Vec<(Arc<Node>, Error)>,
}

/// Work that may run.
pub(crate) struct Ready<T> {
    pub work: T,
    /// Nodes of it that cannot.
    pub failed: Vec<(Arc<Node>, Error)>,
}

impl<T> Gate<T> {
    pub fn new() -> Arc<Gate<T>> {
        let state = Mutex::new(GateState { work: None, failed: Vec::new() });
        Arc::new(Gate { waiting: AtomicUsize::new(1), state })
    }

    /// One more node.
    pub fn add(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    /// A node waits no more; gives the work if it was the last.
    pub fn arrive(&self, node: &Arc<Node>, failure: Option<Error>) -> Option<Ready<T>> {
        if let Some(error) = failure {
            self.lock().failed.push((node.clone(), error));
        }
        self.release()
    }

    /// The work takes no more nodes; gives it if none of them waits.
    pub fn close(&self, work: T) -> Option<Ready<T>> {
        self.lock().work = Some(work);
        self.release()
    }

    fn release(&self) -> Option<Ready<T>> {
        if self.waiting.fetch_sub(1, Ordering::AcqRel) > 1 {
            return None;
        }
        let mut state = self.lock();
        let failed = std::mem::take(&mut state.failed);
        state.work.take().map(|work| Ready { work, failed })
    }

    fn lock(&self) -> MutexGuard<'_, GateState<T>> {
        lock(&self.state)
    }
}

impl<T> Ready<T> {
    /// The failure of what a node needs.
    pub fn failure(&self, node: &Arc<Node>) -> Option<Error> {
        self.failed.iter().find(|(other, _)| Arc::ptr_eq(other, node)).map(|(_, error)| error.clone())
    }
}
