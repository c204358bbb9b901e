//! Types as C has them, and constants.

use std::collections::HashMap;

use super::names::{Names, legal};
use super::text::Text;
use crate::element::ScalarType;
use crate::ir::{Body, Kernel, Type};
use crate::plan::Dialect;
use crate::scalar::Value;

/// Names of the types that are made of parts.
#[derive(Clone, Debug)]
pub(super) struct Types {
    names: HashMap<Type, String>,
    /// Parts before wholes.
    order: Vec<Type>,
}

impl Types {
    pub fn of(kernel: &Kernel, names: &mut Names) -> Types {
        let mut types = Types { names: HashMap::new(), order: Vec::new() };
        let mut body = |body: &Body| {
            body.locals.iter().for_each(|l| types.add(&l.ty, names));
            body.exprs.iter().for_each(|e| types.add(&e.ty, names));
        };
        kernel.functions.iter().for_each(|f| body(&f.body));
        body(&kernel.body);
        kernel.captures.iter().for_each(|c| types.add(&c.ty, names));
        kernel.functions.iter().for_each(|f| types.add(&f.result, names));
        types
    }

    fn add(&mut self, ty: &Type, names: &mut Names) {
        if self.names.contains_key(ty) {
            return;
        }
        let name = match ty {
            Type::Scalar(_) => return,
            Type::Array(of, len) => {
                self.add(of, names);
                format!("{}x{len}", self.name(of))
            }
            Type::Tuple(parts) if parts.is_empty() => "nothing".into(),
            Type::Tuple(parts) => {
                parts.iter().for_each(|part| self.add(part, names));
                parts.iter().fold("tuple".to_owned(), |name, part| format!("{name}_{}", self.name(part)))
            }
            Type::Struct(name, fields) => {
                fields.iter().for_each(|(_, field)| self.add(field, names));
                (*name).to_owned()
            }
        };
        self.names.insert(ty.clone(), names.fresh(&name));
        self.order.push(ty.clone());
    }

    /// The name of a type.
    pub fn name(&self, ty: &Type) -> String {
        match ty {
            Type::Scalar(s) => s.name().into(),
            _ => self.names.get(ty).cloned().unwrap_or_else(|| "unit".into()),
        }
    }

    /// The function that makes a value of the type from its parts.
    pub fn maker(&self, ty: &Type) -> String {
        format!("tida_make_{}", self.name(ty))
    }

    /// The function that gives an entry of an array that is no variable.
    pub fn picker(&self, ty: &Type) -> String {
        format!("tida_entry_of_{}", self.name(ty))
    }

    /// Definitions of the types and of their functions, of those that `rest` names.
    pub fn definitions(&self, dialect: Dialect, rest: &Text) -> Text {
        let mut all = Text::default();
        let mut later: Vec<Text> = Vec::new();
        // Wholes first: they name their parts.
        for ty in self.order.iter().rev() {
            let used = |word: &str| rest.has_word(word) || later.iter().any(|text| text.has_word(word));
            let (maker, picker) = (used(&self.maker(ty)), used(&self.picker(ty)));
            if maker || picker || used(&self.name(ty)) {
                later.push(self.definition(dialect, ty, maker, picker));
            }
        }
        later.into_iter().rev().for_each(|text| all.append(text));
        all
    }

    fn definition(&self, dialect: Dialect, ty: &Type, maker: bool, picker: bool) -> Text {
        let name = self.name(ty);
        let mut text = Text::default();
        let mut parts: Vec<(String, &Type)> = match ty {
            Type::Scalar(_) => Vec::new(),
            Type::Array(of, len) => (0..if maker { *len } else { 0 }).map(|n| (format!("at{n}"), &**of)).collect(),
            Type::Tuple(parts) => parts.iter().enumerate().map(|(n, part)| (part_name(ty, n), part)).collect(),
            Type::Struct(_, fields) => {
                fields.iter().enumerate().map(|(n, (_, part))| (part_name(ty, n), part)).collect()
            }
        };
        let members = match ty {
            Type::Array(of, len) if *len > 0 => format!("{} at[{len}];", self.stored(of)),
            Type::Tuple(_) | Type::Struct(..) if !parts.is_empty() => {
                let members: Vec<String> = parts.iter().map(|(n, t)| format!("{} {n};", self.stored(t))).collect();
                members.join(" ")
            }
            _ => "u8 none;".into(),
        };
        text.line(format!("typedef struct {{ {members} }} {name};"));
        text.line("");
        if maker {
            let values: Vec<String> = parts.iter().map(|(n, _)| n.clone()).collect();
            let values = if values.is_empty() { "0".into() } else { values.join(", ") };
            let values = if matches!(ty, Type::Array(_, 1..)) { format!("{{{values}}}") } else { values };
            let params: Vec<String> = parts.drain(..).map(|(n, t)| format!("{} {n}", self.name(t))).collect();
            let params = if params.is_empty() { "void".into() } else { params.join(", ") };
            text.block(format!("{} {name} {}({params})", dialect.device(), self.maker(ty)), |text| {
                text.line(format!("const {name} made = {{{values}}};"));
                text.line("return made;");
            });
            text.line("");
        }
        if let (true, Type::Array(of, 1..)) = (picker, ty) {
            let head = format!("{} {} {}({name} array, u64 index)", dialect.device(), self.name(of), self.picker(ty));
            text.block(head, |text| text.line("return array.at[index];"));
            text.line("");
        }
        text
    }

    /// The type in a struct: `bool` is a byte, 0 or 1.
    fn stored(&self, ty: &Type) -> String {
        stored(ty).map_or_else(|| self.name(ty), str::to_owned)
    }
}

fn stored(ty: &Type) -> Option<&'static str> {
    ty.scalar().map(memory)
}

/// A scalar in memory.
pub(super) fn memory(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "u8",
        ty => ty.name(),
    }
}

/// The name of a part of a tuple or struct.
pub(super) fn part_name(ty: &Type, n: usize) -> String {
    match ty {
        Type::Struct(_, fields) => {
            // Fields may differ in what C does not tell apart.
            let mut names = Names::new();
            let mut name = String::new();
            for (field, _) in fields.iter().take(n + 1) {
                name = names.fresh(&legal(field));
            }
            name
        }
        _ => format!("part{n}"),
    }
}

/// Unsigned type of the same width.
pub(super) fn unsigned(ty: ScalarType) -> &'static str {
    match ty.size() {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        _ => "u64",
    }
}

/// C computes with `int` where a type is shorter, and the result has to be cut back to the type. If this type is one,
/// the cast that the first operand of an operator needs then, or nothing: products of `u16` do not fit an `int`, and
/// negative numbers cannot be shifted left.
pub(super) fn widened(ty: ScalarType, symbol: &str) -> Option<String> {
    match (ty, symbol) {
        _ if ty.size() >= 4 || !ty.is_int() => None,
        (ScalarType::U16, "*") => Some("(u32)".into()),
        (_, "<<") if ty.is_signed_int() => Some(format!("({})", unsigned(ty))),
        _ => Some(String::new()),
    }
}

/// An integer constant of a type.
pub(super) fn integer(dialect: Dialect, ty: ScalarType, n: i128) -> String {
    match ty {
        ScalarType::U32 => format!("{n}u"),
        ScalarType::U64 if dialect == Dialect::Cuda => format!("{n}ull"),
        ScalarType::U64 => format!("{n}ul"),
        ScalarType::I32 if n == i128::from(i32::MIN) => format!("(-{} - 1)", i32::MAX),
        // A plain `4` would be 32 bits wide, and shifts and products of constants with it.
        ScalarType::I64 => {
            let wide = if dialect == Dialect::Cuda { "ll" } else { "l" };
            if n == i128::from(i64::MIN) { format!("(-{}{wide} - 1)", i64::MAX) } else { format!("{n}{wide}") }
        }
        _ => format!("{n}"),
    }
}

/// A float constant: decimal where that is exact, else hexadecimal beside the decimal.
pub(super) fn float(x: f64, shortest: String, single: bool) -> String {
    let suffix = if single { "f" } else { "" };
    // Multiples of 1/1024 of up to 15 digits are exact however they are parsed.
    if (x * 1024.0).fract() == 0.0 && x.abs() < 1e9 && shortest.len() <= 16 && !shortest.contains('e') {
        return format!("{shortest}{suffix}");
    }
    let bits = x.to_bits();
    let sign = if x.is_sign_negative() { "-" } else { "" };
    let (mut exponent, mut fraction) = ((bits >> 52 & 0x7ff) as i64 - 1023, bits & ((1 << 52) - 1));
    if exponent == -1023 {
        // Subnormal: shifted until its leading bit is the one before the point.
        let shift = fraction.leading_zeros() as i64 - 11;
        fraction = (fraction << shift) & ((1 << 52) - 1);
        exponent = -1022 - shift;
    }
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{sign}0x1{point}{digits}p{exponent}{suffix} /* {shortest} */")
}

/// A constant, and whether it is one that takes no parentheses.
pub(super) fn literal(dialect: Dialect, value: Value) -> (String, bool) {
    let text = match value {
        Value::Bool(v) => v.to_string(),
        Value::F32(v) if v.is_finite() => float(v.into(), format!("{v:?}"), true),
        Value::F64(v) if v.is_finite() => float(v, format!("{v:?}"), false),
        Value::F32(v) => match dialect {
            Dialect::Cuda => format!("__uint_as_float({:#x}u)", v.to_bits()),
            Dialect::OpenCl => format!("as_float({:#x}u)", v.to_bits()),
        },
        Value::F64(v) => match dialect {
            Dialect::Cuda => format!("__longlong_as_double({:#x}ull)", v.to_bits()),
            Dialect::OpenCl => format!("as_double({:#x}ul)", v.to_bits()),
        },
        whole => integer(dialect, whole.ty(), whole.integer().unwrap_or_default()),
    };
    let plain = !text.starts_with('-');
    (text, plain)
}
