//! Threads with several cells side by side, which read and write them at once: kernels of codes that march so, and
//! reductions, against the interpreter, bit for bit.

mod emit_support;

use emit_support::compare::{contents, same};
use emit_support::host::{Grid, Grids, Launch, Rng, plan, source};
use emit_support::samples::{F32, F64, bind, first_in_format, in_format, typed};
use emit_support::{nvrtc, pocl, samples};
use tida_kernels::analysis::analyse;
use tida_kernels::codec::Format;
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::interp::run_box;
use tida_kernels::ir::{Access, Kernel, Type};
use tida_kernels::plan::wide::{Beside, Stencil, side, wide};
use tida_kernels::plan::{Dialect, FoldOp, Goal, Plan};
use tida_kernels::quote::build::*;
use tida_kernels::quote::{CompareOp, StmtKind};
use tida_kernels::scalar::{Value, ops};

/// Ghosts along each axis but the last, and along the last: what is aligned without them is so with them.
const GHOST: [i64; 2] = [4, 8];

/// A launch over boxes side by side along the last axis, of arrays with random codes.
fn launch(kernel: &Kernel, extent: &[i64], cuts: &[i64], rng: &mut Rng) -> Launch {
    let last = kernel.rank - 1;
    let lo: Vec<i64> = (0..kernel.rank).map(|d| if d == last { 64 } else { 3 * d as i64 - 2 }).collect();
    let hi: Vec<i64> = lo.iter().zip(extent).map(|(lo, n)| lo + n).collect();
    let mut grids = Vec::new();
    for arg in &kernel.args {
        if arg.access == Access::Table {
            grids.push(Grid::table(&[rng.value(ScalarType::F64), rng.value(ScalarType::F64)]));
            continue;
        }
        let by = |d: usize| GHOST[usize::from(d == last)];
        let from: Vec<i64> = lo.iter().enumerate().map(|(d, x)| x - by(d)).collect();
        let to: Vec<i64> = hi.iter().enumerate().map(|(d, x)| x + by(d)).collect();
        let mut grid = Grid::tiled(arg.access, arg.element, &from, &to, rng);
        if !arg.element.component_types().iter().any(|ty| ty.is_float()) {
            // Halves among them are no NaN.
            grid.bytes.iter_mut().for_each(|byte| *byte = rng.below(0x7b) as u8);
        }
        grids.push(grid);
    }
    let mut ends: Vec<i64> = cuts.iter().map(|cut| lo[last] + cut).collect();
    ends.extend([lo[last], hi[last]]);
    ends.sort_unstable();
    let part = |pair: &[i64]| {
        let (mut a, mut b) = (lo.clone(), hi.clone());
        (a[last], b[last]) = (pair[0], pair[1]);
        (a, b)
    };
    let boxes = ends.windows(2).map(part).collect();
    Launch { captures: rng.captures(kernel), grids: Grids(grids), whole: (lo, hi), boxes }
}

/// Whether the first cell of a launch lies at a multiple of so many values in all arrays, and with it each row.
fn is_aligned(launch: &Launch, cells: i64) -> bool {
    let tiled = launch.grids.0.iter().filter(|grid| grid.access != Access::Table);
    tiled.flat_map(|grid| &grid.regions).all(|region| {
        let strides = region.strides.split_last().map_or(&[][..], |(_, rest)| rest);
        strides.iter().all(|stride| stride % cells == 0)
    })
}

/// A launch whose rows lie so, or not so.
fn lying(aligned: bool, cells: usize, mut launch: impl FnMut() -> Launch) -> Launch {
    let all = std::iter::repeat_with(&mut launch).take(10_000);
    all.into_iter().find(|launch| is_aligned(launch, cells as i64) == aligned).expect("a launch whose rows lie so")
}

fn check(kernel: &Kernel, launch: &Launch, plan: &Plan, label: &str) {
    let mut expected = launch.grids.clone();
    let (lo, hi) = &launch.whole;
    let (_, fault) = run_box(kernel, &launch.captures, lo, hi, &mut expected, 100_000).unwrap();
    assert!(fault.is_none(), "{label}");
    let source = source(kernel, plan);
    let mut found = launch.clone();
    let (_, raised) = pocl::run(kernel, plan, &source, &mut found, 0);
    assert!(raised.is_none(), "{label}");
    for arg in 0..launch.grids.0.len() {
        if expected.0[arg].bytes == found.grids.0[arg].bytes {
            continue;
        }
        for (a, b) in contents(&expected, arg).into_iter().zip(contents(&found.grids, arg)) {
            assert!(same(a.2, b.2), "{label}: {arg} at {:?}: {:?}, not {:?}\n{}", a.0, b.2, a.2, source.text);
        }
    }
}

/// `next = Σ weight · u[at + offset]` with a branch that ends some cells early, in so many axes.
fn star(element: ElementType, offsets: &[&[i64]], early: bool) -> Kernel {
    let rank = offsets[0].len();
    let read = |offset: &&[i64]| load(1, at_plus(offset));
    let sum = offsets[1..].iter().fold(read(&offsets[0]), |sum, offset| add(sum, mul(float(0.125), read(offset))));
    let last = project(at(), entry(int(rank as u64 - 1)));
    let value = match element {
        F64 => add(sum, mul(float(0.01), cast(last, ScalarType::F64))),
        _ => sum,
    };
    let mut body = vec![store(0, at(), value)];
    if early {
        body.push(eval(if_then(
            compare(CompareOp::Gt, load(1, at()), float(0.5)),
            block(vec![stmt(StmtKind::Return(None))]),
        )));
    }
    let args = [("next", bind(Access::Write, element, rank)), ("u", bind(Access::Read, element, rank))];
    typed("star.rs", rank, &args, &[], &[], block(body), vec![], None)
}

/// A star over three axes that reaches so far.
fn wide_star(element: ElementType, reach: i64) -> Kernel {
    let mut offsets = vec![[0; 3]];
    for by in (-reach..=reach).filter(|by| *by != 0) {
        offsets.extend([[by, 0, 0], [0, by, 0], [0, 0, by]]);
    }
    let offsets: Vec<&[i64]> = offsets.iter().map(|offset| offset.as_slice()).collect();
    star(element, &offsets, false)
}

/// Kernels with the formats that they are kept in, and the cells that a thread then has side by side.
fn kernels() -> Vec<(&'static str, Kernel, usize)> {
    let range = |bits| Format::Range { bits, min: -1.0, max: 3.0 };
    let heat = samples::all().into_iter().find(|sample| sample.name == "heat_3d").unwrap().kernel;
    let cross: [&[i64]; 7] = [&[-2, 0], &[-1, 1], &[0, -2], &[0, 0], &[0, 1], &[1, 0], &[2, 2]];
    let args =
        [("c", bind(Access::Write, F32, 2)), ("a", bind(Access::Read, F32, 2)), ("b", bind(Access::Read, F32, 2))];
    let sum = block(vec![store(0, at(), add(load(1, at()), load(2, at())))]);
    let sum = typed("sum.rs", 2, &args, &[], &[], sum, vec![], None);
    vec![
        ("heat of 32 bits", in_format(&heat, &range(32)), 2),
        ("heat of f32", in_format(&heat, &Format::F32), 2),
        ("a star of 16 bits", in_format(&star(F32, &cross, false), &range(16)), 4),
        ("a star that ends early", in_format(&star(F64, &cross[1..5], true), &range(16)), 2),
        ("a sum of halves", in_format(&sum, &Format::Half), 4),
        ("a sum of bytes", in_format(&sum, &range(8)), 4),
        ("a wide star of f32", wide_star(F32, 2), 4),
        ("a wider star of f32", wide_star(F32, 4), 4),
        ("a wide star of f64", wide_star(F64, 4), 2),
    ]
}

#[test]
fn cells_side_by_side_have_the_same_bits() {
    let mut rng = Rng(7);
    for (n, (label, kernel, cells)) in kernels().into_iter().enumerate() {
        let found = side(&kernel, &analyse(&kernel)).unwrap_or_else(|| panic!("{label}: no rows"));
        assert_eq!(found.cells, cells, "{label}");
        // Stars hand on what they read, over three axes also to the cells of other threads.
        let bytes = if label.contains("f64") { 8 } else { 4 };
        let span = if label.contains("wide star of f32") { 4 } else { 8 };
        let stencil = label.contains("wide").then_some(Stencil {
            span,
            before: span * bytes,
            threads: if span == 4 { 768 } else { 512 },
            // See `emit_planes.rs`.
            planes: found.beside().stencil.and_then(|stencil| stencil.planes),
        });
        let beside = Beside {
            cells: cells as u32,
            handed: !label.contains("sum"),
            shared: kernel.rank == 3,
            stencil,
            alike: false,
        };
        assert_eq!(found.beside(), beside, "{label}");
        for (turn, many) in [(0, n % 2 == 0), (1, n % 2 == 1)] {
            // Ends inside of a thread's cells, of boxes of which one does not start at a multiple of them.
            let extent = if kernel.rank == 3 { vec![5, 3, 27] } else { vec![7, 43] };
            let cuts: &[i64] = if many { &[16, 21] } else { &[] };
            let launch = lying(turn == 0, cells, || launch(&kernel, &extent, cuts, &mut rng));
            let mut plan = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, many);
            plan = Plan { march: Some([3, 100][turn]), side: cells as u32, narrow: (n + turn) % 2 == 0, ..plan };
            check(&kernel, &launch, &plan, label);
        }
        let plan = plan(&kernel, &Grids(Vec::new()), Dialect::Cuda, Goal::Sweep, false, n % 2 == 0);
        let groups = vec![0; kernel.args.len()];
        let plan = Plan { march: Some(8), side: cells as u32, block: [64, 4, 1], groups, stream: n % 2 == 1, ..plan };
        let text = source(&kernel, &plan).text;
        nvrtc::compile(&text);
        assert_eq!(text.contains("tida_stream(("), n % 2 == 1, "{label}");
        // What is far ahead is asked for.
        assert_eq!(text.contains("prefetch"), stencil.is_some(), "{label}");
        if n == 0 {
            insta::assert_snapshot!("heat_3d", text);
        }
    }
}

/// Kernels that are left alone: raw ones that read little, one that reads in a branch, one that reads what it writes,
/// one that reads far away.
#[test]
fn others_have_one_cell() {
    let offsets: [&[i64]; 2] = [&[0, 0], &[0, 3]];
    let range = Format::Range { bits: 16, min: -1.0, max: 3.0 };
    assert_eq!(
        side(
            &in_format(&star(F32, &offsets, false), &range),
            &analyse(&in_format(&star(F32, &offsets, false), &range))
        ),
        None
    );
    let raw = star(F32, &offsets[..1], false);
    assert_eq!(side(&raw, &analyse(&raw)), None);
    for sample in samples::all() {
        assert_eq!(side(&sample.kernel, &analyse(&sample.kernel)), None, "{}", sample.name);
    }
    // Two axes alone, and more than registers hold.
    let nine: Vec<[i64; 2]> = (-1..=1).flat_map(|j| (-1..=1).map(move |i| [j, i])).collect();
    let nine: Vec<&[i64]> = nine.iter().map(|offset| offset.as_slice()).collect();
    for kernel in [star(F32, &nine, false), wide_star(F64, 12), wide_star(F64, 1)] {
        assert_eq!(side(&kernel, &analyse(&kernel)), None);
    }
    let heat = wide_star(F32, 1);
    assert_eq!(side(&heat, &analyse(&heat)).map(|side| side.cells), Some(4));
}

/// The product of two arrays.
fn product(element: ElementType, rank: usize, offset: i64) -> Kernel {
    let args = [("a", bind(Access::Read, element, rank)), ("b", bind(Access::Read, element, rank))];
    let mut away = vec![0; rank];
    if rank > 1 {
        away[0] = offset;
    }
    let body = value_block(vec![], mul(load(0, at()), load(1, at_plus(&away))));
    let scalar = element.component_types()[0];
    typed("dot.rs", rank, &args, &[], &[], body, vec![], Some(Type::Scalar(scalar)))
}

#[test]
fn reductions_of_codes_keep_their_order() {
    let range = |bits| Format::Range { bits, min: -1.0, max: 3.0 };
    let mut rng = Rng(12);
    // Wider values are read one by one.
    for kernel in [product(F32, 2, 0), in_format(&product(F64, 3, 0), &range(32))] {
        assert_eq!(wide(&kernel, &analyse(&kernel)), None);
    }
    for (kernel, cells) in [
        (in_format(&product(F32, 2, 0), &range(16)), 8),
        (in_format(&product(F32, 2, 1), &Format::Half), 8),
        (in_format(&product(F32, 1, 0), &range(8)), 8),
        (in_format(&product(F64, 3, 0), &range(16)), 8),
        (first_in_format(&product(F32, 2, 1), &Format::Half, 1), 4),
        (first_in_format(&product(F64, 2, 0), &range(16), 1), 2),
    ] {
        assert_eq!(wide(&kernel, &analyse(&kernel)).unwrap().cells, cells);
        for turn in 0..2 {
            let mut extent = vec![3, 9, 64 * 9 + [0, 35][turn]];
            let extent = extent.split_off(3 - kernel.rank);
            let mut launch = lying(turn == 0 || kernel.rank == 1, cells, || launch(&kernel, &extent, &[], &mut rng));
            let (lo, hi) = launch.whole.clone();
            let (values, _) = run_box(&kernel, &launch.captures, &lo, &hi, &mut launch.grids, 1000).unwrap();
            let plan = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Segments(FoldOp::Sum), false, turn % 2 == 0);
            let source = source(&kernel, &plan);
            let values: Vec<Value> = values.into_iter().map(|value| value[0]).collect();
            let expected: Vec<Value> =
                values.chunks(launch.line() as usize).flat_map(|row| row.chunks(64)).map(folded).collect();
            let size = kernel.result.scalar().unwrap().size();
            let (out, _) = pocl::run(&kernel, &plan, &source, &mut launch, expected.len() * size);
            let ty = kernel.result.scalar().unwrap();
            for (n, (bytes, expected)) in out.chunks(size).zip(&expected).enumerate() {
                let mut bits = [0; 8];
                bits[..size].copy_from_slice(bytes);
                let found = Value::from_bits(ty, u64::from_le_bytes(bits));
                assert!(same(found, *expected), "segment {n}: {found:?}, not {expected:?}\n{}", source.text);
            }
        }
    }
}

/// The sum of a segment by halves.
fn folded(values: &[Value]) -> Value {
    let add = |a: Value, b: Value| match (a, b) {
        (Value::F32(a), Value::F32(b)) => Value::F32(ops::add(a, b)),
        (Value::F64(a), Value::F64(b)) => Value::F64(ops::add(a, b)),
        other => panic!("{other:?}"),
    };
    let nothing = if matches!(values[0], Value::F32(_)) { Value::F32(-0.0) } else { Value::F64(-0.0) };
    let mut all = values.to_vec();
    all.resize(64, nothing);
    for half in [32, 16, 8, 4, 2, 1] {
        for n in 0..half {
            all[n] = add(all[n], all[n + half]);
        }
    }
    all[0]
}
