//! A thread that takes the cells of a line some at a time: while it computes those in registers, the next ones are on
//! their way from memory to that which the block shares. Each thread fetches what it needs itself, so none waits for
//! another.

use super::helpers::Helper;
use super::kernel::{coordinates, positions};
use super::line::{cell, start};
use super::shared::Shared;
use super::text::Text;
use crate::plan::lines::{LANES, Staged, reach};
use crate::plan::{Along, Dialect};

/// An argument: its name, what holds the cells at hand and those that come, the type of both, and where its line starts
/// in memory.
struct One {
    of: Staged,
    arg: String,
    held: String,
    tile: String,
    ty: &'static str,
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
    all: Vec<One>,
    along: Along,
    dialect: Dialect,
    /// Cells before the first one at hand, and behind the last one.
    reach: [i64; 2],
    /// On CUDA what ends the copies of some cells, and what waits for those that are needed next.
    waits: Option<[String; 2]>,
    /// The number of the cell in its line, the cells of a line, and those that are done.
    cell: String,
    cells: String,
    done: String,
    /// The number of what is fetched, kept or stored among the cells at hand, and that of the first of these in the
    /// line.
    n: String,
    first: String,
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
        let [held, tile, line] = ["held", "tile", "line"].map(|name| shared.own(&format!("{name}_{arg}")));
        let start = start(shared, group, run, None);
        let step = (run + 1 < rank).then(|| shared.stride(group, run));
        let bytes = bytes(of, shared) as u8;
        let copies = (beside && of.fetched).then(|| shared.helper(Helper::Ahead(bytes)));
        (One { of: *of, held, tile, ty: shared.pointee(of.arg), place: line, step, arg, copies }, start)
    };
    let all: Vec<(One, String)> = staged.iter().map(|of| one(of, shared)).collect();
    let word = if shared.plan.narrow { "i32" } else { "i64" };
    for (one, start) in &all {
        text.line(format!("const {word} {} = {start};", one.place));
    }
    let waits = [Helper::Commit, Helper::WaitBut(along.ring.saturating_sub(2) as u8)];
    let ahead = Ahead {
        all: all.into_iter().map(|(one, _)| one).collect(),
        along,
        dialect: shared.dialect(),
        reach: reach(staged),
        waits: beside.then(|| waits.map(|helper| shared.helper(helper))),
        cell: shared.own(&format!("t{run}")),
        cells: shared.own("cells"),
        done: shared.own("done"),
        n: shared.own("n"),
        first: shared.own("first"),
        thread: shared.own("thread"),
        slot: shared.own("slot"),
        to: shared.own("to"),
    };
    ahead.start(text);
    ahead.turns(shared, text, body);
    ahead.rest(shared, text, body);
}

impl Ahead {
    /// A loop over numbers below a constant, written out by the compiler, so that what they count lies in registers.
    fn each(&self, text: &mut Text, numbers: i64, what: impl FnOnce(&mut Text)) {
        let n = &self.n;
        text.line("#pragma unroll");
        text.block(format!("for (i32 {n} = 0; {n} < {numbers}; {n}++)"), what);
    }

    /// A cell of those that come: the one of number `n` in a slot.
    fn coming(&self, one: &One, slot: &str) -> String {
        let Ahead { along: Along { ahead, .. }, n, thread, .. } = self;
        format!("{}[({slot} * {ahead} + {n}) * {LANES} + {thread}]", one.tile)
    }

    /// Fetches the cells after so many that are done, into a slot, if there are as many as one has.
    fn fetch(&self, text: &mut Text, done: &str, slot: &str) {
        let Ahead { along: Along { ahead, backward, .. }, n, cells, .. } = self;
        text.block(format!("if ({done} + {ahead} <= {cells})"), |text| {
            self.each(text, i64::from(*ahead), |text| {
                for one in self.all.iter().filter(|one| one.of.fetched) {
                    let [below, above] = one.of.reach;
                    let number = match backward {
                        false => format!("{done} + {above} + {n}"),
                        true => format!("{cells} - {done} - {} + {n}", i64::from(*ahead) + below),
                    };
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

    /// What lies around the line's first cell, where the last cells at hand would have left it, and the first cells.
    fn start(&self, text: &mut Text) {
        let Ahead { along: Along { ahead, backward, ring, .. }, reach: [most, above], n, cells, done, .. } = self;
        for One { held, tile, ty, of, .. } in &self.all {
            text.line(format!("{ty} {held}[{}];", i64::from(*ahead) + most + above));
            if of.fetched {
                text.line(format!("{} {ty} {tile}[{}];", self.dialect.shared(), ring * ahead * LANES));
            }
        }
        text.line(format!("const i32 {} = (i32){};", self.thread, self.dialect.thread(0)));
        text.line(format!("i32 {done} = 0, {} = 0;", self.slot));
        text.block(format!("if ({ahead} <= {cells})"), |text| {
            for one in &self.all {
                let [below, above] = one.of.reach;
                // Of what is written and not fetched only what lies before the first cell.
                let (skipped, numbers) = match (one.of.fetched, backward) {
                    (true, _) => (0, below + above),
                    (false, false) => (0, below),
                    (false, true) => (below, above),
                };
                if numbers == 0 {
                    continue;
                }
                self.each(text, numbers, |text| {
                    let (behind, number) = match backward {
                        false => (i64::from(*ahead), format!("{n} - {below}")),
                        true => (0, format!("{cells} + {n} - {}", below - skipped)),
                    };
                    let at = behind + most - below + skipped;
                    text.line(format!("{}[{n} + {at}] = {};", one.held, one.memory(&number)));
                });
            }
        });
        for slot in 0..ring - 1 {
            self.fetch(text, &(slot * ahead).to_string(), &slot.to_string());
        }
    }

    /// The cells that come in full numbers.
    fn turns(&self, shared: &mut Shared<'_>, text: &mut Text, body: &Text) {
        let Ahead { along: Along { ahead, backward, ring, .. }, n, cells, done, first, slot, to, .. } = self;
        text.block(format!("for (; {done} + {ahead} <= {cells}; {done} += {ahead})"), |text| {
            match backward {
                false => text.line(format!("const i32 {first} = {done};")),
                true => text.line(format!("const i32 {first} = {cells} - {done} - {ahead};")),
            }
            if let Some([_, waits]) = &self.waits {
                text.line(format!("{waits}();"));
            }
            self.shift(text);
            text.line(format!("const i32 {to} = {slot} == 0 ? {} : {slot} - 1;", ring - 1));
            self.fetch(text, &format!("({done} + {})", (ring - 1) * ahead), to);
            text.block("", |text| self.computed(shared, text, body));
            self.each(text, i64::from(*ahead), |text| {
                for one in self.all.iter().filter(|one| one.of.written) {
                    let number = format!("{first} + {n}");
                    text.line(format!("{} = {}[{n} + {}];", one.memory(&number), one.held, self.reach[0]));
                }
            });
            text.line(format!("{slot} = {slot} + 1 == {ring} ? 0 : {slot} + 1;"));
        });
    }

    /// The cells at hand make way for the next ones. Those that these read stay.
    fn shift(&self, text: &mut Text) {
        let Ahead { along: Along { ahead, backward, .. }, reach: [most, _], n, .. } = self;
        for one in &self.all {
            let One { of, held, .. } = one;
            let [below, above] = of.reach;
            let (from, around) = (most - below, below + above);
            if around > 0 {
                self.each(text, around, |text| {
                    text.line(match backward {
                        false => format!("{held}[{n} + {from}] = {held}[{n} + {}];", from + i64::from(*ahead)),
                        // From the last one on: fewer cells may be at hand than stay.
                        true => {
                            let last = from + around - 1;
                            format!("{held}[{} - {n}] = {held}[{last} - {n}];", last + i64::from(*ahead))
                        }
                    });
                });
            }
            if of.fetched {
                let at = if *backward { from } else { from + around };
                let coming = self.coming(one, &self.slot);
                self.each(text, i64::from(*ahead), |text| text.line(format!("{held}[{n} + {at}] = {coming};")));
            }
        }
    }

    /// The cells at hand. The body finds them where it looks for memory.
    fn computed(&self, shared: &mut Shared<'_>, text: &mut Text, body: &Text) {
        let Ahead { along: Along { ahead, backward, axis, .. }, reach: [below, _], cell: t, n, first, .. } = self;
        for One { of, arg, held, ty, .. } in &self.all {
            text.line(format!("{}{ty}* {arg} = {held};", if of.written { "" } else { "const " }));
        }
        let word = if shared.plan.narrow { "i32" } else { "i64" };
        let strides: Vec<(u8, usize)> = shared.used.strides.iter().copied().collect();
        for (group, _) in strides.into_iter().filter(|(_, of)| *of == *axis as usize) {
            text.line(format!("const {word} {} = 1;", shared.stride(group, *axis as usize)));
        }
        text.line("#pragma unroll");
        let turns = match backward {
            false => format!("for (i32 {n} = 0; {n} < {ahead}; {n}++)"),
            true => format!("for (i32 {n} = {}; {n} >= 0; {n}--)", i64::from(*ahead) - 1),
        };
        text.block(turns, |text| {
            text.line(format!("const i32 {t} = {first} + {n};"));
            for group in shared.used.positions.clone() {
                let position = shared.position(group);
                text.line(format!("const {word} {position} = {n} + {below};"));
            }
            coordinates(shared, text);
            cell(shared, text, body.clone());
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
