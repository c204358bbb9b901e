//! Traits of numbers, for functions that hold kernels for several types.

use std::fmt::Display;
use std::iter;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign};

use tida_kernels::each_scalar;
use tida_kernels::scalar::ops;

use super::reduce::Reducible;
use crate::launch::capture::{Capture, Plain, PlainScalar};

/// What kernels do with a number: a trait of its own, so that users see none of its parts.
#[doc(hidden)]
pub trait Computed: ops::Number + PlainScalar + Capture<Held = Plain<Self>> {}

impl<T: ops::Number + PlainScalar + Capture<Held = Plain<T>>> Computed for T {}

/// The same of a float.
#[doc(hidden)]
pub trait ComputedFloat: Computed + ops::Float {}

impl<T: Computed + ops::Float> ComputedFloat for T {}

/// A number that arrays hold and kernels compute with: `i8 i16 i32 i64 u8 u16 u32 u64 f32 f64`. No other type
/// implements it.
///
/// A function over `T: Number` holds kernels for all of them. On the host a `T` has the operators `+ - * / %`, their
/// assignments, `abs`, `signum`, `min`, `max`, `T::ZERO` and `T::ONE`. In a kernel `T::lit(2)` is a constant.
///
/// ```
/// use tida::prelude::*;
/// fn twice<T: Number, const D: usize>(u: &mut TileArray<T, D>) -> tida::Result<()> {
///     for tile in u.tiles() {
///         compute(&tile, &mut *u, kernel!(|u, at| u[at] = u[at] * T::lit(2)))?;
///     }
///     Ok(())
/// }
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut counts = TileArray::<i32, 1>::builder([3]).build_slice(&acc, &[1, 2, 3])?;
/// let mut masses = TileArray::<f64, 1>::builder([2]).build_slice(&acc, &[0.5, 1.5])?;
/// twice(&mut counts)?;
/// twice(&mut masses)?;
/// assert_eq!(counts.read_box(counts.domain())?, [2, 4, 6]);
/// assert_eq!(masses.read_box(masses.domain())?, [1.0, 3.0]);
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no number that arrays hold and kernels compute with",
    label = "no number of a kernel",
    note = "these are `i8 i16 i32 i64 u8 u16 u32 u64 f32 f64`; a generic function says `T: Number`, or `T: Real` for floats"
)]
pub trait Number:
    Reducible
    + Computed
    + Default
    + Display
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + RemAssign
    + iter::Sum
    + iter::Product
{
}

/// `f32` or `f64`. No other type implements it.
///
/// One function then holds a solver for both, and for every rank:
///
/// ```
/// use tida::prelude::*;
/// /// A step of heat conduction, and what it has changed.
/// fn step<T: Real, const D: usize>(
///     next: &mut TileArray<T, D>,
///     u: &mut TileArray<T, D>,
///     dt: T,
/// ) -> tida::Result<f64> {
///     u.fill_ghosts()?;
///     for tile in TileIter::new(u) {
///         compute(&tile, (&mut *next, &*u), kernel!(T; |next, u, at| {
///             let mut around = -2.0 * D as T * u[at];
///             for d in 0..D {
///                 around += u[at + unit(d)] + u[at - unit(d)];
///             }
///             next[at] = u[at] + dt * around;
///         }))?;
///     }
///     let changed = reduce((&*next, &*u), Sum, kernel!(|next, u, at| (next[at] - u[at]).abs().wide()))?;
///     Ok(changed.to_f64())
/// }
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let bar = TileArray::<f32, 1>::builder([8]).ghost(1).boundary(Boundary::Periodic);
/// let mut u = bar.build(&acc)?;
/// u.fill(|[i]| if i == 3 { 1.0 } else { 0.0 })?;
/// let mut next = u.like()?;
/// assert_eq!(step(&mut next, &mut u, 0.25)?, 1.0);
/// let plate = TileArray::<f64, 2>::builder([8, 8]).ghost(1).boundary(Boundary::Periodic);
/// let mut u = plate.build(&acc)?;
/// u.fill(|at| if at == [3, 3] { 1.0 } else { 0.0 })?;
/// let mut next = u.like()?;
/// assert_eq!(step(&mut next, &mut u, 0.125)?, 1.0);
/// # Ok(()) }
/// ```
///
/// # Numbers of the type
///
/// - In a kernel, `T::lit(0.1)` is the number of this text, and `kernel!(T; |u, at| ..)` makes each number with a point
///   and without a type a `T`.
/// - On the host, [`lit!`](crate::lit)`(T, 0.1)` is the number of this text. `T::of(x)` rounds an `f64`: a number that
///   has been rounded to `f64` and then to `f32` is, rarely, not the nearest.
///
/// # In wider numbers
///
/// [`Wide`](Real::Wide) is `f64` for both. `x.wide()` is `x` in it, in kernels too: a sum of `f32` in `f64` is
/// `reduce(&u, Sum, kernel!(|u, at| u[at].wide()))`.
///
/// # On the host
///
/// A `T` has all that [`Number`] has, `-x`, and the methods that floats have in kernels: `sqrt`, `sin`, `exp`, `powf`,
/// `mul_add`, `floor`, `is_nan` and so on.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not `f32` or `f64`",
    label = "no float",
    note = "a function for both says `T: Real`; integers are `T: Number`"
)]
pub trait Real: Number + ComputedFloat + Neg<Output = Self> {
    /// The type that sums are best made in: `f64`.
    type Wide: Real<Wide = Self::Wide>;

    /// The nearest value to `x`.
    ///
    /// ```
    /// use tida::prelude::*;
    /// fn third<T: Real>() -> T {
    ///     T::of(1.0 / 3.0)
    /// }
    /// assert_eq!(third::<f32>(), 1.0 / 3.0);
    /// ```
    fn of(x: f64) -> Self;

    /// The value, exactly.
    ///
    /// ```
    /// use tida::prelude::*;
    /// assert_eq!(Real::to_f64(0.5f32), 0.5);
    /// ```
    fn to_f64(self) -> f64;

    /// The value in the wider type, exactly.
    ///
    /// ```
    /// use tida::prelude::*;
    /// fn sum<T: Real>(values: &[T]) -> T::Wide {
    ///     values.iter().map(|x| x.wide()).sum()
    /// }
    /// assert_eq!(sum(&[1.0f32, 1e-9]), 1.0 + f64::from(1e-9f32));
    /// ```
    fn wide(self) -> Self::Wide;

    /// The nearest value to a wider one.
    ///
    /// ```
    /// use tida::prelude::*;
    /// assert_eq!(<f32 as Real>::narrow(0.25), 0.25);
    /// ```
    fn narrow(wide: Self::Wide) -> Self;

    /// `x` to an integer power, as kernels have it.
    ///
    /// ```
    /// use tida::prelude::*;
    /// fn cube<T: Real>(x: T) -> T {
    ///     x.powi(3)
    /// }
    /// assert_eq!(cube(2.0f32), 8.0);
    /// ```
    fn powi(self, n: i32) -> Self {
        ops::powi(self, n)
    }

    /// What is above it is multiplied by [`NORM_DOWN`](Real::NORM_DOWN) before it is squared.
    #[doc(hidden)]
    const NORM_ABOVE: Self;
    /// What is below it is multiplied by [`NORM_UP`](Real::NORM_UP) before it is squared.
    #[doc(hidden)]
    const NORM_BELOW: Self;
    /// A power of two.
    #[doc(hidden)]
    const NORM_UP: Self;
    /// Its inverse.
    #[doc(hidden)]
    const NORM_DOWN: Self;

    /// One of two numbers of one text: see [`lit!`](crate::lit).
    #[doc(hidden)]
    fn of_text(single: f32, double: f64) -> Self {
        ops::float_literal(single, double)
    }
}

macro_rules! number {
    (() $($t:ident $variant:ident)*) => {$(
        impl Number for $t {}
    )*};
}

each_scalar!(numbers number!());

macro_rules! real {
    ($($t:ident $two_to:ident $large:literal $small:literal $up:literal;)*) => {$(
        impl Real for $t {
            type Wide = f64;
            const NORM_ABOVE: $t = $two_to($large);
            const NORM_BELOW: $t = $two_to($small);
            const NORM_UP: $t = $two_to($up);
            const NORM_DOWN: $t = $two_to(-$up);
            #[inline(always)]
            fn of(x: f64) -> $t { x as $t }
            #[inline(always)]
            fn to_f64(self) -> f64 { f64::from(self) }
            #[inline(always)]
            fn wide(self) -> f64 { f64::from(self) }
            #[inline(always)]
            fn narrow(wide: f64) -> $t { wide as $t }
        }
    )*};
}

// Sums of two squares of what lies between are normal numbers that are far from the ends of the type. So are those of
// all that lies above, down to where parts no longer count beside such a number, and of all that lies below.
real! {
    f32 two_to_single 60 -40 100;
    f64 two_to_double 500 -450 600;
}

/// A power of two.
const fn two_to_single(n: i32) -> f32 {
    f32::from_bits(((127 + n) as u32) << 23)
}

/// A power of two.
const fn two_to_double(n: i32) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}

/// `x.wide()` in a kernel.
#[inline(always)]
pub fn wide<T: Real>(x: T) -> T::Wide {
    x.wide()
}
