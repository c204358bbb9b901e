//! The flow of `lbm2d` by plain loops.

use crate::lbm2d::{CX, CY, SPEED, W, equilibrium, is_solid, omega};

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
fn collided(mut f: [f64; 9], omega: f64) -> [f64; 9] {
    let [rho, uy, ux] = moments(&f);
    let (uy, ux) = (uy / rho, ux / rho);
    let base = 1.0 - 1.5 * (uy * uy + ux * ux);
    for q in 0..9 {
        let along = CY[q] as f64 * uy + CX[q] as f64 * ux;
        f[q] += omega * (W[q] * rho * (base + 3.0 * along + 4.5 * along * along) - f[q]);
    }
    f
}

/// How fast the fluid is in each of `n` by `n` cells after some steps.
pub fn speeds(n: usize, steps: u64) -> Vec<f64> {
    // With a layer of cells around.
    let wide = n + 2;
    let mut f = vec![equilibrium(1.0, 0.0, SPEED); wide * wide];
    let mut next = f.clone();
    let solid: Vec<bool> = (0..n * n).map(|cell| is_solid(n, [cell / n, cell % n])).collect();
    let omega = omega(n);
    for _ in 0..steps {
        // The first column stays as it is in both. The last is that before it, the outer rows are those of the other
        // side.
        for row in f.chunks_exact_mut(wide) {
            row[n + 1] = row[n];
        }
        f.copy_within(n * wide..(n + 1) * wide, 0);
        f.copy_within(wide..2 * wide, (n + 1) * wide);
        for y in 0..n {
            for x in 0..n {
                let at = (y + 1) * wide + x + 1;
                let g: [f64; 9] = std::array::from_fn(|q| f[(at as i64 - CY[q] * wide as i64 - CX[q]) as usize][q]);
                let back = [0, 3, 4, 1, 2, 7, 8, 5, 6];
                next[at] = if solid[y * n + x] { back.map(|q| g[q]) } else { collided(g, omega) };
            }
        }
        std::mem::swap(&mut f, &mut next);
    }
    let speed = |cell: usize| {
        let [rho, uy, ux] = moments(&f[(cell / n + 1) * wide + cell % n + 1]);
        if solid[cell] { 0.0 } else { (uy * uy + ux * ux).sqrt() / rho }
    };
    (0..n * n).map(speed).collect()
}
