//! Flow between two walls that a force drives (Poiseuille), by lattice Boltzmann: in the end the velocity is a
//! parabola.
//!
//! The walls are the first and the last row, which a mask says. The other axis is periodic.

use tida::prelude::*;
use tida_plot::Lines;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};

use crate::lattice::{Flow, Fluid, Lattice, equilibrium, velocity};
use crate::lattice_plain::Plain;
use crate::{Program, at_most};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "poiseuille",
        about: "Lattice Boltzmann (D2Q9): flow between two walls, driven by a force",
        dims: &[2],
        size: [0, 16, 0],
        steps: 4000,
        ghost: 1,
        dtypes: &[Dtype::F64],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("speed"),
    },
    small: "--size 12 --steps 40",
    input: false,
    run,
};

/// Cells that the fluid moves in a step in the middle, in the end.
const SPEED: f64 = 0.05;
/// The viscosity for which the walls lie exactly half-way between a solid cell and the fluid: the square of `3 nu` is
/// 3/16 (Ginzburg and d'Humieres, Phys. Rev. E 68, 2003, whose "magic" number that is). It is the root of 3 over 12.
const VISCOSITY: f64 = 0.144_337_567_297_406_43;
/// How far the velocity may be from the parabola, of the fastest. It is exact for this viscosity, but for the part that
/// has not come to rest: 2e-11 after `SETTLED`.
const TOLERANCE: f64 = 1e-8;
/// Steps times the viscosity over the square of the channel's width.
const SETTLED: f64 = 2.5;

/// The channel's width.
fn width(n: usize) -> f64 {
    n as f64 - 2.0
}

fn flow(n: usize) -> Flow {
    Flow { force: 8.0 * VISCOSITY * SPEED / width(n).powi(2), ..Flow::of(VISCOSITY) }
}

fn is_wall(n: usize, at: [usize; 2]) -> bool {
    at[0] == 0 || at[0] == n - 1
}

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(1)?;
    let n = settings.shape[0];
    let (rest, builder) = (equilibrium(1.0, 0.0, 0.0), settings.builder(Boundary::Periodic)?);
    let mut fluid = Fluid::new(settings, &acc, &builder, flow(n), |_| rest, |at| is_wall(n, at))?;
    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        fluid.step()?;
        clock.step_drawn(&acc, || drawing(n, &fluid.f))?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.draw(settings.steps, || drawing(n, &fluid.f))?;
    let found = || Ok(fluid.f.read_box(fluid.f.domain())?.concat());
    settings.finish_with(&fluid.f, settings.steps, seconds, found, || flowed(n, settings.steps))?;
    let settled = settings.steps as f64 * VISCOSITY >= SETTLED * width(n).powi(2);
    if !(settings.verify && settled) {
        return Ok(());
    }
    let off = profile(n, &fluid.f)?.iter().map(|[_, found, exact]| (found - exact).abs()).fold(0.0, f64::max);
    at_most(settings, "a velocity this far from the parabola, of the fastest", off, TOLERANCE)
}

/// Across the channel: how far from the first wall, the velocity, and that of the parabola, of the fastest.
fn profile(n: usize, f: &Lattice) -> Result<Vec<[f64; 3]>> {
    let column = f.read_box(GridBox::new([1, 0], [n as i64 - 1, 1]))?;
    let row = |(y, f): (usize, &[f64; 9])| {
        let place = (y as f64 + 0.5) / width(n);
        // A cell holds what it has after the force's push, the middle of which counts.
        [place, (velocity(f)[1] - 0.5 * flow(n).force) / SPEED, 4.0 * place * (1.0 - place)]
    };
    Ok(column.iter().enumerate().map(row).collect())
}

fn drawing(n: usize, f: &Lattice) -> Result<Lines> {
    let profile = profile(n, f)?;
    let exact = (0..=100).map(|n| f64::from(n) / 100.0).map(|place| (place, 4.0 * place * (1.0 - place)));
    let lines = Lines::new().points("the parabola", exact);
    let lines = lines.points("found", profile.iter().map(|[place, found, _]| (*place, *found)));
    Ok(lines.axes("place between the walls", "velocity"))
}

/// The populations of all cells after the steps of plain loops.
fn flowed(n: usize, steps: u64) -> Vec<f64> {
    let plain = Plain::new(n, flow(n), |_| equilibrium(1.0, 0.0, 0.0), |at| is_wall(n, at));
    let flowed = plain.steps(steps, |plain| {
        plain.around();
        plain.over();
    });
    let n = n as i64;
    (0..n * n).flat_map(|cell| flowed.f[flowed.place(cell / n, cell % n)]).collect()
}
