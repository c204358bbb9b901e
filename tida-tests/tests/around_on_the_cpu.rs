//! Passes over blocks of the CPU's caches around a periodic first axis: the bits of single sweeps, whatever the steps.

use std::mem::swap;
use std::time::Duration;

use tida::prelude::*;
use tida_tests::value;

/// A program whose steps may run together or one by one.
type Program = fn(&TileAcc, [usize; 3]) -> Vec<f64>;

/// The steps of each.
const STEPS: usize = 10;

fn acc(threads: usize, together: bool) -> TileAcc {
    let long = Duration::from_secs(600);
    let builder = TileAcc::builder().device(Device::Cpu).threads(threads).caches(512 << 10, 1).pause(long);
    builder.look_ahead(if together { 1000 } else { 1 }).build().unwrap()
}

fn bits(arrays: [&TileArray<f64, 3>; 2]) -> Vec<f64> {
    arrays.iter().flat_map(|array| array.read_box(array.domain()).unwrap()).collect()
}

fn pair(acc: &TileAcc, shape: [usize; 3], ghost: usize, other: Boundary<f64>) -> [TileArray<f64, 3>; 2] {
    let builder = TileArray::<f64, 3>::builder(shape).ghost(ghost).boundary(other);
    let mut u = builder.boundary_axis(0, Boundary::Periodic).build(acc).unwrap();
    u.fill(|at| value(1, at)).unwrap();
    let mut next = u.like().unwrap();
    next.fill(|at| value(2, at)).unwrap();
    [u, next]
}

/// Reads all around, corners too; the other faces mirror.
fn corners(acc: &TileAcc, shape: [usize; 3]) -> Vec<f64> {
    let [mut u, mut next] = pair(acc, shape, 1, Boundary::ReflectEven);
    for _ in 0..STEPS {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    next[at] = 0.25 * (u[at + [1, 1, 0]] + u[at - [1, 1, 1]] + u[at + [1, 0, -1]] + u[at - [1, 0, 0]]);
                }),
            )
            .unwrap();
        }
        swap(&mut u, &mut next);
    }
    bits([&u, &next])
}

/// Reads two planes on one side, one on the other; cells are scaled in place between, and ghosts are filled twice.
fn aside(acc: &TileAcc, shape: [usize; 3]) -> Vec<f64> {
    let [mut u, mut next] = pair(acc, shape, 2, Boundary::Fixed(0.5));
    for step in 0..STEPS {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| next[at] = 0.5 * u[at + [2, 0, 1]] + 0.5 * u[at - [1, 2, 0]]),
            )
            .unwrap();
        }
        if step % 3 == 1 {
            for tile in TileIter::new(&next) {
                compute(&tile, &mut next, kernel!(|next, at| next[at] = 0.75 * next[at] + 0.125)).unwrap();
            }
            next.fill_ghosts().unwrap();
        }
        swap(&mut u, &mut next);
    }
    bits([&u, &next])
}

/// A kernel sets ghosts by the coordinate along the axis that is periodic; some steps leave out the last planes.
fn set(acc: &TileAcc, shape: [usize; 3]) -> Vec<f64> {
    let builder = TileArray::<f64, 3>::builder(shape).ghost(1).boundary_axis(0, Boundary::Periodic);
    let mut u = builder.boundary_axis(2, Boundary::Fixed(0.25)).build(acc).unwrap();
    u.fill(|at| value(3, at)).unwrap();
    let mut next = u.like().unwrap();
    next.fill(|at| value(4, at)).unwrap();
    for step in 0..STEPS {
        u.fill_ghosts().unwrap();
        for side in [Side::Low, Side::High] {
            let inwards = if side == Side::Low { 1_i64 } else { -1 };
            fill_ghosts_with((1, side), &mut u, kernel!(|u, at| u[at] = u[at + [0, inwards, 0]] + 0.01 * at[0] as f64))
                .unwrap();
        }
        let all = shape.map(|n| n as i64);
        let end = if step == 4 { [all[0] - 3, all[1], all[2]] } else { all };
        for tile in TileIter::new(&u).within([0; 3], end) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| next[at] = 0.5 * u[at + [1, 1, 0]] - 0.25 * u[at - [1, 1, 0]]),
            )
            .unwrap();
        }
        swap(&mut u, &mut next);
    }
    bits([&u, &next])
}

#[test]
fn steps_share_passes_around_the_axis() {
    let programs: [(&str, Program); 3] = [("corners", corners), ("aside", aside), ("set", set)];
    for (name, program) in programs {
        // Few planes too: fewer than the steps of a pass.
        for shape in [[40, 30, 64], [7, 60, 128], [5, 90, 96]] {
            let wanted = program(&acc(1, false), shape);
            for threads in 1..4 {
                let together = acc(threads, true);
                let found = program(&together, shape);
                let wrong = (0..wanted.len()).find(|n| found[*n].to_bits() != wanted[*n].to_bits());
                assert_eq!(wrong, None, "{name} {shape:?}, {threads} threads");
                let shared = together.stats().steps_per_residency();
                assert!(shared >= Some(1.5), "{name} {shape:?}, {threads} threads: {:?}", together.stats());
            }
        }
    }
}
