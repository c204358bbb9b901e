//! Shallow water in a closed basin: a drop falls in, and its waves run to the walls and back.
//!
//! Finite volumes after Lax and Friedrichs, with the faster wave of both sides of a face (Rusanov). A wall is a mirror:
//! beyond it the water is as high and flows the other way, which is all that the boundaries say. The height and the two
//! discharges are arrays of their own, since a wall turns only the discharge through it.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::oracle::{Grid, Outside};

use crate::Program;

pub const PROGRAM: Program = Program {
    example: Example {
        name: "shallow_water",
        about: "A drop in a basin of shallow water between walls",
        dims: &[2],
        size: [0, 512, 0],
        steps: 200,
        ghost: 1,
        dtypes: &[Dtype::F32],
        boundaries: &[Edge::Reflect],
        library: false,
        look: Look::around(1.0, "height"),
    },
    small: "--size 70 --steps 30",
    input: true,
    run,
};

pub const GRAVITY: f32 = 9.81;
/// The time step over the width of a cell. The fastest wave has to stay below a quarter of a cell.
pub const RATIO: f32 = 0.05;
/// How far the volume may drift, of all of it: cells round to `f32`.
const DRIFT: f64 = 1e-5;

/// What flows through a face. A side has its height, and its discharges through the face and along it.
#[kernel_fn]
pub fn through(left: [f32; 3], right: [f32; 3], gravity: f32) -> [f32; 3] {
    let [h, q, t] = left;
    let [k, p, s] = right;
    let (u, v) = (q / h, p / k);
    let wave = (u.abs() + (gravity * h).sqrt()).max(v.abs() + (gravity * k).sqrt());
    [
        0.5 * (q + p - wave * (k - h)),
        0.5 * (q * u + p * v + 0.5 * gravity * (h * h + k * k) - wave * (p - q)),
        0.5 * (t * u + s * v - wave * (s - t)),
    ]
}

/// The height of the water: 1, with a drop above it that does not sit in the middle.
fn drop([y, x]: [f64; 2]) -> f32 {
    let near = 1.0 - ((y - 0.4).hypot(x - 0.3) / 0.15).powi(2);
    (1.0 + if near > 0.0 { near * near } else { 0.0 }) as f32
}

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(1)?;
    let builder = settings.builder::<f32, 2>(Boundary::ReflectEven)?;
    let mut h = builder.build(&acc)?;
    let mut qy = builder.clone().boundary_axis(0, Boundary::ReflectOdd).build(&acc)?;
    let mut qx = builder.clone().boundary_axis(1, Boundary::ReflectOdd).build(&acc)?;
    settings.fill(&mut h, drop)?;
    qy.fill_value(0.0)?;
    qx.fill_value(0.0)?;
    let (mut next_h, mut next_qy, mut next_qx) = (h.like()?, qy.like()?, qx.like()?);
    let start = settings.start(&h)?;
    let tile_size = settings.tile()?;

    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        fill_ghosts((&mut h, &mut qy, &mut qx))?;
        for tile in TileIter::new(&h).tile_size(tile_size) {
            compute(
                &tile,
                (&mut next_h, &mut next_qy, &mut next_qx, &h, &qy, &qx),
                kernel!(|next_h, next_qy, next_qx, h, qy, qx, at| {
                    let (south, north, west, east) = (at - [1, 0], at + [1, 0], at - [0, 1], at + [0, 1]);
                    let from_west = through([h[west], qx[west], qy[west]], [h[at], qx[at], qy[at]], GRAVITY);
                    let to_east = through([h[at], qx[at], qy[at]], [h[east], qx[east], qy[east]], GRAVITY);
                    let from_south = through([h[south], qy[south], qx[south]], [h[at], qy[at], qx[at]], GRAVITY);
                    let to_north = through([h[at], qy[at], qx[at]], [h[north], qy[north], qx[north]], GRAVITY);
                    next_h[at] = h[at] - RATIO * ((to_east[0] - from_west[0]) + (to_north[0] - from_south[0]));
                    next_qx[at] = qx[at] - RATIO * ((to_east[1] - from_west[1]) + (to_north[2] - from_south[2]));
                    next_qy[at] = qy[at] - RATIO * ((to_east[2] - from_west[2]) + (to_north[1] - from_south[1]));
                }),
            )?;
        }
        std::mem::swap(&mut h, &mut next_h);
        std::mem::swap(&mut qy, &mut next_qy);
        std::mem::swap(&mut qx, &mut next_qx);
        clock.step_of(&h)?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&h, settings.steps, seconds, || flowed(&settings.shape, &start, settings.steps))?;
    if settings.verify { conserved(settings, &start, &h, &qy, &qx) } else { Ok(()) }
}

/// Whether the basin has as much water as at first, and no more energy.
fn conserved(
    settings: &Settings,
    start: &[f32],
    h: &TileArray<f32, 2>,
    qy: &TileArray<f32, 2>,
    qx: &TileArray<f32, 2>,
) -> Result<()> {
    let before: f64 = start.iter().map(|h| f64::from(*h)).sum();
    let energy_before: f64 = start.iter().map(|h| 0.5 * f64::from(GRAVITY) * f64::from(*h).powi(2)).sum();
    let after = reduce(h, Sum, kernel!(|h, at| h[at] as f64))?;
    let energy = reduce(
        (h, qy, qx),
        Sum,
        kernel!(|h, qy, qx, at| {
            let (h, y, x) = (h[at] as f64, qy[at] as f64, qx[at] as f64);
            0.5 * (GRAVITY as f64 * h * h + (y * y + x * x) / h)
        }),
    )?;
    let (drift, kept) = ((after / before - 1.0).abs(), energy / energy_before);
    if settings.tells() {
        println!("  the volume drifted by {drift:.1e}, {kept:.4} of the energy is left");
    }
    if drift.is_nan() || drift > DRIFT {
        let found = format!("a volume that drifted by {drift:e}");
        return Err(format!("tried to verify shallow_water; found {found}; it should be {DRIFT:e} at most").into());
    }
    if kept > 1.0 + DRIFT {
        let found = format!("{kept} of the first energy");
        return Err(format!("tried to verify shallow_water; found {found}; it should be 1 at most").into());
    }
    Ok(())
}

/// A field of the plain loops, which stands still beyond the walls, or flows the other way if `turned` names the axis.
fn mirrored(grid: &mut Grid<f32>, turned: Option<usize>) {
    grid.fill_ghosts(Outside::ReflectEven);
    let [_, ny, nx] = grid.shape();
    let (row, first) = (grid.stride(1), grid.position(0, 0, 0));
    match turned {
        Some(0) => {
            for i in 0..nx {
                for ghost in [first - row + i, first + ny * row + i] {
                    grid.data[ghost] = -grid.data[ghost];
                }
            }
        }
        Some(_) => {
            for j in 0..ny {
                for ghost in [first + j * row - 1, first + j * row + nx] {
                    grid.data[ghost] = -grid.data[ghost];
                }
            }
        }
        None => {}
    }
}

/// What flows through a face, from `a` to `b` in the data: the height, and the discharges through the face and along
/// it.
pub fn flux([h, q, t]: [&[f32]; 3], a: usize, b: usize) -> [f32; 3] {
    let (u, v) = (q[a] / h[a], q[b] / h[b]);
    let wave = (u.abs() + (GRAVITY * h[a]).sqrt()).max(v.abs() + (GRAVITY * h[b]).sqrt());
    [
        0.5 * (q[a] + q[b] - wave * (h[b] - h[a])),
        0.5 * (q[a] * u + q[b] * v + 0.5 * GRAVITY * (h[a] * h[a] + h[b] * h[b]) - wave * (q[b] - q[a])),
        0.5 * (t[a] * u + t[b] * v - wave * (t[b] - t[a])),
    ]
}

/// The same by plain loops: the height.
fn flowed(shape: &[usize], start: &[f32], steps: u64) -> Vec<f32> {
    let still = vec![0.0; start.len()];
    let [mut h, mut qy, mut qx] = [start, &still, &still].map(|field| Grid::new(shape, 1, field));
    let (mut next_h, mut next_qy, mut next_qx) = (h.clone(), qy.clone(), qx.clone());
    let ([_, ny, nx], row) = (h.shape(), h.stride(1));
    for _ in 0..steps {
        mirrored(&mut h, None);
        mirrored(&mut qy, Some(0));
        mirrored(&mut qx, Some(1));
        for j in 0..ny {
            for i in 0..nx {
                let at = h.position(0, j, i);
                let (across, along) = ([&h.data[..], &qx.data, &qy.data], [&h.data[..], &qy.data, &qx.data]);
                let (west, east) = (flux(across, at - 1, at), flux(across, at, at + 1));
                let (south, north) = (flux(along, at - row, at), flux(along, at, at + row));
                next_h.data[at] = h.data[at] - RATIO * ((east[0] - west[0]) + (north[0] - south[0]));
                next_qx.data[at] = qx.data[at] - RATIO * ((east[1] - west[1]) + (north[2] - south[2]));
                next_qy.data[at] = qy.data[at] - RATIO * ((east[2] - west[2]) + (north[1] - south[1]));
            }
        }
        std::mem::swap(&mut h, &mut next_h);
        std::mem::swap(&mut qy, &mut next_qy);
        std::mem::swap(&mut qx, &mut next_qx);
    }
    h.cells()
}
