//! Kernels of tida as data: what `kernel!`, `#[kernel_fn]` and `#[derive(Element)]` leave in a program, and the types
//! of elements.
//!
//! The macros make it, the kernel compiler (`tida-kernels`) reads it: a crate of its own, so that the macros are built
//! without the compiler.
//!
//! This crate is an inner part of [tida](https://docs.rs/tida), released with it and for it. Nothing here is promised
//! to stay as it is from one version to the next: depend on `tida`.

pub mod element;
pub mod quote;
