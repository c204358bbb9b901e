//! Chains: recorded work on arrays of which the device holds a window of planes.

pub(crate) mod schedule;
