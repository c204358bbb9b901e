//! Threads that take several cells along the first axis: the same bits, whatever their number, in core and out of core.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one.
#![cfg(feature = "ndarray")]

use proptest::prelude::*;
use tida::prelude::*;

use tida_tests::on_a_device;

#[derive(Clone, Debug)]
struct Case {
    shape: [usize; 3],
    regions: [usize; 3],
    periodic: bool,
    steps: usize,
    /// Cells that a thread takes.
    march: Option<usize>,
    /// Planes of each array that fit on the device, if not all.
    planes: Option<usize>,
}

fn value(seed: u64, at: [usize; 3]) -> f64 {
    let x = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9) ^ (at[0] as u64) << 40 ^ (at[1] as u64) << 20 ^ at[2] as u64;
    let x = (x ^ (x >> 15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x >> 11) as f64 / (1u64 << 53) as f64 + 0.5
}

/// Two kernels a step: columns of two arrays, one of another shape, and reads in a branch; then one with a fixed start.
fn run(acc: &TileAcc, case: &Case) -> (Vec<u64>, Vec<u64>) {
    let boundary = if case.periodic { Boundary::Periodic } else { Boundary::Fixed(0.75) };
    let cells = TileArray::<f64, 3>::builder(case.shape).regions(case.regions).ghost(2).boundary(boundary);
    let mut u = cells.build(acc).unwrap();
    let faces = TileArray::<f64, 3>::builder(case.shape).regions(case.regions).ghost(1);
    let mut v = faces.centering([Centering::Face, Centering::Cell, Centering::Cell]).build(acc).unwrap();
    u.fill(|at| value(0, at)).unwrap();
    v.fill(|at| value(1, at)).unwrap();
    let (mut next, c) = (u.like().unwrap(), 0.1);
    let tiles = |u: &TileArray<f64, 3>| {
        let tiles = TileIter::new(u);
        if let Some(cells) = case.march { tiles.march(cells) } else { tiles }
    };
    for step in 0..case.steps {
        u.fill_ghosts().unwrap();
        v.fill_ghosts().unwrap();
        for tile in tiles(&u) {
            compute(
                &tile,
                (&mut next, &u, &v),
                kernel!(|next, u, v, at| {
                    let near = u[at + [2, 0, 0]] + u[at - [1, 0, 0]] + u[at] + u[at + [0, 0, 1]] + u[at - [2, 1, 0]];
                    let mut sum = near + 0.5 * (u[at - [1, 1, 0]] + u[at + [0, 0, 2]] + v[at] - v[at + [1, 0, 0]]);
                    if sum > 3.2 {
                        sum = sum - u[at + [1, 0, 0]];
                    }
                    next[at] = u[at] + c * (sum - 4.0 * u[at]);
                }),
            )
            .unwrap();
        }
        for tile in tiles(&v) {
            compute(
                &tile,
                &mut v,
                kernel!(|v, at| {
                    if at[0] % 3 == 1 {
                        return;
                    }
                    v[at] = 0.75 * v[at] + 0.01 * step as f64;
                }),
            )
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    let bits = |array: &TileArray<f64, 3>| array.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    (bits(&u), bits(&v))
}

/// Whether the arrays went over the link by planes.
fn check(case: &Case) -> bool {
    let cpu = TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap();
    let expected = run(&cpu, &Case { march: None, ..case.clone() });
    let mut builder = TileAcc::builder();
    if let Some(planes) = case.planes {
        let plane = (case.shape[1] + 4) * (case.shape[2] + 4).next_multiple_of(16) * 8;
        builder = builder.memory_limit((3 * planes * plane) as u64);
    }
    let Some(acc) = on_a_device(builder) else { return true };
    let found = run(&acc, case);
    for (n, (found, expected)) in [(&found.0, &expected.0), (&found.1, &expected.1)].into_iter().enumerate() {
        let first = found.iter().zip(expected).position(|(a, b)| a != b);
        assert_eq!((first, found.len()), (None, expected.len()), "array {n} of {case:?}");
    }
    acc.stats().passes > 0
}

#[test]
fn planes_that_stream_through_a_window_march() {
    let case =
        Case { shape: [40, 6, 20], regions: [5, 1, 1], periodic: false, steps: 5, march: Some(3), planes: Some(22) };
    assert!(check(&case), "this ran with all planes on the device");
    assert!(check(&Case { regions: [1, 1, 1], march: Some(50), ..case }), "this ran with all planes on the device");
}

/// Steps of a star with reach 2 and then of one with reach 4 and a second array: values of the result, widened.
fn stars<T: Real>(acc: &TileAcc, shape: [usize; 3], regions: [usize; 3], march: Option<usize>) -> Vec<u64> {
    let cells = TileArray::<T, 3>::builder(shape).regions(regions).ghost(4);
    let mut u = cells.boundary(Boundary::Periodic).build(acc).unwrap();
    u.fill(|at| T::of(value(3, at))).unwrap();
    let (mut next, mut speed) = (u.like().unwrap(), u.like().unwrap());
    speed.fill(|at| T::of(value(4, at))).unwrap();
    let tiles = |u: &TileArray<T, 3>| match march {
        Some(cells) => TileIter::new(u).march(cells),
        None => TileIter::new(u),
    };
    for _ in 0..2 {
        u.fill_ghosts().unwrap();
        for tile in tiles(&next) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(T; |next, u, at| {
                    let mut sum = 0.4 * u[at];
                    for by in 1..=2 {
                        sum += 0.05 * (u[at - [0, 0, by]] + u[at + [0, 0, by]] + u[at - [0, by, 0]]);
                        sum += 0.05 * (u[at + [0, by, 0]] + u[at - [by, 0, 0]] + u[at + [by, 0, 0]]);
                    }
                    next[at] = sum;
                }),
            )
            .unwrap();
        }
        next.fill_ghosts().unwrap();
        for tile in tiles(&u) {
            compute(
                &tile,
                (&mut u, &next, &speed),
                kernel!(T; |u, next, speed, at| {
                    let x = next[at - [0, 0, 1]] + next[at + [0, 0, 3]] + next[at + [0, 0, 4]]
                        - next[at - [0, 0, 4]];
                    let y = next[at - [0, 3, 0]] + next[at + [0, 1, 0]] - next[at + [0, 4, 0]]
                        + next[at - [0, 4, 0]];
                    let z = next[at - [4, 0, 0]] + next[at + [1, 0, 0]] - next[at + [4, 0, 0]]
                        + next[at - [2, 0, 0]];
                    u[at] = 0.5 * next[at] + 0.02 * speed[at] * (x - y + z);
                }),
            )
            .unwrap();
        }
    }
    u.read_box(u.domain()).unwrap().iter().map(|x| x.to_f64().to_bits()).collect()
}

/// Threads with several cells side by side, some of them beyond the box: on a GPU boxes that leave enough of them.
#[test]
fn wide_stencils_have_the_same_bits() {
    let cpu = tida_tests::on_cpu();
    let Some(acc) = on_a_device(TileAcc::builder()) else { return };
    let mut cases =
        vec![([9, 8, 70], [1, 1, 1], Some(3)), ([12, 9, 131], [2, 1, 2], Some(5)), ([11, 17, 64], [1, 2, 1], None)];
    if acc.device() == Device::Cuda {
        cases.extend([([192, 230, 258], [1, 1, 1], None), ([200, 224, 256], [2, 1, 1], None)]);
    }
    for (shape, regions, march) in cases {
        let differ =
            |a: Vec<u64>, b: Vec<u64>| a.iter().zip(&b).filter(|(a, b)| a != b).count() + a.len().abs_diff(b.len());
        let f32 = differ(stars::<f32>(&acc, shape, regions, march), stars::<f32>(&cpu, shape, [1; 3], None));
        let f64 = differ(stars::<f64>(&acc, shape, regions, march), stars::<f64>(&cpu, shape, [1; 3], None));
        assert_eq!((f32, f64), (0, 0), "{shape:?} in {regions:?}, march {march:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn any_number_of_cells_gives_the_same_bits(
        shape in [4usize..24, 4usize..8, 4usize..30],
        regions in [1usize..4, 1usize..3, 1usize..2],
        (periodic, steps) in (any::<bool>(), 1usize..4),
        march in proptest::option::of(1usize..12),
    ) {
        let regions = std::array::from_fn(|d| regions[d].min(shape[d] / 2).max(1));
        check(&Case { shape, regions, periodic, steps, march, planes: None });
    }
}

#[test]
fn explain_says_how_far_a_thread_marches() {
    // Without a device it shows what a GPU would get.
    let acc = TileAcc::builder().device(Device::Cpu).threads(1).build().unwrap();
    let text = |shape: [usize; 3]| {
        let u = TileArray::<f64, 3>::builder(shape).ghost(1).build(&acc).unwrap();
        let mut next = u.like().unwrap();
        tida::explain(
            (&mut next, &u),
            kernel!(|next, u, at| next[at] = u[at - [1, 0, 0]] + u[at] + u[at + [1, 0, 0]] + u[at + [0, 0, 1]]),
        )
        .unwrap()
    };
    let large = text([64, 128, 128]);
    assert_eq!(large.march(), Some(4));
    let words = "march: 4 cells along axis 0 a thread; 2 of 4 reads of a cell from 6 registers";
    assert!(large.to_string().contains(words), "{large}");
    // Too few threads would be left.
    let small = text([16, 16, 16]);
    assert_eq!(small.march(), None);
    assert!(small.to_string().contains("march: none, each thread has one cell"), "{small}");
}

#[test]
fn explain_says_what_a_loop_keeps_and_what_that_took() {
    let acc = TileAcc::builder().device(Device::Cpu).threads(1).build().unwrap();
    let a = TileArray::<f64, 2>::builder([64, 64]).build(&acc).unwrap();
    let mut next = TileArray::<f64, 1>::builder([64]).build(&acc).unwrap();
    let last = 63i64;
    let explained = tida::explain(
        (&mut next, all(&a)),
        kernel!(|next, a, at| {
            let mut sum = 0.0;
            for k in 1..last {
                sum = sum * 0.5 + (a[[k + 1, at[0]]] - a[[k - 1, at[0]]]);
            }
            next[at] = sum;
        }),
    )
    .unwrap();
    let text = explained.to_string();
    let row = "registers: `a` in the loop over `k`: 3 values, 6 registers, 1 reads an iteration saved, side by side";
    assert!(text.contains(row), "{text}");
    // Without NVRTC nothing was compiled.
    if std::env::var_os("TIDA_REQUIRE_NVRTC").is_none() && explained.compile().is_err() {
        return;
    }
    assert!(explained.resources().unwrap().registers.is_some_and(|n| n > 0), "{text}");
    for step in ["with 0 registers of what was read: ", "with 6 registers of what was read: "] {
        assert!(text.contains(step), "{text}");
    }
    // Half of a thread's registers, less those of the kernel without.
    assert!((70..122).contains(&explained.registers()), "{text}");
}

#[test]
fn plans_without_registers_are_the_same_bits() {
    let run = |without: &str| {
        let acc = TileAcc::builder().plan(without, Some(3)).build()?;
        let mut u = TileArray::<f64, 3>::builder([12, 9, 17]).ghost(1).build(&acc)?;
        u.fill(|[k, j, i]| (k * 7 + j * 5 + i) as f64 * 0.1)?;
        u.fill_ghosts()?;
        let mut next = u.like()?;
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| next[at] = u[at - [1, 0, 0]] + u[at + [1, 0, 0]] * u[at]),
            )?;
        }
        next.read_box(next.domain())
    };
    let all = run("").unwrap();
    for without in ["no-dim", "no-small", "no-registers", "no-dim,no-small,no-registers"] {
        assert_eq!(run(without).unwrap(), all, "{without}");
    }
    let error = TileAcc::builder().plan("no-march", None).build().unwrap_err();
    assert!(error.to_string().contains("TIDA_PLAN"), "{error}");
}
