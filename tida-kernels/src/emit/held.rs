//! Some cells of a thread's line in registers: what is read around them is fetched at once, the cells are computed, and
//! what they wrote is stored at once.

use super::kernel::coordinates;
use super::line::cell;
use super::shared::Shared;
use super::text::Text;
use crate::plan::Along;
use crate::plan::lines::{Staged, reach};

/// An argument: its name, what holds its cells at hand, and their type.
pub(super) struct One {
    pub of: Staged,
    pub arg: String,
    pub ty: &'static str,
    held: String,
}

/// The cells of a line that are in registers at once.
pub(super) struct Held {
    pub all: Vec<One>,
    along: Along,
    /// Cells before the first one at hand, and behind the last one.
    reach: [i64; 2],
    /// The number of the cell in its line, that of what is fetched, kept or stored among the cells at hand, and that of
    /// the first of these.
    cell: String,
    pub n: String,
    pub first: String,
}

impl Held {
    pub fn of(shared: &mut Shared<'_>, along: Along, staged: &[Staged]) -> Held {
        let one = |of: &Staged| {
            let arg = shared.args[of.arg].clone();
            One { of: *of, held: shared.own(&format!("held_{arg}")), ty: shared.pointee(of.arg), arg }
        };
        Held {
            all: staged.iter().map(one).collect(),
            along,
            reach: reach(staged),
            cell: shared.own(&format!("t{}", along.axis)),
            n: shared.own("n"),
            first: shared.own("first"),
        }
    }

    /// A loop over numbers below a constant, written out by the compiler, so that what they count lies in registers.
    pub fn each(&self, text: &mut Text, numbers: i64, what: impl FnOnce(&mut Text)) {
        let n = &self.n;
        text.line("#pragma unroll");
        text.block(format!("for (i32 {n} = 0; {n} < {numbers}; {n}++)"), what);
    }

    pub fn declare(&self, text: &mut Text) {
        let [below, above] = self.reach;
        for One { held, ty, .. } in &self.all {
            text.line(format!("{ty} {held}[{}];", i64::from(self.along.ahead) + below + above));
        }
    }

    /// What lies around the first of so many cells, where the last cells at hand would have left it. `from` says where
    /// the cell of a number is.
    pub fn around(&self, text: &mut Text, cells: &str, from: impl Fn(usize, &str) -> String) {
        let Held { along: Along { ahead, backward, .. }, reach: [most, _], n, .. } = self;
        for (number, one) in self.all.iter().enumerate() {
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
                let (behind, place) = match backward {
                    false => (i64::from(*ahead), format!("{n} - {below}")),
                    true => (0, format!("{cells} + {n} - {}", below - skipped)),
                };
                let at = behind + most - below + skipped;
                text.line(format!("{}[{n} + {at}] = {};", one.held, from(number, &place)));
            });
        }
    }

    /// The number of cell `n` of those that come once so many of all cells are done.
    pub fn next(&self, one: &One, cells: &str, done: &str) -> String {
        let Held { along: Along { ahead, backward, .. }, n, .. } = self;
        let [below, above] = one.of.reach;
        match backward {
            false => format!("{done} + {above} + {n}"),
            true => format!("{cells} - {done} - {} + {n}", i64::from(*ahead) + below),
        }
    }

    /// The first of the cells that are computed once so many of all cells are done.
    pub fn begin(&self, cells: &str, done: &str) -> String {
        let Along { ahead, backward, .. } = self.along;
        if backward { format!("{cells} - {done} - {ahead}") } else { done.to_owned() }
    }

    /// The cells at hand make way for the next ones. Those that these read stay. `from` says where cell `n` of those
    /// that come is.
    pub fn shift(&self, text: &mut Text, from: impl Fn(usize) -> String) {
        let Held { along: Along { ahead, backward, .. }, reach: [most, _], n, .. } = self;
        for (number, One { of, held, .. }) in self.all.iter().enumerate() {
            let [below, above] = of.reach;
            let (start, around) = (most - below, below + above);
            if around > 0 {
                self.each(text, around, |text| {
                    text.line(match backward {
                        false => format!("{held}[{n} + {start}] = {held}[{n} + {}];", start + i64::from(*ahead)),
                        // From the last one on: fewer cells may be at hand than stay.
                        true => {
                            let last = start + around - 1;
                            format!("{held}[{} - {n}] = {held}[{last} - {n}];", last + i64::from(*ahead))
                        }
                    });
                });
            }
            if of.fetched {
                let at = if *backward { start } else { start + around };
                let coming = from(number);
                self.each(text, i64::from(*ahead), |text| text.line(format!("{held}[{n} + {at}] = {coming};")));
            }
        }
    }

    /// The cells at hand, of which `first` is the number of the first one in the line. The body finds them where it
    /// looks for memory.
    pub fn computed(&self, shared: &mut Shared<'_>, text: &mut Text, first: &str, body: &Text) {
        let Held { along: Along { ahead, backward, axis, .. }, reach: [below, _], cell: t, n, .. } = self;
        for One { of, arg, held, ty } in &self.all {
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

    /// What was written goes where `to` says that cell `n` is.
    pub fn stored(&self, text: &mut Text, to: impl Fn(usize) -> String) {
        self.each(text, self.along.ahead.into(), |text| {
            for (number, one) in self.all.iter().enumerate().filter(|(_, one)| one.of.written) {
                text.line(format!("{} = {}[{} + {}];", to(number), one.held, self.n, self.reach[0]));
            }
        });
    }
}
