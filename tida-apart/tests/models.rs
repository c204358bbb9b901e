//! Models of what is lock-free in the scheduler, checked by loom: `cargo xtask sanitize --only loom`.
#![cfg(tida_loom)]

use tida::acc::models::{Fault, MODELS, run};

/// Which models find which faults, and a part of what they say.
const FOUND: &[(Fault, &str, &str)] = &[
    (Fault::NoFences, "a_node_is_waited_for", "deadlock"),
    (Fault::NoFences, "all_are_waited_for", "deadlock"),
    (Fault::NoFences, "room_is_waited_for", "deadlock"),
    (Fault::Relaxed, "predecessors", "Causality violation"),
    (Fault::Relaxed, "launches", "Causality violation"),
    (Fault::Torn, "predecessors", "nobody ran the last node"),
    (Fault::Torn, "failures", "not each was given to one thread"),
    (Fault::Torn, "launches", "not each was given to one thread"),
    (Fault::Torn, "all_are_waited_for", "deadlock"),
    (Fault::Torn, "a_chain_starts_once", "the chain was given 0 times"),
    (Fault::EarlyValue, "a_node_is_waited_for", "Causality violation"),
    (Fault::EarlyValue, "lanes_follow_each_other", "Causality violation"),
    (Fault::Torn, "lanes_follow_each_other", "Causality violation"),
    (Fault::NoPassing, "a_node_is_waited_for", "deadlock"),
    (Fault::NoPassing, "all_are_waited_for", "deadlock"),
    (Fault::NoPassing, "room_is_waited_for", "deadlock"),
    (Fault::NoWaking, "a_node_is_waited_for", "deadlock"),
    (Fault::NoWaking, "all_are_waited_for", "deadlock"),
    (Fault::NoWaking, "room_is_waited_for", "deadlock"),
];

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
    for (fault, name, part) in FOUND {
        let found = run(name, Some(*fault)).expect_err(&format!("{name} does not find {fault:?}"));
        assert!(found.contains(part), "{name} says of {fault:?}: {found}");
    }
    // Each model finds one fault at least: none holds whatever is done.
    for (name, _) in MODELS {
        assert!(FOUND.iter().any(|(_, model, _)| model == name), "no fault is known that {name} finds");
    }
}
