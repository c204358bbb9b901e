//! The two floating-point types, so that one plain loop serves both.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// `f32` or `f64`. Every operation is the one of the type itself: nothing is computed wider.
pub trait Real:
    Copy
    + PartialEq
    + PartialOrd
    + std::fmt::Debug
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// The nearest value to `x`.
    fn of(x: f64) -> Self;
    /// The value, exactly.
    fn wide(self) -> f64;
    /// Sine.
    fn sine(self) -> Self;
    /// Cosine.
    fn cosine(self) -> Self;
    /// Square root.
    fn root(self) -> Self;
    /// The product with `by` and the sum with `plus`, rounded once.
    fn fused(self, by: Self, plus: Self) -> Self;
}

macro_rules! real {
    ($($t:ident)*) => {$(
        impl Real for $t {
            fn of(x: f64) -> Self { x as $t }
            fn wide(self) -> f64 { self.into() }
            fn sine(self) -> Self { self.sin() }
            fn cosine(self) -> Self { self.cos() }
            fn root(self) -> Self { self.sqrt() }
            fn fused(self, by: Self, plus: Self) -> Self { self.mul_add(by, plus) }
        }
    )*};
}

real!(f32 f64);

/// The largest difference between two fields, 0 where they hold the same bits. Two NaN are equal; a NaN against a
/// number, or fields of different lengths, differ by infinity.
pub fn max_abs_error<T: Into<f64> + Copy>(found: &[T], expected: &[T]) -> f64 {
    if found.len() != expected.len() {
        return f64::INFINITY;
    }
    let mut largest = 0.0f64;
    for (&a, &b) in found.iter().zip(expected) {
        let (a, b): (f64, f64) = (a.into(), b.into());
        if a == b || (a.is_nan() && b.is_nan()) {
            continue;
        }
        let difference = (a - b).abs();
        largest = largest.max(if difference.is_nan() { f64::INFINITY } else { difference });
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::max_abs_error;

    #[test]
    fn a_nan_against_a_number_is_no_match() {
        assert_eq!(max_abs_error(&[1.0, f64::NAN], &[1.0, f64::NAN]), 0.0);
        assert_eq!(max_abs_error(&[1.0, f64::NAN, 1.0], &[1.0, 2.0, 1.5]), f64::INFINITY);
        assert_eq!(max_abs_error(&[f64::INFINITY], &[f64::INFINITY]), 0.0);
        assert_eq!(max_abs_error(&[1.0f32, 2.0], &[1.0, 2.5]), 0.5);
        assert_eq!(max_abs_error(&[1.0], &[1.0, 1.0]), f64::INFINITY);
    }
}
