//! Planes that lie packed in the host's memory: as they came over the link, until someone on the host wants their
//! values.
//!
//! A packed plane of a component is where its values would be: first what is left over from whole frames, as it is,
//! then the slots of the frames, one after the other, then what had no room in them (`tida_kernels::frames`); or the
//! codes of its values. What moves between host and device reads and writes planes so; everything else calls
//! [`Storage::unpack`] before it looks, by way of [`Storage::to_host`] and [`Storage::to_device`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tida_kernels::frames::{self, VALUES, Word};

use super::coding::Coding;
use super::rows::Shared;
use super::storage::Storage;
use crate::backend::{Backend, HostBlock};
use crate::parallel;

/// How a plane of a component is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Codes of the component with this number.
    Codes(usize),
    /// Frames in slots of so many bytes.
    Frames(usize),
}

/// A plane of a component that is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub form: Form,
    /// Values in it, and bytes of each.
    pub values: usize,
    pub size: usize,
}

impl Chunk {
    /// Whole frames.
    pub fn frames(&self) -> usize {
        self.values / VALUES
    }

    /// Values before the first frame.
    pub fn tail(&self) -> usize {
        self.values % VALUES
    }

    /// Bytes of a frame of values.
    pub fn frame(&self) -> usize {
        VALUES * self.size
    }
}

/// How frames of a component of a region should be packed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Guess {
    /// Bytes of their slots; none if packing gains too little.
    pub slot: Option<usize>,
    /// Most of them hold more than a few values.
    pub is_known: bool,
}

/// What frames of an array keep on the host that had no room in their slots, by region: four bytes for each 4 KiB.
#[derive(Debug, Default)]
pub(crate) struct Apart(Mutex<Vec<Option<Arc<HostBlock>>>>);

/// Bytes of the smallest frame.
pub(crate) const LEAST_FRAME: usize = VALUES * 4;
/// Frames of a region that are looked at to know how well it packs.
const SAMPLES: usize = 32;
/// Slots are multiples of so many bytes.
const SLOT: usize = 128;

impl Storage {
    /// Whether planes of some region lie packed on the host.
    pub(crate) fn is_packed(&self) -> bool {
        self.packs() && self.with_table(|table| table.is_packed())
    }

    /// Says how a plane of a component lies in a region's memory from now on, that starts at byte `at`.
    pub(crate) fn set_packed(&self, region: usize, at: usize, chunk: Option<Chunk>) {
        self.with_table(|table| table.set_packed(region, at, chunk));
    }

    /// How it lies there.
    pub(crate) fn packed_at(&self, region: usize, at: usize) -> Option<Chunk> {
        self.with_table(|table| table.packed_at(region, at))
    }

    /// Where frames of a region keep their first four bytes that had no room in their slots, and how many bytes there
    /// are for them: those of a plane that starts at byte `at` lie from `at / 4096 * 4` on.
    pub(crate) fn apart(&self, backend: &Arc<dyn Backend>, region: usize) -> (*mut u8, usize) {
        let mut all = self.apart_of().0.lock().unwrap_or_else(PoisonError::into_inner);
        all.resize_with(self.regions(), || None);
        // Large enough to be pinned.
        let bytes = ((self.bytes(region) / LEAST_FRAME + 2) * 4).max(1 << 16);
        let block = all[region].get_or_insert_with(|| Arc::new(HostBlock::new(backend, bytes)));
        (block.start(), bytes)
    }

    /// Whether the host's ghosts of fixed value are known to have it.
    pub(crate) fn has_fixed_ghosts(&self) -> bool {
        self.with_table(|table| table.fixed)
    }

    /// Says whether they are from now on.
    pub(crate) fn set_fixed_ghosts(&self, are_there: bool) {
        self.with_table(|table| table.fixed = are_there);
    }

    /// Unpacks what lies packed of a region on the host. Nobody writes it meanwhile.
    pub(crate) fn unpack(&self, region: usize) {
        if !self.packs() {
            return;
        }
        // Who comes meanwhile waits until it is done.
        self.with_table(|table| self.unpack_chunks(region, table.take_packed(region)));
    }

    fn unpack_chunks(&self, region: usize, chunks: BTreeMap<usize, Chunk>) {
        if chunks.is_empty() {
            return;
        }
        let (base, bytes) = (Shared::new(self.base(region)), self.bytes(region));
        let apart = self.apart_of().0.lock().unwrap_or_else(PoisonError::into_inner).get(region).cloned().flatten();
        let one = |(at, chunk): &(usize, Chunk)| {
            let (at, chunk) = (*at, *chunk);
            // SAFETY: chunks lie in the region and do not overlap; the caller keeps all others away.
            let place = unsafe { std::slice::from_raw_parts_mut(base.get().add(at), chunk.values * chunk.size) };
            match chunk.form {
                Form::Codes(component) => {
                    if let Some(coding) = self.coding() {
                        decode(coding, component, place, &chunk);
                    }
                }
                Form::Frames(slot) => {
                    let apart = apart.as_ref().map_or(&[][..], |block| {
                        let first = block.start().wrapping_add(at / LEAST_FRAME * 4);
                        // SAFETY: the block has four bytes for each 4 KiB of the region and two more; nobody writes
                        // them meanwhile.
                        unsafe { std::slice::from_raw_parts(first, 4 * chunk.frames()) }
                    });
                    match chunk.size {
                        8 => unpack_frames::<u64>(place, &chunk, slot, apart),
                        _ => unpack_frames::<u32>(place, &chunk, slot, apart),
                    }
                }
            }
        };
        let inside = |(at, chunk): &(usize, Chunk)| at + chunk.values * chunk.size <= bytes;
        let chunks: Vec<(usize, Chunk)> = chunks.into_iter().filter(inside).collect();
        let packed: usize = chunks.iter().map(|(_, chunk)| chunk.values * chunk.size).sum();
        parallel::apart(&chunks, packed, &one);
    }

    /// The same for all regions.
    pub(crate) fn unpack_all(&self) {
        (0..self.regions()).for_each(|region| self.unpack(region));
    }

    /// Which slots frames of a component of a region should have, as they lie on the host. `planes` says where planes
    /// of the component start, in bytes, and how many values each has. Nobody writes them.
    pub(crate) fn guess(&self, region: usize, size: usize, planes: &[(usize, usize)]) -> Guess {
        let frame = VALUES * size;
        let frames: usize = planes.iter().map(|(_, values)| values / VALUES).sum();
        if !matches!(size, 4 | 8) || frames == 0 {
            return Guess::default();
        }
        // Multiples of an irrational number: frames at the same place of each plane, as those of its ghosts, are not
        // all that is seen.
        let part = |n: usize| ((frames as u64 * u64::from((n as u32).wrapping_mul(0x9e37_79b9))) >> 32) as usize;
        let mut samples: Vec<usize> = (0..SAMPLES.min(frames)).map(part).collect();
        samples.sort_unstable();
        let mut sizes: Vec<usize> = Vec::with_capacity(SAMPLES);
        let (mut seen, mut next) = (0, samples.iter().peekable());
        for (at, values) in planes {
            let here = values / VALUES;
            while let Some(number) = next.next_if(|number| **number < seen + here) {
                sizes.push(self.frame_bytes(region, (*at, *values), size, number - seen));
            }
            seen += here;
        }
        // Cells that all have one value, but for ghosts, may have been set for the start, and say nothing of what
        // comes.
        let flat = sizes.iter().filter(|bytes| **bytes <= frame / 4).count();
        Guess { is_known: 2 * flat < sizes.len(), slot: choose(&mut sizes, frame) }
    }

    /// Bytes that one frame of a plane packs to.
    fn frame_bytes(&self, region: usize, (at, values): (usize, usize), size: usize, number: usize) -> usize {
        let frame = VALUES * size;
        let first = at + values % VALUES * size;
        let slot = match self.packed_at(region, at).map(|chunk| chunk.form) {
            Some(Form::Frames(slot)) => Some(slot),
            Some(Form::Codes(_)) => return frame,
            None => None,
        };
        let (start, bytes) = match slot {
            Some(slot) => (first + number * slot, slot),
            None => (first + number * frame, frame),
        };
        if start + bytes > self.bytes(region) {
            return frame;
        }
        // SAFETY: the bytes lie in the region, and nobody writes them.
        let bytes = unsafe { std::slice::from_raw_parts(self.base(region).add(start), bytes) };
        match (slot, size) {
            (Some(_), _) => frames::bytes_in(bytes).unwrap_or(frame),
            (None, 8) => frames::bytes_of(&words::<u64>(bytes)),
            (None, _) => frames::bytes_of(&words::<u32>(bytes)),
        }
    }
}

/// The slot that moves least, if it is worth it. What has no room in a slot takes longer than what is copied.
fn choose(sizes: &mut [usize], frame: usize) -> Option<usize> {
    sizes.sort_unstable();
    let cost = |slot: usize| {
        let over = sizes.len() - sizes.partition_point(|bytes| *bytes <= slot);
        slot + 2 * over * (frame - slot) / sizes.len().max(1)
    };
    let slots = sizes.iter().map(|bytes| (bytes + bytes / 64).next_multiple_of(SLOT)).filter(|slot| *slot < frame);
    let best = slots.min_by_key(|slot| cost(*slot))?;
    (cost(best) * 16 <= frame * 15).then_some(best)
}

fn words<W: Word>(bytes: &[u8]) -> Vec<W> {
    bytes.chunks_exact(W::BYTES).map(W::read).collect()
}

fn put<W: Word>(values: &[W], to: &mut [u8]) {
    to.chunks_exact_mut(W::BYTES).zip(values).for_each(|(to, value)| value.write(to));
}

fn unpack_frames<W: Word>(place: &mut [u8], chunk: &Chunk, slot: usize, apart: &[u8]) {
    let (frame, first) = (chunk.frame(), chunk.tail() * chunk.size);
    if slot > frame || place.len() < first + chunk.frames() * frame {
        return;
    }
    let packed = place[first..].to_vec();
    let (slots, rests) = packed.split_at(chunk.frames() * slot);
    let mut values = vec![W::default(); VALUES];
    for (number, to) in place[first..].chunks_exact_mut(frame).enumerate() {
        let rest = &rests[number * (frame - slot)..][..frame - slot];
        let apart = apart.get(4 * number..).unwrap_or(&[]);
        frames::unpack(&slots[number * slot..][..slot], rest, apart, &mut values);
        put(&values, to);
    }
}

/// Decodes codes to where they lie themselves.
fn decode(coding: &Coding, component: usize, place: &mut [u8], chunk: &Chunk) {
    let of = coding.code_size(component);
    let mut codes = vec![0u64; (chunk.values * of).div_ceil(8)];
    let place = place.as_mut_ptr();
    // SAFETY: so many codes, and room for so many values; both start where values may, and neither overlaps the other.
    unsafe {
        std::ptr::copy_nonoverlapping(place, codes.as_mut_ptr().cast(), chunk.values * of);
        coding.decode(component, codes.as_ptr().cast(), place, chunk.values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_as_short_as_most_frames() {
        assert_eq!(choose(&mut [4000; 32], 8192), Some(4096));
        assert_eq!(choose(&mut [8100; 32], 8192), None);
        let mut few = [4000; 32];
        few[3] = 8000;
        assert_eq!(choose(&mut few, 8192), Some(4096));
        assert_eq!(choose(&mut [], 8192), None);
    }
}
