//! The Poisson equation by Jacobi's iteration, until the largest change of a sweep is small.
//!
//! The change is reduced by recorded work and read a few sweeps later, so the sweeps need not wait for the decision.

use std::process::ExitCode;

use tida::prelude::*;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::setup::Cell;
use tida_suite::{Result, oracle};

const JACOBI: Example = Example {
    name: "jacobi",
    about: "The Poisson equation on 2 axes, zero outside; stops when a sweep changes little, or after --steps",
    dims: &[2],
    size: [0, 128, 0],
    steps: 100_000,
    ghost: 1,
    dtypes: &[Dtype::F64, Dtype::F32],
    boundaries: &[Edge::Fixed],
    library: false,
    look: Look::around(0.0, "potential"),
};

/// Sweeps from one look at the change to the next.
const CHECK: u64 = 20;

fn main() -> ExitCode {
    tida_suite::exit(run())
}

fn run() -> Result<()> {
    let settings = JACOBI.settings()?;
    match settings.dtype {
        Dtype::F64 => jacobi::<f64>(&settings, 1e-10),
        Dtype::F32 => jacobi::<f32>(&settings, 1e-6),
    }
}

/// Two charges of opposite sign, as densities of total 1 and -1.
fn charge([y, x]: [f64; 2]) -> f64 {
    let blob = |cy: f64, cx: f64| {
        let r2 = (y - cy).powi(2) + (x - cx).powi(2);
        (-r2 / 0.005).exp() / (0.005 * std::f64::consts::PI)
    };
    blob(0.3, 0.35) - blob(0.65, 0.7)
}

fn jacobi<T: Real + Cell>(settings: &Settings, tolerance: T) -> Result<()> {
    let acc = settings.accelerator(2)?;
    let mut u = settings.array::<T, 2>(&acc, settings.edge.boundary())?;
    settings.fill(&mut u, |_| T::ZERO)?;
    let mut next = u.like()?;
    // The right side, times the square of a cell's width.
    let mut f = u.like()?;
    let width: [f64; 2] = [1.0 / settings.shape[0] as f64, 1.0 / settings.shape[1] as f64];
    f.fill(|[j, i]: [usize; 2]| {
        T::of(width[0] * width[1] * charge([(j as f64 + 0.5) * width[0], (i as f64 + 0.5) * width[1]]))
    })?;
    let (start, right_side) = (settings.start(&u)?, settings.start(&f)?);
    let tile_size = settings.tile()?;

    let mut change = None;
    let mut steps = 0;
    let mut clock = settings.clock()?;
    while steps < settings.steps {
        u.fill_ghosts()?;
        for tile in TileIter::new(&u).tile_size(tile_size) {
            compute(
                &tile,
                (&mut next, &u, &f),
                kernel!(T; |next, u, f, at| {
                    let around = u[at + [0, 1]] + u[at - [0, 1]] + u[at + [1, 0]] + u[at - [1, 0]];
                    next[at] = 0.25 * (around + f[at]);
                }),
            )?;
        }
        std::mem::swap(&mut u, &mut next);
        steps += 1;
        clock.step_of(&u)?;
        if steps % CHECK == 0 {
            let new = reduce_later((&u, &next), Max, kernel!(|u, next, at| (u[at] - next[at]).abs()))?;
            // The change of the look before has been known for a while: getting it holds nothing up.
            if let Some(old) = change.replace(new)
                && old.get()? <= tolerance
            {
                break;
            }
        }
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&u, steps, seconds, || oracle::jacobi(&settings.shape, &start, &right_side, steps))
}
