//! The lattice Boltzmann method in two axes with nine velocities (D2Q9): a channel with a round obstacle in its way.
//!
//! Fluid flows in on the left at a fixed velocity and out on the right. The walls are the first and the last row. What
//! flows into them or into the obstacle comes back the way it came, a step later. The nine directions are tables, and
//! kernels loop over them.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};

use crate::{Program, lbm2d_plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "lbm2d",
        about: "Lattice Boltzmann (D2Q9): flow through a channel past an obstacle",
        dims: &[2],
        size: [0, 256, 0],
        steps: 400,
        ghost: 1,
        dtypes: &[Dtype::F64],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("speed"),
    },
    small: "--size 32 --steps 320",
    input: false,
    run,
};

/// Cells along `y` that a population moves in a step.
pub const CY: [i64; 9] = [0, 0, 1, 0, -1, 1, 1, -1, -1];
/// Along `x`.
pub const CX: [i64; 9] = [0, 1, 0, -1, 0, 1, -1, -1, 1];
/// The population that moves the other way.
const OPPOSITE: [usize; 9] = [0, 3, 4, 1, 2, 7, 8, 5, 6];
/// The share of the density that a population has at rest.
pub const W: [f64; 9] =
    [4.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0];

/// Cells that the fluid moves in a step where it flows in.
pub const SPEED: f64 = 0.1;
/// Speed times the obstacle's width over the viscosity.
const REYNOLDS: f64 = 100.0;

/// Whether a cell is in the obstacle, a disc a little above the channel's middle, so that vortices part from it sooner.
fn is_obstacle(n: usize, [y, x]: [usize; 2]) -> bool {
    let n = n as f64;
    (y as f64 + 0.5 - 0.52 * n).hypot(x as f64 + 0.5 - 0.25 * n) < n / 16.0
}

/// Whether a cell is in the obstacle or a wall.
pub fn is_solid(n: usize, at: [usize; 2]) -> bool {
    at[0] == 0 || at[0] == n - 1 || is_obstacle(n, at)
}

/// How much of the way to its equilibrium a population goes in a step.
pub fn omega(n: usize) -> f64 {
    let viscosity = SPEED * (n as f64 / 8.0) / REYNOLDS;
    1.0 / (3.0 * viscosity + 0.5)
}

/// The populations of a fluid of this density and velocity that is left alone.
pub fn equilibrium(rho: f64, uy: f64, ux: f64) -> [f64; 9] {
    std::array::from_fn(|q| {
        let along = CY[q] as f64 * uy + CX[q] as f64 * ux;
        W[q] * rho * (1.0 - 1.5 * (uy * uy + ux * ux) + 3.0 * along + 4.5 * along * along)
    })
}

/// The fluid's populations before and after a step, and what is solid.
struct Fluid {
    f: TileArray<[f64; 9], 2>,
    next: TileArray<[f64; 9], 2>,
    solid: TileArray<u8, 2>,
    omega: f64,
    tile_size: [usize; 2],
}

impl Fluid {
    /// Fluid that flows everywhere as it does where it comes in.
    fn new(settings: &Settings, acc: &TileAcc) -> Result<Fluid> {
        let n = settings.shape[0];
        let inflow = equilibrium(1.0, 0.0, SPEED);
        // Beyond the walls is the other wall: no fluid gets there.
        let builder = settings.builder(Boundary::Periodic)?.boundary_face(1, Side::Low, Boundary::Fixed(inflow));
        let mut f = builder.boundary_face(1, Side::High, Boundary::Extrapolate(0)).build(acc)?;
        f.fill_value(inflow)?;
        let mut next = f.like()?;
        next.fill_value(inflow)?;
        let mut solid = settings.array(acc, Boundary::Fixed(0))?;
        solid.fill(|at| u8::from(is_solid(n, at)))?;
        solid.fill_ghosts()?;
        Ok(Fluid { f, next, solid, omega: omega(n), tile_size: settings.tile()? })
    }

    fn step(&mut self) -> Result<()> {
        let Fluid { f, next, solid, omega, tile_size } = self;
        let omega = *omega;
        f.fill_ghosts()?;
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
                        g[q] += omega * (rest - g[q]);
                    }
                    next[at] = if solid[at] == 1 { turned } else { g };
                }),
            )?;
        }
        std::mem::swap(f, next);
        Ok(())
    }

    /// The mass of all cells.
    fn mass(&self) -> Result<f64> {
        Ok(reduce(
            &self.f,
            Sum,
            kernel!(|f, at| {
                let mut rho = 0.0;
                for q in 0..9 {
                    rho += f[at][q];
                }
                rho
            }),
        )?)
    }

    /// The mass that the next step takes in through column `x`, from the column beside it that lies outside, `out`
    /// cells away.
    fn taken_in(&mut self, x: i64, out: i64) -> Result<f64> {
        self.f.fill_ghosts()?;
        let rows = self.f.shape()[0] as i64;
        Ok(reduce_over(
            GridBox::new([0, x], [rows, x + 1]),
            &self.f,
            Sum,
            kernel!(|f, at| {
                let mut sum = 0.0;
                for q in 0..9 {
                    if CX[q] == -out {
                        sum += f[at - [CY[q], CX[q]]][q];
                    }
                    if CX[q] == out {
                        sum -= f[at][q];
                    }
                }
                sum
            }),
        )?)
    }

    /// The force of the fluid on the obstacle along the channel: what goes in there in the next step and what comes
    /// back.
    fn drag(&mut self) -> Result<f64> {
        self.f.fill_ghosts()?;
        // A box around the obstacle that leaves the walls out.
        let n = self.f.shape()[0] as i64;
        Ok(reduce_over(
            GridBox::new([n / 4, 1], [3 * n / 4, n - 1]),
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

    /// How fast the fluid is in each cell; 0 in the obstacle.
    fn speed(&self, settings: &Settings) -> Result<TileArray<f64, 2>> {
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

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(1)?;
    let mut fluid = Fluid::new(settings, &acc)?;
    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        fluid.step()?;
        clock.step_drawn(&acc, || settings.drawing(&fluid.speed(settings)?))?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    let n = settings.shape[0];
    settings.draw(settings.steps, || settings.drawing(&fluid.speed(settings)?))?;
    let found = || {
        let speed = fluid.speed(settings)?;
        Ok(speed.read_box(speed.domain())?)
    };
    settings.finish_with(&fluid.f, settings.steps, seconds, found, || lbm2d_plain::speeds(n, settings.steps))?;
    if settings.verify { balanced(settings, &mut fluid) } else { Ok(()) }
}

/// Whether one more step changes the mass by what flows in and out, and what the obstacle feels.
fn balanced(settings: &Settings, fluid: &mut Fluid) -> Result<()> {
    let n = settings.shape[0];
    let before = fluid.mass()?;
    let flow = fluid.taken_in(0, -1)? + fluid.taken_in(n as i64 - 1, 1)?;
    fluid.step()?;
    let (after, drag) = (fluid.mass()?, fluid.drag()?);
    let off = ((after - before - flow) / before).abs();
    if !settings.flags.json {
        let width = n as f64 / 8.0;
        println!("  the obstacle's drag coefficient is {:.3}", 2.0 * drag / (SPEED * SPEED * width));
    }
    if off.is_nan() || off > 1e-12 {
        let found = format!("a step that loses {off:e} of the mass beside what flows in and out");
        return Err(format!("tried to verify lbm2d; found {found}; it should be 1e-12 at most").into());
    }
    // At first there are waves of pressure between the ends of the channel.
    let settled = settings.steps as usize >= 10 * n;
    if settled && (drag.is_nan() || drag <= 0.0) {
        let found = format!("a force of {drag:e} on the obstacle");
        return Err(format!("tried to verify lbm2d; found {found}; it should go along with the flow").into());
    }
    Ok(())
}
