//! Boxes of cells.

/// A box of cells: all `at` with `lo <= at < hi` on every axis.
///
/// Coordinates are global, in cells. Ghost cells below the domain have negative ones.
///
/// ```
/// use tida::prelude::*;
/// let b = GridBox::new([0, 2], [3, 6]);
/// assert_eq!((b.extent(), b.cells()), ([3, 4], 12));
/// assert!(b.contains([2, 5]) && !b.contains([3, 5]));
/// assert_eq!(b.intersect(&GridBox::new([1, 0], [9, 4])), GridBox::new([1, 2], [3, 4]));
/// assert_eq!(b.grown([1, 1], [1, 1]), GridBox::new([-1, 1], [4, 7]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GridBox<const D: usize> {
    /// First cell on each axis.
    pub lo: [i64; D],
    /// One past the last cell on each axis.
    pub hi: [i64; D],
}

impl<const D: usize> GridBox<D> {
    /// The box `lo..hi`.
    pub fn new(lo: [i64; D], hi: [i64; D]) -> Self {
        GridBox { lo, hi }
    }

    /// Whether it has no cell.
    pub fn is_empty(&self) -> bool {
        (0..D).any(|d| self.hi[d] <= self.lo[d])
    }

    /// Number of cells on each axis; 0 on an axis that is empty.
    pub fn extent(&self) -> [usize; D] {
        std::array::from_fn(|d| self.hi[d].saturating_sub(self.lo[d]).max(0) as usize)
    }

    /// Distances between neighbours along each axis, where the cells lie packed, row by row.
    pub(crate) fn packed_strides(&self) -> [usize; D] {
        let extent = self.extent();
        let mut strides = [1; D];
        (1..D).rev().for_each(|d| strides[d - 1] = strides[d] * extent[d]);
        strides
    }

    /// Number of cells, or `usize::MAX` if there are more.
    pub fn cells(&self) -> usize {
        self.extent().into_iter().fold(1, usize::saturating_mul)
    }

    /// Whether a cell is inside.
    #[inline(always)]
    pub fn contains(&self, at: [i64; D]) -> bool {
        // (No iterator: without optimisation it is many calls for each axis, of each cell that a test looks at. And one
        // branch for all axes: cells that look for themselves do little more than that.)
        let (mut inside, mut d) = (true, 0);
        while d < D {
            inside &= (self.lo[d] <= at[d]) & (at[d] < self.hi[d]);
            d += 1;
        }
        inside
    }

    /// Whether every cell of `other` is inside.
    pub fn contains_box(&self, other: &Self) -> bool {
        other.is_empty() || (0..D).all(|d| self.lo[d] <= other.lo[d] && other.hi[d] <= self.hi[d])
    }

    /// The cells in both.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// let cells = GridBox::new([0, 0], [4, 8]);
    /// let below = GridBox::new([3, -1], [6, 4]);
    /// assert_eq!(cells.intersect(&below), GridBox::new([3, 0], [4, 4]));
    /// assert_eq!(cells.intersect(&below).extent(), [1, 4]);
    /// assert!(cells.overlaps(&below) && !cells.contains_box(&below) && cells.contains([3, 7]));
    /// ```
    pub fn intersect(&self, other: &Self) -> Self {
        GridBox {
            lo: std::array::from_fn(|d| self.lo[d].max(other.lo[d])),
            hi: std::array::from_fn(|d| self.hi[d].min(other.hi[d])),
        }
    }

    /// Whether they share a cell.
    pub fn overlaps(&self, other: &Self) -> bool {
        !self.intersect(other).is_empty()
    }

    /// The box with `low[d]` more cells below and `high[d]` more above on each axis `d`.
    ///
    /// ```
    /// # use tida::prelude::*;
    /// assert_eq!(GridBox::new([0, 0], [4, 8]).grown([1, 0], [2, 3]), GridBox::new([-1, 0], [6, 11]));
    /// ```
    pub fn grown(&self, low: [i64; D], high: [i64; D]) -> Self {
        GridBox {
            lo: std::array::from_fn(|d| self.lo[d].saturating_sub(low[d])),
            hi: std::array::from_fn(|d| self.hi[d].saturating_add(high[d])),
        }
    }

    /// Its cells, in row-major order.
    pub(crate) fn points(self) -> impl Iterator<Item = [i64; D]> {
        let mut next = (!self.is_empty()).then_some(self.lo);
        std::iter::from_fn(move || {
            let at = next?;
            next = self.after(at);
            Some(at)
        })
    }

    /// The first cell of each of its rows, in row-major order.
    pub(crate) fn rows(self) -> impl Iterator<Item = [i64; D]> {
        let mut next = (!self.is_empty()).then_some(self.lo);
        std::iter::from_fn(move || {
            let at = next?;
            next = self.step(at, D - 1);
            Some(at)
        })
    }

    /// The stretches of cells that follow one another both here and in a box around it, each by its first cell and
    /// their number, in row-major order: rows, or more of them where it is as wide as the other box.
    pub(crate) fn stretches(self, of: &Self) -> impl Iterator<Item = ([i64; D], usize)> + use<D> {
        let is_whole = |d: usize| self.lo[d] == of.lo[d] && self.hi[d] == of.hi[d];
        let axis = (1..D).rev().find(|d| !is_whole(*d)).unwrap_or(0);
        let length = self.extent()[axis..].iter().product();
        let mut firsts = self;
        if !self.is_empty() {
            (axis..D).for_each(|d| firsts.hi[d] = firsts.lo[d] + 1);
        }
        firsts.rows().map(move |at| (at, length))
    }

    /// The cell after `at`, in row-major order.
    pub(crate) fn after(&self, at: [i64; D]) -> Option<[i64; D]> {
        self.step(at, D)
    }

    /// The cell after `at`, counting along the first `axes` axes.
    fn step(&self, mut at: [i64; D], axes: usize) -> Option<[i64; D]> {
        for d in (0..axes).rev() {
            at[d] += 1;
            if at[d] < self.hi[d] {
                return Some(at);
            }
            at[d] = self.lo[d];
        }
        None
    }

    /// Number of rows.
    pub(crate) fn row_count(&self) -> usize {
        if self.is_empty() { 0 } else { self.extent()[..D - 1].iter().product() }
    }

    /// The first cell of row `number`.
    pub(crate) fn row(&self, mut number: usize) -> [i64; D] {
        let extent = self.extent();
        let mut at = self.lo;
        for d in (0..D - 1).rev() {
            at[d] += (number % extent[d]) as i64;
            number /= extent[d];
        }
        at
    }

    /// The same cells as a box of four axes: axes of one cell are put in front.
    pub(crate) fn widen(&self) -> GridBox<4> {
        let mut wide = GridBox { lo: [0; 4], hi: [1; 4] };
        for d in 0..D {
            wide.lo[4 - D + d] = self.lo[d];
            wide.hi[4 - D + d] = self.hi[d];
        }
        wide
    }
}

/// The last `D` axes of a box of four.
pub(crate) fn narrow<const D: usize>(cells: &GridBox<4>) -> GridBox<D> {
    GridBox::new(std::array::from_fn(|d| cells.lo[4 - D + d]), std::array::from_fn(|d| cells.hi[4 - D + d]))
}

#[cfg(test)]
mod tests {
    use super::GridBox;

    #[test]
    fn stretches_are_as_long_as_cells_follow_one_another() {
        let all = GridBox::new([0, 0, 0], [4, 5, 6]);
        let of = |lo, hi| GridBox::new(lo, hi).stretches(&all).collect::<Vec<_>>();
        assert_eq!(of([0, 0, 0], [4, 5, 6]), [([0, 0, 0], 120)]);
        assert_eq!(of([1, 0, 0], [3, 5, 6]), [([1, 0, 0], 60)]);
        assert_eq!(of([1, 2, 0], [3, 4, 6]), [([1, 2, 0], 12), ([2, 2, 0], 12)]);
        assert_eq!(of([1, 2, 1], [2, 4, 3]), [([1, 2, 1], 2), ([1, 3, 1], 2)]);
        assert_eq!(of([1, 2, 1], [1, 4, 3]), []);
        // A plane across the last axis is one stretch of itself.
        let plane = GridBox::new([0, 0, 3], [4, 5, 4]);
        assert_eq!(plane.stretches(&plane).collect::<Vec<_>>(), [([0, 0, 3], 20)]);
    }
}
