//! Values on their way between memory and the threads of a row, where each has several cells of it.
//!
//! Neighbouring threads reach into memory at neighbouring cells, thread `i` at the cells `i`, `i + threads` and so on, but
//! compute cells that follow one another. Planes change hands in shared memory, a plane before the first step takes them
//! and a plane after the last has left them. There the cells of a thread lie `row` values apart, so that both ways of
//! access find different banks.

use super::Streams;
use crate::emit::Field;
use crate::emit::shared::Shared;
use crate::emit::text::Text;

impl Streams<'_> {
    /// Values from one cell of a thread to the next, and where the planes lie that come and those that go.
    fn rows(&self) -> (i64, i64, i64) {
        let (row, start) = self.held.staged.unwrap_or_default();
        (row, start, start + 2 * row * self.cells())
    }

    /// What a thread knows of the cells that it reaches into memory for.
    pub(super) fn lines(&self, shared: &mut Shared<'_>, text: &mut Text, groups: [u8; 2]) {
        let (row, ..) = self.rows();
        let (threads, cells) = (i64::from(self.block[0]), self.cells());
        let (tx, first, n) = (shared.own("tx"), shared.own("first1"), shared.own("n1"));
        let (word, cast) = if shared.plan.narrow { ("i32", "(i32)") } else { ("i64", "") };
        let line = shared.own("line");
        text.line(format!("const i32 {line} = {tx} % {cells} * {row} + {tx} / {cells};"));
        text.line(format!("i32 {} = 0;", shared.own("turn_of")));
        let margin = [0, 1].map(|side| self.fused.margin(3, side));
        for cell in 0..cells {
            let (fetched, stored) = (shared.own(&format!("fetched_{cell}")), shared.own(&format!("stored_{cell}")));
            let within = if cell == 0 { tx.clone() } else { format!("{tx} + {}", cell * threads) };
            let inside = self.inside(shared, 1, &format!("{first} + {within}"), true);
            let place = shared.field(Field::First(groups[0].into()));
            text.line(format!("const {word} {fetched} = {cast}{place} + {inside};"));
            let mut tests = vec![format!("{first} + {within} < {n}")];
            if margin[0] > cell * threads {
                tests.push(format!("{within} >= {}", margin[0]));
            }
            if (cell + 1) * threads > threads * cells - margin[1] {
                tests.push(format!("{within} < {}", threads * cells - margin[1]));
            }
            text.line(format!("const bool {stored} = {};", tests.join(" && ")));
        }
        let place = shared.field(Field::First(groups[1].into()));
        text.line(format!("const {word} {} = {cast}{place} + {first} + {tx};", shared.own("leaves")));
    }

    /// Memory of a cell that a thread reaches for: of the array that is read (0), or that is written.
    pub(super) fn in_line(&self, shared: &mut Shared<'_>, array: usize, cell: i64, plane: &str) -> String {
        let (name, stride) = (&self.arrays[array], &self.strides[array]);
        let place = match array {
            0 => shared.own(&format!("fetched_{cell}")),
            _ => format!("{} + {}", shared.own("leaves"), cell * i64::from(self.block[0])),
        };
        format!("{name}[{place} + {plane} * {stride}]")
    }

    /// A value that is on its way: in the plane that is written now, or in the one that was written before it.
    fn on_the_way(&self, shared: &mut Shared<'_>, (start, written): (i64, bool), (base, more): (&str, i64)) -> String {
        let (row, ..) = self.rows();
        let (planes, turn) = (shared.own("planes"), shared.own("turn_of"));
        match written {
            true => format!("{planes}[{base} + {turn} + {}]", start + more),
            false => format!("{planes}[{base} - {turn} + {}]", start + row * self.cells() + more),
        }
    }

    /// A value that came with the plane before.
    pub(super) fn staged(&self, shared: &mut Shared<'_>, cell: i64) -> String {
        let (row, comes, _) = self.rows();
        let tx = shared.own("tx");
        self.on_the_way(shared, (comes, false), (&tx, cell * row))
    }

    /// What was fetched goes to the threads that take it in the next iteration.
    pub(super) fn stage(&self, shared: &mut Shared<'_>, text: &mut Text) {
        let (_, comes, _) = self.rows();
        let line = shared.own("line");
        for cell in 0..self.cells() {
            let next = shared.own(&format!("next_{cell}"));
            let to = self.on_the_way(shared, (comes, true), (&line, self.line(cell)));
            text.line(format!("{to} = {next};"));
        }
    }

    /// Where the cells of a line lie from the first one on.
    fn line(&self, cell: i64) -> i64 {
        cell * i64::from(self.block[0]) / self.cells()
    }

    /// The planes change parts.
    pub(super) fn turn_stage(&self, shared: &mut Shared<'_>, text: &mut Text) {
        let (row, ..) = self.rows();
        let turn = shared.own("turn_of");
        text.line(format!("{turn} = {} - {turn};", row * self.cells()));
    }

    /// The first plane, and the fetch of the second.
    pub(super) fn stage_first(&self, shared: &mut Shared<'_>, text: &mut Text, first: &str) {
        self.stage(shared, text);
        self.turn_stage(shared, text);
        text.line(shared.dialect().barrier());
        self.fetch(shared, text, &format!("{first} + 1"));
    }

    /// The last step leaves a plane with those that store it, who store the one before.
    pub(super) fn stage_last(&self, shared: &mut Shared<'_>, text: &mut Text) {
        let (row, _, goes) = self.rows();
        let (tx, line) = (shared.own("tx"), shared.own("line"));
        for cell in 0..self.cells() {
            let value = shared.own(&format!("value_{cell}"));
            let to = self.on_the_way(shared, (goes, true), (&tx, cell * row));
            text.line(format!("{to} = {value};"));
        }
        let (plane, from, end) = (shared.own("plane"), shared.own("from"), shared.own("end"));
        let before = shared.own("before");
        text.line(format!("const i32 {before} = {plane} - 1;"));
        text.block(format!("if ({before} >= {from} && {before} < {end})"), |text| {
            for cell in 0..self.cells() {
                let stored = shared.own(&format!("stored_{cell}"));
                let value = self.on_the_way(shared, (goes, false), (&line, self.line(cell)));
                let to = self.in_line(shared, 1, cell, &before);
                text.line(format!("if ({stored}) {to} = {value};"));
            }
        });
    }
}
