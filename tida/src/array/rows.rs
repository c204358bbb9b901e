//! Going over the rows of boxes, by all threads.

use rayon::prelude::*;

use super::element::{Element, Place};
use super::grid_box::GridBox;
use super::layout::Layout;
use super::storage::Storage;

/// Longest piece of a row that is handed out, in elements.
const PIECE: usize = 1 << 16;
/// Elements worth a task of their own.
const GRAIN: usize = 1 << 14;

/// Calls `f` with the start and the length of every row of `cells`, long rows in pieces, on the threads of the pool
/// that it is called in.
pub(crate) fn each_row<const D: usize>(cells: &GridBox<D>, f: impl Fn([i64; D], usize) + Sync) {
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
    if cells.cells() <= GRAIN {
        (0..rows * pieces).for_each(run);
    } else {
        (0..rows * pieces).into_par_iter().with_min_len((GRAIN / length).max(1)).for_each(run);
    }
}

/// Calls `f` with the number of a region and the start and length of a row, for all rows of `cells` in every region
/// that owns a part of them.
pub(crate) fn each_owned_row<const D: usize>(
    layout: &Layout<D>,
    cells: &GridBox<D>,
    f: impl Fn(usize, [i64; D], usize) + Sync,
) {
    let regions: Vec<usize> = layout.owners(cells).collect();
    regions.into_par_iter().for_each(|r| {
        each_row(&layout.regions[r].valid.intersect(cells), |at, length| f(r, at, length));
    });
}

/// One row of one region.
pub(crate) struct Row {
    base: *mut u8,
    cells: usize,
    position: usize,
    length: usize,
}

impl Row {
    /// `length` elements of region `region` from `at` on.
    ///
    /// # Safety
    /// The region's memory holds all of them.
    pub(crate) unsafe fn new<const D: usize>(
        layout: &Layout<D>,
        storage: &Storage,
        region: usize,
        at: [i64; D],
        length: usize,
    ) -> Row {
        let r = &layout.regions[region];
        Row { base: storage.base(region), cells: r.cells, position: r.position(at), length }
    }

    /// Sets element `n` to `value(n)`.
    ///
    /// # Safety
    /// The region is of elements `T`, and no one else accesses the row meanwhile.
    #[inline]
    pub(crate) unsafe fn set<T: Element>(&self, mut value: impl FnMut(usize) -> T) {
        for n in 0..self.length {
            // SAFETY: the row lies in the region's memory.
            unsafe { T::place(self.base, self.cells, self.position + n) }.store(value(n));
        }
    }

    /// Sets element `n`, if the row has it.
    ///
    /// # Safety
    /// As [`Row::set`].
    #[inline(always)]
    pub(crate) unsafe fn put<T: Element>(&self, n: usize, value: T) {
        if n < self.length {
            // SAFETY: the row lies in the region's memory.
            unsafe { T::place(self.base, self.cells, self.position + n) }.store(value);
        }
    }

    /// Calls `take(n, element n)`.
    ///
    /// # Safety
    /// The region is of elements `T`, and no one writes the row meanwhile.
    #[inline]
    pub(crate) unsafe fn get<T: Element>(&self, mut take: impl FnMut(usize, T)) {
        for n in 0..self.length {
            // SAFETY: the row lies in the region's memory.
            take(n, unsafe { T::place(self.base, self.cells, self.position + n) }.load());
        }
    }
}

/// An address that threads share, each using a part of its own.
#[derive(Clone, Copy)]
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
