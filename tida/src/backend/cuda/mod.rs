//! NVIDIA GPUs, by the CUDA driver and NVRTC, both found when the program runs.
//!
//! The driver's primary context is used, made current by every call, so calls come from any thread and live beside
//! other users of the CUDA runtime. Streams are the backend's own and do not wait for the default stream.

mod compile;
mod ends;
mod graphs;
mod ipc;
mod maps;
mod memory;
mod probe;
mod staging;
mod stream;
mod sys;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex};

pub(crate) use compile::compile_only;
use smallvec::SmallVec;
use tida_kernels::plan::Dialect;
use tida_kernels::plan::auto::{Latency, Machine};

use super::{
    ALL_STREAMS, Argument, Backend, Code, Event, Facts, Graph, GraphLaunch, Kernel, MapShape, Memory, TensorMap,
    profile,
};
use crate::backend::chosen::Chosen;
use crate::error::{Error, ErrorKind};
use compile::{CudaKernel, Target};
use ends::{CudaEnd, Ends};
use graphs::CudaGraph;
use memory::{Kept, Pinned};
use probe::call;
use staging::{Staging, Way};
use stream::{CudaEvent, Origin};
use sys::{CUDA_MEMCPY2D, CUcontext, CUdevice, CUdeviceptr, CUevent, CUstream, Driver};

/// The first CUDA device, or the one that was chosen. `TIDA_PINNED_LIMIT` is the most bytes of the host's memory to pin
/// for it. With `TIDA_TUNE=1` the latencies of its reads are measured, unless that was done before.
///
/// # Errors
/// No driver, no device, or no NVRTC, a limit that is no number: what was looked for and what to do.
pub(crate) fn open(chosen: Option<Chosen<u32>>) -> Result<Arc<dyn Backend>, Error> {
    let driver = probe::driver()?;
    let device = probe::device(driver, chosen.as_ref())?;
    let major = driver.attribute(device, sys::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = driver.attribute(device, sys::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    let target = Target::of_device(10 * major + minor)?;
    let mut facts = facts(driver, device, &target)?;
    let pinned_limit = memory::pinned_limit()?;
    let open = |facts: &Facts| -> Result<Cuda, Error> {
        let context = Arc::new(Context::new(driver, device, facts.memory, pinned_limit)?);
        let ends = (0..ALL_STREAMS).map(|stream| Arc::new(Ends::new(&context, stream))).collect();
        Ok(Cuda { context, facts: facts.clone(), target: target.clone(), ends })
    };
    let cuda = open(&facts)?;
    // On a context of its own, which gives all memory back.
    let tuned = std::env::var_os("TIDA_TUNE").is_some_and(|chosen| chosen == "1");
    let trial = tuned.then_some(|| Ok(Arc::new(open(&facts)?) as Arc<dyn Backend>));
    facts.machine.latency = profile::latency(&facts, trial);
    Ok(Arc::new(Cuda { facts, ..cuda }))
}

/// How many CUDA devices this process may use.
///
/// # Errors
/// No driver.
pub(crate) fn count() -> Result<u32, Error> {
    probe::count(probe::driver()?)
}

/// What the driver says of a device.
fn facts(driver: &Driver, device: CUdevice, target: &Target) -> Result<Facts, Error> {
    let mut memory = 0;
    // SAFETY: the place for the answer is valid.
    unsafe { call!(driver, cuDeviceTotalMem_v2(&mut memory, device)) }?;
    let ask = |attribute| driver.attribute(device, attribute);
    Ok(Facts {
        name: probe::name_of(driver, device)?,
        dialect: Dialect::Cuda,
        target: target.to_string(),
        memory: memory as u64,
        fp64: true,
        block_threads: ask(sys::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        shared: ask(sys::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?.into(),
        most_shared: ask(sys::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?.into(),
        grid: [
            ask(sys::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?.into(),
            ask(sys::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?.into(),
            ask(sys::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?.into(),
        ],
        gpu: true,
        native: false,
        spreads: false,
        maps: target.has_maps() && driver.cuTensorMapEncodeTiled.is_some(),
        machine: Machine {
            multiprocessors: ask(sys::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            cache: ask(sys::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
            latency: Latency::TYPICAL,
        },
    })
}

/// The device's primary context with all that was made in it. Kernels and events hold it alive.
struct Context {
    driver: &'static Driver,
    device: CUdevice,
    raw: CUcontext,
    streams: Vec<CUstream>,
    /// Events to use again.
    events: Mutex<Vec<CUevent>>,
    /// Events to use again that take the time.
    timed_events: Mutex<Vec<CUevent>>,
    /// What times are counted from, the newest last. None before the first event that takes the time.
    origins: Mutex<Vec<Origin>>,
    /// Memory to use again.
    kept: Mutex<Kept>,
    pinned: &'static Mutex<Pinned>,
    staging: Mutex<Staging>,
}

// SAFETY: the handles of the driver may be used from any thread whose current context is this one; every use makes it
// current first.
unsafe impl Send for Context {}
// SAFETY: as above; the driver's functions are thread-safe.
unsafe impl Sync for Context {}

impl Context {
    fn new(driver: &'static Driver, device: CUdevice, memory: u64, pinned_limit: usize) -> Result<Context, Error> {
        let mut raw = ptr::null_mut();
        // SAFETY: the place for the answer is valid; released when dropped.
        unsafe { call!(driver, cuDevicePrimaryCtxRetain(&mut raw, device)) }?;
        let mut context = Context {
            driver,
            device,
            raw,
            streams: Vec::new(),
            events: Mutex::default(),
            timed_events: Mutex::default(),
            origins: Mutex::default(),
            kept: Mutex::new(Kept::new(memory)),
            pinned: memory::pinned(pinned_limit),
            staging: Mutex::default(),
        };
        context.make_streams()?;
        Ok(context)
    }

    /// Makes this context the calling thread's current one, and gives the driver.
    fn enter(&self) -> Result<&'static Driver, Error> {
        // SAFETY: the context is retained as long as this value lives.
        unsafe { call!(self.driver, cuCtxSetCurrent(self.raw)) }?;
        Ok(self.driver)
    }

    /// For results that nobody can be told of, such as those of giving things back. At the end of a process the driver
    /// may be gone before the last of its handles, which is no failure.
    fn ignore(&self, call: &str, code: u32) {
        if code != 0 && code != sys::CUDA_ERROR_DEINITIALIZED {
            tracing::debug!(call, result = self.driver.text(code), "the CUDA driver could not give something back");
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.enter().is_ok() {
            self.drop_staging();
            self.drop_events();
            self.drop_kept();
            self.drop_streams();
        }
        // SAFETY: no context at all may be current; this one was retained once, in `new`, and nothing made in it is
        // left.
        let codes = unsafe {
            // So that the thread is not left with a context that may be gone.
            let code = (self.driver.cuCtxSetCurrent)(ptr::null_mut());
            [code, (self.driver.cuDevicePrimaryCtxRelease_v2)(self.device)]
        };
        self.ignore("cuCtxSetCurrent", codes[0]);
        self.ignore("cuDevicePrimaryCtxRelease", codes[1]);
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("device", &self.device).finish_non_exhaustive()
    }
}

/// A CUDA device.
#[derive(Debug)]
struct Cuda {
    context: Arc<Context>,
    facts: Facts,
    target: Target,
    /// What nodes end with, by stream.
    ends: Vec<Arc<Ends>>,
}

/// An address within memory.
fn address(memory: &Memory, at: usize) -> CUdeviceptr {
    memory.raw + at as u64
}

impl Cuda {
    /// Puts a launch into a stream of this context.
    ///
    /// # Safety
    /// As [`Backend::launch`].
    unsafe fn launch_in(&self, stream: CUstream, launch: &GraphLaunch<'_>) -> Result<(), Error> {
        let GraphLaunch { kernel, blocks, threads, arguments } = *launch;
        let kernel = kernel.as_any().downcast_ref::<CudaKernel>().filter(|kernel| kernel.is_of(&self.context));
        let kernel = kernel.ok_or_else(|| foreign("launch a kernel", "kernel"))?;
        kernel.check(arguments)?;
        if blocks.contains(&0) || threads.contains(&0) {
            return Ok(());
        }
        let driver = self.context.enter()?;
        // Where each value lies. The driver copies the values before the call returns.
        let addresses: SmallVec<[u64; 24]> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::Memory(memory) => memory.raw,
                Argument::At(memory, at) => memory.raw + *at as u64,
                Argument::Bytes(_) => 0,
            })
            .collect();
        let mut values: SmallVec<[*mut c_void; 24]> = arguments
            .iter()
            .zip(&addresses)
            .map(|(argument, address)| match argument {
                Argument::Memory(_) | Argument::At(..) => (&raw const *address).cast_mut().cast(),
                Argument::Bytes(bytes) => bytes.as_ptr().cast_mut().cast(),
            })
            .collect();
        let ([x, y, z], [i, j, k]) = (blocks, threads);
        // SAFETY: the function's module is loaded in this context; each parameter has a value of its size, by the check
        // above where the driver tells sizes and else by the caller's promise, and is only read. A handle of `Memory`
        // is a device address, as kernels take it.
        unsafe {
            let values = values.as_mut_ptr();
            let (function, shared) = (kernel.raw(), kernel.shared());
            call!(driver, cuLaunchKernel(function, x, y, z, i, j, k, shared, stream, values, ptr::null_mut()))
        }
    }
}

impl Backend for Cuda {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn identity(&self) -> Option<String> {
        Some(probe::identity_of(self.context.driver, self.context.device))
    }

    fn is_had_in_turns(&self) -> bool {
        let mps = |driver: &Driver| driver.attribute(self.context.device, sys::CU_DEVICE_ATTRIBUTE_MPS_ENABLED);
        // Older drivers do not know of it.
        self.context.enter().is_ok_and(|driver| mps(driver).is_ok_and(|mps| mps == 0))
    }

    fn free_memory(&self) -> Option<u64> {
        self.context.free_memory().ok().map(|free| free as u64)
    }

    fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        self.context.allocate(bytes.max(1))
    }

    unsafe fn free(&self, raw: u64, bytes: usize) {
        // SAFETY: the caller's promise; the same size as `allocate` asked for.
        unsafe { self.context.free(raw, bytes.max(1)) }
    }

    fn export(&self, memory: &Memory) -> Result<Option<Vec<u8>>, Error> {
        self.context.export(memory.raw)
    }

    unsafe fn import(&self, exported: &[u8], _bytes: usize) -> Result<u64, Error> {
        // SAFETY: the caller's promise.
        unsafe { self.context.import(exported) }
    }

    unsafe fn let_go(&self, raw: u64) {
        // SAFETY: the caller's promise.
        unsafe { self.context.let_go(raw) }
    }

    fn address(&self, memory: &Memory) -> Option<u64> {
        Some(memory.raw)
    }

    unsafe fn pin(&self, base: *mut u8, bytes: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.context.pin(base, bytes) }
    }

    unsafe fn unpin(&self, base: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { self.context.unpin(base) }
    }

    fn kept(&self, code: &Code<'_>) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(compile::kept(&self.context, &self.target, code)?))
    }

    fn compile(&self, code: &Code<'_>) -> Result<Arc<dyn Kernel>, Error> {
        Ok(Arc::new(compile::compile(&self.context, &self.target, code)?))
    }

    fn load_ptx(&self, ptx: &str, entry: &str) -> Result<Arc<dyn Kernel>, Error> {
        Ok(Arc::new(compile::load_ptx(&self.context, ptx, entry)?))
    }

    unsafe fn upload(&self, stream: usize, to: &Memory, at: usize, from: *const u8, bytes: usize) -> Result<(), Error> {
        let (driver, number, stream) = (self.context.enter()?, stream, self.context.stream(stream)?);
        for (offset, bytes, pinned) in self.context.pieces(from, bytes) {
            // SAFETY: the caller's promise holds for every stretch of these bytes.
            unsafe {
                if !pinned && self.context.stage(number, (to, at + offset), Way::Up(from.add(offset)), bytes)? {
                    continue;
                }
                let (to, from) = (address(to, at + offset), from.add(offset).cast::<c_void>());
                call!(driver, cuMemcpyHtoDAsync_v2(to, from, bytes, stream))
            }?;
        }
        Ok(())
    }

    unsafe fn download(&self, stream: usize, from: &Memory, at: usize, to: *mut u8, bytes: usize) -> Result<(), Error> {
        let (driver, number, stream) = (self.context.enter()?, stream, self.context.stream(stream)?);
        for (offset, bytes, pinned) in self.context.pieces(to, bytes) {
            // SAFETY: the caller's promise holds for every stretch of these bytes.
            unsafe {
                if !pinned && self.context.stage(number, (from, at + offset), Way::Down(to.add(offset)), bytes)? {
                    continue;
                }
                let (to, from) = (to.add(offset).cast::<c_void>(), address(from, at + offset));
                call!(driver, cuMemcpyDtoHAsync_v2(to, from, bytes, stream))?;
                if pinned { Ok(()) } else { call!(driver, cuStreamSynchronize(stream)) }
            }?;
        }
        Ok(())
    }

    unsafe fn upload_rows(
        &self,
        stream: usize,
        (to, at, step): (&Memory, usize, usize),
        (from, from_step): (*const u8, usize),
        (bytes, rows): (usize, usize),
    ) -> Result<(), Error> {
        if !self.context.is_pinned(from, from_step, (bytes, rows)) {
            return (0..rows).try_for_each(|row| {
                // SAFETY: the caller's promise.
                unsafe { self.upload(stream, to, at + row * step, from.wrapping_add(row * from_step), bytes) }
            });
        }
        let rows = CUDA_MEMCPY2D {
            srcMemoryType: sys::CU_MEMORYTYPE_HOST,
            srcHost: from.cast(),
            srcPitch: from_step,
            dstMemoryType: sys::CU_MEMORYTYPE_DEVICE,
            dstDevice: address(to, at),
            dstPitch: step,
            WidthInBytes: bytes,
            Height: rows,
            ..NO_ROWS
        };
        let (driver, stream) = (self.context.enter()?, self.context.stream(stream)?);
        // SAFETY: the caller's promise, for each row.
        unsafe { call!(driver, cuMemcpy2DAsync_v2(&rows, stream)) }
    }

    unsafe fn download_rows(
        &self,
        stream: usize,
        (from, at, step): (&Memory, usize, usize),
        (to, to_step): (*mut u8, usize),
        (bytes, rows): (usize, usize),
    ) -> Result<(), Error> {
        if !self.context.is_pinned(to, to_step, (bytes, rows)) {
            return (0..rows).try_for_each(|row| {
                // SAFETY: the caller's promise.
                unsafe { self.download(stream, from, at + row * step, to.wrapping_add(row * to_step), bytes) }
            });
        }
        let rows = CUDA_MEMCPY2D {
            srcMemoryType: sys::CU_MEMORYTYPE_DEVICE,
            srcDevice: address(from, at),
            srcPitch: step,
            dstMemoryType: sys::CU_MEMORYTYPE_HOST,
            dstHost: to.cast(),
            dstPitch: to_step,
            WidthInBytes: bytes,
            Height: rows,
            ..NO_ROWS
        };
        let (driver, stream) = (self.context.enter()?, self.context.stream(stream)?);
        // SAFETY: the caller's promise, for each row.
        unsafe { call!(driver, cuMemcpy2DAsync_v2(&rows, stream)) }
    }

    fn mapped(&self, from: *const u8, bytes: usize) -> Option<u64> {
        if !self.context.is_pinned(from, bytes, (bytes, 1)) {
            return None;
        }
        let (driver, mut address) = (self.context.enter().ok()?, 0);
        // SAFETY: the place for the answer is valid, the context current, and the memory pinned.
        unsafe { call!(driver, cuMemHostGetDevicePointer_v2(&mut address, from.cast_mut().cast(), 0)) }.ok()?;
        Some(address)
    }

    unsafe fn copy(
        &self,
        stream: usize,
        from: (&Memory, usize),
        to: (&Memory, usize),
        bytes: usize,
    ) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        let (driver, stream) = (self.context.enter()?, self.context.stream(stream)?);
        // SAFETY: the caller's promise.
        unsafe { call!(driver, cuMemcpyDtoDAsync_v2(address(to.0, to.1), address(from.0, from.1), bytes, stream)) }
    }

    unsafe fn zero(&self, stream: usize, memory: &Memory, at: usize, bytes: usize) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        let (driver, stream) = (self.context.enter()?, self.context.stream(stream)?);
        // SAFETY: the caller's promise.
        unsafe { call!(driver, cuMemsetD8Async(address(memory, at), 0, bytes, stream)) }
    }

    unsafe fn launch(
        &self,
        stream: usize,
        kernel: &dyn Kernel,
        blocks: [u32; 3],
        threads: [u32; 3],
        arguments: &[Argument<'_>],
    ) -> Result<(), Error> {
        let stream = self.context.stream(stream)?;
        // SAFETY: handed on.
        unsafe { self.launch_in(stream, &GraphLaunch { kernel, blocks, threads, arguments }) }
    }

    unsafe fn graph(&self, launches: &[GraphLaunch<'_>]) -> Result<Option<Arc<dyn Graph>>, Error> {
        // SAFETY: handed on; the launches go into the stream that they are captured from.
        let put = |stream| launches.iter().try_for_each(|launch| unsafe { self.launch_in(stream, launch) });
        Ok(CudaGraph::of(&self.context, put)?.map(|graph| Arc::new(graph) as Arc<dyn Graph>))
    }

    unsafe fn put_graph(&self, stream: usize, graph: &dyn Graph) -> Result<(), Error> {
        let graph = graph.as_any().downcast_ref::<CudaGraph>();
        let graph = graph.ok_or_else(|| foreign("launch a graph", "graph"))?;
        // SAFETY: handed on.
        unsafe { graph.put(&self.context, self.context.stream(stream)?) }
    }

    fn tensor_map(&self, memory: &Memory, at: usize, shape: &MapShape) -> Option<TensorMap> {
        self.facts.maps.then(|| self.context.tensor_map(memory, at, shape)).flatten()
    }

    fn record(&self, stream: usize) -> Result<Arc<dyn Event>, Error> {
        Ok(Arc::new(CudaEvent::record(&self.context, stream)?))
    }

    fn end(&self, stream: usize) -> Result<Arc<dyn Event>, Error> {
        match self.ends.get(stream) {
            Some(ends) => Ok(Arc::new(ends.end()?)),
            None => self.record(stream),
        }
    }

    fn record_timed(&self, stream: usize) -> Result<Arc<dyn Event>, Error> {
        Ok(Arc::new(CudaEvent::record_timed(&self.context, stream)?))
    }

    fn reaches(&self, other: &dyn Backend) -> bool {
        let other = other.as_any().and_then(|other| other.downcast_ref::<Cuda>());
        other.is_some_and(|other| self.context.reach(&other.context))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    // Of another CUDA device too: the driver orders the stream after it.
    fn wait(&self, stream: usize, event: &dyn Event) -> Result<(), Error> {
        if let Some(end) = event.as_any().downcast_ref::<CudaEnd>() {
            return end.event()?.map_or(Ok(()), |(_, event)| self.context.wait(stream, &event));
        }
        let event = event.as_any().downcast_ref::<CudaEvent>();
        self.context.wait(stream, event.ok_or_else(|| foreign("wait for an event", "event"))?)
    }
}

/// A copy of nothing.
const NO_ROWS: CUDA_MEMCPY2D = CUDA_MEMCPY2D {
    srcXInBytes: 0,
    srcY: 0,
    srcMemoryType: sys::CU_MEMORYTYPE_HOST,
    srcHost: ptr::null(),
    srcDevice: 0,
    srcArray: ptr::null_mut(),
    srcPitch: 0,
    dstXInBytes: 0,
    dstY: 0,
    dstMemoryType: sys::CU_MEMORYTYPE_HOST,
    dstHost: ptr::null_mut(),
    dstDevice: 0,
    dstArray: ptr::null_mut(),
    dstPitch: 0,
    WidthInBytes: 0,
    Height: 0,
};

/// Something of another device where one of this was expected.
fn foreign(tried: &str, what: &str) -> Error {
    Error::new(
        ErrorKind::Argument,
        format!("{tried} on a CUDA device"),
        format!("a {what} of another device"),
        format!("use the {what} on the device that it was made by"),
    )
}
