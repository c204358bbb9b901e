//! What a kernel over groups of cells has beside its body: the arrays that the threads of a group share.

use std::sync::Arc;

use super::scope::{Scope, error};
use crate::element::{ElementType, ScalarType};
use crate::error::KernelError;
use crate::ir::{Access, Arg, Group, GroupArray, Span, Type};
use crate::quote::{self, GroupArrayKind, KernelTree, NumberType};

/// Most threads of a group.
const THREADS: u64 = 1024;
/// Most slots of an array of a group.
const SLOTS: u64 = 1 << 24;
/// Most bytes of all of them. No device has a hundredth of it; the host keeps them for each thread.
const BYTES: u64 = 16 << 20;

/// A point of so many axes.
pub(super) fn point(rank: usize) -> Type {
    Type::Array(Arc::new(Type::Scalar(ScalarType::I64)), rank)
}

/// The group, and its arrays as arguments that follow `args`; nothing for a kernel over cells.
pub(super) fn group(
    file: &str,
    span: Span,
    tree: &KernelTree,
    extent: Option<&[u32]>,
    structs: &[ElementType],
    args: &[Arg],
) -> Result<Option<(Group, Vec<Arg>)>, KernelError> {
    let (group, extent) = match (&tree.group, extent) {
        (None, None) => return Ok(None),
        (Some(group), Some(extent)) => (group, extent),
        (of_group, _) => {
            let (found, advice) = match of_group {
                Some(_) => ("a `group_kernel!` where cells run one by one", "pass it to `compute_groups`"),
                None => ("a `kernel!` where groups of cells run", "write it with `group_kernel!`"),
            };
            return Err(error(file, span, "type a kernel", found, advice));
        }
    };
    let threads = extent.iter().fold(1, |n: u64, axis| n.saturating_mul(u64::from(*axis)));
    if threads == 0 || threads > THREADS || extent.len() > 3 {
        return Err(error(
            file,
            span,
            format!("run a kernel over groups of {extent:?} cells"),
            format!("{threads} threads on {} axes", extent.len()),
            format!("have 1 to {THREADS} cells in a group, on at most 3 axes"),
        ));
    }
    let arrays = group.arrays.iter().map(|array| made(file, array, extent, structs, args));
    let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
    let bytes = |array: &GroupArray| array.slots() * array.ty.size() as u64;
    let all: u64 = arrays.iter().map(bytes).sum();
    if all > BYTES {
        let largest = arrays.iter().zip(&group.arrays).max_by_key(|(array, _)| bytes(array));
        let (at, name) = largest.map_or((span, ""), |(array, named)| (array.span, named.name.as_str()));
        return Err(error(
            file,
            at,
            "share arrays in a group",
            format!("{all} bytes of them, most in `{name}`; there is room for {BYTES}"),
            "share fewer slots, and fetch what is needed from arrays of the kernel",
        ));
    }
    let as_args = group.arrays.iter().zip(&arrays).map(|(named, array)| Arg {
        name: named.name.clone(),
        access: Access::Shared,
        element: ElementType::Scalar(array.ty),
        rank: array.shape.len(),
    });
    let as_args = as_args.collect();
    let (privates, len) = (group.privates.clone(), group.len);
    Ok(Some((Group { extent: extent.to_vec(), arrays, privates, len }, as_args)))
}

/// What a slot of this type holds: a type parameter may be no scalar.
fn slot(ty: NumberType, structs: &[ElementType]) -> Result<ScalarType, String> {
    match ty {
        NumberType::Written(ty) => Ok(ty),
        NumberType::Of(number) => match structs.get(number as usize) {
            Some(ElementType::Scalar(ty)) => Ok(*ty),
            Some(of) => Err(format!("slots of {of}")),
            None => Err(format!("type {number} where there are {}", structs.len())),
        },
        NumberType::Inferred(_) => Err("slots of a type that nothing says".to_owned()),
    }
}

fn made(
    file: &str,
    array: &quote::GroupArray,
    extent: &[u32],
    structs: &[ElementType],
    args: &[Arg],
) -> Result<GroupArray, KernelError> {
    let refuse = |found: String, advice: &str| {
        Err(error(file, array.span, format!("share `{}` in a group", array.name), found, advice))
    };
    let refuse_slot = |found| {
        let advice = "share numbers, in `group.channel::<f64>(..)` or `group.shared::<f64>(..)`";
        Err(error(file, array.span, format!("share `{}` in a group", array.name), found, advice))
    };
    let rank = extent.len();
    let (lo, shape) = Default::default();
    let mut made = GroupArray { span: array.span, ty: ScalarType::U8, lo, shape, fetch: None, codec: None };
    let (before, after) = match &array.kind {
        GroupArrayKind::Fetch { arg, before, after } => {
            let Some(of) = args.get(*arg as usize) else {
                return refuse(format!("no argument {arg} to fetch"), "build again from clean");
            };
            let name = &of.name;
            if !matches!(of.access, Access::Read | Access::Write) {
                let advice = "fetch from an array with the tile's cuts, `&u`; read whole arrays and tables themselves";
                return refuse(format!("that `{name}` is a whole array or a table"), advice);
            }
            let ElementType::Scalar(ty) = of.element else {
                let advice = "fetch from an array of numbers; keep parts of structs in arrays of their own";
                return refuse(format!("that `{name}` holds {}", of.element), advice);
            };
            (made.ty, made.fetch) = (ty, Some(*arg));
            (before, after)
        }
        GroupArrayKind::Channel { ty, before, after } => {
            made.ty = slot(*ty, structs).or_else(refuse_slot)?;
            (before, after)
        }
        GroupArrayKind::Shared { ty, shape } => {
            made.ty = slot(*ty, structs).or_else(refuse_slot)?;
            (made.lo, made.shape) = (vec![0; shape.len()], shape.clone());
            let (slots, axes) = (made.slots(), shape.len());
            return match slots {
                1..=SLOTS if (1..=4).contains(&axes) => Ok(made),
                _ => refuse(format!("the shape {shape:?}"), "give 1 to 4 axes and at least one slot on each"),
            };
        }
    };
    if before.len() != rank || after.len() != rank {
        let found = format!("{} axes before and {} after, where a group has {rank}", before.len(), after.len());
        return refuse(found, "give one number for each axis");
    }
    for ((before, after), extent) in before.iter().zip(after).zip(extent) {
        made.lo.push(-i64::from(*before));
        made.shape.push(before.saturating_add(*after).saturating_add(*extent));
    }
    if made.slots() > SLOTS {
        return refuse(format!("the shape {:?}", made.shape), "reach less far around the group");
    }
    Ok(made)
}

/// Threads before the first cell and after the last, along each axis.
pub(super) fn around(
    scope: &Scope<'_>,
    span: Span,
    before: &[u32],
    after: &[u32],
) -> Result<Vec<[u32; 2]>, KernelError> {
    let rank = scope.rank.unwrap_or(0);
    if before.is_empty() && after.is_empty() {
        return Ok(vec![[0, 0]; rank]);
    }
    if before.len() != rank || after.len() != rank || before.iter().chain(after).any(|n| u64::from(*n) > SLOTS) {
        return Err(scope.error(
            span,
            "run a phase around a group",
            format!("{before:?} threads before and {after:?} after, where a group has {rank} axes"),
            "give one small number for each axis",
        ));
    }
    Ok(before.iter().zip(after).map(|(before, after)| [*before, *after]).collect())
}
