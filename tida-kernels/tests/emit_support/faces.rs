//! Kernels that set ghosts beyond a face, and a step that reads them.

use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::interp::{Memory, run_box};
use tida_kernels::ir::{Access, Kernel, Type};
use tida_kernels::plan::fuse::Fused;
use tida_kernels::plan::{Dialect, Goal, Plan};
use tida_kernels::quote::build::*;
use tida_kernels::quote::*;
use tida_kernels::scalar::Value;

use super::compare::same;
use super::host::{Grids, Launch, plan, source};
use super::samples::{bind, typed};
use super::{nvrtc, pocl};

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

/// A step of each cell of a box; of a kernel that computes ghosts each cell is told which of them it reads.
pub fn one_step(
    (kernel, fused): (&Kernel, &Fused),
    values: &[Value],
    (lo, hi): (&[i64], &[i64]),
    grids: &mut Grids,
    label: &str,
) {
    let mut run = |values: &[Value], lo: &[i64], hi: &[i64]| {
        let (_, fault) = run_box(kernel, values, lo, hi, grids, 1_000_000).unwrap();
        assert!(fault.is_none(), "{label}");
    };
    let beyond = fused.beyond(kernel.rank);
    if beyond.is_empty() {
        return run(values, lo, hi);
    }
    let first = values.len() - beyond.len();
    each(lo, hi, |at| {
        let mut values = values.to_vec();
        for (value, (axis, side, by)) in values[first..].iter_mut().zip(&beyond) {
            let is = if *side == 0 { at[*axis] - by < lo[*axis] } else { at[*axis] + by >= hi[*axis] };
            *value = Value::from_bits(ScalarType::Bool, is.into());
        }
        let next: Vec<i64> = at.iter().map(|n| n + 1).collect();
        run(&values, at, &next);
    });
}

/// A step by itself leaves what is expected: in the interpreter, and on a device, marching or not.
pub fn by_itself((kernel, fused): (&Kernel, &Fused), launch: &Launch, expected: &Grids, label: &str) {
    let (lo, hi) = &launch.whole;
    let all_same = |found: &Grids, how: &str| {
        each(lo, hi, |at| {
            for part in 0..found.0[0].element.components() {
                let (a, b) = (expected.load(0, part, at).unwrap(), found.load(0, part, at).unwrap());
                assert!(same(a, b), "{label}, {how}\nat {at:?}, {part}: {b:?}, not {a:?}\n{kernel}");
            }
        });
    };
    let mut found = launch.grids.clone();
    one_step((kernel, fused), &launch.captures, (lo, hi), &mut found, label);
    all_same(&found, "interpreted");
    let plain = plan(kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, false);
    for march in [None, Some(1), Some(3), Some(64)] {
        let plan = Plan { march, ..plain.clone() };
        let source = source(kernel, &plan);
        let mut found = launch.clone();
        let (_, raised) = pocl::run(kernel, &plan, &source, &mut found, 0);
        assert!(raised.is_none(), "{}", source.text);
        all_same(&found.grids, &source.text);
        nvrtc::compile(&super::host::source(kernel, &Plan { dialect: Dialect::Cuda, ..plan }).text);
    }
}
