//! Kernels of tida as data: what `kernel!`, `#[kernel_fn]` and `#[derive(Element)]` leave in a program, and the types
//! of elements.
//!
//! The macros make it, the kernel compiler (`tida-kernels`) reads it: a crate of its own, so that the macros are built
//! without the compiler.

pub mod element;
pub mod quote;
