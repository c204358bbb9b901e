//! Boxes of a loop that leaves cells out: a list that many sweeps run over, with what a device needs of it.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use tida_kernels::plan::Plan;
use tida_kernels::plan::auto::{Boxes, has_room};
use tida_kernels::plan::wide::Beside;

use super::device::{DeviceArg, DeviceLaunch, Part};
use crate::device::compiler::Ready;
use crate::device::core::DeviceCore;
use crate::device::plans::Wish;
use crate::error::Error;
use crate::grid::GridBox;
use crate::grid::boxes::union;
use crate::memory::layout::WideLayout;

/// A box of a region.
type InRegion = (usize, GridBox<4>);

/// Boxes of regions, in row-major order of regions, that do not overlap.
#[derive(Debug, Default)]
pub(crate) struct BlockList {
    /// The boxes, as they are for a device: all of about one size.
    blocks: Vec<InRegion>,
    /// The same cells where neighbours are one box: what the host runs over.
    spans: Vec<InRegion>,
    /// The cells of the largest box along each axis.
    largest: [i64; 4],
    /// What launches were given.
    tables: Mutex<Vec<Table>>,
}

/// Tables of the geometry of a list's blocks on a device, and what they were made for.
#[derive(Debug)]
struct Table {
    ready: Arc<Ready>,
    plan: Plan,
    valid_only: u16,
    places: Places,
    parts: SmallVec<[Part; 1]>,
}

/// Where arrays with the tile's cuts are: their layouts, and where the regions of the list start.
type Places = Vec<(Arc<WideLayout>, Vec<usize>)>;

/// Cells that a thread takes one after the other, where there are threads enough: each reads the geometry of its box
/// from memory, which takes as long as a few cells.
const MARCHES: [u32; 2] = [8, 4];

/// Tables that a list keeps: of two arrays that take turns in a few kernels.
const KEPT: usize = 16;

/// Part of a list.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub list: Arc<BlockList>,
    /// Which of its spans.
    pub spans: Range<usize>,
}

impl BlockList {
    /// Adds a box.
    pub fn add(&mut self, region: usize, cells: GridBox<4>) {
        (0..4).for_each(|d| self.largest[d] = self.largest[d].max(cells.hi[d] - cells.lo[d]));
        self.blocks.push((region, cells));
        self.spans.push((region, cells));
        // Blocks become rows, rows slabs.
        while let [.., (r0, a), (r1, b)] = self.spans.as_slice()
            && r0 == r1
            && let Some(merged) = union(a, b)
        {
            let region = *r0;
            self.spans.truncate(self.spans.len() - 2);
            self.spans.push((region, merged));
        }
    }

    /// The cells of the list as few boxes.
    pub fn spans(&self) -> &[InRegion] {
        &self.spans
    }

    /// The boxes that were added.
    pub fn blocks(&self) -> &[InRegion] {
        &self.blocks
    }

    /// A box of the largest box's extent along each axis.
    pub fn largest(&self) -> GridBox<4> {
        GridBox::new([0; 4], self.largest)
    }
}

impl Listed {
    /// The boxes.
    pub fn boxes(&self) -> &[InRegion] {
        self.list.spans.get(self.spans.clone()).unwrap_or_default()
    }

    /// The list, if this is all of it.
    pub fn whole(&self) -> Option<&Arc<BlockList>> {
        (self.spans == (0..self.list.spans.len())).then_some(&self.list)
    }

    /// Adds another part of the same list that follows this one; whether it did.
    pub fn goes_on(&mut self, other: &Listed) -> bool {
        let follows = Arc::ptr_eq(&self.list, &other.list) && self.spans.end == other.spans.start;
        if follows {
            self.spans.end = other.spans.end;
        }
        follows
    }
}

impl DeviceLaunch<'_> {
    /// The plan for all blocks of a list, of which launches can have each: found without a look at any.
    pub(super) fn plan_of_list(&self, device: &DeviceCore, boxes: &[(usize, GridBox<4>)], wish: &Wish) -> Option<Plan> {
        let (list, facts) = (self.list?, device.backend().facts());
        let largest = list.largest();
        if boxes.len() < 2 || boxes.as_ptr() != list.blocks().as_ptr() {
            return None;
        }
        let cells = largest.cells() as u64 * boxes.len() as u64;
        let extent = self.extent(&largest);
        let room = |march: &u32| {
            let boxes = Boxes { extent: &extent, cells, bytes: self.prepared.cell_bytes() as u64 };
            facts.gpu && has_room(&facts.machine, &boxes, *march, &Beside::ONE)
        };
        let wish = Wish { march: wish.march.or_else(|| MARCHES.into_iter().find(room)), ..*wish };
        let mut plan = self.plan_for(&wish, facts, device.asked.math, (&extent, cells), true);
        let needed = self.blocks(&plan, &largest);
        plan.by_value = self.by_value(&plan, boxes.len());
        (0..3).all(|d| needed[d] <= facts.grid[d]).then_some(plan)
    }

    /// The launches over boxes that launches can have.
    pub(super) fn parts(
        &self,
        device: &DeviceCore,
        plan: &Plan,
        ready: &Ready,
        fitting: &[(usize, GridBox<4>)],
    ) -> Result<SmallVec<[Part; 1]>, Error> {
        let at_once = if plan.many {
            let tiles = fitting.iter().map(|(_, cells)| self.blocks(plan, cells)[2]).max().unwrap_or(1).max(1);
            ((device.backend().facts().grid[2] / tiles.next_power_of_two()) as usize).max(1)
        } else {
            1
        };
        fitting.chunks(at_once).map(|part| self.part(device, plan, ready, part)).collect()
    }

    /// Launches over all blocks of a list, whose tables are made once.
    ///
    /// # Errors
    /// What `make` says.
    pub(super) fn tabled(
        &self,
        list: &BlockList,
        (plan, ready): (&Plan, &Arc<Ready>),
        make: impl FnOnce() -> Result<SmallVec<[Part; 1]>, Error>,
    ) -> Result<SmallVec<[Part; 1]>, Error> {
        let Some(places) = self.places(list) else { return make() };
        let mut tables = list.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let known = tables.iter().find(|table| {
            let same = table.places.len() == places.len()
                && table
                    .places
                    .iter()
                    .zip(&places)
                    .all(|(one, other)| Arc::ptr_eq(&one.0, &other.0) && one.1 == other.1);
            same && table.valid_only == self.valid_only && Arc::ptr_eq(&table.ready, ready) && table.plan == *plan
        });
        if let Some(table) = known {
            return Ok(table.parts.clone());
        }
        let parts = make()?;
        if tables.len() == KEPT {
            tables.remove(0);
        }
        let (ready, plan, valid_only) = (ready.clone(), plan.clone(), self.valid_only);
        tables.push(Table { ready, plan, valid_only, places, parts: parts.clone() });
        Ok(parts)
    }

    /// Where its arrays are; none if some are in windows that move.
    fn places(&self, list: &BlockList) -> Option<Places> {
        let mut regions: Vec<usize> = list.spans.iter().map(|(region, _)| *region).collect();
        regions.dedup();
        let mut places = Vec::new();
        for arg in &self.args {
            if let DeviceArg::Tiled(array) = arg {
                if array.ring.is_some() {
                    return None;
                }
                places.push((array.layout.clone(), regions.iter().map(|region| array.start(*region)).collect()));
            }
        }
        Some(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_box_on_the_host() {
        let mut list = BlockList::default();
        let block = |y: i64, x: i64| GridBox::new([0, 0, y, x], [1, 1, y + 2, x + 4]);
        for (y, x) in [(0, 0), (0, 4), (2, 0), (2, 4), (4, 4), (4, 12)] {
            list.add(0, block(y, x));
        }
        list.add(1, block(6, 0));
        let slab = GridBox::new([0, 0, 0, 0], [1, 1, 4, 8]);
        assert_eq!(list.spans(), [(0, slab), (0, block(4, 4)), (0, block(4, 12)), (1, block(6, 0))]);
        assert_eq!((list.blocks().len(), list.largest().hi), (7, [1, 1, 2, 4]));
        let list = Arc::new(list);
        let mut part = Listed { list: list.clone(), spans: 0..3 };
        assert!(part.whole().is_none() && part.boxes().len() == 3);
        assert!(part.goes_on(&Listed { list, spans: 3..4 }) && part.whole().is_some());
    }
}
