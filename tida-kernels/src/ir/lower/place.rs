//! Parts of values and of cells, and assignment to them.

use super::Lowering;
use super::builder::part_count;
use crate::element::{ElementType, ScalarType};
use crate::error::KernelError;
use crate::ir::{Component, ExprId, ExprKind, LocalId, Span, Step, StmtKind, Type};
use crate::quote::{self, BinaryOp, Expr, Place, Projection};
use crate::scalar::Value;

/// Steps into a value, outermost first.
pub(super) type Steps<'a> = Vec<&'a Projection>;

/// What a path leads to inside an element.
pub(super) struct Found {
    pub component: Component,
    pub element: ElementType,
}

/// The entry, if it is written as a number.
fn constant(index: &Expr) -> Option<u64> {
    match index.kind {
        quote::ExprKind::Int(n, _) => Some(n),
        _ => None,
    }
}

/// The same, of a number that a turn of a loop has put there, if an array of that length has the entry.
fn of_turn(index: &Expr, len: usize) -> Option<u32> {
    let quote::ExprKind::Block(quote::Block { stmts, value: Some(value) }) = &index.kind else { return None };
    constant(value).filter(|n| stmts.is_empty() && *n < len as u64).map(|n| n as u32)
}

/// The entries that are evaluated.
fn dynamic<'a>(path: &[&'a Projection]) -> Vec<&'a Expr> {
    path.iter()
        .filter_map(|step| match step {
            Projection::Index(index) if constant(index).is_none() => Some(&**index),
            _ => None,
        })
        .collect()
}

impl<'a> Lowering<'a> {
    /// `unit(axis)`: 1 along that axis. Past the last axis it does what an entry of an array does.
    pub fn unit(&mut self, e: &'a Expr, axis: &'a Expr) -> Result<ExprId, KernelError> {
        let rank = self.scope.rank.unwrap_or(0);
        let ty = self.typed.of(e);
        let number = |this: &mut Self, one: bool| this.build.literal(e.span, Value::I64(i64::from(one)));
        if let Some(axis) = constant(axis) {
            if axis >= rank as u64 {
                return Err(self.scope.error(
                    e.span,
                    format!("take the unit point of axis {axis}"),
                    format!("cells of {rank} axes"),
                    format!("count axes from 0 to {}", rank.saturating_sub(1)),
                ));
            }
            let parts = (0..rank as u64).map(|of| number(self, of == axis)).collect();
            return Ok(self.build.push(e.span, ty, ExprKind::Construct(parts)));
        }
        let axis = self.expr(axis)?;
        let axis = self.build.reuse("axis", axis);
        let mut parts = Vec::with_capacity(rank);
        for of in 0..rank {
            let row = (0..rank).map(|entry| number(self, entry == of)).collect();
            let row = self.build.push(e.span, ty.clone(), ExprKind::Construct(row));
            parts.push(self.build.push(e.span, Type::Scalar(ScalarType::I64), ExprKind::Entry(row, axis)));
        }
        Ok(self.build.push(e.span, ty, ExprKind::Construct(parts)))
    }

    /// The values of an index and of the run-time entries of a path, in order.
    pub fn index_and_entries(
        &mut self,
        index: &'a Expr,
        path: &[&'a Projection],
    ) -> Result<(ExprId, std::vec::IntoIter<ExprId>), KernelError> {
        let mut exprs = vec![index];
        exprs.extend(dynamic(path));
        let values = self.operands(&exprs)?;
        let mut values = values.into_iter();
        let index = values.next().ok_or_else(|| self.scope.damaged(index.span, "an access without index"))?;
        Ok((index, values))
    }

    fn check_entry(&self, span: Span, index: Option<u64>, len: usize) -> Result<(), KernelError> {
        let found = match index {
            Some(n) if n >= len as u64 => format!("an array of {len}"),
            None if len == 0 => "an array of 0".to_owned(),
            _ => return Ok(()),
        };
        let which = index.map_or("an entry".to_owned(), |n| format!("entry {n}"));
        Err(self.scope.error(
            span,
            format!("take {which} of a fixed-size array"),
            found,
            "count entries from 0 to its length - 1",
        ))
    }

    /// The component that a path leads to; `entries` are its run-time entries.
    pub fn component(
        &self,
        span: Span,
        element: &ElementType,
        path: &[&Projection],
        mut entries: impl Iterator<Item = ExprId>,
    ) -> Result<Found, KernelError> {
        let mut component = Component { base: 0, dynamic: Vec::new() };
        let mut element = *element;
        let size = |e: &ElementType| u32::try_from(e.components()).unwrap_or(u32::MAX);
        if size(&element) == u32::MAX {
            return Err(self.scope.error(span, "use an element", "more than 2^32 components", "use a smaller element"));
        }
        for step in path {
            element = match (step, element) {
                (Projection::Field(name), ElementType::Struct { fields, .. }) => {
                    let mut found = None;
                    for (field, ty) in fields {
                        if field == name {
                            found = Some(*ty);
                            break;
                        }
                        component.base += size(ty);
                    }
                    found.ok_or_else(|| self.scope.bad_part(span, name, &element))?
                }
                (Projection::Index(index), ElementType::Array { element, len }) => {
                    let at = constant(index);
                    self.check_entry(index.span, at, len)?;
                    match at {
                        Some(n) => component.base += n as u32 * size(element),
                        None => {
                            let entry =
                                entries.next().ok_or_else(|| self.scope.damaged(span, "an entry without its index"))?;
                            match of_turn(index, len) {
                                Some(n) => component.base += n * size(element),
                                None => component.dynamic.push((entry, size(element), len as u32)),
                            }
                        }
                    }
                    *element
                }
                _ => return Err(self.scope.bad_part(span, "a part", &element)),
            };
        }
        Ok(Found { component, element })
    }

    /// A part of the value of `whole`.
    pub fn part_of(&mut self, e: &'a Expr, whole: &'a Expr, steps: Steps<'a>) -> Result<ExprId, KernelError> {
        let mut exprs = vec![whole];
        exprs.extend(dynamic(&steps));
        let values = self.operands(&exprs)?;
        let mut values = values.into_iter();
        let mut value = values.next().ok_or_else(|| self.scope.damaged(e.span, "a part of nothing"))?;
        for step in steps {
            let ty = self.build.ty(value).clone();
            match self.position(e.span, step, &ty)? {
                Some(n) => value = self.build.only_part(value, n),
                None => {
                    let entry =
                        values.next().ok_or_else(|| self.scope.damaged(e.span, "an entry without its index"))?;
                    let (Type::Array(ty, len), Projection::Index(index)) = (&ty, step) else {
                        return Err(self.scope.bad_part(e.span, "[..]", &ty));
                    };
                    value = match of_turn(index, *len) {
                        Some(n) => self.build.only_part(value, n),
                        None => self.build.push(e.span, (**ty).clone(), ExprKind::Entry(value, entry)),
                    };
                }
            }
        }
        Ok(value)
    }

    /// Which part a step takes of a value of type `ty`; `None` if that is known at run time only.
    fn position(&self, span: Span, step: &Projection, ty: &Type) -> Result<Option<u32>, KernelError> {
        match (step, ty) {
            (Projection::Field(name), Type::Struct(_, fields)) => {
                let found = fields.iter().position(|(f, _)| f == name);
                found.map(|n| Some(n as u32)).ok_or_else(|| self.scope.bad_part(span, name, ty))
            }
            (Projection::Tuple(n), Type::Tuple(parts)) if (*n as usize) < parts.len() => Ok(Some(*n)),
            (Projection::Index(index), Type::Array(_, len)) => {
                let at = constant(index);
                self.check_entry(index.span, at, *len)?;
                Ok(at.map(|n| n as u32))
            }
            _ => Err(self.scope.bad_part(span, "a part", ty)),
        }
    }

    /// `place = value` or `place op= value`.
    pub fn assign(
        &mut self,
        span: Span,
        place: &'a Place,
        op: Option<BinaryOp>,
        value: &'a Expr,
    ) -> Result<(), KernelError> {
        match place {
            Place::Local { local, path } => {
                self.assign_local(span, *local, &path.iter().collect::<Vec<_>>(), op, value)
            }
            Place::Element { arg, index, path } => {
                self.assign_element(span, *arg, index, &path.iter().collect::<Vec<_>>(), op, value)
            }
        }
    }

    /// To a local: the value comes first, then the entries of the path, then the old value, as in Rust.
    fn assign_local(
        &mut self,
        span: Span,
        local: LocalId,
        path: &[&'a Projection],
        op: Option<BinaryOp>,
        value: &'a Expr,
    ) -> Result<(), KernelError> {
        let mut exprs = vec![value];
        exprs.extend(dynamic(path));
        let mut values = self.operands(&exprs)?.into_iter();
        let mut value = values.next().ok_or_else(|| self.scope.damaged(span, "an assignment without value"))?;
        let mut ty = match self.typed.locals.get(local as usize) {
            Some(ty) => ty.clone(),
            None => return Err(self.scope.damaged(span, format!("local variable {local}, which is not there"))),
        };
        let mut steps = Vec::with_capacity(path.len());
        let mut old = op.map(|_| self.build.push(span, ty.clone(), ExprKind::Local(local)));
        for step in path {
            match self.position(span, step, &ty)? {
                Some(n) => {
                    steps.push(Step::Part(n));
                    ty = super::builder::part_type(&ty, n);
                    old = old.map(|old| self.build.part(old, n));
                }
                None => {
                    let entry = values.next().ok_or_else(|| self.scope.damaged(span, "an entry without its index"))?;
                    let (Type::Array(of, len), Projection::Index(index)) = (&ty, step) else {
                        return Err(self.scope.bad_part(span, "[..]", &ty));
                    };
                    let of = (**of).clone();
                    if let Some(n) = of_turn(index, *len) {
                        steps.push(Step::Part(n));
                        ty = of;
                        old = old.map(|old| self.build.part(old, n));
                        continue;
                    }
                    let entry = if op.is_some() { self.build.reuse("entry", entry) } else { entry };
                    steps.push(Step::Entry(entry));
                    ty = of;
                    old = old.map(|old| self.build.push(span, ty.clone(), ExprKind::Entry(old, entry)));
                }
            }
        }
        if let Some((op, old)) = op.zip(old) {
            self.check_binary(span, op, &ty, &self.build.ty(value).clone())?;
            value = self.arithmetic(span, ty, op, old, value);
        }
        self.build.emit(span, StmtKind::Assign(local, steps, value));
        Ok(())
    }

    /// To a cell: the value comes first, then the index, then the old value. One store for each component.
    fn assign_element(
        &mut self,
        span: Span,
        arg: u32,
        index: &'a Expr,
        path: &[&'a Projection],
        op: Option<BinaryOp>,
        value: &'a Expr,
    ) -> Result<(), KernelError> {
        let mut exprs = vec![value, index];
        exprs.extend(dynamic(path));
        let mut values = self.operands(&exprs)?.into_iter();
        let mut value = values.next().ok_or_else(|| self.scope.damaged(span, "an assignment without value"))?;
        let index = values.next().ok_or_else(|| self.scope.damaged(span, "an assignment without index"))?;
        let bound = self.scope.arg(span, arg)?;
        let Found { mut component, element } = self.component(span, &bound.element, path, values)?;
        let components = element.components();
        self.check_parts(span, components)?;
        let mut index = self.build.parts(index);
        if op.is_some() || components != 1 {
            index.iter_mut().for_each(|i| *i = self.build.reuse("index", *i));
            component.dynamic.iter_mut().for_each(|(i, ..)| *i = self.build.reuse("entry", *i));
        }
        // The value of several stores is whole before the first of them.
        if components > 1 && self.build.unstable(value) {
            value = self.build.bind("value", value);
        }
        if let Some(op) = op {
            let ty = Type::of_element(&element);
            self.check_binary(span, op, &ty, &self.build.ty(value).clone())?;
            let old = self.load_parts(span, arg, &index, &component, &mut 0, &element);
            value = self.arithmetic(span, ty, op, old, value);
        }
        if components == 0 {
            self.build.discard(value);
        }
        self.store(span, arg, &index, &mut component, value);
        Ok(())
    }

    fn store(&mut self, span: Span, arg: u32, index: &[ExprId], component: &mut Component, value: ExprId) {
        if matches!(self.build.ty(value), Type::Scalar(_)) {
            let kind = StmtKind::Store { arg, index: index.to_vec(), component: component.clone(), value };
            self.build.emit(span, kind);
            component.base += 1;
            return;
        }
        if part_count(self.build.ty(value)) == 0 {
            return;
        }
        for part in self.build.parts(value) {
            self.store(span, arg, index, component, part);
        }
    }
}
