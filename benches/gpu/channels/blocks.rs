//! Work that has no form without channels but through memory: the dyadic convolution by fast Walsh-Hadamard transforms
//! (Lashgar Fig. 6.3), and sums by trees (Listing 6.6).

use cudarc::driver::{CudaFunction, CudaSlice, LaunchConfig, PushKernelArg};
use tida::TileAcc;
use tida::prelude::*;
use tida_suite::Result;

use super::{Form, Kind, Shared, Table, Way, by_hand, hash, shared};
use crate::Bench;
use crate::cuda::{Gpu, cover, function, upload};
use crate::gallery::launch;
use crate::measure::Output;

/// The first sequence, or the second one.
fn sequence(second: bool, i: usize) -> f32 {
    (hash(i) % if second { 3 } else { 2 }) as f32
}

/// Both sequences by hand, and how they start.
struct Hand<'a> {
    gpu: &'a Gpu,
    levels: u32,
    start: [CudaSlice<f32>; 2],
    slices: [CudaSlice<f32>; 2],
    /// Two levels over all, all levels of a block, products.
    kernels: [CudaFunction; 3],
}

/// By hand, with all but so many levels through memory, two in each launch.
struct ByHand<'a> {
    on: Shared<Hand<'a>>,
    of_block: u32,
}

fn transform(
    gpu: &Gpu,
    [level, block, _]: &[CudaFunction; 3],
    u: &mut CudaSlice<f32>,
    levels: u32,
    held: u32,
) -> Result<()> {
    let cells = 1usize << levels;
    let mut left = levels;
    while left > held {
        let stride = 1u32 << (left - 2);
        launch!(gpu, level, cover([cells / 4, 1, 1], [256, 1, 1]), &mut *u, &stride);
        left -= 2;
    }
    if left > 0 {
        let n = 1u32 << left;
        let config =
            LaunchConfig { grid_dim: (1 << (levels - left), 1, 1), block_dim: (n / 4, 1, 1), shared_mem_bytes: 4 * n };
        let held = left as i32;
        launch!(gpu, block, config, u, &held);
    }
    Ok(())
}

impl Form for ByHand<'_> {
    fn restart(&mut self) -> Result<()> {
        let Hand { gpu, start, slices, .. } = &mut *self.on.borrow_mut();
        Ok(start.iter().zip(slices).try_for_each(|(start, slice)| gpu.stream.memcpy_dtod(start, slice))?)
    }

    fn run(&mut self, times: usize) -> Result<()> {
        let Hand { gpu, levels, slices: [a, b], kernels, .. } = &mut *self.on.borrow_mut();
        let cells = 1u32 << *levels;
        let part = 1.0 / cells as f32;
        for _ in 0..times {
            transform(gpu, kernels, a, *levels, self.of_block)?;
            transform(gpu, kernels, b, *levels, self.of_block)?;
            launch!(gpu, &kernels[2], cover([cells as usize, 1, 1], [256, 1, 1]), &mut *a, &*b, &cells, &part);
            transform(gpu, kernels, a, *levels, self.of_block)?;
        }
        gpu.wait()
    }

    fn found(&self) -> Result<Vec<u32>> {
        let on = self.on.borrow();
        Ok(on.gpu.stream.clone_dtoh(&on.slices[0])?.into_iter().map(f32::to_bits).collect())
    }
}

/// tida's sequences as lines; two levels a launch.
struct Lines {
    acc: TileAcc,
    a: TileArray<f32, 1>,
    b: TileArray<f32, 1>,
    other: TileArray<f32, 1>,
}

/// Two levels over all, into another array.
fn level(u: &mut TileArray<f32, 1>, next: &mut TileArray<f32, 1>, stride: i64) -> tida::Result<()> {
    let rest = !(3 * stride);
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, all(u)),
            kernel!(|next, u, at| {
                let [i] = at;
                let base = i & rest;
                let (a, c) = (u[[base]], u[[base + 2 * stride]]);
                let (b, d) = (u[[base + stride]], u[[base + 3 * stride]]);
                let first = if i & (2 * stride) == 0 { a + c } else { a - c };
                let second = if i & (2 * stride) == 0 { b + d } else { b - d };
                next[at] = if i & stride == 0 { first + second } else { first - second };
            }),
        )?;
    }
    std::mem::swap(u, next);
    Ok(())
}

impl Form for Lines {
    fn restart(&mut self) -> Result<()> {
        self.a.fill(|[i]| sequence(false, i))?;
        Ok(self.b.fill(|[i]| sequence(true, i))?)
    }

    fn run(&mut self, times: usize) -> Result<()> {
        let Lines { acc, a, b, other } = self;
        let (cells, part) = (a.shape()[0] as i64, 1.0 / a.shape()[0] as f32);
        for _ in 0..times {
            for turn in 0..3 {
                let of = if turn == 1 { &mut *b } else { &mut *a };
                let mut stride = cells / 4;
                while stride > 0 {
                    level(of, other, stride)?;
                    stride /= 4;
                }
                if turn == 1 {
                    for tile in TileIter::new(a) {
                        compute(&tile, (&mut *a, &*b), kernel!(|a, b, at| a[at] = a[at] * b[at] * part))?;
                    }
                }
            }
        }
        Ok(acc.sync()?)
    }

    fn found(&self) -> Result<Vec<u32>> {
        Ok(self.a.read_box(self.a.domain())?.into_iter().map(f32::to_bits).collect())
    }
}

/// tida's sequences as boxes: the same cells in the same order. Groups are lines along an axis, in place.
struct Boxes {
    acc: TileAcc,
    a: TileArray<f32, 3>,
    b: TileArray<f32, 3>,
}

/// All levels along an axis, for groups of so many cells.
macro_rules! along {
    ($name:ident, $axis:tt, [$($by:tt),*]) => {
        fn $name(u: &mut TileArray<f32, 3>, extent: [usize; 3]) -> tida::Result<()> {
            let half = extent[$axis] as i64 / 2;
            for tile in TileIter::new(u) {
                compute_groups(
                    &tile,
                    extent,
                    &mut *u,
                    group_kernel!(|u, group| {
                        let s = group.fetch(u, [0, 0, 0], [0, 0, 0]);
                        let x = group.private(0.0);
                        let mut h = half;
                        while h > 0 {
                            group.each(|t| {
                                if t[$axis] & h == 0 {
                                    x = s[t] + s[t + [$($by * h),*]];
                                } else {
                                    x = s[t - [$($by * h),*]] - s[t];
                                }
                            });
                            group.each(|t| s[t] = x);
                            h /= 2;
                        }
                        group.each(|t| u[t.at()] = s[t]);
                    }),
                )?;
            }
            Ok(())
        }
    };
}

along!(first, 0, [1, 0, 0]);
along!(second, 1, [0, 1, 0]);
along!(third, 2, [0, 0, 1]);

impl Form for Boxes {
    fn restart(&mut self) -> Result<()> {
        let [_, ny, nx] = self.a.shape();
        self.a.fill(|[k, j, i]| sequence(false, (k * ny + j) * nx + i))?;
        Ok(self.b.fill(|[k, j, i]| sequence(true, (k * ny + j) * nx + i))?)
    }

    fn run(&mut self, times: usize) -> Result<()> {
        let Boxes { acc, a, b } = self;
        let [nz, ny, nx] = a.shape();
        let part = 1.0 / (nz * ny * nx) as f32;
        // As many cells side by side as fit with the line into a block.
        let beside = |n: usize| nx.min(1024 / n).min(32);
        for _ in 0..times {
            for turn in 0..3 {
                let of = if turn == 1 { &mut *b } else { &mut *a };
                first(of, [nz, 1, beside(nz)])?;
                second(of, [1, ny, beside(ny)])?;
                third(of, [1, 1, nx])?;
                if turn == 1 {
                    for tile in TileIter::new(a) {
                        compute(&tile, (&mut *a, &*b), kernel!(|a, b, at| a[at] = a[at] * b[at] * part))?;
                    }
                }
            }
        }
        Ok(acc.sync()?)
    }

    fn found(&self) -> Result<Vec<u32>> {
        Ok(self.a.read_box(self.a.domain())?.into_iter().map(f32::to_bits).collect())
    }
}

pub fn dyadic(bench: &Bench, output: &mut Output) -> Result<()> {
    let mut table = Table::new(bench, output, "dyadic");
    let [unfused, chosen] = bench.unfused_and_chosen()?;
    for shape in bench.sizes(&[[32, 32, 1024], [32, 64, 1024], [64, 64, 1024]], [4, 8, 32]) {
        let cells = shape.iter().product::<usize>();
        let levels = cells.ilog2();
        let mut ways: Vec<Way<'_>> = Vec::new();
        if let Some(gpu) = &bench.gpu {
            let module = by_hand(gpu)?;
            let start = |second| upload(gpu, &(0..cells).map(|i| sequence(second, i)).collect::<Vec<_>>());
            let kernels = ["fwht_level", "fwht_block", "fwht_product"].map(|name| function(&module, name));
            let [level, block, product] = kernels;
            let on = shared(Hand {
                gpu,
                levels,
                start: [start(false)?, start(true)?],
                slices: [start(false)?, start(true)?],
                kernels: [level?, block?, product?],
            });
            ways.push((Kind::Hand, String::new(), Box::new(ByHand { on: on.clone(), of_block: 0 })));
            for of_block in [10, 12] {
                ways.push((Kind::HandChannel, format!("2^{of_block}"), Box::new(ByHand { on: on.clone(), of_block })));
            }
        }
        for (kind, acc) in [(Kind::Cells, &unfused), (Kind::Chosen, &chosen)] {
            let line = || TileArray::<f32, 1>::builder([cells]).build(acc);
            ways.push((
                kind,
                String::new(),
                Box::new(Lines { acc: acc.clone(), a: line()?, b: line()?, other: line()? }),
            ));
        }
        let build = || TileArray::<f32, 3>::builder(shape).build(&unfused);
        ways.push((Kind::Groups, String::new(), Box::new(Boxes { acc: unfused.clone(), a: build()?, b: build()? })));
        table.size(&format!("2^{levels}"), [1, cells], ways)?;
    }
    table.print();
    Ok(())
}

/// Values by hand, and two lines of sums.
struct Heap<'a> {
    gpu: &'a Gpu,
    n: usize,
    slices: [CudaSlice<i32>; 3],
    kernel: CudaFunction,
    found: i32,
}

/// Blocks of so many threads, whose sums are summed in turn until one is left.
struct HeapByHand<'a> {
    on: Shared<Heap<'a>>,
    wide: u32,
}

impl Form for HeapByHand<'_> {
    fn restart(&mut self) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, times: usize) -> Result<()> {
        let Heap { gpu, n, slices: [values, to, other], kernel, found } = &mut *self.on.borrow_mut();
        let of =
            |left: usize| LaunchConfig { shared_mem_bytes: 4 * self.wide, ..cover([left, 1, 1], [self.wide, 1, 1]) };
        for _ in 0..times {
            let count = *n as i32;
            launch!(gpu, kernel, of(*n), &mut *to, &*values, &count);
            let mut left = n.div_ceil(self.wide as usize);
            while left > 1 {
                let count = left as i32;
                launch!(gpu, kernel, of(left), &mut *other, &*to, &count);
                std::mem::swap(to, other);
                left = left.div_ceil(self.wide as usize);
            }
        }
        *found = gpu.stream.clone_dtoh(&to.slice(..1))?[0];
        Ok(())
    }

    fn found(&self) -> Result<Vec<u32>> {
        Ok(vec![self.on.borrow().found.cast_unsigned()])
    }
}

/// tida's values, and sums of groups: each at the first cell of its group, of those again, until one is left.
struct Sums {
    acc: TileAcc,
    values: TileArray<i32, 1>,
    sums: Vec<TileArray<i32, 1>>,
    found: i32,
}

struct SumsBy {
    on: Shared<Sums>,
    /// Of values, and of the first cells of groups of sums; tida's reduction without.
    groups: Option<[Tree; 2]>,
}

/// Sums of groups.
type Tree = fn(&mut TileArray<i32, 1>, &TileArray<i32, 1>) -> tida::Result<()>;

macro_rules! tree {
    ($name:ident, $wide:tt, $each:tt, [$($half:tt)*]) => {
        fn $name(to: &mut TileArray<i32, 1>, from: &TileArray<i32, 1>) -> tida::Result<()> {
            for tile in TileIter::new(to) {
                compute_groups(
                    &tile,
                    [$wide],
                    (&mut *to, all(from)),
                    group_kernel!(|to, from, group| {
                        let c = group.shared::<i32>([$wide]);
                        let sum = group.private(0);
                        group.each(|t| {
                            let [i] = t.at();
                            sum = from[[$each * i]];
                            c[t] = sum;
                        });
                        $(
                            group.each(|t| {
                                if t[0] < $half {
                                    sum += c[t + [$half]];
                                }
                            });
                            group.each(|t| {
                                if t[0] < $half {
                                    c[t] = sum;
                                }
                            });
                        )*
                        group.each(|t| {
                            if t[0] == 0 {
                                to[t.at()] = sum;
                            }
                        });
                    }),
                )?;
            }
            Ok(())
        }
    };
}

tree!(values_256, 256, 1, [128 64 32 16 8 4 2 1]);
tree!(sums_256, 256, 256, [128 64 32 16 8 4 2 1]);
tree!(values_1024, 1024, 1, [512 256 128 64 32 16 8 4 2 1]);
tree!(sums_1024, 1024, 1024, [512 256 128 64 32 16 8 4 2 1]);

impl Form for SumsBy {
    fn restart(&mut self) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, times: usize) -> Result<()> {
        let Sums { acc, values, sums, found } = &mut *self.on.borrow_mut();
        for _ in 0..times {
            let Some([of_values, of_sums]) = self.groups else {
                *found = reduce(&*values, Sum, kernel!(|values, at| values[at]))?;
                continue;
            };
            for level in 0..sums.len() {
                let (before, from) = sums.split_at_mut(level);
                let Some(to) = from.first_mut() else { break };
                match before.last() {
                    Some(sums) => of_sums(to, sums)?,
                    None => of_values(to, values)?,
                }
            }
        }
        acc.sync()?;
        if let Some(last) = sums.last().filter(|_| self.groups.is_some()) {
            *found = last.read_box(GridBox::new([0], [1]))?[0];
        }
        Ok(())
    }

    fn found(&self) -> Result<Vec<u32>> {
        Ok(vec![self.on.borrow().found.cast_unsigned()])
    }
}

pub fn tree(bench: &Bench, output: &mut Output) -> Result<()> {
    let mut table = Table::new(bench, output, "tree");
    let [acc, _] = bench.unfused_and_chosen()?;
    for n in bench.sizes(&[1usize << 16, 1 << 20, 1 << 24, 1 << 26], 5000) {
        let value = |i: usize| (hash(i) % 10) as i32;
        let mut ways: Vec<Way<'_>> = Vec::new();
        if let Some(gpu) = &bench.gpu {
            let sums = || gpu.stream.alloc_zeros(n.div_ceil(128));
            let slices = [upload(gpu, &(0..n).map(value).collect::<Vec<_>>())?, sums()?, sums()?];
            let kernel = function(&by_hand(gpu)?, "reduce_tile")?;
            let on = shared(Heap { gpu, n, slices, kernel, found: 0 });
            for wide in [128, 256, 512, 1024] {
                ways.push((Kind::HandChannel, wide.to_string(), Box::new(HeapByHand { on: on.clone(), wide })));
            }
        }
        for (groups, wide) in
            [(None, 256), (Some([values_256 as Tree, sums_256]), 256), (Some([values_1024, sums_1024]), 1024)]
        {
            let build = |n: usize| TileArray::<i32, 1>::builder([n]).build(&acc);
            let mut values = build(n)?;
            values.fill(|[i]| value(i))?;
            let (mut sums, mut left) = (Vec::new(), n);
            while groups.is_some() && left > 1 {
                sums.push(build(left)?);
                left = left.div_ceil(wide);
            }
            let on = shared(Sums { acc: acc.clone(), values, sums, found: 0 });
            let (kind, name) =
                if groups.is_some() { (Kind::Groups, wide.to_string()) } else { (Kind::Cells, "reduce".into()) };
            ways.push((kind, name, Box::new(SumsBy { on, groups })));
        }
        table.size(&n.to_string(), [1, n], ways)?;
    }
    table.print();
    Ok(())
}
