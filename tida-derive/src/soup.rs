//! Whatever the tokens, the macros give tokens back: no panic, and either errors or both forms.

use proc_macro2::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};
use proptest::prelude::*;

use crate::element::expand_element;
use crate::expand::Library;
use crate::kernel_fn::expand_kernel_fn;

fn expand_kernel(input: TokenStream) -> TokenStream {
    crate::kernel::expand_kernel(Library::by_name(), input)
}

fn expand_group_kernel(input: TokenStream) -> TokenStream {
    crate::kernel::expand_group_kernel(Library::by_name(), input)
}

const WORDS: &[&str] = &[
    "u", "next", "at", "x", "w", "self", "Self", "let", "mut", "if", "else", "for", "in", "while", "loop", "break",
    "continue", "return", "fn", "struct", "enum", "as", "f64", "i64", "usize", "bool", "u16", "true", "false", "match",
    "move", "ref", "unsafe", "async", "const", "static", "pub", "impl", "sqrt", "max", "powi", "crate", "dyn",
    "r#type", "_", "group", "t", "each", "fetch", "shared", "private", "len", "rev", "step_by", "LIMIT",
];

const PUNCTS: &[char] =
    &['|', '+', '-', '*', '/', '%', '=', '!', '<', '>', '.', ',', ';', ':', '&', '^', '#', '?', '@', '$'];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2.5",
    "1e300",
    "1e999",
    "0x1f",
    "3usize",
    "1f32",
    "7u16",
    "340282366920938463463374607431768211455",
    "\"text\"",
    "'c'",
    "b\"bytes\"",
    "1.",
    "0b12u8",
];

const KERNELS: &[&str] = &[
    "|next, u, at| { let c = u[at]; next[at] = c + alpha * (u[at + [0, 1]] + u[at - [0, 1]] - 2.0 * c); }",
    "|u, at| if u[at].x[q] > 0.0 { (self.a.b, -1) } else { return (f(u[at], 3), 4) }",
    "move |a, _, at| { for i in 0..=3 { let mut w = [[0.0; 2]; 3]; w[i][0] += 1.0; if i == 2 { continue; } } }",
    "|p, at| { p[at] = S { x: 1.0, y }; p[at].v[0] *= 2.0; let (a, [b, _]): (f64, [i64; 2]) = (1.0, at); }",
    "T; |next, u, at| { let mut s = -2.0 * D as T; for d in 0..D { let mut p = at; p[d] += 1; s += u[p] * T::lit(-0.1) \
     + u[at - unit(d)].wide() as T::Wide + flux::<T, 3>(at[d], [0.0; N]); } next[at] = s; }",
    "|u, at| { 'a: for i in (0..n).rev().step_by(2) { for (x, y) in [(1, -1), (0, 2)] { match (u[at + [x]], y) { \
     (0.5..=1.0 | -3.0, i64::MIN) => break 'a, (z @ ..0.0, 1) if z > c => continue 'a, (_, k) => u[at] += k as f64 } \
     match x { 3 | -4 => {}, 5.. if true => {}, _ => {} } } } match true { false => 1.0, true => 2.0 } }",
    "|u, at| { let mut k = 0u32; while !(k >= 3 && true) || false { k <<= 1; loop { break; } } k as f64 }",
];

const GROUPS: &[&str] = &[
    "|b, a, group| { let s = group.fetch(a, [1], [2]); let mut x = group.private(0.0); let mut h = 1; \
     while h < 8 { group.each(|t| { x = s[t + [h]] * k; }); group.each(|t| s[t] = x); h *= 2; } \
     group.each(|t| b[t.at()].v[0] = x); }",
    "|a, group| { let c = group.shared::<i32>([8, 2]); let d = group.channel::<bool>([0], [1]); let [n] = group.len(); \
     group.each_around([1], [0], |t| { if t[0] < n { c[[t[0], 1]] += 1; } }); if n > 3 { group.each(|_| {}); } }",
];

const FUNCTIONS: &[&str] = &[
    "pub(crate) fn f(a: f64, mut b: [i32; 3], c: (bool, u8)) -> (f64, i32) { b[0] += 1; (a.max(1.0), b[0]) }",
    "fn h<T: Real, const N: usize>(a: [T; N]) -> T where T: Q { let mut s = a[0]; for n in 0..N { s += a[n]; } s }",
    "fn g(p: path::P) -> path::P { path::P { x: p.x.sqrt(), ..p } }",
    "impl W { const N: usize = 2; pub fn of(h: f64) -> Self { Self { h, v: [G * Self::N as f64; 2] } } \
     fn e(&self, (a, [b, _]): (f64, [f64; 2]), W { h, .. }: W) -> f64 { self.h * a.max(b) + Self::of(h).f(1) } \
     fn f(mut self, n: usize) -> f64 { self.v[n] += f64::EPSILON; self.v[n % Self::N] } }",
];

const STRUCTS: &[&str] =
    &["pub struct P { pub x: f64, v: [f32; 3], q: path::Q }", "struct T(f64, i32);", "enum E { A, B(u8) }"];

fn leaf() -> impl Strategy<Value = TokenTree> {
    prop_oneof![
        4 => prop::sample::select(WORDS).prop_map(|word| match word.strip_prefix("r#") {
            Some(raw) => TokenTree::Ident(Ident::new_raw(raw, Span::call_site())),
            None => TokenTree::Ident(Ident::new(word, Span::call_site())),
        }),
        4 => (prop::sample::select(PUNCTS), any::<bool>()).prop_map(|(punct, joint)| {
            TokenTree::Punct(Punct::new(punct, if joint { Spacing::Joint } else { Spacing::Alone }))
        }),
        2 => prop::sample::select(NUMBERS).prop_filter_map("not a literal", |text| {
            text.parse::<Literal>().ok().map(TokenTree::Literal)
        }),
    ]
}

fn soup() -> impl Strategy<Value = Vec<TokenTree>> {
    let tree = leaf().prop_recursive(4, 64, 8, |inner| {
        let delimiter =
            prop::sample::select(vec![Delimiter::Parenthesis, Delimiter::Brace, Delimiter::Bracket, Delimiter::None]);
        (delimiter, prop::collection::vec(inner, 0..8))
            .prop_map(|(delimiter, trees)| TokenTree::Group(Group::new(delimiter, trees.into_iter().collect())))
    });
    prop::collection::vec(tree, 0..24)
}

/// An edit: where (counted through all groups), and what to put there instead; nothing removes.
type Edit = (prop::sample::Index, Option<TokenTree>, bool);

fn count(tokens: &TokenStream) -> usize {
    tokens
        .clone()
        .into_iter()
        .map(|tree| match tree {
            TokenTree::Group(group) => 1 + count(&group.stream()),
            _ => 1,
        })
        .sum()
}

fn edit(tokens: TokenStream, at: &mut isize, new: &Option<TokenTree>, keep: bool) -> TokenStream {
    let mut out = Vec::new();
    for tree in tokens {
        let here = *at == 0;
        *at -= 1;
        if here {
            out.extend(new.clone());
            if !keep {
                continue;
            }
        }
        out.push(match tree {
            TokenTree::Group(group) => {
                TokenTree::Group(Group::new(group.delimiter(), edit(group.stream(), at, new, keep)))
            }
            other => other,
        });
    }
    out.into_iter().collect()
}

fn mutated(source: &str, edits: Vec<Edit>) -> TokenStream {
    let mut tokens: TokenStream = source.parse().expect("a valid source");
    for (index, new, keep) in edits {
        let mut at = index.index(count(&tokens).max(1)) as isize;
        tokens = edit(tokens, &mut at, &new, keep);
    }
    tokens
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(leaf()), any::<bool>()), 0..5)
}

fn has_error(tokens: &TokenStream) -> bool {
    tokens.to_string().contains("compile_error")
}

/// The same for a kernel over groups.
fn check_groups(input: TokenStream) {
    let output = expand_group_kernel(input.clone());
    if !has_error(&output) {
        let parsed = syn::parse2::<syn::Expr>(output.clone());
        assert!(parsed.is_ok(), "{:?}\nfrom {input}\nto {output}", parsed.err());
    }
}

/// The expansion of a kernel is one block that Rust can parse, unless it holds errors.
fn check_kernel(input: TokenStream) {
    let output = expand_kernel(input.clone());
    if !has_error(&output) {
        let parsed = syn::parse2::<syn::Expr>(output.clone());
        assert!(parsed.is_ok(), "{:?}\nfrom {input}\nto {output}", parsed.err());
    }
}

fn check_items(output: TokenStream, input: &TokenStream) {
    if !has_error(&output) {
        let parsed = syn::parse2::<syn::File>(output.clone());
        assert!(parsed.is_ok(), "{:?}\nfrom {input}\nto {output}", parsed.err());
    }
}

#[test]
fn the_samples_expand_without_errors() {
    for source in KERNELS {
        let output = expand_kernel(source.parse().expect("a valid source"));
        assert!(!has_error(&output), "{output}");
    }
    for source in GROUPS {
        let output = expand_group_kernel(source.parse().expect("a valid source"));
        assert!(!has_error(&output), "{output}");
    }
    for source in [FUNCTIONS[0], FUNCTIONS[1], FUNCTIONS[3]] {
        let output = expand_kernel_fn(TokenStream::new(), source.parse().expect("a valid source"));
        assert!(!has_error(&output), "{output}");
    }
    let output = expand_element(STRUCTS[0].parse().expect("a valid source"));
    assert!(!has_error(&output), "{output}");
}

#[test]
fn every_error_is_reported() {
    let source = "|u, at| { let a = &u[at]; let b = u[at].clone(); match a { 2.0 => 1.0 } }";
    let output = expand_kernel(source.parse().expect("a valid source")).to_string();
    assert_eq!(output.matches("compile_error").count(), 3, "{output}");
}

#[test]
fn what_a_group_cannot_is_reported() {
    let body = "if a[[0]] > 0.0 { return; } group.each(|t| { h *= 2; group.each(|t| b[t.at()] = x); }); h = x; \
                let late = group.shared::<f64>([64]); group.each_around([1], [1], |t| s[t] = x); group.barrier();";
    let head = "let s = group.fetch(a, [1], [n]); let x = group.private(0.0); let mut h = 1;";
    let source = format!("|b, a, group| {{ {head} {body} }}");
    let output = expand_group_kernel(source.parse().expect("a valid source")).to_string();
    for part in [
        "write numbers in brackets",
        "is read and written by threads",
        "`return` is not supported",
        "`h` belongs to the whole group",
        "a phase does not stand in another one",
        "each thread has a `x` of its own",
        "declare what a group shares",
        "threads beside the group's cells have no `x`",
        "write this as a statement of its own",
    ] {
        assert!(output.contains(part), "`{part}` is not in {output}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn soup_never_panics(trees in soup()) {
        let tokens: TokenStream = trees.into_iter().collect();
        check_kernel(tokens.clone());
        check_items(expand_kernel_fn(TokenStream::new(), tokens.clone()), &tokens);
        check_items(expand_element(tokens.clone()), &tokens);
    }

    #[test]
    fn soup_as_a_body_never_panics(trees in soup()) {
        let body = TokenTree::Group(Group::new(Delimiter::Brace, trees.into_iter().collect()));
        check_kernel(quote::quote!(|next, u, at| #body));
        let function = quote::quote!(fn f(x: f64, w: [i64; 2]) -> f64 #body);
        check_items(expand_kernel_fn(TokenStream::new(), function.clone()), &function);
    }

    #[test]
    fn mutated_kernels_never_panic(source in prop::sample::select(KERNELS), edits in edits()) {
        check_kernel(mutated(source, edits));
    }

    #[test]
    fn mutated_functions_and_structs_never_panic(
        function in prop::sample::select(FUNCTIONS),
        structure in prop::sample::select(STRUCTS),
        edits in edits(),
    ) {
        let function = mutated(function, edits.clone());
        check_items(expand_kernel_fn(TokenStream::new(), function.clone()), &function);
        let structure = mutated(structure, edits);
        check_items(expand_element(structure.clone()), &structure);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn soup_in_a_phase_never_panics(trees in soup()) {
        let body = TokenTree::Group(Group::new(Delimiter::Brace, trees.into_iter().collect()));
        check_groups(quote::quote!(|next, u, group| { let x = group.private(0.0); group.each(|t| #body); #body }));
    }

    #[test]
    fn mutated_groups_never_panic(source in prop::sample::select(GROUPS), edits in edits()) {
        check_groups(mutated(source, edits));
    }
}
