//! Running a reduction natively.

use std::ops::Range;
use std::sync::Arc;

use super::fold::{self, Lacking, Lanes, SEGMENT, tree};
use super::frame::{BLOCK, Frame, Piece, pieces_of, slots_of};
use super::ops::{Foldable, Reduction};
use crate::array::reserve;
use crate::backend::cpu;
use crate::compute::args::HeldArgs;
use crate::compute::ask::Ask;
use crate::compute::view::{Checked, Proven};
use crate::error::Error;
use crate::grid::GridBox;
use crate::launch::site::Site;

/// A reduction to run: kernel and arguments, and what is said of them.
pub(super) struct Job<H, N, O, const D: usize> {
    pub(super) frame: Frame<D>,
    pub(super) kernel: Arc<N>,
    pub(super) held: H,
    pub(super) op: O,
}

/// Where the pieces put their segments' values, and the number of the first of these slots. Each segment belongs to one
/// piece.
pub(super) struct Slots<P>(pub(super) *mut P, pub(super) usize);

// SAFETY: pieces write disjoint slots.
unsafe impl<P: Send> Sync for Slots<P> {}

impl<P> Slots<P> {
    /// Where a slot is.
    pub(super) fn at(&self, n: usize) -> *mut P {
        self.0.wrapping_add(n).wrapping_sub(self.1)
    }

    /// # Safety
    /// `n` is one of the slots, and no other thread writes it.
    pub(super) unsafe fn put(&self, n: usize, value: P) {
        // SAFETY: the caller's promise.
        unsafe { self.at(n).write(value) }
    }

    /// # Safety
    /// The slots are there and were written; no thread writes them any more.
    unsafe fn of(&self, slots: Range<usize>) -> &[P] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.0.add(slots.start - self.1), slots.len()) }
    }
}

/// Where a piece puts what it makes.
pub(super) struct To<'a, R, P> {
    /// The first segment of a row, and how many it has.
    pub(super) segments: (i64, usize),
    pub(super) slots: &'a Slots<P>,
    /// Room for the values of [`BLOCK`] cells, which nothing else reads or writes.
    pub(super) values: *mut R,
    pub(super) lanes: &'a mut Lanes<P>,
    pub(super) lacking: &'a mut Lacking<P>,
}

/// The values of [`BLOCK`] cells; no vector of them crosses a line of the cache.
#[repr(align(64))]
struct Values<R>([R; BLOCK]);

impl<H, N, O, const D: usize> Job<H, N, O, D> {
    /// Folds the cells, of arrays on the host or where `sites` says. On a simulated device it is its one thread that
    /// runs this: no other may come between.
    pub(super) fn run<R>(&self, sites: Option<&[Option<Site>]>) -> Result<O::Partial, Error>
    where
        R: Foldable,
        O: Reduction<R>,
        H: HeldArgs<D>,
        N: for<'b> Fn(Ask<'b, H::Views<Proven>, H::Views<Checked>, R, D>) + Send + Sync,
    {
        if self.frame.cells.is_empty() {
            return Ok(self.op.identity());
        }
        let (_, segments) = self.frame.segments();
        let (pieces, slots) = (self.frame.pieces(), self.frame.slots());
        // Pieces that have groups of the tree to themselves fold these too, while the segments' values are in the
        // cache.
        let ranges: Option<Vec<Range<usize>>> =
            pieces.iter().map(|piece| self.frame.groups(piece, segments, slots)).collect();
        let mut partials = Vec::new();
        let mut next = Vec::new();
        reserve(&mut partials, slots)?;
        reserve(&mut next, ranges.as_ref().map_or(0, |_| slots.div_ceil(SEGMENT)))?;
        let (all, folded) = (Slots(partials.as_mut_ptr(), 0), Slots(next.as_mut_ptr(), 0));
        let run = |number: usize| {
            let own = ranges.as_ref().map(|ranges| (ranges[number].clone(), &folded));
            self.fold_piece(&pieces[number], &all, sites, own)
        };
        self.frame.each_piece(&pieces, sites, &run)?;
        let list = if ranges.is_some() {
            // SAFETY: the pieces have folded all groups, none having failed.
            unsafe { next.set_len(slots.div_ceil(SEGMENT)) };
            next
        } else {
            // SAFETY: the pieces have all segments of the box, and have written the value of each, none having failed.
            unsafe { partials.set_len(slots) };
            partials
        };
        Ok(tree(self.op, list, sites.is_none()))
    }

    /// The values of the segments that the layout's regions have, in their order: a run of those of the box.
    /// Threads share the pieces, but on a simulated device, as in [`Job::run`].
    pub(super) fn run_part<R>(&self, sites: Option<&[Option<Site>]>) -> Result<Vec<O::Partial>, Error>
    where
        R: Foldable,
        O: Reduction<R>,
        H: HeldArgs<D>,
        N: for<'b> Fn(Ask<'b, H::Views<Proven>, H::Views<Checked>, R, D>) + Send + Sync,
    {
        let (pieces, of) = (self.frame.pieces(), slots_of(&self.frame.cells, &self.frame.layout.owned));
        let mut partials = Vec::new();
        reserve(&mut partials, of.len())?;
        let all = Slots(partials.as_mut_ptr(), of.start);
        self.frame.each_piece(&pieces, sites, &|number| self.fold_piece(&pieces[number], &all, sites, None))?;
        // SAFETY: the pieces have all segments of these rows, and have written the value of each, none having failed.
        unsafe { partials.set_len(of.len()) };
        Ok(partials)
    }

    /// Folds the segments of a piece, and the groups of the tree that are the piece's `own`.
    fn fold_piece<R>(
        &self,
        piece: &Piece<D>,
        all: &Slots<O::Partial>,
        sites: Option<&[Option<Site>]>,
        own: Option<(Range<usize>, &Slots<O::Partial>)>,
    ) -> Result<(), Error>
    where
        R: Foldable,
        O: Reduction<R>,
        H: HeldArgs<D>,
        N: for<'b> Fn(Ask<'b, H::Views<Proven>, H::Views<Checked>, R, D>) + Send + Sync,
    {
        let mut values = Values([R::SOME; BLOCK]);
        let bytes = size_of_val(&values.0);
        // SAFETY: all of an array of numbers, or of pairs of them, which have no padding; any bytes are numbers.
        let memory = unsafe { std::slice::from_raw_parts_mut(values.0.as_mut_ptr().cast::<u8>(), bytes) };
        let mut lanes = Lanes::new(self.op.identity());
        let mut lacking = Lacking::new();
        // What is written is not what is read, which the compiler has to know.
        cpu::vectorised_writing(
            [memory, &mut [], &mut [], &mut []],
            #[inline(always)]
            |starts| {
                let (segments, values) = (self.frame.segments(), starts[0].cast());
                let to = To { segments, slots: all, values, lanes: &mut lanes, lacking: &mut lacking };
                // (One call: what it runs is compiled into each.)
                let decoded = self.frame.decoded(self.held.on_device(), piece, sites);
                self.run_piece(piece, to, decoded.as_deref().or(sites))?;
                if let Some((own, folded)) = own {
                    let group = own.start / SEGMENT;
                    // SAFETY: this piece has written these slots, and no other does.
                    let list = unsafe { all.of(own) };
                    // SAFETY: the slots of these groups are this piece's alone.
                    fold::groups(self.op, list, &mut lanes, |n, value| unsafe { folded.put(group + n, value) });
                }
                Ok(())
            },
        )
    }

    /// Folds the segments of a box inside one region, of arrays on the host or where `sites` says.
    ///
    /// # Errors
    /// A fault of a cell: of the first one.
    pub(super) fn fold_part<R>(
        &self,
        region: usize,
        cells: GridBox<D>,
        sites: Option<&[Option<Site>]>,
        slots: &Slots<O::Partial>,
    ) -> Result<(), Error>
    where
        R: Foldable,
        O: Reduction<R>,
        H: HeldArgs<D>,
        N: for<'b> Fn(Ask<'b, H::Views<Proven>, H::Views<Checked>, R, D>) + Send + Sync,
    {
        let stretch = (cells.lo[D - 1], cells.hi[D - 1]);
        let (along, mut pieces) = (Arc::from([(region, stretch)]), Vec::new());
        pieces_of(cells, &along, self.frame.rows_at_once(stretch), &mut pieces);
        Error::earliest(pieces.iter().filter_map(|piece| self.fold_piece(piece, slots, sites, None).err()))
            .map_or(Ok(()), Err)
    }
}
