//! What the host spends: recording a compute, and the first call of a kernel.

use std::process::Command;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tida::prelude::*;
use tida::{Device, Math};
use tida_suite::Result;

use crate::Bench;
use crate::measure::{Output, median};

/// 4096 tiles of 16³ cells: seconds of the host for each recorded compute. The goal is 5 µs.
pub fn overhead(bench: &Bench, output: &mut Output) -> Result<()> {
    let acc = bench.accelerator(Math::Exact)?;
    let mut u = TileArray::<f64, 3>::builder([256; 3]).build(&acc)?;
    u.fill(|[k, j, i]| (k + j + i) as f64)?;
    let mut next = u.like()?;
    let alpha = 0.1;
    let (mut recorded, mut done) = (Vec::new(), Vec::new());
    for round in 0..=bench.effort.rounds {
        let start = Instant::now();
        let mut tiles = 0;
        for tile in TileIter::new(&u).tile_size([16; 3]) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    next[at] = u[at] + alpha * u[at];
                }),
            )?;
            tiles += 1;
        }
        let recording = start.elapsed().as_secs_f64();
        acc.sync()?;
        // The first round compiles.
        if round > 0 {
            recorded.push(recording / f64::from(tiles) * 1e6);
            done.push(start.elapsed().as_secs_f64() / f64::from(tiles) * 1e6);
        }
    }
    output.figure("overhead, 4096 tiles of 16^3: recording one compute", median(&recorded), "µs")?;
    output.figure("overhead, 4096 tiles of 16^3: one compute recorded and run", median(&done), "µs")
}

/// What a process of [`first_calls`] measures, in seconds.
#[derive(Debug, Serialize, Deserialize)]
struct FirstCall {
    /// Building the accelerator and two arrays.
    start: f64,
    first: f64,
    second: f64,
}

/// Times the first and the second call of a kernel in this process, and prints them.
pub fn first_call(device: Device) -> Result<()> {
    let clock = Instant::now();
    let acc = TileAcc::builder().device(device).compile(tida::Compile::Wait).build()?;
    let mut u = TileArray::<f64, 3>::builder([32; 3]).ghost(1).boundary(Boundary::Open).build(&acc)?;
    u.fill(|[k, j, i]| (k + j + i) as f64)?;
    let mut next = u.like()?;
    acc.sync()?;
    let start = clock.elapsed().as_secs_f64();
    let alpha = 0.1;
    let mut call = || -> Result<f64> {
        let clock = Instant::now();
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut next, &u),
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
        acc.sync()?;
        Ok(clock.elapsed().as_secs_f64())
    };
    let found = FirstCall { start, first: call()?, second: call()? };
    println!("{}", serde_json::to_string(&found)?);
    Ok(())
}

/// The first call of a kernel in a new process: never compiled before, and then from the cache on disk.
pub fn first_calls(bench: &Bench, output: &mut Output) -> Result<()> {
    let mut found: [Vec<FirstCall>; 2] = Default::default();
    for round in 0..bench.effort.rounds.min(5) {
        let folder = std::env::temp_dir().join(format!("tida-bench-{}-{round}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let calls = [(); 2].map(|()| in_new_process(bench.device, &folder));
        std::fs::remove_dir_all(&folder)?;
        for (found, call) in found.iter_mut().zip(calls) {
            found.push(call?);
        }
    }
    let of = |calls: &[FirstCall], part: fn(&FirstCall) -> f64| {
        median(&calls.iter().map(|call| part(call) * 1e3).collect::<Vec<_>>())
    };
    output.figure("first call of a kernel never compiled before", of(&found[0], |c| c.first), "ms")?;
    output.figure("first call of a kernel in the cache on disk", of(&found[1], |c| c.first), "ms")?;
    output.figure("second call of a kernel", of(&found[1], |c| c.second), "ms")?;
    output.figure("accelerator and two arrays of 32^3 cells", of(&found[1], |c| c.start), "ms")
}

fn in_new_process(device: Device, caches: &std::path::Path) -> Result<FirstCall> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--first-call", "--device", device.name()])
        .env("TIDA_CACHE_DIR", caches.join("tida"))
        // The drivers' own caches would hide what compiling costs.
        .env("CUDA_CACHE_PATH", caches.join("cuda"))
        .env("POCL_CACHE_DIR", caches.join("pocl"))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.trim()).map_err(|e| {
        let errors = String::from_utf8_lossy(&output.stderr);
        format!("a new process printed {text:?} ({e}), and: {errors}").into()
    })
}
