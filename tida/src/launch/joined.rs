//! Sweeps over the same cells as one launch on a device.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use tida_kernels::ir::{Joined, join};
use tida_kernels::plan::join::joins;

use super::capture::{CapturedValue, Captures};
use super::fused::{OneStep, args};
use super::native::NativeForm;
use super::prepare::Prepared;
use super::step::Launch;
use super::sweep::SweepLaunch;
use crate::error::Error;
use crate::grid::GridBox;
use crate::memory::node::{Done, Queue};

/// The kernels that come after one, by their addresses (they live as long as the program), and which arguments of all
/// of them are one array.
type After = (Vec<usize>, Vec<usize>);

/// Kernels joined with those that come after them; none where they had better run by themselves.
pub(crate) type Joins = Mutex<HashMap<After, Option<Arc<Prepared>>>>;

/// Whether values that a sweep waits for are waited for by one before it too.
pub(crate) fn waits_for_no_more(sweep: &OneStep<'_>, before: &OneStep<'_>) -> bool {
    let later = |of: &OneStep<'_>| -> Vec<*const crate::memory::node::Node> {
        let node = |capture: &CapturedValue| match capture {
            CapturedValue::Deferred(later) => Some(Arc::as_ptr(&later.node)),
            _ => None,
        };
        of.captures.list.iter().filter_map(node).collect()
    };
    let known = later(before);
    later(sweep).iter().all(|node| known.contains(node))
}

/// The kernel of sweeps that none of the others waits for, each with what its arguments are known by; none if they had
/// better run by themselves.
pub(crate) fn as_one(sweeps: &[(OneStep<'_>, &[usize])]) -> Option<Arc<Prepared>> {
    let ((first, _), others) = sweeps.split_first()?;
    let arrays = numbers(sweeps.iter().map(|(_, arrays)| *arrays));
    let key = (others.iter().map(|(of, _)| Arc::as_ptr(of.prepared) as usize).collect(), arrays.concat());
    let mut made = first.prepared.joins.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry(key).or_insert_with(|| made_one(sweeps, &arrays)).clone()
}

/// Numbers of arguments, one for each array.
pub(super) fn numbers<'a>(each: impl IntoIterator<Item = &'a [usize]>) -> Vec<Vec<usize>> {
    let mut known: Vec<usize> = Vec::new();
    let mut number = |array: &usize| {
        known.iter().position(|one| one == array).unwrap_or_else(|| {
            known.push(*array);
            known.len() - 1
        })
    };
    each.into_iter().map(|arrays| arrays.iter().map(&mut number).collect()).collect()
}

/// What kernels have captured, one after the other.
pub(super) fn together<'a>(steps: impl IntoIterator<Item = OneStep<'a>>) -> Captures {
    let list: SmallVec<_> = steps.into_iter().flat_map(|step| step.captures.list.iter().cloned()).collect();
    Captures { list }
}

fn made_one(sweeps: &[(OneStep<'_>, &[usize])], arrays: &[Vec<usize>]) -> Option<Arc<Prepared>> {
    let each: Vec<&Prepared> = sweeps.iter().map(|(of, _)| &**of.prepared).collect();
    // What a record of faults holds does not say whose they are; codes count what saturates by the number of an
    // argument.
    if each.iter().any(|of| of.is_coded || of.analysis.may_fault || !of.analysis.complete) {
        return None;
    }
    let kernels: Vec<_> = each.iter().map(|of| &of.kernel).collect();
    let arrays: Vec<&[usize]> = arrays.iter().map(Vec::as_slice).collect();
    let Joined { kernel, args } = join(&kernels, &arrays)?;
    let shared = kernels.iter().map(|kernel| kernel.args.len()).sum::<usize>() - args.len();
    let mut made = Prepared::new(kernel).ok()?;
    let savings: Vec<_> = each.iter().map(|of| &of.saving).collect();
    made.from = Some(args);
    joins(&made.kernel, &made.analysis, shared, (&made.saving, &savings)).then(|| Arc::new(made))
}

/// Sweeps as one launch of their kernel.
pub(crate) struct Joint<'a> {
    launches: &'a [Arc<dyn Launch>],
    prepared: &'a Arc<Prepared>,
    captures: Captures,
}

impl<'a> Joint<'a> {
    pub fn new(launches: &'a [Arc<dyn Launch>], prepared: &'a Arc<Prepared>) -> Joint<'a> {
        let captures = together(launches.iter().filter_map(|launch| launch.part()));
        Joint { launches, prepared, captures }
    }

    fn sweep(&self) -> SweepLaunch<'_> {
        SweepLaunch::usual(self.prepared, &self.captures, NativeForm { sweeps: self.launches, fold: None })
    }

    /// See [`DeviceLaunch::runs_now`](super::device::DeviceLaunch::runs_now).
    pub fn runs_now(&self, queue: &Queue<'_>, boxes: &[(usize, GridBox<4>)]) -> bool {
        self.sweep().at(queue, args(self.launches, self.prepared)).runs_now(queue.device, boxes)
    }

    /// Puts it into a stream.
    ///
    /// # Errors
    /// What the device refuses.
    ///
    /// # Safety
    /// As [`Launch::enqueue`] of each; none of the sweeps writes what another one touches.
    pub unsafe fn enqueue(&self, queue: &Queue<'_>, boxes: &[(usize, GridBox<4>)]) -> Result<Done, Error> {
        let (args, held) = (args(self.launches, self.prepared), Arc::new(self.launches.to_vec()));
        // SAFETY: handed on: `check` has proven every access of each of the kernels in range, for the same boxes.
        unsafe { self.sweep().enqueue(queue, args, boxes, held) }
    }
}
