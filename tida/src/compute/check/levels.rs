//! Arrays with the tile's cuts, and arrays of half or double the resolution beside them.

use super::{Launching, cuts_text};
use crate::compute::args::TiledInfo;
use crate::compute::levels::Level;
use crate::error::{Error, ErrorKind};
use crate::launch::prepare::{ArgPlan, cell_text};
use crate::program::schedule::Scale;

impl<const D: usize> Launching<'_, D> {
    /// Checks that the regions of an argument go with those of the tile's array.
    ///
    /// # Errors
    /// Other cuts.
    pub(super) fn cuts(&self, arg: usize, info: &TiledInfo<'_, D>, plan: &ArgPlan) -> Result<(), Error> {
        let (tile, argument) = (&self.target.layout.cuts, &info.layout.cuts);
        if let Some(level) = info.level {
            if !level.fits(tile, argument) {
                return Err(self.unlike(arg, info, Some(level)));
            }
            return self.by_own_coordinates(arg, level, plan);
        }
        match std::sync::Arc::ptr_eq(tile, argument) || tile == argument {
            true => Ok(()),
            false => Err(self.unlike(arg, info, None)),
        }
    }

    /// The error of cuts that do not go together.
    fn unlike(&self, arg: usize, info: &TiledInfo<'_, D>, level: Option<Level>) -> Error {
        let (name, layout) = (self.name(arg), self.target.layout);
        let twice = |of: &str| {
            format!(
                "cut both into as many regions along each axis, {of}; or `copy_from` it into an array that is cut so; a \
                 whole array of any cuts can be read as `all(&{name})`"
            )
        };
        let (how, advice) = match level {
            None => (
                "cut into regions unlike the array of the tile".into(),
                "build it with `like()` or the same `.regions(..)`, or `copy_from` it into an array that is; a whole array \
                 of any cuts can be read as `all(&a)`"
                    .into(),
            ),
            Some(Level::Coarse) => (
                "not cut at half of where the array of the tile is (`coarse`)".to_string(),
                twice("the array of the tile at twice as many cells"),
            ),
            Some(Level::Fine) => (
                "not cut at twice where the array of the tile is (`fine`)".to_string(),
                twice("the array of the tile at half as many cells"),
            ),
        };
        let found = format!("that `{name}` is {how}: {} against {}", cuts_text(info.layout), cuts_text(layout));
        Error::new(ErrorKind::Cuts, self.tried(), found, advice)
    }

    /// The first and the last plane that are read around the one that lies beside each plane of the tile, if that is
    /// known: the index moves along with the cell, and with nothing else.
    pub(super) fn beside(&self, arg: usize, plan: &ArgPlan, scale: Scale) -> Option<(i64, i64)> {
        let (cells, analysis) = (&self.target.cells, &self.prepared.analysis);
        let (by, moved) = scale.steps();
        let mut beside: Option<(i64, i64)> = None;
        for &number in &plan.others {
            let access = &analysis.args[arg].accesses[number];
            let moves = analysis.moves_by(access, (0, by), (&cells.lo, &cells.hi), self.integers)?;
            let (first, others) = moves.split_first()?;
            if *first != moved || others.iter().any(|moved| *moved != 0) {
                return None;
            }
            // What is so of as many planes as come back is so of all.
            for plane in (cells.lo[0]..cells.hi[0]).take(by as usize) {
                let (mut lo, mut hi) = (cells.lo, cells.hi);
                (lo[0], hi[0]) = (plane, plane + 1);
                let range = analysis.range(access, &lo, &hi, self.integers)?;
                let along = range.first().filter(|along| !along.is_empty())?;
                let here = (along.lo.checked_sub(scale.beside(plane))?, along.hi.checked_sub(scale.beside(plane))?);
                beside = Some(beside.map_or(here, |(lo, hi)| (lo.min(here.0), hi.max(here.1))));
            }
        }
        Some(beside.unwrap_or((0, 0)))
    }

    /// Checks that no read of another resolution takes the cell's own coordinates for those of the argument.
    ///
    /// # Errors
    /// A read at `at` plus constants.
    fn by_own_coordinates(&self, arg: usize, level: Level, plan: &ArgPlan) -> Result<(), Error> {
        if plan.halo.is_none() {
            return Ok(());
        }
        let (name, kernel) = (self.name(arg), &self.prepared.kernel);
        let analysis = &self.prepared.analysis;
        let read = analysis.args[arg].accesses.first();
        let cell = read.map_or_else(String::new, |read| cell_text(analysis, kernel, name, read));
        let index = match level {
            Level::Coarse => "at[0] / 2",
            Level::Fine => "2 * at[0]",
        };
        Err(Error::new(
            ErrorKind::Argument,
            self.tried(),
            format!(
                "a read of {cell}, whose index is the cell's own, of an argument that is passed as `{}`",
                level.name()
            ),
            format!("index it by its own coordinates, as in `{name}[[{index}, ..]]`"),
        ))
    }
}
