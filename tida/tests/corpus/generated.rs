//! Random kernels. Made by `cargo xtask corpus --seed 1 --count 60`; do not edit.

use tida::prelude::*;

use crate::judge::check;
use crate::scene::over;

#[test]
fn random_0() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<f32>();
        let a0 = scene.array::<f32>();
        let a1 = scene.array::<u64>();
        let c0: bool = scene.scalar();
        let c1: f32 = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            for v1 in -1i32..=1 {
                let mut v2: f32 = (-((r1[at] as f32)));
                r1[at] -= ((-((c1).abs())) + (((a1[at] as i64) as u64) as f32));
            }
            if (((a1[at] as f64)).ln() <= (if c0 { (r0[at] as f64) } else { (a1[at] as f64) })) {
                r0[at] = 6u64;
                for v3 in 0..((a0[at + [-1, -2]] as i64) & 3) {
                    let mut v5 = { let v4 = 3.25f64; ((-(v4)) % (v4 as f64)) };
                }
                if { let v6 = ((a0[at] as i32) < 6i32); v6 } { return; }
            } else {
                if (if c0 { (if ((r1[at] as i32) < 0i32) { c0 } else { true }) } else { (c0 && c0) }) {
                    let mut v7: f32 = ((c1 % (1e-3f32 as f32)) * ((c1 * c1)).powi(((a1[at + [-2, -2]] as i32) * (r1[at] as i32))));
                    let v9 = { let v8 = c0; (if (!v8) { ((r0[at] as f32)).is_finite() } else { (a0[at - [0, (r0[at] as i64).rem_euclid(5) - 2]] < (-1e-3f32)) }) };
                }
                let v11 = (((c1 as f32) + ((a0[at + [-2, 1]] as f32) + c1)) * { let v10 = (c1).min(c1); ((r1[at] as f32)).trunc() });
            }
            if (c0 | ((a1[at + [0, -1]] as i32) < (-5i32))) { return; }
            r0[at] ^= ((r0[at] as u64) * ((!6u64) + 1));
            r1[at] = (((r0[at] as i32) as f32)).recip();
        }));
    });
}

#[test]
fn random_1() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<f64>();
        let mut r1 = scene.array::<f64>();
        let a0 = scene.array::<u64>();
        let a1 = scene.array::<u64>();
        let c0: f64 = scene.scalar();
        let c1: i32 = scene.scalar();
        let c2: f64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            if (((r1[at] as u64)).max(a1[at + [2]]) == (a0[at + [2]]).pow(2)) {
                for v1 in 0u64..3 {
                    if ((((r0[at] as i32) < (-6i32)) ^ ((a1[at + [-1]] as i32) < (-0i32))) && false) {
                        r1[at] = ((((a1[at - [2]] as f32) + 3.0) as f64) / (if ((-0.0f32) > (a0[at + [2]] as f32)) { { let v2 = c2; c0 } } else { (c0 * 3.0) }));
                        let v3: i32 = ((if ((a1[at + [0]] as f32) < 2.0f32) { (c1).min((-5i32)) } else { (r1[at] as i32) }) >> (5i32).rem_euclid(((c1).div_euclid(((r0[at] as i32) & 6) | 1) & 6) | 1));
                        let v4: u64 = ((7u64 % ((a1[[at[0] + (1)]] & 6) | 1)) & ((v1 % a0[at - [1]])).max((v1).max(v1)));
                    } else {
                        let v6 = [{ let v5 = c1; v5 }, (a0[[at[0] + (2)]] as i32), (r1[at] as i32), (!(r1[at] as i32))];
                    }
                }
            }
            r0[at] -= c2;
            r0[at] -= (0.5f64).tanh();
            let mut v7 = 0;
            while v7 < 4 && ((a0[at + [0]] as f64) == c2) {
                v7 += 1;
                r0[at] = c0;
                let v8: bool = (2u64 < 1u64);
            }
            for v9 in 0..(7i64 & 3) {
                for v10 in -1i32..=1 {
                    let v12 = { let v11 = (r1[at] as i32); v11 };
                    r0[at] %= (-0.1f64);
                    for v13 in -1i32..=1 {
                        r1[at] -= ((((r1[at] as i32) as f64) / (c0 - c2))).clamp((-1e3f64), { let v14 = (-(r1[at])); c0 });
                    }
                }
                let mut v15: i64 = v9;
            }
            r0[at] += (-0.0f64);
            r1[at] += { let v16 = ((a1[at + [-2]] as f64) + ((r1[at] as f32) as f64)); (1e3f64 * (r0[at] * c2)) };
        }));
    });
}

#[test]
fn random_2() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<f64>();
        let mut r1 = scene.array::<f32>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<i64>();
        let a2 = scene.array::<f64>();
        let c0: u64 = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: u64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            if (((a1[at + [1]] as i64) as u64) < (a1[at - [0]] as u64)) {
                let v1: f32 = (((r1[at] as f32) - (r1[at] * (r1[at] as f32))) as f32);
                let mut v2 = (a2[at + [1]] as i64);
            }
            let mut v3: u64 = ((c2 << ((a2[at + [1]] as u64) - c1))).max(c1);
            v3 = ((!(if (r1[at] < (-1e3f32)) { 2u64 } else { (r0[at] as u64) })) & ((!(a2[at + [1]] as u64))).rem_euclid((c1 & 6) | 1));
            if ((a1[at - [(a2[[at[0] + (-2)]] as i64).rem_euclid(5) - 2]] as u64) <= (c1 + 8u64)) {
                let mut v4 = (if (((a2[[at[0] + (1)]] as f64)).signum() <= r0[at]) { r0[at] } else { (a0[at + [1]] as f64) });
                v3 = (!((a2[at + [-2]] as u64) >> (r0[at] as u64)));
                v3 ^= ((a1[at + [2]] as u64) << 1);
            }
            v3 = ((c1).abs() - (a2[at + [0]] as u64));
            r0[at] %= (((r0[at]).copysign((-2.0f64)) / (a2[[at[0] + (-1)]] + 0.25))).powi(((a2[at + [1]] as i32) >> (a1[at] as i32)));
            r1[at] -= (((a2[at] as f32)).hypot(((r0[at] as f32) + (r0[at] as f32)))).min(((r1[at] + (a2[at + [-2]] as f32))).mul_add((r1[at]).signum(), (a0[at - [0]] as f32)));
        }));
    });
}

#[test]
fn random_3() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<i32>();
        let a0 = scene.array::<f32>();
        let c0: i64 = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: i64 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            for v1 in 0..((at[0]).max(at[0]) & 3) {
                r1[at] &= (-((!{ let v2 = r1[at]; v2 })));
                r1[at] ^= (at[0] as i32);
                let mut v3 = 0;
                while v3 < 4 && (1u64 < c1) {
                    v3 += 1;
                    let mut v6: f64 = { let v4 = (((a0[at + [1]] as f32) as f64)).clamp(1e3f64, ((a0[at + [-2]] as f64)).clamp(0.5f64, (r1[at] as f64))); ((if ((r0[at] as u64) < 3u64) { v4 } else { (r1[at] as f64) })).powi({ let v5 = (r1[at] as i32); v5 }) };
                }
            }
            if (if ((r1[at] as f64) > (r0[at] as f64)) { ((r0[at] as f32) != (a0[at - [1]] as f32)) } else { ((a0[at + [-2]] as f64)).is_finite() }) {
                let mut v8: bool = (!({ let v7 = (a0[at + [2]] as i64); (r1[at] as i64) } <= (at[0] & 3)));
            } else {
                let mut v10: i32 = (if { let v9 = (!true); (c0 > c2) } { (r1[at] + 1) } else { (((r0[at] as f64) / (r0[at] as f64)) as i32) });
            }
            let mut v11 = (((a0[at + [0]] as f32) as f64)).signum();
            let v12 = (((2.0f32).powi((1i32 % (((r0[at] as i32) & 6) | 1))) as i64) < ((-(2i64)) ^ ((r1[at] as i64) - at[0])));
            r0[at] |= r0[at];
            r1[at] = r1[at];
        }));
    });
}

#[test]
fn random_4() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<i64>();
        let a0 = scene.array::<u64>();
        let c0: f32 = scene.scalar();
        let c1: f32 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            let mut v1 = (7u64 as f64);
            let v2 = ((a0[at + [2, 1]] as f64) as u64);
            r0[at] -= (if (if (!(r0[at] < 4u64)) { (a0[at + [2, 1]] > (r0[at] as u64)) } else { (c1).is_finite() }) { (if ((a0[at + [2, 0]] as f32) < 2.0f32) { { let v3 = v2; v2 } } else { { let v4 = r0[at]; v2 } }) } else { r0[at] });
            if (v1 < 3.25f64) { return; }
            r0[at] *= { let v5 = ((v2).max(r0[at])).max((if ((a0[at + [-2, -2]] as i64) < 0i64) { v2 } else { 7u64 })); (((a0[at + [-2, -2]] as f64) as u64)).pow(4) };
            r1[at] <<= (((r1[at]).max((r1[at] as i64)) / ((6i64 & 6) | 1)) ^ 1);
        }));
    });
}

#[test]
fn random_5() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<f64>();
        let a0 = scene.array::<f32>();
        let a1 = scene.array::<i32>();
        let a2 = scene.array::<i32>();
        let c0: i64 = scene.scalar();
        let c1: f32 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            let v2 = { let v1 = c0; c0 };
            let mut v3: i32 = (-6i32);
            if (8i32 < 1i32) {
                let mut v4 = 0;
                while v4 < 4 && ((a1[at - [2, 2, (c0).min((a0[at + [1, -2, -2]] as i64)).rem_euclid(5) - 2]] as f64) != r0[at]) {
                    v4 += 1;
                    if ((r0[at] - (r0[at] as f64)) >= (if false { 0.1f64 } else { (r0[at] as f64) })) {
                        v3 *= (!((v3 * a1[at + [1, 1, 2]]) + 2i32));
                    }
                }
                let v5: u64 = (r0[at] as u64);
                let mut v6 = 0;
                while v6 < 4 && { let v7 = ((a1[at + [0, 1, -1]] as i64) < (-2i64)); (a0[at + [-2, 2, 1]] < 2.0f32) } {
                    v6 += 1;
                    v3 |= (((v3 << v3) + a1[at + [1, 1, 1]]) as i32);
                    v3 |= ((if ((r0[at] as u64) < 1u64) { v5 } else { (if true { v5 } else { (a0[at + [-1, -1, -1]] as u64) }) }) as i32);
                    let mut v8 = 0;
                    while v8 < 4 && (!(v5 < 6u64)) {
                        v8 += 1;
                        if (!(a1[at + [1, 2, 0]] < 3i32)) { break; }
                        let mut v9 = (0.0f64 < 0.5f64);
                        let v10 = c1;
                    }
                }
            } else {
                r0[at] -= { let v11 = r0[at]; (-(r0[at])) };
                if (a0[at + [-2, 1, -2]]).is_infinite() {
                    if (((r0[at] as i64) & c0) == { let v12 = 6i64; (a1[at + [-2, 1, (v12 - (a1[at - [1, 0, 2]] as i64)).rem_euclid(5) - 2]] as i64) }) {
                        r0[at] = ((((a2[at + [1, -2, -1]] as u64) as f64) + (c1 as f64)) + (-((-(r0[at])))));
                        let mut v13 = [((r0[at] as f64)).exp(), (r0[at] / r0[at]), ((a2[at + [1, -1, 1]] as f64) + r0[at]), ((a1[at] as f64)).powi((if ((a1[at + [1, 1, 0]] as f64) < 1e-3f64) { v3 } else { 1i32 }))];
                        let v14: f64 = (v13[1]).copysign((-0.5f64));
                    }
                    let mut v15: i32 = ((a0[[at[0] + (2), at[1] + (1), at[2] + (0)]] as i32)).signum();
                }
                r0[at] += (r0[at]).hypot(({ let v16 = (r0[at] as u64); 1u64 } as f64));
            }
            v3 = (v3 + (if (a0[at - [-1, -2, 2]]).is_nan() { ((a2[at + [0, 0, -1]] as i32) << (r0[at] as i32)) } else { (v3 - a1[at + [-2, 0, 1]]) }));
            let v18 = [a2[at + [2, -1, -1]], { let v17 = (a1[at + [-2, -2, -1]] as i32); v17 }, ((a1[at + [-1, 0, 2]] as i32)).wrapping_sub(v3), (a2[at + [-1, 2, 2]]).rotate_left(((a1[at] as i32)) as u32)];
            r0[at] = (((a0[at + [2, 2, 2]] as f64) as f64)).floor();
        }));
    });
}

#[test]
fn random_6() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<i32>();
        let a0 = scene.array::<f64>();
        let a1 = scene.array::<f64>();
        let c0: f64 = scene.scalar();
        let c1: i64 = scene.scalar();
        let c2: u64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            let v1: bool = (((0.1f32 as f64) + ((a1[at - [2]] as f64) + c0)) <= c0);
            let v3 = ((a1[at + [-2]] as u64) * (3u64 + { let v2 = c2; c2 }));
            if (if (r1[at] == (a1[at - [1]] as i32)) { (!(a1[[at[0] + (-1)]] < 3.25f64)) } else { (a0[at + [(if (c1 < 2i64) { (a1[at + [-2]] as i64) } else { at[0] }).rem_euclid(5) - 2]] < (-0.1f64)) }) {
                if (((a0[at] as f32) < (-2.0f32)) && v1) { return; }
                let v4: i32 = r1[at];
            }
            r0[at] &= (!v3);
            let mut v5 = ((!(6u64 & r0[at]))).max(((v3 << (r1[at] as u64)) | 3));
            r0[at] >>= r0[at];
            r0[at] ^= (if (((r1[at] as i64) <= (r1[at] as i64)) | (r0[at] < 4u64)) { ((if (c0 < 3.25f64) { r0[at] } else { 4u64 }) << 3) } else { (!(r0[at] * 3)) });
            r1[at] >>= ((8i32 >> (r1[at] ^ r1[at])) / (((4i32).max(((a1[at + [0]] as i32)).pow(3)) & 6) | 1));
        }));
    });
}

#[test]
fn random_7() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i32>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<f64>();
        let c0: bool = scene.scalar();
        let c1: u64 = scene.scalar();
        check!(scene, [r0, a0, a1], (&mut r0, &a0, &a1), kernel!(|r0, a0, a1, at| {
            let v1 = ((((a1[at + [0, 2, 0]] as f32) + (a0[at] as f32)) + (c1 as f32)) - ((a0[[at[0] + (-2), at[1] + (0), at[2] + (2)]] as i64) as f32));
            let mut v2 = (a0[at + [-2, -1, 0]] as i32);
            let v4: i32 = { let v3 = (((a0[at] as i32) as i32) * (0i32).div_euclid(((a1[at + [-2, 0, 2]] as i32) & 6) | 1)); 0i32 };
            let v5 = ((((a1[[at[0] + (-1), at[1] + ((a0[at + [-1, 2, 0]]).clamp(1i64, 6i64).rem_euclid(5) - 2), at[2] + (-2)]] as i64) & (a1[[at[0] + (-1), at[1] + (0), at[2] + (2)]] as i64)) - (a0[[at[0] + (-1), at[1] + (1), at[2] + (-2)]]).div_euclid((at[0] & 6) | 1))).pow(1);
            for v6 in 0u64..3 {
                r0[at] += (((if c0 { v4 } else { v4 })).abs()).wrapping_add((r0[at] as i32));
                let v7: f64 = ((v1 as f64) + (((r0[at] as f32) * v1) as f64));
                r0[at] >>= { let v8 = v4; (if { let v9 = c0; ((r0[at] as f32) < 2.0f32) } { (a0[at + [0, 2, -2]] as i32) } else { v8 }) };
            }
            r0[at] *= (((if c0 { r0[at] } else { v2 }) - (r0[at] as i32)) - (r0[at] / (a1[at + [-2, (r0[at] as i64).rem_euclid(5) - 2, 1]] as i32)));
        }));
    });
}

#[test]
fn random_8() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<f64>();
        let mut r1 = scene.array::<i32>();
        let a0 = scene.array::<f32>();
        let c0: u64 = scene.scalar();
        let c1: i64 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            if ((r0[at]).is_nan() == ((a0[at + [-1, 0, 0]] < (-1e-3f32)) & ((r1[at] as u64) < 5u64))) {
                let v1: f32 = ((-(at[0])) as f32);
                let mut v4 = [{ let v2 = v1; v1 }, (r1[at] as f32), a0[at + [1, -2, 1]], { let v3 = v1; a0[at + [-2, -2, 1]] }];
                if (if (v4[3] < (-1e-3f32)) { (!(r1[at] < 8i32)) } else { (if ((r0[at] as f64) < 0.1f64) { (c0 < 3u64) } else { (7i32 < (-2i32)) }) }) {
                    v4[((c0 + (r1[at] as u64)) & 3) as usize] *= (-((r0[at] as f32)));
                    r1[at] &= (c1 as i32);
                } else {
                    if (((r0[at] as f32) as i64) < (8i64).max((r0[at] as i64))) {
                        let mut v5 = [((r0[at] < 2.0f64) ^ ((r0[at] as f64) < 1e3f64)), ((a0[at - [0, -2, 1]] as i32) < 2i32), ((-4i64) < at[1]), (if (a0[at + [0, 0, -2]] < 2.0f32) { ((r0[at] as i64) < 4i64) } else { (c1 < 5i64) })];
                        let v6: bool = (((if v5[2] { v4[1] } else { v4[0] }) - (v1 * 1e-2)) < a0[at + [-1, 2, 1]]);
                    } else {
                        r0[at] = ((((a0[at + [2, -1, 1]] as f64) / r0[at]) % ((r0[at] as f64)).clamp((-1e3f64), (a0[at - [1, 0, -2]] as f64)))).copysign(0.5f64);
                    }
                    v4[((if (at[1] < 3i64) { (r1[at] as u64) } else { c0 }) & 3) as usize] %= a0[at + [1, 0, { let v7 = (a0[at] as i64); c1 }.rem_euclid(5) - 2]];
                }
            } else {
                let mut v8: f32 = 0.0f32;
                let v10 = (!{ let v9 = (r1[at] as u64); ((r0[at] as u64) as u64) });
                let v12 = ({ let v11 = (if (r1[at] < 4i32) { c0 } else { 4u64 }); ((r1[at] as u64) - c0) } >> c0);
            }
            if ({ let v13 = (r1[at] as f32); a0[[at[0] + (0), at[1] + (2), at[2] + (0)]] }).is_finite() {
                let mut v14 = 0;
                while v14 < 4 && (c0 < 5u64) {
                    v14 += 1;
                    let v15 = ((r0[at] as f64) + ((a0[at - [0, -2, 0]] as f64)).hypot((r0[at] as f64)));
                }
            } else {
                if (((a0[at - [1, -2, 2]] as u64) - (r1[at] as u64)) >= ((a0[at - [-1, -2, 2]] as u64)).rotate_left((c0) as u32)) {
                    r0[at] = ((if (c0 >= (a0[at] as u64)) { ((a0[at + [2, -1, 1]] as f64) / 1e-3f64) } else { ((a0[at] as f64)).cbrt() })).fract();
                } else {
                    let mut v17 = [{ let v16 = c0; (a0[at - [-2, 0, -2]] as u64) }, (if true { (r0[at] as u64) } else { c0 }), (1u64).max(c0), c0];
                }
                for v18 in -2..=2 {
                    if true {
                        r1[at] ^= r1[at];
                        r1[at] += { let v19 = (a0[[at[0] + (v18), at[1] + (0), at[2] + (v18)]] as i32); ((if (r1[at] < (-7i32)) { r1[at] } else { v19 }) * 1) };
                        r1[at] <<= { let v21 = { let v20 = ((r0[at] as i32) + r1[at]); ((r1[at] as f64) as i32) }; (((a0[at + [v18, v18, v18]] as i32) % ((r1[at] & 6) | 1)) % (((r1[at]).max(v21) & 6) | 1)) };
                    } else {
                        r0[at] = (r0[at] as f64);
                        let mut v23 = ((((a0[at + [v18, 1, v18]] as i32) ^ r1[at]) * { let v22 = r1[at]; r1[at] }) | ((!(a0[at] as i32)) * (r1[at] as i32)));
                    }
                    let v24 = ((if ((a0[[at[0] + (2), at[1] + (v18), at[2] + ((v18 + c1).rem_euclid(5) - 2)]] < (-1e-3f32)) ^ (0.5f32 < 1e-3f32)) { r1[at] } else { ((r1[at] as i32) << r1[at]) }) as i64);
                    for v25 in -1..2 {
                        let v26 = [(-(r0[at])), ((r0[at] as f64) / r0[at]), 0.0f64, ((r0[at] as f64) + 0.25)];
                        let v27: f64 = ((if (r0[at] < (-2.0f64)) { r0[at] } else { 0.1f64 })).max((if (if (v26[0] < 1e3f64) { (r1[at] < (-3i32)) } else { true }) { (v26[3] * r0[at]) } else { (v26[1]).copysign(0.0f64) }));
                        r1[at] += (r1[at] as i32);
                    }
                }
                let v28 = [(0.5f64 == (r1[at] as f64)), ((a0[[at[0] + (2), at[1] + (-1), at[2] + (0)]] as f32) == a0[[at[0] + (2), at[1] + (2), at[2] + (-2)]]), (r0[at]).is_nan(), ((a0[at - [-2, -1, -2]] as u64) < 1u64)];
            }
            for v29 in -2..=2 {
                for v30 in -1..2 {
                    for v31 in 0..(((r1[at] as i64) + v29) & 3) {
                        let v32: i64 = ((((a0[at + [-2, v29, 2]] as i64) + c1)).clamp(4i64, (at[0] - v31)) - ((-((-3i64))) - (2i64).pow(3)));
                    }
                    for v33 in -1..2 {
                        if ((r0[at] as f64) <= (r1[at] as f64)) { break; }
                        r0[at] *= ({ let v34 = (r0[at] % (-2.0f64)); (r0[at] + r0[at]) }).mul_add(((r0[at] * r0[at]) * r0[at]), (r1[at] as f64));
                        let mut v36 = ((if ((r0[at] as f32)).is_infinite() { ((r0[at] as f32)).max((r0[at] as f32)) } else { ((r0[at] as f32) - a0[at + [0, v33, v29]]) })).signum();
                    }
                    let v37: f32 = 0.5f32;
                }
                for v38 in 0u64..3 {
                    r0[at] -= (((r0[at] as u64) as f64) / (-(((r1[at] as f64) / (a0[[at[0] + (2), at[1] + (v29), at[2] + (1)]] as f64)))));
                    if (!(at[2] < (-2i64))) { break; }
                }
            }
            r0[at] = ((((r0[at] as f64)).hypot((r0[at] as f64))).clamp((-1e-3f64), { let v39 = r0[at]; r0[at] }) - r0[at]);
            r1[at] >>= (r0[at] as i32);
        }));
    });
}

#[test]
fn random_9() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<f32>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<u64>();
        let c0: f64 = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: u64 = scene.scalar();
        check!(scene, [r0, a0, a1], (&mut r0, &a0, &a1), kernel!(|r0, a0, a1, at| {
            if (!(((r0[at] as i32) < 7i32) & ((r0[at] as f32) < 1e3f32))) {
                let v1: u64 = (((a1[at + [0, 0, 0]] as u64) * a1[at + [2, -2, -2]]) + ((a1[[at[0] + (2), at[1] + (2), at[2] + (0)]] + c1) & 1));
            }
            if (((a1[[at[0] + (-1), at[1] + (1), at[2] + (2)]] as i32) << (a0[at - [1, 1, 0]] as i32)) <= (-((r0[at] as i32)))) {
                if (c0 <= ((-2.0f64) as f64)) {
                    r0[at] = ((((a1[at] as f32) * (a0[[at[0] + ((if ((a1[at] as u64) < 4u64) { a0[at + [-2, -1, 2]] } else { a0[at + [-2, -2, -1]] }).rem_euclid(5) - 2), at[1] + (-2), at[2] + (-2)]] as f32)) * r0[at]) + ((a0[[at[0] + (-2), at[1] + (1), at[2] + (1)]] as f32) + (a1[at + [-1, 1, 0]] as f32)));
                    let mut v2: bool = (c0 < (((a1[at + [2, 1, 1]] as f64)).sin()).abs());
                    for v3 in -1i32..=1 {
                        let v4 = [((a0[at - [0, 2, -1]] < 3i64) == v2), v2, ((a0[at + [-1, 1, 2]] as f32)).is_infinite(), (r0[at]).is_finite()];
                    }
                } else {
                    r0[at] = r0[at];
                    r0[at] = ((r0[at] as f32) + r0[at]);
                    for v5 in 0u64..3 {
                        let v7 = (({ let v6 = (a1[at - [1, 0, 2]] as u64); c2 } >> v5)).min(((a1[[at[0] + (2), at[1] + (-2), at[2] + (-2)]] ^ c2) % (((a0[at - [-2, 1, 2]] as u64) & 6) | 1)));
                        let mut v9 = ((a1[[at[0] + (-1), at[1] + (0), at[2] + (-2)]] as i64) - ({ let v8 = (a0[at + [0, -1, 1]] as i64); v8 } ^ (a0[at + [-2, -2, -1]]).rotate_left((a0[at + [2, -1, 2]]) as u32)));
                    }
                }
            } else {
                let mut v10 = 0;
                while v10 < 4 && ((r0[at] as i64) < 5i64) {
                    v10 += 1;
                    let mut v11 = [(if (c2 < 6u64) { c1 } else { (a0[at + [1, 0, 1]] as u64) }), (c1 + a1[at]), (7u64).abs(), ((r0[at] as u64) >> c1)];
                    for v12 in 0..((at[2]).signum() & 3) {
                        v11[(a1[at] & 3) as usize] &= (a1[at] / ((((0u64).clamp(5u64, a1[at]) >> v11[((!c1) & 3) as usize]) & 6) | 1));
                        if ((r0[at] as u64) < 0u64) { break; }
                        if ((a1[at + [2, 0, 0]] as i32) < (-3i32)) { return; }
                    }
                    r0[at] = (((a0[at + [1, 2, 1]] as u64) as f32)).recip();
                }
                for v13 in -1..2 {
                    r0[at] = (((r0[at] as f32) + (r0[at] - (a1[at + [v13, v13, v13]] as f32))) + 0.25);
                    let v14 = [((a0[at + [-1, v13, (-8i64).rem_euclid(5) - 2]] as f32)).round(), ((a0[[at[0] + (v13), at[1] + (-1), at[2] + (v13)]] as f32)).sin(), (a1[[at[0] + (-2), at[1] + (-1), at[2] + (1)]] as f32), (if ((a0[[at[0] + (v13), at[1] + (0), at[2] + (0)]] as i32) < 4i32) { r0[at] } else { 0.1f32 })];
                }
            }
            r0[at] = (((at[2] as f32)).abs()).cbrt();
            let v17 = (((r0[at] % 3.0) / r0[at]) * 3.0);
            if { let v18 = ((a1[at + [2, 1, -1]] as i64) < 3i64); (if (a1[at + [1, (a0[at + [-1, 1, 0]] + 0i64).rem_euclid(5) - 2, -2]] < 2u64) { ((-7i64) < 4i64) } else { (a1[at + [2, 1, 1]] < 6u64) }) } {
                let v19 = (a0[at + [0, 0, -1]] << 1);
            } else {
                r0[at] += (((1u64 * 3)).wrapping_add((4u64 + a1[at])) as f32);
                if ((!a1[at - [((a0[at + [2, 0, -2]] as i64) | a0[at + [1, 2, 1]]).rem_euclid(5) - 2, -1, -2]]) == (0u64 + 4u64)) {
                    let v20 = (((a0[[at[0] + (0), at[1] + (0), at[2] + (2)]] as i32) << ((a1[at - [-2, -2, 0]] as i32) - 12)) << (r0[at] as i32));
                    let mut v21 = (r0[at]).powi(((a0[[at[0] + ((c0 as i64).rem_euclid(5) - 2), at[1] + (-1), at[2] + (2)]] as i32)).rem_euclid(((r0[at] as i32) & 6) | 1));
                } else {
                    let v22 = [(a1[at] as i32), ((a1[at] as i32) + 4i32), (r0[at] as i32), ((a1[at + [0, 1, 2]] as i32) / ((3 & 6) | 1))];
                }
            }
            r0[at] += (((if ((r0[at] as i64) < (-7i64)) { (a0[at] as f32) } else { r0[at] }) % v17)).cbrt();
        }));
    });
}

#[test]
fn random_10() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<i32>();
        let mut r1 = scene.array::<i64>();
        let a0 = scene.array::<i32>();
        let c0: u64 = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: i32 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            let v1 = (r1[at] + (-4i64));
            r1[at] <<= v1;
            let v4: f64 = ((if (c2 < 1i32) { { let v2 = (a0[at + [1, 2]] as f64); v2 } } else { ((r1[at] as f64) * (r1[at] as f64)) })).max(({ let v3 = (a0[at] as f64); (a0[at + [0, -1]] as f64) } + 0.25));
            r0[at] &= c2;
            r1[at] |= (if (if ((c2 < 0i32) & (1e3f64 < 0.0f64)) { ((r0[at] as f32) >= (r1[at] as f32)) } else { ((a0[at + [0, 0]] as u64) < 3u64) }) { (-({ let v5 = 0i64; r1[at] })) } else { (r1[at]).clamp(4i64, 4i64) });
        }));
    });
}

#[test]
fn random_11() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<f64>();
        let mut r1 = scene.array::<i32>();
        let a0 = scene.array::<i64>();
        let c0: bool = scene.scalar();
        let c1: i32 = scene.scalar();
        let c2: i64 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            if ((r0[at] / (r0[at] as f64))).is_infinite() {
                let mut v3: f64 = ((-((r0[at] as f64))) / { let v2 = { let v1 = (r0[at] as f64); (r1[at] as f64) }; (-(r0[at])) });
            }
            r1[at] &= (((a0[[at[0] + (0), at[1] + (0)]]).wrapping_sub(a0[at]) as f64) as i32);
            for v4 in -2..=2 {
                for v5 in -1..2 {
                    for v6 in -2..=2 {
                        let v7 = (v5 as i32);
                        let mut v8 = (!(r0[at] as i32));
                    }
                    let mut v9 = [(if c0 { 1e3f32 } else { (r0[at] as f32) }), (r1[at] as f32), (r0[at] as f32), ((a0[[at[0] + (a0[at + [(at[0] ^ at[0]).rem_euclid(5) - 2, 0]].rem_euclid(5) - 2), at[1] + (v4)]] as f32) / (a0[at - [2, -1]] as f32))];
                }
                if (((r0[at] as u64) < (a0[at - [v4, v4]] as u64)) ^ (r1[at] == (-1i32))) {
                    for v10 in 0..((a0[at] & a0[at - [v4, 1]]) & 3) {
                        let mut v11: i64 = c2;
                        v11 &= (if { let v12 = ((c1 < 4i32) | true); (c1 < c1) } { ((v4 >> 5i64) >> 8i64) } else { (if ((-6i64) == a0[at + [v4, -1]]) { ((r1[at] as u64) as i64) } else { a0[at - [v4, v4]] }) });
                    }
                }
            }
            let v13 = ((((r1[at] as u64) % (((r1[at] as u64) & 6) | 1)) | ((a0[at + [1, 2]] as u64) << (r1[at] as u64))) * ((c2 - 0i64) as u64));
            for v14 in 0u64..3 {
                for v15 in 0u64..3 {
                    let mut v16 = 0;
                    while v16 < 4 && (if (c1 < (-8i32)) { c0 } else { true }) {
                        v16 += 1;
                        let v18 = (((if true { (a0[at + [0, 2]] * c2) } else { (a0[at + [2, 2]] - c2) })).leading_zeros() as i64);
                    }
                    for v19 in -2..=2 {
                        let mut v20 = (a0[at - [v19, v19]] as f32);
                        r1[at] ^= { let v21 = ((v13 as f64) as i32); { let v22 = r1[at]; (((-6i32)).count_ones() as i32) } };
                    }
                }
                let v23: i64 = (-((if ((a0[at + [-1, 1]] as f32) == (a0[[at[0] + (2), at[1] + (0)]] as f32)) { (!c2) } else { (c2).rotate_left((a0[at + [-1, 0]]) as u32) })));
            }
            r0[at] -= (r1[at] as f64);
            r1[at] *= ((!(r1[at] + r1[at])) * (((r0[at] as i32)).rem_euclid((c1 & 6) | 1) - c1));
        }));
    });
}

#[test]
fn random_12() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<f32>();
        let a0 = scene.array::<f64>();
        let c0: bool = scene.scalar();
        let c1: f64 = scene.scalar();
        let c2: f32 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            if ((3i32 + (a0[at + [1]] as i32)) < ((r0[at] as i32) & (a0[at + [-1]] as i32))) {
                let mut v1: f64 = (c1 / ((a0[at + [-2]] - 1e-2)).min(((-1e3f64) * a0[at - [2]])));
                for v2 in -1i32..=1 {
                    v1 /= ((v1 % (a0[at + [{ let v3 = (a0[at + [0]] as i64); 5i64 }.rem_euclid(5) - 2]]).hypot(v1)) - ((3.25f64 - a0[[at[0] + (1)]])).min((c1).sin()));
                    let mut v4 = 0;
                    while v4 < 4 && (r0[at]).is_infinite() {
                        v4 += 1;
                        let mut v5: i32 = (a0[at] as i32);
                        r0[at] /= ({ let v6 = (if c0 { c2 } else { c2 }); (v6 * 0.25) } + 0.0f32);
                    }
                }
                r0[at] = { let v8 = ((r0[at]).ceil() + { let v7 = (a0[at + [(if ((-0i64) < (-0i64)) { (r0[at] as i64) } else { (a0[at + [-1]] as i64) }).rem_euclid(5) - 2]] as f32); c2 }); (a0[[at[0] + (-2)]] as f32) };
            }
            r0[at] = c2;
            let mut v11: f64 = { let v10 = { let v9 = (a0[at + [1]]).signum(); (c1).ceil() }; (v10).abs() };
            let mut v12 = 0;
            while v12 < 4 && (0.5f32 <= c2) {
                v12 += 1;
                r0[at] *= r0[at];
                r0[at] *= ((((r0[at] as u64)).clamp(2u64, (r0[at] as u64)) as f32)).abs();
            }
            if ((r0[at] as i32) == (r0[at] as i32)) {
                let v13 = ((-((if true { (r0[at] as i32) } else { (-3i32) }))) + (((a0[at + [1]] as i32)).rotate_left(((r0[at] as i32)) as u32)).min(((a0[at + [-1]] as i32) - (a0[[at[0] + (-1)]] as i32))));
                v11 /= ((if (((r0[at] as f64) < (-1e3f64)) == ((r0[at] as u64) < 5u64)) { (c1).max(v11) } else { (-0.1f64) }) % (r0[at] as f64));
                v11 %= (((v11 / v11)).ln() % (if (a0[at + [-2]] < (-3.25f64)) { (a0[at + [0]] % a0[at - [2]]) } else { (v11 as f64) }));
            } else {
                v11 = a0[at + [0]];
            }
            let v15: i32 = (r0[at] as i32);
            r0[at] *= (((!(a0[at - [2]] as u64)) as f64) as f32);
        }));
    });
}

#[test]
fn random_13() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<f32>();
        let a0 = scene.array::<i32>();
        let c0: f32 = scene.scalar();
        let c1: f64 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            if (c1 < 0.0f64) {
                r0[at] += (if (!(!(0.0f64 < (-1e3f64)))) { (((a0[at - [1, -2]] as f32)).exp()).hypot((r0[at] - r0[at])) } else { ((r0[at] / c0) + (if ((a0[at + [-2, -1]] as u64) < 2u64) { c0 } else { (a0[at] as f32) })) });
                if ((c1).abs() != (a0[at + [-2, 1]] as f64)) {
                    let mut v2: u64 = { let v1 = (!(a0[at - [-2, -1]] as u64)); (if (a0[at + [1, -1]] <= a0[at]) { ((r0[at] as u64) % (((r0[at] as u64) & 6) | 1)) } else { (if ((r0[at] as u64) < 8u64) { v1 } else { v1 }) }) };
                    r0[at] = ((((-2.0f32) * r0[at]) as f32) - ((a0[at - [2, -1]] as f32)).hypot((c0 + (a0[at + [-1, -2]] as f32))));
                } else {
                    let mut v5 = { let v3 = (r0[at] < 1e-3f32); ((4u64 | (r0[at] as u64)) == ((a0[at - [0, 0]] as u64) + (a0[[at[0] + (1), at[1] + ({ let v4 = (r0[at] as i64); (a0[at + [2, 1]] as i64) }.rem_euclid(5) - 2)]] as u64))) };
                }
                r0[at] += (c0 - c0);
            } else {
                if { let v7 = { let v6 = ((a0[[at[0] + (-2), at[1] + (-1)]] as f64) < 0.5f64); ((-1i64) < 2i64) }; v7 } {
                    if (7u64 < 1u64) {
                        let v8 = [(r0[at]).round(), ((a0[at + [1, 1]] as i64) as f32), ((r0[at] as u64) as f32), ((r0[at] as f64) as f32)];
                        let mut v9: u64 = (r0[at] as u64);
                        r0[at] += v8[((a0[[at[0] + (-2), at[1] + (1)]] as u64) & 3) as usize];
                    }
                    for v10 in 0u64..3 {
                        r0[at] %= ((((a0[[at[0] + (-1), at[1] + (1)]] as f64) % 1e-3f64)).copysign(0.0f64) as f32);
                        r0[at] -= (({ let v11 = r0[at]; r0[at] }).fract() % (((r0[at] as f32) * r0[at]) * (r0[at]).copysign(0.0f32)));
                        let mut v13 = ((v10).pow(2)).rem_euclid((((v10).abs()).signum() & 6) | 1);
                    }
                }
                let v14 = c0;
            }
            let v15 = [c1, ((r0[at] as f64) / (r0[at] as f64)), (c1 + 0.25), (r0[at] as f64)];
            if (if (r0[at] < 0.0f32) { (if ((a0[[at[0] + (-2), at[1] + (-1)]] as u64) < 5u64) { ((a0[at + [2, 1]] as f64) < 1e3f64) } else { ((-6i64) < 8i64) }) } else { ((a0[at] as i64) >= (r0[at] as i64)) }) {
                if (if (c1 >= (r0[at] as f64)) { (c0 != r0[at]) } else { (if (r0[at] < 3.25f32) { true } else { (a0[at + [-2, 2]] < 5i32) }) }) {
                    let mut v16 = 0;
                    while v16 < 4 && ((a0[[at[0] + (-2), at[1] + (-1)]] as f64) < (-0.5f64)) {
                        v16 += 1;
                        let v17 = ((((r0[at] as u64)).max((r0[at] as u64)) % ((((r0[at] as u64) + (r0[at] as u64)) & 6) | 1)) <= (r0[at] as u64));
                        if (!v17) { return; }
                    }
                    let mut v18 = 0;
                    while v18 < 4 && { let v19 = ((a0[at] as u64) < 7u64); v19 } {
                        v18 += 1;
                        if ((at[1] < 1i64) | ((a0[at] as u64) < 3u64)) { continue; }
                        let mut v23: u64 = ({ let v21 = { let v20 = (r0[at] as u64); (a0[at + [0, 0]] as u64) }; ((r0[at] as u64) ^ (r0[at] as u64)) } * ({ let v22 = 0u64; (r0[at] as u64) } << ((a0[[at[0] + (0), at[1] + (2)]] as u64) % (((a0[[at[0] + (1), at[1] + (-2)]] as u64) & 6) | 1))));
                        v23 >>= ((((r0[at] as u64) >> v23)).min(((r0[at] as u64)).max((r0[at] as u64)))).div_euclid(((r0[at] as u64) & 6) | 1);
                    }
                    for v24 in -1..2 {
                        let v25 = v15[(((a0[at] as u64)).signum() & 3) as usize];
                        let v27: f64 = (((r0[at] as f64) - { let v26 = (a0[at + [v24, v24]] as f64); v26 })).min((-((v15[0] - v15[3]))));
                    }
                } else {
                    let v29 = (if ((v15[2] == c1) == { let v28 = ((a0[at + [0, 1]] as i64) < 6i64); ((a0[at - [1, -2]] as i32) < 4i32) }) { ((((a0[[at[0] + (0), at[1] + (1)]] as i32)).leading_zeros() as i32)).rotate_left((a0[at + [2, 2]]) as u32) } else { ((-(c1)) as i32) });
                }
                r0[at] %= ((r0[at] as f32) * r0[at]);
                let mut v30 = v15[0];
            } else {
                let mut v31: f64 = v15[(((a0[at + [(4i64 & (r0[at] as i64)).rem_euclid(5) - 2, -2]] as u64) / (r0[at] as u64)) & 3) as usize];
                r0[at] = ((((r0[at] as i32) as f32) - ((r0[at] as u64) as f32)) - ((0.0f32 + c0) / c0));
            }
            if (((r0[at] as f32)).powi(((a0[at - [-1, ((a0[at + [-2, 1]] as i64)).pow(4).rem_euclid(5) - 2]] as i32) & a0[at + [2, 2]])) == (a0[at] as f32)) {
                if ((c0 - c0)).is_finite() {
                    let mut v34: i32 = { let v33 = ({ let v32 = a0[[at[0] + (0), at[1] + (1)]]; v32 }).signum(); (v33).rem_euclid((4i32 & 6) | 1) };
                } else {
                    if ((r0[at] as i32) < 4i32) {
                        let mut v35 = (-((a0[at - [-2, -2]] as f64)));
                    } else {
                        let v37 = [((a0[at + [-1, 2]] as i64) != (a0[at + [-2, 0]] as i64)), ((a0[[at[0] + (2), at[1] + (-2)]] as i64) < 8i64), { let v36 = ((a0[at] as i32) < 0i32); v36 }, (if (1e3f32 < 2.0f32) { ((r0[at] as i32) < (-8i32)) } else { ((r0[at] as f64) < 1e3f64) })];
                    }
                    let mut v38 = [((r0[at] as u64)).abs(), (4u64 >> (r0[at] as u64)), (if ((r0[at] as f64) < 0.5f64) { (r0[at] as u64) } else { (a0[at + [-2, 2]] as u64) }), (r0[at] as u64)];
                    v38[((v38[2] + v38[1]) & 3) as usize] &= ((a0[at] as u64)).pow(4);
                }
            } else {
                for v39 in -1i32..=1 {
                    let mut v40: i32 = (((v39 - v39)).abs() % (((v39 & 3)).leading_zeros() as i32));
                }
            }
            r0[at] += ((-((r0[at] + r0[at]))) + ((r0[at]).abs()).signum());
        }));
    });
}

#[test]
fn random_14() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i32>();
        let mut r1 = scene.array::<i64>();
        let a0 = scene.array::<f64>();
        let a1 = scene.array::<f64>();
        let a2 = scene.array::<i32>();
        let c0: i64 = scene.scalar();
        let c1: u64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            let mut v1 = 0;
            while v1 < 4 && (at[1] <= c0) {
                v1 += 1;
                let mut v2: f64 = ((a2[at + [2, 2, 1]] as f64) + ((a1[at + [-1, -1, -1]] * 3.0) + ((r0[at] as f64) + (r0[at] as f64))));
                let v3 = ((((a0[at + [0, 2, 2]] as u64)).max(c1) >> (a0[at + [-2, -2, 0]] as u64)) as f32);
                for v4 in 0..((if (c0 < 8i64) { c0 } else { c0 }) & 3) {
                    if ((!((-4i32) < 5i32)) & (if (c1 < 0u64) { (0i32 < 6i32) } else { ((a0[[at[0] + (-1), at[1] + (0), at[2] + (1)]] as u64) < 2u64) })) {
                        v2 %= (-(v2));
                        let v5 = [(a2[at + [-1, 1, 2]] % r0[at]), ((a0[at + [-2, 0, -2]] as i32) + r0[at]), (a1[at - [2, 2, 1]] as i32), ((a2[at + [0, -2, 2]] as i32) + a2[at])];
                    } else {
                        v2 += ({ let v6 = (a1[at]).abs(); (if (c1 < 5u64) { 1e-3f64 } else { a1[at] }) }).sin();
                    }
                    if (c0 < (-3i64)) {
                        r0[at] &= ((if (!(v2 < (-2.0f64))) { ((a2[at + [-2, -1, 2]] as i32) & (a0[at] as i32)) } else { (0i32 as i32) }) / (r0[at]).clamp(3i32, { let v7 = r0[at]; v7 }));
                        v2 %= (v2 % (v2 - (at[0] as f64)));
                        v2 = ({ let v8 = (a0[at + [-1, 2, -1]]).max(v2); { let v9 = v8; v2 } }).clamp(0.5f64, ((if (a2[at + [0, -1, 2]] < 0i32) { (a1[at + [0, -2, -2]] as f64) } else { 1e3f64 })).clamp((-3.25f64), a1[[at[0] + (1), at[1] + (0), at[2] + (0)]]));
                    }
                    if (c0 < 6i64) {
                        r1[at] = (((a1[at + [0, 1, 2]] as i64)).clamp(0i64, ((a1[at + [0, 0, -1]] as i32) as i64)) * (((r1[at]).trailing_zeros() as i64) << (r1[at]).rotate_left((r1[at]) as u32)));
                    } else {
                        r0[at] &= ((r1[at] as i32)).max(((a2[at + [-2, -1, 0]] as i32)).signum());
                        v2 /= ((r0[at] as f64)).hypot(((a1[at + [1, (c0).pow(4).rem_euclid(5) - 2, -1]] as f32) as f64));
                    }
                }
            }
            let v10 = (r0[at] & (((a0[at + [2, 0, -2]] as f32) as i32)).rotate_left(((r0[at]).rotate_left(((r0[at] as i32)) as u32)) as u32));
            let mut v11 = 0;
            while v11 < 4 && ((a0[at] as f32)).is_infinite() {
                v11 += 1;
                for v12 in -2..=2 {
                    if (v10 < 5i32) { return; }
                    let mut v13: bool = ((if (6i64 < (-0i64)) { (a0[at + [0, v12, 0]] as u64) } else { ((r0[at] as u64)).wrapping_add(c1) }) > (((c1).count_ones() as u64) + 1));
                }
                let v15 = { let v14 = ((v10 & (a0[at] as i32))).wrapping_sub((v10 & v10)); (((r0[at] & r0[at])).trailing_zeros() as i32) };
            }
            let mut v16 = 0;
            while v16 < 4 && (a1[at + [1, -2, { let v17 = r1[at]; c0 }.rem_euclid(5) - 2]] >= a0[at - [-1, -2, -1]]) {
                v16 += 1;
                for v18 in 0..(((r0[at] as f32) as i64) & 3) {
                    let mut v19: i64 = (if (r1[at] < (-5i64)) { r1[at] } else { (1i64).signum() });
                }
                if (!(if ((-6i64) < 7i64) { (a0[at + [2, 0, (at[2] - c0).rem_euclid(5) - 2]] < 0.0f64) } else { ((r1[at] as f32) < (-1e-3f32)) })) {
                    r1[at] *= { let v20 = (if ((a1[at + [-2, -1, 1]] as f64) < (-1e-3f64)) { r1[at] } else { (3i64).signum() }); v20 };
                } else {
                    r0[at] |= { let v21 = (v10 - a2[at + [0, 1, 1]]); ((v10 % ((r0[at] & 6) | 1))).pow(1) };
                    let mut v22 = (((v10).clamp((-0i32), r0[at]) << (r0[at] - r0[at])) as f64);
                    r1[at] -= 1i64;
                }
                let v24: u64 = { let v23 = (((a1[[at[0] + (-1), at[1] + (2), at[2] + (1)]] as i32) as u64) - c1); (!(7i64 as u64)) };
            }
            r1[at] >>= at[2];
            r0[at] = ((v10 + a2[[at[0] + (0), at[1] + (-2), at[2] + (-1)]])).min(((6i32 - a2[[at[0] + (2), at[1] + (1), at[2] + (-1)]]) | (if (v10 < (-3i32)) { (-6i32) } else { r0[at] })));
            r1[at] = (((c0).max(r1[at])).rem_euclid(((c0 * 3) & 6) | 1)).pow(2);
        }));
    });
}

#[test]
fn random_15() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<f32>();
        let a0 = scene.array::<i64>();
        let c0: i32 = scene.scalar();
        let c1: bool = scene.scalar();
        let c2: u64 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let mut v1 = (if (if c1 { c1 } else { (!(0i64 < (-5i64))) }) { ((c2 - 3) % ((((a0[[at[0] + (-2)]] as u64) | c2) & 6) | 1)) } else { c2 });
            for v2 in 0..((a0[[at[0] + (0)]] as i64) & 3) {
                let mut v3: u64 = (r0[at] as u64);
                let mut v4 = ((if ((r0[at] as f64) > (r0[at] as f64)) { (a0[[at[0] + (1)]] % ((12 & 6) | 1)) } else { ((r0[at] as f64) as i64) }) & 3);
            }
            for v5 in -1i32..=1 {
                let mut v6 = 0;
                while v6 < 4 && { let v7 = c1; ((r0[at] as i32) < 8i32) } {
                    v6 += 1;
                    let mut v8: u64 = (if (((r0[at] as i32) % ((4i32 & 6) | 1)) >= (c0).wrapping_mul((r0[at] as i32))) { (v1 << (c2 - (a0[[at[0] + (0)]] as u64))) } else { ((v5).clamp(4i32, c0) as u64) });
                    v1 >>= (c2 >> ((v1).signum() - ((r0[at] as u64) << v8)));
                }
                r0[at] = (((r0[at] - (r0[at] as f32))).max({ let v9 = 1e3f32; (a0[at] as f32) }) % ((r0[at] as f32) - (if true { (r0[at] as f32) } else { r0[at] })));
            }
            r0[at] += { let v11 = { let v10 = ((r0[at] as f32) * (r0[at] as f32)); r0[at] }; (((r0[at] as f32) + r0[at]) + (r0[at] + v11)) };
        }));
    });
}

#[test]
fn random_16() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<u64>();
        let a0 = scene.array::<u64>();
        let a1 = scene.array::<i64>();
        let a2 = scene.array::<u64>();
        let c0: f32 = scene.scalar();
        let c1: i64 = scene.scalar();
        let c2: f32 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            for v1 in 0..(((a1[[at[0] + (-2), at[1] + (-1), at[2] + (1)]] as f64) as i64) & 3) {
                let mut v2: i32 = (a1[at + [1, 2, -2]] as i32);
            }
            for v3 in -1i32..=1 {
                for v4 in -2..=2 {
                    if ((false && ((a0[at + [1, v4, v4]] as i32) < 1i32)) && (0u64 < 1u64)) {
                        let mut v5 = ((a1[at - [v4, v4, v4]] as u64) < 7u64);
                        r0[at] -= (a2[at - [v4, v4, v4]]).rem_euclid(((!((a0[at - [v4, 1, 0]] as u64) - (r0[at] as u64))) & 6) | 1);
                    } else {
                        let v6 = (((a0[at + [2, 2, v4]] as f64)).sin() - 1e-2);
                    }
                    let mut v7 = (5u64 ^ (!(a2[at + [0, v4, -1]] as u64)));
                    if (((a2[at + [2, v4, v4]] as i32) + 1) == ((a1[at + [2, v4, v4]] as i32) & v3)) {
                        v7 <<= v7;
                    }
                }
                let mut v9 = ((-1e3f32) % ({ let v8 = (a0[[at[0] + (1), at[1] + (-1), at[2] + (-1)]] as f32); (r0[at] as f32) } - (3.25f32 / 0.25)));
                v9 = v9;
            }
            let v10: i64 = c1;
            let v11: bool = (((-(v10)) > (a1[at - [-1, 1, 0]]).rotate_left((v10) as u32)) == ((a0[at + [-2, 2, -2]] as i32) < 8i32));
            let mut v12 = [(!v11), ((r0[at] as f32) > (r0[at] as f32)), v11, (if (c0 < 0.5f32) { ((a0[at] as i32) < 0i32) } else { v11 })];
            v12[((a2[at + [2, -2, 1]] as u64) & 3) as usize] = (((r0[at] as f64)).is_infinite() & { let v13 = ((c0 < (-2.0f32)) ^ ((r0[at] as i32) < (-6i32))); ((a2[at + [1, 2, 0]] as f64) < 3.25f64) });
            r0[at] &= (a2[at + [0, 0, -1]] % (((a1[at + [-2, -2, 0]] as u64) & 6) | 1));
        }));
    });
}

#[test]
fn random_17() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<f32>();
        let a0 = scene.array::<f64>();
        let a1 = scene.array::<u64>();
        let a2 = scene.array::<u64>();
        let c0: u64 = scene.scalar();
        let c1: bool = scene.scalar();
        let c2: bool = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            r0[at] %= r0[at];
            let mut v2 = (if ((if c2 { ((a0[at + [(a1[at] as i64).rem_euclid(5) - 2, -1, 2]] as i64) < 4i64) } else { c2 }) & ((a2[at + [-2, -1, 0]] as i32) <= (a1[[at[0] + (1), at[1] + (2), at[2] + (-2)]] as i32))) { (((a2[at + [-1, 0, -2]] as i32) as f64) != (if c2 { a0[[at[0] + (1), at[1] + (1), at[2] + (1)]] } else { 3.25f64 })) } else { ((a2[at + [2, 1, 0]] as i64) == { let v1 = (a0[at] as i64); at[0] }) });
            let mut v3 = 0;
            while v3 < 4 && v2 {
                v3 += 1;
                v2 &= (((if (0i32 < 7i32) { c0 } else { c0 })).signum() >= ((a1[at + [1, 0, -2]] - 12) - (if ((a0[at + [-2, -2, -2]] as i32) < (-7i32)) { a2[at + [1, 2, -2]] } else { c0 })));
            }
            let mut v5 = 0;
            while v5 < 4 && { let v6 = ((a0[at + [-2, 1, -1]] as i32) < (-2i32)); ((-0.1f64) < (-1e3f64)) } {
                v5 += 1;
                let v7 = 1e3f64;
                v2 = ((r0[at] as i64) < ((8i64).pow(4) | ((a0[[at[0] + (1), at[1] + (1), at[2] + (0)]] as i64)).div_euclid(((a0[[at[0] + (0), at[1] + (2), at[2] + (2)]] as i64) & 6) | 1)));
            }
            let mut v8 = [((a0[at + [0, 0, 2]] as i64)).signum(), (r0[at] as i64), at[0], ((a0[at - [1, -2, -1]] as i64) + 4i64)];
            let mut v9 = ((((a2[at + [-1, -2, 0]] as i64) >> v8[3]) & v8[((if true { c0 } else { c0 }) & 3) as usize]) as u64);
            r0[at] -= ((if (if (v8[0] < (-7i64)) { true } else { (v8[2] < 5i64) }) { (r0[at] + r0[at]) } else { r0[at] })).min(r0[at]);
        }));
    });
}

#[test]
fn random_18() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<f64>();
        let a0 = scene.array::<f64>();
        let c0: f64 = scene.scalar();
        let c1: i32 = scene.scalar();
        let c2: f64 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            let v1: f64 = c2;
            if ((!(a0[at + [-2, 1, -1]] as i64)) < ((r1[at] as i64)).max((a0[at - [2, 2, -2]] as i64))) {
                let mut v2: i64 = (((r0[at] as i64)).leading_zeros() as i64);
                let mut v4 = (((1i32 & (r1[at] as i32)) - { let v3 = 7i32; 8i32 }) / ((((c1).div_euclid(((r1[at] as i32) & 6) | 1) - 3) & 6) | 1));
                v2 -= v2;
            }
            r1[at] = (((a0[[at[0] + (2), at[1] + (1), at[2] + (1)]] + v1) * (v1).max(c2))).sqrt();
            r0[at] |= (a0[at - [0, -1, 2]] as u64);
            r1[at] = v1;
        }));
    });
}

#[test]
fn random_19() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<i64>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<i64>();
        let a2 = scene.array::<u64>();
        let c0: i32 = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: i32 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            let v2 = [(!c2), { let v1 = c0; (r1[at] as i32) }, (-((r1[at] as i32))), (if ((-3.25f64) < 3.25f64) { c2 } else { (a0[at] as i32) })];
            for v3 in -1..2 {
                r0[at] += (({ let v4 = v3; v3 } / (((!r1[at]) & 6) | 1)) as u64);
                let v6: i64 = (if ((r0[at] as f64) < 0.1f64) { ({ let v5 = a1[at + [v3]]; a0[[at[0] + (2)]] } - v3) } else { (at[0]).div_euclid((a1[at - [2]] & 6) | 1) });
            }
            let mut v7 = r0[at];
            r0[at] = ((c1 as u64) + 0u64);
            r1[at] = (({ let v8 = a0[at]; v8 }).clamp((-6i64), ((a1[at + [1]]).trailing_zeros() as i64)) - ((a1[at - [a1[at - [-2]].rem_euclid(5) - 2]] - a1[[at[0] + (-1)]]) + (5u64 as i64)));
        }));
    });
}

#[test]
fn random_20() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<f64>();
        let a0 = scene.array::<i32>();
        let a1 = scene.array::<i64>();
        let a2 = scene.array::<f64>();
        let c0: u64 = scene.scalar();
        let c1: i64 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            r0[at] -= a2[at + [-1, -2, 1]];
            for v1 in 0..((if true { c1 } else { 8i64 }) & 3) {
                let v2 = (a2[at - [-2, -2, 1]] as i32);
            }
            let v3: f32 = ((a2[at - [-2, 2, (c1).wrapping_mul(a1[at]).rem_euclid(5) - 2]] as f32)).min((a1[at + [0, -2, 1]] as f32));
            r0[at] += a2[at + [0, 1, -1]];
        }));
    });
}

#[test]
fn random_21() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<u64>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<i64>();
        let a2 = scene.array::<f32>();
        let c0: bool = scene.scalar();
        let c1: i64 = scene.scalar();
        let c2: i32 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            r0[at] |= (if ({ let v1 = 0.5f64; (a2[[at[0] + (1), at[1] + (-1)]] as f64) }).is_infinite() { r0[at] } else { ({ let v2 = r0[at]; v2 } ^ ((r0[at] as u64)).wrapping_add((a2[at] as u64))) });
            let mut v3 = (!(((a1[at + [1, 0]]).trailing_zeros() as i64) % (((if (r0[at] < 8u64) { c1 } else { a0[at + [2, -2]] }) & 6) | 1)));
            if (!(0i32 != c2)) {
                r0[at] += (if ((a2[at - [(at[0] + a0[at]).rem_euclid(5) - 2, -1]] - (a0[at + [2, -2]] as f32)) != (a1[at + [-2, 2]] as f32)) { ((6u64).wrapping_mul((a0[at] as u64))).abs() } else { ((a2[at + [1, 1]] as u64)).rem_euclid(({ let v5 = (a2[at] as u64); r0[at] } & 6) | 1) });
                r0[at] = ((a0[at] as u64)).wrapping_add((r0[at] as u64));
            }
            if (!true) {
                let v6: u64 = (((if (0.0f64 < 0.5f64) { r0[at] } else { r0[at] }) as u64)).rem_euclid(((!(r0[at] & (r0[at] as u64))) & 6) | 1);
            }
            r0[at] -= r0[at];
        }));
    });
}

#[test]
fn random_22() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<i32>();
        let mut r1 = scene.array::<i64>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<f32>();
        let a2 = scene.array::<f32>();
        let c0: u64 = scene.scalar();
        let c1: bool = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            let mut v1 = ((!((a2[[at[0] + (-1), at[1] + (-2)]] as u64) as i64)) - (-(3i64)));
            if ((c1 | ((a1[at + [v1.rem_euclid(5) - 2, -2]] as u64) < 3u64)) && (a2[at + [-1, -1]] != a2[at + [1, -2]])) {
                let mut v2 = [((a0[at + [0, -2]] as f64) - 0.0f64), (c0 as f64), ((a2[at + [2, -2]] as f64) * 3.0), (if (at[1] < (-6i64)) { (r1[at] as f64) } else { (a0[at + [-2, -1]] as f64) })];
                let mut v3 = (-3i32);
            }
            r1[at] &= (if c1 { ((!3i64)).div_euclid(({ let v4 = at[1]; v1 } & 6) | 1) } else { (if (if (c0 < 2u64) { ((a2[[at[0] + (0), at[1] + (0)]] as u64) < 7u64) } else { (c0 < 0u64) }) { (v1 ^ at[1]) } else { v1 }) });
            let mut v5: f32 = ((r0[at] as f32) % 1e-2);
            r0[at] ^= (a2[[at[0] + (2), at[1] + (-2)]] as i32);
            r1[at] *= (((0i64 | r1[at]) as i64) | (4i64 << 3));
        }));
    });
}

#[test]
fn random_23() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<f64>();
        let a0 = scene.array::<f32>();
        let a1 = scene.array::<i64>();
        let a2 = scene.array::<i64>();
        let c0: bool = scene.scalar();
        let c1: bool = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            for v1 in 0..((a2[at - [0, 1]] as i64) & 3) {
                if (4i32 <= ((a2[at + [-2, 2]] as i32)).max((r0[at] as i32))) {
                    let mut v2 = v1;
                    v2 = v1;
                }
                r0[at] %= ((1e3f64 + (-2.0f64))).max(r0[at]);
            }
            r0[at] -= r0[at];
            r0[at] = ((((a0[[at[0] + (-2), at[1] + (2)]] as f64) + (a1[at + [-2, 2]] as f64)) + ((a1[[at[0] + (-1), at[1] + (1)]] as f64)).recip())).max(r0[at]);
            let v3 = c0;
            let mut v4 = [(if ((r0[at] as i32) < (-4i32)) { (r0[at] as u64) } else { (a2[at + [0, 0]] as u64) }), ((a0[at - [-2, 2]] as u64)).rem_euclid(((a1[at - [-2, -2]] as u64) & 6) | 1), (!3u64), ((a0[at + [1, 2]] as f64) as u64)];
            let v6 = { let v5 = at[1]; (((-7i64) - a2[at - [-1, 1]])).rotate_left((7i64) as u32) };
            r0[at] %= ((if ((a1[at + [-2, 1]] < (-5i64)) | ((a2[at] as f64) < 0.5f64)) { (v6 << 1) } else { { let v7 = a1[at + [1, 0]]; v6 } }) as f64);
        }));
    });
}

#[test]
fn random_24() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<i64>();
        let a0 = scene.array::<i32>();
        let a1 = scene.array::<i64>();
        let a2 = scene.array::<f64>();
        let c0: f32 = scene.scalar();
        let c1: f32 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            for v1 in -2..=2 {
                r0[at] = v1;
                let mut v3: bool = (if ((!r0[at]) < (if ((r0[at] as f32) < 2.0f32) { at[0] } else { v1 })) { ((a1[at + [0]] as f32) < 1e-3f32) } else { { let v2 = ((a2[at + [v1]] as f64) > 0.0f64); (!v2) } });
            }
            let v5: u64 = { let v4 = (a0[[at[0] + (2)]] as u64); ((a1[at + [2]] as u64)).min((c0 as u64)) };
            r0[at] *= r0[at];
            let v6: bool = ((a0[at + [2]] as f32) < 3.25f32);
            r0[at] = (if v6 { (((a2[[at[0] + (0)]] as i64) ^ 7i64) - (r0[at] ^ 3)) } else { (if (v5 <= (a1[at - [1]] as u64)) { r0[at] } else { (at[0] << (r0[at] as i64)) }) });
            r0[at] *= { let v7 = ((a0[[at[0] + (-1)]] as i64) / (((if v6 { at[0] } else { at[0] }) & 6) | 1)); (((a1[at + [0]] as f32) as i64) >> v7) };
        }));
    });
}

#[test]
fn random_25() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<f32>();
        let mut r1 = scene.array::<i64>();
        let a0 = scene.array::<f32>();
        let c0: f64 = scene.scalar();
        let c1: f64 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            if ((r0[at] as f32) < a0[at]) { return; }
            r1[at] *= ((if ((r0[at] < (-0.5f32)) | ((a0[[at[0] + (2), at[1] + (-2), at[2] + (2)]] as f64) < (-2.0f64))) { r1[at] } else { (if ((r0[at] as i32) < 5i32) { 6i64 } else { (r0[at] as i64) }) }) + ({ let v1 = r1[at]; r1[at] } as i64));
            if ((r0[at] as f64) >= ((r1[at] as u64) as f64)) {
                let mut v2: u64 = (if (if ((r1[at] as i32) >= 4i32) { ((a0[at + [-2, -2, 0]] as i64) != at[2]) } else { ((r0[at] as f32)).is_infinite() }) { (r1[at] as u64) } else { (((r0[at] as u64) + (a0[at] as u64)) as u64) });
            }
            for v3 in -2..=2 {
                let mut v4 = [(((r1[at] as i32)).leading_zeros() as i32), (a0[at + [v3, v3, 2]] as i32), ((a0[at + [0, v3, 0]] as i32)).clamp(2i32, (r1[at] as i32)), ((a0[at + [(if ((r0[at] as f64) < (-0.5f64)) { r1[at] } else { r1[at] }).rem_euclid(5) - 2, -2, 2]] as i32) & 0i32)];
                let v5 = (r0[at] < 2.0f32);
            }
            r0[at] -= (r0[at] as f32);
            r1[at] &= (r0[at] as i64);
        }));
    });
}

#[test]
fn random_26() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<i32>();
        let mut r1 = scene.array::<f32>();
        let a0 = scene.array::<f64>();
        let c0: f32 = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: u64 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            let v1: bool = (!((at[0] * (a0[at] as i64)) <= ((r1[at] as i64)).rem_euclid(((r1[at] as i64) & 6) | 1)));
            let mut v2: f32 = c0;
            for v3 in -2..=2 {
                v2 += v2;
                let v4 = r0[at];
                let mut v5 = ((if (true == v1) { (r1[at] as f64) } else { ((r1[at] as f64) * a0[at - [-2]]) })).hypot((((r0[at] as f64)).abs() * (a0[at - [-1]] - 0.25)));
            }
            let v6: i64 = (if (((c2 < 4u64) == v1) && (0.5f64 >= 3.25f64)) { (at[0]).rem_euclid(((-3i64) & 6) | 1) } else { ((r1[at]).clamp((-3.25f32), 3.25f32) as i64) });
            for v7 in -1i32..=1 {
                if ((1e-3f64 - 0.25) <= a0[at + [-2]]) {
                    r0[at] = ((if v1 { (r0[at]).abs() } else { v7 })).abs();
                    for v8 in -2..=2 {
                        let mut v9: bool = (r0[at] < 2i32);
                    }
                }
                r1[at] -= (((1e3f32).signum()).abs() + 0.25);
            }
            r0[at] *= ((a0[at + [0]] as i32) - 3);
            r1[at] = (if ((-((a0[at + [2]] as i32))) != (r0[at] | 1)) { (r0[at] as f32) } else { ((c0 * r1[at])).mul_add((0.1f32 * (r1[at] as f32)), c0) });
        }));
    });
}

#[test]
fn random_27() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<f32>();
        let a0 = scene.array::<f32>();
        let c0: i32 = scene.scalar();
        let c1: f64 = scene.scalar();
        let c2: i32 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let mut v1 = 0;
            while v1 < 4 && (1e-3f64).is_finite() {
                v1 += 1;
                if ({ let v2 = c0; c0 } == (-((a0[[at[0] + (2), at[1] + ((a0[[at[0] + (-1), at[1] + (2)]] as i64).rem_euclid(5) - 2)]] as i32)))) {
                    if ((c2 - c0) > (!(a0[[at[0] + (-1), at[1] + (1)]] as i32))) {
                        let v3 = (r0[at] as i64);
                        let mut v4 = (((r0[at] as i64) ^ (v3).clamp(7i64, (r0[at] as i64)))).clamp(7i64, v3);
                    } else {
                        r0[at] *= (((r0[at] as f32)).hypot((r0[at] as f32))).mul_add((a0[[at[0] + (1), at[1] + (0)]] as f32), (r0[at] as f32));
                        if ((at[1] < (-6i64)) && ((a0[at] as u64) < 1u64)) { break; }
                        let v6 = [((r0[at] as i32)).div_euclid(((a0[at + [-1, -1]] as i32) & 6) | 1), { let v5 = (r0[at] as i32); (r0[at] as i32) }, (c2 ^ c2), c2];
                    }
                    r0[at] %= (a0[at + [2, 1]] as f32);
                    for v7 in 0..(((r0[at] as i64) | (r0[at] as i64)) & 3) {
                        r0[at] = (((v7 as i32) as f32)).exp();
                        r0[at] = ((((r0[at] as f32) / 0.5f32)).hypot((a0[at] as f32)) % ((1e3f32 * 0.25) + r0[at]));
                    }
                } else {
                    r0[at] /= ((((r0[at] as f32)).signum() * r0[at]) * ((a0[at + [1, -1]] as f32) * ((r0[at] as f64) as f32)));
                    let mut v8 = 0;
                    while v8 < 4 && (at[0] < (r0[at] as i64)) {
                        v8 += 1;
                        if false { return; }
                        r0[at] += a0[[at[0] + (-1), at[1] + (2)]];
                        r0[at] /= ({ let v9 = (a0[at] * a0[at + [-2, -1]]); (a0[at - [0, -1]] * 1e-2) }).clamp(0.5f32, { let v10 = (a0[at + [0, 0]] - 0.25); (a0[at - [-2, 1]]).floor() });
                    }
                    if ((r0[at] as u64) < 2u64) {
                        let v11 = ((a0[at + [-1, -2]] as f64) * ((r0[at] as f64) - ((r0[at] as f64) / c1)));
                        let mut v12 = [((r0[at] as f32) / 0.1f32), (if ((a0[[at[0] + (1), at[1] + (-1)]] as f64) < 0.1f64) { a0[at + [2, 2]] } else { (r0[at] as f32) }), ((a0[at] as f32) - (a0[at] as f32)), ((r0[at] as f32)).signum()];
                        let v13 = (c2 < 6i32);
                    }
                }
                r0[at] /= ((((a0[at + [(if ((r0[at] as f32) < (-0.5f32)) { (r0[at] as i64) } else { (a0[at - [-2, 0]] as i64) }).rem_euclid(5) - 2, 1]] as i32) * c2) & (-((r0[at] as i32)))) as f32);
                for v14 in 0u64..3 {
                    r0[at] = ((a0[at - [-1, (a0[at] as i64).rem_euclid(5) - 2]] as f32) - ((if true { (r0[at] as f32) } else { a0[[at[0] + (-2), at[1] + (2)]] }) * ((r0[at] as f32) * (r0[at] as f32))));
                    if ((r0[at] as i64) >= (r0[at] as i64)) { break; }
                }
            }
            r0[at] -= (((r0[at]).fract() / 3.0) * ((-4i32) as f32));
            if (c1 < (-2.0f64)) {
                let mut v15 = 0;
                while v15 < 4 && ((r0[at] as u64) <= (a0[[at[0] + (-2), at[1] + (1)]] as u64)) {
                    v15 += 1;
                    r0[at] %= ((r0[at] as f32)).max((r0[at] as f32));
                    for v16 in -2..=2 {
                        let v17 = (a0[at + [v16, 0]] as i64);
                        r0[at] = ({ let v18 = (r0[at] + (a0[at - [-1, v16]] as f32)); (r0[at] - (r0[at] as f32)) }).hypot(r0[at]);
                    }
                }
            }
            if ((r0[at] as u64) < 4u64) {
                let mut v20 = ((((a0[at + [-1, -1]] as i64) + (r0[at] as i64)) & (3i64 << (r0[at] as i64)))).div_euclid(({ let v19 = ((r0[at] as i64)).rem_euclid(((a0[at] as i64) & 6) | 1); (r0[at] as i64) } & 6) | 1);
            }
            r0[at] *= (if ((r0[at] as f64) > ((r0[at] as f64)).mul_add((a0[at + [2, -1]] as f64), (r0[at] as f64))) { (3.25f32).powi((c0 * (r0[at] as i32))) } else { (((a0[at + [-1, 2]] as u64) - (a0[at + [-1, -2]] as u64)) as f32) });
        }));
    });
}

#[test]
fn random_28() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<f64>();
        let a0 = scene.array::<i32>();
        let a1 = scene.array::<i64>();
        let c0: bool = scene.scalar();
        let c1: bool = scene.scalar();
        check!(scene, [r0, a0, a1], (&mut r0, &a0, &a1), kernel!(|r0, a0, a1, at| {
            let v1 = (((r0[at]).sin() - (r0[at]).max(r0[at])) * ((a0[at + [0]] as f64)).copysign((-2.0f64)));
            let mut v2 = [(if ((a1[[at[0] + (-1)]] as i32) < (-4i32)) { a1[[at[0] + (0)]] } else { (r0[at] as i64) }), (if c1 { 7i64 } else { (r0[at] as i64) }), (if c1 { (a0[[at[0] + (0)]] as i64) } else { (a1[at + [-2]] as i64) }), (6i64).abs()];
            let mut v3 = (a0[at + [0]]).clamp(8i32, ((v2[1] as i64) as i32));
            let mut v4: bool = ((((a0[at - [0]] as u64)).signum() > ((r0[at] as u64) + 0u64)) && (((a1[at] as f32) - 0.25) != (-((r0[at] as f32)))));
            r0[at] -= { let v5 = (r0[at] as f64); (-((v5).signum())) };
        }));
    });
}

#[test]
fn random_29() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<i64>();
        let a0 = scene.array::<i32>();
        let a1 = scene.array::<f64>();
        let a2 = scene.array::<f64>();
        let c0: f32 = scene.scalar();
        let c1: bool = scene.scalar();
        let c2: f32 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            let mut v1: bool = (true ^ ((!(c2 < 2.0f32)) == (((a2[at + [1, 0]] as i32) < 0i32) == c1)));
            if { let v2 = v1; (!(1u64 < 5u64)) } {
                if ((!c1) == ((c2 < 0.0f32) ^ v1)) {
                    v1 ^= (if ((if ((a2[at + [0, 2]] as i32) < 0i32) { (a1[at - [2, -1]] < 2.0f64) } else { ((-2.0f64) < (-1e-3f64)) }) & { let v3 = v1; ((r0[at] as i32) < (-7i32)) }) { ((if v1 { (a1[at + [-2, 0]] as f64) } else { (r0[at] as f64) })).is_infinite() } else { { let v4 = (a0[at - [0, 0]] <= a0[[at[0] + (1), at[1] + (0)]]); (v4 | ((r1[at] as i64) < 4i64)) } });
                    for v5 in 0..((a2[at + [-1, -2]] as i64) & 3) {
                        let v6 = [(at[0] ^ r1[at]), (v5 << v5), (r1[at]).clamp(3i64, 5i64), (r1[at] & r1[at])];
                    }
                } else {
                    let v7 = ((a1[at] as i32) - (if (!((a1[at + [-1, 0]] as i32) < (-5i32))) { (a0[at] >> 12) } else { (((r0[at] as i32)).count_ones() as i32) }));
                    v1 = ({ let v8 = (a1[at + [-1, 2]]).is_infinite(); (if (v7 < 5i32) { true } else { (c0 < (-2.0f32)) }) } == ({ let v9 = r0[at]; v9 } > r0[at]));
                }
            }
            let mut v10: bool = ((a1[at + [2, -2]] as u64) < 8u64);
            for v11 in -1i32..=1 {
                r1[at] -= { let v12 = r1[at]; { let v13 = r1[at]; (v12).rotate_left((v13) as u32) } };
                if { let v14 = (if (r1[at] < 6i64) { c1 } else { (r1[at] < 8i64) }); { let v15 = (a0[[at[0] + ((a2[at + [-1, 1]] as i64).rem_euclid(5) - 2), at[1] + (2)]] < 2i32); v15 } } {
                    let v19: i32 = { let v17 = ({ let v16 = 0.0f32; (a1[[at[0] + (1), at[1] + (-1)]] as f32) } as i32); { let v18 = a0[at + [-1, -2]]; v17 } };
                    if (v11 != (a2[at + [-2, -1]] as i32)) { break; }
                    if (r0[at] == (a1[at + [-1, -1]] as u64)) { break; }
                } else {
                    v1 ^= (a0[[at[0] + ((!3i64).rem_euclid(5) - 2), at[1] + (2)]] < 2i32);
                }
                v1 = (if (!(!(c0 < 1e-3f32))) { v10 } else { (!((a0[at] as i32) < 2i32)) });
            }
            let v21 = [(2u64).clamp(6u64, (r0[at] as u64)), (r0[at] + (r1[at] as u64)), { let v20 = (r0[at] as u64); r0[at] }, (8u64 ^ r0[at])];
            r0[at] ^= (((a2[at + [-1, -1]] as u64) / ((12 & 6) | 1))).min(((-(a2[at + [-1, -1]])) as u64));
            r1[at] += ((((-0i64) / (((a2[at + [2, 2]] as i64) & 6) | 1))).abs()).wrapping_add(((r1[at] as i64)).max((if v1 { 0i64 } else { (r0[at] as i64) })));
        }));
    });
}

#[test]
fn random_30() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<f32>();
        let mut r1 = scene.array::<f64>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<f64>();
        let c0: i64 = scene.scalar();
        let c1: bool = scene.scalar();
        let c2: i64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            if ((a1[[at[0] + (-1)]] as f64)).is_nan() { return; }
            let v1: f64 = ((if (1e3f32 != (a1[at + [1]] as f32)) { (2.0f64).min((-0.1f64)) } else { ((r1[at] as f64) * a1[at + [-1]]) }) * ((a1[at - [0]] as f64) * 3.0));
            for v2 in -2..=2 {
                for v3 in -1i32..=1 {
                    let v4: u64 = (((a0[at - [v2]] as u64) - (a0[[at[0] + (-1)]] as u64)) | 1);
                    let mut v5 = v2;
                    if ((a1[at + [0]] as f64) <= r1[at]) {
                        let v7 = [(a0[at - [v2]] as f32), ((a0[at] as f32) * (a0[at - [{ let v6 = c2; a0[[at[0] + (0)]] }.rem_euclid(5) - 2]] as f32)), (if c1 { r0[at] } else { r0[at] }), ((r0[at] as f32)).signum()];
                        let v9 = [(v3).abs(), (a0[at - [2]] as i32), { let v8 = (r0[at] as i32); (a1[at + [(r0[at] as i64).rem_euclid(5) - 2]] as i32) }, ((a0[at - [v2]] as i32)).div_euclid(((a1[at + [-1]] as i32) & 6) | 1)];
                    }
                }
            }
            r0[at] *= (if c1 { (((-0.1f32) - (r1[at] as f32)) * (a0[at - [0]] as f32)) } else { r0[at] });
            r1[at] %= ((a1[at + [-2]] % (-(v1))) - (1e-3f64).min((-(a1[[at[0] + (-1)]]))));
        }));
    });
}

#[test]
fn random_31() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<f64>();
        let mut r1 = scene.array::<f64>();
        let a0 = scene.array::<u64>();
        let a1 = scene.array::<f32>();
        let a2 = scene.array::<i64>();
        let c0: f64 = scene.scalar();
        let c1: i64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            let mut v2 = (if (c1 >= ((at[0]).count_ones() as i64)) { { let v1 = (3i32).pow(3); (if (c1 < (-1i64)) { (r0[at] as i32) } else { (a2[at + [-2]] as i32) }) } } else { (r0[at] as i32) });
            for v3 in -1i32..=1 {
                for v4 in -2..=2 {
                    if ((c1 < 7i64) || true) { break; }
                    v2 <<= (({ let v5 = 5i32; (r1[at] as i32) }).clamp((-8i32), (v2).clamp((-1i32), (a0[at] as i32))) / ((v2 & 6) | 1));
                }
                let v6: f64 = r0[at];
            }
            for v7 in -2..=2 {
                for v8 in 0..((-0i64) & 3) {
                    v2 ^= v2;
                }
                if ((c1 < (-4i64)) ^ false) { continue; }
            }
            r0[at] -= ((c0).signum()).signum();
            r1[at] = r0[at];
        }));
    });
}

#[test]
fn random_32() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<i32>();
        let mut r1 = scene.array::<i64>();
        let a0 = scene.array::<u64>();
        let a1 = scene.array::<u64>();
        let c0: f32 = scene.scalar();
        let c1: f64 = scene.scalar();
        let c2: i64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            if (c1 >= (-(0.0f64))) {
                let mut v1: bool = ((if (c1 < (-1e-3f64)) { (c0 + (a1[at + [0]] as f32)) } else { ((a0[[at[0] + (2)]] as f32)).hypot(2.0f32) }) != ((c0 - c0) - ((a1[at + [-2]] as i32) as f32)));
                if v1 {
                    v1 &= (((r1[at] as f32)).min(((a1[at - [0]] as f32) % c0)) == ((-(c0))).powi((r0[at] as i32)));
                    let mut v2: f64 = c1;
                    let v3 = [((r0[at] as f32) + 1e-2), 1e-3f32, c0, ((a1[at] as f32) - c0)];
                } else {
                    let mut v4 = ((((r0[at] as f64)).copysign(1e3f64)).mul_add((c1 + (r1[at] as f64)), (r0[at] as f64)) as u64);
                    let mut v5 = 0;
                    while v5 < 4 && ((a0[at + [1]] as f32) <= (a1[at - [0]] as f32)) {
                        v5 += 1;
                        r1[at] *= { let v6 = ((c2 - at[0])).signum(); ((a0[at + [-2]] as f32) as i64) };
                        if (!v1) { return; }
                        let mut v7 = v1;
                    }
                }
                for v8 in -1..2 {
                    r0[at] >>= (({ let v9 = (r1[at] as i32); v9 }).signum()).clamp(5i32, (a0[at + [-1]] as i32));
                    if ((r0[at] as i32) < 4i32) { continue; }
                }
            }
            if ((a0[at + [2]]).max(5u64) > ((a1[at + [-2]] as u64) * 8u64)) {
                if (((r1[at] as u64) * 1) == 5u64) {
                    let v10 = [(c2 > 8i64), ((a0[at + [1]] as i32) < 8i32), ((0.1f64 < 1e-3f64) | ((a0[[at[0] + (2)]] as f64) < (-3.25f64))), ((a1[at - [(r1[at] - 12).rem_euclid(5) - 2]] as f32) >= (r1[at] as f32))];
                    for v11 in -2..=2 {
                        let v12: u64 = ((r1[at] as u64) | (((r1[at] as u64)).clamp(3u64, (a1[[at[0] + (2)]] as u64)) * (a0[at] & (r1[at] as u64))));
                        let mut v13 = c1;
                    }
                }
                if ((if (c2 < 1i64) { ((a0[at + [-2]] as f32) < 1e3f32) } else { (r1[at] < 2i64) }) || (a1[at + [{ let v14 = at[0]; v14 }.rem_euclid(5) - 2]] == (r1[at] as u64))) {
                    r1[at] = (!((4i64).signum() * (if (c2 < 8i64) { c2 } else { r1[at] })));
                } else {
                    let mut v15 = 0;
                    while v15 < 4 && (c1 < (-3.25f64)) {
                        v15 += 1;
                        let mut v16 = ((a1[at - [0]] as i32) + 12);
                        if (2.0f64 < 1e-3f64) { break; }
                        let v17 = r1[at];
                    }
                    for v18 in -1..2 {
                        r1[at] = ((r1[at]).max((r1[at] - v18))).min(v18);
                        let v19 = ((r0[at] as f32)).sin();
                    }
                }
                for v20 in 0..((2i64 ^ r1[at]) & 3) {
                    r1[at] -= (r1[at] * r1[at]);
                    let v22: i32 = { let v21 = r0[at]; ((v21 >> (r1[at] as i32))).min((if (c1 < 1e-3f64) { v21 } else { v21 })) };
                }
            }
            let v23: f64 = 0.5f64;
            r0[at] <<= ((((r0[at]).count_ones() as i32)).rem_euclid((((r0[at] as i32) as i32) & 6) | 1) >> 3);
            let v24: f64 = (if ((r1[at] as f32) < (-2.0f32)) { (((a0[at + [2]] as f64) - (a1[at + [1]] as f64))).min(((r1[at] as f64) + (r1[at] as f64))) } else { ((c1 as u64) as f64) });
            let mut v25 = [(a1[at + [c2.rem_euclid(5) - 2]] as u64), ((r1[at] as u64)).abs(), (8u64 + a1[at - [0]]), ((r1[at] as u64)).wrapping_add(a0[at + [2]])];
            r0[at] = (a0[at + [1]] as i32);
            r1[at] <<= (c2 * 3);
        }));
    });
}

#[test]
fn random_33() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<f64>();
        let mut r1 = scene.array::<f64>();
        let a0 = scene.array::<u64>();
        let a1 = scene.array::<u64>();
        let a2 = scene.array::<i32>();
        let c0: bool = scene.scalar();
        let c1: f64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            if ((4i64 / ((12 & 6) | 1)) >= 8i64) {
                if ((1i64 > (r0[at] as i64)) | ((a2[at] as i64) != at[0])) {
                    for v1 in -1..2 {
                        let mut v2: i64 = ((((-7i64) ^ v1) % ((((r1[at] as i64) >> 1) & 6) | 1)) ^ (0.5f64 as i64));
                    }
                    if (true || ((a2[at + [2]] as i64) < 6i64)) { return; }
                    let v4: f32 = ((((r1[at] as f32) / 3.0)).signum() - ({ let v3 = (a0[at] as f32); (r0[at] as f32) }).max((a2[at - [0]] as f32)));
                }
                if true {
                    let mut v5 = (-(((a2[at] as f64) - (r1[at]).powi(((a0[at + [2]] as i32) << (r0[at] as i32))))));
                    r1[at] %= (if ({ let v6 = 0.5f32; (r1[at] as f32) } < (0.0f32 * (a0[at + [-2]] as f32))) { v5 } else { (((a0[at + [1]] as f32)).powi(((-1i32) + (r0[at] as i32))) as f64) });
                } else {
                    if c0 {
                        let mut v7 = [(c0 & ((a0[at + [-1]] as i64) < 1i64)), (a0[[at[0] + (0)]] > (r0[at] as u64)), ((a1[at + [0]] as i64) < (-2i64)), (((a2[at + [0]] as f32) < (-3.25f32)) & ((a0[at] as i64) < 2i64))];
                        r1[at] = c1;
                        r0[at] = ((r0[at] - (r0[at] / 3.0)) + 3.0);
                    }
                    let v8 = [(1i64).min(5i64), (at[0]).rem_euclid(((-6i64) & 6) | 1), (at[0]).rem_euclid(((r1[at] as i64) & 6) | 1), (r0[at] as i64)];
                    for v9 in 0u64..3 {
                        let mut v10: f32 = ((((r1[at] as f32)).copysign((-2.0f32))).min(((a2[at + [1]] as f32)).signum()) * (r0[at] as f32));
                        let v12 = [{ let v11 = v9; 3u64 }, (v9).signum(), (a1[at + [-1]] | 12), (v9 as u64)];
                        v10 %= ((a2[at + [(if ((r1[at] as f32) < 1e-3f32) { v8[3] } else { at[0] }).rem_euclid(5) - 2]] as f32)).max((r1[at] as f32));
                    }
                }
            } else {
                let mut v13: u64 = 3u64;
            }
            let v14: f64 = (((if c0 { 5i64 } else { (-7i64) }) as f64)).signum();
            let v15: f64 = (if c0 { (3.25f64 % (r0[at] - 3.25f64)) } else { ((v14 + r0[at]) * (if ((r1[at] as i64) < 2i64) { r0[at] } else { v14 })) });
            for v16 in -1i32..=1 {
                let v17 = (((v14).cbrt() as u64) as u64);
            }
            r0[at] /= ((r1[at]).signum() / r0[at]);
            r1[at] = ((if (4i32 < 6i32) { (if ((r1[at] as f32) < (-2.0f32)) { 2.0f64 } else { (a2[[at[0] + ((r0[at] as i64).rem_euclid(5) - 2)]] as f64) }) } else { (if ((r1[at] as i32) < (-2i32)) { r0[at] } else { (r1[at] as f64) }) }) % v15);
        }));
    });
}

#[test]
fn random_34() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<i32>();
        let a0 = scene.array::<f32>();
        let c0: bool = scene.scalar();
        let c1: i32 = scene.scalar();
        let c2: i32 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            if ((r0[at] as i64) != 2i64) { return; }
            r0[at] |= r0[at];
            let v1 = (r1[at] as u64);
            let v3 = ({ let v2 = ((r0[at] as i64) | 1i64); (!(r0[at] as i64)) } + (-6i64));
            let mut v5: u64 = (({ let v4 = (if true { r0[at] } else { r0[at] }); (!0u64) }).trailing_zeros() as u64);
            r0[at] >>= (if c0 { { let v7 = { let v6 = 6u64; v1 }; (r0[at] * v7) } } else { (!(v1).wrapping_mul((r0[at] as u64))) });
            r1[at] += (if ((a0[at + [0, -2]] as f64) > ((a0[at - [1, -1]] as f64) as f64)) { (-((r1[at]).wrapping_sub(r1[at]))) } else { 2i32 });
        }));
    });
}

#[test]
fn random_35() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<u64>();
        let a0 = scene.array::<f64>();
        let a1 = scene.array::<u64>();
        let a2 = scene.array::<f64>();
        let c0: i64 = scene.scalar();
        let c1: i64 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            let mut v3 = [(c0 << (r0[at] as i64)), { let v1 = c1; c1 }, { let v2 = 5i64; at[0] }, ((a2[at - [1]] as u64) as i64)];
            v3[(((r0[at] as u64)).signum() & 3) as usize] -= { let v4 = ((r0[at] as f64) as i64); ((at[0] & c1)).pow(4) };
            for v5 in 0u64..3 {
                v3[((if ((a0[at + [c1.rem_euclid(5) - 2]] as i32) < (-7i32)) { r0[at] } else { v5 }) & 3) as usize] -= (((if ((a2[at] as i32) < (-5i32)) { 0i64 } else { (a2[at + [-2]] as i64) })).wrapping_sub((c1 as i64)) * ((at[0] + 2i64)).clamp((-7i64), v3[((v5).wrapping_add(v5) & 3) as usize]));
                let mut v6 = 0;
                while v6 < 4 && ((c1 < 4i64) || ((r0[at] as i32) < 6i32)) {
                    v6 += 1;
                    if (true && ((-3.25f32) >= 0.1f32)) {
                        if ((a2[at + [-2]] as i32) < 2i32) { return; }
                        let v7: i64 = ((((a0[[at[0] + (0i64.rem_euclid(5) - 2)]] as i64) | c1) & 12) << 12);
                        v3[((if true { v5 } else { r0[at] }) & 3) as usize] = (-(v7));
                    } else {
                        let v10 = { let v8 = ((c0).max((a0[at] as i64)) as u64); (((a1[[at[0] + (2)]] as u64)).pow(4) >> { let v9 = v5; 8u64 }) };
                    }
                }
            }
            r0[at] -= ((if (if ((r0[at] as i64) < (-2i64)) { ((a2[[at[0] + (0)]] as f64) < (-1e-3f64)) } else { (a1[at] < 2u64) }) { 3u64 } else { ((a0[at + [-2]] as u64) - r0[at]) }) & 1);
            r0[at] &= (!5u64);
        }));
    });
}

#[test]
fn random_36() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i64>();
        let a0 = scene.array::<f64>();
        let c0: i64 = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: bool = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            for v1 in 0..((r0[at] % ((r0[at] & 6) | 1)) & 3) {
                if (((r0[at] as i32) + (a0[at + [-1, 2, -2]] as i32)) != { let v2 = (a0[at - [-1, (7i64 / r0[at]).rem_euclid(5) - 2, -2]] as i32); (a0[at + [1, 1, ((r0[at] as i32) as i64).rem_euclid(5) - 2]] as i32) }) {
                    let v3 = (0i64).wrapping_mul(r0[at]);
                }
            }
            for v4 in -2..=2 {
                if ((a0[at + [0, v4, v4]] as i32) >= ((r0[at] as i32) | 3)) {
                    r0[at] *= (if { let v5 = (c1 < 2u64); (if true { c2 } else { c2 }) } { r0[at] } else { { let v6 = (v4 ^ 7i64); at[0] } });
                    if (if (4i64 >= r0[at]) { ((a0[at + [1, 0, v4]] as f32)).is_nan() } else { (1e-3f32 >= (a0[at] as f32)) }) {
                        let v8: bool = ({ let v7 = (a0[at + [1, v4, 2]]).max(a0[at]); (if true { v7 } else { v7 }) } < (((a0[at + [2, 1, -1]] as f32) % (a0[at + [1, 2, 0]] as f32)) as f64));
                        let v9 = (((if ((r0[at] as f32) < 1e-3f32) { 0i64 } else { c0 }) % (((v4 - v4) & 6) | 1)) ^ 1);
                    }
                    let mut v10 = ((a0[at - [v4, v4, v4]] as f64) * (((a0[at] as i32)).signum() as f64));
                } else {
                    let v12 = [{ let v11 = c1; (a0[at - [v4, 0, v4]] as u64) }, (a0[at + [v4, v4, v4]] as u64), (c1).pow(1), (a0[at - [-2, 0, v4]] as u64)];
                    for v13 in -1..2 {
                        let mut v14: i32 = 7i32;
                        r0[at] <<= (-(v13));
                        let v15: f64 = ((((r0[at] as i32)).pow(4) as f64)).max((((a0[at + [1, v4, v13]] as f64) / a0[at + [-1, 0, v13]]) as f64));
                    }
                    r0[at] *= { let v16 = ((r0[at]).div_euclid((r0[at] & 6) | 1) - (v4).rem_euclid((r0[at] & 6) | 1)); (at[1] >> (v16 << v16)) };
                }
            }
            r0[at] += (((c0 - c0) + 1)).rem_euclid((((8i64 + r0[at]) % (((r0[at] * 3) & 6) | 1)) & 6) | 1);
            for v17 in 0u64..3 {
                let v19 = [r0[at], (-(c0)), { let v18 = c0; r0[at] }, (c0).signum()];
                let mut v20 = 0;
                while v20 < 4 && (a0[at]).is_finite() {
                    v20 += 1;
                    if (((a0[at + [-2, -1, -2]] as i32)).wrapping_mul((a0[at + [0, -1, 2]] as i32)) >= (-((r0[at] as i32)))) {
                        let v21: f32 = (((a0[[at[0] + (0), at[1] + (-1), at[2] + (1)]] as f32) % ((r0[at] as f32) - (r0[at] as f32))) / (((a0[at + [v19[((v17 - (r0[at] as u64)) & 3) as usize].rem_euclid(5) - 2, -2, -2]] as f32) - (a0[[at[0] + (-1), at[1] + (0), at[2] + (1)]] as f32))).mul_add(((a0[at - [-2, 1, 2]] as f32) as f32), (a0[at + [1, -2, -2]] as f32)));
                    } else {
                        if c2 { continue; }
                    }
                    if ({ let v22 = r0[at]; at[0] } != (at[2] >> r0[at])) {
                        r0[at] -= (v19[((r0[at] as u64) & 3) as usize] as i64);
                        let v24: u64 = { let v23 = (((r0[at] as u64) >> (a0[at + [0, 0, 2]] as u64)) - (r0[at] as u64)); c1 };
                    } else {
                        let v25: f32 = (if ((a0[[at[0] + (1), at[1] + (0), at[2] + (1)]] as u64) < ((a0[at + [1, 2, -1]] as f32) as u64)) { (-((r0[at] as f32))) } else { (r0[at] as f32) });
                        let mut v26: bool = (((a0[at - [-1, -1, 0]] * (r0[at] as f64))).powi((r0[at] as i32))).is_nan();
                    }
                }
            }
            r0[at] &= (-1i64);
        }));
    });
}

#[test]
fn random_37() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<u64>();
        let a0 = scene.array::<u64>();
        let c0: f64 = scene.scalar();
        let c1: i32 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            if (((r0[at] as f64) + c0) == ((r0[at] as f64)).min((r0[at] as f64))) {
                let mut v1 = 0;
                while v1 < 4 && (1e3f64).is_infinite() {
                    v1 += 1;
                    let mut v2 = (c0 < 2.0f64);
                }
            } else {
                r0[at] &= ((r0[at] as u64) * (((r0[at] as u64)).min((r0[at] as u64))).div_euclid((((a0[[at[0] + (1)]] as u64)).pow(3) & 6) | 1));
                let mut v3 = (((1e3f64).abs()).clamp(0.0f64, ((r0[at] as f64) - c0)) + (if ((a0[at - [-2]] as i32) <= (r0[at] as i32)) { (r0[at] as f64) } else { ((r0[at] as f64)).min(c0) }));
                let v4 = (((-3i32) as u64) as u64);
            }
            for v5 in -2..=2 {
                for v6 in -1i32..=1 {
                    let v7: u64 = (r0[at] as u64);
                    let mut v8 = 0;
                    while v8 < 4 && (a0[at] < 3u64) {
                        v8 += 1;
                        let mut v9 = (-((if (if (a0[at + [v5]] < 8u64) { ((a0[[at[0] + (1)]] as f32) < 2.0f32) } else { (c1 < 5i32) }) { ((a0[at] as f32) * (a0[[at[0] + (-1)]] as f32)) } else { ((r0[at] as f32) + (a0[at - [0]] as f32)) })));
                        r0[at] -= { let v10 = (((!8u64)).leading_zeros() as u64); ({ let v11 = r0[at]; (a0[at + [0]] as u64) } % ((v10 & 6) | 1)) };
                        if ((a0[at] as f32) < v9) { return; }
                    }
                }
            }
            r0[at] <<= (r0[at] - (if (((a0[[at[0] + (-2)]] as f32) < (-1e3f32)) || (a0[[at[0] + (-1)]] < 1u64)) { (((r0[at] as u64)).trailing_zeros() as u64) } else { ((r0[at] as u64) << 12) }));
            let v12 = (a0[at - [-2]] as f32);
            let mut v14 = ({ let v13 = (c1 & c1); (((a0[at + [1]] as i32)).leading_zeros() as i32) } >> 1);
            let mut v15 = 0;
            while v15 < 4 && false {
                v15 += 1;
                let v16: f32 = v12;
            }
            r0[at] += ((a0[at] as u64)).rem_euclid(({ let v18 = { let v17 = (r0[at] as u64); v17 }; (v12 as u64) } & 6) | 1);
        }));
    });
}

#[test]
fn random_38() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<i32>();
        let a0 = scene.array::<f32>();
        let a1 = scene.array::<i32>();
        let a2 = scene.array::<f32>();
        let c0: f64 = scene.scalar();
        let c1: f32 = scene.scalar();
        let c2: f64 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            if (((a0[at + [-2, -1]] as i32) as f32) == a0[at + [((-3.25f64) as i64).rem_euclid(5) - 2, -1]]) {
                r0[at] -= ((((r0[at] as i32) + a1[at]) + (r0[at]).abs()) ^ ((-2i32) ^ (a1[at]).div_euclid((8i32 & 6) | 1)));
                r0[at] >>= { let v1 = r0[at]; (if (0.1f32 == a0[at + [1, 1]]) { (v1).div_euclid((r0[at] & 6) | 1) } else { (7i32 ^ v1) }) };
                let mut v2: bool = (((if (a1[at] < (-1i32)) { (a2[at + [(a1[[at[0] + (-1), at[1] + ((if ((a1[at + [-1, 2]] as i32) < (-5i32)) { at[1] } else { (a0[at + [-2, 0]] as i64) }).rem_euclid(5) - 2)]] as i64).rem_euclid(5) - 2, 1]] as u64) } else { 8u64 }) | (r0[at] as u64)) > (((3u64).leading_zeros() as u64)).max((if true { (r0[at] as u64) } else { (r0[at] as u64) })));
            } else {
                let v3 = [(at[0] < (r0[at] as i64)), ((a0[at - [2, 0]] as i64) == 3i64), (true || ((a1[at + [0, -1]] as u64) < 1u64)), ((r0[at] < (-4i32)) ^ (7u64 < 8u64))];
                if { let v4 = v3[2]; true } { return; }
            }
            if ((r0[at] as u64) < 3u64) { return; }
            let mut v5: bool = (((2.0f64 / (r0[at] as f64)) as f64)).is_nan();
            v5 &= (((if ((a1[[at[0] + (0), at[1] + (1)]] as u64) < 0u64) { at[0] } else { (a0[at + [0, -2]] as i64) }) as f64) != (-((-((r0[at] as f64))))));
            if ({ let v6 = v5; v5 } && (true & true)) {
                if ((c0).max((a0[at + [1, 1]] as f64))).is_infinite() {
                    for v7 in 0..((-3i64) & 3) {
                        let v8 = c2;
                        v5 &= (if ((a0[[at[0] + (-1), at[1] + ((!v7).rem_euclid(5) - 2)]] as f32) != c1) { ((1i64 * v7) > ((a0[at + [2, 1]] as i64)).wrapping_sub(v7)) } else { ({ let v9 = ((a2[at] as i32) < (-7i32)); ((a0[at] as i64) < 1i64) } == ((a1[at] as f64)).is_nan()) });
                        if { let v10 = ((a0[at + [0, -2]] as f64) < 0.5f64); ((a1[at - [-2, 0]] as u64) < 6u64) } { continue; }
                    }
                    r0[at] &= r0[at];
                } else {
                    r0[at] *= (a0[at + [1, 2]] as i32);
                    let v12: i32 = { let v11 = (r0[at] ^ ((a0[at + [-1, 1]] as i32) + a1[at + [0, -1]])); (((a2[at + [-1, 0]] as i32)).wrapping_mul(r0[at]) ^ ((a0[at - [(r0[at] as i64).rem_euclid(5) - 2, 1]] as u64) as i32)) };
                    for v13 in -1..2 {
                        r0[at] += ((-((!a1[at + [-2, v13]]))) * (((if true { v12 } else { v12 })).leading_zeros() as i32));
                    }
                }
            } else {
                let mut v14 = 0;
                while v14 < 4 && ((a2[at + [(if ((r0[at] as u64) < 2u64) { (a2[at] as i64) } else { (a2[at - [1, ((a0[at + [0, 0]] as i64)).pow(0).rem_euclid(5) - 2]] as i64) }).rem_euclid(5) - 2, -2]] as i64) <= at[1]) {
                    v14 += 1;
                    let v16: bool = (if ((c1).hypot(a0[at + [-2, -1]]) > (a2[at + [-2, 2]] % 3.0)) { { let v15 = (if v5 { v5 } else { (a0[at - [-1, -2]] < (-3.25f32)) }); (if (at[1] < 4i64) { (a2[at + [-1, 0]] < (-2.0f32)) } else { (a1[at - [1, -2]] < 8i32) }) } } else { ((at[0] == (r0[at] as i64)) | (a1[at + [-1, 0]] > a1[at])) });
                    let mut v17 = (((a1[at + [1, 2]]).div_euclid(((r0[at] as i32) & 6) | 1) + a1[at + [1, 0]])).pow(1);
                    v17 = a1[at + [2, -2]];
                }
                for v18 in 0..((if v5 { (a1[at + [-2, 0]] as i64) } else { at[0] }) & 3) {
                    r0[at] <<= (a2[at - [1, 0]] as i32);
                    let mut v19 = 0;
                    while v19 < 4 && { let v20 = ((a0[at + [-2, 2]] as f32) < (-3.25f32)); (a1[at - [2, -2]] < 6i32) } {
                        v19 += 1;
                        if ((-0i32) != (a2[[at[0] + ((if v5 { v18 } else { (r0[at] as i64) }).rem_euclid(5) - 2), at[1] + (2)]] as i32)) { break; }
                        let mut v22 = ({ let v21 = v18; (at[0] + (a2[at - [0, -2]] as i64)) }).signum();
                    }
                }
            }
            r0[at] |= ((c1 / (a0[at] as f32)) as i32);
            r0[at] += ((if (!v5) { ((r0[at] as i32) as f64) } else { (0.0f64 - (a0[[at[0] + (2), at[1] + (0)]] as f64)) }) as i32);
        }));
    });
}

#[test]
fn random_39() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i64>();
        let a0 = scene.array::<i32>();
        let a1 = scene.array::<f64>();
        let a2 = scene.array::<i32>();
        let c0: u64 = scene.scalar();
        let c1: f32 = scene.scalar();
        let c2: i32 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            r0[at] ^= ((((r0[at]).leading_zeros() as i64) + (if (r0[at] < 6i64) { 2i64 } else { (a0[at + [1, -1, -1]] as i64) })) ^ 1);
            r0[at] += r0[at];
            r0[at] ^= ((((a1[at - [-1, 1, ((r0[at] as i64) * r0[at]).rem_euclid(5) - 2]] as f64) as i64) / ((((r0[at] as i64) - 12) & 6) | 1)) - ((!r0[at]) - 3));
            for v1 in -1..2 {
                if (!((a2[at + [v1, v1, 0]] as f64) < 0.1f64)) {
                    let mut v4 = { let v2 = c2; (((-2i32) | a0[at + [-2, 0, -2]])).rotate_left(({ let v3 = v2; v3 }) as u32) };
                    let mut v6 = (((0u64).pow(1)).rem_euclid((((r0[at] as u64)).pow(0) & 6) | 1)).abs();
                } else {
                    r0[at] ^= v1;
                    for v7 in 0..(v1 & 3) {
                        let mut v8 = [(a1[[at[0] + (v1), at[1] + (-1), at[2] + (v1)]] > a1[at + [v1, v1, 0]]), (c2 != (a1[at] as i32)), ((-1e3f64) < 0.0f64), (r0[at] == v1)];
                        let mut v9 = [((r0[at] as f32)).tanh(), (c1).ln(), (if v8[3] { (a2[at + [2, (r0[at] - 12).rem_euclid(5) - 2, -1]] as f32) } else { c1 }), c1];
                        let mut v10: i64 = (v1).max((r0[at] | (c2 as i64)));
                    }
                    if (at[0] < at[1]) { break; }
                }
                if (((a2[at - [-1, v1, v1]] as u64) + 1) == ((r0[at] as u64) as u64)) {
                    let mut v11 = ((a1[at]).trunc() * (((a2[at] as f64) - (a0[at + [v1, v1, 1]] as f64)) * (-(a1[at + [v1, v1, v1]]))));
                    v11 = (a1[at + [-1, -2, 1]]).floor();
                    if ((a2[at + [v1, v1, v1]] as f32) < 2.0f32) {
                        let mut v13 = ((((a0[at + [0, v1, -1]] as f32) * (a0[at + [v1, v1, -1]] as f32)) as i32)).wrapping_mul((-((0.1f64 as i32))));
                        r0[at] += (((v1 & r0[at]) * (0i64 & v1)) / ((((r0[at] & v1) + (v1 / ((7i64 & 6) | 1))) & 6) | 1));
                        let v14 = ((((-0.1f64)).abs() as i32) + 12);
                    } else {
                        r0[at] >>= { let v15 = (at[1] / (((v1 | 12) & 6) | 1)); v1 };
                    }
                }
                let v16 = 0.1f32;
            }
            if (if (false && ((a1[at + [0, 1, 1]] as u64) < 5u64)) { (6u64 != c0) } else { (8u64 >= c0) }) {
                let v18 = (((a0[at + [-1, 1, 2]] as u64)).wrapping_mul((c0).min((r0[at] as u64))) >> ({ let v17 = 5u64; c0 } << (a2[at + [2, -2, 0]] as u64)));
                let mut v19 = 0;
                while v19 < 4 && true {
                    v19 += 1;
                    r0[at] += ((r0[at] as i64) / (((a0[at + [2, 1, -1]] as i64) & 6) | 1));
                    if (((-1e-3f64)).is_finite() && (!(a0[at + [-1, 2, -2]] < (-0i32)))) {
                        r0[at] -= (if (if ((r0[at] as f32) <= 1e-3f32) { (a0[at - [2, 0, 1]] < (-8i32)) } else { ((a0[[at[0] + (-1), at[1] + (-1), at[2] + (0)]] as f64) < 0.1f64) }) { (!((a1[[at[0] + (2), at[1] + (2), at[2] + (2)]] as i64) << 8i64)) } else { r0[at] });
                        let v20 = (((a1[at + [-1, -1, 1]] as f32) + (c1).min(0.0f32)) as i32);
                    }
                }
            } else {
                r0[at] = (-(r0[at]));
                let v21: i32 = ((2i32 - (6i32).abs()) % ((((c2).pow(2) + (at[1] as i32)) & 6) | 1));
            }
            r0[at] |= (({ let v22 = at[0]; v22 } as i64) / ((((if (c1 < (-0.0f32)) { at[0] } else { (a1[[at[0] + (1), at[1] + (2), at[2] + (1)]] as i64) })).rem_euclid((r0[at] & 6) | 1) & 6) | 1));
            r0[at] |= ((!{ let v23 = 2i64; 1i64 })).clamp((-7i64), ((r0[at] & (a2[[at[0] + (-2), at[1] + (-1), at[2] + (2)]] as i64)) as i64));
        }));
    });
}

#[test]
fn random_40() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<u64>();
        let a0 = scene.array::<f64>();
        let a1 = scene.array::<i32>();
        let a2 = scene.array::<f64>();
        let c0: bool = scene.scalar();
        let c1: bool = scene.scalar();
        let c2: i64 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            r0[at] += ((((r0[at] as f32) * (r0[at] as f32)) % (r0[at] as f32)) as u64);
            if ((5i32 < (r0[at] as i32)) | c1) {
                if (if (((a0[at - [-2]] as f64) < (-1e3f64)) && (6i64 < (-2i64))) { ((-2i32) <= 0i32) } else { c0 }) {
                    let mut v1 = 0;
                    while v1 < 4 && ((a0[at + [2]] as f64) != (r0[at] as f64)) {
                        v1 += 1;
                        let mut v2 = ((!(c2 ^ c2))).pow(0);
                    }
                }
            } else {
                let mut v3: u64 = (a0[at - [1]] as u64);
            }
            let mut v4 = [(c2 as f64), ((a1[at] as f64)).floor(), ((a1[at + [-1]] as f64) / (r0[at] as f64)), (r0[at] as f64)];
            r0[at] ^= r0[at];
        }));
    });
}

#[test]
fn random_41() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<i64>();
        let a0 = scene.array::<f32>();
        let c0: f64 = scene.scalar();
        let c1: u64 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            if { let v1 = (c1 <= (r1[at] as u64)); (if v1 { (a0[at - [2, 2, 2]] < 1e-3f32) } else { ((a0[at + [0, 2, 0]] as f32) < 0.0f32) }) } {
                let mut v3 = (if ({ let v2 = (a0[[at[0] + (0), at[1] + (2), at[2] + (-1)]] as i64); v2 } > ((r0[at] as i64) - (r0[at] as i64))) { ((-(a0[[at[0] + (-2), at[1] + (-2), at[2] + (-1)]])) as f64) } else { ((r1[at] as f64)).clamp((-0.0f64), (c0).hypot(1e-3f64)) });
                let v5 = ((a0[at - [0, 1, 0]] as f64) - { let v4 = (if (at[1] < 7i64) { (r0[at] as f64) } else { v3 }); ((a0[at + [-1, -1, 2]] as f64) * (r1[at] as f64)) });
                r1[at] ^= (({ let v6 = c0; (r0[at] as f64) } as i64) << (!(1i64).wrapping_sub(at[2])));
            } else {
                let v7: f64 = ((if (3u64 > c1) { (c0 * (a0[at + [2, -2, -1]] as f64)) } else { ((r0[at] as f64) / 1e-2) })).min(((r0[at] as f64) * (r1[at] as f64)));
            }
            let mut v8 = (a0[at + [1, 2, 0]] as i32);
            if ((-(r1[at])) >= at[2]) {
                for v9 in -2..=2 {
                    r0[at] += { let v10 = ((r0[at]).clamp(8u64, c1) - 3); ((if (1u64 < 3u64) { r0[at] } else { c1 }) & (r0[at] - 1)) };
                    r0[at] -= { let v11 = ((c1 ^ r0[at])).signum(); ((r0[at] - v11)).div_euclid((((r1[at] as f32) as u64) & 6) | 1) };
                }
            }
            if (at[2] < 6i64) {
                let mut v13 = (if (!((a0[at + [1, 2, 1]] < 0.0f32) | (a0[at] < 0.0f32))) { { let v12 = (((a0[at + [1, -1, 2]] as f32) < (-3.25f32)) ^ (0i64 < 2i64)); ((-0.5f32) < 1e3f32) } } else { (if ((r0[at] as f64) > (r1[at] as f64)) { ((r0[at] as f64) == c0) } else { ((a0[at] as f64) < (-1e3f64)) }) });
            }
            for v14 in -2..=2 {
                v8 >>= ((((r1[at] as i32) + v8) >> (r0[at] as i32)) >> 1);
            }
            r0[at] -= (({ let v15 = r0[at]; v15 } + (c1 / ((c1 & 6) | 1)))).rotate_left((((c1 / (((a0[[at[0] + (2), at[1] + (-2), at[2] + (2)]] as u64) & 6) | 1)) + 12)) as u32);
            r1[at] *= (a0[at + [-1, -2, 1]] as i64);
        }));
    });
}

#[test]
fn random_42() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<f64>();
        let mut r1 = scene.array::<u64>();
        let a0 = scene.array::<i32>();
        let c0: i32 = scene.scalar();
        let c1: f32 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            r1[at] <<= ((((r0[at] as u64)).wrapping_sub((a0[at + [2, -2]] as u64)) - (r1[at] >> r1[at])) - (((r1[at] as u64) << r1[at])).clamp(4u64, (r1[at]).min(r1[at])));
            for v1 in 0u64..3 {
                let v2: u64 = (if ((r1[at] as i64) < 7i64) { ((v1).signum() as u64) } else { ((v1 & v1)).rotate_left(((r1[at] & 12)) as u32) });
            }
            let mut v3 = 0;
            while v3 < 4 && ((a0[at] as i64) <= (r0[at] as i64)) {
                v3 += 1;
                let v4: i64 = ((r1[at] as i64) - (((r0[at] as i64) | (r1[at] as i64))).max((at[1]).rem_euclid((at[1] & 6) | 1)));
            }
            r0[at] *= r0[at];
            r1[at] &= (!((5u64).signum() >> 12));
        }));
    });
}

#[test]
fn random_43() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<f64>();
        let a0 = scene.array::<f64>();
        let a1 = scene.array::<u64>();
        let c0: f64 = scene.scalar();
        let c1: i64 = scene.scalar();
        let c2: f32 = scene.scalar();
        check!(scene, [r0, a0, a1], (&mut r0, &a0, &a1), kernel!(|r0, a0, a1, at| {
            r0[at] -= ((if ((r0[at] as f32) < 1e-3f32) { (c0 + 3.0) } else { (c0 + a0[at + [0, 2]]) }) % c0);
            if ((a1[[at[0] + (2), at[1] + (-2)]] > (r0[at] as u64)) || (if ((a0[at - [1, 0]] as i64) < 7i64) { ((r0[at] as f32) < 0.5f32) } else { ((a0[at] as f32) < 1e3f32) })) {
                if { let v1 = (at[1] < 2i64); v1 } { return; }
            }
            let v2: u64 = (!((8i32 - (a0[at + [1, -2]] as i32)) as u64));
            let v3: i32 = (((-((r0[at] as i32))) % (((if (a1[at + [-1, 0]] < 6u64) { 2i32 } else { (a1[at] as i32) }) & 6) | 1)) + (v2 as i32));
            if ((false == (v2 < 6u64)) == (v2 < 7u64)) {
                let v6 = (if (if (if false { (a1[at + [-2, 2]] < 6u64) } else { (c1 < 0i64) }) { { let v4 = (at[1] < 8i64); v4 } } else { (v2 == a1[at + [1, 2]]) }) { (v3 * (a1[at + [2, 0]] as i32)) } else { (if (if true { (c1 < 2i64) } else { (c0 < 2.0f64) }) { { let v5 = v3; (-8i32) } } else { (v3 % ((1 & 6) | 1)) }) });
            } else {
                let mut v7: f64 = (((r0[at]).mul_add(c0, c0)).copysign(2.0f64) + ((v2 + 3) as f64));
            }
            r0[at] += (-(c0));
        }));
    });
}

#[test]
fn random_44() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<i32>();
        let a0 = scene.array::<i64>();
        let c0: f32 = scene.scalar();
        let c1: bool = scene.scalar();
        let c2: f64 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let mut v1: u64 = (r0[at] as u64);
            let v3 = [{ let v2 = a0[at]; v2 }, ((a0[at] as i64)).rem_euclid((a0[at + [-2]] & 6) | 1), a0[at + [-1]], (a0[at + [-1]] as i64)];
            let mut v4 = 0;
            while v4 < 4 && (if c1 { c1 } else { ((a0[at - [0]] as f32) < 0.0f32) }) {
                v4 += 1;
                let mut v5 = 0;
                while v5 < 4 && (r0[at] == (a0[at + [0]] as i32)) {
                    v5 += 1;
                    for v6 in 0u64..3 {
                        r0[at] &= (((r0[at] as u64) ^ 1) as i32);
                        v1 = (!v1);
                    }
                }
                if ((-0.1f32) <= (a0[at + [0]] as f32)) { continue; }
                for v7 in -1..2 {
                    let v8: i64 = ((a0[at + [-1]] as u64) as i64);
                }
            }
            let v10 = ((((r0[at] as u64) & (r0[at] as u64)) - 3) % (({ let v9 = (a0[at - [-1]] as u64); ((a0[at + [2]] as u64) >> (a0[at - [0]] as u64)) } & 6) | 1));
            let mut v11 = ((r0[at] as f64) < (-1e-3f64));
            let mut v12: u64 = v10;
            r0[at] &= (if (if v11 { (if c1 { ((a0[[at[0] + (1)]] as f64) < 3.25f64) } else { c1 }) } else { ((r0[at] as f32)).is_nan() }) { { let v13 = (r0[at]).div_euclid(((r0[at] as i32) & 6) | 1); 3i32 } } else { ((if false { r0[at] } else { r0[at] })).min({ let v14 = r0[at]; r0[at] }) });
        }));
    });
}

#[test]
fn random_45() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<i32>();
        let mut r1 = scene.array::<i32>();
        let a0 = scene.array::<u64>();
        let a1 = scene.array::<f64>();
        let a2 = scene.array::<i32>();
        let c0: u64 = scene.scalar();
        let c1: f32 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            let v1: f64 = (if (if ((a2[at + [0]] as u64) < c0) { (if (a2[at - [-1]] < 8i32) { (c1 < 2.0f32) } else { (c0 < 8u64) }) } else { ((-0.1f32)).is_infinite() }) { (((r1[at] as f64) + 0.5f64)).clamp(1e3f64, (if (2i64 < 0i64) { a1[at + [2]] } else { (r1[at] as f64) })) } else { (a1[[at[0] + (2)]] % 3.0) });
            let mut v2 = (r0[at] >> ((a2[at - [-2]] % 7i32) >> (r0[at] as i32)));
            for v3 in 0..(((r1[at] as i64) * (a0[at - [2]] as i64)) & 3) {
                v2 += r1[at];
            }
            for v4 in -1..2 {
                let mut v5 = v2;
                let mut v7 = (((v5).rotate_left((v5) as u32)).rotate_left(({ let v6 = 1i32; v5 }) as u32) as u64);
                r1[at] = (((((r1[at] as i32)).trailing_zeros() as i32) << (v5).min(r0[at])) * ((4i32 - r1[at])).max((!v5)));
            }
            r0[at] &= ((if (v2 > r0[at]) { (r1[at] + (r0[at] as i32)) } else { (v2 ^ v2) }) + a2[at + [-1]]);
            r0[at] |= ((a2[at - [(a0[at] as i64).rem_euclid(5) - 2]] as i32)).div_euclid(((if ((a1[at + [(v2 as i64).rem_euclid(5) - 2]] as f32) < 0.5f32) { (r1[at] + a2[at - [-2]]) } else { { let v8 = r0[at]; v2 } }) & 6) | 1);
            r1[at] <<= { let v9 = 5i32; ((!r0[at]) % ((3 & 6) | 1)) };
        }));
    });
}

#[test]
fn random_46() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<f64>();
        let mut r1 = scene.array::<f32>();
        let a0 = scene.array::<u64>();
        let a1 = scene.array::<f32>();
        let a2 = scene.array::<u64>();
        let c0: i32 = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: bool = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            if c2 {
                for v1 in -2..=2 {
                    for v2 in 0..((v1).abs() & 3) {
                        let v3: f64 = ((a1[at + [0, v1]] as i64) as f64);
                        r1[at] = (a0[at + [-1, v1]] as f32);
                    }
                }
                r1[at] += a1[at + [1, 0]];
                let mut v4 = 0;
                while v4 < 4 && ((-2.0f64) != (a2[[at[0] + (2), at[1] + (1)]] as f64)) {
                    v4 += 1;
                    let v5 = [(if c2 { (a2[at + [-2, 0]] as i64) } else { (a0[at] as i64) }), ((-7i64) ^ (a0[at + [-1, 2]] as i64)), (r1[at] as i64), (at[0] >> (r1[at] as i64))];
                }
            } else {
                r1[at] /= (-(r1[at]));
                let mut v6 = (((c1 as f64) / ((a2[at + [((r0[at] as i64)).min((a1[at - [-1, 0]] as i64)).rem_euclid(5) - 2, 0]] as f64)).copysign(0.5f64)) - ((a0[at - [-1, 0]] as f64)).signum());
                let mut v7 = 0;
                while v7 < 4 && (c2 && ((a0[at + [0, 0]] as i32) < 0i32)) {
                    v7 += 1;
                    let mut v8: f32 = ((-(a1[at - [1, 0]]))).sin();
                    v8 %= (-({ let v9 = (r1[at]).abs(); ((a1[at + [1, 1]] as f32) % a1[[at[0] + (1), at[1] + (-1)]]) }));
                }
            }
            for v10 in 0u64..3 {
                let v11 = (((c1 % ((a2[at + [-1, 1]] & 6) | 1)) + (a0[at + [1, 1]] * 12)) & ((c1 + 1u64) + (r1[at] as u64)));
                let mut v12 = 0;
                while v12 < 4 && (if c2 { ((a1[at + [-2, 1]] as i32) < 6i32) } else { c2 }) {
                    v12 += 1;
                    let v14: f64 = ((((a2[at + [2, 1]] as u64) as f64) - (if ((a0[at + [-1, -2]] as i64) < 7i64) { 1e3f64 } else { r0[at] }))).exp();
                }
                r1[at] = ((a0[at + [0, 1]] as f32)).clamp((-2.0f32), ((r1[at]).max(a1[[at[0] + (0), at[1] + (-2)]])).tanh());
            }
            for v15 in -2..=2 {
                let v16 = [(at[0]).rotate_left((v15) as u32), (2i64 / (((a1[at - [v15, 2]] as i64) & 6) | 1)), (v15).div_euclid(((r1[at] as i64) & 6) | 1), (if c2 { v15 } else { v15 })];
                if (a1[at + [1, v15]] < 2.0f32) {
                    for v17 in -2..=2 {
                        let mut v18: bool = false;
                        r0[at] /= (a1[at + [-2, v17]] as f64);
                    }
                    r0[at] -= (-((r1[at] as f64)));
                }
                let v19 = ((((r0[at] as f64) * (r0[at] as f64)) - 1e-2)).trunc();
            }
            r0[at] = (if (if ((a1[at - [-1, 2]] < (-3.25f32)) || c2) { (!c2) } else { { let v20 = ((a2[at + [(at[0] - (r1[at] as i64)).rem_euclid(5) - 2, -2]] as i64) < 1i64); c2 } }) { ((a2[at] as f64)).clamp((-1e-3f64), r0[at]) } else { r0[at] });
            r1[at] = (if (if { let v21 = true; (c0 < (-6i32)) } { ((a2[at + [2, -2]] as i64) < (-5i64)) } else { (if ((a2[[at[0] + (1), at[1] + (2)]] as f64) < (-1e3f64)) { (r0[at] < 0.0f64) } else { c2 }) }) { ((0.1f32 + a1[at - [2, -1]]) * (-((r0[at] as f32)))) } else { ((if (r1[at] < 0.1f32) { c0 } else { c0 }) as f32) });
            r0[at] %= ((r0[at] as f64) % { let v23 = { let v22 = (a0[at - [1, 2]] as f64); r0[at] }; (r0[at] + v23) });
            r1[at] = ((((r0[at] as f32) + 3.0)).cbrt() + 3.25f32);
        }));
    });
}

#[test]
fn random_47() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<u64>();
        let a0 = scene.array::<f32>();
        let c0: i64 = scene.scalar();
        let c1: bool = scene.scalar();
        let c2: bool = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            if ({ let v1 = (r0[at] as f64); v1 } < { let v2 = (-0.0f64); (a0[[at[0] + (-1)]] as f64) }) {
                let mut v3 = (((r0[at] as i32) * 12) as u64);
            }
            let v5: f64 = ((r0[at] as f64)).signum();
            let v7 = [((r0[at] as i32) != (r0[at] as i32)), { let v6 = (6i64 < 8i64); (c0 < 0i64) }, (c0 != (r0[at] as i64)), ((r0[at] as i32) <= (r0[at] as i32))];
            if false {
                let v8 = (!6u64);
                let v9 = c1;
                if (((a0[at] as f32) - (a0[at - [-2]] as f32))).is_infinite() {
                    if (!(v5 < (r0[at] as f64))) {
                        r0[at] -= v8;
                        let v11 = ({ let v10 = (c0 * 0i64); (a0[at + [-1]] as i64) } + c0);
                    } else {
                        let mut v12 = (a0[at - [-2]] as i32);
                        r0[at] <<= ((a0[at - [-1]] as f32) as u64);
                        let mut v16: bool = (if (((r0[at] as u64) as f64)).is_finite() { true } else { { let v14 = { let v13 = ((a0[at] as i64) < (-8i64)); ((r0[at] as u64) < 2u64) }; { let v15 = (v12 < 1i32); ((-0.1f64) < (-1e-3f64)) } } });
                    }
                    let v18: f64 = (if ((v5 as f64)).is_nan() { ({ let v17 = (a0[at + [1]] as i32); (r0[at] as i32) } as f64) } else { (r0[at] as f64) });
                }
            } else {
                let mut v19 = (if ((-1i64) >= (a0[at + [-2]] as i64)) { (if v7[((if v7[1] { (a0[at + [1]] as u64) } else { 0u64 }) & 3) as usize] { (if ((r0[at] as i32) < 2i32) { (r0[at] as u64) } else { (a0[at - [(r0[at] as i64).rem_euclid(5) - 2]] as u64) }) } else { (if ((r0[at] as f64) < (-0.1f64)) { (a0[at + [0]] as u64) } else { (a0[at - [1]] as u64) }) }) } else { (r0[at] as u64) });
            }
            r0[at] <<= (r0[at] as u64);
        }));
    });
}

#[test]
fn random_48() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i64>();
        let a0 = scene.array::<i64>();
        let c0: i32 = scene.scalar();
        let c1: bool = scene.scalar();
        let c2: bool = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            for v1 in -1i32..=1 {
                if c1 { break; }
            }
            if (((r0[at] as f64)).abs() < (r0[at] as f64)) {
                let v2 = [(r0[at] as f64), ((a0[at + [-2, -1, -2]] as f64)).signum(), (if c2 { (a0[at - [-1, -1, -1]] as f64) } else { (a0[at - [0, -2, -2]] as f64) }), ((r0[at] as f64)).floor()];
                let v3: i64 = ((a0[at + [-1, 2, 2]] as i64)).rem_euclid((((a0[at] - at[2])).signum() & 6) | 1);
            } else {
                let mut v4: bool = (c2 & (a0[at + [0, 1, -1]] < 7i64));
                let mut v5 = 0;
                while v5 < 4 && (at[1] < 5i64) {
                    v5 += 1;
                    let mut v6 = 0;
                    while v6 < 4 && ((r0[at] as u64) >= (a0[[at[0] + (2), at[1] + (1), at[2] + (2)]] as u64)) {
                        v6 += 1;
                        r0[at] &= (((-1i64) as i64) | ((((r0[at] as i64)).abs()).leading_zeros() as i64));
                        v4 ^= (((4u64 & 8u64) | 1) <= (((r0[at] as u64)).leading_zeros() as u64));
                    }
                    if ((a0[at - [0, 0, 2]] as u64) < 6u64) { continue; }
                }
                let mut v9: f64 = (if ({ let v8 = at[1]; v8 } >= ((r0[at] as u64) as i64)) { ((-((a0[at + [-2, 1, -1]] as f64))) / ((-3.25f64)).signum()) } else { ((4u64 as u64) as f64) });
            }
            let mut v11: i64 = ((r0[at]).rem_euclid(({ let v10 = (r0[at] as i64); a0[at - [-2, 1, -2]] } & 6) | 1) - (-(((a0[at + [1, -1, -1]] as i64) * 1))));
            let v12 = [(a0[[at[0] + (1), at[1] + (2), at[2] + (2)]] as f32), ((a0[at + [-2, 2, 1]] as f32)).abs(), ((r0[at] as i32) as f32), 0.5f32];
            let v15 = (if ((if c2 { c2 } else { c2 }) | { let v13 = ((r0[at] as f64) < 0.1f64); true }) { { let v14 = (!8i32); ((r0[at] as i32) % (-1i32)) } } else { (a0[at + [-2, -2, 0]] as i32) });
            r0[at] -= a0[at + [1, 2, -2]];
        }));
    });
}

#[test]
fn random_49() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<i64>();
        let mut r1 = scene.array::<f64>();
        let a0 = scene.array::<f64>();
        let a1 = scene.array::<i64>();
        let c0: i64 = scene.scalar();
        let c1: bool = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            let v1 = ((((r0[at] as i32) ^ (r1[at] as i32)) | 12) | ((r1[at] as i32) ^ 12));
            if ((r1[at] as f32)).is_infinite() { return; }
            let mut v2 = [((a0[[at[0] + (0), at[1] + (0)]] as i32) ^ 12), (v1).rotate_left(((r1[at] as i32)) as u32), (v1).min((r1[at] as i32)), (a1[[at[0] + (1), at[1] + (2)]] as i32)];
            let mut v3: f64 = (r1[at] as f64);
            r0[at] = ({ let v4 = c0; ((-6i64) + v4) } as i64);
            r1[at] -= r1[at];
        }));
    });
}

#[test]
fn random_50() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<f32>();
        let mut r1 = scene.array::<i64>();
        let a0 = scene.array::<f64>();
        let a1 = scene.array::<i32>();
        let c0: u64 = scene.scalar();
        let c1: i64 = scene.scalar();
        let c2: i64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            r1[at] |= r1[at];
            let mut v1 = ((r0[at] - (-((a1[at + [0, 1]] as f32)))) + (r0[at] * (a0[[at[0] + (-2), at[1] + (0)]] as f32)));
            r1[at] |= r1[at];
            v1 = (-1e3f32);
            v1 = (r0[at] % (((r0[at] as i32) as f32)).sqrt());
            let mut v2 = [(a1[[at[0] + (-2), at[1] + (0)]] as f64), (-((a1[at - [2, 1]] as f64))), a0[at + [-1, 0]], (a1[at] as f64)];
            r0[at] = r0[at];
            r1[at] = ((r1[at] ^ (if (r0[at] < 1e-3f32) { 3i64 } else { c2 })) >> (if (c1 >= c2) { (c1 >> c1) } else { (r1[at] >> c1) }));
        }));
    });
}

#[test]
fn random_51() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<u64>();
        let a0 = scene.array::<i32>();
        let c0: f64 = scene.scalar();
        let c1: i64 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            let mut v1: bool = ((((a0[[at[0] + (-1)]] as f64) * (r0[at] as f64)) - c0) < c0);
            for v2 in -2..=2 {
                if { let v4 = { let v3 = ((r0[at] as i64) < 1i64); ((r1[at] as f64) < 0.5f64) }; (if ((r1[at] as i32) < (-7i32)) { v1 } else { ((r0[at] as i64) < 8i64) }) } {
                    let mut v5: f32 = (r1[at] as f32);
                    v5 = (({ let v6 = (r1[at] as f32); (a0[at - [-2]] as f32) }).clamp(2.0f32, ((r0[at] as f32) * 3.0)) + ((r1[at] as f32) % (a0[at] as f32)));
                    if ((r0[at] as i32) > (r0[at] as i32)) { return; }
                } else {
                    if v1 {
                        let v7 = [c0, (c0 - (r0[at] as f64)), (if (v2 < 1i64) { (a0[at + [0]] as f64) } else { (a0[[at[0] + (-2)]] as f64) }), (-(1e-3f64))];
                        r0[at] ^= ((r1[at] as u64) + 4u64);
                        let mut v8 = (r0[at] as i32);
                    }
                }
            }
            if v1 {
                let mut v9: f64 = ((((r1[at] as f64) + (r1[at] as f64))).signum() - ((c0 + c0)).mul_add((if (r1[at] < 4u64) { 0.0f64 } else { (a0[at + [-1]] as f64) }), (a0[at - [(8i64 + c1).rem_euclid(5) - 2]] as f64)));
            } else {
                let mut v10: f64 = (r1[at] as f64);
                if ((if (at[0] < 7i64) { ((r0[at] as f32) < 1e3f32) } else { ((a0[at] as f64) < 0.5f64) }) == ((a0[at + [-2]] < 5i32) | (6u64 < 5u64))) {
                    v1 ^= (r0[at] <= ((r0[at]).wrapping_mul(0u64) + r0[at]));
                    v1 &= ((a0[at + [1]] as f32) == ({ let v11 = (a0[[at[0] + (-1)]] as f32); v11 } % (if (a0[at + [2]] < 2i32) { (r1[at] as f32) } else { 3.25f32 })));
                    if ((a0[at + [-2]]).signum() == ((a0[at - [2]] as i64) as i32)) {
                        let v12: bool = v1;
                    } else {
                        v10 = (r1[at] as f64);
                    }
                }
            }
            if v1 { return; }
            r0[at] = (((if (c0 < (-0.1f64)) { r1[at] } else { r1[at] }) * (r0[at] - 12)) ^ ((3u64).clamp(5u64, r1[at])).min({ let v13 = (r0[at] as u64); v13 }));
            r1[at] = (((a0[at + [-1]] as u64) | ((r1[at] as u64)).max(r0[at]))).abs();
        }));
    });
}

#[test]
fn random_52() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<f64>();
        let a0 = scene.array::<f32>();
        let c0: f64 = scene.scalar();
        let c1: i64 = scene.scalar();
        let c2: f32 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            let mut v1 = 0;
            while v1 < 4 && (1e3f32 == (r1[at] as f32)) {
                v1 += 1;
                let mut v2: u64 = (((c2 + 1e-3f32) - (-((r1[at] as f32)))) as u64);
            }
            let v3 = [(r1[at]).mul_add((r1[at] as f64), c0), c0, ((a0[at + [2, 2]] as f64) / r1[at]), (c0).fract()];
            if (((-4i64)).rem_euclid(((r0[at] as i64) & 6) | 1) <= { let v4 = (a0[at + [2, 0]] as i64); (r0[at] as i64) }) {
                for v5 in 0..({ let v6 = 6i64; (r1[at] as i64) } & 3) {
                    let mut v7 = (v3[((r0[at]).max((a0[at + [-1, -1]] as u64)) & 3) as usize]).min(((r1[at] + (r1[at] as f64)) / (v3[2] * r1[at])));
                    r0[at] <<= (a0[at + [-1, 1]] as u64);
                }
            } else {
                if (r1[at] >= (v3[3]).clamp((-2.0f64), 1e-3f64)) {
                    let v9: i32 = ((r0[at] as i32) >> ({ let v8 = (r1[at] as u64); v8 } as i32));
                }
            }
            let v10 = ((a0[at] as i32) as f64);
            r1[at] = v3[((r0[at] & r0[at]) & 3) as usize];
            r0[at] -= (if ((-0i64) < (-6i64)) { 7u64 } else { (r0[at] as u64) });
            r1[at] = (-(((v3[0] + r1[at])).floor()));
        }));
    });
}

#[test]
fn random_53() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i64>();
        let a0 = scene.array::<i32>();
        let c0: bool = scene.scalar();
        let c1: u64 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let mut v1: i64 = (((if ((r0[at] as i32) < (-5i32)) { (r0[at] as f64) } else { (r0[at] as f64) })).copysign((-3.25f64)) as i64);
            v1 += (((v1 << at[2]) - { let v2 = at[2]; at[0] }) | (6i64).wrapping_mul((r0[at] << v1)));
            let mut v3 = ((r0[at] as i32) as f64);
            if ((a0[at + [1, 0, 2]] as f32) < (-0.0f32)) {
                let mut v4 = ((!c1) << 1);
            }
            r0[at] ^= ((((r0[at] as f32) + (r0[at] as f32)) as i64) >> { let v5 = (if ((r0[at] as f32) < 0.0f32) { v1 } else { v1 }); (v5).min(r0[at]) });
        }));
    });
}

#[test]
fn random_54() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<f64>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<i32>();
        let a2 = scene.array::<i64>();
        let c0: f64 = scene.scalar();
        let c1: u64 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            r0[at] -= (r0[at] - { let v1 = (-(r0[at])); (c0 * (-0.0f64)) });
            let mut v2: i64 = at[0];
            let v4 = [{ let v3 = 8i64; at[0] }, a0[at + [2]], (v2).signum(), (v2 + a0[at + [2]])];
            let mut v5 = [(v2 < 0i64), ((a1[at + [-2]] as f32)).is_infinite(), (a0[[at[0] + (1)]] < a0[at + [-2]]), ((c0 < 0.5f64) ^ ((a2[at + [-1]] as f32) < 0.5f32))];
            r0[at] += (((c0 / r0[at])).powi((a0[at + [0]] as i32)) + c0);
            let v8 = { let v7 = { let v6 = ((a2[at - [v4[((c0 as u64) & 3) as usize].rem_euclid(5) - 2]] as f32) as u64); ((a2[at + [v4[0].rem_euclid(5) - 2]] as u64) / 12) }; (a0[at + [1]] as u64) };
            r0[at] = (a0[at + [2]] as f64);
        }));
    });
}

#[test]
fn random_55() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<f32>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<i32>();
        let a2 = scene.array::<f32>();
        let c0: f64 = scene.scalar();
        let c1: f64 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            for v1 in -1..2 {
                if ((a0[at + [-2, v1, -1]] as u64) < 3u64) {
                    for v2 in 0..(a0[at + [v1, v1, 2]] & 3) {
                        r0[at] -= (r0[at] as f32);
                        if ((r0[at] as i32) > 1i32) { break; }
                    }
                    if (c1 < 2.0f64) {
                        let v4: bool = ((a0[at + [v1, 1, -2]] as u64) >= { let v3 = (a0[at] as u64); (v3 | (r0[at] as u64)) });
                        if (!v4) { continue; }
                        let v7 = { let v5 = at[1]; ({ let v6 = 5i32; 0i32 } as i64) };
                    } else {
                        let mut v8 = (v1 < 5i64);
                        v8 |= (false | ((if v8 { (a0[at - [v1, v1, v1]] as f32) } else { (r0[at] as f32) }) > ((a0[[at[0] + (0), at[1] + (v1), at[2] + (-2)]] as f32) % 0.25)));
                    }
                } else {
                    if ((r0[at] as f64) < 2.0f64) {
                        let v10 = [(a1[at + [-1, 2, 0]]).rotate_left(((a0[at + [-1, v1, 1]] as i32)) as u32), ((a2[at + [2, v1, v1]] as i32) - a1[at + [v1, -2, -1]]), (7u64 as i32), { let v9 = a1[at - [v1, v1, 2]]; a1[at + [2, v1, v1]] }];
                        let mut v11 = ((((r0[at] as f32) + (a1[at] as f32)) as i32)).rem_euclid((((c1 as i32) as i32) & 6) | 1);
                        v11 &= (a1[at - [1, 1, 0]] as i32);
                    } else {
                        r0[at] = ((-(((a1[at + [2, 1, v1]] as f32) - 3.0))) + 0.25);
                    }
                    r0[at] *= (((if (a2[at + [v1, v1, -1]] < 1e-3f32) { (r0[at] as f64) } else { c1 })).clamp((-2.0f64), (r0[at] as f64)) as f32);
                }
                let mut v12 = 0;
                while v12 < 4 && ((-5i32) < 3i32) {
                    v12 += 1;
                    for v13 in -1i32..=1 {
                        let mut v14 = (if true { ((v1).rem_euclid((at[1] & 6) | 1) * at[0]) } else { 2i64 });
                        if ((a1[at + [v1, v1, v1]] as f32) > (a2[at - [-2, v1, 1]] as f32)) { break; }
                        let v15 = [(c0 - c1), ((r0[at] as f64) % (r0[at] as f64)), ((-3.25f64) * (-0.5f64)), (c1 * c0)];
                    }
                    if (v1 < a0[at + [2, v1, v1]]) { break; }
                }
            }
            let mut v16 = 0;
            while v16 < 4 && ((r0[at] as u64) <= 6u64) {
                v16 += 1;
                let v17: bool = (((-(c0))).is_infinite() & ((a0[[at[0] + (-1), at[1] + (-2), at[2] + (2)]] as u64) < 4u64));
                if (((a1[at + [1, -1, -2]] as f64) + (r0[at] as f64)) < ((a2[at + [2, -1, 1]] as f64) - (a2[at - [1, 2, -2]] as f64))) {
                    let mut v20 = ({ let v18 = (if v17 { r0[at] } else { (a0[[at[0] + (-1), at[1] + (-1), at[2] + (-1)]] as f32) }); (a2[[at[0] + (-1), at[1] + (2), at[2] + (0)]]).clamp(0.0f32, v18) }).min({ let v19 = (r0[at] as f32); r0[at] });
                    let v21 = (a1[at - [2, 0, 1]] as f64);
                    for v22 in 0..((a2[[at[0] + (-2), at[1] + (1), at[2] + (0)]] as i64) & 3) {
                        if v17 { break; }
                    }
                }
            }
            let mut v23 = 0;
            while v23 < 4 && true {
                v23 += 1;
                if (a1[at + [0, 0, 2]] < (-0i32)) { return; }
                r0[at] /= ((a2[[at[0] + (1), at[1] + (-1), at[2] + (-2)]] as f32) % (((a1[at + [1, -1, -1]] as f32) * (a2[at + [0, 1, -1]] as f32)) / (r0[at] as f32)));
                let mut v24 = 0;
                while v24 < 4 && (a0[at] < 2i64) {
                    v24 += 1;
                    let v25: bool = ((a1[at + [2, -1, (a1[at] as i64).rem_euclid(5) - 2]] as f32) < (((r0[at] as f32)).signum()).fract());
                }
            }
            let v26 = ((6i32 as i64) >> (a0[at - [-1, -1, 0]] as i64));
            let mut v27 = 0;
            while v27 < 4 && (!(c0 < (-3.25f64))) {
                v27 += 1;
                for v28 in -1..2 {
                    let mut v29 = 0;
                    while v29 < 4 && { let v30 = (a1[at + [-2, 2, 1]] < (-3i32)); (c0 < 1e-3f64) } {
                        v29 += 1;
                        r0[at] -= a2[[at[0] + (-2), at[1] + (2), at[2] + (v28)]];
                    }
                }
                for v31 in 0u64..3 {
                    r0[at] += ((if (v26 < 4i64) { ((a0[at + [2, 0, 1]] as f32) + 0.25) } else { a2[at + [2, 2, -2]] }) % r0[at]);
                    for v32 in 0..(((a0[at + [1, 0, 0]] as f32) as i64) & 3) {
                        let v35: f32 = (-({ let v33 = r0[at]; (a2[[at[0] + (-2), at[1] + (-2), at[2] + ({ let v34 = at[2]; v34 }.rem_euclid(5) - 2)]] - v33) }));
                        r0[at] *= ((-0.5f32) + (-2.0f32));
                    }
                    let mut v36 = 0;
                    while v36 < 4 && (a0[at + [-2, 1, 0]] < 3i64) {
                        v36 += 1;
                        let mut v38 = (({ let v37 = (a0[[at[0] + (-1), at[1] + (2), at[2] + (-2)]] as f64); v37 } as f64) - 0.25);
                        v38 += v38;
                        v38 -= (if ((if (v26 < 3i64) { a0[[at[0] + ((v26 * v26).rem_euclid(5) - 2), at[1] + (-1), at[2] + (0)]] } else { v26 }) >= v26) { { let v39 = ((-0.5f32) as f64); (-(v39)) } } else { ((if false { c1 } else { 3.25f64 }) % (-((a1[at + [-2, 0, -1]] as f64)))) });
                    }
                }
            }
            r0[at] = ((if (!(c0 < (-0.5f64))) { { let v40 = 0.1f32; r0[at] } } else { (if (6i32 < 5i32) { (r0[at] as f32) } else { (a0[at + [1, 0, 2]] as f32) }) }) - (a2[at + [-1, 1, 1]]).signum());
        }));
    });
}

#[test]
fn random_56() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<i64>();
        let mut r1 = scene.array::<f32>();
        let a0 = scene.array::<f32>();
        let c0: u64 = scene.scalar();
        let c1: f32 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            for v1 in 0u64..3 {
                for v2 in -2..=2 {
                    r1[at] = a0[at + [0, v2]];
                    let v3 = [(a0[at + [v2, v2]] as i32), (!0i32), ((r1[at] as i32) & 3), (r1[at] as i32)];
                    let v4: u64 = ((!(if (v2 < 2i64) { (r0[at] as u64) } else { c0 }))).min(((4u64 & c0) + (!(r1[at] as u64))));
                }
                let mut v5: f32 = a0[at];
            }
            let v6 = c1;
            for v7 in -1..2 {
                if ((1e-3f32 as f64) != { let v8 = (r0[at] as f64); 0.1f64 }) {
                    if (((a0[at + [-2, 1]] as f64) < 0.5f64) & (c0 < 4u64)) { break; }
                    r0[at] <<= (((r0[at] as f32) as i64) ^ ((v7).signum() & at[1]));
                } else {
                    let mut v10 = [(if (v7 < (-1i64)) { a0[at + [v7, v7]] } else { a0[at - [2, v7]] }), (v6 + 0.25), ((a0[at] as f32)).copysign(3.25f32), { let v9 = r1[at]; c1 }];
                }
                let v11 = ((a0[at] as i32)).min(((r1[at] as i32) % (if false { (r0[at] as i32) } else { (-0i32) })));
            }
            let v13: f64 = ((if { let v12 = ((r0[at] as f64) < 3.25f64); ((r0[at] as i32) < 1i32) } { (a0[at - [-1, 2]] as f64) } else { ((r1[at] as f64)).signum() }) + (((a0[at + [-2, 0]] as f64)).max(0.1f64) as f64));
            if (!((c1 < 1e-3f32) | true)) {
                let v15: bool = (({ let v14 = v13; (r0[at] as f64) }).is_nan() & (c0 < 3u64));
                let v16 = (v13).is_nan();
                let mut v17 = 0;
                while v17 < 4 && (if ((r1[at] as u64) < 0u64) { ((a0[at - [-1, -1]] as u64) < 3u64) } else { v15 }) {
                    v17 += 1;
                    let mut v19 = [(if ((r1[at] as u64) < 6u64) { (r0[at] as f64) } else { (a0[at + [0, { let v18 = at[0]; (-2i64) }.rem_euclid(5) - 2]] as f64) }), (v13 + (r1[at] as f64)), ((a0[at - [-1, 0]] as i64) as f64), ((r0[at] as f64)).min((r0[at] as f64))];
                    if v16 {
                        r1[at] *= v6;
                    }
                    if (!((a0[at + [-1, -2]] as i64) < 6i64)) {
                        let mut v20: i32 = (r1[at] as i32);
                        r1[at] *= (v6 - ((a0[at + [0, -2]] + r1[at]) - (r1[at] + r1[at])));
                        r0[at] *= ((if ((v19[1] < (-3.25f64)) | ((a0[[at[0] + (-2), at[1] + (2)]] as u64) < 4u64)) { (r0[at] ^ at[1]) } else { ((-4i32) as i64) })).signum();
                    } else {
                        r1[at] = (if { let v21 = v15; { let v22 = (v13 < 1e3f64); v16 } } { c1 } else { ((v6 - 1e-3f32) + 1e-2) });
                    }
                }
            } else {
                let v23 = ((((r1[at] as i64) - r0[at])).pow(3) | ((r0[at] - (a0[at] as i64)) >> r0[at]));
            }
            r0[at] ^= (-(((4i32 | 1) as i64)));
            r1[at] /= (if { let v24 = (true == (v6 < 0.0f32)); (v6 >= v6) } { { let v26 = { let v25 = (-3.25f32); a0[at] }; (-(a0[at + [2, -1]])) } } else { (if (c0 < (r1[at] as u64)) { c1 } else { (r1[at]).hypot((r1[at] as f32)) }) });
        }));
    });
}

#[test]
fn random_57() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<i32>();
        let mut r1 = scene.array::<f32>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<u64>();
        let a2 = scene.array::<i64>();
        let c0: i32 = scene.scalar();
        let c1: i32 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            let v3 = { let v1 = (((a2[[at[0] + (-1)]] as f32)).fract() % (1e-3f32 + (r0[at] as f32))); (if (!(a1[at - [0]] < 7u64)) { { let v2 = r1[at]; v1 } } else { ((-1e-3f32)).signum() }) };
            r1[at] %= (((r1[at] - 0.25) / (-(r1[at]))) - ((r1[at] + (-1e3f32))).hypot((1e3f32).cbrt()));
            let mut v4 = 0;
            while v4 < 4 && { let v5 = (a1[at] < 4u64); v5 } {
                v4 += 1;
                let v6 = ((a2[[at[0] + (-2)]] as i64) * 1);
                for v7 in 0u64..3 {
                    let mut v8 = 0;
                    while v8 < 4 && ((r0[at] as i32) < (-4i32)) {
                        v8 += 1;
                        let v9 = ((((-3.25f64) as f32)).min(((a0[at] as f32)).hypot((a0[at + [2]] as f32))) * (((r1[at] as f32) + (a1[at + [1]] as f32)) * 3.0));
                        let v10: i32 = (((c0 / ((c0 & 6) | 1))).max((4i32 + (a1[at + [1]] as i32))) * ((c0 + r0[at]) + r0[at]));
                    }
                }
            }
            if (((r1[at] as i64) as f64) != ((a1[at + [-2]] as f64) % 1e-2)) {
                if (r0[at] < 6i32) {
                    if ((r1[at] as f64) < (-2.0f64)) {
                        r0[at] += { let v11 = ((c1 % ((1i32 & 6) | 1)) | r0[at]); ((!v11) ^ (r0[at] - c1)) };
                        let v12: i32 = (if (!(c0 < (-6i32))) { r0[at] } else { ((a1[at + [-2]] as i64) as i32) });
                    } else {
                        let v13: i32 = ((((a1[at] as u64) + 3) as i32) & (if ((c1 < 2i32) ^ ((a1[at + [1]] as f64) < 3.25f64)) { 6i32 } else { c0 }));
                    }
                } else {
                    let v14: i64 = ((((r1[at] as i64) >> a2[at - [-1]]) - (at[0] + 5i64))).pow(2);
                    r1[at] = (((v3 * r1[at]) % 1e-3f32) * ((-((a0[[at[0] + (2)]] as f32))) + (r1[at] - v3)));
                    r0[at] += (-0i32);
                }
            }
            r0[at] >>= (!({ let v15 = (r0[at] as i32); v15 } + (1i64 as i32)));
            r1[at] -= v3;
        }));
    });
}

#[test]
fn random_58() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i32>();
        let mut r1 = scene.array::<i32>();
        let a0 = scene.array::<u64>();
        let a1 = scene.array::<i32>();
        let c0: u64 = scene.scalar();
        let c1: f32 = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            r0[at] |= (((a1[at + [-1, { let v1 = (a1[at + [2, 1, 2]] as i64); v1 }.rem_euclid(5) - 2, -2]] as i32) as i32) + (r1[at] as i32));
            for v2 in -2..=2 {
                r0[at] >>= a1[at + [v2, 1, v2]];
                if (c1).is_infinite() { continue; }
                let mut v5: i32 = (((4i64 as i32) * r0[at]) - (if { let v3 = (0.5f32 < 0.5f32); false } { (v2 as i32) } else { { let v4 = a1[at + [1, v2, v2]]; (-6i32) } }));
            }
            let mut v7 = ((a1[at + [0, 1, 1]] as f64) / { let v6 = (r0[at] as f64); ((r1[at] as f64) - (r1[at] as f64)) });
            r0[at] |= { let v8 = a1[at + [2, -1, -1]]; { let v9 = ((r0[at] as i32) >> v8); (r0[at] as i32) } };
            r1[at] >>= ((r0[at] as i32) + (((a1[at + [-2, -1, 0]] as i32) + r1[at]) << (r0[at] as i32)));
        }));
    });
}

#[test]
fn random_59() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i32>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<i32>();
        let c0: i64 = scene.scalar();
        let c1: f64 = scene.scalar();
        check!(scene, [r0, a0, a1], (&mut r0, &a0, &a1), kernel!(|r0, a0, a1, at| {
            for v1 in 0..({ let v2 = at[1]; a0[at + [1, -1, 1]] } & 3) {
                if (v1 < 6i64) { break; }
            }
            r0[at] >>= (-({ let v3 = (if ((a1[[at[0] + (-1), at[1] + (-2), at[2] + (1)]] as f64) < 1e-3f64) { a1[at - [2, -1, 1]] } else { 0i32 }); (a0[[at[0] + (1), at[1] + (2), at[2] + (-2)]] as i32) }));
            if (a1[at + [2, -1, 1]] <= (if (r0[at] < (-3i32)) { a1[at] } else { (a0[at] as i32) })) {
                for v4 in -2..=2 {
                    let v5 = ((a1[at + [2, -2, 1]] as u64) | 1);
                }
                let mut v8: bool = ({ let v6 = (2.0f32 + (a0[at + [0, 0, 2]] as f32)); (if (c1 < (-0.5f64)) { v6 } else { v6 }) } > { let v7 = ((r0[at] as i32) as f32); (v7 - v7) });
            } else {
                for v9 in 0u64..3 {
                    if ((c1 + 3.25f64)).is_finite() {
                        let mut v10 = ((r0[at] as f64)).powi(((a0[at] as i32)).min(a1[at + [0, 0, 1]]));
                    } else {
                        r0[at] <<= ((r0[at] / (((a1[at - [0, 0, -1]] as i32) & 6) | 1)) + (((a1[at - [a0[at + [0, 0, -2]].rem_euclid(5) - 2, 0, 2]] as i32) as i64) as i32));
                        let mut v11: i32 = (if (!((a1[at + [0, 0, -2]] as i32) >= (a0[[at[0] + (2), at[1] + (-2), at[2] + (2)]] as i32))) { r0[at] } else { ((r0[at]).clamp(3i32, (a1[[at[0] + (-1), at[1] + (-1), at[2] + (0)]] as i32)) + ((r0[at] as i32)).rotate_left(((r0[at] as i32)) as u32)) });
                        let v12 = ((a0[at + [-2, 2, -1]] << (a0[at + [-2, 0, 0]] | a0[at])) & (a0[at]).div_euclid(((c0 * (-1i64)) & 6) | 1));
                    }
                    for v13 in -1i32..=1 {
                        let mut v14: i64 = c0;
                        v14 >>= ({ let v15 = (a0[at + [0, 0, 1]] / ((c0 & 6) | 1)); (-(a0[at])) } & { let v16 = (a0[at]).pow(3); { let v17 = v16; a0[at] } });
                    }
                    let mut v20 = { let v18 = (((r0[at] as i32) + (r0[at] as i32))).max((a0[at] as i32)); ({ let v19 = 3i32; a1[at + [-2, 0, -1]] } as i32) };
                }
                let mut v21: f32 = (0.5f32 - 0.25);
            }
            let mut v22 = [(a1[at + [2, -2, 2]]).rotate_left((a1[[at[0] + (-1), at[1] + (0), at[2] + (0)]]) as u32), ((r0[at] as i32) * (a0[at] as i32)), r0[at], ((-7i32) - (a1[at + [0, 1, 0]] as i32))];
            r0[at] >>= ((-((-((r0[at] as f64))))) as i32);
        }));
    });
}
