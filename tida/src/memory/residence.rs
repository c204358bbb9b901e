//! The device's memory of an array, and how its regions come there and go home. Which copies are the newest is in a
//! table (`coherence.rs`).
//!
//! A region moves as a whole, ghosts and padding included. Who calls holds the region by the graph: no one else writes
//! it, and what the host touches the device does not touch meanwhile.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use smallvec::SmallVec;

use super::coherence::Coherence;
use super::node::Queue;
use super::row::Piece;
use super::storage::Storage;
use crate::backend::{Backend, Event, Memory};
use crate::device::core::DeviceCore;
use crate::device::ledger::{Purpose, Reservation};
use crate::device::timeline::SpanKind;
use crate::error::Error;
use crate::memory::ghosts::device::DeviceCopies;
use crate::memory::ghosts::regions::Regional;

/// The device's copy of an array, if any work needed one so far.
#[derive(Debug, Default)]
pub(crate) struct Residence {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    memory: Option<Arc<Memory>>,
    /// Which copies of its regions are the newest.
    table: Coherence,
    /// One entry a region, once there is memory.
    arrivals: Vec<Arrival>,
    pins: Pins,
    /// Its part of the device's memory, once all of it is to be there.
    reserved: Option<Arc<Reservation>>,
    /// What it holds until it has left, oldest first: once for each time that it was asked to.
    leaving: VecDeque<Arc<Reservation>>,
    /// How many are about to record work that needs its room: it is not to leave meanwhile.
    kept: usize,
}

// SAFETY: the addresses are only handed to the backend that pinned them, when the array ends.
unsafe impl Send for State {}

#[derive(Debug, Default)]
struct Pins {
    /// Blocks of host memory that are pinned, and by whom.
    blocks: Vec<(*mut u8, Arc<dyn Backend>)>,
    /// The regions that it was tried to pin.
    tried: Vec<bool>,
}

/// How a region came to the device last.
#[derive(Clone, Debug, Default)]
struct Arrival {
    /// The copy that brought it to the device, and its stream, while it may be under way.
    mark: Option<(usize, Arc<dyn Event>)>,
    /// What has set its ghosts of fixed value.
    #[allow(dead_code)] // held
    fixing: Option<Arc<DeviceCopies>>,
}

/// Blocks of the host of at least this many bytes are pinned for copies.
const WORTH_PINNING: usize = 1 << 18;

impl Arrival {
    /// Lets its pieces in the device's memory become zero, by commands of `queue`.
    ///
    /// # Safety
    /// The memory has the pieces, and no one else uses them until the commands are done.
    unsafe fn zero(&mut self, queue: &Queue<'_>, memory: &Arc<Memory>, pieces: &[Piece]) -> Result<(), Error> {
        let backend = queue.device.backend();
        for piece in pieces {
            // SAFETY: the caller's promise.
            unsafe { backend.zero(queue.stream, memory, piece.device, piece.bytes)? };
        }
        self.marked(queue)
    }

    /// Says that the last command of `queue` brings it.
    fn marked(&mut self, queue: &Queue<'_>) -> Result<(), Error> {
        self.mark = Some((queue.stream, queue.device.backend().mark(queue.stream)?));
        Ok(())
    }
}

/// Forgets the copy that brought a region to the device: nobody has to wait for it.
fn forget_mark(arrivals: &mut [Arrival], region: usize) {
    if let Some(arrival) = arrivals.get_mut(region) {
        arrival.mark = None;
    }
}

impl Residence {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives back what was pinned. Only when the storage ends.
    pub(super) fn unpin(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (base, backend) in state.pins.blocks.drain(..) {
            // SAFETY: pinned by this backend; all copies were waited for by the nodes that asked for them.
            unsafe { backend.unpin(base) }
        }
    }
}

/// Arrays that keep their room on the device until this is dropped, by when the work is recorded that needs it.
#[derive(Debug)]
pub(crate) struct Kept(SmallVec<[Arc<Storage>; 4]>);

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.iter().for_each(|storage| storage.residence().lock().kept -= 1);
    }
}

impl Storage {
    /// Asks the table which copies of the regions are the newest, or tells it.
    pub(super) fn with_table<T>(&self, f: impl FnOnce(&mut Coherence) -> T) -> T {
        f(&mut self.residence().lock().table)
    }

    /// Says that the host may have written a region: it may hold more than zeros.
    pub(crate) fn touch_host(&self, region: usize) {
        self.with_table(|table| table.touched(region));
    }

    /// Whether it may.
    pub(crate) fn host_touched(&self, region: usize) -> bool {
        self.with_table(|table| table.is_touched(region))
    }

    /// The device's memory of this array: all regions, each at its [`Storage::offset`].
    ///
    /// # Errors
    /// Memory that the device does not have.
    pub(crate) fn device_memory(&self, device: &DeviceCore) -> Result<Arc<Memory>, Error> {
        let mut state = self.residence().lock();
        self.memory_in(&mut state, device)
    }

    /// That memory, if it has the newest values of all regions, and nothing may be under way that brings them.
    pub(crate) fn settled_memory(&self) -> Option<Arc<Memory>> {
        let mut state = self.residence().lock();
        let State { memory, table, arrivals, .. } = &mut *state;
        let settled = arrivals.iter_mut().enumerate().all(|(region, Arrival { mark, .. })| {
            if mark.as_ref().is_some_and(|(_, event)| event.is_done()) {
                *mark = None;
            }
            table.is_on_device(region) && mark.is_none()
        });
        memory.clone().filter(|_| settled)
    }

    fn memory_in(&self, state: &mut State, device: &DeviceCore) -> Result<Arc<Memory>, Error> {
        if let Some(memory) = &state.memory {
            return Ok(memory.clone());
        }
        let bytes = self.row().map_or(self.device_bytes(), |row| row.bytes());
        let reserved = match state.leaving.front().or(state.reserved.as_ref()) {
            Some(reserved) => reserved.clone(),
            // Another thread had it leave before this work was recorded, or there never was room.
            None => {
                let needed = self.device_bytes() as u64;
                let found = device.try_reserve_now(Purpose::Arrays, needed).ok_or_else(|| device.no_room(needed))?;
                state.reserved.insert(Arc::new(found)).clone()
            }
        };
        let memory = Arc::new(device.allocate(Purpose::Arrays, bytes, Some(reserved))?);
        state.arrivals.resize(self.regions(), Arrival::default());
        state.memory = Some(memory.clone());
        Ok(memory)
    }

    /// Makes the device's copy of a region the newest, for commands of `queue` that follow. With `write` it becomes
    /// the only one. With `replaced`, zeros come instead of values, and ghosts of fixed value as that says.
    ///
    /// # Safety
    /// No one writes the region on the host until the node of `queue` has finished; no one reads it there if `write`.
    ///
    /// # Errors
    /// Memory that the device does not have, or a copy that failed.
    pub(crate) unsafe fn to_device(
        &self,
        queue: &Queue<'_>,
        region: usize,
        write: bool,
        replaced: Option<&Regional>,
    ) -> Result<(), Error> {
        let Queue { device, stream, .. } = queue;
        let backend = device.backend();
        self.unpack(region);
        let mut state = self.residence().lock();
        let state = &mut *state;
        let memory = self.memory_in(state, device)?;
        let (pieces, base) = (self.pieces(region, false), self.base(region));
        let bytes = pieces.iter().map(|piece| piece.bytes).sum();
        let State { table, arrivals, pins, .. } = state;
        let Some(arrival) = arrivals.get_mut(region) else { return Ok(()) };
        if bytes == 0 {
            return Ok(());
        }
        if table.is_on_device(region) {
            // Work on other cells of the region is not ordered with what brought it here, even if that wrote it too.
            match &arrival.mark {
                // Nobody has to ask again.
                Some((_, event)) if event.is_done() => arrival.mark = None,
                Some((other, event)) if other != stream => device.wait(*stream, &**event)?,
                _ => {}
            }
        } else if table.has_to_come(region) && replaced.is_none() {
            device.counts.upload(bytes);
            let copy = || {
                pieces.iter().try_for_each(|piece| {
                    let from = base.wrapping_add(piece.host);
                    // SAFETY: both blocks have the bytes; the caller keeps writers away until the node has finished,
                    // and the node holds the storage.
                    unsafe { backend.upload(*stream, &memory, piece.device, from, piece.bytes) }
                })
            };
            match self.backing() {
                // SAFETY: as for the copy, which no command of another stream comes before: the region is not here.
                Some(backing) => unsafe { self.upload_staged(device, (region, backing), &memory, &pieces)? },
                None => {
                    self.pin_in(pins, backend, region);
                    device.timed(SpanKind::H2d, format_args!("R{region}"), *stream, bytes, copy)?;
                }
            }
            arrival.marked(queue)?;
            table.came(region);
        } else {
            // SAFETY: the array's memory has the region there; the graph keeps others away.
            unsafe { arrival.zero(queue, &memory, &pieces)? };
            let site = |ghosts: &Regional| self.site(region, &ghosts.layout.regions[region]);
            if let Some(ghosts) = replaced.filter(|_| table.has_to_come(region))
                && let Some(copies) = ghosts.fix_on_device(device, region, site(ghosts))?
            {
                // SAFETY: the copies are for a region of this layout, which lies where they were told; the rest is the
                // caller's promise. They are held until the host has had the region, so until they are done.
                unsafe { copies.run(*stream, &memory, &memory)? };
                arrival.fixing = Some(Arc::new(copies));
                arrival.marked(queue)?;
            }
            table.came(region);
        }
        if write {
            table.written_on_device(region);
        }
        Ok(())
    }

    /// Makes the host's copy of a region the only one, whatever it holds; nothing if the host has the newest values.
    /// Says whether it did.
    ///
    /// # Safety
    /// As [`Storage::to_host`] with `write`.
    pub(crate) unsafe fn replace_on_host(&self, region: usize) -> bool {
        let mut state = self.residence().lock();
        let alone = !state.table.is_on_host(region);
        if alone {
            state.table.written_on_host(region);
            forget_mark(&mut state.arrivals, region);
        }
        alone
    }

    /// Lets no one bring what a region holds: it counts as zeros that nobody has touched.
    ///
    /// # Safety
    /// As [`Storage::to_device`] with `write`.
    pub(crate) unsafe fn discard(&self, region: usize) {
        self.with_table(|table| table.discarded(region));
    }

    /// Of each region, whether the device has its newest values; where both sides have them, whether the device made
    /// them.
    pub(super) fn sides(&self) -> Vec<bool> {
        self.each(Coherence::is_of_device)
    }

    /// What the table says of each region.
    fn each(&self, of: impl Fn(&Coherence, usize) -> bool) -> Vec<bool> {
        self.with_table(|table| (0..self.regions()).map(|region| of(table, region)).collect())
    }

    /// The device's memory of the array, if it has any, and what the table says.
    pub(super) fn memory_and<T>(&self, ask: impl FnOnce(&Coherence) -> T) -> (Option<Arc<Memory>>, T) {
        let state = self.residence().lock();
        (state.memory.clone(), ask(&state.table))
    }

    /// Runs `f` on the device's memory of the array, which has the newest values of these regions and keeps them
    /// meanwhile; nothing if it has not.
    pub(super) fn while_there<T>(
        &self,
        mut regions: impl Iterator<Item = usize>,
        f: impl FnOnce(&Arc<Memory>) -> T,
    ) -> Option<T> {
        let state = self.residence().lock();
        let memory = state.memory.as_ref().filter(|_| regions.all(|region| state.table.is_on_device(region)))?;
        Some(f(memory))
    }

    /// Bytes of the regions whose newest values the host alone has.
    pub(crate) fn bytes_to_bring(&self) -> usize {
        let comes = self.each(Coherence::has_to_come).into_iter().enumerate().filter(|(_, comes)| *comes);
        comes.map(|(region, _)| self.bytes(region)).sum()
    }

    /// Whether the device's memory has the newest values of a region. All work on it has finished.
    pub(crate) fn is_on_device(&self, region: usize) -> bool {
        self.with_table(|table| table.is_on_device(region))
    }

    /// Of how many regions it has.
    pub(crate) fn count_on_device(&self) -> usize {
        self.each(Coherence::is_on_device).into_iter().filter(|is| *is).count()
    }

    /// Of each region, whether work on the device would find it there without a copy over the link.
    pub(crate) fn is_there(&self) -> Vec<bool> {
        self.each(|table, region| !table.has_to_come(region))
    }

    /// Says that the device's memory has the newest values of all regions: new ones if they were `written`, which the
    /// host has too if it was `told`. All work on the array has finished.
    pub(crate) fn arrived(&self, written: bool, told: bool) {
        let mut state = self.residence().lock();
        state.table.arrived(self.regions(), written, told);
        state.arrivals.iter_mut().for_each(|arrival| arrival.mark = None);
    }

    /// Says where ghosts between regions were filled: on the device, or on the host. The caller keeps other work away.
    pub(crate) fn filled(&self, on_device: bool) {
        let mut state = self.residence().lock();
        if state.memory.is_some() {
            state.table.ghosts_filled(self.regions(), on_device);
        }
    }

    /// Pins a region's block on the host if that is worth it and was not tried before.
    fn pin_in(&self, pins: &mut Pins, backend: &Arc<dyn Backend>, region: usize) {
        if self.backing().is_some() {
            return;
        }
        pins.tried.resize(self.regions(), false);
        let (base, bytes) = (self.base(region), self.bytes(region));
        let Some(tried) = pins.tried.get_mut(region) else { return };
        if bytes >= WORTH_PINNING && !std::mem::replace(tried, true) {
            // SAFETY: the block lives as long as the storage, which unpins it when it ends.
            if unsafe { backend.pin(base, bytes) } {
                pins.blocks.push((base, backend.clone()));
            } else if backend.facts().gpu {
                static SAID: Once = Once::new();
                SAID.call_once(|| {
                    tracing::warn!(
                        bytes,
                        "memory of the host could not be pinned, or is more than may be (TIDA_PINNED_LIMIT): it is copied \
                         through pinned buffers, which is slower"
                    );
                });
            }
        }
    }

    /// Pins the host's blocks of all regions that are worth it.
    pub(crate) fn pin(&self, device: &DeviceCore) {
        let mut state = self.residence().lock();
        (0..self.regions()).for_each(|region| self.pin_in(&mut state.pins, device.backend(), region));
    }

    /// Reserves room on the device for all of these arrays, or for none of them. They keep it while what this gives is
    /// there.
    pub(crate) fn try_reserve(device: &DeviceCore, arrays: &[&Arc<Storage>]) -> Option<Kept> {
        let mut kept = Kept(SmallVec::new());
        for storage in arrays {
            storage.residence().lock().kept += 1;
            kept.0.push((*storage).clone());
        }
        let lacks = |storage: &&&Arc<Storage>| !storage.is_reserved();
        let new: Vec<&&Arc<Storage>> = arrays.iter().filter(lacks).collect();
        let reserve = |storage: &&&Arc<Storage>| device.try_reserve(Purpose::Arrays, storage.device_bytes() as u64);
        let reserved = new.iter().map(reserve).collect::<Option<Vec<Reservation>>>()?;
        for (storage, reserved) in new.into_iter().zip(reserved) {
            storage.residence().lock().reserved.get_or_insert(Arc::new(reserved));
        }
        Some(kept)
    }

    /// Says that it is about to leave. Gives what it holds until [`Storage::left`], which others are to be promised
    /// once the work is recorded that brings it to the host; nothing if it has no room or keeps it.
    pub(crate) fn leaves(&self) -> Option<Arc<Reservation>> {
        let mut state = self.residence().lock();
        let reserved = if state.kept == 0 { state.reserved.take() } else { None }?;
        state.leaving.push_back(reserved.clone());
        Some(reserved)
    }

    /// Says that it has left, as it was first asked to.
    pub(crate) fn left(&self) {
        self.residence().lock().leaving.pop_front();
    }

    /// Gives room back that it has no memory of.
    pub(crate) fn give_room_back(&self) {
        let mut state = self.residence().lock();
        if state.kept == 0 {
            state.reserved = None;
        }
    }

    /// Whether it has room on the device.
    pub(crate) fn is_reserved(&self) -> bool {
        self.residence().lock().reserved.is_some()
    }

    /// Whether it has room on the device which it may be asked to give to others.
    pub(crate) fn can_leave(&self) -> bool {
        let state = self.residence().lock();
        state.reserved.is_some() && state.kept == 0
    }

    /// Makes the host's copies of all regions the newest, and gives back the array's memory on the device. What lies
    /// packed on the host stays so.
    ///
    /// # Safety
    /// As [`Storage::to_host`], for all regions.
    ///
    /// # Errors
    /// A copy that failed.
    pub(crate) unsafe fn leave_device(&self, device: &DeviceCore) -> Result<(), Error> {
        for region in 0..self.regions() {
            // SAFETY: the caller's promise.
            unsafe { self.fetch(device, region, false)? };
        }
        let mut state = self.residence().lock();
        if state.memory.take().is_some() {
            device.counts.eviction();
        }
        state.table.left();
        state.arrivals.clear();
        Ok(())
    }

    /// Makes the host's copy of a region the newest. With `write` it becomes the only one.
    ///
    /// # Safety
    /// No one touches the region elsewhere meanwhile: all work on it has finished.
    ///
    /// # Errors
    /// A copy that failed.
    pub(crate) unsafe fn to_host(&self, device: &DeviceCore, region: usize, write: bool) -> Result<(), Error> {
        self.unpack(region);
        // SAFETY: the caller's promise.
        unsafe { self.fetch(device, region, write) }
    }

    /// The same, but for planes that lie packed on the host.
    ///
    /// # Safety
    /// As [`Storage::to_host`].
    unsafe fn fetch(&self, device: &DeviceCore, region: usize, write: bool) -> Result<(), Error> {
        self.materialize_ghosts_now(device)?;
        let mut state = self.residence().lock();
        let State { memory, table, arrivals, pins, .. } = &mut *state;
        if let Some(memory) = memory.as_ref().filter(|_| !table.is_on_host(region)) {
            self.pin_in(pins, device.backend(), region);
            let base = self.base(region);
            // Older than the cells on the device, ghosts are to stay as they are once they were brought.
            let pieces = self.pieces(region, table.brings_ghosts(region));
            let taken = pieces.iter().map(|piece| (piece.device, base.wrapping_add(piece.host), piece.bytes));
            // SAFETY: both blocks have the bytes; the caller keeps all others away, but for neighbours of the region,
            // which may tear ghosts that are older than the cells then.
            unsafe {
                match self.backing() {
                    Some(backing) => self.download_staged(device, (region, backing), memory, &pieces)?,
                    None => device.download_named(format_args!("R{region}"), memory, taken)?,
                }
            }
            table.came_home(region);
            forget_mark(arrivals, region);
        }
        if write {
            table.written_on_host(region);
            forget_mark(arrivals, region);
        }
        Ok(())
    }
}
