//! Casts between all pairs of scalars.

use tida::prelude::*;

use crate::judge::check;
use crate::scene::over;

macro_rules! casts {
    ($($name:ident $t:ident;)*) => {$(
        #[test]
        fn $name() {
            over::<1>(|scene| {
                let a = scene.array::<$t>();
                let (mut r8, mut ri, mut ru) = (scene.array::<u8>(), scene.array::<i32>(), scene.array::<u32>());
                let (mut rl, mut rk) = (scene.array::<i64>(), scene.array::<u64>());
                let (mut rf, mut rd) = (scene.array::<f32>(), scene.array::<f64>());
                check!(
                    scene,
                    [r8, ri, ru, rl, rk, rf, rd, a],
                    (&mut r8, &mut ri, &mut ru, &mut rl, &mut rk, &mut rf, &mut rd, &a),
                    kernel!(|r8, ri, ru, rl, rk, rf, rd, a, at| {
                        let x = a[at - [1]];
                        r8[at] = x as u8;
                        ri[at] = x as i32;
                        ru[at] = x as u32;
                        rl[at] = x as i64;
                        rk[at] = x as u64;
                        rf[at] = x as f32;
                        rd[at] = x as f64;
                        r8[at] += x as u8 as i32 as u8;
                        ri[at] += (x as f64 * 1.5) as i32;
                        ru[at] ^= x as isize as u32;
                        rl[at] ^= x as usize as i64 - (x as f32) as i64;
                        rk[at] ^= x as f32 as u64;
                        rf[at] = if at[0] & 1 == 0 { rf[at] } else { x as i64 as f32 - x as u64 as f32 };
                        rd[at] = if at[0] & 1 == 0 { rd[at] } else { x as f32 as f64 + (x as u64 as f64 - -3i32 as u32 as f64) };
                    })
                );
            });
        }
    )*};
}

casts! {
    from_u8 u8;
    from_i8 i8;
    from_i16 i16;
    from_u16 u16;
    from_i32 i32;
    from_u32 u32;
    from_i64 i64;
    from_u64 u64;
    from_f32 f32;
    from_f64 f64;
}

macro_rules! short_casts {
    ($($name:ident $t:ident;)*) => {$(
        #[test]
        fn $name() {
            over::<1>(|scene| {
                let a = scene.array::<$t>();
                let (mut rb, mut rs, mut rt) = (scene.array::<i8>(), scene.array::<i16>(), scene.array::<u16>());
                let mut rl = scene.array::<i64>();
                check!(
                    scene,
                    [rb, rs, rt, rl, a],
                    (&mut rb, &mut rs, &mut rt, &mut rl, &a),
                    kernel!(|rb, rs, rt, rl, a, at| {
                        let x = a[at - [1]];
                        rb[at] = x as i8;
                        rs[at] = x as i16;
                        rt[at] = x as u16;
                        rb[at] -= x as u16 as i16 as i8;
                        rs[at] += x as i8 as i16 * 3;
                        rt[at] ^= x as i8 as u16 + (x as f32 * 0.7) as u16;
                        rl[at] = x as i8 as i64 - (x as i16 as i64 ^ x as u16 as i64) + (x as f64 * 1.5) as i16 as i64;
                        rl[at] += (x as i16 as f32 - x as i8 as f32) as i64 + (rb[at] as u64 >> 3) as i64;
                    })
                );
            });
        }
    )*};
}

short_casts! {
    short_from_u8 u8;
    short_from_i8 i8;
    short_from_i16 i16;
    short_from_u16 u16;
    short_from_i32 i32;
    short_from_u32 u32;
    short_from_i64 i64;
    short_from_u64 u64;
    short_from_f32 f32;
    short_from_f64 f64;
}

#[test]
fn from_bool() {
    over::<2>(|scene| {
        let a = scene.array::<bool>();
        let (mut r8, mut ri, mut ru) = (scene.array::<u8>(), scene.array::<i32>(), scene.array::<u32>());
        let (mut rl, mut rk, mut rf) = (scene.array::<i64>(), scene.array::<u64>(), scene.array::<f32>());
        let mut rs = scene.array::<i16>();
        check!(
            scene,
            [r8, ri, ru, rl, rk, rf, rs, a],
            (&mut r8, &mut ri, &mut ru, &mut rl, &mut rk, &mut rf, &mut rs, &a),
            kernel!(|r8, ri, ru, rl, rk, rf, rs, a, at| {
                rs[at] = a[at] as i16 - a[at - [0, 1]] as i8 as i16;
                r8[at] = a[at] as u8;
                ri[at] = -(a[at] as i32);
                ru[at] = (!a[at]) as u32;
                rl[at] = a[at + [1, 1]] as i64 + (at[0] < 2) as i64;
                rk[at] = (a[at] && a[at - [0, 1]]) as u64;
                rf[at] = a[at] as u8 as f32;
            })
        );
    });
}

#[test]
fn literals_take_the_type_they_need() {
    over::<1>(|scene| {
        let (mut r8, mut rf, mut rd, mut rl) =
            (scene.array::<u8>(), scene.array::<f32>(), scene.array::<f64>(), scene.array::<i64>());
        check!(
            scene,
            [r8, rf, rd, rl],
            (&mut r8, &mut rf, &mut rd, &mut rl),
            kernel!(|r8, rf, rd, rl, at| {
                let x = 0.1;
                rf[at] = x + 16777217.0;
                let y = 0.1;
                rd[at] = y * 3.0 + 1e-320 + 9007199254740993.0 + 7f64 + 0.1f32 as f64;
                let n = 300;
                rl[at] = n * 3_000_000_000 + 0x7fff_ffff_ffff_ffff + 0b101 + 0o17;
                let k = 200u8;
                r8[at] = k + 100 + SEVEN;
                let big = 18_446_744_073_709_551_615u64;
                rl[at] += big as i64 - -9_223_372_036_854_775_808;
                let fallback = 2_000_000_000;
                let float = 0.3;
                rl[at] += (fallback + fallback) as i64 + (float * 1e17) as i64;
            })
        );
    });
}

const SEVEN: u8 = 7;

/// Numbers that take their type from the cast, through minus signs, `!` and blocks, and others that do not.
#[test]
#[allow(unused_braces, unused_parens, clippy::all)]
fn of_numbers() {
    over::<1>(|scene| {
        let a = scene.array::<i64>();
        let (mut r8, mut ri, mut rl) = (scene.array::<u8>(), scene.array::<i32>(), scene.array::<i64>());
        let (mut rk, mut rf, mut rd) = (scene.array::<u64>(), scene.array::<f32>(), scene.array::<f64>());
        check!(
            scene,
            [r8, ri, rl, rk, rf, rd, a],
            (&mut r8, &mut ri, &mut rl, &mut rk, &mut rf, &mut rd, &a),
            kernel!(|r8, ri, rl, rk, rf, rd, a, at| {
                r8[at] = !{ 200 } as u8 + -1 as i32 as u8;
                ri[at] = -(-2147483648) as i32 + { -(-7) } as i32;
                rl[at] = -(-2147483648) as i64 + { 1099511627776 } as i64 - { { -(4294967296) } } as i64 * 3;
                rl[at] ^= (5 + 7) as i64 + !4294967296 as i64 + (if a[at] < 0 { 1 } else { 2i32 }) as i64;
                rk[at] = { 18446744073709551615 } as u64 + !{ 1 } as u64 + 3.7 as u64 + -1i64 as u64;
                rf[at] = { 1.00000005960464477539062500001 } as f32 * (-(-16777217)) as f32;
                rf[at] -= -(-1.00000005960464477539062500001) as f32;
                rd[at] = { 0.1 } as f64 + -{ 3. } as f64 + (0.1 + 0.0) as f64 - 2147483647 as f64;
            })
        );
    });
}
