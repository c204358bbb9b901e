//! Work without neighbours: the compute-bound kernel of TiDA-acc §VI-B, and a sum.

use cudarc::driver::{CudaFunction, CudaSlice, PushKernelArg};
use tida::prelude::*;
use tida::{Device, Math};
use tida_suite::{Result, oracle};

use crate::Bench;
use crate::cuda::{Flags, Gpu, cover, function, upload};
use crate::heat::noise;
use crate::measure::{Output, Row, Side, Work, fastest, in_turn};

const SOURCE: &str = include_str!("../reference/cells.cu");
/// Times that a cell repeats the computation in one step.
pub const ITERATIONS: u64 = 32;
/// The largest difference between two libraries' sines and cosines after one step, from starts below 1.
const LIBRARY: f64 = 1e-12;

pub fn sincos_step(u: &mut TileArray<f64, 3>) -> tida::Result<()> {
    let iterations = ITERATIONS;
    for tile in TileIter::new(u) {
        compute(
            &tile,
            &mut *u,
            kernel!(|u, at| {
                let mut x = u[at];
                for _ in 0..iterations {
                    let s = x.sin();
                    let c = x.cos();
                    x = x + (s * s + c * c).sqrt();
                }
                u[at] = x;
            }),
        )?;
    }
    Ok(())
}

fn noisy(acc: &TileAcc, n: usize) -> Result<TileArray<f64, 3>> {
    let mut u = TileArray::<f64, 3>::builder([n; 3]).build(acc)?;
    u.fill(|[k, j, i]| noise((k * n + j) * n + i))?;
    Ok(u)
}

fn launch_sincos(gpu: &Gpu, entry: &CudaFunction, block: u32, u: &mut CudaSlice<f64>) -> Result<()> {
    let n = u.len() as u32;
    let mut launch = gpu.stream.launch_builder(entry);
    launch.arg(u).arg(&n).arg(&ITERATIONS);
    // SAFETY: the arguments are those of the kernel, which leaves out threads beyond the `n` cells that `u` holds.
    unsafe { launch.launch(cover([n as usize, 1, 1], [block, 1, 1]))? };
    Ok(())
}

/// Exactly, with both sides compiled without contraction; and fast, both with it.
pub fn sincos(bench: &Bench, output: &mut Output) -> Result<()> {
    for (math, flags, word) in [(Math::Exact, Flags::Exact, "exact"), (Math::Fast, Flags::Default, "fast")] {
        sincos_with(bench, output, math, flags, word)?;
    }
    Ok(())
}

fn sincos_with(bench: &Bench, output: &mut Output, math: Math, flags: Flags, word: &str) -> Result<()> {
    let n = bench.size;
    let cells = n.pow(3);
    let case = format!("sincos f64 {n}^3 x{ITERATIONS}, {word}");
    let acc = bench.accelerator(math)?;
    let mut u = noisy(&acc, n)?;
    sincos_step(&mut u)?;
    let found = u.read_box(u.domain())?;
    let mut work = Work { case: case.clone(), check: String::new(), cells, bytes: 2 * cells * size_of::<f64>() };
    let start: Vec<f64> = (0..cells).map(noise).collect();
    let mut run = |steps: usize| -> Result<()> {
        for _ in 0..steps {
            sincos_step(&mut u)?;
        }
        Ok(acc.sync()?)
    };
    let Some(gpu) = &bench.gpu else {
        work.check = agreement(output, &case, &found, &oracle::sincos(&start, 1, ITERATIONS), true);
        let times = in_turn(bench.effort, &mut [Box::new(&mut run)])?;
        return output.row(&Row::new(&work, &times[0], None));
    };

    let module = gpu.compile(SOURCE, flags, &[])?;
    let plain = function(&module, "sin_cos")?;
    let mut v = upload(gpu, &start)?;
    launch_sincos(gpu, &plain, 256, &mut v)?;
    let expected = gpu.stream.clone_dtoh(&v)?;
    let exact = bench.device == Device::Cuda && math == Math::Exact;
    work.check = agreement(output, &case, &found, &expected, exact);
    drop((found, expected, start));

    let mut best: Option<(f64, String, CudaFunction, u32)> = None;
    for entry in ["sin_cos", "sin_cos_paired"] {
        let function = function(&module, entry)?;
        for block in [64, 128, 256, 512] {
            let run = |steps: usize| -> Result<()> {
                for _ in 0..steps {
                    launch_sincos(gpu, &function, block, &mut v)?;
                }
                gpu.wait()
            };
            let (_, medians) = fastest(bench.effort, &mut [Box::new(run)])?;
            if best.as_ref().is_none_or(|(seconds, ..)| medians[0] < *seconds) {
                best = Some((medians[0], format!("{entry} {block}"), function.clone(), block));
            }
        }
    }
    let (_, name, function, block) = best.ok_or("no reference")?;
    let reference = |steps: usize| -> Result<()> {
        for _ in 0..steps {
            launch_sincos(gpu, &function, block, &mut v)?;
        }
        gpu.wait()
    };
    let times = in_turn(bench.effort, &mut [Box::new(reference), Box::new(&mut run)])?;
    output.row(&Row::new(&work, &times[1], Some((&name, &times[0]))))
}

/// Compares two results: bits, or what two libraries may differ by.
fn agreement(output: &mut Output, case: &str, found: &[f64], expected: &[f64], exact: bool) -> String {
    let largest = tida_suite::oracle::max_abs_error(found, expected);
    let words = if largest == 0.0 { "same bits".into() } else { format!("differs by {largest:.1e}") };
    output.checked(case, largest <= if exact { 0.0 } else { LIBRARY }, words)
}

/// A sum against one by hand, and against a copy: both should move bytes as fast as memory does.
pub fn sum(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = bench.size;
    let cells = n.pow(3);
    let case = format!("sum f64 {n}^3");
    let acc = bench.accelerator(Math::Exact)?;
    let u = noisy(&acc, n)?;
    // Recorded and taken later, as a loop that watches a residual does: the next sum starts while the last one comes
    // back.
    let total = |u: &TileArray<f64, 3>| reduce_later(u, Sum, kernel!(|u, at| u[at]));
    let found = total(&u)?.get()?;
    let start: Vec<f64> = (0..cells).map(noise).collect();
    let mut work = Work { case: case.clone(), check: String::new(), cells, bytes: cells * size_of::<f64>() };
    let mut run = |steps: usize| -> Result<()> {
        let sums = (0..steps).map(|_| total(&u)).collect::<tida::Result<Vec<_>>>()?;
        for sum in sums {
            sum.get()?;
        }
        Ok(())
    };
    let mut check = |expected: f64| {
        let relative = ((found - expected) / expected).abs();
        output.checked(&case, relative < 1e-12, format!("differs by {relative:.1e} of it"))
    };
    let Some(gpu) = &bench.gpu else {
        work.check = check(start.iter().sum());
        let times = in_turn(bench.effort, &mut [Box::new(run)])?;
        return output.row(&Row::new(&work, &times[0], None));
    };

    let module = gpu.compile(SOURCE, Flags::Default, &[])?;
    let sum = function(&module, "sum")?;
    let v = upload(gpu, &start)?;
    let mut result = gpu.stream.alloc_zeros::<f64>(1)?;
    drop(start);
    let mut by_hand = |blocks: usize, block: u32| -> Result<f64> {
        gpu.stream.memset_zeros(&mut result)?;
        let count = cells as u32;
        let mut launch = gpu.stream.launch_builder(&sum);
        launch.arg(&v).arg(&count).arg(&mut result);
        // SAFETY: the arguments are those of the kernel, `v` holds `count` cells, and blocks are whole warps.
        unsafe { launch.launch(cover([blocks * block as usize, 1, 1], [block, 1, 1]))? };
        // As a reduction does for its user: the value comes back to the host.
        Ok(gpu.stream.clone_dtoh(&result)?[0])
    };
    work.check = check(by_hand(512, 256)?);

    let mut best: Option<(f64, usize, u32)> = None;
    for (blocks, block) in [(528, 256), (1056, 256), (2112, 256), (528, 512), (1056, 512), (8448, 256), (264, 1024)] {
        let run = |steps| (0..steps).try_for_each(|_| by_hand(blocks, block).map(drop));
        let (_, medians) = fastest(bench.effort, &mut [Box::new(run)])?;
        if best.is_none_or(|(seconds, ..)| medians[0] < seconds) {
            best = Some((medians[0], blocks, block));
        }
    }
    let (_, blocks, block) = best.ok_or("no reference")?;
    let mut copier = Copier::new(gpu, cells)?;
    let mut sides: [Side<'_>; 3] = [
        Box::new(|steps| (0..steps).try_for_each(|_| by_hand(blocks, block).map(drop))),
        Box::new(|steps| copier.run(steps)),
        Box::new(&mut run),
    ];
    let times = in_turn(bench.effort, &mut sides)?;
    output.row(&Row::new(&work, &times[2], Some((&format!("sum, {blocks} blocks of {block}"), &times[0]))))?;
    // A copy moves twice the bytes of a sum: half its time is what a sum would take at its speed.
    let halves: Vec<f64> = times[1].iter().map(|seconds| seconds / 2.0).collect();
    output.row(&Row::new(&work, &times[2], Some(("bytes of a copy", &halves))))
}

/// A copy of many cells: what bytes a second can be had.
#[derive(Debug)]
pub struct Copier<'g> {
    gpu: &'g Gpu,
    copy: CudaFunction,
    from: CudaSlice<f64>,
    to: CudaSlice<f64>,
}

impl<'g> Copier<'g> {
    /// Of an even number of cells.
    pub fn new(gpu: &'g Gpu, cells: usize) -> Result<Copier<'g>> {
        let module = gpu.compile(SOURCE, Flags::Default, &[])?;
        let some: Vec<f64> = (0..1 << 16).map(noise).collect();
        let from: Vec<f64> = some.iter().copied().cycle().take(cells).collect();
        let (from, to) = (upload(gpu, &from)?, gpu.stream.alloc_zeros::<f64>(cells)?);
        Ok(Copier { gpu, copy: function(&module, "copy")?, from, to })
    }

    /// Copies all cells so many times, and waits.
    pub fn run(&mut self, steps: usize) -> Result<()> {
        let cells = self.from.len();
        let count = cells as u32;
        for _ in 0..steps {
            let mut launch = self.gpu.stream.launch_builder(&self.copy);
            launch.arg(&mut self.to).arg(&self.from).arg(&count);
            // SAFETY: the arguments are those of the kernel; both arrays hold `count` cells.
            unsafe { launch.launch(cover([cells / 2, 1, 1], [256, 1, 1]))? };
        }
        self.gpu.wait()
    }

    /// Read and written in one copy.
    pub fn bytes(&self) -> usize {
        2 * self.from.len() * size_of::<f64>()
    }
}
