//! Inference: a type for each local and each expression.
//!
//! rustc has typed the native form of the same body, so this only has to agree with it: unification, where operators
//! and methods are functions of one type parameter (`fn add<T: Number>(a: T, b: T) -> T`).

use std::collections::HashMap;

use super::scope::Scope;
use super::types::{Shape, Ty, Types, Unknown};
use crate::element::{ElementType, ScalarType};
use crate::error::KernelError;
use crate::ir::{Access, Span, Type};
use crate::quote::{
    BinaryOp, Block, Code, Expr, ExprKind, LocalId, Method, MethodClass, Pattern, Place, Projection, Stmt, StmtKind,
    TypeTree, UnaryOp,
};

/// How deep expressions and statements may nest.
pub(super) const MAX_NESTING: usize = 200;

/// The types found.
#[derive(Debug)]
pub(super) struct Typed {
    pub locals: Vec<Type>,
    /// By the address of the expression in its tree, which outlives this.
    exprs: HashMap<*const Expr, Type>,
    pub result: Type,
    /// By local: a statement other than its `let` assigns it.
    pub assigned: Vec<bool>,
}

impl Typed {
    pub fn of(&self, e: &Expr) -> Type {
        self.exprs.get(&std::ptr::from_ref(e)).cloned().unwrap_or_else(Type::unit)
    }
}

/// A part whose whole is not known yet.
struct Pending<'t> {
    span: Span,
    whole: Ty,
    step: Step<'t>,
    part: Ty,
}

enum Step<'t> {
    Projection(&'t Projection),
    /// The whole is a point.
    Axis,
}

struct Infer<'t, 's> {
    scope: &'s Scope<'s>,
    types: Types,
    locals: Vec<Ty>,
    assigned: Vec<bool>,
    exprs: Vec<(&'t Expr, Ty)>,
    pending: Vec<Pending<'t>>,
    result: Ty,
    /// For each loop around: whether a `break` leaves it.
    loops: Vec<bool>,
    /// What follows is not reached.
    diverges: bool,
    nesting: usize,
}

/// Types a body. `params` are locals of known type; `result` is what it must give, if that is known.
pub(super) fn infer(
    scope: &Scope<'_>,
    code: &Code,
    params: &[(LocalId, Type)],
    result: Option<&Type>,
    span: Span,
) -> Result<Typed, KernelError> {
    let mut types = Types::default();
    let result_ty = match result {
        Some(t) => types.import(t),
        None => types.any(),
    };
    let locals = code.locals.iter().map(|_| types.any()).collect();
    let mut this = Infer {
        scope,
        types,
        locals,
        assigned: vec![false; code.locals.len()],
        exprs: Vec::new(),
        pending: Vec::new(),
        result: result_ty,
        loops: Vec::new(),
        diverges: false,
        nesting: 0,
    };
    for (local, ty) in params {
        let have = this.local(span, *local)?;
        let want = this.types.import(ty);
        this.same(span, have, want, || "give a parameter its type".into())?;
    }
    let given = this.block(&code.body)?;
    let end = code.body.value.as_ref().map_or(span, |v| v.span);
    this.gives(end, given)?;
    this.settle()?;
    this.finish(code, span)
}

impl<'t> Infer<'t, '_> {
    fn finish(mut self, code: &Code, span: Span) -> Result<Typed, KernelError> {
        let mut locals = Vec::with_capacity(self.locals.len());
        for (local, ty) in self.locals.iter().zip(&code.locals).map(|(t, l)| (l, *t)) {
            let done = self.types.finish(ty);
            locals.push(done.ok_or_else(|| too_large(self.scope, local.span))?);
        }
        let mut exprs = HashMap::with_capacity(self.exprs.len());
        for (e, ty) in &self.exprs {
            let done = self.types.finish(*ty).ok_or_else(|| too_large(self.scope, e.span))?;
            exprs.insert(std::ptr::from_ref(*e), done);
        }
        let result = self.types.finish(self.result).ok_or_else(|| too_large(self.scope, span))?;
        Ok(Typed { locals, exprs, result, assigned: self.assigned })
    }

    fn deeper(&mut self, span: Span) -> Result<(), KernelError> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(self.scope.error(
                span,
                "type a kernel",
                format!("expressions nested more than {MAX_NESTING} deep"),
                "split them with `let`",
            ));
        }
        Ok(())
    }

    fn same(&mut self, span: Span, a: Ty, b: Ty, tried: impl FnOnce() -> String) -> Result<(), KernelError> {
        if self.types.unify(a, b).is_ok() {
            return Ok(());
        }
        let found = format!("{} and {}", self.types.describe(a), self.types.describe(b));
        Err(self.scope.error(span, tried(), found, "give them one type, with a cast (`x as f64`) where needed"))
    }

    fn local(&self, span: Span, id: LocalId) -> Result<Ty, KernelError> {
        self.locals.get(id as usize).copied().ok_or_else(|| {
            self.scope.damaged(span, format!("local variable {id} where there are {}", self.locals.len()))
        })
    }

    /// What the body gives, at its end or by `return`.
    fn gives(&mut self, span: Span, ty: Ty) -> Result<(), KernelError> {
        let result = self.result;
        if self.types.unify(result, ty).is_ok() {
            return Ok(());
        }
        let (want, have) = (self.types.describe(result), self.types.describe(ty));
        let advice = match (want.as_str(), have.as_str()) {
            ("()", _) => "end the body with `;`, and write arrays by `u[at] = ..`".into(),
            (_, "()") => format!("end the body with a value of type {want}, without `;`"),
            _ => format!("give a value of type {want}"),
        };
        Err(self.scope.error(span, format!("give a result of type {want}"), have, advice))
    }

    // Statements.

    fn block(&mut self, block: &'t Block) -> Result<Ty, KernelError> {
        for stmt in &block.stmts {
            self.deeper(stmt.span)?;
            self.stmt(stmt)?;
            self.nesting -= 1;
        }
        match &block.value {
            Some(value) => self.expr(value),
            None if self.diverges => Ok(self.types.any()),
            None => Ok(self.types.unit()),
        }
    }

    fn unit_block(&mut self, block: &'t Block, span: Span, what: &str) -> Result<(), KernelError> {
        let given = self.block(block)?;
        let unit = self.types.unit();
        let span = block.value.as_ref().map_or(span, |v| v.span);
        self.same(span, given, unit, || format!("end {what} without a value"))
    }

    fn stmt(&mut self, stmt: &'t Stmt) -> Result<(), KernelError> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Let { pattern, ty, init } => self.let_(span, pattern, ty.as_ref(), init.as_ref()),
            StmtKind::Assign { place, op, value } => self.assign(span, place, *op, value),
            StmtKind::Expr(e) => self.expr(e).map(|_| ()),
            StmtKind::For { local, lo, hi, inclusive: _, body } => {
                let var = self.types.unknown(Unknown::Int);
                for bound in [lo, hi] {
                    let ty = self.expr(bound)?;
                    self.same(bound.span, var, ty, || "give the bounds of `for` one integer type".into())?;
                }
                let local = self.local(span, *local)?;
                self.same(span, local, var, || "give the loop variable the type of its bounds".into())?;
                let before = self.diverges;
                self.loops.push(false);
                self.unit_block(body, span, "a loop's body")?;
                self.loops.pop();
                self.diverges = before;
                Ok(())
            }
            StmtKind::While { cond, body } => {
                self.condition(cond)?;
                let before = self.diverges;
                self.loops.push(false);
                self.unit_block(body, span, "a loop's body")?;
                let left = self.loops.pop().unwrap_or(false);
                self.diverges = before || (matches!(cond.kind, ExprKind::Bool(true)) && !left);
                Ok(())
            }
            StmtKind::Break | StmtKind::Continue => {
                let leaves = matches!(stmt.kind, StmtKind::Break);
                match self.loops.last_mut() {
                    Some(left) => *left |= leaves,
                    None => return Err(self.scope.damaged(span, "`break` or `continue` outside a loop")),
                }
                self.diverges = true;
                Ok(())
            }
            StmtKind::Return(value) => {
                let ty = match value {
                    Some(v) => self.expr(v)?,
                    None => self.types.unit(),
                };
                self.gives(span, ty)?;
                self.diverges = true;
                Ok(())
            }
        }
    }

    fn let_(
        &mut self,
        span: Span,
        pattern: &'t Pattern,
        ty: Option<&'t TypeTree>,
        init: Option<&'t Expr>,
    ) -> Result<(), KernelError> {
        let bound = self.pattern(span, pattern)?;
        if let Some(tree) = ty {
            let written = self.written(span, tree)?;
            self.same(span, bound, written, || "give a variable its written type".into())?;
        }
        if let Some(init) = init {
            let given = self.expr(init)?;
            self.same(init.span, bound, given, || "give a variable its value".into())?;
        }
        Ok(())
    }

    fn pattern(&mut self, span: Span, pattern: &'t Pattern) -> Result<Ty, KernelError> {
        self.deeper(span)?;
        let ty = match pattern {
            Pattern::Local(id) => self.local(span, *id)?,
            Pattern::Ignore => self.types.any(),
            Pattern::Tuple(parts) => {
                let parts = parts.iter().map(|p| self.pattern(span, p)).collect::<Result<_, _>>()?;
                self.types.tuple(parts)
            }
            Pattern::Array(parts) => {
                let entry = self.types.any();
                for part in parts {
                    let ty = self.pattern(span, part)?;
                    self.same(span, entry, ty, || "take an array apart".into())?;
                }
                self.types.array(entry, parts.len())
            }
        };
        self.nesting -= 1;
        Ok(ty)
    }

    fn written(&mut self, span: Span, tree: &TypeTree) -> Result<Ty, KernelError> {
        self.deeper(span)?;
        let ty = match tree {
            TypeTree::Scalar(s) => self.types.scalar(*s),
            TypeTree::Array(t, n) => {
                let entry = self.written(span, t)?;
                self.types.array(entry, *n)
            }
            TypeTree::Tuple(ts) => {
                let parts = ts.iter().map(|t| self.written(span, t)).collect::<Result<_, _>>()?;
                self.types.tuple(parts)
            }
            TypeTree::Struct(n) => {
                let ty = Type::of_element(self.scope.structure(span, *n)?);
                self.types.import(&ty)
            }
            TypeTree::Infer => self.types.any(),
        };
        self.nesting -= 1;
        Ok(ty)
    }

    fn assign(
        &mut self,
        span: Span,
        place: &'t Place,
        op: Option<BinaryOp>,
        value: &'t Expr,
    ) -> Result<(), KernelError> {
        let place = match place {
            Place::Local { local, path } => {
                let mut ty = self.local(span, *local)?;
                self.assigned[*local as usize] = true;
                for step in path {
                    ty = self.project(span, ty, step)?;
                }
                ty
            }
            Place::Element { arg, index, path } => {
                let bound = self.scope.arg(span, *arg)?;
                if bound.access != Access::Write {
                    let (what, advice) = match bound.access {
                        Access::All => ("`all(..)`, which is read only", "pass the array written as `&mut`"),
                        Access::Table => ("`table(..)`, which is read only", "write to an array passed as `&mut`"),
                        _ => ("`&`, which is read only", "pass it as `&mut`"),
                    };
                    let name = &bound.name;
                    return Err(self.scope.error(
                        span,
                        format!("write to `{name}`"),
                        format!("that it was passed as {what}"),
                        advice,
                    ));
                }
                self.element(span, *arg, index, path)?
            }
        };
        let given = self.expr(value)?;
        match op {
            None => self.same(value.span, place, given, || "assign a value".into()),
            Some(BinaryOp::Shl | BinaryOp::Shr) => self.integer(value, given),
            Some(op) => self.same(value.span, place, given, || format!("assign by `{}=`", op.symbol())),
        }
    }

    // Expressions.

    fn expr(&mut self, e: &'t Expr) -> Result<Ty, KernelError> {
        self.deeper(e.span)?;
        let ty = self.kind(e)?;
        self.nesting -= 1;
        self.exprs.push((e, ty));
        Ok(ty)
    }

    fn kind(&mut self, e: &'t Expr) -> Result<Ty, KernelError> {
        let span = e.span;
        match &e.kind {
            ExprKind::Int(_, Some(s)) | ExprKind::Float(_, Some(s)) => self.literal(e, *s),
            ExprKind::Int(_, None) => Ok(self.types.unknown(Unknown::Int)),
            ExprKind::Float(_, None) => Ok(self.types.unknown(Unknown::Float)),
            ExprKind::Bool(_) => Ok(self.types.scalar(ScalarType::Bool)),
            ExprKind::Local(id) => self.local(span, *id),
            ExprKind::Capture(n) => {
                let ty = &self.scope.capture(span, *n)?.ty;
                Ok(self.types.import(ty))
            }
            ExprKind::At => match self.scope.rank {
                Some(rank) => Ok(self.types.point(rank)),
                None => Err(self.scope.damaged(span, "the cell in a function")),
            },
            ExprKind::Load { arg, index, path } => self.element(span, *arg, index, path),
            ExprKind::Unary(_, x) => self.expr(x),
            ExprKind::Binary(op, a, b) => self.binary(span, *op, a, b),
            ExprKind::Shift { minus: _, point, offset } => self.shift(span, point, offset),
            ExprKind::Compare(_, a, b) => {
                self.pair(span, a, b, || "compare two values".into())?;
                Ok(self.types.scalar(ScalarType::Bool))
            }
            ExprKind::And(a, b) | ExprKind::Or(a, b) => self.lazy(a, b),
            ExprKind::Cast(x, tree) => self.cast(span, x, tree),
            ExprKind::If { cond, then, otherwise } => self.branch(span, cond, then, otherwise.as_ref()),
            ExprKind::Block(block) => self.block(block),
            ExprKind::Method(method, args) => self.method(span, *method, args),
            ExprKind::Call(n, args) => self.call(span, *n, args),
            ExprKind::Tuple(parts) => {
                let parts = parts.iter().map(|p| self.expr(p)).collect::<Result<_, _>>()?;
                Ok(self.types.tuple(parts))
            }
            ExprKind::Array(parts) => {
                let entry = self.types.any();
                for part in parts {
                    let ty = self.expr(part)?;
                    self.same(part.span, entry, ty, || "make an array".into())?;
                }
                Ok(self.types.array(entry, parts.len()))
            }
            ExprKind::Repeat(x, n) => {
                let entry = self.expr(x)?;
                Ok(self.types.array(entry, *n))
            }
            ExprKind::Struct(n, fields) => self.structure(span, *n, fields),
            ExprKind::Project(whole, step) => {
                let ty = self.expr(whole)?;
                self.project(span, ty, step)
            }
        }
    }

    fn literal(&mut self, e: &Expr, s: ScalarType) -> Result<Ty, KernelError> {
        let float = matches!(e.kind, ExprKind::Float(..));
        if s == ScalarType::Bool || float && !s.is_float() {
            return Err(self.scope.damaged(e.span, format!("a number with the suffix {}", s.name())));
        }
        Ok(self.types.scalar(s))
    }

    fn pair(
        &mut self,
        span: Span,
        a: &'t Expr,
        b: &'t Expr,
        tried: impl FnOnce() -> String,
    ) -> Result<Ty, KernelError> {
        let a = self.expr(a)?;
        let b = self.expr(b)?;
        self.same(span, a, b, tried)?;
        Ok(a)
    }

    fn binary(&mut self, span: Span, op: BinaryOp, a: &'t Expr, b: &'t Expr) -> Result<Ty, KernelError> {
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            let left = self.expr(a)?;
            let right = self.expr(b)?;
            self.integer(b, right)?;
            return Ok(left);
        }
        self.pair(span, a, b, || format!("give both sides of `{}` one type", op.symbol()))
    }

    fn integer(&mut self, e: &Expr, ty: Ty) -> Result<(), KernelError> {
        let int = self.types.unknown(Unknown::Int);
        self.same(e.span, ty, int, || "shift by an integer".into())
    }

    fn shift(&mut self, span: Span, point: &'t Expr, offset: &'t Expr) -> Result<Ty, KernelError> {
        let point = self.pair(span, point, offset, || "move a point".into())?;
        let axis = self.types.scalar(ScalarType::I64);
        self.later(Pending { span, whole: point, step: Step::Axis, part: axis })?;
        Ok(point)
    }

    fn condition(&mut self, cond: &'t Expr) -> Result<(), KernelError> {
        let ty = self.expr(cond)?;
        let want = self.types.scalar(ScalarType::Bool);
        self.same(cond.span, ty, want, || "decide by a condition".into())
    }

    fn lazy(&mut self, a: &'t Expr, b: &'t Expr) -> Result<Ty, KernelError> {
        self.condition(a)?;
        let before = self.diverges;
        self.condition(b)?;
        self.diverges = before;
        Ok(self.types.scalar(ScalarType::Bool))
    }

    fn cast(&mut self, span: Span, x: &'t Expr, tree: &TypeTree) -> Result<Ty, KernelError> {
        let to = self.written(span, tree)?;
        let from = self.expr(x)?;
        // As rustc does, a literal takes the type it is cast to where it can: `0.1 as f32` is rounded once.
        let mut inner = x;
        while let ExprKind::Unary(UnaryOp::Neg, negated) = &inner.kind {
            inner = negated;
        }
        if matches!(inner.kind, ExprKind::Int(_, None) | ExprKind::Float(_, None)) {
            let _ = self.types.unify(from, to);
        }
        Ok(to)
    }

    fn branch(
        &mut self,
        span: Span,
        cond: &'t Expr,
        then: &'t Block,
        otherwise: Option<&'t Block>,
    ) -> Result<Ty, KernelError> {
        self.condition(cond)?;
        let before = self.diverges;
        let then_ty = self.block(then)?;
        let then_diverges = std::mem::replace(&mut self.diverges, before);
        let (else_ty, else_diverges) = match otherwise {
            Some(block) => {
                let ty = self.block(block)?;
                (ty, std::mem::replace(&mut self.diverges, before))
            }
            None => (self.types.unit(), before),
        };
        self.diverges = then_diverges && else_diverges;
        self.same(span, then_ty, else_ty, || "give both branches of `if` one type".into())?;
        Ok(then_ty)
    }

    fn method(&mut self, span: Span, method: Method, args: &'t [Expr]) -> Result<Ty, KernelError> {
        let name = method.name();
        let Some((receiver, rest)) = args.split_first() else {
            return Err(self.scope.damaged(span, format!("`{name}` without a receiver")));
        };
        if rest.len() != method.args() {
            return Err(self.scope.damaged(span, format!("`{name}` with {} arguments", rest.len())));
        }
        let ty = self.expr(receiver)?;
        let arg_ty = match method.class() {
            MethodClass::FloatInt => self.types.scalar(ScalarType::I32),
            MethodClass::IntU32 => self.types.scalar(ScalarType::U32),
            _ => ty,
        };
        for arg in rest {
            let given = self.expr(arg)?;
            self.same(arg.span, given, arg_ty, || format!("give `{name}` an argument"))?;
        }
        Ok(match method.class() {
            MethodClass::FloatTest => self.types.scalar(ScalarType::Bool),
            MethodClass::IntCount => self.types.scalar(ScalarType::U32),
            _ => ty,
        })
    }

    fn call(&mut self, span: Span, number: u32, args: &'t [Expr]) -> Result<Ty, KernelError> {
        let scope = self.scope;
        let callee = scope.function(span, number)?;
        if callee.params.len() != args.len() {
            return Err(scope.damaged(
                span,
                format!("a call of `{}` with {} arguments for {}", callee.name, args.len(), callee.params.len()),
            ));
        }
        for (arg, param) in args.iter().zip(&callee.params) {
            let given = self.expr(arg)?;
            let want = self.types.import(param);
            self.same(arg.span, given, want, || format!("give `{}` an argument", callee.name))?;
        }
        Ok(self.types.import(&callee.result))
    }

    fn structure(&mut self, span: Span, number: u32, given: &'t [(String, Expr)]) -> Result<Ty, KernelError> {
        let element = self.scope.structure(span, number)?;
        let ElementType::Struct { name, fields } = element else {
            return Err(self.scope.damaged(span, format!("a literal of the struct {element}, which is none")));
        };
        for (n, (field, value)) in given.iter().enumerate() {
            let Some((_, want)) = fields.iter().find(|(f, _)| f == field) else {
                return Err(self.scope.bad_part(value.span, field, element));
            };
            if given[..n].iter().any(|(f, _)| f == field) {
                return Err(self.scope.damaged(value.span, format!("the field `{field}` twice")));
            }
            let ty = self.expr(value)?;
            let want = self.types.import(&Type::of_element(want));
            self.same(value.span, ty, want, || format!("give the field `{field}` of {name} its value"))?;
        }
        if given.len() != fields.len() {
            return Err(self.scope.error(
                span,
                format!("make a {name}"),
                format!("{} of its {} fields", given.len(), fields.len()),
                "name every field once",
            ));
        }
        Ok(self.types.import(&Type::of_element(element)))
    }

    /// The type of a cell of an argument, or of a part of it.
    fn element(&mut self, span: Span, number: u32, index: &'t Expr, path: &'t [Projection]) -> Result<Ty, KernelError> {
        let arg = self.scope.arg(span, number)?;
        let name = &arg.name;
        let given = self.expr(index)?;
        if arg.access == Access::Table {
            let want = self.types.scalar(ScalarType::U64);
            self.same(index.span, given, want, || format!("index the table `{name}` by a usize"))?;
        } else {
            if let Shape::Array(_, axes) = self.types.shape(given)
                && axes != arg.rank
            {
                return Err(self.scope.error(
                    index.span,
                    format!("index `{name}`"),
                    format!("a point of {axes} axes where the array has {}", arg.rank),
                    "give one coordinate for each axis of the array",
                ));
            }
            let want = self.types.point(arg.rank);
            self.same(index.span, given, want, || format!("index `{name}` by a point"))?;
        }
        let mut ty = self.types.import(&Type::of_element(&arg.element));
        for step in path {
            ty = self.project(span, ty, step)?;
        }
        Ok(ty)
    }

    // Parts of values.

    fn project(&mut self, span: Span, whole: Ty, step: &'t Projection) -> Result<Ty, KernelError> {
        if let Projection::Index(index) = step {
            let given = self.expr(index)?;
            let want = self.types.scalar(ScalarType::U64);
            self.same(index.span, given, want, || "index a fixed-size array by a usize".into())?;
        }
        let part = self.types.any();
        self.later(Pending { span, whole, step: Step::Projection(step), part })?;
        Ok(part)
    }

    /// Finds the part, or remembers to.
    fn later(&mut self, pending: Pending<'t>) -> Result<(), KernelError> {
        if !self.try_part(&pending)? {
            self.pending.push(pending);
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), KernelError> {
        loop {
            let waiting = std::mem::take(&mut self.pending);
            let before = waiting.len();
            for pending in waiting {
                self.later(pending)?;
            }
            if self.pending.is_empty() {
                return Ok(());
            }
            if self.pending.len() == before {
                let span = self.pending[0].span;
                return Err(self.scope.error(
                    span,
                    "take a part of a value",
                    "that its type is not known",
                    "write the type where the variable is declared",
                ));
            }
        }
    }

    fn try_part(&mut self, p: &Pending<'t>) -> Result<bool, KernelError> {
        let found = match (self.types.shape(p.whole), &p.step) {
            (Shape::Unknown(Unknown::Any), _) => return Ok(false),
            (Shape::Array(entry, _), Step::Axis | Step::Projection(Projection::Index(_))) => Some(entry),
            (Shape::Tuple(parts), Step::Projection(Projection::Tuple(n))) => parts.get(*n as usize).copied(),
            (Shape::Struct(_, fields), Step::Projection(Projection::Field(name))) => {
                fields.iter().find(|(f, _)| f == name).map(|(_, t)| *t)
            }
            _ => None,
        };
        match (found, &p.step) {
            (Some(found), _) => self.same(p.span, found, p.part, || "take a part of a value".into())?,
            (None, Step::Axis) => {
                let found = format!("a value of type {}", self.types.describe(p.whole));
                return Err(self.scope.error(p.span, "move a point", found, "add a point to a point"));
            }
            (None, Step::Projection(step)) => {
                let part = match step {
                    Projection::Field(name) => format!(".{name}"),
                    Projection::Tuple(n) => format!(".{n}"),
                    Projection::Index(_) => "[..]".into(),
                };
                return Err(self.scope.bad_part(p.span, &part, &self.types.describe(p.whole)));
            }
        }
        Ok(true)
    }
}

fn too_large(scope: &Scope<'_>, span: Span) -> KernelError {
    scope.error(
        span,
        "type a kernel",
        format!("a value whose type has no end or more than {} parts", super::types::MAX_TYPE_SIZE),
        "use smaller arrays and tuples",
    )
}
