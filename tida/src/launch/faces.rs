//! Ghosts beyond the faces of the last axis that kernels set from the cell beside each, as a part of the sweep that
//! leaves those cells: one launch with it on a device. By itself such a kernel reads and writes a sector of memory in
//! each row, for one value of each.

use std::sync::{Arc, PoisonError};

use smallvec::SmallVec;
use tida_kernels::element::ScalarType;
use tida_kernels::ir::{self, Access, reads_beside, with_faces};
use tida_kernels::plan::wide::Beside;
use tida_kernels::scalar::Value;

use super::capture::CapturedValue;
use super::fused::args;
use super::joined::together;
use super::native::NativeForm;
use super::prepare::Prepared;
use super::step::Launch;
use super::sweep::SweepLaunch;
use super::tune;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::memory::node::{Done, Queue};

/// The last one of four axes.
const LAST: usize = 3;

/// A kernel that sets the ghosts beyond one face of the last axis.
pub(crate) struct FaceLaunch {
    pub launch: Arc<dyn Launch>,
    /// The ghosts, with their region.
    pub ghosts: (usize, GridBox<4>),
    /// From a ghost to the cell beside it: 1 beyond the low face, -1 beyond the high one.
    pub inwards: i64,
}

impl FaceLaunch {
    /// A kernel over these ghosts of a domain, if each of them follows from the cell beside it alone.
    pub fn new(launch: &Arc<dyn Launch>, ghosts: (usize, GridBox<4>), domain: &GridBox<4>) -> Option<FaceLaunch> {
        let cells = &ghosts.1;
        let across = (0..LAST).all(|axis| (cells.lo[axis], cells.hi[axis]) == (domain.lo[axis], domain.hi[axis]));
        let inwards = match (cells.lo[LAST], cells.hi[LAST]) {
            (lo, hi) if hi == domain.lo[LAST] && lo == hi - 1 => 1,
            (lo, hi) if lo == domain.hi[LAST] && hi == lo + 1 => -1,
            _ => return None,
        };
        let kernel = launch.beside()?.prepared;
        let near = across && reads_beside(&kernel.kernel, &kernel.analysis, inwards);
        near.then(|| FaceLaunch { launch: launch.clone(), ghosts, inwards })
    }

    /// Coordinate of the cells beside its ghosts.
    fn cells_at(&self) -> i64 {
        self.ghosts.1.lo[LAST] + self.inwards
    }
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
type Swept<'a> = (&'a Arc<dyn Launch>, &'a [(usize, GridBox<4>)]);

/// Puts a sweep and the kernels that set ghosts beside what it leaves into a stream: as one launch where that may be,
/// else one after the other.
///
/// # Errors
/// As [`Launch::enqueue`].
///
/// # Safety
/// As [`Launch::enqueue`] of all of them.
pub(crate) unsafe fn enqueue_with_faces(
    sweep: Swept<'_>,
    faces: &[FaceLaunch],
    queue: &Queue<'_>,
) -> Result<Done, Error> {
    let (launch, boxes) = sweep;
    // SAFETY: handed on.
    if let Some(done) = unsafe { as_one(sweep, faces, queue) } {
        if done.is_ok() {
            queue.device.counts.joined(faces.len() as u64);
        }
        return done;
    }
    let ends = queue.enqueue(|| {
        // SAFETY: handed on; what a face reads is written before it in this stream.
        let mut ends = vec![unsafe { launch.clone().enqueue(queue, boxes)? }];
        for face in faces {
            // SAFETY: as above.
            ends.push(unsafe { face.launch.clone().enqueue(queue, &[face.ghosts])? });
        }
        Ok(ends)
    })?;
    Ok(Box::new(move || ends.into_iter().map(|end| end()).fold(Ok(()), Result::and)))
}

/// The same as one launch; none if nothing was launched.
///
/// # Safety
/// As [`enqueue_with_faces`].
unsafe fn as_one((launch, boxes): Swept<'_>, faces: &[FaceLaunch], queue: &Queue<'_>) -> Option<Result<Done, Error>> {
    let launches: Vec<Arc<dyn Launch>> =
        [launch].into_iter().chain(faces.iter().map(|face| &face.launch)).cloned().collect();
    let kernel = prepared(&**launch, faces)?;
    let steps = faces.iter().map(|face| face.launch.beside()).collect::<Option<SmallVec<[_; 2]>>>()?;
    let mut captures = together([launch.part()?].into_iter().chain(steps));
    let at = |face: &FaceLaunch| CapturedValue::Scalar(Value::from_bits(ScalarType::I64, face.cells_at() as u64));
    captures.list.extend(faces.iter().map(at));
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
fn prepared(sweep: &dyn Launch, faces: &[FaceLaunch]) -> Option<Arc<Prepared>> {
    let of = sweep.part()?.prepared;
    let steps = faces.iter().map(|face| face.launch.beside()).collect::<Option<SmallVec<[_; 2]>>>()?;
    let written = of.kernel.args.iter().position(|arg| arg.access == Access::Write)?;
    let ends = faces.iter().map(|face| usize::from(face.inwards > 0));
    let key = (steps.iter().map(|step| Arc::as_ptr(step.prepared) as usize).collect(), ends.collect());
    let mut made = of.with_faces.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || {
        let faces = steps.iter().zip(faces);
        let faces = faces.map(|(step, face)| ir::FaceKernel { kernel: &step.prepared.kernel, inwards: face.inwards });
        let kernel = with_faces(&of.kernel, written, &faces.collect::<SmallVec<[_; 2]>>())?;
        let arguments = (0..kernel.args.len()).map(|number| (0, number)).collect();
        let mut made = Prepared::proven(kernel).ok()?;
        // A thread has one cell of a row, and positions of its own.
        (made.from, made.beside, made.joint) = (Some(arguments), Beside::ONE, false);
        Some(Arc::new(made))
    };
    made.entry(key).or_insert_with(make).clone()
}
