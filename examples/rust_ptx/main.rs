//! The heat sweep as a kernel that rustc itself compiled to PTX, beside the same sweep by `kernel!`: equal to the bit.
//!
//! `kernel/` holds the Rust source and `build.sh` compiles it; `heat.ptx` is checked in. It needs a CUDA device.

use std::process::ExitCode;
use std::time::Instant;

use tida::compute::{PtxKernel, PtxParam};
use tida::prelude::*;
use tida_suite::Result;
use tida_suite::setup::say_where;

/// Compiled by `build.sh`.
const PTX: &str = include_str!("heat.ptx");

const SIZE: usize = 256;
const STEPS: usize = 50;

fn main() -> ExitCode {
    tida_suite::exit(run())
}

fn run() -> Result<()> {
    let acc = TileAcc::builder().device(Device::Cuda).build()?;
    say_where("rust_ptx", &acc);
    let mut u =
        TileArray::<f64, 3>::builder([SIZE; 3]).regions([3, 1, 1]).ghost(1).boundary(Boundary::Periodic).build(&acc)?;
    u.fill(|[k, j, i]| ((k * 7919 + j * 104_729 + i * 1_299_709) % 1000) as f64 / 1000.0)?;
    let (mut v, mut next) = (u.clone(), u.like()?);

    use PtxParam::{Array, Extent, Scalar, Stride};
    let params = [
        Array(0),
        Array(1),
        Extent(0),
        Extent(1),
        Extent(2),
        Stride(0, 0),
        Stride(0, 1),
        Stride(1, 0),
        Stride(1, 1),
        Scalar(0),
    ];
    let heat = PtxKernel::new(PTX, "heat", &params).reach(1, &[[1, 1]; 3]);
    let alpha = 0.1;

    let start = Instant::now();
    for _ in 0..STEPS {
        u.fill_ghosts()?;
        for tile in TileIter::new(&u) {
            // SAFETY: `heat` has these parameters, writes its box in the first array, and reads the second one cell
            // around it; both are of `f64`, and so is its scalar.
            unsafe { heat.compute(&tile, (&mut next, &u), &[alpha.into()])? };
        }
        std::mem::swap(&mut u, &mut next);
    }
    acc.sync()?;
    let foreign = start.elapsed().as_secs_f64();

    let start = Instant::now();
    for _ in 0..STEPS {
        v.fill_ghosts()?;
        for tile in TileIter::new(&v) {
            compute(
                &tile,
                (&mut next, &v),
                kernel!(|next, u, at| {
                    let c = u[at];
                    next[at] = c + alpha
                        * (u[at + [0, 0, 1]]
                            + u[at - [0, 0, 1]]
                            + u[at + [0, 1, 0]]
                            + u[at - [0, 1, 0]]
                            + u[at + [1, 0, 0]]
                            + u[at - [1, 0, 0]]
                            - 6.0 * c);
                }),
            )?;
        }
        std::mem::swap(&mut v, &mut next);
    }
    acc.sync()?;
    let own = start.elapsed().as_secs_f64();

    let (a, b) = (u.read_box(u.domain())?, v.read_box(v.domain())?);
    let different = a.iter().zip(&b).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
    println!("rust_ptx: {STEPS} steps of {SIZE}³ cells: {foreign:.3} s by rustc's PTX, {own:.3} s by kernel!");
    if different > 0 {
        return Err(
            format!("tried to compare both; found {different} cells of other bits; they should be equal").into()
        );
    }
    println!("  the same bits");
    Ok(())
}
