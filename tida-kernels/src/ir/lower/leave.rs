//! `break` and `continue`, of loops further out too: each loop on the way is left by a `break` of its own, and a flag
//! says what comes after it.

use super::Lowering;
use crate::element::ScalarType;
use crate::error::KernelError;
use crate::ir::{ExprKind, LocalId, Span, StmtKind, Type};
use crate::scalar::Value;

/// A loop that is being written.
#[derive(Debug, Default)]
pub(super) struct Around {
    /// Where its body goes to further out, with the flag that says so.
    flags: Vec<(Target, LocalId)>,
}

/// Where a `break` or a `continue` goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Target {
    /// The loop, counted from the outermost.
    to: usize,
    /// `break`.
    leaves: bool,
}

impl Lowering<'_> {
    /// Enters a loop; [`Lowering::emit_loop`] leaves it.
    pub fn enter(&mut self) {
        self.loops.push(Around::default());
    }

    /// `break` or `continue` of the loop that has so many between it and this.
    pub fn leave(&mut self, span: Span, between: u32, leaves: bool) -> Result<(), KernelError> {
        let Some(to) = self.loops.len().checked_sub(between as usize + 1) else {
            return Err(self.scope.damaged(span, "`break` or `continue` outside a loop"));
        };
        self.go_to(span, Target { to, leaves });
        Ok(())
    }

    fn go_to(&mut self, span: Span, target: Target) {
        if target.to + 1 == self.loops.len() {
            let kind = if target.leaves { StmtKind::Break } else { StmtKind::Continue };
            return self.build.emit(span, kind);
        }
        let Some(around) = self.loops.last_mut() else { return };
        let known = around.flags.iter().find(|(of, _)| *of == target).map(|(_, flag)| *flag);
        let flag = known.unwrap_or_else(|| {
            let flag = self.build.temporary("left", Type::Scalar(ScalarType::Bool));
            around.flags.push((target, flag));
            flag
        });
        let yes = self.build.literal(span, Value::Bool(true));
        self.build.emit(span, StmtKind::Assign(flag, Vec::new(), yes));
        self.build.emit(span, StmtKind::Break);
    }

    /// Writes a loop, and where it goes to further out.
    pub fn emit_loop(&mut self, span: Span, kind: StmtKind) {
        let flags = self.loops.pop().unwrap_or_default().flags;
        for (_, flag) in &flags {
            let no = self.build.literal(span, Value::Bool(false));
            self.build.emit(span, StmtKind::Let(*flag, Some(no)));
        }
        self.build.emit(span, kind);
        for (target, flag) in flags {
            self.build.open();
            self.go_to(span, target);
            let then = self.build.close();
            let left = self.build.push(span, Type::Scalar(ScalarType::Bool), ExprKind::Local(flag));
            self.build.emit(span, StmtKind::If(left, then, Vec::new()));
        }
    }
}
