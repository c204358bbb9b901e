//! The room that a body takes on the stack of the thread that runs it.

use std::collections::HashSet;

use super::super::scope::Scope;
use super::super::types::Ty;
use super::Typed;
use crate::error::KernelError;
use crate::ir::{Capture, Span, Type};
use crate::quote::{Code, Expr, ExprKind};

/// Most bytes of the values that a cell keeps while it runs: variables, captured arrays, and what is made of several
/// values on the way, those of the functions called included.
///
/// Threads of a pool have stacks of 2 MiB. Compiled without optimisation a kernel keeps each value several times, and a
/// thread that waits runs other kernels on top.
pub(super) const MAX_BYTES: u64 = 64 << 10;

/// What keeps most.
struct Largest {
    bytes: u64,
    span: Span,
    what: String,
}

struct Room {
    bytes: u64,
    largest: Largest,
}

impl Room {
    fn add(&mut self, bytes: u64, span: Span, what: impl FnOnce() -> String) {
        self.bytes = self.bytes.saturating_add(bytes);
        if bytes > self.largest.bytes {
            self.largest = Largest { bytes, span, what: what() };
        }
    }
}

/// The bytes of the values that a body keeps, if they are not too many.
pub(super) fn needed(
    scope: &Scope<'_>,
    code: &Code,
    typed: &Typed,
    exprs: &[(&Expr, Ty)],
    placed: &HashSet<*const Expr>,
    span: Span,
) -> Result<u64, KernelError> {
    let mut room = Room { bytes: 0, largest: Largest { bytes: 0, span: Span::default(), what: String::new() } };
    for (local, ty) in code.locals.iter().zip(&typed.locals) {
        room.add(bytes_of(ty), local.span, || format!("`{}`, of type {ty}", local.name));
    }
    for capture in scope.captures {
        let Capture { name, ty, .. } = capture;
        room.add(bytes_of(ty), span, || format!("`{name}`, which is captured and of type {ty}"));
    }
    for (e, _) in exprs {
        if let ExprKind::Call(number, _) = &e.kind {
            let called = scope.function(e.span, *number)?;
            room.add(called.bytes, e.span, || format!("a call of `{}`", called.name));
        }
        let made = matches!(
            &e.kind,
            ExprKind::Tuple(_)
                | ExprKind::Array(_)
                | ExprKind::Repeat(..)
                | ExprKind::Struct(..)
                | ExprKind::Load { .. }
                | ExprKind::Constant(_)
                | ExprKind::Call(..)
                | ExprKind::If { .. }
                | ExprKind::Block(_)
        );
        let ty = typed.of(e);
        if made && ty.scalar().is_none() && !placed.contains(&std::ptr::from_ref(*e)) {
            room.add(bytes_of(&ty), e.span, || format!("a value of type {ty}"));
        }
    }
    if room.bytes <= MAX_BYTES {
        return Ok(room.bytes);
    }
    let Room { bytes, largest } = room;
    Err(scope.error(
        largest.span,
        "keep the values of a cell while it runs",
        format!("{bytes} bytes of them, {} in {}; there is room for {MAX_BYTES}", largest.bytes, largest.what),
        "make it smaller, or keep it in an array: give the cells an axis more, or read it with `table(..)`",
    ))
}

fn bytes_of(ty: &Type) -> u64 {
    match ty {
        Type::Scalar(scalar) => scalar.size() as u64,
        Type::Array(entry, len) => bytes_of(entry).saturating_mul(*len as u64),
        Type::Tuple(parts) => parts.iter().fold(0, |bytes, part| bytes.saturating_add(bytes_of(part))),
        Type::Struct(_, fields) => fields.iter().fold(0, |bytes, (_, ty)| bytes.saturating_add(bytes_of(ty))),
    }
}
