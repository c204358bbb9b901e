//! Kernels that walk along arrays, with and without tiles in shared memory: products of matrices, and with a vector,
//! and N bodies.

use cudarc::driver::{CudaFunction, CudaSlice, PushKernelArg};
use tida::prelude::*;
use tida::{Cache, KernelFacts, Math};
use tida_suite::Result;

use crate::Bench;
use crate::cuda::{Flags, Gpu, cover, function, upload};
use crate::heat::noise;
use crate::measure::{Output, Row, Side, Work, in_turn};

const GEMM: &str = include_str!("../reference/gemm.cu");
const MATVEC: &str = include_str!("../reference/matvec.cu");
const NBODY: &str = include_str!("../reference/nbody.cu");

/// Keeps two bodies that meet from pulling without bound: the square of a length.
pub const SOFTENING: f32 = 0.01;

/// How tida may cache what kernels read; the first is what it chooses by itself.
pub const HOW: [(&str, Option<Cache>); 6] = [
    ("chosen", None),
    ("no tiles", Some(Cache::None)),
    ("RBI", Some(Cache::Tile)),
    ("RBC", Some(Cache::CheckedTile)),
    ("EHC", Some(Cache::TaggedLines)),
    ("preload", Some(Cache::Preload)),
];

pub fn single(n: usize) -> f32 {
    noise(n) as f32 - 0.5
}

/// Caches these arguments so.
pub fn hinted<const D: usize>(tiles: TileIter<D>, arguments: &[usize], how: Option<Cache>) -> TileIter<D> {
    let Some(how) = how else { return tiles };
    arguments.iter().fold(tiles, |tiles, argument| tiles.cache(*argument, how))
}

/// What walks along arrays.
trait Walk {
    /// Runs it so many times.
    fn run(&mut self, steps: usize, how: Option<Cache>) -> Result<()>;

    /// What its kernel takes of the device.
    fn resources(&mut self, how: Option<Cache>) -> Result<KernelFacts>;

    /// What it gave.
    fn found(&self) -> Result<Vec<f32>>;
}

/// A kernel by hand: its name, the threads of a side of its blocks.
type Entry = (&'static str, u32, CudaFunction);

/// Puts a kernel by hand into the stream so many times, and waits; it writes the slice.
type Launch<'a> = dyn Fn(&Entry, usize, &mut CudaSlice<f32>) -> Result<()> + 'a;

/// A case: its name, the cells and bytes that count.
#[derive(Clone, Copy)]
struct About<'a> {
    case: &'a str,
    cells: usize,
    bytes: usize,
}

impl About<'_> {
    fn work(&self, case: String, check: String) -> Work {
        Work { case, check, cells: self.cells, bytes: self.bytes }
    }
}

/// Times tida where there is no GPU to compare with.
fn alone(bench: &Bench, output: &mut Output, about: About<'_>, tida: &mut dyn Walk, expected: &[f32]) -> Result<()> {
    tida.run(1, None)?;
    let check = equal(output, about.case, &tida.found()?, expected);
    let times = in_turn(bench.effort, &mut [Box::new(|steps| tida.run(steps, None))])?;
    output.row(&Row::new(&about.work(about.case.into(), check), &times[0], None))
}

/// Times each way to cache beside each kernel by hand.
fn beside(
    (bench, output): (&Bench, &mut Output),
    about: About<'_>,
    tida: &mut dyn Walk,
    kernels: &[Entry],
    (launch, mut slice): (&Launch<'_>, CudaSlice<f32>),
) -> Result<()> {
    let Some(gpu) = &bench.gpu else { return Ok(()) };
    for (word, how) in HOW {
        let case = format!("{}, {word}", about.case);
        taken(output, &case, tida.resources(how)?)?;
        tida.run(1, how)?;
        let found = tida.found()?;
        for kernel in kernels {
            launch(kernel, 1, &mut slice)?;
            let check = equal(output, &format!("{case}, {}", kernel.0), &found, &gpu.stream.clone_dtoh(&slice)?);
            let mut sides: [Side<'_>; 2] =
                [Box::new(|steps| launch(kernel, steps, &mut slice)), Box::new(|steps| tida.run(steps, how))];
            let times = in_turn(bench.effort, &mut sides)?;
            output.row(&Row::new(&about.work(case.clone(), check), &times[1], Some((kernel.0, &times[0]))))?;
        }
    }
    Ok(())
}

/// A row by a column of so many values.
macro_rules! row_by_column {
    ($length:ident) => {
        kernel!(|c, a, b, at| {
            let [row, column] = at;
            let mut sum = 0.0;
            for k in 0..$length {
                sum += a[[row, k]] * b[[k, column]];
            }
            c[at] = sum;
        })
    };
}

/// Matrices that are multiplied.
struct Product {
    acc: TileAcc,
    a: TileArray<f32, 2>,
    b: TileArray<f32, 2>,
    c: TileArray<f32, 2>,
}

impl Product {
    fn new(bench: &Bench, n: usize) -> Result<Product> {
        let acc = bench.accelerator(Math::Exact)?;
        let build = || TileArray::<f32, 2>::builder([n, n]).build(&acc);
        let (mut a, mut b, c) = (build()?, build()?, build()?);
        a.fill(|[j, i]| single(j * n + i))?;
        b.fill(|[j, i]| single((n + j) * n + i))?;
        Ok(Product { a, b, c, acc })
    }
}

impl Walk for Product {
    fn run(&mut self, steps: usize, how: Option<Cache>) -> Result<()> {
        let Product { acc, a, b, c } = self;
        for _ in 0..steps {
            multiply(hinted(TileIter::new(c), &[1, 2], how), c, a, b)?;
        }
        Ok(acc.sync()?)
    }

    fn resources(&mut self, how: Option<Cache>) -> Result<KernelFacts> {
        let Product { a, b, c, .. } = self;
        let length = a.shape()[1] as i64;
        let tile = hinted(TileIter::new(c), &[1, 2], how).next().ok_or("a product without tiles")?;
        Ok(tida::explain_tile(&tile, (c, all(a), all(b)), row_by_column!(length))?.resources()?)
    }

    fn found(&self) -> Result<Vec<f32>> {
        Ok(self.c.read_box(self.c.domain())?)
    }
}

/// `c = a b`, over these tiles of `c`.
pub fn multiply(
    tiles: TileIter<2>,
    c: &mut TileArray<f32, 2>,
    a: &TileArray<f32, 2>,
    b: &TileArray<f32, 2>,
) -> tida::Result<()> {
    let length = a.shape()[1] as i64;
    for tile in tiles {
        compute(&tile, (&mut *c, all(a), all(b)), row_by_column!(length))?;
    }
    Ok(())
}

/// The same by plain loops.
fn product(n: usize) -> Vec<f32> {
    let mut c = vec![0.0; n * n];
    for (j, row) in c.chunks_exact_mut(n).enumerate() {
        for k in 0..n {
            let left = single(j * n + k);
            for (i, cell) in row.iter_mut().enumerate() {
                *cell += left * single((n + k) * n + i);
            }
        }
    }
    c
}

pub fn gemm(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = 4 * bench.size;
    let case = format!("gemm f32 {n}^2");
    let mut tida = Product::new(bench, n)?;
    let about = About { case: &case, cells: n.pow(3), bytes: 3 * n * n * size_of::<f32>() };
    let Some(gpu) = &bench.gpu else { return alone(bench, output, about, &mut tida, &product(n)) };
    let start = |first: usize| (0..n * n).map(|at| single(first * n + at)).collect::<Vec<f32>>();
    let (a, b) = (upload(gpu, &start(0))?, upload(gpu, &start(n))?);
    let c = gpu.stream.alloc_zeros::<f32>(n * n)?;
    let kernels = by_hand(gpu, GEMM, &[("gemm", 32), ("gemm_tiled_16", 16), ("gemm_tiled_32", 32)])?;
    let launch = |entry: &Entry, steps: usize, c: &mut CudaSlice<f32>| -> Result<()> {
        let (_, side, function) = entry;
        let length = n as i32;
        for _ in 0..steps {
            let mut launch = gpu.stream.launch_builder(function);
            launch.arg(&mut *c).arg(&a).arg(&b).arg(&length);
            // SAFETY: the arguments are those of the kernels, over matrices of `n` rows of `n`; `n` is a multiple of a
            // side.
            unsafe { launch.launch(cover([n, n, 1], [*side, *side, 1]))? };
        }
        gpu.wait()
    };
    beside((bench, output), about, &mut tida, &kernels, (&launch, c))
}

/// Says what a kernel takes of the device (Table 5.3).
fn taken(output: &mut Output, case: &str, facts: KernelFacts) -> Result<()> {
    let mut say = |what: &str, value: Option<f64>, unit| match value {
        Some(value) => output.figure(&format!("{case}: {what}"), value, unit),
        None => Ok(()),
    };
    say("registers a thread", facts.registers.map(f64::from), "of 32 bits")?;
    say("shared memory a block", facts.shared.map(f64::from), "bytes")?;
    say("occupancy", facts.occupancy.map(|part| 100.0 * f64::from(part)), "%")
}

/// The product of a row and a vector of so many values.
macro_rules! row_by_vector {
    ($length:ident) => {
        kernel!(|y, a, x, at| {
            let [row] = at;
            let mut sum = 0.0;
            for k in 0..$length {
                sum += a[[row, k]] * x[[k]];
            }
            y[at] = sum;
        })
    };
}

/// A matrix and a vector that are multiplied.
struct Rows {
    acc: TileAcc,
    a: TileArray<f32, 2>,
    x: TileArray<f32, 1>,
    y: TileArray<f32, 1>,
}

impl Rows {
    fn new(bench: &Bench, [rows, columns]: [usize; 2]) -> Result<Rows> {
        let acc = bench.accelerator(Math::Exact)?;
        let mut a = TileArray::<f32, 2>::builder([rows, columns]).build(&acc)?;
        let vector = |n: usize| TileArray::<f32, 1>::builder([n]).build(&acc);
        let (mut x, y) = (vector(columns)?, vector(rows)?);
        a.fill(|[j, i]| single(j * columns + i))?;
        x.fill(|[i]| single(rows * columns + i))?;
        Ok(Rows { acc, a, x, y })
    }
}

impl Walk for Rows {
    fn run(&mut self, steps: usize, how: Option<Cache>) -> Result<()> {
        let Rows { acc, a, x, y } = self;
        let length = a.shape()[1] as i64;
        for _ in 0..steps {
            for tile in hinted(TileIter::new(y), &[1, 2], how) {
                compute(&tile, (&mut *y, all(a), all(x)), row_by_vector!(length))?;
            }
        }
        Ok(acc.sync()?)
    }

    fn resources(&mut self, how: Option<Cache>) -> Result<KernelFacts> {
        let Rows { a, x, y, .. } = self;
        let length = a.shape()[1] as i64;
        let tile = hinted(TileIter::new(y), &[1, 2], how).next().ok_or("a vector without tiles")?;
        Ok(tida::explain_tile(&tile, (y, all(a), all(x)), row_by_vector!(length))?.resources()?)
    }

    fn found(&self) -> Result<Vec<f32>> {
        Ok(self.y.read_box(self.y.domain())?)
    }
}

/// `y = A x`, in which each cell goes along a row of the matrix.
pub fn matvec(bench: &Bench, output: &mut Output) -> Result<()> {
    let [rows, columns] = [32 * bench.size, 8 * bench.size];
    let case = format!("matvec f32 {rows} x {columns}");
    let mut tida = Rows::new(bench, [rows, columns])?;
    let (cells, bytes) = (rows * columns, (rows * columns + rows + columns) * size_of::<f32>());
    let start = |first: usize, n: usize| (0..n).map(|at| single(first + at)).collect::<Vec<f32>>();
    let (matrix, vector) = (start(0, cells), start(cells, columns));
    let about = About { case: &case, cells, bytes };
    let Some(gpu) = &bench.gpu else {
        let sum = |row: &[f32]| row.iter().zip(&vector).fold(0.0, |sum, (a, x)| sum + a * x);
        let expected: Vec<f32> = matrix.chunks_exact(columns).map(sum).collect();
        return alone(bench, output, about, &mut tida, &expected);
    };
    let (a, x) = (upload(gpu, &matrix)?, upload(gpu, &vector)?);
    let y = gpu.stream.alloc_zeros::<f32>(rows)?;
    let kernels = by_hand(gpu, MATVEC, &[("matvec", 64), ("matvec_tiled", 64)])?;
    let launch = |entry: &Entry, steps: usize, y: &mut CudaSlice<f32>| -> Result<()> {
        let (_, threads, function) = entry;
        let (rows_of, columns_of) = (rows as i32, columns as i32);
        for _ in 0..steps {
            let mut launch = gpu.stream.launch_builder(function);
            launch.arg(&mut *y).arg(&a).arg(&x).arg(&rows_of).arg(&columns_of);
            // SAFETY: the arguments are those of the kernels, over a matrix of `rows` rows of `columns` and vectors of
            // as many; `rows` is a multiple of the block, `columns` of a strip.
            unsafe { launch.launch(cover([rows, 1, 1], [*threads, 1, 1]))? };
        }
        gpu.wait()
    };
    beside((bench, output), about, &mut tida, &kernels, (&launch, y))
}

/// Kernels of a source, compiled as tida compiles, with the threads of a side of their blocks.
fn by_hand(gpu: &Gpu, source: &str, entries: &[(&'static str, u32)]) -> Result<Vec<Entry>> {
    let module = gpu.compile(source, Flags::Exact, &[])?;
    entries.iter().map(|(name, side)| Ok((*name, *side, function(&module, name)?))).collect()
}

fn equal(output: &mut Output, case: &str, found: &[f32], expected: &[f32]) -> String {
    let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits();
    let right = found.len() == expected.len() && found.iter().zip(expected).all(same);
    output.checked(case, right, if right { "same bits".into() } else { "DIFFERS".into() })
}

/// Where a body is, and its mass.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
pub struct Body {
    pub x: f32,
    pub y: f32,
    pub z: f32,
    pub mass: f32,
}

pub fn body(i: usize) -> Body {
    let place = |axis: usize| 2.0 * single(3 * i + axis);
    Body { x: place(0), y: place(1), z: place(2), mass: 0.75 + 0.5 * single(3 * i) }
}

/// The pulls of all bodies on one.
macro_rules! pull_of_all {
    ($count:ident, $softening:ident) => {
        kernel!(|pulls, bodies, at| {
            let own = bodies[at];
            let (mut x, mut y, mut z) = (0.0, 0.0, 0.0);
            for j in 0..$count {
                let other = bodies[[j]];
                let (dx, dy, dz) = (other.x - own.x, other.y - own.y, other.z - own.z);
                let square = dx * dx + dy * dy + dz * dz + $softening;
                let strength = other.mass / (square * square.sqrt());
                x += strength * dx;
                y += strength * dy;
                z += strength * dz;
            }
            pulls[at] = [x, y, z];
        })
    };
}

/// The pulls of all bodies on each, over these tiles of `pulls`.
pub fn attract(
    tiles: TileIter<1>,
    pulls: &mut TileArray<[f32; 3], 1>,
    bodies: &TileArray<Body, 1>,
) -> tida::Result<()> {
    let (count, softening) = (bodies.shape()[0] as i64, SOFTENING);
    for tile in tiles {
        compute(&tile, (&mut *pulls, all(bodies)), pull_of_all!(count, softening))?;
    }
    Ok(())
}

/// Bodies and their pulls.
struct Bodies {
    acc: TileAcc,
    bodies: TileArray<Body, 1>,
    pulls: TileArray<[f32; 3], 1>,
}

impl Bodies {
    fn new(bench: &Bench, n: usize) -> Result<Bodies> {
        let acc = bench.accelerator(Math::Exact)?;
        let mut bodies = TileArray::<Body, 1>::builder([n]).build(&acc)?;
        bodies.fill(|[i]| body(i))?;
        let pulls = TileArray::<[f32; 3], 1>::builder([n]).build(&acc)?;
        Ok(Bodies { acc, bodies, pulls })
    }
}

impl Walk for Bodies {
    fn run(&mut self, steps: usize, how: Option<Cache>) -> Result<()> {
        let Bodies { acc, bodies, pulls } = self;
        for _ in 0..steps {
            attract(hinted(TileIter::new(pulls), &[1], how), pulls, bodies)?;
        }
        Ok(acc.sync()?)
    }

    fn resources(&mut self, how: Option<Cache>) -> Result<KernelFacts> {
        let Bodies { bodies, pulls, .. } = self;
        let (count, softening) = (bodies.shape()[0] as i64, SOFTENING);
        let tile = hinted(TileIter::new(pulls), &[1], how).next().ok_or("bodies without tiles")?;
        Ok(tida::explain_tile(&tile, (pulls, all(bodies)), pull_of_all!(count, softening))?.resources()?)
    }

    // Three planes.
    fn found(&self) -> Result<Vec<f32>> {
        let all = self.pulls.read_box(self.pulls.domain())?;
        Ok((0..3).flat_map(|axis| all.iter().map(move |pull| pull[axis])).collect())
    }
}

/// The same by plain loops.
fn pulls(n: usize) -> Vec<f32> {
    let all: Vec<Body> = (0..n).map(body).collect();
    let mut planes = vec![0.0; 3 * n];
    for (i, own) in all.iter().enumerate() {
        let mut sum = [0.0f32; 3];
        for other in &all {
            let d = [other.x - own.x, other.y - own.y, other.z - own.z];
            let square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + SOFTENING;
            let strength = other.mass / (square * square.sqrt());
            sum.iter_mut().zip(d).for_each(|(sum, d)| *sum += strength * d);
        }
        (0..3).for_each(|axis| planes[axis * n + i] = sum[axis]);
    }
    planes
}

pub fn nbody(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = 128 * bench.size;
    let case = format!("nbody f32 {n}");
    let mut tida = Bodies::new(bench, n)?;
    let bytes = n * (size_of::<Body>() + size_of::<[f32; 3]>());
    let about = About { case: &case, cells: n.pow(2), bytes };
    let Some(gpu) = &bench.gpu else { return alone(bench, output, about, &mut tida, &pulls(n)) };
    let words: Vec<f32> = (0..n).map(body).flat_map(|b| [b.x, b.y, b.z, b.mass]).collect();
    let bodies = upload(gpu, &words)?;
    let planes = gpu.stream.alloc_zeros::<f32>(3 * n)?;
    let kernels = by_hand(gpu, NBODY, &[("nbody", 256), ("nbody_tiled", 256)])?;
    let launch = |entry: &Entry, steps: usize, planes: &mut CudaSlice<f32>| -> Result<()> {
        let (_, threads, function) = entry;
        let count = n as i32;
        for _ in 0..steps {
            let mut launch = gpu.stream.launch_builder(function);
            launch.arg(&mut *planes).arg(&bodies).arg(&count).arg(&SOFTENING);
            // SAFETY: the arguments are those of the kernels; `bodies` holds `n` times four values, at a multiple of
            // their size, `planes` three times `n`, and `n` is a multiple of the block.
            unsafe { launch.launch(cover([n, 1, 1], [*threads, 1, 1]))? };
        }
        gpu.wait()
    };
    beside((bench, output), about, &mut tida, &kernels, (&launch, planes))
}
