//! What a `group_kernel!` sees as it runs on the CPU: its group, what the threads share, and what each keeps.
//!
//! A phase is a loop over the threads of a group. Shared arrays are checked as they are accessed, so nothing that a
//! kernel does with them reaches other memory.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use tida_kernels::element::ScalarType;
use tida_kernels::scalar::{Fault, fault};

use crate::compute::ask::{Answer, Pass};
use crate::compute::view::{ReadView, WriteView, get, near_itself, set};
use crate::grid::GridBox;
use crate::launch::capture::CapturedParam;
use crate::memory::element::{Element, Place, ScalarElement};

/// What a kernel over groups is asked.
#[derive(Debug)]
pub enum AskGroups<'b, P, C, const D: usize> {
    /// Say what you are.
    Quote(Answer<'b>),
    /// Run over a box in which every access of an array was proven in range.
    Proven(RunGroups<'b, P, D>),
    /// Run over a box, checking each access.
    Checked(RunGroups<'b, C, D>),
}

/// A box of groups to run over.
#[derive(Debug)]
pub struct RunGroups<'b, V, const D: usize> {
    pub(super) views: &'b V,
    pub(super) cells: GridBox<D>,
    pub(super) extent: [i64; D],
    pub(super) pass: &'b Pass<'b>,
}

/// A box of groups with the native form of the kernel that is to run over it.
pub struct RunBody<'b, V, const D: usize, F> {
    run: RunGroups<'b, V, D>,
    group: F,
}

/// Takes the body of a kernel, as [`body`](crate::compute::ask::body) does.
#[inline(always)]
pub fn group_body<'b, V, const D: usize, F: Fn(&V, &Group<'_, D>)>(
    run: RunGroups<'b, V, D>,
    group: F,
) -> RunBody<'b, V, D, F> {
    RunBody { run, group }
}

/// Runs the body over each group of the box; does nothing if the kernel of marker `M` with `captures`, its numbers
/// taken for `numbers`, is not what was analysed.
///
/// # Safety
/// As [`each`](crate::compute::ask::each).
#[inline(always)]
pub unsafe fn each_group<M: 'static, V, const D: usize, F: Fn(&V, &Group<'_, D>)>(
    body: RunBody<'_, V, D, F>,
    _marker: M,
    captures: &[&dyn CapturedParam],
    numbers: &[ScalarType],
) {
    body.each::<M>(captures, numbers);
}

impl<V, const D: usize, F: Fn(&V, &Group<'_, D>)> RunBody<'_, V, D, F> {
    #[inline(always)]
    fn each<M: 'static>(self, captures: &[&dyn CapturedParam], numbers: &[ScalarType]) {
        let RunBody { run: RunGroups { views, cells, extent, pass }, group } = self;
        if !pass.admits::<M>(captures, numbers) {
            return;
        }
        let mut running =
            Group { pass, lo: [0; D], len: [0; D], extent, arrays: RefCell::new(Vec::new()), next: Cell::new(0) };
        let GridBox { lo, hi } = cells;
        let number = |at: i64, d: usize| at.div_euclid(extent[d].max(1));
        let first: [i64; D] = std::array::from_fn(|d| number(lo[d], d));
        let end: [i64; D] = std::array::from_fn(|d| number(hi[d] - 1, d) + 1);
        each_point(first, end, |_, n| {
            running.lo = std::array::from_fn(|d| (n[d] * extent[d]).max(lo[d]));
            running.len = std::array::from_fn(|d| ((n[d] + 1) * extent[d]).min(hi[d]) - running.lo[d]);
            running.next.set(0);
            group(views, &running);
            pass.watch(running.lo);
        });
        pass.has_run();
    }
}

impl<V, const D: usize, F> std::fmt::Debug for RunBody<'_, V, D, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunBody").field("cells", &self.run.cells).finish_non_exhaustive()
    }
}

/// Calls `f` with the number and the coordinates of each point of a box, last axis innermost.
#[inline(always)]
fn each_point<const D: usize>(lo: [i64; D], hi: [i64; D], mut f: impl FnMut(usize, [i64; D])) {
    if (0..D).any(|d| hi[d] <= lo[d]) {
        return;
    }
    let mut at = lo;
    let mut number = 0;
    loop {
        for i in lo[D - 1]..hi[D - 1] {
            at[D - 1] = i;
            f(number, at);
            number += 1;
        }
        let mut axis = D - 1;
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            at[axis] += 1;
            if at[axis] < hi[axis] {
                break;
            }
            at[axis] = lo[axis];
        }
    }
}

/// A group that runs.
pub struct Group<'b, const D: usize> {
    /// Records faults of its threads.
    pass: &'b Pass<'b>,
    /// Its first cell.
    lo: [i64; D],
    /// Its cells along each axis: fewer than its extent at an array's end.
    len: [i64; D],
    /// Cells of a whole group.
    extent: [i64; D],
    /// Memory of the arrays that its threads share, in the order in which the kernel makes them; kept from group to
    /// group.
    arrays: RefCell<Vec<Vec<Cell<u128>>>>,
    /// How many it has made.
    next: Cell<usize>,
}

impl<const D: usize> std::fmt::Debug for Group<'_, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Group").field("lo", &self.lo).field("len", &self.len).finish_non_exhaustive()
    }
}

/// An array that the threads of a group share.
pub struct Slots<'g, T, const R: usize> {
    /// The first slot; one more follows the last, for writes that are out of range.
    base: *mut u8,
    slots: usize,
    lo: [i64; R],
    shape: [i64; R],
    arg: u32,
    marker: PhantomData<&'g Cell<T>>,
}

impl<T, const R: usize> std::fmt::Debug for Slots<'_, T, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slots").field("lo", &self.lo).field("shape", &self.shape).finish_non_exhaustive()
    }
}

impl<const D: usize> Group<'_, D> {
    /// An array of zeros.
    fn slots<T: ScalarElement, const R: usize>(&self, arg: u32, lo: [i64; R], shape: [i64; R]) -> Slots<'_, T, R> {
        let slots: usize = shape.iter().map(|n| usize::try_from(*n).unwrap_or(0)).product();
        let words = ((slots + 1) * size_of::<T>()).div_ceil(size_of::<u128>());
        let number = self.next.replace(self.next.get() + 1);
        let mut arrays = self.arrays.borrow_mut();
        if arrays.len() <= number {
            arrays.resize_with(number + 1, Vec::new);
        }
        let memory = &mut arrays[number];
        memory.clear();
        memory.resize_with(words, || Cell::new(0));
        Slots { base: memory.as_mut_ptr().cast(), slots, lo, shape, arg, marker: PhantomData }
    }
}

impl<T: Element, const R: usize> Slots<'_, T, R> {
    #[inline(always)]
    fn slot(&self, index: [i64; R]) -> Option<usize> {
        let mut slot = 0usize;
        #[allow(clippy::needless_range_loop)] // three arrays of one length
        for d in 0..R {
            let along = index[d].wrapping_sub(self.lo[d]) as u64;
            if along >= self.shape[d] as u64 {
                return None;
            }
            slot = slot * self.shape[d] as usize + along as usize;
        }
        Some(slot)
    }

    #[cold]
    fn out_of_range(&self, index: [i64; R]) {
        let mut axes = [0; 4];
        axes.iter_mut().zip(index).for_each(|(axis, i)| *axis = i);
        fault::raise(Fault::OutOfRange { arg: self.arg, index: axes });
    }

    /// The slot's place; that after the last where there is none.
    #[inline(always)]
    fn place_of(&self, slot: usize) -> T::Place {
        // SAFETY: the memory has one element more than there are slots, aligned for any scalar, and lives as long as
        // the group, for whose threads alone it is; zeros are values of every scalar.
        unsafe { T::place(self.base, self.slots + 1, slot) }
    }
}

impl<T: ScalarElement, const R: usize> ReadView for Slots<'_, T, R> {
    type Index = [i64; R];
    type Place = T::Place;
    near_itself!();
    #[inline(always)]
    fn place(&self, index: [i64; R]) -> T::Place {
        match self.slot(index) {
            Some(slot) => self.place_of(slot),
            None => {
                self.out_of_range(index);
                // SAFETY: as for other places; the slot after the last is there.
                unsafe { self.base.add(self.slots * size_of::<T>()).write_bytes(0, size_of::<T>()) };
                self.place_of(self.slots)
            }
        }
    }
}

impl<T: ScalarElement, const R: usize> WriteView for Slots<'_, T, R> {
    #[inline(always)]
    fn place_mut(&self, index: [i64; R]) -> T::Place {
        ReadView::place(self, index)
    }
}

/// `group.shared::<T>([..])`.
pub fn group_shared<'g, T: ScalarElement, const R: usize, const D: usize>(
    group: &'g Group<'_, D>,
    arg: u32,
    shape: [i64; R],
) -> Slots<'g, T, R> {
    group.slots(arg, [0; R], shape)
}

/// `group.channel::<T>([..], [..])`.
pub fn group_channel<'g, T: ScalarElement, const D: usize>(
    group: &'g Group<'_, D>,
    arg: u32,
    before: [i64; D],
    after: [i64; D],
) -> Slots<'g, T, D> {
    group.slots(arg, before.map(|n| -n), std::array::from_fn(|d| before[d] + group.extent[d] + after[d]))
}

/// `group.fetch(u, [..], [..])`.
pub fn group_fetch<'g, V, const D: usize>(
    group: &'g Group<'_, D>,
    arg: u32,
    view: &V,
    before: [i64; D],
    after: [i64; D],
) -> Slots<'g, <V::Place as Place>::Value, D>
where
    V: ReadView<Index = [i64; D]>,
    <V::Place as Place>::Value: ScalarElement,
{
    let slots = group_channel::<<V::Place as Place>::Value, D>(group, arg, before, after);
    let end = std::array::from_fn(|d| group.len[d] + after[d]);
    each_point(before.map(|n| -n), end, |_, t| {
        let cell = std::array::from_fn(|d| group.lo[d] + t[d]);
        set(&slots, t, get(view, cell));
        group.pass.watch(cell);
    });
    slots
}

/// `group.len()`.
pub fn group_len<const D: usize>(group: &Group<'_, D>) -> [i64; D] {
    group.len
}

/// A value of which each thread of a group has its own.
#[derive(Debug)]
pub struct Private<T: Copy> {
    first: T,
    values: Vec<Cell<T>>,
}

/// `group.private(value)`.
pub fn private<T: Copy, const D: usize>(group: &Group<'_, D>, value: T) -> Private<T> {
    let threads = group.len.iter().map(|n| *n as usize).product();
    Private { first: value, values: vec![Cell::new(value); threads] }
}

/// The value of a thread.
#[inline(always)]
pub fn kept_of<T: Copy>(private: &Private<T>, thread: usize) -> T {
    private.values.get(thread).map_or(private.first, Cell::get)
}

/// Keeps the value of a thread.
#[inline(always)]
pub fn keep<T: Copy>(private: &Private<T>, thread: usize, value: T) {
    if let Some(place) = private.values.get(thread) {
        place.set(value);
    }
}

/// `group.each(|t| ..)`: `f` takes the thread's number, its coordinate and its cell.
#[inline(always)]
pub fn phase<const D: usize>(group: &Group<'_, D>, f: impl Fn(usize, [i64; D], [i64; D])) {
    phase_around(group, [0; D], [0; D], f);
}

/// `group.each_around([..], [..], |t| ..)`.
#[inline(always)]
pub fn phase_around<const D: usize>(
    group: &Group<'_, D>,
    before: [i64; D],
    after: [i64; D],
    f: impl Fn(usize, [i64; D], [i64; D]),
) {
    let end = std::array::from_fn(|d| group.len[d] + after[d]);
    each_point(before.map(|n| -n), end, |number, t| {
        let cell = std::array::from_fn(|d| group.lo[d] + t[d]);
        f(number, t, cell);
        group.pass.watch(cell);
    });
}
