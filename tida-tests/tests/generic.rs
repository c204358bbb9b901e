//! Kernels in generic functions: one text for every precision and every rank.
#![cfg(feature = "ndarray")]
#![forbid(unsafe_code)]
#![allow(clippy::excessive_precision)]

use tida::__private::inner;
use tida::prelude::*;
use tida_tests::{everywhere, on_cpu, value};

/// Plain numbers of both types, for plain loops: nothing of tida.
trait Plain: Copy + std::fmt::Debug {
    /// `mid + dt * (0.1 * sum - 3.7)` of the neighbours' sum, by texts of this type.
    fn step(dt: Self, mid: Self, pairs: &[(Self, Self)]) -> Self;
    fn bits(self) -> u64;
    fn from(x: f64) -> Self;
}

macro_rules! plain {
    ($($t:ident)*) => {$(
        impl Plain for $t {
            fn step(dt: $t, mid: $t, pairs: &[($t, $t)]) -> $t {
                let mut sum = -2.0 * pairs.len() as $t * mid;
                for (after, before) in pairs {
                    sum += after + before;
                }
                mid + dt * (0.1 * sum - 3.700_000_047_683_716_1)
            }
            fn bits(self) -> u64 { self.to_bits().into() }
            fn from(x: f64) -> $t { x as $t }
        }
    )*};
}

plain!(f32 f64);

fn grid<T: Element, const D: usize>(acc: &TileAcc, cells: [usize; D]) -> TileArray<T, D> {
    let mut regions = [1; D];
    regions[0] = if D == 1 { 1 } else { 2 };
    TileArray::builder(cells).regions(regions).ghost(1).boundary(Boundary::Periodic).build(acc).unwrap()
}

fn step<T: Real, const D: usize>(next: &mut TileArray<T, D>, u: &mut TileArray<T, D>, dt: T) -> tida::Result<()> {
    u.fill_ghosts()?;
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, &*u),
            kernel!(T; |next, u, at| {
                let mut sum = -2.0 * D as T * u[at];
                for d in 0..D {
                    sum += u[at + unit(d)] + u[at - unit(d)];
                }
                next[at] = u[at] + dt * (T::lit(0.1) * sum - 3.700_000_047_683_716_1);
            }),
        )?;
    }
    Ok(())
}

fn steps_are_those_of_plain_loops<T: Real + Plain, const D: usize>(cells: [usize; D])
where
    tida::ndarray::Dim<[usize; D]>: tida::ndarray::Dimension,
{
    for acc in everywhere() {
        let mut u = grid::<T, D>(&acc, cells);
        let start = |at: [usize; D]| <T as Plain>::from(value(3, std::array::from_fn(|d| at.get(d).map_or(0, |x| *x))));
        u.fill(start).unwrap();
        let mut next = u.like().unwrap();
        step(&mut next, &mut u, <T as Plain>::from(0.07)).unwrap();
        let found = next.read_box(next.domain()).unwrap();
        for (n, found) in found.into_iter().enumerate() {
            let mut at = [0; D];
            let mut rest = n;
            for d in (0..D).rev() {
                (at[d], rest) = (rest % cells[d], rest / cells[d]);
            }
            let moved = |d: usize, by: usize| {
                let mut at = at;
                at[d] = (at[d] + by) % cells[d];
                start(at)
            };
            let pairs: Vec<_> = (0..D).map(|d| (moved(d, 1), moved(d, cells[d] - 1))).collect();
            let plain = T::step(<T as Plain>::from(0.07), start(at), &pairs);
            assert_eq!(Plain::bits(found), Plain::bits(plain), "{} {at:?}", acc.device().name());
        }
    }
}

#[test]
fn one_text_steps_in_every_precision_and_rank() {
    steps_are_those_of_plain_loops::<f32, 1>([37]);
    steps_are_those_of_plain_loops::<f64, 1>([37]);
    steps_are_those_of_plain_loops::<f32, 2>([9, 21]);
    steps_are_those_of_plain_loops::<f64, 2>([9, 21]);
    steps_are_those_of_plain_loops::<f32, 3>([5, 6, 19]);
    steps_are_those_of_plain_loops::<f64, 3>([5, 6, 19]);
}

/// The emitted text without the places in this file that it names.
fn emitted(explained: &tida::Explanation) -> String {
    let name = explained.source().split_once("generic_rs_").unwrap().1;
    let name: String = name.chars().take_while(char::is_ascii_digit).collect();
    let lines = explained.source().lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code).trim_end());
    lines.collect::<Vec<_>>().join("\n").replace(&format!("generic_rs_{name}"), "kernel")
}

/// What is the same as the formula written out: the text for devices, and what is said of reads.
macro_rules! as_written_out {
    ($T:ident, $D:literal, $cells:expr, |$next:ident, $u:ident, $at:ident, $sum:ident| $sums:block) => {{
        let acc = on_cpu();
        let mut u = grid::<$T, $D>(&acc, $cells);
        u.fill_value(1.0).unwrap();
        u.fill_ghosts().unwrap();
        let mut next = u.like().unwrap();
        let dt: $T = 0.3;
        let written = tida::explain(
            (&mut next, &u),
            kernel!(|$next, $u, $at| {
                let mut $sum = -6.5 * $u[$at];
                $sums;
                $next[$at] = $u[$at] + dt * (0.1 * $sum);
            }),
        )
        .unwrap();
        let open = looped(&mut next, &u, dt);
        assert_eq!(emitted(&open), emitted(&written));
        assert!(emitted(&open).len() > 200);
        if std::env::var_os("TIDA_REQUIRE_NVRTC").is_some() || written.compile().is_ok() {
            open.compile().unwrap();
        }
        // All reads are of the cell plus constants: nothing is checked, and the halo is known.
        let (open, written) = (inner::analysis(&open), inner::analysis(&written));
        assert!(open.complete && !open.may_fault);
        assert_eq!(open.args[1].accesses.len(), 2 + 2 * $D);
        assert_eq!(format!("{:?}", open.args[1].accesses.len()), format!("{:?}", written.args[1].accesses.len()));
    }};
}

fn looped<T: Real, const D: usize>(next: &mut TileArray<T, D>, u: &TileArray<T, D>, dt: T) -> tida::Explanation {
    tida::explain(
        (next, u),
        kernel!(T; |next, u, at| {
            let mut sum = -6.5 * u[at];
            for d in 0..D {
                sum += u[at + unit(d)] + u[at - unit(d)];
            }
            next[at] = u[at] + dt * (0.1 * sum);
        }),
    )
    .unwrap()
}

#[test]
fn a_loop_over_axes_is_the_formula_written_out() {
    macro_rules! both {
        ($($T:ident)*) => {$(
            as_written_out!($T, 1, [40], |next, u, at, sum| { sum += u[at + [1]] + u[at - [1]]; });
            as_written_out!($T, 2, [20, 40], |next, u, at, sum| {
                sum += u[at + [1, 0]] + u[at - [1, 0]];
                sum += u[at + [0, 1]] + u[at - [0, 1]];
            });
            as_written_out!($T, 3, [10, 20, 40], |next, u, at, sum| {
                sum += u[at + [1, 0, 0]] + u[at - [1, 0, 0]];
                sum += u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                sum += u[at + [0, 0, 1]] + u[at - [0, 0, 1]];
            });
        )*};
    }
    both!(f32 f64);
}

/// `at[d]`, `p[d] += 1`, a point that moves, and loops in a loop.
fn walks<T: Real, const D: usize>(acc: &TileAcc, cells: [usize; D]) -> Vec<T> {
    let mut u = grid::<T, D>(acc, cells);
    u.fill(|at| T::of(value(5, std::array::from_fn(|d| at.get(d).map_or(0, |x| *x))))).unwrap();
    u.fill_ghosts().unwrap();
    let mut next = u.like().unwrap();
    for tile in TileIter::new(&u) {
        compute(
            &tile,
            (&mut next, &u),
            kernel!(T; |next, u, at| {
                let mut sum = 0.0;
                for d in 0..D {
                    let mut p = at;
                    p[d] += 1;
                    sum += u[p] * (at[d] + 1) as T;
                    for e in 0..D {
                        sum += u[at + unit(d) - unit(e)];
                    }
                }
                next[at] = sum;
            }),
        )
        .unwrap();
    }
    acc.sync().unwrap();
    next.read_box(next.domain()).unwrap()
}

#[test]
fn points_move_along_axes_of_a_loop() {
    for acc in everywhere() {
        let cells = [6usize, 11];
        let found = walks::<f64, 2>(&acc, cells);
        let start = |j: usize, i: usize| value(5, [j % cells[0], i % cells[1], 0]);
        for (n, found) in found.into_iter().enumerate() {
            let at = [n / cells[1] + cells[0], n % cells[1] + cells[1]];
            let mut sum = 0.0;
            for d in 0..2 {
                let mut p = at;
                p[d] += 1;
                sum += start(p[0], p[1]) * (at[d] - cells[d] + 1) as f64;
                for e in 0..2 {
                    let mut q = at;
                    q[d] += 1;
                    q[e] -= 1;
                    sum += start(q[0], q[1]);
                }
            }
            assert_eq!(found.to_bits(), sum.to_bits(), "{} {at:?}", acc.device().name());
        }
        assert_eq!(walks::<f32, 1>(&acc, [5]).len(), 5);
        assert_eq!(walks::<f32, 3>(&acc, [2, 3, 5]).len(), 30);
    }
}

/// Numbers whose text is rounded once: to `f32` by way of `f64` they would be others.
fn numbers<T: Real>(acc: &TileAcc) -> Vec<T> {
    let mut v = TileArray::<T, 1>::builder([4]).build(acc).unwrap();
    for tile in v.tiles() {
        compute(
            &tile,
            &mut v,
            kernel!(T; |v, at| {
                v[at] = if at[0] == 0 {
                    1.000_000_059_604_644_775_390_625_000_01
                } else if at[0] == 1 {
                    T::lit(-1.000_000_059_604_644_775_390_625_000_01)
                } else if at[0] == 2 {
                    T::lit(16777217)
                } else {
                    // Of its own type, and then cast.
                    1.000_000_059_604_644_775_390_625_000_01 as f64 as T
                };
            }),
        )
        .unwrap();
    }
    v.read_box(v.domain()).unwrap()
}

#[test]
#[allow(clippy::all)]
fn the_text_of_a_number_is_rounded_once() {
    for acc in everywhere() {
        let single: Vec<u32> = numbers::<f32>(&acc).into_iter().map(f32::to_bits).collect();
        let near: f32 = 1.000_000_059_604_644_775_390_625_000_01;
        let twice = 1.000_000_059_604_644_775_390_625_000_01f64 as f32;
        assert_ne!(near, twice);
        assert_eq!(single, [near, -near, 16777217.0, twice].map(f32::to_bits), "{}", acc.device().name());
        let double: Vec<u64> = numbers::<f64>(&acc).into_iter().map(f64::to_bits).collect();
        let near: f64 = 1.000_000_059_604_644_775_390_625_000_01;
        assert_eq!(double, [near, -near, 16777217.0, near].map(f64::to_bits), "{}", acc.device().name());
        assert_eq!(lit!(f32, 1.000_000_059_604_644_775_390_625_000_01), near as f32 + f32::EPSILON);
    }
}

/// Sums in `f64` of `f32`: an exact one, which a sum in `f32` is not.
fn wide_sum<T: Real, const D: usize>(u: &TileArray<T, D>) -> T::Wide {
    let method = reduce(u, Sum, kernel!(|u, at| u[at].wide())).unwrap();
    let cast = reduce(u, Sum, kernel!(|u, at| u[at] as T::Wide)).unwrap();
    assert_eq!(method, cast);
    method
}

#[test]
fn sums_are_made_in_wider_numbers() {
    for acc in everywhere() {
        let mut u = grid::<f32, 2>(&acc, [40, 100]);
        u.fill(|[j, i]| if (j, i) == (0, 0) { 1e8 } else { 0.25 }).unwrap();
        assert_eq!(wide_sum(&u), 1e8 + 0.25 * 3999.0);
        let narrow = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
        assert_ne!(narrow as f64, 1e8 + 0.25 * 3999.0);
        let mut u = grid::<f64, 1>(&acc, [9]);
        u.fill_value(0.5).unwrap();
        assert_eq!(wide_sum(&u), 4.5);
    }
}

#[kernel_fn]
fn upwind<T: Real>(speed: T, left: T, right: T) -> T {
    if speed > T::lit(0.1) { left } else { right * T::lit(-0.3) }
}

#[kernel_fn]
fn weighed<T: Real, const N: usize>(of: [T; N], weight: T) -> T {
    let mut sum = upwind::<T>(weight, weight, T::lit(1));
    for n in 0..N {
        sum += of[n] * (n as T + weight);
    }
    sum
}

#[kernel_fn]
fn powers<T: Number>(x: T) -> T {
    x * x * T::lit(3)
}

fn called<T: Real>(acc: &TileAcc) -> Vec<T> {
    let mut v = TileArray::<T, 1>::builder([4]).build(acc).unwrap();
    for tile in v.tiles() {
        compute(
            &tile,
            &mut v,
            kernel!(|v, at| {
                let x = at[0] as f64 as T;
                v[at] = upwind::<T>(x, x, T::lit(2.5)) + weighed::<T, 2>([x, x], T::lit(0.7)) + powers::<T>(x);
            }),
        )
        .unwrap();
    }
    v.read_box(v.domain()).unwrap()
}

#[test]
fn functions_of_kernels_have_parameters() {
    for acc in everywhere() {
        let (single, double) = (called::<f32>(&acc), called::<f64>(&acc));
        let at = |x: f64| upwind(x, x, 2.5) + weighed([x, x], 0.7) + powers(x);
        assert_eq!(double, [at(0.0), at(1.0), at(2.0), at(3.0)]);
        let at = |x: f32| upwind(x, x, 2.5) + weighed([x, x], 0.7) + powers(x);
        assert_eq!(single, [at(0.0), at(1.0), at(2.0), at(3.0)]);
        assert_eq!(upwind(0.0f64, 1.0, 1.0), -0.3);
        assert_eq!(weighed([1.0f64], 0.5), 0.5 + 0.5);
    }
}

fn counted<T: Number>(acc: &TileAcc, start: T) -> T {
    let mut u = TileArray::<T, 1>::builder([5]).build(acc).unwrap();
    u.fill_value(start).unwrap();
    for tile in u.tiles() {
        compute(&tile, &mut u, kernel!(|u, at| u[at] = powers::<T>(u[at] + T::lit(1)))).unwrap();
    }
    reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap()
}

#[test]
fn integers_have_kernels_of_their_own() {
    for acc in everywhere() {
        assert_eq!(counted(&acc, 2i32), 5 * 27);
        assert_eq!(counted(&acc, 2u8), 135);
        assert_eq!(counted(&acc, 2i64), 5 * 27);
        assert_eq!(counted(&acc, 2i8), 135u8 as i8);
        assert_eq!(counted(&acc, 99i16), 150_000i32 as i16);
        assert_eq!(counted(&acc, 99u16), 150_000u32 as u16);
        assert_eq!(counted(&acc, 2u64), 5 * 27);
        assert_eq!(counted(&acc, 2.0f32), 5.0 * 27.0);
    }
}

/// A number that the type of this instance does not have is an error of the launch.
#[test]
fn a_number_that_an_instance_does_not_have_is_an_error() {
    fn large<T: Number>(acc: &TileAcc) -> tida::Result<()> {
        let mut u = TileArray::<T, 1>::builder([5]).build(acc)?;
        for tile in u.tiles() {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = T::lit(300)))?;
        }
        acc.sync()
    }
    let acc = on_cpu();
    large::<i32>(&acc).unwrap();
    large::<i16>(&acc).unwrap();
    tida_tests::expect(large::<u8>(&acc), ErrorKind::Kernel, &["300", "u8", "0 to 255"]);
    tida_tests::expect(large::<i8>(&acc), ErrorKind::Kernel, &["300", "i8", "-128 to 127"]);
}

/// A deferred scalar and arrays of `T` are captured too.
#[test]
fn captures_of_the_type() {
    fn scaled<T: Real>(acc: &TileAcc) -> Vec<T> {
        let mut u = TileArray::<T, 1>::builder([3]).build(acc).unwrap();
        u.fill(|[i]| T::of(i as f64)).unwrap();
        let sum = reduce_later(&u, Sum, kernel!(|u, at| u[at])).unwrap();
        let weights = [T::of(2.0), T::of(5.0)];
        for tile in u.tiles() {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = sum * weights[1] + weights[0] * u[at])).unwrap();
        }
        u.read_box(u.domain()).unwrap()
    }
    for acc in everywhere() {
        assert_eq!(scaled::<f32>(&acc), [15.0, 17.0, 19.0]);
        assert_eq!(scaled::<f64>(&acc), [15.0, 17.0, 19.0]);
    }
}

/// All that a generic solver of a user's may want on the host, with `T: Real` alone.
#[test]
fn the_host_computes_with_the_type() {
    fn all<T: Real>() -> (f64, String) {
        let mut x: T = T::of(2.0);
        x += T::ONE;
        x *= T::of(3.0);
        x -= T::ZERO;
        x /= T::ONE;
        let y = (x.sqrt() + x.abs() - x.powi(2) / (-x)).max(T::default()).min(T::of(1e3)).mul_add(T::ONE, T::ZERO);
        let sum: T = [x, y].into_iter().sum();
        let wide: T::Wide = sum.wide();
        assert!(x > T::of(1.0) && T::narrow(wide) == sum);
        (sum.to_f64(), format!("{sum} {sum:?} {}", x.sin().exp().is_nan()))
    }
    assert_eq!(all::<f32>(), (30.0, "30 30.0 false".into()));
    assert_eq!(all::<f64>(), (30.0, "30 30.0 false".into()));
}

/// Differences along an axis that the caller chooses, between the ends of what is there.
fn along<T: Real, const D: usize, const AXIS: usize>(
    next: &mut TileArray<T, D>,
    u: &TileArray<T, D>,
) -> tida::Result<tida::Explanation> {
    let kernel = keep(
        (&mut *next, u),
        kernel!(|next, u, at| {
            let mut p = at - unit(D - 1);
            p[AXIS] += 1;
            next[at] = (u[at + unit(AXIS)] - u[p]) * at[AXIS] as T;
        }),
    );
    TileIter::new(u).try_for_each(|tile| compute(&tile, (&mut *next, u), kernel))?;
    tida::explain((next, u), kernel)
}

#[test]
fn an_axis_may_be_a_constant() {
    for acc in everywhere() {
        let cells = [6usize, 70];
        let mut u = grid::<f64, 2>(&acc, cells);
        u.fill(|[j, i]| value(5, [j, i, 0])).unwrap();
        u.fill_ghosts().unwrap();
        let mut next = u.like().unwrap();
        let explained = along::<f64, 2, 0>(&mut next, &u).unwrap();
        let analysis = inner::analysis(&explained);
        assert!(analysis.complete && !analysis.may_fault);
        let start = |j: usize, i: usize| value(5, [j % cells[0], i % cells[1], 0]);
        for (n, found) in next.read_box(next.domain()).unwrap().into_iter().enumerate() {
            let [j, i] = [n / cells[1], n % cells[1]];
            let plain = (start(j + 1, i) - start(j + 1, i + cells[1] - 1)) * j as f64;
            assert_eq!(found.to_bits(), plain.to_bits(), "{j} {i} on {}", acc.device().name());
        }
        along::<f64, 2, 1>(&mut next, &u).unwrap();
    }
}

/// As for numbers: the kernel of an instance that cannot be is an error of its launch.
#[test]
fn an_axis_that_there_is_not_is_an_error() {
    let acc = on_cpu();
    let mut u = grid::<f32, 2>(&acc, [6, 70]);
    u.fill_ghosts().unwrap();
    let error = along::<f32, 2, 2>(&mut u.like().unwrap(), &u).map(|_| ()).unwrap_err();
    tida_tests::expect(Err(error), ErrorKind::Kernel, &["take entry 2", "an array of 2"]);
}
