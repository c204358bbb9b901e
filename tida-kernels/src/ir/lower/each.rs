//! Loops over ranges. Those that do not go up one by one count their turns, and find the variable from the count.
//!
//! [`crate::scalar::ops::up_by`] and its like say the same of the native form.

use super::Lowering;
use crate::element::ScalarType;
use crate::error::KernelError;
use crate::ir::{ExprId, ExprKind, LocalId, Span, StmtKind, Type};
use crate::quote::{BinaryOp, Block, CompareOp, Order, Range};
use crate::scalar::{Value, eval};

/// A loop being written.
#[derive(Clone, Copy)]
struct Loop<'a> {
    span: Span,
    local: LocalId,
    /// The type of the variable.
    ty: ScalarType,
    range: &'a Range,
    body: &'a Block,
}

/// Its bounds, evaluated.
#[derive(Clone, Copy)]
struct Bounds {
    lo: ExprId,
    hi: ExprId,
}

impl<'a> Lowering<'a> {
    /// `for local in range { body }`.
    pub fn each(&mut self, span: Span, local: LocalId, range: &'a Range, body: &'a Block) -> Result<(), KernelError> {
        let parts = self.operands(&range.parts().collect::<Vec<_>>())?;
        let ([lo, hi], by) = match parts[..] {
            [lo, hi] => ([lo, hi], None),
            [lo, hi, by] => ([lo, hi], Some(by)),
            _ => return Err(self.scope.damaged(span, "a loop without bounds")),
        };
        if by.is_none() && range.order == Order::Up {
            let each = Loop { span, local, ty: ScalarType::I64, range, body };
            return self.plain(each, Bounds { lo, hi });
        }
        let Some(ty) = self.typed.locals.get(local as usize).and_then(Type::scalar) else {
            return Err(self.scope.damaged(span, "a loop whose variable is no number"));
        };
        let each = Loop { span, local, ty, range, body };
        // (A body may change what a bound was made from.)
        let bounds = Bounds { lo: self.stable("from", lo), hi: self.stable("to", hi) };
        match by.map(|by| (by, self.number_of(by))) {
            None | Some((_, Some(1))) => self.one_by_one(each, bounds),
            Some((by, Some(number @ 2..))) => match self.number_of(lo).zip(self.number_of(hi)) {
                Some(ends) => self.counted(each, ends, number),
                None => self.stepped(each, bounds, by, Some(number)),
            },
            Some((by, _)) => self.stepped(each, bounds, by, None),
        }
    }

    /// From the least up, one by one.
    fn plain(&mut self, each: Loop<'a>, Bounds { lo, hi }: Bounds) -> Result<(), KernelError> {
        let Loop { span, local, range, .. } = each;
        self.enter();
        let body = self.block(each.body, None)?;
        self.emit_loop(span, StmtKind::For { local, lo, hi, inclusive: range.inclusive, body });
        Ok(())
    }

    /// Steps of 1.
    fn one_by_one(&mut self, each: Loop<'a>, Bounds { lo, hi }: Bounds) -> Result<(), KernelError> {
        let Loop { span, ty, range, .. } = each;
        if range.order == Order::Up {
            return self.plain(each, Bounds { lo, hi });
        }
        let turn = self.build.temporary("turn", Type::Scalar(ty));
        self.build.open();
        let top = self.top(each, hi);
        let count = self.build.push(span, Type::Scalar(ty), ExprKind::Local(turn));
        let count = self.worked_out(span, BinaryOp::Sub, count, lo);
        let value = self.worked_out(span, BinaryOp::Sub, top, count);
        let body = self.turn(each, value)?;
        self.emit_loop(span, StmtKind::For { local: turn, lo, hi, inclusive: range.inclusive, body });
        Ok(())
    }

    /// Steps by a number, between numbers.
    fn counted(&mut self, each: Loop<'a>, (lo, hi): (i128, i128), by: i128) -> Result<(), KernelError> {
        let Loop { span, ty, range, .. } = each;
        let last = hi - i128::from(!range.inclusive);
        let steps = (last - lo).div_euclid(by);
        let first = match range.order {
            Order::Up => lo,
            Order::Down => last,
            Order::Back => lo + steps * by,
        };
        let turn = self.build.temporary("turn", Type::Scalar(ty));
        self.build.open();
        let [none, end, first, by] = [0, steps.max(0), first, by].map(|n| self.build.literal(span, value_of(ty, n)));
        let count = self.build.push(span, Type::Scalar(ty), ExprKind::Local(turn));
        let way = self.worked_out(span, BinaryOp::Mul, count, by);
        let value = self.worked_out(span, away(range.order), first, way);
        let body = self.turn(each, value)?;
        // A step of 2 or more: the count is of the type too.
        self.emit_loop(span, StmtKind::For { local: turn, lo: none, hi: end, inclusive: last >= lo, body });
        Ok(())
    }

    /// Steps by what only run time tells, or between such bounds.
    fn stepped(
        &mut self,
        each: Loop<'a>,
        Bounds { lo, hi }: Bounds,
        by: ExprId,
        number: Option<i128>,
    ) -> Result<(), KernelError> {
        let Loop { span, ty, range, .. } = each;
        let by = self.stable("by", by);
        let between = self.between(each, Bounds { lo, hi });
        let steps = self.worked_out(span, BinaryOp::Div, between, by);
        // The division tells that a step is 0 whether or not there are turns.
        let steps = if number.is_some() { steps } else { self.build.bind("steps", steps) };
        let (any, bool) = (if range.inclusive { CompareOp::Le } else { CompareOp::Lt }, Type::Scalar(ScalarType::Bool));
        let any = self.build.push(span, bool, ExprKind::Compare(any, lo, hi));
        // By steps of 2 or more, the variable's type has their number.
        let count_type = if number.is_some() { ty } else { ScalarType::U64 };
        let turn = self.build.temporary("turn", Type::Scalar(count_type));
        self.build.open();
        let steps = match range.order {
            Order::Back => self.build.reuse("steps", steps),
            _ => steps,
        };
        let none = self.build.literal(span, Value::from_bits(count_type, 0));
        let end = self.cast_to(span, steps, count_type);
        let first = match range.order {
            Order::Up => lo,
            Order::Down => self.top(each, hi),
            Order::Back => {
                let way = self.worked_out(span, BinaryOp::Mul, steps, by);
                let way = self.cast_to(span, way, ty);
                self.worked_out(span, BinaryOp::Add, lo, way)
            }
        };
        let first = self.build.reuse("first", first);
        self.build.open();
        let count = self.build.push(span, Type::Scalar(count_type), ExprKind::Local(turn));
        let by = match number {
            Some(number) => self.build.literal(span, value_of(ty, number)),
            None => by,
        };
        let way = self.worked_out(span, BinaryOp::Mul, count, by);
        let way = self.cast_to(span, way, ty);
        let value = self.worked_out(span, away(range.order), first, way);
        let body = self.turn(each, value)?;
        self.emit_loop(span, StmtKind::For { local: turn, lo: none, hi: end, inclusive: true, body });
        let then = self.build.close();
        self.build.emit(span, StmtKind::If(any, then, Vec::new()));
        Ok(())
    }

    /// The variable's value, and the body, in the block that is open.
    fn turn(&mut self, each: Loop<'a>, value: ExprId) -> Result<crate::ir::Block, KernelError> {
        self.build.emit(each.span, StmtKind::Let(each.local, Some(value)));
        let mut body = self.build.close();
        self.enter();
        body.extend(self.block(each.body, None)?);
        Ok(body)
    }

    /// The last value of the range, if it has any.
    fn top(&mut self, each: Loop<'_>, hi: ExprId) -> ExprId {
        let less = i128::from(!each.range.inclusive);
        let less = self.build.literal(each.span, value_of(each.ty, less));
        self.worked_out(each.span, BinaryOp::Sub, hi, less)
    }

    /// How far the last value of the range is from the first, if it has any: a `U64`.
    fn between(&mut self, each: Loop<'_>, Bounds { lo, hi }: Bounds) -> ExprId {
        let Loop { span, ty, .. } = each;
        if ty.size() == 8 {
            // The analysis follows sums of one type further than casts.
            let top = self.top(each, hi);
            let between = self.worked_out(span, BinaryOp::Sub, top, lo);
            return self.cast_to(span, between, ScalarType::U64);
        }
        let [lo, hi] = [lo, hi].map(|bound| self.cast_to(span, bound, ScalarType::U64));
        let between = self.worked_out(span, BinaryOp::Sub, hi, lo);
        let less = self.build.literal(span, Value::U64(u64::from(!each.range.inclusive)));
        self.worked_out(span, BinaryOp::Sub, between, less)
    }

    /// A value that no statement changes.
    fn stable(&mut self, name: &str, value: ExprId) -> ExprId {
        if self.build.unstable(value) { self.build.bind(name, value) } else { self.build.reuse(name, value) }
    }

    fn number_of(&self, value: ExprId) -> Option<i128> {
        match self.build.expr(value).kind {
            ExprKind::Literal(value) if value.ty().is_int() => Some(number(value)),
            _ => None,
        }
    }

    fn cast_to(&mut self, span: Span, value: ExprId, ty: ScalarType) -> ExprId {
        match self.build.expr(value).kind {
            _ if *self.build.ty(value) == Type::Scalar(ty) => value,
            ExprKind::Literal(value) => self.build.literal(span, eval::cast(value, ty)),
            _ => self.build.push(span, Type::Scalar(ty), ExprKind::Cast(value)),
        }
    }

    /// A sum, difference, product or quotient of integers of one type, worked out where it can be.
    fn worked_out(&mut self, span: Span, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        let adds = matches!(op, BinaryOp::Add | BinaryOp::Sub);
        match (&self.build.expr(a).kind, &self.build.expr(b).kind) {
            (_, ExprKind::Literal(b)) if adds && number(*b) == 0 => a,
            (ExprKind::Literal(a), ExprKind::Literal(b)) if op != BinaryOp::Div => {
                let value = eval::binary(op, *a, *b);
                self.build.literal(span, value)
            }
            _ => {
                let ty = self.build.ty(a).clone();
                self.build.push(span, ty, ExprKind::Binary(op, a, b))
            }
        }
    }
}

/// Whether the values go up or down from the first.
fn away(order: Order) -> BinaryOp {
    if order == Order::Up { BinaryOp::Add } else { BinaryOp::Sub }
}

/// An integer of the type; those that it does not have modulo its size.
fn value_of(ty: ScalarType, n: i128) -> Value {
    Value::from_bits(ty, n as u64)
}

fn number(value: Value) -> i128 {
    match (eval::cast(value, ScalarType::I64), value) {
        (_, Value::U64(n)) => i128::from(n),
        (Value::I64(n), _) => i128::from(n),
        _ => 0,
    }
}
