//! Codes and their values: what [`crate::codec`] defines, spelled out.

use super::helpers::Helper;
use super::text::Text;
use super::types::float;
use crate::codec::{Codec, Form, Range};
use crate::element::ScalarType;
use crate::plan::Dialect;

/// Helpers that decode calls.
pub(super) fn decode_calls(codec: &Codec) -> Vec<Helper> {
    match codec.form() {
        Form::Range(_) => vec![Helper::OfBits(codec.value())],
        Form::Half { .. } => vec![Helper::OfHalf, Helper::OfBits(ScalarType::F32)],
        Form::Bfloat | Form::Single => vec![Helper::OfBits(ScalarType::F32)],
    }
}

/// Helpers that encode calls.
pub(super) fn encode_calls(codec: &Codec, counted: bool) -> Vec<Helper> {
    let mut calls = match codec.form() {
        Form::Range(_) => vec![Helper::Bits(codec.value())],
        Form::Half { .. } => vec![Helper::ToHalf, Helper::Bits(ScalarType::F32), Helper::OfBits(ScalarType::F32)],
        Form::Bfloat | Form::Single => vec![Helper::Bits(ScalarType::F32), Helper::OfBits(ScalarType::F32)],
    };
    calls.extend(counted.then_some(Helper::Saturated));
    calls
}

/// The text of one of them.
pub(super) fn helper(text: &mut Text, dialect: Dialect, helper: Helper) {
    let (device, name) = (dialect.device(), helper.name());
    match helper {
        Helper::Saturated => {
            let head = format!("{device} void {name}({} faults, u32 place)", dialect.pointer("FaultRecord", true));
            text.block(head, |text| {
                let (test, counter) = (format!("if (place < {}u)", crate::emit::COUNTERS), "&faults->saturated[place]");
                text.line(match dialect {
                    Dialect::Cuda => format!("{test} atomicAdd({counter}, 1u);"),
                    Dialect::OpenCl => format!("{test} atomic_inc({counter});"),
                });
            });
        }
        Helper::OfHalf => text.block(format!("{device} f32 {name}(u16 code)"), |text| {
            text.all(match dialect {
                Dialect::Cuda => "f32 x;\nasm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(x) : \"h\"(code));\nreturn x;",
                Dialect::OpenCl => OF_HALF,
            });
        }),
        Helper::ToHalf => text.block(format!("{device} u32 {name}(f32 x, f32 scaled)"), |text| {
            text.all(match dialect {
                Dialect::Cuda => CONVERT_HALF,
                Dialect::OpenCl => ROUND_HALF,
            });
        }),
        Helper::Decode(_, codec) => {
            let (value, code) = (codec.value().name(), codec.code().name());
            text.block(format!("{device} {value} {name}({code} code)"), |text| text.all(&decode(dialect, &codec)));
        }
        Helper::Encode(_, codec, counted) => {
            let (value, code) = (codec.value().name(), codec.code().name());
            let count = match counted {
                true => format!(", {} faults, u32 place", dialect.pointer("FaultRecord", true)),
                false => String::new(),
            };
            let lines = encode(dialect, &codec, counted);
            text.block(format!("{device} {code} {name}({value} x{count})"), |text| text.all(&lines));
        }
        _ => {}
    }
}

/// A half as `f32`: exact.
const OF_HALF: &str = "const u32 sign = (code & 0x8000u) << 16, size = code & 0x7fffu;
if (size >= 0x7c00u) return tida_f32_of_bits(sign | size << 13 | 0x7f800000u);
if (size >= 0x400u) return tida_f32_of_bits(sign | ((size << 13) + 0x38000000u));
const f32 small = (f32)size * 0x1p-24f;
return sign != 0u ? -small : small;";

/// The conversion of the device, of what was brought into range without a branch. Bit 16 says that the value saturated.
/// Infinite values of what `scaled` was made of stay so.
const CONVERT_HALF: &str = "const bool finite = fabsf(x) < tida_f32_of_bits(0x7f800000u);
const f32 kept = finite ? fminf(fmaxf(scaled, -65504.0f), 65504.0f) : scaled;
u16 code;
asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(code) : \"f\"(kept));
return code | (finite && fabsf(scaled) >= 65520.0f ? 0x10000u : 0u);";

/// The same by integers, to the nearest, ties to even; below 2^-14 halves are multiples of 2^-24.
const ROUND_HALF: &str =
    "const u32 bits = tida_bits_of_f32(scaled), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
if (size > 0x7f800000u) return 0x7fffu;
if (size >= 0x477ff000u) {
    return sign | ((tida_bits_of_f32(x) & 0x7fffffffu) == 0x7f800000u ? 0x7c00u : 0x17bffu);
}
if (size < 0x38800000u) return sign | (tida_bits_of_f32(tida_f32_of_bits(size) + 0.5f) - 0x3f000000u);
const u32 normal = size - 0x38000000u;
return sign | (normal + 0xfffu + (normal >> 13 & 1u)) >> 13;";

/// A constant of a codec.
fn constant(codec: &Codec, bits: u64) -> String {
    match codec.value() {
        ScalarType::F32 => single(bits as u32),
        _ => float(f64::from_bits(bits), format!("{:?}", f64::from_bits(bits)), false),
    }
}

fn single(bits: u32) -> String {
    let x = f32::from_bits(bits);
    float(x.into(), format!("{x:?}"), true)
}

/// The product of two `f32`, whatever the compiler is told of contraction.
fn product(dialect: Dialect, a: &str, scale: u32) -> String {
    if f32::from_bits(scale) == 1.0 {
        return a.into();
    }
    match dialect {
        Dialect::Cuda => format!("__fmul_rn({a}, {})", single(scale)),
        Dialect::OpenCl => format!("{a} * {}", single(scale)),
    }
}

fn decode(dialect: Dialect, codec: &Codec) -> String {
    match codec.form() {
        Form::Range(range) => {
            let (word, fraction, end) = word_of(codec, dialect);
            let shift = fraction - range.bits;
            let one = if fraction == 23 { 0x3f80_0000 } else { 0x3ff0_0000_0000_0000u64 };
            let centre = (one | 1 << (shift - 1)) ^ u64::from(range.zero) << shift;
            let (width, base) = (constant(codec, range.width), constant(codec, range.base));
            let value = codec.value().name();
            format!("return fma(tida_{value}_of_bits(({word})code << {shift} ^ {centre:#x}{end}), {width}, {base});")
        }
        Form::Half { scale, .. } => format!("return {};", product(dialect, "tida_of_half(code)", *scale)),
        Form::Bfloat => "return tida_f32_of_bits((u32)code << 16);".into(),
        Form::Single => "return tida_f32_of_bits(code);".into(),
    }
}

/// The integer of a value's width, its bits of fraction, and the end of its constants.
fn word_of(codec: &Codec, dialect: Dialect) -> (&'static str, u32, &'static str) {
    match (codec.value(), dialect) {
        (ScalarType::F32, _) => ("u32", 23, "u"),
        (_, Dialect::Cuda) => ("u64", 52, "ull"),
        (_, Dialect::OpenCl) => ("u64", 52, "ul"),
    }
}

fn encode(dialect: Dialect, codec: &Codec, counted: bool) -> String {
    let count =
        |over: &str| if counted { format!("if ({over}) tida_saturated(faults, place);\n") } else { String::new() };
    if let Form::Range(range) = codec.form() {
        return encode_range(dialect, codec, range, count);
    }
    // All else goes by way of `f32`.
    let (head, over) = match codec.value() {
        ScalarType::F32 => (String::new(), String::new()),
        _ => {
            let most = "0x1.fffffep127f";
            let over = "const u32 over = (tida_bits_of_f32(single) & 0x7fffffffu) == 0x7f800000u && x - x == 0.0;\n";
            let clamp = format!("if (over) single = single > 0.0f ? {most} : -{most};\n");
            (format!("f32 single = (f32)x;\n{over}{clamp}"), "over || ".into())
        }
    };
    let x = if head.is_empty() { "x" } else { "single" };
    let tail = match codec.form() {
        Form::Half { inverse, .. } => {
            let code = format!("const u32 code = tida_to_half({x}, {});\n", product(dialect, x, *inverse));
            format!("{code}{}return (u16)code;", count(&format!("{over}code >> 16 != 0u")))
        }
        Form::Bfloat => format!(
            "const u32 bits = tida_bits_of_f32({x}), size = bits & 0x7fffffffu;\n\
             if (size > 0x7f800000u) return 0x7fc0;\n\
             u32 code = size + 0x7fffu + (size >> 16 & 1u) >> 16;\n\
             const u32 beyond = code >= 0x7f80u && size < 0x7f800000u;\n\
             if (beyond) code = 0x7f7fu;\n\
             {}return (u16)(code | (bits >> 16 & 0x8000u));",
            count(&format!("{over}beyond"))
        ),
        _ => format!("{}return {x} != {x} ? 0x7fc00000u : tida_bits_of_f32({x});", count("over")),
    };
    head + &tail
}

fn encode_range(dialect: Dialect, codec: &Codec, range: &Range, count: impl Fn(&str) -> String) -> String {
    let (_, fraction, _) = word_of(codec, dialect);
    let (value, code) = (codec.value().name(), codec.code().name());
    let suffix = if fraction == 23 { "f" } else { "" };
    let [inverse, offset, min, max] =
        [range.inverse, range.offset, range.min, range.max].map(|bits| constant(codec, bits));
    let (shift, mask) = (fraction - range.bits, u32::MAX >> (32 - range.bits));
    format!(
        "const {value} m = fma(x, {inverse}, {offset});\n\
         u32 cell = (u32)(tida_bits_of_{value}(m) >> {shift}) & {mask:#x}u;\n\
         cell = m < 2.0{suffix} ? cell : {mask:#x}u;\n\
         cell = m >= 1.0{suffix} ? cell : 0u;\n\
         {}return ({code})(cell ^ {:#x}u);",
        count(&format!("!(x >= {min} && x <= {max})")),
        range.zero
    )
}

/// How ghosts are computed that a codec rounds, for [`super::copies`]: `negated` and `line` of `Word`s that are codes,
/// or the bits of values.
pub(super) fn computed(dialect: Dialect, codec: &Codec, values: bool) -> String {
    let mut helpers = super::helpers::Helpers::default();
    let (decode, encode) = (helpers.need(Helper::Decode(0, *codec)), helpers.need(Helper::Encode(0, *codec, false)));
    let mut head = String::new();
    if dialect == Dialect::OpenCl {
        head += "#pragma OPENCL FP_CONTRACT OFF\n";
    }
    if codec.value() == ScalarType::F64 {
        if dialect == Dialect::OpenCl {
            head += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
        }
        head += "typedef double f64;\n";
    }
    head += "typedef float f32;\n\n";
    let value = codec.value().name();
    let line = match (dialect, codec.value()) {
        (Dialect::OpenCl, _) => format!("const {value} product = ({value})distance * (a - b);\n    a = a + product;"),
        (Dialect::Cuda, ScalarType::F32) => "a = __fadd_rn(a, __fmul_rn((f32)distance, __fsub_rn(a, b)));".to_owned(),
        (Dialect::Cuda, _) => "a = __dadd_rn(a, __dmul_rn((f64)distance, __dsub_rn(a, b)));".to_owned(),
    };
    let (get, set) = match values {
        true => {
            let (get, bits) = (helpers.need(Helper::OfBits(codec.value())), helpers.need(Helper::Bits(codec.value())));
            (get, format!("{bits}({decode}({encode}(a)))"))
        }
        false => (decode, format!("{encode}(a)")),
    };
    for (line, _) in helpers.text(dialect).lines {
        head += &line;
        head.push('\n');
    }
    head + &format!(
        "\nINLINE Word negated(Word word) {{\n    {value} a = -{get}(word);\n    return {set};\n}}\n\
         INLINE Word line(Word near, Word far, i64 distance) {{\n    \
         {value} a = {get}(near), b = {get}(far);\n    {line}\n    return {set};\n}}\n"
    )
}
