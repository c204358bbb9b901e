//! A recorded piece of work and what waits for it.

use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::error::Error;

/// What a node does when it runs. It runs once, inside the thread pool.
pub(crate) type Work = Box<dyn FnOnce() -> Result<(), Error> + Send>;

/// A recorded piece of work.
///
/// It runs once all nodes it waits for have finished. Its error, or that of a node whose data it needs, is its result.
pub(crate) struct Node {
    /// Counts nodes in the order that they were first recorded.
    pub number: u64,
    /// Name for messages.
    pub name: &'static str,
    /// The line that recorded it.
    pub recorded: &'static Location<'static>,
    /// Unfinished predecessors, plus one while it is still being recorded.
    waiting: AtomicUsize,
    links: Mutex<Links>,
    result: OnceLock<Result<(), Error>>,
    /// Some thread waits for its end.
    watched: AtomicBool,
}

#[derive(Default)]
struct Links {
    work: Option<Work>,
    /// Failure of a node whose data this one needs.
    poison: Option<Error>,
    /// Nodes that wait for this one, and whether they need its data.
    successors: Vec<(Arc<Node>, bool)>,
}

impl Node {
    /// A node that is still being recorded.
    pub fn new(name: &'static str, recorded: &'static Location<'static>) -> Arc<Node> {
        static NODES: AtomicU64 = AtomicU64::new(0);
        Arc::new(Node {
            number: NODES.fetch_add(1, Ordering::Relaxed),
            name,
            recorded,
            waiting: AtomicUsize::new(1),
            links: Mutex::default(),
            result: OnceLock::new(),
            watched: AtomicBool::new(false),
        })
    }

    /// Its result, once it has finished.
    pub fn result(&self) -> Option<&Result<(), Error>> {
        self.result.get()
    }

    /// Whether it has finished, well or not.
    pub fn is_finished(&self) -> bool {
        self.result.get().is_some()
    }

    /// Says that a thread is about to wait for its end: to be called before the last look at its result.
    pub fn watch(&self) {
        self.watched.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Whether a thread may wait for its end.
    pub fn is_watched(&self) -> bool {
        self.watched.load(Ordering::SeqCst)
    }

    /// Makes `self` wait for `before`; with `data`, a failure of `before` is a failure of `self`.
    /// Only while `self` is being recorded.
    pub fn wait_for(self: &Arc<Node>, before: &Arc<Node>, data: bool) {
        let mut links = before.lock();
        match before.result() {
            None => {
                // The tiles of a sweep wait for the same nodes again and again.
                let known = links.successors.iter().rev().take(4).any(|(n, d)| Arc::ptr_eq(n, self) && *d >= data);
                if !known {
                    self.waiting.fetch_add(1, Ordering::Relaxed);
                    links.successors.push((self.clone(), data));
                }
            }
            Some(Err(error)) if data => {
                let error = error.clone();
                drop(links);
                self.poison(error);
            }
            Some(_) => {}
        }
    }

    /// Fails `self` when its turn comes.
    fn poison(&self, error: Error) {
        self.lock().poison.get_or_insert(error);
    }

    /// Gives it its work. Only while it is being recorded.
    pub fn set_work(&self, work: Work) {
        self.lock().work = Some(work);
    }

    /// Counts one predecessor (or the recording) as done; `true` if it may run now.
    pub fn release(&self) -> bool {
        self.waiting.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Takes what it has to do: its work, or the failure that keeps it from running.
    pub fn take_work(&self) -> Result<Option<Work>, Error> {
        let mut links = self.lock();
        let work = links.work.take();
        match links.poison.take() {
            Some(error) => Err(error),
            None => Ok(work),
        }
    }

    /// Sets its result and gives the nodes that may run now.
    pub fn finish(&self, result: Result<(), Error>) -> Vec<Arc<Node>> {
        let mut links = self.lock();
        let error = result.as_ref().err().cloned();
        let _ = self.result.set(result);
        // Whoever watches has seen the result, or is seen by the next look at `watched`.
        fence(Ordering::SeqCst);
        let successors = std::mem::take(&mut links.successors);
        drop(links);
        let mut ready = Vec::new();
        for (node, data) in successors {
            if let (true, Some(error)) = (data, &error) {
                node.poison(error.clone());
            }
            if node.release() {
                ready.push(node);
            }
        }
        ready
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Links> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} recorded at {}, {:?}", self.name, self.recorded, self.result.get())
    }
}
