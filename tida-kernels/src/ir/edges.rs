//! A sweep, and kernels that set ghosts beside what it leaves, as one kernel: who computes the last cell of a row sets
//! the ghost beside it, while the value is at hand.

use super::merge::append;
use super::{
    Access, BinaryOp, Body, Capture, CompareOp, Expr, ExprId, ExprKind, Kernel, Local, LocalId, Span, Stmt, StmtKind,
    Type, holds,
};
use crate::analysis::{Analysis, IndexForm, NormalForm, Symbol};
use crate::element::ScalarType;
use crate::scalar::Value;

/// A kernel that sets the ghosts beside the cells at one end of the last axis.
#[derive(Clone, Copy, Debug)]
pub struct Edge<'a> {
    /// Its kernel, over those ghosts. It has one argument.
    pub kernel: &'a Kernel,
    /// From a ghost to the cell beside it along the last axis: 1 at the low end, -1 at the high one.
    pub inwards: i64,
}

/// Whether a kernel over ghosts reads no cell but the one so far `inwards` along the last axis, of the array that it
/// sets, its only argument.
pub fn reads_beside(kernel: &Kernel, analysis: &Analysis, inwards: i64) -> bool {
    let [(arg, usage)] = kernel.args.iter().zip(&analysis.args).collect::<Vec<_>>()[..] else { return false };
    let last = kernel.rank.saturating_sub(1);
    let beside = |(axis, form): (usize, &IndexForm)| {
        let terms = vec![(Symbol::At(axis as u32), 1)];
        *form == IndexForm::Affine(NormalForm { constant: if axis == last { inwards } else { 0 }, terms })
    };
    let near = usage.accesses.iter().all(|one| match one.write {
        true => one.at_cell,
        false => one.index.len() == kernel.rank && one.index.iter().enumerate().all(beside),
    });
    let plain = analysis.complete && !analysis.may_fault && !analysis.counts;
    arg.access == Access::Write && arg.rank == kernel.rank && usage.must_write && near && plain
}

/// A sweep that writes its argument `written` in each cell of a domain, and then has each cell at an end of the last
/// axis set the ghost beside it as these kernels would: nothing if they cannot be one.
///
/// Its captured values are those of all, the sweep's first; then comes for each edge the coordinate of its cells along
/// the last axis (`i64`).
pub fn with_edges(sweep: &Kernel, written: usize, edges: &[Edge<'_>]) -> Option<Kernel> {
    let ends = |kernel: &Kernel| holds(&kernel.body.block, &|kind| matches!(kind, StmtKind::Return(_)));
    let array = sweep.args.get(written).filter(|arg| arg.access == Access::Write)?;
    let fits = |edge: &Edge<'_>| {
        let alike = edge.kernel.rank == sweep.rank && edge.kernel.result == Type::unit() && edge.kernel.group.is_none();
        let same = edge.kernel.args.first().is_some_and(|arg| arg.element == array.element && arg.rank == array.rank);
        alike && same && !ends(edge.kernel)
    };
    if sweep.result != Type::unit() || sweep.group.is_some() || ends(sweep) || !edges.iter().all(fits) {
        return None;
    }
    let mut made = sweep.clone();
    let last = sweep.rank.checked_sub(1)? as u32;
    let mut blocks = Vec::with_capacity(edges.len());
    let first = made.body.exprs.len();
    for edge in edges {
        let first = made.body.exprs.len();
        let block = append(&mut made, edge.kernel, vec![written as u32]);
        // The cell of the sweep is so far inwards of the ghost.
        outwards(&mut made.body, first, last, -edge.inwards);
        blocks.push(block);
    }
    let mut ends = beside(&mut made.body, (first, sweep.rank as u32), written as u32);
    let (long, bool) = (Type::Scalar(ScalarType::I64), Type::Scalar(ScalarType::Bool));
    let mut at_any: Option<ExprId> = None;
    for (number, block) in blocks.into_iter().enumerate() {
        let capture = made.captures.len() as u32;
        made.captures.push(Capture::of_launch(format!("edge{number}"), long.clone()));
        let span = block.first().map_or_else(Span::default, |stmt| stmt.span);
        let mut push = |ty: &Type, kind: ExprKind| push(&mut made.body, ty, span, kind);
        let (at, edge) = (push(&long, ExprKind::Coordinate(last)), push(&long, ExprKind::Capture(capture)));
        let is_at = push(&bool, ExprKind::Compare(CompareOp::Eq, at, edge));
        at_any = Some(at_any.map_or(is_at, |others| push(&bool, ExprKind::Or(others, is_at))));
        ends.push(Stmt { span, kind: StmtKind::If(is_at, block, Vec::new()) });
    }
    let span = ends.first().map_or_else(Span::default, |stmt| stmt.span);
    made.body.block.push(Stmt { span, kind: StmtKind::If(at_any?, ends, Vec::new()) });
    Some(made)
}

/// Has the expressions from `first` on read what the sweep has left of its cell once, before any ghost is set: then
/// compilers take the value that the sweep stored, and read no memory. Gives the statements that do it.
fn beside(body: &mut Body, (first, rank): (usize, u32), written: u32) -> Vec<Stmt> {
    let mut known: Vec<(u32, LocalId)> = Vec::new();
    let mut reads = Vec::new();
    for number in first..body.exprs.len() {
        let Expr { ty, span, kind: ExprKind::Load { arg, component, .. } } = &body.exprs[number] else { continue };
        if *arg != written || !component.dynamic.is_empty() {
            continue;
        }
        let (ty, span, component) = (ty.clone(), *span, component.clone());
        let local = known.iter().find(|(base, _)| *base == component.base).map(|(_, local)| *local);
        let local = local.unwrap_or_else(|| {
            let local = body.locals.len() as LocalId;
            body.locals.push(Local { name: format!("_beside{}", component.base), ty: ty.clone() });
            known.push((component.base, local));
            let long = Type::Scalar(ScalarType::I64);
            let index = (0..rank).map(|axis| push(body, &long, span, ExprKind::Coordinate(axis))).collect();
            let value = push(body, &ty, span, ExprKind::Load { arg: written, index, component });
            reads.push(Stmt { span, kind: StmtKind::Let(local, Some(value)) });
            local
        });
        body.exprs[number].kind = ExprKind::Local(local);
    }
    reads
}

fn push(body: &mut Body, ty: &Type, span: Span, kind: ExprKind) -> ExprId {
    body.exprs.push(Expr { ty: ty.clone(), span, kind });
    ExprId(body.exprs.len() as u32 - 1)
}

/// Has the expressions from `first` on mean a cell so far along an axis when they say `at`.
fn outwards(body: &mut Body, first: usize, axis: u32, by: i64) {
    for number in first..body.exprs.len() {
        let Expr { ty, span, kind: ExprKind::Coordinate(of) } = &body.exprs[number] else { continue };
        if *of != axis {
            continue;
        }
        let (ty, span) = (ty.clone(), *span);
        let at = push(body, &ty, span, ExprKind::Coordinate(axis));
        let by = push(body, &ty, span, ExprKind::Literal(Value::from_bits(ScalarType::I64, by as u64)));
        body.exprs[number].kind = ExprKind::Binary(BinaryOp::Add, at, by);
    }
}
