//! Methods of complex numbers that kernels call: those of `num-complex`, with its formulas and the order of its
//! operations. But `norm` is `hypot` there, whose bits are those of a library of C; here it has a formula.

mod values;

use num_complex::Complex;
use tida_kernels::element::ScalarType;
use tida_kernels::quote::StaticFunction;

use super::function::KernelFn;
use super::method::{KernelMethod, name_of};
use super::real::Real;

/// The bodies.
mod functions {
    use num_complex::Complex;

    use crate::Real;
    use crate::kernel_fn;

    #[kernel_fn]
    pub fn new<T: Real>(re: T, im: T) -> Complex<T> {
        Complex::<T> { re: re, im: im }
    }

    #[kernel_fn]
    pub fn i<T: Real>() -> Complex<T> {
        Complex::<T> { re: T::lit(0), im: T::lit(1) }
    }

    #[kernel_fn]
    pub fn conj<T: Real>(z: Complex<T>) -> Complex<T> {
        Complex::<T> { re: z.re, im: -z.im }
    }

    #[kernel_fn]
    pub fn norm_sqr<T: Real>(z: Complex<T>) -> T {
        z.re * z.re + z.im * z.im
    }

    #[kernel_fn]
    pub fn l1_norm<T: Real>(z: Complex<T>) -> T {
        z.re.abs() + z.im.abs()
    }

    /// The root of the sum of squares, rounded three times. Parts whose squares would be too large or too small for the
    /// type are multiplied by a power of two before, and the root by its inverse after, which is exact.
    #[kernel_fn]
    pub fn norm<T: Real>(z: Complex<T>) -> T {
        let most = z.re.abs().max(z.im.abs());
        let (scale, back) = if most > T::NORM_ABOVE {
            (T::NORM_DOWN, T::NORM_UP)
        } else if most < T::NORM_BELOW {
            (T::NORM_UP, T::NORM_DOWN)
        } else {
            (T::lit(1), T::lit(1))
        };
        let (re, im) = (z.re * scale, z.im * scale);
        // (Of an infinity and NaN it is infinite.)
        if most.is_infinite() { most } else { (re * re + im * im).sqrt() * back }
    }

    #[kernel_fn]
    pub fn to_polar<T: Real>(z: Complex<T>) -> (T, T) {
        (norm::<T>(z), arg::<T>(z))
    }

    #[kernel_fn]
    pub fn finv<T: Real>(z: Complex<T>) -> Complex<T> {
        let norm = norm::<T>(z);
        unscale::<T>(unscale::<T>(conj::<T>(z), norm), norm)
    }

    #[kernel_fn]
    pub fn fdiv<T: Real>(z: Complex<T>, w: Complex<T>) -> Complex<T> {
        z * finv::<T>(w)
    }

    /// By squares, from the lowest bit of the exponent up.
    #[kernel_fn]
    pub fn powu<T: Real>(z: Complex<T>, n: u32) -> Complex<T> {
        let mut power = Complex::<T> { re: T::lit(1), im: T::lit(0) };
        let (mut square, mut left, mut some) = (z, n, false);
        while left != 0 {
            if left & 1 == 1 {
                power = if some { power * square } else { square };
                some = true;
            }
            left = left >> 1;
            if left != 0 {
                square = square * square;
            }
        }
        power
    }

    #[kernel_fn]
    pub fn scale<T: Real>(z: Complex<T>, t: T) -> Complex<T> {
        Complex::<T> { re: z.re * t, im: z.im * t }
    }

    #[kernel_fn]
    pub fn unscale<T: Real>(z: Complex<T>, t: T) -> Complex<T> {
        Complex::<T> { re: z.re / t, im: z.im / t }
    }

    #[kernel_fn]
    pub fn inv<T: Real>(z: Complex<T>) -> Complex<T> {
        let square = norm_sqr::<T>(z);
        Complex::<T> { re: z.re / square, im: -z.im / square }
    }

    #[kernel_fn]
    pub fn arg<T: Real>(z: Complex<T>) -> T {
        z.im.atan2(z.re)
    }

    #[kernel_fn]
    pub fn cis<T: Real>(phase: T) -> Complex<T> {
        Complex::<T> { re: phase.cos(), im: phase.sin() }
    }

    #[kernel_fn]
    pub fn from_polar<T: Real>(r: T, theta: T) -> Complex<T> {
        Complex::<T> { re: r * theta.cos(), im: r * theta.sin() }
    }
}

macro_rules! methods {
    ($($name:ident($($arg:ty),*) -> $result:ty;)*) => {$(
        // SAFETY: they are those of the function.
        unsafe impl<T: Real> KernelMethod<{ name_of(stringify!($name)) }> for Complex<T> {
            type Args = ($($arg,)*);
            type Output = $result;
            const QUOTE: &'static StaticFunction = <functions::$name<T> as KernelFn>::QUOTE;
            #[inline(always)]
            fn forms() -> (
                impl Fn(Self::Args) -> $result,
                impl AsRef<[ScalarType]>,
                impl AsRef<[&'static StaticFunction]>,
            ) {
                <functions::$name<T> as KernelFn>::forms()
            }
        }
    )*};
}

methods! {
    new(T, T) -> Complex<T>;
    i() -> Complex<T>;
    conj(Complex<T>) -> Complex<T>;
    norm_sqr(Complex<T>) -> T;
    l1_norm(Complex<T>) -> T;
    norm(Complex<T>) -> T;
    to_polar(Complex<T>) -> (T, T);
    finv(Complex<T>) -> Complex<T>;
    fdiv(Complex<T>, Complex<T>) -> Complex<T>;
    powu(Complex<T>, u32) -> Complex<T>;
    scale(Complex<T>, T) -> Complex<T>;
    unscale(Complex<T>, T) -> Complex<T>;
    inv(Complex<T>) -> Complex<T>;
    arg(Complex<T>) -> T;
    cis(T) -> Complex<T>;
    from_polar(T, T) -> Complex<T>;
}
