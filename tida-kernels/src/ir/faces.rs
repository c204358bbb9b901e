//! A sweep, and kernels that set ghosts beside what it leaves, as one kernel: who computes the last cell of a row sets
//! the ghost beside it, while the value is at hand.

use super::merge::append;
use super::{
    Access, Arg, BinaryOp, Body, Capture, CompareOp, Expr, ExprId, ExprKind, Kernel, Local, LocalId, Span, Stmt,
    StmtKind, Type, holds,
};
use crate::analysis::{Analysis, IndexForm, NormalForm, Symbol};
use crate::element::ScalarType;
use crate::scalar::Value;

/// A kernel that sets the ghosts beside the cells at one end of the last axis.
#[derive(Clone, Copy, Debug)]
pub struct FaceKernel<'a> {
    /// Its kernel, over those ghosts. It has one argument.
    pub kernel: &'a Kernel,
    /// From a ghost to the cell beside it along the last axis: 1 at the low end, -1 at the high one.
    pub inwards: i64,
}

/// The furthest cell inwards that [`reads_inwards`] knows.
const FURTHEST: i64 = 2;

/// Where a kernel over ghosts reads, along the axis that its face is across.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inwards {
    /// So many cells inwards of the ghost.
    By(i64),
    /// The cell at this number less the ghost's coordinate: where that is the cell as far inside of the face as the
    /// ghost is outside, it is the mirrored one. None where the number is not known.
    Mirrored(Option<i64>),
}

/// The values of captured integers that are known, by number.
type Known<'a> = &'a dyn Fn(u32) -> Option<i64>;

/// What a kernel over ghosts reads of the array that it sets, its first argument, in a line inwards of each ghost
/// (`inwards` along the axis is 1 or -1); none if it reads other cells, or has other arguments than tables.
pub(super) fn inwards(
    kernel: &Kernel,
    analysis: &Analysis,
    across: (usize, i64),
    known: Known<'_>,
) -> Option<Vec<Inwards>> {
    let (Some((arg, tables)), Some(usage)) = (kernel.args.split_first(), analysis.args.first()) else { return None };
    let plain = analysis.complete && !analysis.may_fault && !analysis.counts;
    let alone = tables.iter().all(|arg| arg.access == Access::Table);
    if arg.access != Access::Write || arg.rank != kernel.rank || !usage.must_write || !plain || !alone {
        return None;
    }
    if !usage.accesses.iter().all(|one| !one.write || one.at_cell) {
        return None;
    }
    usage.accesses.iter().filter(|one| !one.write).map(|one| place(&one.index, across, known)).collect()
}

/// How many cells inwards along an axis (`inwards` is 1 or -1) the furthest one is that a kernel over ghosts reads of
/// the array that it sets, its only argument; none if it reads others than those in a line so far inwards of each
/// ghost.
pub fn reads_inwards(kernel: &Kernel, analysis: &Analysis, across: (usize, i64)) -> Option<i64> {
    let all = inwards(kernel, analysis, across, &|_| None).filter(|_| kernel.args.len() == 1)?;
    all.into_iter().try_fold(0, |furthest, one| match one {
        Inwards::By(far) => Some(furthest.max(far)),
        Inwards::Mirrored(_) => None,
    })
}

/// Where a read is from the cell that a kernel runs at, if it is in a line inwards along an axis.
pub(super) fn place(index: &[IndexForm], (across, inwards): (usize, i64), known: Known<'_>) -> Option<Inwards> {
    let mut found = None;
    for (axis, form) in index.iter().enumerate() {
        let IndexForm::Affine(NormalForm { constant, terms }) = form else { return None };
        let at = Symbol::At(axis as u32);
        if axis == across && terms.contains(&(at, -1)) {
            let mut number = Some(*constant);
            for (symbol, times) in terms.iter().filter(|(symbol, _)| *symbol != at) {
                let Symbol::Capture(capture) = symbol else { return None };
                let more = known(*capture).and_then(|value| value.checked_mul(*times));
                number = number.zip(more).and_then(|(sum, more)| sum.checked_add(more));
            }
            found = Some(Inwards::Mirrored(number));
            continue;
        }
        match axis == across {
            _ if *terms != [(at, 1)] => return None,
            true => found = Some(constant * inwards).filter(|far| (1..=FURTHEST).contains(far)).map(Inwards::By),
            false if *constant != 0 => return None,
            false => {}
        }
    }
    found
}

/// Whether a kernel over ghosts reads no cell but the one beside each, 1 or -1 `inwards` along an axis, of the array
/// that it sets, its only argument.
pub fn reads_beside(kernel: &Kernel, analysis: &Analysis, across: (usize, i64)) -> bool {
    reads_inwards(kernel, analysis, across).is_some_and(|furthest| furthest <= 1)
}

/// A sweep that writes its argument `written` in each cell of a domain, and then has each cell at an end of the last
/// axis set the ghost beside it as these kernels would: nothing if they cannot be one.
///
/// Its captured values are those of all, the sweep's first; then comes for each face the coordinate of its cells along
/// the last axis (`i64`).
pub fn with_faces(sweep: &Kernel, written: usize, faces: &[FaceKernel<'_>]) -> Option<Kernel> {
    let ends = |kernel: &Kernel| holds(&kernel.body.block, &|kind| matches!(kind, StmtKind::Return(_)));
    let array = sweep.args.get(written).filter(|arg| arg.access == Access::Write)?;
    let fits = |face: &FaceKernel<'_>| {
        let alike = face.kernel.rank == sweep.rank && face.kernel.result == Type::unit() && face.kernel.group.is_none();
        let same = face.kernel.args.first().is_some_and(|arg| arg.element == array.element && arg.rank == array.rank);
        alike && same && !ends(face.kernel)
    };
    if sweep.result != Type::unit() || sweep.group.is_some() || ends(sweep) || !faces.iter().all(fits) {
        return None;
    }
    let mut made = sweep.clone();
    let last = sweep.rank.checked_sub(1)? as u32;
    let mut blocks = Vec::with_capacity(faces.len());
    let first = made.body.exprs.len();
    for face in faces {
        let first = made.body.exprs.len();
        let block = append(&mut made, face.kernel, vec![written as u32]);
        // The cell of the sweep is so far inwards of the ghost.
        outwards(&mut made.body, first, last, -face.inwards);
        blocks.push(block);
    }
    at_hand(&mut made.body, first, written as u32)?;
    let (long, bool) = (Type::Scalar(ScalarType::I64), Type::Scalar(ScalarType::Bool));
    for (number, block) in blocks.into_iter().enumerate() {
        let capture = made.captures.len() as u32;
        made.captures.push(Capture::of_launch(format!("face{number}"), long.clone()));
        let span = block.first().map_or_else(Span::default, |stmt| stmt.span);
        let mut push = |ty: &Type, kind: ExprKind| push(&mut made.body, ty, span, kind);
        let (at, face) = (push(&long, ExprKind::Coordinate(last)), push(&long, ExprKind::Capture(capture)));
        let is_at = push(&bool, ExprKind::Compare(CompareOp::Eq, at, face));
        made.body.block.push(Stmt { span, kind: StmtKind::If(is_at, block, Vec::new()) });
    }
    Some(made)
}

/// Kernels over the ghosts beyond the low and the high face across an axis as one kernel over both, which have the same
/// arguments: nothing if they cannot be one.
///
/// Its captured values are those of both, and then the first coordinate of the high ones along that axis (`i64`).
pub fn with_opposite(low: &Kernel, high: &Kernel, axis: u32) -> Option<Kernel> {
    let fits = |kernel: &Kernel| {
        kernel.result == Type::unit()
            && kernel.group.is_none()
            && !holds(&kernel.body.block, &|kind| matches!(kind, StmtKind::Return(_)))
    };
    let same = |(a, b): (&Arg, &Arg)| a.access == b.access && a.element == b.element && a.rank == b.rank;
    let alike = low.rank == high.rank && low.args.len() == high.args.len() && low.args.iter().zip(&high.args).all(same);
    if !(alike && fits(low) && fits(high) && (axis as usize) < low.rank) {
        return None;
    }
    let mut made = low.clone();
    let beyond_high = append(&mut made, high, (0..high.args.len() as u32).collect());
    let beyond_low = std::mem::take(&mut made.body.block);
    let capture = made.captures.len() as u32;
    let (long, bool) = (Type::Scalar(ScalarType::I64), Type::Scalar(ScalarType::Bool));
    made.captures.push(Capture::of_launch("high", long.clone()));
    let span = beyond_high.first().map_or_else(Span::default, |stmt| stmt.span);
    let mut push = |ty: &Type, kind: ExprKind| push(&mut made.body, ty, span, kind);
    let (at, from) = (push(&long, ExprKind::Coordinate(axis)), push(&long, ExprKind::Capture(capture)));
    let is_high = push(&bool, ExprKind::Compare(CompareOp::Ge, at, from));
    made.body.block.push(Stmt { span, kind: StmtKind::If(is_high, beyond_high, beyond_low) });
    Some(made)
}

/// Has the expressions from `first` on take what the sweep stores in its cell from locals: they read no memory, so that
/// what is left of them needs no branch. None where some value is not stored once, in every cell.
fn at_hand(body: &mut Body, first: usize, written: u32) -> Option<()> {
    let mut known: Vec<(u32, LocalId)> = Vec::new();
    for number in first..body.exprs.len() {
        let Expr { ty, kind: ExprKind::Load { arg, component, .. }, .. } = &body.exprs[number] else { continue };
        if *arg != written {
            continue;
        }
        let (ty, base) = (ty.clone(), component.base);
        if !component.dynamic.is_empty() {
            return None;
        }
        let local = match known.iter().find(|(of, _)| *of == base) {
            Some((_, local)) => *local,
            None => {
                let local = stored(body, (written, base), ty)?;
                known.push((base, local));
                local
            }
        };
        body.exprs[number].kind = ExprKind::Local(local);
    }
    Some(())
}

/// A local with the value of a component that the body stores once, in every cell.
fn stored(body: &mut Body, (written, base): (u32, u32), ty: Type) -> Option<LocalId> {
    let is_store = |kind: &StmtKind| match kind {
        StmtKind::Store { arg, component, .. } => {
            *arg == written && (component.base == base || !component.dynamic.is_empty())
        }
        _ => false,
    };
    let mut stores = (0..body.block.len()).filter(|number| body.block[*number].holds(&is_store));
    let (store, None) = (stores.next()?, stores.next()) else { return None };
    let StmtKind::Store { component, value, .. } = &body.block[store].kind else { return None };
    let (value, span, local) = (*value, body.block[store].span, body.locals.len() as LocalId);
    if !component.dynamic.is_empty() || body[value].ty != ty {
        return None;
    }
    body.locals.push(Local { name: format!("_left{base}"), ty: ty.clone() });
    let left = push(body, &ty, span, ExprKind::Local(local));
    if let StmtKind::Store { value, .. } = &mut body.block[store].kind {
        *value = left;
    }
    body.block.insert(store, Stmt { span, kind: StmtKind::Let(local, Some(value)) });
    Some(local)
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
