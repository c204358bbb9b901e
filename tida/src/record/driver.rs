//! The recorder's state, and the thread that starts work when the recorder pauses.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::chains::{Chains, OpenChain};
use super::fuse::Fusing;
use super::hybrid::{Borders, Pace};
use super::known::Known;
use super::residents::Residents;
use super::rounds::Rounds;
use super::running::InFlight;
use super::strips::{Borders as StripBorders, Handing};
use super::sweep::OpenSweeps;
use super::unfinished::Unfinished;
use super::wait::{Failures, serve};
use crate::device::core::DeviceCore;
use crate::device::timeline::Recorder as Times;
use crate::error::{Error, ErrorKind};
use crate::memory::node::Node;
use crate::memory::tracker::Tracker;
use crate::program::place::Kind;
use crate::run::batch::{Batch, OpenBatch};
use crate::run::chain::wave::Host;
use crate::run::streamed::{Ended, Streamed};

/// A recorder that is silent for so long has paused.
pub(crate) const PAUSE: Duration = Duration::from_micros(200);

/// So long a silence ends a chain: each pass over the link takes longer than that.
pub(crate) const PATIENCE: Duration = Duration::from_millis(5);

/// From so many bytes of its arrays on a sweep computes what other places wait for first: for fewer, a launch more
/// costs as much as the strips do.
pub(crate) const EDGES_FROM: u64 = 48 << 20;

/// When recorded work starts, and what may run together.
pub(crate) struct Rules {
    /// Nodes recorded and not finished, at most.
    pub look_ahead: usize,
    /// A recorder that is silent for so long has paused: what it recorded starts.
    pub pause: Duration,
    /// So long a silence ends a chain.
    pub patience: Duration,
    /// Bytes from which on arrays that come from the host may stream in.
    pub stream_from: u64,
    /// Sweeps that read the same arrays may run as one.
    pub joins: bool,
    /// Sweeps over arrays of at least so many bytes compute what other places wait for first.
    pub edges_from: u64,
    /// Programs that repeat themselves run in rounds.
    pub rounds: bool,
    /// The part of the cells that the device takes of loops on both sides, if that is not to be measured.
    pub share: Option<f64>,
    /// It is one of several places of an accelerator, whose nodes may wait for those of others.
    pub is_place: bool,
}

/// What all clones of an accelerator share.
pub(crate) struct Core {
    pub threads: Threads,
    /// The device, if it is not the host alone.
    pub device: Option<Arc<DeviceCore>>,
    /// Arrays that have their room there.
    pub(super) residents: Residents,
    /// The host, as chains see it that run there.
    pub host: Host,
    /// Records what runs when, if that is wanted; the same as the device's.
    pub timeline: Option<Arc<Times>>,
    pub(super) rules: Rules,
    pub(super) recorder: Mutex<Recorder>,
    /// Wakes the driver.
    pub(super) recorded: Condvar,
    pub(super) chains: Mutex<Chains>,
    pub(super) parted: Parted,
    /// Nodes recorded and not finished.
    pub(super) unfinished: Unfinished,
    /// Failures since the last `sync`.
    pub(super) failures: Mutex<Failures>,
}

/// How arrays are parted.
pub(super) struct Parted {
    /// Between the host and the device, in loops that run on both.
    pub sides: Borders,
    /// Among places: the arrays of which strips were given, and where.
    pub given: Mutex<Vec<(Weak<Tracker>, StripBorders)>>,
    /// All places of the accelerator in this process, if it has several.
    pub places: OnceLock<Vec<Weak<Core>>>,
}

/// Threads that run recorded work.
pub(crate) struct Threads {
    pub pool: Arc<rayon::ThreadPool>,
    /// Run closures of the user's, once there was one.
    user: OnceLock<rayon::ThreadPool>,
    /// To the thread that waits for the device.
    pub(super) launched: Option<Sender<InFlight>>,
    /// To the thread that hands messages to other places, of a place with a device.
    pub(super) handing: Mutex<Option<Sender<Handing>>>,
    /// Nodes of a device that are to be launched.
    pub(super) ready: Mutex<VecDeque<Arc<Node>>>,
}

/// What recording changes.
#[derive(Default)]
pub(super) struct Recorder {
    /// Sweeps that still take tiles, oldest first. Nothing recorded later is already closed.
    pub open: OpenSweeps,
    /// The chain that still takes work.
    pub chain: Option<OpenChain>,
    /// One that takes no more work, before strips are given; nothing was recorded since that touches its arrays.
    pub closed: Option<OpenChain>,
    /// Sweeps that are held back until several may run as one launch.
    pub fusing: Fusing,
    /// What is held back because the program repeats itself.
    pub rounds: Rounds,
    /// What is known of calls that came before.
    pub known: Known,
    /// What was recorded since something started all of it.
    pub batch: OpenBatch,
    /// Measures all sweeps, while somebody asks how fast they run.
    pub measured: Option<Arc<Pace>>,
    /// Counts recordings, so that the driver sees a pause.
    pub count: u64,
    /// The driver sleeps, and nobody has woken it.
    pub driver_sleeps: bool,
    shut_down: bool,
}

impl Recorder {
    /// Whether nothing waits for more work, or for a pause.
    fn is_idle(&self) -> bool {
        let held = !self.fusing.is_empty() || !self.rounds.is_empty();
        self.open.is_empty() && self.chain.is_none() && self.closed.is_none() && !held
    }
}

fn no_threads(what: &str, found: String) -> Error {
    Error::new(ErrorKind::Device, format!("start {what}"), found, "free some threads or ask for fewer")
}

/// The threads that run recorded work: so many, or one for each processor.
///
/// # Errors
/// Threads that cannot be started.
pub(crate) fn start_threads(threads: Option<usize>) -> Result<Arc<rayon::ThreadPool>, Error> {
    start_pool(threads.unwrap_or(0), "tida").map(Arc::new)
}

fn start_pool(threads: usize, name: &'static str) -> Result<rayon::ThreadPool, Error> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(move |i| format!("{name}-{i}"));
    builder.build().map_err(|e| no_threads("the threads of an accelerator", e.to_string()))
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    /// Starts the threads, beside those of the pool.
    pub fn start(
        pool: Arc<rayon::ThreadPool>,
        rules: Rules,
        device: Option<DeviceCore>,
        host: Host,
        timeline: Option<Arc<Times>>,
    ) -> Result<Arc<Core>, Error> {
        let (launched, in_flight) = device.is_some().then(mpsc::channel).unzip();
        let (handing, handed) = (rules.is_place && device.is_some()).then(mpsc::channel).unzip();
        let core = Arc::new(Core {
            threads: Threads {
                pool,
                user: OnceLock::new(),
                launched,
                handing: Mutex::new(handing),
                ready: Mutex::default(),
            },
            device: device.map(Arc::new),
            residents: Residents::default(),
            host,
            timeline,
            recorder: Mutex::default(),
            recorded: Condvar::new(),
            chains: Mutex::default(),
            parted: Parted { sides: Borders::new(rules.share), given: Mutex::default(), places: OnceLock::new() },
            unfinished: Unfinished::new(rules.look_ahead),
            failures: Mutex::default(),
            rules,
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
        if let Some(handed) = handed {
            let looks = core.hurries();
            thread("tida-strips", Box::new(move || serve(&handed, looks, Handing::finish)))?;
        }
        Ok(core)
    }

    /// Whether it is one of several places of an accelerator.
    pub fn is_one_of_several(&self) -> bool {
        self.rules.is_place
    }

    /// Tells each of several places of the others.
    pub fn are_beside(places: &[&Arc<Core>]) {
        for core in places {
            // Nobody else says so.
            let _ = core.parted.places.set(places.iter().copied().map(Arc::downgrade).collect());
        }
    }

    /// See [`crate::TileAcc::install_user`].
    pub fn user_pool(&self) -> Result<&rayon::ThreadPool, Error> {
        if self.threads.user.get().is_none() {
            // Of two that came at once one is dropped.
            let _ = self.threads.user.set(start_pool(self.threads.pool.current_num_threads(), "tida-user")?);
        }
        self.threads.user.get().ok_or_else(|| no_threads("the threads for closures", "none".into()))
    }

    /// Wakes the driver if it sleeps. Once: it may take long until it runs, and each call would wake it again.
    pub(super) fn wake_driver(&self, recorder: &mut Recorder) {
        if std::mem::take(&mut recorder.driver_sleeps) {
            self.recorded.notify_all();
        }
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
            if recorder.is_idle() && recorder.known.is_empty() {
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
            if quiet.elapsed() < self.rules.pause {
                continue;
            }
            if recorder.is_idle() {
                recorder.known.forget();
                continue;
            }
            recorder.batch.ends_by(Ended::Pause);
            self.flush_round(&mut recorder);
            // Parts of a chain wait with it, so that their tiles stay together.
            let open = std::mem::take(&mut recorder.open);
            let (parts, others): (Vec<_>, Vec<_>) = open.into_iter().partition(|sweep| sweep.node.chain.is_some());
            recorder.open = parts;
            let mut others = others;
            let Recorder { fusing, batch, .. } = &mut *recorder;
            self.close_some(&mut others, true, None, (fusing, batch));
            self.start_held(&mut recorder, true);
            self.end_batch(&mut recorder, Ended::Pause);
            let hurries = recorder.chain.as_ref().is_some_and(|open| open.chain.kind == Kind::Arriving);
            if self.device.is_none() || hurries || quiet.elapsed() >= self.rules.patience {
                self.close_chain(&mut recorder, Ended::Pause);
            }
        }
    }

    /// See [`crate::TileAcc::streamed`].
    pub fn streamed(&self) -> Vec<Streamed> {
        lock(&self.chains).reports.all()
    }

    /// See [`crate::TileAcc::batches`].
    pub fn batches(&self) -> Vec<Batch> {
        lock(&self.chains).batches.all()
    }

    /// Lets the driver thread end once all is started.
    pub fn shut_down(&self) {
        lock(&self.recorder).shut_down = true;
        self.recorded.notify_all();
    }
}
