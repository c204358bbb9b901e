//! Methods of complex numbers that kernels call: those of `num-complex`, with its formulas and the order of its
//! operations.

use num_complex::Complex;
use tida_kernels::element::ScalarType;
use tida_kernels::quote::StaticFunction;

use super::method::{KernelMethod, name_of};
use super::real::Real;
use crate::__private::KernelFn;

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
    scale(Complex<T>, T) -> Complex<T>;
    unscale(Complex<T>, T) -> Complex<T>;
    inv(Complex<T>) -> Complex<T>;
    arg(Complex<T>) -> T;
    cis(T) -> Complex<T>;
    from_polar(T, T) -> Complex<T>;
}
