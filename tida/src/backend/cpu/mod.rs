//! Native kernels on the threads of this machine, compiled for the widest vectors it has.

mod isa;

pub(crate) use isa::{EXCLUSIVE, Starts, vectorised, vectorised_writing};
