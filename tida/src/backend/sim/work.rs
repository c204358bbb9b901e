//! What commands do to memory, half when they start and half when they end.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

use tida_kernels::emit::copies::{BoxCopy, From, Kind, Place};

use super::copies;
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

/// Boxes that are taken from the memory of another device.
pub(super) struct Taken {
    kind: Kind,
    to: u64,
    from: u64,
    /// From where they are, packed; and from there to where they go.
    gather: Vec<BoxCopy>,
    scatter: Vec<BoxCopy>,
    /// What is computed on the way, when all is there.
    rest: Vec<BoxCopy>,
    /// Values of all boxes.
    values: usize,
    read: Vec<u128>,
}

impl Taken {
    pub fn new(kind: Kind, list: &[BoxCopy], (to, from): (u64, u64)) -> Taken {
        let mut taken =
            Taken { kind, to, from, gather: vec![], scatter: vec![], rest: vec![], values: 0, read: vec![] };
        for copy in list {
            let From::Box(source) = copy.from else {
                taken.rest.push(*copy);
                continue;
            };
            let [_, b, c, d] = copy.extent;
            let packed = Place { first: taken.values as u64, steps: [b * c * d, c * d, d, 1] };
            taken.gather.push(BoxCopy { to: packed, from: From::Box(source), ..*copy });
            taken.scatter.push(BoxCopy { from: From::Box(packed), ..*copy });
            taken.values += copy.extent.iter().product::<u64>() as usize;
        }
        taken
    }

    /// Packed memory whose bytes are all the same.
    fn packed(&self, byte: u8) -> Vec<u128> {
        let bytes = self.values * self.kind.scalar().size();
        vec![u128::from_ne_bytes([byte; 16]); bytes.div_ceil(size_of::<u128>())]
    }

    /// What the boxes hold where they are.
    ///
    /// # Safety
    /// As [`copies::run`].
    unsafe fn gathered(&self) -> Vec<u128> {
        let mut read = self.packed(0);
        // SAFETY: the packed memory has room for all boxes; the rest is the caller's promise.
        unsafe { copies::run(self.kind, &self.gather, read.as_mut_ptr().expose_provenance() as u64, self.from) };
        read
    }

    /// Sets the boxes where they go.
    ///
    /// # Safety
    /// As [`copies::run`].
    unsafe fn set(&self, packed: &[u128]) {
        // SAFETY: the packed memory has all boxes; the rest is the caller's promise.
        unsafe { copies::run(self.kind, &self.scatter, self.to, packed.as_ptr().expose_provenance() as u64) }
    }
}

/// What a command does.
///
/// A copy or fill poisons what it writes when it starts, and writes it when it ends: what reads it without waiting
/// finds neither the old data nor the new. What is read is read when the command starts; where it has changed by the
/// end, the target is poison, since a real copy would have torn it. A kernel cannot do half its work: every other one,
/// in no simple order, runs when it starts, which shows a wait for its data that is missing, the rest when they end,
/// which shows data that is overwritten too early. What is taken from another device is such a copy, of boxes.
pub(super) enum Work {
    Nothing,
    Upload { from: *const u8, to: Stretch },
    Download { from: Stretch, to: *mut u8 },
    Copy { from: Stretch, to: Stretch, read: Vec<u8> },
    Zero(Stretch),
    Poison(Stretch),
    Kernel(Launch),
    Taken(Box<Taken>),
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
            Work::Taken(_) => "boxes of another device",
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
                Work::Taken(taken) => {
                    taken.read = taken.gathered();
                    taken.set(&taken.packed(POISON));
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
                Work::Taken(taken) => {
                    if taken.gathered() == taken.read {
                        taken.set(&taken.read);
                        copies::run(taken.kind, &taken.rest, taken.to, taken.from);
                    }
                }
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
