//! `cargo xtask test`: every check, in order, each with its heading and time.

use std::process::Command;
use std::time::Instant;

use crate::shell::{command, run};
use crate::{Result, anywhere, deny, interface, native, nvrtc, programs, python, sanitize, smoke, tools, words};

/// Name of a step and what it does.
type Step = (&'static str, fn() -> Result<()>);

const STEPS: &[Step] = &[
    ("tools", tools::install),
    ("format", || run(&mut command("cargo fmt --all -- --check"))),
    ("lints", || {
        run(&mut command("cargo clippy --workspace --all-targets --features tida-io/netcdf --quiet -- -D warnings"))
    }),
    ("licences", deny::check),
    ("words", words::check),
    ("features", anywhere::features),
    ("builds anywhere", anywhere::builds),
    ("tests", || programs::test(tests().args(["--lib", "--bins", "--tests"]))),
    ("every value of f32", || run(tests().args(["--lib", "every_f32", "--", "--ignored"]))),
    ("tests in the docs", || run(tests().arg("--doc"))),
    ("tests on OpenCL", on_opencl),
    ("tests on a simulated device", on_sim),
    ("native forms", native::compare),
    ("sanitizers, a sample", sanitize::sample),
    ("docs", || {
        run(command("cargo doc --workspace --features tida-io/netcdf --no-deps --document-private-items --quiet")
            .env("RUSTDOCFLAGS", "-D warnings"))
    }),
    ("interface", interface::check),
    ("examples", smoke::examples),
];

/// Tests of tida whose kernels run on the device that `TIDA_DEVICE` names, with the same bits on each.
const ON_ANY_DEVICE: [&str; 18] = [
    "array",
    "array_files",
    "compute_errors",
    "corpus",
    "device",
    "failures",
    "first_fault",
    "ghosts",
    "hybrid",
    "later",
    "out_of_core",
    "reduce",
    "regions_out_of_core",
    "rings_out_of_core",
    "same_bits",
    "schedule",
    "stores",
    "tile",
];

/// Those that say most of what a scheduler may get wrong.
pub const ON_SIM: [&str; 13] = [
    "device",
    "ending",
    "fuse",
    "ghosts",
    "ghosts_inside",
    "hybrid",
    "join",
    "out_of_core",
    "reduce",
    "regions_out_of_core",
    "rings_out_of_core",
    "same_bits",
    "schedule",
];

/// `cargo test`, where a missing compiler or device is a failure and no reason to skip a test.
fn tests() -> Command {
    let mut tests = command("cargo test --workspace --features tida-io/netcdf --quiet");
    tests.envs(nvrtc::environment()).env("TIDA_REQUIRE_NVRTC", "1").env("TIDA_REQUIRE_OPENCL", "1");
    tests.envs(python::environment());
    tests
}

/// A second run of programs that are built already: `-p tida` would choose other features and build anew.
fn on_device(device: &str, names: &[&str]) -> Result<()> {
    let mut tests = tests();
    for name in names {
        tests.args(["--test", name]);
    }
    programs::test(tests.env("TIDA_DEVICE", device))
}

fn on_opencl() -> Result<()> {
    on_device("opencl", &ON_ANY_DEVICE)
}

fn on_sim() -> Result<()> {
    // (Sanitizers do not look at files of arrays.)
    on_device("sim", &[&ON_SIM[..], &["stores"]].concat())
}

/// What is run.
#[derive(clap::Args)]
pub struct Options {
    /// One step alone, by its name, such as "builds anywhere"
    #[arg(long)]
    only: Option<String>,
}

/// Runs every step, or the one that was asked for, and stops at the first that fails.
pub fn test(options: &Options) -> Result<()> {
    let start = Instant::now();
    let asked = |name: &str| options.only.as_ref().is_none_or(|only| only == name);
    if !STEPS.iter().any(|(name, _)| asked(name)) {
        let names: Vec<&str> = STEPS.iter().map(|(name, _)| *name).collect();
        return Err(format!("tried to run one step; found no such name; the steps are: {}", names.join(", ")));
    }
    for (number, (name, step)) in STEPS.iter().enumerate().filter(|(_, (name, _))| asked(name)) {
        println!("\n== {} of {}: {name}", number + 1, STEPS.len());
        let begun = Instant::now();
        step().map_err(|message| format!("the step `{name}` failed: {message}"))?;
        println!("== {name}: ok, {:.1} s", begun.elapsed().as_secs_f64());
    }
    println!("\nall checks passed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}
