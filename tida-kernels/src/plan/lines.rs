//! Lines along the last axis, chunk by chunk through memory that threads share.
//!
//! A thread has a line, and neighbouring threads have lines that are a row apart: each of them would fetch a sector for
//! one value. So the threads of a block fetch a chunk of columns of their lines together, each thread computes its own
//! line's cells of it there, and together they store what was written.

use super::Along;
use crate::analysis::{Analysis, ArrayAccess, IndexForm, Symbol};
use crate::element::ElementType;
use crate::ir::{Access, Kernel};

/// Lines of a block, a warp's.
pub const ROWS: u32 = 32;

/// Columns of a chunk: as many as fit, of these.
const COLUMNS: [u32; 3] = [32, 16, 8];

/// Bytes of shared memory of any block.
const SHARED: usize = 48 << 10;

/// Furthest read along the line.
const FURTHEST: i64 = 4;

/// What a chunk has of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Staged {
    pub arg: usize,
    /// Columns that are read below a cell, and above it.
    pub reach: [i64; 2],
    /// Its cells are fetched: else each is written before it is read.
    pub fetched: bool,
    pub written: bool,
}

/// The constant by which an access is away from its cell along the last axis, if it is not along others.
fn away(access: &ArrayAccess, rank: usize) -> Option<i64> {
    let constant = |(axis, form): (usize, &IndexForm)| match form {
        IndexForm::Affine(form) if form.terms == [(Symbol::At(axis as u32), 1)] => Some(form.constant),
        _ => None,
    };
    let by: Vec<i64> = access.index.iter().enumerate().map(constant).collect::<Option<_>>()?;
    let (last, others) = by.split_last()?;
    let near = by.len() == rank && access.fits.is_empty() && others.iter().all(|by| *by == 0);
    (near && last.abs() <= FURTHEST && (*last == 0 || !access.conditional)).then_some(*last)
}

/// What chunks of lines have of each argument; nothing for kernels whose lines do not go by chunks.
pub(crate) fn staged(kernel: &Kernel, analysis: &Analysis, along: &Along) -> Option<Vec<Staged>> {
    let rank = kernel.rank;
    let usual = rank > 1 && along.axis as usize + 1 == rank && kernel.group.is_none();
    if !usual || !analysis.complete || analysis.may_fault {
        return None;
    }
    let tiled = |n: &usize| matches!(kernel.args[*n].access, Access::Read | Access::Write);
    let of = |arg: usize| {
        let (of, usage) = (&kernel.args[arg], &analysis.args[arg]);
        let ElementType::Scalar(_) = of.element else { return None };
        let mut staged = Staged { arg, reach: [0; 2], fetched: !usage.must_write, written: of.access == Access::Write };
        for access in &usage.accesses {
            let by = away(access, rank)?;
            if access.write {
                continue;
            }
            let [below, above] = &mut staged.reach;
            (*below, *above) = ((*below).max(-by), (*above).max(by));
            // What was written before, in the order of the cells, is there.
            staged.fetched |= if along.backward { by <= 0 } else { by >= 0 };
        }
        Some(staged)
    };
    let all: Vec<Staged> = (0..kernel.args.len()).filter(tiled).map(of).collect::<Option<_>>()?;
    (all.iter().all(|staged| kernel.args[staged.arg].rank == rank) && !all.is_empty()).then_some(all)
}

/// The columns that all arguments have below a cell, and above it.
pub(crate) fn reach(staged: &[Staged]) -> [i64; 2] {
    [0, 1].map(|side| staged.iter().map(|staged| staged.reach[side]).max().unwrap_or(0))
}

/// Values from one line of a chunk to the next: an odd number, so that threads reach different banks.
pub(crate) fn pitch(staged: &[Staged], columns: u32) -> i64 {
    (i64::from(columns) + reach(staged).iter().sum::<i64>()) | 1
}

/// Columns of the chunks in which a kernel's lines go on a GPU; 0 if they do not.
pub fn columns(kernel: &Kernel, analysis: &Analysis, along: &Along) -> u32 {
    let Some(staged) = staged(kernel, analysis, along) else { return 0 };
    let value: usize = staged.iter().map(|staged| kernel.args[staged.arg].element.bytes()).sum();
    let fits = |columns: &u32| pitch(&staged, *columns) as usize * ROWS as usize * value <= SHARED;
    COLUMNS.into_iter().find(fits).unwrap_or(0)
}
