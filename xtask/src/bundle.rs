//! `cargo xtask gpu-bundle`: tests, examples and benches, for a machine with a GPU and without Rust.

pub mod mpi;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Result;
use crate::shell::{self, command, read, root, run, target, write_script};
use crate::smoke;

/// Most bytes of a folder, so that it travels easily.
const LARGEST: u64 = 60 << 20;

/// Most bytes of the programs of a folder. They are alike, and larger than the window that `xz` looks back through, if
/// it is not told of a larger one: with [`PACK`] they shrink to a ninth, where they shrank to a third.
const TOGETHER: u64 = 420 << 20;

/// How a folder's programs are packed.
const PACK: &str = "xz --threads=1 --lzma2=preset=1,dict=64MiB";

/// What is built: tests and what they start as `cargo xtask test` builds them, examples and benches for measuring. With
/// MPI, which is looked for when a program asks for ranks.
const BUILDS: [&str; 3] = [
    "cargo test --workspace --lib --tests --no-run --quiet --features tida-tests/mpi,tida-suite/mpi \
     --message-format=json-render-diagnostics",
    "cargo build --workspace --example ranks --quiet --features tida-tests/mpi,tida-suite/mpi \
     --message-format=json-render-diagnostics",
    "cargo build --release --package tida-suite --examples --benches --features mpi --quiet \
     --message-format=json-render-diagnostics",
];

/// Packages whose tests may run on a GPU, by their folders.
const ON_GPU: [&str; 5] = ["root", "tida", "tida-apart", "tida-io", "tida-tests"];

/// Tests of theirs that are of no use there: they call rustc, or look at what macros make, or have devices of their
/// own.
const LEFT_OUT: &[(&str, &str)] = &[
    ("tida-apart", "lib"),
    ("tida-apart", "models"),
    ("tida-apart", "planted"),
    ("tida-tests", "constructs"),
    ("tida-tests", "lib"),
    ("tida-tests", "macro_hygiene"),
    ("tida-tests", "macro_wrappers"),
    ("tida-tests", "renamed"),
    ("tida-tests", "sim"),
    ("tida-tests", "strict_lints"),
    ("tida-tests", "ui"),
];

/// What runs them there.
const SCRIPT: &str = include_str!("run.sh");

/// A program to be packed.
#[derive(Debug, PartialEq)]
struct Program {
    from: PathBuf,
    /// Its place in the bundle.
    to: PathBuf,
}

/// Builds the programs and packs them with what they read, in folders each of which travels and runs by itself.
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
    let mut sizes = Vec::new();
    let stripped = bundle.join("stripped");
    for Program { from, to } in &programs {
        let to = stripped.join(to);
        make_folder_of(&to)?;
        run(command("strip -o").arg(&to).arg(from))?;
        sizes.push(fs::metadata(&to).map_err(|e| format!("tried to read {}; found: {e}", to.display()))?.len());
    }
    let data = data_files()?;
    for (number, part) in parts(&programs, &sizes).into_iter().enumerate() {
        let folder = bundle.join((number + 1).to_string());
        for program in &part {
            let to = folder.join(&program.to);
            make_folder_of(&to)?;
            let moved = fs::rename(stripped.join(&program.to), &to);
            moved.map_err(|e| format!("tried to move a program to {}; found: {e}", to.display()))?;
        }
        for file in &data {
            copy(&root().join(file), &folder.join("data").join(file))?;
        }
        let ranks = folder.join("bin/examples/ranks");
        if ranks.exists() {
            let mpi = folder.join("bin/mpi");
            mpi::carry(&mpi)?;
            match mpi::runs_alone(&mpi, &ranks, &target().join("tmp/bare-root"))? {
                true => println!("ranks run by the MPI of {}, in a root without any other", folder.display()),
                false => println!("whether ranks run by the MPI of {} alone cannot be tried here", folder.display()),
            }
        }
        pack(&folder)?;
        let bytes = files(&folder, &|_| true)?.iter().filter_map(|file| Some(fs::metadata(file).ok()?.len())).sum();
        println!("{} programs, {:.1} MiB, in {}; there: ./run.sh", part.len(), mib(bytes), folder.display());
        if bytes > LARGEST {
            return Err(format!(
                "tried to pack programs into {} MiB; found {:.1} MiB in {}; let fewer be together (TOGETHER in \
                 xtask/src/bundle.rs)",
                LARGEST >> 20,
                mib(bytes),
                folder.display()
            ));
        }
    }
    fs::remove_dir_all(&stripped).map_err(|e| format!("tried to remove {}; found: {e}", stripped.display()))
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Programs in lists, each of which fits a folder: what the script runs by one of its words is in as few as can be.
fn parts<'a>(programs: &'a [Program], sizes: &[u64]) -> Vec<Vec<&'a Program>> {
    let mut sorted: Vec<(&Program, u64)> = programs.iter().zip(sizes.iter().copied()).collect();
    sorted.sort_by(|(a, _), (b, _)| a.to.cmp(&b.to));
    let (mut parts, mut room): (Vec<Vec<&Program>>, u64) = (Vec::new(), 0);
    for (program, size) in sorted {
        match parts.last_mut().filter(|_| size <= room) {
            Some(part) => part.push(program),
            None => {
                parts.push(vec![program]);
                room = TOGETHER;
            }
        }
        room = room.saturating_sub(size);
    }
    parts
}

/// Packs what lies in a folder, and writes what unpacks and runs it.
fn pack(folder: &Path) -> Result<()> {
    let smoke: String = smoke::RUNS.iter().map(|(example, flags)| format!("{example} {flags}\n")).collect();
    shell::write(&folder.join("smoke.txt"), smoke)?;
    let mut tar = command("tar --create --file programs.tar.xz --remove-files");
    run(tar.arg(format!("--use-compress-program={PACK}")).args(["bin", "data", "smoke.txt"]).current_dir(folder))?;
    write_script(&folder.join("run.sh"), SCRIPT)
}

/// The program that a line of cargo's messages tells of, unless it is of no use on a machine with a GPU.
fn program(root: &Path, message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    let from = message["executable"].as_str()?.into();
    let name = message["target"]["name"].as_str()?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.strip_prefix(root).ok()?;
    let package = folder.to_str().filter(|package| !package.is_empty()).unwrap_or("root");
    let to = match message["target"]["kind"][0].as_str()? {
        "example" => format!("examples/{name}"),
        "bench" => format!("benches/{name}"),
        "test" if on_gpu(package, name) => format!("tests/{package}/{name}"),
        "lib" if message["profile"]["test"] == true && on_gpu(package, "lib") => format!("tests/{package}/lib"),
        _ => return None,
    };
    Some(Program { from, to: Path::new("bin").join(to) })
}

/// Whether a test is of use there.
fn on_gpu(package: &str, name: &str) -> bool {
    ON_GPU.contains(&package) && !LEFT_OUT.contains(&(package, name))
}

/// What tests and benches may read: all files of the packages that are no sources, below the root.
fn data_files() -> Result<Vec<PathBuf>> {
    let source = |path: &Path| path.extension().is_some_and(|e| e == "rs" || e == "md" || e == "toml" || e == "png");
    let mut found = Vec::new();
    for folder in ["tida", "tida-tests", "tests", "examples", "benches"] {
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
        assert_eq!(place("tida-kernels/", "test", "emit_text", true), None);
        assert_eq!(place("tida-plot/", "lib", "tida_plot", true), None);
        assert_eq!(place("tida/", "custom-build", "build-script-build", false), None);
        assert_eq!(program(Path::new("/root"), r#"{"reason": "build-finished", "success": true}"#), None);
    }

    #[test]
    fn no_folder_has_more_than_its_share() {
        let programs = ["a", "b", "c", "d", "e"].map(|to| Program { from: "x".into(), to: to.into() });
        let sizes = [TOGETHER / 2, TOGETHER / 2, TOGETHER / 2, TOGETHER + 1, 1];
        let parts = parts(&programs, &sizes);
        let names: Vec<Vec<&str>> =
            parts.iter().map(|part| part.iter().map(|program| program.to.to_str().unwrap()).collect()).collect();
        assert_eq!(names, [vec!["a", "b"], vec!["c"], vec!["d"], vec!["e"]]);
    }
}
