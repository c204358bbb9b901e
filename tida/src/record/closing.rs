//! Sweeps and chains that take no more work, and what their nodes do.

use std::sync::Arc;

use super::chains::OpenChain;
use super::driver::{Core, Recorder, lock};
use super::fuse::{Fusing, HeldNode};
use super::in_core::{on_device, split_in_two};
use super::sweep::OpenSweep;
use crate::error::Error;
use crate::launch::pieces::run_boxes;
use crate::memory::node::{CellWork, Node, Work};
use crate::memory::touched::touched;
use crate::program::place::Kind;
use crate::run::chain::Chain;
use crate::run::chain::wave::LONG;
use crate::run::op::{Op, Sweep};
use crate::run::streamed::Ended;

impl CellWork for Sweep {
    fn run(&self) -> Result<(), Error> {
        run_boxes(&*self.launch, self.boxes())
    }
}

impl Core {
    /// Waits while as many nodes as the look-ahead allows have not finished; once waiting, until half of them have.
    pub(super) fn wait_for_room(self: &Arc<Core>) {
        if self.unfinished.is_full() {
            self.close_chain(&mut lock(&self.recorder), Ended::LookAhead);
            self.unfinished.wait_for_room(|done| self.wait_until(done));
        }
    }

    pub(super) fn close_all(self: &Arc<Core>, recorder: &mut Recorder) {
        self.flush_round(recorder);
        let Recorder { open, chain, fusing, batch, .. } = recorder;
        self.close_some(open, true, chain.as_mut(), (fusing, batch));
    }

    /// The chain takes no more work, after the sweeps that are open: it runs when its turn comes. So does what is held
    /// back.
    pub(super) fn close_chain(self: &Arc<Core>, recorder: &mut Recorder, ended: Ended) {
        recorder.batch.ends_by(ended);
        self.start_closed(recorder);
        self.close_all(recorder);
        self.start_held(recorder, true);
        self.end_batch(recorder, ended);
        if let Some(OpenChain { gate, chain, .. }) = recorder.chain.take()
            && let Some(ready) = gate.close(Chain { ended: Some(ended), ..chain })
        {
            self.start_chain(ready);
        }
    }

    /// What was recorded so far is a batch, if that is what ended: all of it has started.
    pub(super) fn end_batch(&self, recorder: &mut Recorder, ended: Ended) {
        if ended.starts_all() {
            recorder.fusing.let_go();
            recorder.known.forget();
            let mut batch = std::mem::take(&mut recorder.batch);
            batch.apart = recorder.fusing.told();
            lock(&self.chains).batches.end(batch, ended, Node::next_number());
        }
    }

    /// Closes the chain if it is long and nothing else is under way.
    pub(super) fn keep_busy(self: &Arc<Core>, recorder: &mut Recorder) {
        let Some(chain) = recorder.chain.as_ref().map(|open| &open.chain) else { return };
        let waiting = chain.links.len();
        let sweeps = || chain.links.iter().filter(|link| !link.is_face()).count();
        if waiting >= LONG && self.unfinished.count() <= waiting + recorder.open.len() && sweeps() >= LONG {
            self.close_chain(recorder, Ended::Long);
        }
    }

    /// Closes a chain of arrays that arrive once they are better there as a whole before its work runs.
    pub(super) fn keep_short(self: &Arc<Core>, recorder: &mut Recorder) {
        let open = recorder.chain.as_ref().filter(|open| open.chain.kind == Kind::Arriving);
        if open.is_some_and(|open| open.chain.links.len() + recorder.open.len() >= open.chain.most_links()) {
            self.close_chain(recorder, Ended::Long);
        }
    }

    /// A sweep takes no more tiles: it runs when its turn comes.
    pub(super) fn close(self: &Arc<Core>, sweep: OpenSweep, chain: Option<&mut OpenChain>, fusing: &mut Fusing) {
        if sweep.is_held_back() {
            return fusing.held.push(HeldNode::new(sweep.node, Some(Op::Sweep(sweep.work))));
        }
        let whole = sweep.ends.is_none() && sweep.pace.is_none() && sweep.work.faces.is_empty();
        let edges = if self.rules.is_place && sweep.node.on_device && whole { self.edges(&sweep) } else { None };
        let OpenSweep { node, work: sweep, pace, ends, .. } = sweep;
        if let Some(open) = chain.filter(|open| node.chain == Some(open.number)) {
            node.set_work(self.part_of_chain(&open.gate));
            open.chain.sweep(node.clone(), sweep);
            if node.release() {
                self.start_node(node);
            }
            return;
        }
        let (name, recorded, core) = (node.name, node.recorded, self.clone());
        let cells = sweep.cells();
        node.set_work(match (&self.device, node.on_device, edges) {
            (Some(_), true, Some(edges)) => split_in_two((name, recorded), sweep, edges),
            (Some(_), true, None) => {
                Work::Device(on_device((name, recorded), sweep, pace, move |sweep, queue| {
                    // SAFETY: the graph keeps all work that conflicts away until this node has finished.
                    unsafe {
                        let both = ends.as_ref().and_then(|ends| ends.enqueue(sweep, queue));
                        both.unwrap_or_else(|| sweep.enqueue(queue))
                    }
                }))
            }
            (None, ..) if pace.is_none() => Work::Cells(sweep),
            _ => Work::Host(Box::new(move || {
                if let Some(device) = &core.device {
                    device.backend().caught_up();
                    for (tracker, region, mode) in touched(&sweep.arrays) {
                        // SAFETY: the graph runs this node only when no work conflicts with it.
                        unsafe { tracker.to_host(device, region, mode)? };
                    }
                }
                let run = || run_boxes(&*sweep.launch, sweep.boxes());
                core.on_host(name, recorded, || match &pace {
                    Some(pace) => pace.on_host(cells, run),
                    None => run(),
                })
            })),
        });
        if node.release() {
            self.start_node(node);
        }
    }
}
