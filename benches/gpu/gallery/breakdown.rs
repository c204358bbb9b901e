//! Programs from data on the host to results on the host, and what they spend their time with (Lashgar Fig. 3.1).
//!
//! tida's parts are those of its timeline, those by hand lie between events around copies and kernels. Taking them down
//! takes time too, so the whole is timed without. By hand data comes from pinned memory and goes there.

use std::any::Any;
use std::cell::RefCell;
use std::time::Instant;

use cudarc::driver::{CudaFunction, CudaSlice, DeviceRepr, PinnedHostSlice, PushKernelArg};
use tida::acc::{Span, SpanKind};
use tida::array::Element;
use tida::prelude::*;
use tida::{Math, TileAcc};
use tida_suite::Result;

use super::{Twin, agree, by_hand, gpu, graphs, launch, lines, planes, tiles};
use crate::Bench;
use crate::cuda::{Flags, Gpu, Part, cover, function, upload};
use crate::measure::{Effort, Output, Side, fastest, median};
use crate::walks::{Body, SOFTENING, attract, body, multiply, single};

/// A program on both sides, with what goes in and comes out.
pub trait Whole: Twin {
    /// What it starts from, on both sides.
    fn sources(&mut self) -> Ends<'_>;

    /// What it gives.
    fn targets(&mut self) -> Ends<'_>;

    /// Waits for single values that tida gives beside.
    fn scalars(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Arrays of tida and memory by hand.
pub type Ends<'e> = (Vec<&'e mut dyn Held>, Vec<&'e mut dyn Memory>);

/// An array of tida.
pub trait Held {
    /// All its values.
    fn save(&self) -> Result<Box<dyn Any>>;

    /// Writes them on the host.
    fn restore(&mut self, values: &dyn Any) -> Result<()>;

    /// Brings it to the host.
    fn home(&self) -> Result<()>;
}

impl<T: Element + 'static, const D: usize> Held for TileArray<T, D> {
    fn save(&self) -> Result<Box<dyn Any>> {
        Ok(Box::new(self.read_box(self.domain())?))
    }

    fn restore(&mut self, values: &dyn Any) -> Result<()> {
        let values = values.downcast_ref::<Vec<T>>().ok_or("values of another array")?;
        Ok(self.write_box(self.domain(), values)?)
    }

    fn home(&self) -> Result<()> {
        let first = self.domain().lo;
        self.read_box(GridBox::new(first, first.map(|lo| lo + 1)))?;
        Ok(())
    }
}

/// Memory of the device by hand.
pub trait Memory {
    /// Pinned memory with its bytes.
    fn pinned(&self, gpu: &Gpu) -> Result<PinnedHostSlice<u8>>;

    fn up(&mut self, gpu: &Gpu, from: &PinnedHostSlice<u8>) -> Result<()>;

    fn down(&self, gpu: &Gpu, to: &mut PinnedHostSlice<u8>) -> Result<()>;
}

impl<T: DeviceRepr> Memory for CudaSlice<T> {
    fn pinned(&self, gpu: &Gpu) -> Result<PinnedHostSlice<u8>> {
        // SAFETY: any bytes are values of `u8`, and the view is as long as the slice.
        let bytes = unsafe { self.transmute::<u8>(self.num_bytes()) }.ok_or("bytes beyond a slice")?;
        gpu.pinned(&gpu.stream.clone_dtoh(&bytes)?)
    }

    fn up(&mut self, gpu: &Gpu, from: &PinnedHostSlice<u8>) -> Result<()> {
        let bytes = self.num_bytes();
        // SAFETY: what is written are bytes that came from a slice of this type.
        let mut to = unsafe { self.transmute_mut::<u8>(bytes) }.ok_or("bytes beyond a slice")?;
        gpu.marked(Part::Link, || gpu.stream.memcpy_htod(from, &mut to))
    }

    fn down(&self, gpu: &Gpu, to: &mut PinnedHostSlice<u8>) -> Result<()> {
        // SAFETY: as in `pinned`.
        let bytes = unsafe { self.transmute::<u8>(self.num_bytes()) }.ok_or("bytes beyond a slice")?;
        gpu.marked(Part::Link, || gpu.stream.memcpy_dtoh(&bytes, to))
    }
}

/// Seconds of a run.
#[derive(Clone, Debug, Default)]
struct Parts {
    whole: Vec<f64>,
    link: Vec<f64>,
    kernels: Vec<f64>,
    /// The link or kernels.
    either: Vec<f64>,
}

impl Parts {
    /// Medians: the whole, the link, kernels, both at once, neither.
    fn medians(&self) -> [f64; 5] {
        let [whole, link, kernels, either] =
            [&self.whole, &self.link, &self.kernels, &self.either].map(|values| median(values));
        [whole, link, kernels, (link + kernels - either).max(0.0), (whole - either).max(0.0)]
    }
}

/// Lines of the table.
pub struct Table<'a> {
    bench: &'a Bench,
    output: &'a mut Output,
    lines: Vec<String>,
}

/// One program, with all that a run starts from.
struct Running<W> {
    twin: W,
    saved: Vec<Box<dyn Any>>,
    from: Vec<PinnedHostSlice<u8>>,
    to: Vec<PinnedHostSlice<u8>>,
    steps: usize,
    way: usize,
}

impl<W: Whole> Running<W> {
    fn new(mut twin: W, gpu: &Gpu, steps: usize) -> Result<Running<W>> {
        let (arrays, memory) = twin.sources();
        let saved = arrays.iter().map(|array| array.save()).collect::<Result<_>>()?;
        let from = memory.iter().map(|memory| memory.pinned(gpu)).collect::<Result<_>>()?;
        let to = twin.targets().1.iter().map(|memory| memory.pinned(gpu)).collect::<Result<_>>()?;
        Ok(Running { twin, saved, from, to, steps, way: 0 })
    }

    /// Seconds of tida's run.
    fn tida(&mut self) -> Result<f64> {
        for (array, values) in self.twin.sources().0.into_iter().zip(&self.saved) {
            array.restore(values.as_ref())?;
        }
        let start = Instant::now();
        self.twin.record(self.steps)?;
        for array in self.twin.targets().0 {
            array.home()?;
        }
        self.twin.scalars()?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// Those of the run by hand.
    fn hand(&mut self, gpu: &Gpu) -> Result<f64> {
        let start = Instant::now();
        for (memory, from) in self.twin.sources().1.into_iter().zip(&self.from) {
            memory.up(gpu, from)?;
        }
        self.twin.hand(self.way, self.steps)?;
        for (memory, to) in self.twin.targets().1.into_iter().zip(&mut self.to) {
            memory.down(gpu, to)?;
        }
        gpu.wait()?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// Spans of tida's run from this number of them on: seconds of the link, of kernels, of either.
    fn spans(&self, after: f64) -> Result<[f64; 3]> {
        let timeline = self.twin.acc().timeline()?;
        let spans: Vec<&Span> = timeline.spans().iter().filter(|span| span.start >= after).collect();
        let of = |link: bool, kernels: bool| {
            let wanted = |kind: SpanKind| match kind {
                SpanKind::H2d | SpanKind::D2h => link,
                SpanKind::Kernel | SpanKind::Ghost => kernels,
                _ => false,
            };
            covered(spans.iter().filter(|span| wanted(span.kind)).map(|span| (span.start, span.end)))
        };
        Ok([of(true, false), of(false, true), of(true, true)])
    }

    /// When the last span ends.
    fn end(&self) -> Result<f64> {
        Ok(self.twin.acc().timeline()?.spans().iter().fold(0.0, |end, span| span.end.max(end)))
    }
}

/// Seconds that intervals cover, which come in the order of their starts.
fn covered(intervals: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut seconds, mut until) = (0.0, f64::NEG_INFINITY);
    for (start, end) in intervals {
        seconds += (end - start.max(until)).max(0.0);
        until = until.max(end);
    }
    seconds
}

impl Table<'_> {
    /// So many steps of a program, which `make` builds.
    pub fn program<W: Whole>(
        &mut self,
        name: &str,
        steps: usize,
        apart: f32,
        make: impl Fn() -> Result<W>,
    ) -> Result<()> {
        let (bench, gpu) = (self.bench, gpu(self.bench)?);
        let mut plain = Running::new(make()?, gpu, steps)?;
        bench.timeline.set(true);
        let marked = make().and_then(|twin| Running::new(twin, gpu, steps));
        bench.timeline.set(false);
        let mut marked = marked?;

        let ways = plain.twin.ways();
        let twin = RefCell::new(&mut plain.twin);
        let mut sides: Vec<Side<'_>> = Vec::new();
        for way in 0..ways.len() {
            let twin = &twin;
            sides.push(Box::new(move |steps| twin.borrow_mut().hand(way, steps)));
        }
        let short = Effort { rounds: 3.min(bench.effort.rounds), seconds: bench.effort.seconds / 4.0 };
        let best = if ways.len() > 1 { fastest(short, &mut sides)?.0 } else { 0 };
        drop(sides);
        let case = format!("{name}, from host to host");
        let mut check = String::new();
        for running in [&mut plain, &mut marked] {
            running.way = best;
            running.tida()?;
            running.hand(gpu)?;
            let [found, expected] = running.twin.results()?;
            check = agree(self.output, &case, &found, &expected, apart);
        }

        let [mut tida, mut hand] = [Parts::default(), Parts::default()];
        for _ in 0..bench.effort.rounds {
            hand.whole.push(plain.hand(gpu)?);
            tida.whole.push(plain.tida()?);
            gpu.mark();
            let ran = marked.hand(gpu);
            let [link, kernels] = gpu.taken()?;
            ran?;
            hand.link.push(link);
            hand.kernels.push(kernels);
            hand.either.push(link + kernels);
            let after = marked.end()?;
            marked.tida()?;
            let [link, kernels, either] = marked.spans(after)?;
            tida.link.push(link);
            tida.kernels.push(kernels);
            tida.either.push(either);
        }
        for (side, parts) in [("tida", &tida), ("by hand", &hand)] {
            for (part, values) in [("whole", &parts.whole), ("link", &parts.link), ("kernels", &parts.kernels)] {
                self.output.point(("breakdown", name, &format!("{side}, {part}")), values, "s")?;
            }
        }
        let text = |parts: &Parts| parts.medians().map(|seconds| format!("{:.3}", seconds * 1e3)).join(" | ");
        let ratio = median(&hand.whole.iter().zip(&tida.whole).map(|(hand, tida)| hand / tida).collect::<Vec<_>>());
        let line = format!("| {name} | {steps} | {} | {} | {ratio:.3} | {check} |", text(&tida), text(&hand));
        println!("{line}");
        self.lines.push(line);
        Ok(())
    }
}

/// All programs that are there by hand.
pub fn breakdown(bench: &Bench, output: &mut Output) -> Result<()> {
    let (gpu, kernels) = (gpu(bench)?, by_hand(gpu(bench)?)?);
    let mut table = Table { bench, output, lines: Vec::new() };
    lines::wholes(bench, &kernels, &mut table)?;
    planes::wholes(bench, &kernels, &mut table)?;
    tiles::wholes(bench, &kernels, &mut table)?;
    graphs::wholes(bench, &kernels, &mut table)?;
    let n = 4 * bench.size;
    table.program(&format!("gemm {n}^2"), 1, 0.0, || Matrices::new(bench, gpu, n))?;
    let n = 128 * bench.size;
    table.program(&format!("nbody {n}"), 1, 0.0, || Pulls::new(bench, gpu, n))?;
    println!(
        "\nMilliseconds, medians of {} rounds. \"At once\": the link and kernels; \"rest\": neither.\n",
        bench.effort.rounds
    );
    println!(
        "| program | steps | tida | link | kernels | at once | rest | by hand | link | kernels | at once | rest | ratio | check |"
    );
    println!("|{}", "---|".repeat(14));
    table.lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// Matrices that are multiplied, by hand with tiles of 32 x 32.
struct Matrices<'a> {
    gpu: &'a Gpu,
    kernel: CudaFunction,
    acc: TileAcc,
    arrays: [TileArray<f32, 2>; 3],
    slices: [CudaSlice<f32>; 3],
    n: usize,
}

impl<'a> Matrices<'a> {
    fn new(bench: &Bench, gpu: &'a Gpu, n: usize) -> Result<Matrices<'a>> {
        let acc = bench.accelerator(Math::Exact)?;
        let array = |from: usize| -> Result<TileArray<f32, 2>> {
            let mut array = TileArray::builder([n, n]).build(&acc)?;
            array.fill(|[j, i]| single(from + j * n + i))?;
            Ok(array)
        };
        let slice = |from: usize| upload(gpu, &(0..n * n).map(|at| single(from + at)).collect::<Vec<_>>());
        let module = gpu.compile(include_str!("../../reference/gemm.cu"), Flags::Exact, &[])?;
        Ok(Matrices {
            gpu,
            kernel: function(&module, "gemm_tiled_32")?,
            arrays: [array(0)?, array(0)?, array(n * n)?],
            slices: [slice(0)?, slice(0)?, slice(n * n)?],
            acc,
            n,
        })
    }
}

impl Twin for Matrices<'_> {
    fn record(&mut self, steps: usize) -> Result<()> {
        let [c, a, b] = &mut self.arrays;
        (0..steps).try_for_each(|_| Ok(multiply(TileIter::new(c), c, a, b)?))
    }

    fn acc(&self) -> &TileAcc {
        &self.acc
    }

    fn hand(&mut self, _way: usize, steps: usize) -> Result<()> {
        let ([c, a, b], n) = (&mut self.slices, self.n as i32);
        for _ in 0..steps {
            launch!(self.gpu, &self.kernel, cover([self.n, self.n, 1], [32, 32, 1]), &mut *c, &*a, &*b, &n);
        }
        self.gpu.wait()
    }

    fn results(&self) -> Result<[Vec<f32>; 2]> {
        let [c, ..] = &self.arrays;
        Ok([c.read_box(c.domain())?, self.gpu.stream.clone_dtoh(&self.slices[0])?])
    }
}

impl Whole for Matrices<'_> {
    fn sources(&mut self) -> Ends<'_> {
        let ([_, a, b], [_, left, right]) = (&mut self.arrays, &mut self.slices);
        (vec![a, b], vec![left, right])
    }

    fn targets(&mut self) -> Ends<'_> {
        (vec![&mut self.arrays[0]], vec![&mut self.slices[0]])
    }
}

/// Bodies that pull one another, by hand with tiles of 256.
struct Pulls<'a> {
    gpu: &'a Gpu,
    kernel: CudaFunction,
    acc: TileAcc,
    bodies: TileArray<Body, 1>,
    pulls: TileArray<[f32; 3], 1>,
    slices: [CudaSlice<f32>; 2],
    n: usize,
}

impl<'a> Pulls<'a> {
    fn new(bench: &Bench, gpu: &'a Gpu, n: usize) -> Result<Pulls<'a>> {
        let acc = bench.accelerator(Math::Exact)?;
        let mut bodies = TileArray::<Body, 1>::builder([n]).build(&acc)?;
        bodies.fill(|[i]| body(i))?;
        let words: Vec<f32> = (0..n).map(body).flat_map(|b| [b.x, b.y, b.z, b.mass]).collect();
        let module = gpu.compile(include_str!("../../reference/nbody.cu"), Flags::Exact, &[])?;
        Ok(Pulls {
            gpu,
            kernel: function(&module, "nbody_tiled")?,
            pulls: TileArray::builder([n]).build(&acc)?,
            bodies,
            slices: [gpu.stream.alloc_zeros(3 * n)?, upload(gpu, &words)?],
            acc,
            n,
        })
    }
}

impl Twin for Pulls<'_> {
    fn record(&mut self, steps: usize) -> Result<()> {
        let Pulls { pulls, bodies, .. } = self;
        (0..steps).try_for_each(|_| Ok(attract(TileIter::new(pulls), pulls, bodies)?))
    }

    fn acc(&self) -> &TileAcc {
        &self.acc
    }

    fn hand(&mut self, _way: usize, steps: usize) -> Result<()> {
        let ([pulls, bodies], n) = (&mut self.slices, self.n as i32);
        for _ in 0..steps {
            launch!(self.gpu, &self.kernel, cover([self.n, 1, 1], [256, 1, 1]), &mut *pulls, &*bodies, &n, &SOFTENING);
        }
        self.gpu.wait()
    }

    fn results(&self) -> Result<[Vec<f32>; 2]> {
        let all = self.pulls.read_box(self.pulls.domain())?;
        let planes = (0..3).flat_map(|axis| all.iter().map(move |pull| pull[axis])).collect();
        Ok([planes, self.gpu.stream.clone_dtoh(&self.slices[0])?])
    }
}

impl Whole for Pulls<'_> {
    fn sources(&mut self) -> Ends<'_> {
        (vec![&mut self.bodies], vec![&mut self.slices[1]])
    }

    fn targets(&mut self) -> Ends<'_> {
        (vec![&mut self.pulls], vec![&mut self.slices[0]])
    }
}
