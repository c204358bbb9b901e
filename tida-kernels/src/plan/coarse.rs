//! Several cells a thread in kernels with tiles: what is read from a tile once serves all of them from registers.
//!
//! The body is cut at its walks. What stands between two of them is a **run**: a thread takes it for one cell after the other. A
//! walk has one loop for all cells, whose body is a run too, written out for each cell, so that the compiler sees which values of
//! a tile are the same for the cells of a row or a column. Each cell has the same operations in the same order as alone.

use std::collections::{BTreeMap, BTreeSet};

use super::cache::Scope;
use super::reads::{assigns, expressions};
use crate::analysis::{Analysis, IndexForm, Symbol};
use crate::ir::{Block, ExprId, ExprKind, Kernel, LocalId, Stmt, StmtKind, has_loop, has_while};

/// A loop as it stands in the body: variable and bounds.
type Loop = (LocalId, ExprId, ExprId);

/// How the body of a kernel is run for several cells of a thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coarse {
    /// The walks, at which the body is cut.
    walks: BTreeSet<Loop>,
    /// Locals that live from one run to another: each cell has its own.
    pub spread: BTreeSet<LocalId>,
    /// Cells beyond the box may find in a tile what nobody left there: nothing but their values depends on it, and nobody stores
    /// those. Else they find what the last cell does.
    pub loose: bool,
    /// 32-bit registers of a cell for what lives through a walk.
    pub registers: u32,
    /// Expressions of the largest walk.
    pub size: usize,
}

impl Coarse {
    /// Whether a statement is a walk, or has one in it.
    pub fn cuts(&self, stmt: &Stmt) -> bool {
        stmt.holds(&|kind| key(kind).is_some_and(|key| self.walks.contains(&key)))
    }
}

fn key(kind: &StmtKind) -> Option<Loop> {
    match kind {
        StmtKind::For { local, lo, hi, .. } => Some((*local, *lo, *hi)),
        _ => None,
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
    coarse.registers = found.iter().filter(|(_, (_, walked))| *walked).map(|(local, _)| words(local)).sum();
    coarse.spread = found.into_keys().collect();
    coarse.loose = loose(kernel, analysis);
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
                self.coarse.size = self.coarse.size.max(expressions(&self.kernel.body, body).len());
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
