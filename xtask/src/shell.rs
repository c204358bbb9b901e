//! Running programs, and where things are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Result;

/// The root of the workspace.
pub fn root() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    manifest.parent().map_or_else(|| manifest.clone(), PathBuf::from)
}

/// Where cargo puts what it builds.
pub fn target() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from))
}

/// A program to be run in the root of the workspace. The line is split at spaces.
pub fn command(line: &str) -> Command {
    let mut words = line.split_whitespace();
    let program = match words.next() {
        Some("cargo") | None => std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
        Some(program) => program.into(),
    };
    let mut command = Command::new(program);
    command.args(words).current_dir(root());
    command
}

/// Runs a program that talks to the terminal itself.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|e| format!("tried to run {}; found: {e}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", shown(command))) }
}

/// Runs a program and gives what it printed on standard output.
pub fn read(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("tried to run {}; found: {e}", shown(command)))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(text)
    } else {
        Err(format!("{} ended with {}\n{text}", shown(command), output.status))
    }
}

/// Builds with cargo. Gives what tells rustc and rustdoc where these libraries of the build are, and what they are made
/// of, for programs that cargo does not build.
pub fn libraries(build: &str, names: &[&str]) -> Result<Vec<String>> {
    let built = read(command(build).arg("--message-format=json-render-diagnostics"))?;
    let mut arguments = vec!["-L".into(), format!("dependency={}", target().join("debug/deps").display())];
    for name in names {
        let file = built.lines().filter_map(|line| library(line, name)).next_back();
        let file = file.ok_or_else(|| format!("`{build}` built no library `{name}`"))?;
        arguments.extend(["--extern".into(), format!("{name}={file}")]);
    }
    Ok(arguments)
}

/// The file of this library, if cargo tells of it in this line.
fn library(line: &str, name: &str) -> Option<String> {
    let message = serde_json::from_str::<Value>(line).ok()?;
    let target = message["target"]["name"].as_str()?;
    let files = message["filenames"].as_array().filter(|_| target.replace('-', "_") == name)?;
    files.iter().filter_map(Value::as_str).find(|file| file.ends_with(".rlib")).map(str::to_owned)
}

/// Runs a program that is to fail, and to say this.
pub fn fails(command: &mut Command, saying: &str) -> Result<()> {
    let output = command.output().map_err(|e| format!("tried to run {}; found: {e}", shown(command)))?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    match !output.status.success() && text.contains(saying) {
        true => Ok(()),
        false => Err(format!("{} ended with {} and does not say `{saying}`:\n{text}", shown(command), output.status)),
    }
}

/// Whether a program is there and ends well; it prints nothing.
pub fn works(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Writes a file, in folders that are made if need be.
pub fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, contents));
    written.map_err(|e| format!("tried to write {}; found: {e}", path.display()))
}

/// Writes a program of a shell.
pub fn write_script(path: &Path, text: &str) -> Result<()> {
    write(path, text)?;
    run(command("chmod +x").arg(path))
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    format!("`{}`", words.map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found_by_their_names() {
        let line = r#"{ "target": { "name": "tida-io" }, "filenames": ["/t/libtida_io.rmeta", "/t/libtida_io.rlib"] }"#;
        assert_eq!(library(line, "tida_io").as_deref(), Some("/t/libtida_io.rlib"));
        assert_eq!(library(line, "tida"), None);
        assert_eq!(library("no message", "tida"), None);
    }

    #[test]
    fn a_program_fails_if_it_ends_badly_and_says_so() {
        let of_rustc = |flag: &str, said: &str| fails(command("rustc").arg(flag), said);
        assert!(of_rustc("--no-such-flag", "no-such-flag").is_ok());
        assert!(of_rustc("--no-such-flag", "heap-use-after-free").is_err());
        assert!(of_rustc("--version", "rustc").is_err());
    }
}
