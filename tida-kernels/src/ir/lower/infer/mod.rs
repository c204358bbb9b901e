//! Inference: a type for each local and each expression.
//!
//! rustc has typed the native form of the same body, so this only has to agree with it: unification, where operators
//! and methods are functions of one type parameter (`fn add<T: Number>(a: T, b: T) -> T`).

mod expr;
mod parts;
mod room;
mod stmt;

use std::collections::{HashMap, HashSet};

use super::scope::Scope;
use super::types::{Ty, Types};
use crate::element::ScalarType;
use crate::error::KernelError;
use crate::ir::{Span, Type};
use crate::quote::{BinaryOp, Code, Expr, LocalId, Projection};

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
    /// Types of the numbers that had none, in the order of [`Code::numbers`].
    pub numbers: Vec<ScalarType>,
    /// What the body keeps of values for the cell that runs.
    pub bytes: u64,
}

impl Typed {
    pub fn of(&self, e: &Expr) -> Type {
        self.exprs.get(&std::ptr::from_ref(e)).cloned().unwrap_or_else(Type::unit)
    }
}

/// A part whose whole is not known yet, or an operator whose sides are not.
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
    /// An operator with this on its right; the whole is on its left, the part is the result.
    Operator(BinaryOp, Ty),
}

struct Infer<'t, 's> {
    scope: &'s Scope<'s>,
    types: Types,
    locals: Vec<Ty>,
    assigned: Vec<bool>,
    exprs: Vec<(&'t Expr, Ty)>,
    /// Numbers whose types are inferred, as they are met.
    numbers: Vec<(u32, Ty)>,
    /// Whether each has a number of its own. (Trees made by hand count none.)
    counts: bool,
    /// Expressions whose value is made where a local is.
    placed: HashSet<*const Expr>,
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
        numbers: Vec::new(),
        counts: code.numbers > 0,
        placed: HashSet::new(),
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
        let numbers = self.numbers(code, span)?;
        let mut typed = Typed { locals, exprs, result, assigned: self.assigned, numbers, bytes: 0 };
        typed.bytes = room::needed(self.scope, code, &typed, &self.exprs, &self.placed, span)?;
        Ok(typed)
    }

    /// What the numbers were taken for. (Trees made by hand count none.)
    fn numbers(&mut self, code: &Code, span: Span) -> Result<Vec<ScalarType>, KernelError> {
        let mut found = std::mem::take(&mut self.numbers);
        if code.numbers == 0 {
            return Ok(Vec::new());
        }
        found.sort_by_key(|(number, _)| *number);
        let wanted = 0..code.numbers;
        let types = found.iter().map(|(_, ty)| self.types.finish(*ty)?.scalar()).collect::<Option<Vec<_>>>();
        types
            .filter(|types| types.len() == wanted.len() && found.iter().map(|(number, _)| *number).eq(wanted))
            .ok_or_else(|| self.scope.damaged(span, "numbers that are not those it counts"))
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
}

fn too_large(scope: &Scope<'_>, span: Span) -> KernelError {
    scope.error(
        span,
        "type a kernel",
        format!("a value whose type has no end or more than {} parts", super::types::MAX_TYPE_SIZE),
        "use smaller arrays and tuples",
    )
}
