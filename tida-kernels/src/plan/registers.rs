//! Values that a thread keeps in registers from one iteration of a loop to the next (SAFARA §III-B).
//!
//! Reads in a `for` loop whose indexes differ by a multiple of what the counter moves them by are reads of one row of
//! values: what one iteration reads ahead, later ones read behind (`a[[i, k + 1]]`, then `a[[i, k]]`, then
//! `a[[i, k - 1]]`). Such a row is **carried**: each value is read once, where it is ahead, and handed on
//! (inter-iteration replacement, Fig. 6). Reads of one value within an iteration, and reads that the loop does not
//! move, are left to the device's compiler, which keeps them by itself.
//!
//! Rows of loops and [queues](super::march::Queue) of a march are candidates for the same registers. A candidate is
//! worth reads saved × latency of their class, and the best for each register come first (§III-B3).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::Plan;
use super::auto::Latency;
use super::cache::Cache;
use super::march::{LONGEST, Queue, queues};
use super::reads::{Reads, assigns, loads};
use crate::analysis::{Analysis, IndexForm, NormalForm, Symbol};
use crate::ir::{Access, Block, Body, ExprId, ExprKind, Kernel, LocalId, Step, StmtKind};

/// 32-bit registers for what is kept, where nothing is known of the device's: a quarter of what a thread can have.
pub const USUAL: u32 = 64;

/// Iterations of a loop whose bounds are not constant, for comparison with others.
const SOME: u64 = 32;

/// Loops of so few iterations are written out by the compiler, which then reads each value once.
pub(super) const SHORT: i64 = 8;

/// How the threads of a warp read a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// All of them the same one: it comes from the cache next to them.
    Uniform,
    /// Neighbours.
    Coalesced,
    /// Each from a line of its own.
    Scattered,
}

impl Class {
    /// What a read of this class costs.
    pub fn latency(self, latency: &Latency) -> u32 {
        match self {
            Class::Uniform => latency.cached,
            Class::Coalesced => latency.coalesced,
            Class::Scattered => latency.scattered,
        }
    }

    /// The class of reads at this index, in a kernel of so many axes (SAFARA §III-B1): whether the last axis of the
    /// argument, and no other, follows the threads of a warp.
    pub fn of(index: &[NormalForm], rank: usize) -> Class {
        let x = Symbol::At(rank.saturating_sub(1) as u32);
        let by: Vec<i64> = index.iter().map(|form| form.coefficient(x)).collect();
        match by.split_last() {
            Some((1 | -1, outer)) if outer.iter().all(|by| *by == 0) => Class::Coalesced,
            _ if by.iter().all(|by| *by == 0) => Class::Uniform,
            _ => Class::Scattered,
        }
    }
}

/// A row of values that a loop carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    /// The argument.
    pub arg: usize,
    /// The component.
    pub component: usize,
    /// The loop: its number in [`Analysis::loops`] and its statement, variable and bounds.
    pub number: u32,
    /// See `number`.
    pub stmt: (LocalId, ExprId, ExprId),
    /// The loops around it, by number, with their variables.
    pub outer: Vec<(u32, LocalId)>,
    /// Index of the value that an iteration reads, the one furthest ahead.
    pub index: Vec<NormalForm>,
    /// Iterations that the oldest value is behind the counter (negative) or ahead of it, and the newest.
    pub along: (i64, i64),
    /// The reads that come from it, and how far ahead of the counter their value is.
    pub reads: BTreeMap<ExprId, i64>,
    /// Reads that an iteration saves.
    pub saved: u32,
    /// Iterations of the loops around each other, as far as constants decide them.
    pub turns: u64,
    /// Bytes of a value.
    pub bytes: usize,
}

impl Carried {
    /// 32-bit registers that it takes.
    pub fn registers(&self) -> u32 {
        ((self.along.1 - self.along.0 + 1) * self.bytes.div_ceil(4) as i64) as u32
    }
}

/// What a thread keeps in registers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    /// As it marches.
    pub queues: Vec<Queue>,
    /// In loops.
    pub carried: Vec<Carried>,
    /// Registers of each candidate, those that are worth most for each register first; kept or not.
    pub wanted: Vec<u32>,
}

/// What a plan keeps in registers.
pub fn kept(kernel: &Kernel, analysis: &Analysis, plan: &Plan) -> Kept {
    if plan.checked || kernel.group.is_some() {
        return Kept::default();
    }
    // A thread with cells side by side has rows, which are queues of their own.
    let marches = plan.marches(kernel.rank).is_some() && plan.beside(kernel.rank) == 1;
    let queues = if marches { queues(kernel, analysis) } else { Vec::new() };
    let mut rows = carried(kernel, analysis);
    // What has tiles is near already.
    rows.retain(|row| plan.cached(row.arg) == Cache::None);
    select(queues, rows, kernel.rank, plan.registers, &plan.latency)
}

/// The candidates that `budget` registers hold, the best for each register first.
pub fn chosen(kernel: &Kernel, analysis: &Analysis, marches: bool, budget: u32, latency: &Latency) -> Kept {
    let queues = if marches { queues(kernel, analysis) } else { Vec::new() };
    select(queues, carried(kernel, analysis), kernel.rank, budget, latency)
}

fn select(queues: Vec<Queue>, rows: Vec<Carried>, rank: usize, budget: u32, latency: &Latency) -> Kept {
    // Column by column they are read side by side.
    let of_queue = |queue: &Queue| (queue.registers(), u64::from(queue.reads - 1) * u64::from(latency.coalesced));
    let of_row = |row: &Carried| {
        let class = Class::of(&row.index, rank);
        (row.registers(), u64::from(row.saved) * u64::from(class.latency(latency)) * row.turns)
    };
    let all: Vec<(u32, u64)> = queues.iter().map(of_queue).chain(rows.iter().map(of_row)).collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|n| Reverse(all[*n].1.saturating_mul(1000) / u64::from(all[*n].0.max(1))));
    let wanted = order.iter().map(|n| all[*n].0).collect();
    let mut left = budget;
    order.retain(|n| {
        let fits = all[*n].0 <= left;
        left -= if fits { all[*n].0 } else { 0 };
        fits
    });
    let is = |n: usize| order.contains(&n);
    let count = queues.len();
    Kept {
        queues: queues.into_iter().enumerate().filter(|(n, _)| is(*n)).map(|(_, queue)| queue).collect(),
        carried: rows.into_iter().enumerate().filter(|(n, _)| is(count + n)).map(|(_, row)| row).collect(),
        wanted,
    }
}

/// The rows that the loops of a kernel can carry: of values that it does not write, read in every iteration.
pub fn carried(kernel: &Kernel, analysis: &Analysis) -> Vec<Carried> {
    if !analysis.complete {
        return Vec::new();
    }
    let known = Reads::of(analysis);
    let mut finder = Finder { kernel, analysis, known, rows: Vec::new() };
    finder.block(&kernel.body.block, &mut Vec::new());
    finder.rows
}

/// Argument, component, the terms of an index and its constants less what whole iterations add: what reads of a row
/// share.
type Row = (usize, u32, Vec<Vec<(Symbol, i64)>>, Vec<i64>);

struct Finder<'k> {
    kernel: &'k Kernel,
    analysis: &'k Analysis,
    known: Reads<'k>,
    rows: Vec<Carried>,
}

impl Finder<'_> {
    fn block(&mut self, block: &Block, outer: &mut Vec<(u32, LocalId)>) {
        for stmt in block {
            match &stmt.kind {
                StmtKind::For { local, lo, hi, body, .. } => {
                    // Without reads there is nothing to find inside.
                    let Some(number) = self.known.number(self.kernel, body, outer.len()) else { continue };
                    if assigns(body, *local) {
                        continue;
                    }
                    self.rows(number, (*local, *lo, *hi), body, outer);
                    outer.push((number, *local));
                    self.block(body, outer);
                    outer.pop();
                }
                StmtKind::If(_, then, otherwise) => {
                    self.block(then, outer);
                    self.block(otherwise, outer);
                }
                StmtKind::While { head, body, .. } => {
                    self.block(head, outer);
                    self.block(body, outer);
                }
                _ => {}
            }
        }
    }

    /// The rows of one loop.
    fn rows(&mut self, number: u32, stmt: (LocalId, ExprId, ExprId), body: &Block, outer: &[(u32, LocalId)]) {
        if self.analysis.turns(number).is_some_and(|turns| turns <= SHORT) {
            return;
        }
        let loops: Vec<u32> = outer.iter().map(|(n, _)| *n).chain([number]).collect();
        let always = always(&self.kernel.body, body);
        // By row: how far ahead its reads are, and whether some read there happens in every iteration.
        let mut rows: BTreeMap<Row, BTreeMap<ExprId, (i64, bool)>> = BTreeMap::new();
        for id in loads(&self.kernel.body, body) {
            if let Some((row, ahead)) = self.row(id, number, &loops) {
                rows.entry(row).or_default().insert(id, (ahead, always.contains(&id)));
            }
        }
        let turns = loops.iter().map(|n| self.analysis.turns(*n).map_or(SOME, |turns| turns.max(1).unsigned_abs()));
        let turns = turns.fold(1, u64::saturating_mul);
        for ((arg, component, terms, rest), reads) in rows {
            let types = self.kernel.args[arg].element.component_types();
            let Some(bytes) = types.get(component as usize).map(|ty| ty.size()) else { continue };
            let mut along: Vec<i64> = reads.values().filter(|(_, always)| *always).map(|(ahead, _)| *ahead).collect();
            along.sort_unstable();
            along.dedup();
            while let Some(&lo) = along.first() {
                let others = along.split_off(along.partition_point(|by| by.saturating_sub(lo) < LONGEST));
                if let (Some(&hi), seen @ 2..) = (along.last(), along.len() as u32) {
                    let within = |(_, (ahead, _)): &(&ExprId, &(i64, bool))| (lo..=hi).contains(ahead);
                    let reads = reads.iter().filter(within).map(|(id, (ahead, _))| (*id, *ahead)).collect();
                    let index = terms.iter().zip(&rest).map(|(terms, rest)| {
                        let form = NormalForm { constant: *rest, terms: terms.clone() };
                        let by = form.coefficient(Symbol::Loop(number)).checked_mul(hi)?;
                        Some(NormalForm { constant: rest.checked_add(by)?, ..form })
                    });
                    if let Some(index) = index.collect::<Option<Vec<NormalForm>>>() {
                        let (component, outer) = (component as usize, outer.to_vec());
                        let (along, saved) = ((lo, hi), seen - 1);
                        let row =
                            Carried { arg, component, number, stmt, outer, index, along, reads, saved, turns, bytes };
                        self.rows.push(row);
                    }
                }
                along = others;
            }
        }
    }

    /// The row of a read that a loop moves, and how many iterations ahead of the counter it is there.
    fn row(&self, id: ExprId, number: u32, loops: &[u32]) -> Option<(Row, i64)> {
        let (arg, access) = self.known.get(id)?;
        let of = self.kernel.args.get(arg)?;
        if of.access == Access::Write || access.index.len() != of.rank {
            return None;
        }
        let form = |form: &IndexForm| match form {
            IndexForm::Affine(form) => {
                let taken = form.terms.iter().all(|(symbol, _)| match symbol {
                    Symbol::At(axis) => (*axis as usize) < self.kernel.rank,
                    Symbol::Loop(n) => loops.contains(n),
                    Symbol::Capture(_) => true,
                    Symbol::Choice(_) | Symbol::Thread(..) => false,
                });
                taken.then(|| form.clone())
            }
            IndexForm::Opaque(_) => None,
        };
        let forms: Vec<NormalForm> = access.index.iter().map(form).collect::<Option<_>>()?;
        let rates: Vec<i64> = forms.iter().map(|form| form.coefficient(Symbol::Loop(number))).collect();
        let moved = rates.iter().position(|by| *by != 0)?;
        // -1 as a rate and the lowest constant of all have no quotient.
        let ahead = forms[moved].constant.checked_div_euclid(rates[moved])?;
        let rest = forms.iter().zip(&rates).map(|(form, by)| form.constant.checked_sub(by.checked_mul(ahead)?));
        let rest = rest.collect::<Option<Vec<i64>>>()?;
        let terms = forms.into_iter().map(|form| form.terms).collect();
        Some(((arg, access.component?, terms, rest), ahead))
    }
}

/// The reads that every iteration of a loop with this body evaluates, before anything can end it.
fn always(body: &Body, block: &Block) -> BTreeSet<ExprId> {
    let mut todo = Vec::new();
    for stmt in block {
        match &stmt.kind {
            StmtKind::Let(_, value) => todo.extend(value),
            StmtKind::Assign(_, steps, value) => {
                todo.push(*value);
                todo.extend(steps.iter().filter_map(|step| match step {
                    Step::Entry(index) => Some(*index),
                    Step::Part(_) => None,
                }));
            }
            StmtKind::Store { index, component, value, .. } => {
                todo.extend(index);
                todo.extend(component.dynamic.iter().map(|d| d.0));
                todo.push(*value);
            }
            StmtKind::Eval(value) => todo.push(*value),
            StmtKind::If(cond, ..) => todo.push(*cond),
            StmtKind::For { lo, hi, .. } => todo.extend([lo, hi]),
            StmtKind::While { .. }
            | StmtKind::Phase { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_) => {}
        }
        if ends(&stmt.kind) {
            break;
        }
    }
    let mut seen = BTreeSet::new();
    while let Some(id) = todo.pop() {
        let Some(expr) = body.exprs.get(id.0 as usize).filter(|_| seen.insert(id)) else { continue };
        match &expr.kind {
            // The other side is evaluated now and then.
            ExprKind::And(a, _) | ExprKind::Or(a, _) => todo.push(*a),
            kind => kind.operands(|id| todo.push(id)),
        }
    }
    seen
}

/// Whether a statement may end an iteration of the loop it stands in. A `while` may also never end.
fn ends(kind: &StmtKind) -> bool {
    let any = |block: &Block| block.iter().any(|stmt| ends(&stmt.kind));
    match kind {
        StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) | StmtKind::While { .. } => true,
        StmtKind::If(_, then, otherwise) => any(then) || any(otherwise),
        StmtKind::For { body, .. } => any(body),
        _ => false,
    }
}
