//! OpenCL devices of any vendor, by the loader found when the program runs.
//!
//! | environment | |
//! |---|---|
//! | `TIDA_OPENCL_DEVICE` | a number, or a piece of a device's name: chooses among all devices, whatever their kind |
//! | `OPENCL_DYLIB_PATH` | a loader to try before `libOpenCL.so.1` |
//!
//! What the driver gives is called by plain functions, its objects kept in [`Handle`]s: the objects of `opencl3` panic
//! where giving one back fails.
//!
//! **The bits of the CPU** need a device that divides and takes roots of `f32` correctly rounded, which OpenCL leaves
//! open; PoCL does. On a device that does not, a warning says so once, and kernels that divide `f32` or take its root
//! may differ in the last bits.
//!
//! Buffers are aligned as the driver aligns them: PoCL promises 128 bytes, not 256.

mod compile;
mod memory;
mod probe;
mod stream;
#[cfg(test)]
mod tests;

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use opencl3::command_queue as queue;
use opencl3::context::context::{create_context, release_context};
use opencl3::error_codes::{
    CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY, DLOPEN_FUNCTION_NOT_AVAILABLE, error_text,
};
use opencl3::kernel::set_kernel_arg;
use opencl3::types::{CL_FALSE, cl_int};
use tracing::debug;

use self::compile::{Compiled, Compiler};
use self::probe::Device;
use self::stream::{Downloads, Marker, Queue, wait_for};
use super::{ALL_STREAMS, Argument, Backend, Code, Event, Facts, Kernel, Memory};
use crate::backend::chosen::{Chosen, Opening};
use crate::error::{Error, ErrorKind};

/// An OpenCL device: a GPU of any platform; with `any`, else any other device; or the one that was `chosen`. Where none
/// was and several would do, `turn` goes round them.
///
/// # Errors
/// [`ErrorKind::Device`]: no loader, no platform or no such device; what was looked for and what to do.
/// [`ErrorKind::Argument`]: devices, but not the one that was chosen.
pub(crate) fn open(
    any: bool,
    asked: Opening,
    chosen: Option<&Chosen<String>>,
    turn: usize,
) -> Result<Arc<dyn Backend>, Error> {
    let device = probe::choose(probe::devices()?, any, chosen, turn)?;
    debug!(name = device.facts.name, target = device.facts.target, ?asked, "OpenCL device");
    Ok(Arc::new(OpenCl::new(device, asked)?))
}

/// An object of the driver, given back when dropped.
#[derive(Debug)]
struct Handle {
    raw: *mut c_void,
    release: unsafe fn(*mut c_void) -> Result<(), cl_int>,
}

// SAFETY: OpenCL's calls may come from any thread, several at once, but for those that set arguments of a kernel, which
// are made under a lock (OpenCL 1.2, appendix A.2).
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    /// # Safety
    /// `raw` is an object that `release` gives back, and no one else gives this reference back.
    unsafe fn new(raw: *mut c_void, release: unsafe fn(*mut c_void) -> Result<(), cl_int>) -> Handle {
        Handle { raw, release }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the promise of `new`.
        if let Err(code) = unsafe { (self.release)(self.raw) } {
            debug!(code, "an OpenCL object could not be given back");
        }
    }
}

/// The name of an error code, and its number.
fn name_of(code: cl_int) -> String {
    format!("{} ({code})", error_text(code))
}

/// An error from a code of the driver.
fn failed(tried: impl Into<String>, code: cl_int) -> Error {
    match code {
        CL_MEM_OBJECT_ALLOCATION_FAILURE | CL_OUT_OF_HOST_MEMORY => {
            Error::new(ErrorKind::Memory, tried, name_of(code), "close other programs that use the device")
        }
        DLOPEN_FUNCTION_NOT_AVAILABLE => Error::new(
            ErrorKind::Device,
            tried,
            "a loader libOpenCL.so.1 that lacks the function",
            "install a loader for OpenCL 1.2 or newer (Debian: ocl-icd-libopencl1)",
        ),
        _ => Error::new(
            ErrorKind::Device,
            tried,
            name_of(code),
            "see that the device's driver is well (clinfo), or choose another device with TIDA_DEVICE",
        ),
    }
}

/// A device behind its driver: one context, and a queue for each stream.
#[derive(Debug)]
struct OpenCl {
    device: &'static Device,
    /// Those of the device, but for what it is planned for as.
    facts: Facts,
    /// In-order queues, one a stream.
    queues: Vec<Queue>,
    downloads: Downloads,
    memory: memory::Pool,
    compiler: Compiler,
}

impl OpenCl {
    fn new(device: &'static Device, asked: Opening) -> Result<OpenCl, Error> {
        let tried = || format!("use the OpenCL device {}", device.facts.name);
        let context = create_context(&[device.id()], ptr::null(), None, ptr::null_mut());
        let context = context.map_err(|code| failed(tried(), code))?;
        // SAFETY: just made, and given back by this handle alone.
        let context = Arc::new(unsafe { Handle::new(context, release_context) });
        let queues = (0..ALL_STREAMS).map(|_| Queue::new(&context, device, asked.timed)).collect::<Result<_, _>>()?;
        let memory = memory::Pool::new(&context, device)?;
        let (downloads, compiler) = (Downloads::default(), Compiler::new(context, device));
        let facts = Facts { gpu: asked.as_gpu || device.facts.gpu, ..device.facts.clone() };
        Ok(OpenCl { device, facts, queues, downloads, memory, compiler })
    }

    fn queue(&self, stream: usize) -> Result<&Queue, Error> {
        self.queues.get(stream).ok_or_else(|| {
            Error::new(
                ErrorKind::Argument,
                format!("use stream {stream} of an OpenCL device"),
                format!("streams 0 to {}", ALL_STREAMS - 1),
                "report this as a bug of tida",
            )
        })
    }
}

/// What an object that another backend made leads to.
fn foreign(what: &str) -> Error {
    Error::new(
        ErrorKind::Argument,
        format!("use {what} on an OpenCL device"),
        "one of another backend",
        "report this as a bug of tida",
    )
}

fn cl_mem(memory: &Memory) -> *mut c_void {
    memory.raw() as *mut c_void
}

impl Backend for OpenCl {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn identity(&self) -> Option<String> {
        let number = probe::devices().ok()?.iter().position(|other| std::ptr::eq(other, self.device))?;
        Some(format!("opencl {number}"))
    }

    fn free_memory(&self) -> Option<u64> {
        Some(self.device.free())
    }

    fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        self.memory.allocate(bytes)
    }

    unsafe fn free(&self, raw: u64, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.memory.free(raw, bytes) }
    }

    /// OpenCL cannot pin memory that is there already.
    unsafe fn pin(&self, _base: *mut u8, _bytes: usize) -> bool {
        false
    }

    unsafe fn unpin(&self, _base: *mut u8) {}

    fn kept(&self, code: &Code<'_>) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(self.compiler.kept(code)?))
    }

    fn compile(&self, code: &Code<'_>) -> Result<Arc<dyn Kernel>, Error> {
        Ok(Arc::new(self.compiler.compile(code)?))
    }

    unsafe fn upload(&self, stream: usize, to: &Memory, at: usize, from: *const u8, bytes: usize) -> Result<(), Error> {
        let queue = self.queue(stream)?;
        if bytes == 0 {
            return Ok(());
        }
        if let Some((stream, download)) = self.downloads.last_into(&(from.addr()..from.addr() + bytes)) {
            self.queue(stream)?.flush()?;
            wait_for(&download);
        }
        let tried = || format!("copy {bytes} bytes to the device {}", self.device.facts.name);
        // SAFETY: the caller's promise; the driver checks the stretch against the buffer.
        queue.submit(tried, |raw| unsafe {
            queue::enqueue_write_buffer(raw, cl_mem(to), CL_FALSE, at, bytes, from.cast(), 0, ptr::null())
        })
    }

    unsafe fn download(&self, stream: usize, from: &Memory, at: usize, to: *mut u8, bytes: usize) -> Result<(), Error> {
        let queue = self.queue(stream)?;
        if bytes == 0 {
            return Ok(());
        }
        let tried = || format!("copy {bytes} bytes from the device {}", self.device.facts.name);
        // SAFETY: as in `upload`.
        let event = queue.event_of(tried, |raw| unsafe {
            queue::enqueue_read_buffer(raw, cl_mem(from), CL_FALSE, at, bytes, to.cast(), 0, ptr::null())
        })?;
        self.downloads.add(stream, to.addr()..to.addr() + bytes, event);
        Ok(())
    }

    unsafe fn copy(
        &self,
        stream: usize,
        from: (&Memory, usize),
        to: (&Memory, usize),
        bytes: usize,
    ) -> Result<(), Error> {
        let queue = self.queue(stream)?;
        if bytes == 0 {
            return Ok(());
        }
        let tried = || format!("copy {bytes} bytes on the device {}", self.device.facts.name);
        let ((from, from_at), (to, to_at)) = (from, to);
        // SAFETY: as in `upload`.
        queue.submit(tried, |raw| unsafe {
            queue::enqueue_copy_buffer(raw, cl_mem(from), cl_mem(to), from_at, to_at, bytes, 0, ptr::null())
        })
    }

    unsafe fn zero(&self, stream: usize, memory: &Memory, at: usize, bytes: usize) -> Result<(), Error> {
        let queue = self.queue(stream)?;
        if bytes == 0 {
            return Ok(());
        }
        let tried = || format!("set {bytes} bytes to zero on the device {}", self.device.facts.name);
        let pattern = [0_u8; 16];
        // Start and length have to be multiples of the pattern's size; drivers fill faster by wide patterns.
        let wide = 1 << (at | bytes).trailing_zeros().min(4);
        // SAFETY: as in `upload`; the driver takes the pattern before the call returns.
        queue.submit(tried, |raw| unsafe {
            queue::enqueue_fill_buffer(raw, cl_mem(memory), pattern.as_ptr().cast(), wide, at, bytes, 0, ptr::null())
        })
    }

    unsafe fn launch(
        &self,
        stream: usize,
        kernel: &dyn Kernel,
        blocks: [u32; 3],
        threads: [u32; 3],
        arguments: &[Argument<'_>],
    ) -> Result<(), Error> {
        let queue = self.queue(stream)?;
        let kernel = kernel.as_any().downcast_ref::<Compiled>().ok_or_else(|| foreign("a kernel"))?;
        let tried =
            || format!("launch {} on the device {} in {blocks:?} blocks", kernel.entry(), self.device.facts.name);
        if arguments.len() != kernel.arguments() as usize {
            // Arguments of an earlier launch would stay in their places.
            return Err(Error::new(
                ErrorKind::Argument,
                tried(),
                format!("{} arguments for a kernel of {}", arguments.len(), kernel.arguments()),
                "report this as a bug of tida",
            ));
        }
        if blocks.contains(&0) {
            return Ok(());
        }
        let local = threads.map(|n| n as usize);
        let global = [0, 1, 2].map(|axis| blocks[axis] as usize * local[axis]);
        // Held until the launch is enqueued: arguments are state of the kernel.
        let raw_kernel = kernel.lock();
        for (index, argument) in arguments.iter().enumerate() {
            let memory;
            let (size, value): (usize, *const c_void) = match argument {
                Argument::Memory(of) => {
                    memory = cl_mem(of);
                    (size_of_val(&memory), (&raw const memory).cast())
                }
                Argument::Bytes(bytes) => (bytes.len(), bytes.as_ptr().cast()),
                Argument::At(..) => {
                    return Err(Error::new(
                        ErrorKind::Argument,
                        format!("{}, argument {index}", tried()),
                        "an address inside memory, which OpenCL does not pass",
                        "report this as a bug of tida",
                    ));
                }
            };
            // SAFETY: the value has its size, the driver copies it, and the lock keeps others away.
            let set = unsafe { set_kernel_arg(raw_kernel.raw, index as u32, size, value) };
            set.map_err(|code| failed(format!("{}, argument {index}", tried()), code))?;
        }
        // SAFETY: the caller's promise; three sizes each, read before the call returns.
        queue.submit(tried, |raw| unsafe {
            queue::enqueue_nd_range_kernel(
                raw,
                raw_kernel.raw,
                3,
                ptr::null(),
                global.as_ptr(),
                local.as_ptr(),
                0,
                ptr::null(),
            )
        })
    }

    fn record(&self, stream: usize) -> Result<Arc<dyn Event>, Error> {
        Ok(Arc::new(self.queue(stream)?.record()?))
    }

    fn wait(&self, stream: usize, event: &dyn Event) -> Result<(), Error> {
        let marker = event.as_any().downcast_ref::<Marker>().ok_or_else(|| foreign("an event"))?;
        self.queue(stream)?.wait(marker)
    }

    fn flush(&self, stream: usize) -> Result<(), Error> {
        self.queue(stream)?.flush()
    }
}
