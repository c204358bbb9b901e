//! Boxes of an array's cells that move between host and device by themselves, packed: no whole region moves for them,
//! and the side that has a region's newest values keeps them.
//!
//! A box is cut into *parts*, each of one region, which lie one after the other in a *passage* (memory on both sides).
//! A part lies there as a region of its own, without ghosts and padding. A kernel of copies packs parts on the device.
//! Few parts that lie in one stretch there are copied as they are.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use tida_kernels::element::ElementType;

use super::ghosts::compile::Site;
use super::ghosts::device::DeviceCopies;
use super::layout::{WideLayout, WideRegion};
use super::node::Queue;
use super::storage::Storage;
use crate::backend::{COPIES, Memory};
use crate::device::core::DeviceCore;
use crate::device::passages::Passage;
use crate::device::timeline::SpanKind;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;

/// A box of cells of one region.
pub(crate) type OfRegion = (usize, GridBox<4>);

/// A box of one region, and where it lies packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedBox {
    pub region: usize,
    pub cells: GridBox<4>,
    /// The byte at which its first component starts.
    pub start: usize,
    /// Values of each component there.
    pub values: usize,
}

impl PackedBox {
    /// The position of a cell among those of the part.
    pub fn position<const D: usize>(&self, at: [i64; D]) -> usize {
        let extent = self.cells.extent();
        (0..D).fold(0, |n, d| n * extent[4 - D + d] + (at[d] - self.cells.lo[4 - D + d]) as usize)
    }
}

/// Parts that go through one passage together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub parts: Vec<PackedBox>,
    pub bytes: usize,
}

impl Batch {
    /// The boxes.
    pub fn boxes(&self) -> Vec<OfRegion> {
        self.parts.iter().map(|part| (part.region, part.cells)).collect()
    }
}

/// An array's geometry, and what its memory holds of an element.
pub(crate) type Array<'a> = (&'a WideLayout, &'a ElementType);

/// Most bytes of a batch.
const AT_ONCE: usize = 32 << 20;

/// Parts start at multiples of so many bytes: as many as a thread copies at once.
const ALIGN: usize = 16;

/// So many stretches are copied as they are, without a kernel that packs them.
const FEW: usize = 4;

/// Boxes in batches of at most `most` bytes.
fn batches(element: &ElementType, boxes: &[OfRegion], most: usize) -> Vec<Batch> {
    let (components, bytes) = (element.components(), element.bytes());
    let last = element.component_types().last().map_or(0, |ty| ty.size());
    let mut batches = vec![Batch::default()];
    let mut left: Vec<OfRegion> = boxes.iter().rev().filter(|(_, cells)| !cells.is_empty()).copied().collect();
    while let Some((region, cells)) = left.pop() {
        let extent = cells.extent();
        let count = cells.cells();
        if count.saturating_mul(bytes) > most
            && let Some(axis) = (0..4).find(|axis| extent[*axis] > 1)
        {
            let (mut low, mut high) = (cells, cells);
            low.hi[axis] = cells.lo[axis] + extent[axis] as i64 / 2;
            high.lo[axis] = low.hi[axis];
            left.extend([(region, high), (region, low)]);
            continue;
        }
        let values = if components > 1 { count.next_multiple_of(ALIGN) } else { count };
        let packed = values * (bytes - last) + count * last;
        if batches.last().is_some_and(|batch| !batch.parts.is_empty() && batch.bytes + packed > most) {
            batches.push(Batch::default());
        }
        if let Some(batch) = batches.last_mut() {
            let start = batch.bytes.next_multiple_of(ALIGN);
            batch.parts.push(PackedBox { region, cells, start, values });
            batch.bytes = start + packed;
        }
    }
    batches.retain(|batch| !batch.parts.is_empty());
    batches
}

/// Boxes as they lie packed, all in one batch.
pub(crate) fn packed(element: &ElementType, boxes: &[OfRegion]) -> Batch {
    batches(element, boxes, usize::MAX).pop().unwrap_or_default()
}

/// What packed and unpacked the last boxes of an array, for the next time.
#[derive(Debug, Default)]
pub(super) struct LastCopies(Mutex<VecDeque<(Way, Arc<DeviceCopies>)>>);

/// Parts, whether they are packed, and whether their regions lie in a row.
type Way = (Vec<PackedBox>, bool, bool);

/// So many are kept.
const KEPT: usize = 8;

/// What a batch on its way uses: to be held until its commands are done.
#[derive(Debug)]
pub(crate) struct OnTheWay {
    pub passage: Passage,
    _copies: Option<Arc<DeviceCopies>>,
    _array: Arc<Memory>,
}

/// What a batch uses on its way from or to a mailbox: to be held until its commands are done.
#[derive(Debug)]
pub(crate) struct Boxed {
    _copies: Option<Arc<DeviceCopies>>,
    _memories: [Arc<Memory>; 2],
}

/// Is given the parts of a batch, and the address where they lie packed.
type OfBatch<'a> = &'a mut dyn FnMut(&[PackedBox], *mut u8);

/// A batch, and what brings it home.
pub(crate) type Sent = (Batch, OnTheWay);

/// A stretch of bytes that lie together on both sides.
struct Stretch {
    device: usize,
    host: usize,
    bytes: usize,
}

/// Whether some of these cells are ghosts.
fn has_ghosts(layout: &WideLayout, boxes: &[OfRegion]) -> bool {
    boxes.iter().any(|(region, cells)| !layout.regions[*region].valid.contains_box(cells))
}

/// Waits for what is under way in a stream after a failure: what it uses may go then.
fn wait_for(device: &DeviceCore, stream: usize) {
    // What the driver says of it now is said again by whoever needs the device next.
    let _ = device.backend().record(stream).and_then(|event| event.finish());
}

impl Storage {
    /// How a region lies in the device's memory.
    pub(crate) fn site(&self, region: usize, of: &WideRegion) -> Site {
        Site { start: self.offset(region), cells: self.values_there(of), shift: 0 }
    }

    /// Values of each component of a region there.
    fn values_there(&self, of: &WideRegion) -> usize {
        self.row().map_or(of.cells as usize, |row| row.cells)
    }

    /// The stretches of parts, if they are few.
    fn stretches(&self, (layout, element): Array<'_>, parts: &[PackedBox]) -> Option<SmallVec<[Stretch; FEW]>> {
        let mut stretches = SmallVec::new();
        if parts.len() * element.components() > FEW {
            return None;
        }
        for part in parts {
            let (of, extent, packed) = (&layout.regions[part.region], part.cells.extent(), part.cells.packed_strides());
            if (0..4).any(|d| extent[d] > 1 && of.strides[d] as usize != packed[d]) {
                return None;
            }
            stretches.extend(element.placed_components().map(|(ty, before)| {
                let first = (before, ty.size());
                Stretch {
                    device: self.place(part.region, of.cells as usize, first, of.position(part.cells.lo)),
                    host: part.start + part.values * before,
                    bytes: part.cells.cells() * ty.size(),
                }
            }));
        }
        Some(stretches)
    }

    /// The device's memory of the array, if it has any, the boxes of regions whose newest values it alone has, and the
    /// others.
    fn parted(&self, boxes: &[OfRegion]) -> (Option<Arc<Memory>>, Vec<OfRegion>, Vec<OfRegion>) {
        let all = boxes.iter().copied();
        let (memory, parted) = self.memory_and(|table| all.partition(|(region, _)| table.is_on_host(*region)));
        let (here, there) = parted;
        (memory, there, here)
    }

    /// What packs parts, or unpacks them.
    fn copies(
        &self,
        device: &DeviceCore,
        array: Array<'_>,
        parts: &[PackedBox],
        packs: bool,
    ) -> Result<Arc<DeviceCopies>, Error> {
        let in_row = self.row().is_some();
        let LastCopies(last) = self.last_copies();
        let known = |(way, _): &&(Way, _)| (&way.0[..], way.1, way.2) == (parts, packs, in_row);
        if let Some((_, copies)) = last.lock().unwrap_or_else(PoisonError::into_inner).iter().find(known) {
            return Ok(copies.clone());
        }
        let site = |region: usize| self.site(region, &array.0.regions[region]);
        let copies = Arc::new(DeviceCopies::of_parts(device, array, parts, packs, site)?);
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        last.truncate(KEPT - 1);
        last.push_front(((parts.to_vec(), packs, in_row), copies.clone()));
        Ok(copies)
    }

    /// Puts what brings a batch from the device's memory of the array into the passage, or the other way round, into a
    /// stream; gives what it uses.
    ///
    /// # Errors
    /// Memory that the device does not have, no compiler, or commands that it refuses.
    ///
    /// # Safety
    /// The memory is that of this array, which has this geometry. Until the commands are done, nobody writes the parts
    /// there, nor reads them if they come from the passage; this and what it gives is held.
    unsafe fn put(
        &self,
        device: &DeviceCore,
        way: (usize, bool),
        array: Array<'_>,
        batch: &Batch,
        memory: &Memory,
        passage: &mut Passage,
    ) -> Result<Option<Arc<DeviceCopies>>, Error> {
        let host = passage.host.start();
        // SAFETY: handed on.
        unsafe { self.put_at(device, way, array, batch, memory, (host, passage)) }
    }

    /// The same, where the batch is in the host's memory at an address, and passes through a passage on the device.
    ///
    /// # Errors
    /// As [`Storage::put`].
    ///
    /// # Safety
    /// As [`Storage::put`]; the batch has its bytes at the address.
    unsafe fn put_at(
        &self,
        device: &DeviceCore,
        (stream, home): (usize, bool),
        array: Array<'_>,
        batch: &Batch,
        memory: &Memory,
        (host, passage): (*mut u8, &mut Passage),
    ) -> Result<Option<Arc<DeviceCopies>>, Error> {
        let backend = device.backend();
        match home {
            true => device.counts.download(batch.bytes),
            false => device.counts.upload(batch.bytes),
        }
        let mut copies = None;
        let put = || match self.stretches(array, &batch.parts) {
            Some(stretches) => stretches.iter().try_for_each(|of| {
                let here = host.wrapping_add(of.host);
                // SAFETY: both memories have the stretch; the rest is the caller's promise.
                unsafe {
                    match home {
                        true => backend.download(stream, memory, of.device, here, of.bytes),
                        false => backend.upload(stream, memory, of.device, here, of.bytes),
                    }
                }
            }),
            None => {
                let packs = copies.insert(self.copies(device, array, &batch.parts, home)?);
                let packed = passage.on_device(backend)?;
                // SAFETY: parts lie in the array's memory, and packed in the passage, which is for one batch at a time.
                unsafe {
                    if home {
                        packs.run(stream, packed, memory)?;
                        return backend.download(stream, packed, 0, host, batch.bytes);
                    }
                    backend.upload(stream, packed, 0, host, batch.bytes)?;
                    packs.run(stream, memory, packed)
                }
            }
        };
        let kind = if home { SpanKind::D2h } else { SpanKind::H2d };
        device.timed(kind, "a box", stream, batch.bytes, put).inspect_err(|_| wait_for(device, stream))?;
        Ok(copies)
    }

    /// As [`Storage::put`], of a batch that comes home and is to be held on its way.
    ///
    /// # Errors
    /// As [`Storage::put`].
    ///
    /// # Safety
    /// As [`Storage::put`].
    unsafe fn put_home(
        &self,
        device: &DeviceCore,
        stream: usize,
        array: Array<'_>,
        batch: &Batch,
        memory: &Arc<Memory>,
        mut passage: Passage,
    ) -> Result<OnTheWay, Error> {
        // SAFETY: handed on.
        let copies = unsafe { self.put(device, (stream, true), array, batch, memory, &mut passage)? };
        Ok(OnTheWay { passage, _copies: copies, _array: memory.clone() })
    }

    /// Brings boxes of regions that have their newest values on the device alone, and hands them to `take`, batch by
    /// batch, with the address where they lie packed. Gives the other boxes, which the host has.
    ///
    /// # Errors
    /// As [`Storage::put_home`], or copies that failed.
    ///
    /// # Safety
    /// The array has this geometry. All work that writes the boxes has finished, and none is recorded meanwhile.
    pub(crate) unsafe fn fetch_boxes(
        &self,
        device: &DeviceCore,
        array: Array<'_>,
        boxes: &[OfRegion],
        take: OfBatch<'_>,
    ) -> Result<Vec<OfRegion>, Error> {
        let (memory, there, mut here) = self.parted(boxes);
        let Some(memory) = memory else { return Ok(here) };
        if has_ghosts(array.0, &there) {
            self.materialize_ghosts_now(device)?;
        }
        let backend = device.backend();
        for batch in batches(array.1, &there, AT_ONCE) {
            let passage = device.passages().take(backend, batch.bytes);
            // SAFETY: the caller's promise.
            match unsafe { self.put_home(device, COPIES, array, &batch, &memory, passage) } {
                Ok(coming) => {
                    if let Err(error) = backend.record(COPIES).and_then(|event| event.finish()) {
                        // What the device may still use stays.
                        std::mem::forget(coming);
                        return Err(error);
                    }
                    take(&batch.parts, coming.passage.host.start());
                    device.passages().give(coming.passage);
                }
                // The device has no memory to pack it in.
                Err(error) if error.kind() == ErrorKind::Memory => {
                    for part in &batch.parts {
                        // SAFETY: the caller's promise.
                        unsafe { self.to_host(device, part.region, false)? };
                        here.push((part.region, part.cells));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(here)
    }

    /// Puts what brings boxes home into the stream of a piece of work, of regions that have their newest values on the
    /// device alone: all in one batch. Gives the other boxes too, which the host has.
    ///
    /// # Errors
    /// As [`Storage::put_home`].
    ///
    /// # Safety
    /// The array has this geometry. The work comes after all that writes the boxes, and before all that will; what this
    /// gives is held until it is done.
    pub(crate) unsafe fn send_boxes(
        &self,
        queue: &Queue<'_>,
        array: Array<'_>,
        boxes: &[OfRegion],
    ) -> Result<(Option<Sent>, Vec<OfRegion>), Error> {
        let Queue { device, stream, .. } = *queue;
        let (memory, there, here) = self.parted(boxes);
        let (Some(memory), Some(batch)) = (memory, batches(array.1, &there, usize::MAX).pop()) else {
            return Ok((None, here));
        };
        let passage = device.passages().take(device.backend(), batch.bytes);
        // SAFETY: the caller's promise.
        let coming = unsafe { self.put_home(device, stream, array, &batch, &memory, passage)? };
        Ok((Some((batch, coming)), here))
    }

    /// Puts what sets a batch of boxes from `values`, where they lie packed, into the stream of a piece of work. Gives
    /// what is to be held until it is done.
    ///
    /// # Errors
    /// As [`Storage::put_home`].
    ///
    /// # Safety
    /// The array has this geometry, and the device has its regions with their newest values. The work comes after all
    /// that touches the boxes, and before all that will. The batch has its bytes at `values`, which nobody changes
    /// until the work is done.
    pub(crate) unsafe fn receive_boxes(
        &self,
        queue: &Queue<'_>,
        array: Array<'_>,
        batch: &Batch,
        values: *mut u8,
    ) -> Result<OnTheWay, Error> {
        let Queue { device, stream, .. } = *queue;
        let memory = self.device_memory(device)?;
        let mut passage = device.passages().take(device.backend(), batch.bytes);
        let through = (values, &mut passage);
        // SAFETY: the caller's promise.
        let copies = unsafe { self.put_at(device, (stream, false), array, batch, &memory, through)? };
        Ok(OnTheWay { passage, _copies: copies, _array: memory })
    }

    /// Puts what packs a batch into a mailbox, or sets its boxes from one where it does not `pack`, into the stream of
    /// a piece of work. Gives what is to be held until it is done; nothing if the device does not have the newest
    /// values of all regions.
    ///
    /// # Errors
    /// Memory that the device does not have, no compiler, or commands that it refuses.
    ///
    /// # Safety
    /// The array has this geometry. The work comes after all that writes the boxes (or touches them, if it sets them),
    /// and before all that will. Until it is done nobody else touches the mailbox, which has the bytes of the batch.
    pub(crate) unsafe fn through_mailbox(
        &self,
        queue: &Queue<'_>,
        array: Array<'_>,
        batch: &Batch,
        (mailbox, packs): (&Arc<Memory>, bool),
    ) -> Result<Option<Boxed>, Error> {
        let Queue { device, stream, .. } = *queue;
        let Some(memory) = self.memory_of(&batch.parts) else { return Ok(None) };
        let (backend, mut copies) = (device.backend(), None);
        let (of, to) = if packs { (&memory, mailbox) } else { (mailbox, &memory) };
        let put = || match self.stretches(array, &batch.parts) {
            Some(stretches) => stretches.iter().try_for_each(|part| {
                let at = if packs { (part.device, part.host) } else { (part.host, part.device) };
                // SAFETY: both memories have the stretch; the rest is the caller's promise.
                unsafe { backend.copy(stream, (of, at.0), (to, at.1), part.bytes) }
            }),
            None => {
                let copies = copies.insert(self.copies(device, array, &batch.parts, packs)?);
                // SAFETY: parts lie in the array's memory, and packed in the mailbox.
                unsafe { copies.run(stream, to, of) }
            }
        };
        match packs {
            // What is left of the message before is not to be taken for this one.
            // SAFETY: the mailbox has the bytes; the rest is the caller's promise.
            true => unsafe { backend.poison(stream, mailbox, 0, batch.bytes)? },
            false => device.counts.strips(batch.bytes),
        }
        let put = device.timed(SpanKind::Strips, "a mailbox", stream, batch.bytes, put);
        put.inspect_err(|_| wait_for(device, stream))?;
        Ok(Some(Boxed { _copies: copies, _memories: [memory, mailbox.clone()] }))
    }

    /// The device's memory of the array, if that has the newest values of the regions of all these parts.
    pub(crate) fn memory_of(&self, parts: &[PackedBox]) -> Option<Arc<Memory>> {
        let (memory, there) = self.memory_and(|table| parts.iter().all(|part| table.is_on_device(part.region)));
        memory.filter(|_| there)
    }

    /// Changes boxes of regions that have their newest values on the device, there: `give` puts the values of a batch
    /// to the address where they are to lie packed. Gives the boxes that the host has to change, in its copies, and of
    /// each whether it was changed on the device too. Where it was not, the host's copy of the region is the only one.
    ///
    /// # Errors
    /// As [`Storage::put_home`], or copies that failed.
    ///
    /// # Safety
    /// The array has this geometry. All work that touches the boxes has finished, and none is recorded meanwhile.
    pub(crate) unsafe fn store_boxes(
        &self,
        device: &DeviceCore,
        array: Array<'_>,
        boxes: &[OfRegion],
        give: OfBatch<'_>,
    ) -> Result<Vec<(OfRegion, bool)>, Error> {
        let (mut there, mut here) = (Vec::new(), Vec::new());
        self.with_table(|table| {
            for of in boxes {
                there.extend(table.is_on_device(of.0).then_some(*of));
                here.extend(table.is_on_host(of.0).then_some((*of, table.is_on_device(of.0))));
            }
        });
        if has_ghosts(array.0, boxes) {
            self.set_fixed_ghosts(false);
        }
        if !there.is_empty() {
            self.materialize_ghosts_now(device)?;
        }
        let backend = device.backend();
        for batch in batches(array.1, &there, AT_ONCE) {
            let mut passage = device.passages().take(backend, batch.bytes);
            give(&batch.parts, passage.host.start());
            // What has the array leave the device waits until this is done.
            let changed: Option<Result<(), Error>> =
                self.while_there(batch.parts.iter().map(|part| part.region), |memory| {
                    // SAFETY: the caller's promise.
                    let copies = unsafe { self.put(device, (COPIES, false), array, &batch, memory, &mut passage)? };
                    let ended = backend.record(COPIES).and_then(|event| event.finish());
                    drop(copies);
                    ended
                });
            match changed {
                Some(Ok(())) => {}
                Some(Err(error)) if error.kind() != ErrorKind::Memory => {
                    // What the device may still use stays.
                    std::mem::forget(passage);
                    return Err(error);
                }
                // It has left, or the device has no memory to unpack the values from.
                _ => here.extend(batch.parts.iter().map(|part| ((part.region, part.cells), false))),
            }
            device.passages().give(passage);
        }
        for ((region, _), changed_there) in &here {
            if *changed_there {
                self.unpack(*region);
                self.touch_host(*region);
            } else {
                // SAFETY: the caller's promise.
                unsafe { self.to_host(device, *region, true)? };
            }
        }
        Ok(here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::element::Element;

    #[test]
    fn parts_follow_one_another_and_have_all_cells() {
        for (element, most) in [(f64::TYPE, 100), (<[f32; 3]>::TYPE, 1000), (u8::TYPE, 1 << 20), (f64::TYPE, 1)] {
            let boxes = [(3, GridBox::new([0, 2, 0, -1], [1, 5, 3, 4])), (4, GridBox::new([0, 0, 0, 0], [1, 1, 1, 7]))];
            let batches = batches(&element, &boxes, most);
            let mut cells = Vec::new();
            for batch in &batches {
                let mut end = 0;
                for part in &batch.parts {
                    assert!(part.start >= end && part.start.is_multiple_of(ALIGN) && part.values >= part.cells.cells());
                    let of =
                        |(ty, before): (_, usize)| part.start + part.values * before + part.cells.cells() * size(ty);
                    end = element.placed_components().map(of).max().unwrap();
                    let number = |at| (part.region, at, part.position::<4>(at));
                    cells.extend(part.cells.points().map(number).map(|(region, at, position)| {
                        assert!(position < part.values);
                        (region, at)
                    }));
                }
                assert_eq!(batch.bytes, end);
                assert!(batch.parts.len() == 1 || batch.bytes <= most + ALIGN * 3 * 12);
            }
            let all: Vec<_> = boxes.iter().flat_map(|(region, cells)| cells.points().map(|at| (*region, at))).collect();
            assert_eq!(cells.len(), all.len());
            assert!(all.iter().all(|cell| cells.contains(cell)));
        }
    }

    fn size(ty: tida_kernels::element::ScalarType) -> usize {
        ty.size()
    }
}
