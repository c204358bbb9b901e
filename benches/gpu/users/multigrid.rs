//! Multigrid for Poisson's equation in a cube, 0 at its faces: V cycles with two sweeps of Jacobi's iteration before
//! and after.

use tida::Math;
use tida::prelude::*;
use tida_suite::Result;

use super::{About, alone, differing, verdict};
use crate::Bench;
use crate::heat::noise;
use crate::measure::{Output, median};

/// Sweeps before and after a correction, and on the coarsest grid.
const SWEEPS: usize = 2;
const COARSEST: usize = 20;
/// Cells along an axis of the coarsest grid, at most.
const SMALL: usize = 4;
/// How far a sweep goes, over what its cell's residual asks for.
const DAMPED: f64 = 6.0 / 7.0 / 6.0;

/// A grid: the solution, the next one, the right side times the square of a cell's width, the residual.
struct Level {
    u: TileArray<f64, 3>,
    next: TileArray<f64, 3>,
    f: TileArray<f64, 3>,
    r: TileArray<f64, 3>,
}

impl Level {
    fn new(acc: &TileAcc, n: usize) -> tida::Result<Level> {
        let mut u = TileArray::<f64, 3>::builder([n; 3]).ghost(1).boundary(Boundary::Fixed(0.0)).build(acc)?;
        u.fill_value(0.0)?;
        let (mut next, mut f) = (u.like()?, TileArray::<f64, 3>::builder([n; 3]).build(acc)?);
        next.fill_value(0.0)?;
        f.fill_value(0.0)?;
        let r = f.like()?;
        Ok(Level { u, next, f, r })
    }

    fn smooth(&mut self, sweeps: usize) -> tida::Result<()> {
        let Level { u, next, f, .. } = self;
        for _ in 0..sweeps {
            u.fill_ghosts()?;
            for tile in TileIter::new(u) {
                compute(
                    &tile,
                    (&mut *next, &*u, &*f),
                    kernel!(|next, u, f, at| {
                        let around = u[at - [0, 0, 1]]
                            + u[at + [0, 0, 1]]
                            + u[at - [0, 1, 0]]
                            + u[at + [0, 1, 0]]
                            + u[at - [1, 0, 0]]
                            + u[at + [1, 0, 0]];
                        let c = u[at];
                        next[at] = c + DAMPED * (f[at] - (6.0 * c - around));
                    }),
                )?;
            }
            std::mem::swap(u, next);
        }
        Ok(())
    }

    fn residual(&mut self) -> tida::Result<()> {
        let Level { u, f, r, .. } = self;
        u.fill_ghosts()?;
        for tile in TileIter::new(r) {
            compute(
                &tile,
                (&mut *r, &*u, &*f),
                kernel!(|r, u, f, at| {
                    let around = u[at - [0, 0, 1]]
                        + u[at + [0, 0, 1]]
                        + u[at - [0, 1, 0]]
                        + u[at + [0, 1, 0]]
                        + u[at - [1, 0, 0]]
                        + u[at + [1, 0, 0]];
                    r[at] = f[at] - (6.0 * u[at] - around);
                }),
            )?;
        }
        Ok(())
    }
}

/// A V cycle over these grids, the finest first.
fn cycle(levels: &mut [Level]) -> tida::Result<()> {
    let Some((fine, coarser)) = levels.split_first_mut() else { return Ok(()) };
    let Some(coarse) = coarser.first_mut() else { return fine.smooth(COARSEST) };
    fine.smooth(SWEEPS)?;
    fine.residual()?;
    let (f, r) = (&mut coarse.f, &fine.r);
    for tile in TileIter::new(f) {
        compute(
            &tile,
            (&mut *f, tida::fine(r)),
            kernel!(|f, r, at| {
                let (k, j, i) = (2 * at[0], 2 * at[1], 2 * at[2]);
                let below = r[[k, j, i]] + r[[k, j, i + 1]] + r[[k, j + 1, i]] + r[[k, j + 1, i + 1]];
                let above = r[[k + 1, j, i]] + r[[k + 1, j, i + 1]] + r[[k + 1, j + 1, i]] + r[[k + 1, j + 1, i + 1]];
                f[at] = 0.5 * (below + above);
            }),
        )?;
    }
    coarse.u.fill_value(0.0)?;
    cycle(coarser)?;
    let (u, e) = (&mut fine.u, &coarser[0].u);
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *u, tida::coarse(e)),
            kernel!(|u, e, at| u[at] = u[at] + e[[at[0] / 2, at[1] / 2, at[2] / 2]]),
        )?;
    }
    fine.smooth(SWEEPS)
}

/// Cells along an axis of each grid.
fn sizes(n: usize) -> Vec<usize> {
    std::iter::successors(Some(n), |&n| (n > SMALL && n % 2 == 0).then_some(n / 2)).collect()
}

/// Bytes of a cycle.
fn bytes(sizes: &[usize]) -> usize {
    let of_level = |(level, n): (usize, &usize)| {
        let cells = n.pow(3);
        // A sweep has three arrays, as has the residual; its restriction reads one, the correction reads and writes
        // one. What is read or written on the coarser grid is counted there: the right side, zeros, the correction.
        let own = if level + 1 == sizes.len() { 3 * COARSEST } else { 3 * 2 * SWEEPS + 3 + 1 + 2 };
        cells * (own + if level == 0 { 0 } else { 3 })
    };
    sizes.iter().enumerate().map(of_level).sum::<usize>() * size_of::<f64>()
}

/// Cycles, against a copy of as many bytes.
pub fn multigrid(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = bench.size / 2;
    let sizes = sizes(n);
    let about = About {
        case: format!("multigrid f64 {n}^3, V(2,2)"),
        cells: n.pow(3),
        bytes: bytes(&sizes),
        of_copy: None,
        of_hand: None,
    };
    let acc = bench.accelerator(Math::Exact)?;
    let mut levels = sizes.iter().map(|&n| Level::new(&acc, n)).collect::<tida::Result<Vec<_>>>()?;
    levels[0].f.fill(|[k, j, i]| noise((k * n + j) * n + i) - 0.5)?;
    cycle(&mut levels)?;
    let found = levels[0].u.read_box(levels[0].u.domain())?;
    let mut expected = vec![0.0; n.pow(3)];
    let right: Vec<f64> = (0..n.pow(3)).map(|c| noise(c) - 0.5).collect();
    plain(n, &mut expected, &right);
    let check = verdict(output, &about.case, differing(&[found], &[expected]), "plain loops");
    let mut run = |steps: usize| -> Result<()> {
        for _ in 0..steps {
            cycle(&mut levels)?;
        }
        Ok(acc.sync()?)
    };
    let times = alone((bench, output), &about, &check, &mut run)?;
    output.figure(&format!("{}: a cycle", about.case), 1e3 * median(&times), "ms")
}

/// The same by plain loops.
fn plain(n: usize, u: &mut Vec<f64>, f: &[f64]) {
    let around = |u: &[f64], c: usize| {
        let near = |place: usize, stride: usize| {
            let low = if place > 0 { u[c - stride] } else { 0.0 };
            let high = if place + 1 < n { u[c + stride] } else { 0.0 };
            [low, high]
        };
        let [[w, e], [s, t], [d, h]] = [near(c % n, 1), near(c / n % n, n), near(c / n / n, n * n)];
        w + e + s + t + d + h
    };
    let smooth = |u: &mut Vec<f64>, sweeps: usize| {
        for _ in 0..sweeps {
            *u = (0..u.len()).map(|c| u[c] + DAMPED * (f[c] - (6.0 * u[c] - around(u, c)))).collect();
        }
    };
    if n <= SMALL || n % 2 == 1 {
        return smooth(u, COARSEST);
    }
    smooth(u, SWEEPS);
    let r: Vec<f64> = (0..u.len()).map(|c| f[c] - (6.0 * u[c] - around(u, c))).collect();
    let half = n / 2;
    let restricted = |c: usize| {
        let first = (2 * (c / half / half) * n + 2 * (c / half % half)) * n + 2 * (c % half);
        let four = |p: usize| r[p] + r[p + 1] + r[p + n] + r[p + n + 1];
        0.5 * (four(first) + four(first + n * n))
    };
    let coarse: Vec<f64> = (0..half.pow(3)).map(restricted).collect();
    let mut e = vec![0.0; half.pow(3)];
    plain(half, &mut e, &coarse);
    for (c, u) in u.iter_mut().enumerate() {
        *u += e[(c / n / n / 2 * half + c / n % n / 2) * half + c % n / 2];
    }
    smooth(u, SWEEPS);
}
