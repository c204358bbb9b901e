//! How the cells of a line come to the thread that computes them.
//!
//! Along the last axis lines go chunk by chunk through memory that threads share. A thread has a line, and neighbouring
//! threads have lines that are a row apart: each of them would fetch a sector for one value. So some warps of a block
//! fetch and store chunks of columns of its lines, row by row, while one warp computes the cells of the chunk that is
//! there, a line a thread.
//!
//! Along other axes, where lines are few, a thread fetches the next cells of its line into shared memory of its own
//! while it computes those before them in registers: else too few bytes are under way.

use super::{Along, Dialect};
use crate::analysis::{Analysis, ArrayAccess};
use crate::element::ElementType;
use crate::ir::{Access, Kernel};

/// Threads of a warp. The first one of a block computes.
pub const LANES: u32 = 32;

/// Warps of a block that fetch and store.
pub const MOVERS: u32 = 4;

/// Lines and columns of a chunk: the first of these that fits. Rows of fewer columns are parts of lines of memory.
const CHUNKS: [[u32; 2]; 5] = [[LANES, 32], [LANES / 2, 64], [LANES / 2, 32], [LANES / 2, 16], [LANES / 2, 8]];

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

impl Staged {
    /// Chunks that lie in shared memory at once, where so many are fetched before they are computed, with the one that
    /// is. What is written is stored while the next chunk is computed.
    pub fn slots(&self, ring: u32) -> u32 {
        match (self.fetched, self.written) {
            (true, false) => ring,
            (true, true) => ring + 1,
            (false, _) => 2,
        }
    }
}

/// Chunks of a block that are fetched before they are computed, at most and at least, with the one that is.
const RING: u32 = 4;
const LEAST: u32 = 2;

/// Lines from which on enough bytes are under way without fetching ahead.
const MANY: u64 = 1 << 16;

/// Lines up to which a multiprocessor has one or two blocks: then nothing else runs while a chunk ends, so chunks are
/// longer.
const FEW: u64 = 1 << 13;

/// Cells that are computed in registers at once: as many as these hold, of these.
const AHEAD: [u32; 3] = [16, 8, 4];

/// Times as many cells that are fetched before they are computed, with those that are, at most.
const DEEP: u32 = 8;

/// 32-bit registers for what is worked on, and for what is written. In chunks, where more threads have as many each.
const REGISTERS: u32 = 160;
const IN_CHUNKS: u32 = 64;

/// Expressions of a kernel, at most, that is written out for all cells that were fetched.
const LARGE: usize = 1024;

/// The constant by which an access is away from its cell along an axis, if it is not along others.
fn away(access: &ArrayAccess, rank: usize, run: usize) -> Option<i64> {
    let by = access.offsets()?;
    let last = *by.get(run)?;
    let across = by.iter().enumerate().all(|(axis, by)| axis == run || *by == 0);
    let near = by.len() == rank && across && (!access.write || access.at_cell);
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

/// Whether so many chunks of these lines and columns lie in a block's shared memory.
fn fits(kernel: &Kernel, staged: &[Staged], [rows, columns]: [u32; 2], ring: u32) -> bool {
    let bytes = |of: &Staged| of.slots(ring) as usize * kernel.args[of.arg].element.bytes();
    pitch(staged, columns) as usize * rows as usize * staged.iter().map(bytes).sum::<usize>() <= SHARED
}

/// Lines and columns of the chunks in which so many lines of a kernel go on a GPU; none if they do not. Few lines have
/// more blocks, and very few longer chunks.
pub fn chunk(kernel: &Kernel, analysis: &Analysis, along: &Along, lines: u64) -> [u32; 2] {
    if kernel.rank < 2 || along.axis as usize + 1 != kernel.rank {
        return [0; 2];
    }
    let Some(staged) = staged(kernel, analysis, along) else { return [0; 2] };
    let most = [if lines < MANY { LANES / 2 } else { LANES }, if lines < FEW { 64 } else { 32 }];
    let mut chunks = CHUNKS.into_iter().filter(|[rows, columns]| *rows <= most[0] && *columns <= most[1]);
    chunks.find(|chunk| fits(kernel, &staged, *chunk, LEAST)).unwrap_or_default()
}

/// How many of these chunks are fetched before they are computed, with the one that is; the same of the cells ahead.
/// Several come at once where the language copies values of their size beside the computing.
pub fn ring(kernel: &Kernel, analysis: &Analysis, along: &Along, dialect: Dialect) -> u32 {
    let Some(staged) = staged(kernel, analysis, along).filter(|_| along.columns > 0 || along.ahead > 0) else {
        return LEAST;
    };
    let mut fetched = staged.iter().filter(|staged| staged.fetched);
    let copied = |staged: &Staged| matches!(kernel.args[staged.arg].element.bytes(), 4 | 8);
    if dialect != Dialect::Cuda || !fetched.all(copied) {
        return LEAST;
    }
    let found = match along.columns {
        0 => (LEAST..=DEEP).rev().find(|ring| come(kernel, &staged, along.ahead, *ring)),
        columns => (LEAST..=RING).rev().find(|ring| fits(kernel, &staged, [along.rows, columns], *ring)),
    };
    found.unwrap_or(LEAST)
}

/// Whether so many times so many cells of a block's lines lie in its shared memory.
fn come(kernel: &Kernel, staged: &[Staged], cells: u32, ring: u32) -> bool {
    let fetched = staged.iter().filter(|staged| staged.fetched);
    let bytes: usize = fetched.map(|staged| kernel.args[staged.arg].element.bytes()).sum();
    (ring * cells * LANES) as usize * bytes <= SHARED
}

/// Cells of so many lines that threads compute in registers at once on a GPU, in chunks or while the next ones come; 0
/// where each reads them when it needs them.
pub fn ahead(kernel: &Kernel, analysis: &Analysis, along: &Along, lines: u64) -> u32 {
    let size = kernel.body.exprs.len() + kernel.functions.iter().map(|of| of.body.exprs.len()).sum::<usize>();
    let chunks = along.columns > 0;
    if lines >= MANY && !chunks {
        return 0;
    }
    let staged = staged(kernel, analysis, along);
    let Some(staged) = staged.filter(|all| chunks || all.iter().any(|staged| staged.fetched)) else { return 0 };
    let words = |staged: &Staged| kernel.args[staged.arg].element.bytes().div_ceil(4) as u32;
    let registers: u32 = staged.iter().map(words).sum();
    let fits = |cells: &u32| {
        let most = if chunks { IN_CHUNKS } else { REGISTERS };
        let held = cells * registers <= most && *cells as usize * size <= LARGE;
        held && if chunks { *cells <= along.columns } else { come(kernel, &staged, *cells, LEAST) }
    };
    AHEAD.into_iter().find(fits).unwrap_or(0)
}
