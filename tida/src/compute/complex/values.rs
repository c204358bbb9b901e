//! Complex numbers as elements, and as captured values.

use num_complex::Complex;
use tida_kernels::element::{ElementType, ScalarType};

use crate::compute::real::Real;
use crate::launch::capture;
use crate::launch::capture::PlainValue;
use crate::memory::element::{Element, Place, Values, field};

/// A complex number in memory: a plane for each part.
#[doc(hidden)]
#[derive(Debug)]
pub struct ComplexPlace<T: Element> {
    /// The real part.
    pub re: T::Place,
    /// The imaginary part.
    pub im: T::Place,
}

/// The name by which the kernel compiler knows complex numbers of these parts.
const fn name_of(part: &ElementType) -> &'static str {
    match part {
        ElementType::Scalar(ScalarType::F32) => "Complex32",
        _ => "Complex64",
    }
}

// SAFETY: `TYPE` lists the parts in order, the plane of `im` starts after that of `re`, and zeros are valid.
unsafe impl<T: Real> Element for Complex<T> {
    const TYPE: ElementType = ElementType::Struct {
        name: name_of(&<T as Element>::TYPE),
        fields: &[("re", <T as Element>::TYPE), ("im", <T as Element>::TYPE)],
    };
    type Place = ComplexPlace<T>;
    #[inline(always)]
    unsafe fn place(base: *mut u8, cells: usize, index: usize) -> ComplexPlace<T> {
        // SAFETY: both planes lie inside those of the element; the rest is the caller's promise.
        unsafe {
            ComplexPlace { re: field::<T>(base, cells, 0, index), im: field::<T>(base, cells, size_of::<T>(), index) }
        }
    }
    fn values(of: &Self, to: &mut Values<'_>) {
        <T as Element>::values(&of.re, to);
        <T as Element>::values(&of.im, to);
    }
}

// SAFETY: it is an element.
unsafe impl<T: Real> PlainValue for Complex<T> {
    const TYPE: ElementType = <Self as Element>::TYPE;
    fn values(&self, to: &mut Values<'_>) {
        Element::values(self, to);
    }
}

impl<T: Real> capture::PlainEntry for Complex<T> {}

impl<T: Real> capture::Capture for Complex<T> {
    type Held = capture::Plain<Complex<T>>;
    #[inline(always)]
    fn hold(&self) -> capture::Plain<Complex<T>> {
        capture::Plain::of(*self)
    }
}

impl<T: Real> capture::CapturedParam for capture::Plain<Complex<T>> {
    fn describe(&self, list: &mut capture::Captures) {
        capture::describe_whole(self, list);
    }
    fn is(&self, described: &capture::CapturedValue) -> bool {
        capture::is_whole(self, described)
    }
}

impl<T: Real> capture::Captured for capture::Plain<Complex<T>> {
    type Value = Complex<T>;
    #[inline(always)]
    fn value(&self) -> Complex<T> {
        self.plain()
    }
}

impl<T: Real> Place for ComplexPlace<T> {
    type Value = Complex<T>;
    #[inline(always)]
    unsafe fn load(&self) -> Complex<T> {
        // SAFETY: the caller's promise, for each part.
        unsafe { Complex { re: self.re.load(), im: self.im.load() } }
    }
    #[inline(always)]
    unsafe fn store(&self, value: Complex<T>) {
        // SAFETY: as above.
        unsafe {
            self.re.store(value.re);
            self.im.store(value.im);
        }
    }
}
