//! `cargo xtask test`: every check, in order, each with its heading and time.

use std::process::Command;

use crate::shell::{command, run};
use crate::times::{Spent, Watch, longest, table};
use crate::{Result, anywhere, deny, interface, native, nvrtc, programs, python, sanitize, smoke, tools, words};

use Step::{Check, Tests};

/// What a step does.
enum Step {
    Check(fn() -> Result<()>),
    /// Runs programs of tests, and gives what each took.
    Tests(fn() -> Result<Vec<(String, Spent)>>),
}

/// Programs of tests that are listed in the end.
const LISTED: usize = 20;

const STEPS: &[(&str, Step)] = &[
    ("tools", Check(tools::install)),
    ("format", Check(|| run(&mut command("cargo fmt --all -- --check")))),
    ("lints", Check(lints)),
    ("licences", Check(deny::check)),
    ("words", Check(words::check)),
    ("features", Check(anywhere::features)),
    ("builds anywhere", Check(anywhere::builds)),
    ("tests", Tests(|| programs::test(tests().args(["--lib", "--bins", "--tests"])))),
    ("every value of f32", Check(|| run(tests().args(["--lib", "every_f32", "--", "--ignored"])))),
    ("tests in the docs", Check(|| run(tests().arg("--doc")))),
    ("tests on OpenCL", Tests(on_opencl)),
    ("tests on a simulated device", Tests(on_sim)),
    ("native forms", Check(native::compare)),
    ("sanitizers, a sample", Check(sanitize::sample)),
    ("docs", Check(docs)),
    ("interface", Check(interface::check)),
    ("examples", Check(smoke::examples)),
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

fn lints() -> Result<()> {
    run(&mut command("cargo clippy --workspace --all-targets --features tida-io/netcdf --quiet -- -D warnings"))
}

fn docs() -> Result<()> {
    run(command("cargo doc --workspace --features tida-io/netcdf --no-deps --document-private-items --quiet")
        .env("RUSTDOCFLAGS", "-D warnings"))
}

/// `cargo test`, where a missing compiler or device is a failure and no reason to skip a test.
fn tests() -> Command {
    let mut tests = command("cargo test --workspace --features tida-io/netcdf --quiet");
    tests.envs(nvrtc::environment()).env("TIDA_REQUIRE_NVRTC", "1").env("TIDA_REQUIRE_OPENCL", "1");
    tests.envs(python::environment());
    tests
}

/// A second run of programs that are built already: `-p tida` would choose other features and build anew.
fn on_device(device: &str, names: &[&str]) -> Result<Vec<(String, Spent)>> {
    let mut tests = tests();
    for name in names {
        tests.args(["--test", name]);
    }
    programs::test(tests.env("TIDA_DEVICE", device))
}

fn on_opencl() -> Result<Vec<(String, Spent)>> {
    on_device("opencl", &ON_ANY_DEVICE)
}

fn on_sim() -> Result<Vec<(String, Spent)>> {
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

/// Runs every step, or the one that was asked for, and stops at the first that fails. In the end it prints what each
/// step took.
pub fn test(options: &Options) -> Result<()> {
    let asked = |name: &str| options.only.as_ref().is_none_or(|only| only == name);
    if !STEPS.iter().any(|(name, _)| asked(name)) {
        let names: Vec<&str> = STEPS.iter().map(|(name, _)| *name).collect();
        return Err(format!("tried to run one step; found no such name; the steps are: {}", names.join(", ")));
    }
    let (whole, mut steps, mut programs) = (Watch::start(), Vec::new(), Vec::new());
    for (number, (name, step)) in STEPS.iter().enumerate().filter(|(_, (name, _))| asked(name)) {
        println!("\n== {} of {}: {name}", number + 1, STEPS.len());
        let watch = Watch::start();
        let ran = match step {
            Check(check) => check().map(|()| Vec::new()),
            Tests(tests) => tests(),
        };
        let ran = ran.map_err(|message| format!("the step `{name}` failed: {message}"))?;
        let spent = watch.spent();
        println!("== {name}: ok, {:.1} s", spent.wall);
        steps.push(((*name).to_owned(), spent));
        programs.extend(ran.into_iter().map(|(program, spent)| (format!("{name}: {program}"), spent)));
    }
    if !programs.is_empty() {
        println!("\n{}", table("the longest programs of tests", &longest(programs, LISTED)));
    }
    let spent = whole.spent();
    let in_all = format!("all checks passed in {:.1} s", spent.wall);
    steps.push(("all".to_owned(), spent));
    println!("\n{}\n{in_all}", table("step", &steps));
    Ok(())
}
