//! Arithmetic of complex numbers.
//!
//! The formulas and the order of their operations are those of the crate `num-complex`. `ir::lower::complex` has the
//! same ones. They are written here once more because that crate's own are not for a type parameter that is a float.

use num_complex::Complex;

use super::{Arithmetic, Equal, Float, With, sealed};

impl<T: Float> sealed::Sealed for Complex<T> {}
impl<T: Float> Equal for Complex<T> {}

fn square<T: Float>(z: Complex<T>) -> T {
    z.re.mul(z.re).add(z.im.mul(z.im))
}

impl<T: Float> With<Complex<T>> for Complex<T> {
    type Output = Complex<T>;
    #[inline(always)]
    fn add(self, b: Complex<T>) -> Complex<T> {
        Complex { re: self.re.add(b.re), im: self.im.add(b.im) }
    }
    #[inline(always)]
    fn sub(self, b: Complex<T>) -> Complex<T> {
        Complex { re: self.re.sub(b.re), im: self.im.sub(b.im) }
    }
    #[inline(always)]
    fn mul(self, b: Complex<T>) -> Complex<T> {
        let re = self.re.mul(b.re).sub(self.im.mul(b.im));
        Complex { re, im: self.re.mul(b.im).add(self.im.mul(b.re)) }
    }
    #[inline(always)]
    fn div(self, b: Complex<T>) -> Complex<T> {
        let square = square(b);
        let re = self.re.mul(b.re).add(self.im.mul(b.im));
        let im = self.im.mul(b.re).sub(self.re.mul(b.im));
        Complex { re: re.div(square), im: im.div(square) }
    }
}

impl<T: Float> Arithmetic for Complex<T> {
    #[inline(always)]
    fn neg(self) -> Complex<T> {
        Complex { re: self.re.neg(), im: self.im.neg() }
    }
}

/// A real number on the right.
impl<T: Float> With<T> for Complex<T> {
    type Output = Complex<T>;
    #[inline(always)]
    fn add(self, b: T) -> Complex<T> {
        Complex { re: self.re.add(b), im: self.im }
    }
    #[inline(always)]
    fn sub(self, b: T) -> Complex<T> {
        Complex { re: self.re.sub(b), im: self.im }
    }
    #[inline(always)]
    fn mul(self, b: T) -> Complex<T> {
        Complex { re: self.re.mul(b), im: self.im.mul(b) }
    }
    #[inline(always)]
    fn div(self, b: T) -> Complex<T> {
        Complex { re: self.re.div(b), im: self.im.div(b) }
    }
}

macro_rules! real_on_the_left {
    ($($t:ident)*) => {$(
        impl With<Complex<$t>> for $t {
            type Output = Complex<$t>;
            #[inline(always)]
            fn add(self, b: Complex<$t>) -> Complex<$t> {
                Complex { re: self + b.re, im: b.im }
            }
            #[inline(always)]
            fn sub(self, b: Complex<$t>) -> Complex<$t> {
                Complex { re: self - b.re, im: 0.0 - b.im }
            }
            #[inline(always)]
            fn mul(self, b: Complex<$t>) -> Complex<$t> {
                Complex { re: self * b.re, im: self * b.im }
            }
            #[inline(always)]
            fn div(self, b: Complex<$t>) -> Complex<$t> {
                let square = square(b);
                Complex { re: self * b.re / square, im: 0.0 - self * b.im / square }
            }
        }
    )*};
}

// (Not for every float at once: rustc would then offer a complex number for each type parameter without a bound.)
real_on_the_left!(f32 f64);
