//! `#[derive(Element)]`.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use crate::expand::{Library, compile_errors, own, own_at};

/// The expansion of `#[derive(Element)]`.
pub fn expand_element(input: TokenStream) -> TokenStream {
    let input = match syn::parse2::<syn::DeriveInput>(input) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    match (fields(&input), library(&input.attrs)) {
        (Ok(fields), Ok(library)) => implementation(&library, &input.vis, &input.ident, fields),
        (Ok(_), Err(error)) => error.to_compile_error(),
        (Err(errors), _) => compile_errors(errors),
    }
}

/// The named fields, or what is wrong.
fn fields(input: &syn::DeriveInput) -> Result<&syn::FieldsNamed, Vec<syn::Error>> {
    let mut errors = Vec::new();
    if !input.generics.params.is_empty() {
        errors.push(syn::Error::new_spanned(
            &input.generics.params,
            "an element has concrete types: write one struct for each type",
        ));
    }
    let fields = match &input.data {
        syn::Data::Struct(syn::DataStruct { fields: syn::Fields::Named(fields), .. }) if !fields.named.is_empty() => {
            let unnamed = fields.named.iter().filter_map(|field| field.ident.as_ref()).filter(|name| *name == "_");
            errors.extend(unnamed.map(|name| syn::Error::new_spanned(name, "a field of an element has a name")));
            Ok(fields)
        }
        syn::Data::Struct(syn::DataStruct { fields: syn::Fields::Unnamed(fields), .. }) => {
            Err(syn::Error::new_spanned(
                fields,
                "the fields of an element have names: write `struct Name { x: f64, y: f64 }`",
            ))
        }
        syn::Data::Struct(_) => {
            Err(syn::Error::new_spanned(&input.ident, "an element has at least one field: this struct has none"))
        }
        syn::Data::Enum(data) => Err(syn::Error::new_spanned(
            data.enum_token,
            "an enum cannot be an element: keep its number in a `u8` field of a struct",
        )),
        syn::Data::Union(data) => {
            Err(syn::Error::new_spanned(data.union_token, "a union cannot be an element: use a struct of named fields"))
        }
    };
    match fields {
        Ok(fields) if errors.is_empty() => Ok(fields),
        Ok(_) => Err(errors),
        Err(error) => {
            errors.push(error);
            Err(errors)
        }
    }
}

/// The library, as `#[element(crate = path)]` says.
fn library(attributes: &[syn::Attribute]) -> syn::Result<Library> {
    let mut named = Library::by_name();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("element")) {
        named = Library::of_option(attribute.meta.require_list()?.tokens.clone())?;
    }
    Ok(named)
}

fn implementation(
    library: &Library,
    seen_by: &syn::Visibility,
    name: &Ident,
    fields: &syn::FieldsNamed,
) -> TokenStream {
    let text = name.unraw().to_string();
    let names: Vec<&Ident> = fields.named.iter().filter_map(|field| field.ident.as_ref()).collect();
    let texts: Vec<String> = names.iter().map(|name| name.unraw().to_string()).collect();
    let vis: Vec<&syn::Visibility> = fields.named.iter().map(|field| &field.vis).collect();
    let types: Vec<&syn::Type> = fields.named.iter().map(|field| &field.ty).collect();
    // The unsafe code below names these in place of the user's tokens.
    let aliases: Vec<Ident> =
        types.iter().enumerate().map(|(n, ty)| format_ident!("__TidaField{n}", span = own_at(ty.span()))).collect();
    let private = |name: &str| library.private(name, own());
    let element = library.element(own());
    let (bytes_of, field) = (private("bytes"), private("field"));
    let bytes = aliases.iter().enumerate().map(|(n, _)| {
        let before = &aliases[..n];
        // Known as the kernel is compiled: a call for every access costs more than the access.
        quote_spanned!(own()=> const { 0usize #(+ #bytes_of(&<#before as #element>::TYPE))* })
    });
    let place = quote_spanned!(own()=> __TidaPlaces);
    let (element_type, places, load, store) =
        (private("ElementType"), private("Place"), private("load"), private("store"));
    let (byte, size) = (library.scalar("u8", own()), library.scalar("usize", own()));
    let (plain_value, values) = (private("PlainValue"), private("Values"));
    let plain = plain(library, name, &place);
    quote_spanned! {own()=>
        #[doc(hidden)]
        #[allow(
            missing_docs, missing_debug_implementations, missing_copy_implementations, unreachable_pub,
            private_interfaces, private_bounds, non_camel_case_types, unused_qualifications,
            clippy::all, clippy::pedantic
        )]
        const _: () = {
            #(type #aliases = #types;)*

            #seen_by struct #place {
                #(#vis #names: <#aliases as #element>::Place,)*
            }

            #plain

            // SAFETY: `TYPE` lists the fields in order, and each field's place starts after the planes of those before.
            unsafe impl #element for #name {
                const TYPE: #element_type = #element_type::Struct {
                    name: #text,
                    fields: &[#((#texts, <#aliases as #element>::TYPE)),*],
                };
                type Place = #place;
                #[inline(always)]
                unsafe fn place(__tida_base: *mut #byte, __tida_cells: #size, __tida_index: #size) -> #place {
                    // SAFETY: the planes of each field lie inside those of the struct; the rest is the caller's
                    // promise.
                    unsafe {
                        #place {
                            #(#names: #field::<#aliases>(__tida_base, __tida_cells, #bytes, __tida_index),)*
                        }
                    }
                }
                fn values(__tida_of: &#name, __tida_to: &mut #values<'_>) {
                    #(<#aliases as #element>::values(&__tida_of.#names, __tida_to);)*
                }
            }

            // SAFETY: it is an element. (The bound keeps what is wrong with an element from being said twice.)
            unsafe impl #plain_value for #name where #name: #element {
                const TYPE: #element_type = <#name as #element>::TYPE;
                fn values(&self, __tida_to: &mut #values<'_>) {
                    #element::values(self, __tida_to);
                }
            }

            impl #places for #place {
                type Value = #name;
                #[inline(always)]
                unsafe fn load(&self) -> #name {
                    // SAFETY: the caller's promise, for each field.
                    unsafe { #name { #(#names: #load(&self.#names),)* } }
                }
                #[inline(always)]
                unsafe fn store(&self, __tida_value: #name) {
                    // SAFETY: as above.
                    unsafe { #(#store(&self.#names, __tida_value.#names);)* }
                }
            }
        };
    }
}

/// Refuses a `Deref`: Rust looks in it for fields that are private, and it would run where a kernel takes a field.
fn plain(library: &Library, name: &Ident, place: &TokenStream) -> TokenStream {
    let private = |what: &str| library.private(what, name.span());
    let (assert, derefs, not_deref) = (private("assert"), private("Derefs"), private("NotDeref"));
    let own = own_at(name.span());
    quote_spanned! {own=>
        const _: () = {
            #[allow(unused_imports)]
            use #not_deref as _;
            #assert!(!<#derefs<#name>>::DEREFS, "an element cannot be `Deref`: a kernel takes its fields by their names");
            #assert!(!<#derefs<#place>>::DEREFS, "the place of an element cannot be `Deref`: kernels alone use it");
        };
    }
}
