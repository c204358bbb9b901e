//! The product of two vectors: cell by cell, and summed up. Lashgar's reduction clause, §3.3.3 and Fig. 3.6 (Fig. 3.2c
//! and d for one operation alone).
//!
//! The sum has one order, whatever the cuts and the device, so its last bit can be compared.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::setup::Cell;

use crate::{Program, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "vector_product",
        about: "The product of two vectors, cell by cell and summed up; a step is both",
        dims: &[1],
        size: [1 << 22, 0, 0],
        steps: 10,
        ghost: 0,
        dtypes: &[Dtype::F32, Dtype::F64],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("product").still(),
    },
    small: "--size 10000 --steps 2",
    input: false,
    run,
};

fn run(settings: &Settings) -> Result<()> {
    match settings.dtype {
        Dtype::F32 => vector_product::<f32>(settings),
        Dtype::F64 => vector_product::<f64>(settings),
    }
}

fn vector_product<T: Real + Cell>(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(2)?;
    let n = settings.shape[0];
    let mut a = settings.array::<T, 1>(&acc, Boundary::Open)?;
    let (mut b, mut c) = (a.like()?, a.like()?);
    a.fill(|[i]| T::of(plain::random(i)) - lit!(T, 0.5))?;
    b.fill(|[i]| T::of(plain::random(n + i)) - lit!(T, 0.5))?;
    let (left, right) = (settings.start(&a)?, settings.start(&b)?);
    let tile_size = settings.tile()?;

    let mut sums = Vec::new();
    let clock = settings.clock()?;
    for _ in 0..settings.steps {
        for tile in TileIter::new(&c).tile_size(tile_size) {
            compute(&tile, (&mut c, &a, &b), kernel!(|c, a, b, at| c[at] = a[at] * b[at]))?;
        }
        // Recorded as everything else is: the next step need not wait for the value.
        sums.push(reduce_later((&a, &b), Sum, kernel!(|a, b, at| a[at] * b[at]))?);
        clock.step();
    }
    let sums: Vec<T> = sums.iter().map(Scalar::get).collect::<tida::Result<_>>()?;
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.draw(settings.steps, || settings.drawing(&c))?;
    let found = || Ok([c.read_box(c.domain())?, sums].concat());
    settings.finish_with(&c, settings.steps, seconds, found, || product(&left, &right, settings.steps))
}

/// The same by plain loops: the products, then each step's sum of them.
fn product<T: Real>(a: &[T], b: &[T], steps: u64) -> Vec<T> {
    let products: Vec<T> = a.iter().zip(b).map(|(&a, &b)| a * b).collect();
    let sum = plain::sum(std::iter::once(products.clone()));
    [products, vec![sum; steps as usize]].concat()
}
