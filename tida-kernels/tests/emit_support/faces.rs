//! Kernels that set ghosts beyond a face, and a step that reads them.

use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::ir::{Access, Kernel, Type};
use tida_kernels::quote::build::*;
use tida_kernels::quote::*;

use super::samples::{bind, typed};

/// A kernel that sets the ghosts beyond a face, of the nearest cell inwards or of the nearest two, and computes with
/// its coordinate along the axis across.
pub fn face(rank: usize, (axis, high): (usize, bool), far: bool, element: ElementType) -> Kernel {
    let by = |far: i64, part: usize| {
        let mut by = vec![0; rank];
        by[axis] = if high { -far } else { far };
        load_part(0, at_plus(&by), path(element, part))
    };
    let set = |part: usize| {
        // Each component from another one.
        let place = cast(project(at(), entry(int(axis as u64))), ScalarType::F64);
        let more = if far { mul(by(2, part), place) } else { place };
        store_part(0, at(), path(element, part), None, add(mul(capture(0), by(1, part + 1)), more))
    };
    let (args, captures) = ([("u", bind(Access::Write, element, rank))], [("c", Type::Scalar(ScalarType::F64))]);
    let body = block((0..element.components()).map(set).collect());
    typed("face.rs", rank, &args, &captures, &[], body, vec![], None)
}

/// The component of this number, counted around.
pub fn path(element: ElementType, part: usize) -> Vec<Projection> {
    let components = element.components();
    if components > 1 { vec![entry(int((part % components) as u64))] } else { Vec::new() }
}

/// Each cell of a box of cells.
pub fn each(lo: &[i64], hi: &[i64], mut f: impl FnMut(&[i64])) {
    let mut at = lo.to_vec();
    loop {
        f(&at);
        let Some(axis) = (0..at.len()).rev().find(|axis| at[*axis] + 1 < hi[*axis]) else { return };
        at[axis] += 1;
        at[axis + 1..].copy_from_slice(&lo[axis + 1..]);
    }
}

/// A step that reads all cells around its own.
pub fn around(rank: usize, element: ElementType) -> Kernel {
    let set = |part: usize| {
        let mut sum = load_part(1, at(), path(element, part));
        let mut weight = 1;
        each(&vec![-1; rank], &vec![2; rank], |offset| {
            weight += 1;
            let read = load_part(1, at_plus(offset), path(element, part + weight as usize));
            let one = mul(read, cast(int(weight), ScalarType::F64));
            sum = add(std::mem::replace(&mut sum, int(0)), one);
        });
        store_part(0, at(), path(element, part), None, mul(sum, capture(0)))
    };
    let args = [("next", bind(Access::Write, element, rank)), ("u", bind(Access::Read, element, rank))];
    let body = block((0..element.components()).map(set).collect());
    typed("around.rs", rank, &args, &[("c", Type::Scalar(ScalarType::F64))], &[], body, vec![], None)
}
