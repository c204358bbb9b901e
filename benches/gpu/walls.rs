//! Programs whose boundaries kernels set, each against the same steps between faces of fixed value: all of them tida.

use tida::array::Side as Face;
use tida::prelude::*;
use tida::{Compile, Fuse, fill_ghosts_with, table};
use tida_suite::Result;

use crate::Bench;
use crate::heat::{OUTSIDE, step3};
use crate::measure::{Output, Row, Side, Work, in_turn};

/// Steps after which results are compared.
const CHECKED: usize = 9;

/// Cells along each axis of the arrays that are compared: those of three axes.
const SMALL: usize = 40;

/// Sets the ghosts of a step of this number.
type Set<T, const D: usize> = dyn Fn(&mut TileArray<T, D>, usize) -> tida::Result<()>;

/// A program, and what its arrays are.
struct Program<T: Element, const D: usize> {
    name: &'static str,
    ghost: usize,
    /// Cells along each axis for each of the bench's.
    times: usize,
    /// Beyond these faces kernels set ghosts.
    open: Vec<(usize, Face)>,
    /// The first axis is periodic.
    periodic: bool,
    /// Beyond the other faces.
    other: Boundary<T>,
    fixed: T,
    first: fn([usize; D]) -> T,
    set: fn(usize) -> Box<Set<T, D>>,
    step: fn(&TileArray<T, D>, &mut TileArray<T, D>) -> tida::Result<()>,
    /// How steps are to share launches.
    several: Fuse,
}

/// Two arrays of a program.
struct Flow<T: Element, const D: usize> {
    u: TileArray<T, D>,
    next: TileArray<T, D>,
    /// None: all faces have fixed values.
    set: Option<Box<Set<T, D>>>,
    step: fn(&TileArray<T, D>, &mut TileArray<T, D>) -> tida::Result<()>,
    done: usize,
}

impl<T: Element, const D: usize> Flow<T, D> {
    fn new(of: &Program<T, D>, (device, fuse): (Device, Fuse), n: usize, by_kernels: bool) -> Result<Self> {
        let acc = TileAcc::builder().device(device).compile(Compile::Wait).fuse(fuse).build()?;
        let n = n * of.times;
        let mut builder = TileArray::<T, D>::builder([n; D]).ghost(of.ghost);
        builder = builder.boundary(if by_kernels { of.other } else { Boundary::Fixed(of.fixed) });
        if of.periodic {
            builder = builder.boundary_axis(0, Boundary::Periodic);
        }
        for (axis, side) in of.open.iter().filter(|_| by_kernels) {
            builder = builder.boundary_face(*axis, *side, Boundary::Open);
        }
        let mut u = builder.build(&acc)?;
        u.fill(of.first)?;
        let next = u.like()?;
        Ok(Flow { u, next, set: by_kernels.then(|| (of.set)(n)), step: of.step, done: 0 })
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.u.fill_ghosts()?;
            if let Some(set) = &self.set {
                set(&mut self.u, self.done)?;
            }
            (self.step)(&self.u, &mut self.next)?;
            std::mem::swap(&mut self.u, &mut self.next);
            self.done += 1;
        }
        self.u.acc().sync()?;
        Ok(())
    }
}

/// Whether steps one by one, and several in a launch, give the bits of the CPU; and how many of them shared launches.
fn checked<T: Element + PartialEq, const D: usize>(bench: &Bench, of: &Program<T, D>) -> Result<(bool, String)> {
    let mut found = Vec::new();
    let mut shared = 0;
    for on in [(Device::Cpu, Fuse::Off), (bench.device, Fuse::Off), (bench.device, of.several)] {
        let mut flow = Flow::new(of, on, SMALL, true)?;
        flow.run(CHECKED)?;
        shared = flow.u.acc().stats().fused_steps;
        if let (0, Some(batch)) = (shared, flow.u.acc().batches().last()) {
            batch.apart.iter().for_each(|why| println!("  one step a launch: {why}"));
        }
        found.push(flow.u.read_box(flow.u.domain())?);
    }
    let same = found.iter().all(|cells| cells == &found[0]);
    let words = if same { "same bits" } else { "cells DIFFER" };
    Ok((same, format!("{words}, {shared} of {CHECKED} steps shared launches")))
}

fn program<T: Element + PartialEq, const D: usize>(
    bench: &Bench,
    output: &mut Output,
    of: &Program<T, D>,
) -> Result<()> {
    let n = bench.size;
    let (same, words) = checked(bench, of)?;
    let side = |fuse: &Fuse, by_kernels| Flow::new(of, (bench.device, *fuse), n, by_kernels);
    let off = Fuse::Off;
    let mut all = [side(&off, true)?, side(&off, false)?, side(&of.several, true)?, side(&of.several, false)?];
    let mut sides: Vec<Side<'_>> = all.iter_mut().map(|flow| Box::new(|steps| flow.run(steps)) as Side<'_>).collect();
    let times = in_turn(bench.effort, &mut sides)?;
    let cells = (n * of.times).pow(D as u32);
    let axes = if D == 3 { "^3" } else { "^2" };
    let bytes = 2 * cells * size_of::<T>();
    for (number, how) in ["one step a launch", "several"].into_iter().enumerate() {
        let case = format!("{} {}{axes}, {how}", of.name, n * of.times);
        let check = output.checked(&case, same, words.clone());
        let work = Work { case, check, cells, bytes };
        let row = Row::new(&work, &times[2 * number], Some(("the same, fixed", &times[2 * number + 1])));
        output.row(&Row { goal: Some(0.95), ..row })?;
    }
    Ok(())
}

/// All of the table: Robin, an inflow that changes, a moving lid, Zou and He's, a sponge, an outflow.
pub fn walls(bench: &Bench, output: &mut Output) -> Result<()> {
    let scalar = |name, open: &[(usize, Face)], set| Program {
        name,
        ghost: 1,
        times: 1,
        open: open.to_vec(),
        periodic: false,
        other: Boundary::Fixed(OUTSIDE),
        fixed: OUTSIDE,
        first: |[i, j, k]| ((i * 7 + j * 13 + k * 29) % 64) as f64 / 64.0,
        set,
        step: step3::<f64>,
        several: Fuse::Auto,
    };
    let ends = [(2, Face::Low), (2, Face::High)];
    program(bench, output, &scalar("Robin", &FACES, |_| Box::new(|u, _| robin(u))))?;
    program(bench, output, &Program { periodic: true, ..scalar("inflow", &ends, inflow) })?;
    program(bench, output, &Program { ghost: 2, step: wide, ..scalar("sponge", &FACES, sponge) })?;
    program(bench, output, &scalar("outflow", &[(2, Face::High), (0, Face::Low)], |_| Box::new(outflow)))?;
    let lid = Program::<[f64; 2], 3> {
        name: "moving lid",
        ghost: 1,
        times: 1,
        open: vec![(0, Face::High)],
        periodic: false,
        other: Boundary::ReflectOdd,
        fixed: [0.5, 0.25],
        first: |[i, j, k]| [((i * 7 + j * 13 + k * 29) % 64) as f64 / 64.0, ((i + j + k) % 8) as f64 / 8.0],
        set: |_| Box::new(|u, _| lid(u)),
        step: two,
        several: Fuse::Steps(3),
    };
    program(bench, output, &lid)?;
    let flow = Program::<[f64; 9], 2> {
        name: "Zou-He D2Q9",
        ghost: 1,
        times: 8,
        open: FACES[2..].to_vec(),
        periodic: false,
        other: Boundary::Open,
        fixed: WEIGHTS,
        first: |[i, j]| WEIGHTS.map(|weight| weight * (1.0 + ((i * 7 + j * 13) % 64) as f64 / 1024.0)),
        set: |_| Box::new(|f, _| zou_he(f)),
        step: lattice,
        several: Fuse::Steps(3),
    };
    program(bench, output, &flow)
}

/// All faces, in the order in which their ghosts are set; the last four are those of two axes.
const FACES: [(usize, Face); 6] =
    [(2, Face::Low), (2, Face::High), (1, Face::Low), (1, Face::High), (0, Face::Low), (0, Face::High)];

fn robin(u: &mut TileArray<f64, 3>) -> tida::Result<()> {
    let (rate, outside) = (0.25, OUTSIDE);
    macro_rules! wall {
        ($face:expr, $op:tt $away:expr) => {
            fill_ghosts_with(
                $face,
                &mut *u,
                kernel!(|u, at| {
                    let inside = u[at $op $away];
                    u[at] = inside + rate * (outside - inside);
                }),
            )
        };
    }
    wall!((2, Face::Low), + [0, 0, 1])?;
    wall!((2, Face::High), -[0, 0, 1])?;
    wall!((1, Face::Low), + [0, 1, 0])?;
    wall!((1, Face::High), -[0, 1, 0])?;
    wall!((0, Face::Low), + [1, 0, 0])?;
    wall!((0, Face::High), -[1, 0, 0])
}

/// A profile along the first axis, which is periodic, at a time; what flows out keeps its value.
fn inflow(n: usize) -> Box<Set<f64, 3>> {
    let profile: Vec<f64> = (0..n).map(|i| 4.0 * i as f64 * (n - i) as f64 / (n * n) as f64).collect();
    Box::new(move |u, step| {
        let time = (step % 64) as f64 / 64.0;
        fill_ghosts_with(
            (2, Face::Low),
            (&mut *u, table(&profile)),
            kernel!(|u, profile, at| u[at] = 2.0 * time * profile[at[0] as usize] - u[at + [0, 0, 1]]),
        )?;
        fill_ghosts_with((2, Face::High), u, kernel!(|u, at| u[at] = u[at - [0, 0, 1]]))
    })
}

/// Two layers, which hold the less of the mirrored cell the further out they are.
fn sponge(n: usize) -> Box<Set<f64, 3>> {
    let (n, rest) = (n as i64, OUTSIDE);
    Box::new(move |u, _| {
        macro_rules! wall {
            ($face:expr, $axis:literal, |$i:ident, $j:ident, $k:ident| $inside:expr, $layer:expr) => {
                fill_ghosts_with(
                    $face,
                    &mut *u,
                    kernel!(|u, at| {
                        let [$i, $j, $k] = at;
                        u[at] = rest + (u[$inside] - rest) / $layer as f64;
                    }),
                )
            };
        }
        wall!((2, Face::Low), 2, |i, j, k| [i, j, -1 - k], (1 - k))?;
        wall!((2, Face::High), 2, |i, j, k| [i, j, 2 * n - 1 - k], (k - n + 2))?;
        wall!((1, Face::Low), 1, |i, j, k| [i, -1 - j, k], (1 - j))?;
        wall!((1, Face::High), 1, |i, j, k| [i, 2 * n - 1 - j, k], (j - n + 2))?;
        wall!((0, Face::Low), 0, |i, j, k| [-1 - i, j, k], (1 - i))?;
        wall!((0, Face::High), 0, |i, j, k| [2 * n - 1 - i, j, k], (i - n + 2))
    })
}

/// Waves that leave, from two cells inwards, at a speed that changes.
fn outflow(u: &mut TileArray<f64, 3>, step: usize) -> tida::Result<()> {
    let courant = 0.5 + (step % 8) as f64 / 32.0;
    fill_ghosts_with(
        (2, Face::High),
        &mut *u,
        kernel!(|u, at| {
            let (near, far) = (u[at - [0, 0, 1]], u[at - [0, 0, 2]]);
            u[at] = near - courant * (near - far);
        }),
    )?;
    fill_ghosts_with(
        (0, Face::Low),
        u,
        kernel!(|u, at| {
            let (near, far) = (u[at + [1, 0, 0]], u[at + [2, 0, 0]]);
            u[at] = near - courant * (near - far);
        }),
    )
}

/// Heat of 13 points.
fn wide(u: &TileArray<f64, 3>, next: &mut TileArray<f64, 3>) -> tida::Result<()> {
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, u),
            kernel!(|next, u, at| {
                let near = u[at + [0, 0, 1]]
                    + u[at - [0, 0, 1]]
                    + u[at + [0, 1, 0]]
                    + u[at - [0, 1, 0]]
                    + u[at + [1, 0, 0]]
                    + u[at - [1, 0, 0]];
                let far = u[at + [0, 0, 2]]
                    + u[at - [0, 0, 2]]
                    + u[at + [0, 2, 0]]
                    + u[at - [0, 2, 0]]
                    + u[at + [2, 0, 0]]
                    + u[at - [2, 0, 0]];
                next[at] = 0.5 * u[at] + 0.125 * near - 0.0625 * far;
            }),
        )?;
    }
    Ok(())
}

/// A wall that moves: the first component is across it, the second along it.
fn lid(u: &mut TileArray<[f64; 2], 3>) -> tida::Result<()> {
    let speed = 0.5;
    fill_ghosts_with(
        (0, Face::High),
        u,
        kernel!(|u, at| {
            let below = u[at - [1, 0, 0]];
            u[at][0] = -below[0];
            u[at][1] = 2.0 * speed - below[1];
        }),
    )
}

/// Two components that spread, each into the other too.
fn two(u: &TileArray<[f64; 2], 3>, next: &mut TileArray<[f64; 2], 3>) -> tida::Result<()> {
    for tile in TileIter::new(u) {
        compute(
            &tile,
            (&mut *next, u),
            kernel!(|next, u, at| {
                let here = u[at];
                for n in 0..2 {
                    let around = u[at + [0, 0, 1]][n]
                        + u[at - [0, 0, 1]][n]
                        + u[at + [0, 1, 0]][n]
                        + u[at - [0, 1, 0]][n]
                        + u[at + [1, 0, 0]][n]
                        + u[at - [1, 0, 0]][n];
                    next[at][n] = 0.25 * here[n] + 0.1 * around + 0.1 * here[1 - n];
                }
            }),
        )?;
    }
    Ok(())
}

/// Directions of D2Q9 along both axes, and their weights.
const WAYS: [[i64; 2]; 9] = [[0, 0], [0, 1], [1, 0], [0, -1], [-1, 0], [1, 1], [1, -1], [-1, -1], [-1, 1]];
const WEIGHTS: [f64; 9] =
    [4.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0];

/// An inlet of given speed and an outlet of given density by Zou and He (1997), and walls by bouncing back.
fn zou_he(f: &mut TileArray<[f64; 9], 2>) -> tida::Result<()> {
    let speed = 0.05;
    fill_ghosts_with(
        (1, Face::Low),
        &mut *f,
        kernel!(|f, at| {
            let g = f[at + [0, 1]];
            let density = (g[0] + g[2] + g[4] + 2.0 * (g[3] + g[6] + g[7])) / (1.0 - speed);
            f[at] = g;
            f[at][1] = g[3] + 2.0 / 3.0 * density * speed;
            f[at][5] = g[7] - 0.5 * (g[2] - g[4]) + density * speed / 6.0;
            f[at][8] = g[6] + 0.5 * (g[2] - g[4]) + density * speed / 6.0;
        }),
    )?;
    fill_ghosts_with(
        (1, Face::High),
        &mut *f,
        kernel!(|f, at| {
            let g = f[at - [0, 1]];
            let out = g[0] + g[2] + g[4] + 2.0 * (g[1] + g[5] + g[8]) - 1.0;
            f[at] = g;
            f[at][3] = g[1] - 2.0 / 3.0 * out;
            f[at][7] = g[5] + 0.5 * (g[2] - g[4]) - out / 6.0;
            f[at][6] = g[8] - 0.5 * (g[2] - g[4]) - out / 6.0;
        }),
    )?;
    macro_rules! bounced {
        ($face:expr, $op:tt $away:expr) => {
            fill_ghosts_with(
                $face,
                &mut *f,
                kernel!(|f, at| {
                    let g = f[at $op $away];
                    f[at] = [g[0], g[1], g[4], g[3], g[2], g[7], g[8], g[5], g[6]];
                }),
            )
        };
    }
    bounced!((0, Face::Low), + [1, 0])?;
    bounced!((0, Face::High), -[1, 0])
}

/// A step of D2Q9.
fn lattice(f: &TileArray<[f64; 9], 2>, next: &mut TileArray<[f64; 9], 2>) -> tida::Result<()> {
    for tile in TileIter::new(f) {
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
        )?;
    }
    Ok(())
}
