//! Mistakes that a simulated device makes on purpose, so that tests are known to find such mistakes in a schedule.
//!
//! Each is the trace that a wrong schedule leaves at the device's interface: a wait that is not there, a piece that
//! was not moved or moved too late, memory that was given to another array too early. None has undefined behaviour.
//! Commands only disappear, move less, or come earlier between marks, and memory of the device stays allocated until
//! the device is gone.

use std::sync::atomic::{AtomicU64, Ordering};

use super::work::Stretch;

/// A mistake of a simulated device: every so many times.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimFault {
    /// A stream does not wait for an event of another one.
    MissingWait,
    /// A command of a stream comes before the one that was given before it.
    Overtaken,
    /// A piece is not brought to the device, whose copy stays as old as it was.
    StaleOnDevice,
    /// A piece is not brought to the host, whose copy stays as old as it was.
    StaleOnHost,
    /// Half of a piece is brought to the host.
    TornDownload,
    /// A piece is brought to the cells beside its own.
    WrongPlace,
    /// Memory has been given away before its content was brought to the host.
    EarlyEviction,
    /// Memory that is to be zeros keeps what was in it.
    NotZero,
    /// A piece is not copied to its other place on the device.
    LostCopy,
    /// Ghosts, or boxes of another copy, are not filled.
    LostGhosts,
    /// The second half of them is not.
    HalfGhosts,
    /// A kernel does not run.
    LostKernel,
    /// A kernel that is to read cells instead of ghosts reads the ghosts.
    ReadGhosts,
    /// A launch of several steps does one less.
    ShallowSteps,
    /// A launch that does the work of several sweeps, or of a sweep and a reduction, does not do the last of it.
    LostSweep,
}

impl SimFault {
    /// All of them.
    pub const ALL: [SimFault; 15] = [
        SimFault::MissingWait,
        SimFault::Overtaken,
        SimFault::StaleOnDevice,
        SimFault::StaleOnHost,
        SimFault::TornDownload,
        SimFault::WrongPlace,
        SimFault::EarlyEviction,
        SimFault::NotZero,
        SimFault::LostCopy,
        SimFault::LostGhosts,
        SimFault::HalfGhosts,
        SimFault::LostKernel,
        SimFault::ReadGhosts,
        SimFault::ShallowSteps,
        SimFault::LostSweep,
    ];
}

/// The fault that a device was given, and how often there was a chance for it.
#[derive(Debug)]
pub(super) struct Planted {
    fault: Option<(SimFault, u64)>,
    chances: AtomicU64,
}

impl Planted {
    pub fn new(fault: Option<(SimFault, u64)>) -> Planted {
        Planted { fault, chances: AtomicU64::new(0) }
    }

    /// Whether the fault is this one, and it is its time.
    pub fn happens(&self, fault: SimFault) -> bool {
        let every = self.fault.filter(|(planted, _)| *planted == fault).map(|(_, every)| every.max(1));
        every.is_some_and(|every| (self.chances.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(every))
    }

    /// A stretch beside this one, in a block of so many bytes; itself if there is no room.
    pub fn beside(stretch: Stretch, block: usize) -> Stretch {
        const AWAY: usize = 64;
        let at = match stretch.at {
            at if at + stretch.bytes + AWAY <= block => at + AWAY,
            at => at.saturating_sub(AWAY),
        };
        Stretch { at, ..stretch }
    }
}
