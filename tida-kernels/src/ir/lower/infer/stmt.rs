//! Statements and patterns.

use super::super::types::{Ty, Unknown};
use super::Infer;
use crate::element::{ElementType, ScalarType};
use crate::error::KernelError;
use crate::ir::{Access, Span, Type};
use crate::quote::{BinaryOp, Block, Expr, ExprKind, Pattern, Place, Stmt, StmtKind, TypeTree};

impl<'t> Infer<'t, '_> {
    pub(super) fn block(&mut self, block: &'t Block) -> Result<Ty, KernelError> {
        for stmt in &block.stmts {
            self.deeper(stmt.span)?;
            self.stmt(stmt)?;
            self.nesting -= 1;
        }
        match &block.value {
            Some(value) => self.expr(value),
            None if self.diverges => Ok(self.types.any()),
            None => Ok(self.types.unit()),
        }
    }

    pub(super) fn unit_block(&mut self, block: &'t Block, span: Span, what: &str) -> Result<(), KernelError> {
        let given = self.block(block)?;
        let unit = self.types.unit();
        let span = block.value.as_ref().map_or(span, |v| v.span);
        self.same(span, given, unit, || format!("end {what} without a value"))
    }

    pub(super) fn stmt(&mut self, stmt: &'t Stmt) -> Result<(), KernelError> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Let { pattern, ty, init } => self.let_(span, pattern, ty.as_ref(), init.as_ref()),
            StmtKind::Assign { place, op, value } => self.assign(span, place, *op, value),
            StmtKind::Expr(e) => self.expr(e).map(|_| ()),
            StmtKind::For { local, range, body } => {
                let var = self.types.unknown(Unknown::Int);
                for bound in [&range.lo, &range.hi] {
                    let ty = self.expr(bound)?;
                    self.same(bound.span, var, ty, || "give the bounds of `for` one integer type".into())?;
                }
                if let Some(by) = &range.by {
                    let (ty, number) = (self.expr(by)?, self.types.scalar(ScalarType::U64));
                    self.same(by.span, ty, number, || "step by a usize".into())?;
                }
                let local = self.local(span, *local)?;
                self.same(span, local, var, || "give the loop variable the type of its bounds".into())?;
                let before = self.diverges;
                self.loops.push(false);
                self.unit_block(body, span, "a loop's body")?;
                self.loops.pop();
                self.diverges = before;
                Ok(())
            }
            StmtKind::While { cond, body } => {
                self.condition(cond)?;
                let before = self.diverges;
                self.loops.push(false);
                self.unit_block(body, span, "a loop's body")?;
                let left = self.loops.pop().unwrap_or(false);
                self.diverges = before || (matches!(cond.kind, ExprKind::Bool(true)) && !left);
                Ok(())
            }
            StmtKind::Phase { thread, body, .. } => {
                let rank = self.scope.rank.unwrap_or(0);
                let (local, point) = (self.local(span, *thread)?, self.types.point(rank));
                self.same(span, local, point, || "give a thread its type".into())?;
                // Loops around a phase are not the threads' to leave.
                let (before, loops) = (self.diverges, std::mem::take(&mut self.loops));
                self.unit_block(body, span, "a phase")?;
                (self.diverges, self.loops) = (before, loops);
                Ok(())
            }
            StmtKind::Break(between) | StmtKind::Continue(between) => {
                let leaves = matches!(stmt.kind, StmtKind::Break(_));
                match self.loops.iter_mut().rev().nth(*between as usize) {
                    Some(left) => *left |= leaves,
                    None => return Err(self.scope.damaged(span, "`break` or `continue` outside a loop")),
                }
                self.diverges = true;
                Ok(())
            }
            StmtKind::Return(value) => {
                let ty = match value {
                    Some(v) => self.expr(v)?,
                    None => self.types.unit(),
                };
                self.gives(span, ty)?;
                self.diverges = true;
                Ok(())
            }
        }
    }

    pub(super) fn let_(
        &mut self,
        span: Span,
        pattern: &'t Pattern,
        ty: Option<&'t TypeTree>,
        init: Option<&'t Expr>,
    ) -> Result<(), KernelError> {
        let bound = self.pattern(span, pattern)?;
        if let Some(tree) = ty {
            let written = self.written(span, tree)?;
            self.same(span, bound, written, || "give a variable its written type".into())?;
        }
        if let Some(init) = init {
            if matches!(pattern, Pattern::Local(_)) {
                self.placed.insert(init);
            }
            let given = self.expr(init)?;
            self.same(init.span, bound, given, || "give a variable its value".into())?;
        }
        Ok(())
    }

    pub(super) fn pattern(&mut self, span: Span, pattern: &'t Pattern) -> Result<Ty, KernelError> {
        self.deeper(span)?;
        let ty = match pattern {
            Pattern::Local(id) => self.local(span, *id)?,
            Pattern::Ignore => self.types.any(),
            Pattern::Tuple(parts) => {
                let parts = parts.iter().map(|p| self.pattern(span, p)).collect::<Result<_, _>>()?;
                self.types.tuple(parts)
            }
            Pattern::Array(parts) => {
                let entry = self.types.any();
                for part in parts {
                    let ty = self.pattern(span, part)?;
                    self.same(span, entry, ty, || "take an array apart".into())?;
                }
                self.types.array(entry, parts.len())
            }
            Pattern::Struct(number, named) => {
                let element = self.scope.structure(span, *number)?;
                let ElementType::Struct { fields, .. } = element else {
                    return Err(self.scope.damaged(span, format!("a pattern of the struct {element}, which is none")));
                };
                for (name, part) in named {
                    let Some((_, field)) = fields.iter().find(|(field, _)| field == name) else {
                        return Err(self.scope.bad_part(span, name, element));
                    };
                    let (bound, field) = (self.pattern(span, part)?, self.types.import(&Type::of_element(field)));
                    self.same(span, bound, field, || format!("take the field `{name}`"))?;
                }
                self.types.import(&Type::of_element(element))
            }
        };
        self.nesting -= 1;
        Ok(ty)
    }

    pub(super) fn written(&mut self, span: Span, tree: &TypeTree) -> Result<Ty, KernelError> {
        self.deeper(span)?;
        let ty = match tree {
            TypeTree::Scalar(s) => self.types.scalar(*s),
            TypeTree::Array(t, n) => {
                let entry = self.written(span, t)?;
                self.types.array(entry, *n)
            }
            TypeTree::Tuple(ts) => {
                let parts = ts.iter().map(|t| self.written(span, t)).collect::<Result<_, _>>()?;
                self.types.tuple(parts)
            }
            TypeTree::Struct(n) => {
                let ty = Type::of_element(self.scope.structure(span, *n)?);
                self.types.import(&ty)
            }
            TypeTree::Infer => self.types.any(),
            TypeTree::ArrayOf(..) => return Err(self.scope.damaged(span, "a length that is not known")),
        };
        self.nesting -= 1;
        Ok(ty)
    }

    pub(super) fn assign(
        &mut self,
        span: Span,
        place: &'t Place,
        op: Option<BinaryOp>,
        value: &'t Expr,
    ) -> Result<(), KernelError> {
        let place = match place {
            Place::Local { local, path } => {
                let mut ty = self.local(span, *local)?;
                self.assigned[*local as usize] = true;
                for step in path {
                    ty = self.project(span, ty, step)?;
                }
                ty
            }
            Place::Element { arg, index, path } => {
                let bound = self.scope.arg(span, *arg)?;
                if !matches!(bound.access, Access::Write | Access::Shared) {
                    let (what, advice) = match bound.access {
                        Access::All => ("`all(..)`, which is read only", "pass the array written as `&mut`"),
                        Access::Table => ("`table(..)`, which is read only", "write to an array passed as `&mut`"),
                        _ => ("`&`, which is read only", "pass it as `&mut`"),
                    };
                    let name = &bound.name;
                    return Err(self.scope.error(
                        span,
                        format!("write to `{name}`"),
                        format!("that it was passed as {what}"),
                        advice,
                    ));
                }
                self.element(span, *arg, index, path)?
            }
        };
        let given = self.expr(value)?;
        match op {
            None => self.same(value.span, place, given, || "assign a value".into()),
            Some(BinaryOp::Shl | BinaryOp::Shr) => self.integer(value, given),
            Some(op) => {
                let result = self.operands(span, op, place, given)?;
                self.same(value.span, place, result, || format!("assign by `{}=`", op.symbol()))
            }
        }
    }
}
