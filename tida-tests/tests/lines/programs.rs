//! Programs of sweeps with an order, each for tida and as plain loops.

use tida::prelude::*;
use tida_tests::value;

/// Cells of arrays of three axes.
pub const SHAPE: [usize; 3] = [24, 6, 200];

/// How a program is run.
#[derive(Clone, Copy, Debug)]
pub struct How {
    pub regions: [usize; 3],
    /// Where, if not where the accelerator says.
    pub on: Option<Device>,
    /// Cells of a tile, which do not matter.
    pub tile: Option<[usize; 3]>,
}

/// A program: what it leaves in all cells.
pub struct Program {
    pub name: &'static str,
    pub run: fn(&TileAcc, How) -> Vec<u64>,
    pub plain: fn() -> Vec<u64>,
    /// Numbers that all of its arrays have in a cell.
    pub numbers: u64,
}

/// Cells of plain loops.
pub struct Grid(Vec<f64>);

impl Grid {
    pub fn new(seed: u64) -> Grid {
        Grid(all().map(|at| first(seed, at)).collect())
    }

    pub fn at(&mut self, at: [i64; 3]) -> &mut f64 {
        &mut self.0[place(at)]
    }

    pub fn get(&self, at: [i64; 3]) -> f64 {
        self.0[place(at)]
    }

    pub fn bits(&self) -> Vec<u64> {
        self.0.iter().map(|x| x.to_bits()).collect()
    }
}

fn place(at: [i64; 3]) -> usize {
    (at[0] as usize * SHAPE[1] + at[1] as usize) * SHAPE[2] + at[2] as usize
}

fn all() -> impl Iterator<Item = [i64; 3]> {
    let [n, m, l] = SHAPE.map(|n| n as i64);
    (0..n).flat_map(move |i| (0..m).flat_map(move |j| (0..l).map(move |k| [i, j, k])))
}

pub fn first(seed: u64, at: [i64; 3]) -> f64 {
    value(seed, at.map(|n| n as usize))
}

/// The cells of a box, in the order of a sweep along an axis.
pub fn lines(axis: usize, backward: bool, [lo, hi]: [[i64; 3]; 2]) -> Vec<[i64; 3]> {
    let mut cells = Vec::new();
    for i in lo[0]..hi[0] {
        for j in lo[1]..hi[1] {
            cells.extend((lo[2]..hi[2]).map(|k| [i, j, k]));
        }
    }
    cells.sort_by_key(|at| if backward { -at[axis] } else { at[axis] });
    cells
}

pub fn back(mut at: [i64; 3], axis: usize, by: i64) -> [i64; 3] {
    at[axis] -= by;
    at
}

/// All cells.
pub fn domain() -> [[i64; 3]; 2] {
    [[0; 3], SHAPE.map(|n| n as i64)]
}

/// All cells but so many at the beginning of each line and at its end.
pub fn between(axis: usize, before: i64, after: i64) -> [[i64; 3]; 2] {
    let [mut lo, mut hi] = domain();
    lo[axis] += before;
    hi[axis] -= after;
    [lo, hi]
}

pub fn array(acc: &TileAcc, how: How, seed: u64) -> TileArray<f64, 3> {
    let mut u = TileArray::<f64, 3>::builder(SHAPE).regions(how.regions).build(acc).unwrap();
    u.fill(|at| value(seed, at)).unwrap();
    u
}

pub fn tiles<T: Element>(u: &TileArray<T, 3>, how: How, [lo, hi]: [[i64; 3]; 2]) -> TileIter<3> {
    let tiles = u.tiles().within(lo, hi);
    let tiles = if let Some(size) = how.tile { tiles.tile_size(size) } else { tiles };
    if let Some(device) = how.on { tiles.device(device) } else { tiles }
}

pub fn bits(u: &TileArray<f64, 3>) -> Vec<u64> {
    u.read_box(u.domain()).unwrap().iter().map(|x| x.to_bits()).collect()
}

/// Sums along an axis, forward, then backward.
fn sums<const AXIS: usize>(acc: &TileAcc, how: How) -> Vec<u64> {
    let mut u = array(acc, how, 1);
    let forward = tiles(&u, how, between(AXIS, 1, 0));
    sweep_along(AXIS, Forward, forward, &mut u, kernel!(|u, at| u[at] += u[at - unit(AXIS)])).unwrap();
    let backward = tiles(&u, how, between(AXIS, 0, 1));
    sweep_along(AXIS, Backward, backward, &mut u, kernel!(|u, at| u[at] = 0.5 * (u[at] - u[at + unit(AXIS)]))).unwrap();
    bits(&u)
}

fn plain_sums<const AXIS: usize>() -> Vec<u64> {
    let mut u = Grid::new(1);
    for at in lines(AXIS, false, between(AXIS, 1, 0)) {
        *u.at(at) += u.get(back(at, AXIS, 1));
    }
    for at in lines(AXIS, true, between(AXIS, 0, 1)) {
        *u.at(at) = 0.5 * (u.get(at) - u.get(back(at, AXIS, -1)));
    }
    u.bits()
}

/// Two cells before, beside another array that is read around the cell; parts of the lines.
fn second<const AXIS: usize>(acc: &TileAcc, how: How) -> Vec<u64> {
    let (mut u, f) = (array(acc, how, 2), array(acc, how, 3));
    for turn in 0..2 {
        let weight = 0.25 + f64::from(turn);
        let part = tiles(&u, how, between(AXIS, 3, 2));
        sweep_along(
            AXIS,
            Forward,
            part,
            (&mut u, &f),
            kernel!(|u, f, at| {
                let mut sum = weight * f[at];
                sum -= 0.25 * u[at - unit(AXIS)];
                sum -= 0.25 * u[at - unit(AXIS) - unit(AXIS)];
                u[at] = sum;
            }),
        )
        .unwrap();
        let part = tiles(&u, how, between(AXIS, 2, 3));
        sweep_along(
            AXIS,
            Backward,
            part,
            (&mut u, &f),
            kernel!(|u, f, at| {
                u[at] = f[at] - 0.5 * u[at + unit(AXIS)] + 0.25 * u[at + unit(AXIS) + unit(AXIS)] * u[at];
            }),
        )
        .unwrap();
    }
    bits(&u)
}

fn plain_second<const AXIS: usize>() -> Vec<u64> {
    let (mut u, f) = (Grid::new(2), Grid::new(3));
    for turn in 0..2 {
        let weight = 0.25 + f64::from(turn);
        for at in lines(AXIS, false, between(AXIS, 3, 2)) {
            let mut sum = weight * f.get(at);
            for k in 1..=2 {
                sum -= 0.25 * u.get(back(at, AXIS, k));
            }
            *u.at(at) = sum;
        }
        for at in lines(AXIS, true, between(AXIS, 2, 3)) {
            let (one, two) = (u.get(back(at, AXIS, -1)), u.get(back(at, AXIS, -2)));
            *u.at(at) = f.get(at) - 0.5 * one + 0.25 * two * u.get(at);
        }
    }
    u.bits()
}

/// Thomas: all tridiagonal systems along an axis. Two arrays are written; the first cell asks where it is.
fn thomas<const AXIS: usize>(acc: &TileAcc, how: How) -> Vec<u64> {
    let (a, b, mut c, mut d) = (array(acc, how, 4), array(acc, how, 5), array(acc, how, 6), array(acc, how, 7));
    let all = tiles(&d, how, domain());
    sweep_along(
        AXIS,
        Forward,
        all,
        (&mut c, &mut d, &a, &b),
        kernel!(|c, d, a, b, at| {
            if at[AXIS] == 0 {
                c[at] /= b[at] + 3.0;
                d[at] /= b[at] + 3.0;
            } else {
                let scale = 1.0 / (b[at] + 3.0 - a[at] * c[at - unit(AXIS)]);
                c[at] *= scale;
                d[at] = scale * (d[at] - a[at] * d[at - unit(AXIS)]);
            }
        }),
    )
    .unwrap();
    let rest = tiles(&d, how, between(AXIS, 0, 1));
    sweep_along(AXIS, Backward, rest, (&mut d, &c), kernel!(|d, c, at| d[at] -= c[at] * d[at + unit(AXIS)])).unwrap();
    bits(&d)
}

fn plain_thomas<const AXIS: usize>() -> Vec<u64> {
    let (a, b, mut c, mut d) = (Grid::new(4), Grid::new(5), Grid::new(6), Grid::new(7));
    for at in lines(AXIS, false, domain()) {
        if at[AXIS] == 0 {
            *c.at(at) /= b.get(at) + 3.0;
            *d.at(at) /= b.get(at) + 3.0;
        } else {
            let scale = 1.0 / (b.get(at) + 3.0 - a.get(at) * c.get(back(at, AXIS, 1)));
            *c.at(at) *= scale;
            *d.at(at) = scale * (d.get(at) - a.get(at) * d.get(back(at, AXIS, 1)));
        }
    }
    for at in lines(AXIS, true, between(AXIS, 0, 1)) {
        *d.at(at) -= c.get(at) * d.get(back(at, AXIS, -1));
    }
    d.bits()
}

/// Elements of three numbers: more stores and reads than the compiler compares addresses of.
fn elements<const AXIS: usize>(acc: &TileAcc, how: How) -> Vec<u64> {
    let mut u = TileArray::<[f64; 12], 3>::builder(SHAPE).regions(how.regions).build(acc).unwrap();
    u.fill(|at| std::array::from_fn(|n| value(8 + n as u64, at))).unwrap();
    let part = tiles(&u, how, between(AXIS, 1, 0));
    sweep_along(
        AXIS,
        Forward,
        part,
        &mut u,
        kernel!(|u, at| {
            let (mut here, before) = (u[at], u[at - unit(AXIS)]);
            for n in 0..12usize {
                here[n] = 0.5 * here[n] + before[(n + 1) % 12];
            }
            u[at] = here;
        }),
    )
    .unwrap();
    let part = tiles(&u, how, between(AXIS, 0, 1));
    sweep_along(
        AXIS,
        Backward,
        part,
        &mut u,
        kernel!(|u, at| {
            let after = u[at + unit(AXIS)];
            u[at][3] -= 0.25 * after[2];
            u[at][0] += u[at][3];
        }),
    )
    .unwrap();
    u.read_box(u.domain()).unwrap().iter().flatten().map(|x| x.to_bits()).collect()
}

fn plain_elements<const AXIS: usize>() -> Vec<u64> {
    let mut u: Vec<[f64; 12]> = all().map(|at| std::array::from_fn(|n| first(8 + n as u64, at))).collect();
    for at in lines(AXIS, false, between(AXIS, 1, 0)) {
        let before = u[place(back(at, AXIS, 1))];
        let here = &mut u[place(at)];
        for n in 0..12 {
            here[n] = 0.5 * here[n] + before[(n + 1) % 12];
        }
    }
    for at in lines(AXIS, true, between(AXIS, 0, 1)) {
        let after = u[place(back(at, AXIS, -1))];
        let here = &mut u[place(at)];
        here[3] -= 0.25 * after[2];
        here[0] += here[3];
    }
    u.iter().flatten().map(|x| x.to_bits()).collect()
}

/// What runs before and after a sweep with an order, and what it reads beside: stencils between sweeps along all axes.
fn between_stencils(acc: &TileAcc, how: How) -> Vec<u64> {
    let build = |seed| {
        let builder = TileArray::<f64, 3>::builder(SHAPE).regions(how.regions).ghost(1);
        let mut u = builder.boundary(Boundary::Fixed(0.5)).build(acc).unwrap();
        u.fill(|at| value(seed, at)).unwrap();
        u
    };
    let (mut u, mut next) = (build(30), build(31));
    for _ in 0..3 {
        u.fill_ghosts().unwrap();
        for tile in tiles(&u, how, domain()) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    next[at] = 0.25 * (u[at - [1, 0, 0]] + u[at + [0, 1, 0]] + u[at - [0, 0, 1]] + u[at]);
                }),
            )
            .unwrap();
        }
        // The ghost before the first cell is read.
        next.fill_ghosts().unwrap();
        let all = tiles(&next, how, domain());
        sweep_along(
            0,
            Forward,
            all,
            (&mut next, &u),
            kernel!(|next, u, at| {
                next[at] = 0.5 * (next[at] + next[at - [1, 0, 0]]) + 0.125 * u[at + [0, 0, 1]];
            }),
        )
        .unwrap();
        let all = tiles(&next, how, between(2, 0, 1));
        sweep_along(2, Backward, all, &mut next, kernel!(|n, at| n[at] = 0.75 * n[at] + 0.25 * n[at + [0, 0, 1]]))
            .unwrap();
        std::mem::swap(&mut u, &mut next);
    }
    bits(&u)
}

fn plain_between_stencils() -> Vec<u64> {
    let (mut u, mut next) = (Grid::new(30), Grid::new(31));
    let read = |u: &Grid, at: [i64; 3]| {
        let inside = |d: usize| 0 <= at[d] && at[d] < SHAPE[d] as i64;
        let inside = inside(0) && inside(1) && inside(2);
        if inside { u.get(at) } else { 0.5 }
    };
    for _ in 0..3 {
        for at in lines(0, false, domain()) {
            let [i, j, k] = at;
            let sum = read(&u, [i - 1, j, k]) + read(&u, [i, j + 1, k]) + read(&u, [i, j, k - 1]) + u.get(at);
            *next.at(at) = 0.25 * sum;
        }
        for at in lines(0, false, domain()) {
            let beside = 0.125 * read(&u, back(at, 2, -1));
            *next.at(at) = 0.5 * (next.get(at) + read(&next, back(at, 0, 1))) + beside;
        }
        for at in lines(2, true, between(2, 0, 1)) {
            *next.at(at) = 0.75 * next.get(at) + 0.25 * next.get(back(at, 2, -1));
        }
        std::mem::swap(&mut u, &mut next);
    }
    u.bits()
}

macro_rules! programs {
    ($($run:ident $plain:ident $numbers:literal: $($name:literal $axis:literal),*;)*) => {
        &[$($(Program { name: $name, run: $run::<$axis>, plain: $plain::<$axis>, numbers: $numbers },)*)*]
    };
}

pub const ALONG: &[Program] = programs! {
    sums plain_sums 1: "sums 0" 0, "sums 1" 1, "sums 2" 2;
    second plain_second 2: "second 0" 0, "second 1" 1, "second 2" 2;
    thomas plain_thomas 4: "thomas 0" 0, "thomas 1" 1, "thomas 2" 2;
    elements plain_elements 12: "elements 0" 0, "elements 1" 1, "elements 2" 2;
};

pub const BESIDE: Program =
    Program { name: "between stencils", run: between_stencils, plain: plain_between_stencils, numbers: 3 };
