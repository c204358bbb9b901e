//! Kernels with tiles whose threads have several cells, against the interpreter, bit for bit.

mod emit_support;

use emit_support::host::{Rng, plan, source};
use emit_support::samples::{F64, bind, first_in_format, in_format, typed};
use emit_support::tiles::*;
use emit_support::{nvrtc, pocl};
use tida_kernels::analysis::analyse;
use tida_kernels::codec::Format;
use tida_kernels::element::ScalarType;
use tida_kernels::interp::run_box;
use tida_kernels::ir::{Access, Kernel, Type};
use tida_kernels::plan::cache::{Cache, sharing};
use tida_kernels::plan::coarse::Registers;
use tida_kernels::plan::{Dialect, Goal, Plan};
use tida_kernels::quote::BinaryOp;
use tida_kernels::quote::build::*;

/// Products of all sizes, so that edges of boxes lie within the cells of a thread, of every type.
#[test]
fn products_have_blocks_of_cells_in_registers() {
    let mut rng = Rng(31);
    use ScalarType::*;
    let types = [F32, F64, I32, U64, U8, I16];
    for (n, ty) in types.into_iter().enumerate() {
        let (cut, many) = (n == 1, n % 2 == 0);
        let (kernel, launch) = product_of(gemm_of(ty), [21 + n as i64, 38 - n as i64, 37], cut, &mut rng);
        let expected = expected(&kernel, &launch);
        let ways = [
            (Cache::Tile, [2, 4], [8, 4, 1]),
            (Cache::Preload, [4, 2], [4, 4, 1]),
            (Cache::Tile, [1, 3], [16, 2, 1]),
            (Cache::CheckedTile, [2, 2], [8, 4, 1]),
        ];
        // All of `f64`, half of the others.
        for (how, cells, block) in ways.into_iter().filter(|(how, ..)| n == 1 || (n % 2 == 0) == (*how == Cache::Tile))
        {
            let plain = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, many);
            let plan = Plan { block, cells, cache: cached(&kernel, &launch, how), width: 8, ..plain };
            let source = check(&kernel, &launch, &plan, &expected, &format!("{how:?}, {ty:?}, {cells:?}"));
            let sums = if cells[0] == 1 { "sum[e0] = ".into() } else { "sum[e0][e1] = ".to_owned() };
            assert!(source.text.contains(&sums), "{}", source.text);
            nvrtc::compile(&emit_support::host::source(&kernel, &Plan { dialect: Dialect::Cuda, ..plan }).text);
        }
    }
}

/// Divisions by zero: the fault is that of the first cell, and no cell beyond the box raises one of its own.
#[test]
fn faults_are_those_of_the_first_cell() {
    let mut rng = Rng(34);
    let mut raised = 0;
    for n in 0..4 {
        let (kernel, mut launch) = product_of(gemm_by(ScalarType::I32, BinaryOp::Div), [13, 10, 9], false, &mut rng);
        if n < 2 {
            // Nothing to divide by is 0.
            launch.grids.0[2].bytes.chunks_exact_mut(4).for_each(|value| value[0] |= 1);
        }
        let coarse = sharing(&kernel, &analyse(&kernel)).coarse.expect("a walk without a loop inside");
        assert!(!coarse.loose);
        let (mut expected, (lo, hi)) = (launch.grids.clone(), launch.whole.clone());
        let (_, fault) = run_box(&kernel, &launch.captures, &lo, &hi, &mut expected, 100_000).unwrap();
        let plain = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, true);
        let how = [Cache::Tile, Cache::Preload][n % 2];
        let plan = Plan { block: [4, 4, 1], cells: [2, 2], cache: cached(&kernel, &launch, how), width: 4, ..plain };
        let source = source(&kernel, &plan);
        let (_, found) = pocl::run(&kernel, &plan, &source, &mut launch, 0);
        assert_eq!(found, fault, "{}", source.text);
        raised += u64::from(fault.is_some());
        nvrtc::compile(&emit_support::host::source(&kernel, &Plan { dialect: Dialect::Cuda, ..plan }).text);
    }
    assert_eq!(raised, 2);
}

/// Bodies along one axis: a value that all cells read serves several of a thread.
#[test]
fn neighbours_share_bodies() {
    let mut rng = Rng(32);
    for how in [Cache::Tile, Cache::Preload] {
        let (kernel, launch) = bodies(77, how == Cache::Preload, &mut rng);
        let expected = expected(&kernel, &launch);
        let plain = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, false);
        let plan = Plan { block: [8, 1, 1], cells: [4, 1], cache: cached(&kernel, &launch, how), width: 16, ..plain };
        let source = check(&kernel, &launch, &plan, &expected, &format!("{how:?}"));
        assert!(source.text.contains("sum[e0] = "), "{}", source.text);
        nvrtc::compile(&emit_support::host::source(&kernel, &Plan { dialect: Dialect::Cuda, ..plan }).text);
    }
}

/// Tiles hold the values of codes, which are decoded once for all cells of a block.
#[test]
fn codes_serve_several_cells() {
    let mut rng = Rng(33);
    let range = Format::Range { bits: 16, min: -1.0, max: 1.0 };
    for kernel in [in_format(&gemm(), &range), first_in_format(&gemm(), &Format::Bfloat, 2)] {
        let (kernel, launch) = product_of(kernel, [21, 20, 40], false, &mut rng);
        let expected = expected(&kernel, &launch);
        for how in [Cache::Tile, Cache::Preload] {
            let plain = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, false);
            let plan =
                Plan { block: [4, 4, 1], cells: [2, 4], cache: cached(&kernel, &launch, how), width: 16, ..plain };
            check(&kernel, &launch, &plan, &expected, &format!("{how:?}"));
            nvrtc::compile(&emit_support::host::source(&kernel, &Plan { dialect: Dialect::Cuda, ..plan }).text);
        }
    }
}

/// The texts of a product of `f64`, in both languages.
#[test]
fn texts_stay_as_they_are() {
    let (kernel, launch) = product_of(gemm_of(ScalarType::F64), [8, 8, 8], false, &mut Rng(5));
    for (dialect, language) in [(Dialect::Cuda, "cuda"), (Dialect::OpenCl, "opencl")] {
        for (how, word) in [(Cache::Tile, "tile"), (Cache::Preload, "preload")] {
            let plan = plan(&kernel, &launch.grids, dialect, Goal::Sweep, false, false);
            let cache = cached(&kernel, &launch, how);
            let plan = Plan { block: [16, 16, 1], cells: [4, 8], cache, width: 16, ..plan };
            insta::assert_snapshot!(format!("{word}.{language}"), source(&kernel, &plan).text);
        }
    }
}

#[test]
fn random_kernels_give_the_same_bits_in_several_cells() {
    let wanted = std::env::var("TIDA_RANDOM_KERNELS").ok().and_then(|n| n.parse().ok()).unwrap_or(16);
    let (mut several, mut two, mut ahead, mut loose) = (0, 0, 0, 0);
    for seed in 0..wanted {
        let mut rng = Rng(seed * 53 + 7);
        let (kernel, launch) = random(&mut rng);
        let Some(coarse) = sharing(&kernel, &analyse(&kernel)).coarse else { continue };
        several += 1;
        loose += u64::from(coarse.loose);
        let label = format!("seed {seed}\n{kernel}");
        let expected = expected(&kernel, &launch);
        let how = [Cache::Tile, Cache::Preload, Cache::CheckedTile][(seed % 3) as usize];
        let mut plan = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, seed % 2 == 0);
        plan.narrow = seed % 5 != 0;
        plan.block = [[8, 1, 1], [4, 2, 1], [4, 2, 2]][kernel.rank - 1];
        plan.cells = if kernel.rank == 1 { [3, 1] } else { [[2, 2], [3, 1], [1, 4]][(seed % 3) as usize] };
        plan = Plan { cache: cached(&kernel, &launch, how), width: [4, 8, 5][(seed % 3) as usize], ..plan };
        let source = check(&kernel, &launch, &plan, &expected, &format!("{how:?} {label}"));
        two += u64::from(source.text.contains("[e0][e1]") || source.text.contains("[e1][e2]"));
        ahead += u64::from(source.text.contains("_half"));
        if seed % 4 == 0 {
            nvrtc::compile(&emit_support::host::source(&kernel, &Plan { dialect: Dialect::Cuda, ..plan }).text);
        }
    }
    let seen = [several, two, ahead, loose];
    assert!(several * 3 > wanted && [two, ahead, loose].iter().all(|n| *n * 16 >= wanted), "{seen:?} of {wanted}");
}

/// What is the same for a row of cells, or for a column, needs a register for each of those.
#[test]
fn registers_are_counted_by_what_values_depend_on() {
    let registers = |kernel: &Kernel| sharing(kernel, &analyse(kernel)).coarse.map(|coarse| coarse.registers);
    assert_eq!(registers(&gemm_of(ScalarType::F64)), Some(Registers { cell: 2, ..Registers::default() }));
    // A mean of the row, and the number of the column, are taken away from each product.
    let (row, column) = (project(at(), entry(int(0))), project(at(), entry(int(1))));
    let of_row = load(2, array(vec![row.clone(), int_of(0, ScalarType::I64)]));
    let product = mul(load(1, array(vec![row, local(1)])), load(2, array(vec![local(1), column.clone()])));
    let turn = sub(sub(product, local(2)), cast(local(3), ScalarType::F64));
    let walk =
        for_(1, int_of(0, ScalarType::I64), capture(0), block(vec![set_part(0, vec![], Some(BinaryOp::Add), turn)]));
    let lets = vec![let_(0, float(0.0)), let_(2, of_row), let_(3, column), walk, store(0, at(), local(0))];
    let args = [("c", bind(Access::Write, F64, 2)), ("a", bind(Access::All, F64, 2)), ("b", bind(Access::All, F64, 2))];
    let names = ["sum", "k", "mean", "column"];
    let count = [("length", Type::Scalar(ScalarType::I64))];
    let kernel = typed("means.rs", 2, &args, &count, &names, block(lets), vec![], None);
    assert_eq!(registers(&kernel), Some(Registers { cell: 2, column: 2, row: 2, all: 0 }));
    let mut rng = Rng(35);
    let (kernel, launch) = product_of(kernel, [19, 21, 30], false, &mut rng);
    let expected = expected(&kernel, &launch);
    let plain = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, false);
    let cache = cached(&kernel, &launch, Cache::Tile);
    let plan = Plan { block: [4, 4, 1], cells: [2, 4], cache, width: 8, ..plain };
    check(&kernel, &launch, &plan, &expected, "means");
}
