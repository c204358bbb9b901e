//! Integers of 8 and 16 bits: the same bits on every device, those of Rust's wrapping operations.
#![forbid(unsafe_code)]

use tida::prelude::*;
use tida::{ArgMax, ArgMin, Max, Min, Product, Sum};
use tida_tests::everywhere;
use tida_tests::folder::Folder;

/// A cell with components of three sizes.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Mixed {
    level: i8,
    weight: f64,
    counts: [u16; 3],
    height: i16,
}

/// `a * b + a`, which C would compute as an `int`.
#[kernel_fn]
fn grown(a: u16, b: u16) -> u16 {
    a * b + a
}

macro_rules! tests {
    ($($t:ident $name:ident;)*) => {$(
        mod $name {
            use super::*;

            /// Values that a careless form of the arithmetic of C gets wrong.
            const EDGES: [$t; 12] = [
                0, 1, 2, 3, 7, 100, $t::MIN, $t::MAX, $t::MAX - 1, $t::MAX / 2, $t::MIN / 2 + 1, $t::MAX / 3 * 2,
            ];

            /// The edges against each other, and more columns than a warp has threads.
            fn pairs() -> (usize, impl Fn(usize) -> ($t, $t)) {
                (EDGES.len() * EDGES.len(), |n| (EDGES[n % EDGES.len()], EDGES[n / EDGES.len()]))
            }

            #[test]
            fn operators() {
                let (cells, pair) = pairs();
                let of = |a: $t, b: $t| -> [$t; 12] {
                    [
                        a.wrapping_add(b),
                        a.wrapping_sub(b),
                        a.wrapping_mul(b),
                        a.wrapping_mul(b).wrapping_mul(a).wrapping_add(b) / 3,
                        (!a & b) | (a ^ 5),
                        a.wrapping_shl(b as u32),
                        a.wrapping_shr(b as u32),
                        a.wrapping_add(b) >> 1,
                        a.wrapping_mul(b).min(a).max(3),
                        a.wrapping_pow(5).wrapping_add(b.rotate_left(3)),
                        0u8.wrapping_sub(1) as $t,
                        a.wrapping_add(b).count_ones() as $t + a.leading_zeros() as $t * 2 + b.trailing_zeros() as $t,
                    ]
                };
                let wide = |a: $t, b: $t| -> i64 {
                    let sum = a.wrapping_add(b);
                    sum as i64 + if sum > a { 1000 } else { 0 } + i64::from(a.wrapping_mul(b) as i32 == (a as i32).wrapping_mul(b as i32))
                };
                for acc in everywhere() {
                    let array = || TileArray::<$t, 1>::builder([cells]).regions([2]);
                    let a = array().build_slice(&acc, &(0..cells).map(|n| pair(n).0).collect::<Vec<_>>()).unwrap();
                    let b = array().build_slice(&acc, &(0..cells).map(|n| pair(n).1).collect::<Vec<_>>()).unwrap();
                    let mut r = TileArray::<[$t; 12], 1>::builder([cells]).regions([2]).build(&acc).unwrap();
                    let mut w = TileArray::<i64, 1>::builder([cells]).regions([2]).build(&acc).unwrap();
                    for tile in TileIter::new(&r) {
                        compute(&tile, (&mut r, &mut w, &a, &b), kernel!(|r, w, a, b, at| {
                            let (a, b) = (a[at], b[at]);
                            r[at] = [
                                a + b,
                                a - b,
                                a * b,
                                (a * b * a + b) / 3,
                                (!a & b) | (a ^ 5),
                                a << b,
                                a >> b,
                                (a + b) >> 1,
                                (a * b).min(a).max(3),
                                a.pow(5) + b.rotate_left(3),
                                (0u8 - 1) as $t,
                                (a + b).count_ones() as $t + a.leading_zeros() as $t * 2 + b.trailing_zeros() as $t,
                            ];
                            let more = if a + b > a { 1000 } else { 0 };
                            w[at] = (a + b) as i64 + more + ((a * b) as i32 == a as i32 * b as i32) as i64;
                        })).unwrap();
                    }
                    let (r, w) = (r.read_box(r.domain()).unwrap(), w.read_box(w.domain()).unwrap());
                    for n in 0..cells {
                        let (a, b) = pair(n);
                        assert_eq!(r[n], of(a, b), "{a} and {b} on {:?}", acc.device());
                        assert_eq!(w[n], wide(a, b), "{a} and {b} on {:?}", acc.device());
                    }
                }
            }

            #[test]
            fn reductions() {
                let (cells, pair) = pairs();
                let values: Vec<$t> = (0..cells).map(|n| pair(n).0 ^ pair(n).1 | 1).collect();
                let sum = values.iter().fold(0, |sum: $t, x| sum.wrapping_add(*x));
                let product = values.iter().fold(1, |product: $t, x| product.wrapping_mul(*x));
                let (low, high) = (*values.iter().min().unwrap(), *values.iter().max().unwrap());
                let first = |x| [values.iter().position(|v| *v == x).unwrap()];
                for acc in everywhere() {
                    let u = TileArray::<$t, 1>::builder([cells]).regions([2]).build_slice(&acc, &values).unwrap();
                    assert_eq!(reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap(), sum);
                    assert_eq!(reduce(&u, Product, kernel!(|u, at| u[at])).unwrap(), product);
                    assert_eq!(reduce(&u, Min, kernel!(|u, at| u[at])).unwrap(), low);
                    assert_eq!(reduce(&u, Max, kernel!(|u, at| u[at])).unwrap(), high);
                    assert_eq!(reduce(&u, ArgMin, kernel!(|u, at| u[at])).unwrap(), (first(low), low));
                    assert_eq!(reduce(&u, ArgMax, kernel!(|u, at| u[at])).unwrap(), (first(high), high));
                }
            }

            #[test]
            fn files() {
                let (cells, pair) = pairs();
                let values: Vec<$t> = (0..cells).map(|n| pair(n).0).collect();
                let (acc, folder) = (tida_tests::on_cpu(), Folder::new());
                let u = TileArray::<$t, 1>::builder([cells]).regions([2]).build_slice(&acc, &values).unwrap();
                let path = folder.file("u.npy");
                u.save_npy(&path).unwrap();
                let bytes = std::fs::read(&path).unwrap();
                let data: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
                assert_eq!(bytes[128..], data);
                let letter = if stringify!($t).starts_with('i') { 'i' } else { 'u' };
                let kind = format!("{}{letter}{}'", if size_of::<$t>() == 1 { '|' } else { '<' }, size_of::<$t>());
                assert!(String::from_utf8_lossy(&bytes[..128]).contains(&kind), "{kind}");
                let v = TileArray::<$t, 1>::builder([cells]).build_npy(&acc, &path).unwrap();
                assert_eq!(v.read_box(v.domain()).unwrap(), values);
                // Of the other byte order.
                let swapped: Vec<u8> = values.iter().flat_map(|x| x.to_be_bytes()).collect();
                let header = String::from_utf8_lossy(&bytes[10..128]).replace('<', ">");
                std::fs::write(&path, [&bytes[..10], header.as_bytes(), &swapped].concat()).unwrap();
                let v = TileArray::<$t, 1>::builder([cells]).build_npy(&acc, &path).unwrap();
                assert_eq!(v.read_box(v.domain()).unwrap(), values);
            }

            #[test]
            fn a_division_by_zero_is_an_error() {
                for acc in everywhere() {
                    let mut u = TileArray::<$t, 1>::builder([9]).build(&acc).unwrap();
                    u.fill(|[i]| i as $t).unwrap();
                    let tile = u.tiles().next().unwrap();
                    compute(&tile, &mut u, kernel!(|u, at| u[at] = 100 / (u[at] & 3))).unwrap();
                    assert_eq!(acc.sync().unwrap_err().kind(), ErrorKind::Division);
                }
            }
        }
    )*};
}

tests! {
    i8 of_i8;
    i16 of_i16;
    u16 of_u16;
}

/// Fields, entries of fixed arrays, captures, locals and parameters.
#[test]
fn structs_of_short_integers() {
    let steps: [u16; 3] = [60_000, 7, 65_535];
    let (low, offset) = (-100i8, -30_000i16);
    let next = |of: Mixed, n: i64| {
        let counts: [u16; 3] = std::array::from_fn(|k| {
            let (a, b) = (of.counts[k], steps[k]);
            a.wrapping_mul(b).wrapping_add(a)
        });
        Mixed {
            level: of.level.wrapping_sub(low).wrapping_mul(3),
            weight: of.weight + f64::from(of.height) + f64::from(counts[1]),
            counts,
            height: of.height.wrapping_add(offset).wrapping_sub(n as i16) / 2,
        }
    };
    let start = |n: i64| Mixed {
        level: (n * 37) as i8,
        weight: n as f64 / 3.0,
        counts: [(n * 9_999) as u16, n as u16, (n * n * 333) as u16],
        height: (n * 7_777) as i16,
    };
    for acc in everywhere() {
        let mut u = TileArray::<Mixed, 2>::builder([5, 70]).regions([2, 1]).build(&acc).unwrap();
        u.fill(|[j, i]| start((j * 70 + i) as i64)).unwrap();
        let mut v = u.like().unwrap();
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut v, &u),
                kernel!(|v, u, at| {
                    let of = u[at];
                    let mut counts = [0u16; 3];
                    for k in 0..3 {
                        counts[k] = grown(of.counts[k], steps[k]);
                    }
                    v[at].level = (of.level - low) * 3;
                    v[at].counts = counts;
                    v[at].weight = of.weight + of.height as f64 + counts[1] as f64;
                    v[at].height = (of.height + offset - (at[0] * 70 + at[1]) as i16) / 2;
                }),
            )
            .unwrap();
        }
        let found = v.read_box(v.domain()).unwrap();
        for (n, found) in found.into_iter().enumerate() {
            assert_eq!(found, next(start(n as i64), n as i64), "cell {n} on {:?}", acc.device());
        }
    }
}

/// Ghosts that are computed, on the host and on devices.
#[test]
fn ghosts_of_short_integers() {
    fn filled<T: Number>(acc: &TileAcc, boundary: Boundary<T>, of: fn(i64) -> T) -> Vec<T> {
        let mut u = TileArray::<T, 1>::builder([70]).ghost(1).boundary(boundary).build(acc).unwrap();
        let mut v = u.like().unwrap();
        u.fill(|[i]| of(i as i64)).unwrap();
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&u) {
            compute(&tile, (&mut v, &u), kernel!(|v, u, at| v[at] = u[at + [1]] + u[at - [1]])).unwrap();
        }
        v.read_box(v.domain()).unwrap()
    }
    for acc in everywhere() {
        let odd = filled(&acc, Boundary::ReflectOdd, |i| (i * 300 - 32_768) as i16);
        assert_eq!(odd[0], (-32_768i16).wrapping_neg().wrapping_add(300 - 32_767 - 1));
        let line = filled(&acc, Boundary::Extrapolate(1), |i| (i * 50_000) as u16);
        let at = |i: i64| (i * 50_000) as u16;
        assert_eq!(line[0], at(-1).wrapping_add(at(1)));
        assert_eq!(line[69], at(70).wrapping_add(at(68)));
        let fixed = filled(&acc, Boundary::Fixed(-7i8), |i| i as i8);
        assert_eq!((fixed[0], fixed[69]), (1 - 7, 68 - 7));
    }
}
