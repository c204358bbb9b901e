//! The same solvers as plain nested loops on one thread: what every run is compared with.
//!
//! Each loop does the operations of the example's kernel in the same order and in the same type, so that results are
//! equal to the bit.

mod grid;

pub use grid::{Grid, Outside};

use tida::Real;

/// The largest difference between two fields, 0 where they hold the same bits. Two NaN are equal; a NaN against a
/// number, or fields of different lengths, differ by infinity.
pub fn max_abs_error<T: Into<f64> + Copy>(found: &[T], expected: &[T]) -> f64 {
    if found.len() != expected.len() {
        return f64::INFINITY;
    }
    let mut largest = 0.0f64;
    for (&a, &b) in found.iter().zip(expected) {
        let (a, b): (f64, f64) = (a.into(), b.into());
        if a == b || (a.is_nan() && b.is_nan()) {
            continue;
        }
        let difference = (a - b).abs();
        largest = largest.max(if difference.is_nan() { f64::INFINITY } else { difference });
    }
    largest
}

/// `steps` steps of the heat equation on 1, 2 or 3 axes: `u + alpha (sum of the neighbours - 2 D u)`.
pub fn heat<T: Real>(shape: &[usize], start: &[T], steps: u64, alpha: T, outside: Outside<T>) -> Vec<T> {
    let axes = 3 - shape.len()..3;
    let own = T::of(-2.0 * shape.len() as f64);
    let mut u = Grid::new(shape, 1, start);
    let mut next = u.clone();
    let [nz, ny, nx] = u.shape();
    for _ in 0..steps {
        u.fill_ghosts(outside);
        for row in 0..nz * ny {
            let first = u.position(row / ny, row % ny, 0);
            // One slice for each neighbour of the row.
            let near = |from: usize| &u.data[from..from + nx];
            let (c, out) = (near(first), &mut next.data[first..first + nx]);
            out.iter_mut().zip(c).for_each(|(sum, &c)| *sum = own * c);
            for axis in axes.clone() {
                let (after, before) = (near(first + u.stride(axis)), near(first - u.stride(axis)));
                for i in 0..nx {
                    out[i] += after[i] + before[i];
                }
            }
            out.iter_mut().zip(c).for_each(|(sum, &c)| *sum = c + alpha * *sum);
        }
        std::mem::swap(&mut u, &mut next);
    }
    u.cells()
}

/// `steps` times the compute-bound kernel of TiDA-acc §VI-B: `iterations` times `u + sqrt(sin² u + cos² u)`.
pub fn sincos<T: Real>(start: &[T], steps: u64, iterations: u64) -> Vec<T> {
    let mut u = start.to_vec();
    for _ in 0..steps {
        for x in &mut u {
            for _ in 0..iterations {
                let (s, c) = (x.sin(), x.cos());
                *x += (s * s + c * c).sqrt();
            }
        }
    }
    u
}

/// `steps` generations of Conway's game of life; a live cell is 1.
pub fn life(shape: &[usize], start: &[u8], steps: u64, outside: Outside<u8>) -> Vec<u8> {
    let mut u = Grid::new(shape, 1, start);
    let mut next = u.clone();
    let [_, ny, nx] = u.shape();
    let sy = u.stride(1);
    for _ in 0..steps {
        u.fill_ghosts(outside);
        for j in 0..ny {
            for i in 0..nx {
                let p = u.position(0, j, i);
                let live: u8 = [p - sy - 1, p - sy, p - sy + 1, p - 1, p + 1, p + sy - 1, p + sy, p + sy + 1]
                    .iter()
                    .map(|&q| u.data[q])
                    .sum();
                next.data[p] = u8::from(live == 3 || (live == 2 && u.data[p] == 1));
            }
        }
        std::mem::swap(&mut u, &mut next);
    }
    u.cells()
}

/// `steps` Jacobi sweeps of the Poisson equation on 2 axes, zero outside: `(sum of the neighbours + f) / 4`, where
/// `f` holds the right side times the square of the cell's width.
pub fn jacobi<T: Real>(shape: &[usize], start: &[T], f: &[T], steps: u64) -> Vec<T> {
    let mut u = Grid::new(shape, 1, start);
    let mut next = u.clone();
    let [_, ny, nx] = u.shape();
    let sy = u.stride(1);
    for _ in 0..steps {
        u.fill_ghosts(Outside::Fixed(T::ZERO));
        for j in 0..ny {
            for i in 0..nx {
                let p = u.position(0, j, i);
                let around = u.data[p + 1] + u.data[p - 1] + u.data[p + sy] + u.data[p - sy];
                next.data[p] = T::of(0.25) * (around + f[j * nx + i]);
            }
        }
        std::mem::swap(&mut u, &mut next);
    }
    u.cells()
}

/// `steps` steps of the wave equation on 2 axes, staggered: pressure at cells, velocities on faces, all velocities 0
/// at first. `c` is the time step over the cell's width (wave speed 1).
pub fn wave<T: Real>(shape: &[usize], start: &[T], steps: u64, c: T, outside: Outside<T>) -> Vec<T> {
    let mut p = Grid::new(shape, 1, start);
    let [_, ny, nx] = p.shape();
    let sy = p.stride(1);
    let mut vx = vec![T::ZERO; ny * (nx + 1)];
    let mut vy = vec![T::ZERO; (ny + 1) * nx];
    for _ in 0..steps {
        p.fill_ghosts(outside);
        for j in 0..ny {
            for i in 0..=nx {
                let q = p.position(0, j, 0) + i;
                let v = &mut vx[j * (nx + 1) + i];
                *v -= c * (p.data[q] - p.data[q - 1]);
            }
        }
        for j in 0..=ny {
            for i in 0..nx {
                let q = p.position(0, 0, i) + j * sy;
                let v = &mut vy[j * nx + i];
                *v -= c * (p.data[q] - p.data[q - sy]);
            }
        }
        for j in 0..ny {
            for i in 0..nx {
                let q = p.position(0, j, i);
                let x = j * (nx + 1) + i;
                let y = j * nx + i;
                p.data[q] -= c * (vx[x + 1] - vx[x] + vy[y + nx] - vy[y]);
            }
        }
    }
    p.cells()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_conserves_what_cannot_leave() {
        for outside in [Outside::Periodic, Outside::ReflectEven] {
            for shape in [&[60][..], &[6, 10], &[5, 4, 3]] {
                let start: Vec<f64> = (0..60).map(|i| f64::from(i * 37 % 11)).collect();
                let end = heat(shape, &start, 50, 0.1, outside);
                let (before, after): (f64, f64) = (start.iter().sum(), end.iter().sum());
                assert!((before - after).abs() < 1e-10 * before, "{shape:?} {outside:?}: {before} {after}");
                assert_ne!(start, end);
            }
        }
    }

    #[test]
    fn heat_decays_by_its_eigenvalue() {
        // With zero held one cell outside, sin(pi (i + 1) / (n + 1)) is an eigenvector.
        let n = 31;
        let mode = |i: usize| (std::f64::consts::PI * (i + 1) as f64 / (n + 1) as f64).sin();
        let start: Vec<f64> = (0..n).map(mode).collect();
        let end = heat(&[n], &start, 100, 0.25, Outside::Fixed(0.0));
        let factor = 1.0 - 0.5 * (1.0 - (std::f64::consts::PI / (n + 1) as f64).cos());
        for (a, b) in start.iter().zip(&end) {
            assert!((a * factor.powi(100) - b).abs() < 1e-12);
        }
    }

    #[test]
    fn a_blinker_blinks() {
        let row: Vec<u8> = (0..25).map(|i| u8::from((11..14).contains(&i))).collect();
        let column: Vec<u8> = (0..25).map(|i| u8::from(i % 5 == 2 && (5..20).contains(&i))).collect();
        assert_eq!(life(&[5, 5], &row, 1, Outside::Fixed(0)), column);
        assert_eq!(life(&[5, 5], &row, 2, Outside::Periodic), row);
    }

    #[test]
    fn a_glider_crosses_the_periodic_border() {
        let mut start = vec![0u8; 64];
        for (j, i) in [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)] {
            start[8 * j + i] = 1;
        }
        assert_eq!(life(&[8, 8], &start, 32, Outside::Periodic), start);
    }

    #[test]
    fn sincos_adds_one_each_time() {
        let end = sincos(&[0.0f64, 0.5], 3, 4);
        assert!((end[0] - 12.0).abs() < 1e-12 && (end[1] - 12.5).abs() < 1e-12);
    }

    #[test]
    fn jacobi_converges_to_the_solution() {
        let n = 15;
        let h = std::f64::consts::PI / (n + 1) as f64;
        let solution: Vec<f64> =
            (0..n * n).map(|p| (h * (p / n + 1) as f64).sin() * (h * (p % n + 1) as f64).sin()).collect();
        // Of this product of sines the five-point operator is 4 (1 - cos h) times itself.
        let f: Vec<f64> = solution.iter().map(|u| 4.0 * (1.0 - h.cos()) * u).collect();
        let end = jacobi(&[n, n], &vec![0.0; n * n], &f, 2000);
        assert!(end.iter().zip(&solution).all(|(a, b)| (a - b).abs() < 1e-10));
    }

    #[test]
    fn wave_keeps_its_sum_between_walls() {
        let start: Vec<f64> = (0..48).map(|i| f64::from(i * 29 % 13)).collect();
        for outside in [Outside::Periodic, Outside::ReflectEven] {
            let end = wave(&[6, 8], &start, 40, 0.5, outside);
            let (before, after): (f64, f64) = (start.iter().sum(), end.iter().sum());
            assert!((before - after).abs() < 1e-9);
            assert_ne!(start, end);
        }
    }
    #[test]
    fn a_nan_against_a_number_is_no_match() {
        assert_eq!(max_abs_error(&[1.0, f64::NAN], &[1.0, f64::NAN]), 0.0);
        assert_eq!(max_abs_error(&[1.0, f64::NAN, 1.0], &[1.0, 2.0, 1.5]), f64::INFINITY);
        assert_eq!(max_abs_error(&[f64::INFINITY], &[f64::INFINITY]), 0.0);
        assert_eq!(max_abs_error(&[1.0f32, 2.0], &[1.0, 2.5]), 0.5);
        assert_eq!(max_abs_error(&[1.0], &[1.0, 1.0]), f64::INFINITY);
    }
}
