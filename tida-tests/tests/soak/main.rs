//! Random programs: the bits of plain loops, wherever and however they run.
//!
//! `cargo xtask soak` runs many of them; the tests here run a few.
#![cfg(feature = "ndarray")]

mod composites;
mod configuration;
mod draw;
mod faults;
mod kernels;
mod oracle;
mod pinned;
mod program;
mod run;
mod shrink;
mod soak;
mod text;
mod value;

use tida::SimDevice;

use configuration::Place;
use run::Outcome;

/// How many programs the test has: as many as take some seconds.
const PROGRAMS: u64 = 150;

#[test]
fn random_programs_give_the_bits_of_plain_loops() {
    let places = soak::places();
    for n in 0..PROGRAMS {
        let program = draw::program(1, n, &places);
        let outcome = run::run(&program, &SimDevice::new());
        assert!(!matches!(outcome, Outcome::Wrong(_)), "{outcome:?} of\n{program}");
    }
}

#[test]
fn texts_of_programs_are_read_back() {
    for n in 0..200 {
        let program = draw::program(2, n, &[Place::Sim]);
        let text = program.to_string();
        assert_eq!(text.parse::<program::Program>().unwrap(), program, "{text}");
    }
}

/// For `cargo xtask soak`.
#[test]
#[ignore = "only for cargo xtask soak"]
fn soak_for_a_while() {
    soak::soak();
}
