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
            for v1 in -1i32..=1 {
                let mut v2: f32 = (-((r1[at] as f32)));
                r1[at] -= (-((r1[at] + (r0[at] as f32))));
            }
            r0[at] += ((3u64 as u64) | { let v3 = (r1[at] as u64); r0[at] });
            r1[at] = (a0[at + [2, -2]] - c1);
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
                    let v2 = [(((r0[at] as i64)).count_ones() as i64), (r0[at] as i64), (3i64 + (r1[at] as i64)), (2u64 as i64)];
                }
            }
            let mut v3 = 0;
            while v3 < 4 && ((a1[at - [2]] as f32)).is_nan() {
                v3 += 1;
                let mut v4 = 0;
                while v4 < 4 && ((a0[at + [-1]] as i32) < (-7i32)) {
                    v4 += 1;
                    r0[at] -= r1[at];
                    let v5 = ((c1 % (((a1[at + [1]] as i32) & 6) | 1)) as i64);
                }
                let v6 = ((c1).abs() as f64);
            }
            if ((r1[at] as i32) <= (if (0.1f32 < (-0.5f32)) { c1 } else { c1 })) {
                let v7: f64 = ((c1 as f64) % (r1[at]).max(r1[at]));
                let mut v8 = 0;
                while v8 < 4 && (0.0f64 <= v7) {
                    v8 += 1;
                    r0[at] -= 1e3f64;
                    let v9: i32 = c1;
                }
            } else {
                for v10 in 0..((!(r1[at] as i64)) & 3) {
                    let mut v11: i64 = ((v10 % ((3 & 6) | 1)) + ((a0[at] as i64)).min((r0[at] as i64)));
                    if ((0.5f64 < (-1e-3f64)) == ((r0[at] as i64) < (-1i64))) { break; }
                }
            }
            r0[at] *= ((r0[at] * r0[at]) - (r0[at]).max(r0[at]));
            r1[at] /= (if (!(c1 < 5i32)) { (c0).abs() } else { c2 });
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
                let v1 = ((r1[at] + r1[at]) as f32);
                for v2 in 0u64..3 {
                    let v3 = (((r0[at] as f64) % (a1[at + [0]] as f64)) * ((a2[at + [2]] as f64) + r0[at]));
                }
            } else {
                for v4 in 0u64..3 {
                    let mut v5 = [(a2[at + [a1[[at[0] + (-1)]].rem_euclid(5) - 2]] as f32), (a2[at + [(a1[at] + a1[at]).rem_euclid(5) - 2]] as f32), (-1e-3f32), (r1[at]).abs()];
                    r0[at] += (a2[[at[0] + (-2)]] as f64);
                }
                let v7 = ((r1[at] * (r0[at] as f32))).cbrt();
            }
            r1[at] = { let v9 = ((a0[at + [1]] as f32)).powi({ let v8 = (r1[at] as i32); 5i32 }); (v9).abs() };
            let mut v10 = (0.0f32).abs();
            r0[at] -= (((r1[at] as f64) * 1e-2) + (if (r1[at] < (-1e-3f32)) { (r1[at] as f64) } else { a2[at + [-1]] }));
            r1[at] += { let v11 = r1[at]; (r1[at]).copysign((-1e3f32)) };
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
                r1[at] &= ((-(r1[at])) << (a0[at + [0]] as i32));
            }
            for v2 in 0u64..3 {
                let mut v3 = 0;
                while v3 < 4 && (1u64 < v2) {
                    v3 += 1;
                    let mut v5 = { let v4 = ((r1[at] as f64)).max((a0[at + [1]] as f64)); (if (c1 < 0u64) { (-0.1f64) } else { (a0[[at[0] + (-2)]] as f64) }) };
                }
            }
            r0[at] = { let v6 = (!(r0[at] as u64)); { let v7 = (r1[at] as u64); r0[at] } };
            r1[at] -= (r0[at] as i32);
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
            r0[at] |= (if (v2 <= a0[at - [-1, -2]]) { (a0[at + [2, 1]] & 1) } else { v2 });
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
            let mut v3: i32 = (-6i32);
            if (8i32 < 1i32) {
                let mut v4 = 0;
                while v4 < 4 && ((a1[at - [2, 2, (c0).min((a0[at + [1, -2, -2]] as i64)).rem_euclid(5) - 2]] as f64) != r0[at]) {
                    v4 += 1;
                    let v5 = [(a0[at + [2, -2, 1]] as i64), ((a2[at - [-1, -1, -1]] as i64)).clamp((-0i64), (r0[at] as i64)), (!(a1[at + [1, 2, 1]] as i64)), (if ((a2[[at[0] + (-1), at[1] + (0), at[2] + (-2)]] as i64) < 1i64) { (a0[at + [1, 0, 1]] as i64) } else { (a1[[at[0] + (1), at[1] + (1), at[2] + (-2)]] as i64) })];
                    let v6 = (a1[at - [0, -2, -2]] as f64);
                }
                r0[at] /= (a0[at] as f64);
            }
            r0[at] /= { let v7 = ((a1[at + [0, 2, -2]] as f64) % r0[at]); (r0[at] - (a1[at + [1, 1, 1]] as f64)) };
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
            let v1: bool = ((0.1f64 * 1e3f64) <= (c0 + a1[at - [2]]));
            r0[at] *= ((c2).div_euclid((c2 & 6) | 1) + 1);
            r1[at] = ((r1[at] + 1)).div_euclid((((a0[at + [1]] as i32) + (r1[at] as i32)) & 6) | 1);
            for v2 in -2..=2 {
                r1[at] |= (if (at[0] == (a0[[at[0] + (-2)]] as i64)) { (r1[at] % ((r1[at] & 6) | 1)) } else { r1[at] });
                r0[at] &= ((a0[at] - 1e-2) as u64);
            }
            r0[at] <<= (r0[at]).rotate_left(((r0[at]).wrapping_mul(c2)) as u32);
            r1[at] -= ((r1[at] + (a1[at + [(c1).abs().rem_euclid(5) - 2]] as i32))).div_euclid((((a0[at + [2]] as i32)).max((r0[at] as i32)) & 6) | 1);
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
            let v2 = (((a0[at - [2, 0, 2]] as f32) - 0.0f32) + { let v1 = 0.1f32; (a1[at] as f32) });
            let mut v3 = ((a0[at + [-1, -2, 2]] as u64) as f32);
            r0[at] |= (((r0[at] - (a1[at - [1, -1, -1]] as i32))).count_ones() as i32);
            r0[at] >>= r0[at];
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
                let v1: f32 = ((c1 - (a0[at + [2, 2, 0]] as i64)) as f32);
            } else {
                for v2 in -1..2 {
                    r0[at] -= ({ let v3 = (a0[at + [v2, v2, v2]] as f64); v3 } + 1e-2);
                    let mut v4 = ((r1[at] as i64) <= (c1 + c1));
                }
                r1[at] += (-((r0[at] as i32)));
            }
            r0[at] = (-1e3f64);
            r1[at] <<= (if ((r0[at] as u64) < 7u64) { (!6i32) } else { (if (2.0f32 < 0.1f32) { r1[at] } else { r1[at] }) });
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
                let v1 = ((a1[at] - (a0[at] as u64)) - (if (r0[at] < 2.0f32) { c1 } else { 7u64 }));
                for v2 in -1i32..=1 {
                    let mut v4 = ({ let v3 = a1[at + [0, 0, 1]]; v1 } as i32);
                }
            } else {
                if (((a0[at + [0, 1, -1]] as f32)).abs()).is_nan() {
                    let v5: bool = ((r0[at] as i32) < 3i32);
                } else {
                    let mut v6: bool = ((!(3u64 < 0u64)) == (a1[at + [1, -1, 2]] == a1[at + [1, -2, 1]]));
                    v6 = (if (c1 < 8u64) { (r0[at] < (-2.0f32)) } else { ((a1[at - [2, 1, 1]] as i32) > (r0[at] as i32)) });
                }
                for v7 in -1i32..=1 {
                    if (3.25f64 < c0) { continue; }
                }
            }
            for v8 in -1i32..=1 {
                let mut v9: bool = (c0 < ((a1[[at[0] + (0), at[1] + (2), at[2] + (1)]] as f64)).abs());
            }
            let v10 = ((!((r0[at] as i64) < (-8i64))) && (((r0[at] as i32) < 2i32) == ((a0[at] as f32) < (-0.0f32))));
            r0[at] *= (-(((a0[[at[0] + (-1), at[1] + (-2), at[2] + (-2)]] as i32) as f32)));
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
            r0[at] &= (!(r0[at] - a0[at + [2, 0]]));
            r1[at] = (!{ let v2 = v1; r1[at] });
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
                let mut v1: f64 = (-(((-1e-3f64) + r0[at])));
                let v2: f64 = (-1e3f64);
            }
            r1[at] &= ((a0[at] as f64) as i32);
            let v3 = r0[at];
            r0[at] -= (r0[at] as f64);
            r1[at] &= ((c1).div_euclid((r1[at] & 6) | 1) & 1);
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
                let mut v1 = (c1 + (0.5f64).clamp((-0.0f64), a0[at]));
            }
            let mut v2 = 0;
            while v2 < 4 && { let v3 = c0; false } {
                v2 += 1;
                for v4 in 0u64..3 {
                    let v6 = ({ let v5 = (r0[at] as i32); (a0[at] as i32) }).clamp(0i32, ((r0[at] as i32)).wrapping_mul((a0[at + [2]] as i32)));
                }
            }
            for v7 in -1i32..=1 {
                let v10 = ({ let v8 = (a0[at + [1]] as f32); r0[at] } - { let v9 = (r0[at] as f32); r0[at] });
            }
            let v11: bool = (((r0[at] as f32) - r0[at])).is_infinite();
            r0[at] = ({ let v12 = r0[at]; c2 }).min((-(r0[at])));
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
                r0[at] += (if (!((a0[at + [2, 0]] as i32) < 6i32)) { (c0 * c0) } else { ((a0[at + [0, 2]] as i64) as f32) });
                let mut v1 = (if (c0 >= r0[at]) { (if (c0 < 0.0f32) { (-8i32) } else { (r0[at] as i32) }) } else { a0[at - [(if (r0[at] < (-0.5f32)) { (a0[at - [0, -2]] as i64) } else { 6i64 }).rem_euclid(5) - 2, -1]] });
            }
            let mut v2 = 0;
            while v2 < 4 && (if ((a0[at + [-2, 1]] as f64) < 3.25f64) { (r0[at] < 2.0f32) } else { (a0[at + [1, 1]] < 6i32) }) {
                v2 += 1;
                if (((a0[at + [0, 0]] as u64) ^ 12) == ((a0[at + [2, 2]] as u64) / (((r0[at] as u64) & 6) | 1))) {
                    let mut v3 = ((1e3f32 % 0.25) as i32);
                }
            }
            r0[at] /= (((-1e3f32) * c0)).ceil();
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
                let mut v4: f32 = (if (7i64 < (-4i64)) { ((r0[at] as f32)).powi((a0[at + [2, 0, 0]] as i32)) } else { ((a1[at + [0, -2, 2]] as f32) * (a0[at + [1, 1, -2]] as f32)) });
            }
            if (((r0[at]).count_ones() as i32) >= (6i32).signum()) {
                if (if (if (a1[at + [-1, -1, 1]] < 3.25f64) { ((r0[at] as f64) < 0.1f64) } else { ((a0[[at[0] + (-2), at[1] + (-1), at[2] + (2)]] as i32) < 1i32) }) { (1e3f32 < 1e3f32) } else { ((a2[at + [0, -2, 2]] as f64) < 0.0f64) }) {
                    let v5 = (if ((r0[at] as i32) < 4i32) { ((a1[at - [(c0 << c0).rem_euclid(5) - 2, 1, -1]] as f32)).exp() } else { (c0 as f32) });
                } else {
                    let v6 = [(c0 >> c0), (r1[at]).div_euclid((r1[at] & 6) | 1), c0, (c1 as i64)];
                    let mut v8 = ({ let v7 = c1; v7 } ^ (c1 << 3));
                }
            }
            r0[at] *= ({ let v9 = 6i32; r0[at] }).max((a2[at + [2, 1, 0]]).pow(4));
            r1[at] = (if ((a0[at] as f32)).is_nan() { (r1[at] - at[0]) } else { (r1[at]).max(c0) });
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
            let mut v1: u64 = (if (if c1 { ((a0[[at[0] + (0)]] as i64) < (-3i64)) } else { c1 }) { (a0[at] as u64) } else { (5i64 as u64) });
            r0[at] += (r0[at] - { let v2 = r0[at]; v2 });
        }));
    });
}
