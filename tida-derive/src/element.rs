//! `#[derive(Element)]`.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::spanned::Spanned;

use crate::expand::{compile_errors, own, own_at};

/// The expansion of `#[derive(Element)]`.
pub fn expand_element(input: TokenStream) -> TokenStream {
    let input = match syn::parse2::<syn::DeriveInput>(input) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    match fields(&input) {
        Ok(fields) => implementation(&input.vis, &input.ident, fields),
        Err(errors) => compile_errors(errors),
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

fn implementation(seen_by: &syn::Visibility, name: &Ident, fields: &syn::FieldsNamed) -> TokenStream {
    let text = name.to_string();
    let names: Vec<&Ident> = fields.named.iter().filter_map(|field| field.ident.as_ref()).collect();
    let texts: Vec<String> = names.iter().map(|name| name.to_string()).collect();
    let vis: Vec<&syn::Visibility> = fields.named.iter().map(|field| &field.vis).collect();
    let types: Vec<&syn::Type> = fields.named.iter().map(|field| &field.ty).collect();
    // The unsafe code below names these in place of the user's tokens.
    let aliases: Vec<Ident> =
        types.iter().enumerate().map(|(n, ty)| format_ident!("__TidaField{n}", span = own_at(ty.span()))).collect();
    let element = quote_spanned!(own()=> ::tida::Element);
    let bytes = aliases.iter().enumerate().map(|(n, _)| {
        let before = &aliases[..n];
        // Known as the kernel is compiled: a call for every access costs more than the access.
        quote_spanned!(own()=> const { 0 #(+ <#before as #element>::TYPE.bytes())* })
    });
    let place = quote_spanned!(own()=> __TidaPlaces);
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

            // SAFETY: `TYPE` lists the fields in order, and each field's place starts after the planes of those before.
            unsafe impl #element for #name {
                const TYPE: ::tida::__private::ElementType = ::tida::__private::ElementType::Struct {
                    name: #text,
                    fields: &[#((#texts, <#aliases as #element>::TYPE)),*],
                };
                type Place = #place;
                #[inline(always)]
                unsafe fn place(base: *mut u8, cells: usize, index: usize) -> #place {
                    // SAFETY: the planes of each field lie inside those of the struct; the rest is the caller's promise.
                    unsafe {
                        #place {
                            #(#names: <#aliases as #element>::place(base.add(cells * (#bytes)), cells, index),)*
                        }
                    }
                }
            }

            impl ::tida::__private::Place for #place {
                type Value = #name;
                #[inline(always)]
                fn load(&self) -> #name {
                    #name { #(#names: ::tida::__private::Place::load(&self.#names),)* }
                }
                #[inline(always)]
                fn store(&self, value: #name) {
                    #(::tida::__private::Place::store(&self.#names, value.#names);)*
                }
            }
        };
    }
}
