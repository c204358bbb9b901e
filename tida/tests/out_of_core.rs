//! Arrays larger than the memory limit: the same bits as with all of them at hand, in fewer bytes over the link.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one.

use proptest::prelude::*;
use tida::prelude::*;

/// An accelerator with a device; none where there is no device, unless tests must have one.
fn with_device(limit: u64, look_ahead: usize) -> Option<TileAcc> {
    let named = std::env::var("TIDA_DEVICE").is_ok_and(|name| !name.is_empty() && name != "cpu");
    let mut builder = TileAcc::builder().threads(2).memory_limit(limit).look_ahead(look_ahead);
    if !named {
        builder = builder.device(Device::OpenCl);
    }
    match builder.build() {
        Ok(acc) if acc.device() != Device::Cpu => Some(acc),
        Ok(_) => None,
        Err(error) if std::env::var_os("TIDA_REQUIRE_OPENCL").is_some() => panic!("{error}"),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

fn on_cpu() -> TileAcc {
    TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap()
}

#[derive(Clone, Debug)]
struct Case {
    shape: [usize; 3],
    regions: usize,
    ghost: usize,
    boundaries: [Boundary<f64>; 3],
    steps: usize,
    /// Planes of each array that fit.
    planes: usize,
    /// Fill the ghosts once more at the end.
    fill_last: bool,
    look_ahead: usize,
    seed: u64,
}

fn value(seed: u64, at: [usize; 3]) -> f64 {
    let mut x = seed ^ (at[0] as u64) << 40 ^ (at[1] as u64) << 20 ^ at[2] as u64;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + 0.5
}

/// Everything that the arrays hold in the end, ghosts included where they are as new as the cells.
fn heat(acc: &TileAcc, case: &Case) -> (Vec<Vec<u64>>, f64) {
    let mut builder = TileArray::<f64, 3>::builder(case.shape).regions([case.regions, 1, 1]).ghost(case.ghost);
    for (axis, boundary) in case.boundaries.iter().enumerate() {
        builder = builder.boundary_axis(axis, *boundary);
    }
    let mut u = builder.build(acc).unwrap();
    u.fill(|at| value(case.seed, at)).unwrap();
    let mut coefficient = u.like().unwrap();
    coefficient.fill(|at| 0.5 + 0.1 * value(case.seed + 1, at)).unwrap();
    let mut next = u.like().unwrap();
    for step in 0..case.steps {
        u.fill_ghosts().unwrap();
        let dt = 0.1 / (1 + step) as f64;
        for tile in TileIter::new(&u) {
            if case.ghost == 1 {
                compute(
                    &tile,
                    (&mut next, &u, &coefficient),
                    kernel!(|next, u, k, at| {
                        let c = u[at];
                        let near = u[at + [1, 0, 0]] + u[at - [1, 0, 0]] + u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                        next[at] = c + dt * k[at] * (near + u[at + [0, 0, 1]] + u[at - [0, 0, 1]] - 6.0 * c);
                    }),
                )
                .unwrap();
            } else {
                compute(
                    &tile,
                    (&mut next, &u, &coefficient),
                    kernel!(|next, u, k, at| {
                        let mut sum = 0.0;
                        for d in -2i64..=2 {
                            sum += u[at + [d, 0, 0]] + u[at + [0, d, 0]] + 0.5 * u[at + [0, 0, d]];
                        }
                        next[at] = u[at] + dt * k[at] * (sum - 12.5 * u[at + [1, -1, 1]]);
                    }),
                )
                .unwrap();
            }
        }
        // A second kernel a step, in place.
        for tile in TileIter::new(&next) {
            compute(&tile, &mut next, kernel!(|next, at| next[at] = 0.999 * next[at] + 0.001)).unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    // The host reads ghosts at faces, edges and corners.
    let mut seen = u.like().unwrap();
    if case.fill_last {
        u.fill_ghosts().unwrap();
        let g = case.ghost as i64;
        for tile in TileIter::new(&u).device(Device::Cpu) {
            compute(
                &tile,
                (&mut seen, &u),
                kernel!(|seen, u, at| {
                    let high = u[at + [g, 0, 0]] + 2.0 * u[at + [g, g, 0]] + 3.0 * u[at + [g, g, g]];
                    seen[at] = high + 4.0 * u[at - [g, 0, 0]] + 5.0 * u[at - [0, g, g]] + 6.0 * u[at - [g, g, g]];
                }),
            )
            .unwrap();
        }
    }
    let sum = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
    let bits = |array: &TileArray<f64, 3>| array.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let mut all = vec![bits(&u), bits(&coefficient), bits(&seen)];
    if case.steps > 0 {
        all.push(bits(&next));
    }
    (all, sum)
}

/// Bytes of a plane of one array, about.
fn plane_bytes(case: &Case) -> usize {
    (case.shape[1] + 2 * case.ghost) * (case.shape[2] + 2 * case.ghost).next_multiple_of(16) * 8
}

fn check(case: &Case) -> bool {
    let limit = plane_bytes(case) * 3 * case.planes;
    let Some(acc) = with_device(limit as u64, case.look_ahead) else { return true };
    let expected = heat(&on_cpu(), case);
    let found = heat(&acc, case);
    for (n, (found, expected)) in found.0.iter().zip(&expected.0).enumerate() {
        let first = found.iter().zip(expected).position(|(a, b)| a != b);
        let [_, ny, nx] = case.shape;
        let place = first.map(|cell| [cell / ny / nx, cell / nx % ny, cell % nx]);
        assert_eq!(place, None, "the first cell that differs of array {n} of {case:?}");
    }
    assert_eq!(found.1.to_bits(), expected.1.to_bits(), "the sum of {case:?}");
    acc.stats().passes > 0
}

fn case() -> Case {
    Case {
        shape: [40, 12, 20],
        regions: 4,
        ghost: 1,
        boundaries: [Boundary::Fixed(1.0), Boundary::Fixed(2.0), Boundary::Fixed(3.0)],
        steps: 7,
        planes: 20,
        fill_last: false,
        look_ahead: 256,
        seed: 7,
    }
}

#[test]
fn fixed_boundaries_give_the_same_bits() {
    assert!(check(&case()));
    assert!(check(&Case { steps: 1, planes: 12, ..case() }));
    assert!(check(&Case { regions: 1, fill_last: true, ..case() }));
}

#[test]
fn other_boundaries_give_the_same_bits() {
    let mixed = [Boundary::ReflectOdd, Boundary::Periodic, Boundary::Fixed(0.5)];
    assert!(check(&Case { boundaries: mixed, fill_last: true, ..case() }));
    let mixed = [Boundary::Extrapolate(1), Boundary::ReflectEven, Boundary::Periodic];
    assert!(check(&Case { boundaries: mixed, steps: 3, ghost: 2, planes: 30, ..case() }));
    assert!(check(&Case { boundaries: [Boundary::Periodic; 3], steps: 3, ..case() }));
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
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn random_runs_give_the_same_bits(
        shape in (12usize..50, 3usize..9, 3usize..20),
        regions in 1usize..5,
        ghost in 1usize..=2,
        boundaries in [boundary(), boundary(), boundary()],
        steps in 0usize..9,
        planes in 12usize..50,
        fill_last: bool,
        look_ahead in prop_oneof![Just(1usize), Just(5), Just(256)],
        seed: u64,
    ) {
        let shape = [shape.0, shape.1, shape.2];
        check(&Case { shape, regions, ghost, boundaries, steps, planes, fill_last, look_ahead, seed: seed >> 8 });
    }
}

#[test]
fn arrays_that_are_idle_give_way() {
    // Room for three of the five arrays, which are cut along two axes: none of them streams.
    let bytes = 64 * 128 * 8 * 5 / 4;
    let Some(acc) = with_device(3 * bytes, 256) else { return };
    let build = || TileArray::<f64, 2>::builder([64, 128]).regions([2, 2]).build(&acc).unwrap();
    let mut arrays: Vec<_> = (0..5).map(|_| build()).collect();
    for (n, array) in arrays.iter_mut().enumerate() {
        array.fill(|[j, i]| value(n as u64, [j, i, 0])).unwrap();
    }
    let mut expected: Vec<Vec<f64>> = arrays.iter().map(|a| a.read_box(a.domain()).unwrap()).collect();
    for round in 0..12 {
        let (to, from) = ((3 * round + 1) % 5, round % 5);
        if to == from {
            continue;
        }
        let [to_array, from_array] = arrays.get_disjoint_mut([to, from]).unwrap();
        for tile in TileIter::new(to_array) {
            compute(&tile, (&mut *to_array, &*from_array), kernel!(|a, b, at| a[at] = 0.5 * a[at] + b[at])).unwrap();
        }
        let source = expected[from].clone();
        expected[to].iter_mut().zip(source).for_each(|(a, b)| *a = 0.5 * *a + b);
    }
    for (array, expected) in arrays.iter().zip(&expected) {
        assert_eq!(&array.read_box(array.domain()).unwrap(), expected);
    }
    let stats = acc.stats();
    assert!(stats.evictions > 0 && stats.passes == 0, "{stats}");
}
