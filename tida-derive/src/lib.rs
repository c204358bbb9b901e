//! The macros of tida.
//!
//! `kernel!` and `#[kernel_fn]` walk a body once and make both of its forms side by side: the native one (Rust that
//! calls `tida::__private`) and the quotation (data, `tida_quote::quote`). What they cannot say in both is an error
//! on the user's own tokens.
//!
//! This crate is an inner part of [tida](https://docs.rs/tida), which hands the macros on: depend on `tida`.

mod body;
mod element;
mod expand;
mod kernel;
mod kernel_fn;
mod methods;
#[cfg(test)]
mod soup;

use proc_macro::TokenStream;

/// What `tida::kernel!` hands on: `$crate;`, and its tokens.
#[proc_macro]
pub fn kernel(input: TokenStream) -> TokenStream {
    let (library, input) = expand::Library::split(input.into());
    kernel::expand_kernel(library, input).into()
}

/// What `tida::group_kernel!` hands on: `$crate;`, and its tokens.
#[proc_macro]
pub fn group_kernel(input: TokenStream) -> TokenStream {
    let (library, input) = expand::Library::split(input.into());
    kernel::expand_group_kernel(library, input).into()
}

/// Kernels call the function by its path, from any crate. It stays a plain function too.
///
/// Parameters and result are scalars, fixed-size arrays, tuples and `#[derive(Element)]` structs. The body may have
/// what a kernel's may have, except tida's arrays and captures; it sees constants. Anything else is an error on the
/// tokens themselves.
///
/// In a program that calls tida by another name, say where it is: `#[kernel_fn(crate = other::tida)]`.
#[proc_macro_attribute]
pub fn kernel_fn(attribute: TokenStream, input: TokenStream) -> TokenStream {
    kernel_fn::expand_kernel_fn(attribute.into(), input.into()).into()
}

/// Arrays then hold the struct. Each scalar in it gets a plane of its own.
///
/// The struct has named fields, which are elements themselves. It is `Copy + PartialEq + Debug`, and not `Deref`.
///
/// In a program that calls tida by another name, say where it is: `#[element(crate = other::tida)]`.
#[proc_macro_derive(Element, attributes(element))]
pub fn derive_element(input: TokenStream) -> TokenStream {
    element::expand_element(input.into()).into()
}
