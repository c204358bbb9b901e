//! Types.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use tida_quote::element::ScalarType;
use tida_quote::quote::{self as q, ExprKind, TypeTree};

use super::scope::Named;
use super::{Body, expr_at};
use crate::expand::own_at;

/// The scalar types of a kernel, for messages.
pub const SCALARS: &str = "`i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64 bool`";

/// Types that a kernel does not have but that Rust programs often name.
const FOREIGN: &[&str] = &["i128", "u128", "f16", "f128", "char", "str", "String", "Vec", "Option", "Box"];

/// The scalar of that name.
pub fn scalar(name: &str) -> Option<ScalarType> {
    match name {
        "isize" => Some(ScalarType::I64),
        "usize" => Some(ScalarType::U64),
        _ => ScalarType::ALL.iter().copied().find(|ty| ty.name() == name),
    }
}

/// Whether a type is `[i64; n]`.
pub fn is_point(ty: &TypeTree) -> bool {
    matches!(ty, TypeTree::Array(entry, _) if **entry == TypeTree::Scalar(ScalarType::I64))
}

impl Body {
    /// Both forms of a type.
    pub fn ty(&mut self, ty: &syn::Type) -> (TokenStream, TypeTree) {
        let span = own_at(ty.span());
        match ty {
            syn::Type::Infer(_) => (ty.to_token_stream(), TypeTree::Infer),
            syn::Type::Paren(inner) => self.ty(&inner.elem),
            syn::Type::Group(inner) => self.ty(&inner.elem),
            syn::Type::Array(array) => {
                let (native, entry) = self.ty(&array.elem);
                if let Some(number) = self.constant_length(&array.len) {
                    let len = &array.len;
                    return (quote_spanned!(span=> [#native; #len]), TypeTree::ArrayOf(Box::new(entry), number));
                }
                let len = self.length(&array.len);
                (quote_spanned!(span=> [#native; #len]), TypeTree::Array(Box::new(entry), len))
            }
            syn::Type::Tuple(tuple) => {
                let (native, types): (Vec<_>, Vec<_>) = tuple.elems.iter().map(|t| self.ty(t)).unzip();
                (quote_spanned!(span=> (#(#native,)*)), TypeTree::Tuple(types))
            }
            syn::Type::Path(path) if path.qself.is_none() => {
                if let Some(name) = path.path.get_ident().map(|name| name.unraw().to_string())
                    && let Some(scalar) = scalar(&name)
                {
                    return (self.library.scalar(&name, ty.span()), TypeTree::Scalar(scalar));
                }
                let number = self.structure(&path.path);
                let path = self.tables.structs.get(number as usize).map(|named| named.path.clone());
                (path.unwrap_or_default(), TypeTree::Struct(number))
            }
            other => {
                self.error(
                    other,
                    format!("this type is not supported in a kernel: use a scalar ({SCALARS}), an array `[T; 3]`, a tuple or a `#[derive(Element)]` struct"),
                );
                (TokenStream::new(), TypeTree::Infer)
            }
        }
    }

    /// The number of a struct in its table.
    pub fn structure(&mut self, path: &syn::Path) -> u32 {
        let last = path.segments.last().map(|segment| segment.ident.unraw().to_string()).unwrap_or_default();
        if !has_plain_parameters(path) {
            self.error(path, "the parameters of a type in a kernel are plain types: `Complex<f64>`, `Complex<T>`");
        } else if path.segments.first().is_some_and(|segment| segment.ident == "Self") && !self.of_method {
            self.error(path, "`Self` is not supported in a kernel: write the name of the struct");
        } else if path.segments.len() == 1 && FOREIGN.contains(&last.as_str()) {
            self.error(path, format!("`{last}` is not supported in a kernel: the scalars are {SCALARS}"));
        }
        Named::number_in(&mut self.tables.structs, path.to_token_stream()) as u32
    }

    /// The literal length of an array.
    pub fn length(&mut self, len: &syn::Expr) -> usize {
        let mut inner = len;
        while let syn::Expr::Group(group) = inner {
            inner = &group.expr;
        }
        if let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(int), .. }) = inner
            && let (Ok(len), "" | "usize") = (int.base10_parse::<usize>(), int.suffix())
        {
            return len;
        }
        self.error(len, "the length of an array in a kernel is a literal number, such as `[0.0; 4]`");
        1
    }
}

/// Whether a path has no parameters, or names of types behind its last name. (Anything else may hold items, which
/// cannot stand twice.)
fn has_plain_parameters(path: &syn::Path) -> bool {
    let plain = |of: &syn::GenericArgument| match of {
        syn::GenericArgument::Type(syn::Type::Path(ty)) => ty.qself.is_none() && has_plain_parameters(&ty.path),
        _ => false,
    };
    let last = path.segments.len().saturating_sub(1);
    path.segments.iter().enumerate().all(|(n, segment)| match &segment.arguments {
        syn::PathArguments::None => true,
        syn::PathArguments::AngleBracketed(of) => n == last && of.args.iter().all(plain),
        syn::PathArguments::Parenthesized(_) => false,
    })
}

/// A quoted `true`.
pub fn quoted_true(span: Span) -> q::Expr {
    expr_at(span, ExprKind::Bool(true))
}
