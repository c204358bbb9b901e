//! Places to run. Only the CPU so far.
pub(crate) mod cpu;
