//! Programs as newcomers write them, each beside good kernels by hand and beside the bytes that a copy moves.
//!
//! Results are compared first, on random data: the same bits. Then tida, the fastest kernel by hand and a copy are
//! timed in turn. Two lines come of it: the speed of tida over that of the kernel by hand, and its bytes a second over
//! those of the copy. Bytes are those of each array once a sweep. Kernels by hand are compiled without contraction, as
//! tida compiles. Without a GPU results are compared with plain loops.

mod conjugate;
mod euler;
mod fdtd;
mod grids;
mod lattice;
mod multigrid;
mod solve;
mod waves;

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule, CudaSlice, LaunchConfig, PushKernelArg, ValidAsZeroBits};
use tida_suite::Result;

use crate::Bench;
use crate::cells::Copier;
use crate::cuda::{Flags, Gpu, cover, function, upload};
use crate::heat::Cell;
use crate::measure::{Output, Row, Side, Work, fastest, in_turn};

pub use conjugate::conjugate;
pub use euler::euler;
pub use fdtd::fdtd;
pub use grids::{gemm64, prolong};
pub use lattice::lattice;
pub use multigrid::multigrid;
pub use solve::solve;
pub use waves::{acoustic, stars};

const DIFFER: &str = include_str!("../../reference/differ.cu");

/// Steps after which results are compared.
const CHECKED: usize = 3;

/// What is compared and what counts as good.
#[derive(Clone, Debug)]
struct About {
    case: String,
    /// Cells and bytes of a step.
    cells: usize,
    bytes: usize,
    /// Least speed of tida over that of a copy, in bytes, and over that by hand.
    of_copy: Option<f64>,
    of_hand: Option<f64>,
}

impl About {
    fn work(&self, check: &str) -> Work {
        Work { case: self.case.clone(), check: check.into(), cells: self.cells, bytes: self.bytes }
    }
}

/// A user's program.
trait Program<T> {
    /// So many steps from where it is; waits for them.
    fn run(&mut self, steps: usize) -> Result<()>;

    /// What it holds, array by array.
    fn found(&self) -> Result<Vec<Vec<T>>>;
}

/// Where the cells of an array by hand lie.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Planes, rows, and cells of a row.
    shape: [usize; 3],
    /// Elements from a row to the next, from a plane to the next, and before the first inner cell.
    pitch: usize,
    plane: usize,
    first: usize,
    len: usize,
}

impl Layout {
    /// With so many ghost cells on every side. Rows of inner cells start at multiples of 128 bytes.
    fn new<T>(shape: [usize; 3], ghosts: usize) -> Layout {
        let line = 128 / size_of::<T>();
        let [planes, rows, cells] = shape;
        let left = ghosts.next_multiple_of(line);
        let pitch = if ghosts == 0 { cells } else { (left + cells + ghosts).next_multiple_of(line) };
        let above = if planes == 1 { 0 } else { ghosts };
        let plane = pitch * (rows + 2 * ghosts);
        // Blocks that reach beyond the last row read there, and use nothing of it.
        let beyond = if ghosts == 0 { 0 } else { 80 * pitch };
        Layout {
            shape,
            pitch,
            plane,
            first: above * plane + ghosts * pitch + left,
            len: plane * (planes + 2 * above) + beyond,
        }
    }

    /// Whole arrays of `n` rows of `n`.
    fn square<T>(n: usize) -> Layout {
        Layout::new::<T>([1, n, n], 0)
    }

    /// A memory's elements: these cells, and `outside` everywhere else.
    fn spread<T: Copy>(&self, cells: impl IntoIterator<Item = T>, outside: T) -> Vec<T> {
        let mut all = vec![outside; self.len];
        let mut cells = cells.into_iter();
        let [planes, rows, row] = self.shape;
        for k in 0..planes {
            for j in 0..rows {
                let from = self.first + k * self.plane + j * self.pitch;
                all[from..from + row].iter_mut().zip(&mut cells).for_each(|(to, cell)| *to = cell);
            }
        }
        all
    }

    /// As kernels take it: cells along x, y and z, and the two distances.
    fn extents(&self) -> [i32; 5] {
        let [nz, ny, nx] = self.shape;
        [nx, ny, nz, self.pitch, self.plane].map(|n| n as i32)
    }
}

/// A way to run a step by hand: kernels, the shape of their blocks, and cells along the slowest axis for each thread.
#[derive(Clone, Debug)]
struct Way {
    name: String,
    functions: Vec<CudaFunction>,
    block: [u32; 3],
    /// Cells of a thread along x and y.
    cells: [u32; 2],
    depth: usize,
}

impl Way {
    /// The kernels of these names.
    fn new(module: &Arc<CudaModule>, entries: &[&str], block: [u32; 3], depth: usize) -> Result<Way> {
        let [x, y, z] = block;
        let deep = if depth > 1 { format!(", {depth} deep") } else { String::new() };
        let planes = if z > 1 { format!("x{z}") } else { String::new() };
        Ok(Way {
            name: format!("{} {x}x{y}{planes}{deep}", entries[0]),
            functions: entries.iter().map(|entry| function(module, entry)).collect::<Result<_>>()?,
            block,
            cells: [1, 1],
            depth,
        })
    }

    /// Blocks that cover so many cells along x and y, and threads along z.
    fn cover(&self, [x, y, z]: [usize; 3]) -> LaunchConfig {
        let [along_x, along_y] = self.cells.map(|n| n as usize);
        cover([x.div_ceil(along_x), y.div_ceil(along_y), z], self.block)
    }
}

/// A step of kernels by hand.
type Step<'a, T> = Box<dyn Fn(&Way, &mut [CudaSlice<T>]) -> Result<()> + 'a>;

/// A program by hand: its arrays, what they hold at first, and those of them that are its result.
struct Hand<'a, T> {
    gpu: &'a Gpu,
    layout: Layout,
    arrays: Vec<CudaSlice<T>>,
    start: Vec<CudaSlice<T>>,
    results: Vec<usize>,
    step: Step<'a, T>,
}

impl<'a, T: Cell + ValidAsZeroBits> Hand<'a, T> {
    /// Arrays of one layout that start as these.
    fn new(
        gpu: &'a Gpu,
        layout: Layout,
        start: Vec<CudaSlice<T>>,
        results: &[usize],
        step: Step<'a, T>,
    ) -> Result<Self> {
        let arrays = start.iter().map(|array| Ok(gpu.stream.clone_dtod(array)?)).collect::<Result<_>>()?;
        Ok(Hand { gpu, layout, arrays, start, results: results.into(), step })
    }

    fn restart(&mut self) -> Result<()> {
        for (array, start) in self.arrays.iter_mut().zip(&self.start) {
            self.gpu.stream.memcpy_dtod(start, array)?;
        }
        Ok(())
    }

    fn run(&mut self, way: &Way, steps: usize) -> Result<()> {
        for _ in 0..steps {
            (self.step)(way, &mut self.arrays)?;
        }
        self.gpu.wait()
    }

    /// Words of the results that are not as those that tida found, for each way the sum over all arrays.
    fn differing(&mut self, ways: &[Way], found: &[Vec<T>]) -> Result<Vec<usize>> {
        let gpu = self.gpu;
        let module = gpu.compile(DIFFER, Flags::Exact, &[])?;
        let differ = function(&module, "differ")?;
        let Layout { shape: [planes, rows, row], pitch, plane, first, .. } = self.layout;
        let words = size_of::<T>() / 4;
        let extents = [row * words, rows].map(|n| n as i32);
        let steps = [pitch * words, plane * words].map(|n| n as i64);
        let mut expected = Vec::new();
        for cells in found {
            expected.push(upload(gpu, &self.layout.spread(cells.iter().copied(), cells[0]))?);
        }
        let mut all = Vec::new();
        for way in ways {
            self.restart()?;
            self.run(way, CHECKED)?;
            let mut count = gpu.stream.alloc_zeros::<u32>(1)?;
            for (&result, expected) in self.results.iter().zip(&expected) {
                let (a, b) = (self.arrays[result].slice(first..), expected.slice(first..));
                let mut launch = gpu.stream.launch_builder(&differ);
                launch.arg(&a).arg(&b).arg(&extents[0]).arg(&extents[1]).arg(&steps[0]).arg(&steps[1]).arg(&mut count);
                // SAFETY: the arguments are those of the kernel; it reads the inner cells of both arrays.
                unsafe { launch.launch(cover([planes * rows * 128, 1, 1], [128, 1, 1]))? };
            }
            all.push(gpu.stream.clone_dtoh(&count)?[0] as usize);
        }
        Ok(all)
    }

    /// The fastest way.
    fn best<'w>(&mut self, bench: &Bench, ways: &'w [Way]) -> Result<&'w Way> {
        let mut best: Option<(f64, &Way)> = None;
        for way in ways {
            let (_, medians) = fastest(bench.effort, &mut [Box::new(|steps| self.run(way, steps))])?;
            if best.is_none_or(|(seconds, _)| medians[0] < seconds) {
                best = Some((medians[0], way));
            }
        }
        Ok(best.ok_or("no kernel by hand")?.1)
    }
}

/// A program by hand and the ways to run it, where there is a GPU.
type ByHand<'a, T> = Option<(Hand<'a, T>, Vec<Way>)>;

/// Compares a program's result with the other side's, and times it beside it and beside a copy. Gives the seconds of
/// tida's steps, and those by hand.
fn contest<T: Cell + ValidAsZeroBits>(
    (bench, output): (&Bench, &mut Output),
    about: &About,
    tida: &mut dyn Program<T>,
    hand: ByHand<'_, T>,
    plain: impl FnOnce() -> Vec<Vec<T>>,
) -> Result<[Vec<f64>; 2]> {
    tida.run(CHECKED)?;
    let found = tida.found()?;
    let Some((mut hand, ways)) = hand else {
        let check = verdict(output, &about.case, differing(&found, &plain()), "plain loops");
        return Ok([alone((bench, output), about, &check, &mut |steps| tida.run(steps))?, Vec::new()]);
    };
    let mut wrong = 0;
    for (way, words) in ways.iter().zip(hand.differing(&ways, &found)?) {
        wrong = wrong.max(words);
        if words > 0 {
            verdict(output, &about.case, words, &way.name);
        }
    }
    drop(found);
    let check = if wrong == 0 { "same bits".into() } else { format!("{wrong} words DIFFER") };
    let best = hand.best(bench, &ways)?;
    let mut copier = Copier::new(hand.gpu, bench.size.pow(3))?;
    let moved = copier.bytes() as f64;
    let mut sides: [Side<'_>; 3] = [
        Box::new(|steps| hand.run(best, steps)),
        Box::new(|steps| copier.run(steps)),
        Box::new(|steps| tida.run(steps)),
    ];
    let mut times = in_turn(bench.effort, &mut sides)?;
    let mut row = Row::new(&about.work(&check), &times[2], Some((&best.name, &times[0])));
    row.goal = about.of_hand;
    output.row(&row)?;
    beside_copy(output, about, &check, &times[2], (moved, &times[1]))?;
    Ok([times.remove(2), times.remove(0)])
}

/// Times a program that has no other side by hand, beside a copy where there is a GPU. Gives the seconds of its steps.
fn alone(
    (bench, output): (&Bench, &mut Output),
    about: &About,
    check: &str,
    run: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Vec<f64>> {
    let Some(gpu) = &bench.gpu else {
        let mut times = in_turn(bench.effort, &mut [Box::new(run)])?;
        output.row(&Row::new(&about.work(check), &times[0], None))?;
        return Ok(times.remove(0));
    };
    let mut copier = Copier::new(gpu, bench.size.pow(3))?;
    let moved = copier.bytes() as f64;
    let mut times = in_turn(bench.effort, &mut [Box::new(run), Box::new(|steps| copier.run(steps))])?;
    beside_copy(output, about, check, &times[0], (moved, &times[1]))?;
    Ok(times.remove(0))
}

/// A line of tida's bytes a second beside those of a copy, which moves so many in these seconds.
fn beside_copy(
    output: &mut Output,
    about: &About,
    check: &str,
    tida: &[f64],
    (moved, copy): (f64, &[f64]),
) -> Result<()> {
    let scaled: Vec<f64> = copy.iter().map(|seconds| seconds * about.bytes as f64 / moved).collect();
    let mut row = Row::new(&about.work(check), tida, Some(("bytes of a copy", &scaled)));
    row.goal = about.of_copy;
    output.row(&row)
}

/// Cells of all arrays whose bits are not the same.
fn differing<T: Cell>(found: &[Vec<T>], expected: &[Vec<T>]) -> usize {
    let apart = |a: &T, b: &T| a.to_f64().to_bits() != b.to_f64().to_bits();
    let of_array = |(a, b): (&Vec<T>, &Vec<T>)| {
        if a.len() == b.len() { a.iter().zip(b).filter(|(a, b)| apart(a, b)).count() } else { usize::MAX }
    };
    if found.len() == expected.len() { found.iter().zip(expected).map(of_array).sum() } else { usize::MAX }
}

fn verdict(output: &mut Output, case: &str, differing: usize, against: &str) -> String {
    let words = if differing == 0 { "same bits".into() } else { format!("{differing} words DIFFER from {against}") };
    output.checked(case, differing == 0, words)
}
