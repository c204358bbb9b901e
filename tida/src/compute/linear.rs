//! Vector operations on whole arrays, built on `compute` and `reduce`.

use super::launch::compute;
use super::real::Real;
use super::reduce::{Sum, reduce};
use crate::array::TileArray;
use crate::error::Error;
use crate::kernel;
use crate::tile::TileIter;

/// The sum of `a[at] * b[at]` over all cells; waits for it.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let builder = TileArray::<f64, 1>::builder([3]);
/// let (a, b) = (builder.build_slice(&acc, &[1.0, 2.0, 3.0])?, builder.build_slice(&acc, &[4.0, 5.0, 6.0])?);
/// assert_eq!(dot(&a, &b)?, 32.0);
/// # Ok(()) }
/// ```
///
/// # Errors
/// Arrays of other cuts, and failed work that the values need.
#[track_caller]
pub fn dot<T: Real, const D: usize>(a: &TileArray<T, D>, b: &TileArray<T, D>) -> Result<T, Error> {
    reduce((a, b), Sum, kernel!(|a, b, at| a[at] * b[at]))
}

/// The Euclidean norm, the root of the sum of squares; waits for it.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let a = TileArray::<f64, 1>::builder([2]).build_slice(&acc, &[3.0, 4.0])?;
/// assert_eq!(norm(&a)?, 5.0);
/// # Ok(()) }
/// ```
///
/// # Errors
/// As for [`dot`].
#[track_caller]
pub fn norm<T: Real, const D: usize>(a: &TileArray<T, D>) -> Result<T, Error> {
    Ok(dot(a, a)?.sqrt())
}

/// Records `y[at] = alpha * x[at] + y[at]` over all cells, and returns.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let builder = TileArray::<f64, 1>::builder([2]);
/// let (x, mut y) = (builder.build_slice(&acc, &[1.0, 2.0])?, builder.build_slice(&acc, &[10.0, 20.0])?);
/// axpy(0.5, &x, &mut y)?;
/// assert_eq!(y.read_box(y.domain())?, [10.5, 21.0]);
/// # Ok(()) }
/// ```
///
/// # Errors
/// Arrays of other cuts.
#[track_caller]
pub fn axpy<T: Real, const D: usize>(alpha: T, x: &TileArray<T, D>, y: &mut TileArray<T, D>) -> Result<(), Error> {
    for tile in TileIter::new(y) {
        compute(&tile, (&mut *y, x), kernel!(|y, x, at| y[at] = alpha * x[at] + y[at]))?;
    }
    Ok(())
}
