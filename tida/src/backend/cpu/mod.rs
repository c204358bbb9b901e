//! Native kernels on the threads of this machine, compiled for the widest vectors it has.

mod caches;
mod isa;

pub(crate) use caches::Caches;
pub(crate) use isa::{EXCLUSIVE, Starts, vectorised, vectorised_writing, widest_vectors};
