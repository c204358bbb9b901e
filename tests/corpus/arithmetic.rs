//! Every operator and every method, on every type.

use tida::prelude::*;

use crate::judge::check;
use crate::scene::over;

macro_rules! integers {
    ($($operators:ident $methods:ident $division:ident $compound:ident $t:ident;)*) => {$(
        #[test]
        fn $operators() {
            over::<2>(|scene| {
                let (mut r, a, b) = (scene.array::<[$t; 16]>(), scene.array::<$t>(), scene.array::<$t>());
                let c: $t = scene.scalar();
                check!(scene, [r, a, b], (&mut r, &a, &b), kernel!(|r, a, b, at| {
                    let (x, y) = (a[at + [0, 1]], b[at - [1, 0]]);
                    r[at][0] = x + y;
                    r[at][1] = x - y * c;
                    r[at][2] = x * y + 3;
                    r[at][3] = x & y;
                    r[at][4] = x | y ^ c;
                    r[at][5] = !x;
                    r[at][6] = x << y;
                    r[at][7] = x >> y;
                    r[at][8] = x << 3 >> 1;
                    r[at][9] = x >> (c as u32);
                    r[at][10] = if x < y { 1 } else if x <= c { 2 } else { 3 };
                    r[at][11] = if x > y && x >= c || x == y { x } else { y };
                    r[at][12] = if x != y { c } else { 0 };
                    r[at][13] = (0 - x) - (x * x - c) * (y - 1);
                    r[at][14] = 100 - x;
                    r[at][15] = x - (1 + y);
                }));
            });
        }

        #[test]
        fn $methods() {
            over::<1>(|scene| {
                let (mut r, mut n, a, b) =
                    (scene.array::<[$t; 18]>(), scene.array::<[u32; 3]>(), scene.array::<$t>(), scene.array::<$t>());
                let k: u32 = scene.scalar();
                check!(scene, [r, n, a, b], (&mut r, &mut n, &a, &b), kernel!(|r, n, a, b, at| {
                    let x = a[at];
                    let y = b[at + [2]];
                    r[at][0] = x.abs();
                    r[at][1] = x.signum();
                    r[at][2] = x.min(y);
                    r[at][3] = x.max(y);
                    r[at][4] = x.clamp(y, 5);
                    r[at][5] = x.rem_euclid(y & 3 | 2);
                    r[at][6] = x.div_euclid(y & 3 | 2);
                    r[at][7] = x.wrapping_add(y);
                    r[at][8] = x.wrapping_sub(y);
                    r[at][9] = x.wrapping_mul(y);
                    r[at][10] = x.pow(y as u32);
                    r[at][11] = x.rotate_left(k);
                    r[at][12] = y.rotate_right(3).pow(k & 7);
                    r[at][13] = x.wrapping_neg();
                    r[at][14] = x.wrapping_abs();
                    r[at][15] = x.wrapping_shl(k);
                    r[at][16] = x.wrapping_shr(y as u32);
                    r[at][17] = y.wrapping_pow(k & 7);
                    n[at] = [x.count_ones(), x.leading_zeros(), y.trailing_zeros()];
                }));
            });
        }

        #[test]
        fn $division() {
            over::<1>(|scene| {
                let (mut r, a, b) = (scene.array::<[$t; 4]>(), scene.array::<$t>(), scene.array::<$t>());
                let by = scene.scalar::<u32>() & 3;
                check!(scene, [r, a, b], (&mut r, &a, &b), kernel!(|r, a, b, at| {
                    let (x, y) = (a[at], b[at]);
                    r[at][0] = x / (y & 7 | 4);
                    r[at][1] = x % (y & 7 | 4);
                    r[at][2] = x / 3 - x % 3;
                    r[at][3] = if y > 1 { x / y + x % y } else { 0 };
                }));
                // Faults in both forms, where the data has it so.
                check!(scene, [r, a, b], (&mut r, &a, &b), kernel!(|r, a, b, at| {
                    let (x, y) = (a[at], b[at]);
                    r[at][0] = if by == 0 {
                        x / y
                    } else if by == 1 {
                        x % y
                    } else if by == 2 {
                        x.div_euclid(y)
                    } else {
                        x.rem_euclid(y)
                    };
                }));
            });
        }

        #[test]
        fn $compound() {
            over::<2>(|scene| {
                let (mut r, a) = (scene.array::<$t>(), scene.array::<$t>());
                check!(scene, [r, a], (&mut r, &a), kernel!(|r, a, at| {
                    let mut x = a[at];
                    x += r[at];
                    x -= 3;
                    x *= a[at + [1, 1]];
                    x /= 7;
                    x %= 50;
                    x &= 0x3f;
                    x |= 1;
                    x ^= a[at];
                    x <<= 2;
                    x >>= 1;
                    r[at] += x;
                    r[at] *= 3;
                    r[at] -= a[at];
                    r[at] ^= x;
                    r[at] <<= x & 1;
                    r[at] >>= 1;
                    r[at] |= 2;
                    r[at] &= 0x7d;
                    r[at] /= 3;
                    r[at] %= 11;
                }));
            });
        }
    )*};
}

integers! {
    operators_u8 methods_u8 division_u8 compound_u8 u8;
    operators_i8 methods_i8 division_i8 compound_i8 i8;
    operators_i16 methods_i16 division_i16 compound_i16 i16;
    operators_u16 methods_u16 division_u16 compound_u16 u16;
    operators_i32 methods_i32 division_i32 compound_i32 i32;
    operators_u32 methods_u32 division_u32 compound_u32 u32;
    operators_i64 methods_i64 division_i64 compound_i64 i64;
    operators_u64 methods_u64 division_u64 compound_u64 u64;
}

macro_rules! signed {
    ($($name:ident $t:ident;)*) => {$(
        #[test]
        fn $name() {
            over::<1>(|scene| {
                let (mut r, a) = (scene.array::<[$t; 4]>(), scene.array::<$t>());
                check!(scene, [r, a], (&mut r, &a), kernel!(|r, a, at| {
                    let x = -a[at];
                    r[at] = [x, -x * -3, -(x + 1), -1];
                }));
            });
        }
    )*};
}

signed! {
    negation_i8 i8;
    negation_i16 i16;
    negation_i32 i32;
    negation_i64 i64;
}

macro_rules! floats {
    ($($operators:ident $methods:ident $library:ident $tests:ident $compound:ident $t:ident;)*) => {$(
        #[test]
        fn $operators() {
            over::<2>(|scene| {
                let (mut r, a, b) = (scene.array::<[$t; 14]>(), scene.array::<$t>(), scene.array::<$t>());
                let c: $t = scene.scalar();
                check!(scene, [r, a, b], (&mut r, &a, &b), kernel!(|r, a, b, at| {
                    let (x, y) = (a[at + [2, -1]], b[at - [0, 2]]);
                    r[at][0] = x + y;
                    r[at][1] = x - y * c;
                    r[at][2] = x * y + 3.0;
                    r[at][3] = x / y;
                    r[at][4] = x % y;
                    r[at][5] = -x;
                    r[at][6] = -(x - x);
                    r[at][7] = if x < y { 1.0 } else if x <= c { 2.5e-3 } else { -0.0 };
                    r[at][8] = if x > y && x >= c || x == y { x } else { y };
                    r[at][9] = if x != x { c } else { 0.1 };
                    r[at][10] = x * x * x - y / 3.0 + 1e10;
                    r[at][11] = x + y - x;
                    r[at][12] = 1e-40 * x + 1_000.5;
                    r[at][13] = -2.0 * x % 0.7;
                }));
            });
        }

        #[test]
        fn $methods() {
            over::<2>(|scene| {
                let (mut r, a, b, n) =
                    (scene.array::<[$t; 20]>(), scene.array::<$t>(), scene.array::<$t>(), scene.array::<i32>());
                check!(scene, [r, a, b, n], (&mut r, &a, &b, &n), kernel!(|r, a, b, n, at| {
                    let (x, y) = (a[at], b[at]);
                    r[at][0] = x.sqrt();
                    r[at][1] = x.floor();
                    r[at][2] = x.ceil();
                    r[at][3] = x.round();
                    r[at][4] = x.trunc();
                    r[at][5] = x.fract();
                    r[at][6] = x.recip();
                    r[at][7] = x.copysign(y);
                    r[at][8] = x.mul_add(y, x);
                    r[at][9] = x.powi(n[at]);
                    r[at][10] = x.abs();
                    r[at][11] = x.signum();
                    r[at][12] = x.min(y);
                    r[at][13] = x.max(y);
                    r[at][14] = x.clamp(y, 0.5);
                    r[at][15] = x.clamp(-1.0, y);
                    r[at][16] = x.min(0.0).max(-0.0);
                    r[at][17] = x.powi(2) + y.powi(-3);
                    r[at][18] = x.rem_euclid(y);
                    r[at][19] = x.div_euclid(y);
                }));
            });
        }

        #[test]
        fn $library() {
            over::<1>(|scene| {
                let (mut r, a, b) = (scene.array::<[$t; 20]>(), scene.array::<$t>(), scene.array::<$t>());
                check!(scene, [r, a, b], (&mut r, &a, &b), kernel!(|r, a, b, at| {
                    let (x, y) = (a[at], b[at]);
                    r[at][0] = x.sin();
                    r[at][1] = x.cos();
                    r[at][2] = x.tan();
                    r[at][3] = x.asin();
                    r[at][4] = x.acos();
                    r[at][5] = x.atan();
                    r[at][6] = x.atan2(y);
                    r[at][7] = x.sinh();
                    r[at][8] = x.cosh();
                    r[at][9] = x.tanh();
                    r[at][10] = x.exp();
                    r[at][11] = x.exp2();
                    r[at][12] = x.exp_m1();
                    r[at][13] = x.ln();
                    r[at][14] = x.ln_1p();
                    r[at][15] = x.log2();
                    r[at][16] = x.log10();
                    // A power of a NaN can be 1; the host's library makes an exception for NaNs that signal, which
                    // these sums quieten.
                    r[at][17] = (x + 0.0).powf(y + 0.0);
                    r[at][18] = x.cbrt();
                    r[at][19] = x.hypot(y);
                }));
            });
        }

        #[test]
        fn $tests() {
            over::<1>(|scene| {
                let (mut r, a) = (scene.array::<[bool; 5]>(), scene.array::<$t>());
                check!(scene, [r, a], (&mut r, &a), kernel!(|r, a, at| {
                    let x = a[at];
                    let whole = x.floor() == x;
                    r[at] = [x.is_nan(), x.is_finite(), x.is_infinite(), !whole, whole & x.is_finite() ^ r[at][0]];
                }));
            });
        }

        #[test]
        fn $compound() {
            over::<2>(|scene| {
                let (mut r, a) = (scene.array::<$t>(), scene.array::<$t>());
                let half = 0.5 as $t;
                check!(scene, [r, a], (&mut r, &a), kernel!(|r, a, at| {
                    let mut x = a[at];
                    x += r[at];
                    x -= 3.0;
                    x *= a[at + [1, 1]];
                    x /= 7.0;
                    x %= 50.0;
                    r[at] += x;
                    r[at] *= half;
                    r[at] -= a[at - [2, 2]];
                    r[at] /= x;
                    r[at] %= 11.0;
                }));
            });
        }
    )*};
}

floats! {
    operators_f32 methods_f32 library_f32 tests_f32 compound_f32 f32;
    operators_f64 methods_f64 library_f64 tests_f64 compound_f64 f64;
}

#[test]
fn booleans() {
    over::<2>(|scene| {
        let (mut r, a, b) = (scene.array::<[bool; 10]>(), scene.array::<bool>(), scene.array::<bool>());
        let c = true;
        check!(
            scene,
            [r, a, b],
            (&mut r, &a, &b),
            kernel!(|r, a, b, at| {
                let (x, y) = (a[at + [1, 0]], b[at]);
                r[at][0] = x & y;
                r[at][1] = x | y;
                r[at][2] = x ^ y;
                r[at][3] = !x;
                r[at][4] = x && !y || c;
                r[at][5] = x == y;
                r[at][6] = x != y;
                r[at][7] = x < y;
                r[at][8] |= x >= y;
                r[at][9] ^= y;
                r[at][1] &= c & r[at][9];
            })
        );
    });
}

/// A constant is as wide as its type says, also where a language would make it narrower.
#[test]
fn wide_constants() {
    over::<1>(|scene| {
        let (mut r, a) = (scene.array::<i64>(), scene.array::<i64>());
        check!(
            scene,
            [r, a],
            (&mut r, &a),
            kernel!(|r, a, at| {
                let x = a[at];
                r[at] = (4i64 >> x) ^ (4i64 << x) ^ (3i64 * 2000000000i64);
            })
        );
    });
}

#[test]
fn lazy_operators_skip_what_would_fault() {
    over::<1>(|scene| {
        let (mut r, a) = (scene.array::<bool>(), scene.array::<i32>());
        check!(
            scene,
            [r, a],
            (&mut r, &a),
            kernel!(|r, a, at| {
                let x = a[at];
                let safe = x != 0 && x != -1 && 100 / x > 3;
                let other = x == 0 || x == -1 || 7 % x == 1;
                r[at] = safe ^ other;
            })
        );
    });
}
