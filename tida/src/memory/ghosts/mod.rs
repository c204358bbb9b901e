//! Ghosts in memory: which boxes are copied from where, and the copies on the host, on a device and between them.

pub(crate) mod device;
pub(crate) mod fill;
pub(crate) mod mixed;
pub(crate) mod owed;
pub(crate) mod plan;
pub(crate) mod planes;
pub(crate) mod regions;
