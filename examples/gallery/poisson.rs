//! Poisson's equation by point Jacobi with the 19 points of the Himeno benchmark: MESI-CUDA Table 3 (128³) and §4.4.2.
//!
//! The coefficients are arrays too, three of them with several values a cell, so a cell reads much more than its
//! neighbours. Outer cells keep their values: the loops leave them out.

use tida::prelude::*;
use tida_plot::Lines;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};
use tida_suite::oracle::Grid;

use crate::{Program, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "poisson",
        about: "Himeno's point Jacobi: pressure from 19 points, with the change of each step",
        dims: &[3],
        size: [0, 0, 128],
        steps: 20,
        ghost: 1,
        dtypes: &[Dtype::F32],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("pressure"),
    },
    small: "--size 26 --steps 4",
    input: true,
    run,
};

/// How much of a change is made.
const OMEGA: f32 = 0.8;

/// The coefficients of a cell: `a` for the neighbours above on each axis and the divisor, `b` for those across edges,
/// `c` for the neighbours below. Himeno has the same in every cell; here they differ a little, so that a wrong cell
/// shows.
fn coefficients(cell: usize) -> ([f32; 4], [f32; 3], [f32; 3]) {
    let near = |x: f32| x * (1.0 + 0.01 * plain::random(cell) as f32);
    ([near(1.0), near(1.0), near(1.0), 1.0 / 6.0], [near(0.001); 3], [near(1.0); 3])
}

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(3)?;
    let mut p = settings.array::<f32, 3>(&acc, Boundary::Open)?;
    settings.fill(&mut p, |[z, ..]| (z * z) as f32)?;
    let (mut next, mut source) = (p.like()?, p.like()?);
    // Outer cells are never written: both arrays have them from the start.
    next.copy_from(&p)?;
    let shape = p.shape();
    let [depth, height, width] = shape;
    let cell = |[k, j, i]: [usize; 3]| (k * height + j) * width + i;
    source.fill(|at| 1e-3 * plain::random(cell(at)) as f32)?;
    let mut a = settings.array::<[f32; 4], 3>(&acc, Boundary::Open)?;
    let mut b = settings.array::<[f32; 3], 3>(&acc, Boundary::Open)?;
    let mut c = b.like()?;
    a.fill(|at| coefficients(cell(at)).0)?;
    b.fill(|at| coefficients(cell(at)).1)?;
    c.fill(|at| coefficients(cell(at)).2)?;
    let (start, charge) = (settings.start(&p)?, settings.start(&source)?);
    let tile_size = settings.tile()?;

    let omega = OMEGA;
    let high = [depth, height, width].map(|n| n as i64 - 1);
    let mut changes = Vec::new();
    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        p.fill_ghosts()?;
        for tile in TileIter::new(&next).within([1; 3], high).tile_size(tile_size) {
            compute(
                &tile,
                (&mut next, &p, &a, &b, &c, &source),
                kernel!(|next, p, a, b, c, source, at| {
                    let (above, edge, below) = (a[at], b[at], c[at]);
                    let sum = above[0] * p[at + [1, 0, 0]]
                        + above[1] * p[at + [0, 1, 0]]
                        + above[2] * p[at + [0, 0, 1]]
                        + edge[0] * (p[at + [1, 1, 0]] - p[at + [1, -1, 0]] - p[at + [-1, 1, 0]] + p[at + [-1, -1, 0]])
                        + edge[1] * (p[at + [0, 1, 1]] - p[at + [0, -1, 1]] - p[at + [0, 1, -1]] + p[at + [0, -1, -1]])
                        + edge[2] * (p[at + [1, 0, 1]] - p[at + [-1, 0, 1]] - p[at + [1, 0, -1]] + p[at + [-1, 0, -1]])
                        + below[0] * p[at - [1, 0, 0]]
                        + below[1] * p[at - [0, 1, 0]]
                        + below[2] * p[at - [0, 0, 1]]
                        + source[at];
                    next[at] = p[at] + omega * (sum * above[3] - p[at]);
                }),
            )?;
        }
        std::mem::swap(&mut p, &mut next);
        changes.push(reduce_later((&p, &next), Sum, kernel!(|p, old, at| (p[at] - old[at]) * (p[at] - old[at])))?);
        clock.step_of(&p)?;
    }
    let changes: Vec<f32> = changes.iter().map(Scalar::get).collect::<tida::Result<_>>()?;
    acc.sync()?;
    let seconds = clock.stop()?;

    let shown: Vec<f64> = changes.iter().map(|change| f64::from(*change)).collect();
    let plot = Lines::new().series("", &shown).axes("step", "squared change");
    settings.draw(settings.steps, || Ok(plot))?;
    let found = || Ok([p.read_box(p.domain())?, changes].concat());
    settings
        .finish_with(&p, settings.steps, seconds, found, || iterated(&settings.shape, &start, &charge, settings.steps))
}

/// The same by plain loops: the cells, then the change of each step.
fn iterated(shape: &[usize], start: &[f32], source: &[f32], steps: u64) -> Vec<f32> {
    let mut grid = Grid::new(shape, 0, start);
    let [nz, ny, nx] = grid.shape();
    let (z, y) = (grid.stride(0), grid.stride(1));
    let constants: Vec<_> = (0..start.len()).map(coefficients).collect();
    let mut changes = Vec::new();
    for _ in 0..steps {
        let mut next = grid.clone();
        for k in 1..nz.saturating_sub(1) {
            for j in 1..ny.saturating_sub(1) {
                for i in 1..nx.saturating_sub(1) {
                    let q = grid.position(k, j, i);
                    let p = &grid.data;
                    let (a, b, c) = &constants[q];
                    let sum = a[0] * p[q + z]
                        + a[1] * p[q + y]
                        + a[2] * p[q + 1]
                        + b[0] * (p[q + z + y] - p[q + z - y] - p[q - z + y] + p[q - z - y])
                        + b[1] * (p[q + y + 1] - p[q - y + 1] - p[q + y - 1] + p[q - y - 1])
                        + b[2] * (p[q + z + 1] - p[q - z + 1] - p[q + z - 1] + p[q - z - 1])
                        + c[0] * p[q - z]
                        + c[1] * p[q - y]
                        + c[2] * p[q - 1]
                        + source[q];
                    next.data[q] = p[q] + OMEGA * (sum * a[3] - p[q]);
                }
            }
        }
        let rows = next.data.chunks(nx).zip(grid.data.chunks(nx));
        changes.push(plain::sum(
            rows.map(|(new, old)| new.iter().zip(old).map(|(new, old)| (new - old) * (new - old)).collect()),
        ));
        grid = next;
    }
    [grid.data, changes].concat()
}
