//! Maxwell's equations in two dimensions by finite differences in the time domain: MESI-CUDA Table 3 (10240², 1000
//! steps; PolyBench's fdtd-2d).
//!
//! The magnetic field sits at cells and the two parts of the electric field on the faces between them, so the arrays
//! differ in shape by one, which their centring says. The domain's outer faces conduct: nothing changes there but at
//! the low face of the first axis, where a wave is sent in.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::setup::Cell;

use crate::Program;

pub const PROGRAM: Program = Program {
    example: Example {
        name: "fdtd2d",
        about: "Maxwell's equations on a staggered grid between conductors",
        dims: &[2],
        size: [0, 512, 0],
        steps: 100,
        ghost: 1,
        dtypes: &[Dtype::F32, Dtype::F64],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::around(0.0, "magnetic field"),
    },
    small: "--size 60 --steps 8",
    input: false,
    run,
};

fn run(settings: &Settings) -> Result<()> {
    match settings.dtype {
        Dtype::F32 => fdtd2d::<f32>(settings),
        Dtype::F64 => fdtd2d::<f64>(settings),
    }
}

/// What a field holds at first.
fn initial(j: usize, i: usize, n: usize) -> f64 {
    (j * (i + 2)) as f64 / (n * n) as f64
}

fn fdtd2d<T: Real + Cell>(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(7)?;
    let n = settings.shape[0];
    let mut hz = settings.array::<T, 2>(&acc, Boundary::Open)?;
    let mut ey = settings.centred::<T, 2>(&acc, [Centering::Face, Centering::Cell])?;
    let mut ex = settings.centred::<T, 2>(&acc, [Centering::Cell, Centering::Face])?;
    hz.fill(|[j, i]| T::of(initial(j, i, n)))?;
    ey.fill(|[j, i]| T::of(initial(j + 1, i, n)))?;
    ex.fill(|[j, i]| T::of(initial(j, i + 1, n)))?;
    let tile_size = settings.tile()?;

    let (half, most) = (lit!(T, 0.5), lit!(T, 0.7));
    let last = n as i64;
    let mut clock = settings.clock()?;
    for step in 0..settings.steps {
        let sent = T::of(step as f64);
        hz.fill_ghosts()?;
        for tile in TileIter::new(&ey).within([0, 0], [1, last]).tile_size(tile_size) {
            compute(&tile, &mut ey, kernel!(|ey, at| ey[at] = sent))?;
        }
        for tile in TileIter::new(&ey).within([1, 0], [last, last]).tile_size(tile_size) {
            compute(&tile, (&mut ey, &hz), kernel!(|ey, hz, at| ey[at] = ey[at] - half * (hz[at] - hz[at - [1, 0]])))?;
        }
        for tile in TileIter::new(&ex).within([0, 1], [last, last]).tile_size(tile_size) {
            compute(&tile, (&mut ex, &hz), kernel!(|ex, hz, at| ex[at] = ex[at] - half * (hz[at] - hz[at - [0, 1]])))?;
        }
        fill_ghosts((&mut ex, &mut ey))?;
        for tile in TileIter::new(&hz).tile_size(tile_size) {
            compute(
                &tile,
                (&mut hz, &ex, &ey),
                kernel!(|hz, ex, ey, at| {
                    hz[at] = hz[at] - most * (ex[at + [0, 1]] - ex[at] + ey[at + [1, 0]] - ey[at]);
                }),
            )?;
        }
        clock.step_of(&hz)?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&hz, settings.steps, seconds, || magnetic(n, settings.steps, half, most))
}

/// The same by plain loops.
fn magnetic<T: Real>(n: usize, steps: u64, half: T, most: T) -> Vec<T> {
    let wide = n + 1;
    let mut hz: Vec<T> = (0..n * n).map(|p| T::of(initial(p / n, p % n, n))).collect();
    let mut ey: Vec<T> = (0..wide * n).map(|p| T::of(initial(p / n + 1, p % n, n))).collect();
    let mut ex: Vec<T> = (0..n * wide).map(|p| T::of(initial(p / wide, p % wide + 1, n))).collect();
    for step in 0..steps {
        ey[..n].fill(T::of(step as f64));
        for j in 1..n {
            for i in 0..n {
                let p = j * n + i;
                ey[p] -= half * (hz[p] - hz[p - n]);
            }
        }
        for j in 0..n {
            for i in 1..n {
                let p = j * wide + i;
                ex[p] -= half * (hz[j * n + i] - hz[j * n + i - 1]);
            }
        }
        for j in 0..n {
            for i in 0..n {
                let (p, x) = (j * n + i, j * wide + i);
                hz[p] -= most * (ex[x + 1] - ex[x] + ey[p + n] - ey[p]);
            }
        }
    }
    hz
}
