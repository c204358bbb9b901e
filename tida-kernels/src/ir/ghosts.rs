//! A kernel that computes the ghosts that it reads: each is what a kernel would have set there, of the nearest cells
//! inwards.
//!
//! Steps that share a launch never write the ghosts between them. Where they are to read one, they read the cell as far
//! inside of the face in its place ([`Face::Even`](crate::plan::fuse::Face)): beyond a layer of ghosts the nearest one.
//! What this pass makes of the kernel applies to that value what the face's kernel does to it. Everything after this
//! pass sees one kernel.

mod alone;
mod tables;

use std::ops::Range;

pub use self::alone::with_ghosts_alone;
use self::tables::Entry;
use super::faces::{Inwards, inwards, place};
use super::{
    BinaryOp, Body, Capture, CompareOp, Component, Expr, ExprId, ExprKind, Function, Kernel, Local, LocalId, Method,
    Span, Step, Stmt, StmtKind, Type, UnaryOp, has_loop, holds,
};
use crate::analysis::Analysis;
use crate::element::{ElementType, ScalarType};
use crate::plan::fuse::{FURTHEST, Face, Steps, uniform};
use crate::plan::reads::{Reads, coordinates, expressions};
use crate::scalar::Value;

/// A kernel that sets the ghosts beyond a face of the domain: one layer, each from the nearest cells inwards, or more,
/// each from the cell as far inside of the face.
#[derive(Clone, Copy, Debug)]
pub struct GhostKernel<'a> {
    /// Its kernel. Its arguments are the array, and tables.
    pub kernel: &'a Kernel,
    /// What it reads.
    pub analysis: &'a Analysis,
    /// The axis that the face is across.
    pub axis: usize,
    /// The upper face, else the lower.
    pub high: bool,
    /// Layers of ghosts.
    pub layers: i64,
}

/// What is beyond a face whose ghosts no kernel sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beside {
    /// What it is is not known.
    #[default]
    Unknown,
    /// A fill sets ghosts anew: from the other end (so it does beyond both faces of the axis), or from cells inwards.
    Filled(Face),
    /// The same value everywhere.
    Fixed,
    /// Components that mirror, of which a fill negates these, as bits.
    Negated(u64),
}

/// Whether ghosts beyond a face that a kernel sets can be computed by those who read them, if `known` are the values
/// of captured integers and `edge` is the first coordinate beyond the face (the lower one: the first that is not).
///
/// # Errors
/// Why they cannot.
pub fn can_compute(
    GhostKernel { kernel, analysis, axis, high, layers }: GhostKernel<'_>,
    edge: i64,
    known: &dyn Fn(u32) -> Option<i64>,
) -> Result<(), &'static str> {
    let alike = kernel.args.first().is_some_and(|arg| uniform(&arg.element).is_some());
    let ends = !has_loop(&kernel.body.block) && !kernel.functions.iter().any(|function| has_loop(&function.body.block));
    let tables = kernel.captures.iter().any(|capture| capture.known.is_some());
    let across = (axis, if high { -1 } else { 1 });
    let mirrored = edge.checked_mul(2).and_then(|twice| twice.checked_sub(1));
    let is_there = |one: &Inwards| match one {
        Inwards::By(_) => layers == 1,
        Inwards::Mirrored(number) => number.is_some() && *number == mirrored,
    };
    let far = "it reads other cells than the nearest two inwards of each ghost, or the mirrored one, or other arrays";
    let sums = tables::sums(analysis);
    match inwards(kernel, analysis, across, known) {
        _ if !alike => Err("the components of a cell are of several types"),
        _ if !ends => Err("it has a loop that is not written out"),
        _ if tables => Err("it has a constant table"),
        _ if !sums => Err("it reads a table at a place that is no sum of coordinates and captured values"),
        None => Err(far),
        Some(reads) if reads.iter().all(is_there) => Ok(()),
        Some(_) if layers > 1 => Err("its ghosts of several layers do not follow from the mirrored cells"),
        Some(_) => Err(far),
    }
}

/// A kernel whose steps compute the ghosts beyond these faces of the array that they read, in the order in which their
/// kernels set them; nothing if they cannot. What it reads there has to be the nearest cell of the domain. `others`
/// says what is beyond the other faces, by axis.
///
/// Its arguments are its own, then the tables of the faces. Its captured values are its own, then those of the faces;
/// then comes for each face the coordinate of the first cell beyond it (the lower face: the first one that is not,
/// `i64`), the same for each face that is [`Beside::Negated`] and then for each that is [`Beside::Fixed`] or
/// [`Beside::Filled`], by axis; for each table where its entries begin in that argument, and the number of the last one
/// (`i64`); and at the end, face by face (the first axis first, its low face first) and cell by cell as far as the step
/// reads that way, whether what is so many cells away lies beyond it (`bool`).
pub fn with_ghosts(
    kernel: &Kernel,
    steps: &Steps,
    faces: &[GhostKernel<'_>],
    others: &[[Beside; 2]],
) -> Option<Kernel> {
    made_one(kernel, steps, faces, others, false)
}

/// The same; `alone` in memory, where nothing stands for ghosts.
fn made_one(
    kernel: &Kernel,
    steps: &Steps,
    faces: &[GhostKernel<'_>],
    others: &[[Beside; 2]],
    alone: bool,
) -> Option<Kernel> {
    let mut made = kernel.clone();
    let first_edge = made.captures.len() + faces.iter().map(|face| face.kernel.captures.len()).sum::<usize>();
    let edge = |number: usize| (first_edge + number) as u32;
    let mut known = Vec::with_capacity(faces.len());
    for face in faces {
        let (captures, tables) = (made.captures.len(), made.args.len() as u32);
        made.captures.extend(face.kernel.captures.iter().cloned());
        let reads = inwards(face.kernel, face.analysis, face.across(), &|_| None)?;
        let furthest = reads.into_iter().map(Inwards::cells).max().unwrap_or(1);
        made.args.extend(face.tables());
        let (function, entries) = function(&mut made, face, (&steps.element, furthest))?;
        let entries = entries.into_iter().map(|entry| entry.moved(tables)).collect();
        let GhostKernel { kernel, axis, high, layers, .. } = *face;
        let (coordinates, captures) = (coordinates(kernel), captures..made.captures.len());
        let edge = edge(known.len());
        known.push(Known { axis, high, layers, captures, function, furthest, coordinates, entries, edge });
    }
    for (axis, sides) in others.iter().enumerate() {
        for (high, other) in [false, true].into_iter().zip(sides) {
            let Beside::Negated(parts) = *other else { continue };
            let function = negated(&mut made, (axis, high), (&steps.element, parts));
            let edge = edge(known.len());
            known.push(Known {
                axis,
                high,
                layers: FURTHEST,
                captures: 0..0,
                function,
                furthest: 1,
                coordinates: 0,
                entries: Vec::new(),
                edge,
            });
        }
    }
    for number in 0..known.len() {
        made.captures.push(Capture::of_launch(format!("edge{number}"), Type::Scalar(ScalarType::I64)));
    }
    let mut beside = vec![[(Beside::Unknown, 0); 2]; others.len()];
    for (axis, sides) in others.iter().enumerate() {
        for (side, other) in sides.iter().enumerate() {
            beside[axis][side] = (*other, made.captures.len() as u32);
            if matches!(other, Beside::Fixed | Beside::Filled(_)) {
                made.captures.push(Capture::of_launch(format!("face{axis}_{side}"), Type::Scalar(ScalarType::I64)));
            }
        }
    }
    let tables = tables::captures(&mut made, kernel.args.len());
    let reach = &steps.reach()[4 - steps.rank..];
    let mut beyond = Vec::new();
    for side in 0..2 * steps.rank {
        let is_it = |known: &Known| (known.axis, known.high) == (side / 2, side % 2 == 1);
        let far = if known.iter().any(is_it) { reach[side / 2][side % 2] } else { 0 };
        beyond.push(made.captures.len() as u32);
        let name = |by: u8| format!("beyond{}_{}_{by}", side / 2, side % 2);
        made.captures.extend((1..=far).map(|by| {
            let beyond = alone.then_some((side / 2, side % 2, by.into()));
            Capture { beyond, ..Capture::of_launch(name(by), Type::Scalar(ScalarType::Bool)) }
        }));
    }
    let either = alone.then(|| alone::either(&mut made, steps.scalar));
    for (id, number) in &steps.reads {
        let offset = &steps.offsets.get(*number)?[3 - steps.rank..];
        let (read, element) = (kernel.body[*id].clone(), &steps.element);
        let (body, captures, faces, others, beyond) =
            (&mut made.body, &made.captures[..], &known[..], &beside[..], &beyond[..]);
        Read { body, captures, read, element, faces, others, reach, offset, beyond, tables, either }.replace(*id)?;
    }
    Some(made)
}

impl Inwards {
    /// The cells in a line inwards up to this one; a mirrored one is the first that is there.
    fn cells(self) -> i64 {
        match self {
            Inwards::By(far) => far,
            Inwards::Mirrored(_) => 1,
        }
    }
}

impl GhostKernel<'_> {
    /// The axis that it is across, and the way inwards.
    fn across(&self) -> (usize, i64) {
        (self.axis, if self.high { -1 } else { 1 })
    }
}

/// A face, and what of it the kernel has.
struct Known {
    axis: usize,
    high: bool,
    layers: i64,
    /// What its function is given of captured values.
    captures: Range<usize>,
    function: u32,
    /// How many cells inwards the furthest one is that it reads.
    furthest: i64,
    /// Axes whose coordinates it computes with, as bits.
    coordinates: u8,
    /// What it takes of tables.
    entries: Vec<Entry>,
    /// The captured value that says where it is.
    edge: u32,
}

/// A read that may be of a ghost.
struct Read<'a> {
    body: &'a mut Body,
    read: Expr,
    captures: &'a [Capture],
    /// What it reads a component of.
    element: &'a ElementType,
    faces: &'a [Known],
    /// What is beyond other faces, and the captured value that says where those are that a fill sets.
    others: &'a [[(Beside, u32); 2]],
    /// What the step reads around its cell.
    reach: &'a [[u8; 2]],
    /// What it reads, from the cell.
    offset: &'a [i64],
    /// For each face the captured value that says whether the cell next to it that way lies beyond it; those of cells
    /// further away follow.
    beyond: &'a [u32],
    /// The first argument that is a table of a face, and the captured value that says where its entries begin; the
    /// number of the last one, and those of other tables, follow.
    tables: (u32, u32),
    /// If nothing else stands for ghosts, the function that gives one of two values.
    either: Option<u32>,
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
        let is_it = |known: &Known| known.axis == axis && known.high == (by > 0);
        if by == 0 { None } else { self.faces.iter().position(is_it) }
    }

    /// What is beyond the face that what is at an offset may lie beyond along an axis, if no kernel sets it.
    fn beside(&self, offset: &[i64], axis: usize) -> (Beside, u32) {
        self.others.get(axis).map_or((Beside::Unknown, 0), |sides| sides[usize::from(offset[axis] > 0)])
    }

    /// Whether what is at an offset lies within the faces of fixed values across axes before this one: beyond them
    /// there is that value, as there is beside.
    fn within_fixed(&mut self, offset: &[i64], before: usize, mut so_far: ExprId) -> ExprId {
        for axis in 0..before {
            let (beside, edge) = self.beside(offset, axis);
            if offset[axis] == 0 || self.face(offset, axis).is_some() || beside != Beside::Fixed {
                continue;
            }
            let (at, edge) = (self.at(offset, axis), self.push(ScalarType::I64, ExprKind::Capture(edge)));
            let op = if offset[axis] > 0 { CompareOp::Lt } else { CompareOp::Ge };
            let within = self.push(ScalarType::Bool, ExprKind::Compare(op, at, edge));
            so_far = self.push(ScalarType::Bool, ExprKind::And(so_far, within));
        }
        so_far
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

    /// The same of the cell of the domain that a ghost there follows from along that axis.
    fn within(&mut self, offset: &[i64], axis: usize) -> ExprId {
        let at = self.at(offset, axis);
        if let Some(known) = self.face(offset, axis).map(|number| &self.faces[number]) {
            let (edge, high, mirrors) = (known.edge, known.high, known.layers > 1);
            return if mirrors { self.mirrored_at(at, edge, high) } else { self.nearest_to(at, edge, high) };
        }
        let (high, sides) = (offset[axis] > 0, self.others.get(axis).copied());
        match (self.beside(offset, axis), sides) {
            _ if offset[axis] == 0 => at,
            ((Beside::Filled(Face::Even), edge), _) => self.mirrored_at(at, edge, high),
            ((Beside::Filled(Face::Nearest), edge), _) => self.nearest_to(at, edge, high),
            ((Beside::Filled(_), edge), Some([(_, low), (_, end)])) => self.around(at, edge, (low, end), high),
            _ => at,
        }
    }

    /// What is as far inside of a face, which a captured value is the edge of, as `at` is outside; else `at`.
    fn mirrored_at(&mut self, at: ExprId, edge: u32, high: bool) -> ExprId {
        let edge = self.push(ScalarType::I64, ExprKind::Capture(edge));
        let (two, back) = (self.long(2), self.long(-1));
        let twice = self.push(ScalarType::I64, ExprKind::Binary(BinaryOp::Mul, edge, two));
        let last = self.push(ScalarType::I64, ExprKind::Binary(BinaryOp::Add, twice, back));
        let other = self.push(ScalarType::I64, ExprKind::Binary(BinaryOp::Sub, last, at));
        let inside = if high { Method::Min } else { Method::Max };
        self.push(ScalarType::I64, ExprKind::Method(inside, vec![at, other]))
    }

    /// The last one inside of a face if `at` is outside; else `at`.
    fn nearest_to(&mut self, at: ExprId, edge: u32, high: bool) -> ExprId {
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

    /// What is as far from the other end of the axis, of these edges, if `at` is outside of one; else `at`.
    fn around(&mut self, at: ExprId, edge: u32, (low, end): (u32, u32), high: bool) -> ExprId {
        let [edge, low, end] = [edge, low, end].map(|edge| self.push(ScalarType::I64, ExprKind::Capture(edge)));
        let all = self.push(ScalarType::I64, ExprKind::Binary(BinaryOp::Sub, end, low));
        let (op, way) = if high { (CompareOp::Ge, BinaryOp::Sub) } else { (CompareOp::Lt, BinaryOp::Add) };
        let outside = self.push(ScalarType::Bool, ExprKind::Compare(op, at, edge));
        let times = self.push(ScalarType::I64, ExprKind::Cast(outside));
        let by = self.push(ScalarType::I64, ExprKind::Binary(BinaryOp::Mul, all, times));
        self.push(ScalarType::I64, ExprKind::Binary(way, at, by))
    }

    /// The coordinate along an axis of a ghost at an offset, for the kernel that sets it beyond a face across another
    /// one. None if that kernel does not set what is there.
    fn ghost_at(&mut self, offset: &[i64], axis: usize, number: usize) -> Option<ExprId> {
        let known = &self.faces[number];
        let (used, before) = (known.coordinates >> axis & 1 == 1, axis < known.axis);
        if before && offset[axis] != 0 && self.face(offset, axis).is_none() {
            // What lies beyond both is what is beyond the axis before.
            match self.beside(offset, axis).0 {
                Beside::Filled(_) | Beside::Fixed => {}
                _ => return None,
            }
        }
        Some(match (used, before) {
            (false, _) => self.long(0),
            // What lies beyond an axis before is set later, from this ghost or one elsewhere.
            (true, true) => self.within(offset, axis),
            (true, false) => self.at(offset, axis),
        })
    }

    /// Whether what is so far away from the cell lies beyond a face.
    fn lies_beyond(&mut self, axis: usize, high: bool, far: i64) -> Option<ExprId> {
        let first = *self.beyond.get(2 * axis + usize::from(high))?;
        Some(self.push(ScalarType::Bool, ExprKind::Capture(first + far as u32 - 1)))
    }

    /// What memory has at an offset: all components.
    fn load(&mut self, offset: &[i64]) -> Option<ExprId> {
        if let Some(either) = self.either {
            return self.standing(offset, either);
        }
        let ExprKind::Load { arg, index, .. } = self.read.kind.clone() else { return None };
        let index = match offset == self.offset {
            true => index,
            false => (0..offset.len()).map(|axis| self.at(offset, axis)).collect(),
        };
        let (ty, span) = (Type::of_element(self.element), self.read.span);
        let mut base = 0;
        Some(whole(self.body, &ty, span, &mut |body, ty| {
            let component = Component { base, dynamic: Vec::new() };
            base += 1;
            push(body, ty, span, ExprKind::Load { arg, index: index.clone(), component })
        }))
    }

    /// What is at an offset once kernels have set the ghosts beyond faces across axes from this one on: the last axis
    /// first, as ghosts are set.
    fn value(&mut self, offset: &[i64], from: usize) -> Option<ExprId> {
        let found = (from..offset.len()).find_map(|axis| Some((axis, self.face(offset, axis)?)));
        let Some((axis, number)) = found else { return self.load(offset) };
        let Known { ref captures, function, furthest, high, layers, .. } = self.faces[number];
        let by = Some(offset[axis]).filter(|by| by.abs() <= layers)?;
        let beyond = self.lies_beyond(axis, high, by.abs())?;
        let mut given = vec![self.within_fixed(offset, axis, beyond)];
        for far in 1..=furthest {
            let mut inside = offset.to_vec();
            // In place of the ghost itself the first cell is read that it follows from.
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
        for capture in captures.clone() {
            let ty = &self.captures.get(capture)?.ty;
            given.push(push(self.body, ty, self.read.span, ExprKind::Capture(capture as u32)));
        }
        for entry in &self.faces[number].entries {
            given.push(self.entry(entry, offset, number)?);
        }
        let ty = Type::of_element(self.element);
        Some(push(self.body, &ty, self.read.span, ExprKind::Call(function, given)))
    }

    /// Has the read become what is there.
    fn replace(&mut self, id: ExprId) -> Option<()> {
        if (0..self.offset.len()).any(|axis| self.face(self.offset, axis).is_some()) {
            let ExprKind::Load { component: Component { base, dynamic }, .. } = &self.read.kind else { return None };
            let (base, known) = (*base, dynamic.is_empty());
            let value = self.value(self.offset, 0).filter(|_| known)?;
            let value = part(self.body, value, base);
            self.body.exprs[id.0 as usize].kind = self.body[value].kind.clone();
        }
        Some(())
    }
}

/// The function of a face beyond which a fill mirrors and negates some components: as of a face that a kernel sets.
/// Gives its number.
fn negated(made: &mut Kernel, (axis, high): (usize, bool), (element, parts): (&ElementType, u64)) -> u32 {
    let (value, long, span) = (Type::of_element(element), Type::Scalar(ScalarType::I64), Span::default());
    let mut body = Body::default();
    let mut local = |name: String, ty: &Type| {
        body.locals.push(Local { name, ty: ty.clone() });
        body.locals.len() as LocalId - 1
    };
    let is = local("_beyond".into(), &Type::Scalar(ScalarType::Bool));
    let inside = local("_inside0".into(), &value);
    let at = (0..made.rank).map(|axis| local(format!("_at{axis}"), &long)).collect::<Vec<_>>();
    let ghost = local("_ghost".into(), &value);
    let beyond = push(&mut body, &Type::Scalar(ScalarType::Bool), span, ExprKind::Local(is));
    let [first, last] = [inside, ghost].map(|local| push(&mut body, &value, span, ExprKind::Local(local)));
    let mut number = 0;
    let other = whole(&mut body, &value, span, &mut |body, ty| {
        let of = part(body, first, number);
        number += 1;
        let is_one = parts.checked_shr(number - 1).unwrap_or(0) & 1 == 1;
        if is_one { push(body, ty, span, ExprKind::Unary(UnaryOp::Neg, of)) } else { of }
    });
    let stmt = |kind| Stmt { span, kind };
    body.block = vec![
        stmt(StmtKind::Let(ghost, Some(first))),
        stmt(StmtKind::If(beyond, vec![stmt(StmtKind::Assign(ghost, Vec::new(), other))], Vec::new())),
        stmt(StmtKind::Return(Some(last))),
    ];
    let params = [is, inside].into_iter().chain(at).collect();
    let name = format!("mirrored{axis}{}", if high { "_high" } else { "_low" });
    made.functions.push(Function { name, file: made.file.clone(), params, result: value, body });
    made.functions.len() as u32 - 1
}

/// The function of a face: whether a place is beyond it, the values of so many cells inwards of it, the nearest one
/// first, the ghost's coordinates, what its kernel has captured and what it takes of tables give the value of the
/// place. Gives its number, and what it takes of tables.
fn function(
    made: &mut Kernel,
    face: &GhostKernel<'_>,
    (element, furthest): (&ElementType, i64),
) -> Option<(u32, Vec<Entry>)> {
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
    let value = Type::of_element(element);
    let is = local("_beyond".into(), Type::Scalar(ScalarType::Bool));
    let inside: Vec<LocalId> = (0..furthest).map(|far| local(format!("_inside{far}"), value.clone())).collect();
    let at: Vec<LocalId> =
        (0..kernel.rank).map(|axis| local(format!("_at{axis}"), Type::Scalar(ScalarType::I64))).collect();
    let captures: Vec<LocalId> =
        kernel.captures.iter().map(|capture| local(format!("_{}", capture.name), capture.ty.clone())).collect();
    let ghost = local("_ghost".into(), value.clone());
    let reads = Reads::of(face.analysis);
    let mut entries = Vec::new();
    // Loops that were written out leave expressions behind that no statement evaluates.
    for ExprId(number) in expressions(&body, &body.block) {
        let number = number as usize;
        called(&mut body.exprs[number], own);
        let span = body.exprs[number].span;
        body.exprs[number].kind = match &body.exprs[number].kind {
            ExprKind::Load { component, .. } if !component.dynamic.is_empty() => return None,
            ExprKind::Load { arg: 1.., .. } => {
                let entry = Entry::of(reads.get(ExprId(number as u32))?, &body.exprs[number].ty)?;
                body.locals.push(Local { name: format!("_entry{}", entries.len()), ty: entry.ty.clone() });
                entries.push(entry);
                ExprKind::Local(body.locals.len() as LocalId - 1)
            }
            ExprKind::Load { component: Component { base, .. }, .. } => {
                let base = *base;
                // What the analysis does not know of is never reached.
                let read = reads.get(ExprId(number as u32));
                let place = read.and_then(|(_, access)| place(&access.index, face.across(), &|_| None));
                let far = place.map_or(1, Inwards::cells);
                let cell = push(&mut body, &value, span, ExprKind::Local(*inside.get(far as usize - 1)?));
                let part = part(&mut body, cell, base);
                body[part].kind.clone()
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
    sets(&mut block, (ghost, &value), last)?;
    let stmt = |kind| Stmt { span, kind };
    body.block = vec![
        stmt(StmtKind::Let(ghost, Some(first))),
        stmt(StmtKind::If(beyond, block, Vec::new())),
        stmt(StmtKind::Return(Some(last))),
    ];
    let taken = body.locals.len() as LocalId - entries.len() as LocalId..body.locals.len() as LocalId;
    let params = [is].into_iter().chain(inside).chain(at).chain(captures).chain(taken).collect();
    let name = format!("ghost{}{}", face.axis, if face.high { "_high" } else { "_low" });
    made.functions.push(Function { name, file: kernel.file.clone(), params, result: value, body });
    Some((made.functions.len() as u32 - 1, entries))
}

/// Calls of functions that have moved.
fn called(expr: &mut Expr, by: u32) {
    if let ExprKind::Call(number, _) = &mut expr.kind {
        *number += by;
    }
}

/// Has statements set a local in place of their cell, and give `last` where they end; none of those that compute which
/// component they set.
fn sets(block: &mut [Stmt], (ghost, ty): (LocalId, &Type), last: ExprId) -> Option<()> {
    for stmt in block {
        match &mut stmt.kind {
            StmtKind::Store { component, value, .. } => {
                let path = Some(&component).filter(|component| component.dynamic.is_empty())?;
                let steps = parts(ty, path.base).into_iter().map(|(n, _)| Step::Part(n)).collect();
                stmt.kind = StmtKind::Assign(ghost, steps, *value);
            }
            StmtKind::Return(value) => *value = Some(last),
            StmtKind::If(_, then, otherwise) => {
                sets(then, (ghost, ty), last)?;
                sets(otherwise, (ghost, ty), last)?;
            }
            _ => {}
        }
    }
    Some(())
}

/// The parts that lead to a component of a value, with what each of them is.
fn parts(ty: &Type, component: u32) -> Vec<(u32, Type)> {
    let (mut found, mut ty, mut left) = (Vec::new(), ty.clone(), component as usize);
    loop {
        let next = match &ty {
            Type::Scalar(_) => return found,
            Type::Array(of, _) => {
                let size = of.components().max(1);
                let number = left / size;
                left %= size;
                Some((number, (**of).clone()))
            }
            Type::Tuple(of) => within(&mut left, of.iter()),
            Type::Struct(_, of) => within(&mut left, of.iter().map(|(_, ty)| ty)),
        };
        let Some((number, of)) = next else { return found };
        found.push((number as u32, of.clone()));
        ty = of;
    }
}

/// The part that a component is in, of parts one after the other; then its number there.
fn within<'a>(component: &mut usize, parts: impl Iterator<Item = &'a Type>) -> Option<(usize, Type)> {
    for (number, ty) in parts.enumerate() {
        let size = ty.components();
        if *component < size {
            return Some((number, ty.clone()));
        }
        *component -= size;
    }
    None
}

/// A component of a value.
fn part(body: &mut Body, value: ExprId, component: u32) -> ExprId {
    let Expr { ty, span, .. } = body[value].clone();
    parts(&ty, component).into_iter().fold(value, |of, (n, ty)| push(body, &ty, span, ExprKind::Part(of, n)))
}

/// A value made of its components, each of which `leaf` gives in turn.
fn whole(body: &mut Body, ty: &Type, span: Span, leaf: &mut dyn FnMut(&mut Body, &Type) -> ExprId) -> ExprId {
    let of: Vec<Type> = match ty {
        Type::Scalar(_) => return leaf(body, ty),
        Type::Array(of, count) => vec![(**of).clone(); *count],
        Type::Tuple(of) => of.to_vec(),
        Type::Struct(_, of) => of.iter().map(|(_, ty)| ty.clone()).collect(),
    };
    let made = of.iter().map(|ty| whole(body, ty, span, leaf)).collect();
    push(body, ty, span, ExprKind::Construct(made))
}

fn push(body: &mut Body, ty: &Type, span: Span, kind: ExprKind) -> ExprId {
    body.exprs.push(Expr { ty: ty.clone(), span, kind });
    ExprId(body.exprs.len() as u32 - 1)
}
