//! Matrices: each cell gathers rows and columns of whole arrays.

use tida::prelude::*;

use crate::{Outcome, measured, random, values};

const N: usize = 1024;

/// `C = A B`, the arrays cut into regions.
pub fn gemm(acc: &TileAcc, regions: [usize; 2]) -> tida::Result<Outcome> {
    let mut a = TileArray::<f64, 2>::builder([N, N]).regions(regions).build(acc)?;
    let (mut b, mut c) = (a.like()?, a.like()?);
    a.fill(|[i, j]| random(i * N + j))?;
    b.fill(|[i, j]| random(N * N + i * N + j))?;
    c.fill_value(0.0)?;
    let n = N as i64;
    let run = |c: &mut TileArray<f64, 2>| {
        for tile in TileIter::new(c) {
            compute(
                &tile,
                (&mut *c, all(&a), all(&b)),
                kernel!(|c, a, b, at| {
                    let [i, j] = at;
                    let mut s = 0.0;
                    for k in 0..n {
                        s += a[[i, k]] * b[[k, j]];
                    }
                    c[at] = s;
                }),
            )?;
        }
        Ok(())
    };
    measured(acc, c, run, values)
}

/// What a covariance is computed with: the data less the means of its columns, those means, and the matrix.
struct Covariance {
    means: TileArray<f64, 2>,
    centred: TileArray<f64, 2>,
    matrix: TileArray<f64, 2>,
}

/// The covariances of the columns of a matrix, as PolyBench has it.
pub fn covariance(acc: &TileAcc) -> tida::Result<Outcome> {
    let mut data = TileArray::<f64, 2>::builder([N, N]).build(acc)?;
    data.fill(|[i, j]| random(i * N + j) + random(7 * i) * random(11 * j))?;
    let means = TileArray::builder([1, N]).build(acc)?;
    let state = Covariance { means, centred: data.like()?, matrix: data.like()? };
    let (n, rows) = (N as i64, N as f64);
    let run = |Covariance { means, centred, matrix }: &mut Covariance| {
        for tile in TileIter::new(means) {
            compute(
                &tile,
                (&mut *means, all(&data)),
                kernel!(|mean, data, at| {
                    let mut s = 0.0;
                    for k in 0..n {
                        s += data[[k, at[1]]];
                    }
                    mean[at] = s / rows;
                }),
            )?;
        }
        for tile in TileIter::new(centred) {
            compute(
                &tile,
                (&mut *centred, &data, all(&*means)),
                kernel!(|centred, data, mean, at| centred[at] = data[at] - mean[[0, at[1]]]),
            )?;
        }
        for tile in TileIter::new(matrix) {
            compute(
                &tile,
                (&mut *matrix, all(&*centred)),
                kernel!(|matrix, data, at| {
                    let [i, j] = at;
                    let mut s = 0.0;
                    for k in 0..n {
                        s += data[[k, i]] * data[[k, j]];
                    }
                    matrix[at] = s / (rows - 1.0);
                }),
            )?;
        }
        Ok(())
    };
    measured(acc, state, run, |state| values(&state.matrix))
}
