//! Random kernels. Made by `cargo xtask corpus --seed 2 --count 60`; do not edit.

use tida::prelude::*;

use crate::judge::check;
use crate::scene::over;

#[test]
fn random_0() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<u64>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<i32>();
        let c0: f64 = scene.scalar();
        let c1: bool = scene.scalar();
        let c2: i64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            let mut v1 = r1[at];
            r0[at] -= v1;
            r0[at] *= ((v1 * 5u64)).clamp(3u64, { let v2 = r0[at]; r1[at] });
            r1[at] *= v1;
        }));
    });
}

#[test]
fn random_1() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<i32>();
        let mut r1 = scene.array::<u64>();
        let a0 = scene.array::<f64>();
        let a1 = scene.array::<u64>();
        let c0: u64 = scene.scalar();
        let c1: i32 = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            if (c1 < (-8i32)) {
                let mut v1: i32 = (c1 & c1);
                if true {
                    let v2 = [(a1[at] + c0), ((a0[at] as f64) as u64), (a1[at + [0]] >> c0), ((r0[at] as i64) as u64)];
                }
            }
            let v4 = ({ let v3 = 1e3f64; (a0[[at[0] + (2)]] as f64) } as i64);
            let mut v5 = 0;
            while v5 < 4 && { let v6 = true; v6 } {
                v5 += 1;
                let v7 = (if (c0 <= r1[at]) { (-((r1[at] as f64))) } else { (-((r1[at] as f64))) });
                r0[at] *= r0[at];
            }
            if false {
                if { let v8 = ((r0[at] as f32)).is_finite(); v8 } {
                    let mut v9 = (a1[[at[0] + ((((r1[at] as i64)).trailing_zeros() as i64).rem_euclid(5) - 2)]] as f32);
                }
                let mut v10 = 0;
                while v10 < 4 && ((a1[[at[0] + (2)]] as f32)).is_finite() {
                    v10 += 1;
                    let v11 = (-0.1f64);
                    let v13 = (c1).abs();
                }
            } else {
                let v14: f64 = (a0[at - [-1]]).signum();
            }
            r0[at] &= { let v15 = (c1 as i32); (r0[at] * (a1[at + [-2]] as i32)) };
            r1[at] *= (((r1[at] as f32) as u64)).clamp(6u64, ((a0[at - [0]] as f32) as u64));
        }));
    });
}

#[test]
fn random_2() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<i32>();
        let a0 = scene.array::<f32>();
        let a1 = scene.array::<f32>();
        let a2 = scene.array::<i64>();
        let c0: f64 = scene.scalar();
        let c1: bool = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            for v1 in -1..2 {
                for v2 in 0u64..3 {
                    r1[at] &= (r1[at] & ((a0[at - [-1, 2, v1]] as i32) - r1[at]));
                }
                let mut v3 = 0;
                while v3 < 4 && ((a1[at] as f64) < (a0[at + [-2, v1, v1]] as f64)) {
                    v3 += 1;
                    let mut v5 = [((r1[at] as f64) == (a0[at + [-1, v1, v1]] as f64)), { let v4 = (r0[at] < 6u64); ((r1[at] as i32) < 3i32) }, true, c1];
                }
            }
            let mut v6 = (if ((r1[at] as i64) == at[1]) { (if (r0[at] < 3u64) { 1u64 } else { (a2[at + [1, -1, -2]] as u64) }) } else { ((r0[at] as u64) / r0[at]) });
            r1[at] += (a2[at + [2, 0, -1]] as i32);
            r0[at] -= (if c1 { (if c1 { 7u64 } else { r0[at] }) } else { (if ((r0[at] as i64) < 0i64) { 4u64 } else { v6 }) });
            r1[at] &= ((((r0[at] as i32) - (a2[at + [1, 2, -2]] as i32))).leading_zeros() as i32);
        }));
    });
}

#[test]
fn random_3() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<i32>();
        let mut r1 = scene.array::<f64>();
        let a0 = scene.array::<i32>();
        let a1 = scene.array::<f64>();
        let c0: i32 = scene.scalar();
        let c1: bool = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            if ((a1[at + [-1, 1]] as f64)).is_finite() {
                let mut v1 = [((a0[[at[0] + (1), at[1] + (2)]] as i64)).clamp(2i64, (r0[at] as i64)), (at[1] | at[0]), (at[1]).rem_euclid(((a0[at] as i64) & 6) | 1), ((r0[at] as i64) >> (a0[at + [1, 1]] as i64))];
                r0[at] &= ((c0).div_euclid(((a1[at + [-1, 1]] as i32) & 6) | 1) & (r0[at] ^ a0[at + [0, -2]]));
            } else {
                let v2: f64 = (r1[at] as f64);
            }
            if { let v3 = (if ((r0[at] as f32) < (-3.25f32)) { ((r1[at] as f32) < 1e3f32) } else { c1 }); (true && v3) } {
                let mut v4 = (((a0[at] as f64) as f32)).min((if ((a1[at + [2, 1]] as i64) < 6i64) { (a1[at - [0, -2]] as f32) } else { (a0[at + [2, -2]] as f32) }));
            } else {
                let mut v5 = 0;
                while v5 < 4 && (at[1] < (a0[[at[0] + (-1), at[1] + (-1)]] as i64)) {
                    v5 += 1;
                    let v6: f64 = (a1[at + [-2, 2]] * (-(a1[at + [1, -1]])));
                    if ((a0[at + [2, 0]] as f32) > (a0[at - [1, 0]] as f32)) { break; }
                }
                for v7 in -1..2 {
                    if (at[0] < (-2i64)) { continue; }
                }
            }
            let v8: bool = ((a1[at + [-1, -2]] as f32) < 0.0f32);
            r0[at] = (if (!v8) { (a0[[at[0] + (2), at[1] + (1)]] / (((r1[at] as i32) & 6) | 1)) } else { (a0[at + [-1, 2]] as i32) });
            r1[at] /= (-((a1[at + [2, -1]]).copysign(2.0f64)));
        }));
    });
}

#[test]
fn random_4() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<i32>();
        let mut r1 = scene.array::<f32>();
        let a0 = scene.array::<u64>();
        let c0: u64 = scene.scalar();
        let c1: i32 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            if (at[0] < 3i64) { return; }
            if ((3.25f32 + r1[at])).is_infinite() {
                r1[at] *= ((c1 as f32) - ((r0[at] as f64) as f32));
            } else {
                for v1 in -2..=2 {
                    r0[at] |= ((v1 * (r1[at] as i64)) as i32);
                    let v3 = ((!v1)).max({ let v2 = 6i64; v2 });
                }
                if (r0[at] <= (r0[at] as i32)) { return; }
            }
            if { let v4 = (r1[at] < 1e-3f32); ((r1[at] as f32) < r1[at]) } {
                r0[at] >>= c1;
            }
            r0[at] += ((r1[at] as i32)).wrapping_sub((r0[at] + r0[at]));
            r1[at] *= ((r1[at]).max(r1[at]) + 3.25f32);
        }));
    });
}

#[test]
fn random_5() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<f64>();
        let a0 = scene.array::<i32>();
        let c0: u64 = scene.scalar();
        let c1: u64 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            r0[at] *= { let v1 = ((r0[at] as f64)).cbrt(); (r0[at]).copysign(0.0f64) };
            if (!(c0 < 3u64)) {
                let mut v2: f32 = (((a0[at + [-2, -1, -2]] as u64) as f32)).recip();
            } else {
                let mut v3: u64 = (((a0[at - [-2, 0, 0]] as f32) as u64) * (a0[at + [0, 2, -1]] as u64));
            }
            r0[at] *= ((r0[at] % (a0[at + [2, 2, -2]] as f64)) + (r0[at]).copysign(1e-3f64));
            if (((a0[at + [0, -2, 2]] as f32)).clamp(0.1f32, (r0[at] as f32))).is_infinite() {
                let v4: f64 = ((1e-3f64).copysign((-0.5f64))).clamp(0.0f64, (r0[at] as f64));
            }
            r0[at] %= r0[at];
        }));
    });
}

#[test]
fn random_6() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<i32>();
        let a0 = scene.array::<i32>();
        let a1 = scene.array::<f64>();
        let a2 = scene.array::<i32>();
        let c0: bool = scene.scalar();
        let c1: bool = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            let v2: bool = ({ let v1 = c1; c0 } && false);
            if ((a2[at + [1]] as i64) < ((-0i64) ^ (a0[at] as i64))) {
                let mut v3 = 0;
                while v3 < 4 && v2 {
                    v3 += 1;
                    let mut v6 = [(a1[at]).hypot((a1[[at[0] + (0)]] as f64)), { let v4 = a1[[at[0] + (0)]]; a1[at + [-1]] }, (a1[at + [0]] as f64), { let v5 = a1[at + [-2]]; a1[at + [-1]] }];
                }
                if (((a0[at + [-1]] as f32)).cbrt() < ((r0[at] as f64) as f32)) {
                    r0[at] += ((a2[[at[0] + (-2)]] as i32) << ((a1[at + [0]] as i32) * a0[at + [((a1[[at[0] + (0)]] as i64) % (((r0[at] as i64) & 6) | 1)).rem_euclid(5) - 2]]));
                } else {
                    let mut v7 = [((a2[at + [2]] as i32) >> (a2[at + [-2]] as i32)), ((-3i32)).max((a1[at] as i32)), (r0[at]).rotate_left(((a0[at + [-1]] as i32)) as u32), ((a1[at + [at[0].rem_euclid(5) - 2]] as i64) as i32)];
                    r0[at] ^= (!a0[at + [2]]);
                }
            }
            r0[at] = ((a1[at + [-2]] as i32)).rotate_left((((-4i32) - a0[at + [2]])) as u32);
            r0[at] = (((a2[at + [((r0[at] as i64)).min((a0[at] as i64)).rem_euclid(5) - 2]] as i32) + a0[[at[0] + (2)]]) << ((a1[at + [1]] as i32) - 12));
        }));
    });
}

#[test]
fn random_7() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<i64>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<f64>();
        let a2 = scene.array::<f64>();
        let c0: f64 = scene.scalar();
        let c1: bool = scene.scalar();
        let c2: u64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            for v1 in -1i32..=1 {
                let mut v3 = [{ let v2 = r1[at]; r1[at] }, (if true { at[0] } else { (-0i64) }), at[0], (a1[at + [0]] as i64)];
                r1[at] |= ({ let v4 = r1[at]; 6i64 } as i64);
            }
            let mut v5 = 0;
            while v5 < 4 && (if (a1[at + [-2]] < (-1e-3f64)) { true } else { (a1[[at[0] + (1)]] < 1e-3f64) }) {
                v5 += 1;
                for v6 in 0u64..3 {
                    let mut v7: f32 = (((a1[[at[0] + (0)]] as f32) - (r0[at] as f32)) % ((-0.5f64) as f32));
                    let v8: i32 = (if (c1 || (c0 < 3.25f64)) { (a2[at] as i32) } else { ((a1[at] as i32)).pow(3) });
                }
                let v9 = ((a2[at + [2]] as u64) - r0[at]);
            }
            if (5u64 < 2u64) {
                r1[at] *= ({ let v10 = 3i64; a0[at + [2]] } ^ 1);
            } else {
                let mut v11 = 0;
                while v11 < 4 && c1 {
                    v11 += 1;
                    if (c2 == r0[at]) { continue; }
                }
                r1[at] -= (!((a0[at] as i64)).max(6i64));
            }
            r0[at] >>= ((r0[at] + 1)).pow(1);
            r1[at] <<= a0[[at[0] + (-2)]];
        }));
    });
}

#[test]
fn random_8() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i64>();
        let mut r1 = scene.array::<f64>();
        let a0 = scene.array::<u64>();
        let c0: f64 = scene.scalar();
        let c1: i64 = scene.scalar();
        let c2: bool = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            let v1: i64 = r0[at];
            let mut v2 = c0;
            let mut v5 = { let v4 = { let v3 = (a0[at] as i32); 0i32 }; v4 };
            let mut v6: bool = ((r0[at] as f32)).is_finite();
            r0[at] >>= ((c1 / ((at[2] & 6) | 1))).max((5i64 - 3i64));
            r1[at] *= ({ let v7 = r1[at]; v2 } + ((a0[at + [-1, 1, 1]] as u64) as f64));
        }));
    });
}

#[test]
fn random_9() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<i64>();
        let mut r1 = scene.array::<f64>();
        let a0 = scene.array::<u64>();
        let c0: bool = scene.scalar();
        let c1: i64 = scene.scalar();
        let c2: bool = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            for v1 in -1i32..=1 {
                let v2: f64 = (r0[at] as f64);
            }
            let mut v3: f64 = (-0.0f64);
            v3 %= (c1 as f64);
            r0[at] <<= { let v4 = (r0[at] * r0[at]); at[0] };
            r1[at] %= (if ((a0[at] as f32) < (-2.0f32)) { (v3).max(0.1f64) } else { { let v5 = (a0[at - [0]] as f64); (a0[at + [0]] as f64) } });
        }));
    });
}

#[test]
fn random_10() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<i64>();
        let mut r1 = scene.array::<f64>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<f32>();
        let a2 = scene.array::<f64>();
        let c0: i64 = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: u64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            let mut v1: f64 = (3.25f64 - 1e-2);
            let mut v2: i64 = r0[at];
            r0[at] -= 3i64;
            r1[at] -= (((r0[at] as f64) - 2.0f64)).round();
        }));
    });
}

#[test]
fn random_11() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<f64>();
        let a0 = scene.array::<i32>();
        let c0: u64 = scene.scalar();
        let c1: i64 = scene.scalar();
        let c2: i32 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let mut v1: i32 = (((a0[at + [1, 1, 2]] as f32)).abs() as i32);
            v1 &= ((v1 - v1)).div_euclid((v1 & 6) | 1);
            v1 >>= (a0[at]).rotate_left(((a0[at + [-1, 1, 1]]).signum()) as u32);
            let mut v2 = 0;
            while v2 < 4 && (!((a0[at - [2, -1, 1]] as f32) < 1e3f32)) {
                v2 += 1;
                let v4 = { let v3 = ((r0[at] as i64) < (-8i64)); (((a0[at + [2, 2, -1]] as f32) < (-3.25f32)) | v3) };
            }
            r0[at] /= (((-0.1f32) - (r0[at] as f32)) as f64);
        }));
    });
}

#[test]
fn random_12() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<i64>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<i32>();
        let c0: u64 = scene.scalar();
        let c1: f64 = scene.scalar();
        check!(scene, [r0, a0, a1], (&mut r0, &a0, &a1), kernel!(|r0, a0, a1, at| {
            let mut v1 = 0;
            while v1 < 4 && (0i32 < 3i32) {
                v1 += 1;
                for v2 in -2..=2 {
                    let v3: f32 = ((r0[at] as f32) / ((r0[at] as f32)).exp());
                }
            }
            let v4 = (a1[[at[0] + (-1), at[1] + (2)]] >= (-((r0[at] as i32))));
            let v5: bool = ((at[0] < 8i64) & v4);
            r0[at] = (if ((a0[at + [-2, 1]] as u64) < 5u64) { (at[0] >> (a0[at - [-1, 1]] as i64)) } else { (if ((r0[at] as u64) < 7u64) { (-3i64) } else { (a1[at + [2, -1]] as i64) }) });
            r0[at] -= ((a1[at - [-1, 0]] as i64) >> 1);
        }));
    });
}

#[test]
fn random_13() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<f64>();
        let a0 = scene.array::<u64>();
        let c0: i32 = scene.scalar();
        let c1: f32 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let v1 = (a0[[at[0] + (-2), at[1] + (-1), at[2] + (0)]] as u64);
            if (if true { ((r0[at] < 1e3f64) == ((a0[at + [-1, 2, -2]] as i64) < 2i64)) } else { { let v2 = (c1 < 0.5f32); v2 } }) {
                if { let v3 = (7i32 < (-0i32)); (v1 < 7u64) } { return; }
                let v5: bool = ({ let v4 = c1; c1 } > (r0[at] as f32));
            } else {
                if ((a0[at + [-1, 0, 1]] | v1) != (a0[at - [-1, 0, -2]] + (a0[at + [-1, -2, 1]] as u64))) {
                    let v6 = false;
                    let v7 = (at[1] >> ((r0[at] as i64) % (((a0[at + [-1, 2, 1]] as i64) & 6) | 1)));
                }
            }
            r0[at] = (((a0[at] as f64) + r0[at]) - (if true { (a0[at - [-1, -1, 2]] as f64) } else { r0[at] }));
            r0[at] += { let v9 = { let v8 = r0[at]; 0.0f64 }; { let v10 = (-1e-3f64); v10 } };
        }));
    });
}

#[test]
fn random_14() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<f64>();
        let a0 = scene.array::<f32>();
        let a1 = scene.array::<i64>();
        let a2 = scene.array::<f64>();
        let c0: i64 = scene.scalar();
        let c1: f64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            for v1 in -1..2 {
                let v2: i64 = (!(at[2] / ((at[1] & 6) | 1)));
            }
            let v3 = [((a1[[at[0] + (0), at[1] + ((4i64 - 12).rem_euclid(5) - 2), at[2] + (0)]] < 6i64) & ((a2[at + [1, -2, 2]] as u64) < 7u64)), (!(at[0] < (-2i64))), (a0[at + [-1, 1, -2]] <= (r1[at] as f32)), ((c1 < 1e-3f64) || (c0 < (-6i64)))];
            let mut v5 = ((r0[at] as f64) % { let v4 = a2[[at[0] + (-2), at[1] + (2), at[2] + (0)]]; v4 });
            v5 -= (((r1[at] as f64)).clamp(3.25f64, 3.25f64) - (r1[at] % r1[at]));
            r0[at] += (if (((-1e3f32) < (-0.0f32)) | ((a1[[at[0] + (0), at[1] + (-1), at[2] + (-1)]] as i32) < 1i32)) { (if ((r1[at] as f32) < (-0.1f32)) { (a0[at + [2, -1, 2]] as u64) } else { r0[at] }) } else { r0[at] });
            r1[at] %= r1[at];
        }));
    });
}

#[test]
fn random_15() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<f64>();
        let mut r1 = scene.array::<i64>();
        let a0 = scene.array::<i32>();
        let a1 = scene.array::<u64>();
        let c0: f64 = scene.scalar();
        let c1: i64 = scene.scalar();
        let c2: f64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            if (r1[at] < (-7i64)) {
                r0[at] -= ((r0[at]).mul_add((-1e-3f64), r0[at]) * (r1[at] as f64));
                let v1 = (((a1[at - [1, 2]] as u64) + (a0[at + [1, 2]] as u64)) / ((((a0[[at[0] + (1), at[1] + ((c1).clamp(7i64, at[0]).rem_euclid(5) - 2)]] as u64) as u64) & 6) | 1));
            }
            let mut v2 = 0;
            while v2 < 4 && (!((a0[at - [1, -2]] as f32) < (-0.1f32))) {
                v2 += 1;
                let mut v3 = 0;
                while v3 < 4 && ((a1[at + [-1, 0]] as i32) < (-1i32)) {
                    v3 += 1;
                    r1[at] += ((a1[[at[0] + (-2), at[1] + (-1)]] as u64) as i64);
                    let mut v4: f64 = ((2.0f64 * c2)).min((r0[at] + r0[at]));
                }
                let mut v5 = 0;
                while v5 < 4 && (3.25f32).is_nan() {
                    v5 += 1;
                    let mut v7 = { let v6 = (c1).pow(1); (a1[at + [-2, -1]] as i64) };
                    v7 <<= ((a1[at] as i64) - c1);
                }
            }
            let mut v8 = 0;
            while v8 < 4 && true {
                v8 += 1;
                let mut v9 = [(c1 as f32), (r1[at] as f32), (a0[at + [1, 0]] as f32), ((-0.0f32) % (a1[at - [0, 0]] as f32))];
                v9[(3u64 & 3) as usize] %= (if (v9[1] == (r1[at] as f32)) { v9[((a1[at + [-2, 1]] as u64) & 3) as usize] } else { v9[(((a1[[at[0] + (-1), at[1] + (-1)]] as u64) % ((a1[at] & 6) | 1)) & 3) as usize] });
            }
            r0[at] -= (if (r0[at] < 0.5f64) { (if (c1 < (-8i64)) { c2 } else { r0[at] }) } else { { let v10 = 1e-3f64; r0[at] } });
            r1[at] = c1;
        }));
    });
}

#[test]
fn random_16() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<f64>();
        let a0 = scene.array::<i32>();
        let c0: i32 = scene.scalar();
        let c1: i64 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let v1: f32 = (((r0[at] as f32) + (r0[at] as f32))).mul_add((a0[at + [-2, -2, 1]] as f32), (r0[at] as f32));
            for v2 in 0u64..3 {
                if (r0[at]).is_finite() { continue; }
                let v4: bool = { let v3 = (r0[at] >= r0[at]); ((a0[at + [0, 2, 0]] as i64) < 2i64) };
            }
            r0[at] %= { let v5 = (-2.0f64); 1e-3f64 };
        }));
    });
}

#[test]
fn random_17() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i64>();
        let a0 = scene.array::<i32>();
        let c0: i64 = scene.scalar();
        let c1: u64 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            if (c1 == ((a0[at + [-2, 0, c0.rem_euclid(5) - 2]] as u64) >> c1)) {
                let v1: f32 = ((if (c1 < 2u64) { (a0[at + [-2, -1, 0]] as f32) } else { (a0[at - [2, -1, 1]] as f32) })).clamp((-3.25f32), ((r0[at] as f32) * 0.1f32));
            } else {
                r0[at] = (r0[at]).rem_euclid(((c0).abs() & 6) | 1);
            }
            let v2 = ((c0 < 5i64) == false);
            r0[at] <<= ((if v2 { c0 } else { r0[at] }) + (if (c1 < 0u64) { r0[at] } else { at[0] }));
        }));
    });
}

#[test]
fn random_18() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<f32>();
        let a0 = scene.array::<f32>();
        let c0: i32 = scene.scalar();
        let c1: u64 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let v1 = ((r0[at] as i32) >> (r0[at] as i32));
            let v2: i64 = ((if ((a0[[at[0] + (-2)]] as f64) < 3.25f64) { (r0[at] as i64) } else { (a0[at + [-1]] as i64) }) | ((a0[at] as i64) - 0i64));
            let mut v3: f64 = (a0[at + [-1]] as f64);
            r0[at] %= { let v4 = ((a0[[at[0] + (-2)]] as f32) * a0[at + [2]]); ((a0[at + [1]] as f32)).max(r0[at]) };
        }));
    });
}

#[test]
fn random_19() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<i64>();
        let mut r1 = scene.array::<i32>();
        let a0 = scene.array::<u64>();
        let c0: i32 = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: u64 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            let v2 = ({ let v1 = (r0[at] as f64); (a0[at + [2]] as f64) } - (if ((r0[at] as f32) < (-1e3f32)) { (r1[at] as f64) } else { (r1[at] as f64) }));
            r0[at] |= ((r0[at] + (r1[at] as i64)) / (((if ((r1[at] as f32) < 0.5f32) { r0[at] } else { 8i64 }) & 6) | 1));
            let mut v3: bool = (c1 < 2u64);
            r0[at] ^= (if (v3 | (r1[at] < (-2i32))) { (r0[at]).div_euclid((r0[at] & 6) | 1) } else { { let v4 = r0[at]; v4 } });
            r1[at] *= 7i32;
        }));
    });
}

#[test]
fn random_20() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i32>();
        let a0 = scene.array::<f64>();
        let c0: u64 = scene.scalar();
        let c1: i64 = scene.scalar();
        let c2: u64 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let v1 = ((if (c1 < 5i64) { (a0[at + [0, 2, 2]] as f32) } else { (r0[at] as f32) }) + ((a0[[at[0] + (0), at[1] + (2), at[2] + (-1)]] as f32)).round());
            for v2 in 0..(c1 & 3) {
                let mut v3 = (((r0[at] as f32) / (r0[at] as f32)) + (-((a0[at + [1, -1, 0]] as f32))));
            }
            if (((a0[[at[0] + (2), at[1] + (0), at[2] + (-2)]] as u64) << (r0[at] as u64)) == (!(r0[at] as u64))) {
                r0[at] += (r0[at] << (0i32 ^ 8i32));
                let mut v4 = ((a0[at + [0, 2, 1]] as i32) < 2i32);
            } else {
                let mut v5: f64 = (r0[at] as f64);
            }
            let mut v6 = 0;
            while v6 < 4 && (v1 < (-0.1f32)) {
                v6 += 1;
                for v7 in -1..2 {
                    let v8 = (r0[at] as u64);
                }
            }
            r0[at] += (if (a0[at - [-1, -1, -2]] > a0[at + [-2, 2, 0]]) { r0[at] } else { (r0[at] % ((1 & 6) | 1)) });
        }));
    });
}

#[test]
fn random_21() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<f32>();
        let a0 = scene.array::<i32>();
        let a1 = scene.array::<f64>();
        let a2 = scene.array::<f32>();
        let c0: bool = scene.scalar();
        let c1: i64 = scene.scalar();
        let c2: f32 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            r0[at] %= (c2).mul_add(r0[at], a2[at]);
            let mut v1 = (true ^ (!c0));
            r0[at] /= (if (a0[at] != (-2i32)) { c2 } else { (-(a2[at + [2]])) });
        }));
    });
}

#[test]
fn random_22() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<f64>();
        let a0 = scene.array::<f64>();
        let c0: bool = scene.scalar();
        let c1: i64 = scene.scalar();
        let c2: f64 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let v2 = [{ let v1 = c2; (a0[at + [c1.rem_euclid(5) - 2]] as f64) }, (-((r0[at] as f64))), c2, (c2 - 1e-2)];
            if ((c0 | c0) && c0) {
                if (c0 & c0) {
                    let v3 = (-((r0[at] as f32)));
                    let mut v4 = (((a0[at + [1]] as i32)).clamp(5i32, (r0[at] as i32)) + (if false { (r0[at] as i32) } else { (a0[at] as i32) }));
                }
            } else {
                let mut v5 = 0;
                while v5 < 4 && ((r0[at] as i64) <= c1) {
                    v5 += 1;
                    let v6: i64 = (if ((a0[at - [-2]] as i64) >= c1) { ((a0[at + [-2]] as u64) as i64) } else { ((r0[at] as u64) as i64) });
                }
                let v7: u64 = (!(!(a0[at] as u64)));
            }
            let mut v8: bool = (((a0[at + [-1]] as i32) <= (r0[at] as i32)) || ((a0[at + [1]] as i64) == (a0[[at[0] + (0)]] as i64)));
            r0[at] += r0[at];
        }));
    });
}

#[test]
fn random_23() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<f32>();
        let a0 = scene.array::<i64>();
        let c0: i64 = scene.scalar();
        let c1: bool = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let mut v2: u64 = ({ let v1 = (a0[at + [2]] as u64); (r0[at] as u64) }).rotate_left(((if c1 { (r0[at] as u64) } else { (r0[at] as u64) })) as u32);
            let mut v3 = 0;
            while v3 < 4 && ((a0[at] as i32) == (r0[at] as i32)) {
                v3 += 1;
                for v4 in -2..=2 {
                    v2 = (a0[[at[0] + (0)]] as u64);
                }
                for v5 in -1..2 {
                    if ((r0[at] as f64) != (r0[at] as f64)) { break; }
                }
            }
            r0[at] = ((r0[at] as f32) - r0[at]);
        }));
    });
}

#[test]
fn random_24() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<f32>();
        let mut r1 = scene.array::<i32>();
        let a0 = scene.array::<i32>();
        let a1 = scene.array::<f32>();
        let a2 = scene.array::<u64>();
        let c0: i64 = scene.scalar();
        let c1: bool = scene.scalar();
        let c2: i64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            let mut v1 = (!((r1[at] as i64) >= c0));
            for v2 in -2..=2 {
                let v3: bool = (((r0[at] as f64)).is_nan() || (1e-3f32).is_nan());
            }
            for v4 in 0..((if c1 { c2 } else { at[1] }) & 3) {
                if ((a1[at - [0, 1, 1]] as i64) < 0i64) {
                    r1[at] <<= (((r0[at] as i32)).signum() | (r1[at] as i32));
                } else {
                    v1 &= (((a2[at + [-1, 1, -1]] as f32) + 3.0) <= (a1[at + [0, 2, -1]] - (r1[at] as f32)));
                    r1[at] |= a0[at - [-1, 1, -1]];
                }
            }
            r0[at] /= { let v5 = (-((a2[at - [1, -2, -1]] as f32))); (a1[at]).powi((if ((a1[at] as i32) < (-7i32)) { r1[at] } else { a0[at + [2, 2, -1]] })) };
            r1[at] |= (a0[[at[0] + (0), at[1] + (-2), at[2] + (-2)]] as i32);
        }));
    });
}

#[test]
fn random_25() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<u64>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<u64>();
        let c0: i64 = scene.scalar();
        let c1: f64 = scene.scalar();
        let c2: bool = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            if (if ((-0i32) > (r0[at] as i32)) { ((a0[at] as u64) > (a0[at + [2, 2, -2]] as u64)) } else { (((r0[at] as f32) < 0.0f32) == ((r0[at] as u64) < 6u64)) }) {
                if (!(c1 <= (a0[at + [0, -2, 1]] as f64))) {
                    let v1: bool = (c1 < (-0.0f64));
                } else {
                    let mut v2: i64 = (at[0] + (a0[at + [1, -1, 2]]).signum());
                    let v3: u64 = (r0[at] << (if (6i64 < 2i64) { (r0[at] as u64) } else { 2u64 }));
                }
                r0[at] -= ((r0[at]).clamp(2u64, (a1[at - [-1, 1, -1]] as u64)) ^ ((r0[at] as u64) & r0[at]));
            } else {
                for v4 in -2..=2 {
                    if (4u64 < 4u64) { break; }
                    r1[at] += (if ((r1[at] as u64) >= r1[at]) { ((a0[at + [v4, v4, v4]] as i32) as u64) } else { (a1[at + [1, v4, 0]] / ((12 & 6) | 1)) });
                }
                let v5: bool = ((-0i64) < 3i64);
            }
            let mut v6 = 0;
            while v6 < 4 && ((a0[at - [-1, 1, 1]] as f32) < (r1[at] as f32)) {
                v6 += 1;
                let mut v7: i64 = ((!c0) - (c0 as i64));
            }
            r0[at] >>= (((r0[at] as i32) as u64) - ((r0[at] as u64) % a1[at + [-1, 1, 1]]));
            r1[at] += (r1[at] & r0[at]);
        }));
    });
}

#[test]
fn random_26() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<u64>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<f64>();
        let a2 = scene.array::<i32>();
        let c0: i32 = scene.scalar();
        let c1: f32 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            let v1 = c0;
            let mut v2 = (2i64 ^ (!a0[at + [-2, 1]]));
            r0[at] *= (a1[at + [1, -2]] as u64);
        }));
    });
}

#[test]
fn random_27() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<f32>();
        let mut r1 = scene.array::<i32>();
        let a0 = scene.array::<u64>();
        let a1 = scene.array::<u64>();
        let a2 = scene.array::<i64>();
        let c0: u64 = scene.scalar();
        let c1: u64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            let v1: f32 = (((a0[at] as f32) % (r0[at] as f32))).abs();
            if (at[0] < (-4i64)) {
                if ((r1[at] as i32) < 8i32) {
                    let v2: i32 = (a2[at + [-2, -2, -1]] as i32);
                }
                let v3: u64 = (c1 + c0);
            } else {
                for v4 in -1i32..=1 {
                    let v5 = (r0[at] as i64);
                }
            }
            let mut v7 = (if (!true) { (a1[at + [1, -1, 2]] % ((a0[at - [-2, -1, -1]] & 6) | 1)) } else { { let v6 = c1; (a0[at + [0, -1, -2]] as u64) } });
            r0[at] = (((a1[at + [(-((a1[at + [2, -2, -2]] as i64))).rem_euclid(5) - 2, -2, 2]] as f32)).mul_add(r0[at], r0[at])).cbrt();
            r1[at] <<= (a2[at + [0, -2, 0]] as i32);
        }));
    });
}

#[test]
fn random_28() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<u64>();
        let a0 = scene.array::<u64>();
        let a1 = scene.array::<i32>();
        let a2 = scene.array::<i64>();
        let c0: bool = scene.scalar();
        let c1: i32 = scene.scalar();
        let c2: f32 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            for v1 in -1..2 {
                for v2 in -2..=2 {
                    let mut v3 = ((a1[at + [v1, -1, v1]] / 12) as f64);
                }
            }
            let v4 = (-((a2[at + [-2, -2, -1]] / ((a2[at] & 6) | 1))));
            let v6 = [((r0[at] as f64)).ceil(), (r1[at] as f64), (c1 as f64), { let v5 = (a2[at] as f64); v5 }];
            let mut v7 = (if c0 { ((r1[at] as f32) + (r0[at] as f32)) } else { (-(c2)) });
            r0[at] = ((!r1[at]) << { let v8 = (r1[at] as u64); 7u64 });
            r1[at] ^= ({ let v9 = (r0[at] as u64); r0[at] } | ((a2[at + [1, 0, 1]] as u64) - (a1[at + [-2, -2, -2]] as u64)));
        }));
    });
}

#[test]
fn random_29() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<i32>();
        let a0 = scene.array::<f32>();
        let a1 = scene.array::<u64>();
        let a2 = scene.array::<u64>();
        let c0: f64 = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: f32 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            let mut v1 = (((a2[at - [-2, -1]] as i32)).rotate_left((r0[at]) as u32) >= (if (c1 < 6u64) { r0[at] } else { (r0[at] as i32) }));
            if (a0[at]).is_finite() {
                let v2 = v1;
            }
            let v3: bool = ((if (a2[at + [0, 1]] < 8u64) { a0[at] } else { a0[at + [1, 1]] }) <= c2);
            r0[at] ^= (7i32 << (a2[at + [2, -1]] as i32));
        }));
    });
}

#[test]
fn random_30() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<i32>();
        let a0 = scene.array::<f32>();
        let c0: u64 = scene.scalar();
        let c1: i64 = scene.scalar();
        let c2: i32 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let mut v1 = 0;
            while v1 < 4 && (if (c0 < 6u64) { (1e3f64 < 0.0f64) } else { (c1 < 8i64) }) {
                v1 += 1;
                let mut v2 = (if (c2 < 0i32) { (c0 << 2u64) } else { c0 });
            }
            let mut v4 = { let v3 = (r0[at] as f64); (v3).abs() };
            r0[at] *= c2;
        }));
    });
}

#[test]
fn random_31() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<i32>();
        let a0 = scene.array::<f64>();
        let a1 = scene.array::<i64>();
        let a2 = scene.array::<i32>();
        let c0: i64 = scene.scalar();
        let c1: f32 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            let v1: f32 = ((a1[at + [0, 1]] as f32) / ((a2[at] as f32) % 0.25));
            let mut v3 = { let v2 = ((a0[at - [0, 1]] as u64) as u64); 3u64 };
            r0[at] ^= (!(a1[at + [0, 1]] as i32));
        }));
    });
}

#[test]
fn random_32() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<u64>();
        let a0 = scene.array::<u64>();
        let c0: i32 = scene.scalar();
        let c1: i32 = scene.scalar();
        let c2: i64 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let v1: i64 = (((r0[at] as f32) as i64)).div_euclid(((r0[at] as i64) & 6) | 1);
            let mut v2: u64 = (r0[at] - 3);
            r0[at] &= (((a0[at + [1]] as u64) + a0[at + [{ let v3 = c2; (a0[[at[0] + (0)]] as i64) }.rem_euclid(5) - 2]])).signum();
        }));
    });
}

#[test]
fn random_33() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i64>();
        let a0 = scene.array::<f32>();
        let c0: bool = scene.scalar();
        let c1: bool = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let mut v1 = 0;
            while v1 < 4 && c0 {
                v1 += 1;
                if { let v2 = ((r0[at] as i32) != (r0[at] as i32)); { let v3 = (r0[at] < (-0i64)); (r0[at] < (-2i64)) } } {
                    if (!c1) { return; }
                } else {
                    let v5 = { let v4 = (8u64 < 0u64); ((r0[at] as i32) != (a0[at + [1, 1, 2]] as i32)) };
                    let mut v7 = ({ let v6 = a0[at + [-1, -2, 0]]; a0[at + [-1, -2, 2]] } + ((r0[at] as f32) - 1e-2));
                }
            }
            if (!c0) { return; }
            if (if (if false { c0 } else { ((a0[at - [0, 7i64.rem_euclid(5) - 2, 2]] as f64) < 0.5f64) }) { (!(a0[at - [0, 2, 2]] < (-0.5f32))) } else { { let v8 = ((r0[at] as f32) < 0.5f32); ((a0[at - [-2, -1, (if c1 { 0i64 } else { 2i64 }).rem_euclid(5) - 2]] as u64) < 5u64) } }) {
                r0[at] <<= at[0];
                if (((a0[at + [-1, 2, -1]] as f32) < (r0[at] as f32)) || (!c1)) {
                    r0[at] ^= (a0[at - [1, 2, 1]] as i64);
                } else {
                    let v9: f32 = (((a0[at] as f32) + (a0[at] as f32))).exp();
                    let mut v10: f32 = ((v9 * v9) * 0.25);
                }
            }
            let v11: f64 = ((if false { (a0[[at[0] + (-1), at[1] + (-1), at[2] + (1)]] as f64) } else { (r0[at] as f64) }) as f64);
            r0[at] |= ((r0[at] / ((at[1] & 6) | 1)) / 3i64);
        }));
    });
}

#[test]
fn random_34() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<f64>();
        let mut r1 = scene.array::<u64>();
        let a0 = scene.array::<f32>();
        let a1 = scene.array::<f64>();
        let a2 = scene.array::<u64>();
        let c0: u64 = scene.scalar();
        let c1: f64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            for v1 in 0u64..3 {
                let v2 = (-((a2[[at[0] + (2), at[1] + (2), at[2] + (1)]] as i32)));
            }
            for v3 in -2..=2 {
                let mut v4: u64 = ((r1[at]).pow(0) ^ (if (c0 < 8u64) { r1[at] } else { c0 }));
            }
            let mut v6 = ({ let v5 = c1; (r0[at] as f64) }).is_nan();
            if ((a2[at] as i32) < (-6i32)) {
                let mut v7: f64 = (c0 as f64);
                for v8 in 0..((at[1] & at[2]) & 3) {
                    v6 = { let v9 = (c0 >= c0); ((a1[at + [-1, -1, -2]] as i32) < (a0[[at[0] + (0), at[1] + (-2), at[2] + (1)]] as i32)) };
                }
            }
            r0[at] /= (-((c1 - (a0[at + [2, -2, 1]] as f64))));
            r1[at] >>= ((c0).signum()).wrapping_sub((c0 & r1[at]));
        }));
    });
}

#[test]
fn random_35() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<i32>();
        let a0 = scene.array::<f64>();
        let a1 = scene.array::<u64>();
        let a2 = scene.array::<f32>();
        let c0: f32 = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: u64 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            if (if ((a1[at + [0, -1]] as i64) <= (a0[at] as i64)) { (a0[at + [-1, ((r0[at] as i64)).wrapping_mul(at[0]).rem_euclid(5) - 2]]).is_nan() } else { ((a1[at - [-2, -1]] as i32) < 0i32) }) {
                r0[at] = { let v1 = (r0[at]).pow(3); { let v2 = r0[at]; v1 } };
            } else {
                for v3 in -1..2 {
                    let v4 = (((a2[[at[0] + (v3), at[1] + (v3)]] as i64) as u64) + c1);
                }
                let mut v7 = [{ let v5 = a0[at + [1, 2]]; a0[at + [{ let v6 = (a2[at - [1, 2]] as i64); (a0[[at[0] + (2), at[1] + (-2)]] as i64) }.rem_euclid(5) - 2, 0]] }, (a2[[at[0] + (0), at[1] + (0)]] as f64), (a0[at + [-1, -1]] * a0[at + [-2, 0]]), (1e-3f64 - 3.0)];
            }
            if ((a1[at - [-1, -2]] as i64) != (a2[at + [2, 2]] as i64)) {
                let mut v8: bool = ((!((a2[at - [-1, -1]] as i32) < (-1i32))) == (if (a1[[at[0] + (-2), at[1] + (((r0[at] as i64) - (a2[at + [-1, 0]] as i64)).rem_euclid(5) - 2)]] < 5u64) { ((a0[at + [0, 2]] as i64) < (-5i64)) } else { true }));
                let mut v10 = [(a0[[at[0] + (-1), at[1] + (-2)]] % (a2[[at[0] + (-1), at[1] + (0)]] as f64)), { let v9 = (a1[at + [-2, 1]] as f64); (r0[at] as f64) }, ((r0[at] as f64) - (r0[at] as f64)), (-(a0[at + [-2, 1]]))];
            }
            r0[at] *= (((r0[at] as i32)).rotate_left(((a1[at + [-2, -1]] as i32)) as u32) & (6i64 as i32));
        }));
    });
}

#[test]
fn random_36() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<u64>();
        let a0 = scene.array::<f32>();
        let c0: bool = scene.scalar();
        let c1: i32 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let mut v1 = 0;
            while v1 < 4 && c0 {
                v1 += 1;
                for v2 in -1..2 {
                    let v3 = (((a0[at - [v2, v2, v2]] as f64) - 0.25)).tanh();
                }
            }
            r0[at] += ((0u64).clamp(0u64, (a0[at] as u64)) >> (if ((a0[at - [-1, -2, 2]] as f64) < 0.0f64) { r0[at] } else { (r0[at] as u64) }));
            let v4 = [(if c0 { (r0[at] as f64) } else { (a0[at + [1, -2, 0]] as f64) }), (a0[at - [-1, -2, -2]] as f64), (2.0f64).recip(), ((r0[at] as f64)).hypot((-1e3f64))];
            let mut v5 = (((r0[at] as i64) as f32) as i32);
            r0[at] >>= ((v5 as u64) / ((((a0[[at[0] + (-2), at[1] + (0), at[2] + (1)]] as f32) as u64) & 6) | 1));
        }));
    });
}

#[test]
fn random_37() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<u64>();
        let a0 = scene.array::<f32>();
        let a1 = scene.array::<i32>();
        let a2 = scene.array::<i64>();
        let c0: u64 = scene.scalar();
        let c1: f32 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            for v1 in -1..2 {
                let mut v2: f64 = (((r1[at] as f64) * (r0[at] as f64)) % (v1 as f64));
                if (!(a1[at + [2, v1, v1]] < (-3i32))) { return; }
            }
            let mut v3 = 0;
            while v3 < 4 && true {
                v3 += 1;
                if ((if (at[2] < 8i64) { (a1[at + [1, 1, -1]] as i32) } else { (a1[[at[0] + (-1), at[1] + (0), at[2] + (1)]] as i32) }) == 2i32) {
                    r0[at] = (r1[at] as u64);
                    r1[at] &= r0[at];
                }
            }
            for v4 in 0..((a2[at] << (a2[at] as i64)) & 3) {
                let v5 = v4;
            }
            let mut v6: i32 = ((7i32).rotate_left((a1[at]) as u32) - (a1[at]).div_euclid((a1[at - [0, 0, 2]] & 6) | 1));
            r0[at] = ((a1[at]).signum() as u64);
            r1[at] ^= (((a2[at + [-2, 0, -1]] as i64) as u64) / (((c0 - c0) & 6) | 1));
        }));
    });
}

#[test]
fn random_38() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<f32>();
        let mut r1 = scene.array::<f64>();
        let a0 = scene.array::<u64>();
        let a1 = scene.array::<f32>();
        let a2 = scene.array::<i32>();
        let c0: f32 = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: i64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            for v1 in -1..2 {
                if (((0.5f32 < (-1e-3f32)) == ((-8i64) < 5i64)) & (4i32 < a2[at + [v1, v1]])) {
                    r1[at] += (((r0[at] as f64) + (r1[at] as f64))).exp();
                }
            }
            if ((c1 / ((c1 & 6) | 1)) != c1) {
                r0[at] *= c0;
            } else {
                let v2: i32 = (((r0[at] as i32) + 7i32) + ((r0[at] as i32) % ((3 & 6) | 1)));
                r1[at] /= { let v3 = (a2[at + [-1, 2]] as f64); (r1[at]).copysign(2.0f64) };
            }
            let mut v4 = [((r0[at] as i64) <= c2), (r0[at] < (-3.25f32)), (a1[at + [2, -1]] > (a1[at - [1, 0]] as f32)), (if (a1[at] < (-0.1f32)) { ((-0i64) < (-4i64)) } else { ((r0[at] as f64) < (-1e-3f64)) })];
            r0[at] += ({ let v5 = (r0[at] as f32); (r1[at] as f32) }).copysign(0.5f32);
            r1[at] /= ((r1[at]).mul_add((-3.25f64), (r0[at] as f64)) + (r1[at]).floor());
        }));
    });
}

#[test]
fn random_39() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<i32>();
        let a0 = scene.array::<u64>();
        let a1 = scene.array::<f64>();
        let a2 = scene.array::<u64>();
        let c0: i64 = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: f64 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            let v1 = [((a2[at - [-2]] as i64) < (-0i64)), (c1 != c1), (((a1[at + [0]] as i64) < (-3i64)) ^ (a1[[at[0] + (2)]] < 3.25f64)), (c2).is_infinite()];
            let v3 = [(false | v1[0]), { let v2 = ((a1[at + [-2]] as f32) < 1e-3f32); ((a2[at + [1]] as f32) < 0.0f32) }, (v1[2] && v1[3]), (2u64 < 7u64)];
            let v4 = (((r0[at] as i32) | r0[at]) + (if ((a0[at - [2]] as i32) < 0i32) { (a0[at + [2]] as i32) } else { (a0[at - [0]] as i32) }));
            r0[at] ^= ({ let v5 = r0[at]; v4 }).signum();
        }));
    });
}

#[test]
fn random_40() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i64>();
        let mut r1 = scene.array::<f64>();
        let a0 = scene.array::<i32>();
        let c0: bool = scene.scalar();
        let c1: u64 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            let v1 = (c1 % (((4u64 - (r1[at] as u64)) & 6) | 1));
            r0[at] = (r0[at] as i64);
            r0[at] -= ({ let v2 = r0[at]; v2 }).min(at[2]);
            r1[at] = ((if c0 { (r1[at] as f64) } else { (a0[at] as f64) }) - (if ((r0[at] as f32) < 3.25f32) { (a0[at] as f64) } else { r1[at] }));
        }));
    });
}

#[test]
fn random_41() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i64>();
        let mut r1 = scene.array::<u64>();
        let a0 = scene.array::<f64>();
        let c0: u64 = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: i64 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            let mut v1 = ((!c2) << 3);
            if ((a0[at - [-1, -2, 0]] as i32) > (r0[at] as i32)) {
                let mut v2 = 0;
                while v2 < 4 && (c1 < 0u64) {
                    v2 += 1;
                    v1 = { let v3 = (if ((r0[at] as f64) < (-0.0f64)) { v1 } else { v1 }); at[1] };
                    r0[at] *= v1;
                }
            } else {
                r1[at] -= (r1[at] + 12);
            }
            r0[at] >>= v1;
            r1[at] -= { let v4 = ((r0[at] as u64)).rotate_left((r1[at]) as u32); ((r1[at] as u64) * r1[at]) };
        }));
    });
}

#[test]
fn random_42() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<f32>();
        let a0 = scene.array::<i32>();
        let c0: u64 = scene.scalar();
        let c1: u64 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            r0[at] = ((if ((a0[at] as i64) < 4i64) { r0[at] } else { r0[at] }) as f32);
            r0[at] -= (a0[[at[0] + (-2), at[1] + (-1)]] as f32);
            for v1 in -1..2 {
                let mut v2 = 0;
                while v2 < 4 && ((v1 < 0i64) == ((a0[at - [v1, 0]] as u64) < 3u64)) {
                    v2 += 1;
                    let v3 = (7i64).pow(4);
                    let v4 = [((a0[at + [(at[1] << v1).rem_euclid(5) - 2, -2]] as i64)).abs(), ((a0[at + [1, v1]] as i64) + (a0[at] as i64)), ((r0[at] as i64) - v3), ((r0[at] as i64) - (a0[at] as i64))];
                }
            }
            let mut v5: u64 = (if ((a0[at] as i64) < (r0[at] as i64)) { ((a0[at + [-2, -2]] as u64) & c0) } else { ((r0[at] as u64)).max(c0) });
            r0[at] /= (r0[at] as f32);
        }));
    });
}

#[test]
fn random_43() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<f64>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<i64>();
        let a2 = scene.array::<f32>();
        let c0: u64 = scene.scalar();
        let c1: f64 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            if ((r0[at] as f64)).is_nan() {
                let mut v1: f32 = 1e3f32;
                let v2 = ((((a0[at] as u64) < 2u64) == (5i64 < (-7i64))) || (r0[at] < c1));
            } else {
                let v3 = ((if ((a2[[at[0] + (((a1[at + [-1, 2, -2]] as i64)).wrapping_add((a1[at] as i64)).rem_euclid(5) - 2), at[1] + (-2), at[2] + (1)]] as i32) < 8i32) { (r0[at] as i64) } else { (r0[at] as i64) })).pow(2);
                let mut v4: i64 = ((a1[at]).pow(2) | (a0[at] >> v3));
            }
            let mut v5: f64 = ((0.1f64).exp() - r0[at]);
            r0[at] -= (-(r0[at]));
        }));
    });
}

#[test]
fn random_44() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<f64>();
        let mut r1 = scene.array::<i64>();
        let a0 = scene.array::<i32>();
        let a1 = scene.array::<i64>();
        let c0: bool = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: u64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            let v2 = ((r1[at] as u64)).min({ let v1 = (a1[at + [-2]] as u64); 6u64 });
            let v3 = ((if c0 { (-8i32) } else { a0[at] })).abs();
            let mut v4: i64 = ((a1[at + [0]] as i64) & ((r1[at] as i64) | (a0[at + [-1]] as i64)));
            if { let v5 = c0; c0 } { return; }
            r0[at] -= ((r1[at] as u64) as f64);
            r1[at] = ({ let v6 = v4; v4 } % (v4 * at[0]));
        }));
    });
}

#[test]
fn random_45() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<i32>();
        let a0 = scene.array::<f32>();
        let a1 = scene.array::<f64>();
        let c0: bool = scene.scalar();
        let c1: i32 = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            r0[at] = (r0[at] | ((a1[at + [1, 2, 2]] as f32) as u64));
            let v1 = (a0[at - [-2, -2, 2]] as u64);
            if false {
                r1[at] *= (((r1[at] as f64) + 3.0) as i32);
            } else {
                for v2 in -2..=2 {
                    if ((r1[at] as f32) != (a0[[at[0] + (-1), at[1] + (-1), at[2] + (v2)]] as f32)) { break; }
                }
            }
            r0[at] &= ((v1).div_euclid((v1 & 6) | 1) + (!r0[at]));
            r1[at] >>= r1[at];
        }));
    });
}

#[test]
fn random_46() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<u64>();
        let a0 = scene.array::<f32>();
        let c0: i32 = scene.scalar();
        let c1: f64 = scene.scalar();
        let c2: i32 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let v3: f64 = { let v2 = { let v1 = c1; v1 }; (v2 / c1) };
            if (((a0[at + [-1, -2, 1]] as f32) < (-0.0f32)) && ((r0[at] as u64) >= (a0[at + [2, 1, 0]] as u64))) {
                let mut v4 = (a0[at + [1, 1, 0]] as i64);
            }
            for v5 in -2..=2 {
                r0[at] = ((a0[at + [v5, 2, v5]] as u64) << (r0[at] / ((r0[at] & 6) | 1)));
                r0[at] >>= ({ let v6 = (a0[at + [v5, v5, 0]] as u64); v6 } + ((a0[at + [v5, -1, v5]] as u64) >> 3u64));
            }
            r0[at] |= (r0[at] | ((r0[at] as u64)).div_euclid(((a0[at - [2, -1, 1]] as u64) & 6) | 1));
        }));
    });
}

#[test]
fn random_47() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<f64>();
        let a0 = scene.array::<u64>();
        let c0: bool = scene.scalar();
        let c1: f64 = scene.scalar();
        let c2: i32 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let v1: f64 = c1;
            if (if true { (r0[at] <= r0[at]) } else { ((a0[at + [-2, -2, 0]] as i32) < (-4i32)) }) {
                if (c0 && c0) { return; }
                let mut v2 = ((a0[[at[0] + (-2), at[1] + (-2), at[2] + (-2)]] as f32) < (if (3u64 < 8u64) { (a0[at + [0, -2, -2]] as f32) } else { (r0[at] as f32) }));
            } else {
                let mut v3 = ((r0[at] as f64) % r0[at]);
                v3 = r0[at];
            }
            r0[at] %= c1;
        }));
    });
}

#[test]
fn random_48() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<u64>();
        let a0 = scene.array::<u64>();
        let c0: bool = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: u64 = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            for v1 in 0..((if c0 { 2i64 } else { (a0[at + [0, 1, 2]] as i64) }) & 3) {
                for v2 in -1..2 {
                    let mut v3: bool = (((a0[at + [2, 2, v2]] as u64) < 0u64) && ((a0[at - [2, v2, v2]] as f32)).is_finite());
                }
            }
            for v4 in -1i32..=1 {
                if ((c0 ^ true) | { let v5 = (c1 < 7u64); ((a0[at + [-2, 0, -1]] as f64) < 1e3f64) }) {
                    r0[at] |= ((if c0 { (r0[at] as u64) } else { a0[at + [-1, -2, 2]] })).rem_euclid(((c1 >> 1) & 6) | 1);
                } else {
                    r0[at] >>= c1;
                    let mut v6 = ((v4 - (a0[at + [-1, 2, 1]] as i32)) as i32);
                }
                r0[at] >>= ((((a0[at + [0, 2, 2]] as f32) as u64)).trailing_zeros() as u64);
            }
            let v7 = (((a0[at + [0, 2, 1]] as i32)).min((r0[at] as i32)) as i64);
            let mut v8: u64 = c2;
            r0[at] <<= (((a0[[at[0] + (-1), at[1] + ((if true { v7 } else { v7 }).rem_euclid(5) - 2), at[2] + (-2)]] as i32) as u64)).min((if true { a0[at + [-2, -2, 1]] } else { (a0[at - [1, -1, ((a0[[at[0] + (-1), at[1] + (-2), at[2] + (0)]] as f32) as i64).rem_euclid(5) - 2]] as u64) }));
        }));
    });
}

#[test]
fn random_49() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i64>();
        let a0 = scene.array::<f32>();
        let a1 = scene.array::<i64>();
        let a2 = scene.array::<f32>();
        let c0: i64 = scene.scalar();
        let c1: u64 = scene.scalar();
        check!(scene, [r0, a0, a1, a2], (&mut r0, &a0, &a1, &a2), kernel!(|r0, a0, a1, a2, at| {
            if { let v1 = ((-1e3f32) != (a0[at + [-1, 0, 0]] as f32)); (c0 == at[1]) } {
                let mut v3 = { let v2 = ((a1[at + [1, 0, 0]] as f64)).min((r0[at] as f64)); (v2).max((a1[[at[0] + (1), at[1] + (-1), at[2] + (0)]] as f64)) };
                for v4 in -2..=2 {
                    let v5 = (!((a2[at + [-1, 1, v4]] as u64) + (r0[at] as u64)));
                    v3 /= (1e-3f64).abs();
                }
            }
            let v6: f64 = (a2[at] as f64);
            r0[at] &= { let v7 = c0; (c0 >> r0[at]) };
        }));
    });
}

#[test]
fn random_50() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<i32>();
        let a0 = scene.array::<i64>();
        let c0: i64 = scene.scalar();
        let c1: f32 = scene.scalar();
        check!(scene, [r0, r1, a0], (&mut r0, &mut r1, &a0), kernel!(|r0, r1, a0, at| {
            if (7i64 < (-7i64)) {
                let v1: f64 = ((a0[at + [-1]] as f64) % ((r0[at] as f64)).mul_add((r0[at] as f64), (r1[at] as f64)));
            } else {
                let v2 = (((r0[at] as f32)).abs() - ((r0[at] as f32) * (a0[[at[0] + (-2)]] as f32)));
            }
            if ((!c0) >= at[0]) {
                let v3: f64 = ((a0[at + [-1]] as f64) - 0.25);
                for v4 in -2..=2 {
                    r1[at] *= (r0[at] as i32);
                }
            } else {
                let mut v6 = [(if (0.1f32 < (-1e-3f32)) { (r0[at] as i32) } else { r1[at] }), ((r1[at] as i32) + 3), { let v5 = (r0[at] as i32); v5 }, ((r1[at] as i32) / ((12 & 6) | 1))];
            }
            if ((!c0) < ((-3i64) as i64)) {
                let mut v7 = 0;
                while v7 < 4 && ((a0[at + [-2]] as i32) == (-3i32)) {
                    v7 += 1;
                    let mut v8: i32 = ((a0[[at[0] + (-1)]]).signum() as i32);
                }
            } else {
                let mut v9 = (((r0[at] as u64) as f32) - 0.25);
                r1[at] <<= r1[at];
            }
            r0[at] += (r1[at] as u64);
            r1[at] >>= { let v10 = ((r0[at] as i32) & (r1[at] as i32)); (r1[at] + (a0[at] as i32)) };
        }));
    });
}

#[test]
fn random_51() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<f32>();
        let mut r1 = scene.array::<f64>();
        let a0 = scene.array::<f64>();
        let a1 = scene.array::<u64>();
        let a2 = scene.array::<i32>();
        let c0: i32 = scene.scalar();
        let c1: u64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            let mut v1 = 0;
            while v1 < 4 && { let v2 = (a2[at - [2, 1]] < (-4i32)); (a1[at + [0, 0]] < 0u64) } {
                v1 += 1;
                r0[at] /= ((r0[at]).abs()).clamp(0.5f32, (a0[[at[0] + (-1), at[1] + (-2)]] as f32));
                if (if (a1[at + [2, 0]] < 6u64) { (7i32 < 4i32) } else { ((r1[at] as f32) < 2.0f32) }) { break; }
            }
            let mut v3: i64 = ((at[0] ^ (a0[at + [-2, 1]] as i64))).pow(0);
            r1[at] -= (if ((a0[at + [{ let v4 = (a1[at - [0, -1]] as i64); at[0] }.rem_euclid(5) - 2, 0]] as f32) == (r1[at] as f32)) { (r0[at] as f64) } else { ((a0[at - [-2, -1]] as f64)).abs() });
            r0[at] /= { let v5 = ((a0[[at[0] + (-1), at[1] + (1)]] as f32)).fract(); (r0[at]).abs() };
            r1[at] %= ((r1[at] + 1e-2) * ((-0.5f64)).signum());
        }));
    });
}

#[test]
fn random_52() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i64>();
        let a0 = scene.array::<i32>();
        let a1 = scene.array::<f32>();
        let c0: i64 = scene.scalar();
        let c1: u64 = scene.scalar();
        let c2: f64 = scene.scalar();
        check!(scene, [r0, a0, a1], (&mut r0, &a0, &a1), kernel!(|r0, a0, a1, at| {
            for v1 in 0..((r0[at] & c0) & 3) {
                for v2 in 0u64..3 {
                    let v3: f32 = (((a1[at + [-1, -1, 1]] as u64)).pow(0) as f32);
                }
                if ((0.5f64).exp() != (c2).abs()) {
                    r0[at] <<= (if (2.0f32 == (a1[[at[0] + (2), at[1] + (1), at[2] + (0)]] as f32)) { (a1[at + [2, -2, -1]] as i64) } else { (c0 - r0[at]) });
                } else {
                    r0[at] = ((c0 + r0[at]) * (8i64 - v1));
                    r0[at] ^= (if { let v4 = (a0[at + [0, -2, 0]] < 2i32); v4 } { (at[2]).abs() } else { (r0[at] ^ r0[at]) });
                }
            }
            let mut v5 = (((r0[at] as u64)).clamp(4u64, c1) > (2u64).rem_euclid((c1 & 6) | 1));
            r0[at] <<= ({ let v6 = r0[at]; r0[at] }).abs();
        }));
    });
}

#[test]
fn random_53() {
    over::<3>(|scene| {
        let mut r0 = scene.array::<i32>();
        let a0 = scene.array::<f64>();
        let c0: f64 = scene.scalar();
        let c1: bool = scene.scalar();
        check!(scene, [r0, a0], (&mut r0, &a0), kernel!(|r0, a0, at| {
            let mut v1 = (if (((r0[at] as u64) < 5u64) && ((a0[at - [-2, 2, 0]] as i32) < (-3i32))) { c0 } else { (a0[at + [-2, -1, 2]] / (-0.5f64)) });
            r0[at] = (-((r0[at] as i32)));
            let v2: i64 = ((a0[at - [-2, 2, 1]] as f64) as i64);
            if false {
                let mut v3: u64 = ((3u64).rem_euclid(((r0[at] as u64) & 6) | 1)).rotate_left((((r0[at] as u64) + 1)) as u32);
                for v4 in 0..((v2 & (a0[at + [2, 2, 0]] as i64)) & 3) {
                    if false { break; }
                }
            } else {
                r0[at] *= (r0[at] as i32);
            }
            r0[at] &= (-8i32);
        }));
    });
}

#[test]
fn random_54() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<f32>();
        let mut r1 = scene.array::<i64>();
        let a0 = scene.array::<f32>();
        let a1 = scene.array::<f32>();
        let a2 = scene.array::<f64>();
        let c0: u64 = scene.scalar();
        let c1: f32 = scene.scalar();
        let c2: i32 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            let v2 = [{ let v1 = r0[at]; (r0[at] as f32) }, (c1 as f32), (r0[at] * a1[at + [2]]), (c1 as f32)];
            let mut v3: u64 = ((c0).pow(0) - ((a1[at + [0]] as u64) / (((r1[at] as u64) & 6) | 1)));
            if ({ let v4 = (-0i32); (a2[at] as i32) } > { let v5 = (a1[at - [0]] as i32); c2 }) {
                v3 |= (a0[at] as u64);
                let v6 = ((a2[at + [-1]]).round() % (a2[at] - (a2[at] as f64)));
            } else {
                for v7 in 0u64..3 {
                    r1[at] += (if (c2 < 5i32) { ((a1[at - [2]] as f64) as i64) } else { (at[0]).pow(0) });
                    r1[at] += r1[at];
                }
                for v8 in -1i32..=1 {
                    v3 = { let v9 = (v3 - 12); (c0 / ((c0 & 6) | 1)) };
                    let v10 = [(a2[at + [-2]]).trunc(), (a2[at]).powi((5i32).clamp((-5i32), (-1i32))), a2[at - [0]], ((a2[at + [-2]] as f64) - (a0[at] as f64))];
                }
            }
            r0[at] *= ({ let v11 = (a0[at + [-1]] as f32); a1[at + [2]] } % (c1).ln());
            r1[at] += ((r1[at]).div_euclid(((a0[at + [2]] as i64) & 6) | 1) ^ (!at[0]));
        }));
    });
}

#[test]
fn random_55() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<i64>();
        let mut r1 = scene.array::<u64>();
        let a0 = scene.array::<i64>();
        let a1 = scene.array::<f32>();
        let a2 = scene.array::<u64>();
        let c0: i64 = scene.scalar();
        let c1: i64 = scene.scalar();
        let c2: i64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            if (!((a2[[at[0] + (0), at[1] + (0)]] as u64) < 2u64)) {
                if (if ((a0[at + [-2, 1]] as i32) < 1i32) { (r1[at] < 6u64) } else { (a1[at + [-2, 2]] < (-0.1f32)) }) { return; }
            }
            let mut v1 = (((a1[at + [-2, -1]] as f64) * (r0[at] as f64)) == ((r0[at] as f64)).copysign(0.5f64));
            r0[at] = ((c1 << r0[at])).abs();
            r1[at] ^= ((5u64).max((r0[at] as u64)) << ((r1[at] as u64) as u64));
        }));
    });
}

#[test]
fn random_56() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<f32>();
        let mut r1 = scene.array::<f32>();
        let a0 = scene.array::<u64>();
        let a1 = scene.array::<f32>();
        let c0: i64 = scene.scalar();
        let c1: u64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1], (&mut r0, &mut r1, &a0, &a1), kernel!(|r0, r1, a0, a1, at| {
            for v1 in 0u64..3 {
                r1[at] += (((r1[at] as i32) as u64) as f32);
                let v2: u64 = (v1).max(c1);
            }
            if (!(a0[at] < 3u64)) {
                for v3 in 0u64..3 {
                    if (if ((a0[at] as i32) < (-7i32)) { ((a1[at + [2]] as f32) < 1e-3f32) } else { ((a0[at + [-1]] as f64) < 1e-3f64) }) { continue; }
                    let v4: f64 = (((r1[at] as f64) / (r1[at] as f64)) + ((r1[at] as f64) / 1e3f64));
                }
                let v6: bool = ({ let v5 = 0i32; (r0[at] as i32) } < (if (a0[at - [2]] < 2u64) { (r1[at] as i32) } else { (r1[at] as i32) }));
            } else {
                let mut v7: u64 = (a0[at - [2]] % ((a0[at + [1]] & 6) | 1));
                v7 = (if ((c1 < 6u64) ^ (c0 < 5i64)) { (if ((r0[at] as i64) < 1i64) { a0[at + [2]] } else { c1 }) } else { ((r0[at] as u64) / ((a0[at + [1]] & 6) | 1)) });
            }
            for v8 in -1i32..=1 {
                let mut v9: bool = false;
            }
            let v13: u64 = ({ let v10 = 8u64; a0[at + [-2]] }).rem_euclid(({ let v11 = c1; a0[at + [{ let v12 = (a1[at + [0]] as i64); (a1[at + [0]] as i64) }.rem_euclid(5) - 2]] } & 6) | 1);
            r0[at] += (-((c0 as f32)));
            r1[at] *= { let v14 = (-(r1[at])); (-((a0[at + [0]] as f32))) };
        }));
    });
}

#[test]
fn random_57() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<i32>();
        let mut r1 = scene.array::<u64>();
        let a0 = scene.array::<u64>();
        let a1 = scene.array::<f64>();
        let a2 = scene.array::<i32>();
        let c0: bool = scene.scalar();
        let c1: bool = scene.scalar();
        let c2: f64 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            let mut v1 = 0;
            while v1 < 4 && (c2).is_finite() {
                v1 += 1;
                for v2 in 0..(7i64 & 3) {
                    r1[at] >>= (a2[at - [(r1[at] as i64).rem_euclid(5) - 2, -1]] as u64);
                }
                let mut v3 = ((at[1] as i32) + (a2[at - [1, -1]]).clamp(2i32, (r0[at] as i32)));
            }
            if (c2 < 1e-3f64) {
                let v4 = [(r0[at] >> (a2[at + [2, -1]] as i32)), (a2[at + [-2, 1]] ^ (a1[at + [1, 2]] as i32)), ((r0[at] as i32)).div_euclid(((r1[at] as i32) & 6) | 1), ((r0[at] as i32) - 12)];
                if ((v4[2] * r0[at]) <= { let v5 = v4[3]; r0[at] }) {
                    r0[at] -= r0[at];
                }
            }
            let mut v7 = ({ let v6 = a1[at + [2, -1]]; a1[[at[0] + (1), at[1] + (2)]] } * (c2).abs());
            for v8 in -1i32..=1 {
                r0[at] -= v8;
            }
            r0[at] >>= ((!(a1[at - [-1, 2]] as u64)) as i32);
            r1[at] |= (r0[at] as u64);
        }));
    });
}

#[test]
fn random_58() {
    over::<1>(|scene| {
        let mut r0 = scene.array::<f64>();
        let mut r1 = scene.array::<f32>();
        let a0 = scene.array::<i32>();
        let a1 = scene.array::<i32>();
        let a2 = scene.array::<f32>();
        let c0: i64 = scene.scalar();
        let c1: bool = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            let mut v1: f64 = (r1[at] as f64);
            r1[at] -= (if (c1 | (a0[at + [-2]] < 2i32)) { (if c1 { a2[at + [-2]] } else { a2[[at[0] + (1)]] }) } else { (r0[at] as f32) });
            r1[at] %= (if (r0[at] == r0[at]) { (a2[at] as f32) } else { (a2[at + [-2]] as f32) });
            let mut v2: i32 = (((-3i64) & (a2[at - [-1]] as i64)) as i32);
            r0[at] %= ((a0[at - [2]] as f64)).abs();
            r1[at] = (r1[at] as f32);
        }));
    });
}

#[test]
fn random_59() {
    over::<2>(|scene| {
        let mut r0 = scene.array::<u64>();
        let mut r1 = scene.array::<f64>();
        let a0 = scene.array::<i32>();
        let a1 = scene.array::<u64>();
        let a2 = scene.array::<i32>();
        let c0: i32 = scene.scalar();
        let c1: i32 = scene.scalar();
        check!(scene, [r0, r1, a0, a1, a2], (&mut r0, &mut r1, &a0, &a1, &a2), kernel!(|r0, r1, a0, a1, a2, at| {
            r1[at] *= (r1[at] as f64);
            let mut v1 = 0;
            while v1 < 4 && (r1[at] != r1[at]) {
                v1 += 1;
                r0[at] |= { let v2 = ((a2[at + [1, 1]] as u64) + (a0[[at[0] + (2), at[1] + (-1)]] as u64)); ((r1[at] as i64) as u64) };
            }
            r0[at] = { let v3 = ((r1[at] as u64) | a1[at]); (!a1[at - [0, 2]]) };
            r1[at] %= ((5i64 - 3) as f64);
        }));
    });
}
