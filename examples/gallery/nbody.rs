//! Bodies that attract one another: Lashgar §3.3.1, §5.4.1 with Fig. 5.3, Listings A.7 and A.8 (NVIDIA's N-body
//! sample).
//!
//! Each body gathers the pull of all bodies in a loop along the whole array, in order, so every sum has one value. All
//! cells read the same body at the same time: the reuse that a tile of bodies in shared memory serves.

use tida::prelude::*;
use tida_plot::Picture;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};

use crate::{Program, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "nbody",
        about: "Bodies under gravity, each pulled by all; a step moves every body once",
        dims: &[1],
        size: [4096, 0, 0],
        steps: 5,
        ghost: 0,
        dtypes: &[Dtype::F32],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::magma("bodies"),
    },
    small: "--size 500 --steps 3",
    input: false,
    run,
};

/// Where a body is, and its mass.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
pub struct Body {
    pub x: f32,
    pub y: f32,
    pub z: f32,
    pub mass: f32,
}

/// Keeps two bodies that meet from pulling without bound: the square of a length.
pub const SOFTENING: f32 = 0.01;
/// Time of a step.
const DT: f32 = 0.01;

/// Bodies of one mass in a cube.
fn body(i: usize, n: usize) -> Body {
    let place = |axis: usize| 2.0 * plain::random(3 * i + axis) as f32 - 1.0;
    Body { x: place(0), y: place(1), z: place(2), mass: 1.0 / n as f32 }
}

fn run(settings: &Settings) -> Result<()> {
    steps(settings, |settings, pull, bodies| {
        let (count, softening) = (bodies.shape()[0] as i64, SOFTENING);
        for tile in TileIter::new(pull).tile_size(settings.tile()?) {
            compute(
                &tile,
                (&mut *pull, all(bodies)),
                kernel!(|pull, bodies, at| {
                    let own = bodies[at];
                    let (mut x, mut y, mut z) = (0.0, 0.0, 0.0);
                    for j in 0..count {
                        let other = bodies[[j]];
                        let (dx, dy, dz) = (other.x - own.x, other.y - own.y, other.z - own.z);
                        let square = dx * dx + dy * dy + dz * dz + softening;
                        let strength = other.mass / (square * square.sqrt());
                        x += strength * dx;
                        y += strength * dy;
                        z += strength * dz;
                    }
                    pull[at] = [x, y, z];
                }),
            )?;
        }
        Ok(())
    })
}

/// What all bodies pull each with.
pub type Pull = fn(&Settings, &mut TileArray<[f32; 3], 1>, &TileArray<Body, 1>) -> Result<()>;

/// Moves bodies that are pulled so, and compares them.
pub fn steps(settings: &Settings, pulls: Pull) -> Result<()> {
    let acc = settings.accelerator(3)?;
    let n = settings.shape[0];
    let mut bodies = settings.array::<Body, 1>(&acc, Boundary::Open)?;
    bodies.fill(|[i]| body(i, n))?;
    // What each body sees of the others.
    let mut others = settings.builder::<Body, 1>(Boundary::Open)?.everywhere().build(&acc)?;
    let mut pull = settings.array::<[f32; 3], 1>(&acc, Boundary::Open)?;
    let mut velocity = pull.like()?;
    let tile_size = settings.tile()?;

    let dt = DT;
    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        others.copy_from(&bodies)?;
        pulls(settings, &mut pull, &others)?;
        for tile in TileIter::new(&bodies).tile_size(tile_size) {
            compute(
                &tile,
                (&mut bodies, &mut velocity, &pull),
                kernel!(|bodies, velocity, pull, at| {
                    let (v, a) = (velocity[at], pull[at]);
                    let v = [v[0] + dt * a[0], v[1] + dt * a[1], v[2] + dt * a[2]];
                    velocity[at] = v;
                    bodies[at].x += dt * v[0];
                    bodies[at].y += dt * v[1];
                    bodies[at].z += dt * v[2];
                }),
            )?;
        }
        clock.step_drawn(&acc, || seen(settings, &bodies))?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.draw(settings.steps, || seen(settings, &bodies))?;
    let found = || {
        let places = bodies.read_box(bodies.domain())?.into_iter().flat_map(|b| [b.x, b.y, b.z]);
        Ok(places.chain(velocity.read_box(velocity.domain())?.into_iter().flatten()).collect())
    };
    settings.finish_with(&bodies, settings.steps, seconds, found, || moved(n, settings.steps))
}

/// How many bodies are seen along z in squares of a side of 1/24, up to 1.33 from the middle.
fn seen(settings: &Settings, bodies: &TileArray<Body, 1>) -> Result<Picture> {
    let mut counts = vec![0.0; 64 * 64];
    for body in bodies.read_box(bodies.domain())? {
        let [row, column] = [body.y, body.x].map(|at| (24.0 * at + 32.0).floor());
        if (0.0..64.0).contains(&row) && (0.0..64.0).contains(&column) {
            counts[row as usize * 64 + column as usize] += 1.0;
        }
    }
    let side = [-32.0 / 24.0, 32.0 / 24.0];
    Ok(settings.map(Picture::values(64, 64, counts)?).extent(side, side).upwards())
}

/// The same by plain loops: all places, then all velocities.
fn moved(n: usize, steps: u64) -> Vec<f32> {
    let mut bodies: Vec<Body> = (0..n).map(|i| body(i, n)).collect();
    let mut velocity = vec![[0.0; 3]; n];
    for _ in 0..steps {
        let mut pulls = Vec::with_capacity(n);
        for own in &bodies {
            let mut pull = [0.0; 3];
            for other in &bodies {
                let (dx, dy, dz) = (other.x - own.x, other.y - own.y, other.z - own.z);
                let square = dx * dx + dy * dy + dz * dz + SOFTENING;
                let strength = other.mass / (square * square.sqrt());
                pull[0] += strength * dx;
                pull[1] += strength * dy;
                pull[2] += strength * dz;
            }
            pulls.push(pull);
        }
        for ((body, v), pull) in bodies.iter_mut().zip(&mut velocity).zip(pulls) {
            for axis in 0..3 {
                v[axis] += DT * pull[axis];
            }
            body.x += DT * v[0];
            body.y += DT * v[1];
            body.z += DT * v[2];
        }
    }
    bodies.iter().flat_map(|b| [b.x, b.y, b.z]).chain(velocity.iter().flatten().copied()).collect()
}
