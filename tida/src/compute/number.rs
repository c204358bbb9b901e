//! Numbers without a type of their own, as the native form of a kernel has them.
//!
//! rustc infers a type for each, and the analysis of the quotation does so by itself. Nothing makes rustc's rules equal
//! to those: a bound on the function around a kernel, or another version of rustc, may decide otherwise. So the native
//! form says what its numbers were taken for, and what does not agree does not run.

use std::marker::PhantomData;

use tida_kernels::element::ScalarType;
use tida_kernels::scalar::ops::Number;

/// The type that a number is taken for.
#[derive(Debug)]
pub struct Literal<T>(PhantomData<fn(T) -> T>);

impl<T> Clone for Literal<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Literal<T> {}

/// A number of some type.
#[inline(always)]
pub fn literal<T>() -> Literal<T> {
    Literal(PhantomData)
}

/// The number, where it stands.
#[inline(always)]
pub fn typed<T>(_: Literal<T>, number: T) -> T {
    number
}

/// What it was taken for.
#[inline(always)]
pub fn type_of<T: Number>(_: Literal<T>) -> ScalarType {
    T::TYPE
}
