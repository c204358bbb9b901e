//! Recurrences along an axis: tridiagonal systems by Thomas' algorithm, and sums of rows and columns.

use tida::prelude::*;

use crate::{Outcome, measured, random, values};

/// An implicit step of diffusion along an axis of `160³` cells: a tridiagonal system for each line.
pub fn thomas<const AXIS: usize>(acc: &TileAcc) -> tida::Result<Outcome> {
    let n = 160;
    let rate = 0.3;
    let mut u = TileArray::<f64, 3>::builder([n; 3]).build(acc)?;
    u.fill(|[k, j, i]| random((k * n + j) * n + i))?;
    // The ghosts before the first cells, and after the last ones, stay 0.
    let build = || TileArray::<f64, 3>::builder([n; 3]).ghost(1).build(acc);
    let (mut c, mut d, x) = (build()?, build()?, build()?);
    c.fill_value(0.0)?;
    d.fill_value(0.0)?;
    let steps = std::cell::RefCell::new((c, d));
    let run = |x: &mut TileArray<f64, 3>| {
        let (c, d) = &mut *steps.borrow_mut();
        sweep_along(
            AXIS,
            Forward,
            u.tiles(),
            (&mut *c, &mut *d, &u),
            kernel!(|c, d, u, at| {
                let before = at - unit(AXIS);
                let scale = 1.0 / (1.0 + 2.0 * rate + rate * c[before]);
                c[at] = -rate * scale;
                d[at] = scale * (u[at] + rate * d[before]);
            }),
        )?;
        sweep_along(
            AXIS,
            Backward,
            u.tiles(),
            (&mut *x, &*c, &*d),
            kernel!(|x, c, d, at| {
                x[at] = d[at] - c[at] * x[at + unit(AXIS)];
            }),
        )
    };
    measured(acc, x, run, values)
}

/// Sums along an axis of `2048²` cells.
pub fn sums<const AXIS: usize>(acc: &TileAcc) -> tida::Result<Outcome> {
    let n = 2048;
    let mut u = TileArray::<f64, 2>::builder([n, n]).build(acc)?;
    u.fill(|[j, i]| random(j * n + i))?;
    let sum = TileArray::<f64, 2>::builder([n, n]).ghost(1).build(acc)?;
    let run = |sum: &mut TileArray<f64, 2>| {
        sweep_along(
            AXIS,
            Forward,
            u.tiles(),
            (&mut *sum, &u),
            kernel!(|sum, u, at| {
                sum[at] = u[at] + sum[at - unit(AXIS)];
            }),
        )
    };
    measured(acc, sum, run, values)
}
