//! Registers: what index arithmetic takes of them, and what values kept in them are worth (SAFARA §III and §IV, Lashgar
//! Fig. 5.7). What it found is in `docs/papers/safara.md`.

use cudarc::driver::{CudaFunction, CudaSlice, CudaView, LaunchConfig, PushKernelArg};
use tida::Math;
use tida::prelude::*;
use tida_suite::Result;

use crate::Bench;
use crate::cuda::{Flags, Gpu, cover, function, upload};
use crate::heat::noise;
use crate::measure::{Output, Row, Side, Work, fastest, in_turn};

const SEISMIC: &str = include_str!("../reference/seismic.cu");
const SWEEP: &str = include_str!("../reference/sweep.cu");

/// Width of a cell, and what a slope counts in a step.
const WIDTH: f32 = 1.5;
const RATE: f32 = 0.25;

/// Runs a kernel over a tile, or says how many registers a thread of it has; nothing where no compiler says.
macro_rules! either {
    ($registers:expr, $tile:expr, $args:expr, $($kernel:tt)*) => {
        if $registers {
            return Ok(tida::explain($args, kernel!($($kernel)*))?.resources().ok().and_then(|facts| facts.registers));
        } else {
            compute($tile, $args, kernel!($($kernel)*))?;
        }
    };
}

/// An accelerator whose plans go without some things, and whose threads march so far where that is said.
fn accelerator(bench: &Bench, without: &str, march: Option<u32>) -> Result<TileAcc> {
    Ok(TileAcc::builder()
        .device(bench.device)
        .compile(tida::Compile::Wait)
        .math(Math::Exact)
        .plan(without, march)
        .build()?)
}

/// A stress and the fields that drive it.
struct Seismic {
    acc: TileAcc,
    s: TileArray<f32, 3>,
    v: Vec<TileArray<f32, 3>>,
}

/// Value `c` of field `n`.
fn velocity(n: usize, c: usize) -> f32 {
    noise(c.wrapping_mul(7).wrapping_add(n)) as f32 - 0.5
}

impl Seismic {
    fn new(bench: &Bench, without: &str, march: Option<u32>) -> Result<Seismic> {
        let acc = accelerator(bench, without, march)?;
        let n = bench.size;
        let build = || TileArray::<f32, 3>::builder([n; 3]).ghost(1).boundary(Boundary::Fixed(0.0)).build(&acc);
        let mut s = build()?;
        s.fill_value(0.0)?;
        let mut v = Vec::new();
        for field in 0..7 {
            let mut array = build()?;
            array.fill(|[k, j, i]| velocity(field, (k * n + j) * n + i))?;
            array.fill_ghosts()?;
            v.push(array);
        }
        Ok(Seismic { acc, s, v })
    }

    fn step(&mut self, registers: bool) -> tida::Result<Option<u32>> {
        let Seismic { s, v, .. } = self;
        let (h, c) = (WIDTH, RATE);
        let [z1, z2, z3, y1, y2, x1, x2] = v.as_slice() else { return Ok(None) };
        for tile in TileIter::new(s) {
            either!(registers, &tile, (&mut *s, z1, z2, z3, y1, y2, x1, x2), |s, z1, z2, z3, y1, y2, x1, x2, at| {
                let dz = (z1[at] - z1[at - [1, 0, 0]]) / h
                    + (z2[at] - z2[at - [1, 0, 0]]) / h
                    + (z3[at] - z3[at - [1, 0, 0]]) / h;
                let dy = (y1[at] - y1[at - [0, 1, 0]]) / h + (y2[at] - y2[at - [0, 1, 0]]) / h;
                let dx = (x1[at] - x1[at - [0, 0, 1]]) / h + (x2[at] - x2[at - [0, 0, 1]]) / h;
                s[at] = s[at] + c * (dz + dy + dx);
            });
        }
        Ok(None)
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.step(false)?;
        }
        Ok(self.acc.sync()?)
    }

    fn result(&self) -> Result<Vec<f32>> {
        Ok(self.s.read_box(self.s.domain())?)
    }
}

/// The same by hand: arrays with 32 cells before each row, a row before each plane and a plane before all.
struct ByHand<'g> {
    gpu: &'g Gpu,
    n: usize,
    pitch: usize,
    s: CudaSlice<f32>,
    v: Vec<CudaSlice<f32>>,
}

/// A kernel, the shape of its blocks, and the cells that a thread takes along k.
type Shape = (CudaFunction, [u32; 2], usize);

impl<'g> ByHand<'g> {
    fn new(gpu: &'g Gpu, n: usize) -> Result<ByHand<'g>> {
        let pitch = 32 + n.next_multiple_of(32);
        let cells = (n + 1) * (n + 1) * pitch;
        let mut v = Vec::new();
        for field in 0..7 {
            let mut values = vec![0.0; cells];
            for c in 0..n.pow(3) {
                let (k, j, i) = (c / n / n, c / n % n, c % n);
                values[((k + 1) * (n + 1) + j + 1) * pitch + 32 + i] = velocity(field, c);
            }
            v.push(upload(gpu, &values)?);
        }
        Ok(ByHand { gpu, n, pitch, s: gpu.stream.alloc_zeros(cells)?, v })
    }

    fn first(&self) -> usize {
        ((self.n + 1) + 1) * self.pitch + 32
    }

    fn launch(&mut self, (entry, block, length): &Shape) -> Result<()> {
        let (n, first) = (self.n, self.first());
        let mut s = self.s.slice_mut(first..);
        let v: Vec<CudaView<'_, f32>> = self.v.iter().map(|array| array.slice(first..)).collect();
        let extents = [n, n, n, self.pitch, self.pitch * (n + 1), *length].map(|x| x as i32);
        let mut launch = self.gpu.stream.launch_builder(entry);
        launch.arg(&mut s);
        for array in &v {
            launch.arg(array);
        }
        for extent in &extents {
            launch.arg(extent);
        }
        launch.arg(&WIDTH).arg(&RATE);
        let config = cover([n, n, n.div_ceil(*length)], [block[0], block[1], 1]);
        // SAFETY: the arguments are those of the kernels; they read one cell, row and plane before the first, which are
        // there, and write none outside of the `n` along each axis.
        unsafe { launch.launch(config)? };
        Ok(())
    }

    fn run(&mut self, shape: &Shape, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.launch(shape)?;
        }
        self.gpu.wait()
    }

    fn result(&self) -> Result<Vec<f32>> {
        let all = self.gpu.stream.clone_dtoh(&self.s)?;
        let (n, first) = (self.n, self.first());
        let row = |c: usize| &all[first + (c / n * (n + 1) + c % n) * self.pitch..][..n];
        Ok((0..n * n).flat_map(|c| row(c).iter().copied()).collect())
    }

    /// The fastest shape of a kernel.
    fn best(&mut self, bench: &Bench, entry: &CudaFunction) -> Result<(String, Shape)> {
        let mut best: Option<(f64, Shape)> = None;
        for block in [[32, 4], [32, 8], [64, 2], [64, 4], [128, 1], [128, 2], [256, 1]] {
            for length in [8, 16, 32, 64, self.n] {
                let shape = (entry.clone(), block, length);
                let (_, medians) = fastest(bench.effort, &mut [Box::new(|steps| self.run(&shape, steps))])?;
                if best.as_ref().is_none_or(|(seconds, _)| medians[0] < *seconds) {
                    best = Some((medians[0], shape));
                }
            }
        }
        let (_, shape) = best.ok_or("no shape")?;
        let ([x, y], length) = (shape.1, shape.2);
        Ok((format!("{x}x{y}, {length} cells a thread"), shape))
    }
}

/// Cells that a thread takes along k.
const MARCH: u32 = 16;

/// What plans go without: of index arithmetic, in the order of SAFARA's Table I.
const INDEX: [(&str, &str); 4] =
    [("neither", "no-dim,no-small"), ("small", "no-dim"), ("dim", "no-small"), ("dim and small", "")];

/// A step that reads seven arrays of one layout, two cells each: registers and speed with and without `dim`, `small`
/// and replacement, each against the plainest and against CUDA by hand.
pub fn seismic(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = bench.size;
    let case = format!("seismic f32 {n}^3");
    let work = |case: String, check: String| Work { case, check, cells: n.pow(3), bytes: 9 * n.pow(3) * 4 };
    let mut plain = Seismic::new(bench, "no-dim,no-small,no-registers", Some(MARCH))?;
    plain.run(3)?;
    let expected = plain.result()?;
    let mut hand = match &bench.gpu {
        Some(gpu) => {
            let module = gpu.compile(SEISMIC, Flags::Exact, &[])?;
            let mut hand = ByHand::new(gpu, n)?;
            let mut best = Vec::new();
            for name in ["seismic_plain", "seismic_kept"] {
                let entry = function(&module, name)?;
                hand.s = gpu.stream.alloc_zeros(hand.s.len())?;
                hand.run(&(entry.clone(), [64, 4], MARCH as usize), 3)?;
                let same = hand.result()? == expected;
                output.checked(&format!("{case}, {name}"), same, "OTHER BITS".into());
                output.figure(&format!("{case}, registers of {name}"), f64::from(entry.num_regs()?), "a thread")?;
                let (shape, found) = hand.best(bench, &entry)?;
                best.push((format!("{name}, {shape}"), found));
            }
            Some((hand, best))
        }
        None => None,
    };
    let mut ways: Vec<(String, String, Option<u32>)> = Vec::new();
    for (kept, more) in [("read again", ",no-registers"), ("kept", "")] {
        let of = |(word, without): &(&str, &str)| (format!("{kept}, {word}"), format!("{without}{more}"), Some(MARCH));
        ways.extend(INDEX.iter().map(of));
    }
    ways.push(("a cell a thread".into(), String::new(), Some(1)));
    ways.push(("chosen".into(), String::new(), None));
    for (word, without, march) in ways {
        let mut tida = Seismic::new(bench, &without, march)?;
        tida.run(3)?;
        let same = tida.result()? == expected;
        let case = format!("{case}, {word}");
        let check = output.checked(&case, same, if same { "same bits".into() } else { "OTHER BITS".into() });
        if let Some(registers) = tida.step(true)? {
            output.figure(&format!("{case}: registers"), f64::from(registers), "a thread")?;
        }
        let work = work(case, check);
        let times =
            in_turn(bench.effort, &mut [Box::new(|steps| tida.run(steps)), Box::new(|steps| plain.run(steps))])?;
        output.row(&Row::new(&work, &times[0], Some(("read again, neither", &times[1]))))?;
        if let Some((hand, best)) = &mut hand {
            for (name, shape) in best {
                let mut sides: [Side<'_>; 2] =
                    [Box::new(|steps| tida.run(steps)), Box::new(|steps| hand.run(shape, steps))];
                let times = in_turn(bench.effort, &mut sides)?;
                output.row(&Row::new(&work, &times[0], Some((name, &times[1]))))?;
            }
        }
    }
    Ok(())
}

/// Loops inside threads, over columns side by side or over rows of a thread's own.
struct Sweep {
    acc: TileAcc,
    next: TileArray<f64, 1>,
    values: TileArray<f64, 2>,
    rows: bool,
}

impl Sweep {
    fn new(bench: &Bench, (threads, n): (usize, usize), rows: bool, without: &str) -> Result<Sweep> {
        let acc = accelerator(bench, without, None)?;
        let shape = if rows { [threads, n] } else { [n, threads] };
        let mut next = TileArray::<f64, 1>::builder([threads]).build(&acc)?;
        next.fill_value(0.0)?;
        let mut values = TileArray::<f64, 2>::builder(shape).build(&acc)?;
        values.fill(|[j, i]| noise(j * shape[1] + i))?;
        Ok(Sweep { acc, next, values, rows })
    }

    fn step(&mut self, registers: bool) -> tida::Result<Option<u32>> {
        let Sweep { next, values, rows, .. } = self;
        let n = values.shape()[usize::from(*rows)] as i64;
        for tile in TileIter::new(next) {
            if *rows {
                either!(registers, &tile, (&mut *next, all(&*values)), |next, b, at| {
                    let mut sum = 0.0;
                    for k in 1..n - 1 {
                        sum = sum * 0.5 + (b[[at[0], k - 1]] - 2.0 * b[[at[0], k]] + b[[at[0], k + 1]]);
                    }
                    next[at] = sum;
                });
            } else {
                either!(registers, &tile, (&mut *next, all(&*values)), |next, a, at| {
                    let mut sum = 0.0;
                    for k in 2..n - 2 {
                        sum = sum * 0.5
                            + (a[[k - 2, at[0]]] - 8.0 * a[[k - 1, at[0]]] + 8.0 * a[[k + 1, at[0]]]
                                - a[[k + 2, at[0]]]);
                    }
                    next[at] = sum;
                });
            }
        }
        Ok(None)
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.step(false)?;
        }
        Ok(self.acc.sync()?)
    }

    fn result(&self) -> Result<Vec<f64>> {
        Ok(self.next.read_box(self.next.domain())?)
    }
}

/// Launches a kernel of two arrays and two numbers, one thread a cell.
fn launch(
    gpu: &Gpu,
    entry: &CudaFunction,
    out: &mut CudaSlice<f64>,
    values: &CudaView<'_, f64>,
    numbers: [i32; 2],
    config: LaunchConfig,
) -> Result<()> {
    let mut launch = gpu.stream.launch_builder(entry);
    launch.arg(out).arg(values).arg(&numbers[0]).arg(&numbers[1]);
    // SAFETY: the callers' arrays have as many cells as these numbers say, which is what the kernels go by.
    unsafe { launch.launch(config)? };
    Ok(())
}

/// A loop along an axis in each thread, with what it reads in registers and without, against both by hand.
pub fn sweeps(bench: &Bench, output: &mut Output) -> Result<()> {
    // As many values as a cube of the size asked for.
    let (threads, n) = (bench.size.pow(2), bench.size);
    for (word, rows) in [("columns", false), ("rows", true)] {
        let case = format!("sweep of {word} f64 {threads} x {n}");
        let mut plain = Sweep::new(bench, (threads, n), rows, "no-registers")?;
        let mut kept = Sweep::new(bench, (threads, n), rows, "")?;
        plain.run(1)?;
        kept.run(1)?;
        let (expected, found) = (plain.result()?, kept.result()?);
        let check = output.checked(&case, found == expected, "same bits".into());
        for (word, side) in [("read again", &mut plain), ("kept", &mut kept)] {
            if let Some(registers) = side.step(true)? {
                output.figure(&format!("{case}, {word}: registers"), f64::from(registers), "a thread")?;
            }
        }
        let work = |word: &str| Work {
            case: format!("{case}, {word}"),
            check: check.clone(),
            cells: threads * n,
            bytes: threads * n * size_of::<f64>(),
        };
        let times =
            in_turn(bench.effort, &mut [Box::new(|steps| kept.run(steps)), Box::new(|steps| plain.run(steps))])?;
        output.row(&Row::new(&work("kept"), &times[0], Some(("read again", &times[1]))))?;
        let Some(gpu) = &bench.gpu else { continue };
        let module = gpu.compile(SWEEP, Flags::Exact, &[])?;
        let values = upload(gpu, &(0..threads * n).map(noise).collect::<Vec<f64>>())?;
        let mut out = gpu.stream.alloc_zeros::<f64>(threads)?;
        for by_hand in ["plain", "kept"] {
            let name = format!("{word}_{by_hand}");
            let entry = function(&module, &name)?;
            let numbers = [threads as i32, n as i32];
            let mut best: Option<(f64, u32)> = None;
            for block in [64, 128, 256] {
                let config = cover([threads, 1, 1], [block, 1, 1]);
                let run = |steps: usize| -> Result<()> {
                    (0..steps).try_for_each(|_| launch(gpu, &entry, &mut out, &values.as_view(), numbers, config))?;
                    gpu.wait()
                };
                let (_, medians) = fastest(bench.effort, &mut [Box::new(run)])?;
                if best.is_none_or(|(seconds, _)| medians[0] < seconds) {
                    best = Some((medians[0], block));
                }
            }
            let same = gpu.stream.clone_dtoh(&out)? == expected;
            output.checked(&format!("{case}, {name}"), same, "OTHER BITS".into());
            output.figure(&format!("{case}, registers of {name}"), f64::from(entry.num_regs()?), "a thread")?;
            let block = best.map_or(256, |(_, block)| block);
            let config = cover([threads, 1, 1], [block, 1, 1]);
            for (word, side) in [("read again", &mut plain), ("kept", &mut kept)] {
                let reference = |steps: usize| -> Result<()> {
                    (0..steps).try_for_each(|_| launch(gpu, &entry, &mut out, &values.as_view(), numbers, config))?;
                    gpu.wait()
                };
                let times = in_turn(bench.effort, &mut [Box::new(|steps| side.run(steps)), Box::new(reference)])?;
                output.row(&Row::new(&work(word), &times[0], Some((&format!("{name} {block}"), &times[1]))))?;
            }
        }
    }
    Ok(())
}

fn write_step(out: &mut TileArray<f64, 1>, u: &TileArray<f64, 1>, writes: i64) -> tida::Result<()> {
    for tile in TileIter::new(out) {
        compute(
            &tile,
            (&mut *out, u),
            kernel!(|out, u, at| {
                for _ in 0..writes {
                    out[at] = out[at] * 0.5 + (u[at - [1]] + u[at] + u[at + [1]]);
                }
            }),
        )?;
    }
    Ok(())
}

/// A stencil that writes its cell again and again (Lashgar Fig. 5.7): tida, whose compiler keeps the cell in a register
/// and writes it back, against both policies by hand.
pub fn writes(bench: &Bench, output: &mut Output) -> Result<()> {
    let acc = accelerator(bench, "", None)?;
    for n in [4096, 131_072] {
        let mut u = TileArray::<f64, 1>::builder([n]).ghost(1).boundary(Boundary::Fixed(0.0)).build(&acc)?;
        u.fill(|[i]| noise(i))?;
        u.fill_ghosts()?;
        let mut out = TileArray::<f64, 1>::builder([n]).build(&acc)?;
        let by_hand = match &bench.gpu {
            Some(gpu) => {
                let padded: Vec<f64> = [0.0].into_iter().chain((0..n).map(noise)).chain([0.0]).collect();
                Some((gpu, gpu.compile(SWEEP, Flags::Exact, &[])?, upload(gpu, &padded)?))
            }
            None => None,
        };
        for writes in (0..8).map(|log| 1i64 << log) {
            let case = format!("{writes} writes to each of {n} cells f64");
            out.fill_value(0.0)?;
            write_step(&mut out, &u, writes)?;
            let found = out.read_box(out.domain())?;
            let work = |check: String| Work { case: case.clone(), check, cells: n, bytes: 2 * n * size_of::<f64>() };
            let mut run = |steps: usize| -> Result<()> {
                (0..steps).try_for_each(|_| write_step(&mut out, &u, writes))?;
                Ok(acc.sync()?)
            };
            let Some((gpu, module, padded)) = &by_hand else {
                let times = in_turn(bench.effort, &mut [Box::new(&mut run)])?;
                output.row(&Row::new(&work(String::new()), &times[0], None))?;
                continue;
            };
            let config = cover([n, 1, 1], [256, 1, 1]);
            let numbers = [n as i32, writes as i32];
            for name in ["write_through", "write_back"] {
                let entry = function(module, name)?;
                let mut cells = gpu.stream.alloc_zeros::<f64>(n)?;
                launch(gpu, &entry, &mut cells, &padded.slice(1..), numbers, config)?;
                let same = gpu.stream.clone_dtoh(&cells)? == found;
                let words = if same { "same bits" } else { "OTHER BITS" };
                let check = output.checked(&format!("{case}, {name}"), same, words.into());
                let reference = |steps: usize| -> Result<()> {
                    let values = padded.slice(1..);
                    (0..steps).try_for_each(|_| launch(gpu, &entry, &mut cells, &values, numbers, config))?;
                    gpu.wait()
                };
                let times = in_turn(bench.effort, &mut [Box::new(&mut run), Box::new(reference)])?;
                output.row(&Row::new(&work(check), &times[0], Some((name, &times[1]))))?;
            }
        }
    }
    Ok(())
}
