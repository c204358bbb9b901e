//! The tree of fixed shape.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use tida_kernels::plan::FoldOp;

use super::ops::Reduction;
use crate::backend::cpu;
use crate::compute::segments::{LANES, rest, upper};
use crate::parallel;

/// Values in a segment, and in a group of the tree.
pub(super) const SEGMENT: usize = tida_kernels::plan::SEGMENT as usize;

/// Folds 64 values by halves.
#[inline(always)]
fn by_halves<T, O: Reduction<T>>(op: O, values: &mut [O::Partial; SEGMENT]) -> O::Partial {
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

/// Segments whose lanes are made one after the other, before any of them is folded to its end: no load waits for a
/// store then.
const TOGETHER: usize = 16;

/// Room for their lanes.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Lanes<P>([[P; LANES]; TOGETHER]);

impl<P: Copy> Lanes<P> {
    pub(super) fn new(value: P) -> Self {
        Lanes([[value; LANES]; TOGETHER])
    }
}

/// Segments that lack cells, until there are enough of them to be folded together.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Lacking<P> {
    values: [MaybeUninit<[P; SEGMENT]>; TOGETHER],
    /// Their slots.
    slots: [usize; TOGETHER],
    /// How many there are, the first ones.
    count: usize,
}

impl<P: Copy> Lacking<P> {
    pub(super) fn new() -> Self {
        Lacking { values: [const { MaybeUninit::uninit() }; TOGETHER], slots: [0; TOGETHER], count: 0 }
    }

    /// Whether there is no room for another.
    pub(super) fn is_full(&self) -> bool {
        self.count == TOGETHER
    }

    /// Adds the values of some cells of a segment, from its cell `first` on. There has to be room, and `index` is the
    /// place in the box of the first of them.
    #[inline(always)]
    pub(super) fn add<T: Copy, O: Reduction<T, Partial = P>>(
        &mut self,
        op: O,
        slot: usize,
        (values, first): (&[T], usize),
        index: u64,
    ) {
        let padded = self.values[self.count].write([op.identity(); SEGMENT]);
        for (i, (lifted, value)) in padded[first..].iter_mut().zip(values).enumerate() {
            *lifted = op.lift(*value, index + i as u64);
        }
        self.slots[self.count] = slot;
        self.count += 1;
    }

    /// Folds those that are there; `put` takes a slot, and what its segment folds to.
    #[inline(always)]
    pub(super) fn fold<T, O: Reduction<T, Partial = P>>(
        &mut self,
        op: O,
        room: &mut Lanes<P>,
        mut put: impl FnMut(usize, P),
    ) {
        let (slots, values) = (&self.slots, &self.values[..self.count]);
        // SAFETY: `add` has written these.
        let values = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<[P; SEGMENT]>(), values.len()) };
        whole(op, values, room, |value, _| value, |n, value| put(slots[n], value));
        self.count = 0;
    }
}

/// Whether what is folded is a number, of which the compiler makes vectors.
const fn lies_in_vectors<T, O: Reduction<T>>() -> bool {
    !matches!(O::FOLD, FoldOp::ArgMin | FoldOp::ArgMax)
}

/// Folds whole segments. `lift` takes a value and its number; `put` the number of a segment, and what it folds to.
#[inline(always)]
pub(super) fn whole<T, V: Copy, O: Reduction<T>>(
    op: O,
    segments: &[[V; SEGMENT]],
    room: &mut Lanes<O::Partial>,
    lift: impl Fn(V, usize) -> O::Partial,
    mut put: impl FnMut(usize, O::Partial),
) {
    if !lies_in_vectors::<T, O>() {
        for (n, values) in segments.iter().enumerate() {
            let mut lifted = [op.identity(); SEGMENT];
            for i in 0..SEGMENT {
                lifted[i] = lift(values[i], n * SEGMENT + i);
            }
            put(n, by_halves(op, &mut lifted));
        }
        return;
    }
    for (group, some) in segments.chunks(TOGETHER).enumerate() {
        for (values, lanes) in some.iter().zip(&mut room.0) {
            // (Of memory that the compiler knows nothing of it makes vectors as it lies there.)
            let values = black_box(values);
            *lanes = upper(
                #[inline(always)]
                |a, b| op.combine(a, b),
                #[inline(always)]
                |n| lift(values[n], 0),
            );
        }
        for (n, lanes) in room.0.iter().take(some.len()).enumerate() {
            put(group * TOGETHER + n, rest(|a, b| op.combine(a, b), *black_box(lanes)));
        }
    }
}

/// Folds a list, 64 at a time, until one is left; the identity for an empty list. `parallel` uses the thread pool.
pub(super) fn tree<T, O: Reduction<T>>(op: O, mut list: Vec<O::Partial>, parallel: bool) -> O::Partial {
    while list.len() > 1 {
        list = if parallel && list.len() > 1 << 16 { levels(op, &list) } else { level(op, &list) };
    }
    list.first().copied().unwrap_or_else(|| op.identity())
}

/// Folds a list two levels up: groups of 64 times 64, the last of which may have fewer.
pub(super) fn twice<T, O: Reduction<T>>(op: O, list: &[O::Partial]) -> Vec<O::Partial> {
    level(op, &if list.len() > 1 << 16 { levels(op, list) } else { level(op, list) })
}

/// As [`level`], by all threads.
fn levels<T, O: Reduction<T>>(op: O, list: &[O::Partial]) -> Vec<O::Partial> {
    let parts: Vec<&[O::Partial]> = list.chunks(SEGMENT * SEGMENT).collect();
    let folded: Vec<OnceLock<Vec<O::Partial>>> = parts.iter().map(|_| OnceLock::new()).collect();
    parallel::each(parts.len(), 1, &|n| {
        folded[n].get_or_init(|| level(op, parts[n]));
    });
    folded.into_iter().filter_map(OnceLock::into_inner).flatten().collect()
}

/// Folds each 64 of a list.
pub(super) fn level<T, O: Reduction<T>>(op: O, list: &[O::Partial]) -> Vec<O::Partial> {
    let mut next = Vec::with_capacity(list.len().div_ceil(SEGMENT));
    cpu::vectorised(
        #[inline(always)]
        || groups(op, list, &mut Lanes::new(op.identity()), |_, value| next.push(value)),
    );
    next
}

/// Folds each 64 of a list, the last of them being fewer; `put` takes the number of some, and what they fold to.
#[inline(always)]
pub(super) fn groups<T, O: Reduction<T>>(
    op: O,
    list: &[O::Partial],
    room: &mut Lanes<O::Partial>,
    mut put: impl FnMut(usize, O::Partial),
) {
    let (groups, rest) = list.as_chunks::<SEGMENT>();
    whole(op, groups, room, |value, _| value, &mut put);
    if !rest.is_empty() {
        let mut padded = [op.identity(); SEGMENT];
        padded[..rest.len()].copy_from_slice(rest);
        put(groups.len(), by_halves(op, &mut padded));
    }
}
