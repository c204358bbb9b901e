//! Copies of boxes, as the emitted kernel does them (`tida_kernels::emit::copies`).

use std::ptr;

use tida_kernels::codec::{Code, Codec, Rounded};
use tida_kernels::element::ScalarType;
use tida_kernels::emit::copies::{BoxCopy, From, Kind, Place};

/// The bits of a value, computed with as ghosts need it. Floats are not contracted; integers wrap.
trait Word: Copy {
    fn of_bits(bits: u64) -> Self;
    fn negated(self) -> Self;
    /// `near + distance * (near - far)`
    fn line(near: Self, far: Self, distance: i64) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Word for $t {
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

integers!(u8 u16 u32 u64);

macro_rules! floats {
    ($($t:ty, $bits:ty;)*) => {$(
        impl Word for $t {
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

floats! {
    f32, u32;
    f64, u64;
}

/// Does the copies, for the scalar type whose emitted kernel would.
///
/// # Safety
/// The addresses are those of live memory that holds all places, in values of that type, and no one else touches what
/// is touched.
pub(super) unsafe fn run(kind: Kind, list: &[BoxCopy], to: u64, from: u64) {
    for copy in list {
        // SAFETY: the caller's promise.
        unsafe {
            let scalar = match kind {
                Kind::Scalar(scalar) => scalar,
                Kind::Codes(codec) => {
                    match codec.code().size() {
                        1 => coded_box::<u8>(&codec, copy, to, from),
                        2 => coded_box::<u16>(&codec, copy, to, from),
                        _ => coded_box::<u32>(&codec, copy, to, from),
                    }
                    continue;
                }
                Kind::Rounded(codec) => {
                    match codec.value() {
                        ScalarType::F32 => rounded_box::<f32>(&codec, copy, to, from),
                        _ => rounded_box::<f64>(&codec, copy, to, from),
                    }
                    continue;
                }
            };
            match scalar {
                ScalarType::F32 => copy_box::<f32>(copy, to, from),
                ScalarType::F64 => copy_box::<f64>(copy, to, from),
                _ if scalar.size() == 1 => copy_box::<u8>(copy, to, from),
                _ if scalar.size() == 2 => copy_box::<u16>(copy, to, from),
                _ if scalar.size() == 4 => copy_box::<u32>(copy, to, from),
                _ => copy_box::<u64>(copy, to, from),
            }
        }
    }
}

/// # Safety
/// As [`run`].
unsafe fn copy_box<W: Word>(copy: &BoxCopy, to: u64, from: u64) {
    // SAFETY: handed on.
    unsafe { set_box(copy, to, from, W::of_bits, W::negated, W::line) }
}

/// # Safety
/// As [`run`].
unsafe fn coded_box<W: Word + Code>(codec: &Codec, copy: &BoxCopy, to: u64, from: u64) {
    let negated = |code: W| codec.negated(code);
    // SAFETY: handed on.
    unsafe { set_box(copy, to, from, W::of_bits, negated, |near, far, by| codec.line(near, far, by)) }
}

/// # Safety
/// As [`run`].
unsafe fn rounded_box<W: Word + Rounded>(codec: &Codec, copy: &BoxCopy, to: u64, from: u64) {
    let negated = |a: W| a.negated().rounded(codec);
    // SAFETY: handed on.
    unsafe { set_box(copy, to, from, W::of_bits, negated, |near, far, by| W::line(near, far, by).rounded(codec)) }
}

/// # Safety
/// As [`run`].
unsafe fn set_box<W: Copy>(
    copy: &BoxCopy,
    to: u64,
    from: u64,
    of_bits: impl Fn(u64) -> W,
    negated: impl Fn(W) -> W,
    line: impl Fn(W, W, i64) -> W,
) {
    let to: *mut W = ptr::with_exposed_provenance_mut(to as usize);
    let from: *const W = ptr::with_exposed_provenance(from as usize);
    let [n0, n1, n2, n3] = copy.extent;
    let rows = (0..n0).flat_map(|a| (0..n1).flat_map(move |b| (0..n2).map(move |c| [a, b, c])));
    for row in rows {
        let start = |place: &Place| (0..3).fold(place.first, |at, d| at + row[d] * place.steps[d]) as usize;
        let at = |place: &Place, n: u64| start(place) + (n * place.steps[3]) as usize;
        // SAFETY: the caller's promise: all of these are places of the box.
        let read = |place: &Place, n: u64| unsafe { from.add(at(place, n)).read() };
        for n in 0..n3 {
            let value = match &copy.from {
                From::Box(place) => read(place, n),
                From::Negated(place) => negated(read(place, n)),
                From::Line { near, far, distance } => line(read(near, n), read(far, n), *distance),
                From::Constant(bits) => of_bits(*bits),
            };
            // SAFETY: as above.
            unsafe { to.add(at(&copy.to, n)).write(value) };
        }
    }
}
