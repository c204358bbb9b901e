//! What recording costs: 10⁴ computes of 16³ cells, against the same cells' work in plain loops on one thread.
//!
//! Once as 100 sweeps of 100 tiles, as a tile loop records them, and once as 10⁴ sweeps of one tile, where each waits
//! for the one before. Prints the difference for each compute as well. The goal is 5 µs.
//!
//! And what a box costs that is read between sweeps: a cell, a few cells of a row, and planes across two axes, read
//! later or waited for. Prints the time that the calls take, and by how much the loop takes longer.

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

/// Sweeps of a loop with reads, and cells along each axis.
const SWEEPS: usize = 200;
const SIDE: usize = 64;

/// What a loop does with a box after each sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reads {
    None,
    Later,
    Now,
}

/// The time of a loop, and of its calls that read.
fn loop_with(u: &mut TileArray<f64, 3>, cells: GridBox<3>, reads: Reads) -> tida::Result<[Duration; 2]> {
    let (start, mut calls, mut later) = (Instant::now(), Duration::ZERO, Vec::new());
    for _ in 0..SWEEPS {
        for tile in TileIter::new(&*u) {
            compute(&tile, &mut *u, kernel!(|u, at| u[at] = 0.5 * u[at] + 1.0))?;
        }
        let before = Instant::now();
        match reads {
            Reads::None => {}
            Reads::Later => later.push(u.read_box_later(cells)?),
            Reads::Now => drop(black_box(u.read_box(cells)?)),
        }
        calls += before.elapsed();
    }
    u.acc().sync()?;
    later.iter().try_for_each(|values| values.get().map(|values| assert!(values[0] > 0.0)))?;
    Ok([start.elapsed(), calls])
}

fn boxes(_: &mut Criterion) {
    let acc = TileAcc::auto().expect("there is a device");
    let mut u = TileArray::<f64, 3>::builder([SIDE; 3]).build(&acc).expect("the array can be built");
    let n = SIDE as i64;
    for (name, cells) in [
        ("a cell", GridBox::new([5, 6, 7], [6, 7, 8])),
        ("16 cells of a row", GridBox::new([5, 6, 8], [6, 7, 24])),
        ("a plane across the first axis", GridBox::new([5, 0, 0], [6, n, n])),
        ("a plane across the last axis", GridBox::new([0, 0, 5], [n, n, 6])),
    ] {
        let mut best = |reads| {
            let runs = (0..15).map(|_| loop_with(&mut u, cells, reads).expect("the kernel runs"));
            runs.min().unwrap_or_default().map(|time| time.as_secs_f64() * 1e6 / SWEEPS as f64)
        };
        let [none, _] = best(Reads::None);
        for reads in [Reads::Later, Reads::Now] {
            let [time, calls] = best(reads);
            println!("{name}, {reads:?}: {calls:.2} µs a call; a step takes {time:.2} µs, without it {none:.2}");
        }
    }
}

criterion_group!(benches, overhead, boxes);
criterion_main!(benches);
