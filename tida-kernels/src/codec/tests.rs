use std::sync::atomic::{AtomicU32, Ordering};

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use proptest::prelude::*;

use super::*;

fn codec(value: ScalarType, format: Format) -> Codec {
    Codec::new(value, &format).unwrap().unwrap()
}

fn of(value: ScalarType, x: f64) -> Value {
    if value == ScalarType::F32 { Value::F32(x as f32) } else { Value::F64(x) }
}

fn number(value: Value) -> f64 {
    match value {
        Value::F32(x) => x.into(),
        Value::F64(x) => x,
        _ => f64::NAN,
    }
}

const RANGES: [(f64, f64); 6] = [(0.0, 1.0), (-1.0, 1.0), (-0.75, 3.5), (2.5, 3.0), (-1e5, -3e4), (1e-3, 1e3)];

#[test]
fn codes_of_ranges_stand_for_the_centres_of_cells() {
    for value in [ScalarType::F32, ScalarType::F64] {
        for ((min, max), bits) in RANGES.into_iter().flat_map(|range| [8u32, 16].map(|bits| (range, bits))) {
            let codec = codec(value, Format::Range { bits, min, max });
            let cell = (max - min) / f64::exp2(bits.into());
            let mut centres: Vec<f64> = Vec::new();
            for code in 0..1u32 << bits {
                let x = codec.decode(code);
                assert_eq!(codec.encode(x), (code, false), "{value:?} {min} {max} {bits} {code}");
                centres.push(number(x));
            }
            centres.sort_by(f64::total_cmp);
            let slack = min.abs().max(max.abs()) * if value == ScalarType::F32 { 1e-6 } else { 1e-14 };
            for (n, centre) in centres.iter().enumerate() {
                assert!((centre - (min + cell * (n as f64 + 0.5))).abs() <= slack, "{n} {centre}");
            }
            // Memory of zeros holds what is nearest to 0.
            let nearest = centres.iter().map(|x| x.abs()).fold(f64::INFINITY, f64::min);
            assert!(number(codec.decode(0)).abs() <= nearest + slack.min(cell), "{min} {max}");
            for (x, at) in [(min, centres[0]), (max, centres[centres.len() - 1])] {
                let (code, saturated) = codec.encode(of(value, x));
                assert_eq!((number(codec.decode(code)), saturated), (at, false));
            }
            let beyond = [(min - cell, 0), (f64::NEG_INFINITY, 0), (f64::NAN, 0), (max + cell, 1), (f64::INFINITY, 1)];
            for (x, end) in beyond {
                let (code, saturated) = codec.encode(of(value, x));
                assert!(saturated, "{x}");
                assert_eq!(number(codec.decode(code)), centres[end * (centres.len() - 1)], "{x}");
            }
        }
    }
}

/// Each of some patterns of bits of an `f32`, spread over all, is within half a cell or saturates: the exhaustive form
/// of it is `every_f32`.
#[test]
fn values_of_f32_are_within_half_a_cell() {
    check_f32(0, 4099, (u32::MAX / 4099 + 1) as usize);
}

/// Takes all processors for a minute, so it is a command of its own: `cargo xtask every-f32`.
#[test]
#[ignore = "4 billion values"]
fn every_f32() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // NaN is done sooner than numbers, so threads take small parts as they go.
    let next = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let part = next.fetch_add(1, Ordering::Relaxed);
                    if part >= 1 << 12 {
                        break;
                    }
                    check_f32(part << 20, 1, 1 << 20);
                }
            });
        }
    });
}

#[test]
fn found_formats_hold_their_values() {
    let single = |format: Format, low, high| super::found(&format, ScalarType::F32, low, high);
    let range = |bits| Format::FoundRange { bits };
    assert_eq!(single(range(8), -1.0, 3.0), Ok(Format::Range { bits: 8, min: -1.0, max: 3.0 }));
    assert_eq!(single(Format::Half, f64::NAN, 1.0), Ok(Format::Half));
    assert_eq!(single(Format::FoundHalf, -1.0, 0.5), Ok(Format::ScaledHalf { scale: f64::exp2(-14.0) }));
    assert_eq!(single(Format::FoundHalf, 0.0, 1.99), Ok(Format::ScaledHalf { scale: f64::exp2(-14.0) }));
    assert_eq!(single(Format::FoundHalf, 0.0, 0.0), Ok(Format::ScaledHalf { scale: 1.0 }));
    for (value, bits) in [(ScalarType::F32, 8), (ScalarType::F32, 16), (ScalarType::F64, 16), (ScalarType::F64, 32)] {
        for (low, high) in [(0.0, 0.0), (1.0, 1.0), (-3e30, -3e30), (7.5, 7.500001), (-1e-38, 1e-38), (2.0, 9.0)] {
            let found = super::found(&range(bits), value, low, high).unwrap();
            let Format::Range { min, max, .. } = found else { panic!("{found}") };
            assert!(min <= low && high <= max, "{found} for {low} to {high}");
            // No wider than the type needs.
            let most = f64::max(low.abs(), high.abs());
            assert!(max - min <= (high - low).max(most / 4.0).max(1e-25), "{found} for {low} to {high}");
            let kept = codec(value, found);
            assert!(!kept.encode(of(value, low)).1 && !kept.encode(of(value, high)).1, "{found}");
        }
    }
    for (low, high) in [(f64::NAN, f64::NAN), (f64::NEG_INFINITY, 0.0), (f64::MIN, f64::MAX), (f64::INFINITY, -1.0)] {
        assert!(super::found(&range(32), ScalarType::F64, low, high).is_err(), "{low} to {high}");
    }
    assert!(super::found(&range(12), ScalarType::F64, 0.0, 1.0).is_err());
    assert!(super::found(&range(32), ScalarType::F32, 0.0, 1.0).is_err());
}

/// So many patterns of bits from the first on, so far apart.
fn check_f32(first: u32, apart: u32, mut count: usize) {
    let ranges = [(0.0, 1.0), (-2.0, 6.0)]
        .map(|(min, max)| (min, max, codec(ScalarType::F32, Format::Range { bits: 16, min, max })));
    let half = codec(ScalarType::F32, Format::Half);
    let (mut values, mut codes, mut kept, mut halves) =
        ([0.0f32; 4096], [0u16; 4096], [0.0f32; 4096], [f16::ZERO; 4096]);
    let mut pattern = first;
    while count > 0 {
        let cells = count.min(values.len());
        count -= cells;
        let (values, codes) = (&mut values[..cells], &mut codes[..cells]);
        let (kept, wanted) = (&mut kept[..cells], &mut halves[..cells]);
        // (A loop over a slice: one over a range takes longer without optimisation than what is checked.)
        for x in values.iter_mut() {
            *x = f32::from_bits(pattern);
            pattern = pattern.wrapping_add(apart);
        }
        let values = &*values;
        for (min, max, codec) in &ranges {
            let saturated = codec.encode_f32(values, codes);
            codec.decode_f32(codes, kept);
            // What saturates becomes the end of the range that is nearer, and NaN the lower one.
            let (low, high, bound) = (*min as f32, *max as f32, (codec.bound().0 * 1.02) as f32);
            let mut outside = 0;
            for (x, kept) in values.iter().zip(&*kept) {
                let nearest = x.max(low).min(high);
                outside += u64::from(nearest != *x);
                assert!((kept - nearest).abs() <= bound, "{x:?} {kept:?}");
            }
            assert_eq!(saturated, outside, "from {:?} on", values[0]);
        }
        let saturated = half.encode_f32(values, codes);
        wanted.convert_from_f32_slice(values);
        let mut over = 0;
        for ((x, code), wanted) in values.iter().zip(&*codes).zip(&*wanted) {
            let (sign, saturates) = (wanted.to_bits() & 0x8000, wanted.is_infinite() && !x.is_infinite());
            over += u64::from(saturates);
            let wanted = if x.is_nan() {
                HALF_NAN
            } else if saturates {
                HALF_MOST | u32::from(sign)
            } else {
                wanted.to_bits().into()
            };
            assert_eq!(u32::from(*code), wanted, "{x:?}");
        }
        assert_eq!(saturated, over, "from {:?} on", values[0]);
    }
}

#[test]
fn halves_are_those_of_ieee() {
    let (half, wide) = (codec(ScalarType::F32, Format::Half), codec(ScalarType::F64, Format::Half));
    let (bfloat, scaled) =
        (codec(ScalarType::F32, Format::Bfloat), codec(ScalarType::F32, Format::ScaledHalf { scale: 3.7e-3 }));
    let wide_bfloat = codec(ScalarType::F64, Format::Bfloat);
    for bits in 0..=u16::MAX {
        let code = u32::from(bits);
        let (h, b) = (f16::from_bits(bits), bf16::from_bits(bits));
        if h.is_nan() {
            assert!(number(half.decode(code)).is_nan() && number(wide.decode(code)).is_nan());
        } else {
            assert_eq!(half.decode(code), Value::F32(h.to_f32()));
            assert_eq!(wide.decode(code), Value::F64(h.to_f64()));
            for codec in [&half, &wide, &scaled] {
                assert_eq!(codec.encode(codec.decode(code)), (code, false), "{h:?}");
            }
        }
        if !b.is_nan() {
            assert_eq!(bfloat.decode(code), Value::F32(b.to_f32()));
            assert_eq!(bfloat.encode(Value::F32(b.to_f32())), (code, false));
            assert_eq!(wide_bfloat.encode(Value::F64(b.to_f64())), (code, false));
        }
    }
    for x in [65504.0, 65519.9, -65519.0] {
        assert!(!half.encode(Value::F32(x)).1, "{x}");
    }
    for x in [65520.0f32, -1e30, f32::MAX] {
        let (code, saturated) = half.encode(Value::F32(x));
        assert_eq!((number(half.decode(code)), saturated), (f64::from(65504f32.copysign(x)), true));
    }
    // What no f32 holds saturates too, and an infinite value stays so.
    for codec in [&wide, &wide_bfloat, &codec(ScalarType::F64, Format::F32)] {
        let (code, saturated) = codec.encode(Value::F64(-1e300));
        assert!(saturated && number(codec.decode(code)).is_finite() && number(codec.decode(code)) < 0.0);
        let (code, saturated) = codec.encode(Value::F64(f64::INFINITY));
        assert_eq!((number(codec.decode(code)), saturated), (f64::INFINITY, false));
        let (code, saturated) = codec.encode(Value::F64(f64::NAN));
        assert!(number(codec.decode(code)).is_nan() && !saturated);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let found = |value, format| Codec::new(value, &format).unwrap_err().found;
    let range = |bits, min, max| Format::Range { bits, min, max };
    assert_eq!(found(ScalarType::F32, range(12, 0.0, 1.0)), "a range in 12 bits");
    assert_eq!(found(ScalarType::F32, range(32, 0.0, 1.0)), "a range of f32 in 32 bits");
    assert_eq!(found(ScalarType::F64, range(16, 1.0, 1.0)), "a range from 1.0 to 1.0");
    assert_eq!(found(ScalarType::F64, range(16, 0.0, f64::INFINITY)), "a range from 0.0 to inf");
    assert_eq!(found(ScalarType::F64, range(16, f64::NAN, 1.0)), "a range from NaN to 1.0");
    assert!(found(ScalarType::F32, range(16, 1000.0, 1001.0)).contains("too narrow for f32"));
    assert!(found(ScalarType::F64, range(32, 1e9, 1e9 + 1.0)).contains("too narrow for f64"));
    assert!(found(ScalarType::I32, Format::Half).contains("`f16` for i32"));
    assert_eq!(found(ScalarType::F32, Format::F32), "the format `f32` for f32");
    assert_eq!(found(ScalarType::F32, Format::ScaledHalf { scale: 0.0 }), "a scale of 0.0");
    assert_eq!(Codec::new(ScalarType::I32, &Format::Raw), Ok(None));
}

proptest! {
    #[test]
    fn ranges_of_32_bits_tell_all_their_codes_apart(
        min in -1e6..1e6f64, width in 1e-1..1e6f64, codes in prop::collection::vec(any::<u32>(), 64)
    ) {
        let max = min + width;
        // A range that f64 cannot tell apart is refused, never wrong.
        let Ok(Some(codec)) = Codec::new(ScalarType::F64, &Format::Range { bits: 32, min, max }) else { return Ok(()) };
        for code in codes.into_iter().chain([0, 1, u32::MAX - 1, u32::MAX]) {
            let x = codec.decode(code);
            prop_assert_eq!(codec.encode(x), (code, false));
            prop_assert!(number(x) >= min && number(x) <= max);
        }
    }

    #[test]
    fn values_of_f64_are_within_half_a_cell(x in -4.0..9.0f64, bits in prop::sample::select(vec![8u32, 16, 32])) {
        let codec = codec(ScalarType::F64, Format::Range { bits, min: -4.0, max: 9.0 });
        let (code, saturated) = codec.encode(Value::F64(x));
        prop_assert!(!saturated);
        prop_assert!((number(codec.decode(code)) - x).abs() <= codec.bound().0 * (1.0 + 1e-5));
    }
}
