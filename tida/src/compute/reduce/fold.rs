//! The tree of fixed shape.

use rayon::prelude::*;

use super::ops::Reduction;

/// Values in a segment, and in a group of the tree.
pub(super) const SEGMENT: usize = tida_kernels::plan::SEGMENT as usize;

/// Folds 64 values by halves.
#[inline(always)]
pub(super) fn by_halves<T, O: Reduction<T>>(op: O, values: &mut [O::Partial; SEGMENT]) -> O::Partial {
    let mut half = SEGMENT / 2;
    while half > 0 {
        for i in 0..half {
            values[i] = op.combine(values[i], values[i + half]);
        }
        half /= 2;
    }
    values[0]
}

/// Folds a list, 64 at a time, until one is left; the identity for an empty list. `parallel` uses the thread pool.
pub(super) fn tree<T, O: Reduction<T>>(op: O, mut list: Vec<O::Partial>, parallel: bool) -> O::Partial {
    let group = |values: &[O::Partial]| {
        let mut padded = [op.identity(); SEGMENT];
        padded[..values.len()].copy_from_slice(values);
        by_halves(op, &mut padded)
    };
    while list.len() > 1 {
        list = if parallel && list.len() > 1 << 16 {
            list.par_chunks(SEGMENT).with_min_len(64).map(group).collect()
        } else {
            list.chunks(SEGMENT).map(group).collect()
        };
    }
    list.first().copied().unwrap_or_else(|| op.identity())
}
