//! Gathers from whole arrays: a prolongation as in multigrid, and a product of matrices.

use cudarc::driver::PushKernelArg;
use tida::Math;
use tida::prelude::*;
use tida_suite::Result;

use super::{About, ByHand, Hand, Layout, Program, Way, contest};
use crate::Bench;
use crate::cuda::{Flags, Gpu, function, upload};
use crate::heat::noise;
use crate::measure::{Output, median};

const SOURCE: &str = include_str!("../../reference/grids.cu");

/// A coarse grid and a fine one.
struct Grids {
    coarse: TileArray<f64, 3>,
    fine: TileArray<f64, 3>,
}

impl Program<f64> for Grids {
    fn run(&mut self, steps: usize) -> Result<()> {
        let Grids { coarse, fine } = self;
        for _ in 0..steps {
            for tile in TileIter::new(fine) {
                compute(
                    &tile,
                    (&mut *fine, all(&*coarse)),
                    kernel!(|u, e, at| u[at] = e[[at[0] / 2, at[1] / 2, at[2] / 2]]),
                )?;
            }
        }
        Ok(fine.acc().sync()?)
    }

    fn found(&self) -> Result<Vec<Vec<f64>>> {
        Ok(vec![self.fine.read_box(self.fine.domain())?])
    }
}

/// Each cell of a fine grid takes the value of the coarse cell that it lies in.
pub fn prolong(bench: &Bench, output: &mut Output) -> Result<()> {
    let half = (bench.size / 4).max(2);
    let n = 2 * half;
    let about = About {
        case: format!("prolong f64 {half}^3 to {n}^3"),
        cells: n.pow(3),
        bytes: (n.pow(3) + half.pow(3)) * size_of::<f64>(),
        of_copy: Some(0.9),
        of_hand: Some(0.97),
    };
    let acc = bench.accelerator(Math::Exact)?;
    let mut coarse = TileArray::<f64, 3>::builder([half; 3]).build(&acc)?;
    coarse.fill(|[k, j, i]| noise((k * half + j) * half + i))?;
    let fine = TileArray::<f64, 3>::builder([n; 3]).build(&acc)?;
    let mut tida = Grids { coarse, fine };
    let hand = bench.gpu.as_ref().map(|gpu| prolong_by_hand(gpu, half)).transpose()?.flatten();
    let plain = || {
        let of = |c: usize| noise((c / n / n / 2 * half + c / n % n / 2) * half + c % n / 2);
        vec![(0..n.pow(3)).map(of).collect()]
    };
    contest((bench, output), &about, &mut tida, hand, plain).map(drop)
}

fn prolong_by_hand(gpu: &Gpu, half: usize) -> Result<ByHand<'_, f64>> {
    let module = gpu.compile(SOURCE, Flags::Exact, &[])?;
    let mut ways = Vec::new();
    for block in [[32, 4, 2], [32, 8, 1], [64, 2, 2], [64, 4, 1], [128, 1, 1], [128, 2, 1], [128, 4, 1]] {
        for (entry, at_once) in
            [("prolong_pair", 1), ("prolong_eight", 2), ("prolong_pair_past", 1), ("prolong_eight_past", 2)]
        {
            let mut way = Way::new(&module, &[entry], block, 1)?;
            way.depth = at_once;
            ways.push(way);
        }
    }
    let n = 2 * half;
    let coarse = upload(gpu, &(0..half.pow(3)).map(noise).collect::<Vec<_>>())?;
    let fine = gpu.stream.alloc_zeros::<f64>(n.pow(3))?;
    let length = n as i32;
    let step: super::Step<'_, f64> = Box::new(move |way, arrays| {
        let [fine, coarse] = arrays else { return Ok(()) };
        let mut launch = gpu.stream.launch_builder(&way.functions[0]);
        launch.arg(fine).arg(&*coarse).arg(&length);
        // SAFETY: the arguments are those of the kernels, over cubes of `n` and of half as many cells along each axis.
        unsafe { launch.launch(way.cover([half, n / way.depth, n / way.depth]))? };
        Ok(())
    });
    // Both arrays of a program by hand are restored as they were, each by its own length.
    Ok(Some((Hand::new(gpu, Layout::new::<f64>([n; 3], 0), vec![fine, coarse], &[0], step)?, ways)))
}

fn centred(c: usize) -> f64 {
    noise(c) - 0.5
}

/// Square matrices.
struct Matrices {
    a: TileArray<f64, 2>,
    b: TileArray<f64, 2>,
    c: TileArray<f64, 2>,
}

impl Program<f64> for Matrices {
    fn run(&mut self, steps: usize) -> Result<()> {
        let Matrices { a, b, c } = self;
        let n = a.shape()[1] as i64;
        for _ in 0..steps {
            for tile in TileIter::new(c) {
                compute(
                    &tile,
                    (&mut *c, all(&*a), all(&*b)),
                    kernel!(|c, a, b, at| {
                        let [i, j] = at;
                        let mut s = 0.0;
                        for k in 0..n {
                            s += a[[i, k]] * b[[k, j]];
                        }
                        c[at] = s;
                    }),
                )?;
            }
        }
        Ok(c.acc().sync()?)
    }

    fn found(&self) -> Result<Vec<Vec<f64>>> {
        Ok(vec![self.c.read_box(self.c.domain())?])
    }
}

/// Tiles of kernels by hand: their name, rows and columns of a block, its threads.
const TILES: [(&str, [usize; 2], u32); 5] = [
    ("product_64x64x16_4x4", [64, 64], 256),
    ("product_64x64x8_8x4", [64, 64], 128),
    ("product_128x64x8_8x4", [128, 64], 256),
    ("product_64x64x8_8x8", [64, 64], 64),
    ("product_128x128x8_8x8", [128, 128], 256),
];

/// The product of two matrices.
pub fn gemm64(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = (4 * bench.size).next_multiple_of(128);
    let about = About {
        case: format!("gemm64 f64 {n}^2"),
        cells: n.pow(3),
        bytes: 3 * n * n * size_of::<f64>(),
        of_copy: None,
        of_hand: None,
    };
    let acc = bench.accelerator(Math::Exact)?;
    let mut a = TileArray::<f64, 2>::builder([n, n]).build(&acc)?;
    let (mut b, c) = (a.like()?, a.like()?);
    a.fill(|[j, i]| centred(j * n + i))?;
    b.fill(|[j, i]| centred((n + j) * n + i))?;
    let mut tida = Matrices { a, b, c };
    let hand = bench.gpu.as_ref().map(|gpu| gemm_by_hand(gpu, n)).transpose()?.flatten();
    let plain = || {
        let mut c = vec![0.0; n * n];
        for (j, row) in c.chunks_exact_mut(n).enumerate() {
            for k in 0..n {
                let left = centred(j * n + k);
                row.iter_mut().enumerate().for_each(|(i, cell)| *cell += left * centred((n + k) * n + i));
            }
        }
        vec![c]
    };
    let times = contest((bench, output), &about, &mut tida, hand, plain)?;
    for (side, times) in ["tida", "by hand"].into_iter().zip(&times).filter(|(_, times)| !times.is_empty()) {
        let rate = 2.0 * n.pow(3) as f64 / median(times) * 1e-12;
        output.figure(&format!("{}: {side}, products and sums apart", about.case), rate, "TFLOP/s")?;
    }
    Ok(())
}

fn gemm_by_hand(gpu: &Gpu, n: usize) -> Result<ByHand<'_, f64>> {
    let module = gpu.compile(SOURCE, Flags::Exact, &[])?;
    let mut ways = Vec::new();
    // The depth of a way is its place in the table.
    for (place, (name, _, threads)) in TILES.iter().enumerate() {
        let functions = vec![function(&module, name)?];
        ways.push(Way { name: (*name).into(), functions, block: [*threads, 1, 1], cells: [1, 1], depth: place });
    }
    let array = |first: usize| upload(gpu, &(0..n * n).map(|c| centred(first * n + c)).collect::<Vec<_>>());
    let arrays = vec![gpu.stream.alloc_zeros::<f64>(n * n)?, array(0)?, array(n)?];
    let length = n as i32;
    let step: super::Step<'_, f64> = Box::new(move |way, arrays| {
        let [c, a, b] = arrays else { return Ok(()) };
        let (_, [rows, columns], threads) = TILES[way.depth];
        let mut launch = gpu.stream.launch_builder(&way.functions[0]);
        launch.arg(c).arg(&*a).arg(&*b).arg(&length);
        // SAFETY: the arguments are those of the kernels, over matrices of `n` rows of `n`; their tiles divide 128,
        // which divides `n`.
        unsafe { launch.launch(way.cover([n / columns * threads as usize, n / rows, 1]))? };
        Ok(())
    });
    Ok(Some((Hand::new(gpu, Layout::square::<f64>(n), arrays, &[0], step)?, ways)))
}
