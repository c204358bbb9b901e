//! A device that is simulated: memory, link and kernels of chosen size and speed, on a virtual clock.
//!
//! Commands wait in their streams until someone asks for an event. Then the simulation runs on: each command starts
//! when those before it in its stream are done, the events that it waits for are reached and the engine that serves it
//! is free. There is an engine for copies each way (or one for both), and one for kernels; each serves one command at a
//! time, in the order in which commands become ready. Devices of a cluster (`cluster.rs`) are on one clock, and have
//! links that are engines too. The memory of the device is memory of the host, poisoned when it is allocated, given
//! back or evicted, and commands change it in the order of virtual time. So a wait that is missing between streams
//! leads to wrong data, and not only on the day when the timing is bad; `work.rs` says which half of a command does
//! what.
//!
//! **Whose turn it is.** The clock of a cluster that somebody describes stands still while a thread may give commands
//! that come before those there are: while nodes are launched or ended, and until the program waits for something. So
//! virtual time does not depend on which thread is quick. If nobody does anything for a while, it goes on all the same.
//! Devices that are only named, such as `sim:4`, run on whenever someone asks for an event.
//!
//! **Time.** The host takes none. A command is given at the latest time that the host has waited for; events that a
//! thread only keeps books of do not count as such ([`Event::settle`]).
//!
//! **Kernels** are the native ones, run on the thread that asks ([`Backend::launch_native`]). Nothing is compiled. A
//! kernel takes its latency and the time of its cells, whatever it computes; what does the work of several takes what
//! the library's models say of it, in cells of a plain sweep.

mod cluster;
mod copies;
mod memory;
mod planted;
mod probe;
mod stream;
#[cfg(test)]
mod tests;
mod work;

use std::sync::Arc;

use tida_kernels::emit::copies::{BoxCopy, Kind};

use self::cluster::Joined;
pub use self::cluster::{SimCluster, SimLink};
use self::memory::Pool;
use self::planted::Planted;
pub use self::planted::SimFault;
pub use self::probe::{SimDevice, SimReport};
use self::stream::{Engine, Shared, SimEvent};
use self::work::{Launch, Run, Stretch, Taken, Work};
use super::native::stand_in;
use super::{Argument, Backend, Code, Event, Facts, Flaws, Kernel, Memory, Native, NativeWork};
use crate::error::{Error, ErrorKind};

/// A simulated device of its own, or `beside` another one: on one clock with it. They wait for events of one another,
/// and read one another's memory where their cluster joins them; its devices are opened in their order.
///
/// # Errors
/// [`ErrorKind::Argument`]: what cannot be simulated.
pub(crate) fn open(spec: SimDevice, beside: Option<&dyn Backend>) -> Result<Arc<dyn Backend>, Error> {
    let beside = beside.and_then(Backend::simulated).map(|sim| &*sim.shared);
    Ok(Arc::new(Sim::new(spec, beside)?))
}

/// What an object that another backend made leads to.
fn foreign(what: &str) -> Error {
    Error::new(
        ErrorKind::Argument,
        format!("use {what} on a simulated device"),
        "one of another device",
        "report this as a bug of tida",
    )
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Sim {
    facts: Facts,
    shared: Arc<Shared>,
}

impl Sim {
    fn new(spec: SimDevice, beside: Option<&Shared>) -> Result<Sim, Error> {
        spec.check()?;
        Ok(Sim { facts: spec.facts(), shared: Arc::new(Shared::new(spec, beside)) })
    }

    /// Whether only the clock runs.
    fn is_null(&self) -> bool {
        self.shared.spec.is_null()
    }

    /// What it did so far, once all is done that was given.
    pub fn report(&self) -> SimReport {
        self.shared.report()
    }

    /// The device whose memory this is, if it is another one, and what joins it to this one.
    fn giver(&self, from: &Memory) -> Option<(usize, Joined)> {
        let other = from.backend().simulated().filter(|other| self.shared.is_beside(&other.shared))?;
        let number = other.shared.number();
        Some((number, self.shared.spec.reads(number)?))
    }

    /// Launches copies of boxes of values of a scalar type. A failure is that of the next event of the stream.
    ///
    /// # Safety
    /// The places are inside the memories, which are there until the copies are done, with no one else writing them or
    /// reading what is written.
    unsafe fn copy_boxes(
        &self,
        stream: usize,
        kind: Kind,
        list: &Arc<[BoxCopy]>,
        (to, from): (&Memory, &Memory),
    ) -> Result<(), Error> {
        if self.shared.planted.happens(SimFault::LostGhosts) {
            return Ok(());
        }
        let half = self.shared.planted.happens(SimFault::HalfGhosts).then(|| Arc::from(&list[..list.len() / 2]));
        let list: &Arc<[BoxCopy]> = half.as_ref().unwrap_or(list);
        let cells: u64 = list.iter().map(|copy| copy.extent.iter().product::<u64>()).sum();
        let bytes = cells * kind.scalar().size() as u64;
        let (uses, giver) = ([whole(to), whole(from)], self.giver(from));
        let (list, to, from) = (list.clone(), to.raw(), from.raw());
        if let Some((giver, joined)) = giver {
            self.shared.count_taken(bytes);
            // A null device copies nothing.
            let list = if self.is_null() { &[] } else { &*list };
            let work = Work::Taken(Box::new(Taken::new(kind, list, (to, from))));
            // SAFETY: handed on.
            return unsafe { self.shared.give(stream, Engine::Link(giver), joined.ticks(bytes), uses, work) };
        }
        let run = move |_| {
            // SAFETY: the caller's promise.
            unsafe { copies::run(kind, &list, to, from) };
            Ok(())
        };
        // SAFETY: handed on.
        unsafe { self.launch_work(stream, NativeWork::over((cells, 2 * bytes), Box::new(run)), uses, true) }
    }

    /// Launches work on memory that has to be there still; with `tell` a failure is also the stream's.
    ///
    /// # Safety
    /// As [`Backend::launch_native`].
    unsafe fn launch_work(&self, stream: usize, work: NativeWork, uses: [Stretch; 2], tell: bool) -> Result<(), Error> {
        let NativeWork { run, cells, takes, moves, kind, outcome, .. } = work;
        let number = self.shared.next_kernel(cells);
        let failure = self.shared.spec.kernel_fails(number).then(|| {
            let advice = "run without `SimDevice::fail_kernel`";
            Error::new(
                ErrorKind::Device,
                format!("run kernel {number} of a simulated device"),
                "one that fails",
                advice,
            )
        });
        let planted = &self.shared.planted;
        let flaws = Flaws {
            reads_ghosts: kind.reads_inside && planted.happens(SimFault::ReadGhosts),
            too_shallow: kind.several_steps && planted.happens(SimFault::ShallowSteps),
            leaves_last: kind.several_sweeps && planted.happens(SimFault::LostSweep),
        };
        let nothing = self.is_null() || (!tell && planted.happens(SimFault::LostKernel));
        let known = match &failure {
            Some(failure) => Some(Err(failure.clone())),
            None => nothing.then_some(Ok(())),
        };
        let run = known.is_none().then(|| -> Run { Box::new(move || run(flaws)) });
        known.into_iter().for_each(|result| outcome.set(result));
        // Multiples of an irrational number: no pattern of kernels is always on one side.
        let early = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 0;
        let work = Work::Kernel(Launch { run, early, outcome, tell, failure });
        let ticks = self.shared.spec.kernel_ticks(takes, moves);
        // SAFETY: the caller's promise.
        unsafe { self.shared.give(stream, Engine::Kernels, ticks, uses, work) }
    }
}

fn stretch(memory: &Memory, at: usize, bytes: usize) -> Stretch {
    Stretch { raw: memory.raw(), at, bytes }
}

fn whole(memory: &Memory) -> Stretch {
    stretch(memory, 0, memory.bytes())
}

impl Backend for Sim {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn free_memory(&self) -> Option<u64> {
        Some(self.shared.pool.free_bytes())
    }

    fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        self.shared.pool.allocate(bytes)
    }

    unsafe fn free(&self, raw: u64, _bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.shared.pool.free(raw) }
    }

    fn export(&self, memory: &Memory) -> Result<Option<Vec<u8>>, Error> {
        Ok((!self.is_null()).then(|| Pool::export(memory.raw())))
    }

    unsafe fn import(&self, exported: &[u8], bytes: usize) -> Result<u64, Error> {
        self.shared.pool.import(exported, bytes)
    }

    unsafe fn let_go(&self, raw: u64) {
        self.shared.pool.let_go(raw);
    }

    fn address(&self, memory: &Memory) -> Option<u64> {
        (!self.is_null()).then(|| memory.raw())
    }

    unsafe fn pin(&self, _base: *mut u8, _bytes: usize) -> bool {
        true
    }

    unsafe fn unpin(&self, _base: *mut u8) {}

    fn compile(&self, code: &Code<'_>) -> Result<Arc<dyn Kernel>, Error> {
        stand_in(code, "a simulated device")
    }

    unsafe fn upload(&self, stream: usize, to: &Memory, at: usize, from: *const u8, bytes: usize) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        self.shared.count(bytes, 0);
        if self.shared.planted.happens(SimFault::StaleOnDevice) {
            return Ok(());
        }
        let (ticks, block, to) = (self.shared.spec.upload_ticks(bytes), to.bytes(), stretch(to, at, bytes));
        let to = if self.shared.planted.happens(SimFault::WrongPlace) { Planted::beside(to, block) } else { to };
        let work = Work::Upload { from, to };
        // SAFETY: the caller's promise.
        unsafe { self.shared.give(stream, Engine::Upload, ticks, [to, Stretch::default()], work) }
    }

    unsafe fn download(&self, stream: usize, from: &Memory, at: usize, to: *mut u8, bytes: usize) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        self.shared.count(0, bytes);
        if self.shared.planted.happens(SimFault::StaleOnHost) {
            return Ok(());
        }
        let bytes = if self.shared.planted.happens(SimFault::TornDownload) { bytes / 2 } else { bytes };
        let (ticks, from) = (self.shared.spec.download_ticks(bytes), stretch(from, at, bytes));
        if self.shared.planted.happens(SimFault::EarlyEviction) {
            // SAFETY: it lies in the memory that the caller says is there.
            unsafe { self.shared.give(stream, Engine::None, 0, [from, Stretch::default()], Work::Poison(from))? };
        }
        let work = Work::Download { from, to };
        // SAFETY: the caller's promise.
        unsafe { self.shared.give(stream, Engine::Download, ticks, [from, Stretch::default()], work) }
    }

    unsafe fn copy(
        &self,
        stream: usize,
        (from, from_at): (&Memory, usize),
        (to, to_at): (&Memory, usize),
        bytes: usize,
    ) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        if self.shared.planted.happens(SimFault::LostCopy) {
            return Ok(());
        }
        let (engine, ticks) = match self.giver(from) {
            Some((giver, joined)) => {
                self.shared.count_taken(bytes as u64);
                (Engine::Link(giver), joined.ticks(bytes as u64))
            }
            None => (Engine::Kernels, self.shared.spec.memory_ticks(bytes.saturating_mul(2))),
        };
        let (from, to) = (stretch(from, from_at, bytes), stretch(to, to_at, bytes));
        let work = Work::Copy { from, to, read: Vec::new() };
        // SAFETY: the caller's promise.
        unsafe { self.shared.give(stream, engine, ticks, [from, to], work) }
    }

    unsafe fn zero(&self, stream: usize, memory: &Memory, at: usize, bytes: usize) -> Result<(), Error> {
        if bytes == 0 || self.shared.planted.happens(SimFault::NotZero) {
            return Ok(());
        }
        let (ticks, to) = (self.shared.spec.memory_ticks(bytes), stretch(memory, at, bytes));
        // SAFETY: the caller's promise.
        unsafe { self.shared.give(stream, Engine::Kernels, ticks, [to, Stretch::default()], Work::Zero(to)) }
    }

    unsafe fn poison(&self, stream: usize, memory: &Memory, at: usize, bytes: usize) -> Result<(), Error> {
        let to = stretch(memory, at, bytes);
        // SAFETY: the caller's promise.
        unsafe { self.shared.give(stream, Engine::None, 0, [to, Stretch::default()], Work::Poison(to)) }
    }

    unsafe fn launch(
        &self,
        _stream: usize,
        _kernel: &dyn Kernel,
        _blocks: [u32; 3],
        _threads: [u32; 3],
        _arguments: &[Argument<'_>],
    ) -> Result<(), Error> {
        Err(foreign("a compiled kernel"))
    }

    unsafe fn launch_native(&self, stream: usize, work: Native<'_>) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        unsafe {
            match work {
                Native::Work(work) => self.launch_work(stream, work, [Stretch::default(); 2], false),
                Native::Boxes { kind, list, to, from } => self.copy_boxes(stream, kind, list, (to, from)),
            }
        }
    }

    fn mapped(&self, from: *const u8, _bytes: usize) -> Option<u64> {
        // Its memory is the host's.
        Some(from.expose_provenance() as u64)
    }

    fn record(&self, stream: usize) -> Result<Arc<dyn Event>, Error> {
        Ok(Arc::new(self.shared.record(stream, true)?))
    }

    fn mark(&self, stream: usize) -> Result<Arc<dyn Event>, Error> {
        Ok(Arc::new(self.shared.record(stream, false)?))
    }

    fn record_timed(&self, stream: usize) -> Result<Arc<dyn Event>, Error> {
        self.mark(stream)
    }

    fn wait(&self, stream: usize, event: &dyn Event) -> Result<(), Error> {
        let event = event.as_any().downcast_ref::<SimEvent>().ok_or_else(|| foreign("an event"))?;
        match self.shared.planted.happens(SimFault::MissingWait) {
            true => Ok(()),
            false => self.shared.wait(stream, event),
        }
    }

    fn reaches(&self, other: &dyn Backend) -> bool {
        let beside = other.simulated().filter(|other| self.shared.is_beside(&other.shared));
        let number = beside.map(|other| other.shared.number());
        number.is_some_and(|number| number == self.shared.number() || self.shared.spec.reads(number).is_some())
    }

    fn after(&self, stream: usize, event: &dyn Event) -> Result<(), Error> {
        let event = event.as_any().downcast_ref::<SimEvent>();
        event.filter(|event| event.is_beside(&self.shared)).map_or(Ok(()), |event| self.shared.wait(stream, event))
    }

    fn caught_up(&self) {
        self.shared.caught_up();
    }

    fn works(&self, pieces: usize, more: bool) {
        self.shared.works(pieces, more);
    }

    fn waits(&self, begins: bool) {
        self.shared.waits(begins);
    }

    fn simulated(&self) -> Option<&Sim> {
        Some(self)
    }
}
