//! Several cells a thread (see [`crate::plan::coarse`]): runs are written as loops over the cells of a thread, walks as
//! one loop with a run inside.

use super::body::Writer;
use super::kernel::{coordinates, positions};
use super::shared::Shared;
use super::text::Text;
use crate::ir::{Block, LocalId, Stmt};

/// An axis of the kernel along which a thread has several cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Along {
    pub axis: usize,
    /// Cells of a thread, and threads of a block: cells of a thread are that far from one another.
    pub cells: u32,
    pub threads: u32,
}

impl Shared<'_> {
    /// The axes along which a thread has several cells.
    pub(super) fn several(&self) -> Vec<Along> {
        let (cells, block) = (self.plan.cells_of_thread(), self.plan.block);
        let along = |from_last: usize| {
            let axis = self.kernel.rank.checked_sub(from_last + 1)?;
            let along = Along { axis, cells: cells[from_last], threads: block[from_last] };
            (along.cells > 1 && self.coarse.is_some()).then_some(along)
        };
        [1, 0].into_iter().filter_map(along).collect()
    }

    /// Whether a thread has several cells along an axis.
    pub(super) fn has_several(&self, axis: usize) -> bool {
        self.several().iter().any(|along| along.axis == axis)
    }

    /// The number of a cell in its block, where it may be beyond the box, if nothing depends on what a tile holds
    /// there.
    pub(super) fn loose_place(&mut self, axis: usize) -> Option<String> {
        let loose = self.coarse.as_ref().is_some_and(|coarse| coarse.loose);
        (loose && self.has_several(axis)).then(|| self.own(&format!("place{axis}")))
    }

    /// What the values of a cell in an array of all cells of a thread are found by: `[e0][e1]`, of the first one
    /// `[0][0]`.
    pub(super) fn of_cell(&mut self, first: bool) -> String {
        let several = self.several().into_iter();
        several
            .map(|along| if first { "[0]".into() } else { format!("[{}]", self.own(&format!("e{}", along.axis))) })
            .collect()
    }
}

impl<'a> Writer<'_, 'a> {
    /// Whether this is the body of a kernel whose threads have several cells.
    pub fn is_coarse(&self) -> bool {
        self.in_kernel && self.shared.coarse.is_some()
    }

    /// Whether each cell of a thread has such a local of its own.
    pub fn is_spread(&self, local: LocalId) -> bool {
        let spread = |coarse: &crate::plan::coarse::Coarse| coarse.spread.contains(&local);
        self.in_kernel && self.shared.coarse.as_ref().is_some_and(spread)
    }

    /// The declaration of such a local.
    pub fn spread_declaration(&self, ty: &str, name: &str) -> String {
        let cells: String = self.shared.several().iter().map(|along| format!("[{}]", along.cells)).collect();
        format!("{ty} {name}{cells};")
    }

    /// The statements of a body, or of a loop that all cells run alike, cut at the walks.
    pub fn cells(&mut self, block: &'a [Stmt]) {
        let mut rest = block;
        while let Some(stmt) = rest.first() {
            let cuts = |stmt: &Stmt| self.shared.coarse.as_ref().is_some_and(|coarse| coarse.cuts(stmt));
            let before = rest.iter().take_while(|stmt| !cuts(stmt)).count();
            if before > 0 {
                self.run(&rest[..before]);
            } else {
                self.stmt(stmt);
            }
            rest = &rest[before.max(1)..];
        }
    }

    /// The body of a loop that stands in no run.
    pub fn turn(&mut self, body: &'a Block, walked: bool) {
        self.text.depth += 1;
        match self.is_coarse() && !self.in_run {
            true if walked => self.run(body),
            true => self.cells(body),
            false => self.block(body),
        }
        self.text.depth -= 1;
    }

    /// Statements for one cell of the thread after the other.
    fn run(&mut self, stmts: &'a [Stmt]) {
        let several = self.shared.several();
        let depth = self.text.depth;
        let before = std::mem::replace(&mut self.text, Text { depth: depth + several.len(), ..Text::default() });
        let used = &mut self.shared.used;
        // What is declared for each cell is what its run uses.
        let kept = (std::mem::take(&mut used.positions), std::mem::take(&mut used.coordinates));
        let raised = std::mem::take(&mut used.raises);
        let of_first = std::mem::replace(&mut self.cell, self.shared.of_cell(false));
        self.in_run = true;
        self.block(stmts);
        self.in_run = false;
        self.cell = of_first;
        let body = std::mem::replace(&mut self.text, before);
        if !body.lines.is_empty() {
            let head = head(self.shared, &several, &body);
            for along in &several {
                let e = self.shared.own(&format!("e{}", along.axis));
                self.text.line("#pragma unroll");
                self.text.line(format!("for (i32 {e} = 0; {e} < {}; {e}++) {{", along.cells));
                self.text.depth += 1;
            }
            self.text.append(head);
            self.text.append(body);
            for _ in &several {
                self.text.depth -= 1;
                self.text.line("}");
            }
        }
        let used = &mut self.shared.used;
        (used.positions, used.coordinates) = kept;
        used.raises |= raised;
    }
}

/// What a run needs to know of its cell.
fn head(shared: &mut Shared<'_>, several: &[Along], body: &Text) -> Text {
    let depth = body.depth;
    let mut last = Text { depth, ..Text::default() };
    let t = shared.own("t0");
    positions(shared, &mut last, "const ", &t);
    coordinates(shared, &mut last);
    let mut lines = Vec::new();
    let has = |lines: &[String], name: &str| {
        let text = Text { lines: lines.iter().map(|line| (line.clone(), None)).collect(), depth };
        text.has_word(name) || last.has_word(name) || body.has_word(name)
    };
    let inside = shared.own("inside");
    if has(&[], &inside) {
        let tests: Vec<String> = inside_tests(shared);
        lines.push(format!(
            "const bool {inside} = {};",
            if tests.is_empty() { "true".into() } else { tests.join(" && ") }
        ));
    }
    for Along { axis, threads, .. } in several {
        let [place, cells, of_block, t, first, thread, e] =
            ["place", "cells", "in", "t", "first", "thread", "e"].map(|word| shared.own(&format!("{word}{axis}")));
        let mut mine = Vec::new();
        if has(&lines, &t) {
            mine.push(format!("const i32 {t} = {first} + {of_block};"));
        }
        if has(&mine, &of_block) {
            mine.insert(0, format!("const i32 {of_block} = {place} < {cells} ? {place} : {cells} - 1;"));
        }
        if has(&mine, &place) || has(&lines, &place) {
            mine.insert(0, format!("const i32 {place} = {thread} + {e} * {threads};"));
        }
        mine.extend(lines);
        lines = mine;
    }
    let mut head = Text { depth, ..Text::default() };
    lines.iter().for_each(|line| head.line(line));
    head.append(last);
    head
}

/// The tests that a cell is in the box.
fn inside_tests(shared: &mut Shared<'_>) -> Vec<String> {
    let mut tests = Vec::new();
    for axis in 0..shared.kernel.rank {
        let cells = shared.own(&format!("cells{axis}"));
        if shared.has_several(axis) {
            tests.push(format!("{} < {cells}", shared.own(&format!("place{axis}"))));
        } else if shared.width(axis) > 1 {
            let thread = shared.dialect().thread(shared.kernel.rank - 1 - axis);
            tests.push(format!("(i32){thread} < {cells}"));
        }
    }
    tests
}
