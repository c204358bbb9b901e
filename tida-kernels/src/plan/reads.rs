//! Reads of a kernel, by the expressions that they are.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::{Analysis, ArrayAccess};
use crate::ir::{Access, Block, Body, ExprId, ExprKind, Kernel, LocalId, Step, Stmt, StmtKind, holds};

/// Reads of one meaning: what stands in two places is the same in both.
pub(crate) struct Reads<'k>(BTreeMap<ExprId, (usize, &'k ArrayAccess)>);

impl<'k> Reads<'k> {
    /// Those of a kernel.
    pub fn of(analysis: &'k Analysis) -> Reads<'k> {
        let mut known: BTreeMap<ExprId, Option<(usize, &ArrayAccess)>> = BTreeMap::new();
        for (arg, usage) in analysis.args.iter().enumerate() {
            for access in usage.accesses.iter().filter(|access| !access.write) {
                let Some(id) = access.expr else { continue };
                let same = |other: &Option<(usize, &ArrayAccess)>| {
                    other.is_some_and(|(n, other)| {
                        n == arg && other.index == access.index && other.loops == access.loops
                    })
                };
                let found = known.get(&id).is_none_or(same).then_some((arg, access));
                known.insert(id, found);
            }
        }
        Reads(known.into_iter().filter_map(|(id, found)| found.map(|found| (id, found))).collect())
    }

    /// The argument that an expression reads, and how; none if it has no one meaning.
    pub fn get(&self, id: ExprId) -> Option<(usize, &'k ArrayAccess)> {
        self.0.get(&id).copied()
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = (ExprId, usize, &'k ArrayAccess)> {
        self.0.iter().map(|(id, (arg, access))| (*id, *arg, *access))
    }

    /// The number of a loop around which there are `depth` others, as the reads in it know it.
    pub fn number(&self, kernel: &Kernel, body: &Block, depth: usize) -> Option<u32> {
        let mut numbers = loads(&kernel.body, body).into_iter().map(|id| self.get(id)?.1.loops.get(depth).copied());
        let first = numbers.next()??;
        numbers.all(|number| number == Some(first)).then_some(first)
    }
}

/// Whether a block assigns a local.
pub(super) fn assigns(block: &Block, local: LocalId) -> bool {
    holds(block, &|kind| match kind {
        StmtKind::Let(of, _) | StmtKind::Assign(of, ..) | StmtKind::For { local: of, .. } => *of == local,
        _ => false,
    })
}

/// The expressions that the statements of a block evaluate, each once.
pub(crate) fn expressions(body: &Body, block: &[Stmt]) -> BTreeSet<ExprId> {
    let mut todo = values(block);
    let mut seen = BTreeSet::new();
    while let Some(id) = todo.pop() {
        let Some(expr) = body.exprs.get(id.0 as usize).filter(|_| seen.insert(id)) else { continue };
        expr.kind.operands(|id| todo.push(id));
    }
    seen
}

/// The expressions that the statements of a block name.
pub(super) fn values(block: &[Stmt]) -> Vec<ExprId> {
    let mut out = Vec::new();
    roots(block, true, &mut out);
    out
}

/// Axes whose coordinates a cell computes with, as bits. To find its place in an array that has the tile's cuts is no
/// such use: it moves along with the cell.
pub(crate) fn coordinates(kernel: &Kernel) -> u8 {
    let (mut todo, mut seen, mut axes) = (Vec::new(), BTreeSet::new(), 0);
    roots(&kernel.body.block, false, &mut todo);
    while let Some(id) = todo.pop() {
        let Some(expr) = kernel.body.exprs.get(id.0 as usize).filter(|_| seen.insert(id)) else { continue };
        match &expr.kind {
            ExprKind::Coordinate(axis) => axes |= 1u8.checked_shl(*axis).unwrap_or(0),
            ExprKind::Load { arg, component, .. } if has_cuts(kernel, *arg) => {
                todo.extend(component.dynamic.iter().map(|d| d.0));
            }
            kind => kind.operands(|id| todo.push(id)),
        }
    }
    axes
}

/// Whether an argument is an array with the tile's cuts.
fn has_cuts(kernel: &Kernel, arg: u32) -> bool {
    let access = kernel.args.get(arg as usize).map(|arg| arg.access);
    matches!(access, Some(Access::Read | Access::Write))
}

/// With `stores`, the indexes of what is written too.
fn roots(block: &[Stmt], stores: bool, out: &mut Vec<ExprId>) {
    for stmt in block {
        match &stmt.kind {
            StmtKind::Let(_, value) => out.extend(value),
            StmtKind::Assign(_, steps, value) => {
                out.push(*value);
                out.extend(steps.iter().filter_map(|step| match step {
                    Step::Entry(index) => Some(*index),
                    Step::Part(_) => None,
                }));
            }
            StmtKind::Store { index, component, value, .. } => {
                out.extend(index.iter().filter(|_| stores));
                out.extend(component.dynamic.iter().map(|d| d.0));
                out.push(*value);
            }
            StmtKind::Eval(value) => out.push(*value),
            StmtKind::Return(value) => out.extend(value),
            StmtKind::If(cond, then, otherwise) => {
                out.push(*cond);
                roots(then, stores, out);
                roots(otherwise, stores, out);
            }
            StmtKind::For { lo, hi, body, .. } => {
                out.extend([lo, hi]);
                roots(body, stores, out);
            }
            StmtKind::While { head, cond, body } => {
                out.push(*cond);
                roots(head, stores, out);
                roots(body, stores, out);
            }
            StmtKind::Phase { body, .. } => roots(body, stores, out),
            StmtKind::Break | StmtKind::Continue => {}
        }
    }
}

/// The reads in a block.
pub(super) fn loads(body: &Body, block: &Block) -> Vec<ExprId> {
    let all = expressions(body, block).into_iter();
    all.filter(|id| matches!(body.exprs[id.0 as usize].kind, ExprKind::Load { .. })).collect()
}
