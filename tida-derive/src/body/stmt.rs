//! Statements and blocks.

use std::borrow::Cow;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use tida_quote::quote::{Block, ExprKind, Pattern, Place, Stmt, StmtKind, TypeTree};

use super::chain::{Target, held_place};
use super::lanes::{Step, Turns};
use super::number::as_point;
use super::scope::is_same;
use super::types::{is_point, quoted_true};
use super::{Body, BothBlock, expr_at, place_of};
use crate::expand::{own, own_at};

/// Both forms of a statement.
pub(super) type BothStmt = (TokenStream, StmtKind);

impl Body {
    /// Both forms of a block.
    pub fn block(&mut self, block: &syn::Block) -> BothBlock {
        let mark = self.scope.enter();
        self.depth += 1;
        let mut native = TokenStream::new();
        let mut quoted = Block::default();
        let (mut steps, mut last_value) = (Vec::new(), None);
        let mut point = false;
        // What is left, the next one last. A loop over an array is several: what came before it says which array.
        let mut rest: Vec<Cow<'_, syn::Stmt>> = block.stmts.iter().rev().map(Cow::Borrowed).collect();
        while let Some(stmt) = rest.pop() {
            if let Some(several) = self.spread(&stmt) {
                rest.extend(several.into_iter().rev().map(Cow::Owned));
                continue;
            }
            let stmt = &*stmt;
            let (loads, mut turns) = (self.loads.len(), None);
            let (rust, kind) = match stmt {
                syn::Stmt::Expr(syn::Expr::Verbatim(tokens), Some(_)) if tokens.is_empty() => continue,
                syn::Stmt::Expr(expr, semi) => match self.statement(expr, &mut turns) {
                    Some(both) => both,
                    None => {
                        let value = self.expr(expr);
                        if rest.is_empty() && semi.is_none() {
                            native.extend(value.native.clone());
                            last_value =
                                Some(Step { native: value.native, turns, loads: self.loads[loads..].to_vec() });
                            quoted.value = Some(Box::new(value.quoted));
                            point = value.point;
                            continue;
                        }
                        let (semi, value_native) = (own_at(expr.span()), value.native);
                        (quote_spanned!(semi=> #value_native;), StmtKind::Expr(value.quoted))
                    }
                },
                syn::Stmt::Local(local) => self.local(local),
                syn::Stmt::Item(item) => {
                    self.error(item, "items are not supported in a kernel: put it outside");
                    continue;
                }
                syn::Stmt::Macro(call) => {
                    self.error(
                        &call.mac,
                        "macros are not supported in a kernel: there is nothing to print to on a device",
                    );
                    continue;
                }
            };
            native.extend(rust.clone());
            steps.push(Step { native: rust, turns, loads: self.loads[loads..].to_vec() });
            quoted.stmts.push(Stmt { span: place_of(stmt.span()), kind });
        }
        self.scope.leave(mark);
        self.depth -= 1;
        let native = super::braces(block.brace_token.span.join(), native);
        BothBlock { native, quoted, point, steps, value: last_value }
    }

    /// Expressions that are statements in a kernel; `None` for the others. A loop over a range leaves its `turns`.
    fn statement(&mut self, expr: &syn::Expr, turns: &mut Option<Turns>) -> Option<BothStmt> {
        use syn::Expr as E;
        Some(match expr {
            E::Group(group) => return self.statement(&group.expr, turns),
            E::Assign(assign) => self.assign(&assign.left, None, &assign.right),
            E::Binary(binary) if is_compound(&binary.op) => self.assign(&binary.left, Some(&binary.op), &binary.right),
            E::ForLoop(each) => self.each(each, turns),
            E::While(each) => {
                self.enter_loop(&each.label);
                let cond = self.expr(&each.cond);
                let body = self.block(&each.body);
                self.labels.pop();
                let (own, test, native) = (own_at(each.while_token.span), cond.native, body.native);
                let label = &each.label;
                let native = quote_spanned!(own=> #label while #test #native);
                (native, StmtKind::While { cond: cond.quoted, body: body.quoted })
            }
            E::Loop(each) => {
                self.enter_loop(&each.label);
                let body = self.block(&each.body);
                self.labels.pop();
                let (own, label, native) = (own_at(each.loop_token.span), &each.label, body.native);
                let cond = quoted_true(each.loop_token.span);
                (quote_spanned!(own=> #label loop #native), StmtKind::While { cond, body: body.quoted })
            }
            E::Break(leave) => {
                if let Some(value) = &leave.expr {
                    self.error(
                        value,
                        "`break` with a value is not supported in a kernel: assign it to a `let mut` first",
                    );
                }
                let (token, label) = (leave.break_token, &leave.label);
                (quote!(#token #label;), StmtKind::Break(self.between(label)))
            }
            E::Continue(next) => {
                let (token, label) = (next.continue_token, &next.label);
                (quote!(#token #label;), StmtKind::Continue(self.between(label)))
            }
            E::MethodCall(call) => return self.group_statement(call),
            E::Return(leave) => {
                self.refuse_return(leave);
                let value = leave.expr.as_ref().map(|value| self.expr(value));
                let native = value.as_ref().map(|value| &value.native);
                let token = leave.return_token;
                (quote!(#token #native;), StmtKind::Return(value.map(|value| value.quoted)))
            }
            _ => return None,
        })
    }

    /// A loop is walked: its label is known, until it is taken off [`Body::labels`].
    pub(super) fn enter_loop(&mut self, label: &Option<syn::Label>) {
        self.labels.push(label.as_ref().map(|label| label.name.ident.clone()));
    }

    /// How many loops stand between a `break` or a `continue` and the one that it is of.
    fn between(&mut self, label: &Option<syn::Lifetime>) -> u32 {
        let Some(label) = label else { return 0 };
        let found = self.labels.iter().rev().position(|of| of.as_ref().is_some_and(|of| is_same(of, &label.ident)));
        if found.is_none() {
            self.error(label, format!("no loop around this has the label `{label}`"));
        }
        found.unwrap_or(0) as u32
    }

    /// `place = value`, `place op= value`.
    fn assign(&mut self, left: &syn::Expr, op: Option<&syn::BinOp>, right: &syn::Expr) -> BothStmt {
        let value = match op {
            Some(syn::BinOp::AddAssign(_) | syn::BinOp::SubAssign(_)) => self.expr(&as_point(right)),
            _ => self.expr(right),
        };
        if matches!(left, syn::Expr::Infer(_)) && op.is_none() {
            let native = value.native;
            let kind = StmtKind::Let { pattern: Pattern::Ignore, ty: None, init: Some(value.quoted) };
            return (quote_spanned!(own()=> let _ = #native;), kind);
        }
        let Some(target) = self.target(left) else {
            return (TokenStream::new(), StmtKind::Break(0));
        };
        let of_number = self.is_number(&value.quoted);
        let numbers = |place: &Place| of_number && self.place_is_number(place);
        let value_native = value.native;
        let held = quote_spanned!(own()=> __tida_value);
        match target {
            Target::Element { whole: Some((name, index)), quoted, .. } if op.is_none() => {
                let set = self.private("set", left.span());
                let native = quote_spanned! {own()=> { let #held = #value_native; #set(#name, #index, #held); }};
                (native, StmtKind::Assign { place: quoted, op: None, value: value.quoted })
            }
            Target::Element { native: place, quoted, .. } => {
                let (p, span) = (held_place(), left.span());
                let (load, store) = (self.private("load", span), self.private("store", span));
                let old = quote_spanned!(own()=> #load(&#p));
                let combined = op.and_then(|op| self.compound(op, (false, false), &old, &held));
                let stored = combined.as_ref().map_or(&held, |(native, _)| native);
                let native = quote_spanned! {own()=> {
                    let #held = #value_native;
                    let #p = #place;
                    // SAFETY: the place is of a view that may be written, and used at once.
                    unsafe { #store(&#p, #stored) }
                }};
                let op = combined.map(|(_, op)| op);
                (native, StmtKind::Assign { place: quoted, op, value: value.quoted })
            }
            Target::Local { native: place, quoted, whole: true, point, .. } => {
                let Some((combined, arithmetic)) =
                    op.and_then(|op| self.compound(op, (point, numbers(&quoted)), &place, &held))
                else {
                    let native = quote_spanned!(own()=> #place = #value_native;);
                    return (native, StmtKind::Assign { place: quoted, op: None, value: value.quoted });
                };
                let native = quote_spanned! {own()=> { let #held = #value_native; #place = #combined; }};
                let Place::Local { local, .. } = quoted else {
                    return (native, StmtKind::Break(0));
                };
                let span = left.span();
                if !point {
                    return (native, StmtKind::Assign { place: quoted, op: Some(arithmetic), value: value.quoted });
                }
                // The compound assignments of a point are shifts.
                let shift = ExprKind::Shift {
                    minus: arithmetic == tida_quote::quote::BinaryOp::Sub,
                    point: Box::new(expr_at(span, ExprKind::Local(local))),
                    offset: Box::new(value.quoted),
                };
                (native, StmtKind::Assign { place: quoted, op: None, value: expr_at(span, shift) })
            }
            Target::Local { indices, native: place, quoted, .. } => {
                let p = held_place();
                let old = quote_spanned!(own()=> *#p);
                let combined = op.and_then(|op| self.compound(op, (false, numbers(&quoted)), &old, &held));
                let native = match &combined {
                    None => quote_spanned! {own()=> { let #held = #value_native; #indices #place = #held; }},
                    Some((combined, _)) => quote_spanned! {own()=> {
                        let #held = #value_native;
                        #indices
                        let #p = &mut #place;
                        *#p = #combined;
                    }},
                };
                let op = combined.map(|(_, op)| op);
                (native, StmtKind::Assign { place: quoted, op, value: value.quoted })
            }
        }
    }

    /// `let pattern: ty = init;`.
    fn local(&mut self, local: &syn::Local) -> BothStmt {
        if let Some(both) = self.group_local(local) {
            return both;
        }
        let init = local.init.as_ref().map(|init| {
            if let Some((_, diverge)) = &init.diverge {
                self.error(diverge, "`let .. else` is not supported in a kernel: every pattern fits");
            }
            self.expr(&init.expr)
        });
        let (pattern, written) = match &local.pat {
            syn::Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
            pattern => (pattern, None),
        };
        let ty = written.map(|ty| self.ty(ty));
        let point = init.as_ref().is_some_and(|init| init.point) || ty.as_ref().is_some_and(|(_, ty)| is_point(ty));
        let (pattern, quoted) = self.pattern(pattern, point);
        let number = match (&ty, &init) {
            (Some((_, TypeTree::Scalar(_))), _) => true,
            (_, Some(init)) => self.is_number(&init.quoted),
            _ => false,
        };
        if number {
            self.scope.set_numbers(&quoted);
        }
        if let Some(init) = &init {
            self.scope.set_read(&quoted, &init.quoted);
        }
        if let Pattern::Local(id) = &quoted {
            let (ty, init) = (ty.as_ref().map(|(_, ty)| ty), init.as_ref().map(|init| &init.quoted));
            self.scope.set_length(*id, ty, init);
        }
        let native_type = ty.as_ref().map(|(native, _)| native).map(|ty| quote_spanned!(own()=> : #ty));
        let native_init = init.as_ref().map(|init| &init.native).map(|init| quote_spanned!(own()=> = #init));
        let native = quote_spanned!(own()=> let #pattern #native_type #native_init;);
        let kind = StmtKind::Let { pattern: quoted, ty: ty.map(|(_, ty)| ty), init: init.map(|init| init.quoted) };
        (native, kind)
    }

    /// `Wave { h, speed: [x, y], .. }`.
    fn pattern_of_struct(&mut self, of: &syn::PatStruct) -> (TokenStream, Pattern) {
        if let Some(qself) = &of.qself {
            self.error(&qself.ty, "name the struct by its plain path");
        }
        let number = self.structure(&of.path);
        let mut natives = Vec::new();
        let mut fields = Vec::new();
        for field in &of.fields {
            let syn::Member::Named(name) = &field.member else {
                self.error(&field.member, "an element has named fields");
                continue;
            };
            let (native, part) = self.pattern(&field.pat, false);
            let named = field.colon_token.as_ref().map(|colon| quote!(#name #colon));
            natives.push(quote_spanned!(own()=> #named #native,));
            fields.push((name.unraw().to_string(), part));
        }
        let (own, path, rest) = (own_at(of.span()), &of.path, &of.rest);
        (quote_spanned!(own=> #path { #(#natives)* #rest }), Pattern::Struct(number, fields))
    }

    /// Both forms of a pattern; its names are declared.
    pub fn pattern(&mut self, pattern: &syn::Pat, point: bool) -> (TokenStream, Pattern) {
        let own = own_at(pattern.span());
        match pattern {
            syn::Pat::Wild(_) => (pattern.to_token_stream(), Pattern::Ignore),
            syn::Pat::Paren(inner) => self.pattern(&inner.pat, point),
            syn::Pat::Ident(p) if p.by_ref.is_none() && p.subpat.is_none() => {
                let id = self.scope.declare(&p.ident, p.mutability.is_some(), point);
                (p.to_token_stream(), Pattern::Local(id))
            }
            syn::Pat::Tuple(tuple) => {
                let (native, quoted): (Vec<_>, Vec<_>) = tuple.elems.iter().map(|p| self.pattern(p, false)).unzip();
                (quote_spanned!(own=> (#(#native,)*)), Pattern::Tuple(quoted))
            }
            syn::Pat::Slice(slice) => {
                let (native, quoted): (Vec<_>, Vec<_>) = slice.elems.iter().map(|p| self.pattern(p, false)).unzip();
                (quote_spanned!(own=> [#(#native),*]), Pattern::Array(quoted))
            }
            syn::Pat::Struct(of) => self.pattern_of_struct(of),
            other => {
                self.error(
                    other,
                    "a kernel binds names, `_`, tuples `(a, b)`, arrays `[a, b]` and structs `Wave { h, .. }`: use these",
                );
                (quote!(_), Pattern::Ignore)
            }
        }
    }
}

/// Whether an operator assigns.
fn is_compound(op: &syn::BinOp) -> bool {
    use syn::BinOp as B;
    matches!(
        op,
        B::AddAssign(_)
            | B::SubAssign(_)
            | B::MulAssign(_)
            | B::DivAssign(_)
            | B::RemAssign(_)
            | B::BitAndAssign(_)
            | B::BitOrAssign(_)
            | B::BitXorAssign(_)
            | B::ShlAssign(_)
            | B::ShrAssign(_)
    )
}
