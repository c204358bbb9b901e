//! What recorded work does to one array: who writes it, and who reads it.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use super::ages::Ages;
use super::layout::Layout;
use super::node::{Node, Queue};
use super::storage::Storage;
use crate::device::core::DeviceCore;
use crate::error::Error;
use crate::grid::GridBox;
use crate::grid::boxes::BoxList;
use crate::memory::ghosts::planes::Planar;
use crate::memory::ghosts::regions::Regional;
use crate::program::deps::{Before, Need, need};
use crate::program::schedule::Scale;

/// Per array: the recorded work that touches each region, and how old its ghosts are.
///
/// The lists change only under the recorder's lock.
#[derive(Debug)]
pub struct Tracker {
    /// The array's memory.
    storage: Arc<Storage>,
    regions: Mutex<Vec<RegionTouches>>,
    /// All that each region's memory holds.
    boxes: Vec<GridBox<4>>,
    /// How old its ghosts are; all parts of an array have the same.
    pub(crate) ages: Arc<Ages>,
    /// Where the last kernel runs that was recorded to write it.
    side: AtomicU8,
    /// Some chain has worked on it.
    chained: AtomicBool,
    /// The last node, by number from 1 on, that was ordered after the chains that work on it.
    ordered: AtomicU64,
    /// When it was last used as a whole on the device, in uses of all arrays.
    used: AtomicU64,
    /// Its planes, if it is cut along its first axis alone.
    planar: Option<Arc<Planar>>,
    /// Its regions, if they have any memory.
    regional: Option<Arc<Regional>>,
}

/// Where the newest values of an array are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Wherever they are: nothing was recorded yet, or on the device.
    Device,
    /// On the host of an accelerator with a device.
    Host,
    /// In a chain: they pass through the device, and end on the host.
    Chain,
    /// Some regions on the device, the others on the host: by a loop that runs on both.
    Both,
}

#[derive(Debug, Default)]
struct RegionTouches {
    /// Unfinished writers, and failed ones until they are overwritten.
    writers: SmallVec<[Entry; 2]>,
    /// Unfinished readers.
    readers: SmallVec<[Entry; 4]>,
}

#[derive(Debug)]
struct Entry {
    node: Arc<Node>,
    cells: BoxList,
    /// Of a reader: the writer that came to wait for it last, by number.
    before: Option<u64>,
}

impl Entry {
    /// Whether whoever has to wait for this reader waits for it anyway if it waits for a new one, that reads what `new`
    /// says and waits for these writers. So readers do not heap up where sweeps take turns with two arrays and leave
    /// the outer cells alone.
    fn is_implied(&self, new: &Entry, waits_for: &[u64]) -> bool {
        let alike = |node: &Node| (node.on_device, node.chain);
        self.before.is_some_and(|writer| waits_for.contains(&writer))
            && alike(&self.node) == alike(&new.node)
            && new.cells.covers(&self.cells)
    }
}

/// How a piece of work touches an array.
#[derive(Clone, Debug)]
pub(crate) struct Touch {
    /// The array.
    pub tracker: Arc<Tracker>,
    /// One region, or all.
    pub region: Option<usize>,
    pub mode: Mode,
    /// What was there comes all the same where work overwrites all cells: see [`Ages::keeps_ghosts`].
    pub keeps: bool,
}

/// What a piece of work does with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Reads them.
    Read,
    /// Reads some cells where they are: on the host or on the device.
    Look,
    /// Overwrites them all.
    Overwrite,
    /// Reads and writes them.
    Update,
    /// Says that nobody needs them.
    Discard,
    /// Brings them elsewhere, whatever they are: those that failed work left stay failed there.
    Move,
}

impl Mode {
    /// Whether it needs what was there.
    pub fn reads(self) -> bool {
        matches!(self, Mode::Read | Mode::Look | Mode::Update)
    }

    /// Whether others must neither read nor write meanwhile.
    pub fn writes(self) -> bool {
        !matches!(self, Mode::Read | Mode::Look)
    }

    /// Whether it leaves other values.
    fn changes(self) -> bool {
        matches!(self, Mode::Overwrite | Mode::Update)
    }
}

impl Touch {
    /// Touches one region, or all.
    pub fn new(tracker: &Arc<Tracker>, region: Option<usize>, mode: Mode) -> Touch {
        Touch { tracker: tracker.clone(), region, mode, keeps: tracker.ages.keeps_ghosts() }
    }

    /// How it moves regions: as an update, if what it overwrites is needed.
    pub(crate) fn moves(&self) -> Mode {
        if self.mode == Mode::Overwrite && self.keeps { Mode::Update } else { self.mode }
    }

    /// The regions.
    pub(crate) fn regions(&self) -> std::ops::Range<usize> {
        match self.region {
            Some(region) => region..region + 1,
            None => 0..self.tracker.boxes.len(),
        }
    }
}

/// A box of one region of an array that a recorded node touches.
#[derive(Clone, Debug)]
pub(crate) struct BoxTouch {
    /// The array.
    pub tracker: Arc<Tracker>,
    /// The region.
    pub region: usize,
    /// Cells read, if any.
    pub read: Option<GridBox<4>>,
    /// Cells written, if any.
    pub write: Option<GridBox<4>>,
    /// What is written all over is needed all the same: see [`Ages::keeps_ghosts`].
    pub keeps: bool,
    /// It is read as a whole array, whatever the tile.
    pub whole: bool,
    /// At each plane of the array's first axis, the first and the last plane that are read around it, if that is the
    /// same everywhere.
    pub around: Option<(i64, i64)>,
    /// The same along the second axis, of arrays that have one.
    pub across: Option<(i64, i64)>,
    /// How its planes lie beside those of the tile's array. `around` is what is read around the plane that lies there.
    pub scale: Scale,
    /// It reads what its own sweep writes in another region, which runs before.
    pub carried: bool,
}

impl Tracker {
    /// A tracker of the regions of an array, whose parts share `ages`.
    pub(crate) fn new<const D: usize>(
        layout: &Layout<D>,
        storage: &Arc<Storage>,
        ages: Arc<Ages>,
        planar: Option<Arc<Planar>>,
        regional: Option<Arc<Regional>>,
    ) -> Arc<Tracker> {
        let boxes: Vec<GridBox<4>> = layout.regions.iter().map(|r| r.grown.widen()).collect();
        let mut regions = Vec::new();
        regions.resize_with(boxes.len(), RegionTouches::default);
        Arc::new(Tracker {
            storage: storage.clone(),
            regions: Mutex::new(regions),
            boxes,
            ages,
            side: AtomicU8::new(Side::Device as u8),
            chained: AtomicBool::new(false),
            ordered: AtomicU64::new(0),
            used: AtomicU64::new(0),
            planar,
            regional,
        })
    }

    /// The array's memory.
    pub(crate) fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// Makes the device's copy of a region the newest, for commands of `queue` that follow; the only one if it is
    /// written. What is overwritten is not brought, but for ghosts that are left to the user.
    ///
    /// # Safety
    /// As [`Storage::to_device`].
    ///
    /// # Errors
    /// As [`Storage::to_device`].
    pub(crate) unsafe fn to_device(&self, queue: &Queue<'_>, region: usize, mode: Mode) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        unsafe {
            match mode {
                Mode::Discard => {
                    self.storage.owe_ghosts_on_host(None);
                    self.storage.discard(region);
                    return Ok(());
                }
                Mode::Look => return Ok(()),
                _ => self.storage.fill_owed_on_host(queue.device),
            }
            let replaced = self.replaced(region, mode).map(|regional| &**regional);
            self.storage.to_device(queue, region, mode.changes(), replaced)
        }
    }

    /// Makes the host's copy of a region the newest; the only one if it is written. What is overwritten is not brought,
    /// but for ghosts that are left to the user.
    ///
    /// # Safety
    /// As [`Storage::to_host`].
    ///
    /// # Errors
    /// As [`Storage::to_host`].
    pub(crate) unsafe fn to_host(&self, device: &DeviceCore, region: usize, mode: Mode) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        unsafe {
            if mode == Mode::Look {
                return Ok(());
            }
            self.storage.fill_owed_on_host(device);
            if let Some(regional) = self.replaced(region, mode)
                && self.storage.replace_on_host(region)
            {
                self.storage.unpack(region);
                match self.storage.backing() {
                    Some(backing) => regional.fix_in_file(&self.storage, backing, region..region + 1)?,
                    None => regional.fix_on_host(&self.storage, region),
                }
            }
            self.storage.to_host(device, region, mode.changes())
        }
    }

    /// A region that need not be brought, since all that is needed of it is overwritten.
    fn replaced(&self, region: usize, mode: Mode) -> Option<&Arc<Regional>> {
        self.regional.as_ref().filter(|regional| mode == Mode::Overwrite && !regional.has_open(region))
    }

    /// A kernel that writes it was recorded, to run there.
    pub(crate) fn written_at(&self, side: Side) {
        self.side.store(side as u8, Ordering::Relaxed);
    }

    /// Says when it was used as a whole on the device; gives the time before.
    pub(crate) fn use_at(&self, time: u64) {
        self.used.store(time, Ordering::Relaxed);
    }

    /// When it was last used as a whole on the device.
    pub(crate) fn used_at(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Where the last kernel runs that writes it.
    pub(crate) fn side(&self) -> Side {
        match self.side.load(Ordering::Relaxed) {
            side if side == Side::Host as u8 => Side::Host,
            side if side == Side::Chain as u8 => Side::Chain,
            side if side == Side::Both as u8 => Side::Both,
            _ => Side::Device,
        }
    }

    /// Whether its first and last plane are neighbours.
    pub(crate) fn is_ring(&self) -> bool {
        self.planar().is_some_and(|planar| planar.facts().is_ring())
    }

    /// Its planes, if it is cut along its first axis alone.
    pub(crate) fn planar(&self) -> Option<&Arc<Planar>> {
        self.planar.as_ref()
    }

    /// Its regions, if they have any memory.
    pub(crate) fn regional(&self) -> Option<&Arc<Regional>> {
        self.regional.as_ref()
    }

    /// All that each region's memory holds, ghosts included.
    pub(crate) fn boxes(&self) -> &[GridBox<4>] {
        &self.boxes
    }

    /// Takes over what is known of `other`, of which this array is now a copy, ghosts included.
    pub(crate) fn copied_from(&self, other: &Tracker) {
        self.ages.copied_from(&other.ages);
        self.written_at(other.side());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RegionTouches>> {
        self.regions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what `node` does to a region, and makes it wait for the nodes it conflicts with.
    pub(crate) fn add(&self, region: usize, node: &Arc<Node>, read: Option<GridBox<4>>, write: Option<GridBox<4>>) {
        let mut regions = self.lock();
        self.order_chains(&regions, node);
        let Some(RegionTouches { writers, readers }) = regions.get_mut(region) else { return };
        let others = |e: &Entry| !Arc::ptr_eq(&e.node, node);
        let wait = |before: &Node, cells: &BoxList, wrote: bool| {
            let (read_before, written) = if wrote { (None, Some(cells)) } else { (Some(cells), None) };
            let apart = before.on_device != node.on_device;
            need(Before { read: read_before, write: written, apart }, read.as_ref(), write.as_ref())
        };
        let mut waits_for = SmallVec::<[u64; 2]>::new();
        for entry in writers.iter().filter(|e| others(e)) {
            if let Some(need) = wait(&entry.node, &entry.cells, true) {
                node.wait_for(&entry.node, need);
                waits_for.push(entry.node.number);
            }
        }
        for entry in readers.iter_mut().filter(|e| others(e)) {
            if let Some(need) = wait(&entry.node, &entry.cells, false) {
                node.wait_for(&entry.node, need);
                entry.before = Some(node.number);
            }
        }
        if let Some(write) = write {
            let mut new = take(writers, node);
            new.cells.add(write);
            // What was there before and is wholly overwritten needs no further mention: who waits for this node waits
            // for it too, and a failure that this node does not read is gone with the data. A sweep that is still open
            // may lie before others that are here already: those stay.
            let overwritten = |old: &Entry| old.node.number < node.number && new.cells.covers(&old.cells);
            writers.retain(|old| !overwritten(old) && !is_done(old));
            readers.retain(|old| !overwritten(old) && !old.node.is_finished());
            writers.push(new);
        }
        if let Some(read) = read {
            let mut new = take(readers, node);
            new.cells.add(read);
            readers.retain(|old| !old.is_implied(&new, &waits_for) && !old.node.is_finished());
            readers.push(new);
        }
    }

    /// Orders a node with chains: a chain moves planes of the array between those that it needs, whatever their region.
    fn order_chains(&self, regions: &[RegionTouches], node: &Arc<Node>) {
        if node.chain.is_some() {
            self.chained.store(true, Ordering::Relaxed);
        }
        if self.chained.load(Ordering::Relaxed)
            && self.ordered.swap(node.number + 1, Ordering::Relaxed) != node.number + 1
        {
            let other_chain = |e: &&Entry| e.node.chain != node.chain && !e.node.is_finished();
            for entry in regions.iter().flat_map(|r| r.writers.iter().chain(&r.readers)).filter(other_chain) {
                node.wait_for(&entry.node, Need::Order);
            }
        }
    }

    /// Adds that `node` moves a region: it waits for all others, and whoever comes later waits for it. What others left
    /// there is as good or bad as before.
    pub(crate) fn add_move(&self, region: usize, node: &Arc<Node>) {
        let (mut regions, Some(all)) = (self.lock(), self.boxes.get(region)) else { return };
        self.order_chains(&regions, node);
        let Some(RegionTouches { writers, readers }) = regions.get_mut(region) else { return };
        for entry in writers.iter().chain(readers.iter()).filter(|e| !Arc::ptr_eq(&e.node, node)) {
            node.wait_for(&entry.node, Need::Order);
        }
        writers.retain(|old| !is_done(old));
        readers.clear();
        let mut new = take(writers, node);
        new.cells.add(*all);
        writers.push(new);
    }

    /// Nodes that a host access of a region has to wait for.
    pub(crate) fn pending(&self, region: Option<usize>, write: bool, out: &mut Vec<Arc<Node>>) {
        for (r, touches) in self.lock().iter().enumerate() {
            // A chain moves planes of other regions too.
            let here = |e: &&Entry| region.is_none_or(|region| region == r) || e.node.chain.is_some();
            out.extend(touches.writers.iter().filter(here).map(|e| e.node.clone()));
            if write {
                out.extend(touches.readers.iter().filter(here).map(|e| e.node.clone()));
            }
        }
    }

    /// Whether a box is all cells of the array, of one region.
    pub(crate) fn is_all(&self, cells: Option<GridBox<4>>) -> bool {
        let regions = self.regional().map_or(&[][..], |regional| &regional.layout.regions);
        matches!((regions, cells), ([all], Some(cells)) if cells.contains_box(&all.valid))
    }

    /// Whether all that touches it and has not finished is a part of this chain, or of one before.
    pub(crate) fn is_of_chain(&self, number: u64) -> bool {
        let regions = self.lock();
        let mut entries = regions.iter().flat_map(|r| r.writers.iter().chain(&r.readers));
        entries.all(|e| e.node.chain.is_some_and(|chain| chain <= number) || e.node.is_finished())
    }

    /// The first failure that a read of a region would see. All nodes have finished.
    pub(crate) fn failure(&self, region: Option<usize>) -> Option<Error> {
        let regions = self.lock();
        let seen = regions.iter().enumerate().filter(|(r, _)| region.is_none_or(|region| region == *r));
        let writers = seen.flat_map(|(_, touches)| &touches.writers);
        Error::earliest(writers.filter_map(|e| e.node.result()?.as_ref().err().cloned()))
    }

    /// Forgets failures in a region: the host overwrites all of it.
    pub(crate) fn overwritten(&self, region: Option<usize>) {
        for (r, touches) in self.lock().iter_mut().enumerate() {
            if region.is_none_or(|region| region == r) {
                touches.writers.retain(|e| !e.node.is_finished());
            }
        }
    }
}

/// Each of these arrays once.
pub(crate) fn distinct<'a>(trackers: impl Iterator<Item = &'a Arc<Tracker>>) -> SmallVec<[&'a Arc<Tracker>; 8]> {
    let mut arrays: SmallVec<[&'a Arc<Tracker>; 8]> = SmallVec::new();
    for tracker in trackers {
        if arrays.iter().all(|other| !Arc::ptr_eq(other, tracker)) {
            arrays.push(tracker);
        }
    }
    arrays
}

/// Finished well: nothing has to wait for it, nothing can fail by it.
fn is_done(entry: &Entry) -> bool {
    matches!(entry.node.result(), Some(Ok(())))
}

/// The entry of a node, which leaves the list, or a new one.
fn take<const N: usize>(entries: &mut SmallVec<[Entry; N]>, node: &Arc<Node>) -> Entry
where
    [Entry; N]: smallvec::Array<Item = Entry>,
{
    match entries.iter().rposition(|e| Arc::ptr_eq(&e.node, node)) {
        Some(place) => entries.remove(place),
        None => Entry { node: node.clone(), cells: BoxList::default(), before: None },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::prelude::*;

    /// Sweeps that take turns with two arrays and leave the outer cells alone: an array has few readers, however many
    /// sweeps wait, and who writes the outer cells then still comes after all of them.
    #[test]
    fn readers_do_not_heap_up() {
        let acc = TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap();
        let mut u = TileArray::<f64, 1>::builder([64]).build(&acc).unwrap();
        u.fill(|[i]| i as f64).unwrap();
        let mut next = u.try_clone().unwrap();
        let mut plain: [Vec<f64>; 2] = [u.read_box(u.domain()).unwrap(), next.read_box(u.domain()).unwrap()];
        // All that follows waits for this.
        let (go, gate) = mpsc::channel::<()>();
        acc.record("a gate", vec![Touch::new(&u.tracker, None, Mode::Update)], move || {
            gate.recv().unwrap();
            Ok(())
        });
        for _ in 0..40 {
            for tile in TileIter::new(&u).within([1], [63]) {
                compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = 0.5 * (u[at - [1]] + u[at + [1]])))
                    .unwrap();
            }
            std::mem::swap(&mut u, &mut next);
            let [old, new] = &mut plain;
            (1..63).for_each(|i| new[i] = 0.5 * (old[i - 1] + old[i + 1]));
            plain.swap(0, 1);
        }
        for array in [&u, &next] {
            let readers: usize = array.tracker.lock().iter().map(|region| region.readers.len()).sum();
            assert!(readers <= 2, "{readers} readers");
        }
        for tile in TileIter::new(&u).within([0], [1]) {
            compute(&tile, &mut next, kernel!(|next, at| next[at] = 1000.0)).unwrap();
        }
        go.send(()).unwrap();
        plain[1][0] = 1000.0;
        assert_eq!(u.read_box(u.domain()).unwrap(), plain[0]);
        assert_eq!(next.read_box(u.domain()).unwrap(), plain[1]);
    }
}
