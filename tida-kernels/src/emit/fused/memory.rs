//! Cells in memory: a value, or several that lie in planes of their own.

use super::Streams;
use crate::emit::shared::Shared;
use crate::emit::text::Text;
use crate::emit::types::memory;
use crate::plan::Dialect;
use crate::plan::fuse::Steps;

/// A cell of several components, and the functions that take one from memory and put one there: each component lies
/// in a plane of its own.
pub(super) fn cell_functions(shared: &mut Shared<'_>, steps: &Steps) -> Text {
    let (mut text, count) = (Text::default(), steps.components());
    if count == 1 {
        return text;
    }
    let (dialect, one, cell) = (shared.dialect(), memory(steps.scalar), shared.own("Cell"));
    let [taken, left] = [shared.own("taken"), shared.own("left")];
    let [from, to] = [false, true].map(|written| dialect.pointer(one, written));
    let inline = if dialect == Dialect::Cuda { " __forceinline__" } else { "" };
    let device = dialect.device();
    text.line(format!("typedef struct {{ {one} of[{count}]; }} {cell};"));
    text.line("");
    text.block(format!("{device}{inline} {cell} {taken}({from} from, i64 between)"), |text| {
        text.line(format!("{cell} cell;"));
        (0..count).for_each(|n| text.line(format!("cell.of[{n}] = from[{n} * between];")));
        text.line("return cell;");
    });
    text.line("");
    text.block(format!("{device}{inline} void {left}({to} to, i64 between, const {cell} cell)"), |text| {
        (0..count).for_each(|n| text.line(format!("to[{n} * between] = cell.of[{n}];")));
    });
    text.line("");
    text
}

/// Where a cell is in memory: its first component.
pub(super) struct Spot {
    /// The array that is read (0), or that is written.
    pub array: usize,
    pub pointer: String,
    pub position: String,
}

impl Spot {
    /// Its first value.
    pub fn one(&self) -> String {
        format!("{}[{}]", self.pointer, self.position)
    }

    /// What is there.
    pub fn value(&self, streams: &Streams<'_>, shared: &mut Shared<'_>) -> String {
        let Some(between) = &streams.between else { return self.one() };
        format!("{}({} + ({}), {})", shared.own("taken"), self.pointer, self.position, between[self.array])
    }

    /// The statement that puts a cell there.
    pub fn set(&self, streams: &Streams<'_>, shared: &mut Shared<'_>, cell: &str) -> String {
        let Some(between) = &streams.between else { return format!("{} = {cell};", self.one()) };
        let left = shared.own("left");
        format!("{left}({} + ({}), {}, {cell});", self.pointer, self.position, between[self.array])
    }
}
