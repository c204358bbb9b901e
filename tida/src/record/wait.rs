//! Who waits: for nodes, for room, and for what comes next.

use std::cell::Cell;
use std::panic::Location;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use super::driver::{Core, lock};
use crate::backend::{Waits, looks_for, pause};
use crate::error::{Error, ErrorKind};
use crate::launch::capture::Home;
use crate::memory::node::Node;
use crate::memory::tracker::{Mode, Touch};
use crate::run::streamed::Ended;

/// Does what comes, in its order, until nobody can send any more. With `looks` it looks for it a while before it
/// sleeps.
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
    let (start, most) = (Instant::now(), looks_for());
    loop {
        if let found @ Some(_) = look() {
            return found;
        }
        if start.elapsed() > most {
            return None;
        }
        pause();
    }
}

thread_local! {
    /// The thread runs a kernel.
    static RUNS_KERNEL: Cell<bool> = const { Cell::new(false) };
}

/// That the thread runs a kernel, until it is dropped.
#[must_use]
pub(crate) struct InKernel(
    /// Whether it did before: it may call another one while it waits.
    bool,
);

impl InKernel {
    pub fn enter() -> InKernel {
        InKernel(RUNS_KERNEL.replace(true))
    }
}

impl Drop for InKernel {
    fn drop(&mut self) {
        RUNS_KERNEL.set(self.0);
    }
}

/// Refuses what records work or waits for it if the thread runs a kernel: that would wait for itself.
pub(crate) fn outside_kernels(tried: &str) -> Result<(), Error> {
    if !RUNS_KERNEL.get() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Kernel,
        tried,
        "that the calling thread runs a kernel, which would wait for itself",
        "pass `kernel!(|u, at| ..)` itself, not a closure around it, and wait outside",
    ))
}

/// Failures that are kept until someone asks for them; more are counted.
const FAILURES: usize = 64;

/// Failures of recorded work since someone asked for them.
#[derive(Default)]
pub(super) struct Failures {
    kept: Vec<Error>,
    more: u64,
}

impl Failures {
    /// Adds the failure of a node, once.
    pub fn add(&mut self, error: &Error) {
        if self.kept.iter().any(|known| known.is_same_failure(error)) {
            return;
        }
        if self.kept.len() >= FAILURES {
            self.kept.retain(|known| !known.is_told());
        }
        match self.kept.len() >= FAILURES {
            true => self.more += 1,
            false => self.kept.push(error.clone()),
        }
    }

    /// The first that nobody was told of, with the others: all are told with it.
    pub fn take(&mut self) -> Option<Error> {
        let Failures { mut kept, more } = std::mem::take(self);
        kept.retain(|error| !error.is_told());
        // A sort that keeps the order of what is neither before the other.
        kept.sort_by(|a, b| b.is_before(a).cmp(&a.is_before(b)));
        let mut all = kept.into_iter().map(Error::told);
        let first = all.next()?;
        Some(first.with_others(all.collect(), more))
    }
}

impl Core {
    /// Waits for `done`, which some node's end makes true. A thread of the pool works meanwhile.
    pub(super) fn wait_until(self: &Arc<Core>, done: &dyn Fn() -> bool) {
        if RUNS_KERNEL.get() {
            // Only what gives no error comes so far.
            return;
        }
        self.start_over_strips();
        while self.threads.pool.current_thread_index().is_none() && !done() && self.run_ready() {}
        let _waits = self.device.as_ref().map(|device| Waits::on(&**device.backend()));
        if self.threads.pool.current_thread_index().is_some() {
            while !done() {
                if self.threads.pool.yield_now() != Some(rayon::Yield::Executed) {
                    std::thread::yield_now();
                }
            }
            return;
        }
        let mut look = || {
            self.run_ready();
            done().then_some(())
        };
        if self.hurries() && soon(&mut look).is_some() {
            return self.device.iter().for_each(|device| device.backend().caught_up());
        }
        self.unfinished.sleep_until(done);
        if let Some(device) = &self.device {
            device.backend().caught_up();
        }
    }

    /// Whether threads look for the end of work before they sleep: a GPU may do it in less time than they take to wake.
    /// What runs in its native form needs the core that they would take.
    pub(super) fn hurries(&self) -> bool {
        let facts = self.device.as_ref().map(|device| device.backend().facts());
        facts.is_some_and(|facts| facts.gpu && !facts.native)
    }

    /// Waits for a node, where its end is told.
    pub(super) fn wait_for_end(self: &Arc<Core>, node: &Node) {
        match node.home().filter(|_| !node.is_of(self)) {
            Some(home) => home.clone().wait_for_end(node),
            None => self.unfinished.wait_for(node, |done| self.wait_until(done)),
        }
    }

    /// Waits for a node of this place on a thread that ends nodes of another one: it launches none.
    pub(super) fn await_end(&self, node: &Node) {
        if node.is_finished() {
            return;
        }
        let _waits = self.device.as_ref().map(|device| Waits::on(&**device.backend()));
        self.unfinished.wait_for(node, |done| {
            if !self.hurries() || soon(|| done().then_some(())).is_none() {
                self.unfinished.sleep_until(done);
            }
        });
    }

    /// See [`crate::TileAcc::wait_node`].
    #[track_caller]
    pub fn wait_node(self: &Arc<Core>, node: &Arc<Node>) -> Result<(), Error> {
        outside_kernels("wait for a value")?;
        if !node.is_finished() {
            let mut recorder = lock(&self.recorder);
            // All that it waits for has ended what else it was held back with.
            match recorder.has_in_chain(std::slice::from_ref(node)) {
                true => self.close_chain(&mut recorder, Ended::Waits(Location::caller())),
                false => {
                    recorder.batch.ends_by(Ended::Waits(Location::caller()));
                    self.close_all(&mut recorder);
                    self.end_batch(&mut recorder, Ended::Waits(Location::caller()));
                }
            }
            drop(recorder);
            self.wait_for_end(node);
        }
        node.result().cloned().unwrap_or(Ok(())).map_err(Error::told)
    }

    /// See [`crate::TileAcc::wait`].
    #[track_caller]
    pub fn wait(self: &Arc<Core>, touches: &[Touch]) -> Result<(), Error> {
        self.wait_in_place(touches, true)?;
        self.for_host(|| self.bring_to_host(touches))
    }

    /// See [`crate::TileAcc::wait_in_place`].
    #[track_caller]
    pub fn wait_in_place(self: &Arc<Core>, touches: &[Touch], brings: bool) -> Result<(), Error> {
        outside_kernels("access an array on the host")?;
        let mut nodes = Vec::new();
        {
            let mut recorder = lock(&self.recorder);
            let waits = Ended::Waits(Location::caller());
            recorder.batch.ends_by(waits);
            self.flush_round(&mut recorder);
            for touch in touches {
                touch.tracker.pending(touch.region, touch.mode.writes(), &mut nodes);
            }
            nodes.retain(|n| !n.is_finished());
            // What still waits for more work may go on doing so, if it does not touch these arrays.
            let ends = recorder.waits_with(touches.iter().map(|touch| &touch.tracker));
            if !nodes.is_empty() && !ends {
                self.close_all(&mut recorder);
                self.end_batch(&mut recorder, waits);
            } else if !nodes.is_empty() {
                for touch in touches.iter().filter(|touch| touch.mode.reads()) {
                    recorder.chain.iter_mut().for_each(|open| open.chain.wanted_on_host(&touch.tracker, brings));
                }
                self.close_chain(&mut recorder, waits);
            }
        }
        for node in &nodes {
            self.wait_for_end(node);
        }
        let read = touches.iter().filter(|touch| touch.mode.reads());
        if let Some(error) = Error::earliest(read.filter_map(|touch| touch.tracker.failure(touch.region))) {
            return Err(error.told());
        }
        for (touch, device) in touches.iter().filter(|touch| touch.mode != Mode::Look).zip(self.device.iter().cycle()) {
            touch.tracker.storage().fill_owed_on_host(device);
        }
        touches.iter().filter(|touch| touch.mode.writes()).for_each(|touch| touch.tracker.overwritten(touch.region));
        Ok(())
    }

    /// See [`crate::TileAcc::flush`].
    pub fn flush(self: &Arc<Core>, called: &'static Location<'static>) -> Result<(), Error> {
        outside_kernels("start everything recorded")?;
        self.close_chain(&mut lock(&self.recorder), Ended::Flush(called));
        Ok(())
    }

    /// See [`crate::TileAcc::sync`].
    #[track_caller]
    pub fn sync(self: &Arc<Core>) -> Result<(), Error> {
        outside_kernels("wait for everything recorded")?;
        self.wait_for_all();
        lock(&self.failures).take().map_or(Ok(()), Err)
    }

    /// As [`Core::sync`], of several places at once: their failures are told together.
    ///
    /// # Errors
    /// The first failure that nobody was told of, with the others.
    #[track_caller]
    pub fn sync_all(places: &[&Arc<Core>]) -> Result<(), Error> {
        let called = Location::caller();
        places.iter().try_for_each(|core| core.flush(called))?;
        places.iter().for_each(|core| core.wait_for_all());
        let mut all = Failures::default();
        for core in places {
            let Failures { kept, more } = std::mem::take(&mut *lock(&core.failures));
            all.more += more;
            kept.iter().for_each(|error| all.add(error));
        }
        all.take().map_or(Ok(()), Err)
    }

    /// Waits until everything recorded has run, well or not.
    #[track_caller]
    pub fn wait_for_all(self: &Arc<Core>) {
        self.close_chain(&mut lock(&self.recorder), Ended::Waits(Location::caller()));
        self.unfinished.wait_for_all(|done| self.wait_until(done));
    }
}

impl Home for Core {
    fn wait_for_value(self: Arc<Core>, node: &Arc<Node>) -> Result<(), Error> {
        self.wait_node(node)
    }
}
