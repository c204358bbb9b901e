//! The lattice Boltzmann method in two axes with nine velocities (D2Q9): what the programs with a fluid share.
//!
//! A mask says which cells are solid. What flows into them comes back the way it came, a step later, so that the wall
//! lies half-way between a solid cell and the fluid. The nine directions are tables, and kernels loop over them.

use tida::array::TileArrayBuilder;
use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::Settings;

/// Cells along `y` that a population moves in a step.
pub const CY: [i64; 9] = [0, 0, 1, 0, -1, 1, 1, -1, -1];
/// Along `x`.
pub const CX: [i64; 9] = [0, 1, 0, -1, 0, 1, -1, -1, 1];
/// The population that moves the other way.
pub const OPPOSITE: [usize; 9] = [0, 3, 4, 1, 2, 7, 8, 5, 6];
/// The share of the density that a population has at rest.
pub const W: [f64; 9] =
    [4.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0];

/// The populations of each cell.
pub type Lattice = TileArray<[f64; 9], 2>;

/// The populations of a fluid of this density and velocity that is left alone.
pub fn equilibrium(rho: f64, uy: f64, ux: f64) -> [f64; 9] {
    std::array::from_fn(|q| {
        let along = CY[q] as f64 * uy + CX[q] as f64 * ux;
        W[q] * rho * (1.0 - 1.5 * (uy * uy + ux * ux) + 3.0 * along + 4.5 * along * along)
    })
}

/// The velocity of a cell along `y` and `x`.
pub fn velocity(f: &[f64; 9]) -> [f64; 2] {
    let rho: f64 = f.iter().sum();
    [CY, CX].map(|ways| (0..9).map(|q| ways[q] as f64 * f[q]).sum::<f64>() / rho)
}

/// What a fluid does in each step.
#[derive(Clone, Copy)]
pub struct Flow {
    /// How much of the way to its equilibrium a population goes.
    pub omega: f64,
    /// The momentum along `x` that a cell gains.
    pub force: f64,
}

impl Flow {
    /// A fluid of this viscosity that no force drives.
    pub fn of(viscosity: f64) -> Flow {
        Flow { omega: 1.0 / (3.0 * viscosity + 0.5), force: 0.0 }
    }
}

/// A fluid's populations before and after a step, and what is solid.
pub struct Fluid {
    pub f: Lattice,
    next: Lattice,
    solid: TileArray<u8, 2>,
    flow: Flow,
    tile_size: [usize; 2],
}

impl Fluid {
    /// A fluid with the boundaries of `builder`.
    pub fn new(
        settings: &Settings,
        acc: &TileAcc,
        builder: &TileArrayBuilder<[f64; 9], 2>,
        flow: Flow,
        start: impl Fn([usize; 2]) -> [f64; 9] + Send + Sync,
        is_solid: impl Fn([usize; 2]) -> bool + Send + Sync,
    ) -> Result<Fluid> {
        let mut f = builder.build(acc)?;
        f.fill(start)?;
        let next = f.like()?;
        let mut solid = settings.array(acc, Boundary::Fixed(0))?;
        solid.fill(|at| u8::from(is_solid(at)))?;
        solid.fill_ghosts()?;
        Ok(Fluid { f, next, solid, flow, tile_size: settings.tile()? })
    }

    /// A step.
    pub fn step(&mut self) -> Result<()> {
        self.f.fill_ghosts()?;
        self.stream_and_collide()
    }

    /// A step after ghosts were filled.
    pub fn stream_and_collide(&mut self) -> Result<()> {
        let Fluid { f, next, solid, flow, tile_size } = self;
        let Flow { omega, force } = *flow;
        for tile in TileIter::new(next).tile_size(*tile_size) {
            compute(
                &tile,
                (&mut *next, &*f, &*solid),
                kernel!(|next, f, solid, at| {
                    let mut g = [0.0; 9];
                    let (mut rho, mut uy, mut ux) = (0.0, 0.0, 0.0);
                    for q in 0..9 {
                        g[q] = f[at - [CY[q], CX[q]]][q];
                        rho += g[q];
                        uy += CY[q] as f64 * g[q];
                        ux += CX[q] as f64 * g[q];
                    }
                    let turned = [g[0], g[3], g[4], g[1], g[2], g[7], g[8], g[5], g[6]];
                    uy /= rho;
                    ux /= rho;
                    let base = 1.0 - 1.5 * (uy * uy + ux * ux);
                    for q in 0..9 {
                        let along = CY[q] as f64 * uy + CX[q] as f64 * ux;
                        let rest = W[q] * rho * (base + 3.0 * along + 4.5 * along * along);
                        g[q] += omega * (rest - g[q]) + 3.0 * W[q] * CX[q] as f64 * force;
                    }
                    next[at] = if solid[at] == 1 { turned } else { g };
                }),
            )?;
        }
        std::mem::swap(f, next);
        Ok(())
    }

    /// The force of the fluid along `x` on what is solid in a box and beside it: what goes in there in the next step
    /// and what comes back.
    pub fn drag(&mut self, cells: GridBox<2>) -> Result<f64> {
        self.f.fill_ghosts()?;
        Ok(reduce_over(
            cells,
            (&self.f, &self.solid),
            Sum,
            kernel!(|f, solid, at| {
                let mut force = 0.0;
                for q in 0..9 {
                    let to = at + [CY[q], CX[q]];
                    if solid[at] == 0 && solid[to] == 1 {
                        force += CX[q] as f64 * (f[at][q] + f[to][OPPOSITE[q]]);
                    }
                }
                force
            }),
        )?)
    }

    /// How fast the fluid is in each cell; 0 in what is solid.
    pub fn speed(&self, settings: &Settings) -> Result<TileArray<f64, 2>> {
        let mut speed = settings.array::<f64, 2>(self.f.acc(), Boundary::Open)?;
        for tile in TileIter::new(&speed).tile_size(self.tile_size) {
            compute(
                &tile,
                (&mut speed, &self.f, &self.solid),
                kernel!(|speed, f, solid, at| {
                    let (mut rho, mut uy, mut ux) = (0.0, 0.0, 0.0);
                    for q in 0..9 {
                        rho += f[at][q];
                        uy += CY[q] as f64 * f[at][q];
                        ux += CX[q] as f64 * f[at][q];
                    }
                    speed[at] = if solid[at] == 1 { 0.0 } else { (uy * uy + ux * ux).sqrt() / rho };
                }),
            )?;
        }
        Ok(speed)
    }
}
