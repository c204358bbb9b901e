//! Models of what is lock-free in the scheduler, checked by loom: `cargo xtask sanitize --only loom`.
#![cfg(tida_loom)]

use tida::acc::models::{Fault, MODELS, run};

/// Which faults each model finds, and what it says of them.
const FOUND: &[(&str, Fault, &str)] = &[];

#[test]
fn every_run_of_the_models_is_right() {
    for (name, _) in MODELS {
        let start = std::time::Instant::now();
        run(name, None).unwrap_or_else(|found| panic!("{name}: {found}"));
        println!("{name}: {:.2?}", start.elapsed());
    }
}

#[test]
fn models_find_faults() {
    for fault in [Fault::NoFences, Fault::Relaxed, Fault::Torn, Fault::EarlyValue, Fault::NoWaking] {
        for (name, _) in MODELS {
            println!("{fault:?} {name}: {:?}", run(name, Some(fault)));
        }
    }
}
