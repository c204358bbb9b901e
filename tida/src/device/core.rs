//! A device of an accelerator: its backend, compiled kernels, small constant memory, and what was done.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use tida_kernels::emit::FaultRecord;

use super::answers::{Answer, Answers};
use super::compiler::{Compiler, Kernels};
use super::counts::Counts;
use super::ledger::{Ledger, Purpose, Reservation};
use super::passages::Passages;
use super::plans::{Found, PlansAsked, StepsKey, StepsWinner, TrialKey, Winner};
use super::timeline::{Recorder, SpanKind, Stats, restart};
use crate::backend::{Backend, COPIES, Event, Memory, STREAMS};
use crate::error::{Error, ErrorKind};

/// A device of one accelerator.
#[derive(Debug)]
pub(crate) struct DeviceCore {
    opened: Arc<Opened>,
    compiler: Arc<Compiler>,
    /// What is asked of plans.
    pub asked: PlansAsked,
    next_stream: AtomicUsize,
    /// What was done so far.
    pub counts: Counts,
    /// Records what runs when, if that is wanted.
    pub timeline: Option<Arc<Recorder>>,
    /// Most bytes of arrays, if that is limited.
    limit: Option<u64>,
    /// Who holds how many of them.
    ledger: Arc<Ledger>,
    /// Most bytes of arrays: the limit, or what was free when that was first asked.
    budget: OnceLock<u64>,
    /// When a node's commands were last seen to be done.
    last_end: Mutex<Instant>,
}

/// A device with what all accelerators on it share.
#[derive(Debug)]
pub(crate) struct Opened {
    backend: Arc<dyn Backend>,
    pub(super) kernels: Kernels,
    /// What timed trials found.
    winners: Found<TrialKey, Winner>,
    /// The same of several steps as one launch.
    steps_winners: Found<StepsKey, StepsWinner>,
    /// Held by who times plans: one launch at a time.
    trying: Mutex<()>,
    /// Records of faults that no launch uses now.
    fault_records: Mutex<Vec<Memory>>,
    /// Tables by content.
    constants: Mutex<HashMap<Box<[u8]>, Arc<Memory>>>,
    /// Where kernels write the values of reductions.
    answers: Arc<Answers>,
    /// What boxes pass through.
    passages: Passages,
}

/// Devices opened so far, by what they were asked for with. They stay open: a driver's context costs more than it
/// holds.
static OPENED: Mutex<Vec<(String, Arc<Opened>)>> = Mutex::new(Vec::new());

impl Opened {
    /// The device that `open` opens, or the one opened before under this name.
    ///
    /// # Errors
    /// As `open`.
    pub fn find(name: &str, open: impl FnOnce() -> Result<Arc<dyn Backend>, Error>) -> Result<Arc<Opened>, Error> {
        let mut known = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, opened)) = known.iter().find(|(other, _)| other == name) {
            return Ok(opened.clone());
        }
        let opened = Arc::new(Opened::new(open()?));
        known.push((name.to_owned(), opened.clone()));
        Ok(opened)
    }

    pub fn new(backend: Arc<dyn Backend>) -> Opened {
        Opened {
            backend,
            kernels: Kernels::default(),
            winners: Found(Mutex::default()),
            steps_winners: Found(Mutex::default()),
            trying: Mutex::default(),
            fault_records: Mutex::default(),
            constants: Mutex::default(),
            answers: Arc::default(),
            passages: Passages::default(),
        }
    }

    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }
}

/// A part in so many of the device's memory is left free.
const RESERVE: u64 = 32;

/// Tables kept for the next launch that needs the same.
const MOST_CONSTANTS: usize = 1024;

impl DeviceCore {
    /// `limit` is the most bytes of arrays.
    pub fn new(opened: Arc<Opened>, asked: PlansAsked, limit: Option<u64>) -> DeviceCore {
        DeviceCore {
            compiler: Arc::new(Compiler::new(opened.clone(), asked.math)),
            opened,
            asked,
            next_stream: AtomicUsize::new(0),
            counts: Counts::default(),
            timeline: None,
            limit,
            ledger: Arc::default(),
            budget: OnceLock::new(),
            last_end: Mutex::new(Instant::now()),
        }
    }

    /// Records what runs when, if that is wanted, and compiles beside what can wait.
    pub fn with_compiler(mut self, timeline: bool, beside: bool) -> DeviceCore {
        self.timeline = timeline.then(|| Arc::new(Recorder::new(Some(&*self.opened.backend))));
        let compiler = Compiler::new(self.opened.clone(), self.asked.math);
        self.compiler = Arc::new(compiler.with_beside(beside).with_timeline(self.timeline.clone()));
        self
    }

    /// What compiles kernels.
    pub fn compiler(&self) -> &Arc<Compiler> {
        &self.compiler
    }

    /// Most bytes of arrays: the limit, or what was free at first less a reserve for what the driver and kernels need.
    pub fn budget(&self) -> u64 {
        *self.budget.get_or_init(|| self.part_of(self.free(), 1))
    }

    /// Bytes of the device's memory that are free now.
    pub fn free(&self) -> u64 {
        self.opened.backend.free_memory().unwrap_or(self.opened.backend.facts().memory)
    }

    /// Says that so many places share what was free, each with a part of its own. Before anything of it is used.
    pub fn share(&self, free: u64, places: u64) {
        self.budget.get_or_init(|| self.part_of(free, places));
    }

    fn part_of(&self, free: u64, places: u64) -> u64 {
        let most = free.saturating_sub(self.opened.backend.facts().memory / RESERVE) / places.max(1);
        self.limit.map_or(most, |limit| limit.min(most))
    }

    /// Reserves bytes for recorded work, which waits for those that are about to leave.
    pub fn try_reserve(&self, purpose: Purpose, bytes: u64) -> Option<Reservation> {
        self.ledger.try_reserve(purpose, bytes, self.budget())
    }

    /// Reserves bytes for work that runs now.
    pub fn try_reserve_now(&self, purpose: Purpose, bytes: u64) -> Option<Reservation> {
        self.ledger.try_reserve_now(purpose, bytes, self.budget())
    }

    /// Reserves all bytes that nobody has, or `most` of them, for work that runs now.
    pub fn reserve_rest(&self, purpose: Purpose, most: u64) -> Reservation {
        self.ledger.reserve_rest(purpose, most, self.budget())
    }

    /// Bytes that are promised to nobody.
    pub fn room(&self) -> u64 {
        self.ledger.room(self.budget())
    }

    /// Bytes that windows and regions of chains hold.
    pub fn held_by_chains(&self) -> u64 {
        self.ledger.held(Purpose::Chains)
    }

    /// Waits until as many bytes are promised to nobody, for 50 ms at most; whether they are.
    pub fn wait_for_room(&self, bytes: u64) -> bool {
        self.ledger.wait_for_room(bytes, self.budget())
    }

    /// Memory for bytes that were reserved: of arrays those of `of`, which they hold until the memory is free.
    ///
    /// # Errors
    /// Memory that the device does not have, or that the limit does not leave.
    pub fn allocate(&self, purpose: Purpose, bytes: usize, of: Option<Arc<Reservation>>) -> Result<Memory, Error> {
        let allocated = self.ledger.allocate(purpose, bytes as u64, self.limit);
        let allocated = allocated.ok_or_else(|| self.no_room(bytes as u64))?;
        // Dropped in this order.
        Memory::new(&self.opened.backend, bytes).map(|memory| memory.holding((allocated, of)))
    }

    /// Memory for a table beside arrays, which the limit does not count.
    ///
    /// # Errors
    /// Memory that the device does not have.
    pub fn table(&self, bytes: usize) -> Result<Memory, Error> {
        self.allocate(Purpose::Tables, bytes, None)
    }

    /// The error of too little room for so many bytes.
    pub fn no_room(&self, bytes: u64) -> Error {
        let (room, budget) = (self.room(), self.budget());
        Error::new(
            ErrorKind::Memory,
            format!("put an array of {bytes} bytes on {}", self.opened.backend.facts().name),
            format!("room for {room} of {budget} bytes of arrays there: {}", self.ledger),
            "raise the limit, use smaller arrays or element types, or drop arrays that are not needed",
        )
    }

    /// Plans work for so many bytes, which were reserved, and has `make` allocate what the plan takes. Where another
    /// process has taken memory, it is planned again for what is free, or for three quarters where the driver does not
    /// say.
    ///
    /// # Errors
    /// What `plan` says of all bytes, or else `make` of the fewest.
    pub fn allocate_planned<P, T>(
        &self,
        mut bytes: u64,
        mut plan: impl FnMut(u64) -> Result<P, Error>,
        mut make: impl FnMut(P) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut planned = plan(bytes)?;
        loop {
            let error = match make(planned) {
                Err(error) if error.kind() == ErrorKind::Memory => error,
                made => return made,
            };
            let free = self.opened.backend.free_memory().filter(|free| *free < bytes);
            bytes = free.unwrap_or(bytes / 4 * 3);
            let Ok(less) = plan(bytes) else { return Err(error) };
            tracing::warn!(%error, bytes, "others have taken memory of the device: work that streams does with less");
            planned = less;
        }
    }

    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.opened.backend
    }

    /// The device with what all accelerators on it share.
    pub fn opened(&self) -> &Arc<Opened> {
        &self.opened
    }

    /// What tells it from other devices of the process.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.opened).addr()
    }

    /// Whether its kernels read the memory of the other device, which reads its memory.
    pub fn is_joined_to(&self, other: &DeviceCore) -> bool {
        let (one, two) = (self.backend(), other.backend());
        Arc::ptr_eq(one, two) || (one.reaches(&**two) && two.reaches(&**one))
    }

    /// What trials found.
    pub fn winners(&self) -> &Found<TrialKey, Winner> {
        &self.opened.winners
    }

    /// What trials of several steps as one launch found.
    pub fn steps_winners(&self) -> &Found<StepsKey, StepsWinner> {
        &self.opened.steps_winners
    }

    /// What who times plans holds.
    pub fn trying(&self) -> &Mutex<()> {
        &self.opened.trying
    }

    /// The next stream in turn.
    pub fn any_stream(&self) -> usize {
        self.next_stream.fetch_add(1, Ordering::Relaxed) % STREAMS
    }

    /// A record of faults for a launch in this stream, zero before it.
    pub fn fault_record(&self, stream: usize) -> Result<Memory, Error> {
        let known = self.opened.fault_records.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let record = known.map_or_else(|| Memory::new(&self.opened.backend, size_of::<FaultRecord>()), Ok)?;
        // SAFETY: the record has as many bytes, and no launch uses it.
        unsafe { self.opened.backend.zero(stream, &record, 0, size_of::<FaultRecord>())? };
        Ok(record)
    }

    /// A place of the host's memory that a kernel may write the value of a reduction to, if there is one.
    pub fn answer(&self) -> Option<Answer> {
        self.opened.answers.take(&self.opened.backend)
    }

    /// What boxes pass through between host and device.
    pub fn passages(&self) -> &Passages {
        &self.opened.passages
    }

    /// Gives a record back once its launch is done.
    pub fn give_fault_record(&self, record: Memory) {
        self.opened.fault_records.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }

    /// Memory that holds these bytes and is never written.
    ///
    /// # Errors
    /// Memory that the device does not have, or a copy that failed.
    pub fn constants(&self, bytes: &[u8]) -> Result<Arc<Memory>, Error> {
        if let Some(memory) = self.opened.constants.lock().unwrap_or_else(PoisonError::into_inner).get(bytes) {
            return Ok(memory.clone());
        }
        let memory = Arc::new(Memory::new(&self.opened.backend, bytes.len())?);
        // SAFETY: the new memory has as many bytes, no one else knows it, and the copy is done before `bytes` ends.
        unsafe { self.upload_now(&memory, 0, bytes.as_ptr(), bytes.len())? };
        self.host_waited();
        let mut constants = self.opened.constants.lock().unwrap_or_else(PoisonError::into_inner);
        if constants.len() >= MOST_CONSTANTS {
            // Launches under way hold theirs.
            constants.clear();
        }
        Ok(constants.entry(bytes.into()).or_insert(memory).clone())
    }

    /// Copies to the device and waits for the end.
    ///
    /// # Safety
    /// As [`Backend::upload`], until this returns.
    pub unsafe fn upload_now(&self, to: &Memory, at: usize, from: *const u8, bytes: usize) -> Result<(), Error> {
        self.counts.upload(bytes);
        // SAFETY: the caller's promise.
        self.timed(SpanKind::H2d, "a table", COPIES, bytes, || unsafe {
            self.opened.backend.upload(COPIES, to, at, from, bytes)
        })?;
        self.opened.backend.record(COPIES)?.finish()
    }

    /// Copies to the host and waits for the end.
    ///
    /// # Safety
    /// As [`Backend::download`], until this returns.
    pub unsafe fn download_now(&self, from: &Memory, at: usize, to: *mut u8, bytes: usize) -> Result<(), Error> {
        // SAFETY: handed on.
        unsafe { self.download_named("a value", from, std::iter::once((at, to, bytes))) }
    }

    /// As [`DeviceCore::download_now`], of several pieces, each with its place, where it goes to and its bytes; with a
    /// name for the timeline.
    ///
    /// # Safety
    /// As [`Backend::download`], until this returns.
    pub unsafe fn download_named(
        &self,
        name: impl Display,
        from: &Memory,
        pieces: impl Iterator<Item = (usize, *mut u8, usize)> + Clone,
    ) -> Result<(), Error> {
        let bytes = pieces.clone().map(|(.., bytes)| bytes).sum();
        self.counts.download(bytes);
        let mut pieces = pieces;
        let put = || {
            // SAFETY: the caller's promise.
            pieces.try_for_each(|(at, to, bytes)| unsafe { self.opened.backend.download(COPIES, from, at, to, bytes) })
        };
        self.timed(SpanKind::D2h, name, COPIES, bytes, put)?;
        self.opened.backend.record(COPIES)?.finish()
    }

    /// Says that a node's commands were seen to be done.
    pub fn ended(&self) {
        *self.last_end.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// When that was last said.
    pub fn last_end(&self) -> Instant {
        *self.last_end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was counted so far.
    pub fn stats(&self) -> Stats {
        let (compiled, compile_seconds) = self.compiler.counted();
        Stats { compiled, compile_seconds, ..self.counts.stats() }
    }

    /// Runs `f`, which puts commands into a stream: with a timeline, as a span of it. `bytes` are those that it copies
    /// over the link.
    pub fn timed<T>(
        &self,
        kind: SpanKind,
        name: impl Display,
        stream: usize,
        bytes: usize,
        f: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        match &self.timeline {
            Some(recorder) => recorder.around(&**self.backend(), (kind, name), (stream, bytes), f),
            None => f(),
        }
    }

    /// Lets a stream wait for an event. The span that this thread is in starts after that.
    ///
    /// # Errors
    /// What the device says of the event.
    pub fn wait(&self, stream: usize, event: &dyn Event) -> Result<(), Error> {
        self.backend().wait(stream, event)?;
        self.host_waited();
        Ok(())
    }

    /// The host, or the stream, was busy with something else than the span that it is in.
    pub fn host_waited(&self) {
        if self.timeline.is_some() {
            restart(&**self.backend());
        }
    }
}
