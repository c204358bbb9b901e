//! Threads to cells: the shape of blocks that tida chooses against every other one, for the programs of MESI-CUDA's
//! Tables 5 and 6 (Ohno et al. 2015, §5). What it found is in `docs/papers/mesi-cuda.md`.

use std::cell::RefCell;

use tida::prelude::*;
use tida::{Cache, Math, TileAcc};
use tida_suite::Result;

use crate::Bench;
use crate::heat::noise;
use crate::measure::{Effort, Output, Row, Side, Work, in_turn, median};
use crate::walks::multiply;

/// A way to lay threads out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// Threads along z, y and x; tida's choice without.
    pub block: Option<[usize; 3]>,
    /// Cells along the first axis that a thread takes; tida's choice without.
    pub march: Option<usize>,
    /// How the kernel's second argument is cached; tida's choice without.
    pub cache: Option<Cache>,
}

impl How {
    fn tiles<const D: usize>(self, array: &TileArray<f32, D>) -> TileIter<D> {
        let mut tiles = TileIter::new(array);
        if let Some(block) = self.block {
            let last: [usize; D] = std::array::from_fn(|axis| block[3 - D + axis]);
            tiles = tiles.thread_block(last);
        }
        if let Some(how) = self.cache {
            tiles = tiles.cache(1, how);
        }
        match self.march {
            Some(cells) => tiles.march(cells),
            None => tiles,
        }
    }

    fn name(self) -> String {
        let block = self.block.map_or("chosen".into(), |[z, y, x]| format!("{x}x{y}x{z}"));
        match self.march {
            Some(1) => format!("{block}, a cell a thread"),
            Some(cells) => format!("{block}, {cells} cells a thread"),
            None => block,
        }
    }
}

/// A program that runs one step after the other.
pub trait Program {
    fn step(&mut self, how: How) -> tida::Result<()>;

    /// Back to the start.
    fn restart(&mut self) -> tida::Result<()>;

    /// Tells results apart; waits for them.
    fn mark(&self) -> tida::Result<u64>;

    fn acc(&self) -> &TileAcc;
}

/// Arrays of two axes, and a step on them.
pub struct Plane {
    pub arrays: Vec<TileArray<f32, 2>>,
    start: Vec<TileArray<f32, 2>>,
    step: fn(&mut [TileArray<f32, 2>], How) -> tida::Result<()>,
    /// The first two change places after a step.
    swaps: bool,
}

impl Plane {
    pub fn new(
        acc: &TileAcc,
        n: usize,
        arrays: usize,
        swaps: bool,
        step: fn(&mut [TileArray<f32, 2>], How) -> tida::Result<()>,
    ) -> tida::Result<Plane> {
        let (mut all, mut start) = (Vec::new(), Vec::new());
        for array in 0..arrays {
            let builder = TileArray::<f32, 2>::builder([n, n]).ghost(1).boundary(Boundary::Fixed(0.5));
            let mut first = builder.build(acc)?;
            first.fill(|[j, i]| noise((array * n + j) * n + i) as f32)?;
            first.fill_ghosts()?;
            let mut copy = first.like()?;
            copy.copy_from(&first)?;
            copy.fill_ghosts()?;
            all.push(copy);
            start.push(first);
        }
        Ok(Plane { arrays: all, start, step, swaps })
    }
}

/// A number of all bits of an array.
fn mark<const D: usize>(array: &TileArray<f32, D>) -> tida::Result<u64> {
    let values = array.read_box(array.domain())?;
    Ok(values.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, value| {
        (hash ^ u64::from(value.to_bits())).wrapping_mul(0x0100_0000_01b3)
    }))
}

impl Program for Plane {
    fn step(&mut self, how: How) -> tida::Result<()> {
        (self.step)(&mut self.arrays, how)?;
        if self.swaps {
            self.arrays.swap(0, 1);
        }
        Ok(())
    }

    fn restart(&mut self) -> tida::Result<()> {
        for (array, start) in self.arrays.iter_mut().zip(&self.start) {
            array.copy_from(start)?;
            array.fill_ghosts()?;
        }
        Ok(())
    }

    fn mark(&self) -> tida::Result<u64> {
        self.arrays.iter().try_fold(0, |all: u64, array| Ok(all.rotate_left(7) ^ mark(array)?))
    }

    fn acc(&self) -> &TileAcc {
        self.arrays[0].acc()
    }
}

fn product(arrays: &mut [TileArray<f32, 2>], how: How) -> tida::Result<()> {
    let [c, a, b] = arrays else { return Ok(()) };
    multiply(how.tiles(c), c, a, b)
}

fn jacobi(arrays: &mut [TileArray<f32, 2>], how: How) -> tida::Result<()> {
    let [u, next] = arrays else { return Ok(()) };
    u.fill_ghosts()?;
    for tile in how.tiles(u) {
        compute(
            &tile,
            (&mut *next, &*u),
            kernel!(|next, u, at| next[at] = 0.25 * (u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]])),
        )?;
    }
    Ok(())
}

/// The electric field, then the magnetic one, each kernel with its reads of a neighbour (FDTD).
pub fn fields(arrays: &mut [TileArray<f32, 2>], how: How) -> tida::Result<()> {
    let [h, ex, ey] = arrays else { return Ok(()) };
    h.fill_ghosts()?;
    for tile in how.tiles(h) {
        compute(
            &tile,
            (&mut *ex, &mut *ey, &*h),
            kernel!(|ex, ey, h, at| {
                ex[at] = ex[at] - 0.5 * (h[at] - h[at - [0, 1]]);
                ey[at] = ey[at] - 0.5 * (h[at] - h[at - [1, 0]]);
            }),
        )?;
    }
    fill_ghosts((&mut *ex, &mut *ey))?;
    for tile in how.tiles(h) {
        compute(
            &tile,
            (&mut *h, &*ex, &*ey),
            kernel!(|h, ex, ey, at| h[at] = h[at] - 0.4 * (ex[at + [0, 1]] - ex[at] + ey[at + [1, 0]] - ey[at])),
        )?;
    }
    Ok(())
}

/// Heat in a chip (Rodinia's hotspot).
pub fn hotspot(arrays: &mut [TileArray<f32, 2>], how: How) -> tida::Result<()> {
    let [t, next, power] = arrays else { return Ok(()) };
    t.fill_ghosts()?;
    for tile in how.tiles(t) {
        compute(
            &tile,
            (&mut *next, &*t, &*power),
            kernel!(|next, t, power, at| {
                let c = t[at];
                let down = (t[at + [1, 0]] + t[at - [1, 0]] - 2.0 * c) * 0.1;
                let across = (t[at + [0, 1]] + t[at - [0, 1]] - 2.0 * c) * 0.1;
                next[at] = c + 0.5 * (power[at] + down + across + (0.25 - c) * 0.01);
            }),
        )?;
    }
    Ok(())
}

/// Point Jacobi for Poisson's equation with 19 points and coefficients of each cell (the Himeno benchmark).
pub struct Poisson {
    pub p: TileArray<f32, 3>,
    next: TileArray<f32, 3>,
    start: TileArray<f32, 3>,
    pub a: TileArray<[f32; 4], 3>,
    pub b: TileArray<[f32; 3], 3>,
    pub c: TileArray<[f32; 3], 3>,
}

impl Poisson {
    pub fn new(acc: &TileAcc, n: usize) -> tida::Result<Poisson> {
        let mut start = TileArray::<f32, 3>::builder([n; 3]).ghost(1).boundary(Boundary::Fixed(0.5)).build(acc)?;
        let mut a = TileArray::builder([n; 3]).build(acc)?;
        let mut b = TileArray::builder([n; 3]).build(acc)?;
        let cell = |[k, j, i]: [usize; 3]| noise((k * n + j) * n + i) as f32;
        start.fill(cell)?;
        a.fill(|at| [1.0, 1.0, 1.0 + 0.01 * cell(at), 1.0 / 6.0])?;
        b.fill(|at| [0.001, 0.001, 0.001 * cell(at)])?;
        let mut c = b.like()?;
        c.fill(|at| [1.0, 1.0, 1.0 - 0.01 * cell(at)])?;
        let mut program = Poisson { p: start.like()?, next: start.like()?, start, a, b, c };
        program.restart()?;
        Ok(program)
    }
}

impl Program for Poisson {
    fn step(&mut self, how: How) -> tida::Result<()> {
        let Poisson { p, next, a, b, c, .. } = self;
        p.fill_ghosts()?;
        for tile in how.tiles(p) {
            compute(
                &tile,
                (&mut *next, &*p, &*a, &*b, &*c),
                kernel!(|next, p, a, b, c, at| {
                    let (above, edge, below) = (a[at], b[at], c[at]);
                    let sum = above[0] * p[at + [1, 0, 0]]
                        + above[1] * p[at + [0, 1, 0]]
                        + above[2] * p[at + [0, 0, 1]]
                        + edge[0] * (p[at + [1, 1, 0]] - p[at + [1, -1, 0]] - p[at + [-1, 1, 0]] + p[at + [-1, -1, 0]])
                        + edge[1] * (p[at + [0, 1, 1]] - p[at + [0, -1, 1]] - p[at + [0, 1, -1]] + p[at + [0, -1, -1]])
                        + edge[2] * (p[at + [1, 0, 1]] - p[at + [-1, 0, 1]] - p[at + [1, 0, -1]] + p[at + [-1, 0, -1]])
                        + below[0] * p[at - [1, 0, 0]]
                        + below[1] * p[at - [0, 1, 0]]
                        + below[2] * p[at - [0, 0, 1]];
                    next[at] = p[at] + 0.8 * (sum * above[3] - p[at]);
                }),
            )?;
        }
        std::mem::swap(p, next);
        Ok(())
    }

    fn restart(&mut self) -> tida::Result<()> {
        self.p.copy_from(&self.start)?;
        self.next.copy_from(&self.start)
    }

    fn mark(&self) -> tida::Result<u64> {
        mark(&self.p)
    }

    fn acc(&self) -> &TileAcc {
        self.p.acc()
    }
}

/// All shapes of blocks of 32 to 1024 threads, powers of two along each axis.
fn shapes(axes: usize) -> Vec<[usize; 3]> {
    let powers = || (0..=10).map(|log| 1usize << log);
    let z = powers().filter(|z| *z <= if axes == 3 { 64 } else { 1 });
    let all = z.flat_map(|z| powers().flat_map(move |y| powers().map(move |x| [z, y, x])));
    all.filter(|shape| (32..=1024).contains(&shape.iter().product::<usize>())).collect()
}

/// A way to run a program.
type Way<'a> = (&'a RefCell<Box<dyn Program>>, How);

/// Seconds of a step, one number a round, for each way.
fn times(ways: &[Way<'_>], effort: Effort) -> Result<Vec<Vec<f64>>> {
    fn side((program, how): Way<'_>) -> Side<'_> {
        Box::new(move |steps| {
            let mut program = program.borrow_mut();
            for _ in 0..steps {
                program.step(how)?;
            }
            Ok(program.acc().sync()?)
        })
    }
    in_turn(effort, &mut ways.iter().map(|way| side(*way)).collect::<Vec<_>>())
}

/// A program of Table 3: its name, its size, its axes, and how it is built.
type Listed = (&'static str, usize, usize, Box<dyn Fn(&TileAcc) -> tida::Result<Box<dyn Program>>>);

/// The programs, at the sizes of Table 3 (but for the product, which there has 8192^2 cells), on the CPU smaller.
fn programs(bench: &Bench) -> [Listed; 5] {
    let of = |paper: usize| if bench.gpu.is_some() { paper } else { bench.size.min(paper) };
    let [product_of, jacobi_of, fields_of, poisson_of, hotspot_of] = [2048, 1024, 10240, 128, 512].map(of);
    let plane = |acc: &TileAcc, n, arrays, swaps, step| -> tida::Result<Box<dyn Program>> {
        Ok(Box::new(Plane::new(acc, n, arrays, swaps, step)?))
    };
    [
        ("matmul", product_of, 2, Box::new(move |acc| plane(acc, product_of, 3, false, product))),
        ("jacobi", jacobi_of, 2, Box::new(move |acc| plane(acc, jacobi_of, 2, true, jacobi))),
        ("fdtd", fields_of, 2, Box::new(move |acc| plane(acc, fields_of, 3, false, fields))),
        ("poisson", poisson_of, 3, Box::new(move |acc| Ok(Box::new(Poisson::new(acc, poisson_of)?)))),
        ("hotspot", hotspot_of, 2, Box::new(move |acc| plane(acc, hotspot_of, 3, true, hotspot))),
    ]
}

/// Runs a program once, for a profiler: its name, and how its threads are laid out, such as `jacobi 1x512x1 16`
/// (threads along x, y and z; cells a thread).
pub fn once(bench: &Bench, what: &str) -> Result<()> {
    let mut words = what.split_whitespace();
    let wanted = words.next().unwrap_or_default();
    let mut how = How::default();
    if let Some(block) = words.next() {
        let threads: Vec<usize> = block.split('x').map(str::parse).collect::<Result<_, _>>()?;
        let [x, y, z] =
            <[usize; 3]>::try_from(threads).map_err(|_| "give a block as threads along x, y and z: 32x8x1")?;
        how.block = Some([z, y, x]);
    }
    how.march = words.next().map(str::parse).transpose()?;
    let acc = bench.accelerator(Math::Exact)?;
    let all = programs(bench);
    let make = all.iter().find(|(name, ..)| *name == wanted).map(|(.., make)| make);
    let mut program =
        make.ok_or_else(|| format!("tried to run {wanted:?}; found no such program of `mapping`"))?(&acc)?;
    program.step(how)?;
    Ok(program.acc().sync()?)
}

/// Every shape, each a short time; then the chosen one, the best, the worst and that of timed trials in turn.
pub fn mapping(bench: &Bench, output: &mut Output) -> Result<()> {
    let (acc, tuned) = (bench.accelerator(Math::Exact)?, bench.tuned()?);
    for (name, n, axes, make) in programs(bench) {
        let [program, tried] = [RefCell::new(make(&acc)?), RefCell::new(make(&tuned)?)];
        let short = Effort { rounds: 3.min(bench.effort.rounds), seconds: bench.effort.seconds / 10.0 };
        let chosen = How::default();
        let marches = [None, Some(1), Some(8), Some(16)];
        let ways = shapes(axes)
            .into_iter()
            .flat_map(|block| marches.map(|march| How { block: Some(block), march, cache: None }));
        let mut found = Vec::new();
        for how in ways {
            let seconds = median(&times(&[(&program, how)], short)?[0]);
            let [z, y, x] = how.block.unwrap_or_default();
            let shape = format!("{x} {y} {z} {}", how.march.map_or("auto".into(), |cells| cells.to_string()));
            output.point((&format!("mapping {name}"), &shape, "step"), &[seconds * 1e6], "us")?;
            found.push((seconds, how));
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (Some((_, best)), Some((_, worst))) = (found.first().copied(), found.last().copied()) else { continue };

        let mut marks = Vec::new();
        let ways = [(&program, chosen), (&program, best), (&program, worst), (&tried, chosen)];
        for (program, how) in ways {
            let mut program = program.borrow_mut();
            program.restart()?;
            for _ in 0..3 {
                program.step(how)?;
            }
            marks.push(program.mark()?);
        }
        let same = marks.iter().all(|mark| *mark == marks[0]);
        let case = format!("mapping: {name} {n}^{axes}, {} ways", found.len());
        let check = output.checked(&case, same, if same { "same bits" } else { "OTHER BITS" }.into());
        let seconds = times(&ways, bench.effort)?;
        let cells = n.pow(axes as u32);
        let work = Work { case, check, cells, bytes: 8 * cells };
        let row = Row::new(&work, &seconds[0], Some((&format!("best: {}", best.name()), &seconds[1])));
        output.row(&Row { goal: Some(0.97), ..row })?;
        output.row(&Row::new(&work, &seconds[0], Some((&format!("worst: {}", worst.name()), &seconds[2]))))?;
        let work = Work { case: format!("{}, tuned", work.case), ..work };
        let row = Row::new(&work, &seconds[3], Some((&format!("best: {}", best.name()), &seconds[1])));
        output.row(&Row { goal: Some(0.97), ..row })?;
        output.row(&Row::new(&work, &seconds[3], Some(("chosen", &seconds[0]))))?;
    }
    Ok(())
}
