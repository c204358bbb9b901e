//! A device of an accelerator: its queues, compilers, memory and times. It knows no arrays.

pub(crate) mod answers;
pub(crate) mod compiler;
pub(crate) mod core;
pub(crate) mod counts;
pub(crate) mod ledger;
pub(crate) mod notes;
pub(crate) mod passages;
pub(crate) mod plans;
pub(crate) mod timeline;
