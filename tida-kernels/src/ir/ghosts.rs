//! A kernel that computes the ghosts that it reads: each is what a kernel would have set there, of the nearest cells
//! inwards.
//!
//! Steps that share a launch never write the ghosts between them. Where they are to read one, they read the nearest
//! cell in its place ([`Face::Nearest`](crate::plan::fuse::Face)); what this pass makes of the kernel applies to that
//! value what the face's kernel does to it. Everything after this pass sees one kernel.

use super::faces::distance;
use super::{
    BinaryOp, Body, Capture, CompareOp, Expr, ExprId, ExprKind, Function, Kernel, Local, LocalId, Method, Span, Stmt,
    StmtKind, Type, has_loop, holds,
};
use crate::analysis::Analysis;
use crate::element::{ElementType, ScalarType};
use crate::plan::fuse::Steps;
use crate::plan::reads::{Reads, coordinates};
use crate::scalar::Value;

/// A kernel that sets the ghosts beyond a face of the domain, one layer, each from the nearest cells inwards.
#[derive(Clone, Copy, Debug)]
pub struct GhostKernel<'a> {
    /// Its kernel. It has one argument.
    pub kernel: &'a Kernel,
    /// What it reads.
    pub analysis: &'a Analysis,
    /// The axis that the face is across.
    pub axis: usize,
    /// The upper face, else the lower.
    pub high: bool,
}

/// Whether ghosts beyond a face that a kernel sets can be computed by those who read them.
pub fn can_compute(kernel: &Kernel, analysis: &Analysis, (axis, high): (usize, bool)) -> bool {
    let one = matches!(kernel.args.first().map(|arg| &arg.element), Some(ElementType::Scalar(_)));
    let ends = !has_loop(&kernel.body.block) && !kernel.functions.iter().any(|function| has_loop(&function.body.block));
    let tables = kernel.captures.iter().any(|capture| capture.known.is_some());
    let inwards = if high { -1 } else { 1 };
    one && ends && !tables && super::reads_inwards(kernel, analysis, (axis, inwards)).is_some()
}

/// A kernel whose steps compute the ghosts beyond these faces of the array that they read, in the order in which their
/// kernels set them; nothing if they cannot. What it reads there has to be the nearest cell of the domain. `filled`
/// says beyond which of the other faces, by axis, a fill sets ghosts anew: from the other end, or from cells inwards.
///
/// Its captured values are its own, then those of the faces; then comes for each face the coordinate of the first cell
/// beyond it (the lower face: the first one that is not, `i64`), and at the end whether any ghost may be near (`bool`).
pub fn with_ghosts(kernel: &Kernel, steps: &Steps, faces: &[GhostKernel<'_>], filled: &[[bool; 2]]) -> Option<Kernel> {
    let mut made = kernel.clone();
    let first_edge = made.captures.len() + faces.iter().map(|face| face.kernel.captures.len()).sum::<usize>();
    let mut known = Vec::with_capacity(faces.len());
    for (number, face) in faces.iter().enumerate() {
        let captures = made.captures.len();
        made.captures.extend(face.kernel.captures.iter().cloned());
        let furthest = super::reads_inwards(face.kernel, face.analysis, face.across())?.max(1);
        let function = function(&mut made, face, (steps.scalar, furthest))?;
        let (coordinates, edge) = (coordinates(face.kernel), (first_edge + number) as u32);
        known.push(Known { face: *face, captures, function, furthest, coordinates, edge });
    }
    for number in 0..faces.len() {
        made.captures.push(Capture::of_launch(format!("edge{number}"), Type::Scalar(ScalarType::I64)));
    }
    let near = made.captures.len() as u32;
    made.captures.push(Capture::of_launch("near", Type::Scalar(ScalarType::Bool)));
    let reach = &steps.reach()[4 - steps.rank..];
    for (id, number) in &steps.reads {
        let offset = &steps.offsets.get(*number)?[3 - steps.rank..];
        let read = kernel.body[*id].clone();
        Read { body: &mut made.body, read, faces: &known, filled, reach, offset, near }.replace(*id)?;
    }
    Some(made)
}

impl GhostKernel<'_> {
    /// The axis that it is across, and the way inwards.
    fn across(&self) -> (usize, i64) {
        (self.axis, if self.high { -1 } else { 1 })
    }
}

/// A face, and what of it the kernel has.
struct Known<'a> {
    face: GhostKernel<'a>,
    /// Its first captured value.
    captures: usize,
    function: u32,
    /// How many cells inwards the furthest one is that it reads.
    furthest: i64,
    /// Axes whose coordinates it computes with, as bits.
    coordinates: u8,
    /// The captured value that says where it is.
    edge: u32,
}

/// A read that may be of a ghost.
struct Read<'a> {
    body: &'a mut Body,
    read: Expr,
    faces: &'a [Known<'a>],
    filled: &'a [[bool; 2]],
    /// What the step reads around its cell.
    reach: &'a [[u8; 2]],
    /// What it reads, from the cell.
    offset: &'a [i64],
    near: u32,
}

impl Read<'_> {
    fn push(&mut self, ty: ScalarType, kind: ExprKind) -> ExprId {
        push(self.body, &Type::Scalar(ty), self.read.span, kind)
    }

    fn long(&mut self, value: i64) -> ExprId {
        self.push(ScalarType::I64, ExprKind::Literal(Value::from_bits(ScalarType::I64, value as u64)))
    }

    /// The face that what is at an offset may lie beyond along an axis.
    fn face(&self, offset: &[i64], axis: usize) -> Option<usize> {
        let by = offset[axis];
        let is_it = |known: &Known<'_>| known.face.axis == axis && known.face.high == (by > 0);
        if by == 0 { None } else { self.faces.iter().position(is_it) }
    }

    /// The coordinate along an axis of what is at an offset.
    fn at(&mut self, offset: &[i64], axis: usize) -> ExprId {
        let at = self.push(ScalarType::I64, ExprKind::Coordinate(axis as u32));
        if offset[axis] == 0 {
            return at;
        }
        let by = self.long(offset[axis]);
        self.push(ScalarType::I64, ExprKind::Binary(BinaryOp::Add, at, by))
    }

    /// The same of the cell of the domain that is nearest along that axis.
    fn within(&mut self, offset: &[i64], axis: usize) -> ExprId {
        let at = self.at(offset, axis);
        let Some(known) = self.face(offset, axis).map(|number| &self.faces[number]) else { return at };
        let (edge, high) = (known.edge, known.face.high);
        let edge = self.push(ScalarType::I64, ExprKind::Capture(edge));
        match high {
            false => self.push(ScalarType::I64, ExprKind::Method(Method::Max, vec![at, edge])),
            true => {
                let back = self.long(-1);
                let last = self.push(ScalarType::I64, ExprKind::Binary(BinaryOp::Add, edge, back));
                self.push(ScalarType::I64, ExprKind::Method(Method::Min, vec![at, last]))
            }
        }
    }

    /// The coordinate along an axis of a ghost at an offset, for the kernel that sets it beyond a face across another
    /// one. None if that kernel does not set what is there.
    fn ghost_at(&mut self, offset: &[i64], axis: usize, number: usize) -> Option<ExprId> {
        let known = &self.faces[number];
        let (used, before) = (known.coordinates >> axis & 1 == 1, axis < known.face.axis);
        if before && offset[axis] != 0 && self.face(offset, axis).is_none() {
            // What lies beyond both is what is beyond the axis before. A fill takes it from a ghost elsewhere.
            let filled = self.filled.get(axis).is_some_and(|sides| sides[usize::from(offset[axis] > 0)]);
            if used || !filled {
                return None;
            }
        }
        Some(match (used, before) {
            (false, _) => self.long(0),
            // What lies beyond an axis before is set later, from this ghost.
            (true, true) => self.within(offset, axis),
            (true, false) => self.at(offset, axis),
        })
    }

    /// What memory has at an offset.
    fn load(&mut self, offset: &[i64]) -> Option<ExprId> {
        let mut kind = self.read.kind.clone();
        if offset != self.offset {
            let at: Vec<ExprId> = (0..offset.len()).map(|axis| self.at(offset, axis)).collect();
            let ExprKind::Load { index, .. } = &mut kind else { return None };
            *index = at;
        }
        Some(push(self.body, &self.read.ty, self.read.span, kind))
    }

    /// What is at an offset once kernels have set the ghosts beyond faces across axes from this one on: the last axis
    /// first, as ghosts are set.
    fn value(&mut self, offset: &[i64], from: usize) -> Option<ExprId> {
        let found = (from..offset.len()).find_map(|axis| Some((axis, self.face(offset, axis)?)));
        let Some((axis, number)) = found else { return self.load(offset) };
        // Beyond it there is one layer.
        let by = Some(offset[axis]).filter(|by| by.abs() == 1)?;
        let Known { captures, function, edge, furthest, face, .. } = self.faces[number];
        let (at, edge) = (self.at(offset, axis), self.push(ScalarType::I64, ExprKind::Capture(edge)));
        let op = if face.high { CompareOp::Ge } else { CompareOp::Lt };
        let beyond = self.push(ScalarType::Bool, ExprKind::Compare(op, at, edge));
        let near = self.push(ScalarType::Bool, ExprKind::Capture(self.near));
        let mut given = vec![self.push(ScalarType::Bool, ExprKind::And(near, beyond))];
        for far in 1..=furthest {
            let mut inside = offset.to_vec();
            // In place of the ghost itself the nearest cell is read.
            inside[axis] -= if far > 1 { far * by } else { 0 };
            let reach = self.reach.get(axis)?[usize::from(inside[axis] > 0)];
            if inside[axis].abs() > reach.into() {
                return None;
            }
            given.push(self.value(&inside, axis + 1)?);
        }
        for other in 0..offset.len() {
            given.push(self.ghost_at(offset, other, number)?);
        }
        for (capture, of) in (captures..).zip(&face.kernel.captures) {
            given.push(push(self.body, &of.ty, self.read.span, ExprKind::Capture(capture as u32)));
        }
        Some(push(self.body, &self.read.ty, self.read.span, ExprKind::Call(function, given)))
    }

    /// Has the read become what is there.
    fn replace(&mut self, id: ExprId) -> Option<()> {
        if (0..self.offset.len()).any(|axis| self.face(self.offset, axis).is_some()) {
            let value = self.value(self.offset, 0)?;
            self.body.exprs[id.0 as usize].kind = self.body[value].kind.clone();
        }
        Some(())
    }
}

/// The function of a face: whether a place is beyond it, the values of so many cells inwards of it, the nearest one
/// first, the ghost's coordinates and what its kernel has captured give the value of the place. Gives its number.
fn function(made: &mut Kernel, face: &GhostKernel<'_>, (scalar, furthest): (ScalarType, i64)) -> Option<u32> {
    let kernel = face.kernel;
    let own = made.functions.len() as u32;
    made.functions.extend(kernel.functions.iter().map(|function| {
        let mut function = function.clone();
        function.body.exprs.iter_mut().for_each(|expr| called(expr, own));
        function
    }));
    let mut body = kernel.body.clone();
    let mut local = |name: String, ty: Type| {
        body.locals.push(Local { name, ty });
        body.locals.len() as LocalId - 1
    };
    let value = Type::Scalar(scalar);
    let is = local("_beyond".into(), Type::Scalar(ScalarType::Bool));
    let inside: Vec<LocalId> = (0..furthest).map(|far| local(format!("_inside{far}"), value.clone())).collect();
    let at: Vec<LocalId> =
        (0..kernel.rank).map(|axis| local(format!("_at{axis}"), Type::Scalar(ScalarType::I64))).collect();
    let captures: Vec<LocalId> =
        kernel.captures.iter().map(|capture| local(format!("_{}", capture.name), capture.ty.clone())).collect();
    let ghost = local("_ghost".into(), value.clone());
    let reads = Reads::of(face.analysis);
    for (number, expr) in body.exprs.iter_mut().enumerate() {
        called(expr, own);
        expr.kind = match &expr.kind {
            ExprKind::Load { component, .. } if !component.dynamic.is_empty() => return None,
            ExprKind::Load { .. } => {
                // No statement evaluates what has no meaning.
                let read = reads.get(ExprId(number as u32));
                let far = read.and_then(|(_, access)| distance(&access.index, face.across())).unwrap_or(1);
                ExprKind::Local(*inside.get(far as usize - 1)?)
            }
            ExprKind::Coordinate(axis) => ExprKind::Local(*at.get(*axis as usize)?),
            ExprKind::Capture(number) => ExprKind::Local(*captures.get(*number as usize)?),
            _ => continue,
        };
    }
    if holds(&body.block, &|kind| matches!(kind, StmtKind::Phase { .. })) {
        return None;
    }
    let span = body.block.first().map_or_else(Span::default, |stmt| stmt.span);
    let nearest = ExprKind::Local(*inside.first()?);
    let (first, last) = (push(&mut body, &value, span, nearest), push(&mut body, &value, span, ExprKind::Local(ghost)));
    let beyond = push(&mut body, &Type::Scalar(ScalarType::Bool), span, ExprKind::Local(is));
    let mut block = std::mem::take(&mut body.block);
    sets(&mut block, ghost, last);
    let stmt = |kind| Stmt { span, kind };
    body.block = vec![
        stmt(StmtKind::Let(ghost, Some(first))),
        stmt(StmtKind::If(beyond, block, Vec::new())),
        stmt(StmtKind::Return(Some(last))),
    ];
    let params = [is].into_iter().chain(inside).chain(at).chain(captures).collect();
    let name = format!("ghost{}{}", face.axis, if face.high { "_high" } else { "_low" });
    made.functions.push(Function { name, file: kernel.file.clone(), params, result: value, body });
    Some(made.functions.len() as u32 - 1)
}

/// Calls of functions that have moved.
fn called(expr: &mut Expr, by: u32) {
    if let ExprKind::Call(number, _) = &mut expr.kind {
        *number += by;
    }
}

/// Has statements set a local in place of their cell, and give `last` where they end.
fn sets(block: &mut [Stmt], ghost: LocalId, last: ExprId) {
    for stmt in block {
        match &mut stmt.kind {
            StmtKind::Store { value, .. } => stmt.kind = StmtKind::Assign(ghost, Vec::new(), *value),
            StmtKind::Return(value) => *value = Some(last),
            StmtKind::If(_, then, otherwise) => {
                sets(then, ghost, last);
                sets(otherwise, ghost, last);
            }
            _ => {}
        }
    }
}

fn push(body: &mut Body, ty: &Type, span: Span, kind: ExprKind) -> ExprId {
    body.exprs.push(Expr { ty: ty.clone(), span, kind });
    ExprId(body.exprs.len() as u32 - 1)
}
