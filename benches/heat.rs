//! The heat sweep, ghost fill included, by number of regions. Against C: `cargo xtask bench cpu`.
//!
//! `rank` sets the text for every precision and rank, and kernels that are kept, beside the formula written out in the
//! call. All run in turn on one thread; what is printed is the quotient of their medians, and of the fastest times: the
//! goal is 0.97 to 1.03.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tida::prelude::*;
use tida_suite::turns::{Form, in_turn};

const SIDE: usize = 128;
const STEPS: usize = 20;
/// Times that each side of a comparison runs.
const ROUNDS: usize = 101;

/// Steps of heat conduction.
type Steps<T> = fn(&mut TileArray<T, 3>, &mut TileArray<T, 3>) -> tida::Result<()>;

/// Steps that are recorded by `step`.
fn steps<T: Real>(
    u: &mut TileArray<T, 3>,
    next: &mut TileArray<T, 3>,
    step: impl Fn(&Tile<3>, &mut TileArray<T, 3>, &TileArray<T, 3>) -> tida::Result<()>,
) -> tida::Result<()> {
    for _ in 0..STEPS {
        u.fill_ghosts()?;
        for tile in TileIter::new(u) {
            step(&tile, next, u)?;
        }
        std::mem::swap(u, next);
    }
    u.acc().sync()
}

/// For every precision and rank.
fn step<T: Real, const D: usize>(
    tile: &Tile<D>,
    next: &mut TileArray<T, D>,
    u: &TileArray<T, D>,
    alpha: T,
) -> tida::Result<()> {
    compute(
        tile,
        (next, u),
        kernel!(T; |next, u, at| {
            let mut around = -2.0 * D as T * u[at];
            for d in 0..D {
                around += u[at + unit(d)] + u[at - unit(d)];
            }
            next[at] = u[at] + alpha * around;
        }),
    )
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

/// The same written out for a type.
macro_rules! written_out {
    ($T:ident) => {
        |u, next| {
            let alpha: $T = 0.1;
            steps(u, next, |tile, next, u| {
                compute(
                    tile,
                    (next, u),
                    kernel!(|next, u, at| {
                        let mut around = -6.0 * u[at];
                        around += u[at + [1, 0, 0]] + u[at - [1, 0, 0]];
                        around += u[at + [0, 1, 0]] + u[at - [0, 1, 0]];
                        around += u[at + [0, 0, 1]] + u[at - [0, 0, 1]];
                        next[at] = u[at] + alpha * around;
                    }),
                )
            })
        }
    };
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
            b.iter(|| steps_of_any_rank(&mut u, &mut next).expect("the sweeps run"));
        });
    }
    group.finish();
}

fn rank(_: &mut Criterion) {
    for side in [48, 128] {
        beside::<f64>(side, "f64", written_out!(f64)).expect("the sweeps run");
        beside::<f32>(side, "f32", written_out!(f32)).expect("the sweeps run");
    }
}

fn steps_of_any_rank<T: Real>(u: &mut TileArray<T, 3>, next: &mut TileArray<T, 3>) -> tida::Result<()> {
    let alpha = lit!(T, 0.1);
    steps(u, next, |tile, next, u| step::<T, 3>(tile, next, u, alpha))
}

/// All forms in turn, from the same cells, whose results have the same bits.
fn beside<T: Real>(side: usize, name: &str, written: Steps<T>) -> tida::Result<()> {
    let ways: [(&str, Steps<T>); 4] = [
        ("written out", written),
        ("for every rank", steps_of_any_rank),
        ("kept", |u, next| {
            let kept = conduction::<T>(lit!(T, 0.1));
            steps(u, next, |tile, next, u| compute(tile, (next, u), kept))
        }),
        ("boxed", |u, next| {
            let boxed = BoxedKernel::<3, Pair<T>>::new(conduction::<T>(lit!(T, 0.1)));
            steps(u, next, |tile, next, u| boxed.compute(tile, (next, u)))
        }),
    ];
    let acc = TileAcc::builder().threads(1).build()?;
    let mut fields = Vec::new();
    for _ in &ways {
        fields.push(arrays::<T>(&acc, side, 1)?);
    }
    let mut forms = Vec::new();
    for ((_, run), [u, next]) in ways.iter().zip(&mut fields) {
        forms.push(Box::new(move || run(u, next)) as Form<'_>);
    }
    let took = in_turn(ROUNDS, &mut forms)?;
    drop(forms);
    let bits = |field: &[TileArray<T, 3>; 2]| field[0].read_box(field[0].domain());
    for (((what, _), field), time) in ways.iter().zip(&fields).zip(&took) {
        assert_eq!(bits(field)?, bits(&fields[0])?);
        println!(
            "heat {side}^3 {name}, {STEPS} steps, {what}: {:.3} ms, {:.3}; the fastest {:.3}",
            1e3 * time.median,
            time.median / took[0].median,
            time.fastest / took[0].fastest
        );
    }
    Ok(())
}

criterion_group!(benches, heat, rank);
criterion_main!(benches);
