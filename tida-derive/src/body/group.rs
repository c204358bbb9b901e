//! What the body of a `group_kernel!` has beside: arrays that threads share, values of their own, and phases.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use tida_quote::quote::{
    ExprKind, GroupArray, GroupArrayKind, GroupTree, LocalId, NumberType, Pattern, StmtKind, TypeTree,
};

use super::scope::Name;
use super::stmt::BothStmt;
use super::{Body, Both, expr_at, place_of, unit};
use crate::expand::{own, own_at};

/// What a body of a `group_kernel!` has found so far.
#[derive(Debug)]
pub struct Groups {
    /// Arguments of the kernel: the group's arrays are counted after them.
    args: u32,
    tree: GroupTree,
    /// A phase has been written: nothing more is declared.
    started: bool,
    phase: Option<Phase>,
}

/// The phase being walked.
#[derive(Debug)]
struct Phase {
    thread: LocalId,
    /// Locals from here on are the thread's.
    first: LocalId,
    around: bool,
    /// Values of its own that the thread names.
    privates: Vec<(LocalId, Ident)>,
}

impl Groups {
    /// Of a kernel of so many arguments.
    pub fn new(args: usize) -> Groups {
        Groups { args: args as u32, tree: GroupTree::default(), started: false, phase: None }
    }

    /// What was found.
    pub fn tree(self) -> GroupTree {
        self.tree
    }
}

/// Where a value of each thread is kept.
fn kept(id: LocalId) -> Ident {
    format_ident!("__tida_p{id}", span = own())
}

/// The group's cells along each axis.
pub fn len() -> Ident {
    Ident::new("__tida_len", own())
}

/// The cell of a thread.
fn cell() -> Ident {
    Ident::new("__tida_at", own())
}

/// The identifier, if the expression is one.
fn ident(mut expr: &syn::Expr) -> Option<&Ident> {
    loop {
        expr = match expr {
            syn::Expr::Paren(inner) => &inner.expr,
            syn::Expr::Group(inner) => &inner.expr,
            syn::Expr::Path(path) if path.qself.is_none() => return path.path.get_ident(),
            _ => return None,
        };
    }
}

impl Body {
    /// The method called on the group, if that is what it is called on.
    fn of_group(&self, expr: &syn::Expr) -> Option<Ident> {
        self.groups.as_ref()?;
        let (name, found) = self.scope.find(ident(expr)?)?;
        matches!(name, Name::Group).then_some(found)
    }

    /// What a name stands for where it is used; nothing, with an error, if it cannot be used there.
    pub fn here(&mut self, name: Name, written: &Ident, write: bool) -> Option<Name> {
        let Some(groups) = &mut self.groups else { return Some(name) };
        let error = match (&name, &mut groups.phase) {
            (Name::Group, _) => {
                format!("`{written}` is the group: call `{written}.each(|t| ..)`, `{written}.len()` and its like")
            }
            (Name::Arg(_), None) => {
                format!("`{written}` is read and written by threads: put this into `group.each(|t| ..)`")
            }
            (Name::Private { .. }, None) => {
                format!("each thread has a `{written}` of its own: use it in `group.each(|t| ..)`")
            }
            (Name::Private { .. }, Some(Phase { around: true, .. })) => {
                format!("threads beside the group's cells have no `{written}`: share it in a channel")
            }
            (Name::Private { id }, Some(phase)) => {
                if phase.privates.iter().all(|(known, _)| known != id) {
                    phase.privates.push((*id, written.clone()));
                }
                return Some(Name::Local { id: *id, point: false });
            }
            (Name::Local { id, .. }, Some(phase)) if write && *id < phase.first => format!(
                "`{written}` belongs to the whole group: a thread cannot assign it; make it a `group.private(..)`"
            ),
            _ => return Some(name),
        };
        self.error(written, error);
        None
    }

    /// `return` would leave other threads at a barrier.
    pub fn refuse_return(&mut self, leave: &syn::ExprReturn) {
        if self.groups.is_some() {
            self.error(leave, "`return` is not supported in a `group_kernel!`: write `if`, so that all threads meet");
        }
    }

    /// `t.at()` and `group.len()`, as values.
    pub fn group_value(&mut self, call: &syn::ExprMethodCall) -> Option<Both> {
        let span = call.span();
        if let Some(group) = self.of_group(&call.receiver) {
            if call.method.unraw() != "len" || !call.args.is_empty() || call.turbofish.is_some() {
                let message = format!(
                    "write this as a statement of its own: `{group}.each(|t| ..);`, `let c = {group}.shared::<f64>([256]);`"
                );
                return Some(self.hole(&call.method, message));
            }
            let known = self.groups.as_ref().and_then(|groups| groups.tree.len);
            let id = known.unwrap_or_else(|| self.scope.anonymous("len".to_owned(), false, span));
            if let Some(groups) = &mut self.groups {
                groups.tree.len = Some(id);
            }
            return Some(Both {
                native: len().to_token_stream(),
                quoted: expr_at(span, ExprKind::Local(id)),
                point: true,
            });
        }
        let thread = self.groups.as_ref()?.phase.as_ref()?.thread;
        match self.scope.find(ident(&call.receiver)?)? {
            (Name::Local { id, .. }, _) if id == thread && call.method.unraw() == "at" && call.args.is_empty() => {
                Some(Both { native: cell().to_token_stream(), quoted: expr_at(span, ExprKind::At), point: true })
            }
            _ => None,
        }
    }

    /// `group.each(|t| ..)`, as a statement.
    pub fn group_statement(&mut self, call: &syn::ExprMethodCall) -> Option<BothStmt> {
        let group = self.of_group(&call.receiver)?;
        let args: Vec<&syn::Expr> = call.args.iter().collect();
        let nothing = || (TokenStream::new(), StmtKind::Expr(unit(call.span()).quoted));
        let (before, after, body) = match (call.method.unraw().to_string().as_str(), args.as_slice()) {
            ("each", [body]) => (Vec::new(), Vec::new(), *body),
            ("each_around", [before, after, body]) => (self.numbers(before), self.numbers(after), *body),
            ("each", _) => {
                self.error(call, format!("a phase is one closure: `{group}.each(|t| ..)`"));
                return Some(nothing());
            }
            ("each_around", _) => {
                self.error(call, format!("write `{group}.each_around([1], [1], |t| ..)`: threads before and after"));
                return Some(nothing());
            }
            _ => return None,
        };
        let syn::Expr::Closure(closure) = body else {
            self.error(body, format!("a phase is a closure: `{group}.each(|t| ..)`"));
            return Some(nothing());
        };
        Some(self.phase(&group, call, closure, (before, after)))
    }

    fn phase(
        &mut self,
        group: &Ident,
        call: &syn::ExprMethodCall,
        closure: &syn::ExprClosure,
        (before, after): (Vec<u32>, Vec<u32>),
    ) -> BothStmt {
        let plain = closure.asyncness.is_none()
            && closure.constness.is_none()
            && closure.movability.is_none()
            && closure.capture.is_none()
            && closure.lifetimes.is_none()
            && matches!(closure.output, syn::ReturnType::Default);
        let mark = self.scope.enter();
        let first = self.scope.locals.len() as LocalId;
        let inputs: Vec<&syn::Pat> = closure.inputs.iter().collect();
        let thread = match inputs.as_slice() {
            [syn::Pat::Ident(p)] if plain && p.by_ref.is_none() && p.mutability.is_none() && p.subpat.is_none() => {
                Some((self.scope.declare(&p.ident, false, true), p.ident.to_token_stream()))
            }
            [syn::Pat::Wild(p)] if plain => {
                Some((self.scope.anonymous("_".to_owned(), false, p.span()), p.to_token_stream()))
            }
            _ => None,
        };
        let Some((thread, t)) = thread else {
            self.error(closure, format!("a phase names its thread and nothing more: `{group}.each(|t| ..)`"));
            return (TokenStream::new(), StmtKind::Expr(unit(call.span()).quoted));
        };
        let around = !before.is_empty();
        let nested = self.groups.as_mut().is_some_and(|groups| {
            groups.started = true;
            groups.phase.replace(Phase { thread, first, around, privates: Vec::new() }).is_some()
        });
        if nested {
            self.error(call, "a phase does not stand in another one: end it first");
        }
        // Loops around a phase are not the threads' to leave.
        let labels = std::mem::take(&mut self.labels);
        let body = self.closure_body(&closure.body);
        self.labels = labels;
        if let Some(value) = &body.quoted.value
            && !matches!(value.kind, ExprKind::If { .. } | ExprKind::Block(_) | ExprKind::Tuple(_))
        {
            self.error(&closure.body, "a phase gives no value: end it with `;`");
        }
        self.scope.leave(mark);
        let phase = self.groups.as_mut().and_then(|groups| groups.phase.take());
        let privates = phase.map(|phase| phase.privates).unwrap_or_default();
        let (names, kept): (Vec<&Ident>, Vec<Ident>) = privates.iter().map(|(id, name)| (name, kept(*id))).unzip();
        let (at, number, native) = (cell(), Ident::new("__tida_thread", own()), body.native);
        let run = self.private(if around { "phase_around" } else { "phase" }, call.method.span());
        let (kept_of, keep) = (self.private("kept_of", own()), self.private("keep", own()));
        let (b, a) = (signed(&before), signed(&after));
        let sides = around.then(|| quote!([#(#b),*], [#(#a),*],));
        let native = quote_spanned! {own()=>
            #run(#group, #sides #[allow(unused_variables)] |#number, #t, #at| {
                #(#[allow(unused_mut)] let mut #names = #kept_of(&#kept, #number);)*
                #native
                #(#keep(&#kept, #number, #names);)*
            });
        };
        (native, StmtKind::Phase { thread, before, after, body: body.quoted })
    }

    /// `let c = group.shared::<f64>([256]);` and its like; nothing if the value is something else.
    pub fn group_local(&mut self, local: &syn::Local) -> Option<BothStmt> {
        let init = local.init.as_ref()?;
        let syn::Expr::MethodCall(call) = &*init.expr else { return None };
        let group = self.of_group(&call.receiver)?;
        let method = call.method.unraw().to_string();
        if !matches!(method.as_str(), "fetch" | "channel" | "shared" | "private") {
            return None;
        }
        let nothing = (TokenStream::new(), StmtKind::Expr(unit(local.span()).quoted));
        let name = match &local.pat {
            syn::Pat::Ident(p) if p.by_ref.is_none() && p.subpat.is_none() && init.diverge.is_none() => &p.ident,
            other => {
                self.error(other, format!("give it a plain name: `let c = {group}.{method}(..);`"));
                return Some(nothing);
            }
        };
        if self.depth != 1 || self.groups.as_ref().is_none_or(|groups| groups.started) {
            self.error(call, "declare what a group shares and what its threads keep first, before loops and phases");
            return Some(nothing);
        }
        let args: Vec<&syn::Expr> = call.args.iter().collect();
        if method == "private" {
            let ([value], None) = (args.as_slice(), &call.turbofish) else {
                self.error(call, format!("give the value that each thread starts with: `{group}.private(0.0)`"));
                return Some(nothing);
            };
            let value = self.expr(value);
            let id = self.scope.declare_private(name);
            if self.is_number(&value.quoted) {
                self.scope.set_number(id);
            }
            if let Some(groups) = &mut self.groups {
                groups.tree.privates.push(id);
            }
            let (kept, native) = (kept(id), value.native);
            let private = self.private("private", call.method.span());
            let native = quote_spanned!(own()=> let #kept = #private(#group, #native););
            let kind = StmtKind::Let { pattern: Pattern::Local(id), ty: None, init: Some(value.quoted) };
            return Some((native, kind));
        }
        let Some((kind, Maker { function, more })) = self.array(&group, call, &method, &args) else {
            return Some(nothing);
        };
        let Some(groups) = &mut self.groups else { return Some(nothing) };
        let number = groups.args + groups.tree.arrays.len() as u32;
        groups.tree.arrays.push(GroupArray { name: name.unraw().to_string(), span: place_of(call.span()), kind });
        self.scope.declare_arg(name, number);
        let native = quote_spanned!(own()=> let #name = &#function(#group, #number, #more););
        Some((native, nothing.1))
    }

    /// An array that threads share: data, and Rust that makes it but for its first two arguments.
    fn array(
        &mut self,
        group: &Ident,
        call: &syn::ExprMethodCall,
        method: &str,
        args: &[&syn::Expr],
    ) -> Option<(GroupArrayKind, Maker)> {
        let place = call.method.span();
        if method == "fetch" {
            let ([array, before, after], None) = (args, &call.turbofish) else {
                let example = format!("write `{group}.fetch(u, [1], [1])`: an array, its cells before and after");
                self.error(call, example);
                return None;
            };
            let of = match *array {
                syn::Expr::Reference(of) => &*of.expr,
                of => of,
            };
            let found = ident(of).and_then(|name| self.scope.find(name));
            let args = self.groups.as_ref().map_or(0, |groups| groups.args);
            let Some((Name::Arg(arg), name)) = found.filter(|(name, _)| matches!(name, Name::Arg(n) if *n < args))
            else {
                self.error(array, "name an array of the kernel: `group.fetch(u, [1], [1])`");
                return None;
            };
            let (before, after) = (self.numbers(before), self.numbers(after));
            let (b, a) = (signed(&before), signed(&after));
            let more = quote!(#name, [#(#b),*], [#(#a),*]);
            let maker = Maker { function: self.private("group_fetch", place), more };
            return Some((GroupArrayKind::Fetch { arg, before, after }, maker));
        }
        let ty = call.turbofish.as_ref().and_then(|turbofish| match turbofish.args.iter().collect::<Vec<_>>()[..] {
            [syn::GenericArgument::Type(ty)] => Some(ty),
            _ => None,
        });
        let scalar = ty.map(|ty| self.ty(ty));
        let Some((native, ty)) = scalar.and_then(|(native, tree)| Some((native, slot(&tree)?))) else {
            let shape = if method == "channel" { "[1], [1]" } else { "[256]" };
            self.error(call, format!("name the type of a slot, a scalar: `{group}.{method}::<f64>({shape})`"));
            return None;
        };
        match (method, args) {
            ("channel", [before, after]) => {
                let (before, after) = (self.numbers(before), self.numbers(after));
                let (b, a) = (signed(&before), signed(&after));
                let more = quote!([#(#b),*], [#(#a),*]);
                let channel = self.private("group_channel", place);
                let function = quote_spanned!(own_at(place)=> #channel::<#native, _>);
                Some((GroupArrayKind::Channel { ty, before, after }, Maker { function, more }))
            }
            ("shared", [shape]) => {
                let shape = self.numbers(shape);
                let n = signed(&shape);
                let shared = self.private("group_shared", place);
                let function = quote_spanned!(own_at(place)=> #shared::<#native, _, _>);
                Some((GroupArrayKind::Shared { ty, shape }, Maker { function, more: quote!([#(#n),*]) }))
            }
            _ => {
                let example = match method {
                    "channel" => {
                        format!("write `{group}.channel::<f64>([1], [1])`: slots before and after the group's")
                    }
                    _ => format!("write `{group}.shared::<f64>([256])`: slots along each axis"),
                };
                self.error(call, example);
                None
            }
        }
    }

    /// Numbers in brackets, known as the kernel is compiled.
    fn numbers(&mut self, expr: &syn::Expr) -> Vec<u32> {
        let number = |expr: &syn::Expr| match expr {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(n), .. }) if n.suffix().is_empty() => {
                n.base10_parse().ok()
            }
            _ => None,
        };
        let found = match expr {
            syn::Expr::Array(array) => array.elems.iter().map(number).collect::<Option<Vec<u32>>>(),
            _ => None,
        };
        found.filter(|numbers| !numbers.is_empty()).unwrap_or_else(|| {
            self.error(expr, "write numbers in brackets, one for each axis: `[1]`, `[16, 16]`");
            vec![1]
        })
    }
}

/// Rust that makes an array of a group.
struct Maker {
    function: TokenStream,
    /// Arguments after the group and the array's number.
    more: TokenStream,
}

fn signed(numbers: &[u32]) -> Vec<proc_macro2::Literal> {
    let mut literals: Vec<_> = numbers.iter().map(|n| proc_macro2::Literal::u32_unsuffixed(*n)).collect();
    literals.iter_mut().for_each(|literal| literal.set_span(Span::mixed_site()));
    literals
}

/// What a slot of this type holds, if it may be a scalar.
fn slot(ty: &TypeTree) -> Option<NumberType> {
    match ty {
        TypeTree::Scalar(ty) => Some(NumberType::Written(*ty)),
        TypeTree::Struct(number) => Some(NumberType::Of(*number)),
        _ => None,
    }
}
