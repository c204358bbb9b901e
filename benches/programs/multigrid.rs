//! Multigrid for Poisson's equation: V-cycles with two sweeps of Jacobi's iteration before and after each coarser grid.
//!
//! A grid has 2^k + 1 nodes along each axis, and the outer ones stay at 0. Every second node is one of the next coarser
//! grid. The way down weights the nodes around (full weighting), the way up takes the mean of the coarse nodes around.

use tida::prelude::*;

use crate::{Outcome, measured, random, values};

/// Cycles in one run.
const CYCLES: usize = 2;
/// Sweeps before the coarser grid and after it.
const SWEEPS: usize = 2;
/// How far a sweep goes, over what a node's residual asks for.
const DAMPED_3: f64 = 6.0 / 7.0 / 6.0;
const DAMPED_2: f64 = 4.0 / 5.0 / 4.0;

/// A grid: the solution, its next sweep, the right side times the square of the distance between nodes, and the
/// residual.
struct Level<const D: usize> {
    u: TileArray<f64, D>,
    next: TileArray<f64, D>,
    f: TileArray<f64, D>,
    r: TileArray<f64, D>,
}

impl<const D: usize> Level<D> {
    fn new(acc: &TileAcc, n: usize) -> tida::Result<Level<D>> {
        let mut u = TileArray::builder([n; D]).build(acc)?;
        u.fill_value(0.0)?;
        let (mut next, mut f, mut r) = (u.like()?, u.like()?, u.like()?);
        next.fill_value(0.0)?;
        f.fill_value(0.0)?;
        r.fill_value(0.0)?;
        Ok(Level { u, next, f, r })
    }

    /// The nodes that are solved for.
    fn inner(&self) -> TileIter<D> {
        TileIter::new(&self.u).within([1; D], self.u.shape().map(|n| n as i64 - 1))
    }
}

/// What a cycle is made of.
struct Method<const D: usize> {
    sweep: fn(&mut Level<D>) -> tida::Result<()>,
    residual: fn(&mut Level<D>) -> tida::Result<()>,
    /// Takes the residual of the finer grid, and starts from 0.
    restrict: fn(&mut Level<D>, &Level<D>) -> tida::Result<()>,
    /// Adds what the coarser grid found.
    correct: fn(&mut Level<D>, &Level<D>) -> tida::Result<()>,
}

impl<const D: usize> Method<D> {
    /// Cycles over grids of `n` nodes and fewer along each axis.
    fn solve(&self, acc: &TileAcc, n: usize) -> tida::Result<Outcome> {
        let sizes = std::iter::successors(Some(n), |n| (*n > 3).then_some(n / 2 + 1));
        let mut levels = sizes.map(|n| Level::new(acc, n)).collect::<tida::Result<Vec<Level<D>>>>()?;
        levels[0].f.fill(|at| random(at.iter().fold(0, |place, i| place * n + i)) - 0.5)?;
        let run = |levels: &mut Vec<Level<D>>| {
            for _ in 0..CYCLES {
                self.cycle(levels)?;
            }
            Ok(())
        };
        measured(acc, levels, run, |levels| values(&levels[0].u))
    }

    fn smooth(&self, level: &mut Level<D>) -> tida::Result<()> {
        for _ in 0..SWEEPS {
            (self.sweep)(level)?;
            std::mem::swap(&mut level.u, &mut level.next);
        }
        Ok(())
    }

    fn cycle(&self, levels: &mut [Level<D>]) -> tida::Result<()> {
        let Some((fine, coarser)) = levels.split_first_mut() else { return Ok(()) };
        self.smooth(fine)?;
        if let Some(coarse) = coarser.first_mut() {
            (self.residual)(fine)?;
            (self.restrict)(coarse, fine)?;
            self.cycle(coarser)?;
            (self.correct)(fine, &coarser[0])?;
        }
        self.smooth(fine)
    }
}

const CUBE: Method<3> = Method { sweep: sweep_3, residual: residual_3, restrict: restrict_3, correct: correct_3 };
const SQUARE: Method<2> = Method { sweep: sweep_2, residual: residual_2, restrict: restrict_2, correct: correct_2 };

/// In a cube; the 27 reads of the way down stand there one by one.
pub fn cube_written_out(acc: &TileAcc) -> tida::Result<Outcome> {
    CUBE.solve(acc, 129)
}

/// The same, by loops.
pub fn cube_by_loops(acc: &TileAcc) -> tida::Result<Outcome> {
    Method { restrict: restrict_3_loops, ..CUBE }.solve(acc, 129)
}

/// In a square; nine reads.
pub fn square_written_out(acc: &TileAcc) -> tida::Result<Outcome> {
    SQUARE.solve(acc, 1025)
}

/// The same, by loops.
pub fn square_by_loops(acc: &TileAcc) -> tida::Result<Outcome> {
    Method { restrict: restrict_2_loops, ..SQUARE }.solve(acc, 1025)
}

fn sweep_3(level: &mut Level<3>) -> tida::Result<()> {
    for tile in level.inner() {
        compute(
            &tile,
            (&mut level.next, &level.u, &level.f),
            kernel!(|next, u, f, at| {
                let around = u[at - [1, 0, 0]]
                    + u[at + [1, 0, 0]]
                    + u[at - [0, 1, 0]]
                    + u[at + [0, 1, 0]]
                    + u[at - [0, 0, 1]]
                    + u[at + [0, 0, 1]];
                next[at] = u[at] + DAMPED_3 * (f[at] - (6.0 * u[at] - around));
            }),
        )?;
    }
    Ok(())
}

fn residual_3(level: &mut Level<3>) -> tida::Result<()> {
    for tile in level.inner() {
        compute(
            &tile,
            (&mut level.r, &level.u, &level.f),
            kernel!(|r, u, f, at| {
                let around = u[at - [1, 0, 0]]
                    + u[at + [1, 0, 0]]
                    + u[at - [0, 1, 0]]
                    + u[at + [0, 1, 0]]
                    + u[at - [0, 0, 1]]
                    + u[at + [0, 0, 1]];
                r[at] = f[at] - (6.0 * u[at] - around);
            }),
        )?;
    }
    Ok(())
}

fn restrict_3(coarse: &mut Level<3>, fine: &Level<3>) -> tida::Result<()> {
    for tile in coarse.inner() {
        compute(
            &tile,
            (&mut coarse.f, &mut coarse.u, all(&fine.r)),
            kernel!(|f, u, r, at| {
                let (k, j, i) = (2 * at[0], 2 * at[1], 2 * at[2]);
                let corners = r[[k - 1, j - 1, i - 1]]
                    + r[[k - 1, j - 1, i + 1]]
                    + r[[k - 1, j + 1, i - 1]]
                    + r[[k - 1, j + 1, i + 1]]
                    + r[[k + 1, j - 1, i - 1]]
                    + r[[k + 1, j - 1, i + 1]]
                    + r[[k + 1, j + 1, i - 1]]
                    + r[[k + 1, j + 1, i + 1]];
                let edges = r[[k - 1, j - 1, i]]
                    + r[[k - 1, j + 1, i]]
                    + r[[k + 1, j - 1, i]]
                    + r[[k + 1, j + 1, i]]
                    + r[[k - 1, j, i - 1]]
                    + r[[k - 1, j, i + 1]]
                    + r[[k + 1, j, i - 1]]
                    + r[[k + 1, j, i + 1]]
                    + r[[k, j - 1, i - 1]]
                    + r[[k, j - 1, i + 1]]
                    + r[[k, j + 1, i - 1]]
                    + r[[k, j + 1, i + 1]];
                let faces = r[[k - 1, j, i]]
                    + r[[k + 1, j, i]]
                    + r[[k, j - 1, i]]
                    + r[[k, j + 1, i]]
                    + r[[k, j, i - 1]]
                    + r[[k, j, i + 1]];
                f[at] = (8.0 * r[[k, j, i]] + 4.0 * faces + 2.0 * edges + corners) / 16.0;
                u[at] = 0.0;
            }),
        )?;
    }
    Ok(())
}

fn restrict_3_loops(coarse: &mut Level<3>, fine: &Level<3>) -> tida::Result<()> {
    for tile in coarse.inner() {
        compute(
            &tile,
            (&mut coarse.f, &mut coarse.u, all(&fine.r)),
            kernel!(|f, u, r, at| {
                let mut sum = 0.0;
                for k in -1..=1 {
                    for j in -1..=1 {
                        for i in -1..=1 {
                            let weight = ((2 - k * k) * (2 - j * j) * (2 - i * i)) as f64;
                            sum += weight * r[[2 * at[0] + k, 2 * at[1] + j, 2 * at[2] + i]];
                        }
                    }
                }
                f[at] = sum / 16.0;
                u[at] = 0.0;
            }),
        )?;
    }
    Ok(())
}

fn correct_3(fine: &mut Level<3>, coarse: &Level<3>) -> tida::Result<()> {
    for tile in fine.inner() {
        compute(
            &tile,
            (&mut fine.u, all(&coarse.u)),
            kernel!(|u, e, at| {
                let mut sum = 0.0;
                for k in 0..2 {
                    for j in 0..2 {
                        for i in 0..2 {
                            sum += e[[(at[0] + k) / 2, (at[1] + j) / 2, (at[2] + i) / 2]];
                        }
                    }
                }
                u[at] += sum / 8.0;
            }),
        )?;
    }
    Ok(())
}

fn sweep_2(level: &mut Level<2>) -> tida::Result<()> {
    for tile in level.inner() {
        compute(
            &tile,
            (&mut level.next, &level.u, &level.f),
            kernel!(|next, u, f, at| {
                let around = u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]];
                next[at] = u[at] + DAMPED_2 * (f[at] - (4.0 * u[at] - around));
            }),
        )?;
    }
    Ok(())
}

fn residual_2(level: &mut Level<2>) -> tida::Result<()> {
    for tile in level.inner() {
        compute(
            &tile,
            (&mut level.r, &level.u, &level.f),
            kernel!(|r, u, f, at| {
                let around = u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]];
                r[at] = f[at] - (4.0 * u[at] - around);
            }),
        )?;
    }
    Ok(())
}

fn restrict_2(coarse: &mut Level<2>, fine: &Level<2>) -> tida::Result<()> {
    for tile in coarse.inner() {
        compute(
            &tile,
            (&mut coarse.f, &mut coarse.u, all(&fine.r)),
            kernel!(|f, u, r, at| {
                let (j, i) = (2 * at[0], 2 * at[1]);
                let corners = r[[j - 1, i - 1]] + r[[j - 1, i + 1]] + r[[j + 1, i - 1]] + r[[j + 1, i + 1]];
                let sides = r[[j - 1, i]] + r[[j + 1, i]] + r[[j, i - 1]] + r[[j, i + 1]];
                f[at] = (4.0 * r[[j, i]] + 2.0 * sides + corners) / 4.0;
                u[at] = 0.0;
            }),
        )?;
    }
    Ok(())
}

fn restrict_2_loops(coarse: &mut Level<2>, fine: &Level<2>) -> tida::Result<()> {
    for tile in coarse.inner() {
        compute(
            &tile,
            (&mut coarse.f, &mut coarse.u, all(&fine.r)),
            kernel!(|f, u, r, at| {
                let mut sum = 0.0;
                for j in -1..=1 {
                    for i in -1..=1 {
                        sum += ((2 - j * j) * (2 - i * i)) as f64 * r[[2 * at[0] + j, 2 * at[1] + i]];
                    }
                }
                f[at] = sum / 4.0;
                u[at] = 0.0;
            }),
        )?;
    }
    Ok(())
}

fn correct_2(fine: &mut Level<2>, coarse: &Level<2>) -> tida::Result<()> {
    for tile in fine.inner() {
        compute(
            &tile,
            (&mut fine.u, all(&coarse.u)),
            kernel!(|u, e, at| {
                let mut sum = 0.0;
                for j in 0..2 {
                    for i in 0..2 {
                        sum += e[[(at[0] + j) / 2, (at[1] + i) / 2]];
                    }
                }
                u[at] += sum / 4.0;
            }),
        )?;
    }
    Ok(())
}
