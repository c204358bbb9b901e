//! Short loops around the cell, written out: `for r in 1..=4 { .. u[at + [0, 0, r]] .. }` then reads at constants from
//! the cell, as if a user had written each of them. What reads so marches, comes from registers and runs several steps
//! a launch. So are loops over the components of a cell: `for n in 0..2 { next[at][n] = .. }`.

use std::collections::{HashMap, HashSet};

use super::tables::{is_of_table, put_in, value};
use super::{
    Access, Arg, BinaryOp, Block, Body, Capture, Component, Expr, ExprId, ExprKind, Kernel, LocalId, Span, Step, Stmt,
    StmtKind, Type, UnaryOp, holds,
};
use crate::element::ScalarType;
use crate::scalar::{Value, eval};

/// Turns of a loop that is written out.
const TURNS: i64 = 16;

/// The same of a loop over constant tables: lattices have as many as 27 velocities.
const ENTRIES: i64 = 32;

/// Expressions that writing out may add to a kernel.
const ROOM: usize = 4096;

/// The kernel with its short loops written out: those between numbers whose variable says how far from the cell an
/// array is read, or which component of a cell, and does so by sums and products of numbers.
pub fn unrolled(mut kernel: Kernel) -> Kernel {
    write_out(&mut kernel);
    kernel
}

/// Writes short loops out, and says how many there were.
fn write_out(kernel: &mut Kernel) -> usize {
    if kernel.group.is_some() {
        return 0;
    }
    let block = std::mem::take(&mut kernel.body.block);
    let mut writer = Writer::new(&mut kernel.body, &block, (&kernel.args, &kernel.captures), kernel.rank);
    let block = writer.block(block);
    let written = writer.written;
    kernel.body.block = block;
    put_in(kernel);
    written
}

/// The captured integers that keep loops around the cell from being written out: they stand in the bounds.
pub fn bounding(kernel: &Kernel) -> Vec<u32> {
    let mut found = Vec::new();
    if kernel.group.is_none() {
        let mut body = kernel.body.clone();
        let writer = Writer::new(&mut body, &kernel.body.block, (&kernel.args, &kernel.captures), kernel.rank);
        writer.bounding(&kernel.body.block, &mut found);
    }
    found
}

/// The kernel for these values of captured integers, if some loop around the cell can be written out with them.
pub fn specialised(kernel: &Kernel, values: &[(u32, i64)]) -> Option<Kernel> {
    let mut kernel = kernel.clone();
    for expr in &mut kernel.body.exprs {
        let ExprKind::Capture(number) = expr.kind else { continue };
        let value = values.iter().find(|(of, _)| *of == number);
        if let (Some((_, value)), true) = (value, expr.ty == Type::Scalar(ScalarType::I64)) {
            expr.kind = ExprKind::Literal(Value::I64(*value));
        }
    }
    (write_out(&mut kernel) > 0).then_some(kernel)
}

/// What writes loops out.
struct Writer<'a> {
    /// Arguments that are read around the cell, or written in it. (A sweep with an order or over a colour reads around
    /// the cell what it writes.)
    of_cells: Vec<bool>,
    captures: &'a [Capture],
    body: &'a mut Body,
    /// Most expressions.
    room: usize,
    /// Loops written out.
    written: usize,
    fixed: Fixed,
}

/// What is known of locals that no statement but their `let` writes.
#[derive(Default)]
struct Fixed {
    /// Locals that are written elsewhere too.
    assigned: HashSet<LocalId>,
    /// What is made of numbers alone, by the local that holds it.
    numbers: HashMap<LocalId, ExprId>,
}

impl Fixed {
    fn of(body: &Body, block: &Block) -> Fixed {
        let mut fixed = Fixed::default();
        let mut lets = Vec::new();
        each_stmt(block, &mut |kind| match kind {
            StmtKind::Let(local, Some(value)) => lets.push((*local, *value)),
            StmtKind::Let(local, None) | StmtKind::Assign(local, ..) => {
                fixed.assigned.insert(*local);
            }
            _ => {}
        });
        for (local, value) in lets {
            if fixed.numbers.insert(local, value).is_some() {
                fixed.assigned.insert(local);
            }
        }
        let Fixed { assigned, numbers } = &mut fixed;
        numbers.retain(|local, value| !assigned.contains(local) && is_made_of_numbers(body, *value));
        fixed
    }
}

impl<'a> Writer<'a> {
    /// For these statements of the body.
    fn new(body: &'a mut Body, block: &Block, (args, captures): (&[Arg], &'a [Capture]), rank: usize) -> Writer<'a> {
        let is_of_cells = |arg: &Arg| matches!(arg.access, Access::Read | Access::Write) && arg.rank == rank;
        let of_cells = args.iter().map(is_of_cells).collect();
        let room = body.exprs.len() + ROOM;
        let fixed = Fixed::of(body, block);
        Writer { of_cells, captures, body, room, written: 0, fixed }
    }

    /// Collects the captured integers in the bounds of loops around the cell.
    fn bounding(&self, block: &Block, found: &mut Vec<u32>) {
        for stmt in block {
            match &stmt.kind {
                StmtKind::If(_, a, b) | StmtKind::While { head: a, body: b, .. } => {
                    self.bounding(a, found);
                    self.bounding(b, found);
                }
                StmtKind::For { local, lo, hi, body, .. } => {
                    self.bounding(body, found);
                    if !self.reaches(*local, body, false) {
                        continue;
                    }
                    for bound in [lo, hi] {
                        each_operand(self.body, *bound, &mut |_, expr| match expr.kind {
                            ExprKind::Capture(number)
                                if expr.ty == Type::Scalar(ScalarType::I64) && !found.contains(&number) =>
                            {
                                found.push(number);
                            }
                            _ => {}
                        });
                    }
                }
                _ => {}
            }
        }
    }

    fn block(&mut self, block: Block) -> Block {
        let mut made = Vec::with_capacity(block.len());
        for Stmt { span, kind } in block {
            let kind = match kind {
                StmtKind::If(cond, then, otherwise) => match self.decided(cond) {
                    Some(taken) => {
                        made.extend(self.block(if taken { then } else { otherwise }));
                        continue;
                    }
                    None => StmtKind::If(cond, self.block(then), self.block(otherwise)),
                },
                StmtKind::While { head, cond, body } => StmtKind::While { head, cond, body: self.block(body) },
                StmtKind::For { local, lo, hi, inclusive, body } => {
                    let body = self.block(body);
                    if let Some(turns) = self.turns(local, (lo, hi, inclusive), &body) {
                        self.written += 1;
                        turns.into_iter().for_each(|turn| made.extend(self.turn(&body, local, turn)));
                        continue;
                    }
                    StmtKind::For { local, lo, hi, inclusive, body }
                }
                other => other,
            };
            made.push(Stmt { span, kind });
        }
        made
    }

    /// The values of the variable of a loop that is to be written out.
    fn turns(&self, local: LocalId, (lo, hi, inclusive): (ExprId, ExprId, bool), body: &Block) -> Option<Vec<i64>> {
        self.body.locals.get(local as usize)?.ty.scalar().filter(|ty| ty.is_int())?;
        let (lo, hi) = (self.number(lo)?, self.number(hi)?.checked_add(i64::from(inclusive))?);
        let turns = hi.checked_sub(lo)?.max(0);
        let leaves = holds(body, &|kind| matches!(kind, StmtKind::Break | StmtKind::Continue));
        let takes = self.takes_entries(local, body);
        if turns > if takes { ENTRIES } else { TURNS } || leaves || !self.reaches(local, body, takes) {
            return None;
        }
        let added = self.size(body).saturating_mul(turns as usize);
        (self.body.exprs.len().saturating_add(added) <= self.room).then(|| (lo..hi).collect())
    }

    /// Whether the variable says which entry of a constant table is taken.
    fn takes_entries(&self, local: LocalId, body: &Block) -> bool {
        let (mut takes, of) = (false, HashSet::from([local]));
        each_expr(self.body, body, &mut |_, expr| {
            if let ExprKind::Entry(list, index) = &expr.kind {
                takes |= is_of_table(self.body, self.captures, *list) && self.names(*index, &of);
            }
        });
        takes
    }

    /// Whether the variable says how far from the cell arrays are read, or which component of a cell, or `takes`
    /// entries of a constant table, and never says in another way which of their cells.
    fn reaches(&self, local: LocalId, body: &Block, takes: bool) -> bool {
        let mut of = HashSet::from([local]);
        // A `let` of a sum with the variable is as good as that.
        each_stmt(body, &mut |kind| {
            if let StmtKind::Let(made, Some(value)) = kind
                && !self.fixed.assigned.contains(made)
                && self.names(*value, &of)
                && self.is_sum(*value)
            {
                of.insert(*made);
            }
        });
        let counts = |arg: u32, component: &Component| {
            let of_cell = self.of_cells.get(arg as usize) == Some(&true);
            of_cell && component.dynamic.iter().any(|(id, ..)| self.names(*id, &of) && self.is_sum(*id))
        };
        let (mut near, mut otherwise) = (false, false);
        each_stmt(body, &mut |kind| {
            near |= matches!(kind, StmtKind::Store { arg, component, .. } if counts(*arg, component));
        });
        each_expr(self.body, body, &mut |_, expr| {
            let ExprKind::Load { arg, index, component } = &expr.kind else { return };
            near |= counts(*arg, component);
            for id in index.iter().filter(|id| self.names(**id, &of)) {
                let plain = self.of_cells.get(*arg as usize) == Some(&true) && self.is_sum(*id);
                near |= plain;
                otherwise |= !plain;
            }
        });
        (near || takes) && !otherwise
    }

    /// Whether an expression names one of these locals.
    fn names(&self, id: ExprId, locals: &HashSet<LocalId>) -> bool {
        let mut found = false;
        each_operand(self.body, id, &mut |_, expr| {
            found |= matches!(expr.kind, ExprKind::Local(of) if locals.contains(&of));
        });
        found
    }

    /// Whether it is made of numbers, of the cell's coordinates, of locals and of lists of numbers by sums, differences
    /// and products.
    fn is_sum(&self, id: ExprId) -> bool {
        let mut all = true;
        let is_list = |id: &ExprId| match self.body[*id].kind {
            ExprKind::Local(local) => self.fixed.numbers.contains_key(&local),
            _ => false,
        };
        each_operand(self.body, id, &mut |_, expr| {
            all &= match &expr.kind {
                ExprKind::Entry(list, _) => is_list(list) || is_of_table(self.body, self.captures, *list),
                ExprKind::Capture(n) => self.captures.get(*n as usize).is_some_and(|capture| capture.known.is_some()),
                ExprKind::Literal(_)
                | ExprKind::Coordinate(_)
                | ExprKind::Local(_)
                | ExprKind::Part(..)
                | ExprKind::Cast(_)
                | ExprKind::Unary(UnaryOp::Neg, _)
                | ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..) => true,
                _ => false,
            };
        });
        all
    }

    /// The number that literals make, of an integer's type.
    fn number(&self, id: ExprId) -> Option<i64> {
        let Expr { ty, kind, .. } = self.body.exprs.get(id.0 as usize)?;
        let ty = ty.scalar().filter(|ty| ty.is_int())?;
        let number = match kind {
            ExprKind::Literal(value) => integer(*value)?,
            ExprKind::Unary(UnaryOp::Neg, x) => self.number(*x)?.checked_neg()?,
            ExprKind::Binary(BinaryOp::Add, a, b) => self.number(*a)?.checked_add(self.number(*b)?)?,
            ExprKind::Binary(BinaryOp::Sub, a, b) => self.number(*a)?.checked_sub(self.number(*b)?)?,
            ExprKind::Binary(BinaryOp::Mul, a, b) => self.number(*a)?.checked_mul(self.number(*b)?)?,
            ExprKind::Binary(BinaryOp::Div, a, b) => self.number(*a)?.checked_div(self.number(*b)?)?,
            ExprKind::Cast(x) => self.number(*x)?,
            _ => return None,
        };
        ty.has(number.unsigned_abs(), number < 0).then_some(number)
    }

    /// What a comparison of numbers gives.
    fn decided(&self, cond: ExprId) -> Option<bool> {
        let ExprKind::Compare(op, a, b) = self.body.exprs.get(cond.0 as usize)?.kind else { return None };
        let [a, b] = [self.number(a)?, self.number(b)?].map(Value::I64);
        Some(eval::compare(op, a, b))
    }

    /// Expressions of a block.
    fn size(&self, block: &Block) -> usize {
        let mut size = 0;
        each_expr(self.body, block, &mut |_, _| size += 1);
        size
    }

    /// One turn: the body with a number for the variable, and locals of its own.
    fn turn(&mut self, body: &Block, local: LocalId, turn: i64) -> Block {
        let mut locals = HashMap::new();
        let mut declared = HashSet::new();
        declares(body, &mut declared);
        let mut declared: Vec<LocalId> = declared.into_iter().collect();
        declared.sort_unstable();
        for of in declared {
            let copy = self.body.locals[of as usize].clone();
            self.body.locals.push(copy);
            let copy = self.body.locals.len() as LocalId - 1;
            locals.insert(of, copy);
            if self.fixed.assigned.contains(&of) {
                self.fixed.assigned.insert(copy);
            }
        }
        let ty = self.body.locals[local as usize].ty.scalar().unwrap_or(ScalarType::I64);
        let variable = (local, Value::from_bits(ty, turn as u64));
        let numbers = self.fixed.numbers.clone();
        let assigned = &self.fixed.assigned;
        let captures = self.captures;
        Turn { body: self.body, captures, variable, locals, made: HashMap::new(), numbers, assigned }.block(body)
    }
}

/// A turn that is being written.
struct Turn<'a> {
    body: &'a mut Body,
    captures: &'a [Capture],
    variable: (LocalId, Value),
    /// What stands for the locals of the loop's body.
    locals: HashMap<LocalId, LocalId>,
    /// What stands for its expressions.
    made: HashMap<ExprId, ExprId>,
    /// What is made of numbers alone, by the local that holds it.
    numbers: HashMap<LocalId, ExprId>,
    /// Locals that are written elsewhere than in their `let`.
    assigned: &'a HashSet<LocalId>,
}

impl Turn<'_> {
    fn block(&mut self, block: &Block) -> Block {
        block.iter().map(|stmt| Stmt { span: stmt.span, kind: self.stmt(&stmt.kind) }).collect()
    }

    fn local(&self, local: LocalId) -> LocalId {
        self.locals.get(&local).copied().unwrap_or(local)
    }

    fn component(&mut self, component: &Component) -> Component {
        let mut made = Component { base: component.base, dynamic: Vec::with_capacity(component.dynamic.len()) };
        for (id, stride, len) in &component.dynamic {
            let id = self.expr(*id);
            made.dynamic.push((id, *stride, *len));
        }
        self.settled(made)
    }

    fn stmt(&mut self, kind: &StmtKind) -> StmtKind {
        match kind {
            StmtKind::Let(local, value) => {
                let value = value.map(|value| self.expr(value));
                if let Some(value) = value.filter(|value| is_made_of_numbers(self.body, *value))
                    && !self.assigned.contains(local)
                {
                    self.numbers.insert(*local, value);
                }
                StmtKind::Let(self.local(*local), value)
            }
            StmtKind::Assign(local, steps, value) => {
                let step = |turn: &mut Self, step: &Step| match step {
                    Step::Part(n) => Step::Part(*n),
                    Step::Entry(id) => Step::Entry(turn.expr(*id)),
                };
                let steps = steps.iter().map(|of| step(self, of)).collect();
                StmtKind::Assign(self.local(*local), steps, self.expr(*value))
            }
            StmtKind::Store { arg, index, component, value } => StmtKind::Store {
                arg: *arg,
                index: index.iter().map(|id| self.expr(*id)).collect(),
                component: self.component(component),
                value: self.expr(*value),
            },
            StmtKind::Eval(value) => StmtKind::Eval(self.expr(*value)),
            StmtKind::If(cond, then, otherwise) => {
                StmtKind::If(self.expr(*cond), self.block(then), self.block(otherwise))
            }
            StmtKind::For { local, lo, hi, inclusive, body } => StmtKind::For {
                local: self.local(*local),
                lo: self.expr(*lo),
                hi: self.expr(*hi),
                inclusive: *inclusive,
                body: self.block(body),
            },
            StmtKind::While { head, cond, body } => {
                StmtKind::While { head: self.block(head), cond: self.expr(*cond), body: self.block(body) }
            }
            StmtKind::Phase { thread, around, body } => {
                StmtKind::Phase { thread: self.local(*thread), around: around.clone(), body: self.block(body) }
            }
            StmtKind::Break => StmtKind::Break,
            StmtKind::Continue => StmtKind::Continue,
            StmtKind::Return(value) => StmtKind::Return(value.map(|value| self.expr(value))),
        }
    }

    /// An expression of this turn: the same one if nothing in it is another.
    fn expr(&mut self, id: ExprId) -> ExprId {
        if let Some(made) = self.made.get(&id) {
            return *made;
        }
        let Expr { ty, span, kind } = self.body.exprs[id.0 as usize].clone();
        let mut changed = false;
        let mut of = |turn: &mut Self, id: &mut ExprId| {
            let made = turn.expr(*id);
            changed |= made != *id;
            *id = made;
        };
        let kind = match kind {
            ExprKind::Local(local) if local == self.variable.0 => {
                changed = true;
                ExprKind::Literal(self.variable.1)
            }
            ExprKind::Local(local) => {
                if let Some(number) = self.numbers.get(&local)
                    && self.locals.contains_key(&local)
                {
                    return *number;
                }
                changed = self.locals.contains_key(&local);
                ExprKind::Local(self.local(local))
            }
            mut kind => {
                kind.operands_mut(|id| of(self, id));
                if let ExprKind::Load { component, .. } = &mut kind {
                    *component = self.settled(std::mem::take(component));
                }
                kind
            }
        };
        let made = match self.worked_out(span, &ty, &kind) {
            Some(made) if changed => made,
            _ if changed => {
                self.body.exprs.push(Expr { ty, span, kind });
                ExprId(self.body.exprs.len() as u32 - 1)
            }
            _ => id,
        };
        self.made.insert(id, made);
        made
    }
}

impl Turn<'_> {
    /// A component without the entries whose numbers are known.
    fn settled(&self, component: Component) -> Component {
        let Component { mut base, dynamic } = component;
        let known = |id: ExprId, len: u32| match self.body[id].kind {
            ExprKind::Literal(value) => integer(value).and_then(|n| u32::try_from(n).ok()).filter(|n| *n < len),
            _ => None,
        };
        let left = |(id, stride, len): &(ExprId, u32, u32)| match known(*id, *len) {
            Some(number) => {
                base += number * stride;
                false
            }
            None => true,
        };
        let dynamic = dynamic.into_iter().filter(left).collect();
        Component { base, dynamic }
    }

    /// What an operation on numbers gives.
    fn worked_out(&mut self, span: Span, ty: &Type, kind: &ExprKind) -> Option<ExprId> {
        let literal = |id: &ExprId| match self.body[*id].kind {
            ExprKind::Literal(value) if value.ty().is_int() => Some(value),
            _ => None,
        };
        let of_table = value(self.body, self.captures, kind);
        let value = match kind {
            ExprKind::Part(..) | ExprKind::Entry(..) if of_table.is_some() => of_table?,
            ExprKind::Part(whole, n) => return self.part(*whole, *n as usize),
            ExprKind::Entry(list, index) => {
                let ExprKind::Local(list) = self.body[*list].kind else { return None };
                return self.part(*self.numbers.get(&list)?, usize::try_from(integer(literal(index)?)?).ok()?);
            }
            ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), a, b) => {
                eval::binary(*op, literal(a)?, literal(b)?)
            }
            ExprKind::Unary(UnaryOp::Neg, x) => eval::unary(UnaryOp::Neg, literal(x)?),
            ExprKind::Cast(x) => eval::cast(literal(x)?, ty.scalar().filter(|ty| ty.is_int())?),
            _ => return None,
        };
        self.body.exprs.push(Expr { ty: ty.clone(), span, kind: ExprKind::Literal(value) });
        Some(ExprId(self.body.exprs.len() as u32 - 1))
    }

    fn part(&self, whole: ExprId, n: usize) -> Option<ExprId> {
        match &self.body[whole].kind {
            ExprKind::Construct(parts) => parts.get(n).copied(),
            _ => None,
        }
    }
}

/// Whether a value is a number, or parts that are.
fn is_made_of_numbers(body: &Body, id: ExprId) -> bool {
    match body.exprs.get(id.0 as usize).map(|expr| &expr.kind) {
        Some(ExprKind::Literal(_)) => true,
        Some(ExprKind::Construct(parts)) => parts.iter().all(|part| is_made_of_numbers(body, *part)),
        _ => false,
    }
}

/// The number that an integer is.
fn integer(value: Value) -> Option<i64> {
    match value {
        Value::U64(n) => i64::try_from(n).ok(),
        value if value.ty().is_int() => match eval::cast(value, ScalarType::I64) {
            Value::I64(n) => Some(n),
            _ => None,
        },
        _ => None,
    }
}

/// Calls `see` with each statement of a block, and of those in it, in order.
pub(super) fn each_stmt(block: &Block, see: &mut dyn FnMut(&StmtKind)) {
    for stmt in block {
        see(&stmt.kind);
        match &stmt.kind {
            StmtKind::If(_, a, b) | StmtKind::While { head: a, body: b, .. } => {
                each_stmt(a, see);
                each_stmt(b, see);
            }
            StmtKind::For { body, .. } | StmtKind::Phase { body, .. } => each_stmt(body, see),
            _ => {}
        }
    }
}

/// The locals that a block declares.
fn declares(block: &Block, found: &mut HashSet<LocalId>) {
    for stmt in block {
        match &stmt.kind {
            StmtKind::Let(local, _) => {
                found.insert(*local);
            }
            StmtKind::If(_, then, otherwise) => {
                declares(then, found);
                declares(otherwise, found);
            }
            StmtKind::For { local, body, .. } => {
                found.insert(*local);
                declares(body, found);
            }
            StmtKind::While { head, body, .. } => {
                declares(head, found);
                declares(body, found);
            }
            StmtKind::Phase { thread, body, .. } => {
                found.insert(*thread);
                declares(body, found);
            }
            _ => {}
        }
    }
}

/// Calls `see` with an expression and all that it is made of.
fn each_operand(body: &Body, id: ExprId, see: &mut dyn FnMut(ExprId, &Expr)) {
    let Some(expr) = body.exprs.get(id.0 as usize) else { return };
    see(id, expr);
    expr.kind.operands(|id| each_operand(body, id, see));
}

/// The same for all expressions of a block.
fn each_expr(body: &Body, block: &Block, see: &mut dyn FnMut(ExprId, &Expr)) {
    for stmt in block {
        match &stmt.kind {
            StmtKind::Let(_, None) | StmtKind::Break | StmtKind::Continue | StmtKind::Return(None) => {}
            StmtKind::Let(_, Some(value)) | StmtKind::Eval(value) | StmtKind::Return(Some(value)) => {
                each_operand(body, *value, see);
            }
            StmtKind::Assign(_, steps, value) => {
                for step in steps {
                    if let Step::Entry(id) = step {
                        each_operand(body, *id, see);
                    }
                }
                each_operand(body, *value, see);
            }
            StmtKind::Store { index, component, value, .. } => {
                index.iter().for_each(|id| each_operand(body, *id, see));
                component.dynamic.iter().for_each(|(id, ..)| each_operand(body, *id, see));
                each_operand(body, *value, see);
            }
            StmtKind::If(cond, then, otherwise) => {
                each_operand(body, *cond, see);
                each_expr(body, then, see);
                each_expr(body, otherwise, see);
            }
            StmtKind::For { lo, hi, body: inner, .. } => {
                each_operand(body, *lo, see);
                each_operand(body, *hi, see);
                each_expr(body, inner, see);
            }
            StmtKind::While { head, cond, body: inner } => {
                each_expr(body, head, see);
                each_operand(body, *cond, see);
                each_expr(body, inner, see);
            }
            StmtKind::Phase { body: inner, .. } => each_expr(body, inner, see),
        }
    }
}
