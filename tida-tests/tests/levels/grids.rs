//! Two grids, one of half the resolution: what moves between them by tida, and by plain loops.

use tida::Error;
use tida::array::TileArrayBuilder;
use tida::prelude::*;
use tida_tests::value;

/// What values are of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Places {
    Cells,
    /// Nodes, as an array that is centred on faces along each axis.
    Nodes,
    /// Nodes, as an array of one value more.
    NodesAsCells,
}

#[derive(Clone, Debug)]
pub struct Grid {
    /// Values of the finer grid.
    pub shape: [usize; 3],
    pub regions: [usize; 3],
    pub boundary: Boundary<f64>,
    pub places: Places,
    pub cycles: usize,
}

type Field = TileArray<f64, 3>;

impl Grid {
    /// Values of the grid of half the resolution.
    pub fn coarse_shape(&self) -> [usize; 3] {
        self.shape.map(|n| match self.places {
            Places::Cells => n.div_ceil(2),
            _ => n / 2 + 1,
        })
    }

    fn builder(&self, shape: [usize; 3]) -> TileArrayBuilder<f64, 3> {
        let builder = match self.places {
            Places::Nodes => Field::builder(shape.map(|n| n - 1)).centering([Centering::Face; 3]),
            _ => Field::builder(shape),
        };
        builder.regions(self.regions).ghost(2).boundary(self.boundary)
    }
}

/// Down, a sweep there, up again, a sweep here; so many times. All that both grids hold in the end.
pub fn cycle(acc: &TileAcc, grid: &Grid) -> Result<Vec<u64>, Error> {
    let mut u = grid.builder(grid.shape).build(acc)?;
    u.fill(|at| value(7, at))?;
    let mut next = u.like()?;
    let mut c = grid.builder(grid.coarse_shape()).build(acc)?;
    let mut d = c.like()?;
    for _ in 0..grid.cycles {
        u.fill_ghosts()?;
        restrict(&mut c, &u, grid.places)?;
        smooth(&mut d, &mut c)?;
        d.fill_ghosts()?;
        correct(&mut u, &d, grid.places)?;
        smooth(&mut next, &mut u)?;
        std::mem::swap(&mut u, &mut next);
    }
    let all = [u.read_box(u.domain())?, d.read_box(d.domain())?].concat();
    Ok(all.into_iter().map(f64::to_bits).collect())
}

/// The mean of the cells that a cell has, or of the nodes around a node by weight.
fn restrict(c: &mut Field, u: &Field, places: Places) -> Result<(), Error> {
    for tile in TileIter::new(&*c) {
        match places {
            Places::Cells => compute(
                &tile,
                (&mut *c, fine(u)),
                kernel!(|c, u, at| {
                    let mut sum = 0.0;
                    for k in 0..2 {
                        for j in 0..2 {
                            for i in 0..2 {
                                sum += u[[2 * at[0] + k, 2 * at[1] + j, 2 * at[2] + i]];
                            }
                        }
                    }
                    c[at] = sum / 8.0;
                }),
            )?,
            _ => compute(
                &tile,
                (&mut *c, fine(u)),
                kernel!(|c, u, at| {
                    let mut sum = 0.0;
                    for k in -1..=1 {
                        for j in -1..=1 {
                            for i in -1..=1 {
                                let weight = ((2 - k * k) * (2 - j * j) * (2 - i * i)) as f64;
                                sum += weight * u[[2 * at[0] + k, 2 * at[1] + j, 2 * at[2] + i]];
                            }
                        }
                    }
                    c[at] = sum / 64.0;
                }),
            )?,
        }
    }
    Ok(())
}

/// Adds what the coarser grid has there, linear between its cells or nodes.
fn correct(u: &mut Field, d: &Field, places: Places) -> Result<(), Error> {
    for tile in TileIter::new(&*u) {
        match places {
            Places::Cells => compute(
                &tile,
                (&mut *u, coarse(d)),
                kernel!(|u, d, at| {
                    let (k, j, i) = (at[0] / 2, at[1] / 2, at[2] / 2);
                    let (z, y, x) = (2 * (at[0] % 2) - 1, 2 * (at[1] % 2) - 1, 2 * (at[2] % 2) - 1);
                    let near = 9.0 * d[[k, j, i]] + 3.0 * (d[[k + z, j, i]] + d[[k, j + y, i]] + d[[k, j, i + x]]);
                    u[at] += (near + d[[k + z, j + y, i + x]]) / 19.0;
                }),
            )?,
            _ => compute(
                &tile,
                (&mut *u, coarse(d)),
                kernel!(|u, d, at| {
                    let mut sum = 0.0;
                    for k in 0..2 {
                        for j in 0..2 {
                            for i in 0..2 {
                                sum += d[[(at[0] + k) / 2, (at[1] + j) / 2, (at[2] + i) / 2]];
                            }
                        }
                    }
                    u[at] += sum / 8.0;
                }),
            )?,
        }
    }
    Ok(())
}

fn smooth(next: &mut Field, u: &mut Field) -> Result<(), Error> {
    u.fill_ghosts()?;
    for tile in TileIter::new(&*u) {
        compute(
            &tile,
            (&mut *next, &*u),
            kernel!(|next, u, at| {
                let around = u[at - [1, 0, 0]] + u[at + [0, 1, 0]] + u[at + [0, 0, 1]];
                next[at] = 0.25 * (around + u[at]);
            }),
        )?;
    }
    Ok(())
}

/// Values of a grid, by plain loops.
struct Plain {
    shape: [usize; 3],
    values: Vec<f64>,
    boundary: Boundary<f64>,
}

impl Plain {
    fn of(shape: [usize; 3], boundary: Boundary<f64>, of: impl Fn([i64; 3]) -> f64) -> Plain {
        let mut values = Vec::with_capacity(shape.iter().product());
        for k in 0..shape[0] as i64 {
            for j in 0..shape[1] as i64 {
                for i in 0..shape[2] as i64 {
                    values.push(of([k, j, i]));
                }
            }
        }
        Plain { shape, values, boundary }
    }

    fn at(&self, at: [i64; 3]) -> f64 {
        let mut place = 0;
        for (x, n) in at.into_iter().zip(self.shape) {
            let n = n as i64;
            let inside = match self.boundary {
                Boundary::Fixed(value) if x < 0 || x >= n => return value,
                Boundary::Periodic => x.rem_euclid(n),
                _ if x < 0 => -1 - x,
                _ if x >= n => 2 * n - 1 - x,
                _ => x,
            };
            place = place * n + inside;
        }
        self.values[place as usize]
    }

    fn next(&self, of: impl Fn([i64; 3]) -> f64) -> Plain {
        Plain::of(self.shape, self.boundary, of)
    }

    fn smoothed(&self) -> Plain {
        self.next(|[k, j, i]| {
            0.25 * (self.at([k - 1, j, i]) + self.at([k, j + 1, i]) + self.at([k, j, i + 1]) + self.at([k, j, i]))
        })
    }
}

/// The eight combinations of these numbers along the axes.
fn eight(of: [i64; 2]) -> impl Iterator<Item = [i64; 3]> {
    of.into_iter().flat_map(move |k| of.into_iter().flat_map(move |j| of.into_iter().map(move |i| [k, j, i])))
}

/// [`cycle`] by plain loops.
pub fn plain_cycle(grid: &Grid) -> Vec<u64> {
    let as_index = |at: [i64; 3]| at.map(|x| x as usize);
    let mut u = Plain::of(grid.shape, grid.boundary, |at| value(7, as_index(at)));
    let mut d = Plain::of(grid.coarse_shape(), grid.boundary, |_| 0.0);
    for _ in 0..grid.cycles {
        let twice = |at: [i64; 3], by: [i64; 3]| u.at([0, 1, 2].map(|d| 2 * at[d] + by[d]));
        let c = d.next(|at| match grid.places {
            Places::Cells => eight([0, 1]).map(|by| twice(at, by)).fold(0.0, |sum, x| sum + x) / 8.0,
            _ => {
                let mut sum = 0.0;
                for k in -1..=1i64 {
                    for j in -1..=1i64 {
                        for i in -1..=1i64 {
                            let weight = ((2 - k * k) * (2 - j * j) * (2 - i * i)) as f64;
                            sum += weight * twice(at, [k, j, i]);
                        }
                    }
                }
                sum / 64.0
            }
        });
        d = c.smoothed();
        let corrected = u.next(|at| {
            let more = match grid.places {
                Places::Cells => {
                    let [k, j, i] = at.map(|x| x / 2);
                    let [z, y, x] = at.map(|x| 2 * (x % 2) - 1);
                    let near =
                        9.0 * d.at([k, j, i]) + 3.0 * (d.at([k + z, j, i]) + d.at([k, j + y, i]) + d.at([k, j, i + x]));
                    (near + d.at([k + z, j + y, i + x])) / 19.0
                }
                _ => {
                    let half = |by: [i64; 3]| d.at([0, 1, 2].map(|d| (at[d] + by[d]) / 2));
                    eight([0, 1]).map(half).fold(0.0, |sum, x| sum + x) / 8.0
                }
            };
            u.at(at) + more
        });
        u = corrected.smoothed();
    }
    u.values.iter().chain(&d.values).map(|x| x.to_bits()).collect()
}
