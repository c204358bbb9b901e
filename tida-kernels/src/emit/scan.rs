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

/// The values of the thread's block, from memory, in registers; what is beyond the line is 0.
fn fetched(dialect: Dialect, scalar: ScalarType, text: &mut Text, helpers: &mut Helpers) {
    let ty = memory(scalar);
    let copies = dialect == Dialect::Cuda && matches!(scalar.size(), 4 | 8);
    let place = format!("tile[(n >> 1) * {PITCH} + (n & 1) * {THREADS} + thread]");
    text.line(format!("{} {ty} tile[{}];", dialect.shared(), THREADS * PITCH));
    text.line(format!("const i32 thread = (i32){};", dialect.thread(0)));
    text.line(format!("const i64 row = (i64){} / shape.tiles;", dialect.block(0)));
    text.line(format!("const i64 first = (i64){} % shape.tiles * {};", dialect.block(0), THREADS * CELLS));
    text.line("const i64 outer = row / shape.rows, inner = row % shape.rows;");
    text.line("of += shape.of_first + outer * shape.of_outer + inner * shape.of_inner;");
    text.line("const i64 before = shape.before_first + outer * shape.before_outer + inner * shape.before_inner;");
    each(text, &format!("i32 n = 0; n < {CELLS}; n++"), |text| {
        text.line(format!("const i64 cell = first + n * {THREADS} + thread;"));
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
    each(text, &format!("i32 n = 0; n < {CELLS}; n++"), |text| {
        text.line(format!("v[n] = tile[thread * {PITCH} + n];"));
    });
}

fn source(
    dialect: Dialect,
    scalar: ScalarType,
    entry: &str,
    params: &[String],
    rest: impl FnOnce(&mut Text),
) -> Source {
    let mut helpers = Helpers::default();
    let folding = combining(dialect, scalar, FoldOp::Sum, &mut helpers);
    let mut main = Text { depth: 1, ..Text::default() };
    fetched(dialect, scalar, &mut main, &mut helpers);
    rest(&mut main);
    let mut whole = helpers.text(dialect);
    whole.append(folding);
    whole.line("typedef struct {");
    WORDS.iter().for_each(|word| whole.line(format!("    i64 {word};")));
    whole.line("} Shape;");
    whole.line("");
    whole.line(format!("{} {entry}(", dialect.entry([THREADS, 1, 1], 1)));
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
    source(dialect, scalar, "tida_scan_sums", &params, |text| {
        // Neighbours first: what the last cell of a block comes to.
        for by in [1, 2, 4, 8, 16, 32] {
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
    source(dialect, scalar, "tida_scan_cells", &params, |text| {
        for by in [1, 2, 4, 8, 16, 32] {
            each(text, &format!("i32 n = {}; n >= {by}; n--", CELLS - 1), |text| {
                text.line(format!("v[n] = tida_fold(v[n - {by}], v[n]);"));
            });
        }
        text.line(format!("const i64 block = shape.block + number / {CELLS};"));
        text.line("const bool there = number < shape.cells;");
        text.block("if (there && block > 0)", |text| {
            text.line(format!("const {ty} start = sums[before + block - 1];"));
            each(text, &format!("i32 n = 0; n < {CELLS}; n++"), |text| text.line("v[n] = tida_fold(start, v[n]);"));
        });
        text.block("if (shape.exclusive != 0)", |text| {
            each(text, &format!("i32 n = {}; n > 0; n--", CELLS - 1), |text| text.line("v[n] = v[n - 1];"));
            text.line("v[0] = 0;");
            text.line("if (there && block > 0) v[0] = blocks[before + block - 1];");
            text.line("if (there && block > 1) v[0] = tida_fold(sums[before + block - 2], v[0]);");
        });
        each(text, &format!("i32 n = 0; n < {CELLS}; n++"), |text| {
            text.line(format!("tile[thread * {PITCH} + n] = v[n];"));
        });
        text.line(dialect.barrier());
        text.line("to += shape.to_first + outer * shape.to_outer + inner * shape.to_inner;");
        each(text, &format!("i32 n = 0; n < {CELLS}; n++"), |text| {
            text.line(format!("const i64 cell = first + n * {THREADS} + thread;"));
            let place = format!("tile[(n >> 1) * {PITCH} + (n & 1) * {THREADS} + thread]");
            text.line(format!("if (cell < shape.cells) to[cell] = {place};"));
        });
    })
}
