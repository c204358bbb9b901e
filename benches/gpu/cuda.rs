//! The other side: kernels written by hand, compiled and launched in this process, in the context that tida uses too.

use std::cell::RefCell;
use std::sync::Arc;

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaModule, CudaSlice, CudaStream, LaunchConfig, PinnedHostSlice,
    ValidAsZeroBits,
};
use cudarc::nvrtc::CompileOptions;
use tida_suite::Result;

/// How references are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flags {
    /// `--fmad=false`, as tida compiles: the same bits.
    Exact,
    /// What nvcc does if not told otherwise: it contracts products and sums.
    Default,
}

/// The first GPU.
#[derive(Debug)]
pub struct Gpu {
    context: Arc<CudaContext>,
    pub stream: Arc<CudaStream>,
    architecture: String,
    pub name: String,
    /// What runs when, if that is taken down.
    marks: RefCell<Option<Vec<Mark>>>,
}

/// What a program by hand does on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Copies between the host and the device.
    Link,
    /// Kernels, and what else fills or copies memory of the device.
    Kernels,
}

/// Work between two events of the stream.
#[derive(Debug)]
struct Mark {
    part: Part,
    ends: [CudaEvent; 2],
}

impl Gpu {
    /// Opens it, or says what is missing.
    pub fn open() -> Result<Gpu> {
        let missing = |what: &str, advice: &str| {
            Err(format!("tried to measure against hand-written CUDA; found no {what}; {advice}, or give --device cpu"))
        };
        // SAFETY: loads the driver's library, whose initialisation is as trusted as the driver.
        if !unsafe { cudarc::driver::sys::is_culib_present() } {
            missing("CUDA driver", "run it on a machine with an NVIDIA GPU")?;
        }
        // SAFETY: as above, for the library of NVRTC.
        if !unsafe { cudarc::nvrtc::sys::is_culib_present() } {
            missing("NVRTC", "install the CUDA toolkit and set LD_LIBRARY_PATH to where libnvrtc.so is")?;
        }
        let context = CudaContext::new(0)?;
        // SAFETY: every buffer is used in the one stream below, where work runs in order.
        unsafe { context.disable_event_tracking() };
        let (major, minor) = context.compute_capability()?;
        Ok(Gpu {
            stream: context.new_stream()?,
            architecture: format!("--gpu-architecture=compute_{major}{minor}"),
            name: context.name()?,
            context,
            marks: RefCell::new(None),
        })
    }

    /// Compiles a source file with these definitions.
    pub fn compile(&self, source: &str, flags: Flags, definitions: &[&str]) -> Result<Arc<CudaModule>> {
        let mut options = vec![self.architecture.clone()];
        options.extend(definitions.iter().map(|d| (*d).to_owned()));
        let fmad = (flags == Flags::Exact).then_some(false);
        let made = cudarc::nvrtc::compile_ptx_with_opts(source, CompileOptions { fmad, options, ..Default::default() });
        Ok(self.context.load_module(made?)?)
    }

    /// Takes down from now on what [`Gpu::marked`] runs.
    pub fn mark(&self) {
        *self.marks.borrow_mut() = Some(Vec::new());
    }

    /// Seconds of each part since [`Gpu::mark`], copies first; nothing is taken down from now on.
    pub fn taken(&self) -> Result<[f64; 2]> {
        let mut seconds = [0.0; 2];
        for Mark { part, ends: [start, end] } in self.marks.take().unwrap_or_default() {
            seconds[part as usize] += f64::from(start.elapsed_ms(&end)?) * 1e-3;
        }
        Ok(seconds)
    }

    /// Runs `f`, which puts work into the stream, between two events if they are taken down.
    pub fn marked<T, E>(&self, part: Part, f: impl FnOnce() -> Result<T, E>) -> Result<T>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let mut marks = self.marks.borrow_mut();
        let Some(marks) = marks.as_mut() else { return f().map_err(Into::into) };
        let event = || self.stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        let start = event()?;
        let value = f().map_err(Into::into)?;
        marks.push(Mark { part, ends: [start, event()?] });
        Ok(value)
    }

    /// Memory of the host that copies do not stop at.
    pub fn pinned<T: ValidAsZeroBits + cudarc::driver::DeviceRepr + Copy>(
        &self,
        values: &[T],
    ) -> Result<PinnedHostSlice<T>> {
        // SAFETY: every value is written here, before anyone reads it.
        let mut pinned = unsafe { self.context.alloc_pinned_with_flags(values.len(), 0)? };
        pinned.as_mut_slice()?.copy_from_slice(values);
        Ok(pinned)
    }

    /// Waits for all that was launched.
    pub fn wait(&self) -> Result<()> {
        Ok(self.stream.synchronize()?)
    }
}

/// Blocks of `block` threads that cover so many threads.
pub fn cover(threads: [usize; 3], block: [u32; 3]) -> LaunchConfig {
    let blocks = |d: usize| threads[d].div_ceil(block[d] as usize) as u32;
    LaunchConfig {
        grid_dim: (blocks(0), blocks(1), blocks(2)),
        block_dim: (block[0], block[1], block[2]),
        shared_mem_bytes: 0,
    }
}

/// Memory of the GPU that holds a copy of `values`.
pub fn upload<T: cudarc::driver::DeviceRepr>(gpu: &Gpu, values: &[T]) -> Result<CudaSlice<T>> {
    Ok(gpu.stream.clone_htod(values)?)
}

/// A function of a compiled source.
pub fn function(module: &Arc<CudaModule>, name: &str) -> Result<CudaFunction> {
    Ok(module.load_function(name)?)
}
