//! What a face's kernel takes of tables. Functions have values as arguments, so the step that reads the ghost takes
//! the entries: at the place that the kernel takes, of the ghost's coordinates. A cell that reads no ghost takes one
//! too, of no use, so the place is kept within the table.

use super::super::{Access, Arg, BinaryOp, Capture, Component, ExprId, ExprKind, Kernel, Method, Type};
use super::{GhostKernel, Read};
use crate::analysis::{Analysis, ArrayAccess, IndexForm, NormalForm, Symbol};
use crate::element::ScalarType;

/// An entry of a table.
pub(super) struct Entry {
    /// The argument that the table is.
    arg: u32,
    /// The place, of coordinates and captured values of the face's kernel.
    place: NormalForm,
    pub ty: Type,
}

/// Whether all that a kernel takes of arguments after the first, which are tables, is at sums of coordinates and
/// captured values.
pub(super) fn sums(analysis: &Analysis) -> bool {
    analysis.args.iter().skip(1).flat_map(|usage| &usage.accesses).all(|access| place(access).is_some())
}

fn place(access: &ArrayAccess) -> Option<&NormalForm> {
    let [IndexForm::Affine(form)] = &access.index[..] else { return None };
    let is_known = |symbol: &Symbol| matches!(symbol, Symbol::At(_) | Symbol::Capture(_));
    form.terms.iter().all(|(symbol, _)| is_known(symbol)).then_some(form)
}

/// The captured values that say of each table, from an argument on, where its entries begin, and the number of its
/// last one. Gives the first such argument and the first such value.
pub(super) fn captures(made: &mut Kernel, first: usize) -> (u32, u32) {
    let from = made.captures.len() as u32;
    for number in 0..made.args.len() - first {
        for what in ["from", "last"] {
            made.captures.push(Capture::of_launch(format!("table{number}_{what}"), Type::Scalar(ScalarType::I64)));
        }
    }
    (first as u32, from)
}

impl GhostKernel<'_> {
    /// Its tables, as arguments of another kernel.
    pub(super) fn tables(&self) -> impl Iterator<Item = Arg> + '_ {
        let face = format!("ghost{}{}", self.axis, if self.high { "_high" } else { "_low" });
        let tables = self.kernel.args.iter().filter(|arg| arg.access == Access::Table);
        tables.map(move |arg| Arg { name: format!("{face}_{}", arg.name), ..arg.clone() })
    }
}

impl Entry {
    /// That which a kernel takes of one of its own arguments.
    pub fn of((arg, access): (usize, &ArrayAccess), ty: &Type) -> Option<Entry> {
        Some(Entry { arg: arg as u32, place: place(access)?.clone(), ty: ty.clone() })
    }

    /// The same where the kernel's tables are arguments from this one on.
    pub fn moved(self, tables: u32) -> Entry {
        Entry { arg: self.arg - 1 + tables, ..self }
    }
}

impl Read<'_> {
    fn sum(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        self.push(ScalarType::I64, ExprKind::Binary(op, a, b))
    }

    /// An entry that the kernel of a face takes for the ghost at an offset. None if that kernel does not set what is
    /// there.
    pub(super) fn entry(&mut self, entry: &Entry, offset: &[i64], number: usize) -> Option<ExprId> {
        let mut place = self.long(entry.place.constant);
        for (symbol, times) in &entry.place.terms {
            let of = match symbol {
                Symbol::At(axis) => self.ghost_at(offset, *axis as usize, number)?,
                Symbol::Capture(capture) => {
                    let capture = self.faces[number].captures.start + *capture as usize;
                    let ty = self.captures.get(capture)?.ty.scalar()?;
                    let value = self.push(ty, ExprKind::Capture(capture as u32));
                    if ty == ScalarType::I64 { value } else { self.push(ScalarType::I64, ExprKind::Cast(value)) }
                }
                _ => return None,
            };
            let times = self.long(*times);
            let more = self.sum(BinaryOp::Mul, of, times);
            place = self.sum(BinaryOp::Add, place, more);
        }
        let table = self.tables.1 + 2 * (entry.arg.checked_sub(self.tables.0)?);
        let [from, last] = [table, table + 1].map(|capture| self.push(ScalarType::I64, ExprKind::Capture(capture)));
        let zero = self.long(0);
        let place = self.push(ScalarType::I64, ExprKind::Method(Method::Max, vec![place, zero]));
        let place = self.push(ScalarType::I64, ExprKind::Method(Method::Min, vec![place, last]));
        let place = self.sum(BinaryOp::Add, from, place);
        let index = vec![self.push(ScalarType::U64, ExprKind::Cast(place))];
        let component = Component { base: 0, dynamic: Vec::new() };
        Some(self.push(entry.ty.scalar()?, ExprKind::Load { arg: entry.arg, index, component }))
    }
}
