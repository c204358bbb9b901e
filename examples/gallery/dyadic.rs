//! The dyadic convolution's transform: the fast Walsh-Hadamard transform of each 256 values, in groups. Lashgar §6.4.
//!
//! A group fetches its values once. Eight times, each thread adds its value to another's or subtracts it, through what
//! the group shares: `FETCH_CHANNEL_WB` of `fcw`. A step transforms an array into another one.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::setup::Cell;

use crate::{Program, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "dyadic",
        about: "The fast Walsh-Hadamard transform of each 256 values",
        dims: &[1],
        size: [1 << 22, 0, 0],
        steps: 10,
        ghost: 0,
        dtypes: &[Dtype::F32, Dtype::F64],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("coefficient").still(),
    },
    small: "--size 12288 --steps 2",
    input: true,
    run,
};

fn run(settings: &Settings) -> Result<()> {
    match settings.dtype {
        Dtype::F32 => dyadic::<f32>(settings),
        Dtype::F64 => dyadic::<f64>(settings),
    }
}

fn dyadic<T: Real + Cell>(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(1)?;
    let n = settings.shape[0];
    let mut a = settings.builder::<T, 1>(Boundary::Open)?.cut_at_multiples([256]).build(&acc)?;
    settings.fill(&mut a, |[x]| T::of(plain::random((x * n as f64) as usize)) - lit!(T, 0.5))?;
    let mut b = a.like()?;
    let start = settings.start(&a)?;
    let tile_size = settings.tile()?;

    let clock = settings.clock()?;
    for _ in 0..settings.steps {
        for tile in TileIter::new(&a).tile_size(tile_size) {
            compute_groups(
                &tile,
                [256],
                (&mut b, &a),
                group_kernel!(T; |b, a, group| {
                    let s = group.fetch(a, [0], [0]);
                    let x = group.private(0.0);
                    let mut h = 1;
                    while h < 256 {
                        group.each(|t| {
                            // The other of the pair: cells that are not there are zeros.
                            if t[0] & h == 0 {
                                x = s[t] + s[t + [h]];
                            } else {
                                x = s[t - [h]] - s[t];
                            }
                        });
                        group.each(|t| s[t] = x);
                        h *= 2;
                    }
                    // Scaled, so that steps keep the size of values.
                    group.each(|t| b[t.at()] = 0.0625 * s[t]);
                }),
            )?;
        }
        std::mem::swap(&mut a, &mut b);
        clock.step();
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&a, settings.steps, seconds, || transformed(start, settings.steps))
}

/// The same by plain loops.
fn transformed<T: Real>(mut values: Vec<T>, steps: u64) -> Vec<T> {
    for _ in 0..steps {
        for group in values.chunks_mut(256) {
            let cells = group.len();
            let mut s = [T::ZERO; 256];
            s[..cells].copy_from_slice(group);
            for h in [1, 2, 4, 8, 16, 32, 64, 128] {
                let old = s;
                for i in 0..cells {
                    s[i] = if i & h == 0 { old[i] + old[i + h] } else { old[i - h] - old[i] };
                }
            }
            group.iter_mut().zip(s).for_each(|(cell, value)| *cell = T::of(0.0625) * value);
        }
    }
    values
}
