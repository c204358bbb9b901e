//! A vortex that its fluid's viscosity slows down, by the lattice Boltzmann method with populations kept in fewer bits.
//!
//! `--storage scaled` keeps the populations as halves over a scale, `half` as halves and `raw` as `f32`; arithmetic is
//! that of `f32`. With `--dtype f64` both are `f64`. `--verify` compares with plain loops that round alike, bit by bit,
//! with plain loops in `f64`, and with the rate at which a vortex of Taylor and Green decays.

mod d3q19;
mod plain;

use std::ffi::OsString;
use std::process::ExitCode;

use tida::prelude::*;
use tida_plot::Picture;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::setup::Cell;

use d3q19::{Populations, SCALE, VELOCITIES, step, vortex};

const LBM: Example = Example {
    name: "lbm",
    about: "The lattice Boltzmann method (D3Q19) for a vortex in a periodic box; --storage raw|scaled|half keeps its populations",
    dims: &[3],
    size: [0, 0, 64],
    steps: 200,
    ghost: 1,
    dtypes: &[Dtype::F32, Dtype::F64],
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
    fn kept<T: Real>(self, x: T) -> T {
        match self.format {
            Format::Half => T::of(plain::half(x.to_f64())),
            Format::ScaledHalf { scale } => T::of(plain::half(x.to_f64() / scale) * scale),
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
    match settings.dtype {
        Dtype::F32 => lbm::<f32>(&settings, storage),
        Dtype::F64 => lbm::<f64>(&settings, storage),
    }
}

/// The solver for both precisions.
fn lbm<T: Real + Cell>(settings: &Settings, storage: Storage) -> Result<()> {
    let acc = settings.accelerator(2)?;
    let n = settings.shape[0];
    let mut f = settings.builder::<Populations<T>, 3>(Boundary::Periodic)?.storage(storage.format).build(&acc)?;
    let omega = 1.0 / (3.0 * VISCOSITY + 0.5);
    f.fill(|at| vortex(n, SPEED, omega, at))?;
    let mut next = f.like()?;
    let found = |f: &TileArray<Populations<T>, 3>| -> Result<Vec<T>> { Ok(f.read_box(f.domain())?.concat()) };
    let start = if settings.verify { found(&f)? } else { Vec::new() };
    let tile_size = settings.tile()?;

    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        f.fill_ghosts()?;
        step(&f, &mut next, tile_size, T::of(omega))?;
        std::mem::swap(&mut f, &mut next);
        clock.step_drawn(&acc, || flow(settings, &f))?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.draw(settings.steps, || flow(settings, &f))?;
    settings.finish_with(
        &f,
        settings.steps,
        seconds,
        || found(&f),
        || plain::solved([n; 3], &start, settings.steps, T::of(omega), |x| storage.kept(x)),
    )?;
    if settings.verify {
        flows(settings, storage, &start, &found(&f)?, omega)?;
    }
    Ok(())
}

/// How fast the fluid of a cell is.
fn speed<T: Real>(f: Populations<T>) -> f64 {
    let f = f.map(Real::to_f64);
    let rho = 1.0 + f.iter().sum::<f64>();
    let along = |axis: usize| f.iter().zip(VELOCITIES).map(|(f, c)| f * c[axis] as f64).sum::<f64>();
    along(0).hypot(along(1)).hypot(along(2)) / rho
}

/// How fast the fluid is in the plane of the vortex.
fn flow<T: Real>(settings: &Settings, f: &TileArray<Populations<T>, 3>) -> Result<Picture> {
    Ok(settings.map(Picture::slice_by(f, 1, f.shape()[1] / 2, speed)?).axes("z", "x"))
}

/// Compares the flow with plain loops in `f64`, and the rate at which its energy decays with the vortex's.
fn flows<T: Real>(settings: &Settings, storage: Storage, start: &[T], end: &[T], omega: f64) -> Result<()> {
    let wide = |f: &[T]| f.iter().map(|x| x.to_f64()).collect::<Vec<f64>>();
    let (n, steps) = (settings.shape[0], settings.steps);
    let (start, end) = (wide(start), wide(end));
    let exact = plain::solved([n; 3], &start, steps, omega, |x| x);
    let apart = plain::apart(&end, &exact) / SPEED;
    let wave = std::f64::consts::TAU / n as f64;
    let expected = 4.0 * VISCOSITY * wave * wave * steps as f64;
    let decay = (plain::energy(&start) / plain::energy(&end)).ln();
    // The method is of second order in the wave's number.
    let (differs, may) = ((decay / expected - 1.0).abs(), 0.05 * wave * wave + storage.apart);
    if settings.tells() {
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
