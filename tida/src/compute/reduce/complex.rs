//! Sums and products of complex numbers.

use num_complex::Complex;
use tida_kernels::plan::FoldOp;
use tida_kernels::scalar::ops;

use super::ops::{Foldable, Product, Reducible, Reduction, Sum};
use crate::compute::real::Real;
use crate::grid::GridBox;

impl<T: Real> Foldable for Complex<T> {
    const SOME: Complex<T> = Complex { re: <T as Reducible>::ZERO, im: <T as Reducible>::ZERO };
}

/// Each part by itself: a device folds them so.
impl<T: Real> Reduction<Complex<T>> for Sum {
    type Partial = Complex<T>;
    type Output<const D: usize> = Complex<T>;
    const OF_NOTHING: bool = true;
    const FOLD: FoldOp = FoldOp::Sum;
    const COMBINE: Option<fn(Complex<T>, Complex<T>) -> Complex<T>> = None;
    const BY_PARTS: bool = true;
    fn folded(self, [re, im]: [u64; 2], _: u64) -> Complex<T> {
        Complex { re: T::of_bits(re), im: T::of_bits(im) }
    }
    fn bits(self, partial: Complex<T>) -> ([u64; 2], u64) {
        ([partial.re.bits(), partial.im.bits()], 0)
    }
    #[inline(always)]
    fn identity(self) -> Complex<T> {
        Complex { re: T::NOTHING, im: T::NOTHING }
    }
    #[inline(always)]
    fn lift(self, value: Complex<T>, _: u64) -> Complex<T> {
        value
    }
    #[inline(always)]
    fn combine(self, a: Complex<T>, b: Complex<T>) -> Complex<T> {
        Complex { re: a.re.plus(b.re), im: a.im.plus(b.im) }
    }
    fn finish<const D: usize>(self, folded: Complex<T>, cells: &GridBox<D>) -> Complex<T> {
        if cells.is_empty() { Complex::<T>::SOME } else { folded }
    }
}

/// A product with 1 is not the value bit for bit (infinities become NaN), so no value stands for 1.
impl<T: Real> Reduction<Complex<T>> for Product {
    type Partial = Option<Complex<T>>;
    type Output<const D: usize> = Complex<T>;
    const OF_NOTHING: bool = true;
    const FOLD: FoldOp = FoldOp::Product;
    const COMBINE: Option<fn(Complex<T>, Complex<T>) -> Complex<T>> = None;
    const BY_PARTS: bool = false;
    fn folded(self, [re, im]: [u64; 2], _: u64) -> Option<Complex<T>> {
        Some(Complex { re: T::of_bits(re), im: T::of_bits(im) })
    }
    fn bits(self, partial: Option<Complex<T>>) -> ([u64; 2], u64) {
        partial.map_or(([0; 2], 1), |value| ([value.re.bits(), value.im.bits()], 0))
    }
    fn of_bits(self, bits: [u64; 2], index: u64) -> Option<Complex<T>> {
        if index == 0 { <Product as Reduction<Complex<T>>>::folded(self, bits, 0) } else { None }
    }
    #[inline(always)]
    fn identity(self) -> Option<Complex<T>> {
        None
    }
    #[inline(always)]
    fn lift(self, value: Complex<T>, _: u64) -> Option<Complex<T>> {
        Some(value)
    }
    #[inline(always)]
    fn combine(self, a: Option<Complex<T>>, b: Option<Complex<T>>) -> Option<Complex<T>> {
        match (a, b) {
            (Some(a), Some(b)) => Some(ops::product(a, b)),
            (one, other) => one.or(other),
        }
    }
    fn finish<const D: usize>(self, folded: Option<Complex<T>>, _: &GridBox<D>) -> Complex<T> {
        folded.unwrap_or(Complex { re: <T as Reducible>::ONE, im: <T as Reducible>::ZERO })
    }
}
