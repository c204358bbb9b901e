//! The lattice Boltzmann method with walls half way between cells: what would come from a wall is what went there.

use tida::prelude::*;

use crate::{Outcome, measured, random};

type Fluid = TileArray<[f64; 9], 2>;

const N: usize = 2048;
const STEPS: usize = 5;
const OMEGA: f64 = 1.2;
/// How fast the lid of the cavity moves.
const LID: f64 = 0.05;

/// Cells along `x` that a population moves in a step.
const CX: [i64; 9] = [0, 1, 0, -1, 0, 1, -1, -1, 1];
/// Along `y`.
const CY: [i64; 9] = [0, 0, 1, 0, -1, 1, 1, -1, -1];
/// The population that moves the other way.
const OPPOSITE: [usize; 9] = [0, 3, 4, 1, 2, 7, 8, 5, 6];
/// The share of the density that each population has at rest.
const W: [f64; 9] =
    [4.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0];

/// Steps of a fluid nearly at rest, of which `step` records one.
fn stepped(
    acc: &TileAcc,
    boundary: Boundary<[f64; 9]>,
    step: impl Fn(&mut Fluid, &Fluid) -> tida::Result<()>,
) -> tida::Result<Outcome> {
    let mut f = Fluid::builder([N, N]).ghost(1).boundary(boundary).build(acc)?;
    f.fill(|[y, x]| W.map(|w| w * (1.0 + 0.1 * random(y * N + x))))?;
    let mut next = f.like()?;
    next.fill_value([0.0; 9])?;
    let run = |(f, next): &mut (Fluid, Fluid)| {
        for _ in 0..STEPS {
            f.fill_ghosts()?;
            step(next, f)?;
            std::mem::swap(f, next);
        }
        Ok(())
    };
    let result = |(f, _): &(Fluid, Fluid)| Ok(f.read_box(f.domain())?.concat());
    measured(acc, (f, next), run, result)
}

/// A cavity whose lid, the wall behind the last row, moves along `x`.
pub fn cavity(acc: &TileAcc) -> tida::Result<Outcome> {
    let last = N as i64 - 1;
    stepped(acc, Boundary::Fixed([0.0; 9]), |next, f| {
        for tile in TileIter::new(f) {
            compute(
                &tile,
                (&mut *next, f),
                kernel!(|next, f, at| {
                    let [y, x] = at;
                    let pushed = if y == last { LID / 6.0 } else { 0.0 };
                    let f0 = f[at][0];
                    let f1 = if x == 0 { f[at][3] } else { f[at - [0, 1]][1] };
                    let f2 = if y == 0 { f[at][4] } else { f[at - [1, 0]][2] };
                    let f3 = if x == last { f[at][1] } else { f[at + [0, 1]][3] };
                    let f4 = if y == last { f[at][2] } else { f[at + [1, 0]][4] };
                    let f5 = if x == 0 || y == 0 { f[at][7] } else { f[at - [1, 1]][5] };
                    let f6 = if x == last || y == 0 { f[at][8] } else { f[at - [1, -1]][6] };
                    let f7 = if x == last || y == last { f[at][5] - pushed } else { f[at + [1, 1]][7] };
                    let f8 = if x == 0 || y == last { f[at][6] + pushed } else { f[at + [1, -1]][8] };
                    let rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
                    let ux = (f1 - f3 + f5 - f6 - f7 + f8) / rho;
                    let uy = (f2 - f4 + f5 + f6 - f7 - f8) / rho;
                    let (sum, difference) = (ux + uy, ux - uy);
                    let base = 1.0 - 1.5 * (ux * ux + uy * uy);
                    let keep = 1.0 - OMEGA;
                    let (rest, near, far) = (OMEGA * W[0] * rho, OMEGA * W[1] * rho, OMEGA * W[5] * rho);
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

/// A periodic box with four round obstacles, which a second array marks; the directions come from tables.
pub fn solid(acc: &TileAcc) -> tida::Result<Outcome> {
    let mut solid = TileArray::<u8, 2>::builder([N, N]).ghost(1).boundary(Boundary::Periodic).build(acc)?;
    solid.fill(|[y, x]| {
        let from = |place: usize| (place % (N / 2)) as i64 - N as i64 / 4;
        u8::from(from(y) * from(y) + from(x) * from(x) < (N * N / 256) as i64)
    })?;
    solid.fill_ghosts()?;
    stepped(acc, Boundary::Periodic, |next, f| {
        for tile in TileIter::new(f) {
            compute(
                &tile,
                (&mut *next, f, &solid),
                kernel!(|next, f, solid, at| {
                    let mut pulled = [0.0; 9];
                    let mut rho = 0.0;
                    let mut ux = 0.0;
                    let mut uy = 0.0;
                    for k in 0..9 {
                        let from = at - [CY[k], CX[k]];
                        let p = if solid[from] == 1 { f[at][OPPOSITE[k]] } else { f[from][k] };
                        pulled[k] = p;
                        rho += p;
                        ux += CX[k] as f64 * p;
                        uy += CY[k] as f64 * p;
                    }
                    ux /= rho;
                    uy /= rho;
                    let base = 1.0 - 1.5 * (ux * ux + uy * uy);
                    for k in 0..9 {
                        let along = CX[k] as f64 * ux + CY[k] as f64 * uy;
                        let rest = W[k] * rho * (base + 3.0 * along + 4.5 * along * along);
                        pulled[k] += OMEGA * (rest - pulled[k]);
                    }
                    next[at] = pulled;
                }),
            )?;
        }
        Ok(())
    })
}
