//! Programs over planes and boxes of cells: a filter, speckle, fields, a chip, Poisson's equation.

use cudarc::driver::{CudaFunction, CudaSlice, LaunchConfig, PushKernelArg};
use tida::Math;
use tida::prelude::*;
use tida_suite::Result;

use super::breakdown::{Ends, Held, Memory, Table, Whole};
use super::lines::held;
use super::{About, BLOCKS, ByHand, Twin, compare, gpu, launch};
use crate::Bench;
use crate::cuda::{Gpu, Part, cover, upload};
use crate::heat::noise;
use crate::mapping::{How, Plane, Poisson, Program, fields, hotspot};
use crate::measure::Output;

/// What lies outside, in the programs that have a ring there.
const RING: f32 = 0.5;

/// Steps of a run from the host to the host.
pub const WHOLE: usize = 20;

pub fn run(bench: &Bench, kernels: &ByHand, output: &mut Output) -> Result<()> {
    let n = 8 * bench.size;
    let about = About { name: &format!("sobel {n}^2"), cells: n * n, bytes: 2 * n * n, apart: 0.0 };
    compare(bench, output, about, &mut Sobel::new(bench, kernels, n, None)?)?;
    let n = 4 * bench.size;
    let about = About { name: &format!("srad {n}^2"), cells: n * n, bytes: 24 * n * n, apart: 1e-3 };
    compare(bench, output, about, &mut Srad::new(bench, kernels, n)?)?;
    let n = 16 * bench.size;
    let about = About { name: &format!("fdtd2d {n}^2"), cells: n * n, bytes: 36 * n * n, apart: 0.0 };
    compare(bench, output, about, &mut Rings::fields(bench, kernels, n)?)?;
    let about = About { name: &format!("hotspot {n}^2"), cells: n * n, bytes: 12 * n * n, apart: 0.0 };
    compare(bench, output, about, &mut Rings::chip(bench, kernels, n, How::default())?)?;
    let n = bench.size / 2;
    let about = About { name: &format!("poisson {n}^3"), cells: n.pow(3), bytes: 48 * n.pow(3), apart: 0.0 };
    compare(bench, output, about, &mut Points::new(bench, kernels, n)?)
}

/// From the host to the host, for [`super::breakdown`].
pub fn wholes(bench: &Bench, kernels: &ByHand, table: &mut Table<'_>) -> Result<()> {
    let n = 8 * bench.size;
    table.program(&format!("sobel {n}^2"), 1, 0.0, || Sobel::new(bench, kernels, n, None))?;
    let n = 4 * bench.size;
    table.program(&format!("srad {n}^2"), WHOLE, 1e-3, || Srad::new(bench, kernels, n))?;
    let n = 16 * bench.size;
    table.program(&format!("fdtd2d {n}^2"), WHOLE, 0.0, || Rings::fields(bench, kernels, n))?;
    table.program(&format!("hotspot {n}^2"), WHOLE, 0.0, || Rings::chip(bench, kernels, n, How::default()))?;
    let n = bench.size / 2;
    table.program(&format!("poisson {n}^3"), WHOLE, 0.0, || Points::new(bench, kernels, n))
}

/// A block's threads, as a way's name.
pub fn block_name([x, y, _]: [u32; 3]) -> String {
    format!("{x}x{y}")
}

/// A filter over bytes; dark outside.
pub struct Sobel<'a> {
    gpu: &'a Gpu,
    kernels: [CudaFunction; 2],
    acc: TileAcc,
    picture: TileArray<u8, 2>,
    edges: TileArray<u8, 2>,
    slices: [CudaSlice<u8>; 2],
    n: usize,
    cached: Option<Cache>,
}

impl<'a> Sobel<'a> {
    pub fn new(bench: &'a Bench, kernels: &ByHand, n: usize, cached: Option<Cache>) -> Result<Sobel<'a>> {
        let (acc, gpu) = (bench.accelerator(Math::Exact)?, gpu(bench)?);
        let pixel = |at: usize| (255.0 * noise(at)) as u8;
        let builder = TileArray::<u8, 2>::builder([n, n]).ghost(1).boundary(Boundary::Fixed(0));
        let mut picture = builder.build(&acc)?;
        picture.fill(|[j, i]| pixel(j * n + i))?;
        Ok(Sobel {
            gpu,
            kernels: [kernels.get("sobel")?, kernels.get("sobel_plain")?],
            edges: picture.like()?,
            picture,
            slices: [gpu.stream.alloc_zeros(n * n)?, upload(gpu, &(0..n * n).map(pixel).collect::<Vec<_>>())?],
            acc,
            n,
            cached,
        })
    }
}

impl Twin for Sobel<'_> {
    fn record(&mut self, steps: usize) -> Result<()> {
        let Sobel { picture, edges, cached, .. } = self;
        for _ in 0..steps {
            picture.fill_ghosts()?;
            for tile in crate::walks::hinted(TileIter::new(edges), &[1], *cached) {
                compute(
                    &tile,
                    (&mut *edges, &*picture),
                    kernel!(|edges, picture, at| {
                        let mut across = 0;
                        let mut down = 0;
                        for d in -1..=1 {
                            let weight = if d == 0 { 2 } else { 1 };
                            across += weight * (picture[at + [d, 1]] as i32 - picture[at + [d, -1]] as i32);
                            down += weight * (picture[at + [1, d]] as i32 - picture[at + [-1, d]] as i32);
                        }
                        edges[at] = (across.abs() + down.abs()).min(255) as u8;
                    }),
                )?;
            }
        }
        Ok(())
    }

    fn acc(&self) -> &TileAcc {
        &self.acc
    }

    fn hand(&mut self, way: usize, steps: usize) -> Result<()> {
        let ([edges, picture], n) = (&mut self.slices, self.n as i32);
        for _ in 0..steps {
            let config = cover([self.n, self.n, 1], [32, 8, 1]);
            launch!(self.gpu, &self.kernels[way], config, &mut *edges, &*picture, &n);
        }
        self.gpu.wait()
    }

    fn ways(&self) -> Vec<String> {
        vec!["by hand, shared".into(), "by hand, plain".into()]
    }

    fn results(&self) -> Result<[Vec<f32>; 2]> {
        let found = self.edges.read_box(self.edges.domain())?;
        let by_hand = self.gpu.stream.clone_dtoh(&self.slices[0])?;
        Ok([found, by_hand].map(|bytes| bytes.into_iter().map(f32::from).collect()))
    }
}

/// Speckle-reducing diffusion; both sides start again after so many steps.
const AGAIN: usize = 100;

struct Srad<'a> {
    gpu: &'a Gpu,
    kernels: [CudaFunction; 3],
    acc: TileAcc,
    /// The picture, the next one, the coefficients, and how it starts.
    arrays: [TileArray<f32, 2>; 4],
    slices: [CudaSlice<f32>; 4],
    sums: CudaSlice<f32>,
    n: usize,
}

impl<'a> Srad<'a> {
    fn new(bench: &'a Bench, kernels: &ByHand, n: usize) -> Result<Srad<'a>> {
        let (acc, gpu) = (bench.accelerator(Math::Exact)?, gpu(bench)?);
        let pixel = |at: usize| (1.0 + noise(at)) as f32;
        let array = || -> Result<TileArray<f32, 2>> {
            let mut array = TileArray::builder([n, n]).ghost(1).boundary(Boundary::ReflectEven).build(&acc)?;
            array.fill(|[j, i]| pixel(j * n + i))?;
            Ok(array)
        };
        let start: Vec<f32> = (0..n * n).map(pixel).collect();
        let slice = || upload(gpu, &start);
        Ok(Srad {
            gpu,
            kernels: [kernels.get("srad_sums")?, kernels.get("srad_coefficients")?, kernels.get("srad_update")?],
            arrays: [array()?, array()?, array()?, array()?],
            slices: [slice()?, slice()?, slice()?, slice()?],
            sums: gpu.stream.alloc_zeros(2)?,
            acc,
            n,
        })
    }
}

impl Twin for Srad<'_> {
    fn record(&mut self, steps: usize) -> Result<()> {
        let pixels = (self.n * self.n) as f32;
        let [image, next, coefficient, start] = &mut self.arrays;
        for step in 0..steps {
            if step % AGAIN == 0 {
                image.copy_from(start)?;
            }
            let sum = reduce_later(&*image, Sum, kernel!(|image, at| image[at]))?;
            let squares = reduce_later(&*image, Sum, kernel!(|image, at| image[at] * image[at]))?;
            image.fill_ghosts()?;
            for tile in TileIter::new(coefficient) {
                compute(
                    &tile,
                    (&mut *coefficient, &*image),
                    kernel!(|coefficient, image, at| {
                        let mean = sum / pixels;
                        let speckle = (squares / pixels - mean * mean) / (mean * mean);
                        let c = image[at];
                        let (north, south) = (image[at - [1, 0]] - c, image[at + [1, 0]] - c);
                        let (west, east) = (image[at - [0, 1]] - c, image[at + [0, 1]] - c);
                        let gradient = (north * north + south * south + west * west + east * east) / (c * c);
                        let laplacian = (north + south + west + east) / c;
                        let part = 1.0 + 0.25 * laplacian;
                        let local = (0.5 * gradient - 0.0625 * laplacian * laplacian) / (part * part);
                        let excess = (local - speckle) / (speckle * (1.0 + speckle));
                        coefficient[at] = (1.0 / (1.0 + excess)).clamp(0.0, 1.0);
                    }),
                )?;
            }
            coefficient.fill_ghosts()?;
            for tile in TileIter::new(next) {
                compute(
                    &tile,
                    (&mut *next, &*image, &*coefficient),
                    kernel!(|next, image, coefficient, at| {
                        let c = image[at];
                        let (north, south) = (image[at - [1, 0]] - c, image[at + [1, 0]] - c);
                        let (west, east) = (image[at - [0, 1]] - c, image[at + [0, 1]] - c);
                        let flow = coefficient[at] * (north + west)
                            + coefficient[at + [1, 0]] * south
                            + coefficient[at + [0, 1]] * east;
                        next[at] = c + 0.125 * flow;
                    }),
                )?;
            }
            std::mem::swap(image, next);
        }
        Ok(())
    }

    fn acc(&self) -> &TileAcc {
        &self.acc
    }

    fn hand(&mut self, way: usize, steps: usize) -> Result<()> {
        let n = self.n as i32;
        let cells = (self.n * self.n) as u32;
        let config = cover([self.n, self.n, 1], BLOCKS[way]);
        let [image, next, coefficient, start] = &mut self.slices;
        for step in 0..steps {
            if step % AGAIN == 0 {
                self.gpu.marked(Part::Kernels, || self.gpu.stream.memcpy_dtod(start, image))?;
            }
            self.gpu.marked(Part::Kernels, || self.gpu.stream.memset_zeros(&mut self.sums))?;
            launch!(self.gpu, &self.kernels[0], held(), &*image, &cells, &mut self.sums);
            launch!(self.gpu, &self.kernels[1], config, &mut *coefficient, &*image, &n, &self.sums);
            launch!(self.gpu, &self.kernels[2], config, &mut *next, &*image, &*coefficient, &n);
            std::mem::swap(image, next);
        }
        self.gpu.wait()
    }

    fn ways(&self) -> Vec<String> {
        BLOCKS.map(block_name).into()
    }

    fn results(&self) -> Result<[Vec<f32>; 2]> {
        let [image, ..] = &self.arrays;
        Ok([image.read_box(image.domain())?, self.gpu.stream.clone_dtoh(&self.slices[0])?])
    }
}

/// Programs of [`crate::mapping`] and arrays with rings by hand.
pub struct Rings<'a> {
    gpu: &'a Gpu,
    /// Their launches, by their place among `slices`.
    launches: fn(&Rings<'_>, &mut [CudaSlice<f32>], usize) -> Result<()>,
    kernels: Vec<CudaFunction>,
    plane: Plane,
    how: How,
    slices: Vec<CudaSlice<f32>>,
    swaps: bool,
    n: usize,
    /// Ways by hand that take any block.
    blocks: bool,
}

impl<'a> Rings<'a> {
    fn new(bench: &'a Bench, n: usize, arrays: usize, swaps: bool, plane: Plane) -> Result<Rings<'a>> {
        let gpu = gpu(bench)?;
        let ring = |array: usize| {
            let mut cells = vec![RING; (n + 2) * (n + 2)];
            for at in 0..n * n {
                cells[(at / n + 1) * (n + 2) + at % n + 1] = noise(array * n * n + at) as f32;
            }
            upload(gpu, &cells)
        };
        let slices = (0..arrays).map(ring).collect::<Result<_>>()?;
        let none = |_: &Rings<'_>, _: &mut [CudaSlice<f32>], _: usize| Ok(());
        let (kernels, how) = (Vec::new(), How::default());
        Ok(Rings { gpu, launches: none, kernels, plane, how, slices, swaps, n, blocks: true })
    }

    fn fields(bench: &'a Bench, kernels: &ByHand, n: usize) -> Result<Rings<'a>> {
        let plane = Plane::new(&bench.accelerator(Math::Exact)?, n, 3, false, fields)?;
        let launches = |rings: &Rings<'_>, slices: &mut [CudaSlice<f32>], way: usize| {
            let ([h, ex, ey], n) = (slices, rings.n as i32) else { return Ok(()) };
            let config = rings.config(way);
            launch!(rings.gpu, &rings.kernels[0], config, &mut *ex, &mut *ey, &*h, &n);
            launch!(rings.gpu, &rings.kernels[1], config, h, &*ex, &*ey, &n);
            Ok(())
        };
        let kernels = vec![kernels.get("electric")?, kernels.get("magnetic")?];
        Ok(Rings { launches, kernels, ..Rings::new(bench, n, 3, false, plane)? })
    }

    pub fn chip(bench: &'a Bench, kernels: &ByHand, n: usize, how: How) -> Result<Rings<'a>> {
        let plane = Plane::new(&bench.accelerator(Math::Exact)?, n, 3, true, hotspot)?;
        let launches = |rings: &Rings<'_>, slices: &mut [CudaSlice<f32>], way: usize| {
            let ([t, next, power], n) = (slices, rings.n as i32) else { return Ok(()) };
            let kernel = &rings.kernels[usize::from(way == BLOCKS.len())];
            launch!(rings.gpu, kernel, rings.config(way), next, &*t, &*power, &n);
            Ok(())
        };
        let kernels = vec![kernels.get("hotspot")?, kernels.get("hotspot_tiled")?];
        Ok(Rings { launches, kernels, blocks: false, how, ..Rings::new(bench, n, 3, true, plane)? })
    }

    /// Blocks of a way; the one after all shapes has tiles of 32 x 8.
    fn config(&self, way: usize) -> LaunchConfig {
        cover([self.n, self.n, 1], BLOCKS.get(way).copied().unwrap_or([32, 8, 1]))
    }
}

impl Twin for Rings<'_> {
    fn record(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.plane.step(self.how)?;
        }
        Ok(())
    }

    fn acc(&self) -> &TileAcc {
        self.plane.acc()
    }

    fn hand(&mut self, way: usize, steps: usize) -> Result<()> {
        let mut slices = std::mem::take(&mut self.slices);
        for _ in 0..steps {
            (self.launches)(self, &mut slices, way)?;
            if self.swaps {
                slices.swap(0, 1);
            }
        }
        self.slices = slices;
        self.gpu.wait()
    }

    fn ways(&self) -> Vec<String> {
        let shared = (!self.blocks).then(|| "32x8, shared".into());
        BLOCKS.map(block_name).into_iter().chain(shared).collect()
    }

    fn results(&self) -> Result<[Vec<f32>; 2]> {
        let n = self.n;
        let found = self.plane.arrays[0].read_box(self.plane.arrays[0].domain())?;
        let ring = self.gpu.stream.clone_dtoh(&self.slices[0])?;
        let row = |j: usize| ring[(j + 1) * (n + 2) + 1..][..n].iter().copied();
        Ok([found, (0..n).flat_map(row).collect()])
    }
}

/// Point Jacobi for Poisson's equation.
struct Points<'a> {
    gpu: &'a Gpu,
    kernel: CudaFunction,
    program: Poisson,
    /// Values, the next ones, and the coefficients.
    slices: [CudaSlice<f32>; 5],
    n: usize,
}

impl<'a> Points<'a> {
    fn new(bench: &'a Bench, kernels: &ByHand, n: usize) -> Result<Points<'a>> {
        let gpu = gpu(bench)?;
        let program = Poisson::new(&bench.accelerator(Math::Exact)?, n)?;
        let cell = |at: usize| noise(at) as f32;
        let mut ring = vec![RING; (n + 2).pow(3)];
        for at in 0..n.pow(3) {
            let [k, j, i] = [at / n / n, at / n % n, at % n].map(|axis| axis + 1);
            ring[(k * (n + 2) + j) * (n + 2) + i] = cell(at);
        }
        let planes = |of: &[&dyn Fn(usize) -> f32]| {
            upload(gpu, &of.iter().flat_map(|of| (0..n.pow(3)).map(of)).collect::<Vec<f32>>())
        };
        let one = |_| 1.0;
        Ok(Points {
            gpu,
            kernel: kernels.get("poisson")?,
            program,
            slices: [
                upload(gpu, &ring)?,
                upload(gpu, &ring)?,
                planes(&[&one, &one, &|at| 1.0 + 0.01 * cell(at), &|_| 1.0 / 6.0])?,
                planes(&[&|_| 0.001, &|_| 0.001, &|at| 0.001 * cell(at)])?,
                planes(&[&one, &one, &|at| 1.0 - 0.01 * cell(at)])?,
            ],
            n,
        })
    }
}

impl Twin for Points<'_> {
    fn record(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.program.step(How::default())?;
        }
        Ok(())
    }

    fn acc(&self) -> &TileAcc {
        self.program.acc()
    }

    fn hand(&mut self, way: usize, steps: usize) -> Result<()> {
        let ([p, next, a, b, c], n) = (&mut self.slices, self.n as i32);
        for _ in 0..steps {
            let config = cover([self.n; 3], BLOCKS[way]);
            launch!(self.gpu, &self.kernel, config, &mut *next, &*p, &*a, &*b, &*c, &n);
            std::mem::swap(p, next);
        }
        self.gpu.wait()
    }

    fn ways(&self) -> Vec<String> {
        BLOCKS.map(block_name).into()
    }

    fn results(&self) -> Result<[Vec<f32>; 2]> {
        let n = self.n;
        let ring = self.gpu.stream.clone_dtoh(&self.slices[0])?;
        let row = |at: usize| ring[((at / n + 1) * (n + 2) + at % n + 1) * (n + 2) + 1..][..n].iter().copied();
        let p = &self.program.p;
        Ok([p.read_box(p.domain())?, (0..n * n).flat_map(row).collect()])
    }
}

impl Whole for Sobel<'_> {
    fn sources(&mut self) -> Ends<'_> {
        (vec![&mut self.picture], vec![&mut self.slices[1]])
    }

    fn targets(&mut self) -> Ends<'_> {
        (vec![&mut self.edges], vec![&mut self.slices[0]])
    }
}

impl Whole for Srad<'_> {
    fn sources(&mut self) -> Ends<'_> {
        // Where both sides start: they copy it on the device.
        (vec![&mut self.arrays[3]], vec![&mut self.slices[3]])
    }

    fn targets(&mut self) -> Ends<'_> {
        (vec![&mut self.arrays[0]], vec![&mut self.slices[0]])
    }
}

impl Whole for Rings<'_> {
    fn sources(&mut self) -> Ends<'_> {
        // What a program that swaps writes first goes nowhere.
        let first = |at: &usize| !self.swaps || *at != 1;
        let arrays = self.plane.arrays.iter_mut().enumerate().filter(|(at, _)| first(at));
        let slices = self.slices.iter_mut().enumerate().filter(|(at, _)| first(at));
        (
            arrays.map(|(_, array)| array as &mut dyn Held).collect(),
            slices.map(|(_, slice)| slice as &mut dyn Memory).collect(),
        )
    }

    fn targets(&mut self) -> Ends<'_> {
        (vec![&mut self.plane.arrays[0]], vec![&mut self.slices[0]])
    }
}

impl Whole for Points<'_> {
    fn sources(&mut self) -> Ends<'_> {
        let (Poisson { p, a, b, c, .. }, [values, _, above, edge, below]) = (&mut self.program, &mut self.slices);
        (vec![p, a, b, c], vec![values, above, edge, below])
    }

    fn targets(&mut self) -> Ends<'_> {
        (vec![&mut self.program.p], vec![&mut self.slices[0]])
    }
}
