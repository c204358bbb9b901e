//! Arguments of `compute`.
