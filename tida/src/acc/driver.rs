//! The recorder's state, and the thread that starts work when the recorder pauses.

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::node::{Node, Work};
use super::sweep::{Launch, OpenSweep, SweepKey, run_boxes};
use super::tracker::{BoxTouch, Touch};
use crate::array::GridBox;
use crate::error::{Error, ErrorKind};

/// Sweeps that may be open at once: as many kernels a tile loop can interleave and still have its tiles merged.
const OPEN: usize = 4;

/// A recorder that is silent for so long has paused.
const PAUSE: Duration = Duration::from_micros(200);

/// What all clones of an accelerator share.
pub(crate) struct Core {
    pub pool: rayon::ThreadPool,
    look_ahead: usize,
    recorder: Mutex<Recorder>,
    /// Wakes the driver.
    recorded: Condvar,
    /// Nodes recorded and not finished.
    unfinished: AtomicUsize,
    /// Threads that wait for all nodes, and for room to record more. Waking costs more than a small node: it is done
    /// only when it is of use.
    waiting_for_all: AtomicUsize,
    waiting_for_room: AtomicUsize,
    /// Wakes who waits for nodes.
    progress: Mutex<()>,
    finished: Condvar,
    /// First failure since the last `sync`.
    failure: Mutex<Option<Error>>,
}

/// What recording changes.
#[derive(Default)]
struct Recorder {
    /// Sweeps that still take tiles, oldest first. Nothing recorded later is already closed.
    open: Vec<OpenSweep>,
    /// Counts recordings, so that the driver sees a pause.
    count: u64,
    /// The driver sleeps until it is woken.
    driver_sleeps: bool,
    shut_down: bool,
}

/// A tile to compute.
pub(crate) struct TileWork<'a> {
    pub key: SweepKey,
    pub region: usize,
    pub cells: GridBox<4>,
    pub touches: &'a [BoxTouch],
    /// Deferred scalars it captures.
    pub after: &'a [Arc<Node>],
    pub name: &'static str,
    pub recorded: &'static Location<'static>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    /// Starts the threads.
    pub fn start(threads: Option<usize>, look_ahead: usize) -> Result<Arc<Core>, Error> {
        let failed = |what: &str, found: String| {
            Error::new(ErrorKind::Device, format!("start {what}"), found, "free some threads or ask for fewer")
        };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.unwrap_or(0))
            .thread_name(|i| format!("tida-{i}"))
            .build()
            .map_err(|e| failed("the threads of an accelerator", e.to_string()))?;
        let core = Arc::new(Core {
            pool,
            look_ahead,
            recorder: Mutex::default(),
            recorded: Condvar::new(),
            unfinished: AtomicUsize::new(0),
            waiting_for_all: AtomicUsize::new(0),
            waiting_for_room: AtomicUsize::new(0),
            progress: Mutex::default(),
            finished: Condvar::new(),
            failure: Mutex::default(),
        });
        let driver = core.clone();
        std::thread::Builder::new()
            .name("tida-driver".into())
            .spawn(move || driver.drive())
            .map_err(|e| failed("the driver thread of an accelerator", e.to_string()))?;
        Ok(core)
    }

    /// The driver thread: starts open sweeps when the recorder pauses.
    fn drive(self: Arc<Core>) {
        let mut recorder = lock(&self.recorder);
        loop {
            if recorder.shut_down {
                self.close_all(&mut recorder);
                return;
            }
            if recorder.open.is_empty() {
                recorder.driver_sleeps = true;
                recorder = self.recorded.wait(recorder).unwrap_or_else(PoisonError::into_inner);
                recorder.driver_sleeps = false;
                continue;
            }
            let seen = recorder.count;
            drop(recorder);
            std::thread::sleep(PAUSE);
            recorder = lock(&self.recorder);
            if recorder.count == seen {
                self.close_all(&mut recorder);
            }
        }
    }

    /// Lets the driver thread end once all is started.
    pub fn shut_down(&self) {
        lock(&self.recorder).shut_down = true;
        self.recorded.notify_all();
    }

    /// Records a tile: joins an open sweep, or opens one whose kernel `launch` makes.
    pub fn record_tile(self: &Arc<Core>, tile: TileWork<'_>, launch: impl FnOnce() -> Arc<dyn Launch>) {
        let mut recorder = lock(&self.recorder);
        recorder.count += 1;
        if let Some(sweep) = joinable(&mut recorder.open, &tile) {
            sweep.add(tile.region, tile.cells, tile.touches);
            add_touches(&sweep.node, tile.touches);
            return;
        }
        drop(recorder);
        self.wait_for_room();
        let mut recorder = lock(&self.recorder);
        if recorder.open.len() == OPEN {
            let oldest = recorder.open.remove(0);
            self.close(oldest);
        }
        let node = Node::new(tile.name, tile.recorded);
        self.unfinished.fetch_add(1, Ordering::Relaxed);
        add_touches(&node, tile.touches);
        for before in tile.after {
            node.wait_for(before, true);
        }
        let mut sweep = OpenSweep { key: tile.key, node, launch: launch(), boxes: Vec::new(), touches: Vec::new() };
        sweep.add(tile.region, tile.cells, tile.touches);
        recorder.open.push(sweep);
        if recorder.driver_sleeps {
            self.recorded.notify_all();
        }
    }

    /// Records any other work.
    pub fn record(
        self: &Arc<Core>,
        name: &'static str,
        recorded: &'static Location<'static>,
        touches: &[Touch],
        after: &[Arc<Node>],
        work: Work,
    ) -> Arc<Node> {
        self.wait_for_room();
        let mut recorder = lock(&self.recorder);
        recorder.count += 1;
        self.close_all(&mut recorder);
        let node = Node::new(name, recorded);
        self.unfinished.fetch_add(1, Ordering::Relaxed);
        node.set_work(work);
        for touch in touches {
            for (region, all) in touch.tracker.boxes().iter().enumerate() {
                if touch.region.is_none_or(|one| one == region) {
                    touch.tracker.add(region, &node, touch.read.then_some(*all), touch.write.then_some(*all));
                }
            }
        }
        for before in after {
            node.wait_for(before, true);
        }
        if node.release() {
            self.start_node(node.clone());
        }
        node
    }

    /// Waits while as many nodes as the look-ahead allows have not finished; once waiting, until half of them have.
    fn wait_for_room(self: &Arc<Core>) {
        if self.unfinished.load(Ordering::Relaxed) < self.look_ahead {
            return;
        }
        self.close_all(&mut lock(&self.recorder));
        self.waiting_for_room.fetch_add(1, Ordering::SeqCst);
        self.wait_until(|| self.unfinished.load(Ordering::SeqCst) <= self.look_ahead / 2);
        self.waiting_for_room.fetch_sub(1, Ordering::SeqCst);
    }

    fn close_all(self: &Arc<Core>, recorder: &mut Recorder) {
        for sweep in recorder.open.drain(..) {
            self.close(sweep);
        }
    }

    /// A sweep takes no more tiles: it runs when its turn comes.
    fn close(self: &Arc<Core>, sweep: OpenSweep) {
        let OpenSweep { node, launch, boxes, .. } = sweep;
        node.set_work(Box::new(move || run_boxes(&*launch, &boxes)));
        if node.release() {
            self.start_node(node);
        }
    }

    fn start_node(self: &Arc<Core>, node: Arc<Node>) {
        let core = self.clone();
        self.pool.spawn(move || core.run(node));
    }

    /// Runs a node, then those that waited for it alone: one here, the others as new jobs.
    fn run(self: Arc<Core>, node: Arc<Node>) {
        let mut next = Some(node);
        while let Some(node) = next.take() {
            let result = match node.take_work() {
                Err(poison) => Err(poison),
                Ok(None) => Ok(()),
                Ok(Some(work)) => catch_unwind(AssertUnwindSafe(work))
                    .unwrap_or_else(|payload| Err(super::panicked(node.name, payload)))
                    .map_err(|e| e.recorded_at(node.recorded)),
            };
            if let Err(error) = &result {
                lock(&self.failure).get_or_insert_with(|| error.clone());
            }
            let mut ready = node.finish(result);
            next = ready.pop();
            for other in ready {
                self.start_node(other);
            }
            let left = self.unfinished.fetch_sub(1, Ordering::SeqCst) - 1;
            let wanted = node.is_watched()
                || (left == 0 && self.waiting_for_all.load(Ordering::SeqCst) > 0)
                || (left <= self.look_ahead / 2 && self.waiting_for_room.load(Ordering::SeqCst) > 0);
            if wanted {
                drop(lock(&self.progress));
                self.finished.notify_all();
            }
        }
    }

    /// Waits for `done`, which some node's end makes true. A thread of the pool works meanwhile.
    fn wait_until(&self, done: impl Fn() -> bool) {
        if self.pool.current_thread_index().is_some() {
            while !done() {
                if self.pool.yield_now() != Some(rayon::Yield::Executed) {
                    std::thread::yield_now();
                }
            }
            return;
        }
        let mut guard = lock(&self.progress);
        while !done() {
            guard = self.finished.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn wait_for_end(&self, node: &Node) {
        node.watch();
        self.wait_until(|| node.is_finished());
    }

    /// See [`super::TileAcc::wait_node`].
    pub fn wait_node(self: &Arc<Core>, node: &Arc<Node>) -> Result<(), Error> {
        if !node.is_finished() {
            self.close_all(&mut lock(&self.recorder));
            self.wait_for_end(node);
        }
        node.result().cloned().unwrap_or(Ok(()))
    }

    /// See [`super::TileAcc::wait`].
    pub fn wait(self: &Arc<Core>, touches: &[Touch]) -> Result<(), Error> {
        let mut nodes = Vec::new();
        {
            let mut recorder = lock(&self.recorder);
            for touch in touches {
                touch.tracker.pending(touch.region, touch.write, &mut nodes);
            }
            nodes.retain(|n| !n.is_finished());
            if !nodes.is_empty() {
                self.close_all(&mut recorder);
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
        Ok(())
    }

    /// See [`super::TileAcc::sync`].
    pub fn sync(self: &Arc<Core>) -> Result<(), Error> {
        self.close_all(&mut lock(&self.recorder));
        self.waiting_for_all.fetch_add(1, Ordering::SeqCst);
        self.wait_until(|| self.unfinished.load(Ordering::SeqCst) == 0);
        self.waiting_for_all.fetch_sub(1, Ordering::SeqCst);
        lock(&self.failure).take().map_or(Ok(()), Err)
    }
}

fn add_touches(node: &Arc<Node>, touches: &[BoxTouch]) {
    for touch in touches {
        touch.tracker.add(touch.region, node, touch.read, touch.write);
    }
}

/// The open sweep that a tile may join: the same kernel and arrays, no cell twice, and no conflict with a sweep
/// recorded later that it would overtake.
fn joinable<'a>(open: &'a mut [OpenSweep], tile: &TileWork<'_>) -> Option<&'a mut OpenSweep> {
    let mut found = None;
    for (i, sweep) in open.iter().enumerate().rev() {
        let same = sweep.key == tile.key;
        if sweep.conflicts(tile.touches) {
            return None;
        }
        if same {
            found = Some(i);
            break;
        }
    }
    open.get_mut(found?)
}
