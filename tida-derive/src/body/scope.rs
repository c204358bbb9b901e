//! Names: what an identifier in a body stands for.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use tida_quote::quote::walk::{Walk, bound};
use tida_quote::quote::{Expr, ExprKind, Local, LocalId, Pattern, TypeTree};

use crate::expand::own;

/// Where a name was written, as far as names are told apart by it: in the source, or by which expansion of which macro.
///
/// `macro_rules!` keeps the names of a macro apart from equal names of who calls it. The compiler tells procedural
/// macros of this by the text of a span alone, `#4 bytes(..)`; outside of it there is one origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Origin(u32);

impl Origin {
    fn of(span: Span) -> Origin {
        let text = format!("{span:?}");
        let number = text.strip_prefix('#').and_then(|rest| rest.split(' ').next()?.parse().ok());
        Origin(number.unwrap_or(0))
    }
}

/// Whether two names are one: equal, and of one origin.
pub fn is_same(a: &Ident, b: &Ident) -> bool {
    a.unraw() == b.unraw() && Origin::of(a.span()) == Origin::of(b.span())
}

/// A path that a body names, such as `self.alpha` or `m::f`.
#[derive(Clone, Debug)]
pub struct Named {
    /// Its text, for people.
    pub text: String,
    /// As first written.
    pub path: TokenStream,
    /// Its text with the origin of each name: what tells it from others.
    key: String,
}

impl Named {
    /// The number of `path` in `table`, put there if it is new.
    pub fn number_in(table: &mut Vec<Named>, path: TokenStream) -> usize {
        let mut key = String::new();
        write_key(path.clone(), &mut key);
        table.iter().position(|known| known.key == key).unwrap_or_else(|| {
            table.push(Named { text: super::text_of(&path), path, key });
            table.len() - 1
        })
    }
}

fn write_key(tokens: TokenStream, key: &mut String) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => write_key(group.stream(), key),
            TokenTree::Ident(name) => *key += &format!("{}#{} ", name.unraw(), Origin::of(name.span()).0),
            other => *key += &format!("{other} "),
        }
    }
}

/// The name of `self` in the native form of a method.
pub fn receiver() -> Ident {
    Ident::new("__tida_self", own())
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub enum Name {
    /// An array argument.
    Arg(u32),
    /// The cell.
    At,
    /// The group of a `group_kernel!`.
    Group,
    /// A local of which each thread of a group has its own.
    Private {
        /// Its number.
        id: LocalId,
    },
    /// A local variable.
    Local {
        /// Its number.
        id: LocalId,
        /// Whether it holds a point.
        point: bool,
    },
}

/// The names in scope, innermost last, and every local there has been.
#[derive(Debug, Default)]
pub struct Scope {
    names: Vec<(Ident, Origin, Name)>,
    /// Locals, by number.
    pub locals: Vec<Local>,
    /// What they are called in the native form.
    pub idents: Vec<Ident>,
    /// Locals that are numbers for sure, or made of numbers.
    numbers: BTreeSet<LocalId>,
    /// How many entries locals have that are arrays for sure.
    lengths: BTreeMap<LocalId, usize>,
    /// Locals that start with what is read of an array, or made of it.
    read: BTreeSet<LocalId>,
}

impl Scope {
    /// Where the scope stands, for [`Scope::leave`].
    pub fn enter(&self) -> usize {
        self.names.len()
    }

    /// Forgets the names declared since `mark`.
    pub fn leave(&mut self, mark: usize) {
        self.names.truncate(mark);
    }

    fn push(&mut self, name: &Ident, what: Name) {
        self.names.push((name.clone(), Origin::of(name.span()), what));
    }

    /// Takes down that a local is a number, or made of numbers.
    pub fn set_number(&mut self, id: LocalId) {
        self.numbers.insert(id);
    }

    /// Takes down how many entries a local has, if its type or its first value says so.
    pub fn set_length(&mut self, id: LocalId, ty: Option<&TypeTree>, init: Option<&Expr>) {
        let of_type = match ty {
            Some(TypeTree::Array(_, len)) => Some(*len),
            _ => None,
        };
        let of_value = init.and_then(|init| match &init.kind {
            ExprKind::Array(entries) => Some(entries.len()),
            ExprKind::Repeat(_, len) => Some(*len),
            ExprKind::Local(other) => self.length(*other),
            _ => None,
        });
        if let Some(len) = of_type.or(of_value) {
            self.lengths.insert(id, len);
        }
    }

    /// How many entries a local has, if that is known.
    pub fn length(&self, id: LocalId) -> Option<usize> {
        self.lengths.get(&id).copied()
    }

    /// Takes down that all locals of a pattern are numbers.
    pub fn set_numbers(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Local(id) => self.set_number(*id),
            Pattern::Ignore => {}
            Pattern::Tuple(parts) | Pattern::Array(parts) => parts.iter().for_each(|part| self.set_numbers(part)),
            Pattern::Struct(_, fields) => fields.iter().for_each(|(_, part)| self.set_numbers(part)),
        }
    }

    /// Whether a local is known to be a number, or made of numbers.
    pub fn is_number(&self, id: LocalId) -> bool {
        self.numbers.contains(&id)
    }

    /// Takes down that the locals of a pattern start with this value.
    pub fn set_read(&mut self, pattern: &Pattern, init: &Expr) {
        if self.is_read(init) {
            let mut locals = Vec::new();
            bound(pattern, &mut locals);
            self.read.extend(locals);
        }
    }

    /// Whether a value is read of an array, or made of what is.
    pub fn is_read(&self, value: &Expr) -> bool {
        let mut is_read = false;
        let mut look = |expr: &Expr| match &expr.kind {
            ExprKind::Load { .. } => is_read = true,
            ExprKind::Local(local) => is_read |= self.read.contains(local),
            _ => {}
        };
        Walk { expr: &mut look, stmt: &mut |_| true }.expr(value);
        is_read
    }

    /// Declares an array argument.
    pub fn declare_arg(&mut self, name: &Ident, arg: u32) {
        self.push(name, Name::Arg(arg));
    }

    /// Declares the cell.
    pub fn declare_at(&mut self, name: &Ident) {
        self.push(name, Name::At);
    }

    /// Declares the group.
    pub fn declare_group(&mut self, name: &Ident) {
        self.push(name, Name::Group);
    }

    /// Declares a local of which each thread of a group has its own.
    pub fn declare_private(&mut self, name: &Ident) -> LocalId {
        let id = self.anonymous(name.unraw().to_string(), true, name.span());
        self.push(name, Name::Private { id });
        id
    }

    /// Declares a local variable.
    pub fn declare(&mut self, name: &Ident, mutable: bool, point: bool) -> LocalId {
        let id = self.anonymous(name.unraw().to_string(), mutable, name.span());
        if let Some(ident) = self.idents.last_mut() {
            *ident = name.clone();
        }
        self.push(name, Name::Local { id, point });
        id
    }

    /// Declares the receiver of a method, which the native form calls [`receiver`].
    pub fn declare_self(&mut self, token: &syn::Token![self], mutable: bool) -> LocalId {
        let id = self.anonymous("self".to_owned(), mutable, token.span);
        if let Some(ident) = self.idents.last_mut() {
            *ident = receiver();
        }
        self.names.push((
            Ident::new("self", receiver().span()),
            Origin::of(token.span),
            Name::Local { id, point: false },
        ));
        id
    }

    /// Makes a local variable that no name finds.
    pub fn anonymous(&mut self, name: String, mutable: bool, span: proc_macro2::Span) -> LocalId {
        let id = self.locals.len() as LocalId;
        self.idents.push(Ident::new("_", span));
        self.locals.push(Local { name, mutable, span: super::place_of(span) });
        id
    }

    /// What `name` stands for, and the identifier to write in the native form: shown where `name` is, found as the
    /// declaration is, so that both forms agree whatever macros the tokens came through. An equal name of another
    /// origin is another name; `r#x` is `x`.
    pub fn find(&self, name: &Ident) -> Option<(Name, Ident)> {
        let (origin, plain) = (Origin::of(name.span()), name.unraw());
        let mut known = self.names.iter().rev();
        let (declared, _, what) = known.find(|(declared, from, _)| declared.unraw() == plain && *from == origin)?;
        let mut found = match plain == "self" {
            true => receiver(),
            false => name.clone(),
        };
        found.set_span(name.span().resolved_at(declared.span()));
        Some((what.clone(), found))
    }
}
