//! Going over all expressions and statements of a tree.

use super::{Block, Expr, ExprKind, LocalId, Pattern, Place, Projection, Stmt, StmtKind};

/// The locals that a pattern binds.
pub fn bound(pattern: &Pattern, locals: &mut Vec<LocalId>) {
    match pattern {
        Pattern::Local(local) => locals.push(*local),
        Pattern::Ignore => {}
        Pattern::Tuple(list) | Pattern::Array(list) => list.iter().for_each(|inner| bound(inner, locals)),
        Pattern::Struct(_, fields) => fields.iter().for_each(|(_, inner)| bound(inner, locals)),
    }
}

/// What is done at each expression and statement of a part of a body, outermost first.
#[allow(missing_debug_implementations)]
pub struct Walk<'a> {
    /// At each expression.
    pub expr: &'a mut dyn FnMut(&Expr),
    /// At each statement; whether to go on inside it.
    pub stmt: &'a mut dyn FnMut(&Stmt) -> bool,
}

impl Walk<'_> {
    /// Walks a statement.
    pub fn stmt(&mut self, stmt: &Stmt) {
        if !(self.stmt)(stmt) {
            return;
        }
        match &stmt.kind {
            StmtKind::Let { init, .. } => init.iter().for_each(|init| self.expr(init)),
            StmtKind::Assign { place, value, .. } => {
                let (index, path) = match place {
                    Place::Local { path, .. } => (None, path),
                    Place::Element { index, path, .. } => (Some(index), path),
                };
                index.into_iter().for_each(|index| self.expr(index));
                self.path(path);
                self.expr(value);
            }
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::For { range, body, .. } => {
                range.parts().for_each(|part| self.expr(part));
                self.block(body);
            }
            StmtKind::While { cond, body } => {
                self.expr(cond);
                self.block(body);
            }
            StmtKind::Phase { body, .. } => self.block(body),
            StmtKind::Return(value) => value.iter().for_each(|value| self.expr(value)),
            StmtKind::Break(_) | StmtKind::Continue(_) => {}
        }
    }

    /// Walks a block.
    pub fn block(&mut self, block: &Block) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
        block.value.iter().for_each(|value| self.expr(value));
    }

    fn path(&mut self, path: &[Projection]) {
        for part in path {
            if let Projection::Index(entry) = part {
                self.expr(entry);
            }
        }
    }

    /// Walks an expression.
    pub fn expr(&mut self, expr: &Expr) {
        (self.expr)(expr);
        match &expr.kind {
            ExprKind::Int(..)
            | ExprKind::Float(..)
            | ExprKind::Bool(_)
            | ExprKind::Local(_)
            | ExprKind::Capture(_)
            | ExprKind::Constant(_)
            | ExprKind::At => {}
            ExprKind::Load { index, path, .. } => {
                self.expr(index);
                self.path(path);
            }
            ExprKind::Unary(_, x)
            | ExprKind::Cast(x, _)
            | ExprKind::Repeat(x, _)
            | ExprKind::RepeatOf(x, _)
            | ExprKind::Unit(x)
            | ExprKind::Length(x) => self.expr(x),
            ExprKind::Binary(_, a, b)
            | ExprKind::Compare(_, a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b)
            | ExprKind::Shift { point: a, offset: b, .. } => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::If { cond, then, otherwise } => {
                self.expr(cond);
                self.block(then);
                otherwise.iter().for_each(|block| self.block(block));
            }
            ExprKind::Block(block) => self.block(block),
            ExprKind::Method(_, list)
            | ExprKind::Call(_, list)
            | ExprKind::Invoke(_, list)
            | ExprKind::Tuple(list)
            | ExprKind::Array(list) => {
                list.iter().for_each(|e| self.expr(e));
            }
            ExprKind::Struct(_, fields) => fields.iter().for_each(|(_, value)| self.expr(value)),
            ExprKind::Project(base, part) => {
                self.expr(base);
                self.path(std::slice::from_ref(part));
            }
        }
    }
}
