//! Files of the arrays of [tida](https://docs.rs/tida) for other programs: [Zarr](zarr), VTK image data for ParaView,
//! and with the feature `netcdf` NetCDF-4, which is HDF5. That feature needs the system's `libnetcdf`.
//!
//! Writing goes on while the program computes. A snapshot is recorded like other work: the values are taken region by
//! region, when they are there, and threads of their own pack and write them.
//!
//! On several ranks ([`TileAccBuilder::ranks`](tida::TileAccBuilder::ranks)) all make the same calls. Each rank writes
//! the parts of a snapshot that it has most of, and the others give it the rest, so that the files are those of one
//! process; any number of ranks reads them, each what it has of the arrays. The first rank makes a snapshot count, when
//! all have put their parts onto the disk. All ranks have to see the same files. NetCDF, and sinks that do not say
//! otherwise ([`RegionSink::shared`]), are written by the first rank alone.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod arrays;
mod disk;
mod error;
#[cfg(feature = "netcdf")]
pub mod netcdf;
mod ranks;
mod sink;
mod snapshots;
mod source;
pub mod vtk;
mod words;
mod writer;
pub mod zarr;

pub use arrays::{ArrayInfo, Cells, Stored};
pub use error::Error;
pub use sink::{Part, RegionSink, RegionSource, Snapshot, Values};
pub use snapshots::{BUDGET, Snapshots};
pub use source::{read, read_box};

/// The result of most calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;
