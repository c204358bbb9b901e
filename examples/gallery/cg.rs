//! Conjugate gradients for Poisson's equation in a cube whose faces are at 0: the matrix of seven points is never
//! stored.
//!
//! Both dot products of a step are recorded work whose values the next kernels capture, so the host never waits in the
//! loop.

use tida::prelude::*;
use tida_plot::Lines;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::oracle::{Grid, Outside};

use crate::{Program, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "cg",
        about: "Conjugate gradients for Poisson's equation in a cube",
        dims: &[3],
        size: [0, 0, 64],
        steps: 200,
        ghost: 1,
        dtypes: &[Dtype::F64],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::around(0.0, "solution"),
    },
    small: "--size 20 --steps 60",
    input: true,
    run,
};

/// How much of the first residual may be left after three steps for each cell along an axis.
const LEFT: f64 = 1e-4;
/// How far the residual that the steps carry along may be from that of the solution, of the first.
const APART: f64 = 1e-10;

/// Charges of both signs, and some noise, so that every cell has its own.
fn charge([z, y, x]: [f64; 3]) -> f64 {
    let distance = |c: [f64; 3]| (z - c[0]).hypot(y - c[1]).hypot(x - c[2]);
    let part = |near: f64| if near < 0.1 { 1.0 } else { 0.0 };
    part(distance([0.3, 0.4, 0.3])) - part(distance([0.7, 0.5, 0.6]))
        + 0.01 * plain::random((z * 1e9) as usize ^ (y * 1e8) as usize ^ (x * 1e7) as usize)
}

/// A row of the matrix times the cells around it.
#[kernel_fn]
fn seven(own: f64, below: [f64; 3], above: [f64; 3]) -> f64 {
    6.0 * own - (below[0] + above[0]) - (below[1] + above[1]) - (below[2] + above[2])
}

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(6)?;
    let mut b = settings.array::<f64, 3>(&acc, settings.edge.boundary())?;
    settings.fill(&mut b, charge)?;
    let start = settings.start(&b)?;
    let tile_size = settings.tile()?;

    // The solution, the residual, the direction of search, and the matrix times that.
    let (mut x, mut r, mut p, mut q) = (b.like()?, b.like()?, b.like()?, b.like()?);
    x.fill_value(0.0)?;
    r.copy_from(&b)?;
    p.copy_from(&b)?;
    let mut rr = reduce_later(&r, Sum, kernel!(|r, at| r[at] * r[at]))?;
    let mut squares = vec![rr.clone()];
    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        p.fill_ghosts()?;
        for tile in TileIter::new(&q).tile_size(tile_size) {
            compute(
                &tile,
                (&mut q, &p),
                kernel!(|q, p, at| {
                    let below = [p[at - [1, 0, 0]], p[at - [0, 1, 0]], p[at - [0, 0, 1]]];
                    let above = [p[at + [1, 0, 0]], p[at + [0, 1, 0]], p[at + [0, 0, 1]]];
                    q[at] = seven(p[at], below, above);
                }),
            )?;
        }
        let pq = reduce_later((&p, &q), Sum, kernel!(|p, q, at| p[at] * q[at]))?;
        for tile in TileIter::new(&x).tile_size(tile_size) {
            compute(
                &tile,
                (&mut x, &mut r, &p, &q),
                kernel!(|x, r, p, q, at| {
                    // Both are 0 once the solution is exact.
                    let alpha = if pq > 0.0 { rr / pq } else { 0.0 };
                    x[at] += alpha * p[at];
                    r[at] -= alpha * q[at];
                }),
            )?;
        }
        let next = reduce_later(&r, Sum, kernel!(|r, at| r[at] * r[at]))?;
        for tile in TileIter::new(&p).tile_size(tile_size) {
            compute(
                &tile,
                (&mut p, &r),
                kernel!(|p, r, at| {
                    let beta = if rr > 0.0 { next / rr } else { 0.0 };
                    p[at] = r[at] + beta * p[at];
                }),
            )?;
        }
        squares.push(next.clone());
        rr = next;
        clock.step_of(&x)?;
    }
    let squares: Vec<f64> = squares.iter().map(Scalar::get).collect::<tida::Result<_>>()?;
    acc.sync()?;
    let seconds = clock.stop()?;

    let left: Vec<f64> = squares.iter().map(|square| (square / squares[0]).sqrt()).collect();
    let plot = Lines::new().series("", &left).logarithmic().axes("step", "residual over the first");
    settings.draw(settings.steps, || Ok(plot))?;
    let found = || Ok([x.read_box(x.domain())?, squares.clone()].concat());
    settings.finish_with(&x, settings.steps, seconds, found, || solved(&settings.shape, &start, settings.steps))?;
    if settings.verify { converged(settings, &mut x, &b, &squares) } else { Ok(()) }
}

/// Whether the residual fell, and is that of the solution.
fn converged(settings: &Settings, x: &mut TileArray<f64, 3>, b: &TileArray<f64, 3>, squares: &[f64]) -> Result<()> {
    x.fill_ghosts()?;
    let square = reduce(
        (b, &*x),
        Sum,
        kernel!(|b, x, at| {
            let below = [x[at - [1, 0, 0]], x[at - [0, 1, 0]], x[at - [0, 0, 1]]];
            let above = [x[at + [1, 0, 0]], x[at + [0, 1, 0]], x[at + [0, 0, 1]]];
            let r = b[at] - seven(x[at], below, above);
            r * r
        }),
    )?;
    let first = squares[0].sqrt();
    let (carried, left) = (squares[squares.len() - 1].sqrt() / first, square.sqrt() / first);
    if settings.tells() {
        println!("  the residual fell to {left:.2e} of the first");
    }
    let wrong = |found: String, most: f64| {
        Err(format!("tried to verify cg; found {found}; it should be {most:e} of the first at most").into())
    };
    let apart = (carried - left).abs();
    if apart.is_nan() || apart > APART {
        return wrong(format!("a residual {apart:e} from that of the solution"), APART);
    }
    if settings.steps as usize >= 3 * settings.shape[0] && left > LEFT {
        return wrong(format!("a residual of {left:e}"), LEFT);
    }
    Ok(())
}

/// The same by plain loops: the solution, then the squares of the residuals.
fn solved(shape: &[usize], b: &[f64], steps: u64) -> Vec<f64> {
    let mut p = Grid::new(shape, 1, b);
    let [nz, ny, nx] = p.shape();
    let (z, y) = (p.stride(0), p.stride(1));
    let (mut x, mut r, mut q) = (vec![0.0; b.len()], b.to_vec(), vec![0.0; b.len()]);
    let dot = |a: &[f64], b: &[f64]| {
        let rows = a.chunks(nx).zip(b.chunks(nx));
        plain::sum(rows.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).collect()))
    };
    let mut rr = dot(&r, &r);
    let mut squares = vec![rr];
    for _ in 0..steps {
        p.fill_ghosts(Outside::Fixed(0.0));
        for k in 0..nz {
            for j in 0..ny {
                for i in 0..nx {
                    let (at, v) = (p.position(k, j, i), &p.data);
                    q[(k * ny + j) * nx + i] =
                        6.0 * v[at] - (v[at - z] + v[at + z]) - (v[at - y] + v[at + y]) - (v[at - 1] + v[at + 1]);
                }
            }
        }
        let cells = p.cells();
        let pq = dot(&cells, &q);
        let alpha = if pq > 0.0 { rr / pq } else { 0.0 };
        for c in 0..b.len() {
            x[c] += alpha * cells[c];
            r[c] -= alpha * q[c];
        }
        let next = dot(&r, &r);
        let beta = if rr > 0.0 { next / rr } else { 0.0 };
        for row in 0..nz * ny {
            let first = p.position(row / ny, row % ny, 0);
            for i in 0..nx {
                p.data[first + i] = r[row * nx + i] + beta * p.data[first + i];
            }
        }
        rr = next;
        squares.push(rr);
    }
    [x, squares].concat()
}
