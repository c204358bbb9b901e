//! Elastic waves from a source in the ground, by velocity and stress on a staggered grid: SAFARA §IV, Fig. 8 and Table
//! I (SPEC ACCEL's 355.seismic, after Collino's layers that swallow waves).
//!
//! To be damped along one axis alone, each field is kept in parts, one for each derivative that drives it; a field is
//! the sum of its parts. Velocities sit on faces and shear stresses on edges, which the centring of the arrays says.
//! Seven kernels make a step, as the seven hottest of the paper. The outer faces stand still.

use tida::prelude::*;
use tida_plot::Picture;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};

use crate::{Program, seismic_plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "seismic",
        about: "Elastic waves in a block of ground with absorbing layers",
        dims: &[3],
        size: [0, 0, 64],
        steps: 40,
        ghost: 1,
        dtypes: &[Dtype::F32],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::around(0.0, "velocity along x").range(-0.01, 0.01),
    },
    small: "--size 22 --steps 6",
    input: false,
    run,
};

/// Lamé's constants, over the density.
pub const LAMBDA: f32 = 1.2;
pub const MU: f32 = 0.8;
/// Width of a cell, and steps in a unit of time.
pub const WIDTH: f32 = 1.5;
pub const RATE: f32 = 2.5;

/// How strongly waves are damped at `at` cells from the low end of an axis of `n` cells: grows inwards of the ends.
pub fn damping(at: f64, n: usize) -> f32 {
    let layer = 8.0f64.min(n as f64 / 4.0);
    let depth = (layer - at).max(at - (n as f64 - layer)).max(0.0);
    (1.5 * (depth / layer).powi(2)) as f32
}

/// The force of the source in a step: Ricker's wavelet, cut off, as a polynomial.
pub fn source(step: u64) -> f32 {
    let t = (step as f64 - 8.0) / 8.0;
    if t.abs() < 1.0 { ((1.0 - 6.0 * t * t) * (1.0 - t * t).powi(2)) as f32 } else { 0.0 }
}

/// The derivative of a field in three parts, as in Fig. 8.
#[kernel_fn]
fn slope(high: [f32; 3], low: [f32; 3], width: f32) -> f32 {
    (high[0] - low[0]) / width + (high[1] - low[1]) / width + (high[2] - low[2]) / width
}

/// The derivative of a field in two parts.
#[kernel_fn]
fn slope_of_shear(high: [f32; 2], low: [f32; 2], width: f32) -> f32 {
    (high[0] - low[0]) / width + (high[1] - low[1]) / width
}

/// A part after a step, driven by `force` and damped.
#[kernel_fn]
fn driven(part: f32, force: f32, damping: f32, rate: f32) -> f32 {
    (part * (rate - 0.5 * damping) + force) / (rate + 0.5 * damping)
}

fn run(settings: &Settings) -> Result<()> {
    use Centering::{Cell, Face};
    let acc = settings.accelerator(17)?;
    let n = settings.shape[0];
    let mut vz = settings.centred::<[f32; 3], 3>(&acc, [Face, Cell, Cell])?;
    let mut vy = settings.centred::<[f32; 3], 3>(&acc, [Cell, Face, Cell])?;
    let mut vx = settings.centred::<[f32; 3], 3>(&acc, [Cell, Cell, Face])?;
    let mut szz = settings.array::<[f32; 3], 3>(&acc, Boundary::Open)?;
    let (mut syy, mut sxx) = (szz.like()?, szz.like()?);
    let mut syz = settings.centred::<[f32; 2], 3>(&acc, [Face, Face, Cell])?;
    let mut sxz = settings.centred::<[f32; 2], 3>(&acc, [Face, Cell, Face])?;
    let mut sxy = settings.centred::<[f32; 2], 3>(&acc, [Cell, Face, Face])?;
    let profile = |offset: f64| (0..=n).map(|i| damping(i as f64 + offset, n)).collect::<Vec<f32>>();
    let (on_cells, on_faces) = (table(&profile(0.5)), table(&profile(0.0)));
    let tile_size = settings.tile()?;

    let (lambda, mu, both, width, rate) = (LAMBDA, MU, LAMBDA + 2.0 * MU, WIDTH, RATE);
    let last = n as i64;
    let middle = last / 2;
    let mut clock = settings.clock()?;
    for step in 0..settings.steps {
        fill_ghosts((&mut vz, &mut vy, &mut vx))?;
        for tile in TileIter::new(&szz).tile_size(tile_size) {
            compute(
                &tile,
                (&mut szz, &mut syy, &mut sxx, &vz, &vy, &vx, on_cells.clone()),
                kernel!(|szz, syy, sxx, vz, vy, vx, d, at| {
                    let dz = slope(vz[at + [1, 0, 0]], vz[at], width);
                    let dy = slope(vy[at + [0, 1, 0]], vy[at], width);
                    let dx = slope(vx[at + [0, 0, 1]], vx[at], width);
                    let (damp_z, damp_y, damp_x) = (d[at[0] as usize], d[at[1] as usize], d[at[2] as usize]);
                    let (z, y, x) = (szz[at], syy[at], sxx[at]);
                    szz[at] = [
                        driven(z[0], both * dz, damp_z, rate),
                        driven(z[1], lambda * dy, damp_y, rate),
                        driven(z[2], lambda * dx, damp_x, rate),
                    ];
                    syy[at] = [
                        driven(y[0], lambda * dz, damp_z, rate),
                        driven(y[1], both * dy, damp_y, rate),
                        driven(y[2], lambda * dx, damp_x, rate),
                    ];
                    sxx[at] = [
                        driven(x[0], lambda * dz, damp_z, rate),
                        driven(x[1], lambda * dy, damp_y, rate),
                        driven(x[2], both * dx, damp_x, rate),
                    ];
                }),
            )?;
        }
        for tile in TileIter::new(&syz).within([1, 1, 0], [last; 3]).tile_size(tile_size) {
            compute(
                &tile,
                (&mut syz, &vy, &vz, on_faces.clone()),
                kernel!(|s, vy, vz, d, at| {
                    let (dz, dy) = (slope(vy[at], vy[at - [1, 0, 0]], width), slope(vz[at], vz[at - [0, 1, 0]], width));
                    let (damp_z, damp_y) = (d[at[0] as usize], d[at[1] as usize]);
                    s[at] = [driven(s[at][0], mu * dz, damp_z, rate), driven(s[at][1], mu * dy, damp_y, rate)];
                }),
            )?;
        }
        for tile in TileIter::new(&sxz).within([1, 0, 1], [last; 3]).tile_size(tile_size) {
            compute(
                &tile,
                (&mut sxz, &vx, &vz, on_faces.clone()),
                kernel!(|s, vx, vz, d, at| {
                    let (dz, dx) = (slope(vx[at], vx[at - [1, 0, 0]], width), slope(vz[at], vz[at - [0, 0, 1]], width));
                    let (damp_z, damp_x) = (d[at[0] as usize], d[at[2] as usize]);
                    s[at] = [driven(s[at][0], mu * dz, damp_z, rate), driven(s[at][1], mu * dx, damp_x, rate)];
                }),
            )?;
        }
        for tile in TileIter::new(&sxy).within([0, 1, 1], [last; 3]).tile_size(tile_size) {
            compute(
                &tile,
                (&mut sxy, &vx, &vy, on_faces.clone()),
                kernel!(|s, vx, vy, d, at| {
                    let (dy, dx) = (slope(vx[at], vx[at - [0, 1, 0]], width), slope(vy[at], vy[at - [0, 0, 1]], width));
                    let (damp_y, damp_x) = (d[at[1] as usize], d[at[2] as usize]);
                    s[at] = [driven(s[at][0], mu * dy, damp_y, rate), driven(s[at][1], mu * dx, damp_x, rate)];
                }),
            )?;
        }
        fill_ghosts((&mut szz, &mut syy, &mut sxx, &mut syz, &mut sxz, &mut sxy))?;
        for tile in TileIter::new(&vz).within([1, 0, 0], [last; 3]).tile_size(tile_size) {
            compute(
                &tile,
                (&mut vz, &szz, &syz, &sxz, on_cells.clone(), on_faces.clone()),
                kernel!(|vz, szz, syz, sxz, cell, face, at| {
                    let v = vz[at];
                    let dz = slope(szz[at], szz[at - [1, 0, 0]], width);
                    let dy = slope_of_shear(syz[at + [0, 1, 0]], syz[at], width);
                    let dx = slope_of_shear(sxz[at + [0, 0, 1]], sxz[at], width);
                    vz[at] = [
                        driven(v[0], dz, face[at[0] as usize], rate),
                        driven(v[1], dy, cell[at[1] as usize], rate),
                        driven(v[2], dx, cell[at[2] as usize], rate),
                    ];
                }),
            )?;
        }
        for tile in TileIter::new(&vy).within([0, 1, 0], [last; 3]).tile_size(tile_size) {
            compute(
                &tile,
                (&mut vy, &syz, &syy, &sxy, on_cells.clone(), on_faces.clone()),
                kernel!(|vy, syz, syy, sxy, cell, face, at| {
                    let v = vy[at];
                    let dz = slope_of_shear(syz[at + [1, 0, 0]], syz[at], width);
                    let dy = slope(syy[at], syy[at - [0, 1, 0]], width);
                    let dx = slope_of_shear(sxy[at + [0, 0, 1]], sxy[at], width);
                    vy[at] = [
                        driven(v[0], dz, cell[at[0] as usize], rate),
                        driven(v[1], dy, face[at[1] as usize], rate),
                        driven(v[2], dx, cell[at[2] as usize], rate),
                    ];
                }),
            )?;
        }
        for tile in TileIter::new(&vx).within([0, 0, 1], [last; 3]).tile_size(tile_size) {
            compute(
                &tile,
                (&mut vx, &sxz, &sxy, &sxx, on_cells.clone(), on_faces.clone()),
                kernel!(|vx, sxz, sxy, sxx, cell, face, at| {
                    let v = vx[at];
                    let dz = slope_of_shear(sxz[at + [1, 0, 0]], sxz[at], width);
                    let dy = slope_of_shear(sxy[at + [0, 1, 0]], sxy[at], width);
                    let dx = slope(sxx[at], sxx[at - [0, 0, 1]], width);
                    vx[at] = [
                        driven(v[0], dz, cell[at[0] as usize], rate),
                        driven(v[1], dy, cell[at[1] as usize], rate),
                        driven(v[2], dx, face[at[2] as usize], rate),
                    ];
                }),
            )?;
        }
        let force = source(step) / RATE;
        for tile in TileIter::new(&vx).within([middle; 3], [middle + 1; 3]) {
            compute(&tile, &mut vx, kernel!(|vx, at| vx[at][2] += force))?;
        }
        clock.step_drawn(&acc, || shaken(settings, &vx))?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.draw(settings.steps, || shaken(settings, &vx))?;
    let found = || {
        let parts = [vz.read_box(vz.domain())?, vy.read_box(vy.domain())?, vx.read_box(vx.domain())?];
        Ok(parts.into_iter().flatten().flatten().collect())
    };
    settings.finish_with(&vx, settings.steps, seconds, found, || seismic_plain::waves(n, settings.steps))
}

/// How fast the ground moves along x, in the plane of the source: a field is the sum of its parts.
fn shaken(settings: &Settings, vx: &TileArray<[f32; 3], 3>) -> Result<Picture> {
    let picture = Picture::slice_by(vx, 1, settings.shape[1] / 2, |v| (v[0] + v[1] + v[2]).into())?;
    Ok(settings.map(picture).axes("z", "x"))
}
