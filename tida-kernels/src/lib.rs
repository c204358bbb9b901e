//! The kernel compiler of tida.
//!
//! A kernel arrives as a [`quote`]: the untyped syntax tree of a closure, made by `kernel!` at compile time.
//! [`ir`] types it for the element types and captures of a launch; [`analysis`] finds what it reads and writes and
//! where; [`interp`] runs the typed form cell by cell and is the oracle for every other way to run it.
//!
//! No I/O and no devices live here. [`scalar`] fixes what each operation means, for every backend.
//!
//! This crate is an inner part of [tida](https://docs.rs/tida), released with it and for it. Nothing here is promised
//! to stay as it is from one version to the next: depend on `tida`.

// What only the writer of texts asks for.
#![cfg_attr(not(feature = "emit"), allow(dead_code))]

pub mod analysis;
pub mod codec;
pub mod emit;
pub mod error;
pub mod frames;
pub mod interp;
pub mod ir;
pub mod plan;
pub mod scalar;

pub use element::{ElementType, ScalarType};
pub use error::KernelError;
pub use tida_quote::{each_scalar, element, quote};
