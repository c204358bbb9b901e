//! Loops in both directions and by steps, loops over lists: what they do is what plain Rust does, on every device.
#![cfg(feature = "ndarray")]
#![forbid(unsafe_code)]

use tida::__private::inner;
use tida::prelude::*;
use tida_tests::{everywhere, on_cpu};

/// A few cells, one value each.
fn cells(acc: &TileAcc) -> TileArray<i64, 1> {
    TileArray::builder([5]).ghost(0).build(acc).unwrap()
}

/// What a loop gives that keeps the order of its values.
fn kept<T: Into<i128>>(values: impl IntoIterator<Item = T>) -> i64 {
    values.into_iter().fold(7, |kept, value| kept_next(kept, value.into() as i64))
}

fn kept_next(kept: i64, value: i64) -> i64 {
    kept.wrapping_mul(31).wrapping_add(value)
}

/// Runs a kernel that keeps the values of a loop in each cell, and compares with the plain list.
macro_rules! keeps {
    ($wanted:expr, |$kept:ident| $($body:tt)*) => {
        for acc in everywhere() {
            let mut found = cells(&acc);
            for tile in TileIter::new(&found) {
                let recorded = compute(&tile, &mut found, kernel!(|found, at| {
                    let mut $kept = 7i64;
                    $($body)*
                    found[at] = $kept;
                }));
                recorded.unwrap();
            }
            let found = found.read_box(found.domain()).unwrap();
            assert_eq!(found, vec![$wanted; 5], "{}: {}", acc.device().name(), stringify!($($body)*));
        }
    };
    ($wanted:expr, $range:expr) => {
        keeps!($wanted, |kept| for i in $range {
            kept = kept * 31 + i as i64;
        })
    };
}

#[test]
fn loops_go_down() {
    keeps!(kept((0..5).rev()), (0..5).rev());
    keeps!(kept((-3i64..=3).rev()), (-3i64..=3).rev());
    keeps!(kept((250u8..=255).rev()), (250u8..=255).rev());
    keeps!(kept((5..5).rev()), (5..5).rev());
    keeps!(kept((9..2).rev()), (9..2).rev());
    for (lo, hi) in [(0, 0), (0, 3), (i32::MIN, i32::MIN + 3), (i32::MAX - 2, i32::MAX), (4, -4)] {
        keeps!(kept((lo..hi).rev()), (lo..hi).rev());
        keeps!(kept((lo..=hi).rev()), (lo..=hi).rev());
    }
    for (lo, hi) in [(u64::MAX - 3, u64::MAX), (0, 2), (3, 3)] {
        keeps!(kept((lo..hi).rev()), (lo..hi).rev());
        keeps!(kept((lo..=hi).rev()), (lo..=hi).rev());
    }
}

#[test]
fn loops_take_steps() {
    keeps!(kept((0..10).step_by(3)), (0..10).step_by(3));
    keeps!(kept((0..=9).step_by(3)), (0..=9).step_by(3));
    keeps!(kept((-7i64..8).step_by(5)), (-7i64..8).step_by(5));
    keeps!(kept((0u8..=255).step_by(60)), (0u8..=255).step_by(60));
    keeps!(kept((0u8..255).step_by(1000)), (0u8..255).step_by(1000));
    keeps!(kept((3..3).step_by(2)), (3..3).step_by(2));
    keeps!(kept((3..0).step_by(2)), (3..0).step_by(2));
    keeps!(kept((0..4).step_by(1)), (0..4).step_by(1));
}

#[test]
fn steps_and_directions_go_together() {
    keeps!(kept((0..10).rev().step_by(4)), (0..10).rev().step_by(4));
    keeps!(kept((0..=10).rev().step_by(5)), (0..=10).rev().step_by(5));
    keeps!(kept((0..10usize).step_by(4).rev().map(|n| n as u64)), (0..10usize).step_by(4).rev());
    keeps!(kept((0u8..=255).step_by(100).rev()), (0u8..=255).step_by(100).rev());
    keeps!(kept([8, 4, 0]), (0..10i64).step_by(4).rev());
    keeps!(kept([3, 2]), (2..4).step_by(1).rev());
}

#[test]
fn bounds_and_steps_may_be_captured() {
    for (lo, hi) in [(0, 10), (-9, 8), (3, 3), (5, -5), (i32::MIN, i32::MIN + 9), (i32::MAX - 9, i32::MAX)] {
        for by in [1usize, 2, 3, 9, 10, 1 << 31, 1 << 32, usize::MAX] {
            let back = |mut list: Vec<i32>| {
                list.reverse();
                list
            };
            keeps!(kept((lo..hi).step_by(by)), (lo..hi).step_by(by));
            keeps!(kept((lo..=hi).step_by(by)), (lo..=hi).step_by(by));
            keeps!(kept((lo..hi).rev().step_by(by)), (lo..hi).rev().step_by(by));
            keeps!(kept(back((lo..=hi).step_by(by).collect())), (lo..=hi).step_by(by).rev());
        }
        keeps!(kept((lo..hi).step_by(3)), (lo..hi).step_by(3));
        keeps!(kept((lo..=hi).rev().step_by(2)), (lo..=hi).rev().step_by(2));
    }
}

#[test]
fn the_ends_of_the_largest_types_are_reached() {
    let (lo, hi) = (i64::MIN, i64::MAX);
    keeps!(kept((lo..hi).step_by(1 << 62)), (lo..hi).step_by(1usize << 62));
    keeps!(kept((lo..=hi).step_by((1 << 62) - 1)), (lo..=hi).step_by((1usize << 62) - 1));
    keeps!(kept((lo..=hi).step_by(1 << 62)), (lo..=hi).step_by(4611686018427387904));
    keeps!(kept((lo..hi).rev().step_by(1 << 62)), (lo..hi).rev().step_by(4611686018427387904));
    keeps!(kept((lo..=hi).rev().take(3)), |kept| for i in (lo..=hi).rev() {
        if i < hi - 2 {
            break;
        }
        kept = kept * 31 + i;
    });
    let all = u64::MAX;
    keeps!(kept((0..=all).step_by(usize::MAX)), (0..=all).step_by(usize::MAX));
    keeps!(kept([all, 0]), (0..=all).step_by(usize::MAX).rev());
}

#[test]
fn bounds_are_evaluated_once() {
    keeps!(kept((0..6).rev()), |kept| {
        let mut n = 6;
        for i in (0..n).rev() {
            n = n + 1;
            kept = kept * 31 + i;
        }
    });
    keeps!(kept((1..7).step_by(2)), |kept| {
        let (mut n, mut by) = (7, 2);
        for i in (n - 6..n).step_by(by) {
            n = n * 2;
            by = by + 1;
            kept = kept * 31 + i;
        }
    });
}

#[test]
fn loops_leave_and_go_on() {
    let odd = (0..20).rev().step_by(3).filter(|i| i % 2 == 1).take_while(|i| *i > 6);
    keeps!(kept(odd.clone()), |kept| for i in (0..20).rev().step_by(3) {
        if i % 2 == 0 {
            continue;
        }
        if i <= 6 {
            break;
        }
        kept = kept * 31 + i;
    });
}

#[test]
fn a_step_of_zero_is_a_division_by_zero() {
    for acc in everywhere() {
        for (by, hi) in [(0usize, 3i64), (0, -3)] {
            let mut found = cells(&acc);
            for tile in TileIter::new(&found) {
                let recorded = compute(
                    &tile,
                    &mut found,
                    kernel!(|found, at| {
                        for i in (0..hi).step_by(by) {
                            found[at] += i;
                        }
                    }),
                );
                let error = recorded.and_then(|()| acc.sync()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Division, "{}: {error}", acc.device().name());
            }
        }
    }
}

#[test]
fn lists_are_taken_entry_by_entry() {
    keeps!(kept([-1i64, 1]), [-1i64, 1]);
    keeps!(kept([3, 1, 2]), [3, 1, 2]);
    keeps!(kept([255u8, 0]), ([255u8, 0]));
    keeps!(kept([1i64, 10, 3, 30]), |kept| for (a, b) in [(1, 10), (3, 30)] {
        kept = kept * 31 + a;
        kept = kept * 31 + b;
    });
    let c = 5i64;
    keeps!(kept([5i64, 10, 25]), |kept| for mut s in [c, 2 * c, c * c] {
        kept = kept * 31 + s;
        s += 1;
        kept += 0 * s;
    });
    keeps!(kept([1i64, 1, 2, 3, 2]), |kept| for s in [1, 2] {
        for t in [s, s + s - 1] {
            if t == 1 && s == 2 {
                continue;
            }
            kept = kept * 31 + t;
        }
        if s == 2 {
            kept = kept * 31 + s;
        }
    });
}

/// The star of a stencil by each of these loops.
macro_rules! star {
    ($acc:expr, |$u:ident, $at:ident, $sum:ident| $($body:tt)*) => {{
        let mut u = TileArray::<i64, 2>::builder([6, 9]).regions([2, 1]).ghost(3).boundary(Boundary::Periodic).build($acc).unwrap();
        u.fill(|[y, x]| (y * 100 + x) as i64).unwrap();
        let mut next = u.like().unwrap();
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&next) {
            compute(&tile, (&mut next, &u), kernel!(|next, $u, $at| {
                let mut $sum = 0i64;
                $($body)*
                next[$at] = $sum;
            })).unwrap();
        }
        next.read_box(next.domain()).unwrap()
    }};
}

#[test]
fn stencils_loop_in_all_ways() {
    for acc in everywhere() {
        let written = star!(&acc, |u, at, sum| {
            sum = sum * 3 + u[at + [0, 2]];
            sum = sum * 3 + u[at];
            sum = sum * 3 + u[at - [0, 2]];
        });
        let down = star!(&acc, |u, at, sum| for r in (-2..3).rev().step_by(2) {
            sum = sum * 3 + u[at + [0, r]];
        });
        let back = star!(&acc, |u, at, sum| for r in (-2..=2).step_by(2).rev() {
            sum = sum * 3 + u[at + [0, r]];
        });
        let listed = star!(&acc, |u, at, sum| for r in [2, 0, -2] {
            sum = sum * 3 + u[at + [0, r]];
        });
        let (far, by) = (2i64, 2usize);
        let captured = star!(&acc, |u, at, sum| for r in (-far..=far).rev().step_by(2) {
            sum = sum * 3 + u[at + [0, r]];
        });
        let told = star!(&acc, |u, at, sum| for r in (-far..=far).rev().step_by(by) {
            sum = sum * 3 + u[at + [0, r]];
        });
        for (found, how) in [(down, "down"), (back, "back"), (listed, "listed"), (captured, "captured"), (told, "told")]
        {
            assert_eq!(found, written, "{how} on {}", acc.device().name());
        }
    }
}

/// The emitted text of a star, without the places that it names.
macro_rules! emitted {
    (|$u:ident, $at:ident, $sum:ident| $($body:tt)*) => {{
        let acc = on_cpu();
        let mut u = TileArray::<f64, 2>::builder([16, 40]).ghost(3).boundary(Boundary::Periodic).build(&acc).unwrap();
        u.fill_value(1.0).unwrap();
        u.fill_ghosts().unwrap();
        let mut next = u.like().unwrap();
        let explained = tida::explain((&mut next, &u), kernel!(|next, $u, $at| {
            let mut $sum = 0.0;
            $($body)*
            next[$at] = $sum;
        })).unwrap();
        if std::env::var_os("TIDA_REQUIRE_NVRTC").is_some() {
            explained.compile().unwrap();
        }
        let analysis = inner::analysis(&explained);
        assert!(analysis.complete && !analysis.may_fault);
        let name = explained.source().split_once("flow_rs_").unwrap().1;
        let name: String = name.chars().take_while(char::is_ascii_digit).collect();
        let lines = explained.source().lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code).trim_end());
        lines.collect::<Vec<_>>().join("\n").replace(&format!("flow_rs_{name}"), "kernel")
    }};
}

#[test]
fn devices_get_what_is_written_out() {
    let written = emitted!(|u, at, sum| {
        sum += u[at + [0, 2]];
        sum += u[at];
        sum += u[at + [0, -2]];
    });
    for (how, text) in [
        (
            "down",
            emitted!(|u, at, sum| for r in (-2..3).rev().step_by(2) {
                sum += u[at + [0, r]];
            }),
        ),
        (
            "back",
            emitted!(|u, at, sum| for r in (-2..=2).step_by(2).rev() {
                sum += u[at + [0, r]];
            }),
        ),
        (
            "listed",
            emitted!(|u, at, sum| for r in [2, 0, -2] {
                sum += u[at + [0, r]];
            }),
        ),
        (
            "pairs",
            emitted!(|u, at, sum| for (y, x) in [(0, 2), (0, 0), (0, -2)] {
                sum += u[at + [y, x]];
            }),
        ),
        (
            "sums",
            emitted!(|u, at, sum| for r in 0..3 {
                let x = 2 - 2 * r;
                sum += u[at + [0, x]];
            }),
        ),
    ] {
        assert_eq!(text, written, "{how}");
    }
}

/// Runs the same text in a kernel and in plain Rust.
macro_rules! same {
    (|$kept:ident| $($body:tt)*) => {
        let wanted = {
            let mut $kept = 7i64;
            $($body)*
            $kept
        };
        keeps!(wanted, |$kept| $($body)*)
    };
}

#[test]
fn labels_name_loops() {
    same!(|kept| 'rows: for i in 0..6i64 {
        for j in 0..6 {
            if j == 3 && i != 1 {
                continue 'rows;
            }
            if i == 4 {
                break 'rows;
            }
            kept = (kept * 31 + 10 * i + j) % 1000003;
        }
        kept = (kept * 31 + i) % 1000003;
    });
    let (n, m) = (7i64, 3usize);
    same!(|kept| 'a: for i in (0..n).rev() {
        let mut j = 0;
        'b: while j < n {
            j += 1;
            for k in [1, 2, j] {
                if k == 2 && j == 5 {
                    continue 'a;
                }
                if k > 3 && i % 2 == 0 {
                    continue 'b;
                }
                if i + j + k == 4 {
                    break 'a;
                }
                if k == 3 {
                    break 'b;
                }
                kept = (kept * 31 + 100 * i + 10 * j + k) % 1000003;
            }
            kept = (kept * 31 + j) % 1000003;
        }
        kept = (kept * 31 + i) % 1000003;
    });
    same!(|kept| {
        let mut turns = 0i64;
        'all: loop {
            for i in (0..20i32).step_by(m) {
                turns += 1;
                if i == 9 {
                    break;
                }
                if turns > 14 {
                    break 'all;
                }
                if turns == 6 {
                    continue 'all;
                }
                kept = (kept * 31 + turns) % 1000003;
            }
            'inner: for i in 0..3i64 {
                loop {
                    kept = (kept * 31 + i) % 1000003;
                    if i == 1 {
                        break 'inner;
                    }
                    continue 'inner;
                }
            }
        }
        kept += turns;
    });
}

#[kernel_fn]
fn first_pair(sum: i64) -> i64 {
    let mut found = -1;
    'search: for a in 0..10 {
        for b in (a..10).rev() {
            match a * b {
                x if x == sum => {
                    found = 10 * a + b;
                    break 'search;
                }
                0 => continue 'search,
                x @ (80 | 81) if x < sum => return -2,
                _ => {}
            }
        }
    }
    found
}

#[test]
fn functions_have_labels_and_matches() {
    let numbers: Vec<i64> = (0..100).collect();
    for acc in everywhere() {
        let mut r = TileArray::<i64, 1>::builder([100]).build(&acc).unwrap();
        for tile in TileIter::new(&r) {
            compute(&tile, &mut r, kernel!(|r, at| r[at] = first_pair(at[0]))).unwrap();
        }
        let wanted: Vec<i64> = numbers.iter().map(|n| plain_pair(*n)).collect();
        assert_eq!(r.read_box(r.domain()).unwrap(), wanted, "{}", acc.device().name());
    }
    assert_eq!(
        numbers.iter().map(|n| first_pair(*n)).collect::<Vec<_>>(),
        numbers.iter().map(|n| plain_pair(*n)).collect::<Vec<_>>()
    );
}

fn plain_pair(sum: i64) -> i64 {
    for a in 0..10 {
        for b in (a..10).rev() {
            if a * b == sum {
                return 10 * a + b;
            }
            if a * b == 0 {
                break;
            }
            if a * b >= 80 && a * b < sum {
                return -2;
            }
        }
    }
    -1
}

/// Runs the same `match` in a kernel and in plain Rust, over a list of values.
macro_rules! matched {
    ($t:ty, $list:expr, |$x:ident| $body:expr) => {{
        let list: Vec<$t> = $list.into_iter().collect();
        let plain = |$x: $t| -> i64 { $body };
        let wanted: Vec<i64> = list.iter().map(|x| plain(*x)).collect();
        for acc in everywhere() {
            let mut a = TileArray::<$t, 1>::builder([list.len()]).build(&acc).unwrap();
            a.fill(|[n]| list[n]).unwrap();
            let mut r = TileArray::<i64, 1>::builder([list.len()]).build(&acc).unwrap();
            for tile in TileIter::new(&r) {
                compute(
                    &tile,
                    (&mut r, &a),
                    kernel!(|r, a, at| {
                        let $x = a[at];
                        r[at] = $body;
                    }),
                )
                .unwrap();
            }
            let found = r.read_box(r.domain()).unwrap();
            for ((x, found), wanted) in list.iter().zip(found).zip(&wanted) {
                assert_eq!(found, *wanted, "{x:?} on {}", acc.device().name());
            }
        }
    }};
}

#[test]
fn matches_on_whole_numbers() {
    matched!(u8, 0..=255u8, |x| match x {
        0 => 1,
        1..=3 | 200..=255 => 2,
        ..10 => 3,
        x @ 10..20 => 40 + x as i64,
        x if x % 7 == 0 => 5,
        y if y % 7 == 1 => 100 + y as i64,
        150.. => 7,
        _ => 8,
    });
    matched!(i32, [i32::MIN, i32::MIN + 1, -5, -4, -1, 0, 1, 4, i32::MAX - 1, i32::MAX], |x| match x {
        -2147483648 => 1,
        i32::MAX => 2,
        ..=-5 => 3,
        -4..0 => 4,
        0 => 5,
        _ => 6,
    });
    matched!(i64, [i64::MIN, -9223372036854775807, -1, 0, 3, i64::MAX], |x| match x {
        i64::MIN..=-2 => 1,
        -1 | 3 => 2,
        9223372036854775807 => 3,
        _ => 4,
    });
    matched!(u64, [0, 1, 9223372036854775808, u64::MAX - 1, u64::MAX], |x| match x {
        18446744073709551615 => 1,
        9223372036854775808.. => 2,
        n => 10 + n as i64,
    });
}

#[test]
fn matches_on_numbers_with_a_point() {
    let list = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 0.5, 1.0, 2.5, f64::INFINITY, f64::NAN];
    matched!(f64, list, |x| match x {
        0.0 => 1,
        -1.5 => 2,
        0.25..=1.0 => 3,
        1.0.. => 4,
        ..0.0 => 5,
        y if y.is_nan() => 6,
        _ => 7,
    });
    matched!(f32, list.map(|x| x as f32), |x| match x {
        -0.0 => 1,
        0.5 | 2.5 => 2,
        _ => 3,
    });
}

#[test]
fn matches_on_bools_and_tuples() {
    matched!(u8, 0..16u8, |x| match x % 2 == 0 {
        true => match x > 7 {
            false => 1,
            true => 2,
        },
        false if x == 3 => 3,
        false => 4,
    });
    matched!(u8, 0..16u8, |x| match (x % 4, x / 4 > 1, (x, 2.0)) {
        (0, true, _) => 1,
        (1 | 2, _, (5.., 2.0)) => 2,
        (a, false, (b, _)) if a == b => 100 + a as i64,
        (a @ 3, b, (3 | 7, c)) => a as i64 * 1000 + if b { c as i64 } else { 0 },
        (_, b, (_, _)) => b as i64 + 7,
    });
}

#[test]
fn matches_stand_wherever_expressions_do() {
    let limit = 5i64;
    matched!(i64, -3..9i64, |x| {
        let mut kept = 0;
        match x {
            0 => kept = 3,
            1 => kept += 1,
            2..=4 => {
                let x = x * 2;
                kept = x;
            }
            x if x == limit => {}
            _ => {
                kept = match kept - x {
                    2 => 1,
                    y => y,
                } + 1
            }
        }
        for i in 0..4 {
            match i {
                2 => continue,
                3 if x > 3 => break,
                _ => {}
            }
            kept = kept * 10 + i;
        }
        let x = 2 * match x {
            3 => 4,
            x => x,
        };
        kept * 100
            + match (x, kept) {
                (a, b) if a > b => a,
                (_, b) => b,
            }
    });
    // The value is evaluated once, before the arms change what it was made of.
    matched!(i64, 0..3i64, |x| {
        let mut n = x;
        match {
            n += 1;
            n
        } {
            m @ 1..=2 => {
                n += 10;
                n * 100 + m
            }
            m => n + m,
        }
    });
}
