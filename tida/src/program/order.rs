//! Sweeps with an order: each cell may read cells before it on its own line along one axis, which the same sweep has
//! written. Lines are never cut; where regions follow one another along the axis, the last cells of one are carried to
//! the next as values.

use crate::grid::GridBox;

/// How a sweep runs along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// The axis, of four.
    pub axis: usize,
    /// From the last cell of each line to the first.
    pub backward: bool,
}

impl Order {
    /// The planes that lie right before a box, so many of them.
    pub fn before(&self, cells: &GridBox<4>, planes: i64) -> GridBox<4> {
        let mut before = *cells;
        (before.lo[self.axis], before.hi[self.axis]) = match self.backward {
            false => (cells.lo[self.axis] - planes, cells.lo[self.axis]),
            true => (cells.hi[self.axis], cells.hi[self.axis] + planes),
        };
        before
    }

    /// The first planes of a box, so many of them at most, and those that come after.
    pub fn parted(&self, cells: &GridBox<4>, planes: i64) -> (GridBox<4>, GridBox<4>) {
        let (mut head, mut rest) = (*cells, *cells);
        let (lo, hi) = (cells.lo[self.axis], cells.hi[self.axis]);
        match self.backward {
            false => {
                let end = (lo + planes).min(hi);
                (head.hi[self.axis], rest.lo[self.axis]) = (end, end);
            }
            true => {
                let end = (hi - planes).max(lo);
                (head.lo[self.axis], rest.hi[self.axis]) = (end, end);
            }
        }
        (head, rest)
    }

    /// The plane that a box starts with: boxes with the same one may run together, and one that starts later runs
    /// later.
    pub fn start(&self, cells: &GridBox<4>) -> i64 {
        if self.backward { -cells.hi[self.axis] } else { cells.lo[self.axis] }
    }

    /// Boxes of regions as they run: those that may run together, and then those that come after them.
    pub fn layers(&self, boxes: &[(usize, GridBox<4>)]) -> Vec<Vec<(usize, GridBox<4>)>> {
        let mut sorted = boxes.to_vec();
        sorted.sort_by_key(|(_, cells)| self.start(cells));
        sorted.chunk_by(|(_, a), (_, b)| self.start(a) == self.start(b)).map(<[_]>::to_vec).collect()
    }
}

/// What is carried to the first planes of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carry {
    /// How far the region before lies, in numbers of regions.
    pub step: isize,
    /// Planes that a cell reads before it, at most.
    pub planes: i64,
}

impl Carry {
    /// The number of the region that comes before one, if one does: else of none that has cells before its own.
    pub fn before(&self, region: usize) -> Option<usize> {
        region.checked_add_signed(-self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(order: Order, lo: i64, hi: i64, planes: i64) -> String {
        let cells = GridBox::new([0, 0, lo, 3], [1, 1, hi, 9]);
        let (head, rest) = order.parted(&cells, planes);
        let along = |b: GridBox<4>| {
            assert_eq!((b.lo[3], b.hi[3], b.lo[0], b.hi[0]), (3, 9, 0, 1));
            format!("{}..{}", b.lo[2], b.hi[2])
        };
        format!("{} | {} {}", along(order.before(&cells, planes)), along(head), along(rest))
    }

    #[test]
    fn the_first_planes_of_a_box_come_after_what_is_carried_to_them() {
        let (forward, backward) = (Order { axis: 2, backward: false }, Order { axis: 2, backward: true });
        assert_eq!(text(forward, 4, 10, 2), "2..4 | 4..6 6..10");
        assert_eq!(text(backward, 4, 10, 2), "10..12 | 8..10 4..8");
        // A box that is no thicker has no rest.
        assert_eq!(text(forward, 4, 6, 3), "1..4 | 4..6 6..6");
        assert_eq!(text(backward, 4, 6, 3), "6..9 | 4..6 4..4");
    }

    #[test]
    fn boxes_start_in_the_order_in_which_they_run() {
        let (first, second) = (GridBox::new([0, 0, 0, 0], [1, 1, 4, 8]), GridBox::new([0, 0, 4, 0], [1, 1, 8, 8]));
        let (forward, backward) = (Order { axis: 2, backward: false }, Order { axis: 2, backward: true });
        let beside = (2, GridBox::new([0, 0, 0, 8], [1, 1, 4, 9]));
        let boxes = [(1, second), (0, first), beside];
        assert_eq!(forward.layers(&boxes), [vec![(0, first), beside], vec![(1, second)]]);
        assert_eq!(backward.layers(&boxes), [vec![(1, second)], vec![(0, first), beside]]);
        let carry = |step| Carry { step, planes: 1 };
        assert_eq!((carry(3).before(5), carry(-3).before(5), carry(3).before(2)), (Some(2), Some(8), None));
    }
}
