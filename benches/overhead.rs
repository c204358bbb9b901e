//! What recording costs: 10⁴ computes of 16³ cells, against the same cells' work in plain loops on one thread.
//!
//! Once as 100 sweeps of 100 tiles, as a tile loop records them, and once as 10⁴ sweeps of one tile, where each waits
//! for the one before. Prints the difference for each compute as well. The goal is 5 µs.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use tida::prelude::*;

const COMPUTES: usize = 10_000;
const TILE: [usize; 3] = [16; 3];
const CELLS: usize = 16 * 16 * 16;

/// An array of so many tiles, and one for the results.
struct Work {
    u: TileArray<f64, 3>,
    next: TileArray<f64, 3>,
    plain: [Vec<f64>; 2],
}

impl Work {
    fn new(tiles: [usize; 2]) -> tida::Result<Work> {
        let acc = TileAcc::auto()?;
        let mut u = TileArray::<f64, 3>::builder([16 * tiles[0], 16 * tiles[1], 16]).build(&acc)?;
        u.fill(|[k, j, i]| (k + j + i) as f64)?;
        let next = u.like()?;
        let values = vec![1.0; CELLS * tiles[0] * tiles[1]];
        Ok(Work { u, next, plain: [values.clone(), values] })
    }

    /// All computes recorded and run.
    fn recorded(&mut self) -> tida::Result<()> {
        let alpha = 0.1;
        let mut computes = 0;
        while computes < COMPUTES {
            for tile in TileIter::new(&self.u).tile_size(TILE) {
                compute(
                    &tile,
                    (&mut self.next, &self.u),
                    kernel!(|next, u, at| {
                        next[at] = u[at] + alpha * u[at];
                    }),
                )?;
                computes += 1;
            }
        }
        self.u.acc().sync()
    }

    /// The same cells' work.
    fn by_hand(&mut self) {
        let [next, u] = &mut self.plain;
        let alpha = black_box(0.1);
        for _ in 0..COMPUTES * CELLS / u.len() {
            for (y, x) in next.iter_mut().zip(black_box(&*u)) {
                *y = x + alpha * x;
            }
            black_box(&mut *next);
        }
    }
}

/// The shortest of some runs.
fn shortest(mut run: impl FnMut()) -> Duration {
    let once = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..15).map(once).min().unwrap_or_default()
}

fn overhead(c: &mut Criterion) {
    for (name, tiles) in [("100 sweeps of 100 tiles", [10, 10]), ("10^4 sweeps of one tile", [1, 1])] {
        let mut work = Work::new(tiles).expect("the arrays can be built");
        let mut group = c.benchmark_group(format!("overhead, {name}"));
        group.sample_size(20);
        group.bench_function("recorded", |b| b.iter(|| work.recorded().expect("the kernel runs")));
        group.bench_function("by hand", |b| b.iter(|| work.by_hand()));
        group.finish();

        let recorded = shortest(|| work.recorded().expect("the kernel runs"));
        let by_hand = shortest(|| work.by_hand());
        let each = (recorded.as_secs_f64() - by_hand.as_secs_f64()) / COMPUTES as f64;
        println!("{name}: {:.2} µs for each compute beyond its cells' work (goal: 5)\n", each * 1e6);
    }
}

criterion_group!(benches, overhead);
criterion_main!(benches);
