//! Programs as someone writes them who has just read the guide: coefficients in an array, six fields, a filter by a
//! table, a window by loops, a loop that ends early, and an automaton.

use tida::prelude::*;

use crate::{Outcome, measured, random, values};

/// Steps in one run.
const STEPS: usize = 4;

/// Diffusion through a material that differs from cell to cell: between two cells it conducts by their harmonic mean.
pub fn material(acc: &TileAcc) -> tida::Result<Outcome> {
    let n = 1024;
    let mut u = TileArray::<f64, 2>::builder([n, n]).ghost(1).boundary(Boundary::Periodic).build(acc)?;
    u.fill(|[j, i]| random(j * n + i))?;
    let mut k = u.like()?;
    k.fill(|[j, i]| 0.1 + random(7 * (j * n + i)))?;
    k.fill_ghosts()?;
    let next = u.like()?;
    let rate = 0.1;
    let run = |(now, next): &mut (TileArray<f64, 2>, TileArray<f64, 2>)| {
        for _ in 0..STEPS {
            now.fill_ghosts()?;
            for tile in TileIter::new(now) {
                compute(
                    &tile,
                    (&mut *next, &*now, &k),
                    kernel!(|next, u, k, at| {
                        let mut flow = 0.0;
                        for side in [[0, 1], [0, -1], [1, 0], [-1, 0]] {
                            let mean = 2.0 * k[at] * k[at + side] / (k[at] + k[at + side]);
                            flow += mean * (u[at + side] - u[at]);
                        }
                        next[at] = u[at] + rate * flow;
                    }),
                )?;
            }
            std::mem::swap(now, next);
        }
        Ok(())
    };
    measured(acc, (u, next), run, |(u, _)| values(u))
}

/// Three components of a field.
type Field = [TileArray<f64, 3>; 3];

/// Maxwell's equations in three axes by Yee's scheme: six arrays, two loops a step. Conducting walls.
pub fn maxwell(acc: &TileAcc) -> tida::Result<Outcome> {
    let n = 128;
    let mut first = TileArray::<f64, 3>::builder([n; 3]).ghost(1).boundary(Boundary::Fixed(0.0)).build(acc)?;
    first.fill(|[k, j, i]| random((k * n + j) * n + i))?;
    let like = |part: usize| -> tida::Result<TileArray<f64, 3>> {
        let mut array = first.like()?;
        array.fill(|[k, j, i]| random((k * n + j) * n + i + 3 * part))?;
        Ok(array)
    };
    let fields: (Field, Field) = ([like(0)?, like(1)?, like(2)?], [like(3)?, like(4)?, like(5)?]);
    let run = |(electric, magnetic): &mut (Field, Field)| {
        for _ in 0..STEPS {
            step(electric, magnetic)?;
        }
        Ok(())
    };
    measured(acc, fields, run, |(electric, magnetic)| {
        let parts = electric.iter().chain(magnetic.iter()).map(values).collect::<tida::Result<Vec<_>>>()?;
        Ok(parts.concat())
    })
}

fn step([ex, ey, ez]: &mut Field, [hx, hy, hz]: &mut Field) -> tida::Result<()> {
    let c = 0.5;
    for field in [&mut *ex, &mut *ey, &mut *ez] {
        field.fill_ghosts()?;
    }
    for tile in TileIter::new(hx) {
        compute(
            &tile,
            (&mut *hx, &mut *hy, &mut *hz, &*ex, &*ey, &*ez),
            kernel!(|hx, hy, hz, ex, ey, ez, at| {
                let (z, y, x) = (at + [1, 0, 0], at + [0, 1, 0], at + [0, 0, 1]);
                hx[at] += c * ((ey[z] - ey[at]) - (ez[y] - ez[at]));
                hy[at] += c * ((ez[x] - ez[at]) - (ex[z] - ex[at]));
                hz[at] += c * ((ex[y] - ex[at]) - (ey[x] - ey[at]));
            }),
        )?;
    }
    for field in [&mut *hx, &mut *hy, &mut *hz] {
        field.fill_ghosts()?;
    }
    for tile in TileIter::new(ex) {
        compute(
            &tile,
            (&mut *ex, &mut *ey, &mut *ez, &*hx, &*hy, &*hz),
            kernel!(|ex, ey, ez, hx, hy, hz, at| {
                let (z, y, x) = (at - [1, 0, 0], at - [0, 1, 0], at - [0, 0, 1]);
                ex[at] += c * ((hz[at] - hz[y]) - (hy[at] - hy[z]));
                ey[at] += c * ((hx[at] - hx[z]) - (hz[at] - hz[x]));
                ez[at] += c * ((hy[at] - hy[x]) - (hx[at] - hx[y]));
            }),
        )?;
    }
    Ok(())
}

/// A filter of eight taps along rows, by a table that the kernel captures.
pub fn taps(acc: &TileAcc) -> tida::Result<Outcome> {
    let n = 2048;
    let mut u = TileArray::<f32, 2>::builder([n, n]).ghost(4).boundary(Boundary::Fixed(0.0)).build(acc)?;
    u.fill(|[j, i]| random(j * n + i) as f32)?;
    u.fill_ghosts()?;
    let weights: [f32; 8] = std::array::from_fn(|tap| 0.25 + 0.5 * random(tap + 1) as f32);
    let run = |next: &mut TileArray<f32, 2>| {
        for tile in TileIter::new(next) {
            compute(
                &tile,
                (&mut *next, &u),
                kernel!(|next, u, at| {
                    let mut sum = 0.0;
                    for tap in 0..8 {
                        sum += weights[tap] * u[at + [0, tap as i64 - 4]];
                    }
                    next[at] = sum;
                }),
            )?;
        }
        Ok(())
    };
    measured(acc, u.like()?, run, widened)
}

/// The highest value of 5 x 5 cells, and the lowest of these.
pub fn windows(acc: &TileAcc) -> tida::Result<Outcome> {
    let n = 2048;
    let mut u = TileArray::<f32, 2>::builder([n, n]).ghost(2).boundary(Boundary::Periodic).build(acc)?;
    u.fill(|[j, i]| random(j * n + i) as f32)?;
    u.fill_ghosts()?;
    let state = (u.like()?, u.like()?);
    let run = |(high, low): &mut (TileArray<f32, 2>, TileArray<f32, 2>)| {
        for tile in TileIter::new(high) {
            compute(
                &tile,
                (&mut *high, &u),
                kernel!(|high, u, at| {
                    let mut highest = u[at];
                    for j in -2..=2 {
                        for i in -2..=2 {
                            highest = highest.max(u[at + [j, i]]);
                        }
                    }
                    high[at] = highest;
                }),
            )?;
        }
        high.fill_ghosts()?;
        for tile in TileIter::new(low) {
            compute(
                &tile,
                (&mut *low, &*high),
                kernel!(|low, high, at| {
                    let mut lowest = high[at];
                    for j in -2..=2 {
                        for i in -2..=2 {
                            if high[at + [j, i]] < lowest {
                                lowest = high[at + [j, i]];
                            }
                        }
                    }
                    low[at] = lowest;
                }),
            )?;
        }
        Ok(())
    };
    measured(acc, state, run, |(_, low)| widened(low))
}

/// How often `z * z + c` stays near 0, at most 100 times: a loop that ends early.
pub fn escape(acc: &TileAcc) -> tida::Result<Outcome> {
    let n = 512;
    let counts = TileArray::<i32, 2>::builder([n, n]).build(acc)?;
    let width = 3.0 / n as f64;
    let run = |counts: &mut TileArray<i32, 2>| {
        for tile in TileIter::new(counts) {
            compute(
                &tile,
                &mut *counts,
                kernel!(|counts, at| {
                    let (re, im) = (at[1] as f64 * width - 2.0, at[0] as f64 * width - 1.5);
                    let (mut x, mut y, mut turns) = (0.0, 0.0, 0);
                    for _ in 0..100 {
                        if x * x + y * y > 4.0 {
                            break;
                        }
                        let next = x * x - y * y + re;
                        y = 2.0 * x * y + im;
                        x = next;
                        turns += 1;
                    }
                    counts[at] = turns;
                }),
            )?;
        }
        Ok(())
    };
    measured(acc, counts, run, |counts| Ok(counts.read_box(counts.domain())?.into_iter().map(f64::from).collect()))
}

/// An automaton of bytes and one of 32 bits: a cell lives by how many of its neighbours do, and ages.
macro_rules! automaton {
    ($name:ident, $type:ty) => {
        /// Cells live and age by their neighbours.
        pub fn $name(acc: &TileAcc) -> tida::Result<Outcome> {
            let n = 2048;
            let mut u = TileArray::<$type, 2>::builder([n, n]).ghost(1).boundary(Boundary::Periodic).build(acc)?;
            u.fill(|[j, i]| if random(j * n + i) < 0.3 { 1 } else { 0 })?;
            let next = u.like()?;
            let run = |(now, next): &mut (TileArray<$type, 2>, TileArray<$type, 2>)| {
                for _ in 0..STEPS {
                    now.fill_ghosts()?;
                    for tile in TileIter::new(now) {
                        compute(
                            &tile,
                            (&mut *next, &*now),
                            kernel!(|next, u, at| {
                                let mut living = 0;
                                for j in -1..=1 {
                                    for i in -1..=1 {
                                        if u[at + [j, i]] > 0 {
                                            living += 1;
                                        }
                                    }
                                }
                                let age = u[at];
                                next[at] = match living {
                                    3 => (age + 1).min(100),
                                    4 if age > 0 => (age + 1).min(100),
                                    _ => 0,
                                };
                            }),
                        )?;
                    }
                    std::mem::swap(now, next);
                }
                Ok(())
            };
            measured(acc, (u, next), run, |(u, _)| {
                Ok(u.read_box(u.domain())?.into_iter().map(|age| age as f64).collect())
            })
        }
    };
}

automaton!(automaton_u8, u8);
automaton!(automaton_i32, i32);

/// All values of an array.
fn widened(u: &TileArray<f32, 2>) -> tida::Result<Vec<f64>> {
    Ok(u.read_box(u.domain())?.into_iter().map(f64::from).collect())
}
