//! Random kernels. Made by `cargo xtask corpus --seed 1 --count 16`; do not edit.

use tida::prelude::*;

use crate::judge::check;
use crate::scene::over;

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
            for v1 in -2..=(c1 as i64 & 3) - 1 {
                for v2 in -1i32..=1 {
                    r1[at] = (a0[at - [2, v1]] as u16);
                    let mut v3 = (a0[at + [2, v1]] as i16);
                }
                if { let v4 = ((-1.00000005960464477539062500001 as f64) < 0.0f64); ((a1[at] as u64) < 7u64) } { continue; }
            }
            r0[at] += ({ let v7 = (a0[at] as f64); v7 } + (16777217.0 as f64));
            r1[at] >>= ((!(r1[at] as u16)) as u16);
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
            for v3 in 0..((a0[at + [-1]]).abs() & 3) {
                if ({ let v4 = (r0[at] as f64); c0 } != (c2 - c0)) {
                    let v6: i8 = (((a1[at + [-2]] as u16) as i8)).rotate_left(({ let v5 = (a1[at + [0]] as i8); v5 }) as u32);
                }
                v2[((r0[at] >> 3) & 3) as usize] &= ((!r0[at]) == ((r1[at] as u64) - r0[at]));
            }
            r0[at] *= ((r1[at] as u64)).signum();
            r1[at] &= ((r1[at] % (r0[at] as i8))).max(((r1[at] as i8)).max((r0[at] as i8)));
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
            if (((r1[at] as i32) as i16) < c1) {
                if (((a2[at + [1]] as f32) < 3.25f32) && (if ((a1[[at[0] + (-1)]] as f32) < 2.0f32) { ((a1[[at[0] + (-2)]] as f32) < (-3.25f32)) } else { ((a0[at + [-1]] as f64) < 0.0f64) })) {
                    let mut v1: u64 = (((a0[at] as u64) + (a2[at] as u64)) % ((c0 & 6) | 1));
                }
            } else {
                let mut v2: i32 = 4i32;
                r0[at] += (-((r0[at] + r0[at])));
            }
            for v3 in -1i32..=1 {
                if (a1[at - [(a2[[at[0] + (-2)]] as i64).rem_euclid(5) - 2]] <= ((a0[at + [2]] as i8) << (r1[at] as i8))) {
                    let mut v4 = [(r0[at]).rem_euclid((v3 & 6) | 1), (r0[at] - r0[at]), (r0[at]).rotate_left((r0[at]) as u32), (v3 << v3)];
                }
                for v5 in 0u64..=(c2 as u64 & 7) {
                    let mut v7: i64 = ({ let v6 = a0[at]; (-(-(!6)) as i64) } % (((at[0] + a0[[at[0] + (-2)]]) & 6) | 1));
                }
            }
            r0[at] |= ((r0[at] | r0[at]) - 1);
            r0[at] -= ((r0[at] * (a2[at + [0]] as i32))).wrapping_add((r0[at] >> (a2[at - [1]] as i32)));
            r1[at] |= { let v9 = { let v8 = a1[[at[0] + (-2)]]; a1[at - [-2]] }; (v9 * r1[at]) };
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
            for v1 in -1i32..=1 {
                r1[at] <<= (c0 / (((r1[at] >> c0) & 6) | 1));
                let mut v2 = 0;
                while v2 < 4 && ((4 as f32)).is_infinite() {
                    v2 += 1;
                    let mut v5 = { let v3 = (c2).abs(); { let v4 = v3; (r0[at] as f32) } };
                }
            }
            let mut v6 = 0;
            while v6 < 4 && (((r0[at] as i32) < 8i32) && ((r0[at] as u16) < 1u16)) {
                v6 += 1;
                r0[at] = (((r1[at] as u16)).signum() % (((r0[at] as u16) & 6) | 1));
            }
            r0[at] <<= ((r1[at] as u16) - (r0[at] as u16));
            r1[at] ^= (-((at[0] / ((r1[at] & 6) | 1))));
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
            let mut v1 = (2e-3 as f64);
            let v2: u64 = (((r1[at] as f32) * 0.1f32) as u64);
            r0[at] <<= (((c1 - (2 as i64))).trailing_zeros() as i64);
            r1[at] >>= (if ((a0[at + [2, 0]] as f32) < 2.0f32) { { let v3 = v2; v2 } } else { { let v4 = r1[at]; v2 } });
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
                if (!(a0[[at[0] + (-2), at[1] + (2), at[2] + (2)]] < 1u64)) {
                    let v3: u64 = a0[at + [2, -1, 2]];
                    let mut v3 = ((if (a1[at] < 8i16) { v2 } else { v2 }) | v2);
                } else {
                    r0[at] <<= (v2).min((if ((a0[at + [2, 1, 2]] as i8) < 1i8) { v2 } else { v2 }));
                }
                let v2: u64 = { let v4 = ((a1[at + [0, 2, -2]] as u64) << a0[at + [0, 1, -1]]); (if ((a0[at + [-2, 1, -2]] as i16) < (-5i16)) { v4 } else { a2[at + [-1, -1, -1]] }) };
            } else {
                let v5 = ((r0[at] as f64) as i16);
                v2 >>= (!v2);
            }
            r0[at] = r0[at];
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
            for v2 in -1..2 {
                r1[at] |= (if ((r1[at] as u64) == (a0[[at[0] + (-2)]] as u64)) { (r1[at] % ((r1[at] & 6) | 1)) } else { r1[at] });
                r0[at] &= (16777217.0 as i64);
            }
            r0[at] <<= (c1 ^ 12);
            r1[at] <<= (r1[at]).pow(2);
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
            for v2 in -2..=(c1 as i64 & 3) - 1 {
                if ((r0[at] as u64) <= (a1[at + [-1, 0, 1]] as u64)) { break; }
            }
            let v3 = (if ((a1[at + [0, -2, 1]] as i64) != (a1[at + [0, 1, 0]] as i64)) { (if true { (r0[at] as i32) } else { (r0[at] as i32) }) } else { ((a1[at + [-2, -2, -1]] as i32) - (r0[at] as i32)) });
            r0[at] *= { let v4 = r0[at]; ((a0[at] as i16) ^ v4) };
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
            if ((r0[at]).is_nan() == (((r1[at] as f32) < (-0.0f32)) & ((r1[at] as f32) < (-1e-3f32)))) {
                if { let v2 = { let v1 = (0i32 < 3i32); false }; (if (r0[at] < 2.0f64) { v2 } else { v2 }) } {
                    let v4 = { let v3 = r0[at]; (r0[at] + ((2147483647) as f64)) };
                    let mut v5 = [(if (r0[at] < 3.25f64) { (r0[at] as u16) } else { (-(0.1) as u16) }), (if ((r1[at] as i32) < (-7i32)) { (a0[at + [2, 0, c1.rem_euclid(5) - 2]] as u16) } else { (r1[at] as u16) }), ((r1[at] as u16) >> (r1[at] as u16)), ((a0[at + [-1, -1, -2]] as u16)).div_euclid(((r0[at] as u16) & 6) | 1)];
                }
            }
            r0[at] *= c0;
            r1[at] += ((8u64 & (({ -16777217.0 }) as u64))).rem_euclid(((!r1[at]) & 6) | 1);
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
            if (!(((r0[at] as i16) < 7i16) & ((r0[at] as i8) < 5i8))) {
                let v2 = ((!(r0[at] as u64)) - { let v1 = c1; 1u64 });
                let mut v3: i16 = (((a1[at] as i16) + (a1[at + [1, -1, 1]] as i16))).div_euclid((((a0[at] as i16) + (a0[at + [-2, 1, -1]] as i16)) & 6) | 1);
            }
            let mut v4: i64 = (r0[at] as i64);
            if (!(r0[at] != r0[at])) {
                v4 &= ((v4).clamp((-0i64), v4)).rem_euclid(((a1[[at[0] + (1), at[1] + (-2), at[2] + (0)]] as i64) & 6) | 1);
            } else {
                for v5 in 0u64..3 {
                    v4 >>= (a0[at + [1, -2, 1]] as i64);
                    v4 = ((if ((a0[at + [-2, -1, -1]] as i64) < 6i64) { at[2] } else { (a1[at + [1, 0, -2]] as i64) }) * ((r0[at] as i64) - (a1[at + [-2, 0, 1]] as i64)));
                }
            }
            r0[at] %= (a1[at - [1, 1, 1]] as f32);
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
                r1[at] += (!83 as i8);
            } else {
                let mut v2: i16 = (((a0[at + [-2, -1]] as i16) % (((r1[at] as i16) & 6) | 1)) & (r0[at] as i16));
                for v3 in -2..=(c2 as i64 & 3) - 1 {
                    v2 = (if ((a0[at + [v3, v3]] as f32)).is_infinite() { ((a0[at + [v3, 1]] as i16) + 3) } else { ((r0[at] as i16)).pow(1) });
                    let v4 = (a0[[at[0] + (2), at[1] + (v3)]] as f32);
                }
            }
            for v5 in -2..=2 {
                let v6 = (if ((r0[at] as f32)).is_finite() { (!(r0[at] as i32)) } else { ((r0[at] as i32) << 1) });
            }
            let mut v7 = (((a0[at - [-2, 2]] as u64) as u16)).wrapping_sub(c2);
            r0[at] = (((8u16 - r0[at])).count_ones() as u16);
            r1[at] |= (r0[at] as i8);
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
                for v1 in 0u64..=(c1 as u64 & 7) {
                    let v2 = [(if ((a0[at + [1]] as i64) < (-8i64)) { (a0[at + [2]] as i64) } else { at[0] }), (a0[at] as i64), at[0], ((r0[at] as i64) / ((at[0] & 6) | 1))];
                    let v3: u64 = (3. as u64);
                }
            }
            let mut v4 = ((c2 % { -0.1 }) * (c2).max(c2));
            if ((a0[at + [0]] as i64) != 4i64) { return; }
            let mut v5: i32 = ((if ((r0[at] as i16) < (-5i16)) { (a0[at - [2]] as i32) } else { (r0[at] as i32) }) - { -(-2147483648) });
            r0[at] += (((a0[at + [0]] as i16) + (r0[at] as i16))).pow(3);
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
                    if (if ((a0[at + [-2, -1]] as f32) < 0.1f32) { (8i16 < (-7i16)) } else { ((a0[at + [-1, -1]] as u16) < 4u16) }) { break; }
                }
            }
            if ((r0[at] as f32) < (-2.0f32)) { return; }
            r0[at] *= (r0[at] as f32);
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
                let mut v2: bool = ((a1[at] == (r0[at] as u16)) ^ ((a1[at] as i32) < 8i32));
                let mut v3: f64 = (((-(305419896) as f64) * (a2[at + [0, 0, 1]] as f64))).abs();
            }
            let v4 = at[2];
            let mut v5 = ((if (7i32 < 8i32) { (a0[at + [0, 1, 1]] as i8) } else { (a1[at - [-1, 1, 2]] as i8) }) << (!-1));
            r0[at] -= ((r1[at] as i8) ^ (v5 % ((r0[at] & 6) | 1)));
            r1[at] <<= (-((if (c0 < 0.0f32) { r1[at] } else { c1 })));
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
            let mut v1 = (if (if c1 { ((a0[[at[0] + (0)]] as i8) < (-3i8)) } else { c1 }) { (a0[at] as f64) } else { ((a0[[at[0] + (2)]] as u16) as f64) });
            r0[at] = ((a0[[at[0] + (1)]] as i32)).div_euclid((a0[at + [-1]] & 6) | 1);
        }));
    });
}
