//! Sweeps over cells of one colour: cells of the others may be read while these are written.

use crate::grid::GridBox;

/// The cells of one colour: along each of four axes those whose coordinate, divided by `every`, leaves `first`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellColour {
    pub every: [i64; 4],
    pub first: [i64; 4],
    /// Along the last axis it is the sum of all coordinates that leaves `first`.
    pub slanted: bool,
}

impl CellColour {
    /// Whether a row has cells of it: along all axes but the last.
    #[inline(always)]
    pub fn has_row(&self, at: [i64; 4]) -> bool {
        (0..3).all(|d| self.every[d] == 1 || at[d].rem_euclid(self.every[d]) == self.first[d])
    }

    /// How many cells before the first one of this colour lie from this cell on, along its row.
    #[inline(always)]
    pub fn begins(&self, at: [i64; 4]) -> i64 {
        let others = if self.slanted { at[0] + at[1] + at[2] } else { 0 };
        (self.first[3] - others - at[3]).rem_euclid(self.every[3])
    }

    /// Whether a cell has it.
    #[cfg(test)]
    pub fn has(&self, at: [i64; 4]) -> bool {
        self.has_row(at) && self.begins(at) == 0
    }

    /// Whether cells of it have cells of other colours at this distance.
    pub fn differs(&self, by: [i64; 4]) -> bool {
        let along = if self.slanted { by.iter().sum() } else { by[3] };
        (0..3).any(|d| by[d].rem_euclid(self.every[d]) != 0) || along.rem_euclid(self.every[3]) != 0
    }

    /// Where it begins along an axis of a box: the number of the first cell. Of slanted ones that of the first cell
    /// of the box, counted from this one.
    pub fn of_box(&self, cells: &GridBox<4>, axis: usize) -> i64 {
        match self.slanted && axis == 3 {
            true => (cells.lo.iter().sum::<i64>() - self.first[3]).rem_euclid(self.every[3]),
            false => (self.first[axis] - cells.lo[axis]).rem_euclid(self.every[axis]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_one_colour() {
        let sum = |first| CellColour { every: [1, 1, 1, 3], first: [0, 0, 0, first], slanted: true };
        let axes = |a, b| CellColour { every: [1, 1, 2, 3], first: [0, 0, a, b], slanted: false };
        for i in -4..4 {
            for j in -4..5 {
                let at = [0, 0, i, j];
                assert_eq!((0..3).filter(|c| sum(*c).has(at)).collect::<Vec<_>>(), [(i + j).rem_euclid(3)]);
                let found: Vec<_> = [0, 1].iter().flat_map(|a| [0, 1, 2].map(|b| (*a, b))).collect();
                let found: Vec<_> = found.into_iter().filter(|(a, b)| axes(*a, *b).has(at)).collect();
                assert_eq!(found, [(i.rem_euclid(2), j.rem_euclid(3))]);
                for other in [[0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 1, -1], [0, 0, -2, 3], [0, 0, 2, 0], [0, 0, 1, 2]] {
                    let there = [0, 0, i + other[2], j + other[3]];
                    let same = (0..3).any(|c| sum(c).has(at) && sum(c).has(there));
                    assert_eq!(sum(0).differs(other), !same, "{other:?}");
                    let same = (0..6).any(|c| axes(c / 3, c % 3).has(at) && axes(c / 3, c % 3).has(there));
                    assert_eq!(axes(0, 0).differs(other), !same, "{other:?}");
                }
            }
        }
    }

    #[test]
    fn a_colour_begins_somewhere_in_a_box() {
        let colour = CellColour { every: [1, 1, 1, 4], first: [0, 0, 0, 1], slanted: true };
        let cells = GridBox::new([0, 2, 3, 5], [1, 4, 6, 20]);
        // The first cell has the colour 2.
        assert_eq!((colour.begins([0, 2, 3, 5]), colour.of_box(&cells, 3)), (3, 1));
        let colour = CellColour { every: [1, 1, 2, 4], first: [0, 0, 0, 1], slanted: false };
        assert_eq!((colour.of_box(&cells, 2), colour.of_box(&cells, 3), colour.begins([0, 2, 4, 5])), (1, 0, 0));
        assert!(!colour.has_row([0, 2, 3, 5]));
    }
}
