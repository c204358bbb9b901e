//! Ghosts of arrays whose values lie in a file.

use std::ops::Range;

use super::compile::{Site, Where};
use super::plan::{GhostCopy, of_region};
use super::regions::Regional;
use crate::backend::cpu::{Memories, copy_box};
use crate::error::Error;
use crate::memory::backing::Backing;
use crate::memory::slab::{Slab, slabs};
use crate::memory::storage::Storage;

impl Regional {
    /// Sets the ghosts of fixed value of some regions in the file, slab by slab.
    ///
    /// # Errors
    /// A read or a write that failed.
    ///
    /// # Safety
    /// The storage is that of an array of this geometry, whose file this is, and no one else touches these regions.
    pub unsafe fn fix_in_file(&self, storage: &Storage, backing: &Backing, regions: Range<usize>) -> Result<(), Error> {
        let (plan, axis) = (self.plan(), 4 - self.rank);
        let all = self.layout.regions.iter().enumerate();
        for (region, of) in all.take(regions.end).skip(regions.start) {
            let fixed = || plan.phases.iter().flat_map(|phase| of_region(&phase.fixed, region));
            let was_touched = storage.host_touched(region);
            for planes in slabs(of, axis, self.element.bytes(), of.grown.lo[axis]..of.grown.hi[axis]) {
                let within = |copy: &GhostCopy| copy.within(plan.first, std::slice::from_ref(&planes));
                let copies: Vec<GhostCopy> = fixed().filter_map(within).collect();
                if copies.is_empty() {
                    continue;
                }
                let mut slab = Slab::new((region, of), axis, &self.element, &planes)?;
                if was_touched {
                    slab.read(backing, &self.element)?;
                }
                let site = Site { start: 0, cells: slab.values, shift: -(slab.first as i64) };
                let base = slab.storage.base(0);
                for (kind, boxes) in plan.jobs(&copies, |_, _| Where::Region(site)) {
                    let memories = Memories { to: base, from: [base.cast_const(); 2] };
                    // SAFETY: the slab has the planes of these copies, which set constants.
                    boxes.iter().for_each(|copy| unsafe { copy_box(&kind, copy, memories) });
                }
                storage.touch_host(region);
                slab.write(backing, &self.element)?;
            }
        }
        backing.settle()
    }
}
