//! Short loops around the cell that are written out: the same bits as with their loops, and reads at constants.

mod emit_support;

use std::sync::Arc;

use emit_support::compare::{contents, same};
use emit_support::host::{Grid, Grids, Rng, plan, source};
use emit_support::samples::{F64, V3, bind, typed};
use tida_kernels::analysis::{Analysis, IndexForm, Symbol, analyse};
use tida_kernels::interp::run_box;
use tida_kernels::ir::{Access, ExprKind, Kernel, Type, bounding, specialised, unrolled};
use tida_kernels::plan::{Dialect, Goal};
use tida_kernels::quote::build::*;
use tida_kernels::quote::{BinaryOp, CompareOp, Constant, Expr, Stmt};
use tida_kernels::scalar::Value;
use tida_kernels::{ElementType, ScalarType};

const SUM: u32 = 0;
const BY: u32 = 1;
const ACROSS: u32 = 2;
const VALUE: u32 = 3;

fn number(n: i64) -> Expr {
    signed(n)
}

/// `next = Σ u[at + [by, 2 * by - across]]` over two loops, with a local and a branch in them.
fn kernel(bounds: [i64; 2], index: impl Fn() -> [Expr; 2]) -> Kernel {
    let coordinate = |axis: u32| project(at(), entry(int(u64::from(axis))));
    let [along, across] = index();
    let point = array(vec![add(coordinate(0), along), add(coordinate(1), across)]);
    let inner = block(vec![
        let_(VALUE, mul(load(1, point), float(0.25))),
        eval(if_then(
            compare(CompareOp::Gt, local(VALUE), float(0.2)),
            block(vec![set_part(SUM, vec![], Some(BinaryOp::Add), local(VALUE))]),
        )),
    ]);
    let outer = block(vec![for_(ACROSS, number(-1), number(2), inner)]);
    let body: Vec<Stmt> = vec![
        let_(SUM, load(1, at())),
        for_(BY, number(bounds[0]), add(number(bounds[1]), number(0)), outer),
        store(0, at(), local(SUM)),
    ];
    let args = [("next", bind(Access::Write, F64, 2)), ("u", bind(Access::Read, F64, 2))];
    typed("loops.rs", 2, &args, &[], &["sum", "by", "across", "value"], block(body), vec![], None)
}

/// Cells that `u` is read at, beside that of the cell, where all are constants from it.
fn reads(analysis: &Analysis) -> Option<usize> {
    let plain = |form: &IndexForm| match form {
        IndexForm::Affine(form) => form.terms.iter().all(|(symbol, _)| matches!(symbol, Symbol::At(_))),
        IndexForm::Opaque(_) => false,
    };
    let accesses = &analysis.args[1].accesses;
    accesses.iter().all(|access| access.index.iter().all(plain)).then_some(accesses.len() - 1)
}

#[test]
fn loops_written_out_have_the_same_bits() {
    let mut rng = Rng(3);
    for (bounds, turns) in [([-2, 3], 5), ([1, 2], 1), ([2, 2], 0), ([3, 1], 0)] {
        let looped = kernel(bounds, || [local(BY), sub(mul(number(2), local(BY)), local(ACROSS))]);
        let flat = unrolled(looped.clone());
        assert_eq!(reads(&analyse(&flat)), Some(3 * turns), "{bounds:?}");
        let (lo, hi) = ([0, 0], [6, 9]);
        let grid = |access, rng: &mut Rng| Grid::tiled(access, F64, &[-8, -8], &[14, 18], rng);
        let start = Grids(vec![grid(Access::Write, &mut rng), grid(Access::Read, &mut rng)]);
        let [expected, found] = [&looped, &flat].map(|kernel| {
            let mut grids = start.clone();
            let (_, fault) = run_box(kernel, &[], &lo, &hi, &mut grids, 100_000).unwrap();
            assert!(fault.is_none());
            grids
        });
        for (a, b) in contents(&expected, 0).into_iter().zip(contents(&found, 0)) {
            assert!(same(a.2, b.2), "{bounds:?} at {:?}", a.0);
        }
    }
}

/// Loops that are left alone: long ones, and those whose variable is not a sum away from the cell.
#[test]
fn other_loops_stay() {
    let far = || [local(BY), local(ACROSS)];
    assert_eq!(reads(&analyse(&unrolled(kernel([0, 16], far)))), Some(48));
    let remainder = || [local(BY), binary(BinaryOp::Rem, local(BY), number(2))];
    for kernel in [kernel([0, 17], far), kernel([0, 4], remainder)] {
        assert_eq!(reads(&analyse(&unrolled(kernel))), None);
    }
}

/// Loops over the components of a cell are written out, also where they count down.
#[test]
fn loops_over_components_are_written_out() {
    let element = V3;
    let n = || vec![entry(cast(local(BY), ScalarType::U64))];
    let turned = || vec![entry(cast(sub(number(2), local(BY)), ScalarType::U64))];
    let value = add(load_part(1, at_plus(&[0, 1]), turned()), mul(load_part(1, at(), n()), float(0.5)));
    let body = block(vec![for_(BY, number(0), number(3), block(vec![store_part(0, at(), n(), None, value)]))]);
    let args = [("next", bind(Access::Write, element, 2)), ("u", bind(Access::Read, element, 2))];
    let looped = typed("loops.rs", 2, &args, &[], &["sum", "by"], body, vec![], None);
    let flat = unrolled(looped.clone());
    let components = |kernel: &Kernel| {
        let analysis = analyse(kernel);
        let all = analysis.args.iter().flat_map(|arg| arg.accesses.clone());
        all.map(|access| access.component).collect::<Option<Vec<_>>>().map(|all| all.len())
    };
    assert_eq!((components(&looped), components(&flat)), (None, Some(9)));
    let mut rng = Rng(7);
    let grid = |access, rng: &mut Rng| Grid::tiled(access, element, &[-8, -8], &[14, 18], rng);
    let start = Grids(vec![grid(Access::Write, &mut rng), grid(Access::Read, &mut rng)]);
    let [expected, found] = [&looped, &flat].map(|kernel| {
        let mut grids = start.clone();
        let (_, fault) = run_box(kernel, &[], &[0, 0], &[6, 9], &mut grids, 100_000).unwrap();
        assert!(fault.is_none());
        grids
    });
    for (a, b) in contents(&expected, 0).into_iter().zip(contents(&found, 0)) {
        assert!(same(a.2, b.2), "at {:?}", a.0);
    }
}

/// `next = Σ u[at - WAYS[n]]`, where a local takes the whole way first, as `at - WAYS[n]` does: reads at constants. Not
/// where the local is set again.
#[test]
fn ways_of_constant_tables_are_numbers() {
    const WAY: ElementType = ElementType::Array { element: &ElementType::Scalar(ScalarType::I64), len: 2 };
    const TABLE: ElementType = ElementType::Array { element: &WAY, len: 3 };
    let ways: [[i64; 2]; 3] = [[0, 1], [2, -1], [-1, 0]];
    let made = |again: bool| {
        let coordinate = |axis: u32| project(at(), entry(int(u64::from(axis))));
        let way = |axis: u64| project(local(ACROSS), entry(int(axis)));
        let point = array(vec![sub(coordinate(0), way(0)), sub(coordinate(1), way(1))]);
        let taken = || project(capture(0), entry(cast(local(BY), ScalarType::U64)));
        let mut turn = vec![let_(ACROSS, taken())];
        if again {
            turn.push(set_part(ACROSS, vec![], None, taken()));
        }
        turn.push(set_part(SUM, vec![], Some(BinaryOp::Add), load(1, point)));
        let body =
            vec![let_(SUM, load(1, at())), for_(BY, number(0), number(3), block(turn)), store(0, at(), local(SUM))];
        let args = [("next", bind(Access::Write, F64, 2)), ("u", bind(Access::Read, F64, 2))];
        let ty = Type::of_element(&TABLE);
        let mut kernel = typed("ways.rs", 2, &args, &[("WAYS", ty)], &["sum", "by", "way"], block(body), vec![], None);
        let bits = ways.as_flattened().iter().map(|way| *way as u64).collect();
        kernel.captures[0].known = Some(Arc::new(Constant { ty: TABLE, bits }));
        kernel
    };
    let flat = unrolled(made(false));
    assert_eq!((reads(&analyse(&flat)), reads(&analyse(&unrolled(made(true))))), (Some(3), None));
    let mut rng = Rng(11);
    let grid = |access, rng: &mut Rng| Grid::tiled(access, F64, &[-8, -8], &[14, 18], rng);
    let start = Grids(vec![grid(Access::Write, &mut rng), grid(Access::Read, &mut rng)]);
    let tables = flat.with_tables(&[]).into_owned();
    let [expected, found] = [&made(true), &flat].map(|kernel| {
        let mut grids = start.clone();
        let (_, fault) = run_box(kernel, &tables, &[0, 0], &[6, 9], &mut grids, 100_000).unwrap();
        assert!(fault.is_none());
        grids
    });
    for (a, b) in contents(&expected, 0).into_iter().zip(contents(&found, 0)) {
        assert!(same(a.2, b.2), "at {:?}", a.0);
    }
}

/// The kernel with a captured number for the end of its outer loop.
fn captured() -> Kernel {
    let coordinate = |axis: u32| project(at(), entry(int(u64::from(axis))));
    let point = array(vec![add(coordinate(0), local(BY)), coordinate(1)]);
    let inner = block(vec![set_part(SUM, vec![], Some(BinaryOp::Add), load(1, point))]);
    let body: Vec<Stmt> = vec![
        let_(SUM, load(1, at())),
        for_(BY, number(1), add(capture(0), number(1)), inner),
        store(0, at(), mul(local(SUM), capture(1))),
    ];
    let args = [("next", bind(Access::Write, F64, 2)), ("u", bind(Access::Read, F64, 2))];
    let captures = [("radius", Type::Scalar(ScalarType::I64)), ("scale", Type::Scalar(ScalarType::F64))];
    typed("loops.rs", 2, &args, &captures, &["sum", "by"], block(body), vec![], None)
}

#[test]
fn a_captured_end_of_a_loop_is_written_out_for_its_value() {
    let general = unrolled(captured());
    assert_eq!(bounding(&general), [0], "`scale` bounds nothing");
    assert_eq!(reads(&analyse(&general)), None);
    let special = specialised(&general, &[(0, 4)]).unwrap();
    assert_eq!(reads(&analyse(&special)), Some(4));
    let four = {
        let mut kernel = captured();
        for expr in &mut kernel.body.exprs {
            if matches!(expr.kind, ExprKind::Capture(0)) {
                expr.kind = ExprKind::Literal(Value::I64(4));
            }
        }
        unrolled(kernel)
    };
    let mut rng = Rng(5);
    let tiled = [Access::Write, Access::Read].map(|access| Grid::tiled(access, F64, &[-8, -8], &[14, 18], &mut rng));
    let grids = Grids(tiled.into());
    let text = |kernel: &Kernel| source(kernel, &plan(kernel, &grids, Dialect::OpenCl, Goal::Sweep, false, false)).text;
    assert_eq!(text(&special), text(&four));
    assert!(!text(&special).contains("radius") && text(&general).contains("radius"));
    assert!(specialised(&general, &[(0, 17)]).is_none(), "too many turns");
    assert!(specialised(&general, &[(0, i64::MAX)]).is_none());
}
