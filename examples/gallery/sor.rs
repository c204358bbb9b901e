//! Successive over-relaxation for Poisson's equation in a square, on one array: first the red cells, then the black
//! ones, which know the new values of the red ones.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::oracle::{Grid, Outside};
use tida_suite::setup::Cell;

use crate::Program;

pub const PROGRAM: Program = Program {
    example: Example {
        name: "sor",
        about: "Red-black successive over-relaxation for Poisson's equation in a square, in place",
        dims: &[2],
        size: [0, 512, 0],
        steps: 200,
        ghost: 1,
        dtypes: &[Dtype::F64, Dtype::F32],
        boundaries: &[Edge::Fixed, Edge::Reflect],
        library: false,
        look: Look::around(0.0, "potential"),
    },
    small: "--size 91 --steps 10",
    input: true,
    run,
};

fn run(settings: &Settings) -> Result<()> {
    match settings.dtype {
        Dtype::F32 => sor::<f32>(settings),
        Dtype::F64 => sor::<f64>(settings),
    }
}

/// How far beyond the mean of its neighbours a cell goes: best for a square of `n` cells along each side.
fn omega(n: usize) -> f64 {
    2.0 / (1.0 + (std::f64::consts::PI / (n + 1) as f64).sin())
}

fn sor<T: Real + Cell>(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(2)?;
    // The charge: two plates.
    let mut f = settings.array::<T, 2>(&acc, Boundary::Open)?;
    settings.fill(&mut f, |[y, x]| {
        match ((y - 0.5).abs() < 0.3, (x - 0.35).abs() < 0.02, (x - 0.65).abs() < 0.02) {
            (true, true, _) => T::ONE,
            (true, _, true) => -T::ONE,
            _ => T::ZERO,
        }
    })?;
    let charge = settings.start(&f)?;
    let mut u = settings.array::<T, 2>(&acc, settings.edge.boundary())?;
    u.fill_value(T::ZERO)?;

    let omega = T::of(omega(settings.shape[0]));
    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        for colour in [0, 1] {
            u.fill_ghosts()?;
            sweep_colour(
                Colour::red_black(colour),
                u.tiles(),
                (&mut u, &f),
                kernel!(T; |u, f, at| {
                    let around = u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]];
                    u[at] += omega * (0.25 * (around + f[at]) - u[at]);
                }),
            )?;
        }
        clock.step_of(&u)?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&u, settings.steps, seconds, || {
        relaxed(&settings.shape, &charge, settings.steps, omega, settings.edge.outside())
    })
}

/// The same by plain loops.
fn relaxed<T: Real>(shape: &[usize], charge: &[T], steps: u64, omega: T, outside: Outside<T>) -> Vec<T> {
    let f = Grid::new(shape, 1, charge);
    let mut u = Grid::new(shape, 1, &vec![T::ZERO; charge.len()]);
    let [_, ny, nx] = u.shape();
    let row = u.stride(1);
    for _ in 0..steps {
        for colour in [0, 1] {
            u.fill_ghosts(outside);
            for j in 0..ny {
                for i in (0..nx).filter(|i| (i + j) % 2 == colour) {
                    let p = u.position(0, j, i);
                    let around = u.data[p - row] + u.data[p + row] + u.data[p - 1] + u.data[p + 1];
                    let own = u.data[p];
                    u.data[p] += omega * (lit!(T, 0.25) * (around + f.data[p]) - own);
                }
            }
        }
    }
    u.cells()
}
