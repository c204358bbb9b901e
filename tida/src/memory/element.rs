//! What arrays hold.

use tida_kernels::each_scalar;
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::scalar::Value;

use crate::sealed::Sealed;

/// A type that arrays can hold: `i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 bool`, fixed-size arrays of elements, and
/// structs by `#[derive(Element)]`. With the feature `num-complex` also `num_complex::Complex32` and `Complex64`.
///
/// ```
/// use tida::prelude::*;
/// #[derive(Clone, Copy, Debug, PartialEq, Element)]
/// struct Flow {
///     density: f64,
///     speed: [f64; 2],
/// }
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::auto()?;
/// let mut flow = TileArray::<Flow, 1>::builder([3]).build(&acc)?;
/// for tile in TileIter::new(&flow) {
///     compute(&tile, &mut flow, kernel!(|flow, at| {
///         flow[at].density = 2.0;
///         flow[at].speed[1] = at[0] as f64;
///     }))?;
/// }
/// assert_eq!(flow.read_box(flow.domain())?[1], Flow { density: 2.0, speed: [0.0, 1.0] });
/// # Ok(()) }
/// ```
///
/// Each component (a scalar that it is made of) has a plane of its own in a region's memory. Component `c` of the
/// element at position `i` lies at `base + cells · (bytes of the components before c) + i · size(c)`.
///
/// # Safety
/// `TYPE` describes the type, `Place` reads and writes exactly its components as said above, `values` gives them, and every bit pattern of
/// all zeros is a valid value. Neither the type nor its `Place` is `Deref`. The derive implements it; do not write it
/// by hand.
#[diagnostic::on_unimplemented(
    message = "arrays and kernels cannot hold `{Self}`",
    label = "no element",
    note = "elements are `i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 bool`, fixed-size arrays of elements, and structs of \
            them with `#[derive(Element)]`"
)]
pub unsafe trait Element: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// What it is made of.
    #[doc(hidden)]
    const TYPE: ElementType;

    /// One element in memory.
    #[doc(hidden)]
    type Place: Place<Value = Self>;

    /// The element at position `index` of planes of `cells` elements that start at `base`.
    ///
    /// # Safety
    /// The planes are live memory, aligned for their scalars, and `index < cells` (or `cells` is 0 and every component
    /// lies at `base`).
    #[doc(hidden)]
    unsafe fn place(base: *mut u8, cells: usize, index: usize) -> Self::Place;

    /// Gives the components of a value, in order.
    #[doc(hidden)]
    fn values(of: &Self, to: &mut Values<'_>);
}

/// What takes components of a value, one after the other.
pub type Values<'a> = dyn FnMut(Value) + 'a;

/// One element in memory, all of it or a part.
#[doc(hidden)]
pub trait Place {
    /// What is there.
    type Value;
    /// Reads it.
    ///
    /// # Safety
    /// The memory that the place was made for is still there, and nobody writes it meanwhile.
    unsafe fn load(&self) -> Self::Value;
    /// Writes it.
    ///
    /// # Safety
    /// As for [`Place::load`]; the place was made for writing, and nobody reads it meanwhile.
    unsafe fn store(&self, value: Self::Value);
}

/// A scalar in memory.
#[doc(hidden)]
#[derive(Debug)]
pub struct ScalarPlace<T>(*mut T);

/// An array of elements in memory.
#[doc(hidden)]
#[derive(Debug)]
pub struct ArrayPlace<T, const N: usize> {
    base: *mut u8,
    cells: usize,
    index: usize,
    marker: std::marker::PhantomData<T>,
}

#[diagnostic::on_unimplemented(
    message = "`{Self}` is no scalar",
    label = "not one number",
    note = "what the threads of a group share and fetch are scalars: the parts of other values are shared one by one"
)]
/// An element that is one scalar: `i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 bool`. No other type implements it.
pub trait ScalarElement: Element + Sealed {
    /// Its type.
    #[doc(hidden)]
    const SCALAR: ScalarType;
    /// The value's bits, zero-extended.
    fn bits(self) -> u64;
}

macro_rules! scalar {
    (() $($t:ident $variant:ident)*) => {$(
        // SAFETY: one component, at `base + index · size`; zero is a valid value of every number.
        unsafe impl Element for $t {
            const TYPE: ElementType = ElementType::Scalar(ScalarType::$variant);
            type Place = ScalarPlace<$t>;
            #[inline(always)]
            unsafe fn place(base: *mut u8, _cells: usize, index: usize) -> ScalarPlace<$t> {
                // SAFETY: the caller's promise.
                ScalarPlace(unsafe { base.cast::<$t>().add(index) })
            }
            fn values(of: &Self, to: &mut Values<'_>) {
                to(Value::$variant(*of));
            }
        }
        impl Sealed for $t {}
        impl ScalarElement for $t {
            const SCALAR: ScalarType = ScalarType::$variant;
            fn bits(self) -> u64 {
                Value::$variant(self).bits()
            }
        }
        impl Place for ScalarPlace<$t> {
            type Value = $t;
            #[inline(always)]
            unsafe fn load(&self) -> $t {
                // SAFETY: who made the place promised aligned memory of this type, and the caller that it is there.
                unsafe { self.0.read() }
            }
            #[inline(always)]
            unsafe fn store(&self, value: $t) {
                // SAFETY: as for `load`.
                unsafe { self.0.write(value) }
            }
        }
    )*};
}

each_scalar!(numbers scalar!());

// SAFETY: one byte; only 0 and 1 are ever stored, and memory starts as zeros.
unsafe impl Element for bool {
    const TYPE: ElementType = ElementType::Scalar(ScalarType::Bool);
    type Place = ScalarPlace<bool>;
    #[inline(always)]
    unsafe fn place(base: *mut u8, _cells: usize, index: usize) -> ScalarPlace<bool> {
        // SAFETY: the caller's promise.
        ScalarPlace(unsafe { base.cast::<bool>().add(index) })
    }
    fn values(of: &Self, to: &mut Values<'_>) {
        to(Value::Bool(*of));
    }
}

impl Sealed for bool {}

impl ScalarElement for bool {
    const SCALAR: ScalarType = ScalarType::Bool;
    fn bits(self) -> u64 {
        self as u64
    }
}

impl Place for ScalarPlace<bool> {
    type Value = bool;
    #[inline(always)]
    unsafe fn load(&self) -> bool {
        // SAFETY: live memory; read as a byte, since foreign code may have left any value in it.
        unsafe { self.0.cast::<u8>().read() != 0 }
    }
    #[inline(always)]
    unsafe fn store(&self, value: bool) {
        // SAFETY: as for `load`.
        unsafe { self.0.cast::<u8>().write(value as u8) }
    }
}

// SAFETY: N elements, each with its planes after those of the one before.
unsafe impl<T: Element, const N: usize> Element for [T; N] {
    const TYPE: ElementType = ElementType::Array { element: &T::TYPE, len: N };
    type Place = ArrayPlace<T, N>;
    #[inline(always)]
    unsafe fn place(base: *mut u8, cells: usize, index: usize) -> ArrayPlace<T, N> {
        ArrayPlace { base, cells, index, marker: std::marker::PhantomData }
    }
    fn values(of: &Self, to: &mut Values<'_>) {
        of.iter().for_each(|entry| T::values(entry, to));
    }
}

impl<T: Element, const N: usize> ArrayPlace<T, N> {
    /// Entry `entry`; past the end it raises a fault and takes entry 0.
    #[inline(always)]
    fn component(&self, entry: usize) -> T::Place {
        let entry = if entry < N {
            entry
        } else {
            tida_kernels::scalar::fault::raise(tida_kernels::scalar::Fault::Entry {
                index: entry as u64,
                len: N as u64,
            });
            0
        };
        // Known as the kernel is compiled: a call for every access costs more than the access.
        let bytes = const { T::TYPE.bytes() };
        // SAFETY: entry < N, so its planes lie inside those of the array; the rest is the maker's promise.
        unsafe { T::place(self.base.add(self.cells * bytes * entry), self.cells, self.index) }
    }
}

impl<T: Element, const N: usize> Place for ArrayPlace<T, N> {
    type Value = [T; N];
    #[inline(always)]
    unsafe fn load(&self) -> [T; N] {
        // SAFETY: the caller's promise, for each entry.
        std::array::from_fn(|entry| unsafe { self.component(entry).load() })
    }
    #[inline(always)]
    unsafe fn store(&self, value: [T; N]) {
        for (entry, v) in value.into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { self.component(entry).store(v) }
        }
    }
}

/// `place[entry]`; past the end it raises a fault and is entry 0.
#[inline(always)]
pub fn component<T: Element, const N: usize>(place: &ArrayPlace<T, N>, entry: usize) -> T::Place {
    place.component(entry)
}

/// What a place holds.
///
/// # Safety
/// As [`Place::load`].
#[inline(always)]
pub unsafe fn load<P: Place>(place: &P) -> P::Value {
    // SAFETY: the caller's promise.
    unsafe { place.load() }
}

/// Writes to a place.
///
/// # Safety
/// As [`Place::store`].
#[inline(always)]
pub unsafe fn store<P: Place>(place: &P, value: P::Value) {
    // SAFETY: the caller's promise.
    unsafe { place.store(value) }
}

/// The place of a field whose planes come after `before` bytes a cell.
///
/// # Safety
/// As [`Element::place`], of the struct.
#[inline(always)]
pub unsafe fn field<T: Element>(base: *mut u8, cells: usize, before: usize, index: usize) -> T::Place {
    // SAFETY: the planes of the field lie inside those of the struct, which the caller has promised.
    unsafe { T::place(base.add(cells * before), cells, index) }
}

/// Bytes of an element.
pub const fn bytes(ty: &ElementType) -> usize {
    ty.bytes()
}

/// Tells types that are `Deref` from others: [`Derefs::DEREFS`] is found before [`NotDeref::DEREFS`].
#[derive(Debug)]
pub struct Derefs<T: ?Sized>(std::marker::PhantomData<T>);

impl<T: ?Sized + std::ops::Deref> Derefs<T> {
    /// It is.
    pub const DEREFS: bool = true;
}

/// What is not found to be `Deref`.
pub trait NotDeref {
    /// It is not.
    const DEREFS: bool = false;
}

impl<T: ?Sized> NotDeref for Derefs<T> {}
