//! `match` in kernels: what plain Rust does with the same text, on every device.
#![cfg(feature = "ndarray")]
#![forbid(unsafe_code)]
#![allow(clippy::match_overlapping_arm, clippy::manual_is_multiple_of, clippy::blocks_in_conditions)]

use tida::prelude::*;
use tida_tests::everywhere;

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
