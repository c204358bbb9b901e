//! Expressions.

use super::Lowering;
use super::complex;
use super::place::Steps;
use super::scope::castable;
use crate::element::{ElementType, ScalarType};
use crate::error::KernelError;
use crate::ir::{Access, ExprId, ExprKind, Span, StmtKind, Type};
use crate::quote::{self, BinaryOp, Block, CompareOp, Expr, Method, MethodClass, UnaryOp};
use crate::scalar::{Value, eval};

/// Parts that a value made entry by entry may have.
pub(super) const MAX_PARTS: usize = 4096;

impl<'a> Lowering<'a> {
    /// The value of `e`; statements it needs go before.
    pub fn expr(&mut self, e: &'a Expr) -> Result<ExprId, KernelError> {
        let span = e.span;
        match &e.kind {
            quote::ExprKind::Int(..) | quote::ExprKind::Float(..) => self.number(e, e.span, false),
            quote::ExprKind::Bool(b) => Ok(self.build.literal(span, Value::Bool(*b))),
            quote::ExprKind::Local(id) => Ok(self.build.push(span, self.typed.of(e), ExprKind::Local(*id))),
            quote::ExprKind::Capture(n) => Ok(self.build.push(span, self.typed.of(e), ExprKind::Capture(*n))),
            quote::ExprKind::At => Ok(self.at(span, self.typed.of(e))),
            quote::ExprKind::Load { arg, index, path } => self.load(span, *arg, index, path.iter().collect()),
            quote::ExprKind::Unary(op, x) => self.unary(e, *op, x),
            quote::ExprKind::Binary(op, a, b) => self.binary(e, *op, a, b),
            quote::ExprKind::Shift { minus, point, offset } => self.shift(e, *minus, point, offset),
            quote::ExprKind::Compare(op, a, b) => self.compare(e, *op, a, b),
            quote::ExprKind::And(a, b) => self.lazy(span, true, a, b),
            quote::ExprKind::Or(a, b) => self.lazy(span, false, a, b),
            quote::ExprKind::Cast(x, _) => self.cast(e, x),
            quote::ExprKind::If { cond, then, otherwise } => self.choice(e, cond, then, otherwise.as_ref()),
            quote::ExprKind::Block(block) => self.block_value(e, block),
            quote::ExprKind::Method(method, args) => self.method(e, *method, args),
            quote::ExprKind::Call(n, args) => self.call(e, *n, args),
            quote::ExprKind::Tuple(parts) | quote::ExprKind::Array(parts) => self.construct(e, parts),
            quote::ExprKind::Repeat(x, n) => self.repeat(e, x, *n),
            quote::ExprKind::Struct(n, fields) => self.structure(e, *n, fields),
            quote::ExprKind::Project(..) => self.project(e),
            quote::ExprKind::Unit(axis) => self.unit(e, axis),
            quote::ExprKind::Constant(n) => self.constant(span, *n),
            quote::ExprKind::Length(array) => match self.typed.of(array) {
                Type::Array(_, len) => Ok(self.build.literal(span, Value::U64(len as u64))),
                other => Err(self.scope.error(
                    span,
                    "count the entries of an array",
                    format!("a value of type {other}"),
                    "loop over a range, `for k in 0..n`, or over a fixed-size array",
                )),
            },
            quote::ExprKind::Invoke(..) => Err(self.scope.damaged(span, "a method that is not known")),
            quote::ExprKind::RepeatOf(..) => Err(self.scope.damaged(span, "a length that is not known")),
        }
    }

    /// The value of a constant.
    fn constant(&mut self, span: Span, number: u32) -> Result<ExprId, KernelError> {
        let scope = self.scope;
        let constant = scope.constant(span, number)?;
        self.check_parts(span, constant.bits.len())?;
        Ok(self.constant_parts(span, &constant.ty, &mut constant.bits.iter()))
    }

    fn constant_parts(&mut self, span: Span, ty: &ElementType, bits: &mut std::slice::Iter<'_, u64>) -> ExprId {
        let parts = match ty {
            ElementType::Scalar(scalar) => {
                let bits = bits.next().copied().unwrap_or_default();
                return self.build.literal(span, Value::from_bits(*scalar, bits));
            }
            ElementType::Array { element, len } => {
                (0..*len).map(|_| self.constant_parts(span, element, bits)).collect()
            }
            ElementType::Struct { fields, .. } => {
                fields.iter().map(|(_, field)| self.constant_parts(span, field, bits)).collect()
            }
        };
        self.build.push(span, Type::of_element(ty), ExprKind::Construct(parts))
    }

    /// Values from left to right: what a later one's statements could change of an earlier one is put into a local.
    pub fn operands(&mut self, exprs: &[&'a Expr]) -> Result<Vec<ExprId>, KernelError> {
        let mut done: Vec<ExprId> = Vec::with_capacity(exprs.len());
        for e in exprs {
            let mark = self.build.mark();
            let value = self.expr(e)?;
            self.build.guard(mark, &mut done);
            done.push(value);
        }
        Ok(done)
    }

    fn pair(&mut self, a: &'a Expr, b: &'a Expr) -> Result<(ExprId, ExprId), KernelError> {
        let mut done = [self.expr(a)?];
        let mark = self.build.mark();
        let right = self.expr(b)?;
        self.build.guard(mark, &mut done);
        Ok((done[0], right))
    }

    fn at(&mut self, span: Span, ty: Type) -> ExprId {
        let rank = self.scope.rank.unwrap_or(0);
        let axes = (0..rank as u32)
            .map(|d| self.build.push(span, Type::Scalar(ScalarType::I64), ExprKind::Coordinate(d)))
            .collect();
        self.build.push(span, ty, ExprKind::Construct(axes))
    }

    /// The value of a literal, with its minus if it has one.
    fn number(&mut self, e: &Expr, span: Span, negative: bool) -> Result<ExprId, KernelError> {
        let none = || self.scope.damaged(e.span, "a number that is not of a number's type");
        let ty = self.typed.of(e).scalar().ok_or_else(none)?;
        let value = match &e.kind {
            quote::ExprKind::Int(n, _) if ty.is_int() => {
                if !ty.has(*n, negative) {
                    let wider = [ScalarType::I64, ScalarType::U64].into_iter().find(|ty| ty.has(*n, negative));
                    let number = format!("{}{n}", if negative { "-" } else { "" });
                    return Err(self.does_not_fit(e.span, &number, ty, ty.range_text(), wider));
                }
                let magnitude = Value::from_bits(ty, *n);
                if negative { eval::unary(UnaryOp::Neg, magnitude) } else { magnitude }
            }
            quote::ExprKind::Int(n, _) => self.float(e, &n.to_string(), ty, negative)?,
            quote::ExprKind::Float(digits, _) => self.float(e, digits, ty, negative)?,
            _ => return Err(none()),
        };
        Ok(self.build.literal(span, value))
    }

    fn float(&self, e: &Expr, digits: &str, ty: ScalarType, negative: bool) -> Result<Value, KernelError> {
        let value = match ty {
            ScalarType::F32 => digits.parse().ok().map(Value::F32),
            ScalarType::F64 => digits.parse().ok().map(Value::F64),
            _ => None,
        };
        match value {
            Some(Value::F32(x)) if x.is_infinite() => {
                let range = format!("numbers up to {:e}", f32::MAX);
                Err(self.does_not_fit(e.span, digits, ty, range, Some(ScalarType::F64)))
            }
            Some(Value::F64(x)) if x.is_infinite() => {
                Err(self.does_not_fit(e.span, digits, ty, format!("numbers up to {:e}", f64::MAX), None))
            }
            Some(value) if negative => Ok(eval::unary(UnaryOp::Neg, value)),
            Some(value) => Ok(value),
            None => Err(self.scope.damaged(e.span, format!("`{digits:.40}`, which is not a float"))),
        }
    }

    fn does_not_fit(
        &self,
        span: Span,
        number: &str,
        ty: ScalarType,
        range: String,
        wider: Option<ScalarType>,
    ) -> KernelError {
        let name = ty.name();
        let advice = match wider {
            Some(wider) => format!("write its type, `{number:.40}{}`, or a number that {name} has", wider.name()),
            None => format!("write a number that {name} has"),
        };
        self.scope.error(
            span,
            format!("take the number {number:.40} for {name}"),
            format!("that {name} has {range}"),
            advice,
        )
    }

    /// The operand's scalar type, if the operation has it.
    fn scalar_for(
        &self,
        span: Span,
        what: &str,
        ty: &Type,
        has: impl Fn(ScalarType) -> bool,
    ) -> Result<ScalarType, KernelError> {
        ty.scalar().filter(|s| has(*s)).ok_or_else(|| {
            let advice = match ty {
                Type::Scalar(_) => "cast to a type that has it, such as `x as f64`",
                _ => "take the value apart and work on its numbers",
            };
            self.scope.error(
                span,
                format!("apply {what}"),
                format!("a value of type {ty}, which does not have it"),
                advice,
            )
        })
    }

    fn unary(&mut self, e: &'a Expr, op: UnaryOp, x: &'a Expr) -> Result<ExprId, KernelError> {
        let ty = self.typed.of(x);
        if op == UnaryOp::Neg && complex::is_complex(&ty) {
            let x = self.expr(x)?;
            return Ok(self.negated(e.span, ty, x));
        }
        match op {
            UnaryOp::Neg => self.scalar_for(e.span, "`-`", &ty, is_number)?,
            UnaryOp::Not => self.scalar_for(e.span, "`!`", &ty, |s| !s.is_float())?,
        };
        if op == UnaryOp::Neg && matches!(x.kind, quote::ExprKind::Int(..) | quote::ExprKind::Float(..)) {
            return self.number(x, e.span, true);
        }
        let x = self.expr(x)?;
        if let (UnaryOp::Neg, ExprKind::Literal(value)) = (op, &self.build.expr(x).kind) {
            let value = eval::unary(op, *value);
            return Ok(self.build.literal(e.span, value));
        }
        Ok(self.build.push(e.span, ty, ExprKind::Unary(op, x)))
    }

    /// Checks the operand type of a binary operator.
    pub fn check_binary(&self, span: Span, op: BinaryOp, left: &Type, right: &Type) -> Result<(), KernelError> {
        let what = format!("`{}`", op.symbol());
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div if complex::is_complex(left) => {}
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => {
                self.scalar_for(span, &what, left, is_number)?;
            }
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
                self.scalar_for(span, &what, left, |s| !s.is_float())?;
            }
            BinaryOp::Shl | BinaryOp::Shr => {
                self.scalar_for(span, &what, left, ScalarType::is_int)?;
                self.scalar_for(span, &what, right, ScalarType::is_int)?;
            }
        }
        Ok(())
    }

    fn binary(&mut self, e: &'a Expr, op: BinaryOp, a: &'a Expr, b: &'a Expr) -> Result<ExprId, KernelError> {
        let (left, right) = (self.typed.of(a), self.typed.of(b));
        // (A real number beside a complex one may be either.)
        let of = if complex::is_complex(&right) { &right } else { &left };
        self.check_binary(e.span, op, of, &right)?;
        let (a, b) = self.pair(a, b)?;
        Ok(self.arithmetic(e.span, self.typed.of(e), op, a, b))
    }

    fn shift(&mut self, e: &'a Expr, minus: bool, point: &'a Expr, offset: &'a Expr) -> Result<ExprId, KernelError> {
        let (point, offset) = self.pair(point, offset)?;
        let (from, by) = (self.build.parts(point), self.build.parts(offset));
        let op = if minus { BinaryOp::Sub } else { BinaryOp::Add };
        let axis = Type::Scalar(ScalarType::I64);
        let moved = from
            .into_iter()
            .zip(by)
            .map(|(a, b)| match self.build.expr(b).kind {
                ExprKind::Literal(Value::I64(0)) => a,
                _ => self.build.push(e.span, axis.clone(), ExprKind::Binary(op, a, b)),
            })
            .collect();
        Ok(self.build.push(e.span, self.typed.of(e), ExprKind::Construct(moved)))
    }

    fn compare(&mut self, e: &'a Expr, op: CompareOp, a: &'a Expr, b: &'a Expr) -> Result<ExprId, KernelError> {
        let ty = self.typed.of(a);
        if complex::is_complex(&ty) && matches!(op, CompareOp::Eq | CompareOp::Ne) {
            let (a, b) = self.pair(a, b)?;
            return Ok(self.complex_equal(e.span, op, a, b));
        }
        self.scalar_for(e.span, "a comparison", &ty, |_| true)?;
        let (a, b) = self.pair(a, b)?;
        Ok(self.build.push(e.span, Type::Scalar(ScalarType::Bool), ExprKind::Compare(op, a, b)))
    }

    fn lazy(&mut self, span: Span, and: bool, a: &'a Expr, b: &'a Expr) -> Result<ExprId, KernelError> {
        let a = self.expr(a)?;
        self.build.open();
        let b = self.expr(b)?;
        let mut steps = self.build.close();
        let bool = Type::Scalar(ScalarType::Bool);
        if steps.is_empty() {
            let kind = if and { ExprKind::And(a, b) } else { ExprKind::Or(a, b) };
            return Ok(self.build.push(span, bool, kind));
        }
        let result = self.build.temporary("lazy", bool.clone());
        self.build.emit(span, StmtKind::Let(result, Some(a)));
        steps.push(crate::ir::Stmt { span, kind: StmtKind::Assign(result, Vec::new(), b) });
        let result = self.build.push(span, bool, ExprKind::Local(result));
        let (then, otherwise) = if and { (steps, Vec::new()) } else { (Vec::new(), steps) };
        self.build.emit(span, StmtKind::If(result, then, otherwise));
        Ok(result)
    }

    fn cast(&mut self, e: &'a Expr, x: &'a Expr) -> Result<ExprId, KernelError> {
        let (from, to) = (self.typed.of(x), self.typed.of(e));
        let both = from.scalar().zip(to.scalar());
        if !both.is_some_and(|(from, to)| castable(from, to)) {
            return Err(self.scope.error(
                e.span,
                format!("cast to {to}"),
                format!("a value of type {from}"),
                "cast numbers to numbers and `bool` to integers; compare with 0 to get a `bool`",
            ));
        }
        let x = self.expr(x)?;
        Ok(if from == to { x } else { self.build.push(e.span, to, ExprKind::Cast(x)) })
    }

    fn choice(
        &mut self,
        e: &'a Expr,
        cond: &'a Expr,
        then: &'a Block,
        otherwise: Option<&'a Block>,
    ) -> Result<ExprId, KernelError> {
        let ty = self.typed.of(e);
        if ty == Type::unit() {
            self.branch(e.span, cond, then, otherwise, None)?;
            return Ok(self.build.unit(e.span));
        }
        let result = self.build.temporary("if", ty.clone());
        self.build.emit(e.span, StmtKind::Let(result, None));
        self.branch(e.span, cond, then, otherwise, Some(result))?;
        Ok(self.build.push(e.span, ty, ExprKind::Local(result)))
    }

    fn block_value(&mut self, e: &'a Expr, block: &'a Block) -> Result<ExprId, KernelError> {
        for stmt in &block.stmts {
            self.stmt(stmt)?;
        }
        match &block.value {
            Some(value) => self.expr(value),
            // Without a value it is `()`, or never gets here and is taken for what its place wants.
            None => Ok(self.nothing(e.span, &self.typed.of(e))),
        }
    }

    /// Some value of the type, where control never comes.
    fn nothing(&mut self, span: Span, ty: &Type) -> ExprId {
        if *ty == Type::unit() {
            return self.build.unit(span);
        }
        let local = self.build.temporary("never", ty.clone());
        self.build.emit(span, StmtKind::Let(local, None));
        self.build.push(span, ty.clone(), ExprKind::Local(local))
    }

    fn method(&mut self, e: &'a Expr, method: Method, args: &'a [Expr]) -> Result<ExprId, KernelError> {
        let what = format!("`{}`", method.name());
        if let Some(receiver) = args.first() {
            let ty = self.typed.of(receiver);
            let has: fn(ScalarType) -> bool = match method.class() {
                MethodClass::Float | MethodClass::FloatTest | MethodClass::FloatInt => ScalarType::is_float,
                MethodClass::Int | MethodClass::IntU32 | MethodClass::IntCount => ScalarType::is_int,
                MethodClass::Number => is_number,
            };
            self.scalar_for(e.span, &what, &ty, has)?;
        }
        let args = self.operands(&args.iter().collect::<Vec<_>>())?;
        Ok(self.build.push(e.span, self.typed.of(e), ExprKind::Method(method, args)))
    }

    fn call(&mut self, e: &'a Expr, number: u32, args: &'a [Expr]) -> Result<ExprId, KernelError> {
        let number = self.scope.function(e.span, number)?.number;
        let args = self.operands(&args.iter().collect::<Vec<_>>())?;
        Ok(self.build.push(e.span, self.typed.of(e), ExprKind::Call(number, args)))
    }

    fn construct(&mut self, e: &'a Expr, parts: &'a [Expr]) -> Result<ExprId, KernelError> {
        let parts = self.operands(&parts.iter().collect::<Vec<_>>())?;
        Ok(self.build.push(e.span, self.typed.of(e), ExprKind::Construct(parts)))
    }

    pub fn check_parts(&self, span: Span, parts: usize) -> Result<(), KernelError> {
        if parts <= MAX_PARTS {
            return Ok(());
        }
        Err(self.scope.error(
            span,
            "make or move a value part by part",
            format!("{parts} parts, more than {MAX_PARTS}"),
            "work on its entries in a loop",
        ))
    }

    fn repeat(&mut self, e: &'a Expr, x: &'a Expr, n: usize) -> Result<ExprId, KernelError> {
        self.check_parts(e.span, n)?;
        let x = self.expr(x)?;
        let parts = if n == 0 {
            self.build.discard(x);
            Vec::new()
        } else if n == 1 {
            vec![x]
        } else {
            vec![self.build.reuse("repeat", x); n]
        };
        Ok(self.build.push(e.span, self.typed.of(e), ExprKind::Construct(parts)))
    }

    fn structure(&mut self, e: &'a Expr, n: u32, fields: &'a [(String, Expr)]) -> Result<ExprId, KernelError> {
        let values = self.operands(&fields.iter().map(|(_, value)| value).collect::<Vec<_>>())?;
        let ElementType::Struct { fields: declared, .. } = self.scope.structure(e.span, n)? else {
            return Err(self.scope.damaged(e.span, "a struct literal of something else"));
        };
        let mut parts = Vec::with_capacity(declared.len());
        for (name, _) in declared.iter() {
            let position = fields.iter().position(|(f, _)| f == name);
            let Some(value) = position.and_then(|p| values.get(p)) else {
                return Err(self.scope.damaged(e.span, format!("a struct literal without `{name}`")));
            };
            parts.push(*value);
        }
        Ok(self.build.push(e.span, self.typed.of(e), ExprKind::Construct(parts)))
    }

    /// A chain of projections, taken together so that what it starts from is read only where needed.
    fn project(&mut self, e: &'a Expr) -> Result<ExprId, KernelError> {
        let mut steps: Steps<'a> = Vec::new();
        let mut whole = e;
        while let quote::ExprKind::Project(inner, step) = &whole.kind {
            steps.push(step);
            whole = inner;
        }
        steps.reverse();
        if let quote::ExprKind::Load { arg, index, path } = &whole.kind {
            let path = path.iter().chain(steps).collect();
            return self.load(e.span, *arg, index, path);
        }
        self.part_of(e, whole, steps)
    }

    /// A read of an argument; only the components asked for.
    fn load(&mut self, span: Span, arg: u32, index: &'a Expr, path: Steps<'a>) -> Result<ExprId, KernelError> {
        let (index, entries) = self.index_and_entries(index, &path)?;
        let bound = self.scope.arg(span, arg)?;
        let found = self.component(span, &bound.element, &path, entries)?;
        self.check_parts(span, found.element.components())?;
        let table = bound.access == Access::Table;
        let index = if table { vec![index] } else { self.build.parts(index) };
        if found.element.components() == 1 {
            return Ok(self.load_parts(span, arg, &index, &found.component, &mut 0, &found.element));
        }
        let index: Vec<ExprId> = index.into_iter().map(|i| self.build.reuse("index", i)).collect();
        let mut component = found.component;
        for (entry, ..) in &mut component.dynamic {
            *entry = self.build.reuse("entry", *entry);
        }
        if found.element.components() == 0 {
            index.iter().for_each(|i| self.build.discard(*i));
        }
        Ok(self.load_parts(span, arg, &index, &component, &mut 0, &found.element))
    }

    pub fn load_parts(
        &mut self,
        span: Span,
        arg: u32,
        index: &[ExprId],
        component: &crate::ir::Component,
        offset: &mut u32,
        element: &ElementType,
    ) -> ExprId {
        let ty = Type::of_element(element);
        let parts = match element {
            ElementType::Scalar(_) => {
                let mut component = component.clone();
                component.base += *offset;
                *offset += 1;
                return self.build.push(span, ty, ExprKind::Load { arg, index: index.to_vec(), component });
            }
            ElementType::Array { element, len } => {
                (0..*len).map(|_| self.load_parts(span, arg, index, component, offset, element)).collect()
            }
            ElementType::Struct { fields, .. } => {
                fields.iter().map(|(_, f)| self.load_parts(span, arg, index, component, offset, f)).collect()
            }
        };
        self.build.push(span, ty, ExprKind::Construct(parts))
    }
}

fn is_number(s: ScalarType) -> bool {
    s != ScalarType::Bool
}
