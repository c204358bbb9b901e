//! The recorder's state, and the thread that starts work when the recorder pauses.

use std::collections::VecDeque;
use std::panic::Location;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::fuse::{Fusing, lie_whole};
use super::hybrid::{Borders, Pace};
use super::place::{Chains, OpenChain, side};
use super::residents::Residents;
use super::running::InFlight;
use super::sweep::{OpenSweep, SweepKey};
use super::unfinished::Unfinished;
use super::wait::{Failures, serve};
use crate::device::core::DeviceCore;
use crate::device::timeline::Recorder as Times;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::launch::step::Launch;
use crate::memory::node::{Done, Need, Node, Queue, Work};
use crate::memory::touched::{ArrayTouch, bring, touched};
use crate::memory::tracker::{BoxTouch, Mode, Side, Touch};
use crate::run::chain::wave::{Host, LONG};
use crate::run::chain::{Chain, Kind, can_move, can_stream};
use crate::run::pieces::run_boxes;
use crate::run::streamed::{Ended, Reports, Streamed};

/// Sweeps that may be open at once: as many kernels a tile loop can interleave and still have its tiles merged.
const OPEN: usize = 4;

/// A recorder that is silent for so long has paused.
pub(crate) const PAUSE: Duration = Duration::from_micros(200);

/// So long a silence ends a chain: each pass over the link takes longer than that.
pub(crate) const PATIENCE: Duration = Duration::from_millis(5);

/// How long recorded work waits for more, and what becomes of it.
pub(crate) struct Waits {
    /// Nodes recorded and not finished, at most.
    pub look_ahead: usize,
    /// A recorder that is silent for so long has paused: what it recorded starts.
    pub pause: Duration,
    /// So long a silence ends a chain.
    pub patience: Duration,
    /// Sweeps that read the same arrays may run as one.
    pub joins: bool,
    /// The part of the cells that the device takes of loops on both sides, if that is not to be measured.
    pub share: Option<f64>,
}

/// What all clones of an accelerator share.
pub(crate) struct Core {
    pub pool: rayon::ThreadPool,
    /// Runs closures of the user's, once there was one.
    user_pool: OnceLock<rayon::ThreadPool>,
    /// The device, if it is not the host alone.
    pub device: Option<Arc<DeviceCore>>,
    /// Arrays that have their room there.
    pub(super) residents: Residents,
    /// The host, as chains see it that run there.
    pub host: Host,
    /// Takes down what runs when, if that is wanted; the same as the device's.
    pub timeline: Option<Arc<Times>>,
    /// To the thread that waits for the device.
    pub(super) launched: Option<Sender<InFlight>>,
    pause: Duration,
    patience: Duration,
    /// Bytes from which on arrays that come from the host may stream in.
    pub(super) stream_from: u64,
    /// Sweeps that read the same arrays may run as one.
    pub(super) joins: bool,
    pub(super) recorder: Mutex<Recorder>,
    pub(super) chains: Mutex<Chains>,
    /// Nodes of a device that are to be launched.
    pub(super) ready: Mutex<VecDeque<Arc<Node>>>,
    /// Evictions that may not have run.
    pub(super) leaving: Mutex<Vec<Arc<Node>>>,
    /// How loops that run on both sides are parted.
    pub(super) borders: Borders,
    /// Wakes the driver.
    pub(super) recorded: Condvar,
    /// Nodes recorded and not finished.
    pub(super) unfinished: Unfinished,
    /// Failures since the last `sync`.
    pub(super) failures: Mutex<Failures>,
    /// What chains did.
    pub(super) streamed: Mutex<Reports>,
}

/// What recording changes.
#[derive(Default)]
pub(super) struct Recorder {
    /// Sweeps that still take tiles, oldest first. Nothing recorded later is already closed.
    pub open: Vec<OpenSweep>,
    /// The chain that still takes work.
    pub chain: Option<OpenChain>,
    /// Sweeps that are held back until several may run as one launch.
    pub fusing: Fusing,
    /// Counts recordings, so that the driver sees a pause.
    pub count: u64,
    /// The driver sleeps until it is woken.
    pub driver_sleeps: bool,
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
    /// Its reads were proven, and it writes no ghosts between regions: it may run plane by plane.
    pub by_planes: bool,
    /// It may write ghosts.
    pub grown: bool,
    /// Measures the sweep, of a loop that runs on both sides.
    pub pace: Option<Arc<Pace>>,
}

impl TileWork<'_> {
    /// That it ends a chain.
    pub(super) fn ends(&self, why: &'static str) -> Ended {
        Ended::Beside { name: self.name, recorded: self.recorded, why }
    }

    /// Whether it reads an array as a whole.
    pub fn has_whole(&self) -> bool {
        self.touches.iter().any(|touch| touch.whole)
    }

    /// Whether it writes ghosts, or touches an array whose ghosts are not what a fill leaves.
    pub fn has_ghosts_of_the_user(&self) -> bool {
        self.grown || self.touches.iter().any(|touch| touch.tracker.has_other_ghosts())
    }

    /// Whether it may be a part of a chain.
    pub fn can_chain(&self, kind: Kind) -> bool {
        match kind {
            Kind::Planes => self.by_planes && can_stream(self.touches),
            Kind::Arriving => {
                self.by_planes && can_stream(self.touches) && !self.has_whole() && !self.has_ghosts_of_the_user()
            }
            Kind::Regions => can_move(self.touches),
        }
    }
}

fn no_threads(what: &str, found: String) -> Error {
    Error::new(ErrorKind::Device, format!("start {what}"), found, "free some threads or ask for fewer")
}

fn start_pool(threads: usize, name: &'static str) -> Result<rayon::ThreadPool, Error> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(move |i| format!("{name}-{i}"));
    builder.build().map_err(|e| no_threads("the threads of an accelerator", e.to_string()))
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    /// Starts the threads.
    pub fn start(
        threads: Option<usize>,
        waits: Waits,
        stream_from: u64,
        device: Option<DeviceCore>,
        host: Host,
        timeline: Option<Arc<Times>>,
    ) -> Result<Arc<Core>, Error> {
        let pool = start_pool(threads.unwrap_or(0), "tida")?;
        let (launched, in_flight) = device.is_some().then(mpsc::channel).unzip();
        let core = Arc::new(Core {
            pool,
            user_pool: OnceLock::new(),
            device: device.map(Arc::new),
            residents: Residents::default(),
            host,
            timeline,
            launched,
            pause: waits.pause,
            patience: waits.patience,
            stream_from,
            joins: waits.joins,
            recorder: Mutex::default(),
            chains: Mutex::default(),
            ready: Mutex::default(),
            leaving: Mutex::default(),
            borders: Borders::new(waits.share),
            recorded: Condvar::new(),
            unfinished: Unfinished::new(waits.look_ahead),
            failures: Mutex::default(),
            streamed: Mutex::default(),
        });
        let thread = |name: &str, run: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new()
                .name(name.into())
                .spawn(run)
                .map_err(|e| no_threads("the threads that drive an accelerator", e.to_string()))
        };
        let driver = core.clone();
        thread("tida-driver", Box::new(move || driver.drive()))?;
        if let Some(in_flight) = in_flight {
            // Ends nodes as their commands are done.
            let looks = core.hurries();
            thread("tida-device", Box::new(move || serve(&in_flight, looks, InFlight::finish)))?;
        }
        Ok(core)
    }

    /// See [`crate::TileAcc::install_user`].
    pub fn user_pool(&self) -> Result<&rayon::ThreadPool, Error> {
        if self.user_pool.get().is_none() {
            // Of two that came at once one is dropped.
            let _ = self.user_pool.set(start_pool(self.pool.current_num_threads(), "tida-user")?);
        }
        self.user_pool.get().ok_or_else(|| no_threads("the threads for closures", "none".into()))
    }

    /// The driver thread: starts open sweeps when the recorder pauses.
    fn drive(self: Arc<Core>) {
        let mut recorder = lock(&self.recorder);
        let mut quiet = Instant::now();
        loop {
            if recorder.shut_down {
                self.close_chain(&mut recorder, Ended::Dropped);
                return;
            }
            if recorder.open.is_empty() && recorder.chain.is_none() && recorder.fusing.is_empty() {
                recorder.driver_sleeps = true;
                recorder = self.recorded.wait(recorder).unwrap_or_else(PoisonError::into_inner);
                recorder.driver_sleeps = false;
                quiet = Instant::now();
                continue;
            }
            let seen = recorder.count;
            drop(recorder);
            std::thread::sleep(PAUSE);
            recorder = lock(&self.recorder);
            if recorder.count != seen {
                quiet = Instant::now();
                continue;
            }
            if quiet.elapsed() < self.pause {
                continue;
            }
            // Parts of a chain wait with it, so that their tiles stay together.
            let open = std::mem::take(&mut recorder.open);
            let (parts, others): (Vec<_>, Vec<_>) = open.into_iter().partition(|sweep| sweep.node.chain.is_some());
            recorder.open = parts;
            let mut others = others;
            self.close_some(&mut others, true, None, &mut recorder.fusing);
            self.start_held(&mut recorder, true);
            let hurries = recorder.chain.as_ref().is_some_and(|open| open.chain.kind == Kind::Arriving);
            if self.device.is_none() || hurries || quiet.elapsed() >= self.patience {
                self.close_chain(&mut recorder, Ended::Pause);
            }
        }
    }

    /// See [`crate::TileAcc::streamed`].
    pub fn streamed(&self) -> Vec<Streamed> {
        lock(&self.streamed).all()
    }

    /// Lets the driver thread end once all is started.
    pub fn shut_down(&self) {
        lock(&self.recorder).shut_down = true;
        self.recorded.notify_all();
    }

    /// Records a tile: joins an open sweep, or opens one whose kernel `launch` makes. Gives where it will run.
    pub fn record_tile(self: &Arc<Core>, tile: TileWork<'_>, launch: impl FnOnce() -> Arc<dyn Launch>) -> Side {
        let mut recorder = lock(&self.recorder);
        recorder.count += 1;
        // Ghosts were filled since they were opened.
        if recorder.open.iter().any(|sweep| !sweep.refilled.is_empty()) {
            self.close_all(&mut recorder);
        }
        let Recorder { open, fusing, .. } = &mut *recorder;
        if let Some(sweep) = joinable(open, &tile) {
            fusing.joined(&sweep.node, tile.touches);
            sweep.add(tile.region, tile.cells, tile.touches);
            add_touches(&sweep.node, tile.touches);
            return side(&sweep.node, sweep.kind);
        }
        self.keep_short(&mut recorder);
        self.close_chain_of(&mut recorder, &tile);
        drop(recorder);
        self.wait_for_room();
        let place = self.prepare_place(&tile);
        let mut recorder = lock(&self.recorder);
        if recorder.open.len() == OPEN {
            let Recorder { open, chain, fusing, .. } = &mut *recorder;
            self.close_some(open, false, chain.as_mut(), fusing);
        }
        if self.device.is_none() {
            self.keep_busy(&mut recorder);
        }
        let fuses = tile.key.on_device && self.fuses();
        let turn = if fuses { recorder.fusing.next(&tile) } else { None };
        let whole = turn.filter(|_| lie_whole(tile.touches));
        if whole.is_some() {
            self.keep_fusing(&mut recorder);
        } else if recorder.fusing.holds(tile.touches.iter().map(|touch| &touch.tracker)) {
            self.close_all(&mut recorder);
            self.start_held(&mut recorder, true);
        }
        let (chain, kind) = self.chain_for(&mut recorder, &tile, place).unzip();
        let turn = match kind {
            None => whole,
            // Chains find by themselves what runs together.
            Some(Kind::Planes) => turn,
            Some(_) => None,
        };
        let node = Node::new(tile.name, tile.recorded, tile.key.on_device, chain);
        if tile.key.on_device {
            self.after_evictions(&node);
        }
        self.unfinished.add();
        add_touches(&node, tile.touches);
        for before in tile.after {
            node.wait_for(before, Need::Value);
        }
        let (boxes, arrays) = (Vec::new(), Default::default());
        let launch = launch();
        // It may do the work of the steps after it too.
        let beside = if turn.is_some() && kind.is_none() { recorder.fusing.beside() } else { Vec::new() };
        add_touches(&node, &beside);
        if fuses {
            recorder.fusing.opened(&tile, &*launch, &node);
        }
        let (key, pace, refilled, ends) = (tile.key, tile.pace, Vec::new(), None);
        let mut sweep = OpenSweep { key, node, kind, launch, boxes, arrays, pace, turn, refilled, ends };
        sweep.add(tile.region, tile.cells, tile.touches);
        sweep.touch(&beside);
        let side = side(&sweep.node, sweep.kind);
        recorder.open.push(sweep);
        if recorder.driver_sleeps {
            self.recorded.notify_all();
        }
        side
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
        self.record_or_hold(name, recorded, touches, after, work, None)
    }

    /// As [`Core::record`]; or of a ghost fill, which may be held back, and says whether it sets those of fixed value
    /// too.
    pub(super) fn record_or_hold(
        self: &Arc<Core>,
        name: &'static str,
        recorded: &'static Location<'static>,
        touches: &[Touch],
        after: &[Arc<Node>],
        work: Work,
        fixed: Option<bool>,
    ) -> Arc<Node> {
        let others = touches.iter().filter(|touch| touch.mode != Mode::Look);
        self.settle_ghosts(others.map(|touch| &touch.tracker));
        let is_on_device = matches!(work, Work::Device(_));
        let is_fill = fixed.is_some();
        let leaves = touches.iter().any(|touch| matches!(touch.mode, Mode::Discard | Mode::Look));
        let takes_memory = matches!(work, Work::Device(_) | Work::Both(_));
        let work = match work {
            Work::Both(work) => {
                let core = self.clone();
                Work::Both(Box::new(move || core.on_host(name, recorded, work)))
            }
            Work::Host(work) if self.device.is_some() => {
                let (core, touches) = (self.clone(), touches.to_vec());
                Work::Host(Box::new(move || {
                    core.bring_to_host(&touches)?;
                    core.on_host(name, recorded, work)
                }))
            }
            Work::Host(work) => {
                let core = self.clone();
                Work::Host(Box::new(move || core.on_host(name, recorded, work)))
            }
            Work::Device(work) => {
                let touches = touches.to_vec();
                Work::Device(Box::new(move |queue| {
                    let done = queue.enqueue(|| {
                        for touch in &touches {
                            for region in touch.regions() {
                                // SAFETY: the graph keeps all work that conflicts away until this node has finished.
                                unsafe { touch.tracker.to_device(queue, region, touch.moves())? };
                            }
                        }
                        if is_fill || leaves {
                            return work(queue);
                        }
                        for touch in &touches {
                            touch.tracker.storage().settle_ghosts(queue.device, queue.stream)?;
                        }
                        queue.put(name, recorded, || work(queue))
                    })?;
                    Ok(Box::new(move || {
                        let ended = done();
                        // The copies that brought these arrays use their memory until now.
                        drop(touches);
                        ended
                    }))
                }))
            }
            other @ (Work::Shared(_) | Work::Within(_)) => other,
        };
        self.wait_for_room();
        let mut recorder = lock(&self.recorder);
        recorder.count += 1;
        // Each array is told of, also behind one that no open sweep wrote.
        let mut others = 0;
        for touch in touches.iter().filter(|_| is_fill && is_on_device) {
            others += usize::from(!OpenSweep::is_refilled(&mut recorder.open, &touch.tracker));
        }
        if !is_fill || !is_on_device || others > 0 {
            self.close_all(&mut recorder);
        }
        let trackers = || touches.iter().map(|touch| &touch.tracker);
        let fixed = fixed.filter(|_| touches.len() == 1);
        let holds = recorder.chain_of(trackers()).is_some() || (fixed.is_none() && recorder.fusing.holds(trackers()));
        if holds || recorder.has_in_chain(after) {
            let why = "works on its arrays, or needs its results";
            self.close_chain(&mut recorder, Ended::Beside { name, recorded, why });
        }
        let node = Node::new(name, recorded, is_on_device, None);
        self.unfinished.add();
        node.set_work(work);
        if takes_memory {
            self.after_evictions(&node);
        }
        touches.iter().for_each(|touch| touch_all(&node, touch));
        for before in after {
            node.wait_for(before, Need::Value);
        }
        let held = fixed.is_some_and(|fixed| Core::hold_fill(&mut recorder, &node, touches, fixed));
        if !held && node.release() {
            self.start_node(node.clone());
        }
        node
    }

    /// Waits while as many nodes as the look-ahead allows have not finished; once waiting, until half of them have.
    pub(super) fn wait_for_room(self: &Arc<Core>) {
        if self.unfinished.is_full() {
            self.close_chain(&mut lock(&self.recorder), Ended::LookAhead);
            self.unfinished.wait_for_room(|done| self.wait_until(done));
        }
    }

    pub(super) fn close_all(self: &Arc<Core>, recorder: &mut Recorder) {
        let Recorder { open, chain, fusing, .. } = recorder;
        self.close_some(open, true, chain.as_mut(), fusing);
    }

    /// The chain takes no more work, after the sweeps that are open: it runs when its turn comes. So does what is held
    /// back.
    pub(super) fn close_chain(self: &Arc<Core>, recorder: &mut Recorder, ended: Ended) {
        self.close_all(recorder);
        self.start_held(recorder, true);
        if let Some(OpenChain { gate, chain, .. }) = recorder.chain.take()
            && let Some(ready) = gate.close(Chain { ended: Some(ended), ..chain })
        {
            self.start_chain(ready);
        }
    }

    /// Closes the chain if it is long and nothing else is under way.
    fn keep_busy(self: &Arc<Core>, recorder: &mut Recorder) {
        let waiting = recorder.chain.as_ref().map_or(0, |open| open.chain.links.len());
        if waiting >= LONG && self.unfinished.count() <= waiting + recorder.open.len() {
            self.close_chain(recorder, Ended::Long);
        }
    }

    /// Closes a chain of arrays that arrive once they are better there as a whole before its work runs.
    pub(super) fn keep_short(self: &Arc<Core>, recorder: &mut Recorder) {
        let open = recorder.chain.as_ref().filter(|open| open.chain.kind == Kind::Arriving);
        if open.is_some_and(|open| open.chain.links.len() + recorder.open.len() >= open.chain.most_links()) {
            self.close_chain(recorder, Ended::Long);
        }
    }

    /// A sweep takes no more tiles: it runs when its turn comes.
    pub(super) fn close(self: &Arc<Core>, sweep: OpenSweep, chain: Option<&mut OpenChain>, fusing: &mut Fusing) {
        let OpenSweep { node, launch, boxes, arrays, pace, turn, refilled, ends, .. } = sweep;
        if let Some(turn) = turn.filter(|_| node.chain.is_none()) {
            return fusing.sweep(node, launch, boxes, arrays, (turn, refilled));
        }
        if let Some(open) = chain.filter(|open| node.chain == Some(open.number)) {
            node.set_work(self.part_of_chain(&open.gate));
            open.chain.sweep(node.clone(), launch, (boxes, turn), arrays);
            if node.release() {
                self.start_node(node);
            }
            return;
        }
        let (name, recorded, core) = (node.name, node.recorded, self.clone());
        let cells = boxes.iter().map(|(_, cells)| cells.cells() as u64).sum();
        node.set_work(match (&self.device, node.on_device) {
            (Some(_), true) => {
                let needs = launch.clone();
                // SAFETY: the graph keeps all work that conflicts away until this node has finished; the boxes do not
                // overlap.
                let run = move |queue: &Queue<'_>| unsafe {
                    let queue = Queue { refilled: &refilled, ..*queue };
                    let both = ends.as_ref().and_then(|ends| ends.enqueue(&launch, &queue, &boxes));
                    both.unwrap_or_else(|| launch.clone().enqueue(&queue, &boxes))
                };
                device_sweep(&node, arrays, pace, cells, run, move |error| without_room(error, &*needs))
            }
            (Some(device), false) => {
                let device = device.clone();
                Work::Host(Box::new(move || {
                    device.backend().caught_up();
                    for (tracker, region, mode) in touched(&arrays) {
                        // SAFETY: the graph runs this node only when no work conflicts with it.
                        unsafe { tracker.to_host(&device, region, mode)? };
                    }
                    let sweep = || run_boxes(&*launch, &boxes);
                    core.on_host(name, recorded, || match &pace {
                        Some(pace) => pace.on_host(cells, sweep),
                        None => sweep(),
                    })
                }))
            }
            (None, _) => Work::Host(Box::new(move || core.on_host(name, recorded, || run_boxes(&*launch, &boxes)))),
        });
        if node.release() {
            self.start_node(node);
        }
    }
}

/// What the node of a sweep does on the device: brings its arrays there, and puts its kernels into a stream.
pub(super) fn device_sweep(
    node: &Node,
    arrays: SmallVec<[ArrayTouch; 4]>,
    pace: Option<Arc<Pace>>,
    cells: u64,
    run: impl Fn(&Queue<'_>) -> Result<Done, Error> + Send + 'static,
    failed: impl Fn(Error) -> Error + Send + 'static,
) -> Work {
    let (name, recorded) = (node.name, node.recorded);
    Work::Device(Box::new(move |queue| {
        let bring = || bring(queue, &arrays);
        let sweep = || queue.put(name, recorded, || run(queue));
        let swept = queue.enqueue(|| match pace {
            Some(pace) => pace.on_device(queue, cells, bring, sweep),
            None => bring().and_then(|()| sweep()),
        });
        swept.map_err(failed)
    }))
}

/// The failure of a sweep: where its arrays had no room as a whole, with what keeps them from streaming.
pub(super) fn without_room(error: Error, launch: &dyn Launch) -> Error {
    match launch.needs().filter(|needs| needs.whole && error.kind() == ErrorKind::Memory) {
        Some(needs) => error.because(&needs.found, &needs.advice),
        None => error,
    }
}

pub(super) fn touch_all(node: &Arc<Node>, touch: &Touch) {
    for (region, all) in touch.tracker.boxes().iter().enumerate() {
        if touch.region.is_none_or(|one| one == region) {
            let Touch { tracker, mode, .. } = touch;
            match mode {
                Mode::Move => tracker.add_move(region, node),
                _ => tracker.add(region, node, mode.reads().then_some(*all), mode.writes().then_some(*all)),
            }
        }
    }
}

pub(super) fn add_touches(node: &Arc<Node>, touches: &[BoxTouch]) {
    for touch in touches {
        touch.tracker.add(touch.region, node, touch.read, touch.write);
    }
}

/// The open sweep that a tile may join: the same kernel and arrays, no cell twice, and no conflict with a sweep
/// recorded later that it would overtake.
fn joinable<'a>(open: &'a mut [OpenSweep], tile: &TileWork<'_>) -> Option<&'a mut OpenSweep> {
    let (mut found, mut crossed) = (None, None);
    for (i, sweep) in open.iter().enumerate().rev() {
        // A part of a chain has only tiles that a chain can run, and so has what may run as one launch with others.
        let by_planes = sweep.turn.is_some().then_some(Kind::Planes);
        let same = sweep.key == tile.key && sweep.kind.or(by_planes).is_none_or(|kind| tile.can_chain(kind));
        if sweep.conflicts(tile.touches, tile.key.on_device) {
            return None;
        }
        if same {
            // Nothing overtakes a chain on its arrays, but for other parts of it.
            found = Some(i).filter(|_| crossed.is_none() || crossed == sweep.node.chain);
            break;
        }
        if sweep.node.chain.is_some() && sweep.shares(tile.touches) {
            crossed = sweep.node.chain;
        }
    }
    open.get_mut(found?)
}
