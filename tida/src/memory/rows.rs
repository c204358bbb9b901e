//! Going over the rows of boxes, by all threads.

use tida_kernels::element::ElementType;

use super::coding::{CHUNK, Coding, Values};
use super::element::{Element, Place};
use super::layout::Layout;
use super::parts::PackedBox;
use super::storage::Storage;
use crate::grid::GridBox;
use crate::parallel;

/// Longest piece of a row that is handed out, in elements.
const PIECE: usize = 1 << 16;
/// Elements worth a task of their own.
const GRAIN: usize = 1 << 14;

/// Calls `f` with the start and the length of every row of `cells`, long rows in pieces, on the threads of the pool
/// that it is called in.
pub(crate) fn each_row<const D: usize>(cells: &GridBox<D>, f: &(dyn Fn([i64; D], usize) + Sync)) {
    let rows = cells.row_count();
    if rows == 0 {
        return;
    }
    let length = cells.extent()[D - 1];
    let pieces = length.div_ceil(PIECE);
    let run = |n: usize| {
        let (row, piece) = (n / pieces, n % pieces);
        let mut at = cells.row(row);
        at[D - 1] += (piece * PIECE) as i64;
        f(at, PIECE.min(length - piece * PIECE));
    };
    let at_least = if cells.cells() <= GRAIN { rows * pieces } else { GRAIN / length };
    parallel::each(rows * pieces, at_least, &run);
}

/// Calls `f` with the number of a region and the start and length of a row, for all rows of `cells` in every region
/// that owns a part of them.
pub(crate) fn each_owned_row<const D: usize>(
    layout: &Layout<D>,
    cells: &GridBox<D>,
    f: &(dyn Fn(usize, [i64; D], usize) + Sync),
) {
    let regions: Vec<usize> = layout.owners(cells).collect();
    parallel::each(regions.len(), 1, &|n| {
        let r = regions[n];
        each_row(&layout.regions[r].valid.intersect(cells), &|at, length| f(r, at, length));
    });
}

/// One row of one region.
pub(crate) struct Row<'a> {
    /// How it is coded, if memory holds codes.
    coding: Option<&'a Coding>,
    /// How, if it holds values that are rounded.
    rounds: Option<&'a Coding>,
    element: &'a ElementType,
    base: *mut u8,
    cells: usize,
    position: usize,
    length: usize,
}

impl<'a> Row<'a> {
    /// `length` elements of region `region` from `at` on.
    ///
    /// # Safety
    /// The region's memory holds all of them.
    pub(crate) unsafe fn new<const D: usize>(
        layout: &'a Layout<D>,
        storage: &Storage,
        region: usize,
        at: [i64; D],
        length: usize,
    ) -> Row<'a> {
        let r = &layout.regions[region];
        Row {
            coding: layout.codes(),
            rounds: layout.rounds(),
            element: &layout.element,
            base: storage.base(region),
            cells: r.cells,
            position: r.position(at),
            length,
        }
    }

    /// `length` elements of a part from `at` on, which lies packed from this address on.
    ///
    /// # Safety
    /// All of the part is there, of an array of this layout.
    pub(crate) unsafe fn packed<const D: usize>(
        layout: &'a Layout<D>,
        part: &PackedBox,
        passage: *mut u8,
        at: [i64; D],
        length: usize,
    ) -> Row<'a> {
        Row {
            coding: layout.codes(),
            rounds: layout.rounds(),
            element: &layout.element,
            base: passage.wrapping_add(part.start),
            cells: part.values,
            position: part.position(at),
            length,
        }
    }

    /// Sets element `n` to `value(n)`; gives how many components saturated.
    ///
    /// # Safety
    /// The region is of elements `T`, and no one else accesses the row meanwhile.
    #[inline]
    pub(crate) unsafe fn set<T: Element>(&self, mut value: impl FnMut(usize) -> T) -> u64 {
        if let Some(coding) = self.coding {
            let (mut values, mut saturated) = (Values::<T>::new(), 0);
            for first in (0..self.length).step_by(CHUNK) {
                let n = CHUNK.min(self.length - first);
                for k in 0..n {
                    values.put(k, value(first + k));
                }
                // SAFETY: the row is the caller's; so many values were put.
                saturated += unsafe { self.encode(coding, first, n, values.plane(0)) };
            }
            return saturated;
        }
        for n in 0..self.length {
            let value = value(n);
            // SAFETY: the row lies in the region's memory, and is the caller's.
            unsafe { T::place(self.base, self.cells, self.position + n).store(value) };
        }
        // SAFETY: the row is the caller's.
        self.rounds.map_or(0, |coding| unsafe { self.round(coding) })
    }

    /// Sets the elements from those of a row of an array whose memory holds the same for the same values.
    ///
    /// # Safety
    /// Both are of one element type; no one else accesses this row, or writes the other.
    pub(crate) unsafe fn copy_to(&self, to: &Row<'_>) {
        let n = self.length.min(to.length);
        for (ty, before) in self.element.placed_components() {
            let start = |row: &Row<'_>| row.base.wrapping_add(row.cells * before + row.position * ty.size());
            // SAFETY: both rows lie in their regions' memory, which are those of different arrays.
            unsafe { std::ptr::copy_nonoverlapping(start(self), start(to), n * ty.size()) };
        }
    }

    /// Sets the elements from those of a row of an array of other formats; gives how many components saturated.
    ///
    /// # Safety
    /// As [`Row::set`], and no one writes the other row.
    pub(crate) unsafe fn set_from<T: Element>(&self, from: &Row<'_>) -> u64 {
        let mut values: Vec<T> = Vec::with_capacity(self.length);
        // SAFETY: the caller's promise.
        unsafe {
            from.get::<T>(|_, value| values.push(value));
            self.set::<T>(|n| values[n])
        }
    }

    /// Encodes `n` values, at most [`CHUNK`], from element `first` on; gives how many components saturated. As
    /// [`Row::round`] and [`Row::decode`] it is compiled once, and not for each closure that gives or takes values.
    ///
    /// # Safety
    /// As [`Row::set`]; `values` has a plane of [`CHUNK`] values of each component, of which so many are set.
    #[inline(never)]
    unsafe fn encode(&self, coding: &Coding, first: usize, n: usize, values: *const u8) -> u64 {
        let one = |component| {
            let from = values.wrapping_add(coding.before(component).1 * CHUNK);
            // SAFETY: the row lies in the region's memory; so many values were put.
            unsafe { coding.encode(component, from, self.code(coding, component, first), n) }
        };
        (0..coding.components()).map(one).sum()
    }

    /// Rounds all values; gives how many components saturated.
    ///
    /// # Safety
    /// As [`Row::set`].
    #[inline(never)]
    unsafe fn round(&self, coding: &Coding) -> u64 {
        let one = |component| {
            let plane = self.base.wrapping_add(self.cells * coding.before(component).1);
            let first = plane.wrapping_add(self.position * coding.size(component));
            // SAFETY: the row lies in the region's memory.
            unsafe { coding.round(component, first, self.length) }
        };
        (0..coding.components()).map(one).sum()
    }

    /// Decodes `n` values, at most [`CHUNK`], from element `first` on.
    ///
    /// # Safety
    /// As [`Row::get`]; `values` has a plane of [`CHUNK`] values of each component.
    #[inline(never)]
    unsafe fn decode(&self, coding: &Coding, first: usize, n: usize, values: *mut u8) {
        for component in 0..coding.components() {
            let to = values.wrapping_add(coding.before(component).1 * CHUNK);
            // SAFETY: the row lies in the region's memory, the values have room for so many.
            unsafe { coding.decode(component, self.code(coding, component, first), to, n) };
        }
    }

    /// Where the code of an element's component is.
    fn code(&self, coding: &Coding, component: usize, n: usize) -> *mut u8 {
        let plane = self.base.wrapping_add(self.cells * coding.before(component).0);
        plane.wrapping_add((self.position + n) * coding.code_size(component))
    }

    /// Calls `take(n, element n)`.
    ///
    /// # Safety
    /// The region is of elements `T`, and no one writes the row meanwhile.
    #[inline]
    pub(crate) unsafe fn get<T: Element>(&self, mut take: impl FnMut(usize, T)) {
        if let Some(coding) = self.coding {
            let mut values = Values::<T>::new();
            for first in (0..self.length).step_by(CHUNK) {
                let n = CHUNK.min(self.length - first);
                // SAFETY: no one writes the row; the values have room for so many.
                unsafe { self.decode(coding, first, n, values.plane(0)) };
                for k in 0..n {
                    take(first + k, values.get(k));
                }
            }
            return;
        }
        for n in 0..self.length {
            // SAFETY: the row lies in the region's memory, and no one writes it.
            take(n, unsafe { T::place(self.base, self.cells, self.position + n).load() });
        }
    }
}

/// An address that threads share, each using a part of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared<T>(*mut T);

// SAFETY: only an address; who uses it keeps the threads apart.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// Shares an address.
    pub(crate) fn new(address: *mut T) -> Self {
        Shared(address)
    }

    /// The address.
    pub(crate) fn get(&self) -> *mut T {
        self.0
    }
}
