//! Several cells a thread in kernels with tiles: what is read from a tile once serves all of them from registers.
//!
//! The body is cut at its walks. What stands between two of them is a **run**: a thread takes it for one cell after the
//! other. A walk has one loop for all cells, whose body is a run too, written out for each cell, so that the compiler
//! sees which values of a tile are the same for the cells of a row or a column. Each cell has the same operations in
//! the same order as alone.

use std::collections::{BTreeMap, BTreeSet};

use super::cache::Scope;
use super::reads::{assigns, expressions};
use crate::analysis::{Analysis, IndexForm, Symbol};
use crate::ir::{Access, Block, ExprId, ExprKind, Kernel, LocalId, Stmt, StmtKind, has_loop, has_while};

/// A loop as it stands in the body: variable and bounds.
type Loop = (LocalId, ExprId, ExprId);

/// How the body of a kernel is run for several cells of a thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coarse {
    /// The walks, at which the body is cut.
    walks: BTreeSet<Loop>,
    /// Locals that live from one run to another: each cell has its own.
    pub spread: BTreeSet<LocalId>,
    /// Cells beyond the box may find in a tile what nobody left there: nothing but their values depends on it, and
    /// nobody stores those. Else they find what the last cell does.
    pub loose: bool,
    /// 32-bit registers for what lives through a walk.
    pub registers: Registers,
    /// Expressions of the body, which is written out for each cell.
    pub size: usize,
}

impl Coarse {
    /// Whether a statement is a walk, or has one in it.
    pub fn cuts(&self, stmt: &Stmt) -> bool {
        stmt.holds(&|kind| key(kind).is_some_and(|key| self.walks.contains(&key)))
    }
}

/// 32-bit registers of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// For each cell.
    pub cell: u32,
    /// For each column of its cells, of what is the same along the axis before the last.
    pub column: u32,
    /// For each row.
    pub row: u32,
    /// For all of them.
    pub all: u32,
}

fn key(kind: &StmtKind) -> Option<Loop> {
    match kind {
        StmtKind::For { local, lo, hi, .. } => Some((*local, *lo, *hi)),
        _ => None,
    }
}

/// A block whose threads have several cells: threads, and cells of each, along x and y.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Threads.
    pub block: [u32; 2],
    /// Cells of a thread.
    pub cells: [u32; 2],
    /// Iterations of a strip.
    pub strip: u32,
}

/// Threads along x and y: those of a warp read two rows of one tile and half a row of the other.
const SIDE: u32 = 16;
/// Cells of a thread along x and y that are thought of.
const CELLS: [[u32; 2]; 5] = [[8, 8], [4, 8], [4, 4], [2, 4], [2, 2]];
/// Iterations of a strip.
pub const STRIP: u32 = 16;
/// What has no room in the registers of such blocks, in one of half as many threads, with as many registers as a thread
/// can have. A multiprocessor has room for two.
const LARGE: Shape = Shape { block: [SIDE, SIDE / 2], cells: [8, 8], strip: SHORTEST };
const ALL_REGISTERS: u32 = 255;
/// Fewest iterations of a strip that is not rather made for fewer cells.
pub const SHORTEST: u32 = 8;
/// Registers of a thread: a multiprocessor of 65536 has room for 512 such threads.
const REGISTERS: u32 = 128;
/// Those of them for what is read, where it is fetched and where it lies.
const OTHERS: u32 = 60;
/// Most expressions in the text of all cells of a thread.
const LONGEST: usize = 4096;
/// What a read from a tile costs, in turns of a walk's arithmetic.
const READ: f64 = 0.6;

impl Coarse {
    /// Registers of a thread with so many cells, as far as they can be counted here.
    pub fn registers_of(&self, cells: [u32; 2]) -> u32 {
        let (Registers { cell, column, row, all }, [x, y]) = (self.registers, cells);
        OTHERS.saturating_add(cell.saturating_mul(x * y)).saturating_add(column * x + row * y + all)
    }

    /// Blocks of so many threads that a multiprocessor is to hold; 0 says nothing.
    pub fn held(&self, threads: u32, cells: [u32; 2]) -> u32 {
        let registers = self.registers_of(cells);
        let room = if registers <= REGISTERS { REGISTERS } else { ALL_REGISTERS + 1 };
        if registers <= ALL_REGISTERS { 65536 / room / threads.max(1) } else { 0 }
    }

    /// Shapes for a walk whose cells share rows and columns, the one that should be fastest first, on so many
    /// multiprocessors. `extent` is the largest box, of `cells` cells in all boxes. A thread with more cells reads
    /// less; with fewer there are more blocks, so that all multiprocessors have about the same work: none is to be
    /// without. One cell a thread is best where none is given.
    pub fn shapes(&self, multiprocessors: u32, extent: &[i64], cells: u64) -> Vec<Shape> {
        let [rows, columns] = match extent {
            [.., rows, columns] => [*rows, *columns].map(|n| n.max(1).unsigned_abs()),
            _ => return Vec::new(),
        };
        let others = (cells as f64 / (rows as f64 * columns as f64)).max(1.0);
        // `least` blocks each multiprocessor is to have.
        let rate = |Shape { block, cells: [x, y], .. }: Shape, least: f64| {
            let [wide, high] = [columns.div_ceil(u64::from(x * block[0])), rows.div_ceil(u64::from(y * block[1]))];
            let each = wide as f64 * high as f64 * others / f64::from(multiprocessors.max(1));
            let busy = if each < least { 0.0 } else { each / each.ceil() };
            let (x, y) = (f64::from(x), f64::from(y));
            busy / (1.0 + READ * (x + y) / (x * y))
        };
        let short = |[x, y]: [u32; 2]| self.size * (x * y) as usize <= LONGEST;
        let usual = CELLS.into_iter().filter(|cells| self.registers_of(*cells) <= REGISTERS);
        let usual = usual.map(|cells| (Shape { block: [SIDE; 2], cells, strip: STRIP }, 1.0));
        // Half as many threads wait for what they read: two blocks of them.
        let large = (REGISTERS + 1..=ALL_REGISTERS).contains(&self.registers_of(LARGE.cells)).then_some((LARGE, 2.0));
        // One cell a thread has blocks of 32 x 32.
        let alone = rate(Shape { block: [2 * SIDE; 2], cells: [1, 1], strip: STRIP }, 1.0);
        let mut all: Vec<(Shape, f64)> = usual
            .chain(large)
            .filter(|(shape, _)| short(shape.cells))
            .map(|(shape, least)| (shape, rate(shape, least)))
            .filter(|(_, rate)| *rate > alone)
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all.into_iter().map(|(shape, _)| shape).collect()
    }
}

/// Whether and how a thread can have several cells of a kernel; or why not.
pub(super) fn coarse(kernel: &Kernel, analysis: &Analysis, scopes: &[Scope]) -> Result<Coarse, &'static str> {
    let walks: BTreeSet<Loop> = scopes.iter().filter_map(|scope| Some(scope.walk.as_ref()?.stmt)).collect();
    if walks.is_empty() {
        return Err("no loop walks what the cells of a block share");
    }
    let block = &kernel.body.block;
    if ends(block) || block.iter().any(|stmt| stmt.holds(&|kind| matches!(kind, StmtKind::Return(_)))) {
        return Err("cells end early");
    }
    let tiled =
        scopes.iter().flat_map(|scope| scope.tiles.iter().flat_map(|tile| tile.reads.keys().copied())).collect();
    let mut runs = Runs {
        kernel,
        coarse: Coarse { walks, ..Coarse::default() },
        tiled,
        all: Vec::new(),
        counters: BTreeSet::new(),
    };
    runs.cut(block, &mut Vec::new())?;
    let Runs { mut coarse, all, counters, .. } = runs;
    let mut found: BTreeMap<LocalId, (usize, bool)> = BTreeMap::new();
    for run in &all {
        for local in &run.touched {
            let known = found.entry(*local).or_default();
            known.0 += 1;
            known.1 |= run.walked && run.valued.contains(local);
            if counters.contains(local) && !run.counters.contains(local) {
                return Err("a loop's variable is used outside of the loop");
            }
        }
    }
    found.retain(|local, (runs, _)| *runs > 1 && !counters.contains(local));
    let words = |local: &LocalId| {
        let ty = kernel.body.locals.get(*local as usize).map(|local| &local.ty);
        ty.map_or(0, |ty| ty.scalar().map_or(2 * ty.components() as u32, |scalar| scalar.size().div_ceil(4) as u32))
    };
    let mut values = Values { kernel, counters: &counters, lets: BTreeMap::new(), known: BTreeMap::new() };
    values.declared(block);
    for (local, _) in found.iter().filter(|(_, (_, walked))| *walked) {
        let (axes, last) = (values.of_local(*local), kernel.rank.saturating_sub(1));
        let moves = |axis: Option<usize>| axis.is_some_and(|axis| axes & (1 << axis) != 0);
        let registers = &mut coarse.registers;
        *match (moves(Some(last)), moves(last.checked_sub(1))) {
            (true, true) => &mut registers.cell,
            (true, false) if kernel.rank == 1 => &mut registers.cell,
            (true, false) => &mut registers.column,
            (false, true) => &mut registers.row,
            (false, false) => &mut registers.all,
        } += words(local);
    }
    coarse.spread = found.into_keys().collect();
    coarse.loose = loose(kernel, analysis);
    coarse.size = expressions(&kernel.body, block).len();
    Ok(coarse)
}

/// Whether a block outside of loops ends its cell.
fn ends(block: &Block) -> bool {
    block.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break | StmtKind::Continue => true,
        StmtKind::If(_, then, otherwise) => ends(then) || ends(otherwise),
        _ => false,
    })
}

/// Whether values decide nothing but values: not where something is read, how often a loop runs, or what faults.
fn loose(kernel: &Kernel, analysis: &Analysis) -> bool {
    let plain = |form: &IndexForm| match form {
        IndexForm::Affine(form) => !form.terms.iter().any(|(symbol, _)| matches!(symbol, Symbol::Choice(_))),
        IndexForm::Opaque(_) => false,
    };
    let reads = analysis.args.iter().flat_map(|usage| &usage.accesses).all(|access| access.index.iter().all(plain));
    let loops = analysis.loops.iter().all(|info| plain(&info.lo) && plain(&info.last));
    !analysis.may_fault && reads && loops && !has_while(&kernel.body.block)
}

/// Statements that a thread runs for one cell after the other.
struct Run {
    /// In a walk.
    walked: bool,
    /// The locals that stand in it, and those of them whose values it needs.
    touched: BTreeSet<LocalId>,
    valued: BTreeSet<LocalId>,
    /// Variables of the loops around.
    counters: Vec<LocalId>,
}

struct Runs<'k> {
    kernel: &'k Kernel,
    coarse: Coarse,
    /// Reads that come from tiles: nothing is computed to find their place.
    tiled: BTreeSet<ExprId>,
    all: Vec<Run>,
    /// Variables of loops that all cells run alike.
    counters: BTreeSet<LocalId>,
}

impl Runs<'_> {
    fn cut(&mut self, block: &[Stmt], around: &mut Vec<LocalId>) -> Result<(), &'static str> {
        let mut rest = block;
        while let Some(stmt) = rest.first() {
            let before = rest.iter().take_while(|stmt| !self.coarse.cuts(stmt)).count();
            if before > 0 {
                self.run(&rest[..before], around, false);
                rest = &rest[before..];
                continue;
            }
            rest = &rest[1..];
            let (StmtKind::For { local, lo, hi, body, .. }, Some(key)) = (&stmt.kind, key(&stmt.kind)) else {
                return Err("a walk is in something other than a loop");
            };
            if assigns(body, *local) {
                return Err("a loop's variable is assigned");
            }
            self.counters.insert(*local);
            // Bounds are the same for all cells, so that those of the first one serve.
            let mut bounds =
                Run { walked: false, touched: BTreeSet::new(), valued: BTreeSet::new(), counters: around.clone() };
            [lo, hi].into_iter().for_each(|bound| self.locals(*bound, &mut bounds.touched));
            self.all.push(bounds);
            around.push(*local);
            if self.coarse.walks.contains(&key) {
                if has_loop(body) {
                    return Err("a loop stands in the one that walks");
                }
                self.run(body, around, true);
            } else {
                self.cut(body, around)?;
            }
            around.pop();
        }
        Ok(())
    }

    fn run(&mut self, stmts: &[Stmt], around: &[LocalId], walked: bool) {
        let mut run = Run { walked, touched: BTreeSet::new(), valued: BTreeSet::new(), counters: around.to_vec() };
        declared(stmts, &mut run.touched);
        run.valued = run.touched.clone();
        let body = &self.kernel.body;
        let all = expressions(body, stmts);
        let of = |id: &ExprId| match body.exprs[id.0 as usize].kind {
            ExprKind::Local(local) => Some(local),
            _ => None,
        };
        run.touched.extend(all.iter().filter_map(of));
        // What only finds the place of a read in a tile is no value.
        let (mut todo, mut seen) = (super::reads::values(stmts), BTreeSet::new());
        while let Some(id) = todo.pop() {
            if seen.insert(id) && !self.tiled.contains(&id) {
                run.valued.extend(of(&id));
                body.exprs[id.0 as usize].kind.operands(|id| todo.push(id));
            }
        }
        self.all.push(run);
    }

    fn locals(&self, id: ExprId, out: &mut BTreeSet<LocalId>) {
        let kind = &self.kernel.body.exprs[id.0 as usize].kind;
        if let ExprKind::Local(local) = kind {
            out.insert(*local);
        }
        kind.operands(|id| self.locals(id, out));
    }
}

/// Along which axes the values of locals differ, a bit each.
struct Values<'k> {
    kernel: &'k Kernel,
    counters: &'k BTreeSet<LocalId>,
    /// The values of locals that are declared once and never assigned; none of others.
    lets: BTreeMap<LocalId, Option<ExprId>>,
    known: BTreeMap<ExprId, u32>,
}

impl Values<'_> {
    fn declared(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            match &stmt.kind {
                StmtKind::Let(local, value) => {
                    let again = self.lets.contains_key(local);
                    self.lets.insert(*local, value.filter(|_| !again));
                }
                StmtKind::Assign(local, ..) => drop(self.lets.insert(*local, None)),
                StmtKind::If(_, then, otherwise) => {
                    [then, otherwise].into_iter().for_each(|block| self.declared(block))
                }
                StmtKind::For { body, .. } | StmtKind::Phase { body, .. } => self.declared(body),
                StmtKind::While { head, body, .. } => [head, body].into_iter().for_each(|block| self.declared(block)),
                _ => {}
            }
        }
    }

    fn of_local(&mut self, local: LocalId) -> u32 {
        match self.lets.get(&local).copied().flatten() {
            _ if self.counters.contains(&local) => 0,
            Some(value) => self.of(value),
            None => u32::MAX,
        }
    }

    fn of(&mut self, id: ExprId) -> u32 {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let kind = &self.kernel.body.exprs[id.0 as usize].kind;
        let mut axes = match kind {
            ExprKind::Coordinate(axis) => 1 << axis,
            ExprKind::Local(local) => self.of_local(*local),
            ExprKind::Load { arg, .. } if self.kernel.args[*arg as usize].access == Access::Write => u32::MAX,
            _ => 0,
        };
        let mut operands = Vec::new();
        kind.operands(|id| operands.push(id));
        operands.into_iter().for_each(|id| axes |= self.of(id));
        self.known.insert(id, axes);
        axes
    }
}

/// The locals that statements declare or assign.
fn declared(stmts: &[Stmt], out: &mut BTreeSet<LocalId>) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Let(local, _) | StmtKind::Assign(local, ..) => drop(out.insert(*local)),
            StmtKind::If(_, then, otherwise) => [then, otherwise].into_iter().for_each(|block| declared(block, out)),
            StmtKind::For { local, body, .. } => {
                out.insert(*local);
                declared(body, out);
            }
            StmtKind::While { head, body, .. } => [head, body].into_iter().for_each(|block| declared(block, out)),
            StmtKind::Phase { thread, body, .. } => {
                out.insert(*thread);
                declared(body, out);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(registers: u32, extent: &[i64]) -> Option<[u32; 2]> {
        let registers = Registers { cell: registers, ..Registers::default() };
        let coarse = Coarse { registers, ..Coarse::default() };
        let cells = extent.iter().product::<i64>().unsigned_abs();
        coarse.shapes(132, extent, cells).first().map(|shape| shape.cells)
    }

    #[test]
    fn threads_have_as_many_cells_as_registers_and_the_grid_leave() {
        // f64, f32, and two sums of f64.
        assert_eq!(first(2, &[2048, 2048]), Some([8, 8]));
        assert_eq!(first(1, &[4096, 4096]), Some([8, 8]));
        assert_eq!(first(4, &[4096, 4096]), Some([4, 4]));
        // Several boxes, or several products, fill the device together.
        assert_eq!(first(2, &[64, 256, 256]), Some([8, 8]));
        // Not where multiprocessors would have one block of few threads.
        assert_eq!(first(2, &[1152, 1152]), Some([2, 4]));
        // Small ones have more blocks, and the smallest as many threads as cells.
        assert_eq!(first(2, &[512, 512]), Some([2, 2]));
        assert_eq!(first(2, &[64, 64]), None);
        assert_eq!(first(2, &[1 << 20]), None);
        // No room.
        assert_eq!(first(60, &[4096, 4096]), None);
        let registers = Registers { cell: 2, ..Registers::default() };
        let long = Coarse { registers, size: 400, ..Coarse::default() };
        assert_eq!(long.shapes(132, &[4096, 4096], 1 << 24).first().map(|shape| shape.cells), Some([2, 4]));
    }

    #[test]
    fn blocks_have_room_beside_one_another() {
        // Beside a sum of each cell a value of each row.
        let registers = Registers { cell: 2, row: 1, ..Registers::default() };
        let coarse = Coarse { registers: Registers { row: 0, ..registers }, ..Coarse::default() };
        assert_eq!(Coarse { registers, ..Coarse::default() }.registers_of([4, 8]), coarse.registers_of([4, 8]) + 8);
        assert_eq!(coarse.held(256, [4, 8]), 2);
        assert_eq!(coarse.held(128, [4, 8]), 4);
        assert_eq!(coarse.held(128, [8, 8]), 2);
        assert_eq!(coarse.held(256, [8, 8]), 1);
        let crowded = Registers { cell: 4, ..Registers::default() };
        assert_eq!(Coarse { registers: crowded, ..Coarse::default() }.held(128, [8, 8]), 0);
    }
}
