//! Planes of neighbouring regions that lie together in memory of a device, while a kernel runs over some of them and
//! reads the others. Ghosts have no part in it.

use std::sync::Arc;

use tida_kernels::element::ElementType;

use super::ghosts::compile::Site;
use super::ghosts::device::DeviceCopies;
use super::layout::{WideLayout, WideRegion};
use super::node::{Near, Ring};
use super::parts::OfRegion;
use super::storage::Storage;
use crate::backend::Memory;
use crate::device::core::DeviceCore;
use crate::error::Error;
use crate::grid::GridBox;

/// What lies together for one region.
#[derive(Debug)]
pub(crate) struct Span {
    pub region: usize,
    /// All of it.
    pub cells: GridBox<4>,
    /// Where that comes from.
    pub from: Vec<OfRegion>,
    /// What goes back to the region.
    pub back: GridBox<4>,
}

/// Spans of an array, in memory where kernels find them as its regions.
#[derive(Debug)]
pub(crate) struct Bridge {
    pub ring: Ring,
    array: Arc<Memory>,
    from: DeviceCopies,
    back: DeviceCopies,
}

/// Planes of components have multiples of so many values.
const LINE: usize = 128;

/// How spans lie one after the other: each as a region of the array. Those without one lie as the first.
fn lay(spans: &[Span]) -> WideLayout {
    let mut starts = Vec::with_capacity(spans.len());
    let mut values = 0;
    for span in spans {
        starts.push(values);
        values = (values + span.cells.cells()).next_multiple_of(LINE);
    }
    let regions = spans.iter().map(|span| span.region + 1).max().unwrap_or(0);
    let region = |region: usize| {
        let number = spans.iter().position(|span| span.region == region).unwrap_or(0);
        let (span, start) = (&spans[number], starts[number]);
        // Positions are counted from there.
        let mut origin = span.cells.lo;
        origin[3] -= start as i64;
        let strides = span.cells.packed_strides().map(|step| step as i64);
        WideRegion { valid: span.cells, grown: span.cells, origin, strides, cells: values as i64 }
    };
    WideLayout { regions: (0..regions).map(region).collect(), largest: values }
}

impl Bridge {
    /// Room for spans of an array that has this geometry on the device, of which memory holds such elements; of one of
    /// which regions are there alone, in this ring.
    ///
    /// # Errors
    /// Memory that the device does not have, or no compiler.
    pub fn new(
        device: &DeviceCore,
        storage: &Arc<Storage>,
        (layout, element): (&WideLayout, &ElementType),
        ring: Option<&Ring>,
        spans: &[Span],
    ) -> Result<Bridge, Error> {
        let together = lay(spans);
        let there = Site { start: 0, cells: together.largest, shift: 0 };
        let site = |region: usize| Site {
            start: ring.map_or_else(|| storage.offset(region), |ring| ring.start_of(region)),
            cells: layout.regions[region].cells as usize,
            shift: 0,
        };
        let pairs = |parts: &[(usize, OfRegion)]| -> Vec<_> {
            let pair = |(span, (region, cells)): &(usize, OfRegion)| {
                ((&together.regions[*span], there), (&layout.regions[*region], site(*region)), *cells)
            };
            parts.iter().map(pair).collect()
        };
        let from: Vec<_> = spans.iter().flat_map(|span| span.from.iter().map(|from| (span.region, *from))).collect();
        let back: Vec<_> = spans.iter().map(|span| (span.region, (span.region, span.back))).collect();
        let (from, back) = (
            DeviceCopies::of_spans(device, element, &pairs(&from), false)?,
            DeviceCopies::of_spans(device, element, &pairs(&back), true)?,
        );
        let array = ring.map_or_else(|| storage.device_memory(device), |ring| Ok(ring.memory.clone()))?;
        let memory = Arc::new(device.table(together.largest * element.bytes())?);
        let ring = Ring { storage: storage.clone(), memory, layout: Arc::new(together), start: 0, near: Near::Planes };
        Ok(Bridge { ring, array, from, back })
    }

    /// Puts the copies into a stream that bring the spans together.
    ///
    /// # Errors
    /// What the device refuses.
    ///
    /// # Safety
    /// The array is on the device, and no one writes what is copied until that is done. Until then this is held.
    pub unsafe fn bring(&self, stream: usize) -> Result<(), Error> {
        // SAFETY: the copies were made for these two memories; the rest is the caller's promise.
        unsafe { self.from.run(stream, &self.ring.memory, &self.array) }
    }

    /// Puts the copies into a stream that take back what was written.
    ///
    /// # Errors
    /// As [`Bridge::bring`].
    ///
    /// # Safety
    /// As [`Bridge::bring`]; no one else touches what goes back.
    pub unsafe fn give(&self, stream: usize) -> Result<(), Error> {
        // SAFETY: as above.
        unsafe { self.back.run(stream, &self.array, &self.ring.memory) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_lie_one_after_the_other() {
        let span = |region, lo: i64, planes: i64| {
            let cells = GridBox::new([0, 0, lo, 5], [1, 1, lo + planes, 12]);
            Span { region, cells, from: Vec::new(), back: cells }
        };
        let layout = lay(&[span(3, 8, 2), span(1, 4, 20)]);
        assert_eq!((layout.regions.len(), layout.largest), (4, 128 + 256));
        assert_eq!(layout.regions[3].position([0, 0, 8, 5]), 0);
        assert_eq!(layout.regions[3].position([0, 0, 9, 6]), 8);
        assert_eq!(layout.regions[1].position([0, 0, 4, 5]), 128);
        assert_eq!(layout.regions[1].position([0, 0, 23, 11]), 128 + 139);
    }
}
