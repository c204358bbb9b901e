//! Diffusion by alternating directions (Peaceman and Rachford): each half of a step is implicit along one axis.
//!
//! Along that axis every line is a tridiagonal system, which Thomas' algorithm solves: a sweep forward eliminates, a
//! sweep backward substitutes. Steps may be as long as one likes.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::oracle::Grid;
use tida_suite::setup::Cell;

use crate::Program;

pub const PROGRAM: Program = Program {
    example: Example {
        name: "adi",
        about: "Diffusion by alternating directions, cold outside: implicit along rows, then along columns",
        dims: &[2],
        size: [0, 1024, 0],
        steps: 10,
        ghost: 1,
        dtypes: &[Dtype::F64, Dtype::F32],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("temperature"),
    },
    small: "--size 130 --steps 3",
    input: true,
    run,
};

/// Half a step, in units of the time that heat takes from cell to cell.
fn rate<T: Real>() -> T {
    lit!(T, 2.0)
}

fn run(settings: &Settings) -> Result<()> {
    match settings.dtype {
        Dtype::F32 => adi::<f32>(settings),
        Dtype::F64 => adi::<f64>(settings),
    }
}

fn adi<T: Real + Cell>(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(2)?;
    let mut u = settings.array::<T, 2>(&acc, settings.edge.boundary())?;
    settings.fill(&mut u, |[y, x]| if (y - 0.5).abs() < 0.2 && (x - 0.4).abs() < 0.2 { T::ONE } else { T::ZERO })?;
    // Their ghosts stay 0.
    let mut c = settings.array::<T, 2>(&acc, Boundary::Open)?;
    let mut d = settings.array::<T, 2>(&acc, Boundary::Open)?;
    let start = settings.start(&u)?;

    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        half_step::<T, 0, 1>(&mut u, &mut c, &mut d)?;
        half_step::<T, 1, 0>(&mut u, &mut c, &mut d)?;
        clock.step_of(&u)?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&u, settings.steps, seconds, || diffused(&settings.shape, &start, settings.steps))
}

/// Half a step that is implicit along the axis `ALONG`.
fn half_step<T: Real, const ACROSS: usize, const ALONG: usize>(
    u: &mut TileArray<T, 2>,
    c: &mut TileArray<T, 2>,
    d: &mut TileArray<T, 2>,
) -> tida::Result<()> {
    let rate = rate::<T>();
    u.fill_ghosts()?;
    sweep_along(
        ALONG,
        Forward,
        u.tiles(),
        (&mut *c, &mut *d, &*u),
        kernel!(T; |c, d, u, at| {
            let before = at - unit(ALONG);
            let right = u[at] + rate * (u[at - unit(ACROSS)] - 2.0 * u[at] + u[at + unit(ACROSS)]);
            let scale = 1.0 / (1.0 + 2.0 * rate + rate * c[before]);
            c[at] = -rate * scale;
            d[at] = scale * (right + rate * d[before]);
        }),
    )?;
    sweep_along(
        ALONG,
        Backward,
        u.tiles(),
        (u, &*c, &*d),
        kernel!(|u, c, d, at| u[at] = d[at] - c[at] * u[at + unit(ALONG)]),
    )
}

/// The same by plain loops.
fn diffused<T: Real>(shape: &[usize], start: &[T], steps: u64) -> Vec<T> {
    let rate = rate::<T>();
    let mut u = Grid::new(shape, 1, start);
    let zeros = Grid::new(shape, 1, &vec![T::ZERO; start.len()]);
    let (mut c, mut d) = (zeros.clone(), zeros);
    let [_, ny, nx] = u.shape();
    let row = u.stride(1);
    for _ in 0..steps {
        for (lines, cells, along, across) in [(ny, nx, 1, row), (nx, ny, row, 1)] {
            let mut next = u.clone();
            for line in 0..lines {
                let place = |n: usize| u.position(0, 0, 0) + line * across + n * along;
                for p in (0..cells).map(place) {
                    let right = u.data[p] + rate * (u.data[p - across] - lit!(T, 2.0) * u.data[p] + u.data[p + across]);
                    let scale = T::ONE / (T::ONE + lit!(T, 2.0) * rate + rate * c.data[p - along]);
                    c.data[p] = -rate * scale;
                    d.data[p] = scale * (right + rate * d.data[p - along]);
                }
                for p in (0..cells).rev().map(place) {
                    next.data[p] = d.data[p] - c.data[p] * next.data[p + along];
                }
            }
            u = next;
        }
    }
    u.cells()
}
