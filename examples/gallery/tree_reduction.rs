//! Sums of 256 values, each by a tree in the memory that a group shares: what Lashgar §6.4 writes with `fcw`, and what
//! a reduction clause does inside (§3.3.3).
//!
//! Each group leaves its sum at its first cell and zeros at the others, so that a second pass of groups of groups would
//! find them; a step sums the array anew into another one. `CHANNEL_WB`: the channel starts empty and is written back.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::setup::Cell;

use crate::{Program, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "tree_reduction",
        about: "Sums of 256 values by trees in shared memory",
        dims: &[1],
        size: [1 << 22, 0, 0],
        steps: 10,
        ghost: 0,
        dtypes: &[Dtype::F32, Dtype::F64],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("sum").still(),
    },
    small: "--size 12288 --steps 2",
    input: true,
    run,
};

fn run(settings: &Settings) -> Result<()> {
    match settings.dtype {
        Dtype::F32 => tree_reduction::<f32>(settings),
        Dtype::F64 => tree_reduction::<f64>(settings),
    }
}

fn tree_reduction<T: Real + Cell>(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(1)?;
    let n = settings.shape[0];
    let mut a = settings.builder::<T, 1>(Boundary::Open)?.cut_at_multiples([256]).build(&acc)?;
    settings.fill(&mut a, |[x]| T::of(plain::random((x * n as f64) as usize)) - lit!(T, 0.5))?;
    let mut sums = a.like()?;
    let start = settings.start(&a)?;
    let tile_size = settings.tile()?;

    let clock = settings.clock()?;
    for _ in 0..settings.steps {
        for tile in TileIter::new(&a).tile_size(tile_size) {
            compute_groups(
                &tile,
                [256],
                (&mut sums, &a),
                group_kernel!(T; |sums, a, group| {
                    let c = group.shared::<T>([256]);
                    let sum = group.private(0.0);
                    group.each(|t| {
                        sum = a[t.at()];
                        c[t] = sum;
                    });
                    let mut half = 128;
                    while half > 0 {
                        group.each(|t| {
                            if t[0] < half {
                                sum = sum + c[t + [half]];
                            }
                        });
                        group.each(|t| {
                            if t[0] < half {
                                c[t] = sum;
                            }
                        });
                        half /= 2;
                    }
                    group.each(|t| sums[t.at()] = if t[0] == 0 { c[t] } else { 0.0 });
                }),
            )?;
        }
        clock.step();
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&sums, settings.steps, seconds, || by_trees(&start))
}

/// The same by plain loops.
fn by_trees<T: Real>(values: &[T]) -> Vec<T> {
    let mut sums = vec![T::ZERO; values.len()];
    for (values, sums) in values.chunks(256).zip(sums.chunks_mut(256)) {
        let mut c = [T::ZERO; 256];
        c[..values.len()].copy_from_slice(values);
        for half in [128, 64, 32, 16, 8, 4, 2, 1] {
            for i in 0..half.min(values.len()) {
                c[i] += c[i + half];
            }
        }
        sums[0] = c[0];
    }
    sums
}
