//! `match`, loops in all orders, over lists, and labels.

use tida::prelude::*;

use crate::judge::check;
use crate::scene::over;

#[test]
fn matches_on_numbers() {
    over::<2>(|scene| {
        let (mut r, mut s, a, b) =
            (scene.array::<i32>(), scene.array::<f32>(), scene.array::<i32>(), scene.array::<f32>());
        let c: i32 = scene.scalar();
        check!(
            scene,
            [r, s, a, b],
            (&mut r, &mut s, &a, &b),
            kernel!(|r, s, a, b, at| {
                r[at] = match a[at] {
                    0 => 1,
                    1..=3 | -3..-1 => a[at + [0, 1]],
                    i32::MIN..=-100 => -1,
                    n if n == c => n * 2,
                    n @ (4 | 5) if b[at] > 0.0 => n + 100,
                    n => n % 7,
                };
                s[at] = match (b[at], r[at] > 3, a[at] & 1) {
                    (0.0, _, _) => -0.0,
                    (x, true, 0) if x > 1.0 => x * 2.0,
                    (..=0.0, false, n) => n as f32,
                    (x, _, _) if x.is_nan() => 5.0,
                    (x, big, _) => match big {
                        true => x,
                        false => -x,
                    },
                };
            })
        );
    });
}

#[test]
fn matches_as_statements() {
    over::<1>(|scene| {
        let (mut r, a) = (scene.array::<i64>(), scene.array::<u8>());
        check!(
            scene,
            [r, a],
            (&mut r, &a),
            kernel!(|r, a, at| {
                let mut sum = 0i64;
                for i in 0..4u8 {
                    match a[at] >> i {
                        0 => break,
                        x if x % 3 == 0 => continue,
                        200.. => {
                            r[at] += 1;
                            return;
                        }
                        1..=9 => sum += 1,
                        x => {
                            let x = x as i64;
                            sum = sum * 3 + x;
                        }
                    }
                }
                match sum > 4 {
                    false => r[at] = sum,
                    true => {}
                }
            })
        );
    });
}

#[test]
fn loops_in_every_order() {
    over::<2>(|scene| {
        let (mut r, a) = (scene.array::<f64>(), scene.array::<f64>());
        let c: i32 = scene.scalar();
        let n = i64::from(c & 1) + 1;
        let by = (c & 1) as usize + 1;
        check!(
            scene,
            [r, a],
            (&mut r, &a),
            kernel!(|r, a, at| {
                let mut sum = 0.0;
                for d in (-2..=2).rev() {
                    sum = sum * 0.5 + a[at + [d, 0]];
                }
                for d in (-2i64..3).step_by(2) {
                    sum = sum * 0.5 + a[at + [0, d]];
                }
                for d in (-n..=n).rev().step_by(2) {
                    sum = sum * 0.5 + a[at + [0, d]];
                }
                for d in (-2i64..=1).step_by(3).rev() {
                    for e in (-1..1).rev() {
                        sum = sum * 0.5 + a[at + [e, d]];
                    }
                }
                for d in (-n..=n).step_by(by) {
                    sum = sum * 0.5 + a[at - [d, 0]];
                }
                for k in (0..c & 15).rev().step_by(by) {
                    sum = sum * 0.5 + k as f64;
                }
                r[at] = sum;
            })
        );
    });
}

#[test]
fn loops_over_lists() {
    over::<2>(|scene| {
        let (mut r, a) = (scene.array::<f32>(), scene.array::<f32>());
        let c: f32 = scene.scalar();
        check!(
            scene,
            [r, a],
            (&mut r, &a),
            kernel!(|r, a, at| {
                let mut sum = 0.0;
                for s in [-1, 1] {
                    for (y, x) in [(0, 1), (1, 0), (2, -1)] {
                        sum = sum * 0.5 + a[at + [s * y, s * x]];
                    }
                }
                for w in [c, 0.5, a[at]] {
                    sum += w * sum;
                    if sum > 100.0 {
                        break;
                    }
                }
                r[at] = sum;
            })
        );
    });
}

#[test]
fn labels() {
    over::<2>(|scene| {
        let (mut r, a) = (scene.array::<i64>(), scene.array::<i64>());
        let c: i64 = scene.scalar();
        check!(
            scene,
            [r, a],
            (&mut r, &a),
            kernel!(|r, a, at| {
                let mut sum = 0;
                'rows: for y in -1..=1 {
                    let mut turns = 0;
                    'more: while turns < 3 {
                        turns += 1;
                        for x in (-2..=2).rev() {
                            let found = a[at + [y, x]];
                            match found & 15 {
                                0 => break 'rows,
                                1 | 2 => continue 'rows,
                                3 => break 'more,
                                4 if found > c => continue 'more,
                                5 => break,
                                6 => continue,
                                n => sum = sum * 3 + n,
                            }
                        }
                        sum += turns;
                    }
                    sum += 100 * y;
                    r[at] += 1;
                }
                r[at] += sum;
            })
        );
    });
}
