//! Constant tables: entries whose place is known are numbers.

use std::borrow::Cow;

use super::{Body, Capture, Expr, ExprId, ExprKind, Kernel, Type};
use crate::scalar::Value;

/// The kernel with a number for each entry of a constant table whose place is known.
pub(super) fn put_in(kernel: &mut Kernel) {
    if kernel.captures.iter().all(|capture| capture.known.is_none()) {
        return;
    }
    for id in 0..kernel.body.exprs.len() as u32 {
        let Expr { kind, .. } = &kernel.body[ExprId(id)];
        if let Some(value) = value(&kernel.body, &kernel.captures, kind) {
            kernel.body.exprs[id as usize].kind = ExprKind::Literal(value);
        }
    }
}

impl Kernel {
    /// The captured values with those of constant tables, which come after those that a launch gives; as they are if
    /// they are there.
    pub fn with_tables<'v>(&self, captures: &'v [Value]) -> Cow<'v, [Value]> {
        let all: usize = self.captures.iter().map(|capture| capture.ty.components()).sum();
        let tables = || self.captures.iter().filter_map(Capture::values).flatten();
        match captures.len() < all && captures.len() + tables().count() == all {
            true => captures.iter().copied().chain(tables()).collect(),
            false => Cow::Borrowed(captures),
        }
    }
}

/// The number that an entry of a constant table is.
pub(super) fn value(body: &Body, captures: &[Capture], kind: &ExprKind) -> Option<Value> {
    let (table, n) = match kind {
        ExprKind::Part(whole, n) => (*whole, *n as usize),
        ExprKind::Entry(whole, index) => (*whole, entry(body, *index)?),
        _ => return None,
    };
    let Type::Array(of, len) = &body[table].ty else { return None };
    of.scalar().filter(|_| n < *len)?;
    let (capture, first) = place(body, table)?;
    captures.get(capture as usize)?.values()?.nth(first + n)
}

/// Whether an expression is a constant table, or an array in one.
pub(super) fn is_of_table(body: &Body, captures: &[Capture], id: ExprId) -> bool {
    match body.exprs.get(id.0 as usize).map(|expr| &expr.kind) {
        Some(ExprKind::Capture(n)) => captures.get(*n as usize).is_some_and(|capture| capture.known.is_some()),
        Some(ExprKind::Part(whole, _) | ExprKind::Entry(whole, _)) => is_of_table(body, captures, *whole),
        _ => false,
    }
}

/// The captured value that an array is of, and how many numbers of it come before.
fn place(body: &Body, id: ExprId) -> Option<(u32, usize)> {
    let (whole, n) = match &body.exprs.get(id.0 as usize)?.kind {
        ExprKind::Capture(n) => return Some((*n, 0)),
        ExprKind::Part(whole, n) => (*whole, *n as usize),
        ExprKind::Entry(whole, index) => (*whole, entry(body, *index)?),
        _ => return None,
    };
    let Type::Array(of, len) = &body[whole].ty else { return None };
    let (capture, first) = place(body, whole)?;
    (n < *len).then(|| (capture, first + n * of.components()))
}

fn entry(body: &Body, index: ExprId) -> Option<usize> {
    match body.exprs.get(index.0 as usize)?.kind {
        ExprKind::Literal(value) => value.integer()?.try_into().ok(),
        _ => None,
    }
}
