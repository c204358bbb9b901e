//! Poisson's equation on nodes, solved by multigrid to a small residual: in core, and in a quarter of the memory.
//!
//! Arrays hold the inner nodes alone. Those at the faces are ghosts of fixed value 0: so sweeps overwrite whole arrays,
//! of which nothing has to come to a device first, and rows start where memory transactions do.

use std::time::Instant;

use tida::prelude::*;
use tida::{Compile, Math, TileAccBuilder};
use tida_suite::Result;

use super::{About, alone};
use crate::Bench;
use crate::heat::noise;
use crate::measure::{Output, median};

/// How much of the way to its neighbours' mean a node goes in each sweep: those of the gallery's `multigrid`.
const SWEEPS: [f64; 4] = [0.5177, 3.7243, 0.6923, 1.3235];
/// What is left of the residual when a solution is good enough, and the most cycles that this may take.
const LEFT: f64 = 1e-8;
const MOST: usize = 30;

/// A grid: the solution, its next sweep, the right side, and the residual.
struct Level {
    u: TileArray<f64, 3>,
    next: TileArray<f64, 3>,
    f: TileArray<f64, 3>,
    r: TileArray<f64, 3>,
    /// The square of the distance between two nodes.
    h2: f64,
    /// It has no room as a whole: what no one reads any more is discarded, so that it does not go home.
    streams: bool,
}

impl Level {
    fn new(acc: &TileAcc, n: usize, streams: bool) -> tida::Result<Level> {
        let array = || -> tida::Result<TileArray<f64, 3>> {
            let mut array = TileArray::builder([n; 3]).ghost(1).boundary(Boundary::Fixed(0.0)).build(acc)?;
            array.fill_value(0.0)?;
            Ok(array)
        };
        Ok(Level { u: array()?, next: array()?, f: array()?, r: array()?, h2: ((n + 1) as f64).powi(-2), streams })
    }

    fn smooth(&mut self) -> tida::Result<()> {
        let h2 = self.h2;
        for omega in SWEEPS {
            self.u.fill_ghosts()?;
            for tile in TileIter::new(&self.u) {
                compute(
                    &tile,
                    (&mut self.next, &self.u, &self.f),
                    kernel!(|next, u, f, at| {
                        let around = (u[at - [1, 0, 0]] + u[at + [1, 0, 0]])
                            + (u[at - [0, 1, 0]] + u[at + [0, 1, 0]])
                            + (u[at - [0, 0, 1]] + u[at + [0, 0, 1]]);
                        next[at] = u[at] + omega * ((around + h2 * f[at]) / 6.0 - u[at]);
                    }),
                )?;
            }
            std::mem::swap(&mut self.u, &mut self.next);
        }
        if self.streams {
            self.next.discard();
        }
        Ok(())
    }

    fn residual(&mut self) -> tida::Result<()> {
        let h2 = self.h2;
        self.u.fill_ghosts()?;
        for tile in TileIter::new(&self.u) {
            compute(
                &tile,
                (&mut self.r, &self.u, &self.f),
                kernel!(|r, u, f, at| {
                    let around = (u[at - [1, 0, 0]] + u[at + [1, 0, 0]])
                        + (u[at - [0, 1, 0]] + u[at + [0, 1, 0]])
                        + (u[at - [0, 0, 1]] + u[at + [0, 0, 1]]);
                    r[at] = f[at] - (6.0 * u[at] - around) / h2;
                }),
            )?;
        }
        Ok(())
    }

    /// Takes the residual of the finer grid for its right side, and starts from 0.
    fn restrict(&mut self, finer: &mut Level) -> tida::Result<()> {
        for tile in TileIter::new(&self.u) {
            compute(
                &tile,
                (&mut self.f, &mut self.u, tida::fine(&finer.r)),
                kernel!(|f, u, r, at| {
                    let mut sum = 0.0;
                    for k in -1..=1 {
                        for j in -1..=1 {
                            for i in -1..=1 {
                                let weight = ((2 - k * k) * (2 - j * j) * (2 - i * i)) as f64;
                                sum += weight * r[[2 * at[0] + 1 + k, 2 * at[1] + 1 + j, 2 * at[2] + 1 + i]];
                            }
                        }
                    }
                    f[at] = sum / 64.0;
                    u[at] = 0.0;
                }),
            )?;
        }
        if finer.streams {
            finer.r.discard();
        }
        Ok(())
    }

    /// Adds what the coarser grid found.
    fn correct(&mut self, coarser: &mut Level) -> tida::Result<()> {
        coarser.u.fill_ghosts()?;
        for tile in TileIter::new(&self.u) {
            compute(
                &tile,
                (&mut self.u, tida::coarse(&coarser.u)),
                kernel!(|u, e, at| {
                    let mut sum = 0.0;
                    for k in 0..2 {
                        for j in 0..2 {
                            for i in 0..2 {
                                // Node `2 * i + 1` is node `i` of the coarser grid.
                                sum += e[[(at[0] + 1 + k) / 2 - 1, (at[1] + 1 + j) / 2 - 1, (at[2] + 1 + i) / 2 - 1]];
                            }
                        }
                    }
                    u[at] = u[at] + sum / 8.0;
                }),
            )?;
        }
        Ok(())
    }
}

fn cycle(levels: &mut [Level]) -> tida::Result<()> {
    let Some((fine, coarser)) = levels.split_first_mut() else { return Ok(()) };
    fine.smooth()?;
    if let Some(coarse) = coarser.first_mut() {
        fine.residual()?;
        coarse.restrict(fine)?;
        cycle(coarser)?;
        fine.correct(&mut coarser[0])?;
    }
    fine.smooth()
}

/// Inner nodes along an axis of each grid, the finest first.
fn sizes(n: usize) -> Vec<usize> {
    std::iter::successors(Some(n), |n| (*n > 1).then_some(n / 2)).collect()
}

/// Bytes of a cycle: each array once a sweep.
fn bytes(sizes: &[usize]) -> usize {
    let of_level = |(level, n): (usize, &usize)| {
        // A sweep and the residual have three arrays; the restriction reads one and writes two of the coarser grid; the
        // correction reads and writes one, and reads one of the coarser grid.
        let own = if level + 1 == sizes.len() { 0 } else { 3 + 1 + 2 };
        n.pow(3) * (2 * 3 * SWEEPS.len() + own + if level == 0 { 0 } else { 3 })
    };
    sizes.iter().enumerate().map(of_level).sum::<usize>() * size_of::<f64>()
}

/// Grids of these sizes with noise on the right side, and the size of the residual of nothing. The first two may
/// stream.
fn solver(acc: &TileAcc, sizes: &[usize], streams: bool) -> tida::Result<(Vec<Level>, f64)> {
    let mut levels = sizes
        .iter()
        .enumerate()
        .map(|(level, &n)| Level::new(acc, n, streams && level < 2))
        .collect::<tida::Result<Vec<_>>>()?;
    let n = sizes[0];
    levels[0].f.fill(|[k, j, i]| noise((k * n + j) * n + i) - 0.5)?;
    let first = norm(&levels[0].f)?;
    Ok((levels, first))
}

/// Cycles until the residual is small enough, from nothing; none if that are too many.
fn cycles(levels: &mut [Level], first: f64) -> tida::Result<Option<usize>> {
    levels[0].u.fill_value(0.0)?;
    for count in 1..=MOST {
        cycle(levels)?;
        levels[0].residual()?;
        if norm(&levels[0].r)? <= LEFT * first {
            return Ok(Some(count));
        }
    }
    Ok(None)
}

/// Cycles that are timed out of core: about as many as a solution takes.
const OUT_OF_CORE: usize = 5;

/// Milliseconds, gigabytes to the device and to the host, and passes of a cycle in a quarter of the memory.
fn out_of_core(builder: TileAccBuilder, sizes: &[usize]) -> tida::Result<[f64; 4]> {
    let arrays: usize = sizes.iter().map(|n| 4 * n.pow(3) * size_of::<f64>()).sum();
    let acc = builder.memory_limit(arrays as u64 / 4).look_ahead(2000).build()?;
    let (mut levels, _) = solver(&acc, sizes, true)?;
    let mut run = || -> tida::Result<()> {
        (0..OUT_OF_CORE).try_for_each(|_| cycle(&mut levels))?;
        acc.sync()
    };
    // Compiles what these cycles run: others make other chains.
    run()?;
    let (before, start) = (acc.stats(), Instant::now());
    run()?;
    let (seconds, after) = (start.elapsed().as_secs_f64(), acc.stats());
    let moved = [after.h2d_bytes - before.h2d_bytes, after.d2h_bytes - before.d2h_bytes].map(|n| n as f64 / 1e9);
    let all = [1e3 * seconds, moved[0], moved[1], (after.passes - before.passes) as f64];
    Ok(all.map(|n| n / OUT_OF_CORE as f64))
}

/// A whole solution, in core against a copy of as many bytes, and a cycle in a quarter of the memory.
pub fn solve(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = bench.size - 1;
    let sizes = sizes(n);
    let acc = bench.accelerator(Math::Exact)?;
    let (mut levels, first) = solver(&acc, &sizes, false)?;
    let count = cycles(&mut levels, first)?.ok_or_else(|| format!("tried {MOST} cycles; found no solution"))?;
    let about = About {
        case: format!("multigrid f64 {n}^3 nodes to {LEFT:e}"),
        cells: n.pow(3),
        bytes: count * bytes(&sizes),
        of_copy: Some(1.0 / 1.5),
        of_hand: None,
    };
    let mut run = |steps: usize| -> Result<()> {
        for _ in 0..steps {
            levels[0].u.fill_value(0.0)?;
            (0..count).try_for_each(|_| cycle(&mut levels))?;
        }
        Ok(acc.sync()?)
    };
    let times = alone((bench, output), &about, &format!("{count} cycles"), &mut run)?;
    output.figure(&format!("{}: a solution", about.case), 1e3 * median(&times), "ms")?;
    drop((levels, acc));
    let builder = TileAcc::builder().device(bench.device).compile(Compile::Wait);
    let [time, up, down, passes] = out_of_core(builder, &sizes)?;
    let name = format!("multigrid f64 {n}^3 nodes, a cycle in a quarter of the memory");
    output.figure(&name, time, "ms")?;
    output.figure(&format!("{name}: to the device"), up, "GB")?;
    output.figure(&format!("{name}: to the host"), down, "GB")?;
    output.figure(&format!("{name}: passes"), passes, "")
}
