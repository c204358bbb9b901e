//! Numbers, and their types.
//!
//! Where Rust's rules would give a number its type through something that is no equality of types (a cast above it),
//! the macro writes that type, before both forms are made. All other numbers have the type that inference finds for
//! them: rustc for the native form, and `tida_kernels` for the quotation. The native form says which types those were,
//! and a launch compares.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::spanned::Spanned;
use tida_quote::element::ScalarType;
use tida_quote::quote::{Block, Expr as Quoted, ExprKind, NumberType, Place, Projection, UnaryOp};

use super::types::{SCALARS, scalar};
use super::{Body, Both, bare, expr_at};
use crate::expand::{own, own_at};

/// Where the type is kept that rustc takes a number for.
fn kept(number: u32) -> Ident {
    format_ident!("__tida_n{number}", span = own())
}

/// Gives the numbers whose type a cast to `ty` decides, or an index of that type, this type as a suffix.
pub fn give_type(expr: &mut syn::Expr, ty: &str) {
    use syn::Expr as E;
    match expr {
        E::Lit(lit) => give_suffix(&mut lit.lit, ty),
        E::Paren(inner) => give_type(&mut inner.expr, ty),
        E::Group(inner) => give_type(&mut inner.expr, ty),
        E::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_) | syn::UnOp::Not(_)) => give_type(&mut unary.expr, ty),
        // (A label could be left with another value; Rust's hint goes no further than this either.)
        E::Block(block) if block.label.is_none() => {
            if let Some(syn::Stmt::Expr(value, None)) = block.block.stmts.last_mut() {
                give_type(value, ty);
            }
        }
        _ => {}
    }
}

fn give_suffix(lit: &mut syn::Lit, ty: &str) {
    let float = matches!(ty, "f32" | "f64");
    match lit {
        syn::Lit::Int(int) if int.suffix().is_empty() && !float && scalar(ty).is_some_and(ScalarType::is_int) => {
            *int = syn::LitInt::new(&format!("{int}{ty}"), int.span());
        }
        syn::Lit::Float(number) if number.suffix().is_empty() && float => {
            let digits = number.to_string();
            let zero = if digits.ends_with('.') { "0" } else { "" };
            *number = syn::LitFloat::new(&format!("{digits}{zero}{ty}"), number.span());
        }
        _ => {}
    }
}

/// A list of coordinates with their type, if it is written as one; other expressions as they are.
pub fn as_point(expr: &syn::Expr) -> syn::Expr {
    let mut point = expr.clone();
    let mut inner = &mut point;
    loop {
        inner = match inner {
            syn::Expr::Paren(paren) => &mut paren.expr,
            syn::Expr::Group(group) => &mut group.expr,
            _ => break,
        };
    }
    match inner {
        syn::Expr::Array(array) => array.elems.iter_mut().for_each(|axis| give_type(axis, "i64")),
        syn::Expr::Repeat(repeat) => give_type(&mut repeat.expr, "i64"),
        _ => {}
    }
    point
}

/// The index of an entry, or of a table, with its type if it is a number.
pub fn as_entry(expr: &syn::Expr) -> syn::Expr {
    let mut entry = expr.clone();
    if literal_of(&entry).is_some() {
        give_type(&mut entry, "usize");
    }
    entry
}

/// The number that an expression is, without the minus and the parentheses around it.
pub fn literal_of(expr: &syn::Expr) -> Option<&syn::Lit> {
    match bare(expr) {
        syn::Expr::Lit(lit) => matches!(lit.lit, syn::Lit::Int(_) | syn::Lit::Float(_)).then_some(&lit.lit),
        syn::Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)) => literal_of(&unary.expr),
        _ => None,
    }
}

/// The number that a minus can be written to: no other minus comes between.
fn unsigned(expr: &syn::Expr) -> Option<&syn::Lit> {
    match bare(expr) {
        syn::Expr::Unary(_) => None,
        other => literal_of(other),
    }
}

impl Body {
    /// `-5`, if this is a number with its minus.
    pub fn negative(&mut self, unary: &syn::ExprUnary) -> Option<Both> {
        let lit = unsigned(&unary.expr).filter(|_| matches!(unary.op, syn::UnOp::Neg(_)))?;
        let Both { native, quoted, .. } = self.literal(lit, Some(&unary.op));
        let quoted = expr_at(syn::spanned::Spanned::span(unary), ExprKind::Unary(UnaryOp::Neg, Box::new(quoted)));
        Some(Both { native, quoted, point: false })
    }

    /// Both forms of a literal; the native one with its minus, if it has one.
    pub fn literal(&mut self, lit: &syn::Lit, minus: Option<&syn::UnOp>) -> Both {
        let span = lit.span();
        let digits = match lit {
            syn::Lit::Bool(b) => {
                return Both {
                    native: lit.to_token_stream(),
                    quoted: expr_at(span, ExprKind::Bool(b.value)),
                    point: false,
                };
            }
            syn::Lit::Int(int) => int.base10_digits(),
            syn::Lit::Float(float) => float.base10_digits(),
            other => return self.hole(other, "this literal is not supported in a kernel: use a number or a `bool`"),
        };
        let suffix = match lit {
            syn::Lit::Int(int) => int.suffix(),
            syn::Lit::Float(float) => float.suffix(),
            _ => "",
        };
        let written = match suffix {
            "" => None,
            suffix => match scalar(suffix).filter(|ty| *ty != ScalarType::Bool) {
                Some(ty) => Some(ty),
                None => {
                    let message = format!("`{suffix}` is not supported in a kernel: the scalars are {SCALARS}");
                    return self.hole(lit, message);
                }
            },
        };
        if let (None, syn::Lit::Float(_), Some(typed)) = (written, lit, self.open.floats.clone()) {
            let both = self.literal_of(lit, &typed);
            return match minus {
                None => both,
                Some(minus) => {
                    let (neg, native) = (self.op("neg", minus.span()), both.native);
                    Both { native: quote_spanned!(own()=> #neg(#native)), ..both }
                }
            };
        }
        let float = matches!(lit, syn::Lit::Float(_)) || written.is_some_and(ScalarType::is_float);
        let kind = |ty: NumberType| match float {
            true => Some(ExprKind::Float(digits.to_owned(), ty)),
            false => digits.parse().ok().map(|n| ExprKind::Int(n, ty)),
        };
        let ty = written.map_or(NumberType::Inferred(self.numbers), NumberType::Written);
        let Some(kind) = kind(ty) else {
            return self.hole(lit, "this number does not fit any integer type of a kernel: the largest is `u64`");
        };
        if let Some(ty) = written
            && let Some(range) = misfit(&kind, ty, minus.is_some())
        {
            let sign = if minus.is_some() { "-" } else { "" };
            self.error(
                lit,
                format!("`{sign}{digits}` does not fit `{suffix}`, which has {range}: write another type or number"),
            );
        }
        let native = self.native_literal(lit, minus, ty);
        Both { native, quoted: expr_at(span, kind), point: false }
    }

    fn native_literal(&mut self, lit: &syn::Lit, minus: Option<&syn::UnOp>, ty: NumberType) -> TokenStream {
        let own = own_at(lit.span());
        match (ty, minus) {
            (NumberType::Written(_), None) => lit.to_token_stream(),
            (NumberType::Written(_), Some(minus)) => quote_spanned!(own=> (#minus #lit)),
            // (They are made where their type is known.)
            (NumberType::Of(_), _) => lit.to_token_stream(),
            (NumberType::Inferred(number), minus) => {
                self.numbers += 1;
                let (typed, kept) = (self.private("typed", lit.span()), kept(number));
                quote_spanned!(own=> #typed(#kept, #minus #lit))
            }
        }
    }

    /// Whether an expression is a number for sure, or a list or tuple of numbers: no operand of it is complex. (Of two
    /// such operands rustc infers the type of one from that of the other, as it does for its own operators.)
    pub fn is_number(&self, expr: &Quoted) -> bool {
        let value_of = |block: &Block| block.value.as_ref().is_some_and(|value| self.is_number(value));
        match &expr.kind {
            ExprKind::Int(..)
            | ExprKind::Float(..)
            | ExprKind::Cast(..)
            | ExprKind::Method(..)
            | ExprKind::Length(_) => true,
            ExprKind::Unary(_, x) | ExprKind::Repeat(x, _) | ExprKind::RepeatOf(x, _) => self.is_number(x),
            ExprKind::Binary(_, a, b) => self.is_number(a) && self.is_number(b),
            ExprKind::Array(parts) | ExprKind::Tuple(parts) => parts.iter().all(|part| self.is_number(part)),
            ExprKind::Project(_, Projection::Field(_)) => false,
            ExprKind::Project(whole, _) => matches!(whole.kind, ExprKind::At) || self.is_number(whole),
            ExprKind::Local(id) => self.scope.is_number(*id),
            ExprKind::If { then, otherwise, .. } => value_of(then) || otherwise.as_ref().is_some_and(value_of),
            ExprKind::Block(block) => value_of(block),
            _ => false,
        }
    }

    /// Whether what is written is a number for sure.
    pub fn place_is_number(&self, place: &Place) -> bool {
        match place {
            Place::Local { local, path } => {
                self.scope.is_number(*local) && !path.iter().any(|step| matches!(step, Projection::Field(_)))
            }
            Place::Element { .. } => false,
        }
    }

    /// How many numbers have a type that is inferred.
    pub fn numbers_len(&self) -> usize {
        self.numbers as usize
    }

    /// Rust that makes what keeps the types of the numbers, and Rust that tells them.
    pub fn number_types(&self) -> (TokenStream, TokenStream) {
        let kept: Vec<Ident> = (0..self.numbers).map(kept).collect();
        let (literal, type_of) = (self.private("literal", own()), self.private("type_of", own()));
        let made = quote_spanned!(own()=> #(let #kept = #literal();)*);
        (made, quote_spanned!(own()=> #(#type_of(#kept)),*))
    }
}

/// The numbers that the type has, if this is none of them.
fn misfit(kind: &ExprKind, ty: ScalarType, negative: bool) -> Option<String> {
    match kind {
        ExprKind::Int(n, _) => (!ty.has(*n, negative)).then(|| ty.range_text()),
        ExprKind::Float(digits, _) => {
            let infinite = match ty {
                ScalarType::F32 => digits.parse().is_ok_and(f32::is_infinite),
                _ => digits.parse().is_ok_and(f64::is_infinite),
            };
            let most = if ty == ScalarType::F32 { format!("{:e}", f32::MAX) } else { format!("{:e}", f64::MAX) };
            infinite.then(|| format!("numbers up to {most}"))
        }
        _ => None,
    }
}
