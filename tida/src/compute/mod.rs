//! `compute`, `reduce` and what they are made of.

mod again;
pub(crate) mod along;
pub(crate) mod apart;
pub(crate) mod args;
pub(crate) mod ask;
pub(crate) mod block;
pub(crate) mod both;
mod check;
mod colour;
#[cfg(feature = "num-complex")]
mod complex;
mod copies;
pub(crate) mod deferred;
mod explain;
mod faces;
mod fill;
pub(crate) mod function;
pub(crate) mod groups;
mod kept;
mod kernels;
mod launch;
mod levels;
mod linear;
mod lists;
#[cfg(test)]
mod macro_tests;
pub(crate) mod method;
mod native;
pub(crate) mod number;
mod one_region;
mod ptx;
pub(crate) mod real;
pub(crate) mod reduce;
mod scan;
mod segments;
pub(crate) mod slow;
pub(crate) mod stage;
pub(crate) mod view;

pub use along::{Backward, Direction, Forward, sweep_along};
pub use args::{All, Arg, Args, Table, all, table};
pub use colour::{Colour, sweep_colour};
pub use deferred::Scalar;
pub use explain::{Explanation, explain, explain_tile};
pub use faces::fill_ghosts_with;
pub use groups::compute_groups;
pub use kept::{BoxedKernel, GroupKernel, Kernel, keep, keep_groups};
pub use kernels::{KernelReport, ReadCounts, kernels};
pub use launch::compute;
pub use levels::{Coarse, Fine, coarse, fine};
pub use linear::{RealOrComplex, axpy, dot, norm};
pub use lists::{CellLists, accumulate};
pub use ptx::{PtxKernel, PtxParam, PtxScalar};
pub use real::{Number, Real};
pub use reduce::{
    ArgMax, ArgMin, Domain, Max, Min, Product, Reducible, Reduction, Sum, reduce, reduce_later, reduce_over,
    reduce_over_later,
};
pub use scan::{Scan, Summable, scan};
