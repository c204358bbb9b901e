//! Statements.

use super::Lowering;
use crate::error::KernelError;
use crate::ir::{ExprId, LocalId, Span, StmtKind, Type};
use crate::quote::{self, Block, Expr, Pattern, Stmt};

impl<'a> Lowering<'a> {
    /// The whole body of a kernel or function: its value is returned.
    pub fn whole_body(&mut self, block: &'a Block) -> Result<(), KernelError> {
        for stmt in &block.stmts {
            self.stmt(stmt)?;
        }
        let Some(value) = &block.value else { return Ok(()) };
        if self.typed.result == Type::unit() {
            return self.drop_value(value);
        }
        let given = self.expr(value)?;
        self.build.emit(value.span, StmtKind::Return(Some(given)));
        Ok(())
    }

    pub fn stmt(&mut self, stmt: &'a Stmt) -> Result<(), KernelError> {
        let span = stmt.span;
        match &stmt.kind {
            quote::StmtKind::Let { pattern, ty: _, init } => self.let_(span, pattern, init.as_ref()),
            quote::StmtKind::Assign { place, op, value } => self.assign(span, place, *op, value),
            quote::StmtKind::Expr(e) => self.drop_value(e),
            quote::StmtKind::For { local, range, body } => self.each(span, *local, range, body),
            quote::StmtKind::While { cond, body } => {
                self.enter();
                self.build.open();
                let cond = self.expr(cond)?;
                let head = self.build.close();
                let body = self.block(body, None)?;
                self.emit_loop(span, StmtKind::While { head, cond, body });
                Ok(())
            }
            quote::StmtKind::Phase { thread, before, after, body } => {
                let around = super::group::around(self.scope, span, before, after)?;
                // Loops around a phase are not the threads' to leave.
                let loops = std::mem::take(&mut self.loops);
                let body = self.block(body, None)?;
                self.loops = loops;
                self.build.emit(span, StmtKind::Phase { thread: *thread, around, body });
                Ok(())
            }
            quote::StmtKind::Break(between) => self.leave(span, *between, true),
            quote::StmtKind::Continue(between) => self.leave(span, *between, false),
            quote::StmtKind::Return(value) => self.return_(span, value.as_ref()),
        }
    }

    fn return_(&mut self, span: Span, value: Option<&'a Expr>) -> Result<(), KernelError> {
        let value = match value {
            None => None,
            Some(e) if self.typed.result == Type::unit() => {
                self.drop_value(e)?;
                None
            }
            Some(e) => Some(self.expr(e)?),
        };
        self.build.emit(span, StmtKind::Return(value));
        Ok(())
    }

    /// A block of its own; its value goes to `result`, or nowhere.
    pub fn block(&mut self, block: &'a Block, result: Option<LocalId>) -> Result<crate::ir::Block, KernelError> {
        self.build.open();
        for stmt in &block.stmts {
            self.stmt(stmt)?;
        }
        match (&block.value, result) {
            (None, _) => {}
            (Some(value), None) => self.drop_value(value)?,
            (Some(value), Some(result)) => {
                let given = self.expr(value)?;
                self.build.emit(value.span, StmtKind::Assign(result, Vec::new(), given));
            }
        }
        Ok(self.build.close())
    }

    /// `if` whose value goes to `result`, or nowhere.
    pub fn branch(
        &mut self,
        span: Span,
        cond: &'a Expr,
        then: &'a Block,
        otherwise: Option<&'a Block>,
        result: Option<LocalId>,
    ) -> Result<(), KernelError> {
        let cond = self.expr(cond)?;
        let then = self.block(then, result)?;
        let otherwise = match otherwise {
            Some(block) => self.block(block, result)?,
            None => Vec::new(),
        };
        self.build.emit(span, StmtKind::If(cond, then, otherwise));
        Ok(())
    }

    /// The expression for its effects.
    fn drop_value(&mut self, e: &'a Expr) -> Result<(), KernelError> {
        match &e.kind {
            quote::ExprKind::If { cond, then, otherwise } => self.branch(e.span, cond, then, otherwise.as_ref(), None),
            quote::ExprKind::Block(block) => {
                block.stmts.iter().try_for_each(|stmt| self.stmt(stmt))?;
                block.value.as_ref().map_or(Ok(()), |value| self.drop_value(value))
            }
            _ => {
                let value = self.expr(e)?;
                self.build.discard(value);
                Ok(())
            }
        }
    }

    fn let_(&mut self, span: Span, pattern: &'a Pattern, init: Option<&'a Expr>) -> Result<(), KernelError> {
        match (pattern, init) {
            (Pattern::Local(id), Some(init)) => {
                let value = self.expr(init)?;
                self.build.emit(span, StmtKind::Let(*id, Some(value)));
            }
            (Pattern::Ignore, Some(init)) => self.drop_value(init)?,
            (_, Some(init)) => {
                let value = self.expr(init)?;
                self.bind_pattern(span, pattern, value);
            }
            (_, None) => self.declare(span, pattern),
        }
        Ok(())
    }

    fn declare(&mut self, span: Span, pattern: &Pattern) {
        match pattern {
            Pattern::Local(id) => self.build.emit(span, StmtKind::Let(*id, None)),
            Pattern::Ignore => {}
            Pattern::Tuple(parts) | Pattern::Array(parts) => parts.iter().for_each(|part| self.declare(span, part)),
            Pattern::Struct(_, fields) => fields.iter().for_each(|(_, part)| self.declare(span, part)),
        }
    }

    fn bind_pattern(&mut self, span: Span, pattern: &Pattern, value: ExprId) {
        match pattern {
            Pattern::Local(id) => self.build.emit(span, StmtKind::Let(*id, Some(value))),
            Pattern::Ignore => self.build.discard(value),
            Pattern::Tuple(parts) | Pattern::Array(parts) => {
                let values = self.build.parts(value);
                for (part, value) in parts.iter().zip(values) {
                    self.bind_pattern(span, part, value);
                }
            }
            Pattern::Struct(_, named) => {
                let Type::Struct(_, fields) = self.build.ty(value).clone() else { return };
                let values = self.build.parts(value);
                // What is not named is read all the same, as where a whole struct is bound.
                for ((field, _), value) in fields.iter().zip(values) {
                    match named.iter().find(|(name, _)| name == field) {
                        Some((_, part)) => self.bind_pattern(span, part, value),
                        None => self.build.discard(value),
                    }
                }
            }
        }
    }
}
