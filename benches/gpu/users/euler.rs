//! Euler's equations in two axes: what flows through faces (MUSCL with minmod, HLL), an update, two stages a step
//! (Heun).

use cudarc::driver::PushKernelArg;
use tida::Math;
use tida::prelude::*;
use tida_suite::Result;

use super::{About, ByHand, CHECKED, Hand, Layout, Program, Way, contest};
use crate::Bench;
use crate::cuda::{Flags, Gpu, upload};
use crate::heat::noise;
use crate::measure::Output;

const SOURCE: &str = include_str!("../../reference/euler.cu");

/// The time step over a cell's width.
const RATIO: f64 = 0.1;

/// Density, momenta along `x` and `y`, energy.
type State = [f64; 4];
type Gas = TileArray<State, 2>;

/// A gas nearly at rest.
fn start(c: usize) -> State {
    let value = |k: usize| noise(c.wrapping_mul(4).wrapping_add(k));
    [1.0 + 0.2 * value(0), 0.2 * value(1) - 0.1, 0.2 * value(2) - 0.1, 2.5 + 0.2 * value(3)]
}

/// The smaller slope, or none where the slopes differ in sign.
#[kernel_fn]
fn minmod(a: f64, b: f64) -> f64 {
    if a * b <= 0.0 {
        0.0
    } else if a.abs() < b.abs() {
        a
    } else {
        b
    }
}

/// What flows through a face along the first momentum, between states to its left and right.
#[kernel_fn]
fn hll(l: [f64; 4], r: [f64; 4]) -> [f64; 4] {
    let gamma = 1.4;
    let ul = l[1] / l[0];
    let ur = r[1] / r[0];
    let pl = (gamma - 1.0) * (l[3] - 0.5 * (l[1] * l[1] + l[2] * l[2]) / l[0]);
    let pr = (gamma - 1.0) * (r[3] - 0.5 * (r[1] * r[1] + r[2] * r[2]) / r[0]);
    let cl = (gamma * pl / l[0]).sqrt();
    let cr = (gamma * pr / r[0]).sqrt();
    let low = (ul - cl).min(ur - cr).min(0.0);
    let high = (ul + cl).max(ur + cr).max(0.0);
    let fl = [l[1], l[1] * ul + pl, l[2] * ul, (l[3] + pl) * ul];
    let fr = [r[1], r[1] * ur + pr, r[2] * ur, (r[3] + pr) * ur];
    let mut f = [0.0; 4];
    for k in 0..4 {
        f[k] = (high * fl[k] - low * fr[k] + low * high * (r[k] - l[k])) / (high - low);
    }
    f
}

/// What flows through the face between `b` and `c`, four cells in a row.
#[kernel_fn]
fn through(a: [f64; 4], b: [f64; 4], c: [f64; 4], d: [f64; 4]) -> [f64; 4] {
    let mut l = [0.0; 4];
    let mut r = [0.0; 4];
    for k in 0..4 {
        l[k] = b[k] + 0.5 * minmod(b[k] - a[k], c[k] - b[k]);
        r[k] = c[k] - 0.5 * minmod(c[k] - b[k], d[k] - c[k]);
    }
    hll(l, r)
}

/// A state with the axes changed for one another.
#[kernel_fn]
fn turned(q: [f64; 4]) -> [f64; 4] {
    [q[0], q[2], q[1], q[3]]
}

/// The gas, what flows through its faces, and the gas after the first stage.
struct Solver {
    q: Gas,
    half: Gas,
    fx: Gas,
    fy: Gas,
}

impl Solver {
    fn new(bench: &Bench, n: usize) -> Result<Solver> {
        let acc = bench.accelerator(Math::Exact)?;
        let mut q = Gas::builder([n, n]).ghost(2).boundary(Boundary::Periodic).build(&acc)?;
        q.fill(|[y, x]| start(y * n + x))?;
        let mut half = q.like()?;
        half.fill_value([1.0; 4])?;
        let faces = |centering| Gas::builder([n, n]).ghost(1).centering(centering).build(&acc);
        let fx = faces([Centering::Cell, Centering::Face])?;
        let fy = faces([Centering::Face, Centering::Cell])?;
        Ok(Solver { q, half, fx, fy })
    }

    fn step(&mut self) -> tida::Result<()> {
        let Solver { q, half, fx, fy } = self;
        flows(q, fx, fy)?;
        for tile in TileIter::new(half) {
            compute(
                &tile,
                (&mut *half, &*q, &*fx, &*fy),
                kernel!(|half, q, fx, fy, at| {
                    let (w, e, s, n) = (fx[at], fx[at + [0, 1]], fy[at], fy[at + [1, 0]]);
                    let mut next = q[at];
                    for k in 0..4 {
                        next[k] = next[k] - RATIO * (e[k] - w[k] + n[k] - s[k]);
                    }
                    half[at] = next;
                }),
            )?;
        }
        flows(half, fx, fy)?;
        for tile in TileIter::new(q) {
            compute(
                &tile,
                (&mut *q, &*half, &*fx, &*fy),
                kernel!(|q, half, fx, fy, at| {
                    let (w, e, s, n) = (fx[at], fx[at + [0, 1]], fy[at], fy[at + [1, 0]]);
                    let (stage, mut next) = (half[at], q[at]);
                    for k in 0..4 {
                        next[k] = 0.5 * (next[k] + (stage[k] - RATIO * (e[k] - w[k] + n[k] - s[k])));
                    }
                    q[at] = next;
                }),
            )?;
        }
        Ok(())
    }
}

/// What flows through all faces of a gas.
fn flows(q: &mut Gas, fx: &mut Gas, fy: &mut Gas) -> tida::Result<()> {
    q.fill_ghosts()?;
    for tile in TileIter::new(fx) {
        compute(
            &tile,
            (&mut *fx, &*q),
            kernel!(|fx, q, at| fx[at] = through(q[at - [0, 2]], q[at - [0, 1]], q[at], q[at + [0, 1]])),
        )?;
    }
    for tile in TileIter::new(fy) {
        compute(
            &tile,
            (&mut *fy, &*q),
            kernel!(|fy, q, at| {
                let flow =
                    through(turned(q[at - [2, 0]]), turned(q[at - [1, 0]]), turned(q[at]), turned(q[at + [1, 0]]));
                fy[at] = turned(flow);
            }),
        )?;
    }
    fill_ghosts((fx, fy))
}

impl Program<f64> for Solver {
    fn run(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.step()?;
        }
        Ok(self.q.acc().sync()?)
    }

    // One plane after the other.
    fn found(&self) -> Result<Vec<Vec<f64>>> {
        Ok(vec![planes(&self.q.read_box(self.q.domain())?)])
    }
}

fn planes(cells: &[State]) -> Vec<f64> {
    (0..4).flat_map(|k| cells.iter().map(move |cell| cell[k])).collect()
}

pub fn euler(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = 8 * bench.size;
    let cells = n * n;
    // In a stage two sweeps read a gas and write flows, and an update has four arrays, of which the second reads one
    // that it writes.
    let about = About {
        case: format!("euler f64 {n}^2"),
        cells,
        bytes: (8 + 8 + 16 + 8 + 8 + 20) * cells * size_of::<f64>(),
        of_copy: Some(0.75),
        of_hand: Some(0.97),
    };
    let mut tida = Solver::new(bench, n)?;
    let hand = bench.gpu.as_ref().map(|gpu| by_hand(gpu, n)).transpose()?.flatten();
    contest((bench, output), &about, &mut tida, hand, || plain(n)).map(drop)
}

fn by_hand(gpu: &Gpu, n: usize) -> Result<ByHand<'_, f64>> {
    let module = gpu.compile(SOURCE, Flags::Exact, &[])?;
    let mut ways = Vec::new();
    for block in [[32, 4, 1], [32, 8, 1], [64, 2, 1], [64, 4, 1], [128, 1, 1], [128, 2, 1], [256, 1, 1], [32, 16, 1]] {
        ways.push(Way::new(&module, &["euler_flow_x", "euler_flow_y", "euler_first", "euler_second"], block, 1)?);
    }
    let q = upload(gpu, &planes(&(0..n * n).map(start).collect::<Vec<_>>()))?;
    let empty = || gpu.stream.alloc_zeros::<f64>(4 * n * n);
    let arrays = vec![q, empty()?, empty()?, empty()?];
    let length = n as i32;
    let step: super::Step<'_, f64> = Box::new(move |way, arrays| {
        let [q, half, fx, fy] = arrays else { return Ok(()) };
        let config = way.cover([n, n, 1]);
        for stage in 0..2 {
            for (flow, function) in [(&mut *fx, 0), (&mut *fy, 1)] {
                let mut launch = gpu.stream.launch_builder(&way.functions[function]);
                launch.arg(flow).arg(if stage == 0 { &*q } else { &*half }).arg(&length);
                // SAFETY: the arguments are those of the kernels, over four planes of `n` rows of `n`.
                unsafe { launch.launch(config)? };
            }
            let (to, from) = if stage == 0 { (&mut *half, &*q) } else { (&mut *q, &*half) };
            let mut launch = gpu.stream.launch_builder(&way.functions[2 + stage]);
            launch.arg(to).arg(from).arg(&*fx).arg(&*fy).arg(&length).arg(&RATIO);
            // SAFETY: as above.
            unsafe { launch.launch(config)? };
        }
        Ok(())
    });
    Ok(Some((Hand::new(gpu, Layout::new::<f64>([4, n, n], 0), arrays, &[0], step)?, ways)))
}

/// The same by plain loops.
fn plain(n: usize) -> Vec<Vec<f64>> {
    let at = |c: usize, dy: usize, dx: usize| (c / n + n + dy - 2) % n * n + (c % n + n + dx - 2) % n;
    // The change of a cell in a stage. Distances along the axes are counted from 2 cells before it.
    let change = |q: &[State], c: usize| {
        let cell = |dy: usize, dx: usize| q[at(c, dy, dx)];
        let x = |d: usize| through(cell(2, d), cell(2, d + 1), cell(2, d + 2), cell(2, d + 3));
        let y = |d: usize| {
            turned(through(turned(cell(d, 2)), turned(cell(d + 1, 2)), turned(cell(d + 2, 2)), turned(cell(d + 3, 2))))
        };
        let (w, e, s, t) = (x(0), x(1), y(0), y(1));
        std::array::from_fn::<f64, 4, _>(|k| RATIO * (e[k] - w[k] + t[k] - s[k]))
    };
    let mut q: Vec<State> = (0..n * n).map(start).collect();
    let stage = |q: &[State]| -> Vec<State> {
        let next = |c: usize| {
            let change = change(q, c);
            std::array::from_fn(|k| q[c][k] - change[k])
        };
        (0..n * n).map(next).collect()
    };
    for _ in 0..CHECKED {
        let half = stage(&q);
        for (cell, stepped) in q.iter_mut().zip(stage(&half)) {
            *cell = std::array::from_fn(|k| 0.5 * (cell[k] + stepped[k]));
        }
    }
    vec![planes(&q)]
}
