//! Matrix multiplication, `C = A B`: Lashgar §3.3.1 (1024²), §5.4.1 and Listing A.3, MESI-CUDA Fig. 2 and Table 3
//! (8192²).
//!
//! Each cell of `C` gathers a row of `A` and a column of `B`, whole arrays of any cuts. Cells beside one another share
//! the row, cells above one another the column: what the cache of Lashgar ch. 5 is for.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::setup::Cell;

use crate::{Program, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "gemm",
        about: "The product of two square matrices, each cell a row times a column; a step is one product",
        dims: &[2],
        size: [0, 1024, 0],
        steps: 1,
        ghost: 0,
        dtypes: &[Dtype::F32, Dtype::F64],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::around(0.0, "product").still(),
    },
    small: "--size 96 --steps 1",
    input: false,
    run,
};

fn run(settings: &Settings) -> Result<()> {
    match settings.dtype {
        Dtype::F32 => gemm::<f32>(settings),
        Dtype::F64 => gemm::<f64>(settings),
    }
}

fn gemm<T: Real + Cell>(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(1)?;
    let n = settings.shape[0];
    // Each cell reads a row and a column of these.
    let mut a = settings.builder::<T, 2>(Boundary::Open)?.everywhere().build(&acc)?;
    let mut b = a.like()?;
    let mut c = settings.array::<T, 2>(&acc, Boundary::Open)?;
    a.fill(|[j, i]| T::of(plain::random(j * n + i)) - lit!(T, 0.5))?;
    b.fill(|[j, i]| T::of(plain::random((n + j) * n + i)) - lit!(T, 0.5))?;
    let (left, right) = (settings.start(&a)?, settings.start(&b)?);
    let tile_size = settings.tile()?;

    let length = n as i64;
    let clock = settings.clock()?;
    for _ in 0..settings.steps {
        for tile in TileIter::new(&c).tile_size(tile_size) {
            compute(
                &tile,
                (&mut c, all(&a), all(&b)),
                kernel!(T; |c, a, b, at| {
                    let [row, column] = at;
                    let mut sum = 0.0;
                    for k in 0..length {
                        sum += a[[row, k]] * b[[k, column]];
                    }
                    c[at] = sum;
                }),
            )?;
        }
        clock.step();
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&c, settings.steps, seconds, || product(n, &left, &right))
}

/// The same by plain loops: rows of `B` are added up, in the same order for each cell.
pub fn product<T: Real>(n: usize, a: &[T], b: &[T]) -> Vec<T> {
    let mut c = vec![T::ZERO; n * n];
    for (a, c) in a.chunks_exact(n).zip(c.chunks_exact_mut(n)) {
        for (&a, b) in a.iter().zip(b.chunks_exact(n)) {
            for (c, &b) in c.iter_mut().zip(b) {
                *c += a * b;
            }
        }
    }
    c
}
