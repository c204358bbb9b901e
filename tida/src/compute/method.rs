//! Methods that kernels call.
//!
//! A macro does not know whose method `w.energy()` is. rustc does, as it types the native form: each call has a
//! [`Method`], whose first parameter rustc infers from the receiver. The quotation of the method is then asked of the
//! same type, so both forms have the same method.

use std::marker::PhantomData;

use tida_kernels::element::ScalarType;
use tida_kernels::quote::StaticFunction;

use super::function::KernelFn;

/// A method in an `impl` with `#[kernel_fn]`: what runs and what is analysed, tied together. `NAME` stands for its
/// name.
///
/// # Safety
/// `QUOTE` describes exactly what the first of `forms` does.
#[diagnostic::on_unimplemented(message = "`{Self}` has no method of this name that kernels can call")]
pub unsafe trait KernelMethod<const NAME: u64> {
    /// Parameters, as a tuple, the receiver first.
    type Args;
    /// Result.
    type Output;
    /// The quotation.
    const QUOTE: &'static StaticFunction;
    /// As those of [`KernelFn`].
    #[allow(clippy::type_complexity)] // (No alias can name what is `impl`.)
    fn forms() -> (impl Fn(Self::Args) -> Self::Output, impl AsRef<[ScalarType]>, impl AsRef<[&'static StaticFunction]>);
}

/// What stands for the name of a method in types, as the macros have it (FNV-1a).
#[cfg(feature = "num-complex")]
pub(crate) const fn name_of(name: &str) -> u64 {
    let (bytes, mut n, mut hash) = (name.as_bytes(), 0, 0xcbf2_9ce4_8422_2325);
    while n < bytes.len() {
        hash = (hash ^ bytes[n] as u64).wrapping_mul(0x0100_0000_01b3);
        n += 1;
    }
    hash
}

/// A [`KernelMethod`], with what numbers have of names near to its own: `Near` is a list of [`names`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no method of this name that kernels can call",
    label = "kernels can call no such method of `{Self}`",
    note = "methods of numbers near this name: {Near}",
    note = "structs have the methods of an `impl` with `#[kernel_fn]`; numbers have those that the documentation of \
            `kernel!` lists, such as `sqrt`, `abs`, `min`, `powi`, `sin`",
    note = "complex numbers have `norm`, `norm_sqr`, `l1_norm`, `arg`, `to_polar`, `conj`, `scale`, `unscale`, `inv`, \
            `finv`, `fdiv` and `powu`, and `Complex64::new`, `i`, `cis` and `from_polar`; `tida::num_complex` says what \
            to write for others"
)]
pub trait HasMethod<const NAME: u64, Near> {
    /// Parameters, as a tuple, the receiver first.
    type Args;
    /// Result.
    type Output;
    /// The quotation.
    const QUOTE: &'static StaticFunction;
    /// Calls it.
    fn call(args: Self::Args) -> Self::Output;
}

#[diagnostic::do_not_recommend]
impl<T: KernelMethod<NAME>, const NAME: u64, Near> HasMethod<NAME, Near> for T {
    type Args = <T as KernelMethod<NAME>>::Args;
    type Output = <T as KernelMethod<NAME>>::Output;
    const QUOTE: &'static StaticFunction = <T as KernelMethod<NAME>>::QUOTE;
    #[inline(always)]
    fn call(args: Self::Args) -> Self::Output {
        T::forms().0(args)
    }
}

macro_rules! names {
    ($($name:ident)*) => {
        /// Names of methods, for messages.
        #[allow(non_camel_case_types)]
        pub mod names {
            $(
                /// The method of this name.
                #[derive(Debug)]
                pub struct $name;
            )*
            /// No method.
            #[derive(Debug)]
            pub struct none;
        }

        #[cfg(test)]
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

names! {
    sqrt floor ceil round trunc fract recip copysign mul_add powi is_nan is_finite is_infinite abs signum min max clamp
    rem_euclid div_euclid wrapping_add wrapping_sub wrapping_mul wrapping_neg wrapping_abs wrapping_shl wrapping_shr
    wrapping_pow pow rotate_left rotate_right count_ones leading_zeros trailing_zeros sin cos tan asin acos atan atan2
    sinh cosh tanh exp exp2 exp_m1 ln ln_1p log2 log10 powf cbrt hypot
}

/// A method of the type `T`. `Near` is for messages.
#[derive(Debug)]
pub struct Method<T, const NAME: u64, Near = names::none>(PhantomData<fn(T, Near) -> T>);

impl<T, const NAME: u64, Near> Clone for Method<T, NAME, Near> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const NAME: u64, Near> Copy for Method<T, NAME, Near> {}

// SAFETY: they are those of the method.
unsafe impl<T: KernelMethod<NAME>, const NAME: u64> KernelFn for Method<T, NAME> {
    type Args = T::Args;
    type Output = T::Output;
    const QUOTE: &'static StaticFunction = T::QUOTE;
    #[inline(always)]
    fn forms() -> (impl Fn(T::Args) -> T::Output, impl AsRef<[ScalarType]>, impl AsRef<[&'static StaticFunction]>) {
        T::forms()
    }
}

/// The method of that name, of a type that may be inferred.
#[inline(always)]
pub fn method<T, const NAME: u64, Near>() -> Method<T, NAME, Near> {
    Method(PhantomData)
}

/// A receiver: its type is the one that has the method.
#[inline(always)]
pub fn receiver<T, const NAME: u64, Near>(_: Method<T, NAME, Near>, value: T) -> T {
    value
}

/// Calls a method.
#[inline(always)]
pub fn invoke<T, A, R, const NAME: u64, Near>(_: Method<T, NAME, Near>, args: A) -> R
where
    // (Said so, rustc tells once what is missing.)
    T: HasMethod<NAME, Near, Args = A, Output = R>,
{
    T::call(args)
}

/// The quotation of a method.
#[inline(always)]
pub fn quotation<T: HasMethod<NAME, Near>, const NAME: u64, Near>(_: Method<T, NAME, Near>) -> &'static StaticFunction {
    T::QUOTE
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_names_are_those_of_the_methods() {
        let all: Vec<&str> = tida_kernels::quote::Method::ALL.iter().map(|method| method.name()).collect();
        assert_eq!(super::NAMES, all);
    }
}
