//! The product of two matrices and bodies that pull one another, tile by tile (Lashgar Fig. 6.4, 6.5: FETCH_ONLY).

use cudarc::driver::{CudaFunction, CudaSlice, PushKernelArg};
use tida::prelude::*;
use tida::{Cache, TileAcc};
use tida_suite::Result;

use super::{Form, Kind, Shared, Table, Way, shared};
use crate::Bench;
use crate::cuda::{Flags, Gpu, cover, function, upload};
use crate::gallery::launch;
use crate::measure::Output;
use crate::walks::{Body, SOFTENING, attract, body, hinted, multiply, single};

/// Matrices by hand: what is written, and the two.
struct Squares<'a> {
    gpu: &'a Gpu,
    n: usize,
    slices: [CudaSlice<f32>; 3],
}

struct SquaresByHand<'a> {
    on: Shared<Squares<'a>>,
    kernel: CudaFunction,
    side: u32,
}

impl Form for SquaresByHand<'_> {
    fn restart(&mut self) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, times: usize) -> Result<()> {
        let Squares { gpu, n: length, slices: [c, a, b] } = &mut *self.on.borrow_mut();
        let n = *length as i32;
        for _ in 0..times {
            let config = cover([*length, *length, 1], [self.side, self.side, 1]);
            launch!(gpu, &self.kernel, config, &mut *c, &*a, &*b, &n);
        }
        gpu.wait()
    }

    fn found(&self) -> Result<Vec<u32>> {
        let on = self.on.borrow();
        Ok(on.gpu.stream.clone_dtoh(&on.slices[0])?.into_iter().map(f32::to_bits).collect())
    }
}

/// tida's matrices.
struct Matrices {
    acc: TileAcc,
    a: TileArray<f32, 2>,
    b: TileArray<f32, 2>,
    c: TileArray<f32, 2>,
}

struct MatricesBy {
    on: Shared<Matrices>,
    way: fn(&mut Matrices) -> tida::Result<()>,
}

impl Form for MatricesBy {
    fn restart(&mut self) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, times: usize) -> Result<()> {
        let on = &mut *self.on.borrow_mut();
        (0..times).try_for_each(|_| (self.way)(on))?;
        Ok(on.acc.sync()?)
    }

    fn found(&self) -> Result<Vec<u32>> {
        let Matrices { c, .. } = &*self.on.borrow();
        Ok(c.read_box(c.domain())?.into_iter().map(f32::to_bits).collect())
    }
}

/// A cell a thread, squares of the two in shared memory, of so many cells a side.
macro_rules! squares {
    ($name:ident, $side:tt) => {
        fn $name(on: &mut Matrices) -> tida::Result<()> {
            let Matrices { a, b, c, .. } = on;
            let strips = a.shape()[1] as i64 / $side;
            for tile in TileIter::new(c) {
                compute_groups(
                    &tile,
                    [$side, $side],
                    (&mut *c, all(a), all(b)),
                    group_kernel!(|c, a, b, group| {
                        let left = group.shared::<f32>([$side, $side]);
                        let right = group.shared::<f32>([$side, $side]);
                        let sum = group.private(0.0);
                        for strip in 0..strips {
                            group.each(|t| {
                                let [row, column] = t.at();
                                left[t] = a[[row, strip * $side + t[1]]];
                                right[t] = b[[strip * $side + t[0], column]];
                            });
                            group.each(|t| {
                                for k in 0..$side {
                                    sum += left[[t[0], k]] * right[[k, t[1]]];
                                }
                            });
                        }
                        group.each(|t| c[t.at()] = sum);
                    }),
                )?;
            }
            Ok(())
        }
    };
}

squares!(squares_16, 16);
squares!(squares_32, 32);

fn plain_product(on: &mut Matrices) -> tida::Result<()> {
    let Matrices { a, b, c, .. } = on;
    multiply(hinted(TileIter::new(c), &[1, 2], Some(Cache::None)), c, a, b)
}

fn chosen_product(on: &mut Matrices) -> tida::Result<()> {
    let Matrices { a, b, c, .. } = on;
    multiply(TileIter::new(c), c, a, b)
}

pub fn product(bench: &Bench, output: &mut Output) -> Result<()> {
    let mut table = Table::new(bench, output, "product");
    let [acc, _] = bench.unfused_and_chosen()?;
    for n in bench.sizes(&[256, 512, 1024, 2048], 64) {
        let mut ways: Vec<Way<'_>> = Vec::new();
        if let Some(gpu) = &bench.gpu {
            let module = gpu.compile(include_str!("../../reference/gemm.cu"), Flags::Exact, &[])?;
            let start = |first: usize| (0..n * n).map(|at| single(first + at)).collect::<Vec<f32>>();
            let slices = [gpu.stream.alloc_zeros(n * n)?, upload(gpu, &start(0))?, upload(gpu, &start(n * n))?];
            let on = shared(Squares { gpu, n, slices });
            for (kind, name, side) in [
                (Kind::Hand, "gemm", 32),
                (Kind::HandChannel, "gemm_tiled_16", 16),
                (Kind::HandChannel, "gemm_tiled_32", 32),
            ] {
                let form = SquaresByHand { on: on.clone(), kernel: function(&module, name)?, side };
                ways.push((kind, format!("{side}x{side}"), Box::new(form)));
            }
        }
        let build = |first: usize| -> Result<TileArray<f32, 2>> {
            let mut array = TileArray::<f32, 2>::builder([n, n]).build(&acc)?;
            array.fill(|[j, i]| single(first + j * n + i))?;
            Ok(array)
        };
        let on = shared(Matrices { acc: acc.clone(), a: build(0)?, b: build(n * n)?, c: build(0)? });
        type Run = fn(&mut Matrices) -> tida::Result<()>;
        for (kind, name, way) in [
            (Kind::Cells, "", plain_product as Run),
            (Kind::Chosen, "", chosen_product),
            (Kind::Groups, "16x16", squares_16),
            (Kind::Groups, "32x32", squares_32),
        ] {
            ways.push((kind, name.into(), Box::new(MatricesBy { on: on.clone(), way })));
        }
        table.size(&format!("{n}^2"), [1, n.pow(3)], ways)?;
    }
    table.print();
    Ok(())
}

/// Bodies by hand: the pulls, and the bodies.
struct Crowd<'a> {
    gpu: &'a Gpu,
    n: usize,
    slices: [CudaSlice<f32>; 2],
}

struct CrowdByHand<'a> {
    on: Shared<Crowd<'a>>,
    kernel: CudaFunction,
}

impl Form for CrowdByHand<'_> {
    fn restart(&mut self) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, times: usize) -> Result<()> {
        let Crowd { gpu, n: count, slices: [pulls, bodies] } = &mut *self.on.borrow_mut();
        let n = *count as i32;
        for _ in 0..times {
            let config = cover([*count, 1, 1], [256, 1, 1]);
            launch!(gpu, &self.kernel, config, &mut *pulls, &*bodies, &n, &SOFTENING);
        }
        gpu.wait()
    }

    fn found(&self) -> Result<Vec<u32>> {
        let on = self.on.borrow();
        Ok(on.gpu.stream.clone_dtoh(&on.slices[0])?.into_iter().map(f32::to_bits).collect())
    }
}

/// tida's bodies.
struct Bodies {
    acc: TileAcc,
    bodies: TileArray<Body, 1>,
    pulls: TileArray<[f32; 3], 1>,
}

struct BodiesBy {
    on: Shared<Bodies>,
    way: fn(&mut Bodies) -> tida::Result<()>,
}

impl Form for BodiesBy {
    fn restart(&mut self) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, times: usize) -> Result<()> {
        let on = &mut *self.on.borrow_mut();
        (0..times).try_for_each(|_| (self.way)(on))?;
        Ok(on.acc.sync()?)
    }

    /// Three planes.
    fn found(&self) -> Result<Vec<u32>> {
        let Bodies { pulls, .. } = &*self.on.borrow();
        let all = pulls.read_box(pulls.domain())?;
        Ok((0..3).flat_map(|axis| all.iter().map(move |pull| pull[axis].to_bits())).collect())
    }
}

/// A body a thread, as many bodies in shared memory as a group has threads.
macro_rules! crowds {
    ($name:ident, $many:tt) => {
        fn $name(on: &mut Bodies) -> tida::Result<()> {
            let Bodies { bodies, pulls, .. } = on;
            let (strips, softening) = (bodies.shape()[0] as i64 / $many, SOFTENING);
            for tile in TileIter::new(pulls) {
                compute_groups(
                    &tile,
                    [$many],
                    (&mut *pulls, all(bodies)),
                    group_kernel!(|pulls, bodies, group| {
                        let px = group.shared::<f32>([$many]);
                        let py = group.shared::<f32>([$many]);
                        let pz = group.shared::<f32>([$many]);
                        let masses = group.shared::<f32>([$many]);
                        let x = group.private(0.0);
                        let y = group.private(0.0);
                        let z = group.private(0.0);
                        for strip in 0..strips {
                            group.each(|t| {
                                let one = bodies[[strip * $many + t[0]]];
                                px[t] = one.x;
                                py[t] = one.y;
                                pz[t] = one.z;
                                masses[t] = one.mass;
                            });
                            group.each(|t| {
                                let [i] = t.at();
                                let own = bodies[[i]];
                                for j in 0..$many {
                                    let (dx, dy, dz) = (px[[j]] - own.x, py[[j]] - own.y, pz[[j]] - own.z);
                                    let square = dx * dx + dy * dy + dz * dz + softening;
                                    let strength = masses[[j]] / (square * square.sqrt());
                                    x += strength * dx;
                                    y += strength * dy;
                                    z += strength * dz;
                                }
                            });
                        }
                        group.each(|t| pulls[t.at()] = [x, y, z]);
                    }),
                )?;
            }
            Ok(())
        }
    };
}

crowds!(crowds_64, 64);
crowds!(crowds_128, 128);
crowds!(crowds_256, 256);

fn plain_pulls(on: &mut Bodies) -> tida::Result<()> {
    let Bodies { bodies, pulls, .. } = on;
    attract(hinted(TileIter::new(pulls), &[1], Some(Cache::None)), pulls, bodies)
}

fn chosen_pulls(on: &mut Bodies) -> tida::Result<()> {
    let Bodies { bodies, pulls, .. } = on;
    attract(TileIter::new(pulls), pulls, bodies)
}

pub fn bodies(bench: &Bench, output: &mut Output) -> Result<()> {
    let mut table = Table::new(bench, output, "bodies");
    let [acc, _] = bench.unfused_and_chosen()?;
    for n in bench.sizes(&[512, 2048, 8192, 16384, 65536], 512) {
        let mut ways: Vec<Way<'_>> = Vec::new();
        if let Some(gpu) = &bench.gpu {
            let module = gpu.compile(include_str!("../../reference/nbody.cu"), Flags::Exact, &[])?;
            let words: Vec<f32> = (0..n).map(body).flat_map(|b| [b.x, b.y, b.z, b.mass]).collect();
            let on = shared(Crowd { gpu, n, slices: [gpu.stream.alloc_zeros(3 * n)?, upload(gpu, &words)?] });
            for (kind, name) in [(Kind::Hand, "nbody"), (Kind::HandChannel, "nbody_tiled")] {
                let form = CrowdByHand { on: on.clone(), kernel: function(&module, name)? };
                ways.push((kind, "256".into(), Box::new(form)));
            }
        }
        let mut bodies = TileArray::<Body, 1>::builder([n]).build(&acc)?;
        bodies.fill(|[i]| body(i))?;
        let on = shared(Bodies { acc: acc.clone(), bodies, pulls: TileArray::builder([n]).build(&acc)? });
        type Run = fn(&mut Bodies) -> tida::Result<()>;
        for (kind, name, way) in [
            (Kind::Cells, "", plain_pulls as Run),
            (Kind::Chosen, "", chosen_pulls),
            (Kind::Groups, "64", crowds_64),
            (Kind::Groups, "128", crowds_128),
            (Kind::Groups, "256", crowds_256),
        ] {
            ways.push((kind, name.into(), Box::new(BodiesBy { on: on.clone(), way })));
        }
        table.size(&n.to_string(), [1, n * n], ways)?;
    }
    table.print();
    Ok(())
}
