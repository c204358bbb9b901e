//! Two arrays in turn: PolyBench's jacobi-2d, and Rodinia's Hotspot.

use tida::TileAcc;
use tida::prelude::*;

use crate::Case;

/// Some number from 0 to 1 for a cell.
pub fn noise(cell: usize) -> f64 {
    let mut z = (cell as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 40) as f64 / f64::from(1 << 24)
}

/// Steps that are compared.
const CHECKED: usize = 20;

/// The mean of a cell and its four neighbours; the outer cells stay.
pub struct Jacobi {
    acc: TileAcc,
    n: usize,
    u: TileArray<f64, 2>,
    next: TileArray<f64, 2>,
}

impl Jacobi {
    pub fn new(acc: &TileAcc, n: usize) -> tida::Result<Jacobi> {
        let u = TileArray::<f64, 2>::builder([n, n]).build(acc)?;
        let next = u.like()?;
        Ok(Jacobi { acc: acc.clone(), n, u, next })
    }
}

impl Case for Jacobi {
    fn record(&mut self, steps: usize) -> tida::Result<()> {
        let last = self.n as i64 - 1;
        for _ in 0..steps {
            let Jacobi { u, next, .. } = self;
            for tile in TileIter::new(u).within([1, 1], [last, last]) {
                compute(
                    &tile,
                    (&mut *next, &*u),
                    kernel!(|next, u, at| {
                        next[at] = 0.2 * (u[at] + u[at - [0, 1]] + u[at + [0, 1]] + u[at + [1, 0]] + u[at - [1, 0]]);
                    }),
                )?;
            }
            std::mem::swap(u, next);
        }
        Ok(())
    }

    fn acc(&self) -> &TileAcc {
        &self.acc
    }

    fn is_right(&mut self) -> tida::Result<bool> {
        let n = self.n;
        let mut plain: Vec<f64> = (0..n * n).map(noise).collect();
        for array in [&mut self.u, &mut self.next] {
            array.fill(|[j, i]| noise(j * n + i))?;
        }
        self.record(CHECKED)?;
        for _ in 0..CHECKED {
            let mut next = plain.clone();
            for j in 1..n - 1 {
                for c in j * n + 1..j * n + n - 1 {
                    next[c] = 0.2 * (plain[c] + plain[c - 1] + plain[c + 1] + plain[c + n] + plain[c - n]);
                }
            }
            plain = next;
        }
        Ok(self.u.read_box(self.u.domain())? == plain)
    }
}

/// Hotspot: the ghosts are those of the nearest cells, filled before each step.
pub struct Hotspot {
    acc: TileAcc,
    n: usize,
    u: TileArray<f32, 2>,
    next: TileArray<f32, 2>,
    power: TileArray<f32, 2>,
}

/// How far a step goes, and how much goes to neighbours and into the air.
pub const CHIP: [f32; 3] = [0.01, 0.1, 0.002];

impl Hotspot {
    pub fn new(acc: &TileAcc, n: usize) -> tida::Result<Hotspot> {
        let build = || TileArray::<f32, 2>::builder([n, n]).ghost(1).boundary(Boundary::ReflectEven).build(acc);
        let (u, mut power) = (build()?, build()?);
        power.fill(|[j, i]| noise(n * n + j * n + i) as f32)?;
        Ok(Hotspot { acc: acc.clone(), n, next: u.like()?, u, power })
    }
}

impl Case for Hotspot {
    fn record(&mut self, steps: usize) -> tida::Result<()> {
        let [step, across, air] = CHIP;
        for _ in 0..steps {
            let Hotspot { u, next, power, .. } = self;
            u.fill_ghosts()?;
            for tile in TileIter::new(u) {
                compute(
                    &tile,
                    (&mut *next, &*u, &*power),
                    kernel!(|next, u, power, at| {
                        let own = u[at];
                        let along = (u[at + [1, 0]] + u[at - [1, 0]] - 2.0 * own) * across;
                        let beside = (u[at + [0, 1]] + u[at - [0, 1]] - 2.0 * own) * across;
                        next[at] = own + step * (power[at] + along + beside + (80.0 - own) * air);
                    }),
                )?;
            }
            std::mem::swap(u, next);
        }
        Ok(())
    }

    fn acc(&self) -> &TileAcc {
        &self.acc
    }

    fn is_right(&mut self) -> tida::Result<bool> {
        let (n, [step, across, air]) = (self.n, CHIP);
        let start = |cell: usize| 320.0 + noise(cell) as f32;
        let mut plain: Vec<f32> = (0..n * n).map(start).collect();
        self.u.fill(|[j, i]| start(j * n + i))?;
        self.record(CHECKED)?;
        for _ in 0..CHECKED {
            let of = |j: usize, i: usize| {
                let at = |j: usize, i: usize| plain[j.min(n - 1) * n + i.min(n - 1)];
                let own = at(j, i);
                let along = (at(j + 1, i) + at(j.saturating_sub(1), i) - 2.0 * own) * across;
                let beside = (at(j, i + 1) + at(j, i.saturating_sub(1)) - 2.0 * own) * across;
                let power = noise(n * n + j * n + i) as f32;
                own + step * (power + along + beside + (80.0 - own) * air)
            };
            plain = (0..n * n).map(|cell| of(cell / n, cell % n)).collect();
        }
        Ok(self.u.read_box(self.u.domain())? == plain)
    }
}
