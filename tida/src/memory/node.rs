//! A recorded piece of work and what waits for it.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;

use super::layout::WideLayout;
use super::storage::Storage;
use crate::backend::{ALL_STREAMS, Event, Lane, Memory};
use crate::device::core::DeviceCore;
use crate::device::notes::Notes;
use crate::device::timeline::{Label, SpanKind};
use crate::error::Error;
use crate::program::deps::Need;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard, OnceLock, fence, lock};

/// What a node does when it runs. It runs once, inside the thread pool.
pub(crate) enum Work {
    /// Work on the host: done when it returns.
    Host(HostWork),
    /// The same, of which nothing is made for this node alone: small sweeps come by the thousand.
    Cells(Arc<dyn CellWork>),
    /// Work on the host that leaves data where it is, and gives the device what that has to do: done when it returns.
    Both(HostWork),
    /// Work on the device: it puts its commands into a stream and returns.
    Device(DeviceWork),
    /// Brings strips from another place, or makes a message of them, in a stream of their own.
    Strips(Box<StripWork>),
    /// A sweep on the device whose cells at borders come first, in a stream of their own.
    Split(Box<SplitWork>),
    /// A part of what several nodes do together, which finishes it.
    Shared(SharedWork),
    /// Hands something to another rank, which waits for it: takes no time, and goes before other work.
    Sends(SharedWork),
    /// Done by the launch of another node, which is before this one: it ends with that.
    Within(Arc<Node>),
}

/// See [`Work::Host`].
pub(crate) type HostWork = Box<dyn FnOnce() -> Result<(), Error> + Send>;

/// See [`Work::Cells`].
pub(crate) trait CellWork: Send + Sync {
    /// Runs over its cells.
    ///
    /// # Errors
    /// What fails in the first cell that does.
    fn run(&self) -> Result<(), Error>;
}

/// See [`Work::Device`]. What it gives runs once the device has done all of it.
pub(crate) type DeviceWork = Box<dyn FnOnce(&Queue<'_>) -> Result<Done, Error> + Send>;

/// Planes of the first axis: those from the one number on, before the other one.
pub(crate) type Planes = SmallVec<[(i64, i64); 2]>;

/// See [`Work::Strips`].
pub(crate) struct StripWork {
    pub work: DeviceWork,
    /// The planes that are given.
    pub planes: Planes,
    pub way: Way,
}

/// How strips go from place to place.
pub(crate) enum Way {
    /// The place that takes reads them where they are, and writes beyond its own borders. Its stream waits for what it
    /// comes after; not so where a test plants a mistake.
    Read { waits: bool },
    /// Their place makes a message of them, and hands it over once the device is done with it.
    Give,
    /// They come in the message of this node, and are written beyond borders.
    Take(Arc<Node>),
}

/// See [`Work::Split`].
pub(crate) struct SplitWork {
    /// Computes these planes. After that nothing beyond a border is read, and none of these planes.
    pub edges: DeviceWork,
    pub planes: Planes,
    /// Computes the others. It reads nothing beyond a border.
    pub inside: DeviceWork,
}

/// Nodes that may run now.
pub(crate) type Next = SmallVec<[Arc<Node>; 2]>;

/// See [`Work::Shared`]. It is told that this node may run, or why it cannot, and gives nodes that may run now.
pub(crate) type SharedWork = Box<dyn FnOnce(&Arc<Node>, Option<Error>) -> Next + Send>;

/// Runs once the device has done the commands of a node: finds out whether they went well. It holds what they use.
pub(crate) type Done = Box<dyn FnOnce() -> Result<(), Error> + Send>;

/// Runs all of several, one after the other.
///
/// # Errors
/// The first one that failed.
pub(crate) fn all_ended(ends: Vec<Done>) -> Result<(), Error> {
    ends.into_iter().map(|end| end()).fold(Ok(()), Result::and)
}

/// Where a node puts its commands.
pub(crate) struct Queue<'a> {
    pub device: &'a Arc<DeviceCore>,
    pub stream: usize,
    /// Where arrays are of which the device holds planes alone.
    pub rings: &'a [Ring],
    /// Arrays that the node writes and whose ghosts are filled next: no one reads those that they have.
    pub refilled: &'a [Arc<Storage>],
    /// Launches may run together with those before and after them in the stream, some rows at a time.
    pub lane: Option<Lane>,
    /// Where launches are written down.
    pub notes: Option<&'a Notes>,
}

/// Part of an array on the device: a window of planes of its first axis, in memory that wraps around, or one region.
///
/// A window is for kernels an array of other regions, all in the same memory: region `c` holds the planes from `c`
/// times the ring's length on.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    pub storage: Arc<Storage>,
    pub memory: Arc<Memory>,
    pub layout: Arc<WideLayout>,
    /// Where its regions start in the memory, in bytes.
    pub start: usize,
    /// What else of the array is there.
    pub near: Near,
}

/// What a [`Ring`] has beside what a command works on.
#[derive(Clone, Debug)]
pub(crate) enum Near {
    /// The planes around.
    Planes,
    /// Other regions, and where they start.
    Regions(SmallVec<[(usize, usize); 1]>),
}

impl Ring {
    /// Where a region starts in the memory.
    pub fn start_of(&self, region: usize) -> usize {
        match &self.near {
            Near::Planes => self.start,
            Near::Regions(others) => {
                others.iter().find(|(other, _)| *other == region).map_or(self.start, |(_, start)| *start)
            }
        }
    }
}

impl Queue<'_> {
    /// The planes of an array that the device holds, if it holds no more.
    pub fn ring(&self, storage: &Arc<Storage>) -> Option<&Ring> {
        self.rings.iter().find(|ring| Arc::ptr_eq(&ring.storage, storage))
    }

    /// Runs what puts the kernels of a piece of work into the stream: with a timeline, as a span of it.
    pub fn put<T>(
        &self,
        name: &str,
        recorded: &Location<'_>,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let kind = if name.starts_with("fill_ghosts") { SpanKind::Ghost } else { SpanKind::Kernel };
        self.device.counts.launch(1);
        self.notes.iter().for_each(|notes| notes.counts());
        self.device.timed(kind, Label { name, recorded }, self.stream, 0, work)
    }

    /// Runs what puts copies from another place's device into the stream: with a timeline, as a span of it.
    pub fn bring_strips<T>(
        &self,
        recorded: &Location<'_>,
        bytes: usize,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.device.counts.strips(bytes);
        let label = Label { name: "strips", recorded };
        self.device.timed(SpanKind::Strips, label, self.stream, bytes, work)
    }

    /// Runs `f`, which puts commands into streams; if it fails, waits for those that it had put there, so that what
    /// they use may go.
    pub fn enqueue<T>(&self, f: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        f().inspect_err(|_| {
            for stream in 0..ALL_STREAMS {
                // What the driver says of them now is said again by whoever needs the device next.
                let _ = self.device.backend().record(stream).and_then(|event| event.finish());
            }
        })
    }
}

/// Who starts nodes that belong to it.
pub(crate) trait Starts: Send + Sync {
    /// Has a node run, for which nothing else has to run before.
    fn start(self: Arc<Self>, node: Arc<Node>);

    /// Waits until a node that belongs to it has finished.
    fn wait_for_end(self: Arc<Self>, node: &Node);

    /// The same on a thread that launches no nodes meanwhile.
    fn await_end(&self, node: &Node);
}

/// Where the commands of a node are.
#[derive(Debug)]
pub(crate) struct Launched {
    /// The device: see [`DeviceCore::id`].
    pub device: usize,
    pub stream: usize,
    /// Their end; none if the driver could not mark it.
    pub event: Option<Arc<dyn Event>>,
    /// What came first.
    pub early: Option<Box<Early>>,
}

/// The end of what a sweep did first: these planes. See [`SplitWork`].
#[derive(Clone, Debug)]
pub(crate) struct Early {
    pub event: Arc<dyn Event>,
    pub planes: Planes,
}

impl Early {
    /// Whether all of some planes are among these.
    pub fn has(&self, planes: &Planes) -> bool {
        planes.iter().all(|(lo, hi)| self.planes.iter().any(|(first, end)| first <= lo && hi <= end))
    }
}

/// A recorded piece of work.
///
/// It runs once all nodes it waits for have finished; between nodes on a device it is enough that the one before has
/// put its commands into a stream. Its error, or that of a node whose data it needs, is its result.
pub(crate) struct Node {
    /// Counts nodes in the order that they were first recorded.
    pub number: u64,
    /// Name for messages.
    pub name: &'static str,
    /// The line that recorded it.
    pub recorded: &'static Location<'static>,
    /// It works on the device, with the data there; else on the host.
    pub on_device: bool,
    /// The chain that it is a part of.
    pub chain: Option<u64>,
    /// Unfinished predecessors, plus one while it is still being recorded.
    waiting: AtomicUsize,
    links: Mutex<Links>,
    launched: OnceLock<Launched>,
    result: OnceLock<Result<(), Error>>,
    flags: Flags,
    /// Who starts it, if it waits for nodes of other places: those end there.
    home: std::sync::OnceLock<Arc<dyn Starts>>,
}

/// What is said of a node while others look at it.
struct Flags {
    /// It brings strips from another place, or gives them.
    brings: AtomicBool,
    /// Some thread waits for its end.
    watched: AtomicBool,
    /// No cell that it computes can fail.
    sure: AtomicBool,
}

// (What stands for an atomic in models has no default.)
impl Default for Flags {
    fn default() -> Flags {
        let unset = || AtomicBool::new(false);
        Flags { brings: unset(), watched: unset(), sure: unset() }
    }
}

#[derive(Default)]
struct Links {
    work: Option<Work>,
    /// Failure of a node whose data this one needs.
    poison: Option<Error>,
    /// Nodes that wait for this one, or need to know whether it failed.
    successors: SmallVec<[Successor; 2]>,
    /// Nodes of the device whose commands must be done before those of this one.
    before: Vec<Arc<Node>>,
    /// The message that it makes was handed over.
    handed: bool,
}

impl Links {
    /// What has waited for this goes on: gives the nodes that may run now.
    fn release(&mut self, until: Until) -> Next {
        let mut ready = Next::new();
        for successor in self.successors.iter_mut().filter(|s| s.waits && s.until == until) {
            successor.waits = false;
            if successor.node.release() {
                ready.push(successor.node.clone());
            }
        }
        ready
    }
}

struct Successor {
    node: Arc<Node>,
    /// It needs the data: a failure is its failure too.
    data: bool,
    /// It still waits, for this.
    waits: bool,
    until: Until,
}

/// What a node waits for of another one: each is after the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Until {
    /// Its commands are in a stream.
    Launched,
    /// The message that it makes was handed over.
    Handed,
    /// It has finished.
    Ended,
}

/// Nodes that were made.
static NODES: AtomicU64 = AtomicU64::new(0);

impl Node {
    /// The number that the next node has, or a lower one.
    pub fn next_number() -> u64 {
        NODES.load(Ordering::Relaxed)
    }

    /// A node that is still being recorded.
    pub fn new(
        name: &'static str,
        recorded: &'static Location<'static>,
        on_device: bool,
        chain: Option<u64>,
    ) -> Arc<Node> {
        Arc::new(Node {
            number: NODES.fetch_add(1, Ordering::Relaxed),
            name,
            recorded,
            on_device,
            chain,
            waiting: AtomicUsize::new(1),
            links: Mutex::default(),
            launched: OnceLock::new(),
            result: OnceLock::new(),
            flags: Flags::default(),
            home: std::sync::OnceLock::new(),
        })
    }

    /// Says who starts it, whoever ends the last node that it waits for. Only while it is being recorded.
    pub fn set_home(&self, home: Arc<dyn Starts>) {
        // Nobody else says so.
        let _ = self.home.set(home);
    }

    /// Whether it is one of who asks, as all are where nobody was said to start them.
    pub fn is_of<T>(&self, core: &Arc<T>) -> bool {
        self.home.get().is_none_or(|home| std::ptr::addr_eq(Arc::as_ptr(home), Arc::as_ptr(core)))
    }

    /// Whether it brings strips from another place, or makes a message of them.
    pub fn brings_strips(&self) -> bool {
        self.flags.brings.load(Ordering::Relaxed)
    }

    /// Who starts it, if that was said.
    pub fn home(&self) -> Option<&Arc<dyn Starts>> {
        self.home.get()
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
        self.flags.watched.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Says that no cell that it computes can fail. Only while it is being recorded.
    pub fn set_sure(&self) {
        self.flags.sure.store(true, Ordering::Relaxed);
    }

    /// Whether it ended well, or will, unless the device fails or work that it needs.
    pub fn is_sure(&self) -> bool {
        self.result.get().map_or_else(|| self.flags.sure.load(Ordering::Relaxed), Result::is_ok)
    }

    /// Whether a thread may wait for its end.
    pub fn is_watched(&self) -> bool {
        self.flags.watched.load(Ordering::SeqCst)
    }

    /// Makes `self` wait for `before`; without `Need::Order` alone, a failure of `before` is a failure of `self`.
    /// Only while `self` is being recorded.
    pub fn wait_for(self: &Arc<Node>, before: &Arc<Node>, need: Need) {
        let data = need != Need::Order;
        // Nodes of one chain run together, in the order in which they were recorded.
        let together = self.chain.is_some() && self.chain == before.chain;
        let chained = self.chain.is_some() || before.chain.is_some();
        let for_end = need == Need::Value || chained || !(self.on_device && before.on_device);
        self.wait_until(before, (data, together), if for_end { Until::Ended } else { Until::Launched });
    }

    /// Makes `self` wait for the message that `before` makes, on the device of another place. Only while `self` is
    /// being recorded.
    pub fn wait_for_message(self: &Arc<Node>, before: &Arc<Node>) {
        self.wait_until(before, (true, false), Until::Handed);
    }

    fn wait_until(self: &Arc<Node>, before: &Arc<Node>, (data, together): (bool, bool), until: Until) {
        let mut links = before.lock();
        match before.result() {
            None => {
                // The tiles of a sweep wait for the same nodes again and again, and a sweep for several reasons.
                let known = |s: &&mut Successor| Arc::ptr_eq(&s.node, self) && s.until >= until;
                if let Some(known) = links.successors.iter_mut().rev().take(4).find(known) {
                    known.data |= data;
                    return;
                }
                let is_there = match until {
                    Until::Launched => before.launched.get().is_some(),
                    Until::Handed => links.handed,
                    Until::Ended => false,
                };
                let waits = !together && !is_there;
                if waits {
                    self.waiting.fetch_add(1, Ordering::Relaxed);
                }
                links.successors.push(Successor { node: self.clone(), data, waits, until });
                drop(links);
                if until != Until::Ended {
                    self.lock().before.push(before.clone());
                }
            }
            Some(Err(error)) if data => {
                let error = error.clone();
                drop(links);
                self.poison(error);
            }
            Some(_) => {
                drop(links);
                if until != Until::Ended && before.launched.get().is_some() {
                    self.lock().before.push(before.clone());
                }
            }
        }
    }

    /// Has `self` no longer wait for `before`, which runs it too, after its own work and before it ends. Only while
    /// both are being recorded.
    pub fn comes_with(self: &Arc<Node>, before: &Arc<Node>) {
        let mut links = before.lock();
        for successor in links.successors.iter_mut().filter(|s| s.waits && Arc::ptr_eq(&s.node, self)) {
            successor.waits = false;
            // Its recording has not ended, so it cannot run yet.
            self.release();
        }
    }

    /// Fails `self` when its turn comes: with the failure of that work which was recorded first.
    fn poison(&self, error: Error) {
        let mut links = self.lock();
        if links.poison.as_ref().is_none_or(|known| error.is_before(known)) {
            links.poison = Some(error);
        }
    }

    /// An error as its failure.
    pub fn failed(&self, error: Error) -> Error {
        error.failed_by(self.number).recorded_at(self.recorded)
    }

    /// Gives it its work. Only while it is being recorded.
    pub fn set_work(&self, work: Work) {
        self.flags.brings.store(matches!(work, Work::Strips(_)), Ordering::Relaxed);
        self.lock().work = Some(work);
    }

    /// Counts one predecessor (or the recording) as done; `true` if it may run now.
    pub fn release(&self) -> bool {
        self.waiting.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Takes what it has to do, and the failure that keeps it from running.
    pub fn take_work(&self) -> (Option<Work>, Option<Error>) {
        let mut links = self.lock();
        (links.work.take(), links.poison.take())
    }

    /// The same, if it hands something to another rank.
    pub fn take_sending(&self) -> Option<(SharedWork, Option<Error>)> {
        let mut links = self.lock();
        match links.work.take() {
            Some(Work::Sends(work)) => Some((work, links.poison.take())),
            other => {
                links.work = other;
                None
            }
        }
    }

    /// Takes the nodes of the device whose commands must be done before those of this one. Some may have finished.
    pub fn take_before(&self) -> Vec<Arc<Node>> {
        std::mem::take(&mut self.lock().before)
    }

    /// Where its commands are, once they are in a stream.
    pub fn launched(&self) -> Option<&Launched> {
        self.launched.get()
    }

    /// Says that its commands are in a stream, and gives the nodes that may run now.
    pub fn set_launched(&self, launched: Launched) -> Next {
        let mut links = self.lock();
        let _ = self.launched.set(launched);
        links.release(Until::Launched)
    }

    /// Says that the message that it makes was handed over, and gives the nodes that may run now.
    pub fn set_handed(&self) -> Next {
        let mut links = self.lock();
        links.handed = true;
        links.release(Until::Handed)
    }

    /// Sets its result and gives the nodes that may run now.
    pub fn finish(&self, result: Result<(), Error>) -> Next {
        let mut links = self.lock();
        // Commands may have been in a stream before it was known that their data is no good; and what kept them from it
        // may have failed after what is known now, or before it.
        let result = match (links.poison.take(), result) {
            (Some(known), Err(error)) if error.is_before(&known) => Err(error),
            (Some(known), _) => Err(known),
            (None, result) => result,
        };
        let error = result.as_ref().err().cloned();
        let _ = self.result.set(result);
        // Whoever watches has seen the result, or is seen by the next look at `watched`.
        fence(Ordering::SeqCst);
        let successors = std::mem::take(&mut links.successors);
        drop(links);
        let mut ready = Next::new();
        for Successor { node, data, waits, .. } in successors {
            if let (true, Some(error)) = (data, &error) {
                node.poison(error.clone());
            }
            if waits && node.release() {
                ready.push(node);
            }
        }
        ready
    }

    fn lock(&self) -> MutexGuard<'_, Links> {
        lock(&self.links)
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} recorded at {}, {:?}", self.name, self.recorded, self.result.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn node(name: &'static str) -> Arc<Node> {
        Node::new(name, Location::caller(), true, None)
    }

    fn broken(node: &Node) -> Error {
        node.failed(Error::new(ErrorKind::Kernel, "compute", node.name, "fix it"))
    }

    /// Of two failures that reach a node, one before it starts and one while it runs, the first recorded is told.
    #[test]
    fn the_first_failure_is_told_whenever_it_comes() {
        for first_is_early in [true, false] {
            let (first, second, after) = (node("first"), node("second"), node("after"));
            after.wait_for(&first, Need::Data);
            after.wait_for(&second, Need::Data);
            let (early, late) = if first_is_early { (&first, &second) } else { (&second, &first) };
            early.finish(Err(broken(early)));
            let (_, kept) = after.take_work();
            late.finish(Err(broken(late)));
            after.finish(Err(kept.unwrap()));
            assert_eq!(after.result().unwrap().as_ref().unwrap_err().found(), "first");
            // Its own failure comes of what it read.
            let (before, own) = (node("before"), node("own"));
            own.wait_for(&before, Need::Data);
            before.finish(Err(broken(&before)));
            own.finish(Err(broken(&own)));
            assert_eq!(own.result().unwrap().as_ref().unwrap_err().found(), "before");
        }
    }
}
