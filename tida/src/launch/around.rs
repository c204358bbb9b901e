//! What lies around a box of cells, for launches that know it without reading ghosts: native ones, on a device that
//! runs them.

use tida_kernels::element::ElementType;
use tida_kernels::plan::fuse::{Face, Faces};
use tida_kernels::plan::ghosts::Beyond;

use crate::grid::GridBox;
use crate::memory::layout::WideRegion;

/// A box of cells, and what lies beyond its faces, axis by axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around {
    cells: GridBox<4>,
    faces: Faces,
    /// The components that are negated beyond each of these faces that mirrors, as bits.
    negated: [[u64; 2]; 4],
}

/// Memory of a region of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub base: *mut u8,
    pub region: &'a WideRegion,
    /// Bytes from there on.
    pub bytes: usize,
}

impl Source<'_> {
    /// Where so many values of a component of `size` bytes, after `before` bytes of others, start; none if they do not
    /// lie there.
    fn place(&self, at: [i64; 4], count: usize, (size, before): (usize, usize)) -> Option<*mut u8> {
        let position: i64 = (0..4).map(|d| (at[d] - self.region.origin[d]) * self.region.strides[d]).sum();
        let first = usize::try_from(position).ok()?.checked_mul(size)?;
        let first = first + usize::try_from(self.region.cells).ok()? * before;
        (first + count * size <= self.bytes).then(|| self.base.wrapping_add(first))
    }
}

impl Around {
    pub fn new(cells: GridBox<4>, faces: Faces, negated: [[u64; 2]; 4]) -> Around {
        let mut cells = cells;
        for (axis, sides) in faces.iter().enumerate() {
            // The planes of the other end are cells like the others.
            if sides.contains(&Face::Follow) {
                (cells.lo[axis], cells.hi[axis]) = (i64::MIN / 4, i64::MAX / 4);
            }
        }
        Around { cells, faces, negated }
    }

    /// A domain with ghosts that are owed, beyond the last axes.
    pub fn owed(cells: GridBox<4>, faces: &[[Beyond; 2]]) -> Around {
        let mut all = Faces::default();
        let face = |beyond: Beyond| match beyond {
            Beyond { layers: 0, .. } => Face::Memory,
            Beyond { wraps: true, .. } => Face::Wrap,
            Beyond { .. } => Face::Even,
        };
        let skipped = all.len() - faces.len();
        all.iter_mut().skip(skipped).zip(faces).for_each(|(sides, beyond)| *sides = beyond.map(face));
        Around { cells, faces: all, negated: [[0; 2]; 4] }
    }

    /// The place whose value a place has, and whether that is one beyond a face where memory says what is there.
    fn find(&self, at: [i64; 4]) -> ([i64; 4], bool) {
        self.find_along(at, self.faces.len())
    }

    /// The same by what lies beyond faces of so many axes alone.
    fn find_along(&self, mut at: [i64; 4], axes: usize) -> ([i64; 4], bool) {
        let mut held = false;
        for (axis, sides) in self.faces.iter().enumerate().take(axes) {
            let (lo, hi) = (self.cells.lo[axis], self.cells.hi[axis]);
            let face = match at[axis] {
                n if n < lo => sides[0],
                n if n >= hi => sides[1],
                _ => continue,
            };
            let below = at[axis] < lo;
            match face {
                Face::Memory | Face::Constant | Face::Follow => held = true,
                Face::Wrap => at[axis] += if below { hi - lo } else { lo - hi },
                Face::Even => at[axis] = if below { 2 * lo - 1 - at[axis] } else { 2 * hi - 1 - at[axis] },
                Face::Nearest => at[axis] = if below { lo } else { hi - 1 },
            }
        }
        (at, held)
    }

    /// Whether a component of what is at a place is the negated one of what it [is found](Around::find_along) by.
    fn is_negated(&self, at: [i64; 4], axes: usize, part: usize) -> bool {
        let side = |axis: usize| match at[axis] {
            n if n < self.cells.lo[axis] => Some(0),
            n if n >= self.cells.hi[axis] => Some(1),
            _ => None,
        };
        let beyond = (0..axes).filter_map(|axis| Some((axis, side(axis)?)));
        // Beyond a face where memory says what there is it says so beyond those of later axes too.
        let beyond = beyond.take_while(|(axis, side)| !self.faces[*axis][*side].is_held());
        let is = |(axis, side): &(usize, usize)| {
            let mirrors = self.faces[*axis][*side] == Face::Even;
            mirrors && self.negated[*axis][*side] >> part.min(63) & 1 == 1
        };
        beyond.filter(is).count() % 2 == 1
    }

    /// What has to be known of the cells for a box and what lies `reach` around it.
    pub fn needed(&self, of: &GridBox<4>, reach: &[[i64; 2]; 4]) -> GridBox<4> {
        let mut needed = *of;
        for (axis, sides) in self.faces.iter().enumerate() {
            let (lo, hi) = (self.cells.lo[axis], self.cells.hi[axis]);
            let [below, above] = reach[axis];
            let (first, end) = (of.lo[axis] - below, of.hi[axis] + above);
            let (mut low, mut high) = (first.max(lo), end.min(hi));
            if first < lo {
                match sides[0] {
                    Face::Wrap => (low, high) = (lo, hi),
                    Face::Even => high = high.max((2 * lo - first).min(hi)),
                    Face::Nearest => high = high.max(lo + 1),
                    Face::Memory | Face::Constant | Face::Follow => {}
                }
            }
            if end > hi {
                match sides[1] {
                    Face::Wrap => (low, high) = (lo, hi),
                    Face::Even => low = low.min((2 * hi - end).max(lo)),
                    Face::Nearest => low = low.min(hi - 1),
                    Face::Memory | Face::Constant | Face::Follow => {}
                }
            }
            (needed.lo[axis], needed.hi[axis]) = (low, high);
        }
        needed
    }

    /// Fills what lies in a box of `to` beyond faces of axes before this one from what lies there beside the cells of
    /// the domain: ghosts that a kernel has set beyond a face across this axis.
    ///
    /// # Safety
    /// As [`Around::fill`].
    pub unsafe fn fill_beside(&self, to: &Source<'_>, box_of: &GridBox<4>, axis: usize, element: &ElementType) {
        for (part, (ty, before)) in element.placed_components().enumerate() {
            let component = (ty.size(), before);
            for row in box_of.rows() {
                for n in box_of.lo[3]..box_of.hi[3] {
                    let at = [row[0], row[1], row[2], n];
                    let (place, held) = self.find_along(at, axis);
                    let both = to.place(place, 1, component).zip(to.place(at, 1, component));
                    if let Some((from, to)) = both.filter(|_| place != at && !held) {
                        // SAFETY: both places lie in their memory; the rest is the caller's promise.
                        unsafe { std::ptr::copy(from, to, component.0) };
                        if self.is_negated(at, axis, part) {
                            // SAFETY: as above.
                            unsafe { negate(to, 1, component.0) };
                        }
                    }
                }
            }
        }
    }

    /// Fills what lies in a box of `to`: beyond the faces, and its cells too if these have a source. Cells that lie
    /// beyond a face are those of `cells`, or of `to`; `held` has what memory says.
    ///
    /// # Safety
    /// All memory is there for values of this type, no one writes what is read, and no one else touches what is
    /// written.
    pub unsafe fn fill(
        &self,
        to: &Source<'_>,
        box_of: &GridBox<4>,
        (cells, held): (Option<&Source<'_>>, &Source<'_>),
        element: &ElementType,
    ) {
        let copy = |at: [i64; 4], count: usize, (part, component): (usize, (usize, usize))| {
            let (place, is_held) = self.find(at);
            let from = if is_held { held } else { cells.unwrap_or(to) };
            let both = from.place(place, count, component).zip(to.place(at, count, component));
            if let Some((from, to)) = both {
                // SAFETY: both places lie in their memory; the rest is the caller's promise.
                unsafe { std::ptr::copy(from, to, count * component.0) };
                if self.is_negated(at, self.faces.len(), part) {
                    // SAFETY: as above.
                    unsafe { negate(to, count, component.0) };
                }
            }
        };
        for (part, (ty, before)) in element.placed_components().enumerate() {
            let component = (part, (ty.size(), before));
            for row in box_of.rows() {
                let (lo, hi) = (self.cells.lo[3].max(box_of.lo[3]), self.cells.hi[3].min(box_of.hi[3]));
                let at = |n: i64| [row[0], row[1], row[2], n];
                let is_beyond = (0..3).any(|axis| row[axis] < self.cells.lo[axis] || row[axis] >= self.cells.hi[axis]);
                let (lo, hi) = if lo < hi { (lo, hi) } else { (box_of.hi[3], box_of.hi[3]) };
                (box_of.lo[3]..lo).chain(hi..box_of.hi[3]).for_each(|n| copy(at(n), 1, component));
                if lo < hi && (is_beyond || cells.is_some()) {
                    copy(at(lo), (hi - lo) as usize, component);
                }
            }
        }
    }
}

/// Negates so many floating-point numbers of `size` bytes, whose sign is their last bit.
///
/// # Safety
/// They are there, and no one else touches them.
unsafe fn negate(first: *mut u8, count: usize, size: usize) {
    for number in 0..count {
        // SAFETY: the caller's promise.
        unsafe { *first.add(number * size + size - 1) ^= 0x80 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faces(first: [Face; 2], last: [Face; 2]) -> Faces {
        let mut faces = Faces::default();
        (faces[2], faces[3]) = (first, last);
        faces
    }

    /// Cells 0 to 3 and 0 to 7 along the last two axes.
    fn cells() -> GridBox<4> {
        GridBox::new([0; 4], [1, 1, 4, 8])
    }

    #[test]
    fn a_place_beyond_faces_is_found_axis_by_axis() {
        let around = Around::new(cells(), faces([Face::Wrap; 2], [Face::Even, Face::Nearest]), [[0; 2]; 4]);
        let find = |at: [i64; 2]| {
            let (place, held) = around.find([0, 0, at[0], at[1]]);
            ([place[2], place[3]], held)
        };
        assert_eq!(find([2, 3]), ([2, 3], false));
        assert_eq!(find([-1, 3]), ([3, 3], false));
        assert_eq!(find([5, 3]), ([1, 3], false));
        assert_eq!(find([0, -2]), ([0, 1], false));
        assert_eq!(find([-2, 9]), ([2, 7], false));
        let held = Around::new(cells(), faces([Face::Wrap; 2], [Face::Memory, Face::Constant]), [[0; 2]; 4]);
        assert_eq!(held.find([0, 0, -1, 8]), ([0, 0, 3, 8], true));
    }

    #[test]
    fn planes_of_the_other_end_that_follow_are_cells() {
        let around = Around::new(cells(), faces([Face::Follow; 2], [Face::Memory; 2]), [[0; 2]; 4]);
        assert_eq!(around.find([0, 0, -3, 2]), ([0, 0, -3, 2], false));
        let needed = around.needed(&GridBox::new([0, 0, 3, 0], [1, 1, 6, 8]), &[[0; 2], [0; 2], [1, 2], [1, 1]]);
        assert_eq!(needed, GridBox::new([0, 0, 2, 0], [1, 1, 8, 8]));
    }

    #[test]
    fn what_a_step_needs_is_cells_of_the_box() {
        let part = GridBox::new([0, 0, 0, 0], [1, 1, 1, 8]);
        let reach = [[0; 2], [0; 2], [2, 0], [1, 1]];
        let needed =
            |first| Around::new(cells(), faces([first; 2], [Face::Memory; 2]), [[0; 2]; 4]).needed(&part, &reach);
        // Beyond the face memory knows, or the other end, or cells as far inside, which no read reaches by itself.
        assert_eq!(needed(Face::Memory), part);
        assert_eq!(needed(Face::Wrap), cells());
        assert_eq!(needed(Face::Even), GridBox::new([0; 4], [1, 1, 2, 8]));
        assert_eq!(needed(Face::Nearest), part);
    }

    #[test]
    fn ghosts_that_are_owed_are_those_beyond_the_last_axes() {
        let wraps = Beyond { layers: 1, wraps: true };
        let mirrors = Beyond { layers: 2, wraps: false };
        let around = Around::owed(cells(), &[[wraps; 2], [Beyond::default(), mirrors]]);
        assert_eq!(around.faces, faces([Face::Wrap; 2], [Face::Memory, Face::Even]));
    }
}
