//! Reductions as parts of chains: while planes or regions are on the device for other work, it folds them too.

use std::sync::Arc;

use super::driver::{Core, Recorder, lock};
use super::place::Place;
use super::recording::{APART, TileWork, add_touches};
use crate::launch::pieces::Boxes;
use crate::launch::step::Fold;
use crate::memory::node::Node;
use crate::program::deps::Need;
use crate::program::place::Kind;
use crate::run::op::Sweep;

/// The reductions of a chain find what takes at most this part of the device's memory.
const LISTS: u64 = 4;

impl Core {
    /// The place of a reduction in the chain that still takes work, if it reads what streams there and can be a part of
    /// it. What it finds takes so many `bytes` until it has found all, which depends on whether it finds it by planes.
    ///
    /// A reduction opens no chain: if nothing else streams its arrays, the host is faster than the link. But arrays
    /// that lie in files are never on the host.
    pub fn place_of_fold(self: &Arc<Core>, work: &TileWork<'_>, bytes: &dyn Fn(bool) -> u64) -> Option<Place> {
        let device = self.device.as_ref()?;
        let most = device.budget() / LISTS;
        let trackers = || work.touches.iter().map(|touch| &touch.tracker);
        // What lies in files cannot be reduced on the host: it opens a chain if it has to.
        let opens = work.touches.iter().all(|touch| touch.tracker.storage().backing().is_some());
        let opens = opens.then_some(Kind::Planes);
        let kind = lock(&self.recorder).chain_of(trackers()).map(|open| open.chain.kind).or(opens)?;
        let bytes = bytes(kind == Kind::Planes);
        if bytes > most {
            return None;
        }
        self.wait_for_room();
        let kind = {
            let mut recorder = lock(&self.recorder);
            recorder.count += 1;
            recorder.batch.ends_by(work.ends(APART));
            self.flush_round(&mut recorder);
            self.close_all(&mut recorder);
            if recorder.fusing.holds(trackers()) {
                self.start_held(&mut recorder, true);
            }
            self.keep_short(&mut recorder);
            self.close_chain_of(&mut recorder, work);
            let open = recorder.chain_of(trackers());
            let kind = open.map(|open| open.chain.kind).or(opens)?;
            let lists = open.map_or(0, |open| open.chain.lists) + bytes;
            if !work.can_chain(kind) || open.is_some_and(|open| open.chain.clash(work.touches).is_some()) {
                return None;
            }
            if kind != Kind::Arriving && lists > most {
                let why =
                    "finds more than a quarter of the device's memory has room for, with the reductions before it";
                self.close_chain(&mut recorder, work.ends(why));
                return None;
            }
            kind
        };
        let wholes: Vec<_> = work.touches.iter().filter(|touch| touch.whole).map(|touch| &touch.tracker).collect();
        // Until it has its place.
        let kept = if wholes.is_empty() { None } else { Some(self.try_reserve(&wholes)?) };
        let place = self.prepare_place(work);
        drop(kept);
        Some(place).filter(|place| place.streams == Some(kind))
    }

    /// Records a reduction that has its place in a chain.
    pub fn record_fold(
        self: &Arc<Core>,
        work: &TileWork<'_>,
        place: Place,
        boxes: Boxes,
        fold: Arc<dyn Fold>,
    ) -> Arc<Node> {
        let mut recorder = lock(&self.recorder);
        self.flush_round(&mut recorder);
        let chain = self.chain_for(&mut recorder, work, place).map(|(number, _)| number);
        let node = self.node(work.name, work.recorded, work.key.on_device, chain);
        self.after_evictions(&node);
        self.unfinished.add();
        add_touches(&node, work.touches);
        for before in work.after {
            node.wait_for(before, Need::Value);
        }
        if let Some(open) = recorder.chain.as_mut().filter(|open| chain == Some(open.number)) {
            node.set_work(self.part_of_chain(&open.gate));
            open.chain.fold(node.clone(), fold.clone(), Sweep { boxes, ..Sweep::of(fold, work.touches) });
        }
        self.wake_driver(&mut recorder);
        if node.release() {
            self.start_node(node.clone());
        }
        node
    }

    /// Ends the chain whose value a piece of work needs, if that still takes work: no part of a chain waits for
    /// another.
    pub(super) fn close_chain_of(self: &Arc<Core>, recorder: &mut Recorder, work: &TileWork<'_>) {
        if recorder.has_in_chain(work.after) {
            self.close_chain(recorder, work.ends("needs its results"));
        }
    }
}
