//! Kernels joined, against the interpreter run over one after the other, bit for bit.

mod emit_support;

use std::collections::BTreeMap;

use emit_support::compare::{contents, same};
use emit_support::host::{Grid, Grids, Launch, Rng, plan, source};
use emit_support::samples::{F32, F64, bind, typed};
use emit_support::{nvrtc, pocl};
use proptest::prelude::*;
use tida_kernels::analysis::analyse;
use tida_kernels::element::ScalarType;
use tida_kernels::interp::run_box;
use tida_kernels::ir::{Access, Kernel, Type, join, join_value};
use tida_kernels::plan::join::joins;
use tida_kernels::plan::march::saving;
use tida_kernels::plan::{Dialect, Goal, Plan};
use tida_kernels::quote::build::*;
use tida_kernels::quote::*;

/// How far kernels read.
const WIDE: i64 = 1;

/// A kernel that writes arrays of its own and reads some that others read too; each argument with the number of its
/// array.
fn random(rng: &mut Rng, rank: usize, number: usize, last: bool) -> (Kernel, Vec<usize>) {
    let names = ["next", "a", "b", "c", "w"];
    let mut args = vec![(names[0], bind(Access::Write, F64, rank))];
    let mut arrays = vec![100 + number];
    // In another order in each kernel.
    let first = rng.below(3) as usize;
    for n in 0..1 + rng.below(3) as usize {
        let array = (first + n) % 3;
        args.push((names[1 + array], bind(Access::Read, if array == 2 { F32 } else { F64 }, rank)));
        arrays.push(array);
    }
    let table = args.len() as u32;
    args.push((names[4], bind(Access::Table, F64, 1)));
    arrays.push(4);
    let read = |rng: &mut Rng| {
        let offset: Vec<i64> = (0..rank).map(|_| rng.below(2 * WIDE as u64 + 1) as i64 - WIDE).collect();
        cast(load(1 + rng.below(u64::from(table) - 1) as u32, at_plus(&offset)), ScalarType::F64)
    };
    let axis = |n: usize| project(at(), entry(int(n as u64)));
    let weight = load(table, cast(binary(BinaryOp::BitAnd, axis(rank - 1), int(3)), ScalarType::U64));
    let sum = (0..1 + rng.below(6)).fold(read(rng), |sum, n| match n % 3 {
        0 => add(sum, read(rng)),
        1 => sub(sum, mul(capture(0), read(rng))),
        _ => mul(sum, read(rng)),
    });
    let mut body = vec![let_(0, sum), set(0, mul(local(0), weight))];
    if rng.below(2) == 0 {
        let positive = compare(CompareOp::Gt, local(0), float(0.0));
        body.push(eval(if_then(positive, block(vec![set(0, add(local(0), read(rng)))]))));
    }
    if last && rng.below(3) == 0 {
        let odd = compare(CompareOp::Eq, method(Method::RemEuclid, vec![axis(0), int(2)]), int(1));
        body.push(eval(if_then(odd, block(vec![store(0, at(), local(0)), return_(None)]))));
    }
    let old = if rng.below(2) == 0 { load(0, at()) } else { float(1.0) };
    body.push(store(0, at(), add(local(0), mul(old, cast(axis(0), ScalarType::F64)))));
    let captures = [("c", Type::Scalar(ScalarType::F64))];
    (typed("join.rs", rank, &args, &captures, &["sum"], block(body), vec![], None), arrays)
}

/// Arrays of these kernels by number, around a box.
fn grids(
    kernels: &[(Kernel, Vec<usize>)],
    (lo, hi): (&[i64], &[i64]),
    one_layout: bool,
    rng: &mut Rng,
) -> BTreeMap<usize, Grid> {
    let mut all: BTreeMap<usize, Grid> = BTreeMap::new();
    for (kernel, arrays) in kernels {
        for (arg, array) in kernel.args.iter().zip(arrays) {
            let held = |by: i64, of: &[i64]| of.iter().map(|x| x + by).collect::<Vec<i64>>();
            let mut rng = if one_layout { Rng(*array as u64 * 64) } else { rng.clone() };
            all.entry(*array).or_insert_with(|| match arg.access {
                Access::Table => Grid::table(&(0..4).map(|_| rng.value(ScalarType::F64)).collect::<Vec<_>>()),
                access => Grid::tiled(access, arg.element, &held(-WIDE, lo), &held(WIDE, hi), &mut rng),
            });
            rng.next();
        }
    }
    all
}

fn check(seed: u64, rank: usize, count: usize) {
    let mut rng = Rng(seed);
    let kernels: Vec<_> = (0..count).map(|n| random(&mut rng, rank, n, n + 1 == count)).collect();
    let lo: Vec<i64> = (0..rank).map(|d| 3 * d as i64 - 2).collect();
    let hi: Vec<i64> = lo.iter().zip([5, 4, 11].iter().skip(3 - rank)).map(|(lo, n)| lo + n).collect();
    let before = grids(&kernels, (&lo, &hi), seed.is_multiple_of(2), &mut rng);
    let of = |all: &BTreeMap<usize, Grid>, arrays: &[usize]| Grids(arrays.iter().map(|n| all[n].clone()).collect());
    // One after the other.
    let (mut expected, mut captures) = (before.clone(), Vec::new());
    for (kernel, arrays) in &kernels {
        let mut own = of(&expected, arrays);
        let values = rng.captures(kernel);
        let (_, fault) = run_box(kernel, &values, &lo, &hi, &mut own, 100_000).unwrap();
        assert!(fault.is_none());
        arrays.iter().zip(own.0).for_each(|(n, grid)| drop(expected.insert(*n, grid)));
        captures.extend(values);
    }
    // As one, in the interpreter and on a device.
    let each: Vec<&Kernel> = kernels.iter().map(|(kernel, _)| kernel).collect();
    let arrays: Vec<&[usize]> = kernels.iter().map(|(_, arrays)| &arrays[..]).collect();
    let joined = join(&each, &arrays).unwrap();
    let numbers: Vec<usize> = joined.args.iter().map(|(kernel, arg)| arrays[*kernel][*arg]).collect();
    let read = numbers.iter().filter(|n| **n < 3).count();
    assert!(read <= 3, "an array that is read is one argument: {numbers:?}");
    let launch = Launch {
        captures: captures.clone(),
        grids: of(&before, &numbers),
        whole: (lo.clone(), hi.clone()),
        boxes: vec![(lo.clone(), hi.clone())],
    };
    let mut found = vec![launch.clone()];
    let (_, fault) = run_box(&joined.kernel, &captures, &lo, &hi, &mut found[0].grids, 100_000).unwrap();
    assert!(fault.is_none());
    let plain = plan(&joined.kernel, &launch.grids, Dialect::OpenCl, Goal::Sweep, false, false);
    let marched = (rank > 1).then(|| Plan { march: Some(4), ..plain.clone() });
    for plan in [plain].into_iter().chain(marched) {
        let mut on_device = launch.clone();
        let text = source(&joined.kernel, &plan);
        let (_, raised) = pocl::run(&joined.kernel, &plan, &text, &mut on_device, 0);
        assert!(raised.is_none());
        found.push(on_device);
        if seed.is_multiple_of(4) {
            nvrtc::compile(&source(&joined.kernel, &Plan { dialect: Dialect::Cuda, ..plan }).text);
        }
    }
    let expected = of(&expected, &numbers);
    for (way, found) in found.iter().enumerate() {
        for (arg, array) in numbers.iter().enumerate() {
            for (a, b) in contents(&expected, arg).into_iter().zip(contents(&found.grids, arg)) {
                assert!(
                    same(a.2, b.2),
                    "way {way}, array {array} at {:?}: {:?}, not {:?}\n{}",
                    a.0,
                    b.2,
                    a.2,
                    joined.kernel
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn joined_kernels_do_what_they_do_one_after_the_other(seed in any::<u64>(), rank in 1usize..4, count in 2usize..4) {
        check(seed, rank, count);
    }
}

/// A kernel that adds so many arrays, each read at so many cells.
fn sum(name: &str, arrays: u32, cells: i64, body: Vec<Stmt>) -> Kernel {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let mut args = vec![("next", bind(Access::Write, F64, 2))];
    args.extend(names[..arrays as usize].iter().map(|name| (*name, bind(Access::Read, F64, 2))));
    let reads = (1..=arrays).flat_map(|arg| (0..cells).map(move |c| load(arg, at_plus(&[c / 8, c % 8]))));
    let mut all = body;
    all.push(store(0, at(), reads.reduce(add).unwrap()));
    typed(name, 2, &args, &[], &["i"], block(all), vec![], None)
}

#[test]
fn what_cannot_be_one_is_not() {
    let early = sum("early.rs", 1, 1, vec![eval(if_then(boolean(true), block(vec![return_(None)])))]);
    let plain = sum("plain.rs", 1, 1, vec![]);
    assert!(join(&[&plain, &early], &[&[0, 1], &[2, 1]]).is_some());
    assert!(join(&[&early, &plain], &[&[0, 1], &[2, 1]]).is_none());
    // Without a number for each argument.
    assert!(join(&[&plain, &plain], &[&[0, 1], &[2]]).is_none());
    assert!(join(&[], &[]).is_none());
    let deep = typed(
        "deep.rs",
        3,
        &[("u", bind(Access::Write, F64, 3))],
        &[],
        &[],
        block(vec![store(0, at(), float(1.0))]),
        vec![],
        None,
    );
    assert!(join(&[&plain, &deep], &[&[0, 1], &[2]]).is_none());
}

#[test]
fn large_kernels_had_better_run_by_themselves() {
    let worth = |arrays: u32, cells: i64, share: bool| {
        let kernel = sum("sum.rs", arrays, cells, vec![]);
        let own: Vec<usize> = (0..=arrays as usize).collect();
        let other: Vec<usize> = own.iter().map(|n| if share && *n > 0 { *n } else { n + 100 }).collect();
        let joined = join(&[&kernel, &kernel], &[&own, &other]).unwrap();
        let saving_of = |kernel: &Kernel| saving(kernel, &analyse(kernel));
        let alone = saving_of(&kernel);
        let shared = 2 * kernel.args.len() - joined.args.len();
        let found =
            joins(&joined.kernel, &analyse(&joined.kernel), shared, (&saving_of(&joined.kernel), &[&alone, &alone]));
        (joined.args.len(), found)
    };
    assert_eq!(worth(9, 1, true), (11, true));
    assert_eq!(worth(1, 5, true), (3, true));
    // Nothing that both read.
    assert_eq!(worth(9, 1, false), (20, false));
    // More values than a thread should keep.
    assert_eq!(worth(1, 32, true), (3, true));
    assert_eq!(worth(1, 33, true), (3, false));
}

/// A kernel that gives the sum of what it reads of so many arrays, at the cell and so far from it.
fn value(arrays: u32, by: i64) -> Kernel {
    let names = ["a", "b", "c"];
    let args: Vec<_> = names[..arrays as usize].iter().map(|name| (*name, bind(Access::Read, F64, 2))).collect();
    let sum = (0..arrays).map(|arg| load(arg, at_plus(&[0, by]))).reduce(add).unwrap();
    typed("value.rs", 2, &args, &[], &[], value_block(vec![], sum), vec![], Some(Type::Scalar(ScalarType::F64)))
}

#[test]
fn a_sweep_ends_with_a_reduction_of_what_it_touches() {
    let sweep = sum("sweep.rs", 2, 1, vec![]);
    let both = |value: &Kernel, of: &[usize]| join_value(&sweep, value, [&[0, 1, 2], of]);
    let joined = both(&value(2, 0), &[2, 0]).unwrap();
    assert_eq!((joined.kernel.args.len(), joined.args), (3, vec![(0, 0), (0, 1), (0, 2)]));
    // Neighbours of what is written would race.
    assert!(analyse(&both(&value(1, 1), &[0]).unwrap().kernel).args[0].accesses.iter().any(|access| !access.at_cell));
    // Nothing that it writes; an array that it does not touch; a number for each argument.
    assert!(both(&value(1, 0), &[1]).is_none());
    assert!(both(&value(2, 0), &[0, 3]).is_none());
    assert!(both(&value(2, 0), &[0]).is_none());
    // A cell that ends early; two values; none.
    let early = sum("early.rs", 1, 1, vec![eval(if_then(boolean(true), block(vec![return_(None)])))]);
    assert!(join_value(&early, &value(1, 0), [&[0, 1], &[0]]).is_none());
    assert!(join_value(&value(1, 0), &value(1, 0), [&[0], &[0]]).is_none());
    assert!(join_value(&sweep, &sweep, [&[0, 1, 2], &[0, 1, 2]]).is_none());
}
