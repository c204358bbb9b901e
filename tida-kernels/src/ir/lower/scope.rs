//! What a body can name, and the errors that point into its source.

use crate::element::{ElementType, ScalarType};
use crate::error::KernelError;
use crate::ir::{Arg, Capture, Span, Type};
use crate::quote::{Constant, TypeTree};

/// A called function as its callers see it.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub name: String,
    /// Its number in `Kernel::functions`.
    pub number: u32,
    pub params: Vec<Type>,
    pub result: Type,
    /// What a call keeps of values for the cell that runs.
    pub bytes: u64,
}

/// What a body can name.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    pub file: &'a str,
    /// Number of axes of `at`; `None` in a function.
    pub rank: Option<usize>,
    pub args: &'a [Arg],
    pub captures: &'a [Capture],
    /// In the order of `Code::functions`.
    pub functions: Vec<Signature>,
    /// In the order of `Code::structs`.
    pub structs: &'static [ElementType],
    /// In the order of the table passed with the tree.
    pub constants: &'a [Constant],
}

pub(super) fn error(
    file: &str,
    span: Span,
    tried: impl Into<String>,
    found: impl Into<String>,
    advice: impl Into<String>,
) -> KernelError {
    KernelError { file: file.to_owned(), span, tried: tried.into(), found: found.into(), advice: advice.into() }
}

impl Scope<'_> {
    pub fn error(
        &self,
        span: Span,
        tried: impl Into<String>,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> KernelError {
        error(self.file, span, tried, found, advice)
    }

    /// A quotation that no macro of this version makes.
    pub fn damaged(&self, span: Span, what: impl Into<String>) -> KernelError {
        self.error(
            span,
            "read the kernel's quotation",
            what,
            "build again from clean; if it stays, report it as a bug of tida",
        )
    }

    pub fn arg(&self, span: Span, number: u32) -> Result<&Arg, KernelError> {
        self.args
            .get(number as usize)
            .ok_or_else(|| self.damaged(span, format!("array argument {number} where there are {}", self.args.len())))
    }

    pub fn capture(&self, span: Span, number: u32) -> Result<&Capture, KernelError> {
        self.captures.get(number as usize).ok_or_else(|| {
            self.damaged(span, format!("captured value {number} where there are {}", self.captures.len()))
        })
    }

    pub fn function(&self, span: Span, number: u32) -> Result<&Signature, KernelError> {
        self.functions
            .get(number as usize)
            .ok_or_else(|| self.damaged(span, format!("function {number} where there are {}", self.functions.len())))
    }

    pub fn structure(&self, span: Span, number: u32) -> Result<&'static ElementType, KernelError> {
        let structs: &'static [ElementType] = self.structs;
        structs
            .get(number as usize)
            .ok_or_else(|| self.damaged(span, format!("struct {number} where there are {}", structs.len())))
    }

    pub fn constant(&self, span: Span, number: u32) -> Result<&Constant, KernelError> {
        let damaged = |what: String| self.damaged(span, what);
        let found = self.constants.get(number as usize);
        let constant =
            found.ok_or_else(|| damaged(format!("constant {number} where there are {}", self.constants.len())))?;
        if constant.bits.len() != constant.ty.components() {
            return Err(damaged(format!("a constant of type {} with {} values", constant.ty, constant.bits.len())));
        }
        Ok(constant)
    }

    /// A part that a value does not have.
    pub fn bad_part(&self, span: Span, part: &str, of: &dyn std::fmt::Display) -> KernelError {
        self.error(
            span,
            format!("take `{part}`"),
            format!("a value of type {of}, which has no such part"),
            "name a part that it has",
        )
    }
}

/// The type a tree writes, where no part is left to be inferred.
pub(super) fn written_type(scope: &Scope<'_>, span: Span, tree: &TypeTree) -> Result<Type, KernelError> {
    Ok(match tree {
        TypeTree::Scalar(s) => Type::Scalar(*s),
        TypeTree::Array(t, n) => Type::Array(written_type(scope, span, t)?.into(), *n),
        TypeTree::Tuple(ts) => {
            Type::Tuple(ts.iter().map(|t| written_type(scope, span, t)).collect::<Result<Vec<_>, _>>()?.into())
        }
        TypeTree::Struct(n) => Type::of_element(scope.structure(span, *n)?),
        TypeTree::ArrayOf(..) => return Err(scope.damaged(span, "a length that is not known")),
        TypeTree::Infer => {
            return Err(scope.error(
                span,
                "type a function",
                "`_` in its signature",
                "write the type of each parameter and of the result",
            ));
        }
    })
}

/// Whether a cast from one scalar type to another exists in Rust.
pub(super) fn castable(from: ScalarType, to: ScalarType) -> bool {
    from == to || to != ScalarType::Bool && !(from == ScalarType::Bool && to.is_float())
}
