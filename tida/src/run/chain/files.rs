//! Planes of arrays whose values lie in files, on their way from the disk to a window and back.
//!
//! They pass through *stages*: memory of the host that the device copies from and to. The thread that puts a chain's
//! commands into streams reads: it waits for the disk and for a stage that is free, and the device works meanwhile. A
//! thread of its own writes, once the device has filled a stage: what is not on the disk yet is never more than those
//! stages. Who reads what is still to be written waits for that, and for nothing else.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::backend::{Event, HostBlock, Memory};
use crate::device::core::DeviceCore;
use crate::error::{Error, ErrorKind};
use crate::memory::backing::{ALIGN, Backing};
use crate::memory::storage::Storage;

/// Stages of each direction.
const UP: usize = 3;
const DOWN: usize = 5;

/// Most bytes of a stage: more make no disk faster.
const MOST: u64 = 8 << 20;
/// Fewest.
const LEAST: u64 = 64 << 10;

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

/// See the module.
pub(super) struct Files {
    /// Bytes that a stage takes at once.
    stage: usize,
    up: Vec<UpStage>,
    next: usize,
    writer: Option<(Sender<Job>, JoinHandle<()>)>,
    shared: Arc<Shared>,
    number: u64,
}

struct UpStage {
    block: HostBlock,
    /// The end of the copies out of it.
    used: Option<Arc<dyn Event>>,
}

/// What is to be written once an event is reached.
struct Job {
    event: Arc<dyn Event>,
    block: HostBlock,
    storage: Arc<Storage>,
    region: usize,
    at: usize,
    bytes: usize,
    number: u64,
}

/// What the writer shares with who gives it work.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// What is to be written: its number, array, region, and bytes.
    pending: VecDeque<(u64, *const Storage, usize, Range<usize>)>,
    free: Vec<HostBlock>,
    failure: Option<Error>,
}

// SAFETY: the addresses of arrays are compared, and never used.
unsafe impl Send for State {}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `found` gives something.
    ///
    /// # Errors
    /// A write that failed.
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

    /// Writes what comes, in its order. After a failure nothing more is written.
    fn write(&self, jobs: &Receiver<Job>) {
        for Job { event, mut block, storage, region, at, bytes, number } in jobs {
            let filled = event.finish();
            let failed = self.lock().failure.is_some();
            let written = match storage.backing() {
                Some(backing) if !failed => filled.and_then(|()| {
                    let from = block.part(0, usize::MAX / 2);
                    backing.write_blocks(region, at, bytes, from)
                }),
                _ => filled,
            };
            let mut state = self.lock();
            state.pending.retain(|(other, ..)| *other != number);
            state.free.push(block);
            if let Err(error) = written {
                state.failure.get_or_insert(error);
            }
            drop(state);
            self.changed.notify_all();
        }
    }
}

impl Files {
    /// Stages beside windows of so many bytes.
    ///
    /// # Errors
    /// A thread that the system does not have.
    pub fn new(device: &DeviceCore, room: u64) -> Result<Files, Error> {
        let stage = (room / (8 * (UP + DOWN) as u64)).clamp(LEAST, MOST) as usize / ALIGN * ALIGN;
        let block = || HostBlock::new(device.backend(), stage + 2 * ALIGN);
        let up = (0..UP).map(|_| UpStage { block: block(), used: None }).collect();
        let shared = Arc::new(Shared::default());
        shared.lock().free.extend((0..DOWN).map(|_| block()));
        let (sender, jobs) = mpsc::channel();
        let here = shared.clone();
        let thread = std::thread::Builder::new().name("tida-writer".into()).spawn(move || here.write(&jobs));
        let thread = thread.map_err(|e| {
            let tried = "start the thread that writes arrays to files";
            Error::new(ErrorKind::Device, tried, e.to_string(), "free some threads")
        })?;
        Ok(Files { stage, up, next: 0, writer: Some((sender, thread)), shared, number: 0 })
    }

    /// Copies a stretch from the file to the device: reads it now, and puts the copies into a stream.
    ///
    /// # Safety
    /// The memory has the stretch. No one uses it until the copies are done, or writes it in the file but for
    /// [`Files::store`].
    ///
    /// # Errors
    /// A read that failed, or one of a write before; what the driver reports.
    pub unsafe fn load(&mut self, device: &DeviceCore, stream: usize, stretch: Stretch<'_>) -> Result<(), Error> {
        let Stretch { memory, place, storage, region, at, bytes } = stretch;
        let Some(backing) = storage.backing() else { return Ok(()) };
        let (array, here) = (Arc::as_ptr(storage), at..at + bytes);
        let overlaps = |(_, other, of, range): &(u64, *const Storage, usize, Range<usize>)| {
            std::ptr::eq(*other, array) && *of == region && range.start < here.end && here.start < range.end
        };
        self.shared.wait(|state| (!state.pending.iter().any(overlaps)).then_some(()))?;
        for done in (0..bytes).step_by(self.stage) {
            let bytes = self.stage.min(bytes - done);
            let number = self.next % self.up.len();
            self.next += 1;
            let stage = &mut self.up[number];
            if let Some(used) = stage.used.take() {
                used.finish()?;
            }
            backing.read_blocks(region, at + done, bytes, stage.block.part(0, self.stage + 2 * ALIGN))?;
            let from = stage.block.start().wrapping_add(backing.lead(region, at + done));
            let backend = device.backend();
            // SAFETY: both memories have the bytes, and the stage is no one else's until the mark is reached.
            unsafe { backend.upload(stream, memory, place + done, from, bytes)? };
            stage.used = Some(backend.mark(stream)?);
            backend.flush(stream)?;
        }
        Ok(())
    }

    /// Copies a stretch from the device, and has it written to the file: returns before that is done.
    ///
    /// # Safety
    /// The memory has the stretch. No one writes it until the copies are done, or touches it in the file but for this.
    ///
    /// # Errors
    /// A write before that failed; what the driver reports.
    pub unsafe fn store(&mut self, device: &DeviceCore, stream: usize, stretch: Stretch<'_>) -> Result<(), Error> {
        let Stretch { memory, place, storage, region, at, bytes } = stretch;
        let Some(backing) = storage.backing() else { return Ok(()) };
        for done in (0..bytes).step_by(self.stage) {
            let (at, bytes) = (at + done, self.stage.min(bytes - done));
            let block = self.shared.wait(|state| state.free.pop())?;
            let to = block.start().wrapping_add(backing.lead(region, at));
            let backend = device.backend();
            // SAFETY: both memories have the bytes, and the stage is the writer's until it is free again.
            unsafe { backend.download(stream, memory, place + done, to, bytes)? };
            let event = backend.mark(stream)?;
            backend.flush(stream)?;
            self.number += 1;
            self.shared.lock().pending.push_back((self.number, Arc::as_ptr(storage), region, at..at + bytes));
            let job = Job { event, block, storage: storage.clone(), region, at, bytes, number: self.number };
            if let Some((sender, _)) = &self.writer {
                // It ends after who sends.
                let _ = sender.send(job);
            }
        }
        Ok(())
    }

    /// Waits until all is written.
    ///
    /// # Errors
    /// A write that failed.
    pub fn finish<'a>(mut self, mut backings: impl Iterator<Item = &'a Backing>) -> Result<(), Error> {
        self.end();
        let failure = self.shared.lock().failure.take();
        let settled = backings.try_for_each(|backing| backing.settle());
        failure.map_or(settled, Err)
    }

    fn end(&mut self) {
        if let Some((sender, thread)) = self.writer.take() {
            drop(sender);
            let _ = thread.join();
        }
        // What copies out of stages is done before these are given back.
        for stage in &mut self.up {
            let _ = stage.used.take().map(|used| used.finish());
        }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.end();
    }
}
