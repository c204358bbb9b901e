//! `cargo xtask test`: every check, in order, each with its heading and time.

use std::time::Instant;

use crate::shell::{command, run};
use crate::{Result, smoke, tools};

/// Name of a step and what it does.
type Step = (&'static str, fn() -> Result<()>);

const STEPS: &[Step] = &[
    ("tools", tools::install),
    ("format", || run(&mut command("cargo fmt --all -- --check"))),
    ("lints", || run(&mut command("cargo clippy --workspace --all-targets --quiet -- -D warnings"))),
    ("tests", || run(&mut command("cargo test --workspace --quiet"))),
    ("docs", || {
        run(command("cargo doc --workspace --no-deps --document-private-items --quiet")
            .env("RUSTDOCFLAGS", "-D warnings"))
    }),
    ("examples", smoke::examples),
];

/// Runs every step, and stops at the first that fails.
pub fn test() -> Result<()> {
    let start = Instant::now();
    for (number, (name, step)) in STEPS.iter().enumerate() {
        println!("\n== {} of {}: {name}", number + 1, STEPS.len());
        let begun = Instant::now();
        step().map_err(|message| format!("the step `{name}` failed: {message}"))?;
        println!("== {name}: ok, {:.1} s", begun.elapsed().as_secs_f64());
    }
    println!("\nall checks passed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}
