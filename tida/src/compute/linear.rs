//! Vector operations on whole arrays, built on `compute` and `reduce`.

use super::launch::compute;
use super::real::Real;
use super::reduce::{Foldable, Sum, reduce};
use crate::array::TileArray;
use crate::error::Error;
use crate::kernel;
use crate::tile::TileIter;

/// What arrays hold that have a [`dot`], a [`norm`] and an [`axpy`]: `f32`, `f64`, and complex numbers of these. No
/// other type implements it.
///
/// ```
/// use tida::RealOrComplex;
/// use tida::prelude::*;
/// /// Takes from `y` what it has of the direction of `x`.
/// fn part_from<T: RealOrComplex, const D: usize>(x: &TileArray<T, D>, y: &mut TileArray<T, D>) -> tida::Result<()>
/// where
///     T: std::ops::Neg<Output = T> + std::ops::Div<Output = T>,
/// {
///     let along = dot(x, y)? / dot(x, x)?;
///     axpy(-along, x, y)
/// }
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let builder = TileArray::<f64, 1>::builder([2]);
/// let (x, mut y) = (builder.build_slice(&acc, &[2.0, 0.0])?, builder.build_slice(&acc, &[1.0, 3.0])?);
/// part_from(&x, &mut y)?;
/// assert_eq!(y.read_box(y.domain())?, [0.0, 3.0]);
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not `f32`, `f64` or a complex number",
    label = "no real or complex number",
    note = "`dot`, `norm` and `axpy` are for these; write others by `reduce` and `compute`"
)]
pub trait RealOrComplex: Foldable {
    /// The type of a norm: `f32` or `f64`.
    type Real: Real;
    #[doc(hidden)]
    fn dot<const D: usize>(a: &TileArray<Self, D>, b: &TileArray<Self, D>) -> Result<Self, Error>;
    #[doc(hidden)]
    fn norm<const D: usize>(a: &TileArray<Self, D>) -> Result<Self::Real, Error>;
    #[doc(hidden)]
    fn axpy<const D: usize>(alpha: Self, x: &TileArray<Self, D>, y: &mut TileArray<Self, D>) -> Result<(), Error>;
}

impl<T: Real> RealOrComplex for T {
    type Real = T;
    #[track_caller]
    fn dot<const D: usize>(a: &TileArray<T, D>, b: &TileArray<T, D>) -> Result<T, Error> {
        reduce((a, b), Sum, kernel!(|a, b, at| a[at] * b[at]))
    }
    #[track_caller]
    fn norm<const D: usize>(a: &TileArray<T, D>) -> Result<T, Error> {
        Ok(dot(a, a)?.sqrt())
    }
    #[track_caller]
    fn axpy<const D: usize>(alpha: T, x: &TileArray<T, D>, y: &mut TileArray<T, D>) -> Result<(), Error> {
        for tile in TileIter::new(y) {
            compute(&tile, (&mut *y, x), kernel!(|y, x, at| y[at] = alpha * x[at] + y[at]))?;
        }
        Ok(())
    }
}

#[cfg(feature = "num-complex")]
impl<T: Real> RealOrComplex for num_complex::Complex<T> {
    type Real = T;
    #[track_caller]
    fn dot<const D: usize>(a: &TileArray<Self, D>, b: &TileArray<Self, D>) -> Result<Self, Error> {
        reduce((a, b), Sum, kernel!(|a, b, at| a[at].conj() * b[at]))
    }
    #[track_caller]
    fn norm<const D: usize>(a: &TileArray<Self, D>) -> Result<T, Error> {
        Ok(reduce(a, Sum, kernel!(|a, at| a[at].norm_sqr()))?.sqrt())
    }
    #[track_caller]
    fn axpy<const D: usize>(alpha: Self, x: &TileArray<Self, D>, y: &mut TileArray<Self, D>) -> Result<(), Error> {
        for tile in TileIter::new(y) {
            compute(&tile, (&mut *y, x), kernel!(|y, x, at| y[at] = alpha * x[at] + y[at]))?;
        }
        Ok(())
    }
}

/// The scalar product: the sum of `a[at] * b[at]` over all cells; waits for it.
///
/// Of complex numbers it is the sum of `a[at].conj() * b[at]`, as BLAS's `dotc`: the first argument is conjugated.
/// Without that (`dotu`) it is `reduce((&a, &b), Sum, kernel!(|a, b, at| a[at] * b[at]))`.
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
pub fn dot<T: RealOrComplex, const D: usize>(a: &TileArray<T, D>, b: &TileArray<T, D>) -> Result<T, Error> {
    T::dot(a, b)
}

/// The Euclidean norm, the root of the sum of squares; waits for it. Of complex numbers it is the root of the sum of
/// `a[at].norm_sqr()`, a real number.
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
pub fn norm<T: RealOrComplex, const D: usize>(a: &TileArray<T, D>) -> Result<T::Real, Error> {
    T::norm(a)
}

/// Records `y[at] = alpha * x[at] + y[at]` over all cells, and returns. For complex arrays `alpha` is complex.
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
pub fn axpy<T: RealOrComplex, const D: usize>(
    alpha: T,
    x: &TileArray<T, D>,
    y: &mut TileArray<T, D>,
) -> Result<(), Error> {
    T::axpy(alpha, x, y)
}
