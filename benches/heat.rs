//! The heat sweep, ghost fill included, by number of regions. Against C: `cargo xtask bench cpu`.
//!
//! `rank` sets the text for every precision and rank beside the formula written out for one. Both run in turn on one
//! thread; what is printed is the quotient of their medians, and of the fastest times: the goal is 0.97 to 1.03.

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tida::prelude::*;

const SIDE: usize = 128;
const STEPS: usize = 20;
/// Times that each side of a comparison runs.
const ROUNDS: usize = 101;

/// Steps of heat conduction.
type Steps<T> = fn(&mut TileArray<T, 3>, &mut TileArray<T, 3>) -> tida::Result<()>;

/// For every precision and rank.
fn steps<T: Real, const D: usize>(u: &mut TileArray<T, D>, next: &mut TileArray<T, D>) -> tida::Result<()> {
    let alpha = lit!(T, 0.1);
    for _ in 0..STEPS {
        u.fill_ghosts()?;
        for tile in TileIter::new(u) {
            compute(
                &tile,
                (&mut *next, &*u),
                kernel!(T; |next, u, at| {
                    let mut around = -2.0 * D as T * u[at];
                    for d in 0..D {
                        around += u[at + unit(d)] + u[at - unit(d)];
                    }
                    next[at] = u[at] + alpha * around;
                }),
            )?;
        }
        std::mem::swap(u, next);
    }
    u.acc().sync()
}

/// The same written out.
fn steps_f64(u: &mut TileArray<f64, 3>, next: &mut TileArray<f64, 3>) -> tida::Result<()> {
    let alpha = 0.1;
    for _ in 0..STEPS {
        u.fill_ghosts()?;
        for tile in TileIter::new(u) {
            compute(
                &tile,
                (&mut *next, &*u),
                kernel!(|next, u, at| {
                    let mut around = -6.0 * u[at];
                    around += u[at + [1, 0, 0]] + u[at - [1, 0, 0]];
                    around += u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                    around += u[at + [0, 0, 1]] + u[at - [0, 0, 1]];
                    next[at] = u[at] + alpha * around;
                }),
            )?;
        }
        std::mem::swap(u, next);
    }
    u.acc().sync()
}

/// The same written out, in single precision.
fn steps_f32(u: &mut TileArray<f32, 3>, next: &mut TileArray<f32, 3>) -> tida::Result<()> {
    let alpha = 0.1f32;
    for _ in 0..STEPS {
        u.fill_ghosts()?;
        for tile in TileIter::new(u) {
            compute(
                &tile,
                (&mut *next, &*u),
                kernel!(|next, u, at| {
                    let mut around = -6.0 * u[at];
                    around += u[at + [1, 0, 0]] + u[at - [1, 0, 0]];
                    around += u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                    around += u[at + [0, 0, 1]] + u[at - [0, 0, 1]];
                    next[at] = u[at] + alpha * around;
                }),
            )?;
        }
        std::mem::swap(u, next);
    }
    u.acc().sync()
}

/// A cube in so many slabs, and one for the results.
fn arrays<T: Real>(acc: &TileAcc, side: usize, regions: usize) -> tida::Result<[TileArray<T, 3>; 2]> {
    let builder = TileArray::<T, 3>::builder([side; 3]).regions([regions, 1, 1]).ghost(1);
    let mut u = builder.boundary(Boundary::Periodic).build(acc)?;
    u.fill(|[k, j, i]| T::of(((k * 7 + j * 5 + i * 3) % 11) as f64))?;
    let mut next = u.like()?;
    next.fill_value(T::ZERO)?;
    Ok([u, next])
}

fn heat(c: &mut Criterion) {
    let mut group = c.benchmark_group("heat 128^3 f64, 20 steps");
    group.sample_size(20).throughput(Throughput::Elements((SIDE.pow(3) * STEPS) as u64));
    for regions in [1, 4, 16] {
        let acc = TileAcc::auto().expect("there is a device");
        let [mut u, mut next] = arrays::<f64>(&acc, SIDE, regions).expect("the arrays can be built");
        group.bench_function(BenchmarkId::new("regions", regions), |b| {
            b.iter(|| steps(&mut u, &mut next).expect("the sweeps run"));
        });
    }
    group.finish();
}

fn rank(_: &mut Criterion) {
    for side in [48, 128] {
        beside::<f64>(side, "f64", steps_f64).expect("the sweeps run");
        beside::<f32>(side, "f32", steps_f32).expect("the sweeps run");
    }
}

/// Both forms in turn, from the same cells, whose results have the same bits.
fn beside<T: Real>(side: usize, name: &str, written: Steps<T>) -> tida::Result<()> {
    let acc = TileAcc::builder().threads(1).build()?;
    let [mut u, mut next] = arrays::<T>(&acc, side, 1)?;
    let [mut v, mut after] = arrays::<T>(&acc, side, 1)?;
    let mut times = [const { Vec::new() }; 2];
    for round in 0..ROUNDS {
        // Who comes first changes.
        for side in [round % 2, 1 - round % 2] {
            let start = Instant::now();
            match side {
                0 => steps(&mut u, &mut next)?,
                _ => written(&mut v, &mut after)?,
            }
            times[side].push(start.elapsed());
        }
    }
    assert_eq!(u.read_box(u.domain())?, v.read_box(v.domain())?);
    times.iter_mut().for_each(|times| times.sort_unstable());
    let [medians, fastest] = [ROUNDS / 2, 0].map(|at| [times[0][at], times[1][at]]);
    let quotient = |[generic, written]: [Duration; 2]| generic.as_secs_f64() / written.as_secs_f64();
    println!(
        "heat {side}^3 {name}, {STEPS} steps: for every rank {:.2?}, written out {:.2?}: {:.3}; the fastest {:.3}",
        medians[0],
        medians[1],
        quotient(medians),
        quotient(fastest)
    );
    Ok(())
}

criterion_group!(benches, heat, rank);
criterion_main!(benches);
