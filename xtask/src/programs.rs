//! Programs of tests: cargo builds them, and several run at once.
//!
//! `cargo test` runs one program after the other. Most programs end with tests that leave all cores but one without
//! work, so that takes half as long again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::Result;
use crate::shell::{command, read, root};
use crate::times::{self, Spent, Watch};

/// Those that take longest. They start first, so that no other waits for them in the end.
const LONG: [&str; 19] = [
    "corpus",
    "ui",
    "backed_sweeps",
    "places_calls",
    "boundary_kernels",
    "emit_text",
    "generic_places",
    "files",
    "reduce_out_of_core",
    "tida",
    "language_places",
    "lines",
    "colours",
    "backed",
    "ranks",
    "soak",
    "link",
    "same_bits",
    "places",
];

/// A program of tests.
#[derive(Debug, PartialEq)]
struct Program {
    name: String,
    /// Its package, by its folder below the root.
    package: String,
    /// Where it runs.
    folder: PathBuf,
    path: PathBuf,
}

/// Programs of tests that are built, and the variables that they run with.
pub struct Programs {
    /// What they are run for.
    step: String,
    programs: Vec<Program>,
    variables: Vec<(OsString, OsString)>,
}

/// Builds what `tests`, a call of `cargo test`, would run.
///
/// # Errors
/// What does not build.
pub fn build(step: &str, tests: &mut Command) -> Result<Programs> {
    let watch = Watch::start();
    let messages = read(tests.args(["--no-run", "--message-format=json-render-diagnostics"]))?;
    let programs: Vec<Program> = messages.lines().filter_map(program).collect();
    if programs.is_empty() {
        return Err("tried to build tests; cargo built none".into());
    }
    let Spent { wall, processor } = watch.spent();
    println!("   {} programs are built, {wall:.1} s, of processors {:.1} s", programs.len(), processor.unwrap_or(0.0));
    let variables = tests.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    Ok(Programs { step: step.to_owned(), programs, variables: variables.collect() })
}

/// Runs the programs of all these steps, several at once, with the variables of each step's call of cargo. So the last
/// program of one step keeps no processor from the next. Gives what each took.
///
/// # Errors
/// All programs that fail, with what they print.
pub fn run(steps: &[Programs]) -> Result<Vec<(String, Spent)>> {
    let mut jobs = Vec::new();
    for step in steps {
        let libraries = libraries(&step.variables)?;
        jobs.extend(step.programs.iter().map(|program| (program, step, libraries.clone())));
    }
    jobs.sort_by_key(|(program, ..)| LONG.iter().position(|name| *name == program.name).unwrap_or(LONG.len()));
    let (next, failed, took) = (AtomicUsize::new(0), Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let work = || {
        while let Some((program, step, libraries)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut run = Command::new(&program.path);
            run.envs(step.variables.iter().cloned()).env("LD_LIBRARY_PATH", libraries);
            // What cargo says to what it runs, and what trybuild asks for.
            run.env("CARGO_MANIFEST_DIR", &program.folder).env("CARGO", command("cargo").get_program());
            run.current_dir(&program.folder).args(["--quiet", "--test-threads=1"]);
            let name = format!("{}: {}", step.step, program.shown());
            match report(&name, &mut run) {
                Some(spent) => took.lock().unwrap_or_else(|e| e.into_inner()).push((name, spent)),
                None => failed.lock().unwrap_or_else(|e| e.into_inner()).push(name),
            }
        }
    };
    std::thread::scope(|scope| {
        // One more than processors: programs wait a third of their time, for disks, compilers and other threads.
        let others = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..others {
            scope.spawn(work);
        }
        work();
    });
    let failed = failed.into_inner().unwrap_or_else(|e| e.into_inner());
    match failed.as_slice() {
        [] => Ok(took.into_inner().unwrap_or_else(|e| e.into_inner())),
        failed => Err(format!("{} of {} programs failed: {}", failed.len(), jobs.len(), failed.join(", "))),
    }
}

impl Program {
    fn shown(&self) -> String {
        match self.package.as_str() {
            "" => self.name.clone(),
            package => format!("{package}, {}", self.name),
        }
    }
}

/// Runs one and prints how it went; what it took, if it passed.
fn report(name: &str, run: &mut Command) -> Option<Spent> {
    match times::output(run) {
        Ok(output) if output.status.success() => {
            println!("   {name}: ok, {:.1} s", output.spent.wall);
            Some(output.spent)
        }
        Ok(output) => {
            println!("   {name}: {}, {:.1} s\n{}", output.status, output.spent.wall, output.text);
            None
        }
        Err(error) => {
            println!("   tried to run {name}, {}; found: {error}", run.get_program().display());
            None
        }
    }
}

/// The program that a line of cargo's messages tells of.
fn program(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    let path = message["executable"].as_str()?.into();
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    let package = folder.strip_prefix(root()).ok()?.to_string_lossy().into_owned();
    let name = message["target"]["name"].as_str()?.to_owned();
    (message["profile"]["test"] == true).then_some(Program { name, package, folder, path })
}

/// Where libraries are found: as the tests' variables say, and rustc's own, which the tests of macros load.
fn libraries(variables: &[(OsString, OsString)]) -> Result<OsString> {
    let sysroot = read(&mut command("rustc --print sysroot"))?;
    let said = variables.iter().find(|(name, _)| name == "LD_LIBRARY_PATH").map(|(_, value)| value.clone());
    let before = said.or_else(|| std::env::var_os("LD_LIBRARY_PATH")).unwrap_or_default();
    let folders = std::env::split_paths(&before).filter(|path| !path.as_os_str().is_empty());
    let all = folders.chain([Path::new(sysroot.trim()).join("lib")]);
    std::env::join_paths(all).map_err(|e| format!("tried to name folders of libraries; found: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_tests_are_found_in_what_cargo_says() {
        let message = |folder: &str, test: bool| {
            let manifest = root().join(folder).join("Cargo.toml");
            let manifest = manifest.to_str().unwrap();
            program(&format!(
                r#"{{"manifest_path": "{manifest}", "executable": "/t/x", "target": {{"name": "fuse"}},
                    "profile": {{"test": {test}}}}}"#
            ))
        };
        assert_eq!(message("tida-tests", true).unwrap().shown(), "tida-tests, fuse");
        assert_eq!(message("", true).unwrap().shown(), "fuse");
        assert_eq!(message("tida-tests", false), None);
        assert_eq!(program("warning: unused"), None);
    }

    #[test]
    fn a_program_that_fails_is_told() {
        assert!(report("x", command("rustc").arg("--version")).is_some());
        assert!(report("x", command("rustc").arg("--no-such-flag")).is_none());
        assert!(report("x", &mut Command::new("/no/such/program")).is_none());
    }

    #[test]
    fn programs_of_several_steps_are_run_and_named() {
        // (A program that prints its flags, which are those of tests, and ends well, and one that does not.)
        let step = |step: &str, path: &str| {
            let program = Program { name: "x".into(), package: "p".into(), folder: root(), path: path.into() };
            Programs { step: step.into(), programs: vec![program], variables: Vec::new() }
        };
        let mut took = run(&[step("a", "/bin/echo"), step("b", "/bin/echo")]).unwrap();
        took.sort_by(|(a, _), (b, _)| a.cmp(b));
        assert_eq!(took.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["a: p, x", "b: p, x"]);
        assert_eq!(
            run(&[step("a", "/bin/echo"), step("b", "/no/such")]).unwrap_err(),
            "1 of 2 programs failed: b: p, x"
        );
    }
}
