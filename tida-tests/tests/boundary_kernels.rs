//! Boundaries that kernels set, reading cells inwards: on every road they have the bits of plain loops.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one, and a simulated one.

use std::mem::swap;

use tida::prelude::*;
use tida::{SimDevice, TileAccBuilder};
use tida_tests::{expect, on_a_device, on_cpu, value};

const ROWS: usize = 60;
const COLUMNS: usize = 256;
const N: [i64; 2] = [ROWS as i64, COLUMNS as i64];
const STEPS: usize = 6;

/// A program: on an accelerator, with regions and where its loops run; and by plain loops.
struct Program {
    name: &'static str,
    run: fn(&TileAcc, [usize; 2], Option<Device>) -> Vec<f64>,
    plain: fn() -> Vec<f64>,
    /// Values of an element.
    components: usize,
}

const PROGRAMS: [Program; 7] = [
    Program { name: "Robin", run: robin, plain: plain_robin, components: 1 },
    Program { name: "inflow that changes", run: inflow, plain: plain_inflow, components: 1 },
    Program { name: "moving lid", run: lid, plain: plain_lid, components: 2 },
    Program { name: "Zou-He", run: zou_he, plain: plain_zou_he, components: 9 },
    Program { name: "sponge", run: sponge, plain: plain_sponge, components: 1 },
    Program { name: "outflow", run: outflow, plain: plain_outflow, components: 2 },
    Program { name: "along the face", run: along, plain: plain_along, components: 1 },
];

/// The tiles of a loop.
fn tiles<T: Element>(u: &TileArray<T, 2>, on: Option<Device>) -> TileIter<2> {
    match on {
        Some(device) => TileIter::new(u).device(device),
        None => TileIter::new(u),
    }
}

fn cells() -> impl Iterator<Item = [i64; 2]> {
    (0..N[0]).flat_map(|row| (0..N[1]).map(move |column| [row, column]))
}

/// An array with ghosts, for plain loops.
#[derive(Clone)]
struct Plain<const C: usize> {
    ghost: i64,
    values: Vec<[f64; C]>,
}

impl<const C: usize> Plain<C> {
    fn new(ghost: i64) -> Self {
        let mut made = Plain { ghost, values: vec![[0.0; C]; ((N[0] + 2 * ghost) * (N[1] + 2 * ghost)) as usize] };
        cells().for_each(|at| *made.at(at) = first(at));
        made
    }

    fn place(&self, at: [i64; 2]) -> usize {
        ((at[0] + self.ghost) * (N[1] + 2 * self.ghost) + at[1] + self.ghost) as usize
    }

    fn at(&mut self, at: [i64; 2]) -> &mut [f64; C] {
        let place = self.place(at);
        &mut self.values[place]
    }

    fn get(&self, at: [i64; 2]) -> [f64; C] {
        self.values[self.place(at)]
    }

    /// Sets the ghosts beyond a face, those beyond later axes too: `f(self, ghost, cells outwards of the face)`.
    fn face(&mut self, axis: usize, side: usize, f: impl Fn(&Self, [i64; 2], i64) -> [f64; C]) {
        let along = if axis == 1 { 0..N[0] } else { -self.ghost..N[1] + self.ghost };
        for n in along {
            for layer in 1..=self.ghost {
                let across = if side == 0 { -layer } else { N[axis] - 1 + layer };
                let at = if axis == 1 { [n, across] } else { [across, n] };
                *self.at(at) = f(self, at, layer);
            }
        }
    }

    fn all(&self) -> Vec<f64> {
        cells().flat_map(|at| self.get(at)).collect()
    }
}

/// The values that programs start with.
fn first<const C: usize>(at: [i64; 2]) -> [f64; C] {
    std::array::from_fn(|n| value(n as u64, [at[0] as usize, at[1] as usize, 0]))
}

fn flat<const C: usize>(u: &TileArray<[f64; C], 2>) -> Vec<f64> {
    u.read_box(u.domain()).unwrap().into_iter().flatten().collect()
}

/// All four faces, the last axis first; corners by what is beyond the first axis.
fn robin(acc: &TileAcc, regions: [usize; 2], on: Option<Device>) -> Vec<f64> {
    robin_in(Format::Raw, acc, regions, on)
}

fn robin_in(format: Format, acc: &TileAcc, regions: [usize; 2], on: Option<Device>) -> Vec<f64> {
    let builder = TileArray::<f64, 2>::builder([ROWS, COLUMNS]).regions(regions).ghost(1).storage(format);
    let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    u.fill(|at| first::<1>(at.map(|n| n as i64))[0]).unwrap();
    let (spacing, rate, outside) = (0.5, 0.75, 2.0);
    for _ in 0..STEPS {
        u.fill_ghosts().unwrap();
        fill_ghosts_with(
            (1, Side::Low),
            &mut u,
            kernel!(|u, at| {
                let inside = u[at + [0, 1]];
                u[at] = inside + spacing * rate * (outside - inside);
            }),
        )
        .unwrap();
        fill_ghosts_with((1, Side::High), &mut u, kernel!(|u, at| u[at] = outside - 0.5 * u[at - [0, 1]])).unwrap();
        fill_ghosts_with((0, Side::Low), &mut u, kernel!(|u, at| u[at] = rate * u[at + [1, 0]] + 0.25)).unwrap();
        fill_ghosts_with((0, Side::High), &mut u, kernel!(|u, at| u[at] = rate * u[at - [1, 0]] - 0.25)).unwrap();
        nine(&mut next, &u, on);
        swap(&mut u, &mut next);
    }
    u.read_box(u.domain()).unwrap()
}

/// A step that reads from all sides, corners too.
fn nine(next: &mut TileArray<f64, 2>, u: &TileArray<f64, 2>, on: Option<Device>) {
    for tile in tiles(u, on) {
        compute(
            &tile,
            (&mut *next, u),
            kernel!(|next, u, at| {
                let mut sum = 0.0;
                for i in -1..2 {
                    for j in -1..2 {
                        sum += u[at + [i, j]];
                    }
                }
                next[at] = sum / 9.0;
            }),
        )
        .unwrap();
    }
}

fn plain_nine(u: &Plain<1>) -> Plain<1> {
    let mut next = u.clone();
    for [row, column] in cells() {
        let mut sum = 0.0;
        for i in -1..2 {
            for j in -1..2 {
                sum += u.get([row + i, column + j])[0];
            }
        }
        *next.at([row, column]) = [sum / 9.0];
    }
    next
}

fn plain_robin() -> Vec<f64> {
    plain_robin_in(|x| x)
}

/// The same where values are rounded as they are stored.
fn plain_robin_in(round: fn(f64) -> f64) -> Vec<f64> {
    let mut u = Plain::<1>::new(1);
    u.values.iter_mut().for_each(|x| *x = x.map(round));
    let (spacing, rate, outside) = (0.5, 0.75, 2.0);
    for _ in 0..STEPS {
        u.face(1, 0, |u, at, _| {
            let inside = u.get([at[0], at[1] + 1])[0];
            [round(inside + spacing * rate * (outside - inside))]
        });
        u.face(1, 1, |u, at, _| [round(outside - 0.5 * u.get([at[0], at[1] - 1])[0])]);
        u.face(0, 0, |u, at, _| [round(rate * u.get([at[0] + 1, at[1]])[0] + 0.25)]);
        u.face(0, 1, |u, at, _| [round(rate * u.get([at[0] - 1, at[1]])[0] - 0.25)]);
        u = plain_nine(&u);
        u.values.iter_mut().for_each(|x| *x = x.map(round));
    }
    u.all()
}

/// A captured time and a profile, beside a periodic axis that comes before: its corners take these ghosts in.
fn inflow(acc: &TileAcc, regions: [usize; 2], on: Option<Device>) -> Vec<f64> {
    let builder = TileArray::<f64, 2>::builder([ROWS, COLUMNS]).regions(regions).ghost(1);
    let builder = builder.boundary_axis(0, Boundary::Periodic);
    let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    u.fill(|at| first::<1>(at.map(|n| n as i64))[0]).unwrap();
    let profile = profile();
    for step in 0..STEPS {
        let time = 0.1 * step as f64;
        u.fill_ghosts().unwrap();
        fill_ghosts_with(
            (1, Side::Low),
            (&mut u, table(&profile)),
            kernel!(|u, profile, at| u[at] = 2.0 * time * profile[at[0] as usize] - u[at + [0, 1]]),
        )
        .unwrap();
        fill_ghosts_with((1, Side::High), &mut u, kernel!(|u, at| u[at] = u[at - [0, 1]] - time)).unwrap();
        nine(&mut next, &u, on);
        swap(&mut u, &mut next);
    }
    u.read_box(u.domain()).unwrap()
}

fn profile() -> Vec<f64> {
    (0..ROWS).map(|row| row as f64 * (ROWS - row) as f64 / 100.0).collect()
}

fn plain_inflow() -> Vec<f64> {
    let mut u = Plain::<1>::new(1);
    let profile = profile();
    for step in 0..STEPS {
        let time = 0.1 * step as f64;
        u.face(1, 0, |u, at, _| [2.0 * time * profile[at[0] as usize] - u.get([at[0], at[1] + 1])[0]]);
        u.face(1, 1, |u, at, _| [u.get([at[0], at[1] - 1])[0] - time]);
        u.face(0, 0, |u, at, _| u.get([at[0] + N[0], at[1]]));
        u.face(0, 1, |u, at, _| u.get([at[0] - N[0], at[1]]));
        u = plain_nine(&u);
    }
    u.all()
}

/// Walls by boundaries of components, and a lid that moves by a kernel.
fn lid(acc: &TileAcc, regions: [usize; 2], on: Option<Device>) -> Vec<f64> {
    let builder = TileArray::<[f64; 2], 2>::builder([ROWS, COLUMNS]).regions(regions).ghost(1);
    let builder = builder.boundary(Boundary::ReflectOdd).boundary_face(0, Side::High, Boundary::Open);
    let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    u.fill(|at| first(at.map(|n| n as i64))).unwrap();
    let speed = 1.5;
    for _ in 0..STEPS {
        u.fill_ghosts().unwrap();
        fill_ghosts_with(
            (0, Side::High),
            &mut u,
            kernel!(|u, at| {
                let below = u[at - [1, 0]];
                u[at][0] = -below[0];
                u[at][1] = 2.0 * speed - below[1];
            }),
        )
        .unwrap();
        two(&mut next, &u, on);
        swap(&mut u, &mut next);
    }
    flat(&u)
}

/// A step of two components that reads corners too.
fn two(next: &mut TileArray<[f64; 2], 2>, u: &TileArray<[f64; 2], 2>, on: Option<Device>) {
    for tile in tiles(u, on) {
        compute(
            &tile,
            (&mut *next, u),
            kernel!(|next, u, at| {
                next[at][0] = 0.25 * (u[at + [1, 1]][0] + u[at - [1, 1]][1] + u[at + [0, 1]][0] + u[at][1]);
                next[at][1] = 0.25 * (u[at + [1, -1]][1] + u[at + [-1, 1]][0] + u[at + [1, 0]][1] - u[at][0]);
            }),
        )
        .unwrap();
    }
}

fn plain_two(u: &Plain<2>) -> Plain<2> {
    let mut next = u.clone();
    for [row, column] in cells() {
        let read = |i: i64, j: i64| u.get([row + i, column + j]);
        *next.at([row, column]) = [
            0.25 * (read(1, 1)[0] + read(-1, -1)[1] + read(0, 1)[0] + read(0, 0)[1]),
            0.25 * (read(1, -1)[1] + read(-1, 1)[0] + read(1, 0)[1] - read(0, 0)[0]),
        ];
    }
    next
}

fn plain_lid() -> Vec<f64> {
    let mut u = Plain::<2>::new(1);
    let speed = 1.5;
    for _ in 0..STEPS {
        u.face(1, 0, |u, at, _| u.get([at[0], 0]).map(|x| -x));
        u.face(1, 1, |u, at, _| u.get([at[0], N[1] - 1]).map(|x| -x));
        u.face(0, 0, |u, at, _| u.get([0, at[1]]).map(|x| -x));
        u.face(0, 1, |u, at, _| {
            let below = u.get([at[0] - 1, at[1]]);
            [-below[0], 2.0 * speed - below[1]]
        });
        u = plain_two(&u);
    }
    u.all()
}

/// Directions of D2Q9 along both axes, and the opposite ones.
const WAYS: [[i64; 2]; 9] = [[0, 0], [0, 1], [1, 0], [0, -1], [-1, 0], [1, 1], [1, -1], [-1, -1], [-1, 1]];
const WEIGHTS: [f64; 9] =
    [4.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0];

/// Lattice Boltzmann (D2Q9): an inlet of given speed and an outlet of given density by Zou and He, of which the
/// ghosts hold what flows in; walls by bouncing back.
fn zou_he(acc: &TileAcc, regions: [usize; 2], on: Option<Device>) -> Vec<f64> {
    let builder = TileArray::<[f64; 9], 2>::builder([ROWS, COLUMNS]).regions(regions).ghost(1);
    let (mut f, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    f.fill(|at| first(at.map(|n| n as i64))).unwrap();
    let speed = 0.05;
    for _ in 0..STEPS {
        f.fill_ghosts().unwrap();
        fill_ghosts_with(
            (1, Side::Low),
            &mut f,
            kernel!(|f, at| {
                let g = f[at + [0, 1]];
                let density = (g[0] + g[2] + g[4] + 2.0 * (g[3] + g[6] + g[7])) / (1.0 - speed);
                f[at] = g;
                f[at][1] = g[3] + 2.0 / 3.0 * density * speed;
                f[at][5] = g[7] - 0.5 * (g[2] - g[4]) + density * speed / 6.0;
                f[at][8] = g[6] + 0.5 * (g[2] - g[4]) + density * speed / 6.0;
            }),
        )
        .unwrap();
        fill_ghosts_with(
            (1, Side::High),
            &mut f,
            kernel!(|f, at| {
                let g = f[at - [0, 1]];
                let out = g[0] + g[2] + g[4] + 2.0 * (g[1] + g[5] + g[8]) - 1.0;
                f[at] = g;
                f[at][3] = g[1] - 2.0 / 3.0 * out;
                f[at][7] = g[5] + 0.5 * (g[2] - g[4]) - out / 6.0;
                f[at][6] = g[8] - 0.5 * (g[2] - g[4]) - out / 6.0;
            }),
        )
        .unwrap();
        fill_ghosts_with(
            (0, Side::Low),
            &mut f,
            kernel!(|f, at| {
                let g = f[at + [1, 0]];
                f[at] = [g[0], g[1], g[4], g[3], g[2], g[7], g[8], g[5], g[6]];
            }),
        )
        .unwrap();
        fill_ghosts_with(
            (0, Side::High),
            &mut f,
            kernel!(|f, at| {
                let g = f[at - [1, 0]];
                f[at] = [g[0], g[1], g[4], g[3], g[2], g[7], g[8], g[5], g[6]];
            }),
        )
        .unwrap();
        for tile in tiles(&f, on) {
            compute(
                &tile,
                (&mut next, &f),
                kernel!(|next, f, at| {
                    let mut density = 0.0;
                    let mut flow = [0.0; 2];
                    for n in 0..9 {
                        let came = f[at - WAYS[n]][n];
                        density += came;
                        flow[0] += came * WAYS[n][0] as f64;
                        flow[1] += came * WAYS[n][1] as f64;
                    }
                    for n in 0..9 {
                        let along = 3.0 * (flow[0] * WAYS[n][0] as f64 + flow[1] * WAYS[n][1] as f64);
                        next[at][n] = 0.4 * f[at - WAYS[n]][n] + 0.6 * WEIGHTS[n] * (density + along);
                    }
                }),
            )
            .unwrap();
        }
        swap(&mut f, &mut next);
    }
    flat(&f)
}

fn plain_zou_he() -> Vec<f64> {
    let mut f = Plain::<9>::new(1);
    let speed = 0.05;
    let bounce = |g: [f64; 9]| [g[0], g[1], g[4], g[3], g[2], g[7], g[8], g[5], g[6]];
    for _ in 0..STEPS {
        f.face(1, 0, |f, at, _| {
            let g = f.get([at[0], at[1] + 1]);
            let density = (g[0] + g[2] + g[4] + 2.0 * (g[3] + g[6] + g[7])) / (1.0 - speed);
            let mut ghost = g;
            ghost[1] = g[3] + 2.0 / 3.0 * density * speed;
            ghost[5] = g[7] - 0.5 * (g[2] - g[4]) + density * speed / 6.0;
            ghost[8] = g[6] + 0.5 * (g[2] - g[4]) + density * speed / 6.0;
            ghost
        });
        f.face(1, 1, |f, at, _| {
            let g = f.get([at[0], at[1] - 1]);
            let out = g[0] + g[2] + g[4] + 2.0 * (g[1] + g[5] + g[8]) - 1.0;
            let mut ghost = g;
            ghost[3] = g[1] - 2.0 / 3.0 * out;
            ghost[7] = g[5] + 0.5 * (g[2] - g[4]) - out / 6.0;
            ghost[6] = g[8] - 0.5 * (g[2] - g[4]) - out / 6.0;
            ghost
        });
        f.face(0, 0, |f, at, _| bounce(f.get([at[0] + 1, at[1]])));
        f.face(0, 1, |f, at, _| bounce(f.get([at[0] - 1, at[1]])));
        let mut next = f.clone();
        for at in cells() {
            let came = |n: usize| f.get([at[0] - WAYS[n][0], at[1] - WAYS[n][1]])[n];
            let (mut density, mut flow) = (0.0, [0.0; 2]);
            for n in 0..9 {
                density += came(n);
                flow[0] += came(n) * WAYS[n][0] as f64;
                flow[1] += came(n) * WAYS[n][1] as f64;
            }
            for n in 0..9 {
                let along = 3.0 * (flow[0] * WAYS[n][0] as f64 + flow[1] * WAYS[n][1] as f64);
                next.at(at)[n] = 0.4 * came(n) + 0.6 * WEIGHTS[n] * (density + along);
            }
        }
        swap(&mut f, &mut next);
    }
    f.all()
}

/// Two layers of ghosts that mirror cells, the weaker the further out, beyond all faces.
fn sponge(acc: &TileAcc, regions: [usize; 2], on: Option<Device>) -> Vec<f64> {
    let builder = TileArray::<f64, 2>::builder([ROWS, COLUMNS]).regions(regions).ghost(2);
    let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    u.fill(|at| first::<1>(at.map(|n| n as i64))[0]).unwrap();
    let [rows, columns] = N;
    let rest = 0.75;
    for _ in 0..STEPS {
        u.fill_ghosts().unwrap();
        fill_ghosts_with(
            (1, Side::Low),
            &mut u,
            kernel!(|u, at| {
                let [row, column] = at;
                u[at] = rest + (u[[row, -1 - column]] - rest) / (1 - column) as f64;
            }),
        )
        .unwrap();
        fill_ghosts_with(
            (1, Side::High),
            &mut u,
            kernel!(|u, at| {
                let [row, column] = at;
                u[at] = rest + (u[[row, 2 * columns - 1 - column]] - rest) / (column - columns + 2) as f64;
            }),
        )
        .unwrap();
        fill_ghosts_with(
            (0, Side::Low),
            &mut u,
            kernel!(|u, at| {
                let [row, column] = at;
                u[at] = rest + (u[[-1 - row, column]] - rest) / (1 - row) as f64;
            }),
        )
        .unwrap();
        fill_ghosts_with(
            (0, Side::High),
            &mut u,
            kernel!(|u, at| {
                let [row, column] = at;
                u[at] = rest + (u[[2 * rows - 1 - row, column]] - rest) / (row - rows + 2) as f64;
            }),
        )
        .unwrap();
        wide(&mut next, &u, on);
        swap(&mut u, &mut next);
    }
    u.read_box(u.domain()).unwrap()
}

/// A step that reads two cells far.
fn wide(next: &mut TileArray<f64, 2>, u: &TileArray<f64, 2>, on: Option<Device>) {
    for tile in tiles(u, on) {
        compute(
            &tile,
            (&mut *next, u),
            kernel!(|next, u, at| {
                next[at] = 0.2 * (u[at + [2, 2]] + u[at - [2, 1]] + u[at + [0, -2]] + u[at + [1, -1]] + u[at]);
            }),
        )
        .unwrap();
    }
}

fn plain_sponge() -> Vec<f64> {
    let mut u = Plain::<1>::new(2);
    let rest = 0.75;
    let weak = |x: [f64; 1], layer: i64| [rest + (x[0] - rest) / (layer + 1) as f64];
    for _ in 0..STEPS {
        u.face(1, 0, |u, at, layer| weak(u.get([at[0], layer - 1]), layer));
        u.face(1, 1, |u, at, layer| weak(u.get([at[0], N[1] - layer]), layer));
        u.face(0, 0, |u, at, layer| weak(u.get([layer - 1, at[1]]), layer));
        u.face(0, 1, |u, at, layer| weak(u.get([N[0] - layer, at[1]]), layer));
        let mut next = u.clone();
        for at in cells() {
            let read = |i: i64, j: i64| u.get([at[0] + i, at[1] + j])[0];
            *next.at(at) = [0.2 * (read(2, 2) + read(-2, -1) + read(0, -2) + read(1, -1) + read(0, 0))];
        }
        u = next;
    }
    u.all()
}

/// Waves that leave: each component by its own speed, from two cells inwards; fixed values beyond the other faces.
fn outflow(acc: &TileAcc, regions: [usize; 2], on: Option<Device>) -> Vec<f64> {
    let builder = TileArray::<[f64; 2], 2>::builder([ROWS, COLUMNS]).regions(regions).ghost(1);
    let fixed = builder.boundary(Boundary::Fixed([0.5, 1.5]));
    let builder = fixed.boundary_face(1, Side::High, Boundary::Open).boundary_face(0, Side::Low, Boundary::Open);
    let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    u.fill(|at| first(at.map(|n| n as i64))).unwrap();
    for step in 0..STEPS {
        let courant = 0.5 + 0.05 * step as f64;
        u.fill_ghosts().unwrap();
        fill_ghosts_with(
            (1, Side::High),
            &mut u,
            kernel!(|u, at| {
                for n in 0..2 {
                    let (near, far) = (u[at - [0, 1]][n], u[at - [0, 2]][n]);
                    u[at][n] = near - courant / (n + 1) as f64 * (near - far);
                }
            }),
        )
        .unwrap();
        fill_ghosts_with(
            (0, Side::Low),
            &mut u,
            kernel!(|u, at| {
                for n in 0..2 {
                    let (near, far) = (u[at + [1, 0]][n], u[at + [2, 0]][n]);
                    u[at][n] = near - courant / (n + 1) as f64 * (near - far);
                }
            }),
        )
        .unwrap();
        two(&mut next, &u, on);
        swap(&mut u, &mut next);
    }
    flat(&u)
}

fn plain_outflow() -> Vec<f64> {
    let mut u = Plain::<2>::new(1);
    for step in 0..STEPS {
        let courant = 0.5 + 0.05 * step as f64;
        let leave = |near: [f64; 2], far: [f64; 2]| {
            std::array::from_fn(|n| near[n] - courant / (n + 1) as f64 * (near[n] - far[n]))
        };
        u.face(1, 0, |_, _, _| [0.5, 1.5]);
        u.face(1, 1, |u, at, _| leave(u.get([at[0], at[1] - 1]), u.get([at[0], at[1] - 2])));
        u.face(0, 0, |u, at, _| leave(u.get([at[0] + 1, at[1]]), u.get([at[0] + 2, at[1]])));
        u.face(0, 1, |_, _, _| [0.5, 1.5]);
        u = plain_two(&u);
    }
    u.all()
}

/// A kernel that reads along its face, as far as there are cells.
fn along(acc: &TileAcc, regions: [usize; 2], on: Option<Device>) -> Vec<f64> {
    let builder = TileArray::<f64, 2>::builder([ROWS, COLUMNS]).regions(regions).ghost(1);
    let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    u.fill(|at| first::<1>(at.map(|n| n as i64))[0]).unwrap();
    let [rows, columns] = N;
    for _ in 0..STEPS {
        u.fill_ghosts().unwrap();
        for (side, inwards) in [(Side::Low, 1i64), (Side::High, -1)] {
            fill_ghosts_with(
                (1, side),
                &mut u,
                kernel!(|u, at| {
                    let [row, column] = at;
                    let (above, below) = ((row - 1).max(0), (row + 1).min(rows - 1));
                    u[at] = u[[above, column + inwards]] - 0.5 * u[[below, column + inwards]];
                }),
            )
            .unwrap();
        }
        for (side, inwards) in [(Side::Low, 1i64), (Side::High, -1)] {
            fill_ghosts_with(
                (0, side),
                &mut u,
                kernel!(|u, at| {
                    let [row, column] = at;
                    let (left, right) = ((column - 1).max(-1), (column + 1).min(columns));
                    u[at] = 0.5 * u[[row + inwards, left]] - u[[row + inwards, right]];
                }),
            )
            .unwrap();
        }
        nine(&mut next, &u, on);
        swap(&mut u, &mut next);
    }
    u.read_box(u.domain()).unwrap()
}

fn plain_along() -> Vec<f64> {
    let mut u = Plain::<1>::new(1);
    for _ in 0..STEPS {
        for (side, inwards) in [(0, 1), (1, -1)] {
            u.face(1, side, |u, [row, column], _| {
                let read = |row: i64| u.get([row.clamp(0, N[0] - 1), column + inwards])[0];
                [read(row - 1) - 0.5 * read(row + 1)]
            });
        }
        for (side, inwards) in [(0, 1), (1, -1)] {
            u.face(0, side, |u, [row, column], _| {
                let read = |column: i64| u.get([row + inwards, column.clamp(-1, N[1])])[0];
                [0.5 * read(column - 1) - read(column + 1)]
            });
        }
        u = plain_nine(&u);
    }
    u.all()
}

const CUTS: [[usize; 2]; 4] = [[1, 1], [10, 1], [6, 2], [1, 4]];

/// Bytes of the cells of one array, with one layer of ghosts.
fn bytes(components: usize) -> u64 {
    ((ROWS + 2) * (COLUMNS + 2) * 8 * components) as u64
}

fn same(program: &Program, acc: &TileAcc, on: Option<Device>, cuts: &[[usize; 2]], what: &str) {
    let wanted = (program.plain)();
    for regions in cuts.iter().copied() {
        let found = (program.run)(acc, regions, on);
        let wrong = (0..wanted.len()).find(|n| found[*n].to_bits() != wanted[*n].to_bits());
        let at = wrong.map(|n| {
            let cell = n / program.components;
            ([cell / COLUMNS, cell % COLUMNS], n % program.components, found[n], wanted[n])
        });
        assert_eq!(at, None, "{} {regions:?} {what}", program.name);
    }
}

fn simulated() -> TileAccBuilder {
    TileAcc::builder().threads(2).simulate(SimDevice::new())
}

#[test]
fn on_the_cpu() {
    PROGRAMS.iter().for_each(|program| same(program, &on_cpu(), None, &CUTS, "on the CPU"));
}

#[test]
fn on_a_device_with_room() {
    for program in &PROGRAMS {
        if let Some(acc) = on_a_device(TileAcc::builder()) {
            same(program, &acc, None, &CUTS, "in core");
        }
        same(program, &simulated().build().unwrap(), None, &CUTS, "simulated, in core");
    }
}

#[test]
fn out_of_core() {
    for program in &PROGRAMS {
        // Two arrays: three quarters of their memory, half, and a quarter.
        for quarters in [3, 2, 1] {
            let limit = bytes(program.components) * quarters / 2;
            // Two of four regions are as much as a quarter has. What reads along the first axis, bounded, goes by
            // regions.
            let last = if quarters == 1 { 3 } else { 4 };
            let cuts = &CUTS[usize::from(program.name == "along the face")..last];
            if let Some(acc) = on_a_device(TileAcc::builder().memory_limit(limit)) {
                same(program, &acc, None, cuts, &format!("in {quarters} quarters"));
            }
            let acc = simulated().memory_limit(limit).build().unwrap();
            same(program, &acc, None, cuts, &format!("simulated, in {quarters} quarters"));
        }
    }
}

#[test]
fn on_both_sides() {
    for program in &PROGRAMS {
        for acc in on_a_device(TileAcc::builder()).into_iter().chain([simulated().build().unwrap()]) {
            same(program, &acc, Some(Device::Hybrid), &CUTS[..3], "on both sides");
        }
    }
}

/// Ghosts are rounded as cells are, and what is read inwards is what memory holds.
#[test]
fn in_fewer_bits() {
    let wanted = plain_robin_in(|x| f64::from(x as f32));
    let limits = [u64::MAX, bytes(1) / 2];
    let devices = limits.map(|limit| {
        let there = on_a_device(TileAcc::builder().memory_limit(limit));
        there.into_iter().chain([simulated().memory_limit(limit).build().unwrap()])
    });
    for acc in devices.into_iter().flatten().chain([on_cpu()]) {
        for (regions, on) in [([1, 1], None), ([4, 2], None), ([6, 1], Some(Device::Cpu)), ([6, 1], None)] {
            let found = robin_in(Format::F32, &acc, regions, on);
            let wrong = (0..wanted.len()).find(|n| found[*n].to_bits() != wanted[*n].to_bits());
            assert_eq!(wrong, None, "{regions:?} {on:?} {:?}", acc.device());
        }
    }
}

/// The same steps with fixed values beyond the faces, or periodic along the first axis.
fn fixed(acc: &TileAcc, regions: [usize; 2], ghost: usize, periodic: bool) {
    let builder = TileArray::<f64, 2>::builder([ROWS, COLUMNS]).regions(regions).ghost(ghost);
    let mut builder = builder.boundary(Boundary::Fixed(0.5));
    if periodic {
        builder = builder.boundary_axis(0, Boundary::Periodic);
    }
    let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    u.fill(|at| first::<1>(at.map(|n| n as i64))[0]).unwrap();
    for _ in 0..STEPS {
        u.fill_ghosts().unwrap();
        match ghost {
            1 => nine(&mut next, &u, None),
            _ => wide(&mut next, &u, None),
        }
        swap(&mut u, &mut next);
    }
    u.read_box(u.domain()).unwrap();
}

/// Where fixed values take one pass over the link, such boundaries take no more.
#[test]
fn passes_are_shared() {
    let counted = |run: &dyn Fn(&TileAcc)| {
        let acc = simulated().memory_limit(bytes(1)).look_ahead(1000).build().unwrap();
        run(&acc);
        let stats = acc.stats();
        [stats.passes, stats.h2d_bytes, stats.d2h_bytes]
    };
    for (program, ghost, periodic) in [(0, 1, false), (1, 1, true), (4, 2, false)] {
        let with = counted(&|acc| drop((PROGRAMS[program].run)(acc, [1, 1], None)));
        let without = counted(&|acc| fixed(acc, [1, 1], ghost, periodic));
        assert!(with[0] <= without[0], "{}: {with:?} {without:?}", PROGRAMS[program].name);
        // Ghosts that were set come home.
        let ghosts = 2 * 4 * (ghost * (ROWS + COLUMNS + 2 * ghost)) as u64 * 64;
        assert!(with[1] <= without[1] && with[2] <= without[2] + ghosts, "{with:?} {without:?}");
    }
}

/// A loop may read cells of an array that none of its tiles writes; and loops run as if one after the other.
#[test]
fn loops_that_read_beside_what_they_write() {
    let limited = |builder: TileAccBuilder| builder.memory_limit(bytes(1) / 2);
    let devices = [on_a_device(TileAcc::builder()), on_a_device(limited(TileAcc::builder()))].into_iter().flatten();
    let simulated = [simulated(), limited(simulated())].map(|builder| builder.build().unwrap());
    for acc in devices.chain(simulated).chain([on_cpu()]) {
        for regions in [[1, 1], [6, 1], [4, 2]] {
            let mut u = TileArray::<f64, 2>::builder([ROWS, COLUMNS]).regions(regions).ghost(1).build(&acc).unwrap();
            u.fill(|at| first::<1>(at.map(|n| n as i64))[0]).unwrap();
            let mut plain = Plain::<1>::new(1);
            for turn in 0..12 {
                let column = [0, 1, 2, 1, 0, 3][turn % 6];
                for tile in TileIter::new(&u).within([0, column], [N[0], column + 1]).tile_size([3, 100]) {
                    compute(&tile, &mut u, kernel!(|u, at| u[at] = 0.5 * u[at] + u[at + [0, 1]])).unwrap();
                }
                (0..N[0]).for_each(|row| {
                    let right = plain.get([row, column + 1])[0];
                    let here = &mut plain.at([row, column])[0];
                    *here = 0.5 * *here + right;
                });
                for tile in TileIter::new(&u).within([0, 0], [1, N[1]]) {
                    compute(&tile, &mut u, kernel!(|u, at| u[at] = u[at + [2, 0]] - u[at + [1, 0]])).unwrap();
                }
                (0..N[1]).for_each(|column| {
                    *plain.at([0, column]) = [plain.get([2, column])[0] - plain.get([1, column])[0]];
                });
            }
            let (found, wanted) = (u.read_box(u.domain()).unwrap(), plain.all());
            let wrong = (0..wanted.len()).find(|n| found[*n].to_bits() != wanted[*n].to_bits());
            assert_eq!(wrong.map(|n| [n / COLUMNS, n % COLUMNS]), None, "{regions:?} {:?}", acc.device());
        }
    }
}

#[test]
fn what_cannot_be_is_said() {
    let acc = on_cpu();
    let build = |boundary: Boundary<f64>| {
        let builder = TileArray::<f64, 2>::builder([8, 64]).ghost([[1, 1], [2, 0]]).boundary_axis(0, boundary);
        let mut u = builder.build(&acc).unwrap();
        u.fill_value(1.0).unwrap();
        u.fill_ghosts().unwrap();
        u
    };
    let mut u = build(Boundary::Open);
    let inwards = |u: &mut TileArray<f64, 2>, face| fill_ghosts_with(face, u, kernel!(|u, at| u[at] = 2.0));
    expect(inwards(&mut u, (1, Side::High)), ErrorKind::Ghost, &["the high face of axis 1", "no ghosts"]);
    expect(inwards(&mut u, (2, Side::Low)), ErrorKind::Argument, &["2 axes"]);
    let mut fixed = build(Boundary::Fixed(1.0));
    expect(inwards(&mut fixed, (0, Side::Low)), ErrorKind::Boundary, &["a fill sets", "Boundary::Open"]);
    // Axis after axis, the last one first.
    inwards(&mut u, (0, Side::Low)).unwrap();
    inwards(&mut u, (0, Side::High)).unwrap();
    expect(
        inwards(&mut u, (1, Side::Low)),
        ErrorKind::Ghost,
        &["beyond axis 0 were set before", "the last axis first"],
    );
    u.fill_ghosts().unwrap();
    inwards(&mut u, (1, Side::Low)).unwrap();
    // Ghosts that are set later, or together.
    let later = fill_ghosts_with((1, Side::Low), &mut u, kernel!(|u, at| u[at] = u[at + [1, 2]]));
    expect(later, ErrorKind::Ghost, &["`u[at + [1, 2]]`", "beyond axis 0, which are set after"]);
    let together = fill_ghosts_with((0, Side::Low), &mut u, kernel!(|u, at| u[at] = u[at + [9, 0]]));
    expect(together, ErrorKind::Ghost, &["set together with those beyond axis 0"]);
    let own = fill_ghosts_with((1, Side::Low), &mut u, kernel!(|u, at| u[at] = u[at + [0, 1]]));
    expect(own, ErrorKind::Race, &["`u[at + [0, 1]]`", "none of its tiles writes"]);
    // Older than the cells.
    u.fill_value(2.0).unwrap();
    expect(inwards(&mut u, (1, Side::Low)), ErrorKind::StaleGhost, &["call `fill_ghosts` first"]);
    let none = fill_ghosts_with((0, Side::Low), &u, kernel!(|u, at| {}));
    expect(none, ErrorKind::Argument, &["no `&mut` array"]);
    // Ghosts of what a loop writes.
    u.fill_ghosts().unwrap();
    let first = TileIter::new(&u).within([0, 0], [1, 64]).next().unwrap();
    let ghosts = compute(&first, &mut u, kernel!(|u, at| u[at] = u[at - [1, 0]]));
    expect(ghosts, ErrorKind::Race, &["`u[at + [-1, 0]]`", "older than the cells of `u`"]);
}
