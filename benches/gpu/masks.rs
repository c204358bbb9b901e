//! What a mask leaves out, and what boxes that are read each step cost: all of them tida.

use tida::prelude::*;
use tida::{Fuse, Math};
use tida_suite::Result;

use crate::Bench;
use crate::heat::step3;
use crate::measure::{Output, Row, Side, Work, in_turn, median};

/// Steps after which results are compared.
const CHECKED: usize = 3;
/// Cells of a block.
const BLOCK: [usize; 3] = [8, 8, 64];

/// Heat in a ball of this radius, as a part of the edge of the cube: over all cells, or over the active blocks.
struct Ball {
    u: TileArray<f64, 3>,
    next: TileArray<f64, 3>,
    solid: TileArray<u8, 3>,
    blocks: Option<ActiveBlocks<3>>,
}

impl Ball {
    fn new(acc: &TileAcc, n: usize, radius: f64, lists: bool) -> Result<Ball> {
        let middle = n as f64 / 2.0;
        let is_solid = |at: [usize; 3]| {
            let from = at.map(|i| (i as f64 + 0.5 - middle).powi(2)).iter().sum::<f64>().sqrt();
            from > radius * n as f64
        };
        let mut u = TileArray::<f64, 3>::builder([n; 3]).ghost(1).boundary(Boundary::Fixed(0.0)).build(acc)?;
        let mut solid = TileArray::<u8, 3>::builder([n; 3]).build(acc)?;
        solid.fill(|at| u8::from(is_solid(at)))?;
        u.fill(|at| if is_solid(at) { 0.0 } else { ((at[0] * 7 + at[1] * 13 + at[2] * 29) % 64) as f64 })?;
        let blocks = if lists { Some(ActiveBlocks::new(&solid, BLOCK, |solid| solid == 0)?) } else { None };
        Ok(Ball { next: u.try_clone()?, u, solid, blocks })
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.u.fill_ghosts()?;
            let tiles = match &self.blocks {
                Some(blocks) => self.u.tiles().active(blocks),
                None => self.u.tiles(),
            };
            for tile in tiles {
                compute(
                    &tile,
                    (&mut self.next, &self.u, &self.solid),
                    kernel!(|next, u, solid, at| {
                        let around = u[at - [0, 0, 1]]
                            + u[at + [0, 0, 1]]
                            + u[at - [0, 1, 0]]
                            + u[at + [0, 1, 0]]
                            + u[at - [1, 0, 0]]
                            + u[at + [1, 0, 0]];
                        next[at] = if solid[at] == 1 { u[at] } else { u[at] + 0.1 * (around - 6.0 * u[at]) };
                    }),
                )?;
            }
            std::mem::swap(&mut self.u, &mut self.next);
        }
        Ok(self.u.acc().sync()?)
    }
}

/// Balls that fill all of the cube, a third, and less, against all cells of the cube.
pub fn masks(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = bench.size;
    let acc = bench.accelerator(Math::Exact)?;
    for radius in [1.0, 0.45, 0.3, 0.15] {
        let (mut all, mut active) = (Ball::new(&acc, n, radius, false)?, Ball::new(&acc, n, radius, true)?);
        let (mut found, mut count) = (Vec::new(), 0);
        for ball in [&mut all, &mut active] {
            ball.run(CHECKED)?;
            found.push(ball.u.read_box(ball.u.domain())?);
            count = ball.blocks.as_ref().map_or(count, ActiveBlocks::cells);
        }
        let same = found[0] == found[1];
        drop(found);
        let part = count as f64 / n.pow(3) as f64;
        let case = format!("mask {n}^3, blocks of {:.1} % of the cells", 100.0 * part);
        let check = output.checked(&case, same, if same { "same bits".into() } else { "cells DIFFER".into() });
        let mut sides: [Side<'_>; 2] = [Box::new(|steps| active.run(steps)), Box::new(|steps| all.run(steps))];
        let times = in_turn(bench.effort, &mut sides)?;
        let share: Vec<f64> = times[1].iter().map(|seconds| seconds * part).collect();
        let work = Work { case: case.clone(), check, cells: count, bytes: 17 * count };
        output.row(&Row::new(&work, &times[0], Some(("their share of the time of all cells", &share))))?;
        output.figure(&format!("{case}: a step"), 1e6 * median(&times[0]), "us")?;
        output.figure(&format!("{case}: a step of all cells"), 1e6 * median(&times[1]), "us")?;
    }
    Ok(())
}

/// Heat of which a box is read in each step, and waited for a step later.
struct Watched {
    u: TileArray<f64, 3>,
    next: TileArray<f64, 3>,
    cells: Option<GridBox<3>>,
}

impl Watched {
    fn run(&mut self, steps: usize) -> Result<()> {
        let mut later = None;
        for _ in 0..steps {
            self.u.fill_ghosts()?;
            step3(&self.u, &mut self.next)?;
            std::mem::swap(&mut self.u, &mut self.next);
            let read = self.cells.map(|cells| self.u.read_box_later(cells)).transpose()?;
            if let Some(before) = std::mem::replace(&mut later, read) {
                before.get()?;
            }
        }
        if let Some(last) = later {
            last.get()?;
        }
        Ok(self.u.acc().sync()?)
    }
}

/// Planes and boxes that are read in each step, beside steps without, one a launch.
pub fn boxes(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = bench.size;
    let acc = TileAcc::builder().device(bench.device).compile(tida::Compile::Wait).fuse(Fuse::Off).build()?;
    let (end, middle) = (n as i64, n as i64 / 2);
    let plane = |axis: usize| {
        let (mut lo, mut hi) = ([0; 3], [end; 3]);
        (lo[axis], hi[axis]) = (middle, middle + 1);
        Some(GridBox::new(lo, hi))
    };
    let few = Some(GridBox::new([middle; 3], [middle + 2; 3]));
    let kinds = [
        ("nothing", None),
        ("a plane of axis 0", plane(0)),
        ("a plane of axis 1", plane(1)),
        ("a plane of axis 2", plane(2)),
        ("2^3 cells", few),
    ];
    let mut all = Vec::new();
    for (_, cells) in kinds {
        let mut u = TileArray::<f64, 3>::builder([n; 3]).ghost(1).boundary(Boundary::Fixed(0.0)).build(&acc)?;
        u.fill(|[k, j, i]| ((k * 7 + j * 13 + i * 29) % 64) as f64)?;
        all.push(Watched { next: u.like()?, u, cells });
    }
    let mut sides: Vec<Side<'_>> = Vec::new();
    for watched in &mut all {
        sides.push(Box::new(|steps| watched.run(steps)));
    }
    let times = in_turn(bench.effort, &mut sides)?;
    for ((kind, _), times) in kinds.iter().zip(&times) {
        output.figure(&format!("heat3 f64 {n}^3 of which {kind} is read: a step"), 1e6 * median(times), "us")?;
    }
    Ok(())
}
