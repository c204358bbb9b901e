//! A reduction of what a sweep has just left, as one launch with it on a device: what both read, or one writes and the
//! other reads, is read once.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use tida_kernels::ir::{Access, Joined, join_value};
use tida_kernels::plan::join::ends;

use super::capture::Captures;
use super::device::DeviceLaunch;
use super::folded::{Cells, Folded};
use super::fused::{OneStep, args};
use super::joined::{numbers, together, waits_for_no_more};
use super::native::{NativeFold, NativeForm};
use super::prepare::Prepared;
use super::step::Launch;
use super::sweep::SweepLaunch;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::memory::node::{Done, Queue};

/// A reduction that a sweep may end with.
pub(crate) struct Ending {
    prepared: Arc<Prepared>,
    captures: Captures,
    /// What its arguments are known by.
    args: SmallVec<[usize; 8]>,
    cells: Cells,
    /// What a sweep has left of it.
    left: Mutex<Option<Folded>>,
    native: Arc<dyn NativeFold>,
}

impl fmt::Debug for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ending").field("cells", &self.cells).field("left", &self.left).finish_non_exhaustive()
    }
}

impl Ending {
    /// A reduction that reads arrays at the cell alone; none of any other.
    pub fn new(
        prepared: &Arc<Prepared>,
        captures: &Captures,
        args: &[usize],
        (cells, proven): (&Cells, bool),
        native: &Arc<dyn NativeFold>,
    ) -> Option<Arc<Ending>> {
        let analysis = &prepared.analysis;
        let near = prepared
            .kernel
            .args
            .iter()
            .zip(&analysis.args)
            .all(|(arg, usage)| arg.access == Access::Read && usage.accesses.iter().all(|access| access.at_cell));
        let plain = analysis.complete && !analysis.may_fault && !prepared.is_coded;
        (proven && near && plain).then(|| {
            let captures = Captures { list: captures.list.clone() };
            let (prepared, cells, args) = (prepared.clone(), cells.clone(), args.into());
            Arc::new(Ending { prepared, captures, args, cells, left: Mutex::default(), native: native.clone() })
        })
    }

    /// What its arguments are known by.
    pub fn args(&self) -> &[usize] {
        &self.args
    }

    /// The cells of each region.
    pub fn boxes(&self) -> &[(usize, GridBox<4>)] {
        &self.cells.boxes
    }

    fn step(&self) -> OneStep<'_> {
        OneStep { prepared: &self.prepared, captures: &self.captures }
    }

    /// The kernel of a sweep with what its arguments are known by, and of this; none if they had better run by
    /// themselves.
    pub fn after(&self, (sweep, arrays): (OneStep<'_>, &[usize])) -> Option<Arc<Prepared>> {
        if !waits_for_no_more(&self.step(), &sweep) {
            return None;
        }
        let arrays = numbers([arrays, &self.args]);
        let key = (vec![Arc::as_ptr(&self.prepared) as usize], arrays.concat());
        let mut made = sweep.prepared.joins.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let of = sweep.prepared;
            if of.is_coded || of.analysis.may_fault || !of.analysis.complete {
                return None;
            }
            let [own, others] = [arrays.first()?, arrays.get(1)?];
            let Joined { kernel, args } = join_value(&of.kernel, &self.prepared.kernel, [own, others])?;
            let mut made = Prepared::new(kernel).ok()?;
            made.from = Some(args);
            ends(&made.kernel, &made.analysis).then(|| Arc::new(made))
        };
        made.entry(key).or_insert_with(make).clone()
    }

    /// What a sweep has left of it, if one has.
    pub fn take(&self) -> Option<Folded> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Puts a sweep and this, which are `kernel`, into a stream. None if both are to run by themselves: nothing was
    /// launched then.
    ///
    /// # Errors
    /// What the device refuses.
    ///
    /// # Safety
    /// As [`Launch::enqueue`]; the boxes are those of both.
    pub unsafe fn enqueue(
        self: &Arc<Ending>,
        launch: &Arc<dyn Launch>,
        kernel: &Arc<Prepared>,
        queue: &Queue<'_>,
    ) -> Option<Result<Done, Error>> {
        let captures = together([launch.part()?, self.step()]);
        let launches = [launch.clone()];
        let sweep = SweepLaunch::usual(kernel, &captures, NativeForm { sweeps: &launches, fold: Some(&self.native) });
        let fold = DeviceLaunch { goal: self.cells.goal(), march: None, ..sweep.at(queue, args(&launches, kernel)) };
        if !fold.runs_now(queue.device, &self.cells.boxes) {
            return None;
        }
        // SAFETY: the caller's promise; `check` has proven every access of both kernels in range, for the same boxes.
        match unsafe { self.cells.enqueue(queue, fold) } {
            Ok(folded) => {
                *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Some(folded);
                let held = (self.clone(), launch.clone());
                Some(Ok(Box::new(move || {
                    drop(held);
                    Ok(())
                })))
            }
            Err(error) if matches!(error.kind(), ErrorKind::Kernel | ErrorKind::Memory) => None,
            Err(error) => Some(Err(error)),
        }
    }
}
