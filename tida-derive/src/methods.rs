//! `#[kernel_fn]` on the `impl` of a struct: its functions are methods that kernels call.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};

use crate::body::{Body, Called, name_of_method, text_of};
use crate::expand::{Library, compile_errors, imports, own, own_at};
use crate::kernel_fn::{Parts, without_forms};

/// The expansion.
pub fn expand_methods(library: &Library, wrong: Option<syn::Error>, methods: syn::ItemImpl) -> TokenStream {
    let mut errors: Vec<syn::Error> = wrong.into_iter().collect();
    let mut refuse = |at: &dyn ToTokens, message: &str| errors.push(syn::Error::new_spanned(at, message));
    if let Some((_, of, _)) = &methods.trait_ {
        refuse(of, "`#[kernel_fn]` goes on the `impl` of a struct itself: a kernel calls no methods of traits");
    }
    if !methods.generics.params.is_empty() {
        refuse(&methods.generics, "the methods that kernels call are of a struct without parameters");
    }
    if let Some(token) = &methods.unsafety {
        refuse(token, "the `impl` of methods that kernels call is plain: `impl Wave { .. }`");
    }
    let (mut items, mut kernel_methods) = (TokenStream::new(), TokenStream::new());
    for item in &methods.items {
        match item {
            syn::ImplItem::Fn(method) => {
                let (item, of_kernels) = expand_method(library, &methods, method, &mut errors);
                items.extend(item);
                kernel_methods.extend(of_kernels);
            }
            syn::ImplItem::Const(constant) => constant.to_tokens(&mut items),
            other => {
                let message = "an `impl` with `#[kernel_fn]` has functions and constants: put this in another `impl`";
                errors.push(syn::Error::new_spanned(other, message));
            }
        }
    }
    let (attrs, of) = (&methods.attrs, &methods.self_ty);
    let errors = compile_errors(errors);
    quote_spanned! {own()=>
        #errors
        #(#attrs)*
        impl #of {
            #items
        }
        #kernel_methods
    }
}

/// A method as the host calls it, and as kernels do.
fn expand_method(
    library: &Library,
    methods: &syn::ItemImpl,
    method: &syn::ImplItemFn,
    errors: &mut Vec<syn::Error>,
) -> (TokenStream, TokenStream) {
    let mut body = Body::of_method(library.clone());
    let (sig, of) = (&method.sig, &methods.self_ty);
    if !sig.generics.params.is_empty() {
        body.error(
            &sig.generics,
            "a method that kernels call has no parameters of types: write a `#[kernel_fn]` function",
        );
    }
    if let Some(token) = &method.defaultness {
        body.error(token, "a method that kernels call is a plain function");
    }
    let parts = Parts::of(&mut body, sig, &method.block);
    let own_name = text_of(of);
    let calls_itself = |called: &Called| {
        let of = called.of.as_ref().map(text_of);
        called.name == parts.name && of.is_some_and(|of| of == "Self" || of == own_name)
    };
    if body.tables.methods.iter().any(calls_itself) {
        body.error(&sig.ident, "a `#[kernel_fn]` cannot call itself: write a loop");
    }
    let private = |name: &str| library.private(name, own());
    let (vis, attrs, ident, inputs, output) = (&method.vis, &method.attrs, &sig.ident, &sig.inputs, &sig.output);
    if !body.errors.is_empty() {
        errors.append(&mut body.errors);
        let (unreachable, name) = (private("unreachable"), name_of_method(&parts.name));
        let item = quote_spanned!(own()=> #[allow(unused)] #vis fn #ident(#inputs) #output { #unreachable!() });
        let (kernel_method, stands) = (private("KernelMethod"), private("Method"));
        let items = without_forms(library, &quote_spanned!(own()=> #stands<Self, #name>), &parts.types, &parts.result);
        // SAFETY: it does not compile.
        let stub = quote_spanned!(own()=> unsafe impl #kernel_method<#name> for #of { #items });
        return (item, if parts.signature { stub } else { TokenStream::new() });
    }
    let receiver = sig.inputs.first().and_then(|input| match input {
        syn::FnArg::Receiver(this) => Some(this),
        syn::FnArg::Typed(_) => None,
    });
    let head = receiver.map(|this| {
        let (reference, token) = (&this.reference.as_ref().map(|(and, _)| and), &this.self_token);
        quote!(#reference #token,)
    });
    let value = receiver.map(|this| {
        let (star, token) = (this.reference.as_ref().map(|_| quote!(*)), &this.self_token);
        quote!(#star #token,)
    });
    let (outer_names, result, name) = (&parts.outer_names, &parts.result, name_of_method(&parts.name));
    let types = parts.types.iter().skip(usize::from(receiver.is_some()));
    let (make, invoke, at_name) = (private("method"), private("invoke"), own_at(ident.span()));
    let near = private("names");
    let item = quote_spanned! {at_name=>
        #[allow(clippy::too_many_arguments, clippy::trivially_copy_pass_by_ref)]
        #[inline]
        #(#attrs)*
        #vis fn #ident(#head #(#outer_names: #types),*) -> #result {
            #invoke(#make::<Self, #name, #near::none>(), (#value #(#outer_names,)*))
        }
    };
    let (kernel_method, stands, imports) = (private("KernelMethod"), private("Method"), imports(&body));
    let items = parts.items(&mut body, &quote_spanned!(own()=> #stands<Self, #name>));
    let cfgs = methods.attrs.iter().chain(attrs).filter(|attribute| attribute.path().is_ident("cfg"));
    let of_kernels = quote_spanned! {own()=>
        #(#cfgs)*
        #[allow(unused_parens, unused_braces, clippy::all, clippy::pedantic)]
        const _: () = {
            #imports
            // SAFETY: both forms come from one walk over one body.
            unsafe impl #kernel_method<#name> for #of {
                #items
            }
        };
    };
    (item, of_kernels)
}
