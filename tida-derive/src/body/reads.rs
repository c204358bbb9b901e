//! In how many ways a kernel reads each argument, and whether it finds where as it runs.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote_spanned};
use tida_quote::quote::walk::{Walk, bound};
use tida_quote::quote::{BinaryOp, Block, Expr, ExprKind, LocalId, Method, Place, Projection, Stmt, StmtKind};

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

/// Most nodes of a body whose checked form is worth being compiled into the loops over cells.
const SHORT: usize = 200;

/// Whether a short body reads at an index that follows from values or bits (`u[[x.floor() as i64]]`, `u[[i ^ j]]`): it
/// may be that no analysis proves it, and that the checked form runs. Elsewhere to inline that would only cost time to
/// build.
pub fn is_found_as_it_runs(body: &Block) -> bool {
    let (values, nodes) = (RefCell::new(HashSet::new()), RefCell::new(0));
    let found = RefCell::new(false);
    let mut count = |expr: &Expr| {
        *nodes.borrow_mut() += 1;
        if let ExprKind::Load { index, .. } = &expr.kind {
            *found.borrow_mut() |= is_value(index, &values.borrow());
        }
    };
    let mut keep = |stmt: &Stmt| {
        match &stmt.kind {
            StmtKind::Let { pattern, init, .. } => {
                let of_value = init.as_ref().is_none_or(|init| is_value(init, &values.borrow()));
                let mut locals = Vec::new();
                bound(pattern, &mut locals);
                values.borrow_mut().extend(locals.into_iter().filter(|_| of_value));
            }
            StmtKind::Assign { place: Place::Local { local, .. }, .. } => {
                values.borrow_mut().insert(*local);
            }
            _ => {}
        }
        true
    };
    Walk { expr: &mut count, stmt: &mut keep }.block(body);
    nodes.into_inner() <= SHORT && found.into_inner()
}

/// Whether something that is made with these locals is no sum of numbers times what the cell, loops and captures say.
fn is_value(expr: &Expr, locals: &HashSet<LocalId>) -> bool {
    let is_number = |expr: &Expr| matches!(expr.kind, ExprKind::Int(..) | ExprKind::Constant(_));
    let mut value = false;
    let mut look = |expr: &Expr| {
        value |= match &expr.kind {
            ExprKind::Local(local) => locals.contains(local),
            ExprKind::Load { .. }
            | ExprKind::If { .. }
            | ExprKind::Call(..)
            | ExprKind::Invoke(..)
            | ExprKind::Binary(BinaryOp::BitXor | BinaryOp::BitOr | BinaryOp::Shl, ..) => true,
            ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem | BinaryOp::BitAnd | BinaryOp::Shr, _, by) => !is_number(by),
            ExprKind::Method(Method::DivEuclid | Method::RemEuclid, args) => !args.get(1).is_some_and(is_number),
            ExprKind::Method(method, _) => !matches!(method, Method::Min | Method::Max | Method::Clamp | Method::Abs),
            _ => false,
        };
    };
    Walk { expr: &mut look, stmt: &mut |_| true }.expr(expr);
    value
}

/// Most nodes, and most reads, of what is computed though nothing may ask for it.
const CHEAP: [usize; 2] = [150, 8];

/// Whether a block does nothing but give a value.
fn gives_alone(block: &Block) -> bool {
    let names = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Let { init: Some(_), .. });
    block.value.is_some() && block.stmts.iter().all(names)
}

/// Whether these blocks do nothing but give values, one is read of an array, and together they cost little more than
/// that, and raise no fault where no read does.
pub fn are_cheap<'a>(blocks: impl IntoIterator<Item = &'a Block>) -> bool {
    let (mut cost, mut alone) = (Cost::default(), true);
    for block in blocks {
        alone &= gives_alone(block);
        cost.of(|walk| walk.block(block));
    }
    alone && cost.is_little()
}

/// The same of a value.
pub fn is_cheap(value: &Expr) -> bool {
    let mut cost = Cost::default();
    cost.of(|walk| walk.expr(value));
    cost.is_little()
}

/// What computing something costs.
#[derive(Default)]
struct Cost {
    nodes: usize,
    reads: usize,
    /// It has something that may cost more, or fail.
    others: bool,
}

impl Cost {
    fn of(&mut self, walk: impl FnOnce(&mut Walk<'_>)) {
        walk(&mut Walk { expr: &mut |expr| self.take(expr), stmt: &mut |_| true });
    }

    fn is_little(&self) -> bool {
        let [nodes, reads] = CHEAP;
        !self.others && (1..=reads).contains(&self.reads) && self.nodes <= nodes
    }

    fn take(&mut self, expr: &Expr) {
        let is_entry = |path: &[Projection]| match path {
            [] | [Projection::Field(_)] => true,
            [Projection::Index(entry)] => matches!(entry.kind, ExprKind::Int(..)),
            _ => false,
        };
        self.nodes += 1;
        self.others |= match &expr.kind {
            ExprKind::Load { path, .. } => {
                self.reads += 1;
                !is_entry(path)
            }
            ExprKind::Project(_, part) => !is_entry(std::slice::from_ref(part)),
            // (Quotients of integers may fail.)
            ExprKind::Binary(op, ..) => matches!(op, BinaryOp::Div | BinaryOp::Rem),
            ExprKind::Method(method, _) => !matches!(method, Method::Min | Method::Max | Method::Abs),
            ExprKind::If { then, otherwise, .. } => {
                !gives_alone(then) || otherwise.as_ref().is_none_or(|otherwise| !gives_alone(otherwise))
            }
            ExprKind::Block(block) => !gives_alone(block),
            ExprKind::Int(..)
            | ExprKind::Float(..)
            | ExprKind::Bool(_)
            | ExprKind::Local(_)
            | ExprKind::Capture(_)
            | ExprKind::Constant(_)
            | ExprKind::At
            | ExprKind::Unary(..)
            | ExprKind::Cast(..)
            | ExprKind::Compare(..)
            | ExprKind::And(..)
            | ExprKind::Or(..)
            | ExprKind::Shift { .. }
            | ExprKind::Tuple(_)
            | ExprKind::Array(_) => false,
            _ => true,
        };
    }
}
