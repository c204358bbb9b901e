//! Kernels of generic functions wherever they may run: in the call, kept and boxed, for every precision and rank. The
//! bits of plain loops.
#![forbid(unsafe_code)]

use tida::Format;
use tida::prelude::*;
use tida_tests::places::{self, At, Bits, Case, Plain, Step};
use tida_tests::value;

type Pair<'a, T, const D: usize> = (&'a mut TileArray<T, D>, &'a TileArray<T, D>);

fn diffusion<T: Real, const D: usize>(dt: T) -> impl for<'a> Kernel<D, Pair<'a, T, D>> + Copy {
    kernel!(T; |next, u, at| {
        let mut sum = -2.0 * D as T * u[at];
        for d in 0..D {
            sum += u[at + unit(d)] + u[at - unit(d)];
        }
        next[at] = u[at] + dt * (T::lit(0.7) * sum);
    })
}

/// The same by plain loops.
fn plain<T: Real, const D: usize>(next: &mut Plain<T, D>, u: &Plain<T, D>, at: At<D>) {
    let mut sum = T::of(-2.0) * T::of(D as f64) * u[at];
    for d in 0..D {
        let unit = std::array::from_fn(|of| i64::from(of == d));
        sum += u[at + unit] + u[at - unit];
    }
    next[at] = u[at] + T::of(0.0625) * (lit!(T, 0.7) * sum);
}

fn case<T: Real + Bits, const D: usize>(cells: [usize; D]) -> Case<T, D> {
    let dt = T::of(0.0625);
    let in_the_call: Step<T, D> = Box::new(move |tile, next, u| {
        compute(
            tile,
            (next, u),
            kernel!(T; |next, u, at| {
                let mut sum = -2.0 * D as T * u[at];
                for d in 0..D {
                    sum += u[at + unit(d)] + u[at - unit(d)];
                }
                next[at] = u[at] + dt * (T::lit(0.7) * sum);
            }),
        )
    });
    let kept = diffusion::<T, D>(dt);
    let boxed = BoxedKernel::<D, Pair<'static, T, D>>::new(kept);
    Case {
        name: "diffusion",
        cells,
        first: |at| T::of(value(7, std::array::from_fn(|d| at.get(d).map_or(0, |x| *x)))),
        ways: vec![
            ("in the call", in_the_call),
            ("kept", Box::new(move |tile, next, u| compute(tile, (next, u), kept))),
            ("boxed", Box::new(move |tile, next, u| boxed.compute(tile, (next, u)))),
        ],
        plain: Box::new(plain),
        total: |u| reduce(u, Sum, kernel!(T; |u, at| (u[at] * 1000.0) as i64)),
        plain_total: |x| (x * T::of(1000.0)).to_f64() as i64,
        format: Some(Format::Range { bits: 16, min: 0.0, max: 2.0 }),
        fuses: true,
        joins: true,
        ends: true,
    }
}

/// Planes enough for windows of an eighth, and columns for three regions.
const IN_2D: [usize; 2] = [128, 140];
const IN_3D: [usize; 3] = [80, 12, 70];

#[test]
fn lines() {
    fn of<T: Real + Bits>() {
        let line = case::<T, 1>([500]);
        places::cut(&line);
        places::hybrid(&line);
        places::coded(&line);
    }
    of::<f32>();
    of::<f64>();
}

macro_rules! each_in {
    ($($place:ident)*) => {$(
        #[test]
        fn $place() {
            places::$place(&case::<f32, 2>(IN_2D));
            places::$place(&case::<f64, 2>(IN_2D));
            places::$place(&case::<f64, 3>(IN_3D));
        }
    )*};
}

each_in!(cut out_of_core fused hybrid coded beside ending);
