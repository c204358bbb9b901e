//! The heat equation on 1, 2 or 3 axes: each step a cell moves towards the mean of its neighbours.
//!
//! `cargo run --release --example heat` solves it on 256³ cells and compares the result with plain loops;
//! `-- --help` lists the flags.

use std::process::ExitCode;

use tida::prelude::*;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::setup::Cell;
use tida_suite::{Result, oracle};

const HEAT: Example = Example {
    name: "heat",
    about: "The heat equation by explicit steps, on 1, 2 or 3 axes",
    dims: &[3, 2, 1],
    size: [1 << 20, 2048, 256],
    steps: 100,
    ghost: 1,
    dtypes: &[Dtype::F64, Dtype::F32],
    boundaries: &[Edge::Periodic, Edge::Fixed, Edge::Reflect],
    library: false,
    look: Look::magma("temperature"),
};

fn main() -> ExitCode {
    tida_suite::exit(run())
}

fn run() -> Result<()> {
    let settings = HEAT.settings()?;
    match (settings.dtype, settings.shape.len()) {
        (Dtype::F64, 1) => heat::<f64, 1>(&settings),
        (Dtype::F64, 2) => heat::<f64, 2>(&settings),
        (Dtype::F64, _) => heat::<f64, 3>(&settings),
        (Dtype::F32, 1) => heat::<f32, 1>(&settings),
        (Dtype::F32, 2) => heat::<f32, 2>(&settings),
        (Dtype::F32, _) => heat::<f32, 3>(&settings),
    }
}

/// Hot balls in a cold world, which is not at 0: heat that spreads into zeros makes numbers so small that processors
/// take a hundred times longer for each.
fn initial<const D: usize>(x: [f64; D]) -> f64 {
    let balls = [([0.5, 0.32, 0.35], 0.22, 1.0), ([0.45, 0.7, 0.6], 0.16, 0.8), ([0.5, 0.25, 0.78], 0.1, 0.6)];
    let inside = |centre: [f64; 3], radius: f64| {
        let distance: f64 = (0..D).map(|d| (x[d] - centre[d + 3 - D]).powi(2)).sum();
        distance < radius * radius
    };
    balls.iter().find(|(centre, radius, _)| inside(*centre, *radius)).map_or(0.05, |(.., heat)| *heat)
}

/// The solver for every precision and rank.
fn heat<T: Real + Cell, const D: usize>(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(2)?;
    let mut u = settings.array::<T, D>(&acc, settings.edge.boundary())?;
    settings.fill(&mut u, |x| T::of(initial(x)))?;
    let mut next = u.like()?;
    next.fill_value(T::ZERO)?; // touches its memory, so that the clock sees steps alone
    let start = settings.start(&u)?;
    let tile_size = settings.tile()?;

    let alpha = lit!(T, 0.1);
    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        u.fill_ghosts()?;
        for tile in TileIter::new(&u).tile_size(tile_size) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(T; |next, u, at| {
                    let mut around = -2.0 * D as T * u[at];
                    for d in 0..D {
                        around += u[at + unit(d)] + u[at - unit(d)];
                    }
                    next[at] = u[at] + alpha * around;
                }),
            )?;
        }
        std::mem::swap(&mut u, &mut next);
        clock.step_of(&u)?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&u, settings.steps, seconds, || {
        oracle::heat(&settings.shape, &start, settings.steps, alpha, settings.edge.outside())
    })
}
