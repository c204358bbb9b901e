//! Kernels that read cells around those that they write: none of what is read may be written by the same loop.

use tida_kernels::analysis::ArrayAccess;

use super::{Launching, box_text};
use crate::compute::args::TiledInfo;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::launch::prepare::{ArgPlan, cell_text};
use crate::memory::tracker::BoxTouch;

impl<const D: usize> Launching<'_, D> {
    /// What is read of an array around the cells of it that are written: cells that no tile of the loop writes.
    ///
    /// # Errors
    /// A read of what the loop may write, or of ghosts that have no value then.
    pub(super) fn around_writes(
        &self,
        arg: usize,
        info: &TiledInfo<'_, D>,
        plan: &ArgPlan,
        own: &BoxTouch,
    ) -> Result<Vec<BoxTouch>, Error> {
        let target = self.target;
        let (held, shape) = (&info.layout.regions[target.region], info.layout.shape);
        if target.cells.is_empty() {
            return Ok(Vec::new());
        }
        // Beyond a face planes and rows are few: all of them may be read at each.
        let beyond = |axis: usize| target.cells.hi[axis] <= 0 || target.cells.lo[axis] >= shape[axis] as i64;
        let mut touches = Vec::new();
        for &number in &plan.others {
            let access = &self.prepared.analysis.args[arg].accesses[number];
            let Some(read) = self.range_box(access) else { return Err(self.prepared.race(arg, access)) };
            if read.is_empty() {
                continue;
            }
            if !held.grown.contains_box(&read) {
                return Err(match access.conditional || self.prepared.analysis.is_told(access) {
                    true => self.prepared.race(arg, access),
                    false => self.too_narrow(arg, info, &read, &held.grown),
                });
            }
            if read.overlaps(&target.all) {
                return Err(self.prepared.race(arg, access));
            }
            self.has_value(arg, info, access, &read)?;
            let hull =
                |axis: usize| (read.lo[axis] - (target.cells.hi[axis] - 1), read.hi[axis] - 1 - target.cells.lo[axis]);
            let around = |axis: usize| self.around(arg, plan, axis).or_else(|| beyond(axis).then(|| hull(axis)));
            let (around, across) = (around(0), if D < 2 { None } else { around(1) });
            touches.push(BoxTouch { read: Some(read.widen()), write: None, around, across, ..own.clone() });
        }
        Ok(touches)
    }

    /// Checks that what is read beside what the loop writes has its value by then.
    fn has_value(
        &self,
        arg: usize,
        info: &TiledInfo<'_, D>,
        access: &ArrayAccess,
        read: &GridBox<D>,
    ) -> Result<(), Error> {
        let target = self.target;
        let name = self.name(arg);
        let cell = || cell_text(&self.prepared.analysis, &self.prepared.kernel, name, access);
        let outside = |axis: usize| read.lo[axis] < 0 || read.hi[axis] > info.layout.shape[axis] as i64;
        if let Some(face) = target.rule.face()
            && let Some(later) = (0..=face).find(|axis| outside(*axis))
        {
            let found = format!(
                "a read of {}, which reaches {}: ghosts beyond axis {later}, which are set {} those beyond axis {face}",
                cell(),
                box_text(read),
                if later == face { "together with" } else { "after" },
            );
            let advice = "read cells, or ghosts beyond axes that come later: ghosts are set axis by axis, the last axis \
                          first; bound the index, as `at[0].clamp(0, n - 1)` does";
            return Err(Error::new(ErrorKind::Ghost, self.tried(), found, advice));
        }
        if info.layout.domain().overlaps(&target.all) && !self.own(info).contains_box(read) {
            let found = format!(
                "a read of {}, which reaches {}: ghosts, which are older than the cells of `{name}` that this loop writes",
                cell(),
                box_text(read)
            );
            let advice = format!(
                "read the old values from a second array; or read cells that the region of the tile has: {}",
                box_text(&self.own(info))
            );
            return Err(Error::new(ErrorKind::Race, self.tried(), found, advice));
        }
        if self.reads_ghosts(info, read, &self.own(info)) && !info.tracker.ages.ghosts_fresh() {
            return Err(self.stale(arg));
        }
        Ok(())
    }
}
