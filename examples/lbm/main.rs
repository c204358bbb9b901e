//! A vortex that its fluid's viscosity slows down, by the lattice Boltzmann method with populations kept in fewer bits.
//!
//! `--storage scaled` keeps the populations as halves over a scale, `half` as halves and `raw` as `f32`; arithmetic is
//! that of `f32`. `--verify` compares with plain loops that round alike, bit by bit, with plain loops in `f64`, and
//! with the rate at which a vortex of Taylor and Green decays.

mod d3q19;
mod plain;

use std::ffi::OsString;
use std::process::ExitCode;

use tida::prelude::*;
use tida_plot::Picture;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};

use d3q19::{Populations, SCALE, VELOCITIES, step, vortex};

const LBM: Example = Example {
    name: "lbm",
    about: "The lattice Boltzmann method (D3Q19) for a vortex in a periodic box; --storage raw|scaled|half keeps its populations",
    dims: &[3],
    size: [0, 0, 64],
    steps: 200,
    ghost: 1,
    dtypes: &[Dtype::F32],
    boundaries: &[Edge::Periodic],
    library: false,
    look: Look::viridis("speed"),
};

/// Cells that the fastest fluid moves in a step.
const SPEED: f64 = 0.05;
/// Viscosity in squared cells a step: `(1 / omega - 1 / 2) / 3`.
const VISCOSITY: f64 = 0.05;

/// How populations are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Storage {
    format: Format,
    /// The most that a velocity may differ from that of plain loops in `f64`, of the vortex's speed.
    apart: f64,
}

impl Storage {
    fn of(word: &str) -> Result<Storage> {
        Ok(match word {
            "raw" => Storage { format: Format::Raw, apart: 1e-5 },
            "scaled" => Storage { format: Format::ScaledHalf { scale: SCALE }, apart: 2e-3 },
            "half" => Storage { format: Format::Half, apart: 2e-3 },
            _ => {
                return Err(format!(
                    "tried to run lbm with --storage {word}; found no such storage; use raw, scaled or half"
                )
                .into());
            }
        })
    }

    /// What a population is when it was kept.
    fn kept(self, x: f32) -> f32 {
        match self.format {
            Format::Half => plain::half(x),
            Format::ScaledHalf { scale } => plain::half(x / scale as f32) * scale as f32,
            _ => x,
        }
    }
}

fn main() -> ExitCode {
    tida_suite::exit(run())
}

fn run() -> Result<()> {
    let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let mut storage = Storage::of("raw")?;
    if let Some(at) = words.iter().position(|word| word == "--storage") {
        let word = words.get(at + 1).map_or_else(String::new, |word| word.to_string_lossy().into_owned());
        storage = Storage::of(&word)?;
        words.drain(at..at + 2);
    }
    let settings = LBM.settings_of(words)?;
    if settings.flags.input.is_some() {
        return Err(
            "tried to run lbm with --input; found a program that makes its own arrays; leave --input out".into()
        );
    }
    let acc = settings.accelerator(2)?;
    let n = settings.shape[0];
    let mut f = settings.builder::<Populations, 3>(Boundary::Periodic)?.storage(storage.format).build(&acc)?;
    let omega = 1.0 / (3.0 * VISCOSITY + 0.5);
    f.fill(|at| vortex(n, SPEED, omega, at))?;
    let mut next = f.like()?;
    let found = |f: &TileArray<Populations, 3>| -> Result<Vec<f32>> { Ok(f.read_box(f.domain())?.concat()) };
    let start = if settings.verify { found(&f)? } else { Vec::new() };
    let tile_size = settings.tile()?;

    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        f.fill_ghosts()?;
        step(&f, &mut next, tile_size, omega as f32)?;
        std::mem::swap(&mut f, &mut next);
        clock.step_drawn(&acc, || flow(&settings, &f))?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.draw(settings.steps, || flow(&settings, &f))?;
    settings.finish_with(
        &f,
        settings.steps,
        seconds,
        || found(&f),
        || plain::solved([n; 3], &start, settings.steps, omega as f32, |x| storage.kept(x)),
    )?;
    if settings.verify {
        flows(&settings, storage, &start, &found(&f)?, omega)?;
    }
    Ok(())
}

/// How fast the fluid of a cell is.
fn speed(f: Populations) -> f64 {
    let rho = 1.0 + f.iter().map(|f| f64::from(*f)).sum::<f64>();
    let along = |axis: usize| f.iter().zip(VELOCITIES).map(|(f, c)| f64::from(*f) * c[axis] as f64).sum::<f64>();
    along(0).hypot(along(1)).hypot(along(2)) / rho
}

/// How fast the fluid is in the plane of the vortex.
fn flow(settings: &Settings, f: &TileArray<Populations, 3>) -> Result<Picture> {
    Ok(settings.map(Picture::slice_by(f, 1, f.shape()[1] / 2, speed)?).axes("z", "x"))
}

/// Compares the flow with plain loops in `f64`, and the rate at which its energy decays with the vortex's.
fn flows(settings: &Settings, storage: Storage, start: &[f32], end: &[f32], omega: f64) -> Result<()> {
    let wide = |f: &[f32]| f.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
    let (n, steps) = (settings.shape[0], settings.steps);
    let (start, end) = (wide(start), wide(end));
    let exact = plain::solved([n; 3], &start, steps, omega, |x| x);
    let apart = plain::apart(&end, &exact) / SPEED;
    let wave = std::f64::consts::TAU / n as f64;
    let expected = 4.0 * VISCOSITY * wave * wave * steps as f64;
    let decay = (plain::energy(&start) / plain::energy(&end)).ln();
    // The method is of second order in the wave's number.
    let (differs, may) = ((decay / expected - 1.0).abs(), 0.05 * wave * wave + storage.apart);
    if !settings.flags.json {
        println!("  velocities within {apart:.1e} of the vortex's speed of those in f64");
        println!("  energy decays by exp(-{decay:.5}), a vortex's by exp(-{expected:.5})");
    }
    let wrong = |found: String, most: f64| {
        Err(format!("tried to verify lbm; found {found}; it should be {most:e} at most").into())
    };
    if apart.is_nan() || apart > storage.apart {
        return wrong(format!("velocities {apart:e} of the vortex's speed from those in f64"), storage.apart);
    }
    if steps > 0 && (differs.is_nan() || differs > may) {
        return wrong(format!("a rate of decay that differs by {differs:e} of the vortex's"), may);
    }
    Ok(())
}
