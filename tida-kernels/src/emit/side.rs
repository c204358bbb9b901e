//! A thread that marches with several cells side by side (see [`crate::plan::wide::side`]).
//!
//! The loop over its cells is written for all ways in which they may lie.

use std::ops::Range;

use super::Field;
use super::access::around;
use super::helpers::Helper;
use super::kernel::{coordinates, pointers, positions};
use super::march;
use super::shared::Shared;
use super::text::Text;
use super::wide::{component_type, side_by_side};
use crate::plan::wide::{AHEAD, Row, Side};
use crate::plan::{Dialect, Plan};

/// Cells of a thread, side by side and along the march, whose reads are under way together where planes are handed on.
const UNDER_WAY: usize = 4;

/// Rows that the compiler is asked to take at once where no value is handed on.
const ROWS: usize = 4;

/// How the cells of a thread lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    /// All are in the box, and memory is aligned for them; the first one's coordinate is a multiple of their number, so
    /// that the compiler sees that quotients of it are those of its neighbours.
    Even,
    /// The same, without the last.
    Whole,
    /// Some may be beyond the box.
    Some,
}

/// The body of a thread from its first cells on. A row is read as it comes into reach at its highest plane, and handed
/// on to the planes below. Where all cells are in the box and memory lies so, rows come and go at once; else each value
/// by itself, in each cell.
pub(super) fn along(shared: &mut Shared<'_>, text: &mut Text, body: &Text) {
    let Some(side) = shared.side.clone() else { return };
    let (last, cells) = (shared.kernel.rank.saturating_sub(1), side.cells);
    let names = ["start", "left", "whole"];
    let [start, left, whole] = names.map(|name| shared.own(name));
    let tests = tests(shared, &side);
    let (t, extent) = (shared.own(&format!("t{last}")), shared.field(Field::Extent(last as u32)));
    pointers(shared, text);
    positions(shared, text, "", &start);
    text.line(format!("const i32 {left} = (i32){extent} - {t};"));
    text.line(format!("const bool {whole} = {left} >= {cells} && {};", tests.join(" && ")));
    let mut ways = vec![(format!("if ({whole})"), Lie::Whole), ("else".to_owned(), Lie::Some)];
    if side.alike {
        let (beside, lo) = (shared.own("beside"), shared.field(Field::Lo(last as u32)));
        text.line(format!("const i64 {beside} = {lo} + {t};"));
        let even = format!("{beside} >= 0 && {beside} <= {} && {beside} % {cells} == 0", i32::MAX);
        ways.insert(0, (format!("if ({whole} && {even})"), Lie::Even));
        ways[1].0.insert_str(0, "else ");
    }
    for (n, (when, lie)) in ways.into_iter().enumerate() {
        text.line(format!("{}{when} {{", if n == 0 { "" } else { "} " }));
        text.depth += 1;
        turns(shared, text, &side, body, lie);
        text.depth -= 1;
    }
    text.line("}");
}

/// What says that memory is aligned for the cells of a thread, side by side.
pub(super) fn tests(shared: &mut Shared<'_>, side: &Side) -> Vec<String> {
    let (last, cells) = (shared.kernel.rank.saturating_sub(1), side.cells);
    let mut used: Vec<(String, u8, usize)> = Vec::new();
    let rows = side.rows.iter().map(|row| (row.arg, row.component, row.bytes));
    for (arg, component, bytes) in rows.chain(side.stores.iter().copied()) {
        let plane = (shared.plane(arg, component), shared.group(arg), bytes);
        if !used.contains(&plane) {
            used.push(plane);
        }
    }
    let mut tests = Vec::new();
    for (plane, group, bytes) in &used {
        let position = shared.position(*group);
        tests.push(format!("(u64)({plane} + {position}) % {} == 0", bytes * cells));
    }
    let mut groups: Vec<u8> = used.iter().map(|plane| plane.1).collect();
    groups.sort_unstable();
    groups.dedup();
    for group in groups {
        let strides: Vec<String> = (0..last).map(|axis| shared.stride(group, axis)).collect();
        let all = if strides.len() == 1 { strides.concat() } else { format!("({})", strides.join(" | ")) };
        tests.push(format!("{all} % {cells} == 0"));
    }
    tests
}

/// The loop over the cells of a march, each value read by itself.
pub(super) fn value_by_value(shared: &mut Shared<'_>, text: &mut Text, side: &Side, body: &Text) {
    turns(shared, text, side, body, Lie::Some);
}

/// The coordinate of a cell along the last axis. NVRTC 13.0 finds that `(x | 1) / 2` is `x / 2`, but not that
/// `(x + 1) / 2` is, where it could know that `x` is even.
fn column(shared: &mut Shared<'_>, text: &mut Text, lie: Lie) {
    let [column, beside, e] = ["column", "beside", "e"].map(|name| shared.own(name));
    text.line(match lie {
        Lie::Even => format!("const i64 {column} = (i64)(u32){beside} | {e};"),
        Lie::Whole | Lie::Some => format!("const i64 {column} = {beside} + {e};"),
    });
}

/// Blocks that a multiprocessor is to hold; 0 says nothing.
pub(super) fn blocks(plan: &Plan, side: &Side) -> u32 {
    let threads: u32 = plan.block.iter().product();
    if side.is_stencil() { side.threads() / threads.max(1) } else { 0 }
}

/// The loop over the cells of a march, where they lie so.
fn turns(shared: &mut Shared<'_>, text: &mut Text, side: &Side, body: &Text, lie: Lie) {
    let whole = lie != Lie::Some;
    let [t, start, end] = ["t0", "start", "end"].map(|name| shared.own(name));
    let cells = side.cells;
    let mut handed = false;
    for row in &side.rows {
        let (ty, name) = (value_type(shared, row), shared.row_name(row));
        let all = row.held(cells);
        text.line(format!("{ty} {name}[{}];", all.end - all.start));
    }
    for row in &side.rows {
        if let Some(above) = above(side, row, whole) {
            handed = true;
            fill(shared, text, (above, row), both(row, above, cells), cells, whole);
        }
    }
    let unroll = match (whole, handed) {
        (false, _) => 1,
        (true, true) if side.is_stencil() => 1,
        (true, false) => ROWS,
        (true, true) => (UNDER_WAY / cells).max(1),
    };
    let next = march::next(shared);
    text.line(format!("#pragma unroll {unroll}"));
    text.block(format!("for (i32 {t} = {start}; {t} < {end}; {next})"), |text| {
        for row in &side.rows {
            let Some(above) = above(side, row, whole) else { continue };
            let (name, from) = (shared.row_name(row), shared.row_name(above));
            for cell in both(row, above, cells) {
                let [to, from_at] = [row, above].map(|row| cell - row.along.0);
                text.line(format!("{name}[{to}] = {from}[{from_at}];"));
            }
        }
        // What comes from memory comes first, and what will come is asked for next.
        let (first, others): (Vec<&Row>, Vec<&Row>) = match side.is_stencil() {
            true => side.rows.iter().partition(|row| side.first().contains(row)),
            false => (Vec::new(), side.rows.iter().collect()),
        };
        let asked = first.len();
        for (n, row) in first.into_iter().chain(others).enumerate() {
            if whole && n == asked {
                ask_ahead(shared, text, side);
            }
            let handed = above(side, row, whole).map_or(0..0, |above| both(row, above, cells));
            let all = row.held(cells);
            if handed.is_empty() {
                fill(shared, text, (row, row), all, cells, whole);
            } else {
                fill(shared, text, (row, row), all.start..handed.start, cells, whole);
                fill(shared, text, (row, row), handed.end..all.end, cells, whole);
            }
        }
        cells_of(shared, text, side, body, lie, 0);
    });
}

/// The same of a march whose rows are in place, in the row of the thread's rows with this number, which has all cells.
pub(super) fn whole_row(shared: &mut Shared<'_>, text: &mut Text, side: &Side, body: &Text, row: i64) {
    cells_of(shared, text, side, body, Lie::Whole, row);
}

/// What the cells of a thread compute and store, once what they read is there.
fn cells_of(shared: &mut Shared<'_>, text: &mut Text, side: &Side, body: &Text, lie: Lie, row: i64) {
    let (whole, cells) = (lie != Lie::Some, side.cells);
    let [left, e] = ["left", "e"].map(|name| shared.own(name));
    let mut place = vec![0; shared.kernel.rank];
    if let [.., across, _] = place.as_mut_slice() {
        *across = row;
    }
    for (arg, component, _) in &side.stores {
        let (ty, name) = (component_type(shared, *arg, *component), shared.stored_name(*arg, *component));
        let many = side_by_side(shared, ty, cells);
        if !side.kept.contains(arg) {
            text.line(format!("{many} {name};"));
            continue;
        }
        let (plane, group) = (shared.plane(*arg, *component), shared.group(*arg));
        let (position, pointer) = (around(shared, group, &place), shared.dialect().pointer(&many, false));
        if whole {
            text.line(format!("{many} {name} = *({pointer})({plane} + {position});"));
            continue;
        }
        text.line(format!("{many} {name};"));
        for cell in 0..cells {
            let test = if cell == 0 { String::new() } else { format!("if ({left} > {cell}) ") };
            let more = if cell == 0 { String::new() } else { format!(" + {cell}") };
            text.line(format!("{test}{name}.at[{cell}] = {plane}[{position}{more}];"));
        }
    }
    text.line("#pragma unroll");
    text.block(format!("for (i32 {e} = 0; {e} < {cells}; {e}++)"), |text| {
        if !whole {
            text.line(format!("if ({e} >= {left}) continue;"));
        }
        if side.alike {
            column(shared, text, lie);
        }
        coordinates(shared, text);
        text.append(body.clone().deeper(text.depth - 1));
    });
    for (arg, component, _) in &side.stores {
        let (ty, name) = (component_type(shared, *arg, *component), shared.stored_name(*arg, *component));
        let (plane, group) = (shared.plane(*arg, *component), shared.group(*arg));
        let position = around(shared, group, &place);
        if whole {
            let pointer = shared.dialect().pointer(&side_by_side(shared, ty, cells), true);
            text.line(match shared.plan.streams() {
                true => format!("{}(({pointer})({plane} + {position}), {name});", shared.helper(Helper::Stream)),
                false => format!("*({pointer})({plane} + {position}) = {name};"),
            });
            continue;
        }
        for cell in 0..cells {
            let test = if cell == 0 { String::new() } else { format!("if ({left} > {cell}) ") };
            let more = if cell == 0 { String::new() } else { format!(" + {cell}") };
            text.line(format!("{test}{plane}[{position}{more}] = {name}.at[{cell}];"));
        }
    }
}

/// Asks for what the planes ahead have that no thread has read yet, if the march reaches them. Else reads of memory
/// were too few at a time: such threads have many registers, and so a multiprocessor has few of them.
fn ask_ahead(shared: &mut Shared<'_>, text: &mut Text, side: &Side) {
    if !side.is_stencil() || shared.dialect() != Dialect::Cuda {
        return;
    }
    let (t, end) = (shared.own("t0"), shared.own("end"));
    text.block(format!("if ({t} + {AHEAD} < {end})"), |text| ask(shared, text, side, 0));
}

/// Asks for it, in the row of the thread's rows with this number. CUDA.
pub(super) fn ask(shared: &mut Shared<'_>, text: &mut Text, side: &Side, row_number: i64) {
    for row in side.first() {
        let (plane, group) = (shared.plane(row.arg, row.component), shared.group(row.arg));
        let mut offsets = [row.before.as_slice(), &[0]].concat();
        offsets[0] += AHEAD;
        if let [.., across, _] = offsets.as_mut_slice() {
            *across += row_number;
        }
        let position = around(shared, group, &offsets);
        text.line(format!("asm volatile(\"prefetch.global.L2 [%0];\" :: \"l\"({plane} + ({position})));"));
    }
}

/// The type of the values of a row.
fn value_type(shared: &Shared<'_>, row: &Row) -> &'static str {
    row.codec.map_or_else(|| component_type(shared, row.arg, row.component), |codec| codec.value().name())
}

/// What two rows hold.
fn both(a: &Row, b: &Row, cells: usize) -> Range<i64> {
    let (a, b) = (a.held(cells), b.held(cells));
    a.start.max(b.start)..a.end.min(b.end)
}

/// The row one plane above another, from which values are handed down: where all cells are whole, for else it may lack
/// what the other one needs beyond the last cell.
fn above<'a>(side: &'a Side, row: &Row, whole: bool) -> Option<&'a Row> {
    side.above(row).filter(|_| whole)
}

/// Reads the values of `from` that belong to these cells into the row `to`.
fn fill(shared: &mut Shared<'_>, text: &mut Text, (to, from): (&Row, &Row), of: Range<i64>, cells: usize, whole: bool) {
    let name = shared.row_name(to);
    fill_into(shared, text, (&name, to.along.0), from, of, (cells, whole));
}

/// Reads all values of a row of whole cells into what has this name.
pub(super) fn fill_named(shared: &mut Shared<'_>, text: &mut Text, name: &str, row: &Row, cells: usize) {
    fill_into(shared, text, (name, row.along.0), row, row.held(cells), (cells, true));
}

/// Reads the values of `from` that belong to these cells into what has this name, whose first value is that of the cell
/// with this number.
fn fill_into(
    shared: &mut Shared<'_>,
    text: &mut Text,
    (name, first): (&str, i64),
    from: &Row,
    of: Range<i64>,
    (cells, whole): (usize, bool),
) {
    let left = shared.own("left");
    let (plane, group) = (shared.plane(from.arg, from.component), shared.group(from.arg));
    let decode = from.codec.map(|codec| shared.decode(codec));
    let value = |code: String| match &decode {
        Some(decode) => format!("{decode}({code})"),
        None => code,
    };
    let own = cells as i64;
    let place = |shared: &mut Shared<'_>, cell: i64| {
        let offsets = [from.before.as_slice(), &[cell]].concat();
        around(shared, group, &offsets)
    };
    let mut cell = of.start;
    while cell < of.end {
        let position = place(shared, cell);
        if whole && cell.rem_euclid(own) == 0 && cell + own <= of.end {
            let ty = component_type(shared, from.arg, from.component);
            let many = side_by_side(shared, ty, cells);
            let (pointer, row) = (shared.dialect().pointer(&many, false), shared.own("row"));
            text.block("", |text| {
                text.line(format!("const {many} {row} = *({pointer})({plane} + ({position}));"));
                for n in 0..own {
                    text.line(format!("{name}[{}] = {};", cell + n - first, value(format!("{row}.at[{n}]"))));
                }
            });
            cell += own;
            continue;
        }
        // A cell that no cell of the box reaches may be nowhere.
        let beyond = cell - from.along.1;
        let test = if whole || beyond < 1 { String::new() } else { format!("if ({left} > {beyond}) ") };
        text.line(format!("{test}{name}[{}] = {};", cell - first, value(format!("{plane}[{position}]"))));
        cell += 1;
    }
}
