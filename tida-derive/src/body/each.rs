//! `for` loops: over ranges, in both directions and by steps, and over lists.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::spanned::Spanned;
use tida_quote::quote::{ExprKind, LocalId, Order, Range, StmtKind};

use super::lanes::Turns;
use super::nest::{copies, inside, is_by_constants, is_constant, is_over_axes};
use super::number::{as_entry, literal_of};
use super::scope::Name;
use super::stmt::BothStmt;
use super::types::scalar;
use super::{Body, Both, bare, expr_at, place_of};
use crate::expand::{own, own_at};

/// What is said of a loop over anything else.
const RANGES: &str = "a loop in a kernel runs over a range or a list: `for i in lo..hi`, `(lo..hi).rev()`, `(lo..hi).step_by(n)`, `[a, b]`";

/// A loop between numbers and constants: Rust that says how often it turns, and whether it names a constant.
#[derive(Clone, Debug)]
pub struct Counted {
    turns: TokenStream,
    constants: bool,
}

/// A range as it is written.
struct Written<'a> {
    range: &'a syn::ExprRange,
    by: Option<&'a syn::Expr>,
    order: Order,
    /// The method that makes the order, or the step.
    method: Option<Span>,
}

/// The entries that a loop is over.
struct Entries<'a> {
    /// The array.
    of: &'a syn::Expr,
    /// `.enumerate()`.
    counted: bool,
    /// References in Rust.
    lent: bool,
}

impl Body {
    /// A loop over a list or an array as a `let` of it and a loop over its entries: each name that this brings is the
    /// macro's own.
    pub(super) fn spread(&mut self, stmt: &syn::Stmt) -> Option<Vec<syn::Stmt>> {
        let syn::Stmt::Expr(syn::Expr::ForLoop(each), semi) = stmt else { return None };
        let Entries { of, counted, lent } = self.entries(&each.expr)?;
        let own = own_at(of.span());
        let number = self.fresh();
        let [held, turn] = ["list", "turn"].map(|what| format_ident!("__tida_{what}{number}", span = own));
        let index = |n: usize| syn::LitInt::new(&format!("{n}usize"), own);
        let first = index(0);
        let (array, end): (syn::Expr, syn::Expr) = match of {
            syn::Expr::Array(list) => {
                if list.elems.is_empty() {
                    self.error(list, "a loop over no value does nothing: name one at least, `[1]`");
                }
                let end = index(list.elems.len());
                (syn::parse_quote_spanned!(own=> #held), syn::parse_quote_spanned!(own=> #end))
            }
            path => {
                // What does not change meanwhile is read where it is.
                let array = match self.may_change(path) {
                    false => path.clone(),
                    true => syn::parse_quote_spanned!(own=> #held),
                };
                let known = self.known_length(path).map(index);
                let end = match known {
                    Some(end) => syn::parse_quote_spanned!(own=> #end),
                    None => syn::Expr::Verbatim(array.to_token_stream()),
                };
                (array, end)
            }
        };
        let holds = matches!(of, syn::Expr::Array(_)) || self.may_change(of);
        let mut each = each.clone();
        let pattern = std::mem::replace(&mut *each.pat, syn::parse_quote_spanned!(own=> #turn));
        let (counter, pattern) = match (counted, pattern) {
            (false, pattern) => (None, pattern),
            (true, syn::Pat::Tuple(pair)) if pair.elems.len() == 2 => {
                let mut pair = pair.elems.into_iter();
                (pair.next(), pair.next()?)
            }
            (true, other) => {
                self.error(&other, "a loop over `.enumerate()` has a number and an entry: `for (k, w) in ..`");
                (None, syn::parse_quote_spanned!(own=> _))
            }
        };
        let pattern = match pattern {
            syn::Pat::Reference(entry) if lent => *entry.pat,
            pattern => pattern,
        };
        *each.expr = syn::Expr::Range(syn::ExprRange {
            attrs: Vec::new(),
            start: Some(syn::parse_quote_spanned!(own=> #first)),
            limits: syn::RangeLimits::HalfOpen(syn::Token![..](own)),
            end: Some(Box::new(end)),
        });
        each.body.stmts.insert(0, let_of(pattern, syn::parse_quote_spanned!(own=> #array[#turn])));
        if let Some(counter) = counter {
            each.body.stmts.insert(0, let_of(counter, syn::parse_quote_spanned!(own=> #turn)));
        }
        let list = holds.then(|| let_of(syn::parse_quote_spanned!(own=> #held), of.clone()));
        let each = syn::Stmt::Expr(syn::Expr::ForLoop(each), *semi);
        Some(list.into_iter().chain([each]).collect())
    }

    /// The entries that a loop is over, if it is not over a range: of a list, or of a path to a fixed-size array.
    fn entries<'a>(&self, over: &'a syn::Expr) -> Option<Entries<'a>> {
        let (mut of, mut counted, mut lent) = (bare(over), false, false);
        loop {
            of = match of {
                syn::Expr::Reference(of) if of.mutability.is_none() => {
                    lent = true;
                    bare(&of.expr)
                }
                syn::Expr::MethodCall(call) if call.args.is_empty() && call.turbofish.is_none() => {
                    match call.method.to_string().as_str() {
                        "enumerate" if !counted && !lent && !matches!(bare(&call.receiver), syn::Expr::Path(_)) => {
                            counted = true;
                        }
                        "iter" => lent = true,
                        "into_iter" | "copied" | "cloned" => {}
                        _ => return None,
                    }
                    bare(&call.receiver)
                }
                syn::Expr::Array(_) => return Some(Entries { of, counted, lent }),
                syn::Expr::Path(_) | syn::Expr::Field(_) | syn::Expr::Index(_) => {
                    let is_array = self.names_array(of);
                    return (!is_array).then_some(Entries { of, counted, lent });
                }
                _ => return None,
            };
        }
    }

    /// Whether an expression is the name of an array argument, whose cells no loop goes over.
    fn names_array(&self, expr: &syn::Expr) -> bool {
        let syn::Expr::Path(path) = expr else { return false };
        let found = path.path.get_ident().and_then(|name| self.scope.find(name));
        matches!(found, Some((Name::Arg(_) | Name::At | Name::Group, _)))
    }

    /// How many entries the local has that a path names, if that is known.
    fn known_length(&self, path: &syn::Expr) -> Option<usize> {
        let syn::Expr::Path(path) = path else { return None };
        match path.path.get_ident().and_then(|name| self.scope.find(name)) {
            Some((Name::Local { id, .. }, _)) => self.scope.length(id),
            _ => None,
        }
    }

    /// Whether the loop's own body could change what the path names, or it costs something to find it.
    fn may_change(&self, path: &syn::Expr) -> bool {
        match path {
            syn::Expr::Field(field) => self.may_change(&field.base),
            syn::Expr::Path(path) => match path.path.get_ident().and_then(|name| self.scope.find(name)) {
                Some((Name::Local { id, .. }, _)) => self.scope.locals.get(id as usize).is_none_or(|of| of.mutable),
                Some(_) => true,
                None => false,
            },
            _ => true,
        }
    }

    /// Both forms of the number of entries of an array.
    pub(super) fn length_of(&mut self, array: &TokenStream) -> Both {
        let array = match syn::parse2::<syn::Expr>(array.clone()) {
            Ok(array @ (syn::Expr::Path(_) | syn::Expr::Field(_))) => array,
            _ => return self.hole(array, "this is not supported in a kernel: see the documentation of `kernel!`"),
        };
        let (value, own) = (self.expr(&array), own_at(array.span()));
        let (length, native) = (self.op("length", array.span()), value.native);
        let quoted = expr_at(array.span(), ExprKind::Length(Box::new(value.quoted)));
        Both { native: quote_spanned!(own=> #length(&#native)), quoted, point: false }
    }

    /// The range that a loop runs over, and what is done with it.
    fn written<'a>(&mut self, over: &'a syn::Expr) -> Option<Written<'a>> {
        let call = match bare(over) {
            syn::Expr::Range(range) => return Some(Written { range, by: None, order: Order::Up, method: None }),
            syn::Expr::MethodCall(call) => call,
            other => {
                self.error(other, RANGES);
                return None;
            }
        };
        let inner = self.written(&call.receiver)?;
        let args: Vec<&syn::Expr> = call.args.iter().collect();
        let once = "a loop in a kernel has one `.rev()` and one `.step_by(n)` at most: write what they come to";
        let method = Some(call.method.span());
        match (call.method.to_string().as_str(), args.as_slice()) {
            ("rev", []) if inner.order != Order::Up => self.error(&call.method, once),
            ("step_by", [_]) if inner.by.is_some() => self.error(&call.method, once),
            ("rev", []) => {
                let order = if inner.by.is_some() { Order::Back } else { Order::Down };
                return Some(Written { order, method, ..inner });
            }
            ("step_by", [by]) => {
                let zero =
                    literal_of(by).is_some_and(|lit| matches!(lit, syn::Lit::Int(n) if n.base10_digits() == "0"));
                if zero {
                    self.error(by, "a loop with steps of 0 never ends: step by 1 or more");
                }
                return Some(Written { by: Some(by), method, ..inner });
            }
            _ => self.error(&call.method, RANGES),
        }
        None
    }

    /// Both forms of the values of a loop. (The native form of those that go up one by one is a range of Rust's.)
    fn range(&mut self, over: &syn::Expr, own: Span) -> Option<(TokenStream, Range)> {
        let Written { range: written, by, order, method } = self.written(over)?;
        let (Some(lo), Some(hi)) = (&written.start, &written.end) else {
            self.error(written, "a loop in a kernel has both bounds: `for i in lo..hi` or `lo..=hi`");
            return None;
        };
        let (lo, hi) = (self.expr(lo), self.expr(hi));
        let by = by.map(|by| self.expr(&as_entry(by)));
        let limits = &written.limits;
        let inclusive = matches!(limits, syn::RangeLimits::Closed(_));
        let (from, to) = (&lo.native, &hi.native);
        let name = match (order, &by) {
            (Order::Up, None) => None,
            (_, None) => Some("down"),
            (Order::Up, Some(_)) => Some("up_by"),
            (Order::Down, Some(_)) => Some("down_by"),
            (Order::Back, Some(_)) => Some("back_by"),
        };
        let native = match (name, limits, &hi.quoted.kind) {
            (Some(name), ..) => {
                let (made, by) = (self.op(name, method.unwrap_or(own)), by.iter().map(|by| &by.native));
                quote_spanned!(own=> #made(#from, #to, #inclusive #(, #by)*))
            }
            // Of a range that has its end the compiler makes no vectors. Every type of integers has the number after
            // these.
            (None, syn::RangeLimits::Closed(_), ExprKind::Int(0..=126, _)) => {
                quote_spanned!(own=> (#from)..(#to + 1))
            }
            (None, syn::RangeLimits::Closed(_), _) if is_constant(&hi.quoted) => {
                let made = self.op("up_by", own);
                quote_spanned!(own=> #made(#from, #to, true, 1))
            }
            _ => quote_spanned!(own=> (#from) #limits (#to)),
        };
        let by = by.map(|by| by.quoted);
        Some((native, Range { lo: lo.quoted, hi: hi.quoted, inclusive, by, order }))
    }

    /// `for i in lo..hi`.
    pub(super) fn each(&mut self, each: &syn::ExprForLoop, turns: &mut Option<Turns>) -> BothStmt {
        let own = own_at(each.for_token.span);
        let range = self.range(&each.expr, own);
        let counted = range.as_ref().and_then(|(_, quoted)| self.counted(&each.expr, quoted));
        let mark = self.scope.enter();
        let (local, variable) = self.variable(&each.pat);
        self.enter_loop(&each.label);
        self.counted.extend(counted.clone());
        let around = self.around.clone();
        if let Some((_, quoted)) = &range {
            self.around = inside(&around, local, quoted);
        }
        let mut body = self.block(&each.body);
        body.end_as_statement();
        self.around = around;
        self.labels.pop();
        self.scope.leave(mark);
        if counted.is_some() {
            self.says_if_short(is_over_axes(local, &body.quoted));
            self.counted.pop();
        }
        let Some((range, quoted)) = range else {
            return (TokenStream::new(), StmtKind::Break(0));
        };
        let native = body.native;
        let copies = copies((local, &quoted, &body.quoted), &self.around).filter(|_| self.groups.is_none());
        let native = match copies {
            Some(count) => {
                let range_of = quote_spanned!(own=> __tida_range);
                let next = quote_spanned!(own=> ::core::iter::Iterator::next(&mut #range_of));
                let each = (0..count)
                    .map(|_| quote_spanned!(own=> if let ::core::option::Option::Some(#variable) = #next #native));
                // There may be more of them.
                let rest = is_by_constants(&quoted).then(|| quote_spanned!(own=> for #variable in #range_of #native));
                quote_spanned!(own=> { let mut #range_of = #range; #(#each)* #rest })
            }
            None => {
                let label = &each.label;
                quote_spanned!(own=> #label for #variable in #range #native)
            }
        };
        let written_out = copies.is_some() && !is_by_constants(&quoted);
        *turns = Some(Turns { variable, range, span: place_of(each.for_token.span), steps: body.steps, written_out });
        (native, StmtKind::For { local, range: quoted, body: body.quoted })
    }

    /// How often a loop turns, in Rust that is evaluated as the program is compiled, if numbers and constants say so.
    fn counted(&self, over: &syn::Expr, quoted: &Range) -> Option<Counted> {
        let mut by = None;
        let mut over = bare(over);
        while let syn::Expr::MethodCall(call) = over {
            by = by.or(call.args.first());
            over = bare(&call.receiver);
        }
        let syn::Expr::Range(range) = over else { return None };
        let (lo, hi) = (self.evaluated(range.start.as_deref()?)?, self.evaluated(range.end.as_deref()?)?);
        let by = by.map_or_else(|| Some(quote_spanned!(own()=> 1)), |by| self.evaluated(by))?;
        let (count, inclusive) = (self.op("count", over.span()), quoted.inclusive);
        let turns = quote_spanned!(own()=> #count(#lo, #hi, #inclusive, #by));
        Some(Counted { turns, constants: is_by_constants(quoted) })
    }

    /// The same of a bound, as an `i128`.
    fn evaluated(&self, expr: &syn::Expr) -> Option<TokenStream> {
        let (own, wide) = (own_at(expr.span()), quote_spanned!(own()=> ::core::primitive::i128));
        let whole = |sign: char, a: TokenStream, b: TokenStream| {
            let whole = self.op("whole", expr.span());
            Some(quote_spanned!(own=> #whole(#sign, #a, #b)))
        };
        match expr {
            syn::Expr::Paren(inner) => self.evaluated(&inner.expr),
            syn::Expr::Group(inner) => self.evaluated(&inner.expr),
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(n), .. }) => {
                let n = proc_macro2::Literal::i128_suffixed(n.base10_parse().ok()?);
                Some(quote_spanned!(own=> #n))
            }
            syn::Expr::Path(path) if self.is_constant(path) => Some(quote_spanned!(own=> (#path as #wide))),
            syn::Expr::Cast(cast) => {
                let syn::Type::Path(ty) = &*cast.ty else { return None };
                let name = ty.path.get_ident()?.to_string();
                scalar(&name).filter(|ty| ty.is_int())?;
                let (inner, ty) = (self.evaluated(&cast.expr)?, self.library.scalar(&name, cast.ty.span()));
                Some(quote_spanned!(own=> ((#inner) as #ty as #wide)))
            }
            syn::Expr::Unary(syn::ExprUnary { op: syn::UnOp::Neg(_), expr, .. }) => {
                whole('-', quote_spanned!(own=> 0), self.evaluated(expr)?)
            }
            syn::Expr::Binary(binary) => {
                let sign = match &binary.op {
                    syn::BinOp::Add(_) => '+',
                    syn::BinOp::Sub(_) => '-',
                    syn::BinOp::Mul(_) => '*',
                    syn::BinOp::Div(_) => '/',
                    _ => return None,
                };
                whole(sign, self.evaluated(&binary.left)?, self.evaluated(&binary.right)?)
            }
            _ => None,
        }
    }

    /// Keeps what says whether the loop that is walked is short, with those around it, if it depends on constants.
    /// There are not many axes.
    fn says_if_short(&mut self, axes: bool) {
        let open = self.counted.iter().any(|counted| counted.constants) && !axes;
        if open {
            let (few, turns) = (self.op("few", own()), self.counted.iter().map(|counted| &counted.turns));
            self.short.push(quote_spanned!(own()=> #few(&[#(#turns),*])));
        }
    }

    /// The variable of a loop, declared.
    fn variable(&mut self, pattern: &syn::Pat) -> (LocalId, TokenStream) {
        match pattern {
            syn::Pat::Ident(p) if p.by_ref.is_none() && p.mutability.is_none() && p.subpat.is_none() => {
                let local = self.scope.declare(&p.ident, false, false);
                self.scope.set_number(local);
                (local, p.ident.to_token_stream())
            }
            syn::Pat::Wild(p) => (self.scope.anonymous("_".to_owned(), false, p.span()), p.to_token_stream()),
            other => {
                self.error(
                    other,
                    "the variable of a loop in a kernel is a plain name: copy it into a `let mut` to change it",
                );
                (0, TokenStream::new())
            }
        }
    }
}

/// `let pattern = value;`.
pub(super) fn let_of(pattern: syn::Pat, value: syn::Expr) -> syn::Stmt {
    let own = own_at(pattern.span());
    syn::Stmt::Local(syn::Local {
        attrs: Vec::new(),
        let_token: syn::Token![let](own),
        pat: pattern,
        init: Some(syn::LocalInit { eq_token: syn::Token![=](own), expr: Box::new(value), diverge: None }),
        semi_token: syn::Token![;](own),
    })
}
