//! Reductions in their native form, for a device that runs no other.

use std::sync::Arc;

use smallvec::SmallVec;

use super::places::ReducingPart;
use super::whole::Reducing;
use crate::compute::args::OnDevice;
use crate::error::Error;
use crate::launch::native::NativeFold;
use crate::launch::site::Site;

/// A part of a reduction in its native form.
pub(super) struct NativePart<const D: usize>(pub Arc<dyn ReducingPart<D>>);

impl<const D: usize> NativeFold for NativePart<D> {
    fn args(&self) -> SmallVec<[OnDevice<'_>; 8]> {
        self.0.args()
    }

    unsafe fn run(&self, sites: &[Option<Site>]) -> Result<(), Error> {
        self.0.list(sites)
    }
}

/// A reduction in its native form.
pub(super) struct Natively<const D: usize>(pub Arc<dyn Reducing<D>>);

impl<const D: usize> NativeFold for Natively<D> {
    fn args(&self) -> SmallVec<[OnDevice<'_>; 8]> {
        self.0.args()
    }

    unsafe fn run(&self, sites: &[Option<Site>]) -> Result<(), Error> {
        self.0.run(Some(sites))
    }
}
