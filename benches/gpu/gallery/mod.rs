//! The gallery's programs against CUDA written by hand (Lashgar Fig. 3.1), operations one by one (Fig. 3.2 and 3.6),
//! what tiles in shared memory do for stencils (Fig. 5.4 and 7.5), and ways to find what is shared (Fig. 5.5 and 5.6).
//! What it found is in `docs/papers/ipmacc.md`.

mod breakdown;
mod graphs;
mod lines;
mod operations;
mod planes;
mod sharing;
mod tiles;

use std::cell::RefCell;
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule};
use tida::TileAcc;
use tida_suite::Result;

use crate::Bench;
use crate::cuda::{Flags, Gpu, function};
use crate::measure::{Output, Row, Side, Work, fastest, in_turn};

pub use breakdown::breakdown;
pub use operations::operations;
pub use sharing::sharing;
pub use tiles::stencils;

/// Launches a kernel of `gallery.cu`: the arguments are the kernel's, over arrays as long as its indexes go.
macro_rules! launch {
    ($gpu:expr, $function:expr, $config:expr, $($argument:expr),+) => {{
        let mut launch = $gpu.stream.launch_builder($function);
        $(launch.arg($argument);)+
        // SAFETY: who calls gives the arguments that the kernel names, over arrays as long as its indexes go.
        $gpu.marked($crate::cuda::Part::Kernels, || unsafe { launch.launch($config) })?;
    }};
}
pub(crate) use launch;

/// The first GPU, which these cases cannot do without.
pub fn gpu(bench: &Bench) -> Result<&Gpu> {
    Ok(bench.gpu.as_ref().ok_or("tried to compare with programs by hand; found no GPU; run it with --device cuda")?)
}

/// Programs by hand, compiled as tida compiles.
pub fn by_hand(gpu: &Gpu) -> Result<ByHand> {
    Ok(ByHand { module: gpu.compile(include_str!("../../reference/gallery.cu"), Flags::Exact, &[])? })
}

/// See [`by_hand`].
#[derive(Debug)]
pub struct ByHand {
    module: Arc<CudaModule>,
}

impl ByHand {
    pub fn get(&self, name: &str) -> Result<CudaFunction> {
        function(&self.module, name)
    }
}

/// A program on both sides.
pub trait Twin {
    /// Records tida's steps.
    fn record(&mut self, steps: usize) -> Result<()>;

    fn acc(&self) -> &TileAcc;

    /// As [`Twin::record`], and waits.
    fn tida(&mut self, steps: usize) -> Result<()> {
        self.record(steps)?;
        Ok(self.acc().sync()?)
    }

    /// By hand, in one of its ways.
    fn hand(&mut self, way: usize, steps: usize) -> Result<()>;

    /// Names of the ways by hand; the fastest counts.
    fn ways(&self) -> Vec<String> {
        vec!["by hand".into()]
    }

    /// What tida's side and the other one hold.
    fn results(&self) -> Result<[Vec<f32>; 2]>;
}

/// What is said of a program.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    pub name: &'a str,
    pub cells: usize,
    /// Bytes that a step reads and writes at least.
    pub bytes: usize,
    /// How far results may be apart, of the largest: 0 where both sides compute in one order.
    pub apart: f32,
}

/// Blocks that kernels over planes by hand are tried with.
pub const BLOCKS: [[u32; 3]; 4] = [[32, 8, 1], [64, 4, 1], [128, 2, 1], [256, 1, 1]];

/// Two steps on both sides, whose results are compared; then both in turn.
pub fn compare(bench: &Bench, output: &mut Output, about: About<'_>, twin: &mut dyn Twin) -> Result<()> {
    let ways = twin.ways();
    let mut check = String::new();
    for (way, name) in ways.iter().enumerate() {
        twin.tida(2)?;
        twin.hand(way, 2)?;
        let [found, expected] = twin.results()?;
        check = agree(output, &format!("{}, {name}", about.name), &found, &expected, about.apart);
    }
    let twin = &RefCell::new(twin);
    let mut sides: Vec<Side<'_>> = Vec::new();
    for way in 0..ways.len() {
        sides.push(Box::new(move |steps| twin.borrow_mut().hand(way, steps)));
    }
    let (best, _) = fastest(bench.effort, &mut sides)?;
    drop(sides);
    let mut sides: [Side<'_>; 2] =
        [Box::new(|steps| twin.borrow_mut().hand(best, steps)), Box::new(|steps| twin.borrow_mut().tida(steps))];
    let times = in_turn(bench.effort, &mut sides)?;
    let work = Work { case: about.name.into(), check, cells: about.cells, bytes: about.bytes };
    output.row(&Row::new(&work, &times[1], Some((&ways[best], &times[0]))))
}

/// Says how far two results are apart.
pub fn agree(output: &mut Output, case: &str, found: &[f32], expected: &[f32], apart: f32) -> String {
    if apart == 0.0 {
        let same = found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| a.to_bits() == b.to_bits());
        return output.checked(case, same, if same { "same bits".into() } else { "DIFFERS".into() });
    }
    let largest = expected.iter().fold(0.0f32, |most, value| most.max(value.abs()));
    let most = found.iter().zip(expected).fold(0.0f32, |most, (a, b)| most.max((a - b).abs()));
    let right = found.len() == expected.len() && most <= apart * largest;
    output.checked(case, right, format!("{:.1e} apart", most / largest))
}

/// The programs, one after the other.
pub fn programs(bench: &Bench, output: &mut Output) -> Result<()> {
    let kernels = by_hand(gpu(bench)?)?;
    lines::run(bench, &kernels, output)?;
    planes::run(bench, &kernels, output)?;
    graphs::run(bench, &kernels, output)
}
