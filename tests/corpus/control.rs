//! Blocks, branches, loops, functions.

use tida::prelude::*;

use crate::judge::check;
use crate::scene::over;

#[test]
fn branches_as_values() {
    over::<2>(|scene| {
        let (mut r, a) = (scene.array::<f64>(), scene.array::<f64>());
        check!(
            scene,
            [r, a],
            (&mut r, &a),
            kernel!(|r, a, at| {
                let x = a[at];
                let y = if x > 0.5 {
                    let t = x * 2.0;
                    if t > 1.5 { t - 1.0 } else { t }
                } else if x.is_nan() {
                    -1.0
                } else {
                    let t = {
                        let x = a[at + [0, 1]];
                        x * x
                    };
                    t + x
                };
                r[at] = y + if y < 0.0 { 1.0 } else { 2.0 } * { y };
            })
        );
    });
}

#[test]
fn branches_as_statements() {
    over::<2>(|scene| {
        let (mut r, mut s, a) = (scene.array::<i32>(), scene.array::<f32>(), scene.array::<i32>());
        check!(
            scene,
            [r, s, a],
            (&mut r, &mut s, &a),
            kernel!(|r, s, a, at| {
                if a[at] > 0 {
                    r[at] = a[at + [1, 0]];
                } else if a[at] == 0 {
                    s[at] += 1.0;
                }
                if at[1] % 3 == 0 {
                    if at[0] % 2 == 0 {
                        r[at] -= 1;
                    } else {
                        s[at] = r[at] as f32;
                    }
                    r[at] *= 2;
                }
                {
                    let r2 = r[at];
                    s[at] += r2 as f32;
                }
            })
        );
    });
}

#[test]
fn let_without_a_value_and_shadowing() {
    over::<1>(|scene| {
        let (mut r, a) = (scene.array::<i64>(), scene.array::<i64>());
        check!(
            scene,
            [r, a],
            (&mut r, &a),
            kernel!(|r, a, at| {
                let x;
                let mut y: i64;
                if a[at] > 2 {
                    x = a[at] + 1;
                    y = 3;
                } else {
                    x = 7;
                    y = a[at];
                }
                let x = x * y;
                let (x, _) = (x + 1, y);
                {
                    let x = 99;
                    y += x;
                }
                let [p, q] = [x, y];
                let _ = p + q;
                _ = q;
                r[at] = p - q + x;
            })
        );
    });
}

#[test]
fn for_loops() {
    over::<2>(|scene| {
        let (mut r, a) = (scene.array::<f64>(), scene.array::<f64>());
        let (lo, hi) = (-1i32, 3u8);
        check!(
            scene,
            [r, a],
            (&mut r, &a),
            kernel!(|r, a, at| {
                let mut sum = 0.0;
                for j in -2..=2 {
                    for i in -1..2 {
                        sum += a[at + [j, i]] * (j * 2 + i) as f64;
                    }
                }
                for i in 5..5 {
                    sum += i as f64;
                }
                for i in 5..=4 {
                    sum += i as f64;
                }
                for i in 3..-3 {
                    sum -= i as f64;
                }
                for _ in lo..2 {
                    sum += 0.25;
                }
                for k in 0..hi {
                    sum += k as f64;
                }
                for k in 0..=hi {
                    sum -= k as f64 * 0.5;
                }
                for k in 250u8..=255 {
                    sum += k as f64;
                }
                for i in at[1] - 1..at[1] + 2 {
                    sum += a[[at[0], i]];
                }
                for i in (0..2usize) {
                    sum *= 1.0 + i as f64;
                }
                r[at] = sum;
            })
        );
    });
}

#[test]
fn bounds_are_evaluated_once() {
    over::<1>(|scene| {
        let (mut r, a) = (scene.array::<i64>(), scene.array::<i64>());
        check!(
            scene,
            [r, a],
            (&mut r, &a),
            kernel!(|r, a, at| {
                let mut n = a[at] & 7;
                let mut count = 0;
                for i in n - 2..n + 2 {
                    n += 5;
                    count += i * n;
                }
                for i in i64::MAX - 2..=i64::MAX {
                    count ^= i;
                }
                r[at] = count;
            })
        );
    });
}

#[test]
fn while_loops() {
    over::<2>(|scene| {
        let (mut r, a) = (scene.array::<u64>(), scene.array::<u64>());
        check!(
            scene,
            [r, a],
            (&mut r, &a),
            kernel!(|r, a, at| {
                let mut n = a[at] & 0xff | 1;
                let mut steps = 0;
                while n != 1 {
                    n = if n & 1 == 0 { n / 2 } else { 3 * n + 1 };
                    steps += 1;
                    if steps >= 150 {
                        break;
                    }
                }
                let mut k = 0;
                while {
                    k += 1;
                    k < 4
                } {
                    steps += k;
                }
                r[at] = steps;
            })
        );
    });
}

#[test]
fn loops_left_early() {
    over::<2>(|scene| {
        let (mut r, a) = (scene.array::<f32>(), scene.array::<f32>());
        check!(
            scene,
            [r, a],
            (&mut r, &a),
            kernel!(|r, a, at| {
                let mut sum = 0.0;
                let mut n = 0;
                loop {
                    n += 1;
                    if n == 3 {
                        continue;
                    }
                    if n > 6 {
                        break;
                    }
                    for i in -2..=2 {
                        if i == 0 {
                            continue;
                        }
                        if a[at + [0, i]] > 0.9 {
                            break;
                        }
                        sum += a[at + [0, i]] * n as f32;
                    }
                    let mut w = 0u32;
                    while w < 5 {
                        w += 1;
                        if w == 2 {
                            continue;
                        }
                        if sum > 4.0 {
                            break;
                        }
                        sum += 0.125;
                    }
                }
                r[at] = sum;
            })
        );
    });
}

#[test]
fn early_return() {
    over::<2>(|scene| {
        let (mut r, a) = (scene.array::<i32>(), scene.array::<i32>());
        check!(
            scene,
            [r, a],
            (&mut r, &a),
            kernel!(|r, a, at| {
                if a[at] < -2 {
                    return;
                }
                r[at] = 1;
                for i in 0..4 {
                    if a[at] == i {
                        return;
                    }
                    r[at] += 10;
                    let mut j = i;
                    while j < 8 {
                        if j == a[at] {
                            return;
                        }
                        j += 2;
                    }
                }
                if a[at] == 7 {
                    r[at] = 77;
                    return;
                } else {
                    r[at] -= 1;
                }
                r[at] *= 2;
            })
        );
    });
}

/// Functions that a kernel calls from another module.
mod functions {
    use tida::prelude::*;

    #[kernel_fn]
    pub fn limited(x: f64, most: f64) -> f64 {
        if x > most {
            return most;
        }
        if x.is_nan() { 0.0 } else { x }
    }

    #[kernel_fn]
    pub fn twice(x: f64) -> f64 {
        limited(x, 3.0) + self::limited(x * 0.5, 1.0)
    }

    /// The first power of two that is no less, and its exponent.
    #[kernel_fn]
    pub fn power(n: u32) -> (u32, i32) {
        let mut p = 1;
        let mut e = 0i32;
        while p < n {
            if e == 31 {
                return (0, -1);
            }
            p <<= 1;
            e += 1;
        }
        (p, e)
    }

    #[kernel_fn]
    pub fn largest(w: [f64; 3], mut least: f64) -> f64 {
        for i in 0..3 {
            least = least.max(w[i]);
        }
        least
    }

    #[kernel_fn]
    pub fn shifted(p: [i64; 2], by: i64) -> [i64; 2] {
        let q = p + [0, by];
        q - [0, 1]
    }

    #[kernel_fn]
    pub fn sign(x: f64) -> i32 {
        for s in -1..=1 {
            if (s < 0 && x < 0.0) || (s == 0 && x == 0.0) || (s > 0 && x > 0.0) {
                return s;
            }
        }
        return 9;
    }

    #[kernel_fn]
    pub fn nothing(_: i64) {}
}

use functions::{largest, power};

#[test]
fn functions_of_other_modules() {
    over::<2>(|scene| {
        let (mut r, mut n, a, k) =
            (scene.array::<[f64; 4]>(), scene.array::<i32>(), scene.array::<f64>(), scene.array::<u32>());
        check!(
            scene,
            [r, n, a, k],
            (&mut r, &mut n, &a, &k),
            kernel!(|r, n, a, k, at| {
                let x = a[at];
                r[at][0] = functions::twice(x) + functions::limited(x, 0.25);
                let (p, e) = power(k[at] % 100_000);
                r[at][1] = p as f64;
                n[at] = e + functions::sign(x);
                r[at][2] = largest([x, a[at + [1, 0]], functions::twice(a[at - [1, 0]])], -1.0);
                let q = functions::shifted(at, 2);
                r[at][3] = a[q];
                functions::nothing(at[0]);
            })
        );
    });
}

#[test]
fn blocks_with_effects_in_order() {
    over::<1>(|scene| {
        let (mut r, a) = (scene.array::<i64>(), scene.array::<i64>());
        check!(
            scene,
            [r, a],
            (&mut r, &a),
            kernel!(|r, a, at| {
                let mut x = a[at];
                let y =
                    x + {
                        x *= 3;
                        x
                    } + x;
                let z = x * if y > 0 {
                    x += 1;
                    x
                } else {
                    x -= 1;
                    2
                } - x;
                r[at] = r[at]
                    + {
                        r[at] = 5;
                        y
                    }
                    + r[at];
                r[at] += {
                    r[at] -= z;
                    x
                };
                let t = (x, {
                    x += 7;
                    x
                });
                x ^= t.0 - {
                    x <<= 1;
                    t.1
                };
                r[at] ^= x;
            })
        );
    });
}
