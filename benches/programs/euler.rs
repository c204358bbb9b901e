//! Euler's equations of a gas in two axes: slopes limited by minmod (MUSCL), fluxes after Harten, Lax and van Leer
//! (HLL), and two stages a step (Heun).

use tida::prelude::*;

use crate::{Outcome, measured, random};

/// Density, momenta along `x` and `y`, energy.
type State = [f64; 4];
type Gas = TileArray<State, 2>;

const N: usize = 1024;
const STEPS: usize = 4;
/// The time step over a cell's width.
const RATIO: f64 = 0.1;

/// The smaller slope, or none where the slopes differ in sign.
#[kernel_fn]
fn minmod(a: f64, b: f64) -> f64 {
    if a * b <= 0.0 {
        0.0
    } else if a.abs() < b.abs() {
        a
    } else {
        b
    }
}

/// What flows through a face along the first momentum, between states to its left and right.
#[kernel_fn]
fn hll(l: [f64; 4], r: [f64; 4]) -> [f64; 4] {
    let gamma = 1.4;
    let ul = l[1] / l[0];
    let ur = r[1] / r[0];
    let pl = (gamma - 1.0) * (l[3] - 0.5 * (l[1] * l[1] + l[2] * l[2]) / l[0]);
    let pr = (gamma - 1.0) * (r[3] - 0.5 * (r[1] * r[1] + r[2] * r[2]) / r[0]);
    let cl = (gamma * pl / l[0]).sqrt();
    let cr = (gamma * pr / r[0]).sqrt();
    let low = (ul - cl).min(ur - cr).min(0.0);
    let high = (ul + cl).max(ur + cr).max(0.0);
    let fl = [l[1], l[1] * ul + pl, l[2] * ul, (l[3] + pl) * ul];
    let fr = [r[1], r[1] * ur + pr, r[2] * ur, (r[3] + pr) * ur];
    let mut f = [0.0; 4];
    for k in 0..4 {
        f[k] = (high * fl[k] - low * fr[k] + low * high * (r[k] - l[k])) / (high - low);
    }
    f
}

/// What flows through the face between `b` and `c`, four cells in a row.
#[kernel_fn]
fn through(a: [f64; 4], b: [f64; 4], c: [f64; 4], d: [f64; 4]) -> [f64; 4] {
    let mut l = [0.0; 4];
    let mut r = [0.0; 4];
    for k in 0..4 {
        l[k] = b[k] + 0.5 * minmod(b[k] - a[k], c[k] - b[k]);
        r[k] = c[k] - 0.5 * minmod(c[k] - b[k], d[k] - c[k]);
    }
    hll(l, r)
}

/// A state with the axes changed for one another.
#[kernel_fn]
fn turned(q: [f64; 4]) -> [f64; 4] {
    [q[0], q[2], q[1], q[3]]
}

/// A gas nearly at rest, and room for the gas after the first stage.
fn gas(acc: &TileAcc) -> tida::Result<[Gas; 2]> {
    let mut q = Gas::builder([N, N]).ghost(2).boundary(Boundary::Periodic).build(acc)?;
    q.fill(|[y, x]| {
        let value = |k: usize| random((y * N + x) * 4 + k);
        [1.0 + 0.2 * value(0), 0.2 * value(1) - 0.1, 0.2 * value(2) - 0.1, 2.5 + 0.2 * value(3)]
    })?;
    let mut half = q.like()?;
    half.fill_value([1.0; 4])?;
    Ok([q, half])
}

fn cells(q: &Gas) -> tida::Result<Vec<f64>> {
    Ok(q.read_box(q.domain())?.concat())
}

/// The gas, the gas after the first stage, and what flows through its faces.
struct ByFaces {
    q: Gas,
    half: Gas,
    fx: Gas,
    fy: Gas,
}

/// What flows through faces lies in arrays of its own.
pub fn by_faces(acc: &TileAcc) -> tida::Result<Outcome> {
    let [q, half] = gas(acc)?;
    let faces = |centering| Gas::builder([N, N]).ghost(1).centering(centering).build(acc);
    let fx = faces([Centering::Cell, Centering::Face])?;
    let fy = faces([Centering::Face, Centering::Cell])?;
    let run = |state: &mut ByFaces| {
        for _ in 0..STEPS {
            step_by_faces(state)?;
        }
        Ok(())
    };
    measured(acc, ByFaces { q, half, fx, fy }, run, |state| cells(&state.q))
}

fn step_by_faces(ByFaces { q, half, fx, fy }: &mut ByFaces) -> tida::Result<()> {
    flows(q, fx, fy)?;
    for tile in TileIter::new(half) {
        compute(
            &tile,
            (&mut *half, &*q, &*fx, &*fy),
            kernel!(|half, q, fx, fy, at| {
                let (w, e, s, n) = (fx[at], fx[at + [0, 1]], fy[at], fy[at + [1, 0]]);
                let mut next = q[at];
                for k in 0..4 {
                    next[k] = next[k] - RATIO * (e[k] - w[k] + n[k] - s[k]);
                }
                half[at] = next;
            }),
        )?;
    }
    flows(half, fx, fy)?;
    for tile in TileIter::new(q) {
        compute(
            &tile,
            (&mut *q, &*half, &*fx, &*fy),
            kernel!(|q, half, fx, fy, at| {
                let (w, e, s, n) = (fx[at], fx[at + [0, 1]], fy[at], fy[at + [1, 0]]);
                let (stage, mut next) = (half[at], q[at]);
                for k in 0..4 {
                    next[k] = 0.5 * (next[k] + (stage[k] - RATIO * (e[k] - w[k] + n[k] - s[k])));
                }
                q[at] = next;
            }),
        )?;
    }
    Ok(())
}

/// What flows through all faces of a gas.
fn flows(q: &mut Gas, fx: &mut Gas, fy: &mut Gas) -> tida::Result<()> {
    q.fill_ghosts()?;
    for tile in TileIter::new(fx) {
        compute(
            &tile,
            (&mut *fx, &*q),
            kernel!(|fx, q, at| fx[at] = through(q[at - [0, 2]], q[at - [0, 1]], q[at], q[at + [0, 1]])),
        )?;
    }
    for tile in TileIter::new(fy) {
        compute(
            &tile,
            (&mut *fy, &*q),
            kernel!(|fy, q, at| {
                let flow =
                    through(turned(q[at - [2, 0]]), turned(q[at - [1, 0]]), turned(q[at]), turned(q[at + [1, 0]]));
                fy[at] = turned(flow);
            }),
        )?;
    }
    fill_ghosts((fx, fy))
}

/// Each cell finds what flows through its four faces.
pub fn in_one_kernel(acc: &TileAcc) -> tida::Result<Outcome> {
    let run = |[q, half]: &mut [Gas; 2]| {
        for _ in 0..STEPS {
            first_stage(q, half)?;
            second_stage(q, half)?;
        }
        Ok(())
    };
    measured(acc, gas(acc)?, run, |[q, _]| cells(q))
}

/// What leaves a cell, from the cells before and after it along an axis.
#[kernel_fn]
fn leaves(a: [f64; 4], b: [f64; 4], c: [f64; 4], d: [f64; 4], e: [f64; 4]) -> [f64; 4] {
    let (into, out) = (through(a, b, c, d), through(b, c, d, e));
    [out[0] - into[0], out[1] - into[1], out[2] - into[2], out[3] - into[3]]
}

fn first_stage(q: &mut Gas, half: &mut Gas) -> tida::Result<()> {
    q.fill_ghosts()?;
    for tile in TileIter::new(half) {
        compute(
            &tile,
            (&mut *half, &*q),
            kernel!(|half, q, at| {
                let x = leaves(q[at - [0, 2]], q[at - [0, 1]], q[at], q[at + [0, 1]], q[at + [0, 2]]);
                let y = turned(leaves(
                    turned(q[at - [2, 0]]),
                    turned(q[at - [1, 0]]),
                    turned(q[at]),
                    turned(q[at + [1, 0]]),
                    turned(q[at + [2, 0]]),
                ));
                let mut next = q[at];
                for k in 0..4 {
                    next[k] -= RATIO * (x[k] + y[k]);
                }
                half[at] = next;
            }),
        )?;
    }
    Ok(())
}

fn second_stage(q: &mut Gas, half: &mut Gas) -> tida::Result<()> {
    half.fill_ghosts()?;
    for tile in TileIter::new(q) {
        compute(
            &tile,
            (&mut *q, &*half),
            kernel!(|q, half, at| {
                let x = leaves(half[at - [0, 2]], half[at - [0, 1]], half[at], half[at + [0, 1]], half[at + [0, 2]]);
                let y = turned(leaves(
                    turned(half[at - [2, 0]]),
                    turned(half[at - [1, 0]]),
                    turned(half[at]),
                    turned(half[at + [1, 0]]),
                    turned(half[at + [2, 0]]),
                ));
                let (stage, mut next) = (half[at], q[at]);
                for k in 0..4 {
                    next[k] = 0.5 * (next[k] + (stage[k] - RATIO * (x[k] + y[k])));
                }
                q[at] = next;
            }),
        )?;
    }
    Ok(())
}
