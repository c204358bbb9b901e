//! Steps that differ, several in one launch: other captured values in each, or two kernels that take turns. tida
//! against itself with one step a launch, and beside steps that are all alike.

use tida::prelude::*;
use tida_suite::Result;

use crate::Bench;
use crate::fused::accelerator;
use crate::heat::{ALPHA, OUTSIDE, noise, step2, step2_by};
use crate::measure::{Output, Row, Side, Work, in_turn};

/// Steps that count as one of a side's: more than a launch has.
const UNIT: usize = 24;

/// A step of a number.
type Step = fn(usize, &TileArray<f64, 2>, &mut TileArray<f64, 2>) -> tida::Result<()>;

/// The time step changes.
fn varied(number: usize, u: &TileArray<f64, 2>, next: &mut TileArray<f64, 2>) -> tida::Result<()> {
    step2_by(ALPHA * (1.0 - (number % 100) as f64 / 200.0), u, next)
}

/// Along x, then along y.
fn along(number: usize, u: &TileArray<f64, 2>, next: &mut TileArray<f64, 2>) -> tida::Result<()> {
    let alpha = ALPHA;
    for tile in TileIter::new(u) {
        let args = (&mut *next, u);
        match number % 2 {
            0 => compute(
                &tile,
                args,
                kernel!(|next, u, at| next[at] = u[at] + alpha * (u[at + [0, 1]] + u[at - [0, 1]] - 2.0 * u[at])),
            )?,
            _ => compute(
                &tile,
                args,
                kernel!(|next, u, at| next[at] = u[at] + alpha * (u[at + [1, 0]] + u[at - [1, 0]] - 2.0 * u[at])),
            )?,
        }
    }
    Ok(())
}

struct Loop {
    u: TileArray<f64, 2>,
    next: TileArray<f64, 2>,
    step: Step,
    number: usize,
}

impl Loop {
    fn new(bench: &Bench, fused: bool, step: Step, n: usize) -> Result<Loop> {
        let acc = accelerator(bench, fused)?;
        let mut u = TileArray::<f64, 2>::builder([n; 2]).ghost(1).boundary(Boundary::Fixed(OUTSIDE)).build(&acc)?;
        u.fill(|[j, i]| noise(j * n + i))?;
        let next = u.like()?;
        Ok(Loop { u, next, step, number: 0 })
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.u.fill_ghosts()?;
            (self.step)(self.number, &self.u, &mut self.next)?;
            std::mem::swap(&mut self.u, &mut self.next);
            self.number += 1;
        }
        Ok(self.u.acc().sync()?)
    }

    fn cells(&self) -> Result<Vec<f64>> {
        Ok(self.u.read_box(self.u.domain())?)
    }
}

/// Each kind of steps in turn.
pub fn turns(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = 16 * bench.size;
    let kinds: [(&str, Step); 3] = [
        ("all alike", |_, u, next| step2(u, next)),
        ("a time step that changes", varied),
        ("along x, then along y", along),
    ];
    for (name, step) in kinds {
        let case = format!("turns heat2 f64 {n}^2, {name}");
        let (mut off, mut auto) = (Loop::new(bench, false, step, n)?, Loop::new(bench, true, step, n)?);
        off.run(UNIT)?;
        auto.run(UNIT)?;
        let apart = auto.cells()?.iter().zip(&off.cells()?).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
        let check = if apart == 0 { "same bits".into() } else { format!("{apart} cells DIFFER") };
        let check = output.checked(&case, apart == 0, check);
        let mut sides: [Side<'_>; 2] =
            [Box::new(|units| off.run(units * UNIT)), Box::new(|units| auto.run(units * UNIT))];
        let times = in_turn(bench.effort, &mut sides)?;
        let cells = UNIT * n * n;
        let work = Work { case, check, cells, bytes: cells * 2 * size_of::<f64>() };
        output.row(&Row::new(&work, &times[1], Some(("tida, one step a launch", &times[0]))))?;
    }
    Ok(())
}
