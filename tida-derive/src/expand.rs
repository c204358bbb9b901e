//! What the expansions share.

use proc_macro2::{Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use crate::body::{Body, Named};

/// The span of the macros' own tokens: their locals cannot meet the user's.
pub fn own() -> Span {
    Span::mixed_site()
}

/// The span of the macros' own tokens, shown at `place` in messages.
pub fn own_at(place: Span) -> Span {
    Span::mixed_site().located_at(place)
}

/// The library, as expansions name it: all that they name beside the user's tokens is found through it.
#[derive(Clone, Debug)]
pub struct Library(TokenStream);

impl Library {
    /// `tida` by its name.
    pub fn by_name() -> Library {
        Library(quote_spanned!(own()=> ::tida))
    }

    /// As an option says, `crate = other::tida`; by its name where there is none.
    ///
    /// # Errors
    /// Tokens that are something else.
    pub fn of_option(tokens: TokenStream) -> syn::Result<Library> {
        if tokens.is_empty() {
            return Ok(Library::by_name());
        }
        let option = |input: syn::parse::ParseStream<'_>| {
            input.parse::<syn::Token![crate]>()?;
            input.parse::<syn::Token![=]>()?;
            input.parse::<syn::Path>()
        };
        let path = syn::parse::Parser::parse2(option, tokens.clone()).map_err(|_| {
            syn::Error::new_spanned(tokens, "the one option is `crate = path`, which says where tida is")
        })?;
        Ok(Library(path.into_token_stream()))
    }

    /// What stands before the first `;` of a `kernel!` says where the library is: `$crate`, from the macro around it.
    pub fn split(input: TokenStream) -> (Library, TokenStream) {
        let mut tokens = input.into_iter();
        let path = tokens.by_ref().take_while(|token| !matches!(token, TokenTree::Punct(p) if p.as_char() == ';'));
        (Library(path.collect()), tokens.collect())
    }

    /// The path to it, shown at `place`, and the span of what follows it. (rustc shows a path whose parts come from
    /// different macros as all of the outer macro's call.)
    fn path(&self, place: Span) -> (TokenStream, Span) {
        let moved = self.0.clone().into_iter().map(|mut token| {
            token.set_span(token.span().located_at(place));
            token
        });
        let path: TokenStream = moved.collect();
        let span = path.clone().into_iter().last().map_or(own_at(place), |token| token.span());
        (path, span)
    }

    /// A span at `place` for what stands in one expression with its paths.
    pub fn span(&self, place: Span) -> Span {
        self.path(place).1
    }

    /// The path of what it has for the macros.
    pub fn private(&self, name: &str, place: Span) -> TokenStream {
        let (path, span) = self.path(place);
        let name = Ident::new(name, span);
        quote_spanned!(span=> #path::__private::#name)
    }

    /// The path of what is in a module of that.
    fn of_module(&self, module: &str, name: &str, place: Span) -> TokenStream {
        let (module, span) = (self.private(module, place), self.span(place));
        let name = Ident::new(name, span);
        quote_spanned!(span=> #module::#name)
    }

    /// The path of a scalar operation.
    pub fn op(&self, name: &str, place: Span) -> TokenStream {
        self.of_module("ops", name, place)
    }

    /// The path of a scalar type: what `u8` means where the kernel stands may be something else.
    pub fn scalar(&self, name: &str, place: Span) -> TokenStream {
        self.of_module("primitive", name, place)
    }

    /// The path of the trait `Element`.
    pub fn element(&self, place: Span) -> TokenStream {
        self.private("Element", place)
    }
}

/// The name by which an expansion calls a function of its table.
pub fn function(number: usize, place: Span) -> Ident {
    format_ident!("__tida_fn{number}", span = own_at(place))
}

/// The path of a function, and the parameters behind it.
pub fn with_parameters(path: &TokenStream) -> (TokenStream, TokenStream) {
    let Ok(mut path) = syn::parse2::<syn::Path>(path.clone()) else { return (path.clone(), TokenStream::new()) };
    let last = path.segments.last_mut();
    let parameters = last.map(|last| std::mem::replace(&mut last.arguments, syn::PathArguments::None));
    (path.into_token_stream(), parameters.into_token_stream())
}

/// Gives the functions called the names of [`function`].
///
/// An import names all that a path stands for: for a `#[kernel_fn]` the function and its type. Where the type is
/// missing, the glob has one instead that says what to do.
pub fn imports(body: &Body) -> TokenStream {
    if body.tables.functions.is_empty() {
        return TokenStream::new();
    }
    let imports = body.tables.functions.iter().enumerate().map(|(number, Named { path, .. })| {
        let (name, (path, _)) = (function(number, path.span()), with_parameters(path));
        quote_spanned!(own()=> #[allow(unused_imports)] use #path as #name;)
    });
    let plain = body.library.private("plain", own());
    quote! { #(#imports)* #[allow(unused_imports)] use #plain::*; }
}

/// The fields that `StaticKernel` and `StaticFunction` share.
pub fn static_fields(tree: &[u8], body: &Body) -> TokenStream {
    let tree = Literal::byte_string(tree);
    let (library, tables) = (&body.library, &body.tables);
    let functions = tables.functions.iter().enumerate().map(|(number, Named { path, .. })| {
        let (name, kernel_fn) = (function(number, path.span()), library.private("KernelFn", path.span()));
        let (_, parameters) = with_parameters(path);
        quote_spanned!(own()=> <#name #parameters as #kernel_fn>::QUOTE)
    });
    let structs = tables.structs.iter().map(|Named { path, .. }| {
        let element = library.element(path.span());
        quote_spanned!(own()=> <#path as #element>::TYPE)
    });
    let constants = body.open.constants.iter().map(|Named { path, .. }| {
        let described = library.private("described", path.span());
        quote_spanned!(own_at(path.span())=> || #described(#path))
    });
    let file = library.private("file", own());
    quote_spanned! {own()=>
        file: #file!(),
        tree: #tree,
        functions: &[#(#functions),*],
        structs: &[#(#structs),*],
        constants: &[#(#constants),*],
    }
}

/// The errors as items.
pub fn compile_errors(errors: Vec<syn::Error>) -> TokenStream {
    errors.iter().map(syn::Error::to_compile_error).collect()
}
