//! The acoustic wave equation on a staggered grid: pressure at cells, velocities on the faces between them.

use std::process::ExitCode;

use tida::prelude::*;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::setup::Cell;
use tida_suite::{Result, oracle};

const WAVE: Example = Example {
    name: "wave",
    about: "The wave equation on 2 axes, staggered; reflect stands for walls, fixed for open air",
    dims: &[2],
    size: [0, 512, 0],
    steps: 500,
    ghost: 1,
    dtypes: &[Dtype::F64, Dtype::F32],
    boundaries: &[Edge::Reflect, Edge::Fixed, Edge::Periodic],
    library: false,
    look: Look::around(0.0, "pressure").range(-0.2, 0.2),
};

fn main() -> ExitCode {
    tida_suite::exit(run())
}

fn run() -> Result<()> {
    let settings = WAVE.settings()?;
    match settings.dtype {
        Dtype::F64 => wave::<f64>(&settings),
        Dtype::F32 => wave::<f32>(&settings),
    }
}

/// A pulse of pressure.
fn initial([y, x]: [f64; 2]) -> f64 {
    (-((y - 0.4).powi(2) + (x - 0.3).powi(2)) / 0.002).exp()
}

fn wave<T: Real + Cell>(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(6)?;
    let mut p = settings.array::<T, 2>(&acc, settings.edge.boundary())?;
    settings.fill(&mut p, |x| T::of(initial(x)))?;
    // Faces hold one value more than cells along their axis. Nothing outside the domain's faces is read.
    let faces = |axis: usize| {
        let mut centering = [Centering::Cell; 2];
        centering[axis] = Centering::Face;
        settings.centred::<T, 2>(&acc, centering)
    };
    let (mut vy, mut vx) = (faces(0)?, faces(1)?);
    let start = settings.start(&p)?;
    let tile_size = settings.tile()?;

    // Time step over cell width, at wave speed 1: below 1 / sqrt 2.
    let c = lit!(T, 0.5);
    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        p.fill_ghosts()?;
        for tile in TileIter::new(&vx).tile_size(tile_size) {
            compute(
                &tile,
                (&mut vx, &p),
                kernel!(|vx, p, at| {
                    vx[at] = vx[at] - c * (p[at] - p[at - [0, 1]]);
                }),
            )?;
        }
        for tile in TileIter::new(&vy).tile_size(tile_size) {
            compute(
                &tile,
                (&mut vy, &p),
                kernel!(|vy, p, at| {
                    vy[at] = vy[at] - c * (p[at] - p[at - [1, 0]]);
                }),
            )?;
        }
        vx.fill_ghosts()?;
        vy.fill_ghosts()?;
        for tile in TileIter::new(&p).tile_size(tile_size) {
            compute(
                &tile,
                (&mut p, &vx, &vy),
                kernel!(|p, vx, vy, at| {
                    p[at] = p[at] - c * (vx[at + [0, 1]] - vx[at] + vy[at + [1, 0]] - vy[at]);
                }),
            )?;
        }
        clock.step_of(&p)?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&p, settings.steps, seconds, || {
        oracle::wave(&settings.shape, &start, settings.steps, c, settings.edge.outside())
    })
}
