//! Kernels that run over cells of one colour: of what they write they may read cells of the others.

use tida_kernels::analysis::ArrayAccess;

use super::{Launching, OneColour};
use crate::compute::args::TiledInfo;
use crate::error::{Error, ErrorKind};
use crate::launch::prepare::{ArgPlan, cell_text};
use crate::memory::tracker::BoxTouch;
use crate::program::colour::CellColour;

/// Cells that a read with an index of a range may be of, at most, to be looked at one by one.
const MOST: i64 = 1 << 12;

impl<const D: usize> Launching<'_, D> {
    /// What is read of an array beside the cells of it that are written: cells of other colours.
    ///
    /// # Errors
    /// A read of what may be a cell of the same colour; one beyond what the region has, or of ghosts that were older
    /// than the cells.
    pub(super) fn other_colours(
        &mut self,
        arg: usize,
        info: &TiledInfo<'_, D>,
        plan: &ArgPlan,
        (own, one): (&BoxTouch, &OneColour),
    ) -> Result<Vec<BoxTouch>, Error> {
        let held = &info.layout.regions[self.target.region];
        let mut touches = Vec::new();
        for &number in &plan.others {
            let access = &self.prepared.analysis.args[arg].accesses[number];
            let range = self.range_box(access);
            if self.target.cells.is_empty() || range.is_some_and(|read| read.is_empty()) {
                continue;
            }
            let near = self.near(access).filter(|near| differ(near, &one.colour));
            let (Some(near), Some(read)) = (near, range) else { return Err(self.same_colour(arg, access, one)) };
            if !held.grown.contains_box(&read) {
                if !(access.conditional || self.prepared.analysis.is_told(access)) {
                    return Err(self.too_narrow(arg, info, &read, &held.grown));
                }
                // What the condition keeps cells from is checked as they run.
                self.run_checked = true;
                self.unproven = self.unproven.or(Some((arg, number)));
            }
            let read = read.intersect(&held.grown);
            if self.reads_ghosts(info, &read, &self.own(info)) && one.fresh & (1 << arg) == 0 {
                return Err(self.stale(arg));
            }
            touches.push(BoxTouch {
                read: Some(read.widen()),
                write: None,
                around: Some(near[0]),
                across: (D > 1).then(|| near[1.min(D - 1)]),
                ..own.clone()
            });
        }
        Ok(touches)
    }

    /// The distances from the cell to what an access reads, along each axis, if they are the same for all cells.
    fn near(&self, access: &ArrayAccess) -> Option<[(i64, i64); D]> {
        let mut near = [(0, 0); D];
        for (axis, near) in near.iter_mut().enumerate() {
            *near = self.reach(access, axis)?;
        }
        Some(near)
    }

    fn same_colour(&self, arg: usize, access: &ArrayAccess, one: &OneColour) -> Error {
        let (analysis, kernel) = (&self.prepared.analysis, &self.prepared.kernel);
        let name = self.name(arg);
        let CellColour { every, slanted, .. } = one.colour;
        let colours = match slanted {
            true => format!("the sum of the coordinates, modulo {}", every[3]),
            false => format!("the coordinates, modulo {:?}", &every[4 - D..]),
        };
        Error::new(
            ErrorKind::Race,
            format!(
                "compute the kernel at {}:{}:{} for one colour of cells",
                kernel.file, access.span.line, access.span.column
            ),
            format!(
                "a read of {} while the kernel writes `{name}`: it may be a cell of the same colour (colours are {colours})",
                cell_text(analysis, kernel, name, access)
            ),
            format!(
                "read `{name}[at]`, or `{name}` at distances from `at` that are the same for all cells and lead to other \
                 colours; take more colours; or read other values from a second array"
            ),
        )
    }
}

/// Whether all cells at these distances have another colour, or are the cell itself.
fn differ<const D: usize>(near: &[(i64, i64); D], colour: &CellColour) -> bool {
    let count = near.iter().try_fold(1i64, |count, (lo, hi)| count.checked_mul(hi.checked_sub(*lo)?.checked_add(1)?));
    if !count.is_some_and(|count| (1..=MOST).contains(&count)) {
        return false;
    }
    let mut by = near.map(|(lo, _)| lo);
    loop {
        let wide = std::array::from_fn(|d| (d + D).checked_sub(4).map_or(0, |axis| by[axis]));
        if by != [0; D] && !colour.differs(wide) {
            return false;
        }
        let Some(axis) = (0..D).rev().find(|axis| by[*axis] < near[*axis].1) else { return true };
        by[axis] += 1;
        (axis + 1..D).for_each(|after| by[after] = near[after].0);
    }
}
