//! `cargo xtask sanitize`: tests under AddressSanitizer, ThreadSanitizer and Miri, and models of the scheduler under
//! loom.
//!
//! Each builds into a folder of its own below `target/sanitize`. `--target` is given though it names this machine: so
//! build scripts and macros are built as ever, without the sanitizer. No test runs on OpenCL or CUDA: their libraries
//! are not built with the sanitizers, which would report what those do.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::ValueEnum;

use crate::Result;
use crate::shell::{command, fails, read, root, run, target, works};
use crate::steps::ON_SIM;

/// What it runs.
#[derive(clap::Args)]
pub struct Options {
    /// The short part of it that `cargo xtask test` runs
    #[arg(long)]
    sample: bool,
    /// One part alone
    #[arg(long)]
    only: Option<Part>,
}

/// A part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Models of nodes, gates and of who waits, under loom
    Loom,
    /// AddressSanitizer and LeakSanitizer, with the toolchain that builds tida
    Address,
    /// ThreadSanitizer, with a standard library that is built with it
    Thread,
    /// Miri
    Miri,
}

/// Tests of tida that run on the CPU and on simulated devices. Not among them: `ui`, `constructs`, `strict_lints` and
/// those of macros, which test the compiler's side; `cache`, whose kernels run on OpenCL; `models` and `interpreted`,
/// which have parts of their own.
const TESTS: &[&str] = &[
    "array",
    "array_files",
    "arriving",
    "compute_errors",
    "device",
    "failures",
    "first_fault",
    "fuse",
    "ghosts",
    "ghosts_inside",
    "groups",
    "hybrid",
    "link",
    "march",
    "out_of_core",
    "pipeline",
    "reduce",
    "regions_out_of_core",
    "regions_pipeline",
    "rings_out_of_core",
    "rows",
    "same_bits",
    "save_files",
    "schedule",
    "settings",
    "sim",
    "storage",
    "storage_blocks",
    "storage_found",
    "storage_link",
    "tile",
    "timeline",
    "interpreted",
];

/// Of those, the ones whose threads may meet: of the scheduler, of simulated devices, and of work on all threads.
const TESTS_OF_THREADS: &[&str] = &[
    "arriving",
    "device",
    "failures",
    "fuse",
    "ghosts",
    "groups",
    "hybrid",
    "interpreted",
    "out_of_core",
    "pipeline",
    "reduce",
    "regions_out_of_core",
    "regions_pipeline",
    "rings_out_of_core",
    "same_bits",
    "schedule",
    "sim",
    "storage_link",
    "timeline",
];

/// Unit tests that Miri runs, by the start of their names: blocks of memory, and what the recorder keeps of boxes.
const UNITS_OF_MIRI: [&str; 4] =
    ["memory::storage::tests::blocks", "memory::storage::tests::successive", "grid::boxes::", "run::pieces::"];

/// Deep kernels are tested up to what fits a thread's stack. Sanitizers make frames larger.
const STACK: &str = "67108864";

/// The folder of what the toolchain builds that builds tida.
const STABLE: &str = "stable";

/// What became of a part.
enum Done {
    Ran,
    /// Why not.
    Skipped(String),
}

/// The short part, for `cargo xtask test`.
pub fn sample() -> Result<()> {
    sanitize(&Options { sample: true, only: None })
}

/// Runs the parts that were asked for, and says which were skipped.
pub fn sanitize(options: &Options) -> Result<()> {
    let start = Instant::now();
    let mut skipped = Vec::new();
    let parts = Part::value_variants().iter().filter(|part| options.only.is_none_or(|only| only == **part));
    for part in parts {
        let name = format!("{part:?}").to_lowercase();
        let begun = Instant::now();
        println!("-- {name}");
        match part.run(options.sample).map_err(|message| format!("{name}: {message}"))? {
            Done::Ran => println!("-- {name}: nothing found, {:.1} s", begun.elapsed().as_secs_f64()),
            Done::Skipped(why) => {
                println!("-- {name}: skipped: {why}");
                skipped.push(name);
            }
        }
    }
    let skipped = if skipped.is_empty() { "nothing".into() } else { skipped.join(", ") };
    println!("sanitized in {:.1} s; skipped: {skipped}", start.elapsed().as_secs_f64());
    Ok(())
}

impl Part {
    fn run(self, sample: bool) -> Result<Done> {
        match self {
            Part::Loom => loom(),
            Part::Address => address(sample),
            Part::Thread if sample => Ok(Done::Skipped("no part of the sample: it builds a standard library".into())),
            Part::Thread => thread(),
            Part::Miri if sample => Ok(Done::Skipped("no part of the sample: it interprets for minutes".into())),
            Part::Miri => miri(),
        }
    }
}

/// The triple of this machine.
fn host() -> Result<String> {
    field(&mut command("rustc -vV"), "host")
}

/// What a compiler says of itself.
fn field(compiler: &mut Command, name: &str) -> Result<String> {
    let said = read(compiler)?;
    let value = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    value.map(str::to_owned).ok_or_else(|| format!("rustc -vV does not say its {name}, but: {said}"))
}

fn folder(name: &str) -> PathBuf {
    target().join("sanitize").join(name)
}

/// Lets tests see the CPU and simulated devices alone.
fn apart(mut command: Command, name: &str, flags: &str) -> Command {
    command.arg("--target-dir").arg(folder(name)).env("RUSTFLAGS", flags);
    // No loader of OpenCL finds a device there, and none of CUDA.
    command.env("OCL_ICD_VENDORS", folder("no-opencl")).env("CUDA_VISIBLE_DEVICES", "");
    command.env("TIDA_CACHE_DIR", "").env("TIDA_DEVICE", "cpu").env("RUST_MIN_STACK", STACK);
    for name in ["TIDA_REQUIRE_NVRTC", "TIDA_REQUIRE_OPENCL", "TIDA_REQUIRE_CUDA"] {
        command.env_remove(name);
    }
    command
}

fn with_tests(command: &mut Command, names: &[&str]) {
    for name in names {
        command.args(["--test", name]);
    }
}

/// For programs that take longer to be compiled than to run.
fn quickly_built(command: &mut Command) -> &mut Command {
    command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
}

/// Models of the scheduler, with every order of their threads, and faults that they have to find.
fn loom() -> Result<Done> {
    let host = host()?;
    let mut models = apart(command("cargo test --quiet -p tida-apart --test models"), STABLE, "--cfg tida_loom");
    // None of them has to do with what features add.
    models.arg("--no-default-features");
    // As it is for AddressSanitizer: so macros are built once for both.
    models.args(["--target", &host]).env("RUSTC_BOOTSTRAP", "1");
    run(quickly_built(&mut models))?;
    Ok(Done::Ran)
}

fn address(sample: bool) -> Result<Done> {
    let host = host()?;
    if host != "x86_64-unknown-linux-gnu" && host != "aarch64-unknown-linux-gnu" {
        return Ok(Done::Skipped(format!("no runtime of AddressSanitizer for {host} is looked for")));
    }
    let tests = |packages: &str| {
        let mut tests = apart(command("cargo test --quiet"), STABLE, "-Zsanitizer=address");
        tests.args(["--target", &host]).args(packages.split_whitespace()).env("RUSTC_BOOTSTRAP", "1");
        let leaks = format!("suppressions={}:print_suppressions=0", suppressions("lsan").display());
        tests
            .env("ASAN_OPTIONS", "detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1")
            .env("LSAN_OPTIONS", leaks);
        tests
    };
    if sample {
        finds(quickly_built(&mut tests(SAMPLE)), PLANTED[0])?;
        for device in ["cpu", "sim"] {
            let mut tests = tests(SAMPLE);
            tests.args(["--test", "schedule", "--test", "interpreted"]);
            run(quickly_built(&mut tests).env("TIDA_DEVICE", device))?;
        }
        return Ok(Done::Ran);
    }
    finds(&mut tests("-p tida-apart"), PLANTED[0])?;
    all(TESTS, tests)
}

/// The package of the sample, with what its tests need: no device of OpenCL or CUDA is there, and without optimisation
/// no kernel has vectors.
const SAMPLE: &str = "-p tida-apart --no-default-features --features ndarray";

/// What is planted in `tida-apart/tests/planted.rs`, and what is said of it.
const PLANTED: [(&str, &str); 3] = [
    ("memory_that_was_given_back_is_read", "AddressSanitizer: heap-use-after-free"),
    ("two_threads_write_one_cell", "ThreadSanitizer: data race"),
    ("memory_that_was_given_back_is_read", "Undefined Behavior"),
];

/// Sees that what is planted is found: else that nothing is found elsewhere says nothing.
fn finds(tests: &mut Command, (planted, said): (&str, &str)) -> Result<()> {
    fails(tests.args(["--test", "planted", "--", "--ignored", planted]), said)
}

/// The chosen tests and unit tests on the CPU, and those of the scheduler on a simulated device.
fn all(names: &[&str], tests: impl Fn(&str) -> Command) -> Result<Done> {
    let both = || tests("-p tida -p tida-kernels -p tida-tests -p tida-apart --no-fail-fast --lib");
    let mut on_cpu = both();
    with_tests(&mut on_cpu, names);
    run(&mut on_cpu)?;
    let mut on_sim = tests("-p tida-tests -p tida-apart --no-fail-fast");
    with_tests(&mut on_sim, &ON_SIM);
    run(on_sim.env("TIDA_DEVICE", "sim"))?;
    Ok(Done::Ran)
}

/// A file of what is known and not to be reported.
fn suppressions(of: &str) -> PathBuf {
    root().join("xtask/sanitize").join(of).with_extension("supp")
}

/// A toolchain that has its sources, and so builds a standard library with ThreadSanitizer.
struct WithSources {
    cargo: &'static str,
    flags: String,
    /// Set for it.
    variables: Vec<(&'static str, OsString)>,
}

/// The nightly toolchain with its component `rust-src`.
fn nightly() -> Option<WithSources> {
    if !works(&mut rustup("rustc --version")) {
        return None;
    }
    let sysroot = read(&mut rustup("rustc --print sysroot")).ok()?;
    let sources = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/Cargo.lock");
    let flags = "-Zsanitizer=thread".into();
    sources.exists().then(|| WithSources { cargo: "rustup run nightly cargo", flags, variables: Vec::new() })
}

/// Debian's toolchain, as the example `rust_ptx` uses it, with the runtime of the toolchain that builds tida.
fn debian(host: &str) -> Result<WithSources, String> {
    let rustc = "/usr/bin/rustc";
    let lacks = |what: &str, packages: &str| format!("no {what}; apt-get install {packages}");
    let packages = "rustc-web cargo-web rust-web-src";
    if !Path::new(rustc).exists() || !Path::new("/usr/lib/rustlib/src/rust/library/Cargo.lock").exists() {
        return Err(lacks("nightly toolchain with rust-src, and no toolchain of Debian with its sources", packages));
    }
    // Debian's compiler comes without a runtime. What is compiled for one fits it as long as the LLVM is the same.
    let [ours, theirs] = ["rustc", rustc].map(|rustc| field(command(rustc).arg("-vV"), "LLVM version"));
    let (ours, theirs) = (ours?, theirs?);
    if ours.split('.').next() != theirs.split('.').next() {
        return Err(format!("the runtime at hand is of LLVM {ours}, Debian's compiler of LLVM {theirs}"));
    }
    let sysroot = read(&mut command("rustc --print sysroot"))?;
    let runtime = Path::new(sysroot.trim()).join("lib/rustlib").join(host).join("lib/librustc-stable_rt.tsan.a");
    if !runtime.exists() {
        return Err(format!("{} is not there", runtime.display()));
    }
    // It has to come before the libraries whose functions it replaces.
    let link = ["-Wl,--whole-archive", &runtime.to_string_lossy(), "-Wl,--no-whole-archive"];
    let link: String = link.iter().map(|argument| format!(" -Zpre-link-arg={argument}")).collect();
    Ok(WithSources {
        cargo: "/usr/bin/cargo",
        flags: format!("-Zsanitizer=thread -Zexternal-clangrt{link}"),
        variables: vec![("RUSTC", rustc.into()), ("RUSTC_BOOTSTRAP", "1".into())],
    })
}

fn thread() -> Result<Done> {
    let host = host()?;
    if host != "x86_64-unknown-linux-gnu" {
        return Ok(Done::Skipped(format!("no runtime of ThreadSanitizer for {host} is looked for")));
    }
    let toolchain = match nightly().map_or_else(|| debian(&host), Ok) {
        Ok(toolchain) => toolchain,
        Err(why) => return Ok(Done::Skipped(why)),
    };
    println!("   with {} and its own standard library", toolchain.cargo);
    let tests = |packages: &str| {
        let cargo = command(&format!("{} test --quiet", toolchain.cargo));
        let mut tests = apart(cargo, "thread", &toolchain.flags);
        tests.args(["-Zbuild-std", "--target", &host]).args(packages.split_whitespace());
        tests.envs(toolchain.variables.iter().map(|(name, value)| (name, value)));
        let options =
            format!("allocator_may_return_null=1:suppressions={}:print_suppressions=0", suppressions("tsan").display());
        tests.env("TSAN_OPTIONS", options);
        tests
    };
    finds(&mut tests("-p tida-apart"), PLANTED[1])?;
    all(TESTS_OF_THREADS, tests)
}

/// A program of the nightly toolchain.
fn rustup(line: &str) -> Command {
    let mut program = command("rustup run nightly");
    program.args(line.split_whitespace());
    program
}

fn miri() -> Result<Done> {
    if !works(&mut rustup("cargo miri --version")) {
        return Ok(Done::Skipped("no nightly toolchain with Miri; rustup toolchain install nightly -c miri".into()));
    }
    let tests = |packages: &str| {
        let mut tests = apart(rustup("cargo miri test --quiet"), "miri", "");
        // Time is that of the interpreter: what is silent for so long is silent whatever Miri takes. Threads of a pool
        // outlive the program. Addresses of simulated devices are numbers, as are those of others.
        let flags = "-Zmiri-isolation-error=hide -Zmiri-ignore-leaks -Zmiri-permissive-provenance -Zmiri-tree-borrows";
        tests.env("MIRIFLAGS", flags);
        tests.args(packages.split_whitespace());
        tests
    };
    finds(&mut tests("-p tida-apart"), PLANTED[2])?;
    run(tests("-p tida --lib --").args(UNITS_OF_MIRI))?;
    run(&mut tests("-p tida-apart --test interpreted"))?;
    Ok(Done::Ran)
}
