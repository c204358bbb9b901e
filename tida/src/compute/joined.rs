//! Sweeps over the same cells as one launch on a device.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use tida_kernels::ir::{Joined, join};
use tida_kernels::plan::join::joins;

use super::cache::Hints;
use super::capture::{CapturedValue, Captures};
use super::device::SweepLaunch;
use super::fused::{OneStep, args};
use super::prepare::Prepared;
use crate::acc::node::{Done, Queue};
use crate::acc::sweep::Launch;
use crate::array::GridBox;
use crate::error::Error;

/// The kernels that come after one, by their addresses (they live as long as the program), and which arguments of all of them
/// are one array.
type After = (Vec<usize>, Vec<usize>);

/// Kernels joined with those that come after them; none where they had better run by themselves.
pub(crate) type Joins = Mutex<HashMap<After, Option<Arc<Prepared>>>>;

/// Whether values that a sweep waits for are waited for by one before it too.
pub(crate) fn waits_for_no_more(sweep: &OneStep<'_>, before: &OneStep<'_>) -> bool {
    let later = |of: &OneStep<'_>| -> Vec<*const crate::acc::node::Node> {
        let node = |capture: &CapturedValue| match capture {
            CapturedValue::Deferred(later) => Some(Arc::as_ptr(&later.node)),
            _ => None,
        };
        of.captures.list.iter().filter_map(node).collect()
    };
    let known = later(before);
    later(sweep).iter().all(|node| known.contains(node))
}

/// The kernel of sweeps that none of the others waits for, each with what its arguments are known by; none if they had better run by
/// themselves.
pub(crate) fn as_one(sweeps: &[(OneStep<'_>, &[usize])]) -> Option<Arc<Prepared>> {
    let ((first, _), others) = sweeps.split_first()?;
    let mut known: Vec<usize> = Vec::new();
    let mut number = |array: &usize| {
        known.iter().position(|one| one == array).unwrap_or_else(|| {
            known.push(*array);
            known.len() - 1
        })
    };
    let arrays: Vec<Vec<usize>> = sweeps.iter().map(|(_, arrays)| arrays.iter().map(&mut number).collect()).collect();
    let key = (others.iter().map(|(of, _)| Arc::as_ptr(of.prepared) as usize).collect(), arrays.concat());
    let mut made = first.prepared.joins.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry(key).or_insert_with(|| made_one(sweeps, &arrays)).clone()
}

fn made_one(sweeps: &[(OneStep<'_>, &[usize])], arrays: &[Vec<usize>]) -> Option<Arc<Prepared>> {
    let each: Vec<&Prepared> = sweeps.iter().map(|(of, _)| &**of.prepared).collect();
    // What a record of faults holds does not say whose they are; codes count what saturates by the number of an argument.
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

/// Puts sweeps into a stream as one launch of their kernel.
///
/// # Errors
/// What the device refuses.
///
/// # Safety
/// As [`Launch::enqueue`] of each; none of them writes what another one touches.
pub(crate) unsafe fn enqueue_joined(
    (launches, prepared): (&[Arc<dyn Launch>], &Arc<Prepared>),
    queue: &Queue<'_>,
    boxes: &[(usize, GridBox<4>)],
) -> Result<Done, Error> {
    let steps = launches.iter().filter_map(|launch| launch.part());
    let list: SmallVec<_> = steps.flat_map(|step| step.captures.list.iter().cloned()).collect();
    let captures = Captures { list };
    let sweep = SweepLaunch {
        prepared,
        captures: &captures,
        checked: false,
        valid_only: 0,
        block: None,
        march: None,
        cache: Hints::default(),
    };
    // SAFETY: handed on: `check` has proven every access of each of the kernels in range, for the same boxes.
    unsafe { sweep.enqueue(queue, args(launches, prepared), boxes, Arc::new(launches.to_vec())) }
}
