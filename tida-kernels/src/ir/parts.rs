//! Kernels that give one scalar of the value that a kernel gives: what a device folds.

use super::lower::compact::compact;
use super::{Block, Body, Expr, ExprId, ExprKind, Kernel, Local, LocalId, Stmt, StmtKind, Type};

/// For each scalar that a kernel's value is made of, the kernel that gives this one. It does all that the whole does:
/// what faults there faults here, in the same cell. Nothing if the value is no struct of scalars.
pub fn parts_of_value(kernel: &Kernel) -> Option<Vec<Kernel>> {
    let Type::Struct(_, fields) = &kernel.result else { return None };
    let plain = fields.iter().all(|(_, ty)| matches!(ty, Type::Scalar(_)));
    let part = |(n, (_, ty)): (usize, &(&'static str, Type))| {
        let mut made = kernel.clone();
        let mut block = std::mem::take(&mut made.body.block);
        give(&mut made.body, &mut block, n as u32, ty);
        made.body.block = block;
        made.body = compact(&made.body);
        made.result = ty.clone();
        made
    };
    plain.then(|| fields.iter().enumerate().map(part).collect())
}

/// Has each `return` of a block give a part of its value.
fn give(body: &mut Body, block: &mut Block, part: u32, ty: &Type) {
    let mut made = Block::with_capacity(block.len() + 1);
    for mut stmt in std::mem::take(block) {
        match &mut stmt.kind {
            StmtKind::Return(Some(value)) => {
                let (span, whole) = (stmt.span, body[*value].ty.clone());
                let local = body.locals.len() as LocalId;
                body.locals.push(Local { name: format!("_value{local}"), ty: whole.clone() });
                made.push(Stmt { span, kind: StmtKind::Let(local, Some(*value)) });
                let held = add(body, Expr { span, ty: whole, kind: ExprKind::Local(local) });
                *value = add(body, Expr { span, ty: ty.clone(), kind: ExprKind::Part(held, part) });
            }
            StmtKind::If(_, then, otherwise) => {
                give(body, then, part, ty);
                give(body, otherwise, part, ty);
            }
            StmtKind::For { body: inner, .. } | StmtKind::Phase { body: inner, .. } => {
                give(body, inner, part, ty);
            }
            StmtKind::While { head, body: inner, .. } => {
                give(body, head, part, ty);
                give(body, inner, part, ty);
            }
            _ => {}
        }
        made.push(stmt);
    }
    *block = made;
}

fn add(body: &mut Body, expr: Expr) -> ExprId {
    body.exprs.push(expr);
    ExprId((body.exprs.len() - 1) as u32)
}
