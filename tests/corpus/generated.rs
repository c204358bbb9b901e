//! Random kernels. Made by `cargo xtask corpus --seed 1 --count 16`; do not edit.

use ndarray::{Dim, Dimension};
use tida::prelude::*;

use crate::generic::everywhere;
use crate::judge::check;
use crate::scene::{FromScalars, Scene, over};

#[test]
fn random_0() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<f64>();
        let mut r1 = scene.array::<u16>();
        let a0 = scene.array::<f64>();
        let a1 = scene.array::<i64>();
        let c0: i8 = scene.scalar();
        let c1: f32 = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            'v2: for v1 in [(r1[at] as f32), ((a0[at + [-2, -1]] as f32) + c1)] {
                let mut v3: i64 = ((a1[at - [0, 1]] - a1[at + [-2, 0]])).abs();
                let mut v4 = 0;
                while v4 < 4 && (c1 == (r1[at] as f32)) {
                    v4 += 1;
                    r1[at] >>= ((-(c1)) as u16);
                }
            }
            r0[at] *= (-((-((-0.1f64)))));
            r1[at] >>= ((-(c0)) as u16);
        }));
    });
}

#[test]
fn random_1() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<i8>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<f32>();
        let c0: f64 = scene.scalar();
        let c1: i32 = scene.scalar();
        let c2: f64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            if ((((r1[at] as u64)).leading_zeros() as u64) == ((a1[at + [2]] as u64) / ((r0[at] & 6) | 1))) {
                let mut v1: i16 = (a0[at + [2]] as i16);
            }
            let mut v2 = [((a1[at + [-1]] as f64) < (-3.25f64)), false, (r1[at] == (r1[at] as i8)), ((r0[at] as u16) == (r0[at] as u16))];
            for v3 in [(if v2[2] { (a1[at + [-2]] as f32) } else { (r1[at] as f32) }), (r0[at] as f32)] {
                'v5: for v4 in (0u64..=(c0 as u64 & 7)).rev().step_by(1) {
                    r1[at] <<= (((r1[at] as i8) & r1[at]) - ((7 as i8) - 4i8));
                    r1[at] = ((-127 as i8)).min((r1[at] | 1));
                }
                r0[at] &= (8u64 ^ 7u64);
            }
            r0[at] >>= (0u64 - (r0[at] >> (a1[at + [2]] as u64)));
            r1[at] >>= (if (!((-2i64) < 3i64)) { (if ((r0[at] as f64) < (-0.1f64)) { (r1[at] as i8) } else { (a0[[at[0] + (2)]] as i8) }) } else { ((a1[at + [-2]] as i8) as i8) });
        }));
    });
}

#[test]
fn random_2() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<i32>();
        let mut r1 = scene.array::<i8>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<i8>();
        let a2 = scene.array::<i8>();
        let c0: u64 = scene.scalar();
        let c1: i16 = scene.scalar();
        let c2: u64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            if (((r0[at] as i16) as i16) < (c1 + c1)) {
                r1[at] >>= ((a2[at + [2]] - (r0[at] as i8)) & (if (c1 < 6i16) { (r0[at] as i8) } else { (a1[at + [-2]] as i8) }));
            }
            'v2: for v1 in [(if ((a2[[at[0] + (1)]] as f64) < 2.0f64) { c2 } else { (a2[at - [2]] as u64) }), c0, c0] {
                let v1 = (!(if ((a1[[at[0] + (2)]] as u16) < 4u16) { (a2[[at[0] + (0)]] as u64) } else { (a2[at + [1]] as u64) }));
            }
            for v3 in (-2..=(c1 as i64 & 3) - 1).step_by(3).rev() {
                let mut v4 = [c0, (c2).min((r1[at] as u64)), c0, (({ { 1099511627776 } } as u64)).clamp(4u64, (a1[at + [1]] as u64))];
                if ({ let v5 = (r1[at] as u16); v5 } != { let v6 = (a1[at - [0]] as u16); 7u16 }) {
                    v4[(8u64 & 3) as usize] = ({ let v7 = v4[0]; (a0[at] as u64) } - (c0 / (((r0[at] as u64) & 6) | 1)));
                    r1[at] = ({ let v8 = (r1[at] as i8); v8 } - (-{ 3 }));
                }
            }
            r0[at] |= ((a1[at + [2]] as i32) * (if (c1 < (-1i16)) { (a2[at + [-2]] as i32) } else { (a2[at + [0]] as i32) }));
            r1[at] *= { let v10 = a2[at - [(match (a0[at] as u64) { v9 @ (..2 | 6..) => a0[at - [1]], v9 @ (..2 | 4..) if (r1[at] < (-3i8)) => at[0], v9 => a0[at + [-2]] }).rem_euclid(5) - 2]]; { let v11 = a1[[at[0] + (0)]]; a1[at + [-2]] } };
        }));
    });
}

#[test]
fn random_3() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<u16>();
        let mut r1 = scene.array::<i64>();
        let a0 = scene.array::<i16>();
        let c0: i64 = scene.scalar();
        let c1: i16 = scene.scalar();
        let c2: f32 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            'v2: for v1 in 0..((r1[at]).pow(0) & 3) {
                let v1: f32 = ((c2).copysign((-0.1f32)) + (c2 % c2));
            }
            let mut v4 = { let v3 = ((r1[at] as f64)).max((a0[at + [1]] as f64)); (if (c1 < 0i16) { (r0[at] as f64) } else { (a0[[at[0] + (-2)]] as f64) }) };
            r0[at] = { let v5 = (!(r0[at] as u16)); { let v6 = (r1[at] as u16); r0[at] } };
            r1[at] -= c0;
        }));
    });
}

#[test]
fn random_4() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<i64>();
        let mut r1 = scene.array::<u64>();
        let a0 = scene.array::<i64>();
        let c0: u16 = scene.scalar();
        let c1: i64 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            let mut v2 = (match ((a0[at + [-2, 1]] as f64)).min(0.5f64) { v1 @ (_) if (if ((a0[at + [0, 1]] as u16) < 2u16) { true } else { true }) => ((a0[at + [2, 1]] as f64) / 3.0), v1 @ (_) if ((r1[at] as f32) < 0.5f32) => ((r1[at] as f64)).abs(), v1 @ (-3.0) => v1, v1 => (v1 / v1) });
            let mut v3: u16 = ((r1[at] as u16) / (({ 12 } & 6) | 1));
            r0[at] += { let v4 = (if ((a0[at + [-2, -2]] as i16) < 0i16) { c1 } else { (-(-3.) as i64) }); (-(-((1099511627776))) as i64) };
            r1[at] -= { let v5 = (!(r1[at] as u64)); (match ((a0[at + [1, 1]] as i32) < 6i32) { true => ((7) as u64), false => v5 }) };
        }));
    });
}

#[test]
fn random_5() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i32>();
        let a0 = scene.array::<u64>();
        let a1 = scene.array::<i16>();
        let a2 = scene.array::<u64>();
        let c0: u16 = scene.scalar();
        let c1: i64 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            let v2 = { let v1 = c1; c1 };
            let mut v2: i32 = 6i32;
            if (((a2[[at[0] + (0), at[1] + (2), at[2] + (1)]] as f32) <= (a2[at + [-1, 0, 1]] as f32)) || ((a1[at + [1, 0, 1]] as i8) < 1i8)) {
                if (((r0[at] as f64) - 0.1f64) <= ((a0[at + [2, 2, 2]] as f64)).floor()) {
                    let mut v2 = ((if (a1[at] < 8i16) { v2 } else { v2 }) | v2);
                } else {
                    r0[at] <<= (v2).min((if ((a0[at + [2, 1, 2]] as i8) < 1i8) { v2 } else { v2 }));
                }
                let v2: u64 = { let v3 = ((a1[at + [0, 2, -2]] as u64) << a0[at + [0, 1, -1]]); (if ((a0[at + [-2, 1, -2]] as i16) < (-5i16)) { v3 } else { a2[at + [-1, -1, -1]] }) };
            } else {
                let v4 = ((a1[at + [1, 2, 0]] as i8) as i16);
                let v5 = [((r0[at] as f32) * (a2[at + [0, 0, -2]] as f32)), (r0[at] as f32), (match false { true => (r0[at] as f32), false => (r0[at] as f32) }), (a0[at + [0, 0, 2]] as f32)];
            }
            r0[at] >>= (!r0[at]);
        }));
    });
}

#[test]
fn random_6() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<i64>();
        let mut r1 = scene.array::<i16>();
        let a0 = scene.array::<i8>();
        let a1 = scene.array::<f32>();
        let c0: f64 = scene.scalar();
        let c1: i64 = scene.scalar();
        let c2: f64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            let v1: i8 = ((a0[at + [-1]]).wrapping_mul(a0[at])).signum();
            r0[at] *= ((c1).div_euclid((c1 & 6) | 1) + 1);
            r1[at] = ((r1[at] + { -(-100) })).div_euclid((((a0[at + [1]] as i16) + (r1[at] as i16)) & 6) | 1);
            'v3: for v2 in [((a1[[at[0] + (-1)]] as f64) as u64), (if (a0[at + [-1]] < 8i8) { (r0[at] as u64) } else { (r1[at] as u64) }), (a1[at + [-2]] as u64)] {
                for v4 in [c0, (r0[at] as f64), c0] {
                    r0[at] >>= c1;
                    let mut v5: i32 = ((v2 - (3. as u64)) as i32);
                }
                r1[at] = (((a0[at + [2]] as i16)).max((r0[at] as i16)) + ((r1[at] as i16) + (a1[at + [1]] as i16)));
            }
            r0[at] >>= r0[at];
            r1[at] ^= (if ((v1 < 5i8) | ((r1[at] as f32) < (-3.25f32))) { (r1[at] as i16) } else { ((a0[at + [-1]] as i16) << (r1[at] as i16)) });
        }));
    });
}

#[test]
fn random_7() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i16>();
        let a0 = scene.array::<u16>();
        let a1 = scene.array::<i16>();
        let c0: i8 = scene.scalar();
        let c1: f64 = scene.scalar();
        check!(scene, [r0, a0, a1], (&mut r0, &a0, &a1), kernel!(|r0, a0, a1, at| {
            let v1 = (((a0[at - [2, 0, 2]] as f32) - 1e-3f32) / ((a1[at + [2, 1, 1]] as f32)).min((r0[at] as f32)));
            for v2 in (-2..=2).rev() {
                for v3 in (-1..2).step_by(1).rev() {
                    r0[at] >>= a1[at + [-1, 1, 2]];
                }
                let mut v4: i16 = (!-(-(4)) as i16);
            }
            let v5 = (if ((-(-(-(305419896))) as f64) <= c1) { ((r0[at] as i32)).abs() } else { ((a1[at] as i32)).signum() });
            r0[at] |= (-5i16);
        }));
    });
}

#[test]
fn random_8() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<f64>();
        let mut r1 = scene.array::<u64>();
        let a0 = scene.array::<i8>();
        let c0: f64 = scene.scalar();
        let c1: i64 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            if ((match r0[at] { v1 @ (-4.0..=-1.0) => (at[0] < 0i64), v1 @ (-2.0 | -1.0) => ((r1[at] as f64) < 0.0f64), v1 @ (0.0 | 4.0) if ((a0[at + [1, 2, 2]] as u16) < 5u16) => (c0 < 3.25f64), v1 => (c0 < 1e-3f64) }) == ((c1 < 6i64) | (a0[at + [-2, -2, 1]] < 6i8))) {
                if (((r0[at] as u64) <= (r0[at] as u64)) == (c1 > at[0])) {
                    r0[at] = c0;
                    let v2 = ((-(a0[at]))).min((a0[at + [-2, 2, -1]]).rem_euclid((0i8 & 6) | 1));
                }
            }
            r0[at] %= (if ((r1[at] as u16) == (54321 as u16)) { (6 as f64) } else { (r0[at] + (a0[at + [-2, 0, 2]] as f64)) });
            r1[at] &= (if (c0 < (-1e3f64)) { ((a0[[at[0] + (2), at[1] + (2), at[2] + (0)]] as u64)).pow(2) } else { (r1[at]).min(r1[at]) });
        }));
    });
}

#[test]
fn random_9() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<f32>();
        let a0 = scene.array::<i32>();
        let a1 = scene.array::<f64>();
        let c0: f64 = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: u64 = scene.scalar();
        check!(scene, [r0, a0, a1], (&mut r0, &a0, &a1), kernel!(|r0, a0, a1, at| {
            if (!(!((r0[at] as i16) < 7i16))) {
                let mut v1 = (r0[at] as i16);
            }
            let mut v2 = 0;
            while v2 < 4 && ((a0[at + [0, 0, -2]] as f32)).is_nan() {
                v2 += 1;
                if ((a1[at + [-2, 1, -1]] as i32) <= a0[[at[0] + (2), at[1] + (2), at[2] + (0)]]) { return; }
                'v4: for v3 in [(a0[at] + (a0[at + [-2, 1, -1]] as i32)), (a0[at + [-2, (-((a1[at] as i64))).rem_euclid(5) - 2, 1]] % (((a0[at + [-1, 1, ({ -(16777217.0) } as i64).rem_euclid(5) - 2]] as i32) & 6) | 1)), a0[[at[0] + (1), at[1] + (-2), at[2] + (0)]]] {
                    let v6 = ({ let v5 = (a1[at] as u64); (a0[at + [2, -2, -1]] as u64) } - 3);
                }
            }
            let v7 = (((a1[[at[0] + (1), at[1] + (-2), at[2] + (1)]] as u16) + (r0[at] as u16)) & (a0[[at[0] + (2), at[1] + (-2), at[2] + (0)]] as u16));
            r0[at] = { let v8 = (a1[at - [1, 1, 1]] as f32); (if ((r0[at] as i64) < (-7i64)) { r0[at] } else { r0[at] }) };
        }));
    });
}

#[test]
fn random_10() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<i32>();
        let mut r1 = scene.array::<i16>();
        let a0 = scene.array::<i8>();
        let c0: f64 = scene.scalar();
        let c1: i16 = scene.scalar();
        let c2: i32 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            let v1 = ((r0[at] as i64) ^ (-3i64));
            r0[at] &= (c2 - 1);
            r1[at] = (if ((r1[at] as i8) < 1i8) { { let v2 = c1; r1[at] } } else { r1[at] });
        }));
    });
}

#[test]
fn random_11() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<u16>();
        let mut r1 = scene.array::<i8>();
        let a0 = scene.array::<i8>();
        let c0: bool = scene.scalar();
        let c1: bool = scene.scalar();
        let c2: u16 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            if (((r0[at] as f64) / (r0[at] as f64))).is_infinite() {
                let mut v1 = (((2e-3 as u64) * (r1[at] as u64)) % ((1 & 6) | 1));
                r1[at] += (match (1e3f32).max((a0[at] as f32)) { v2 @ (0.0..=3.0) if (v2).is_finite() => (r1[at]).max((a0[at] as i8)), v2 => (r1[at] & (r1[at] as i8)) });
            }
            if c0 {
                if ((r1[at] as i32) < (-2i32)) {
                    r1[at] ^= r1[at];
                } else {
                    if (if ((-2.0f32) < 0.0f32) { false } else { c0 }) { return; }
                }
            }
            if (((r1[at] as f64)).is_infinite() && ((r0[at] as i16) < (a0[at] as i16))) {
                if (((a0[at + [2, 0]] as i8) << (r1[at] as i8)) == ((-8i8) ^ a0[at + [1, -2]])) {
                    let mut v3: f32 = (((a0[at + [-2, 0]] as f32) - (r0[at] as f32))).min(((a0[at + [2, 1]] as f32) * 1e-2));
                }
                let mut v4: u64 = (r0[at] as u64);
            }
            r0[at] -= (if { let v5 = ((a0[at] as u16) < 1u16); false } { r0[at] } else { (c2 & r0[at]) });
            r1[at] -= (at[0] as i8);
        }));
    });
}

#[test]
fn random_12() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<i16>();
        let a0 = scene.array::<f64>();
        let c0: bool = scene.scalar();
        let c1: f64 = scene.scalar();
        let c2: f32 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            if (((9223372036854775807 as i64) >> (r0[at] as i64)) < (-9223372036854775807 as i64)) {
                'v2: for v1 in [(if false { (r0[at] as i32) } else { (r0[at] as i32) }), (r0[at] as i32)] {
                    let v1: bool = (((a0[at] as i16) <= r0[at]) & ((!-(-8) as f32) == (-0.1f32)));
                }
            } else {
                let mut v3 = ((c2 % { -0.1 }) * (c2).max(c2));
                if ((a0[at + [0]] as i64) != 4i64) { return; }
            }
            let mut v4 = ((if ((r0[at] as i16) < (-5i16)) { (a0[at - [2]] as i32) } else { (r0[at] as i32) }) - { -(-2147483648) });
            v4 += (((r0[at] as i32)).max(v4) + 3);
            r0[at] = ((r0[at] as i16) ^ (r0[at] - (r0[at] as i16)));
            r0[at] <<= (if (if c0 { ((r0[at] as u16) < 5u16) } else { ((-(0.1) as i64) < (-6i64)) }) { r0[at] } else { 2i16 });
        }));
    });
}

#[test]
fn random_13() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<f32>();
        let a0 = scene.array::<i16>();
        let c0: u16 = scene.scalar();
        let c1: i16 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            if (c0 < 6u16) {
                r0[at] %= (-((if ((r0[at] as f64) < 1e3f64) { (-1e-3f32) } else { (-(!-(8)) as f32) })));
            } else {
                let v1: f64 = ((r0[at] as f64)).hypot(((r0[at] as f64) - (r0[at] as f64)));
                let mut v2 = 0;
                while v2 < 4 && ((r0[at] as i8) < 8i8) {
                    v2 += 1;
                    r0[at] -= (if ((r0[at] as u16) < 2u16) { (if ((a0[at] as i8) < (-6i8)) { (a0[at + [-1, -1]] as f32) } else { r0[at] }) } else { (if (r0[at] < 1e3f32) { r0[at] } else { (-1e3f32) }) });
                    let mut v3: i32 = (a0[at - [-2, -1]] as i32);
                }
            }
            for v4 in (0..((a0[at + [1, -1]] as i64) & 3)).step_by(1).rev() {
                let mut v5: i32 = (a0[[at[0] + (2), at[1] + (2)]] as i32);
                if (if (!((r0[at] as f64) < 1e-3f64)) { (match 5u64 { v6 @ (1..2) if ((r0[at] as i16) < (-7i16)) => (a0[at - [-1, 2]] < 0i16), v6 @ (4) if (v4 < 1i64) => ((r0[at] as i32) < (-3i32)), v6 @ (3 | 6) => (a0[at + [2, 2]] < 8i16), v6 => ((a0[at + [1, 2]] as u16) < 7u16) }) } else { (c0 >= (a0[at + [2, 1]] as u16)) }) {
                    r0[at] /= ((1i64 as f32) - (r0[at] as f32));
                } else {
                    v5 += ((a0[at] as i32) - ((a0[at] as i32)).min((a0[at + [-2, 0]] as i32)));
                    v5 = (((r0[at] as i32)).wrapping_add(v5) - (!(-(2147483647)) as i32));
                }
            }
            r0[at] += r0[at];
        }));
    });
}

#[test]
fn random_14() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i8>();
        let mut r1 = scene.array::<i16>();
        let a0 = scene.array::<f32>();
        let a1 = scene.array::<u16>();
        let a2 = scene.array::<f32>();
        let c0: f32 = scene.scalar();
        let c1: i16 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            let mut v1 = 0;
            while v1 < 4 && (at[1] <= (a1[at + [1, 1, -2]] as i64)) {
                v1 += 1;
                let mut v2 = c1;
            }
            for v3 in 0u64..3 {
                let mut v4 = [(if true { a0[at] } else { (a2[at - [2, 1, 1]] as f32) }), 1e3f32, (a2[at - [-2, 0, 2]] * 1e-2), a0[at]];
            }
            if ((((a2[at + [0, -2, (at[1] + (r0[at] as i64)).rem_euclid(5) - 2]] as i16) < 7i16) == ((-3. as i8) < 6i8)) & (a0[at + [2, -2, 2]] < 1e3f32)) {
                r1[at] = (if (((a2[at + [-1, 1, 0]] as i64) < 2i64) & ((a2[at + [-1, 1, 2]] as u64) < 4u64)) { (if ((r0[at] as f64) < 1e3f64) { r1[at] } else { c1 }) } else { (((32767)) as i16) });
            } else {
                let mut v5: i32 = (r0[at] as i32);
                r0[at] |= r0[at];
            }
            r0[at] >>= (!(r0[at] * (r1[at] as i8)));
            r1[at] += ({ let v6 = c1; (-(2e-3) as i16) }).abs();
        }));
    });
}

#[test]
fn random_15() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<i32>();
        let a0 = scene.array::<i32>();
        let c0: bool = scene.scalar();
        let c1: bool = scene.scalar();
        let c2: u64 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let mut v1 = (if (if c1 { ((a0[[at[0] + (0)]] as i8) < (-3i8)) } else { c1 }) { (a0[at] as f64) } else { (r0[at] as f64) });
            r0[at] *= a0[[at[0] + (0)]];
        }));
    });
}

fn open_0<T: Real + FromScalars, const D: usize>(scene: &Scene<D>)
where
    Dim<[usize; D]>: Dimension,
{
    let mut r0 = scene.array::<T>();
    let mut r1 = scene.array::<T>();
    let a0 = scene.array::<T>();
    let a1 = scene.array::<u64>();
    let c0: bool = scene.scalar();
    let c1: i32 = scene.scalar();
    let c2: T = scene.scalar();
    check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(T; |r0, r1, a0, a1, at| {
        let mut v2 = { let v1 = r0[at]; a0[at] };
        for v3 in 0..D {
            v2 += ((a0[at]).min(T::lit(0.1)) as T);
            v2 /= ((if c0 { c1 } else { c1 }) as T);
            r0[at] %= (match r1[at] { v4 @ (_) if (v4).is_finite() => (v2 % (-(-0.1))), v4 => (v2 - r1[at]) });
        }
        r0[at] = v2;
        let mut v5 = 0;
        while v5 < 4 && (if (c2 < T::lit(0.0)) { (c2 < T::lit(0.1)) } else { (v2 < T::lit(-1e-3)) }) {
            v5 += 1;
            let v7: u64 = { let v6 = a1[at]; a1[at - unit(0)] };
            let v9 = [((r0[at] as i64) / (((r0[at] as i64) & 6) | 1)), { let v8 = (r0[at] as i64); (a0[at - unit(0)] as i64) }, ((r1[at] as i64) >> (r1[at] as i64)), 0i64];
        }
        if ((r0[at] as i32) > c1) { return; }
        if { let v10 = ((r1[at] as i64) < 6i64); (if false { v10 } else { ((a1[at - unit(0) + unit(0)] as T) < T::lit(3.25)) }) } {
            let mut v11 = 0;
            'v12: while v11 < 4 && ((r1[at] as T)).is_finite() {
                v11 += 1;
                v2 += (r0[at] * (v2 - v2));
                v2 = r1[at];
            }
            v2 *= v2;
        }
        if (((a1[at + unit(0) - unit(0)] as T) / c2) == (r0[at]).round()) {
            v2 -= ((if c0 { c2 } else { c2 })).clamp(T::lit(0.1), T::lit(2));
            v2 = (T::lit(0.1) - T::lit(0.1));
        }
        r0[at] /= ({ let v13 = (r1[at] as T); (a1[at] as T) } * (r1[at] * v2));
        r1[at] = (a1[at - unit(0) - unit(0)] as T);
    }));
}

fn open_1<T: Real + FromScalars, const D: usize>(scene: &Scene<D>)
where
    Dim<[usize; D]>: Dimension,
{
    let mut r0 = scene.array::<T>();
    let mut r1 = scene.array::<i32>();
    let a0 = scene.array::<T>();
    let a1 = scene.array::<i64>();
    let a2 = scene.array::<i16>();
    let c0: i8 = scene.scalar();
    let c1: i32 = scene.scalar();
    let c2: i8 = scene.scalar();
    check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(T; |r0, r1, a0, a1, a2, at| {
        let mut v1 = (r0[at]).trunc();
        'v3: for v2 in 0..D {
            v1 += ((c1 as T)).mul_add((if ((a1[at + unit(v2) + unit(v2)] as u16) < 1u16) { r0[at] } else { v1 }), r0[at]);
            v1 *= (match (a1[at - unit(v2)]).wrapping_mul((a0[at + unit(v2)] as i64)) { v4 @ (-4) => (a2[at] as T), v4 @ (-2..2) => (a0[at] as T), v4 @ (-1 | 3) => { let v5 = r0[at]; r0[at] }, v4 => a0[at + unit(v2)] });
        }
        r0[at] = v1;
        for v6 in 0..D {
            let mut v8 = [(if ((r1[at] as u64) < 3u64) { T::lit(-1e3) } else { a0[at - unit(v6)] }), (match (a1[at - unit(v6) + unit(v6)] as T) { v7 @ (..-3.0 | -1.0..) => a0[at], v7 @ (0.0..4.0) => r0[at], v7 @ (..-4.0 | -1.0..) => r0[at], v7 => a0[at] }), (r0[at]).abs(), (T::lit(3.25)).signum()];
            let mut v1: i64 = ({ let v9 = (a1[at] as i64); a1[at + unit(v6)] } + a1[at]);
        }
        v1 = { let v10 = (v1 - v1); (r0[at] as T) };
        let v12 = ((match (r1[at] as i64) { v11 @ (_) if ((r1[at] as i16) < (-3i16)) => (r0[at] as u16), v11 => (r1[at] as u16) })).clamp(4u16, ((a2[at - unit(0) - unit(0)] as u16) + (a2[at] as u16)));
        if ((v1 < T::lit(-1e-3)) || ((a2[at + unit(0) + unit(0)] as u64) != (a0[at] as u64))) {
            let v13: bool = ((-(-({ 16777217.0 })) as i32) < 7i32);
            v1 = ((r0[at]).signum() % { -0.1 });
        }
        r0[at] -= (r0[at] * (r0[at]).abs());
        r1[at] ^= (if ((v1 < T::lit(3.25)) ^ (v1 < T::lit(0.5))) { (r1[at] / (((r0[at] as i32) & 6) | 1)) } else { r1[at] });
    }));
}

fn open_2<T: Real + FromScalars, const D: usize>(scene: &Scene<D>)
where
    Dim<[usize; D]>: Dimension,
{
    let mut r0 = scene.array::<T>();
    let mut r1 = scene.array::<i64>();
    let a0 = scene.array::<T>();
    let c0: bool = scene.scalar();
    let c1: T = scene.scalar();
    let c2: T = scene.scalar();
    check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(T; |r0, r1, a0, at| {
        let mut v1 = (c1).copysign(T::lit(0.5));
        'v3: for v2 in 0..D {
            v1 += v1;
            let mut v4 = ((T::lit(0.5) + r0[at]) as T);
        }
        r0[at] = v1;
        v1 += (a0[at] * ((r0[at] as T) - a0[at + unit(0) - unit(0)]));
        r0[at] -= (-((T::lit(3.25) as T)));
        v1 = ((r0[at] % r0[at]) + { let v5 = T::lit(2); v5 });
        v1 /= (if (((r1[at] as u64) < 4u64) ^ ((a0[at] as i16) < 4i16)) { a0[at + unit(0) - unit(0)] } else { T::lit(0.1) });
        r0[at] *= ((a0[at + unit(0)] - v1) + (a0[at] + T::lit(0.5)));
        r1[at] -= ((r1[at] + 3) + 1);
    }));
}

fn open_3<T: Real + FromScalars, const D: usize>(scene: &Scene<D>)
where
    Dim<[usize; D]>: Dimension,
{
    let mut r0 = scene.array::<T>();
    let mut r1 = scene.array::<T>();
    let a0 = scene.array::<T>();
    let a1 = scene.array::<i32>();
    let a2 = scene.array::<i64>();
    let c0: i32 = scene.scalar();
    let c1: T = scene.scalar();
    check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(T; |r0, r1, a0, a1, a2, at| {
        let mut v1 = (if ((a0[at - unit(0) + unit(0)] as i64) < 0i64) { a0[at + unit(0)] } else { c1 });
        for v2 in 0..D {
            v1 += r0[at];
            if (if (T::lit(0.5) < T::lit(0.1)) { (((-(8)) as i8) < 3i8) } else { true }) { break; }
        }
        r0[at] = v1;
        let mut v4: i64 = ((if ((-0i32) < 0i32) { (r0[at] as i64) } else { (a2[at + unit(0) - unit(0)] as i64) }) * { let v3 = (r1[at] as i64); 1i64 });
        let v5 = ((T::lit(-1e3) + r0[at]) * r1[at]);
        r1[at] = ((r1[at] % v5) % r1[at]);
        v1 /= r1[at];
        r0[at] %= (if (if (v5 < T::lit(3.25)) { true } else { ((r0[at] as u64) < 5u64) }) { v5 } else { (a0[at + unit(0) - unit(0)]).sqrt() });
        r1[at] = c1;
    }));
}

everywhere! { open_0 open_1 open_2 open_3 }
