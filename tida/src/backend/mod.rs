//! Places to run. `cpu` runs native kernels; the others run emitted ones behind one small trait.
//!
//! Nothing outside a backend's folder names a type of its driver.

mod at_work;
pub(crate) mod chosen;
#[cfg(test)]
mod contract;
pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod disk;
mod giver;
pub(crate) mod host;
#[cfg(not(all(feature = "cuda", feature = "opencl")))]
mod missing;
mod native;
#[cfg(feature = "opencl")]
pub(crate) mod opencl;
mod pinned;
#[cfg(feature = "cuda")]
mod profile;
pub(crate) mod sim;

use std::any::Any;
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use smallvec::SmallVec;
use tida_kernels::plan::auto::{Latency, Machine};
use tida_kernels::plan::{Dialect, Math};

use crate::error::{Error, ErrorKind};
pub(crate) use at_work::{AtWork, Waits};
pub(crate) use giver::Turn;
#[cfg(not(feature = "cuda"))]
pub(crate) use missing::cuda;
#[cfg(not(feature = "opencl"))]
pub(crate) use missing::opencl;
pub(crate) use native::{Flaws, InLane, Lane, Native, NativeKind, NativeWork, Outcome};
pub(crate) use pinned::HostBlock;

/// Queues of kernels of a device, numbered from 0. Work of one stream runs in order.
pub(crate) const STREAMS: usize = 4;

/// One more stream, for copies that a thread waits for.
pub(crate) const COPIES: usize = STREAMS;

/// And two for what packs and unpacks what moves: to the device, and from it.
pub(crate) const PACKS: [usize; 2] = [COPIES + 1, COPIES + 2];

/// And three whose kernels run before those of other streams: for what a place takes from others, for the cells that it
/// gives, and for messages that it makes of them.
pub(crate) const STRIPS: usize = COPIES + 3;
pub(crate) const EDGES: usize = COPIES + 4;
pub(crate) const GIVES: usize = COPIES + 5;

/// Streams in all.
pub(crate) const ALL_STREAMS: usize = COPIES + 6;

/// How long a thread looks for what a GPU may end at any moment before it sleeps: to wake takes 10 to 100 µs, and three
/// threads may have to, one after the other. Where there are few cores others need them meanwhile.
pub(crate) fn looks_for() -> Duration {
    Duration::from_micros(if has_cores() { 2000 } else { 50 })
}

/// Whether each thread that may wait for another one has a core.
pub(crate) fn has_cores() -> bool {
    static HAS_CORES: OnceLock<bool> = OnceLock::new();
    *HAS_CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from) >= 4)
}

/// What a thread does between two looks for what another one does: where there are few cores, that one may need this.
pub(crate) fn pause() {
    if has_cores() { std::hint::spin_loop() } else { std::thread::yield_now() }
}

/// What is known of a device.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// The device's own name.
    pub name: String,
    /// The language it takes.
    pub dialect: Dialect,
    /// What kernels are compiled for, such as `sm_90`, and by what: part of the key of compiled kernels.
    pub target: String,
    /// Bytes of memory.
    pub memory: u64,
    /// Whether it computes in `f64`.
    pub fp64: bool,
    /// Most threads of a block.
    pub block_threads: u32,
    /// Bytes of memory that the threads of a block share.
    pub shared: u64,
    /// The same for launches that ask for it.
    pub most_shared: u64,
    /// Most blocks of a launch along x, y and z.
    pub grid: [u64; 3],
    /// Whether it is a GPU.
    pub gpu: bool,
    /// Whether launches run in their native form ([`Backend::launch_native`]), on the threads of the host and on memory
    /// that it can address. Then nothing is emitted, and what is compiled is empty.
    pub native: bool,
    /// Whether a native form runs in a pool of threads, on which it may spread its cells.
    pub spreads: bool,
    /// Whether blocks fetch boxes by tensor maps: CUDA from sm_90 on.
    pub maps: bool,
    /// What the choice of plans depends on.
    pub machine: Machine,
}

impl Facts {
    /// A CUDA device that is not there: what a kernel would look like on one.
    pub fn of_cuda() -> Facts {
        Facts {
            name: "a CUDA device".into(),
            dialect: Dialect::Cuda,
            target: String::new(),
            memory: 0,
            fp64: true,
            block_threads: 1024,
            shared: 48 << 10,
            most_shared: 48 << 10,
            grid: [(1 << 31) - 1, 65535, 65535],
            gpu: true,
            native: false,
            spreads: false,
            maps: true,
            machine: Machine { multiprocessors: 132, cache: 50 << 20, latency: Latency::TYPICAL },
        }
    }
}

/// Source text to compile.
#[derive(Clone, Copy, Debug)]
// For drivers: a simulated device looks at less.
#[cfg_attr(not(all(feature = "cuda", feature = "opencl")), allow(dead_code))]
pub(crate) struct Code<'a> {
    pub text: &'a str,
    /// Name of the kernel in it.
    pub entry: &'a str,
    pub math: Math,
    /// Threads of a block that it will be launched with.
    pub block: [u32; 3],
    /// Bytes of shared memory that its launches ask for, beside what the text declares. Other devices than CUDA's have
    /// none.
    pub shared: u32,
}

/// A compiled kernel.
// For drivers: a simulated device looks at less.
#[cfg_attr(not(any(feature = "cuda", feature = "opencl")), allow(dead_code))]
pub(crate) trait Kernel: Debug + Send + Sync {
    /// What the compiler and the driver say of it.
    fn facts(&self) -> KernelFacts;
    fn as_any(&self) -> &dyn Any;
}

/// What a device's compiler and driver say of a kernel, from [`Explanation::resources`](crate::Explanation::resources);
/// `None` where they do not say.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct KernelFacts {
    /// 32-bit registers of a thread.
    pub registers: Option<u32>,
    /// Bytes of memory per thread for values that found no register.
    pub spilled: Option<u32>,
    /// Bytes of shared memory of a block.
    pub shared: Option<u32>,
    /// Part of the threads that a multiprocessor can hold at once.
    pub occupancy: Option<f32>,
}

/// A point in a stream's work.
pub(crate) trait Event: Debug + Send + Sync {
    /// Whether all work before it is done.
    fn is_done(&self) -> bool;
    /// As [`Event::finish`], for who only writes down that the work is done: no later command of the host waits for it.
    /// To a simulated device that makes a difference, until [`Backend::caught_up`]. The caller is at work from then on
    /// ([`AtWork`]), well or not.
    fn settle(&self) -> Result<(), Error> {
        self.finish()
    }
    /// Says that one thread will come to [`Event::settle`] it. A simulated device counts it as at work from the moment
    /// that the event is reached, and not from when it comes.
    fn claim(&self) {}
    /// Blocks the calling thread until all work before it is done.
    ///
    /// # Errors
    /// What the driver reports of that work.
    fn finish(&self) -> Result<(), Error>;
    /// When all work before it was done, in seconds on the device's clock; `None` while it is not done, and where the
    /// driver gave none. Only [`Backend::record_timed`] asks it for one.
    fn time(&self) -> Option<f64> {
        None
    }
    fn as_any(&self) -> &dyn Any;
}

/// Values of memory along some axes, the last (whose values follow one another) first, and boxes of them.
#[derive(Clone, Debug, Default)]
#[cfg_attr(not(feature = "cuda"), allow(dead_code))] // For drivers: a simulated device looks at less.
pub(crate) struct MapShape {
    /// Bytes of a value: 4 or 8.
    pub size: usize,
    /// Values along each axis.
    pub cells: SmallVec<[u64; 5]>,
    /// Bytes between neighbours along each axis after the first.
    pub strides: SmallVec<[u64; 4]>,
    /// Values of a box along each axis.
    pub held: SmallVec<[u32; 5]>,
}

/// How a device finds a box of such values: what [`Backend::tensor_map`] gives and a kernel takes.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
pub(crate) struct TensorMap([u8; 128]);

impl TensorMap {
    /// As a kernel takes it.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// One argument of a launch.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "cuda"), allow(dead_code))] // For drivers: a simulated device looks at less.
pub(crate) enum Argument<'a> {
    /// Memory of the device, from its start.
    Memory(&'a Memory),
    /// Memory of the device, from this byte on. CUDA alone has such addresses.
    At(&'a Memory, usize),
    /// A value, as it lies in memory.
    Bytes(&'a [u8]),
}

/// A launch, as [`Backend::launch`] takes it.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "cuda"), allow(dead_code))] // For drivers that have such commands.
pub(crate) struct GraphLaunch<'a> {
    pub kernel: &'a dyn Kernel,
    pub blocks: [u32; 3],
    pub threads: [u32; 3],
    pub arguments: &'a [Argument<'a>],
}

/// Launches that go into a stream as one command.
#[cfg_attr(not(feature = "cuda"), allow(dead_code))] // For drivers that have such commands.
pub(crate) trait Graph: Debug + Send + Sync {
    fn as_any(&self) -> &dyn Any;
}

/// Memory of a device. Given back when dropped: who uses it in recorded work keeps it until that is done.
#[derive(Debug)]
pub(crate) struct Memory {
    backend: Arc<dyn Backend>,
    raw: u64,
    bytes: usize,
    /// Another process has it.
    is_shared: bool,
    /// What is dropped once it is free.
    held: Option<Box<dyn Any + Send + Sync>>,
}

impl Memory {
    /// `bytes` bytes (at least 1) of any content.
    ///
    /// # Errors
    /// Memory that the device does not have: what was asked for and what is free.
    pub fn new(backend: &Arc<dyn Backend>, bytes: usize) -> Result<Memory, Error> {
        let raw = backend.allocate(bytes.max(1))?;
        Ok(Memory { backend: backend.clone(), raw, bytes: bytes.max(1), is_shared: false, held: None })
    }

    /// So many bytes of another process, as that has exported them.
    ///
    /// # Errors
    /// What keeps this device from them.
    ///
    /// # Safety
    /// As [`Backend::import`].
    pub unsafe fn of_other(backend: &Arc<dyn Backend>, exported: &[u8], bytes: usize) -> Result<Memory, Error> {
        // SAFETY: handed on.
        let raw = unsafe { backend.import(exported, bytes)? };
        Ok(Memory { backend: backend.clone(), raw, bytes, is_shared: true, held: None })
    }

    /// What another process of this host opens it by; none where the driver has no such thing.
    ///
    /// # Errors
    /// What the driver reports.
    pub fn export(&self) -> Result<Option<Vec<u8>>, Error> {
        self.backend.export(self)
    }

    /// Drops `held` once the memory is free.
    pub fn holding(mut self, held: impl Any + Send + Sync) -> Memory {
        self.held = Some(Box::new(held));
        self
    }

    /// The device that it is memory of.
    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// Its handle: for the backend that gave it.
    pub fn raw(&self) -> u64 {
        self.raw
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated or imported by this backend, with this size, and given back once; no work uses it any more.
        unsafe {
            match self.is_shared {
                true => self.backend.let_go(self.raw),
                false => self.backend.free(self.raw, self.bytes),
            }
        }
        drop(self.held.take());
    }
}

/// A device behind its driver.
///
/// Calls come from any thread. Work goes into [`ALL_STREAMS`] streams, numbered from 0, and is ordered across them by
/// events.
pub(crate) trait Backend: Debug + Send + Sync {
    fn facts(&self) -> &Facts;

    /// What tells it from the other devices of its host, the same for all processes; none where no other process has
    /// it.
    fn identity(&self) -> Option<String> {
        None
    }

    /// Whether processes that share it have it one after the other, as far as the driver says.
    fn is_had_in_turns(&self) -> bool {
        false
    }

    /// Bytes of memory that are free now, if the driver says.
    fn free_memory(&self) -> Option<u64>;

    /// Memory of any content, aligned to 256 bytes. Gives its handle.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`]: what was asked for, what is free, what to do.
    fn allocate(&self, bytes: usize) -> Result<u64, Error>;

    /// Gives memory back, or keeps it for the next [`Backend::allocate`] of that size.
    ///
    /// # Safety
    /// It came from `allocate` with this size, and no work uses it.
    unsafe fn free(&self, raw: u64, bytes: usize);

    /// What another process of this host opens memory by, from its first byte on; none where the driver has no such
    /// thing.
    ///
    /// # Errors
    /// What the driver reports.
    fn export(&self, _memory: &Memory) -> Result<Option<Vec<u8>>, Error> {
        Ok(None)
    }

    /// Opens memory of another process, which has exported it. Gives its handle.
    ///
    /// # Errors
    /// That this device does not reach it, or what else the driver reports.
    ///
    /// # Safety
    /// It has so many bytes, and is there until this is let go.
    unsafe fn import(&self, _exported: &[u8], bytes: usize) -> Result<u64, Error> {
        Err(Error::new(
            ErrorKind::Device,
            format!("open {bytes} bytes of another process on a device"),
            format!("the device {}, which has no such memory", self.facts().name),
            "report this as a bug of tida",
        ))
    }

    /// Closes such memory.
    ///
    /// # Safety
    /// It came from `import`, and no work uses it.
    unsafe fn let_go(&self, _raw: u64) {}

    /// Where functions of the driver, and libraries that know it, find memory; none where it has no such addresses.
    fn address(&self, _memory: &Memory) -> Option<u64> {
        None
    }

    /// Pins host memory, so that copies run at the speed of the link and beside other work. `false` if that failed:
    /// then copies are slower, and right all the same.
    ///
    /// # Safety
    /// The memory lives until it is unpinned.
    unsafe fn pin(&self, base: *mut u8, bytes: usize) -> bool;

    /// Undoes [`Backend::pin`].
    ///
    /// # Safety
    /// It was pinned, and no copy uses it.
    unsafe fn unpin(&self, base: *mut u8);

    /// A kernel that was compiled before, from the cache on disk.
    fn kept(&self, _code: &Code<'_>) -> Option<Arc<dyn Kernel>> {
        None
    }

    /// Compiles a kernel, and keeps it on disk. Any thread may, and several at once.
    ///
    /// # Errors
    /// [`ErrorKind::Kernel`] with the compiler's messages as `found`;
    /// [`ErrorKind::Device`] without a compiler.
    fn compile(&self, code: &Code<'_>) -> Result<Arc<dyn Kernel>, Error>;

    /// Loads a kernel that another compiler has made, as PTX text.
    ///
    /// # Errors
    /// [`ErrorKind::Kernel`] with the driver's messages as `found`;
    /// [`ErrorKind::Device`] on anything but CUDA.
    fn load_ptx(&self, _ptx: &str, entry: &str) -> Result<Arc<dyn Kernel>, Error> {
        Err(Error::new(
            ErrorKind::Device,
            format!("load the kernel `{entry}` from PTX"),
            format!("the device {}, which does not take PTX", self.facts().name),
            "use a CUDA device (TIDA_DEVICE=cuda), or write the kernel with `kernel!`",
        ))
    }

    /// Copies to the device. Returns before it is done. Downloads that the stream comes after may write what it reads.
    ///
    /// # Safety
    /// Both memories have the bytes, and live, unchanged by others, until it is done.
    unsafe fn upload(&self, stream: usize, to: &Memory, at: usize, from: *const u8, bytes: usize) -> Result<(), Error>;

    /// Copies to the host. Returns before it is done.
    ///
    /// # Safety
    /// As [`Backend::upload`].
    unsafe fn download(&self, stream: usize, from: &Memory, at: usize, to: *mut u8, bytes: usize) -> Result<(), Error>;

    /// Copies stretches of so many bytes to the device: each lies so many bytes after the one before it, in `to` and in
    /// `from`.
    ///
    /// # Safety
    /// As [`Backend::upload`], for each of them.
    unsafe fn upload_rows(
        &self,
        stream: usize,
        (to, at, step): (&Memory, usize, usize),
        (from, from_step): (*const u8, usize),
        (bytes, rows): (usize, usize),
    ) -> Result<(), Error> {
        (0..rows).try_for_each(|row| {
            // SAFETY: the caller's promise.
            unsafe { self.upload(stream, to, at + row * step, from.wrapping_add(row * from_step), bytes) }
        })
    }

    /// The same to the host.
    ///
    /// # Safety
    /// As [`Backend::upload_rows`].
    unsafe fn download_rows(
        &self,
        stream: usize,
        (from, at, step): (&Memory, usize, usize),
        (to, to_step): (*mut u8, usize),
        (bytes, rows): (usize, usize),
    ) -> Result<(), Error> {
        (0..rows).try_for_each(|row| {
            // SAFETY: the caller's promise.
            unsafe { self.download(stream, from, at + row * step, to.wrapping_add(row * to_step), bytes) }
        })
    }

    /// Where kernels find a stretch of the host's memory, if they reach it at all: it is pinned then.
    fn mapped(&self, _from: *const u8, _bytes: usize) -> Option<u64> {
        None
    }

    /// Copies on the device. The stretches do not overlap.
    ///
    /// # Safety
    /// As [`Backend::upload`].
    unsafe fn copy(
        &self,
        stream: usize,
        from: (&Memory, usize),
        to: (&Memory, usize),
        bytes: usize,
    ) -> Result<(), Error>;

    /// Sets bytes to zero.
    ///
    /// # Safety
    /// As [`Backend::upload`].
    unsafe fn zero(&self, stream: usize, memory: &Memory, at: usize, bytes: usize) -> Result<(), Error>;

    /// Launches a kernel over a grid of blocks.
    ///
    /// # Safety
    /// The arguments are those of the kernel, the memory that it touches is there and lives until it is done.
    unsafe fn launch(
        &self,
        stream: usize,
        kernel: &dyn Kernel,
        blocks: [u32; 3],
        threads: [u32; 3],
        arguments: &[Argument<'_>],
    ) -> Result<(), Error>;

    /// Launches, each after the one before it, as one command; none where the driver has no such commands.
    ///
    /// # Errors
    /// What the driver reports.
    ///
    /// # Safety
    /// As [`Backend::launch`], whenever the command is put into a stream.
    unsafe fn graph(&self, _launches: &[GraphLaunch<'_>]) -> Result<Option<Arc<dyn Graph>>, Error> {
        Ok(None)
    }

    /// Puts such a command into a stream. It lives until it is done.
    ///
    /// # Errors
    /// What the driver reports; a command of another device.
    ///
    /// # Safety
    /// As [`Backend::launch`], for each of the launches.
    unsafe fn put_graph(&self, _stream: usize, _graph: &dyn Graph) -> Result<(), Error> {
        Err(Error::new(
            ErrorKind::Device,
            "put several launches into a stream as one command",
            format!("the device {}, which has no such commands", self.facts().name),
            "report this as a bug of tida",
        ))
    }

    /// Puts the native form of a launch into a stream: where [`Facts::native`] says so, and no other launches there.
    ///
    /// # Safety
    /// The work may run at any time until the host has waited for it; it touches what the command may.
    unsafe fn launch_native(&self, _stream: usize, _work: Native<'_>) -> Result<(), Error> {
        Err(Error::new(
            ErrorKind::Device,
            "launch the native form of a kernel",
            format!("the device {}, which runs compiled kernels", self.facts().name),
            "report this as a bug of tida",
        ))
    }

    /// The map of values in memory that start at this byte; none where the device has no such maps, or not of this
    /// shape.
    fn tensor_map(&self, _memory: &Memory, _at: usize, _shape: &MapShape) -> Option<TensorMap> {
        None
    }

    /// Marks the end of what a stream has so far. Who waits for it by [`Event::finish`] or [`Event::settle`], as
    /// someone has to, is told how all went that came since the last such mark.
    fn record(&self, stream: usize) -> Result<Arc<dyn Event>, Error>;

    /// As [`Backend::record`], for other streams to wait for: how it went is told by the next mark that someone waits
    /// for.
    fn mark(&self, stream: usize) -> Result<Arc<dyn Event>, Error> {
        self.record(stream)
    }

    /// As [`Backend::record`], for the end of a node: it may be seen together with those of nodes after it.
    fn end(&self, stream: usize) -> Result<Arc<dyn Event>, Error> {
        self.record(stream)
    }

    /// As [`Backend::mark`], of an event that will know its [`Event::time`] where the driver gives times. It costs
    /// more.
    fn record_timed(&self, stream: usize) -> Result<Arc<dyn Event>, Error> {
        self.record(stream)
    }

    /// Lets a stream wait for an event of another one.
    fn wait(&self, stream: usize, event: &dyn Event) -> Result<(), Error>;

    /// Whether kernels of this device may read the memory of the other one, and its streams wait for events of that.
    /// Asked once for each pair; what the driver has to be told, it is told then.
    fn reaches(&self, _other: &dyn Backend) -> bool {
        false
    }

    /// Says that what comes in a stream is after an event that was reached, of any device. To a simulated device that
    /// makes a difference where both are on one clock, which is not the host's.
    fn after(&self, _stream: usize, _event: &dyn Event) -> Result<(), Error> {
        Ok(())
    }

    /// Sends what is queued to the device, where the driver does not do so by itself.
    fn flush(&self, _stream: usize) -> Result<(), Error> {
        Ok(())
    }

    /// Says that what a stretch of memory holds is no one's any more, once the stream comes to it: it was evicted. A
    /// simulated device then poisons it.
    ///
    /// # Safety
    /// As [`Backend::upload`].
    unsafe fn poison(&self, _stream: usize, _memory: &Memory, _at: usize, _bytes: usize) -> Result<(), Error> {
        Ok(())
    }

    /// Says that what the host does from now on comes after all that was settled by [`Event::settle`].
    fn caught_up(&self) {}

    /// Says that so many more pieces of work may give commands ([`AtWork`]), or so many fewer. To simulated devices on
    /// one clock that makes a difference.
    fn works(&self, _pieces: usize, _more: bool) {}

    /// Says that a thread of the program begins to wait for work, or has ended to.
    fn waits(&self, _begins: bool) {}

    /// The device as others of its driver know it, where these may reach it.
    #[cfg(feature = "cuda")]
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// The simulated device, if it is one: for its report.
    fn simulated(&self) -> Option<&sim::Sim> {
        None
    }
}
