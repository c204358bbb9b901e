//! Kernels of generic functions: one text, in both precisions and on one to three axes.

use ndarray::{Dim, Dimension};
use tida::Number;
use tida::prelude::*;

use crate::judge::check;
use crate::scene::{FromScalars, Scene, over};

/// Runs a text over random scenes of each rank, and of each precision.
macro_rules! everywhere {
    ($($name:ident)*) => {$(
        mod $name {
            #[test]
            fn on_one_axis() {
                crate::scene::over::<1>(super::$name::<f32, 1>);
            }

            #[test]
            fn on_two_axes() {
                crate::scene::over::<2>(super::$name::<f64, 2>);
            }

            #[test]
            fn on_three_axes() {
                crate::scene::over::<3>(super::$name::<f32, 3>);
            }
        }
    )*};
}
pub(crate) use everywhere;

everywhere! { arithmetic methods axes points functions sums_in_wider_numbers control }

#[kernel_fn]
fn limited<T: Real>(a: T, b: T) -> T {
    if a * b > T::lit(0.0) { T::lit(2.0) * a * b / (a + b) } else { T::lit(-0.1) }
}

#[kernel_fn]
fn product<T: Number, const N: usize>(a: [T; N], b: [T; N]) -> T {
    let mut sum = T::lit(0);
    for n in 0..N {
        sum += a[n] * b[n];
    }
    sum
}

#[kernel_fn]
fn spread<T: Real, const N: usize>(x: T) -> [T; N] {
    let mut all = [x; N];
    for n in 0..N {
        all[n] = x.mul_add(n as T, limited::<T>(x, T::lit(1.000_000_059_604_644_8)));
    }
    all
}

/// Numbers of the type, from text, from captured values, from casts.
fn arithmetic<T: Real + FromScalars, const D: usize>(scene: &Scene<D>)
where
    Dim<[usize; D]>: Dimension,
{
    let (mut r, a, b) = (scene.array::<[T; 6]>(), scene.array::<T>(), scene.array::<i32>());
    let (c, weights) = (scene.scalar::<T>(), scene.scalar::<[T; 3]>());
    check!(
        scene,
        [r, a, b],
        (&mut r, &a, &b),
        kernel!(T; |r, a, b, at| {
            let x = a[at];
            r[at][0] = x * 0.1 - 3.700_000_047_683_716_1 / c;
            r[at][1] = -x % T::lit(7) + weights[1] * (weights[0] - weights[2]);
            r[at][2] = b[at] as T * 1e-3 + at[0] as T;
            r[at][3] = (x as f64 * 0.5f64) as T;
            r[at][4] = (x as i32 + b[at]) as T;
            r[at][5] = if x < c { 1.000_000_059_604_644_775_390_625_000_01 } else { T::lit(-16777217) };
        })
    );
}

fn methods<T: Real + FromScalars, const D: usize>(scene: &Scene<D>)
where
    Dim<[usize; D]>: Dimension,
{
    let (mut r, a, b) = (scene.array::<[T; 10]>(), scene.array::<T>(), scene.array::<T>());
    check!(
        scene,
        [r, a, b],
        (&mut r, &a, &b),
        kernel!(T; |r, a, b, at| {
            let (x, y) = (a[at], b[at]);
            r[at][0] = x.sqrt();
            r[at][1] = x.floor() + y.round();
            r[at][2] = x.abs().min(y).max(-0.5);
            r[at][3] = x.mul_add(y, 0.3);
            r[at][4] = x.powi(3) - y.powi(-2);
            r[at][5] = x.copysign(y).signum();
            r[at][6] = x.clamp(-0.25, 0.75);
            r[at][7] = if x.is_nan() || !y.is_finite() { 1.0 } else { y.recip() };
            r[at][8] = x.sin() * y.cos();
            // A sum of such values that nearly cancel would show how far libraries differ.
            r[at][9] = (x * 0.01).exp() * y.abs().ln();
        })
    );
}

/// Loops over axes: written out, with the bound of the function.
fn axes<T: Real + FromScalars, const D: usize>(scene: &Scene<D>)
where
    Dim<[usize; D]>: Dimension,
{
    let (mut r, a) = (scene.array::<T>(), scene.array::<T>());
    let alpha = scene.scalar::<T>();
    check!(
        scene,
        [r, a],
        (&mut r, &a),
        kernel!(T; |r, a, at| {
            let mut around = -2.0 * D as T * a[at];
            for d in 0..D {
                around += a[at + unit(d)] + a[at - unit(d)];
                for e in 0..D {
                    if d != e {
                        around -= 0.125 * a[at + unit(d) - unit(e)];
                    }
                }
            }
            r[at] += alpha * around;
        })
    );
}

/// Points that a loop over axes changes, and coordinates.
fn points<T: Real + FromScalars, const D: usize>(scene: &Scene<D>)
where
    Dim<[usize; D]>: Dimension,
{
    let (mut r, a) = (scene.array::<[T; 2]>(), scene.array::<[T; 2]>());
    check!(
        scene,
        [r, a],
        (&mut r, &a),
        kernel!(T; |r, a, at| {
            let mut corner = at;
            let mut sum = 0.0;
            for d in 0..D {
                corner[d] -= 1;
                let mut p = at + unit(d);
                p[d] += 1;
                sum += a[corner][0] * at[d] as T + a[p][1];
            }
            r[at] = [sum, a[corner][1] + a[at - unit(0)][0]];
        })
    );
}

fn functions<T: Real + FromScalars, const D: usize>(scene: &Scene<D>)
where
    Dim<[usize; D]>: Dimension,
{
    let (mut r, a, n) = (scene.array::<[T; 3]>(), scene.array::<T>(), scene.array::<i64>());
    let weights = scene.scalar::<[T; 3]>();
    check!(
        scene,
        [r, a, n],
        (&mut r, &a, &n),
        kernel!(T; |r, a, n, at| {
            let (before, after) = (a[at] - a[at - unit(0)], a[at + unit(0)] - a[at]);
            r[at][0] = limited::<T>(before, after);
            r[at][1] = product::<T, 3>(weights, spread::<T, 3>(a[at]));
            r[at][2] = product::<i64, 2>([n[at], 3], [n[at + unit(0)], at[0]]) as T;
        })
    );
}

fn sums_in_wider_numbers<T: Real + FromScalars, const D: usize>(scene: &Scene<D>)
where
    Dim<[usize; D]>: Dimension,
{
    let (mut r, a) = (scene.array::<[T; 2]>(), scene.array::<T>());
    check!(
        scene,
        [r, a],
        (&mut r, &a),
        kernel!(T; |r, a, at| {
            let mut wide = a[at].wide();
            for d in 0..D {
                for k in -2..=2 {
                    let mut p = at;
                    p[d] += k;
                    wide += a[p].wide() * T::Wide::lit(0.1);
                }
            }
            r[at] = [wide as T, (wide * wide) as f32 as T];
        })
    );
}

/// Branches and loops whose number of turns is known as they run.
fn control<T: Real + FromScalars, const D: usize>(scene: &Scene<D>)
where
    Dim<[usize; D]>: Dimension,
{
    let (mut r, a, n) = (scene.array::<T>(), scene.array::<T>(), scene.array::<u8>());
    check!(
        scene,
        [r, a, n],
        (&mut r, &a, &n),
        kernel!(T; |r, a, n, at| {
            let mut x = a[at];
            let mut turns = 0;
            while x.abs() > 0.5 && turns < 9 {
                x = x * 0.5 - 0.1;
                turns += 1;
            }
            for k in 0..(n[at] & 3) {
                if k == 2 {
                    continue;
                }
                x += k as T * 0.25;
            }
            let mut steps = T::lit(0);
            for d in 0..D {
                if a[at + unit(d)] > x {
                    steps += 1.0;
                } else {
                    steps -= T::lit(2);
                }
            }
            r[at] = x + steps * turns as T;
        })
    );
}

/// What floats and integers share.
fn of_any_number<T: Number + FromScalars>() {
    over::<2>(|scene| {
        let (mut r, a) = (scene.array::<[T; 5]>(), scene.array::<T>());
        let c = scene.scalar::<T>();
        check!(
            scene,
            [r, a],
            (&mut r, &a),
            kernel!(|r, a, at| {
                let x = a[at];
                let mut sum = T::lit(3);
                for d in 0..2 {
                    sum += a[at + unit(d)] * T::lit(2) - a[at - unit(d)];
                }
                r[at][0] = sum;
                r[at][1] = x.max(c) - x.min(T::lit(5));
                r[at][2] = if x > c || x == T::lit(1) { x * x } else { c };
                r[at][3] = product::<T, 2>([x, c], [c, x]);
                r[at][4] = at[1] as T + x;
            })
        );
    });
}

#[test]
fn every_number() {
    of_any_number::<u8>();
    of_any_number::<i32>();
    of_any_number::<u32>();
    of_any_number::<i64>();
    of_any_number::<u64>();
    of_any_number::<f32>();
    of_any_number::<f64>();
}
