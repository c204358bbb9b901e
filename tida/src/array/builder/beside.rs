//! Cuts of an array beside one of another resolution.

use std::sync::Arc;

use super::spec::Spec;
use crate::array::TileArray;
use crate::error::{Error, ErrorKind};
use crate::memory::element::Element;
use crate::memory::layout::Cuts;

/// Where an array is cut that others are to lie beside.
#[derive(Clone, Debug)]
pub(super) struct Beside<const D: usize> {
    cuts: Arc<Cuts<D>>,
    /// The first layer of regions of each place, if it lies on several.
    firsts: Option<Vec<usize>>,
}

impl<const D: usize> Beside<D> {
    pub fn of<T: Element>(other: &TileArray<T, D>) -> Self {
        let cuts = other.layout.cuts.clone();
        let of_layer = other.regions() / cuts.regions()[0].max(1);
        let placed = other.placed.as_ref().filter(|placed| !placed.everywhere);
        let firsts = placed.map(|placed| placed.parts.iter().map(|part| part.first / of_layer.max(1)).collect());
        Beside { cuts, firsts }
    }
}

/// What one array has of another's cells along an axis.
enum Scale {
    Same,
    Half,
    Double,
}

impl Scale {
    fn of(cells: usize, other: usize) -> Option<Scale> {
        let is_double = |fine: usize, coarse: usize| fine.abs_diff(2 * coarse) <= 2;
        match () {
            () if cells == other => Some(Scale::Same),
            () if is_double(cells, other) => Some(Scale::Double),
            () if is_double(other, cells) => Some(Scale::Half),
            () => None,
        }
    }

    /// Where a cut of the other array is in this one: node `2 * i` of the finer array is on the place of node `i`.
    fn cut(&self, at: i64) -> i64 {
        match self {
            Scale::Same => at,
            Scale::Half => (at + 1) / 2,
            Scale::Double => 2 * at,
        }
    }
}

impl<const D: usize> Spec<D> {
    /// The cuts of an array beside another, and the cells of the first axis that each place has, if there are several.
    ///
    /// # Errors
    /// Arrays of which none has half the cells of the other; regions without cells, and cuts that fall elsewhere than
    /// on multiples.
    pub fn cuts_beside(&self, other: &Beside<D>) -> Result<(Cuts<D>, Option<Vec<usize>>), Error> {
        // What is wrong with the shape itself.
        self.cuts()?;
        let mut at: [Vec<i64>; D] = std::array::from_fn(|_| Vec::new());
        for (axis, cuts) in at.iter_mut().enumerate() {
            let (cells, others) = (self.cells[axis], other.cuts.cells[axis]);
            let scale = Scale::of(cells, others).ok_or_else(|| {
                let found = format!("{cells} cells on axis {axis}, beside an array of {others} (`.cut_beside(..)`)");
                let advice = "give it as many cells as the other array has, half or twice as many, or one or two more or \
                              fewer";
                self.error(ErrorKind::Cuts, found, advice)
            })?;
            let inner = other.cuts.at[axis].iter().skip(1).rev().skip(1).rev();
            cuts.push(0);
            cuts.extend(inner.map(|at| scale.cut(*at)));
            cuts.push(cells as i64);
            self.check_beside(axis, cuts)?;
        }
        let cells = other.firsts.as_ref().map(|firsts| {
            let last = at[0].len() - 1;
            let ends = firsts.iter().skip(1).copied().chain([last]);
            firsts.iter().zip(ends).map(|(first, end)| (at[0][end] - at[0][*first]) as usize).collect()
        });
        Ok((Cuts { cells: self.cells, at }, cells))
    }

    fn check_beside(&self, axis: usize, cuts: &[i64]) -> Result<(), Error> {
        let unit = self.unit(axis) as i64;
        if let Some(empty) = cuts.windows(2).find(|cut| cut[0] >= cut[1]) {
            let found = format!("a region without cells on axis {axis}, at {} (`.cut_beside(..)`)", empty[0]);
            let advice =
                "cut it otherwise, as by `.regions_at_most(..)`, and `copy_from` it into an array that lies beside";
            return Err(self.error(ErrorKind::Cuts, found, advice));
        }
        let inner = &cuts[1..cuts.len() - 1];
        if let Some(cut) = inner.iter().find(|cut| **cut % unit != 0) {
            let found =
                format!("a cut at {cut} on axis {axis}, which is cut at multiples of {unit} (`.cut_beside(..)`)");
            let advice = format!(
                "cut the other array at multiples of {} cells along that axis (`.cut_at_multiples(..)`), or not along it",
                2 * unit
            );
            return Err(self.error(ErrorKind::Cuts, found, advice));
        }
        Ok(())
    }
}
