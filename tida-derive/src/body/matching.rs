//! `match`, as a chain of `if`s.
//!
//! The chain is made before the walk, so both forms come from what the walk makes of `if`, `let` and comparisons. All
//! names that it brings are the macro's own.

use proc_macro2::Span;
use quote::{ToTokens, format_ident};
use syn::spanned::Spanned;

use super::each::let_of;
use super::generic::is_capital;
use super::scope::Name;
use super::{Body, Both, bare, text_of};
use crate::expand::own_at;

/// Most arms: the chain nests as deep.
const ARMS: usize = 64;

/// What is said of other patterns.
const PATTERNS: &str = "a `match` in a kernel knows numbers, `true`, `false`, ranges, `a | b`, tuples, names and `_`: compare with `if` for more";

/// What an arm of a `match` asks of the value, and what it binds.
#[derive(Default)]
struct Asked {
    /// What has to be true; nothing if every value fits.
    test: Option<syn::Expr>,
    /// `let`s of the names.
    binds: Vec<syn::Stmt>,
}

impl Body {
    /// Both forms of a `match`.
    pub(super) fn matching(&mut self, each: &syn::ExprMatch) -> Both {
        let (own, before) = (own_at(each.expr.span()), self.errors.len());
        if self.names_point(&each.expr) {
            let name = text_of(&each.expr);
            let message =
                format!("a point has no patterns: match its coordinates, `{name}[0]` or `({name}[0], {name}[1])`");
            return self.hole(&each.expr, message);
        }
        if let Some(arm) = each.arms.get(ARMS) {
            return self.hole(&arm.pat, format!("a `match` in a kernel has at most {ARMS} arms: read a table"));
        }
        let held = format_ident!("__tida_matched{}", self.fresh(), span = own);
        let value = name(&held);
        let pattern = syn::Pat::Ident(syn::PatIdent {
            attrs: Vec::new(),
            by_ref: None,
            mutability: None,
            ident: held,
            subpat: None,
        });
        let mut stmts = vec![let_of(pattern, (*each.expr).clone())];
        let asked: Vec<Asked> = each.arms.iter().map(|arm| self.asked(&arm.pat, &value, &mut stmts)).collect();
        if self.errors.len() == before {
            self.check_arms(each, &asked);
        }
        let arms = each.arms.iter().zip(asked).rev();
        let chain = arms.fold(None, |rest, (arm, asked)| Some(arm_of(arm, asked, rest)));
        // What is wrong with the patterns is told alone.
        let Some(chain) = chain.filter(|_| self.errors.len() == before) else {
            return super::unit(each.span());
        };
        stmts.push(syn::Stmt::Expr(chain, None));
        self.expr(&block(each.match_token.span, stmts))
    }

    /// The arms together take every value, the last of them the rest.
    fn check_arms(&mut self, each: &syn::ExprMatch, asked: &[Asked]) {
        let open = |(arm, asked): &(&syn::Arm, &Asked)| arm.guard.is_none() && asked.test.is_none();
        let arms = each.arms.iter().zip(asked);
        if let Some(all) = arms.clone().position(|arm| open(&arm))
            && let Some(next) = each.arms.get(all + 1)
        {
            self.error(&next.pat, "no value comes to this arm: one before it takes all that are left");
        }
        let message = "a `match` in a kernel ends with `_ => ..`, or names both `true` and `false`: say what is done with all other values";
        match each.arms.last() {
            _ if arms.clone().any(|arm| open(&arm)) => {}
            None => self.error(each, message),
            Some(last) => {
                let plain = each.arms.iter().filter(|arm| arm.guard.is_none());
                let bools: Vec<bool> = plain.flat_map(|arm| bools(&arm.pat)).collect();
                let both = bools.contains(&true) && bools.contains(&false);
                if !(both && last.guard.is_none()) {
                    self.error(&last.pat, message);
                }
            }
        }
    }

    /// Whether an expression is the name of a point.
    fn names_point(&self, expr: &syn::Expr) -> bool {
        let syn::Expr::Path(path) = bare(expr) else { return false };
        let found = path.path.get_ident().and_then(|name| self.scope.find(name));
        matches!(found, Some((Name::At | Name::Local { point: true, .. }, _)))
    }

    /// What a pattern asks of a value. Tuples are taken apart in `stmts`, so that rustc counts their parts.
    fn asked(&mut self, pattern: &syn::Pat, value: &syn::Expr, stmts: &mut Vec<syn::Stmt>) -> Asked {
        let own = own_at(pattern.span());
        let test = |test: syn::Expr| Asked { test: Some(test), binds: Vec::new() };
        match pattern {
            syn::Pat::Wild(_) => Asked::default(),
            syn::Pat::Paren(inner) => self.asked(&inner.pat, value, stmts),
            syn::Pat::Lit(lit) => match &lit.lit {
                syn::Lit::Bool(wanted) if wanted.value => test(value.clone()),
                syn::Lit::Bool(_) => test(not(own, value.clone())),
                syn::Lit::Int(_) | syn::Lit::Float(_) => {
                    test(compare(own, value, syn::BinOp::Eq(syn::Token![==](own)), signed(lit)))
                }
                other => {
                    self.error(other, PATTERNS);
                    Asked::default()
                }
            },
            syn::Pat::Path(path) => {
                let path = syn::Expr::Path(path.clone());
                test(compare(own, value, syn::BinOp::Eq(syn::Token![==](own)), path))
            }
            syn::Pat::Range(range) => self.asked_of_range(range, value),
            syn::Pat::Ident(name) if name.by_ref.is_none() => self.asked_of_name(name, value, stmts),
            syn::Pat::Or(all) => {
                let asked: Vec<Asked> = all.cases.iter().map(|case| self.asked(case, value, stmts)).collect();
                if asked.iter().any(|asked| !asked.binds.is_empty()) {
                    self.error(all, "`a | b` in a kernel binds no names: write an arm for each");
                }
                let tests = asked.into_iter().map(|asked| asked.test).collect::<Option<Vec<_>>>();
                Asked {
                    test: tests.and_then(|tests| joined(tests, syn::BinOp::Or(syn::Token![||](own)))),
                    binds: Vec::new(),
                }
            }
            syn::Pat::Tuple(tuple) => self.asked_of_tuple(tuple, value, stmts),
            other => {
                self.error(other, PATTERNS);
                Asked::default()
            }
        }
    }

    fn asked_of_tuple(&mut self, tuple: &syn::PatTuple, value: &syn::Expr, stmts: &mut Vec<syn::Stmt>) -> Asked {
        let own = own_at(tuple.span());
        let any = |part: &syn::Pat| {
            syn::Pat::Wild(syn::PatWild { attrs: Vec::new(), underscore_token: syn::Token![_](part.span()) })
        };
        let apart = syn::PatTuple { elems: tuple.elems.iter().map(any).collect(), ..tuple.clone() };
        stmts.push(let_of(syn::Pat::Tuple(apart), value.clone()));
        let mut whole = Asked::default();
        let mut tests = Vec::new();
        for (n, part) in tuple.elems.iter().enumerate() {
            let asked = self.asked(part, &part_of(own, value, n), stmts);
            tests.extend(asked.test);
            whole.binds.extend(asked.binds);
        }
        whole.test = joined(tests, syn::BinOp::And(syn::Token![&&](own)));
        whole
    }

    fn asked_of_name(&mut self, name: &syn::PatIdent, value: &syn::Expr, stmts: &mut Vec<syn::Stmt>) -> Asked {
        if is_capital(&name.ident) && name.subpat.is_none() {
            let text = text_of(&name.ident);
            let low = text.to_lowercase();
            let message = format!(
                "`{text}` could be a constant or a new name: write `{low} if {low} == {text}`, or `{low}` for any value"
            );
            self.error(name, message);
        }
        let mut asked = match &name.subpat {
            Some((_, inner)) => self.asked(inner, value, stmts),
            None => Asked::default(),
        };
        let bound = syn::PatIdent { subpat: None, ..name.clone() };
        asked.binds.insert(0, let_of(syn::Pat::Ident(bound), value.clone()));
        asked
    }

    fn asked_of_range(&mut self, range: &syn::PatRange, value: &syn::Expr) -> Asked {
        let own = own_at(range.span());
        let inclusive = matches!(range.limits, syn::RangeLimits::Closed(_));
        let [lo, hi] = [&range.start, &range.end].map(|bound| bound.as_deref().map(number_of));
        if let [Some(Some(lo)), Some(Some(hi))] = [lo, hi]
            && (lo > hi || lo == hi && !inclusive)
        {
            self.error(range, "no value is in this range: write the lower bound first");
        }
        let bound = |bound: &syn::Expr| match bound {
            syn::Expr::Lit(lit) => signed(lit),
            other => other.clone(),
        };
        let lo = range.start.as_deref().map(|lo| compare(own, value, syn::BinOp::Ge(syn::Token![>=](own)), bound(lo)));
        let hi = range.end.as_deref().map(|hi| {
            let op = match inclusive {
                true => syn::BinOp::Le(syn::Token![<=](own)),
                false => syn::BinOp::Lt(syn::Token![<](own)),
            };
            compare(own, value, op, bound(hi))
        });
        let tests = lo.into_iter().chain(hi).collect();
        Asked { test: joined(tests, syn::BinOp::And(syn::Token![&&](own))), binds: Vec::new() }
    }
}

/// An arm as an `if`, with those after it as its `else`. Without any after it, it takes all that is left.
fn arm_of(arm: &syn::Arm, asked: Asked, rest: Option<syn::Expr>) -> syn::Expr {
    let span = arm.fat_arrow_token.spans[0];
    let Asked { test, binds } = asked;
    let guard = arm.guard.as_ref().map(|(_, guard)| match binds.is_empty() {
        true => (**guard).clone(),
        false => block(span, binds.iter().cloned().chain([syn::Stmt::Expr((**guard).clone(), None)]).collect()),
    });
    // A name that the guard alone reads is no mistake.
    let read = binds.iter().filter(|_| guard.is_some()).filter_map(read_of);
    let binds: Vec<syn::Stmt> = binds.iter().cloned().chain(read).collect();
    let tests = test.into_iter().chain(guard).collect();
    let body = match &*arm.body {
        syn::Expr::Block(body) if body.label.is_none() => binds.into_iter().chain(body.block.stmts.clone()).collect(),
        body => binds.into_iter().chain([syn::Stmt::Expr(body.clone(), None)]).collect(),
    };
    let body = block_of(arm.body.span(), body);
    let own = own_at(span);
    match (joined(tests, syn::BinOp::And(syn::Token![&&](own))), rest) {
        (Some(cond), Some(rest)) => syn::Expr::If(syn::ExprIf {
            attrs: Vec::new(),
            if_token: syn::Token![if](own),
            cond: Box::new(cond),
            then_branch: body,
            else_branch: Some((syn::Token![else](own), Box::new(rest))),
        }),
        _ => syn::Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block: body }),
    }
}

/// `let _ = name;` of a `let name`.
fn read_of(bind: &syn::Stmt) -> Option<syn::Stmt> {
    let syn::Stmt::Local(syn::Local { pat: syn::Pat::Ident(bound), .. }) = bind else { return None };
    let any = syn::PatWild { attrs: Vec::new(), underscore_token: syn::Token![_](bound.span()) };
    Some(let_of(syn::Pat::Wild(any), name(&bound.ident)))
}

/// The `bool`s that a pattern takes.
fn bools(pattern: &syn::Pat) -> Vec<bool> {
    match pattern {
        syn::Pat::Paren(inner) => bools(&inner.pat),
        syn::Pat::Or(all) => all.cases.iter().flat_map(bools).collect(),
        syn::Pat::Lit(syn::ExprLit { lit: syn::Lit::Bool(value), .. }) => vec![value.value],
        _ => Vec::new(),
    }
}

/// The whole number that a bound is.
fn number_of(bound: &syn::Expr) -> Option<i128> {
    match bound {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(n), .. }) => n.base10_digits().parse().ok(),
        syn::Expr::Unary(syn::ExprUnary { op: syn::UnOp::Neg(_), expr, .. }) => number_of(expr)?.checked_neg(),
        _ => None,
    }
}

/// A number of a pattern, its minus apart.
fn signed(lit: &syn::ExprLit) -> syn::Expr {
    let span = lit.span();
    let text = lit.lit.to_token_stream().to_string();
    let without = text.strip_prefix('-').and_then(|rest| syn::parse_str::<syn::Lit>(rest.trim()).ok());
    let Some(mut without) = without else { return syn::Expr::Lit(lit.clone()) };
    without.set_span(span);
    let number = syn::Expr::Lit(syn::ExprLit { attrs: Vec::new(), lit: without });
    unary(syn::UnOp::Neg(syn::Token![-](span)), number)
}

fn not(own: Span, value: syn::Expr) -> syn::Expr {
    unary(syn::UnOp::Not(syn::Token![!](own)), value)
}

fn unary(op: syn::UnOp, value: syn::Expr) -> syn::Expr {
    syn::Expr::Unary(syn::ExprUnary { attrs: Vec::new(), op, expr: Box::new(value) })
}

fn binary(left: syn::Expr, op: syn::BinOp, right: syn::Expr) -> syn::Expr {
    syn::Expr::Binary(syn::ExprBinary { attrs: Vec::new(), left: Box::new(left), op, right: Box::new(right) })
}

/// A comparison, where the pattern stands.
fn compare(own: Span, value: &syn::Expr, op: syn::BinOp, with: syn::Expr) -> syn::Expr {
    let mut value = value.clone();
    if let syn::Expr::Path(path) = &mut value {
        path.path.segments.iter_mut().for_each(|name| name.ident.set_span(own.resolved_at(name.ident.span())));
    }
    binary(value, op, with)
}

/// Conditions as one; nothing if there is none.
fn joined(tests: Vec<syn::Expr>, op: syn::BinOp) -> Option<syn::Expr> {
    tests.into_iter().reduce(|left, right| binary(left, op, right))
}

fn name(name: &proc_macro2::Ident) -> syn::Expr {
    syn::Expr::Path(syn::ExprPath { attrs: Vec::new(), qself: None, path: name.clone().into() })
}

/// `value.n`.
fn part_of(own: Span, value: &syn::Expr, n: usize) -> syn::Expr {
    let index = syn::Index { index: n as u32, span: own };
    syn::Expr::Field(syn::ExprField {
        attrs: Vec::new(),
        base: Box::new(value.clone()),
        dot_token: syn::Token![.](own),
        member: syn::Member::Unnamed(index),
    })
}

fn block(span: Span, stmts: Vec<syn::Stmt>) -> syn::Expr {
    syn::Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block: block_of(span, stmts) })
}

fn block_of(span: Span, stmts: Vec<syn::Stmt>) -> syn::Block {
    syn::Block { brace_token: syn::token::Brace(span), stmts }
}
