//! Sweeps beyond the caches: stars, jacobi-2d, heat-3d and fdtd-2d of PolyBench.

use tida::prelude::*;

use crate::{Outcome, measured, random, values};

/// Steps in one run.
const STEPS: usize = 4;

/// Steps of two arrays in turn.
fn in_turn<T: Element, const D: usize>(
    state: &mut (TileArray<T, D>, TileArray<T, D>),
    step: impl Fn(&mut TileArray<T, D>, &TileArray<T, D>) -> tida::Result<()>,
) -> tida::Result<()> {
    for _ in 0..STEPS {
        let (now, next) = state;
        step(next, now)?;
        std::mem::swap(now, next);
    }
    Ok(())
}

/// PolyBench's jacobi-2d: the mean of a cell and its four neighbours; the outer cells stay.
pub fn jacobi(acc: &TileAcc) -> tida::Result<Outcome> {
    let n = 4096;
    let mut u = TileArray::<f64, 2>::builder([n, n]).build(acc)?;
    let mut next = u.like()?;
    for array in [&mut u, &mut next] {
        array.fill(|[j, i]| random(j * n + i))?;
    }
    let last = n as i64 - 1;
    let step = |next: &mut TileArray<f64, 2>, u: &TileArray<f64, 2>| {
        for tile in TileIter::new(u).within([1, 1], [last, last]) {
            compute(
                &tile,
                (&mut *next, u),
                kernel!(|next, u, at| {
                    next[at] = 0.2 * (u[at] + u[at - [0, 1]] + u[at + [0, 1]] + u[at + [1, 0]] + u[at - [1, 0]]);
                }),
            )?;
        }
        Ok(())
    };
    measured(acc, (u, next), |state| in_turn(state, step), |(u, _)| values(u))
}

/// PolyBench's heat-3d of `n³` cells: an eighth of the second differences along each axis; the outer cells stay.
pub fn heat(acc: &TileAcc, n: usize) -> tida::Result<Outcome> {
    let mut u = TileArray::<f64, 3>::builder([n; 3]).build(acc)?;
    let mut next = u.like()?;
    for array in [&mut u, &mut next] {
        array.fill(|[k, j, i]| random((k * n + j) * n + i))?;
    }
    let last = n as i64 - 1;
    let step = |next: &mut TileArray<f64, 3>, u: &TileArray<f64, 3>| {
        for tile in TileIter::new(u).within([1; 3], [last; 3]) {
            compute(
                &tile,
                (&mut *next, u),
                kernel!(|next, u, at| {
                    next[at] = 0.125 * (u[at + [1, 0, 0]] - 2.0 * u[at] + u[at - [1, 0, 0]])
                        + 0.125 * (u[at + [0, 1, 0]] - 2.0 * u[at] + u[at - [0, 1, 0]])
                        + 0.125 * (u[at + [0, 0, 1]] - 2.0 * u[at] + u[at - [0, 0, 1]])
                        + u[at];
                }),
            )?;
        }
        Ok(())
    };
    measured(acc, (u, next), |state| in_turn(state, step), |(u, _)| values(u))
}

/// The fields of Maxwell's equations in two axes.
struct Fields {
    ex: TileArray<f64, 2>,
    ey: TileArray<f64, 2>,
    hz: TileArray<f64, 2>,
}

/// PolyBench's fdtd-2d: three sweeps a step.
pub fn fdtd(acc: &TileAcc) -> tida::Result<Outcome> {
    let n = 4096;
    let ex = TileArray::<f64, 2>::builder([n, n]).build(acc)?;
    let mut fields = Fields { ey: ex.like()?, hz: ex.like()?, ex };
    for (field, array) in [&mut fields.ex, &mut fields.ey, &mut fields.hz].into_iter().enumerate() {
        array.fill(|[j, i]| random(3 * (j * n + i) + field))?;
    }
    let run = |fields: &mut Fields| {
        for step in 0..STEPS {
            electromagnetic(fields, step as f64)?;
        }
        Ok(())
    };
    let result = |fields: &Fields| Ok([values(&fields.ex)?, values(&fields.ey)?, values(&fields.hz)?].concat());
    measured(acc, fields, run, result)
}

fn electromagnetic(Fields { ex, ey, hz }: &mut Fields, sent: f64) -> tida::Result<()> {
    let n = ex.shape()[0] as i64;
    for tile in TileIter::new(ey).within([0, 0], [1, n]) {
        compute(&tile, &mut *ey, kernel!(|ey, at| ey[at] = sent))?;
    }
    for tile in TileIter::new(ey).within([1, 0], [n, n]) {
        compute(&tile, (&mut *ey, &*hz), kernel!(|ey, hz, at| ey[at] -= 0.5 * (hz[at] - hz[at - [1, 0]])))?;
    }
    for tile in TileIter::new(ex).within([0, 1], [n, n]) {
        compute(&tile, (&mut *ex, &*hz), kernel!(|ex, hz, at| ex[at] -= 0.5 * (hz[at] - hz[at - [0, 1]])))?;
    }
    for tile in TileIter::new(hz).within([0, 0], [n - 1, n - 1]) {
        compute(
            &tile,
            (&mut *hz, &*ex, &*ey),
            kernel!(|hz, ex, ey, at| {
                hz[at] -= 0.7 * (ex[at + [0, 1]] - ex[at] + ey[at + [1, 0]] - ey[at]);
            }),
        )?;
    }
    Ok(())
}

/// A star of radius `R` in three axes, 0 outside the box.
pub fn star<T: Real, const R: usize>(acc: &TileAcc) -> tida::Result<Outcome> {
    let n = 256;
    let builder = TileArray::<T, 3>::builder([n; 3]).ghost(R).boundary(Boundary::Fixed(T::ZERO));
    let mut u = builder.build(acc)?;
    u.fill(|[k, j, i]| T::of(random((k * n + j) * n + i)))?;
    let mut next = u.like()?;
    next.fill_value(T::ZERO)?;
    let near = T::ONE / T::of((6 * R) as f64);
    let run = |state: &mut (TileArray<T, 3>, TileArray<T, 3>)| {
        state.0.fill_ghosts()?;
        state.1.fill_ghosts()?;
        in_turn(state, |next, u| {
            for tile in TileIter::new(u) {
                compute(
                    &tile,
                    (&mut *next, u),
                    kernel!(|next, u, at| {
                        let mut s = u[at];
                        for r in 1..=R as i64 {
                            s += u[at - [0, 0, r]] + u[at + [0, 0, r]];
                            s += u[at - [0, r, 0]] + u[at + [0, r, 0]];
                            s += u[at - [r, 0, 0]] + u[at + [r, 0, 0]];
                        }
                        next[at] = near * s;
                    }),
                )?;
            }
            next.fill_ghosts()
        })
    };
    let result = |(u, _): &(TileArray<T, 3>, TileArray<T, 3>)| {
        Ok(u.read_box(u.domain())?.into_iter().map(Real::to_f64).collect())
    };
    measured(acc, (u, next), run, result)
}
