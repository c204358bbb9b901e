//! Copies of boxes by the host, as the emitted kernel does them (`tida_kernels::emit::copies`), at the speed of memory.

use tida_kernels::codec::{Code, Codec, Rounded};
use tida_kernels::element::ScalarType;
use tida_kernels::emit::copies::{BoxCopy, From, Kind, Place};

/// Rows at least this long are copied as rows; shorter ones across, along the axis before.
const SHORT_ROW: u64 = 8;

/// A type whose values ghosts are made of. Floats are not contracted; integers wrap.
trait Number: Copy {
    fn of_bits(bits: u64) -> Self;
    fn negated(self) -> Self;
    /// `near + distance * (near - far)`
    fn line(near: Self, far: Self, distance: i64) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Number for $t {
            fn of_bits(bits: u64) -> $t {
                bits as $t
            }
            fn negated(self) -> $t {
                self.wrapping_neg()
            }
            fn line(near: $t, far: $t, distance: i64) -> $t {
                near.wrapping_add((distance as $t).wrapping_mul(near.wrapping_sub(far)))
            }
        }
    )*};
}

macro_rules! floats {
    ($($t:ty, $bits:ty;)*) => {$(
        impl Number for $t {
            fn of_bits(bits: u64) -> $t {
                <$t>::from_bits(bits as $bits)
            }
            fn negated(self) -> $t {
                -self
            }
            fn line(near: $t, far: $t, distance: i64) -> $t {
                near + distance as $t * (near - far)
            }
        }
    )*};
}

// Two's complement makes signed and unsigned arithmetic the same.
integers!(u8 u16 u32 u64);
floats! {
    f32, u32;
    f64, u64;
}

/// A memory that is written, and those of a copy's sources: often the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memories {
    pub to: *mut u8,
    /// That of the only or near source, and that of the far one.
    pub from: [*const u8; 2],
}

/// Does a copy, for what a kernel of its `kind` would be.
///
/// # Safety
/// The memories hold the places of the copy, in values of the kind's scalar type and aligned for it. No one else
/// touches what is set, nor writes what is read; the copy reads nothing that it sets.
pub(crate) unsafe fn copy_box(kind: &Kind, copy: &BoxCopy, memories: Memories) {
    // SAFETY: types of one size have the same memory layout; the rest is the caller's promise.
    unsafe {
        match (kind, kind.scalar().size()) {
            (Kind::Codes(codec), 1) => coded::<u8>(copy, codec, memories),
            (Kind::Codes(codec), 2) => coded::<u16>(copy, codec, memories),
            (Kind::Codes(codec), _) => coded::<u32>(copy, codec, memories),
            (Kind::Rounded(codec), 4) => rounded::<f32>(copy, codec, memories),
            (Kind::Rounded(codec), _) => rounded::<f64>(copy, codec, memories),
            (Kind::Scalar(ScalarType::F32), _) => plain::<f32>(copy, memories),
            (Kind::Scalar(ScalarType::F64), _) => plain::<f64>(copy, memories),
            (Kind::Scalar(_), 1) => plain::<u8>(copy, memories),
            (Kind::Scalar(_), 2) => plain::<u16>(copy, memories),
            (Kind::Scalar(_), 4) => plain::<u32>(copy, memories),
            (Kind::Scalar(_), _) => plain::<u64>(copy, memories),
        }
    }
}

/// Calls `f` for each line of the box with where it starts in each place, the steps along it and its length: for its
/// rows, or where these are short the lines along the axis before. (Compiled once: copies of each type call it.)
fn lines(extent: &[u64; 4], places: [&Place; 3], f: &mut dyn FnMut([usize; 3], [usize; 3], usize)) {
    let across = extent[3] < SHORT_ROW && extent[2] > extent[3];
    let (axis, others) = if across { (2, [0, 1, 3]) } else { (3, [0, 1, 2]) };
    let (steps, length) = (places.map(|place| place.steps[axis] as usize), extent[axis] as usize);
    let onwards = |at: [u64; 3], axis: usize, n: u64| {
        let mut there = at;
        for (at, place) in there.iter_mut().zip(places) {
            *at += n * place.steps[axis];
        }
        there
    };
    let first = places.map(|place| place.first);
    for a in 0..extent[others[0]] {
        for b in 0..extent[others[1]] {
            let at = onwards(onwards(first, others[0], a), others[1], b);
            for c in 0..extent[others[2]] {
                f(onwards(at, others[2], c).map(|at| at as usize), steps, length);
            }
        }
    }
}

/// # Safety
/// As [`copy_box`], of a type laid out as `S`.
unsafe fn plain<S: Number>(copy: &BoxCopy, memories: Memories) {
    // SAFETY: handed on.
    unsafe { set(copy, memories, S::negated, S::line) }
}

/// # Safety
/// As [`copy_box`], of codes laid out as `S`.
unsafe fn coded<S: Number + Code>(copy: &BoxCopy, codec: &Codec, memories: Memories) {
    // SAFETY: handed on.
    unsafe { set(copy, memories, |a: S| codec.negated(a), |near, far, by| codec.line(near, far, by)) }
}

/// # Safety
/// As [`copy_box`], of the type `S`, which the codec is for.
unsafe fn rounded<S: Number + Rounded>(copy: &BoxCopy, codec: &Codec, memories: Memories) {
    let line = |near, far, by| S::line(near, far, by).rounded(codec);
    // SAFETY: handed on.
    unsafe { set(copy, memories, |a: S| a.negated().rounded(codec), line) }
}

/// # Safety
/// As [`copy_box`], of a type laid out as `S`.
unsafe fn set<S: Number>(copy: &BoxCopy, memories: Memories, negated: impl Fn(S) -> S, line: impl Fn(S, S, i64) -> S) {
    let (to, [near_in, far_in]) = (memories.to.cast::<S>(), memories.from.map(|from| from.cast::<S>()));
    let (to, near_in, far_in) = (|at| to.wrapping_add(at), |at| near_in.wrapping_add(at), |at| far_in.wrapping_add(at));
    // SAFETY, of all below: lines have n cells inside their memories, and what is set is not its own source.
    // (Places that a copy has not are those of what is set.)
    let to_place = &copy.to;
    match &copy.from {
        From::Box(source) => lines(&copy.extent, [to_place, source, to_place], &mut |[at, from, _], steps, n| {
            let (to, from) = (to(at), near_in(from));
            // SAFETY: as said.
            unsafe {
                match steps {
                    [1, 1, _] => std::ptr::copy_nonoverlapping(from, to, n),
                    [step, stride, _] => (0..n).for_each(|i| to.add(i * step).write(from.add(i * stride).read())),
                }
            }
        }),
        From::Negated(source) => {
            lines(&copy.extent, [to_place, source, to_place], &mut |[at, from, _], [step, stride, _], n| {
                let (to, from) = (to(at), near_in(from));
                // SAFETY: as said.
                (0..n).for_each(|i| unsafe { to.add(i * step).write(negated(from.add(i * stride).read())) });
            });
        }
        From::Line { near, far, distance } => {
            lines(&copy.extent, [to_place, near, far], &mut |[at, near, far], [step, stride, pace], n| {
                let (to, near, far) = (to(at), near_in(near), far_in(far));
                // SAFETY: as said.
                let value = |i| unsafe { line(near.add(i * stride).read(), far.add(i * pace).read(), *distance) };
                // SAFETY: as said.
                (0..n).for_each(|i| unsafe { to.add(i * step).write(value(i)) });
            });
        }
        From::Constant(bits) => {
            lines(&copy.extent, [to_place; 3], &mut |[at, ..], [step, ..], n| {
                let to = to(at);
                // SAFETY: as said.
                (0..n).for_each(|i| unsafe { to.add(i * step).write(S::of_bits(*bits)) });
            });
        }
    }
}
