//! Diffusion in a cube, split by axes: each third of a step is implicit along one axis and leaves the others out
//! (locally one-dimensional, Yanenko). Along that axis every line is a tridiagonal system, as in `adi`.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::oracle::Grid;
use tida_suite::setup::Cell;
use tida_suite::thomas::implicit_in_place;

use crate::Program;

pub const PROGRAM: Program = Program {
    example: Example {
        name: "adi3d",
        about: "Diffusion in a cube, cold outside: implicit along one axis after the other",
        dims: &[3],
        size: [0, 0, 160],
        steps: 10,
        ghost: 1,
        dtypes: &[Dtype::F64, Dtype::F32],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("temperature"),
    },
    small: "--size 34 --steps 2",
    input: true,
    run,
};

/// A step, in units of the time that heat takes from cell to cell.
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
    let acc = settings.accelerator(3)?;
    let mut u = settings.array::<T, 3>(&acc, settings.edge.boundary())?;
    let warm = |x: f64| (x - 0.45).abs() < 0.2;
    settings.fill(&mut u, |[z, y, x]| if warm(z) && warm(y) && warm(x) { T::ONE } else { T::ZERO })?;
    // Their ghosts stay 0.
    let mut c = settings.array::<T, 3>(&acc, Boundary::Open)?;
    let mut d = settings.array::<T, 3>(&acc, Boundary::Open)?;
    let start = settings.start(&u)?;

    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        u.fill_ghosts()?;
        implicit_in_place::<T, 3, 0>(&mut u, [&mut c, &mut d], rate())?;
        u.fill_ghosts()?;
        implicit_in_place::<T, 3, 1>(&mut u, [&mut c, &mut d], rate())?;
        u.fill_ghosts()?;
        implicit_in_place::<T, 3, 2>(&mut u, [&mut c, &mut d], rate())?;
        clock.step_of(&u)?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&u, settings.steps, seconds, || diffused(&settings.shape, &start, settings.steps))
}

/// The same by plain loops.
fn diffused<T: Real>(shape: &[usize], start: &[T], steps: u64) -> Vec<T> {
    let rate = rate::<T>();
    let mut u = Grid::new(shape, 1, start);
    let zeros = Grid::new(shape, 1, &vec![T::ZERO; start.len()]);
    let (mut c, mut d) = (zeros.clone(), zeros);
    let size = u.shape();
    let strides = [u.stride(0), u.stride(1), 1];
    for _ in 0..steps {
        for (axis, along) in strides.into_iter().enumerate() {
            let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
            for line in 0..size[a] * size[b] {
                let first = u.position(0, 0, 0) + line / size[b] * strides[a] + line % size[b] * strides[b];
                for p in (0..size[axis]).map(|n| first + n * along) {
                    let scale = T::ONE / (T::ONE + lit!(T, 2.0) * rate + rate * c.data[p - along]);
                    c.data[p] = -rate * scale;
                    d.data[p] = scale * (u.data[p] + rate * d.data[p - along]);
                }
                for p in (0..size[axis]).rev().map(|n| first + n * along) {
                    u.data[p] = d.data[p] - c.data[p] * u.data[p + along];
                }
            }
        }
    }
    u.cells()
}
