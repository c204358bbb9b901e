//! The heat sweep, ghost fill included, by number of regions. Against C: `cargo xtask bench cpu`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tida::prelude::*;

const SIDE: usize = 128;
const STEPS: usize = 20;

fn steps(u: &mut TileArray<f64, 3>, next: &mut TileArray<f64, 3>) -> tida::Result<()> {
    let alpha = 0.1;
    for _ in 0..STEPS {
        u.fill_ghosts()?;
        for tile in TileIter::new(u) {
            compute(
                &tile,
                (&mut *next, &*u),
                kernel!(|next, u, at| {
                    let c = u[at];
                    next[at] = c + alpha
                        * (u[at + [0, 0, 1]]
                            + u[at - [0, 0, 1]]
                            + u[at + [0, 1, 0]]
                            + u[at - [0, 1, 0]]
                            + u[at + [1, 0, 0]]
                            + u[at - [1, 0, 0]]
                            - 6.0 * c);
                }),
            )?;
        }
        std::mem::swap(u, next);
    }
    u.acc().sync()
}

fn heat(c: &mut Criterion) {
    let mut group = c.benchmark_group("heat 128^3 f64, 20 steps");
    group.sample_size(20).throughput(Throughput::Elements((SIDE.pow(3) * STEPS) as u64));
    for regions in [1, 4, 16] {
        let arrays = || -> tida::Result<_> {
            let acc = TileAcc::auto()?;
            let mut u = TileArray::<f64, 3>::builder([SIDE; 3])
                .regions([regions, 1, 1])
                .ghost(1)
                .boundary(Boundary::Periodic)
                .build(&acc)?;
            u.fill(|[k, j, i]| ((k * 7 + j * 5 + i * 3) % 11) as f64)?;
            let next = u.like()?;
            Ok((u, next))
        };
        let (mut u, mut next) = arrays().expect("the arrays can be built");
        group.bench_function(BenchmarkId::new("regions", regions), |b| {
            b.iter(|| steps(&mut u, &mut next).expect("the sweeps run"));
        });
    }
    group.finish();
}

criterion_group!(benches, heat);
criterion_main!(benches);
