//! Reading and writing parts of regions where they are: on the host, or on the device, from where they come packed.

use std::sync::atomic::{AtomicU64, Ordering};

use super::TileArray;
use super::host::{position, reserve};
use crate::error::Error;
use crate::grid::{GridBox, narrow};
use crate::memory::element::Element;
use crate::memory::layout::Layout;
use crate::memory::parts::{OfRegion, PackedBox};
use crate::memory::rows::{Row, Shared, each_row};
use crate::memory::slab::each_slab;
use crate::memory::storage::Storage;
use crate::memory::tracker::{Mode, Touch};

/// Cells that are copied on the calling thread: another one takes as long to wake.
const FEW: usize = 1 << 14;

impl<T: Element, const D: usize> TileArray<T, D> {
    /// The parts of a box inside the domain, each with the region that owns it.
    pub(super) fn owned(&self, cells: &GridBox<D>) -> Vec<OfRegion> {
        self.layout.parts(cells)
    }

    /// Whether it is all that a region owns.
    pub(super) fn is_all(&self, (region, cells): &OfRegion) -> bool {
        self.layout.wide.regions[*region].valid == *cells
    }

    /// Whether the region comes to the host for it: where it is all of that, or has ghosts between regions that have no
    /// memory of their own on the device.
    fn comes_whole(&self, part: &OfRegion) -> bool {
        let realm = || self.layout.realm(part.0).widen();
        self.is_all(part) || (self.storage.stays_in_row() && !realm().contains_box(&part.1))
    }

    /// The values of a box of `count` cells, of which each region has one of these parts.
    #[track_caller]
    pub(super) fn read_parts(&self, cells: &GridBox<D>, count: usize, parts: &[OfRegion]) -> Result<Vec<T>, Error> {
        let owns = |part: &OfRegion| self.layout.wide.regions[part.0].valid.contains_box(&part.1);
        let touches = self.touches(parts, |part| if owns(part) { Mode::Look } else { Mode::Read });
        let (whole, boxes): (Vec<OfRegion>, Vec<OfRegion>) = parts.iter().partition(|part| self.comes_whole(part));
        self.acc.wait_in_place(&touches, boxes.is_empty())?;
        self.storage.warn();
        let mut values: Vec<T> = Vec::new();
        reserve(&mut values, count)?;
        let out = Shared::new(values.as_mut_ptr());
        let (layout, extent) = (&*self.layout, cells.extent());
        let take = |row: Row<'_>, at: [i64; D]| {
            let first = position(cells, &extent, at);
            // SAFETY: the row is in memory, of elements `T`; nothing recorded writes it while `self` is borrowed, and
            // what was recorded before has run. There is room for all cells of the box.
            unsafe { row.get::<T>(|n, value| out.get().add(first + n).write(value)) };
        };
        let mut here = whole.clone();
        if let Some(device) = &self.acc.core().device {
            if !whole.is_empty() {
                self.acc.bring(&self.touches(&whole, |_| Mode::Read))?;
            }
            let array = (&*layout.wide, &layout.element);
            let packed = |parts: &[PackedBox], passage: *mut u8| {
                let passage = Shared::new(passage);
                self.each_part(parts.iter().map(|part| part.cells), &|number, at, length| {
                    // SAFETY: all of the part is in the passage.
                    take(unsafe { Row::packed(layout, &parts[number], passage.get(), at, length) }, at);
                });
            };
            if !boxes.is_empty() {
                device.backend().caught_up();
                // SAFETY: the array has this layout; as for rows.
                let fetch = || unsafe { self.storage.fetch_boxes(device, array, &boxes, packed) };
                here.extend(self.acc.core().for_host(fetch)?);
            }
        } else {
            here.extend(boxes);
        }
        if let Some(backing) = self.storage.backing() {
            let take = |slab: &Layout<D>, memory: &Storage, _: usize, cells: GridBox<4>| {
                self.each_part(std::iter::once(cells), &|_, at, length| {
                    // SAFETY: the row is in the slab.
                    take(unsafe { Row::new(slab, memory, 0, at, length) }, at);
                });
                Ok(())
            };
            // SAFETY: the array has this layout; as for rows.
            unsafe { each_slab((layout, &self.storage, backing), &here, false, take)? };
            here.clear();
        }
        here.iter().for_each(|(region, _)| self.storage.unpack(*region));
        self.each_part(here.iter().map(|(_, cells)| *cells), &|number, at, length| {
            // SAFETY: the row is in the region.
            take(unsafe { Row::new(layout, &self.storage, here[number].0, at, length) }, at);
        });
        // SAFETY: the parts cover the box, so every value of it was written.
        unsafe { values.set_len(count) };
        Ok(values)
    }

    /// Sets the values of parts of regions: `value(start of a row, position in it)`.
    #[track_caller]
    pub(super) fn write_parts(
        &mut self,
        parts: &[OfRegion],
        value: &(impl Fn([i64; D], usize) -> T + Sync),
    ) -> Result<(), Error> {
        let how = |part: &OfRegion| if self.is_all(part) { Mode::Overwrite } else { Mode::Update };
        self.acc.wait_in_place(&self.touches(parts, how), false)?;
        self.tracker.ages.cells_written();
        let (whole, boxes): (Vec<OfRegion>, Vec<OfRegion>) = parts.iter().partition(|part| self.comes_whole(part));
        let (layout, saturated) = (&*self.layout, AtomicU64::new(0));
        let set = |row: Row<'_>, at: [i64; D], again: bool| {
            // SAFETY: the row is in memory, of elements `T`; each row is handed to one thread, and recorded work on the
            // array, of which `self` is the only handle, has run.
            let beyond = unsafe { row.set::<T>(|n| value(at, n)) };
            if beyond > 0 && !again {
                saturated.fetch_add(beyond, Ordering::Relaxed);
            }
        };
        // Of each, whether the device was given the same.
        let mut here: Vec<(OfRegion, bool)> = whole.iter().map(|part| (*part, false)).collect();
        if let Some(device) = &self.acc.core().device {
            if !whole.is_empty() {
                self.acc.bring(&self.touches(&whole, how))?;
            }
            let array = (&*layout.wide, &layout.element);
            let packed = |parts: &[PackedBox], passage: *mut u8| {
                let passage = Shared::new(passage);
                self.each_part(parts.iter().map(|part| part.cells), &|number, at, length| {
                    // SAFETY: all of the part is in the passage.
                    set(unsafe { Row::packed(layout, &parts[number], passage.get(), at, length) }, at, false);
                });
            };
            if !boxes.is_empty() {
                device.backend().caught_up();
                // SAFETY: the array has this layout; as for rows.
                here.extend(unsafe { self.storage.store_boxes(device, array, &boxes, packed)? });
            }
        } else {
            here.extend(boxes.into_iter().map(|part| (part, false)));
        }
        if let Some(backing) = self.storage.backing() {
            let parts: Vec<OfRegion> = here.iter().map(|(part, _)| *part).collect();
            let set = |slab: &Layout<D>, memory: &Storage, number: usize, cells: GridBox<4>| {
                self.each_part(std::iter::once(cells), &|_, at, length| {
                    // SAFETY: the row is in the slab.
                    set(unsafe { Row::new(slab, memory, 0, at, length) }, at, here[number].1);
                });
                Ok(())
            };
            // SAFETY: the array has this layout; as for rows.
            unsafe { each_slab((layout, &self.storage, backing), &parts, true, set)? };
            here.clear();
        }
        self.each_part(here.iter().map(|((_, cells), _)| *cells), &|number, at, length| {
            let ((region, _), again) = here[number];
            // SAFETY: the row is in the region.
            set(unsafe { Row::new(layout, &self.storage, region, at, length) }, at, again);
        });
        self.saturate(saturated.into_inner())
    }

    /// Touches of the regions of parts.
    pub(super) fn touches(&self, parts: &[OfRegion], mode: impl Fn(&OfRegion) -> Mode) -> Vec<Touch> {
        parts.iter().map(|part| self.touch(Some(part.0), mode(part))).collect()
    }

    /// Calls `f` with the number of each box, and the start and length of each of its rows, on several threads if there
    /// are many cells.
    fn each_part(&self, boxes: impl Iterator<Item = GridBox<4>>, f: &(dyn Fn(usize, [i64; D], usize) + Sync)) {
        let boxes: Vec<GridBox<4>> = boxes.collect();
        let cells = boxes.iter().map(GridBox::cells).fold(0, usize::saturating_add);
        let all = || {
            boxes.iter().enumerate().for_each(|(number, cells)| {
                each_row(&narrow::<D>(cells), |at, length| f(number, at, length));
            });
        };
        if cells <= FEW { all() } else { self.acc.install(&all) }
    }
}
