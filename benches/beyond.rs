//! Arrays of more memory than one device has, in core on several: set, computed and reduced there.
//!
//! ```text
//! cargo bench --bench beyond -- "cuda:0,1" 1.8 20
//! ```
//!
//! The first argument names devices, as `TileAccBuilder::devices` takes them; the second one says how many times the
//! memory of one device the two arrays have together (or how many bytes, as in `64MiB`); the third one says how many
//! steps there are. Heat of 7 points in `f64`, periodic. It starts from cells that repeat themselves, so that each cell
//! of each step is known, and all cells are compared on the devices, bit by bit.

use std::time::Instant;

use tida::prelude::*;
use tida_suite::{Result, heat};

type Field = TileArray<f64, 3>;

/// Cells have equal values where `31 i + 17 j + 7 k` has the same remainder; extents are multiples of it.
const PERIOD: usize = 101;
const SIDE: usize = 10 * PERIOD;

/// A step of the cells that differ, with the same operations as the kernel.
fn step(cells: &[f64]) -> Vec<f64> {
    let at = |r: usize, off: usize| cells[(r + off) % PERIOD];
    let next = |r: usize| {
        let around = at(r, PERIOD - 31) + at(r, 31) + at(r, PERIOD - 17) + at(r, 17);
        cells[r] + 0.1 * (around + at(r, PERIOD - 7) + at(r, 7) - 6.0 * cells[r])
    };
    (0..PERIOD).map(next).collect()
}

/// Bytes of the arrays: said, or as a multiple of the memory that one of the accelerator's devices has.
fn bytes(acc: &TileAcc, said: &str) -> Result<f64> {
    if let Some(mebibytes) = said.strip_suffix("MiB") {
        return Ok(mebibytes.parse::<f64>()? * f64::from(1 << 20));
    }
    let (all, _) = acc.device_memory().ok_or("these devices have no memory of their own: say MiB")?;
    let one = all as f64 / acc.places().len() as f64;
    println!("one device has {:.1} GiB", one / f64::from(1 << 30));
    Ok(said.parse::<f64>()? * one)
}

/// The most memory that this process has had on the host, in GiB.
fn on_host() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse::<f64>()? / f64::from(1 << 20))
}

fn main() -> Result<()> {
    let given: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let get = |n: usize, other: &str| given.get(n).cloned().unwrap_or_else(|| other.to_owned());
    let (devices, size, steps) = (get(0, "cpu:1;cpu:1"), get(1, "64MiB"), get(2, "3").parse::<usize>()?);
    let acc = TileAcc::builder().devices(devices.split(';')).compile(tida::Compile::Wait).build()?;
    let plane = (8 * SIDE * SIDE) as f64;
    let planes = (bytes(&acc, &size)? / 2.0 / plane) as usize / PERIOD * PERIOD;
    let planes = planes.max(PERIOD);
    let gib = 2.0 * planes as f64 * plane / f64::from(1 << 30);
    println!("{devices}: two arrays of {planes} x {SIDE} x {SIDE} f64, {gib:.1} GiB");

    let mut known: Vec<f64> = (0..PERIOD).map(|r| ((r * 37) % PERIOD) as f64 / PERIOD as f64).collect();
    let mut table = TileArray::<f64, 1>::builder([PERIOD]).everywhere().build(&acc)?;
    table.fill(|[r]| known[r])?;
    let builder = Field::builder([planes, SIDE, SIDE]).ghost(1).boundary(Boundary::Periodic);
    let (mut u, mut next) = (builder.clone().build(&acc)?, builder.build(&acc)?);
    let start = Instant::now();
    for tile in u.tiles() {
        compute(
            &tile,
            (&mut u, all(&table)),
            kernel!(|u, table, at| u[at] = table[[(31 * at[0] + 17 * at[1] + 7 * at[2]) % 101]]),
        )?;
    }
    acc.sync()?;
    println!("set in {:.3} s", start.elapsed().as_secs_f64());
    heat::step(&mut u, &mut next)?;
    acc.sync()?;
    let start = Instant::now();
    (1..steps).try_for_each(|_| heat::step(&mut u, &mut next))?;
    acc.sync()?;
    let each = start.elapsed().as_secs_f64() / (steps - 1).max(1) as f64;
    let cells = planes as f64 * (SIDE * SIDE) as f64;
    println!("{:.3} ms a step, {:.1} Gcell/s", each * 1e3, cells / each / 1e9);

    (0..steps).for_each(|_| known = step(&known));
    table.fill(|[r]| known[r])?;
    let start = Instant::now();
    let off = reduce(
        (&u, all(&table)),
        Max,
        kernel!(|u, table, at| (u[at] - table[[(31 * at[0] + 17 * at[1] + 7 * at[2]) % 101]]).abs()),
    )?;
    println!("largest difference from what is known, of all cells: {off:e}, in {:.3} s", start.elapsed().as_secs_f64());
    let stats = acc.stats();
    println!(
        "to the devices {} bytes, back {}; {:.2} GiB on the host at most",
        stats.h2d_bytes,
        stats.d2h_bytes,
        on_host()?
    );
    if off != 0.0 {
        return Err("cells differ from what is known".into());
    }
    Ok(())
}
