//! Arrays kept in fewer bits beside the same arrays as they are (Salehi ch. 6): tida against itself. What it found is
//! in `docs/papers/salehi.md`.
//!
//! Every format is compared on small arrays, bit by bit, with the CPU.

#[path = "../../examples/lbm/d3q19.rs"]
mod d3q19;
mod figures;
mod whole;

use std::cell::RefCell;
use std::time::Instant;

use tida::acc::{Fuse, Span, SpanKind};
use tida::array::{ScalarElement, StorageErrors};
use tida::prelude::*;
use tida::{dot, kernel};
use tida_suite::Result;

use crate::Bench;
use crate::heat::{OUTSIDE, noise, step3};
use crate::measure::{Output, Row, Side, Work, in_turn, median};
use crate::micro::cache;

pub use figures::{flushed, micro, programs};
pub use whole::whole;

/// A program whose arrays are kept in a format.
trait Program: Sized {
    /// With arrays of `n` cells along each axis.
    fn new(acc: &TileAcc, n: usize, format: Format) -> Result<Self>;

    /// So many steps, to their end.
    fn run(&mut self, steps: usize) -> Result<()>;

    /// What it holds, as bits.
    fn found(&self) -> Result<Vec<u64>>;

    /// Cells along each axis, and steps, of the runs that are compared.
    const CHECKED: (usize, usize) = (40, 3);

    /// The errors of its result against that of the first format, where they are told.
    fn against(&self, _raw: &Self) -> Result<Option<StorageErrors>> {
        Ok(None)
    }
}

/// A program's name, cells along each axis, axes, and bytes of a cell in all arrays as they are.
type Size<'a> = (&'a str, usize, u32, usize);

/// What an array is kept in: its name, and the least speed over the first one.
type Kept<'a> = (&'a str, Format, Option<f64>);

/// Times a program in each format, the first of which is the one to compare with.
fn formats<P: Program>(bench: &Bench, output: &mut Output, size: Size<'_>, formats: &[Kept<'_>]) -> Result<()> {
    let acc = accelerator(bench.device)?;
    let (programs, checks) = made::<P>(&acc, output, size, formats)?;
    let mut sides: Vec<Side<'_>> = Vec::new();
    for program in &programs {
        sides.push(Box::new(move |steps| program.borrow_mut().run(steps)));
    }
    let times = in_turn(bench.effort, &mut sides)?;
    rows(output, size, formats, &times, checks)
}

/// Kernels that run one by one.
fn accelerator(device: Device) -> Result<TileAcc> {
    Ok(TileAcc::builder().device(device).compile(tida::Compile::Wait).fuse(Fuse::Off).build()?)
}

/// A program in each format, and what its results on small arrays are beside the CPU's and the first format's.
fn made<P: Program>(
    acc: &TileAcc,
    output: &mut Output,
    (name, n, ..): Size<'_>,
    formats: &[Kept<'_>],
) -> Result<(Vec<RefCell<P>>, Vec<String>)> {
    let cpu = accelerator(Device::Cpu)?;
    let mut programs = Vec::new();
    let mut checks = Vec::new();
    let mut raw: Option<P> = None;
    for (format_name, format, _) in formats {
        let small = |acc: &TileAcc| -> Result<P> {
            let mut program = P::new(acc, P::CHECKED.0, *format)?;
            program.run(P::CHECKED.1)?;
            Ok(program)
        };
        let made = small(acc)?;
        let same = made.found()? == small(&cpu)?.found()?;
        let mut check = String::from(if same { "same bits" } else { "OTHER BITS" });
        if let Some(errors) = raw.as_ref().map(|raw| made.against(raw)).transpose()?.flatten() {
            let StorageErrors { max, mean, geometric_mean, .. } = errors;
            check += &format!(", errors {max:.1e} at most, {mean:.1e} mean, {geometric_mean:.1e} geometric mean");
        }
        raw = raw.or(Some(made));
        checks.push(output.checked(&format!("{name}, {format_name}"), same, check));
        programs.push(RefCell::new(P::new(acc, n, *format)?));
    }
    Ok((programs, checks))
}

/// A row for each format, from the seconds of a step.
fn rows(
    output: &mut Output,
    (name, n, axes, bytes): Size<'_>,
    formats: &[Kept<'_>],
    times: &[Vec<f64>],
    checks: Vec<String>,
) -> Result<()> {
    let cells = n.pow(axes);
    for (((format_name, _, goal), seconds), check) in formats.iter().zip(times).zip(checks) {
        let case = format!("{name} {n}^{axes}, {format_name}");
        let work = Work { case, check, cells, bytes: cells * bytes };
        output.row(&Row { goal: *goal, ..Row::new(&work, seconds, Some(("raw", &times[0]))) })?;
    }
    Ok(())
}

/// Memory that is written between two steps, so that caches hold nothing else.
struct Flush {
    memory: TileArray<f64, 1>,
    on_cpu: bool,
}

impl Flush {
    fn new(bench: &Bench, acc: &TileAcc) -> Result<Flush> {
        let cache = bench.gpu.as_ref().map(cache).transpose()?.unwrap_or(0).max(16 << 20);
        let memory = TileArray::<f64, 1>::builder([2 * cache / size_of::<f64>()]).build(acc)?;
        Ok(Flush { memory, on_cpu: bench.device == Device::Cpu })
    }

    fn write(&mut self, value: f64) -> Result<()> {
        for tile in TileIter::new(&self.memory) {
            compute(&tile, &mut self.memory, kernel!(|memory, at| memory[at] = value))?;
        }
        Ok(())
    }

    /// Seconds of each of so many steps of a program that finds none of its arrays in a cache: of its kernels alone, by
    /// the device's clock. Beside the CPU of all that the step does.
    fn steps<P: Program>(&mut self, program: &mut P, times: usize) -> Result<Vec<f64>> {
        let acc = self.memory.acc().clone();
        let mut seconds = Vec::with_capacity(times);
        for turn in 0..times {
            self.write(turn as f64)?;
            // Else both could run at once.
            acc.sync()?;
            let after = ended(&acc)?;
            let clock = Instant::now();
            program.run(1)?;
            let host = clock.elapsed().as_secs_f64();
            let timeline = acc.timeline()?;
            let own = |span: &&Span| span.start >= after && span.kind == SpanKind::Kernel;
            let device: f64 = timeline.spans().iter().filter(own).map(|span| span.end - span.start).sum();
            if !self.on_cpu && device <= 0.0 {
                Err(
                    "tried to time a kernel by the device's clock; found no span of it; use a device that tells times",
                )?;
            }
            seconds.push(if self.on_cpu { host } else { device });
        }
        Ok(seconds)
    }
}

/// When the last span of a timeline ended.
fn ended(acc: &TileAcc) -> Result<f64> {
    Ok(acc.timeline()?.spans().iter().fold(0.0, |end, span| span.end.max(end)))
}

/// Steps of a program of which a median is taken.
const FLUSHED: usize = 15;

/// As [`formats`], but each step of a program finds its arrays in memory.
fn flushed_formats<P: Program>(bench: &Bench, output: &mut Output, size: Size<'_>, formats: &[Kept<'_>]) -> Result<()> {
    let acc =
        TileAcc::builder().device(bench.device).compile(tida::Compile::Wait).fuse(Fuse::Off).timeline(true).build()?;
    let (programs, checks) = made::<P>(&acc, output, size, formats)?;
    let mut flush = Flush::new(bench, &acc)?;
    let mut times = vec![Vec::new(); programs.len()];
    // The first round compiles.
    for round in 0..=bench.few() {
        for (program, times) in programs.iter().zip(&mut times) {
            let seconds = flush.steps(&mut *program.borrow_mut(), if round == 0 { 1 } else { FLUSHED })?;
            times.extend((round > 0).then(|| median(&seconds)));
        }
    }
    rows(output, (&format!("flushed, {}", size.0), size.1, size.2, size.3), formats, &times, checks)
}

fn bits<T: ScalarElement, const D: usize>(array: &TileArray<T, D>) -> Result<Vec<u64>> {
    Ok(array.read_box(array.domain())?.into_iter().map(ScalarElement::bits).collect())
}

/// Heat in three axes, a step a launch.
struct Heat {
    u: TileArray<f64, 3>,
    next: TileArray<f64, 3>,
}

impl Program for Heat {
    fn new(acc: &TileAcc, n: usize, format: Format) -> Result<Heat> {
        let builder = TileArray::<f64, 3>::builder([n; 3]).ghost(1).boundary(Boundary::Fixed(OUTSIDE));
        let mut u = builder.storage(format).saturation(Saturation::Ignore).build(acc)?;
        u.fill(|[k, j, i]| noise((k * n + j) * n + i))?;
        let mut next = u.like()?;
        next.fill_value(0.0)?;
        Ok(Heat { u, next })
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.u.fill_ghosts()?;
            step3(&self.u, &mut self.next)?;
            std::mem::swap(&mut self.u, &mut self.next);
        }
        Ok(self.u.acc().sync()?)
    }

    fn found(&self) -> Result<Vec<u64>> {
        bits(&self.u)
    }
}

/// Two matrices and a third one.
fn matrices(acc: &TileAcc, n: usize, format: Format) -> Result<[TileArray<f32, 2>; 3]> {
    let build = || TileArray::<f32, 2>::builder([n; 2]).storage(format).saturation(Saturation::Ignore).build(acc);
    let (mut a, mut b) = (build()?, build()?);
    a.fill(|[j, i]| noise(j * n + i) as f32)?;
    b.fill(|[j, i]| noise(n * n + j * n + i) as f32)?;
    Ok([build()?, a, b])
}

/// The sum of two matrices.
struct Add([TileArray<f32, 2>; 3]);

impl Program for Add {
    fn new(acc: &TileAcc, n: usize, format: Format) -> Result<Add> {
        Ok(Add(matrices(acc, n, format)?))
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        let [c, a, b] = &mut self.0;
        for _ in 0..steps {
            for tile in TileIter::new(c) {
                compute(&tile, (&mut *c, &*a, &*b), kernel!(|c, a, b, at| c[at] = a[at] + b[at]))?;
            }
        }
        Ok(c.acc().sync()?)
    }

    fn found(&self) -> Result<Vec<u64>> {
        bits(&self.0[0])
    }
}

/// The product of two long vectors: their values' products, and the sum of those.
struct Product {
    arrays: [TileArray<f32, 2>; 3],
    sum: f32,
}

impl Program for Product {
    fn new(acc: &TileAcc, n: usize, format: Format) -> Result<Product> {
        Ok(Product { arrays: matrices(acc, n, format)?, sum: 0.0 })
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        let [_, a, b] = &self.arrays;
        for _ in 0..steps {
            self.sum = dot(a, b)?;
        }
        Ok(())
    }

    fn found(&self) -> Result<Vec<u64>> {
        Ok(vec![self.sum.bits()])
    }
}

/// The lattice Boltzmann method with 19 populations a cell, as the example `lbm` does it.
struct Fluid {
    f: TileArray<d3q19::Populations<f32>, 3>,
    next: TileArray<d3q19::Populations<f32>, 3>,
}

/// How far its collisions bring populations to their equilibrium.
const OMEGA: f64 = 1.5;

impl Program for Fluid {
    fn new(acc: &TileAcc, n: usize, format: Format) -> Result<Fluid> {
        let builder = TileArray::<d3q19::Populations<f32>, 3>::builder([n; 3]).ghost(1).boundary(Boundary::Periodic);
        let mut f = builder.storage(format).saturation(Saturation::Ignore).build(acc)?;
        f.fill(|at| d3q19::vortex(n, 0.05, OMEGA, at))?;
        let next = f.like()?;
        Ok(Fluid { f, next })
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.f.fill_ghosts()?;
            d3q19::step(&self.f, &mut self.next, self.f.shape(), OMEGA as f32)?;
            std::mem::swap(&mut self.f, &mut self.next);
        }
        Ok(self.f.acc().sync()?)
    }

    fn found(&self) -> Result<Vec<u64>> {
        Ok(self.f.read_box(self.f.domain())?.concat().into_iter().map(ScalarElement::bits).collect())
    }
}

/// The programs in each format.
pub fn storage(bench: &Bench, output: &mut Output) -> Result<()> {
    let range = |bits| Format::Range { bits, min: -1.0, max: 3.0 };
    let doubles = [
        ("raw", Format::Raw, None),
        ("f32", Format::F32, Some(1.6)),
        ("32 bits of a range", range(32), Some(1.6)),
        ("16 bits of a range", range(16), None),
        ("halves", Format::Half, None),
    ];
    formats::<Heat>(bench, output, ("heat3 f64", bench.size, 3, 16), &doubles)?;
    let singles = [
        ("raw", Format::Raw, None),
        ("16 bits of a range", range(16), Some(1.75)),
        ("halves", Format::Half, Some(1.75)),
        ("8 bits of a range", range(8), None),
    ];
    let halves = [
        ("raw", Format::Raw, None),
        ("halves over a scale", Format::ScaledHalf { scale: d3q19::SCALE }, Some(1.5)),
        ("halves", Format::Half, None),
    ];
    formats::<Fluid>(bench, output, ("lattice Boltzmann D3Q19 f32", bench.size / 2, 3, 152), &halves)?;
    let n = 32 * bench.size;
    formats::<Add>(bench, output, ("matrix add f32", n, 2, 12), &singles)?;
    formats::<Product>(bench, output, ("vector product f32", n, 2, 8), &singles)
}
