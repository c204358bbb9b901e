//! The V-cycles of `multigrid` by plain loops.

use crate::multigrid::{Down, SWEEPS, Scheme, Smoother, TWICE, charge, guess};
use crate::plain;

/// A grid of `n` nodes along each axis.
struct Level {
    n: usize,
    h2: f64,
    u: Vec<f64>,
    f: Vec<f64>,
    r: Vec<f64>,
}

impl Level {
    fn new(n: usize) -> Level {
        let zeros = vec![0.0; n * n * n];
        Level { n, h2: 1.0 / ((n - 1) * (n - 1)) as f64, u: zeros.clone(), f: zeros.clone(), r: zeros }
    }

    /// The places of all nodes but the outer ones, with their coordinates.
    fn inner(&self) -> impl Iterator<Item = (usize, [usize; 3])> + use<> {
        let n = self.n;
        let row = move |k: usize, j: usize| (1..n - 1).map(move |i| ((k * n + j) * n + i, [k, j, i]));
        (1..n - 1).flat_map(move |k| (1..n - 1).flat_map(move |j| row(k, j)))
    }

    /// The sum of the six nodes around.
    fn around(&self, p: usize) -> f64 {
        let (u, y, z) = (&self.u, self.n, self.n * self.n);
        (u[p - z] + u[p + z]) + (u[p - y] + u[p + y]) + (u[p - 1] + u[p + 1])
    }

    fn smooth(&mut self, smoother: Smoother) {
        match smoother {
            Smoother::Jacobi => self.smooth_apart(),
            Smoother::RedBlack => self.smooth_in_place(),
        }
    }

    fn smooth_in_place(&mut self) {
        for colour in [0, 1].repeat(TWICE) {
            for (p, _) in self.inner().filter(|(_, at)| at.iter().sum::<usize>() % 2 == colour) {
                self.u[p] = (self.around(p) + self.h2 * self.f[p]) / 6.0;
            }
        }
    }

    fn smooth_apart(&mut self) {
        for omega in SWEEPS {
            let mut next = self.u.clone();
            for (p, _) in self.inner() {
                let solved = (self.around(p) + self.h2 * self.f[p]) / 6.0;
                next[p] = self.u[p] + omega * (solved - self.u[p]);
            }
            self.u = next;
        }
    }

    fn find_residual(&mut self) {
        for (p, _) in self.inner() {
            self.r[p] = self.f[p] - (6.0 * self.u[p] - self.around(p)) / self.h2;
        }
    }

    fn restrict(&mut self, fine: &Level, down: Down) {
        for (p, at) in self.inner() {
            if let Down::HalfInjection = down {
                let [k, j, i] = at.map(|at| 2 * at);
                (self.f[p], self.u[p]) = (0.5 * fine.r[(k * fine.n + j) * fine.n + i], 0.0);
                continue;
            }
            let mut sum = 0.0;
            for near in 0..27 {
                let off = [near / 9, near / 3 % 3, near % 3];
                let weight: usize = off.iter().map(|off| if *off == 1 { 2 } else { 1 }).product();
                let [k, j, i] = [0, 1, 2].map(|axis| 2 * at[axis] + off[axis] - 1);
                sum += weight as f64 * fine.r[(k * fine.n + j) * fine.n + i];
            }
            self.f[p] = sum / 64.0;
            self.u[p] = 0.0;
        }
    }

    fn correct(&mut self, coarse: &Level) {
        for (p, at) in self.inner() {
            let mut sum = 0.0;
            for near in 0..8 {
                let off = [near / 4, near / 2 % 2, near % 2];
                let [k, j, i] = [0, 1, 2].map(|axis| (at[axis] + off[axis]) / 2);
                sum += coarse.u[(k * coarse.n + j) * coarse.n + i];
            }
            self.u[p] += sum / 8.0;
        }
    }
}

fn cycle(levels: &mut [Level], scheme: Scheme) {
    let Some((fine, coarser)) = levels.split_first_mut() else { return };
    fine.smooth(scheme.smoother);
    if let Some(coarse) = coarser.first_mut() {
        fine.find_residual();
        coarse.restrict(fine, scheme.down);
        cycle(coarser, scheme);
        fine.correct(&coarser[0]);
    }
    fine.smooth(scheme.smoother);
}

/// The solution after some cycles, and the squares of the residual after each.
pub fn solved(n: usize, cycles: u64, scheme: Scheme) -> Vec<f64> {
    let sizes = std::iter::successors(Some(n), |n| (*n > 3).then_some(n / 2 + 1));
    let mut levels: Vec<Level> = sizes.map(Level::new).collect();
    for p in 0..n * n * n {
        let at = [p / (n * n), p / n % n, p % n];
        (levels[0].u[p], levels[0].f[p]) = (guess(n, at), charge(n, at));
    }
    let mut squares = Vec::new();
    for _ in 0..cycles {
        cycle(&mut levels, scheme);
        levels[0].find_residual();
        squares.push(plain::sum(levels[0].r.chunks(n).map(|row| row.iter().map(|r| r * r).collect())));
    }
    [std::mem::take(&mut levels[0].u), squares].concat()
}
