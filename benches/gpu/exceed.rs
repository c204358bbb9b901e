//! Arrays that really are larger than the device's memory, verified on a sample of cells.

use std::time::Instant;

use tida::Math;
use tida::array::GridBox;
use tida::prelude::*;
use tida_suite::Result;

use crate::Bench;
use crate::heat::{ALPHA, OUTSIDE, noise, step3};
use crate::measure::{Output, Row, Work};

const STEPS: usize = 20;
const REGIONS: usize = 64;
/// The two arrays together, as a part of the device's memory.
const LARGER: f64 = 1.1;
/// Free memory that the host has to have, as a part of the arrays': for pages, pinning and what else runs.
const ROOM: f64 = 1.3;

/// Heat f64, 20 steps, with two arrays that together are a tenth larger than the device's memory.
pub fn exceed(bench: &Bench, output: &mut Output) -> Result<()> {
    let mut builder =
        TileAcc::builder().device(bench.device).compile(tida::Compile::Wait).math(Math::Exact).look_ahead(256);
    if let Some(bytes) = bench.memory {
        builder = builder.memory_limit(bytes);
    }
    let acc = builder.build()?;
    let side = 2 * bench.large;
    let plane = 8 * side * side;
    let Some(memory) = bench.memory.or(acc.device_memory().map(|(all, _)| all)) else {
        println!("exceed: not run: {} has no memory of its own, and none was given by --memory", acc.device().name());
        return Ok(());
    };
    let planes = ((LARGER * memory as f64 / 2.0 / plane as f64).ceil() as usize).max(2 * STEPS);
    let bytes = 2 * planes * plane;
    let free = bench.host_memory.map_or_else(free_memory, Ok)?;
    let gib = |bytes: f64| bytes / f64::from(1 << 30);
    let sizes = format!(
        "two arrays of {planes} x {side} x {side} f64, {:.1} GiB; the device has {:.1} GiB, the host {:.1} GiB free",
        gib(bytes as f64),
        gib(memory as f64),
        gib(free as f64)
    );
    if (free as f64) < ROOM * bytes as f64 {
        println!("exceed: not run: {sizes}, and {:.1} GiB are wanted", gib(ROOM * bytes as f64));
        return Ok(());
    }
    println!("exceed: {sizes}");

    let shape = [planes, side, side];
    let regions = REGIONS.min(planes / 2);
    let builder = TileArray::<f64, 3>::builder(shape).regions([regions, 1, 1]).ghost(1);
    let mut u = builder.boundary(Boundary::Fixed(OUTSIDE)).build(&acc)?;
    u.fill(|at| noise(index(shape, at)))?;
    let mut next = u.like()?;
    next.fill_value(0.0)?;
    acc.sync()?;
    let start = Instant::now();
    for _ in 0..STEPS {
        u.fill_ghosts()?;
        step3(&u, &mut next)?;
        std::mem::swap(&mut u, &mut next);
    }
    acc.sync()?;
    let seconds = start.elapsed().as_secs_f64();
    println!("    {}", acc.stats());

    let samples = samples(shape, u.region_box(regions / 2).map_or(0, |cells| cells.lo[0] as usize));
    let mut differing = Vec::new();
    for &cell in &samples {
        let lo = cell.map(|x| x as i64);
        let found = u.read_box(GridBox { lo, hi: lo.map(|x| x + 1) })?;
        let expected = cone(shape, cell, STEPS);
        if found.first().map(|found| found.to_bits()) != Some(expected.to_bits()) {
            differing.push(format!("{cell:?} is {found:?}, not {expected}"));
        }
    }
    let case = format!("exceed: heat {planes}x{side}x{side} f64, {STEPS} steps");
    let words = match differing.is_empty() {
        true => format!("same bits in {} cells", samples.len()),
        false => differing.join("; "),
    };
    let check = output.checked(&case, differing.is_empty(), words);
    let cells = shape.iter().product::<usize>() * STEPS;
    output.row(&Row::new(&Work { case: case.clone(), check, cells, bytes: 0 }, &[seconds], None))?;
    output.figure(&format!("{case}: of the device's memory"), bytes as f64 / memory as f64, "x")
}

fn index([_, ny, nx]: [usize; 3], [k, j, i]: [usize; 3]) -> usize {
    (k * ny + j) * nx + i
}

/// Cells at corners, faces, near a border of regions (the plane `border` starts one), and inside.
fn samples([nz, ny, nx]: [usize; 3], border: usize) -> Vec<[usize; 3]> {
    let border = border.clamp(1, nz - 1);
    vec![
        [0, 0, 0],
        [nz - 1, ny - 1, nx - 1],
        [border, ny / 2, nx / 2],
        [border - 1, ny / 2, nx / 2],
        [border, 0, nx - 1],
        [nz / 3, ny / 3, nx / 3],
        [2 * nz / 3 + 1, ny - 2, 1],
        [nz - 2, ny / 5, nx - 7],
        [1, 17.min(ny - 1), 4 * nx / 5],
    ]
}

/// The value of a cell after so many steps, from the cells that it depends on alone.
fn cone(shape: [usize; 3], cell: [usize; 3], steps: usize) -> f64 {
    // The box of the cells that count, within the domain.
    let lo = cell.map(|x| x.saturating_sub(steps));
    let hi: [usize; 3] = std::array::from_fn(|d| (cell[d] + steps + 1).min(shape[d]));
    let extent: [usize; 3] = std::array::from_fn(|d| hi[d] - lo[d]);
    let all: Vec<[usize; 3]> = (0..extent.iter().product())
        .map(|n| [n / extent[2] / extent[1] + lo[0], n / extent[2] % extent[1] + lo[1], n % extent[2] + lo[2]])
        .collect();
    let mut u: Vec<f64> = all.iter().map(|&at| noise(index(shape, at))).collect();
    for _ in 0..steps {
        // What lies outside the box, but in the domain, is wrong at its faces and comes one cell nearer with each step:
        // it does not reach the cell.
        let value = |at: [usize; 3], d: usize, forward: bool| {
            let inside = if forward { at[d] + 1 < shape[d] } else { at[d] > 0 };
            let mut near = at;
            near[d] = if forward { at[d] + 1 } else { at[d].wrapping_sub(1) };
            match near[d] >= lo[d] && near[d] < hi[d] {
                true if inside => u[index(extent, std::array::from_fn(|d| near[d] - lo[d]))],
                _ => OUTSIDE,
            }
        };
        u = all
            .iter()
            .zip(&u)
            .map(|(&at, &c)| {
                c + ALPHA
                    * (value(at, 2, true)
                        + value(at, 2, false)
                        + value(at, 1, true)
                        + value(at, 1, false)
                        + value(at, 0, true)
                        + value(at, 0, false)
                        - 6.0 * c)
            })
            .collect();
    }
    u[index(extent, std::array::from_fn(|d| cell[d] - lo[d]))]
}

/// Bytes that the host can still give, by `/proc/meminfo`.
fn free_memory() -> Result<u64> {
    let text =
        std::fs::read_to_string("/proc/meminfo").map_err(|e| format!("tried to read /proc/meminfo; found: {e}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    Ok(kib.ok_or("tried to read the host's free memory in /proc/meminfo; found no line MemAvailable")? << 10)
}
