//! Reads of cells instead of the ghosts that are to have their values (see [`crate::plan::ghosts`]).

use super::Field;
use super::helpers::Helper;
use super::shared::Shared;
use super::text::Text;
use crate::plan::ghosts::{Beyond, Ghosts};

/// A step along an axis from the cell of a thread: the ghosts that say where it leads, by their number in the plan,
/// those of one layout and the same faces by the first number; the axis; and how far.
pub(super) type Way = (usize, usize, i64);

/// The ghosts of an argument that no read is to find.
fn of(shared: &Shared<'_>, arg: usize) -> Option<(usize, Ghosts)> {
    let all = &shared.plan.ghosts;
    let own = all.iter().find(|ghosts| usize::from(ghosts.arg) == arg)?;
    let alike = |ghosts: &Ghosts| ghosts.faces == own.faces && shared.group(ghosts.arg.into()) == shared.group(arg);
    let first = all.iter().position(alike)?;
    Some((first, own.clone()))
}

/// What a step along an axis adds to the position of the cell, if it may lead past a face: ` + back1`.
pub(super) fn step(shared: &mut Shared<'_>, arg: usize, axis: usize, by: i64) -> Option<String> {
    let (first, ghosts) = of(shared, arg)?;
    let beyond = ghosts.faces.get(axis)?[usize::from(by > 0)];
    if by == 0 || beyond.layers == 0 {
        return None;
    }
    shared.used.ways.insert((first, axis, by));
    Some(format!(" + {}", name(shared, (first, axis, by))))
}

/// `back1`, `ahead2_3`, with the argument where several differ.
fn name(shared: &mut Shared<'_>, (first, axis, by): Way) -> String {
    let mut name = format!("{}{axis}", if by < 0 { "back" } else { "ahead" });
    if by.abs() > 1 {
        name += &format!("_{}", by.abs());
    }
    if first > 0 {
        let arg = usize::from(shared.plan.ghosts[first].arg);
        name += &format!("_{}", shared.args[arg]);
    }
    shared.own(&name)
}

/// Says where the steps lead that reads take.
pub(super) fn ways(shared: &mut Shared<'_>, text: &mut Text) {
    let (word, cast) = if shared.plan.narrow { ("i32", "(i32)") } else { ("i64", "") };
    for way in shared.used.ways.clone() {
        let (first, axis, by) = way;
        let ghosts = shared.plan.ghosts[first].clone();
        let Some(beyond) = ghosts.faces.get(axis).map(|sides| sides[usize::from(by > 0)]) else { continue };
        let (group, last) = (shared.group(ghosts.arg.into()), axis + 1 == shared.kernel.rank);
        let times = |cells: String, shared: &mut Shared<'_>| match (last, &*cells) {
            (true, _) => cells,
            (_, "1") => shared.stride(group, axis),
            (_, "-1") => format!("-{}", shared.stride(group, axis)),
            _ => format!("({cells}) * {}", shared.stride(group, axis)),
        };
        let (t, n) = (shared.own(&format!("t{axis}")), shared.field(Field::Extent(axis as u32)));
        let (name, far) = (name(shared, way), by.unsigned_abs());
        let outside = if by < 0 { format!("{t} < {far}") } else { format!("{t} >= (i32){n} - {far}") };
        let inside = match (beyond.wraps, by < 0) {
            (true, true) => format!("{cast}{n} - {far}"),
            (true, false) => format!("{far} - {cast}{n}"),
            // The cell as far inside of the face.
            (false, true) if far == 1 => format!("-2 * {t}"),
            (false, true) => format!("{} - 2 * {t}", far - 1),
            (false, false) => format!("2 * ({cast}{n} - {t}) - {}", far + 1),
        };
        let (inside, usual) = (times(inside, shared), times(by.to_string(), shared));
        text.line(format!("const {word} {name} = {outside} ? {inside} : {usual};"));
    }
}

/// Says which cells around the cell lie beyond faces of a domain that the launch is over, where captured values are
/// that.
pub(super) fn beyond(shared: &mut Shared<'_>, text: &mut Text) {
    for capture in shared.used.captures.clone() {
        let Some((axis, side, by)) = shared.kernel.captures.get(capture).and_then(|of| of.beyond) else { continue };
        let (name, t) = (shared.captures[capture].clone(), shared.own(&format!("t{axis}")));
        let n = shared.field(Field::Extent(axis as u32));
        let test = if side == 0 { format!("{t} < {by}") } else { format!("{t} >= (i32){n} - {by}") };
        text.line(format!("const bool {name} = {test};"));
    }
}

/// The coordinate, along an axis, of the cell that a read at this coordinate is to find.
pub(super) fn coordinate(shared: &mut Shared<'_>, arg: usize, axis: usize, index: String) -> String {
    let Some((_, ghosts)) = of(shared, arg) else { return index };
    let how = |beyond: &Beyond| match (beyond.layers, beyond.wraps) {
        (0, _) => 0,
        (_, true) => 1,
        (_, false) => 2,
    };
    let [low, high] = ghosts.faces.get(axis).map_or([0, 0], |[low, high]| [how(low), how(high)]);
    if [low, high] == [0, 0] {
        return index;
    }
    let function = shared.helper(Helper::Inside);
    let (lo, n) = (shared.field(Field::Lo(axis as u32)), shared.field(Field::Extent(axis as u32)));
    format!("({lo} + {function}({index} - {lo}, {n}, {low}, {high}))")
}

/// The function that [`coordinate`] calls: 0 stays, 1 goes on at the other end, 2 turns back.
pub(super) fn inside(text: &mut Text, head: String) {
    text.block(format!("{head}(i64 cell, i64 cells, i32 low, i32 high)"), |text| {
        text.line("if (cell < 0) return low == 0 ? cell : low == 1 ? cell + cells : -1 - cell;");
        text.line("if (cell >= cells) return high == 0 ? cell : high == 1 ? cell - cells : 2 * cells - 1 - cell;");
        text.line("return cell;");
    });
}
