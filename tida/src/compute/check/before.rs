//! Kernels that run in order along an axis: of what they write they may read cells before their own, on their own line.

use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::analysis::ArrayAccess;

use super::{Launching, Line, box_text};
use crate::compute::args::TiledInfo;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::launch::prepare::{ArgPlan, cell_text};
use crate::memory::tracker::{BoxTouch, Tracker};
use crate::program::order::Carry;

/// Has all arrays that are written read as many planes before the cells: they are carried together.
pub(super) fn reach_alike(touches: &mut [BoxTouch], before: &GridBox<4>) {
    let written: SmallVec<[Arc<Tracker>; 4]> =
        touches.iter().filter(|touch| touch.write.is_some()).map(|touch| touch.tracker.clone()).collect();
    for touch in touches.iter_mut().filter(|touch| touch.write.is_none()) {
        if written.iter().any(|tracker| Arc::ptr_eq(tracker, &touch.tracker)) {
            touch.read = touch.tracker.boxes().get(touch.region).map(|all| all.intersect(before));
        }
    }
}

impl<const D: usize> Launching<'_, D> {
    /// What is read of an array before the cells of it that are written, on the same lines.
    ///
    /// # Errors
    /// A read that leaves the line, or is not of a cell before; one beyond what the array has there, or of ghosts that
    /// were older than the cells; regions that are thinner than what is read.
    pub(super) fn before_writes(
        &mut self,
        arg: usize,
        info: &TiledInfo<'_, D>,
        plan: &ArgPlan,
        (own, line): (&BoxTouch, &Line),
    ) -> Result<Vec<BoxTouch>, Error> {
        let cells = self.target.cells;
        if cells.is_empty() {
            return Ok(Vec::new());
        }
        let mut planes = 0;
        let mut conditional = true;
        for &number in &plan.others {
            let access = &self.prepared.analysis.args[arg].accesses[number];
            if self.range_box(access).is_some_and(|read| read.is_empty()) {
                continue;
            }
            planes = planes.max(self.before(arg, access, line)?);
            conditional &= access.conditional || self.prepared.analysis.is_told(access);
        }
        if planes == 0 {
            return Ok(Vec::new());
        }
        let order = line.order::<D>();
        let before: GridBox<D> = crate::grid::narrow(&order.before(&cells.widen(), planes));
        let held = &info.layout.regions[self.target.region];
        let axis = line.axis;
        let reach = if line.backward { (1, planes) } else { (-planes, -1) };
        let along = |of: usize| if axis == of { reach } else { (0, 0) };
        let touch = |region: usize, read: GridBox<D>| BoxTouch {
            region,
            read: Some(read.widen()),
            write: None,
            // Planes stream upwards.
            around: (axis > 0 || !line.backward).then(|| along(0)),
            across: (D > 1).then(|| along(1)),
            ..own.clone()
        };
        let mut touches = vec![touch(self.target.region, before.intersect(&held.valid))];
        touches.retain(|touch| touch.read.is_some_and(|read| !read.is_empty()));
        let own = self.own(info);
        let (outside, at_end) = match line.backward {
            false => (before.lo[axis] < own.lo[axis], own.lo[axis] <= 0),
            true => (before.hi[axis] > own.hi[axis], own.hi[axis] >= info.layout.shape[axis] as i64),
        };
        let is_border = info.layout.is_at_border(&held.valid, axis, usize::from(line.backward));
        // There the place before has given its cells: as ghosts, or as cells.
        let at_border = is_border && !at_end;
        let has = match is_border && !info.layout.has_bare_borders() {
            true if at_border => held.valid,
            true => info.layout.own_grown(self.target.region),
            false => held.grown,
        };
        if info.layout.cuts.at[axis].len() > 2 {
            // Regions are numbered row-major.
            let regions: isize = info.layout.cuts.at[axis + 1..].iter().map(|at| at.len() as isize - 1).product();
            let step = if line.backward { -regions } else { regions };
            self.carry = Some(Carry { step, planes: planes.max(self.carry.map_or(0, |carry| carry.planes)) });
        }
        if !outside {
            return Ok(touches);
        }
        if let (false, Some(carry)) = (at_end || at_border, self.carry) {
            let near = carry.before(self.target.region).map(|near| (near, &info.layout.regions[near].valid));
            let Some((near, valid)) = near else { return Ok(touches) };
            let read = before.intersect(valid);
            let both = read.cells() + before.intersect(&held.valid).cells();
            if both < before.cells() {
                return Err(self.too_thin(arg, planes, axis, valid));
            }
            touches.push(BoxTouch { carried: true, ..touch(near, read) });
            return Ok(touches);
        }
        if !has.contains_box(&before) {
            if !conditional || is_border {
                return Err(self.too_narrow(arg, info, &before, &has));
            }
            // What the condition keeps cells from is checked as they run.
            self.run_checked = true;
            self.unproven = self.unproven.or(plan.others.first().map(|number| (arg, *number)));
        }
        let reads_ghosts = self.reads_ghosts(info, &before.intersect(&has), &own);
        if reads_ghosts && !at_border && line.fresh & (1 << arg) == 0 {
            return Err(self.stale(arg));
        }
        touches.push(touch(self.target.region, before.intersect(&held.grown)));
        touches.retain(|touch| touch.read.is_some_and(|read| !read.is_empty()));
        Ok(touches)
    }

    /// How many planes before a cell an access reads, at most.
    fn before(&self, arg: usize, access: &ArrayAccess, line: &Line) -> Result<i64, Error> {
        let stays = |d: usize| d == line.axis || self.reach(access, d) == Some((0, 0));
        let reach = self.reach(access, line.axis).filter(|_| (0..D).all(stays));
        let planes = reach.and_then(|(lo, hi)| match line.backward {
            false => (hi < 0).then(|| lo.checked_neg())?,
            true => (lo > 0).then_some(hi),
        });
        // No array is as long as that.
        planes.filter(|planes| *planes <= 1 << 40).ok_or_else(|| {
            let (analysis, kernel) = (&self.prepared.analysis, &self.prepared.kernel);
            let name = self.name(arg);
            let (sign, way) = if line.backward { ('+', "backward") } else { ('-', "forward") };
            let mut step = [0; D];
            step[line.axis] = 1;
            Error::new(
                ErrorKind::Race,
                format!("compute the kernel at {}:{}:{} {way} along axis {}", kernel.file, access.span.line, access.span.column, line.axis),
                format!(
                    "a read of {} while the kernel writes `{name}`: not of a cell before its own, on its own line along that axis",
                    cell_text(analysis, kernel, name, access)
                ),
                format!(
                    "read `{name}[at]`, or `{name}[at {sign} {step:?}]` and such further back by a distance that is the \
                     same for all cells; read other values from a second array"
                ),
            )
        })
    }

    fn too_thin(&self, arg: usize, planes: i64, axis: usize, near: &GridBox<D>) -> Error {
        Error::new(
            ErrorKind::Cuts,
            self.tried(),
            format!(
                "a read of `{}` {planes} cells before the cell, where the region before has {} along axis {axis}: {}",
                self.name(arg),
                near.hi[axis] - near.lo[axis],
                box_text(near)
            ),
            format!("cut the array into regions of at least {planes} cells along axis {axis}"),
        )
    }
}
