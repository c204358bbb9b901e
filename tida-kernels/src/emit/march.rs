//! A thread that takes the cells of a column one after the other.

use super::access::around;
use super::ends;
use super::kernel::{coordinates, pointers, positions};
use super::shared::Shared;
use super::text::Text;
use super::types::memory;
use crate::element::ScalarType;
use crate::ir::has_loop;

/// Cells that the compiler is asked to take at once, so that registers need no moves and their reads are under way
/// together. A power of two: NVRTC 13.0 forgets what is left over where it unrolls by 3.
pub(super) const UNROLL: u32 = 4;

/// The body of a thread from its first cell on. A value enters each queue at its high end, in the cell that reads it
/// there: none is read that the body would not read, but for the gaps between offsets.
pub(super) fn along(shared: &mut Shared<'_>, text: &mut Text, body: Text) {
    let start = shared.own("start");
    let queues: Vec<usize> = shared.used.queues.iter().copied().collect();
    pointers(shared, text);
    positions(shared, text, "", &start);
    for &queue in &queues {
        let (ty, names) = (scalar(shared, queue), registers(shared, queue));
        for (name, by) in names[1..].iter().zip(shared.queues[queue].along.0..) {
            let value = value(shared, queue, by);
            text.line(format!("{ty} {name} = {value};"));
        }
    }
    // Loops of the user's are long enough by themselves.
    let most = if has_loop(&shared.kernel.body.block) { 1 } else { UNROLL };
    ends::loops(shared, text, body, |shared, text, body, unroll| {
        cells(shared, text, body, (&queues, unroll.min(most)));
    });
}

/// The loop over a thread's cells.
fn cells(shared: &mut Shared<'_>, text: &mut Text, body: Text, (queues, unroll): (&[usize], u32)) {
    let (t, start, end) = (shared.own("t0"), shared.own("start"), shared.own("end"));
    let next = next(shared);
    text.line(format!("#pragma unroll {unroll}"));
    text.block(format!("for (i32 {t} = {start}; {t} < {end}; {next})"), |text| {
        coordinates(shared, text);
        for &queue in queues {
            let (ty, names) = (scalar(shared, queue), registers(shared, queue));
            for (n, pair) in names.windows(2).enumerate() {
                let declared = if n == 0 { format!("const {ty} ") } else { String::new() };
                text.line(format!("{declared}{} = {};", pair[0], pair[1]));
            }
            let value = value(shared, queue, shared.queues[queue].along.1);
            text.line(format!("{} = {value};", names[names.len() - 1]));
        }
        if shared.used.leaves {
            text.line("{");
            text.append(body.deeper(2));
            text.line("}");
            text.line(format!("{}:;", shared.own("next_cell")));
        } else {
            text.append(body.deeper(1));
        }
    });
}

/// What takes a thread to its next cell: its number and its positions.
pub(super) fn next(shared: &mut Shared<'_>) -> String {
    let mut next = format!("{}++", shared.own("t0"));
    for group in shared.used.positions.clone() {
        let (position, stride) = (shared.position(group), shared.stride(group, 0));
        next += &format!(", {position} += {stride}");
    }
    next
}

/// The registers of a queue, from the lowest offset to the highest.
fn registers(shared: &mut Shared<'_>, queue: usize) -> Vec<String> {
    let (lo, hi) = shared.queues[queue].along;
    (lo..=hi).map(|by| shared.register(queue, by)).collect()
}

/// The type of what a queue holds.
fn scalar(shared: &Shared<'_>, queue: usize) -> &'static str {
    let of = &shared.queues[queue];
    let types = shared.kernel.args[of.arg].element.component_types();
    memory(types.get(of.component).copied().unwrap_or(ScalarType::U8))
}

/// What memory holds of a column, so far along axis 0 from the cell.
fn value(shared: &mut Shared<'_>, queue: usize, by: i64) -> String {
    let of = shared.queues[queue].clone();
    let offsets: Vec<i64> = std::iter::once(by).chain(of.across).collect();
    let plane = shared.plane(of.arg, of.component);
    let group = shared.group(of.arg);
    format!("{plane}[{}]", around(shared, group, &offsets))
}
