//! What the quotation of a body says of its loops: which of them all cells of a block can take together.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use tida_quote::quote::walk::Walk;
use tida_quote::quote::{
    BinaryOp, Block, Expr, ExprKind, LocalId, Method, Pattern, Place, Projection, Range, Span, Stmt, StmtKind, UnaryOp,
};

/// Turns of a loop with numbers for bounds, those of loops inside it counted, that the compiler writes out: then it
/// makes vectors of cells around it by itself, and keeps in registers what the loop makes of fixed-size arrays.
const WRITTEN_OUT: u64 = 32;

/// The same of loops whose turns change entries of a fixed-size array that a cell keeps. Taken by all cells together,
/// each turn would fetch and keep the whole array of each cell. Written out, entries are in registers.
const SORTED: u64 = 64;

/// Most that a loop may have in all its turns, in nodes, for the macro to write it out.
const COPIED: u64 = 1000;

/// The same where turns change entries of an array.
const COPIED_SORTED: u64 = 4000;

/// How often the body of a loop that constants bound stands in the native form: stars have radii up to 8, and lattices
/// nine velocities.
const OPEN: u64 = 9;

/// Most axes of an array.
const AXES: u64 = 4;

/// Most that an index may change from a cell to the next, so that it cannot wrap within a block.
const STEEPEST: u64 = 1 << 20;

/// How the value of a local comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It is the same for all cells.
    Same,
    /// Made from `at` and what is the same for all cells, and changing by at most so much from a cell to the next.
    Along(u64),
    /// Anything else.
    Own,
}

/// The least and the greatest that the variables of loops around may be, of loops that numbers bound.
pub type Around = HashMap<LocalId, [i64; 2]>;

/// How long loops are taken to be that constants bound: a macro does not know their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constants {
    /// As loops over axes.
    Few,
    /// As any other loop.
    Any,
}

/// The classes of the locals met so far.
#[derive(Debug)]
pub struct Classes {
    of: HashMap<LocalId, Class>,
    constants: Constants,
}

impl Classes {
    /// None so far, for loops of constants that are so long.
    pub fn new(constants: Constants) -> Classes {
        Classes { of: HashMap::new(), constants }
    }

    /// Says of what class a local is.
    pub fn insert(&mut self, local: LocalId, class: Class) {
        self.of.insert(local, class);
    }

    /// The class of a local.
    pub fn of(&self, local: LocalId) -> Class {
        self.of.get(&local).copied().unwrap_or(Class::Own)
    }

    /// The class of what a `let` binds: of values that are never changed.
    pub fn of_let(&self, init: &Expr) -> Class {
        match self.of_expr(init) {
            // Only what costs next to nothing is made again in each phase.
            Class::Along(_) if nodes(init) > 16 => Class::Own,
            class => class,
        }
    }

    /// The class of a value.
    pub fn of_expr(&self, expr: &Expr) -> Class {
        let all = |list: &mut dyn Iterator<Item = &Expr>| list.map(|e| self.of_expr(e)).fold(Class::Same, join);
        match &expr.kind {
            ExprKind::Int(..)
            | ExprKind::Float(..)
            | ExprKind::Bool(_)
            | ExprKind::Capture(_)
            | ExprKind::Constant(_) => Class::Same,
            ExprKind::Local(local) => self.of(*local),
            ExprKind::At => Class::Along(1),
            ExprKind::Unary(UnaryOp::Neg, x) => self.of_expr(x),
            ExprKind::Shift { point, offset, .. } => sum(self.of_expr(point), self.of_expr(offset)),
            ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => sum(self.of_expr(a), self.of_expr(b)),
            ExprKind::Binary(BinaryOp::Mul, a, b) => match (self.of_expr(a), self.of_expr(b)) {
                (Class::Along(most), Class::Same) => times(most, b),
                (Class::Same, Class::Along(most)) => times(most, a),
                (a, b) => uniform(join(a, b)),
            },
            ExprKind::Array(list) => all(&mut list.iter()),
            ExprKind::Repeat(x, _) | ExprKind::RepeatOf(x, _) => self.of_expr(x),
            // (The native form names the array.)
            ExprKind::Length(array) => uniform(self.of_expr(array)),
            ExprKind::Project(base, Projection::Index(entry)) => match (self.of_expr(base), self.of_expr(entry)) {
                (base, Class::Same) => base,
                _ => Class::Own,
            },
            ExprKind::Project(base, _) => uniform(self.of_expr(base)),
            ExprKind::Unary(_, x) | ExprKind::Cast(x, _) | ExprKind::Unit(x) => uniform(self.of_expr(x)),
            ExprKind::Binary(_, a, b) | ExprKind::Compare(_, a, b) | ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                uniform(join(self.of_expr(a), self.of_expr(b)))
            }
            ExprKind::Method(_, args) | ExprKind::Tuple(args) => uniform(all(&mut args.iter())),
            ExprKind::Load { .. }
            | ExprKind::If { .. }
            | ExprKind::Block(_)
            | ExprKind::Call(..)
            | ExprKind::Invoke(..)
            | ExprKind::Struct(..) => Class::Own,
        }
    }

    /// Whether all cells of a block take the turns of this loop together, which may be `inside` of another such. (A
    /// short one that is written out is a part of what each cell does: cut by it, the cell would have to keep all that
    /// it has from turn to turn.)
    pub fn together(&self, (local, range, body): Loop<'_>, inside: bool) -> bool {
        let same = range.parts().all(|part| self.of_expr(part) == Class::Same);
        let short = || is_written_out((local, range, body), self.constants, &Around::new());
        same && body.value.is_none() && !leaves(body) && (inside || !short())
    }
}

/// A loop: its variable, its range and its body.
pub type Loop<'a> = (LocalId, &'a Range, &'a Block);

/// The first loop in a statement that the compiler does not write out, inside of loops `around`.
pub fn first_loop(stmt: &Stmt, constants: Constants, around: &Around) -> Option<Span> {
    let mut found = None;
    let mut look = |stmt: &Stmt| {
        match &stmt.kind {
            StmtKind::For { local, range, body } if is_written_out((*local, range, body), constants, around) => {
                let inside = inside(around, *local, range);
                found = found.or_else(|| body.stmts.iter().find_map(|stmt| first_loop(stmt, constants, &inside)));
                return false;
            }
            StmtKind::For { .. } | StmtKind::While { .. } => found = found.or(Some(stmt.span)),
            _ => {}
        }
        true
    };
    Walk { expr: &mut |_| {}, stmt: &mut look }.stmt(stmt);
    found
}

/// How often the body of a short loop stands in the native form, one turn after the other. The compiler makes vectors
/// of the cells around a loop that it has written out before it looks for vectors, and whether it does depends on how
/// long the loop is.
pub fn copies((local, range, body): Loop<'_>, around: &Around) -> Option<u64> {
    if !is_written_out((local, range, body), Constants::Few, around) || leaves(body) {
        return None;
    }
    let mut nodes = 1u64;
    Walk { expr: &mut |_| nodes += 1, stmt: &mut |_| true }.block(body);
    let in_each = turns_in(body, Constants::Few, &inside(around, local, range));
    let copied = if changes_entries(local, body) { COPIED_SORTED } else { COPIED };
    // (A body that never runs says what the types of its numbers are all the same.)
    let most = copied / nodes.saturating_mul(in_each).max(1);
    let turns = turns(range, Constants::Few, around).filter(|turns| *turns > 0 && *turns <= most)?;
    let open = is_by_constants(range) && !is_over_axes(local, body);
    Some(if open { most.min(OPEN) } else { turns })
}

fn is_written_out((local, range, body): Loop<'_>, constants: Constants, around: &Around) -> bool {
    let most = if changes_entries(local, body) { SORTED } else { WRITTEN_OUT };
    let in_each = || turns_in(body, constants, &inside(around, local, range));
    turns(range, constants, around).is_some_and(|turns| turns.saturating_mul(in_each()) <= most)
}

/// What the variables of loops may be inside of one more.
pub fn inside(around: &Around, local: LocalId, range: &Range) -> Around {
    let mut inside = around.clone();
    if let (Some([least, _]), Some([_, most])) = (between(&range.lo, around), between(&range.hi, around)) {
        inside.insert(local, [least, most]);
    }
    inside
}

/// Whether the turns of a loop change entries, by their numbers, of an array that a cell keeps.
fn changes_entries(local: LocalId, body: &Block) -> bool {
    let variables = RefCell::new(vec![local]);
    let mut found = false;
    let mut look = |stmt: &Stmt| {
        match &stmt.kind {
            StmtKind::For { local, .. } => variables.borrow_mut().push(*local),
            StmtKind::Assign { place: Place::Local { path, .. }, .. } => {
                let names = |entry: &Expr| {
                    let mut named = false;
                    let mut look = |expr: &Expr| {
                        named |= matches!(expr.kind, ExprKind::Local(of) if variables.borrow().contains(&of));
                    };
                    Walk { expr: &mut look, stmt: &mut |_| true }.expr(entry);
                    named
                };
                found |= path.iter().any(|step| matches!(step, Projection::Index(entry) if names(entry)));
            }
            _ => {}
        }
        true
    };
    Walk { expr: &mut |_| {}, stmt: &mut look }.block(body);
    found
}

/// Any more than the same for all cells is some value.
fn uniform(class: Class) -> Class {
    match class {
        Class::Same => Class::Same,
        _ => Class::Own,
    }
}

fn join(a: Class, b: Class) -> Class {
    match (a, b) {
        (Class::Same, Class::Same) => Class::Same,
        (Class::Own, _) | (_, Class::Own) => Class::Own,
        (Class::Along(a), Class::Along(b)) => Class::Along(a.max(b)),
        (Class::Along(a), Class::Same) | (Class::Same, Class::Along(a)) => Class::Along(a),
    }
}

fn sum(a: Class, b: Class) -> Class {
    match (a, b) {
        (Class::Along(a), Class::Along(b)) => steep(a.saturating_add(b)),
        (a, b) => join(a, b),
    }
}

fn steep(most: u64) -> Class {
    if most <= STEEPEST { Class::Along(most) } else { Class::Own }
}

fn times(most: u64, factor: &Expr) -> Class {
    match number(factor) {
        Some(factor) => steep(most.saturating_mul(factor.unsigned_abs())),
        None => Class::Own,
    }
}

/// The number that literals make.
fn number(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Int(n, _) => i64::try_from(*n).ok(),
        ExprKind::Unary(UnaryOp::Neg, x) => number(x)?.checked_neg(),
        ExprKind::Binary(BinaryOp::Add, a, b) => number(a)?.checked_add(number(b)?),
        ExprKind::Binary(BinaryOp::Sub, a, b) => number(a)?.checked_sub(number(b)?),
        ExprKind::Binary(BinaryOp::Mul, a, b) => number(a)?.checked_mul(number(b)?),
        _ => None,
    }
}

/// Whether constants, and numbers, alone bound a loop.
pub fn is_by_constants(range: &Range) -> bool {
    let parts: Option<Vec<bool>> = range.parts().map(names_constants).collect();
    parts.is_some_and(|parts| parts.contains(&true))
}

/// Whether constants, and numbers, alone make a value.
pub fn is_constant(expr: &Expr) -> bool {
    names_constants(expr) == Some(true)
}

/// Whether a value that is made of constants and numbers names a constant.
fn names_constants(expr: &Expr) -> Option<bool> {
    match &expr.kind {
        ExprKind::Int(..) => Some(false),
        ExprKind::Constant(_) => Some(true),
        ExprKind::Unary(UnaryOp::Neg, x) | ExprKind::Cast(x, _) => names_constants(x),
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div, a, b) => {
            Some(names_constants(a)? | names_constants(b)?)
        }
        _ => None,
    }
}

/// Whether the variable of a loop is an axis: of the cell, or of `unit(..)`.
pub fn is_over_axes(local: LocalId, body: &Block) -> bool {
    let is_variable = |expr: &Expr| matches!(expr.kind, ExprKind::Local(of) if of == local);
    let mut found = false;
    let mut look = |expr: &Expr| match &expr.kind {
        ExprKind::Unit(axis) => found |= is_variable(axis),
        ExprKind::Project(point, Projection::Index(axis)) => {
            found |= matches!(point.kind, ExprKind::At) && is_variable(axis);
        }
        _ => {}
    };
    Walk { expr: &mut look, stmt: &mut |_| true }.block(body);
    found
}

/// The least and the greatest that literals make, with what variables of loops `around` may be.
fn between(expr: &Expr, around: &Around) -> Option<[i64; 2]> {
    Some(match &expr.kind {
        ExprKind::Local(local) => *around.get(local)?,
        ExprKind::Unary(UnaryOp::Neg, x) => {
            let [least, most] = between(x, around)?;
            [most.checked_neg()?, least.checked_neg()?]
        }
        ExprKind::Binary(BinaryOp::Add, a, b) => {
            let (a, b) = (between(a, around)?, between(b, around)?);
            [a[0].checked_add(b[0])?, a[1].checked_add(b[1])?]
        }
        ExprKind::Binary(BinaryOp::Sub, a, b) => {
            let (a, b) = (between(a, around)?, between(b, around)?);
            [a[0].checked_sub(b[1])?, a[1].checked_sub(b[0])?]
        }
        _ => [number(expr)?; 2],
    })
}

/// How often a loop turns at most, if numbers bound it and the loops `around`.
fn turns(range: &Range, constants: Constants, around: &Around) -> Option<u64> {
    if is_by_constants(range) {
        return (constants == Constants::Few).then_some(AXES);
    }
    let ([least, _], [_, most]) = (between(&range.lo, around)?, between(&range.hi, around)?);
    let values = most.checked_sub(least)?.checked_add(i64::from(range.inclusive))?;
    let by = range.by.as_ref().map_or(Some(1), number)?;
    Some((values.max(0) as u64).div_ceil(u64::try_from(by).ok().filter(|by| *by > 0)?))
}

/// How often the innermost loop of a body turns; once if it has none.
fn turns_in(body: &Block, constants: Constants, around: &Around) -> u64 {
    let mut most = 1;
    let mut look = |stmt: &Stmt| match &stmt.kind {
        StmtKind::For { local, range, body } => {
            let turns = turns(range, constants, around).unwrap_or(u64::MAX);
            most = most.max(turns.saturating_mul(turns_in(body, constants, &inside(around, *local, range))));
            false
        }
        _ => true,
    };
    Walk { expr: &mut |_| {}, stmt: &mut look }.block(body);
    most
}

/// Whether a `break` or `continue` in a loop's body ends the loop or its turn, or those of a loop around it.
fn leaves(body: &Block) -> bool {
    leaves_from(&|walk| walk.block(body), 0)
}

/// Whether one of what is walked does, with so many loops between.
fn leaves_from(walk: &dyn Fn(&mut Walk<'_>), between: u32) -> bool {
    let mut found = false;
    let mut look = |stmt: &Stmt| {
        match &stmt.kind {
            StmtKind::Break(loops) | StmtKind::Continue(loops) => found |= *loops >= between,
            StmtKind::For { range, body, .. } => {
                found |= leaves_from(&|walk| range.parts().for_each(|part| walk.expr(part)), between);
                found |= leaves_from(&|walk| walk.block(body), between + 1);
            }
            StmtKind::While { cond, body } => {
                let inside = |walk: &mut Walk<'_>| {
                    walk.expr(cond);
                    walk.block(body);
                };
                found |= leaves_from(&inside, between + 1);
            }
            _ => return true,
        }
        false
    };
    walk(&mut Walk { expr: &mut |_| {}, stmt: &mut look });
    found
}

/// How many elements, and parts of elements, a cell reads of each argument: each read as often as the loops around it
/// turn whose bounds are numbers.
pub fn reads(body: &Block, args: usize) -> Vec<[u32; 2]> {
    let counts = RefCell::new(vec![[0u32; 2]; args]);
    let mut count = |expr: &Expr| {
        if let ExprKind::Load { arg, path, .. } = &expr.kind
            && let Some(of_arg) = counts.borrow_mut().get_mut(*arg as usize)
        {
            of_arg[usize::from(!path.is_empty())] += 1;
        }
    };
    let mut look = |stmt: &Stmt| {
        let StmtKind::For { range, body, .. } = &stmt.kind else { return true };
        let turns =
            turns(range, Constants::Few, &Around::new()).and_then(|turns| u32::try_from(turns).ok()).unwrap_or(1);
        for (count, inner) in counts.borrow_mut().iter_mut().zip(reads(body, args)) {
            *count = [0, 1].map(|kind| count[kind].saturating_add(inner[kind].saturating_mul(turns)));
        }
        false
    };
    Walk { expr: &mut count, stmt: &mut look }.block(body);
    counts.into_inner()
}

/// Most operations of a plain body, and most reads.
const PLAIN: [usize; 2] = [8, 4];

/// Whether a body is a few sums and products of a few reads, of which the compiler makes vectors even if it is written
/// out for many cells.
pub fn is_plain(body: &Block) -> bool {
    let (counts, mut others) = (Cell::new([0usize, 0]), false);
    let mut count = |expr: &Expr| {
        let [mut operations, mut reads] = counts.get();
        match &expr.kind {
            ExprKind::Load { .. } => reads += 1,
            ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..) | ExprKind::Unary(..) => {
                operations += 1
            }
            ExprKind::Method(Method::Abs | Method::MulAdd, _) => operations += 1,
            ExprKind::Int(..)
            | ExprKind::Float(..)
            | ExprKind::Local(..)
            | ExprKind::Capture(..)
            | ExprKind::At
            | ExprKind::Shift { .. }
            | ExprKind::Array(..) => {}
            _ => operations += PLAIN[0] + 1,
        }
        counts.set([operations, reads]);
    };
    let mut look = |stmt: &Stmt| {
        others |= !matches!(&stmt.kind, StmtKind::Let { .. } | StmtKind::Expr(..));
        true
    };
    Walk { expr: &mut count, stmt: &mut look }.block(body);
    !others && counts.get().iter().zip(PLAIN).all(|(count, most)| *count <= most)
}

/// Whether a cell reads nothing of an argument once it has written it, but by the assignment that changes it.
pub fn is_blind(body: &Block) -> bool {
    is_blind_after(&|walk| walk.block(body), &RefCell::default())
}

/// The same of what is walked, after these arguments were written.
fn is_blind_after(walk: &dyn Fn(&mut Walk<'_>), written: &RefCell<Vec<u32>>) -> bool {
    let (sees, mut inner) = (Cell::new(false), true);
    let mut look = |expr: &Expr| {
        if let ExprKind::Load { arg, .. } = &expr.kind {
            sees.set(sees.get() || written.borrow().contains(arg));
        }
    };
    let mut keep = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Assign { place: Place::Element { arg, index, path }, value, .. } => {
            let before = |walk: &mut Walk<'_>| {
                walk.expr(index);
                walk.expr(value);
                path.iter().for_each(|part| {
                    if let Projection::Index(entry) = part {
                        walk.expr(entry);
                    }
                });
            };
            inner &= is_blind_after(&before, written);
            written.borrow_mut().push(*arg);
            false
        }
        StmtKind::For { body, .. } | StmtKind::While { body, .. } => {
            // What a turn writes the next one may read.
            inner &= !writes(body);
            true
        }
        _ => true,
    };
    walk(&mut Walk { expr: &mut look, stmt: &mut keep });
    inner && !sees.get()
}

/// Whether a body writes an argument.
fn writes(body: &Block) -> bool {
    let mut found = false;
    let mut look = |stmt: &Stmt| {
        found |= matches!(&stmt.kind, StmtKind::Assign { place: Place::Element { .. }, .. });
        true
    };
    Walk { expr: &mut |_| {}, stmt: &mut look }.block(body);
    found
}

/// All axes.
const ALL: u32 = u32::MAX;

/// The axes, each a bit, along which some value is half of where a cell is: neighbours along it are in pairs then.
pub fn halved(body: &Block) -> u32 {
    let of_locals = RefCell::new(HashMap::new());
    let mut found = 0;
    let mut look = |expr: &Expr| {
        let two = |expr: &Expr| number(expr) == Some(2);
        let half = match &expr.kind {
            ExprKind::Binary(BinaryOp::Div, x, by) if two(by) => Some(x.as_ref()),
            ExprKind::Binary(BinaryOp::Shr, x, by) if number(by) == Some(1) => Some(x.as_ref()),
            ExprKind::Method(Method::DivEuclid, args) => args.first().filter(|_| args.get(1).is_some_and(two)),
            _ => None,
        };
        found |= half.map_or(0, |half| axes(half, &of_locals.borrow()));
    };
    let mut keep = |stmt: &Stmt| {
        if let StmtKind::Let { pattern, init: Some(init), .. } = &stmt.kind {
            bind(pattern, init, &mut of_locals.borrow_mut());
        }
        true
    };
    Walk { expr: &mut look, stmt: &mut keep }.block(body);
    found
}

/// Notes the axes of the cell that locals are made from.
fn bind(pattern: &Pattern, init: &Expr, of_locals: &mut HashMap<LocalId, u32>) {
    match (pattern, &init.kind) {
        (Pattern::Local(local), _) => {
            let made_from = axes(init, of_locals);
            of_locals.insert(*local, made_from);
        }
        (Pattern::Tuple(parts), ExprKind::Tuple(list)) | (Pattern::Array(parts), ExprKind::Array(list)) => {
            parts.iter().zip(list).for_each(|(part, init)| bind(part, init, of_locals));
        }
        (Pattern::Array(parts), _) if axes(init, of_locals) == ALL => {
            for (axis, part) in parts.iter().enumerate().take(32) {
                if let Pattern::Local(local) = part {
                    of_locals.insert(*local, 1 << axis);
                }
            }
        }
        _ => {}
    }
}

/// The axes of the cell that a value is made from.
fn axes(expr: &Expr, of_locals: &HashMap<LocalId, u32>) -> u32 {
    match &expr.kind {
        ExprKind::At => ALL,
        ExprKind::Local(local) => of_locals.get(local).copied().unwrap_or(0),
        ExprKind::Project(base, Projection::Index(entry)) if axes(base, of_locals) == ALL => match entry.kind {
            ExprKind::Int(axis @ 0..32, _) => 1 << axis,
            _ => ALL,
        },
        ExprKind::Unary(_, x) | ExprKind::Cast(x, _) | ExprKind::Project(x, _) => axes(x, of_locals),
        ExprKind::Binary(_, a, b) => axes(a, of_locals) | axes(b, of_locals),
        ExprKind::Shift { point, offset, .. } => axes(point, of_locals) | axes(offset, of_locals),
        ExprKind::Tuple(list) | ExprKind::Array(list) | ExprKind::Method(_, list) => {
            list.iter().fold(0, |all, x| all | axes(x, of_locals))
        }
        _ => 0,
    }
}

pub fn nodes(expr: &Expr) -> usize {
    let mut count = 0;
    Walk { expr: &mut |_| count += 1, stmt: &mut |_| true }.expr(expr);
    count
}
