//! Matrix addition, `C = A + B`: Lashgar §7.1 (MMA), and with one axis less his vector addition, §3.3.3 and Fig. 3.5.
//!
//! Nothing is used twice, so all that counts is how cells reach the processors: every index is precalculable from the
//! block alone, the simplest case of a preload.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::setup::Cell;

use crate::{Program, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "matrix_add",
        about: "The sum of two matrices; a step is one sum",
        dims: &[2],
        size: [0, 2048, 0],
        steps: 10,
        ghost: 0,
        dtypes: &[Dtype::F32, Dtype::F64],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("sum").still(),
    },
    small: "--size 150 --steps 2",
    input: false,
    run,
};

fn run(settings: &Settings) -> Result<()> {
    match settings.dtype {
        Dtype::F32 => matrix_add::<f32>(settings),
        Dtype::F64 => matrix_add::<f64>(settings),
    }
}

fn matrix_add<T: Real + Cell>(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(1)?;
    let n = settings.shape[0];
    let mut a = settings.array::<T, 2>(&acc, Boundary::Open)?;
    let (mut b, mut c) = (a.like()?, a.like()?);
    a.fill(|[j, i]| T::of(plain::random(j * n + i)))?;
    b.fill(|[j, i]| T::of(plain::random((n + j) * n + i)))?;
    let (left, right) = (settings.start(&a)?, settings.start(&b)?);
    let tile_size = settings.tile()?;

    let clock = settings.clock()?;
    for _ in 0..settings.steps {
        for tile in TileIter::new(&c).tile_size(tile_size) {
            compute(&tile, (&mut c, &a, &b), kernel!(|c, a, b, at| c[at] = a[at] + b[at]))?;
        }
        clock.step();
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&c, settings.steps, seconds, || left.iter().zip(&right).map(|(&a, &b)| a + b).collect())
}
