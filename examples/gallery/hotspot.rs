//! Temperatures of a chip whose blocks draw power: Lashgar §6.3.1 and Listing A.5 (Rodinia's Hotspot).
//!
//! Each cell trades heat with the four beside it and with the air, and has a source of its own. Beyond the edge is the
//! edge: a boundary here, where Rodinia's kernel has branches. Its ghost-zone version does several steps in a launch;
//! here the library may, and the loop stays as it is.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::oracle::{Grid, Outside};
use tida_suite::setup::Cell;

use crate::{Program, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "hotspot",
        about: "The temperatures of a chip whose blocks draw power",
        dims: &[2],
        size: [0, 1024, 0],
        steps: 100,
        ghost: 1,
        dtypes: &[Dtype::F32, Dtype::F64],
        boundaries: &[Edge::Reflect, Edge::Fixed, Edge::Periodic],
        library: false,
        look: Look::magma("temperature"),
    },
    small: "--size 90 --steps 12",
    input: true,
    run,
};

/// Degrees of the air.
const AMBIENT: f64 = 80.0;

/// What a step takes of each flow of heat (Rodinia's constants of a chip of 16 by 16 by 0.5 mm).
struct Rates {
    /// Degrees for each watt.
    step: f64,
    /// Watts for each degree between neighbours along x and y, and to the air.
    x: f64,
    y: f64,
    air: f64,
    /// Most watts of a cell.
    watts: f64,
}

fn rates(shape: &[usize]) -> Rates {
    let (side, thick, density) = (0.016, 0.0005, 3.0e6);
    let (capacity, conductivity, part) = (1.75e6, 100.0, 0.5);
    let (height, width) = (side / shape[0] as f64, side / shape[1] as f64);
    let seconds = 0.001 / (density / (part * thick * capacity));
    Rates {
        step: seconds / (part * capacity * thick * width * height),
        x: 2.0 * conductivity * thick * height / width,
        y: 2.0 * conductivity * thick * width / height,
        air: conductivity * height * width / thick,
        watts: density * height * width,
    }
}

/// The part of the most watts that a cell draws: two busy blocks, and some everywhere.
fn drawn(y: f64, x: f64, cell: usize) -> f64 {
    let within = |y0: f64, x0: f64| (y - y0).abs() < 0.15 && (x - x0).abs() < 0.1;
    let busy = if within(0.3, 0.3) || within(0.6, 0.75) { 0.8 } else { 0.05 };
    busy + 0.1 * plain::random(cell)
}

/// Watts of every cell.
fn watts(shape: &[usize]) -> Vec<f64> {
    let (ny, nx) = (shape[0], shape[1]);
    let most = rates(shape).watts;
    let place = |cell: usize| ((cell / nx) as f64 / ny as f64, (cell % nx) as f64 / nx as f64);
    (0..ny * nx).map(|cell| (place(cell), cell)).map(|((y, x), cell)| most * drawn(y, x, cell)).collect()
}

fn run(settings: &Settings) -> Result<()> {
    match settings.dtype {
        Dtype::F32 => hotspot::<f32>(settings),
        Dtype::F64 => hotspot::<f64>(settings),
    }
}

fn hotspot<T: Real + Cell>(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(2)?;
    let mut chip = settings.array::<T, 2>(&acc, settings.edge.boundary())?;
    settings.fill(&mut chip, |[y, x]| T::of(AMBIENT + 240.0 + 5.0 * y + 3.0 * x))?;
    let mut next = chip.like()?;
    let mut power = settings.array::<T, 2>(&acc, Boundary::Open)?;
    let sources: Vec<T> = watts(&settings.shape).into_iter().map(T::of).collect();
    power.write_box(power.domain(), &sources)?;
    let start = settings.start(&chip)?;
    let tile_size = settings.tile()?;

    let Rates { step, x, y, air, .. } = rates(&settings.shape);
    let (step, x, y, air, ambient) = (T::of(step), T::of(x), T::of(y), T::of(air), T::of(AMBIENT));
    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        chip.fill_ghosts()?;
        for tile in TileIter::new(&chip).tile_size(tile_size) {
            compute(
                &tile,
                (&mut next, &chip, &power),
                kernel!(T; |next, chip, power, at| {
                    let own = chip[at];
                    let along = (chip[at + [1, 0]] + chip[at - [1, 0]] - 2.0 * own) * y;
                    let across = (chip[at + [0, 1]] + chip[at - [0, 1]] - 2.0 * own) * x;
                    next[at] = own + step * (power[at] + along + across + (ambient - own) * air);
                }),
            )?;
        }
        std::mem::swap(&mut chip, &mut next);
        clock.step_of(&chip)?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&chip, settings.steps, seconds, || {
        warmed(&settings.shape, &start, &sources, settings.steps, settings.edge.outside())
    })
}

/// The same by plain loops.
fn warmed<T: Real>(shape: &[usize], start: &[T], sources: &[T], steps: u64, outside: Outside<T>) -> Vec<T> {
    let mut chip = Grid::new(shape, 1, start);
    let mut next = chip.clone();
    let [_, ny, nx] = chip.shape();
    let row = chip.stride(1);
    let Rates { step, x, y, air, .. } = rates(shape);
    let (step, x, y, air, ambient, two) = (T::of(step), T::of(x), T::of(y), T::of(air), T::of(AMBIENT), T::of(2.0));
    for _ in 0..steps {
        chip.fill_ghosts(outside);
        for (cell, &source) in sources.iter().enumerate().take(ny * nx) {
            let p = chip.position(0, cell / nx, cell % nx);
            let v = &chip.data;
            let along = (v[p + row] + v[p - row] - two * v[p]) * y;
            let across = (v[p + 1] + v[p - 1] - two * v[p]) * x;
            next.data[p] = v[p] + step * (source + along + across + (ambient - v[p]) * air);
        }
        std::mem::swap(&mut chip, &mut next);
    }
    chip.cells()
}
