//! Constants put in place where they are lengths, bounds and indices, and loops that they bound, written out.
//!
//! `for d in 0..D { .. u[at + unit(d)] .. }` is the same as one copy of its body for each axis, with the number of the
//! axis for `d`. What comes after sees no more than what a user could have written by hand.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::scope::error;
use crate::element::{ElementType, ScalarType};
use crate::error::KernelError;
use crate::ir::{Capture, Span, Type};
use crate::quote::walk::{Walk, bound};
use crate::quote::{
    BinaryOp, Block, Code, Constant, Expr, ExprKind, FunctionTree, Local, LocalId, NumberType, Order, Pattern, Place,
    Projection, Range, Stmt, StmtKind, TypeTree,
};
use crate::scalar::ops;

/// Most turns of a loop that is written out.
const TURNS: u64 = 16;

/// Most expressions and statements that writing out may add.
const ROOM: usize = 1 << 14;

/// What a local stands for in a copy of a loop's body.
#[derive(Clone, Copy)]
enum Stands {
    Number(u64),
    Local(LocalId),
}

/// Tables among the constants: the number of the captured value, by that of the constant.
pub(super) type Tables = HashMap<u32, u32>;

/// The work on one tree.
struct Resolve<'a> {
    file: &'a str,
    constants: &'a [Constant],
    tables: &'a Tables,
    /// How many functions are called by their paths.
    functions: u32,
    locals: &'a mut Vec<Local>,
    stands: HashMap<LocalId, Stands>,
    room: usize,
    failed: Option<KernelError>,
}

/// The values of constants.
pub(super) fn values(constants: &[fn() -> Constant]) -> Vec<Constant> {
    constants.iter().map(|value| value()).collect()
}

/// Tables of numbers among the constants that the code names, as captured values that come after `captures` others, and
/// the number of the captured value by that of the constant. So the entries of a table stand in the text of a kernel
/// only where it is known which they are. (Functions have no captured values.)
pub(super) fn tables(code: &Code, captures: usize, constants: &[Constant]) -> (Tables, Vec<Capture>) {
    let names = &code.constants;
    let mut named = HashSet::new();
    let mut look = |e: &Expr| {
        if let ExprKind::Constant(number) = e.kind {
            named.insert(number);
        }
    };
    Walk { expr: &mut look, stmt: &mut |_| true }.block(&code.body);
    let (mut numbers, mut tables) = (HashMap::new(), Vec::new());
    for (number, constant) in constants.iter().enumerate().filter(|(number, _)| named.contains(&(*number as u32))) {
        let is_table = matches!(constant.ty, ElementType::Array { .. }) && constant.ty.innermost().is_some();
        if is_table && !constant.bits.is_empty() && constant.bits.len() == constant.ty.components() {
            numbers.insert(number as u32, (captures + tables.len()) as u32);
            let name = names.get(number).cloned().unwrap_or_else(|| format!("constant {number}"));
            let (ty, known) = (Type::of_element(&constant.ty), Some(Arc::new(constant.clone())));
            tables.push(Capture { name, ty, known, beyond: None });
        }
    }
    (numbers, tables)
}

/// Puts the constants in place, and numbers methods after the functions that are called by their paths.
///
/// # Errors
/// A constant that is not in the table.
pub(super) fn resolve(
    file: &str,
    code: &mut Code,
    constants: &[Constant],
    tables: &Tables,
    functions: usize,
) -> Result<(), KernelError> {
    let functions = functions as u32;
    let Code { locals, body, .. } = code;
    let stands = HashMap::new();
    let mut resolve = Resolve { file, constants, tables, functions, locals, stands, room: ROOM, failed: None };
    resolve.block(body);
    resolve.failed.map_or(Ok(()), Err)
}

/// The same for a function, with its types.
///
/// # Errors
/// As for [`resolve`].
pub(super) fn resolve_function(
    file: &str,
    tree: &mut FunctionTree,
    constants: &[Constant],
    functions: usize,
) -> Result<(), KernelError> {
    let (tables, stands) = (Tables::new(), HashMap::new());
    resolve(file, &mut tree.code, constants, &tables, functions)?;
    let span = tree.code.locals.first().map_or(Span::default(), |local| local.span);
    let mut locals = Vec::new();
    let mut resolve =
        Resolve { file, constants, tables: &tables, functions: 0, locals: &mut locals, stands, room: 0, failed: None };
    tree.params.iter_mut().for_each(|(_, ty)| resolve.ty(span, ty));
    tree.result.iter_mut().for_each(|ty| resolve.ty(span, ty));
    resolve.failed.map_or(Ok(()), Err)
}

impl Resolve<'_> {
    /// The value of a constant that is a `usize`; none of another one.
    fn constant(&mut self, span: Span, number: u32) -> Option<u64> {
        let found = self.constants.get(number as usize);
        if found.is_none() {
            self.damaged(span, format!("constant {number} where there are {}", self.constants.len()));
        }
        match found.map(|constant| (constant.ty, &constant.bits[..])) {
            Some((ElementType::Scalar(ScalarType::U64), [value])) => Some(*value),
            _ => None,
        }
    }

    fn length(&mut self, span: Span, number: u32) -> usize {
        let len = self.constant(span, number);
        if len.is_none() {
            self.damaged(span, format!("constant {number}, which is no `usize`, as a length"));
        }
        len.unwrap_or(0) as usize
    }

    fn damaged(&mut self, span: Span, found: String) {
        if self.failed.is_none() {
            let advice = "build again from clean; if it stays, report it as a bug of tida";
            self.failed = Some(error(self.file, span, "read the kernel's quotation", found, advice));
        }
    }

    fn block(&mut self, block: &mut Block) {
        for stmt in &mut block.stmts {
            self.stmt(stmt);
        }
        block.value.iter_mut().for_each(|value| self.expr(value));
    }

    fn local(&self, local: &mut LocalId) {
        if let Some(Stands::Local(of)) = self.stands.get(local) {
            *local = *of;
        }
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        let span = stmt.span;
        match &mut stmt.kind {
            StmtKind::Let { pattern, ty, init } => {
                self.pattern(pattern);
                ty.iter_mut().for_each(|ty| self.ty(span, ty));
                init.iter_mut().for_each(|init| self.expr(init));
            }
            StmtKind::Assign { place, op: _, value } => {
                match place {
                    Place::Local { local, path } => {
                        self.local(local);
                        self.path(path);
                    }
                    Place::Element { index, path, .. } => {
                        self.expr(index);
                        self.path(path);
                    }
                }
                self.expr(value);
            }
            StmtKind::Expr(e) => self.expr(e),
            StmtKind::For { .. } => self.each(stmt),
            StmtKind::While { cond, body } => {
                self.expr(cond);
                self.block(body);
            }
            StmtKind::Phase { thread, body, .. } => {
                self.local(thread);
                self.block(body);
            }
            StmtKind::Return(value) => value.iter_mut().for_each(|value| self.expr(value)),
            StmtKind::Break(_) | StmtKind::Continue(_) => {}
        }
    }

    /// A loop: written out if it is one over axes.
    fn each(&mut self, stmt: &mut Stmt) {
        let span = stmt.span;
        let StmtKind::For { local, range, body } = &mut stmt.kind else { return };
        let axes = names_constant(&range.lo) || names_constant(&range.hi) || reaches(body, *local);
        range.parts_mut().for_each(|part| self.expr(part));
        let bounds: Vec<Expr> = range.parts().cloned().collect();
        let size = size(body);
        let fits = |turns: &Vec<u64>| {
            // (A loop that never turns stays: what its numbers are is still to be found.)
            !turns.is_empty() && size.saturating_mul(turns.len()) <= self.room && !leaves(body)
        };
        let Some(turns) = axes.then(|| turns_of(range)).flatten().filter(fits) else {
            self.local(local);
            self.block(body);
            return;
        };
        self.room -= size.saturating_mul(turns.len());
        let mut declared = Vec::new();
        declares(body, &mut declared);
        let stmts = turns.into_iter().map(|turn| {
            let before = self.stands.clone();
            self.stands.insert(*local, Stands::Number(turn));
            for of in &declared {
                if let Some(copy) = self.locals.get(*of as usize).cloned() {
                    self.locals.push(copy);
                    self.stands.insert(*of, Stands::Local(self.locals.len() as LocalId - 1));
                }
            }
            let mut body = body.clone();
            self.block(&mut body);
            self.stands = before;
            Stmt { span, kind: StmtKind::Expr(Expr { span, kind: ExprKind::Block(body) }) }
        });
        // The bounds stay for their numbers, whose types are told.
        let kept = bounds.into_iter().map(|bound| {
            let ty = Some(TypeTree::Scalar(ScalarType::U64));
            Stmt { span, kind: StmtKind::Let { pattern: Pattern::Ignore, ty, init: Some(bound) } }
        });
        let stmts = kept.chain(stmts).collect();
        stmt.kind = StmtKind::Expr(Expr { span, kind: ExprKind::Block(Block { stmts, value: None }) });
    }

    fn pattern(&mut self, pattern: &mut Pattern) {
        match pattern {
            Pattern::Local(local) => self.local(local),
            Pattern::Ignore => {}
            Pattern::Tuple(parts) | Pattern::Array(parts) => parts.iter_mut().for_each(|part| self.pattern(part)),
            Pattern::Struct(_, fields) => fields.iter_mut().for_each(|(_, part)| self.pattern(part)),
        }
    }

    fn path(&mut self, path: &mut [Projection]) {
        for step in path {
            if let Projection::Index(index) = step {
                let varies = matches!(index.kind, ExprKind::Local(_));
                self.expr(index);
                // Which entry a turn takes is no mistake where it is past the last: the turn may not come to it.
                if varies && let ExprKind::Int(..) = index.kind {
                    let number = Expr { span: index.span, kind: std::mem::replace(&mut index.kind, ExprKind::At) };
                    index.kind = ExprKind::Block(Block { stmts: Vec::new(), value: Some(Box::new(number)) });
                }
            }
        }
    }

    fn ty(&mut self, span: Span, ty: &mut TypeTree) {
        match ty {
            TypeTree::Array(of, _) => self.ty(span, of),
            TypeTree::ArrayOf(of, number) => {
                self.ty(span, of);
                let len = self.length(span, *number);
                *ty = TypeTree::Array(std::mem::replace(of, Box::new(TypeTree::Infer)), len);
            }
            TypeTree::Tuple(all) => all.iter_mut().for_each(|ty| self.ty(span, ty)),
            TypeTree::Scalar(_) | TypeTree::Struct(_) | TypeTree::Infer => {}
        }
    }

    fn expr(&mut self, e: &mut Expr) {
        let span = e.span;
        match &mut e.kind {
            ExprKind::Int(..) | ExprKind::Float(..) | ExprKind::Bool(_) | ExprKind::Capture(_) | ExprKind::At => {}
            ExprKind::Local(local) => match self.stands.get(local) {
                Some(Stands::Number(n)) => e.kind = ExprKind::Int(*n, NumberType::Written(ScalarType::U64)),
                Some(Stands::Local(of)) => *local = *of,
                None => {}
            },
            ExprKind::Constant(number) => {
                if let Some(capture) = self.tables.get(number) {
                    e.kind = ExprKind::Capture(*capture);
                } else if let Some(value) = self.constant(span, *number) {
                    e.kind = ExprKind::Int(value, NumberType::Written(ScalarType::U64));
                }
            }
            ExprKind::RepeatOf(x, number) => {
                self.expr(x);
                let len = self.length(span, *number);
                let unit = Expr { span, kind: ExprKind::Tuple(Vec::new()) };
                e.kind = ExprKind::Repeat(std::mem::replace(x, Box::new(unit)), len);
            }
            ExprKind::Load { index, path, .. } => {
                self.expr(index);
                self.path(path);
            }
            ExprKind::Unary(_, x) | ExprKind::Repeat(x, _) | ExprKind::Unit(x) | ExprKind::Length(x) => self.expr(x),
            ExprKind::Cast(x, ty) => {
                self.expr(x);
                self.ty(span, ty);
            }
            ExprKind::Binary(_, a, b)
            | ExprKind::Compare(_, a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b)
            | ExprKind::Shift { point: a, offset: b, .. } => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::If { cond, then, otherwise } => {
                self.expr(cond);
                self.block(then);
                otherwise.iter_mut().for_each(|block| self.block(block));
            }
            ExprKind::Block(block) => self.block(block),
            ExprKind::Invoke(number, list) => {
                list.iter_mut().for_each(|e| self.expr(e));
                // Methods come after the functions.
                e.kind = ExprKind::Call(number.saturating_add(self.functions), std::mem::take(list));
            }
            ExprKind::Method(_, list) | ExprKind::Call(_, list) | ExprKind::Tuple(list) | ExprKind::Array(list) => {
                list.iter_mut().for_each(|e| self.expr(e));
            }
            ExprKind::Struct(_, fields) => fields.iter_mut().for_each(|(_, value)| self.expr(value)),
            ExprKind::Project(base, part) => {
                self.expr(base);
                self.path(std::slice::from_mut(part));
            }
        }
    }
}

/// What a loop takes in turn, if that is known and not much.
fn turns_of(range: &Range) -> Option<Vec<u64>> {
    let (lo, hi) = (number(&range.lo)?, number(&range.hi)?.checked_add(u64::from(range.inclusive))?);
    let by = range.by.as_ref().map_or(Some(1), number)?.try_into().ok().filter(|by: &usize| *by > 0)?;
    if hi.saturating_sub(lo) > TURNS.saturating_mul(by as u64) {
        return None;
    }
    Some(match range.order {
        Order::Up => ops::up_by(lo, hi, false, by).collect(),
        Order::Down => ops::down_by(lo, hi, false, by).collect(),
        Order::Back => ops::back_by(lo, hi, false, by).collect(),
    })
}

/// The number that a bound is.
fn number(e: &Expr) -> Option<u64> {
    match &e.kind {
        ExprKind::Int(n, _) => Some(*n),
        ExprKind::Binary(BinaryOp::Add, a, b) => number(a)?.checked_add(number(b)?),
        ExprKind::Binary(BinaryOp::Sub, a, b) => number(a)?.checked_sub(number(b)?),
        ExprKind::Binary(BinaryOp::Mul, a, b) => number(a)?.checked_mul(number(b)?),
        _ => None,
    }
}

fn names_constant(e: &Expr) -> bool {
    let mut found = false;
    let mut look = |e: &Expr| found |= matches!(e.kind, ExprKind::Constant(_));
    Walk { expr: &mut look, stmt: &mut |_| true }.expr(e);
    found
}

/// Whether a body names the local in a `unit(..)`.
fn reaches(body: &Block, local: LocalId) -> bool {
    let mut found = false;
    let mut look = |e: &Expr| {
        let ExprKind::Unit(axis) = &e.kind else { return };
        let mut named = |e: &Expr| found |= matches!(e.kind, ExprKind::Local(of) if of == local);
        Walk { expr: &mut named, stmt: &mut |_| true }.expr(axis);
    };
    Walk { expr: &mut look, stmt: &mut |_| true }.block(body);
    found
}

fn size(body: &Block) -> usize {
    let mut size = 1;
    let mut stmts = 0;
    let mut look = |_: &Stmt| {
        stmts += 1;
        true
    };
    Walk { expr: &mut |_| size += 1, stmt: &mut look }.block(body);
    size + stmts
}

/// Whether a `break` or `continue` is in a body. (One of a loop inside counts too: such loops are rare.)
fn leaves(body: &Block) -> bool {
    let mut found = false;
    let mut look = |stmt: &Stmt| {
        found |= matches!(stmt.kind, StmtKind::Break(_) | StmtKind::Continue(_));
        true
    };
    Walk { expr: &mut |_| {}, stmt: &mut look }.block(body);
    found
}

/// The locals that a body declares.
fn declares(body: &Block, found: &mut Vec<LocalId>) {
    let mut look = |stmt: &Stmt| {
        match &stmt.kind {
            StmtKind::Let { pattern, .. } => bound(pattern, found),
            StmtKind::For { local, .. } => found.push(*local),
            StmtKind::Phase { thread, .. } => found.push(*thread),
            _ => {}
        }
        true
    };
    Walk { expr: &mut |_| {}, stmt: &mut look }.block(body);
}
