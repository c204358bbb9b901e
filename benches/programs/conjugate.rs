//! Conjugate gradients for Poisson's equation in a cube, 0 at its faces.

use tida::prelude::*;

use crate::{Outcome, measured, random, values};

const N: usize = 128;
const STEPS: usize = 50;

/// The solution, the residual, the direction of search, and the matrix times it.
struct Solver {
    x: TileArray<f64, 3>,
    r: TileArray<f64, 3>,
    p: TileArray<f64, 3>,
    q: TileArray<f64, 3>,
}

/// Some iterations from 0.
pub fn gradients(acc: &TileAcc) -> tida::Result<Outcome> {
    let mut b = TileArray::<f64, 3>::builder([N; 3]).ghost(1).boundary(Boundary::Fixed(0.0)).build(acc)?;
    b.fill(|[k, j, i]| random((k * N + j) * N + i))?;
    let solver = Solver { x: b.like()?, r: b.like()?, p: b.like()?, q: b.like()? };
    measured(acc, solver, |solver| iterate(solver, &b), |solver| values(&solver.x))
}

fn iterate(Solver { x, r, p, q }: &mut Solver, b: &TileArray<f64, 3>) -> tida::Result<()> {
    x.fill_value(0.0)?;
    r.copy_from(b)?;
    p.copy_from(b)?;
    let mut rr = dot(r, r)?;
    for _ in 0..STEPS {
        p.fill_ghosts()?;
        for tile in TileIter::new(q) {
            compute(
                &tile,
                (&mut *q, &*p),
                kernel!(|q, p, at| {
                    q[at] = 6.0 * p[at]
                        - p[at - [0, 0, 1]]
                        - p[at + [0, 0, 1]]
                        - p[at - [0, 1, 0]]
                        - p[at + [0, 1, 0]]
                        - p[at - [1, 0, 0]]
                        - p[at + [1, 0, 0]];
                }),
            )?;
        }
        let alpha = rr / dot(p, q)?;
        axpy(alpha, p, x)?;
        axpy(-alpha, q, r)?;
        let next = dot(r, r)?;
        let beta = next / rr;
        rr = next;
        for tile in TileIter::new(p) {
            compute(&tile, (&mut *p, &*r), kernel!(|p, r, at| p[at] = r[at] + beta * p[at]))?;
        }
    }
    Ok(())
}
