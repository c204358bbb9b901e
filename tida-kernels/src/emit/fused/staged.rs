//! Values on their way between memory and the threads of a row.
//!
//! Neighbouring threads reach into memory at neighbouring cells, thread `i` at the cells `i`, `i + threads` and so on,
//! but compute cells that follow one another. Planes change hands in shared memory, before the first step takes them
//! and after the last has left them. There the cells of a thread lie `row` values apart, so that both ways of access
//! find different banks.
//!
//! A warp that has a row to itself copies planes there that no thread waits for, a few planes ahead.

use super::Streams;
use super::memory::Spot;
use crate::emit::Field;
use crate::emit::helpers::Helper;
use crate::emit::shared::Shared;
use crate::emit::text::Text;
use crate::plan::Dialect;
use crate::plan::fuse::Way;

impl Streams<'_> {
    /// Whether planes come by copies that no thread waits for.
    pub(super) fn ahead(&self) -> Option<&Way> {
        self.held.way.as_ref().filter(|way| way.ahead)
    }

    /// Whether planes come through shared memory, a plane late.
    pub(super) fn comes_late(&self) -> bool {
        self.held.way.is_some_and(|way| !way.ahead)
    }

    /// How planes leave through shared memory, a plane late, if they do.
    pub(super) fn leaves_late(&self) -> Option<&Way> {
        self.held.way.as_ref().filter(|way| way.leaving > 0)
    }

    /// Where the planes are that leave.
    fn goes(way: &Way) -> i64 {
        way.start + way.coming * way.slot
    }

    /// What a thread knows of the cells that it reaches into memory for.
    pub(super) fn lines(&self, shared: &mut Shared<'_>, text: &mut Text, groups: [u8; 2]) {
        let Some(way) = &self.held.way else { return };
        let (last, threads) = (self.rank - 1, i64::from(self.fused.row(self.block)));
        let cells = self.along(last);
        let (tx, first, n) = (shared.own("tx"), shared.own(&format!("first{last}")), shared.own(&format!("n{last}")));
        let (word, cast) = if shared.plan.narrow { ("i32", "(i32)") } else { ("i64", "") };
        let line = shared.own("line");
        text.line(format!("const i32 {line} = {tx} % {cells} * {} + {tx} / {cells};", way.row));
        if way.leaving > 0 {
            text.line(format!("i32 {} = 0;", shared.own("turn_of")));
        }
        if way.ahead {
            let (own, each) = (shared.own("row"), (way.coming + way.leaving) * way.slot);
            let start = if way.rows > 1 {
                format!("{} + {} * {each}", way.start, shared.own("ty"))
            } else {
                way.start.to_string()
            };
            text.line(format!("const i32 {own} = {start};"));
            let (take, put) = (shared.own("take"), shared.own("put"));
            text.line(format!("i32 {take} = {own}, {put} = {own};"));
        }
        let margin = [0, 1].map(|side| self.fused.margin(3, side));
        for cell in 0..cells {
            let (fetched, stored) = (shared.own(&format!("fetched_{cell}")), shared.own(&format!("stored_{cell}")));
            let within = if cell == 0 { tx.clone() } else { format!("{tx} + {}", cell * threads) };
            let inside = self.inside(shared, last, &format!("{first} + {within}"), true);
            let place = shared.field(Field::First(groups[0].into()));
            text.line(format!("const {word} {fetched} = {cast}{place} + {inside};"));
            if way.leaving == 0 {
                continue;
            }
            let mut tests = vec![format!("{first} + {within} < {n}")];
            if margin[0] > cell * threads {
                tests.push(format!("{within} >= {}", margin[0]));
            }
            if (cell + 1) * threads > threads * cells - margin[1] {
                tests.push(format!("{within} < {}", threads * cells - margin[1]));
            }
            text.line(format!("const bool {stored} = {};", tests.join(" && ")));
        }
        if self.rank == 3 {
            for row in 0..self.along(1) {
                let (number, y) = (self.numbered(shared, "t", 1, row), shared.own(&format!("fetched_y_{row}")));
                let (inside, stride) = (self.inside(shared, 1, &number, true), shared.stride(groups[0], 1));
                text.line(format!("const {word} {y} = {inside} * {stride};"));
            }
        }
        if way.leaving > 0 {
            let place = shared.field(Field::First(groups[1].into()));
            text.line(format!("const {word} {} = {cast}{place} + {first} + {tx};", shared.own("leaves")));
        }
    }

    /// Memory of a cell that a thread reaches for: of the array that is read (0), or that is written.
    pub(super) fn in_line(&self, shared: &mut Shared<'_>, array: usize, cell: i64, plane: &str) -> Spot {
        let (name, stride) = (&self.arrays[array], &self.strides[array]);
        let number = self.number(self.rank - 1, cell);
        let mut place = match array {
            0 => shared.own(&format!("fetched_{number}")),
            _ => format!("{} + {}", shared.own("leaves"), number * i64::from(self.fused.row(self.block))),
        };
        if self.rank == 3 {
            place = format!("{} + {place}", shared.own(&format!("fetched_y_{}", self.number(1, cell))));
        }
        Spot { array, pointer: name.clone(), position: format!("{place} + {plane} * {stride}") }
    }

    /// Where a cell that a thread reaches into memory for lies from the first one on.
    fn line(&self, way: &Way, cell: i64) -> i64 {
        let cells = self.along(self.rank - 1);
        let (row, number) = (cell / cells, cell % cells);
        row * cells * way.row + number * i64::from(self.fused.row(self.block)) / cells
    }

    /// A value that is on its way: in the plane that is written now, or in the one that was written before it.
    fn on_the_way(
        &self,
        shared: &mut Shared<'_>,
        (start, slot): (i64, i64),
        written: bool,
        (base, more): (&str, i64),
    ) -> String {
        let (planes, turn) = (shared.own("planes"), shared.own("turn_of"));
        match written {
            true => format!("{planes}[{base} + {turn} + {}]", start + more),
            false => format!("{planes}[{base} - {turn} + {}]", start + slot + more),
        }
    }

    /// A value of step 0 that has come: with the plane before, or as a copy that was ahead.
    pub(super) fn staged(&self, shared: &mut Shared<'_>, cell: i64) -> String {
        let Some(way) = &self.held.way else { return shared.own(&format!("next_{cell}")) };
        let tx = shared.own("tx");
        match way.ahead {
            true => format!("{}[{} + {tx} + {}]", shared.own("planes"), shared.own("take"), cell * way.row),
            false => self.on_the_way(shared, (way.start, way.slot), false, (&tx, cell * way.row)),
        }
    }

    /// What was fetched goes to the threads that take it in the next iteration.
    pub(super) fn stage(&self, shared: &mut Shared<'_>, text: &mut Text) {
        let Some(way) = self.held.way.as_ref().filter(|way| !way.ahead) else { return };
        let line = shared.own("line");
        for cell in 0..self.cells() {
            let next = shared.own(&format!("next_{cell}"));
            let to = self.on_the_way(shared, (way.start, way.slot), true, (&line, self.line(way, cell)));
            text.line(format!("{to} = {next};"));
        }
    }

    /// The planes change parts.
    pub(super) fn turn_stage(&self, shared: &mut Shared<'_>, text: &mut Text) {
        if let Some(way) = &self.held.way.filter(|way| way.leaving > 0 || !way.ahead) {
            let turn = shared.own("turn_of");
            text.line(format!("{turn} = {} - {turn};", way.slot));
        }
    }

    /// The first plane, and the fetch of the second.
    pub(super) fn stage_first(&self, shared: &mut Shared<'_>, text: &mut Text, first: &str) {
        self.stage(shared, text);
        self.turn_stage(shared, text);
        text.line(shared.dialect().barrier());
        self.fetch(shared, text, &format!("{first} + 1"));
    }

    /// The first planes get under way.
    pub(super) fn send_first(&self, shared: &mut Shared<'_>, text: &mut Text, way: &Way, first: &str) {
        for plane in 0..way.coming - 1 {
            if plane > 0 {
                self.turn_source(shared, text, &format!("{first} + {plane}"));
            }
            self.send(shared, text, way);
        }
    }

    /// The plane that is the source gets under way, to the next place.
    pub(super) fn send(&self, shared: &mut Shared<'_>, text: &mut Text, way: &Way) {
        let (planes, put, line) = (shared.own("planes"), shared.own("put"), shared.own("line"));
        let source = shared.own("source");
        let cuda = shared.dialect() == Dialect::Cuda;
        for cell in 0..self.cells() {
            let from = self.in_line(shared, 0, cell, &source).one();
            let to = format!("{planes}[{put} + {line} + {}]", self.line(way, cell));
            text.line(match cuda {
                true => format!("{}(&{to}, &{from});", shared.helper(Helper::Ahead(self.steps.bytes() as u8))),
                false => format!("{to} = {from};"),
            });
        }
        if cuda {
            text.line(format!("{}();", shared.helper(Helper::Commit)));
        }
        self.next_place(shared, text, way, "put");
    }

    /// Waits for the plane that is taken next.
    pub(super) fn arrive(&self, shared: &mut Shared<'_>, text: &mut Text, way: &Way) {
        match shared.dialect() {
            Dialect::Cuda => {
                text.line(format!("{}();", shared.helper(Helper::WaitBut(way.coming as u8 - 2))));
                text.line("__syncwarp();");
            }
            Dialect::OpenCl => text.line(shared.dialect().barrier()),
        }
    }

    /// The place after that of a plane.
    pub(super) fn next_place(&self, shared: &mut Shared<'_>, text: &mut Text, way: &Way, name: &str) {
        let (name, own) = (shared.own(name), shared.own("row"));
        let (last, slot) = ((way.coming - 1) * way.slot, way.slot);
        text.line(format!("{name} = {name} == {own} + {last} ? {own} : {name} + {slot};"));
    }

    /// The last step leaves a plane with those that store it, who store the one before.
    pub(super) fn stage_last(&self, shared: &mut Shared<'_>, text: &mut Text, way: &Way) {
        let (tx, line) = (shared.own("tx"), shared.own("line"));
        let planes = (Self::goes(way), way.slot);
        for cell in 0..self.cells() {
            let value = shared.own(&format!("value_{cell}"));
            let to = self.on_the_way(shared, planes, true, (&tx, cell * way.row));
            text.line(format!("{to} = {value};"));
        }
        let (plane, from, end) = (shared.own("plane"), shared.own("from"), shared.own("end"));
        let before = shared.own("before");
        text.line(format!("const i32 {before} = {plane} - 1;"));
        text.block(format!("if ({before} >= {from} && {before} < {end})"), |text| {
            for cell in 0..self.cells() {
                let stored = shared.own(&format!("stored_{cell}"));
                let value = self.on_the_way(shared, planes, false, (&line, self.line(way, cell)));
                let left = self.in_line(shared, 1, cell, &before).set(self, shared, &value);
                text.line(format!("if ({stored}) {left}"));
            }
        });
    }
}
