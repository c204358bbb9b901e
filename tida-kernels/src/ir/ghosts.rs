//! A kernel that computes the ghosts that it reads: each is what a kernel would have set there, of the nearest cell
//! inwards.
//!
//! Steps that share a launch never write the ghosts between them. Where they are to read one, they read the nearest
//! cell in its place ([`Face::Nearest`](crate::plan::fuse::Face)); what this pass makes of the kernel applies to that
//! value what the face's kernel does to it. Everything after this pass sees one kernel.

use super::{
    BinaryOp, Body, Capture, CompareOp, Expr, ExprId, ExprKind, Function, Kernel, Local, LocalId, Method, Span, Stmt,
    StmtKind, Type, has_loop, holds,
};
use crate::analysis::Analysis;
use crate::element::{ElementType, ScalarType};
use crate::plan::fuse::Steps;
use crate::scalar::Value;

/// A kernel that sets the ghosts beyond a face of the domain, one layer, each from the nearest cell inwards.
#[derive(Clone, Copy, Debug)]
pub struct GhostKernel<'a> {
    /// Its kernel. It has one argument.
    pub kernel: &'a Kernel,
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
    one && ends && !tables && super::reads_beside(kernel, analysis, (axis, inwards))
}

/// A kernel whose steps compute the ghosts beyond these faces of the array that they read, in the order in which their
/// kernels set them; nothing if they cannot. What it reads there has to be the nearest cell of the domain.
///
/// Its captured values are its own, then those of the faces; then comes for each face the coordinate of the first cell
/// beyond it (the lower face: the first one that is not, `i64`), and at the end whether any ghost may be near (`bool`).
pub fn with_ghosts(kernel: &Kernel, steps: &Steps, faces: &[GhostKernel<'_>]) -> Option<Kernel> {
    let mut made = kernel.clone();
    let first_edge = made.captures.len() + faces.iter().map(|face| face.kernel.captures.len()).sum::<usize>();
    let mut known = Vec::with_capacity(faces.len());
    for (number, face) in faces.iter().enumerate() {
        let captures = made.captures.len();
        made.captures.extend(face.kernel.captures.iter().cloned());
        let function = function(&mut made, face, steps.scalar)?;
        known.push(Known { face: *face, captures, function, edge: (first_edge + number) as u32 });
    }
    for number in 0..faces.len() {
        made.captures.push(Capture::of_launch(format!("edge{number}"), Type::Scalar(ScalarType::I64)));
    }
    let near = made.captures.len() as u32;
    made.captures.push(Capture::of_launch("near", Type::Scalar(ScalarType::Bool)));
    for (id, number) in &steps.reads {
        let offset = &steps.offsets.get(*number)?[3 - steps.rank..];
        Read { body: &mut made.body, span: kernel.body[*id].span, faces: &known, offset, near }.replace(*id)?;
    }
    Some(made)
}

/// A face, and what of it the kernel has.
struct Known<'a> {
    face: GhostKernel<'a>,
    /// Its first captured value.
    captures: usize,
    function: u32,
    /// The captured value that says where it is.
    edge: u32,
}

/// A read that may be of a ghost.
struct Read<'a> {
    body: &'a mut Body,
    span: Span,
    faces: &'a [Known<'a>],
    /// What it reads, from the cell.
    offset: &'a [i64],
    near: u32,
}

impl Read<'_> {
    fn push(&mut self, ty: ScalarType, kind: ExprKind) -> ExprId {
        push(self.body, &Type::Scalar(ty), self.span, kind)
    }

    fn long(&mut self, value: i64) -> ExprId {
        self.push(ScalarType::I64, ExprKind::Literal(Value::from_bits(ScalarType::I64, value as u64)))
    }

    /// The face that it may lead beyond along an axis.
    fn face(&self, axis: usize) -> Option<usize> {
        let by = self.offset[axis];
        let is_it = |known: &Known<'_>| known.face.axis == axis && known.face.high == (by > 0);
        if by == 0 { None } else { self.faces.iter().position(is_it) }
    }

    /// The coordinate of what it reads along an axis.
    fn at(&mut self, axis: usize) -> ExprId {
        let at = self.push(ScalarType::I64, ExprKind::Coordinate(axis as u32));
        if self.offset[axis] == 0 {
            return at;
        }
        let by = self.long(self.offset[axis]);
        self.push(ScalarType::I64, ExprKind::Binary(BinaryOp::Add, at, by))
    }

    /// The same of the cell of the domain that is nearest along that axis.
    fn within(&mut self, axis: usize) -> Option<ExprId> {
        let at = self.at(axis);
        if self.offset[axis] == 0 {
            return Some(at);
        }
        let known = &self.faces[self.face(axis)?];
        let (edge, high) = (known.edge, known.face.high);
        let edge = self.push(ScalarType::I64, ExprKind::Capture(edge));
        Some(match high {
            false => self.push(ScalarType::I64, ExprKind::Method(Method::Max, vec![at, edge])),
            true => {
                let back = self.long(-1);
                let last = self.push(ScalarType::I64, ExprKind::Binary(BinaryOp::Add, edge, back));
                self.push(ScalarType::I64, ExprKind::Method(Method::Min, vec![at, last]))
            }
        })
    }

    /// Has the read become what is there: beyond the last axis first, as ghosts are set.
    fn replace(&mut self, id: ExprId) -> Option<()> {
        let Expr { ty, kind, .. } = &self.body[id];
        let (ty, kind) = (ty.clone(), kind.clone());
        let mut value = None;
        for axis in (0..self.offset.len()).rev() {
            let Some(number) = self.face(axis) else { continue };
            // Beyond it there is one layer.
            if self.offset[axis].abs() > 1 {
                return None;
            }
            let before = value.unwrap_or_else(|| push(self.body, &ty, self.span, kind.clone()));
            let Known { face, captures, function, edge } = &self.faces[number];
            let (captures, function, edge, high) = (*captures, *function, *edge, face.high);
            let count = face.kernel.captures.len();
            let (at, edge) = (self.at(axis), self.push(ScalarType::I64, ExprKind::Capture(edge)));
            let op = if high { CompareOp::Ge } else { CompareOp::Lt };
            let beyond = self.push(ScalarType::Bool, ExprKind::Compare(op, at, edge));
            let near = self.push(ScalarType::Bool, ExprKind::Capture(self.near));
            let mut given = vec![self.push(ScalarType::Bool, ExprKind::And(near, beyond)), before];
            for other in 0..self.offset.len() {
                // What lies beyond an axis before is set later, from this ghost.
                given.push(if other < axis { self.within(other)? } else { self.at(other) });
            }
            for capture in captures..captures + count {
                let ty = self.faces[number].face.kernel.captures[capture - captures].ty.clone();
                given.push(push(self.body, &ty, self.span, ExprKind::Capture(capture as u32)));
            }
            value = Some(push(self.body, &ty, self.span, ExprKind::Call(function, given)));
        }
        if let Some(value) = value {
            self.body.exprs[id.0 as usize].kind = self.body[value].kind.clone();
        }
        Some(())
    }
}

/// The function of a face: whether a place is beyond it, the value of the nearest cell, the ghost's coordinates and
/// what its kernel has captured give the value of the place. Gives its number.
fn function(made: &mut Kernel, face: &GhostKernel<'_>, scalar: ScalarType) -> Option<u32> {
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
    let inside = local("_inside".into(), value.clone());
    let at: Vec<LocalId> =
        (0..kernel.rank).map(|axis| local(format!("_at{axis}"), Type::Scalar(ScalarType::I64))).collect();
    let captures: Vec<LocalId> =
        kernel.captures.iter().map(|capture| local(format!("_{}", capture.name), capture.ty.clone())).collect();
    let ghost = local("_ghost".into(), value.clone());
    for expr in &mut body.exprs {
        called(expr, own);
        expr.kind = match &expr.kind {
            ExprKind::Load { component, .. } if !component.dynamic.is_empty() => return None,
            ExprKind::Load { .. } => ExprKind::Local(inside),
            ExprKind::Coordinate(axis) => ExprKind::Local(*at.get(*axis as usize)?),
            ExprKind::Capture(number) => ExprKind::Local(*captures.get(*number as usize)?),
            _ => continue,
        };
    }
    if holds(&body.block, &|kind| matches!(kind, StmtKind::Phase { .. })) {
        return None;
    }
    let span = body.block.first().map_or_else(Span::default, |stmt| stmt.span);
    let (first, last) =
        (push(&mut body, &value, span, ExprKind::Local(inside)), push(&mut body, &value, span, ExprKind::Local(ghost)));
    let beyond = push(&mut body, &Type::Scalar(ScalarType::Bool), span, ExprKind::Local(is));
    let mut block = std::mem::take(&mut body.block);
    sets(&mut block, ghost, last);
    let stmt = |kind| Stmt { span, kind };
    body.block = vec![
        stmt(StmtKind::Let(ghost, Some(first))),
        stmt(StmtKind::If(beyond, block, Vec::new())),
        stmt(StmtKind::Return(Some(last))),
    ];
    let params = [is, inside].into_iter().chain(at).chain(captures).collect();
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
