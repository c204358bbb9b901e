//! The body under construction: its arena, its locals, and the statements being written.

use crate::ir::{Block, Body, Expr, ExprId, ExprKind, Local, LocalId, Span, Stmt, StmtKind, Type};
use crate::quote::{BinaryOp, Method};
use crate::scalar::Value;

/// What matters about an expression when statements come between it and its use.
#[derive(Clone, Copy, Debug)]
struct Meta {
    /// It reads an array, can fault or calls a function: it must not vanish.
    kept: bool,
    /// Its value can change, or its fault can come too late, if statements run before it.
    unstable: bool,
}

/// A cell of an argument, and the run-time entries within its element.
#[derive(Clone, Copy, PartialEq)]
struct Cell<'a> {
    arg: u32,
    index: &'a [ExprId],
    entries: &'a [(ExprId, u32, u32)],
}

/// A body under construction.
#[derive(Debug)]
pub(super) struct Builder {
    body: Body,
    meta: Vec<Meta>,
    /// Blocks being written, the innermost last.
    open: Vec<Block>,
    /// By local: a statement other than its `let` assigns it.
    assigned: Vec<bool>,
}

impl Builder {
    pub fn new(locals: Vec<Local>, assigned: Vec<bool>) -> Self {
        let body = Body { locals, exprs: Vec::new(), block: Vec::new() };
        Builder { body, meta: Vec::new(), open: vec![Vec::new()], assigned }
    }

    /// The body, with only those expressions that its statements use.
    pub fn finish(mut self) -> Body {
        self.body.block = self.open.swap_remove(0);
        super::compact::compact(&self.body)
    }

    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.body[id]
    }

    pub fn ty(&self, id: ExprId) -> &Type {
        &self.body[id].ty
    }

    // Statements.

    pub fn emit(&mut self, span: Span, kind: StmtKind) {
        if let Some(block) = self.open.last_mut() {
            block.push(Stmt { span, kind });
        }
    }

    pub fn open(&mut self) {
        self.open.push(Vec::new());
    }

    pub fn close(&mut self) -> Block {
        self.open.pop().unwrap_or_default()
    }

    /// Number of statements in the innermost block.
    pub fn mark(&self) -> usize {
        self.open.last().map_or(0, Vec::len)
    }

    pub fn temporary(&mut self, name: &str, ty: Type) -> LocalId {
        let id = self.body.locals.len() as LocalId;
        self.body.locals.push(Local { name: format!("_{name}{id}"), ty });
        // Whoever assigns a temporary does so before anyone reads it.
        self.assigned.push(false);
        id
    }

    /// Puts the value into a local, by a statement at `mark` of the innermost block.
    fn bind_at(&mut self, mark: usize, name: &str, value: ExprId) -> ExprId {
        let Expr { ty, span, .. } = self.expr(value).clone();
        let local = self.temporary(name, ty.clone());
        if let Some(block) = self.open.last_mut() {
            block.insert(mark.min(block.len()), Stmt { span, kind: StmtKind::Let(local, Some(value)) });
        }
        self.push(span, ty, ExprKind::Local(local))
    }

    /// Puts the value into a local.
    pub fn bind(&mut self, name: &str, value: ExprId) -> ExprId {
        self.bind_at(self.mark(), name, value)
    }

    /// Statements were written after `mark`: what they could change of `earlier` is put into locals before them.
    pub fn guard(&mut self, mut mark: usize, earlier: &mut [ExprId]) {
        if self.mark() == mark {
            return;
        }
        for value in earlier {
            if self.unstable(*value) {
                *value = self.bind_at(mark, "early", *value);
                mark += 1;
            }
        }
    }

    /// The value for use in several places: itself if it costs next to nothing, else a local.
    pub fn reuse(&mut self, name: &str, value: ExprId) -> ExprId {
        if self.cheap(value) { value } else { self.bind(name, value) }
    }

    /// The value is not used: what can fault of it stays, as statements.
    pub fn discard(&mut self, value: ExprId) {
        if !self.kept(value) {
            return;
        }
        let Expr { span, kind, .. } = self.expr(value).clone();
        match kind {
            ExprKind::Construct(parts) => parts.into_iter().for_each(|part| self.discard(part)),
            _ => self.emit(span, StmtKind::Eval(value)),
        }
    }

    // Expressions.

    pub fn push(&mut self, span: Span, ty: Type, kind: ExprKind) -> ExprId {
        let meta = self.meta_of(&ty, &kind);
        self.body.exprs.push(Expr { ty, span, kind });
        self.meta.push(meta);
        ExprId((self.body.exprs.len() - 1) as u32)
    }

    pub fn literal(&mut self, span: Span, value: Value) -> ExprId {
        self.push(span, Type::Scalar(value.ty()), ExprKind::Literal(value))
    }

    pub fn unit(&mut self, span: Span) -> ExprId {
        self.push(span, Type::unit(), ExprKind::Construct(Vec::new()))
    }

    /// Part `n`, where the whole is used elsewhere too.
    pub fn part(&mut self, whole: ExprId, n: u32) -> ExprId {
        let Expr { span, ty, kind } = self.expr(whole);
        if let ExprKind::Construct(parts) = kind
            && let Some(part) = parts.get(n as usize)
        {
            return *part;
        }
        let (span, ty) = (*span, part_type(ty, n));
        self.push(span, ty, ExprKind::Part(whole, n))
    }

    /// Part `n`, where this is the only use of the whole: the rest is discarded.
    pub fn only_part(&mut self, whole: ExprId, n: u32) -> ExprId {
        let part = self.part(whole, n);
        if let ExprKind::Construct(parts) = &self.expr(whole).kind {
            for rest in parts.clone() {
                // Reading another component of the same cell tells nothing more.
                if rest != part && !(self.cell(rest).is_some() && self.cell(rest) == self.cell(part)) {
                    self.discard(rest);
                }
            }
        }
        part
    }

    /// All parts of an array, tuple or struct.
    pub fn parts(&mut self, whole: ExprId) -> Vec<ExprId> {
        if let ExprKind::Construct(parts) = &self.expr(whole).kind {
            return parts.clone();
        }
        let n = part_count(self.ty(whole));
        if n == 0 {
            self.discard(whole);
            return Vec::new();
        }
        let whole = self.reuse("whole", whole);
        (0..n as u32).map(|n| self.part(whole, n)).collect()
    }

    /// The cell that all components of the value are read from.
    fn cell(&self, value: ExprId) -> Option<Cell<'_>> {
        match &self.expr(value).kind {
            ExprKind::Load { arg, index, component } => Some(Cell { arg: *arg, index, entries: &component.dynamic }),
            ExprKind::Construct(parts) => {
                let (first, rest) = parts.split_first()?;
                let cell = self.cell(*first)?;
                rest.iter().all(|part| self.cell(*part) == Some(cell)).then_some(cell)
            }
            _ => None,
        }
    }

    // What is known of expressions.

    fn meta(&self, id: ExprId) -> Meta {
        self.meta.get(id.0 as usize).copied().unwrap_or(Meta { kept: true, unstable: true })
    }

    /// Whether it reads an array, can fault or calls a function.
    pub fn kept(&self, id: ExprId) -> bool {
        self.meta(id).kept
    }

    /// Whether statements that run before it could make a difference.
    pub fn unstable(&self, id: ExprId) -> bool {
        self.meta(id).unstable
    }

    /// Whether writing it twice costs next to nothing.
    fn cheap(&self, id: ExprId) -> bool {
        let leaf = |id: &ExprId| match &self.expr(*id).kind {
            ExprKind::Literal(_) | ExprKind::Capture(_) | ExprKind::Coordinate(_) | ExprKind::Local(_) => true,
            ExprKind::Part(whole, _) => {
                matches!(self.expr(*whole).kind, ExprKind::Local(_) | ExprKind::Capture(_))
            }
            _ => false,
        };
        match &self.expr(id).kind {
            ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => leaf(a) && leaf(b),
            ExprKind::Part(whole, _) => leaf(whole),
            ExprKind::Construct(parts) => parts.is_empty(),
            _ => leaf(&id),
        }
    }

    fn meta_of(&self, ty: &Type, kind: &ExprKind) -> Meta {
        let int = ty.scalar().is_some_and(|s| s.is_int());
        let own = match kind {
            ExprKind::Load { .. } | ExprKind::Call(..) | ExprKind::Entry(..) => true,
            ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, ..) => int,
            ExprKind::Method(Method::RemEuclid | Method::DivEuclid, _) => int,
            _ => false,
        };
        let mut meta = Meta { kept: own, unstable: own };
        if let ExprKind::Local(id) = kind {
            meta.unstable = self.assigned.get(*id as usize).copied().unwrap_or(true);
        }
        kind.operands(|id| {
            let of = self.meta(id);
            meta.kept |= of.kept;
            meta.unstable |= of.unstable;
        });
        meta
    }
}

/// Type of part `n`.
pub(super) fn part_type(whole: &Type, n: u32) -> Type {
    let part = match whole {
        Type::Scalar(_) => None,
        Type::Array(t, len) => ((n as usize) < *len).then(|| (**t).clone()),
        Type::Tuple(ts) => ts.get(n as usize).cloned(),
        Type::Struct(_, fs) => fs.get(n as usize).map(|(_, t)| t.clone()),
    };
    part.unwrap_or_else(Type::unit)
}

/// Number of parts.
pub(super) fn part_count(whole: &Type) -> usize {
    match whole {
        Type::Scalar(_) => 0,
        Type::Array(_, len) => *len,
        Type::Tuple(ts) => ts.len(),
        Type::Struct(_, fs) => fs.len(),
    }
}
