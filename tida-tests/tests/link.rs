//! Arrays that move packed without loss (`Compress::Link`): the same bits as arrays that move as they are, in fewer
//! bytes over the link where values are smooth, and hardly more where they are not.
//!
//! The device is what `TIDA_DEVICE` names, else a simulated one, whose kernels reach memory of the host as CUDA's do.
#![cfg(feature = "ndarray")]

use proptest::prelude::*;
use tida::prelude::*;
use tida::{SimDevice, SimReport};

use tida_tests::{on_a_device, on_cpu, value};

/// What arrays start with.
#[derive(Clone, Copy, Debug)]
enum Data {
    Smooth,
    Noise,
    /// Smooth, with cells among them that are anything.
    Wild,
}

impl Data {
    fn at(self, seed: u64, at: [usize; 3]) -> f64 {
        let [k, j, i] = at.map(|x| x as f64);
        let smooth = 1.2 + 0.1 * (0.01 * k).cos() * (0.02 * j).sin() * (0.015 * i).sin();
        match self {
            Data::Smooth => smooth,
            Data::Noise => f64::from_bits(value(seed, at).to_bits() ^ value(seed ^ 1, at).to_bits() << 12 >> 2),
            Data::Wild if value(seed, at) < 0.51 => {
                (value(seed ^ 2, at) - 1.0) * 10f64.powi((at[1] % 600) as i32 - 300)
            }
            Data::Wild => smooth,
        }
    }
}

#[derive(Clone, Debug)]
struct Case {
    shape: [usize; 3],
    regions: usize,
    boundaries: [Boundary<f64>; 3],
    steps: usize,
    /// Planes of each of both arrays that fit.
    planes: usize,
    look_ahead: usize,
    data: Data,
    seed: u64,
    /// After so many steps the host reads a cell, and writes a plane.
    host: usize,
}

impl Case {
    fn limit(&self) -> u64 {
        let row = (self.shape[2] + 2).next_multiple_of(16) + 16;
        (2 * self.planes * (self.shape[1] + 2) * row * 8) as u64
    }
}

/// Diffusion, with a wave of another type beside it.
fn run(acc: &TileAcc, case: &Case, compress: Compress) -> Vec<u64> {
    let mut builder =
        TileArray::<f64, 3>::builder(case.shape).regions([case.regions, 1, 1]).ghost(1).compress(compress);
    for (axis, boundary) in case.boundaries.iter().enumerate() {
        builder = builder.boundary_axis(axis, *boundary);
    }
    let mut u = builder.build(acc).unwrap();
    u.fill(|at| case.data.at(case.seed, at)).unwrap();
    let mut next = u.like().unwrap();
    // What lies there says nothing of what comes.
    next.fill_value(0.0).unwrap();
    for step in 0..case.steps {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    let near = u[at + [1, 0, 0]] + u[at - [1, 0, 0]] + u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                    next[at] = 0.4 * u[at] + 0.1 * (near + u[at + [0, 0, 1]] + u[at - [0, 0, 1]]);
                }),
            )
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
        if step + 1 == case.host {
            let middle = (case.shape[0] / 2) as i64;
            assert_eq!(u.read_box(GridBox { lo: [middle, 0, 1], hi: [middle + 1, 1, 2] }).unwrap().len(), 1);
            let plane = (case.shape[0] / 3) as i64;
            let cells = GridBox { lo: [plane, 0, 0], hi: [plane + 1, case.shape[1] as i64, case.shape[2] as i64] };
            let values: Vec<f64> = (0..cells.cells()).map(|n| case.data.at(case.seed + 5, [n, 0, 0])).collect();
            u.write_box(cells, &values).unwrap();
        }
    }
    let bits = |array: &TileArray<f64, 3>| array.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let mut all = bits(&u);
    all.extend(bits(&next));
    all
}

/// A device with so much memory: how it ran, if it is simulated.
fn device(case: &Case) -> Option<TileAcc> {
    let builder = TileAcc::builder().memory_limit(case.limit()).look_ahead(case.look_ahead).threads(2);
    if std::env::var("TIDA_DEVICE").is_ok_and(|name| !name.is_empty() && name != "cpu") {
        return on_a_device(builder);
    }
    Some(builder.simulate(SimDevice::new()).build().unwrap())
}

/// Bytes over the link, to the device and from it: packed, and as they are.
fn check(case: &Case) -> Option<[[u64; 2]; 2]> {
    let expected = run(&on_cpu(), case, Compress::Device);
    let cells = case.shape.iter().product::<usize>();
    let mut moved = [[0; 2]; 2];
    for (compress, moved) in [Compress::Link, Compress::Device].into_iter().zip(&mut moved) {
        let acc = device(case)?;
        let found = run(&acc, case, compress);
        if let Some(first) = found.iter().zip(&expected).position(|(a, b)| a != b) {
            let [_, ny, nx] = case.shape;
            let cell = first % cells;
            let place = [cell / ny / nx, cell / nx % ny, cell % nx];
            panic!("cell {place:?} of array {} differs in {case:?}, {compress:?}", first / cells);
        }
        let stats = acc.stats();
        println!("{compress:?} {case:?}: {stats}");
        *moved = [stats.h2d_bytes, stats.d2h_bytes];
    }
    Some(moved)
}

fn case() -> Case {
    Case {
        shape: [40, 6, 500],
        regions: 4,
        boundaries: [Boundary::Fixed(1.0), Boundary::Fixed(1.25), Boundary::Fixed(1.5)],
        steps: 6,
        planes: 24,
        look_ahead: 1,
        data: Data::Smooth,
        seed: 3,
        host: 0,
    }
}

fn is_simulated() -> bool {
    !std::env::var("TIDA_DEVICE").is_ok_and(|name| !name.is_empty() && name != "cpu" && name != "sim")
}

#[test]
fn smooth_values_take_fewer_bytes() {
    let Some([packed, raw]) = check(&Case { steps: 8, ..case() }) else { return };
    if is_simulated() {
        assert!(packed.iter().zip(&raw).all(|(packed, raw)| packed * 10 < raw * 9), "{packed:?} of {raw:?}");
    }
}

#[test]
fn noise_takes_hardly_more() {
    let Some([packed, raw]) = check(&Case { data: Data::Noise, steps: 3, ..case() }) else { return };
    assert!(packed.iter().zip(&raw).all(|(packed, raw)| packed * 100 <= raw * 101), "{packed:?} of {raw:?}");
}

#[test]
fn any_values_come_back_the_same() {
    let periodic = [Boundary::Periodic; 3];
    let mixed = [Boundary::ReflectOdd, Boundary::Periodic, Boundary::Fixed(0.5)];
    check(&Case { data: Data::Wild, ..case() });
    check(&Case { data: Data::Wild, look_ahead: 256, steps: 9, planes: 16, ..case() });
    check(&Case { boundaries: periodic, look_ahead: 256, steps: 12, ..case() });
    check(&Case { boundaries: mixed, ..case() });
    check(&Case { regions: 1, host: 3, ..case() });
    check(&Case { regions: 3, host: 2, look_ahead: 256, boundaries: periodic, data: Data::Wild, ..case() });
}

fn boundary() -> impl Strategy<Value = Boundary<f64>> {
    prop_oneof![
        Just(Boundary::Periodic),
        (0.0..2.0).prop_map(Boundary::Fixed),
        Just(Boundary::ReflectEven),
        Just(Boundary::ReflectOdd),
        (0u8..=1).prop_map(Boundary::Extrapolate),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn random_runs_give_the_same_bits(
        shape in (12usize..40, 3usize..9, 200usize..500),
        regions in 1usize..5,
        boundaries in [boundary(), boundary(), boundary()],
        steps in 0usize..9,
        planes in 12usize..40,
        look_ahead in prop_oneof![Just(1usize), Just(5), Just(256)],
        data in prop_oneof![Just(Data::Smooth), Just(Data::Noise), Just(Data::Wild)],
        host in 0usize..9,
        seed: u64,
    ) {
        let shape = [shape.0, shape.1, shape.2];
        check(&Case { shape, regions, boundaries, steps, planes, look_ahead, data, host, seed: seed >> 8 });
    }
}

/// Components of both sizes, and one that is too small to be packed.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Wave {
    height: f32,
    flow: [f64; 2],
    wet: bool,
}

#[test]
fn components_are_packed_by_themselves() {
    let program = |acc: &TileAcc, compress: Compress| {
        let mut a = TileArray::<Wave, 2>::builder([60, 1500]).regions([3, 1]).ghost(1).compress(compress);
        a = a.boundary_axis(0, Boundary::Periodic).boundary_axis(1, Boundary::ReflectEven);
        let mut a = a.build(acc).unwrap();
        let start = |k: usize, i: usize| (0.01 * k as f64).sin() * (0.003 * i as f64).cos();
        a.fill(|[k, i]| {
            let x = start(k, i);
            Wave {
                height: 2.0 + x as f32,
                flow: [x, if k % 7 == 0 { value(9, [k, i, 0]) } else { 3.0 - x }],
                wet: (k + i) % 3 == 0,
            }
        })
        .unwrap();
        let mut b = a.like().unwrap();
        for _ in 0..5 {
            a.fill_ghosts().unwrap();
            for tile in TileIter::new(&a) {
                compute(
                    &tile,
                    (&mut b, &a),
                    kernel!(|b, a, at| {
                        b[at].height = 0.5 * a[at].height + 0.25 * (a[at + [1, 0]].height + a[at - [0, 1]].height);
                        b[at].flow[0] = 0.5 * (a[at].flow[0] + a[at - [1, 0]].flow[1]);
                        b[at].flow[1] = 0.5 * (a[at].flow[1] + a[at + [0, 1]].flow[0]);
                        b[at].wet = a[at + [1, 0]].wet;
                    }),
                )
                .unwrap();
            }
            std::mem::swap(&mut a, &mut b);
        }
        (a.to_ndarray().unwrap(), acc.stats())
    };
    let expected = program(&on_cpu(), Compress::Device).0;
    let builder = TileAcc::builder().memory_limit(1_200_000).look_ahead(1).threads(2);
    let acc = match std::env::var("TIDA_DEVICE").is_ok_and(|name| !name.is_empty() && name != "cpu") {
        true => on_a_device(builder),
        false => Some(builder.simulate(SimDevice::new()).build().unwrap()),
    };
    let Some(acc) = acc else { return };
    let (found, stats) = program(&acc, Compress::Link);
    assert!(found == expected);
    assert!(stats.passes > 0, "{stats}");
}

/// A link of 1 GB/s each way and fast kernels: smooth values take less time.
#[test]
fn the_link_is_faster() {
    if !is_simulated() {
        return;
    }
    let time = |compress: Compress| {
        let case = Case { shape: [96, 6, 1000], regions: 8, steps: 6, planes: 40, ..case() };
        let device = SimDevice::new().upload(1e9, 1e-6).download(1e9, 1e-6).kernels(1e11, 1e-6);
        let builder = TileAcc::builder().memory_limit(case.limit()).look_ahead(1).threads(2);
        let acc = builder.simulate(device).build().unwrap();
        run(&acc, &case, compress);
        let report: SimReport = acc.simulated().unwrap();
        report.makespan
    };
    let (raw, packed) = (time(Compress::Device), time(Compress::Link));
    assert!(packed < 0.85 * raw, "{packed} s, {raw} s raw");
}
