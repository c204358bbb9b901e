//! Kernels that set ghosts, as a part of the work before them.
//!
//! Ghosts beyond the last axis that follow from the cell beside each are set by the sweep that leaves those cells: by
//! itself such a kernel reads and writes a sector of memory in each row, for one value of each. The kernels of two
//! opposite faces are one launch: they do not wait for one another. Kernels of other faces of what a sweep leaves come
//! after it in its stream.

use std::sync::{Arc, PoisonError};

use smallvec::SmallVec;
use tida_kernels::element::ScalarType;
use tida_kernels::ir::{self, Access, GhostKernel, can_compute, reads_beside, with_faces, with_opposite};
use tida_kernels::plan::fuse::Faces;
use tida_kernels::plan::wide::Beside;
use tida_kernels::scalar::Value;

use super::capture::CapturedValue;
use super::device::DeviceArg;
use super::fused::{OneStep, args};
use super::joined::together;
use super::native::NativeForm;
use super::pieces::Boxes;
use super::prepare::Prepared;
use super::step::Launch;
use super::sweep::SweepLaunch;
use super::tune;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::memory::ghosts::planes::PlaneFacts;
use crate::memory::node::{Done, Queue, all_ended};
use crate::program::fuse::Sides;

/// The last one of four axes.
const LAST: usize = 3;

/// A kernel that sets the ghosts beyond one face, and goes with a sweep.
pub(crate) struct FaceLaunch {
    pub launch: Arc<dyn Launch>,
    /// The ghosts, with their region.
    pub ghosts: (usize, GridBox<4>),
    pub goes: Goes,
    /// If who reads these ghosts can compute them: the axis of four that the face is across, times 2, and 1 for the
    /// high face.
    pub side: Option<usize>,
    /// Why not, if they cannot.
    pub why: &'static str,
    /// Layers of them.
    pub layers: i64,
    /// The cells that it sets ghosts beside.
    pub domain: Domain,
}

/// The cells of a sweep beside which kernels set ghosts: all of one region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Domain {
    pub cells: GridBox<4>,
    /// What a fill sets ghosts anew to beyond the faces of the array; beyond others there is what memory holds.
    pub filled: Faces,
    /// Beyond these there are fixed values.
    pub fixed: Sides,
    /// Components that a fill negates where it mirrors: see [`PlaneFacts::negated`].
    pub negated: [[u64; 2]; 4],
}

impl Domain {
    /// The cells of an array of one region, and what is beyond its faces.
    pub fn of(cells: GridBox<4>, facts: Option<&PlaneFacts>) -> Domain {
        let (filled, fixed, negated) =
            facts.map_or_else(Default::default, |facts| (facts.filled(), facts.held(), facts.negated));
        Domain { cells, filled, fixed, negated }
    }

    /// Whether a fill negates components beyond some face.
    pub fn negates(&self) -> bool {
        self.negated != [[0; 2]; 4]
    }
}

/// How a kernel that sets ghosts goes with a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goes {
    /// Each ghost follows from the cell of the sweep beside it along the last axis: so far inwards, 1 from the low
    /// face, -1 from the high one.
    Beside(i64),
    /// The sweep sets the ghosts beyond the other face across this one of four axes; these are the high ones, or not.
    Opposite(usize, bool),
    /// It comes after the sweep that leaves the cells within the face across this axis, the high one or not, and after
    /// what goes with it so far.
    After(usize, bool),
}

/// The face of a domain that these are ghosts of: its axis, whether it is the high one, and how many layers they are.
fn face_of(ghosts: &GridBox<4>, Domain { cells: domain, .. }: &Domain) -> Option<(usize, bool, i64)> {
    let differs = |axis: &usize| (ghosts.lo[*axis], ghosts.hi[*axis]) != (domain.lo[*axis], domain.hi[*axis]);
    let axis = (0..=LAST).find(differs)?;
    match (ghosts.lo[axis], ghosts.hi[axis]) {
        (lo, hi) if hi == domain.lo[axis] && lo < hi => Some((axis, false, hi - lo)),
        (lo, hi) if lo == domain.hi[axis] && lo < hi => Some((axis, true, hi - lo)),
        _ => None,
    }
}

impl FaceLaunch {
    /// A kernel over these ghosts beside a domain that a sweep leaves, if each of them follows from the cell beside it
    /// alone.
    pub fn beside(launch: &Arc<dyn Launch>, ghosts: (usize, GridBox<4>), domain: &Domain) -> Option<FaceLaunch> {
        let (LAST, high, 1) = face_of(&ghosts.1, domain)? else { return None };
        let inwards = if high { -1 } else { 1 };
        let Prepared { kernel, analysis, .. } = &**launch.beside()?.prepared;
        let near = reads_beside(kernel, analysis, (kernel.rank.checked_sub(1)?, inwards));
        let (side, why) = known(side(launch, &ghosts.1, (LAST, high, 1)));
        let goes = Goes::Beside(inwards);
        near.then(|| FaceLaunch { launch: launch.clone(), ghosts, goes, side, why, layers: 1, domain: *domain })
    }

    /// A kernel over all ghosts of one face of the domain that a sweep leaves, whose arguments are that array and
    /// tables.
    pub fn after(launch: &Arc<dyn Launch>, ghosts: (usize, GridBox<4>), domain: &Domain) -> Option<FaceLaunch> {
        let (axis, high, layers) = face_of(&ghosts.1, domain)?;
        let Prepared { kernel, analysis, .. } = &**launch.beside()?.prepared;
        let mut others = kernel.args.iter().skip(1);
        let alone = others.all(|arg| arg.access == Access::Table);
        let plain = alone && analysis.complete && !analysis.may_fault && !analysis.counts;
        let (side, why) = known(side(launch, &ghosts.1, (axis, high, layers)));
        let goes = Goes::After(axis, high);
        plain.then(|| FaceLaunch { launch: launch.clone(), ghosts, goes, side, why, layers, domain: *domain })
    }

    /// A kernel over these ghosts, of the same arguments as one over those beyond the opposite face, which neither
    /// reads nor writes what this one writes.
    pub fn opposite(launch: &Arc<dyn Launch>, ghosts: (usize, GridBox<4>), first: &Swept<'_>) -> Option<FaceLaunch> {
        let [(region, others)] = first.1 else { return None };
        let cells = &ghosts.1;
        let mut differ =
            (0..=LAST).filter(|axis| (cells.lo[*axis], cells.hi[*axis]) != (others.lo[*axis], others.hi[*axis]));
        let (Some(axis), None) = (differ.next(), differ.next()) else { return None };
        let high = others.hi[axis] <= cells.lo[axis];
        let apart = high || cells.hi[axis] <= others.lo[axis];
        let plain = |launch: &Arc<dyn Launch>| {
            let analysis = &launch.beside()?.prepared.analysis;
            Some(analysis.complete && !analysis.may_fault && !analysis.counts)
        };
        let same = tables(&**launch).eq(tables(&**first.0));
        let fits = apart && same && *region == ghosts.0 && plain(launch) == Some(true) && plain(first.0) == Some(true);
        let goes = Goes::Opposite(axis, high);
        let domain = Domain::of(*others, None);
        let why = "it goes with the kernel of the opposite face";
        fits.then(|| FaceLaunch { launch: launch.clone(), ghosts, goes, side: None, why, layers: 1, domain })
    }

    /// The captured value that says which cells it is for.
    fn place(&self, boxes: &[(usize, GridBox<4>)]) -> i64 {
        match self.goes {
            Goes::Beside(inwards) => self.ghosts.1.lo[LAST] + inwards,
            Goes::Opposite(axis, true) => self.ghosts.1.lo[axis],
            Goes::Opposite(axis, false) => boxes.first().map_or(i64::MAX, |(_, cells)| cells.lo[axis]),
            Goes::After(..) => self.edge(),
        }
    }

    /// The coordinate, along the axis across, of the first cell beyond the face; the low face: of the first that is
    /// not.
    pub fn edge(&self) -> i64 {
        self.side.map_or(i64::MAX, |side| edge(&self.ghosts.1, side / 2, side % 2 == 1))
    }

    /// What sets the ghosts opposite to those that one before it sets, as one launch with that.
    fn opposite_of(&self, before: &FaceLaunch) -> Option<FaceLaunch> {
        FaceLaunch::opposite(&self.launch, self.ghosts, &(&before.launch, &[before.ghosts]))
    }
}

/// The tables among the arguments of a launch: their bytes, and how many entries they have.
pub(super) fn tables(launch: &dyn Launch) -> impl Iterator<Item = (Vec<u8>, usize)> {
    launch.args().into_iter().filter_map(|arg| match arg.0 {
        DeviceArg::Table(bytes, length) => Some((bytes, length)),
        _ => None,
    })
}

/// See [`FaceLaunch::edge`].
fn edge(ghosts: &GridBox<4>, axis: usize, high: bool) -> i64 {
    if high { ghosts.lo[axis] } else { ghosts.hi[axis] }
}

/// A side, or why it is none.
fn known(side: Result<usize, &'static str>) -> (Option<usize>, &'static str) {
    (side.ok(), side.err().unwrap_or_default())
}

/// See [`FaceLaunch::side`].
fn side(
    launch: &Arc<dyn Launch>,
    ghosts: &GridBox<4>,
    (axis, high, layers): (usize, bool, i64),
) -> Result<usize, &'static str> {
    let other = "it is no kernel over cells";
    let OneStep { prepared, captures } = launch.beside().ok_or(other)?;
    let Prepared { kernel, analysis, .. } = &**prepared;
    let across = (axis + kernel.rank).checked_sub(4).ok_or(other)?;
    let known = |number: u32| match captures.list.get(number as usize)? {
        CapturedValue::Scalar(Value::I64(value)) => Some(*value),
        _ => None,
    };
    let face = GhostKernel { kernel, analysis, axis: across, high, layers };
    can_compute(face, edge(ghosts, axis, high), &known).map(|()| 2 * axis + usize::from(high))
}

/// Whether a sweep may set ghosts of an array that it writes, which is one argument of it.
pub(crate) fn may_set(launch: &dyn Launch, array: usize, args: &[usize]) -> bool {
    let Some(part) = launch.part() else { return false };
    let Prepared { kernel, analysis, beside, .. } = &**part.prepared;
    let places = args.iter().enumerate().filter(|(_, arg)| **arg == array);
    let mut writes = places.map(|(number, _)| kernel.args.get(number).is_some_and(|arg| arg.access == Access::Write));
    let once = writes.next() == Some(true) && writes.next().is_none();
    once && analysis.complete && !analysis.may_fault && *beside == Beside::ONE
}

/// A sweep over boxes of regions.
pub(crate) type Swept<'a> = (&'a Arc<dyn Launch>, &'a [(usize, GridBox<4>)]);

/// Puts a sweep and the kernels that set ghosts with it into a stream: as one launch where that may be, else one after
/// the other.
///
/// # Errors
/// As [`Launch::enqueue`].
///
/// # Safety
/// As [`Launch::enqueue`] of all of them.
pub(crate) unsafe fn enqueue_with_faces(
    sweep: Swept<'_>,
    faces: &[Arc<FaceLaunch>],
    queue: &Queue<'_>,
) -> Result<Done, Error> {
    let after = faces.iter().position(|face| matches!(face.goes, Goes::After(..))).unwrap_or(faces.len());
    let (with, after) = faces.split_at(after);
    // SAFETY: handed on; what a face reads is written before it in this stream.
    unsafe { before_faces(|| together_or_apart(sweep, with, queue), after, queue) }
}

/// Puts work into a stream, and after it kernels that set ghosts of what it leaves.
///
/// # Errors
/// Those of the work; as [`Launch::enqueue`].
///
/// # Safety
/// As [`Launch::enqueue`] of all of them.
pub(crate) unsafe fn before_faces(
    work: impl FnOnce() -> Result<Vec<Done>, Error>,
    faces: &[Arc<FaceLaunch>],
    queue: &Queue<'_>,
) -> Result<Done, Error> {
    let ends = queue.enqueue(|| {
        let mut ends = work()?;
        // SAFETY: handed on.
        ends.extend(unsafe { enqueue_faces(faces, queue) }?);
        Ok(ends)
    })?;
    Ok(Box::new(move || all_ended(ends)))
}

/// Puts kernels that set ghosts into a stream, one after the other; those of opposite faces are one launch.
///
/// # Errors
/// As [`Launch::enqueue`].
///
/// # Safety
/// As [`Launch::enqueue`] of all of them.
unsafe fn enqueue_faces(faces: &[Arc<FaceLaunch>], queue: &Queue<'_>) -> Result<Vec<Done>, Error> {
    let (mut ends, mut left) = (Vec::new(), faces);
    while let Some((first, rest)) = left.split_first() {
        let native = queue.device.backend().facts().native;
        let second = rest.first().filter(|_| !native).and_then(|second| second.opposite_of(first)).map(Arc::new);
        left = if second.is_some() { &rest[1..] } else { rest };
        let with = second.into_iter().collect::<SmallVec<[_; 1]>>();
        // SAFETY: handed on.
        ends.extend(unsafe { together_or_apart((&first.launch, &[first.ghosts]), &with, queue)? });
    }
    Ok(ends)
}

/// Puts a sweep and the kernels that are a part of its launch into a stream, as one launch or one after the other.
///
/// # Errors
/// As [`Launch::enqueue`].
///
/// # Safety
/// As [`Launch::enqueue`] of all of them.
unsafe fn together_or_apart(
    sweep: Swept<'_>,
    faces: &[Arc<FaceLaunch>],
    queue: &Queue<'_>,
) -> Result<Vec<Done>, Error> {
    // SAFETY: handed on.
    if let Some(done) = (!faces.is_empty()).then(|| unsafe { as_one(sweep, faces, queue) }).flatten() {
        queue.device.counts.joined(if done.is_ok() { faces.len() as u64 } else { 0 });
        return Ok(vec![done?]);
    }
    let (launch, boxes) = sweep;
    // SAFETY: handed on; what a face reads is written before it in this stream.
    let mut ends = vec![unsafe { launch.clone().enqueue(queue, boxes)? }];
    for face in faces {
        // SAFETY: as above.
        ends.push(unsafe { face.launch.clone().enqueue(queue, &[face.ghosts])? });
    }
    Ok(ends)
}

/// The same as one launch; none if nothing was launched.
///
/// # Safety
/// As [`enqueue_with_faces`].
unsafe fn as_one(
    (launch, boxes): Swept<'_>,
    faces: &[Arc<FaceLaunch>],
    queue: &Queue<'_>,
) -> Option<Result<Done, Error>> {
    let kernel = prepared(&**launch, faces)?;
    let mut launches: Vec<Arc<dyn Launch>> =
        [launch].into_iter().chain(faces.iter().map(|face| &face.launch)).cloned().collect();
    let mut all = Boxes::from(boxes);
    // The kernel of opposite faces has the arguments of the low one first, and runs over both.
    if let [face] = faces
        && let Goes::Opposite(_, high) = face.goes
    {
        all.push(face.ghosts);
        if !high {
            launches.reverse();
        }
    }
    let mut captures = together(launches.iter().map(|launch| launch.beside()).collect::<Option<SmallVec<[_; 3]>>>()?);
    let at =
        |face: &Arc<FaceLaunch>| CapturedValue::Scalar(Value::from_bits(ScalarType::I64, face.place(boxes) as u64));
    captures.list.extend(faces.iter().map(at));
    let boxes = &*all;
    let both = || SweepLaunch::usual(&kernel, &captures, NativeForm { sweeps: &launches, fold: None });
    if queue.device.compiler().is_beside() {
        let both = both().at(queue, args(&launches, &kernel));
        let wish = tune::wish(&both, queue.device, boxes);
        if !both.is_compiled(queue.device, boxes, &wish).unwrap_or(false) {
            return None;
        }
    }
    let held = Arc::new(launches.clone());
    // SAFETY: the caller's promise; `check` has proven every access of all kernels in range, and a cell at an end of
    // the last axis sets the ghost that the kernel of that end has proven for it.
    match unsafe { both().enqueue(queue, args(&launches, &kernel), boxes, held) } {
        Err(error) if matches!(error.kind(), ErrorKind::Kernel | ErrorKind::Memory) => None,
        done => Some(done),
    }
}

/// The kernel of a sweep and its faces; none if they cannot be one.
fn prepared(sweep: &dyn Launch, faces: &[Arc<FaceLaunch>]) -> Option<Arc<Prepared>> {
    let of = sweep.beside()?.prepared;
    let steps = faces.iter().map(|face| face.launch.beside()).collect::<Option<SmallVec<[_; 2]>>>()?;
    let places = faces.iter().map(|face| match face.goes {
        Goes::Beside(inwards) => usize::from(inwards > 0),
        Goes::Opposite(axis, high) | Goes::After(axis, high) => 2 + 2 * axis + usize::from(high),
    });
    let key = (steps.iter().map(|step| Arc::as_ptr(step.prepared) as usize).collect(), places.collect());
    let mut made = of.with_faces.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || {
        let kernels = steps.iter().map(|step| &step.prepared.kernel);
        let kernel = match faces.first()?.goes {
            Goes::Opposite(axis, high) => {
                let other = kernels.into_iter().next()?;
                let (low, high) = if high { (&of.kernel, other) } else { (other, &of.kernel) };
                with_opposite(low, high, (axis + low.rank).checked_sub(4)? as u32)?
            }
            _ => {
                let written = of.kernel.args.iter().position(|arg| arg.access == Access::Write)?;
                let faces = kernels.zip(faces).filter_map(|(kernel, face)| match face.goes {
                    Goes::Beside(inwards) => Some(ir::FaceKernel { kernel, inwards }),
                    Goes::Opposite(..) | Goes::After(..) => None,
                });
                with_faces(&of.kernel, written, &faces.collect::<SmallVec<[_; 2]>>())?
            }
        };
        let arguments = (0..kernel.args.len()).map(|number| (0, number)).collect();
        let mut made = Prepared::proven(kernel).ok()?;
        // A thread has one cell of a row, and positions of its own.
        (made.from, made.beside, made.joint) = (Some(arguments), Beside::ONE, false);
        Some(Arc::new(made))
    };
    made.entry(key).or_insert_with(make).clone()
}
