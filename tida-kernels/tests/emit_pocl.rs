//! Emitted OpenCL against the interpreter, bit for bit.

mod analysis_support;
mod emit_support;

use emit_support::compare::{contents, same};
use emit_support::host::{Grid, Grids, Launch, Rng, plan, source};
use emit_support::samples::bind;
use emit_support::{nvrtc, pocl, samples};
use tida_kernels::analysis::{IndexForm, Symbol, analyse};
use tida_kernels::codec::Format;
use tida_kernels::element::ScalarType;
use tida_kernels::interp::{run_box, run_groups};
use tida_kernels::ir::{Access, Kernel};
use tida_kernels::plan::joint::joint;
use tida_kernels::plan::{Dialect, FoldOp, Goal, Plan};
use tida_kernels::quote::build::*;
use tida_kernels::quote::{BinaryOp, CompareOp, Method};
use tida_kernels::scalar::{Value, eval};

/// Runs a sweep both ways; gives whether a fault was raised.
fn check_sweep(kernel: &Kernel, launch: &Launch, checked: bool, many: bool, narrow: bool, label: &str) -> bool {
    let mut plan = plan(kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, checked, many);
    (plan.narrow, plan.joint) = (narrow, narrow);
    let source = source(kernel, &plan);
    let mut expected = launch.grids.clone();
    let (lo, hi) = &launch.whole;
    let fault = match kernel.group {
        None => run_box(kernel, &launch.captures, lo, hi, &mut expected, 10_000).unwrap().1,
        Some(_) => run_groups(kernel, &launch.captures, lo, hi, &mut expected, 100_000).unwrap(),
    };
    let mut found = launch.clone();
    let (_, raised) = pocl::run(kernel, &plan, &source, &mut found, 0);
    for arg in 0..launch.grids.0.len() {
        if expected.0[arg].bytes == found.grids.0[arg].bytes {
            continue;
        }
        for (a, b) in contents(&expected, arg).into_iter().zip(contents(&found.grids, arg)) {
            assert!(
                same(a.2, b.2),
                "{label}: argument {arg} at {:?}#{}: {:?}, not {:?}\n{}",
                a.0,
                a.1,
                b.2,
                a.2,
                source.text
            );
        }
    }
    assert_eq!(raised, fault, "{label}\n{}", source.text);
    fault.is_some()
}

/// A launch of a kernel over a box cut into two along each axis, with `ghost` cells around.
fn launch(kernel: &Kernel, extent: &[i64], ghost: i64, whole: &[Vec<i64>], rng: &mut Rng) -> Launch {
    let rank = kernel.rank;
    // Groups start at multiples of their extent.
    let group =
        kernel.group.as_ref().map_or(vec![1; rank], |group| group.extent.iter().map(|n| i64::from(*n)).collect());
    let lo: Vec<i64> = (0..rank).map(|d| (3 * d as i64 - 2) * group[d]).collect();
    let hi: Vec<i64> = lo.iter().zip(extent).map(|(lo, n)| lo + n).collect();
    let launched = kernel.args.iter().filter(|arg| arg.access != Access::Shared);
    let grids = launched.map(|arg| match arg.access {
        Access::Read | Access::Write => {
            let held_lo: Vec<i64> = lo.iter().map(|x| x - ghost).collect();
            let held_hi: Vec<i64> = hi.iter().map(|x| x + ghost).collect();
            Grid::tiled(arg.access, arg.element, &held_lo, &held_hi, rng)
        }
        Access::All => Grid::whole(arg.element, whole, rng),
        Access::Table => {
            let ty = arg.element.component_types()[0];
            Grid::table(&(0..4).map(|_| rng.value(ty)).collect::<Vec<_>>())
        }
        Access::Shared => unreachable!("left out above"),
    });
    let grids = Grids(grids.collect());
    let captures = rng.captures(kernel);
    let mut boxes = vec![(lo.clone(), hi.clone())];
    for d in 0..rank {
        // The last axis is cut where segments end.
        let middle = if d + 1 == rank {
            (lo[d] + hi[d]).div_euclid(128) * 64
        } else {
            (lo[d] + hi[d]) / 2 / group[d] * group[d]
        };
        let halves = |(lo, hi): (Vec<i64>, Vec<i64>)| {
            if middle <= lo[d] || middle >= hi[d] {
                return vec![(lo, hi)];
            }
            let (mut a, mut b) = (hi.clone(), lo.clone());
            (a[d], b[d]) = (middle, middle);
            vec![(lo, a), (b, hi)]
        };
        boxes = boxes.into_iter().flat_map(halves).collect();
    }
    Launch { captures, grids, whole: (lo, hi), boxes }
}

fn extents(rank: usize) -> Vec<i64> {
    [vec![3, 4, 5, 70], vec![4, 5, 70], vec![5, 150], vec![500]][4 - rank].clone()
}

/// Nine populations that each come from a neighbour of their own, over two axes.
fn pulled() -> Kernel {
    let from = |q: i64| [q / 3 - 1, q % 3 - 1];
    let read = |q: i64| load_part(1, at_plus(&from(q)), vec![entry(int(q as u64))]);
    let rest = || load_part(1, at(), vec![entry(int(4))]);
    let stores = (0..9).map(|q| store_part(0, at(), vec![entry(int(q as u64))], None, sub(read(q), rest())));
    let args = [("next", bind(Access::Write, samples::NINE, 2)), ("f", bind(Access::Read, samples::NINE, 2))];
    samples::typed("pulled.rs", 2, &args, &[], &[], block(stores.collect()), vec![], None)
}

#[test]
fn planes_that_are_read_once_are_counted_from_one_pointer() {
    let kernel = pulled();
    assert!(joint(&kernel, &analyse(&kernel)));
    let mut rng = Rng(3);
    for (many, narrow) in [(false, true), (true, true), (true, false)] {
        let launch = launch(&kernel, &extents(2), 4, &[], &mut rng);
        check_sweep(&kernel, &launch, false, many, narrow, "pulled");
        let mut plan = plan(&kernel, &launch.grids, Dialect::Cuda, Goal::Sweep, false, many);
        (plan.narrow, plan.joint) = (narrow, true);
        let text = source(&kernel, &plan).text;
        nvrtc::compile(&text);
        assert_eq!(text.contains("f[p_f + s0_f - 1 + 6 * plane_f]"), narrow, "{text}");
        // What marches has its pointers before the loop.
        let text = source(&kernel, &Plan { march: Some(8), ..plan }).text;
        assert!(text.contains("f_6[p_f + s0_f - 1]"), "{text}");
    }
    // One plane each, and planes that are read all around the cell.
    for sample in samples::all() {
        assert!(!joint(&sample.kernel, &analyse(&sample.kernel)), "{}", sample.name);
    }
}

#[test]
fn sweeps_are_those_of_the_interpreter() {
    let mut rng = Rng(7);
    let mut faults = 0;
    for sample in samples::all().into_iter().filter(|s| s.goal == Goal::Sweep) {
        let kernel = &sample.kernel;
        // Methods of the device's own library differ in the last bits.
        if tida_kernels::analysis::analyse(kernel).uses_inexact {
            continue;
        }
        for (many, narrow) in [(false, true), (true, false)] {
            let whole = [vec![3, 5], vec![4, 9]];
            let mut launch = launch(kernel, &extents(kernel.rank), 4, &whole, &mut rng);
            if sample.name == "gather" {
                // Nothing checks these.
                for n in launch.grids.0[1].bytes.chunks_mut(4) {
                    n.copy_from_slice(&(i32::from(n[0]) % 4).to_le_bytes());
                }
            }
            match sample.name {
                "lookup_checked" => launch.grids.0[1] = Grid::table(&[Value::F64(1.5), Value::F64(-2.0)]),
                // As where ghosts are older than the cells beside them.
                "shifted_checked" => {
                    let valid = launch.whole.clone();
                    (launch.grids.0[1].lo, launch.grids.0[1].hi) = valid;
                }
                "lattice" if many => launch.captures[9] = Value::U64(9),
                "divides" => launch.captures[0] = Value::I64(-i64::from(!many)),
                _ => {}
            }
            faults += usize::from(check_sweep(kernel, &launch, sample.checked, many, narrow, sample.name));
        }
    }
    assert!(faults >= 7, "only {faults} launches raised a fault");
}

#[test]
fn groups_are_those_of_the_interpreter() {
    let (plain, mut rng) = (samples::groups(), Rng(11));
    // Values of one array saturate as they are stored.
    let coded = samples::in_format(&plain, &Format::Range { bits: 16, min: -1.0, max: 3.0 });
    for kernel in [plain, coded] {
        assert_eq!(analyse(&kernel).refused(&kernel), None);
        for (far, many, narrow) in [(3, false, true), (2, true, false), (60, true, true)] {
            let mut launch = launch(&kernel, &[9, 150], 4, &[], &mut rng);
            launch.captures[0] = Value::I64(far);
            assert_eq!(check_sweep(&kernel, &launch, false, many, narrow, "groups"), far > 3);
        }
    }
}

// Reductions.

fn less(a: Value, b: Value, op: FoldOp) -> bool {
    let by = if op == FoldOp::ArgMin { CompareOp::Lt } else { CompareOp::Gt };
    eval::compare(by, a, b)
}

fn is_nan(v: Value) -> bool {
    eval::compare(CompareOp::Ne, v, v)
}

type Partial = (Value, u64);

fn identity(ty: ScalarType, op: FoldOp) -> Partial {
    let (lowest, highest) = match (ty, ty.bounds()) {
        (_, Some((lowest, highest))) => (Value::from_bits(ty, lowest as u64), Value::from_bits(ty, highest as u64)),
        (ScalarType::F32, _) => (Value::F32(f32::NEG_INFINITY), Value::F32(f32::INFINITY)),
        _ => (Value::F64(f64::NEG_INFINITY), Value::F64(f64::INFINITY)),
    };
    let value = match (op, ty) {
        (FoldOp::Sum, ScalarType::F32) => Value::F32(-0.0),
        (FoldOp::Sum, ScalarType::F64) => Value::F64(-0.0),
        (FoldOp::Sum, ty) => Value::from_bits(ty, 0),
        (FoldOp::Product, ty) => eval::cast(Value::U8(1), ty),
        (FoldOp::Min | FoldOp::ArgMin, _) => highest,
        (FoldOp::Max | FoldOp::ArgMax, _) => lowest,
    };
    (value, u64::MAX)
}

/// As `tida::compute::reduce` combines.
fn combine(a: Partial, b: Partial, op: FoldOp) -> Partial {
    let first = if a.1 <= b.1 { a } else { b };
    let nan = (is_nan(a.0), is_nan(b.0));
    match op {
        FoldOp::Sum => (eval::binary(BinaryOp::Add, a.0, b.0), 0),
        FoldOp::Product => (eval::binary(BinaryOp::Mul, a.0, b.0), 0),
        FoldOp::Min | FoldOp::Max if nan.0 => a,
        FoldOp::Min | FoldOp::Max if nan.1 => b,
        FoldOp::Min => (eval::method(Method::Min, &[a.0, b.0]), 0),
        FoldOp::Max => (eval::method(Method::Max, &[a.0, b.0]), 0),
        FoldOp::ArgMin | FoldOp::ArgMax => match nan {
            (true, true) => first,
            (true, false) => a,
            (false, true) => b,
            (false, false) if less(a.0, b.0, op) => a,
            (false, false) if less(b.0, a.0, op) => b,
            (false, false) => first,
        },
    }
}

fn by_halves(mut values: Vec<Partial>, ty: ScalarType, op: FoldOp) -> Partial {
    values.resize(64, identity(ty, op));
    let mut half = 32;
    while half > 0 {
        for i in 0..half {
            values[i] = combine(values[i], values[i + half], op);
        }
        half /= 2;
    }
    values[0]
}

/// The segments of rows of `line` cells from `lo`.
fn segments(values: &[Value], line: usize, lo: i64, op: FoldOp) -> Vec<Partial> {
    let ty = values[0].ty();
    let mut all = Vec::new();
    for (row, cells) in values.chunks(line).enumerate() {
        for segment in lo.div_euclid(64)..=(lo + line as i64 - 1).div_euclid(64) {
            let of = |i: i64| {
                let at = segment * 64 + i - lo;
                let inside = (0..line as i64).contains(&at);
                if inside { (cells[at as usize], (row * line) as u64 + at as u64) } else { identity(ty, op) }
            };
            all.push(by_halves((0..64).map(of).collect(), ty, op));
        }
    }
    all
}

fn is_arg(op: FoldOp) -> bool {
    matches!(op, FoldOp::ArgMin | FoldOp::ArgMax)
}

/// Entries of a list as a device wrote it.
fn entries(bytes: &[u8], ty: ScalarType, op: FoldOp) -> Vec<Partial> {
    let size = if is_arg(op) { 16 } else { ty.size() };
    let read = |entry: &[u8]| {
        let mut bits = [0; 8];
        bits[..ty.size()].copy_from_slice(&entry[..ty.size()]);
        let index = if is_arg(op) { u64::from_le_bytes(entry[8..16].try_into().unwrap()) } else { 0 };
        (Value::from_bits(ty, u64::from_le_bytes(bits)), index)
    };
    bytes.chunks(size).map(read).collect()
}

fn bytes(list: &[Partial], op: FoldOp) -> Vec<u8> {
    let one = |(value, index): &Partial| {
        let mut entry = value.bits().to_le_bytes().to_vec();
        entry.truncate(value.ty().size());
        if is_arg(op) {
            entry.resize(8, 0);
            entry.extend(index.to_le_bytes());
        }
        entry
    };
    list.iter().flat_map(one).collect()
}

fn assert_list(found: &[Partial], expected: &[Partial], op: FoldOp, text: &str) {
    assert_eq!(found.len(), expected.len());
    for (n, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!(same(a.0, b.0) && (!is_arg(op) || a.1 == b.1), "{op:?} entry {n}: {a:?}, not {b:?}\n{text}");
    }
}

const OPS: [FoldOp; 6] = [FoldOp::Sum, FoldOp::Product, FoldOp::Min, FoldOp::Max, FoldOp::ArgMin, FoldOp::ArgMax];

#[test]
fn reductions_keep_their_order() {
    let mut rng = Rng(3);
    for sample in samples::all().into_iter().filter(|s| matches!(s.name, "norm" | "norm_1d" | "best" | "heat_4d")) {
        let kernel = &sample.kernel;
        if sample.goal == Goal::Sweep {
            continue;
        }
        let extent = match kernel.rank {
            1 => vec![64 * 130 + 7],
            2 => vec![19, 64 * 17 + 30],
            _ => vec![3, 9, 200],
        };
        let mut launch = launch(kernel, &extent, 1, &[], &mut rng);
        let ty = kernel.result.scalar().unwrap();
        if ty == ScalarType::F32 {
            // Some NaNs and equal values.
            for (n, chunk) in launch.grids.0[0].bytes.chunks_mut(4).enumerate() {
                let value = if n % 911 == 5 { f32::NAN } else { (n * 37 % 11) as f32 };
                chunk.copy_from_slice(&value.to_le_bytes());
            }
        }
        let (lo, hi) = launch.whole.clone();
        let (values, _) = run_box(kernel, &launch.captures, &lo, &hi, &mut launch.grids, 1000).unwrap();
        let values: Vec<Value> = values.into_iter().map(|v| v[0]).collect();
        let (line, line_lo) = (launch.line() as usize, lo[lo.len() - 1]);
        for many in [false, true] {
            for op in OPS {
                let plan = plan(kernel, &launch.grids, Dialect::OpenCl, Goal::Segments(op), false, many);
                let source = source(kernel, &plan);
                let expected = segments(&values, line, line_lo, op);
                let size = if is_arg(op) { 16 } else { ty.size() };
                let (out, _) = pocl::run(kernel, &plan, &source, &mut launch.clone(), expected.len() * size);
                assert_list(&entries(&out, ty, op), &expected, op, &source.text);
            }
            let plan = plan(kernel, &launch.grids, Dialect::OpenCl, Goal::Values, false, many);
            let source = source(kernel, &plan);
            let (out, _) = pocl::run(kernel, &plan, &source, &mut launch.clone(), values.len() * ty.size());
            for (a, b) in entries(&out, ty, FoldOp::Sum).iter().zip(&values) {
                assert!(same(a.0, *b), "{:?}, not {b:?}\n{}", a.0, source.text);
            }
        }
    }
}

#[test]
fn folds_of_values_and_lists_keep_their_order() {
    use ScalarType::{F32, F64, I8, I16, I32, U16};
    use tida_kernels::emit::fold::{FOLD_GROUPS, FOLD_THREADS, fold_tree_twice, fold_values};
    let mut rng = Rng(5);
    let block = [FOLD_THREADS, 1, 1];
    for ty in [I32, F32, F64, I8, I16, U16] {
        let (rows, line, lo) = (15usize, 333usize, -70i64);
        let mut values: Vec<Value> = (0..rows * line).map(|_| rng.value(ty)).collect();
        if ty == F64 {
            values[700] = Value::F64(f64::NAN);
            values[701] = Value::F64(f64::NAN);
        }
        for op in OPS {
            let source = fold_values(Dialect::OpenCl, ty, op);
            let expected = segments(&values, line, lo, op);
            let plain: Vec<u8> = values.iter().flat_map(|v| v.bits().to_le_bytes()[..ty.size()].to_vec()).collect();
            let mut memories = vec![plain, vec![0; bytes(&expected, op).len()]];
            let given = [
                pocl::Given::Memory(0),
                pocl::Given::Memory(1),
                pocl::Given::Bytes((rows as u64).to_le_bytes().to_vec()),
                pocl::Given::Bytes((line as u64).to_le_bytes().to_vec()),
                pocl::Given::Bytes(lo.to_le_bytes().to_vec()),
            ];
            let program = pocl::MACHINE.build(&source.text);
            let grid = [(expected.len() as u64).div_ceil(FOLD_GROUPS), 1, 1];
            pocl::MACHINE.run(&program, &source.entry, &given, &mut memories, block, grid);
            assert_list(&entries(&memories[1], ty, op), &expected, op, &source.text);

            let source = fold_tree_twice(Dialect::OpenCl, ty, op);
            let list: Vec<Partial> = values.iter().enumerate().map(|(n, v)| (*v, n as u64)).collect();
            let once: Vec<Partial> = list.chunks(64).map(|c| by_halves(c.to_vec(), ty, op)).collect();
            let expected: Vec<Partial> = once.chunks(64).map(|c| by_halves(c.to_vec(), ty, op)).collect();
            assert_eq!((list.len(), expected.len()), (4995, 2));
            let mut memories = vec![bytes(&list, op), vec![0; bytes(&expected, op).len()]];
            let given = [
                pocl::Given::Memory(0),
                pocl::Given::Memory(1),
                pocl::Given::Bytes((list.len() as u64).to_le_bytes().to_vec()),
            ];
            let program = pocl::MACHINE.build(&source.text);
            let grid = [expected.len() as u64, 1, 1];
            pocl::MACHINE.run(&program, &source.entry, &given, &mut memories, block, grid);
            assert_list(&entries(&memories[1], ty, op), &expected, op, &source.text);
        }
    }
}

// Random kernels.

/// Whether every read that needs no check stays within `ghost` cells of `at`.
fn near(kernel: &Kernel, ghost: i64) -> bool {
    let found = tida_kernels::analysis::analyse(kernel);
    let reads = found.args[0].accesses.iter().filter(|a| !a.write && !a.conditional);
    reads.into_iter().all(|access| {
        access.index.iter().enumerate().all(|(axis, form)| match form {
            IndexForm::Affine(f) if f.terms == [(Symbol::At(axis as u32), 1)] => f.constant.abs() <= ghost,
            _ => true,
        })
    })
}

#[test]
fn random_kernels_are_those_of_the_interpreter() {
    let wanted = std::env::var("TIDA_RANDOM_KERNELS").ok().and_then(|n| n.parse().ok()).unwrap_or(14);
    let (mut ran, mut faults) = (0, 0);
    for seed in 0.. {
        if ran == wanted {
            break;
        }
        let mut rng = Rng(seed * 77 + 5);
        let stream: Vec<u32> = (0..40 + rng.below(360)).map(|_| rng.next() as u32).collect();
        let kernel = analysis_support::random::make(stream);
        if !near(&kernel, 2) {
            continue;
        }
        let launch = launch(&kernel, &[3, 5], 2, &[vec![2, 6]], &mut rng);
        // Endless loops are not for devices.
        let (lo, hi) = &launch.whole;
        if run_box(&kernel, &launch.captures, lo, hi, &mut launch.grids.clone(), 10_000).is_err() {
            continue;
        }
        ran += 1;
        let label = format!("seed {seed}\n{kernel}");
        let mut plan = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, true, seed % 2 == 0);
        (plan.narrow, plan.joint) = (seed % 3 == 0, seed % 2 == 0);
        let source = source(&kernel, &plan);
        let mut expected = launch.grids.clone();
        let (_, fault) = run_box(&kernel, &launch.captures, lo, hi, &mut expected, 10_000).unwrap();
        let mut found = launch.clone();
        let (_, raised) = pocl::run(&kernel, &plan, &source, &mut found, 0);
        assert!(expected.0[1].bytes == found.grids.0[1].bytes, "{label}\n{}", source.text);
        assert_eq!(raised, fault, "{label}\n{}", source.text);
        faults += usize::from(fault.is_some());
        if ran % 8 == 0 {
            let cuda = tida_kernels::plan::Plan { dialect: Dialect::Cuda, ..plan };
            emit_support::nvrtc::compile(&emit_support::host::source(&kernel, &cuda).text);
        }
    }
    assert!(faults >= wanted / 8 && faults < wanted, "{faults} of {wanted} raised a fault");
}
