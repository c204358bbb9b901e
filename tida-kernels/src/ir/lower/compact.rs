//! Drops the expressions that no statement uses.

use crate::ir::{Block, Body, Component, Expr, ExprId, ExprKind, Step, Stmt, StmtKind};

/// The body with only the expressions its statements use, operands before what uses them.
pub(in crate::ir) fn compact(body: &Body) -> Body {
    let mut copy = Copy { from: body, to: Vec::new(), moved: vec![None; body.exprs.len()] };
    let block = copy.block(&body.block);
    Body { locals: body.locals.clone(), exprs: copy.to, block }
}

struct Copy<'a> {
    from: &'a Body,
    to: Vec<Expr>,
    moved: Vec<Option<ExprId>>,
}

impl Copy<'_> {
    fn block(&mut self, block: &Block) -> Block {
        block.iter().map(|stmt| Stmt { span: stmt.span, kind: self.stmt(&stmt.kind) }).collect()
    }

    fn stmt(&mut self, kind: &StmtKind) -> StmtKind {
        match kind {
            StmtKind::Let(local, value) => StmtKind::Let(*local, value.map(|v| self.expr(v))),
            StmtKind::Assign(local, steps, value) => {
                let steps = steps
                    .iter()
                    .map(|step| match step {
                        Step::Part(n) => Step::Part(*n),
                        Step::Entry(index) => Step::Entry(self.expr(*index)),
                    })
                    .collect();
                StmtKind::Assign(*local, steps, self.expr(*value))
            }
            StmtKind::Store { arg, index, component, value } => StmtKind::Store {
                arg: *arg,
                index: self.all(index),
                component: self.component(component),
                value: self.expr(*value),
            },
            StmtKind::Eval(value) => StmtKind::Eval(self.expr(*value)),
            StmtKind::If(cond, then, otherwise) => {
                StmtKind::If(self.expr(*cond), self.block(then), self.block(otherwise))
            }
            StmtKind::For { local, lo, hi, inclusive, body } => StmtKind::For {
                local: *local,
                lo: self.expr(*lo),
                hi: self.expr(*hi),
                inclusive: *inclusive,
                body: self.block(body),
            },
            StmtKind::While { head, cond, body } => {
                StmtKind::While { head: self.block(head), cond: self.expr(*cond), body: self.block(body) }
            }
            StmtKind::Phase { thread, around, body } => {
                StmtKind::Phase { thread: *thread, around: around.clone(), body: self.block(body) }
            }
            StmtKind::Break => StmtKind::Break,
            StmtKind::Continue => StmtKind::Continue,
            StmtKind::Return(value) => StmtKind::Return(value.map(|v| self.expr(v))),
        }
    }

    fn all(&mut self, ids: &[ExprId]) -> Vec<ExprId> {
        ids.iter().map(|id| self.expr(*id)).collect()
    }

    fn component(&mut self, component: &Component) -> Component {
        let dynamic = component.dynamic.iter().map(|(id, stride, len)| (self.expr(*id), *stride, *len)).collect();
        Component { base: component.base, dynamic }
    }

    fn expr(&mut self, id: ExprId) -> ExprId {
        if let Some(moved) = self.moved[id.0 as usize] {
            return moved;
        }
        let Expr { ty, span, kind } = &self.from[id];
        let kind = match kind {
            ExprKind::Literal(_) | ExprKind::Capture(_) | ExprKind::Coordinate(_) | ExprKind::Local(_) => kind.clone(),
            ExprKind::Load { arg, index, component } => {
                ExprKind::Load { arg: *arg, index: self.all(index), component: self.component(component) }
            }
            ExprKind::Unary(op, x) => ExprKind::Unary(*op, self.expr(*x)),
            ExprKind::Cast(x) => ExprKind::Cast(self.expr(*x)),
            ExprKind::Decode(codec, x) => ExprKind::Decode(*codec, self.expr(*x)),
            ExprKind::Encode { codec, value, counted } => {
                ExprKind::Encode { codec: *codec, value: self.expr(*value), counted: *counted }
            }
            ExprKind::Part(x, n) => ExprKind::Part(self.expr(*x), *n),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, self.expr(*a), self.expr(*b)),
            ExprKind::Compare(op, a, b) => ExprKind::Compare(*op, self.expr(*a), self.expr(*b)),
            ExprKind::And(a, b) => ExprKind::And(self.expr(*a), self.expr(*b)),
            ExprKind::Or(a, b) => ExprKind::Or(self.expr(*a), self.expr(*b)),
            ExprKind::Entry(a, b) => ExprKind::Entry(self.expr(*a), self.expr(*b)),
            ExprKind::Method(method, args) => ExprKind::Method(*method, self.all(args)),
            ExprKind::Call(n, args) => ExprKind::Call(*n, self.all(args)),
            ExprKind::Construct(parts) => ExprKind::Construct(self.all(parts)),
        };
        self.to.push(Expr { ty: ty.clone(), span: *span, kind });
        let moved = ExprId((self.to.len() - 1) as u32);
        self.moved[id.0 as usize] = Some(moved);
        moved
    }
}
