//! Ranks: processes that run the same program, each with some of the places of an accelerator.
//!
//! Every rank records the same work. Calls that concern all ranks have numbers; what ranks give one another goes by
//! these. Each call is told to the next rank, in words, so that ranks that do not run the same program find out. One
//! thread (`post`) sends and receives, over MPI (`mpi`) or between threads of one process, for tests (`fake`).
//! (docs/decisions/0070-ranks.md)

mod bytes;
mod fake;
#[cfg(feature = "mpi")]
mod mpi;
mod post;
mod transport;

pub use bytes::Bytes;
pub use fake::FakeRank;
pub use transport::{Host, Parcel, Stretch, Target};

use std::fmt::Display;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use self::post::{Call, Command, Expected, Post};
use self::transport::Transport;
use crate::error::{Error, ErrorKind, last_error};
use crate::memory::mailbox::Mailboxes;
use crate::memory::node::Node;
use crate::record::driver::Core;

/// What a message is for: a call, and which of the messages between two ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub call: u64,
    pub lane: u64,
}

/// Pairs of places that a call has messages of, and lanes of a call: each pair has a few.
const PAIRS: u64 = 1 << 12;
const LANES: u64 = 4 * PAIRS;

impl Slot {
    /// That of what the same pair of places is told later in the call: values after a note.
    pub fn values(self) -> Slot {
        Slot { lane: self.lane % PAIRS + PAIRS, ..self }
    }

    /// And how it went.
    pub fn end(self) -> Slot {
        Slot { lane: self.lane % PAIRS + 2 * PAIRS, ..self }
    }

    /// And values that are on a device.
    pub fn devices(self) -> Slot {
        Slot { lane: self.lane % PAIRS + 3 * PAIRS, ..self }
    }

    fn tag(self) -> u64 {
        // 0 is for words.
        1 + self.call * LANES + self.lane % LANES
    }
}

/// All ranks, as one of them sees them.
#[derive(Debug)]
pub(crate) struct World {
    rank: usize,
    ranks: usize,
    host: Host,
    takes_devices: bool,
    /// Calls that concern all ranks so far.
    calls: AtomicU64,
    /// The thread that sends and receives has a core beside the threads that compute.
    has_core: AtomicBool,
    mailboxes: Arc<Mailboxes>,
    post: Sender<Command>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The error of ranks that cannot start.
fn cannot_start(found: impl Into<String>, advice: impl Into<String>) -> Error {
    Error::new(ErrorKind::Ranks, "run a program on several ranks", found, advice)
}

impl World {
    /// The ranks that `mpirun` or another launcher has started.
    ///
    /// # Errors
    /// No library of MPI; a second accelerator of ranks in one process.
    #[cfg(feature = "mpi")]
    pub fn mpi(timeout: Option<Duration>) -> Result<Arc<World>, Error> {
        mpi::check()?;
        crate::error::keep_last();
        World::start(timeout, || mpi::open().map(|mpi| Box::new(mpi) as Box<dyn Transport>))
    }

    /// As above.
    ///
    /// # Errors
    /// That this build has no MPI.
    #[cfg(not(feature = "mpi"))]
    pub fn mpi(_: Option<Duration>) -> Result<Arc<World>, Error> {
        Err(cannot_start("a build of tida without MPI", "build with tida's feature `mpi`, or leave ranks out"))
    }

    /// Ranks that are threads of this process.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn fake(rank: FakeRank, timeout: Option<Duration>) -> Result<Arc<World>, Error> {
        World::start(timeout, || Ok(Box::new(rank) as Box<dyn Transport>))
    }

    fn start(
        timeout: Option<Duration>,
        open: impl FnOnce() -> Result<Box<dyn Transport>, Error> + Send + 'static,
    ) -> Result<Arc<World>, Error> {
        let (post, commands) = mpsc::channel();
        let (tell, opened) = mpsc::channel();
        let mailboxes = Arc::new(Mailboxes::default());
        let of_post = mailboxes.clone();
        let run = move || match open() {
            Ok(transport) => {
                let (ranks, takes_devices) = (transport.ranks(), transport.takes_devices());
                let _ = tell.send(Ok((transport.rank(), ranks, transport.host(), takes_devices)));
                Post::new(transport, (commands, of_post), timeout).serve();
            }
            Err(error) => {
                let _ = tell.send(Err(error));
            }
        };
        let thread = std::thread::Builder::new().name("tida-ranks".into()).spawn(run);
        let thread = thread.map_err(|e| cannot_start(e.to_string(), "free some threads"))?;
        let (rank, ranks, host, takes_devices) = opened
            .recv()
            .map_err(|_| cannot_start("a panic of its thread", "report this as a bug of tida"))
            .flatten()?;
        let thread = Mutex::new(Some(thread));
        let (calls, has_core) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Arc::new(World { rank, ranks, host, takes_devices, calls, has_core, mailboxes, post, thread }))
    }

    /// Says whether this rank has more cores than threads that compute.
    pub fn has_cores(&self, more: bool) {
        self.has_core.store(more, Ordering::Relaxed);
    }

    /// Whether the thread that sends and receives has a core of its own: else what is sent comes along only while no
    /// other thread computes.
    pub fn has_core(&self) -> bool {
        self.has_core.load(Ordering::Relaxed)
    }

    /// What goes to places of other ranks without the host's memory, and comes from there.
    pub fn mailboxes(&self) -> &Arc<Mailboxes> {
        &self.mailboxes
    }

    /// Tells a rank that its mailbox of this number was read.
    pub fn was_read(&self, of: usize, number: u64) {
        let _ = self.post.send(Command::Read { of, number });
    }

    /// The number of this rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Those of them that are on this host.
    pub fn host(&self) -> Host {
        self.host
    }

    /// Whether messages of this rank may be in memory of its devices.
    pub fn takes_devices(&self) -> bool {
        self.takes_devices
    }

    /// Says that this rank makes a call that all ranks make; gives the call's number.
    pub fn call(&self, what: impl Display, recorded: &Location<'_>) -> u64 {
        self.call_beside(what, recorded, Default::default())
    }

    /// The same, where the rank before this one has to say the first of these texts, and the next one is told the
    /// second.
    pub fn call_beside(&self, what: impl Display, recorded: &Location<'_>, [before, next]: [String; 2]) -> u64 {
        let number = self.next();
        let text = format!("{what} at {recorded}");
        let _ = self.post.send(Command::Call(Call { number, text, before, next }));
        number
    }

    /// A number for a part of a call.
    pub fn next(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Gives a rank something.
    pub fn send(&self, to: usize, slot: Slot, pieces: Vec<Box<dyn Parcel>>) {
        let _ = self.post.send(Command::Send { to, tag: slot.tag(), pieces });
    }

    /// Tells a rank why it is given nothing.
    pub fn fail(&self, to: usize, slot: Slot, error: &Error) {
        let _ = self.post.send(Command::Fail { to, tag: slot.tag(), error: error.clone() });
    }

    /// Has `deliver` told what a rank gives, in pieces of so many bytes: on the thread that receives.
    pub fn expect_by(
        &self,
        from: (usize, Slot),
        sizes: Vec<Option<usize>>,
        text: String,
        deliver: impl FnOnce(Result<Vec<Bytes>, Error>) + Send + 'static,
    ) {
        self.await_pieces(from, (sizes, Vec::new()), text, Box::new(deliver));
    }

    /// The same of pieces that are on a device there, and go to these. What is in the host's memory here is given.
    pub fn expect_into(
        &self,
        from: (usize, Slot),
        into: Vec<Target>,
        text: String,
        deliver: impl FnOnce(Result<Vec<Bytes>, Error>) + Send + 'static,
    ) {
        let sizes = into.iter().map(|into| if let Target::Host(bytes) = into { bytes.as_slice().len() } else { 0 });
        self.await_pieces(from, (sizes.map(Some).collect(), into), text, Box::new(deliver));
    }

    fn await_pieces(
        &self,
        (from, slot): (usize, Slot),
        (sizes, into): (Vec<Option<usize>>, Vec<Target>),
        text: String,
        deliver: post::Deliver,
    ) {
        let (since, came) = (Instant::now(), Vec::new());
        let expected = Expected { from, tag: slot.tag(), sizes, into, text, since, came, deliver };
        if let Err(mpsc::SendError(Command::Expect(expected))) = self.post.send(Command::Expect(expected)) {
            let ended = cannot_start("that the thread of messages has ended", "report this as a bug of tida");
            (expected.deliver)(Err(ended));
        }
    }

    /// A node that ends when a rank has given something, of pieces of so many bytes.
    pub fn expect(
        &self,
        core: &Arc<Core>,
        from: (usize, Slot),
        sizes: Vec<Option<usize>>,
        (name, recorded): (&'static str, &'static Location<'static>),
        take: impl FnOnce(Vec<Bytes>) -> Result<(), Error> + Send + 'static,
    ) -> Arc<Node> {
        let node = core.expect(name, recorded);
        let (core, waits) = (core.clone(), node.clone());
        self.expect_by(from, sizes, format!("{name} at {recorded}"), move |came| {
            core.arrived(&waits, came.and_then(take));
        });
        node
    }

    /// Waits until every rank has given its bytes; gives those of all ranks. A rank that fails fails all.
    ///
    /// # Errors
    /// What failed, here or on another rank.
    pub fn gather(
        &self,
        call: u64,
        own: Result<Bytes, Error>,
        (name, recorded): (&'static str, &'static Location<'static>),
    ) -> Result<Vec<Bytes>, Error> {
        let slot = Slot { call, lane: 0 };
        let others = || (0..self.ranks).filter(|rank| *rank != self.rank);
        let (tell, come) = mpsc::channel();
        for rank in others() {
            let tell = tell.clone();
            self.expect_by((rank, slot), vec![None], format!("{name} at {recorded}"), move |came| {
                let _ = tell.send((rank, came));
            });
            match &own {
                Ok(bytes) => self.send(rank, slot, vec![Box::new(Bytes::of(bytes.as_slice()))]),
                Err(error) => self.fail(rank, slot, error),
            }
        }
        drop(tell);
        let mut all: Vec<Bytes> = (0..self.ranks).map(|_| Bytes::default()).collect();
        let mut failed: Vec<(usize, Error)> = Vec::new();
        match own {
            Ok(bytes) => all[self.rank] = bytes,
            Err(error) => failed.push((self.rank, error)),
        }
        for (rank, came) in come {
            match came {
                Ok(mut pieces) => all[rank] = pieces.pop().unwrap_or_default(),
                Err(error) => failed.push((rank, error)),
            }
        }
        match failed.into_iter().min_by_key(|(rank, _)| *rank) {
            Some((_, error)) => Err(error),
            None => Ok(all),
        }
    }

    /// Waits for the bytes that a rank gives this one.
    ///
    /// # Errors
    /// What failed there.
    pub fn wait_for(
        &self,
        from: (usize, Slot),
        (name, recorded): (&'static str, &'static Location<'static>),
    ) -> Result<Bytes, Error> {
        let (tell, come) = mpsc::channel();
        self.expect_by(from, vec![None], format!("{name} at {recorded}"), move |came| {
            let _ = tell.send(came);
        });
        let ended = || Err(cannot_start("that the thread of messages has ended", "report this as a bug of tida"));
        let mut pieces = come.recv().unwrap_or_else(|_| ended())?;
        Ok(pieces.pop().unwrap_or_default())
    }

    /// Takes leave of the others, and waits until all have; after a panic ends them.
    pub fn leave(&self) {
        let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let panics = std::thread::panicking();
        let dies = panics.then(|| format!("a panic of its program (call {})", self.calls.load(Ordering::Relaxed)));
        let said = last_error().map(|error| error.to_string());
        // Other ranks free theirs once all have taken leave.
        self.mailboxes.close();
        let _ = self.post.send(Command::Leave { said, dies });
        if std::thread::current().id() != thread.thread().id() {
            let _ = thread.join();
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.leave();
    }
}
