//! The form of a kernel with inner loops that takes a block of cells at once.
//!
//! A loop inside a cell keeps the compiler from making vectors of cells: it has to turn for each cell by itself. Where
//! the turns are the same for all cells, they are exchanged: the loop is outside, and inside it a phase, which runs for
//! each cell of the block what stands between two loops. What a cell keeps from phase to phase has a lane. Each cell
//! does the same in the same order as by itself.
//!
//! In a phase the cells of a row lie side by side, and what an index says changes evenly along them: a whole array's
//! region is found once for them.

mod emit;

use std::collections::{HashMap, HashSet};

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::ext::IdentExt;
use tida_quote::quote::walk::{Walk, bound};
use tida_quote::quote::{Block, Expr, ExprKind, LocalId, NativeForm, Place, Span, Stmt, StmtKind};

use super::nest::{Around, Class, Classes, Constants, first_loop};
use super::{Body, BothBlock, text_of};
use crate::expand::own;

/// Cells of a row that run at once, at most.
const COLUMNS: usize = 256;

/// Words that a block keeps from phase to phase, at most: they stay in the first-level cache.
const LANES: usize = 2048;

/// Words that one cell may keep.
const WORDS: usize = 64;

/// Most that a phase may have, in nodes, for some turns of the loop around it to run at once.
const UNROLLED: usize = 60;

/// A read of an argument.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The argument.
    pub arg: u32,
    /// The name that it is read by.
    pub view: Ident,
    /// The index as data.
    pub index: Expr,
    /// Rust that evaluates it.
    pub native: TokenStream,
}

/// A statement, or the value, of a block.
#[derive(Debug)]
pub struct Step {
    /// Rust that runs it for one cell.
    pub native: TokenStream,
    /// What it is made of, if it is a loop over a range.
    pub turns: Option<Turns>,
    /// What it reads of the arguments.
    pub loads: Vec<Loaded>,
}

/// A loop over a range, taken apart.
#[derive(Debug)]
pub struct Turns {
    /// Its variable.
    pub variable: TokenStream,
    /// `(lo)..(hi)`.
    pub range: TokenStream,
    /// Where it stands.
    pub span: Span,
    /// Its body.
    pub steps: Vec<Step>,
    /// Its turns stand one after the other in what runs it for one cell.
    pub written_out: bool,
}

/// What runs in turn.
enum Part<'a> {
    /// A `let` of what is the same for all cells.
    Once(&'a TokenStream),
    /// What each cell does before the next loop.
    Phase(Phase<'a>),
    /// A loop that all cells take together.
    Loop(&'a Turns, Vec<Part<'a>>),
}

/// What each cell does between two loops.
#[derive(Default)]
struct Phase<'a> {
    steps: Vec<&'a Step>,
    /// Locals that it names.
    named: HashSet<LocalId>,
    /// Locals that it binds, that a later phase may name.
    bound: Vec<LocalId>,
    /// Locals that it assigns.
    assigned: HashSet<LocalId>,
    /// How long it is, in nodes.
    nodes: usize,
    /// Its last step is the value of the cell.
    gives: bool,
}

/// A local whose value each phase makes again, from `at`.
struct Again<'a> {
    native: &'a TokenStream,
    binds: Vec<LocalId>,
    named: HashSet<LocalId>,
}

/// A kernel for blocks of cells.
pub struct Blocks {
    /// Rust that runs one block. It names the arguments, [`block`], and [`out`].
    pub native: TokenStream,
    /// Most rows and columns of a block.
    pub shape: [u32; 2],
}

/// The name of the block that runs.
pub fn block() -> Ident {
    Ident::new("__tida_block", own())
}

/// The name of where the values of the cells go.
pub fn out() -> Ident {
    Ident::new("__tida_out", own())
}

/// What all of the form shares.
struct Form<'f> {
    /// Locals that have lanes.
    held: &'f HashSet<LocalId>,
    /// The name of the cell.
    at: &'f TokenStream,
    /// Lanes of a row.
    columns: usize,
}

/// Makes the form.
struct Maker<'a> {
    body: &'a Body,
    classes: Classes,
    again: Vec<Again<'a>>,
    /// Locals in view, by name, innermost last.
    names: Vec<LocalId>,
    /// Names of the arguments, and of the cell.
    params: Vec<String>,
    /// Arguments that are written.
    written: HashSet<u32>,
    /// How many words a local may take.
    words: HashMap<LocalId, usize>,
    /// Something in the way.
    fails: bool,
    /// How long loops of constants are taken to be.
    constants: Constants,
    /// Loops around what is walked that all cells take together.
    nests: usize,
    /// The first loop that each cell takes by itself.
    alone: Option<Span>,
}

impl Body {
    /// The form for blocks of cells of a kernel that has loops which all cells of a block can take together. `at` and
    /// `args` are the closure's parameters.
    pub fn blocks(
        &self,
        kernel: &BothBlock,
        at: &TokenStream,
        args: &[TokenStream],
        constants: Constants,
    ) -> (Option<Blocks>, NativeForm) {
        let mut written = HashSet::new();
        let mut returns = false;
        let mut look = |stmt: &Stmt| {
            match &stmt.kind {
                StmtKind::Assign { place: Place::Element { arg, .. }, .. } => {
                    written.insert(*arg);
                }
                StmtKind::Return(_) => returns = true,
                _ => {}
            }
            true
        };
        Walk { expr: &mut |_| {}, stmt: &mut look }.block(&kernel.quoted);
        let (classes, again, names) = (Classes::new(constants), Vec::new(), Vec::new());
        let params = args.iter().chain([at]).map(text_of).collect();
        let words = HashMap::new();
        let mut maker = Maker {
            body: self,
            classes,
            again,
            names,
            params,
            written,
            words,
            fails: returns,
            constants,
            nests: 0,
            alone: None,
        };
        let parts = maker.parts(&kernel.steps, &kernel.quoted, kernel.value.as_ref());
        let first = parts.iter().find_map(|part| match part {
            Part::Loop(turns, _) => Some(turns.span),
            _ => None,
        });
        let blocks = match first {
            Some(_) if !maker.fails => maker.form(&parts, at),
            _ => None,
        };
        let alone = maker.alone.or(first.filter(|_| blocks.is_none()));
        let native = NativeForm { block: blocks.as_ref().map(|blocks| blocks.shape), alone };
        (blocks, native)
    }
}

impl<'a> Maker<'a> {
    /// Cuts a block into phases and loops.
    fn parts(&mut self, steps: &'a [Step], quoted: &'a Block, value: Option<&'a Step>) -> Vec<Part<'a>> {
        let mut parts = Vec::new();
        let mut phase = Phase::default();
        let names = self.names.len();
        for (step, stmt) in steps.iter().zip(&quoted.stmts) {
            match (&stmt.kind, &step.turns) {
                (StmtKind::For { local, range, body }, Some(turns))
                    if self.classes.together((*local, range, body), self.nests > 0 && !turns.written_out) =>
                {
                    end(&mut parts, &mut phase);
                    self.refuse_hiding(&[*local]);
                    self.classes.insert(*local, Class::Same);
                    self.names.push(*local);
                    self.nests += 1;
                    parts.push(Part::Loop(turns, self.parts(&turns.steps, body, None)));
                    self.nests -= 1;
                    self.names.pop();
                }
                (StmtKind::Let { pattern, init, .. }, _) => {
                    let mut locals = Vec::new();
                    bound(pattern, &mut locals);
                    self.fails |= init.is_none();
                    self.refuse_hiding(&locals);
                    let class = self.class_of_let(&locals, init.as_ref());
                    locals.iter().for_each(|local| self.classes.insert(*local, class));
                    match class {
                        Class::Same => parts.push(Part::Once(&step.native)),
                        Class::Along(_) => {
                            let named = named(|walk| walk.stmt(stmt));
                            self.again.push(Again { native: &step.native, binds: locals.clone(), named });
                        }
                        Class::Own => {
                            // What the phase has to keep is kept before another has its name.
                            if self.hidden(&locals).any(|hidden| phase.keeps(hidden)) {
                                end(&mut parts, &mut phase);
                            }
                            phase.take(step, |walk| walk.stmt(stmt));
                            phase.bound.extend(&locals);
                            let words = init.as_ref().map_or(1, words);
                            self.words.extend(locals.iter().map(|local| (*local, words)));
                        }
                    }
                    self.names.extend(locals);
                }
                _ => {
                    phase.take(step, |walk| walk.stmt(stmt));
                    self.alone = self.alone.or_else(|| first_loop(stmt, self.constants, &Around::new()));
                }
            }
        }
        if let (Some(value), Some(quoted)) = (value, &quoted.value) {
            phase.take(value, |walk| walk.expr(quoted));
            phase.gives = true;
        }
        end(&mut parts, &mut phase);
        self.names.truncate(names);
        parts
    }

    /// What is made again stands in other places than where it was written: there, each name that it is made from has
    /// to mean the same. So nothing may hide a loop's variable, what is the same for all cells, what is made again, the
    /// cell or an argument.
    fn refuse_hiding(&mut self, locals: &[LocalId]) {
        let of_param = |local: &LocalId| self.name(*local).is_some_and(|name| self.params.contains(&name));
        let hides = self.hidden(locals).any(|hidden| self.classes.of(hidden) != Class::Own);
        self.fails |= hides || locals.iter().any(of_param);
    }

    /// The class of the locals of a `let`. One that hides another name, or can be changed, is like any other.
    fn class_of_let(&self, locals: &[LocalId], init: Option<&Expr>) -> Class {
        let mutable = |local: &LocalId| self.body.scope.locals.get(*local as usize).is_none_or(|local| local.mutable);
        let plain = self.hidden(locals).next().is_none() && !locals.iter().any(mutable);
        init.filter(|_| plain).map_or(Class::Own, |init| self.classes.of_let(init))
    }

    /// The locals in view that have the names of these.
    fn hidden(&self, locals: &[LocalId]) -> impl Iterator<Item = LocalId> {
        let same = |a: LocalId, b: LocalId| self.name(a) == self.name(b);
        self.names.iter().copied().filter(move |known| locals.iter().any(|local| same(*known, *local)))
    }

    /// The name of a local; `r#x` is `x`.
    fn name(&self, local: LocalId) -> Option<String> {
        self.ident(local).map(|name| name.unraw().to_string())
    }

    fn form(&self, parts: &[Part<'a>], at: &TokenStream) -> Option<Blocks> {
        let mut phases = Vec::new();
        each_phase(parts, &mut |phase| phases.push((phase.named.clone(), phase.bound.clone())));
        // What two phases name is kept between them.
        let bound: Vec<LocalId> = phases.iter().flat_map(|(_, bound)| bound.iter().copied()).collect();
        let kept = |local: &LocalId| {
            phases.iter().filter(|(named, bound)| named.contains(local) || bound.contains(local)).count() > 1
        };
        let held: HashSet<LocalId> = bound.into_iter().filter(kept).collect();
        let words: usize = held.iter().map(|local| self.words.get(local).copied().unwrap_or(1)).sum();
        if words > WORDS {
            return None;
        }
        let lanes = (LANES / words.max(1)).max(LANES / WORDS);
        let columns = lanes.min(COLUMNS);
        let rows = (lanes / columns).clamp(1, 8);
        let mut sorted: Vec<LocalId> = held.iter().copied().collect();
        sorted.sort_unstable();
        let names = sorted.iter().map(|local| lane_of(*local));
        let (made, count) = (self.body.private("lanes", own()), Literal::usize_unsuffixed(rows * columns));
        let form = Form { held: &held, at, columns };
        let inner = self.emit(parts, &form);
        let native = quote_spanned! {own()=>
            #(let mut #names = #made::<_, #count>();)*
            #inner
        };
        Some(Blocks { native, shape: [rows as u32, columns as u32] })
    }
}

impl<'a> Phase<'a> {
    /// Whether it has a value of the local that a later phase may want.
    fn keeps(&self, local: LocalId) -> bool {
        self.bound.contains(&local) || self.assigned.contains(&local)
    }

    fn take(&mut self, step: &'a Step, walk: impl Fn(&mut Walk<'_>)) {
        self.named.extend(named(&walk));
        let assigned = &mut self.assigned;
        let mut look = |stmt: &Stmt| {
            if let StmtKind::Assign { place: Place::Local { local, .. }, .. } = &stmt.kind {
                assigned.insert(*local);
            }
            true
        };
        walk(&mut Walk { expr: &mut |_| {}, stmt: &mut look });
        self.named.extend(self.assigned.iter().copied());
        walk(&mut Walk { expr: &mut |_| self.nodes += 1, stmt: &mut |_| true });
        self.steps.push(step);
    }
}

fn end<'a>(parts: &mut Vec<Part<'a>>, phase: &mut Phase<'a>) {
    if !phase.steps.is_empty() {
        parts.push(Part::Phase(std::mem::take(phase)));
    }
}

fn each_phase<'a>(parts: &[Part<'a>], see: &mut impl FnMut(&Phase<'a>)) {
    for part in parts {
        match part {
            Part::Once(_) => {}
            Part::Phase(phase) => see(phase),
            Part::Loop(_, parts) => each_phase(parts, see),
        }
    }
}

/// The locals that a part of a body names.
fn named(walk: impl FnOnce(&mut Walk<'_>)) -> HashSet<LocalId> {
    let mut named = HashSet::new();
    let mut look = |expr: &Expr| {
        if let ExprKind::Local(local) = expr.kind {
            named.insert(local);
        }
    };
    walk(&mut Walk { expr: &mut look, stmt: &mut |_| true });
    named
}

/// How many words a value may take, from what makes it.
fn words(init: &Expr) -> usize {
    match &init.kind {
        ExprKind::Array(list) | ExprKind::Tuple(list) => list.iter().map(words).sum::<usize>().max(1),
        ExprKind::Repeat(x, len) => words(x).saturating_mul(*len),
        ExprKind::RepeatOf(x, _) => words(x).saturating_mul(8),
        ExprKind::Struct(_, fields) => fields.iter().map(|(_, value)| words(value)).sum::<usize>().max(1),
        // They may give a struct.
        ExprKind::Load { .. }
        | ExprKind::Call(..)
        | ExprKind::Invoke(..)
        | ExprKind::If { .. }
        | ExprKind::Block(_)
        | ExprKind::Local(_) => 2,
        _ => 1,
    }
}

/// Where a local is kept.
fn lane_of(local: LocalId) -> Ident {
    format_ident!("__tida_l{local}", span = own())
}
