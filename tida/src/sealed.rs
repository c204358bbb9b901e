//! Traits that no one else implements.

/// A bound of public traits whose implementations the library has to know: code that trusts them is `unsafe`.
pub trait Sealed {}
