//! The tables of one kernel after those of another, for passes that make one kernel of several.

use super::{Block, Body, Component, Expr, ExprId, ExprKind, Function, Kernel, LocalId, Span, Step, StmtKind};

/// A kernel like this one, with nothing in it.
pub(super) fn empty(like: &Kernel) -> Kernel {
    Kernel {
        args: Vec::new(),
        captures: Vec::new(),
        functions: Vec::new(),
        body: Body::default(),
        numbers: Vec::new(),
        ..like.clone()
    }
}

/// Adds all that a kernel has, but for its arguments, which become those of the numbers `args`; gives its statements.
pub(super) fn append(made: &mut Kernel, kernel: &Kernel, args: Vec<u32>) -> Block {
    let shift = Shift {
        args,
        exprs: made.body.exprs.len() as u32,
        locals: made.body.locals.len() as LocalId,
        captures: made.captures.len() as u32,
        functions: made.functions.len() as u32,
        // Places are of one file.
        place: (kernel.file != made.file).then_some(Span { line: made.line, column: 1 }),
    };
    made.captures.extend(kernel.captures.iter().cloned());
    made.numbers.extend(kernel.numbers.iter().copied());
    let inner = Shift { args: Vec::new(), exprs: 0, locals: 0, captures: 0, functions: shift.functions, place: None };
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
    body.block
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
