//! Planes of a window that move packed.

use std::ops::Range;

use super::link::{Packing, Packs, PlaneRun};
use super::ring::{Rolling, Stretch};
use crate::device::core::DeviceCore;
use crate::error::Error;
use crate::memory::packed::Chunk;

/// Planes of a component that are packed alike, or not at all.
struct PackedPlanes {
    run: Option<PlaneRun>,
    planes: usize,
    values: usize,
    /// First byte in the region's memory, and from a plane to the next.
    at: usize,
    step: usize,
    /// First value in the window's memory.
    first: usize,
}

impl Rolling {
    /// As [`Rolling::upload`], of planes of which some lie packed on the host.
    ///
    /// # Safety
    /// The same.
    pub unsafe fn upload_packed(
        &self,
        device: &DeviceCore,
        (stream, link): (usize, &mut Packs),
        packing: &Packing,
        planes: &Range<i64>,
        shift: i64,
    ) -> Result<(), Error> {
        let (backend, storage) = (device.backend(), self.storage());
        for stretch in self.stretches(planes, shift) {
            let touched = storage.host_touched(stretch.region);
            for (ty, before) in self.planar.facts().element.placed_components() {
                let chunk = |at: usize, _: i64, _: usize| storage.packed_at(stretch.region, at).filter(|_| touched);
                for part in self.runs(&stretch, (before, ty.size()), chunk) {
                    let (to, bytes) = (part.first * ty.size(), part.values * ty.size());
                    // SAFETY: the planes lie in both memories; the rest is the caller's promise.
                    unsafe {
                        match part.run {
                            Some(run) => device.counts.upload(link.pass(device, packing, &self.memory, &run, false)?),
                            None if touched => {
                                let from = storage.base(stretch.region).wrapping_add(part.at);
                                backend.upload(stream, &self.memory, to, from, bytes)?;
                                device.counts.upload(bytes);
                            }
                            None => backend.zero(stream, &self.memory, to, bytes)?,
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// As [`Rolling::download`], packed where that is worth it.
    ///
    /// # Safety
    /// The same.
    pub unsafe fn download_packed(
        &self,
        device: &DeviceCore,
        (stream, link): (usize, &mut Packs),
        packing: &Packing,
        planes: &Range<i64>,
        shift: i64,
    ) -> Result<(), Error> {
        let (storage, valid) = (self.storage(), &self.planar.facts().valid);
        for stretch in self.stretches(planes, shift) {
            storage.touch_host(stretch.region);
            for (component, (ty, before)) in self.planar.facts().element.placed_components().enumerate() {
                let chunk = |_: usize, plane: i64, values: usize| {
                    // The first one tells what edges of fixed value are (`keep_edges`), and ghosts are set on the host.
                    let packable = valid.start < plane && plane < valid.end;
                    packing.chunk(stretch.region, component, values, ty.size()).filter(|_| packable)
                };
                for part in self.runs(&stretch, (before, ty.size()), chunk) {
                    let (from, bytes) = (part.first * ty.size(), part.values * ty.size());
                    let chunk = part.run.map(|run| run.chunk);
                    for plane in 0..part.planes {
                        storage.set_packed(stretch.region, part.at + plane * part.step, chunk);
                    }
                    // SAFETY: as above.
                    unsafe {
                        match part.run {
                            Some(run) => {
                                device.counts.download(link.pass(device, packing, &self.memory, &run, true)?)
                            }
                            None => {
                                let to = storage.base(stretch.region).wrapping_add(part.at);
                                device.backend().download(stream, &self.memory, from, to, bytes)?;
                                device.counts.download(bytes);
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The planes of a component in a stretch, cut where they are packed otherwise:
    /// `chunk(first byte in the region, plane, values)`.
    fn runs(
        &self,
        stretch: &Stretch,
        (before, size): (usize, usize),
        chunk: impl Fn(usize, i64, usize) -> Option<Chunk>,
    ) -> Vec<PackedPlanes> {
        let facts = self.planar.facts();
        let cells = facts.layout.regions[stretch.region].cells as usize;
        let (mut parts, step): (Vec<PackedPlanes>, usize) = (Vec::new(), facts.stride * size);
        for (number, start) in (0..stretch.values).step_by(facts.stride.max(1)).enumerate() {
            let values = facts.stride.min(stretch.values - start);
            let at = cells * before + (stretch.host + start) * size;
            let chunk = chunk(at, stretch.plane + number as i64, values);
            if let Some(last) = parts.last_mut()
                && last.run.map(|run| run.chunk) == chunk
            {
                last.planes += 1;
                last.values += values;
                last.run.iter_mut().for_each(|run| run.planes += 1);
                continue;
            }
            let first = self.cells * before / size + stretch.slot + start;
            let run = chunk.map(|chunk| PlaneRun { region: stretch.region, chunk, planes: 1, at, step, first });
            parts.push(PackedPlanes { run, planes: 1, values, at, step, first });
        }
        parts
    }
}
