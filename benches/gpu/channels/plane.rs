//! Hotspot: 12 steps, with and without the ghost-zone optimisation (Lashgar Fig. 6.1, 6.6b).

use cudarc::driver::{CudaFunction, CudaSlice, LaunchConfig, PushKernelArg};
use tida::TileAcc;
use tida::prelude::*;
use tida_suite::Result;

use super::{Form, Kind, Shared, Table, Way, by_hand, hash, shared};
use crate::Bench;
use crate::cuda::{Gpu, cover, function, upload};
use crate::gallery::launch;
use crate::measure::Output;

/// Steps of a run.
const STEPS: usize = 12;

/// Rodinia's constants of a chip of 16 by 16 by 0.5 mm, of so many cells along each axis.
#[derive(Clone, Copy, Debug)]
struct Chip {
    n: usize,
    step: f32,
    across: f32,
    air: f32,
}

const AMBIENT: f32 = 80.0;

impl Chip {
    fn new(n: usize) -> Chip {
        let side = 0.016 / n as f32;
        let step = 0.001 / (3.0e6 / (0.5 * 0.0005 * 1.75e6)) / (0.5 * 1.75e6 * 0.0005 * side * side);
        Chip { n, step, across: 2.0 * 100.0 * 0.0005, air: 100.0 * side * side / 0.0005 }
    }

    fn start(self, cell: usize) -> f32 {
        320.0 + (hash(cell) % 1000) as f32 / 100.0
    }

    fn power(self, cell: usize) -> f32 {
        let side = 0.016 / self.n as f32;
        (hash(cell) % 100) as f32 / 100.0 * 3.0e6 * side * side
    }
}

/// By hand: what it starts from, two planes, and the power.
struct Hand<'a> {
    gpu: &'a Gpu,
    chip: Chip,
    slices: [CudaSlice<f32>; 4],
    kernels: [CudaFunction; 2],
}

/// A way by hand: sides of a block, and with the ghost-zone optimisation steps of a launch.
struct ByHand<'a> {
    on: Shared<Hand<'a>>,
    block: [u32; 2],
    zone: Option<u32>,
}

impl Form for ByHand<'_> {
    fn restart(&mut self) -> Result<()> {
        let Hand { gpu, slices: [start, u, ..], .. } = &mut *self.on.borrow_mut();
        Ok(gpu.stream.memcpy_dtod(start, u)?)
    }

    fn run(&mut self, times: usize) -> Result<()> {
        let Hand { gpu, chip, slices: [_, u, next, power], kernels: [single, zone] } = &mut *self.on.borrow_mut();
        let Chip { n: length, step, across, air } = *chip;
        let (n, [wide, high]) = (length as i32, self.block);
        for _ in 0..times * STEPS / self.zone.unwrap_or(1) as usize {
            if let Some(halo) = self.zone {
                let (steps, core) = (halo as i32, [wide - 2 * halo, high - 2 * halo]);
                let config = LaunchConfig {
                    block_dim: (wide, high, 1),
                    shared_mem_bytes: 8 * wide * high,
                    ..cover([length, length, 1], [core[0], core[1], 1])
                };
                launch!(
                    gpu, zone, config, &mut *next, &*u, &*power, &n, &n, &steps, &step, &across, &across, &air,
                    &AMBIENT
                );
            } else {
                let config = cover([length, length, 1], [wide, high, 1]);
                launch!(gpu, single, config, &mut *next, &*u, &*power, &n, &n, &step, &across, &across, &air, &AMBIENT);
            }
            std::mem::swap(u, next);
        }
        gpu.wait()
    }

    fn found(&self) -> Result<Vec<u32>> {
        let hand = self.on.borrow();
        Ok(hand.gpu.stream.clone_dtoh(&hand.slices[1])?.into_iter().map(f32::to_bits).collect())
    }
}

/// tida's arrays, with ghosts as wide as a launch has steps.
struct Tida {
    acc: TileAcc,
    chip: Chip,
    u: TileArray<f32, 2>,
    next: TileArray<f32, 2>,
    power: TileArray<f32, 2>,
}

impl Tida {
    fn new(acc: &TileAcc, chip: Chip, ghost: usize) -> Result<Tida> {
        let n = chip.n;
        let build = || TileArray::<f32, 2>::builder([n, n]).ghost(ghost).boundary(Boundary::ReflectEven).build(acc);
        let (u, mut power) = (build()?, build()?);
        power.fill(|[j, i]| chip.power(j * n + i))?;
        power.fill_ghosts()?;
        Ok(Tida { acc: acc.clone(), chip, next: u.like()?, u, power })
    }
}

/// Steps on tida's arrays.
type Steps = fn(&mut Tida, usize) -> tida::Result<()>;

struct ByTida {
    on: Shared<Tida>,
    /// Steps of a launch, and what does them in blocks of so many cells a side.
    steps: usize,
    launch: Steps,
    block: usize,
}

impl Form for ByTida {
    fn restart(&mut self) -> Result<()> {
        let Tida { u, chip, .. } = &mut *self.on.borrow_mut();
        let (chip, n) = (*chip, chip.n);
        Ok(u.fill(|[j, i]| chip.start(j * n + i))?)
    }

    fn run(&mut self, times: usize) -> Result<()> {
        let tida = &mut *self.on.borrow_mut();
        for _ in 0..times * STEPS / self.steps {
            (self.launch)(tida, self.block)?;
            std::mem::swap(&mut tida.u, &mut tida.next);
        }
        Ok(tida.acc.sync()?)
    }

    fn found(&self) -> Result<Vec<u32>> {
        let Tida { u, .. } = &*self.on.borrow();
        Ok(u.read_box(u.domain())?.into_iter().map(f32::to_bits).collect())
    }
}

/// A step of a cell: itself, those south, north, east and west of it, what it draws, and step, across and air.
#[kernel_fn]
fn warmer(own: f32, s: f32, n: f32, e: f32, w: f32, source: f32, chip: [f32; 3]) -> f32 {
    let along = (s + n - 2.0 * own) * chip[1];
    let across = (e + w - 2.0 * own) * chip[1];
    own + chip[0] * (source + along + across + (80.0 - own) * chip[2])
}

fn cells(on: &mut Tida, _block: usize) -> tida::Result<()> {
    let Tida { u, next, power, chip, .. } = on;
    let (step, across, air) = (chip.step, chip.across, chip.air);
    u.fill_ghosts()?;
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, &*u, &*power),
            kernel!(|next, u, power, at| {
                let (s, n, e, w) = (u[at + [1, 0]], u[at - [1, 0]], u[at + [0, 1]], u[at - [0, 1]]);
                next[at] = warmer(u[at], s, n, e, w, power[at], [step, across, air]);
            }),
        )?;
    }
    Ok(())
}

/// So many steps in one launch, an even number: the group has as many cells around it as it makes steps.
macro_rules! zone {
    ($name:ident, $steps:tt, $around:tt, [$($pair:tt)*]) => {
        fn $name(on: &mut Tida, block: usize) -> tida::Result<()> {
            let Tida { u, next, power, chip, .. } = on;
            let (step, across, air) = (chip.step, chip.across, chip.air);
            u.fill_ghosts()?;
            for tile in TileIter::new(u) {
                compute_groups(
                    &tile,
                    [block, block],
                    (&mut *next, &*u, &*power),
                    group_kernel!(|next, u, power, group| {
                        let a = group.fetch(u, [$steps, $steps], [$steps, $steps]);
                        let p = group.fetch(power, [$around, $around], [$around, $around]);
                        let b = group.channel::<f32>([$steps, $steps], [$steps, $steps]);
                        // Slots farther out than a step is right for are for slots that do not count either.
                        $(
                            let _ = $pair;
                            group.each_around([$around, $around], [$around, $around], |t| {
                                let (s, n, e, w) = (a[t + [1, 0]], a[t - [1, 0]], a[t + [0, 1]], a[t - [0, 1]]);
                                b[t] = warmer(a[t], s, n, e, w, p[t], [step, across, air]);
                            });
                            group.each_around([$around, $around], [$around, $around], |t| {
                                let (s, n, e, w) = (b[t + [1, 0]], b[t - [1, 0]], b[t + [0, 1]], b[t - [0, 1]]);
                                a[t] = warmer(b[t], s, n, e, w, p[t], [step, across, air]);
                            });
                        )*
                        group.each_around([$around, $around], [$around, $around], |t| {
                            let (s, n, e, w) = (a[t + [1, 0]], a[t - [1, 0]], a[t + [0, 1]], a[t - [0, 1]]);
                            b[t] = warmer(a[t], s, n, e, w, p[t], [step, across, air]);
                        });
                        group.each(|t| {
                            let (s, n, e, w) = (b[t + [1, 0]], b[t - [1, 0]], b[t + [0, 1]], b[t - [0, 1]]);
                            next[t.at()] = warmer(b[t], s, n, e, w, p[t], [step, across, air]);
                        });
                    }),
                )?;
            }
            Ok(())
        }
    };
}

zone!(two, 2, 1, []);
zone!(four, 4, 3, [0]);
zone!(six, 6, 5, [0 1]);

/// One step from what the group fetches.
fn one(on: &mut Tida, block: usize) -> tida::Result<()> {
    let Tida { u, next, power, chip, .. } = on;
    let (step, across, air) = (chip.step, chip.across, chip.air);
    u.fill_ghosts()?;
    for tile in TileIter::new(u) {
        compute_groups(
            &tile,
            [block, block],
            (&mut *next, &*u, &*power),
            group_kernel!(|next, u, power, group| {
                let a = group.fetch(u, [1, 1], [1, 1]);
                group.each(|t| {
                    let (s, n, e, w) = (a[t + [1, 0]], a[t - [1, 0]], a[t + [0, 1]], a[t - [0, 1]]);
                    next[t.at()] = warmer(a[t], s, n, e, w, power[t.at()], [step, across, air]);
                });
            }),
        )?;
    }
    Ok(())
}

pub fn hotspot(bench: &Bench, output: &mut Output) -> Result<()> {
    let mut table = Table::new(bench, output, "hotspot");
    let [unfused, chosen] = bench.unfused_and_chosen()?;
    for n in bench.sizes(&[128, 256, 512, 1024, 2048, 4096], 96) {
        let chip = Chip::new(n);
        let mut ways: Vec<Way<'_>> = Vec::new();
        if let Some(gpu) = &bench.gpu {
            let module = by_hand(gpu)?;
            let start: Vec<f32> = (0..n * n).map(|cell| chip.start(cell)).collect();
            let power: Vec<f32> = (0..n * n).map(|cell| chip.power(cell)).collect();
            let plane = |values: &[f32]| upload(gpu, values);
            let on = shared(Hand {
                gpu,
                chip,
                slices: [plane(&start)?, plane(&start)?, plane(&start)?, plane(&power)?],
                kernels: [function(&module, "hotspot_step")?, function(&module, "hotspot_zone")?],
            });
            for [wide, high] in [[16, 16], [32, 8], [64, 4]] {
                let name = format!("{wide}x{high}");
                ways.push((Kind::Hand, name, Box::new(ByHand { on: on.clone(), block: [wide, high], zone: None })));
            }
            for (wide, halo) in blocks_and_halos().filter(|(wide, halo)| *wide >= 2 * halo + 2) {
                let (name, block) = (format!("halo {halo}, {wide}x{wide}"), [wide, wide]);
                ways.push((Kind::HandChannel, name, Box::new(ByHand { on: on.clone(), block, zone: Some(halo) })));
            }
        }
        for (kind, acc) in [(Kind::Cells, &unfused), (Kind::Chosen, &chosen)] {
            let on = shared(Tida::new(acc, chip, 1)?);
            ways.push((kind, String::new(), Box::new(ByTida { on, steps: 1, launch: cells, block: 0 })));
        }
        for (halo, launch) in [(1, one as Steps), (2, two), (4, four), (6, six)] {
            let on = shared(Tida::new(&unfused, chip, halo)?);
            for block in [8, 16, 32] {
                let name = format!("halo {halo}, {block}x{block}");
                ways.push((Kind::Groups, name, Box::new(ByTida { on: on.clone(), steps: halo, launch, block })));
            }
        }
        table.size(&format!("{n}^2"), [STEPS, n * n], ways)?;
    }
    table.print();
    Ok(())
}

/// Sides of blocks by hand, and steps of a launch.
fn blocks_and_halos() -> impl Iterator<Item = (u32, u32)> {
    [8, 16, 32].into_iter().flat_map(|wide| [1, 2, 4, 6].map(move |halo| (wide, halo)))
}
