//! The walk that finds it all.

use super::{Analysis, ArrayAccess, Interval};
use crate::ir::Kernel;

/// Analyses a kernel. Never fails.
pub fn analyse(_kernel: &Kernel) -> Analysis {
    todo!()
}

impl Analysis {
    /// The cells an access can touch, per axis of its argument, when `at` runs over the box `lo..hi` (half-open, not
    /// empty) and captured integers have these values (`captures[n]` is `None` for captures that are not integer
    /// scalars). `None` if an index is not affine or a bound overflows. Conservative: the interval may be larger than
    /// what is touched.
    pub fn range(
        &self,
        _access: &ArrayAccess,
        _lo: &[i64],
        _hi: &[i64],
        _captures: &[Option<i64>],
    ) -> Option<Vec<Interval>> {
        todo!()
    }
}
