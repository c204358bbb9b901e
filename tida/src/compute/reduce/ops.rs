//! The reductions.

use tida_kernels::each_scalar;
use tida_kernels::plan::FoldOp;
use tida_kernels::scalar::ops;

use crate::grid::GridBox;
use crate::memory::element::{Element, ScalarElement};
use crate::sealed::Sealed;

/// A value that reductions take: numbers, and complex numbers. No other type implements it.
#[diagnostic::on_unimplemented(
    message = "reductions take no values of type `{Self}`",
    label = "no number",
    note = "the kernel of a reduction gives a number or a complex number: reduce the parts of other values one by one"
)]
pub trait Foldable: Element {
    /// Some value.
    #[doc(hidden)]
    const SOME: Self;
}

/// A number that reductions take: `i8 i16 i32 i64 u8 u16 u32 u64 f32 f64`. No other type implements it.
pub trait Reducible: ScalarElement + Foldable {
    /// What every sum starts from; adding it changes no bit (-0.0 for floats).
    #[doc(hidden)]
    const NOTHING: Self;
    #[doc(hidden)]
    const ZERO: Self;
    #[doc(hidden)]
    const ONE: Self;
    #[doc(hidden)]
    const LOWEST: Self;
    #[doc(hidden)]
    const HIGHEST: Self;
    #[doc(hidden)]
    fn plus(self, other: Self) -> Self;
    #[doc(hidden)]
    fn times(self, other: Self) -> Self;
    #[doc(hidden)]
    fn lower(self, other: Self) -> Self;
    #[doc(hidden)]
    fn higher(self, other: Self) -> Self;
    #[doc(hidden)]
    fn less(self, other: Self) -> bool;
    #[doc(hidden)]
    fn not_a_number(self) -> bool;
    /// The value of these bits.
    #[doc(hidden)]
    fn of_bits(bits: u64) -> Self;
}

macro_rules! reducible {
    (integers $($t:ident $variant:ident)*) => {
        reducible! { $($t: 0, 0, 1, $t::MIN, $t::MAX, |_| false;)* }
    };
    ($($t:ty: $nothing:expr, $zero:expr, $one:expr, $lowest:expr, $highest:expr, $nan:expr;)*) => {$(
        impl Foldable for $t {
            const SOME: $t = $zero;
        }
        impl Reducible for $t {
            const NOTHING: $t = $nothing;
            const ZERO: $t = $zero;
            const ONE: $t = $one;
            const LOWEST: $t = $lowest;
            const HIGHEST: $t = $highest;
            #[inline(always)]
            fn plus(self, other: $t) -> $t { ops::add(self, other) }
            #[inline(always)]
            fn times(self, other: $t) -> $t { ops::mul(self, other) }
            #[inline(always)]
            fn lower(self, other: $t) -> $t { ops::min(self, other) }
            #[inline(always)]
            fn higher(self, other: $t) -> $t { ops::max(self, other) }
            #[inline(always)]
            fn less(self, other: $t) -> bool { self < other }
            #[inline(always)]
            fn not_a_number(self) -> bool {
                let nan: fn($t) -> bool = $nan;
                nan(self)
            }
            fn of_bits(bits: u64) -> $t {
                let bits = bits.to_le_bytes();
                let mut own = [0; size_of::<$t>()];
                own.copy_from_slice(&bits[..size_of::<$t>()]);
                <$t>::from_le_bytes(own)
            }
        }
    )*};
}

each_scalar!(integers reducible! integers);
reducible! {
    f32: -0.0, 0.0, 1.0, f32::NEG_INFINITY, f32::INFINITY, f32::is_nan;
    f64: -0.0, 0.0, 1.0, f64::NEG_INFINITY, f64::INFINITY, f64::is_nan;
}

/// How values become one: [`Sum`], [`Product`], [`Min`], [`Max`], [`ArgMin`] and [`ArgMax`]. No other type implements
/// it: each device folds them in an order and a form of its own, with the same bits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not reduce values of type `{T}`",
    label = "not of `{T}`",
    note = "complex numbers have a `Sum` and a `Product`, and no order: reduce `z.norm_sqr()` by `Max`, `Min` and others"
)]
pub trait Reduction<T>: Sealed + Copy + std::fmt::Debug + Send + Sync + 'static {
    // `combine` of a value and the identity is the value, bit for bit.
    /// What is folded.
    #[doc(hidden)]
    type Partial: Copy + Send + Sync + 'static;
    /// What comes out, for a box of `D` axes.
    type Output<const D: usize>: Copy + Send + Sync + 'static;
    #[doc(hidden)]
    fn identity(self) -> Self::Partial;
    /// `index` is the cell's place in the box, row-major.
    #[doc(hidden)]
    fn lift(self, value: T, index: u64) -> Self::Partial;
    #[doc(hidden)]
    fn combine(self, a: Self::Partial, b: Self::Partial) -> Self::Partial;
    #[doc(hidden)]
    fn finish<const D: usize>(self, folded: Self::Partial, cells: &GridBox<D>) -> Self::Output<D>;
    /// Whether a box without cells has a value.
    #[doc(hidden)]
    const OF_NOTHING: bool;
    /// Its name in emitted kernels.
    #[doc(hidden)]
    const FOLD: FoldOp;
    /// What `combine` does, if the values themselves are folded.
    #[doc(hidden)]
    const COMBINE: Option<fn(T, T) -> T>;
    /// Whether a device folds values of several scalars, each scalar by itself.
    #[doc(hidden)]
    const BY_PARTS: bool;
    /// What a device folded: the bits of a value's scalars, and the index that goes with it, if there is one.
    #[doc(hidden)]
    fn folded(self, bits: [u64; 2], index: u64) -> Self::Partial;
    /// The bits and the index of a value: what `folded` takes.
    #[doc(hidden)]
    fn bits(self, partial: Self::Partial) -> ([u64; 2], u64);
    /// The value of such bits.
    #[doc(hidden)]
    fn of_bits(self, bits: [u64; 2], index: u64) -> Self::Partial {
        self.folded(bits, index)
    }
}

/// The sum; integers wrap. Of no cells it is 0.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let u = TileArray::<f64, 1>::builder([3]).build_slice(&acc, &[1.0, 2.0, 4.0])?;
/// assert_eq!(reduce(&u, Sum, kernel!(|u, at| u[at]))?, 7.0);
/// assert_eq!(reduce(&u, Sum, kernel!(|u, at| if u[at] > 1.0 { 1u64 } else { 0u64 }))?, 2); // counts
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sum;

/// The product; integers wrap. Of no cells it is 1.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let u = TileArray::<f64, 1>::builder([3]).build_slice(&acc, &[1.0, 2.0, 4.0])?;
/// assert_eq!(reduce(&u, Product, kernel!(|u, at| u[at]))?, 8.0);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Product;

/// The lowest value. NaN if any value is NaN; -0.0 is below 0.0. Of no cells it is an error.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let u = TileArray::<f64, 1>::builder([3]).build_slice(&acc, &[2.0, -1.0, 4.0])?;
/// assert_eq!(reduce(&u, Min, kernel!(|u, at| u[at]))?, -1.0);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Min;

/// The highest value. NaN if any value is NaN; -0.0 is below 0.0. Of no cells it is an error.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let u = TileArray::<f64, 1>::builder([3]).build_slice(&acc, &[2.0, -1.0, 4.0])?;
/// assert_eq!(reduce(&u, Max, kernel!(|u, at| u[at].abs()))?, 4.0);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Max;

/// The cell of the lowest value, and the value. Of several it is the first in row-major order; the first NaN if there
/// is one. Of no cells it is an error.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let u = TileArray::<f64, 1>::builder([4]).build_slice(&acc, &[2.0, -1.0, 4.0, -1.0])?;
/// assert_eq!(reduce(&u, ArgMin, kernel!(|u, at| u[at]))?, ([1], -1.0));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ArgMin;

/// The cell of the highest value, and the value. Of several it is the first in row-major order; the first NaN if there
/// is one. Of no cells it is an error.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// # let acc = TileAcc::auto()?;
/// let u = TileArray::<f64, 2>::builder([2, 2]).build_slice(&acc, &[2.0, -1.0, 4.0, 3.0])?;
/// assert_eq!(reduce(&u, ArgMax, kernel!(|u, at| u[at]))?, ([1, 0], 4.0));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ArgMax;

macro_rules! plain {
    ($name:ident, $of_nothing:literal, $identity:ident, |$a:ident, $b:ident| $combine:expr) => {
        impl Sealed for $name {}
        impl<T: Reducible> Reduction<T> for $name {
            type Partial = T;
            type Output<const D: usize> = T;
            const OF_NOTHING: bool = $of_nothing;
            const FOLD: FoldOp = FoldOp::$name;
            const COMBINE: Option<fn(T, T) -> T> = Some(|a, b| Reduction::<T>::combine($name, a, b));
            const BY_PARTS: bool = true;
            fn folded(self, [bits, _]: [u64; 2], _: u64) -> T {
                T::of_bits(bits)
            }
            fn bits(self, partial: T) -> ([u64; 2], u64) {
                ([partial.bits(), 0], 0)
            }
            #[inline(always)]
            fn identity(self) -> T {
                T::$identity
            }
            #[inline(always)]
            fn lift(self, value: T, _: u64) -> T {
                value
            }
            #[inline(always)]
            fn combine(self, $a: T, $b: T) -> T {
                $combine
            }
            fn finish<const D: usize>(self, folded: T, cells: &GridBox<D>) -> T {
                // A sum of nothing is 0, not the -0.0 that sums start from.
                if cells.is_empty() { folded.plus(T::ZERO) } else { folded }
            }
        }
    };
}

plain!(Sum, true, NOTHING, |a, b| a.plus(b));
plain!(Product, true, ONE, |a, b| a.times(b));
plain!(Min, false, HIGHEST, |a, b| if a.not_a_number() {
    a
} else if b.not_a_number() {
    b
} else {
    a.lower(b)
});
plain!(Max, false, LOWEST, |a, b| if a.not_a_number() {
    a
} else if b.not_a_number() {
    b
} else {
    a.higher(b)
});

macro_rules! arg {
    ($name:ident, $identity:ident, |$a:ident, $b:ident| $before:expr) => {
        impl Sealed for $name {}
        impl<T: Reducible> Reduction<T> for $name {
            type Partial = (T, u64);
            type Output<const D: usize> = ([usize; D], T);
            const OF_NOTHING: bool = false;
            const FOLD: FoldOp = FoldOp::$name;
            const COMBINE: Option<fn(T, T) -> T> = None;
            const BY_PARTS: bool = true;
            fn folded(self, [bits, _]: [u64; 2], index: u64) -> (T, u64) {
                (T::of_bits(bits), index)
            }
            fn bits(self, partial: (T, u64)) -> ([u64; 2], u64) {
                ([partial.0.bits(), 0], partial.1)
            }
            #[inline(always)]
            fn identity(self) -> (T, u64) {
                (T::$identity, u64::MAX)
            }
            #[inline(always)]
            fn lift(self, value: T, index: u64) -> (T, u64) {
                (value, index)
            }
            #[inline(always)]
            fn combine(self, a: (T, u64), b: (T, u64)) -> (T, u64) {
                let first = if a.1 <= b.1 { a } else { b };
                match (a.0.not_a_number(), b.0.not_a_number()) {
                    (true, true) => first,
                    (true, false) => a,
                    (false, true) => b,
                    (false, false) => {
                        let before = |$a: T, $b: T| $before;
                        if before(a.0, b.0) {
                            a
                        } else if before(b.0, a.0) {
                            b
                        } else {
                            first
                        }
                    }
                }
            }
            fn finish<const D: usize>(self, folded: (T, u64), cells: &GridBox<D>) -> ([usize; D], T) {
                let extent = cells.extent();
                let mut rest = folded.1 as usize;
                let mut at = [0; D];
                for d in (0..D).rev() {
                    let n = extent[d].max(1);
                    at[d] = (cells.lo[d] + (rest % n) as i64) as usize;
                    rest /= n;
                }
                (at, folded.0)
            }
        }
    };
}

arg!(ArgMin, HIGHEST, |a, b| a.less(b));
arg!(ArgMax, LOWEST, |a, b| b.less(a));
