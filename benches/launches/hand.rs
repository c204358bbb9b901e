//! The same by hand, one launch a step, and a copy.

use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::{CudaContext, CudaFunction, CudaModule, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::CompileOptions;
use tida_suite::Result;

use crate::sweeps::CHIP;
use crate::{ROUNDS, median};

const SOURCES: [&str; 2] = [include_str!("../reference/small.cu"), include_str!("../reference/channels.cu")];

/// Threads of a block.
const BLOCK: [u32; 2] = [32, 8];

/// A GPU with what was written for it.
pub struct Hand {
    stream: Arc<CudaStream>,
    modules: [Arc<CudaModule>; 2],
}

fn cover(n: usize) -> LaunchConfig {
    let blocks = BLOCK.map(|threads| (n as u32).div_ceil(threads));
    LaunchConfig { grid_dim: (blocks[0], blocks[1], 1), block_dim: (BLOCK[0], BLOCK[1], 1), shared_mem_bytes: 0 }
}

impl Hand {
    /// The first GPU.
    pub fn open() -> Result<Hand> {
        // SAFETY: loads the driver's library and NVRTC, whose initialisations are as trusted as the driver.
        if !unsafe { cudarc::driver::sys::is_culib_present() && cudarc::nvrtc::sys::is_culib_present() } {
            Err("tried to open a GPU; found no driver or no NVRTC")?;
        }
        let context = CudaContext::new(0)?;
        // SAFETY: all buffers are used in the one stream below.
        unsafe { context.disable_event_tracking() };
        let (major, minor) = context.compute_capability()?;
        let compile = |source: &str| -> Result<Arc<CudaModule>> {
            let options = vec![format!("--gpu-architecture=compute_{major}{minor}")];
            let options = CompileOptions { fmad: Some(false), options, ..Default::default() };
            Ok(context.load_module(cudarc::nvrtc::compile_ptx_with_opts(source, options)?)?)
        };
        let modules = [compile(SOURCES[0])?, compile(SOURCES[1])?];
        Ok(Hand { stream: context.new_stream()?, modules })
    }

    /// µs of a step of `run`, which does so many.
    fn timed(&self, steps: usize, mut run: impl FnMut() -> Result<()>) -> Result<f64> {
        run()?;
        self.stream.synchronize()?;
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            run()?;
            self.stream.synchronize()?;
            times.push(start.elapsed().as_secs_f64() * 1e6 / steps as f64);
        }
        Ok(median(times))
    }

    /// µs of a step of jacobi-2d.
    pub fn jacobi(&self, n: usize, steps: usize) -> Result<f64> {
        let kernel: CudaFunction = self.modules[0].load_function("jacobi")?;
        let mut u = self.stream.alloc_zeros::<f64>(n * n)?;
        let mut next = self.stream.alloc_zeros::<f64>(n * n)?;
        let size = n as i32;
        self.timed(steps, || {
            for _ in 0..steps {
                let mut launch = self.stream.launch_builder(&kernel);
                launch.arg(&mut next).arg(&u).arg(&size);
                // SAFETY: the arguments are those of the kernel, over arrays of n rows of n.
                unsafe { launch.launch(cover(n))? };
                std::mem::swap(&mut u, &mut next);
            }
            Ok(())
        })
    }

    /// µs of a step of Hotspot.
    pub fn hotspot(&self, n: usize, steps: usize) -> Result<f64> {
        let kernel: CudaFunction = self.modules[1].load_function("hotspot_step")?;
        let mut u = self.stream.alloc_zeros::<f32>(n * n)?;
        let mut next = self.stream.alloc_zeros::<f32>(n * n)?;
        let power = self.stream.alloc_zeros::<f32>(n * n)?;
        let (size, [step, across, air], ambient) = (n as i32, CHIP, 80.0f32);
        self.timed(steps, || {
            for _ in 0..steps {
                let mut launch = self.stream.launch_builder(&kernel);
                launch.arg(&mut next).arg(&u).arg(&power).arg(&size).arg(&size);
                launch.arg(&step).arg(&across).arg(&across).arg(&air).arg(&ambient);
                // SAFETY: as above.
                unsafe { launch.launch(cover(n))? };
                std::mem::swap(&mut u, &mut next);
            }
            Ok(())
        })
    }

    /// Bytes a second, read and written, of a copy of so many bytes.
    pub fn copied(&self, bytes: usize) -> Result<f64> {
        let from = self.stream.alloc_zeros::<u8>(bytes)?;
        let mut to = self.stream.alloc_zeros::<u8>(bytes)?;
        let took = self.timed(4, || {
            for _ in 0..4 {
                self.stream.memcpy_dtod(&from, &mut to)?;
            }
            Ok(())
        })?;
        Ok(2.0 * bytes as f64 / (took * 1e-6))
    }
}
