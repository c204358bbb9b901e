//! Functions that spell out what [`crate::scalar`] defines and C does not have. Only those used are emitted.

use std::collections::BTreeSet;

use super::faults;
use super::text::Text;
use super::types::{integer, unsigned};
use crate::codec::Codec;
use crate::element::ScalarType;
use crate::plan::Dialect;

/// A function of the text, in the order they have to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Helper {
    /// Raises a fault of a division.
    RaiseDivision,
    /// Raises a fault of an entry.
    RaiseEntry,
    /// Raises a fault of a read.
    RaiseRange,
    /// An entry, or 0 and a fault.
    Entry,
    /// Where a cell beyond a face has its value.
    Inside,
    /// Bits of a float.
    Bits(ScalarType),
    /// A float of bits.
    OfBits(ScalarType),
    /// Counts a value that saturated, at a place of the record; beyond its end nothing is counted.
    Saturated,
    /// A half as `f32`, and back.
    OfHalf,
    ToHalf,
    /// The value of a code, of the kernel's codec of this number.
    Decode(u8, Codec),
    /// The code of a value; counted, if it saturates, or not.
    Encode(u8, Codec, bool),
    /// An operation on a type.
    Op(Op, ScalarType),
    /// A float as an integer, saturating.
    Saturate(ScalarType, ScalarType),
    /// Brings so many bytes to shared memory while the thread goes on. CUDA.
    Ahead(u8),
    /// Stores a value, or values side by side, past the caches. CUDA.
    Stream,
    /// Ends a group of such copies. CUDA.
    Commit,
    /// Waits for the thread's own copies. CUDA.
    Wait,
    /// Waits for the thread's own copies but the newest groups of them. CUDA.
    WaitBut(u8),
    /// Makes the barriers of two halves ready for [`Helper::MapBox`]. This and the next: CUDA, sm_90.
    MapReady,
    /// Says how many bytes come to a half.
    MapBytes,
    /// Orders a box of a tensor map of so many axes.
    MapBox(u8),
    /// Waits for the bytes of a half.
    MapWait,
}

/// Operations that have a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub(super) enum Op {
    Neg,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    DivEuclid,
    RemEuclid,
    Abs,
    Signum,
    Min,
    Max,
    Clamp,
    Fract,
    Powi,
    Pow,
    RotateLeft,
    RotateRight,
    CountOnes,
    LeadingZeros,
    TrailingZeros,
}

impl Op {
    fn name(self) -> &'static str {
        match self {
            Op::Neg => "neg",
            Op::Add => "add",
            Op::Sub => "sub",
            Op::Mul => "mul",
            Op::Div => "div",
            Op::Rem => "rem",
            Op::DivEuclid => "div_euclid",
            Op::RemEuclid => "rem_euclid",
            Op::Abs => "abs",
            Op::Signum => "signum",
            Op::Min => "min",
            Op::Max => "max",
            Op::Clamp => "clamp",
            Op::Fract => "fract",
            Op::Powi => "powi",
            Op::Pow => "pow",
            Op::RotateLeft => "rotate_left",
            Op::RotateRight => "rotate_right",
            Op::CountOnes => "count_ones",
            Op::LeadingZeros => "leading_zeros",
            Op::TrailingZeros => "trailing_zeros",
        }
    }

    /// Whether it can raise a fault on such numbers.
    pub fn faults(self, ty: ScalarType) -> bool {
        !ty.is_float() && matches!(self, Op::Div | Op::Rem | Op::DivEuclid | Op::RemEuclid)
    }
}

impl Helper {
    pub fn name(self) -> String {
        match self {
            Helper::RaiseDivision => "tida_raise_division".into(),
            Helper::RaiseEntry => "tida_raise_entry".into(),
            Helper::RaiseRange => "tida_raise_out_of_range".into(),
            Helper::Entry => "tida_entry".into(),
            Helper::Inside => "tida_inside".into(),
            Helper::Saturated => "tida_saturated".into(),
            Helper::OfHalf => "tida_of_half".into(),
            Helper::ToHalf => "tida_to_half".into(),
            Helper::Decode(n, _) => format!("tida_decode_{n}"),
            Helper::Encode(n, _, counted) => format!("tida_encode_{n}{}", if counted { "_counted" } else { "" }),
            Helper::Bits(ty) => format!("tida_bits_of_{}", ty.name()),
            Helper::OfBits(ty) => format!("tida_{}_of_bits", ty.name()),
            Helper::Op(op, ty) => format!("tida_{}_{}", op.name(), ty.name()),
            Helper::Saturate(from, to) => format!("tida_{}_of_{}", to.name(), from.name()),
            Helper::Ahead(bytes) => format!("tida_copy_{bytes}"),
            Helper::Stream => "tida_stream".into(),
            Helper::Commit => "tida_commit".into(),
            Helper::Wait => "tida_wait".into(),
            Helper::WaitBut(groups) => format!("tida_wait_but_{groups}"),
            Helper::MapReady => "tida_map_ready".into(),
            Helper::MapBytes => "tida_map_bytes".into(),
            Helper::MapBox(axes) => format!("tida_map_box_{axes}"),
            Helper::MapWait => "tida_map_wait".into(),
        }
    }

    /// Helpers that it calls.
    fn calls(self) -> Vec<Helper> {
        match self {
            Helper::Entry => vec![Helper::RaiseEntry],
            Helper::Decode(_, codec) => super::codecs::decode_calls(&codec),
            Helper::Encode(_, codec, counted) => super::codecs::encode_calls(&codec, counted),
            Helper::Op(op, ty) if op.faults(ty) => vec![Helper::RaiseDivision],
            Helper::Op(Op::Min | Op::Max, ty) if ty.is_float() => vec![Helper::Bits(ty), Helper::OfBits(ty)],
            _ => Vec::new(),
        }
    }
}

/// The helpers used and those they call.
#[derive(Clone, Debug, Default)]
pub(super) struct Helpers(BTreeSet<Helper>);

impl Helpers {
    /// The name of a helper, which is used from now on.
    pub fn need(&mut self, helper: Helper) -> String {
        helper.calls().into_iter().for_each(|called| drop(self.need(called)));
        self.0.insert(helper);
        helper.name()
    }

    /// Their text.
    pub fn text(&self, dialect: Dialect) -> Text {
        let mut text = Text::default();
        let raises = |h: &Helper| matches!(h, Helper::RaiseDivision | Helper::RaiseEntry | Helper::RaiseRange);
        let (counts, raises) = (self.0.contains(&Helper::Saturated), self.0.iter().any(raises));
        if counts || raises {
            faults::record(&mut text, counts);
        }
        if raises {
            faults::raising(&mut text, dialect);
        }
        if self.0.iter().any(|h| matches!(h, Helper::MapBox(_))) {
            text.line("typedef struct __align__(64) { u64 words[16]; } TensorMap;");
            text.line("");
        }
        for helper in &self.0 {
            write(&mut text, dialect, *helper);
            text.line("");
        }
        text
    }
}

fn write(text: &mut Text, dialect: Dialect, helper: Helper) {
    let device = dialect.device();
    let name = helper.name();
    match helper {
        Helper::RaiseDivision | Helper::RaiseEntry | Helper::RaiseRange | Helper::Entry => {
            faults::helper(text, dialect, helper);
        }
        Helper::Inside => super::ghosts::inside(text, format!("{device} i64 {name}")),
        Helper::Bits(ty) => {
            let call = match (dialect, ty) {
                (Dialect::Cuda, ScalarType::F32) => "__float_as_uint(x)",
                (Dialect::Cuda, _) => "(u64)__double_as_longlong(x)",
                (Dialect::OpenCl, ScalarType::F32) => "as_uint(x)",
                (Dialect::OpenCl, _) => "as_ulong(x)",
            };
            let head = format!("{device} {} {name}({} x)", unsigned(ty), ty.name());
            text.block(head, |text| text.line(format!("return {call};")));
        }
        Helper::OfBits(ty) => {
            let call = match (dialect, ty) {
                (Dialect::Cuda, ScalarType::F32) => "__uint_as_float(x)",
                (Dialect::Cuda, _) => "__longlong_as_double((i64)x)",
                (Dialect::OpenCl, ScalarType::F32) => "as_float(x)",
                (Dialect::OpenCl, _) => "as_double(x)",
            };
            let head = format!("{device} {} {name}({} x)", ty.name(), unsigned(ty));
            text.block(head, |text| text.line(format!("return {call};")));
        }
        // Before sm_80 a plain copy, which needs no waiting.
        Helper::Ahead(bytes) => {
            let (plain, through) = match bytes {
                4 => ("float", "ca"),
                8 => ("double", "ca"),
                _ => ("float4", "cg"),
            };
            let copy = format!("cp.async.{through}.shared.global [%0], [%1], {bytes};");
            text.block(format!("{device} void {name}(void* to, const void* from)"), |text| {
                text.line("#if __CUDA_ARCH__ >= 800");
                text.line("const unsigned int place = (unsigned int)__cvta_generic_to_shared(to);");
                text.line(format!("asm volatile(\"{copy}\" :: \"r\"(place), \"l\"(from) : \"memory\");"));
                text.line("#else");
                text.line(format!("*({plain}*)to = *(const {plain}*)from;"));
                text.line("#endif");
            });
        }
        Helper::Stream => {
            let words = [(1, "unsigned char"), (2, "unsigned short"), (4, "float"), (8, "double"), (16, "float4")];
            text.line("template <typename T>");
            text.block(format!("{device} void {name}(T* to, const T value)"), |text| {
                for (bytes, word) in words {
                    text.line(format!("if (sizeof(T) == {bytes}) __stcs(({word}*)to, *(const {word}*)&value);"));
                }
            });
        }
        Helper::Commit | Helper::Wait | Helper::WaitBut(_) => {
            let what = match helper {
                Helper::Commit => "cp.async.commit_group;".to_string(),
                Helper::WaitBut(groups) => format!("cp.async.wait_group {groups};"),
                _ => "cp.async.wait_group 0;".to_string(),
            };
            text.block(format!("{device} void {name}()"), |text| {
                text.line("#if __CUDA_ARCH__ >= 800");
                text.line(format!("asm volatile(\"{what}\" ::: \"memory\");"));
                text.line("#endif");
            });
        }
        Helper::Saturated | Helper::OfHalf | Helper::ToHalf | Helper::Decode(..) | Helper::Encode(..) => {
            super::codecs::helper(text, dialect, helper);
        }
        Helper::MapReady | Helper::MapBytes | Helper::MapBox(_) | Helper::MapWait => super::maps::helper(text, helper),
        Helper::Saturate(from, to) => {
            let (lowest, highest) = bounds(to);
            let suffix = if from == ScalarType::F32 { "f" } else { "" };
            // Powers of two, or few digits: exact in both types. What lies between the last integer and `past` is cut
            // off.
            let past = if to.size() < 4 { highest } else { highest + 1 };
            let (low, past) = (format!("{lowest}.0"), format!("{past}.0"));
            let [lowest, highest] = [lowest, highest].map(|n| integer(dialect, to, n));
            text.block(format!("{device} {} {name}({} x)", to.name(), from.name()), |text| {
                text.line("if (x != x) return 0;");
                text.line(format!("if (x <= {low}{suffix}) return {lowest};"));
                text.line(format!("if (x >= {past}{suffix}) return {highest};"));
                text.line(format!("return ({})x;", to.name()));
            });
        }
        Helper::Op(op, ty) => operation(text, dialect, op, ty, &name),
    }
}

/// The lowest and the highest value of an integer type; of `bool` 0 and 1.
pub(super) fn bounds(ty: ScalarType) -> (i128, i128) {
    ty.bounds().unwrap_or((0, 1))
}

fn operation(text: &mut Text, dialect: Dialect, op: Op, ty: ScalarType, name: &str) {
    let (t, u, width) = (ty.name(), unsigned(ty), ty.size() * 8);
    let device = dialect.device();
    let signed = ty.is_signed_int();
    let lowest = integer(dialect, ty, bounds(ty).0);
    let suffix = if ty == ScalarType::F32 { "f" } else { "" };
    let fault = if op.faults(ty) { ", Fault fault" } else { "" };
    let params = match op {
        Op::Neg | Op::Abs | Op::Signum | Op::Fract | Op::CountOnes | Op::LeadingZeros | Op::TrailingZeros => {
            format!("{t} a")
        }
        Op::Clamp => format!("{t} a, {t} lo, {t} hi"),
        Op::Powi => format!("{t} a, i32 n"),
        Op::Pow | Op::RotateLeft | Op::RotateRight => format!("{t} a, u32 n"),
        _ => format!("{t} a, {t} b{fault}"),
    };
    let result = match op {
        Op::CountOnes | Op::LeadingZeros | Op::TrailingZeros => "u32",
        _ => t,
    };
    // What the function's lines are; a division checks first.
    let no_quotient = |of_min: &str| {
        let mut lines = String::from("if (b == 0) {\n    tida_raise_division(fault);\n    return 0;\n}\n");
        if signed {
            lines += &format!(
                "if (a == {lowest} && b == -1) {{\n    tida_raise_division(fault);\n    return {of_min};\n}}\n"
            );
        }
        lines
    };
    let wrapping = |symbol: &str| format!("return ({t})(({u})a {symbol} ({u})b);");
    // Bits as a type that the counting functions take; the sign of a short one is not to fill them.
    let bits = match width {
        64 => "(u64)a".to_owned(),
        32 => "(u32)a".to_owned(),
        _ => format!("(u32)({u})a"),
    };
    let count = |x: &str| match (dialect, width) {
        (Dialect::Cuda, 64) => format!("(u32)__popcll({x})"),
        (Dialect::Cuda, _) => format!("(u32)__popc({x})"),
        _ => format!("(u32)popcount({x})"),
    };
    let lines = match op {
        Op::Neg => format!("return ({t})(0 - ({u})a);"),
        Op::Add => wrapping("+"),
        Op::Sub => wrapping("-"),
        Op::Mul => wrapping("*"),
        Op::Div => no_quotient(&lowest) + &format!("return ({t})(a / b);"),
        Op::Rem => no_quotient("0") + &format!("return ({t})(a % b);"),
        Op::DivEuclid if ty.is_float() => format!(
            "const {t} q = trunc(a / b);\nif (fmod(a, b) < 0.0{suffix}) return b > 0.0{suffix} ? q - 1.0{suffix} : \
             q + 1.0{suffix};\nreturn q;"
        ),
        Op::RemEuclid if ty.is_float() => {
            format!("const {t} r = fmod(a, b);\nreturn r < 0.0{suffix} ? r + fabs(b) : r;")
        }
        Op::DivEuclid if signed => {
            no_quotient(&lowest)
                + &format!("const {t} q = a / b;\nif (a % b >= 0) return q;\nreturn b > 0 ? q - 1 : q + 1;")
        }
        Op::DivEuclid => no_quotient(&lowest) + &format!("return ({t})(a / b);"),
        Op::RemEuclid if signed => {
            no_quotient("0")
                + &format!(
                    "const {t} r = a % b;\nif (r >= 0) return r;\n\
                     return ({t})(({u})r + (b < 0 ? 0 - ({u})b : ({u})b));"
                )
        }
        Op::RemEuclid => no_quotient("0") + &format!("return ({t})(a % b);"),
        Op::Abs => format!("return a < 0 ? ({t})(0 - ({u})a) : a;"),
        Op::Signum if ty.is_float() => format!("return a != a ? a : copysign(1.0{suffix}, a);"),
        Op::Signum if signed => "return (a > 0) - (a < 0);".into(),
        Op::Signum => "return a != 0;".into(),
        Op::Min | Op::Max if ty.is_float() => {
            // Equal operands differ in the sign of zero at most.
            let (than, join) = if op == Op::Min { ("<", "|") } else { (">", "&") };
            format!(
                "if (b != b) return a;\n\
                 if (a == b) return tida_{t}_of_bits(tida_bits_of_{t}(a) {join} tida_bits_of_{t}(b));\n\
                 return a {than} b ? a : b;"
            )
        }
        Op::Min => "return b < a ? b : a;".into(),
        Op::Max => "return b > a ? b : a;".into(),
        Op::Clamp => "a = a < lo ? lo : a;\nreturn a > hi ? hi : a;".into(),
        Op::Fract => "return a - trunc(a);".into(),
        Op::Powi => format!(
            "u32 left = n < 0 ? 0u - (u32)n : (u32)n;\n{t} power = a;\n{t} result = 1.0{suffix};\n\
             while (left != 0u) {{\n    if (left & 1u) result = result * power;\n    left >>= 1;\n    \
             if (left != 0u) power = power * power;\n}}\nreturn n < 0 ? 1.0{suffix} / result : result;"
        ),
        Op::Pow => {
            // As wide as C multiplies without a sign.
            let wide = if width == 64 { "u64" } else { "u32" };
            format!(
                "{wide} power = ({wide})a;\n{wide} result = 1;\nfor (; n != 0u; n >>= 1) {{\n    \
                 if (n & 1u) result = result * power;\n    power = power * power;\n}}\nreturn ({t})result;"
            )
        }
        Op::RotateLeft | Op::RotateRight => {
            let (one, other) = if op == Op::RotateLeft { ("<<", ">>") } else { (">>", "<<") };
            let mask = width - 1;
            format!("return ({t})((({u})a {one} (n & {mask}u)) | (({u})a {other} ((0u - n) & {mask}u)));")
        }
        Op::CountOnes => format!("return {};", count(&bits)),
        Op::LeadingZeros => {
            let less = if width < 32 { format!(" - {}u", 32 - width) } else { String::new() };
            match (dialect, width) {
                (Dialect::Cuda, 64) => "return (u32)__clzll((i64)a);".into(),
                (Dialect::Cuda, 32) => "return (u32)__clz((i32)a);".into(),
                (Dialect::Cuda, _) => format!("return (u32)__clz((i32){bits}){less};"),
                _ => format!("return (u32)clz({bits}){less};"),
            }
        }
        Op::TrailingZeros => {
            let bits = if width < 32 { format!("{bits} | {}u", 1 << width) } else { bits };
            let wide = if width == 64 { "u64" } else { "u32" };
            format!("const {wide} x = {bits};\nreturn {};", count("(x & (0 - x)) - 1"))
        }
    };
    text.block(format!("{device} {result} {name}({params})"), |text| text.all(&lines));
}
