//! How the components of an array are kept in fewer bits (Salehi ch. 4).
//!
//! An array whose components have codecs holds *codes*: unsigned integers of 8, 16 or 32 bits. A kernel decodes what it
//! loads and encodes what it stores. A value over a range is mapped to `[1, 2)` by one fused multiply-add; the leading
//! bits of its fraction are the code, and to decode puts them back, with half a cell added, so that the value is the
//! centre of its cell. Every step is one exactly rounded operation, so codes and values have the same bits everywhere;
//! the native form and the interpreter call what is here, and the emitted sources spell it out (`emit::codecs`).
//!
//! `encode(decode(c)) == c` holds for every code that [`Codec::encode`] gives.

use crate::element::ScalarType;
use crate::scalar::Value;

/// How one component is kept, as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
#[non_exhaustive]
pub enum Format {
    /// As it is.
    #[default]
    Raw,
    /// Values between `min` and `max` in 8, 16 or 32 bits (of `f32` at most 16): `2^bits` cells of one width, of which
    /// the centre is kept (Salehi §4). Values outside saturate.
    Range {
        /// Bits of a code: 8, 16 or 32.
        bits: u32,
        /// The lowest value.
        min: f64,
        /// The highest value.
        max: f64,
    },
    /// IEEE half precision: 11 significant bits, up to 65504. Larger finite values saturate. An `f64` is rounded to
    /// `f32` first.
    Half,
    /// `bfloat16`: 8 significant bits, the exponents of `f32`. An `f64` is rounded to `f32` first.
    Bfloat,
    /// Half precision of the value divided by `scale`, which is the array's: brings small values out of the subnormals.
    ScaledHalf {
        /// A positive number between 2^-40 and 2^40.
        scale: f64,
    },
    /// `f64` as `f32`.
    F32,
    /// [`Range`](Format::Range) from the lowest to the highest value of the whole array, for one that is built from its
    /// values (Salehi §4.1). A range that is too narrow for the type is widened as far as need be.
    FoundRange {
        /// Bits of a code: 8, 16 or 32.
        bits: u32,
    },
    /// [`ScaledHalf`](Format::ScaledHalf) with the power of two that brings the largest value of the whole array
    /// between 2^14 and 2^15, for one that is built from its values.
    FoundHalf,
}

impl Format {
    /// Whether it depends on the array's values.
    pub fn is_found(&self) -> bool {
        matches!(self, Format::FoundRange { .. } | Format::FoundHalf)
    }
}

/// The format for values of a type between `low` and `high`, where it depends on them; itself otherwise.
///
/// # Errors
/// Values that are not finite, or lie too far apart for the type; bits that a range cannot have.
pub fn found(format: &Format, value: ScalarType, low: f64, high: f64) -> Result<Format, Refused> {
    if format.is_found() && !(low.is_finite() && high.is_finite()) {
        let found = format!("values between {low:?} and {high:?}, which have no range");
        return Err(Refused { found, advice: "give finite values alone, or a format that is not found" });
    }
    match format {
        Format::FoundRange { bits } => found_range(value, *bits, low, high),
        Format::FoundHalf => {
            let most = low.abs().max(high.abs());
            let exponent = (most.to_bits() >> 52) as i32 - 1023;
            let scale = f64::exp2(f64::from((exponent - 14).clamp(-40, 40)));
            Ok(Format::ScaledHalf { scale: if most == 0.0 { 1.0 } else { scale } })
        }
        format => Ok(*format),
    }
}

/// The range of values, doubled until the type can tell its codes apart.
fn found_range(value: ScalarType, bits: u32, low: f64, high: f64) -> Result<Format, Refused> {
    let single = value == ScalarType::F32;
    // What is added to a bound changes it: it is twice what tells two values apart.
    let (unit, least) = if single { (-22.0, -85.0) } else { (-51.0, -890.0) };
    let least = (low.abs().max(high.abs()) * f64::exp2(unit)).max(f64::exp2(least));
    let (mut min, mut max) = (low, high);
    loop {
        let format = Format::Range { bits, min, max };
        let made = Codec::new(value, &format);
        // A width of 2^(bits + 6) times what tells two values apart does for all.
        let wide = max - min > least * f64::exp2(f64::from(bits.min(32)) + 8.0);
        match made {
            Ok(_) => return Ok(format),
            Err(refused) if wide => return Err(refused),
            Err(_) => {
                let more = (max - min).max(least) / 2.0;
                (min, max) = (min - more, max + more);
            }
        }
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Format::Raw => f.write_str("raw"),
            Format::Range { bits, min, max } => write!(f, "{bits} bits over {min:?}..{max:?}"),
            Format::Half => f.write_str("f16"),
            Format::Bfloat => f.write_str("bf16"),
            Format::ScaledHalf { scale } => write!(f, "f16 times {scale:?}"),
            Format::F32 => f.write_str("f32"),
            Format::FoundRange { bits } => write!(f, "{bits} bits over the range of the values"),
            Format::FoundHalf => f.write_str("f16 times a scale of the values"),
        }
    }
}

/// A format that a component cannot have: what was found, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What was found.
    pub found: String,
    /// What to do.
    pub advice: &'static str,
}

/// How the values of one component become codes, and back. Equal codecs give equal codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Codec {
    value: ScalarType,
    form: Form,
}

/// Floats are kept as their bits: those of an `f32` for values of that type, else of an `f64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Form {
    Range(Range),
    /// Bits of two `f32`: what halves are multiplied by, and what values are.
    Half {
        scale: u32,
        inverse: u32,
    },
    Bfloat,
    Single,
}

/// The constants of a range, as bits of the value's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Range {
    pub bits: u32,
    /// What codes differ by from cells counted from below, so that memory of zeros holds what is nearest to 0.
    pub zero: u32,
    pub min: u64,
    pub max: u64,
    /// `m · width + base` is the value.
    pub width: u64,
    pub base: u64,
    /// `x · inverse + offset` is `m`.
    pub inverse: u64,
    pub offset: u64,
}

/// A code in memory.
pub trait Code: Copy {
    /// The code as the widest.
    fn widen(self) -> u32;
    /// The low bits.
    fn narrow(code: u32) -> Self;
}

macro_rules! codes {
    ($($t:ty)*) => {$(
        impl Code for $t {
            #[inline(always)]
            fn widen(self) -> u32 {
                self as u32
            }
            #[inline(always)]
            fn narrow(code: u32) -> $t {
                code as $t
            }
        }
    )*};
}

codes!(u8 u16 u32);

/// Largest half.
const HALF_MOST: u32 = 0x7bff;
/// As conversions of CUDA devices give it.
const HALF_NAN: u32 = 0x7fff;
const BFLOAT_MOST: u32 = 0x7f7f;
const BFLOAT_NAN: u32 = 0x7fc0;
/// The lowest `f32`, as bits, that would round to an infinite half.
const HALF_OVER: u32 = 0x477f_f000;
const INFINITE: u32 = 0x7f80_0000;

/// The half that `scaled` rounds to, and whether it saturated. Infinite values stay so if `x`, which it was made of,
/// is.
#[inline(always)]
fn to_half(x: f32, scaled: f32) -> (u32, bool) {
    let (bits, infinite) = (scaled.to_bits(), x.is_infinite());
    let (sign, size) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
    // From 2^-14 on the exponent changes its bias, below values are multiples of 2^-24.
    let normal = size.wrapping_sub(0x3800_0000);
    let normal = normal.wrapping_add(0xfff + (normal >> 13 & 1)) >> 13;
    let subnormal = (f32::from_bits(size) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let finite = if size < 0x3880_0000 { subnormal } else { normal };
    let over = (HALF_OVER..=INFINITE).contains(&size);
    let code = if over { if infinite { 0x7c00 } else { HALF_MOST } } else { finite };
    let code = if size > INFINITE { HALF_NAN } else { sign | code };
    (code, over && !infinite)
}

#[inline(always)]
fn of_half(code: u32) -> f32 {
    let (sign, size) = ((code & 0x8000) << 16, code & 0x7fff);
    let normal = (size << 13) + 0x3800_0000;
    let subnormal = (size as f32 * f32::from_bits(0x3380_0000)).to_bits();
    let bits = if size < 0x400 { subnormal } else { normal };
    let bits = if size >= 0x7c00 { size << 13 | INFINITE } else { bits };
    f32::from_bits(sign | bits)
}

#[inline(always)]
fn to_bfloat(x: f32) -> (u32, bool) {
    let bits = x.to_bits();
    let (sign, size) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
    let code = (size.wrapping_add(0x7fff + (size >> 16 & 1))) >> 16;
    let over = code >= 0x7f80 && size < INFINITE;
    let code = if over { BFLOAT_MOST } else { code };
    (if size > INFINITE { BFLOAT_NAN } else { sign | code }, over)
}

/// An `f64` as `f32`, and whether a finite one is beyond those.
#[inline(always)]
fn to_single(x: f64) -> (f32, bool) {
    let single = x as f32;
    let over = single.is_infinite() && !x.is_infinite();
    (if over { f32::MAX.copysign(single) } else { single }, over)
}

macro_rules! ranges {
    ($float:ty, $word:ty, $fraction:expr, $decode:ident, $encode:ident, $of:ident) => {
        /// Constants of a range, ready to compute with.
        #[derive(Clone, Copy)]
        struct $of {
            shift: u32,
            mask: u32,
            zero: u32,
            /// What the code's bits differ by from those of `m`.
            centre: $word,
            min: $float,
            max: $float,
            width: $float,
            base: $float,
            inverse: $float,
            offset: $float,
        }

        impl $of {
            #[inline(always)]
            fn new(range: &Range) -> $of {
                let shift = $fraction - range.bits;
                let float = |bits: u64| <$float>::from_bits(bits as $word);
                let one = (1 as $float).to_bits();
                $of {
                    shift,
                    mask: u32::MAX >> (32 - range.bits),
                    zero: range.zero,
                    centre: one | 1 << (shift - 1) ^ (range.zero as $word) << shift,
                    min: float(range.min),
                    max: float(range.max),
                    width: float(range.width),
                    base: float(range.base),
                    inverse: float(range.inverse),
                    offset: float(range.offset),
                }
            }

            #[inline(always)]
            fn $decode(&self, code: u32) -> $float {
                let m = <$float>::from_bits(((code as $word) << self.shift) ^ self.centre);
                m.mul_add(self.width, self.base)
            }

            #[inline(always)]
            fn $encode(&self, x: $float) -> (u32, bool) {
                let m = x.mul_add(self.inverse, self.offset);
                let cell = (m.to_bits() >> self.shift) as u32 & self.mask;
                let cell = if m < 2.0 { cell } else { self.mask };
                let cell = if m >= 1.0 { cell } else { 0 };
                (cell ^ self.zero, !(x >= self.min && x <= self.max))
            }
        }
    };
}

ranges!(f32, u32, 23, decode, encode, Range32);
ranges!(f64, u64, 52, decode, encode, Range64);

macro_rules! each {
    ($codes:expr, $values:expr, $code:ident => $decoded:expr) => {
        for (value, code) in $values.iter_mut().zip($codes) {
            let $code = code.widen();
            *value = $decoded;
        }
    };
}

macro_rules! all {
    ($codes:expr, $values:expr, $x:ident => $encoded:expr) => {{
        let mut saturated = 0u64;
        for (code, value) in $codes.iter_mut().zip($values) {
            let $x = *value;
            let (encoded, over) = $encoded;
            *code = C::narrow(encoded);
            saturated += u64::from(over);
        }
        saturated
    }};
}

impl Codec {
    /// What keeps values of a type in a format; none if they are kept as they are.
    ///
    /// # Errors
    /// A format that such values cannot have.
    pub fn new(value: ScalarType, format: &Format) -> Result<Option<Codec>, Refused> {
        let refused = |found: String, advice| Err(Refused { found, advice });
        if *format != Format::Raw && !value.is_float() {
            return refused(format!("the format `{format}` for {}", value.name()), "give formats to f32 and f64 alone");
        }
        let form = match *format {
            Format::Raw => return Ok(None),
            Format::Range { bits, min, max } => Form::Range(range(value, bits, min, max)?),
            Format::Half => Form::Half { scale: 1f32.to_bits(), inverse: 1f32.to_bits() },
            Format::ScaledHalf { scale } => {
                let (least, most) = (f64::exp2(-40.0), f64::exp2(40.0));
                if !(least..=most).contains(&scale) {
                    return refused(format!("a scale of {scale:?}"), "use a positive scale between 2^-40 and 2^40");
                }
                Form::Half { scale: (scale as f32).to_bits(), inverse: ((1.0 / scale) as f32).to_bits() }
            }
            Format::Bfloat => Form::Bfloat,
            Format::F32 if value == ScalarType::F32 => {
                return refused("the format `f32` for f32".into(), "use `Format::Raw`: it is that already");
            }
            Format::F32 => Form::Single,
            Format::FoundRange { .. } | Format::FoundHalf => {
                let advice =
                    "build the array from its values: `build_slice`, `build_ndarray`, `build_copy` or `build_npy`";
                return refused(format!("the format `{format}` of an array without values"), advice);
            }
        };
        Ok(Some(Codec { value, form }))
    }

    /// The type of its values: `F32` or `F64`.
    pub fn value(&self) -> ScalarType {
        self.value
    }

    pub(crate) fn form(&self) -> &Form {
        &self.form
    }

    /// The type of its codes: `U8`, `U16` or `U32`.
    pub fn code(&self) -> ScalarType {
        match self.form {
            Form::Range(Range { bits: 8, .. }) => ScalarType::U8,
            Form::Range(Range { bits: 32, .. }) | Form::Single => ScalarType::U32,
            _ => ScalarType::U16,
        }
    }

    /// The most that a value in range changes by when it is kept: an absolute bound (half a cell), and one relative to
    /// the value. Of halves the relative bound is that of normal numbers.
    pub fn bound(&self) -> (f64, f64) {
        match &self.form {
            Form::Range(range) => (self.float(range.width) / f64::exp2(range.bits as f64 + 1.0), 0.0),
            Form::Half { .. } => (0.0, f64::exp2(-11.0)),
            Form::Bfloat => (0.0, f64::exp2(-8.0)),
            Form::Single => (0.0, f64::exp2(-24.0)),
        }
    }

    fn float(&self, bits: u64) -> f64 {
        match self.value {
            ScalarType::F32 => f32::from_bits(bits as u32).into(),
            _ => f64::from_bits(bits),
        }
    }

    /// The values of codes, of a codec of `f32`.
    #[inline(always)]
    pub fn decode_f32<C: Code>(&self, codes: &[C], values: &mut [f32]) {
        match &self.form {
            Form::Range(range) => {
                let range = Range32::new(range);
                each!(codes, values, code => range.decode(code));
            }
            Form::Half { scale, .. } => {
                let scale = f32::from_bits(*scale);
                each!(codes, values, code => of_half(code) * scale);
            }
            Form::Bfloat => each!(codes, values, code => f32::from_bits(code << 16)),
            Form::Single => each!(codes, values, code => f32::from_bits(code)),
        }
    }

    /// The values of codes, of a codec of `f64`.
    #[inline(always)]
    pub fn decode_f64<C: Code>(&self, codes: &[C], values: &mut [f64]) {
        match &self.form {
            Form::Range(range) => {
                let range = Range64::new(range);
                each!(codes, values, code => range.decode(code));
            }
            Form::Half { scale, .. } => {
                let scale = f32::from_bits(*scale);
                each!(codes, values, code => f64::from(of_half(code) * scale));
            }
            Form::Bfloat => each!(codes, values, code => f64::from(f32::from_bits(code << 16))),
            Form::Single => each!(codes, values, code => f64::from(f32::from_bits(code))),
        }
    }

    /// The codes of values, of a codec of `f32`; gives how many saturated. A range saturates NaN too, to its lowest
    /// value.
    #[inline(always)]
    pub fn encode_f32<C: Code>(&self, values: &[f32], codes: &mut [C]) -> u64 {
        match &self.form {
            Form::Range(range) => {
                let range = Range32::new(range);
                all!(codes, values, x => range.encode(x))
            }
            Form::Half { inverse, .. } => {
                let inverse = f32::from_bits(*inverse);
                all!(codes, values, x => to_half(x, x * inverse))
            }
            Form::Bfloat => all!(codes, values, x => to_bfloat(x)),
            Form::Single => all!(codes, values, x => (x.to_bits(), false)),
        }
    }

    /// The codes of values, of a codec of `f64`; gives how many saturated.
    #[inline(always)]
    pub fn encode_f64<C: Code>(&self, values: &[f64], codes: &mut [C]) -> u64 {
        match &self.form {
            Form::Range(range) => {
                let range = Range64::new(range);
                all!(codes, values, x => range.encode(x))
            }
            Form::Half { inverse, .. } => {
                let inverse = f32::from_bits(*inverse);
                all!(codes, values, x => {
                    let (single, over) = to_single(x);
                    let (code, beyond) = to_half(single, single * inverse);
                    (code, over || beyond)
                })
            }
            Form::Bfloat => all!(codes, values, x => {
                let (single, over) = to_single(x);
                let (code, beyond) = to_bfloat(single);
                (code, over || beyond)
            }),
            Form::Single => all!(codes, values, x => {
                let (single, over) = to_single(x);
                (if single.is_nan() { 0x7fc0_0000 } else { single.to_bits() }, over)
            }),
        }
    }

    /// The value of a code.
    pub fn decode(&self, code: u32) -> Value {
        match self.value {
            ScalarType::F32 => {
                let mut value = [0.0];
                self.decode_f32(&[code], &mut value);
                Value::F32(value[0])
            }
            _ => {
                let mut value = [0.0];
                self.decode_f64(&[code], &mut value);
                Value::F64(value[0])
            }
        }
    }

    /// The code of a value, and whether it saturated. A value of another type is that of 0.
    pub fn encode(&self, value: Value) -> (u32, bool) {
        let mut code = [0u32];
        let saturated = match (self.value, value) {
            (ScalarType::F32, Value::F32(x)) => self.encode_f32(&[x], &mut code),
            (ScalarType::F64, Value::F64(x)) => self.encode_f64(&[x], &mut code),
            (ScalarType::F32, _) => self.encode_f32(&[0.0], &mut code),
            _ => self.encode_f64(&[0.0], &mut code),
        };
        (code[0], saturated > 0)
    }

    /// The value that a value is rounded to.
    pub fn round(&self, value: Value) -> Value {
        self.decode(self.encode(value).0)
    }

    /// The code of a code's value negated, as ghosts behind an odd reflection are.
    pub fn negated<C: Code>(&self, code: C) -> C {
        C::narrow(match self.decode(code.widen()) {
            Value::F32(x) => self.encode(Value::F32(-x)).0,
            Value::F64(x) => self.encode(Value::F64(-x)).0,
            _ => 0,
        })
    }

    /// The code of `near + distance · (near − far)`, as ghosts that are extrapolated are.
    pub fn line<C: Code>(&self, near: C, far: C, distance: i64) -> C {
        C::narrow(match (self.decode(near.widen()), self.decode(far.widen())) {
            (Value::F32(near), Value::F32(far)) => self.encode(Value::F32(near + distance as f32 * (near - far))).0,
            (Value::F64(near), Value::F64(far)) => self.encode(Value::F64(near + distance as f64 * (near - far))).0,
            _ => 0,
        })
    }

    /// A code as a stored value.
    pub fn stored(&self, code: u32) -> Value {
        Value::from_bits(self.code(), code.into())
    }
}

/// The types of values.
pub trait Rounded: Copy {
    /// What a codec of this type rounds it to; itself with another one.
    fn rounded(self, codec: &Codec) -> Self;
}

macro_rules! rounded {
    ($t:ty, $variant:ident) => {
        impl Rounded for $t {
            fn rounded(self, codec: &Codec) -> $t {
                match codec.round(Value::$variant(self)) {
                    Value::$variant(x) => x,
                    _ => self,
                }
            }
        }
    };
}

rounded!(f32, F32);
rounded!(f64, F64);

/// The constants of a range.
fn range(value: ScalarType, bits: u32, min: f64, max: f64) -> Result<Range, Refused> {
    let refused = |found: String, advice| Err(Refused { found, advice });
    let single = value == ScalarType::F32;
    if !matches!(bits, 8 | 16 | 32) {
        return refused(format!("a range in {bits} bits"), "use 8, 16 or 32 bits");
    }
    if single && bits == 32 {
        return refused("a range of f32 in 32 bits".into(), "use `Format::Raw`, which is as small, or 16 bits");
    }
    let as_kept = |x: f64| if single { f64::from(x as f32) } else { x };
    let (min, max) = (as_kept(min), as_kept(max));
    let width = as_kept(max - min);
    if !(min.is_finite() && max.is_finite() && min < max && width.is_finite()) {
        return refused(format!("a range from {min:?} to {max:?}"), "give two finite numbers, the lower one first");
    }
    let kept = |x: f64| if single { u64::from((x as f32).to_bits()) } else { x.to_bits() };
    let found = Range {
        bits,
        zero: 0,
        min: kept(min),
        max: kept(max),
        width: kept(width),
        base: kept(min - width),
        inverse: kept(1.0 / width),
        offset: kept(1.0 - min / width),
    };
    let codec = Codec { value, form: Form::Range(found) };
    // What rounds on the way there and back, in units of `m`: it has to stay below half a cell.
    let unit = f64::exp2(if single { -24.0 } else { -53.0 });
    let far = min.abs().max(max.abs()) / width;
    let certain = 8.0 * (far + 2.0) * unit < f64::exp2(-(bits as f64 + 1.0));
    let normal = width > f64::exp2(if single { -90.0 } else { -900.0 });
    let most = u32::MAX >> (32 - bits);
    let exact = certain || (bits < 32 && (0..=most).all(|code| codec.encode(codec.decode(code)).0 == code));
    if !exact || !normal {
        return refused(
            format!(
                "a range from {min:?} to {max:?}, too narrow for {} to tell 2^{bits} values apart in it",
                value.name()
            ),
            "use a wider range, fewer bits, or keep differences from a constant",
        );
    }
    let (zero, _) = codec.encode(if single { Value::F32(0.0) } else { Value::F64(0.0) });
    Ok(Range { zero, ..found })
}

#[cfg(test)]
mod tests;
