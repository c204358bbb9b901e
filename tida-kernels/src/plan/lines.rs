//! How the cells of a line come to the thread that computes them.
//!
//! Along the last axis lines go chunk by chunk through memory that threads share. A thread has a line, and neighbouring
//! threads have lines that are a row apart: each of them would fetch a sector for one value. So the threads of a block
//! fetch a chunk of columns of their lines together, each thread computes its own line's cells of it there, and
//! together they store what was written. On CUDA the next chunks are on their way meanwhile.
//!
//! Along other axes, where lines are few, a thread fetches the next cells of its line into registers while it computes
//! those before them: else too few bytes are under way.

use super::{Along, Dialect};
use crate::analysis::{Analysis, ArrayAccess, IndexForm, Symbol};
use crate::element::ElementType;
use crate::ir::{Access, Kernel};

/// Lines of a block, a warp's.
pub const ROWS: u32 = 32;

/// Warps of a block that fetch and store. The first one computes.
pub const WARPS: u32 = 4;

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

/// Chunks of a block that lie in shared memory at once, at most: one is worked on, the others are on their way.
const RING: u32 = 4;

/// Lines from which on enough bytes are under way without fetching ahead.
const MANY: u64 = 1 << 16;

/// Cells that are fetched ahead: as many as registers hold, of these.
const AHEAD: [u32; 5] = [64, 32, 16, 8, 4];

/// 32-bit registers for what is fetched ahead, for what is worked on, and for what is written.
const REGISTERS: u32 = 192;

/// Expressions of a kernel, at most, that is written out for all cells that were fetched.
const LARGE: usize = 1024;

/// The constant by which an access is away from its cell along an axis, if it is not along others.
fn away(access: &ArrayAccess, rank: usize, run: usize) -> Option<i64> {
    let constant = |(axis, form): (usize, &IndexForm)| match form {
        IndexForm::Affine(form) if form.terms == [(Symbol::At(axis as u32), 1)] => Some(form.constant),
        _ => None,
    };
    let by: Vec<i64> = access.index.iter().enumerate().map(constant).collect::<Option<_>>()?;
    let last = *by.get(run)?;
    let across = by.iter().enumerate().all(|(axis, by)| axis == run || *by == 0);
    let near = by.len() == rank && access.fits.is_empty() && across;
    (near && last.abs() <= FURTHEST && (last == 0 || !access.conditional)).then_some(last)
}

/// What chunks of lines have of each argument; nothing for kernels whose lines do not go by chunks.
pub(crate) fn staged(kernel: &Kernel, analysis: &Analysis, along: &Along) -> Option<Vec<Staged>> {
    let rank = kernel.rank;
    if kernel.group.is_some() || !analysis.complete || analysis.may_fault {
        return None;
    }
    let tiled = |n: &usize| matches!(kernel.args[*n].access, Access::Read | Access::Write);
    let of = |arg: usize| {
        let (of, usage) = (&kernel.args[arg], &analysis.args[arg]);
        let ElementType::Scalar(_) = of.element else { return None };
        let mut staged = Staged { arg, reach: [0; 2], fetched: !usage.must_write, written: of.access == Access::Write };
        for access in &usage.accesses {
            let by = away(access, rank, along.axis as usize)?;
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

/// Bytes of a cell in all arguments, and in those of them that are fetched.
fn bytes(kernel: &Kernel, staged: &[Staged]) -> [usize; 2] {
    let of = |staged: &Staged| kernel.args[staged.arg].element.bytes();
    let fetched = staged.iter().filter(|staged| staged.fetched);
    [staged.iter().map(of).sum(), fetched.map(of).sum()]
}

/// Columns of the chunks in which a kernel's lines go on a GPU; 0 if they do not.
pub fn columns(kernel: &Kernel, analysis: &Analysis, along: &Along) -> u32 {
    if kernel.rank < 2 || along.axis as usize + 1 != kernel.rank {
        return 0;
    }
    let Some(staged) = staged(kernel, analysis, along) else { return 0 };
    let [value, _] = bytes(kernel, &staged);
    let fits = |columns: &u32| pitch(&staged, *columns) as usize * ROWS as usize * value <= SHARED;
    COLUMNS.into_iter().find(fits).unwrap_or(0)
}

/// How many of these chunks lie in shared memory at once. What comes next is copied there beside the computing, where
/// the language can do so with its values.
pub fn ring(kernel: &Kernel, analysis: &Analysis, along: &Along, dialect: Dialect) -> u32 {
    let Some(staged) = staged(kernel, analysis, along).filter(|_| along.columns > 0) else { return 1 };
    let fetched = |staged: &&Staged| staged.fetched;
    let copied = |staged: &Staged| matches!(kernel.args[staged.arg].element.bytes(), 4 | 8);
    if dialect != Dialect::Cuda || !staged.iter().filter(fetched).all(copied) {
        return 1;
    }
    let [all, fetched] = bytes(kernel, &staged);
    let chunk = pitch(&staged, along.columns) as usize * ROWS as usize;
    let fits = |ring: &u32| chunk * (all + (*ring as usize - 1) * fetched) <= SHARED;
    if fetched == 0 { 1 } else { (2..=RING).rev().find(fits).unwrap_or(1) }
}

/// Cells of so many lines that threads fetch ahead on a GPU; 0 where each reads them when it needs them.
pub fn ahead(kernel: &Kernel, analysis: &Analysis, along: &Along, lines: u64) -> u32 {
    let size = kernel.body.exprs.len() + kernel.functions.iter().map(|of| of.body.exprs.len()).sum::<usize>();
    if lines >= MANY {
        return 0;
    }
    let Some(staged) = staged(kernel, analysis, along) else { return 0 };
    let words = |staged: &Staged| {
        let word = kernel.args[staged.arg].element.bytes().div_ceil(4) as u32;
        word * if staged.fetched { 2 } else { 1 }
    };
    let registers: u32 = staged.iter().map(words).sum();
    let fits = |cells: &u32| cells * registers <= REGISTERS && *cells as usize * size <= LARGE;
    if bytes(kernel, &staged)[1] == 0 { 0 } else { AHEAD.into_iter().find(fits).unwrap_or(0) }
}
