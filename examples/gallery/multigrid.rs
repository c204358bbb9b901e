//! Multigrid for Poisson's equation in a cube: V-cycles with four sweeps of weighted Jacobi before and after each
//! coarser grid, or with two of red-black Gauss-Seidel in place (`multigrid_red_black`; `multigrid_injection`, which
//! goes down by taking every second node alone).
//!
//! A grid has 2^k + 1 nodes along each axis, and the outer ones stay at 0. Every second node is one of the next coarser
//! grid. The way down weights the 27 nodes around (full weighting, `fine`), the way up takes the mean of the coarse
//! nodes around (`coarse`). A coarser grid is cut beside the finer one as long as each region has 4 nodes; smaller
//! ones are one region. Where that changes, values are copied into an array that lies beside the coarser grid.

use tida::array::TileArrayBuilder;
use tida::prelude::*;
use tida_plot::Lines;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};

use crate::{Program, multigrid_plain, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "multigrid",
        about: "V-cycles for Poisson's equation in a cube, of 2^k + 1 nodes along each axis",
        dims: &[3],
        size: [0, 0, 129],
        steps: 8,
        ghost: 1,
        dtypes: &[Dtype::F64],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("solution"),
    },
    small: "--size 17 --steps 6",
    input: false,
    run: |settings| run(settings, Scheme { smoother: Smoother::Jacobi, down: Down::FullWeighting }),
};

/// The same with another smoother.
pub const RED_BLACK: Program = Program {
    example: Example {
        name: "multigrid_red_black",
        about: "V-cycles as those of multigrid, smoothed by red-black Gauss-Seidel in place",
        ..PROGRAM.example
    },
    run: |settings| run(settings, Scheme { smoother: Smoother::RedBlack, down: Down::FullWeighting }),
    ..PROGRAM
};

/// The same with another way down.
pub const INJECTION: Program = Program {
    example: Example {
        name: "multigrid_injection",
        about: "V-cycles as those of multigrid_red_black, with half the residual of every second node on the way down",
        ..PROGRAM.example
    },
    run: |settings| run(settings, Scheme { smoother: Smoother::RedBlack, down: Down::HalfInjection }),
    ..PROGRAM
};

/// What V-cycles are made of.
#[derive(Clone, Copy)]
pub struct Scheme {
    pub smoother: Smoother,
    pub down: Down,
}

/// What the next coarser grid has for its charge.
#[derive(Clone, Copy)]
pub enum Down {
    /// The mean of the residual of the 27 nodes around, the nearer ones weigh more.
    FullWeighting,
    /// Half the residual of the node. After red-black Gauss-Seidel that of nodes with an odd sum of coordinates is 0,
    /// so half of that of the others is the mean.
    HalfInjection,
}

/// What brings each node nearer to what its neighbours say.
#[derive(Clone, Copy)]
pub enum Smoother {
    /// Weighted Jacobi, from one array to another, by [`SWEEPS`].
    Jacobi,
    /// Gauss-Seidel, first the nodes with an even sum of coordinates, then the others: [`TWICE`].
    RedBlack,
}

/// How often red-black Gauss-Seidel goes over both colours, before the coarser grid and after it.
pub const TWICE: usize = 2;

/// The sweeps before the coarser grid and after it: how much of the way to its neighbours' mean a node goes in each.
/// Together they damp all waves that the coarser grid does not have (Chebyshev, for the eigenvalues from 0.2 to 2).
pub const SWEEPS: [f64; 4] = [0.5177, 3.7243, 0.6923, 1.3235];
/// How much of the residual a cycle may leave.
const LEFT: f64 = 0.1;

/// The charge at a node, and the solution there: a product of sines.
pub fn charge(n: usize, at: [usize; 3]) -> f64 {
    3.0 * std::f64::consts::PI.powi(2) * solution(n, at)
}

fn solution(n: usize, at: [usize; 3]) -> f64 {
    at.iter().map(|&i| (std::f64::consts::PI * i as f64 / (n - 1) as f64).sin()).product()
}

/// The first guess: noise, which has waves of all lengths.
pub fn guess(n: usize, at: [usize; 3]) -> f64 {
    let outer = at.iter().any(|&i| i == 0 || i == n - 1);
    if outer { 0.0 } else { plain::random((at[0] * n + at[1]) * n + at[2]) }
}

/// A grid: the solution, its next sweep, the charge, and the residual.
struct Level {
    u: TileArray<f64, 3>,
    next: TileArray<f64, 3>,
    f: TileArray<f64, 3>,
    r: TileArray<f64, 3>,
    /// The square of the distance between two nodes.
    h2: f64,
    scheme: Scheme,
    /// On the way from the next finer grid and back: an array of its nodes that is cut as this grid is, if it is not.
    between: Option<TileArray<f64, 3>>,
}

/// The next finer grid, if there is one, and the scheme of all.
type Finer<'a> = (Option<&'a Level>, Scheme);

impl Level {
    /// A grid of `n` nodes along each axis, all 0; the next finer one has been made.
    fn new(settings: &Settings, acc: &TileAcc, n: usize, (finer, scheme): Finer<'_>) -> Result<Level> {
        let zeros = |builder: TileArrayBuilder<f64, 3>| -> Result<TileArray<f64, 3>> {
            let mut array = builder.ghost(settings.ghost).build(acc)?;
            array.fill_value(0.0)?;
            Ok(array)
        };
        let array = || {
            let builder = TileArray::builder([n; 3]);
            zeros(match finer.filter(|finer| has_halves(&finer.u)) {
                Some(finer) => builder.cut_beside(&finer.u),
                None => builder.regions_at_most(regions_of(settings, finer.is_some()), [LEAST, LEAST, 64]),
            })
        };
        let mut level = Level {
            u: array()?,
            next: array()?,
            f: array()?,
            r: array()?,
            h2: 1.0 / ((n - 1) * (n - 1)) as f64,
            scheme,
            between: None,
        };
        if let Some(finer) = finer.filter(|finer| !has_halves(&finer.u)) {
            level.between = Some(zeros(TileArray::builder(finer.u.shape()).cut_beside(&level.u))?);
        }
        Ok(level)
    }

    /// Sweeps that bring each node nearer to what its neighbours say.
    fn smooth(&mut self, tile_size: [usize; 3]) -> Result<()> {
        match self.scheme.smoother {
            Smoother::Jacobi => self.smooth_apart(tile_size),
            Smoother::RedBlack => self.smooth_in_place(tile_size),
        }
    }

    /// Each colour reads the new values of the one before it.
    fn smooth_in_place(&mut self, tile_size: [usize; 3]) -> Result<()> {
        let h2 = self.h2;
        for colour in [0, 1].repeat(TWICE) {
            self.u.fill_ghosts()?;
            sweep_colour(
                Colour::red_black(colour),
                inner(&self.u, tile_size),
                (&mut self.u, &self.f),
                kernel!(|u, f, at| {
                    let around = (u[at - [1, 0, 0]] + u[at + [1, 0, 0]])
                        + (u[at - [0, 1, 0]] + u[at + [0, 1, 0]])
                        + (u[at - [0, 0, 1]] + u[at + [0, 0, 1]]);
                    u[at] = (around + h2 * f[at]) / 6.0;
                }),
            )?;
        }
        Ok(())
    }

    /// From one array to another.
    fn smooth_apart(&mut self, tile_size: [usize; 3]) -> Result<()> {
        let h2 = self.h2;
        for omega in SWEEPS {
            self.u.fill_ghosts()?;
            for tile in inner(&self.u, tile_size) {
                compute(
                    &tile,
                    (&mut self.next, &self.u, &self.f),
                    kernel!(|next, u, f, at| {
                        let around = (u[at - [1, 0, 0]] + u[at + [1, 0, 0]])
                            + (u[at - [0, 1, 0]] + u[at + [0, 1, 0]])
                            + (u[at - [0, 0, 1]] + u[at + [0, 0, 1]]);
                        next[at] = u[at] + omega * ((around + h2 * f[at]) / 6.0 - u[at]);
                    }),
                )?;
            }
            std::mem::swap(&mut self.u, &mut self.next);
        }
        Ok(())
    }

    /// What the charge is more than the solution's.
    fn find_residual(&mut self, tile_size: [usize; 3]) -> Result<()> {
        let h2 = self.h2;
        self.u.fill_ghosts()?;
        for tile in inner(&self.u, tile_size) {
            compute(
                &tile,
                (&mut self.r, &self.u, &self.f),
                kernel!(|r, u, f, at| {
                    let around = (u[at - [1, 0, 0]] + u[at + [1, 0, 0]])
                        + (u[at - [0, 1, 0]] + u[at + [0, 1, 0]])
                        + (u[at - [0, 0, 1]] + u[at + [0, 0, 1]]);
                    r[at] = f[at] - (6.0 * u[at] - around) / h2;
                }),
            )?;
        }
        Ok(())
    }

    /// Takes the residual of the finer grid for its charge, and starts from 0.
    fn restrict(&mut self, finer: &mut Level, tile_size: [usize; 3]) -> Result<()> {
        let from = match &mut self.between {
            Some(between) => {
                between.copy_from(&finer.r)?;
                between
            }
            None => &mut finer.r,
        };
        if let Down::HalfInjection = self.scheme.down {
            for tile in inner(&self.u, tile_size) {
                compute(
                    &tile,
                    (&mut self.f, &mut self.u, fine(&*from)),
                    kernel!(|f, u, r, at| {
                        f[at] = 0.5 * r[[2 * at[0], 2 * at[1], 2 * at[2]]];
                        u[at] = 0.0;
                    }),
                )?;
            }
            return Ok(());
        }
        from.fill_ghosts()?;
        for tile in inner(&self.u, tile_size) {
            compute(
                &tile,
                (&mut self.f, &mut self.u, fine(from)),
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
            )?;
        }
        Ok(())
    }

    /// Adds what the coarser grid found.
    fn correct(&mut self, coarser: &mut Level, tile_size: [usize; 3]) -> Result<()> {
        coarser.u.fill_ghosts()?;
        let Some(between) = &mut coarser.between else {
            return prolong(&mut self.u, 1.0, &coarser.u, tile_size);
        };
        prolong(between, 0.0, &coarser.u, tile_size)?;
        self.next.copy_from(between)?;
        for tile in inner(&self.u, tile_size) {
            compute(&tile, (&mut self.u, &self.next), kernel!(|u, e, at| u[at] += e[at]))?;
        }
        Ok(())
    }
}

/// The nodes that are solved for, in tiles.
fn inner(array: &TileArray<f64, 3>, tile_size: [usize; 3]) -> TileIter<3> {
    let last = array.shape().map(|n| n as i64 - 1);
    TileIter::new(array).within([1; 3], last).tile_size(tile_size)
}

/// Fewest nodes of a region along an axis that is cut.
const LEAST: usize = 4;

/// Regions along each axis. The last axis is cut at multiples of 64, which have no halves: coarser grids are not cut
/// there.
fn regions_of(settings: &Settings, is_coarser: bool) -> [usize; 3] {
    let (first, second, last) = (settings.regions[0], settings.regions[1], settings.regions[2]);
    [first, second, if is_coarser { 1 } else { last }]
}

/// Whether the next coarser grid can be cut at half of where this one is.
fn has_halves(array: &TileArray<f64, 3>) -> bool {
    let shape = array.shape();
    let mut regions = (0..array.regions()).filter_map(|region| array.region_box(region)).map(|of| of.extent());
    regions.all(|of| (0..2).all(|d| of[d] == shape[d] || of[d] >= 2 * LEAST) && of[2] == shape[2])
}

/// Adds the mean of the coarse nodes around, which are the same one where there is one, to a part of what is there.
fn prolong(u: &mut TileArray<f64, 3>, keep: f64, e: &TileArray<f64, 3>, tile_size: [usize; 3]) -> Result<()> {
    for tile in inner(u, tile_size) {
        compute(
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
                u[at] = keep * u[at] + sum / 8.0;
            }),
        )?;
    }
    Ok(())
}

/// One V-cycle from the first of these grids down and up again.
fn cycle(levels: &mut [Level], tile_size: [usize; 3]) -> Result<()> {
    let Some((fine, coarser)) = levels.split_first_mut() else { return Ok(()) };
    fine.smooth(tile_size)?;
    if let Some(coarse) = coarser.first_mut() {
        fine.find_residual(tile_size)?;
        coarse.restrict(fine, tile_size)?;
        cycle(coarser, tile_size)?;
        fine.correct(&mut coarser[0], tile_size)?;
    }
    fine.smooth(tile_size)
}

fn run(settings: &Settings, scheme: Scheme) -> Result<()> {
    let n = settings.shape[0];
    if n < 3 || !(n - 1).is_power_of_two() {
        let found = format!("{n} nodes along each axis");
        return Err(format!("tried to run multigrid; found {found}; give --size 2^k + 1, such as 65").into());
    }
    let acc = settings.accelerator(64)?;
    let sizes = std::iter::successors(Some(n), |n| (*n > 3).then_some(n / 2 + 1));
    let mut levels: Vec<Level> = Vec::new();
    for n in sizes {
        levels.push(Level::new(settings, &acc, n, (levels.last(), scheme))?);
    }
    levels[0].u.fill(|at| guess(n, at))?;
    levels[0].f.fill(|at| charge(n, at))?;
    let tile_size = settings.tile()?;

    let mut squares = Vec::new();
    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        cycle(&mut levels, tile_size)?;
        levels[0].find_residual(tile_size)?;
        squares.push(reduce_later(&levels[0].r, Sum, kernel!(|r, at| r[at] * r[at]))?);
        clock.step_of(&levels[0].u)?;
    }
    let squares: Vec<f64> = squares.iter().map(Scalar::get).collect::<tida::Result<_>>()?;
    acc.sync()?;
    let seconds = clock.stop()?;

    let residuals: Vec<f64> = squares.iter().map(|square| square.sqrt()).collect();
    let plot = Lines::new().series("", &residuals).logarithmic().axes("cycle", "residual");
    settings.draw(settings.steps, || Ok(plot))?;
    let u = &levels[0].u;
    let found = || Ok([u.read_box(u.domain())?, squares.clone()].concat());
    settings.finish_with(u, settings.steps, seconds, found, || multigrid_plain::solved(n, settings.steps, scheme))?;
    if settings.verify { converged(settings, u, &squares) } else { Ok(()) }
}

/// Whether each cycle leaves little of the residual, and what is found is the solution as far as the grid shows it.
fn converged(settings: &Settings, u: &TileArray<f64, 3>, squares: &[f64]) -> Result<()> {
    let n = settings.shape[0];
    // Until what is left is rounding.
    let judged = squares.windows(2).filter(|pair| pair[0] > 1e-16 * squares[0]);
    let left = judged.map(|pair| (pair[1] / pair[0]).sqrt()).collect::<Vec<f64>>();
    let cells = u.read_box(u.domain())?.into_iter().enumerate();
    let error =
        cells.map(|(cell, u)| (u - solution(n, [cell / (n * n), cell / n % n, cell % n])).abs()).fold(0.0, f64::max);
    if settings.tells() {
        let shown: Vec<String> = left.iter().map(|left| format!("{left:.3}")).collect();
        println!("  of the residual each cycle leaves {}; the largest error is {error:.1e}", shown.join(", "));
    }
    if let Some(left) = left.iter().find(|left| left.is_nan() || **left > LEFT) {
        let found = format!("a cycle that leaves {left:.3} of the residual");
        return Err(format!("tried to verify multigrid; found {found}; it should be {LEFT} at most").into());
    }
    // What the differences of seven points make of a product of sines, and what is left of the first guess.
    let wave = std::f64::consts::PI / (n - 1) as f64;
    let most = 1.1 * (wave * wave / (2.0 - 2.0 * wave.cos()) - 1.0) + LEFT.powi(settings.steps as i32);
    if error.is_nan() || error > most {
        let found = format!("an error of {error:e}");
        return Err(format!("tried to verify multigrid; found {found}; it should be {most:e} at most").into());
    }
    Ok(())
}
