//! Planes of a region whose values lie in a file, in memory for as long as the host works on them.
//!
//! A slab is an array of its own: of one region, whose memory holds these planes and no others. What reads and writes
//! arrays on the host works on slabs, one after the other.

use std::ops::Range;
use std::sync::Arc;

use tida_kernels::element::ElementType;

use super::backing::Backing;
use super::layout::{Cuts, Layout, Region, WideLayout, WideRegion};
use super::parts::OfRegion;
use super::storage::Storage;
use crate::error::Error;
use crate::grid::GridBox;

/// Bytes of a slab: enough that a disk is busy, and few beside what a program may take.
const SLAB: usize = 16 << 20;

/// Components start at multiples of so many values.
const LINE: usize = 128;

/// See the module.
pub(crate) struct Slab {
    region: usize,
    /// Values of each component in the region's memory.
    of: usize,
    /// The first value of each component, in the region, and how many it holds.
    pub first: usize,
    count: usize,
    /// Values from one component to the next.
    pub values: usize,
    pub storage: Storage,
}

/// Planes of a region that make slabs, along this axis of four: those of a box.
pub(crate) fn slabs(
    of: &WideRegion,
    axis: usize,
    bytes: usize,
    planes: Range<i64>,
) -> impl Iterator<Item = Range<i64>> {
    let thick = (SLAB / (of.strides[axis].max(1) as usize * bytes.max(1))).max(1);
    let end = planes.end;
    planes.step_by(thick).map(move |start| start..(start + thick as i64).min(end))
}

impl Slab {
    /// Memory for planes of a region, all zeros.
    ///
    /// # Errors
    /// Memory that the system does not have.
    pub fn new(
        (region, of): (usize, &WideRegion),
        axis: usize,
        element: &ElementType,
        planes: &Range<i64>,
    ) -> Result<Slab, Error> {
        let at = |plane: i64| {
            let mut low = of.grown.lo;
            low[axis] = plane;
            of.position(low)
        };
        let (first, end) = (at(planes.start), at(planes.end).min(of.cells as usize));
        let count = end - first;
        let values = count.next_multiple_of(LINE);
        let storage = Storage::new(std::iter::once(values * element.bytes()))?;
        Ok(Slab { region, of: of.cells as usize, first, count, values, storage })
    }

    /// Where each component lies in the region's memory, and in this.
    fn components(&self, element: &ElementType) -> impl Iterator<Item = (usize, &mut [u8])> {
        element.placed_components().map(|(ty, before)| {
            let (start, bytes) = (self.values * before, self.count * ty.size());
            // SAFETY: the component lies in the slab's memory, which is borrowed; components do not overlap.
            let here = unsafe { std::slice::from_raw_parts_mut(self.storage.base(0).add(start), bytes) };
            (self.of * before + self.first * ty.size(), here)
        })
    }

    /// Takes its values from the file.
    ///
    /// # Errors
    /// A read that failed.
    pub fn read(&mut self, backing: &Backing, element: &ElementType) -> Result<(), Error> {
        self.components(element).try_for_each(|(at, here)| backing.read(self.region, at, here))
    }

    /// Puts its values into the file.
    ///
    /// # Errors
    /// A write that failed.
    pub fn write(&mut self, backing: &Backing, element: &ElementType) -> Result<(), Error> {
        self.components(element).try_for_each(|(at, here)| backing.write(self.region, at, here))
    }
}

impl<const D: usize> Layout<D> {
    /// The same array with one region: those planes of one of its regions that a slab has.
    fn slab(&self, region: usize, planes: &Range<i64>, values: usize) -> Layout<D> {
        let Region { mut valid, mut grown, mut origin, strides, .. } = self.regions[region];
        for cells in [&mut valid, &mut grown] {
            (cells.lo[0], cells.hi[0]) = (cells.lo[0].max(planes.start), cells.hi[0].min(planes.end));
        }
        origin[D - 1] = grown.lo[D - 1];
        origin[0] = planes.start;
        let regions = vec![Region { valid, grown, origin, strides, cells: values }];
        let cuts = Cuts { cells: self.cuts.cells, at: self.cuts.cells.map(|cells| vec![0, cells as i64]) };
        Layout {
            cuts: Arc::new(cuts),
            shape: self.shape,
            centering: self.centering,
            ghost: self.ghost,
            held: self.held,
            owned: self.owned,
            part: self.part,
            borders: self.borders,
            wide: WideLayout::new(&regions),
            regions,
            element: self.element,
            coding: self.coding.clone(),
        }
    }
}

/// Is given a slab as the layout and the memory of an array, with the number of a box and the cells of it there.
type OfSlab<'a, const D: usize> = &'a mut dyn FnMut(&Layout<D>, &Storage, usize, GridBox<4>) -> Result<(), Error>;

/// Calls `f` with each slab that has a part of these boxes: as the layout and the memory of an array, with the number
/// of the box and the cells of it. If they are changed, the file has them after that.
///
/// # Errors
/// That of `f`, or a read or write that failed.
///
/// # Safety
/// The storage is that of an array of this layout, and has a file. No one else writes the boxes meanwhile; if they are
/// changed, no one else touches them.
pub(crate) unsafe fn each_slab<const D: usize>(
    (layout, storage, backing): (&Layout<D>, &Storage, &Backing),
    parts: &[OfRegion],
    change: bool,
    f: OfSlab<'_, D>,
) -> Result<(), Error> {
    let (axis, element) = (4 - D, &layout.element);
    for (number, (region, cells)) in parts.iter().enumerate().filter(|(_, (_, cells))| !cells.is_empty()) {
        let of = &layout.wide.regions[*region];
        let was_touched = storage.host_touched(*region);
        for planes in slabs(of, axis, element.bytes(), cells.lo[axis]..cells.hi[axis]) {
            let mut slab = Slab::new((*region, of), axis, element, &planes)?;
            // What nobody has written is zeros.
            if was_touched {
                slab.read(backing, element)?;
            }
            let mut cells = *cells;
            (cells.lo[axis], cells.hi[axis]) = (planes.start, planes.end);
            f(&layout.slab(*region, &planes, slab.values), &slab.storage, number, cells)?;
            if change {
                storage.touch_host(*region);
                slab.write(backing, element)?;
            }
        }
    }
    if change { backing.settle() } else { Ok(()) }
}
