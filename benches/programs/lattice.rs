//! The lattice Boltzmann method in two axes with nine velocities (D2Q9), collisions after Bhatnagar, Gross and Krook.

use tida::prelude::*;

use crate::{Outcome, measured, random};

const N: usize = 2048;
const STEPS: usize = 5;
const OMEGA: f64 = 1.2;

/// Cells along `x` that a population moves in a step.
const CX: [i64; 9] = [0, 1, 0, -1, 0, 1, -1, -1, 1];
/// Along `y`.
const CY: [i64; 9] = [0, 0, 1, 0, -1, 1, 1, -1, -1];
/// The share of the density that each population has at rest.
const WEIGHTS: [f64; 9] =
    [4.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0];

/// The numbers of the method in each precision.
pub trait Populations: Real {
    /// How fast collisions relax.
    const OMEGA: Self;
    /// The shares.
    const W: [Self; 9];
}

impl Populations for f64 {
    const OMEGA: f64 = OMEGA;
    const W: [f64; 9] = WEIGHTS;
}

impl Populations for f32 {
    const OMEGA: f32 = OMEGA as f32;
    const W: [f32; 9] = {
        let mut w = [0.0; 9];
        let mut k = 0;
        while k < 9 {
            w[k] = WEIGHTS[k] as f32;
            k += 1;
        }
        w
    };
}

type Fluid<T> = TileArray<[T; 9], 2>;

/// Steps of a fluid nearly at rest, of which `step` records one.
fn stepped<T: Populations>(
    acc: &TileAcc,
    step: impl Fn(&mut Fluid<T>, &Fluid<T>) -> tida::Result<()>,
) -> tida::Result<Outcome> {
    let builder = TileArray::<[T; 9], 2>::builder([N, N]).ghost(1).boundary(Boundary::Periodic);
    let mut f = builder.build(acc)?;
    f.fill(|[y, x]| WEIGHTS.map(|w| T::of(w * (1.0 + 0.1 * random(y * N + x)))))?;
    let mut next = f.like()?;
    next.fill_value([T::ZERO; 9])?;
    let run = |(f, next): &mut (Fluid<T>, Fluid<T>)| {
        for _ in 0..STEPS {
            f.fill_ghosts()?;
            step(next, f)?;
            std::mem::swap(f, next);
        }
        Ok(())
    };
    let result = |(f, _): &(Fluid<T>, Fluid<T>)| {
        let cells = f.read_box(f.domain())?;
        Ok(cells.iter().flatten().map(|f| f.to_f64()).collect())
    };
    measured(acc, (f, next), run, result)
}

/// Each direction by itself.
pub fn written_out<T: Populations>(acc: &TileAcc) -> tida::Result<Outcome> {
    stepped::<T>(acc, |next, f| {
        for tile in TileIter::new(f) {
            compute(
                &tile,
                (&mut *next, f),
                kernel!(T; |next, f, at| {
                    let f0 = f[at][0];
                    let f1 = f[at - [0, 1]][1];
                    let f2 = f[at - [1, 0]][2];
                    let f3 = f[at + [0, 1]][3];
                    let f4 = f[at + [1, 0]][4];
                    let f5 = f[at - [1, 1]][5];
                    let f6 = f[at - [1, -1]][6];
                    let f7 = f[at + [1, 1]][7];
                    let f8 = f[at + [1, -1]][8];
                    let rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
                    let ux = (f1 - f3 + f5 - f6 - f7 + f8) / rho;
                    let uy = (f2 - f4 + f5 + f6 - f7 - f8) / rho;
                    let (sum, difference) = (ux + uy, ux - uy);
                    let base = 1.0 - 1.5 * (ux * ux + uy * uy);
                    let keep = 1.0 - T::OMEGA;
                    let (rest, near, far) = (T::OMEGA * T::W[0] * rho, T::OMEGA * T::W[1] * rho, T::OMEGA * T::W[5] * rho);
                    next[at] = [
                        keep * f0 + rest * base,
                        keep * f1 + near * (base + 3.0 * ux + 4.5 * ux * ux),
                        keep * f2 + near * (base + 3.0 * uy + 4.5 * uy * uy),
                        keep * f3 + near * (base - 3.0 * ux + 4.5 * ux * ux),
                        keep * f4 + near * (base - 3.0 * uy + 4.5 * uy * uy),
                        keep * f5 + far * (base + 3.0 * sum + 4.5 * sum * sum),
                        keep * f6 + far * (base - 3.0 * difference + 4.5 * difference * difference),
                        keep * f7 + far * (base - 3.0 * sum + 4.5 * sum * sum),
                        keep * f8 + far * (base + 3.0 * difference + 4.5 * difference * difference),
                    ];
                }),
            )?;
        }
        Ok(())
    })
}

/// Loops over the tables.
pub fn from_tables<T: Populations>(acc: &TileAcc) -> tida::Result<Outcome> {
    stepped::<T>(acc, |next, f| {
        for tile in TileIter::new(f) {
            compute(
                &tile,
                (&mut *next, f),
                kernel!(T; |next, f, at| {
                    let mut pulled = [0.0; 9];
                    let mut rho = 0.0;
                    let mut ux = 0.0;
                    let mut uy = 0.0;
                    for k in 0..9 {
                        let p = f[at - [CY[k], CX[k]]][k];
                        pulled[k] = p;
                        rho += p;
                        ux += CX[k] as T * p;
                        uy += CY[k] as T * p;
                    }
                    ux /= rho;
                    uy /= rho;
                    let base = 1.0 - 1.5 * (ux * ux + uy * uy);
                    for k in 0..9 {
                        let along = CX[k] as T * ux + CY[k] as T * uy;
                        let rest = T::W[k] * rho * (base + 3.0 * along + 4.5 * along * along);
                        pulled[k] += T::OMEGA * (rest - pulled[k]);
                    }
                    next[at] = pulled;
                }),
            )?;
        }
        Ok(())
    })
}
