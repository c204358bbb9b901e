//! Micro-benchmarks of the GPU's memory (Lashgar 2017, ch. 4): loads under way at once, banks of shared memory, and
//! reads that wait for one another. `cargo xtask bench micro`. What they found is in `docs/papers/ipmacc.md`.

use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE;
use cudarc::driver::{CudaSlice, LaunchConfig, PushKernelArg};
use tida_suite::Result;

use crate::Bench;
use crate::cuda::{Flags, Gpu, function, upload};
use crate::measure::{Output, median};

const SOURCE: &str = include_str!("../reference/micro.cu");
/// The chains that tida itself measures with.
const CHAINS: &str = include_str!("../../tida/src/backend/profile.cu");

fn gpu(bench: &Bench) -> Result<&Gpu> {
    Ok(bench.gpu.as_ref().ok_or("tried to measure a GPU's memory; found --device cpu; leave that flag out")?)
}

/// Bytes of the second-level cache.
pub fn cache(gpu: &Gpu) -> Result<usize> {
    Ok(usize::try_from(gpu.stream.context().attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?)?)
}

/// Memory whose clearing leaves nothing else in the cache.
fn flush(gpu: &Gpu) -> Result<CudaSlice<u8>> {
    Ok(gpu.stream.alloc_zeros::<u8>(2 * cache(gpu)?.max(16 << 20))?)
}

/// One block of so many threads, or several.
fn blocks(blocks: u32, threads: (u32, u32)) -> LaunchConfig {
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (threads.0, threads.1, 1), shared_mem_bytes: 0 }
}

/// Threads that share an address, in the thesis's words (§4.1.2).
const PATTERNS: [(i32, &str); 6] = [
    (1, "all unique"),
    (2, "2-coalesced"),
    (4, "4-coalesced"),
    (8, "8-coalesced"),
    (16, "16-coalesced"),
    (32, "32-coalesced"),
];
/// Threads of a block that the table shows.
const SHOWN: [u32; 7] = [2, 32, 64, 128, 256, 512, 1024];
/// As in the source: threads of the largest block, the word behind those that are loaded, and words of a page.
const MOST: usize = 1024;
const BEHIND: usize = 1 << 18;

/// Thread-latency plots of outstanding memory requests (§4.1, Listing 4.1): of data in L2, as in the thesis, where what
/// is seen is the multiprocessor's own, and of data in memory.
pub fn loads(bench: &Bench, output: &mut Output) -> Result<()> {
    loads_from(bench, output, true)?;
    loads_from(bench, output, false)
}

fn loads_from(bench: &Bench, output: &mut Output, cached: bool) -> Result<()> {
    let gpu = gpu(bench)?;
    let module = gpu.compile(SOURCE, Flags::Default, &[])?;
    let words: Vec<i32> = (0..2 * BEHIND as i32).collect();
    let (input, mut flush) = (upload(gpu, &words)?, flush(gpu)?);
    // Few threads one by one, since there the loads of a warp queue.
    let counts: Vec<u32> = (2..64).step_by(2).chain((64..=MOST as u32).step_by(16)).collect();
    let rounds = bench.effort.rounds;
    let slots = counts.len() * rounds;
    let from = if cached { "L2" } else { "memory" };
    println!("\nCycles until all loads of a block are there, from {from}; median of {rounds}\n");
    let header: Vec<String> = SHOWN.iter().map(|threads| format!("{threads} threads")).collect();
    println!("| pattern | loads a thread | {} | steepest |", header.join(" | "));
    println!("|---|---|{}---|", "---|".repeat(SHOWN.len()));
    for (share, pattern) in PATTERNS {
        for loads in 1..=4 {
            let kernel = function(&module, &format!("loads_{loads}"))?;
            let mut cycles = gpu.stream.alloc_zeros::<i64>(slots)?;
            let mut sums = gpu.stream.alloc_zeros::<i32>(slots * MOST)?;
            for slot in 0..slots {
                // A launch finds L1 empty. What the first ones bring to L2 stays there.
                if !cached {
                    gpu.stream.memset_zeros(&mut flush)?;
                }
                let (number, threads) = (slot as i32, counts[slot / rounds]);
                let mut launch = gpu.stream.launch_builder(&kernel);
                launch.arg(&input).arg(&mut sums).arg(&mut cycles).arg(&share).arg(&number);
                // SAFETY: the arguments are those of the kernel; there is a slot for each launch, and words for all
                // threads.
                unsafe { launch.launch(blocks(1, (threads, 1)))? };
            }
            let (cycles, sums) = (gpu.stream.clone_dtoh(&cycles)?, gpu.stream.clone_dtoh(&sums)?);
            let case = format!("thread latency, {from}, {pattern}");
            let series = if loads == 1 { "1 load a thread".to_owned() } else { format!("{loads} loads a thread") };
            let mut right = true;
            let mut medians = Vec::new();
            for (place, &threads) in counts.iter().enumerate() {
                let own = place * rounds..(place + 1) * rounds;
                right &= own.clone().all(|slot| {
                    let sums = &sums[slot * MOST..][..threads as usize];
                    sums.iter().enumerate().all(|(thread, sum)| *sum == expected(thread, threads, share, loads))
                });
                let values: Vec<f64> = cycles[own].iter().map(|cycles| *cycles as f64).collect();
                output.point((&case, &threads.to_string(), &series), &values, "cycles")?;
                medians.push((threads, median(&values)));
            }
            output.checked(&format!("{case}, {series}"), right, "sums differ".into());
            let shown =
                |threads: &u32| medians.iter().find(|(other, _)| other == threads).map_or(f64::NAN, |(_, m)| *m);
            let row: Vec<String> = SHOWN.iter().map(|threads| format!("{:.0}", shown(threads))).collect();
            println!("| {pattern} | {loads} | {} | {} |", row.join(" | "), steepest(&medians));
        }
    }
    Ok(())
}

/// What a thread's loads add up to.
fn expected(thread: usize, threads: u32, share: i32, loads: i32) -> i32 {
    let lines = (threads as i32 + share - 1) / share;
    (0..loads).map(|load| (load * lines + thread as i32 / share) * 32).sum()
}

/// Where latency rises most from one number of threads to the next, of those beyond two warps: what the thesis sees as
/// the spike of the variance.
fn steepest(medians: &[(u32, f64)]) -> String {
    let rise = |pair: &[(u32, f64)]| pair[1].1 - pair[0].1;
    let beyond = medians.windows(2).filter(|pair| pair[0].0 >= 64);
    beyond
        .max_by(|a, b| rise(a).total_cmp(&rise(b)))
        .map_or_else(String::new, |pair| format!("{} to {}: +{:.0}", pair[0].0, pair[1].0, rise(pair)))
}

/// Banks of shared memory (§4.2, Listing 4.2).
pub fn banks(bench: &Bench, output: &mut Output) -> Result<()> {
    let gpu = gpu(bench)?;
    let module = gpu.compile(SOURCE, Flags::Default, &[])?;
    let rounds = bench.effort.rounds.min(9);
    println!("\nCycles of a block that adds neighbours in a tile of shared memory; median of {rounds}\n");
    println!("| tile | bytes | iterations | XY | XY, padded | YX | YX, padded |\n|---|---|---|---|---|---|---|");
    for side in [16, 32] {
        for bytes in [1, 2, 4, 8, 16] {
            for iterations in [1, 2, 4] {
                let start: Vec<u8> = (0..side * side * bytes).map(|at| (at * 37 + at / 256) as u8).collect();
                let right = neighbours(&start, side, bytes, iterations);
                let mut row = Vec::new();
                for (way, pad, series) in
                    [("xy", 0, "XY"), ("xy", 1, "XY, padded"), ("yx", 0, "YX"), ("yx", 1, "YX, padded")]
                {
                    let kernel = function(&module, &format!("{way}_{bytes}_{side}_{pad}"))?;
                    let mut cycles = gpu.stream.alloc_zeros::<i64>(1)?;
                    let (mut values, mut found) = (Vec::new(), Vec::new());
                    // The first one brings the kernel to the GPU.
                    for _ in 0..=rounds {
                        let mut cells = upload(gpu, &start)?;
                        let mut launch = gpu.stream.launch_builder(&kernel);
                        launch.arg(&mut cells).arg(&mut cycles).arg(&iterations);
                        // SAFETY: the arguments are those of the kernel, over a tile of as many cells.
                        unsafe { launch.launch(blocks(1, (side as u32, side as u32)))? };
                        values.push(gpu.stream.clone_dtoh(&cycles)?[0] as f64);
                        found = gpu.stream.clone_dtoh(&cells)?;
                    }
                    let plot = format!("banks, {side} x {side}, {iterations} iterations");
                    output.point((&plot, &format!("{bytes} bytes"), series), &values[1..], "cycles")?;
                    output.checked(&format!("{plot}, {bytes} bytes, {series}"), found == right, "cells differ".into());
                    row.push(format!("{:.0}", median(&values[1..])));
                }
                println!("| {side} x {side} | {bytes} | {iterations} | {} |", row.join(" | "));
            }
        }
    }
    Ok(())
}

/// The same by plain loops: cells of so many bytes, those of 16 as two halves.
fn neighbours(start: &[u8], side: usize, bytes: usize, iterations: i32) -> Vec<u8> {
    let part = bytes.min(8);
    let parts = bytes / part;
    let load = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    let mut cells: Vec<u64> = start.chunks_exact(part).map(load).collect();
    for _ in 0..iterations {
        let of = |row: usize, column: usize, half: usize| cells[(row * side + column) * parts + half];
        let sum = |at: usize| {
            let (row, column, half) = (at / parts / side, at / parts % side, at % parts);
            let (below, above) = ((row + 1).min(side - 1), row.saturating_sub(1));
            let (right, left) = ((column + 1).min(side - 1), column.saturating_sub(1));
            [(row, column), (below, column), (above, column), (row, right), (row, left)]
                .iter()
                .fold(0u64, |sum, (row, column)| sum.wrapping_add(of(*row, *column, half)))
        };
        cells = (0..cells.len()).map(sum).collect();
    }
    cells.iter().flat_map(|cell| cell.to_le_bytes().into_iter().take(part)).collect()
}

/// What the chains do, as their source numbers it.
const LINK: u32 = 0;
const SHARED: u32 = 1;
const MEMORY: u32 = 2;

/// Reads that each wait for the one before.
struct Chain {
    name: &'static str,
    what: u32,
    /// Steps where the threads of a warp read neighbours, and where each reads a line: what they touch fits where it is
    /// to be.
    steps: [u32; 2],
    /// Cells of 8 bytes from a step to the next where they read neighbours.
    pitch: u32,
    reads: u32,
    /// Whether caches are to hold nothing of it.
    cold: bool,
}

/// Latency of dependent reads by where the data is.
pub fn latency(bench: &Bench, output: &mut Output) -> Result<()> {
    let gpu = gpu(bench)?;
    let module = gpu.compile(CHAINS, Flags::Default, &[])?;
    let kernel = function(&module, "tida_profile")?;
    let mut cells = gpu.stream.alloc_zeros::<u64>(4096 * 512)?;
    let (mut result, mut flush) = (gpu.stream.alloc_zeros::<u64>(2)?, flush(gpu)?);
    let rounds = bench.effort.rounds.min(9);
    let near = Chain { name: "", what: MEMORY, steps: [16, 4], pitch: 32, reads: 1 << 14, cold: false };
    let far = Chain { steps: [4096; 2], pitch: 512, reads: 4096, ..near };
    let chains = [
        Chain { name: "shared memory", what: SHARED, ..near },
        Chain { name: "L1", ..near },
        Chain { name: "L2", ..far },
        Chain { name: "memory", cold: true, ..far },
    ];
    println!("\nNanoseconds of a read that waits for the one before, one warp; median of {rounds}\n");
    println!("| from | neighbours | a line a thread |\n|---|---|---|");
    for chain in &chains {
        let mut row = Vec::new();
        for (place, series) in [(0, "a warp reads neighbours"), (1, "each thread reads a line")] {
            if chain.what == SHARED && place == 1 {
                row.push("-".to_owned());
                continue;
            }
            let (apart, pitch) = if place == 0 { (1u32, chain.pitch) } else { (16, 512) };
            let steps = chain.steps[place];
            let mut run = |blocks_of: u32, reads: u32, what: u32| -> Result<[u64; 2]> {
                let mut launch = gpu.stream.launch_builder(&kernel);
                launch.arg(&mut result).arg(&mut cells).arg(&apart).arg(&pitch).arg(&steps).arg(&reads).arg(&what);
                // SAFETY: the arguments are those of the kernel; the cells of all steps are there.
                unsafe { launch.launch(blocks(blocks_of, (32, 1)))? };
                let found = gpu.stream.clone_dtoh(&result)?;
                Ok([found[0], found[1]])
            };
            run(steps, 0, LINK)?;
            let (mut values, mut right) = (Vec::new(), true);
            // The first one fills the caches.
            for _ in 0..=rounds {
                if chain.cold {
                    gpu.stream.memset_zeros(&mut flush)?;
                }
                let [took, came_round] = run(1, chain.reads, chain.what)?;
                values.push(took as f64 / f64::from(chain.reads));
                right &= came_round == 1;
            }
            output.point(("latency", chain.name, series), &values[1..], "ns")?;
            output.checked(&format!("latency, {}, {series}", chain.name), right, "a chain that went astray".into());
            row.push(format!("{:.1}", median(&values[1..])));
        }
        println!("| {} | {} |", chain.name, row.join(" | "));
    }
    Ok(())
}
