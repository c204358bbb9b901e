//! Complex numbers as elements.

use num_complex::Complex;
use tida_kernels::element::ElementType;

use super::element::{Element, Place, Values, field};
use crate::compute::capture;

/// A complex number in memory: a plane for each part.
#[doc(hidden)]
#[derive(Debug)]
pub struct ComplexPlace<T: Element> {
    /// The real part.
    pub re: T::Place,
    /// The imaginary part.
    pub im: T::Place,
}

macro_rules! complex {
    ($($t:ty, $name:literal;)*) => {$(
        // SAFETY: `TYPE` lists the parts in order, the plane of `im` starts after that of `re`, and zeros are valid.
        unsafe impl Element for Complex<$t> {
            const TYPE: ElementType =
                ElementType::Struct { name: $name, fields: &[("re", <$t>::TYPE), ("im", <$t>::TYPE)] };
            type Place = ComplexPlace<$t>;
            #[inline(always)]
            unsafe fn place(base: *mut u8, cells: usize, index: usize) -> ComplexPlace<$t> {
                // SAFETY: both planes lie inside those of the element; the rest is the caller's promise.
                unsafe {
                    ComplexPlace {
                        re: field::<$t>(base, cells, 0, index),
                        im: field::<$t>(base, cells, size_of::<$t>(), index),
                    }
                }
            }
            fn values(of: &Self, to: &mut Values<'_>) {
                <$t>::values(&of.re, to);
                <$t>::values(&of.im, to);
            }
        }

        // SAFETY: it is an element.
        unsafe impl capture::PlainValue for Complex<$t> {
            const TYPE: ElementType = <Self as Element>::TYPE;
            fn values(&self, to: &mut Values<'_>) {
                Element::values(self, to);
            }
        }

        impl Place for ComplexPlace<$t> {
            type Value = Complex<$t>;
            #[inline(always)]
            unsafe fn load(&self) -> Complex<$t> {
                // SAFETY: the caller's promise, for each part.
                unsafe { Complex { re: self.re.load(), im: self.im.load() } }
            }
            #[inline(always)]
            unsafe fn store(&self, value: Complex<$t>) {
                // SAFETY: as above.
                unsafe {
                    self.re.store(value.re);
                    self.im.store(value.im);
                }
            }
        }
    )*};
}

complex! {
    f32, "Complex32";
    f64, "Complex64";
}
