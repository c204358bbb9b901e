//! The body of a kernel: one walk that makes its native form and its quotation.

mod chain;
mod each;
mod expr;
mod generic;
mod group;
mod lanes;
mod matching;
mod method;
mod nest;
mod number;
mod reads;
mod scope;
mod stmt;
mod types;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use tida_quote::quote as q;

use crate::expand::{Library, own, own_at};
pub use expr::nothing;
pub use generic::Open;
pub use group::{Groups, len as group_len};
pub use lanes::{Blocks, Loaded, Step, block as block_name, out as out_name};
pub use method::{Called, name_of_method};
use nest::Around;
pub use nest::{Constants, halved, is_blind, is_plain, reads};
use reads::Ways;
pub use reads::is_found_as_it_runs;
pub use scope::{Named, Scope, receiver};
pub use types::is_point;

/// A body being walked: its names, its tables, and the errors found.
#[derive(Debug)]
pub struct Body {
    /// Names and locals.
    pub scope: Scope,
    /// Functions and structs named.
    pub tables: Tables,
    /// Captured paths.
    pub captures: Vec<Named>,
    /// Every error found.
    pub errors: Vec<syn::Error>,
    /// What a `group_kernel!` has beside.
    pub groups: Option<Groups>,
    /// The library.
    pub library: Library,
    /// What a generic function around leaves open.
    pub open: Open,
    /// Reads of arguments in the statement that is walked.
    loads: Vec<Loaded>,
    /// The ways in which arguments are read.
    ways: Ways,
    /// Numbers whose type is inferred, so far.
    numbers: u32,
    /// Names of the macro's own, so far.
    fresh: u32,
    /// Loops around what is walked whose bounds are numbers and constants.
    counted: Vec<each::Counted>,
    /// What the variables of loops around what is walked may be.
    around: Around,
    /// Rust that says of loops which constants bound whether they are short.
    pub short: Vec<TokenStream>,
    /// Labels of the loops around what is walked, innermost last.
    labels: Vec<Option<proc_macro2::Ident>>,
    /// Blocks around what is walked.
    depth: usize,
    /// Whether it has an `if` that [keeps two reads apart](expr::nothing).
    pub keeps_apart: bool,
    /// Whether it has something that is [computed wherever reads are proven](expr::proven).
    asks_if_proven: bool,
    /// Whether free names are captured; a `#[kernel_fn]` has none.
    captures_allowed: bool,
    /// Whether it is of a method, where `Self` is a struct.
    of_method: bool,
}

/// Paths that a body names.
#[derive(Debug, Default)]
pub struct Tables {
    /// `#[kernel_fn]` functions called.
    pub functions: Vec<Named>,
    /// Structs named.
    pub structs: Vec<Named>,
    /// Calls of methods.
    pub methods: Vec<Called>,
}

/// Both forms of an expression.
#[derive(Debug)]
pub struct Both {
    /// Rust.
    pub native: TokenStream,
    /// Data.
    pub quoted: q::Expr,
    /// Whether it is a point.
    pub point: bool,
}

/// Both forms of a block; the native one has its braces.
#[derive(Debug)]
pub struct BothBlock {
    /// Rust.
    pub native: TokenStream,
    /// Data.
    pub quoted: q::Block,
    /// Whether its value is a point.
    pub point: bool,
    /// Its statements one by one, as the quotation has them.
    pub steps: Vec<Step>,
    /// Its value, if it has one.
    pub value: Option<Step>,
}

impl BothBlock {
    /// Takes what stands at the end of a loop's body, such as an `if` without `;`, for a statement.
    fn end_as_statement(&mut self) {
        if let (Some(step), Some(value)) = (self.value.take(), self.quoted.value.take()) {
            let native = step.native;
            self.steps.push(Step { native: quote!(#native;), ..step });
            self.quoted.stmts.push(q::Stmt { span: value.span, kind: q::StmtKind::Expr(*value) });
        }
    }
}

impl Body {
    /// A body of a closure: free names are captured.
    pub fn of_kernel(library: Library) -> Body {
        Body {
            library,
            open: Open::default(),
            loads: Vec::new(),
            ways: Ways::default(),
            numbers: 0,
            fresh: 0,
            counted: Vec::new(),
            around: Around::new(),
            short: Vec::new(),
            labels: Vec::new(),
            scope: Scope::default(),
            tables: Tables::default(),
            captures: Vec::new(),
            errors: Vec::new(),
            groups: None,
            depth: 0,
            keeps_apart: false,
            asks_if_proven: false,
            captures_allowed: true,
            of_method: false,
        }
    }

    /// A body of a function: it sees its parameters alone.
    pub fn of_function(library: Library) -> Body {
        Body { captures_allowed: false, ..Body::of_kernel(library) }
    }

    /// A number for names of the macro's own.
    fn fresh(&mut self) -> u32 {
        self.fresh += 1;
        self.fresh
    }

    /// A body of a method of a struct.
    pub fn of_method(library: Library) -> Body {
        Body { of_method: true, ..Body::of_function(library) }
    }

    /// Whether it is of a method, where `self` and `Self` may be.
    pub fn is_of_method(&self) -> bool {
        self.of_method
    }

    /// The path of a scalar operation, shown at `place`.
    fn op(&self, name: &str, place: Span) -> TokenStream {
        self.library.op(name, place)
    }

    /// The path of what the library has for the macros, shown at `place`.
    fn private(&self, name: &str, place: Span) -> TokenStream {
        self.library.private(name, place)
    }

    /// Rust for cells, with names for the ways in which arguments are read.
    pub fn with_ways(&self, cells: TokenStream) -> TokenStream {
        match self.ways.native() {
            none if none.is_empty() => cells,
            ways => quote_spanned!(own()=> { #ways #cells }),
        }
    }

    /// Rust that says whether all reads were proven, for a body that asks.
    pub fn says_proven(&self, is_proven: bool) -> TokenStream {
        let (name, truth) = (expr::proven(), self.library.scalar("bool", own()));
        let says = self.asks_if_proven.then(|| quote_spanned!(own()=> const #name: #truth = #is_proven;));
        says.unwrap_or_default()
    }

    /// Keeps an error.
    pub fn error(&mut self, at: &impl ToTokens, message: impl std::fmt::Display) {
        self.errors.push(syn::Error::new_spanned(at, message));
    }

    /// Keeps an error and gives something to go on with.
    pub fn hole(&mut self, at: &impl ToTokens, message: impl std::fmt::Display) -> Both {
        self.error(at, message);
        unit(at.span())
    }

    /// The quoted code with its tables.
    pub fn code(&mut self, body: q::Block) -> q::Code {
        let text = |table: &[Named]| table.iter().map(|named| named.text.clone()).collect();
        q::Code {
            locals: std::mem::take(&mut self.scope.locals),
            functions: text(&self.tables.functions),
            structs: text(&self.tables.structs),
            constants: text(&self.open.constants),
            methods: self.tables.methods.iter().map(|called| called.name.clone()).collect(),
            numbers: self.numbers,
            body,
        }
    }

    /// The body of a closure, a block or a bare expression.
    pub fn closure_body(&mut self, body: &syn::Expr) -> BothBlock {
        self.refuse_attributes(|finder| syn::visit::visit_expr(finder, body));
        match body {
            syn::Expr::Block(block) if block.label.is_none() => self.block(&block.block),
            expr => {
                let brace = syn::token::Brace(expr.span());
                self.block(&syn::Block { brace_token: brace, stmts: vec![syn::Stmt::Expr(expr.clone(), None)] })
            }
        }
    }

    /// Attributes could say `cfg`, which the quotation would not see.
    pub fn refuse_attributes(&mut self, visit: impl FnOnce(&mut AttributeFinder)) {
        let mut finder = AttributeFinder(Vec::new());
        visit(&mut finder);
        self.errors.extend(finder.0);
    }
}

/// Finds attributes inside a body.
#[derive(Debug)]
pub struct AttributeFinder(Vec<syn::Error>);

impl syn::visit::Visit<'_> for AttributeFinder {
    fn visit_attribute(&mut self, attribute: &syn::Attribute) {
        self.0.push(syn::Error::new_spanned(
            attribute,
            "attributes are not supported inside a kernel: put the attribute on the statement that holds the kernel",
        ));
    }
}

/// A span as the quotation has it.
pub fn place_of(span: Span) -> q::Span {
    let start = span.start();
    q::Span { line: start.line as u32, column: start.column as u32 + 1 }
}

/// Source text, without most of the spaces that tokens get, and without the `r#` of raw names.
pub fn text_of(tokens: &impl ToTokens) -> String {
    let text = tokens.to_token_stream().to_string();
    let text = text.replace(" :: ", "::").replace(":: ", "::").replace(" . ", ".").replace("r#", "");
    let mut tidy = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let before = tidy.chars().next_back();
        let of_a_value = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ')' | ']'));
        let needless = match rest.peek() {
            Some('[' | '(') => of_a_value,
            Some(',' | ';' | ')' | ']') => true,
            _ => matches!(before, Some('(' | '[')),
        };
        if c != ' ' || !needless {
            tidy.push(c);
        }
    }
    tidy
}

/// An expression without the parentheses around it.
fn bare(expr: &syn::Expr) -> &syn::Expr {
    match expr {
        syn::Expr::Paren(syn::ExprParen { expr, .. }) | syn::Expr::Group(syn::ExprGroup { expr, .. }) => bare(expr),
        other => other,
    }
}

/// `()`.
fn unit(span: Span) -> Both {
    let native = quote_spanned!(own_at(span)=> ());
    Both { native, quoted: expr_at(span, q::ExprKind::Tuple(Vec::new())), point: false }
}

/// A quoted expression.
fn expr_at(span: Span, kind: q::ExprKind) -> q::Expr {
    q::Expr { span: place_of(span), kind }
}

/// Tokens in braces, shown at `span`.
fn braces(span: Span, tokens: TokenStream) -> TokenStream {
    let mut group = proc_macro2::Group::new(proc_macro2::Delimiter::Brace, tokens);
    group.set_span(own_at(span));
    quote!(#group)
}
