//! A thread that takes the cells of a line some at a time: while it computes those in registers, the next ones are on
//! their way from memory to that which the block shares. Each thread fetches what it needs itself, so none waits for
//! another.

use super::held::Held;
use super::helpers::Helper;
use super::kernel::{coordinates, positions};
use super::line::{cell, start};
use super::shared::Shared;
use super::text::Text;
use crate::plan::lines::{LANES, Staged};
use crate::plan::{Along, Dialect};

/// An argument: its name, what holds the cells that come, and where its line starts in memory.
struct One {
    arg: String,
    tile: String,
    /// The place of the line's first cell, and the step from a cell to the next one.
    place: String,
    step: Option<String>,
    /// What copies a value beside the computing, where the language has that.
    copies: Option<String>,
}

impl One {
    /// The line's cell of a number.
    fn memory(&self, number: &str) -> String {
        match &self.step {
            Some(step) => format!("{}[{} + ({number}) * {step}]", self.arg, self.place),
            None => format!("{}[{} + {number}]", self.arg, self.place),
        }
    }
}

struct Ahead {
    held: Held,
    all: Vec<One>,
    along: Along,
    dialect: Dialect,
    /// On CUDA what ends the copies of some cells, and what waits for those that are needed next.
    waits: Option<[String; 2]>,
    /// The number of the cell in its line, the cells of a line, and those that are done.
    cell: String,
    cells: String,
    done: String,
    /// The thread in its block; which of the places for what comes has the cells that are next, and which takes more.
    thread: String,
    slot: String,
    to: String,
}

/// The loop over all cells of the thread's line.
pub(super) fn write(shared: &mut Shared<'_>, text: &mut Text, body: &Text, along: Along, staged: &[Staged]) {
    let (rank, run, cuda) = (shared.kernel.rank, along.axis as usize, shared.dialect() == Dialect::Cuda);
    let bytes = |of: &Staged, shared: &Shared<'_>| shared.kernel.args[of.arg].element.bytes();
    let beside = cuda && staged.iter().filter(|of| of.fetched).all(|of| matches!(bytes(of, shared), 4 | 8));
    let one = |of: &Staged, shared: &mut Shared<'_>| {
        let (arg, group) = (shared.args[of.arg].clone(), shared.group(of.arg));
        let [tile, line] = ["tile", "line"].map(|name| shared.own(&format!("{name}_{arg}")));
        let start = start(shared, group, run, None);
        let step = (run + 1 < rank).then(|| shared.stride(group, run));
        let bytes = bytes(of, shared) as u8;
        let copies = (beside && of.fetched).then(|| shared.helper(Helper::Ahead(bytes)));
        (One { tile, place: line, step, arg, copies }, start)
    };
    let all: Vec<(One, String)> = staged.iter().map(|of| one(of, shared)).collect();
    let word = if shared.plan.narrow { "i32" } else { "i64" };
    for (one, start) in &all {
        text.line(format!("const {word} {} = {start};", one.place));
    }
    let waits = [Helper::Commit, Helper::WaitBut(along.ring.saturating_sub(2) as u8)];
    let ahead = Ahead {
        held: Held::of(shared, along, staged),
        all: all.into_iter().map(|(one, _)| one).collect(),
        along,
        dialect: shared.dialect(),
        waits: beside.then(|| waits.map(|helper| shared.helper(helper))),
        cell: shared.own(&format!("t{run}")),
        cells: shared.own("cells"),
        done: shared.own("done"),
        thread: shared.own("thread"),
        slot: shared.own("slot"),
        to: shared.own("to"),
    };
    ahead.start(text);
    ahead.turns(shared, text, body);
    ahead.rest(shared, text, body);
}

impl Ahead {
    /// A cell of those that come: the one of number `n` in a slot.
    fn coming(&self, one: &One, slot: &str) -> String {
        let Ahead { along: Along { ahead, .. }, held, thread, .. } = self;
        format!("{}[({slot} * {ahead} + {}) * {LANES} + {thread}]", one.tile, held.n)
    }

    /// Fetches the cells after so many that are done, into a slot, if there are as many as one has.
    fn fetch(&self, text: &mut Text, done: &str, slot: &str) {
        let Ahead { along: Along { ahead, .. }, held, cells, .. } = self;
        text.block(format!("if ({done} + {ahead} <= {cells})"), |text| {
            held.each(text, i64::from(*ahead), |text| {
                for (one, of) in self.all.iter().zip(&held.all).filter(|(_, of)| of.of.fetched) {
                    let number = held.next(of, cells, done);
                    let (held, memory) = (self.coming(one, slot), one.memory(&number));
                    text.line(match &one.copies {
                        Some(copy) => format!("{copy}(&{held}, &{memory});"),
                        None => format!("{held} = {memory};"),
                    });
                }
            });
        });
        if let Some([ends, _]) = &self.waits {
            text.line(format!("{ends}();"));
        }
    }

    /// What lies around the line's first cell, and the first cells.
    fn start(&self, text: &mut Text) {
        let Ahead { along: Along { ahead, ring, .. }, held, cells, done, .. } = self;
        held.declare(text);
        for (One { tile, .. }, of) in self.all.iter().zip(&held.all).filter(|(_, of)| of.of.fetched) {
            text.line(format!("{} {} {tile}[{}];", self.dialect.shared(), of.ty, ring * ahead * LANES));
        }
        text.line(format!("const i32 {} = (i32){};", self.thread, self.dialect.thread(0)));
        text.line(format!("i32 {done} = 0, {} = 0;", self.slot));
        text.block(format!("if ({ahead} <= {cells})"), |text| {
            held.around(text, cells, |number, place| self.all[number].memory(place));
        });
        for slot in 0..ring - 1 {
            self.fetch(text, &(slot * ahead).to_string(), &slot.to_string());
        }
    }

    /// The cells that come in full numbers.
    fn turns(&self, shared: &mut Shared<'_>, text: &mut Text, body: &Text) {
        let Ahead { along: Along { ahead, ring, .. }, held, cells, done, slot, to, .. } = self;
        text.block(format!("for (; {done} + {ahead} <= {cells}; {done} += {ahead})"), |text| {
            text.line(format!("const i32 {} = {};", held.first, held.begin(cells, done)));
            if let Some([_, waits]) = &self.waits {
                text.line(format!("{waits}();"));
            }
            held.shift(text, |number| self.coming(&self.all[number], slot));
            text.line(format!("const i32 {to} = {slot} == 0 ? {} : {slot} - 1;", ring - 1));
            self.fetch(text, &format!("({done} + {})", (ring - 1) * ahead), to);
            text.block("", |text| held.computed(shared, text, &held.first, body));
            held.stored(text, |number| self.all[number].memory(&format!("{} + {}", held.first, held.n)));
            text.line(format!("{slot} = {slot} + 1 == {ring} ? 0 : {slot} + 1;"));
        });
    }

    /// The cells that are left, from memory.
    fn rest(&self, shared: &mut Shared<'_>, text: &mut Text, body: &Text) {
        let Ahead { along, cell: t, cells, done, .. } = self;
        let turns = match along.backward {
            false => format!("for (i32 {t} = {done}; {t} < {cells}; {t}++)"),
            true => format!("for (i32 {t} = {cells} - {done} - 1; {t} >= 0; {t}--)"),
        };
        text.block(turns, |text| {
            let first = shared.own("t0");
            positions(shared, text, "const ", &first);
            coordinates(shared, text);
            cell(shared, text, body.clone());
        });
    }
}
