//! A step that computes the ghosts that it reads: what kernels set there after the step before, of the nearest cell of
//! the domain. So steps between which kernels set ghosts run as one launch, which never has these ghosts.

use std::ops::Range;
use std::sync::{Arc, PoisonError};

use smallvec::SmallVec;
use tida_kernels::element::ScalarType;
use tida_kernels::ir::{Beside, GhostKernel, with_ghosts, with_ghosts_alone};
use tida_kernels::plan::fuse::Face;
use tida_kernels::plan::{Plan, wide};
use tida_kernels::scalar::Value;

use super::capture::{CapturedValue, Captures};
use super::device::{DeviceArg, OnDevice};
use super::faces::{Domain, FaceLaunch, tables};
use super::fused::OneStep;
use super::native::NativeForm;
use super::prepare::Prepared;
use super::site::Site;
use super::step::Launch;
use super::sweep::SweepLaunch;
use super::tune;
use crate::device::core::DeviceCore;
use crate::error::Error;
use crate::grid::GridBox;
use crate::memory::node::{Done, Queue};
use crate::program::fuse::Sides;

/// A sweep, for launches of several steps; by itself it is the sweep.
struct Ghosted {
    sweep: Arc<dyn Launch>,
    prepared: Arc<Prepared>,
    captures: Captures,
    /// See [`Launch::alone`].
    alone: Option<Arc<Prepared>>,
    /// See [`Launch::set_tables`].
    tables: Range<usize>,
    /// What has set the ghosts of the array that it reads, in this order.
    faces: Vec<Arc<FaceLaunch>>,
    /// See [`Launch::negated`].
    negated: [[u64; 2]; 4],
}

/// A sweep that computes the ghosts that these kernels have set of the array that it reads around its cells, whose
/// domain this is, and those that a fill negates; none if it cannot.
pub(crate) fn ghosted(sweep: &Arc<dyn Launch>, faces: &[Arc<FaceLaunch>], domain: &Domain) -> Option<Arc<dyn Launch>> {
    let negated = negated(domain, faces);
    let (prepared, captures, alone, tables) = {
        let step = sweep.step()?;
        let of = faces.iter().map(|face| Some((face, face.launch.beside()?))).collect::<Option<SmallVec<[_; 6]>>>()?;
        let kernels = of.iter().map(|(_, step)| Arc::as_ptr(step.prepared) as usize).collect();
        // Those that fills set come after them.
        let others = domain.filled.as_flattened().iter().map(|face| Some(*face as usize));
        let others = others.chain([Some(domain.fixed.bits())]);
        let layers = of.iter().map(|(face, _)| usize::try_from(face.layers).ok());
        let sides = of.iter().map(|(face, _)| face.side).chain(layers).chain(others);
        let sides = sides.chain(negated.as_flattened().iter().map(|bits| usize::try_from(*bits).ok()));
        let key: (Vec<usize>, Vec<usize>) = (kernels, sides.collect::<Option<_>>()?);
        let mut made = step.prepared.with_ghosts_alone.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || made_alone(step.prepared, &of, (domain, &negated));
        let alone = match negated != [[0; 2]; 4] && has_room(step.prepared, domain, &of, &negated) {
            true => made.entry(key.clone()).or_insert_with(make).clone(),
            false => None,
        };
        drop(made);
        let mut made = step.prepared.with_ghosts.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || made_one(step.prepared, &of, (domain, &negated));
        let prepared = made.entry(key).or_insert_with(make).clone()?;
        let mut list = step.captures.list.clone();
        of.iter().for_each(|(_, step)| list.extend(step.captures.list.iter().cloned()));
        let edges = of.iter().map(|(face, _)| face.edge());
        let others = (0..8).filter(|side| negated.as_flattened()[*side] != 0).chain(beside(domain, &of, &negated));
        let others = others.map(|side| match side % 2 {
            0 => domain.cells.lo[side / 2],
            _ => domain.cells.hi[side / 2],
        });
        let edges = edges.chain(others);
        let long = |number: i64| CapturedValue::Scalar(Value::from_bits(ScalarType::I64, number as u64));
        list.extend(edges.map(long));
        let first = list.len();
        // Each table begins where its argument does, for now.
        let tables = of.iter().flat_map(|(face, _)| tables(&*face.launch));
        list.extend(tables.flat_map(|(_, length)| [0, length as i64 - 1]).map(long));
        let tables = first..list.len();
        // Which ghosts a cell reads the text knows.
        list.resize(prepared.kernel.captures.len(), CapturedValue::Scalar(Value::from_bits(ScalarType::Bool, 0)));
        (prepared, Captures { list }, alone, tables)
    };
    Some(Arc::new(Ghosted { sweep: sweep.clone(), prepared, captures, alone, tables, faces: faces.to_vec(), negated }))
}

/// Components of a cell of steps by themselves, at most, and cells that they read away from theirs: more than all cells
/// ask of, each of each, takes longer than what sets ghosts.
const MOST: (usize, i64) = (2, 1);

/// Whether there are as many cells between those faces as [`with_ghosts_alone`] asks for.
fn has_room(
    of: &Prepared,
    domain: &Domain,
    faces: &[(&Arc<FaceLaunch>, OneStep<'_>)],
    negated: &[[u64; 2]; 4],
) -> bool {
    let Some(steps) = &of.steps else { return false };
    let reach = steps.reach().map(|sides| i64::from(sides[0].max(sides[1]).max(1)));
    let negates = (0..8).filter(|side| negated.as_flattened()[*side] != 0);
    let mut sides = faces.iter().filter_map(|(face, _)| face.side).chain(negates);
    let is_wide = |side: usize| domain.cells.hi[side / 2] - domain.cells.lo[side / 2] >= 2 * reach[side / 2];
    sides.all(|side| reach[side / 2] <= MOST.1 && is_wide(side))
}

/// The components that a fill negates beyond faces whose ghosts no kernel sets.
fn negated(domain: &Domain, faces: &[Arc<FaceLaunch>]) -> [[u64; 2]; 4] {
    let mut negated = domain.negated;
    let set = faces.iter().filter_map(|face| face.side);
    set.for_each(|side| negated[side / 2][side % 2] = 0);
    negated
}

/// The faces of fixed values, and those beyond which a fill sets ghosts anew: the axis of four, times 2, and 1 for the
/// high face.
fn beside<'a>(
    domain: &'a Domain,
    faces: &'a [(&Arc<FaceLaunch>, OneStep<'_>)],
    negated: &'a [[u64; 2]; 4],
) -> impl Iterator<Item = usize> + 'a {
    let is_set = |side: usize| faces.iter().any(|(face, _)| face.side == Some(side));
    let is_one = |side: usize| domain.filled.as_flattened()[side] != Face::Memory || domain.fixed.has(side);
    (0..8).filter(move |side| is_one(*side) && negated.as_flattened()[*side] == 0 && !is_set(*side))
}

/// The kernels of faces, and what is beyond other faces, by axis.
type Around<'a> = (SmallVec<[GhostKernel<'a>; 6]>, SmallVec<[[Beside; 2]; 4]>);

/// What is around a step that is to compute ghosts.
fn around<'a>(
    of: &Prepared,
    faces: &'a [(&Arc<FaceLaunch>, OneStep<'_>)],
    (domain, negated): (&Domain, &[[u64; 2]; 4]),
) -> Option<Around<'a>> {
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
    // Beyond ends that belong together are cells of the other end, and none further on.
    let reach = steps.reach();
    let around = |axis: usize| domain.filled[axis].contains(&Face::Wrap);
    let far = |axis: usize| reach[axis].iter().any(|by| i64::from(*by) > domain.cells.hi[axis] - domain.cells.lo[axis]);
    if (0..4).any(|axis| around(axis) && far(axis)) {
        return None;
    }
    let set: Sides = beside(domain, faces, negated).collect();
    let beside = |side: usize| match domain.filled.as_flattened()[side] {
        _ if negated[side / 2][side % 2] != 0 => Beside::Negated(negated[side / 2][side % 2]),
        _ if !set.has(side) => Beside::Unknown,
        Face::Memory => Beside::Fixed,
        face => Beside::Filled(face),
    };
    Some((kernels, axes.map(|axis| [beside(2 * axis), beside(2 * axis + 1)]).collect()))
}

/// See [`Launch::alone`].
fn made_alone(
    of: &Prepared,
    faces: &[(&Arc<FaceLaunch>, OneStep<'_>)],
    around_it: (&Domain, &[[u64; 2]; 4]),
) -> Option<Arc<Prepared>> {
    // Each cell asks for each component.
    let steps = of.steps.as_ref().filter(|steps| steps.components() <= MOST.0)?;
    let (kernels, others) = around(of, faces, around_it)?;
    let mut made = Prepared::new(with_ghosts_alone(&of.kernel, steps, &kernels, &others)?).ok()?;
    // Few cells do more than the sweep, and a thread has one cell of a row.
    (made.saving, made.beside) = (of.saving, wide::Beside::ONE);
    Some(Arc::new(made))
}

fn made_one(
    of: &Prepared,
    faces: &[(&Arc<FaceLaunch>, OneStep<'_>)],
    around_it: (&Domain, &[[u64; 2]; 4]),
) -> Option<Arc<Prepared>> {
    let steps = of.steps.as_ref()?;
    let (kernels, others) = around(of, faces, around_it)?;
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

    fn alone(&self) -> Option<OneStep<'_>> {
        self.alone.as_ref().map(|prepared| OneStep { prepared, captures: &self.captures })
    }

    fn negated(&self) -> [[u64; 2]; 4] {
        self.negated
    }

    fn set_tables(&self) -> Range<usize> {
        self.tables.clone()
    }

    fn args(&self) -> SmallVec<[OnDevice<'_>; 8]> {
        let is_table = |arg: &OnDevice<'_>| matches!(arg.0, DeviceArg::Table(..));
        let mut all = self.sweep.args();
        all.extend(self.faces.iter().flat_map(|face| face.launch.args().into_iter().filter(is_table)));
        all
    }
}

/// Whether a step by itself that computes ghosts can be launched over these boxes now: else, where its kernel can be
/// compiled beside, that is begun if it was not, and the sweep reads ghosts meanwhile. So it does if the device's
/// compiler refuses it.
pub(crate) fn is_ready_alone(launch: &dyn Launch, device: &DeviceCore, boxes: &[(usize, GridBox<4>)]) -> bool {
    let Some(OneStep { prepared, captures }) = launch.alone() else { return false };
    let args = launch.args().into_iter().map(|arg| arg.0).collect();
    let of = SweepLaunch::usual(prepared, captures, NativeForm::default()).on(device, args);
    let wish = tune::wish(&of, device, boxes);
    // The text knows faces of the domain as ends of the launch.
    if of.plan_over(device, boxes, &wish).is_none_or(|(_, parts)| parts.len() > 1) {
        return false;
    }
    if device.compiler().is_beside() {
        return of.is_compiled(device, boxes, &wish).unwrap_or(false);
    }
    let ready = |mut plan: Plan| of.maps(device, &mut plan).and_then(|_| of.ready(device, &plan)).is_ok();
    of.plan_over(device, boxes, &wish).is_some_and(|(plan, _)| ready(plan))
}

/// Puts a step by itself that computes ghosts into a stream; the sweep if it is none.
///
/// # Errors
/// As [`Launch::enqueue`].
///
/// # Safety
/// As [`Launch::enqueue`].
pub(crate) unsafe fn enqueue_alone(
    launch: &Arc<dyn Launch>,
    queue: &Queue<'_>,
    boxes: &[(usize, GridBox<4>)],
) -> Result<Done, Error> {
    let Some(OneStep { prepared, captures }) = launch.alone() else {
        // SAFETY: handed on.
        return unsafe { launch.clone().enqueue(queue, boxes) };
    };
    let of = SweepLaunch::usual(prepared, captures, NativeForm::default());
    // SAFETY: the caller's promise; `check` has proven that what the sweep reads around its cells lies within the
    // region and its ghosts, and this reads no further; the kernels of faces were proven to read what lies inwards.
    unsafe { of.enqueue(queue, launch.args(), boxes, Arc::new(launch.clone())) }
}
