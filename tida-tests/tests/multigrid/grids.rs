//! The grids of a V-cycle, each of half the resolution of the one before.
//!
//! Where the number of cells is odd, the last coarse cell has only one of the next finer grid, and is thinner than the
//! others; so is the last distance between nodes. What that makes of a kernel's numbers is in tables, one an axis.

use tida::prelude::*;
use tida::{Error, Result};
use tida_tests::value;

/// What values are of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Places {
    Cells,
    /// Nodes, of which the outer ones stay at 0.
    Nodes,
}

#[derive(Clone, Debug)]
pub struct Problem {
    /// Values along each axis.
    pub shape: [usize; 3],
    pub regions: [usize; 3],
    pub places: Places,
}

type Field = TileArray<f64, 3>;

/// Sweeps before and after each coarser grid: how far each goes, over what the diagonal asks for. Together they damp
/// all waves that a coarser grid does not have (Chebyshev, for the eigenvalues from 0.2 to 2).
const SWEEPS: [f64; 4] = [0.5177, 3.7243, 0.6923, 1.3235];
/// Times that these are done on the coarsest grid.
const COARSEST: usize = 12;

/// An axis of a grid.
struct Axis {
    n: usize,
    /// The last cell's width, or that of the last distance between nodes, over the others'.
    last: f64,
    /// What the value below and the value above count for in the differences at each place.
    low: Vec<f64>,
    high: Vec<f64>,
    /// Of the next coarser grid: what the value that this one lies in, or beside, counts for; the rest is the next
    /// one's on this side.
    near: Vec<f64>,
    /// In the next coarser grid: what the lower one of two cells counts for.
    first: Vec<f64>,
}

impl Axis {
    fn new(n: usize, last: f64, places: Places) -> Axis {
        let size = |i: usize| if i + 1 == n { last } else { 1.0 };
        let at = |i: usize| i as f64 + if i + 1 == n { last / 2.0 } else { 0.5 };
        let (mut low, mut high, mut near, mut first) = (vec![1.0; n], vec![1.0; n], vec![0.75; n], vec![0.5; n]);
        match places {
            Places::Cells => {
                let end = (n - 1) as f64 + last;
                for i in 0..n {
                    let below = if i == 0 { at(0) } else { at(i) - at(i - 1) };
                    let above = if i + 1 == n { end - at(i) } else { at(i + 1) - at(i) };
                    (low[i], high[i]) = (1.0 / below / size(i), 1.0 / above / size(i));
                    let centre = |j: usize| 0.5 * ((2 * j) as f64 + ((2 * j + 2) as f64).min(end));
                    let j = i / 2;
                    let other = match i % 2 {
                        0 if j == 0 => 0.0,
                        0 => centre(j - 1),
                        _ if 2 * j + 2 >= n => end,
                        _ => centre(j + 1),
                    };
                    near[i] = (at(i) - other) / (centre(j) - other);
                }
                for (j, first) in first.iter_mut().enumerate().take(n.div_ceil(2)) {
                    let second = if 2 * j + 1 < n { size(2 * j + 1) } else { 0.0 };
                    *first = size(2 * j) / (size(2 * j) + second);
                }
            }
            Places::Nodes if n > 2 => {
                (low[n - 2], high[n - 2]) = (2.0 / (1.0 + last), 2.0 / (last * (1.0 + last)));
            }
            Places::Nodes => {}
        }
        Axis { n, last, low, high, near, first }
    }

    /// The same of half the resolution, of an axis that is long enough.
    fn coarser(&self, places: Places) -> Option<Axis> {
        let more = usize::from(places == Places::Nodes);
        let cells = self.n - more;
        let last = if cells.is_multiple_of(2) { (1.0 + self.last) / 2.0 } else { self.last / 2.0 };
        (cells > 3).then(|| Axis::new(cells.div_ceil(2) + more, last, places))
    }
}

struct Level {
    axes: [Axis; 3],
    places: Places,
    /// The solution, its next sweep, the right side, the residual.
    u: Field,
    next: Field,
    f: Field,
    r: Field,
    /// The square of the distance between two places.
    h2: f64,
    /// An array on the way to the next coarser grid and back, where regions do not lie beside one another: cut as that
    /// is.
    between: Option<Field>,
}

pub struct Grids(Vec<Level>);

impl Problem {
    /// Bytes of all arrays, about.
    pub fn bytes(&self) -> u64 {
        let rows = (self.shape[0] + 2) * (self.shape[1] + 2);
        (4 * rows * (self.shape[2] + 2).next_multiple_of(16) * 8 * 8 / 7) as u64
    }
}

/// Whether each region of a grid lies beside that of the same number of the next coarser one.
fn lie_beside(fine: &Field, coarse: &Field) -> bool {
    let near = |region: usize| {
        let both = fine.region_box(region).zip(coarse.region_box(region));
        both.is_some_and(|(f, c)| {
            (0..3).all(|d| (f.lo[d] - 2 * c.lo[d]).abs() <= 2 && (f.hi[d] - 2 * c.hi[d]).abs() <= 2)
        })
    };
    fine.regions() == coarse.regions() && (0..fine.regions()).all(near)
}

impl Level {
    fn new(acc: &TileAcc, axes: [Axis; 3], h2: f64, (regions, places): ([usize; 3], Places)) -> Result<Level> {
        let shape = [0, 1, 2].map(|d| axes[d].n);
        let array = || -> Result<Field> {
            let builder = Field::builder(shape).regions_at_most(regions, [4, 4, 64]).ghost(1);
            let mut array = builder.boundary(Boundary::Fixed(0.0)).build(acc)?;
            array.fill_value(0.0)?;
            Ok(array)
        };
        Ok(Level { u: array()?, next: array()?, f: array()?, r: array()?, axes, places, h2, between: None })
    }

    /// The places that are solved for, in tiles.
    fn inner(&self) -> TileIter<3> {
        let last = self.u.shape().map(|n| n as i64);
        match self.places {
            Places::Cells => TileIter::new(&self.u),
            Places::Nodes => TileIter::new(&self.u).within([1; 3], last.map(|n| n - 1)),
        }
    }

    /// Sweeps that bring each place nearer to what its neighbours say.
    fn smooth(&mut self) -> Result<()> {
        for omega in SWEEPS {
            let h2 = self.h2;
            self.u.fill_ghosts()?;
            for tile in self.inner() {
                let [k, j, i] = self.axes.each_ref();
                compute(
                    &tile,
                    (
                        &mut self.next,
                        &self.u,
                        &self.f,
                        table(&k.low),
                        table(&k.high),
                        table(&j.low),
                        table(&j.high),
                        table(&i.low),
                        table(&i.high),
                    ),
                    kernel!(|next, u, f, kl, kh, jl, jh, il, ih, at| {
                        let (k, j, i) = (at[0] as usize, at[1] as usize, at[2] as usize);
                        let around = (kl[k] * u[at - [1, 0, 0]] + kh[k] * u[at + [1, 0, 0]])
                            + (jl[j] * u[at - [0, 1, 0]] + jh[j] * u[at + [0, 1, 0]])
                            + (il[i] * u[at - [0, 0, 1]] + ih[i] * u[at + [0, 0, 1]]);
                        let diagonal = (kl[k] + kh[k]) + (jl[j] + jh[j]) + (il[i] + ih[i]);
                        next[at] = u[at] + omega * ((around + h2 * f[at]) / diagonal - u[at]);
                    }),
                )?;
            }
            std::mem::swap(&mut self.u, &mut self.next);
        }
        Ok(())
    }

    /// What the right side is more than the solution's.
    fn find_residual(&mut self) -> Result<()> {
        let h2 = self.h2;
        self.u.fill_ghosts()?;
        for tile in self.inner() {
            let [k, j, i] = self.axes.each_ref();
            compute(
                &tile,
                (
                    &mut self.r,
                    &self.u,
                    &self.f,
                    table(&k.low),
                    table(&k.high),
                    table(&j.low),
                    table(&j.high),
                    table(&i.low),
                    table(&i.high),
                ),
                kernel!(|r, u, f, kl, kh, jl, jh, il, ih, at| {
                    let (k, j, i) = (at[0] as usize, at[1] as usize, at[2] as usize);
                    let around = (kl[k] * u[at - [1, 0, 0]] + kh[k] * u[at + [1, 0, 0]])
                        + (jl[j] * u[at - [0, 1, 0]] + jh[j] * u[at + [0, 1, 0]])
                        + (il[i] * u[at - [0, 0, 1]] + ih[i] * u[at + [0, 0, 1]]);
                    let diagonal = (kl[k] + kh[k]) + (jl[j] + jh[j]) + (il[i] + ih[i]);
                    r[at] = f[at] - (diagonal * u[at] - around) / h2;
                }),
            )?;
        }
        Ok(())
    }

    /// Takes a residual of the next finer grid for the right side, and starts from 0.
    fn restrict(&mut self, finer: &[Axis; 3], r: &Field) -> Result<()> {
        for tile in self.inner() {
            let [k, j, i] = finer.each_ref();
            match self.places {
                Places::Cells => compute(
                    &tile,
                    (&mut self.f, &mut self.u, fine(r), table(&k.first), table(&j.first), table(&i.first)),
                    kernel!(|f, u, r, kf, jf, if_, at| {
                        let (k, j, i) = (2 * at[0], 2 * at[1], 2 * at[2]);
                        let (a, b, c) = (kf[at[0] as usize], jf[at[1] as usize], if_[at[2] as usize]);
                        let low = b * (c * r[[k, j, i]] + (1.0 - c) * r[[k, j, i + 1]])
                            + (1.0 - b) * (c * r[[k, j + 1, i]] + (1.0 - c) * r[[k, j + 1, i + 1]]);
                        let high = b * (c * r[[k + 1, j, i]] + (1.0 - c) * r[[k + 1, j, i + 1]])
                            + (1.0 - b) * (c * r[[k + 1, j + 1, i]] + (1.0 - c) * r[[k + 1, j + 1, i + 1]]);
                        f[at] = a * low + (1.0 - a) * high;
                        u[at] = 0.0;
                    }),
                )?,
                Places::Nodes => compute(
                    &tile,
                    (&mut self.f, &mut self.u, fine(r)),
                    kernel!(|f, u, r, at| {
                        let mut sum = 0.0;
                        for k in -1..=1 {
                            for j in -1..=1 {
                                for i in -1..=1 {
                                    let weight = ((2 - k * k) * (2 - j * j) * (2 - i * i)) as f64;
                                    sum += weight * r[[2 * at[0] + k, 2 * at[1] + j, 2 * at[2] + i]];
                                }
                            }
                        }
                        f[at] = sum / 64.0;
                        u[at] = 0.0;
                    }),
                )?,
            }
        }
        Ok(())
    }
}

/// What a coarser grid found, linear between its places: added to `u`, or put there.
fn prolong(
    u: &mut Field,
    tiles: TileIter<3>,
    [k, j, i]: &[Axis; 3],
    e: &Field,
    places: Places,
    add: f64,
) -> Result<()> {
    for tile in tiles {
        match places {
            Places::Cells => compute(
                &tile,
                (&mut *u, coarse(e), table(&k.near), table(&j.near), table(&i.near)),
                kernel!(|u, e, kn, jn, in_, at| {
                    let (k, j, i) = (at[0] / 2, at[1] / 2, at[2] / 2);
                    let (z, y, x) = (k + 2 * (at[0] % 2) - 1, j + 2 * (at[1] % 2) - 1, i + 2 * (at[2] % 2) - 1);
                    let (a, b, c) = (kn[at[0] as usize], jn[at[1] as usize], in_[at[2] as usize]);
                    let here = b * (c * e[[k, j, i]] + (1.0 - c) * e[[k, j, x]])
                        + (1.0 - b) * (c * e[[k, y, i]] + (1.0 - c) * e[[k, y, x]]);
                    let there = b * (c * e[[z, j, i]] + (1.0 - c) * e[[z, j, x]])
                        + (1.0 - b) * (c * e[[z, y, i]] + (1.0 - c) * e[[z, y, x]]);
                    u[at] = add * u[at] + (a * here + (1.0 - a) * there);
                }),
            )?,
            Places::Nodes => compute(
                &tile,
                (&mut *u, coarse(e)),
                kernel!(|u, e, at| {
                    let mut sum = 0.0;
                    for k in 0..2 {
                        for j in 0..2 {
                            for i in 0..2 {
                                sum += e[[(at[0] + k) / 2, (at[1] + j) / 2, (at[2] + i) / 2]];
                            }
                        }
                    }
                    u[at] = add * u[at] + sum / 8.0;
                }),
            )?,
        }
    }
    Ok(())
}

impl Grids {
    pub fn new(acc: &TileAcc, problem: &Problem) -> Result<Grids> {
        let Problem { shape, mut regions, places } = *problem;
        let mut axes = Some(shape.map(|n| Axis::new(n, 1.0, places)));
        let (mut levels, mut h2): (Vec<Level>, f64) = (Vec::new(), 1.0);
        while let Some(here) = axes {
            let [k, j, i] = here.each_ref().map(|axis| axis.coarser(places));
            axes = k.zip(j).zip(i).map(|((k, j), i)| [k, j, i]);
            let level = Level::new(acc, here, h2, (regions, places))?;
            if let Some(finer) = levels.last_mut().filter(|finer| !lie_beside(&finer.u, &level.u)) {
                let array = || -> Result<Field> {
                    let count = regions_of(&level.u);
                    let builder = Field::builder(finer.u.shape()).regions(count).ghost(1);
                    let mut array = builder.boundary(Boundary::Fixed(0.0)).build(acc)?;
                    array.fill_value(0.0)?;
                    Ok(array)
                };
                finer.between = Some(array()?);
            }
            levels.push(level);
            // Cuts of the last axis are at multiples of 64, which have no halves.
            (regions[2], h2) = (1, 4.0 * h2);
        }
        levels[0].f.fill(|at| value(11, at) - 1.0)?;
        levels[0].u.fill(|at| match places {
            Places::Nodes if (0..3).any(|d| at[d] == 0 || at[d] + 1 == shape[d]) => 0.0,
            _ => value(12, at),
        })?;
        Ok(Grids(levels))
    }

    /// The sum of the squares of the residual.
    pub fn residual(&mut self) -> Result<Scalar<f64>> {
        self.0[0].find_residual()?;
        reduce_later(&self.0[0].r, Sum, kernel!(|r, at| r[at] * r[at]))
    }

    pub fn cycle(&mut self) -> Result<()> {
        cycle(&mut self.0)
    }

    pub fn solution(&self) -> Result<Vec<f64>> {
        self.0[0].u.read_box(self.0[0].u.domain())
    }
}

/// Regions along each axis.
fn regions_of(array: &Field) -> [usize; 3] {
    let ends = |axis: usize| {
        let mut ends: Vec<i64> = (0..array.regions()).filter_map(|n| Some(array.region_box(n)?.lo[axis])).collect();
        ends.sort_unstable();
        ends.dedup();
        ends.len()
    };
    [0, 1, 2].map(ends)
}

fn cycle(levels: &mut [Level]) -> Result<(), Error> {
    let Some((here, coarser)) = levels.split_first_mut() else { return Ok(()) };
    let Some(coarse) = coarser.first_mut() else { return (0..COARSEST).try_for_each(|_| here.smooth()) };
    here.smooth()?;
    here.find_residual()?;
    match &mut here.between {
        None => {
            here.r.fill_ghosts()?;
            coarse.restrict(&here.axes, &here.r)?;
        }
        Some(r) => {
            r.copy_from(&here.r)?;
            r.fill_ghosts()?;
            coarse.restrict(&here.axes, r)?;
        }
    }
    cycle(coarser)?;
    let coarse = &mut coarser[0];
    coarse.u.fill_ghosts()?;
    let tiles = here.inner();
    match &mut here.between {
        None => prolong(&mut here.u, tiles, &here.axes, &coarse.u, here.places, 1.0)?,
        Some(e) => {
            // (Tiles of the array that is written.)
            let last = e.shape().map(|n| n as i64);
            let inner = match here.places {
                Places::Cells => TileIter::new(&*e),
                Places::Nodes => TileIter::new(&*e).within([1; 3], last.map(|n| n - 1)),
            };
            prolong(e, inner, &here.axes, &coarse.u, here.places, 0.0)?;
            here.next.copy_from(e)?;
            for tile in tiles {
                compute(&tile, (&mut here.u, &here.next), kernel!(|u, e, at| u[at] += e[at]))?;
            }
        }
    }
    here.smooth()
}
