//! Rows of a tile that a block copies as a whole, while its threads go on: `async_work_group_copy` of OpenCL.

use super::cache::{Strip, in_memory, reach, sum};
use super::shared::Shared;
use super::text::Text;
use crate::element::ScalarType;
use crate::ir::Access;
use crate::plan::Dialect;

/// Fewest cells of a row that is copied so.
const LEAST: i64 = 8;

/// Whether a tile is fetched by rows.
pub(super) fn by_rows(shared: &Shared<'_>, at: (usize, usize)) -> bool {
    let arg = shared.tile(at).arg;
    let placed = shared.kernel.args[arg].access != Access::All || shared.is_single(arg);
    let long = shared.shape(at).extent.last().is_some_and(|cells| *cells >= LEAST);
    let plain = shared.tile(at).codecs.is_empty();
    shared.dialect() == Dialect::OpenCl && shared.is_ahead(at) && placed && long && plain
}

/// The events of a walk: that of its copies, and none.
fn events(shared: &mut Shared<'_>, scope: usize) -> [String; 2] {
    ["event", "none"].map(|word| shared.of_walk(scope, word))
}

/// Declares the event of a walk's copies.
pub(super) fn declare(shared: &mut Shared<'_>, text: &mut Text, scope: usize) {
    let [event, none] = events(shared, scope);
    text.line(format!("event_t {none} = 0;"));
    text.line(format!("event_t {event} = {none};"));
}

/// Waits for them.
pub(super) fn wait(shared: &mut Shared<'_>, text: &mut Text, scope: usize) {
    let [event, none] = events(shared, scope);
    text.line(format!("wait_group_events(1, &{event});"));
    text.line(format!("{event} = {none};"));
}

/// Begins to copy the rows of a strip's tile. The block alone decides where they are, so that all threads say the same.
pub(super) fn copy(shared: &mut Shared<'_>, text: &mut Text, at: (usize, usize), strip: &Strip) {
    let (tile, shape) = (shared.tile(at).clone(), shared.shape(at));
    let reached = reach(shared, text, at, strip);
    let Some((last, outer)) = reached.held.split_last() else { return };
    let (mut index, mut terms) = (reached.from.clone(), Vec::new());
    for (axis, held) in outer.iter().enumerate().filter(|(axis, _)| shape.extent[*axis] > 1) {
        let n = shared.own(&format!("n{axis}"));
        text.line(format!("for (i32 {n} = 0; {n} < {held}; {n}++) {{"));
        text.depth += 1;
        index[axis] += &format!(" + {n}");
        terms.push((shape.steps[axis], n));
    }
    let loops = terms.len();
    if let Some(half) = strip.half.as_ref().filter(|half| *half != "0") {
        terms.insert(0, (shape.cells, half.clone()));
    }
    let place = sum(shared.dialect(), ScalarType::I32, &terms, 0);
    let [event, _] = events(shared, at.0);
    for component in &tile.components {
        let name = shared.tile_name(at, *component);
        let (value, _) = in_memory(shared, tile.arg, *component, &index);
        let (to, from) = (format!("&{name}[{place}]"), format!("&{value}"));
        text.line(format!("{event} = async_work_group_copy({to}, {from}, (size_t){last}, {event});"));
    }
    for _ in 0..loops {
        text.depth -= 1;
        text.line("}");
    }
}
