//! The functions a kernel calls: each typed once, callees first.

use std::collections::HashMap;

use super::Lowering;
use super::infer::infer;
use super::scope::{Scope, Signature, error, written_type};
use crate::error::KernelError;
use crate::ir::{Function, Span, Type};
use crate::quote::{Constant, FunctionTree, StaticFunction};

/// How deep calls may nest.
const MAX_CALLS: usize = 32;

/// The functions typed so far.
#[derive(Debug, Default)]
pub(super) struct Functions {
    pub done: Vec<Function>,
    signatures: HashMap<*const StaticFunction, Signature>,
    /// Being typed, outermost first, with their names.
    open: Vec<(*const StaticFunction, String)>,
}

impl Functions {
    /// Types the functions and what they call.
    pub fn lower_all(
        &mut self,
        file: &str,
        span: Span,
        functions: &[&'static StaticFunction],
    ) -> Result<Vec<Signature>, KernelError> {
        functions.iter().map(|f| self.lower(file, span, f)).collect()
    }

    /// `file` and `span` say who calls.
    fn lower(&mut self, file: &str, span: Span, function: &'static StaticFunction) -> Result<Signature, KernelError> {
        let key = std::ptr::from_ref(function);
        if let Some(known) = self.signatures.get(&key) {
            return Ok(known.clone());
        }
        if let Some(start) = self.open.iter().position(|(open, _)| *open == key) {
            let mut names: Vec<&str> = self.open[start..].iter().map(|(_, name)| name.as_str()).collect();
            names.extend(names.first().copied());
            let cycle = names.join(" -> ");
            return Err(error(
                file,
                span,
                "type the functions of a kernel",
                format!("that they call each other in a circle: {cycle}"),
                "write the recursion as a loop",
            ));
        }
        if self.open.len() >= MAX_CALLS {
            return Err(error(
                file,
                span,
                "type the functions of a kernel",
                format!("calls nested more than {MAX_CALLS} deep"),
                "call fewer functions from functions",
            ));
        }
        let file = function.file;
        let Some(mut tree) = FunctionTree::decode(function.tree) else {
            return Err(super::unreadable(file, span));
        };
        let constants = super::constant::values(function.constants);
        super::constant::resolve_function(file, &mut tree, &constants, function.functions.len())?;
        self.open.push((key, tree.name.clone()));
        let span = first_span(&tree);
        let mut callees = self.lower_all(file, span, function.functions)?;
        callees.extend(self.lower_all(file, span, &(function.methods)())?);
        self.open.pop();
        let (done, bytes) = lower_function(function, &tree, callees, &constants)?;
        let signature = Signature {
            name: tree.name,
            bytes,
            number: self.done.len() as u32,
            params: done.params.iter().filter_map(|p| Some(done.body.locals.get(*p as usize)?.ty.clone())).collect(),
            result: done.result.clone(),
        };
        self.done.push(done);
        self.signatures.insert(key, signature.clone());
        Ok(signature)
    }
}

/// Some place in the function.
fn first_span(tree: &FunctionTree) -> Span {
    let local = tree.code.locals.first().map(|l| l.span);
    let stmt = tree.code.body.stmts.first().map(|s| s.span);
    let value = tree.code.body.value.as_ref().map(|v| v.span);
    local.or(stmt).or(value).unwrap_or_default()
}

fn lower_function(
    function: &'static StaticFunction,
    tree: &FunctionTree,
    functions: Vec<Signature>,
    constants: &[Constant],
) -> Result<(Function, u64), KernelError> {
    let span = first_span(tree);
    let scope = Scope {
        file: function.file,
        rank: None,
        args: &[],
        captures: &[],
        functions,
        structs: function.structs,
        constants,
    };
    let mut params = Vec::with_capacity(tree.params.len());
    for (n, (local, ty)) in tree.params.iter().enumerate() {
        if tree.params[..n].iter().any(|(other, _)| other == local) {
            return Err(scope.damaged(span, "one local variable for two parameters"));
        }
        params.push((*local, written_type(&scope, span, ty)?));
    }
    let result = match &tree.result {
        Some(ty) => written_type(&scope, span, ty)?,
        None => Type::unit(),
    };
    let typed = infer(&scope, &tree.code, &params, Some(&result), span)?;
    let native = (function.numbers)();
    if let Some((rust, here)) = native.iter().zip(&typed.numbers).find(|(rust, here)| rust != here) {
        return Err(scope.error(
            span,
            format!("type the function `{}`", tree.name),
            format!("a number in it that Rust takes for {} and the analysis for {}", rust.name(), here.name()),
            "write the types of its numbers, such as `5i64`",
        ));
    }
    if native.len() != typed.numbers.len() {
        return Err(scope.damaged(span, format!("{} numbers for {}", typed.numbers.len(), native.len())));
    }
    let body = Lowering::body(&scope, &typed, &tree.code)?;
    let function = Function {
        name: tree.name.clone(),
        file: function.file.to_owned(),
        params: params.into_iter().map(|(local, _)| local).collect(),
        result,
        body,
    };
    Ok((function, typed.bytes))
}
