//! Multigrid for Poisson's equation, 0 at the faces: V cycles with two sweeps of Jacobi's iteration before and after.

use tida::TileAcc;
use tida::prelude::*;

use crate::Case;
use crate::sweeps::noise;

/// Sweeps before and after a correction, and on the coarsest grid.
const SWEEPS: usize = 2;
const COARSEST: usize = 20;
/// Cells along an axis of the coarsest grid, at most.
const SMALL: usize = 4;
/// How far a sweep goes, over what its cell's residual asks for.
const DAMPED_3: f64 = 6.0 / 7.0 / 6.0;
const DAMPED_2: f64 = 4.0 / 5.0 / 4.0;

/// A grid: the solution, the next one, the right side times the square of a cell's width, the residual.
pub struct Level<const D: usize> {
    u: TileArray<f64, D>,
    next: TileArray<f64, D>,
    f: TileArray<f64, D>,
    r: TileArray<f64, D>,
}

/// What a cycle is made of.
#[derive(Clone, Copy)]
pub struct Method<const D: usize> {
    sweep: fn(&mut Level<D>) -> tida::Result<()>,
    residual: fn(&mut Level<D>) -> tida::Result<()>,
    restrict: fn(&mut TileArray<f64, D>, &TileArray<f64, D>) -> tida::Result<()>,
    correct: fn(&mut TileArray<f64, D>, &TileArray<f64, D>) -> tida::Result<()>,
}

pub const CUBE: Method<3> = Method { sweep: sweep_3, residual: residual_3, restrict: restrict_3, correct: correct_3 };
pub const SQUARE: Method<2> = Method { sweep: sweep_2, residual: residual_2, restrict: restrict_2, correct: correct_2 };

/// Grids, the finest first.
pub struct Cycles<const D: usize> {
    acc: TileAcc,
    method: Method<D>,
    levels: Vec<Level<D>>,
}

/// Cells along an axis of each grid.
fn sizes(n: usize) -> Vec<usize> {
    std::iter::successors(Some(n), |&n| (n > SMALL && n % 2 == 0).then_some(n / 2)).collect()
}

impl<const D: usize> Method<D> {
    pub fn on(self, acc: &TileAcc, n: usize) -> tida::Result<Cycles<D>> {
        let level = |n: usize| -> tida::Result<Level<D>> {
            let mut u = TileArray::<f64, D>::builder([n; D]).ghost(1).boundary(Boundary::Fixed(0.0)).build(acc)?;
            u.fill_value(0.0)?;
            let (mut next, mut f) = (u.like()?, TileArray::<f64, D>::builder([n; D]).build(acc)?);
            next.fill_value(0.0)?;
            f.fill_value(0.0)?;
            let r = f.like()?;
            Ok(Level { u, next, f, r })
        };
        let mut levels = sizes(n).into_iter().map(level).collect::<tida::Result<Vec<_>>>()?;
        levels[0].f.fill(|at| noise(at.iter().fold(0, |place, i| place * n + i)) - 0.5)?;
        Ok(Cycles { acc: acc.clone(), method: self, levels })
    }

    /// Bytes of a cycle: each array once a sweep; what is read or written on a coarser grid is counted there.
    pub fn bytes(&self, n: usize) -> usize {
        let sizes = sizes(n);
        let of_level = |(level, n): (usize, &usize)| {
            let own = if level + 1 == sizes.len() { 3 * COARSEST } else { 3 * 2 * SWEEPS + 3 + 1 + 2 };
            n.pow(D as u32) * (own + if level == 0 { 0 } else { 3 })
        };
        sizes.iter().enumerate().map(of_level).sum::<usize>() * size_of::<f64>()
    }

    fn smooth(&self, level: &mut Level<D>, sweeps: usize) -> tida::Result<()> {
        for _ in 0..sweeps {
            level.u.fill_ghosts()?;
            (self.sweep)(level)?;
            std::mem::swap(&mut level.u, &mut level.next);
        }
        Ok(())
    }

    fn cycle(&self, levels: &mut [Level<D>]) -> tida::Result<()> {
        let Some((fine, coarser)) = levels.split_first_mut() else { return Ok(()) };
        let Some(coarse) = coarser.first_mut() else { return self.smooth(fine, COARSEST) };
        self.smooth(fine, SWEEPS)?;
        fine.u.fill_ghosts()?;
        (self.residual)(fine)?;
        (self.restrict)(&mut coarse.f, &fine.r)?;
        coarse.u.fill_value(0.0)?;
        self.cycle(coarser)?;
        (self.correct)(&mut fine.u, &coarser[0].u)?;
        self.smooth(fine, SWEEPS)
    }
}

impl<const D: usize> Case for Cycles<D> {
    fn record(&mut self, steps: usize) -> tida::Result<()> {
        (0..steps).try_for_each(|_| self.method.cycle(&mut self.levels))
    }

    fn acc(&self) -> &TileAcc {
        &self.acc
    }

    /// The same bits as on the host.
    fn is_right(&mut self) -> tida::Result<bool> {
        let n = self.levels[0].u.shape()[0];
        let host = TileAcc::builder().device(tida::Device::Cpu).build()?;
        let mut there = self.method.on(&host, n)?;
        self.record(2)?;
        there.record(2)?;
        let values = |of: &Cycles<D>| of.levels[0].u.read_box(of.levels[0].u.domain());
        Ok(values(self)? == values(&there)?)
    }
}

fn sweep_3(level: &mut Level<3>) -> tida::Result<()> {
    let Level { u, next, f, .. } = level;
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, &*u, &*f),
            kernel!(|next, u, f, at| {
                let (c, z) = (u[at], u[at - [1, 0, 0]] + u[at + [1, 0, 0]]);
                let around = u[at - [0, 0, 1]] + u[at + [0, 0, 1]] + u[at - [0, 1, 0]] + u[at + [0, 1, 0]] + z;
                next[at] = c + DAMPED_3 * (f[at] - (6.0 * c - around));
            }),
        )?;
    }
    Ok(())
}

fn residual_3(level: &mut Level<3>) -> tida::Result<()> {
    let Level { u, f, r, .. } = level;
    for tile in TileIter::new(r) {
        compute(
            &tile,
            (&mut *r, &*u, &*f),
            kernel!(|r, u, f, at| {
                let (c, z) = (u[at], u[at - [1, 0, 0]] + u[at + [1, 0, 0]]);
                let around = u[at - [0, 0, 1]] + u[at + [0, 0, 1]] + u[at - [0, 1, 0]] + u[at + [0, 1, 0]] + z;
                r[at] = f[at] - (6.0 * c - around);
            }),
        )?;
    }
    Ok(())
}

fn restrict_3(f: &mut TileArray<f64, 3>, r: &TileArray<f64, 3>) -> tida::Result<()> {
    for tile in TileIter::new(f) {
        compute(
            &tile,
            (&mut *f, all(r)),
            kernel!(|f, r, at| {
                let (k, j, i) = (2 * at[0], 2 * at[1], 2 * at[2]);
                let below = r[[k, j, i]] + r[[k, j, i + 1]] + r[[k, j + 1, i]] + r[[k, j + 1, i + 1]];
                let above = r[[k + 1, j, i]] + r[[k + 1, j, i + 1]] + r[[k + 1, j + 1, i]] + r[[k + 1, j + 1, i + 1]];
                f[at] = 0.5 * (below + above);
            }),
        )?;
    }
    Ok(())
}

fn correct_3(u: &mut TileArray<f64, 3>, e: &TileArray<f64, 3>) -> tida::Result<()> {
    for tile in TileIter::new(u) {
        compute(&tile, (&mut *u, all(e)), kernel!(|u, e, at| u[at] = u[at] + e[[at[0] / 2, at[1] / 2, at[2] / 2]]))?;
    }
    Ok(())
}

fn sweep_2(level: &mut Level<2>) -> tida::Result<()> {
    let Level { u, next, f, .. } = level;
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, &*u, &*f),
            kernel!(|next, u, f, at| {
                let around = u[at - [0, 1]] + u[at + [0, 1]] + u[at - [1, 0]] + u[at + [1, 0]];
                let c = u[at];
                next[at] = c + DAMPED_2 * (f[at] - (4.0 * c - around));
            }),
        )?;
    }
    Ok(())
}

fn residual_2(level: &mut Level<2>) -> tida::Result<()> {
    let Level { u, f, r, .. } = level;
    for tile in TileIter::new(r) {
        compute(
            &tile,
            (&mut *r, &*u, &*f),
            kernel!(|r, u, f, at| {
                let around = u[at - [0, 1]] + u[at + [0, 1]] + u[at - [1, 0]] + u[at + [1, 0]];
                r[at] = f[at] - (4.0 * u[at] - around);
            }),
        )?;
    }
    Ok(())
}

fn restrict_2(f: &mut TileArray<f64, 2>, r: &TileArray<f64, 2>) -> tida::Result<()> {
    for tile in TileIter::new(f) {
        compute(
            &tile,
            (&mut *f, all(r)),
            kernel!(|f, r, at| {
                let (j, i) = (2 * at[0], 2 * at[1]);
                f[at] = r[[j, i]] + r[[j, i + 1]] + r[[j + 1, i]] + r[[j + 1, i + 1]];
            }),
        )?;
    }
    Ok(())
}

fn correct_2(u: &mut TileArray<f64, 2>, e: &TileArray<f64, 2>) -> tida::Result<()> {
    for tile in TileIter::new(u) {
        compute(&tile, (&mut *u, all(e)), kernel!(|u, e, at| u[at] = u[at] + e[[at[0] / 2, at[1] / 2]]))?;
    }
    Ok(())
}
