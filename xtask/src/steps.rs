//! `cargo xtask test`: every check, each with its heading and time.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;

use crate::shell::{command, root, run, target};
use crate::times::{self, Spent, Watch, longest, table};
use crate::{
    Result, anywhere, deny, docs, interface, native, nvrtc, programs, python, ranks, sanitize, smoke, tools, words,
};

use Step::{Beside, Check, Tests};

/// What a step does.
#[derive(Clone, Copy)]
enum Step {
    Check(fn() -> Result<()>),
    /// Runs beside the checks that follow: compilers often have work for one processor alone. It builds into a folder
    /// of its own, or finds all built. Tests are built beside it too, but none starts before it has ended.
    Beside(fn() -> Result<()>),
    /// Builds the programs of this call of `cargo test`, and runs them, at once with those of such steps that follow.
    Tests(fn() -> Command),
}

/// Features that are off by default, and tested.
const FEATURES: &str = "tida-io/netcdf,tida-tests/mpi,tida-suite/mpi";

/// Programs of tests that are listed in the end.
const LISTED: usize = 20;

const STEPS: &[(&str, Step)] = &[
    ("tools", Check(tools::install)),
    ("builds anywhere", Beside(anywhere::builds)),
    ("features", Beside(anywhere::features)),
    ("other systems", Beside(anywhere::systems)),
    ("sanitizers, a sample", Beside(sanitize::sample)),
    ("format", Check(|| run(&mut command("cargo fmt --all -- --check")))),
    ("lints", Check(lints)),
    ("licences", Check(deny::check)),
    ("words", Check(words::check)),
    ("docs", Check(|| docs::build(FEATURES))),
    ("interface", Check(|| docs::build(FEATURES).and_then(|()| interface::check()))),
    ("tests", Tests(all_tests)),
    ("native forms", Beside(native_forms)),
    ("tests in the docs", Check(|| run(tests().arg("--doc")))),
    ("tests on OpenCL", Tests(|| on_device("opencl", &ON_ANY_DEVICE))),
    ("tests on a simulated device", Tests(|| on_device("sim", &on_sim()))),
    ("tests on ranks", Check(|| ranks::test(FEATURES))),
    ("examples", Check(|| smoke::examples(FEATURES))),
];

/// Tests of tida whose kernels run on the CPU, or on the device that `TIDA_DEVICE` names, with the same bits on each.
/// (Those that look for a device themselves find OpenCL without it.)
const ON_ANY_DEVICE: [&str; 12] = [
    "array",
    "array_files",
    "compute_errors",
    "corpus",
    "first_fault",
    "ghosts",
    "later",
    "reduce",
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

/// Clippy's lints, of all but tests: these take half of the time, and are what [`all_lints`] is for.
fn lints() -> Result<()> {
    clippy("--lib --bins --examples --benches")
}

/// Clippy's lints, of tests too.
pub fn all_lints() -> Result<()> {
    clippy("--all-targets")
}

fn clippy(targets: &str) -> Result<()> {
    run(&mut command(&format!("cargo clippy --workspace {targets} --features {FEATURES} --quiet -- -D warnings")))
}

/// `cargo test`, where a missing compiler or device is a failure and no reason to skip a test.
fn tests() -> Command {
    let mut tests = command(&format!("cargo test --workspace --features {FEATURES} --quiet"));
    tests.envs(nvrtc::environment()).env("TIDA_REQUIRE_NVRTC", "1").env("TIDA_REQUIRE_OPENCL", "1");
    tests.envs(python::environment());
    tests
}

/// Those that sanitizers run, and files of arrays, which sanitizers do not look at. Not `hybrid`, which has simulated
/// devices of its own, nor `same_bits`, which runs on the CPU and on OpenCL.
fn on_sim() -> Vec<&'static str> {
    let others = ON_SIM.into_iter().filter(|name| !["hybrid", "same_bits"].contains(name));
    others.chain(["stores"]).collect()
}

fn all_tests() -> Command {
    let mut tests = tests();
    tests.args(["--lib", "--bins", "--tests"]);
    tests
}

/// A second run of programs that are built already: `-p tida` would choose other features and build anew.
fn on_device(device: &str, names: &[&str]) -> Command {
    let mut tests = tests();
    for name in names {
        tests.args(["--test", name]);
    }
    tests.env("TIDA_DEVICE", device);
    tests
}

/// Each of the four billion values of `f32` as codes of fewer bits. The checks look at one of 4099.
pub fn every_f32() -> Result<()> {
    run(tests().args(["--lib", "every_f32", "--", "--ignored"]))
}

fn native_forms() -> Result<()> {
    // Packages for tests add features to others, so without them the library would be built anew. Examples have them.
    native::compare(&format!("cargo build --workspace --features {FEATURES} --quiet --examples"))
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
    match &options.only {
        Some(only) => one(only),
        None => all(),
    }
}

fn one(only: &str) -> Result<()> {
    let Some((name, step)) = STEPS.iter().find(|(name, _)| *name == only) else {
        let names: Vec<&str> = STEPS.iter().map(|(name, _)| *name).collect();
        return Err(format!("tried to run one step; found no such name; the steps are: {}", names.join(", ")));
    };
    done(&[(name, *step)], &mut None)?.print();
    Ok(())
}

fn all() -> Result<()> {
    let (watch, mut took) = (Watch::start(), Took::default());
    let this = copy_of_this()?;
    let (mut next, mut beside) = (0, None);
    while let Some((name, step)) = STEPS.get(next) {
        match step {
            Beside(_) => {
                let group = beside_others(&STEPS[next..], &this);
                next += group.len();
                beside = Some(Side::start(group));
            }
            Check(_) => {
                next += 1;
                took.add(done(&[(name, *step)], &mut beside)?);
            }
            Tests(_) => {
                let group: Vec<_> =
                    STEPS[next..].iter().copied().take_while(|(_, step)| matches!(step, Tests(_))).collect();
                next += group.len();
                took.add(done(&group, &mut beside)?);
            }
        }
    }
    took.print();
    let spent = watch.spent();
    println!("\nall checks passed in {:.1} s", spent.wall);
    Ok(())
}

/// What steps and programs of tests took.
#[derive(Default)]
struct Took {
    steps: Vec<(String, Spent)>,
    programs: Vec<(String, Spent)>,
}

impl Took {
    fn add(&mut self, other: Took) {
        self.steps.extend(other.steps);
        self.programs.extend(other.programs);
    }

    fn print(self) {
        if !self.programs.is_empty() {
            println!("\n{}", table("the longest programs of tests", &longest(self.programs, LISTED)));
        }
        println!("\n{}", table("step", &self.steps));
    }
}

/// Does one step, or several whose programs of tests run at once. What runs beside it ends before programs of tests
/// run.
fn done(steps: &[(&str, Step)], beside: &mut Option<Side>) -> Result<Took> {
    let name = steps.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    println!("\n== {name}");
    let (watch, mut took) = (Watch::start(), Took::default());
    let failed = |message| format!("the step `{name}` failed: {message}");
    let mut built = Vec::new();
    for (name, step) in steps {
        match step {
            Check(check) | Beside(check) => check().map_err(failed)?,
            Tests(tests) => built.push(programs::build(name, &mut tests()).map_err(failed)?),
        }
    }
    if !built.is_empty() {
        took.add(beside.take().map_or(Ok(Took::default()), Side::end)?);
        took.programs.extend(programs::run(&built).map_err(failed)?);
    }
    let spent = watch.spent();
    println!("== {name}: ok, {:.1} s", spent.wall);
    took.steps.push((name, spent));
    Ok(took)
}

/// Steps that run beside others, one after the other, each as a command of its own.
struct Side(JoinHandle<Result<Took>>);

impl Side {
    fn start(steps: Vec<(&'static str, Command)>) -> Side {
        Side(std::thread::spawn(|| {
            let mut took = Took::default();
            for (name, mut step) in steps {
                let ran = times::aside(&mut step).map_err(|e| format!("tried to run the step `{name}`; found: {e}"))?;
                // All of it at once, whatever else is printed meanwhile.
                print!("{}", ran.text);
                if !ran.status.success() {
                    return Err(format!("the step `{name}`, beside others, ended with {}", ran.status));
                }
                took.steps.push((format!("{name} (beside others)"), ran.spent));
            }
            Ok(took)
        }))
    }

    fn end(self) -> Result<Took> {
        self.0.join().map_err(|_| "a step beside others panicked".to_owned())?
    }
}

/// A copy of this program: cargo writes another in its place when it builds the tests.
fn copy_of_this() -> Result<PathBuf> {
    let failed = |e| format!("tried to copy this program, to run steps beside others; found: {e}");
    let copy = target().join("xtask-beside");
    std::fs::copy(std::env::current_exe().map_err(failed)?, &copy).map_err(failed)?;
    Ok(copy)
}

/// Those that these begin with, as calls of `this` program.
fn beside_others(steps: &[(&'static str, Step)], this: &Path) -> Vec<(&'static str, Command)> {
    let command = |name| {
        let mut command = Command::new(this);
        command.args(["test", "--only", name]).current_dir(root());
        (name, command)
    };
    steps.iter().take_while(|(_, step)| matches!(step, Beside(_))).map(|(name, _)| command(*name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_beside_others_is_told() {
        let side = |flags: [&'static str; 2]| {
            Side::start(
                flags
                    .map(|flag| {
                        (flag, {
                            let mut rustc = command("rustc");
                            rustc.arg(flag);
                            rustc
                        })
                    })
                    .into(),
            )
            .end()
        };
        assert_eq!(side(["--version", "-V"]).unwrap().steps.len(), 2);
        let error = side(["--no-such-flag", "--version"]).err().unwrap();
        assert!(error.contains("`--no-such-flag`, beside others, ended with"), "{error}");
    }

    #[test]
    fn what_runs_beside_others_ends_before_tests() {
        let (mut groups, mut open) = (Vec::new(), false);
        for (number, (_, step)) in STEPS.iter().enumerate() {
            match step {
                Beside(_) if !open => {
                    groups.push(beside_others(&STEPS[number..], Path::new("xtask")).len());
                    open = true;
                }
                // Only after one that ended is there room for another.
                Beside(_) => assert!(matches!(STEPS[number - 1].1, Beside(_))),
                Tests(_) => open = false,
                Check(_) => {}
            }
        }
        assert_eq!((groups, open), (vec![4, 1], false));
    }
}
