//! The kernels of a scan, which have nothing of the user's in them.
//!
//! A thread has a block of 64 cells in registers. The cells of the blocks of all threads come and go side by side, by
//! way of memory that the threads share. The order is that of `tida::compute::scan`.

use super::Source;
use super::fold::combining;
use super::helpers::{Helper, Helpers};
use super::text::Text;
use super::types::memory;
use crate::element::ScalarType;
use crate::plan::{Dialect, FoldOp, Math};

pub use super::sizes::scan::*;

/// Cells of a block that a thread has, and values from block to block in shared memory: an odd number, so that threads
/// reach different banks.
const CELLS: u32 = 64;
const PITCH: u32 = CELLS + 1;

/// How far before it the cell is that a cell of a block adds, step by step.
const STEPS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// The words of the geometry, in order: see [`scan_sums`].
const WORDS: [&str; 14] = [
    "tiles",
    "rows",
    "cells",
    "of_first",
    "of_outer",
    "of_inner",
    "to_first",
    "to_outer",
    "to_inner",
    "before_first",
    "before_outer",
    "before_inner",
    "block",
    "exclusive",
];

/// A loop over numbers that the compiler writes out.
fn each(text: &mut Text, turns: &str, what: impl FnOnce(&mut Text)) {
    text.line("#pragma unroll");
    text.block(format!("for ({turns})"), what);
}

/// A loop over all values that a thread moves or sums.
fn cells(text: &mut Text, what: impl FnOnce(&mut Text)) {
    each(text, &format!("i32 n = 0; n < {CELLS}; n++"), what);
}

/// Where in shared memory value `n` of those that a thread of so many moves is: the threads move values side by side.
fn place(threads: u32) -> String {
    match threads {
        LINE_THREADS => format!("tile[n * {PITCH} + thread]"),
        _ => format!("tile[(n >> 1) * {PITCH} + (n & 1) * {THREADS} + thread]"),
    }
}

/// Where the thread's row begins, of memory that goes by this name.
fn row_of(name: &str) -> String {
    format!("shape.{name}_first + outer * shape.{name}_outer + inner * shape.{name}_inner")
}

/// What all kernels know first: the thread, its row, and memory for the cells of all threads.
fn begun(dialect: Dialect, scalar: ScalarType, text: &mut Text, threads: u32) {
    text.line(format!("{} {} tile[{}];", dialect.shared(), memory(scalar), threads * PITCH));
    text.line(format!("const i32 thread = (i32){};", dialect.thread(0)));
    text.line(format!("const i64 row = (i64){} / shape.tiles;", dialect.block(0)));
    text.line("const i64 outer = row / shape.rows, inner = row % shape.rows;");
    text.line(format!("of += {};", row_of("of")));
}

/// The values of the thread's block, from memory, in registers; what is beyond the line is 0. `first` is the first
/// cell of all threads.
fn fetched(dialect: Dialect, scalar: ScalarType, text: &mut Text, helpers: &mut Helpers, threads: u32) {
    let (ty, place) = (memory(scalar), place(threads));
    let copies = dialect == Dialect::Cuda && matches!(scalar.size(), 4 | 8);
    cells(text, |text| {
        text.line(format!("const i64 cell = first + n * {threads} + thread;"));
        let copy = match copies {
            true => format!("{}(&{place}, &of[cell]);", helpers.need(Helper::Ahead(scalar.size() as u8))),
            false => format!("{place} = of[cell];"),
        };
        text.line(format!("if (cell < shape.cells) {copy}"));
        text.line(format!("else {place} = 0;"));
    });
    if copies {
        text.line(format!("{}();", helpers.need(Helper::Commit)));
        text.line(format!("{}();", helpers.need(Helper::Wait)));
    }
    text.line(dialect.barrier());
    text.line(format!("const i64 number = first + thread * {CELLS};"));
    text.line(format!("{ty} v[{CELLS}];"));
    cells(text, |text| text.line(format!("v[n] = tile[thread * {PITCH} + n];")));
}

/// Each cell of the thread's block adds those before it.
fn summed(text: &mut Text) {
    for by in STEPS {
        each(text, &format!("i32 n = {}; n >= {by}; n--", CELLS - 1), |text| {
            text.line(format!("v[n] = tida_fold(v[n - {by}], v[n]);"));
        });
    }
}

/// The thread's cells go to memory, so many places further on. All threads have theirs.
fn stored(dialect: Dialect, text: &mut Text, threads: u32, further: &str) {
    cells(text, |text| text.line(format!("tile[thread * {PITCH} + n] = v[n];")));
    text.line(dialect.barrier());
    cells(text, |text| {
        text.line(format!("const i64 cell = first + n * {threads} + thread{further};"));
        text.line(format!("if (cell < shape.cells) to[cell] = {};", place(threads)));
    });
}

/// What the thread of a row's part has to sum: its first cell, where sums of blocks are, and its cells.
fn one_part(dialect: Dialect, scalar: ScalarType, text: &mut Text, helpers: &mut Helpers) {
    begun(dialect, scalar, text, THREADS);
    text.line(format!("const i64 first = (i64){} % shape.tiles * {TILE};", dialect.block(0)));
    text.line(format!("const i64 before = {};", row_of("before")));
    fetched(dialect, scalar, text, helpers, THREADS);
}

fn source(
    dialect: Dialect,
    scalar: ScalarType,
    entry: &str,
    (threads, params): (u32, &[String]),
    body: impl FnOnce(&mut Text, &mut Helpers),
) -> Source {
    let mut helpers = Helpers::default();
    let folding = combining(dialect, scalar, FoldOp::Sum, &mut helpers);
    let mut main = Text { depth: 1, ..Text::default() };
    body(&mut main, &mut helpers);
    let mut whole = helpers.text(dialect);
    whole.append(folding);
    whole.line("typedef struct {");
    WORDS.iter().for_each(|word| whole.line(format!("    i64 {word};")));
    whole.line("} Shape;");
    whole.line("");
    whole.line(format!("{} {entry}(", dialect.entry([threads, 1, 1], 1)));
    whole.all(&format!("    {},\n    const Shape shape) {{", params.join(",\n    ")));
    whole.append(main);
    whole.line("}");
    let mut text = dialect.prelude(Math::Exact, &whole);
    text.append(whole);
    Source {
        lines: vec![None; text.lines.len()],
        text: text.lines.into_iter().map(|(line, _)| line + "\n").collect(),
        entry: entry.into(),
        ..Source::default()
    }
}

/// A kernel that sums whole blocks of 64 cells.
///
/// Its parameters, in order: the cells, the sums to write, and words (`i64`): how many times [`TILE`] cells a row has,
/// rounded up; rows of the inner one of the axes before the last; cells of a row; where the first cell is, and how far
/// it is to the next row of the outer and of the inner axis; three words that are not looked at; the same three of the
/// first block's sum; two that are not looked at. The grid has a block of [`THREADS`] for each such part of each row.
pub fn scan_sums(dialect: Dialect, scalar: ScalarType) -> Source {
    let ty = memory(scalar);
    let params = [format!("{} of", dialect.restricted(ty, false)), format!("{} sums", dialect.restricted(ty, true))];
    source(dialect, scalar, "tida_scan_sums", (THREADS, &params), |text, helpers| {
        one_part(dialect, scalar, text, helpers);
        // Neighbours first: what the last cell of a block comes to.
        for by in STEPS {
            each(text, &format!("i32 n = {}; n < {CELLS}; n += {}", 2 * by - 1, 2 * by), |text| {
                text.line(format!("v[n] = tida_fold(v[n - {by}], v[n]);"));
            });
        }
        text.line(format!("if (number + {CELLS} <= shape.cells) sums[before + number / {CELLS}] = v[{}];", CELLS - 1));
    })
}

/// A kernel that sums the cells of each block up to each one, after what lies before the block.
///
/// Its parameters, in order: the cells, the sums to write, the sums of blocks, those up to each block, and words as
/// [`scan_sums`] has them. The three that are not looked at there say where sums are written; the three of blocks are
/// of both arrays; then come the number of the first block in its row, and whether a cell's own value is left out (1)
/// or not (0).
pub fn scan_cells(dialect: Dialect, scalar: ScalarType) -> Source {
    let ty = memory(scalar);
    let read = |name: &str| format!("{} {name}", dialect.restricted(ty, false));
    let params = [read("of"), format!("{} to", dialect.restricted(ty, true)), read("blocks"), read("sums")];
    source(dialect, scalar, "tida_scan_cells", (THREADS, &params), |text, helpers| {
        one_part(dialect, scalar, text, helpers);
        summed(text);
        text.line(format!("const i64 block = shape.block + number / {CELLS};"));
        text.line("const bool there = number < shape.cells;");
        text.block("if (there && block > 0)", |text| {
            text.line(format!("const {ty} start = sums[before + block - 1];"));
            cells(text, |text| text.line("v[n] = tida_fold(start, v[n]);"));
        });
        text.block("if (shape.exclusive != 0)", |text| {
            each(text, &format!("i32 n = {}; n > 0; n--", CELLS - 1), |text| text.line("v[n] = v[n - 1];"));
            text.line("v[0] = 0;");
            text.line("if (there && block > 0) v[0] = blocks[before + block - 1];");
            text.line("if (there && block > 1) v[0] = tida_fold(sums[before + block - 2], v[0]);");
        });
        text.line(format!("to += {};", row_of("to")));
        stored(dialect, text, THREADS, "");
    })
}

/// A kernel that sums all of a row up to each cell, of [`LONGEST`] cells at most: a block of threads a row.
///
/// Its parameters, in order: the cells, the sums to write, and words as [`scan_sums`] has them, `tiles` being 1. The
/// three that are not looked at there say where sums are written; the three of blocks are not looked at, nor is the
/// number of a block. The last one says whether a cell's own value is left out (1) or not (0).
pub fn scan_lines(dialect: Dialect, scalar: ScalarType) -> Source {
    let ty = memory(scalar);
    let params = [format!("{} of", dialect.restricted(ty, false)), format!("{} to", dialect.restricted(ty, true))];
    source(dialect, scalar, "tida_scan_lines", (LINE_THREADS, &params), |text, helpers| {
        let (shared, barrier) = (dialect.shared(), dialect.barrier());
        begun(dialect, scalar, text, LINE_THREADS);
        text.line(format!("to += {};", row_of("to")));
        let rows = STEPS.len() + 1;
        // The sums of the blocks that the threads have, and of as many of these together: as they are, and after each
        // step.
        text.line(format!("{shared} {ty} sums[{rows}][{CELLS}];"));
        text.line(format!("{shared} {ty} tiles[{rows}][{CELLS}];"));
        // What all before these cells comes to, added in the order of such tiles and in that of blocks.
        text.line(format!("{shared} {ty} whole[2];"));
        text.line("if (thread == 0 && shape.exclusive != 0) to[0] = 0;");
        let tile = LINE_THREADS * CELLS;
        text.line("i32 turn = 0;");
        text.block(format!("for (i64 first = 0; first < shape.cells; first += {tile})"), |text| {
            fetched(dialect, scalar, text, helpers, LINE_THREADS);
            summed(text);
            text.line(format!("sums[0][thread] = v[{}];", CELLS - 1));
            text.line(barrier);
            for (row, by) in STEPS.iter().enumerate() {
                stepped(text, "sums", row, *by, "thread");
                text.line(barrier);
            }
            let last = STEPS.len();
            text.block("if (turn > 0 || thread > 0)", |text| {
                text.line(format!("{ty} start = thread > 0 ? sums[{last}][thread - 1] : whole[1];"));
                text.line("if (turn > 0 && thread > 0) start = tida_fold(whole[0], start);");
                cells(text, |text| text.line("v[n] = tida_fold(start, v[n]);"));
            });
            stored(dialect, text, LINE_THREADS, " + shape.exclusive");
            text.block(format!("if (thread == {})", LINE_THREADS - 1), |text| {
                text.line(format!("whole[1] = sums[{last}][thread];"));
                text.line("if (turn > 0) whole[1] = tida_fold(whole[0], whole[1]);");
                text.line(format!("tiles[0][turn] = sums[{last}][thread];"));
                STEPS.iter().enumerate().for_each(|(row, by)| stepped(text, "tiles", row, *by, "turn"));
                text.line(format!("whole[0] = tiles[{last}][turn];"));
            });
            text.line("turn++;");
            text.line(barrier);
        });
    })
}

/// What one of a row of values is after the next step: it adds the one so many before it, if there is one.
fn stepped(text: &mut Text, name: &str, row: usize, by: u32, at: &str) {
    let (now, next) = (format!("{name}[{row}]"), format!("{name}[{}][{at}]", row + 1));
    text.line(format!("{next} = {at} >= {by} ? tida_fold({now}[{at} - {by}], {now}[{at}]) : {now}[{at}];"));
}
