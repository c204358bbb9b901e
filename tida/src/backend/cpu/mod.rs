//! Native kernels on the threads of this machine, compiled for the widest vectors it has.

mod caches;
mod copies;
mod isa;

pub(crate) use caches::Caches;
pub(crate) use copies::{Memories, copy_box};
pub(crate) use isa::{EXCLUSIVE, Exclusive, Starts, stores_some, vectorised, vectorised_writing, widest_vectors};
