//! Recurrences along an axis: tridiagonal systems by Thomas' algorithm, and sums of rows and columns; `scan`.

use tida::prelude::*;

use crate::{Outcome, measured, random, values};

/// How far heat comes in a step.
const RATE: f64 = 0.3;

/// An implicit step of diffusion along an axis: a tridiagonal system for each line. `c` and `d` are for what comes
/// between.
fn solved<const AXIS: usize>(
    x: &mut TileArray<f64, 3>,
    [c, d]: &mut [TileArray<f64, 3>; 2],
    u: Option<&TileArray<f64, 3>>,
) -> tida::Result<()> {
    let rate = RATE;
    let forward = |c: &mut TileArray<f64, 3>, d: &mut TileArray<f64, 3>, u: &TileArray<f64, 3>| {
        sweep_along(
            AXIS,
            Forward,
            u.tiles(),
            (c, d, u),
            kernel!(|c, d, u, at| {
                let before = at - unit(AXIS);
                let scale = 1.0 / (1.0 + 2.0 * rate + rate * c[before]);
                c[at] = -rate * scale;
                d[at] = scale * (u[at] + rate * d[before]);
            }),
        )
    };
    forward(c, d, u.unwrap_or(x))?;
    sweep_along(
        AXIS,
        Backward,
        x.tiles(),
        (x, &*c, &*d),
        kernel!(|x, c, d, at| {
            x[at] = d[at] - c[at] * x[at + unit(AXIS)];
        }),
    )
}

/// Along an axis of `160³` cells.
pub fn thomas<const AXIS: usize>(acc: &TileAcc) -> tida::Result<Outcome> {
    let n = 160;
    let mut u = TileArray::<f64, 3>::builder([n; 3]).build(acc)?;
    u.fill(|[k, j, i]| random((k * n + j) * n + i))?;
    // The ghosts before the first cells, and after the last ones, stay 0.
    let build = || TileArray::<f64, 3>::builder([n; 3]).ghost(1).build(acc);
    let (mut c, mut d, x) = (build()?, build()?, build()?);
    c.fill_value(0.0)?;
    d.fill_value(0.0)?;
    let between = std::cell::RefCell::new([c, d]);
    let run = |x: &mut TileArray<f64, 3>| solved::<AXIS>(x, &mut between.borrow_mut(), Some(&u));
    measured(acc, x, run, values)
}

/// A step along one axis of `160³` cells after the other, in place.
pub fn adi(acc: &TileAcc) -> tida::Result<Outcome> {
    let n = 160;
    let build = || TileArray::<f64, 3>::builder([n; 3]).ghost(1).build(acc);
    let (mut u, mut c, mut d) = (build()?, build()?, build()?);
    u.fill(|[k, j, i]| random((k * n + j) * n + i))?;
    c.fill_value(0.0)?;
    d.fill_value(0.0)?;
    let between = std::cell::RefCell::new([c, d]);
    let run = |u: &mut TileArray<f64, 3>| {
        let between = &mut between.borrow_mut();
        solved::<0>(u, between, None)?;
        solved::<1>(u, between, None)?;
        solved::<2>(u, between, None)
    };
    measured(acc, u, run, values)
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

/// All sums of `2048²` cells, as lines of `n` each, by `scan`.
pub fn scans(acc: &TileAcc, n: usize) -> tida::Result<Outcome> {
    let lines = 2048 * 2048 / n;
    let mut u = TileArray::<f64, 2>::builder([lines, n]).build(acc)?;
    u.fill(|[j, i]| random(j * n + i))?;
    let sum = u.like()?;
    measured(acc, sum, |sum: &mut TileArray<f64, 2>| scan(Sum, Scan::Inclusive, sum, &u), values)
}
