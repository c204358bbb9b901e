//! Several steps in one launch (Lashgar ch. 6): by hand and tida's own, beside one sweep a launch of both.
//!
//! By hand are the forms of `benches/reference/fused.cuh` that its program found to be fast, with tiles, depths and
//! chunks of their own; the fastest counts. Every side is compiled without contraction and gives the bits of single
//! steps: where products and sums are rounded together, which is what compilers of CUDA do if they are not told
//! otherwise, all sides say so. Bytes are those of one sweep a launch, also where fewer are moved.

use cudarc::driver::sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as SHARED_BYTES;
use cudarc::driver::{CudaFunction, CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg};
use tida::prelude::*;
use tida_suite::Result;

use crate::Bench;
use crate::cuda::{Flags, Gpu, cover, function, upload};
use crate::heat::{ALPHA, Cell, OUTSIDE};
use crate::measure::{Output, Row, Side, Work, fastest, in_turn};

const SOURCE: &str = include_str!("../reference/fused.cuh");
/// Steps that count as one of a side's: more than a launch has.
const UNIT: usize = 24;

/// A stencil on both sides.
struct Stencil<T: Cell, const D: usize> {
    name: &'static str,
    /// Its type in `fused.cuh`, and the numbers that it holds, first ones first.
    type_name: &'static str,
    numbers: [T; 5],
    /// Whether its cells have sources.
    sources: bool,
    /// Whether each product is rounded together with the sum that it goes into.
    multiply_add: bool,
    step: fn(&mut Fields<T, D>) -> tida::Result<()>,
    /// The new value of the cell at this place of a padded array whose rows and planes are so far apart.
    cell: fn(&[T], usize, [usize; 2], T) -> T,
    forms: &'static [Form],
}

/// A form of `fused.cuh`: levels, cells of a thread and threads of a block along x and y, how neighbours are had,
/// blocks on a processor at least.
struct Form {
    levels: usize,
    cells: [usize; 2],
    threads: [usize; 2],
    mode: Mode,
    blocks: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Shared,
    Warps,
    Alone,
    Ahead,
}

const fn form(levels: usize, cells: [usize; 2], threads: [usize; 2], mode: Mode, blocks: usize) -> Form {
    Form { levels, cells, threads, mode, blocks }
}

const HEAT3_F64: &[Form] = &[
    form(3, [1, 4], [64, 8], Mode::Shared, 1),
    form(3, [1, 4], [32, 16], Mode::Shared, 1),
    form(3, [1, 4], [32, 16], Mode::Ahead, 1),
];
const HEAT3_F32: &[Form] = &[
    form(3, [2, 4], [32, 16], Mode::Ahead, 1),
    form(4, [2, 3], [32, 16], Mode::Warps, 1),
    form(4, [2, 4], [32, 16], Mode::Warps, 1),
];
const HEAT2_F64: &[Form] = &[
    form(5, [4, 1], [128, 1], Mode::Ahead, 3),
    form(12, [2, 1], [256, 1], Mode::Warps, 2),
    form(8, [4, 1], [128, 1], Mode::Warps, 1),
    form(8, [4, 1], [128, 1], Mode::Shared, 1),
];
const MEAN9_F64: &[Form] = &[form(6, [4, 1], [128, 1], Mode::Alone, 1), form(5, [4, 1], [32, 1], Mode::Ahead, 8)];
const HOTSPOT_F32: &[Form] = &[
    form(4, [4, 1], [128, 1], Mode::Warps, 1),
    form(4, [4, 1], [128, 1], Mode::Alone, 1),
    form(6, [8, 1], [128, 1], Mode::Alone, 1),
];

/// `n` along x, y and, with three axes, z: the arrays by hand, the layer that stays as it is counted.
#[derive(Clone, Copy, Debug)]
struct Padded {
    n: usize,
    dims: usize,
}

impl Padded {
    fn side(self) -> usize {
        self.n + 2
    }

    fn pitch(self) -> usize {
        self.side().next_multiple_of(32)
    }

    fn len(self) -> usize {
        self.pitch() * self.side() * if self.dims == 3 { self.side() } else { 1 }
    }

    fn cells(self) -> usize {
        self.n.pow(self.dims as u32)
    }

    /// From one row to the next, and from one plane.
    fn strides(self) -> [usize; 2] {
        [self.pitch(), self.pitch() * self.side()]
    }

    /// Where each row of inner cells starts.
    fn rows(self) -> impl Iterator<Item = usize> {
        let [row, plane] = self.strides();
        let rows = move |first: usize| (1..=self.n).map(move |j| first + j * row + 1);
        let planes = if self.dims == 3 { 1..self.n + 1 } else { 0..1 };
        planes.flat_map(move |k| rows(k * plane))
    }

    /// [`OUTSIDE`] around inner cells with these values.
    fn filled<T: Cell>(self, value: impl Fn(usize) -> T) -> Vec<T> {
        let mut values = vec![T::of(OUTSIDE); self.len()];
        for (row, start) in self.rows().enumerate() {
            for (i, at) in values[start..start + self.n].iter_mut().enumerate() {
                *at = value(row * self.n + i);
            }
        }
        values
    }

    fn inner<T: Cell>(self, all: &[T]) -> Vec<T> {
        self.rows().flat_map(|start| &all[start..start + self.n]).copied().collect()
    }
}

impl Form {
    /// Cells of a tile that are written, along x and y.
    fn core(&self, dims: usize, size_of: usize) -> [usize; 2] {
        let [cx, cy] = self.cells;
        let warps = if self.tiles(dims) > 1 { [32, 1] } else { self.threads };
        let packed = match self.mode {
            Mode::Ahead => 1,
            _ if dims == 3 => cx,
            _ => cx.min(16 / size_of),
        };
        let halo = self.levels.next_multiple_of(packed);
        [warps[0] * cx - 2 * halo, if dims == 3 { warps[1] * cy - 2 * self.levels } else { 1 }]
    }

    /// Tiles of a block.
    fn tiles(&self, dims: usize) -> usize {
        if dims == 2 && matches!(self.mode, Mode::Alone | Mode::Ahead) { self.threads[0] / 32 } else { 1 }
    }

    fn block(&self) -> usize {
        self.threads[0] * self.threads[1]
    }

    /// Bytes of shared memory: two planes for each level, and what comes and goes.
    fn shared(&self, dims: usize, size_of: usize) -> usize {
        let ([cx, cy], [tx, ty]) = (self.cells, self.threads);
        let values = match (self.mode, dims) {
            (Mode::Alone, _) => 0,
            (Mode::Ahead, 3) => return (tx * cx * 2 * (ty + 2) * 2 * self.levels + 3 * cy * tx * cx * ty) * size_of,
            (Mode::Ahead, _) => return self.tiles(2) * 6 * (32 + (128 / size_of / cx).max(1)) * cx * size_of,
            (Mode::Shared, 3) => tx * (ty * cy + 2),
            (Mode::Warps, 3) => tx * cx * 2 * (ty + 2),
            (Mode::Shared, _) => 2 * (tx + 2),
            (Mode::Warps, _) => 2 * (tx / 32 + 2),
        };
        2 * self.levels * values * size_of
    }

    fn definitions(&self, dims: usize, real: &str, type_name: &str, multiply_add: bool) -> Vec<String> {
        let Form { levels, cells: [cx, cy], threads: [tx, ty], mode, blocks } = self;
        let mode = format!("{mode:?}").to_uppercase();
        let form = match dims {
            3 => format!("-DFORM3={levels},{cx},{cy},{tx},{ty},{mode}"),
            _ => format!("-DFORM2={levels},{cx},{tx},{mode}"),
        };
        let bounds = format!("-DBOUNDS={},{blocks}", self.block());
        // The last one is for generic lambdas, which NVRTC takes for the host's.
        let more = ["--std=c++17", "--device-as-default-execution-space"].map(String::from);
        let rounding = multiply_add.then(|| String::from("-DMULTIPLY_ADD"));
        let all = [format!("-DREAL={real}"), form, bounds, format!("-DSTENCIL={type_name}")];
        all.into_iter().chain(rounding).chain(more).collect()
    }

    fn name(&self) -> String {
        let Form { levels, cells: [cx, cy], threads: [tx, ty], mode, .. } = self;
        format!("{levels} steps, {cx}x{cy} cells, {tx}x{ty}, {mode:?}").to_lowercase()
    }
}

/// A stencil's numbers, as the kernels take them: they read as many as they have.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Numbers<T>([T; 5]);

// SAFETY: plain numbers in the layout of C, without padding.
unsafe impl<T: DeviceRepr> DeviceRepr for Numbers<T> {}

/// The side by hand.
struct Hand<'a, T: Cell> {
    gpu: &'a Gpu,
    padded: Padded,
    numbers: Numbers<T>,
    u: CudaSlice<T>,
    next: CudaSlice<T>,
    sources: CudaSlice<T>,
    single: CudaFunction,
}

/// A compiled form.
struct Kernel {
    form: &'static Form,
    function: CudaFunction,
}

impl<'a, T: Cell> Hand<'a, T> {
    fn new<const D: usize>(gpu: &'a Gpu, stencil: &Stencil<T, D>, n: usize) -> Result<(Self, Vec<Kernel>)> {
        let padded = Padded { n, dims: D };
        let real = if size_of::<T>() == 8 { "double" } else { "float" };
        let mut kernels = Vec::new();
        let mut single = None;
        for form in stencil.forms {
            let definitions = form.definitions(D, real, stencil.type_name, stencil.multiply_add);
            let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
            let module = gpu.compile(SOURCE, Flags::Exact, &definitions)?;
            let fused = function(&module, "fused")?;
            fused.set_attribute(SHARED_BYTES, form.shared(D, size_of::<T>()) as i32)?;
            kernels.push(Kernel { form, function: fused });
            single = Some(function(&module, "single")?);
        }
        let start = padded.filled(T::noise);
        // Without sources a single value stands for them, which no kernel reads.
        let sources = if stencil.sources { padded.filled(|at| source(padded, at)) } else { vec![T::of(0.0)] };
        let (u, next, sources) = (upload(gpu, &start)?, upload(gpu, &start)?, upload(gpu, &sources)?);
        let single = single.ok_or("a stencil without forms")?;
        Ok((Hand { gpu, padded, numbers: Numbers(stencil.numbers), u, next, sources, single }, kernels))
    }

    fn restart(&mut self) -> Result<()> {
        Ok(self.gpu.stream.memcpy_htod(&self.padded.filled(T::noise), &mut self.u)?)
    }

    fn cells(&self) -> Result<Vec<T>> {
        Ok(self.padded.inner(&self.gpu.stream.clone_dtoh(&self.u)?))
    }

    fn launch(&mut self, function: &CudaFunction, config: LaunchConfig, deep: usize) -> Result<()> {
        let Padded { dims, .. } = self.padded;
        let [side, pitch, deep] = [self.padded.side(), self.padded.pitch(), deep].map(|n| n as i32);
        let mut launch = self.gpu.stream.launch_builder(function);
        launch.arg(&mut self.next).arg(&self.u);
        if dims == 2 {
            launch.arg(&self.sources);
        }
        for _ in 0..dims {
            launch.arg(&side);
        }
        launch.arg(&pitch).arg(&deep).arg(&self.numbers);
        // SAFETY: the arguments are those of the kernels, which stay within arrays of `side` rows (and planes) of
        // `pitch`, and read sources only where the stencil has them, which are as long then.
        unsafe { launch.launch(config)? };
        std::mem::swap(&mut self.u, &mut self.next);
        Ok(())
    }

    /// Steps one by one, by threads of blocks of this shape that march over `deep` planes (3-D).
    fn singles(&mut self, block: [u32; 3], deep: usize, steps: usize) -> Result<()> {
        let side = self.padded.side();
        let planes = if self.padded.dims == 3 { self.padded.n.div_ceil(deep) } else { 1 };
        let function = self.single.clone();
        (0..steps).try_for_each(|_| self.launch(&function, cover([side, side, planes], block), deep))
    }

    /// As many steps at once as the form has, and the rest one by one; `chunks` blocks along the slowest axis.
    fn fused(&mut self, kernel: &Kernel, chunks: usize, steps: usize) -> Result<()> {
        let (form, Padded { n, dims, .. }) = (kernel.form, self.padded);
        let [core_x, core_y] = form.core(dims, size_of::<T>());
        let deep = n.div_ceil(chunks);
        let (chunks, tiles) = (n.div_ceil(deep) as u32, form.tiles(dims));
        let x = (n + 1).div_ceil(core_x * tiles) as u32;
        let config = LaunchConfig {
            grid_dim: if dims == 3 { (x, (n + 1).div_ceil(core_y) as u32, chunks) } else { (x, chunks, 1) },
            block_dim: (form.block() as u32, 1, 1),
            shared_mem_bytes: form.shared(dims, size_of::<T>()) as u32,
        };
        for _ in 0..steps / form.levels {
            self.launch(&kernel.function, config, deep)?;
        }
        self.singles([64, 4, 1], 32, steps % form.levels)
    }
}

/// tida's side.
struct Fields<T: Cell, const D: usize> {
    u: TileArray<T, D>,
    next: TileArray<T, D>,
    sources: TileArray<T, D>,
}

/// The accelerator of one side: with one step in a launch, or as many as `TIDA_FUSE` says, else as are chosen.
pub fn accelerator(bench: &Bench, fused: bool) -> Result<TileAcc> {
    let builder = TileAcc::builder().device(bench.device).compile(tida::Compile::Wait);
    Ok(if fused { builder } else { builder.fuse(Fuse::Off) }.build()?)
}

impl<T: Cell, const D: usize> Fields<T, D> {
    fn new(bench: &Bench, fused: bool, stencil: &Stencil<T, D>, n: usize) -> Result<Self>
    where
        ndarray::Dim<[usize; D]>: ndarray::Dimension,
    {
        let acc = accelerator(bench, fused)?;
        let padded = Padded { n, dims: D };
        let fixed = Boundary::Fixed(T::of(OUTSIDE));
        let mut u = TileArray::<T, D>::builder([n; D]).ghost(1).boundary(fixed).build(&acc)?;
        let next = u.like()?;
        u.fill(|at| T::noise(at.iter().fold(0, |index, &a| index * n + a)))?;
        let mut sources = TileArray::<T, D>::builder([if stencil.sources { n } else { 1 }; D]).build(&acc)?;
        if stencil.sources {
            sources.fill(|at| source(padded, at.iter().fold(0, |index, &a| index * n + a)))?;
        }
        Ok(Fields { u, next, sources })
    }

    /// A user's loop.
    fn run(&mut self, stencil: &Stencil<T, D>, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.u.fill_ghosts()?;
            (stencil.step)(self)?;
            std::mem::swap(&mut self.u, &mut self.next);
        }
        Ok(self.u.acc().sync()?)
    }

    fn cells(&self) -> Result<Vec<T>> {
        Ok(self.u.read_box(self.u.domain())?)
    }
}

/// What a cell is given in each step.
fn source<T: Cell>(padded: Padded, cell: usize) -> T {
    T::noise(padded.cells() + cell)
}

/// The result of plain loops after [`UNIT`] steps.
fn plain<T: Cell, const D: usize>(stencil: &Stencil<T, D>, n: usize) -> Vec<T> {
    let padded = Padded { n, dims: D };
    let mut u = padded.filled(T::noise);
    let sources = padded.filled(|at| source(padded, at));
    let mut next = u.clone();
    for _ in 0..UNIT {
        for p in padded.rows().flat_map(|start| start..start + n) {
            next[p] = (stencil.cell)(&u, p, padded.strides(), sources[p]);
        }
        std::mem::swap(&mut u, &mut next);
    }
    padded.inner(&u)
}

fn same<T: Cell>(output: &mut Output, case: &str, found: &[T], expected: &[T]) -> String {
    let apart = found.iter().zip(expected).filter(|(a, b)| a != b).count();
    let right = apart == 0 && found.len() == expected.len();
    output.checked(case, right, if right { "same bits".into() } else { format!("{apart} cells DIFFER") })
}

/// Counts of blocks along the slowest axis that are worth a try.
fn chunks(n: usize, levels: usize) -> impl Iterator<Item = usize> {
    [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96].into_iter().filter(move |&count| n / count >= 3 * levels)
}

fn compared<T: Cell, const D: usize>(
    bench: &Bench,
    output: &mut Output,
    stencil: &Stencil<T, D>,
    n: usize,
) -> Result<()>
where
    ndarray::Dim<[usize; D]>: ndarray::Dimension,
{
    let case = format!("fused {} {n}^{D}", stencil.name);
    let cells = UNIT * n.pow(D as u32);
    let bytes = cells * size_of::<T>() * if stencil.sources { 3 } else { 2 };
    let mut off = Fields::new(bench, false, stencil, n)?;
    let mut auto = Fields::new(bench, true, stencil, n)?;
    off.run(stencil, UNIT)?;
    auto.run(stencil, UNIT)?;
    let expected = off.cells()?;
    same(output, &format!("{case}, fused"), &auto.cells()?, &expected);
    let Some(gpu) = &bench.gpu else {
        let check = same(output, &format!("{case}, plain loops"), &expected, &plain(stencil, n));
        let work = Work { case, check, cells, bytes };
        let mut sides: [Side<'_>; 2] =
            [Box::new(|units| off.run(stencil, units * UNIT)), Box::new(|units| auto.run(stencil, units * UNIT))];
        let times = in_turn(bench.effort, &mut sides)?;
        return output.row(&Row::new(&work, &times[1], Some(("tida, one sweep", &times[0]))));
    };

    let (mut hand, kernels) = Hand::new(gpu, stencil, n)?;
    hand.singles([64, 4, 1], 32, UNIT)?;
    let mut check = same(output, &format!("{case}, one sweep by hand"), &hand.cells()?, &expected);
    for kernel in &kernels {
        hand.restart()?;
        hand.fused(kernel, 3, UNIT)?;
        check = same(output, &format!("{case}, by hand, {}", kernel.form.name()), &hand.cells()?, &expected);
    }
    drop(expected);

    let mut one: Option<(f64, [u32; 3], usize)> = None;
    for block in [[32, 8, 1], [64, 4, 1], [64, 8, 1], [128, 2, 1], [128, 4, 1], [256, 1, 1]] {
        for deep in [16, 32, 64] {
            let (_, medians) = fastest(
                bench.effort,
                &mut [Box::new(|units| {
                    hand.singles(block, deep, units * UNIT)?;
                    gpu.wait()
                })],
            )?;
            if one.is_none_or(|(seconds, ..)| medians[0] < seconds) {
                one = Some((medians[0], block, deep));
            }
            if D == 2 {
                break;
            }
        }
    }
    let (_, block, deep) = one.ok_or("no block")?;
    let mut best: Option<(f64, &Kernel, usize)> = None;
    for kernel in &kernels {
        for count in chunks(n, kernel.form.levels) {
            let (_, medians) = fastest(
                bench.effort,
                &mut [Box::new(|units| {
                    hand.fused(kernel, count, units * UNIT)?;
                    gpu.wait()
                })],
            )?;
            if best.is_none_or(|(seconds, ..)| medians[0] < seconds) {
                best = Some((medians[0], kernel, count));
            }
        }
    }
    let (_, kernel, count) = best.ok_or("no form")?;
    let hand = std::cell::RefCell::new(hand);
    let mut sides: [Side<'_>; 4] = [
        Box::new(|units| {
            hand.borrow_mut().singles(block, deep, units * UNIT)?;
            gpu.wait()
        }),
        Box::new(|units| {
            hand.borrow_mut().fused(kernel, count, units * UNIT)?;
            gpu.wait()
        }),
        Box::new(|units| off.run(stencil, units * UNIT)),
        Box::new(|units| auto.run(stencil, units * UNIT)),
    ];
    let times = in_turn(bench.effort, &mut sides)?;
    let work = Work { case, check, cells, bytes };
    let names = [
        format!("one sweep by hand, {}x{}", block[0], block[1]),
        format!("by hand, {}, {count} chunks", kernel.form.name()),
        "tida, one sweep".into(),
    ];
    for (name, reference) in names.iter().zip(&times) {
        output.row(&Row::new(&work, &times[3], Some((name, reference))))?;
    }
    Ok(())
}

fn mean9(fields: &mut Fields<f64, 2>) -> tida::Result<()> {
    let Fields { u, next, .. } = fields;
    let (own, side, corner) = (0.2, 0.15, 0.05);
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, &*u),
            kernel!(|next, u, at| {
                let sides = u[at + [-1, 0]] + u[at + [0, -1]] + u[at + [0, 1]] + u[at + [1, 0]];
                let corners = u[at + [-1, -1]] + u[at + [-1, 1]] + u[at + [1, -1]] + u[at + [1, 1]];
                next[at] = own * u[at] + side * sides + corner * corners;
            }),
        )?;
    }
    Ok(())
}

fn mean9_multiply_add(fields: &mut Fields<f64, 2>) -> tida::Result<()> {
    let Fields { u, next, .. } = fields;
    let (own, side, corner) = (0.2, 0.15, 0.05);
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, &*u),
            kernel!(|next, u, at| {
                let sides = u[at + [-1, 0]] + u[at + [0, -1]] + u[at + [0, 1]] + u[at + [1, 0]];
                let corners = u[at + [-1, -1]] + u[at + [-1, 1]] + u[at + [1, -1]] + u[at + [1, 1]];
                next[at] = corner.mul_add(corners, side.mul_add(sides, own * u[at]));
            }),
        )?;
    }
    Ok(())
}

/// How fast a chip warms, how well heat goes along x, y and to the air, and the air's warmth: of no chip in particular.
const CHIP: [f32; 5] = [0.3, 0.1, 0.15, 0.05, 0.25];

fn hotspot(fields: &mut Fields<f32, 2>) -> tida::Result<()> {
    let Fields { u, next, sources } = fields;
    let [step, x, y, air, ambient] = CHIP;
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, &*u, &*sources),
            kernel!(|next, u, sources, at| {
                let own = u[at];
                let along = (u[at + [1, 0]] + u[at - [1, 0]] - 2.0 * own) * y;
                let across = (u[at + [0, 1]] + u[at - [0, 1]] - 2.0 * own) * x;
                next[at] = own + step * (sources[at] + along + across + (ambient - own) * air);
            }),
        )?;
    }
    Ok(())
}

/// `x * y + z`, rounded once or twice.
fn multiply_add<T: Cell>(once: bool, x: T, y: T, z: T) -> T {
    if once { x.mul_add(y, z) } else { x * y + z }
}

fn heat3_cell<T: Cell>(once: bool, u: &[T], p: usize, [row, plane]: [usize; 2]) -> T {
    let around = u[p + 1] + u[p - 1] + u[p + row] + u[p - row] + u[p + plane] + u[p - plane];
    multiply_add(once, T::of(ALPHA), multiply_add(once, T::of(-6.0), u[p], around), u[p])
}

fn heat2_cell(once: bool, u: &[f64], p: usize, row: usize) -> f64 {
    let around = u[p + 1] + u[p - 1] + u[p + row] + u[p - row];
    multiply_add(once, ALPHA, multiply_add(once, -4.0, u[p], around), u[p])
}

fn mean9_cell(once: bool, u: &[f64], p: usize, row: usize) -> f64 {
    let sides = u[p - row] + u[p - 1] + u[p + 1] + u[p + row];
    let corners = u[p - row - 1] + u[p - row + 1] + u[p + row - 1] + u[p + row + 1];
    multiply_add(once, 0.05, corners, multiply_add(once, 0.15, sides, 0.2 * u[p]))
}

/// Seven points, plain and with products and sums rounded together.
pub fn heat3_f64(bench: &Bench, output: &mut Output) -> Result<()> {
    heat3::<f64>(bench, output, HEAT3_F64, ["heat3 f64", "heat3 f64, multiply-adds"])
}

/// The same in single precision.
pub fn heat3_f32(bench: &Bench, output: &mut Output) -> Result<()> {
    heat3::<f32>(bench, output, HEAT3_F32, ["heat3 f32", "heat3 f32, multiply-adds"])
}

fn heat3<T: Cell>(
    bench: &Bench,
    output: &mut Output,
    forms: &'static [Form],
    [plain, once]: [&'static str; 2],
) -> Result<()> {
    let stencil = |name| Stencil::<T, 3> {
        name,
        type_name: "Heat7<REAL>",
        numbers: [T::of(ALPHA); 5],
        sources: false,
        multiply_add: false,
        step: |fields| crate::heat::step3(&fields.u, &mut fields.next),
        cell: |u, p, strides, _| heat3_cell(false, u, p, strides),
        forms,
    };
    compared(bench, output, &stencil(plain), bench.size)?;
    let once = Stencil {
        multiply_add: true,
        step: |fields| crate::heat::step3_multiply_add(&fields.u, &mut fields.next),
        cell: |u, p, strides, _| heat3_cell(true, u, p, strides),
        ..stencil(once)
    };
    compared(bench, output, &once, bench.size)
}

/// Five points.
pub fn heat2(bench: &Bench, output: &mut Output) -> Result<()> {
    let stencil = |name| Stencil::<f64, 2> {
        name,
        type_name: "Heat5<REAL>",
        numbers: [ALPHA; 5],
        sources: false,
        multiply_add: false,
        step: |fields| crate::heat::step2(&fields.u, &mut fields.next),
        cell: |u, p, [row, _], _| heat2_cell(false, u, p, row),
        forms: HEAT2_F64,
    };
    compared(bench, output, &stencil("heat2 f64"), 16 * bench.size)?;
    let once = Stencil {
        multiply_add: true,
        step: |fields| crate::heat::step2_multiply_add(&fields.u, &mut fields.next),
        cell: |u, p, [row, _], _| heat2_cell(true, u, p, row),
        ..stencil("heat2 f64, multiply-adds")
    };
    compared(bench, output, &once, 16 * bench.size)
}

/// Nine points.
pub fn nine(bench: &Bench, output: &mut Output) -> Result<()> {
    let stencil = |name| Stencil::<f64, 2> {
        name,
        type_name: "Mean9<REAL>",
        numbers: [0.2, 0.15, 0.05, 0.0, 0.0],
        sources: false,
        multiply_add: false,
        step: mean9,
        cell: |u, p, [row, _], _| mean9_cell(false, u, p, row),
        forms: MEAN9_F64,
    };
    compared(bench, output, &stencil("mean9 f64"), 16 * bench.size)?;
    let once = Stencil {
        multiply_add: true,
        step: mean9_multiply_add,
        cell: |u, p, [row, _], _| mean9_cell(true, u, p, row),
        ..stencil("mean9 f64, multiply-adds")
    };
    compared(bench, output, &once, 16 * bench.size)
}

/// A chip's temperatures.
pub fn chip(bench: &Bench, output: &mut Output) -> Result<()> {
    let hotspot = Stencil::<f32, 2> {
        name: "hotspot f32",
        type_name: "Hotspot<REAL>",
        numbers: CHIP,
        sources: true,
        multiply_add: false,
        step: hotspot,
        cell: |u, p, [row, _], source| {
            let [step, x, y, air, ambient] = CHIP;
            let along = (u[p + row] + u[p - row] - 2.0 * u[p]) * y;
            let across = (u[p + 1] + u[p - 1] - 2.0 * u[p]) * x;
            u[p] + step * (source + along + across + (ambient - u[p]) * air)
        },
        forms: HOTSPOT_F32,
    };
    compared(bench, output, &hotspot, 8 * bench.size)
}
