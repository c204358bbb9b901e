//! Lines along the last axis chunk by chunk of columns, through memory that the threads of a block share.

use super::Field;
use super::helpers::Helper;
use super::kernel::coordinates;
use super::line::{cell, start};
use super::shared::Shared;
use super::text::Text;
use crate::plan::lines::{ROWS, Staged, pitch, reach};
use crate::plan::{Along, Dialect};

/// An argument in chunks: its name, what holds its chunks, and where its columns start in memory, for the line of a
/// number and for the thread's own.
struct One {
    of: Staged,
    arg: String,
    tile: String,
    ty: &'static str,
    places: [String; 2],
    /// Its chunks lie in a ring. What copies a value beside the computing, where the language has that.
    ringed: bool,
    copies: Option<String>,
}

impl One {
    /// Whether what lies around a chunk comes with it: from memory, beside the computing. It does where nothing writes.
    fn comes_whole(&self) -> bool {
        self.ringed && !self.of.written
    }

    /// A statement that fetches a value.
    fn fetch(&self, to: &str, from: &str) -> String {
        match &self.copies {
            Some(copy) => format!("{copy}(&{to}, &{from});"),
            None => format!("{to} = {from};"),
        }
    }
}

/// Lines chunk by chunk of columns: the block fetches them, each thread computes its line's cells of them, the block
/// stores what was written. Where several chunks lie in a ring, the next ones are fetched meanwhile.
pub(super) struct Chunks {
    all: Vec<One>,
    along: Along,
    dialect: Dialect,
    /// Threads of a block.
    threads: u32,
    /// Values from line to line of a chunk.
    pitch: i64,
    /// Chunks that a ring holds. On CUDA what ends the copies of one of them, and what waits for those of the oldest.
    ring: i64,
    waits: Option<[String; 2]>,
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
    /// How many chunks there are, and the number of the one at hand and of the one that is fetched, in order.
    chunks: String,
    chunk: String,
    coming: String,
    /// The first column of a chunk, how many it has, and where it starts in a ring.
    first: String,
    count: String,
    slot: String,
    /// A value of a chunk, its line and its column.
    value: String,
    row: String,
    column: String,
    /// Where the thread's line starts in a chunk.
    own: String,
}

impl Chunks {
    pub(super) fn of(shared: &mut Shared<'_>, along: Along, all: &[Staged]) -> Chunks {
        let rank = shared.kernel.rank;
        let (ring, cuda) = (along.ring.max(1), shared.dialect() == Dialect::Cuda);
        let [thread, row] = ["thread", "row"].map(|name| shared.own(name));
        let one = |of: &Staged, shared: &mut Shared<'_>| {
            let (arg, group) = (shared.args[of.arg].clone(), shared.group(of.arg));
            let line = shared.own("line");
            let number = |row: &String| format!("({line} + {row})");
            let places = [&row, &thread].map(|row| start(shared, group, rank - 1, Some((rank - 2, number(row)))));
            let bytes = shared.kernel.args[of.arg].element.bytes() as u8;
            let ringed = ring > 1 && of.fetched;
            let copies = (ringed && cuda).then(|| shared.helper(Helper::Ahead(bytes)));
            let (tile, ty) = (shared.own(&format!("tile_{arg}")), shared.pointee(of.arg));
            One { of: *of, tile, arg, ty, places, ringed, copies }
        };
        let waits = [Helper::Commit, Helper::WaitBut(ring as u8 - 1)];
        Chunks {
            all: all.iter().map(|of| one(of, shared)).collect(),
            along,
            dialect: shared.dialect(),
            threads: shared.plan.block.iter().product(),
            pitch: pitch(all, along.columns),
            ring: ring.into(),
            waits: (ring > 1 && cuda).then(|| waits.map(|helper| shared.helper(helper))),
            below: reach(all)[0],
            cell: shared.own(&format!("t{}", along.axis)),
            cells: shared.own("cells"),
            across: shared.own(&format!("t{}", rank - 2)),
            lines: format!("(i32){}", shared.field(Field::Extent(rank as u32 - 2))),
            line: shared.own("line"),
            mine: shared.own("mine"),
            chunks: shared.own("chunks"),
            chunk: shared.own("chunk"),
            coming: shared.own("coming"),
            first: shared.own("first"),
            count: shared.own("count"),
            slot: shared.own("slot"),
            value: shared.own("value"),
            column: shared.own("column"),
            own: shared.own("own"),
            thread,
            row,
        }
    }

    /// Values of a chunk.
    fn size(&self) -> i64 {
        i64::from(ROWS) * self.pitch
    }

    /// What a thread knows before the first chunk.
    fn declare(&self, text: &mut Text) {
        let (Chunks { across, thread, line, pitch, .. }, columns) = (self, self.along.columns);
        let [x, y] = [0, 1].map(|axis| self.dialect.thread(axis));
        text.line(format!("const i32 {thread} = (i32)({y} * {ROWS} + {x});"));
        text.line(format!("const i32 {line} = {across} - (i32){x};"));
        text.line(format!("const bool {} = {thread} < {ROWS} && {across} < {};", self.mine, self.lines));
        for One { tile, ty, ringed, .. } in &self.all {
            let chunks = if *ringed { self.ring } else { 1 };
            text.line(format!("{} {ty} {tile}[{}];", self.dialect.shared(), chunks * self.size()));
        }
        text.line(format!("const i32 {} = {thread} * {pitch} + {};", self.own, self.below));
        text.line(format!("const i32 {} = ({} + {}) / {columns};", self.chunks, self.cells, columns - 1));
    }

    /// Where the chunk of a number lies, in memory and in a ring, and how many columns it has.
    fn located(&self, text: &mut Text, chunk: &str, counted: bool) {
        let (Chunks { first, count, cells, chunks, .. }, columns) = (self, self.along.columns);
        let number = if self.along.backward { format!("({chunks} - 1 - {chunk})") } else { chunk.to_owned() };
        text.line(format!("const i32 {first} = {number} * {columns};"));
        if counted {
            text.line(format!("const i32 {count} = {cells} - {first} < {columns} ? {cells} - {first} : {columns};"));
        }
        if self.ring > 1 {
            text.line(format!("const i32 {} = {};", self.slot, self.start(chunk)));
        }
    }

    /// Where a chunk starts in a ring.
    fn start(&self, chunk: &str) -> String {
        format!("{chunk} % {} * {}", self.ring, self.size())
    }

    /// A value of a chunk of an argument, by its place in the chunk.
    fn held(&self, one: &One, slot: &str, place: &str) -> String {
        if one.ringed { format!("{}[{slot} + {place}]", one.tile) } else { format!("{}[{place}]", one.tile) }
    }

    /// Before and behind the cells of the thread's own line in a chunk: the place there, and that in memory.
    fn around<'a>(&'a self, one: &'a One) -> [Vec<(String, String)>; 2] {
        let (Chunks { first, count, own, .. }, One { of, arg, places: [_, place], .. }) = (self, one);
        let below = |by| (format!("{own} - {by}"), format!("{arg}[{place} + {first} - {by}]"));
        let above = |by| (format!("{own} + {count} + {by}"), format!("{arg}[{place} + {first} + {count} + {by}]"));
        [(1..=of.reach[0]).map(below).collect(), (0..of.reach[1]).map(above).collect()]
    }

    /// Around the chunk at hand: what the thread computed last, or what memory has.
    fn carried(&self, text: &mut Text) {
        let (Chunks { chunk, own, .. }, columns) = (self, self.along.columns);
        let before = format!("({})", self.start(&format!("({chunk} + {})", self.ring - 1)));
        for one in self.all.iter().filter(|one| !one.comes_whole()) {
            let [below, above] = self.around(one);
            let kept: Vec<String> = match self.along.backward {
                false => (1..=below.len()).map(|by| format!("{own} + {columns} - {by}")).collect(),
                true => (0..above.len()).map(|by| format!("{own} + {by}")).collect(),
            };
            let (come, other) = if self.along.backward { (above, below) } else { (below, above) };
            for ((to, memory), kept) in come.into_iter().zip(kept) {
                let (to, kept) = (self.held(one, &self.slot, &to), self.held(one, &before, &kept));
                text.line(format!("{to} = {chunk} > 0 ? {kept} : {memory};"));
            }
            for (to, memory) in other {
                text.line(format!("{} = {memory};", self.held(one, &self.slot, &to)));
            }
        }
    }

    /// The block fetches a chunk, or stores it.
    fn moved(&self, text: &mut Text, stores: bool) {
        let Chunks { thread, first, count, value, row, column, .. } = self;
        let columns = self.along.columns;
        if self.ring > 1 {
            text.line("#pragma unroll");
        }
        let turns = ROWS * columns / self.threads;
        text.block(format!("for (i32 {value} = 0; {value} < {turns}; {value}++)"), |text| {
            let number = format!("({value} * {} + {thread})", self.threads);
            text.line(format!("const i32 {row} = {number} / {columns};"));
            text.line(format!("const i32 {column} = {number} % {columns};"));
            let there = format!("{} + {row} < {} && {column} < {count}", self.line, self.lines);
            text.block(format!("if ({there})"), |text| {
                let moves = |one: &&One| if stores { one.of.written } else { one.of.fetched };
                for one in self.all.iter().filter(moves) {
                    let held = format!("{row} * {} + {} + {column}", self.pitch, self.below);
                    let held = self.held(one, &self.slot, &held);
                    let memory = format!("{}[{} + {first} + {column}]", one.arg, one.places[0]);
                    text.line(if stores { format!("{memory} = {held};") } else { one.fetch(&held, &memory) });
                }
            });
        });
    }

    /// The block fetches the chunk that comes last into a ring, and what lies around it.
    fn fetched(&self, text: &mut Text) {
        let Chunks { chunk, chunks, coming, ring, .. } = self;
        text.line(format!("const i32 {coming} = {chunk} + {};", ring - 1));
        text.block(format!("if ({coming} < {chunks})"), |text| {
            self.located(text, coming, true);
            self.moved(text, false);
            let whole: Vec<&One> = self.all.iter().filter(|one| one.comes_whole()).collect();
            if whole.iter().any(|one| one.of.reach != [0, 0]) {
                text.block(format!("if ({})", self.mine), |text| {
                    for one in whole {
                        for (to, memory) in self.around(one).into_iter().flatten() {
                            text.line(one.fetch(&self.held(one, &self.slot, &to), &memory));
                        }
                    }
                });
            }
        });
        if let Some([ends, _]) = &self.waits {
            text.line(format!("{ends}();"));
        }
    }

    /// The cells of the thread's line. The body finds the chunk where it looks for memory.
    fn computed(&self, shared: &mut Shared<'_>, text: &mut Text, body: Text) {
        let Chunks { cell: t, first, count, own, .. } = self;
        let local = if self.dialect == Dialect::OpenCl { "__local " } else { "" };
        for One { of, arg, tile, ty, ringed, .. } in &self.all {
            let slot = if *ringed { format!(" + {}", self.slot) } else { String::new() };
            text.line(format!("{local}{}{ty}* {arg} = {tile}{slot};", if of.written { "" } else { "const " }));
        }
        let turns = match self.along.backward {
            false => format!("for (i32 {t} = {first}; {t} < {first} + {count}; {t}++)"),
            true => format!("for (i32 {t} = {first} + {count} - 1; {t} >= {first}; {t}--)"),
        };
        let word = if shared.plan.narrow { "i32" } else { "i64" };
        if self.ring > 1 && !shared.used.leaves {
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

    pub(super) fn write(&self, shared: &mut Shared<'_>, text: &mut Text, body: Text) {
        self.declare(text);
        let Chunks { mine, dialect, chunk, chunks, ring, .. } = self;
        let carries = self.all.iter().any(|one| !one.comes_whole() && one.of.reach != [0, 0]);
        text.block(format!("for (i32 {chunk} = {}; {chunk} < {chunks}; {chunk}++)", 1 - ring), |text| {
            let test = if *ring > 1 { format!("{chunk} >= 0 && {mine}") } else { mine.clone() };
            if carries {
                text.block(format!("if ({test})"), |text| {
                    let above = |one: &One| !one.comes_whole() && one.of.reach[1] > 0;
                    self.located(text, chunk, self.all.iter().any(above));
                    self.carried(text);
                });
                text.line(dialect.barrier());
            }
            if *ring > 1 {
                self.fetched(text);
                text.line(format!("if ({chunk} < 0) continue;"));
            }
            if let Some([_, wait]) = &self.waits {
                text.line(format!("{wait}();"));
            }
            self.located(text, chunk, true);
            if *ring == 1 {
                self.moved(text, false);
            }
            text.line(dialect.barrier());
            text.block(format!("if ({mine})"), |text| self.computed(shared, text, body));
            text.line(dialect.barrier());
            self.moved(text, true);
            text.line(dialect.barrier());
        });
    }
}
