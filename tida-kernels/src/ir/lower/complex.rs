//! Complex numbers: structs of two floats that have operators.
//!
//! The formulas are those of the crate `num-complex`, which the native form calls.

use super::Lowering;
use crate::element::ScalarType;
use crate::ir::{ExprId, ExprKind, Span, Type};
use crate::quote::{BinaryOp, UnaryOp};

/// Whether this is a type that `tida` makes of `num_complex::Complex`. (A struct of the user's with this name and these
/// fields has no operators in Rust, so no quotation has them.)
pub(super) fn is_complex(ty: &Type) -> bool {
    part(ty).is_some()
}

/// The type of both parts.
fn part(ty: &Type) -> Option<Type> {
    let Type::Struct(name @ ("Complex32" | "Complex64"), fields) = ty else { return None };
    let of = Type::Scalar(if *name == "Complex32" { ScalarType::F32 } else { ScalarType::F64 });
    match &fields[..] {
        [("re", re), ("im", im)] if *re == of && *im == of => Some(of),
        _ => None,
    }
}

impl Lowering<'_> {
    /// An operator on two values of one type.
    pub(super) fn arithmetic(&mut self, span: Span, ty: Type, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        let Some(of) = part(&ty) else { return self.build.push(span, ty, ExprKind::Binary(op, a, b)) };
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
