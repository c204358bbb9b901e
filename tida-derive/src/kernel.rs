//! `kernel!(|args.., at| body)`.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::Visit;
use tida_quote::quote::{KernelTree, NativeForm};

use crate::body::{
    Blocks, Body, BothBlock, Constants, Groups, Named, block_name, group_len, halved, is_blind, is_found_as_it_runs,
    is_plain, nothing, out_name, reads, text_of,
};
use crate::expand::{Library, compile_errors, imports, own, own_at, static_fields};

/// Most array arguments of a kernel.
const MAX_ARGS: usize = 16;

/// Most values of an array in a body that is inlined.
const MOST_KEPT: u64 = 1024;

/// The expansion of `kernel!`.
pub fn expand_kernel(library: Library, input: TokenStream) -> TokenStream {
    expand(library, input, false)
}

/// The expansion of `group_kernel!`.
pub fn expand_group_kernel(library: Library, input: TokenStream) -> TokenStream {
    expand(library, input, true)
}

fn expand(library: Library, input: TokenStream, of_groups: bool) -> TokenStream {
    let parsed = syn::parse::Parser::parse2(with_header, input);
    let (header, closure) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            let hint = syn::Error::new(
                error.span(),
                match of_groups {
                    false => format!("{error}\na kernel is written `|u, v, at| body`"),
                    true => format!("{error}\na kernel over groups is written `|u, v, group| body`"),
                },
            );
            return with_errors(&library, vec![hint]);
        }
    };
    let mut body = Body::of_kernel(library);
    body.groups = of_groups.then(|| Groups::new(closure.inputs.len().saturating_sub(1)));
    let names = parameters(&mut body, &closure);
    header.iter().for_each(|ty| body.take_header(ty));
    let native = body.closure_body(&closure.body);
    let Some((at, args)) = names.split_last() else {
        return with_errors(&body.library, body.errors);
    };
    if !body.errors.is_empty() {
        return with_errors(&body.library, body.errors);
    }
    let quoted = &native.quoted;
    let looks_up = is_found_as_it_runs(quoted);
    let reads = (reads(quoted, args.len()), halved(quoted), [is_plain(quoted), is_blind(quoted)]);
    let Chosen { mut blocks, form, few_form, few } = Chosen::of(&body, &native, at, args);
    let rust = body.with_ways(native.native);
    if let Some(blocks) = &mut blocks {
        blocks.native = body.with_ways(std::mem::take(&mut blocks.native));
    }
    let captures = std::mem::take(&mut body.captures);
    let tree = KernelTree {
        args: args.iter().map(text_of).collect(),
        at: text_of(at),
        captures: captures.iter().map(|named| named.text.clone()).collect(),
        code: body.code(native.quoted),
        group: body.groups.take().map(Groups::tree),
        native: form,
        native_if_few: few_form,
    };
    let held: Vec<Ident> = (0..captures.len()).map(|n| format_ident!("__tida_c{n}", span = own())).collect();
    let inline = (!of_groups && !keeps_much(&closure.body)).then(|| quote_spanned!(own()=> #[inline(always)]));
    let inline = [inline.clone(), inline.filter(|_| looks_up)];
    let ([proven, checked], ask) =
        native_form(&body, &captures, &held, (at, args), (rust, blocks, reads), (of_groups, inline, few.as_ref()));
    let taken = captures.iter().map(|Named { path, .. }| {
        let (at, capture) = (own_at(path.span()), body.library.private("capture", path.span()));
        // One expression, of the user's tokens alone, for errors to point at.
        let place = quote_spanned!(path.span()=> &#path);
        quote_spanned!(at=> #capture(#place))
    });
    let (imports, fields) = (imports(&body), static_fields(&tree.encode(), &body));
    let private = |name: &str| body.library.private(name, own());
    let (methods, quotations) = body.methods();
    let few_or_not = few.unwrap_or_else(|| quote_spanned!(own()=> false));
    let (give, line, kernel) = (private("give"), private("line"), private("StaticKernel"));
    quote_spanned! {own()=> {
        #imports
        // Its type tells this kernel from all others.
        let __tida_marker = || {};
        #methods
        #(let #held = #taken;)*
        #[inline(always)]
        #[allow(unused_parens, unused_braces, clippy::all, clippy::pedantic)]
        move |__tida_ask| match __tida_ask {
            #ask::Quote(__tida_answer) => {
                let __tida_kernel = const { &#kernel { line: #line!(), few: #few_or_not, #fields } };
                // SAFETY: as for the bodies.
                unsafe { #give(__tida_answer, __tida_marker, __tida_kernel, &[#(&#held),*], &[#quotations]) }
            }
            #ask::Proven(__tida_run) => #proven,
            #ask::Checked(__tida_run) => #checked,
        }
    }}
}

/// The form for blocks of cells, if the kernel has one.
#[derive(Default)]
struct Chosen {
    blocks: Option<Blocks>,
    form: NativeForm,
    /// What runs where loops that constants bound are short.
    few_form: NativeForm,
    /// Rust that says whether they are: then the kernel runs cell by cell, with these loops written out.
    few: Option<TokenStream>,
}

impl Chosen {
    fn of(body: &Body, kernel: &BothBlock, at: &TokenStream, args: &[TokenStream]) -> Chosen {
        if body.groups.is_some() {
            return Chosen::default();
        }
        let (blocks, form) = body.blocks(kernel, at, args, Constants::Few);
        let plain = Chosen { few_form: form.clone(), blocks, form, few: None };
        if plain.blocks.is_some() || body.short.is_empty() {
            return plain;
        }
        let (blocks, form) = body.blocks(kernel, at, args, Constants::Any);
        let short = &body.short;
        Chosen { blocks, form, few: Some(quote_spanned!(own()=> #(#short)&&*)), ..plain }
    }
}

/// A kernel, and the type of its numbers before it: `T; |u, at| body`.
fn with_header(input: syn::parse::ParseStream<'_>) -> syn::Result<(Option<syn::Type>, syn::ExprClosure)> {
    let ahead = input.fork();
    let header = match ahead.parse::<syn::Type>() {
        Ok(_) if ahead.peek(syn::Token![;]) => {
            let ty = input.parse()?;
            input.parse::<syn::Token![;]>()?;
            Some(ty)
        }
        _ => None,
    };
    Ok((header, input.parse()?))
}

/// Rust that runs the body, proven and checked, and the type of what is asked.
fn native_form(
    body: &Body,
    captures: &[Named],
    held: &[Ident],
    (at, args): (&TokenStream, &[TokenStream]),
    (native, blocks, reads): (TokenStream, Option<Blocks>, Counted),
    (of_groups, [inline, inline_checked], few): (bool, [Option<TokenStream>; 2], Option<&TokenStream>),
) -> ([TokenStream; 2], TokenStream) {
    let value: Vec<Ident> = (0..captures.len()).map(capture_value).collect();
    let given: Vec<TokenStream> = captures
        .iter()
        .zip(held)
        .map(|(Named { path, .. }, held)| {
            let (at, value) = (own_at(path.span()), body.library.private("value", path.span()));
            quote_spanned!(at=> #value(&#held))
        })
        .collect();
    let private = |name: &str| body.library.private(name, own());
    let (ask, take, each, native) = match of_groups {
        false => (private("Ask"), private("body"), private("each"), native),
        true => {
            let (len, group_len) = (group_len(), private("group_len"));
            let within = quote_spanned! {own()=> {
                #[allow(unused_variables)]
                let #len = #group_len(#at);
                #native
            }};
            (private("AskGroups"), private("group_body"), private("each_group"), within)
        }
    };
    let (numbers, types) = body.number_types();
    let apart = body.keeps_apart.then(|| {
        let (name, nothing) = (nothing(), private("nothing"));
        quote_spanned!(own()=> let #name = #nothing();)
    });
    // What the body is made of stands in no `unsafe` block.
    let run = |code: TokenStream, each: &TokenStream, more: TokenStream, is_proven: bool| {
        let proven = body.says_proven(is_proven);
        quote_spanned! {own()=> {
            #proven
            #(let #value = #given;)*
            #numbers
            #apart
            #[allow(unused_mut, unused_variables, unused_assignments)]
            let __tida_body = #code;
            // SAFETY: both forms come from one walk over one body, and so do the captures and the numbers.
            unsafe { #each(__tida_body, __tida_marker, &[#(&#held),*], &[#types] #more) }
        }}
    };
    let (counted, [checked_more, proven_more]) = match of_groups {
        true => Default::default(),
        false => {
            let (counts, none) = (counts(body, reads), private("NoReads"));
            (counts, [quote_spanned!(own()=> , #none), quote_spanned!(own()=> , __TidaReads)])
        }
    };
    let checked = quote_spanned!(own()=> #take(__tida_run, #inline_checked move |(#(#args,)*), #at| #native));
    let checked = run(checked, &each, checked_more, false);
    let by_cells = || {
        // (It holds the values, not where they are: `rows_of_regions` sees a copy.)
        let body = quote_spanned!(own()=> #take(__tida_run, #inline move |(#(#args,)*), #at| #native));
        let run = run(body, &each, proven_more, true);
        quote_spanned!(own()=> { #counted #run })
    };
    let by_blocks = blocks.map(|Blocks { native, shape }| {
        let shape = shape.map(|n| Literal::usize_unsuffixed(n as usize));
        let (take, each) = (private("blocks"), private("each_block"));
        let (block, out) = (block_name(), out_name());
        let body = quote_spanned! {own()=>
            #take(__tida_run, [#(#shape),*], #inline |(#(#args,)*), #block, #out| { #native })
        };
        run(body, &each, TokenStream::new(), true)
    });
    let proven = match (by_blocks, few) {
        (None, _) => by_cells(),
        (Some(blocks), None) => blocks,
        (Some(blocks), Some(few)) => {
            let cells = by_cells();
            quote_spanned!(own()=> if const { #few } #cells else #blocks)
        }
    };
    ([proven, checked], ask)
}

/// Whether an array in a body is so large that the body is to be a function of its own.
///
/// Other bodies are inlined: as a function a body is compiled for one cell, without the machine's vectors. That costs
/// most where it is long. (Where reads are checked, inlining would mostly cost time to build: see
/// `is_found_as_it_runs`.) But without optimisation what a function keeps has its room as soon as the function is
/// called, and the kernel is called to be quoted too.
fn keeps_much(body: &syn::Expr) -> bool {
    struct Most(u64);
    impl Visit<'_> for Most {
        fn visit_expr_repeat(&mut self, repeat: &syn::ExprRepeat) {
            let mut inner = Most(1);
            inner.visit_expr(&repeat.expr);
            let len = match &*repeat.len {
                syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(len), .. }) => len.base10_parse().unwrap_or(u64::MAX),
                _ => 1,
            };
            self.0 = self.0.max(inner.0.saturating_mul(len));
        }
    }
    let mut most = Most(1);
    most.visit_expr(body);
    most.0 > MOST_KEPT
}

/// How many values a cell reads of each argument, the axes along which it halves where it is, and whether it is plain
/// and reads nothing of what it has written.
type Counted = (Vec<[u32; 2]>, u32, [bool; 2]);

/// A type that says this.
fn counts(body: &Body, (reads, halved, [plain, blind]): Counted) -> TokenStream {
    let halved = Literal::u32_unsuffixed(halved);
    let reads = reads.iter().map(|counts| {
        let [whole, parts] = counts.map(Literal::u32_unsuffixed);
        quote_spanned!(own()=> [#whole, #parts])
    });
    let (of, count) = (body.library.private("Reads", own()), body.library.scalar("u32", own()));
    let truth = body.library.scalar("bool", own());
    quote_spanned! {own()=>
        #[allow(missing_debug_implementations, missing_copy_implementations)]
        struct __TidaReads;
        impl #of for __TidaReads {
            const COUNTS: &'static [[#count; 2]] = &[#(#reads),*];
            const HALVED: #count = #halved;
            const PLAIN: #truth = #plain;
            const BLIND: #truth = #blind;
        }
    }
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
    if let Some(attribute) = closure.attrs.first() {
        body.error(
            attribute,
            "attributes are not supported on a kernel: put it on the statement that holds the kernel",
        );
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
fn with_errors(library: &Library, errors: Vec<syn::Error>) -> TokenStream {
    let (errors, unreachable) = (compile_errors(errors), library.private("unreachable", own()));
    quote_spanned! {own()=> {
        #errors
        move |_| #unreachable!()
    }}
}
