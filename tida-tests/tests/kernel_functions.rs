//! Functions that kernels call: constants of the program in them, patterns as parameters.
#![forbid(unsafe_code)]

use tida::prelude::*;
use tida_tests::{everywhere, on_cpu};

const GAMMA: f64 = 1.4;
const OFFSETS: [i64; 2] = [-1, 1];
const WEIGHTS: [[f64; 2]; 2] = [[0.1, 0.7], [1.0 / 3.0, 2e-300]];
const COUNT: usize = 3;
const TURNS: i32 = 5;
const IS_ON: bool = true;
static TENTH: f32 = 0.1;

mod physics {
    pub mod air {
        pub const GAMMA: f64 = 1.67;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Wave {
    h: f64,
    speed: [f64; 2],
}

impl Wave {
    const SIDES: i64 = 4;
}

const START: Wave = Wave { h: 0.25, speed: [0.5, -0.75] };

#[kernel_fn]
fn pressure(e: f64) -> f64 {
    (GAMMA - 1.0) * e + physics::air::GAMMA * std::f64::consts::PI - f64::EPSILON
}

#[kernel_fn]
fn weighted(x: f64, q: usize) -> f64 {
    let mut sum = 0.0;
    for i in 0..COUNT {
        sum += x * WEIGHTS[q % 2][i % 2] + WEIGHTS[1][0];
    }
    for _ in -TURNS..=TURNS {
        sum += START.speed[q % 2] * START.h;
    }
    let kept: [f64; COUNT] = [sum; COUNT];
    if IS_ON && kept[COUNT - 1] < f64::INFINITY { kept[0] + TENTH as f64 } else { f64::NAN }
}

#[kernel_fn]
fn offset(side: usize) -> i64 {
    OFFSETS[side] * Wave::SIDES / 4
}

#[kernel_fn]
fn odd() -> f32 {
    f32::NAN + f32::MAX * 2.0 + f32::MIN_POSITIVE
}

/// One cell by plain Rust: the functions themselves.
fn plain(u: f64, i: i64) -> f64 {
    pressure(u) + weighted(u, i as usize) + offset((i % 2) as usize) as f64
}

fn line(acc: &TileAcc) -> TileArray<f64, 1> {
    let mut u = TileArray::builder([37]).build(acc).unwrap();
    u.fill(|[i]| (i as f64).mul_add(0.37, -3.0)).unwrap();
    u
}

#[test]
fn functions_see_constants_on_every_device() {
    for acc in everywhere() {
        let u = line(&acc);
        let mut next = u.like().unwrap();
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    let i = at[0];
                    next[at] = pressure(u[at]) + weighted(u[at], i as usize) + offset((i % 2) as usize) as f64;
                }),
            )
            .unwrap();
        }
        let (u, next) = (u.read_box(u.domain()).unwrap(), next.read_box(next.domain()).unwrap());
        for (i, (u, found)) in u.into_iter().zip(next).enumerate() {
            assert_eq!(found.to_bits(), plain(u, i as i64).to_bits(), "{} {i}", acc.device().name());
        }
    }
}

/// The numbers of plain Rust, written out: the functions are not their own oracle.
#[test]
fn constants_have_their_values() {
    assert_eq!(pressure(2.5), (1.4 - 1.0) * 2.5 + 1.67 * std::f64::consts::PI - f64::EPSILON);
    let (mut sum, x) = (0.0, -0.75);
    for i in 0..3 {
        sum += x * [0.1, 0.7][i % 2] + 1.0 / 3.0;
    }
    (0..11).for_each(|_| sum += 0.5 * 0.25);
    assert_eq!(weighted(x, 4), sum + 0.1f32 as f64);
    assert_eq!((offset(0), offset(1)), (-1, 1));
}

#[test]
fn constants_that_are_no_numbers_have_their_bits() {
    for acc in everywhere() {
        let mut u = TileArray::<f32, 1>::builder([2]).build(&acc).unwrap();
        for tile in TileIter::new(&u.like().unwrap()) {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = odd().max(1.0) + f32::INFINITY)).unwrap();
        }
        assert_eq!(u.read_box(u.domain()).unwrap(), [f32::INFINITY; 2]);
    }
}

/// What constants say of an index is known: reads beside the cell need no check.
#[test]
fn the_emitted_text_has_the_values() {
    let acc = on_cpu();
    let u = line(&acc);
    let mut next = u.like().unwrap();
    let explained = tida::explain(
        (&mut next, &u),
        kernel!(|next, u, at| next[at] = pressure(u[at]) + weighted(u[at], 1) + offset(1) as f64),
    )
    .unwrap();
    let text = explained.source();
    assert!(text.contains("1.4") && text.contains("1.67"), "{text}");
    if std::env::var_os("TIDA_REQUIRE_NVRTC").is_some() {
        explained.compile().unwrap();
    }
}

/// A function of a function of a module of constants, and constants of a type parameter.
#[kernel_fn]
fn halves<T: Real, const N: usize>(x: T) -> T {
    let mut x = x + T::ONE;
    for _ in 0..N {
        x *= T::lit(0.5);
    }
    x
}

fn halved<T: Real, const N: usize>(acc: &TileAcc, start: T) -> T {
    let mut u = TileArray::<T, 1>::builder([3]).build(acc).unwrap();
    u.fill_value(start).unwrap();
    for tile in TileIter::new(&u.like().unwrap()) {
        compute(&tile, &mut u, kernel!(|u, at| u[at] = halves::<T, N>(u[at]))).unwrap();
    }
    u.read_box(u.domain()).unwrap()[2]
}

#[test]
fn a_type_parameter_has_constants() {
    for acc in everywhere() {
        assert_eq!(halved::<f32, 2>(&acc, 3.0), 1.0);
        assert_eq!(halved::<f64, 3>(&acc, 3.0), 0.5);
        assert_eq!(halved::<f64, 0>(&acc, 3.0), 4.0);
    }
}

#[kernel_fn]
fn apart((a, b): (f64, f64), [x, mut y]: [f64; 2], Wave { h, speed: [_, v], .. }: Wave, _: bool) -> f64 {
    y += a;
    let Wave { speed, .. } = Wave { h, speed: [x, y] };
    (a - b) * speed[0] + y * h - v
}

#[kernel_fn]
fn moved([j, i]: [i64; 2], (dj, (di, _)): (i64, (i64, u8))) -> [i64; 2] {
    [j + dj, i + di]
}

#[test]
fn parameters_are_taken_apart() {
    let wave = Wave { h: 0.3, speed: [7.0, -1.25] };
    let expect = |k: f64| (k - 2.0) * 3.0 + (k + 0.5) * 0.3 + 1.25;
    assert_eq!(apart((4.0, 2.0), [3.0, 0.5], wave, true), expect(4.0));
    for acc in everywhere() {
        let mut waves = TileArray::<Wave, 2>::builder([4, 5]).build(&acc).unwrap();
        waves.fill_value(wave).unwrap();
        let mut next = TileArray::<f64, 2>::builder([4, 5]).build(&acc).unwrap();
        for tile in TileIter::new(&waves) {
            compute(
                &tile,
                (&mut next, &waves),
                kernel!(|next, waves, at| {
                    let Wave { h, speed } = waves[at];
                    let p = moved(at, (0, (0, 1)));
                    next[at] = apart((p[0] as f64, 2.0), [3.0, 0.5], Wave { h, speed }, true);
                }),
            )
            .unwrap();
        }
        let found = next.read_box(next.domain()).unwrap();
        for (n, found) in found.into_iter().enumerate() {
            assert_eq!(found.to_bits(), expect((n / 5) as f64).to_bits(), "{} {n}", acc.device().name());
        }
    }
}

#[kernel_fn]
fn inner_of(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}

#[test]
fn arrays_of_arrays_are_captured() {
    let weights = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
    let steps = [[[0i64, 1], [2, 3]]; 2];
    let (flags, picks) = ([[true, false], [false, true]], [[0usize, 2], [2, 1]]);
    for acc in everywhere() {
        let mut u = line(&acc);
        u.fill(|[i]| i as f64).unwrap();
        let mut next = u.like().unwrap();
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, tida::all(&u)),
                kernel!(|next, u, at| {
                    let (i, j) = ((at[0] % 2) as usize, (at[0] % 3) as usize);
                    let mut sum = inner_of(weights[j], weights[picks[i][1 - i]]) + weights[2][i];
                    for k in 0..2 {
                        sum += u[[at[0] % 30 + steps[i][k][1] + steps[1][1][0]]];
                    }
                    next[at] = if flags[i][j % 2] { sum } else { -sum };
                }),
            )
            .unwrap();
        }
        let found = next.read_box(next.domain()).unwrap();
        for (at, found) in found.into_iter().enumerate() {
            let (i, j) = (at % 2, at % 3);
            let mut sum = inner_of(weights[j], weights[picks[i][1 - i]]) + weights[2][i];
            for [_, step] in steps[i] {
                sum += (at as i64 % 30 + step + 2) as f64;
            }
            let plain = if flags[i][j % 2] { sum } else { -sum };
            assert_eq!(found.to_bits(), plain.to_bits(), "{} {at}", acc.device().name());
        }
    }
}

/// What is known of a captured array of arrays bounds what a kernel reads.
#[test]
fn entries_of_arrays_of_arrays_are_offsets_with_bounds() {
    let acc = on_cpu();
    let mut u = TileArray::<f64, 1>::builder([37]).ghost(2).boundary(Boundary::Periodic).build(&acc).unwrap();
    u.fill(|[i]| i as f64).unwrap();
    u.fill_ghosts().unwrap();
    let mut next = u.like().unwrap();
    let tile = TileIter::new(&u).next().unwrap();
    let mut step = |offsets: [[i64; 2]; 2]| {
        compute(
            &tile,
            (&mut next, &u),
            kernel!(|next, u, at| {
                let mut sum = 0.0;
                for i in 0..2 {
                    sum += u[at + [offsets[i][0]]] + u[at + [offsets[1][i]]];
                }
                next[at] = sum;
            }),
        )
    };
    step([[-1, 0], [1, -2]]).unwrap();
    let error = step([[-1, 0], [1, -3]]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Ghost, "{error}");
    acc.sync().unwrap();
    let found = next.read_box(next.domain()).unwrap();
    assert_eq!(found[2..4], [1.0 + 3.0 + 3.0 + 0.0, 2.0 + 4.0 + 4.0 + 1.0]);
}

#[test]
fn an_entry_outside_an_array_of_arrays_is_an_error() {
    let weights = [[1.0, 2.0], [3.0, 4.0]];
    for acc in everywhere() {
        let mut u = line(&acc);
        for tile in TileIter::new(&u.like().unwrap()) {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = weights[0][at[0] as usize])).unwrap();
        }
        let error = acc.sync().unwrap_err();
        let text = error.to_string();
        assert!(text.contains("entry 2") && text.contains("array of 2"), "{text}");
        let tile = TileIter::new(&u).next().unwrap();
        let error = compute(&tile, &mut u, kernel!(|u, at| u[at] = weights[2][0])).unwrap_err();
        assert!(error.to_string().contains("take entry 2 of a fixed-size array"), "{error}");
    }
}
