//! Launches in their native form: for a device that runs no compiled kernels, on memory that the host can address
//! ([`Facts::native`](super::Facts::native)).

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tida_kernels::emit::copies::{BoxCopy, Kind};

use super::{Code, Kernel, KernelFacts, Memory};
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;

/// What one launch does.
pub(crate) enum Native<'a> {
    /// Runs the native form of kernels.
    Work(NativeWork),
    /// Copies boxes of values between two memories, as the kernel of such copies does. A failure is that of the next
    /// event of the stream.
    Boxes { kind: Kind, list: &'a Arc<[BoxCopy]>, to: &'a Memory, from: &'a Memory },
}

/// What stands for a compiled kernel.
#[derive(Debug)]
struct NativeKernel;

impl Kernel for NativeKernel {
    fn facts(&self) -> KernelFacts {
        KernelFacts::default()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What stands for a kernel on such a device: it has no text.
///
/// # Errors
/// One with a text, which needs a compiler.
pub(super) fn stand_in(code: &Code<'_>, device: &str) -> Result<Arc<dyn Kernel>, Error> {
    if code.text.is_empty() {
        return Ok(Arc::new(NativeKernel));
    }
    Err(Error::new(
        ErrorKind::Device,
        format!("compile the kernel `{}` for {device}", code.entry),
        "that it runs native kernels alone",
        "use a device with a compiler (TIDA_DEVICE=cuda or opencl)",
    ))
}

/// The native form of one launch.
pub(crate) struct NativeWork {
    /// Does all of it. How it ends is known when the command is done.
    pub run: Box<dyn FnOnce(Flaws) -> Result<(), Error> + Send>,
    /// Cells that it computes, each step and each of the sweeps that run as one counted.
    pub cells: u64,
    /// The cells of a plain sweep that take as long.
    pub takes: u64,
    /// The bytes that such a sweep moves: each of its arrays once.
    pub moves: u64,
    /// What it does that others do not.
    pub kind: NativeKind,
    /// The same by parts, where it may run together with others.
    pub in_lane: Option<InLane>,
    pub outcome: Arc<Outcome>,
}

/// How a launch may run together with others that come right before and after it in a stream: each does some rows, then
/// the next ones. So they share the caches of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    /// The axis of the rows. Planes are those of the axis before it.
    pub axis: usize,
    /// When those below row `l` may be done, it does its rows below `l - lag`: those before it have done what it reads
    /// then, and read what it overwrites.
    pub lag: i64,
}

/// A launch that may run so.
pub(crate) struct InLane {
    pub lane: Lane,
    pub boxes: Vec<(usize, GridBox<4>)>,
    /// Does some cells of one plane of a box. No one else writes what this reads, or accesses what it writes.
    pub run: Box<dyn Fn(usize, GridBox<4>) -> Result<(), Error> + Send + Sync>,
}

/// What a launch does that others do not: where a mistake may be planted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NativeKind {
    /// It reads cells instead of ghosts.
    pub reads_inside: bool,
    /// It does several steps.
    pub several_steps: bool,
    /// It does the work of several sweeps, or of a sweep and a reduction.
    pub several_sweeps: bool,
}

/// What a launch is to do wrong: a mistake was planted in the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flaws {
    /// It reads the ghosts that are in memory.
    pub reads_ghosts: bool,
    /// It does not do its first step.
    pub too_shallow: bool,
    /// It does not do the last of its sweeps, or the reduction.
    pub leaves_last: bool,
}

/// How a launch ended; known once its command is done.
#[derive(Debug, Default)]
pub(crate) struct Outcome(Mutex<Option<Result<(), Error>>>);

impl Outcome {
    pub fn set(&self, result: Result<(), Error>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    /// # Errors
    /// That of the launch; one that was not run yet.
    pub fn take(&self) -> Result<(), Error> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        known.unwrap_or_else(|| {
            let advice = "report this as a bug of tida";
            Err(Error::new(ErrorKind::Device, "take the result of a kernel", "that it has not run yet", advice))
        })
    }
}

impl NativeWork {
    /// A plain sweep over so many cells, which moves so many bytes.
    pub fn over((cells, moves): (u64, u64), run: Box<dyn FnOnce(Flaws) -> Result<(), Error> + Send>) -> NativeWork {
        let (kind, outcome) = (NativeKind::default(), Arc::default());
        NativeWork { run, cells, takes: cells, moves, kind, in_lane: None, outcome }
    }
}

impl fmt::Debug for NativeWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NativeWork { cells, takes, kind, .. } = self;
        f.debug_struct("NativeWork")
            .field("cells", cells)
            .field("takes", takes)
            .field("kind", kind)
            .finish_non_exhaustive()
    }
}
