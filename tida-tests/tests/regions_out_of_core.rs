//! Arrays larger than the memory limit that are cut along several axes: the same bits as with all of them at hand.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one.
#![cfg(feature = "ndarray")]

use proptest::prelude::*;
use tida::array::TileArrayBuilder;
use tida::prelude::*;

use tida_tests::{on_cpu, value, with_limit};

#[derive(Clone, Debug)]
struct Case {
    shape: [usize; 3],
    regions: [usize; 3],
    ghost: usize,
    boundaries: [Boundary<f64>; 3],
    steps: usize,
    /// How much of the arrays fits, in percent: with 0, about the regions of one kernel.
    part: usize,
    fill_last: bool,
    look_ahead: usize,
    seed: u64,
}

fn builder(case: &Case) -> TileArrayBuilder<f64, 3> {
    let mut builder = TileArray::<f64, 3>::builder(case.shape).regions(case.regions).ghost(case.ghost);
    for (axis, boundary) in case.boundaries.iter().enumerate() {
        builder = builder.boundary_axis(axis, *boundary);
    }
    builder
}

/// Everything that the arrays hold in the end, ghosts included where they are as new as the cells.
fn heat(acc: &TileAcc, case: &Case) -> Result<(Vec<Vec<u64>>, f64), Error> {
    let mut u = builder(case).build(acc)?;
    u.fill(|at| value(case.seed, at))?;
    let mut coefficient = u.like()?;
    coefficient.fill(|at| 0.5 + 0.1 * value(case.seed + 1, at))?;
    let mut next = u.like()?;
    for step in 0..case.steps {
        u.fill_ghosts()?;
        let dt = 0.1 / (1 + step) as f64;
        for tile in TileIter::new(&u) {
            let args = (&mut next, &u, &coefficient);
            match case.ghost {
                0 => compute(&tile, args, kernel!(|next, u, k, at| next[at] = u[at] + dt * k[at] * u[at]))?,
                1 => compute(
                    &tile,
                    args,
                    kernel!(|next, u, k, at| {
                        let c = u[at];
                        let near = u[at + [1, 0, 0]] + u[at - [1, 0, 0]] + u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                        let corner = u[at + [1, 1, 1]] - u[at - [1, 1, 1]];
                        next[at] = c + dt * k[at] * (near + u[at + [0, 0, 1]] + u[at - [0, 0, 1]] - 6.0 * c + corner);
                    }),
                )?,
                _ => compute(
                    &tile,
                    args,
                    kernel!(|next, u, k, at| {
                        let mut sum = 0.0;
                        for d in -2i64..=2 {
                            sum += u[at + [d, 0, 0]] + u[at + [0, d, 0]] + 0.5 * u[at + [0, 0, d]];
                        }
                        next[at] = u[at] + dt * k[at] * (sum - 12.5 * u[at + [1, -2, 1]]);
                    }),
                )?,
            }
        }
        // A second kernel a step, in place, in tiles that are smaller than regions.
        for tile in TileIter::new(&next).tile_size([3, 4, 100]) {
            compute(&tile, &mut next, kernel!(|next, at| next[at] = 0.999 * next[at] + 0.001))?;
        }
        std::mem::swap(&mut u, &mut next);
    }
    // The host reads ghosts at faces, edges and corners.
    let mut seen = u.like()?;
    if case.fill_last {
        u.fill_ghosts()?;
        let g = case.ghost as i64;
        for tile in TileIter::new(&u).device(Device::Cpu) {
            compute(
                &tile,
                (&mut seen, &u),
                kernel!(|seen, u, at| {
                    let high = u[at + [g, 0, 0]] + 2.0 * u[at + [g, g, 0]] + 3.0 * u[at + [g, g, g]];
                    seen[at] = high + 4.0 * u[at - [g, 0, 0]] + 5.0 * u[at - [0, g, g]] + 6.0 * u[at - [g, g, g]];
                }),
            )?;
        }
    }
    let sum = reduce(&u, Sum, kernel!(|u, at| u[at]))?;
    let mut all = Vec::new();
    for array in [&u, &coefficient, &seen, &next] {
        all.push(array.to_ndarray()?.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
    }
    Ok((all, sum))
}

/// Bytes of each region of an array, at most.
fn region_bytes<const D: usize>(array: &TileArray<f64, D>) -> Vec<usize> {
    let bytes = |region: usize| {
        let extent = array.grown_box(region).unwrap().extent();
        let rows: usize = extent[..D - 1].iter().product();
        ((rows + 1) * (extent[D - 1].next_multiple_of(16) + 16) * 8).next_multiple_of(1024) + 1024
    };
    (0..array.regions()).map(bytes).collect()
}

/// A limit between the regions of one kernel on three arrays, with their strips, and all of the arrays.
fn limit(regions: &[usize], part: usize) -> usize {
    let (largest, all) = (*regions.iter().max().unwrap(), 3 * regions.iter().sum::<usize>());
    let least = 5 * largest;
    least + all.saturating_sub(least) * part / 100
}

/// Compares with the CPU; whether any of it went through a chain.
fn check(case: &Case) -> bool {
    let cpu = on_cpu();
    let limit = limit(&region_bytes(&builder(case).build(&cpu).unwrap()), case.part);
    let Some(acc) = with_limit(limit as u64, case.look_ahead) else { return true };
    let expected = heat(&cpu, case).unwrap();
    let found = heat(&acc, case).unwrap_or_else(|error| panic!("{error} of {case:?}"));
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
        shape: [12, 10, 130],
        regions: [3, 2, 2],
        ghost: 1,
        boundaries: [Boundary::Fixed(1.0), Boundary::Fixed(2.0), Boundary::Fixed(3.0)],
        steps: 4,
        part: 20,
        fill_last: true,
        look_ahead: 256,
        seed: 7,
    }
}

#[test]
fn cuts_along_two_and_three_axes_give_the_same_bits() {
    assert!(check(&case()));
    assert!(check(&Case { part: 0, ..case() }));
    assert!(check(&Case { regions: [1, 3, 1], part: 0, ..case() }));
    assert!(check(&Case { regions: [3, 3, 1], part: 20, steps: 1, ..case() }));
    assert!(check(&Case { ghost: 0, fill_last: false, ..case() }));
    assert!(check(&Case { ghost: 2, part: 5, fill_last: false, ..case() }));
}

#[test]
fn every_boundary_gives_the_same_bits() {
    assert!(check(&Case { boundaries: [Boundary::Periodic; 3], ..case() }));
    assert!(check(&Case { boundaries: [Boundary::Periodic; 3], ghost: 2, part: 0, regions: [3, 2, 2], ..case() }));
    let mixed = [Boundary::ReflectOdd, Boundary::Periodic, Boundary::Fixed(0.5)];
    assert!(check(&Case { boundaries: mixed, ..case() }));
    let mixed = [Boundary::Extrapolate(1), Boundary::ReflectEven, Boundary::Periodic];
    assert!(check(&Case { boundaries: mixed, ghost: 2, ..case() }));
}

fn boundary() -> impl Strategy<Value = Boundary<f64>> {
    prop_oneof![
        2 => Just(Boundary::Periodic),
        1 => (0.0..2.0).prop_map(Boundary::Fixed),
        1 => Just(Boundary::ReflectEven),
        1 => Just(Boundary::ReflectOdd),
        1 => (0u8..=1).prop_map(Boundary::Extrapolate),
    ]
}

#[test]
fn random_runs_give_the_same_bits() {
    const CASES: u32 = 48;
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig { cases: CASES, ..Default::default() });
    let moved = std::cell::Cell::new(0);
    let shapes = ((4usize..16, 4usize..12, 4usize..200), (1usize..=3, 2usize..5, 1usize..4), 0usize..=2);
    let runs = (1usize..6, 0usize..70, any::<bool>(), prop_oneof![Just(1usize), Just(5), Just(256)], any::<u64>());
    let ran = runner.run(&(shapes, [boundary(), boundary(), boundary()], runs), |(shape, boundaries, run)| {
        let ((nz, ny, nx), (rz, ry, rx), ghost) = shape;
        let (steps, part, fill_last, look_ahead, seed) = run;
        let (shape, regions) = ([nz, ny, nx], [rz.min(nz / 2), ry.min(ny / 2), rx.min(nx / 64).max(1)]);
        let case = Case { shape, regions, ghost, boundaries, steps, part, fill_last, look_ahead, seed: seed >> 8 };
        moved.set(moved.get() + u32::from(check(&case)));
        Ok(())
    });
    ran.unwrap();
    println!("{} of {CASES} runs went through chains", moved.get());
    assert!(moved.get() >= CASES / 4, "{} of {CASES} runs went through chains", moved.get());
}

/// A pair of elements, moved as its components.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Wave {
    height: f64,
    flow: [f32; 2],
    flag: u8,
}

#[test]
fn elements_of_several_components_give_the_same_bits() {
    let run = |acc: &TileAcc| -> Vec<Wave> {
        let builder = TileArray::<Wave, 2>::builder([24, 200]).regions([3, 3]).ghost(1).boundary(Boundary::Periodic);
        let mut u = builder.build(acc).unwrap();
        u.fill(|[j, i]| {
            let x = value(3, [j, i, 0]);
            Wave { height: x, flow: [0.5 * x as f32, 1.0 - x as f32], flag: (i % 5) as u8 }
        })
        .unwrap();
        let mut next = u.like().unwrap();
        for _ in 0..5 {
            u.fill_ghosts().unwrap();
            for tile in TileIter::new(&u) {
                compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| {
                        next[at].height = 0.5 * (u[at + [1, 1]].height + u[at - [1, 1]].height);
                        next[at].flow = u[at + [0, 1]].flow;
                        next[at].flag = u[at - [1, 0]].flag;
                    }),
                )
                .unwrap();
            }
            std::mem::swap(&mut u, &mut next);
        }
        u.read_box(u.domain()).unwrap()
    };
    // Both arrays take 2 · 9 regions of about 7 KiB.
    let Some(acc) = with_limit(60 << 10, 256) else { return };
    assert_eq!(run(&acc), run(&on_cpu()));
    assert!(acc.stats().passes > 0);
}
