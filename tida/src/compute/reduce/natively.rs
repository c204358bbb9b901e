//! A reduction in its native form, for a device that runs no other.

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::job::Job;
use super::ops::{Foldable, Reduction};
use crate::compute::args::{HeldArgs, OnDevice};
use crate::compute::ask::Ask;
use crate::compute::view::{Checked, Proven};
use crate::error::Error;
use crate::launch::native::NativeFold;
use crate::launch::site::Site;

/// A part of a reduction in its native form, and where it puts the values of its segments.
pub(super) struct NativePart<H, N, O, P, R, const D: usize> {
    job: Arc<Job<H, N, O, D>>,
    list: Arc<OnceLock<Vec<P>>>,
    value: PhantomData<fn() -> R>,
}

impl<H, N, O, P, R, const D: usize> NativePart<H, N, O, P, R, D> {
    pub fn new(job: Arc<Job<H, N, O, D>>, list: Arc<OnceLock<Vec<P>>>) -> Self {
        NativePart { job, list, value: PhantomData }
    }
}

impl<H, N, O, R, const D: usize> NativeFold for NativePart<H, N, O, O::Partial, R, D>
where
    R: Foldable,
    O: Reduction<R>,
    H: HeldArgs<D>,
    N: for<'b> Fn(Ask<'b, H::Views<Proven>, H::Views<Checked>, R, D>) + Send + Sync,
{
    fn args(&self) -> SmallVec<[OnDevice<'_>; 8]> {
        self.job.held.on_device()
    }

    unsafe fn run(&self, sites: &[Option<Site>]) -> Result<(), Error> {
        let _ = self.list.set(self.job.run_part(Some(sites))?);
        Ok(())
    }
}

/// A reduction in its native form, and where it puts its value.
pub(super) struct Natively<H, N, O, T, R, const D: usize> {
    job: Arc<Job<H, N, O, D>>,
    result: Arc<OnceLock<T>>,
    value: PhantomData<fn() -> R>,
}

impl<H, N, O, T, R, const D: usize> Natively<H, N, O, T, R, D> {
    pub fn new(job: Arc<Job<H, N, O, D>>, result: Arc<OnceLock<T>>) -> Self {
        Natively { job, result, value: PhantomData }
    }
}

impl<H, N, O, R, const D: usize> NativeFold for Natively<H, N, O, O::Output<D>, R, D>
where
    R: Foldable,
    O: Reduction<R>,
    H: HeldArgs<D>,
    N: for<'b> Fn(Ask<'b, H::Views<Proven>, H::Views<Checked>, R, D>) + Send + Sync,
{
    fn args(&self) -> SmallVec<[OnDevice<'_>; 8]> {
        self.job.held.on_device()
    }

    unsafe fn run(&self, sites: &[Option<Site>]) -> Result<(), Error> {
        let folded = self.job.run(Some(sites))?;
        let _ = self.result.set(self.job.op.finish(folded, &self.job.cells));
        Ok(())
    }
}
