//! `cargo xtask gpu-bundle`: tests, examples and benches, for a machine with a GPU and without Rust.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Result;
use crate::shell::{self, command, read, root, run, target, write_script};
use crate::smoke;

/// Most bytes of a bundle, so that it travels easily.
const LARGEST: u64 = 60 << 20;

/// What is built: tests as `cargo xtask test` builds them, but optimised so that they are smaller; examples and benches
/// for measuring. Without the project's commands and the macros' own tests, which are of no use without Rust. With MPI,
/// which is looked for when a program asks for ranks.
const BUILDS: [&str; 3] = [
    "cargo test --workspace --exclude xtask --exclude tida-derive --lib --tests --no-run --quiet \
     --features tida-tests/mpi,tida-suite/mpi \
     --config profile.dev.package.tida-tests.opt-level=1 --config profile.dev.package.tida-apart.opt-level=1 \
     --message-format=json-render-diagnostics",
    "cargo build --workspace --exclude xtask --exclude tida-derive --example ranks --quiet \
     --features tida-tests/mpi,tida-suite/mpi \
     --config profile.dev.package.tida-tests.opt-level=1 --config profile.dev.package.tida-apart.opt-level=1 \
     --message-format=json-render-diagnostics",
    "cargo build --release --package tida-suite --examples --benches --features mpi --quiet \
     --message-format=json-render-diagnostics",
];

/// Tests that call rustc.
const NEEDS_RUST: &[(&str, &str)] = &[("tida-tests", "ui")];

/// What runs the rest there.
const SCRIPT: &str = include_str!("run.sh");

/// A program to be packed.
#[derive(Debug, PartialEq)]
struct Program {
    from: PathBuf,
    /// Its place in the bundle.
    to: PathBuf,
}

/// Builds the programs and packs them with what they read.
pub fn write() -> Result<()> {
    let bundle = target().join("gpu-bundle");
    if bundle.exists() {
        fs::remove_dir_all(&bundle).map_err(|e| format!("tried to remove {}; found: {e}", bundle.display()))?;
    }
    let mut programs = Vec::new();
    for build in BUILDS {
        let messages = read(&mut command(build))?;
        let found = messages.lines().filter_map(|line| program(&root(), line));
        for program in found.collect::<Vec<_>>() {
            if !programs.contains(&program) {
                programs.push(program);
            }
        }
    }
    for Program { from, to } in &programs {
        let to = bundle.join(to);
        make_folder_of(&to)?;
        run(command("strip -o").arg(&to).arg(from))?;
    }
    let data = bundle.join("data");
    for file in data_files()? {
        copy(&root().join(&file), &data.join(&file))?;
    }
    let smoke: String = smoke::RUNS.iter().map(|(example, flags)| format!("{example} {flags}\n")).collect();
    shell::write(&bundle.join("smoke.txt"), smoke)?;
    // Programs shrink to a third; `run.sh` unpacks them.
    run(command("tar -cJf programs.tar.xz --remove-files bin data smoke.txt").current_dir(&bundle))?;
    let script = bundle.join("run.sh");
    write_script(&script, SCRIPT)?;

    let bytes = files(&bundle, &|_| true)?.iter().filter_map(|file| Some(fs::metadata(file).ok()?.len())).sum::<u64>();
    let mib = bytes as f64 / f64::from(1 << 20);
    println!("{} programs, {mib:.1} MiB, in {}; there: ./run.sh", programs.len(), bundle.display());
    if bytes > LARGEST {
        let most = LARGEST >> 20;
        return Err(format!("tried to pack a bundle of at most {most} MiB; found {mib:.1} MiB; leave a program out"));
    }
    Ok(())
}

/// The program that a line of cargo's messages tells of, unless it is of no use without Rust.
fn program(root: &Path, message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    let from = message["executable"].as_str()?.into();
    let name = message["target"]["name"].as_str()?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.strip_prefix(root).ok()?;
    let package = folder.to_str().filter(|package| !package.is_empty()).unwrap_or("root");
    let to = match message["target"]["kind"][0].as_str()? {
        "example" => format!("examples/{name}"),
        "bench" => format!("benches/{name}"),
        "test" if NEEDS_RUST.contains(&(package, name)) => return None,
        "test" => format!("tests/{package}/{name}"),
        "lib" if message["profile"]["test"] == true => format!("tests/{package}/lib"),
        _ => return None,
    };
    Some(Program { from, to: Path::new("bin").join(to) })
}

/// What tests and benches may read: all files of the packages that are no sources, below the root.
fn data_files() -> Result<Vec<PathBuf>> {
    let source = |path: &Path| path.extension().is_some_and(|e| e == "rs" || e == "md" || e == "toml" || e == "png");
    let mut found = Vec::new();
    for folder in ["tida", "tida-kernels", "tida-tests", "tests", "examples", "benches"] {
        found.extend(files(&root().join(folder), &|path| !source(path))?);
    }
    let below_root = |path: PathBuf| path.strip_prefix(root()).map(Path::to_path_buf).map_err(|e| e.to_string());
    found.into_iter().map(below_root).collect()
}

/// The files below a folder, hidden ones and build output left out.
fn files(folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>> {
    let failed = |e: std::io::Error| format!("tried to list {}; found: {e}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match path.is_dir() {
            _ if name.starts_with('.') => {}
            true if name.starts_with("target") => {}
            true => found.extend(files(&path, wanted)?),
            false if wanted(&path) => found.push(path),
            false => {}
        }
    }
    Ok(found)
}

fn make_folder_of(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|e| format!("tried to create {}; found: {e}", folder.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    make_folder_of(to)?;
    let copied = fs::copy(from, to);
    copied.map(drop).map_err(|e| format!("tried to copy {} to {}; found: {e}", from.display(), to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(folder: &str, kind: &str, name: &str, test: bool) -> Option<String> {
        let message = format!(
            r#"{{"reason": "compiler-artifact", "manifest_path": "/root/{folder}Cargo.toml", "executable": "/t/x",
                "target": {{"kind": ["{kind}"], "name": "{name}"}}, "profile": {{"test": {test}}}}}"#
        );
        Some(program(Path::new("/root"), &message)?.to.to_str().unwrap().to_owned())
    }

    #[test]
    fn programs_have_their_places() {
        assert_eq!(place("tida-tests/", "test", "tile", true).unwrap(), "bin/tests/tida-tests/tile");
        assert_eq!(place("tida/", "lib", "tida", true).unwrap(), "bin/tests/tida/lib");
        assert_eq!(place("", "lib", "tida_suite", true).unwrap(), "bin/tests/root/lib");
        assert_eq!(place("", "example", "heat", false).unwrap(), "bin/examples/heat");
        assert_eq!(place("", "bench", "gpu", true).unwrap(), "bin/benches/gpu");
        assert_eq!(place("tida-tests/", "test", "ui", true), None);
        assert_eq!(place("tida/", "custom-build", "build-script-build", false), None);
        assert_eq!(program(Path::new("/root"), r#"{"reason": "build-finished", "success": true}"#), None);
    }
}
