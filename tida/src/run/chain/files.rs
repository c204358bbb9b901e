//! Planes of arrays whose values lie in files, on their way from the disk to a window and back.
//!
//! They pass through *stages*: memory of the host that the device copies from and to. Threads read ahead of the thread
//! that puts a chain's commands into streams, in the order in which it will want planes, as far as there are stages.
//! One more writes, once the device has filled a stage: what is not on the disk yet is never more than those stages.
//! What is still to be written is not read before it is; reads wait for nothing else.

use std::collections::VecDeque;
use std::mem::take;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::backend::{Event, Memory};
use crate::device::core::DeviceCore;
use crate::device::passages::Passage;
use crate::error::{Error, ErrorKind};
use crate::memory::backing::{ALIGN, Backing};
use crate::memory::storage::Storage;

/// Stages of each direction.
const UP: usize = 4;
const DOWN: usize = 4;

/// Threads that read: as many as write. A disk that does both at once gives each an equal part then; with more that
/// read, writing takes longer, and so does all.
const READERS: usize = 1;

/// Most bytes of a stage: more make no disk faster.
const MOST: usize = 8 << 20;
/// Fewest.
const LEAST: usize = 16 << 10;

/// Bytes around what a stage takes at once: the rest of the blocks at its ends.
const AROUND: usize = 2 * ALIGN;

/// A stretch of a window's memory and of a region.
#[derive(Clone, Copy)]
pub(super) struct Stretch<'a> {
    pub memory: &'a Memory,
    pub place: usize,
    pub storage: &'a Arc<Storage>,
    pub region: usize,
    /// The first byte in the region.
    pub at: usize,
    pub bytes: usize,
}

/// Bytes of a region that pass through one stage.
#[derive(Clone, Debug)]
struct Piece {
    storage: Arc<Storage>,
    region: usize,
    bytes: Range<usize>,
}

impl Piece {
    fn overlaps(&self, other: &Piece) -> bool {
        Arc::ptr_eq(&self.storage, &other.storage)
            && self.region == other.region
            && self.bytes.start < other.bytes.end
            && other.bytes.start < self.bytes.end
    }

    fn is(&self, other: &Piece) -> bool {
        Arc::ptr_eq(&self.storage, &other.storage) && (self.region, &self.bytes) == (other.region, &other.bytes)
    }

    /// Bytes of its file before it in a stage.
    fn lead(&self) -> usize {
        self.storage.backing().map_or(0, |backing| backing.lead(self.region, self.bytes.start))
    }

    /// # Errors
    /// A read that failed.
    fn read(&self, stage: &mut Stage) -> Result<(), Error> {
        let Some(backing) = self.storage.backing() else { return Ok(()) };
        if let Some(used) = stage.used.take() {
            used.finish()?;
        }
        let bytes = self.bytes.len();
        backing.read_blocks(self.region, self.bytes.start, bytes, stage.passage.host.part(0, bytes + AROUND))
    }

    /// # Errors
    /// A write that failed.
    fn write(&self, passage: &mut Passage) -> Result<(), Error> {
        let Some(backing) = self.storage.backing() else { return Ok(()) };
        let bytes = self.bytes.len();
        backing.write_blocks(self.region, self.bytes.start, bytes, passage.host.part(0, bytes + AROUND))
    }
}

/// What a piece passes through to the device.
struct Stage {
    passage: Passage,
    /// The end of the copies out of it.
    used: Option<Arc<dyn Event>>,
}

/// See the module.
pub(super) struct Files {
    /// Bytes that a stage takes at once.
    stage: usize,
    device: Arc<DeviceCore>,
    writer: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    shared: Arc<Shared>,
}

/// What is to be written once an event is reached.
struct Job {
    event: Arc<dyn Event>,
    passage: Passage,
    piece: Piece,
}

/// What the threads share with who gives them work.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// What is to be written, in order.
    writes: VecDeque<Piece>,
    /// Stages that the writer has no use for now, and those of readers.
    down: Vec<Passage>,
    up: Vec<Stage>,
    /// What is to be read, in order; what is being read; and what was.
    wanted: VecDeque<Piece>,
    reading: Vec<Piece>,
    read: Vec<(Piece, Stage)>,
    failure: Option<Error>,
    ended: bool,
}

impl State {
    /// Whether someone reads a piece, will or did.
    fn comes(&self, piece: &Piece) -> bool {
        let mut all = self.wanted.iter().chain(&self.reading).chain(self.read.iter().map(|(piece, _)| piece));
        all.any(|other| other.is(piece))
    }

    /// Has a piece read next that someone waits for. It may come before others that were announced, if there was
    /// nothing to read of it then: one of those has to leave its stage.
    fn hurry(&mut self, piece: &Piece) {
        if self.reading.iter().any(|other| other.is(piece)) {
            return;
        }
        let known = self.wanted.iter().position(|other| other.is(piece));
        if known != Some(0) {
            known.map(|known| self.wanted.remove(known));
            self.wanted.push_front(piece.clone());
        }
        if self.up.is_empty()
            && let Some((other, stage)) = self.read.pop()
        {
            self.wanted.insert(1, other);
            self.up.push(stage);
        }
    }

    /// The next piece to read, if it is there and a stage is free.
    fn next(&mut self) -> Option<(Piece, Stage)> {
        let next = self.wanted.front()?;
        if self.writes.iter().any(|write| write.overlaps(next)) {
            return None;
        }
        let stage = self.up.pop()?;
        let piece = self.wanted.pop_front()?;
        self.reading.push(piece.clone());
        Some((piece, stage))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and tells all.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.lock());
        self.changed.notify_all();
        changed
    }

    /// Waits until `found` gives something.
    ///
    /// # Errors
    /// A read or a write that failed.
    fn wait<T>(&self, mut found: impl FnMut(&mut State) -> Option<T>) -> Result<T, Error> {
        let mut state = self.lock();
        loop {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            if let Some(found) = found(&mut state) {
                return Ok(found);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Reads what is wanted. After a failure nothing more is read.
    fn read(&self) {
        // What was found, or that nothing comes any more.
        let next = |state: &mut State| match state.ended {
            true => Some(None),
            false => state.next().map(Some),
        };
        while let Ok(Some((piece, mut stage))) = self.wait(next) {
            let read = piece.read(&mut stage);
            self.change(|state| {
                state.reading.retain(|other| !other.is(&piece));
                match read {
                    Ok(()) => state.read.push((piece, stage)),
                    Err(error) => {
                        state.up.push(stage);
                        state.failure.get_or_insert(error);
                    }
                }
            });
        }
    }

    /// Writes what comes, in its order. After a failure nothing more is written.
    fn write(&self, jobs: &Receiver<Job>) {
        for Job { event, mut passage, piece } in jobs {
            let filled = event.finish();
            let failed = self.lock().failure.is_some();
            let written = if failed { filled } else { filled.and_then(|()| piece.write(&mut passage)) };
            self.change(|state| {
                state.writes.pop_front();
                state.down.push(passage);
                if let Err(error) = written {
                    state.failure.get_or_insert(error);
                }
            });
        }
    }
}

impl Files {
    /// Bytes that a stage takes at once, where arrays have so many. All take about an eighth of that, in sizes that
    /// passages have: from a twelfth to a sixth.
    pub fn stage(room: u64) -> usize {
        let stages = 8 * (UP + DOWN) as u64;
        let most = usize::try_from(room / stages).unwrap_or(MOST);
        (1 << most.saturating_add(most / 2).clamp(LEAST, MOST).ilog2()) - AROUND
    }

    /// Most bytes of an array that a block of a schedule has: half of the stages of a direction, so that one block
    /// comes while the one before it is on its way on.
    pub fn block(room: u64) -> usize {
        UP.min(DOWN) / 2 * Files::stage(room)
    }

    /// Bytes of all stages.
    pub fn bytes(room: u64) -> u64 {
        ((UP + DOWN) * (Files::stage(room) + AROUND)) as u64
    }

    /// Stages for arrays that have so many bytes.
    ///
    /// # Errors
    /// Threads that the system does not have.
    pub fn new(device: &Arc<DeviceCore>, room: u64) -> Result<Files, Error> {
        let stage = Files::stage(room);
        let passage = || device.passages().take(device.backend(), stage + AROUND);
        let shared = Arc::new(Shared::default());
        shared.change(|state| {
            state.up.extend((0..UP).map(|_| Stage { passage: passage(), used: None }));
            state.down.extend((0..DOWN).map(|_| passage()));
        });
        let (sender, jobs) = mpsc::channel();
        let (device, threads) = (device.clone(), Vec::new());
        let mut files = Files { stage, device, writer: Some(sender), threads, shared };
        let here = files.shared.clone();
        files.start("tida-writer", move || here.write(&jobs))?;
        for _ in 0..READERS {
            let here = files.shared.clone();
            files.start("tida-reader", move || here.read())?;
        }
        Ok(files)
    }

    fn start(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let thread = std::thread::Builder::new().name(name.into()).spawn(run).map_err(|e| {
            let tried = "start the threads that read and write the files of arrays";
            Error::new(ErrorKind::Device, tried, e.to_string(), "free some threads")
        })?;
        self.threads.push(thread);
        Ok(())
    }

    /// The pieces of a stretch, each with how far it is from the start.
    fn pieces(&self, Stretch { storage, region, at, bytes, .. }: Stretch<'_>) -> Vec<(usize, Piece)> {
        // All but the first start with a block of the file.
        let lead = storage.backing().map_or(0, |backing| backing.lead(region, at));
        let mut pieces = Vec::new();
        for start in (0..lead + bytes).step_by(self.stage) {
            let (done, end) = (start.saturating_sub(lead), (start + self.stage - lead).min(bytes));
            pieces.push((done, Piece { storage: storage.clone(), region, bytes: at + done..at + end }));
        }
        pieces
    }

    /// Says that a stretch will be loaded, after those of which that was said before.
    pub fn announce(&self, stretch: Stretch<'_>) {
        let pieces = self.pieces(stretch);
        self.shared.change(|state| {
            for (_, piece) in pieces {
                if !state.comes(&piece) {
                    state.wanted.push_back(piece);
                }
            }
        });
    }

    /// Copies a stretch from the file to the device: waits until it was read, and puts the copies into a stream.
    ///
    /// # Safety
    /// The memory has the stretch. No one uses it until the copies are done, or writes it in the file but for
    /// [`Files::store`].
    ///
    /// # Errors
    /// A read that failed, or a write before; what the driver reports.
    pub unsafe fn load(&mut self, stream: usize, stretch: Stretch<'_>) -> Result<(), Error> {
        self.announce(stretch);
        let backend = self.device.backend();
        for (done, piece) in self.pieces(stretch) {
            let (piece, mut stage) = self.shared.wait(|state| {
                let read = state.read.iter().position(|(other, _)| other.is(&piece));
                read.map(|read| state.read.swap_remove(read)).or_else(|| {
                    state.hurry(&piece);
                    self.shared.changed.notify_all();
                    None
                })
            })?;
            let from = stage.passage.host.start().wrapping_add(piece.lead());
            // SAFETY: both memories have the bytes, and no one has the stage until the mark is reached.
            let put = unsafe { backend.upload(stream, stretch.memory, stretch.place + done, from, piece.bytes.len()) };
            let marked = put.and_then(|()| backend.mark(stream));
            let result = marked.map(|mark| stage.used = Some(mark)).and_then(|()| backend.flush(stream));
            self.shared.change(|state| state.up.insert(0, stage));
            result?;
        }
        Ok(())
    }

    /// Copies a stretch from the device, and has it written to the file: returns before that is done.
    ///
    /// # Safety
    /// The memory has the stretch. No one writes it until the copies are done, or touches it in the file but for this.
    ///
    /// # Errors
    /// A read or a write before that failed; what the driver reports.
    pub unsafe fn store(&mut self, stream: usize, stretch: Stretch<'_>) -> Result<(), Error> {
        let backend = self.device.backend();
        for (done, piece) in self.pieces(stretch) {
            let passage = self.shared.wait(|state| state.down.pop())?;
            let to = passage.host.start().wrapping_add(piece.lead());
            // SAFETY: both memories have the bytes, and the stage is the writer's until it is free again.
            unsafe { backend.download(stream, stretch.memory, stretch.place + done, to, piece.bytes.len())? };
            let event = backend.mark(stream)?;
            backend.flush(stream)?;
            self.shared.lock().writes.push_back(piece.clone());
            if let Some(writer) = &self.writer {
                // It ends after who sends.
                let _ = writer.send(Job { event, passage, piece });
            }
        }
        Ok(())
    }

    /// Waits until all is written.
    ///
    /// # Errors
    /// A read or a write that failed.
    pub fn finish<'a>(mut self, mut backings: impl Iterator<Item = &'a Backing>) -> Result<(), Error> {
        self.end();
        let failure = self.shared.lock().failure.take();
        let settled = backings.try_for_each(|backing| backing.settle());
        failure.map_or(settled, Err)
    }

    fn end(&mut self) {
        drop(self.writer.take());
        self.shared.change(|state| state.ended = true);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        let mut state = self.shared.lock();
        let (down, up, read) = (take(&mut state.down), take(&mut state.up), take(&mut state.read));
        drop(state);
        self.give_back(down, up.into_iter().chain(read.into_iter().map(|(_, stage)| stage)));
    }

    /// Leaves the stages to others.
    fn give_back(&self, down: Vec<Passage>, up: impl Iterator<Item = Stage>) {
        for Stage { passage, used } in up {
            // What copies out of it is done before others have it.
            let _ = used.map(|used| used.finish());
            self.device.passages().give(passage);
        }
        down.into_iter().for_each(|passage| self.device.passages().give(passage));
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.end();
    }
}
