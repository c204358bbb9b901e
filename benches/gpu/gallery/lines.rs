//! Programs without neighbours: sums and products of arrays, distances.

use cudarc::driver::{CudaFunction, CudaSlice, LaunchConfig, PushKernelArg};
use tida::Math;
use tida::prelude::*;
use tida_suite::Result;

use super::breakdown::{Ends, Table, Whole};
use super::{About, ByHand, Twin, compare, gpu, launch};
use crate::Bench;
use crate::cuda::{Gpu, Part, cover, upload};
use crate::heat::noise;
use crate::measure::Output;

pub fn run(bench: &Bench, kernels: &ByHand, output: &mut Output) -> Result<()> {
    let n = 8 * bench.size;
    let (cells, word) = (n * n, size_of::<f32>());
    let about = About { name: &format!("matrix_add {n}^2"), cells, bytes: 3 * cells * word, apart: 0.0 };
    compare(bench, output, about, &mut Sums::new(bench, kernels, n)?)?;
    let cells = 1 << 24;
    let about = About { name: &format!("vector_product {cells}"), cells, bytes: 5 * cells * word, apart: 1e-4 };
    compare(bench, output, about, &mut Vectors::new(bench, kernels, cells)?)?;
    let cells = 1 << 22;
    let about = About { name: &format!("nearest_neighbour {cells}"), cells, bytes: 8 * cells * word, apart: 0.0 };
    compare(bench, output, about, &mut Places::new(bench, kernels, cells)?)
}

/// From the host to the host, for [`super::breakdown`].
pub fn wholes(bench: &Bench, kernels: &ByHand, table: &mut Table<'_>) -> Result<()> {
    let n = 8 * bench.size;
    table.program(&format!("matrix_add {n}^2"), 1, 0.0, || Sums::new(bench, kernels, n))?;
    let cells = 1 << 24;
    table.program(&format!("vector_product {cells}"), 1, 1e-4, || Vectors::new(bench, kernels, cells))?;
    let cells = 1 << 22;
    table.program(&format!("nearest_neighbour {cells}"), 1, 0.0, || Places::new(bench, kernels, cells))
}

/// One thread for each four values.
pub fn fours(cells: usize) -> LaunchConfig {
    cover([cells / 4, 1, 1], [256, 1, 1])
}

/// As many threads as the device holds at once.
pub fn held() -> LaunchConfig {
    LaunchConfig { grid_dim: (1056, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 }
}

/// Two matrices and their sum.
struct Sums<'a> {
    gpu: &'a Gpu,
    add: CudaFunction,
    acc: TileAcc,
    arrays: [TileArray<f32, 2>; 3],
    slices: [CudaSlice<f32>; 3],
    cells: usize,
}

impl<'a> Sums<'a> {
    fn new(bench: &'a Bench, kernels: &ByHand, n: usize) -> Result<Sums<'a>> {
        let (acc, gpu) = (bench.accelerator(Math::Exact)?, gpu(bench)?);
        let array = |from: usize| -> Result<TileArray<f32, 2>> {
            let mut array = TileArray::builder([n, n]).build(&acc)?;
            array.fill(|[j, i]| noise(from + j * n + i) as f32)?;
            Ok(array)
        };
        let slice = |from: usize| upload(gpu, &(0..n * n).map(|at| noise(from + at) as f32).collect::<Vec<_>>());
        Ok(Sums {
            gpu,
            add: kernels.get("matrix_add")?,
            arrays: [array(0)?, array(0)?, array(n * n)?],
            slices: [slice(0)?, slice(0)?, slice(n * n)?],
            acc,
            cells: n * n,
        })
    }
}

impl Twin for Sums<'_> {
    fn record(&mut self, steps: usize) -> Result<()> {
        let [c, a, b] = &mut self.arrays;
        for _ in 0..steps {
            for tile in TileIter::new(c) {
                compute(&tile, (&mut *c, &*a, &*b), kernel!(|c, a, b, at| c[at] = a[at] + b[at]))?;
            }
        }
        Ok(())
    }

    fn acc(&self) -> &TileAcc {
        &self.acc
    }

    fn hand(&mut self, _way: usize, steps: usize) -> Result<()> {
        let [c, a, b] = &mut self.slices;
        let groups = (self.cells / 4) as u32;
        for _ in 0..steps {
            launch!(self.gpu, &self.add, fours(self.cells), &mut *c, &*a, &*b, &groups);
        }
        self.gpu.wait()
    }

    fn results(&self) -> Result<[Vec<f32>; 2]> {
        let [c, ..] = &self.arrays;
        Ok([c.read_box(c.domain())?, self.gpu.stream.clone_dtoh(&self.slices[0])?])
    }
}

/// Two vectors, their products, and the sum of those.
struct Vectors<'a> {
    gpu: &'a Gpu,
    products: CudaFunction,
    dot: CudaFunction,
    acc: TileAcc,
    arrays: [TileArray<f32, 1>; 3],
    slices: [CudaSlice<f32>; 3],
    sum: CudaSlice<f32>,
    found: Option<Scalar<f32>>,
    cells: usize,
}

impl<'a> Vectors<'a> {
    fn new(bench: &'a Bench, kernels: &ByHand, cells: usize) -> Result<Vectors<'a>> {
        let (acc, gpu) = (bench.accelerator(Math::Exact)?, gpu(bench)?);
        let array = |from: usize| -> Result<TileArray<f32, 1>> {
            let mut array = TileArray::builder([cells]).build(&acc)?;
            array.fill(|[i]| noise(from + i) as f32)?;
            Ok(array)
        };
        let slice = |from: usize| upload(gpu, &(0..cells).map(|at| noise(from + at) as f32).collect::<Vec<_>>());
        Ok(Vectors {
            gpu,
            products: kernels.get("products")?,
            dot: kernels.get("dot")?,
            arrays: [array(0)?, array(0)?, array(cells)?],
            slices: [slice(0)?, slice(0)?, slice(cells)?],
            sum: gpu.stream.alloc_zeros(1)?,
            found: None,
            acc,
            cells,
        })
    }
}

impl Twin for Vectors<'_> {
    fn record(&mut self, steps: usize) -> Result<()> {
        let [c, a, b] = &mut self.arrays;
        for _ in 0..steps {
            for tile in TileIter::new(c) {
                compute(&tile, (&mut *c, &*a, &*b), kernel!(|c, a, b, at| c[at] = a[at] * b[at]))?;
            }
            self.found = Some(reduce_later((&*a, &*b), Sum, kernel!(|a, b, at| a[at] * b[at]))?);
        }
        Ok(())
    }

    fn acc(&self) -> &TileAcc {
        &self.acc
    }

    fn hand(&mut self, _way: usize, steps: usize) -> Result<()> {
        let [c, a, b] = &mut self.slices;
        let groups = (self.cells / 4) as u32;
        for _ in 0..steps {
            launch!(self.gpu, &self.products, fours(self.cells), &mut *c, &*a, &*b, &groups);
            self.gpu.marked(Part::Kernels, || self.gpu.stream.memset_zeros(&mut self.sum))?;
            launch!(self.gpu, &self.dot, held(), &*a, &*b, &groups, &mut self.sum);
        }
        self.gpu.wait()
    }

    /// The sum, and a product.
    fn results(&self) -> Result<[Vec<f32>; 2]> {
        let ([c, ..], stream) = (&self.arrays, &self.gpu.stream);
        let sum = self.found.as_ref().map(Scalar::get).transpose()?.unwrap_or(f32::NAN);
        let (products, by_hand) = (c.read_box(c.domain())?, stream.clone_dtoh(&self.slices[0])?);
        let differ = products.iter().zip(&by_hand).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
        Ok([vec![sum, differ as f32], vec![stream.clone_dtoh(&self.sum)?[0], 0.0]])
    }
}

/// Degrees north and east.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Place {
    latitude: f32,
    longitude: f32,
}

fn place(i: usize) -> Place {
    Place { latitude: 180.0 * noise(2 * i) as f32 - 90.0, longitude: 360.0 * noise(2 * i + 1) as f32 - 180.0 }
}

/// How many are found.
const NEAREST: usize = 5;
const TARGET: Place = Place { latitude: 40.0, longitude: -3.5 };

/// The five places nearest to a target.
struct Places<'a> {
    gpu: &'a Gpu,
    distances: CudaFunction,
    nearest: CudaFunction,
    acc: TileAcc,
    places: TileArray<Place, 1>,
    distance: TileArray<f32, 1>,
    slices: (CudaSlice<f32>, CudaSlice<f32>),
    keys: CudaSlice<u64>,
    found: [Vec<(usize, f32)>; 2],
    cells: usize,
}

impl<'a> Places<'a> {
    fn new(bench: &'a Bench, kernels: &ByHand, cells: usize) -> Result<Places<'a>> {
        let (acc, gpu) = (bench.accelerator(Math::Exact)?, gpu(bench)?);
        let mut places = TileArray::<Place, 1>::builder([cells]).build(&acc)?;
        places.fill(|[i]| place(i))?;
        let pairs: Vec<f32> = (0..cells).map(place).flat_map(|p| [p.latitude, p.longitude]).collect();
        Ok(Places {
            gpu,
            distances: kernels.get("distances")?,
            nearest: kernels.get("nearest")?,
            places,
            distance: TileArray::builder([cells]).build(&acc)?,
            slices: (gpu.stream.alloc_zeros(cells)?, upload(gpu, &pairs)?),
            keys: gpu.stream.alloc_zeros(NEAREST)?,
            found: Default::default(),
            acc,
            cells,
        })
    }
}

impl Twin for Places<'_> {
    fn record(&mut self, steps: usize) -> Result<()> {
        let Places { places, distance, .. } = self;
        let Place { latitude, longitude } = TARGET;
        for _ in 0..steps {
            for tile in TileIter::new(distance) {
                compute(
                    &tile,
                    (&mut *distance, &*places),
                    kernel!(|distance, places, at| {
                        let (dy, dx) = (places[at].latitude - latitude, places[at].longitude - longitude);
                        distance[at] = (dy * dy + dx * dx).sqrt();
                    }),
                )?;
            }
            self.found[0].clear();
            let (mut last, mut last_at) = (-1.0f32, 0);
            for _ in 0..NEAREST {
                let ([i], lowest) = reduce(
                    &*distance,
                    ArgMin,
                    kernel!(|distance, at| {
                        let d = distance[at];
                        if d > last || (d == last && at[0] > last_at) { d } else { f32::INFINITY }
                    }),
                )?;
                (last, last_at) = (lowest, i as i64);
                self.found[0].push((i, lowest));
            }
        }
        Ok(())
    }

    fn acc(&self) -> &TileAcc {
        &self.acc
    }

    fn hand(&mut self, _way: usize, steps: usize) -> Result<()> {
        let (count, (distance, places)) = (self.cells as u32, &mut self.slices);
        for _ in 0..steps {
            let config = cover([self.cells, 1, 1], [256, 1, 1]);
            launch!(
                self.gpu,
                &self.distances,
                config,
                &mut *distance,
                &*places,
                &TARGET.latitude,
                &TARGET.longitude,
                &count
            );
            self.gpu.marked(Part::Link, || self.gpu.stream.memcpy_htod(&[u64::MAX; NEAREST], &mut self.keys))?;
            for k in 0..NEAREST as u32 {
                launch!(self.gpu, &self.nearest, held(), &*distance, &count, &mut self.keys, &k);
            }
            let keys = self.gpu.marked(Part::Link, || self.gpu.stream.clone_dtoh(&self.keys))?;
            let pair = |key: &u64| ((*key & u64::from(u32::MAX)) as usize, f32::from_bits((*key >> 32) as u32));
            self.found[1] = keys.iter().map(pair).collect();
        }
        self.gpu.wait()
    }

    fn results(&self) -> Result<[Vec<f32>; 2]> {
        let words =
            |found: &Vec<(usize, f32)>| found.iter().flat_map(|(i, d)| [f32::from_bits(*i as u32), *d]).collect();
        Ok([words(&self.found[0]), words(&self.found[1])])
    }
}

impl Whole for Sums<'_> {
    fn sources(&mut self) -> Ends<'_> {
        let ([_, a, b], [_, left, right]) = (&mut self.arrays, &mut self.slices);
        (vec![a, b], vec![left, right])
    }

    fn targets(&mut self) -> Ends<'_> {
        (vec![&mut self.arrays[0]], vec![&mut self.slices[0]])
    }
}

impl Whole for Vectors<'_> {
    fn sources(&mut self) -> Ends<'_> {
        let ([_, a, b], [_, left, right]) = (&mut self.arrays, &mut self.slices);
        (vec![a, b], vec![left, right])
    }

    fn targets(&mut self) -> Ends<'_> {
        (vec![&mut self.arrays[0]], vec![&mut self.slices[0], &mut self.sum])
    }

    fn scalars(&mut self) -> Result<()> {
        self.found.as_ref().map(Scalar::get).transpose()?;
        Ok(())
    }
}

impl Whole for Places<'_> {
    fn sources(&mut self) -> Ends<'_> {
        (vec![&mut self.places], vec![&mut self.slices.1])
    }

    fn targets(&mut self) -> Ends<'_> {
        // What is found is on the host as soon as it is found.
        (Vec::new(), Vec::new())
    }
}
