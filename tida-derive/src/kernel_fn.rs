//! `#[kernel_fn]`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use tida_quote::quote::{Expr, ExprKind, FunctionTree, LocalId, Pattern, Stmt, StmtKind};

use crate::body::{Body, place_of, text_of};
use crate::expand::{Library, compile_errors, imports, own, own_at, static_fields, with_parameters};

/// The expansion of `#[kernel_fn]`.
pub fn expand_kernel_fn(attribute: TokenStream, input: TokenStream) -> TokenStream {
    let function = match syn::parse2::<syn::ItemFn>(input.clone()) {
        Ok(function) => function,
        Err(error) => {
            let hint = format!("{error}\n`#[kernel_fn]` goes on a function: `fn name(a: f64, ..) -> f64 {{ .. }}`");
            let errors = compile_errors(vec![syn::Error::new(error.span(), hint)]);
            return quote!(#errors);
        }
    };
    let (library, wrong) = match Library::of_option(attribute) {
        Ok(library) => (library, None),
        Err(error) => (Library::by_name(), Some(error)),
    };
    let mut body = Body::of_function(library);
    body.errors.extend(wrong);
    check_signature(&mut body, &function);
    take_parameters(&mut body, &function.sig.generics);
    let mut names = Vec::new();
    let mut outer_names = Vec::new();
    let mut types = Vec::new();
    let mut params = Vec::new();
    let mut apart = Vec::new();
    for (n, input) in function.sig.inputs.iter().enumerate() {
        let syn::FnArg::Typed(param) = input else {
            body.error(input, "a `#[kernel_fn]` is not a method: take the fields it needs as parameters");
            continue;
        };
        if let Some(attribute) = param.attrs.first() {
            body.error(attribute, "attributes are not supported on a parameter of a `#[kernel_fn]`");
        }
        let (native, tree) = body.ty(&param.ty);
        let point = crate::body::is_point(&tree);
        body.refuse_attributes(|finder| syn::visit::visit_pat(finder, &param.pat));
        let (local, name, outer) = match &*param.pat {
            syn::Pat::Ident(p) if p.by_ref.is_none() && p.subpat.is_none() => {
                (body.scope.declare(&p.ident, p.mutability.is_some(), point), p.to_token_stream(), p.ident.clone())
            }
            pattern => {
                let local = body.scope.anonymous("_".to_owned(), false, pattern.span());
                let (native, pattern) = body.pattern(pattern, point);
                apart.push(taken_apart(local, pattern, param.pat.span()));
                (local, native, quote::format_ident!("__tida_p{n}", span = own()))
            }
        };
        names.push(name);
        outer_names.push(outer);
        types.push(native);
        params.push((local, tree));
    }
    let (result, result_tree) = match &function.sig.output {
        syn::ReturnType::Default => (quote!(()), None),
        syn::ReturnType::Type(_, ty) => {
            let (native, tree) = body.ty(ty);
            (native, Some(tree))
        }
    };
    let signature = body.errors.is_empty();
    body.refuse_attributes(|finder| syn::visit::visit_block(finder, &function.block));
    let mut native = body.block(&function.block);
    native.quoted.stmts.splice(0..0, apart);
    let name = &function.sig.ident;
    let plain = name.unraw().to_string();
    let calls_itself = |named: &crate::body::Named| text_of(&with_parameters(&named.path).0) == plain;
    if body.tables.functions.iter().any(calls_itself) {
        body.error(name, "a `#[kernel_fn]` cannot call itself: write a loop");
    }
    if !body.errors.is_empty() {
        let errors = compile_errors(std::mem::take(&mut body.errors));
        return if signature { without_a_body(&function, &body.library, errors) } else { errors };
    }
    let tree = FunctionTree { name: plain, params, result: result_tree, code: body.code(native.quoted) };
    let fields = static_fields(&tree.encode(), &body);
    let native = native.native;
    let (vis, attrs) = (&function.vis, &function.attrs);
    let private = |name: &str| body.library.private(name, own());
    let (kernel_fn, of, numbers_of, call) =
        (private("KernelFn"), private("StaticFunction"), private("numbers_of"), private("call"));
    let (imports, (numbers, numbers_types)) = (imports(&body), body.number_types());
    let at_name = own_at(name.span());
    let (generics, parameters, bounds) = function.sig.generics.split_for_impl();
    let behind = parameters.as_turbofish();
    let declared = type_of(&function);
    let item = quote_spanned! {at_name=>
        #[allow(clippy::too_many_arguments)]
        #[inline]
        #(#attrs)*
        #vis fn #name #generics(#(#outer_names: #types),*) -> #result #bounds {
            #call::<#name #behind>((#(#outer_names,)*))
        }
    };
    let scalar_type = private("ScalarType");
    let length = body.numbers_len();
    quote_spanned! {own()=>
        #item
        #[doc(hidden)]
        #[allow(non_camel_case_types, missing_debug_implementations, unreachable_pub, clippy::all, clippy::pedantic)]
        #declared
        #[allow(unused_parens, unused_braces, clippy::all, clippy::pedantic)]
        const _: () = {
            #imports
            // SAFETY: both forms come from one walk over one body.
            unsafe impl #generics #kernel_fn for #name #parameters #bounds {
                type Args = (#(#types,)*);
                type Output = #result;
                const QUOTE: &'static #of = &#of { numbers: #numbers_of::<#name #behind>, #fields };
                #[inline(always)]
                fn forms() -> (impl Fn((#(#types,)*)) -> #result, impl AsRef<[#scalar_type]>) {
                    #numbers
                    let __tida_body = {
                        #[inline(always)]
                        move |(#(#names,)*): (#(#types,)*)| -> #result #native
                    };
                    let __tida_types: [#scalar_type; #length] = [#numbers_types];
                    (__tida_body, __tida_types)
                }
            }
        };
    }
}

/// `let pattern = local;`.
fn taken_apart(local: LocalId, pattern: Pattern, span: proc_macro2::Span) -> Stmt {
    let init = Some(Expr { span: place_of(span), kind: ExprKind::Local(local) });
    Stmt { span: place_of(span), kind: StmtKind::Let { pattern, ty: None, init } }
}

/// The type that stands for the function in kernels: no value is of it.
fn type_of(function: &syn::ItemFn) -> TokenStream {
    let (name, vis) = (&function.sig.ident, &function.vis);
    let generics = &function.sig.generics;
    let types: Vec<&syn::Ident> = generics.type_params().map(|param| &param.ident).collect();
    let params = generics.params.iter().filter_map(|param| match param {
        syn::GenericParam::Type(param) => Some(param.ident.to_token_stream()),
        syn::GenericParam::Const(param) => {
            let (name, ty) = (&param.ident, &param.ty);
            Some(quote!(const #name: #ty))
        }
        syn::GenericParam::Lifetime(_) => None,
    });
    let params = (!generics.params.is_empty()).then(|| quote!(<#(#params),*>));
    let none = (!types.is_empty()).then(|| {
        quote_spanned! {own()=>
            #[allow(dead_code)]
            __Tida(::core::convert::Infallible, ::core::marker::PhantomData<fn() -> (#(#types,)*)>)
        }
    });
    quote_spanned!(own()=> #vis enum #name #params { #none })
}

/// Whether anything is said of a type parameter.
fn is_bounded(param: &syn::TypeParam, generics: &syn::Generics) -> bool {
    let predicates = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let named = |ty: &syn::Type| matches!(ty, syn::Type::Path(path) if path.path.is_ident(&param.ident));
    let mut of_types = predicates.filter_map(|predicate| match predicate {
        syn::WherePredicate::Type(of) => Some(&of.bounded_ty),
        _ => None,
    });
    !param.bounds.is_empty() || of_types.any(named)
}

/// Takes the type and const parameters of a function.
fn take_parameters(body: &mut Body, generics: &syn::Generics) {
    for param in &generics.params {
        match param {
            syn::GenericParam::Type(param) => {
                body.open.casts = true;
                if let Some(token) = &param.eq_token {
                    body.error(token, "a parameter of a `#[kernel_fn]` has no default");
                }
                if !is_bounded(param, generics) {
                    let name = &param.ident;
                    let message = format!("say which numbers `{name}` stands for: `{name}: Real` for `f32` and `f64`");
                    body.error(name, format!("{message}, `{name}: Number` for integers too"));
                }
            }
            syn::GenericParam::Const(param) => {
                let plain = matches!(&param.ty, syn::Type::Path(ty) if ty.path.is_ident("usize"));
                if !plain {
                    body.error(&param.ty, "a const parameter of a `#[kernel_fn]` is a `usize`");
                }
                body.open.names.insert(param.ident.unraw().to_string());
            }
            syn::GenericParam::Lifetime(param) => {
                body.error(param, "a `#[kernel_fn]` has no lifetimes: its parameters are values");
            }
        }
    }
}

/// What a function in a kernel cannot be.
fn check_signature(body: &mut Body, function: &syn::ItemFn) {
    let sig = &function.sig;
    let plain = "a `#[kernel_fn]` is a plain function: write `fn name(a: f64, ..) -> f64 { .. }`";
    if let Some(token) = &sig.constness {
        body.error(token, plain);
    }
    if let Some(token) = &sig.asyncness {
        body.error(token, plain);
    }
    if let Some(token) = &sig.unsafety {
        body.error(token, plain);
    }
    if let Some(token) = &sig.abi {
        body.error(token, plain);
    }
    if let Some(token) = &sig.variadic {
        body.error(token, plain);
    }
}

/// The items with nothing in them, so that what uses the function gives no errors of its own.
fn without_a_body(function: &syn::ItemFn, library: &Library, errors: TokenStream) -> TokenStream {
    let (name, vis) = (&function.sig.ident, &function.vis);
    let typed: Option<Vec<&syn::Type>> = function
        .sig
        .inputs
        .iter()
        .map(|input| match input {
            syn::FnArg::Typed(param) => Some(&*param.ty),
            syn::FnArg::Receiver(_) => None,
        })
        .collect();
    let types = typed.unwrap_or_default();
    let result = match &function.sig.output {
        syn::ReturnType::Default => quote!(()),
        syn::ReturnType::Type(_, ty) => ty.to_token_stream(),
    };
    let private = |name: &str| library.private(name, own());
    let (kernel_fn, of, unreachable) = (private("KernelFn"), private("StaticFunction"), private("unreachable"));
    let (numbers_of, scalar_type) = (private("numbers_of"), private("ScalarType"));
    let (generics, parameters, bounds) = function.sig.generics.split_for_impl();
    let (behind, declared) = (parameters.as_turbofish(), type_of(function));
    quote_spanned! {own()=>
        #errors
        #[allow(unused)]
        #vis fn #name #generics(#(_: #types),*) -> #result #bounds { #unreachable!() }
        #[allow(unused, non_camel_case_types, missing_debug_implementations)]
        #[doc(hidden)]
        #declared
        // SAFETY: it does not compile.
        unsafe impl #generics #kernel_fn for #name #parameters #bounds {
            type Args = (#(#types,)*);
            type Output = #result;
            const QUOTE: &'static #of = &#of {
                file: "", tree: &[], numbers: #numbers_of::<#name #behind>, functions: &[], structs: &[],
                constants: &[],
            };
            fn forms() -> (impl Fn((#(#types,)*)) -> #result, impl AsRef<[#scalar_type]>) {
                (|_| #unreachable!(), [])
            }
        }
    }
}
