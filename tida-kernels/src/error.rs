//! Errors of the kernel compiler.

use std::fmt;

use crate::quote::Span;

/// A kernel that cannot be typed, with the place in the user's source.
///
/// Says what was tried, what was found and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelError {
    /// Source file of the kernel.
    pub file: String,
    /// Place in that file.
    pub span: Span,
    /// What was being done.
    pub tried: String,
    /// What stood in the way.
    pub found: String,
    /// What the user can do.
    pub advice: String,
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KernelError { file, span: Span { line, column }, tried, found, advice } = self;
        write!(f, "{file}:{line}:{column}: tried to {tried}; found {found}; {advice}")
    }
}

impl std::error::Error for KernelError {}
