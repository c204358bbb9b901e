//! Flow past a cylinder at Reynolds number 100, by lattice Boltzmann: vortices part from it in turn, and how often is
//! known.
//!
//! The cylinder is a mask. Fluid flows in on the left and out on the right; above and below the domain begins anew. The
//! velocity across the flow at a place behind the cylinder is read while the program runs, by boxes that come later.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};

use crate::lattice::{Flow, Fluid, equilibrium, velocity};
use crate::lattice_plain::Plain;
use crate::{Program, at_most};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "cylinder",
        about: "Lattice Boltzmann (D2Q9): vortices behind a cylinder",
        dims: &[2],
        size: [0, 320, 0],
        steps: 200,
        ghost: 1,
        dtypes: &[Dtype::F64],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("speed"),
    },
    small: "--size 96 --steps 16",
    input: false,
    run,
};

/// Cells that the fluid moves in a step where it flows in.
const SPEED: f64 = 0.1;
/// Speed times the cylinder's diameter over the viscosity.
const REYNOLDS: f64 = 100.0;
/// Vortices of one side in the time in which the fluid goes one diameter, at this Reynolds number: 0.164 (Williamson,
/// J. Fluid Mech. 206, 1989).
const STROUHAL: f64 = 0.164;
/// How far from it what is found may be, of it. The cylinders above and below are 32 diameters away, which makes the
/// flow beside it 3 % faster, and its edge is a staircase of some ten cells across.
const TOLERANCE: f64 = 0.05;
/// Diameters that the fluid goes until the vortices are regular, and that are measured after that.
const STARTING: f64 = 60.0;
const MEASURED: f64 = 60.0;
/// Steps from one look at the velocity to the next.
const EVERY: u64 = 8;

/// The cylinder's diameter.
fn diameter(n: usize) -> f64 {
    n as f64 / 32.0
}

fn flow(n: usize) -> Flow {
    Flow::of(SPEED * diameter(n) / REYNOLDS)
}

/// Diameters behind the cylinder's middle, and beside it.
fn from_cylinder(n: usize, [y, x]: [usize; 2]) -> [f64; 2] {
    let n = n as f64;
    [y as f64 + 0.5 - 0.5 * n, x as f64 + 0.5 - 0.25 * n].map(|cells| cells / (n / 32.0))
}

fn is_solid(n: usize, at: [usize; 2]) -> bool {
    let [y, x] = from_cylinder(n, at);
    y.hypot(x) < 0.5
}

/// Fluid that flows everywhere as it does where it comes in, but for a gust across the wake, which starts the vortices.
fn start(n: usize, at: [usize; 2]) -> [f64; 9] {
    let [y, x] = from_cylinder(n, at);
    let gust = 1.0 - (y * y + (x - 2.0) * (x - 2.0));
    equilibrium(1.0, if gust > 0.0 { 0.3 * SPEED * gust } else { 0.0 }, SPEED)
}

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(1)?;
    let n = settings.shape[0];
    let inflow = equilibrium(1.0, 0.0, SPEED);
    let builder = settings.builder(Boundary::Periodic)?.boundary_face(1, Side::Low, Boundary::Fixed(inflow));
    let builder = builder.boundary_face(1, Side::High, Boundary::Extrapolate(0));
    let mut fluid = Fluid::new(settings, &acc, &builder, flow(n), |at| start(n, at), |at| is_solid(n, at))?;
    // Three diameters behind the cylinder.
    let [y, x] = [n as i64 / 2, (n / 4) as i64 + (3.0 * diameter(n)) as i64];
    let place = GridBox::new([y, x], [y + 1, x + 1]);

    let mut looks = Vec::new();
    let mut clock = settings.clock()?;
    for step in 0..settings.steps {
        fluid.step()?;
        if step % EVERY == 0 {
            looks.push(fluid.f.read_box_later(place)?);
        }
        clock.step_drawn(&acc, || settings.drawing(&fluid.speed(settings)?))?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.draw(settings.steps, || settings.drawing(&fluid.speed(settings)?))?;
    let found = || {
        let speed = fluid.speed(settings)?;
        Ok(speed.read_box(speed.domain())?)
    };
    settings.finish_with(&fluid.f, settings.steps, seconds, found, || speeds(n, settings.steps))?;
    let passed = settings.steps as f64 * SPEED / diameter(n);
    if !settings.verify || passed < STARTING + MEASURED {
        return Ok(());
    }
    let across = looks.iter().map(|look| Ok(velocity(&look.get()?[0])[0])).collect::<tida::Result<Vec<f64>>>()?;
    let skipped = (across.len() as f64 * STARTING / passed) as usize;
    let period = period(&across[skipped..]).ok_or("tried to verify cylinder; found no vortices; they should part")?;
    let strouhal = diameter(n) / (SPEED * period * EVERY as f64);
    let (low, high) = (n as i64 / 4, 3 * n as i64 / 4);
    let drag = 2.0 * fluid.drag(GridBox::new([low, 1], [high, high]))? / (SPEED * SPEED * diameter(n));
    if settings.tells() {
        println!("  Strouhal number {strouhal:.4}, drag coefficient at the end {drag:.3}");
    }
    at_most(settings, "a Strouhal number this far from 0.164, of it", (strouhal / STROUHAL - 1.0).abs(), TOLERANCE)
}

/// From one rise through the mean to the next, on average.
fn period(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let rises: Vec<f64> = (1..values.len())
        .filter(|&n| values[n - 1] < mean && values[n] >= mean)
        .map(|n| n as f64 - (values[n] - mean) / (values[n] - values[n - 1]))
        .collect();
    let (first, last) = (rises.first()?, rises.last()?);
    (rises.len() > 2).then(|| (last - first) / (rises.len() - 1) as f64)
}

/// How fast the fluid is in each cell after some steps of plain loops.
fn speeds(n: usize, steps: u64) -> Vec<f64> {
    let plain = Plain::new(n, flow(n), |at| start(n, at), |at| is_solid(n, at));
    let flowed = plain.steps(steps, |plain| {
        plain.through(equilibrium(1.0, 0.0, SPEED));
        plain.over();
    });
    flowed.speeds()
}
