//! Which thread has which cell, and what it does with the cell's value.

use super::Field;
use super::fold::{identity, partial};
use super::kernel::{cell_call, result_type};
use super::shared::Shared;
use super::text::Text;
use crate::plan::{Dialect, FoldOp};

/// Segments a thread reads two cells of.
const PER_THREAD: usize = 8;
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

/// The numbers of the cell along the axes before the last two, from the thread's place along z. Of a thread that marches
/// the first is that of its stretch.
fn outer(shared: &mut Shared<'_>, text: &mut Text, z: &str) {
    let rank = shared.kernel.rank;
    let first = first_axis(shared);
    if rank == 3 {
        let t0 = first;
        text.line(format!("const i32 {t0} = {};", int(z)));
    } else if rank >= 4 {
        let (t0, t1, folded) = (first, shared.own("t1"), shared.own("z"));
        let extent = shared.field(Field::Extent(1));
        text.line(format!("const i32 {folded} = {};", int(z)));
        text.line(format!("const i32 {t0} = {folded} / (i32){extent};"));
        text.line(format!("const i32 {t1} = {folded} % (i32){extent};"));
    }
}

/// What is called that a thread's place along axis 0 is the number of.
fn first_axis(shared: &mut Shared<'_>) -> String {
    let marches = shared.plan.marches(shared.kernel.rank).is_some();
    shared.own(if marches { "stretch" } else { "t0" })
}

/// Finds the cell of the thread, or the first and the end of those that it takes along axis 0: x is the last axis, y the one before, z those before that.
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
    outer(shared, text, &along_z);
    if rank >= 2 {
        let t = if rank == 2 { first_axis(shared) } else { shared.own(&format!("t{}", rank - 2)) };
        text.line(format!("const i32 {t} = {};", int(&dialect.place(1, y))));
    }
    let t = shared.own(&format!("t{}", rank.saturating_sub(1)));
    text.line(format!("const i32 {t} = {};", int(&dialect.place(0, x))));
    let marches = shared.plan.marches(rank).is_some();
    if marches {
        let (start, stretch, march) = (shared.own("start"), first_axis(shared), shared.own("march"));
        text.line(format!("const i32 {start} = {stretch} * {march};"));
    }
    let tests: Vec<String> = (0..rank)
        .map(|axis| {
            if marches && axis == 0 {
                let (start, extent) = (shared.own("start"), shared.field(Field::Extent(0)));
                return format!("{start} >= (i32){extent}");
            }
            let (t, extent) = (shared.own(&format!("t{axis}")), shared.field(Field::Extent(axis as u32)));
            format!("{t} >= {}{extent}", if shared.plan.narrow { "(i32)" } else { "" })
        })
        .collect();
    text.line(format!("if ({}) return;", tests.join(" || ")));
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

/// Segments of 64 cells folded by halves: a warp reads the cells of a segment, two a thread, and four threads fold the 32
/// that are left. A block has 8 segments of 8 rows; along a single axis 64 segments.
pub(super) fn segments(shared: &mut Shared<'_>, text: &mut Text, op: FoldOp) {
    let dialect = shared.dialect();
    let scalar = result_type(shared.kernel);
    let ty = partial(scalar, op);
    let arg = matches!(op, FoldOp::ArgMin | FoldOp::ArgMax);
    let rank = shared.kernel.rank;
    let last = rank.saturating_sub(1);
    let names = ["folded", "thread", "lane", "warp", "first", "end", "inside", "k", "start", "t", "a", "b", "row"];
    let [folded, thread, lane, warp, first, end, inside, k, start, t, a, b, row_name] = names.map(|n| shared.own(n));
    super::fold::declare(dialect, text, ty, &folded, WARPS * PER_THREAD, arg);
    let along_z = choose_box(shared, text);
    text.line(format!("const i32 {thread} = (i32){};", dialect.thread(0)));
    text.line(format!("const i32 {lane} = {thread} & 31;"));
    text.line(format!("const i32 {warp} = {thread} >> 5;"));
    let (lo, extent) = (shared.field(Field::Lo(last as u32)), shared.field(Field::Extent(last as u32)));
    let block_x = dialect.block(0);
    let wide = if rank >= 2 { PER_THREAD } else { PER_THREAD * WARPS };
    let block_first = format!("({lo} >> 6) + (i64){block_x} * {wide}");
    let end_value = format!("(({lo} + {extent} - 1) >> 6) + 1");
    text.line(format!("const i64 {end} = {end_value};"));
    outer(shared, text, &along_z);
    let row_axis = rank.checked_sub(2).map(|axis| shared.own(&format!("t{axis}")));
    let block_y = dialect.block(1);

    let tests: Vec<String> = (0..last)
        .map(|axis| format!("{} < {}", shared.own(&format!("t{axis}")), shared.field(Field::Extent(axis as u32))))
        .collect();
    let tests = if tests.is_empty() { "true".into() } else { tests.join(" && ") };
    let row = row(shared);
    let nothing = identity(dialect, scalar, op);
    let cells = arg.then(|| (shared.field(Field::LineCells), in_line(shared, &t)));
    text.block("", |text| {
        if let Some(t) = &row_axis {
            text.line(format!("const i32 {t} = (i32)({block_y} * {WARPS} + {warp});"));
            text.line(format!("const i64 {first} = {block_first};"));
        } else {
            text.line(format!("const i64 {first} = {block_first} + {warp} * {PER_THREAD};"));
        }
        text.line(format!("const bool {inside} = {tests};"));
        if arg {
            text.line(format!("const i64 {row_name} = {row};"));
        }
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
                let value = match &cells {
                    None => call,
                    Some((cells, place)) => format!("tida_partial({call}, (u64)({row_name} * {cells} + {place}))"),
                };
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
    });
    let (out, list, first_of_list) =
        (shared.own("out"), shared.field(Field::Segments), shared.field(Field::FirstSegment));
    let number = super::fold::tail(dialect, text, ty, &folded, &thread);
    let segment = shared.own("segment");
    text.block(format!("if (({thread} & 3) == 0)"), |text| {
        let own_segment = if rank >= 2 { format!("({number} & {})", PER_THREAD - 1) } else { number.clone() };
        if let Some(t) = &row_axis {
            text.line(format!("const i32 {t} = (i32)({block_y} * {WARPS} + ({number} >> 3));"));
        }
        text.line(format!("const i64 {segment} = {block_first} + {own_segment};"));
        text.block(format!("if ({tests} && {segment} < {end})"), |text| {
            text.line(format!("const i64 {row_name} = {row};"));
            let value = super::fold::last(&folded, &number);
            text.line(format!("{out}[{row_name} * {list} + ({segment} - {first_of_list})] = {value};"));
        });
    });
}
