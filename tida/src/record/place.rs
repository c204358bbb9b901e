//! Where recorded work finds its arrays: as a whole on the device, as planes in a chain, or on the host.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use smallvec::SmallVec;

use super::driver::{Core, Recorder, TileWork, lock, touch_all};
use super::residents::Residents;
use crate::device::core::DeviceCore;
use crate::device::ledger::{Purpose, Reservation};
use crate::error::Error;
use crate::memory::ghosts::Which;
use crate::memory::ghosts::planes::Planar;
use crate::memory::node::{Done, Need, Node, Queue, Work};
use crate::memory::residence::Kept;
use crate::memory::storage::Storage;
use crate::memory::tracker::{Mode, Side, Touch, Tracker, distinct};
use crate::run::chain;
use crate::run::chain::{Chain, Gate, Kind, Ready};
use crate::run::streamed::Ended;

/// Sweeps recorded since its last use after which an array on the device gives way to others.
const IDLE: u64 = 64;

/// How often work that is under way is waited for, where nothing else makes room.
const WAITS: usize = 20;

/// Why work ends a chain: it touches one of its arrays otherwise.
const WHOLE: &str = "reads as a whole what streams, or the other way round";

/// Why work ends a chain of another kind.
const OTHER: &str = "streams in other pieces";

/// A chain that still takes work.
pub(super) struct OpenChain {
    /// Its number, which its nodes carry.
    pub number: u64,
    pub gate: Arc<Gate>,
    pub chain: Chain,
}

impl OpenChain {
    fn new(room: Option<Arc<Reservation>>, kind: Kind) -> OpenChain {
        static CHAINS: AtomicU64 = AtomicU64::new(0);
        let number = CHAINS.fetch_add(1, Ordering::Relaxed);
        OpenChain { number, gate: Gate::new(), chain: Chain { room, kind, ..Chain::default() } }
    }
}

/// The chains of a device that are not done.
#[derive(Default)]
pub(super) struct Chains {
    /// Their room.
    room: Weak<Reservation>,
    /// One of them runs.
    running: bool,
    /// Those that may run after it.
    ready: VecDeque<Ready>,
}

/// Where a tile is to find its arrays.
#[derive(Default)]
pub(crate) struct Place {
    /// In a chain: they do not stay on the device as a whole.
    pub streams: Option<Kind>,
    /// The room of that chain.
    room: Option<Arc<Reservation>>,
    /// Else they have their room, and keep it until the tile is recorded.
    _kept: Option<Kept>,
}

impl Place {
    fn stream(&mut self, kind: Kind, room: Option<Arc<Reservation>>) {
        self.streams = Some(kind);
        self.room = room;
    }

    fn whole(kept: Option<Kept>) -> Place {
        Place { _kept: kept, ..Place::default() }
    }
}

impl Recorder {
    /// The chain that still takes work, if it works on one of these arrays.
    pub(super) fn chain_of<'a>(&self, mut trackers: impl Iterator<Item = &'a Arc<Tracker>>) -> Option<&OpenChain> {
        self.chain.as_ref().filter(|open| trackers.any(|tracker| open.chain.holds(tracker)))
    }

    /// Whether work that waits for more touches one of these arrays: sweeps that take tiles, a chain, or steps that are
    /// held back.
    pub(super) fn waits_with<'a>(&self, trackers: impl Iterator<Item = &'a Arc<Tracker>> + Clone) -> bool {
        let is_open = |tracker: &Arc<Tracker>| self.open.iter().any(|sweep| sweep.touches(tracker));
        self.chain_of(trackers.clone()).is_some()
            || self.fusing.holds(trackers.clone())
            || trackers.into_iter().any(is_open)
    }

    /// Whether one of these nodes is a part of that chain.
    pub(super) fn has_in_chain(&self, nodes: &[Arc<Node>]) -> bool {
        self.chain.as_ref().is_some_and(|open| nodes.iter().any(|node| node.chain == Some(open.number)))
    }
}

impl Core {
    /// The chain that a sweep is to be a part of, if its arrays do not stay on the device as a whole, or in the host's
    /// caches. A sweep that is of no chain ends the one that it conflicts with.
    pub(super) fn chain_for(
        self: &Arc<Core>,
        recorder: &mut Recorder,
        tile: &TileWork<'_>,
        place: Place,
    ) -> Option<(u64, Kind)> {
        if recorder.chain.as_ref().is_some_and(|open| open.chain.clashes(tile.touches)) {
            self.close_chain(recorder, tile.ends(WHOLE));
        }
        let held = recorder.chain_of(tile.touches.iter().map(|touch| &touch.tracker)).map(|open| open.chain.kind);
        let joins = match &self.device {
            Some(_) => place.streams.or(held.filter(|kind| {
                // Others have made room for their arrays.
                *kind != Kind::Arriving && tile.key.on_device && tile.can_chain(*kind)
            })),
            None => {
                let usual = !tile.has_whole() && !tile.has_ghosts_of_the_user();
                let large =
                    || chain::wave::can_wave(tile.touches) && (held.is_some() || self.host.is_large(tile.touches));
                Some(Kind::Planes).filter(|kind| usual && tile.can_chain(*kind) && large())
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

    /// Reserves room for arrays that are to stay on the device as a whole, if there is any. They keep it until work is
    /// recorded and what this gives is dropped.
    pub fn try_reserve(&self, trackers: &[&Arc<Tracker>]) -> Option<Kept> {
        self.device.as_ref().and_then(|device| try_reserve(&self.residents, device, trackers.iter().copied()))
    }

    /// Says where a tile is to find its arrays, and makes room for them, before it is recorded.
    ///
    /// Arrays that were not used for long leave the device for those that would fit without them. A chain gets half of
    /// the memory at least.
    pub(super) fn prepare_place(self: &Arc<Core>, tile: &TileWork<'_>) -> Place {
        let mut place = Place::default();
        let Some(device) = &self.device else { return place };
        let trackers = || tile.touches.iter().map(|touch| &touch.tracker);
        let wholes = || tile.touches.iter().filter(|touch| touch.whole).map(|touch| &touch.tracker);
        let moving = || tile.touches.iter().filter(|touch| !touch.whole).map(|touch| &touch.tracker);
        if lock(&self.recorder).chain.as_ref().is_some_and(|open| open.chain.clashes(tile.touches)) {
            self.close_chain(&mut lock(&self.recorder), tile.ends(WHOLE));
        }
        // A chain may read ghosts at the ends of an array that is new to it as the host has them.
        self.settle_ghosts(trackers().filter(|tracker| tracker.is_ring() && !self.is_chained(tracker)));
        let held = lock(&self.recorder).chain_of(trackers()).map(|open| open.chain.kind);
        let can = |kind: &Kind| tile.key.on_device && tile.can_chain(*kind);
        if held == Some(Kind::Arriving) {
            self.settle_ghosts(trackers());
            if tile.key.on_device
                && tile.can_chain(Kind::Arriving)
                && let Some(kept) = try_reserve(&self.residents, device, trackers())
            {
                place = Place::whole(Some(kept));
                place.stream(Kind::Arriving, None);
                return place;
            }
            self.close_chain(&mut lock(&self.recorder), tile.ends("works on its arrays as a whole"));
        } else if let Some(kind) = held.filter(can)
            && let Some(kept) = try_reserve(&self.residents, device, wholes())
        {
            place = Place::whole(Some(kept));
            if kind == Kind::Regions {
                self.settle_ghosts(trackers());
            }
            moving().for_each(|tracker| self.leave_for_chain(tracker));
            place.stream(kind, lock(&self.chains).room.upgrade());
            return place;
        }
        let kind = [Kind::Planes, Kind::Regions].into_iter().find(can);
        let kept = if tile.key.on_device { try_reserve(&self.residents, device, trackers()) } else { None };
        if !tile.key.on_device || kept.is_some() {
            place = Place::whole(kept);
            self.settle_ghosts(trackers());
            let reads = || tile.touches.iter().filter(|touch| touch.read.is_some()).map(|touch| &touch.tracker);
            if can(&Kind::Arriving) && tile.pace.is_none() && self.arrive(device, trackers(), reads()) {
                place.stream(Kind::Arriving, None);
            }
            return place;
        }
        let arrays = distinct(trackers());
        let bytes: u64 = arrays.iter().map(|tracker| tracker.storage().device_bytes() as u64).sum();
        if bytes <= device.budget() {
            // What was used longest ago leaves first.
            let since = if kind == Some(Kind::Planes) { IDLE } else { 0 };
            let others = self.others(&arrays);
            for idle in others.iter().take_while(|other| self.residents.idle(other) >= since) {
                self.evict(idle);
                if let Some(kept) = try_reserve(&self.residents, device, trackers()) {
                    self.settle_ghosts(trackers());
                    return Place::whole(Some(kept));
                }
            }
        }
        // Whole regions come and go only where arrays would never fit.
        let kind = kind.filter(|kind| *kind == Kind::Planes || bytes > device.budget());
        // Planes need none of the ghosts between regions that a chain before may not have set.
        if kind != Some(Kind::Planes) {
            self.settle_ghosts(trackers());
        }
        let wholes = distinct(wholes());
        if let Some(kind) = kind
            && let Some(kept) = self.room_beside(device, &wholes, moving(), &arrays)
        {
            moving().for_each(|tracker| self.leave_for_chain(tracker));
            place = Place::whole(Some(kept));
            place.stream(kind, self.room_for_chains(device, &arrays));
            return place;
        }
        let whole = || try_reserve(&self.residents, device, trackers());
        let kept =
            if bytes <= device.budget() { self.make_room(device, || lacks(&arrays), &arrays, whole) } else { None };
        // Those that have no room may get it once their work runs: they can be asked to leave then.
        self.residents.use_now(&arrays);
        Place::whole(kept)
    }

    /// Arrays but for these that may give their room to others, that used longest ago first.
    fn others(&self, arrays: &[&Arc<Tracker>]) -> Vec<Arc<Tracker>> {
        let mut others = self.residents.all();
        others.retain(|resident| arrays.iter().all(|tracker| !Arc::ptr_eq(tracker, resident)));
        others
    }

    /// Makes room until `reserve`, which needs so many bytes, finds enough: all arrays but for `arrays` give way
    /// in turn, then what work that is under way gives back once it has ended.
    fn make_room<T>(
        self: &Arc<Core>,
        device: &DeviceCore,
        bytes: impl Fn() -> u64,
        arrays: &[&Arc<Tracker>],
        mut reserve: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        let mut waits = 0;
        loop {
            if let Some(found) = reserve() {
                return Some(found);
            }
            // Other threads may take what is left here, and have arrays there by now.
            match self.others(arrays).first() {
                Some(other) => self.evict(other),
                None if waits < WAITS => {
                    waits += 1;
                    self.wait_for_all();
                    device.wait_for_room(bytes());
                }
                None => return None,
            }
        }
    }

    /// Gives arrays that are read as a whole their room, beside those that come and go: at most half of the memory.
    /// What is `moving`, and then all but for `arrays`, give way.
    fn room_beside<'a>(
        self: &Arc<Core>,
        device: &DeviceCore,
        wholes: &[&Arc<Tracker>],
        moving: impl Iterator<Item = &'a Arc<Tracker>>,
        arrays: &[&Arc<Tracker>],
    ) -> Option<Kept> {
        let reserve = || try_reserve(&self.residents, device, wholes.iter().copied());
        let bytes: u64 = wholes.iter().map(|tracker| tracker.storage().device_bytes() as u64).sum();
        if wholes.is_empty() || bytes > device.budget() / 2 {
            return if wholes.is_empty() { reserve() } else { None };
        }
        moving.for_each(|tracker| self.leave_for_chain(tracker));
        self.make_room(device, || lacks(wholes), arrays, reserve)
    }

    /// Whether arrays that have their room on the device, of which work reads some, are on their way from the host and
    /// large enough to be worth streaming.
    fn arrive<'a>(
        &self,
        device: &DeviceCore,
        all: impl Iterator<Item = &'a Arc<Tracker>>,
        read: impl Iterator<Item = &'a Arc<Tracker>>,
    ) -> bool {
        let read = distinct(read);
        // Work that is under way there brings them: it is looked for first, since it may end meanwhile.
        let comes_anyway = read.iter().any(|tracker| {
            let mut nodes = Vec::new();
            tracker.pending(None, true, &mut nodes);
            nodes.iter().any(|node| node.on_device && !node.is_finished())
        });
        let to_bring: usize = read.iter().map(|tracker| tracker.storage().bytes_to_bring()).sum();
        let of_read: usize = read.iter().map(|tracker| tracker.storage().device_bytes()).sum();
        if comes_anyway || (to_bring as u64) < self.stream_from || 2 * to_bring < of_read {
            return false;
        }
        let all = distinct(all);
        let bytes: u64 = all.iter().map(|tracker| tracker.storage().device_bytes() as u64).sum();
        // A window of each, besides the arrays. What other work has brought there need not come again.
        device.room() >= bytes && all.iter().all(|tracker| !tracker.is_ring())
    }

    /// Room for a chain: that of the chains which are not done, else half of the memory, for which all arrays but for
    /// `arrays` give way in turn.
    fn room_for_chains(self: &Arc<Core>, device: &DeviceCore, arrays: &[&Arc<Tracker>]) -> Option<Arc<Reservation>> {
        let known = lock(&self.chains).room.upgrade();
        if known.is_some() {
            return known;
        }
        let half = device.budget().div_ceil(2);
        let reserve = |bytes: u64| device.try_reserve(Purpose::Chains, bytes);
        let room =
            self.make_room(device, || half, arrays, || reserve(half)).or_else(|| reserve(half.min(device.room())))?;
        let room = Arc::new(room);
        lock(&self.chains).room = Arc::downgrade(&room);
        Some(room)
    }

    /// Brings an array back to the host and gives its memory on the device back; nothing if it keeps it.
    fn evict(self: &Arc<Core>, tracker: &Arc<Tracker>) {
        let storage = tracker.storage().clone();
        let (Some(device), Some(reserved)) = (self.device.clone(), storage.leaves()) else { return };
        let work = move || {
            // SAFETY: the node's touch keeps all work that conflicts away.
            unsafe { storage.leave_device(&device)? };
            storage.left();
            Ok(())
        };
        let touch = Touch::new(tracker, None, Mode::Move);
        let node = self.record("evict", Location::caller(), &[touch], &[], Work::Host(Box::new(work)));
        let mut leaving = lock(&self.leaving);
        leaving.retain(|other| !other.is_finished());
        leaving.push(node);
        // Who is promised it from now on waits for the node.
        reserved.leave();
    }

    /// Gives the regions of an array ghosts of their own on the device, if they lie in a row there: its memory is given
    /// back, and they come back apart.
    pub fn separate(self: &Arc<Core>, tracker: &Arc<Tracker>) {
        let (Some(device), true) = (self.device.clone(), tracker.storage().leave_row()) else { return };
        // What comes home as ghosts between regions may be of before the last fill.
        tracker.ghosts_lost();
        let storage = tracker.storage().clone();
        let work = move || {
            // SAFETY: the node's touch keeps all work that conflicts away.
            unsafe { storage.leave_device(&device)? };
            storage.take_apart();
            Ok(())
        };
        let touch = Touch::new(tracker, None, Mode::Move);
        self.record("separate", Location::caller(), &[touch], &[], Work::Host(Box::new(work)));
    }

    /// Records that the values of an array are not needed, so that nobody moves them. Not where work waits for more
    /// that touches the array: it is not worth ending that.
    pub fn discard(self: &Arc<Core>, tracker: &Arc<Tracker>) {
        if self.device.is_none() {
            return;
        }
        let waits = {
            let recorder = lock(&self.recorder);
            recorder.chain_of([tracker].into_iter()).is_some() || recorder.fusing.holds([tracker].into_iter())
        };
        if waits {
            return;
        }
        tracker.set_due(false);
        let touch = Touch::new(tracker, None, Mode::Discard);
        let storage = tracker.storage().clone();
        let work = move |_: &Queue<'_>| -> Result<Done, Error> {
            storage.forget_ghosts();
            Ok(Box::new(|| Ok(())))
        };
        self.record("discard", Location::caller(), &[touch], &[], Work::Device(Box::new(work)));
    }

    /// Whether the chain that still takes work works on an array.
    fn is_chained(&self, tracker: &Arc<Tracker>) -> bool {
        lock(&self.recorder).chain_of([tracker].into_iter()).is_some()
    }

    /// Lets an array leave the device that a chain is to work on: others may be promised its memory before the chain
    /// runs.
    fn leave_for_chain(self: &Arc<Core>, tracker: &Arc<Tracker>) {
        if !self.is_chained(tracker) && tracker.storage().is_reserved() {
            self.evict(tracker);
        }
        tracker.storage().give_room_back();
    }

    /// Lets work on the device wait for arrays that are on their way from there: it may be promised their memory.
    pub(super) fn after_evictions(&self, node: &Arc<Node>) {
        for before in lock(&self.leaving).iter().filter(|before| !before.is_finished()) {
            node.wait_for(before, Need::Order);
        }
    }

    /// Records the filling of ghosts on the host, of arrays whose chains had no need of them there: those between
    /// regions, and beyond ends that belong together.
    pub(super) fn settle_ghosts<'a>(self: &Arc<Core>, trackers: impl Iterator<Item = &'a Arc<Tracker>>) {
        for tracker in trackers {
            if let (true, Some(planar)) = (tracker.set_due(false), tracker.planar()) {
                let (planar, storage) = (planar.clone(), tracker.storage().clone());
                let touch = Touch::new(tracker, None, Mode::Update);
                let work = move || {
                    // SAFETY: the node's touch keeps all other work away.
                    unsafe { planar.regional.fill_on_host(&storage, Which::All) };
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
        let held = {
            let mut recorder = lock(&self.recorder);
            self.keep_short(&mut recorder);
            recorder.chain_of([tracker].into_iter()).map(|open| open.chain.kind)
        };
        let arrives = || match &self.device {
            Some(device) if tracker.side() == Side::Device && tracker.planar().is_some() => {
                let array = || [tracker].into_iter();
                if self.arrive(device, array(), array()) { try_reserve(&self.residents, device, array()) } else { None }
            }
            _ => None,
        };
        let kept = if held.is_none() { arrives() } else { None };
        if held == Some(Kind::Arriving) || kept.is_some() {
            self.wait_for_room();
            self.add_ghosts(&mut lock(&self.recorder), recorded, tracker, (fixed, Kind::Arriving, None));
            return true;
        }
        if tracker.side() != Side::Chain && held.is_none() {
            return false;
        }
        let chains = |planar: &Arc<Planar>| match self.device {
            Some(_) => planar.facts().period.is_none() || planar.facts().is_ring(),
            None => chain::wave::can_fill(planar),
        };
        let kind = match (held, tracker.planar()) {
            (Some(Kind::Regions), _) => Kind::Regions,
            (_, Some(planar)) if chains(planar) => Kind::Planes,
            (None, None) if self.device.is_some() && tracker.regional().is_some() => Kind::Regions,
            _ => return false,
        };
        self.wait_for_room();
        let room = self.device.as_ref().and_then(|device| {
            self.leave_for_chain(tracker);
            self.room_for_chains(device, &[tracker])
        });
        let mut recorder = lock(&self.recorder);
        self.add_ghosts(&mut recorder, recorded, tracker, (fixed, kind, room));
        if self.device.is_some() && kind == Kind::Planes && (tracker.boxes().len() > 1 || tracker.is_ring()) {
            tracker.set_due(true);
        }
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
        self.close_all(recorder);
        let by = Ended::Beside { name: "a ghost fill", recorded, why: OTHER };
        let open = self.open_chain(recorder, kind, room, by);
        let node = Node::new("fill_ghosts", recorded, self.device.is_some(), Some(open.number));
        self.unfinished.add();
        open.gate.add();
        open.chain.ghosts(node.clone(), tracker, fixed);
        node.set_work(self.part_of_chain(&open.gate));
        self.after_evictions(&node);
        touch_all(&node, &Touch::new(tracker, None, Mode::Update));
        if recorder.driver_sleeps {
            self.recorded.notify_all();
        }
        if node.release() {
            self.start_node(node);
        }
    }

    /// What a node does that is a part of a chain: the last one that may run starts it.
    pub(super) fn part_of_chain(self: &Arc<Core>, gate: &Arc<Gate>) -> Work {
        let (core, gate) = (self.clone(), gate.clone());
        Work::Shared(Box::new(move |node, failure| {
            if let Some(ready) = gate.arrive(node, failure) {
                core.start_chain(ready);
            }
            Vec::new()
        }))
    }

    /// Runs a chain: on a device after those that came before.
    pub(super) fn start_chain(self: &Arc<Core>, ready: Ready) {
        if self.device.is_some() {
            let mut chains = lock(&self.chains);
            if chains.running {
                chains.ready.push_back(ready);
                return;
            }
            chains.running = true;
        }
        let core = self.clone();
        self.pool.spawn(move || core.run_chain(ready));
    }

    fn run_chain(self: Arc<Core>, mut ready: Ready) {
        let run = || match &self.device {
            Some(device) => chain::run(device, &ready),
            None => self.host.run(self.timeline.as_deref(), &ready),
        };
        let counted = || self.device.as_ref().map_or_else(|| self.host.stats(), |device| device.stats());
        let before = counted();
        let results = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
            let error = crate::error::panicked("a chain", payload);
            ready.chain.links.iter().map(|_| Err(error.clone())).collect()
        });
        lock(&self.streamed).add(&ready.chain, self.device.is_some(), [&before, &counted()]);
        // Whoever waits for its nodes finds its room free.
        ready.chain.room = None;
        if self.device.is_some() {
            let mut chains = lock(&self.chains);
            chains.running = false;
            let next = chains.ready.pop_front();
            drop(chains);
            next.into_iter().for_each(|next| self.start_chain(next));
        }
        let mut next = Vec::new();
        for (link, result) in ready.chain.links.iter().zip(results) {
            next.extend(self.finish(&link.node, result));
        }
        // What the chain holds may be dropped by whoever waits for it.
        drop(ready);
        next.into_iter().for_each(|node| self.start_node(node));
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

/// Bytes of the arrays that have no room yet.
fn lacks(arrays: &[&Arc<Tracker>]) -> u64 {
    let storages = arrays.iter().map(|tracker| tracker.storage()).filter(|storage| !storage.is_reserved());
    storages.map(|storage| storage.device_bytes() as u64).sum()
}

/// Reserves room for arrays that are to stay on a device as a whole, if there is any.
fn try_reserve<'a>(
    residents: &Residents,
    device: &DeviceCore,
    trackers: impl Iterator<Item = &'a Arc<Tracker>>,
) -> Option<Kept> {
    let arrays = distinct(trackers);
    let storages: SmallVec<[&Arc<Storage>; 8]> = arrays.iter().map(|tracker| tracker.storage()).collect();
    let kept = Storage::try_reserve(device, &storages)?;
    residents.use_now(&arrays);
    Some(kept)
}
