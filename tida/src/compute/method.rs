//! Methods that kernels call.
//!
//! A macro does not know whose method `w.energy()` is. rustc does, as it types the native form: each call has a
//! [`Method`], whose first parameter rustc infers from the receiver. The quotation of the method is then asked of the
//! same type, so both forms have the same method.

use std::marker::PhantomData;

use tida_kernels::element::ScalarType;
use tida_kernels::quote::StaticFunction;

use crate::__private::KernelFn;

/// A method in an `impl` with `#[kernel_fn]`: what runs and what is analysed, tied together. `NAME` stands for its
/// name.
///
/// # Safety
/// `QUOTE` describes exactly what the first of `forms` does.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no method of this name that kernels can call",
    label = "kernels can call no such method of `{Self}`",
    note = "structs have the methods of an `impl` with `#[kernel_fn]`; numbers have those that the documentation of \
            `kernel!` lists, such as `sqrt`, `abs`, `min`, `powi`, `sin`",
    note = "complex numbers have `conj`, `norm_sqr`, `l1_norm`, `scale`, `unscale`, `inv` and `arg`, and \
            `Complex64::new`, `i`, `cis` and `from_polar`; the norm is `z.norm_sqr().sqrt()`"
)]
pub unsafe trait KernelMethod<const NAME: u64> {
    /// Parameters, as a tuple, the receiver first.
    type Args;
    /// Result.
    type Output;
    /// The quotation.
    const QUOTE: &'static StaticFunction;
    /// As those of [`KernelFn`].
    #[allow(clippy::type_complexity)] // (No alias can name what is `impl`.)
    fn forms() -> (impl Fn(Self::Args) -> Self::Output, impl AsRef<[ScalarType]>, impl AsRef<[&'static StaticFunction]>);
}

/// What stands for the name of a method in types, as the macros have it (FNV-1a).
#[cfg(feature = "num-complex")]
pub(crate) const fn name_of(name: &str) -> u64 {
    let (bytes, mut n, mut hash) = (name.as_bytes(), 0, 0xcbf2_9ce4_8422_2325);
    while n < bytes.len() {
        hash = (hash ^ bytes[n] as u64).wrapping_mul(0x0100_0000_01b3);
        n += 1;
    }
    hash
}

/// A method of the type `T`.
#[derive(Debug)]
pub struct Method<T, const NAME: u64>(PhantomData<fn(T) -> T>);

impl<T, const NAME: u64> Clone for Method<T, NAME> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const NAME: u64> Copy for Method<T, NAME> {}

// SAFETY: they are those of the method.
unsafe impl<T: KernelMethod<NAME>, const NAME: u64> KernelFn for Method<T, NAME> {
    type Args = T::Args;
    type Output = T::Output;
    const QUOTE: &'static StaticFunction = T::QUOTE;
    #[inline(always)]
    fn forms() -> (impl Fn(T::Args) -> T::Output, impl AsRef<[ScalarType]>, impl AsRef<[&'static StaticFunction]>) {
        T::forms()
    }
}

/// The method of that name, of a type that may be inferred.
#[inline(always)]
pub fn method<T, const NAME: u64>() -> Method<T, NAME> {
    Method(PhantomData)
}

/// A receiver: its type is the one that has the method.
#[inline(always)]
pub fn receiver<T, const NAME: u64>(_: Method<T, NAME>, value: T) -> T {
    value
}

/// Calls a method.
#[inline(always)]
pub fn invoke<T: KernelMethod<NAME>, const NAME: u64>(_: Method<T, NAME>, args: T::Args) -> T::Output {
    T::forms().0(args)
}

/// The quotation of a method.
#[inline(always)]
pub fn quotation<T: KernelMethod<NAME>, const NAME: u64>(_: Method<T, NAME>) -> &'static StaticFunction {
    T::QUOTE
}
