//! A window of planes of an array on the device.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::element::ScalarType;

use super::files::{self, Files};
use super::link::{Packing, Packs};
use crate::backend::Memory;
use crate::device::core::DeviceCore;
use crate::device::ledger::Purpose;
use crate::error::Error;
use crate::memory::ghosts::planes::{Planar, PlaneFacts};
use crate::memory::layout::{WideLayout, WideRegion};
use crate::memory::node::{Near, Ring};
use crate::memory::storage::Storage;
use crate::memory::tracker::Tracker;

/// The form of a window: the same for all arrays of a chain, in planes of the finest one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Planes that it holds.
    pub planes: i64,
    /// Planes at each end that are held twice, so that what is read around a plane lies next to it: the first ones also
    /// after the last, the last ones also before the first.
    pub margin: i64,
    /// Ghost planes that stay: every pass has them from here.
    pub ghosts: i64,
    /// The host's planes are `0..period`, and the schedule's follow one another as if they came again and again.
    pub period: Option<i64>,
}

/// Planes of a schedule that are neighbours in a window and on the host.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub planes: Range<i64>,
    /// The time round the window.
    round: i64,
    /// Planes from those of the host to them.
    pub ahead: i64,
}

impl Piece {
    /// The same of an array of which each plane is so many of the finest one's.
    pub fn of_scale(&self, scale: i64) -> Piece {
        Piece { planes: self.planes.start / scale..self.planes.end / scale, ..self.clone() }
    }

    /// Those of some planes, as the host numbers them.
    pub fn on_host(&self, planes: &Range<i64>) -> Range<i64> {
        let (start, end) = (self.planes.start.max(planes.start), self.planes.end.min(planes.end));
        start - self.ahead..end - self.ahead
    }
}

impl Window {
    /// The window of an array of which each plane is so many of the finest one's; of scale 0, of one that is not in
    /// use.
    pub fn of_scale(self, scale: i64) -> Window {
        if scale == 0 {
            return Window { planes: 1, margin: 0, ghosts: 0, period: None };
        }
        Window { planes: self.planes / scale, margin: -(-self.margin).div_euclid(scale), ..self }
    }

    /// Planes of memory: also the ghost planes that stay, and one that edges of fixed value are copied from.
    pub fn memory_planes(&self) -> i64 {
        self.planes + 2 * self.margin + self.ghosts + 1
    }

    /// Planes by the numbers of the host, counted on where they pass its last one.
    pub fn shown(self, planes: &Range<i64>) -> Range<i64> {
        let ahead = self.period.map_or(0, |period| planes.start.div_euclid(period) * period);
        planes.start - ahead..planes.end - ahead
    }

    /// The pieces of some planes, in order.
    pub fn pieces(self, planes: &Range<i64>, shift: i64) -> impl Iterator<Item = Piece> + use<> {
        let planes = planes.clone();
        let mut next = planes.start;
        std::iter::from_fn(move || {
            if next >= planes.end {
                return None;
            }
            let round = (next + shift).div_euclid(self.planes);
            let ahead = self.period.map_or(0, |period| next.div_euclid(period) * period);
            let end = self.period.map_or(planes.end, |period| planes.end.min(ahead + period));
            let planes = next..end.min((round + 1) * self.planes - shift);
            next = planes.end;
            Some(Piece { planes, round, ahead })
        })
    }

    /// The plane at position 0 of the memory, as the host numbers those of a piece.
    pub fn origin(self, piece: &Piece, shift: i64) -> i64 {
        piece.round * self.planes - shift - self.margin - piece.ahead
    }
}

/// What planes pass through on their way, where they do not go straight between the host's memory and a window.
#[derive(Default)]
pub(super) struct Through<'a> {
    /// Of arrays that move packed.
    pub packs: Option<&'a mut Packs>,
    /// Of arrays whose values lie in files.
    pub files: Option<&'a mut Files>,
}

/// The window of one array.
#[derive(Debug)]
pub(super) struct Rolling {
    pub tracker: Arc<Tracker>,
    pub planar: Arc<Planar>,
    pub memory: Arc<Memory>,
    pub window: Window,
    /// Planes of the finest array that each of its own has; 0 if it is not in use.
    pub scale: i64,
    /// Values of each component.
    pub cells: usize,
    /// Slots whose edges are not those of a plane of the domain.
    tainted: Vec<bool>,
    /// Ghost planes that nothing writes while the window is there, and whether they are where they stay.
    ghosts: Vec<(i64, bool)>,
    /// The array stays on the device as a whole.
    kept: Option<Kept>,
    /// It moves packed.
    packing: Option<Packing>,
}

/// The memory of an array that stays on the device as a whole.
#[derive(Debug)]
struct Kept {
    memory: Arc<Memory>,
    /// The host gets what is made of it too.
    told: bool,
}

/// Values of each component that a window of an array takes.
pub(super) fn cells(facts: &PlaneFacts, window: Window) -> usize {
    (window.memory_planes() as usize * facts.stride + facts.skip).next_multiple_of(128)
}

/// The ghost planes of an array that no ghost fill sets from others.
pub(super) fn constant_ghosts(planar: &Planar) -> Vec<i64> {
    let (facts, ends): (_, Vec<_>) = (planar.facts(), planar.ends().collect());
    let ghosts = facts.grown.clone().filter(|plane| !facts.valid.contains(plane));
    ghosts.filter(|plane| ends.iter().all(|(planes, _)| !planes.contains(plane))).collect()
}

/// A stretch of planes in one region of the host and in neighbouring slots.
pub(super) struct Stretch {
    pub region: usize,
    /// The first plane, as the host numbers them.
    pub plane: i64,
    /// First position in the region's memory and in the window's, in values.
    pub host: usize,
    pub slot: usize,
    pub values: usize,
}

/// A component of a stretch.
struct Part {
    region: usize,
    bytes: usize,
    /// Its first byte in the window's memory, in the region's on the host, and in that of the whole array.
    slot: usize,
    host: usize,
    whole: usize,
}

impl Rolling {
    /// Memory for a window, of an array whose ghosts sweeps write or not.
    ///
    /// # Errors
    /// Memory that the device does not have.
    pub fn new(
        device: &DeviceCore,
        tracker: &Arc<Tracker>,
        planar: &Arc<Planar>,
        (window, scale, writes_ghosts): (Window, i64, bool),
    ) -> Result<Rolling, Error> {
        let (facts, window) = (planar.facts(), window.of_scale(scale));
        let cells = cells(facts, window);
        let memory = Arc::new(device.allocate(Purpose::Chains, cells * facts.element.bytes(), None)?);
        let tainted = vec![true; window.planes as usize];
        let stay = if window.ghosts > 0 && !writes_ghosts { constant_ghosts(planar) } else { Vec::new() };
        let ghosts = stay.into_iter().map(|plane| (plane, false)).collect();
        Ok(Rolling {
            tracker: tracker.clone(),
            planar: planar.clone(),
            memory,
            window,
            scale,
            cells,
            tainted,
            ghosts,
            kept: None,
            packing: None,
        })
    }

    /// Lets the array stay on the device as a whole; the host gets planes that leave the window if it is `told`.
    ///
    /// # Errors
    /// Memory that the device does not have.
    pub fn keep(mut self, device: &DeviceCore, told: bool) -> Result<Rolling, Error> {
        let storage = self.storage();
        let memory = storage.device_memory(device)?;
        storage.pin(device);
        self.kept = Some(Kept { memory, told });
        Ok(self)
    }

    /// Lets the array move packed.
    pub fn packed(mut self, packing: Option<Packing>) -> Rolling {
        self.packing = packing;
        self
    }

    /// Whether it moves packed.
    pub fn packs(&self) -> bool {
        self.packing.is_some()
    }

    /// Whether the host gets planes that leave the window.
    pub fn goes_home(&self) -> bool {
        self.kept.as_ref().is_none_or(|kept| kept.told)
    }

    /// Copies planes to the device that have not come through the window, of an array that stays there.
    ///
    /// # Safety
    /// As [`Rolling::upload`].
    ///
    /// # Errors
    /// What the driver reports.
    pub unsafe fn upload_remaining(&self, device: &DeviceCore, stream: usize, planes: &[i64]) -> Result<(), Error> {
        let Some(kept) = &self.kept else { return Ok(()) };
        for part in self.planes_in(planes, |region| !self.storage().is_on_device(region)) {
            // SAFETY: what is left lies in both memories; the rest is the caller's promise.
            unsafe {
                if self.storage().host_touched(part.region) {
                    device.backend().upload(stream, &kept.memory, part.whole, self.host(&part), part.bytes)?;
                    device.counts.upload(part.bytes);
                } else {
                    device.backend().zero(stream, &kept.memory, part.whole, part.bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Copies planes to the host that it did not get as the work ran, of an array that stays on the device and that it
    /// is told of: of regions whose newest values the device had before.
    ///
    /// # Safety
    /// As [`Rolling::download`].
    ///
    /// # Errors
    /// What the driver reports.
    pub unsafe fn download_remaining(&self, device: &DeviceCore, stream: usize, planes: &[i64]) -> Result<(), Error> {
        let Some(kept) = self.kept.as_ref().filter(|kept| kept.told) else { return Ok(()) };
        for part in self.planes_in(planes, |region| self.storage().is_on_device(region)) {
            self.storage().touch_host(part.region);
            // SAFETY: what is left lies in both memories; the rest is the caller's promise.
            unsafe { device.backend().download(stream, &kept.memory, part.whole, self.host(&part), part.bytes)? };
            device.counts.download(part.bytes);
        }
        Ok(())
    }

    /// What lies in planes, of some regions.
    fn planes_in(&self, planes: &[i64], regions: impl Fn(usize) -> bool) -> Vec<Part> {
        let stretches = planes.iter().flat_map(|plane| self.stretches(&(*plane..plane + 1), 0));
        stretches.filter(|stretch| regions(stretch.region)).flat_map(|stretch| self.parts(&stretch)).collect()
    }

    /// The components of a stretch.
    fn parts(&self, stretch: &Stretch) -> SmallVec<[Part; 4]> {
        let Stretch { region, host, slot, values, .. } = *stretch;
        let facts = self.planar.facts();
        let cells = facts.layout.regions[region].cells as usize;
        let part = |(ty, before): (ScalarType, usize)| {
            let size = ty.size();
            let whole = self.storage().place(region, cells, (before, size), host);
            let (slot, host) = (self.cells * before + slot * size, cells * before + host * size);
            Part { region, bytes: values * size, slot, host, whole }
        };
        facts.element.placed_components().map(part).collect()
    }

    /// Where a part starts on the host.
    fn host(&self, part: &Part) -> *mut u8 {
        self.storage().base(part.region).wrapping_add(part.host)
    }

    /// A part on its way between a file and the window.
    fn in_file(&self, part: &Part) -> files::Stretch<'_> {
        let Part { region, bytes, slot: place, host: at, .. } = *part;
        files::Stretch { memory: &self.memory, place, storage: self.storage(), region, at, bytes }
    }

    /// Copies a part to the window from where the host has it: its memory, or a file.
    ///
    /// # Safety
    /// As [`Rolling::upload`].
    unsafe fn fetch(
        &self,
        device: &DeviceCore,
        (stream, files): (usize, Option<&mut Files>),
        part: &Part,
    ) -> Result<(), Error> {
        // SAFETY: the part lies in both; the rest is the caller's promise.
        unsafe {
            match (self.storage().backing(), files) {
                (Some(_), files) => files.into_iter().try_for_each(|files| files.load(stream, self.in_file(part)))?,
                (None, _) => device.backend().upload(stream, &self.memory, part.slot, self.host(part), part.bytes)?,
            }
        }
        device.counts.upload(part.bytes);
        Ok(())
    }

    /// How much further than their numbers the planes of a pass lie, of which it is so much for those of the finest
    /// array.
    pub fn shift(&self, shift: i64) -> i64 {
        shift / self.scale.max(1)
    }

    pub fn storage(&self) -> &Arc<Storage> {
        self.tracker.storage()
    }

    /// The window as kernels see it in a pass whose planes lie `shift` further: a region for each piece.
    pub fn layout(&self, shift: i64, pieces: &[Piece]) -> WideLayout {
        let facts = self.planar.facts();
        let axis = 4 - facts.rank;
        let of = facts.layout.regions.first();
        let region = |piece: &Piece| {
            let of = of?;
            let (mut valid, mut grown, mut origin) = (of.valid, of.grown, of.origin);
            (valid.lo[axis], valid.hi[axis]) = (facts.valid.start, facts.valid.end);
            (grown.lo[axis], grown.hi[axis]) = (facts.grown.start, facts.grown.end);
            origin[axis] = self.window.origin(piece, shift);
            Some(WideRegion { valid, grown, origin, strides: of.strides, cells: self.cells as i64 })
        };
        WideLayout { regions: pieces.iter().filter_map(region).collect(), largest: self.cells }
    }

    /// For commands of a node.
    pub fn ring(&self, layout: Arc<WideLayout>) -> Ring {
        Ring { storage: self.storage().clone(), memory: self.memory.clone(), layout, start: 0, near: Near::Planes }
    }

    /// Of planes that enter, those that come from the host: others are on the device already.
    pub fn coming(&self, planes: &Range<i64>) -> Range<i64> {
        let there = |plane: i64| self.ghosts.iter().any(|(ghost, there)| *ghost == plane && *there);
        let start = planes.clone().find(|plane| !there(*plane)).unwrap_or(planes.end);
        let end = (start..planes.end).rev().find(|plane| !there(*plane)).map_or(start, |last| last + 1);
        start..end
    }

    /// Makes planes ready for operations that entered, once those that come from the host are here: ghost planes that
    /// stay, and what is held twice.
    ///
    /// # Safety
    /// As [`Rolling::mirror`].
    ///
    /// # Errors
    /// What the driver reports.
    pub unsafe fn entered(
        &mut self,
        device: &DeviceCore,
        stream: usize,
        planes: Range<i64>,
        shift: i64,
    ) -> Result<(), Error> {
        let stay = self.window.memory_planes() - 1 - self.window.ghosts;
        let mut ghosts = std::mem::take(&mut self.ghosts);
        for ((ghost, there), place) in ghosts.iter_mut().zip(stay..).filter(|((ghost, _), _)| planes.contains(ghost)) {
            let slot = self.slot(*ghost, shift);
            let slot_place = slot + self.window.margin;
            let (from, to) = if *there { (place, slot_place) } else { (slot_place, place) };
            // SAFETY: the window has a place for each of these ghosts; the rest is the caller's promise.
            unsafe { self.copy_planes(device, stream, from, to, 1)? };
            *there = true;
        }
        self.ghosts = ghosts;
        let valid = self.planar.facts().valid.clone();
        for plane in planes.clone() {
            let slot = self.slot(plane, shift) as usize;
            self.tainted[slot] = self.window.period.is_none() && !valid.contains(&plane);
        }
        // SAFETY: the caller's promise.
        unsafe { self.mirror(device, stream, planes, shift) }
    }

    /// Says to what planes pass through that they will be uploaded, if they come from a file.
    pub fn announce(&self, files: &Files, planes: &Range<i64>, shift: i64) {
        let planes = self.coming(planes);
        for stretch in self.stretches(&planes, shift) {
            if self.storage().backing().is_none() || !self.storage().host_touched(stretch.region) {
                continue;
            }
            self.parts(&stretch).iter().for_each(|part| files.announce(self.in_file(part)));
        }
    }

    /// Copies planes to the device. They are for use once they have [entered](Rolling::entered).
    ///
    /// # Safety
    /// No one writes them on the host or uses their slots until the copies are done.
    ///
    /// # Errors
    /// What the driver reports.
    pub unsafe fn upload(
        &mut self,
        device: &DeviceCore,
        (stream, Through { packs: link, mut files }): (usize, Through<'_>),
        planes: Range<i64>,
        shift: i64,
    ) -> Result<(), Error> {
        if let (Some(link), Some(packing)) = (link, &self.packing) {
            // SAFETY: the caller's promise.
            return unsafe { self.upload_packed(device, (stream, link), packing, &planes, shift) };
        }
        let backend = device.backend();
        for part in self.stretches(&planes, shift).iter().flat_map(|stretch| self.parts(stretch)) {
            let there = self.kept.is_some() && self.storage().is_on_device(part.region);
            let kept = self.kept.as_ref().map(|kept| (&*kept.memory, part.whole));
            let window = (&*self.memory, part.slot);
            // SAFETY: the part lies in all these memories; the rest is the caller's promise.
            unsafe {
                match kept {
                    Some(kept) if there => backend.copy(stream, kept, window, part.bytes)?,
                    _ if !self.storage().host_touched(part.region) => {
                        backend.zero(stream, &self.memory, part.slot, part.bytes)?
                    }
                    _ => self.fetch(device, (stream, files.as_deref_mut()), &part)?,
                }
                if let Some(kept) = kept.filter(|_| !there) {
                    backend.copy(stream, window, kept, part.bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Copies planes to the host.
    ///
    /// # Safety
    /// No one touches them on the host or writes their slots until the copies are done.
    ///
    /// # Errors
    /// What the driver reports.
    pub unsafe fn download(
        &mut self,
        device: &DeviceCore,
        (stream, Through { packs: link, mut files }): (usize, Through<'_>),
        planes: Range<i64>,
        shift: i64,
    ) -> Result<(), Error> {
        if let (Some(link), Some(packing)) = (link, &self.packing) {
            // SAFETY: the caller's promise.
            return unsafe { self.download_packed(device, (stream, link), packing, &planes, shift) };
        }
        let (backend, is_told) = (device.backend(), self.goes_home());
        for part in self.stretches(&planes, shift).iter().flat_map(|stretch| self.parts(stretch)) {
            // SAFETY: the part lies in all these memories; the rest is the caller's promise.
            unsafe {
                if let Some(kept) = &self.kept {
                    backend.copy(stream, (&self.memory, part.slot), (&*kept.memory, part.whole), part.bytes)?;
                }
                if !is_told {
                    continue;
                }
                self.storage().touch_host(part.region);
                match self.storage().backing() {
                    Some(_) => files.iter_mut().try_for_each(|files| files.store(stream, self.in_file(&part)))?,
                    None => backend.download(stream, &self.memory, part.slot, self.host(&part), part.bytes)?,
                }
            }
            device.counts.download(part.bytes);
        }
        Ok(())
    }

    /// Bytes of planes.
    pub fn bytes(&self, planes: &Range<i64>) -> usize {
        let facts = self.planar.facts();
        (planes.end - planes.start).max(0) as usize * facts.stride * facts.element.bytes()
    }

    fn slot(&self, plane: i64, shift: i64) -> i64 {
        (plane + shift).rem_euclid(self.window.planes)
    }

    /// Where planes lie on both sides. Ghost planes belong to the regions at the ends.
    pub fn stretches(&self, planes: &Range<i64>, shift: i64) -> Vec<Stretch> {
        let facts = self.planar.facts();
        let (axis, last) = (4 - facts.rank, facts.layout.regions.len() - 1);
        let mut all = Vec::new();
        for piece in self.window.pieces(planes, shift) {
            let planes = piece.on_host(planes);
            for (region, of) in facts.layout.regions.iter().enumerate() {
                let low = if region == 0 { of.grown.lo[axis] } else { of.valid.lo[axis] };
                let high = if region == last { of.grown.hi[axis] } else { of.valid.hi[axis] };
                let (start, end) = (planes.start.max(low), planes.end.min(high));
                if start < end {
                    let at = |origin: i64| (start - origin) as usize * facts.stride + facts.skip;
                    let host = at(of.origin[axis]);
                    // The last plane of a region has no padding after it.
                    let cells = self.storage().cells_of(region, of.cells as usize);
                    let values = ((end - start) as usize * facts.stride).min(cells - host);
                    let slot = at(self.window.origin(&piece, shift));
                    all.push(Stretch { region, plane: start, host, slot, values });
                }
            }
        }
        all
    }

    /// Copies planes that were written to where they are held twice.
    ///
    /// # Safety
    /// No one uses the slots until the copies are done.
    ///
    /// # Errors
    /// What the driver reports.
    pub unsafe fn mirror(
        &self,
        device: &DeviceCore,
        stream: usize,
        planes: Range<i64>,
        shift: i64,
    ) -> Result<(), Error> {
        let Window { planes: window, margin, .. } = self.window;
        for Piece { planes, .. } in self.window.pieces(&planes, shift) {
            let first = self.slot(planes.start, shift);
            let last = first + planes.end - planes.start;
            for (slots, by) in [(first..last.min(margin), window), (first.max(window - margin)..last, -window)] {
                if slots.start < slots.end {
                    let from = slots.start + margin;
                    // SAFETY: the caller's promise.
                    unsafe { self.copy_planes(device, stream, from, from + by, slots.end - slots.start)? };
                }
            }
        }
        Ok(())
    }

    /// Copies planes of memory.
    ///
    /// # Safety
    /// They lie in the memory, do not overlap, and no one else uses them until it is done.
    unsafe fn copy_planes(
        &self,
        device: &DeviceCore,
        stream: usize,
        from: i64,
        to: i64,
        count: i64,
    ) -> Result<(), Error> {
        let facts = self.planar.facts();
        for (ty, before) in self.planar.facts().element.placed_components() {
            let size = ty.size();
            let at = |plane: i64| self.cells * before + (plane as usize * facts.stride + facts.skip) * size;
            let bytes = count as usize * facts.stride * size;
            // SAFETY: the caller's promise.
            unsafe { device.backend().copy(stream, (&self.memory, at(from)), (&self.memory, at(to)), bytes)? };
        }
        Ok(())
    }

    /// Keeps a plane of the host whose edges every plane of the domain has.
    ///
    /// # Safety
    /// As [`Rolling::upload`].
    ///
    /// # Errors
    /// What the driver reports.
    pub unsafe fn keep_edges(
        &self,
        device: &DeviceCore,
        (stream, mut files): (usize, Option<&mut Files>),
    ) -> Result<(), Error> {
        let facts = self.planar.facts();
        let Some(of) = facts.layout.regions.first() else { return Ok(()) };
        let axis = 4 - facts.rank;
        let host = (facts.valid.start - of.origin[axis]) as usize * facts.stride + facts.skip;
        let slot = (self.window.memory_planes() - 1) as usize * facts.stride + facts.skip;
        let values = facts.stride.min(of.cells as usize - host);
        let stretch = Stretch { region: 0, plane: facts.valid.start, host, slot, values };
        for part in self.parts(&stretch) {
            // SAFETY: the plane is in the region's memory, the last plane of the window's memory is kept for it; the
            // rest is the caller's promise.
            unsafe {
                match self.kept.as_ref().filter(|_| self.storage().is_on_device(0)) {
                    Some(kept) => {
                        let to = (&*self.memory, part.slot);
                        device.backend().copy(stream, (&*kept.memory, part.whole), to, part.bytes)?;
                    }
                    None => self.fetch(device, (stream, files.as_deref_mut()), &part)?,
                }
            }
        }
        Ok(())
    }

    /// Gives the slots of planes that are about to be written whole the edges that were kept.
    ///
    /// # Safety
    /// As [`Rolling::mirror`].
    ///
    /// # Errors
    /// What the driver reports.
    pub unsafe fn restore_edges(
        &mut self,
        device: &DeviceCore,
        stream: usize,
        planes: &Range<i64>,
        shift: i64,
    ) -> Result<(), Error> {
        for plane in planes.clone() {
            let slot = self.slot(plane, shift);
            if std::mem::replace(&mut self.tainted[slot as usize], false) {
                let from = self.window.memory_planes() - 1;
                // SAFETY: the caller's promise.
                unsafe { self.copy_planes(device, stream, from, slot + self.window.margin, 1)? };
            }
        }
        Ok(())
    }

    /// Says that ghost planes were written.
    pub fn taint(&mut self, planes: &Range<i64>, shift: i64) {
        for plane in planes.clone() {
            let slot = self.slot(plane, shift) as usize;
            self.tainted[slot] = true;
        }
    }
}
