//! Relaxation in place, colour by colour.

use tida::prelude::*;

use crate::{Outcome, measured, random, values};

/// Red-black SOR over the inner cells of a square: both colours.
pub fn sor(acc: &TileAcc) -> tida::Result<Outcome> {
    let n = 2048;
    let omega = 1.5;
    let (mut u, mut f) = (TileArray::builder([n, n]).build(acc)?, TileArray::builder([n, n]).build(acc)?);
    u.fill(|[j, i]| random(j * n + i))?;
    f.fill(|[j, i]| random(i * n + j))?;
    let run = |u: &mut TileArray<f64, 2>| {
        [0, 1].into_iter().try_for_each(|colour| {
            sweep_colour(
                Colour::red_black(colour),
                u.tiles().within([1, 1], [n as i64 - 1; 2]),
                (&mut *u, &f),
                kernel!(|u, f, at| {
                    let around = u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]];
                    u[at] += omega * (0.25 * (around + f[at]) - u[at]);
                }),
            )
        })
    };
    measured(acc, u, run, values)
}

/// The same in a cube.
pub fn cube(acc: &TileAcc) -> tida::Result<Outcome> {
    let n = 160;
    let omega = 1.5;
    let (mut u, mut f) = (TileArray::builder([n; 3]).build(acc)?, TileArray::builder([n; 3]).build(acc)?);
    u.fill(|[k, j, i]| random((k * n + j) * n + i))?;
    f.fill(|[k, j, i]| random((i * n + j) * n + k))?;
    let run = |u: &mut TileArray<f64, 3>| {
        [0, 1].into_iter().try_for_each(|colour| {
            sweep_colour(
                Colour::red_black(colour),
                u.tiles().within([1; 3], [n as i64 - 1; 3]),
                (&mut *u, &f),
                kernel!(|u, f, at| {
                    let around = (u[at - [1, 0, 0]] + u[at + [1, 0, 0]])
                        + (u[at - [0, 1, 0]] + u[at + [0, 1, 0]])
                        + (u[at - [0, 0, 1]] + u[at + [0, 0, 1]]);
                    u[at] += omega * ((around + f[at]) / 6.0 - u[at]);
                }),
            )
        })
    };
    measured(acc, u, run, values)
}
