//! Grids that a core's first caches hold: what counts is what a sweep costs beyond its cells.

use tida::prelude::*;

use crate::{Outcome, measured, random, values};

/// Sweeps in one run.
const STEPS: usize = 1000;

/// PolyBench's jacobi-2d of `n` x `n` cells: the mean of a cell and its four neighbours; the outer cells stay. Each
/// sweep reads what the one before it has left.
pub fn jacobi(acc: &TileAcc, n: usize) -> tida::Result<Outcome> {
    let mut u = TileArray::<f64, 2>::builder([n, n]).build(acc)?;
    let mut next = u.like()?;
    for array in [&mut u, &mut next] {
        array.fill(|[j, i]| random(j * n + i))?;
    }
    let last = n as i64 - 1;
    let run = |(now, next): &mut (TileArray<f64, 2>, TileArray<f64, 2>)| {
        for _ in 0..STEPS {
            for tile in TileIter::new(now).within([1, 1], [last, last]) {
                compute(
                    &tile,
                    (&mut *next, &*now),
                    kernel!(|next, u, at| {
                        next[at] = 0.2 * (u[at] + u[at - [0, 1]] + u[at + [0, 1]] + u[at + [1, 0]] + u[at - [1, 0]]);
                    }),
                )?;
            }
            std::mem::swap(now, next);
        }
        Ok(())
    };
    measured(acc, (u, next), run, |(u, _)| values(u))
}
