//! What the expansions share.

use proc_macro2::{Literal, Span, TokenStream};
use quote::quote_spanned;

use crate::body::Tables;

/// The span of the macros' own tokens: their locals cannot meet the user's.
pub fn own() -> Span {
    Span::mixed_site()
}

/// The span of the macros' own tokens, shown at `place` in messages.
pub fn own_at(place: Span) -> Span {
    Span::mixed_site().located_at(place)
}

/// The path of a scalar operation.
pub fn op(name: &str, place: Span) -> TokenStream {
    let span = own_at(place);
    let name = proc_macro2::Ident::new(name, span);
    quote_spanned!(span=> ::tida::__private::ops::#name)
}

/// The fields that `StaticKernel` and `StaticFunction` share.
pub fn static_fields(tree: &[u8], tables: &Tables) -> TokenStream {
    let tree = Literal::byte_string(tree);
    let functions = tables.functions.iter().map(|named| &named.path);
    let structs = tables.structs.iter().map(|named| &named.path);
    quote_spanned! {own()=>
        file: ::core::file!(),
        tree: #tree,
        functions: &[#(<#functions as ::tida::__private::KernelFn>::QUOTE),*],
        structs: &[#(<#structs as ::tida::Element>::TYPE),*],
    }
}

/// The errors as items.
pub fn compile_errors(errors: Vec<syn::Error>) -> TokenStream {
    errors.iter().map(syn::Error::to_compile_error).collect()
}
