//! Constant tables: entries whose place is known are numbers.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::unroll::each_stmt;
use super::{Body, Capture, Expr, ExprId, ExprKind, Kernel, LocalId, StmtKind, Type};
use crate::scalar::Value;

/// The kernel with a number for each entry of a constant table whose place is known.
pub(super) fn put_in(kernel: &mut Kernel) {
    if kernel.captures.iter().all(|capture| capture.known.is_none()) {
        return;
    }
    let held = held(&kernel.body);
    for id in 0..kernel.body.exprs.len() as u32 {
        let Expr { kind, .. } = &kernel.body[ExprId(id)];
        if let Some(value) = value_with(&kernel.body, &kernel.captures, kind, &held) {
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

/// The arrays in constant tables whose place is known that locals hold, which are set by their `let` alone: where a
/// kernel takes a velocity of a lattice (`at - WAYS[n]`) it is such a local.
fn held(body: &Body) -> Held {
    let (mut lets, mut assigned) = (Vec::new(), HashSet::new());
    each_stmt(&body.block, &mut |kind| match kind {
        StmtKind::Let(local, Some(value)) => lets.push((*local, *value)),
        StmtKind::Let(local, None) | StmtKind::Assign(local, ..) => {
            assigned.insert(*local);
        }
        _ => {}
    });
    let (mut held, mut seen) = (Held::new(), HashSet::new());
    for (local, value) in lets {
        if !seen.insert(local) || assigned.contains(&local) {
            held.remove(&local);
        } else if let Some(place) = place(body, value, &held).filter(|_| matches!(body[value].ty, Type::Array(..))) {
            held.insert(local, place);
        }
    }
    held
}

/// The captured value that an array which a local holds is of, and how many numbers of it come before.
type Held = HashMap<LocalId, (u32, usize)>;

/// The number that an entry of a constant table is.
pub(super) fn value(body: &Body, captures: &[Capture], kind: &ExprKind) -> Option<Value> {
    value_with(body, captures, kind, &Held::new())
}

/// The same where locals hold some of its arrays.
fn value_with(body: &Body, captures: &[Capture], kind: &ExprKind, held: &Held) -> Option<Value> {
    let (table, n) = match kind {
        ExprKind::Part(whole, n) => (*whole, *n as usize),
        ExprKind::Entry(whole, index) => (*whole, entry(body, *index)?),
        _ => return None,
    };
    let Type::Array(of, len) = &body[table].ty else { return None };
    of.scalar().filter(|_| n < *len)?;
    let (capture, first) = place(body, table, held)?;
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
fn place(body: &Body, id: ExprId, held: &Held) -> Option<(u32, usize)> {
    let (whole, n) = match &body.exprs.get(id.0 as usize)?.kind {
        ExprKind::Capture(n) => return Some((*n, 0)),
        ExprKind::Local(local) => return held.get(local).copied(),
        ExprKind::Part(whole, n) => (*whole, *n as usize),
        ExprKind::Entry(whole, index) => (*whole, entry(body, *index)?),
        _ => return None,
    };
    let Type::Array(of, len) = &body[whole].ty else { return None };
    let (capture, first) = place(body, whole, held)?;
    (n < *len).then(|| (capture, first + n * of.components()))
}

fn entry(body: &Body, index: ExprId) -> Option<usize> {
    match body.exprs.get(index.0 as usize)?.kind {
        ExprKind::Literal(value) => value.integer()?.try_into().ok(),
        _ => None,
    }
}
