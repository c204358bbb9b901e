//! Expressions.

use super::body::Writer;
use super::helpers::{Helper, Op, bounds};
use super::types::{integer, literal, part_name, unsigned, widened};
use crate::element::ScalarType;
use crate::ir::{ExprId, ExprKind, Type};
use crate::plan::Math;
use crate::quote::{BinaryOp, Method, UnaryOp};
use crate::scalar::Value;

/// How tightly an operator binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Binds {
    Or,
    And,
    /// `| ^ &`: always in parentheses inside others.
    Bits,
    Equals,
    Compares,
    Shifts,
    Adds,
    Multiplies,
    Prefix,
    Whole,
}

/// Text of an expression.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub text: String,
    binds: Binds,
}

impl Piece {
    pub fn whole(text: impl Into<String>) -> Piece {
        Piece { text: text.into(), binds: Binds::Whole }
    }

    fn new(text: String, binds: Binds) -> Piece {
        Piece { text, binds }
    }

    /// The text where an operator stands that binds this tightly.
    pub fn within(self, binds: Binds) -> String {
        let loose = self.binds < binds || self.binds == Binds::Bits;
        if loose { format!("({})", self.text) } else { self.text }
    }
}

fn infix(a: Piece, symbol: &str, b: Piece, binds: Binds) -> Piece {
    let next = match binds {
        Binds::Or => Binds::And,
        Binds::And => Binds::Bits,
        Binds::Bits => Binds::Prefix,
        Binds::Equals => Binds::Compares,
        Binds::Compares => Binds::Shifts,
        Binds::Shifts => Binds::Prefix,
        Binds::Adds => Binds::Multiplies,
        _ => Binds::Prefix,
    };
    // Shifts and comparisons take sums in parentheses, for readers.
    let first = if matches!(binds, Binds::Shifts | Binds::Bits) { Binds::Prefix } else { binds };
    Piece::new(format!("{} {symbol} {}", a.within(first), b.within(next)), binds)
}

impl<'a> Writer<'_, 'a> {
    /// The text of an expression that stands by itself.
    pub fn text_of(&mut self, id: ExprId) -> String {
        self.expr(id).text
    }

    fn scalar(&self, id: ExprId) -> ScalarType {
        self.body[id].ty.scalar().unwrap_or(ScalarType::Bool)
    }

    pub fn expr(&mut self, id: ExprId) -> Piece {
        let body = self.body;
        let expr = &body[id];
        if let (Some(n), Some(ty)) = (self.known.constant(body, id), expr.ty.scalar()) {
            let binds = if n < 0 { Binds::Prefix } else { Binds::Whole };
            return Piece::new(integer(self.shared.dialect(), ty, n), binds);
        }
        match &expr.kind {
            ExprKind::Literal(value) => self.literal(*value),
            ExprKind::Capture(n) => {
                let name = self.shared.capture(*n as usize);
                match expr.ty {
                    Type::Scalar(ScalarType::Bool) => Piece::new(format!("{name} != 0"), Binds::Equals),
                    _ => Piece::whole(name),
                }
            }
            ExprKind::Coordinate(axis) => Piece::whole(self.shared.coordinate(*axis as usize)),
            ExprKind::Local(local) => {
                self.named.insert(*local);
                Piece::whole(self.name(*local))
            }
            ExprKind::Load { arg, index, component } => self.load(id, *arg as usize, index, component),
            ExprKind::Unary(op, x) => self.unary(id, *op, *x),
            ExprKind::Binary(op, a, b) => self.binary(id, *op, *a, *b),
            ExprKind::Compare(op, a, b) => {
                let symbol = op.symbol();
                let binds = if matches!(symbol, "==" | "!=") { Binds::Equals } else { Binds::Compares };
                infix(self.expr(*a), symbol, self.expr(*b), binds)
            }
            ExprKind::And(a, b) => infix(self.expr(*a), "&&", self.expr(*b), Binds::And),
            ExprKind::Or(a, b) => {
                // Compilers warn of `&&` in `||`; so do readers.
                let (a, b) = (self.expr(*a), self.expr(*b));
                let [a, b] = [a, b].map(|x| if x.binds == Binds::And { x.within(Binds::Whole) } else { x.text });
                Piece::new(format!("{a} || {b}"), Binds::Or)
            }
            ExprKind::Cast(x) => self.cast(*x, expr.ty.scalar().unwrap_or(ScalarType::Bool)),
            ExprKind::Decode(codec, x) => {
                // A row holds values.
                if let ExprKind::Load { arg, index, component } = &body[*x].kind
                    && let Some(value) = self.row_read((*x, *arg as usize), index, component)
                {
                    return Piece::whole(value);
                }
                if let Some(value) = self.decoded_read(*x) {
                    return Piece::whole(value);
                }
                let name = self.shared.decode(*codec);
                Piece::whole(format!("{name}({})", self.text_of(*x)))
            }
            ExprKind::Encode { codec, value, counted } => {
                let (name, value) = (self.shared.encode(*codec, counted.is_some()), self.text_of(*value));
                Piece::whole(match counted {
                    Some(arg) => {
                        let place = self.shared.counter(*arg);
                        format!("{name}({value}, {}, {place})", self.shared.record())
                    }
                    None => format!("{name}({value})"),
                })
            }
            ExprKind::Method(method, args) => self.method(id, *method, args),
            ExprKind::Call(n, args) => {
                let n = *n as usize;
                let mut args: Vec<String> = args.iter().map(|arg| self.text_of(*arg)).collect();
                if self.shared.faulting.get(n).copied().unwrap_or(false) {
                    args.push(self.shared.fault());
                }
                let name = self.shared.functions.get(n).cloned().unwrap_or_default();
                Piece::whole(format!("{name}({})", args.join(", ")))
            }
            ExprKind::Construct(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.text_of(*part)).collect();
                Piece::whole(format!("{}({})", self.shared.types.maker(&expr.ty), parts.join(", ")))
            }
            ExprKind::Part(whole, n) => self.part(*whole, *n),
            ExprKind::Entry(whole, index) => self.entry_of(*whole, *index),
        }
    }

    fn literal(&self, value: Value) -> Piece {
        let (text, plain) = literal(self.shared.dialect(), value);
        Piece::new(text, if plain { Binds::Whole } else { Binds::Prefix })
    }

    /// A local, a capture or a part of one.
    fn is_place(&self, id: ExprId) -> bool {
        match &self.body[id].kind {
            ExprKind::Local(_) | ExprKind::Capture(_) => true,
            ExprKind::Part(whole, _) | ExprKind::Entry(whole, _) => self.is_place(*whole),
            _ => false,
        }
    }

    fn part(&mut self, whole: ExprId, n: u32) -> Piece {
        let body = self.body;
        let ty = &body[whole].ty;
        match ty {
            Type::Array(..) if !self.is_place(whole) => self.pick(whole, n.to_string()),
            Type::Array(..) => Piece::whole(format!("{}.at[{n}]", self.expr(whole).within(Binds::Whole))),
            _ => Piece::whole(format!("{}.{}", self.expr(whole).within(Binds::Whole), part_name(ty, n as usize))),
        }
    }

    fn entry_of(&mut self, whole: ExprId, index: ExprId) -> Piece {
        let len = match &self.body[whole].ty {
            Type::Array(_, len) => *len,
            _ => 0,
        };
        if self.is_place(whole) {
            let place = self.expr(whole).within(Binds::Whole);
            return Piece::whole(format!("{place}.at[{}]", self.entry(index, len as u64).text));
        }
        let index = self.entry(index, len as u64).text;
        self.pick(whole, index)
    }

    /// An entry of an array that is no variable.
    fn pick(&mut self, whole: ExprId, index: String) -> Piece {
        let array = self.text_of(whole);
        Piece::whole(format!("{}({array}, {index})", self.shared.types.picker(&self.body[whole].ty)))
    }

    fn call(&mut self, op: Op, ty: ScalarType, args: &[ExprId]) -> Piece {
        let name = self.shared.helper(Helper::Op(op, ty));
        let mut args: Vec<String> = args.iter().map(|arg| self.text_of(*arg)).collect();
        if op.faults(ty) {
            args.push(self.shared.fault());
        }
        Piece::whole(format!("{name}({})", args.join(", ")))
    }

    /// A function of both languages.
    fn function(&mut self, name: &str, args: &[ExprId]) -> Piece {
        let args: Vec<String> = args.iter().map(|arg| self.text_of(*arg)).collect();
        Piece::whole(format!("{name}({})", args.join(", ")))
    }

    fn unary(&mut self, id: ExprId, op: UnaryOp, x: ExprId) -> Piece {
        let ty = self.scalar(x);
        let of_type = |text: String| match widened(ty, "") {
            Some(_) => Piece::new(format!("({})({text})", ty.name()), Binds::Prefix),
            None => Piece::new(text, Binds::Prefix),
        };
        match op {
            UnaryOp::Neg if self.overflows(ty) && !self.fits(id) => self.call(Op::Neg, ty, &[x]),
            UnaryOp::Neg => {
                let x = self.expr(x);
                of_type(if x.binds == Binds::Prefix {
                    format!("-({})", x.text)
                } else {
                    format!("-{}", x.within(Binds::Prefix))
                })
            }
            UnaryOp::Not if ty == ScalarType::Bool => {
                Piece::new(format!("!{}", self.expr(x).within(Binds::Prefix)), Binds::Prefix)
            }
            UnaryOp::Not => of_type(format!("~{}", self.expr(x).within(Binds::Prefix))),
        }
    }

    /// Whether the exact result is one of its type.
    fn fits(&self, id: ExprId) -> bool {
        let (lo, hi) = bounds(self.scalar(id));
        self.known.found(self.body, id).is_some_and(|found| lo <= found.0 && found.1 <= hi)
    }

    /// An operator of C on two values of a type, cut back to the type.
    fn operator(&mut self, ty: ScalarType, symbol: &str, a: ExprId, b: ExprId, binds: Binds) -> Piece {
        let (a, b) = (self.expr(a), self.expr(b));
        self.cut_back(ty, symbol, a, b, binds)
    }

    fn cut_back(&self, ty: ScalarType, symbol: &str, a: Piece, b: Piece, binds: Binds) -> Piece {
        let a = match widened(ty, symbol) {
            None if ty != ScalarType::Bool => return infix(a, symbol, b, binds),
            Some(cast) if !cast.is_empty() => Piece::new(format!("{cast}{}", a.within(Binds::Prefix)), Binds::Prefix),
            _ => a,
        };
        Piece::new(format!("({})({})", ty.name(), infix(a, symbol, b, binds).text), Binds::Prefix)
    }

    /// Whether C computes with this type with a sign that may overflow. A shorter type is computed with in `int`.
    fn overflows(&self, ty: ScalarType) -> bool {
        ty.is_signed_int() && widened(ty, "").is_none()
    }

    fn binary(&mut self, id: ExprId, op: BinaryOp, a: ExprId, b: ExprId) -> Piece {
        let ty = self.scalar(id);
        let natural = !self.overflows(ty) || self.fits(id);
        match op {
            BinaryOp::Rem if ty.is_float() => self.function("fmod", &[a, b]),
            BinaryOp::Add if natural => self.operator(ty, "+", a, b, Binds::Adds),
            BinaryOp::Sub if natural => self.operator(ty, "-", a, b, Binds::Adds),
            BinaryOp::Mul if natural => self.operator(ty, "*", a, b, Binds::Multiplies),
            BinaryOp::Add => self.call(Op::Add, ty, &[a, b]),
            BinaryOp::Sub => self.call(Op::Sub, ty, &[a, b]),
            BinaryOp::Mul => self.call(Op::Mul, ty, &[a, b]),
            BinaryOp::Div if ty.is_float() || self.divides(ty, a, b) => self.operator(ty, "/", a, b, Binds::Multiplies),
            BinaryOp::Rem if self.divides(ty, a, b) => self.operator(ty, "%", a, b, Binds::Multiplies),
            BinaryOp::Div => self.call(Op::Div, ty, &[a, b]),
            BinaryOp::Rem => self.call(Op::Rem, ty, &[a, b]),
            BinaryOp::BitAnd => self.operator(ty, "&", a, b, Binds::Bits),
            BinaryOp::BitOr => self.operator(ty, "|", a, b, Binds::Bits),
            BinaryOp::BitXor => self.operator(ty, "^", a, b, Binds::Bits),
            BinaryOp::Shl | BinaryOp::Shr => self.shift(ty, op == BinaryOp::Shl, a, b),
        }
    }

    /// Whether a division has a result, whatever its operands.
    fn divides(&self, ty: ScalarType, a: ExprId, b: ExprId) -> bool {
        let (a, b) = (self.known.range(self.body, a), self.known.range(self.body, b));
        let zero = b.0 <= 0 && 0 <= b.1;
        let overflows = ty.is_signed_int() && a.0 <= bounds(ty).0 && b.0 <= -1 && -1 <= b.1;
        !self.shared.may_fault || !(zero || overflows)
    }

    fn shift(&mut self, ty: ScalarType, left: bool, a: ExprId, b: ExprId) -> Piece {
        let mask = ty.size() as i128 * 8 - 1;
        let by = match self.known.constant(self.body, b) {
            Some(n) => Piece::whole((n & mask).to_string()),
            None => {
                let by = self.expr(b).within(Binds::Prefix);
                Piece::new(format!("{by} & {mask}"), Binds::Bits)
            }
        };
        let value = self.expr(a);
        if left && self.overflows(ty) {
            let bits = Piece::new(format!("({}){}", unsigned(ty), value.within(Binds::Prefix)), Binds::Prefix);
            return Piece::new(
                format!("({})({})", ty.name(), infix(bits, "<<", by, Binds::Shifts).text),
                Binds::Prefix,
            );
        }
        self.cut_back(ty, if left { "<<" } else { ">>" }, value, by, Binds::Shifts)
    }

    fn cast(&mut self, x: ExprId, to: ScalarType) -> Piece {
        let from = self.scalar(x);
        if from == to {
            return self.expr(x);
        }
        if from.is_float() && to.is_int() {
            let name = self.shared.helper(Helper::Saturate(from, to));
            return Piece::whole(format!("{name}({})", self.text_of(x)));
        }
        let x = self.expr(x).within(Binds::Prefix);
        Piece::new(format!("({}){x}", to.name()), Binds::Prefix)
    }

    fn method(&mut self, id: ExprId, method: Method, args: &[ExprId]) -> Piece {
        let Some(&x) = args.first() else { return Piece::whole("0") };
        let ty = self.scalar(x);
        let fast = self.shared.plan.math == Math::Fast && ty.is_float();
        let two = args.get(1).copied().unwrap_or(x);
        match method {
            Method::Recip => {
                let one = self.literal(if ty == ScalarType::F32 { Value::F32(1.0) } else { Value::F64(1.0) });
                infix(one, "/", self.expr(x), Binds::Multiplies)
            }
            Method::Abs if ty.is_float() => self.function("fabs", args),
            Method::Abs | Method::WrappingAbs if !ty.is_signed_int() => self.expr(x),
            Method::Abs | Method::WrappingAbs => self.call(Op::Abs, ty, args),
            Method::Min if fast => self.function("fmin", args),
            Method::Max if fast => self.function("fmax", args),
            Method::Min => self.call(Op::Min, ty, args),
            Method::Max => self.call(Op::Max, ty, args),
            Method::Clamp => self.call(Op::Clamp, ty, args),
            Method::Signum => self.call(Op::Signum, ty, args),
            Method::Fract => self.call(Op::Fract, ty, args),
            Method::Powi => self.call(Op::Powi, ty, args),
            Method::Pow | Method::WrappingPow => self.call(Op::Pow, ty, args),
            Method::RemEuclid if ty.is_int() && !ty.is_signed_int() && self.divides(ty, x, two) => {
                self.operator(ty, "%", x, two, Binds::Multiplies)
            }
            Method::DivEuclid if ty.is_int() && !ty.is_signed_int() && self.divides(ty, x, two) => {
                self.operator(ty, "/", x, two, Binds::Multiplies)
            }
            Method::RemEuclid => self.call(Op::RemEuclid, ty, args),
            Method::DivEuclid => self.call(Op::DivEuclid, ty, args),
            Method::RotateLeft => self.call(Op::RotateLeft, ty, args),
            Method::RotateRight => self.call(Op::RotateRight, ty, args),
            Method::CountOnes => self.call(Op::CountOnes, ty, args),
            Method::LeadingZeros => self.call(Op::LeadingZeros, ty, args),
            Method::TrailingZeros => self.call(Op::TrailingZeros, ty, args),
            Method::WrappingAdd => self.binary(id, BinaryOp::Add, x, two),
            Method::WrappingSub => self.binary(id, BinaryOp::Sub, x, two),
            Method::WrappingMul => self.binary(id, BinaryOp::Mul, x, two),
            Method::WrappingNeg => self.unary(id, UnaryOp::Neg, x),
            Method::WrappingShl => self.binary(id, BinaryOp::Shl, x, two),
            Method::WrappingShr => self.binary(id, BinaryOp::Shr, x, two),
            Method::MulAdd => self.function("fma", args),
            Method::IsNan => self.function("isnan", args),
            Method::IsFinite => self.function("isfinite", args),
            Method::IsInfinite => self.function("isinf", args),
            Method::ExpM1 => self.function("expm1", args),
            Method::Ln => self.function("log", args),
            Method::Ln1p => self.function("log1p", args),
            Method::Powf => self.function("pow", args),
            Method::Sqrt
            | Method::Floor
            | Method::Ceil
            | Method::Round
            | Method::Trunc
            | Method::Copysign
            | Method::Sin
            | Method::Cos
            | Method::Tan
            | Method::Asin
            | Method::Acos
            | Method::Atan
            | Method::Atan2
            | Method::Sinh
            | Method::Cosh
            | Method::Tanh
            | Method::Exp
            | Method::Exp2
            | Method::Log2
            | Method::Log10
            | Method::Cbrt
            | Method::Hypot => self.function(method.name(), args),
        }
    }
}
