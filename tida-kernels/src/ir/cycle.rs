//! Kernels that take turns, as one kernel: the body is that of the kernel whose number a captured value gives.
//!
//! Everything after this pass sees one kernel. So what runs several steps of a kernel in one launch does so with steps of several
//! kernels: where the number is known, as it is of each step there, compilers drop the other bodies.

use super::{
    Access, Arg, Block, Body, Capture, CompareOp, Component, Expr, ExprId, ExprKind, Function, Kernel, LocalId, Span,
    Step, Stmt, StmtKind, Type,
};
use crate::element::ScalarType;
use crate::scalar::Value;

/// Kernels as one.
#[derive(Clone, Debug)]
pub struct Cycle {
    /// All of them. Its captured values are theirs, one kernel after the other, and at the end the number of the one to run
    /// (`i32`).
    pub kernel: Kernel,
    /// Where its arguments are from: the kernel and the number there. Those of the first kernel come first.
    pub args: Vec<(usize, usize)>,
}

/// Kernels that write and read around each cell the same two arrays (`pairs`: the arguments), and others of their own, as one
/// kernel; nothing if they cannot be one.
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
    let mut made = Kernel {
        args: Vec::new(),
        captures: Vec::new(),
        functions: Vec::new(),
        body: Body::default(),
        ..first.clone()
    };
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
        let shift = Shift {
            args: moved,
            exprs: made.body.exprs.len() as u32,
            locals: made.body.locals.len() as LocalId,
            captures: made.captures.len() as u32,
            functions: made.functions.len() as u32,
            // Places are of one file.
            place: (kernel.file != first.file).then_some(Span { line: first.line, column: 1 }),
        };
        made.captures.extend(kernel.captures.iter().cloned());
        let inner =
            Shift { args: Vec::new(), exprs: 0, locals: 0, captures: 0, functions: shift.functions, place: None };
        made.functions.extend(kernel.functions.iter().map(|function| {
            let mut function: Function = function.clone();
            function.body.exprs.iter_mut().for_each(|expr| inner.expr(expr));
            function
        }));
        made.body.locals.extend(kernel.body.locals.iter().cloned());
        let mut body = kernel.body.clone();
        body.exprs.iter_mut().for_each(|expr| shift.expr(expr));
        shift.block(&mut body.block);
        made.body.exprs.extend(body.exprs);
        blocks.push(body.block);
    }
    let selector = made.captures.len() as u32;
    let ty = Type::Scalar(ScalarType::I32);
    made.captures.push(Capture { name: "which".into(), ty: ty.clone() });
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

/// How the numbers of a kernel change.
struct Shift {
    /// By argument.
    args: Vec<u32>,
    exprs: u32,
    locals: LocalId,
    captures: u32,
    functions: u32,
    /// Where everything is said to be, if not where it is.
    place: Option<Span>,
}

impl Shift {
    fn id(&self, id: &mut ExprId) {
        id.0 += self.exprs;
    }

    fn arg(&self, arg: &mut u32) {
        *arg = self.args.get(*arg as usize).copied().unwrap_or(*arg);
    }

    fn component(&self, component: &mut Component) {
        component.dynamic.iter_mut().for_each(|(id, ..)| self.id(id));
    }

    fn expr(&self, expr: &mut Expr) {
        expr.span = self.place.unwrap_or(expr.span);
        match &mut expr.kind {
            ExprKind::Capture(n) => *n += self.captures,
            ExprKind::Local(local) => *local += self.locals,
            ExprKind::Load { arg, .. } => self.arg(arg),
            ExprKind::Encode { counted, .. } => counted.iter_mut().for_each(|arg| self.arg(arg)),
            ExprKind::Call(n, _) => *n += self.functions,
            _ => {}
        }
        expr.kind.operands_mut(|id| self.id(id));
    }

    fn block(&self, block: &mut Block) {
        for stmt in block {
            stmt.span = self.place.unwrap_or(stmt.span);
            match &mut stmt.kind {
                StmtKind::Let(local, value) => {
                    *local += self.locals;
                    value.iter_mut().for_each(|id| self.id(id));
                }
                StmtKind::Assign(local, steps, value) => {
                    *local += self.locals;
                    for step in steps {
                        if let Step::Entry(id) = step {
                            self.id(id);
                        }
                    }
                    self.id(value);
                }
                StmtKind::Store { arg, index, component, value } => {
                    self.arg(arg);
                    index.iter_mut().for_each(|id| self.id(id));
                    self.component(component);
                    self.id(value);
                }
                StmtKind::Eval(value) => self.id(value),
                StmtKind::If(cond, then, otherwise) => {
                    self.id(cond);
                    self.block(then);
                    self.block(otherwise);
                }
                StmtKind::For { local, lo, hi, body, .. } => {
                    *local += self.locals;
                    self.id(lo);
                    self.id(hi);
                    self.block(body);
                }
                StmtKind::While { head, cond, body } => {
                    self.block(head);
                    self.id(cond);
                    self.block(body);
                }
                StmtKind::Phase { thread, body, .. } => {
                    *thread += self.locals;
                    self.block(body);
                }
                StmtKind::Return(value) => value.iter_mut().for_each(|id| self.id(id)),
                StmtKind::Break | StmtKind::Continue => {}
            }
        }
    }
}
