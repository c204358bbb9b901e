//! Casts and constants of a type that a kernel's text leaves open.

use super::ops::{Float, Number};

/// What casts to numbers: numbers and `bool`.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot cast a value of type `{Self}`",
    label = "no number or `bool`"
)]
pub trait Castable: Copy {
    /// `self as T`.
    fn cast<T: Number>(self) -> T;
}

macro_rules! casts {
    ($($t:ident $of:ident;)*) => {
        /// A number as the target of casts.
        pub trait CastTo: Sized {
            $(#[doc = concat!("`x as Self` of a `", stringify!($t), "`.")]
            fn $of(x: $t) -> Self;)*
        }

        $(impl Castable for $t {
            #[inline(always)]
            fn cast<T: Number>(self) -> T { T::$of(self) }
        })*
        casts!(@each ($($t)*) ($($t $of;)*));
    };
    (@each ($to:ident $($more:ident)*) ($($t:ident $of:ident;)*)) => {
        impl CastTo for $to {
            $(#[inline(always)]
            fn $of(x: $t) -> $to { x as $to })*
        }
        casts!(@each ($($more)*) ($($t $of;)*));
    };
    (@each () $all:tt) => {};
}

casts! {
    i8 of_i8;
    i16 of_i16;
    u8 of_u8;
    u16 of_u16;
    i32 of_i32;
    u32 of_u32;
    i64 of_i64;
    u64 of_u64;
    usize of_usize;
    isize of_isize;
    f32 of_f32;
    f64 of_f64;
}

/// `f32` or `f64`.
pub trait Either: Sized {
    /// The one of these that is of this type.
    fn either(single: f32, double: f64) -> Self;
}

impl Either for f32 {
    #[inline(always)]
    fn either(single: f32, _double: f64) -> f32 {
        single
    }
}

impl Either for f64 {
    #[inline(always)]
    fn either(_single: f32, double: f64) -> f64 {
        double
    }
}

impl Castable for bool {
    /// To integers; a kernel that casts to a float is refused as it is typed.
    #[inline(always)]
    fn cast<T: Number>(self) -> T {
        T::of_u8(u8::from(self))
    }
}

/// `x as T`.
#[inline(always)]
pub fn cast<T: Number, S: Castable>(x: S) -> T {
    x.cast()
}

/// `T::lit(0.1)`: the number of both types whose text this is.
#[inline(always)]
pub fn float_literal<T: Float>(single: f32, double: f64) -> T {
    T::either(single, double)
}

/// `T::lit(2)`. A kernel is refused as it is typed if the type does not have the number.
#[inline(always)]
pub fn int_literal<T: Number>(number: u64) -> T {
    T::of_u64(number)
}

/// `unit(axis)`: 1 along that axis. Past the last it is the first and raises a [`Fault`](super::Fault), as an entry of
/// an array does.
#[inline(always)]
pub fn unit<const D: usize>(axis: usize) -> [i64; D] {
    let mut point = [0; D];
    *super::ops::entry_mut(&mut point, axis) = 1;
    point
}
