//! Typing: from a quotation to the typed form.

use super::{Access, Kernel, Type};
use crate::element::ElementType;
use crate::error::KernelError;
use crate::quote::StaticKernel;

/// What an argument is bound to at a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Binding {
    /// How it may be used.
    pub access: Access,
    /// What its cells hold.
    pub element: ElementType,
    /// Number of axes; 1 for a table.
    pub rank: usize,
}

/// What a kernel is typed for.
#[derive(Clone, Debug)]
pub struct LowerInput<'a> {
    /// The quotation.
    pub kernel: &'static StaticKernel,
    /// Number of axes of `at`.
    pub rank: usize,
    /// The arguments, in order.
    pub args: &'a [Binding],
    /// Types of the captures, in order.
    pub captures: &'a [Type],
    /// Result type the caller expects; `None` takes what the body gives.
    pub result: Option<Type>,
}

/// Types a quotation.
///
/// # Errors
/// A construct the quotation's types do not allow, with its place in the user's source. rustc has checked the native
/// form of the same body, so this happens only for what rustc cannot see, such as a write to an `all(..)` argument.
pub fn lower(_input: &LowerInput<'_>) -> Result<Kernel, KernelError> {
    todo!()
}
