//! Calls of methods of structs: `w.energy()`, `Wave::of(1.0)`.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use tida_quote::quote::ExprKind;

use super::expr::{near_methods, unknown_method};
use super::{Body, Both, expr_at};
use crate::expand::{own, own_at};

/// A call of a method.
#[derive(Debug)]
pub struct Called {
    /// The name of the method.
    pub name: String,
    /// The type that has it, if it is written.
    pub of: Option<TokenStream>,
    /// Where its name stands.
    span: Span,
}

/// What stands for the name of a method in types (FNV-1a).
pub fn name_of_method(name: &str) -> Literal {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    Literal::u64_suffixed(name.bytes().fold(0xcbf2_9ce4_8422_2325, hash))
}

impl Body {
    /// `w.energy()`: rustc finds the type that has the method.
    pub fn invoke(&mut self, call: &syn::ExprMethodCall) -> Both {
        if let Some(turbofish) = &call.turbofish {
            self.error(turbofish, "methods in a kernel take no type parameters");
        }
        let span = call.method.span();
        let number = self.called(&call.method, None);
        let (native, quoted) = self.list(std::iter::once(&*call.receiver).chain(&call.args));
        if quoted.first().is_some_and(|receiver| self.is_number(receiver)) {
            return self.hole(&call.method, unknown_method(&call.method.unraw().to_string()));
        }
        let Some((value, rest)) = native.split_first() else { return super::unit(call.span()) };
        let (receiver, invoke) = (self.private("receiver", span), self.private("invoke", span));
        let (method, held, own) = (self.method_name(number, span), receiver_value(), own_at(call.span()));
        // The receiver says which method it is before its arguments are looked at.
        let native = quote_spanned! {own=> {
            let #held = #receiver(#method, #value);
            #invoke(#method, (#held, #(#rest,)*))
        }};
        Both { native, quoted: expr_at(call.span(), ExprKind::Invoke(number as u32, quoted)), point: false }
    }

    /// `Wave::of(1.0)`, if a path is one to a method: what comes before its name starts as types do.
    pub fn method_by_path(&mut self, path: &syn::ExprPath, call: &syn::ExprCall) -> Option<Both> {
        let name = &path.path.segments.last()?.ident;
        let of = path.path.segments.iter().rev().nth(1)?;
        if !is_type_name(&of.ident) {
            return None;
        }
        let mut ty = path.path.clone();
        if let Some(last) = ty.segments.pop().filter(|last| !last.value().arguments.is_none()) {
            self.error(&last.value().arguments, "methods in a kernel take no type parameters");
        }
        ty.segments.pop_punct();
        if ty.segments.iter().any(|segment| !segment.arguments.is_none()) {
            self.structure(&ty);
        }
        let number = self.called(name, Some(ty.into_token_stream()));
        let (native, quoted) = self.list(&call.args);
        let (method, invoke) = (self.method_name(number, name.span()), self.private("invoke", name.span()));
        let own = own_at(call.span());
        let native = quote_spanned!(own=> #invoke(#method, (#(#native,)*)));
        Some(Both { native, quoted: expr_at(call.span(), ExprKind::Invoke(number as u32, quoted)), point: false })
    }

    /// What an expansion calls the method of a call, shown at `place`: rustc says there what is wrong with it.
    fn method_name(&self, number: usize, place: Span) -> Ident {
        format_ident!("__tida_m{number}", span = self.library.span(place))
    }

    fn called(&mut self, name: &Ident, of: Option<TokenStream>) -> usize {
        self.tables.methods.push(Called { name: name.unraw().to_string(), of, span: name.span() });
        self.tables.methods.len() - 1
    }

    /// The type that tells which methods of numbers have names near to this one.
    fn near(&self, name: &str, span: Span) -> TokenStream {
        let names = self.private("names", span);
        let named = near_methods(name).map(|near| {
            let near = Ident::new(near, self.library.span(span));
            quote_spanned!(own_at(span)=> #names::#near)
        });
        let named: Vec<TokenStream> = named.collect();
        match named.as_slice() {
            [] => quote_spanned!(own_at(span)=> #names::none),
            [one] => one.clone(),
            several => quote_spanned!(own_at(span)=> (#(#several),*)),
        }
    }

    /// Rust that makes what stands for the methods called, and Rust that gives their quotations.
    pub fn methods(&self) -> (TokenStream, TokenStream) {
        let called = self.tables.methods.iter().enumerate();
        let named: Vec<Ident> = called.map(|(number, called)| self.method_name(number, called.span)).collect();
        let made = self.tables.methods.iter().zip(&named).map(|(Called { name, of, span }, method)| {
            let near = self.near(name, *span);
            let (of, name) = (of.clone().unwrap_or_else(|| quote_spanned!(*span=> _)), name_of_method(name));
            let make = self.private("method", *span);
            quote_spanned!(own_at(*span)=> let #method = #make::<#of, #name, #near>();)
        });
        let told = self.tables.methods.iter().zip(&named).map(|(Called { span, .. }, method)| {
            let quotation = self.private("quotation", *span);
            quote_spanned!(self.library.span(*span)=> #quotation(#method))
        });
        (made.collect(), quote_spanned!(own()=> #(#told),*))
    }
}

/// Whether a name starts as those of types do.
pub fn is_type_name(name: &Ident) -> bool {
    name.unraw().to_string().starts_with(char::is_uppercase)
}

/// Where a receiver is held.
fn receiver_value() -> Ident {
    Ident::new("__tida_receiver", own())
}
