//! The heat sweep, ghost fill included, by number of regions. Against C: `cargo xtask bench cpu`.
//!
//! `rank` sets the text for every precision and rank, and kernels that are kept, beside the formula written out in the
//! call. All run in turn on one thread; what is printed is the quotient of their medians, and of the fastest times: the
//! goal is 0.97 to 1.03.

use std::time::Instant;

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

/// What a kernel of a step is given.
type Pair<T> = (&'static mut TileArray<T, 3>, &'static TileArray<T, 3>);

/// A kernel that is returned by a function.
fn conduction<T: Real>(alpha: T) -> impl Kernel<3, Pair<T>> + Copy {
    kernel!(T; |next, u, at| {
        let mut around = -6.0 * u[at];
        around += u[at + [1, 0, 0]] + u[at - [1, 0, 0]];
        around += u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
        around += u[at + [0, 0, 1]] + u[at - [0, 0, 1]];
        next[at] = u[at] + alpha * around;
    })
}

/// Steps of a kernel that is kept.
fn steps_kept<T: Real>(u: &mut TileArray<T, 3>, next: &mut TileArray<T, 3>) -> tida::Result<()> {
    let kept = conduction::<T>(lit!(T, 0.1));
    for _ in 0..STEPS {
        u.fill_ghosts()?;
        for tile in TileIter::new(u) {
            compute(&tile, (&mut *next, &*u), kept)?;
        }
        std::mem::swap(u, next);
    }
    u.acc().sync()
}

/// Steps of a kernel in a box.
fn steps_boxed<T: Real>(u: &mut TileArray<T, 3>, next: &mut TileArray<T, 3>) -> tida::Result<()> {
    let boxed = BoxedKernel::<3, Pair<T>>::new(conduction::<T>(lit!(T, 0.1)));
    for _ in 0..STEPS {
        u.fill_ghosts()?;
        for tile in TileIter::new(u) {
            boxed.compute(&tile, (&mut *next, &*u))?;
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

/// All forms in turn, from the same cells, whose results have the same bits.
fn beside<T: Real>(side: usize, name: &str, written: Steps<T>) -> tida::Result<()> {
    let ways: [(&str, Steps<T>); 4] =
        [("written out", written), ("for every rank", steps), ("kept", steps_kept), ("boxed", steps_boxed)];
    let acc = TileAcc::builder().threads(1).build()?;
    let mut fields = Vec::new();
    for _ in &ways {
        fields.push(arrays::<T>(&acc, side, 1)?);
    }
    let mut times = [const { Vec::new() }; 4];
    for round in 0..ROUNDS {
        // Who comes first changes.
        for way in (0..ways.len()).map(|n| (n + round) % ways.len()) {
            let [u, next] = &mut fields[way];
            let start = Instant::now();
            ways[way].1(u, next)?;
            times[way].push(start.elapsed());
        }
    }
    let bits = |field: &[TileArray<T, 3>; 2]| field[0].read_box(field[0].domain());
    times.iter_mut().for_each(|times| times.sort_unstable());
    let [median, fastest] = [ROUNDS / 2, 0].map(|at| times.each_ref().map(|times| times[at].as_secs_f64()));
    for (way, (what, _)) in ways.iter().enumerate() {
        assert_eq!(bits(&fields[way])?, bits(&fields[0])?);
        println!(
            "heat {side}^3 {name}, {STEPS} steps, {what}: {:.3} ms, {:.3}; the fastest {:.3}",
            1e3 * median[way],
            median[way] / median[0],
            fastest[way] / fastest[0]
        );
    }
    Ok(())
}

criterion_group!(benches, heat, rank);
criterion_main!(benches);
