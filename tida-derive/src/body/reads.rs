//! In how many ways a kernel reads each argument.

use std::collections::BTreeSet;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote_spanned};
use tida_quote::quote::walk::Walk;
use tida_quote::quote::{Expr, ExprKind, Projection};

use crate::expand::own;

/// The ways in which arguments are read. `a[[at[0], k]]` and `a[[k, at[1]]]` are two: as cells and turns go on, they go
/// to other places of a whole array. Each way has a name, since one region may have all that one of them reads.
#[derive(Debug, Default)]
pub struct Ways(Vec<Way>);

#[derive(Debug)]
struct Way {
    arg: u32,
    /// What is named along each axis.
    axes: Vec<BTreeSet<String>>,
    view: Ident,
    /// The argument's name, where the view has another.
    of: Option<Ident>,
}

impl Ways {
    /// The name of the view that a read at `index` goes through.
    pub fn view(&mut self, arg: u32, name: &Ident, index: &Expr) -> Ident {
        let axes = match &index.kind {
            ExprKind::Array(list) => list.iter().map(named).collect(),
            _ => Vec::new(),
        };
        let mut of_arg = self.0.iter().filter(|way| way.arg == arg);
        if let Some(known) = of_arg.clone().find(|way| way.axes == axes) {
            let mut view = known.view.clone();
            view.set_span(view.span().located_at(name.span()));
            return view;
        }
        let (view, of) = match of_arg.next() {
            None => (name.clone(), None),
            Some(_) => (format_ident!("__tida_way{}", self.0.len(), span = own()), Some(name.clone())),
        };
        self.0.push(Way { arg, axes, view: view.clone(), of });
        view
    }

    /// Rust that gives the arguments these names.
    pub fn native(&self) -> TokenStream {
        let named = self.0.iter().filter_map(|Way { view, of, .. }| {
            let of = of.as_ref()?;
            Some(quote_spanned!(own()=> let #view = #of;))
        });
        named.collect()
    }
}

/// What an entry of an index names: axes of the cell, locals and captures.
fn named(entry: &Expr) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    let mut look = |expr: &Expr| {
        let name = match &expr.kind {
            ExprKind::Project(base, Projection::Index(axis)) => match (&base.kind, &axis.kind) {
                (ExprKind::At, ExprKind::Int(axis, _)) => format!("axis {axis}"),
                _ => return,
            },
            ExprKind::Local(local) => format!("local {local}"),
            ExprKind::Capture(capture) => format!("capture {capture}"),
            _ => return,
        };
        named.insert(name);
    };
    Walk { expr: &mut look, stmt: &mut |_| true }.expr(entry);
    named
}
