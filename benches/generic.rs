//! Kernels of generic functions beside the same written out for one type and rank, in whole programs on one thread.
//! Both run in turn; what is printed is the quotient of their medians, and of the fastest times: the goal is 0.97 to
//! 1.03.
//!
//! On a GPU: `cargo xtask bench gpu -- --case generic`.

use criterion::{Criterion, criterion_group, criterion_main};
use tida::prelude::*;
use tida_suite::turns::in_turn;

// (A test uses the rest.)
#[allow(dead_code)]
#[path = "../tests/support/forms/mod.rs"]
mod forms;

use forms::{Program, Text, WrittenOut};

/// Cells along each axis of programs with three; those with two have 16 times as many.
const SIDE: usize = 32;
const STEPS: usize = 10;
/// Times that each side runs.
const ROUNDS: usize = 201;

fn generic(_: &mut Criterion) {
    programs::<f64>("f64").expect("the sweeps run");
    programs::<f32>("f32").expect("the sweeps run");
}

fn programs<T: WrittenOut>(precision: &str) -> tida::Result<()> {
    let acc = TileAcc::builder().device(Device::Cpu).threads(1).build()?;
    for name in Program::<T>::NAMES {
        let [mut open, mut written] = [Program::<T>::new(&acc, name, SIDE)?, Program::<T>::new(&acc, name, SIDE)?];
        let took = in_turn(
            ROUNDS,
            &mut [
                Box::new(|| written.steps(Text::WrittenOut, STEPS).and_then(|()| acc.sync())),
                Box::new(|| open.steps(Text::Open, STEPS).and_then(|()| acc.sync())),
            ],
        )?;
        assert!(open.bits()? == written.bits()?, "{name}: both have the same bits");
        println!(
            "{name} {precision}, {STEPS} steps: {:.3} ms written out; generic {:.3} of it; the fastest {:.3}",
            1e3 * took[0].median,
            took[1].median / took[0].median,
            took[1].fastest / took[0].fastest
        );
    }
    Ok(())
}

criterion_group!(benches, generic);
criterion_main!(benches);
