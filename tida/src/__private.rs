//! What the macros' expansions name. Not part of the API.

pub use crate::array::element::Place;
pub use crate::compute::args::Views;
pub use crate::compute::ask::{Answer, Ask, Run};
pub use crate::compute::capture::{capture, value};
pub use crate::compute::groups::native::{
    AskGroups, Group, RunGroups, group_channel, group_fetch, group_len, group_shared, phase, phase_around, private,
};
pub use crate::compute::view::{Checked, Proven, ReadView, WriteView, read, write};
pub use tida_kernels::element::{ElementType, ScalarType};
pub use tida_kernels::quote::{StaticFunction, StaticKernel};
pub use tida_kernels::scalar::ops;

/// A `#[kernel_fn]`, by its type of the same name: what runs and what is analysed, tied together.
///
/// # Safety
/// `QUOTE` describes exactly what `call` does.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a `#[kernel_fn]`",
    label = "cannot be called in a kernel",
    note = "put `#[kernel_fn]` on the function"
)]
pub unsafe trait KernelFn {
    /// Parameters, as a tuple.
    type Args;
    /// Result.
    type Output;
    /// The quotation.
    const QUOTE: &'static StaticFunction;
    /// The native form.
    fn call(args: Self::Args) -> Self::Output;
}
