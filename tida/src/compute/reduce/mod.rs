//! `reduce` and `reduce_later`: one value from many cells, the same bits for any regions, tiles and threads.
//!
//! The order is fixed by the box reduced, not by how it is cut: values of a row are taken in segments of 64 cells that
//! start at multiples of 64; a segment is folded by halves (`v[i] = v[i] ∘ v[i + 32]`, then 16, 8, 4, 2, 1), missing
//! cells being the identity. The segments' values, in row-major order, are a list that is folded 64 at a time in the
//! same way until one is left.

#[cfg(feature = "num-complex")]
mod complex;
mod fold;
mod frame;
mod job;
mod link;
mod natively;
mod ops;
mod piece;
mod places;
mod run;
mod stubs;
mod whole;

pub(crate) use ops::Foldable;
pub use ops::{ArgMax, ArgMin, Max, Min, Product, Reducible, Reduction, Sum};
pub use run::{Domain, reduce, reduce_later, reduce_over, reduce_over_later};
