//! The threads that pack and write, and what they share with the program.
//!
//! Each takes the part that has waited longest, packs it and writes it. Whoever finds all parts of the oldest snapshot
//! written makes it count, while the others go on with those after it. On several ranks the first one makes it count,
//! once the others have told it that what they wrote is on the disk.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tida::acc::ToldLater;
use tida::{ErrorKind, TileAcc};

use crate::disk::BLOCK;
use crate::ranks::{packed, unpacked};
use crate::sink::{Part, RegionSink, Snapshot, Values};
use crate::{Error, Result};

/// What the program and the threads share.
#[derive(Clone)]
pub(crate) struct Shared(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    /// Parts that wait, in the order in which they came.
    parts: VecDeque<Waiting>,
    /// Snapshots that have begun and do not count yet.
    open: BTreeMap<u64, Open>,
    /// A thread makes the first of them count.
    is_committing: bool,
    /// Nothing comes any more.
    ended: bool,
    /// The number of the first snapshot that will not count, and the first failure. Those before it are written to
    /// their ends.
    failed: Option<(u64, Error)>,
    /// Threads that have not ended.
    threads: usize,
    /// Bytes that wait to be written.
    bytes: usize,
    /// Memory of values that were written, for the next: what the system gives anew, it has to clear first.
    spare: Vec<Vec<u8>>,
}

/// A part of a snapshot, and its bytes of the budget.
struct Waiting {
    snapshot: Snapshot,
    part: Part,
    room: Room,
}

/// A snapshot that is under way.
struct Open {
    snapshot: Snapshot,
    /// Parts that were not written yet.
    left: usize,
    /// What ranks tell the first one of it, until they have.
    told: Option<ToldLater>,
}

/// What a thread is to do.
enum Task {
    Write(Waiting),
    Commit(Snapshot, Option<ToldLater>),
}

impl State {
    fn spare_bytes(&self) -> usize {
        self.spare.iter().map(Vec::capacity).sum()
    }

    /// Whether nothing of the snapshot of this number, or of one before it, has failed.
    fn may_count(&self, index: u64) -> bool {
        self.failed.as_ref().is_none_or(|(first, _)| index < *first)
    }

    /// What a thread does next: nothing for now, or nothing more.
    fn next(&mut self) -> Option<Option<Task>> {
        if self.failed.is_some() && self.open.keys().all(|index| !self.may_count(*index)) {
            return Some(None);
        }
        let whole = self.open.first_key_value().filter(|(_, open)| open.left == 0).map(|(_, open)| open.snapshot);
        if let Some(snapshot) = whole.filter(|one| !self.is_committing && self.may_count(one.index)) {
            self.is_committing = true;
            let told = self.open.get_mut(&snapshot.index).and_then(|open| open.told.take());
            return Some(Some(Task::Commit(snapshot, told)));
        }
        match self.parts.pop_front() {
            Some(waiting) => Some(Some(Task::Write(waiting))),
            // Whoever writes the last part makes its snapshot count.
            None => self.ended.then_some(None),
        }
    }
}

/// Locks what a thread that has panicked leaves as whole as any other.
pub(crate) fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub fn new() -> Shared {
        Shared(Arc::default())
    }

    /// Changes the state, and tells all.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let (mutex, changed) = &*self.0;
        let done = change(&mut lock(mutex));
        changed.notify_all();
        done
    }

    /// Starts so many threads; fewer where the system has no more.
    ///
    /// The time that they take is in the timeline of the program's accelerator, if that has one.
    ///
    /// # Errors
    /// Not a single thread.
    pub fn start(
        &self,
        acc: &TileAcc,
        sink: &Arc<dyn RegionSink>,
        (threads, budget): (usize, usize),
    ) -> Result<Vec<JoinHandle<()>>> {
        let mut started = Vec::new();
        for _ in 0..threads.max(1) {
            let (here, acc, sink) = (self.clone(), acc.clone(), sink.clone());
            // Counted before it can end.
            self.change(|state| state.threads += 1);
            let thread = std::thread::Builder::new().name("tida-io".into());
            match thread.spawn(move || here.serve(&acc, &*sink, budget)) {
                Ok(thread) => started.push(thread),
                Err(e) => {
                    self.change(|state| state.threads -= 1);
                    if started.is_empty() {
                        return Err(Error::io("start a thread that writes snapshots", e));
                    }
                    break;
                }
            }
        }
        Ok(started)
    }

    /// A snapshot of so many parts of this rank begins.
    pub fn begin(&self, snapshot: Snapshot, parts: usize, told: Option<ToldLater>) {
        self.change(|state| state.open.insert(snapshot.index, Open { snapshot, left: parts, told }));
    }

    /// Tells the first rank that what is open does not count; there waits until all others have told. Gives the
    /// snapshots. The threads have ended.
    pub fn close(&self, acc: &TileAcc) -> Vec<Snapshot> {
        let (open, failed) = self.change(|state| (std::mem::take(&mut state.open), state.failed.clone()));
        let not_taken = || {
            let (found, advice) = ("parts of it that were not taken", "`TileAcc::sync` says why");
            Error::new(ErrorKind::Argument, "write a snapshot", found, advice)
        };
        for told in open.values().filter_map(|open| open.told.as_ref()) {
            match acc.rank() {
                0 => drop(all_told(acc, told)),
                _ => {
                    let e = failed.as_ref().map_or_else(not_taken, |(_, e)| e.clone());
                    told.tell(0, &packed(Err(e)));
                }
            }
        }
        open.values().map(|open| open.snapshot).collect()
    }

    /// Nothing comes any more.
    pub fn end(&self) {
        self.change(|state| state.ended = true);
    }

    /// The failure of a thread, if one has failed.
    pub fn check(&self) -> Result<()> {
        lock(&self.0.0).failed.as_ref().map_or(Ok(()), |(_, e)| Err(e.clone()))
    }

    /// Waits until so many bytes more may wait; has what was recorded start before. On several ranks a failure is no
    /// error here: all learn of it at the next snapshot.
    pub fn room(
        &self,
        bytes: usize,
        (budget, on_ranks): (usize, bool),
        start: impl FnOnce() -> tida::Result<()>,
    ) -> Result<Room> {
        let (mutex, changed) = &*self.0;
        let full =
            |state: &mut State| state.failed.is_none() && state.bytes > 0 && state.bytes.saturating_add(bytes) > budget;
        if full(&mut lock(mutex)) {
            start()?;
        }
        let mut state = changed.wait_while(lock(mutex), full).unwrap_or_else(PoisonError::into_inner);
        match &state.failed {
            Some((_, e)) if !on_ranks => Err(e.clone()),
            _ => {
                state.bytes += bytes;
                Ok(Room { bytes, shared: self.clone() })
            }
        }
    }

    /// Memory for so many bytes, which hold anything.
    ///
    /// # Errors
    /// Memory that the system does not have.
    pub fn memory(&self, bytes: usize) -> Result<Values> {
        let mut state = lock(&self.0.0);
        let fits = |spare: &Vec<u8>| spare.len() >= bytes + BLOCK && spare.len() / 2 <= bytes + BLOCK;
        let spare = state.spare.iter().position(fits).map(|place| state.spare.swap_remove(place));
        drop(state);
        Values::with(spare.unwrap_or_default(), bytes).ok_or_else(|| {
            let (found, advice) = (format!("no memory for {bytes} bytes"), "use smaller chunks, or a smaller budget");
            Error::new(ErrorKind::Memory, "take values for a snapshot", found, advice)
        })
    }

    /// Keeps the memory of a part that was written, of as many bytes in all as may wait.
    fn keep(&self, part: Part, budget: usize) {
        let mut state = lock(&self.0.0);
        for memory in part.fields.into_iter().map(Values::into_memory) {
            if state.spare_bytes() + memory.capacity() <= budget {
                state.spare.push(memory);
            }
        }
    }

    /// Nothing of this snapshot and of later ones is written any more. What waits of them makes room.
    fn fail(&self, snapshot: &Snapshot, e: Error) {
        let dropped = self.change(|state| {
            let (first, _) = state.failed.get_or_insert((snapshot.index, e));
            *first = snapshot.index.min(*first);
            let waiting = std::mem::take(&mut state.parts);
            let (kept, dropped) = waiting.into_iter().partition(|waiting| state.may_count(waiting.snapshot.index));
            state.parts = kept;
            dropped
        });
        // Their bytes are given back under the lock.
        drop::<VecDeque<Waiting>>(dropped);
    }

    /// A part comes; after a failure that ends its snapshot it only makes room.
    fn add(&self, waiting: Waiting) {
        let late = self.change(|state| match state.may_count(waiting.snapshot.index) {
            true => {
                state.parts.push_back(waiting);
                None
            }
            false => Some(waiting),
        });
        drop(late);
    }

    /// Waits for the next task; nothing if there will be none.
    fn next(&self) -> Option<Task> {
        let (mutex, changed) = &*self.0;
        let mut state = lock(mutex);
        loop {
            if let Some(next) = state.next() {
                return next;
            }
            state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What each thread does: writes what comes, until nothing comes any more that can count. The last one abandons
    /// what does not count.
    fn serve(&self, acc: &TileAcc, sink: &dyn RegionSink, budget: usize) {
        while let Some(task) = self.next() {
            let done = match task {
                Task::Write(Waiting { snapshot, part, room }) => {
                    let write = || acc.file_span(name("snapshot", &snapshot), || sink.write(&snapshot, &part));
                    let written = guarded(write);
                    self.keep(part, budget);
                    drop(room);
                    self.change(|state| {
                        if let (Ok(()), Some(open)) = (&written, state.open.get_mut(&snapshot.index)) {
                            open.left -= 1;
                        }
                    });
                    (snapshot, written)
                }
                Task::Commit(snapshot, told) => {
                    let commit = || committed(acc, sink, &snapshot, told.as_ref());
                    let committed = guarded(|| acc.file_span(name("commit", &snapshot), commit));
                    if let Some(told) = told.filter(|_| acc.rank() > 0) {
                        told.tell(0, &packed(committed.clone().map(|()| Vec::new())));
                    }
                    self.change(|state| {
                        state.is_committing = false;
                        if committed.is_ok() {
                            state.open.remove(&snapshot.index);
                        }
                    });
                    (snapshot, committed)
                }
            };
            if let (snapshot, Err(e)) = done {
                self.fail(&snapshot, e);
            }
        }
        let left = self.change(|state| {
            state.threads -= 1;
            // Other ranks may write more of what does not count.
            let abandons = state.threads == 0 && acc.ranks() == 1;
            if abandons { std::mem::take(&mut state.open) } else { BTreeMap::new() }
        });
        left.values().for_each(|open| abandoned(sink, &open.snapshot));
    }
}

/// Has a sink remove what does not count. There is no one to tell what fails now.
pub(crate) fn abandoned(sink: &dyn RegionSink, snapshot: &Snapshot) {
    let _ = guarded(|| {
        sink.abandon(snapshot);
        Ok(())
    });
}

/// Makes a snapshot count whose parts this rank has written; on a rank that is not the first, puts them onto the disk.
fn committed(acc: &TileAcc, sink: &dyn RegionSink, snapshot: &Snapshot, told: Option<&ToldLater>) -> Result<()> {
    if acc.rank() > 0 && told.is_some() {
        return sink.settle(snapshot);
    }
    told.map_or(Ok(()), |told| all_told(acc, told))?;
    sink.commit(snapshot)
}

/// Waits for what all other ranks tell the first one.
fn all_told(acc: &TileAcc, told: &ToldLater) -> Result<()> {
    let of = |rank| told.wait(rank).map_err(Error::from).and_then(|bytes| unpacked(rank, &bytes).map(drop));
    // Each tells once.
    (1..acc.ranks()).map(of).fold(Ok(()), Result::and)
}

/// A call of a sink; if it panics, that is its error.
fn guarded(call: impl FnOnce() -> Result<()>) -> Result<()> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| Err(panicked(&*payload)))
}

fn panicked(payload: &(dyn Any + Send)) -> Error {
    let said = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
    let found = format!("that a thread which writes has panicked: {}", said.unwrap_or("it did not say why"));
    Error::new(ErrorKind::Panic, "write snapshots", found, "mend the sink; if it is one of tida's own, report this")
}

/// What a timeline says of the writing of a snapshot.
fn name(what: &str, snapshot: &Snapshot) -> String {
    format!("{what} of step {}", snapshot.step)
}

/// Bytes of the budget, until it is dropped.
pub(crate) struct Room {
    bytes: usize,
    shared: Shared,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.shared.change(|state| state.bytes -= self.bytes);
    }
}

/// A part whose values are to be taken. The threads are told if they never are.
pub(crate) struct Pending {
    snapshot: Snapshot,
    room: Option<Room>,
}

impl Pending {
    pub fn new(snapshot: Snapshot, room: Room) -> Pending {
        Pending { snapshot, room: Some(room) }
    }

    /// Takes the values, and hands them over.
    pub fn fill(mut self, part: impl FnOnce() -> Result<Part>) {
        let Some(room) = self.room.take() else { return };
        let (shared, snapshot) = (room.shared.clone(), self.snapshot);
        match part() {
            Ok(part) => shared.add(Waiting { snapshot, part, room }),
            Err(e) => shared.fail(&snapshot, e),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(room) = self.room.take() {
            let (found, advice) = ("that work which its values need has failed", "`TileAcc::sync` says which");
            let e = Error::new(ErrorKind::Argument, "write a snapshot", found, advice);
            room.shared.fail(&self.snapshot, e);
        }
    }
}
