//! Functions that kernels call.

use tida_kernels::element::ScalarType;
use tida_kernels::quote::StaticFunction;

/// A `#[kernel_fn]`, by its type of the same name: what runs and what is analysed, tied together.
///
/// # Safety
/// `QUOTE` describes exactly what the first of `forms` does.
#[diagnostic::on_unimplemented(
    message = "a kernel calls only functions with `#[kernel_fn]`",
    label = "put `#[kernel_fn]` on this function",
    note = "what numbers have is called as a method: `x.sqrt()`, `a.max(b)`"
)]
pub unsafe trait KernelFn {
    /// Parameters, as a tuple.
    type Args;
    /// Result.
    type Output;
    /// The quotation.
    const QUOTE: &'static StaticFunction;
    /// The native form, what its numbers were taken for, and the methods that it calls.
    #[allow(clippy::type_complexity)] // (No alias can name what is `impl`.)
    fn forms() -> (impl Fn(Self::Args) -> Self::Output, impl AsRef<[ScalarType]>, impl AsRef<[&'static StaticFunction]>);
}

/// Calls a `#[kernel_fn]`.
#[inline(always)]
pub fn call<F: KernelFn>(args: F::Args) -> F::Output {
    F::forms().0(args)
}

/// What the numbers of a `#[kernel_fn]` were taken for.
pub fn numbers_of<F: KernelFn>() -> Vec<ScalarType> {
    F::forms().1.as_ref().to_vec()
}

/// The methods that a `#[kernel_fn]` calls.
pub fn methods_of<F: KernelFn>() -> Vec<&'static StaticFunction> {
    F::forms().2.as_ref().to_vec()
}
