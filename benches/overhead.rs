//! What recording costs: 10⁴ computes of 16³ cells, against the same cells' work in plain loops.
//!
//! Prints the difference for each compute as well. The goal is 5 µs.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use tida::prelude::*;

const COMPUTES: usize = 10_000;
const SIDE: usize = 16;

/// The work of the kernel on one tile, by hand.
fn plain(next: &mut [f64], u: &[f64], alpha: f64) {
    for (y, x) in next.iter_mut().zip(u) {
        *y = x + alpha * x;
    }
}

fn recorded(tile: &Tile<3>, next: &mut TileArray<f64, 3>, u: &TileArray<f64, 3>) -> tida::Result<()> {
    let alpha = 0.1;
    for _ in 0..COMPUTES {
        compute(
            tile,
            (&mut *next, u),
            kernel!(|next, u, at| {
                next[at] = u[at] + alpha * u[at];
            }),
        )?;
    }
    u.acc().sync()
}

fn overhead(c: &mut Criterion) {
    let measure = || -> tida::Result<(Tile<3>, TileArray<f64, 3>, TileArray<f64, 3>)> {
        let acc = TileAcc::auto()?;
        let mut u = TileArray::<f64, 3>::builder([SIDE; 3]).build(&acc)?;
        u.fill(|[k, j, i]| (k + j + i) as f64)?;
        let next = u.like()?;
        let tile = TileIter::new(&u).next().expect("an array has a tile");
        Ok((tile, next, u))
    };
    let (tile, mut next, u) = measure().expect("the arrays can be built");
    let values = vec![1.0; SIDE.pow(3)];
    let mut results = values.clone();

    let mut group = c.benchmark_group("overhead");
    group.sample_size(20);
    group.bench_function("10^4 computes of 16^3 cells", |b| {
        b.iter(|| recorded(&tile, &mut next, &u).expect("the kernel runs"));
    });
    group.bench_function("the same work in plain loops", |b| {
        b.iter(|| {
            for _ in 0..COMPUTES {
                plain(black_box(&mut results), black_box(&values), 0.1);
            }
        });
    });
    group.finish();

    let best = |mut run: Box<dyn FnMut() + '_>| -> Duration {
        let once = |_| {
            let start = Instant::now();
            run();
            start.elapsed()
        };
        (0..15).map(once).min().unwrap_or_default()
    };
    let tida = best(Box::new(|| recorded(&tile, &mut next, &u).expect("the kernel runs")));
    let loops = best(Box::new(|| {
        for _ in 0..COMPUTES {
            plain(black_box(&mut results), black_box(&values), 0.1);
        }
    }));
    let each = (tida.as_secs_f64() - loops.as_secs_f64()) / COMPUTES as f64;
    println!("overhead of one compute beyond its cells' work: {:.2} µs (goal: 5)", each * 1e6);
}

criterion_group!(benches, overhead);
criterion_main!(benches);
