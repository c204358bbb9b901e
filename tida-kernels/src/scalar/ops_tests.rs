use super::*;

fn faulted<T>(run: impl FnOnce() -> T) -> (T, Option<Fault>) {
    fault::take();
    let value = run();
    (value, fault::take())
}

#[test]
fn min_and_max_order_zeros_and_pass_over_nan() {
    let nan = f64::NAN;
    assert_eq!(min(nan, 1.0), 1.0);
    assert_eq!(min(1.0, nan), 1.0);
    assert_eq!(max(nan, 1.0), 1.0);
    assert_eq!(max(1.0, nan), 1.0);
    assert!(min(nan, nan).is_nan() && max(nan, nan).is_nan());
    for (a, b) in [(0.0f32, -0.0f32), (-0.0, 0.0)] {
        assert_eq!(min(a, b).to_bits(), (-0.0f32).to_bits());
        assert_eq!(max(a, b).to_bits(), 0.0f32.to_bits());
    }
    let values = [-f64::INFINITY, -2.5, -0.0, 0.0, f64::MIN_POSITIVE, 3.0, f64::INFINITY];
    for (i, &a) in values.iter().enumerate() {
        for (j, &b) in values.iter().enumerate() {
            assert_eq!(min(a, b).to_bits(), values[if i < j { i } else { j }].to_bits());
            assert_eq!(max(a, b).to_bits(), values[if i > j { i } else { j }].to_bits());
        }
    }
    assert_eq!((min(3i32, -4), max(3u8, 4)), (-4, 4));
}

#[test]
fn clamp_never_panics() {
    assert_eq!(clamp(5.0, 0.0, 1.0), 1.0);
    assert_eq!(clamp(-5.0, 0.0, 1.0), 0.0);
    assert!(clamp(f64::NAN, 0.0, 1.0).is_nan());
    assert_eq!(clamp(0.5, f64::NAN, f64::NAN), 0.5);
    assert_eq!(clamp(0.5, 2.0, 1.0), 1.0);
    assert_eq!(clamp(-7i64, -3, 3), -3);
    assert_eq!(clamp(-0.0f64, 0.0, 1.0).to_bits(), (-0.0f64).to_bits());
}

#[test]
fn signum_follows_rust() {
    assert_eq!((signum(0.0), signum(-0.0), signum(-3.5f32), signum(f64::INFINITY)), (1.0, -1.0, -1.0, 1.0));
    assert!(signum(f64::NAN).is_nan());
    assert_eq!((signum(-3i32), signum(0i64), signum(7u8), signum(0usize)), (-1, 0, 1, 0));
}

#[test]
fn integers_wrap() {
    assert_eq!(add(i32::MAX, 1), i32::MIN);
    assert_eq!(sub(0u8, 1), 255);
    assert_eq!(mul(i64::MAX, 2), -2);
    assert_eq!(neg(i32::MIN), i32::MIN);
    assert_eq!(neg(1u32), u32::MAX);
    assert_eq!(abs(i64::MIN), i64::MIN);
    assert_eq!(pow(3u8, 6), 217);
    assert_eq!((wrapping_add(255u8, 2), wrapping_sub(0u64, 1), wrapping_mul(200u8, 2)), (1, u64::MAX, 144));
}

#[test]
fn divisions_without_a_result_raise_a_fault() {
    let fault = Some(Fault::Division);
    assert_eq!(faulted(|| div(7i32, 0)), (0, fault));
    assert_eq!(faulted(|| div(i32::MIN, -1)), (i32::MIN, fault));
    assert_eq!(faulted(|| rem(7u64, 0)), (0, fault));
    assert_eq!(faulted(|| rem(i64::MIN, -1)), (0, fault));
    assert_eq!(faulted(|| div_euclid(i64::MIN, -1)), (i64::MIN, fault));
    assert_eq!(faulted(|| div_euclid(1u8, 0)), (0, fault));
    assert_eq!(faulted(|| rem_euclid(isize::MIN, -1)), (0, fault));
    assert_eq!(faulted(|| rem_euclid(3usize, 0)), (0, fault));
    assert_eq!(faulted(|| (div(-7, 2), rem(-7, 2), div_euclid(-7, 2), rem_euclid(-7, 2))), ((-3, -1, -4, 1), None));
    assert_eq!(faulted(|| div(1.0, 0.0)), (f64::INFINITY, None));
    assert!(rem(1.0f64, 0.0).is_nan());
    assert_eq!((rem(-5.5, 2.0), rem(5.5f32, -2.0)), (-1.5, 1.5));
}

#[test]
fn shifts_mask() {
    assert_eq!(shl(1u8, 9), 2);
    assert_eq!(shl(1i32, 32u64), 1);
    assert_eq!(shr(-8i64, 1u8), -4);
    assert_eq!(shr(0x8000_0000u32, -1), 1);
    assert_eq!(shl(1u64, 64usize), 1);
    assert_eq!((rotate_left(0x81u8, 9), rotate_right(1u32, 33)), (0x03, 0x8000_0000));
    assert_eq!((count_ones(7i32), leading_zeros(1u8), trailing_zeros(0u64)), (3, 7, 64));
}

#[test]
fn bits_and_comparisons() {
    assert_eq!((bitand(true, false), bitor(6, 1), bitxor(6u8, 3), not(false), not(0i32)), (false, 7, 5, true, -1));
    assert!(!eq(f64::NAN, f64::NAN) && ne(f64::NAN, f64::NAN) && !lt(f64::NAN, 0.0) && !ge(f64::NAN, 0.0));
    assert!(eq(0.0, -0.0) && le(2, 2) && gt(true, false));
}

#[test]
fn powi_is_its_sequence() {
    for x in [1.1f64, -0.3, 7.0, 1e200] {
        let x2 = x * x;
        assert_eq!(powi(x, 3).to_bits(), (x * x2).to_bits());
        assert_eq!(powi(x, 6).to_bits(), (x2 * (x2 * x2)).to_bits());
        assert_eq!(powi(x, -2).to_bits(), (1.0 / x2).to_bits());
        assert_eq!(powi(x, 0), 1.0);
        assert_eq!(powi(x, 1).to_bits(), x.to_bits());
    }
    assert_eq!(powi(2.0f32, i32::MIN), 0.0);
    assert_eq!(powi(f64::NAN, 0), 1.0);
}

#[test]
fn float_methods() {
    assert_eq!((round(2.5), round(-2.5), round(0.499_999_999_999_999_94)), (3.0, -3.0, 0.0));
    assert_eq!((trunc(-1.7), fract(-1.75), floor(-0.5), ceil(0.5), recip(4.0f32)), (-1.0, -0.75, -1.0, 1.0, 0.25));
    let tiny = f64::EPSILON / 2.0;
    assert_eq!(mul_add(1.0 + f64::EPSILON, 1.0 - tiny, -1.0), tiny - f64::EPSILON * tiny);
    assert_eq!((copysign(2.0, -0.0), hypot(3.0, 4.0), sqrt(2.25f32)), (-2.0, 5.0, 1.5));
    assert!(is_nan(f32::NAN) && is_finite(1.0) && is_infinite(-f64::INFINITY) && !is_finite(f64::NAN));
}

#[test]
fn entries_past_the_end_raise_a_fault() {
    let mut w = [4, 5, 6];
    assert_eq!(faulted(|| entry(&w, 2)), (6, None));
    assert_eq!(faulted(|| entry(&w, 3)), (4, Some(Fault::Entry { index: 3, len: 3 })));
    *entry_mut(&mut w, 1) = 9;
    let (_, fault) = faulted(|| *entry_mut(&mut w, usize::MAX) = 7);
    assert_eq!(fault, Some(Fault::Entry { index: u64::MAX, len: 3 }));
    assert_eq!(w, [7, 9, 6]);
}

#[test]
fn points_wrap() {
    assert_eq!(plus([1, i64::MAX], [-2, 1]), [-1, i64::MIN]);
    assert_eq!(minus([1, i64::MIN], [-2, 1]), [3, i64::MAX]);
}

#[test]
fn every_method_is_here() {
    use crate::quote::Method;
    let source = include_str!("ops.rs");
    for method in Method::ALL {
        let words = source.split(|c: char| !c.is_alphanumeric() && c != '_');
        assert!(words.clone().any(|word| word == method.name()), "{}", method.name());
    }
}
