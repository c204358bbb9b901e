//! What generic functions leave open in a kernel: numbers of a type parameter, casts to it, and constants.

use std::collections::BTreeSet;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use tida_quote::element::ScalarType;
use tida_quote::quote::{ExprKind, NumberType, TypeTree, UnaryOp};

use super::number::{as_entry, literal_of};
use super::scope::Named;
use super::types::scalar;
use super::{Body, Both, bare, expr_at, text_of};
use crate::expand::{own, own_at};

/// What a generic function leaves open.
#[derive(Debug, Default)]
pub struct Open {
    /// The type of numbers without one that have a point: of `kernel!(T; ..)`.
    pub floats: Option<Typed>,
    /// Casts may be from a type parameter, which `as` does not take.
    pub casts: bool,
    /// Names of the const parameters of a `#[kernel_fn]`.
    pub names: BTreeSet<String>,
    /// Constants named.
    pub constants: Vec<Named>,
}

/// A type of numbers, in both forms.
#[derive(Clone, Debug)]
pub struct Typed {
    /// Rust.
    pub native: TokenStream,
    /// Data.
    pub quoted: NumberType,
}

impl Body {
    /// The type of numbers that a type is, if it may be one.
    fn typed(&mut self, ty: &syn::Type) -> Option<Typed> {
        let (native, tree) = self.ty(ty);
        let quoted = match tree {
            TypeTree::Scalar(ty) if ty != ScalarType::Bool => NumberType::Written(ty),
            TypeTree::Struct(number) => NumberType::Of(number),
            _ => return None,
        };
        Some(Typed { native, quoted })
    }

    /// Takes the type of `kernel!(T; ..)`.
    pub fn take_header(&mut self, ty: &syn::Type) {
        let whole = |quoted| matches!(quoted, NumberType::Written(of) if !of.is_float());
        let Some(typed) = self.typed(ty).filter(|typed| !whole(typed.quoted)) else {
            return self.error(
                ty,
                "the type before a kernel is that of its numbers with a point: `f32`, `f64` or a type parameter",
            );
        };
        self.open.casts = true;
        self.open.floats = Some(typed);
    }

    /// `T::lit(0.1)`, if a call is one.
    pub fn lit(&mut self, path: &syn::ExprPath, call: &syn::ExprCall) -> Option<Both> {
        let segments = &path.path.segments;
        let of = segments.iter().rev().nth(1)?.ident.unraw().to_string();
        let last = segments.last()?;
        let is_type = of.starts_with(char::is_uppercase) || scalar(&of).is_some();
        if path.qself.is_some() || last.ident != "lit" || !last.arguments.is_none() || !is_type {
            return None;
        }
        let mut prefix = path.path.clone();
        prefix.segments.pop();
        prefix.segments.pop_punct();
        let ty = syn::Type::Path(syn::TypePath { qself: None, path: prefix });
        let text = text_of(&ty);
        let Some(typed) = self.typed(&ty) else {
            return Some(self.hole(&ty, format!("`{text}` is no type of numbers")));
        };
        let (arg, minus) = match call.args.first().filter(|_| call.args.len() == 1) {
            Some(syn::Expr::Unary(unary)) if matches!(unary.op, syn::UnOp::Neg(_)) => (&*unary.expr, Some(unary)),
            Some(arg) => (arg, None),
            None => return Some(self.hole(call, format!("`{text}::lit` takes one number: `{text}::lit(0.1)`"))),
        };
        let lit = match arg {
            syn::Expr::Lit(lit) => literal_of(arg).map(|_| &lit.lit),
            _ => None,
        };
        let Some(lit) = lit else {
            let message =
                format!("`{text}::lit` takes a number as it is written, `{text}::lit(0.1)`: cast, `x as {text}`");
            return Some(self.hole(arg, message));
        };
        let both = self.literal_of(lit, &typed);
        Some(match minus {
            None => both,
            Some(minus) => self.negated(both, minus),
        })
    }

    fn negated(&mut self, both: Both, minus: &syn::ExprUnary) -> Both {
        let (neg, native) = (self.op("neg", minus.op.span()), both.native);
        let native = quote_spanned!(own()=> #neg(#native));
        let quoted = expr_at(minus.span(), ExprKind::Unary(UnaryOp::Neg, Box::new(both.quoted)));
        Both { native, quoted, point: false }
    }

    /// Both forms of a number of that type. (Each is made from its text, rounded once.)
    pub fn literal_of(&mut self, lit: &syn::Lit, Typed { native: ty, quoted: of }: &Typed) -> Both {
        let (span, own) = (lit.span(), own_at(lit.span()));
        let (digits, suffix) = match lit {
            syn::Lit::Int(int) => (int.base10_digits(), int.suffix()),
            syn::Lit::Float(float) => (float.base10_digits(), float.suffix()),
            other => return self.hole(other, "this literal is not supported in a kernel: use a number or a `bool`"),
        };
        let text = text_of(ty);
        if !suffix.is_empty() {
            return self.hole(lit, format!("the number is of type `{text}`: write it without `{suffix}`"));
        }
        let (native, kind) = match lit {
            syn::Lit::Int(_) => {
                let Ok(number) = digits.parse() else {
                    return self
                        .hole(lit, "this number does not fit any integer type of a kernel: the largest is `u64`");
                };
                let made = self.op("int_literal", span);
                (quote_spanned!(own=> #made::<#ty>(#lit)), ExprKind::Int(number, *of))
            }
            _ => {
                let single = digits.parse::<f32>().is_ok_and(f32::is_finite);
                if !single && *of != NumberType::Written(ScalarType::F64) {
                    let message = format!(
                        "`{digits}` does not fit `f32`, which `{text}` may be: write a number up to {:e}",
                        f32::MAX
                    );
                    return self.hole(lit, message);
                }
                let made = self.op("float_literal", span);
                let [as_f32, as_f64] = match single {
                    true => [lit.to_token_stream(), lit.to_token_stream()],
                    false => [quote_spanned!(own=> 0.0), lit.to_token_stream()],
                };
                (quote_spanned!(own=> #made::<#ty>(#as_f32, #as_f64)), ExprKind::Float(digits.to_owned(), *of))
            }
        };
        Both { native, quoted: expr_at(span, kind), point: false }
    }

    /// Rust of a cast that `as` would not take, from or to a type parameter.
    pub fn open_cast(
        &self,
        tree: &TypeTree,
        ty: &TokenStream,
        native: &TokenStream,
        cast: &syn::ExprCast,
    ) -> TokenStream {
        let own = own_at(cast.span());
        match tree {
            TypeTree::Scalar(_) if !self.open.casts => quote_spanned!(own=> ((#native) as #ty)),
            _ => {
                let function = self.op("cast", cast.as_token.span);
                quote_spanned!(own=> #function::<#ty, _>(#native))
            }
        }
    }

    /// `x.wide()`.
    pub fn wide(&mut self, call: &syn::ExprMethodCall) -> Both {
        if let Some(turbofish) = &call.turbofish {
            self.error(turbofish, "methods in a kernel take no type parameters");
        }
        let value = self.expr(&call.receiver);
        if value.point {
            return self.hole(&call.receiver, "a point is an array of coordinates: `at[0]`, `at[1]`");
        }
        let (wide, own, native) = (self.private("wide", call.method.span()), own_at(call.span()), value.native);
        let native = quote_spanned!(own=> #wide(#native));
        let kind = ExprKind::Cast(Box::new(value.quoted), TypeTree::Scalar(ScalarType::F64));
        Both { native, quoted: expr_at(call.span(), kind), point: false }
    }

    /// `unit(axis)`, if a call is this.
    pub fn unit_point(&mut self, path: &syn::ExprPath, call: &syn::ExprCall) -> Option<Both> {
        if !path.path.is_ident("unit") || path.qself.is_some() || call.args.len() != 1 {
            return None;
        }
        if !self.captures_allowed {
            let message =
                "`unit(axis)` is a point of a kernel's cell: pass the point to the `#[kernel_fn]`, `p: [i64; 2]`";
            return Some(self.hole(call, message));
        }
        let axis = self.expr(&as_entry(call.args.first()?));
        let (made, own, native) = (self.op("unit", path.span()), own_at(call.span()), axis.native);
        let native = quote_spanned!(own=> #made(#native));
        Some(Both { native, quoted: expr_at(call.span(), ExprKind::Unit(Box::new(axis.quoted))), point: true })
    }

    /// Whether a path is one to a constant.
    pub fn is_constant(&self, path: &syn::ExprPath) -> bool {
        let name = path.path.get_ident().filter(|_| path.qself.is_none());
        let of_around = |name: &Ident| self.open.names.contains(&name.unraw().to_string());
        let local = name.is_some_and(|name| self.scope.find(name).is_some());
        !local && (is_constant(path) || name.is_some_and(of_around))
    }

    /// A path to a constant, as a value: `whole` is `path` and the fields named behind it.
    pub fn constant(&mut self, path: &syn::Expr, whole: &syn::Expr) -> Option<Both> {
        let syn::Expr::Path(constant) = path else { return None };
        if !self.is_constant(constant) {
            return None;
        }
        let of_self = constant.path.segments.first().is_some_and(|first| first.ident == "Self");
        if of_self && !self.captures_allowed && !self.is_of_method() {
            let message = "`Self` is not supported in a `#[kernel_fn]` function: name the type, or put `#[kernel_fn]` on \
                           the `impl`";
            return Some(self.hole(path, message));
        }
        let number = Named::number_in(&mut self.open.constants, whole.to_token_stream());
        let (made, own) = (self.private("constant", whole.span()), own_at(whole.span()));
        // One expression, of the user's tokens alone, for errors to point at.
        let place = quote_spanned!(whole.span()=> &#whole);
        let native = quote_spanned!(own=> (*#made(#place)));
        Some(Both { native, quoted: expr_at(whole.span(), ExprKind::Constant(number as u32)), point: false })
    }

    /// The number of the constant that a length is.
    pub fn constant_length(&mut self, len: &syn::Expr) -> Option<u32> {
        let name = name_of(len)?;
        let known = self.open.names.contains(&name.unraw().to_string());
        if !known && !is_capital(name) {
            return None;
        }
        Some(Named::number_in(&mut self.open.constants, name.to_token_stream()) as u32)
    }
}

/// The name that an expression is.
fn name_of(expr: &syn::Expr) -> Option<&Ident> {
    match bare(expr) {
        syn::Expr::Path(path) if path.qself.is_none() => path.path.get_ident(),
        syn::Expr::Block(block) => match block.block.stmts.as_slice() {
            [syn::Stmt::Expr(value, None)] if block.label.is_none() => name_of(value),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a path is of plain names, the last that of a constant. (Anything else may hold items, which cannot stand
/// twice.)
fn is_constant(path: &syn::ExprPath) -> bool {
    let plain = path.qself.is_none() && path.path.segments.iter().all(|segment| segment.arguments.is_none());
    plain && path.path.segments.last().is_some_and(|last| is_capital(&last.ident))
}

/// Whether a name is written as those of constants are.
pub(super) fn is_capital(name: &Ident) -> bool {
    let name = name.unraw().to_string();
    name.chars().any(char::is_uppercase) && !name.chars().any(char::is_lowercase)
}
