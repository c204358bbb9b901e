//! A step that computes the ghosts that it reads: what kernels set there after the step before, of the nearest cell of
//! the domain. So steps between which kernels set ghosts run as one launch, which never has these ghosts.

use std::sync::{Arc, PoisonError};

use smallvec::SmallVec;
use tida_kernels::element::ScalarType;
use tida_kernels::ir::{Beside, GhostKernel, with_ghosts};
use tida_kernels::scalar::Value;

use super::capture::{CapturedValue, Captures};
use super::device::OnDevice;
use super::faces::{Domain, FaceLaunch};
use super::fused::OneStep;
use super::prepare::Prepared;
use super::site::Site;
use super::step::Launch;
use crate::error::Error;
use crate::grid::GridBox;
use crate::memory::node::{Done, Queue};
use crate::program::fuse::Sides;

/// A sweep, for launches of several steps; by itself it is the sweep.
struct Ghosted {
    sweep: Arc<dyn Launch>,
    prepared: Arc<Prepared>,
    captures: Captures,
    /// What has set the ghosts of the array that it reads, in this order.
    faces: Vec<Arc<FaceLaunch>>,
    /// See [`Launch::negated`].
    negated: [[u64; 2]; 4],
}

/// A sweep that computes the ghosts that these kernels have set of the array that it reads around its cells, whose
/// domain this is, and those that a fill negates; none if it cannot.
pub(crate) fn ghosted(sweep: &Arc<dyn Launch>, faces: &[Arc<FaceLaunch>], domain: &Domain) -> Option<Arc<dyn Launch>> {
    let negated = negated(domain, faces);
    let (prepared, captures) = {
        let step = sweep.step()?;
        let of = faces.iter().map(|face| Some((face, face.launch.beside()?))).collect::<Option<SmallVec<[_; 6]>>>()?;
        let kernels = of.iter().map(|(_, step)| Arc::as_ptr(step.prepared) as usize).collect();
        // Those that fills set come after them.
        let others = [domain.filled.bits(), domain.fixed.bits()].map(Some);
        let layers = of.iter().map(|(face, _)| usize::try_from(face.layers).ok());
        let sides = of.iter().map(|(face, _)| face.side).chain(layers).chain(others);
        let sides = sides.chain(negated.as_flattened().iter().map(|bits| usize::try_from(*bits).ok()));
        let sides = sides.collect::<Option<_>>()?;
        let mut made = step.prepared.with_ghosts.lock().unwrap_or_else(PoisonError::into_inner);
        let prepared =
            made.entry((kernels, sides)).or_insert_with(|| made_one(step.prepared, &of, (domain, &negated))).clone()?;
        let mut list = step.captures.list.clone();
        of.iter().for_each(|(_, step)| list.extend(step.captures.list.iter().cloned()));
        let edges = of.iter().map(|(face, _)| face.edge());
        let others = (0..8).filter(|side| negated.as_flattened()[*side] != 0).chain(fixed(domain, &of));
        let others = others.map(|side| match side % 2 {
            0 => domain.cells.lo[side / 2],
            _ => domain.cells.hi[side / 2],
        });
        let edges = edges.chain(others).map(|edge| Value::from_bits(ScalarType::I64, edge as u64));
        list.extend(edges.map(CapturedValue::Scalar));
        // Which ghosts a cell reads the text of steps knows.
        list.resize(prepared.kernel.captures.len(), CapturedValue::Scalar(Value::from_bits(ScalarType::Bool, 0)));
        (prepared, Captures { list })
    };
    Some(Arc::new(Ghosted { sweep: sweep.clone(), prepared, captures, faces: faces.to_vec(), negated }))
}

/// The components that a fill negates beyond faces whose ghosts no kernel sets.
fn negated(domain: &Domain, faces: &[Arc<FaceLaunch>]) -> [[u64; 2]; 4] {
    let mut negated = domain.negated;
    let set = faces.iter().filter_map(|face| face.side);
    set.for_each(|side| negated[side / 2][side % 2] = 0);
    negated
}

/// The faces of fixed values: the axis of four, times 2, and 1 for the high face.
fn fixed<'a>(domain: &'a Domain, faces: &'a [(&Arc<FaceLaunch>, OneStep<'_>)]) -> impl Iterator<Item = usize> + 'a {
    let is_set = |side: usize| faces.iter().any(|(face, _)| face.side == Some(side));
    (0..8).filter(move |side| domain.fixed.has(*side) && !is_set(*side))
}

fn made_one(
    of: &Prepared,
    faces: &[(&Arc<FaceLaunch>, OneStep<'_>)],
    (domain, negated): (&Domain, &[[u64; 2]; 4]),
) -> Option<Arc<Prepared>> {
    let steps = of.steps.as_ref().filter(|_| !of.is_coded)?;
    let mut kernels = SmallVec::<[GhostKernel<'_>; 6]>::new();
    for (face, step) in faces {
        let (side, kernel, analysis) = (face.side?, &step.prepared.kernel, &step.prepared.analysis);
        let (axis, high) = ((side / 2 + kernel.rank).checked_sub(4)?, side % 2 == 1);
        let again = kernels.iter().any(|known| (known.axis, known.high) == (axis, high));
        if again || kernel.args.first()?.element != of.kernel.args.get(steps.pair.1)?.element {
            return None;
        }
        kernels.push(GhostKernel { kernel, analysis, axis, high, layers: face.layers });
    }
    let axes = 4 - of.kernel.rank..4;
    let fixed: Sides = fixed(domain, faces).collect();
    let beside = |side: usize| match side {
        _ if negated[side / 2][side % 2] != 0 => Beside::Negated(negated[side / 2][side % 2]),
        _ if domain.filled.has(side) => Beside::Filled,
        _ if fixed.has(side) => Beside::Fixed,
        _ => Beside::Unknown,
    };
    let others: SmallVec<[_; 4]> = axes.map(|axis| [beside(2 * axis), beside(2 * axis + 1)]).collect();
    let mut made = Prepared::new(with_ghosts(&of.kernel, steps, &kernels, &others)?).ok()?;
    let found = made.steps.as_mut().filter(|found| found.pair == steps.pair)?;
    // Few blocks have ghosts near.
    let set = kernels.iter().map(|face| 2 * face.axis + usize::from(face.high));
    let others = others.as_flattened().iter().enumerate().filter(|(_, one)| matches!(one, Beside::Negated(_)));
    let sides: Sides = set.chain(others.map(|(side, _)| side)).collect();
    (found.work, found.computes) = (steps.work, sides.bits() as u8);
    for (offset, parts) in found.offsets.iter().zip(&mut found.parts) {
        let known = steps.offsets.iter().zip(&steps.parts).find(|(known, _)| *known == offset);
        *parts = known.map_or(0, |(_, parts)| *parts);
    }
    Some(Arc::new(made))
}

impl Launch for Ghosted {
    unsafe fn run(&self, region: usize, cells: GridBox<4>) -> Result<(), Error> {
        // SAFETY: handed on.
        unsafe { self.sweep.run(region, cells) }
    }

    unsafe fn run_on(&self, region: usize, cells: GridBox<4>, sites: &[Option<Site>]) -> Result<(), Error> {
        // SAFETY: handed on.
        unsafe { self.sweep.run_on(region, cells, sites) }
    }

    unsafe fn enqueue(self: Arc<Self>, queue: &Queue<'_>, boxes: &[(usize, GridBox<4>)]) -> Result<Done, Error> {
        // SAFETY: handed on.
        unsafe { self.sweep.clone().enqueue(queue, boxes) }
    }

    fn step(&self) -> Option<OneStep<'_>> {
        Some(OneStep { prepared: &self.prepared, captures: &self.captures })
    }

    fn ghosts(&self) -> &[Arc<FaceLaunch>] {
        &self.faces
    }

    fn negated(&self) -> [[u64; 2]; 4] {
        self.negated
    }

    fn args(&self) -> SmallVec<[OnDevice<'_>; 8]> {
        self.sweep.args()
    }
}
