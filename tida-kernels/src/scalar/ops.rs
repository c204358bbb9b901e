//! The operations as generic functions: what the native form of a kernel calls.
//!
//! Both operands of an operator have one type, so literals get their types as in plain Rust. No function panics.
//! Integer division and entries of arrays may raise a [`Fault`]; nothing in a float's path does, so that loops over
//! floats become vector code.

use super::cast::{CastTo, Castable, Either};
pub use super::cast::{cast, float_literal, int_literal, unit};
pub use super::turns::{back_by, count, down, down_by, few, up_by, whole};
use super::{Fault, fault};
use crate::element::ScalarType;

mod sealed {
    pub trait Sealed {}
}

/// What the operators `==` and `!=` compare: numbers, `bool`, and complex numbers.
#[diagnostic::on_unimplemented(message = "a kernel cannot compare values of type `{Self}`", label = "not a scalar")]
pub trait Equal: sealed::Sealed + Copy + PartialEq {}

/// What the operators `< <= > >=` compare: numbers and `bool`.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot compare values of type `{Self}`",
    label = "not a scalar",
    note = "complex numbers have no order: compare what they have, `z.norm_sqr()`, `z.re`"
)]
pub trait Comparable: Equal + PartialOrd {}

/// What has `+ - * /` with a `B` on its right: numbers of one type, complex numbers, and these with their parts' type.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot do arithmetic on `{Self}` and `{B}`",
    label = "not with `{B}`",
    note = "both sides are numbers of one type: `2.0` for a float, `at[0] as f64`, `x as f32`",
    note = "where the type is a parameter of the function around the kernel, such as `T`, add the bound `T: tida::Real`"
)]
#[doc(hidden)]
pub trait With<B>: sealed::Sealed + Copy {
    type Output;
    fn add(self, b: B) -> Self::Output;
    fn sub(self, b: B) -> Self::Output;
    fn mul(self, b: B) -> Self::Output;
    fn div(self, b: B) -> Self::Output;
}

/// What has `+ - * /` and `-x`: numbers, and complex numbers.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot do arithmetic on `{Self}`",
    label = "not a number",
    note = "where the type is a parameter of the function around the kernel, such as `T`, add the bound `T: tida::Real`"
)]
#[doc(hidden)]
pub trait Arithmetic: With<Self, Output = Self> {
    fn neg(self) -> Self;
}

/// A float beside complex numbers, where there are such.
#[cfg(feature = "num-complex")]
#[doc(hidden)]
pub trait BesideComplex: With<num_complex::Complex<Self>, Output = num_complex::Complex<Self>> {}

/// A float beside complex numbers, where there are such.
#[cfg(not(feature = "num-complex"))]
#[doc(hidden)]
pub trait BesideComplex {}

/// A number: `i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64`.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot do arithmetic on `{Self}`",
    label = "not a number",
    note = "where the type is a parameter of the function around the kernel, such as `T`, add the bound `T: tida::Real`"
)]
#[doc(hidden)]
pub trait Number: Arithmetic + Comparable + Castable + CastTo {
    /// What kernels take it for: `usize` is `u64` there.
    const TYPE: ScalarType;
    fn rem(self, b: Self) -> Self;
    fn abs(self) -> Self;
    fn signum(self) -> Self;
    fn min(self, b: Self) -> Self;
    fn max(self, b: Self) -> Self;
    fn rem_euclid(self, b: Self) -> Self;
    fn div_euclid(self, b: Self) -> Self;
}

/// Integers and `bool`: what has `& | ^ !`.
#[diagnostic::on_unimplemented(message = "`{Self}` has no bit operations", label = "not an integer or `bool`")]
#[doc(hidden)]
pub trait Bits: Comparable {
    fn bitand(self, b: Self) -> Self;
    fn bitor(self, b: Self) -> Self;
    fn bitxor(self, b: Self) -> Self;
    fn not(self) -> Self;
}

/// An integer: `i8 i16 i32 i64 isize u8 u16 u32 u64 usize`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an integer that kernels compute with",
    label = "not an integer"
)]
#[doc(hidden)]
pub trait Int: Number + Bits {
    fn shl(self, by: u32) -> Self;
    fn shr(self, by: u32) -> Self;
    fn low_u32(self) -> u32;
    fn pow(self, n: u32) -> Self;
    fn rotate_left(self, n: u32) -> Self;
    fn rotate_right(self, n: u32) -> Self;
    fn count_ones(self) -> u32;
    fn leading_zeros(self) -> u32;
    fn trailing_zeros(self) -> u32;
}

/// Arithmetic as the type has it by itself.
macro_rules! plain_arithmetic {
    ($t:ty) => {
        impl With<$t> for $t {
            type Output = $t;
            #[inline(always)]
            fn add(self, b: $t) -> $t {
                self + b
            }
            #[inline(always)]
            fn sub(self, b: $t) -> $t {
                self - b
            }
            #[inline(always)]
            fn mul(self, b: $t) -> $t {
                self * b
            }
            #[inline(always)]
            fn div(self, b: $t) -> $t {
                self / b
            }
        }
        impl Arithmetic for $t {
            #[inline(always)]
            fn neg(self) -> $t {
                -self
            }
        }
    };
}

macro_rules! float_trait {
    ($($unary:ident)* ; $($binary:ident)*) => {
        /// `f32` or `f64`.
        #[diagnostic::on_unimplemented(
            message = "`{Self}` is not a float",
            label = "not `f32` or `f64`",
            note = "where the type is a parameter of a function, such as `T`, add the bound `T: tida::Real`",
            note = "a complex `z` has `norm`, `norm_sqr`, `arg`, `conj`, `inv`, `powu` and others; write `z.sqrt()` as \
                    `Complex64::from_polar(z.norm().sqrt(), 0.5 * z.arg())`, `z.exp()` as \
                    `Complex64::from_polar(z.re.exp(), z.im)`, `z.powi(3)` as `z.powu(3)`; `tida::num_complex` has more"
        )]
        #[doc(hidden)]
        pub trait Float: Number + Either + BesideComplex {
            /// 1.
            const UNITY: Self;
            fn mul_add(self, b: Self, c: Self) -> Self;
            fn is_nan(self) -> bool;
            fn is_finite(self) -> bool;
            fn is_infinite(self) -> bool;
            $(fn $unary(self) -> Self;)*
            $(fn $binary(self, b: Self) -> Self;)*
        }

        macro_rules! float {
            ($t:ident, $scalar:ident) => {
                impl sealed::Sealed for $t {}
                impl Equal for $t {}
                impl Comparable for $t {}
                plain_arithmetic!($t);
                impl Number for $t {
                    const TYPE: ScalarType = ScalarType::$scalar;
                    #[inline(always)]
                    fn rem(self, b: $t) -> $t { self % b }
                    #[inline(always)]
                    fn abs(self) -> $t { $t::abs(self) }
                    #[inline(always)]
                    fn signum(self) -> $t { $t::signum(self) }
                    #[inline(always)]
                    fn min(self, b: $t) -> $t {
                        let lesser = if self < b { self } else { b };
                        // Equal operands differ in the sign of zero at most: -0 if either is.
                        let equal = $t::from_bits(self.to_bits() | b.to_bits());
                        let ordered = if self == b { equal } else { lesser };
                        if b.is_nan() { self } else { ordered }
                    }
                    #[inline(always)]
                    fn max(self, b: $t) -> $t {
                        let greater = if self > b { self } else { b };
                        let equal = $t::from_bits(self.to_bits() & b.to_bits());
                        let ordered = if self == b { equal } else { greater };
                        if b.is_nan() { self } else { ordered }
                    }
                    #[inline(always)]
                    fn rem_euclid(self, b: $t) -> $t { $t::rem_euclid(self, b) }
                    #[inline(always)]
                    fn div_euclid(self, b: $t) -> $t { $t::div_euclid(self, b) }
                }
                impl BesideComplex for $t {}
                impl Float for $t {
                    const UNITY: $t = 1.0;
                    #[inline(always)]
                    fn mul_add(self, b: $t, c: $t) -> $t { $t::mul_add(self, b, c) }
                    #[inline(always)]
                    fn is_nan(self) -> bool { $t::is_nan(self) }
                    #[inline(always)]
                    fn is_finite(self) -> bool { $t::is_finite(self) }
                    #[inline(always)]
                    fn is_infinite(self) -> bool { $t::is_infinite(self) }
                    $(
                        #[inline(always)]
                        fn $unary(self) -> $t { $t::$unary(self) }
                    )*
                    $(
                        #[inline(always)]
                        fn $binary(self, b: $t) -> $t { $t::$binary(self, b) }
                    )*
                }
            };
        }

        $(
            #[doc = concat!("`x.", stringify!($unary), "()`, as the standard library has it.")]
            #[inline(always)]
            pub fn $unary<T: Float>(x: T) -> T { T::$unary(x) }
        )*
        $(
            #[doc = concat!("`a.", stringify!($binary), "(b)`, as the standard library has it.")]
            #[inline(always)]
            pub fn $binary<T: Float>(a: T, b: T) -> T { T::$binary(a, b) }
        )*
    };
}

float_trait! {
    sqrt floor ceil round trunc fract recip
    sin cos tan asin acos atan sinh cosh tanh exp exp2 exp_m1 ln ln_1p log2 log10 cbrt;
    copysign atan2 powf hypot
}

float!(f32, F32);
float!(f64, F64);

macro_rules! int {
    ($t:ident, $scalar:ident, $abs:expr, $signum:expr) => {
        impl sealed::Sealed for $t {}
        impl Equal for $t {}
        impl Comparable for $t {}
        impl With<$t> for $t {
            type Output = $t;
            #[inline(always)]
            fn add(self, b: $t) -> $t {
                self.wrapping_add(b)
            }
            #[inline(always)]
            fn sub(self, b: $t) -> $t {
                self.wrapping_sub(b)
            }
            #[inline(always)]
            fn mul(self, b: $t) -> $t {
                self.wrapping_mul(b)
            }
            #[inline(always)]
            fn div(self, b: $t) -> $t {
                let fails = self.checked_div(b).is_none();
                let quotient = self.wrapping_div(divisor(b, fails));
                if b == 0 { 0 } else { quotient }
            }
        }
        impl Arithmetic for $t {
            #[inline(always)]
            fn neg(self) -> $t {
                self.wrapping_neg()
            }
        }
        impl Number for $t {
            const TYPE: ScalarType = ScalarType::$scalar;
            #[inline(always)]
            fn rem(self, b: $t) -> $t {
                let fails = self.checked_rem(b).is_none();
                self.wrapping_rem(divisor(b, fails))
            }
            #[inline(always)]
            fn abs(self) -> $t {
                let abs: fn($t) -> $t = $abs;
                abs(self)
            }
            #[inline(always)]
            fn signum(self) -> $t {
                let signum: fn($t) -> $t = $signum;
                signum(self)
            }
            #[inline(always)]
            fn min(self, b: $t) -> $t {
                if b < self { b } else { self }
            }
            #[inline(always)]
            fn max(self, b: $t) -> $t {
                if b > self { b } else { self }
            }
            #[inline(always)]
            fn rem_euclid(self, b: $t) -> $t {
                let fails = self.checked_rem(b).is_none();
                self.wrapping_rem_euclid(divisor(b, fails))
            }
            #[inline(always)]
            fn div_euclid(self, b: $t) -> $t {
                let fails = self.checked_div(b).is_none();
                let quotient = self.wrapping_div_euclid(divisor(b, fails));
                if b == 0 { 0 } else { quotient }
            }
        }
        impl Int for $t {
            #[inline(always)]
            fn shl(self, by: u32) -> $t {
                self.wrapping_shl(by)
            }
            #[inline(always)]
            fn shr(self, by: u32) -> $t {
                self.wrapping_shr(by)
            }
            #[inline(always)]
            fn low_u32(self) -> u32 {
                self as u32
            }
            #[inline(always)]
            fn pow(self, n: u32) -> $t {
                self.wrapping_pow(n)
            }
            #[inline(always)]
            fn rotate_left(self, n: u32) -> $t {
                $t::rotate_left(self, n)
            }
            #[inline(always)]
            fn rotate_right(self, n: u32) -> $t {
                $t::rotate_right(self, n)
            }
            #[inline(always)]
            fn count_ones(self) -> u32 {
                $t::count_ones(self)
            }
            #[inline(always)]
            fn leading_zeros(self) -> u32 {
                $t::leading_zeros(self)
            }
            #[inline(always)]
            fn trailing_zeros(self) -> u32 {
                $t::trailing_zeros(self)
            }
        }
        bits!($t);
    };
}

macro_rules! bits {
    ($t:ident) => {
        impl Bits for $t {
            #[inline(always)]
            fn bitand(self, b: $t) -> $t {
                self & b
            }
            #[inline(always)]
            fn bitor(self, b: $t) -> $t {
                self | b
            }
            #[inline(always)]
            fn bitxor(self, b: $t) -> $t {
                self ^ b
            }
            #[inline(always)]
            fn not(self) -> $t {
                !self
            }
        }
    };
}

/// What to divide by: 1 where a division has no result, which raises. (`MIN / -1` is `MIN / 1`, with what either
/// leaves.) So the quotient itself stands under no condition, and the compiler takes it once where several are the
/// same.
#[inline(always)]
fn divisor<T: From<bool>>(b: T, fails: bool) -> T {
    if fails {
        division_fault();
        return T::from(true);
    }
    b
}

#[cold]
#[inline(never)]
fn division_fault() {
    fault::raise(Fault::Division);
}

int!(u8, U8, |x| x, |x| (x != 0) as u8);
int!(u16, U16, |x| x, |x| (x != 0) as u16);
int!(u32, U32, |x| x, |x| (x != 0) as u32);
int!(u64, U64, |x| x, |x| (x != 0) as u64);
int!(usize, U64, |x| x, |x| (x != 0) as usize);
int!(i8, I8, i8::wrapping_abs, i8::signum);
int!(i16, I16, i16::wrapping_abs, i16::signum);
int!(i32, I32, i32::wrapping_abs, i32::signum);
int!(i64, I64, i64::wrapping_abs, i64::signum);
int!(isize, I64, isize::wrapping_abs, isize::signum);

#[cfg(feature = "num-complex")]
#[path = "complex.rs"]
mod complex;

impl sealed::Sealed for bool {}
impl Equal for bool {}
impl Comparable for bool {}
bits!(bool);

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident<$bound:ident>($($arg:ident),*) -> $result:ty;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<T: $bound>($($arg: T),*) -> $result { T::$name($($arg),*) }
    )*};
}

functions! {
    /// `a + b`; integers wrap.
    add<Arithmetic>(a, b) -> T;
    /// `a - b`; integers wrap.
    sub<Arithmetic>(a, b) -> T;
    /// `a * b`; integers wrap.
    mul<Arithmetic>(a, b) -> T;
    /// `a / b`. Integers: division by zero gives 0, `MIN / -1` gives `MIN`, and both raise [`Fault::Division`].
    div<Arithmetic>(a, b) -> T;
    /// `a % b`. Floats: Rust's `%` (`fmod`, exact, sign of `a`). Integers: a remainder by zero and `MIN % -1` give 0
    /// and raise [`Fault::Division`].
    rem<Number>(a, b) -> T;
    /// `-a`; integers wrap.
    neg<Arithmetic>(a) -> T;
    /// `a & b`.
    bitand<Bits>(a, b) -> T;
    /// `a | b`.
    bitor<Bits>(a, b) -> T;
    /// `a ^ b`.
    bitxor<Bits>(a, b) -> T;
    /// `!a`: logical on `bool`, bitwise on integers.
    not<Bits>(a) -> T;
    /// The absolute value; `MIN` wraps to `MIN`.
    abs<Number>(a) -> T;
    /// The sign. Floats: 1 for `+0.0` and above, -1 for `-0.0` and below, NaN for NaN. Integers: -1, 0 or 1.
    signum<Number>(a) -> T;
    /// The lesser. Floats: if one is NaN the other is given, and `-0.0` is less than `+0.0`.
    min<Number>(a, b) -> T;
    /// The greater. Floats: if one is NaN the other is given, and `-0.0` is less than `+0.0`.
    max<Number>(a, b) -> T;
    /// The remainder that is never negative. Integers: by zero, and `MIN` by -1: 0 and [`Fault::Division`].
    rem_euclid<Number>(a, b) -> T;
    /// The quotient that goes with [`rem_euclid`]. Integers: by zero: 0, `MIN` by -1: `MIN`, and [`Fault::Division`].
    div_euclid<Number>(a, b) -> T;
    /// Number of bits that are 1.
    count_ones<Int>(a) -> u32;
    /// Number of zeros above the highest 1.
    leading_zeros<Int>(a) -> u32;
    /// Number of zeros below the lowest 1.
    trailing_zeros<Int>(a) -> u32;
    /// `a · b + c`, rounded once.
    mul_add<Float>(a, b, c) -> T;
    /// Whether it is NaN.
    is_nan<Float>(a) -> bool;
    /// Whether it is neither infinite nor NaN.
    is_finite<Float>(a) -> bool;
    /// Whether it is infinite.
    is_infinite<Float>(a) -> bool;
}

macro_rules! comparisons {
    ($($name:ident<$bound:ident> $op:tt)*) => {$(
        #[doc = concat!("`a ", stringify!($op), " b`.")]
        #[inline(always)]
        pub fn $name<T: $bound>(a: T, b: T) -> bool { a $op b }
    )*};
}

comparisons! { eq<Equal> == ne<Equal> != lt<Comparable> < le<Comparable> <= gt<Comparable> > ge<Comparable> >= }

macro_rules! of_two_types {
    ($($name:ident $method:ident $op:tt)*) => {$(
        #[doc = concat!("`a ", stringify!($op), " b`, where one of them may be complex and the other real.")]
        #[inline(always)]
        pub fn $name<A: With<B, Output = C>, B, C>(a: A, b: B) -> C { a.$method(b) }
    )*};
}

of_two_types! { sum add + difference sub - product mul * quotient div / }

/// `a << b`: `b` is taken modulo the number of bits of `a`.
#[inline(always)]
pub fn shl<T: Int, S: Int>(a: T, b: S) -> T {
    a.shl(b.low_u32())
}

/// `a >> b`: `b` is taken modulo the number of bits of `a`; signed integers keep their sign.
#[inline(always)]
pub fn shr<T: Int, S: Int>(a: T, b: S) -> T {
    a.shr(b.low_u32())
}

/// `x` raised to `lo` if below it, then lowered to `hi` if above it, by the comparisons `x < lo` and `x > hi`.
///
/// So NaN stays NaN, a bound that is NaN bounds nothing, and where `lo > hi` the result is never above `hi`.
#[inline(always)]
pub fn clamp<T: Number>(x: T, lo: T, hi: T) -> T {
    let x = if x < lo { lo } else { x };
    if x > hi { hi } else { x }
}

/// `x` to an integer power, by one sequence of multiplications.
///
/// From the lowest bit of `|n|` up: `result = result · power` where the bit is set, starting at 1, and
/// `power = power · power` between bits, starting at `x`. A negative `n` gives `1 / result`.
#[inline(always)]
pub fn powi<T: Float>(x: T, n: i32) -> T {
    let mut left = n.unsigned_abs();
    let (mut power, mut result) = (x, T::UNITY);
    while left != 0 {
        if left & 1 == 1 {
            result = result.mul(power);
        }
        left >>= 1;
        if left != 0 {
            power = power.mul(power);
        }
    }
    if n < 0 { T::UNITY.div(result) } else { result }
}

/// `a + b`, wrapping.
#[inline(always)]
pub fn wrapping_add<T: Int>(a: T, b: T) -> T {
    a.add(b)
}

/// `a - b`, wrapping.
#[inline(always)]
pub fn wrapping_sub<T: Int>(a: T, b: T) -> T {
    a.sub(b)
}

/// `a · b`, wrapping.
#[inline(always)]
pub fn wrapping_mul<T: Int>(a: T, b: T) -> T {
    a.mul(b)
}

/// `-a`, wrapping.
#[inline(always)]
pub fn wrapping_neg<T: Int>(a: T) -> T {
    a.neg()
}

/// The absolute value; `MIN` stays `MIN`.
#[inline(always)]
pub fn wrapping_abs<T: Int>(a: T) -> T {
    a.abs()
}

/// `a << by`, where `by` is taken modulo the number of bits.
#[inline(always)]
pub fn wrapping_shl<T: Int>(a: T, by: u32) -> T {
    a.shl(by)
}

/// `a >> by`, where `by` is taken modulo the number of bits.
#[inline(always)]
pub fn wrapping_shr<T: Int>(a: T, by: u32) -> T {
    a.shr(by)
}

/// An integer to a power, wrapping.
#[inline(always)]
pub fn wrapping_pow<T: Int>(a: T, n: u32) -> T {
    T::pow(a, n)
}

/// An integer to a power, wrapping.
#[inline(always)]
pub fn pow<T: Int>(a: T, n: u32) -> T {
    T::pow(a, n)
}

/// The bits moved up by `n`, modulo their number, and around.
#[inline(always)]
pub fn rotate_left<T: Int>(a: T, n: u32) -> T {
    T::rotate_left(a, n)
}

/// The bits moved down by `n`, modulo their number, and around.
#[inline(always)]
pub fn rotate_right<T: Int>(a: T, n: u32) -> T {
    T::rotate_right(a, n)
}

/// Position of entry `i` of `N`: 0 with [`Fault::Entry`] where there is none.
#[inline(always)]
fn position<const N: usize>(i: usize) -> usize {
    const { assert!(N > 0, "an empty array has no entries") }
    if i < N { i } else { entry_fault(i, N) }
}

#[cold]
#[inline(never)]
fn entry_fault(i: usize, len: usize) -> usize {
    fault::raise(Fault::Entry { index: i as u64, len: len as u64 });
    0
}

/// Entry `i`; past the end it is entry 0 and raises [`Fault::Entry`]. An empty array is a compile error.
#[inline(always)]
pub fn entry<T: Copy, const N: usize>(array: &[T; N], i: usize) -> T {
    array[position::<N>(i)]
}

/// How many entries an array has.
#[inline(always)]
pub fn length<T, const N: usize>(_: &[T; N]) -> usize {
    N
}

/// Coordinate `axis` of a cell; past the end as [`entry`].
#[inline(always)]
pub fn coordinate<const D: usize>(cell: &[i64; D], axis: usize) -> i64 {
    entry(cell, axis)
}

/// Entry `i`, to be written; past the end it is entry 0 and raises [`Fault::Entry`]. An empty array is a compile error.
#[inline(always)]
pub fn entry_mut<T, const N: usize>(array: &mut [T; N], i: usize) -> &mut T {
    &mut array[position::<N>(i)]
}

/// `point + offset`, axis by axis, wrapping.
#[inline(always)]
pub fn plus<const D: usize>(point: [i64; D], offset: [i64; D]) -> [i64; D] {
    let mut sum = point;
    for d in 0..D {
        sum[d] = sum[d].wrapping_add(offset[d]);
    }
    sum
}

/// `point - offset`, axis by axis, wrapping.
#[inline(always)]
pub fn minus<const D: usize>(point: [i64; D], offset: [i64; D]) -> [i64; D] {
    let mut difference = point;
    for d in 0..D {
        difference[d] = difference[d].wrapping_sub(offset[d]);
    }
    difference
}

#[cfg(test)]
#[path = "ops_tests.rs"]
mod tests;
