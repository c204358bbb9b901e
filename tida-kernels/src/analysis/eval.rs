//! Symbolic values of expressions.

use super::choice::{Choice, shift};
use super::pairs::{Pair, pair_of};
use super::range::Known;
use super::symbolic::{Affine, Val, int_type};
use super::walk::{State, Walker};
use super::written::Dynamic;
use super::{ArrayAccess, Fit, IndexForm, Interval, NormalForm, Precalculability, Symbol, Why};
use crate::element::ScalarType;
use crate::ir::{BinaryOp, Component, Expr, ExprId, ExprKind, Method, Span, Type, UnaryOp};
use crate::scalar::Value;

/// The forms of an access.
pub(super) struct Place {
    pub index: Vec<IndexForm>,
    pub fits: Vec<Fit>,
    /// Run-time entries of the component, if in normal form and within their arrays.
    pub dynamic: Option<Dynamic>,
}

impl Place {
    /// Exactly the cell `at` of a kernel of this rank.
    pub fn is_at(&self, rank: usize) -> bool {
        self.fits.is_empty() && super::query::is_cell(&self.index, rank)
    }
}

/// A read or a write, in the state before it.
pub(super) enum Used<'a> {
    Read(&'a State, ExprId),
    Write(&'a mut State),
}

impl Used<'_> {
    fn partial(&self) -> bool {
        match self {
            Used::Read(state, _) => state.partial,
            Used::Write(state) => state.partial,
        }
    }
}

/// Something on the evaluation stack.
struct Task {
    id: ExprId,
    conditional: bool,
    leave: bool,
}

impl Walker<'_> {
    /// Evaluates an expression and records its loads. Uses a stack of its own: expressions can be deep, and those that
    /// are not well formed can have cycles.
    pub fn eval(&mut self, root: ExprId, state: &State) -> Val {
        let mut stack = vec![Task { id: root, conditional: false, leave: false }];
        let mut open = std::collections::HashSet::new();
        let mut children = Vec::new();
        let body = self.body;
        while let Some(Task { id, conditional, leave }) = stack.pop() {
            if leave {
                open.remove(&id);
                let value = match body.exprs.get(id.0 as usize) {
                    Some(expr) => self.value(id, expr, state, conditional),
                    None => Val::Opaque(Why::Operator),
                };
                self.memo.insert(id, value);
                continue;
            }
            if self.memo.contains_key(&id) {
                continue;
            }
            let Some(expr) = body.exprs.get(id.0 as usize) else {
                self.out.complete = false;
                self.memo.insert(id, Val::Opaque(Why::Operator));
                continue;
            };
            if !open.insert(id) {
                self.out.complete = false;
                continue;
            }
            stack.push(Task { id, conditional, leave: true });
            children.clear();
            expr.kind.operands(|id| children.push(id));
            let lazy = matches!(expr.kind, ExprKind::And(..) | ExprKind::Or(..));
            for (n, &child) in children.iter().enumerate().rev() {
                stack.push(Task { id: child, conditional: conditional || (lazy && n > 0), leave: false });
            }
        }
        self.known_value(root)
    }

    /// The value of an expression evaluated in this statement.
    pub fn known_value(&self, id: ExprId) -> Val {
        self.memo.get(&id).cloned().unwrap_or(Val::Opaque(Why::Operator))
    }

    /// The type of an expression, if it is an integer.
    pub fn int_of(&self, id: ExprId) -> Option<ScalarType> {
        self.body.exprs.get(id.0 as usize).and_then(|e| e.ty.scalar()).filter(|t| t.is_int())
    }

    /// What constants alone say about symbols.
    pub fn constants(&self) -> Known<'_> {
        Known {
            at: None,
            captures: &[],
            entries_from: self.kernel.captures.len(),
            choices: &self.out.choices,
            phases: &self.out.phases,
            loops: &self.loop_values,
        }
    }

    fn value(&mut self, id: ExprId, expr: &Expr, state: &State, conditional: bool) -> Val {
        let int = expr.ty.scalar().filter(|t| t.is_int());
        match &expr.kind {
            ExprKind::Literal(value) => match (int, value.integer()) {
                // Modulo two to the width of its type.
                (Some(ty), Some(n)) if ty == value.ty() => Val::constant(n as i64),
                _ => Val::Opaque(Why::Operator),
            },
            ExprKind::Capture(n) => match self.kernel.captures.get(*n as usize) {
                Some(capture) if capture.ty != expr.ty || self.in_function => Val::Opaque(Why::Operator),
                Some(_) if int.is_some() => Val::symbol(Symbol::Capture(*n)),
                Some(capture) if is_array_of_ints(&capture.ty) => Val::Entries(*n, Some(0)),
                Some(_) => Val::Opaque(Why::Operator),
                None => Val::Opaque(Why::Operator),
            },
            ExprKind::Coordinate(axis) => {
                let exists = (*axis as usize) < self.kernel.rank && !self.in_function;
                if exists && int == Some(ScalarType::I64) { self.coordinate(*axis) } else { Val::Opaque(Why::Operator) }
            }
            ExprKind::Local(n) => {
                let declared = self.body.locals.get(*n as usize);
                match state.locals.get(*n as usize) {
                    Some(value) if declared.is_some_and(|l| l.ty == expr.ty) => value.clone(),
                    _ => Val::Opaque(Why::Operator),
                }
            }
            ExprKind::Load { arg, index, component } => {
                let place = self.place(*arg, index, component);
                self.record(*arg, place, component, expr.span, Used::Read(state, id), conditional);
                Val::Opaque(Why::Indirect)
            }
            ExprKind::Unary(op, a) => match (op, int, self.int_of(*a)) {
                (UnaryOp::Neg, Some(ty), Some(of)) if ty == of => self.linear(BinaryOp::Mul, *a, None, ty),
                _ => self.opaque(&[*a]),
            },
            ExprKind::Binary(op, a, b) => self.binary(*op, *a, *b, int),
            ExprKind::Compare(_, a, b) | ExprKind::And(a, b) | ExprKind::Or(a, b) => self.opaque(&[*a, *b]),
            ExprKind::Cast(a) => match (int, self.int_of(*a), self.known_value(*a)) {
                (Some(to), Some(from), Val::Affine(a)) => Val::or_opaque(self.cast(a, from, to)),
                (Some(to), _, Val::Opaque(_)) => self.of_few(*a, to).unwrap_or_else(|| self.opaque(&[*a])),
                _ => self.opaque(&[*a]),
            },
            ExprKind::Decode(_, a) => self.opaque(&[*a]),
            ExprKind::Encode { value, counted, .. } => {
                self.out.counts |= counted.is_some();
                self.opaque(&[*value])
            }
            ExprKind::Method(method, args) => self.method(*method, args, int),
            ExprKind::Call(n, args) => {
                self.called.push(*n);
                self.opaque(args)
            }
            ExprKind::Construct(parts) => Val::parts(parts.iter().map(|p| self.known_value(*p)).collect()),
            ExprKind::Part(a, n) => match self.known_value(*a) {
                Val::Entries(capture, before) => self.entry_of_capture(capture, before, Some(*n), &expr.ty),
                whole => whole.part(*n),
            },
            ExprKind::Entry(array, index) => self.entry(*array, *index, &expr.ty),
        }
    }

    /// A value that is not affine, for the strongest reason its operands give.
    fn opaque(&self, operands: &[ExprId]) -> Val {
        Val::Opaque(operands.iter().fold(Why::Operator, |why, id| self.known_value(*id).why(why)))
    }

    fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId, int: Option<ScalarType>) -> Val {
        let Some(ty) = int.filter(|ty| self.int_of(a) == Some(*ty)) else { return self.opaque(&[a, b]) };
        match op {
            BinaryOp::Shl => match (self.known_value(a), self.known_value(b), self.int_of(b)) {
                (Val::Affine(x), by, Some(of_by)) => {
                    let Some(by) = constant_of(&by) else {
                        let two =
                            pair_of(op, ty).and_then(|pair| self.of_two(pair, [&Val::Affine(x), &by], [ty, of_by]));
                        return two.unwrap_or_else(|| self.opaque(&[a, b]));
                    };
                    let form = shift(by, ty).and_then(|by| x.form.scale(1 << by));
                    Val::or_opaque(form.map(|form| Affine { form: wrap_constant(form, ty), fits: x.fits }))
                }
                _ => self.opaque(&[a, b]),
            },
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul if self.int_of(b) == Some(ty) => {
                self.linear(op, a, Some(b), ty)
            }
            BinaryOp::Div | BinaryOp::Rem => {
                self.divides(b, ty);
                self.divided(op, a, b, ty).unwrap_or_else(|| self.opaque(&[a, b]))
            }
            BinaryOp::Shr | BinaryOp::BitAnd => self.divided(op, a, b, ty).unwrap_or_else(|| self.opaque(&[a, b])),
            BinaryOp::BitOr | BinaryOp::BitXor => {
                let (x, y) = (self.known_value(a), self.known_value(b));
                let two =
                    pair_of(op, ty).zip(self.int_of(b)).and_then(|(pair, int)| self.of_two(pair, [&x, &y], [ty, int]));
                two.unwrap_or_else(|| self.opaque(&[a, b]))
            }
            _ => self.opaque(&[a, b]),
        }
    }

    /// Sum, difference or product; without `b` the product with -1.
    fn linear(&mut self, op: BinaryOp, a: ExprId, b: Option<ExprId>, ty: ScalarType) -> Val {
        let right = b.map_or(Val::constant(-1), |b| self.known_value(b));
        let (Val::Affine(x), Val::Affine(y)) = (self.known_value(a), &right) else {
            return Val::Opaque(right.why(self.known_value(a).why(Why::Operator)));
        };
        let form = match op {
            BinaryOp::Add => x.form.add(&y.form),
            BinaryOp::Sub => x.form.sub(&y.form),
            _ => match (x.form.as_constant(), y.form.as_constant()) {
                (_, Some(c)) => x.form.scale(c),
                (Some(c), _) => y.form.scale(c),
                _ => {
                    let x = Val::Affine(x);
                    return self.of_two(Pair::Product, [&x, &right], [ty; 2]).unwrap_or(Val::Opaque(Why::Operator));
                }
            },
        };
        Val::or_opaque(Affine::from_two(form.map(|form| wrap_constant(form, ty)), &x, y))
    }

    /// Notes the fault that a division by `b` can raise.
    fn divides(&mut self, b: ExprId, ty: ScalarType) {
        let by = self.known_value(b);
        if constant_of(&by).is_some_and(|c| c != 0 && (!ty.is_signed_int() || c != -1)) {
            return;
        }
        let needs = match by {
            Val::Affine(by) => self.divisor(by, ty),
            _ => None,
        };
        self.demand(needs);
    }

    fn method(&mut self, method: Method, args: &[ExprId], int: Option<ScalarType>) -> Val {
        self.out.uses_inexact |= !method.is_exact();
        match (method, args, int) {
            (Method::WrappingAdd, &[a, b], _) => self.binary(BinaryOp::Add, a, b, int),
            (Method::WrappingSub, &[a, b], _) => self.binary(BinaryOp::Sub, a, b, int),
            (Method::WrappingMul, &[a, b], _) => self.binary(BinaryOp::Mul, a, b, int),
            (Method::DivEuclid | Method::RemEuclid, &[_, b], Some(ty)) => {
                self.divides(b, ty);
                self.method_value(method, args, ty).unwrap_or_else(|| self.opaque(args))
            }
            (Method::Min | Method::Max | Method::Clamp, _, Some(ty)) => {
                self.method_value(method, args, ty).unwrap_or_else(|| self.opaque(args))
            }
            (Method::DivEuclid | Method::RemEuclid, _, Some(_)) => {
                self.demand(None);
                self.opaque(args)
            }
            _ => self.opaque(args),
        }
    }

    /// A cast between integers. Where it widens, the form has to be exact.
    fn cast(&self, a: Affine, from: ScalarType, to: ScalarType) -> Option<Affine> {
        let ((width, ..), (to_width, ..)) = (int_type(from)?, int_type(to)?);
        let exact = if to_width > width { self.require(&a.form, from) } else { None };
        let a = Affine { form: wrap_constant(a.form, to), fits: a.fits };
        a.with_fits(exact.as_slice())
    }

    /// A cast of a value that is no form, if its type has few numbers: of `u8` they are 0 to 255.
    fn of_few(&mut self, id: ExprId, to: ScalarType) -> Option<Val> {
        let from = self.body.exprs.get(id.0 as usize)?.ty.scalar()?;
        let (width, (to_width, ..)) = (8 * from.size(), int_type(to)?);
        let value = self.known_value(id);
        match from {
            ScalarType::Bool => Some(self.told_within(value, Interval { lo: 0, hi: 1 })),
            _ if from.is_int() && width <= 16 && width < to_width as usize => Some(self.told(value, from)),
            _ => None,
        }
    }

    /// The condition that `form` is a value of `ty`; `None` if constants show it.
    pub fn require(&self, form: &NormalForm, ty: ScalarType) -> Option<Fit> {
        let fit = Fit { form: form.clone(), ty };
        (!self.constants().fit(std::slice::from_ref(&fit))).then_some(fit)
    }

    /// The value as one of 64 bits.
    pub fn widened(&self, id: ExprId) -> Result<Affine, Why> {
        let value = self.known_value(id);
        match (&value, self.int_of(id)) {
            (Val::Affine(a), Some(ty)) => {
                let to = if ty == ScalarType::U64 { ty } else { ScalarType::I64 };
                self.cast(a.clone(), ty, to).ok_or(Why::Operator)
            }
            _ => Err(value.why(Why::Operator)),
        }
    }

    /// The value of an index into `len` entries, if constants show that it is below `len`.
    pub fn entry_index(&mut self, index: ExprId, len: usize) -> Option<(NormalForm, Interval)> {
        let len = i64::try_from(len).unwrap_or(0);
        let index = self.widened(index).ok();
        let found = index.as_ref().filter(|a| a.fits.is_empty()).and_then(|a| {
            let values = self.constants().form(&a.form)?;
            (0 <= values.lo && values.hi < len && !values.is_empty()).then(|| (a.form.clone(), values))
        });
        if found.is_none() {
            let needs = index.map(|index| self.below(index, len));
            self.demand(needs);
        }
        found
    }

    /// An entry of a captured array of integers, which has so many integers `before` it: an array again, this number of
    /// it, or some number of it if an index that is no constant chose one.
    fn entry_of_capture(&mut self, capture: u32, before: Option<u32>, entry: Option<u32>, ty: &Type) -> Val {
        let size = u32::try_from(ty.components()).ok();
        let before = before.zip(entry).and_then(|(before, n)| before.checked_add(n.checked_mul(size?)?));
        match (ty, before) {
            (Type::Array(..), before) => Val::Entries(capture, before),
            (_, Some(place)) => {
                let known = self.out.entries.iter().position(|entry| *entry == (capture, place));
                let number = known.unwrap_or_else(|| {
                    self.out.entries.push((capture, place));
                    self.out.entries.len() - 1
                });
                Val::Affine(Affine::new(self.choice(Choice::EntryAt(capture, number as u32))))
            }
            (_, None) => Val::Affine(Affine::new(self.choice(Choice::Entry(capture)))),
        }
    }

    fn entry(&mut self, array: ExprId, index: ExprId, ty: &Type) -> Val {
        let value = self.known_value(array);
        let len = match (&value, self.body.exprs.get(array.0 as usize).map(|e| &e.ty)) {
            (Val::Parts(parts, _), _) => parts.len(),
            (_, Some(Type::Array(_, n))) => *n,
            _ => 0,
        };
        let found = self.entry_index(index, len);
        let why = self.known_value(index).why(value.why(Why::Operator));
        match (&value, found) {
            (Val::Parts(parts, _), Some((_, i))) => match parts.get(i.lo as usize..=i.hi as usize) {
                Some(entries) => self.choose(&entries.iter().collect::<Vec<_>>(), why),
                None => Val::Opaque(why),
            },
            (Val::Entries(capture, before), Some((_, values))) => {
                let entry = values.as_point().and_then(|n| u32::try_from(n).ok());
                self.entry_of_capture(*capture, *before, entry, ty)
            }
            _ => Val::Opaque(why),
        }
    }

    /// One of several values: the only one, or a symbol with bounds if all are constants.
    fn choose(&mut self, entries: &[&Val], why: Why) -> Val {
        if let Some(first) = entries.first().filter(|first| entries.iter().all(|e| e == *first)) {
            return (*first).clone();
        }
        if let Some(values) = entries.iter().map(|v| constant_of(v)).collect::<Option<Vec<i64>>>() {
            let within = Interval::around(values.into_iter());
            return match within {
                Some(within) => Val::Affine(Affine::new(self.choice(Choice::Within(within)))),
                None => Val::Opaque(why),
            };
        }
        let rows: Option<Vec<&[Val]>> = entries
            .iter()
            .map(|v| match v {
                Val::Parts(parts, _) => Some(&parts[..]),
                _ => None,
            })
            .collect();
        match rows {
            Some(rows) if rows.windows(2).all(|w| w[0].len() == w[1].len()) => {
                let width = rows.first().map_or(0, |r| r.len());
                let column = |n: usize| rows.iter().filter_map(|r| r.get(n)).collect::<Vec<_>>();
                Val::parts((0..width).map(|n| self.choose(&column(n), why)).collect())
            }
            _ => Val::Opaque(why),
        }
    }

    /// The forms of an access; its index expressions have been evaluated.
    pub fn place(&mut self, arg: u32, index: &[ExprId], component: &Component) -> Place {
        let mut fits: Vec<Fit> = Vec::new();
        let mut forms: Vec<IndexForm> = index
            .iter()
            .map(|&id| match self.widened(id) {
                // A cell so far away is none, and numbers of cells are added to these.
                Ok(a) if !a.form.is_near() => IndexForm::Opaque(Why::Operator),
                Ok(a) => {
                    let new: Vec<Fit> = a.fits.into_iter().filter(|f| !fits.contains(f)).collect();
                    fits.extend(new);
                    IndexForm::Affine(a.form)
                }
                Err(why) => IndexForm::Opaque(why),
            })
            .collect();
        if let Some(arg) = self.kernel.args.get(arg as usize)
            && arg.rank != forms.len()
        {
            self.out.complete = false;
            forms.resize(arg.rank.min(8), IndexForm::Opaque(Why::Operator));
        }
        let mut dynamic = Some(Vec::new());
        for &(id, stride, len) in &component.dynamic {
            match (self.entry_index(id, len as usize), &mut dynamic) {
                (Some((form, _)), Some(list)) => list.push((form, stride, len)),
                _ => dynamic = None,
            }
        }
        Place { index: forms, fits, dynamic }
    }

    /// Notes an access.
    pub fn record(
        &mut self,
        arg: u32,
        place: Place,
        component: &Component,
        span: Span,
        used: Used<'_>,
        conditional: bool,
    ) {
        if self.in_function {
            self.out.complete = false;
            return;
        }
        let (n, at) = (arg as usize, place.is_at(self.kernel.rank));
        let precalculable = self.precalculable(&place.index);
        let Some(usage) = self.out.args.get_mut(n) else {
            self.out.complete = false;
            return;
        };
        if let Some(phase) = self.in_phase.and_then(|phase| self.out.phases.get_mut(phase as usize)) {
            phase.accesses.push((arg, usage.accesses.len()));
        }
        usage.accesses.push(ArrayAccess {
            span,
            write: matches!(used, Used::Write(_)),
            expr: match used {
                Used::Read(_, id) => Some(id),
                Used::Write(_) => None,
            },
            component: component.dynamic.is_empty().then_some(component.base),
            index: place.index,
            at_cell: at,
            fits: place.fits,
            loops: self.loop_stack.clone(),
            conditional: conditional || used.partial() || self.conditions > 0,
            precalculable,
        });
        match used {
            Used::Write(state) => {
                usage.may_write = true;
                if let (true, Some(dynamic)) = (at, place.dynamic) {
                    state.written.add(n, component.base, dynamic);
                }
            }
            Used::Read(state, _) => {
                usage.read = true;
                let old = !(at && state.written.has(n, component.base, place.dynamic.as_ref()));
                usage.reads_old |= old;
                usage.reads_own |= old && (at || self.kernel.group.is_some());
            }
        }
    }

    /// What the block index alone decides of forms (Lashgar §7.2; loops by their bounds, as its footnote 4 allows).
    pub fn precalculable(&self, forms: &[IndexForm]) -> Precalculability {
        let mut found = Precalculability::Static;
        for form in forms {
            let form = match form {
                IndexForm::Affine(form) => form,
                IndexForm::Opaque(why) => return Precalculability::No(*why),
            };
            for (symbol, _) in &form.terms {
                let symbol = match symbol {
                    Symbol::At(_) | Symbol::Thread(..) => Precalculability::Static,
                    Symbol::Choice(n) => self.precalculable_choice(*n),
                    Symbol::Capture(_) => Precalculability::QuasiStatic,
                    Symbol::Loop(n) => {
                        self.out.loops.get(*n as usize).map_or(Precalculability::No(Why::Induction), |l| {
                            match l.precalculable {
                                Precalculability::No(_) => Precalculability::No(Why::Induction),
                                other => other,
                            }
                        })
                    }
                };
                match symbol {
                    Precalculability::Static => {}
                    Precalculability::QuasiStatic => found = Precalculability::QuasiStatic,
                    no => return no,
                }
            }
        }
        found
    }
}

/// The number that a value is, whatever happens.
pub(super) fn constant_of(value: &Val) -> Option<i64> {
    match value {
        Val::Affine(a) => a.form.as_constant().filter(|_| a.fits.is_empty()),
        _ => None,
    }
}

/// A constant takes the value that its type has; other forms stay.
fn wrap_constant(form: NormalForm, ty: ScalarType) -> NormalForm {
    match form.as_constant() {
        Some(c) => NormalForm::constant(Value::from_bits(ty, c as u64).integer().map_or(c, |n| n as i64)),
        None => form,
    }
}

/// Whether a type is an array of integers, or of arrays of them.
fn is_array_of_ints(ty: &Type) -> bool {
    match ty {
        Type::Array(entry, _) => entry.scalar().is_some_and(ScalarType::is_int) || is_array_of_ints(entry),
        _ => false,
    }
}
