//! The tree of fixed shape.

use std::hint::black_box;

use rayon::prelude::*;

use super::ops::Reduction;
use crate::backend::cpu;

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
fn halve<const HALF: usize, T, O: Reduction<T>>(op: O, values: &mut [O::Partial]) {
    for i in 0..HALF {
        values[i] = op.combine(values[i], values[i + HALF]);
    }
}

/// What is left of a segment after its first two halvings.
const LANES: usize = SEGMENT / 4;

/// Whole segments that are folded side by side.
const TOGETHER: usize = 16;

/// Room for them. It is the caller's, so that what is left after two halvings goes to memory: the compiler makes vectors of stores side
/// by side, and finds worse ones in a tree that ends in one value.
pub(super) type Kept<P> = [[P; LANES]; TOGETHER];

/// Such room.
#[inline(always)]
pub(super) fn kept<T, O: Reduction<T>>(op: O) -> Kept<O::Partial> {
    [[op.identity(); LANES]; TOGETHER]
}

/// Folds whole segments. `lift` takes a value, the number of its segment, and its place in there; `put` takes what a segment folds to.
#[inline(always)]
pub(super) fn whole<T, V: Copy, O: Reduction<T>>(
    op: O,
    segments: &[[V; SEGMENT]],
    kept: &mut Kept<O::Partial>,
    lift: impl Fn(V, usize, usize) -> O::Partial,
    mut put: impl FnMut(usize, O::Partial),
) {
    for (group, some) in segments.chunks(TOGETHER).enumerate() {
        let first = group * TOGETHER;
        for (n, (values, lanes)) in some.iter().zip(kept.iter_mut()).enumerate() {
            // Vectors are to be made of the values of a segment. The compiler would make them of segments, which it would gather.
            let values = black_box(values);
            let value = |i: usize| lift(values[i], first + n, i);
            for i in 0..LANES {
                let even = op.combine(value(i), value(i + 2 * LANES));
                let odd = op.combine(value(i + LANES), value(i + 3 * LANES));
                lanes[i] = op.combine(even, odd);
            }
        }
        for (n, lanes) in kept.iter().take(some.len()).enumerate() {
            let mut lanes = *black_box(lanes);
            halve::<8, _, _>(op, &mut lanes);
            halve::<4, _, _>(op, &mut lanes);
            halve::<2, _, _>(op, &mut lanes);
            halve::<1, _, _>(op, &mut lanes);
            put(first + n, lanes[0]);
        }
    }
}

/// Folds the values of some cells of a segment, from its cell `first` on; `index` is the place in the box of the first of them.
#[inline(always)]
pub(super) fn segment<T: Copy, O: Reduction<T>>(op: O, values: &[T], first: usize, index: u64) -> O::Partial {
    let mut partials = [op.identity(); SEGMENT];
    for (i, (partial, value)) in partials.iter_mut().skip(first).zip(values).enumerate() {
        *partial = op.lift(*value, index + i as u64);
    }
    by_halves(op, &mut partials)
}

/// Folds a list, 64 at a time, until one is left; the identity for an empty list. `parallel` uses the thread pool.
pub(super) fn tree<T, O: Reduction<T>>(op: O, mut list: Vec<O::Partial>, parallel: bool) -> O::Partial {
    while list.len() > 1 {
        list = if parallel && list.len() > 1 << 16 {
            list.par_chunks(SEGMENT * SEGMENT).flat_map_iter(|part| level(op, part)).collect()
        } else {
            level(op, &list)
        };
    }
    list.first().copied().unwrap_or_else(|| op.identity())
}

/// Folds each 64 of a list.
fn level<T, O: Reduction<T>>(op: O, list: &[O::Partial]) -> Vec<O::Partial> {
    let mut next = Vec::with_capacity(list.len().div_ceil(SEGMENT));
    let (groups, rest) = list.as_chunks::<SEGMENT>();
    cpu::vectorised(
        #[inline(always)]
        || whole(op, groups, &mut kept(op), |value, _, _| value, |_, value| next.push(value)),
    );
    if !rest.is_empty() {
        let mut padded = [op.identity(); SEGMENT];
        padded[..rest.len()].copy_from_slice(rest);
        next.push(by_halves(op, &mut padded));
    }
    next
}
