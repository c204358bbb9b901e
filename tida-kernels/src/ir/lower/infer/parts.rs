//! Cells of arguments, and parts of values, which may have to wait until the whole is known.

use super::super::complex;
use super::super::types::{Shape, Ty, Unknown};
use super::{Infer, Pending, Step};
use crate::element::ScalarType;
use crate::error::KernelError;
use crate::ir::{Access, Span, Type};
use crate::quote::{BinaryOp, Expr, Projection};

impl<'t> Infer<'t, '_> {
    /// The type of a cell of an argument, or of a part of it.
    pub(super) fn element(
        &mut self,
        span: Span,
        number: u32,
        index: &'t Expr,
        path: &'t [Projection],
    ) -> Result<Ty, KernelError> {
        let arg = self.scope.arg(span, number)?;
        let name = &arg.name;
        let given = self.expr(index)?;
        if arg.access == Access::Table {
            let want = self.types.scalar(ScalarType::U64);
            self.same(index.span, given, want, || format!("index the table `{name}` by a usize"))?;
        } else {
            if let Shape::Array(_, axes) = self.types.shape(given)
                && axes != arg.rank
            {
                return Err(self.scope.error(
                    index.span,
                    format!("index `{name}`"),
                    format!("a point of {axes} axes where the array has {}", arg.rank),
                    "give one coordinate for each axis of the array",
                ));
            }
            let want = self.types.point(arg.rank);
            self.same(index.span, given, want, || format!("index `{name}` by a point"))?;
        }
        let mut ty = self.types.import(&Type::of_element(&arg.element));
        for step in path {
            ty = self.project(span, ty, step)?;
        }
        Ok(ty)
    }

    pub(super) fn project(&mut self, span: Span, whole: Ty, step: &'t Projection) -> Result<Ty, KernelError> {
        if let Projection::Index(index) = step {
            let given = self.expr(index)?;
            let want = self.types.scalar(ScalarType::U64);
            self.same(index.span, given, want, || "index a fixed-size array by a usize".into())?;
        }
        let part = self.types.any();
        self.later(Pending { span, whole, step: Step::Projection(step), part })?;
        Ok(part)
    }

    /// Finds the part, or remembers to.
    pub(super) fn later(&mut self, pending: Pending<'t>) -> Result<(), KernelError> {
        if !self.try_part(&pending)? {
            self.pending.push(pending);
        }
        Ok(())
    }

    pub(super) fn settle(&mut self) -> Result<(), KernelError> {
        loop {
            let waiting = std::mem::take(&mut self.pending);
            let before = waiting.len();
            for pending in waiting {
                self.later(pending)?;
            }
            if self.pending.is_empty() {
                return Ok(());
            }
            if self.pending.len() == before {
                // Nothing more is known of the sides of an operator: they are of one type.
                let of_one_type = self.pending.iter().position(|p| matches!(p.step, Step::Operator(..)));
                if let Some(p) = of_one_type.map(|n| self.pending.remove(n))
                    && let Step::Operator(op, right) = p.step
                {
                    self.of_one_type(p.span, op, p.whole, right, p.part)?;
                    continue;
                }
                let span = self.pending[0].span;
                return Err(self.scope.error(
                    span,
                    "take a part of a value",
                    "that its type is not known",
                    "write the type where the variable is declared",
                ));
            }
        }
    }

    /// The type of `a op b`: one type for all three, or one side is complex and the other of its parts' type.
    pub(super) fn operands(&mut self, span: Span, op: BinaryOp, a: Ty, b: Ty) -> Result<Ty, KernelError> {
        let mixes = matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div);
        let result = self.types.any();
        match mixes {
            true => self.later(Pending { span, whole: a, step: Step::Operator(op, b), part: result })?,
            false => self.of_one_type(span, op, a, b, result)?,
        }
        Ok(result)
    }

    fn of_one_type(&mut self, span: Span, op: BinaryOp, a: Ty, b: Ty, result: Ty) -> Result<(), KernelError> {
        let tried = || format!("give both sides of `{}` one type", op.symbol());
        self.same(span, a, b, tried)?;
        self.same(span, a, result, tried)
    }

    /// Whether it is known of both sides of an operator whether they are of one type.
    fn try_operator(&mut self, span: Span, op: BinaryOp, [a, b, result]: [Ty; 3]) -> Result<bool, KernelError> {
        let part = |shape: &Shape| match shape {
            Shape::Struct(name, _) => complex::parts_of(name),
            _ => None,
        };
        let any = |shape: &Shape| matches!(shape, Shape::Unknown(Unknown::Any));
        let (left, right) = (self.types.shape(a), self.types.shape(b));
        let (whole, real, of) = match (part(&left), part(&right)) {
            (Some(of), None) if !any(&right) => (a, b, of),
            (None, Some(of)) if !any(&left) => (b, a, of),
            (left_part, right_part) if left_part.is_some() != right_part.is_some() => return Ok(false),
            (None, None) if (any(&left) || any(&right)) && a != b => return Ok(false),
            _ => return self.of_one_type(span, op, a, b, result).map(|()| true),
        };
        let of = self.types.scalar(of);
        let tried = || format!("give `{}` a complex number and a real one of the type of its parts", op.symbol());
        self.same(span, real, of, tried)?;
        self.same(span, whole, result, tried)?;
        Ok(true)
    }

    pub(super) fn try_part(&mut self, p: &Pending<'t>) -> Result<bool, KernelError> {
        if let Step::Operator(op, right) = p.step {
            return self.try_operator(p.span, op, [p.whole, right, p.part]);
        }
        let found = match (self.types.shape(p.whole), &p.step) {
            (Shape::Unknown(Unknown::Any), _) => return Ok(false),
            (Shape::Array(entry, _), Step::Axis | Step::Projection(Projection::Index(_))) => Some(entry),
            (Shape::Tuple(parts), Step::Projection(Projection::Tuple(n))) => parts.get(*n as usize).copied(),
            (Shape::Struct(_, fields), Step::Projection(Projection::Field(name))) => {
                fields.iter().find(|(f, _)| f == name).map(|(_, t)| *t)
            }
            _ => None,
        };
        match (found, &p.step) {
            (Some(found), _) => self.same(p.span, found, p.part, || "take a part of a value".into())?,
            (None, Step::Axis) => {
                let found = format!("a value of type {}", self.types.describe(p.whole));
                return Err(self.scope.error(p.span, "move a point", found, "add a point to a point"));
            }
            (None, Step::Operator(..)) => return Ok(false),
            (None, Step::Projection(step)) => {
                let part = match step {
                    Projection::Field(name) => format!(".{name}"),
                    Projection::Tuple(n) => format!(".{n}"),
                    Projection::Index(_) => "[..]".into(),
                };
                return Err(self.scope.bad_part(p.span, &part, &self.types.describe(p.whole)));
            }
        }
        Ok(true)
    }
}
