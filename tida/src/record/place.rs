//! Where recorded work finds its arrays: as a whole on the device, as planes in a chain, or on the host. What is tried
//! is decided in `program/place.rs`; here rooms are reserved and arrays leave.

use std::panic::Location;
use std::sync::Arc;

use smallvec::SmallVec;

use super::driver::{Core, lock};
use super::recording::TileWork;
use crate::device::core::DeviceCore;
use crate::device::ledger::{Purpose, Reservation};
use crate::error::Error;
use crate::memory::node::{Done, Node, Queue, Work};
use crate::memory::residence::Kept;
use crate::memory::storage::Storage;
use crate::memory::tracker::{BoxTouch, Mode, Touch, Tracker, distinct};
use crate::program::deps::Need;
use crate::program::place::{Attempt, Facts, Kind};

/// How often work that is under way is waited for, where nothing else makes room.
const WAITS: usize = 20;

/// Where a tile is to find its arrays.
#[derive(Default)]
pub(crate) struct Place {
    /// In a chain: they do not stay on the device as a whole.
    pub streams: Option<Kind>,
    /// The room of that chain.
    pub(super) room: Option<Arc<Reservation>>,
    /// Else they have their room, and keep it until the tile is recorded.
    _kept: Option<Kept>,
}

/// Arrays, each once.
type Arrays<'a> = SmallVec<[&'a Arc<Tracker>; 8]>;

/// The arrays of a tile.
struct Placing<'a> {
    tile: &'a TileWork<'a>,
    all: Arrays<'a>,
    /// Those that it reads as a whole, and those that may come and go.
    wholes: Arrays<'a>,
    moving: Arrays<'a>,
}

impl<'a> Placing<'a> {
    fn of(tile: &'a TileWork<'a>) -> Placing<'a> {
        let arrays = |of: fn(&BoxTouch) -> bool| {
            distinct(tile.touches.iter().filter(|touch| of(touch)).map(|touch| &touch.tracker))
        };
        let (wholes, moving) = (arrays(|touch| touch.whole), arrays(|touch| !touch.whole));
        Placing { tile, all: arrays(|_| true), wholes, moving }
    }
}

impl Core {
    /// Reserves room for arrays that are to stay on the device as a whole, if there is any. They keep it until work is
    /// recorded and what this gives is dropped.
    pub fn try_reserve(&self, arrays: &[&Arc<Tracker>]) -> Option<Kept> {
        let storages: SmallVec<[&Arc<Storage>; 8]> = arrays.iter().map(|tracker| tracker.storage()).collect();
        let kept = Storage::try_reserve(self.device.as_ref()?, &storages)?;
        self.residents.use_now(arrays);
        Some(kept)
    }

    /// Says where a tile is to find its arrays, and makes room for them, before it is recorded.
    pub(super) fn prepare_place(self: &Arc<Core>, tile: &TileWork<'_>) -> Place {
        let Some(device) = &self.device else { return Place::default() };
        let placing = Placing::of(tile);
        let clash = lock(&self.recorder).chain.as_ref().and_then(|open| open.chain.clash(tile.touches));
        if let Some(why) = clash {
            self.close_chain(&mut lock(&self.recorder), tile.ends(why));
        }
        let arrays = || placing.all.iter().copied();
        let facts = Facts {
            on_device: tile.key.on_device,
            can: [Kind::Planes, Kind::Regions, Kind::Arriving].map(|kind| tile.can_chain(kind)),
            held: lock(&self.recorder).chain_of(arrays()).map(|open| open.chain.kind),
            bytes: bytes(&placing.all),
            wholes: bytes(&placing.wholes),
            budget: device.budget(),
        };
        for attempt in facts.attempts() {
            if let Some(place) = self.attempt(device, &placing, attempt) {
                tracing::trace!("{} at {} finds its arrays {attempt}", tile.name, tile.recorded);
                return place;
            }
        }
        // Those that have no room may get it once their work runs: they can be asked to leave then.
        self.residents.use_now(&placing.all);
        Place::default()
    }

    /// Tries one way to place a tile.
    fn attempt(
        self: &Arc<Core>,
        device: &Arc<DeviceCore>,
        Placing { tile, all, wholes, moving }: &Placing<'_>,
        attempt: Attempt,
    ) -> Option<Place> {
        let whole = |kept: Kept| Place { _kept: Some(kept), ..Place::default() };
        let stream = |kind: Kind, room: Option<Arc<Reservation>>, kept: Kept| {
            Some(Place { streams: Some(kind), room, _kept: Some(kept) })
        };
        match attempt {
            Attempt::Join(Kind::Arriving) => stream(Kind::Arriving, None, self.try_reserve(all)?),
            Attempt::Join(kind) => {
                let kept = self.try_reserve(wholes)?;
                moving.iter().for_each(|tracker| self.leave_for_chain(tracker));
                stream(kind, lock(&self.chains).room.upgrade(), kept)
            }
            Attempt::End => {
                self.close_chain(&mut lock(&self.recorder), tile.ends("works on its arrays as a whole"));
                None
            }
            Attempt::Host => Some(Place::default()),
            Attempt::Whole => {
                let place = whole(self.try_reserve(all)?);
                let reads = tile.touches.iter().filter(|touch| touch.read.is_some()).map(|touch| &touch.tracker);
                let arrives = tile.can_chain(Kind::Arriving) && tile.pace.is_none() && self.arrive(device, all, reads);
                Some(Place { streams: arrives.then_some(Kind::Arriving), ..place })
            }
            Attempt::After(least) => {
                // What was used longest ago leaves first.
                let others = self.others(all);
                let mut idle = others.iter().take_while(|other| self.residents.idle(other) >= least);
                let kept = idle.find_map(|other| {
                    self.evict(other);
                    self.try_reserve(all)
                });
                kept.map(whole)
            }
            Attempt::Stream(kind) => {
                moving.iter().for_each(|tracker| self.leave_for_chain(tracker));
                let kept = self.make_room(device, || lacks(wholes), all, || self.try_reserve(wholes))?;
                stream(kind, self.room_for_chains(device, all), kept)
            }
            Attempt::AfterOthers => self.make_room(device, || lacks(all), all, || self.try_reserve(all)).map(whole),
        }
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

    /// Whether arrays that have their room on the device, of which work reads some, are on their way from the host and
    /// large enough to be worth streaming.
    pub(super) fn arrive<'a>(
        &self,
        device: &DeviceCore,
        all: &[&Arc<Tracker>],
        read: impl Iterator<Item = &'a Arc<Tracker>>,
    ) -> bool {
        let read = distinct(read);
        let of_read: usize = read.iter().map(|tracker| tracker.storage().device_bytes()).sum();
        if (of_read as u64) < self.rules.stream_from || all.iter().any(|of| of.storage().backing().is_some()) {
            return false;
        }
        // Work that is under way there brings them: it is looked for first, since it may end meanwhile.
        let comes_anyway = read.iter().any(|tracker| {
            let mut nodes = Vec::new();
            tracker.pending(None, true, &mut nodes);
            nodes.iter().any(|node| node.on_device && !node.is_finished())
        });
        let to_bring: usize = read.iter().map(|tracker| tracker.storage().bytes_to_bring()).sum();
        if comes_anyway || (to_bring as u64) < self.rules.stream_from || 2 * to_bring < of_read {
            return false;
        }
        // A window of each, besides the arrays. What other work has brought there need not come again.
        device.room() >= bytes(all) && all.iter().all(|tracker| !tracker.is_ring())
    }

    /// Room for a chain: that of the chains which are not done, else half of the memory, for which all arrays but for
    /// `arrays` give way in turn.
    pub(super) fn room_for_chains(
        self: &Arc<Core>,
        device: &DeviceCore,
        arrays: &[&Arc<Tracker>],
    ) -> Option<Arc<Reservation>> {
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
    pub(super) fn evict(self: &Arc<Core>, tracker: &Arc<Tracker>) {
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
        let mut leaving = lock(&self.residents.leaving);
        leaving.retain(|other| !other.is_finished());
        leaving.push(node);
        // Who is promised it from now on waits for the node.
        reserved.leave();
    }

    /// Gives the regions of an array ghosts of their own on the device, if they lie in a row there: its memory is given
    /// back, and they come back apart.
    pub fn separate(self: &Arc<Core>, tracker: &Arc<Tracker>) {
        // In a file they have none.
        if tracker.storage().backing().is_some() {
            return;
        }
        let (Some(device), true) = (self.device.clone(), tracker.storage().leave_row()) else { return };
        // What comes home as ghosts between regions may be of before the last fill.
        tracker.ages.ghosts_lost();
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

    /// Records that the values of an array are not needed, so that nobody moves them. A chain that streams the array
    /// is told, and goes on. Where other work waits for more that touches it, nothing is done: it is not worth ending
    /// that.
    pub fn discard(self: &Arc<Core>, tracker: &Arc<Tracker>) {
        if self.device.is_none() {
            return;
        }
        let waits = {
            let mut recorder = lock(&self.recorder);
            let chained = recorder.chain_of([tracker].into_iter()).is_some();
            if chained {
                // What was recorded before is a part of it first.
                self.close_all(&mut recorder);
                recorder.chain.iter_mut().for_each(|open| open.chain.discard(tracker));
            }
            chained || recorder.fusing.holds([tracker].into_iter())
        };
        if waits {
            return;
        }
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
    pub(super) fn leave_for_chain(self: &Arc<Core>, tracker: &Arc<Tracker>) {
        if !self.is_chained(tracker) && tracker.storage().is_reserved() {
            self.evict(tracker);
        }
        tracker.storage().give_room_back();
    }

    /// Lets work on the device wait for arrays that are on their way from there: it may be promised their memory.
    pub(super) fn after_evictions(&self, node: &Arc<Node>) {
        for before in lock(&self.residents.leaving).iter().filter(|before| !before.is_finished()) {
            node.wait_for(before, Need::Order);
        }
    }
}

/// Bytes of the arrays that have no room yet.
fn lacks(arrays: &[&Arc<Tracker>]) -> u64 {
    let storages = arrays.iter().map(|tracker| tracker.storage()).filter(|storage| !storage.is_reserved());
    storages.map(|storage| storage.device_bytes() as u64).sum()
}

/// Bytes of arrays on a device.
fn bytes(arrays: &[&Arc<Tracker>]) -> u64 {
    arrays.iter().map(|tracker| tracker.storage().device_bytes() as u64).sum()
}
