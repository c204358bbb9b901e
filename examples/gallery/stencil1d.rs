//! A stencil on one axis, four steps in a launch: Lashgar §6.3 and §6.4, with the ghost-zone optimisation.
//!
//! A group fetches its cells with four more on each side, and does four steps by itself: each step is right for one
//! cell less on each side, until the group's own are left. The cells beside are computed by two groups, which saves
//! three passes over memory.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::oracle::{Grid, Outside};
use tida_suite::setup::Cell;

use crate::Program;

pub const PROGRAM: Program = Program {
    example: Example {
        name: "stencil1d",
        about: "A mean of three cells, four times in each step, in groups of 256 cells",
        dims: &[1],
        size: [1 << 22, 0, 0],
        steps: 10,
        ghost: 4,
        dtypes: &[Dtype::F32, Dtype::F64],
        boundaries: &[Edge::Periodic],
        library: false,
        look: Look::viridis("value"),
    },
    small: "--size 12288 --steps 3",
    input: true,
    run,
};

/// Means that one step takes.
const MEANS: u64 = 4;

fn run(settings: &Settings) -> Result<()> {
    match settings.dtype {
        Dtype::F32 => stencil1d::<f32>(settings),
        Dtype::F64 => stencil1d::<f64>(settings),
    }
}

fn stencil1d<T: Real + Cell>(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(2)?;
    let mut u = settings.builder::<T, 1>(settings.edge.boundary())?.cut_at_multiples([256]).build(&acc)?;
    settings.fill(&mut u, |[x]| if (x - 0.4).abs() < 0.2 { T::ONE } else { lit!(T, 0.125) })?;
    let mut next = u.like()?;
    let start = settings.start(&u)?;
    let tile_size = settings.tile()?;

    let (own, side) = (lit!(T, 0.5), lit!(T, 0.25));
    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        u.fill_ghosts()?;
        for tile in TileIter::new(&u).tile_size(tile_size) {
            compute_groups(
                &tile,
                [256],
                (&mut next, &u),
                group_kernel!(|next, u, group| {
                    let s = group.fetch(u, [4], [4]);
                    let c = group.channel::<T>([3], [3]);
                    group.each_around([3], [3], |t| c[t] = own * s[t] + side * (s[t - [1]] + s[t + [1]]));
                    group.each_around([2], [2], |t| s[t] = own * c[t] + side * (c[t - [1]] + c[t + [1]]));
                    group.each_around([1], [1], |t| c[t] = own * s[t] + side * (s[t - [1]] + s[t + [1]]));
                    group.each(|t| next[t.at()] = own * c[t] + side * (c[t - [1]] + c[t + [1]]));
                }),
            )?;
        }
        std::mem::swap(&mut u, &mut next);
        clock.step_of(&u)?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&u, settings.steps, seconds, || {
        means(&settings.shape, &start, settings.steps * MEANS, (own, side), settings.edge.outside())
    })
}

/// The same by plain loops.
fn means<T: Real>(shape: &[usize], start: &[T], means: u64, (own, side): (T, T), outside: Outside<T>) -> Vec<T> {
    let mut u = Grid::new(shape, 1, start);
    let mut next = u.clone();
    for _ in 0..means {
        u.fill_ghosts(outside);
        for i in 0..shape[0] {
            let p = u.position(0, 0, i);
            next.data[p] = own * u.data[p] + side * (u.data[p - 1] + u.data[p + 1]);
        }
        std::mem::swap(&mut u, &mut next);
    }
    u.cells()
}
