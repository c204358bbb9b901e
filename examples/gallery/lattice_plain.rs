//! The fluid of `lattice` by plain loops.

use crate::lattice::{CX, CY, Flow, W};

/// The density, and the sums of the populations along y and x.
fn moments(f: &[f64; 9]) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for q in 0..9 {
        sums[0] += f[q];
        sums[1] += CY[q] as f64 * f[q];
        sums[2] += CX[q] as f64 * f[q];
    }
    sums
}

/// A cell's populations after a collision.
fn collided(mut f: [f64; 9], Flow { omega, force }: Flow) -> [f64; 9] {
    let [rho, uy, ux] = moments(&f);
    let (uy, ux) = (uy / rho, ux / rho);
    let base = 1.0 - 1.5 * (uy * uy + ux * ux);
    for q in 0..9 {
        let along = CY[q] as f64 * uy + CX[q] as f64 * ux;
        let rest = W[q] * rho * (base + 3.0 * along + 4.5 * along * along);
        f[q] += omega * (rest - f[q]) + 3.0 * W[q] * CX[q] as f64 * force;
    }
    f
}

/// `n` by `n` cells, with a layer of ghosts around.
pub struct Plain {
    n: usize,
    pub f: Vec<[f64; 9]>,
    solid: Vec<bool>,
    flow: Flow,
}

impl Plain {
    /// The fluid at the start.
    pub fn new(
        n: usize,
        flow: Flow,
        start: impl Fn([usize; 2]) -> [f64; 9],
        is_solid: impl Fn([usize; 2]) -> bool,
    ) -> Plain {
        let mut f = vec![[0.0; 9]; (n + 2) * (n + 2)];
        let cells = (0..n * n).map(|cell| [cell / n, cell % n]);
        for at in cells.clone() {
            f[(at[0] + 1) * (n + 2) + at[1] + 1] = start(at);
        }
        Plain { n, f, solid: cells.map(is_solid).collect(), flow }
    }

    /// The place of a cell or a ghost.
    pub fn place(&self, y: i64, x: i64) -> usize {
        (y + 1) as usize * (self.n + 2) + (x + 1) as usize
    }

    /// Fixes the ghosts of the first column, and gives those of the last the cells before them.
    pub fn through(&mut self, inflow: [f64; 9]) {
        let n = self.n;
        for row in self.f.chunks_exact_mut(n + 2) {
            row[0] = inflow;
            row[n + 1] = row[n];
        }
    }

    /// Gives the ghosts of the first and the last column the cells of the other side.
    pub fn around(&mut self) {
        let n = self.n;
        for row in self.f.chunks_exact_mut(n + 2) {
            row[0] = row[n];
            row[n + 1] = row[1];
        }
    }

    /// The same of the rows, after columns.
    pub fn over(&mut self) {
        let (n, wide) = (self.n, self.n + 2);
        self.f.copy_within(n * wide..(n + 1) * wide, 0);
        self.f.copy_within(wide..2 * wide, (n + 1) * wide);
    }

    /// Some steps, before each of which `fill` fills ghosts.
    pub fn steps(mut self, steps: u64, fill: impl Fn(&mut Plain)) -> Plain {
        let (n, wide) = (self.n, self.n as i64 + 2);
        let mut next = self.f.clone();
        for _ in 0..steps {
            fill(&mut self);
            for y in 0..n {
                for x in 0..n {
                    let at = (y + 1) * (n + 2) + x + 1;
                    let g: [f64; 9] = std::array::from_fn(|q| self.f[(at as i64 - CY[q] * wide - CX[q]) as usize][q]);
                    let back = [0, 3, 4, 1, 2, 7, 8, 5, 6];
                    next[at] = if self.solid[y * n + x] { back.map(|q| g[q]) } else { collided(g, self.flow) };
                }
            }
            std::mem::swap(&mut self.f, &mut next);
        }
        self
    }

    /// How fast the fluid is in each cell.
    pub fn speeds(&self) -> Vec<f64> {
        let speed = |cell: usize| {
            let [rho, uy, ux] = moments(&self.f[(cell / self.n + 1) * (self.n + 2) + cell % self.n + 1]);
            if self.solid[cell] { 0.0 } else { (uy * uy + ux * ux).sqrt() / rho }
        };
        (0..self.n * self.n).map(speed).collect()
    }
}
