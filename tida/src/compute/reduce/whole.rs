//! A reduction of one place as what records and runs it knows it: [`Reducing`] alone is compiled for each kernel.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::fold::tree;
use super::frame::{Frame, Held};
use super::job::{Job, Slots};
use super::ops::{Foldable, Reduction};
use crate::array::reserve;
use crate::compute::args::HeldArgs;
use crate::compute::ask::Ask;
use crate::compute::view::{Checked, Proven};
use crate::error::Error;
use crate::grid::{GridBox, narrow};
use crate::launch::site::Site;

/// A reduction that keeps its value.
pub(super) trait Reducing<const D: usize>: Send + Sync {
    fn frame(&self) -> &Frame<D>;

    /// The arguments as a device finds them.
    fn args(&self) -> Held<'_>;

    /// Folds all cells natively, of arrays on the host or where `sites` says, and keeps the value.
    ///
    /// # Errors
    /// A fault of a cell: of the first one.
    fn run(&self, sites: Option<&[Option<Site>]>) -> Result<(), Error>;

    /// Keeps the value of what a device has folded: the bits of its scalars and a cell's place; or that of no cells.
    /// A value that is kept already stays.
    fn give(&self, found: Option<([u64; 2], u64)>);

    /// Makes room for the segments' values, which are folded box by box.
    ///
    /// # Errors
    /// Memory that there is not.
    fn begin(&self) -> Result<(), Error>;

    /// Folds the segments of a box inside one region, natively.
    ///
    /// # Errors
    /// As [`Reducing::run`].
    fn fold(&self, region: usize, cells: &GridBox<4>, sites: Option<&[Option<Site>]>) -> Result<(), Error>;

    /// Makes one value of all segments and keeps it.
    fn end(&self);
}

/// A reduction, and where its value goes.
pub(super) struct Whole<H, N, R, O: Reduction<R>, const D: usize> {
    job: Job<H, N, O, D>,
    value: Arc<OnceLock<O::Output<D>>>,
    /// The values of segments that are folded box by box.
    slots: Mutex<Vec<O::Partial>>,
    of: PhantomData<fn() -> R>,
}

impl<H, N, R, O: Reduction<R>, const D: usize> Whole<H, N, R, O, D> {
    pub fn new(job: Job<H, N, O, D>, value: Arc<OnceLock<O::Output<D>>>) -> Self {
        Whole { job, value, slots: Mutex::default(), of: PhantomData }
    }

    fn keep(&self, folded: O::Partial) {
        let _ = self.value.set(self.job.op.finish(folded, &self.job.frame.cells));
    }

    fn reserve(&self, slots: &mut Vec<O::Partial>) -> Result<(), Error> {
        let count = self.job.frame.slots();
        reserve(slots, count)?;
        slots.resize(count, self.job.op.identity());
        Ok(())
    }
}

impl<H, N, R, O, const D: usize> Reducing<D> for Whole<H, N, R, O, D>
where
    R: Foldable,
    O: Reduction<R>,
    H: HeldArgs<D>,
    N: for<'b> Fn(Ask<'b, H::Views<Proven>, H::Views<Checked>, R, D>) + Send + Sync + 'static,
{
    fn frame(&self) -> &Frame<D> {
        &self.job.frame
    }

    fn args(&self) -> Held<'_> {
        self.job.held.on_device()
    }

    fn run(&self, sites: Option<&[Option<Site>]>) -> Result<(), Error> {
        self.keep(self.job.run(sites)?);
        Ok(())
    }

    fn give(&self, found: Option<([u64; 2], u64)>) {
        let op = self.job.op;
        self.keep(found.map_or_else(|| op.identity(), |(bits, place)| op.folded(bits, place)));
    }

    fn begin(&self) -> Result<(), Error> {
        self.reserve(&mut self.slots.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn fold(&self, region: usize, cells: &GridBox<4>, sites: Option<&[Option<Site>]>) -> Result<(), Error> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.is_empty() {
            self.reserve(&mut slots)?;
        }
        self.job.fold_part(region, narrow(cells), sites, &Slots(slots.as_mut_ptr(), 0))
    }

    fn end(&self) {
        let slots = std::mem::take(&mut *self.slots.lock().unwrap_or_else(PoisonError::into_inner));
        self.keep(tree(self.job.op, slots, false));
    }
}
