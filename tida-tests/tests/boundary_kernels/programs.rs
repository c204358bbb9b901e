//! Programs with such boundaries, by tida and by plain loops.

use std::mem::swap;

use tida::prelude::*;
use tida_tests::value;

pub const ROWS: usize = 60;
pub const COLUMNS: usize = 512;
pub const N: [i64; 2] = [ROWS as i64, COLUMNS as i64];
pub const STEPS: usize = 6;

/// A program: on an accelerator, with regions and where its loops run; and by plain loops.
pub struct Program {
    pub name: &'static str,
    pub run: fn(&TileAcc, [usize; 2], Option<Device>) -> Vec<f64>,
    pub plain: fn() -> Vec<f64>,
    /// Values of an element.
    pub components: usize,
}

pub const PROGRAMS: [Program; 7] = [
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
pub struct Plain<const C: usize> {
    ghost: i64,
    values: Vec<[f64; C]>,
}

impl<const C: usize> Plain<C> {
    pub fn new(ghost: i64) -> Self {
        let mut made = Plain { ghost, values: vec![[0.0; C]; ((N[0] + 2 * ghost) * (N[1] + 2 * ghost)) as usize] };
        cells().for_each(|at| *made.at(at) = first(at));
        made
    }

    fn place(&self, at: [i64; 2]) -> usize {
        ((at[0] + self.ghost) * (N[1] + 2 * self.ghost) + at[1] + self.ghost) as usize
    }

    pub fn at(&mut self, at: [i64; 2]) -> &mut [f64; C] {
        let place = self.place(at);
        &mut self.values[place]
    }

    pub fn get(&self, at: [i64; 2]) -> [f64; C] {
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

    pub fn all(&self) -> Vec<f64> {
        cells().flat_map(|at| self.get(at)).collect()
    }
}

/// The values that programs start with.
pub fn first<const C: usize>(at: [i64; 2]) -> [f64; C] {
    std::array::from_fn(|n| value(n as u64, [at[0] as usize, at[1] as usize, 0]))
}

fn flat<const C: usize>(u: &TileArray<[f64; C], 2>) -> Vec<f64> {
    u.read_box(u.domain()).unwrap().into_iter().flatten().collect()
}

/// All four faces, the last axis first; corners by what is beyond the first axis.
fn robin(acc: &TileAcc, regions: [usize; 2], on: Option<Device>) -> Vec<f64> {
    robin_in(Format::Raw, acc, regions, on)
}

pub fn robin_in(format: Format, acc: &TileAcc, regions: [usize; 2], on: Option<Device>) -> Vec<f64> {
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
pub fn nine(next: &mut TileArray<f64, 2>, u: &TileArray<f64, 2>, on: Option<Device>) {
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
pub fn plain_robin_in(round: fn(f64) -> f64) -> Vec<f64> {
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

/// A captured time and profiles that change with it, beside a periodic axis that comes before: its corners take these
/// ghosts in.
fn inflow(acc: &TileAcc, regions: [usize; 2], on: Option<Device>) -> Vec<f64> {
    let builder = TileArray::<f64, 2>::builder([ROWS, COLUMNS]).regions(regions).ghost(1);
    let builder = builder.boundary_axis(0, Boundary::Periodic);
    let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    u.fill(|at| first::<1>(at.map(|n| n as i64))[0]).unwrap();
    for step in 0..STEPS {
        let (time, [profile, other]) = (0.1 * step as f64, profiles(step));
        u.fill_ghosts().unwrap();
        fill_ghosts_with(
            (1, Side::Low),
            (&mut u, table(&profile)),
            kernel!(|u, profile, at| u[at] = 2.0 * time * profile[at[0] as usize] - u[at + [0, 1]]),
        )
        .unwrap();
        fill_ghosts_with(
            (1, Side::High),
            (&mut u, table(&other)),
            kernel!(|u, other, at| u[at] = u[at - [0, 1]] - time * other[at[0] as usize + 1]),
        )
        .unwrap();
        nine(&mut next, &u, on);
        swap(&mut u, &mut next);
    }
    u.read_box(u.domain()).unwrap()
}

/// Profiles along both faces, each with an entry that nobody takes.
fn profiles(step: usize) -> [Vec<f64>; 2] {
    let of = |more: usize| (0..ROWS + 1).map(move |row| (row * (ROWS - row) + more * step) as f64 / 100.0).collect();
    [of(7), of(13)]
}

fn plain_inflow() -> Vec<f64> {
    let mut u = Plain::<1>::new(1);
    for step in 0..STEPS {
        let (time, [profile, other]) = (0.1 * step as f64, profiles(step));
        u.face(1, 0, |u, at, _| [2.0 * time * profile[at[0] as usize] - u.get([at[0], at[1] + 1])[0]]);
        u.face(1, 1, |u, at, _| [u.get([at[0], at[1] - 1])[0] - time * other[at[0] as usize + 1]]);
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
pub fn two(next: &mut TileArray<[f64; 2], 2>, u: &TileArray<[f64; 2], 2>, on: Option<Device>) {
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
        lattice(&mut next, &f, on);
        swap(&mut f, &mut next);
    }
    flat(&f)
}

/// A step of D2Q9.
pub fn lattice(next: &mut TileArray<[f64; 9], 2>, f: &TileArray<[f64; 9], 2>, on: Option<Device>) {
    for tile in tiles(f, on) {
        compute(
            &tile,
            (&mut *next, f),
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
            for (n, way) in WAYS.iter().enumerate() {
                density += came(n);
                flow[0] += came(n) * way[0] as f64;
                flow[1] += came(n) * way[1] as f64;
            }
            for (n, way) in WAYS.iter().enumerate() {
                let along = 3.0 * (flow[0] * way[0] as f64 + flow[1] * way[1] as f64);
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
pub fn wide(next: &mut TileArray<f64, 2>, u: &TileArray<f64, 2>, on: Option<Device>) {
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
