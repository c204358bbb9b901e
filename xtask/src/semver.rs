//! `cargo xtask semver`: whether the public interface is compatible with that of an earlier commit, by
//! cargo-semver-checks.
//!
//! It is no step of `cargo xtask test`: the tool takes minutes to build, and the commit before has to be documented
//! too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::interface::{self, Asked, Whole};
use crate::shell::{command, read, root, run, target, works};

/// What users depend on. Of the others they see what `tida` hands on; macros have no interface that rustdoc tells of.
const PACKAGES: [&str; 3] = ["tida", "tida-plot", "tida-io"];

/// Flags of `cargo xtask semver`.
#[derive(clap::Args)]
pub struct Options {
    /// The commit to compare with [default: the last tag, or else the commit before]
    #[arg(long, value_name = "REV")]
    since: Option<String>,
}

/// Compares each package with what it was.
pub fn check(options: &Options) -> Result<()> {
    let since = match &options.since {
        Some(since) => since.clone(),
        None => last_tag().unwrap_or_else(|| "HEAD^".into()),
    };
    let commit = read(command("git rev-parse --verify --quiet").arg(format!("{since}^{{commit}}")))
        .map_err(|_| format!("tried to compare with {since}; found no such commit; name one that git knows"))?;
    let commit = commit.trim();
    let tool = tool()?;
    let before = checkout(commit)?;
    let mut incompatible = Vec::new();
    for package in PACKAGES {
        println!("== {package} since {since}");
        if !before.join(package).is_dir() {
            println!("it was not there");
            continue;
        }
        let told = |of: &str, root: &Path, target: &Path| -> Result<PathBuf> {
            let file = folder().join(format!("{package}-{of}.json"));
            let json = interface::told(package, Asked { root, target, whole: Whole::WithPrivateItems })?;
            fs::copy(&json, &file).map_err(|e| format!("tried to copy {}; found: {e}", json.display()))?;
            Ok(file)
        };
        let (now, then) = (told("now", &root(), &target())?, told("before", &before, &folder().join("build"))?);
        let mut compare = Command::new(&tool);
        compare.args(["semver-checks", "check-release", "--baseline-rustdoc"]).arg(then);
        if run(compare.arg("--current-rustdoc").arg(now).current_dir(root())).is_err() {
            incompatible.push(package);
        }
    }
    match incompatible.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "what is said above of {} is not compatible with {since}: mend it, or say so in CHANGELOG.md and raise the \
             version",
            incompatible.join(" and ")
        )),
    }
}

/// Where all of this lies.
fn folder() -> PathBuf {
    target().join("semver")
}

/// The last tag before this commit, if there is one.
fn last_tag() -> Option<String> {
    let mut describe = command("git describe --tags --abbrev=0");
    let output = describe.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned()).filter(|tag| !tag.is_empty())
}

/// The files of a commit. They are not a work tree of git's, which would have to be given up again.
fn checkout(commit: &str) -> Result<PathBuf> {
    let (files, archive) = (folder().join("before"), folder().join("before.tar"));
    let io = |e: std::io::Error| format!("tried to write {}; found: {e}", files.display());
    if files.exists() {
        fs::remove_dir_all(&files).map_err(io)?;
    }
    fs::create_dir_all(&files).map_err(io)?;
    run(command("git archive --format tar --output").arg(&archive).arg(commit))?;
    run(command("tar -x -f").arg(&archive).arg("-C").arg(&files))?;
    fs::remove_file(&archive).map_err(io)?;
    Ok(files)
}

/// cargo-semver-checks: the one that is installed, else the one that is built into `target/tools`.
fn tool() -> Result<PathBuf> {
    let ours = target().join("tools/bin/cargo-semver-checks");
    for program in [Path::new("cargo-semver-checks"), &ours] {
        if works(Command::new(program).args(["semver-checks", "--version"])) {
            return Ok(program.to_path_buf());
        }
    }
    println!("building cargo-semver-checks, which takes some minutes");
    let mut install = command("cargo install cargo-semver-checks --version ^0.51 --locked --quiet --root");
    run(install.arg(target().join("tools")))?;
    Ok(ours)
}
