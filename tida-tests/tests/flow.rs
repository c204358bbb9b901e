//! Loops in both directions and by steps, loops over lists: what they do is what plain Rust does, on every device.
#![cfg(feature = "ndarray")]
#![forbid(unsafe_code)]
#![allow(clippy::reversed_empty_ranges, clippy::never_loop)]

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

/// Neighbours along the axes, the last axis first.
fn around<T: Real, const D: usize>(next: &mut TileArray<T, D>, u: &TileArray<T, D>) -> tida::Result<()> {
    for tile in TileIter::new(&*next) {
        compute(
            &tile,
            (&mut *next, u),
            kernel!(T; |next, u, at| {
                let mut sum = 0.0;
                for d in (0..D).rev() {
                    sum = 2.0 * sum + u[at + unit(d)];
                }
                for d in (0..D).step_by(2) {
                    sum = 3.0 * sum + u[at - unit(d)];
                }
                for d in (0..=D - 1).rev().step_by(2) {
                    sum += at[d] as T;
                }
                next[at] = sum;
            }),
        )?;
    }
    Ok(())
}

#[test]
fn loops_over_axes_go_in_every_order() {
    for acc in everywhere() {
        let [y, x] = [6, 9];
        let mut u = TileArray::<f32, 3>::builder([3, y, x]).ghost(1).boundary(Boundary::Periodic).build(&acc).unwrap();
        let of = |[z, y, x]: [usize; 3]| (z * 7 + y * 3 + x) as f32;
        u.fill(of).unwrap();
        u.fill_ghosts().unwrap();
        let mut next = u.like().unwrap();
        around(&mut next, &u).unwrap();
        for (n, found) in next.read_box(next.domain()).unwrap().into_iter().enumerate() {
            let at = [n / (x * y), n / x % y, n % x];
            let moved = |d: usize, by: usize| {
                let mut moved = at;
                moved[d] = (moved[d] + by) % [3, y, x][d];
                of(moved)
            };
            let mut sum = 0.0;
            for d in (0..3).rev() {
                sum = 2.0 * sum + moved(d, 1);
            }
            for d in [0, 2] {
                sum = 3.0 * sum + moved(d, [3, y, x][d] - 1);
            }
            sum += at[2] as f32;
            sum += at[0] as f32;
            assert_eq!(found, sum, "{at:?} on {}", acc.device().name());
        }
    }
}

#[test]
fn kernels_over_groups_have_them_too() {
    for acc in everywhere() {
        let mut a = TileArray::<f64, 1>::builder([128]).build(&acc).unwrap();
        a.fill(|[i]| i as f64 * 0.25).unwrap();
        let mut b = a.like().unwrap();
        for tile in TileIter::new(&a) {
            let recorded = compute_groups(
                &tile,
                [64],
                (&mut b, &a),
                group_kernel!(|b, a, group| {
                    let s = group.fetch(a, [0], [0]);
                    let x = group.private(0.0);
                    'steps: for h in (0..6).rev() {
                        for w in [0.5, 2.0] {
                            if h == 1 && w > 1.0 {
                                break 'steps;
                            }
                            group.each(|t| {
                                for k in (0..4).step_by(3) {
                                    x = match (t[0] >> h) & 1 {
                                        0 => x + w * s[t],
                                        _ if k == 0 => x - s[t],
                                        _ => x * 0.5,
                                    };
                                }
                            });
                        }
                    }
                    group.each(|t| b[t.at()] = x);
                }),
            );
            recorded.unwrap();
        }
        let plain = |i: usize| {
            let (s, mut x) = (i as f64 * 0.25, 0.0);
            'steps: for h in (0..6).rev() {
                for w in [0.5, 2.0] {
                    if h == 1 && w > 1.0 {
                        break 'steps;
                    }
                    for k in (0..4).step_by(3) {
                        x = match ((i % 64) >> h) & 1 {
                            0 => x + w * s,
                            _ if k == 0 => x - s,
                            _ => x * 0.5,
                        };
                    }
                }
            }
            x
        };
        let wanted: Vec<f64> = (0..128).map(plain).collect();
        assert_eq!(b.read_box(b.domain()).unwrap(), wanted, "{}", acc.device().name());
    }
}
