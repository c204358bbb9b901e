//! Conway's game of life: bytes, and all 8 neighbours, so ghost corners count.

use std::process::ExitCode;

use tida::prelude::*;
use tida_suite::flags::{Edge, Example, Look};
use tida_suite::{Result, oracle};

const LIFE: Example = Example {
    name: "life",
    about: "Conway's game of life; a live cell is 1, a dead one 0",
    dims: &[2],
    size: [0, 1024, 0],
    steps: 200,
    ghost: 1,
    dtypes: &[],
    boundaries: &[Edge::Periodic, Edge::Fixed],
    library: false,
    look: Look::greys("alive"),
};

fn main() -> ExitCode {
    tida_suite::exit(run())
}

/// About a third of the cells, by a hash of the position.
fn initial([y, x]: [f64; 2]) -> u8 {
    let mut bits = y.to_bits() ^ x.to_bits().rotate_left(32);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    u8::from((bits >> 32) % 3 == 0)
}

fn run() -> Result<()> {
    let settings = LIFE.settings()?;
    let acc = settings.accelerator(2)?;
    let mut u = settings.array::<u8, 2>(&acc, settings.edge.boundary())?;
    settings.fill(&mut u, initial)?;
    let mut next = u.like()?;
    let start = settings.start(&u)?;
    let tile_size = settings.tile()?;

    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        u.fill_ghosts()?;
        for tile in TileIter::new(&u).tile_size(tile_size) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    let above = u[at + [-1, -1]] + u[at + [-1, 0]] + u[at + [-1, 1]];
                    let beside = u[at + [0, -1]] + u[at + [0, 1]];
                    let below = u[at + [1, -1]] + u[at + [1, 0]] + u[at + [1, 1]];
                    let live = above + beside + below;
                    next[at] = if live == 3 || (live == 2 && u[at] == 1) { 1 } else { 0 };
                }),
            )?;
        }
        std::mem::swap(&mut u, &mut next);
        clock.step_of(&u)?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&u, settings.steps, seconds, || {
        oracle::life(&settings.shape, &start, settings.steps, settings.edge.outside())
    })
}
