//! Kernels that march along axis 0, against the interpreter and against one thread a cell, bit for bit.

mod emit_support;

use emit_support::compare::{contents, same};
use emit_support::host::{Grid, Grids, Launch, Rng, plan, source};
use emit_support::samples::{CELL, F32, F64, I32, V3, bind, typed};
use emit_support::{nvrtc, pocl, samples};
use tida_kernels::analysis::analyse;
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::emit::Param;
use tida_kernels::interp::run_box;
use tida_kernels::ir::{Access, FaceKernel, Kernel, Type, with_faces};
use tida_kernels::plan::auto::Latency;
use tida_kernels::plan::march::saving;
use tida_kernels::plan::registers::{USUAL, chosen};
use tida_kernels::plan::{Dialect, Goal, Plan};
use tida_kernels::quote::build::*;
use tida_kernels::quote::*;
use tida_kernels::scalar::Value;

/// The widest offset of a read.
const WIDE: i64 = 2;

/// A launch over a box cut at some planes, with ghosts around that are as wide as reads are.
fn launch(kernel: &Kernel, extent: &[i64], cuts: &[i64], rng: &mut Rng) -> Launch {
    let lo: Vec<i64> = (0..kernel.rank).map(|d| 3 * d as i64 - 2).collect();
    let hi: Vec<i64> = lo.iter().zip(extent).map(|(lo, n)| lo + n).collect();
    let grids = kernel.args.iter().map(|arg| {
        if arg.access == Access::Table {
            return Grid::table(&(0..4).map(|_| rng.value(ScalarType::F64)).collect::<Vec<_>>());
        }
        let ghost = if arg.access == Access::Write { 0 } else { WIDE };
        let held = |by: i64, of: &[i64]| of.iter().map(|x| x + by).collect::<Vec<i64>>();
        Grid::tiled(arg.access, arg.element, &held(-ghost, &lo), &held(ghost, &hi), rng)
    });
    let grids = Grids(grids.collect());
    let captures = rng.captures(kernel);
    let mut ends: Vec<i64> = cuts.iter().map(|cut| lo[0] + cut).filter(|cut| lo[0] < *cut && *cut < hi[0]).collect();
    ends.extend([lo[0], hi[0]]);
    ends.sort_unstable();
    ends.dedup();
    let slab = |pair: &[i64]| {
        let (mut a, mut b) = (lo.clone(), hi.clone());
        (a[0], b[0]) = (pair[0], pair[1]);
        (a, b)
    };
    let boxes = ends.windows(2).map(slab).collect();
    Launch { captures, grids, whole: (lo, hi), boxes }
}

/// Runs a launch as the plan says; the bytes of each argument.
fn run(kernel: &Kernel, launch: &Launch, plan: &Plan) -> Grids {
    let source = source(kernel, plan);
    assert_eq!(source.params.contains(&Param::March), plan.march.is_some(), "{}", source.text);
    let mut found = launch.clone();
    let (_, raised) = pocl::run(kernel, plan, &source, &mut found, 0);
    assert!(raised.is_none(), "{}", source.text);
    found.grids
}

/// The plan with a march of so many cells equals the plain one and the interpreter.
fn check(kernel: &Kernel, launch: &Launch, plain: &Plan, lengths: &[u32], label: &str) {
    let mut expected = launch.grids.clone();
    let (lo, hi) = &launch.whole;
    let (_, fault) = run_box(kernel, &launch.captures, lo, hi, &mut expected, 100_000).unwrap();
    assert!(fault.is_none(), "{label}");
    let plans = std::iter::once(plain.clone());
    let plans = plans.chain(lengths.iter().map(|length| Plan { march: Some(*length), ..plain.clone() }));
    for plan in plans {
        let found = run(kernel, launch, &plan);
        for arg in 0..launch.grids.0.len() {
            if expected.0[arg].bytes == found.0[arg].bytes {
                continue;
            }
            for (a, b) in contents(&expected, arg).into_iter().zip(contents(&found, arg)) {
                let text = || source(kernel, &plan).text;
                let (march, place) = (plan.march, a.0);
                assert!(same(a.2, b.2), "{label}, {march:?}: {arg} at {place:?}: {:?}, not {:?}\n{}", b.2, a.2, text());
            }
        }
    }
}

#[test]
fn samples_march_to_the_same_bits() {
    let mut rng = Rng(11);
    let mut marched = 0;
    for sample in samples::all() {
        let kernel = &sample.kernel;
        let usual = !kernel.args.iter().any(|arg| arg.access == Access::All) && sample.name != "lattice";
        if sample.goal != Goal::Sweep || sample.checked || kernel.rank < 2 || !usual {
            continue;
        }
        let extent = [vec![7, 3, 4, 9], vec![11, 5, 20], vec![13, 40]][4 - kernel.rank].clone();
        for (many, narrow) in [(false, true), (true, false)] {
            let launch = launch(kernel, &extent, &[5, 6], &mut rng);
            let mut plain = plan(kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, many);
            plain.narrow = narrow;
            check(kernel, &launch, &plain, &[1, 3, 4, 8, 100], sample.name);
            marched += 1;
        }
    }
    assert!(marched >= 14, "{marched}");
}

/// One of the elements, with the ways to its components that are numbers.
fn element(rng: &mut Rng) -> (ElementType, Vec<Vec<Projection>>) {
    let v = |n: u64| vec![field("v"), entry(int(n))];
    match rng.below(6) {
        0 => (F32, vec![vec![]]),
        1 => (I32, vec![vec![]]),
        2 => (V3, (0..3).map(|n| vec![entry(int(n))]).collect()),
        3 => (CELL, vec![vec![field("rho")], v(0), v(2), vec![field("kind")]]),
        _ => (F64, vec![vec![]]),
    }
}

/// A kernel that reads columns of several arrays, some in branches, and leaves some cells early.
fn random(rng: &mut Rng) -> Kernel {
    let rank = 2 + rng.below(3) as usize;
    let mut args = vec![("next", bind(Access::Write, F64, rank)), ("table", bind(Access::Table, F64, 1))];
    let mut ways = Vec::new();
    for name in ["a", "b", "c"].into_iter().take(1 + rng.below(3) as usize) {
        let (element, paths) = element(rng);
        ways.push((args.len() as u32, paths));
        args.push((name, bind(Access::Read, element, rank)));
    }
    let read = |rng: &mut Rng| {
        let (arg, paths) = &ways[rng.below(ways.len() as u64) as usize];
        let path = paths[rng.below(paths.len() as u64) as usize].clone();
        let wide = |rng: &mut Rng| rng.below(2 * WIDE as u64 + 1) as i64 - WIDE;
        let mut offset: Vec<i64> = (0..rank).map(|_| if rng.below(4) == 0 { wide(rng) } else { 0 }).collect();
        offset[0] = wide(rng);
        cast(load_part(*arg, at_plus(&offset), path), ScalarType::F64)
    };
    let sum = (0..2 + rng.below(8)).fold(read(rng), |sum, n| {
        let value = read(rng);
        if n % 3 == 2 { sub(sum, mul(capture(0), value)) } else { add(sum, value) }
    });
    let axis = |n: usize| project(at(), entry(int(n as u64)));
    let weight = load(1, cast(binary(BinaryOp::BitAnd, axis(rank - 1), int(3)), ScalarType::U64));
    let mut body = vec![let_(0, sum)];
    if rng.below(2) == 0 {
        body.push(set(0, mul(local(0), weight)));
    }
    if rng.below(2) == 0 {
        let positive = compare(CompareOp::Gt, local(0), float(0.0));
        body.push(eval(if_then(positive, block(vec![set(0, add(local(0), read(rng)))]))));
    }
    let rest = |by| compare(CompareOp::Eq, method(Method::RemEuclid, vec![axis(0), int(3)]), int(by));
    match rng.below(4) {
        // A cell that ends early, from no loop and from one.
        0 => body.push(eval(if_then(rest(1), block(vec![store(0, at(), local(0)), return_(None)])))),
        1 => {
            let long = compare(CompareOp::Gt, cast(local(1), ScalarType::I64), axis(0));
            let leave = block(vec![store(0, at(), sub(local(0), float(1.0))), return_(None)]);
            let turn = block(vec![eval(if_then(long, leave)), set(0, add(local(0), read(rng)))]);
            body.push(for_(1, int_of(0, ScalarType::I32), int_of(3, ScalarType::I32), turn));
        }
        _ => {}
    }
    body.push(store(0, at(), add(local(0), cast(axis(0), ScalarType::F64))));
    let captures = [("self.c", Type::Scalar(ScalarType::F64))];
    typed("random.rs", rank, &args, &captures, &["sum", "turn"], block(body), vec![], None)
}

#[test]
fn random_kernels_march_to_the_same_bits() {
    let wanted = std::env::var("TIDA_RANDOM_KERNELS").ok().and_then(|n| n.parse().ok()).unwrap_or(14);
    let (mut kept, mut early) = (0, [0, 0]);
    for seed in 0..wanted {
        let mut rng = Rng(seed * 91 + 7);
        let kernel = random(&mut rng);
        let planes = [1, 2, 5, 9, 14][rng.below(5) as usize];
        let extent = [vec![planes, 3, 2, 9], vec![planes, 4, 11], vec![planes, 19]][4 - kernel.rank].clone();
        let cuts = [rng.below(planes as u64) as i64, rng.below(planes as u64) as i64];
        let launch = launch(&kernel, &extent, &cuts, &mut rng);
        let mut plain = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, seed % 2 == 0);
        plain.narrow = seed % 3 != 0;
        let lengths = [1 + rng.below(9) as u32, 4];
        check(&kernel, &launch, &plain, &lengths, &format!("seed {seed}\n{kernel}"));
        let saving = saving(&kernel, &analyse(&kernel));
        kept += u64::from(saving.saved > 0);
        let text = source(&kernel, &Plan { march: Some(4), ..plain.clone() }).text;
        early[0] += u64::from(text.contains("continue;"));
        early[1] += u64::from(text.contains("goto "));
        if seed % 4 == 0 {
            nvrtc::compile(&source(&kernel, &Plan { dialect: Dialect::Cuda, march: Some(4), ..plain }).text);
        }
    }
    assert!(kept > wanted / 2 && early.iter().all(|n| *n > wanted / 10), "{kept} of {wanted}, {early:?}");
}

#[test]
fn cuda_takes_marched_samples() {
    let mut rng = Rng(3);
    for sample in samples::all().into_iter().filter(|s| s.goal == Goal::Sweep && s.kernel.rank > 1 && !s.checked) {
        let kernel = &sample.kernel;
        if kernel.args.iter().any(|arg| arg.access == Access::All) {
            continue;
        }
        let launch = launch(kernel, &vec![3; kernel.rank], &[], &mut rng);
        for many in [false, true] {
            let plan = plan(kernel, &launch.grids, Dialect::Cuda, Goal::Sweep, false, many);
            nvrtc::compile(&source(kernel, &Plan { march: Some(8), by_value: if many { 4 } else { 0 }, ..plan }).text);
        }
    }
}

/// What `heat` keeps and where it is used, in both languages.
#[test]
fn texts_stay_as_they_are() {
    let sample = samples::all().into_iter().find(|s| s.name == "heat_3d").unwrap();
    let mut rng = Rng(5);
    let launch = launch(&sample.kernel, &[2, 2, 2], &[], &mut rng);
    for (dialect, name) in [(Dialect::Cuda, "cuda"), (Dialect::OpenCl, "opencl")] {
        let plan = plan(&sample.kernel, &launch.grids, dialect, Goal::Sweep, false, false);
        let plan = Plan { groups: vec![0; 2], block: [64, 4, 1], march: Some(8), ..plan };
        insta::assert_snapshot!(format!("heat_3d.{name}"), source(&sample.kernel, &plan).text);
    }
}

/// A sweep that sets the ghosts at both ends of its rows.
fn with_ghosts() -> Kernel {
    let face = |inwards: i64| {
        let args = [("u", bind(Access::Write, F64, 3))];
        let inside = let_(0, load(0, at_plus(&[0, 0, inwards])));
        let body = vec![inside, store(0, at(), sub(capture(0), local(0)))];
        let captures = [("self.c", Type::Scalar(ScalarType::F64))];
        typed("face.rs", 3, &args, &captures, &["inside"], block(body), vec![], None)
    };
    let (low, high) = (face(1), face(-1));
    let faces = [FaceKernel { kernel: &low, inwards: 1 }, FaceKernel { kernel: &high, inwards: -1 }];
    let sample = samples::all().into_iter().find(|s| s.name == "heat_3d").unwrap();
    with_faces(&sample.kernel, 0, &faces).unwrap()
}

/// Blocks of threads without such a cell have a loop of their own.
#[test]
fn ghosts_beside_a_march_are_those_of_one_thread_a_cell() {
    let mut rng = Rng(17);
    let kernel = with_ghosts();
    for (extent, many) in [([9, 3, 40], false), ([5, 2, 200], false), ([4, 3, 130], true)] {
        let mut launch = launch(&kernel, &extent, &[2][..usize::from(many)], &mut rng);
        let (lo, hi) = launch.whole.clone();
        let held = |by: i64, of: &[i64]| of.iter().map(|x| x + by).collect::<Vec<i64>>();
        launch.grids.0[0] = Grid::tiled(Access::Write, F64, &held(-1, &lo), &held(1, &hi), &mut rng);
        let ends = launch.captures.len() - 2;
        for (capture, place) in launch.captures[ends..].iter_mut().zip([lo[2], hi[2] - 1]) {
            *capture = Value::from_bits(ScalarType::I64, place as u64);
        }
        let plain = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, many);
        check(&kernel, &launch, &plain, &[1, 3, 4, 8], "ghosts");
        for (dialect, march) in [(Dialect::Cuda, Some(8)), (Dialect::OpenCl, Some(4)), (Dialect::Cuda, None)] {
            let text = source(&kernel, &Plan { dialect, march, ..plain.clone() }).text;
            let count = |of: &str| text.matches(of).count();
            let expected = match (march, many) {
                (None, _) => (0, 0),
                (Some(_), true) => (1, 0),
                (Some(_), false) => (1, 1),
            };
            assert_eq!((count("#pragma unroll 1\n"), count("#pragma unroll 4\n")), expected, "{text}");
            if dialect == Dialect::Cuda {
                nvrtc::compile(&text);
            }
        }
    }
}

#[test]
fn reductions_checked_and_single_axes_do_not_march() {
    let mut rng = Rng(5);
    for sample in samples::all() {
        let (kernel, sweep) = (&sample.kernel, sample.goal == Goal::Sweep);
        if sweep && !sample.checked && kernel.rank > 1 {
            continue;
        }
        let launch = Launch { grids: Grids(Vec::new()), ..launch(kernel, &vec![2; kernel.rank], &[], &mut rng) };
        let plan = plan(kernel, &launch.grids, Dialect::Cuda, sample.goal, sample.checked, false);
        let marching = Plan { march: Some(8), ..plan.clone() };
        assert_eq!(source(kernel, &marching).text, source(kernel, &plan).text, "{}", sample.name);
        assert_eq!(marching.blocks(&[9; 4][..kernel.rank]), plan.blocks(&[9; 4][..kernel.rank]));
    }
}

#[test]
fn queues_hold_what_is_read_and_no_more() {
    let u = |o: &[i64]| load(1, at_plus(o));
    let by = |offsets: &[&[i64]]| {
        let sum = offsets[1..].iter().fold(u(offsets[0]), |sum, o| add(sum, u(o)));
        let args = [("next", bind(Access::Write, F64, 3)), ("u", bind(Access::Read, F64, 3))];
        typed("q.rs", 3, &args, &[], &[], block(vec![store(0, at(), sum)]), vec![], None)
    };
    let of = |offsets: &[&[i64]]| {
        let kernel = by(offsets);
        chosen(&kernel, &analyse(&kernel), true, USUAL, &Latency::TYPICAL)
            .queues
            .into_iter()
            .map(|q| (q.across, q.along, q.reads))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&[&[-1, 0, 0], &[0, 0, 0], &[0, 0, 0], &[1, 0, 0], &[0, 1, 0]]), [(vec![0, 0], (-1, 1), 3)]);
    // Columns of their own.
    assert_eq!(
        of(&[&[2, 0, 1], &[-1, 0, 1], &[0, 0, -1], &[3, 0, -1]]),
        [(vec![0, -1], (0, 3), 2), (vec![0, 1], (-1, 2), 2)]
    );
    // Nine values are one queue, ten are not.
    assert_eq!(of(&[&[-4, 0, 0], &[0, 0, 0], &[4, 0, 0]]), [(vec![0, 0], (-4, 4), 3)]);
    assert_eq!(of(&[&[-4, 0, 0], &[0, 0, 0], &[5, 0, 0]]), [(vec![0, 0], (-4, 0), 2)]);
    // Too far apart for one queue.
    assert_eq!(of(&[&[-20, 0, 0], &[-18, 0, 0], &[0, 0, 0], &[20, 0, 0]]), [(vec![0, 0], (-20, -18), 2)]);
    assert_eq!(of(&[&[0, 0, 0], &[0, 1, 0], &[0, 0, 1]]), []);
    // More columns than registers: those of three reads before those of two.
    let mut many: Vec<Vec<i64>> = Vec::new();
    for x in 0..12 {
        many.extend([vec![-1, 0, x], vec![1, 0, x]]);
        many.extend((x % 2 == 0).then(|| vec![0, 0, x]));
    }
    let many: Vec<&[i64]> = many.iter().map(Vec::as_slice).collect();
    let kept = of(&many);
    assert_eq!(kept.len(), 10);
    assert_eq!(kept.iter().filter(|q| q.2 == 3).count(), 6);
    let kernel = by(&many);
    let found = saving(&kernel, &analyse(&kernel));
    assert_eq!((found.reads, found.saved, found.first, found.registers), (30, 6 * 2 + 4, 20, 60));
}

#[test]
fn loops_and_library_functions_do_not_suit_a_march() {
    let suits = |name: &str| {
        let sample = samples::all().into_iter().find(|sample| sample.name == name).unwrap();
        saving(&sample.kernel, &analyse(&sample.kernel)).suits
    };
    assert!(suits("heat_3d") && suits("wave") && suits("life"));
    // A loop, one in a function that is called.
    assert!(!suits("lattice") && !suits("mandelbrot"));
    // Library functions of `f32` are cheap, those of `f64` are not.
    let exp = |element| {
        let args = [("next", bind(Access::Write, element, 2)), ("u", bind(Access::Read, element, 2))];
        let value = add(method(Method::Exp, vec![load(1, at())]), load(1, at_plus(&[1, 0])));
        let kernel = typed("exp.rs", 2, &args, &[], &[], block(vec![store(0, at(), value)]), vec![], None);
        saving(&kernel, &analyse(&kernel)).suits
    };
    assert!(exp(F32) && !exp(F64));
    // Many arrays.
    let names = ["a", "b", "c", "d", "e", "f"];
    let many = |count: usize| {
        let mut args = vec![("next", bind(Access::Write, F64, 2))];
        args.extend(names[..count].iter().map(|name| (*name, bind(Access::Read, F64, 2))));
        let sum = (2..=count as u32).fold(load(1, at()), |sum, arg| add(sum, load(arg, at())));
        let kernel = typed("many.rs", 2, &args, &[], &[], block(vec![store(0, at(), sum)]), vec![], None);
        saving(&kernel, &analyse(&kernel)).suits
    };
    assert!(many(5) && !many(6));
    // Few arrays, of many components that are read.
    let planes = |read: u64| {
        let args =
            [("next", bind(Access::Write, F32, 2)), ("a", bind(Access::Read, V3, 2)), ("b", bind(Access::Read, V3, 2))];
        let parts = (0..2 * read).map(|n| load_part(1 + (n % 2) as u32, at(), vec![entry(int(n / 2))]));
        let sum = parts.reduce(add).unwrap();
        let kernel = typed(
            "planes.rs",
            2,
            &args,
            &[],
            &[],
            block(vec![store(0, at(), cast(sum, ScalarType::F32))]),
            vec![],
            None,
        );
        saving(&kernel, &analyse(&kernel)).suits
    };
    assert!(planes(2) && !planes(3));
}

#[test]
fn values_in_branches_come_from_registers_that_are_there() {
    // The branch reads what the march has, and what it does not have.
    let u = |o: &[i64]| load(1, at_plus(o));
    let wet = compare(CompareOp::Gt, u(&[0, 0]), float(0.0));
    let value = if_else(wet, value_block(vec![], u(&[1, 0])), value_block(vec![], u(&[0, 1])));
    let body = block(vec![let_(0, add(u(&[-1, 0]), u(&[1, 0]))), store(0, at(), add(local(0), value))]);
    let args = [("next", bind(Access::Write, F64, 2)), ("u", bind(Access::Read, F64, 2))];
    let kernel = typed("branch.rs", 2, &args, &[], &["x"], body, vec![], None);
    let mut rng = Rng(8);
    let mut launch = launch(&kernel, &[9, 21], &[4], &mut rng);
    launch.captures = Vec::<Value>::new();
    let plain = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, false);
    let text = source(&kernel, &Plan { march: Some(4), ..plain.clone() }).text;
    assert_eq!(text.matches("u_p1_0").count(), 5, "{text}");
    assert!(text.contains("[p + 1]") || text.contains("[p_u + 1]"), "{text}");
    check(&kernel, &launch, &plain, &[2, 5], "branch");
}
