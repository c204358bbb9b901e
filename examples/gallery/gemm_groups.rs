//! Matrix multiplication over groups: each brings squares of both matrices to where its threads share them, one after
//! the other (`FETCH_ONLY`, Lashgar §6.3.1 and Listing A.3). What the cache of ch. 5 makes of [`gemm`](crate::gemm) by
//! itself, by hand.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Example, Settings};

use crate::gemm::product;
use crate::{Program, gemm, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "gemm_groups",
        about: "The product of two square matrices in groups of 16 x 16 cells (sizes of multiples of 16)",
        dtypes: &[Dtype::F32],
        ..gemm::PROGRAM.example
    },
    small: "--size 96 --steps 1",
    input: false,
    run,
};

/// Cells of a group along each axis.
const SIDE: i64 = 16;

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(1)?;
    let n = settings.shape[0];
    let strips = n as i64 / SIDE;
    if strips * SIDE != n as i64 {
        Err(format!(
            "tried to multiply matrices of {n}^2 cells by squares; found {n}, no multiple of {SIDE}; give one"
        ))?;
    }
    // Each cell reads a row and a column of these.
    let mut a = settings.builder::<f32, 2>(Boundary::Open)?.everywhere().build(&acc)?;
    let mut b = a.like()?;
    let mut c = settings.builder::<f32, 2>(Boundary::Open)?.cut_at_multiples([16, 16]).build(&acc)?;
    a.fill(|[j, i]| plain::random(j * n + i) as f32 - 0.5)?;
    b.fill(|[j, i]| plain::random((n + j) * n + i) as f32 - 0.5)?;
    let (left, right) = (settings.start(&a)?, settings.start(&b)?);
    let tile_size = settings.tile()?;

    let clock = settings.clock()?;
    for _ in 0..settings.steps {
        for tile in TileIter::new(&c).tile_size(tile_size) {
            compute_groups(
                &tile,
                [16, 16],
                (&mut c, all(&a), all(&b)),
                group_kernel!(|c, a, b, group| {
                    let rows = group.shared::<f32>([16, 16]);
                    let columns = group.shared::<f32>([16, 16]);
                    let sum = group.private(0.0);
                    for strip in 0..strips {
                        group.each(|t| {
                            let [row, column] = t.at();
                            rows[t] = a[[row, strip * 16 + t[1]]];
                            columns[t] = b[[strip * 16 + t[0], column]];
                        });
                        group.each(|t| {
                            for k in 0..16 {
                                sum += rows[[t[0], k]] * columns[[k, t[1]]];
                            }
                        });
                    }
                    group.each(|t| c[t.at()] = sum);
                }),
            )?;
        }
        clock.step();
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&c, settings.steps, seconds, || product(n, &left, &right))
}
