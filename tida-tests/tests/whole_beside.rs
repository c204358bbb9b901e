//! Arrays that are read as a whole stay on the device while the others, which have no room there, come and go.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one, and a simulated one.
#![cfg(feature = "ndarray")]

use tida::prelude::*;
use tida::{SimDevice, all};
use tida_tests::{on_a_device, on_cpu, value};

const ROWS: usize = 96;
const COLUMNS: usize = 192;

/// What becomes of the profile between steps.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Between {
    Nothing,
    /// The host changes it.
    Host,
    /// A sweep changes it.
    Sweep,
    /// It is used as an array like others, then as a whole again.
    Tiled,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    regions: [usize; 2],
    between: Between,
    /// Its index is computed from values, so that it is checked.
    computed: bool,
}

fn step(
    next: &mut TileArray<f64, 2>,
    u: &TileArray<f64, 2>,
    p: &TileArray<f64, 1>,
    grid: &TileArray<f64, 2>,
    case: Case,
) {
    for tile in TileIter::new(u) {
        if case.computed {
            compute(
                &tile,
                (&mut *next, u, all(p), all(grid)),
                kernel!(|next, u, p, grid, at| {
                    let far = p[[(u[at] * 17.0) as i64 % 64]];
                    next[at] = 0.25 * (u[at - [1, 0]] + u[at + [1, 0]]) + 0.5 * far * grid[[at[1] % 5, at[0] % 7]];
                }),
            )
            .unwrap();
        } else {
            compute(
                &tile,
                (&mut *next, u, all(p), all(grid)),
                kernel!(|next, u, p, grid, at| {
                    next[at] = p[[at[0]]] * (u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]]) / 4.0
                        + 0.125 * grid[[at[1] % 5, at[0] % 7]];
                }),
            )
            .unwrap();
        }
    }
}

/// Runs steps; gives the bits of all arrays.
fn run(acc: &TileAcc, case: Case, steps: usize) -> Vec<u64> {
    let builder = TileArray::<f64, 2>::builder([ROWS, COLUMNS]).regions(case.regions).ghost(1);
    let mut u = builder.boundary(Boundary::Fixed(0.5)).build(acc).unwrap();
    u.fill(|[j, i]| value(7, [j, i, 0])).unwrap();
    let mut next = u.like().unwrap();
    let mut p = TileArray::<f64, 1>::builder([ROWS]).build(acc).unwrap();
    p.fill(|[j]| value(8, [j, 0, 0])).unwrap();
    let mut grid = TileArray::<f64, 2>::builder([5, 7]).ghost(1).build(acc).unwrap();
    grid.fill(|[j, i]| value(9, [j, i, 0])).unwrap();
    let mut sums = TileArray::<f64, 1>::builder([ROWS]).build(acc).unwrap();
    for number in 0..steps {
        u.fill_ghosts().unwrap();
        step(&mut next, &u, &p, &grid, case);
        std::mem::swap(&mut u, &mut next);
        if number % 3 == 1 {
            match case.between {
                Between::Nothing => {}
                Between::Host => p.fill(|[j]| value(number as u64, [j, 1, 0])).unwrap(),
                Between::Sweep => {
                    for tile in TileIter::new(&p) {
                        compute(&tile, (&mut p, all(&grid)), kernel!(|p, grid, at| p[at] = 0.5 * p[at] + grid[[1, 2]]))
                            .unwrap();
                    }
                }
                Between::Tiled => {
                    for tile in TileIter::new(&p) {
                        compute(&tile, (&mut sums, &p), kernel!(|sums, p, at| sums[at] = sums[at] + p[at])).unwrap();
                    }
                }
            }
        }
    }
    let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits);
    let of = |array: &TileArray<f64, 2>| array.read_box(array.domain()).unwrap();
    let line = |array: &TileArray<f64, 1>| array.read_box(array.domain()).unwrap();
    bits(of(&u)).chain(bits(of(&next))).chain(bits(line(&p))).chain(bits(line(&sums))).collect()
}

#[test]
fn the_bits_are_those_of_the_cpu() {
    let limit = (ROWS * COLUMNS * 8 / 2) as u64;
    let cpu = on_cpu();
    for regions in [[1, 1], [6, 1], [6, 3]] {
        for between in [Between::Nothing, Between::Host, Between::Sweep, Between::Tiled] {
            for computed in [false, true] {
                // What is checked comes and goes region by region, of which several have to fit.
                if regions[0] == 1 && computed {
                    continue;
                }
                let case = Case { regions, between, computed };
                let expected = run(&cpu, case, 8);
                let sim = TileAcc::builder().threads(2).simulate(SimDevice::new()).memory_limit(limit).build().unwrap();
                let device = on_a_device(TileAcc::builder().memory_limit(limit));
                for acc in [Some(sim), device].iter().flatten() {
                    let first = run(acc, case, 8).iter().zip(&expected).position(|(a, b)| a != b);
                    assert_eq!(first, None, "the first value that differs on {:?}, {case:?}", acc.device());
                }
            }
        }
    }
}

#[test]
fn it_comes_once_and_the_others_once_a_pass() {
    let limit = (ROWS * COLUMNS * 8 / 2) as u64;
    // (Passes are counted: none ends where a thread was kept from its core.)
    let builder = TileAcc::builder().threads(2).patience(std::time::Duration::from_secs(60));
    let acc = builder.simulate(SimDevice::new()).memory_limit(limit).build().unwrap();
    let case = Case { regions: [6, 1], between: Between::Nothing, computed: false };
    run(&acc, case, 8);
    let stats = acc.stats();
    // `u` with its ghosts comes once, the profile and the grid too; `next` is new.
    let cells = (ROWS * COLUMNS * 8) as u64;
    assert_eq!(stats.passes, 1, "{stats:?}");
    assert!((cells..cells * 6 / 5).contains(&stats.h2d_bytes), "{} bytes, {cells} of cells", stats.h2d_bytes);
}

#[test]
fn a_loop_over_groups_reads_one_too() {
    let limit = (ROWS * COLUMNS * 8 / 2) as u64;
    let run = |acc: &TileAcc| {
        let builder = TileArray::<f64, 2>::builder([ROWS, COLUMNS]).regions([6, 3]);
        let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
        u.fill(|[j, i]| value(3, [j, i, 0])).unwrap();
        let mut p = TileArray::<f64, 1>::builder([64]).build(acc).unwrap();
        p.fill(|[j]| value(4, [j, 0, 0])).unwrap();
        for _ in 0..3 {
            for tile in TileIter::new(&u) {
                compute(
                    &tile,
                    (&mut next, &u, all(&p)),
                    kernel!(|next, u, p, at| {
                        let mut sum = 0.0;
                        for k in 0..64 {
                            sum += p[[k]] * u[at];
                        }
                        next[at] = sum / 64.0;
                    }),
                )
                .unwrap();
            }
            std::mem::swap(&mut u, &mut next);
        }
        u.read_box(u.domain()).unwrap()
    };
    let expected = run(&on_cpu());
    let sim = TileAcc::builder().threads(2).simulate(SimDevice::new()).memory_limit(limit).build().unwrap();
    for acc in [Some(sim), on_a_device(TileAcc::builder().memory_limit(limit))].iter().flatten() {
        assert!(run(acc) == expected, "{:?}", acc.device());
    }
}
