//! What is known of integers as they are emitted: their ranges, and indexes that are `at` plus a constant.

use std::collections::HashMap;

use super::helpers::bounds;
use crate::element::ScalarType;
use crate::ir::{BinaryOp, Body, ExprId, ExprKind, LocalId, Method, Type, UnaryOp};
use crate::scalar::Value;

/// Coordinates of cells are below this: arrays lie in memory.
const FAR: i128 = 1 << 60;

/// What is known of the locals in scope.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Values of locals that are never assigned.
    pub values: HashMap<LocalId, ExprId>,
    /// Ranges of such locals, and of loop variables.
    pub ranges: HashMap<LocalId, (i128, i128)>,
}

/// `at` along an axis, or nothing, plus a constant; modulo two to the 64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Offset {
    pub axis: Option<u32>,
    pub by: i64,
}

impl Known {
    /// The value of an integer expression of nothing but constants.
    pub fn constant(&self, body: &Body, id: ExprId) -> Option<i128> {
        let expr = &body[id];
        let ty = expr.ty.scalar().filter(|ty| ty.is_int())?;
        let value = match &expr.kind {
            ExprKind::Literal(value) => value.integer()?,
            ExprKind::Unary(UnaryOp::Neg, x) => -self.constant(body, *x)?,
            ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), a, b) => {
                let (a, b) = (self.constant(body, *a)?, self.constant(body, *b)?);
                match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    _ => a.checked_mul(b)?,
                }
            }
            ExprKind::Cast(x) => self.constant(body, *x)?,
            _ => return None,
        };
        Value::from_bits(ty, value as u64).integer()
    }

    /// The lowest and the highest value that an integer expression can have.
    pub fn range(&self, body: &Body, id: ExprId) -> (i128, i128) {
        let expr = &body[id];
        let Some(ty) = expr.ty.scalar().filter(|ty| !ty.is_float()) else { return (i128::MIN, i128::MAX) };
        let any = bounds(ty);
        self.found(body, id).filter(|r| any.0 <= r.0 && r.1 <= any.1).unwrap_or(any)
    }

    /// The range of the exact result, which may not be one of the type.
    pub fn found(&self, body: &Body, id: ExprId) -> Option<(i128, i128)> {
        let of = |id: &ExprId| self.range(body, *id);
        let expr = &body[id];
        if !expr.ty.scalar().is_some_and(|ty| ty.is_int()) {
            return None;
        }
        Some(match &expr.kind {
            ExprKind::Literal(value) => (value.integer()?, value.integer()?),
            ExprKind::Coordinate(_) => (-FAR, FAR),
            ExprKind::Local(local) => *self.ranges.get(local)?,
            // The coordinates of a thread in its group.
            ExprKind::Part(whole, _) => match &body[*whole].kind {
                ExprKind::Local(local) => *self.ranges.get(local)?,
                _ => return None,
            },
            ExprKind::Unary(UnaryOp::Neg, x) => {
                let (lo, hi) = of(x);
                (-hi, -lo)
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (of(a), of(b));
                match op {
                    BinaryOp::Add => (a.0 + b.0, a.1 + b.1),
                    BinaryOp::Sub => (a.0 - b.1, a.1 - b.0),
                    BinaryOp::Mul => {
                        let all = [a.0.checked_mul(b.0)?, a.0.checked_mul(b.1)?, a.1.checked_mul(b.0)?];
                        let last = a.1.checked_mul(b.1)?;
                        (all.iter().copied().fold(last, i128::min), all.iter().copied().fold(last, i128::max))
                    }
                    BinaryOp::Div if b.0 == b.1 && b.0 > 0 => (a.0 / b.0, a.1 / b.0),
                    BinaryOp::Rem if b.0 == b.1 && b.0 > 0 => {
                        let most = b.0 - 1;
                        (if a.0 < 0 { -most } else { 0 }, if a.1 > 0 { most.min(a.1) } else { 0 })
                    }
                    BinaryOp::BitAnd if a.0 >= 0 && b.0 >= 0 => (0, a.1.min(b.1)),
                    BinaryOp::Shr if a.0 >= 0 => (0, a.1),
                    _ => return None,
                }
            }
            ExprKind::Cast(x) if body[*x].ty.scalar().is_some_and(|ty| !ty.is_float()) => of(x),
            ExprKind::Method(Method::Min, args) => {
                let (a, b) = (of(args.first()?), of(args.get(1)?));
                (a.0.min(b.0), a.1.min(b.1))
            }
            ExprKind::Method(Method::Max, args) => {
                let (a, b) = (of(args.first()?), of(args.get(1)?));
                (a.0.max(b.0), a.1.max(b.1))
            }
            ExprKind::Method(Method::RemEuclid, args) => {
                let b = of(args.get(1)?);
                if b.0 <= 0 {
                    return None;
                }
                (0, b.1 - 1)
            }
            ExprKind::Method(Method::CountOnes | Method::LeadingZeros | Method::TrailingZeros, _) => (0, 64),
            _ => return None,
        })
    }

    /// The expression as `at` along an axis plus a constant.
    pub fn offset(&self, body: &Body, id: ExprId) -> Option<Offset> {
        let expr = &body[id];
        if expr.ty != Type::Scalar(ScalarType::I64) {
            return None;
        }
        if let Some(constant) = self.constant(body, id) {
            return Some(Offset { axis: None, by: constant as i64 });
        }
        match &expr.kind {
            ExprKind::Coordinate(axis) => Some(Offset { axis: Some(*axis), by: 0 }),
            ExprKind::Local(local) => self.offset(body, *self.values.get(local)?),
            ExprKind::Part(whole, n) => {
                let whole = match &body[*whole].kind {
                    ExprKind::Local(local) => *self.values.get(local)?,
                    _ => *whole,
                };
                match &body[whole].kind {
                    ExprKind::Construct(parts) => self.offset(body, *parts.get(*n as usize)?),
                    _ => None,
                }
            }
            ExprKind::Binary(BinaryOp::Add, a, b) => {
                let (a, b) = (self.offset(body, *a)?, self.offset(body, *b)?);
                (a.axis.is_none() || b.axis.is_none())
                    .then(|| Offset { axis: a.axis.or(b.axis), by: a.by.wrapping_add(b.by) })
            }
            ExprKind::Binary(BinaryOp::Sub, a, b) => {
                let (a, b) = (self.offset(body, *a)?, self.offset(body, *b)?);
                b.axis.is_none().then(|| Offset { axis: a.axis, by: a.by.wrapping_sub(b.by) })
            }
            _ => None,
        }
    }
}
