//! The compute-bound kernel of TiDA-acc §VI-B: again and again, each cell adds `sqrt(sin² + cos²)` of itself.

use std::process::ExitCode;

use tida::prelude::*;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::setup::Cell;
use tida_suite::{Result, oracle};

const SINCOS: Example = Example {
    name: "sincos",
    about: "The compute-bound kernel of TiDA-acc: cells that need no neighbours and much arithmetic",
    dims: &[3],
    size: [1 << 20, 1024, 128],
    steps: 10,
    ghost: 0,
    dtypes: &[Dtype::F64, Dtype::F32],
    boundaries: &[Edge::Periodic, Edge::Fixed, Edge::Reflect],
    library: true,
    look: Look::viridis("value"),
};

/// Times that a cell repeats the computation in one step.
const ITERATIONS: u64 = 4;

fn main() -> ExitCode {
    tida_suite::exit(run())
}

fn run() -> Result<()> {
    let settings = SINCOS.settings()?;
    match settings.dtype {
        Dtype::F64 => sincos::<f64>(&settings),
        Dtype::F32 => sincos::<f32>(&settings),
    }
}

fn sincos<T: Real + Cell>(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(1)?;
    let mut u = settings.array::<T, 3>(&acc, settings.edge.boundary())?;
    settings.fill(&mut u, |[z, y, x]| T::of(z + 2.0 * y + 3.0 * x))?;
    let start = settings.start(&u)?;
    let tile_size = settings.tile()?;

    let iterations = ITERATIONS;
    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        for tile in TileIter::new(&u).tile_size(tile_size) {
            compute(
                &tile,
                &mut u,
                kernel!(|u, at| {
                    let mut x = u[at];
                    for _ in 0..iterations {
                        let s = x.sin();
                        let c = x.cos();
                        x = x + (s * s + c * c).sqrt();
                    }
                    u[at] = x;
                }),
            )?;
        }
        clock.step_of(&u)?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&u, settings.steps, seconds, || oracle::sincos(&start, settings.steps, iterations))
}
