//! Names: what an identifier in a body stands for.

use proc_macro2::Ident;
use tida_kernels::quote::{Local, LocalId};

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
    names: Vec<(Ident, Name)>,
    /// Locals, by number.
    pub locals: Vec<Local>,
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

    /// Declares an array argument.
    pub fn declare_arg(&mut self, name: &Ident, arg: u32) {
        self.names.push((name.clone(), Name::Arg(arg)));
    }

    /// Declares the cell.
    pub fn declare_at(&mut self, name: &Ident) {
        self.names.push((name.clone(), Name::At));
    }

    /// Declares the group.
    pub fn declare_group(&mut self, name: &Ident) {
        self.names.push((name.clone(), Name::Group));
    }

    /// Declares a local of which each thread of a group has its own.
    pub fn declare_private(&mut self, name: &Ident) -> LocalId {
        let id = self.anonymous(name.to_string(), true, name.span());
        self.names.push((name.clone(), Name::Private { id }));
        id
    }

    /// Declares a local variable.
    pub fn declare(&mut self, name: &Ident, mutable: bool, point: bool) -> LocalId {
        let id = self.anonymous(name.to_string(), mutable, name.span());
        self.names.push((name.clone(), Name::Local { id, point }));
        id
    }

    /// Makes a local variable that no name finds.
    pub fn anonymous(&mut self, name: String, mutable: bool, span: proc_macro2::Span) -> LocalId {
        let id = self.locals.len() as LocalId;
        self.locals.push(Local { name, mutable, span: super::place_of(span) });
        id
    }

    /// What `name` stands for, and the identifier to write in the native form: shown where `name` is, found as the
    /// declaration is, so that both forms agree whatever macros the tokens came through.
    pub fn find(&self, name: &Ident) -> Option<(Name, Ident)> {
        let (declared, what) = self.names.iter().rev().find(|(declared, _)| declared == name)?;
        let mut found = name.clone();
        found.set_span(name.span().resolved_at(declared.span()));
        Some((what.clone(), found))
    }
}
