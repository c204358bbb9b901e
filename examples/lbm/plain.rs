//! The same method by plain nested loops, with the operations of the kernel in their order.

use tida::Real;

use crate::d3q19::{VELOCITIES, weight};

/// `steps` steps in a periodic box of a cell's populations after one another; what a step computes is rounded by
/// `round`.
pub fn solved<T: Real>(shape: [usize; 3], start: &[T], steps: u64, omega: T, round: impl Fn(T) -> T) -> Vec<T> {
    let [_, ny, nx] = shape;
    let mut f = start.to_vec();
    let mut next = f.clone();
    for _ in 0..steps {
        for (cell, out) in next.chunks_exact_mut(19).enumerate() {
            let at = [cell / nx / ny, cell / nx % ny, cell % nx];
            let mut pulled = [T::of(0.0); 19];
            for (n, (population, velocity)) in pulled.iter_mut().zip(&VELOCITIES).enumerate() {
                // Where it comes from, behind the face that is opposite if need be.
                let from = |d: usize| (at[d] as i64 - velocity[d]).rem_euclid(shape[d] as i64) as usize;
                *population = f[((from(0) * ny + from(1)) * nx + from(2)) * 19 + n];
            }
            collide(&mut pulled, omega);
            out.iter_mut().zip(pulled).for_each(|(out, population)| *out = round(population));
        }
        std::mem::swap(&mut f, &mut next);
    }
    f
}

/// The first population and then pairs, whose sums are added in the order of the kernel.
fn collide<T: Real>(f: &mut [T; 19], omega: T) {
    let one = |x: f64| T::of(x);
    let pairs = |range: std::ops::Range<usize>| range.map(|pair| [2 * pair + 1, 2 * pair + 2]);
    let sum = |first: T, range| pairs(range).fold(first, |sum, [a, b]: [usize; 2]| sum + (f[a] + f[b]));
    let across = sum(f[7] + f[8], 4..9);
    let over = sum(f[0], 0..3) + across;
    let rho = one(1.0) + over;
    let inverse = one(1.0) / rho;
    let velocity: [T; 3] = std::array::from_fn(|axis| {
        let moving = pairs(0..9).filter(|[a, _]| VELOCITIES[*a][axis] != 0);
        let sum = moving.fold(None, |sum: Option<T>, [a, b]| match (sum, VELOCITIES[a][axis]) {
            (None, _) => Some(f[a] - f[b]),
            (Some(sum), 1) => Some(sum + (f[a] - f[b])),
            (Some(sum), _) => Some(sum - (f[a] - f[b])),
        });
        sum.unwrap_or(one(0.0)) * inverse
    });
    let [z, y, x] = velocity;
    let base = over - one(1.5) * rho * (x * x + y * y + z * z);
    let relax = |f: T, weight: T, equilibrium: T| omega.mul_add(weight.mul_add(equilibrium, -f), f);
    for [a, b] in pairs(0..9) {
        // The last axis counts first, as in the kernel.
        let mut along: Option<T> = None;
        for axis in [2, 1, 0] {
            along = match (along, VELOCITIES[a][axis]) {
                (along, 0) => along,
                (None, _) => Some(velocity[axis]),
                (Some(along), 1) => Some(along + velocity[axis]),
                (Some(along), _) => Some(along - velocity[axis]),
            };
        }
        let (along, weight) = (along.unwrap_or(one(0.0)), one(weight(a)));
        let (even, odd) = ((one(4.5) * rho * along).mul_add(along, base), one(3.0) * rho * along);
        (f[a], f[b]) = (relax(f[a], weight, even + odd), relax(f[b], weight, even - odd));
    }
    f[0] = relax(f[0], one(weight(0)), base);
}

/// The half that is nearest: 11 significant bits, and no finer than 2^-24.
pub fn half(x: f64) -> f64 {
    let exponent = ((x.to_bits() >> 52 & 0x7ff) as i64 - 1023).max(-14);
    let last = f64::from_bits(((exponent - 10 + 1023) as u64) << 52);
    (x / last).round_ties_even() * last
}

/// Density and velocity `[z, y, x]` of a cell.
pub fn moments(f: &[f64]) -> (f64, [f64; 3]) {
    let rho = 1.0 + f.iter().sum::<f64>();
    let along = |axis: usize| f.iter().zip(&VELOCITIES).map(|(f, c)| f * c[axis] as f64).sum::<f64>() / rho;
    (rho, [along(0), along(1), along(2)])
}

/// The mean of the squared velocity.
pub fn energy(f: &[f64]) -> f64 {
    let squared = f.chunks_exact(19).map(|cell| moments(cell).1.iter().map(|v| v * v).sum::<f64>());
    squared.sum::<f64>() / (f.len() / 19) as f64
}

/// The largest difference of velocities.
pub fn apart(a: &[f64], b: &[f64]) -> f64 {
    let cells = a.chunks_exact(19).zip(b.chunks_exact(19));
    let differences = cells.flat_map(|(a, b)| {
        let (a, b) = (moments(a).1, moments(b).1);
        [0, 1, 2].map(|axis| (a[axis] - b[axis]).abs())
    });
    differences.fold(0.0, f64::max)
}
