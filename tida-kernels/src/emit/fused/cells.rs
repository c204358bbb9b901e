//! What a thread knows before the first plane: its cells, where they are in memory, and which faces are near.

use super::{Streams, asked};
use crate::emit::shared::Shared;
use crate::emit::text::Text;
use crate::emit::{COUNTERS, Field};
use crate::plan::Dialect;
use crate::plan::fuse::{Face, WARP};

impl Streams<'_> {
    /// What a thread knows before the first plane.
    pub(super) fn threads(&self, shared: &mut Shared<'_>, text: &mut Text, groups: [u8; 2]) {
        let dialect = shared.dialect();
        let [x, ..] = self.block;
        let last = self.rank - 1;
        let (row, tiles) = (self.fused.row(self.block), self.fused.tiles(self.block));
        let (tx, ty, tile) = (shared.own("tx"), shared.own("ty"), shared.own("tile"));
        let x_block = dialect.block(0);
        match tiles {
            1 => text.line(format!("const i32 {tx} = (i32){};", dialect.thread(0))),
            _ => {
                text.line(format!("const i32 {tx} = (i32){} % {row};", dialect.thread(0)));
                text.line(format!("const i32 {tile} = (i32){} / {row};", dialect.thread(0)));
            }
        }
        if self.held.values() > 0 {
            let (planes, values) = (shared.own("planes"), self.held.values());
            let all = if tiles == 1 { planes.clone() } else { shared.own("all_planes") };
            text.line(match asked(shared) {
                0 => format!("{} {} {all}[{}];", dialect.shared(), self.ty, values * i64::from(tiles)),
                _ => format!("extern __shared__ {} {all}[];", self.ty),
            });
            if tiles > 1 {
                let space = if dialect == Dialect::OpenCl { "__local " } else { "" };
                text.line(format!("{space}{}* {planes} = {all} + {tile} * {values};", self.ty));
            }
        }
        self.board(shared, text);
        let thread = shared.own("thread");
        if self.rank == 3 {
            text.line(format!("const i32 {ty} = (i32){};", dialect.thread(1)));
            text.line(format!("const i32 {thread} = {ty} * {x} + {tx};"));
        } else {
            text.line(format!("const i32 {thread} = {tx};"));
        }
        for axis in 0..self.rank {
            let (cells, extent) = (shared.own(&format!("n{axis}")), shared.field(Field::Extent(axis as u32)));
            text.line(format!("const i32 {cells} = (i32){extent};"));
        }
        let (core, size) = (self.fused.core(self.rank, self.block), self.fused.tile(self.rank, self.block));
        for (axis, number) in self.across() {
            let (place, core, size) = if axis == last { (&tx, core[1], size[1]) } else { (&ty, core[0], size[0]) };
            let margin = [0, 1].map(|side| self.fused.margin(4 - self.rank + axis, side));
            let cells = self.along(axis);
            let (first, n) = (shared.own(&format!("first{axis}")), shared.own(&format!("n{axis}")));
            if number == 0 {
                let block = match (axis == last, tiles) {
                    (true, 2..) => format!("((i32){x_block} * {tiles} + {tile})"),
                    (true, _) => format!("(i32){x_block}"),
                    _ => format!("(i32){}", dialect.block(last - axis)),
                };
                text.line(format!("const i32 {first} = {block} * {core} - {};", margin[0]));
            }
            let (t, own) = (self.numbered(shared, "t", axis, number), self.numbered(shared, "mine", axis, number));
            let within = match (cells, number) {
                (1, _) => place.clone(),
                (_, 0) => format!("{place} * {cells}"),
                _ => format!("{place} * {cells} + {number}"),
            };
            text.line(format!("const i32 {t} = {first} + {within};"));
            let mut tests = Vec::new();
            if margin[0] > 0 {
                tests.push(format!("{within} >= {}", margin[0]));
            }
            if margin[1] > 0 {
                tests.push(format!("{within} < {}", size - margin[1]));
            }
            tests.push(format!("{t} < {n}"));
            if self.leaves_late().is_none() || self.counts {
                text.line(format!("const bool {own} = {};", tests.join(" && ")));
            }
            let [lo, hi] = self.faces(axis).map(Face::is_held);
            let tests = [lo.then(|| format!("{t} < 0")), hi.then(|| format!("{t} >= {n}"))];
            let tests: Vec<String> = tests.into_iter().flatten().collect();
            if !tests.is_empty() {
                let beyond = self.numbered(shared, "beyond", axis, number);
                text.line(format!("const bool {beyond} = {};", tests.join(" || ")));
            }
            if self.placed {
                let (at, inside) = (self.numbered(shared, "in", axis, number), self.inside(shared, axis, &t, false));
                text.line(format!("const i32 {at} = {inside};"));
            }
        }
        self.memory(shared, text, groups);
        self.lines(shared, text, groups);
        self.ghosts(shared, text);
        let (from, end, march) = (shared.own("from"), shared.own("end"), shared.own("march"));
        let [lo, hi] = [Field::PartLo, Field::PartHi].map(|field| format!("(i32){}", shared.field(field)));
        text.line(format!("const i32 {from} = {lo} + (i32){} * {march};", dialect.block(2)));
        text.line(format!("const i32 {end} = {hi} - {from} < {march} ? {hi} : {from} + {march};"));
        self.window(shared, text);
    }

    /// The first and the last plane that the steps need of memory: there may be no others.
    fn window(&self, shared: &mut Shared<'_>, text: &mut Text) {
        let (from, end, n0) = (shared.own("from"), shared.own("end"), shared.own("n0"));
        let (lowest, highest) = (shared.own("lowest"), shared.own("highest"));
        let [below, above] = self.reach(0);
        let [lo, hi] = [below, above].map(|reach| self.depth() * reach);
        if self.jumps() {
            return;
        }
        if self.wraps(0) {
            text.line(format!("const i32 {lowest} = {from} - {lo};"));
            text.line(format!("const i32 {highest} = {end} - 1 + {hi};"));
        } else {
            text.line(format!("const i32 {lowest} = {from} - {lo} < -{below} ? -{below} : {from} - {lo};"));
            let last = format!("{n0} - 1 + {above}");
            text.line(format!("const i32 {highest} = {end} - 1 + {hi} < {last} ? {end} - 1 + {hi} : {last};"));
        }
    }

    /// Where the cells of a thread are in memory.
    fn memory(&self, shared: &mut Shared<'_>, text: &mut Text, groups: [u8; 2]) {
        let dialect = shared.dialect();
        let (word, cast) = if shared.plan.narrow { ("i32", "(i32)") } else { ("i64", "") };
        let args = [self.steps.pair.1, self.steps.pair.0];
        for (n, arg) in args.into_iter().enumerate() {
            let pointer = dialect.pointer(self.one, n == 1);
            let mut start = shared.arg(arg);
            if !shared.plan.points_to_regions() {
                start += &format!(" + {}", shared.field(Field::Base(arg as u32)));
            }
            text.line(format!("{pointer} {} = {start};", self.arrays[n]));
        }
        // Threads that stage reach into memory elsewhere, but for ghosts.
        let direct = self.leaves_late().is_none() || (0..self.rank).any(|axis| self.remembers(axis));
        for (axis, number) in self.across().filter(|_| direct) {
            let (t, at) = (self.numbered(shared, "t", axis, number), self.numbered(shared, "held", axis, number));
            let inside = self.inside(shared, axis, &t, true);
            text.line(format!("const i32 {at} = {inside};"));
        }
        let different = if groups[0] == groups[1] { 1 } else { 2 };
        for (n, group) in groups.into_iter().enumerate().take(different) {
            for axis in 0..self.rank - 1 {
                let (name, stride) =
                    (shared.stride(group, axis), shared.field(Field::Stride(group.into(), axis as u32)));
                text.line(format!("const {word} {name} = {cast}{stride};"));
            }
            let first = shared.field(Field::First(group.into()));
            for cell in (0..self.cells()).filter(|_| direct) {
                let mut place = format!("{cast}{first}");
                for axis in 1..self.rank {
                    place += &format!(" + {}", self.of(shared, "held", axis, cell));
                    if axis + 1 < self.rank {
                        place += &format!(" * {}", shared.stride(group, axis));
                    }
                }
                text.line(format!("const {word} {}_{cell} = {place};", self.positions[n]));
            }
        }
    }

    /// Whether memory says what is beyond some face of the axis.
    pub(super) fn remembers(&self, axis: usize) -> bool {
        self.faces(axis).into_iter().any(Face::is_held)
    }

    /// The cells of a thread beyond faces where memory says what is there, and whether the block has any, or some next
    /// to faces that mirror.
    fn ghosts(&self, shared: &mut Shared<'_>, text: &mut Text) {
        let axes: Vec<usize> = (1..self.rank).filter(|axis| self.remembers(*axis)).collect();
        for cell in (0..self.cells()).filter(|_| !axes.is_empty()) {
            let tests: Vec<String> = axes.iter().map(|axis| self.of(shared, "beyond", *axis, cell)).collect();
            text.line(format!("const bool {} = {};", shared.own(&format!("ghost_{cell}")), tests.join(" || ")));
        }
        let tile = self.fused.tile(self.rank, self.block);
        let mut any = Vec::new();
        for axis in 1..self.rank {
            let (first, n) = (shared.own(&format!("first{axis}")), shared.own(&format!("n{axis}")));
            let cells = tile[3 - self.rank + axis - 1];
            // Cells inside of a face that what is beyond concerns.
            let near = [0, 1].map(|side| match self.faces(axis)[side] {
                face if face.is_held() => Some(0),
                face if face.wraps() => None,
                _ => Some(self.reach(axis)[side]),
            });
            any.extend(near[0].map(|near| format!("{first} < {near}")));
            any.extend(near[1].map(|near| format!("{first} + {cells} > {n} - {near}")));
        }
        if !any.is_empty() {
            text.line(format!("const bool {} = {};", shared.own("ghosts"), any.join(" || ")));
        }
        for axis in (1..self.rank).filter(|axis| self.mirrors(*axis..*axis + 1)) {
            self.beside(shared, text, axis);
        }
    }

    /// Whether a thread has cells of the box beside faces across an axis that mirror; or its warp has, where threads
    /// can ask that, so that none runs two texts.
    fn beside(&self, shared: &mut Shared<'_>, text: &mut Text, axis: usize) {
        let n = shared.own(&format!("n{axis}"));
        let of = |shared: &mut Shared<'_>, number: i64| self.numbered(shared, "t", axis, number);
        let (first, last) = (of(shared, 0), of(shared, self.along(axis) - 1));
        let mut any = Vec::new();
        let ([low, high], faces) = (self.reach(axis), self.faces(axis));
        if faces[0].mirrors() && low > 0 {
            any.push(format!("{first} < {low} && {last} >= 0"));
        }
        if faces[1].mirrors() && high > 0 {
            any.push(format!("{last} >= {n} - {high} && {first} < {n}"));
        }
        let mut any = any.join(" || ");
        let threads = self.block.iter().product::<u32>();
        if shared.dialect() == Dialect::Cuda && threads.is_multiple_of(WARP) {
            any = format!("__any_sync(0xffffffffu, {any})");
        }
        text.line(format!("const bool {} = {any};", shared.own(&format!("beside{axis}"))));
    }

    /// Texts of their own for cells beside faces that mirror: the test of a thread, and the axes that these faces are
    /// across. First those of any axis; then, where that saves something, those across the last one alone: in a block
    /// at such a face each row of threads has one.
    pub(super) fn beside_faces(&self, shared: &mut Shared<'_>) -> Vec<(String, Vec<usize>)> {
        let all: Vec<usize> = (0..self.rank).filter(|axis| !self.away && self.mirrors(*axis..*axis + 1)).collect();
        let Some((last, others)) =
            all.split_last().filter(|(last, others)| **last + 1 == self.rank && !others.is_empty())
        else {
            let test = all.iter().flat_map(|axis| self.is_beside(shared, *axis)).collect::<Vec<_>>().join(" || ");
            return if all.is_empty() { Vec::new() } else { vec![(test, all)] };
        };
        let others = others.iter().flat_map(|axis| self.is_beside(shared, *axis)).collect::<Vec<_>>().join(" || ");
        let last = self.is_beside(shared, *last).join(" || ");
        vec![(others, all.clone()), (last, vec![self.rank - 1])]
    }

    /// Tests of threads that have cells beside faces across an axis that mirror.
    fn is_beside(&self, shared: &mut Shared<'_>, axis: usize) -> Vec<String> {
        if axis > 0 {
            return vec![shared.own(&format!("beside{axis}"))];
        }
        let (plane, n0, [low, high]) = (shared.own("plane"), shared.own("n0"), self.reach(0));
        let [below, above] = self.faces(0).map(Face::mirrors);
        let low = (below && low > 0).then(|| format!("{plane} < {low}"));
        low.into_iter().chain((above && high > 0).then(|| format!("{plane} >= {n0} - {high}"))).collect()
    }

    /// Whether what is so many cells away from a cell, towards a face, lies beyond that.
    pub(super) fn is_beyond(
        &self,
        shared: &mut Shared<'_>,
        cell: i64,
        (axis, side): (usize, usize),
        by: i64,
    ) -> String {
        let number = if axis == 0 { shared.own("plane") } else { self.of(shared, "t", axis, cell) };
        match side {
            0 => format!("{number} < {by}"),
            _ => format!("{number} >= {} - {by}", shared.own(&format!("n{axis}"))),
        }
    }

    /// Where a step counts what saturates of each cell of a thread: of those that the block owns.
    pub(super) fn counters(&self, shared: &mut Shared<'_>, text: &mut Text, step: i64) {
        if !self.counts {
            return;
        }
        let (plane, from, end) = (shared.own("plane"), shared.own("from"), shared.own("end"));
        for cell in 0..self.cells() {
            let mine: Vec<String> = (1..self.rank).map(|axis| self.of(shared, "mine", axis, cell)).collect();
            let (place, mine) = (shared.own(&format!("place_{cell}")), mine.join(" && "));
            let own = format!("{plane} >= {from} && {plane} < {end} && {mine}");
            text.line(format!("const u32 {place} = {own} ? {}u : {}u;", step - 1, COUNTERS));
        }
    }
}
