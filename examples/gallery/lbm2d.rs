//! The lattice Boltzmann method in two axes with nine velocities (D2Q9): a channel with a round obstacle in its way.
//!
//! Fluid flows in on the left at a fixed velocity and out on the right. The walls are the first and the last row. What
//! flows into them or into the obstacle comes back the way it came, a step later.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};

use crate::Program;
use crate::lattice::{CX, CY, Flow, Fluid, Lattice, equilibrium};
use crate::lattice_plain::Plain;

pub const PROGRAM: Program = Program {
    example: Example {
        name: "lbm2d",
        about: "Lattice Boltzmann (D2Q9): flow through a channel past an obstacle",
        dims: &[2],
        size: [0, 256, 0],
        steps: 400,
        ghost: 1,
        dtypes: &[Dtype::F64],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("speed"),
    },
    small: "--size 32 --steps 320",
    input: false,
    run,
};

/// Cells that the fluid moves in a step where it flows in.
const SPEED: f64 = 0.1;
/// Speed times the obstacle's width over the viscosity.
const REYNOLDS: f64 = 100.0;

/// Whether a cell is in the obstacle, a disc a little above the channel's middle, so that vortices part from it sooner.
fn is_obstacle(n: usize, [y, x]: [usize; 2]) -> bool {
    let n = n as f64;
    (y as f64 + 0.5 - 0.52 * n).hypot(x as f64 + 0.5 - 0.25 * n) < n / 16.0
}

/// Whether a cell is in the obstacle or a wall.
fn is_solid(n: usize, at: [usize; 2]) -> bool {
    at[0] == 0 || at[0] == n - 1 || is_obstacle(n, at)
}

/// The fluid's viscosity as a flow.
fn flow(n: usize) -> Flow {
    Flow::of(SPEED * (n as f64 / 8.0) / REYNOLDS)
}

/// Fluid that flows everywhere as it does where it comes in.
fn start(settings: &Settings, acc: &TileAcc) -> Result<Fluid> {
    let n = settings.shape[0];
    let inflow = equilibrium(1.0, 0.0, SPEED);
    // Beyond the walls is the other wall: no fluid gets there.
    let builder = settings.builder(Boundary::Periodic)?.boundary_face(1, Side::Low, Boundary::Fixed(inflow));
    let builder = builder.boundary_face(1, Side::High, Boundary::Extrapolate(0));
    Fluid::new(settings, acc, &builder, flow(n), |_| inflow, |at| is_solid(n, at))
}

/// The mass of all cells.
fn mass(f: &Lattice) -> Result<f64> {
    Ok(reduce(
        f,
        Sum,
        kernel!(|f, at| {
            let mut rho = 0.0;
            for q in 0..9 {
                rho += f[at][q];
            }
            rho
        }),
    )?)
}

/// The mass that the next step takes in through column `x`, from the column beside it that lies outside, `out` cells
/// away.
fn taken_in(f: &mut Lattice, x: i64, out: i64) -> Result<f64> {
    f.fill_ghosts()?;
    let rows = f.shape()[0] as i64;
    Ok(reduce_over(
        GridBox::new([0, x], [rows, x + 1]),
        &*f,
        Sum,
        kernel!(|f, at| {
            let mut sum = 0.0;
            for q in 0..9 {
                if CX[q] == -out {
                    sum += f[at - [CY[q], CX[q]]][q];
                }
                if CX[q] == out {
                    sum -= f[at][q];
                }
            }
            sum
        }),
    )?)
}

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(1)?;
    let mut fluid = start(settings, &acc)?;
    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        fluid.step()?;
        clock.step_drawn(&acc, || settings.drawing(&fluid.speed(settings)?))?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    let n = settings.shape[0];
    settings.draw(settings.steps, || settings.drawing(&fluid.speed(settings)?))?;
    let found = || {
        let speed = fluid.speed(settings)?;
        Ok(speed.read_box(speed.domain())?)
    };
    settings.finish_with(&fluid.f, settings.steps, seconds, found, || speeds(n, settings.steps))?;
    if settings.verify { balanced(settings, &mut fluid) } else { Ok(()) }
}

/// Whether one more step changes the mass by what flows in and out, and what the obstacle feels.
fn balanced(settings: &Settings, fluid: &mut Fluid) -> Result<()> {
    let n = settings.shape[0];
    let before = mass(&fluid.f)?;
    let flow = taken_in(&mut fluid.f, 0, -1)? + taken_in(&mut fluid.f, n as i64 - 1, 1)?;
    fluid.step()?;
    // A box around the obstacle that leaves the walls out.
    let (low, high) = (n as i64 / 4, n as i64 - 1);
    let (after, drag) = (mass(&fluid.f)?, fluid.drag(GridBox::new([low, 1], [3 * low, high]))?);
    let off = ((after - before - flow) / before).abs();
    if settings.tells() {
        let width = n as f64 / 8.0;
        println!("  the obstacle's drag coefficient is {:.3}", 2.0 * drag / (SPEED * SPEED * width));
    }
    if off.is_nan() || off > 1e-12 {
        let found = format!("a step that loses {off:e} of the mass beside what flows in and out");
        return Err(format!("tried to verify lbm2d; found {found}; it should be 1e-12 at most").into());
    }
    // At first there are waves of pressure between the ends of the channel.
    let settled = settings.steps as usize >= 10 * n;
    if settled && (drag.is_nan() || drag <= 0.0) {
        let found = format!("a force of {drag:e} on the obstacle");
        return Err(format!("tried to verify lbm2d; found {found}; it should go along with the flow").into());
    }
    Ok(())
}

/// How fast the fluid is in each cell after some steps of plain loops.
fn speeds(n: usize, steps: u64) -> Vec<f64> {
    let inflow = equilibrium(1.0, 0.0, SPEED);
    let plain = Plain::new(n, flow(n), |_| inflow, |at| is_solid(n, at));
    let flowed = plain.steps(steps, |plain| {
        plain.through(inflow);
        plain.over();
    });
    flowed.speeds()
}
