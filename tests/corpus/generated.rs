//! Random kernels. Made by `cargo xtask corpus --seed 1 --count 16`; do not edit.

use ndarray::{Dim, Dimension};
use tida::prelude::*;

use crate::generic::everywhere;
use crate::judge::check;
use crate::named;
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
            r0[at] *= ((-(0.0f64)) / { let v5 = named::F64_TABLE[0]; v5 });
            r1[at] -= ((1u16).div_euclid((r1[at] & 6) | 1)).clamp(named::U16, ((a1[at] as u16) + (!{ 12 })));
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
            let mut v2 = [((a1[at + [-1]] as f64) < (-0.5f64)), (match (r1[at] < named::I8_TABLE[1]) { true => ((2 as u16) < 4u16), false => ((a0[at + [(if false { a0[at + [2]] } else { a0[at + [2]] }).rem_euclid(5) - 2]] as u64) < named::U64_TABLE[2]) }), ((r1[at] as u64) == (r1[at] as u64)), (if ((a1[at + [0]] as u64) < 8u64) { ((r1[at] as u64) < named::U64_TABLE[3]) } else { (c1 < 0i32) })];
            r1[at] >>= ((r1[at] >> 12) >> (r1[at]).div_euclid(((a1[at - [-2]] as i8) & 6) | 1));
            r0[at] -= (r0[at]).wrapping_add((r0[at] as u64));
            r1[at] <<= ((r1[at] >> (a1[at + [2]] as i8)) - (if ((r0[at] as f64) < 1e3f64) { r1[at] } else { (a0[at + [0]] as i8) }));
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
                r1[at] >>= ((a2[at + [2]] - (r0[at] as i8)) % (((if (c1 < 1i16) { (r1[at] as i8) } else { (a2[at + [1]] as i8) }) & 6) | 1));
            } else {
                let mut v1: i32 = (a1[at - [0]] as i32);
                if ((a0[at] as f32) != (a2[at + [a0[[at[0] + (-1)]].rem_euclid(5) - 2]] as f32)) { return; }
            }
            if named::BOOL_TABLE[(((r1[at] as u64)).clamp(0u64, (a2[[at[0] + (0)]] as u64)) & 3) as usize] {
                r0[at] = (-((-{ -(0.1) } as i32)));
                let v2 = [(if ((r0[at] as f32) < 2.0f32) { c2 } else { (a1[[at[0] + (-1)]] as u64) }), ((r0[at] as u64) << c0), ((a1[at] as u64)).min((a2[at - [-1]] as u64)), (((a0[at + [named::I64_TABLE[((c2 << c0) & 3) as usize].rem_euclid(5) - 2]] as u64)).leading_zeros() as u64)];
            } else {
                let v3: i32 = (r0[at] as i32);
            }
            let mut v4: i64 = at[0];
            r0[at] ^= ((r0[at]).div_euclid((((-(2147483647)) as i32) & 6) | 1) - (a1[at + [2]] as i32));
            r1[at] ^= (if { let v5 = ((a0[at + [2]] as i32) < named::I32); ((a1[at + [0]] as f64) < 0.5f64) } { (-({ -127 }) as i8) } else { ((2 as i8) % (((r0[at] as i8) & 6) | 1)) });
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
            for v1 in 1..=2 * named::TURNS as i32 {
                let mut v1: u64 = (match (-((r1[at] as i32))) { v2 @ (0i32 | 1) if named::BOOL_TABLE[(((r1[at] as u64)).signum() & 3) as usize] => (r1[at] as u64), v2 @ (-1) if ((r0[at] as f64) < 0.0f64) => (a0[at + [1]] as u64), v2 => (if ((r0[at] as f32) < (-0.1f32)) { (a0[[at[0] + (-2)]] as u64) } else { (a0[at] as u64) }) });
                if { let v4 = (match c2 { v3 @ (..-3.0 | -2.0..) => ((-((-0.1)) as i16) < (-3i16)), v3 => ((1.00000005960464477539062500001 as f32) < 0.5f32) }); ((c2 < (-2.0f32)) || v4) } {
                    v1 <<= ({ let v5 = (r1[at] as u64); v5 }).abs();
                } else {
                    r1[at] = ((!at[0])).signum();
                    if { let v7 = (r1[at] < named::I64); v7 } { return; }
                }
            }
            let mut v8 = 0;
            while v8 < 4 && ((r1[at] as f64) < (-2.0f64)) {
                v8 += 1;
                if ((r0[at] as f64) < named::F64) { break; }
                r0[at] &= ((-({ -1.00000005960464477539062500001 }) as u16) / (((r0[at]).signum() & 6) | 1));
            }
            r0[at] -= named::U16_TABLE[((match ((a0[at - [2]] as i32) < 1i32) { true => (r0[at] as u64), false => (1099511627776 as u64) }) & 3) as usize];
            r1[at] >>= (r1[at] % (((c0 + c0) & 6) | 1));
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
            let mut v3: f64 = (match ((a0[at + [-2, 1]] as f64)).min(named::F64) { v1 @ (_) if (if ((a0[at + [0, 1]] as u16) < 4u16) { ((a0[at + [-1, ({ -(0.1) } as i64).rem_euclid(5) - 2]] as u16) < 5u16) } else { ((r0[at] as i16) < 4i16) }) => ((r1[at] as f64)).abs(), v1 @ (-3.0) => v1, v1 @ (..-1.0 | 2.0..) => (v1).abs(), v1 => { let v2 = (r1[at] as f64); v2 } });
            if ((v3 - v3) != (if (v3 < 1e3f64) { v3 } else { (-(-3.) as f64) })) {
                let mut v4: u64 = (!((r1[at] as u64)).clamp(1u64, r1[at]));
                if ((((r0[at] as i8) < (-6i8)) ^ ((r0[at] as f64) < 0.1f64)) && (r1[at] == r1[at])) {
                    let v5: f64 = (((r1[at] as f64)).powi(2i32)).max(((r1[at] as i32) as f64));
                } else {
                    v3 *= (r1[at] as f64);
                }
            } else {
                v3 -= (r1[at] as f64);
                let v6: bool = ((c0 >> { 12 }) < ((r1[at] as u16) + (r1[at] as u16)));
            }
            r0[at] ^= named::I64_TABLE[((r0[at] as u64) & 3) as usize];
            r1[at] -= r1[at];
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
            let v2: i64 = { let v1 = c1; v1 };
            if ((r0[at] as i8) < (r0[at] as i8)) { return; }
            let mut v2: u16 = c0;
            r0[at] *= r0[at];
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
            for v2 in [((a1[[at[0] + (-1)]] as f64) as u64), (if (a0[at + [-1]] < 8i8) { (r1[at] as u64) } else { (r1[at] as u64) }), (1u64 >> 1)] {
                let v3 = [(r0[at] as f32), (r1[at] as f32), (a1[[at[0] + (-1)]] + (a1[[at[0] + (-1)]] as f32)), a1[at + [2]]];
            }
            r0[at] += ((match (-1i32) { v4 @ (-2i32) => c1, v4 @ (-4 | -2) if ((6 as f64) < (-0.5f64)) => r0[at], v4 => r0[at] }) ^ ((r1[at] as f64) as i64));
            r1[at] = (r1[at] + (a0[at] as i16));
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
            let v1: f32 = (((a0[at - [2, 0, 2]] as f32) % 1e-3f32) + ((r0[at] as f32)).max((r0[at] as f32)));
            let v2 = (a0[[at[0] + (-2), at[1] + (0), at[2] + (2)]] as i64);
            let mut v3 = (-(305419896) as i32);
            r0[at] <<= ((-2i16)).max(named::I16_TABLE[((a0[at - [-1, 1, -2]] as u64) & 3) as usize]);
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
            if ((match r0[at] { v1 @ (-4.0..=-1.0) => (at[0] < 5i64), v1 @ (..-2.0 | 0.0..) if ((r1[at] as i16) < named::I16) => false, v1 @ (..-3.0 | 1.0..) => ((a0[at] as i16) < 8i16), v1 => (c0 < (-2.0f64)) }) == ((a0[at + [0, 1, -1]] as u64) == (a0[at + [1, -1, 1]] as u64))) {
                if (((r0[at] as u64) <= (r0[at] as u64)) == (c1 > at[0])) {
                    r0[at] = c0;
                    let v2 = ((-(a0[at]))).min((a0[at + [-2, 2, -1]]).abs());
                }
            }
            r0[at] -= ((1e3f64 as f64)).min((2 as f64));
            r1[at] -= { let v4 = { let v3 = r1[at]; (a0[at + [-2, 0, 2]] as u64) }; { let v5 = r1[at]; v5 } };
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
            if (!(!((r0[at] as i16) < 5i16))) {
                if (r0[at] >= r0[at]) {
                    r0[at] -= ({ let v1 = (r0[at] as f32); 0.0f32 }).clamp(1e-3f32, ((!-(-(8)) as f32) - r0[at]));
                    let mut v3 = ((match (r0[at] as i64) { v2 @ (-2..=2) => v2, v2 => v2 }) <= (6i64 + (a1[at] as i64)));
                } else {
                    let v4 = c0;
                    let mut v5: u64 = (named::U64_TABLE[((c2 << c2) & 3) as usize] + (r0[at] as u64));
                }
                for v6 in 0..named::TURNS as u64 {
                    let v7: f32 = r0[at];
                    let mut v8: f32 = r0[at];
                }
            }
            let v9: u16 = (((a1[[at[0] + (1), at[1] + (-2), at[2] + (1)]] as u16) + (r0[at] as u16)) - (a1[at + [-2, 0, 1]] as u16));
            let mut v11 = { let v10 = (r0[at] as u16); ((a0[[at[0] + (2), at[1] + (((at[2]).count_ones() as i64).rem_euclid(5) - 2), at[2] + (0)]] as i64) as u16) };
            r0[at] /= (named::F32_TABLE[((if ((r0[at] as f32) < (-1e3f32)) { c1 } else { (r0[at] as u64) }) & 3) as usize]).fract();
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
            let v1 = ((r0[at] as i64) & 3i64);
            r0[at] <<= named::I32_TABLE[(((r0[at] as u64) | (a0[[at[0] + (0), at[1] + (v1.rem_euclid(5) - 2)]] as u64)) & 3) as usize];
            r1[at] &= (if ((a0[at + [1, -1]] as f64) > c0) { { let v2 = c1; r1[at] } } else { (c1 * c1) });
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
                r1[at] += (match (0.0f32).max((r0[at] as f32)) { v2 @ (_) if ((r0[at] as u16) < r0[at]) => a0[at], v2 => (-(-((83))) as i8) });
            } else {
                let mut v3 = (!(r0[at] as i8));
                let mut v4 = [(if c0 { 0u16 } else { c2 }), (!0u16), c2, (r0[at]).pow(4)];
            }
            'v6: for v5 in -named::REACH..=named::REACH {
                let v7 = (if ((r0[at] as f32)).is_finite() { (!(r0[at] as i32)) } else { ((r0[at] as i32) << 1) });
            }
            let mut v8 = ((r1[at] as u16)).div_euclid((((a0[at + [2, 0]] as u16) << c2) & 6) | 1);
            r0[at] |= ((if ((r1[at] as i64) < named::I64) { v8 } else { r0[at] })).abs();
            r1[at] |= (-5 as i8);
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
                'v2: for v1 in [(if true { (r0[at] as i32) } else { (a0[at - [-1]] as i32) }), (named::I32_TABLE[2]).abs()] {
                    let mut v3: i64 = (((r0[at] as i64) - 12) + ((!-(-8) as i64) << at[0]));
                    r0[at] += { let v4 = (if ((r0[at] as u16) < 0u16) { (a0[at - [-1]] as i16) } else { r0[at] }); (v4).min((a0[at + [1]] as i16)) };
                }
            }
            for v5 in [(0.1f64 * a0[at - [-1]]), ((r0[at] as f64)).abs(), (c1).signum()] {
                let mut v7 = (((a0[at + [1]] as i8)).abs()).clamp(4i8, { let v6 = (a0[at + [(-4i64).rem_euclid(5) - 2]] as i8); (r0[at] as i8) });
                let v8 = [(at[0] & (a0[at] as i64)), (a0[at + [-1]] as i64), ((a0[at - [-1]] as i64) / (((a0[at - [-2]] as i64) & 6) | 1)), ((a0[at + [1]] as i64)).signum()];
            }
            r0[at] = ((match (a0[at + [2]] as i64) { v9 @ (-4 | 0) => r0[at], v9 => (a0[at + [(at[0] << v9).rem_euclid(5) - 2]] as i16) }) / r0[at]);
            if (((-(!5) as f64)).abs()).is_nan() {
                'v11: for v10 in (0..named::TURNS as u64).step_by(1) {
                    let v12 = [((a0[at + [-1]] as i8) & (a0[at + [-2]] as i8)), (if false { (a0[[at[0] + (-1)]] as i8) } else { (a0[at + [-1]] as i8) }), (127 as i8), ((r0[at] as i8)).div_euclid(((a0[at - [0]] as i8) & 6) | 1)];
                }
                let v13 = (((a0[at + [1]] as i8)).pow(1)).clamp((-5i8), ((7 as i8)).clamp(6i8, (r0[at] as i8)));
            } else {
                let mut v15 = ({ let v14 = (a0[at - [-2]] as i32); (r0[at] as i32) } * (a0[at + [-1]] as i32));
                v15 &= ((v15 + (-{ 3 }))).max(((r0[at] as i16) as i32));
            }
            r0[at] = named::I16_TABLE[({ let v16 = (r0[at] as u64); named::U64 } & 3) as usize];
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
            if named::BOOL_TABLE[(((a0[[at[0] + (-1), at[1] + (0)]] as u64)).rem_euclid(((r0[at] as u64) & 6) | 1) & 3) as usize] {
                'v2: for v1 in [((a0[at + [-1, -1]] as f32) >= (r0[at] as f32)), (if true { ((a0[at - [1, -1]] as i8) < named::I8) } else { (c1 < named::I16) }), (a0[at + [0, 1]] != a0[at])] {
                    r0[at] -= (((r0[at] as f32) % r0[at]) + ((a0[at + [2, -2]] as f32) * r0[at]));
                }
            }
            let v4 = (((r0[at] as u16) / (a0[at - [-2, -1]] as u16)) + { let v3 = (a0[at] as u16); (a0[at + [0, -2]] as u16) });
            r0[at] = (3.25f32 + ((r0[at] as f32)).tanh());
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
            for v3 in 1..=2 * named::TURNS as i32 {
                r0[at] |= (if (match c0 { v4 @ (-3.0..-1.0) if (c1 < (-4i16)) => (1e3f32 < named::F32_TABLE[1]), v4 => (({ !{ 65535 } } as u16) < 6u16) }) { { let v5 = r0[at]; (a1[at + [0, -2, 0]] as i8) } } else { (a2[at + [0, 0, -2]] as i8) });
            }
            r0[at] <<= ((a2[at - [0, 0, 2]] as i8) & (a1[at - [-1, 1, 2]] as i8));
            r0[at] = (((r0[at] as i8)).pow(0) / (((if ((a1[[at[0] + (-1), at[1] + (-2), at[2] + (-2)]] as i64) < 2i64) { (r1[at] as i8) } else { (a2[at + [2, -2, 2]] as i8) }) & 6) | 1));
            r1[at] += ((c1 ^ r1[at])).pow(1);
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
            let mut v1: f64 = (if (if c1 { ((a0[[at[0] + (0)]] as i8) < 0i8) } else { false }) { ((r0[at] as f64) - (-(-0.1))) } else { ((a0[[at[0] + (2)]] as f64)).abs() });
            r0[at] ^= a0[at + [-1]];
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
            v2 += ((a0[at]).clamp(T::lit(3.25), T::ONE) as T);
            let mut v4 = ((c0 || true) || ((a1[at - unit(v3)] as i32) < 5i32));
            v2 %= { let v5 = (r1[at]).powi(((r1[at] as i32)).pow(0)); c2 };
        }
        r0[at] = v2;
        for v6 in [(if ((r1[at] as i32) < 7i32) { (r1[at] as i32) } else { (a0[at] as i32) }), c1, (r0[at] as i32)] {
            v2 = ({ let v7 = r1[at]; r0[at] } + r1[at]);
        }
        r0[at] = (-(r1[at]));
        r1[at] *= ((c2 / v2)).ceil();
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
            v1 += ((c1 as T)).signum();
            let v5: i64 = (match (a1[at - unit(v2)]).wrapping_mul((a0[at + unit(v2)] as i64)) { v4 @ (-4) => (r0[at] as i64), v4 @ (-2..2) => at[v2], v4 @ (_) if (a0[at + unit(v2)]).is_infinite() => (at[v2] | v4), v4 => (v4 << v4) });
            v1 *= ((r0[at] / a0[at])).round();
        }
        r0[at] = v1;
        if (if (T::lit(3.25) < T::lit(-1e-3)) { (r0[at] < T::ZERO) } else { ((r1[at] as i8) < (83 as i8)) }) {
            r1[at] &= (((r1[at] / ((r1[at] & 6) | 1))).trailing_zeros() as i32);
            let v1 = (named::I64_TABLE[((r0[at] as u64) & 3) as usize]).abs();
        } else {
            let mut v6 = 0;
            while v6 < 4 && ((T::lit(-1e3) < T::lit(2)) ^ (T::ONE < T::lit(16777217))) {
                v6 += 1;
                v1 %= ({ let v7 = (a0[at] as T); a0[at] } * v1);
                let v1: i8 = (!c0);
            }
            if ((c1 - 5i32) < r1[at]) {
                r0[at] *= (((a1[at + unit(0) + unit(0)] as T) % { -0.1 })).min((T::lit(-1e-3)).round());
                r1[at] *= ((({ -(4) } as i32) + c1)).clamp(2i32, (if true { ((305419896) as i32) } else { (r0[at] as i32) }));
            }
        }
        v1 += v1;
        r0[at] = ((a0[at] * (a1[at - unit(0)] as T)) * 0.25);
        let mut v1: T = ((v1 / v1) % (-(r0[at])));
        r0[at] -= (-(a0[at - unit(0)]));
        r1[at] >>= named::I32_TABLE[((a0[at - unit(0) - unit(0)] as u64) & 3) as usize];
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
        let mut v1 = (c1).copysign(T::lit(2));
        for v2 in 0..D {
            v1 += { let v3 = r0[at]; (r0[at] * T::lit(16777217)) };
            let v4: bool = (!(a0[at - unit(v2)]).is_nan());
            r0[at] += (a0[at]).floor();
        }
        r0[at] = v1;
        let mut v5: T = ((-(T::lit(-1e3))) * (r0[at] as T));
        r0[at] += v5;
        r1[at] *= (((4 as i64) + r1[at]) * ((r0[at] as i64) - r1[at]));
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
        let mut v1 = (if ((a0[at - unit(0) + unit(0)] as i64) < named::I64_TABLE[3]) { c1 } else { r1[at] });
        'v3: for v2 in (0..D).rev() {
            v1 += r0[at];
            let mut v5: T = { let v4 = (c1 * v1); (a0[at] % r1[at]) };
        }
        r0[at] = v1;
        let mut v6 = (!(if ((-0i32) < (-5i32)) { (a2[at + unit(0) - unit(0)] as i64) } else { (r0[at] as i64) }));
        let v7 = ((c1).round()).copysign(T::lit(0.0));
        r1[at] = ((r1[at] % v7) % r1[at]);
        v1 /= r1[at];
        r0[at] %= (if (if (v7 < T::lit(16777217)) { ((r0[at] as i8) < 3i8) } else { ((a1[at + unit(0) - unit(0)] as u64) < named::U64_TABLE[2]) }) { ((r0[at] as T)).trunc() } else { ((a0[at - unit(0) + unit(0)] as T) + a0[at - unit(0) + unit(0)]) });
        r1[at] += ((a0[at + unit(0)] + a0[at - unit(0)]) * (r0[at] + r0[at]));
    }));
}

everywhere! { open_0 open_1 open_2 open_3 }
