//! Sweeps that follow one another over the same boxes, of which none writes what another one touches: they run as one,
//! so that what several of them read is read once. On the host so do sweeps with an order along one axis that read of
//! what the others write cells of their own line alone: what one leaves of some lines, the next finds in a cache.
//!
//! Which ones is seen when open sweeps close, so nothing waits longer than it does anyway. Their nodes are nodes like
//! any other. Each says when it may run ([`Work::Shared`]); the last one to say so runs all of them: on a device as one
//! launch of one kernel (`launch/joined.rs`), on the host part by part. Where one of them cannot run, the others run
//! by themselves.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use tida_kernels::ir::Access;

use super::chains::OpenChain;
use super::driver::Core;
use super::fuse::Fusing;
use super::in_core::in_core;
use super::sweep::{LoopAsked, OpenSweep, OpenSweeps};
use crate::device::core::DeviceCore;
use crate::error::{Error, ErrorKind};
use crate::launch::fused::OneStep;
use crate::launch::joined::{Joint, as_one, waits_for_no_more};
use crate::launch::pieces::run_together;
use crate::launch::prepare::Prepared;
use crate::launch::step::Launch;
use crate::memory::node::{DeviceWork, Next, Node, Queue, Work};
use crate::memory::storage::Storage;
use crate::run::batch::OpenBatch;
use crate::run::gate::{Gate, Ready};
use crate::run::op::{Op, Sweep};

/// Sweeps that run as one.
pub(crate) struct Joined {
    /// The kernel of all of them, for a device.
    kernel: Option<Arc<Prepared>>,
    sweeps: Vec<(Arc<Node>, Arc<Sweep>)>,
}

/// How a launch of several sweeps went: none is there where it panicked, or was not tried.
type Outcome = OnceLock<Result<(), Error>>;

impl OpenSweep {
    /// Its kernel and what the arguments are known by.
    fn part(&self) -> Option<(OneStep<'_>, &[usize])> {
        Some((self.work.launch.part()?, &self.key.args))
    }

    /// Whether it may run as one with others.
    pub(super) fn may_join(&self) -> bool {
        self.is_plain() && self.work.turn.is_none() && self.work.faces.is_empty()
    }

    /// The same, whatever ghosts it sets and whether it is a step.
    pub(super) fn is_plain(&self) -> bool {
        let key = &self.key;
        let asked = key.asked != LoopAsked::default();
        let alone = key.checked || key.valid_only != 0 || asked || self.work.listed.is_some();
        !alone && self.node.chain.is_none() && self.pace.is_none() && self.ends.is_none()
    }

    /// Whether it may run as one with a sweep that was recorded before it: over the same boxes, each touching nothing
    /// that the other one writes, both reading around their cells one array at least, whose cuts are then those of
    /// both.
    fn joins(&self, before: &OpenSweep) -> bool {
        let arrays = || self.work.arrays.iter();
        let apart =
            || arrays().all(|array| before.work.array(&array.tracker).is_none_or(|old| !array.write && !old.write));
        let same = self.key.on_device == before.key.on_device && self.work.boxes() == before.work.boxes();
        if !same || !apart() {
            return false;
        }
        let (Some(part), Some(old)) = (self.work.launch.part(), before.work.launch.part()) else { return false };
        let read = |n: usize, of: &Prepared| of.kernel.args.get(n).is_some_and(|arg| arg.access == Access::Read);
        let shares = || {
            let own = self.key.args.iter().enumerate().filter(|(n, _)| read(*n, part.prepared));
            own.into_iter().any(|(_, array)| {
                before.key.args.iter().enumerate().any(|(n, other)| array == other && read(n, old.prepared))
            })
        };
        waits_for_no_more(&part, &old) && shares()
    }

    /// Whether it may run on the host as one with a sweep that was recorded before it, some lines after the others:
    /// both have an order along the same axis of the same boxes, and neither reads of what the other one writes but on
    /// its own lines.
    fn follows(&self, before: &OpenSweep) -> bool {
        let [own, old] = [self, before].map(|sweep| sweep.work.launch.line().zip(sweep.work.launch.order()));
        let (Some((own, order)), Some((old, other))) = (own, old) else { return false };
        let same = order.axis == other.axis && self.work.boxes == before.work.boxes;
        let here = !self.key.on_device && !before.key.on_device;
        here && same
            && waits_for_no_more(&own, &old)
            && reads_on_lines((&own, &self.key.args), (&old, &before.key.args), order.axis)
            && reads_on_lines((&old, &before.key.args), (&own, &self.key.args), order.axis)
    }
}

/// Whether a sweep with an order along an axis reads of what another one writes cells of its own line alone.
fn reads_on_lines(
    (sweep, args): (&OneStep<'_>, &[usize]),
    (other, others): (&OneStep<'_>, &[usize]),
    axis: usize,
) -> bool {
    let is_written =
        |array: &usize| others.iter().zip(&other.prepared.args).any(|(of, plan)| of == array && plan.written);
    let rank = sweep.prepared.kernel.rank;
    args.iter().zip(&sweep.prepared.args).filter(|(array, _)| is_written(array)).all(|(_, plan)| {
        // Of what it writes itself it reads its own line: all others were refused.
        let halo = plan.halo.unwrap_or_default();
        let stays = (0..rank).all(|d| d + 4 == axis + rank || halo[d] == (0, 0));
        plan.written || (plan.others.is_empty() && stays)
    })
}

impl Core {
    /// How many of these sweeps, from the first on, run as one, and the kernel that they have in common on a device.
    fn together(&self, open: &[Box<OpenSweep>]) -> (usize, Option<Arc<Prepared>>) {
        let Some((first, rest)) = open.split_first().filter(|_| self.rules.joins) else { return (1, None) };
        let on_device = first.key.on_device;
        // The CPU beside a device sweeps what the device has no room for.
        let fits = on_device || self.device.is_none();
        if !fits || !first.may_join() {
            return (1, None);
        }
        let (mut count, mut kernel) = (1, None);
        for next in rest {
            let before = &open[..count];
            let all = |may: fn(&OpenSweep, &OpenSweep) -> bool| before.iter().all(|before| may(next, before));
            if !next.may_join() || !(all(OpenSweep::joins) || all(OpenSweep::follows)) {
                break;
            }
            if on_device {
                let all: Option<Vec<_>> = open[..=count].iter().map(|sweep| sweep.part()).collect();
                let Some(made) = all.and_then(|all| as_one(&all)) else { break };
                kernel = Some(made);
            }
            count += 1;
        }
        (count, kernel)
    }

    /// The first of these sweeps take no more tiles, and whatever runs as one with them: all, or one at least.
    pub(super) fn close_some(
        self: &Arc<Core>,
        open: &mut OpenSweeps,
        all: bool,
        mut chain: Option<&mut OpenChain>,
        (fusing, batch): (&mut Fusing, &mut OpenBatch),
    ) {
        while !open.is_empty() {
            match self.together(open) {
                (1, _) => self.close(*open.remove(0), chain.as_deref_mut(), fusing),
                (count, kernel) => {
                    let lines = [&open[0], &open[count - 1]].map(|sweep| sweep.node.recorded);
                    batch.ran((count as u64, 1), lines);
                    self.join(open.drain(..count), kernel);
                }
            }
            if !all {
                break;
            }
        }
    }

    /// Makes sweeps one.
    fn join(self: &Arc<Core>, sweeps: impl Iterator<Item = Box<OpenSweep>>, kernel: Option<Arc<Prepared>>) {
        let sweeps: Vec<_> = sweeps.map(|sweep| (sweep.node, sweep.work)).collect();
        let nodes: Vec<Arc<Node>> = sweeps.iter().map(|(node, _)| node.clone()).collect();
        let gate = Gate::new();
        for (number, node) in nodes.iter().enumerate() {
            nodes[..number].iter().for_each(|before| node.comes_with(before));
            gate.add();
            let (core, gate) = (self.clone(), gate.clone());
            node.set_work(Work::Shared(Box::new(move |node, failure| {
                gate.arrive(node, failure).map_or_else(Next::new, |ready| core.run_joined(&ready))
            })));
        }
        // All of them still wait.
        let _ = gate.close(Joined { kernel, sweeps });
        nodes.into_iter().filter(|node| node.release()).for_each(|node| self.start_node(node));
    }

    /// Runs sweeps as one; gives the nodes that may run now.
    fn run_joined(self: &Arc<Core>, ready: &Ready<Joined>) -> Next {
        match (&self.device, &ready.work.kernel) {
            (Some(device), Some(kernel)) => self.launch_joined(device, ready, kernel),
            _ => self.sweep_joined(ready),
        }
    }

    /// Sweeps on the host.
    fn sweep_joined(self: &Arc<Core>, Ready { work, failed }: &Ready<Joined>) -> Next {
        let mut ready = Next::new();
        for (node, failure) in failed {
            ready.extend(self.finish(node, Err(failure.clone())));
        }
        let is_fine = |(node, _): &&(Arc<Node>, _)| !failed.iter().any(|(other, _)| Arc::ptr_eq(node, other));
        let fine: Vec<_> = work.sweeps.iter().filter(is_fine).collect();
        let Some((first, sweep)) = fine.first() else { return ready };
        let launches: Vec<&dyn Launch> = fine.iter().map(|(_, sweep)| &*sweep.launch).collect();
        self.host.count_joined(launches.len() as u64 - 1);
        let run = || self.on_host(first.name, first.recorded, || run_together(&launches, sweep.boxes()));
        let results = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
            let error = crate::error::panicked(first.name, payload);
            fine.iter().map(|_| Err(error.clone())).collect()
        });
        for ((node, _), result) in fine.iter().zip(results) {
            ready.extend(self.finish(node, result.map_err(|error| node.failed(error))));
        }
        ready
    }

    /// Sweeps on the device: as one launch of a kernel, or each by itself where there is none, or no room, or the
    /// device's compiler refuses it.
    fn launch_joined(
        self: &Arc<Core>,
        device: &Arc<DeviceCore>,
        ready: &Ready<Joined>,
        kernel: &Arc<Prepared>,
    ) -> Next {
        let Joined { sweeps: parts, .. } = &ready.work;
        let kernel = Some(kernel).filter(|_| ready.failed.is_empty());
        let before: Vec<Arc<Node>> = parts.iter().flat_map(|(node, _)| node.take_before()).collect();
        let outcome: Arc<Outcome> = Arc::default();
        let (mut next, mut leader) = (Next::new(), None);
        let sweeps: Vec<Arc<Sweep>> = parts.iter().map(|(_, sweep)| sweep.clone()).collect();
        for (node, sweep) in parts {
            let work = match (ready.failure(node), kernel, &leader, outcome.get()) {
                (Some(failure), ..) => Err(failure),
                (None, Some(kernel), None, _) => {
                    let (kernel, outcome) = (kernel.clone(), outcome.clone());
                    leader = Some(node.clone());
                    Ok(first_of(node, sweep, sweeps.clone(), kernel, outcome))
                }
                (None, _, Some(leader), Some(Ok(()))) => {
                    next.extend(self.end_with(node, leader));
                    continue;
                }
                (None, _, Some(_), Some(Err(error))) => Err(node.failed(error.clone())),
                (None, ..) => Ok(in_core((node.name, node.recorded), Op::Sweep(sweep.clone()))),
            };
            next.extend(self.launch(device, node, before.clone(), work));
        }
        next
    }
}

/// The same for all these sweeps as one launch, of which this is the first; says how it went. By itself if that was not
/// to be, or is not compiled yet.
fn first_of(
    node: &Node,
    first: &Arc<Sweep>,
    sweeps: Vec<Arc<Sweep>>,
    kernel: Arc<Prepared>,
    outcome: Arc<Outcome>,
) -> DeviceWork {
    let (name, recorded) = (node.name, node.recorded);
    let (alone, first) = (in_core((name, recorded), Op::Sweep(first.clone())), first.clone());
    Box::new(move |queue| {
        let launches: Vec<Arc<dyn Launch>> = sweeps.iter().map(|sweep| sweep.launch.clone()).collect();
        let refilled: Vec<Arc<Storage>> = sweeps.iter().flat_map(|sweep| sweep.refilled.clone()).collect();
        let joint = Joint::new(&launches, &kernel);
        if !joint.runs_now(queue, first.boxes()) {
            return alone(queue);
        }
        // SAFETY: the graph keeps all work that conflicts away until these nodes have finished; none of them writes
        // what another one touches; the boxes are those of each and do not overlap.
        let run = || unsafe { joint.enqueue(&Queue { refilled: &refilled, ..*queue }, first.boxes()) };
        let all = || sweeps.iter().try_for_each(|sweep| sweep.bring(queue));
        match queue.enqueue(|| all().and_then(|()| queue.put(name, recorded, run))) {
            Ok(done) => {
                queue.device.counts.joined(sweeps.len() as u64 - 1);
                // It is set here alone.
                let _ = outcome.set(Ok(()));
                Ok(done)
            }
            // Nothing was launched.
            Err(error) if matches!(error.kind(), ErrorKind::Kernel | ErrorKind::Memory) => alone(queue),
            Err(error) => {
                let _ = outcome.set(Err(error.clone()));
                Err(error)
            }
        }
    })
}
