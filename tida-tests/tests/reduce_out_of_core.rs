//! Reductions of arrays that stream are parts of the passes of other work, and give the same bits as on the CPU and
//! where arrays have room.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one, and a simulated one.
#![cfg(feature = "ndarray")]

use std::sync::OnceLock;
use std::time::Duration;

use tida::prelude::*;
use tida::{Format, SimDevice, StreamedBy, TileAccBuilder, table};
use tida_tests::{on_a_device, on_cpu, value};

const ROWS: usize = 24;
const COLUMNS: usize = 256;

/// Bytes of one array of `f64`.
const BYTES: u64 = ((ROWS + 2) * (COLUMNS + 2) * 8) as u64;

/// Cuts of arrays that go by planes, and by regions: a cut along the last axis is between segments.
const CUTS: [[usize; 2]; 4] = [[1, 1], [6, 1], [4, 2], [1, 4]];

type Array = TileArray<f64, 2>;

/// Work waits for more as long as it takes.
fn patient() -> TileAccBuilder {
    TileAcc::builder().threads(2).patience(Duration::from_secs(60)).look_ahead(1000)
}

fn simulated() -> TileAccBuilder {
    patient().simulate(SimDevice::new())
}

fn array(acc: &TileAcc, regions: [usize; 2], boundary: Boundary<f64>) -> Array {
    let mut u = Array::builder([ROWS, COLUMNS]).regions(regions).ghost(1).boundary(boundary).build(acc).unwrap();
    u.fill(|[row, column]| value(7, [row, column, 0])).unwrap();
    u
}

fn step(next: &mut Array, u: &mut Array) {
    u.fill_ghosts().unwrap();
    for tile in TileIter::new(&*u) {
        compute(
            &tile,
            (&mut *next, &*u),
            kernel!(|next, u, at| {
                next[at] = 0.25 * (u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]]);
            }),
        )
        .unwrap();
    }
}

/// Values of reductions of all kinds in a loop, then of the arrays.
fn all_kinds(acc: &TileAcc, regions: [usize; 2], boundary: Boundary<f64>) -> Vec<u64> {
    let (mut u, mut next, weights) =
        (array(acc, regions, boundary), array(acc, regions, boundary), array(acc, regions, boundary));
    let (mut numbers, mut places, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..7 {
        step(&mut next, &mut u);
        numbers.push(reduce_later(&next, Sum, kernel!(|u, at| u[at] * u[at])).unwrap());
        numbers.push(reduce_later(&u, Sum, kernel!(|u, at| (u[at + [1, 0]] - u[at]) * u[at - [0, 1]])).unwrap());
        if number % 2 == 0 {
            numbers.push(reduce_later(&next, Max, kernel!(|u, at| u[at])).unwrap());
            numbers.push(reduce_later((&next, &weights), Sum, kernel!(|u, w, at| u[at] * w[at])).unwrap());
            places.push(reduce_later((&u, &next), ArgMax, kernel!(|u, v, at| v[at] - u[at])).unwrap());
        }
        if number % 3 == 0 {
            let part = GridBox::new([3, 70], [17, 201]);
            numbers.push(reduce_over_later(part, &next, Min, kernel!(|u, at| u[at])).unwrap());
            places.push(reduce_over_later(part, &next, ArgMin, kernel!(|u, at| u[at])).unwrap());
            counts.push(reduce_later(&next, Sum, kernel!(|u, at| if u[at] > 1.0 { 1u64 } else { 0u64 })).unwrap());
        }
        std::mem::swap(&mut u, &mut next);
    }
    let mut seen: Vec<u64> = u.read_box(u.domain()).unwrap().iter().map(|x| x.to_bits()).collect();
    seen.extend(numbers.iter().map(|x| x.get().unwrap().to_bits()));
    seen.extend(places.iter().map(|x| x.get().unwrap()).flat_map(|([a, b], x)| [a as u64, b as u64, x.to_bits()]));
    seen.extend(counts.iter().map(|x| x.get().unwrap()));
    seen
}

/// Time steps as large as what was there allows: no step is known before the one before it is done.
fn steps_of_unknown_size(acc: &TileAcc, regions: [usize; 2]) -> Vec<u64> {
    let (mut u, mut next) = (array(acc, regions, Boundary::Fixed(1.0)), array(acc, regions, Boundary::Fixed(1.0)));
    let mut largest = reduce_later(&u, Max, kernel!(|u, at| u[at])).unwrap();
    let mut all = Vec::new();
    for _ in 0..6 {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| next[at] = u[at] + 0.3 / largest * (u[at - [1, 0]] - u[at] * u[at + [0, 1]])),
            )
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
        largest = reduce_later(&u, Max, kernel!(|u, at| u[at] * u[at] + 0.5)).unwrap();
        all.push(largest.clone());
        // Another that needs the last one.
        all.push(reduce_later(&u, Sum, kernel!(|u, at| u[at] / largest)).unwrap());
    }
    let mut seen: Vec<u64> = u.read_box(u.domain()).unwrap().iter().map(|x| x.to_bits()).collect();
    seen.extend(all.iter().map(|x| x.get().unwrap().to_bits()));
    seen
}

/// Elements of several components.
fn components(acc: &TileAcc, regions: [usize; 2]) -> Vec<u64> {
    let mut vectors = TileArray::<[f64; 3], 2>::builder([ROWS, COLUMNS]).regions(regions).build(acc).unwrap();
    vectors.fill(|[row, column]| [1, 2, 3].map(|seed| value(seed, [row, column, 0]))).unwrap();
    let mut sums = Vec::new();
    for _ in 0..4 {
        for tile in TileIter::new(&vectors) {
            compute(&tile, &mut vectors, kernel!(|v, at| v[at][1] = 0.5 * v[at][0] + v[at][2])).unwrap();
        }
        sums.push(reduce_later(&vectors, Sum, kernel!(|v, at| v[at][0] * v[at][1] - v[at][2])).unwrap());
    }
    sums.iter().map(|x| x.get().unwrap().to_bits()).collect()
}

/// Arrays that hold codes.
fn codes(acc: &TileAcc, regions: [usize; 2]) -> Vec<u64> {
    let coded = |format: Format| {
        let builder = TileArray::<f32, 2>::builder([ROWS, COLUMNS]).regions(regions).storage(format);
        let mut u = builder.build(acc).unwrap();
        u.fill(|[row, column]| value(4, [row, column, 0]) as f32).unwrap();
        u
    };
    let (mut half, mut range) = (coded(Format::Half), coded(Format::Range { bits: 8, min: 0.0, max: 2.0 }));
    let mut singles = Vec::new();
    for _ in 0..4 {
        for tile in TileIter::new(&half) {
            compute(
                &tile,
                (&mut half, &mut range),
                kernel!(|h, r, at| {
                    let x = 0.7f32 * h[at] + 0.2f32 * r[at];
                    h[at] = x;
                    r[at] = 1.0f32 - 0.5f32 * x;
                }),
            )
            .unwrap();
        }
        singles.push(reduce_later((&half, &range), Sum, kernel!(|h, r, at| h[at] * r[at])).unwrap());
        singles.push(reduce_later(&range, Max, kernel!(|r, at| r[at])).unwrap());
    }
    singles.iter().map(|x| u64::from(x.get().unwrap().to_bits())).collect()
}

/// A program.
type Program = fn(&TileAcc, [usize; 2]) -> Vec<u64>;

/// All programs, each with the bytes of its largest array, in sixteenths of those of an array of `f64`.
const PROGRAMS: [(&str, Program, u64); 5] = [
    ("fixed boundaries", |acc, regions| all_kinds(acc, regions, Boundary::Fixed(0.5)), 16),
    ("periodic", |acc, regions| all_kinds(acc, regions, Boundary::Periodic), 16),
    ("steps of unknown size", steps_of_unknown_size, 16),
    ("components", components, 24),
    ("codes", codes, 2),
];

/// What all programs give on the CPU.
fn wanted() -> &'static [Vec<u64>] {
    static WANTED: OnceLock<Vec<Vec<u64>>> = OnceLock::new();
    WANTED.get_or_init(|| PROGRAMS.map(|(_, program, _)| program(&on_cpu(), [1, 1])).into())
}

/// Compares all programs with the CPU, on accelerators with so much room; says how many reductions were parts of
/// passes.
#[track_caller]
fn same(what: &str, acc: impl Fn(u64) -> Option<TileAcc>) -> u64 {
    let mut parts = 0;
    for ((name, program, bytes), wanted) in PROGRAMS.into_iter().zip(wanted()) {
        for regions in CUTS {
            let Some(acc) = acc(BYTES / 16 * bytes) else { return 0 };
            let found = program(&acc, regions);
            let wrong = (0..wanted.len()).find(|n| found[*n] != wanted[*n]);
            assert_eq!(wrong, None, "{name}, regions {regions:?}, {what}");
            parts += reductions(&acc);
        }
    }
    parts
}

/// Reductions that were parts of passes, of all so far.
fn reductions(acc: &TileAcc) -> u64 {
    acc.streamed().iter().map(|report| report.reductions).sum()
}

#[test]
fn in_core() {
    assert_eq!(same("simulated", |_| simulated().build().ok()), 0);
    same("on a device", |_| on_a_device(patient()));
}

#[test]
fn out_of_core() {
    for [times, of] in [[3, 2], [5, 4]] {
        let parts = same("simulated, out of core", |bytes| simulated().memory_limit(bytes * times / of).build().ok());
        assert!(parts > 200, "{parts} of limit {times}/{of}");
        same("on a device, out of core", |bytes| on_a_device(patient().memory_limit(bytes * times / of)));
    }
}

/// Two steps and their norms while arrays come from the host: so few that they stream in.
fn short(acc: &TileAcc, regions: [usize; 2]) -> Vec<u64> {
    let (mut u, mut next) = (array(acc, regions, Boundary::Fixed(0.5)), array(acc, regions, Boundary::Fixed(0.5)));
    let mut norms = Vec::new();
    for _ in 0..2 {
        step(&mut next, &mut u);
        norms.push(reduce_later(&next, Sum, kernel!(|u, at| u[at] * u[at])).unwrap());
        norms.push(reduce_later((&u, &next), Max, kernel!(|u, v, at| u[at + [1, 0]] - v[at])).unwrap());
        std::mem::swap(&mut u, &mut next);
    }
    let mut seen: Vec<u64> = u.read_box(u.domain()).unwrap().iter().map(|x| x.to_bits()).collect();
    seen.extend(norms.iter().map(|x| x.get().unwrap().to_bits()));
    seen
}

#[test]
fn arriving() {
    let arriving = || simulated().stream_from(1u64).pause(Duration::from_secs(60));
    // Programs are too long to stream in: their arrays come as a whole.
    assert!(same("simulated, arriving", |_| arriving().build().ok()) > 0);
    same("on a device, arriving", |_| on_a_device(patient().stream_from(1u64)));
    for regions in [[1, 1], [6, 1]] {
        let acc = arriving().build().unwrap();
        assert_eq!(short(&acc, regions), short(&on_cpu(), regions));
        let streamed = acc.streamed();
        let [report] = &streamed[..] else { panic!("{streamed:?}") };
        assert_eq!((report.by, report.passes, report.reductions), (StreamedBy::Arriving, 1, 4), "{report}");
        if let Some(acc) = on_a_device(patient().stream_from(1u64).pause(Duration::from_secs(60))) {
            assert_eq!(short(&acc, regions), short(&on_cpu(), regions));
        }
    }
}

/// A norm in every step takes no pass and no byte more than the loop without it; by regions, about as many.
#[test]
fn norms_take_no_pass() {
    for regions in CUTS {
        for boundary in [Boundary::Fixed(0.5), Boundary::Periodic] {
            let counted = |norms: bool| {
                // What the norms find has room beside the arrays.
                let lists = if norms { 8 * (ROWS * COLUMNS / 64 * 8) as u64 } else { 0 };
                let acc = simulated().memory_limit(BYTES * 3 / 2 + lists).build().unwrap();
                let (mut u, mut next) = (array(&acc, regions, boundary), array(&acc, regions, boundary));
                let mut all = Vec::new();
                for _ in 0..8 {
                    step(&mut next, &mut u);
                    if norms {
                        all.push(reduce_later(&next, Sum, kernel!(|u, at| u[at] * u[at])).unwrap());
                    }
                    std::mem::swap(&mut u, &mut next);
                }
                u.read_box(u.domain()).unwrap();
                assert!(all.iter().all(|norm| norm.try_get().is_some()));
                assert_eq!(reductions(&acc), all.len() as u64, "{:?}", acc.streamed());
                let stats = acc.stats();
                [stats.passes, stats.h2d_bytes, stats.d2h_bytes]
            };
            let (with, without) = (counted(true), counted(false));
            match regions {
                [_, 1] => assert_eq!(with, without, "{regions:?} {boundary:?}"),
                // Which regions stay depends on how many pieces of work lie between two uses.
                _ => assert!(with[0] <= without[0] + 1, "{regions:?} {boundary:?}: {with:?} {without:?}"),
            }
        }
    }
}

/// A loop whose steps need what the step before found takes as many passes as it has steps.
#[test]
fn a_value_that_the_next_step_needs_ends_the_pass() {
    let acc = simulated().memory_limit(BYTES * 3 / 2).build().unwrap();
    steps_of_unknown_size(&acc, [1, 1]);
    let streamed = acc.streamed();
    assert_eq!(streamed.len(), 6, "{streamed:?}");
    assert!(streamed.iter().all(|report| (report.passes, report.sweeps, report.reductions) == (1, 1, 1)));
    assert!(streamed[0].ended.contains("needs its results"), "{}", streamed[0]);
}

fn numbers(acc: &TileAcc, regions: [usize; 2]) -> [TileArray<i32, 2>; 2] {
    let array = || TileArray::<i32, 2>::builder([ROWS, COLUMNS]).regions(regions).build(acc).unwrap();
    let (mut u, next) = (array(), array());
    // Cells where something is divided by 0.
    let zeros = [[20, 3], [9, 200], [9, 70], [15, 0]];
    u.fill(|at| if zeros.contains(&at) { 5 } else { 6 }).unwrap();
    [u, next]
}

/// The error is that of the first cell, wherever and in whatever pieces the reduction runs.
#[test]
fn faults_of_a_reduction_and_of_what_it_reads() {
    let fails = |acc: &TileAcc, regions: [usize; 2]| {
        let [mut u, mut next] = numbers(acc, regions);
        for tile in TileIter::new(&u) {
            compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at] - 1)).unwrap();
        }
        // 4 is where the zeros are.
        let own = reduce_later(&next, Sum, kernel!(|u, at| 12 / (u[at] - 4))).unwrap();
        let fine = reduce_later(&next, Sum, kernel!(|u, at| u[at])).unwrap();
        let one = [1i32; 1];
        let far = reduce_later(
            (&next, table(&one)),
            Sum,
            kernel!(|u, one, at| {
                let i = if u[at] == 4 { 1000000 + at[0] * 1000 + at[1] } else { 0 };
                one[i as usize]
            }),
        )
        .unwrap();
        for tile in TileIter::new(&u) {
            compute(&tile, (&mut u, &next), kernel!(|u, next, at| u[at] = 12 / (next[at] - 4))).unwrap();
        }
        let needs = reduce_later(&u, Sum, kernel!(|u, at| u[at])).unwrap();
        let after = reduce_later(&next, Max, kernel!(|u, at| u[at])).unwrap();
        let texts = [&own, &far, &needs].map(|scalar| scalar.get().unwrap_err().to_string());
        assert_eq!((own.try_get(), far.try_get()), (None, None));
        (texts, fine.get().unwrap(), after.get().unwrap())
    };
    let wanted = fails(&on_cpu(), [1, 1]);
    assert!(wanted.0[1].contains("1009070"), "{wanted:?}");
    for regions in CUTS {
        let acc = simulated().memory_limit(BYTES * 3 / 4).build().unwrap();
        assert_eq!(fails(&acc, regions), wanted, "{regions:?} simulated");
        assert!(reductions(&acc) >= 2, "{:?}", acc.streamed());
        for limit in [BYTES * 3 / 4, BYTES * 8] {
            if let Some(acc) = on_a_device(patient().memory_limit(limit)) {
                assert_eq!(fails(&acc, regions), wanted, "{regions:?} on a device, {limit} bytes");
            }
        }
    }
}

/// Reductions by which no chain is to be long: they run as before, after the work that they read.
#[test]
fn what_is_no_part_of_a_pass() {
    // Lists of short rows take too much of the device's memory.
    let acc = simulated().memory_limit("40 KB").build().unwrap();
    let mut u = Array::builder([4096, 2]).build(&acc).unwrap();
    for tile in TileIter::new(&u) {
        compute(&tile, &mut u, kernel!(|u, at| u[at] = at[0] as f64)).unwrap();
    }
    assert_eq!(reduce(&u, Max, kernel!(|u, at| u[at])).unwrap(), 4095.0);
    let streamed = acc.streamed();
    assert!(streamed.len() == 1 && reductions(&acc) == 0, "{streamed:?}");
    assert!(streamed[0].ended.contains("works on its arrays"), "{}", streamed[0]);
    // So do those of many reductions together.
    let acc = simulated().memory_limit("100 KB").build().unwrap();
    let mut u = Array::builder([256, 64]).build(&acc).unwrap();
    let mut all = Vec::new();
    for _ in 0..30 {
        for tile in TileIter::new(&u) {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = u[at] + 1.0)).unwrap();
        }
        all.push(reduce_later(&u, Sum, kernel!(|u, at| u[at])).unwrap());
    }
    let sums: Vec<f64> = all.iter().map(|sum| sum.get().unwrap()).collect();
    assert_eq!(sums, (1..=30).map(|n| f64::from(n) * 16384.0).collect::<Vec<_>>());
    let streamed = acc.streamed();
    assert!(streamed.len() > 1 && streamed[0].ended.contains("quarter"), "{streamed:?}");
    assert!(reductions(&acc) > 20, "{streamed:?}");
}

/// Planes of an array with so many rows that a device folds what it has found before it has found all.
const MANY_ROWS: [usize; 3] = [40, 2000, 8];

/// Steps with `norms` in each; gives those, and others at the end.
fn many_rows(acc: &TileAcc, regions: usize, boundary: Boundary<f64>, norms: usize) -> Vec<u64> {
    let builder = TileArray::<f64, 3>::builder(MANY_ROWS).regions([regions, 1, 1]).ghost([1, 0, 0]);
    let mut u = builder.boundary(boundary).build(acc).unwrap();
    u.fill(|at| value(5, at)).unwrap();
    let (mut next, mut all, mut counts) = (u.like().unwrap(), Vec::new(), Vec::new());
    for _ in 0..3 {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| next[at] = 0.3 * (u[at - [1, 0, 0]] + u[at] + u[at + [1, 0, 0]])),
            )
            .unwrap();
        }
        for power in 0..norms {
            let weight = power as f64;
            all.push(reduce_later(&next, Sum, kernel!(|u, at| u[at] * (u[at] + weight))).unwrap());
        }
        std::mem::swap(&mut u, &mut next);
    }
    let part = GridBox::new([3, 50, 1], [39, 1990, 7]);
    all.push(reduce_over_later(part, &u, Sum, kernel!(|u, at| u[at])).unwrap());
    all.push(reduce_later(&u, Max, kernel!(|u, at| u[at])).unwrap());
    counts.push(reduce_later(&u, Sum, kernel!(|u, at| if u[at] > 0.9 { 1u64 } else { 0u64 })).unwrap());
    let place = reduce_later(&u, ArgMin, kernel!(|u, at| u[at])).unwrap();
    let mut seen: Vec<u64> = all.iter().map(|x| x.get().unwrap().to_bits()).collect();
    seen.extend(counts.iter().map(|x| x.get().unwrap()));
    let (at, lowest) = place.get().unwrap();
    seen.extend(at.map(|x| x as u64).into_iter().chain([lowest.to_bits()]));
    seen
}

/// What is kept of each of many reductions is small, so that all of them share the passes.
#[test]
fn many_reductions_of_many_rows() {
    // Rows are padded to 16 cells.
    let bytes = (MANY_ROWS[0] + 2) as u64 * 2000 * 16 * 8;
    for (boundary, regions) in [(Boundary::Fixed(1.0), 5), (Boundary::Periodic, 1)] {
        let wanted = many_rows(&on_cpu(), 1, boundary, 4);
        let passes = [4, 0].map(|norms| {
            let acc = simulated().memory_limit(bytes * 3 / 2).build().unwrap();
            let found = many_rows(&acc, regions, boundary, norms);
            assert!(norms == 0 || found == wanted, "{boundary:?} {regions} simulated");
            assert_eq!(reductions(&acc), 3 * norms as u64 + 4, "{:?}", acc.streamed());
            acc.stats().passes
        });
        assert_eq!(passes[0], passes[1], "{boundary:?} {regions}");
        // (Once is enough: it is the same plan.)
        if let Some(acc) = on_a_device(patient().memory_limit(bytes * 3 / 2)).filter(|_| regions > 1) {
            assert_eq!(many_rows(&acc, regions, boundary, 4), wanted, "{boundary:?} {regions} on a device");
        }
    }
}

/// A device folds the parts of complex numbers, each by itself: sums are parts of passes. Products cannot be folded so.
#[cfg(feature = "num-complex")]
#[test]
fn complex_numbers() {
    use tida::num_complex::Complex64;
    let run = |acc: &TileAcc, regions: [usize; 2]| {
        let mut u = TileArray::<Complex64, 2>::builder([ROWS, COLUMNS]).regions(regions).build(acc).unwrap();
        u.fill(|[row, column]| Complex64::new(value(1, [row, column, 0]), value(2, [row, column, 0]) - 1.0)).unwrap();
        let mut all = Vec::new();
        for _ in 0..3 {
            for tile in TileIter::new(&u) {
                compute(&tile, &mut u, kernel!(|u, at| u[at] = u[at] * u[at])).unwrap();
            }
            all.push(reduce_later(&u, Sum, kernel!(|u, at| u[at])).unwrap());
        }
        all.push(reduce_later(&u, Product, kernel!(|u, at| u[at])).unwrap());
        all.iter().map(|x| x.get().unwrap()).flat_map(|x| [x.re.to_bits(), x.im.to_bits()]).collect::<Vec<u64>>()
    };
    let wanted = run(&on_cpu(), [1, 1]);
    for regions in CUTS {
        let acc = simulated().memory_limit(BYTES * 3 / 2).build().unwrap();
        assert_eq!(run(&acc, regions), wanted, "{regions:?} simulated");
        assert_eq!(reductions(&acc), 3, "{:?}", acc.streamed());
        if let Some(acc) = on_a_device(patient().memory_limit(BYTES * 3 / 2)) {
            assert_eq!(run(&acc, regions), wanted, "{regions:?} on a device");
        }
    }
}
