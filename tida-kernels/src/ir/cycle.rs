//! Alternating kernels, as one kernel: the body is that of the kernel whose number a captured value gives.
//!
//! Everything after this pass sees one kernel. So what runs several steps of a kernel in one launch does so with steps
//! of several kernels: where the number is known, as it is of each step there, compilers drop the other bodies.

use super::merge::{append, empty};
use super::{Access, Arg, Block, Body, Capture, CompareOp, Expr, ExprId, ExprKind, Kernel, Span, Stmt, StmtKind, Type};
use crate::element::ScalarType;
use crate::scalar::Value;

/// Kernels as one.
#[derive(Clone, Debug)]
pub struct Cycle {
    /// All of them. Its captured values are theirs, one kernel after the other, and at the end the number of the one to
    /// run (`i32`).
    pub kernel: Kernel,
    /// Where its arguments are from: the kernel and the number there. Those of the first kernel come first.
    pub args: Vec<(usize, usize)>,
}

/// Kernels that write and read around each cell the same two arrays (`pairs`: the arguments), and others of their own,
/// as one kernel; nothing if they cannot be one.
pub fn cycle(kernels: &[&Kernel], pairs: &[(usize, usize)]) -> Option<Cycle> {
    let (first, pair) = (*kernels.first()?, *pairs.first()?);
    let array =
        |kernel: &Kernel, (out, inp): (usize, usize)| Some([kernel.args.get(out)?, kernel.args.get(inp)?].map(of));
    let like = |kernel: &&Kernel| kernel.rank == first.rank && kernel.result == first.result && kernel.group.is_none();
    let known = array(first, pair)?;
    let alike = kernels.iter().zip(pairs).all(|(kernel, pair)| array(kernel, *pair).as_ref() == Some(&known));
    if kernels.len() != pairs.len() || !kernels.iter().all(like) || !alike {
        return None;
    }
    let mut made = empty(first);
    let (mut args, mut blocks) = (Vec::new(), Vec::new());
    for (number, (kernel, own)) in kernels.iter().zip(pairs).enumerate() {
        let mut moved = Vec::new();
        for (n, arg) in kernel.args.iter().enumerate() {
            let shared = if n == own.0 { Some(pair.0) } else { (n == own.1).then_some(pair.1) };
            moved.push(match shared.filter(|_| number > 0) {
                Some(known) => known as u32,
                None => {
                    made.args.push(arg.clone());
                    args.push((number, n));
                    made.args.len() as u32 - 1
                }
            });
        }
        blocks.push(append(&mut made, kernel, moved));
    }
    let selector = made.captures.len() as u32;
    let ty = Type::Scalar(ScalarType::I32);
    made.captures.push(Capture::of_launch("which", ty.clone()));
    made.body.block = chosen(&mut made.body, selector, &ty, blocks);
    Some(Cycle { kernel: made, args })
}

/// What two arrays have to have in common.
fn of(arg: &Arg) -> (Access, crate::element::ElementType, usize) {
    (arg.access, arg.element, arg.rank)
}

/// The block whose number the captured value is; the last one for any other.
fn chosen(body: &mut Body, selector: u32, ty: &Type, blocks: Vec<Block>) -> Block {
    let mut all: Option<Block> = None;
    for (number, block) in blocks.into_iter().enumerate().rev() {
        all = Some(match all {
            None => block,
            Some(others) => {
                let span = block.first().map_or_else(Span::default, |stmt| stmt.span);
                let mut push = |ty: &Type, kind: ExprKind| {
                    body.exprs.push(Expr { ty: ty.clone(), span, kind });
                    ExprId(body.exprs.len() as u32 - 1)
                };
                let is = push(ty, ExprKind::Capture(selector));
                let number = push(ty, ExprKind::Literal(Value::from_bits(ScalarType::I32, number as u64)));
                let bool = Type::Scalar(ScalarType::Bool);
                let cond = push(&bool, ExprKind::Compare(CompareOp::Eq, is, number));
                vec![Stmt { span, kind: StmtKind::If(cond, block, others) }]
            }
        });
    }
    all.unwrap_or_default()
}
