//! The chain that still takes work, what becomes a part of it, and its start.

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use super::driver::{Core, Recorder, lock};
use super::in_core::{Label, in_core};
use super::place::Place;
use super::recording::{TileWork, touch_all};
use super::sweep::OpenSweep;
use crate::device::ledger::Reservation;
use crate::device::timeline::Stats;
use crate::error::Error;
use crate::memory::backing::Backing;
use crate::memory::ghosts::Which;
use crate::memory::ghosts::planes::Planar;
use crate::memory::node::{DeviceWork, Next, Node, Work};
use crate::memory::tracker::{BoxTouch, Mode, Side, Touch, Tracker};
use crate::program::place::{Kind, of_fill};
use crate::run::batch::Batches;
use crate::run::chain::{self, Chain};
use crate::run::gate::{Gate, Ready};
use crate::run::op::Op;
use crate::run::streamed::{Ended, Reports};

/// Why work ends a chain of another kind.
const OTHER: &str = "streams in other pieces";

/// A chain that still takes work.
pub(super) struct OpenChain {
    /// Its number, which its nodes carry.
    pub number: u64,
    pub gate: Arc<Gate<Chain>>,
    pub chain: Chain,
}

impl OpenChain {
    fn new(room: Option<Arc<Reservation>>, kind: Kind) -> OpenChain {
        static CHAINS: AtomicU64 = AtomicU64::new(0);
        let number = CHAINS.fetch_add(1, Ordering::Relaxed);
        OpenChain { number, gate: Gate::new(), chain: Chain { room, kind, ..Chain::default() } }
    }

    /// What it leaves of an array is not needed, if a tile that comes next overwrites all of it, and nobody else has
    /// asked for it.
    fn spare(&mut self, touch: &BoxTouch) {
        let overwritten = touch.read.is_none() && !touch.keeps && !touch.whole && touch.tracker.is_all(touch.write);
        if overwritten && touch.tracker.is_of_chain(self.number) {
            self.chain.discard(&touch.tracker);
        }
    }
}

/// The chains of a device that are not done.
#[derive(Default)]
pub(super) struct Chains {
    /// Their room.
    pub room: Weak<Reservation>,
    /// One of them runs.
    running: bool,
    /// Those that may run after it.
    ready: VecDeque<Ready<Chain>>,
    /// What chains did.
    pub reports: Reports,
    /// What ran in core.
    pub batches: Batches,
}

impl Recorder {
    /// The chain that still takes work, if it works on one of these arrays.
    pub(super) fn chain_of<'a>(&self, mut trackers: impl Iterator<Item = &'a Arc<Tracker>>) -> Option<&OpenChain> {
        self.chain.as_ref().filter(|open| trackers.any(|tracker| open.chain.holds(tracker)))
    }

    /// Whether work that waits for more touches one of these arrays: sweeps that take tiles, a chain, or steps that are
    /// held back.
    pub(super) fn waits_with<'a>(&self, trackers: impl Iterator<Item = &'a Arc<Tracker>> + Clone) -> bool {
        self.chain_of(trackers.clone()).is_some()
            || self.fusing.holds(trackers.clone())
            || self.is_open(trackers, |_| true)
    }

    /// Whether steps touch one of these arrays that are held back, or will be when their sweeps close.
    pub(super) fn holds_back<'a>(&self, trackers: impl Iterator<Item = &'a Arc<Tracker>> + Clone) -> bool {
        self.fusing.holds(trackers.clone()) || self.is_open(trackers, OpenSweep::is_held_back)
    }

    /// Whether an open sweep of some kind touches one of these arrays.
    fn is_open<'a>(
        &self,
        mut trackers: impl Iterator<Item = &'a Arc<Tracker>>,
        of_kind: impl Fn(&OpenSweep) -> bool,
    ) -> bool {
        let open = |tracker: &Arc<Tracker>| {
            self.open.iter().any(|sweep| of_kind(sweep) && sweep.work.array(tracker).is_some())
        };
        trackers.any(open)
    }

    /// Whether one of these nodes is a part of that chain.
    pub(super) fn has_in_chain(&self, nodes: &[Arc<Node>]) -> bool {
        self.chain.as_ref().is_some_and(|open| nodes.iter().any(|node| node.chain == Some(open.number)))
    }
}

impl Core {
    /// The chain takes no more work before strips of these arrays are given, if it works on any. It starts once the
    /// next tile of its arrays is recorded, which may say that not all of what it leaves is needed; or once anything
    /// starts what is held back. Who waits does so at all places ([`Core::start_over_strips`]).
    ///
    /// Of an array it is said which planes are not overwritten by strips that are recorded in the same call: what the
    /// chain leaves of others no one looks at.
    pub fn hold_chain(
        self: &Arc<Core>,
        recorded: &'static Location<'static>,
        arrays: &[(&Arc<Tracker>, Option<Range<i64>>)],
    ) {
        let ended = Ended::Beside { name: "fill_ghosts", recorded, why: "gives places what they have of its arrays" };
        let mut recorder = lock(&self.recorder);
        recorder.count += 1;
        self.close_all(&mut recorder);
        if recorder.chain_of(arrays.iter().map(|(tracker, _)| *tracker)).is_none() {
            return;
        }
        self.start_closed(&mut recorder);
        self.start_held(&mut recorder, true);
        let Some(mut closed) = recorder.chain.take() else { return };
        closed.chain.ended = Some(ended);
        for (tracker, left) in arrays {
            left.iter().for_each(|planes| closed.chain.overwritten_but(tracker, planes.clone()));
        }
        recorder.closed = Some(closed);
    }

    /// Starts the chain that takes no more work: it runs when its turn comes.
    pub(super) fn start_closed(self: &Arc<Core>, recorder: &mut Recorder) {
        let ready = recorder.closed.take().and_then(|OpenChain { gate, chain, .. }| gate.close(chain));
        ready.into_iter().for_each(|ready| self.start_chain(ready));
    }

    /// Starts it if a tile touches its arrays: what the tile overwrites does not come to the host.
    fn start_before(self: &Arc<Core>, recorder: &mut Recorder, tile: &TileWork<'_>) {
        let touches = || tile.touches.iter();
        let Some(closed) = &mut recorder.closed else { return };
        if touches().any(|touch| closed.chain.holds(&touch.tracker)) {
            touches().for_each(|touch| closed.spare(touch));
            self.start_closed(recorder);
        }
    }

    /// The chain that a sweep is to be a part of, if its arrays do not stay on the device as a whole, or in the host's
    /// caches. A sweep that is of no chain ends the one that it conflicts with.
    pub(super) fn chain_for(
        self: &Arc<Core>,
        recorder: &mut Recorder,
        tile: &TileWork<'_>,
        place: Place,
    ) -> Option<(u64, Kind)> {
        if let Some(why) = recorder.chain.as_ref().and_then(|open| open.chain.clash(tile.touches)) {
            self.close_chain(recorder, tile.ends(why));
        }
        self.start_before(recorder, tile);
        let held = recorder.chain_of(tile.touches.iter().map(|touch| &touch.tracker)).map(|open| open.chain.kind);
        let joins = match &self.device {
            Some(_) => place.streams.or(held.filter(|kind| {
                // Others have made room for their arrays.
                *kind != Kind::Arriving && tile.key.on_device && tile.can_chain(*kind)
            })),
            None => {
                let large = held.is_some() || self.host.is_large(tile.touches);
                (large && tile.can_wave()).then_some(Kind::Planes)
            }
        };
        if let Some(kind) = joins {
            let open = self.open_chain(recorder, kind, place.room, tile.ends(OTHER));
            for touch in tile.touches {
                if touch.whole {
                    open.chain.whole(&touch.tracker);
                    continue;
                }
                if kind != Kind::Arriving {
                    // It is not to stay as a whole: the chain brings it to the host.
                    touch.tracker.storage().give_room_back();
                }
                open.chain.array(&touch.tracker);
            }
            open.gate.add();
            return Some((open.number, kind));
        }
        if held.is_some() {
            self.close_chain(recorder, tile.ends("works on its arrays and cannot stream with it"));
        }
        None
    }

    /// The open chain of a kind. One of another kind ends, with this reason.
    fn open_chain<'a>(
        self: &Arc<Core>,
        recorder: &'a mut Recorder,
        kind: Kind,
        room: Option<Arc<Reservation>>,
        by: Ended,
    ) -> &'a mut OpenChain {
        if recorder.chain.as_ref().is_some_and(|open| open.chain.kind != kind) {
            self.close_chain(recorder, by);
        }
        recorder.chain.get_or_insert_with(|| OpenChain::new(room, kind))
    }

    /// Makes the filling of an array's ghosts a part of a chain, if it is one that chains work on; says whether it did.
    pub fn chain_ghosts(
        self: &Arc<Core>,
        recorded: &'static Location<'static>,
        tracker: &Arc<Tracker>,
        fixed: bool,
    ) -> bool {
        let held = {
            let mut recorder = lock(&self.recorder);
            self.keep_short(&mut recorder);
            recorder.chain_of([tracker].into_iter()).map(|open| open.chain.kind)
        };
        let arrives = || match &self.device {
            Some(device) if tracker.side() == Side::Device && tracker.planar().is_some() => {
                if self.arrive(device, &[tracker], [tracker].into_iter()) { self.try_reserve(&[tracker]) } else { None }
            }
            _ => None,
        };
        let kept = if held.is_none() { arrives() } else { None };
        if held == Some(Kind::Arriving) || kept.is_some() {
            self.wait_for_room();
            self.add_ghosts(&mut lock(&self.recorder), recorded, tracker, (fixed, Kind::Arriving, None));
            return true;
        }
        // Of an array in a file there is nothing to fill on the host.
        let comes = || match &self.device {
            Some(device) if tracker.storage().backing().is_some() => {
                tracker.storage().device_bytes() as u64 > device.budget() || tracker.side() != Side::Device
            }
            _ => false,
        };
        if tracker.side() != Side::Chain && held.is_none() && !comes() {
            return false;
        }
        let chains = |planar: &Arc<Planar>| match self.device {
            Some(_) => planar.facts().period.is_none() || planar.facts().is_ring(),
            None => chain::wave::can_fill(planar),
        };
        let in_memory = tracker.storage().backing().is_none();
        let by_regions =
            tracker.planar().is_none() && self.device.is_some() && tracker.regional().is_some() && in_memory;
        let Some(kind) = of_fill(held, tracker.planar().is_some_and(chains), by_regions) else { return false };
        self.wait_for_room();
        let room = self.device.as_ref().and_then(|device| {
            self.leave_for_chain(tracker);
            self.room_for_chains(device, &[tracker])
        });
        let mut recorder = lock(&self.recorder);
        self.add_ghosts(&mut recorder, recorded, tracker, (fixed, kind, room));
        true
    }

    /// Adds the filling of an array's ghosts to the chain of a kind.
    fn add_ghosts(
        self: &Arc<Core>,
        recorder: &mut Recorder,
        recorded: &'static Location<'static>,
        tracker: &Arc<Tracker>,
        (fixed, kind, room): (bool, Kind, Option<Arc<Reservation>>),
    ) {
        recorder.count += 1;
        let by = Ended::Beside { name: "a ghost fill", recorded, why: OTHER };
        recorder.batch.ends_by(by);
        self.flush_round(recorder);
        self.close_all(recorder);
        let open = self.open_chain(recorder, kind, room, by);
        let node = self.node("fill_ghosts", recorded, self.device.is_some(), Some(open.number));
        self.unfinished.add();
        open.gate.add();
        open.chain.ghosts(node.clone(), tracker, fixed);
        node.set_work(self.part_of_chain(&open.gate));
        self.after_evictions(&node);
        touch_all(&node, &Touch::new(tracker, None, Mode::Update));
        self.wake_driver(recorder);
        if node.release() {
            self.start_node(node);
        }
    }

    /// What a node does that is a part of a chain: the last one that may run starts it.
    pub(super) fn part_of_chain(self: &Arc<Core>, gate: &Arc<Gate<Chain>>) -> Work {
        let (core, gate) = (self.clone(), gate.clone());
        Work::Shared(Box::new(move |node, failure| {
            if let Some(ready) = gate.arrive(node, failure) {
                core.start_chain(ready);
            }
            Next::new()
        }))
    }

    /// Runs a chain: on a device after those that came before.
    pub(super) fn start_chain(self: &Arc<Core>, ready: Ready<Chain>) {
        if self.device.is_some() {
            let mut chains = lock(&self.chains);
            if chains.running {
                chains.ready.push_back(ready);
                return;
            }
            chains.running = true;
        }
        let core = self.clone();
        self.device.iter().for_each(|device| device.backend().works(1, true));
        self.threads.pool.spawn(move || {
            let _at_work = core.at_work();
            core.clone().run_chain(ready);
        });
    }

    fn run_chain(self: Arc<Core>, mut ready: Ready<Chain>) {
        let in_files = ready.work.arrays.iter().find_map(|tracker| tracker.storage().backing()).map(Backing::folder);
        let in_files = in_files.cloned();
        let run = || match &self.device {
            Some(device) => chain::run(device, &ready),
            None => self.host.run(self.timeline.as_deref(), &ready).into_iter().map(Some).collect(),
        };
        let counted = || {
            let stats = self.device.as_ref().map_or_else(|| self.host.stats(), |device| device.stats());
            let (file_read_bytes, file_written_bytes) = in_files.as_ref().map_or((0, 0), |folder| folder.moved());
            Stats { file_read_bytes, file_written_bytes, ..stats }
        };
        let before = counted();
        let results = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
            let error = crate::error::panicked("a chain", payload);
            ready.work.links.iter().map(|_| Some(Err(error.clone()))).collect()
        });
        lock(&self.chains).reports.add(&ready.work, self.device.is_some(), [&before, &counted()]);
        // Whoever waits for its nodes finds its room free.
        ready.work.room = None;
        if self.device.is_some() {
            let mut chains = lock(&self.chains);
            chains.running = false;
            let next = chains.ready.pop_front();
            drop(chains);
            next.into_iter().for_each(|next| self.start_chain(next));
        }
        let next = self.end_links(&ready.work, results);
        // What the chain holds may be dropped by whoever waits for it.
        drop(ready);
        next.into_iter().for_each(|node| self.start_node(node));
    }

    /// Ends the links of a chain that has run; those that did not run do so one after the other, as any other work.
    /// Gives the nodes that may run now.
    fn end_links(self: &Arc<Core>, chain: &Chain, results: Vec<Option<Result<(), Error>>>) -> Next {
        let (mut next, mut before) = (Next::new(), None);
        let ghosts = chain.sweeps() == 0;
        for (link, result) in chain.links.iter().zip(results) {
            let node = &link.node;
            next.extend(match (result, &self.device) {
                (None, Some(device)) => {
                    let alone = || alone((node.name, node.recorded), link.op.clone(), ghosts);
                    let work = node.take_work().1.map_or_else(|| Ok(alone()), Err);
                    let before = before.replace(node.clone()).into_iter().collect();
                    self.launch(device, node, before, work)
                }
                (result, _) => self.finish(node, result.unwrap_or(Ok(()))),
            });
        }
        next
    }
}

/// Does a link of a chain whose arrays have room as a whole. Where there is nothing to do but to fill `ghosts`, it may
/// be the host that goes on: what is not there stays where it is.
fn alone(label: Label, op: Op, ghosts: bool) -> DeviceWork {
    match op {
        Op::Fill { tracker, .. } if ghosts && tracker.storage().count_on_device() == 0 => Box::new(move |_| {
            let storage = tracker.storage();
            (0..storage.regions()).for_each(|region| storage.touch_host(region));
            // SAFETY: the graph keeps all work that conflicts away until this node has finished; no command uses the
            // array, which is not there.
            tracker.regional().iter().for_each(|regional| unsafe { regional.fill_on_host(storage, Which::All) });
            Ok(Box::new(|| Ok(())))
        }),
        op => in_core(label, op),
    }
}

/// Where a sweep runs.
pub(super) fn side(node: &Node, kind: Option<Kind>) -> Side {
    match (kind, node.on_device) {
        (Some(Kind::Planes | Kind::Regions), _) => Side::Chain,
        (_, true) => Side::Device,
        (_, false) => Side::Host,
    }
}
