//! Complex numbers as elements: the bits of `num-complex`, on every device.
#![cfg(feature = "num-complex")]
#![forbid(unsafe_code)]

use tida::num_complex::{Complex, Complex32, Complex64};
use tida::prelude::*;
use tida::{Max, Product, Sum};
use tida_tests::{everywhere, value};

const I: Complex64 = Complex64 { re: 0.0, im: 1.0 };

/// `2 z + i c`, of parameters, numbers of the text and a constant.
#[kernel_fn]
fn turned(z: Complex64, c: Complex64) -> Complex64 {
    let twice = Complex64 { re: 2.0 * z.re, im: 2.0 * z.im };
    twice + I * c
}

macro_rules! arithmetic {
    ($($name:ident $t:ident $part:ident;)*) => {$(
        #[test]
        fn $name() {
            let number = |seed, at: [usize; 2]| {
                let part = |seed| value(seed, [at[0], at[1], 0]) as $part - 1.0;
                $t { re: part(seed), im: part(seed + 1) }
            };
            let of = |a: $t, b: $t, c: $t| [
                a + b,
                a - b,
                a * b,
                a / b,
                -a * b + c * (a - c) / (b * b),
                (a + b) * (a + b) - a * (-b),
            ];
            for acc in everywhere() {
                let array = || TileArray::<$t, 2>::builder([5, 70]).regions([2, 1]).ghost(1);
                let mut a = array().boundary(Boundary::Periodic).build(&acc).unwrap();
                let mut b = array().boundary(Boundary::ReflectOdd).build(&acc).unwrap();
                a.fill(|at| number(1, at)).unwrap();
                b.fill(|at| number(5, at)).unwrap();
                a.fill_ghosts().unwrap();
                let mut r = TileArray::<[$t; 6], 2>::builder([5, 70]).regions([2, 1]).build(&acc).unwrap();
                let mut s = array().build(&acc).unwrap();
                s.fill(|at| number(9, at)).unwrap();
                for tile in TileIter::new(&r) {
                    compute(&tile, (&mut r, &mut s, &a, &b), kernel!(|r, s, a, b, at| {
                        let (x, y, z) = (a[at], b[at], a[at + [0, 1]]);
                        let mut w = x;
                        w *= y;
                        r[at] = [
                            x + y,
                            x - y,
                            w,
                            x / y,
                            -x * y + z * (x - z) / (y * y),
                            (x + y) * (x + y) - x * (-y),
                        ];
                        s[at] += w;
                        s[at] *= x;
                        s[at].im -= 0.5;
                    })).unwrap();
                }
                let (r, s) = (r.read_box(r.domain()).unwrap(), s.read_box(s.domain()).unwrap());
                for n in 0..350 {
                    let (j, i) = (n / 70, n % 70);
                    let (a, b, c) = (number(1, [j, i]), number(5, [j, i]), number(1, [j, (i + 1) % 70]));
                    let bits = |z: $t| (z.re.to_bits(), z.im.to_bits());
                    assert_eq!(r[n].map(bits), of(a, b, c).map(bits), "{a} and {b} on {:?}", acc.device());
                    let mut sum = number(9, [j, i]) + a * b;
                    sum *= a;
                    sum.im -= 0.5;
                    assert_eq!(bits(s[n]), bits(sum), "on {:?}", acc.device());
                }
            }
        }
    )*};
}

arithmetic! {
    of_32_bits Complex32 f32;
    of_64_bits Complex64 f64;
}

macro_rules! with_real_numbers {
    ($($name:ident $t:ident $part:ident;)*) => {$(
        #[test]
        fn $name() {
            let part = |seed, at: [usize; 2]| value(seed, [at[0], at[1], 0]) as $part - 1.0;
            let number = |seed, at| $t { re: part(seed, at), im: part(seed + 1, at) };
            for acc in everywhere() {
                let mut z = TileArray::<$t, 2>::builder([5, 70]).regions([2, 1]).build(&acc).unwrap();
                z.fill(|at| number(1, at)).unwrap();
                let mut x = TileArray::<$part, 2>::builder([5, 70]).regions([2, 1]).build(&acc).unwrap();
                x.fill(|at| part(5, at)).unwrap();
                let mut r = TileArray::<[$t; 12], 2>::builder([5, 70]).regions([2, 1]).build(&acc).unwrap();
                let mut s = z.like().unwrap();
                s.fill(|at| number(9, at)).unwrap();
                let mut same = TileArray::<u8, 2>::builder([5, 70]).regions([2, 1]).build(&acc).unwrap();
                let half: $part = 0.5;
                for tile in TileIter::new(&r) {
                    compute(&tile, (&mut r, &mut s, &mut same, &z, &x), kernel!(|r, s, same, z, x, at| {
                        let (w, y) = (z[at], x[at]);
                        let third = 1.0 / 3.0;
                        let mut v = -w;
                        v *= 2.0;
                        v += y;
                        v -= half;
                        v /= 3.0 * y;
                        r[at] = [
                            w + y, w - y, w * y, w / y,
                            y + w, y - w, y * w, y / w,
                            v,
                            2.0 * w - 1.0 + (0.25 - third * w) / (1.5 + w * half),
                            0.0 - w * 0.0,
                            -(half * y) * w / (y + y),
                        ];
                        s[at] *= x[at];
                        s[at] += 0.25;
                        s[at] /= w;
                        s[at] -= y;
                        let mut n = 0;
                        if w == w { n += 1; }
                        if w != w + 0.0 * y { n += 2; }
                        if w == v { n += 4; }
                        if w * 1.0 != -w { n += 8; }
                        same[at] = n;
                    })).unwrap();
                }
                let (r, s) = (r.read_box(r.domain()).unwrap(), s.read_box(s.domain()).unwrap());
                let same = same.read_box(same.domain()).unwrap();
                let bits = |z: $t| (z.re.to_bits(), z.im.to_bits());
                for n in 0..350 {
                    let at = [n / 70, n % 70];
                    let (w, y) = (number(1, at), part(5, at));
                    let third: $part = 1.0 / 3.0;
                    let mut v = -w;
                    v *= 2.0;
                    v += y;
                    v -= half;
                    v /= 3.0 * y;
                    let expected = [
                        w + y, w - y, w * y, w / y,
                        y + w, y - w, y * w, y / w,
                        v,
                        2.0 * w - 1.0 + (0.25 - third * w) / (1.5 + w * half),
                        0.0 - w * 0.0,
                        -(half * y) * w / (y + y),
                    ];
                    assert_eq!(r[n].map(bits), expected.map(bits), "{w} and {y} on {:?}", acc.device());
                    let sum = (number(9, at) * y + 0.25) / w - y;
                    assert_eq!(bits(s[n]), bits(sum), "on {:?}", acc.device());
                    assert_eq!(same[n], 1 + 4 * u8::from(w == v) + 8 * u8::from(w != -w));
                }
            }
        }
    )*};
}

with_real_numbers! {
    with_real_numbers_of_32_bits Complex32 f32;
    with_real_numbers_of_64_bits Complex64 f64;
}

/// Mandelbrot's set: a loop in each cell, and a value that keeps being squared.
#[test]
fn mandelbrot() {
    let at = |j: i64, i: i64| Complex64 { re: i as f64 * 0.0305 - 1.6, im: j as f64 * 0.0625 - 1.0 };
    for acc in everywhere() {
        let mut count = TileArray::<u16, 2>::builder([33, 70]).regions([2, 1]).build(&acc).unwrap();
        for tile in TileIter::new(&count) {
            compute(
                &tile,
                &mut count,
                kernel!(|count, at| {
                    let c = Complex64 { re: at[1] as f64 * 0.0305 - 1.6, im: at[0] as f64 * 0.0625 - 1.0 };
                    let mut z = c;
                    let mut n = 0;
                    while n < 200 && z.re * z.re + z.im * z.im <= 4.0 {
                        z = z * z + c;
                        n += 1;
                    }
                    count[at] = n;
                }),
            )
            .unwrap();
        }
        let found = count.read_box(count.domain()).unwrap();
        for (k, found) in found.iter().enumerate() {
            let c = at(k as i64 / 70, k as i64 % 70);
            let (mut z, mut n) = (c, 0u16);
            while n < 200 && z.norm_sqr() <= 4.0 {
                z = z * z + c;
                n += 1;
            }
            assert_eq!(*found, n, "{c} on {:?}", acc.device());
        }
        assert!(found.contains(&200) && found.iter().any(|n| *n < 5));
    }
}

/// A free wave packet after Crank and Nicolson, `(1 + i H dt / 2) u' = (1 - i H dt / 2) u`, by Jacobi's iteration:
/// functions, neighbours, ghosts and sums of parts.
#[test]
fn a_wave_packet_keeps_its_norm() {
    let cells = 64usize;
    let mut all = Vec::new();
    for acc in everywhere() {
        let line = TileArray::<Complex64, 1>::builder([cells]).ghost(1).boundary(Boundary::Periodic);
        let mut u = line.build(&acc).unwrap();
        u.fill(|[i]| {
            let x = i as f64 - 32.0;
            Complex64::from_polar((-x * x / 50.0).exp(), 0.5 * x)
        })
        .unwrap();
        let norm = |u: &TileArray<Complex64, 1>| {
            reduce(u, Sum, kernel!(|u, at| u[at].re * u[at].re + u[at].im * u[at].im)).unwrap()
        };
        let before = norm(&u);
        // i dt / 2 dx².
        let step = Complex64 { re: 0.0, im: 0.05 };
        let (re, im) = (step.re, step.im);
        for _ in 0..20 {
            let mut next = u.like().unwrap();
            let mut last = u.like().unwrap();
            last.copy_from(&u).unwrap();
            u.fill_ghosts().unwrap();
            for _ in 0..12 {
                last.fill_ghosts().unwrap();
                for tile in TileIter::new(&u) {
                    compute(
                        &tile,
                        (&mut next, &last, &u),
                        kernel!(|next, last, u, at| {
                            let step = Complex64 { re: re, im: im };
                            let bent = u[at + [1]] + u[at - [1]] - (u[at] + u[at]);
                            let around = last[at + [1]] + last[at - [1]];
                            let one = Complex64 { re: 1.0, im: 0.0 };
                            next[at] = (u[at] + step * (bent + around)) / (one + step + step);
                        }),
                    )
                    .unwrap();
                }
                std::mem::swap(&mut next, &mut last);
            }
            u = last;
        }
        let after = norm(&u);
        assert!((after / before - 1.0).abs() < 1e-9, "{before} became {after}");
        let largest = reduce(&u, Max, kernel!(|u, at| turned(u[at], u[at]).re.abs())).unwrap();
        let values = u.read_box(u.domain()).unwrap();
        assert_eq!(largest, values.iter().map(|z| turned(*z, *z).re.abs()).fold(0.0, f64::max));
        all.push(u.read_box(u.domain()).unwrap());
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "devices differ");
}

/// `z` turned by a choice: complex values of `match` and `if`.
#[kernel_fn]
fn chosen(z: Complex<f64>, n: i64) -> Complex<f64> {
    let turned = match n {
        0 => z,
        1 => Complex64::i() * z,
        2 => -z,
        _ => z.conj() * Complex64::I,
    };
    if turned.re < 0.0 { turned.scale(0.5) } else { Complex64::ONE - turned }
}

fn chosen_on_host(z: Complex64, n: usize) -> Complex64 {
    let turned = [z, Complex64::i() * z, -z, z.conj() * Complex64::I][n];
    if turned.re < 0.0 { turned.scale(0.5) } else { Complex64::ONE - turned }
}

/// Methods, makers, captured values and choices.
#[test]
fn methods_and_captures() {
    let number = |seed, at: [usize; 2]| {
        let part = |seed| value(seed, [at[0], at[1], 0]) - 1.0;
        Complex64 { re: part(seed), im: part(seed + 1) }
    };
    let c = Complex64::new(0.25, -1.5);
    let list = [Complex64::new(1.0, 2.0), Complex64::I, Complex64::new(-0.5, 0.25)];
    let (t, phase) = (0.75, 0.5);
    for acc in everywhere() {
        let mut z = TileArray::<Complex<f64>, 2>::builder([6, 70]).regions([2, 1]).build(&acc).unwrap();
        z.fill(|at| number(1, at)).unwrap();
        let mut r = TileArray::<[Complex64; 8], 2>::builder([6, 70]).regions([2, 1]).build(&acc).unwrap();
        let mut x = TileArray::<[f64; 2], 2>::builder([6, 70]).regions([2, 1]).build(&acc).unwrap();
        for tile in TileIter::new(&r) {
            compute(
                &tile,
                (&mut r, &mut x, &z),
                kernel!(|r, x, z, at| {
                    let w = z[at];
                    let mut sum = Complex64::ZERO;
                    for k in 0..3 {
                        sum += list[k] * w;
                    }
                    let made: Complex<f64> = Complex64::new(w.im, t);
                    let n = (at[0] + at[1]) % 4;
                    r[at] = [
                        w.conj(),
                        w.scale(t),
                        w.unscale(t),
                        w.inv(),
                        made * c,
                        Complex::<f64> { re: w.re, im: 0.0 } + Complex64::i() + Complex64::I,
                        sum,
                        chosen(w, n),
                    ];
                    x[at] = [w.norm_sqr().sqrt(), (w * c).l1_norm()];
                }),
            )
            .unwrap();
        }
        let (r, x) = (r.read_box(r.domain()).unwrap(), x.read_box(x.domain()).unwrap());
        for n in 0..420 {
            let at = [n / 70, n % 70];
            let w = number(1, at);
            let mut sum = Complex64::ZERO;
            for entry in list {
                sum += entry * w;
            }
            let expected = [
                w.conj(),
                w.scale(t),
                w.unscale(t),
                w.inv(),
                Complex64::new(w.im, t) * c,
                Complex64 { re: w.re, im: 0.0 } + Complex64::i() + Complex64::I,
                sum,
                chosen_on_host(w, (at[0] + at[1]) % 4),
            ];
            let bits = |z: Complex64| (z.re.to_bits(), z.im.to_bits());
            assert_eq!(r[n].map(bits), expected.map(bits), "{w} on {:?}", acc.device());
            assert_eq!(x[n], [w.norm_sqr().sqrt(), (w * c).l1_norm()]);
            assert_eq!(bits(chosen(w, n as i64 % 4)), bits(chosen_on_host(w, n % 4)));
        }
        // These take functions of the device's library.
        let turned = TileArray::<Complex64, 2>::builder([6, 70]).build(&acc).unwrap();
        let mut turned = turned;
        for tile in TileIter::new(&turned) {
            compute(
                &tile,
                &mut turned,
                kernel!(|u, at| {
                    let from = Complex64::from_polar(at[1] as f64, phase) * Complex64::cis(phase);
                    u[at] = Complex64::new(from.re, from.arg());
                }),
            )
            .unwrap();
        }
        for (n, found) in turned.read_box(turned.domain()).unwrap().iter().enumerate() {
            let from = Complex64::from_polar((n % 70) as f64, phase) * Complex64::cis(phase);
            assert!((found - Complex64::new(from.re, from.arg())).norm() < 1e-12, "{found} of {from}");
        }
    }
}

/// One text for both precisions.
fn spun<T: Real>(acc: &TileAcc) -> Vec<Complex<T>> {
    let of = |x: f64| T::of(x);
    let mut z = TileArray::<Complex<T>, 1>::builder([40]).ghost(1).boundary(Boundary::Periodic).build(acc).unwrap();
    z.fill(|[i]| Complex { re: of(value(3, [i, 0, 0])), im: of(i as f64 / 7.0) }).unwrap();
    let turn = Complex { re: of(0.6), im: of(0.8) };
    for _ in 0..3 {
        z.fill_ghosts().unwrap();
        let mut next = z.like().unwrap();
        for tile in TileIter::new(&z) {
            compute(
                &tile,
                (&mut next, &z),
                kernel!(T; |next, z, at| {
                    let around = mean_of::<T>(z[at - [1]], z[at + [1]]);
                    let c = Complex::<T>::new(0.125, around.re);
                    next[at] = (around * turn + c.conj()) / (1.5 + z[at].norm_sqr()) - 0.25 * z[at];
                    next[at] /= T::lit(2);
                }),
            )
            .unwrap();
        }
        z = next;
    }
    z.read_box(z.domain()).unwrap()
}

#[kernel_fn]
fn mean_of<T: Real>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    (a + b) * T::lit(0.5)
}

#[test]
fn generic_functions() {
    macro_rules! by_hand {
        ($t:ty) => {{
            let mut z: Vec<Complex<$t>> =
                (0..40).map(|i| Complex::new(value(3, [i, 0, 0]) as $t, (i as f64 / 7.0) as $t)).collect();
            let turn = Complex::<$t>::new(0.6, 0.8);
            for _ in 0..3 {
                z = (0..40)
                    .map(|i| {
                        let around = (z[(i + 39) % 40] + z[(i + 1) % 40]) * 0.5;
                        let c = Complex::<$t>::new(0.125, around.re);
                        ((around * turn + c.conj()) / (1.5 + z[i].norm_sqr()) - 0.25 * z[i]) / 2.0
                    })
                    .collect();
            }
            z
        }};
    }
    for acc in everywhere() {
        assert_eq!(spun::<f64>(&acc), by_hand!(f64), "on {:?}", acc.device());
        assert_eq!(spun::<f32>(&acc), by_hand!(f32), "on {:?}", acc.device());
    }
}

/// Sums are folded part by part, in the order in which those of the parts are; products in the order of a product.
#[test]
fn reductions() {
    let number = |at: [usize; 2]| Complex64::new(value(1, [at[0], at[1], 0]) - 1.0, value(2, [at[0], at[1], 0]) - 1.0);
    let mut all = Vec::new();
    for acc in everywhere() {
        let mut z = TileArray::<Complex64, 2>::builder([9, 130]).regions([3, 2]).build(&acc).unwrap();
        z.fill(number).unwrap();
        let c = Complex64::new(0.5, 0.25);
        for tile in TileIter::new(&z) {
            compute(&tile, &mut z, kernel!(|z, at| z[at] = z[at] * c)).unwrap();
        }
        let sum = reduce(&z, Sum, kernel!(|z, at| if z[at].re > 0.0 { z[at] } else { z[at] * z[at] })).unwrap();
        let re = reduce(&z, Sum, kernel!(|z, at| if z[at].re > 0.0 { z[at].re } else { (z[at] * z[at]).re })).unwrap();
        let im = reduce(&z, Sum, kernel!(|z, at| if z[at].re > 0.0 { z[at].im } else { (z[at] * z[at]).im })).unwrap();
        assert_eq!(sum, Complex64::new(re, im), "on {:?}", acc.device());
        let plain: Complex64 = (0..9 * 130).map(|n| number([n / 130, n % 130]) * c).sum();
        let whole = reduce(&z, Sum, kernel!(|z, at| z[at])).unwrap();
        assert!((whole - plain).norm() < 1e-10, "{whole} and {plain}");
        // Of one row of fewer than 64 cells: by halves.
        let row = GridBox::new([2, 0], [3, 64]);
        let product = reduce_over(row, &z, Product, kernel!(|z, at| z[at] * 2.0)).unwrap();
        let mut values: Vec<Complex64> = (0..64).map(|n| number([2, n]) * c * 2.0).collect();
        for half in [32, 16, 8, 4, 2, 1] {
            values = (0..half).map(|n| values[n] * values[n + half]).collect();
        }
        assert_eq!(product, values[0], "on {:?}", acc.device());
        let later = reduce_later(&z, Product, kernel!(|z, at| 1.0 + z[at] * 0.01)).unwrap();
        let none = GridBox::new([0, 0], [0, 0]);
        let empty = [
            reduce_over(none, &z, Sum, kernel!(|z, at| z[at])).unwrap(),
            reduce_over(none, &z, Product, kernel!(|z, at| z[at])).unwrap(),
        ];
        assert_eq!(empty, [Complex64::ZERO, Complex64::ONE]);
        let largest = reduce(&z, Max, kernel!(|z, at| z[at].norm_sqr())).unwrap();
        all.push((sum, whole, later.get().unwrap(), largest));
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "devices differ: {all:?}");
}

macro_rules! norms {
    ($($name:ident $t:ident $part:ident $large:literal $small:literal;)*) => {$(
        /// The root of the sum of squares where these are far from the ends of the type; near the norm of the C library
        /// everywhere; methods that take it have the formulas of `num-complex`.
        #[test]
        fn $name() {
            let parts: [$part; 16] = [
                0.0, -0.0, 1.0, -1.5, 0.3, $large, -1.7 * $large, $small, -3.0 * $small, $part::MAX, $part::MIN_POSITIVE,
                7.0 * $part::from_bits(1), $part::INFINITY, $part::NEG_INFINITY, $part::NAN, 1e-3,
            ];
            let number = |[j, i]: [usize; 2]| match j {
                0..16 => $t::new(parts[j], parts[i % 16]),
                _ => {
                    let part = |seed| value(seed, [j, i, 0]) as $part - 1.0;
                    $t::new(part(1), part(2))
                }
            };
            let bits = |x: $part| if x.is_nan() { $part::NAN.to_bits() } else { x.to_bits() };
            let both = |z: $t| [bits(z.re), bits(z.im)];
            let mut all = Vec::new();
            for acc in everywhere() {
                let mut z = TileArray::<$t, 2>::builder([40, 64]).regions([2, 1]).build(&acc).unwrap();
                z.fill(number).unwrap();
                let mut r = TileArray::<[$part; 3], 2>::builder([40, 64]).regions([2, 1]).build(&acc).unwrap();
                let mut w = TileArray::<[$t; 6], 2>::builder([40, 64]).regions([2, 1]).build(&acc).unwrap();
                for tile in TileIter::new(&r) {
                    compute(&tile, (&mut r, &mut w, &z), kernel!(|r, w, z, at| {
                        let z = z[at];
                        let (length, angle) = z.to_polar();
                        let n = (at[1] / 16) as u32;
                        r[at] = [z.norm(), length, angle];
                        w[at] = [z.finv(), z.fdiv($t::i() + z), z.powu(n), z.powu(3), z.powu(6), z.powu(0)];
                    })).unwrap();
                }
                let (r, w) = (r.read_box(r.domain()).unwrap(), w.read_box(w.domain()).unwrap());
                for (n, ([found, length, angle], w)) in r.iter().copied().zip(&w).enumerate() {
                    let z = number([n / 64, n % 64]);
                    assert_eq!(bits(found), bits(length));
                    if n >= 16 * 64 {
                        assert_eq!(found, z.norm_sqr().sqrt(), "{z} on {acc}");
                        assert!((angle - z.arg()).abs() < 1e-6);
                    }
                    let exact = z.norm();
                    let near = (found - exact).abs() <= 2.0 * $part::EPSILON * exact + $part::from_bits(1);
                    assert!(bits(found) == bits(exact) || near, "{z} has {exact}, not {found} on {acc}");
                    let inverse = |z: $t, norm: $part| z.conj() / norm / norm;
                    assert_eq!(both(w[0]), both(inverse(z, found)), "{z} on {acc}");
                    let powers = [z.powu(n as u32 % 64 / 16), z.powu(3), z.powu(6), z.powu(0)];
                    assert_eq!(w[2..].iter().map(|z| both(*z)).collect::<Vec<_>>(), powers.map(both), "{z} on {acc}");
                    if n >= 16 * 64 {
                        assert!((w[1] - z.fdiv($t::i() + z)).norm() <= 1e-5 * w[1].norm(), "{z} on {acc}");
                    }
                }
                let angles = |r: &[$part; 3]| [bits(r[0]), bits(r[1])];
                all.push((r.iter().map(angles).collect::<Vec<_>>(), w.iter().map(|w| w.map(both)).collect::<Vec<_>>()));
            }
            assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "devices differ");
        }
    )*};
}

norms! {
    norms_of_32_bits Complex32 f32 1e30 1e-30;
    norms_of_64_bits Complex64 f64 1e200 1e-200;
}

/// What the documentation of `tida::num_complex` says to write for methods that kernels do not have.
#[test]
fn in_place_of_other_methods() {
    let number = |[j, i]: [usize; 2]| Complex64::new(value(1, [j, i, 0]) - 1.0, 2.0 * value(2, [j, i, 0]) - 2.0);
    let x = 1.75;
    for acc in everywhere() {
        let mut z = TileArray::<Complex64, 2>::builder([5, 70]).build(&acc).unwrap();
        z.fill(number).unwrap();
        let mut r = TileArray::<[Complex64; 8], 2>::builder([5, 70]).build(&acc).unwrap();
        let mut nan = TileArray::<bool, 2>::builder([5, 70]).build(&acc).unwrap();
        for tile in TileIter::new(&r) {
            compute(
                &tile,
                (&mut r, &mut nan, &z),
                kernel!(|r, nan, z, at| {
                    let z = z[at];
                    r[at] = [
                        Complex64::from_polar(z.re.exp(), z.im),
                        Complex64::new(z.norm().ln(), z.arg()),
                        Complex64::from_polar(z.norm().sqrt(), 0.5 * z.arg()),
                        Complex64::from_polar(z.norm().powf(x), x * z.arg()),
                        z.powu(3),
                        z.powu(3).inv(),
                        Complex64::new(z.re.sin() * z.im.cosh(), z.re.cos() * z.im.sinh()),
                        Complex64::new(z.re.cos() * z.im.cosh(), -z.re.sin() * z.im.sinh()),
                    ];
                    nan[at] = z.re.is_nan() || z.im.is_nan();
                }),
            )
            .unwrap();
        }
        for (n, found) in r.read_box(r.domain()).unwrap().iter().enumerate() {
            let z = number([n / 70, n % 70]);
            let want = [z.exp(), z.ln(), z.sqrt(), z.powf(x), z.powi(3), z.powi(-3), z.sin(), z.cos()];
            for (k, (found, want)) in found.iter().zip(want).enumerate() {
                assert!(
                    (found - want).norm() <= 1e-12 * (1.0 + want.norm()),
                    "{k} of {z}: {found}, not {want} on {acc}"
                );
            }
        }
        assert!(!nan.read_box(nan.domain()).unwrap().contains(&true));
    }
}

/// The form for CUDA, where NVRTC has to be there.
#[test]
fn the_form_for_cuda_compiles() {
    if std::env::var_os("TIDA_REQUIRE_NVRTC").is_none() {
        return eprintln!("skipped: TIDA_REQUIRE_NVRTC is not set");
    }
    let acc = tida_tests::on_cpu();
    let u = TileArray::<Complex64, 1>::builder([64]).ghost(1).build(&acc).unwrap();
    let mut next = u.like().unwrap();
    let explained = tida::explain(
        (&mut next, &u),
        kernel!(|next, u, at| {
            let z = turned(u[at], u[at + [1]]);
            next[at] = -z * z / (z - u[at - [1]]);
            next[at] *= z;
            next[at] += z.norm() * z.powu(5);
        }),
    );
    let explained = explained.unwrap();
    explained.compile().unwrap_or_else(|error| panic!("{error}\n{}", explained.source()));
}
