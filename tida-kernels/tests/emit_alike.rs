//! Threads with several cells side by side that read the same of whole arrays: fine grids that take from coarse ones,
//! against the interpreter, bit for bit.

mod emit_support;

use emit_support::host::{Grid, Launch, Rng, plan, source};
use emit_support::samples::{F32, F64, bind, typed};
use emit_support::tiles::{axis, check, expected, index, whole};
use emit_support::{nvrtc, samples};
use tida_kernels::analysis::analyse;
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::ir::{Access, Kernel};
use tida_kernels::plan::cache::{Cache, Cached};
use tida_kernels::plan::wide::{Beside, Side, side};
use tida_kernels::plan::{Dialect, Goal, Plan};
use tida_kernels::quote::build::*;
use tida_kernels::quote::{BinaryOp, CompareOp, Expr, Method, StmtKind};

/// Cells of the coarse grids along the last axis, and along others.
const COARSE: i64 = 32;
const FEW: i64 = 6;

fn half(x: Expr) -> Expr {
    div(x, int_of(2, ScalarType::I64))
}

fn clamped(x: Expr) -> Expr {
    method(Method::Max, vec![x, int_of(0, ScalarType::I64)])
}

/// A kernel that writes `u` of what it reads of `u`, of `v` around the cell and of the coarse `e`.
fn kernel(element: ElementType, rank: usize, value: Expr, early: bool) -> Kernel {
    let mut body = vec![store(0, at(), value)];
    if early {
        let ends = compare(CompareOp::Gt, load(1, at()), float(0.5));
        body.insert(0, eval(if_then(ends, block(vec![stmt(StmtKind::Return(None))]))));
    }
    let args = [
        ("u", bind(Access::Write, element, rank)),
        ("v", bind(Access::Read, element, rank)),
        ("e", bind(Access::All, element, rank)),
    ];
    typed("prolong.rs", rank, &args, &[], &[], block(body), vec![], None)
}

/// Reads of a coarse grid: quotients along the axes before the last, and this along the last.
fn coarse(rank: usize, last: Expr) -> Expr {
    let mut of: Vec<Expr> = (0..rank as u64 - 1).map(|n| half(axis(n))).collect();
    of.push(last);
    load(2, index(of))
}

/// A prolongation.
fn prolong(element: ElementType, rank: usize) -> Kernel {
    let args = [("u", bind(Access::Write, element, rank)), ("e", bind(Access::All, element, rank))];
    let of = (0..rank as u64).map(|n| half(axis(n))).collect();
    let body = block(vec![store(0, at(), load(1, index(of)))]);
    typed("prolong.rs", rank, &args, &[], &[], body, vec![], None)
}

/// Kernels with the cells that a thread has side by side.
fn kernels() -> Vec<(&'static str, Kernel, usize)> {
    let last = |rank: usize| axis(rank as u64 - 1);
    let shifted = |x: Expr| binary(BinaryOp::Shr, x, int_of(1, ScalarType::I64));
    let one = || int_of(1, ScalarType::I64);
    let corrected = add(load(0, at()), coarse(3, half(last(3))));
    let smoothed = add(
        mul(load(1, at_plus(&[0, -1])), coarse(2, half(last(2)))),
        sub(load(1, at_plus(&[0, 1])), coarse(2, shifted(add(last(2), one())))),
    );
    let before =
        clamped(method(Method::DivEuclid, vec![sub(last(3), int_of(3, ScalarType::I64)), int_of(4, ScalarType::I64)]));
    let quarter = sub(load(1, at_plus(&[-1, 0, 0])), coarse(3, before));
    vec![
        ("a prolongation of f64", prolong(F64, 3), 2),
        ("a prolongation of f32", prolong(F32, 2), 4),
        ("a correction", kernel(F64, 3, corrected, false), 2),
        ("means of neighbours", kernel(F32, 2, smoothed, false), 4),
        ("quarters before", kernel(F64, 3, quarter, false), 2),
        ("four axes", prolong(F32, 4), 4),
    ]
}

/// A launch over a box that starts at `lo` along the last axis and is cut there; rows start 8 cells before, so that an
/// even start is at a multiple of cells in memory.
fn launch(kernel: &Kernel, lo_last: i64, cut: i64, regions: bool, rng: &mut Rng) -> Launch {
    let last = kernel.rank - 1;
    let lo: Vec<i64> = (0..kernel.rank).map(|d| if d == last { lo_last } else { d as i64 }).collect();
    let extent = [vec![5, 27], vec![3, 5, 27], vec![2, 3, 2, 27]][kernel.rank - 2].clone();
    let hi: Vec<i64> = lo.iter().zip(&extent).map(|(lo, n)| lo + n).collect();
    let mut grids = Vec::new();
    for arg in &kernel.args {
        if arg.access == Access::All {
            let shape: Vec<i64> = (0..kernel.rank).map(|d| if d == last { COARSE } else { FEW }).collect();
            grids.push(whole(arg.element, &shape, regions, rng));
            continue;
        }
        let from: Vec<i64> = lo.iter().map(|x| x - 8).collect();
        let to: Vec<i64> = hi.iter().map(|x| x + 8).collect();
        grids.push(Grid::tiled(arg.access, arg.element, &from, &to, rng));
    }
    let mut middle = (lo.clone(), hi.clone());
    (middle.0[last], middle.1[last]) = (lo_last + cut, lo_last + cut);
    let boxes = vec![(lo.clone(), middle.1), (middle.0, hi.clone())];
    let grids = emit_support::host::Grids(grids);
    Launch { captures: rng.captures(kernel), grids, whole: (lo, hi), boxes }
}

/// Whether rows lie at multiples of so many cells.
fn is_aligned(launch: &Launch, cells: i64) -> bool {
    let tiled = launch.grids.0.iter().filter(|grid| grid.access != Access::All);
    tiled.flat_map(|grid| &grid.regions).all(|r| r.strides[..r.strides.len() - 1].iter().all(|by| by % cells == 0))
}

fn found(kernel: &Kernel) -> Option<Side> {
    side(kernel, &analyse(kernel))
}

#[test]
fn cells_that_read_alike_have_the_same_bits() {
    let mut rng = Rng(3);
    for (n, (label, kernel, cells)) in kernels().into_iter().enumerate() {
        let of = found(&kernel).unwrap_or_else(|| panic!("{label}: no cells side by side\n{kernel}"));
        assert_eq!((of.cells, of.alike), (cells, true), "{label}");
        assert_eq!(of.beside(), Beside { cells: cells as u32, alike: true, ..Beside::ONE }, "{label}");
        // Cells that are even and aligned, aligned alone, neither; boxes that end inside of a thread's cells.
        for (turn, (lo, cut, aligned)) in
            [(16, 8, true), (17, 12, true), (16, 5, true), (18, 9, false), (16, 27, false)].into_iter().enumerate()
        {
            let regions = turn % 2 == 1;
            let mut all = std::iter::repeat_with(|| launch(&kernel, lo, cut, regions, &mut rng)).take(10_000);
            let launch = all.find(|launch| is_aligned(launch, cells as i64) == aligned).expect("a launch that lies so");
            let expected = expected(&kernel, &launch);
            let many = (n + turn) % 2 == 0;
            let plain = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, many);
            let whole = (0..kernel.args.len()).filter(|n| kernel.args[*n].access == Access::All);
            let cache = whole.map(|arg| Cached { arg: arg as u8, how: Cache::None, cut: regions }).collect();
            let march = Some([1, 2, 100][turn % 3]);
            let plan = Plan { march, side: cells as u32, narrow: n % 2 == 0, cache, ..plain };
            let text = check(&kernel, &launch, &plan, &expected, &format!("{label}, {turn}")).text;
            assert!(text.contains("row.at[e]") || text.contains("_row.at["), "{text}");
            nvrtc::compile(&source(&kernel, &Plan { dialect: Dialect::Cuda, ..plan }).text);
        }
    }
}

/// The text of a prolongation.
#[test]
fn text_stays_as_it_is() {
    let kernel = prolong(F64, 3);
    let mut rng = Rng(1);
    let launch = launch(&kernel, 16, 8, false, &mut rng);
    let plan = plan(&kernel, &launch.grids, Dialect::Cuda, Goal::Sweep, false, false);
    let cache = vec![Cached { arg: 1, how: Cache::None, cut: false }];
    let plan = Plan { march: Some(1), side: 2, block: [64, 4, 1], cache, ..plan };
    let text = source(&kernel, &plan).text;
    insta::assert_snapshot!("prolong", text);
    nvrtc::compile(&text);
}

/// Kernels whose neighbours read different cells, that leave some cells as they were or that read what others write.
#[test]
fn others_have_one_cell() {
    let last = || axis(1);
    let third = coarse(2, div(last(), int_of(3, ScalarType::I64)));
    let mixed = coarse(2, sub(last(), half(last())));
    let twice = coarse(2, half(mul(int_of(2, ScalarType::I64), last())));
    for value in [third, mixed, twice] {
        let kernel = kernel(F64, 2, add(value, load(1, at())), false);
        assert_eq!(found(&kernel), None, "{kernel}");
    }
    let alike = || coarse(2, half(last()));
    assert!(found(&kernel(F64, 2, alike(), false)).is_some());
    assert_eq!(found(&kernel(F64, 2, alike(), true)), None);
    // Columns are handed on by a march of one cell.
    let column = add(load(1, at_plus(&[1, 0])), load(1, at_plus(&[-1, 0])));
    assert_eq!(found(&kernel(F64, 2, add(alike(), column), false)), None);
    for sample in samples::all() {
        assert_eq!(found(&sample.kernel), None, "{}", sample.name);
    }
}
