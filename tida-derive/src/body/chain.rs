//! Places: chains such as `u[at + [0, 1]].velocity[q]`, `w[i].x`, `self.alpha`.

use proc_macro2::{Delimiter, Group, Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use tida_quote::quote::{ExprKind, LocalId, Place, Projection};

use super::number::{as_entry, as_point};
use super::scope::{Name, Named};
use super::{Body, Both, Loaded, expr_at, text_of};
use crate::expand::{own, own_at};
use crate::kernel::capture_value;

/// One step of a chain.
enum Step<'a> {
    Member(&'a syn::Member),
    Index(&'a syn::Expr),
}

/// A chain: what it starts from, and the steps with the expression that each ends.
struct Chain<'a> {
    root: &'a syn::Expr,
    steps: Vec<(Step<'a>, &'a syn::Expr)>,
}

/// A cell of an argument, or a part of it.
struct Cell {
    /// The name of what is indexed.
    view: Ident,
    index: Both,
    /// Rust that makes the place.
    place: TokenStream,
    /// Steps inside the element.
    path: Vec<Projection>,
}

/// Where a place is held.
pub fn held_place() -> Ident {
    Ident::new("__tida_place", own())
}

/// What an assignment writes.
pub enum Target {
    /// A cell of an argument, or a part of it.
    Element {
        /// Rust that makes the place.
        native: TokenStream,
        /// The argument and Rust that evaluates the index, if it is the whole cell.
        whole: Option<(Ident, TokenStream)>,
        /// Data.
        quoted: Place,
    },
    /// A local or a part of it.
    Local {
        /// Rust that evaluates the indices into locals of the macro's own.
        indices: TokenStream,
        /// Rust place that uses them.
        native: TokenStream,
        /// Data.
        quoted: Place,
        /// Whether the whole local is written.
        whole: bool,
        /// Whether the local is a point.
        point: bool,
    },
}

fn peel(expr: &syn::Expr) -> Chain<'_> {
    let mut steps = Vec::new();
    let mut root = expr;
    loop {
        root = match root {
            syn::Expr::Field(field) => {
                steps.push((Step::Member(&field.member), root));
                &field.base
            }
            syn::Expr::Index(index) => {
                steps.push((Step::Index(&index.index), root));
                &index.expr
            }
            syn::Expr::Paren(inner) => &inner.expr,
            syn::Expr::Group(inner) => &inner.expr,
            _ => break,
        };
    }
    steps.reverse();
    Chain { root, steps }
}

/// The identifier of a path that is one name.
fn single(path: &syn::ExprPath) -> Option<&Ident> {
    path.path.get_ident().filter(|_| path.qself.is_none())
}

impl Body {
    /// A chain as a value.
    pub fn chain(&mut self, expr: &syn::Expr) -> Both {
        let Chain { root, steps } = peel(expr);
        let syn::Expr::Path(path) = root else {
            let base = self.expr(root);
            return self.project(base, &steps);
        };
        let span = root.span();
        let found = single(path).and_then(|name| self.scope.find(name));
        let found = match found {
            Some((what, name)) => match self.here(what, &name, false) {
                Some(what) => Some((what, name)),
                None => return super::unit(span),
            },
            None => None,
        };
        match found {
            Some((Name::Group | Name::Private { .. }, _)) => super::unit(span),
            Some((Name::Arg(arg), name)) => self.load(arg, name, root, &steps),
            Some((Name::At, name)) => {
                let base = Both { native: name.to_token_stream(), quoted: expr_at(span, ExprKind::At), point: true };
                self.project(base, &steps)
            }
            Some((Name::Local { id, point }, name)) => {
                let quoted = expr_at(span, ExprKind::Local(id));
                self.project(Both { native: name.to_token_stream(), quoted, point }, &steps)
            }
            None => {
                let members = steps.iter().take_while(|(step, _)| matches!(step, Step::Member(_))).count();
                let named = match members {
                    0 => root,
                    n => steps[n - 1].1,
                };
                let base = self.constant(root, named).unwrap_or_else(|| self.capture(named));
                self.project(base, &steps[members..])
            }
        }
    }

    /// A captured path.
    fn capture(&mut self, path: &syn::Expr) -> Both {
        let text = text_of(path);
        if !self.captures_allowed {
            let message = format!(
                "a `#[kernel_fn]` sees its parameters, and constants by plain paths such as `GAMMA`: pass `{text}` as a parameter"
            );
            return self.hole(path, message);
        }
        if text == "self" {
            return self.hole(path, "a kernel captures numbers: name the field, `self.alpha`");
        }
        let number = Named::number_in(&mut self.captures, path.to_token_stream());
        let mut value = capture_value(number);
        value.set_span(own_at(path.span()));
        let quoted = expr_at(path.span(), ExprKind::Capture(number as u32));
        Both { native: value.to_token_stream(), quoted, point: false }
    }

    /// `u[index]..` as a value.
    fn load(&mut self, arg: u32, name: Ident, root: &syn::Expr, steps: &[(Step<'_>, &syn::Expr)]) -> Both {
        let span = steps.last().map_or(root.span(), |(_, expr)| expr.span());
        let Some(Cell { view, index, place, path }) = self.element((arg, &name), "read", root, steps) else {
            return super::unit(root.span());
        };
        let own = own_at(span);
        let native = match path.is_empty() {
            false => {
                let (p, load) = (held_place(), self.private("load", span));
                // What the user has written stands before the `unsafe` block.
                quote_spanned! {own=> {
                    let #p = #place;
                    // SAFETY: the place is of a view, and used at once.
                    unsafe { #load(&#p) }
                }}
            }
            true => {
                let (get, index) = (self.private("get", span), &index.native);
                quote_spanned!(own=> #get(#view, #index))
            }
        };
        self.loads.push(Loaded { arg, view, index: index.quoted.clone(), native: index.native });
        let index = Box::new(index.quoted);
        Both { native, quoted: expr_at(span, ExprKind::Load { arg, index, path }), point: false }
    }

    /// A cell, and the steps inside its element.
    fn element(
        &mut self,
        (arg, name): (u32, &Ident),
        access: &str,
        root: &syn::Expr,
        steps: &[(Step<'_>, &syn::Expr)],
    ) -> Option<Cell> {
        let Some(((Step::Index(index), whole), inside)) = steps.split_first() else {
            let example = format!("`{name}` is an array: name a cell of it, `{name}[at]` or `{name}[at + [0, 1]]`");
            self.error(root, example);
            return None;
        };
        let index = self.expr(&as_entry(&as_point(index)));
        let view = match access {
            "read" if self.groups.is_none() => self.ways.view(arg, name, &index.quoted),
            _ => name.clone(),
        };
        let access = self.private(access, whole.span());
        let native_index = &index.native;
        let mut native = quote_spanned!(own()=> #access(#view, #native_index));
        let mut path = Vec::new();
        for (step, expr) in inside {
            match step {
                Step::Member(member @ syn::Member::Named(field)) => {
                    native = quote!(#native.#member);
                    path.push(Projection::Field(field.unraw().to_string()));
                }
                Step::Member(member) => {
                    self.error(member, "the elements of arrays have named fields: tuples are not elements");
                    return None;
                }
                Step::Index(entry) => {
                    let entry = self.expr(&as_entry(entry));
                    let entry_native = entry.native;
                    let component = self.private("component", expr.span());
                    native = quote_spanned!(own()=> #component(&#native, #entry_native));
                    path.push(Projection::Index(Box::new(entry.quoted)));
                }
            }
        }
        Some(Cell { view, index, place: native, path })
    }

    /// Parts of a value that is not an argument.
    fn project(&mut self, base: Both, steps: &[(Step<'_>, &syn::Expr)]) -> Both {
        let mut both = base;
        for (step, expr) in steps {
            let (native, quoted) = (both.native, Box::new(both.quoted));
            let (native, projection) = match step {
                Step::Member(member) if both.point => {
                    let message = "a point is an array of coordinates: `at[0]`, `at[1]`";
                    return self.hole(member, message);
                }
                Step::Member(member) => (quote_spanned!(own()=> (#native).#member), projection_of(member)),
                Step::Index(index) => {
                    let index = self.expr(&as_entry(index));
                    let native = match matches!(quoted.kind, ExprKind::At) {
                        true => self.coordinate(native, index.native, expr),
                        false => {
                            let (entry, index_native) = (self.op("entry", expr.span()), index.native);
                            quote_spanned!(own()=> #entry(&(#native), #index_native))
                        }
                    };
                    (native, Projection::Index(Box::new(index.quoted)))
                }
            };
            both = Both { native, quoted: expr_at(expr.span(), ExprKind::Project(quoted, projection)), point: false };
        }
        both
    }

    /// A coordinate of the cell. It has a type of its own, and stands where the user wrote it: what is wrong with it is
    /// said of it, and not of the whole kernel.
    fn coordinate(&self, cell: TokenStream, axis: TokenStream, expr: &syn::Expr) -> TokenStream {
        let end = match expr {
            syn::Expr::Index(index) => index.bracket_token.span.close(),
            _ => expr.span(),
        };
        let coordinate = self.op("coordinate", expr.span());
        let mut args = Group::new(Delimiter::Parenthesis, quote_spanned!(own()=> &(#cell), #axis));
        args.set_span(self.library.span(end));
        quote!(#coordinate #args)
    }

    /// A chain as what an assignment writes.
    pub fn target(&mut self, expr: &syn::Expr) -> Option<Target> {
        let Chain { root, steps } = peel(expr);
        let syn::Expr::Path(path) = root else {
            let hint = match root {
                syn::Expr::Tuple(_) | syn::Expr::Array(_) | syn::Expr::Struct(_) => {
                    "assigning to several places at once is not supported in a kernel: write one assignment for each"
                }
                syn::Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Deref(_)) => {
                    "there are no references in a kernel: assign to the variable itself"
                }
                _ => "this cannot be assigned in a kernel: assign to `u[at]`, a local variable, or a part of one",
            };
            self.error(root, hint);
            return None;
        };
        let found = match single(path).and_then(|name| self.scope.find(name)) {
            Some((what, name)) => Some((self.here(what, &name, true)?, name)),
            None => None,
        };
        match found {
            Some((Name::Group | Name::Private { .. }, _)) => None,
            Some((Name::Arg(arg), name)) => {
                let Cell { index, place, path, .. } = self.element((arg, &name), "write", root, &steps)?;
                let whole = path.is_empty().then_some((name, index.native));
                let quoted = Place::Element { arg, index: Box::new(index.quoted), path };
                Some(Target::Element { native: place, whole, quoted })
            }
            Some((Name::At, name)) => {
                self.error(root, format!("`{name}` cannot be assigned: copy it first, `let mut p = {name};`"));
                None
            }
            Some((Name::Local { id, point }, name)) => Some(self.local_target(id, &name, point, &steps)),
            None => {
                let text = text_of(expr);
                let message = match self.captures_allowed {
                    true => format!(
                        "`{text}` is captured by value and cannot be assigned: use a `let mut` inside the kernel"
                    ),
                    false => {
                        format!("a `#[kernel_fn]` cannot assign `{text}`: it sees its parameters and constants alone")
                    }
                };
                self.error(expr, message);
                None
            }
        }
    }

    fn local_target(&mut self, id: LocalId, name: &Ident, point: bool, steps: &[(Step<'_>, &syn::Expr)]) -> Target {
        let mut native = name.to_token_stream();
        let mut indices = TokenStream::new();
        let mut path = Vec::new();
        for (n, (step, expr)) in steps.iter().enumerate() {
            match step {
                Step::Member(member) => {
                    native = quote_spanned!(own()=> (#native).#member);
                    path.push(projection_of(member));
                }
                Step::Index(index) => {
                    let index = self.expr(&as_entry(index));
                    let (held, index_native) = (format_ident!("__tida_i{n}", span = own()), index.native);
                    indices.extend(quote_spanned!(own()=> let #held = #index_native;));
                    let entry = self.op("entry_mut", expr.span());
                    native = quote_spanned!(own()=> (*#entry(&mut (#native), #held)));
                    path.push(Projection::Index(Box::new(index.quoted)));
                }
            }
        }
        let quoted = Place::Local { local: id, path };
        Target::Local { indices, native, quoted, whole: steps.is_empty(), point: point && steps.is_empty() }
    }
}

fn projection_of(member: &syn::Member) -> Projection {
    match member {
        syn::Member::Named(name) => Projection::Field(name.unraw().to_string()),
        syn::Member::Unnamed(index) => Projection::Tuple(index.index),
    }
}
