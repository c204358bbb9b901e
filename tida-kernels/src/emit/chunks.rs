//! Lines along the last axis chunk by chunk of columns, through memory that the threads of a block share.

use super::Field;
use super::held::Held;
use super::helpers::Helper;
use super::kernel::coordinates;
use super::line::{cell, start};
use super::shared::Shared;
use super::text::Text;
use crate::plan::lines::{LANES, Staged, pitch, reach};
use crate::plan::{Along, Dialect};

/// An argument in chunks: its name, what holds its chunks and how many of them, and where its columns start in memory,
/// for the line of a row of the block and for the thread's own.
struct One {
    of: Staged,
    arg: String,
    tile: String,
    ty: &'static str,
    places: [String; 2],
    slots: i64,
    /// What copies a value beside the computing, where the language has that.
    copies: Option<String>,
}

impl One {
    /// Whether what lies around a chunk comes with it, from memory. It does where nothing writes.
    fn comes_whole(&self) -> bool {
        self.of.fetched && !self.of.written
    }

    /// A statement that fetches a value.
    fn fetch(&self, to: &str, from: &str) -> String {
        match &self.copies {
            Some(copy) => format!("{copy}(&{to}, &{from});"),
            None => format!("{to} = {from};"),
        }
    }
}

/// Lines chunk by chunk of columns. The first warp computes the cells of a chunk, a line a thread, while the others
/// store what was written in the one before and fetch those that come.
pub(super) struct Chunks {
    all: Vec<One>,
    along: Along,
    dialect: Dialect,
    /// Lines of a block, and threads that fetch and store.
    rows: u32,
    movers: u32,
    /// Values from line to line of a chunk.
    pitch: i64,
    /// Chunks that are fetched before they are computed, with the one that is.
    ring: i64,
    /// On CUDA what ends the copies of a chunk, and what waits for those of the next one to compute.
    waits: Option<[String; 2]>,
    /// Columns before the first one of a chunk.
    below: i64,
    /// The number of the cell in its line, the cells of a line, the number of the thread's line, and how many lines
    /// there are.
    cell: String,
    cells: String,
    across: String,
    lines: String,
    /// The thread among those that fetch and store, whether it is one, the block's first line, whether the thread has a
    /// line to compute.
    thread: String,
    moves: String,
    line: String,
    mine: String,
    /// How many chunks there are, the one that is computed, and one that is stored or fetched.
    chunks: String,
    chunk: String,
    other: String,
    /// The first column of a chunk, and how many it has.
    first: String,
    count: String,
    /// A value of a chunk, its line and its column.
    value: String,
    row: String,
    column: String,
    /// Where the thread's line starts in a chunk, and how many of its cells are computed.
    own: String,
    done: String,
    /// Cells that are computed in registers.
    held: Option<Held>,
}

impl Chunks {
    pub(super) fn of(shared: &mut Shared<'_>, along: Along, staged: &[Staged]) -> Chunks {
        let (rank, cuda) = (shared.kernel.rank, shared.dialect() == Dialect::Cuda);
        let row = shared.own("row");
        let copied = |of: &Staged, shared: &Shared<'_>| matches!(shared.kernel.args[of.arg].element.bytes(), 4 | 8);
        let beside = cuda && staged.iter().filter(|of| of.fetched).all(|of| copied(of, shared));
        let one = |of: &Staged, shared: &mut Shared<'_>| {
            let (arg, group) = (shared.args[of.arg].clone(), shared.group(of.arg));
            let number = format!("({} + {row})", shared.own("line"));
            let places = [Some((rank - 2, number)), None].map(|line| start(shared, group, rank - 1, line));
            let bytes = shared.kernel.args[of.arg].element.bytes() as u8;
            let copies = (of.fetched && beside).then(|| shared.helper(Helper::Ahead(bytes)));
            let (tile, ty) = (shared.own(&format!("tile_{arg}")), shared.pointee(of.arg));
            One { of: *of, tile, arg, ty, places, slots: of.slots(along.ring).into(), copies }
        };
        let all: Vec<One> = staged.iter().map(|of| one(of, shared)).collect();
        let waits = [Helper::Commit, Helper::WaitBut(along.ring.saturating_sub(2) as u8)];
        let waits = (beside && all.iter().any(|one| one.of.fetched)).then(|| waits.map(|of| shared.helper(of)));
        let [rows, warps, _] = shared.plan.block;
        // A label is one of its function: bodies that leave loops are written once.
        let held = (along.ahead > 0 && !shared.used.leaves).then(|| Held::of(shared, along, staged));
        Chunks {
            along,
            dialect: shared.dialect(),
            rows,
            movers: rows * warps - LANES,
            pitch: pitch(staged, along.columns),
            ring: along.ring.into(),
            waits,
            below: reach(staged)[0],
            all,
            cell: shared.own(&format!("t{}", along.axis)),
            cells: shared.own("cells"),
            across: shared.own(&format!("t{}", rank - 2)),
            lines: format!("(i32){}", shared.field(Field::Extent(rank as u32 - 2))),
            line: shared.own("line"),
            mine: shared.own("mine"),
            chunks: shared.own("chunks"),
            chunk: shared.own("chunk"),
            other: shared.own("other"),
            first: shared.own("first"),
            count: shared.own("count"),
            value: shared.own("value"),
            column: shared.own("column"),
            own: shared.own("own"),
            done: shared.own("done"),
            held,
            thread: shared.own("thread"),
            moves: shared.own("moves"),
            row,
        }
    }

    /// Values of a chunk.
    fn size(&self) -> i64 {
        i64::from(self.rows) * self.pitch
    }

    /// What a thread knows before the first chunk.
    fn declare(&self, text: &mut Text) {
        let (Chunks { across, thread, rows, pitch, .. }, columns) = (self, self.along.columns);
        let [x, y] = [0, 1].map(|axis| self.dialect.thread(axis));
        text.line(format!("const i32 {thread} = (i32)({y} * {rows} + {x}) - {LANES};"));
        text.line(format!("const bool {} = {thread} >= 0;", self.moves));
        text.line(format!("const i32 {} = {across} - (i32){x};", self.line));
        text.line(format!("const bool {} = {y} == 0 && {across} < {};", self.mine, self.lines));
        for One { tile, ty, slots, .. } in &self.all {
            text.line(format!("{} {ty} {tile}[{}];", self.dialect.shared(), slots * self.size()));
        }
        text.line(format!("const i32 {} = (i32){x} * {pitch} + {};", self.own, self.below));
        text.line(format!("const i32 {} = ({} + {}) / {columns};", self.chunks, self.cells, columns - 1));
    }

    /// The first column of the chunk of a number, and how many columns it has.
    fn located(&self, text: &mut Text, chunk: &str) {
        let (Chunks { first, count, cells, chunks, .. }, columns) = (self, self.along.columns);
        let number = if self.along.backward { format!("({chunks} - 1 - {chunk})") } else { chunk.to_owned() };
        text.line(format!("const i32 {first} = {number} * {columns};"));
        text.line(format!("const i32 {count} = {cells} - {first} < {columns} ? {cells} - {first} : {columns};"));
    }

    /// Where a chunk of an argument starts in what holds several.
    fn slot(&self, one: &One, chunk: &str) -> String {
        format!("{chunk} % {} * {}", one.slots, self.size())
    }

    /// A value of a chunk of an argument, by its place in the chunk.
    fn held(&self, one: &One, chunk: &str, place: &str) -> String {
        format!("{}[{} + {place}]", one.tile, self.slot(one, chunk))
    }

    /// Before and behind the cells of a line in a chunk: the place there, and that in memory.
    fn around(&self, one: &One, line: &str, memory: &str) -> [Vec<(String, String)>; 2] {
        let (Chunks { first, count, .. }, One { of, arg, .. }) = (self, one);
        let below = |by| (format!("{line} - {by}"), format!("{arg}[{memory} + {first} - {by}]"));
        let above = |by| (format!("{line} + {count} + {by}"), format!("{arg}[{memory} + {first} + {count} + {by}]"));
        [(1..=of.reach[0]).map(below).collect(), (0..of.reach[1]).map(above).collect()]
    }

    /// Around the chunk that is computed: what the thread computed last, or what memory has.
    fn carried(&self, text: &mut Text) {
        let (Chunks { chunk, own, .. }, columns) = (self, self.along.columns);
        let before = format!("({chunk} - 1)");
        for one in self.all.iter().filter(|one| !one.comes_whole()) {
            let [below, above] = self.around(one, own, &one.places[1]);
            let kept: Vec<String> = match self.along.backward {
                false => (1..=below.len()).map(|by| format!("{own} + {columns} - {by}")).collect(),
                true => (0..above.len()).map(|by| format!("{own} + {by}")).collect(),
            };
            let (come, other) = if self.along.backward { (above, below) } else { (below, above) };
            for ((to, memory), kept) in come.into_iter().zip(kept) {
                let (to, kept) = (self.held(one, chunk, &to), self.held(one, &before, &kept));
                text.line(format!("{to} = {chunk} > 0 ? {kept} : {memory};"));
            }
            for (to, memory) in other {
                text.line(format!("{} = {memory};", self.held(one, chunk, &to)));
            }
        }
    }

    /// Some threads fetch a chunk, or store it. How often is known, so that the compiler writes all of it out.
    fn moved(&self, text: &mut Text, stores: bool) {
        let Chunks { thread, first, count, value, row, column, other, rows, movers, .. } = self;
        let (columns, values) = (self.along.columns, rows * self.along.columns);
        let (turns, of_turn) = (values.div_ceil(*movers), movers / columns);
        // They are whole rows: each thread stays in its column.
        text.line(format!("const i32 {column} = {thread} & {};", columns - 1));
        text.line("#pragma unroll");
        text.block(format!("for (i32 {value} = 0; {value} < {turns}; {value}++)"), |text| {
            let number = columns.trailing_zeros();
            text.line(format!("const i32 {row} = {value} * {of_turn} + ({thread} >> {number});"));
            let within = if values % movers == 0 { String::new() } else { format!("{row} < {rows} && ") };
            let there = format!("{within}{} + {row} < {} && {column} < {count}", self.line, self.lines);
            text.block(format!("if ({there})"), |text| {
                let moves = |one: &&One| if stores { one.of.written } else { one.of.fetched };
                for one in self.all.iter().filter(moves) {
                    let held = format!("{row} * {} + {} + {column}", self.pitch, self.below);
                    let held = self.held(one, other, &held);
                    let memory = format!("{}[{} + {first} + {column}]", one.arg, one.places[0]);
                    text.line(if stores { format!("{memory} = {held};") } else { one.fetch(&held, &memory) });
                }
            });
        });
    }

    /// What lies around a chunk of what nothing writes.
    fn moved_around(&self, text: &mut Text) {
        let Chunks { thread, line, lines, row, rows, .. } = self;
        let whole: Vec<&One> = self.all.iter().filter(|one| one.comes_whole() && one.of.reach != [0, 0]).collect();
        if whole.is_empty() {
            return;
        }
        text.block(format!("if ({thread} < {rows} && {line} + {thread} < {lines})"), |text| {
            text.line(format!("const i32 {row} = {thread};"));
            let held = format!("{row} * {} + {}", self.pitch, self.below);
            for one in whole {
                for (to, memory) in self.around(one, &held, &one.places[0]).into_iter().flatten() {
                    text.line(one.fetch(&self.held(one, &self.other, &to), &memory));
                }
            }
        });
    }

    /// What threads that compute nothing do meanwhile: they fetch the last chunk that a ring has room for, and store
    /// the one before. Then the next one is there.
    fn beside(&self, text: &mut Text) {
        let Chunks { chunk, chunks, other, ring, .. } = self;
        if self.all.iter().any(|one| one.of.fetched) {
            text.block(format!("if ({chunk} + {} < {chunks})", ring - 1), |text| {
                text.line(format!("const i32 {other} = {chunk} + {};", ring - 1));
                self.located(text, other);
                self.moved(text, false);
                self.moved_around(text);
            });
        }
        text.block(format!("if ({chunk} > 0)"), |text| {
            text.line(format!("const i32 {other} = {chunk} - 1;"));
            self.located(text, other);
            self.moved(text, true);
        });
        if let Some([ends, waits]) = &self.waits {
            text.line(format!("{ends}();"));
            text.line(format!("{waits}();"));
        }
    }

    /// The cells of the thread's line: as many at a time as lie in registers, and what is left one by one. The body
    /// finds the chunk where it looks for memory.
    fn computed(&self, shared: &mut Shared<'_>, text: &mut Text, body: Text) {
        let Chunks { cell: t, chunk, first, count, own, done, .. } = self;
        let local = if self.dialect == Dialect::OpenCl { "__local " } else { "" };
        for one in &self.all {
            let (One { arg, ty, .. }, constant) = (one, if one.of.written { "" } else { "const " });
            text.line(format!("{local}{constant}{ty}* {arg} = {} + {};", one.tile, self.slot(one, chunk)));
        }
        text.line(format!("i32 {done} = 0;"));
        if let Some(held) = &self.held {
            self.at_once(shared, text, held, &body);
        }
        let turns = match self.along.backward {
            false => format!("for (i32 {t} = {first} + {done}; {t} < {first} + {count}; {t}++)"),
            true => format!("for (i32 {t} = {first} + {count} - {done} - 1; {t} >= {first}; {t}--)"),
        };
        let word = if shared.plan.narrow { "i32" } else { "i64" };
        if self.held.is_none() && !shared.used.leaves {
            text.line("#pragma unroll 8");
        }
        text.block(turns, |text| {
            for group in shared.used.positions.clone() {
                let position = shared.position(group);
                text.line(format!("const {word} {position} = {own} + {t} - {first};"));
            }
            coordinates(shared, text);
            cell(shared, text, body);
        });
    }

    /// What lies around a chunk, unless registers have it from the one before: where cells were left there, or are left
    /// here, they look for it in memory. They are in the chunk at a line's end, which a backward sweep has first.
    fn unless_kept(&self, text: &mut Text, what: impl FnOnce(&mut Text)) {
        let (Chunks { chunk, count, .. }, Along { ahead, columns, .. }) = (self, self.along);
        match self.held.is_some() && columns % ahead == 0 {
            true => text.block(format!("if ({chunk} < 2 || {count} < {columns})"), what),
            false => what(text),
        }
    }

    /// Cells in registers: no cell waits for what the one before has put into the chunk.
    fn at_once(&self, shared: &mut Shared<'_>, text: &mut Text, held: &Held, body: &Text) {
        let Chunks { along: Along { ahead, .. }, first, count, own, done, .. } = self;
        let chunk = |number: usize, cell: &str| format!("{}[{own} + {cell}]", self.all[number].arg);
        self.unless_kept(text, |text| held.around(text, count, chunk));
        text.block(format!("for (; {done} + {ahead} <= {count}; {done} += {ahead})"), |text| {
            let begin = held.begin(count, done);
            held.shift(text, |number| chunk(number, &held.next(&held.all[number], count, done)));
            text.block("", |text| held.computed(shared, text, &format!("{first} + {begin}"), body));
            held.stored(text, |number| chunk(number, &format!("{begin} + {}", held.n)));
        });
    }

    pub(super) fn write(&self, shared: &mut Shared<'_>, text: &mut Text, body: Text) {
        self.declare(text);
        let Chunks { mine, moves, dialect, chunk, chunks, ring, .. } = self;
        if let Some(held) = &self.held {
            held.declare(text);
        }
        text.block(format!("for (i32 {chunk} = {}; {chunk} <= {chunks}; {chunk}++)", 1 - ring), |text| {
            text.block(format!("if ({moves})"), |text| self.beside(text));
            text.block(format!("if ({mine} && {chunk} >= 0 && {chunk} < {chunks})"), |text| {
                self.located(text, chunk);
                self.unless_kept(text, |text| self.carried(text));
                self.computed(shared, text, body);
            });
            text.line(dialect.barrier());
        });
    }
}
