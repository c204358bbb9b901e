//! Running what was recorded: boxes on the host, steps that follow one another, and chains.

pub(crate) mod batch;
pub(crate) mod chain;
pub(crate) mod gate;
pub(crate) mod op;
pub(crate) mod round;
pub(crate) mod steps;
pub(crate) mod streamed;
