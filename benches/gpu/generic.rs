//! Kernels of generic functions beside the same written out for one type and rank, in whole programs: the goal is the
//! same speed within 3 %.

use tida::Math;
use tida_suite::Result;

use crate::Bench;
use crate::measure::{Output, Row, Side, Work, in_turn};

// (A test uses the rest.)
#[allow(dead_code)]
#[path = "../../tests/support/forms/mod.rs"]
mod forms;

use forms::{Program, Text, WrittenOut};

/// Steps after which both have to have the same bits.
const CHECKED: usize = 7;

pub fn generic(bench: &Bench, output: &mut Output) -> Result<()> {
    programs::<f32>(bench, output, "f32")?;
    programs::<f64>(bench, output, "f64")
}

/// All programs of a precision, one after the other: their arrays are gone before those of the next are made.
fn programs<T: WrittenOut>(bench: &Bench, output: &mut Output, precision: &str) -> Result<()> {
    let acc = bench.accelerator(Math::Exact)?;
    for name in Program::<T>::NAMES {
        let mut open = Program::<T>::new(&acc, name, bench.size / 2)?;
        let mut written = Program::<T>::new(&acc, name, bench.size / 2)?;
        open.steps(Text::Open, CHECKED)?;
        written.steps(Text::WrittenOut, CHECKED)?;
        let case = format!("generic {name} {precision}");
        let apart = open.bits()?.iter().zip(&written.bits()?).filter(|(a, b)| a != b).count();
        let check = if apart == 0 { "same bits".into() } else { format!("{apart} values DIFFER") };
        let check = output.checked(&case, apart == 0, check);
        let work = Work { case, check, cells: open.cells, bytes: open.bytes };
        let times = {
            let mut sides: [Side<'_>; 2] = [
                Box::new(|steps| Ok(open.steps(Text::Open, steps).and_then(|()| acc.sync())?)),
                Box::new(|steps| Ok(written.steps(Text::WrittenOut, steps).and_then(|()| acc.sync())?)),
            ];
            in_turn(bench.effort, &mut sides)?
        };
        let mut row = Row::new(&work, &times[0], Some(("tida, written out", &times[1])));
        row.goal = Some(0.97);
        output.row(&row)?;
    }
    Ok(())
}
