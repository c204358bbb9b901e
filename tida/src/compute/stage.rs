//! Stretches of rows whose values lie on the stack until all of their cells have run.
//!
//! The compiler makes vectors of the cells of a row only where it knows that no store changes what they read. It
//! compares addresses before the loop for that, of at most 128 pairs of a store and another access. A cell of nine
//! components that reads eighteen values has more: its loop would run one cell at a time. There a stretch of a row
//! writes into a buffer, of which the compiler knows that nothing else lies there; then the buffer goes to the array,
//! component by component.

use std::mem::MaybeUninit;

use tida_kernels::element::ElementType;

use super::view::{AllView, Mode, TableView, View, ViewMut, Way};
use crate::memory::element::Element;

/// Cells of a stretch, at most.
pub const STRETCH: usize = 128;

/// Bytes that a cell may write, at most, so that a stretch stays in the first-level cache.
const BYTES: usize = 160;

/// Pairs of accesses that the compiler may compare.
const PAIRS: usize = 120;

/// Most components of an element that is staged.
const COMPONENTS: usize = 32;

/// Most arguments of a kernel.
const ARGS: usize = 16;

/// Where a stretch is written to.
#[repr(align(128))]
pub struct Buffer([MaybeUninit<u8>; STRETCH * BYTES]);

impl Buffer {
    /// One whose bytes are any.
    #[inline(always)]
    pub fn new() -> Buffer {
        Buffer([const { MaybeUninit::uninit() }; STRETCH * BYTES])
    }

    /// Where it starts.
    #[inline(always)]
    pub fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// The size of each component of an element, and the bytes of those before it.
struct Placed {
    list: [(usize, usize); COMPONENTS],
    count: usize,
    bytes: usize,
}

impl Placed {
    const fn of(ty: &ElementType) -> Placed {
        let empty = Placed { list: [(0, 0); COMPONENTS], count: 0, bytes: 0 };
        if ty.components() > COMPONENTS { empty } else { empty.with(ty) }
    }

    const fn with(mut self, ty: &ElementType) -> Placed {
        match ty {
            ElementType::Scalar(scalar) => {
                self.list[self.count] = (scalar.size(), self.bytes);
                self.count += 1;
                self.bytes += scalar.size();
                self
            }
            ElementType::Array { element, len } => {
                let mut n = 0;
                while n < *len && element.components() > 0 {
                    self = self.with(element);
                    n += 1;
                }
                self
            }
            ElementType::Struct { fields, .. } => {
                let mut n = 0;
                while n < fields.len() {
                    self = self.with(&fields[n].1);
                    n += 1;
                }
                self
            }
        }
    }
}

/// What is staged of an argument.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Components of an element.
    components: usize,
    /// They are written.
    written: bool,
    /// Bytes that a cell writes.
    bytes: usize,
}

impl Size {
    /// Nothing is staged.
    pub const NOTHING: Size = Size { components: 0, written: false, bytes: 0 };
}

/// A view whose cells may be staged.
pub trait StagedView<const D: usize> {
    /// What there is to stage.
    const SIZE: Size;

    /// Whether it is a whole array, of which cells may read several regions.
    const WHOLE: bool = false;

    /// How cells follow one another.
    const WAY: Way;

    /// Whether accesses are checked.
    const CHECKED: bool;

    /// Whether one region has all that is read of it.
    #[inline(always)]
    fn is_alone(&self) -> bool {
        true
    }

    /// Has its cells in a buffer: those of a stretch that starts at `first`.
    #[inline(always)]
    fn stage(&mut self, _memory: *mut u8, _first: [i64; D]) {}

    /// Copies a stretch of `n` cells between the array and a buffer.
    ///
    /// # Safety
    /// The buffer has room for a stretch of so many bytes a cell, the cells are in the array, and at most [`STRETCH`].
    /// No one else accesses those that are copied to it, or writes those that are copied from it.
    #[inline(always)]
    unsafe fn copy(&self, _memory: *mut u8, _first: [i64; D], _n: usize, _what: Copied) {}
}

/// Which cells of a stretch are copied.
#[derive(Clone, Copy, Debug)]
pub enum Copied {
    /// All, from the array to a buffer.
    There,
    /// All, back to the array.
    Back,
    /// The first one and every second one after it, back to the array.
    HalfBack,
}

/// Copies the first of `n` values and every second one after it. (It is written for the compiler to make vectors that
/// store some of their values.)
///
/// # Safety
/// Both places have so many values; no one else accesses those that are copied.
#[inline(always)]
unsafe fn copy_half<T: Copy>(from: *const u8, to: *mut u8, n: usize) {
    let (from, to) = (from.cast::<T>(), to.cast::<T>());
    for k in 0..n {
        if k % 2 == 0 {
            // SAFETY: the caller's promise.
            unsafe { to.add(k).write_unaligned(from.add(k).read_unaligned()) };
        }
    }
}

const fn read_only<T: Element>() -> Size {
    Size { components: T::TYPE.components(), written: false, bytes: 0 }
}

impl<T: Element, M: Mode, const D: usize> StagedView<D> for View<T, D, M> {
    const SIZE: Size = read_only::<T>();
    const WAY: Way = M::WAY;
    const CHECKED: bool = M::CHECKED;
}

impl<T: Element, M: Mode, const E: usize, const D: usize> StagedView<D> for AllView<T, E, M> {
    const SIZE: Size = read_only::<T>();
    const WAY: Way = M::WAY;
    const CHECKED: bool = M::CHECKED;
    const WHOLE: bool = true;
    #[inline(always)]
    fn is_alone(&self) -> bool {
        AllView::is_alone(self)
    }
}

impl<T: Element, M: Mode, const D: usize> StagedView<D> for TableView<T, M> {
    const SIZE: Size = read_only::<T>();
    const WAY: Way = M::WAY;
    const CHECKED: bool = M::CHECKED;
}

impl<T: Element, M: Mode, const D: usize> StagedView<D> for ViewMut<T, D, M> {
    const SIZE: Size = {
        let components = T::TYPE.components();
        let bytes = if components > COMPONENTS { BYTES + 1 } else { T::TYPE.bytes() };
        // Where reads are checked there are no vectors anyway.
        Size { components, written: !M::CHECKED, bytes: if M::CHECKED { 0 } else { bytes } }
    };
    const WAY: Way = M::WAY;
    const CHECKED: bool = M::CHECKED;

    #[inline(always)]
    fn stage(&mut self, memory: *mut u8, first: [i64; D]) {
        let raw = self.raw_mut();
        (raw.base, raw.cells, raw.origin, raw.strides) = (memory, STRETCH, first, [0; D]);
    }

    #[inline(always)]
    unsafe fn copy(&self, memory: *mut u8, first: [i64; D], n: usize, what: Copied) {
        let placed = const { Placed::of(&T::TYPE) };
        let (raw, position) = self.raw(first);
        for (size, before) in placed.list.into_iter().take(placed.count) {
            // SAFETY: the caller's promise: the row's cells are in the plane, and the buffer has a plane of a stretch
            // of each component.
            unsafe {
                let (cells, staged) =
                    (raw.base.add(raw.cells * before + position * size), memory.add(STRETCH * before));
                match (what, size) {
                    (Copied::There, _) => std::ptr::copy_nonoverlapping(cells, staged, n * size),
                    (Copied::Back, _) => std::ptr::copy_nonoverlapping(staged, cells, n * size),
                    (Copied::HalfBack, 1) => copy_half::<u8>(staged, cells, n),
                    (Copied::HalfBack, 2) => copy_half::<u16>(staged, cells, n),
                    (Copied::HalfBack, 4) => copy_half::<u32>(staged, cells, n),
                    (Copied::HalfBack, _) => copy_half::<u64>(staged, cells, n),
                }
            }
        }
    }
}

/// The views of a kernel.
pub trait StagedViews<const D: usize> {
    /// What there is to stage of each.
    const SIZES: [Size; ARGS];

    /// Whether there is a whole array among them.
    const WHOLE: bool;

    /// How cells follow one another.
    const WAY: Way;

    /// Whether accesses are checked.
    const CHECKED: bool;

    /// Whether one region has all that is read of each whole array.
    fn are_alone(&self) -> bool;

    /// Has the cells that are written in a buffer.
    fn stage(&mut self, memory: *mut u8, first: [i64; D]);

    /// Copies all that is written.
    ///
    /// # Safety
    /// As [`StagedView::copy`].
    unsafe fn copy(&self, memory: *mut u8, first: [i64; D], n: usize, what: Copied);
}

/// How many elements, and parts of elements, a cell of a kernel reads of each argument. Known as the kernel is built.
pub trait Reads {
    /// The counts; arguments after these are not read.
    const COUNTS: &'static [[u32; 2]];

    /// The axes, each a bit, along which it reads where half of a cell's place says.
    const HALVED: u32 = 0;

    /// Whether it is a few sums and products of a few reads, so that it may be written out for many cells.
    const PLAIN: bool = false;

    /// Whether it reads nothing of what it has written: that may lie elsewhere until the cell has ended.
    const BLIND: bool = false;
}

/// Not to be staged.
#[derive(Clone, Copy, Debug)]
pub struct NoReads;

impl Reads for NoReads {
    const COUNTS: &'static [[u32; 2]] = &[];
}

/// Whether the cells of a kernel are staged that reads so many elements and parts of elements of its arguments.
pub const fn is_staged(sizes: &[Size; ARGS], reads: &[[u32; 2]]) -> bool {
    !reads.is_empty() && has_room(sizes) && pairs(sizes, reads) > PAIRS
}

/// Whether the buffer has room for a stretch of cells.
pub const fn has_room(sizes: &[Size; ARGS]) -> bool {
    written(sizes).1 <= BYTES
}

/// Pairs of a store and another access of a cell.
pub const fn pairs(sizes: &[Size; ARGS], reads: &[[u32; 2]]) -> usize {
    let (written, _) = written(sizes);
    let (mut read, mut n) = (0usize, 0);
    while n < ARGS && n < reads.len() {
        let [whole, parts] = reads[n];
        read = read.saturating_add(sizes[n].components.saturating_mul(whole as usize)).saturating_add(parts as usize);
        n += 1;
    }
    let stores = written.saturating_mul(written.saturating_sub(1)) / 2;
    stores.saturating_add(written.saturating_mul(read))
}

/// Components and bytes that a cell writes.
const fn written(sizes: &[Size; ARGS]) -> (usize, usize) {
    let (mut components, mut bytes, mut n) = (0, 0, 0);
    while n < ARGS {
        if sizes[n].written {
            components += sizes[n].components;
            bytes += sizes[n].bytes;
        }
        n += 1;
    }
    (components, bytes)
}

macro_rules! tuple {
    ($($a:ident $n:tt),*) => {
        impl<const D: usize, $($a: StagedView<D>),*> StagedViews<D> for ($($a,)*) {
            const SIZES: [Size; ARGS] = {
                let mut sizes = [Size::NOTHING; ARGS];
                $(sizes[$n] = $a::SIZE;)*
                sizes
            };
            const WHOLE: bool = $($a::WHOLE)||*;
            const WAY: Way = Way::Any$(.and($a::WAY))*;
            const CHECKED: bool = $($a::CHECKED)||*;
            #[inline(always)]
            fn are_alone(&self) -> bool {
                $(self.$n.is_alone())&&*
            }
            #[inline(always)]
            fn stage(&mut self, memory: *mut u8, first: [i64; D]) {
                let mut before = 0;
                $(
                    self.$n.stage(memory.wrapping_add(before * STRETCH), first);
                    before += $a::SIZE.bytes;
                )*
                let _ = before;
            }
            #[inline(always)]
            unsafe fn copy(&self, memory: *mut u8, first: [i64; D], n: usize, what: Copied) {
                let mut before = 0;
                $(
                    // SAFETY: the caller's promise; what each argument has begins after those before it.
                    unsafe { self.$n.copy(memory.wrapping_add(before * STRETCH), first, n, what) };
                    before += $a::SIZE.bytes;
                )*
                let _ = before;
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, E 3);
tuple!(A 0, B 1, C 2, E 3, F 4);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, N 11);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, N 11, O 12);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, N 11, O 12, P 13);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, N 11, O 12, P 13, Q 14);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, N 11, O 12, P 13, Q 14, R 15);

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compute::view::{Checked, Proven};

    type Nine<M> = (ViewMut<[f64; 9], 2, M>, View<[f64; 9], 2, M>);

    fn staged<V: StagedViews<D>, const D: usize>(reads: &[[u32; 2]]) -> bool {
        is_staged(&V::SIZES, reads)
    }

    #[test]
    fn what_the_compiler_would_not_compare_is_staged() {
        // 36 pairs of stores, and nine stores with each of the reads.
        assert!(!staged::<Nine<Proven>, 2>(&[[0, 0], [0, 9]]));
        assert!(!staged::<Nine<Proven>, 2>(&[[0, 0], [1, 0]]));
        assert!(staged::<Nine<Proven>, 2>(&[[0, 0], [0, 18]]));
        assert!(staged::<Nine<Proven>, 2>(&[[0, 9], [0, 9]]));
        assert!(!staged::<Nine<Checked>, 2>(&[[0, 0], [0, 18]]));
        assert!(!staged::<(View<[f64; 9], 2, Proven>,), 2>(&[[0, 100]]));
        // Too much for the buffer, which a cell of nineteen numbers is not.
        assert!(staged::<(ViewMut<[f64; 19], 3, Proven>, View<[f64; 19], 3, Proven>), 3>(&[[0, 0], [0, 19]]));
        assert!(!staged::<(ViewMut<[f64; 27], 3, Proven>, View<[f64; 27], 3, Proven>), 3>(&[[0, 0], [0, 27]]));
        assert!(!staged::<(ViewMut<[u8; 40], 3, Proven>,), 3>(&[[0, 27]]));
    }

    #[test]
    fn components_are_placed_one_after_the_other() {
        const MIXED: ElementType = ElementType::Struct {
            name: "Mixed",
            fields: &[
                ("flag", bool::TYPE),
                ("mass", <[f64; 2]>::TYPE),
                ("none", <[[f64; 0]; 9]>::TYPE),
                ("kind", i32::TYPE),
            ],
        };
        let placed = Placed::of(&MIXED);
        assert_eq!(placed.list[..placed.count], [(1, 0), (8, 1), (8, 9), (4, 17)]);
        assert_eq!(placed.bytes, MIXED.bytes());
    }
}
