//! Sod's shock tube: a membrane between gas of high and of low pressure bursts. A fan of rarefaction runs left, a
//! contact and a shock run right, and the exact solution is known.
//!
//! The fluxes are those of `euler` along one axis. A step is 0.2 of a cell's width, so the time is 0.2 of the tube's
//! length after as many steps as there are cells.

use tida::prelude::*;
use tida_plot::Lines;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};

use crate::euler::{GAMMA, conserved, hll, primitive};
use crate::{Program, at_most, euler_plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "sod",
        about: "Sod's shock tube (MUSCL, HLL, two Runge-Kutta stages)",
        dims: &[1],
        size: [400, 0, 0],
        steps: 400,
        ghost: 2,
        dtypes: &[Dtype::F64],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("density"),
    },
    small: "--size 200 --steps 200",
    input: false,
    run,
};

/// The time step over the width of a cell. The fastest wave has speed 2.2.
const RATIO: f64 = 0.2;
/// Density, velocity along and across, and pressure on both sides at first (Sod, J. Comput. Phys. 27, 1978).
const LEFT: [f64; 4] = [1.0, 0.0, 0.0, 1.0];
const RIGHT: [f64; 4] = [0.125, 0.0, 0.0, 0.1];
/// Between the fan and the shock: pressure, velocity, and the density left and right of the contact (Toro, Riemann
/// Solvers and Numerical Methods for Fluid Dynamics, table 4.3, test 1).
const PRESSURE: f64 = 0.30313;
const VELOCITY: f64 = 0.92745;
const DENSITY: [f64; 2] = [0.42632, 0.26557];
/// How far the density may be from the exact solution, on average over the tube, with 200 cells or more. A contact that
/// is spread over ten cells of 200, of a step of 0.16, has 0.002 of it.
const TOLERANCE: f64 = 0.01;
/// Number of cells from which on that holds.
const ENOUGH: usize = 200;
/// The shock reaches the tube's end after that time.
const LATEST: f64 = 0.25;

fn start(n: usize, x: usize) -> [f64; 4] {
    if 2 * x < n { LEFT } else { RIGHT }
}

/// The exact density at a speed: a place from the membrane over the time.
fn density(speed: f64) -> f64 {
    let sound = GAMMA.sqrt();
    let tail = VELOCITY - (GAMMA * PRESSURE / DENSITY[0]).sqrt();
    let shock = DENSITY[1] * VELOCITY / (DENSITY[1] - RIGHT[0]);
    if speed < -sound {
        LEFT[0]
    } else if speed < tail {
        let velocity = 2.0 / (GAMMA + 1.0) * (sound + speed);
        (1.0 - 0.5 * (GAMMA - 1.0) * velocity / sound).powf(2.0 / (GAMMA - 1.0))
    } else if speed < VELOCITY {
        DENSITY[0]
    } else if speed < shock {
        DENSITY[1]
    } else {
        RIGHT[0]
    }
}

type Cells = TileArray<[f64; 4], 1>;

/// Fills the fluxes of all faces from a gas.
fn flow_through(gas: &mut Cells, flux: &mut Cells, tile_size: [usize; 1]) -> Result<()> {
    gas.fill_ghosts()?;
    for tile in TileIter::new(flux).tile_size(tile_size) {
        compute(
            &tile,
            (&mut *flux, &*gas),
            kernel!(|flux, gas, at| {
                let (a, b) = (primitive(gas[at - [2]], GAMMA), primitive(gas[at - [1]], GAMMA));
                let (c, d) = (primitive(gas[at], GAMMA), primitive(gas[at + [1]], GAMMA));
                flux[at] = hll(a, b, c, d, GAMMA);
            }),
        )?;
    }
    flux.fill_ghosts()?;
    Ok(())
}

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(4)?;
    let n = settings.shape[0];
    let mut gas = settings.array::<[f64; 4], 1>(&acc, Boundary::Extrapolate(0))?;
    gas.fill(|[x]| conserved(start(n, x), GAMMA))?;
    let mut half = gas.like()?;
    let mut flux = settings.centred::<[f64; 4], 1>(&acc, [Centering::Face])?;
    let tile_size = settings.tile()?;
    let mut clock = settings.clock()?;
    for step in 1..=settings.steps {
        flow_through(&mut gas, &mut flux, tile_size)?;
        for tile in TileIter::new(&half).tile_size(tile_size) {
            compute(
                &tile,
                (&mut half, &gas, &flux),
                kernel!(|half, gas, flux, at| {
                    let (west, east, mut c) = (flux[at], flux[at + [1]], gas[at]);
                    for k in 0..4 {
                        c[k] -= RATIO * (east[k] - west[k]);
                    }
                    half[at] = c;
                }),
            )?;
        }
        flow_through(&mut half, &mut flux, tile_size)?;
        for tile in TileIter::new(&gas).tile_size(tile_size) {
            compute(
                &tile,
                (&mut gas, &half, &flux),
                kernel!(|gas, half, flux, at| {
                    let (west, east, mut c, other) = (flux[at], flux[at + [1]], gas[at], half[at]);
                    for k in 0..4 {
                        c[k] = 0.5 * (c[k] + (other[k] - RATIO * (east[k] - west[k])));
                    }
                    gas[at] = c;
                }),
            )?;
        }
        clock.step_drawn(&acc, || drawing(n, step, &gas))?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.draw(settings.steps, || drawing(n, settings.steps, &gas))?;
    let found = || Ok(gas.read_box(gas.domain())?.concat());
    settings.finish_with(&gas, settings.steps, seconds, found, || flowed(n, settings.steps))?;
    if !settings.verify || n < ENOUGH || time(n, settings.steps) > LATEST {
        return Ok(());
    }
    let off = profile(n, settings.steps, &gas)?.iter().map(|[_, found, exact]| (found - exact).abs()).sum::<f64>();
    at_most(settings, "a density this far from the exact solution, on average", off / n as f64, TOLERANCE)
}

fn time(n: usize, steps: u64) -> f64 {
    RATIO * steps as f64 / n as f64
}

/// Along the tube: the place, the density, and that of the exact solution.
fn profile(n: usize, steps: u64, gas: &Cells) -> Result<Vec<[f64; 3]>> {
    let row = |(x, cell): (usize, &[f64; 4])| {
        let place = (x as f64 + 0.5) / n as f64;
        [place, cell[0], density((place - 0.5) / time(n, steps))]
    };
    Ok(gas.read_box(gas.domain())?.iter().enumerate().map(row).collect())
}

fn drawing(n: usize, steps: u64, gas: &Cells) -> Result<Lines> {
    let profile = profile(n, steps, gas)?;
    let lines = Lines::new().points("exact", profile.iter().map(|[place, _, exact]| (*place, *exact)));
    let lines = lines.points("found", profile.iter().map(|[place, found, _]| (*place, *found)));
    Ok(lines.axes("x", "density"))
}

/// What is conserved in each cell after the steps of plain loops.
fn flowed(n: usize, steps: u64) -> Vec<f64> {
    // With two ghosts at both ends.
    let own = |w: [f64; 4]| [w[0], w[0] * w[1], 0.0, w[3] / (GAMMA - 1.0) + 0.5 * w[0] * (w[1] * w[1])];
    let mut gas: Vec<[f64; 4]> = (0..n + 4).map(|x| own(start(n, x.saturating_sub(2).min(n - 1)))).collect();
    let mut half = gas.clone();
    let fluxes = |gas: &mut Vec<[f64; 4]>| -> Vec<[f64; 4]> {
        (gas[0], gas[1], gas[n + 2], gas[n + 3]) = (gas[2], gas[2], gas[n + 1], gas[n + 1]);
        (2..n + 3).map(|at| euler_plain::flux(gas, at, 1, 1)).collect()
    };
    for _ in 0..steps {
        let flux = fluxes(&mut gas);
        for x in 0..n {
            for k in 0..4 {
                half[x + 2][k] = gas[x + 2][k] - RATIO * (flux[x + 1][k] - flux[x][k]);
            }
        }
        let flux = fluxes(&mut half);
        for x in 0..n {
            for k in 0..4 {
                let other = half[x + 2][k] - RATIO * (flux[x + 1][k] - flux[x][k]);
                gas[x + 2][k] = 0.5 * (gas[x + 2][k] + other);
            }
        }
    }
    gas[2..n + 2].concat()
}
