//! Expressions.

use super::super::types::{Ty, Unknown};
use super::{Infer, Pending, Step};
use crate::element::{ElementType, ScalarType};
use crate::error::KernelError;
use crate::ir::{Span, Type};
use crate::quote::{BinaryOp, Block, Expr, ExprKind, Method, MethodClass, NumberType, TypeTree};

impl<'t> Infer<'t, '_> {
    pub(super) fn expr(&mut self, e: &'t Expr) -> Result<Ty, KernelError> {
        self.deeper(e.span)?;
        let ty = self.kind(e)?;
        self.nesting -= 1;
        self.exprs.push((e, ty));
        Ok(ty)
    }

    pub(super) fn kind(&mut self, e: &'t Expr) -> Result<Ty, KernelError> {
        let span = e.span;
        match &e.kind {
            ExprKind::Int(_, ty) => self.number(e, *ty, Unknown::Int),
            ExprKind::Float(_, ty) => self.number(e, *ty, Unknown::Float),
            ExprKind::Bool(_) => Ok(self.types.scalar(ScalarType::Bool)),
            ExprKind::Local(id) => self.local(span, *id),
            ExprKind::Capture(n) => {
                let ty = &self.scope.capture(span, *n)?.ty;
                Ok(self.types.import(ty))
            }
            ExprKind::At => match self.scope.rank {
                Some(rank) => Ok(self.types.point(rank)),
                None => Err(self.scope.damaged(span, "the cell in a function")),
            },
            ExprKind::Load { arg, index, path } => self.element(span, *arg, index, path),
            ExprKind::Unary(_, x) => self.expr(x),
            ExprKind::Binary(op, a, b) => self.binary(span, *op, a, b),
            ExprKind::Shift { minus: _, point, offset } => self.shift(span, point, offset),
            ExprKind::Compare(_, a, b) => {
                self.pair(span, a, b, || "compare two values".into())?;
                Ok(self.types.scalar(ScalarType::Bool))
            }
            ExprKind::And(a, b) | ExprKind::Or(a, b) => self.lazy(a, b),
            ExprKind::Cast(x, tree) => self.cast(span, x, tree),
            ExprKind::If { cond, then, otherwise } => self.branch(span, cond, then, otherwise.as_ref()),
            ExprKind::Block(block) => self.block(block),
            ExprKind::Method(method, args) => self.method(span, *method, args),
            ExprKind::Call(n, args) => self.call(span, *n, args),
            ExprKind::Tuple(parts) => {
                let parts = parts.iter().map(|p| self.expr(p)).collect::<Result<_, _>>()?;
                Ok(self.types.tuple(parts))
            }
            ExprKind::Array(parts) => {
                let entry = self.types.any();
                for part in parts {
                    let ty = self.expr(part)?;
                    self.same(part.span, entry, ty, || "make an array".into())?;
                }
                Ok(self.types.array(entry, parts.len()))
            }
            ExprKind::Repeat(x, n) => {
                let entry = self.expr(x)?;
                Ok(self.types.array(entry, *n))
            }
            ExprKind::Struct(n, fields) => self.structure(span, *n, fields),
            ExprKind::Project(whole, step) => {
                let ty = self.expr(whole)?;
                self.project(span, ty, step)
            }
            ExprKind::Unit(axis) => {
                let (given, number) = (self.expr(axis)?, self.types.scalar(ScalarType::U64));
                self.same(axis.span, given, number, || "name an axis".into())?;
                match self.scope.rank {
                    Some(rank) => Ok(self.types.point(rank)),
                    None => Err(self.scope.damaged(span, "`unit(..)` in a function")),
                }
            }
            ExprKind::Length(array) => {
                self.expr(array)?;
                Ok(self.types.scalar(ScalarType::U64))
            }
            ExprKind::Constant(n) => {
                let ty = Type::of_element(&self.scope.constant(span, *n)?.ty);
                Ok(self.types.import(&ty))
            }
            ExprKind::Invoke(..) => Err(self.scope.damaged(span, "a method that is not known")),
            ExprKind::RepeatOf(..) => Err(self.scope.damaged(span, "a length that is not known")),
        }
    }

    /// A literal: its type is written, or it is remembered what it is taken for.
    fn number(&mut self, e: &Expr, ty: NumberType, kind: Unknown) -> Result<Ty, KernelError> {
        match ty {
            NumberType::Written(s) => {
                if s == ScalarType::Bool || kind == Unknown::Float && !s.is_float() {
                    return Err(self.scope.damaged(e.span, format!("a number with the suffix {}", s.name())));
                }
                Ok(self.types.scalar(s))
            }
            NumberType::Of(number) => {
                let ElementType::Scalar(s) = *self.scope.structure(e.span, number)? else {
                    return Err(self.scope.damaged(e.span, "a number of a type that is no scalar"));
                };
                self.number(e, NumberType::Written(s), kind)
            }
            NumberType::Inferred(number) => {
                // A number in a loop that is written out stands in each turn, with one type.
                if self.counts
                    && let Some((_, known)) = self.numbers.iter().find(|(of, _)| *of == number)
                {
                    return Ok(*known);
                }
                let ty = self.types.unknown(kind);
                self.numbers.push((number, ty));
                Ok(ty)
            }
        }
    }

    pub(super) fn pair(
        &mut self,
        span: Span,
        a: &'t Expr,
        b: &'t Expr,
        tried: impl FnOnce() -> String,
    ) -> Result<Ty, KernelError> {
        let a = self.expr(a)?;
        let b = self.expr(b)?;
        self.same(span, a, b, tried)?;
        Ok(a)
    }

    pub(super) fn binary(&mut self, span: Span, op: BinaryOp, a: &'t Expr, b: &'t Expr) -> Result<Ty, KernelError> {
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            let left = self.expr(a)?;
            let right = self.expr(b)?;
            self.integer(b, right)?;
            return Ok(left);
        }
        let (a, b) = (self.expr(a)?, self.expr(b)?);
        self.operands(span, op, a, b)
    }

    pub(super) fn integer(&mut self, e: &Expr, ty: Ty) -> Result<(), KernelError> {
        let int = self.types.unknown(Unknown::Int);
        self.same(e.span, ty, int, || "shift by an integer".into())
    }

    pub(super) fn shift(&mut self, span: Span, point: &'t Expr, offset: &'t Expr) -> Result<Ty, KernelError> {
        let point = self.pair(span, point, offset, || "move a point".into())?;
        let axis = self.types.scalar(ScalarType::I64);
        self.later(Pending { span, whole: point, step: Step::Axis, part: axis })?;
        Ok(point)
    }

    pub(super) fn condition(&mut self, cond: &'t Expr) -> Result<(), KernelError> {
        let ty = self.expr(cond)?;
        let want = self.types.scalar(ScalarType::Bool);
        self.same(cond.span, ty, want, || "decide by a condition".into())
    }

    pub(super) fn lazy(&mut self, a: &'t Expr, b: &'t Expr) -> Result<Ty, KernelError> {
        self.condition(a)?;
        let before = self.diverges;
        self.condition(b)?;
        self.diverges = before;
        Ok(self.types.scalar(ScalarType::Bool))
    }

    pub(super) fn cast(&mut self, span: Span, x: &'t Expr, tree: &TypeTree) -> Result<Ty, KernelError> {
        // A literal that takes its type from the cast has been written so by the macro, in both forms.
        let to = self.written(span, tree)?;
        self.expr(x)?;
        Ok(to)
    }

    pub(super) fn branch(
        &mut self,
        span: Span,
        cond: &'t Expr,
        then: &'t Block,
        otherwise: Option<&'t Block>,
    ) -> Result<Ty, KernelError> {
        self.condition(cond)?;
        let before = self.diverges;
        let then_ty = self.block(then)?;
        let then_diverges = std::mem::replace(&mut self.diverges, before);
        let (else_ty, else_diverges) = match otherwise {
            Some(block) => {
                let ty = self.block(block)?;
                (ty, std::mem::replace(&mut self.diverges, before))
            }
            None => (self.types.unit(), before),
        };
        self.diverges = then_diverges && else_diverges;
        self.same(span, then_ty, else_ty, || "give both branches of `if` one type".into())?;
        Ok(then_ty)
    }

    pub(super) fn method(&mut self, span: Span, method: Method, args: &'t [Expr]) -> Result<Ty, KernelError> {
        let name = method.name();
        let Some((receiver, rest)) = args.split_first() else {
            return Err(self.scope.damaged(span, format!("`{name}` without a receiver")));
        };
        if rest.len() != method.args() {
            return Err(self.scope.damaged(span, format!("`{name}` with {} arguments", rest.len())));
        }
        let ty = self.expr(receiver)?;
        let arg_ty = match method.class() {
            MethodClass::FloatInt => self.types.scalar(ScalarType::I32),
            MethodClass::IntU32 => self.types.scalar(ScalarType::U32),
            _ => ty,
        };
        for arg in rest {
            let given = self.expr(arg)?;
            self.same(arg.span, given, arg_ty, || format!("give `{name}` an argument"))?;
        }
        Ok(match method.class() {
            MethodClass::FloatTest => self.types.scalar(ScalarType::Bool),
            MethodClass::IntCount => self.types.scalar(ScalarType::U32),
            _ => ty,
        })
    }

    pub(super) fn call(&mut self, span: Span, number: u32, args: &'t [Expr]) -> Result<Ty, KernelError> {
        let scope = self.scope;
        let callee = scope.function(span, number)?;
        if callee.params.len() != args.len() {
            return Err(scope.damaged(
                span,
                format!("a call of `{}` with {} arguments for {}", callee.name, args.len(), callee.params.len()),
            ));
        }
        for (arg, param) in args.iter().zip(&callee.params) {
            let given = self.expr(arg)?;
            let want = self.types.import(param);
            self.same(arg.span, given, want, || format!("give `{}` an argument", callee.name))?;
        }
        Ok(self.types.import(&callee.result))
    }

    pub(super) fn structure(
        &mut self,
        span: Span,
        number: u32,
        given: &'t [(String, Expr)],
    ) -> Result<Ty, KernelError> {
        let element = self.scope.structure(span, number)?;
        let ElementType::Struct { name, fields } = element else {
            return Err(self.scope.damaged(span, format!("a literal of the struct {element}, which is none")));
        };
        for (n, (field, value)) in given.iter().enumerate() {
            let Some((_, want)) = fields.iter().find(|(f, _)| f == field) else {
                return Err(self.scope.bad_part(value.span, field, element));
            };
            if given[..n].iter().any(|(f, _)| f == field) {
                return Err(self.scope.damaged(value.span, format!("the field `{field}` twice")));
            }
            let ty = self.expr(value)?;
            let want = self.types.import(&Type::of_element(want));
            self.same(value.span, ty, want, || format!("give the field `{field}` of {name} its value"))?;
        }
        if given.len() != fields.len() {
            return Err(self.scope.error(
                span,
                format!("make a {name}"),
                format!("{} of its {} fields", given.len(), fields.len()),
                "name every field once",
            ));
        }
        Ok(self.types.import(&Type::of_element(element)))
    }
}
