//! Random programs of calls whose values come from all places, or all ranks: tables, sweeps in order along the first
//! axis, other resolutions, lists, sums of lines. What they see does not depend on how arrays are cut.

use tida::prelude::*;
use tida::{Result, fill_ghosts};

use crate::several::{Dice, bits, value};

/// The arrays of a program.
struct Arrays {
    u: TileArray<f64, 2>,
    v: TileArray<f64, 2>,
    /// Half of their resolution.
    half: TileArray<f64, 2>,
    table: TileArray<f64, 2>,
    line: TileArray<f64, 1>,
}

impl Arrays {
    /// Of so many regions that each of these places can have one.
    fn draw(acc: &TileAcc, places: usize, dice: &mut Dice) -> Result<Arrays> {
        let regions = places + dice.roll(2);
        let planes = 4 * regions;
        let ends = dice.pick(&[Boundary::Periodic, Boundary::ReflectOdd, Boundary::Fixed(0.5)]);
        let of = |n: usize, last: usize| {
            let builder = TileArray::<f64, 2>::builder([n, last]).regions([regions, 1]).ghost(2);
            builder.boundary_axis(0, ends).boundary_axis(1, Boundary::Extrapolate(0)).build(acc)
        };
        let (mut u, mut half) = (of(2 * planes, 128)?, of(planes, 64)?);
        let mut table = TileArray::builder([2 * planes, 3]).regions([1 + dice.roll(3), 1]).everywhere().build(acc)?;
        let most = dice.pick(&[70, 1000, 20_000]);
        let cells = 1 + dice.roll(most);
        let parts = (1 + dice.roll(3)).min(cells.div_ceil(64));
        let mut line = TileArray::builder([cells]).regions([parts]).build(acc)?;
        let salt = dice.roll(100);
        u.fill(|at| value(at, salt))?;
        half.fill(|at| value(at, salt + 1))?;
        table.fill(|at| value(at, salt + 2))?;
        line.fill(|at| value(at, salt + 3))?;
        Ok(Arrays { v: u.clone(), u, half, table, line })
    }

    /// Kernels read a table, which the host or other arrays have set.
    fn table(&mut self, dice: &mut Dice, step: usize) -> Result<()> {
        let rows = self.table.domain().hi[0];
        match dice.roll(4) {
            0 => {
                let mut parts = TileArray::<f64, 2>::builder(self.table.shape()).build(self.table.acc())?;
                for tile in parts.tiles() {
                    compute(&tile, &mut parts, kernel!(|p, at| p[at] = (at[0] * 3 + at[1]) as f64 * 0.125))?;
                }
                self.table.copy_from(&parts)?;
            }
            1 => {
                let lo = dice.roll(rows as usize) as i64;
                let cells = GridBox::new([lo, 1], [rows, 2]);
                let values: Vec<f64> = (0..cells.cells()).map(|n| value([n], step)).collect();
                self.table.write_box(cells, &values)?;
            }
            2 => self.table = self.table.clone(),
            _ => self.table.with_region_mut(0, |mut view| view.map_inplace(|x| *x += 0.25))?,
        }
        let last = rows - 1;
        for tile in self.u.tiles() {
            compute(
                &tile,
                (&mut self.u, all(&self.table)),
                kernel!(|u, t, at| u[at] = 0.5 * u[at] + t[[last - at[0], at[1] % 3]]),
            )?;
        }
        Ok(())
    }

    /// Along the axis of which places have parts.
    fn ordered(&mut self, dice: &mut Dice) -> Result<()> {
        let Arrays { u, v, .. } = self;
        fill_ghosts((&mut *u, &mut *v))?;
        let mut tiles = u.tiles();
        if dice.roll(2) == 0 {
            // Some places have none of these.
            let planes = u.domain().hi[0] as usize;
            let lo = dice.roll(planes) as i64;
            tiles = tiles.within([lo, 3], [lo + 1 + dice.roll(planes) as i64, 100]);
        }
        match dice.roll(4) {
            0 => sweep_along(0, Forward, tiles, u, kernel!(|u, at| u[at] = 0.5 * u[at] + 0.3 * u[at - [2, 0]])),
            1 => sweep_along(0, Backward, tiles, u, kernel!(|u, at| u[at] -= 0.4 * u[at + [1, 0]])),
            2 => sweep_along(
                0,
                Forward,
                tiles,
                (u, v),
                kernel!(|u, v, at| {
                    let before = u[at - [1, 0]];
                    u[at] = 0.5 * v[at - [1, 0]] + 0.25 * before;
                    v[at] = 0.5 * v[at - [2, 0]] + at[1] as f64;
                }),
            ),
            _ => sweep_along(
                0,
                Backward,
                tiles,
                (u, &*v),
                kernel!(|u, v, at| u[at] = 0.5 * (v[at + [1, 0]] - v[at - [0, 1]]) + 0.5 * u[at + [2, 0]]),
            ),
        }
    }

    /// To half of the resolution, and back.
    fn levels(&mut self) -> Result<()> {
        let Arrays { u, half, .. } = self;
        u.fill_ghosts()?;
        for tile in half.tiles() {
            compute(
                &tile,
                (&mut *half, fine(&*u)),
                kernel!(|c, f, at| {
                    let (row, column) = (2 * at[0], 2 * at[1]);
                    c[at] = 0.25 * (f[[row, column]] + f[[row, column + 1]]) + 0.5 * f[[row - 1, column]];
                }),
            )?;
        }
        half.fill_ghosts()?;
        for tile in u.tiles() {
            compute(
                &tile,
                (&mut *u, coarse(&*half)),
                kernel!(|f, c, at| {
                    f[at] = f[at] * 0.5 + c[[at[0] / 2, at[1] / 2]] - 0.125 * c[[(at[0] + 1) / 2, at[1] / 2]];
                }),
            )?;
        }
        Ok(())
    }

    /// Adds values of a list, which all have, or each a part of.
    fn lists(&mut self, dice: &mut Dice) -> Result<()> {
        let entries = dice.roll(400);
        let hi = self.u.domain().hi;
        let of: Vec<[i64; 2]> = (0..entries).map(|_| hi.map(|n| dice.roll(n as usize) as i64)).collect();
        let lists = CellLists::new(&self.u, of)?;
        let mut builder = TileArray::<f64, 1>::builder([entries.max(1)]);
        if dice.roll(2) == 0 {
            builder = builder.everywhere();
        }
        let mut values = builder.build(self.u.acc())?;
        values.fill(|at| value(at, entries))?;
        accumulate(self.u.tiles(), &mut self.u, &lists, &values)
    }

    /// Sums lines that each has, and one of which all have parts.
    fn sums(&mut self, dice: &mut Dice) -> Result<()> {
        let kind = dice.pick(&[Scan::Inclusive, Scan::Exclusive]);
        scan(Sum, kind, &mut self.v, &self.u)?;
        for tile in self.v.tiles() {
            compute(&tile, &mut self.v, kernel!(|v, at| v[at] *= 0.0625))?;
        }
        std::mem::swap(&mut self.u, &mut self.v);
        let mut sums = self.line.like()?;
        scan(Sum, kind, &mut sums, &self.line)?;
        for tile in self.line.tiles() {
            compute(&tile, (&mut self.line, &sums), kernel!(|l, s, at| l[at] = 0.5 * l[at] + 0.001 * s[at]))?;
        }
        Ok(())
    }
}

/// A random program of such calls, on arrays that so many places can have parts of: the values that it sees, on all
/// ranks the same.
///
/// # Errors
/// None that is expected.
pub fn calls(acc: &TileAcc, places: usize, mut dice: Dice) -> Result<Vec<u64>> {
    let mut arrays = Arrays::draw(acc, places, &mut dice)?;
    let mut seen = Vec::new();
    for step in 0..8 {
        match dice.roll(6) {
            0 => arrays.table(&mut dice, step)?,
            1 => arrays.ordered(&mut dice)?,
            2 => arrays.levels()?,
            3 => arrays.lists(&mut dice)?,
            4 => arrays.sums(&mut dice)?,
            _ => {
                let Arrays { u, table, .. } = &arrays;
                let most = reduce((u, all(table)), Max, kernel!(|u, t, at| u[at] * t[[at[0], 1]]))?;
                let sum = reduce(table, Sum, kernel!(|t, at| t[at]))?;
                let row = table.domain().hi[0] - 1;
                seen.extend([most, sum].map(f64::to_bits));
                seen.extend(bits(&table.read_box(GridBox::new([row, 0], [row + 1, 3]))?));
            }
        }
    }
    let Arrays { mut u, v, half, table, line } = arrays;
    u.fill_ghosts()?;
    let mut near = u.like()?;
    for tile in near.tiles() {
        compute(&tile, (&mut near, &u), kernel!(|near, u, at| near[at] = u[at - [2, 1]] + 0.5 * u[at + [2, 2]]))?;
    }
    for u in [&u, &v, &half, &table, &near] {
        seen.extend(bits(&u.read_box(u.domain())?));
    }
    seen.extend(bits(&line.read_box(line.domain())?));
    Ok(seen)
}
