//! Who waits: for nodes, for room, and for what comes next.

use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::driver::{Core, lock};
use super::node::Node;
use super::tracker::Touch;
use crate::error::Error;

/// How long a thread looks for what the device may end at any moment before it sleeps.
const SOON: Duration = Duration::from_micros(50);

/// Does what comes, in its order, until nobody can send any more. With `looks` it looks for it a while before it sleeps.
pub(super) fn serve<T>(from: &Receiver<T>, looks: bool, mut serve: impl FnMut(T)) {
    loop {
        let seen = if looks { soon(|| from.try_recv().ok()) } else { None };
        match seen.or_else(|| from.recv().ok()) {
            Some(next) => serve(next),
            None => return,
        }
    }
}

/// What `look` gives before long; waking a thread that sleeps takes about as long.
fn soon<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        if let found @ Some(_) = look() {
            return found;
        }
        if start.elapsed() > SOON {
            return None;
        }
        std::hint::spin_loop();
    }
}

impl Core {
    /// Waits for `done`, which some node's end makes true. A thread of the pool works meanwhile.
    pub(super) fn wait_until(&self, done: impl Fn() -> bool) {
        if self.pool.current_thread_index().is_some() {
            while !done() {
                if self.pool.yield_now() != Some(rayon::Yield::Executed) {
                    std::thread::yield_now();
                }
            }
            return;
        }
        if self.hurries() && soon(|| done().then_some(())).is_some() {
            return self.device.iter().for_each(|device| device.backend().caught_up());
        }
        let mut guard = lock(&self.progress);
        while !done() {
            guard = self.finished.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        drop(guard);
        if let Some(device) = &self.device {
            device.backend().caught_up();
        }
    }

    /// Whether threads look for the end of work before they sleep: a GPU may do it in less time than they take to wake.
    pub(super) fn hurries(&self) -> bool {
        self.device.as_ref().is_some_and(|device| {
            let backend = device.backend();
            backend.facts().gpu && backend.simulated().is_none()
        })
    }

    fn wait_for_end(&self, node: &Node) {
        node.watch();
        self.wait_until(|| node.is_finished());
    }

    /// See [`super::TileAcc::wait_node`].
    pub fn wait_node(self: &Arc<Core>, node: &Arc<Node>) -> Result<(), Error> {
        if !node.is_finished() {
            self.close_chain(&mut lock(&self.recorder));
            self.wait_for_end(node);
        }
        node.result().cloned().unwrap_or(Ok(()))
    }

    /// See [`super::TileAcc::wait`].
    pub fn wait(self: &Arc<Core>, touches: &[Touch]) -> Result<(), Error> {
        self.settle_ghosts(touches.iter().filter(|touch| touch.read).map(|touch| &touch.tracker));
        let mut nodes = Vec::new();
        {
            let mut recorder = lock(&self.recorder);
            for touch in touches {
                touch.tracker.pending(touch.region, touch.write, &mut nodes);
            }
            nodes.retain(|n| !n.is_finished());
            if !nodes.is_empty() {
                for touch in touches.iter().filter(|touch| touch.read) {
                    recorder.chain.iter_mut().for_each(|open| open.chain.wanted_on_host(&touch.tracker));
                }
                self.close_chain(&mut recorder);
            }
        }
        for node in &nodes {
            self.wait_for_end(node);
        }
        for touch in touches {
            if touch.read
                && let Some(error) = touch.tracker.failure(touch.region)
            {
                return Err(error);
            }
            if touch.write {
                touch.tracker.overwritten(touch.region);
            }
        }
        self.bring_to_host(touches)
    }

    /// See [`super::TileAcc::sync`].
    pub fn sync(self: &Arc<Core>) -> Result<(), Error> {
        self.wait_for_all();
        lock(&self.failure).take().map_or(Ok(()), Err)
    }

    /// Waits until everything recorded has run, well or not.
    pub fn wait_for_all(self: &Arc<Core>) {
        self.close_chain(&mut lock(&self.recorder));
        self.waiting_for_all.fetch_add(1, Ordering::SeqCst);
        self.wait_until(|| self.unfinished.load(Ordering::SeqCst) == 0);
        self.waiting_for_all.fetch_sub(1, Ordering::SeqCst);
    }
}
