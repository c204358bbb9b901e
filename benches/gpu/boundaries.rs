//! Ghosts that kernels set from cells inwards, against ghosts of fixed value: all of them tida.

use tida::array::Side as Face;
use tida::prelude::*;
use tida::{Compile, Fuse, fill_ghosts_with};
use tida_suite::Result;

use crate::Bench;
use crate::heat::{OUTSIDE, step3};
use crate::measure::{Output, Row, Side, Work, in_turn};

/// Steps after which results are compared.
const CHECKED: usize = 3;

/// Beyond which values a wall gives way, which none does.
const MOST: f64 = 2.0;

/// Two arrays of one region, and the faces of axis 2, 1 and 0 in this order whose ghosts kernels set.
struct Walls {
    u: TileArray<f64, 3>,
    next: TileArray<f64, 3>,
    by_kernels: usize,
}

/// All faces, in the order in which their ghosts are set.
const FACES: [(usize, Face); 6] =
    [(2, Face::Low), (2, Face::High), (1, Face::Low), (1, Face::High), (0, Face::Low), (0, Face::High)];

/// What is beyond a face, by a kernel that reads the cell inwards of each ghost.
fn set(u: &mut TileArray<f64, 3>, face: (usize, Face)) -> tida::Result<()> {
    macro_rules! wall {
        ($op:tt $away:expr) => {
            fill_ghosts_with(
                face,
                u,
                kernel!(|u, at| {
                    let inside = u[at $op $away];
                    u[at] = if inside > MOST { inside } else { OUTSIDE };
                }),
            )
        };
    }
    match face {
        (2, Face::Low) => wall!(+ [0, 0, 1]),
        (2, Face::High) => wall!(-[0, 0, 1]),
        (1, Face::Low) => wall!(+ [0, 1, 0]),
        (1, Face::High) => wall!(-[0, 1, 0]),
        (_, Face::Low) => wall!(+ [1, 0, 0]),
        (_, Face::High) => wall!(-[1, 0, 0]),
    }
}

impl Walls {
    fn new(bench: &Bench, fuse: Fuse, by_kernels: usize) -> Result<Walls> {
        let acc = TileAcc::builder().device(bench.device).compile(Compile::Wait).fuse(fuse).build()?;
        let mut builder = TileArray::<f64, 3>::builder([bench.size; 3]).ghost(1).boundary(Boundary::Fixed(OUTSIDE));
        for (axis, side) in &FACES[..by_kernels] {
            builder = builder.boundary_face(*axis, *side, Boundary::Open);
        }
        let mut u = builder.build(&acc)?;
        u.fill(|[i, j, k]| ((i * 7 + j * 13 + k * 29) % 64) as f64 / 64.0)?;
        let next = u.like()?;
        Ok(Walls { u, next, by_kernels })
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.u.fill_ghosts()?;
            FACES[..self.by_kernels].iter().try_for_each(|face| set(&mut self.u, *face))?;
            step3(&self.u, &mut self.next)?;
            std::mem::swap(&mut self.u, &mut self.next);
        }
        self.u.acc().sync()?;
        Ok(())
    }
}

/// One face and all six by kernels, against all of fixed value: one step a launch, and several.
pub fn boundaries(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = bench.size;
    let mut all = [
        Walls::new(bench, Fuse::Auto, 1)?,
        Walls::new(bench, Fuse::Auto, 6)?,
        Walls::new(bench, Fuse::Off, 0)?,
        Walls::new(bench, Fuse::Auto, 0)?,
    ];
    let mut found = Vec::new();
    for walls in &mut all {
        walls.run(CHECKED)?;
        found.push(walls.u.read_box(walls.u.domain())?);
    }
    let same = found.iter().all(|cells| cells == &found[0]);
    drop(found);
    let [one, six, single, several] = &mut all;
    let mut sides: [Side<'_>; 4] = [
        Box::new(|steps| one.run(steps)),
        Box::new(|steps| six.run(steps)),
        Box::new(|steps| single.run(steps)),
        Box::new(|steps| several.run(steps)),
    ];
    let times = in_turn(bench.effort, &mut sides)?;
    for (number, faces) in ["one face", "six faces"].into_iter().enumerate() {
        let case = format!("heat3 f64 {n}^3, {faces} by kernels");
        let check = output.checked(&case, same, if same { "same bits".into() } else { "cells DIFFER".into() });
        let work = Work { case, check, cells: n.pow(3), bytes: 2 * n.pow(3) * size_of::<f64>() };
        output.row(&Row::new(&work, &times[number], Some(("tida, fixed, one step a launch", &times[2]))))?;
        output.row(&Row::new(&work, &times[number], Some(("tida, fixed, several steps a launch", &times[3]))))?;
    }
    Ok(())
}
