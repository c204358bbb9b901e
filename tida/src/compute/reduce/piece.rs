//! Running the cells of a piece, block by block, and folding their values.

use std::ptr::null_mut;

use smallvec::SmallVec;

use super::fold::{self, SEGMENT};
use super::frame::{BLOCK, Piece};
use super::job::{Job, To};
use super::ops::{Foldable, Reduction};
use crate::compute::args::{HeldArgs, How};
use crate::compute::ask::{Ask, Pass, Run};
use crate::compute::view::{Checked, Proven};
use crate::error::Error;
use crate::grid::GridBox;
use crate::launch::site::Site;
use crate::record::wait::InKernel;

/// As [`BLOCK`], of kernels that fold what they compute.
const FOLDED: usize = 16 * BLOCK;

/// What runs at once: some rows of one box, or a stretch of one row.
#[derive(Clone, Copy)]
struct Block<const D: usize> {
    /// The first cell.
    at: [i64; D],
    rows: i64,
    len: usize,
}

/// The views of a region, proven or checked, and the first and one past the last cell that it has along the last axis.
type InRegion<P, C> = ((i64, i64), Option<P>, Option<C>);

/// Those of a reduction's arguments.
type Views<H, const D: usize> = InRegion<<H as HeldArgs<D>>::Views<Proven>, <H as HeldArgs<D>>::Views<Checked>>;

impl<H, N, O, const D: usize> Job<H, N, O, D> {
    #[inline(always)]
    pub(super) fn run_piece<R>(
        &self,
        piece: &Piece<D>,
        mut to: To<'_, R, O::Partial>,
        sites: Option<&[Option<Site>]>,
    ) -> Result<(), Error>
    where
        R: Foldable,
        O: Reduction<R>,
        H: HeldArgs<D>,
        N: for<'b> Fn(Ask<'b, H::Views<Proven>, H::Views<Checked>, R, D>) + Send + Sync,
    {
        let _running = InKernel::enter();
        let last = D - 1;
        let (start, end) = piece.stretch;
        let how = How {
            valid_only: self.frame.valid_only,
            cells: &self.frame.cells,
            starts: [std::ptr::null_mut(); _],
            sites,
            alone: &[],
        };
        let regions: SmallVec<[Views<H, D>; 4]> = piece
            .regions
            .iter()
            .filter(|(_, (lo, hi))| *lo < end && *hi > start)
            .map(|(r, ends)| {
                let r = *r;
                // SAFETY: the graph runs this node only while nothing writes what it reads; proven views are used
                // inside the boxes that `check` has proven them for.
                let (proven, checked) = unsafe {
                    if self.frame.run_checked {
                        (None, Some(self.held.views::<Checked>(r, how)))
                    } else {
                        (Some(self.held.views::<Proven>(r, how)), None)
                    }
                };
                (*ends, proven, checked)
            })
            .collect();
        let may_fault = self.frame.run_checked
            || self.frame.prepared.may_fault(&self.frame.cells.widen(), &self.frame.quoted.captures);
        let pass = Pass::new(&self.frame.quoted, &self.frame.prepared.kernel.numbers, may_fault);
        // Whether cells may be folded as they run, and whether those of the last block were: the kernel decides that,
        // the same way for all blocks.
        let (may_fold, mut folds) = (O::COMBINE.is_some() && !may_fault && regions.len() == 1, false);
        let along = D.saturating_sub(2);
        let mut row = piece.rows.lo;
        loop {
            let left = if D > 1 { piece.rows.hi[along] - row[along] } else { 1 };
            let most = if folds { FOLDED } else { BLOCK } as i64;
            // Short rows that are in one region each run together.
            let of_row = (end - start) as usize == self.frame.cells.extent()[last];
            let whole = of_row && start % SEGMENT as i64 == 0 && (end - start) % SEGMENT as i64 == 0;
            let of_rows = if whole { most } else { BLOCK as i64 };
            let together = if regions.len() == 1 { of_rows / (end - start) } else { 1 };
            let rows = together.clamp(1, left);
            let mut block = start;
            while block < end {
                let mut at = row;
                at[last] = block;
                let block_end = if rows > 1 { end } else { end_of_block(block, end, most, may_fold) };
                let block_of = Block { at, rows, len: (block_end - block) as usize };
                block = block_end;
                let fold_to = if may_fold { self.fold_to(block_of, &to) } else { null_mut() };
                self.run_block(block_of, &regions, &pass, &to, (fold_to, folds))?;
                folds = pass.has_folded();
                if folds {
                    continue;
                }
                let (rows, len) = (rows as usize, block_of.len);
                // SAFETY: a block that is not folded has at most `BLOCK` cells. Each lies in one of the regions, which
                // has written it (`pass` says that it ran).
                let values = unsafe { std::slice::from_raw_parts(to.values, rows * len) };
                self.fold_rows(at, values, len, &mut to);
            }
            let mut axis = last;
            loop {
                if axis == 0 {
                    return pass.fault(&self.frame.prepared);
                }
                axis -= 1;
                row[axis] += if axis == along { rows } else { 1 };
                if row[axis] < piece.rows.hi[axis] {
                    break;
                }
                row[axis] = piece.rows.lo[axis];
            }
        }
    }

    /// Runs a block. Its segments may be folded to `fold_to`, if that is not null; they have to be if `folds`.
    ///
    /// # Errors
    /// A closure that does not run what it quoted.
    #[inline(always)]
    fn run_block<R>(
        &self,
        Block { at, rows, len }: Block<D>,
        regions: &[Views<H, D>],
        pass: &Pass<'_>,
        to: &To<'_, R, O::Partial>,
        (fold_to, folds): (*mut O::Partial, bool),
    ) -> Result<(), Error>
    where
        R: Foldable,
        O: Reduction<R>,
        H: HeldArgs<D>,
        N: for<'b> Fn(Ask<'b, H::Views<Proven>, H::Views<Checked>, R, D>) + Send + Sync,
    {
        let last = D - 1;
        for (ends, proven, checked) in regions {
            let mut cells = GridBox { lo: at, hi: at.map(|x| x + 1) };
            if D > 1 {
                cells.hi[D - 2] = at[D - 2] + rows;
            }
            cells.lo[last] = at[last].max(ends.0);
            cells.hi[last] = (at[last] + len as i64).min(ends.1);
            if cells.is_empty() {
                continue;
            }
            // SAFETY: the cells lie in the block. One that need not be folded has at most `BLOCK` cells, and several
            // rows are in one region, which has all their cells.
            let out = unsafe { to.values.add((cells.lo[last] - at[last]) as usize) };
            if let Some(views) = proven {
                // SAFETY: as many values follow `out` as the rows have cells, or it is null: see `folding`.
                let run = unsafe { Run::new(views, cells, out, pass) };
                (self.kernel)(Ask::Proven(match O::COMBINE {
                    // SAFETY: `fold_to` has found so many whole segments in the one region, and a slot holds a value.
                    Some(combine) => unsafe { run.folding(combine, fold_to.cast(), folds && !fold_to.is_null()) },
                    None => run,
                }));
            } else if let Some(views) = checked {
                // SAFETY: as many values follow `out` as the rows have cells: what is checked is not folded here.
                (self.kernel)(Ask::Checked(unsafe { Run::new(views, cells, out, pass) }));
            }
            pass.check()?;
        }
        Ok(())
    }

    /// Where the segments of a block have their slots side by side; null if they are not whole.
    #[inline(always)]
    fn fold_to<R>(&self, Block { at, rows, len }: Block<D>, to: &To<'_, R, O::Partial>) -> *mut O::Partial
    where
        R: Foldable,
        O: Reduction<R>,
    {
        let (first_segment, segments) = to.segments;
        let (start, of_row) = (at[D - 1], len == self.frame.cells.extent()[D - 1]);
        if !len.is_multiple_of(SEGMENT) || start % SEGMENT as i64 != 0 || (rows > 1 && !of_row) {
            return null_mut();
        }
        let slot = self.frame.row(at) * segments + (start.div_euclid(SEGMENT as i64) - first_segment) as usize;
        to.slots.at(slot)
    }

    /// Folds the values of rows that follow one another along the axis before the last, `len` cells of each from `at`
    /// on, segment by segment.
    #[inline(always)]
    fn fold_rows<R>(&self, at: [i64; D], values: &[R], len: usize, to: &mut To<'_, R, O::Partial>)
    where
        R: Foldable,
        O: Reduction<R>,
    {
        let (last, extent) = (D - 1, self.frame.cells.extent());
        let (first_segment, segments) = to.segments;
        let (op, slots) = (self.op, to.slots);
        // Rows of whole segments are as one row: their cells and their slots lie side by side.
        let one = len == extent[last] && len.is_multiple_of(SEGMENT) && at[last] % SEGMENT as i64 == 0;
        let len = if one { values.len() } else { len };
        for (row, values) in (self.frame.row(at)..).zip(values.chunks_exact(len)) {
            let (mut cell, mut left) = (at[last], values);
            while !left.is_empty() {
                let (segment, first) = (cell.div_euclid(SEGMENT as i64), cell.rem_euclid(SEGMENT as i64) as usize);
                let slot = row * segments + (segment - first_segment) as usize;
                let index = (row * extent[last]) as u64 + (cell - self.frame.cells.lo[last]) as u64;
                let (whole, _) = left.as_chunks::<SEGMENT>();
                let taken = if first == 0 && !whole.is_empty() {
                    let lift = |value, n: usize| op.lift(value, index + n as u64);
                    fold::whole(op, whole, to.lanes, lift, |n, value| {
                        // SAFETY: rows and segments number the slots; this piece alone has these rows and segments.
                        unsafe { slots.put(slot + n, value) }
                    });
                    whole.len() * SEGMENT
                } else {
                    let taken = left.len().min(SEGMENT - first);
                    to.lacking.add(op, slot, (&left[..taken], first), index);
                    if to.lacking.is_full() {
                        // SAFETY: as above.
                        to.lacking.fold(op, to.lanes, |slot, value| unsafe { slots.put(slot, value) });
                    }
                    taken
                };
                cell += taken as i64;
                left = &left[taken..];
            }
        }
        // SAFETY: as above.
        to.lacking.fold(op, to.lanes, |slot, value| unsafe { slots.put(slot, value) });
    }
}

/// Where the block ends that starts at a cell of a row that ends at `end`: at a multiple of `most` at the latest. What
/// is no whole segment is by itself if the others `may_fold`.
#[inline(always)]
fn end_of_block(block: i64, end: i64, most: i64, may_fold: bool) -> i64 {
    let segment = SEGMENT as i64;
    let limit = (block.div_euclid(most) * most + most).min(end);
    let whole = limit.div_euclid(segment) * segment;
    match block.rem_euclid(segment) {
        _ if !may_fold => limit,
        0 if whole > block => whole,
        0 => limit,
        rest => (block - rest + segment).min(end),
    }
}
