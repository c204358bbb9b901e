//! Nodes from the moment that nothing has to run before them to their end.

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;

use super::driver::{Core, lock};
use crate::backend::{Event, Turn};
use crate::device::core::DeviceCore;
use crate::device::timeline::{Label, host_span};
use crate::error::Error;
use crate::memory::node::{DeviceWork, Done, Launched, Next, Node, Queue, Starts, Work};
use crate::memory::tracker::Touch;

/// A node whose commands the device has.
pub(super) struct InFlight {
    core: Arc<Core>,
    node: Arc<Node>,
    event: Option<Arc<dyn Event>>,
    /// What they gave so far; the rest is known once they are done.
    done: Result<Done, Error>,
}

impl InFlight {
    /// Waits for the commands, and ends the node.
    pub fn finish(self) {
        let InFlight { core, node, event, done } = self;
        // Whatever panics in here, the node ends.
        let ended = || {
            let waited = event.map_or(Ok(()), |event| event.settle());
            let done = done?;
            waited?;
            done()
        };
        let result = catch_unwind(AssertUnwindSafe(ended))
            .unwrap_or_else(|payload| Err(crate::error::panicked(node.name, payload)));
        core.device.iter().for_each(|device| device.ended());
        for other in core.finish(&node, result.map_err(|e| node.failed(e))) {
            core.start_node(other);
        }
    }
}

impl Starts for Core {
    fn start(self: Arc<Core>, node: Arc<Node>) {
        self.start_here(node);
    }
}

impl Core {
    /// Has a node run, where it belongs.
    pub(super) fn start_node(self: &Arc<Core>, node: Arc<Node>) {
        match node.home().cloned() {
            Some(home) => home.start(node),
            None => self.start_here(node),
        }
    }

    /// Has a node run. Who waits may launch one of a device before a thread of the pool is awake (`wait.rs`).
    fn start_here(self: &Arc<Core>, node: Arc<Node>) {
        let core = self.clone();
        if !node.on_device || self.device.is_none() {
            return self.threads.pool.spawn(move || core.run(node));
        }
        lock(&self.threads.ready).push_back(node);
        self.threads.pool.spawn(move || {
            core.run_ready();
        });
    }

    /// Launches the first node that is ready for it; whether there was one.
    pub(super) fn run_ready(self: &Arc<Core>) -> bool {
        let node = lock(&self.threads.ready).pop_front();
        node.map(|node| self.clone().run(node)).is_some()
    }

    /// Runs a node, then those that waited for it alone: one here, the others as new jobs.
    fn run(self: Arc<Core>, node: Arc<Node>) {
        let in_pool = self.threads.pool.current_thread_index().is_some();
        let mut next = Some(node);
        while let Some(node) = next.take() {
            let (work, failure) = node.take_work();
            let mut ready = match (work, failure, &self.device) {
                (Some(Work::Shared(work)), failure, _) => work(&node, failure),
                (Some(Work::Device(work)), None, Some(device)) => {
                    self.launch(device, &node, node.take_before(), Ok(work))
                }
                (Some(Work::Within(leader)), None, Some(_)) => self.end_with(&node, &leader),
                (_, Some(poison), Some(device)) if node.on_device => {
                    self.launch(device, &node, node.take_before(), Err(poison))
                }
                (_, Some(poison), _) => self.finish(&node, Err(poison)),
                (Some(Work::Host(work) | Work::Both(work)), None, _) => {
                    let result = catch_unwind(AssertUnwindSafe(work))
                        .unwrap_or_else(|payload| Err(crate::error::panicked(node.name, payload)))
                        .map_err(|e| node.failed(e));
                    self.finish(&node, result)
                }
                (_, None, _) => self.finish(&node, Ok(())),
            };
            // Work of the host belongs to the pool's threads.
            let here = ready.last().is_some_and(|node| (in_pool || node.on_device) && node.home().is_none());
            next = if here { ready.pop() } else { None };
            for other in ready {
                self.start_node(other);
            }
        }
    }

    /// Puts the commands of a node into a stream, after those of the nodes `before`, which they need; gives the nodes
    /// that may run now. A node that cannot run takes its place in the order all the same.
    pub(super) fn launch(
        self: &Arc<Core>,
        device: &Arc<DeviceCore>,
        node: &Arc<Node>,
        before: Vec<Arc<Node>>,
        work: Result<DeviceWork, Error>,
    ) -> Next {
        let places = || before.iter().filter_map(|b| b.launched());
        let stream = places().next_back().map_or_else(|| device.any_stream(), |launched| launched.stream);
        let queue = Queue { device, stream, rings: &[], refilled: &[], lane: None };
        let backend = device.backend();
        let _turn = Turn::begin();
        let run = || {
            for other in places().filter(|other| other.stream != stream) {
                if let Some(event) = &other.event {
                    backend.wait(stream, &**event)?;
                }
            }
            work?(&queue)
        };
        let done = catch_unwind(AssertUnwindSafe(run))
            .unwrap_or_else(|payload| Err(crate::error::panicked(node.name, payload)))
            .map_err(|e| node.failed(e));
        let mark = || backend.end(stream).and_then(|event| backend.flush(stream).map(|()| event));
        let event = catch_unwind(AssertUnwindSafe(mark))
            .unwrap_or_else(|payload| Err(crate::error::panicked(node.name, payload)));
        let (event, done) = match event {
            Ok(event) => (Some(event), done),
            Err(error) => (None, done.and(Err(error))),
        };
        // Nodes finish in the order that they come here: one that needs this one comes later.
        self.put(InFlight { core: self.clone(), node: node.clone(), event: event.clone(), done });
        node.set_launched(Launched { stream, event })
    }

    /// A node that another one has put into a stream: it ends with that one. Gives the nodes that may run now.
    pub(super) fn end_with(self: &Arc<Core>, node: &Arc<Node>, leader: &Node) -> Next {
        node.take_before();
        let (stream, event) = leader.launched().map_or((0, None), |at| (at.stream, at.event.clone()));
        let done: Result<Done, Error> = Ok(Box::new(|| Ok(())));
        self.put(InFlight { core: self.clone(), node: node.clone(), event: event.clone(), done });
        node.set_launched(Launched { stream, event })
    }

    /// Gives a node to the thread that ends it.
    fn put(&self, in_flight: InFlight) {
        if let Some(Err(lost)) = self.threads.launched.as_ref().map(|launched| launched.send(in_flight)) {
            // The thread has ended: only if it could not be started. Nothing is waited for in vain.
            lost.0.finish();
        }
    }

    /// Ends a node; gives the nodes that may run now.
    pub(super) fn finish(&self, node: &Arc<Node>, result: Result<(), Error>) -> Next {
        let ready = node.finish(result);
        if let Some(Err(error)) = node.result() {
            lock(&self.failures).add(error);
        }
        self.unfinished.ended(node);
        ready
    }

    /// Runs what a node does on the host: with a timeline, as a span of it.
    pub(super) fn on_host<T>(&self, name: &str, recorded: &Location<'_>, work: impl FnOnce() -> T) -> T {
        host_span(self.timeline.as_deref(), Label { name, recorded }, work)
    }

    /// Makes the host's copies of what is touched the newest.
    pub fn bring_to_host(&self, touches: &[Touch]) -> Result<(), Error> {
        let Some(device) = &self.device else { return Ok(()) };
        device.backend().caught_up();
        for touch in touches {
            for region in touch.regions() {
                // SAFETY: the graph runs this only when no work conflicts with it.
                unsafe { touch.tracker.to_host(device, region, touch.moves())? };
            }
        }
        Ok(())
    }
}
