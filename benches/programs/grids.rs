//! Prolongation, sums of products, and a kernel of many operations.

use tida::prelude::*;

use crate::{Outcome, measured, random, values};

/// Each cell of a fine grid takes the value of the coarse cell that it lies in, as in multigrid. The coarse grid is cut
/// into regions.
pub fn prolong(acc: &TileAcc, regions: [usize; 3]) -> tida::Result<Outcome> {
    let n = 256;
    let mut coarse = TileArray::<f64, 3>::builder([n / 2; 3]).regions(regions).build(acc)?;
    coarse.fill(|[k, j, i]| random((k * n + j) * n + i))?;
    let mut fine = TileArray::<f64, 3>::builder([n; 3]).build(acc)?;
    fine.fill_value(0.0)?;
    let run = |fine: &mut TileArray<f64, 3>| {
        for tile in TileIter::new(fine) {
            compute(
                &tile,
                (&mut *fine, all(&coarse)),
                kernel!(|u, e, at| u[at] = e[[at[0] / 2, at[1] / 2, at[2] / 2]]),
            )?;
        }
        Ok(())
    };
    measured(acc, fine, run, values)
}

/// Sums in one run of a row that sums.
const SUMS: usize = 10;

/// Two cubes of numbers.
fn pair(acc: &TileAcc, n: usize) -> tida::Result<[TileArray<f64, 3>; 2]> {
    let mut a = TileArray::<f64, 3>::builder([n; 3]).build(acc)?;
    let mut b = a.like()?;
    a.fill(|[k, j, i]| random((k * n + j) * n + i))?;
    b.fill(|[k, j, i]| random(7 * ((k * n + j) * n + i)))?;
    Ok([a, b])
}

/// `dot` of two arrays of `n³` cells.
pub fn dots(acc: &TileAcc, n: usize) -> tida::Result<Outcome> {
    let [a, b] = pair(acc, n)?;
    let run = |sum: &mut f64| {
        for _ in 0..SUMS {
            *sum = dot(&a, &b)?;
        }
        Ok(())
    };
    measured(acc, 0.0, run, |sum| Ok(vec![*sum]))
}

/// `norm` of an array of `n³` cells.
pub fn norms(acc: &TileAcc, n: usize) -> tida::Result<Outcome> {
    let [a, _] = pair(acc, n)?;
    let run = |sum: &mut f64| {
        for _ in 0..SUMS {
            *sum = norm(&a)?;
        }
        Ok(())
    };
    measured(acc, 0.0, run, |sum| Ok(vec![*sum]))
}

/// A row of one kernel, which the macro makes from the coefficients of a polynomial.
macro_rules! polynomial {
    ($name:ident, $kernel:ident) => {
        /// A polynomial of degree 128 in each cell.
        pub fn $name(acc: &TileAcc) -> tida::Result<Outcome> {
            let n = 1024;
            let mut u = TileArray::<f64, 2>::builder([n, n]).build(acc)?;
            u.fill(|[j, i]| random(j * n + i))?;
            let mut next = u.like()?;
            next.fill_value(0.0)?;
            let run = |next: &mut TileArray<f64, 2>| {
                for tile in TileIter::new(next) {
                    compute(&tile, (&mut *next, &u), $kernel!(
                        0.100 0.101 0.102 0.103 0.104 0.105 0.106 0.107 0.108 0.109 0.110 0.111 0.112 0.113 0.114 0.115
                        0.116 0.117 0.118 0.119 0.120 0.121 0.122 0.123 0.124 0.125 0.126 0.127 0.128 0.129 0.130 0.131
                        0.132 0.133 0.134 0.135 0.136 0.137 0.138 0.139 0.140 0.141 0.142 0.143 0.144 0.145 0.146 0.147
                        0.148 0.149 0.150 0.151 0.152 0.153 0.154 0.155 0.156 0.157 0.158 0.159 0.160 0.161 0.162 0.163
                        0.164 0.165 0.166 0.167 0.168 0.169 0.170 0.171 0.172 0.173 0.174 0.175 0.176 0.177 0.178 0.179
                        0.180 0.181 0.182 0.183 0.184 0.185 0.186 0.187 0.188 0.189 0.190 0.191 0.192 0.193 0.194 0.195
                        0.196 0.197 0.198 0.199 0.200 0.201 0.202 0.203 0.204 0.205 0.206 0.207 0.208 0.209 0.210 0.211
                        0.212 0.213 0.214 0.215 0.216 0.217 0.218 0.219 0.220 0.221 0.222 0.223 0.224 0.225 0.226 0.227
                    ))?;
                }
                Ok(())
            };
            measured(acc, next, run, values)
        }
    };
}

macro_rules! horner {
    ($($c:literal)*) => {
        kernel!(|next, u, at| {
            let x = u[at];
            let mut s = 0.5;
            $(s = s * x + $c;)*
            next[at] = s;
        })
    };
}

macro_rules! horner_fma {
    ($($c:literal)*) => {
        kernel!(|next, u, at| {
            let x = u[at];
            let mut s = 0.5f64;
            $(s = s.mul_add(x, $c);)*
            next[at] = s;
        })
    };
}

polynomial!(polynomial, horner);
polynomial!(polynomial_fma, horner_fma);
