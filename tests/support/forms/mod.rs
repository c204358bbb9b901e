//! Programs of which there are two texts: kernels of generic functions, and the same written out for one type and rank.
//!
//! A test compares what both emit, benches how fast they are. Each has this folder as a module of its own: in a library
//! that they share, every example would compile it.

mod open;
mod written_out;

use tida::array::TileArrayBuilder;
use tida::prelude::*;
use tida::{Explanation, Result};

pub use written_out::WrittenOut;

/// What kernels of one array are given: the array that they write, and the one that they read.
type Pair<T, const D: usize> = (&'static mut TileArray<T, D>, &'static TileArray<T, D>);
/// Pressure, and velocities along y and x.
type Steps<T> = (&'static mut TileArray<T, 2>, &'static TileArray<T, 2>, &'static TileArray<T, 2>);
type Populations<T> = Pair<[T; 19], 3>;
/// Two substances that are written, and two that are read.
type Chemistry<T> =
    (&'static mut TileArray<T, 3>, &'static mut TileArray<T, 3>, &'static TileArray<T, 3>, &'static TileArray<T, 3>);
/// Height and discharges along y and x that are written, and those that are read.
type Flow<T> = (
    &'static mut TileArray<T, 2>,
    &'static mut TileArray<T, 2>,
    &'static mut TileArray<T, 2>,
    &'static TileArray<T, 2>,
    &'static TileArray<T, 2>,
    &'static TileArray<T, 2>,
);

/// Whose kernels a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// Those of generic functions.
    Open,
    /// Those written out.
    WrittenOut,
}

/// What a step does with its kernels.
#[derive(Debug)]
enum Task {
    Run,
    Explain(Vec<Explanation>),
}

/// Runs or explains a kernel of the text that is asked for.
macro_rules! sweep {
    ($run:ident, $over:expr, $args:expr, $open:expr, $written:expr) => {
        match $run.0 {
            Text::Open => sweep!(@ $run, $over, $args, $open),
            Text::WrittenOut => sweep!(@ $run, $over, $args, $written),
        }
    };
    (@ $run:ident, $over:expr, $args:expr, $kernel:expr) => {
        match &mut $run.1 {
            Task::Explain(list) => list.push(tida::explain($args, $kernel)?),
            Task::Run => {
                for tile in TileIter::new($over) {
                    compute(&tile, $args, $kernel)?;
                }
            }
        }
    };
}

/// A program with both texts.
#[derive(Debug)]
pub struct Program<T: Real> {
    /// Its name.
    pub name: &'static str,
    /// Cells of one array.
    pub cells: usize,
    /// Bytes that a step has to read and write.
    pub bytes: usize,
    fields: Fields<T>,
}

/// The arrays of a program.
#[derive(Debug)]
enum Fields<T: Real> {
    Heat([TileArray<T, 3>; 2]),
    Wave([TileArray<T, 2>; 3]),
    Life([TileArray<T, 2>; 2]),
    React([[TileArray<T, 3>; 2]; 2]),
    Flow([[TileArray<T, 2>; 3]; 2]),
    Lattice(Box<[TileArray<[T; 19], 3>; 2]>),
}

/// An array and one like it, for what comes next.
fn two<E: Element, const D: usize>(u: TileArray<E, D>) -> Result<[TileArray<E, D>; 2]> {
    let next = u.like()?;
    Ok([u, next])
}

/// A value in 0.5..1.5 that looks random.
fn value(seed: u64, at: [usize; 3]) -> f64 {
    let mut x = at.iter().fold(seed, |x, n| (x << 20) ^ *n as u64);
    for _ in 0..2 {
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    (x >> 11) as f64 / (1u64 << 53) as f64 + 0.5
}

/// Values between a lowest and a quarter more.
fn cube<T: Real>(acc: &TileAcc, n: usize, seed: u64, low: f64) -> Result<TileArray<T, 3>> {
    let mut u = TileArray::builder([n; 3]).ghost(1).boundary(Boundary::Periodic).build(acc)?;
    u.fill(|at| T::of(low + 0.25 * value(seed, at)))?;
    Ok(u)
}

fn plane<T: Real>(n: usize, boundary: [Boundary<T>; 2]) -> TileArrayBuilder<T, 2> {
    let builder = TileArray::<T, 2>::builder([n; 2]).ghost(1);
    builder.boundary_axis(0, boundary[0]).boundary_axis(1, boundary[1])
}

/// A value for each 8 cells along both axes.
fn hill<T: Real>([j, i]: [usize; 2]) -> T {
    T::of(value(5, [0, j / 8, i / 8]))
}

fn wave<T: Real>(acc: &TileAcc, n: usize) -> Result<Fields<T>> {
    let mut p = plane(n, [Boundary::ReflectEven; 2]).build(acc)?;
    p.fill(hill)?;
    let face = |centering| -> Result<TileArray<T, 2>> {
        let mut v = TileArray::builder([n; 2]).ghost(1).centering(centering).build(acc)?;
        v.fill_value(T::ZERO)?;
        Ok(v)
    };
    let vy = face([Centering::Face, Centering::Cell])?;
    Ok(Fields::Wave([p, vy, face([Centering::Cell, Centering::Face])?]))
}

fn flow<T: Real>(acc: &TileAcc, n: usize) -> Result<Fields<T>> {
    let [even, odd] = [Boundary::ReflectEven, Boundary::ReflectOdd];
    let mut h = plane(n, [even; 2]).build(acc)?;
    h.fill(hill)?;
    let (mut qy, mut qx) = (plane(n, [odd, even]).build(acc)?, plane(n, [even, odd]).build(acc)?);
    qy.fill_value(T::ZERO)?;
    qx.fill_value(T::ZERO)?;
    Ok(Fields::Flow([[h.like()?, qy.like()?, qx.like()?], [h, qy, qx]]))
}

impl<T: WrittenOut> Program<T> {
    /// What there is.
    pub const NAMES: [&'static str; 6] = ["heat", "wave", "life", "gray-scott", "shallow water", "lbm"];

    /// One by its name; `n` cells along each axis if it has three, 16 times as many if it has two, half as many for
    /// `lbm`.
    ///
    /// # Errors
    /// As those of building arrays.
    pub fn new(acc: &TileAcc, name: &'static str, n: usize) -> Result<Program<T>> {
        let wide = 16 * n;
        // A step reads and writes so many values of a cell.
        let (cells, values, fields) = match name {
            "heat" => (n.pow(3), 2, Fields::Heat(two(cube(acc, n, 1, 0.0)?)?)),
            "wave" => (wide * wide, 9, wave(acc, wide)?),
            "life" => {
                let mut u = plane(wide, [Boundary::Periodic; 2]).build(acc)?;
                u.fill(|[j, i]| if value(9, [0, j, i]) > 1.1 { T::ONE } else { T::ZERO })?;
                (wide * wide, 2, Fields::Life(two(u)?))
            }
            "gray-scott" => {
                let [u, next_u] = two(cube(acc, n, 2, 0.5)?)?;
                let [v, next_v] = two(cube(acc, n, 3, 0.0)?)?;
                (n.pow(3), 4, Fields::React([[u, v], [next_u, next_v]]))
            }
            "shallow water" => (wide * wide, 6, flow(acc, wide)?),
            _ => {
                let n = n / 2;
                let builder = TileArray::<[T; 19], 3>::builder([n; 3]).ghost(1).boundary(Boundary::Periodic);
                let mut f = builder.build(acc)?;
                f.fill(|at| std::array::from_fn(|q| T::of(0.002 * (value(q as u64, at) - 1.0))))?;
                (n.pow(3), 38, Fields::Lattice(Box::new(two(f)?)))
            }
        };
        Ok(Program { name, cells, bytes: cells * values * size_of::<T>(), fields })
    }

    /// So many steps by the kernels of a text; they are not waited for.
    ///
    /// # Errors
    /// As those of the calls.
    pub fn steps(&mut self, text: Text, steps: usize) -> Result<()> {
        (0..steps).try_for_each(|_| self.step(&mut (text, Task::Run)))
    }

    /// The kernels of a step.
    ///
    /// # Errors
    /// As those of the calls.
    pub fn explained(&mut self, text: Text) -> Result<Vec<Explanation>> {
        let mut run = (text, Task::Explain(Vec::new()));
        self.step(&mut run)?;
        match run.1 {
            Task::Explain(list) => Ok(list),
            Task::Run => Ok(Vec::new()),
        }
    }

    fn step(&mut self, run: &mut (Text, Task)) -> Result<()> {
        match &mut self.fields {
            Fields::Heat([u, next]) => {
                let alpha = lit!(T, 0.1);
                u.fill_ghosts()?;
                sweep!(run, &*u, (&mut *next, &*u), open::heat::<T, 3>(alpha), T::heat(alpha));
                std::mem::swap(u, next);
            }
            Fields::Wave([p, vy, vx]) => {
                let c = lit!(T, 0.5);
                p.fill_ghosts()?;
                sweep!(run, &*vx, (&mut *vx, &*p), open::faces::<T, 1>(c), T::faces_x(c));
                sweep!(run, &*vy, (&mut *vy, &*p), open::faces::<T, 0>(c), T::faces_y(c));
                vx.fill_ghosts()?;
                vy.fill_ghosts()?;
                sweep!(run, &*p, (&mut *p, &*vy, &*vx), open::pressure::<T>(c), T::pressure(c));
            }
            Fields::Life([u, next]) => {
                u.fill_ghosts()?;
                sweep!(run, &*u, (&mut *next, &*u), open::life::<T>(), T::life());
                std::mem::swap(u, next);
            }
            Fields::React([[u, v], [next_u, next_v]]) => {
                let (spread, feed, kill) = ([lit!(T, 0.16), lit!(T, 0.08)], lit!(T, 0.035), lit!(T, 0.065));
                fill_ghosts((&mut *u, &mut *v))?;
                let (open, written) = (open::react::<T>(spread, feed, kill), T::react(spread, feed, kill));
                sweep!(run, &*u, (&mut *next_u, &mut *next_v, &*u, &*v), open, written);
                std::mem::swap(u, next_u);
                std::mem::swap(v, next_v);
            }
            Fields::Flow([next, [h, qy, qx]]) => {
                let (gravity, ratio) = (lit!(T, 9.81), lit!(T, 0.05));
                fill_ghosts((&mut *h, &mut *qy, &mut *qx))?;
                let (open, written) = (open::flow::<T>(gravity, ratio), T::flow(gravity, ratio));
                let [next_h, next_qy, next_qx] = next;
                sweep!(run, &*h, (&mut *next_h, &mut *next_qy, &mut *next_qx, &*h, &*qy, &*qx), open, written);
                std::mem::swap(h, next_h);
                std::mem::swap(qy, next_qy);
                std::mem::swap(qx, next_qx);
            }
            Fields::Lattice(both) => {
                let [f, next] = &mut **both;
                let omega = lit!(T, 1.25);
                f.fill_ghosts()?;
                sweep!(run, &*f, (&mut *next, &*f), open::lattice::<T>(omega), T::lattice(omega));
                std::mem::swap(f, next);
            }
        }
        Ok(())
    }

    /// The bits of all cells. Waits for the steps.
    ///
    /// # Errors
    /// As those of reading.
    pub fn bits(&self) -> Result<Vec<u64>> {
        fn of<T: Real, const D: usize>(arrays: &[TileArray<T, D>]) -> Result<Vec<u64>> {
            let cells = arrays.iter().map(|u| u.read_box(u.domain())).collect::<Result<Vec<_>>>()?;
            Ok(cells.into_iter().flatten().map(|x| x.to_f64().to_bits()).collect())
        }
        match &self.fields {
            Fields::Heat([u, _]) => of(std::slice::from_ref(u)),
            Fields::Wave(fields) => of(fields),
            Fields::Life([u, _]) => of(std::slice::from_ref(u)),
            Fields::React([fields, _]) => of(fields),
            Fields::Flow([_, fields]) => of(fields),
            Fields::Lattice(both) => {
                let cells = both[0].read_box(both[0].domain())?;
                Ok(cells.into_iter().flatten().map(|x| x.to_f64().to_bits()).collect())
            }
        }
    }
}
