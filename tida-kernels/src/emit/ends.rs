//! Statements at the end of a body that the cells of one column along the last axis run alone, such as those that set
//! the ghosts beside a sweep. As a thread marches, blocks of threads without such a cell have a loop without them.

use super::march::UNROLL;
use super::shared::Shared;
use super::text::Text;
use crate::ir::{Body, CompareOp, ExprKind, Kernel, StmtKind};
use crate::plan::Goal;

/// Which of the captured values says where the column of a statement is, if it is for one column.
fn column(body: &Body, stmt: &StmtKind, last: usize) -> Option<u32> {
    let StmtKind::If(condition, _, otherwise) = stmt else { return None };
    let ExprKind::Compare(CompareOp::Eq, at, place) = body[*condition].kind else { return None };
    match (&body[at].kind, &body[place].kind) {
        (ExprKind::Coordinate(axis), ExprKind::Capture(capture)) if *axis as usize == last && otherwise.is_empty() => {
            Some(*capture)
        }
        _ => None,
    }
}

/// The captured values that say where the columns are of the statements at the end of a body, one for each.
pub(super) fn columns(kernel: &Kernel) -> Vec<u32> {
    let (body, last) = (&kernel.body, kernel.rank.saturating_sub(1));
    let ends = body.block.iter().rev().map_while(|stmt| column(body, &stmt.kind, last));
    let mut columns: Vec<u32> = ends.collect();
    columns.reverse();
    columns
}

/// How many of a body's statements are for all cells, if its loop is written twice where that can be told apart.
pub(super) fn for_all(shared: &Shared<'_>) -> Option<usize> {
    let (kernel, plan) = (shared.kernel, shared.plan);
    let marches = plan.goal == Goal::Sweep && plan.marches(kernel.rank).is_some() && shared.fused.is_none();
    let plain = kernel.group.is_none() && !shared.stay() && shared.side.is_none() && plan.colours.is_none();
    let columns = if marches && plain { columns(kernel).len() } else { 0 };
    (columns > 0).then(|| kernel.body.block.len() - columns)
}

/// Writes the loop of a march over a body: `write` writes it for a text of a cell, and how often the compiler is to
/// write that out.
///
/// Where blocks have such cells, the compiler is told to take these one by one. Heat over 512³ cells of `f64`, where
/// both ends of a row set a ghost (H200): 577 µs without, 667 with four cells at once, 602 one by one, 592 where other
/// blocks have a loop of their own.
pub(super) fn loops(
    shared: &mut Shared<'_>,
    text: &mut Text,
    body: Text,
    mut write: impl FnMut(&mut Shared<'_>, &mut Text, Text, u32),
) {
    let Some(line) = shared.used.ends.filter(|_| !shared.used.leaves) else {
        return write(shared, text, body, UNROLL);
    };
    if shared.plan.many {
        return write(shared, text, body, 1);
    }
    let columns = columns(shared.kernel);
    let (from, block) = (shared.own("ends_from"), shared.plan.block[0]);
    let last = shared.kernel.rank.saturating_sub(1) as u32;
    let first = shared.dialect().block(0);
    let lo = shared.field(super::Field::Lo(last));
    text.line(format!("const i64 {from} = {lo} + (i64)({first} * {block});"));
    let tests = columns.into_iter().map(|capture| {
        let place = shared.capture(capture as usize);
        format!("({place} >= {from} && {place} < {from} + {block})")
    });
    let tests: Vec<String> = tests.collect();
    let mut others = body.clone();
    others.lines.truncate(line);
    text.line(format!("if ({}) {{", tests.join(" || ")));
    text.depth += 1;
    write(shared, text, body.deeper(1), 1);
    text.depth -= 1;
    text.line("} else {");
    text.depth += 1;
    write(shared, text, others.deeper(1), UNROLL);
    text.depth -= 1;
    text.line("}");
}
