//! Threads that read several cells side by side at once (see [`crate::plan::wide`]).

use super::Field;
use super::access::around;
use super::kernel::{cell_call, pointers, positions};
use super::segments::{Folding, in_block};
use super::shared::Shared;
use super::text::Text;
use super::types::memory;
use crate::element::ScalarType;
use crate::plan::wide::{Read, Wide};
use crate::plan::{Dialect, SEGMENT};

/// Threads of a segment.
const THREADS: usize = 4;

/// The type of what memory holds of a component.
pub(super) fn component_type(shared: &Shared<'_>, arg: usize, component: usize) -> &'static str {
    let types = shared.kernel.args[arg].element.component_types();
    memory(types.get(component).copied().unwrap_or(ScalarType::U8))
}

/// The type of a value that is read.
fn scalar(shared: &Shared<'_>, read: &Read) -> &'static str {
    component_type(shared, read.arg, read.component)
}

/// What the function of a cell is given of what was read.
pub(super) fn given(shared: &mut Shared<'_>) -> Vec<String> {
    let reads = shared.wide.clone().map(|wide| wide.reads).unwrap_or_default();
    reads.iter().map(|read| format!("const {} {}", scalar(shared, read), shared.wide_name(read))).collect()
}

/// The name of the type of so many values side by side, aligned as a whole.
pub(super) fn side_by_side(shared: &mut Shared<'_>, ty: &str, cells: usize) -> String {
    shared.own(&format!("{ty}x{cells}"))
}

/// The types of values side by side.
pub(super) fn types(shared: &mut Shared<'_>) -> Text {
    let mut all: Vec<(&str, usize, usize)> = Vec::new();
    for read in shared.wide.iter().flat_map(|wide| wide.reads.iter().map(|read| (read, wide.cells))) {
        all.push((scalar(shared, read.0), read.0.bytes, read.1));
    }
    if let Some(side) = &shared.side {
        let rows = side.rows.iter().map(|row| (row.arg, row.component, row.bytes));
        for (arg, component, bytes) in rows.chain(side.stores.iter().copied()) {
            all.push((component_type(shared, arg, component), bytes, side.cells));
        }
    }
    for (at, cells) in super::cache::coded(shared) {
        let tile = shared.tile(at);
        for component in &tile.components {
            for ty in [shared.component_type(tile.arg, *component), shared.held_type(at, *component)] {
                all.push((memory(ty), ty.size(), cells));
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    let mut text = Text::default();
    for (ty, bytes, cells) in all {
        let (name, bytes) = (side_by_side(shared, ty, cells), bytes * cells);
        text.line(match shared.dialect() {
            Dialect::Cuda => format!("typedef struct __align__({bytes}) {{ {ty} at[{cells}]; }} {name};"),
            Dialect::OpenCl => {
                format!("typedef struct {{ {ty} at[{cells}]; }} __attribute__((aligned({bytes}))) {name};")
            }
        });
        text.line("");
    }
    text
}

/// A fold by halves of values that are a part of a segment apart each.
fn by_halves(mut values: Vec<String>) -> String {
    while values.len() > 1 {
        let high = values.split_off(values.len() / 2);
        values = values.iter().zip(&high).map(|(a, b)| format!("tida_fold({a}, {b})")).collect();
    }
    values.pop().unwrap_or_default()
}

/// Four threads read the cells of a segment, 16 each: as many side by side as make 16 bytes, from each half, quarter or
/// eighth of the segment. They fold those that are whole parts apart; what is left are the first cells of a part, with
/// all that was folded into them. Segments that end early, or do not lie in memory as reads want it, are read value by
/// value.
pub(super) fn read(shared: &mut Shared<'_>, text: &mut Text, folding: &Folding, wide: &Wide) {
    let dialect = shared.dialect();
    let last = shared.kernel.rank.saturating_sub(1);
    let cells = wide.cells;
    // What a part of a segment has of cells: the four threads read one part at once.
    let part = THREADS * cells;
    let parts = SEGMENT as usize / part;
    // The function of a cell is given all that the kernel reads, and so takes no array.
    let mut at: Vec<String> = (0..=last).map(|axis| shared.own(&format!("t{axis}"))).collect();
    let mut call = |shared: &mut Shared<'_>, t: &str, given: &[String]| {
        at[last] = t.to_owned();
        let call = cell_call(shared, &[at.as_slice(), given].concat());
        folding.value(shared, call, t)
    };
    let first = shared.own(&format!("t{last}"));
    let names = ["number", "begin", "inside", "whole", "e"];
    let [number, begin, inside, whole, e] = names.map(|name| shared.own(name));
    let (lo, extent) = (shared.field(Field::Lo(last as u32)), shared.field(Field::Extent(last as u32)));
    let Folding { ty, nothing, folded, thread, tests, .. } = folding;

    let mut quick: Vec<String> = Vec::new();
    for side in 0..cells {
        let mut value = |shared: &mut Shared<'_>, n: usize| {
            let given: Vec<String> =
                wide.reads.iter().map(|read| format!("{}_{n}.at[{side}]", shared.wide_name(read))).collect();
            let t = match n * part + side {
                0 => first.clone(),
                more => format!("{first} + {more}"),
            };
            call(shared, &t, &given)
        };
        let values: Vec<String> = (0..parts).map(|n| value(shared, n)).collect();
        quick.push(by_halves(values));
    }
    let slow_t = shared.own("t");
    let slow_at = shared.own("from_first");
    let mut places: Vec<(String, String)> = Vec::new();
    let slow_given: Vec<String> = wide.reads.iter().map(|read| format!("{}_here", shared.wide_name(read))).collect();
    let slow = call(shared, &slow_t, &slow_given);
    for read in &wide.reads {
        let plane = shared.plane(read.arg, read.component);
        let group = shared.group(read.arg);
        let position = around(shared, group, &read.offsets);
        places.push((plane, position));
    }

    text.line(format!("const i32 {number} = {thread} >> 2;"));
    let (own_row, own_segment) = in_block(last + 1, &number);
    folding.row_axis(text, &own_row);
    text.line(format!("const i64 {begin} = ({} + {own_segment}) * {SEGMENT} - {lo};", folding.first));
    text.line(format!("const bool {inside} = {tests} && {begin} < {extent};"));
    text.line(format!("const i32 {first} = (i32){begin} + ({thread} & {}) * {cells};", THREADS - 1));
    folding.place_row(shared, text);
    pointers(shared, text);
    let along = at_first(shared, &first);
    positions(shared, text, "const ", &along);
    let aligned: Vec<String> = wide
        .reads
        .iter()
        .zip(&places)
        .map(|(read, (plane, position))| format!("(u64)({plane} + ({position})) % {} == 0", read.bytes * cells))
        .collect();
    let aligned = aligned.join(" && ");
    text.line(format!(
        "const bool {whole} = {inside} && {begin} >= 0 && {begin} + {SEGMENT} <= {extent} && {aligned};"
    ));
    text.block(format!("if ({whole})"), |text| {
        for (read, (plane, position)) in wide.reads.iter().zip(&places) {
            let name = shared.wide_name(read);
            let of = scalar(shared, read);
            let many = side_by_side(shared, of, cells);
            let pointer = dialect.pointer(&many, false);
            for n in 0..parts {
                let more = if n == 0 { String::new() } else { format!(" + {}", n * part) };
                text.line(format!("const {many} {name}_{n} = *({pointer})({plane} + ({position}{more}));"));
            }
        }
        for (side, value) in quick.iter().enumerate() {
            text.line(format!("{folded}[{number}][({thread} & {}) * {cells} + {side}] = {value};", THREADS - 1));
        }
    });
    text.line("else {");
    text.depth += 1;
    text.line("#pragma unroll 1");
    text.block(format!("for (i32 {e} = 0; {e} < {cells}; {e}++)"), |text| {
        let value = shared.own("value");
        for n in 0..parts {
            text.line(format!("{ty} {value}_{n} = {nothing};"));
            text.block("", |text| {
                let more = if n == 0 { String::new() } else { format!(" + {}", n * part) };
                text.line(format!("const i32 {slow_at} = {e}{more};"));
                text.line(format!("const i32 {slow_t} = {first} + {slow_at};"));
                text.block(format!("if ({inside} && {slow_t} >= 0 && {slow_t} < {extent})"), |text| {
                    for ((read, (plane, position)), name) in wide.reads.iter().zip(&places).zip(&slow_given) {
                        let of = scalar(shared, read);
                        text.line(format!("const {of} {name} = {plane}[{position} + {slow_at}];"));
                    }
                    text.line(format!("{value}_{n} = {slow};"));
                });
            });
        }
        let values = (0..parts).map(|n| format!("{value}_{n}")).collect();
        let value = by_halves(values);
        text.line(format!("{folded}[{number}][({thread} & {}) * {cells} + {e}] = {value};", THREADS - 1));
    });
    text.depth -= 1;
    text.line("}");
}

/// What `positions` takes for the first axis: the cell's number along it.
fn at_first(shared: &mut Shared<'_>, first: &str) -> String {
    if shared.kernel.rank == 1 { first.to_owned() } else { shared.own("t0") }
}
