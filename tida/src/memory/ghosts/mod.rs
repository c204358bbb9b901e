//! Ghosts in memory: which boxes are copied from where, and the copies on the host, on a device and between them.

pub(crate) mod borders;
pub(crate) mod compile;
pub(crate) mod device;
mod files;
mod host;
pub(crate) mod mixed;
pub(crate) mod owed;
pub(crate) mod plan;
pub(crate) mod planes;
pub(crate) mod regions;

/// Which ghosts are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those whose values change.
    Moving,
    /// Those of fixed value.
    Fixed,
    All,
}
