//! `#[kernel_fn]` on a function.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use tida_quote::quote::{Expr, ExprKind, FunctionTree, LocalId, Pattern, Stmt, StmtKind, TypeTree};

use crate::body::{Body, BothBlock, place_of, text_of};
use crate::expand::{Library, compile_errors, imports, own, own_at, static_fields, with_parameters};

/// The expansion of `#[kernel_fn]`.
pub fn expand_kernel_fn(attribute: TokenStream, input: TokenStream) -> TokenStream {
    let (library, wrong) = match Library::of_option(attribute) {
        Ok(library) => (library, None),
        Err(error) => (Library::by_name(), Some(error)),
    };
    if let Ok(methods) = syn::parse2::<syn::ItemImpl>(input.clone()) {
        return crate::methods::expand_methods(&library, wrong, methods);
    }
    let function = match syn::parse2::<syn::ItemFn>(input) {
        Ok(function) => function,
        Err(error) => {
            let hint = format!(
                "{error}\n`#[kernel_fn]` goes on a function, `fn name(a: f64, ..) -> f64 {{ .. }}`, or on the `impl` of a struct"
            );
            let errors = compile_errors(vec![syn::Error::new(error.span(), hint)]);
            return quote!(#errors);
        }
    };
    let mut body = Body::of_function(library);
    body.errors.extend(wrong);
    take_parameters(&mut body, &function.sig.generics);
    let parts = Parts::of(&mut body, &function.sig, &function.block);
    let (name, plain) = (&function.sig.ident, &parts.name);
    let calls_itself = |named: &crate::body::Named| text_of(&with_parameters(&named.path).0) == *plain;
    if body.tables.functions.iter().any(calls_itself) {
        body.error(name, "a `#[kernel_fn]` cannot call itself: write a loop");
    }
    if !body.errors.is_empty() {
        let errors = compile_errors(std::mem::take(&mut body.errors));
        return if parts.signature { without_a_body(&function, &body.library, errors) } else { errors };
    }
    let (outer_names, types, result) = (&parts.outer_names, &parts.types, &parts.result);
    let (vis, attrs) = (&function.vis, &function.attrs);
    let private = |name: &str| body.library.private(name, own());
    let (kernel_fn, call, imports) = (private("KernelFn"), private("call"), imports(&body));
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
    let items = parts.items(&mut body, &quote!(#name #behind));
    quote_spanned! {own()=>
        #item
        #[doc(hidden)]
        #[allow(non_camel_case_types, missing_debug_implementations, unreachable_pub, clippy::all, clippy::pedantic)]
        #declared
        #[allow(unused_parens, unused_braces, clippy::all, clippy::pedantic)]
        const _: () = {
            #imports
            // SAFETY: both forms come from one walk over one body.
            #[diagnostic::do_not_recommend]
            unsafe impl #generics #kernel_fn for #name #parameters #bounds {
                #items
            }
        };
    }
}

/// What is found in a function.
pub struct Parts {
    /// Its name.
    pub name: String,
    /// Whether no error was found before its body.
    pub signature: bool,
    /// Its parameters in the native form: patterns.
    names: Vec<TokenStream>,
    /// Their names outside of it: of those behind the receiver.
    pub outer_names: Vec<Ident>,
    /// Their types, that of the receiver among them.
    pub types: Vec<TokenStream>,
    params: Vec<(LocalId, TypeTree)>,
    /// The type of the result.
    pub result: TokenStream,
    result_tree: Option<TypeTree>,
    native: BothBlock,
}

impl Parts {
    /// Walks a function.
    pub fn of(body: &mut Body, sig: &syn::Signature, block: &syn::Block) -> Parts {
        check_signature(body, sig);
        let (mut names, mut outer_names, mut types) = (Vec::new(), Vec::new(), Vec::new());
        let (mut params, mut apart) = (Vec::new(), Vec::new());
        for (n, input) in sig.inputs.iter().enumerate() {
            let param = match input {
                syn::FnArg::Typed(param) => param,
                syn::FnArg::Receiver(this) => {
                    if let Some((name, ty, param)) = receiver_of(body, this) {
                        names.push(name);
                        types.push(ty);
                        params.push(param);
                    }
                    continue;
                }
            };
            if let Some(attribute) = param.attrs.first() {
                body.error(attribute, "attributes are not supported on a parameter of a `#[kernel_fn]`");
            }
            let (native, tree) = body.ty(&param.ty);
            let point = crate::body::is_point(&tree);
            body.refuse_attributes(|finder| syn::visit::visit_pat(finder, &param.pat));
            let (local, name, outer) = match &*param.pat {
                syn::Pat::Ident(p) if p.by_ref.is_none() && p.subpat.is_none() => {
                    let local = body.scope.declare(&p.ident, p.mutability.is_some(), point);
                    body.scope.set_length(local, Some(&tree), None);
                    if matches!(tree, TypeTree::Scalar(_)) {
                        body.scope.set_number(local);
                    }
                    (local, p.to_token_stream(), p.ident.clone())
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
        let (result, result_tree) = match &sig.output {
            syn::ReturnType::Default => (quote!(()), None),
            syn::ReturnType::Type(_, ty) => {
                let (native, tree) = body.ty(ty);
                (native, Some(tree))
            }
        };
        let signature = body.errors.is_empty();
        body.refuse_attributes(|finder| syn::visit::visit_block(finder, block));
        let mut native = body.block(block);
        native.quoted.stmts.splice(0..0, apart);
        let name = sig.ident.unraw().to_string();
        Parts { name, signature, names, outer_names, types, params, result, result_tree, native }
    }

    /// What an `impl` of `KernelFn` or `KernelMethod` has in it; `of` is the type that stands for the function.
    pub fn items(self, body: &mut Body, of: &TokenStream) -> TokenStream {
        let Parts { name, names, types, params, result, result_tree, native, .. } = self;
        let tree = FunctionTree { name, params, result: result_tree, code: body.code(native.quoted) };
        let (fields, native) = (static_fields(&tree.encode(), body), native.native);
        let private = |name: &str| body.library.private(name, own());
        let (function, numbers_of, methods_of) =
            (private("StaticFunction"), private("numbers_of"), private("methods_of"));
        let ((numbers, numbers_types), (methods, quotations)) = (body.number_types(), body.methods());
        let (scalar_type, forms) = (private("ScalarType"), forms(&body.library, &types, &result));
        let (length, calls) = (body.numbers_len(), body.tables.methods.len());
        quote_spanned! {own()=>
            type Args = (#(#types,)*);
            type Output = #result;
            const QUOTE: &'static #function =
                &#function { numbers: #numbers_of::<#of>, methods: #methods_of::<#of>, #fields };
            #[inline(always)]
            #forms {
                #numbers
                #methods
                let __tida_body = {
                    #[inline(always)]
                    move |(#(#names,)*): (#(#types,)*)| -> #result #native
                };
                let __tida_types: [#scalar_type; #length] = [#numbers_types];
                let __tida_methods: [&'static #function; #calls] = [#quotations];
                (__tida_body, __tida_types, __tida_methods)
            }
        }
    }
}

/// The head of `forms`.
fn forms(library: &Library, types: &[TokenStream], result: &TokenStream) -> TokenStream {
    let private = |name: &str| library.private(name, own());
    let (scalar_type, function) = (private("ScalarType"), private("StaticFunction"));
    quote_spanned! {own()=>
        fn forms() -> (
            impl Fn((#(#types,)*)) -> #result, impl AsRef<[#scalar_type]>, impl AsRef<[&'static #function]>,
        )
    }
}

/// The receiver of a method: its name in the native form, its type, and the parameter that it is.
fn receiver_of(body: &mut Body, this: &syn::Receiver) -> Option<(TokenStream, TokenStream, (LocalId, TypeTree))> {
    if !body.is_of_method() {
        let message = "a method needs `#[kernel_fn]` on its whole `impl`, or take the fields it needs as parameters";
        body.error(this, message);
        body.scope.declare_self(&this.self_token, false);
        return None;
    }
    if let Some(attribute) = this.attrs.first() {
        body.error(attribute, "attributes are not supported on a parameter of a `#[kernel_fn]`");
    }
    let written = this.reference.is_some() && this.mutability.is_some() || this.colon_token.is_some();
    if written {
        body.error(this, "the receiver of a method that kernels call is `self` or `&self`: values are copied");
    }
    let own_type: syn::Type = syn::parse_quote_spanned!(this.self_token.span=> Self);
    let (native, tree) = body.ty(&own_type);
    let mutable = this.reference.is_none() && this.mutability.is_some();
    let local = body.scope.declare_self(&this.self_token, mutable);
    let (name, mutability) = (crate::body::receiver(), mutable.then(|| quote!(mut)));
    Some((quote!(#mutability #name), native, (local, tree)))
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
fn check_signature(body: &mut Body, sig: &syn::Signature) {
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
    let (kernel_fn, unreachable) = (private("KernelFn"), private("unreachable"));
    let (generics, parameters, bounds) = function.sig.generics.split_for_impl();
    let (behind, declared) = (parameters.as_turbofish(), type_of(function));
    let given: Vec<TokenStream> = types.iter().map(|ty| ty.to_token_stream()).collect();
    let items = without_forms(library, &quote!(#name #behind), &given, &result);
    quote_spanned! {own()=>
        #errors
        #[allow(unused)]
        #vis fn #name #generics(#(_: #types),*) -> #result #bounds { #unreachable!() }
        #[allow(unused, non_camel_case_types, missing_debug_implementations)]
        #[doc(hidden)]
        #declared
        // SAFETY: it does not compile.
        unsafe impl #generics #kernel_fn for #name #parameters #bounds {
            #items
        }
    }
}

/// What an `impl` has in it of a function that does not compile.
pub fn without_forms(library: &Library, of: &TokenStream, types: &[TokenStream], result: &TokenStream) -> TokenStream {
    let private = |name: &str| library.private(name, own());
    let (function, unreachable) = (private("StaticFunction"), private("unreachable"));
    let (numbers_of, methods_of) = (private("numbers_of"), private("methods_of"));
    let forms = forms(library, types, result);
    quote_spanned! {own()=>
        type Args = (#(#types,)*);
        type Output = #result;
        const QUOTE: &'static #function = &#function {
            file: "", tree: &[], numbers: #numbers_of::<#of>, methods: #methods_of::<#of>,
            functions: &[], structs: &[], constants: &[],
        };
        #forms {
            (|_| #unreachable!(), [], [])
        }
    }
}
