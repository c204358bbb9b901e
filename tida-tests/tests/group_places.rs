//! Kernels over groups wherever they may run, with what the language of kernels has: methods, `match`, loops in all
//! orders, lists, labels, captured arrays of arrays, constants, short integers, types left open. The bits of plain
//! loops.
#![forbid(unsafe_code)]

use tida::prelude::*;
use tida::{Format, keep_groups};
use tida_tests::places::{self, Bits, Case};
use tida_tests::value;

/// Rows that are whole groups in thirds and sixteenths, and a last group of columns that is smaller; columns for three
/// regions, whose cuts fall on multiples of 64.
const CELLS: [usize; 2] = [192, 140];
const EXTENT: [usize; 2] = [4, 16];

fn first<T: Real>([j, i]: [usize; 2]) -> T {
    T::of(value(7, [0, j, i]))
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Wave {
    h: f64,
    speed: [f64; 2],
}

impl Bits for Wave {
    fn bits(self) -> Vec<u64> {
        [self.h, self.speed[0], self.speed[1]].map(f64::to_bits).to_vec()
    }
}

#[kernel_fn]
impl Wave {
    const REST: f64 = 0.25;

    fn energy(&self) -> f64 {
        let [x, y] = self.speed;
        4.5 * self.h * self.h + 0.5 * self.h * (x * x + y * y)
    }

    fn mix(mut self, h: f64, t: f64) -> Self {
        self.h += (h - self.h) * t;
        for i in (0..2).rev() {
            self.speed[i] = self.speed[i] * (1.0 - t) + Self::REST * t;
        }
        self
    }
}

/// A kernel over groups, in the call and kept, and plain loops.
macro_rules! group_case {
    (
        $name:literal, $T:ty, $first:expr, $kernel:expr,
        |$next:ident, $u:ident, $at:ident| $plain:block, $total:expr, |$x:ident| $plain_total:expr
    ) => {
        Case::<$T, 2> {
            name: $name,
            cells: CELLS,
            first: $first,
            ways: vec![
                ("in the call", Box::new(move |tile, next, u| compute_groups(tile, EXTENT, (next, u), $kernel))),
                (
                    "kept",
                    Box::new(move |tile, next, u| {
                        let kept = keep_groups((&mut *next, u), $kernel);
                        compute_groups(tile, EXTENT, (next, u), kept)
                    }),
                ),
            ],
            plain: Box::new(move |$next, $u, $at| $plain),
            total: |u| reduce(u, Sum, $total),
            plain_total: |$x| $plain_total,
            format: None,
            fuses: false,
            joins: false,
            ends: false,
        }
    };
}

/// Cells of a group take their neighbours from shared memory, along both axes.
fn blurred<T: Real + Bits>() -> Case<T, 2> {
    let weight = T::of(0.3);
    let case = group_case!(
        "a blur",
        T,
        first,
        group_kernel!(T; |next, u, group| {
            let s = group.fetch(u, [1, 1], [1, 1]);
            group.each(|t| next[t.at()] = weight * (s[t - [1, 0]] + s[t + [0, 1]]) + 0.4 * s[t]);
        }),
        |next, u, at| {
            next[at] = T::of(0.3) * (u[at - [1, 0]] + u[at + [0, 1]]) + lit!(T, 0.4) * u[at];
        },
        kernel!(T; |u, at| (u[at] * 1000.0) as i64),
        |x| (x * T::of(1000.0)).to_f64() as i64
    );
    Case { format: Some(Format::Range { bits: 16, min: 0.0, max: 2.0 }), ..case }
}

/// Values of a struct come from memory; what its methods give is shared.
fn methods() -> Case<Wave, 2> {
    group_case!(
        "methods",
        Wave,
        |at| Wave { h: first(at), speed: [0.1 * first::<f64>([at[1], at[0]]), -0.2] },
        group_kernel!(|next, u, group| {
            let e = group.shared::<f64>([4, 16]);
            let h = group.private(0.0);
            group.each(|t| e[t] = u[t.at()].energy());
            group.each(|t| {
                let mut sum = 0.0;
                for n in (0..16).rev().step_by(5) {
                    sum += 0.1 * e[[t[0], n]];
                }
                h = match sum {
                    s if s < 1.5 => s,
                    s => 0.25 * s,
                };
            });
            group.each(|t| next[t.at()] = u[t.at()].mix(0.5 * h, 0.125));
        }),
        |next, u, at| {
            let start = at[1] - at[1] % 16;
            let mut sum = 0.0;
            for n in [15, 10, 5, 0] {
                // A slot that no cell of the array has is 0.
                let inside = start + n < CELLS[1] as i64;
                sum += 0.1 * if inside { u[at - [0, at[1] - start - n]].energy() } else { 0.0 };
            }
            let h = if sum < 1.5 { sum } else { 0.25 * sum };
            next[at] = u[at].mix(0.5 * h, 0.125);
        },
        kernel!(|u, at| (u[at].energy() * 1000.0) as i64),
        |wave| (wave.energy() * 1000.0) as i64
    )
}

/// Phases in loops that are left from inside; captured arrays of arrays; sums that wrap.
fn shorts() -> Case<i16, 2> {
    let scale = [[3i16, -7], [11, 257]];
    group_case!(
        "short integers",
        i16,
        |[j, i]| (j * 701 + i * 977) as i16,
        group_kernel!(|next, u, group| {
            let s = group.fetch(u, [0, 0], [0, 0]);
            let x = group.private(0i16);
            'rounds: for r in (0..4i64).rev() {
                for (a, b) in [(0, 1), (1, 0)] {
                    if r == 1 && a == 1 {
                        break 'rounds;
                    }
                    group.each(|t| {
                        x = match (t[0] + r) & 3 {
                            0 => x + scale[a][b] * s[t],
                            1 | 2 if b == 0 => x - s[t],
                            n => x * 3 + n as i16,
                        };
                    });
                }
            }
            group.each(|t| next[t.at()] = x);
        }),
        |next, u, at| {
            let mut x = 0i16;
            for (r, scale, b) in [(3, -7i16, 1), (3, 11, 0), (2, -7, 1), (2, 11, 0), (1, -7, 1)] {
                x = match (at[0] % 4 + r) & 3 {
                    0 => x.wrapping_add(scale.wrapping_mul(u[at])),
                    1 | 2 if b == 0 => x.wrapping_sub(u[at]),
                    n => x.wrapping_mul(3).wrapping_add(n as i16),
                };
            }
            next[at] = x;
        },
        kernel!(|u, at| u[at] as i64),
        |x| i64::from(x)
    )
}

macro_rules! each_in {
    ($($place:ident)*) => {$(
        #[test]
        fn $place() {
            places::$place(&blurred::<f32>());
            places::$place(&blurred::<f64>());
            places::$place(&methods());
            places::$place(&shorts());
        }
    )*};
}

each_in!(cut out_of_core fused hybrid coded beside ending);
