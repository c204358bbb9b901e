//! Cells side by side that read the same cells of whole arrays, as those of a fine grid do of a coarse one: a thread
//! has 16 bytes of them, reads once for all of them, and stores them at once.

use super::wide::{Row, Side, rows};
use crate::analysis::{Analysis, ArgUse, ArrayAccess, Choice, IndexForm, NormalForm, Op, Symbol};
use crate::ir::{Access, Arg, ExprKind, Kernel};

/// Bytes of what is stored at once.
const BYTES: usize = 16;

/// Most cells of a thread.
const MOST: usize = 4;

/// 32-bit registers of rows that leave room for the rest.
const ROOM: usize = 48;

/// What the threads of a kernel keep that have such cells, if it has them: everything that it reads around the cell is
/// read in every cell, of each component one row, and everything that it writes is written in every cell.
pub(super) fn alike(kernel: &Kernel, analysis: &Analysis) -> Option<Side> {
    let coded = |expr: &crate::ir::Expr| matches!(expr.kind, ExprKind::Decode(..) | ExprKind::Encode { .. });
    if kernel.body.exprs.iter().any(coded) || !reads_alike(kernel, analysis) {
        return None;
    }
    let (rows, _) = rows(kernel, analysis, true)?;
    let (mut stores, mut kept) = (Vec::new(), Vec::new());
    for (arg, usage) in analysis.args.iter().enumerate() {
        let of = kernel.args.get(arg)?;
        if of.access == Access::Write {
            stores.extend(written((arg, of), usage)?);
            kept.extend((!usage.must_write).then_some(arg));
        }
    }
    let widest = stores.iter().map(|store| store.2).chain(rows.iter().map(|row| row.bytes)).max()?;
    let cells = (BYTES / widest).min(MOST);
    let apart =
        |n: usize, row: &Row| rows[..n].iter().all(|other| (other.arg, other.component) != (row.arg, row.component));
    let single = rows.iter().enumerate().all(|(n, row)| apart(n, row));
    let fits = rows.iter().map(|row| row.registers(cells)).sum::<usize>() <= ROOM;
    (cells > 1 && single && fits && !stores.is_empty()).then_some(Side { cells, rows, stores, kept, alike: true })
}

/// What is written of an argument: components, each with its bytes. None if some of it is not written in every cell, or
/// something else of it is read.
fn written((arg, of): (usize, &Arg), usage: &ArgUse) -> Option<Vec<(usize, usize, usize)>> {
    let mut stores: Vec<(usize, usize, usize)> = Vec::new();
    let types = of.element.component_types();
    for access in usage.accesses.iter().filter(|access| access.write) {
        let component = access.component? as usize;
        let store = (arg, component, types.get(component)?.size());
        if !stores.contains(&store) {
            stores.push(store);
        }
    }
    let mut reads = usage.accesses.iter().filter(|access| !access.write);
    let known = |access: &ArrayAccess| {
        let at_cell = access.offsets().is_some_and(|offsets| offsets.iter().all(|by| *by == 0));
        at_cell && stores.iter().any(|store| Some(store.1 as u32) == access.component)
    };
    let always = |access: &ArrayAccess| access.at_cell && (usage.must_write || !access.conditional);
    let whole = usage.accesses.iter().filter(|access| access.write).all(always) && reads.all(known);
    (whole && !stores.is_empty()).then_some(stores)
}

/// Whether every cell reads a whole array where its neighbour along the last axis does.
fn reads_alike(kernel: &Kernel, analysis: &Analysis) -> bool {
    let last = Symbol::At(kernel.rank.saturating_sub(1) as u32);
    let slow = |access: &ArrayAccess| match access.index.last() {
        Some(IndexForm::Affine(form)) if !access.conditional => is_slow(analysis, form, last) == Some(true),
        _ => false,
    };
    let whole = kernel.args.iter().zip(&analysis.args).filter(|(arg, _)| arg.access == Access::All);
    whole.flat_map(|(_, usage)| &usage.accesses).any(slow)
}

/// Whether a form is the same for neighbours, every second time at least: if it has quotients of a coordinate by an
/// even number in it; `None` if it has the coordinate itself, or something else of it.
fn is_slow(analysis: &Analysis, form: &NormalForm, at: Symbol) -> Option<bool> {
    let mut slow = false;
    for (symbol, _) in &form.terms {
        let Symbol::Choice(n) = symbol else {
            if *symbol == at {
                return None;
            }
            continue;
        };
        slow |= match analysis.choices.get(*n as usize)? {
            Choice::Of(Op::Div(by) | Op::Floor(by), of) if of.terms.iter().any(|(symbol, _)| *symbol == at) => {
                if by % 2 != 0 || of.terms.iter().any(|(symbol, by)| *symbol == at && by.abs() != 1) {
                    return None;
                }
                true
            }
            Choice::Of(_, of) => is_slow(analysis, of, at)?,
            Choice::OfTwo(_, a, b) | Choice::Least(a, b) | Choice::Greatest(a, b) => {
                is_slow(analysis, a, at)? | is_slow(analysis, b, at)?
            }
            Choice::Within(_) | Choice::Told(..) | Choice::Entry(_) | Choice::EntryAt(..) => false,
        };
    }
    Some(slow)
}
