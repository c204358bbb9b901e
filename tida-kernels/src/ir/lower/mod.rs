//! Typing: from a quotation to the typed form.

//!
//! Three steps: [`infer`] finds the types, [`functions`] does so for the functions called, and the rest writes the
//! typed form with a [`builder`], keeping Rust's order of evaluation.

mod builder;
pub(super) mod compact;
mod complex;
mod constant;
mod each;
mod expr;
mod functions;
mod group;
mod infer;
mod leave;
mod place;
mod scope;
mod stmt;
mod types;

#[cfg(test)]
mod tests;

use self::builder::Builder;
use self::functions::Functions;
use self::infer::Typed;
use self::scope::{Scope, error};
use super::tables::put_in;
use super::{Access, Arg, Body, Capture, Kernel, Local, Span, Type};
use crate::element::ElementType;
use crate::error::KernelError;
use crate::quote::{Code, KernelTree, StaticFunction, StaticKernel};

/// What an argument is bound to at a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Binding {
    /// How it may be used.
    pub access: Access,
    /// What its cells hold.
    pub element: ElementType,
    /// Number of axes; 1 for a table.
    pub rank: usize,
}

/// What a kernel is typed for.
#[derive(Clone, Debug)]
pub struct LowerInput<'a> {
    /// The quotation.
    pub kernel: &'static StaticKernel,
    /// Quotations of the methods called, in the order of `Code::methods`.
    pub methods: &'a [&'static StaticFunction],
    /// Number of axes of `at`.
    pub rank: usize,
    /// The arguments, in order.
    pub args: &'a [Binding],
    /// Types of the captures, in order.
    pub captures: &'a [Type],
    /// Result type the caller expects; `None` takes what the body gives.
    pub result: Option<Type>,
}

/// Types a quotation.
///
/// # Errors
/// A construct the quotation's types do not allow, with its place in the user's source. rustc has checked the native
/// form of the same body, so this happens only for what rustc cannot see, such as a write to an `all(..)` argument.
pub fn lower(input: &LowerInput<'_>) -> Result<Kernel, KernelError> {
    lower_for(input, None)
}

/// Types the quotation of a `group_kernel!`, for groups of so many cells along each axis.
///
/// # Errors
/// As [`lower()`], and arrays of a group that cannot be.
pub fn lower_group(input: &LowerInput<'_>, extent: &[u32]) -> Result<Kernel, KernelError> {
    lower_for(input, Some(extent))
}

fn lower_for(input: &LowerInput<'_>, extent: Option<&[u32]>) -> Result<Kernel, KernelError> {
    let StaticKernel { file, line, tree, functions, structs, constants, few } = input.kernel;
    let span = Span { line: *line, column: 1 };
    let Some(mut tree) = KernelTree::decode(tree) else {
        return Err(unreadable(file, span));
    };
    let constants = constant::values(constants);
    let (numbers, tables) = constant::tables(&tree.code, tree.captures.len(), &constants);
    constant::resolve(file, &mut tree.code, &constants, &numbers, functions.len())?;
    let counted = |what: &str, named: usize, given: usize| match named == given {
        true => Ok(()),
        false => Err(error(
            file,
            span,
            format!("bind the {what} of a kernel"),
            format!("{given} where the kernel names {named}"),
            "pass as many as the kernel names, in the same order",
        )),
    };
    counted("arguments", tree.args.len(), input.args.len())?;
    counted("captured values", tree.captures.len(), input.captures.len())?;
    let mut args: Vec<Arg> = (tree.args.iter().zip(input.args))
        .map(|(name, bound)| Arg {
            name: name.clone(),
            access: bound.access,
            element: bound.element,
            rank: if bound.access == Access::Table { 1 } else { bound.rank },
        })
        .collect();
    let group = group::group(file, span, &tree, extent, structs, &args)?;
    args.extend(group.iter().flat_map(|(_, arrays)| arrays.iter().cloned()));
    let mut captures: Vec<Capture> =
        (tree.captures.iter().zip(input.captures)).map(|(name, ty)| Capture::of_launch(name, ty.clone())).collect();
    captures.extend(tables);
    let mut called = Functions::default();
    let mut functions = called.lower_all(file, span, functions)?;
    functions.extend(called.lower_all(file, span, input.methods)?);
    let scope = Scope {
        file,
        rank: Some(input.rank),
        args: &args,
        captures: &captures,
        functions,
        structs,
        constants: &constants,
    };
    let known = group.as_ref().and_then(|(group, _)| group.len).map(|len| (len, group::point(input.rank)));
    let typed = infer::infer(&scope, &tree.code, known.as_slice(), input.result.as_ref(), span)?;
    let body = Lowering::body(&scope, &typed, &tree.code)?;
    let mut made = Kernel {
        file: (*file).to_owned(),
        line: *line,
        rank: input.rank,
        numbers: typed.numbers,
        result: typed.result,
        body,
        functions: called.done,
        group: group.map(|(group, _)| group),
        native: if *few { tree.native_if_few } else { tree.native },
        args,
        captures,
    };
    put_in(&mut made);
    Ok(made)
}

fn unreadable(file: &str, span: Span) -> KernelError {
    error(
        file,
        span,
        "read a quotation",
        "bytes that are none, or expressions nested too deep",
        "build macros and library from one version of tida, and split deep expressions with `let`",
    )
}

/// Writes the typed form of one body.
struct Lowering<'a> {
    scope: &'a Scope<'a>,
    typed: &'a Typed,
    build: Builder,
    /// Loops around what is written, the innermost last.
    loops: Vec<leave::Around>,
}

impl<'a> Lowering<'a> {
    fn body(scope: &'a Scope<'a>, typed: &'a Typed, code: &'a Code) -> Result<Body, KernelError> {
        let locals = (code.locals.iter().zip(&typed.locals))
            .map(|(local, ty)| Local { name: local.name.clone(), ty: ty.clone() })
            .collect();
        let mut this =
            Lowering { scope, typed, build: Builder::new(locals, typed.assigned.clone()), loops: Vec::new() };
        this.whole_body(&code.body)?;
        Ok(this.build.finish())
    }
}
