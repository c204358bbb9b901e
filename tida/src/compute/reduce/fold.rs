//! The tree of fixed shape.

use rayon::prelude::*;

use super::ops::Reduction;

/// Values in a segment, and in a group of the tree.
pub(super) const SEGMENT: usize = tida_kernels::plan::SEGMENT as usize;

/// Folds 64 values by halves.
#[inline(always)]
pub(super) fn by_halves<T, O: Reduction<T>>(op: O, values: &mut [O::Partial; SEGMENT]) -> O::Partial {
    // Each half has a length that the compiler knows.
    halve::<32, _, _>(op, values);
    halve::<16, _, _>(op, values);
    halve::<8, _, _>(op, values);
    halve::<4, _, _>(op, values);
    halve::<2, _, _>(op, values);
    halve::<1, _, _>(op, values);
    values[0]
}

#[inline(always)]
fn halve<const HALF: usize, T, O: Reduction<T>>(op: O, values: &mut [O::Partial; SEGMENT]) {
    for i in 0..HALF {
        values[i] = op.combine(values[i], values[i + HALF]);
    }
}

/// Folds the values of some cells of a segment, from its cell `first` on; `index` is the place in the box of the first of them.
#[inline(always)]
pub(super) fn segment<T: Copy, O: Reduction<T>>(op: O, values: &[T], first: usize, index: u64) -> O::Partial {
    let mut partials = [op.identity(); SEGMENT];
    match values.first_chunk::<SEGMENT>() {
        Some(all) => {
            for i in 0..SEGMENT {
                partials[i] = op.lift(all[i], index + i as u64);
            }
        }
        None => {
            for (i, (partial, value)) in partials.iter_mut().skip(first).zip(values).enumerate() {
                *partial = op.lift(*value, index + i as u64);
            }
        }
    }
    by_halves(op, &mut partials)
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
