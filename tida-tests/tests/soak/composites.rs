//! Elements of several components: what plain loops do with them, and their kernels.

use tida::prelude::*;
use tida_kernels::codec::Codec;

use crate::kernels::{Arguments, Kernel};
use crate::program::Storage;
use crate::run::Subject;
use crate::value::Value;

/// Components of several types.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
pub struct Wave {
    pub height: f64,
    pub flow: [f32; 2],
    pub flag: u8,
}

impl Value for [f64; 2] {
    type First = f64;
    fn with_first(self, first: f64) -> Self {
        [first, self[1]]
    }
    fn start(random: u64) -> Self {
        [f64::start(random), f64::start(random.rotate_left(29))]
    }
    fn small(n: u8) -> Self {
        [f64::small(n); 2]
    }
    fn whole(n: i8) -> Self {
        [f64::whole(n); 2]
    }
    fn over(self, n: i8) -> Self {
        self.map(|x| x.over(n))
    }
    fn plus(self, other: Self) -> Self {
        [self[0].plus(other[0]), self[1].plus(other[1])]
    }
    fn negated(self) -> Self {
        self.map(Value::negated)
    }
    fn line(near: Self, far: Self, distance: i64) -> Self {
        [0, 1].map(|n| f64::line(near[n], far[n], distance))
    }
    fn is_below(self, other: Self) -> bool {
        self[0].is_below(other[0])
    }
    fn seen(self) -> u64 {
        self[0].seen().rotate_left(17) ^ self[1].seen()
    }
    fn codec(storage: Storage) -> Option<Codec> {
        f64::codec(storage)
    }
    fn rounded(self, codec: &Option<Codec>) -> Self {
        self.map(|x| x.rounded(codec))
    }
}

impl Value for Wave {
    type First = f64;
    fn with_first(self, first: f64) -> Self {
        Wave { height: first, ..self }
    }
    fn start(random: u64) -> Self {
        let flow = [f32::start(random.rotate_left(11)), f32::start(random.rotate_left(33))];
        Wave { height: f64::start(random), flow, flag: u8::start(random) }
    }
    fn small(n: u8) -> Self {
        Wave { height: f64::small(n), flow: [f32::small(n); 2], flag: n }
    }
    fn whole(n: i8) -> Self {
        Wave { height: f64::whole(n), flow: [f32::whole(n); 2], flag: n as u8 }
    }
    fn over(self, n: i8) -> Self {
        Wave { height: self.height.over(n), flow: self.flow.map(|x| x.over(n)), flag: self.flag.over(n) }
    }
    fn plus(self, other: Self) -> Self {
        let flow = [self.flow[0].plus(other.flow[0]), self.flow[1].plus(other.flow[1])];
        Wave { height: self.height.plus(other.height), flow, flag: self.flag.plus(other.flag) }
    }
    fn negated(self) -> Self {
        Wave { height: self.height.negated(), flow: self.flow.map(Value::negated), flag: self.flag.negated() }
    }
    fn line(near: Self, far: Self, distance: i64) -> Self {
        Wave {
            height: f64::line(near.height, far.height, distance),
            flow: [0, 1].map(|n| f32::line(near.flow[n], far.flow[n], distance)),
            flag: u8::line(near.flag, far.flag, distance),
        }
    }
    fn is_below(self, other: Self) -> bool {
        self.height.is_below(other.height)
    }
    fn seen(self) -> u64 {
        let flow = self.flow[0].seen().rotate_left(31) ^ self.flow[1].seen().rotate_left(7);
        self.height.seen().rotate_left(17) ^ flow ^ u64::from(self.flag)
    }
    fn codec(_: Storage) -> Option<Codec> {
        None
    }
    fn rounded(self, _: &Option<Codec>) -> Self {
        self
    }
}

/// The kernels of an element: of each component where it is, and its constants.
macro_rules! subject {
    ($T:ty: $(($($c:tt)*) $value:ident = $captured:expr, $two:literal $sixteen:literal;)*) => {
        impl Subject for $T {
            fn record<const D: usize>(
                kernel: Kernel,
                tile: &Tile<D>,
                arguments: Arguments<'_, Self, D>,
                n: u8,
            ) -> tida::Result<()> {
                $(let $value = $captured(n);)*
                let Arguments { writes, reads } = arguments;
                let to = &mut writes[0];
                match kernel {
                    Kernel::Scale => compute(
                        tile,
                        to,
                        kernel!(|u, at| { $(u[at]$($c)* = u[at]$($c)* / $two + $value;)* }),
                    ),
                    Kernel::Tilt => compute(
                        tile,
                        (to, reads[0]),
                        kernel!(|to, u, at| {
                            $(to[at]$($c)* = u[at - unit(0)]$($c)* / $two + u[at + unit(D - 1)]$($c)* / $two;)*
                        }),
                    ),
                    Kernel::Add => compute(
                        tile,
                        (to, reads[0]),
                        kernel!(|to, u, at| { $(to[at]$($c)* = to[at]$($c)* / $two + u[at]$($c)* / $two;)* }),
                    ),
                    Kernel::Some => compute(
                        tile,
                        (to, reads[0]),
                        kernel!(|to, u, at| {
                            if (at[0] + at[D - 1]) % 3 == 0 {
                                $(to[at]$($c)* = u[at]$($c)*;)*
                            }
                        }),
                    ),
                    _ => compute(
                        tile,
                        (to, reads[0]),
                        kernel!(|to, u, at| {
                            $(
                                let mut sum = u[at]$($c)* / $two;
                                for d in 0..D {
                                    let around = u[at + unit(d)]$($c)* / $sixteen + u[at - unit(d)]$($c)* / $sixteen;
                                    sum += around;
                                }
                                to[at]$($c)* = sum;
                            )*
                        }),
                    ),
                }
            }
        }
    };
}

subject! { [f64; 2]:
    ([0]) first = f64::small, 2.0 16.0;
    ([1]) second = f64::small, 2.0 16.0;
}
subject! { Wave:
    (.height) height = f64::small, 2.0 16.0;
    (.flow[0]) flow = f32::small, 2.0f32 16.0f32;
    (.flow[1]) also = f32::small, 2.0f32 16.0f32;
    (.flag) flag = u8::small, 2u8 16u8;
}
