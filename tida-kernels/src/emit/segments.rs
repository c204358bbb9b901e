//! Which thread has which cell, and what it does with the cell's value.

use super::Field;
use super::fold::{identity, partial};
use super::kernel::{cell_call, result_type};
use super::shared::Shared;
use super::text::Text;
use crate::ir::Access;
use crate::plan::{Dialect, FoldOp, Goal};

/// Segments a thread reads two cells of.
const PER_THREAD: usize = 8;
/// Blocks that a multiprocessor is to hold of those that write too: 1536 threads.
const HELD: u32 = 6;
/// Rows, and warps, of a block.
const WARPS: usize = 8;

/// Takes the geometry of this block's box, where there are several.
pub(super) fn choose_box(shared: &mut Shared<'_>, text: &mut Text) -> String {
    let block = shared.dialect().block(2);
    if !shared.plan.many {
        return block;
    }
    let (boxes, tiles) = (shared.own("boxes"), shared.own("log_tiles"));
    let block = if shared.dialect() == Dialect::OpenCl { format!("(u32){block}") } else { block };
    text.line(match shared.plan.by_value {
        0 => format!("const Geometry box = {boxes}[{block} >> {tiles}];"),
        _ => format!("const Geometry& box = {boxes}.of[{block} >> {tiles}];"),
    });
    format!("{block} & ((1u << {tiles}) - 1)")
}

/// An expression as an `i32`.
fn int(text: &str) -> String {
    if text.contains(' ') { format!("(i32)({text})") } else { format!("(i32){text}") }
}

/// The numbers of the cell along these axes but the last two, from the thread's place along z. Of a thread that marches
/// the first is that of its stretch.
fn outer(shared: &mut Shared<'_>, text: &mut Text, z: &str, axes: &[usize]) {
    if let [first, _, _] = axes {
        let t0 = numbered(shared, *first);
        let cell = coloured(shared, *first, int(z));
        text.line(format!("const i32 {t0} = {cell};"));
    } else if let [first, second, _, _, ..] = axes {
        let (t0, t1, folded) = (numbered(shared, *first), numbered(shared, *second), shared.own("z"));
        let extent = shared.field(Field::Extent(*second as u32));
        let every = shared.plan.colours.map_or(1, |colours| colours.every(*second));
        let extent = match every {
            1 => format!("(i32){extent}"),
            _ => format!("((i32){extent} + {}) / {every}", every - 1),
        };
        let divided = if every == 1 { extent } else { format!("({extent})") };
        let [first_cell, second_cell] =
            [(first, "/"), (second, "%")].map(|(axis, op)| coloured(shared, *axis, format!("{folded} {op} {divided}")));
        text.line(format!("const i32 {folded} = {};", int(z)));
        text.line(format!("const i32 {t0} = {first_cell};"));
        text.line(format!("const i32 {t1} = {second_cell};"));
    }
}

/// The number of a cell along an axis, where `place` is the thread's place along it.
fn coloured(shared: &mut Shared<'_>, axis: usize, place: String) -> String {
    let Some(colours) = shared.plan.colours else { return place };
    let (every, last) = (colours.every(axis), axis + 1 == shared.kernel.rank);
    if every == 1 {
        return place;
    }
    let first = format!("(i32){}", shared.field(Field::Colour(axis as u32)));
    let place = if place.contains(' ') { format!("({place})") } else { place };
    match colours.slanted && last {
        true => format!("{place} * {every} + {}", shared.own("begins")),
        false => format!("{place} * {every} + {first}"),
    }
}

/// Where a slanted colour begins in the row of the thread.
fn begins(shared: &mut Shared<'_>, text: &mut Text) {
    let last = shared.kernel.rank.saturating_sub(1);
    let Some(every) = shared.plan.colours.filter(|colours| colours.slanted).map(|colours| colours.every(last)) else {
        return;
    };
    let mut sum = format!("(i32){}", shared.field(Field::Colour(last as u32)));
    for axis in 0..last {
        sum += &format!(" + {}", shared.own(&format!("t{axis}")));
    }
    // The colour of the row's first cell, counted from the one that runs.
    let (before, begins) = (shared.own("before"), shared.own("begins"));
    text.line(format!("const i32 {before} = (i32)((u32)({sum}) % {every}u);"));
    text.line(format!("const i32 {begins} = {before} == 0 ? 0 : {every} - {before};"));
}

/// What is called that a thread's place along an axis is the number of.
fn numbered(shared: &mut Shared<'_>, axis: usize) -> String {
    let marches = axis == 0 && shared.plan.marches(shared.kernel.rank).is_some();
    if marches { shared.own("stretch") } else { shared.own(&format!("t{axis}")) }
}

/// Finds the cell of the thread, or the first and the end of those that it takes along axis 0, or its line: x is the
/// last axis along which threads lie, y the one before, z those before that.
pub(super) fn threads(shared: &mut Shared<'_>, text: &mut Text) {
    let dialect = shared.dialect();
    let rank = shared.kernel.rank;
    let [x, y, z] = shared.plan.block;
    let mut along_z = choose_box(shared, text);
    if !shared.plan.many {
        along_z = dialect.place(2, z);
    } else if z > 1 {
        along_z = format!("({along_z}) * {z} + {}", dialect.thread(2));
    }
    let axes = shared.plan.axes(rank);
    outer(shared, text, &along_z, &axes);
    if let [.., axis, _] = axes[..] {
        let t = numbered(shared, axis);
        let place = if shared.plan.has_chunks() { dialect.block(1) } else { dialect.place(1, y) };
        let cell = coloured(shared, axis, int(&place));
        text.line(format!("const i32 {t} = {cell};"));
    }
    if shared.plan.along.is_some() && !shared.plan.has_chunks() {
        // Each line has one thread, also where a block is asked for that has more.
        let spare = (axes.len()..3).filter(|n| [x, y, z][*n] > 1 || *n == 0);
        let tests: Vec<String> = spare.map(|n| format!("{} != 0", dialect.thread(n))).collect();
        if !tests.is_empty() {
            text.line(format!("if ({}) return;", tests.join(" || ")));
        }
    }
    let Some(last) = axes.last() else { return };
    let t = shared.own(&format!("t{last}"));
    let beside = match &shared.side {
        Some(side) => format!(" * {}", side.cells),
        None => String::new(),
    };
    begins(shared, text);
    let cell = coloured(shared, *last, format!("{}{beside}", int(&dialect.place(0, x))));
    text.line(format!("const i32 {t} = {cell};"));
    let marches = shared.plan.marches(rank).is_some();
    if marches {
        let (start, stretch, march) = (shared.own("start"), numbered(shared, 0), shared.own("march"));
        text.line(format!("const i32 {start} = {stretch} * {march};"));
    }
    // Threads of chunks without a line of their own help to fetch and to store.
    let chunks = shared.plan.has_chunks();
    let all = if chunks { axes.len().saturating_sub(1) } else { axes.len() };
    let tests: Vec<String> = axes
        .into_iter()
        .take(all)
        .map(|axis| {
            if marches && axis == 0 {
                let (start, extent) = (shared.own("start"), shared.field(Field::Extent(0)));
                return format!("{start} >= (i32){extent}");
            }
            let (t, extent) = (shared.own(&format!("t{axis}")), shared.field(Field::Extent(axis as u32)));
            format!("{t} >= {}{extent}", if shared.plan.narrow { "(i32)" } else { "" })
        })
        .collect();
    if !tests.is_empty() {
        text.line(format!("if ({}) return;", tests.join(" || ")));
    }
    if marches {
        let (start, end, march) = (shared.own("start"), shared.own("end"), shared.own("march"));
        let extent = format!("(i32){}", shared.field(Field::Extent(0)));
        text.line(format!("const i32 {end} = {extent} - {start} < {march} ? {extent} : {start} + {march};"));
    }
}

/// The number of the cell's row among those of the whole.
fn row(shared: &mut Shared<'_>) -> String {
    let mut text = shared.field(Field::FirstRow);
    for axis in 0..shared.kernel.rank.saturating_sub(1) {
        let (t, step) = (shared.own(&format!("t{axis}")), shared.field(Field::RowStep(axis as u32)));
        text += &format!(" + {t} * {step}");
    }
    text
}

/// Number of the cell `t` of a row in its row of the whole.
fn in_line(shared: &mut Shared<'_>, t: &str) -> String {
    let last = shared.kernel.rank.saturating_sub(1) as u32;
    let (lo, line_lo) = (shared.field(Field::Lo(last)), shared.field(Field::LineLo));
    format!("({lo} - {line_lo} + {t})")
}

/// Each cell's value to its place in the whole.
pub(super) fn values(shared: &mut Shared<'_>, text: &mut Text) {
    threads(shared, text);
    let rank = shared.kernel.rank;
    let at: Vec<String> = (0..rank).map(|axis| shared.own(&format!("t{axis}"))).collect();
    let (row_name, row) = (shared.own("row"), row(shared));
    let last = at.last().cloned().unwrap_or_default();
    let (cells, place) = (shared.field(Field::LineCells), in_line(shared, &last));
    text.line(format!("const i64 {row_name} = {row};"));
    let (out, call) = (shared.own("out"), cell_call(shared, &at));
    text.line(format!("{out}[{row_name} * {cells} + {place}] = {call};"));
}

/// What the parts of a kernel that folds segments have in common.
pub(super) struct Folding {
    /// The type of what is folded.
    pub ty: &'static str,
    /// It has the place of its cell.
    pub arg: bool,
    /// What changes nothing.
    pub nothing: String,
    /// Memory in which the threads of a block fold.
    pub folded: String,
    /// Number of the thread in its block.
    pub thread: String,
    /// One past the last segment of a row.
    pub end: String,
    /// The first segment of the block.
    pub first: String,
    /// The name of the row's number along the axis before the last, and what it is in the block's first row.
    pub row_axis: Option<(String, String)>,
    /// That a row is one of the box.
    pub tests: String,
    /// Number of the row.
    pub row: String,
}

impl Folding {
    /// The value of the cell `t` of a row, for a call that gives it.
    pub fn value(&self, shared: &mut Shared<'_>, call: String, t: &str) -> String {
        if !self.arg {
            return call;
        }
        let (cells, place) = (shared.field(Field::LineCells), in_line(shared, t));
        format!("tida_partial({call}, (u64)({} * {cells} + {place}))", shared.own("row"))
    }

    /// Declares the number of the row, if values have places.
    pub fn place_row(&self, shared: &mut Shared<'_>, text: &mut Text) {
        if self.arg {
            text.line(format!("const i64 {} = {};", shared.own("row"), self.row));
        }
    }

    /// Declares the number along the axis before the last of a row of the block.
    pub fn row_axis(&self, text: &mut Text, row: &str) {
        if let Some((t, first)) = &self.row_axis {
            text.line(format!("const i32 {t} = (i32)({first} + {row});"));
        }
    }
}

/// Segments of 64 cells folded by halves: threads read cells and fold what they can, and four threads fold what is
/// left. A block has 8 segments of 8 rows; along a single axis 64 segments.
pub(super) fn segments(shared: &mut Shared<'_>, text: &mut Text, op: FoldOp) {
    let dialect = shared.dialect();
    let scalar = result_type(shared.kernel);
    let ty = partial(scalar, op);
    let arg = matches!(op, FoldOp::ArgMin | FoldOp::ArgMax);
    let rank = shared.kernel.rank;
    let last = rank.saturating_sub(1);
    // Four threads have 16 cells each.
    let left = shared.wide.as_ref().map_or(32, |wide| 4 * wide.cells);
    let [folded, thread, end] = ["folded", "thread", "end"].map(|name| shared.own(name));
    super::fold::declare(dialect, text, ty, &folded, [WARPS * PER_THREAD, left], arg);
    let along_z = choose_box(shared, text);
    text.line(format!("const i32 {thread} = (i32){};", dialect.thread(0)));
    let (lo, extent) = (shared.field(Field::Lo(last as u32)), shared.field(Field::Extent(last as u32)));
    let wide = if rank >= 2 { PER_THREAD } else { PER_THREAD * WARPS };
    text.line(format!("const i64 {end} = (({lo} + {extent} - 1) >> 6) + 1;"));
    let axes: Vec<usize> = (0..shared.kernel.rank).collect();
    outer(shared, text, &along_z, &axes);
    let tests: Vec<String> = (0..last)
        .map(|axis| format!("{} < {}", shared.own(&format!("t{axis}")), shared.field(Field::Extent(axis as u32))))
        .collect();
    let folding = Folding {
        ty,
        arg,
        nothing: identity(dialect, scalar, op),
        folded,
        thread,
        end,
        first: format!("({lo} >> 6) + (i64){} * {wide}", dialect.block(0)),
        row_axis: rank
            .checked_sub(2)
            .map(|axis| (shared.own(&format!("t{axis}")), format!("{} * {WARPS}", dialect.block(1)))),
        tests: if tests.is_empty() { "true".into() } else { tests.join(" && ") },
        row: row(shared),
    };
    match shared.wide.clone() {
        Some(wide) => text.block("", |text| super::wide::read(shared, text, &folding, &wide)),
        None if writes(shared) => text.block("", |text| read_and_write(shared, text, &folding)),
        None => text.block("", |text| read(shared, text, &folding)),
    }
    let (out, list, first_of_list) =
        (shared.own("out"), shared.field(Field::Segments), shared.field(Field::FirstSegment));
    let Folding { folded, thread, end, tests, row, .. } = &folding;
    let number = super::fold::tail(dialect, text, ty, (folded, left), thread);
    let (segment, row_name) = (shared.own("segment"), shared.own("row"));
    text.block(format!("if (({thread} & 3) == 0)"), |text| {
        let (own_row, own_segment) = in_block(rank, &number);
        folding.row_axis(text, &own_row);
        text.line(format!("const i64 {segment} = {} + {own_segment};", folding.first));
        text.block(format!("if ({tests} && {segment} < {end})"), |text| {
            text.line(format!("const i64 {row_name} = {row};"));
            let value = super::fold::last(folded, &number);
            text.line(format!("{out}[{row_name} * {list} + ({segment} - {first_of_list})] = {value};"));
        });
    });
}

/// The row of a block and the segment of the row that have this number in the block.
pub(super) fn in_block(rank: usize, number: &str) -> (String, String) {
    let segment = if rank >= 2 { format!("({number} & {})", PER_THREAD - 1) } else { number.to_owned() };
    (format!("({number} >> 3)"), segment)
}

/// Where a warp stands: names for a thread's place in it, its number, its first segment, and whether its row is one of
/// the box.
fn place_warp(shared: &mut Shared<'_>, text: &mut Text, folding: &Folding) -> [String; 4] {
    let [lane, warp, first, inside] = ["lane", "warp", "first", "inside"].map(|n| shared.own(n));
    let Folding { thread, tests, .. } = folding;
    text.line(format!("const i32 {lane} = {thread} & 31;"));
    text.line(format!("const i32 {warp} = {thread} >> 5;"));
    folding.row_axis(text, &warp);
    let own = if shared.kernel.rank >= 2 { String::new() } else { format!(" + {warp} * {PER_THREAD}") };
    text.line(format!("const i64 {first} = {}{own};", folding.first));
    text.line(format!("const bool {inside} = {tests};"));
    folding.place_row(shared, text);
    [lane, warp, first, inside]
}

/// A warp reads the cells of a segment, two a thread, and folds those.
fn read(shared: &mut Shared<'_>, text: &mut Text, folding: &Folding) {
    let rank = shared.kernel.rank;
    let last = rank.saturating_sub(1);
    let [lane, warp, first, inside] = place_warp(shared, text, folding);
    let [k, start, t, a, b] = ["k", "start", "t", "a", "b"].map(|n| shared.own(n));
    let (lo, extent) = (shared.field(Field::Lo(last as u32)), shared.field(Field::Extent(last as u32)));
    let Folding { ty, nothing, folded, .. } = folding;
    // All cells first, so that their reads are under way together.
    text.line(format!("{ty} {a}[{PER_THREAD}], {b}[{PER_THREAD}];"));
    text.line("#pragma unroll");
    text.block(format!("for (i32 {k} = 0; {k} < {PER_THREAD}; {k}++)"), |text| {
        text.line(format!("const i32 {start} = (i32)(({first} + {k}) * 64 - {lo}) + {lane};"));
        for (name, more) in [(&a, ""), (&b, " + 32")] {
            text.line(format!("{name}[{k}] = {nothing};"));
            let mut at: Vec<String> = (0..last).map(|axis| shared.own(&format!("t{axis}"))).collect();
            at.push(t.clone());
            let call = cell_call(shared, &at);
            let value = folding.value(shared, call, &t);
            text.block("", |text| {
                text.line(format!("const i32 {t} = {start}{more};"));
                text.line(format!("if ({inside} && {t} >= 0 && {t} < {extent}) {name}[{k}] = {value};"));
            });
        }
    });
    text.line("#pragma unroll");
    text.block(format!("for (i32 {k} = 0; {k} < {PER_THREAD}; {k}++)"), |text| {
        text.line(format!("{folded}[{warp} * {PER_THREAD} + {k}][{lane}] = tida_fold({a}[{k}], {b}[{k}]);"));
    });
}

/// Whether the kernel also writes arrays: a sweep that a reduction ends.
fn writes(shared: &Shared<'_>) -> bool {
    shared.kernel.args.iter().any(|arg| arg.access == Access::Write)
}

/// Blocks that a multiprocessor is to hold of a kernel that folds and writes; 0 says nothing.
pub(super) fn blocks(shared: &Shared<'_>) -> u32 {
    match shared.plan.goal {
        Goal::Segments(_) if writes(shared) => HELD,
        _ => 0,
    }
}

/// The same where cells are written too: those of one segment after the other, since a read does not come before a
/// write that it may not see. Cells of a segment that is whole are asked for nothing, so that their reads are under way
/// together.
fn read_and_write(shared: &mut Shared<'_>, text: &mut Text, folding: &Folding) {
    let rank = shared.kernel.rank;
    let last = rank.saturating_sub(1);
    let [lane, warp, first, inside] = place_warp(shared, text, folding);
    let [k, start, t, a, b, whole] = ["k", "start", "t", "a", "b", "whole"].map(|n| shared.own(n));
    let (lo, extent) = (shared.field(Field::Lo(last as u32)), shared.field(Field::Extent(last as u32)));
    let Folding { ty, nothing, folded, .. } = folding;
    let mut at: Vec<String> = (0..last).map(|axis| shared.own(&format!("t{axis}"))).collect();
    at.push(t.clone());
    let call = cell_call(shared, &at);
    let value = folding.value(shared, call, &t);
    text.line("#pragma unroll 1");
    text.block(format!("for (i32 {k} = 0; {k} < {PER_THREAD}; {k}++)"), |text| {
        text.line(format!("const i32 {start} = (i32)(({first} + {k}) * 64 - {lo});"));
        text.line(format!("const bool {whole} = {inside} && {start} >= 0 && {start} + 64 <= {extent};"));
        text.line(format!("{ty} {a} = {nothing}, {b} = {nothing};"));
        let cells = [(&a, ""), (&b, " + 32")];
        let each = |text: &mut Text, asked: bool| {
            for (name, more) in cells {
                text.block("", |text| {
                    text.line(format!("const i32 {t} = {start} + {lane}{more};"));
                    let tests =
                        if asked { format!("if ({inside} && {t} >= 0 && {t} < {extent}) ") } else { String::new() };
                    text.line(format!("{tests}{name} = {value};"));
                });
            }
        };
        text.line(format!("if ({whole}) {{"));
        text.depth += 1;
        each(text, false);
        text.depth -= 1;
        text.line("} else {");
        text.depth += 1;
        each(text, true);
        text.depth -= 1;
        text.line("}");
        text.line(format!("{folded}[{warp} * {PER_THREAD} + {k}][{lane}] = tida_fold({a}, {b});"));
    });
}
