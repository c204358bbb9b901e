//! The thread that writes, and what it shares with the program.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tida::TileAcc;

use crate::sink::{Part, RegionSink, Snapshot};
use crate::{Error, Result};

/// What the thread is told.
pub(crate) enum Message {
    /// A snapshot of so many parts begins.
    Begin { snapshot: Snapshot, parts: usize },
    /// A part of the snapshot of this number.
    Part { index: u64, part: Part, room: Room },
    /// A part that could not be had, and why; without a reason if work that its values need has failed.
    Lost { why: Option<Error> },
    /// Nothing comes any more.
    End,
}

/// What the program and the thread share.
#[derive(Clone)]
pub(crate) struct Shared {
    sender: Sender<Message>,
    state: Arc<(Mutex<Waiting>, Condvar)>,
}

#[derive(Default)]
struct Waiting {
    /// Bytes that wait to be written.
    bytes: usize,
    failed: Option<Error>,
    /// Memory of values that were written, for the next: what the system gives anew, it has to clear first.
    spare: Vec<Vec<u8>>,
}

impl Waiting {
    fn spare_bytes(&self) -> usize {
        self.spare.iter().map(Vec::capacity).sum()
    }
}

fn lock(state: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub fn new() -> (Shared, Receiver<Message>) {
        let (sender, receiver) = channel();
        (Shared { sender, state: Arc::default() }, receiver)
    }

    /// Tells the thread; if it has ended, nobody needs to be told.
    pub fn send(&self, message: Message) {
        let _ = self.sender.send(message);
    }

    /// The failure of the thread, if it has failed.
    pub fn check(&self) -> Result<()> {
        lock(&self.state.0).failed.clone().map_or(Ok(()), Err)
    }

    /// Waits until so many bytes more may wait; has what was recorded start before.
    pub fn room(&self, bytes: usize, budget: usize, start: impl FnOnce() -> tida::Result<()>) -> Result<Room> {
        let (mutex, changed) = &*self.state;
        let full = |waiting: &mut Waiting| {
            waiting.failed.is_none() && waiting.bytes > 0 && waiting.bytes.saturating_add(bytes) > budget
        };
        if full(&mut lock(mutex)) {
            start()?;
        }
        let mut waiting = changed.wait_while(lock(mutex), full).unwrap_or_else(PoisonError::into_inner);
        match &waiting.failed {
            Some(e) => Err(e.clone()),
            None => {
                waiting.bytes += bytes;
                Ok(Room { bytes, state: self.state.clone() })
            }
        }
    }

    /// Memory for so many bytes, which hold anything.
    ///
    /// # Errors
    /// Memory that the system does not have.
    pub fn memory(&self, bytes: usize) -> Result<Vec<u8>> {
        let mut waiting = lock(&self.state.0);
        let fits = |spare: &Vec<u8>| spare.capacity() >= bytes && spare.capacity() / 2 <= bytes;
        let spare = waiting.spare.iter().position(fits).map(|place| waiting.spare.swap_remove(place));
        drop(waiting);
        let mut memory = spare.unwrap_or_default();
        memory.try_reserve_exact(bytes.saturating_sub(memory.len())).map_err(|_| {
            let (found, advice) = (format!("no memory for {bytes} bytes"), "use smaller chunks, or a smaller budget");
            Error::new(tida::ErrorKind::Memory, "take values for a snapshot", found, advice)
        })?;
        memory.resize(bytes, 0);
        Ok(memory)
    }

    /// Keeps the memory of a part that was written, of as many bytes in all as may wait.
    fn keep(&self, part: Part, budget: usize) {
        let mut waiting = lock(&self.state.0);
        for memory in part.fields {
            if waiting.spare_bytes() + memory.capacity() <= budget {
                waiting.spare.push(memory);
            }
        }
    }

    fn fail(&self, e: Error) {
        let (mutex, changed) = &*self.state;
        lock(mutex).failed.get_or_insert(e);
        changed.notify_all();
    }
}

/// Bytes of the budget, until it is dropped.
pub(crate) struct Room {
    bytes: usize,
    state: Arc<(Mutex<Waiting>, Condvar)>,
}

impl Drop for Room {
    fn drop(&mut self) {
        let (mutex, changed) = &*self.state;
        lock(mutex).bytes -= self.bytes;
        changed.notify_all();
    }
}

/// A part whose values are to be taken. The thread is told if they never are.
pub(crate) struct Pending {
    shared: Shared,
    index: u64,
    room: Option<Room>,
}

impl Pending {
    pub fn new(shared: &Shared, index: u64, room: Room) -> Pending {
        Pending { shared: shared.clone(), index, room: Some(room) }
    }

    /// Hands the values on.
    pub fn fill(mut self, part: impl FnOnce() -> Result<Part>) {
        if let Some(room) = self.room.take() {
            let index = self.index;
            self.shared.send(match part() {
                Ok(part) => Message::Part { index, part, room },
                Err(e) => Message::Lost { why: Some(e) },
            });
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.room.take().is_some() {
            self.shared.send(Message::Lost { why: None });
        }
    }
}

/// A snapshot that is under way.
struct Open {
    snapshot: Snapshot,
    /// Parts that were not written yet.
    left: usize,
}

/// What a timeline says of the writing of a snapshot.
fn name(what: &str, snapshot: &Snapshot) -> String {
    format!("{what} of step {}", snapshot.step)
}

/// Writes what comes, until nothing comes any more.
///
/// The time that it takes is in the timeline of the program's accelerator, if that has one.
pub(crate) fn serve(
    acc: &TileAcc,
    mut sink: Box<dyn RegionSink>,
    messages: &Receiver<Message>,
    shared: &Shared,
    budget: usize,
) {
    let mut open: BTreeMap<u64, Open> = BTreeMap::new();
    let mut failed = false;
    for message in messages {
        let done = match message {
            Message::End => break,
            // What still comes only makes room.
            _ if failed => continue,
            Message::Begin { snapshot, parts } => {
                open.insert(snapshot.index, Open { snapshot, left: parts });
                Ok(())
            }
            Message::Part { index, part, room } => {
                let written = open.get_mut(&index).map_or(Ok(()), |open| {
                    open.left -= 1;
                    acc.file_span(name("snapshot", &open.snapshot), || sink.write(&open.snapshot, &part))
                });
                shared.keep(part, budget);
                drop(room);
                written.and_then(|()| commit(acc, &mut *sink, &mut open))
            }
            Message::Lost { why } => Err(why.unwrap_or_else(|| {
                let (found, advice) = ("that work which its values need has failed", "`TileAcc::sync` says which");
                Error::new(tida::ErrorKind::Argument, "write a snapshot", found, advice)
            })),
        };
        if let Err(e) = done {
            failed = true;
            std::mem::take(&mut open).values().for_each(|open| sink.abandon(&open.snapshot));
            shared.fail(e);
        }
    }
    open.values().for_each(|open| sink.abandon(&open.snapshot));
}

/// Commits the snapshots that are whole, in their order.
fn commit(acc: &TileAcc, sink: &mut dyn RegionSink, open: &mut BTreeMap<u64, Open>) -> Result<()> {
    while let Some(first) = open.first_entry().filter(|first| first.get().left == 0) {
        let snapshot = &first.get().snapshot;
        acc.file_span(name("commit", snapshot), || sink.commit(snapshot))?;
        first.remove();
    }
    Ok(())
}
