//! What tiles in shared memory do for stencils (Lashgar Fig. 5.4 and 7.5).

use cudarc::driver::{CudaFunction, CudaSlice, PushKernelArg};
use tida::Math;
use tida::prelude::*;
use tida_suite::Result;

use super::breakdown::{Ends, Table, Whole};
use super::planes::{Rings, Sobel, WHOLE, block_name};
use super::{About, BLOCKS, ByHand, Twin, by_hand, compare, gpu, launch};
use crate::Bench;
use crate::cuda::{Gpu, cover, upload};
use crate::heat::noise;
use crate::mapping::How;
use crate::measure::Output;
use crate::walks::{HOW, hinted};

pub fn stencils(bench: &Bench, output: &mut Output) -> Result<()> {
    let kernels = by_hand(gpu(bench)?)?;
    for n in [512, 1024, 2048, 4096, 8192] {
        for (word, cached) in HOW {
            let about = About { name: &format!("jacobi9 {n}^2, {word}"), cells: n * n, bytes: 8 * n * n, apart: 0.0 };
            compare(bench, output, about, &mut Nine::new(bench, &kernels, n, cached)?)?;
        }
    }
    let n = 8 * bench.size;
    for (word, cached) in HOW.into_iter().filter(|(word, _)| *word != "EHC") {
        let about = About { name: &format!("sobel {n}^2, {word}"), cells: n * n, bytes: 2 * n * n, apart: 0.0 };
        compare(bench, output, about, &mut Sobel::new(bench, &kernels, n, cached)?)?;
        let about = About { name: &format!("hotspot {n}^2, {word}"), cells: n * n, bytes: 12 * n * n, apart: 0.0 };
        let how = How { cache: cached, ..How::default() };
        compare(bench, output, about, &mut Rings::chip(bench, &kernels, n, how)?)?;
    }
    Ok(())
}

/// From the host to the host, for [`super::breakdown`].
pub fn wholes(bench: &Bench, kernels: &ByHand, table: &mut Table<'_>) -> Result<()> {
    let n = 8 * bench.size;
    table.program(&format!("jacobi9 {n}^2"), WHOLE, 0.0, || Nine::new(bench, kernels, n, None))
}

/// A mean of nine cells.
struct Nine<'a> {
    gpu: &'a Gpu,
    kernels: [CudaFunction; 2],
    acc: TileAcc,
    arrays: [TileArray<f32, 2>; 2],
    slices: [CudaSlice<f32>; 2],
    n: usize,
    cached: Option<Cache>,
}

impl<'a> Nine<'a> {
    fn new(bench: &'a Bench, kernels: &ByHand, n: usize, cached: Option<Cache>) -> Result<Nine<'a>> {
        let (acc, gpu) = (bench.accelerator(Math::Exact)?, gpu(bench)?);
        let mut u = TileArray::<f32, 2>::builder([n, n]).ghost(1).boundary(Boundary::Fixed(0.5)).build(&acc)?;
        u.fill(|[j, i]| noise(j * n + i) as f32)?;
        let next = u.like()?;
        let mut ring = vec![0.5f32; (n + 2) * (n + 2)];
        (0..n * n).for_each(|at| ring[(at / n + 1) * (n + 2) + at % n + 1] = noise(at) as f32);
        Ok(Nine {
            gpu,
            kernels: [kernels.get("jacobi9")?, kernels.get("jacobi9_tiled")?],
            arrays: [u, next],
            slices: [upload(gpu, &ring)?, upload(gpu, &ring)?],
            acc,
            n,
            cached,
        })
    }
}

impl Twin for Nine<'_> {
    fn record(&mut self, steps: usize) -> Result<()> {
        let [u, next] = &mut self.arrays;
        for _ in 0..steps {
            u.fill_ghosts()?;
            for tile in hinted(TileIter::new(u), &[1], self.cached) {
                compute(
                    &tile,
                    (&mut *next, &*u),
                    kernel!(|next, u, at| {
                        let sides = u[at + [-1, 0]] + u[at + [0, -1]] + u[at + [0, 1]] + u[at + [1, 0]];
                        let corners = u[at + [-1, -1]] + u[at + [-1, 1]] + u[at + [1, -1]] + u[at + [1, 1]];
                        next[at] = 0.2 * u[at] + 0.15 * sides + 0.05 * corners;
                    }),
                )?;
            }
            std::mem::swap(u, next);
        }
        Ok(())
    }

    fn acc(&self) -> &TileAcc {
        &self.acc
    }

    fn hand(&mut self, way: usize, steps: usize) -> Result<()> {
        let ([u, next], n) = (&mut self.slices, self.n as i32);
        let kernel = &self.kernels[usize::from(way == BLOCKS.len())];
        for _ in 0..steps {
            let config = cover([self.n, self.n, 1], BLOCKS.get(way).copied().unwrap_or([32, 8, 1]));
            launch!(self.gpu, kernel, config, &mut *next, &*u, &n);
            std::mem::swap(u, next);
        }
        self.gpu.wait()
    }

    fn ways(&self) -> Vec<String> {
        BLOCKS.map(block_name).into_iter().chain(["32x8, shared".into()]).collect()
    }

    fn results(&self) -> Result<[Vec<f32>; 2]> {
        let (n, u) = (self.n, &self.arrays[0]);
        let ring = self.gpu.stream.clone_dtoh(&self.slices[0])?;
        let row = |j: usize| ring[(j + 1) * (n + 2) + 1..][..n].iter().copied();
        Ok([u.read_box(u.domain())?, (0..n).flat_map(row).collect()])
    }
}

impl Whole for Nine<'_> {
    fn sources(&mut self) -> Ends<'_> {
        (vec![&mut self.arrays[0]], vec![&mut self.slices[0]])
    }

    fn targets(&mut self) -> Ends<'_> {
        (vec![&mut self.arrays[0]], vec![&mut self.slices[0]])
    }
}
