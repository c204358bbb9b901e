//! Pathfinder, 120 rows, and the mean of three in whole numbers, 36 steps, with and without the ghost-zone optimisation
//! (Lashgar Fig. 6.2, 6.6a, Listings 6.2 and A.1).

use cudarc::driver::{CudaFunction, CudaSlice, LaunchConfig, PushKernelArg};
use tida::TileAcc;
use tida::prelude::*;
use tida_suite::Result;

use super::{Form, Kind, Shared, Table, Way, by_hand, hash, reflected, shared, short};
use crate::Bench;
use crate::cuda::{Gpu, cover, function, upload};
use crate::gallery::launch;
use crate::measure::Output;

/// Rows that ways go down, and the most steps of a launch: rows have as many cells on both sides.
const ROWS: usize = 120;
const SIDE: usize = 20;
/// Steps of the mean.
const MEANS: usize = 36;

fn digit(i: usize) -> i32 {
    (hash(i) % 10) as i32
}

/// By hand: what it starts from, two lines, and the wall if there is one.
struct Hand<'a> {
    gpu: &'a Gpu,
    n: usize,
    steps: usize,
    slices: [CudaSlice<i32>; 3],
    wall: Option<CudaSlice<i32>>,
    kernels: [CudaFunction; 2],
}

/// A way by hand: threads of a block, and with the ghost-zone optimisation steps of a launch.
struct ByHand<'a> {
    on: Shared<Hand<'a>>,
    wide: u32,
    zone: Option<u32>,
}

impl Form for ByHand<'_> {
    fn restart(&mut self) -> Result<()> {
        let Hand { gpu, slices: [start, u, _], .. } = &mut *self.on.borrow_mut();
        Ok(gpu.stream.memcpy_dtod(start, u)?)
    }

    fn run(&mut self, times: usize) -> Result<()> {
        let Hand { gpu, n: cells, steps, slices: [_, u, next], wall, kernels: [single, zone] } =
            &mut *self.on.borrow_mut();
        let (n, wide, halo) = (*cells as i32, self.wide, self.zone.unwrap_or(0));
        let (some, config) = (halo as i32, cover([*cells, 1, 1], [wide - 2 * halo, 1, 1]));
        let config =
            LaunchConfig { block_dim: (wide, 1, 1), shared_mem_bytes: if halo > 0 { 8 * wide } else { 0 }, ..config };
        for _ in 0..times {
            for first in (0..*steps).step_by(halo.max(1) as usize) {
                let row = wall.as_ref().map(|wall| wall.slice(first * *cells..));
                match (&row, self.zone) {
                    (Some(row), None) => launch!(gpu, single, config, &mut *next, &*u, row, &n),
                    (Some(row), Some(_)) => launch!(gpu, zone, config, &mut *next, &*u, row, &n, &some),
                    (None, None) => launch!(gpu, single, config, &mut *next, &*u, &n),
                    (None, Some(_)) => launch!(gpu, zone, config, &mut *next, &*u, &n, &some),
                }
                std::mem::swap(u, next);
            }
        }
        gpu.wait()
    }

    fn found(&self) -> Result<Vec<u32>> {
        let hand = self.on.borrow();
        Ok(hand.gpu.stream.clone_dtoh(&hand.slices[1])?.into_iter().map(i32::cast_unsigned).collect())
    }
}

/// tida's lines, with ghosts as wide as a launch has steps, and the wall, which all forms share.
struct Tida {
    acc: TileAcc,
    u: TileArray<i32, 1>,
    next: TileArray<i32, 1>,
    wall: Option<Shared<TileArray<i32, 2>>>,
    steps: usize,
}

impl Tida {
    fn new(
        acc: &TileAcc,
        n: usize,
        ghost: usize,
        steps: usize,
        wall: Option<&Shared<TileArray<i32, 2>>>,
    ) -> Result<Tida> {
        let u = TileArray::<i32, 1>::builder([n]).ghost(ghost).boundary(Boundary::ReflectEven).build(acc)?;
        Ok(Tida { acc: acc.clone(), next: u.like()?, u, wall: wall.cloned(), steps })
    }
}

/// Steps on lines; that of the wall's row it begins with, and threads of a block.
type Steps = fn(&mut Tida, usize, usize) -> tida::Result<()>;

struct ByTida {
    on: Shared<Tida>,
    /// Steps of a launch.
    halo: usize,
    launch: Steps,
    block: usize,
}

impl Form for ByTida {
    fn restart(&mut self) -> Result<()> {
        Ok(self.on.borrow_mut().u.fill(|[i]| digit(i))?)
    }

    fn run(&mut self, times: usize) -> Result<()> {
        let tida = &mut *self.on.borrow_mut();
        for _ in 0..times {
            for first in (0..tida.steps).step_by(self.halo) {
                (self.launch)(tida, first, self.block)?;
                std::mem::swap(&mut tida.u, &mut tida.next);
            }
        }
        Ok(tida.acc.sync()?)
    }

    fn found(&self) -> Result<Vec<u32>> {
        let Tida { u, .. } = &*self.on.borrow();
        Ok(u.read_box(u.domain())?.into_iter().map(i32::cast_unsigned).collect())
    }
}

fn row(on: &mut Tida, first: usize, _block: usize) -> tida::Result<()> {
    let Tida { u, next, wall: Some(wall), .. } = on else { return Ok(()) };
    let (first, wall, side) = (first as i64, &*wall.borrow(), SIDE as i64);
    u.fill_ghosts()?;
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, &*u, all(wall)),
            kernel!(|next, u, wall, at| {
                let [i] = at;
                next[at] = wall[[first, i + side]] + u[at - [1]].min(u[at]).min(u[at + [1]]);
            }),
        )?;
    }
    Ok(())
}

fn mean(on: &mut Tida, _first: usize, _block: usize) -> tida::Result<()> {
    let Tida { u, next, .. } = on;
    u.fill_ghosts()?;
    for tile in TileIter::new(u) {
        compute(&tile, (&mut *next, &*u), kernel!(|next, u, at| next[at] = (u[at - [1]] + u[at] + u[at + [1]]) / 3))?;
    }
    Ok(())
}

/// So many rows of Pathfinder in one launch, an even number, of which pairs before the last.
macro_rules! rows {
    ($name:ident, $steps:tt, $around:tt, $pairs:tt) => {
        fn $name(on: &mut Tida, first: usize, block: usize) -> tida::Result<()> {
            let Tida { u, next, wall: Some(wall), .. } = on else { return Ok(()) };
            let (first, wall, side) = (first as i64, &*wall.borrow(), SIDE as i64);
            u.fill_ghosts()?;
            for tile in TileIter::new(u) {
                compute_groups(
                    &tile,
                    [block],
                    (&mut *next, &*u, all(wall)),
                    group_kernel!(|next, u, wall, group| {
                        let a = group.fetch(u, [$steps], [$steps]);
                        let b = group.channel::<i32>([$steps], [$steps]);
                        for pair in 0..$pairs {
                            group.each_around([$around], [$around], |t| {
                                let [i] = t.at();
                                b[t] = wall[[first + 2 * pair, i + side]] + a[t - [1]].min(a[t]).min(a[t + [1]]);
                            });
                            group.each_around([$around], [$around], |t| {
                                let [i] = t.at();
                                a[t] = wall[[first + 2 * pair + 1, i + side]] + b[t - [1]].min(b[t]).min(b[t + [1]]);
                            });
                        }
                        group.each_around([$around], [$around], |t| {
                            let [i] = t.at();
                            b[t] = wall[[first + 2 * $pairs, i + side]] + a[t - [1]].min(a[t]).min(a[t + [1]]);
                        });
                        group.each(|t| {
                            let [i] = t.at();
                            let cheapest = b[t - [1]].min(b[t]).min(b[t + [1]]);
                            next[t.at()] = wall[[first + 2 * $pairs + 1, i + side]] + cheapest;
                        });
                    }),
                )?;
            }
            Ok(())
        }
    };
}

rows!(two_rows, 2, 1, 0);
rows!(six_rows, 6, 5, 2);
rows!(twelve_rows, 12, 11, 5);
rows!(twenty_rows, 20, 19, 9);

/// So many means in one launch, as [`rows`].
macro_rules! means {
    ($name:ident, $steps:tt, $around:tt, $pairs:tt) => {
        fn $name(on: &mut Tida, _first: usize, block: usize) -> tida::Result<()> {
            let Tida { u, next, .. } = on;
            u.fill_ghosts()?;
            for tile in TileIter::new(u) {
                compute_groups(
                    &tile,
                    [block],
                    (&mut *next, &*u),
                    group_kernel!(|next, u, group| {
                        let a = group.fetch(u, [$steps], [$steps]);
                        let b = group.channel::<i32>([$steps], [$steps]);
                        for _ in 0..$pairs {
                            group.each_around([$around], [$around], |t| b[t] = (a[t - [1]] + a[t] + a[t + [1]]) / 3);
                            group.each_around([$around], [$around], |t| a[t] = (b[t - [1]] + b[t] + b[t + [1]]) / 3);
                        }
                        group.each_around([$around], [$around], |t| b[t] = (a[t - [1]] + a[t] + a[t + [1]]) / 3);
                        group.each(|t| next[t.at()] = (b[t - [1]] + b[t] + b[t + [1]]) / 3);
                    }),
                )?;
            }
            Ok(())
        }
    };
}

means!(two_means, 2, 1, 0);
means!(six_means, 6, 5, 2);
means!(twelve_means, 12, 11, 5);
means!(eighteen_means, 18, 17, 8);

/// What a program on a line is: its kernels by hand, steps of a run, blocks, its step and its launches of several in
/// tida.
struct Program {
    by_hand: [&'static str; 2],
    steps: usize,
    blocks: &'static [u32],
    single: Steps,
    zones: [(usize, Steps); 4],
}

/// All forms of a program for a line of so many cells.
fn ways<'a>(
    bench: &'a Bench,
    program: &Program,
    n: usize,
    [unfused, chosen]: &[TileAcc; 2],
    walled: bool,
) -> Result<Vec<Way<'a>>> {
    let mut ways: Vec<Way<'_>> = Vec::new();
    let halos = program.zones.map(|(halo, _)| halo as u32);
    if let Some(gpu) = &bench.gpu {
        let module = by_hand(gpu)?;
        let [single, zone] = program.by_hand;
        let start: Vec<i32> = (0..n).map(digit).collect();
        let wall: Option<Vec<i32>> = walled.then(|| (0..ROWS * n).map(digit).collect());
        let line = || upload(gpu, &start);
        let on = shared(Hand {
            gpu,
            n,
            steps: program.steps,
            slices: [line()?, line()?, line()?],
            wall: wall.map(|wall| upload(gpu, &wall)).transpose()?,
            kernels: [function(&module, single)?, function(&module, zone)?],
        });
        ways.push((Kind::Hand, "256".into(), Box::new(ByHand { on: on.clone(), wide: 256, zone: None })));
        for &wide in program.blocks {
            for halo in halos.into_iter().filter(|halo| wide > 2 * halo + 8) {
                let form = ByHand { on: on.clone(), wide, zone: Some(halo) };
                ways.push((Kind::HandChannel, format!("halo {halo}, {wide}"), Box::new(form)));
            }
        }
    }
    for (kind, acc) in [(Kind::Cells, unfused), (Kind::Chosen, chosen)] {
        let wall = if walled { Some(built(acc, n)?) } else { None };
        let on = shared(Tida::new(acc, n, 1, program.steps, wall.as_ref())?);
        ways.push((kind, String::new(), Box::new(ByTida { on, halo: 1, launch: program.single, block: 0 })));
        if kind == Kind::Chosen {
            continue;
        }
        for (halo, launch) in program.zones {
            let on = shared(Tida::new(acc, n, halo, program.steps, wall.as_ref())?);
            for &block in program.blocks {
                let form = ByTida { on: on.clone(), halo, launch, block: block as usize };
                ways.push((Kind::Groups, format!("halo {halo}, {block}"), Box::new(form)));
            }
        }
    }
    Ok(ways)
}

/// The wall, with its first and last cells reflected at both sides.
fn built(acc: &TileAcc, n: usize) -> Result<Shared<TileArray<i32, 2>>> {
    let mut wall = TileArray::<i32, 2>::builder([ROWS, n + 2 * SIDE]).build(acc)?;
    wall.fill(|[row, i]| digit(row * n + reflected(i as i64 - SIDE as i64, n as i64) as usize))?;
    Ok(shared(wall))
}

pub fn pathfinder(bench: &Bench, output: &mut Output) -> Result<()> {
    let program = Program {
        by_hand: ["pathfinder_step", "pathfinder_zone"],
        steps: ROWS,
        blocks: &[64, 128, 256, 512, 1024],
        single: row,
        zones: [(2, two_rows), (6, six_rows), (12, twelve_rows), (20, twenty_rows)],
    };
    let mut table = Table::new(bench, output, "pathfinder");
    let accelerators = bench.unfused_and_chosen()?;
    for n in bench.sizes(&[128 << 10, 1 << 20, 4 << 20], 3 << 10) {
        table.size(&short(n), [ROWS, n], ways(bench, &program, n, &accelerators, true)?)?;
    }
    table.print();
    Ok(())
}

pub fn stencil(bench: &Bench, output: &mut Output) -> Result<()> {
    let program = Program {
        by_hand: ["stencil_step", "stencil_zone"],
        steps: MEANS,
        blocks: &[128, 256, 512, 1024],
        single: mean,
        zones: [(2, two_means), (6, six_means), (12, twelve_means), (18, eighteen_means)],
    };
    let mut table = Table::new(bench, output, "stencil");
    let accelerators = bench.unfused_and_chosen()?;
    for n in bench.sizes(&[16 << 10, 128 << 10, 2 << 20, 16 << 20], 3 << 10) {
        table.size(&short(n), [MEANS, n], ways(bench, &program, n, &accelerators, false)?)?;
    }
    table.print();
    Ok(())
}
