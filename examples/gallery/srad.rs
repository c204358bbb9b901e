//! Speckle-reducing anisotropic diffusion: Lashgar §3.3.1 (Rodinia's SRAD).
//!
//! The three blocks of a step in the paper: a reduction (mean and variance of the picture), the diffusion coefficients,
//! the update. The sums are recorded work whose values the next kernel captures before they are there, so the host
//! never waits.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::oracle::{Grid, Outside};

use crate::{Program, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "srad",
        about: "A speckled picture, smoothed but not across its edges",
        dims: &[2],
        size: [0, 512, 0],
        steps: 50,
        ghost: 1,
        dtypes: &[Dtype::F32],
        boundaries: &[Edge::Reflect],
        library: false,
        look: Look::greys("brightness"),
    },
    small: "--size 70 --steps 4",
    input: true,
    run,
};

/// How far a step goes.
const LAMBDA: f32 = 0.5;

/// A bright disc on a dim ground, each pixel times some speckle.
fn speckled([y, x]: [f64; 2]) -> f32 {
    let shade = if (y - 0.45).hypot(x - 0.55) < 0.25 { 2.0 } else { 1.2 };
    (shade * (0.8 + 0.4 * plain::random((y * 1e9) as usize ^ (x * 1e6) as usize))) as f32
}

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(6)?;
    let mut image = settings.array::<f32, 2>(&acc, settings.edge.boundary())?;
    settings.fill(&mut image, speckled)?;
    let (mut next, mut coefficient) = (image.like()?, image.like()?);
    let start = settings.start(&image)?;
    let tile_size = settings.tile()?;

    let (pixels, quarter) = (settings.shape.iter().product::<usize>() as f32, 0.25 * LAMBDA);
    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        let sum = reduce_later(&image, Sum, kernel!(|image, at| image[at]))?;
        let squares = reduce_later(&image, Sum, kernel!(|image, at| image[at] * image[at]))?;
        image.fill_ghosts()?;
        for tile in TileIter::new(&coefficient).tile_size(tile_size) {
            compute(
                &tile,
                (&mut coefficient, &image),
                kernel!(|coefficient, image, at| {
                    let mean = sum / pixels;
                    let speckle = (squares / pixels - mean * mean) / (mean * mean);
                    let c = image[at];
                    let (north, south) = (image[at - [1, 0]] - c, image[at + [1, 0]] - c);
                    let (west, east) = (image[at - [0, 1]] - c, image[at + [0, 1]] - c);
                    let gradient = (north * north + south * south + west * west + east * east) / (c * c);
                    let laplacian = (north + south + west + east) / c;
                    let part = 1.0 + 0.25 * laplacian;
                    let local = (0.5 * gradient - 0.0625 * laplacian * laplacian) / (part * part);
                    let excess = (local - speckle) / (speckle * (1.0 + speckle));
                    coefficient[at] = (1.0 / (1.0 + excess)).clamp(0.0, 1.0);
                }),
            )?;
        }
        coefficient.fill_ghosts()?;
        for tile in TileIter::new(&next).tile_size(tile_size) {
            compute(
                &tile,
                (&mut next, &image, &coefficient),
                kernel!(|next, image, coefficient, at| {
                    let c = image[at];
                    let (north, south) = (image[at - [1, 0]] - c, image[at + [1, 0]] - c);
                    let (west, east) = (image[at - [0, 1]] - c, image[at + [0, 1]] - c);
                    let flow = coefficient[at] * (north + west)
                        + coefficient[at + [1, 0]] * south
                        + coefficient[at + [0, 1]] * east;
                    next[at] = c + quarter * flow;
                }),
            )?;
        }
        std::mem::swap(&mut image, &mut next);
        clock.step_of(&image)?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&image, settings.steps, seconds, || diffused(&settings.shape, &start, settings.steps))
}

/// The same by plain loops.
fn diffused(shape: &[usize], start: &[f32], steps: u64) -> Vec<f32> {
    let mut image = Grid::new(shape, 1, start);
    let [_, ny, nx] = image.shape();
    let row = image.stride(1);
    let mut coefficient = image.clone();
    let pixels = start.len() as f32;
    for _ in 0..steps {
        let values = image.cells();
        let sum = plain::sum(values.chunks(nx).map(<[f32]>::to_vec));
        let squares = plain::sum(values.chunks(nx).map(|row| row.iter().map(|x| x * x).collect()));
        let mean = sum / pixels;
        let speckle = (squares / pixels - mean * mean) / (mean * mean);
        image.fill_ghosts(Outside::ReflectEven);
        let cells: Vec<usize> = (0..ny * nx).map(|cell| image.position(0, cell / nx, cell % nx)).collect();
        for &p in &cells {
            let v = &image.data;
            let c = v[p];
            let (n, s, w, e) = (v[p - row] - c, v[p + row] - c, v[p - 1] - c, v[p + 1] - c);
            let gradient = (n * n + s * s + w * w + e * e) / (c * c);
            let laplacian = (n + s + w + e) / c;
            let part = 1.0 + 0.25 * laplacian;
            let local = (0.5 * gradient - 0.0625 * laplacian * laplacian) / (part * part);
            let excess = (local - speckle) / (speckle * (1.0 + speckle));
            coefficient.data[p] = (1.0 / (1.0 + excess)).clamp(0.0, 1.0);
        }
        coefficient.fill_ghosts(Outside::ReflectEven);
        let mut next = image.clone();
        for &p in &cells {
            let (v, k) = (&image.data, &coefficient.data);
            let c = v[p];
            let (n, s, w, e) = (v[p - row] - c, v[p + row] - c, v[p - 1] - c, v[p + 1] - c);
            next.data[p] = c + 0.25 * LAMBDA * (k[p] * (n + w) + k[p + row] * s + k[p + 1] * e);
        }
        image = next;
    }
    image.cells()
}
