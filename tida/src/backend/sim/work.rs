//! What commands do to memory, half when they start and half when they end.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

use super::memory::{POISON, Pool};
use crate::backend::Outcome;
use crate::error::{Error, ErrorKind};

/// A stretch of a block of device memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stretch {
    pub raw: u64,
    pub at: usize,
    pub bytes: usize,
}

impl Stretch {
    fn address(&self) -> *mut u8 {
        ptr::with_exposed_provenance_mut(self.raw as usize + self.at)
    }

    /// Whether its block is there, and long enough. The default stretch is in any pool.
    pub fn is_in(&self, pool: &Pool) -> bool {
        self.raw == 0 || pool.holds(self.raw, self.at, self.bytes)
    }

    pub fn error(&self) -> Error {
        Error::new(
            ErrorKind::Memory,
            format!("run a command on bytes {} to {} of a block of simulated memory", self.at, self.at + self.bytes),
            "that the block was given back, or is shorter",
            "report this as a bug of tida",
        )
    }
}

/// What a launch does.
pub(super) type Run = Box<dyn FnOnce() -> Result<(), Error> + Send>;

/// A kernel to run.
pub(super) struct Launch {
    /// None once it has run, and of one that is to fail.
    pub run: Option<Run>,
    /// It runs when the command starts; else when it ends.
    pub early: bool,
    pub outcome: Arc<Outcome>,
    /// Whether its failure is that of the stream too.
    pub tell: bool,
    pub failure: Option<Error>,
}

impl Launch {
    fn run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let result = catch_unwind(AssertUnwindSafe(run))
            .unwrap_or_else(|payload| Err(crate::error::panicked("a kernel on a simulated device", payload)));
        self.outcome.set(result);
    }
}

/// What a command does.
///
/// A copy or fill poisons what it writes when it starts, and writes it when it ends: what reads it without waiting
/// finds neither the old data nor the new. What is read is read when the command starts; where it has changed by the
/// end, the target is poison, since a real copy would have torn it. A kernel cannot do half its work: every other one,
/// in no simple order, runs when it starts, which shows a wait for its data that is missing, the rest when they end,
/// which shows data that is overwritten too early.
pub(super) enum Work {
    Nothing,
    Upload { from: *const u8, to: Stretch },
    Download { from: Stretch, to: *mut u8 },
    Copy { from: Stretch, to: Stretch, read: Vec<u8> },
    Zero(Stretch),
    Poison(Stretch),
    Kernel(Launch),
}

// SAFETY: addresses are only used where `Shared::give` was promised that they may be, from any thread.
unsafe impl Send for Work {}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Work::Nothing => "nothing",
            Work::Upload { .. } => "upload",
            Work::Download { .. } => "download",
            Work::Copy { .. } => "copy",
            Work::Zero(_) => "zero",
            Work::Poison(_) => "poison",
            Work::Kernel(_) => "kernel",
        })
    }
}

impl Work {
    /// What a kernel that is to fail fails with, for the stream.
    pub fn failure(&self) -> Option<Error> {
        match self {
            Work::Kernel(Launch { tell: true, failure, .. }) => failure.clone(),
            _ => None,
        }
    }

    /// # Safety
    /// All memory that it names is there; no one else uses it in a way that the command's order forbids.
    pub unsafe fn start(&mut self) {
        // SAFETY: the caller's promise, for each address below.
        unsafe {
            match self {
                Work::Upload { to, .. } | Work::Zero(to) | Work::Poison(to) => poison(to),
                Work::Download { from, to } => ptr::copy_nonoverlapping(from.address(), *to, from.bytes),
                Work::Copy { from, to, read } => {
                    *read = std::slice::from_raw_parts(from.address(), from.bytes).to_vec();
                    poison(to);
                }
                Work::Kernel(launch) if launch.early => launch.run(),
                Work::Kernel(_) | Work::Nothing => {}
            }
        }
    }

    /// # Safety
    /// As [`Work::start`].
    pub unsafe fn end(&mut self) {
        // SAFETY: the caller's promise, for each address below.
        unsafe {
            match self {
                Work::Upload { from, to } => ptr::copy_nonoverlapping(*from, to.address(), to.bytes),
                Work::Download { from, to } => {
                    let now = std::slice::from_raw_parts(from.address(), from.bytes);
                    if std::slice::from_raw_parts(*to, from.bytes) != now {
                        ptr::write_bytes(*to, POISON, from.bytes);
                    }
                }
                Work::Copy { from, to, read } => {
                    if std::slice::from_raw_parts(from.address(), from.bytes) == read.as_slice() {
                        ptr::copy_nonoverlapping(read.as_ptr(), to.address(), to.bytes);
                    }
                }
                Work::Zero(to) => ptr::write_bytes(to.address(), 0, to.bytes),
                Work::Kernel(launch) => launch.run(),
                Work::Poison(_) | Work::Nothing => {}
            }
        }
    }
}

/// # Safety
/// The stretch is there, and no one else uses it.
unsafe fn poison(stretch: &Stretch) {
    // SAFETY: the caller's promise.
    unsafe { ptr::write_bytes(stretch.address(), POISON, stretch.bytes) }
}
