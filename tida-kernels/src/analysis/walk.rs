//! The walk over statements: one pass, in order of execution.

use std::collections::{BTreeSet, HashMap};

use super::eval::Used;
use super::symbolic::{Affine, Val};
use super::written::Written;
use super::{
    Analysis, ArgUse, ArrayAccess, Fit, IndexForm, Interval, LoopInfo, NormalForm, Precalculability, Symbol, Why,
};
use crate::element::{ElementType, ScalarType};
use crate::ir::{Access, Block, Body, ExprId, ExprKind, Kernel, LocalId, Step, Stmt, StmtKind, Type};
use crate::quote::Span;
use crate::scalar::Value;

/// Blocks nested deeper than this are not walked.
const MAX_NESTING: usize = 100;

/// Analyses a kernel. Never fails.
pub fn analyse(kernel: &Kernel) -> Analysis {
    let args = kernel.args.iter().map(|_| ArgUse {
        read: false,
        may_write: false,
        must_write: false,
        reads_old: false,
        reads_own: false,
        accesses: Vec::new(),
    });
    let out = Analysis {
        args: args.collect(),
        loops: Vec::new(),
        uses_inexact: false,
        choices: Vec::new(),
        entries: Vec::new(),
        captures: kernel.captures.len(),
        phases: Vec::new(),
        may_fault: false,
        demands: Vec::new(),
        faults_anyhow: false,
        counts: false,
        complete: true,
    };
    let mut walker = Walker::new(kernel, &kernel.body, out);
    let written = walker.run();
    let (mut out, mut called) = (walker.out, walker.called);

    let mut seen = BTreeSet::new();
    while let Some(n) = called.pop() {
        if !seen.insert(n) {
            continue;
        }
        let Some(function) = kernel.functions.get(n as usize) else {
            out.complete = false;
            continue;
        };
        // The loops and choices of a function are its own: its result is opaque.
        let (loops, choices, phases) = (out.loops, out.choices, out.phases);
        let blank = Analysis { loops: Vec::new(), choices: Vec::new(), phases: Vec::new(), ..out };
        let mut walker = Walker { in_function: true, ..Walker::new(kernel, &function.body, blank) };
        walker.run();
        called.append(&mut walker.called);
        out = Analysis { loops, choices, phases, ..walker.out };
    }

    super::group::fetched(kernel, &mut out);
    for (n, (usage, arg)) in out.args.iter_mut().zip(&kernel.args).enumerate() {
        let whole = written.as_ref().is_some_and(|w| w.all(n));
        usage.must_write = out.complete && arg.access == Access::Write && whole && !usage.reads_own;
        if !out.complete {
            usage.read = true;
            usage.reads_old = true;
            usage.reads_own = true;
            let writes = arg.access == Access::Write;
            usage.may_write |= writes;
            let anywhere = |write| ArrayAccess {
                span: Span::default(),
                write,
                expr: None,
                component: None,
                index: vec![IndexForm::Opaque(Why::Operator); arg.rank.min(8)],
                at_cell: false,
                fits: Vec::new(),
                loops: Vec::new(),
                conditional: true,
                precalculable: Precalculability::No(Why::Operator),
            };
            usage.accesses.push(anywhere(false));
            usage.accesses.extend(writes.then(|| anywhere(true)));
        }
    }
    if !out.complete {
        out.may_fault = true;
        out.faults_anyhow = true;
        out.uses_inexact = true;
    }
    out
}

/// What is known between two statements.
#[derive(Clone)]
pub(super) struct State {
    /// By local.
    pub locals: Vec<Val>,
    pub written: Written,
    /// Some runs of the surrounding blocks have left before this place.
    pub partial: bool,
}

/// A loop being walked: what was written where it is left or continued.
#[derive(Default)]
pub(super) struct Frame {
    breaks: Option<Written>,
    continues: Option<Written>,
}

pub(super) struct Walker<'k> {
    pub kernel: &'k Kernel,
    pub body: &'k Body,
    pub in_function: bool,
    pub out: Analysis,
    /// Functions called.
    pub called: Vec<u32>,
    /// Values of the expressions of the current statement.
    pub memo: HashMap<ExprId, Val>,
    /// Numbers of the `for` loops around the current statement.
    pub loop_stack: Vec<u32>,
    /// Values of each loop's variable as far as constants decide them.
    pub loop_values: Vec<Option<Interval>>,
    /// Number of conditions around the current statement, loops that may not run included.
    pub conditions: usize,
    pub frames: Vec<Frame>,
    /// The phase around the current statement.
    pub in_phase: Option<u32>,
    /// What was written wherever the body ends.
    exits: Option<Written>,
    returns: usize,
    nesting: usize,
}

/// Meets `written` into `place`.
fn meet(place: &mut Option<Written>, written: &Written) {
    match place {
        Some(w) => w.meet(written),
        None => *place = Some(written.clone()),
    }
}

impl<'k> Walker<'k> {
    fn new(kernel: &'k Kernel, body: &'k Body, out: Analysis) -> Walker<'k> {
        Walker {
            kernel,
            body,
            in_function: false,
            out,
            called: Vec::new(),
            memo: HashMap::new(),
            loop_stack: Vec::new(),
            loop_values: Vec::new(),
            conditions: 0,
            frames: Vec::new(),
            in_phase: None,
            exits: None,
            returns: 0,
            nesting: 0,
        }
    }

    /// Walks the body; gives what every path has written at its end, `None` if no path ends.
    fn run(&mut self) -> Option<Written> {
        let written = Written::nothing(self.kernel.args.iter().map(|a| component_count(&a.element)));
        let locals = vec![Val::Opaque(Why::Operator); self.body.locals.len()];
        let end = self.block(&self.body.block, State { locals, written, partial: false });
        if let Some(state) = end {
            meet(&mut self.exits, &state.written);
        }
        self.exits.take()
    }

    /// Walks a block; `None` if its end is not reached.
    pub fn block(&mut self, block: &'k Block, mut state: State) -> Option<State> {
        if self.nesting >= MAX_NESTING {
            self.out.complete = false;
            return Some(state);
        }
        self.nesting += 1;
        for stmt in block {
            let Some(next) = self.stmt(stmt, state) else {
                self.nesting -= 1;
                return None;
            };
            state = next;
        }
        self.nesting -= 1;
        Some(state)
    }

    /// Evaluates an expression that starts or stands alone in a statement.
    fn fresh(&mut self, expr: ExprId, state: &State) -> Val {
        self.memo.clear();
        self.eval(expr, state)
    }

    fn stmt(&mut self, stmt: &'k Stmt, mut state: State) -> Option<State> {
        match &stmt.kind {
            StmtKind::Let(local, value) => {
                let value = value.map_or(Val::Opaque(Why::Control), |v| self.fresh(v, &state));
                set(&mut state.locals, *local, value);
            }
            StmtKind::Assign(local, steps, value) => {
                let value = self.fresh(*value, &state);
                let mut path = Vec::with_capacity(steps.len());
                let mut ty = self.body.locals.get(*local as usize).map(|l| &l.ty);
                for step in steps {
                    let part = match (step, ty) {
                        (Step::Part(n), _) => Some(*n),
                        (Step::Entry(index), ty) => {
                            self.eval(*index, &state);
                            let len = match ty {
                                Some(Type::Array(_, len)) => *len,
                                _ => 0,
                            };
                            let form = self.entry_index(*index, len).map(|(form, _)| form);
                            form.and_then(|f| f.as_constant()).and_then(|c| u32::try_from(c).ok())
                        }
                    };
                    ty = match (ty, part) {
                        (Some(Type::Array(entry, _)), _) => Some(&**entry),
                        (Some(Type::Tuple(parts)), Some(n)) => parts.get(n as usize),
                        (Some(Type::Struct(_, fields)), Some(n)) => fields.get(n as usize).map(|f| &f.1),
                        _ => None,
                    };
                    path.push(part);
                }
                let old = state.locals.get(*local as usize).cloned().unwrap_or(Val::Opaque(Why::Operator));
                set(&mut state.locals, *local, replaced(&old, &path, value));
            }
            StmtKind::Store { arg, index, component, value } => {
                self.memo.clear();
                for id in index.iter().copied().chain(component.dynamic.iter().map(|d| d.0)).chain([*value]) {
                    self.eval(id, &state);
                }
                let place = self.place(*arg, index, component);
                self.record(*arg, place, component, stmt.span, Used::Write(&mut state), false);
            }
            StmtKind::Eval(value) => {
                self.fresh(*value, &state);
            }
            StmtKind::If(cond, then, otherwise) => {
                self.fresh(*cond, &state);
                self.conditions += 1;
                let a = self.block(then, state.clone());
                let b = self.block(otherwise, state);
                self.conditions -= 1;
                return match (a, b) {
                    (Some(mut a), Some(b)) => {
                        for (x, y) in a.locals.iter_mut().zip(&b.locals) {
                            *x = x.merge(y);
                        }
                        a.written.meet(&b.written);
                        a.partial |= b.partial;
                        Some(a)
                    }
                    (one, other) => one.or(other).map(|s| State { partial: true, ..s }),
                };
            }
            StmtKind::For { local, lo, hi, inclusive, body } => {
                return self.for_loop(*local, *lo, *hi, *inclusive, body, state);
            }
            StmtKind::While { head, cond, body } => return self.while_loop(head, *cond, body, state),
            StmtKind::Phase { thread, around, body } => return self.phase(*thread, around, body, state),
            StmtKind::Break | StmtKind::Continue => {
                match self.frames.last_mut() {
                    Some(frame) if matches!(stmt.kind, StmtKind::Break) => meet(&mut frame.breaks, &state.written),
                    Some(frame) => meet(&mut frame.continues, &state.written),
                    None => self.out.complete = false,
                }
                return None;
            }
            StmtKind::Return(value) => {
                if let Some(value) = value {
                    self.fresh(*value, &state);
                }
                self.returns += 1;
                meet(&mut self.exits, &state.written);
                return None;
            }
        }
        Some(state)
    }

    fn for_loop(
        &mut self,
        local: LocalId,
        lo: ExprId,
        hi: ExprId,
        inclusive: bool,
        body: &'k Block,
        mut state: State,
    ) -> Option<State> {
        self.memo.clear();
        self.eval(lo, &state);
        self.eval(hi, &state);
        let (name, ty) = match self.body.locals.get(local as usize) {
            Some(l) => (l.name.clone(), l.ty.scalar().filter(|t| t.is_int())),
            None => (String::new(), None),
        };
        let mut fits = Vec::new();
        let lo = self.bound(lo, 0, ty, &mut fits);
        let last = self.bound(hi, if inclusive { 0 } else { -1 }, ty, &mut fits);
        let precalculable = self.precalculable(&[lo.clone(), last.clone()]);
        let n = self.out.loops.len() as u32;
        let info = LoopInfo { name, lo, last, fits, precalculable };
        let bounds = self.constants().bounds(&info);
        self.out.loops.push(info);
        self.loop_values.push(bounds.map(|(lo, last)| Interval { lo: lo.lo, hi: last.hi }));
        let runs = bounds.is_some_and(|(lo, last)| lo.hi <= last.lo);
        let values = bounds.filter(|(lo, last)| lo.lo == lo.hi && last.lo == last.hi);

        let changed = self.changed(&[body]);
        forget(&mut state.locals, &changed);
        let before = state.clone();
        let variable = if ty.is_some() { Val::symbol(Symbol::Loop(n)) } else { Val::Opaque(Why::Operator) };
        set(&mut state.locals, local, variable);
        let returns = self.returns;
        self.conditions += usize::from(!runs);
        self.loop_stack.push(n);
        self.frames.push(Frame::default());
        let end = self.block(body, state);
        let frame = self.frames.pop().unwrap_or_default();
        self.loop_stack.pop();
        self.conditions -= usize::from(!runs);

        let mut through = frame.continues;
        if let Some(end) = end {
            meet(&mut through, &end.written);
        }
        // A break or a return ends the loop for the value it has: what it leaves with is closed without values.
        let mut after = through;
        if let Some(after) = &mut after {
            after.close_loop(n, values.map(|(lo, last)| Interval { lo: lo.lo, hi: last.lo }));
        }
        if let Some(exits) = &mut self.exits {
            exits.close_loop(n, None);
        }
        if let Some(mut breaks) = frame.breaks {
            breaks.close_loop(n, None);
            meet(&mut after, &breaks);
        }
        if !runs {
            meet(&mut after, &before.written);
        }
        let mut state = before;
        set(&mut state.locals, local, Val::Opaque(Why::Induction));
        state.partial |= self.returns > returns;
        state.written = after?;
        Some(state)
    }

    fn while_loop(&mut self, head: &'k Block, cond: ExprId, body: &'k Block, mut state: State) -> Option<State> {
        let changed = self.changed(&[head, body]);
        forget(&mut state.locals, &changed);
        let before = state.clone();
        let returns = self.returns;
        self.frames.push(Frame::default());
        let head = self.block(head, state);
        let endless = match self.body.exprs.get(cond.0 as usize).map(|e| &e.kind) {
            Some(ExprKind::Literal(Value::Bool(v))) => *v,
            _ => false,
        };
        let mut after = None;
        if let Some(state) = head {
            self.fresh(cond, &state);
            if !endless {
                meet(&mut after, &state.written);
            }
            self.conditions += usize::from(!endless);
            self.block(body, state);
            self.conditions -= usize::from(!endless);
        }
        if let Some(breaks) = self.frames.pop().and_then(|f| f.breaks) {
            meet(&mut after, &breaks);
        }
        let mut state = before;
        state.partial |= self.returns > returns;
        state.written = after?;
        Some(state)
    }

    /// A bound of a loop, `by` added, as a value of the loop variable's type.
    fn bound(&self, id: ExprId, by: i64, ty: Option<ScalarType>, fits: &mut Vec<Fit>) -> IndexForm {
        let Some(ty) = ty.filter(|ty| self.int_of(id) == Some(*ty)) else { return IndexForm::Opaque(Why::Operator) };
        let (form, more) = match self.memo.get(&id) {
            Some(Val::Affine(Affine { form, fits })) => (form, fits),
            Some(other) => return IndexForm::Opaque(other.why(Why::Operator)),
            None => return IndexForm::Opaque(Why::Operator),
        };
        // An interval of the form's values is within `i64` by itself.
        let exact = if ty == ScalarType::I64 { None } else { self.require(form, ty) };
        fits.extend(more.iter().cloned().chain(exact));
        match form.add(&NormalForm::constant(by)) {
            Some(form) => IndexForm::Affine(form),
            None => IndexForm::Opaque(Why::Operator),
        }
    }

    /// Which locals the blocks assign.
    fn changed(&self, blocks: &[&Block]) -> Vec<bool> {
        let mut changed = vec![false; self.body.locals.len()];
        let mut todo = blocks.to_vec();
        while let Some(block) = todo.pop() {
            for stmt in block {
                let local = match &stmt.kind {
                    StmtKind::Let(local, _) | StmtKind::Assign(local, ..) => *local,
                    StmtKind::For { local, body, .. } => {
                        todo.push(body);
                        *local
                    }
                    StmtKind::Phase { thread, body, .. } => {
                        todo.push(body);
                        *thread
                    }
                    StmtKind::If(_, a, b) | StmtKind::While { head: a, body: b, .. } => {
                        todo.extend([a, b]);
                        continue;
                    }
                    _ => continue,
                };
                if let Some(c) = changed.get_mut(local as usize) {
                    *c = true;
                }
            }
        }
        changed
    }
}

/// What a loop changes is not known inside it, nor after it.
fn forget(locals: &mut [Val], changed: &[bool]) {
    for (value, _) in locals.iter_mut().zip(changed).filter(|(_, changed)| **changed) {
        *value = Val::Opaque(Why::Induction);
    }
}

pub(super) fn set(locals: &mut [Val], local: LocalId, value: Val) {
    if let Some(place) = locals.get_mut(local as usize) {
        *place = value;
    }
}

/// `old` with `value` at the end of `path`; `None` in a path is an entry not known.
fn replaced(old: &Val, path: &[Option<u32>], value: Val) -> Val {
    let Some((step, rest)) = path.split_first() else { return value };
    match (old, step) {
        (Val::Parts(parts, _), Some(n)) if (*n as usize) < parts.len() => Val::parts(
            parts
                .iter()
                .enumerate()
                .map(|(i, part)| if i == *n as usize { replaced(part, rest, value.clone()) } else { part.clone() })
                .collect(),
        ),
        _ => Val::Opaque(value.why(old.why(Why::Operator))),
    }
}

/// Number of components; `None` if too large to count.
fn component_count(element: &ElementType) -> Option<usize> {
    match element {
        ElementType::Scalar(_) => Some(1),
        ElementType::Array { element, len } => component_count(element)?.checked_mul(*len),
        ElementType::Struct { fields, .. } => {
            fields.iter().try_fold(0usize, |sum, (_, f)| sum.checked_add(component_count(f)?))
        }
    }
}
