//! Jacobi's iteration over nine elements: Lashgar §5.4.1 and Fig. 5.4, §7.1 (JAC), MESI-CUDA Table 3 (1024², 10000
//! steps).
//!
//! Each cell becomes a mean of its 8 neighbours and itself, so a block of cells reads almost all that it reads nine
//! times.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::oracle::{Grid, Outside};
use tida_suite::setup::Cell;

use crate::Program;

pub const PROGRAM: Program = Program {
    example: Example {
        name: "jacobi9",
        about: "Each cell becomes a mean of the nine cells around it, again and again",
        dims: &[2],
        size: [0, 1024, 0],
        steps: 100,
        ghost: 1,
        dtypes: &[Dtype::F32, Dtype::F64],
        boundaries: &[Edge::Fixed, Edge::Periodic, Edge::Reflect],
        library: false,
        look: Look::magma("value"),
    },
    small: "--size 90 --steps 10",
    input: true,
    run,
};

fn run(settings: &Settings) -> Result<()> {
    match settings.dtype {
        Dtype::F32 => jacobi9::<f32>(settings),
        Dtype::F64 => jacobi9::<f64>(settings),
    }
}

fn jacobi9<T: Real + Cell>(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(2)?;
    let mut u = settings.array::<T, 2>(&acc, settings.edge.boundary())?;
    settings
        .fill(&mut u, |[y, x]| if (y - 0.5).abs() < 0.2 && (x - 0.4).abs() < 0.3 { T::ONE } else { lit!(T, 0.05) })?;
    let mut next = u.like()?;
    let start = settings.start(&u)?;
    let tile_size = settings.tile()?;

    // The weights of a cell, of those beside it, and of those at its corners.
    let (own, side, corner) = (lit!(T, 0.2), lit!(T, 0.15), lit!(T, 0.05));
    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        u.fill_ghosts()?;
        for tile in TileIter::new(&u).tile_size(tile_size) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    let sides = u[at + [-1, 0]] + u[at + [0, -1]] + u[at + [0, 1]] + u[at + [1, 0]];
                    let corners = u[at + [-1, -1]] + u[at + [-1, 1]] + u[at + [1, -1]] + u[at + [1, 1]];
                    next[at] = own * u[at] + side * sides + corner * corners;
                }),
            )?;
        }
        std::mem::swap(&mut u, &mut next);
        clock.step_of(&u)?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&u, settings.steps, seconds, || {
        smoothed(&settings.shape, &start, settings.steps, [own, side, corner], settings.edge.outside())
    })
}

/// The same by plain loops.
fn smoothed<T: Real>(shape: &[usize], start: &[T], steps: u64, weights: [T; 3], outside: Outside<T>) -> Vec<T> {
    let mut u = Grid::new(shape, 1, start);
    let mut next = u.clone();
    let [_, ny, nx] = u.shape();
    let row = u.stride(1);
    let [own, side, corner] = weights;
    for _ in 0..steps {
        u.fill_ghosts(outside);
        for j in 0..ny {
            for i in 0..nx {
                let p = u.position(0, j, i);
                let v = &u.data;
                let sides = v[p - row] + v[p - 1] + v[p + 1] + v[p + row];
                let corners = v[p - row - 1] + v[p - row + 1] + v[p + row - 1] + v[p + row + 1];
                next.data[p] = own * v[p] + side * sides + corner * corners;
            }
        }
        std::mem::swap(&mut u, &mut next);
    }
    u.cells()
}
