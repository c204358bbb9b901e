//! A sweep by itself that computes the ghosts that it reads. In the place of a ghost it reads the cell as far inside of
//! the face; memory has room for ghosts, so that to read one that nobody has set does no harm.

use super::super::{Body, Component, ExprId, ExprKind, Function, Kernel, Local, LocalId, Span, Stmt, StmtKind, Type};
use super::{Beside, GhostKernel, Read, made_one, push, whole};
use crate::element::ScalarType;
use crate::plan::fuse::Steps;

/// A kernel that computes these ghosts as [`with_ghosts`](super::with_ghosts) does, for a launch of one step over a
/// whole domain, in which the text knows which cells lie beyond faces
/// ([`Capture::beyond`](crate::ir::Capture::beyond)). Along each axis there are at least twice as many cells as it
/// reads to one side. None of a kernel that reads ghosts beyond edges and corners of such faces: all cells would ask.
pub fn with_ghosts_alone(
    kernel: &Kernel,
    steps: &Steps,
    faces: &[GhostKernel<'_>],
    others: &[[Beside; 2]],
) -> Option<Kernel> {
    let negated = |axis: usize, side: usize| matches!(others[axis][side], Beside::Negated(_));
    let is_set =
        |axis: usize, side: usize| faces.iter().any(|face| (face.axis, usize::from(face.high)) == (axis, side));
    let computed = |axis: usize, by: i64| {
        let side = usize::from(by > 0);
        by != 0 && (is_set(axis, side) || axis < others.len() && negated(axis, side))
    };
    let leads =
        |offset: &[i64; 3]| (0..steps.rank).filter(|axis| computed(*axis, offset[3 - steps.rank + axis])).count();
    if steps.offsets.iter().any(|offset| leads(offset) > 1) {
        return None;
    }
    made_one(kernel, steps, faces, others, true)
}

/// A function that gives the first of two values if something holds, else the second. Gives its number.
pub(super) fn either(made: &mut Kernel, scalar: ScalarType) -> u32 {
    let (value, bool, span) = (Type::Scalar(scalar), Type::Scalar(ScalarType::Bool), Span::default());
    let local = |name: &str, ty: &Type| Local { name: name.into(), ty: ty.clone() };
    let locals = vec![local("_is", &bool), local("_one", &value), local("_other", &value)];
    let mut body = Body { locals, ..Body::default() };
    let mut push = |ty: &Type, of: LocalId| push(&mut body, ty, span, ExprKind::Local(of));
    let (is, one, other) = (push(&bool, 0), push(&value, 1), push(&value, 2));
    let stmt = |kind| Stmt { span, kind };
    body.block = vec![
        stmt(StmtKind::If(is, vec![stmt(StmtKind::Assign(2, Vec::new(), one))], Vec::new())),
        stmt(StmtKind::Return(Some(other))),
    ];
    let (name, file) = ("either".into(), made.file.clone());
    made.functions.push(Function { name, file, params: vec![0, 1, 2], result: value, body });
    made.functions.len() as u32 - 1
}

/// A component of what a read is of: its argument, and its number.
type Leaf<'a> = (u32, u32, &'a Type);

impl Read<'_> {
    /// What memory has at an offset, or beyond faces the cell as far inside: all components.
    pub(super) fn standing(&mut self, offset: &[i64], either: u32) -> Option<ExprId> {
        let ExprKind::Load { arg, .. } = self.read.kind else { return None };
        let (ty, mut leaves) = (Type::of_element(self.element), Vec::new());
        whole(&mut Body::default(), &ty, self.read.span, &mut |_, ty| {
            leaves.push(ty.clone());
            ExprId(0)
        });
        let mut made = Vec::with_capacity(leaves.len());
        for (base, ty) in leaves.iter().enumerate() {
            made.push(self.stands(offset, 0, (arg, base as u32, ty), either)?);
        }
        let (mut made, span) = (made.into_iter(), self.read.span);
        Some(whole(self.body, &ty, span, &mut |_, _| made.next().unwrap_or(ExprId(0))))
    }

    /// The same of a component, beyond faces across axes from this one on.
    fn stands(&mut self, offset: &[i64], from: usize, leaf: Leaf<'_>, either: u32) -> Option<ExprId> {
        let found = (from..offset.len()).find_map(|axis| Some((axis, self.face(offset, axis)?)));
        let (arg, base, ty) = leaf;
        let span = self.read.span;
        let Some((axis, number)) = found else {
            let index = (0..offset.len()).map(|axis| self.at(offset, axis)).collect();
            let component = Component { base, dynamic: Vec::new() };
            return Some(push(self.body, ty, span, ExprKind::Load { arg, index, component }));
        };
        let high = self.faces[number].high;
        let mut value = self.stands(offset, axis + 1, leaf, either)?;
        let far = offset[axis].abs();
        // The cell is at most so far away from the cells at the face.
        for from_face in (0..far).rev() {
            let back = far - 1 - 2 * from_face;
            let mut inside = offset.to_vec();
            inside[axis] = if high { -back } else { back };
            let mirrored = self.stands(&inside, axis + 1, leaf, either)?;
            let is = self.lies_beyond(axis, high, from_face + 1)?;
            value = push(self.body, ty, span, ExprKind::Call(either, vec![is, mirrored, value]));
        }
        Some(value)
    }
}
