//! Conjugate gradients for Poisson's equation in a cube, 0 at its faces.

use tida::Math;
use tida::prelude::*;
use tida_suite::Result;

use super::{About, alone};
use crate::Bench;
use crate::heat::noise;
use crate::measure::Output;

/// Iterations after which results are compared, and the most that they may differ by: sums have an order of their own.
const CHECKED: usize = 10;
const CLOSE: f64 = 1e-9;

/// The solution, the residual, the direction of search, and the matrix times it.
struct Solver {
    x: TileArray<f64, 3>,
    r: TileArray<f64, 3>,
    p: TileArray<f64, 3>,
    q: TileArray<f64, 3>,
    b: TileArray<f64, 3>,
    rr: f64,
}

impl Solver {
    fn new(bench: &Bench, n: usize) -> Result<Solver> {
        let acc = bench.accelerator(Math::Exact)?;
        let mut b = TileArray::<f64, 3>::builder([n; 3]).ghost(1).boundary(Boundary::Fixed(0.0)).build(&acc)?;
        b.fill(|[k, j, i]| noise((k * n + j) * n + i) - 0.5)?;
        let mut solver = Solver { x: b.like()?, r: b.like()?, p: b.like()?, q: b.like()?, b, rr: 0.0 };
        solver.restart()?;
        Ok(solver)
    }

    /// From 0.
    fn restart(&mut self) -> tida::Result<()> {
        let Solver { x, r, p, b, rr, .. } = self;
        x.fill_value(0.0)?;
        r.copy_from(b)?;
        p.copy_from(b)?;
        *rr = reduce(&*r, Sum, kernel!(|r, at| r[at] * r[at]))?;
        Ok(())
    }

    fn iterate(&mut self) -> tida::Result<()> {
        let Solver { x, r, p, q, rr, .. } = self;
        p.fill_ghosts()?;
        for tile in TileIter::new(q) {
            compute(
                &tile,
                (&mut *q, &*p),
                kernel!(|q, p, at| {
                    q[at] = 6.0 * p[at]
                        - p[at - [0, 0, 1]]
                        - p[at + [0, 0, 1]]
                        - p[at - [0, 1, 0]]
                        - p[at + [0, 1, 0]]
                        - p[at - [1, 0, 0]]
                        - p[at + [1, 0, 0]];
                }),
            )?;
        }
        let pq: f64 = reduce((&*p, &*q), Sum, kernel!(|p, q, at| p[at] * q[at]))?;
        let alpha = *rr / pq;
        for tile in TileIter::new(x) {
            compute(&tile, (&mut *x, &*p), kernel!(|x, p, at| x[at] = x[at] + alpha * p[at]))?;
        }
        for tile in TileIter::new(r) {
            compute(&tile, (&mut *r, &*q), kernel!(|r, q, at| r[at] = r[at] - alpha * q[at]))?;
        }
        let next: f64 = reduce(&*r, Sum, kernel!(|r, at| r[at] * r[at]))?;
        let beta = next / *rr;
        *rr = next;
        for tile in TileIter::new(p) {
            compute(&tile, (&mut *p, &*r), kernel!(|p, r, at| p[at] = r[at] + beta * p[at]))?;
        }
        Ok(())
    }

    /// So many iterations; from 0 again once there is nothing left to solve.
    fn run(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            if self.rr < 1e-20 {
                self.restart()?;
            }
            self.iterate()?;
        }
        Ok(self.x.acc().sync()?)
    }
}

/// An iteration loop by loop: the matrix, two sums of products, three updates.
pub fn conjugate(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = bench.size / 2;
    let cells = n.pow(3);
    // The matrix takes two arrays, the sums two and one, each update three.
    let about = About {
        case: format!("conjugate f64 {n}^3"),
        cells,
        bytes: 14 * cells * size_of::<f64>(),
        of_copy: Some(0.85),
        of_hand: None,
    };
    let mut tida = Solver::new(bench, n)?;
    tida.run(CHECKED)?;
    let found = tida.x.read_box(tida.x.domain())?;
    let expected = plain(n);
    let largest = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    let off = tida_suite::oracle::max_abs_error(&found, &expected) / largest;
    drop((found, expected));
    let check = output.checked(&about.case, off <= CLOSE, format!("differs by {off:.1e}"));
    let times = alone((bench, output), &about, &check, &mut |steps| tida.run(steps))?;
    output.figure(&format!("{}: an iteration", about.case), 1e3 * crate::measure::median(&times), "ms")
}

/// The same by plain loops.
fn plain(n: usize) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let add = |y: &mut [f64], factor: f64, x: &[f64]| y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
    let mut x = vec![0.0; n.pow(3)];
    let mut r: Vec<f64> = (0..n.pow(3)).map(|c| noise(c) - 0.5).collect();
    let (mut p, mut q) = (r.clone(), x.clone());
    let mut rr = dot(&r, &r);
    for _ in 0..CHECKED {
        for (c, q) in q.iter_mut().enumerate() {
            *q = 6.0 * p[c];
            for (place, stride) in [(c % n, 1), (c / n % n, n), (c / n / n, n * n)] {
                *q -= if place > 0 { p[c - stride] } else { 0.0 };
                *q -= if place + 1 < n { p[c + stride] } else { 0.0 };
            }
        }
        let alpha = rr / dot(&p, &q);
        add(&mut x, alpha, &p);
        add(&mut r, -alpha, &q);
        let next = dot(&r, &r);
        let beta = next / rr;
        rr = next;
        p.iter_mut().zip(&r).for_each(|(p, r)| *p = r + beta * *p);
    }
    x
}
