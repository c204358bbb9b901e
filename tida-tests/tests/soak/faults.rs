//! Mistakes that a simulated device makes on purpose: random programs find each.

use tida::{SimDevice, SimFault};

use crate::configuration::Place;
use crate::draw;
use crate::program::Program;
use crate::run::{Outcome, run};

/// One chance in so many leads to the mistake.
const EVERY: u64 = 3;

/// Programs that may be needed.
const PROGRAMS: u64 = 400;

/// The same program with steps in one launch and joined sweeps wherever they may be, whatever this machine has to do
/// besides.
fn together(mut program: Program) -> Program {
    let of = &mut program.configuration;
    (of.look_ahead, of.room, of.fuse, of.join) = (256, 1, 3, true);
    (of.streams, of.beside, of.unhurried) = (false, false, true);
    program
}

/// The first program that finds the fault, and is right without it.
fn found_by(fault: SimFault) -> Option<u64> {
    let (planted, sound) = (SimDevice::new().plant(fault, EVERY), SimDevice::new());
    (0..PROGRAMS).find(|n| {
        let program = draw::program(3, *n, &[Place::Sim]);
        let program = match fault {
            SimFault::ReadGhosts | SimFault::ShallowSteps | SimFault::LostSweep => together(program),
            _ => program,
        };
        let is_wrong = |device: &SimDevice| matches!(run(&program, device), Outcome::Wrong(_));
        is_wrong(&planted) && !is_wrong(&sound)
    })
}

#[test]
fn programs_find_each_planted_fault() {
    let found: Vec<_> = SimFault::ALL.into_iter().map(|fault| (fault, found_by(fault))).collect();
    println!("found by program {found:?}");
    assert!(found.iter().all(|(_, by)| by.is_some()), "not found: {found:?}");
}
