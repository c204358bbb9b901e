//! Where recorded work finds its arrays: as a whole on the device, as planes in a chain, or on the host.

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::chain::{self, Chain, Gate, Ready, can_stream};
use super::device::DeviceCore;
use super::driver::{Core, Recorder, TileWork, lock, touch_all};
use super::node::{Node, Work};
use super::tracker::{Side, Touch, Tracker};
use crate::array::Planar;
use crate::array::storage::Storage;

/// Sweeps recorded since its last use after which an array on the device gives way to others.
const IDLE: u64 = 64;

/// A chain that still takes work.
pub(super) struct OpenChain {
    /// Its number, which its nodes carry.
    pub number: u64,
    pub gate: Arc<Gate>,
    pub chain: Chain,
}

impl OpenChain {
    fn new() -> OpenChain {
        static CHAINS: AtomicU64 = AtomicU64::new(0);
        let number = CHAINS.fetch_add(1, Ordering::Relaxed);
        OpenChain { number, gate: Gate::new(), chain: Chain::default() }
    }
}

impl Core {
    /// The chain that a sweep is to be a part of, if its arrays do not fit onto the device, or the host's caches. A sweep that is of no chain
    /// ends the one that it conflicts with.
    pub(super) fn chain_for(self: &Arc<Core>, recorder: &mut Recorder, tile: &TileWork<'_>) -> Option<u64> {
        let holds = |open: &OpenChain| tile.touches.iter().any(|touch| open.chain.holds(&touch.tracker));
        let held = recorder.chain.as_ref().is_some_and(holds);
        let can = tile.by_planes && can_stream(tile.touches);
        let joins = match &self.device {
            Some(device) => {
                let trackers = tile.touches.iter().map(|touch| &touch.tracker);
                can && tile.key.on_device && (held || !fits(device, trackers))
            }
            None => can && chain::can_wave(tile.touches) && (held || self.host.is_large(tile.touches)),
        };
        if joins {
            let open = recorder.chain.get_or_insert_with(OpenChain::new);
            for touch in tile.touches {
                // It is not to stay as a whole: the chain brings it to the host.
                touch.tracker.storage().unclaim();
                open.chain.array(&touch.tracker);
            }
            open.gate.add();
            return Some(open.number);
        }
        if held {
            self.close_chain(recorder);
        }
        None
    }

    /// Whether arrays may stay on the device as a whole: then there is room for them.
    pub fn fits(&self, trackers: &[&Arc<Tracker>]) -> bool {
        self.device.as_ref().is_some_and(|device| fits(device, trackers.iter().copied()))
    }

    /// Makes room for what a tile is to find on the device, before it is recorded; gives the nodes that make it.
    ///
    /// Arrays that were not used for long leave the device for those that would fit without them. A chain gets half of the
    /// memory at least.
    pub(super) fn prepare_place(self: &Arc<Core>, tile: &TileWork<'_>) -> Vec<Arc<Node>> {
        let Some(device) = &self.device else { return Vec::new() };
        let trackers = || tile.touches.iter().map(|touch| &touch.tracker);
        let held = lock(&self.recorder).chain.as_ref().is_some_and(|open| trackers().any(|t| open.chain.holds(t)));
        let can = tile.key.on_device && tile.by_planes && can_stream(tile.touches);
        if can && held {
            return Vec::new();
        }
        self.settle_ghosts(trackers());
        if !tile.key.on_device || fits(device, trackers()) {
            return Vec::new();
        }
        let mut left = Vec::new();
        let mut bytes = 0;
        let mut seen: Vec<&Arc<Storage>> = Vec::new();
        for storage in trackers().map(|tracker| tracker.storage()) {
            if !seen.iter().any(|other| Arc::ptr_eq(other, storage)) {
                bytes += storage.device_bytes() as u64;
                seen.push(storage);
            }
        }
        let fit_alone = bytes <= device.budget();
        let since = if can { IDLE } else { 0 };
        // First what was used longest ago.
        for resident in device.residents() {
            let idle = device.idle(&resident);
            let used_here = trackers().any(|tracker| Arc::ptr_eq(tracker, &resident));
            let enough = if fit_alone && idle >= since {
                fits(device, trackers())
            } else {
                2 * device.room() >= device.budget()
            };
            if enough {
                break;
            }
            if !used_here && (idle >= since || can) {
                left.push(self.evict(&resident));
            }
        }
        left
    }

    /// Brings an array back to the host and gives its memory on the device back.
    fn evict(self: &Arc<Core>, tracker: &Arc<Tracker>) -> Arc<Node> {
        tracker.storage().unclaim();
        let (device, storage) = (self.device.clone(), tracker.storage().clone());
        let work = move || match device {
            // SAFETY: the node's touch keeps all work that conflicts away.
            Some(device) => unsafe { storage.leave_device(&device) },
            None => Ok(()),
        };
        let touch = Touch { tracker: tracker.clone(), region: None, read: true, write: true };
        self.record("evict", Location::caller(), &[touch], &[], Work::Host(Box::new(work)))
    }

    /// Records the filling of ghosts between regions on the host, of arrays whose chains had no need of them there.
    pub(super) fn settle_ghosts<'a>(self: &Arc<Core>, trackers: impl Iterator<Item = &'a Arc<Tracker>>) {
        for tracker in trackers {
            if let (true, Some(planar)) = (tracker.set_due(false), tracker.planar()) {
                let (planar, storage) = (planar.clone(), tracker.storage().clone());
                let touch = Touch { tracker: tracker.clone(), region: None, read: true, write: true };
                let work = move || {
                    // SAFETY: the node's touch keeps all other work away.
                    unsafe { planar.fill_on_host(&storage) };
                    Ok(())
                };
                self.record("fill_ghosts", Location::caller(), &[touch], &[], Work::Host(Box::new(work)));
            }
        }
    }

    /// Makes the filling of an array's ghosts a part of a chain, if it is one that chains work on; says whether it did.
    pub fn chain_ghosts(
        self: &Arc<Core>,
        recorded: &'static Location<'static>,
        tracker: &Arc<Tracker>,
        fixed: bool,
    ) -> bool {
        let holds = |recorder: &Recorder| recorder.chain.as_ref().is_some_and(|open| open.chain.holds(tracker));
        if tracker.side() != Side::Chain && !holds(&lock(&self.recorder)) {
            return false;
        }
        let chains = |planar: &&Arc<dyn Planar>| match self.device {
            Some(_) => !planar.facts().periodic,
            None => chain::can_fill(&***planar),
        };
        let Some(planar) = tracker.planar().filter(chains).filter(|_| !tracker.is_stale_allowed()) else {
            return false;
        };
        self.wait_for_room();
        let mut recorder = lock(&self.recorder);
        recorder.count += 1;
        self.close_all(&mut recorder);
        let open = recorder.chain.get_or_insert_with(OpenChain::new);
        let node = Node::new("fill_ghosts", recorded, self.device.is_some(), Some(open.number));
        self.unfinished.fetch_add(1, Ordering::Relaxed);
        tracker.storage().unclaim();
        open.gate.add();
        open.chain.ghosts(node.clone(), tracker, fixed);
        node.set_work(Work::Chained(open.gate.clone()));
        if self.device.is_some() && planar.facts().layout.regions.len() > 1 {
            tracker.set_due(true);
        }
        touch_all(&node, &Touch { tracker: tracker.clone(), region: None, read: true, write: true });
        if recorder.driver_sleeps {
            self.recorded.notify_all();
        }
        drop(recorder);
        if node.release() {
            self.start_node(node);
        }
        true
    }

    pub(super) fn start_chain(self: &Arc<Core>, ready: Ready) {
        let core = self.clone();
        self.pool.spawn(move || {
            let run = || match &core.device {
                Some(device) => chain::run(device, &ready),
                None => core.host.run(core.timeline.as_deref(), &ready),
            };
            let results = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
                let error = super::panicked("a chain", payload);
                ready.chain.links.iter().map(|_| Err(error.clone())).collect()
            });
            let mut next = Vec::new();
            for (link, result) in ready.chain.links.iter().zip(results) {
                next.extend(core.finish(&link.node, result));
            }
            // What the chain holds may be dropped by whoever waits for it.
            drop(ready);
            next.into_iter().for_each(|node| core.start_node(node));
        });
    }
}

/// Where a sweep runs.
pub(super) fn side(node: &Node) -> Side {
    match (node.chain, node.on_device) {
        (Some(_), _) => Side::Chain,
        (None, true) => Side::Device,
        (None, false) => Side::Host,
    }
}

/// Whether arrays may stay on a device as a whole: then there is room for them.
fn fits<'a>(device: &DeviceCore, trackers: impl Iterator<Item = &'a Arc<Tracker>>) -> bool {
    let mut arrays: Vec<&Arc<Tracker>> = Vec::new();
    for tracker in trackers {
        if arrays.iter().all(|other| !Arc::ptr_eq(other, tracker)) {
            arrays.push(tracker);
        }
    }
    let storages: Vec<&Arc<Storage>> = arrays.iter().map(|tracker| tracker.storage()).collect();
    let fit = Storage::claim(device, &storages);
    if fit {
        device.use_residents(&arrays);
    }
    fit
}
