//! What a thread knows before the first plane: its cells, where they are in memory, and which faces are near.

use super::{Streams, asked};
use crate::emit::Field;
use crate::emit::shared::Shared;
use crate::emit::text::Text;
use crate::plan::fuse::Face;

impl Streams<'_> {
    /// What a thread knows before the first plane.
    pub(super) fn threads(&self, shared: &mut Shared<'_>, text: &mut Text, groups: [u8; 2]) {
        let dialect = shared.dialect();
        let [x, y, _] = self.block;
        let last = self.rank - 1;
        if self.held.values() > 0 {
            let (planes, values) = (shared.own("planes"), self.held.values());
            text.line(match asked(shared) {
                0 => format!("{} {} {planes}[{values}];", dialect.shared(), self.ty),
                _ => format!("extern __shared__ {} {planes}[];", self.ty),
            });
        }
        let thread = shared.own("thread");
        let (tx, ty) = (shared.own("tx"), shared.own("ty"));
        text.line(format!("const i32 {tx} = (i32){};", dialect.thread(0)));
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
        let (core, tile) = (self.fused.core(self.rank, self.block), self.fused.tile(self.rank, self.block));
        for (axis, numbers) in self.across() {
            let (place, size, core, tile) =
                if axis == last { (&tx, x, core[1], tile[1]) } else { (&ty, y, core[0], tile[0]) };
            let margin = [0, 1].map(|side| self.fused.margin(4 - self.rank + axis, side));
            let block = dialect.block(last - axis);
            let cells = if self.has_cells(axis) { self.cells() } else { 1 };
            debug_assert!(i64::from(size) * cells == tile);
            let (first, n) = (shared.own(&format!("first{axis}")), shared.own(&format!("n{axis}")));
            text.line(format!("const i32 {first} = (i32){block} * {core} - {};", margin[0]));
            for cell in numbers {
                let (t, own) = (self.of(shared, "t", axis, cell), self.of(shared, "mine", axis, cell));
                let within = match (cells, cell) {
                    (1, _) => place.clone(),
                    (_, 0) => format!("{place} * {cells}"),
                    _ => format!("{place} * {cells} + {cell}"),
                };
                text.line(format!("const i32 {t} = {first} + {within};"));
                let mut tests = Vec::new();
                if margin[0] > 0 {
                    tests.push(format!("{within} >= {}", margin[0]));
                }
                if margin[1] > 0 {
                    tests.push(format!("{within} < {}", tile - margin[1]));
                }
                tests.push(format!("{t} < {n}"));
                if self.held.staged.is_none() {
                    text.line(format!("const bool {own} = {};", tests.join(" && ")));
                }
                let [lo, hi] = self.faces(axis).map(Face::is_held);
                let tests = [lo.then(|| format!("{t} < 0")), hi.then(|| format!("{t} >= {n}"))];
                let tests: Vec<String> = tests.into_iter().flatten().collect();
                if !tests.is_empty() {
                    let beyond = self.of(shared, "beyond", axis, cell);
                    text.line(format!("const bool {beyond} = {};", tests.join(" || ")));
                }
                if self.placed {
                    let (at, inside) = (self.of(shared, "in", axis, cell), self.inside(shared, axis, &t, false));
                    text.line(format!("const i32 {at} = {inside};"));
                }
            }
        }
        self.memory(shared, text, groups);
        if self.held.staged.is_some() {
            self.lines(shared, text, groups);
        }
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
            let pointer = dialect.pointer(self.ty, n == 1);
            let mut start = shared.arg(arg);
            if !shared.plan.points_to_regions() {
                start += &format!(" + {}", shared.field(Field::Base(arg as u32)));
            }
            text.line(format!("{pointer} {} = {start};", self.arrays[n]));
        }
        // Threads that stage reach into memory elsewhere, but for ghosts.
        let direct = self.held.staged.is_none() || (0..self.rank).any(|axis| self.remembers(axis));
        let held: Vec<(usize, i64)> = self
            .across()
            .into_iter()
            .flat_map(|(axis, cells)| cells.into_iter().map(move |cell| (axis, cell)))
            .collect();
        for (axis, cell) in held.into_iter().filter(|_| direct) {
            let (t, at) = (self.of(shared, "t", axis, cell), self.of(shared, "held", axis, cell));
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

    /// The cells of a thread beyond faces where memory says what is there, and whether the block has any, or some next to
    /// faces that mirror.
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
    }
}
