//! Vector operations on whole arrays, built on `compute` and `reduce`.

use super::launch::compute;
use super::reduce::{Reducible, Sum, reduce};
use crate::array::TileArray;
use crate::error::Error;
use crate::kernel;
use crate::tile::TileIter;

/// `f32` or `f64`: what [`dot`], [`norm`] and [`axpy`] take.
pub trait Real: Reducible {
    #[doc(hidden)]
    fn dot<const D: usize>(a: &TileArray<Self, D>, b: &TileArray<Self, D>) -> Result<Self, Error>;
    #[doc(hidden)]
    fn axpy<const D: usize>(alpha: Self, x: &TileArray<Self, D>, y: &mut TileArray<Self, D>) -> Result<(), Error>;
    #[doc(hidden)]
    fn root(self) -> Self;
}

macro_rules! real {
    ($($t:ty)*) => {$(
        impl Real for $t {
            #[track_caller]
            fn dot<const D: usize>(a: &TileArray<$t, D>, b: &TileArray<$t, D>) -> Result<$t, Error> {
                reduce((a, b), Sum, kernel!(|a, b, at| a[at] * b[at]))
            }
            #[track_caller]
            fn axpy<const D: usize>(
                alpha: $t,
                x: &TileArray<$t, D>,
                y: &mut TileArray<$t, D>,
            ) -> Result<(), Error> {
                for tile in TileIter::new(y) {
                    compute(&tile, (&mut *y, x), kernel!(|y, x, at| y[at] = alpha * x[at] + y[at]))?;
                }
                Ok(())
            }
            fn root(self) -> $t { self.sqrt() }
        }
    )*};
}

real!(f32 f64);

/// The sum of `a[at] * b[at]` over all cells; waits for it.
///
/// # Errors
/// Arrays of other cuts, and failed work that the values need.
#[track_caller]
pub fn dot<T: Real, const D: usize>(a: &TileArray<T, D>, b: &TileArray<T, D>) -> Result<T, Error> {
    T::dot(a, b)
}

/// The Euclidean norm, the root of the sum of squares; waits for it.
///
/// # Errors
/// As for [`dot`].
#[track_caller]
pub fn norm<T: Real, const D: usize>(a: &TileArray<T, D>) -> Result<T, Error> {
    Ok(T::dot(a, a)?.root())
}

/// Records `y[at] = alpha * x[at] + y[at]` over all cells.
///
/// # Errors
/// Arrays of other cuts.
#[track_caller]
pub fn axpy<T: Real, const D: usize>(alpha: T, x: &TileArray<T, D>, y: &mut TileArray<T, D>) -> Result<(), Error> {
    T::axpy(alpha, x, y)
}
