//! The host as a device: a part of its memory, and its threads.
//!
//! An accelerator whose arrays lie in files needs no other. What is a link elsewhere is a copy between that memory and
//! what passes through on its way from and to files. Kernels run in their native form, in a pool of threads. Each
//! stream is a thread that does its commands one after the other. Kernels that follow one another there run together
//! where they may (`lanes`).

mod lanes;
mod memory;
mod stream;

use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::memory::Pool;
use self::stream::{HostEvent, Mark, Stream};
use super::cpu::{Memories, copy_box};
use super::native::stand_in;
use super::{ALL_STREAMS, Argument, Backend, Code, Event, Facts, Flaws, Kernel, Memory, Native, NativeWork};
use crate::error::{Error, ErrorKind};

/// The host with so many bytes of memory for arrays, and so many threads for kernels. If that is not said, three for
/// four processors: threads that read, write and copy planes have work too, and one that waits for a processor holds up
/// the others of its launch.
///
/// # Errors
/// Threads that the system does not have.
pub(crate) fn open(memory: u64, threads: Option<usize>) -> Result<Arc<dyn Backend>, Error> {
    let no_threads = |found: String| {
        let advice = "free some threads or ask for fewer";
        Error::new(ErrorKind::Device, "start the threads of a device that is the host", found, advice)
    };
    let streams = (0..ALL_STREAMS).map(Stream::start).collect::<Result<Vec<Stream>, _>>();
    let streams = streams.map_err(|e| no_threads(e.to_string()))?;
    let usual = || {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        processors - processors / 4
    };
    let threads = threads.unwrap_or_else(usual) + 1;
    let (send, receive) = std::sync::mpsc::channel();
    if let Some(first) = streams.first() {
        first.give(move || {
            // Chains have their kernels in the first stream, whose thread is one of the pool: it starts them at once.
            // Other streams find as many threads beside it.
            let builder = rayon::ThreadPoolBuilder::new().thread_name(|n| format!("tida-kernels-{n}"));
            let _ = send.send(builder.num_threads(threads).use_current_thread().build());
            Ok(())
        });
    }
    let kernels = receive.recv().map_err(|e| no_threads(e.to_string()))?;
    let facts = Facts {
        name: "the host".into(),
        target: "native".into(),
        memory,
        gpu: false,
        native: true,
        spreads: true,
        maps: false,
        ..Facts::of_cuda()
    };
    Ok(Arc::new(Host {
        facts,
        pool: Pool::new(memory),
        kernels: Arc::new(kernels.map_err(|e| no_threads(e.to_string()))?),
        waiting: streams.iter().map(|_| Mutex::default()).collect(),
        streams,
    }))
}

/// Bytes of the host's memory that are free, or can be.
pub(crate) fn available() -> u64 {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kilobytes.map_or(UNKNOWN, |kilobytes| kilobytes << 10)
}

/// Where the system does not say how much there is.
const UNKNOWN: u64 = 4 << 30;

/// See the module.
#[derive(Debug)]
struct Host {
    facts: Facts,
    pool: Pool,
    kernels: Arc<rayon::ThreadPool>,
    streams: Vec<Stream>,
    /// Launches of each stream that may run with those that come next. Any other command of the stream comes after
    /// them.
    waiting: Vec<Mutex<Vec<NativeWork>>>,
}

/// What an object that another backend made leads to.
fn foreign(what: &str) -> Error {
    Error::new(
        ErrorKind::Argument,
        format!("use {what} on a device that is the host"),
        "one of another device",
        "report this as a bug of tida",
    )
}

/// An address that a command takes to its thread.
#[derive(Clone, Copy)]
struct Address(*mut u8);

// SAFETY: whoever gives the command keeps the memory until it is done.
unsafe impl Send for Address {}

impl Address {
    fn of(memory: &Memory, at: usize) -> Address {
        Address(ptr::with_exposed_provenance_mut(memory.raw() as usize + at))
    }

    /// The address; a method, so that closures take the whole.
    fn get(self) -> *mut u8 {
        self.0
    }
}

impl Host {
    /// A stream, for its next command, and its launches that wait; they are started once others are let in.
    fn locked(&self, number: usize) -> Result<(&Stream, MutexGuard<'_, Vec<NativeWork>>), Error> {
        let stream = self.streams.get(number).zip(self.waiting.get(number)).ok_or_else(|| {
            let (tried, found) =
                (format!("use stream {number} of the host"), format!("streams 0 to {}", ALL_STREAMS - 1));
            Error::new(ErrorKind::Argument, tried, found, "report this as a bug of tida")
        });
        stream.map(|(stream, waiting)| (stream, waiting.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// A stream, for a command that comes after all launches so far.
    fn stream(&self, number: usize) -> Result<&Stream, Error> {
        // Whoever comes meanwhile waits, and is not before them in the stream.
        let (stream, mut waiting) = self.locked(number)?;
        let mut together = std::mem::take(&mut *waiting);
        match together.len() {
            0 => {}
            1 => together.drain(..).for_each(|work| self.start(stream, work)),
            _ => {
                let kernels = self.kernels.clone();
                stream.give(move || {
                    kernels.install(|| lanes::run(together));
                    Ok(())
                });
            }
        }
        Ok(stream)
    }

    /// Puts a copy into a stream.
    ///
    /// # Safety
    /// As [`Backend::copy`].
    unsafe fn give_copy(&self, stream: usize, from: Address, to: Address, bytes: usize) -> Result<(), Error> {
        self.stream(stream)?.give(move || {
            // SAFETY: the caller's promise.
            unsafe { ptr::copy_nonoverlapping(from.get(), to.get(), bytes) };
            Ok(())
        });
        Ok(())
    }

    /// Puts the native form of a launch into a stream.
    fn give_work(&self, stream: usize, work: NativeWork) -> Result<(), Error> {
        match work.in_lane {
            Some(_) => self.locked(stream)?.1.push(work),
            None => self.start(self.stream(stream)?, work),
        }
        Ok(())
    }

    /// The same at once.
    fn start(&self, stream: &Stream, work: NativeWork) {
        let NativeWork { run, outcome, .. } = work;
        let kernels = self.kernels.clone();
        stream.give(move || {
            let run = std::panic::AssertUnwindSafe(|| kernels.install(|| run(Flaws::default())));
            let result = std::panic::catch_unwind(run);
            outcome.set(result.unwrap_or_else(|payload| Err(crate::error::panicked("a kernel", payload))));
            Ok(())
        });
    }
}

impl Backend for Host {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn free_memory(&self) -> Option<u64> {
        Some(self.pool.free_bytes())
    }

    fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        self.pool.allocate(bytes)
    }

    unsafe fn free(&self, raw: u64, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.pool.free(raw, bytes) }
    }

    unsafe fn pin(&self, _base: *mut u8, _bytes: usize) -> bool {
        true
    }

    unsafe fn unpin(&self, _base: *mut u8) {}

    fn compile(&self, code: &Code<'_>) -> Result<Arc<dyn Kernel>, Error> {
        stand_in(code, "the host")
    }

    unsafe fn upload(&self, stream: usize, to: &Memory, at: usize, from: *const u8, bytes: usize) -> Result<(), Error> {
        // SAFETY: handed on.
        unsafe { self.give_copy(stream, Address(from.cast_mut()), Address::of(to, at), bytes) }
    }

    unsafe fn download(&self, stream: usize, from: &Memory, at: usize, to: *mut u8, bytes: usize) -> Result<(), Error> {
        // SAFETY: handed on.
        unsafe { self.give_copy(stream, Address::of(from, at), Address(to), bytes) }
    }

    unsafe fn copy(
        &self,
        stream: usize,
        (from, from_at): (&Memory, usize),
        (to, to_at): (&Memory, usize),
        bytes: usize,
    ) -> Result<(), Error> {
        // SAFETY: handed on.
        unsafe { self.give_copy(stream, Address::of(from, from_at), Address::of(to, to_at), bytes) }
    }

    unsafe fn zero(&self, stream: usize, memory: &Memory, at: usize, bytes: usize) -> Result<(), Error> {
        let to = Address::of(memory, at);
        self.stream(stream)?.give(move || {
            // SAFETY: the caller's promise.
            unsafe { ptr::write_bytes(to.get(), 0, bytes) };
            Ok(())
        });
        Ok(())
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
        match work {
            Native::Work(work) => self.give_work(stream, work),
            Native::Boxes { kind, list, to, from } => {
                let (list, to, from) = (list.clone(), Address::of(to, 0), Address::of(from, 0));
                self.stream(stream)?.give(move || {
                    let memories = Memories { to: to.get(), from: [from.get().cast_const(); 2] };
                    // SAFETY: the caller's promise.
                    list.iter().for_each(|copy| unsafe { copy_box(&kind, copy, memories) });
                    Ok(())
                });
                Ok(())
            }
        }
    }

    fn record(&self, stream: usize) -> Result<Arc<dyn Event>, Error> {
        Ok(Arc::new(HostEvent(self.stream(stream)?.mark(true))))
    }

    fn mark(&self, stream: usize) -> Result<Arc<dyn Event>, Error> {
        Ok(Arc::new(HostEvent(self.stream(stream)?.mark(false))))
    }

    fn record_timed(&self, stream: usize) -> Result<Arc<dyn Event>, Error> {
        self.mark(stream)
    }

    fn wait(&self, stream: usize, event: &dyn Event) -> Result<(), Error> {
        let event: &HostEvent = event.as_any().downcast_ref().ok_or_else(|| foreign("an event"))?;
        let mark: Arc<Mark> = event.0.clone();
        self.stream(stream)?.wait(mark);
        Ok(())
    }
}
