//! Stencils far along each axis: stars of radius 2, 4 and 8, and an acoustic wave of eighth order.

use cudarc::driver::{PushKernelArg, ValidAsZeroBits};
use tida::Math;
use tida::prelude::*;
use tida_suite::Result;

use super::{About, ByHand, CHECKED, Hand, Layout, Program, Way, contest};
use crate::Bench;
use crate::cuda::{Flags, Gpu, upload};
use crate::heat::{Cell, OUTSIDE, noise};
use crate::measure::Output;

const SOURCE: &str = include_str!("../../reference/stars.cu");

/// A mean of the cells of a star: the weight of the middle, then of the cells so far from it.
const fn weights<const N: usize>() -> [f64; N] {
    let mut table = [0.3; N];
    let mut r = 1;
    while r < N {
        table[r] = 0.08 / ((r * r) as f64 + 0.3);
        r += 1;
    }
    table
}

/// They in each precision.
trait Weights<const N: usize>: Cell {
    const C: [Self; N];
}

impl<const N: usize> Weights<N> for f64 {
    const C: [f64; N] = weights();
}

impl<const N: usize> Weights<N> for f32 {
    const C: [f32; N] = {
        let (wide, mut table) = (weights::<N>(), [0.0; N]);
        let mut r = 0;
        while r < N {
            table[r] = wide[r] as f32;
            r += 1;
        }
        table
    };
}

/// A star with `N` weights.
fn star_step<T: Weights<N>, const N: usize>(u: &TileArray<T, 3>, next: &mut TileArray<T, 3>) -> tida::Result<()> {
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, u),
            kernel!(|next, u, at| {
                let mut sum = T::C[0] * u[at];
                for r in 1..N as i64 {
                    sum += T::C[r as usize]
                        * (u[at + [0, 0, r]]
                            + u[at - [0, 0, r]]
                            + u[at + [0, r, 0]]
                            + u[at - [0, r, 0]]
                            + u[at + [r, 0, 0]]
                            + u[at - [r, 0, 0]]);
                }
                next[at] = sum;
            }),
        )?;
    }
    Ok(())
}

/// A user's loop over a star.
struct Star<T: Cell, const N: usize> {
    u: TileArray<T, 3>,
    next: TileArray<T, 3>,
}

impl<T: Weights<N>, const N: usize> Program<T> for Star<T, N> {
    fn run(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.u.fill_ghosts()?;
            star_step::<T, N>(&self.u, &mut self.next)?;
            std::mem::swap(&mut self.u, &mut self.next);
        }
        Ok(self.u.acc().sync()?)
    }

    fn found(&self) -> Result<Vec<Vec<T>>> {
        Ok(vec![self.u.read_box(self.u.domain())?])
    }
}

pub fn stars(bench: &Bench, output: &mut Output) -> Result<()> {
    star::<f32, 3>(bench, output)?;
    star::<f32, 5>(bench, output)?;
    star::<f32, 9>(bench, output)?;
    star::<f64, 3>(bench, output)?;
    star::<f64, 5>(bench, output)?;
    star::<f64, 9>(bench, output)
}

/// One radius of one type.
fn star<T: Weights<N> + ValidAsZeroBits, const N: usize>(bench: &Bench, output: &mut Output) -> Result<()> {
    let (n, radius, table) = (bench.size, N - 1, &T::C);
    let cells = n.pow(3);
    let about = About {
        case: format!("stars radius {radius} {} {n}^3", T::NAME),
        cells,
        bytes: 2 * cells * size_of::<T>(),
        of_copy: Some(0.8),
        of_hand: Some(0.97),
    };
    let outside = T::of(OUTSIDE);
    let acc = bench.accelerator(Math::Exact)?;
    let mut u = TileArray::<T, 3>::builder([n; 3]).ghost(radius).boundary(Boundary::Fixed(outside)).build(&acc)?;
    u.fill(|[k, j, i]| T::noise((k * n + j) * n + i))?;
    let mut next = u.like()?;
    next.fill_value(outside)?;
    let mut tida = Star::<T, N> { u, next };
    let hand = match &bench.gpu {
        None => None,
        Some(gpu) => {
            let layout = Layout::new::<T>([n; 3], radius);
            let u = upload(gpu, &layout.spread((0..cells).map(T::noise), outside))?;
            let next = gpu.stream.clone_dtod(&u)?;
            by_hand(gpu, layout, table, vec![u, next], T::of(0.0))?
        }
    };
    let plain = || {
        let mut u: Vec<T> = (0..cells).map(T::noise).collect();
        for _ in 0..CHECKED {
            u = sums(&u, n, table, outside);
        }
        vec![u]
    };
    contest((bench, output), &about, &mut tida, hand, plain).map(drop)
}

/// The star of each cell of a cube by plain loops; what lies outside is all the same.
fn sums<T: Cell>(u: &[T], n: usize, table: &[T], outside: T) -> Vec<T> {
    let value = |[k, j, i]: [i64; 3]| {
        let inside = [k, j, i].iter().all(|&x| (0..n as i64).contains(&x));
        if inside { u[((k * n as i64 + j) * n as i64 + i) as usize] } else { outside }
    };
    let star = |c: usize| {
        let [k, j, i] = [c / n / n, c / n % n, c % n].map(|x| x as i64);
        let mut sum = table[0] * u[c];
        for (r, &weight) in (1..).zip(&table[1..]) {
            let around = value([k, j, i + r])
                + value([k, j, i - r])
                + value([k, j + r, i])
                + value([k, j - r, i])
                + value([k + r, j, i])
                + value([k - r, j, i]);
            sum += weight * around;
        }
        sum
    };
    (0..u.len()).map(star).collect()
}

/// By hand, from `[u, next]`, or of a wave from `[u, before, next, velocity, sponge]` with the square of its time step.
fn by_hand<'a, T: Cell + ValidAsZeroBits>(
    gpu: &'a Gpu,
    layout: Layout,
    table: &[T],
    arrays: Vec<cudarc::driver::CudaSlice<T>>,
    square: T,
) -> Result<ByHand<'a, T>> {
    let wave = arrays.len() == 5;
    let (real, suffix) = if T::NAME == "f32" { ("float", "f") } else { ("double", "") };
    let numbers: Vec<String> = table.iter().map(|c| format!("{c:?}{suffix}")).collect();
    let definitions = [
        format!("-DREAL={real}"),
        format!("-DRADIUS={}", table.len() - 1),
        format!("-DTABLE={}", numbers.join(",")),
        format!("-D{}", if wave { "ACOUSTIC" } else { "STAR" }),
    ];
    let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
    let module = gpu.compile(SOURCE, Flags::Exact, &definitions)?;
    let mut ways = Vec::new();
    for block in [[32, 8, 1], [64, 4, 1], [64, 8, 1], [128, 4, 1], [32, 4, 4], [256, 2, 1]] {
        ways.push(Way::new(&module, &["star_cell"], block, 1)?);
    }
    for depth in [32, 64, 128] {
        for block in [[32, 8, 1], [64, 4, 1], [64, 8, 1], [128, 4, 1]] {
            ways.push(Way::new(&module, &["star_march"], block, depth)?);
        }
    }
    // Threads with several cells, and blocks that a multiprocessor holds.
    let several = 16 / size_of::<T>();
    for depth in [24, 64, 128] {
        for ([x, y], rows, blocks) in [
            ([32, 8], 1, 3),
            ([32, 4], 1, 6),
            ([32, 4], 2, 4),
            ([16, 8], 1, 6),
            ([16, 8], 2, 4),
            ([32, 8], 2, 1),
            ([16, 16], 2, 1),
        ] {
            let mut way = Way::new(&module, &[&format!("star_shared_{x}x{y}x{rows}_{blocks}")], [x, y, 1], depth)?;
            way.cells = [several as u32, rows];
            ways.push(way);
        }
    }
    let [nz, ny, nx] = layout.shape;
    let (extents, first) = (layout.extents(), layout.first);
    let step: super::Step<'a, T> = Box::new(move |way, arrays| {
        let (u, before, next, velocity, sponge) = if wave { (0, 1, 2, 3, 4) } else { (0, 0, 1, 0, 0) };
        let depth = way.depth as i32;
        let view = |array: usize| arrays[array].slice(first..);
        let (o, u, before, velocity, sponge) = (view(next), view(u), view(before), view(velocity), view(sponge));
        let mut launch = gpu.stream.launch_builder(&way.functions[0]);
        launch.arg(&o).arg(&u).arg(&before).arg(&velocity).arg(&sponge).arg(&square);
        extents.iter().for_each(|extent| _ = launch.arg(extent));
        launch.arg(&depth);
        // SAFETY: the arguments are those of the kernels, which write inner cells of `o` alone, and read the cells
        // around them and rows beyond the last that are in the layout's memory. No other array is that of `o`.
        unsafe { launch.launch(way.cover([nx, ny, nz.div_ceil(way.depth)]))? };
        if wave {
            // What was `u` is before, what was before is free.
            arrays[..3].rotate_right(1);
        } else {
            arrays.swap(0, 1);
        }
        Ok(())
    });
    Ok(Some((Hand::new(gpu, layout, arrays, &[0], step)?, ways)))
}

/// Weights of the second derivatives along three axes, to the eighth order.
const LAPLACE: [f32; 5] = [3.0 * -205.0 / 72.0, 8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0];
/// The square of the time step, in units of a cell's width.
const SQUARE: f32 = 0.05;

fn velocity(c: usize) -> f32 {
    0.6 + 0.5 * noise(c.wrapping_mul(5)) as f32
}

fn sponge(c: usize) -> f32 {
    1.0 - 1e-4 * noise(c.wrapping_mul(3)) as f32
}

/// What an acoustic wave is stepped from.
struct Wave {
    u: TileArray<f32, 3>,
    before: TileArray<f32, 3>,
    next: TileArray<f32, 3>,
    velocity: TileArray<f32, 3>,
    sponge: TileArray<f32, 3>,
}

impl Wave {
    fn new(bench: &Bench, n: usize) -> Result<Wave> {
        let acc = bench.accelerator(Math::Exact)?;
        let mut u = TileArray::<f32, 3>::builder([n; 3]).ghost(4).boundary(Boundary::Fixed(0.0)).build(&acc)?;
        let (mut before, mut next) = (u.like()?, u.like()?);
        let mut velocity = TileArray::<f32, 3>::builder([n; 3]).build(&acc)?;
        let mut sponge = velocity.like()?;
        let place = |[k, j, i]: [usize; 3]| (k * n + j) * n + i;
        u.fill(|at| f32::noise(place(at)))?;
        before.fill(|at| f32::noise(place(at)))?;
        next.fill_value(0.0)?;
        velocity.fill(|at| self::velocity(place(at)))?;
        sponge.fill(|at| self::sponge(place(at)))?;
        Ok(Wave { u, before, next, velocity, sponge })
    }

    fn step(&mut self) -> tida::Result<()> {
        let Wave { u, before, next, velocity, sponge } = self;
        u.fill_ghosts()?;
        for tile in TileIter::new(u) {
            compute(
                &tile,
                (&mut *next, &*u, &*before, &*velocity, &*sponge),
                kernel!(|next, u, before, velocity, sponge, at| {
                    let c = u[at];
                    let mut sum = LAPLACE[0] * c;
                    for r in 1..5 {
                        sum += LAPLACE[r as usize]
                            * (u[at + [0, 0, r]]
                                + u[at - [0, 0, r]]
                                + u[at + [0, r, 0]]
                                + u[at - [0, r, 0]]
                                + u[at + [r, 0, 0]]
                                + u[at - [r, 0, 0]]);
                    }
                    let v = velocity[at];
                    next[at] = (2.0 * c - before[at] + v * v * SQUARE * sum) * sponge[at];
                }),
            )?;
        }
        std::mem::swap(before, u);
        std::mem::swap(u, next);
        Ok(())
    }
}

impl Program<f32> for Wave {
    fn run(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.step()?;
        }
        Ok(self.u.acc().sync()?)
    }

    fn found(&self) -> Result<Vec<Vec<f32>>> {
        Ok(vec![self.u.read_box(self.u.domain())?])
    }
}

/// An acoustic wave in a medium, with a layer that dampens it: four arrays read, one written.
pub fn acoustic(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = bench.size * 7 / 8;
    let cells = n.pow(3);
    let about = About {
        case: format!("acoustic f32 {n}^3"),
        cells,
        bytes: 5 * cells * size_of::<f32>(),
        of_copy: Some(0.8),
        of_hand: Some(0.97),
    };
    let mut tida = Wave::new(bench, n)?;
    let hand = match &bench.gpu {
        None => None,
        Some(gpu) => {
            let layout = Layout::new::<f32>([n; 3], 4);
            let array = |value: fn(usize) -> f32| upload(gpu, &layout.spread((0..cells).map(value), 0.0));
            let (u, velocity, sponge) = (array(f32::noise)?, array(velocity)?, array(sponge)?);
            let (before, next) = (gpu.stream.clone_dtod(&u)?, gpu.stream.clone_dtod(&u)?);
            by_hand(gpu, layout, &LAPLACE, vec![u, before, next, velocity, sponge], SQUARE)?
        }
    };
    let plain = || {
        let mut u: Vec<f32> = (0..cells).map(f32::noise).collect();
        let mut before = u.clone();
        for _ in 0..CHECKED {
            let sums = sums(&u, n, &LAPLACE, 0.0);
            let next = |c: usize| {
                let v = velocity(c);
                (2.0 * u[c] - before[c] + v * v * SQUARE * sums[c]) * sponge(c)
            };
            let next = (0..cells).map(next).collect();
            before = std::mem::replace(&mut u, next);
        }
        vec![u]
    };
    contest((bench, output), &about, &mut tida, hand, plain).map(drop)
}
