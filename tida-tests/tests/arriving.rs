//! Arrays that fit on the device and come from the host: work runs while they stream in where the host waits for a
//! result, and gives the same bits as with arrays that were brought first.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one; times are those of a simulated one.
#![cfg(feature = "ndarray")]

use proptest::prelude::*;
use tida::prelude::*;
use tida::{SimDevice, Stats};

use tida_tests::{on_a_device, on_cpu, value};

/// What a loop does after some steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// Reads a cell: work runs while arrays stream in.
    ReadCell,
    /// Reads all cells of the array that is written next.
    ReadOther,
    /// Sums it on the device.
    Sum,
    /// Changes a box of it, where it is.
    Write,
    /// Changes it on the host, where all of it comes.
    View,
    /// Computes with it on the CPU, ghosts and all.
    OnCpu,
    Nothing,
}

#[derive(Clone, Debug)]
struct Case {
    shape: [usize; 3],
    regions: usize,
    ghost: usize,
    boundaries: [Boundary<f64>; 3],
    /// Steps of each of some loops, and what comes after it.
    loops: Vec<(usize, Then)>,
    /// Steps change a part of the planes.
    part: bool,
    seed: u64,
}

fn step(case: &Case, next: &mut TileArray<f64, 3>, u: &TileArray<f64, 3>, k: &TileArray<f64, 3>, dt: f64) {
    let (lo, hi) = ([case.shape[0] as i64 / 3, 0, 1], case.shape.map(|n| n as i64));
    for tile in if case.part { TileIter::new(u).within(lo, hi) } else { TileIter::new(u) } {
        compute(
            &tile,
            (&mut *next, u, k),
            kernel!(|next, u, k, at| {
                let c = u[at];
                let near = u[at + [1, 0, 0]] + u[at - [1, 0, 0]] + u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                next[at] = c + dt * k[at] * (near + u[at + [0, 0, 1]] + u[at - [0, 0, 1]] - 6.0 * c);
            }),
        )
        .unwrap();
    }
}

fn bits(array: &TileArray<f64, 3>) -> Vec<u64> {
    array.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect()
}

/// Everything that was seen of the arrays.
fn run(acc: &TileAcc, case: &Case) -> Vec<Vec<u64>> {
    let mut builder = TileArray::<f64, 3>::builder(case.shape).regions([case.regions, 1, 1]).ghost(case.ghost);
    for (axis, boundary) in case.boundaries.iter().enumerate() {
        builder = builder.boundary_axis(axis, *boundary);
    }
    let mut u = builder.build(acc).unwrap();
    u.fill(|at| value(case.seed, at)).unwrap();
    let mut k = u.like().unwrap();
    k.fill(|at| 0.5 + 0.1 * value(case.seed + 1, at)).unwrap();
    k.fill_ghosts().unwrap();
    let (mut next, mut seen) = (u.like().unwrap(), Vec::new());
    for (number, (steps, then)) in case.loops.iter().enumerate() {
        for s in 0..*steps {
            u.fill_ghosts().unwrap();
            step(case, &mut next, &u, &k, 0.1 / (1 + s) as f64);
            std::mem::swap(&mut u, &mut next);
        }
        match then {
            Then::ReadCell => {
                let at = case.shape.map(|n| n as i64 / 2);
                let cell = GridBox::new(at, at.map(|x| x + 1));
                seen.push(u.read_box(cell).unwrap().iter().map(|x| x.to_bits()).collect());
            }
            Then::ReadOther => seen.push(bits(&next)),
            Then::Sum => seen.push(vec![reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap().to_bits()]),
            Then::Write => u.write_box(GridBox::new([1, 1, 1], [2, 3, 2]), &[number as f64, 0.5]).unwrap(),
            Then::View => (0..u.regions()).for_each(|region| {
                u.with_region_mut(region, |mut cells| cells[[0, 1, 1]] = number as f64).unwrap();
            }),
            Then::OnCpu => {
                u.fill_ghosts().unwrap();
                let mut sum = u.like().unwrap();
                for tile in TileIter::new(&u).device(Device::Cpu) {
                    compute(
                        &tile,
                        (&mut sum, &u, &k),
                        kernel!(|sum, u, k, at| {
                            sum[at] = u[at + [1, 1, -1]] + 2.0 * u[at - [1, 0, 1]] + 3.0 * k[at + [-1, 1, 0]];
                        }),
                    )
                    .unwrap();
                }
                seen.push(bits(&sum));
            }
            Then::Nothing => {}
        }
    }
    seen.extend([bits(&u), bits(&next), bits(&k)]);
    seen
}

/// Compares a run with that on the CPU; gives what was counted.
fn check(case: &Case) -> Option<Stats> {
    let acc = on_a_device(TileAcc::builder().stream_from(1))?;
    let (expected, found) = (run(&on_cpu(), case), run(&acc, case));
    for (n, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let first = found.iter().zip(expected).position(|(a, b)| a != b);
        assert_eq!(first, None, "the first value that differs of result {n} of {case:?}");
    }
    Some(acc.stats())
}

fn case() -> Case {
    Case {
        shape: [40, 9, 12],
        regions: 4,
        ghost: 1,
        boundaries: [Boundary::Fixed(1.0), Boundary::Fixed(2.0), Boundary::Fixed(3.0)],
        loops: vec![(5, Then::ReadCell)],
        part: false,
        seed: 7,
    }
}

/// Whether work ran while its arrays came. A recorder that is kept waiting has its arrays brought first: then it is
/// tried again.
fn streams(case: &Case) -> bool {
    (0..20).any(|_| check(case).is_none_or(|stats| stats.passes > 0))
}

#[test]
fn work_runs_while_arrays_arrive() {
    assert!(streams(&case()));
    assert!(streams(&Case { regions: 1, ..case() }));
    assert!(streams(&Case { part: true, ..case() }));
    assert!(streams(&Case { loops: vec![(1, Then::ReadCell), (3, Then::ReadOther), (2, Then::OnCpu)], ..case() }));
    let mixed = [Boundary::ReflectOdd, Boundary::Periodic, Boundary::Fixed(0.5)];
    assert!(streams(&Case { boundaries: mixed, ghost: 2, ..case() }));
}

#[test]
fn what_cannot_stream_is_brought_first() {
    for loops in [vec![(60, Then::ReadCell)], vec![(3, Then::Sum)], vec![(2, Then::OnCpu)]] {
        let stats = check(&Case { loops, ..case() });
        assert!(stats.is_none_or(|stats| stats.passes == 0));
    }
    let periodic = Case { boundaries: [Boundary::Periodic; 3], ..case() };
    assert!(check(&periodic).is_none_or(|stats| stats.passes == 0));
}

/// Ghosts that the host has filled are not filled again on the device: what a part reads of the region beside it comes
/// too.
#[test]
fn planes_beside_a_part_are_brought() {
    let boundaries = [Boundary::Fixed(-0.77), Boundary::ReflectOdd, Boundary::Periodic];
    let loops = vec![(0, Then::OnCpu), (2, Then::Sum), (3, Then::Write)];
    let case = Case { shape: [22, 8, 8], regions: 3, boundaries, loops, part: true, ..case() };
    for _ in 0..3 {
        check(&case);
    }
}

/// Arrays that were made on the device come home with their ghosts of fixed value and the planes that nothing writes,
/// which the host needs once it has written them.
#[test]
fn what_was_on_the_device_comes_home_whole() {
    let boundaries = [Boundary::Fixed(0.87), Boundary::ReflectEven, Boundary::Fixed(0.25)];
    for part in [true, false] {
        let loops = vec![(5, Then::View), (5, Then::View), (1, Then::ReadCell)];
        let case = Case { shape: [20, 3, 3], regions: 1, boundaries, loops, part, ..case() };
        assert!(streams(&case), "{case:?}");
        check(&Case { regions: 3, ..case });
    }
}

/// Arrays are on the device afterwards: later loops bring nothing.
#[test]
fn arrays_stay() {
    let bytes_up = |loops: Vec<(usize, Then)>| check(&Case { loops, ..case() }).map(|stats| stats.h2d_bytes);
    let Some(once) = bytes_up(vec![(2, Then::ReadCell)]) else { return };
    let twice = bytes_up(vec![(2, Then::ReadCell), (2, Then::Sum), (2, Then::ReadCell)]);
    // Tables of ghosts come too.
    let all = 3 * 40 * 9 * 12 * 8;
    assert!(twice.is_some_and(|twice| twice < once + all / 3), "{twice:?} bytes after {once}");
}

fn any_then() -> impl Strategy<Value = Then> {
    prop_oneof![
        3 => Just(Then::ReadCell),
        1 => Just(Then::ReadOther),
        1 => Just(Then::Sum),
        1 => Just(Then::Write),
        1 => Just(Then::View),
        1 => Just(Then::OnCpu),
        1 => Just(Then::Nothing)
    ]
}

fn any_boundary() -> impl Strategy<Value = Boundary<f64>> {
    prop_oneof![
        3 => (-1.0..1.0).prop_map(Boundary::Fixed),
        1 => Just(Boundary::ReflectEven),
        1 => Just(Boundary::ReflectOdd),
        1 => Just(Boundary::Extrapolate(1)),
        1 => Just(Boundary::Periodic)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 240, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_program_gives_the_same_bits(
        shape in (8usize..40, 3usize..9, 3usize..9),
        cuts in (1usize..5, 1usize..3),
        boundaries in prop::array::uniform3(any_boundary()),
        loops in prop::collection::vec((0usize..6, any_then()), 1..4),
        part in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let (regions, ghost) = (cuts.0.min(shape.0 / 4), cuts.1);
        check(&Case { shape: [shape.0, shape.1, shape.2], regions, ghost, boundaries, loops, part, seed: seed >> 1 });
    }
}

/// Heat of 512 planes, 32 KiB each, from values on the host to values on the host.
fn timed(stream_from: u64, steps: usize) -> (f64, Stats) {
    let device = SimDevice::new().upload(10e9, 1e-6).download(10e9, 1e-6).kernels(20e9, 1e-7);
    let builder = TileAcc::builder().threads(2).simulate(device).timeline(true);
    let acc = builder.stream_from(stream_from).build().unwrap();
    let shape = [512, 64, 64];
    let builder = TileArray::<f64, 3>::builder(shape).regions([16, 1, 1]).ghost(1).boundary(Boundary::Fixed(0.0));
    let mut u = builder.build(&acc).unwrap();
    u.fill(|at| value(3, at)).unwrap();
    let mut k = u.like().unwrap();
    k.fill_value(0.1).unwrap();
    let mut next = u.like().unwrap();
    let case = Case { shape, ..case() };
    for _ in 0..steps {
        u.fill_ghosts().unwrap();
        step(&case, &mut next, &u, &k, 0.1);
        std::mem::swap(&mut u, &mut next);
    }
    for region in 0..u.regions() {
        u.read_box(u.region_box(region).unwrap()).unwrap();
    }
    let stats = acc.stats();
    (stats.busy.as_ref().map_or(0.0, |busy| busy.seconds), stats)
}

/// Both directions of the link are busy at once.
#[test]
fn streaming_hides_the_way_back() {
    let whole = timed(u64::MAX, 2);
    let streamed = (0..20).map(|_| timed(1, 2)).find(|(_, stats)| stats.passes > 0).unwrap();
    println!("whole: {}\nstreamed: {}", whole.1, streamed.1);
    let both_ways = |stats: &Stats| stats.busy.as_ref().and_then(|busy| busy.both_ways).unwrap_or(0.0);
    assert!(both_ways(&streamed.1) > 0.4 && both_ways(&whole.1) < 0.1);
    assert!(streamed.0 < 0.8 * whole.0, "{} s against {} s", streamed.0, whole.0);
}
