//! Heat in a ring that lets none out: the mask of a domain of which three quarters are left out, and what that costs.
//!
//! Blocks without a cell of the ring are left out: `ActiveBlocks` has the list of the others, made before the first
//! step. `--tile 16x64` says how large the blocks are; without it a block is a region, and nothing is left out.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::oracle::{Grid, Outside};

use crate::{Program, at_most};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "ring",
        about: "Heat in a ring given by a mask; blocks that it leaves out, of --tile cells, cost nothing",
        dims: &[2],
        size: [0, 1024, 0],
        steps: 400,
        ghost: 1,
        dtypes: &[Dtype::F64],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::magma("temperature"),
    },
    small: "--size 150 --steps 20 --tile 10x16",
    input: false,
    run,
};

/// The time step times the conductivity over the square of a cell.
const ALPHA: f64 = 0.2;
/// How far the heat may drift, of all of it: it is lost by rounding alone.
const DRIFT: f64 = 1e-11;

/// Whether a cell is outside of the ring, which has a quarter of all cells.
fn is_solid(n: usize, [y, x]: [usize; 2]) -> bool {
    let n = n as f64;
    let from = ((y as f64 + 0.5) / n - 0.5).hypot((x as f64 + 0.5) / n - 0.5);
    !(0.35..0.45).contains(&from)
}

/// One half of the ring is hot.
fn start(n: usize, at: [usize; 2]) -> f64 {
    if is_solid(n, at) || 2 * at[1] >= n { 0.0 } else { 1.0 }
}

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(1)?;
    let n = settings.shape[0];
    let mut solid = settings.array::<u8, 2>(&acc, Boundary::Fixed(1))?;
    solid.fill(|at| u8::from(is_solid(n, at)))?;
    solid.fill_ghosts()?;
    let mut u = settings.array::<f64, 2>(&acc, Boundary::Fixed(0.0))?;
    u.fill(|at| start(n, at))?;
    // Cells that no tile has stay as they are in both arrays.
    let mut next = u.like()?;
    let blocks = ActiveBlocks::new(&solid, settings.tile()?, |solid| solid == 0)?;
    let heat = reduce(&u, Sum, kernel!(|u, at| u[at]))?;

    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        u.fill_ghosts()?;
        for tile in u.tiles().active(&blocks) {
            compute(
                &tile,
                (&mut next, &u, &solid),
                kernel!(|next, u, solid, at| {
                    // No heat goes through a wall.
                    let own = u[at];
                    let west = if solid[at - [0, 1]] == 1 { own } else { u[at - [0, 1]] };
                    let east = if solid[at + [0, 1]] == 1 { own } else { u[at + [0, 1]] };
                    let south = if solid[at - [1, 0]] == 1 { own } else { u[at - [1, 0]] };
                    let north = if solid[at + [1, 0]] == 1 { own } else { u[at + [1, 0]] };
                    let flow = (west - own) + (east - own) + (south - own) + (north - own);
                    next[at] = if solid[at] == 1 { 0.0 } else { own + ALPHA * flow };
                }),
            )?;
        }
        std::mem::swap(&mut u, &mut next);
        clock.step_of(&u)?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&u, settings.steps, seconds, || flowed(n, settings.steps))?;
    if !settings.verify {
        return Ok(());
    }
    let left = reduce(&u, Sum, kernel!(|u, at| u[at]))?;
    at_most(settings, "heat that drifted this far, of all", (left / heat - 1.0).abs(), DRIFT)
}

/// The same by plain loops.
fn flowed(n: usize, steps: u64) -> Vec<f64> {
    let cells = || (0..n * n).map(|cell| [cell / n, cell % n]);
    let mut u = Grid::new(&[n, n], 1, &cells().map(|at| start(n, at)).collect::<Vec<_>>());
    let mut solid = Grid::new(&[n, n], 1, &cells().map(|at| is_solid(n, at)).collect::<Vec<_>>());
    solid.fill_ghosts(Outside::Fixed(true));
    let (mut next, row) = (u.clone(), u.stride(1));
    for _ in 0..steps {
        u.fill_ghosts(Outside::Fixed(0.0));
        for [y, x] in cells() {
            let at = u.position(0, y, x);
            let own = u.data[at];
            let near = |place: usize| if solid.data[place] { 0.0 } else { u.data[place] - own };
            let flow = near(at - 1) + near(at + 1) + near(at - row) + near(at + row);
            next.data[at] = if solid.data[at] { 0.0 } else { own + ALPHA * flow };
        }
        std::mem::swap(&mut u, &mut next);
    }
    u.cells()
}
