//! Nodes from the moment that nothing has to run before them to their end.

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;

use super::driver::{Core, lock};
use super::strips::TRACED;
use crate::backend::{AtWork, Event, STREAMS, Turn};
use crate::device::core::DeviceCore;
use crate::device::counts::Tally;
use crate::device::timeline::{Label, host_span};
use crate::error::Error;
use crate::memory::node::{DeviceWork, Done, Early, Launched, Next, Node, Queue, Starts, Work};
use crate::memory::tracker::Touch;

/// A node whose commands the device has.
pub(super) struct InFlight {
    core: Arc<Core>,
    node: Arc<Node>,
    /// Nodes of other places that it came after: they end there, and before it.
    after: Vec<Arc<Node>>,
    event: Option<Arc<dyn Event>>,
    /// What they gave so far; the rest is known once they are done.
    done: Result<Done, Error>,
}

impl InFlight {
    /// Waits for the commands, and ends the node.
    pub fn finish(self) {
        let InFlight { core, node, after, event, done } = self;
        // Whatever panics in here, the node ends.
        let mut at_work = None;
        let ended = || {
            let waited = event.map_or(Ok(()), |event| {
                let settled = event.settle();
                tracing::trace!(target: TRACED, "the device is done: {}", node.name);
                at_work = core.device.as_ref().map(|device| AtWork::on(&**device.backend()));
                settled
            });
            let done = done?;
            waited?;
            let before = Tally::so_far();
            let ended = done();
            core.did(&node, &before);
            ended
        };
        let result = catch_unwind(AssertUnwindSafe(ended))
            .unwrap_or_else(|payload| Err(crate::error::panicked(node.name, payload)));
        core.device.iter().for_each(|device| device.ended());
        // They were put into streams before this one: no two places wait for each other here.
        after.iter().for_each(|other| other.home().iter().for_each(|home| home.await_end(other)));
        let mut ready = core.finish(&node, result.map_err(|e| node.failed(e)));
        send_first(&mut ready);
        for other in ready {
            core.start_node(other);
        }
    }
}

/// Runs those of some nodes that hand something to other ranks. A thread that begins with a sweep in their place has
/// the other ranks wait for it, and waits for them afterwards.
fn send_first(ready: &mut Next) {
    let mut n = 0;
    while n < ready.len() {
        match ready[n].take_sending() {
            Some((work, failure)) => {
                let node = ready.remove(n);
                ready.extend(work(&node, failure));
            }
            None => n += 1,
        }
    }
}

/// The stream of the node before that was put into one last, of those of this device that any work uses; or the next
/// one.
pub(super) fn stream_after(device: &DeviceCore, before: &[Arc<Node>]) -> usize {
    let usual = |at: &&Launched| at.device == device.id() && at.stream < STREAMS;
    let last = before.iter().filter_map(|other| other.launched()).rfind(usual);
    last.map_or_else(|| device.any_stream(), |launched| launched.stream)
}

impl Starts for Core {
    fn start(self: Arc<Core>, node: Arc<Node>) {
        self.start_here(node);
    }

    fn wait_for_end(self: Arc<Core>, node: &Node) {
        Core::wait_for_end(&self, node);
    }

    fn await_end(&self, node: &Node) {
        Core::await_end(self, node);
    }
}

impl Core {
    /// Has a node run, where it belongs.
    pub(super) fn start_node(self: &Arc<Core>, node: Arc<Node>) {
        match node.home().filter(|_| !node.is_of(self)).cloned() {
            Some(home) => home.start(node),
            None => self.start_here(node),
        }
    }

    /// Has a node run. Who waits may launch one of a device before a thread of the pool is awake (`wait.rs`).
    fn start_here(self: &Arc<Core>, node: Arc<Node>) {
        let core = self.clone();
        self.device.iter().for_each(|device| device.backend().works(1, true));
        if !node.on_device || self.device.is_none() {
            return self.threads.pool.spawn(move || {
                let _at_work = core.at_work();
                core.clone().run(node);
            });
        }
        lock(&self.threads.ready).push_back(node);
        self.threads.pool.spawn(move || {
            core.run_ready();
        });
    }

    /// Launches the first node that is ready for it; whether there was one.
    pub(super) fn run_ready(self: &Arc<Core>) -> bool {
        let Some(node) = lock(&self.threads.ready).pop_front() else { return false };
        let _at_work = self.at_work();
        self.clone().run(node);
        true
    }

    /// That the calling thread does what was counted when it was started.
    pub(super) fn at_work(&self) -> Option<AtWork<'_>> {
        self.device.as_ref().map(|device| AtWork::on(&**device.backend()))
    }

    /// Runs a node, then those that waited for it alone: one here, the others as new jobs.
    fn run(self: Arc<Core>, node: Arc<Node>) {
        let in_pool = self.threads.pool.current_thread_index().is_some();
        let mut next = Some(node);
        while let Some(node) = next.take() {
            let (work, failure) = node.take_work();
            let mut ready = match (work, failure, &self.device) {
                (Some(Work::Shared(work) | Work::Sends(work)), failure, _) => work(&node, failure),
                (Some(Work::Device(work)), None, Some(device)) => {
                    self.launch(device, &node, node.take_before(), Ok(work))
                }
                (Some(Work::Strips(work)), None, Some(device)) => self.launch_strips(device, &node, *work),
                (Some(Work::Split(work)), None, Some(device)) => self.launch_split(device, &node, *work),
                (Some(Work::Within(leader)), None, Some(_)) => self.end_with(&node, &leader),
                (_, Some(poison), Some(device)) if node.on_device => {
                    self.launch(device, &node, node.take_before(), Err(poison))
                }
                (_, Some(poison), _) => self.finish(&node, Err(poison)),
                (Some(Work::Host(work) | Work::Both(work)), None, _) => self.run_here(&node, work),
                (Some(Work::Cells(work)), None, _) => {
                    self.run_here(&node, || self.on_host(node.name, node.recorded, || work.run()))
                }
                (_, None, _) => self.finish(&node, Ok(())),
            };
            send_first(&mut ready);
            // Work of the host belongs to the pool's threads.
            let here = ready.last().is_some_and(|node| (in_pool || node.on_device) && node.is_of(&self));
            next = if here { ready.pop() } else { None };
            for other in ready {
                self.start_node(other);
            }
        }
    }

    /// Runs what a node does on this thread; gives the nodes that may run now.
    fn run_here(&self, node: &Arc<Node>, work: impl FnOnce() -> Result<(), Error>) -> Next {
        let before = Tally::so_far();
        let result = catch_unwind(AssertUnwindSafe(work))
            .unwrap_or_else(|payload| Err(crate::error::panicked(node.name, payload)))
            .map_err(|e| node.failed(e));
        self.did(node, &before);
        self.finish(node, result)
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
        // What ends meanwhile is waited for all the same.
        let (ended, before): (Vec<Arc<Node>>, Vec<Arc<Node>>) = before.into_iter().partition(|node| node.is_finished());
        let (id, stream) = (device.id(), stream_after(device, &before));
        let queue = Queue { device, stream, rings: &[], refilled: &[], lane: None, notes: None };
        self.put_into(&queue, node, &before, || {
            for other in before.iter().filter_map(|b| b.launched()) {
                if let Some(event) = other.event.as_ref().filter(|_| (other.device, other.stream) != (id, stream)) {
                    device.backend().wait(stream, &**event)?;
                }
            }
            let ended = ended.iter().filter_map(|node| node.launched()).filter(|at| at.device == id);
            for event in ended.filter_map(|at| at.event.as_ref()) {
                device.backend().after(stream, &**event)?;
            }
            Ok((work?(&queue)?, None))
        })
    }

    /// Puts the commands of a node into streams, of which that of `queue` ends last; gives the nodes that may run now.
    pub(super) fn put_into(
        self: &Arc<Core>,
        queue: &Queue<'_>,
        node: &Arc<Node>,
        before: &[Arc<Node>],
        run: impl FnOnce() -> Result<(Done, Option<Box<Early>>), Error>,
    ) -> Next {
        let (backend, stream, device) = (queue.device.backend(), queue.stream, queue.device.id());
        let _turn = Turn::begin(node.number);
        let before_it = Tally::so_far();
        let done = catch_unwind(AssertUnwindSafe(run))
            .unwrap_or_else(|payload| Err(crate::error::panicked(node.name, payload)))
            .map_err(|e| node.failed(e));
        let mark = || backend.end(stream).and_then(|event| backend.flush(stream).map(|()| event));
        let event = catch_unwind(AssertUnwindSafe(mark))
            .unwrap_or_else(|payload| Err(crate::error::panicked(node.name, payload)));
        self.did(node, &before_it);
        let (done, early) = match done {
            Ok((done, early)) => (Ok(done), early),
            Err(error) => (Err(error), None),
        };
        let (event, done) = match event {
            Ok(event) => (Some(event), done),
            Err(error) => (None, done.and(Err(error))),
        };
        // What another rank gives ends by what that one says, whoever waits for it.
        let ends_elsewhere = |other: &&Arc<Node>| !other.is_of(self) || other.launched().is_none();
        let after = before.iter().filter(ends_elsewhere).cloned().collect();
        // Nodes finish in the order that they come here: one that needs this one comes later.
        self.put(InFlight { core: self.clone(), node: node.clone(), after, event: event.clone(), done });
        node.set_launched(Launched { device, stream, event, early })
    }

    /// A node that another one has put into a stream: it ends with that one. Gives the nodes that may run now.
    pub(super) fn end_with(self: &Arc<Core>, node: &Arc<Node>, leader: &Node) -> Next {
        let before = node.take_before();
        let at = leader.launched().map(|at| (at.device, at.stream, at.event.clone(), at.early.clone()));
        let (id, stream, event, early) = at.unwrap_or_default();
        // What this one overwrites may be read in other streams, for which the other one does not wait, since it does
        // not write it. Who comes after this one does not ask for those any more.
        let apart = |other: &&Arc<Node>| {
            let at = other.launched().filter(|at| (at.device, at.stream) != (id, stream));
            !other.is_finished() && at.is_some()
        };
        if let Some(device) = self.device.as_ref().filter(|device| device.id() == id)
            && before.iter().any(|other| apart(&other))
        {
            let queue = Queue { device, stream, rings: &[], refilled: &[], lane: None, notes: None };
            return self.put_into(&queue, node, &before, || {
                for at in before.iter().filter(apart).filter_map(|other| other.launched()) {
                    at.event.iter().try_for_each(|event| device.backend().wait(stream, &**event))?;
                }
                Ok((Box::new(|| Ok(())), early))
            });
        }
        let after = before.into_iter().filter(|other| !other.is_of(self)).collect();
        let done: Result<Done, Error> = Ok(Box::new(|| Ok(())));
        self.put(InFlight { core: self.clone(), node: node.clone(), after, event: event.clone(), done });
        node.set_launched(Launched { device: id, stream, event, early })
    }

    /// The calling thread has done for a node what it did since then.
    fn did(&self, node: &Node, before: &Tally) {
        let what = Tally::since(before);
        if !what.is_nothing() {
            let mut chains = lock(&self.chains);
            match node.chain {
                Some(chain) => chains.reports.did(chain, what),
                None => chains.batches.did(node.number, what),
            }
        }
    }

    /// Brings what the host is to read: that belongs to the batch that left it.
    pub fn for_host<T>(&self, bring: impl FnOnce() -> T) -> T {
        let before = Tally::so_far();
        let brought = bring();
        let what = Tally::since(&before);
        if !what.is_nothing() {
            lock(&self.chains).batches.host_did(what);
        }
        brought
    }

    /// Gives a node to the thread that ends it.
    fn put(&self, in_flight: InFlight) {
        if let Some(Err(lost)) = self.threads.launched.as_ref().map(|launched| launched.send(in_flight)) {
            // The thread has ended: only if it could not be started. Nothing is waited for in vain.
            lost.0.finish();
        }
    }

    /// A node that ends when something comes from outside, and not by work of its own.
    pub fn expect(self: &Arc<Core>, name: &'static str, recorded: &'static Location<'static>) -> Arc<Node> {
        self.unfinished.add();
        let node = Node::new(name, recorded, false, None);
        node.set_home(self.clone());
        node
    }

    /// The message that such a node is about is here: starts what has waited for that alone.
    pub fn handed(self: &Arc<Core>, node: &Arc<Node>) {
        node.set_handed().into_iter().for_each(|ready| self.start_node(ready));
    }

    /// Ends such a node, and starts what has waited for it.
    pub fn arrived(self: &Arc<Core>, node: &Arc<Node>, result: Result<(), Error>) {
        for other in self.finish(node, result.map_err(|e| node.failed(e))) {
            self.start_node(other);
        }
    }

    /// Ends a node; gives the nodes that may run now.
    pub fn finish(&self, node: &Arc<Node>, result: Result<(), Error>) -> Next {
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
