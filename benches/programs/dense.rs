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

/// Two products in a row, and the first of them.
struct Products {
    first: TileArray<f64, 2>,
    result: TileArray<f64, 2>,
}

/// PolyBench's 2mm: `D = alpha A B C + beta D`.
pub fn two_products(acc: &TileAcc) -> tida::Result<Outcome> {
    let mut a = TileArray::<f64, 2>::builder([N, N]).build(acc)?;
    let (mut b, mut c, mut result) = (a.like()?, a.like()?, a.like()?);
    for (array, matrix) in [&mut a, &mut b, &mut c, &mut result].into_iter().enumerate() {
        matrix.fill(|[i, j]| random((array * N + i) * N + j))?;
    }
    let (n, alpha, beta) = (N as i64, 1.5, 0.8);
    let run = |Products { first, result }: &mut Products| {
        for tile in TileIter::new(first) {
            compute(
                &tile,
                (&mut *first, all(&a), all(&b)),
                kernel!(|first, a, b, at| {
                    let mut s = 0.0;
                    for k in 0..n {
                        s += alpha * a[[at[0], k]] * b[[k, at[1]]];
                    }
                    first[at] = s;
                }),
            )?;
        }
        for tile in TileIter::new(result) {
            compute(
                &tile,
                (&mut *result, all(&*first), all(&c)),
                kernel!(|d, first, c, at| {
                    let mut s = beta * d[at];
                    for k in 0..n {
                        s += first[[at[0], k]] * c[[k, at[1]]];
                    }
                    d[at] = s;
                }),
            )?;
        }
        Ok(())
    };
    let first = a.like()?;
    measured(acc, Products { first, result }, run, |products| values(&products.result))
}

/// What a correlation is computed with: the means and the deviations of the columns, the data less their means in parts
/// of their deviations, and the matrix.
struct Correlation {
    means: TileArray<f64, 2>,
    deviations: TileArray<f64, 2>,
    reduced: TileArray<f64, 2>,
    matrix: TileArray<f64, 2>,
}

/// The correlations of the columns of a matrix, as PolyBench has it.
pub fn correlation(acc: &TileAcc) -> tida::Result<Outcome> {
    let mut data = TileArray::<f64, 2>::builder([N, N]).build(acc)?;
    data.fill(|[i, j]| random(i * N + j) + random(7 * i) * random(11 * j))?;
    let means = TileArray::builder([1, N]).build(acc)?;
    let state = Correlation { deviations: means.like()?, means, reduced: data.like()?, matrix: data.like()? };
    let run = |state: &mut Correlation| {
        reduce_columns(state, &data)?;
        correlate(state)
    };
    measured(acc, state, run, |state| values(&state.matrix))
}

fn reduce_columns(state: &mut Correlation, data: &TileArray<f64, 2>) -> tida::Result<()> {
    let Correlation { means, deviations, reduced, .. } = state;
    let (n, rows) = (N as i64, N as f64);
    for tile in TileIter::new(means) {
        compute(
            &tile,
            (&mut *means, all(data)),
            kernel!(|mean, data, at| {
                let mut s = 0.0;
                for k in 0..n {
                    s += data[[k, at[1]]];
                }
                mean[at] = s / rows;
            }),
        )?;
    }
    for tile in TileIter::new(deviations) {
        compute(
            &tile,
            (&mut *deviations, &*means, all(data)),
            kernel!(|deviation, mean, data, at| {
                let mut s = 0.0;
                for k in 0..n {
                    let off = data[[k, at[1]]] - mean[at];
                    s += off * off;
                }
                let root = (s / rows).sqrt();
                deviation[at] = if root <= 0.1 { 1.0 } else { root };
            }),
        )?;
    }
    for tile in TileIter::new(reduced) {
        compute(
            &tile,
            (&mut *reduced, data, all(&*means), all(&*deviations)),
            kernel!(|reduced, data, mean, deviation, at| {
                reduced[at] = (data[at] - mean[[0, at[1]]]) / (rows.sqrt() * deviation[[0, at[1]]]);
            }),
        )?;
    }
    Ok(())
}

fn correlate(Correlation { reduced, matrix, .. }: &mut Correlation) -> tida::Result<()> {
    let n = N as i64;
    for tile in TileIter::new(matrix) {
        compute(
            &tile,
            (&mut *matrix, all(&*reduced)),
            kernel!(|matrix, data, at| {
                let [i, j] = at;
                let mut s = 0.0;
                for k in 0..n {
                    s += data[[k, i]] * data[[k, j]];
                }
                matrix[at] = if i == j { 1.0 } else { s };
            }),
        )?;
    }
    Ok(())
}
