//! A thread that takes the cells of a line one after the other.

use super::Field;
use super::kernel::{coordinates, pointers, positions};
use super::shared::Shared;
use super::text::Text;
use crate::analysis::Analysis;
use crate::plan::lines::{ROWS, Staged, pitch, reach, staged};
use crate::plan::{Along, Dialect};

/// The body of a thread for each cell of its line, in order. What one cell has written the next one reads from memory:
/// no other thread writes there.
pub(super) fn along(shared: &mut Shared<'_>, text: &mut Text, body: Text, analysis: &Analysis) {
    let Some(along) = shared.plan.along else { return };
    let (t, n) = (shared.own(&format!("t{}", along.axis)), shared.own("cells"));
    let extent = shared.field(Field::Extent(along.axis));
    pointers(shared, text);
    text.line(format!("const i32 {n} = (i32){extent};"));
    if let Some(staged) = staged(shared.kernel, analysis, &along).filter(|_| along.columns > 0) {
        let staged: Vec<Staged> = staged.into_iter().filter(|one| shared.used.args.contains(&one.arg)).collect();
        return Chunks::of(shared, along, &staged).write(shared, text, body);
    }
    let turns = match along.backward {
        false => format!("for (i32 {t} = 0; {t} < {n}; {t}++)"),
        true => format!("for (i32 {t} = {n} - 1; {t} >= 0; {t}--)"),
    };
    text.block(turns, |text| {
        let first = shared.own("t0");
        positions(shared, text, "const ", &first);
        coordinates(shared, text);
        cell(shared, text, body);
    });
}

/// The body of one cell.
fn cell(shared: &mut Shared<'_>, text: &mut Text, body: Text) {
    let depth = text.depth;
    if shared.used.leaves {
        text.line("{");
        text.append(body.deeper(depth));
        text.line("}");
        text.line(format!("{}:;", shared.own("next_cell")));
    } else {
        text.append(body.deeper(depth - 1));
    }
}

/// The place in memory of a column of a line of the block, by its number: what comes before the column.
fn place(shared: &mut Shared<'_>, group: u8, row: &str) -> String {
    let (rank, narrow) = (shared.kernel.rank, shared.plan.narrow);
    let cast = if narrow { "(i32)" } else { "" };
    let mut place = format!("{cast}{}", shared.field(Field::First(group.into())));
    for axis in 0..rank - 1 {
        let stride = shared.stride(group, axis);
        let number = if axis + 2 == rank {
            format!("({} + {row})", shared.own("line"))
        } else {
            shared.own(&format!("t{axis}"))
        };
        place += &format!(" + {number} * {stride}");
    }
    place
}

/// An argument in chunks: its name, what holds its chunk, and where its columns start in memory, for the line of a
/// number and for the thread's own.
struct One {
    of: Staged,
    arg: String,
    tile: String,
    ty: &'static str,
    places: [String; 2],
}

/// Lines chunk by chunk of columns: the block fetches them, each thread computes its line's cells of them, the block
/// stores what was written.
struct Chunks {
    all: Vec<One>,
    along: Along,
    dialect: Dialect,
    pitch: i64,
    /// Columns before the first one of a chunk.
    below: i64,
    /// The number of the cell in its line, the cells of a line, the number of the thread's line, and how many lines
    /// there are.
    cell: String,
    cells: String,
    across: String,
    lines: String,
    /// The thread in its block, its first line, whether the thread has one.
    thread: String,
    line: String,
    mine: String,
    /// The first column of a chunk, and how many it has.
    first: String,
    count: String,
    /// A value of a chunk, its line and its column.
    value: String,
    row: String,
    column: String,
    /// Where the thread's line starts in a chunk.
    own: String,
}

impl Chunks {
    fn of(shared: &mut Shared<'_>, along: Along, all: &[Staged]) -> Chunks {
        let rank = shared.kernel.rank;
        let [thread, row] = ["thread", "row"].map(|name| shared.own(name));
        let one = |of: &Staged, shared: &mut Shared<'_>| {
            let (arg, group) = (shared.args[of.arg].clone(), shared.group(of.arg));
            let places = [&row, &thread].map(|number| place(shared, group, number));
            One { of: *of, tile: shared.own(&format!("tile_{arg}")), arg, ty: shared.pointee(of.arg), places }
        };
        Chunks {
            all: all.iter().map(|of| one(of, shared)).collect(),
            along,
            dialect: shared.dialect(),
            pitch: pitch(all, along.columns),
            below: reach(all)[0],
            cell: shared.own(&format!("t{}", along.axis)),
            cells: shared.own("cells"),
            across: shared.own(&format!("t{}", rank - 2)),
            lines: format!("(i32){}", shared.field(Field::Extent(rank as u32 - 2))),
            line: shared.own("line"),
            mine: shared.own("mine"),
            first: shared.own("first"),
            count: shared.own("count"),
            value: shared.own("value"),
            column: shared.own("column"),
            own: shared.own("own"),
            thread,
            row,
        }
    }

    /// What a thread knows before the first chunk.
    fn declare(&self, text: &mut Text) {
        let Chunks { across, thread, line, pitch, .. } = self;
        text.line(format!("const i32 {thread} = (i32){};", self.dialect.thread(0)));
        text.line(format!("const i32 {line} = {across} - {thread};"));
        text.line(format!("const bool {} = {across} < {};", self.mine, self.lines));
        for One { tile, ty, .. } in &self.all {
            text.line(format!("{} {ty} {tile}[{}];", self.dialect.shared(), i64::from(ROWS) * pitch));
        }
        text.line(format!("const i32 {} = {thread} * {pitch} + {};", self.own, self.below));
    }

    /// The loop over chunks.
    fn turns(&self) -> String {
        let (Chunks { first, cells, .. }, columns) = (self, self.along.columns);
        match self.along.backward {
            false => format!("for (i32 {first} = 0; {first} < {cells}; {first} += {columns})"),
            true => {
                format!("for (i32 {first} = ({cells} - 1) / {columns} * {columns}; {first} >= 0; {first} -= {columns})")
            }
        }
    }

    /// Around the chunk each thread has its own line: what it computed last, or what memory has.
    fn around(&self, text: &mut Text) {
        let (Chunks { first, count, cells, own, .. }, columns) = (self, self.along.columns);
        for One { of, arg, tile, places: [_, place], .. } in &self.all {
            for by in 1..=of.reach[0] {
                let memory = format!("{arg}[{place} + {first} - {by}]");
                let found = match self.along.backward {
                    true => memory,
                    false => format!("{first} > 0 ? {tile}[{own} + {columns} - {by}] : {memory}"),
                };
                text.line(format!("{tile}[{own} - {by}] = {found};"));
            }
            for by in 0..of.reach[1] {
                let memory = format!("{arg}[{place} + {first} + {count} + {by}]");
                let found = match self.along.backward {
                    true => format!("{first} + {columns} < {cells} ? {tile}[{own} + {by}] : {memory}"),
                    false => memory,
                };
                text.line(format!("{tile}[{own} + {count} + {by}] = {found};"));
            }
        }
    }

    /// The block fetches the chunk, or stores it.
    fn moved(&self, text: &mut Text, stores: bool) {
        let Chunks { thread, first, count, value, row, column, .. } = self;
        let columns = self.along.columns;
        let head = format!("for (i32 {value} = {thread}; {value} < {}; {value} += {ROWS})", ROWS * columns);
        text.block(head, |text| {
            text.line(format!("const i32 {row} = {value} / {columns};"));
            text.line(format!("const i32 {column} = {value} % {columns};"));
            let there = format!("{} + {row} < {} && {column} < {count}", self.line, self.lines);
            text.block(format!("if ({there})"), |text| {
                let moves = |one: &&One| if stores { one.of.written } else { one.of.fetched };
                for One { arg, tile, places: [place, _], .. } in self.all.iter().filter(moves) {
                    let held = format!("{tile}[{row} * {} + {} + {column}]", self.pitch, self.below);
                    let memory = format!("{arg}[{place} + {first} + {column}]");
                    let (to, from) = if stores { (memory, held) } else { (held, memory) };
                    text.line(format!("{to} = {from};"));
                }
            });
        });
    }

    /// The cells of the thread's line. The body finds the chunk where it looks for memory.
    fn computed(&self, shared: &mut Shared<'_>, text: &mut Text, body: Text) {
        let Chunks { cell: t, first, count, own, .. } = self;
        let local = if self.dialect == Dialect::OpenCl { "__local " } else { "" };
        for One { of, arg, tile, ty, .. } in &self.all {
            text.line(format!("{local}{}{ty}* {arg} = {tile};", if of.written { "" } else { "const " }));
        }
        let turns = match self.along.backward {
            false => format!("for (i32 {t} = {first}; {t} < {first} + {count}; {t}++)"),
            true => format!("for (i32 {t} = {first} + {count} - 1; {t} >= {first}; {t}--)"),
        };
        let word = if shared.plan.narrow { "i32" } else { "i64" };
        text.block(turns, |text| {
            for group in shared.used.positions.clone() {
                let position = shared.position(group);
                text.line(format!("const {word} {position} = {own} + {t} - {first};"));
            }
            coordinates(shared, text);
            cell(shared, text, body);
        });
    }

    fn write(&self, shared: &mut Shared<'_>, text: &mut Text, body: Text) {
        self.declare(text);
        let (Chunks { first, count, cells, mine, dialect, .. }, columns) = (self, self.along.columns);
        text.block(self.turns(), |text| {
            text.line(format!("const i32 {count} = {cells} - {first} < {columns} ? {cells} - {first} : {columns};"));
            text.block(format!("if ({mine})"), |text| self.around(text));
            text.line(dialect.barrier());
            self.moved(text, false);
            text.line(dialect.barrier());
            text.block(format!("if ({mine})"), |text| self.computed(shared, text, body));
            text.line(dialect.barrier());
            self.moved(text, true);
            text.line(dialect.barrier());
        });
    }
}
