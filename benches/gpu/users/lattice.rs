//! The lattice Boltzmann method in two axes with nine velocities (D2Q9), in f32 and periodic: written out, by tables,
//! and as nine arrays.

use cudarc::driver::PushKernelArg;
use tida::Math;
use tida::prelude::*;
use tida_suite::Result;
use tida_suite::oracle::max_abs_error;

use super::{About, ByHand, CHECKED, Hand, Layout, Program, Way, contest, differing, verdict};
use crate::Bench;
use crate::cuda::{Flags, Gpu, upload};
use crate::heat::noise;
use crate::measure::{Output, Row, Side, in_turn};

const SOURCE: &str = include_str!("../../reference/lattice.cu");

const OMEGA: f32 = 1.2;
/// Cells along `x` that a population moves in a step.
const CX: [i64; 9] = [0, 1, 0, -1, 0, 1, -1, -1, 1];
/// Along `y`.
const CY: [i64; 9] = [0, 0, 1, 0, -1, 1, 1, -1, -1];
/// The share of the density that each population has at rest.
const W: [f32; 9] = [
    (4.0 / 9.0f64) as f32,
    (1.0 / 9.0f64) as f32,
    (1.0 / 9.0f64) as f32,
    (1.0 / 9.0f64) as f32,
    (1.0 / 9.0f64) as f32,
    (1.0 / 36.0f64) as f32,
    (1.0 / 36.0f64) as f32,
    (1.0 / 36.0f64) as f32,
    (1.0 / 36.0f64) as f32,
];
/// What the tables may make of a population: they add in another order.
const CLOSE: f64 = 1e-5;

type Fluid = TileArray<[f32; 9], 2>;

/// A fluid nearly at rest: population `k` of cell `c`.
fn start(k: usize, c: usize) -> f32 {
    W[k] * (1.0 + 0.1 * noise(c.wrapping_mul(9).wrapping_add(k)) as f32)
}

/// What becomes of a cell's populations when they meet.
#[kernel_fn]
fn collide(f: [f32; 9]) -> [f32; 9] {
    let [f0, f1, f2, f3, f4, f5, f6, f7, f8] = f;
    let rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
    let ux = (f1 - f3 + f5 - f6 - f7 + f8) / rho;
    let uy = (f2 - f4 + f5 + f6 - f7 - f8) / rho;
    let (sum, difference) = (ux + uy, ux - uy);
    let base = 1.0 - 1.5 * (ux * ux + uy * uy);
    let keep = 1.0 - OMEGA;
    let rest = OMEGA * W[0] * rho;
    let near = OMEGA * W[1] * rho;
    let far = OMEGA * W[5] * rho;
    [
        keep * f0 + rest * base,
        keep * f1 + near * (base + 3.0 * ux + 4.5 * ux * ux),
        keep * f2 + near * (base + 3.0 * uy + 4.5 * uy * uy),
        keep * f3 + near * (base - 3.0 * ux + 4.5 * ux * ux),
        keep * f4 + near * (base - 3.0 * uy + 4.5 * uy * uy),
        keep * f5 + far * (base + 3.0 * sum + 4.5 * sum * sum),
        keep * f6 + far * (base - 3.0 * difference + 4.5 * difference * difference),
        keep * f7 + far * (base - 3.0 * sum + 4.5 * sum * sum),
        keep * f8 + far * (base + 3.0 * difference + 4.5 * difference * difference),
    ]
}

/// Each direction by itself.
fn written_out(next: &mut Fluid, f: &Fluid) -> tida::Result<()> {
    for tile in TileIter::new(f) {
        compute(
            &tile,
            (&mut *next, f),
            kernel!(|next, f, at| {
                next[at] = collide([
                    f[at][0],
                    f[at - [0, 1]][1],
                    f[at - [1, 0]][2],
                    f[at + [0, 1]][3],
                    f[at + [1, 0]][4],
                    f[at - [1, 1]][5],
                    f[at - [1, -1]][6],
                    f[at + [1, 1]][7],
                    f[at + [1, -1]][8],
                ]);
            }),
        )?;
    }
    Ok(())
}

/// Loops over the tables.
fn from_tables(next: &mut Fluid, f: &Fluid) -> tida::Result<()> {
    for tile in TileIter::new(f) {
        compute(
            &tile,
            (&mut *next, f),
            kernel!(|next, f, at| {
                let mut pulled = [0.0; 9];
                let mut rho = 0.0;
                let mut ux = 0.0;
                let mut uy = 0.0;
                for k in 0..9 {
                    let p = f[at - [CY[k], CX[k]]][k];
                    pulled[k] = p;
                    rho += p;
                    ux += CX[k] as f32 * p;
                    uy += CY[k] as f32 * p;
                }
                ux /= rho;
                uy /= rho;
                let base = 1.0 - 1.5 * (ux * ux + uy * uy);
                for k in 0..9 {
                    let along = CX[k] as f32 * ux + CY[k] as f32 * uy;
                    let rest = W[k] * rho * (base + 3.0 * along + 4.5 * along * along);
                    pulled[k] += OMEGA * (rest - pulled[k]);
                }
                next[at] = pulled;
            }),
        )?;
    }
    Ok(())
}

/// A fluid in one array, and how it steps.
struct One {
    f: Fluid,
    next: Fluid,
    step: fn(&mut Fluid, &Fluid) -> tida::Result<()>,
}

impl One {
    fn new(bench: &Bench, n: usize, step: fn(&mut Fluid, &Fluid) -> tida::Result<()>) -> Result<One> {
        let acc = bench.accelerator(Math::Exact)?;
        let mut f = Fluid::builder([n, n]).ghost(1).boundary(Boundary::Periodic).build(&acc)?;
        f.fill(|[y, x]| std::array::from_fn(|k| start(k, y * n + x)))?;
        let mut next = f.like()?;
        next.fill_value([0.0; 9])?;
        Ok(One { f, next, step })
    }
}

impl Program<f32> for One {
    fn run(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.f.fill_ghosts()?;
            (self.step)(&mut self.next, &self.f)?;
            std::mem::swap(&mut self.f, &mut self.next);
        }
        Ok(self.f.acc().sync()?)
    }

    // One plane after the other.
    fn found(&self) -> Result<Vec<Vec<f32>>> {
        let cells = self.f.read_box(self.f.domain())?;
        Ok(vec![(0..9).flat_map(|k| cells.iter().map(move |cell| cell[k])).collect()])
    }
}

/// A fluid as nine arrays.
struct Nine {
    f: Vec<TileArray<f32, 2>>,
    next: Vec<TileArray<f32, 2>>,
}

impl Nine {
    fn new(bench: &Bench, n: usize) -> Result<Nine> {
        let acc = bench.accelerator(Math::Exact)?;
        let build = || TileArray::<f32, 2>::builder([n, n]).ghost(1).boundary(Boundary::Periodic).build(&acc);
        let mut f = (0..9).map(|_| build()).collect::<tida::Result<Vec<_>>>()?;
        let mut next = (0..9).map(|_| build()).collect::<tida::Result<Vec<_>>>()?;
        for (k, array) in f.iter_mut().enumerate() {
            array.fill(|[y, x]| start(k, y * n + x))?;
        }
        for array in &mut next {
            array.fill_value(0.0)?;
        }
        Ok(Nine { f, next })
    }

    /// A call takes 16 arrays at most, nine that are read and nine that are written are 18: the first call writes those
    /// that rest and those that move along an axis, the second the others.
    fn step(&mut self) -> tida::Result<()> {
        let [f0, f1, f2, f3, f4, f5, f6, f7, f8] = &self.f[..] else { return Ok(()) };
        let [n0, n1, n2, n3, n4, n5, n6, n7, n8] = &mut self.next[..] else { return Ok(()) };
        for tile in TileIter::new(f0) {
            compute(
                &tile,
                (&mut *n0, &mut *n1, &mut *n2, &mut *n3, &mut *n4, f0, f1, f2, f3, f4, f5, f6, f7, f8),
                kernel!(|n0, n1, n2, n3, n4, f0, f1, f2, f3, f4, f5, f6, f7, f8, at| {
                    let after = collide([
                        f0[at],
                        f1[at - [0, 1]],
                        f2[at - [1, 0]],
                        f3[at + [0, 1]],
                        f4[at + [1, 0]],
                        f5[at - [1, 1]],
                        f6[at - [1, -1]],
                        f7[at + [1, 1]],
                        f8[at + [1, -1]],
                    ]);
                    n0[at] = after[0];
                    n1[at] = after[1];
                    n2[at] = after[2];
                    n3[at] = after[3];
                    n4[at] = after[4];
                }),
            )?;
            compute(
                &tile,
                (&mut *n5, &mut *n6, &mut *n7, &mut *n8, f0, f1, f2, f3, f4, f5, f6, f7, f8),
                kernel!(|n5, n6, n7, n8, f0, f1, f2, f3, f4, f5, f6, f7, f8, at| {
                    let after = collide([
                        f0[at],
                        f1[at - [0, 1]],
                        f2[at - [1, 0]],
                        f3[at + [0, 1]],
                        f4[at + [1, 0]],
                        f5[at - [1, 1]],
                        f6[at - [1, -1]],
                        f7[at + [1, 1]],
                        f8[at + [1, -1]],
                    ]);
                    n5[at] = after[5];
                    n6[at] = after[6];
                    n7[at] = after[7];
                    n8[at] = after[8];
                }),
            )?;
        }
        Ok(())
    }
}

impl Program<f32> for Nine {
    fn run(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.f.iter_mut().try_for_each(TileArray::fill_ghosts)?;
            self.step()?;
            std::mem::swap(&mut self.f, &mut self.next);
        }
        Ok(self.f[0].acc().sync()?)
    }

    fn found(&self) -> Result<Vec<Vec<f32>>> {
        let mut all = Vec::new();
        for array in &self.f {
            all.extend(array.read_box(array.domain())?);
        }
        Ok(vec![all])
    }
}

/// Written out against a kernel by hand; then the tables and nine arrays against it.
pub fn lattice(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = 8 * bench.size;
    let cells = n * n;
    let about = About {
        case: format!("lattice f32 {n}^2, written out"),
        cells,
        bytes: 18 * cells * size_of::<f32>(),
        of_copy: None,
        of_hand: Some(0.97),
    };
    {
        let hand = bench.gpu.as_ref().map(|gpu| by_hand(gpu, n)).transpose()?.flatten();
        contest((bench, output), &about, &mut One::new(bench, n, written_out)?, hand, || plain(n))?;
    }

    let mut written = One::new(bench, n, written_out)?;
    let mut tables = One::new(bench, n, from_tables)?;
    let mut nine = Nine::new(bench, n)?;
    written.run(CHECKED)?;
    let expected = written.found()?;
    tables.run(CHECKED)?;
    let off = max_abs_error(&tables.found()?[0], &expected[0]);
    let about_tables = About { case: format!("lattice f32 {n}^2, by tables"), ..about.clone() };
    let close = output.checked(&about_tables.case, off <= CLOSE, format!("differs by {off:.1e}"));
    nine.run(CHECKED)?;
    let about_nine = About { case: format!("lattice f32 {n}^2, nine arrays"), ..about };
    let same = verdict(output, &about_nine.case, differing(&nine.found()?, &expected), "one array");
    drop(expected);
    let mut sides: [Side<'_>; 3] =
        [Box::new(|steps| written.run(steps)), Box::new(|steps| tables.run(steps)), Box::new(|steps| nine.run(steps))];
    let times = in_turn(bench.effort, &mut sides)?;
    for (about, check, tida, reference, goal) in [
        (&about_tables, &close, &times[1], "tida, written out", 0.95),
        (&about_nine, &same, &times[2], "tida, one array", 0.8),
    ] {
        let mut row = Row::new(&about.work(check), tida, Some((reference, &times[0])));
        row.goal = Some(goal);
        output.row(&row)?;
    }
    Ok(())
}

fn by_hand(gpu: &Gpu, n: usize) -> Result<ByHand<'_, f32>> {
    let module = gpu.compile(SOURCE, Flags::Exact, &[])?;
    let mut ways = Vec::new();
    for block in [[32, 4, 1], [32, 8, 1], [64, 2, 1], [64, 4, 1], [128, 1, 1], [128, 2, 1], [256, 1, 1], [512, 1, 1]] {
        ways.push(Way::new(&module, &["lattice"], block, 1)?);
    }
    let layout = Layout::new::<f32>([9, n, n], 0);
    let populations = (0..9).flat_map(|k| (0..n * n).map(move |c| start(k, c)));
    let f = upload(gpu, &populations.collect::<Vec<_>>())?;
    let next = gpu.stream.alloc_zeros::<f32>(9 * n * n)?;
    let length = n as i32;
    let step: super::Step<'_, f32> = Box::new(move |way, arrays| {
        let [f, next] = &mut *arrays else { return Ok(()) };
        let mut launch = gpu.stream.launch_builder(&way.functions[0]);
        launch.arg(next).arg(&*f).arg(&length);
        // SAFETY: the arguments are those of the kernel, over nine planes of `n` rows of `n`.
        unsafe { launch.launch(way.cover([n, n, 1]))? };
        arrays.swap(0, 1);
        Ok(())
    });
    Ok(Some((Hand::new(gpu, layout, vec![f, next], &[0], step)?, ways)))
}

/// The same by plain loops.
fn plain(n: usize) -> Vec<Vec<f32>> {
    let mut f: Vec<[f32; 9]> = (0..n * n).map(|c| std::array::from_fn(|k| start(k, c))).collect();
    let near = |place: usize, by: i64| (place as i64 - by).rem_euclid(n as i64) as usize;
    for _ in 0..CHECKED {
        let pulled = |c: usize| std::array::from_fn(|k| f[near(c / n, CY[k]) * n + near(c % n, CX[k])][k]);
        f = (0..n * n).map(|c| collide(pulled(c))).collect();
    }
    vec![(0..9).flat_map(|k| f.iter().map(move |cell| cell[k])).collect()]
}
