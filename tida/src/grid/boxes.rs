//! Sets of cells as short lists of boxes.

use smallvec::SmallVec;

use super::GridBox;

/// Boxes past which a list falls back to their bounding box.
const MANY: usize = 32;

/// A set of cells. Boxes that arrive in row-major order merge into few; past [`MANY`] the list becomes its bounding
/// box, so the set may grow beyond what was added, never shrink.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoxList {
    boxes: SmallVec<[GridBox<4>; 1]>,
    /// It holds more than was added.
    bound: bool,
}

impl BoxList {
    /// Adds the cells of a box.
    pub fn add(&mut self, cells: GridBox<4>) {
        if cells.is_empty() {
            return;
        }
        let mut cells = cells;
        while let Some(last) = self.boxes.last() {
            match union(last, &cells) {
                Some(merged) => {
                    cells = merged;
                    self.boxes.pop();
                }
                None => break,
            }
        }
        self.boxes.push(cells);
        if self.boxes.len() > MANY {
            let bound = self.boxes.iter().skip(1).fold(self.boxes[0], |a, b| bound(&a, b));
            self.boxes.clear();
            self.boxes.push(bound);
            self.bound = true;
        }
    }

    /// Whether it has no cells.
    pub fn is_empty(&self) -> bool {
        self.boxes.is_empty()
    }

    /// Boxes that hold the set.
    pub fn boxes(&self) -> &[GridBox<4>] {
        &self.boxes
    }

    /// Whether any cell of the box may be in the set.
    pub fn overlaps(&self, cells: &GridBox<4>) -> bool {
        self.boxes.iter().any(|b| b.overlaps(cells))
    }

    /// Whether all cells of the set are inside the box.
    pub fn is_inside(&self, cells: &GridBox<4>) -> bool {
        self.boxes.iter().all(|b| cells.contains_box(b))
    }

    /// Whether one box of what was added holds all cells of this one.
    pub fn has(&self, cells: &GridBox<4>) -> bool {
        !self.bound && self.boxes.iter().any(|b| b.contains_box(cells))
    }

    /// Whether one box of what was added holds all of `other`.
    pub fn covers(&self, other: &BoxList) -> bool {
        !self.bound && self.boxes.iter().any(|b| other.is_inside(b))
    }
}

/// The union, if it is a box.
pub(crate) fn union(a: &GridBox<4>, b: &GridBox<4>) -> Option<GridBox<4>> {
    if a.contains_box(b) {
        return Some(*a);
    }
    if b.contains_box(a) {
        return Some(*b);
    }
    let mut differing = None;
    for d in 0..4 {
        if a.lo[d] != b.lo[d] || a.hi[d] != b.hi[d] {
            if differing.is_some() {
                return None;
            }
            differing = Some(d);
        }
    }
    let d = differing?;
    (a.lo[d] <= b.hi[d] && b.lo[d] <= a.hi[d]).then(|| bound(a, b))
}

fn bound(a: &GridBox<4>, b: &GridBox<4>) -> GridBox<4> {
    GridBox { lo: std::array::from_fn(|d| a.lo[d].min(b.lo[d])), hi: std::array::from_fn(|d| a.hi[d].max(b.hi[d])) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_in_row_major_order_merge_into_one_box() {
        let mut list = BoxList::default();
        for k in 0..4 {
            for j in 0..4 {
                for i in 0..4 {
                    let lo = [0, k * 16, j * 16, i * 16];
                    list.add(GridBox::new(lo, [1, lo[1] + 16, lo[2] + 16, lo[3] + 16]));
                }
            }
            assert!(list.boxes.len() <= 2, "{list:?}");
        }
        assert_eq!(list.boxes.as_slice(), [GridBox::new([0; 4], [1, 64, 64, 64])]);
    }

    #[test]
    fn scattered_boxes_fall_back_to_their_bound() {
        let mut list = BoxList::default();
        for i in 0..40 {
            let c = [i * 3; 4];
            list.add(GridBox::new(c, c.map(|x| x + 1)));
        }
        assert!(list.boxes.len() <= MANY);
        assert!(list.overlaps(&GridBox::new([0; 4], [1; 4])));
        assert!(list.overlaps(&GridBox::new([117; 4], [118; 4])));
    }
}
