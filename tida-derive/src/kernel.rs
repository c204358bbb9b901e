//! `kernel!(|args.., at| body)`.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::spanned::Spanned;
use tida_kernels::quote::KernelTree;

use crate::body::{Body, Groups, Named, group_len};
use crate::expand::{compile_errors, own, own_at, static_fields};

/// Most array arguments of a kernel.
const MAX_ARGS: usize = 8;

/// The expansion of `kernel!`.
pub fn expand_kernel(input: TokenStream) -> TokenStream {
    expand(input, false)
}

/// The expansion of `group_kernel!`.
pub fn expand_group_kernel(input: TokenStream) -> TokenStream {
    expand(input, true)
}

fn expand(input: TokenStream, of_groups: bool) -> TokenStream {
    let closure = match syn::parse2::<syn::ExprClosure>(input) {
        Ok(closure) => closure,
        Err(error) => {
            let hint = syn::Error::new(
                error.span(),
                match of_groups {
                    false => format!("{error}\na kernel is written `|u, v, at| body`"),
                    true => format!("{error}\na kernel over groups is written `|u, v, group| body`"),
                },
            );
            return with_errors(vec![hint]);
        }
    };
    let mut body = Body::of_kernel();
    body.groups = of_groups.then(|| Groups::new(closure.inputs.len().saturating_sub(1)));
    let names = parameters(&mut body, &closure);
    let native = body.closure_body(&closure.body);
    let Some((at, args)) = names.split_last() else {
        return with_errors(body.errors);
    };
    if !body.errors.is_empty() {
        return with_errors(body.errors);
    }
    let text = |tokens: &TokenStream| tokens.to_string();
    let captures = std::mem::take(&mut body.captures);
    let tree = KernelTree {
        args: args.iter().map(text).collect(),
        at: text(at),
        captures: captures.iter().map(|named| named.text.clone()).collect(),
        code: body.code(native.quoted),
        group: body.groups.take().map(Groups::tree),
    };
    let fields = static_fields(&tree.encode(), &body.tables);
    let held: Vec<Ident> = (0..captures.len()).map(|n| format_ident!("__tida_c{n}", span = own())).collect();
    let value: Vec<Ident> = (0..captures.len()).map(capture_value).collect();
    let taken = captures.iter().map(|Named { path, .. }| {
        let at = own_at(path.span());
        quote_spanned!(at=> ::tida::__private::capture(&#path))
    });
    let given = captures.iter().zip(&held).map(|(Named { path, .. }, held)| {
        let at = own_at(path.span());
        quote_spanned!(at=> ::tida::__private::value(&#held))
    });
    let given: Vec<TokenStream> = given.collect();
    let native = native.native;
    let (ask, native) = match of_groups {
        false => (quote_spanned!(own()=> ::tida::__private::Ask), native),
        true => {
            let len = group_len();
            let within = quote_spanned! {own()=> {
                #[allow(unused_variables)]
                let #len = ::tida::__private::group_len(#at);
                #native
            }};
            (quote_spanned!(own()=> ::tida::__private::AskGroups), within)
        }
    };
    // What the body is made of stands in no `unsafe` block.
    let run = quote_spanned! {own()=> {
        #(let #value = #given;)*
        let __tida_body = __tida_run.body(|(#(#args,)*), #at| #native);
        // SAFETY: both forms come from one walk over one body, and so do the captures.
        unsafe { __tida_body.each(__tida_marker, &[#(&#held),*]) }
    }};
    quote_spanned! {own()=> {
        // Its type tells this kernel from all others.
        let __tida_marker = || {};
        #(let #held = #taken;)*
        #[inline(always)]
        #[allow(unused_parens, unused_braces, clippy::all, clippy::pedantic)]
        move |__tida_ask| match __tida_ask {
            #ask::Quote(__tida_answer) => {
                let __tida_kernel = const {
                    &::tida::__private::StaticKernel { line: ::core::line!(), #fields }
                };
                // SAFETY: as for the bodies.
                unsafe { __tida_answer.give(__tida_marker, __tida_kernel, &[#(&#held),*]) }
            }
            #ask::Proven(__tida_run) => #run,
            #ask::Checked(__tida_run) => #run,
        }
    }}
}

/// The name of a captured value where the body runs.
pub fn capture_value(n: usize) -> Ident {
    format_ident!("__tida_v{n}", span = own())
}

/// Checks the closure's head, declares its parameters, and gives them as patterns.
fn parameters(body: &mut Body, closure: &syn::ExprClosure) -> Vec<TokenStream> {
    if let Some(asyncness) = &closure.asyncness {
        body.error(asyncness, "a kernel cannot be `async`: write `|u, at| body`");
    }
    if let Some(constness) = &closure.constness {
        body.error(constness, "a kernel cannot be `const`: write `|u, at| body`");
    }
    if let Some(movability) = &closure.movability {
        body.error(movability, "a kernel cannot be `static`: write `|u, at| body`");
    }
    if let Some(lifetimes) = &closure.lifetimes {
        body.error(lifetimes, "a kernel has no lifetimes: write `|u, at| body`");
    }
    if let syn::ReturnType::Type(_, ty) = &closure.output {
        body.error(ty, "a kernel's result type is inferred: write `|u, at| body`");
    }
    let count = closure.inputs.len();
    if count < 2 {
        body.error(&closure.or1_token, "a kernel names at least one array and the cell: `|u, at| body`");
    }
    if count > MAX_ARGS + 1 {
        body.error(
            &closure.inputs[MAX_ARGS],
            format!("a kernel takes at most {MAX_ARGS} arrays, and the cell: put arrays of one shape into one array of structs"),
        );
    }
    let mut names = Vec::new();
    for (n, pattern) in closure.inputs.iter().enumerate() {
        match pattern {
            syn::Pat::Ident(p)
                if p.by_ref.is_none() && p.mutability.is_none() && p.subpat.is_none() && p.attrs.is_empty() =>
            {
                match n + 1 == count {
                    true if body.groups.is_some() => body.scope.declare_group(&p.ident),
                    true => body.scope.declare_at(&p.ident),
                    false => body.scope.declare_arg(&p.ident, n as u32),
                }
                names.push(p.ident.to_token_stream());
            }
            syn::Pat::Wild(p) if p.attrs.is_empty() => names.push(p.to_token_stream()),
            syn::Pat::Type(p) => {
                body.error(&p.ty, "the types of a kernel's parameters are inferred: write the name alone");
                names.push(p.pat.to_token_stream());
            }
            other => {
                body.error(other, "a kernel's parameters are plain names: `|u, v, at| body`");
                names.push(other.to_token_stream());
            }
        }
    }
    names
}

/// The errors, and a closure of the right kind, so that no other errors follow from these.
fn with_errors(errors: Vec<syn::Error>) -> TokenStream {
    let errors = compile_errors(errors);
    quote_spanned! {own()=> {
        #errors
        move |_| ::core::unreachable!()
    }}
}
