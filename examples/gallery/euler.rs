//! Euler's equations of a gas in two axes: four quadrants of different states that run into one another, in a periodic
//! box.
//!
//! Finite volumes: slopes limited by minmod (MUSCL), fluxes after Harten, Lax and van Leer (HLL), and two stages of
//! Runge and Kutta a step. Fluxes lie on faces, in arrays of their own. The time step follows from the fastest wave,
//! which the kernels capture before it is known, so the host never waits.

use tida::prelude::*;
use tida_plot::Picture;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};

use crate::{Program, euler_plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "euler",
        about: "A gas in four quadrants (MUSCL, HLL, two Runge-Kutta stages)",
        dims: &[2],
        size: [0, 256, 0],
        steps: 200,
        ghost: 2,
        dtypes: &[Dtype::F64],
        boundaries: &[Edge::Periodic],
        library: false,
        look: Look::viridis("density"),
    },
    small: "--size 70 --steps 10",
    input: false,
    run,
};

/// The ratio of specific heats.
pub const GAMMA: f64 = 1.4;
/// The part of a cell that the fastest wave crosses in a step.
pub const CFL: f64 = 0.4;

/// Density, velocity along x and y, and pressure of the quadrant that a cell lies in: four shocks (Lax and Liu 1998,
/// configuration 3).
pub fn quadrant(n: usize, [y, x]: [usize; 2]) -> [f64; 4] {
    match (2 * y >= n, 2 * x >= n) {
        (true, true) => [1.5, 0.0, 0.0, 1.5],
        (true, false) => [0.5323, 1.206, 0.0, 0.3],
        (false, false) => [0.138, 1.206, 1.206, 0.029],
        (false, true) => [0.5323, 0.0, 1.206, 0.3],
    }
}

/// From density, velocity and pressure to what is conserved: density, momentum along x and y, energy.
#[kernel_fn]
pub fn conserved(w: [f64; 4], gamma: f64) -> [f64; 4] {
    let [rho, u, v, pressure] = w;
    [rho, rho * u, rho * v, pressure / (gamma - 1.0) + 0.5 * rho * (u * u + v * v)]
}

/// The way back.
#[kernel_fn]
pub fn primitive(c: [f64; 4], gamma: f64) -> [f64; 4] {
    let [rho, mx, my, energy] = c;
    [rho, mx / rho, my / rho, (gamma - 1.0) * (energy - 0.5 * (mx * mx + my * my) / rho)]
}

/// The speed of sound.
#[kernel_fn]
fn sound(w: [f64; 4], gamma: f64) -> f64 {
    (gamma * w[3] / w[0]).sqrt()
}

/// The lesser of two slopes, 0 where they differ in sign.
#[kernel_fn]
fn minmod(a: f64, b: f64) -> f64 {
    if a * b <= 0.0 {
        0.0
    } else if a.abs() < b.abs() {
        a
    } else {
        b
    }
}

/// What flows with the first velocity.
#[kernel_fn]
fn flow(w: [f64; 4], gamma: f64) -> [f64; 4] {
    let c = conserved(w, gamma);
    let u = w[1];
    [c[1], c[1] * u + w[3], c[2] * u, (c[3] + w[3]) * u]
}

/// The flux through a face from the states of the four cells beside it; their first velocity goes through it.
#[kernel_fn]
pub fn hll(far_left: [f64; 4], left: [f64; 4], right: [f64; 4], far_right: [f64; 4], gamma: f64) -> [f64; 4] {
    let mut l = left;
    let mut r = right;
    for k in 0..4 {
        l[k] += 0.5 * minmod(left[k] - far_left[k], right[k] - left[k]);
        r[k] -= 0.5 * minmod(right[k] - left[k], far_right[k] - right[k]);
    }
    let slowest = (l[1] - sound(l, gamma)).min(r[1] - sound(r, gamma)).min(0.0);
    let fastest = (l[1] + sound(l, gamma)).max(r[1] + sound(r, gamma)).max(0.0);
    let (cl, cr, fl, fr) = (conserved(l, gamma), conserved(r, gamma), flow(l, gamma), flow(r, gamma));
    let mut flux = [0.0; 4];
    for k in 0..4 {
        flux[k] = (fastest * fl[k] - slowest * fr[k] + slowest * fastest * (cr[k] - cl[k])) / (fastest - slowest);
    }
    flux
}

/// With the other velocity first.
#[kernel_fn]
fn turned(w: [f64; 4]) -> [f64; 4] {
    [w[0], w[2], w[1], w[3]]
}

type Cells = TileArray<[f64; 4], 2>;

/// Fills the fluxes of all faces from a gas.
fn flow_through(gas: &mut Cells, fx: &mut Cells, fy: &mut Cells, tile_size: [usize; 2]) -> Result<()> {
    gas.fill_ghosts()?;
    for tile in TileIter::new(fx).tile_size(tile_size) {
        compute(
            &tile,
            (&mut *fx, &*gas),
            kernel!(|fx, gas, at| {
                let (a, b) = (primitive(gas[at - [0, 2]], GAMMA), primitive(gas[at - [0, 1]], GAMMA));
                let (c, d) = (primitive(gas[at], GAMMA), primitive(gas[at + [0, 1]], GAMMA));
                fx[at] = hll(a, b, c, d, GAMMA);
            }),
        )?;
    }
    for tile in TileIter::new(fy).tile_size(tile_size) {
        compute(
            &tile,
            (&mut *fy, &*gas),
            kernel!(|fy, gas, at| {
                let (a, b) = (primitive(gas[at - [2, 0]], GAMMA), primitive(gas[at - [1, 0]], GAMMA));
                let (c, d) = (primitive(gas[at], GAMMA), primitive(gas[at + [1, 0]], GAMMA));
                fy[at] = turned(hll(turned(a), turned(b), turned(c), turned(d), GAMMA));
            }),
        )?;
    }
    fill_ghosts((fx, fy))?;
    Ok(())
}

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(7)?;
    let n = settings.shape[0];
    let mut gas = settings.array::<[f64; 4], 2>(&acc, Boundary::Periodic)?;
    let mut half = gas.like()?;
    let mut fx = settings.centred::<[f64; 4], 2>(&acc, [Centering::Cell, Centering::Face])?;
    let mut fy = settings.centred::<[f64; 4], 2>(&acc, [Centering::Face, Centering::Cell])?;
    gas.fill(|at| conserved(quadrant(n, at), GAMMA))?;
    let before = sums(&gas)?;
    let tile_size = settings.tile()?;

    let mut speeds = Vec::new();
    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        let fastest = reduce_later(
            &gas,
            Max,
            kernel!(|gas, at| {
                let w = primitive(gas[at], GAMMA);
                sound(w, GAMMA) + w[1].abs().max(w[2].abs())
            }),
        )?;
        flow_through(&mut gas, &mut fx, &mut fy, tile_size)?;
        for tile in TileIter::new(&half).tile_size(tile_size) {
            compute(
                &tile,
                (&mut half, &gas, &fx, &fy),
                kernel!(|half, gas, fx, fy, at| {
                    // The time step over the width of a cell.
                    let ratio = CFL / fastest;
                    let (west, east, south, north) = (fx[at], fx[at + [0, 1]], fy[at], fy[at + [1, 0]]);
                    let mut c = gas[at];
                    for k in 0..4 {
                        c[k] -= ratio * ((east[k] - west[k]) + (north[k] - south[k]));
                    }
                    half[at] = c;
                }),
            )?;
        }
        flow_through(&mut half, &mut fx, &mut fy, tile_size)?;
        for tile in TileIter::new(&gas).tile_size(tile_size) {
            compute(
                &tile,
                (&mut gas, &half, &fx, &fy),
                kernel!(|gas, half, fx, fy, at| {
                    let ratio = CFL / fastest;
                    let (west, east, south, north) = (fx[at], fx[at + [0, 1]], fy[at], fy[at + [1, 0]]);
                    let (mut c, other) = (gas[at], half[at]);
                    for k in 0..4 {
                        c[k] = 0.5 * (c[k] + (other[k] - ratio * ((east[k] - west[k]) + (north[k] - south[k]))));
                    }
                    gas[at] = c;
                }),
            )?;
        }
        speeds.push(fastest);
        clock.step_drawn(&acc, || density(settings, &gas))?;
    }
    let speeds: Vec<f64> = speeds.iter().map(Scalar::get).collect::<tida::Result<_>>()?;
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.draw(settings.steps, || density(settings, &gas))?;
    let found = || Ok(gas.read_box(gas.domain())?.concat());
    settings.finish_with(&gas, settings.steps, seconds, found, || euler_plain::flowed(n, settings.steps))?;
    if settings.verify { balanced(settings, &gas, before, &speeds) } else { Ok(()) }
}

/// A picture of the density; y goes up.
fn density(settings: &Settings, gas: &Cells) -> Result<Picture> {
    Ok(settings.map(Picture::middle_by(gas, |c| c[0])?).upwards())
}

/// The sums of what is conserved.
fn sums(gas: &Cells) -> Result<[f64; 4]> {
    Ok([
        reduce(gas, Sum, kernel!(|gas, at| gas[at][0]))?,
        reduce(gas, Sum, kernel!(|gas, at| gas[at][1]))?,
        reduce(gas, Sum, kernel!(|gas, at| gas[at][2]))?,
        reduce(gas, Sum, kernel!(|gas, at| gas[at][3]))?,
    ])
}

/// Whether nothing was lost, and x and y are alike: the quadrants are.
fn balanced(settings: &Settings, gas: &Cells, before: [f64; 4], speeds: &[f64]) -> Result<()> {
    let after = sums(gas)?;
    let drift = before.iter().zip(after).map(|(b, a)| (a / b - 1.0).abs()).fold(0.0, f64::max);
    let cells = gas.read_box(gas.domain())?;
    let n = settings.shape[0];
    let alike = (0..n * n).all(|cell| {
        let (a, b) = (cells[cell], cells[cell % n * n + cell / n]);
        a == turned(b)
    });
    let pressure = cells.iter().map(|c| primitive(*c, GAMMA)[3]).fold(f64::INFINITY, f64::min);
    if settings.tells() {
        let time: f64 = speeds.iter().map(|speed| CFL / speed / n as f64).sum();
        println!(
            "  at time {time:.4}: mass, momentum and energy drifted by {drift:.1e}, the least pressure is {pressure:.4}"
        );
    }
    let wrong = |found: String, should: &str| {
        Err(format!("tried to verify euler; found {found}; it should be {should}").into())
    };
    if drift.is_nan() || drift > 1e-12 {
        return wrong(format!("sums that drifted by {drift:e}"), "1e-12 at most");
    }
    if pressure.is_nan() || pressure <= 0.0 {
        return wrong(format!("a pressure of {pressure:e}"), "above 0");
    }
    if !alike {
        return wrong("a gas that is not the same along x and y".into(), "the same bits");
    }
    Ok(())
}
