//! Blocks that march with the planes around their cells in shared memory, against the interpreter, bit for bit.

mod emit_support;

use emit_support::compare::{contents, same};
use emit_support::host::{Grid, Grids, Launch, Rng, plan, source};
use emit_support::samples::{F32, F64, bind, typed};
use emit_support::{nvrtc, pocl};
use tida_kernels::analysis::analyse;
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::interp::run_box;
use tida_kernels::ir::{Access, Kernel};
use tida_kernels::plan::planes::planes;
use tida_kernels::plan::wide::side;
use tida_kernels::plan::{Dialect, Goal, Plan};
use tida_kernels::quote::build::*;

const LONGEST: &str = "a star of radius 8, f32";

/// Ghosts along each axis but the last, and along the last.
const GHOST: [i64; 2] = [8, 8];

/// `next = Σ weight · u[at + offset]`, and where it is said also of what the cell has in two more arrays, and of its
/// own coordinates.
fn sum(element: ElementType, offsets: &[[i64; 3]], more: bool) -> Kernel {
    let read = |offset: &[i64; 3]| load(1, at_plus(offset));
    let mut value = read(&offsets[0]);
    for (n, offset) in offsets.iter().enumerate().skip(1) {
        value = add(value, mul(float(0.125 + n as f64), read(offset)));
    }
    let mut args = vec![("next", bind(Access::Write, element, 3)), ("u", bind(Access::Read, element, 3))];
    if more {
        value = add(mul(value, load(2, at())), load(3, at_plus(&[0, 0, 1])));
        if element == F64 {
            let place = |axis: u64| cast(project(at(), entry(int(axis))), ScalarType::F64);
            value = add(value, mul(float(0.01), add(place(1), mul(place(2), place(0)))));
        }
        args.push(("v", bind(Access::Read, element, 3)));
        args.push(("w", bind(Access::Read, element, 3)));
    }
    typed("planes.rs", 3, &args, &[], &[], block(vec![store(0, at(), value)]), vec![], None)
}

/// A star that reaches so far along each axis, down and up.
fn star(reach: [[i64; 2]; 3]) -> Vec<[i64; 3]> {
    let mut offsets = vec![[0; 3]];
    for (axis, [down, up]) in reach.into_iter().enumerate() {
        for by in (-down..=up).filter(|by| *by != 0) {
            let mut offset = [0; 3];
            offset[axis] = by;
            offsets.push(offset);
        }
    }
    offsets
}

fn even(reach: i64) -> Vec<[i64; 3]> {
    star([[reach; 2]; 3])
}

/// Kernels, with the rows of a thread that are tried.
fn kernels() -> Vec<(&'static str, Kernel)> {
    let mut rng = Rng(41);
    let mut some = |most: i64| -> Vec<[i64; 3]> {
        let mut all = even(2);
        for _ in 0..6 {
            all.push([0, 1, 2].map(|_| rng.below(2 * most as u64 + 1) as i64 - most));
        }
        all
    };
    let cube: Vec<[i64; 3]> =
        (0..27).map(|n| [n / 9 % 3 - 1, n / 3 % 3 - 1, n % 3 - 1]).chain([[0, 2, 0], [0, -2, 0]]).collect();
    vec![
        ("a star of radius 2, f32", sum(F32, &even(2), false)),
        ("a star of radius 4, f32", sum(F32, &even(4), true)),
        (LONGEST, sum(F32, &even(8), false)),
        ("a star of radius 2, f64", sum(F64, &even(2), true)),
        ("a star of radius 4, f64", sum(F64, &even(4), false)),
        ("an uneven star, f64", sum(F64, &star([[0, 3], [4, 1], [1, 5]]), true)),
        ("an uneven star, f32", sum(F32, &star([[2, 0], [1, 5], [3, 0]]), false)),
        ("a star along two axes, f64", sum(F64, &star([[0, 0], [4, 4], [4, 4]]), false)),
        ("a cube, f32", sum(F32, &cube, false)),
        ("random offsets, f32", sum(F32, &some(2), true)),
        ("random offsets, f64", sum(F64, &some(1), false)),
    ]
}

/// A launch over boxes side by side along the axis before the last.
fn launch(kernel: &Kernel, extent: [i64; 3], cuts: &[i64], rng: &mut Rng) -> Launch {
    let lo = vec![-2, 3, 64];
    let hi: Vec<i64> = lo.iter().zip(extent).map(|(lo, n)| lo + n).collect();
    let by = |d: usize| GHOST[usize::from(d == 2)];
    let grid = |arg: &tida_kernels::ir::Arg, rng: &mut Rng| {
        let from: Vec<i64> = lo.iter().enumerate().map(|(d, x)| x - by(d)).collect();
        let to: Vec<i64> = hi.iter().enumerate().map(|(d, x)| x + by(d)).collect();
        Grid::tiled(arg.access, arg.element, &from, &to, rng)
    };
    let grids = kernel.args.iter().map(|arg| grid(arg, rng)).collect();
    let mut ends: Vec<i64> = cuts.iter().map(|cut| lo[1] + cut).collect();
    ends.extend([lo[1], hi[1]]);
    ends.sort_unstable();
    let part = |pair: &[i64]| {
        let (mut a, mut b) = (lo.clone(), hi.clone());
        (a[1], b[1]) = (pair[0], pair[1]);
        (a, b)
    };
    let boxes = ends.windows(2).map(part).collect();
    Launch { captures: rng.captures(kernel), grids: Grids(grids), whole: (lo, hi), boxes }
}

/// Whether rows lie at multiples of so many values.
fn is_aligned(launch: &Launch, cells: i64) -> bool {
    let mut regions = launch.grids.0.iter().flat_map(|grid| &grid.regions);
    regions.all(|region| region.strides[..2].iter().all(|stride| stride % cells == 0))
}

fn check(kernel: &Kernel, launch: &Launch, plan: &Plan, label: &str) {
    let mut expected = launch.grids.clone();
    let (lo, hi) = &launch.whole;
    let (_, fault) = run_box(kernel, &launch.captures, lo, hi, &mut expected, 1_000_000).unwrap();
    assert!(fault.is_none(), "{label}");
    let source = source(kernel, plan);
    assert!(source.text.contains("_tile["), "{label}: no tile\n{}", source.text);
    let mut found = launch.clone();
    pocl::run(kernel, plan, &source, &mut found, 0);
    for arg in 0..launch.grids.0.len() {
        for (a, b) in contents(&expected, arg).into_iter().zip(contents(&found.grids, arg)) {
            assert!(same(a.2, b.2), "{label}: {arg} at {:?}: {:?}, not {:?}\n{}", a.0, b.2, a.2, source.text);
        }
    }
}

#[test]
fn planes_in_shared_memory_have_the_same_bits() {
    let mut rng = Rng(17);
    for (n, (label, kernel)) in kernels().into_iter().enumerate() {
        let found = side(&kernel, &analyse(&kernel)).unwrap_or_else(|| panic!("{label}: no rows"));
        let cells = found.cells as i64;
        // PoCL takes its time: every second of them, of the longest kernel one.
        for turn in (0..4).filter(|turn| (turn + n) % 2 == 0 && (label != LONGEST || *turn < 2)) {
            let rows = [1, 2, 3, 2][turn];
            assert!(planes(&found, rows).is_some(), "{label}");
            // Blocks that end in the box, that end with it, and that reach beyond it; rows that do not lie as wide
            // copies want them; boxes that begin in the middle of others' rows.
            let extent = [5, [7, 13, 5, 9][turn], [6, 8, 5, 3][turn] * cells + [0, 0, 0, 1][turn]];
            let many = turn % 2 == 1;
            let cuts: &[i64] = if many { &[2, 6] } else { &[] };
            let aligned = turn != 2;
            let all = std::iter::repeat_with(|| launch(&kernel, extent, cuts, &mut rng)).take(10_000);
            let launch = all.into_iter().find(|launch| is_aligned(launch, cells) == aligned).expect("such a launch");
            let made = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, many);
            let block = [[2, 4, 1], [4, 2, 1], [4, 4, 1], [2, 2, 1]][turn];
            let march = Some([3, 100, 2, 1][turn]);
            let narrow = (n + turn) % 2 == 0;
            let made = Plan { march, side: cells as u32, rows: rows as u32, narrow, block, ..made };
            check(&kernel, &launch, &made, &format!("{label}, turn {turn}"));
        }
        let made = plan(&kernel, &Grids(Vec::new()), Dialect::Cuda, Goal::Sweep, false, n % 2 == 0);
        let made = Plan {
            march: Some(24),
            side: cells as u32,
            rows: 1 + n as u32 % 2,
            block: [16, 4, 1],
            groups: vec![0; kernel.args.len()],
            stream: n % 2 == 1,
            ..made
        };
        let text = source(&kernel, &made).text;
        nvrtc::compile(&text);
        assert!(text.contains("tida_copy_16(") && text.contains("prefetch"), "{label}\n{text}");
        if n == 0 {
            insta::assert_snapshot!("star_2_f32", text);
        }
    }
}

/// Blocks share planes where that was faster.
#[test]
fn stars_share_planes() {
    let shape = |kernel: &Kernel| side(kernel, &analyse(kernel)).and_then(|side| side.beside().stencil?.planes);
    let found = shape(&sum(F64, &even(4), false)).expect("a shape");
    assert_eq!((found.rows, found.block), (1, [32, 4, 1]));
    // Shorter marches for fewer cells, none for few or where rows end in a group of cells.
    let march = |n: i64| found.march(132, &[n; 3], n.pow(3).unsigned_abs(), 2);
    assert_eq!((march(512), march(64), march(511)), (Some(found.march), None, None));
    for (reach, element) in [(2, F32), (4, F32), (8, F32), (2, F64), (8, F64)] {
        assert_eq!(shape(&sum(element, &even(reach), false)), None, "radius {reach}");
    }
    assert_eq!(shape(&sum(F32, &even(1), false)), None);
    // Planes of which no column is kept.
    assert_eq!(shape(&sum(F64, &star([[0, 0], [4, 4], [4, 4]]), false)), None);
}
