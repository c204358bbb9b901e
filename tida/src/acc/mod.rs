//! The accelerator: records work, then runs it.

mod tracker;

pub(crate) use tracker::{Touch, Tracker};

use std::sync::Arc;

use crate::error::Error;

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

#[allow(dead_code)]
impl TileAcc {
    /// Records host-side work on arrays (ghost fill, copies) to run inside the thread pool, after what it depends on.
    #[track_caller]
    pub(crate) fn record(
        &self,
        _name: &'static str,
        _touches: Vec<Touch>,
        _run: impl FnOnce() -> Result<(), Error> + Send + 'static,
    ) {
        todo!()
    }

    /// Waits until the calling thread may touch the arrays as said, and gives the error of failed work that a read
    /// would see. While the caller holds the arrays borrowed, nothing conflicting can be recorded.
    pub(crate) fn wait(&self, _touches: &[Touch]) -> Result<(), Error> {
        todo!()
    }

    /// Runs `f` inside the thread pool.
    pub(crate) fn install<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        self.shared.pool.install(f)
    }
}
