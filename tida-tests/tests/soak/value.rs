//! What plain loops do with elements. Nothing here is optimised or shared with tida, but for its codecs: these define
//! the values of arrays in fewer bits.

use std::fmt::Debug;

use tida::array::ScalarElement;
use tida::prelude::*;
use tida_kernels::codec::Codec;
use tida_kernels::element::ScalarType;
use tida_kernels::scalar::Value as Number;

use crate::program::Storage;

/// An element.
pub trait Value: Element + Copy + Debug + PartialEq + Send + Sync + 'static {
    /// What the first component is, and the only one of a number.
    type First: ScalarElement + Value;
    fn with_first(self, first: Self::First) -> Self;
    /// What a random number makes.
    fn start(random: u64) -> Self;
    /// What sweeps are given: of 0 to 63.
    fn small(n: u8) -> Self;
    fn whole(n: i8) -> Self;
    fn over(self, n: i8) -> Self;
    fn plus(self, other: Self) -> Self;
    fn negated(self) -> Self;
    /// `near + distance (near - far)`.
    fn line(near: Self, far: Self, distance: i64) -> Self;
    fn is_below(self, other: Self) -> bool;
    /// Equal of equal values, and of all that are no number.
    fn seen(self) -> u64;
    fn codec(storage: Storage) -> Option<Codec>;
    fn rounded(self, codec: &Option<Codec>) -> Self;
}

pub fn format(storage: Storage) -> Format {
    match storage {
        Storage::Raw => Format::Raw,
        Storage::Half => Format::Half,
        Storage::F32 => Format::F32,
        Storage::Bfloat => Format::Bfloat,
        Storage::Range8 => Format::Range { bits: 8, min: -1.5, max: 2.5 },
        Storage::Range16 => Format::Range { bits: 16, min: -1.5, max: 2.5 },
        Storage::Range32 => Format::Range { bits: 32, min: -1.5, max: 2.5 },
        Storage::Scaled => Format::ScaledHalf { scale: 0.3 },
    }
}

macro_rules! floats {
    ($($t:ident $variant:ident)*) => {$(
        impl Value for $t {
            type First = $t;
            fn with_first(self, first: $t) -> $t {
                first
            }
            fn start(random: u64) -> $t {
                ((random >> 11) as f64 / (1u64 << 52) as f64 - 1.0) as $t
            }
            fn small(n: u8) -> $t {
                n as $t / 64.0
            }
            fn whole(n: i8) -> $t {
                n as $t
            }
            fn over(self, n: i8) -> $t {
                self / n as $t
            }
            fn plus(self, other: $t) -> $t {
                self + other
            }
            fn negated(self) -> $t {
                -self
            }
            fn line(near: $t, far: $t, distance: i64) -> $t {
                near + distance as $t * (near - far)
            }
            fn is_below(self, other: $t) -> bool {
                self < other
            }
            fn seen(self) -> u64 {
                if self.is_nan() { u64::MAX } else { u64::from(self.to_bits()) }
            }
            fn codec(storage: Storage) -> Option<Codec> {
                Codec::new(ScalarType::$variant, &format(storage)).ok().flatten()
            }
            fn rounded(self, codec: &Option<Codec>) -> $t {
                let Some(codec) = codec else { return self };
                match codec.decode(codec.encode(Number::$variant(self)).0) {
                    Number::$variant(x) => x,
                    _ => $t::NAN,
                }
            }
        }
    )*};
}

floats!(f32 F32 f64 F64);

macro_rules! integers {
    ($($t:ident)*) => {$(
        impl Value for $t {
            type First = $t;
            fn with_first(self, first: $t) -> $t {
                first
            }
            fn start(random: u64) -> $t {
                (random >> 7) as $t
            }
            fn small(n: u8) -> $t {
                n as $t
            }
            fn whole(n: i8) -> $t {
                n as $t
            }
            fn over(self, n: i8) -> $t {
                self / n as $t
            }
            fn plus(self, other: $t) -> $t {
                self + other
            }
            fn negated(self) -> $t {
                self.wrapping_neg()
            }
            fn line(near: $t, far: $t, distance: i64) -> $t {
                near.wrapping_add((distance as $t).wrapping_mul(near.wrapping_sub(far)))
            }
            fn is_below(self, other: $t) -> bool {
                self < other
            }
            fn seen(self) -> u64 {
                self as u64
            }
            fn codec(_: Storage) -> Option<Codec> {
                None
            }
            fn rounded(self, _: &Option<Codec>) -> $t {
                self
            }
        }
    )*};
}

integers!(i32 u8 i16);

/// A random number of a cell of an array.
pub fn random(seed: u64, array: usize, at: [i64; 4]) -> u64 {
    let mut x = seed ^ (array as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for n in at {
        x = (x ^ (x >> 30) ^ (n as u64)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    }
    x ^ (x >> 31)
}
