//! The macros of tida.
//!
//! `kernel!` and `#[kernel_fn]` walk a body once and make both of its forms side by side: the native one (Rust that
//! calls `tida::__private`) and the quotation (data, `tida_kernels::quote`). What they cannot say in both is an error
//! on the user's own tokens.

mod body;
mod element;
mod expand;
mod kernel;
mod kernel_fn;
#[cfg(test)]
mod soup;

use proc_macro::TokenStream;

/// A kernel: real Rust that runs natively, and data that is analysed.
///
/// `kernel!(|u, v, .., at| body)` names the arrays (1 to 8) and the cell. `u[e]` reads and `u[at] = value` writes.
/// Everything else that the body names is captured by value: numbers, `bool`, arrays of them, fields such as
/// `self.alpha`, constants. A captured number has its type before the kernel: write `let dt = 0.1f32` for an `f32`
/// kernel. Write the kernel inside the call that takes it: its types come from there.
///
/// The body may have `let` (names, `_`, tuples, arrays), assignments, `+ - * / % & | ^ << >> !`, comparisons, `&&`,
/// `||`, casts between numbers, the methods of numbers, `if`/`else`, `for i in a..b`, `while`, `loop`, `break`,
/// `continue`, `return`, blocks, tuples, fixed-size arrays, `#[derive(Element)]` structs and calls of `#[kernel_fn]`
/// functions. Anything else is an error on the tokens themselves. Integers wrap, in debug builds too.
///
/// An operand of `+` or `-` is taken for a point, and the sum for a point too, if it is `at`, an array literal, such
/// a sum, a local or parameter of type `[i64; n]`, or a local first set to one of these.
#[proc_macro]
pub fn kernel(input: TokenStream) -> TokenStream {
    kernel::expand_kernel(input.into()).into()
}

/// Makes a function callable in kernels, by its path, from any crate. It stays a plain function too.
///
/// Parameters and result are scalars, arrays, tuples and `#[derive(Element)]` structs; the body is what a kernel's may
/// be, without arrays and captures.
#[proc_macro_attribute]
pub fn kernel_fn(attribute: TokenStream, input: TokenStream) -> TokenStream {
    kernel_fn::expand_kernel_fn(attribute.into(), input.into()).into()
}

/// Makes a struct of named fields an element of arrays: each scalar in it gets a plane of its own.
///
/// The struct must be `Copy + PartialEq + Debug` and its fields elements.
#[proc_macro_derive(Element)]
pub fn derive_element(input: TokenStream) -> TokenStream {
    element::expand_element(input.into()).into()
}
