//! Random kernels. Made by `cargo xtask corpus --seed 1 --count 16`; do not edit.

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
            for v1 in -2..=(c1 as i64 & 3) - 1 {
                for v2 in -1i32..=1 {
                    r1[at] *= c1;
                    r1[at] -= (-((r1[at] + (r0[at] as f32))));
                }
                r1[at] *= ((3. as f32) * { let v3 = c1; (-1.00000005960464477539062500001 as f32) });
            }
            r0[at] >>= a1[at + [-2, 1]];
            r1[at] %= ((if c0 { r1[at] } else { c1 }) - (r0[at] as f32));
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
                for v1 in -1..2 {
                    let v2 = [((v1).count_ones() as i64), (r0[at] as i64), ((-8i64) & v1), (r0[at] as i64)];
                }
            }
            for v3 in 0u64..3 {
                if ({ let v4 = (r0[at] as i64); (r0[at] as i64) } != ((a0[at + [-1]] as i64)).abs()) {
                    r1[at] /= { let v5 = c2; (c0 * { -0.1 }) };
                    let mut v6 = (if ((a1[at + [0]] as f32) >= (a1[at + [1]] as f32)) { (4i64 * (r1[at] as i64)) } else { ((a1[at] as i64)).signum() });
                } else {
                    let v8 = { let v7 = ((r1[at] as i64) + (a1[at + [1]] as i64)); (r1[at] as i64) };
                    if ((a0[at + [1]] as f32) != (r0[at] as f32)) { continue; }
                }
                if ((if (a0[at] < 3u64) { ((r0[at] as i64) < 7i64) } else { ((r1[at] as f32) < 1e3f32) }) || ((a0[[at[0] + (-1)]] as i64) != (r0[at] as i64))) {
                    let mut v3 = c1;
                } else {
                    if (c0 < (-0.1f64)) { break; }
                }
            }
            let mut v9 = ((a0[at - [-1]] / ((a1[at + [-2]] & 6) | 1)) * (if ((a1[at - [2]] as i32) < 7i32) { a0[[at[0] + (-2)]] } else { (a1[at + [1]] as u64) }));
            r0[at] = (((a1[at + [1]] as i64) as f64) - (r0[at] + c2));
            r1[at] = (if (true && ((1.00000005960464477539062500001 as i64) < 0i64)) { (c1 as f64) } else { (c0 % c0) });
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
            if (((r1[at] as u64) as u64) < c0) {
                if (((a2[at + [1]] as u64) < 8u64) && ((a0[at + [-1]] as f32) < 1e3f32)) {
                    r1[at] -= (((r0[at] as f32) % (a1[at + [0]] as f32)) * ((a2[at + [2]] as f32) + r1[at]));
                    let v1: f64 = (a0[at] as f64);
                } else {
                    let v2 = (((r1[at] as f64) - (a2[at + [(a1[at] + a1[at]).rem_euclid(5) - 2]] as f64)) % 1e-2);
                }
            }
            if ((a0[at] as f64) < 1e-3f64) {
                if ((({ { 1099511627776 } } as u64) < 4u64) || (if (2.0f64 < 0.5f64) { ((r0[at] as u64) < 2u64) } else { (c1 < 1u64) })) {
                    let mut v3: f64 = (-(((a1[at - [2]] as f64) - (-0.1f64))));
                } else {
                    let v4: i32 = (a0[at - [0]] as i32);
                }
            }
            r0[at] -= (-(((8 as f64) - (r0[at] as f64))));
            r0[at] *= ((a1[at + [(a0[at + [-1]] - at[0]).rem_euclid(5) - 2]] as f64) / (-(-0.1)));
            r1[at] /= ((if (a1[at - [0]] < 4i64) { r1[at] } else { (a2[at - [1]] as f32) }) - ((2 as f32) - (r0[at] as f32)));
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
            for v1 in -1i32..=1 {
                r1[at] <<= (v1 / (((r1[at] >> v1) & 6) | 1));
                let mut v2 = 0;
                while v2 < 4 && ((4 as f32)).is_infinite() {
                    v2 += 1;
                    let mut v5 = { let v3 = ((r0[at] as f32)).abs(); { let v4 = v3; (r0[at] as f32) } };
                }
            }
            let mut v6 = 0;
            while v6 < 4 && (((r0[at] as f64) < 0.5f64) && (at[0] < 1i64)) {
                v6 += 1;
                if ((r1[at] as u64) < 7u64) {
                    r0[at] += ({ let v7 = r0[at]; r0[at] } * (r0[at] >> c1));
                }
            }
            r0[at] ^= ((r0[at] - r0[at]) ^ ((r0[at] as f32) as u64));
            r1[at] |= (((r1[at]).trailing_zeros() as i32) - (((r0[at] as i32)).trailing_zeros() as i32));
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
            let mut v1 = (2e-3 as f64);
            let v2 = (((r1[at] as u64) * 8u64) as u64);
            r0[at] *= (if (!(r0[at] < 4u64)) { ((!({ 8 }) as u64) & v2) } else { v2 });
            r1[at] >>= (if ((a0[at + [2, 0]] as f32) < 2.0f32) { { let v3 = (r0[at] as i64); v3 } } else { { let v4 = r1[at]; v4 } });
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
            let mut v2: i32 = 6i32;
            if (((a2[[at[0] + (0), at[1] + (2), at[2] + (1)]] as u64) <= (a2[at + [-1, 0, 1]] as u64)) || ((a1[at + [1, 0, 1]] as f64) < 3.25f64)) {
                if (!(r0[at] < (-3.25f64))) {
                    if ((a0[at] < 2.0f32) == ((a1[at + [1, 2, 2]] as f64) < 3.25f64)) { return; }
                }
                for v3 in -1..2 {
                    let v4 = (-(((a1[at + [v3, 2, v3]] as f64) + (a0[at + [c0.rem_euclid(5) - 2, v3, 1]] as f64))));
                }
            }
            r0[at] = ((a0[at] as f64) + { let v5 = (a0[at + [2, 0, 2]] as f64); v5 });
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
            let v1: bool = (((-3.25f64) * c0) <= (c0 + a1[at - [2]]));
            r0[at] *= ((c2).div_euclid((c2 & 6) | 1) + (!{ 12 }));
            r1[at] = ((r1[at] + { -(-2147483648) })).div_euclid((((a0[at + [1]] as i32) + (r1[at] as i32)) & 6) | 1);
            for v2 in -1..2 {
                r1[at] |= (if (at[0] == (a0[[at[0] + (-2)]] as i64)) { (r1[at] % ((r1[at] & 6) | 1)) } else { r1[at] });
                r0[at] &= (16777217.0 as u64);
            }
            r0[at] <<= (c2 ^ 3);
            r1[at] <<= (r1[at]).pow(2);
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
            let v1 = (((a0[at - [2, 0, 2]] as f32) - 1e-3f32) / ((a1[at + [2, 1, 1]] as f32)).min((r0[at] as f32)));
            for v2 in -2..=(c1 as i64 & 3) - 1 {
                if ((r0[at] as f32) <= (a1[at + [-1, 0, 1]] as f32)) { break; }
            }
            let v3 = (if (r0[at] != (a0[at] as i32)) { ((r0[at] as i32) * (!-1)) } else { (if (at[0] < 6i64) { r0[at] } else { (a1[at - [-1, -2, 0]] as i32) }) });
            r0[at] >>= ((r0[at] - 1)).min(((r0[at]).trailing_zeros() as i32));
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
                let v1: f32 = ((r0[at] as f32) as f32);
            }
            r0[at] = r0[at];
            r1[at] *= { let v2 = (if ((r1[at] as f64) < 0.1f64) { (r0[at] as i32) } else { (r0[at] as i32) }); (r1[at] % ((v2 & 6) | 1)) };
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
                let v1: u64 = ((a1[at] - (a0[at] as u64)) * (if (r0[at] < 2.0f32) { c1 } else { (18446744073709551615 as u64) }));
                for v2 in -1i32..=1 {
                    if ((r0[at] as i32) < 6i32) { continue; }
                    r0[at] /= ((a0[at + [2, 1, -2]] as f32) * (-(r0[at])));
                }
            } else {
                if (c2 < 0u64) {
                    r0[at] /= (({ -(!3) } as f32) % ((a1[at] as f32) * (a0[[at[0] + ((if ((a1[at] as u64) < 4u64) { a0[at + [-2, -1, 2]] } else { a0[at + [-2, -2, -1]] }).rem_euclid(5) - 2), at[1] + (-2), at[2] + (-2)]] as f32)));
                    r0[at] = { let v3 = (if (c0 < 1e3f64) { r0[at] } else { r0[at] }); { let v4 = 1e-3f32; v4 } };
                }
            }
            for v5 in -2..=(c1 as i64 & 3) - 1 {
                for v6 in -2..=(c1 as i64 & 3) - 1 {
                    let v7 = (if (((-5) as f64) < (a1[at - [v6, v5, v6]] as f64)) { ((a0[at + [v5, 2, 1]] as f64)).fract() } else { ((-(-(2147483647))) as f64) });
                }
                r0[at] %= (305419896 as f32);
            }
            let mut v8: bool = (8i32 < 0i32);
            r0[at] = ((0.0f32 * 0.25) / ((a1[at + [(a0[at + [0, 0, -2]] | a0[at + [1, 1, 0]]).rem_euclid(5) - 2, 1, -2]] as f32)).max((r0[at] as f32)));
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
            let v1 = (r1[at] ^ (-3i64));
            r0[at] &= (c2 - 1);
            r1[at] = (if (c2 < 1i32) { { let v2 = v1; r1[at] } } else { r1[at] });
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
                let mut v1 = (((2e-3 as f64) * (r1[at] as f64)) - { -0.1 });
                for v2 in 0u64..=(c2 as u64 & 7) {
                    v1 -= ((v2 as f64)).hypot((v1 - (-3.25f64)));
                }
            } else {
                for v3 in -2..=(c2 as i64 & 3) - 1 {
                    if ((r0[at] as f32) == (r0[at] as f32)) { break; }
                    let v4 = (r0[at] as f32);
                }
            }
            let mut v5 = 0;
            while v5 < 4 && ((r0[at] as i32) < c1) {
                v5 += 1;
                let mut v6 = [(if c0 { (-0.0f32) } else { (r0[at] as f32) }), (-((-1e-3f32))), (r0[at] as f32), ((r1[at] as f32)).trunc()];
                for v7 in -1i32..=1 {
                    r0[at] %= ((r0[at] / r0[at]) / (-(-0.1)));
                    let mut v8 = (((r0[at] as i32)).clamp(4i32, r1[at])).min(((r1[at]).count_ones() as i32));
                }
            }
            let mut v10 = ((at[0] ^ a0[at + [1, -2]])).signum();
            r0[at] = (r1[at] as f64);
            r1[at] -= ((at[0] as i32)).abs();
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
            if (((305419896 as i32) >> (r0[at] as i32)) < (-305419896 as i32)) {
                for v1 in 0u64..=(c1 as u64 & 7) {
                    let v2 = [(if (r0[at] < (-1e-3f32)) { (a0[[at[0] + (-2)]] as f32) } else { c2 }), ((a0[at + [-1]] as f32) as f32), (r0[at]).trunc(), (r0[at]).sin()];
                    let mut v3 = ((a0[at] as i64) | { -(-2147483648) });
                }
            } else {
                if (((a0[at - [-1]] as i64) < (-1i64)) ^ true) { return; }
            }
            let v4 = ((r0[at] as u64) != ((r0[at] as u64)).min(4u64));
            let mut v5 = 0;
            while v5 < 4 && (r0[at]).is_infinite() {
                v5 += 1;
                let mut v6: i32 = (a0[at] as i32);
            }
            let v8 = (if (((r0[at] as i32) < 8i32) && ((r0[at] as u64) < 4u64)) { { let v7 = r0[at]; r0[at] } } else { 2.0f32 });
            r0[at] = (if { let v9 = v4; ((a0[at] as f32) < 0.0f32) } { (-(r0[at])) } else { (-(r0[at])) });
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
                r0[at] += (if (!((a0[at + [2, 0]] as i32) < 6i32)) { (c0 * c0) } else { (-(16777217.0) as f32) });
                let mut v1 = 0;
                while v1 < 4 && (if ((r0[at] as u64) < 2u64) { (at[1] < (-3i64)) } else { (a0[[at[0] + (0), at[1] + (-2)]] < (-1i32)) }) {
                    v1 += 1;
                    r0[at] /= r0[at];
                }
            } else {
                let v2: i64 = (((a0[at - [0, -2]] as i64) + (a0[at + [2, -2]] as i64)) >> at[0]);
            }
            let mut v3 = 0;
            while v3 < 4 && ((c1 < 0.5f64) | ((a0[at] as u64) < 5u64)) {
                v3 += 1;
                if (((a0[at + [0, 0]] as u64) ^ (!{ 12 })) == ((a0[at + [2, 2]] as u64) / (((r0[at] as u64) & 6) | 1))) {
                    let mut v4: i32 = (-((-3.)) as i32);
                }
            }
            r0[at] %= (((r0[at] as f32) * { -0.1 }) / { let v5 = (a0[at + [-1, 0]] as f32); (r0[at] as f32) });
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
                let mut v2: f64 = ((a2[at + [2, 2, 1]] as f64) * (a0[at] * a1[at + [1, -1, 1]]));
            }
            if (!{ let v3 = ((a2[at + [1, -2, -2]] as i32) < 3i32); false }) {
                let mut v4: f32 = (if ((-(-(6)) as i64) < 3i64) { ((a2[at + [2, 2, 2]] as f32)).trunc() } else { (3.25f32 * (a0[at + [0, 1, 1]] as f32)) });
            } else {
                if (((r0[at]).count_ones() as i32) >= ((8i32).trailing_zeros() as i32)) {
                    r1[at] = ((c0 - at[2]) + (c0 % ((at[1] & 6) | 1)));
                }
                let v6: u64 = { let v5 = (if (c0 < 2i64) { c1 } else { c1 }); ((a2[at + [0, -2, 2]] as u64) + (a2[at] as u64)) };
            }
            let mut v8: i64 = ({ let v7 = at[0]; c0 }).abs();
            r0[at] *= ((((r0[at] as i32) * (r0[at] as i32))).leading_zeros() as i32);
            r1[at] -= r1[at];
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
            let mut v1: u64 = (if (if c1 { ((a0[[at[0] + (0)]] as i64) < (-3i64)) } else { c1 }) { (a0[at] as u64) } else { (c0 as u64) });
            r0[at] += (r0[at] - { let v2 = r0[at]; v2 });
        }));
    });
}
