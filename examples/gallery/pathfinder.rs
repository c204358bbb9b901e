//! The cheapest way down a wall of numbers: Lashgar §6.3.1 and Listing A.1 (Rodinia's Pathfinder).
//!
//! Dynamic programming, a row a step: the way to a cell goes over the cheapest of the three above it. Beyond the edge
//! is the edge, which makes no way cheaper.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Edge, Example, Look, Settings};

use crate::{Program, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "pathfinder",
        about: "The cost of the cheapest way down a wall to each cell of its last row; a step is a row",
        dims: &[1],
        size: [100_000, 0, 0],
        steps: 100,
        ghost: 1,
        dtypes: &[],
        boundaries: &[Edge::Reflect],
        library: false,
        look: Look::viridis("cost"),
    },
    small: "--size 3000 --steps 40",
    input: false,
    run,
};

/// What it costs to cross a cell of the wall.
fn cost(cell: usize) -> i32 {
    (plain::hash(cell) % 10) as i32
}

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(2)?;
    let n = settings.shape[0];
    // The first row is where ways start.
    let rows = settings.steps as usize + 1;
    let mut wall = TileArray::<i32, 2>::builder([rows, n]).everywhere().build(&acc)?;
    wall.fill(|[row, i]| cost(row * n + i))?;
    let mut way = settings.array::<i32, 1>(&acc, settings.edge.boundary())?;
    way.fill(|[i]| cost(i))?;
    let mut next = way.like()?;
    let tile_size = settings.tile()?;

    let mut clock = settings.clock()?;
    for row in 1..rows as i64 {
        way.fill_ghosts()?;
        for tile in TileIter::new(&way).tile_size(tile_size) {
            compute(
                &tile,
                (&mut next, &way, all(&wall)),
                kernel!(|next, way, wall, at| {
                    let [i] = at;
                    let cheapest = way[at - [1]].min(way[at]).min(way[at + [1]]);
                    next[at] = wall[[row, i]] + cheapest;
                }),
            )?;
        }
        std::mem::swap(&mut way, &mut next);
        clock.step_of(&way)?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&way, settings.steps, seconds, || costs(n, rows))
}

/// The same by plain loops.
fn costs(n: usize, rows: usize) -> Vec<i32> {
    let mut way: Vec<i32> = (0..n).map(cost).collect();
    for row in 1..rows {
        let above = way.clone();
        for (i, cell) in way.iter_mut().enumerate() {
            let near = &above[i.saturating_sub(1)..(i + 2).min(n)];
            *cell = cost(row * n + i) + near.iter().min().copied().unwrap_or_default();
        }
    }
    way
}
