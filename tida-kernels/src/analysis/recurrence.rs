//! How long a cell of a sweep with an order waits for the cells before it.

use crate::ir::{Access, BinaryOp, Block, Body, ExprId, ExprKind, Kernel, Method, StmtKind, has_loop};

/// Cycles of a sum, a difference or a product, about.
const SUM: u32 = 4;
/// Of a quotient or a root.
const QUOTIENT: u32 = 13;
/// Of a function or a loop: more than any count of sums that matters.
const LONG: u32 = 50;

/// About how many cycles pass in a cell from what it reads of an array that it writes to what it writes: the longest
/// way. A processor can do nothing else for the line meanwhile.
pub fn latency(kernel: &Kernel) -> u32 {
    if has_loop(&kernel.body.block) {
        return LONG;
    }
    let body = &kernel.body;
    let mut walk = Walk { kernel, body, locals: vec![None; body.locals.len()], longest: 0 };
    walk.block(&body.block, None);
    walk.longest
}

/// After how many cycles a value is there; none of what waits for nothing.
type After = Option<u32>;

struct Walk<'a> {
    kernel: &'a Kernel,
    body: &'a Body,
    locals: Vec<After>,
    longest: u32,
}

impl Walk<'_> {
    /// A block that runs if a value says so.
    fn block(&mut self, block: &Block, decided: After) {
        for stmt in block {
            match &stmt.kind {
                StmtKind::Let(local, value) => {
                    let after = value.and_then(|value| self.after(value));
                    self.keep(*local as usize, after.max(decided), true);
                }
                StmtKind::Assign(local, steps, value) => {
                    let after = self.after(*value).max(decided);
                    self.keep(*local as usize, after, steps.is_empty() && decided.is_none());
                }
                StmtKind::Store { value, .. } => {
                    let after = self.after(*value).max(decided);
                    self.longest = self.longest.max(after.unwrap_or(0));
                }
                StmtKind::If(condition, then, otherwise) => {
                    let decided = self.after(*condition).map(|after| after + 1).max(decided);
                    // What one arm assigns may be what the other one left.
                    let before = self.locals.clone();
                    self.block(then, decided);
                    let kept = std::mem::replace(&mut self.locals, before);
                    self.block(otherwise, decided);
                    self.locals.iter_mut().zip(kept).for_each(|(local, other)| *local = (*local).max(other));
                }
                _ => {}
            }
        }
    }

    fn keep(&mut self, local: usize, after: After, alone: bool) {
        if let Some(kept) = self.locals.get_mut(local) {
            *kept = if alone { after } else { (*kept).max(after) };
        }
    }

    fn after(&self, id: ExprId) -> After {
        let kind = &self.body[id].kind;
        let is_written = |arg: u32| self.kernel.args.get(arg as usize).is_some_and(|arg| arg.access == Access::Write);
        let mut last = match kind {
            ExprKind::Load { arg, .. } if is_written(*arg) => Some(0),
            ExprKind::Local(local) => self.locals.get(*local as usize).copied().flatten(),
            _ => None,
        };
        kind.operands(|operand| last = last.max(self.after(operand)));
        let takes = match kind {
            ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, ..) => QUOTIENT,
            ExprKind::Binary(..) => SUM,
            ExprKind::Unary(..) | ExprKind::Compare(..) | ExprKind::Cast(_) => 1,
            ExprKind::Method(Method::Sqrt | Method::Recip | Method::DivEuclid | Method::RemEuclid, _) => QUOTIENT,
            ExprKind::Method(method, _) if method.is_exact() => SUM,
            ExprKind::Method(..) | ExprKind::Call(..) => LONG,
            _ => 0,
        };
        last.map(|last| last.saturating_add(takes))
    }
}
