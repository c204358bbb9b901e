//! Tiled data-parallel computing on structured grids.
//!
//! A [`TileArray`] is cut into regions with ghost cells. A loop over tiles hands each one a closure; the library
//! moves the data.
//!
//! | feature | what it adds | |
//! |---|---|---|
//! | `cuda` | NVIDIA's GPUs; nothing of CUDA is needed to build | on |
//! | `opencl` | OpenCL devices; nothing of OpenCL is needed to build | on |
//! | `ndarray` | arrays to and from [`ndarray`], views of regions | on |
//! | `npz` | checkpoints: [`save`] and [`restore`] | on |
//! | `avx2`, `avx512` | kernels for these vectors beside those for every processor | on |
#![cfg_attr(feature = "ndarray", doc = "\n", doc = include_str!("../README.md"))]
#![cfg_attr(not(all(feature = "ndarray", feature = "npz")), allow(rustdoc::broken_intra_doc_links))]

extern crate self as tida;

#[cfg(not(target_pointer_width = "64"))]
compile_error!(
    "tida needs a target whose pointers have 64 bits: `usize` and `isize` are taken for u64 and i64 in kernels"
);

pub mod acc;
pub mod array;
mod backend;
pub mod compute;
mod error;
mod macros;
mod sealed;
pub mod tile;

#[doc(hidden)]
pub mod __private;

pub use acc::{Compile, Device, Fuse, Stats, TileAcc, TileAccBuilder, Timeline};
pub use array::{Boundary, Centering, Compress, Element, Format, GridBox, Saturation, Side, TileArray, fill_ghosts};
#[cfg(feature = "npz")]
pub use array::{restore, save};
pub use backend::KernelFacts;
pub use backend::sim::{SimDevice, SimReport};
pub use compute::{
    All, ArgMax, ArgMin, Explanation, KernelReport, Max, Min, Product, ReadCounts, Scalar, Sum, Table, all, axpy,
    compute, compute_groups, dot, explain, explain_tile, kernels, norm, reduce, reduce_later, reduce_over,
    reduce_over_later, table,
};
pub use error::{Error, ErrorKind};
#[cfg(feature = "ndarray")]
pub use ndarray;
pub use tida_derive::{Element, kernel_fn};
#[doc(inline)]
pub use tida_kernels::plan::{Math, cache::Cache};
pub use tile::{Tile, TileIter};

/// The result of most calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

pub mod prelude {
    //! What most programs need: `use tida::prelude::*`.
    pub use crate::{
        ArgMax, ArgMin, Boundary, Cache, Centering, Compress, Device, Element, Error, ErrorKind, Format, Fuse, GridBox,
        Max, Min, Product, Saturation, Scalar, Side, Sum, Tile, TileAcc, TileArray, TileIter, all, axpy, compute,
        compute_groups, dot, fill_ghosts, group_kernel, kernel, kernel_fn, norm, reduce, reduce_later, reduce_over,
        reduce_over_later, table,
    };
}
