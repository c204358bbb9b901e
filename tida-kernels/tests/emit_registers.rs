//! Values that loops carry in registers, against the interpreter and against loops that read all, bit for bit.

mod emit_support;

use emit_support::compare::{contents, same};
use emit_support::host::{Grid, Grids, Launch, Rng, plan, source};
use emit_support::samples::{CELL, F32, F64, I32, bind, typed};
use emit_support::{nvrtc, pocl};
use tida_kernels::analysis::analyse;
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::interp::run_box;
use tida_kernels::ir::{Access, Kernel, Type};
use tida_kernels::plan::auto::Latency;
use tida_kernels::plan::cache::{Cache, Cached};
use tida_kernels::plan::registers::{Class, USUAL, carried, chosen, kept};
use tida_kernels::plan::{Dialect, Goal, Plan};
use tida_kernels::quote::build::*;
use tida_kernels::quote::*;
use tida_kernels::scalar::Value;

const LONG: Type = Type::Scalar(ScalarType::I64);

/// Cells along each axis that the whole arrays of [`random`] have.
const WHOLE: i64 = 34;

fn axis(n: u64) -> Expr {
    project(at(), entry(int(n)))
}

fn plus(x: Expr, by: i64) -> Expr {
    if by < 0 { sub(x, int(by.unsigned_abs())) } else { add(x, int(by as u64)) }
}

/// SAFARA Fig. 5: a sweep along `i` of columns side by side (`a`) and of rows of a thread's own (`b`).
fn sweep() -> Kernel {
    let a = |by: i64| load(1, array(vec![plus(local(1), by), axis(0)]));
    let b = |by: i64| load(2, array(vec![axis(0), plus(local(1), by)]));
    let sum = add(add(a(-1), b(-1)), add(a(1), b(1)));
    let turn = block(vec![set(0, add(mul(local(0), float(0.5)), sum))]);
    let body = block(vec![let_(0, float(0.0)), for_(1, int(1), capture(0), turn), store(0, at(), local(0))]);
    let args =
        [("next", bind(Access::Write, F64, 1)), ("a", bind(Access::All, F64, 2)), ("b", bind(Access::All, F64, 2))];
    typed("sweep.rs", 1, &args, &[("n", LONG)], &["sum", "i"], body, vec![], None)
}

/// A kernel of loops that read rows of several arguments: beside the cell (0), in whole arrays (1) and in tables (2),
/// of one of them more often; and where it runs.
fn random(rng: &mut Rng, often: u64) -> (Kernel, Launch) {
    let (lo, extent) = ([-2, 1], [4, 19]);
    let hi = [lo[0] + extent[0], lo[1] + extent[1]];
    let pick = |rng: &mut Rng, of: &[i64]| of[rng.below(of.len() as u64) as usize];
    let element = |rng: &mut Rng| [F64, F32, I32, CELL][rng.below(4) as usize];
    let (beside, whole): (ElementType, ElementType) = (element(rng), element(rng));
    let args = [
        ("next", bind(Access::Write, F64, 2)),
        ("near", bind(Access::Read, beside, 2)),
        ("all", bind(Access::All, whole, 2)),
        ("table", bind(Access::Table, F64, 1)),
    ];
    let path = |rng: &mut Rng, element: ElementType| match element == CELL {
        true => {
            [vec![field("rho")], vec![field("v"), entry(int(1))], vec![field("kind")]][rng.below(3) as usize].clone()
        }
        false => Vec::new(),
    };
    // Reads at the counter of a loop, which is 2 to 12: the same few ways, so that some are of one row.
    let ways = [often, rng.below(3)].map(|of| {
        let path = path(rng, [beside, whole, F64][of as usize]);
        (of, pick(rng, &[1, 1, 1, 2, -1]), path, rng.below(2) == 0)
    });
    let near = |rng: &mut Rng, counter: u32| {
        let (of, rate, path, down) = ways[usize::from(rng.below(3) == 0)].clone();
        let by = rng.below(5) as i64 - 2;
        let along = |rate: i64| match rate {
            1 => plus(local(counter), by),
            2 => plus(mul(local(counter), int(2)), by),
            _ => sub(signed(20 + by), local(counter)),
        };
        let value = match of {
            0 => load_part(1, array(vec![plus(axis(0), pick(rng, &[0, 0, 0, 1])), along(1)]), path),
            1 if down => load_part(2, array(vec![along(rate), axis(1)]), path),
            1 => load_part(2, array(vec![axis(1), along(rate)]), path),
            _ => load(3, cast(along(rate), ScalarType::U64)),
        };
        cast(value, ScalarType::F64)
    };
    let gather = |rng: &mut Rng, counter: u32| {
        let sum = near(rng, counter);
        (0..2 + rng.below(2)).fold(sum, |sum, _| add(sum, near(rng, counter)))
    };
    let mut all = vec![let_(0, float(0.0))];
    for counter in [1, 2] {
        let odd = |local_: u32| compare(CompareOp::Eq, method(Method::RemEuclid, vec![local(local_), int(3)]), int(1));
        let mut turn = Vec::new();
        if rng.below(4) == 0 {
            let leave = if rng.below(2) == 0 { stmt(StmtKind::Break(0)) } else { stmt(StmtKind::Continue(0)) };
            turn.push(eval(if_then(compare(CompareOp::Gt, local(0), float(1e3)), block(vec![leave]))));
        }
        turn.push(set(0, add(mul(local(0), float(0.5)), gather(rng, counter))));
        if rng.below(2) == 0 {
            turn.push(eval(if_then(odd(counter), block(vec![set(0, sub(local(0), gather(rng, counter)))]))));
        }
        if rng.below(4) == 0 {
            // A value that nothing names.
            turn.push(let_(3, gather(rng, counter)));
        }
        if rng.below(3) == 0 {
            // A loop in the loop, with reads of both.
            let inner = set(0, add(local(0), add(near(rng, counter), near(rng, 4))));
            turn.push(for_(4, int_of(2, ScalarType::I64), capture(1), block(vec![inner])));
        }
        if rng.below(4) == 0 {
            turn.push(eval(if_then(odd(counter), block(vec![stmt(StmtKind::Continue(0))]))));
            turn.push(set(0, add(local(0), gather(rng, counter))));
        }
        // From nine iterations to none.
        let from = if rng.below(2) == 0 { int_of(2, ScalarType::I64) } else { capture(2) };
        let (hi, inclusive, body) = (capture(1), rng.below(3) == 0, block(turn));
        let turns = stmt(StmtKind::For { local: counter, range: Range::plain(from, hi, inclusive), body });
        all.push(match rng.below(4) {
            0 => eval(if_then(compare(CompareOp::Lt, axis(1), int(9)), block(vec![turns]))),
            _ => turns,
        });
    }
    all.push(store(0, at(), add(local(0), capture(0))));
    let captures = [("scale", Type::Scalar(ScalarType::F64)), ("end", LONG), ("start", LONG)];
    let kernel = typed("random.rs", 2, &args, &captures, &["sum", "k", "m", "idle", "j"], block(all), vec![], None);
    let ends = if rng.below(2) == 0 { vec![vec![WHOLE], vec![WHOLE]] } else { vec![vec![9, WHOLE], vec![20, WHOLE]] };
    let grids = Grids(vec![
        Grid::tiled(Access::Write, F64, &lo, &hi, rng),
        Grid::tiled(Access::Read, beside, &[lo[0], lo[1] - 2], &[hi[0] + 1, hi[1] + 2], rng),
        Grid::whole(whole, &ends, rng),
        Grid::table(&(0..WHOLE).map(|_| rng.value(ScalarType::F64)).collect::<Vec<_>>()),
    ]);
    let end = 2 + rng.below(10) as i64;
    let captures = vec![Value::F64(0.25), Value::I64(end), Value::I64(2 + rng.below(3) as i64)];
    let (lo, hi) = (lo.to_vec(), hi.to_vec());
    let launch = Launch { captures, grids, whole: (lo.clone(), hi.clone()), boxes: vec![(lo, hi)] };
    (kernel, launch)
}

/// Runs a launch as some plans say: the interpreter's bits.
fn check(kernel: &Kernel, launch: &Launch, plans: &[Plan], label: &str) {
    let mut expected = launch.grids.clone();
    let (lo, hi) = &launch.whole;
    let (_, fault) = run_box(kernel, &launch.captures, lo, hi, &mut expected, 1_000_000).unwrap();
    assert!(fault.is_none(), "{label}: {fault:?}");
    for plan in plans {
        let source = source(kernel, plan);
        let mut found = launch.clone();
        let (_, raised) = pocl::run(kernel, plan, &source, &mut found, 0);
        assert!(raised.is_none(), "{label}");
        for (a, b) in contents(&expected, 0).into_iter().zip(contents(&found.grids, 0)) {
            let (budget, place) = (plan.registers, a.0);
            assert!(same(a.2, b.2), "{label}, {budget}: {place:?}: {:?}, not {:?}\n{}", b.2, a.2, source.text);
        }
    }
}

#[test]
fn random_loops_give_the_same_bits_from_registers() {
    let wanted = std::env::var("TIDA_RANDOM_KERNELS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let (mut rows, mut ways) = (0, [0; 4]);
    for seed in 0..wanted {
        let mut rng = Rng(seed * 57 + 3);
        let (kernel, launch) = random(&mut rng, seed % 3);
        let mut plan = plan(&kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, seed % 2 == 0);
        if launch.grids.0[2].regions.len() == 1 && seed % 3 > 0 {
            plan.cache = vec![Cached { arg: 2, how: Cache::None, cut: false }];
        }
        let march = (seed % 4 == 0).then_some(3);
        let plans = [0, 6, 200].map(|registers| Plan { registers, march, ..plan.clone() });
        let some = if seed % 3 == 1 { &plans[1..2] } else { &plans[2..] };
        check(&kernel, &launch, some, &format!("seed {seed}\n{kernel}"));
        let all = kept(&kernel, &analyse(&kernel), &plans[2]);
        assert!(kept(&kernel, &analyse(&kernel), &plans[0]).carried.is_empty());
        rows += u64::from(!all.carried.is_empty());
        for (arg, way) in ways.iter_mut().enumerate() {
            *way += all.carried.iter().filter(|row| row.arg == arg).count();
        }
        if seed % 6 == 0 {
            nvrtc::compile(&source(&kernel, &Plan { dialect: Dialect::Cuda, ..plans[2].clone() }).text);
        }
    }
    assert!(rows > wanted / 2 && ways[1..].iter().all(|n| *n > 0), "{rows} of {wanted}, {ways:?}");
}

#[test]
fn the_texts_of_a_sweep_stay_as_they_are() {
    let kernel = sweep();
    let mut rng = Rng(4);
    let grids = Grids(vec![
        Grid::tiled(Access::Write, F64, &[0], &[32], &mut rng),
        Grid::whole(F64, &[vec![34], vec![34]], &mut rng),
        Grid::whole(F64, &[vec![34], vec![34]], &mut rng),
    ]);
    let launch =
        Launch { captures: vec![Value::I64(31)], grids, whole: (vec![0], vec![32]), boxes: vec![(vec![0], vec![32])] };
    for (dialect, name) in [(Dialect::Cuda, "cuda"), (Dialect::OpenCl, "opencl")] {
        let mut plan = plan(&kernel, &launch.grids, dialect, Goal::Sweep, false, false);
        plan.cache = [1, 2].map(|arg| Cached { arg, how: Cache::None, cut: false }).to_vec();
        let text = source(&kernel, &plan).text;
        match dialect {
            Dialect::Cuda => drop(nvrtc::compile(&text)),
            // As many iterations as there can be, one and none.
            Dialect::OpenCl => {
                for n in [31, 2, 1, -5] {
                    let launch = Launch { captures: vec![Value::I64(n)], ..launch.clone() };
                    check(&kernel, &launch, &[plan.clone()], &format!("{n}"));
                }
            }
        }
        insta::assert_snapshot!(format!("sweep.{name}"), text);
    }
}

/// The rows of a loop of so many iterations that reads `a[[k * rate + offset, at]]`.
fn rows(rate: i64, offsets: &[i64], end: Expr) -> Vec<(i64, i64, u32, u32)> {
    let read = |by: &i64| load(1, array(vec![plus(mul(local(1), signed(rate)), *by), axis(0)]));
    let sum = offsets[1..].iter().fold(read(&offsets[0]), |sum, by| add(sum, read(by)));
    let turn = block(vec![set(0, add(local(0), sum))]);
    let body =
        block(vec![let_(0, float(0.0)), for_(1, int_of(0, ScalarType::I64), end, turn), store(0, at(), local(0))]);
    let args = [("next", bind(Access::Write, F64, 1)), ("a", bind(Access::All, F64, 2))];
    let kernel = typed("rows.rs", 1, &args, &[("n", LONG)], &["sum", "k"], body, vec![], None);
    let found = carried(&kernel, &analyse(&kernel));
    found.into_iter().map(|row| (row.along.0, row.along.1, row.saved, row.registers())).collect()
}

#[test]
fn rows_hold_what_an_iteration_reads_again() {
    assert_eq!(rows(1, &[-1, 0, 1], capture(0)), [(-1, 1, 2, 6)]);
    assert_eq!(rows(1, &[2, -1, 2], capture(0)), [(-1, 2, 1, 8)]);
    // Two iterations apart, and one that is between them.
    assert_eq!(rows(2, &[-1, 1, 0], capture(0)), [(-1, 0, 1, 4)]);
    assert_eq!(rows(-3, &[3, 0, -3], capture(0)), [(-1, 1, 2, 6)]);
    // Nine values are one row, ten are not.
    assert_eq!(rows(1, &[-4, 4], capture(0)), [(-4, 4, 1, 18)]);
    assert_eq!(rows(1, &[-4, 5], capture(0)), []);
    // What a loop does not move is kept by compilers, and what a short loop reads too.
    assert_eq!(rows(0, &[0, 1], capture(0)), []);
    assert_eq!(rows(1, &[0, 1], int_of(8, ScalarType::I64)), []);
    assert_eq!(rows(1, &[0, 1], int_of(9, ScalarType::I64)), [(0, 1, 1, 4)]);
}

#[test]
fn scattered_rows_come_before_those_read_side_by_side() {
    // The example of §III-B4: `a` is read side by side, `b` is not, and there is room for one of them.
    let kernel = sweep();
    let analysis = analyse(&kernel);
    let of = |budget: u32, latency: &Latency| {
        chosen(&kernel, &analysis, false, budget, latency).carried.iter().map(|row| row.arg).collect::<Vec<_>>()
    };
    assert_eq!(of(6, &Latency::TYPICAL), [2]);
    assert_eq!(of(5, &Latency::TYPICAL), [0; 0]);
    assert_eq!(of(USUAL, &Latency::TYPICAL), [1, 2]);
    // A device on which it is the other way round.
    assert_eq!(of(6, &Latency { coalesced: 900, ..Latency::TYPICAL }), [1]);
    let classes: Vec<Class> = carried(&kernel, &analysis).iter().map(|row| Class::of(&row.index, 1)).collect();
    assert_eq!(classes, [Class::Coalesced, Class::Scattered]);
}
