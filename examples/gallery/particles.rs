//! Particles to grid: each particle of a plasma gives its charge to the four cells around it, by weights of the
//! distance (cloud in cell). The particles move, and give it again.
//!
//! A particle adds to cells: a scatter. Lists of the entries of each cell make it a pull, in the order of the
//! particles.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};

use crate::{Program, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "particles",
        about: "The charge of particles on a periodic grid, by cloud in cell: four particles a cell, which move",
        dims: &[2],
        size: [0, 256, 0],
        steps: 10,
        ghost: 0,
        dtypes: &[Dtype::F64],
        boundaries: &[Edge::Periodic],
        library: false,
        look: Look::viridis("charge"),
    },
    small: "--size 70 --steps 3",
    input: false,
    run,
};

/// Particles of a cell, on the average.
const EACH: usize = 4;

/// Where a particle is after so many steps, in cells: within `0..n` along both axes.
fn place(n: usize, particle: usize, step: u64) -> [f64; 2] {
    let size = n as f64;
    [0, 1].map(|axis| {
        let draw = |k: usize| plain::random((4 * particle + 2 * axis + k) * 2 + 1);
        // Denser in the middle.
        let start = 0.5 * (draw(0) + plain::random(8 * particle + 2 * axis)) * size;
        (start + step as f64 * (draw(1) - 0.5)).rem_euclid(size).min(size * (1.0 - f64::EPSILON))
    })
}

/// The cells around a place, whose centres lie half a cell from their corners, and the weight of each.
fn around(n: usize, place: [f64; 2]) -> [([i64; 2], f64); 4] {
    let [y, x] = place.map(|p| p - 0.5);
    let (j, i) = (y.floor(), x.floor());
    let wrapped = |k: f64| (k as i64).rem_euclid(n as i64);
    [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)].map(|(dj, di)| {
        let weight = (1.0 - (y - j - dj).abs()) * (1.0 - (x - i - di).abs());
        ([wrapped(j + dj), wrapped(i + di)], weight)
    })
}

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(1)?;
    let n = settings.shape[0];
    let particles = n * n * EACH;
    let mut charge = settings.array::<f64, 2>(&acc, Boundary::Open)?;
    charge.fill_value(0.0)?;
    let mut weights = TileArray::<f64, 1>::builder([4 * particles]).build(&acc)?;

    let mut clock = settings.clock()?;
    for step in 0..settings.steps {
        let entries: Vec<_> = (0..particles).flat_map(|particle| around(n, place(n, particle, step))).collect();
        weights.write_box(weights.domain(), &entries.iter().map(|(_, weight)| *weight).collect::<Vec<f64>>())?;
        let lists = CellLists::new(&charge, entries.iter().map(|(cell, _)| *cell))?;
        // What was there fades.
        for tile in charge.tiles() {
            compute(&tile, &mut charge, kernel!(|charge, at| charge[at] *= 0.5))?;
        }
        accumulate(charge.tiles(), &mut charge, &lists, &weights)?;
        clock.step_of(&charge)?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&charge, settings.steps, seconds, || scattered(n, particles, settings.steps))
}

/// The same by plain loops.
fn scattered(n: usize, particles: usize, steps: u64) -> Vec<f64> {
    let mut charge = vec![0.0; n * n];
    for step in 0..steps {
        charge.iter_mut().for_each(|charge| *charge *= 0.5);
        for particle in 0..particles {
            for ([j, i], weight) in around(n, place(n, particle, step)) {
                charge[j as usize * n + i as usize] += weight;
            }
        }
    }
    charge
}
