//! The lattice Boltzmann method of `lattice`, its populations in nine arrays.

use tida::prelude::*;

use crate::{Outcome, measured, random};

const N: usize = 2048;
const STEPS: usize = 5;
/// The share of the density that each population has at rest.
const WEIGHTS: [f64; 9] =
    [4.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0];

type Fluid<T> = Vec<TileArray<T, 2>>;

/// What becomes of a cell's populations when they meet.
#[kernel_fn]
fn collide<T: Real>(f: [T; 9]) -> [T; 9] {
    let [f0, f1, f2, f3, f4, f5, f6, f7, f8] = f;
    let rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
    let ux = (f1 - f3 + f5 - f6 - f7 + f8) / rho;
    let uy = (f2 - f4 + f5 + f6 - f7 - f8) / rho;
    let (sum, difference) = (ux + uy, ux - uy);
    let base = T::lit(1.0) - T::lit(1.5) * (ux * ux + uy * uy);
    let omega = T::lit(1.2);
    let keep = T::lit(1.0) - omega;
    let rest = omega * (T::lit(4.0) / T::lit(9.0)) * rho;
    let near = omega * (T::lit(1.0) / T::lit(9.0)) * rho;
    let far = omega * (T::lit(1.0) / T::lit(36.0)) * rho;
    [
        keep * f0 + rest * base,
        keep * f1 + near * (base + T::lit(3.0) * ux + T::lit(4.5) * ux * ux),
        keep * f2 + near * (base + T::lit(3.0) * uy + T::lit(4.5) * uy * uy),
        keep * f3 + near * (base - T::lit(3.0) * ux + T::lit(4.5) * ux * ux),
        keep * f4 + near * (base - T::lit(3.0) * uy + T::lit(4.5) * uy * uy),
        keep * f5 + far * (base + T::lit(3.0) * sum + T::lit(4.5) * sum * sum),
        keep * f6 + far * (base - T::lit(3.0) * difference + T::lit(4.5) * difference * difference),
        keep * f7 + far * (base - T::lit(3.0) * sum + T::lit(4.5) * sum * sum),
        keep * f8 + far * (base + T::lit(3.0) * difference + T::lit(4.5) * difference * difference),
    ]
}

/// Steps of a fluid nearly at rest.
pub fn nine_arrays<T: Real>(acc: &TileAcc) -> tida::Result<Outcome> {
    let build = || TileArray::<T, 2>::builder([N, N]).ghost(1).boundary(Boundary::Periodic).build(acc);
    let mut f = (0..9).map(|_| build()).collect::<tida::Result<Fluid<T>>>()?;
    let mut next = (0..9).map(|_| build()).collect::<tida::Result<Fluid<T>>>()?;
    for ((array, next), w) in f.iter_mut().zip(&mut next).zip(WEIGHTS) {
        array.fill(|[y, x]| T::of(w * (1.0 + 0.1 * random(y * N + x))))?;
        next.fill_value(T::ZERO)?;
    }
    let run = |(f, next): &mut (Fluid<T>, Fluid<T>)| {
        for _ in 0..STEPS {
            for array in f.iter_mut() {
                array.fill_ghosts()?;
            }
            step(next, f)?;
            std::mem::swap(f, next);
        }
        Ok(())
    };
    measured(acc, (f, next), run, |(f, _)| cells(f))
}

/// The populations of one cell after the other.
fn cells<T: Real>(f: &Fluid<T>) -> tida::Result<Vec<f64>> {
    let planes = f.iter().map(|f| f.read_box(f.domain())).collect::<tida::Result<Vec<_>>>()?;
    Ok((0..N * N).flat_map(|cell| planes.iter().map(move |plane| plane[cell].to_f64())).collect())
}

/// A call takes 16 arrays at most, and nine that are read and nine that are written are 18.
fn step<T: Real>(next: &mut Fluid<T>, f: &Fluid<T>) -> tida::Result<()> {
    let [f0, f1, f2, f3, f4, f5, f6, f7, f8] = &f[..] else { return Ok(()) };
    let [n0, n1, n2, n3, n4, n5, n6, n7, n8] = &mut next[..] else { return Ok(()) };
    for tile in TileIter::new(f0) {
        compute(
            &tile,
            (&mut *n0, &mut *n1, &mut *n2, &mut *n3, &mut *n4, f0, f1, f2, f3, f4, f5, f6, f7, f8),
            kernel!(|n0, n1, n2, n3, n4, f0, f1, f2, f3, f4, f5, f6, f7, f8, at| {
                let after = collide::<T>([
                    f0[at],
                    f1[at - [0, 1]],
                    f2[at - [1, 0]],
                    f3[at + [0, 1]],
                    f4[at + [1, 0]],
                    f5[at - [1, 1]],
                    f6[at - [1, -1]],
                    f7[at + [1, 1]],
                    f8[at + [1, -1]],
                ]);
                n0[at] = after[0];
                n1[at] = after[1];
                n2[at] = after[2];
                n3[at] = after[3];
                n4[at] = after[4];
            }),
        )?;
        compute(
            &tile,
            (&mut *n5, &mut *n6, &mut *n7, &mut *n8, f0, f1, f2, f3, f4, f5, f6, f7, f8),
            kernel!(|n5, n6, n7, n8, f0, f1, f2, f3, f4, f5, f6, f7, f8, at| {
                let after = collide::<T>([
                    f0[at],
                    f1[at - [0, 1]],
                    f2[at - [1, 0]],
                    f3[at + [0, 1]],
                    f4[at + [1, 0]],
                    f5[at - [1, 1]],
                    f6[at - [1, -1]],
                    f7[at + [1, 1]],
                    f8[at + [1, -1]],
                ]);
                n5[at] = after[5];
                n6[at] = after[6];
                n7[at] = after[7];
                n8[at] = after[8];
            }),
        )?;
    }
    Ok(())
}
