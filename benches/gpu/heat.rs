//! The heat sweep: 7 points on 3 axes, 5 on 2; one region, and slabs with their ghost fill.

use cudarc::driver::{CudaFunction, CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg};
use tida::prelude::*;
use tida::{Math, Real};
use tida_suite::Result;
use tida_suite::oracle::{Grid, Outside};

use crate::Bench;
use crate::cuda::{Flags, Gpu, cover, function, upload};
use crate::measure::{Output, Row, Side, Work, fastest, in_turn};

const SOURCE: &str = include_str!("../reference/heat.cu");
pub const ALPHA: f64 = 0.1;
/// What lies around the inner cells.
pub const OUTSIDE: f64 = 0.5;
/// Steps after which results are compared.
const CHECKED: usize = 3;

/// A precision that kernels by hand have too.
pub trait Cell: Real + DeviceRepr {
    const NAME: &'static str;

    /// A number in `0 .. 1` for each cell.
    fn noise(n: usize) -> Self {
        Self::of(noise(n))
    }
}

impl Cell for f32 {
    const NAME: &'static str = "f32";
}

impl Cell for f64 {
    const NAME: &'static str = "f64";
}

pub fn step3<T: Real>(u: &TileArray<T, 3>, next: &mut TileArray<T, 3>) -> tida::Result<()> {
    let alpha = T::of(ALPHA);
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, u),
            kernel!(T; |next, u, at| {
                let c = u[at];
                next[at] = c + alpha
                    * (u[at + [0, 0, 1]]
                        + u[at - [0, 0, 1]]
                        + u[at + [0, 1, 0]]
                        + u[at - [0, 1, 0]]
                        + u[at + [1, 0, 0]]
                        + u[at - [1, 0, 0]]
                        - 6.0 * c);
            }),
        )?;
    }
    Ok(())
}

/// The same, each product rounded together with the sum that it goes into.
pub fn step3_multiply_add<T: Real>(u: &TileArray<T, 3>, next: &mut TileArray<T, 3>) -> tida::Result<()> {
    let alpha = T::of(ALPHA);
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, u),
            kernel!(T; |next, u, at| {
                let c = u[at];
                let around = u[at + [0, 0, 1]]
                    + u[at - [0, 0, 1]]
                    + u[at + [0, 1, 0]]
                    + u[at - [0, 1, 0]]
                    + u[at + [1, 0, 0]]
                    + u[at - [1, 0, 0]];
                next[at] = c.mul_add(-6.0, around).mul_add(alpha, c);
            }),
        )?;
    }
    Ok(())
}

pub fn step2(u: &TileArray<f64, 2>, next: &mut TileArray<f64, 2>) -> tida::Result<()> {
    step2_by(ALPHA, u, next)
}

/// The same with another number for how well heat is conducted.
pub fn step2_by(alpha: f64, u: &TileArray<f64, 2>, next: &mut TileArray<f64, 2>) -> tida::Result<()> {
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, u),
            kernel!(|next, u, at| {
                let c = u[at];
                next[at] = c + alpha * (u[at + [0, 1]] + u[at - [0, 1]] + u[at + [1, 0]] + u[at - [1, 0]] - 4.0 * c);
            }),
        )?;
    }
    Ok(())
}

/// The same, each product rounded together with the sum that it goes into.
pub fn step2_multiply_add(u: &TileArray<f64, 2>, next: &mut TileArray<f64, 2>) -> tida::Result<()> {
    let alpha = ALPHA;
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, u),
            kernel!(|next, u, at| {
                let c = u[at];
                let around = u[at + [0, 1]] + u[at - [0, 1]] + u[at + [1, 0]] + u[at - [1, 0]];
                next[at] = c.mul_add(-4.0, around).mul_add(alpha, c);
            }),
        )?;
    }
    Ok(())
}

/// A number in `0 .. 1` for each cell, exact in `f32` too (splitmix64).
pub fn noise(n: usize) -> f64 {
    let mut z = (n as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 40) as f64 / f64::from(1 << 24)
}

/// tida's arrays of a sweep, and whether each step fills ghosts.
struct Pair<T: Cell, const D: usize> {
    u: TileArray<T, D>,
    next: TileArray<T, D>,
    step: fn(&TileArray<T, D>, &mut TileArray<T, D>) -> tida::Result<()>,
    fill: bool,
}

impl<T: Cell, const D: usize> Pair<T, D> {
    /// Noise inside, [`OUTSIDE`] around it: behind an open face, set once, or by a fill of ghosts in each step.
    fn new(
        acc: &TileAcc,
        n: usize,
        regions: [usize; D],
        fill: bool,
        step: fn(&TileArray<T, D>, &mut TileArray<T, D>) -> tida::Result<()>,
    ) -> Result<Self>
    where
        ndarray::Dim<[usize; D]>: ndarray::Dimension,
    {
        let outside = T::of(OUTSIDE);
        let boundary = if fill { Boundary::Fixed(outside) } else { Boundary::Open };
        let mut u = TileArray::<T, D>::builder([n; D]).regions(regions).ghost(1).boundary(boundary).build(acc)?;
        let mut next = u.like()?;
        for array in [&mut u, &mut next] {
            for region in 0..array.regions() {
                array.with_grown_region_mut(region, |mut cells| cells.fill(outside))?;
            }
        }
        u.fill(|at| T::noise(at.iter().fold(0, |index, &a| index * n + a)))?;
        Ok(Pair { u, next, step, fill })
    }

    /// A user's loop.
    fn run(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            if self.fill {
                self.u.fill_ghosts()?;
            }
            (self.step)(&self.u, &mut self.next)?;
            std::mem::swap(&mut self.u, &mut self.next);
        }
        Ok(self.u.acc().sync()?)
    }

    fn cells(&self) -> Result<Vec<T>> {
        Ok(self.u.read_box(self.u.domain())?)
    }
}

/// How the reference's arrays lie in memory.
#[derive(Clone, Copy, Debug)]
struct Layout {
    name: &'static str,
    /// Inner cells along each axis.
    n: usize,
    dims: usize,
    pitch: usize,
    lead: usize,
    first: usize,
}

impl Layout {
    /// Row after row, as in textbooks; and with rows of inner cells that start at multiples of 128 bytes.
    fn both(n: usize, dims: usize, size_of: usize) -> [Layout; 2] {
        let line = 128 / size_of;
        [
            Layout { name: "packed", n, dims, pitch: n + 2, lead: 0, first: 0 },
            Layout { name: "aligned", n, dims, pitch: (n + 2).next_multiple_of(line), lead: line - 1, first: 1 },
        ]
    }

    /// Cells along x, y and z, the outermost layer counted.
    fn shape(&self) -> [usize; 3] {
        let m = self.n + 2;
        [m, m, if self.dims == 3 { m } else { 1 }]
    }

    /// Where the inner cell `x` of the inner row `row` lies; rows are counted through all planes.
    fn row(&self, row: usize) -> usize {
        let (j, k) = if self.dims == 3 { (row % self.n, row / self.n + 1) } else { (row, 0) };
        self.lead + (k * self.shape()[1] + j + 1) * self.pitch + 1
    }

    fn rows(&self) -> usize {
        self.n.pow(self.dims as u32 - 1)
    }

    fn len(&self) -> usize {
        let [_, ny, nz] = self.shape();
        self.lead + self.pitch * ny * nz
    }
}

/// A kernel, its blocks, and cells along z for each thread.
#[derive(Clone, Debug)]
struct Kernel {
    entry: &'static str,
    name: String,
    function: CudaFunction,
    config: LaunchConfig,
    depth: usize,
}

/// The reference's arrays in one layout.
struct Reference<'a, T: Cell> {
    gpu: &'a Gpu,
    layout: Layout,
    u: CudaSlice<T>,
    next: CudaSlice<T>,
}

impl<'a, T: Cell> Reference<'a, T> {
    fn new(gpu: &'a Gpu, layout: Layout) -> Result<Self> {
        let values = start(layout);
        Ok(Reference { gpu, layout, u: upload(gpu, &values)?, next: upload(gpu, &values)? })
    }

    fn restart(&mut self) -> Result<()> {
        let values = start(self.layout);
        self.gpu.stream.memcpy_htod(&values, &mut self.u)?;
        Ok(self.gpu.stream.memcpy_htod(&values, &mut self.next)?)
    }

    fn run(&mut self, kernel: &Kernel, steps: usize) -> Result<()> {
        let [nx, ny, nz] = self.layout.shape().map(|n| n as i32);
        let [first, pitch, lead] = [self.layout.first, self.layout.pitch, self.layout.lead].map(|n| n as i32);
        let (depth, alpha) = (kernel.depth as i32, T::of(ALPHA));
        for _ in 0..steps {
            let mut launch = self.gpu.stream.launch_builder(&kernel.function);
            launch.arg(&mut self.next).arg(&self.u).arg(&nx).arg(&ny).arg(&nz);
            launch.arg(&first).arg(&pitch).arg(&lead).arg(&depth).arg(&alpha);
            // SAFETY: the arguments are those of the kernel, which leaves out all threads beyond nx, ny and nz; the
            // arrays hold `Layout::len` elements, which covers these.
            unsafe { launch.launch(kernel.config)? };
            std::mem::swap(&mut self.u, &mut self.next);
        }
        self.gpu.wait()
    }

    fn cells(&self) -> Result<Vec<T>> {
        let all = self.gpu.stream.clone_dtoh(&self.u)?;
        let Layout { n, .. } = self.layout;
        let rows = (0..self.layout.rows()).map(|row| self.layout.row(row));
        Ok(rows.flat_map(|at| all[at..at + n].iter().copied()).collect())
    }

    /// Every kernel of the source for this layout; `flags` says how it is compiled.
    fn kernels(&self, flags: Flags) -> Result<Vec<Kernel>> {
        let layout = &self.layout;
        let module = self.gpu.compile(SOURCE, flags, &[&format!("-DREAL={}", c_name::<T>())])?;
        let [x, y, z] = layout.shape().map(|n| n.max(2 * layout.first + 1) - 2 * layout.first);
        let mut kernels = Vec::new();
        let mut add = |entry: &'static str, block: [u32; 3], depth: usize| -> Result<()> {
            let [bx, by, bz] = block;
            let depths = if depth > 1 { format!(", {depth} deep") } else { String::new() };
            kernels.push(Kernel {
                entry,
                name: format!("{entry} {bx}x{by}x{bz}{depths}, {}", layout.name),
                function: function(&module, entry)?,
                config: cover([x, y, z.div_ceil(depth)], block),
                depth,
            });
            Ok(())
        };
        if layout.dims == 2 {
            for block in [[32, 8, 1], [64, 4, 1], [128, 2, 1], [128, 4, 1], [256, 1, 1], [256, 2, 1], [512, 1, 1]] {
                add("heat2", block, 1)?;
            }
        } else {
            for block in [[32, 8, 1], [64, 4, 1], [64, 8, 1], [128, 4, 1], [128, 2, 1], [256, 2, 1], [32, 4, 4]] {
                add("heat3", block, 1)?;
            }
            for block in [[32, 8, 1], [64, 4, 1], [64, 8, 1], [128, 4, 1]] {
                for depth in [16, 32, 64] {
                    add("heat3_march", block, depth)?;
                }
            }
        }
        Ok(kernels)
    }
}

/// Noise inside, [`OUTSIDE`] elsewhere.
fn start<T: Cell>(layout: Layout) -> Vec<T> {
    let mut values = vec![T::of(OUTSIDE); layout.len()];
    for row in 0..layout.rows() {
        let at = layout.row(row);
        for (x, value) in values[at..at + layout.n].iter_mut().enumerate() {
            *value = T::noise(row * layout.n + x);
        }
    }
    values
}

fn c_name<T: Cell>() -> &'static str {
    if T::NAME == "f32" { "float" } else { "double" }
}

/// Cells that are not equal.
fn differing<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    if a.len() == b.len() { a.iter().zip(b).filter(|(a, b)| a != b).count() } else { usize::MAX }
}

fn verdict(output: &mut Output, case: &str, differing: usize) -> String {
    let words = if differing == 0 { "same bits".into() } else { format!("{differing} cells DIFFER") };
    output.checked(case, differing == 0, words)
}

pub fn heat3<T: Cell>(bench: &Bench, output: &mut Output) -> Result<()> {
    let acc = bench.accelerator(Math::Exact)?;
    let pair = Pair::<T, 3>::new(&acc, bench.size, [1; 3], false, step3)?;
    sweeps(bench, output, &format!("heat3 {} {}^3", T::NAME, bench.size), bench.size, pair)
}

pub fn heat2(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = 16 * bench.size;
    let acc = bench.accelerator(Math::Exact)?;
    let pair = Pair::<f64, 2>::new(&acc, n, [1; 2], false, step2)?;
    sweeps(bench, output, &format!("heat2 f64 {n}^2"), n, pair)
}

/// One region without ghost fill, against one thread a cell and against threads that march.
fn sweeps<T: Cell, const D: usize>(
    bench: &Bench,
    output: &mut Output,
    case: &str,
    n: usize,
    mut pair: Pair<T, D>,
) -> Result<()> {
    pair.run(CHECKED)?;
    let found = pair.cells()?;
    let cells = n.pow(D as u32);
    let mut work = Work { case: case.into(), check: String::new(), cells, bytes: 2 * cells * size_of::<T>() };
    let Some(gpu) = &bench.gpu else {
        let expected = plain::<T>(&[n; D], CHECKED);
        work.check = verdict(output, case, differing(&found, &expected));
        let times = in_turn(bench.effort, &mut [Box::new(|steps| pair.run(steps))])?;
        return output.row(&Row::new(&work, &times[0], None));
    };

    let mut references = Vec::new();
    for layout in Layout::both(n, D, size_of::<T>()) {
        references.push(Reference::<T>::new(gpu, layout)?);
    }
    // References give the same bits where they are compiled as tida compiles. A block's shape changes nothing of what a
    // thread does: one of each kernel is enough.
    let mut different = 0;
    for reference in &mut references {
        let mut kernels = reference.kernels(Flags::Exact)?;
        kernels.dedup_by_key(|kernel| kernel.entry);
        for kernel in kernels {
            reference.restart()?;
            reference.run(&kernel, CHECKED)?;
            different = different.max(differing(&found, &reference.cells()?));
        }
    }
    drop(found);
    work.check = verdict(output, case, different);

    // Timed as nvcc would compile it: the fastest of each kind, over both layouts.
    let mut best: Vec<(f64, usize, Kernel)> = Vec::new();
    let entries: &[_] = if D == 3 { &["heat3", "heat3_march"] } else { &["heat2"] };
    for entry in entries {
        let mut fast: Option<(f64, usize, Kernel)> = None;
        for (place, reference) in references.iter_mut().enumerate() {
            let kernels: Vec<_> =
                reference.kernels(Flags::Default)?.into_iter().filter(|k| k.entry == *entry).collect();
            for kernel in kernels {
                let run = |steps| reference.run(&kernel, steps);
                let (_, medians) = fastest(bench.effort, &mut [Box::new(run)])?;
                if fast.as_ref().is_none_or(|(seconds, ..)| medians[0] < *seconds) {
                    fast = Some((medians[0], place, kernel));
                }
            }
        }
        best.extend(fast);
    }
    for (_, place, kernel) in &best {
        let reference = &mut references[*place];
        let mut sides: [Side<'_>; 2] =
            [Box::new(|steps| reference.run(kernel, steps)), Box::new(|steps| pair.run(steps))];
        let times = in_turn(bench.effort, &mut sides)?;
        output.row(&Row::new(&work, &times[1], Some((&kernel.name, &times[0]))))?;
    }
    Ok(())
}

/// The result of plain loops that start from noise, with sums in the order of the kernels by hand.
pub fn plain<T: Cell>(shape: &[usize], steps: usize) -> Vec<T> {
    let start: Vec<T> = (0..shape.iter().product()).map(T::noise).collect();
    let (alpha, own) = (T::of(ALPHA), T::of(2.0 * shape.len() as f64));
    let mut u = Grid::new(shape, 1, &start);
    let mut next = u.clone();
    let [_, ny, nx] = u.shape();
    for _ in 0..steps {
        u.fill_ghosts(Outside::Fixed(T::of(OUTSIDE)));
        for cell in 0..start.len() {
            let p = u.position(cell / nx / ny, cell / nx % ny, cell % nx);
            let (v, strides) = (&u.data, (3 - shape.len()..2).rev().map(|axis| u.stride(axis)));
            let around = strides.fold(v[p + 1] + v[p - 1], |sum, stride| sum + v[p + stride] + v[p - stride]);
            next.data[p] = v[p] + alpha * (around - own * v[p]);
        }
        std::mem::swap(&mut u, &mut next);
    }
    u.cells()
}

/// 8 slabs with their ghost fill, against one region with and without it: all of them tida.
pub fn slabs(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = bench.size;
    let case = format!("heat3 f64 {n}^3, 8 slabs, ghosts filled");
    let acc = bench.accelerator(Math::Exact)?;
    let mut cut = Pair::<f64, 3>::new(&acc, n, [8, 1, 1], true, step3)?;
    let mut whole = Pair::<f64, 3>::new(&acc, n, [1; 3], false, step3)?;
    let mut filled = Pair::<f64, 3>::new(&acc, n, [1; 3], true, step3)?;
    for pair in [&mut cut, &mut whole, &mut filled] {
        pair.run(CHECKED)?;
    }
    let expected = whole.cells()?;
    let different = differing(&cut.cells()?, &expected).max(differing(&filled.cells()?, &expected));
    let check = verdict(output, &case, different);
    drop(expected);
    let cells = n.pow(3);
    let work = Work { case, check, cells, bytes: 2 * cells * size_of::<f64>() };
    let mut sides: [Side<'_>; 3] =
        [Box::new(|steps| cut.run(steps)), Box::new(|steps| whole.run(steps)), Box::new(|steps| filled.run(steps))];
    let times = in_turn(bench.effort, &mut sides)?;
    output.row(&Row::new(&work, &times[0], Some(("tida, one region", &times[1]))))?;
    output.row(&Row::new(&work, &times[0], Some(("tida, one region, ghosts filled", &times[2]))))
}
