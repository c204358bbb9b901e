//! Complex numbers: structs of two floats that have operators.
//!
//! The formulas and the order of their operations are those of `scalar::complex`, which the native form calls.

use super::Lowering;
use crate::element::ScalarType;
use crate::ir::{ExprId, ExprKind, Span, Type};
use crate::quote::{BinaryOp, CompareOp, UnaryOp};
use crate::scalar::Value;

/// Whether this is a type that `tida` makes of `num_complex::Complex`. (A struct of the user's with this name and these
/// fields has no operators in Rust, so no quotation has them.)
pub(super) fn is_complex(ty: &Type) -> bool {
    part(ty).is_some()
}

/// The scalar type of the parts of the struct with this name.
pub(super) fn parts_of(name: &str) -> Option<ScalarType> {
    match name {
        "Complex32" => Some(ScalarType::F32),
        "Complex64" => Some(ScalarType::F64),
        _ => None,
    }
}

/// The type of both parts.
fn part(ty: &Type) -> Option<Type> {
    let Type::Struct(name, fields) = ty else { return None };
    let of = Type::Scalar(parts_of(name)?);
    match &fields[..] {
        [("re", re), ("im", im)] if *re == of && *im == of => Some(of),
        _ => None,
    }
}

impl Lowering<'_> {
    /// An operator on two values of one type, or on a complex and a real one; `ty` is that of the result.
    pub(super) fn arithmetic(&mut self, span: Span, ty: Type, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        let Some(of) = part(&ty) else { return self.build.push(span, ty, ExprKind::Binary(op, a, b)) };
        if *self.build.ty(b) == of {
            return self.with_real(span, ty, op, a, b);
        }
        if *self.build.ty(a) == of {
            return self.real_with(span, (ty, of), op, a, b);
        }
        let (a, b) = (self.both_parts(a), self.both_parts(b));
        let mut does = |op, x, y| self.build.push(span, of.clone(), ExprKind::Binary(op, x, y));
        use BinaryOp::{Add, Div, Mul, Sub};
        let parts = match op {
            Mul => {
                let re = [does(Mul, a.0, b.0), does(Mul, a.1, b.1)];
                let im = [does(Mul, a.0, b.1), does(Mul, a.1, b.0)];
                vec![does(Sub, re[0], re[1]), does(Add, im[0], im[1])]
            }
            Div => {
                let square = [does(Mul, b.0, b.0), does(Mul, b.1, b.1)];
                let square = does(Add, square[0], square[1]);
                let re = [does(Mul, a.0, b.0), does(Mul, a.1, b.1)];
                let re = does(Add, re[0], re[1]);
                let im = [does(Mul, a.1, b.0), does(Mul, a.0, b.1)];
                let im = does(Sub, im[0], im[1]);
                let square = self.build.reuse("square", square);
                let mut does = |x| self.build.push(span, of.clone(), ExprKind::Binary(Div, x, square));
                vec![does(re), does(im)]
            }
            op => vec![does(op, a.0, b.0), does(op, a.1, b.1)],
        };
        self.build.push(span, ty, ExprKind::Construct(parts))
    }

    /// A complex number, an operator, and a real one.
    fn with_real(&mut self, span: Span, ty: Type, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        let of = self.build.ty(b).clone();
        let a = self.both_parts(a);
        let scales = matches!(op, BinaryOp::Mul | BinaryOp::Div);
        let b = if scales { self.build.reuse("real", b) } else { b };
        let mut does = |x| self.build.push(span, of.clone(), ExprKind::Binary(op, x, b));
        let parts = vec![does(a.0), if scales { does(a.1) } else { a.1 }];
        self.build.push(span, ty, ExprKind::Construct(parts))
    }

    /// A real number, an operator, and a complex one.
    fn real_with(&mut self, span: Span, (ty, of): (Type, Type), op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        use BinaryOp::{Add, Div, Mul, Sub};
        // (The real one comes first in Rust's order.)
        let a = if matches!(op, Mul | Div) { self.build.reuse("real", a) } else { a };
        let mark = self.build.mark();
        let b = self.both_parts(b);
        let mut a = [a];
        self.build.guard(mark, &mut a);
        let [a] = a;
        let zero = match of {
            Type::Scalar(ScalarType::F32) => Value::F32(0.0),
            _ => Value::F64(0.0),
        };
        let zero = self.build.literal(span, zero);
        let mut does = |op, x, y| self.build.push(span, of.clone(), ExprKind::Binary(op, x, y));
        let parts = match op {
            Sub => vec![does(Sub, a, b.0), does(Sub, zero, b.1)],
            Mul => vec![does(Mul, a, b.0), does(Mul, a, b.1)],
            Div => {
                let square = [does(Mul, b.0, b.0), does(Mul, b.1, b.1)];
                let square = does(Add, square[0], square[1]);
                let scaled = [does(Mul, a, b.0), does(Mul, a, b.1)];
                let square = self.build.reuse("square", square);
                let mut does = |op, x, y| self.build.push(span, of.clone(), ExprKind::Binary(op, x, y));
                let [re, im] = scaled.map(|x| does(Div, x, square));
                vec![re, does(Sub, zero, im)]
            }
            op => vec![does(op, a, b.0), b.1],
        };
        self.build.push(span, ty, ExprKind::Construct(parts))
    }

    /// `a == b` or `a != b` of complex numbers.
    pub(super) fn complex_equal(&mut self, span: Span, op: CompareOp, a: ExprId, b: ExprId) -> ExprId {
        let (a, b) = (self.both_parts(a), self.both_parts(b));
        let bool = Type::Scalar(ScalarType::Bool);
        let [re, im] =
            [(a.0, b.0), (a.1, b.1)].map(|(x, y)| self.build.push(span, bool.clone(), ExprKind::Compare(op, x, y)));
        let kind = if op == CompareOp::Eq { ExprKind::And(re, im) } else { ExprKind::Or(re, im) };
        self.build.push(span, bool, kind)
    }

    /// `-x` of a complex number.
    pub(super) fn negated(&mut self, span: Span, ty: Type, x: ExprId) -> ExprId {
        let x = self.both_parts(x);
        let parts = [x.0, x.1].map(|part| {
            let of = self.build.ty(part).clone();
            self.build.push(span, of, ExprKind::Unary(UnaryOp::Neg, part))
        });
        self.build.push(span, ty, ExprKind::Construct(parts.to_vec()))
    }

    /// Both parts, for use in several places.
    fn both_parts(&mut self, whole: ExprId) -> (ExprId, ExprId) {
        let whole = match self.build.expr(whole).kind {
            ExprKind::Construct(_) => whole,
            _ => self.build.reuse("complex", whole),
        };
        let parts = [0, 1].map(|n| self.build.part(whole, n));
        let [re, im] = parts.map(|part| self.build.reuse("part", part));
        (re, im)
    }
}
