//! The documentation, and beside it what rustdoc tells of tida's public interface, from the crates that lints have
//! looked at.
//!
//! Rustdoc needs what it documents checked, with all packages that it is made of. Lints have checked the same: so this
//! asks cargo for the same features (an example makes it take those of the packages for tests) and for the same program
//! in the compiler's place. Where something differs, cargo checks again, and it takes longer.

use std::path::{Path, PathBuf};

use crate::shell::{command, read, run, target, write_script};
use crate::{Result, interface};

/// Crates that are told as JSON too.
const TOLD: [&str; 2] = ["tida", "tida_kernels"];

/// What clippy is told, as `cargo clippy -- -D warnings` tells it.
const CLIPPY_ARGUMENTS: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

/// Documents the workspace, with these features. No warning is let through.
pub fn build(features: &str) -> Result<()> {
    let mut docs = command("cargo doc --workspace --no-deps --document-private-items --quiet");
    docs.args(["--lib", "--bins", "--example", "explain", "--features", features]);
    // (The name is for cargo: what it did by another rustdoc is not what this one does.)
    docs.env("RUSTDOC", both()?).env("RUSTDOCFLAGS", "-D warnings --cfg told_as_json");
    let clippy = Path::new(read(&mut command("rustc --print sysroot"))?.trim()).join("bin/clippy-driver");
    if clippy.exists() {
        docs.env("RUSTC_WORKSPACE_WRAPPER", clippy).env("CLIPPY_ARGS", CLIPPY_ARGUMENTS);
    }
    run(&mut docs)
}

/// Where rustdoc has told of a package, if the documentation was built.
pub fn told_of(package: &str) -> Option<PathBuf> {
    let file = target().join("doc-json").join(format!("{}.json", package.replace('-', "_")));
    file.exists().then_some(file)
}

/// A rustdoc that also gives JSON, of public items alone.
fn both() -> Result<PathBuf> {
    let script = target().join("rustdoc-both.sh");
    let (rustdoc, told) = (interface::rustdoc(), TOLD.map(|name| format!("*' --crate-name {name} '*")).join("|"));
    let [doc, json] = ["doc", "doc-json"].map(|folder| target().join(folder).display().to_string());
    let text = format!(
        r#"#!/bin/sh
{rustdoc} "$@" || exit
case " $* " in
{told}) ;;
*) exit 0 ;;
esac
for word; do
    shift
    case $word in
    --document-private-items) ;;
    '{doc}') set -- "$@" '{json}' ;;
    *) set -- "$@" "$word" ;;
    esac
done
RUSTC_BOOTSTRAP=1 exec {rustdoc} "$@" -Z unstable-options --output-format json --cap-lints allow
"#
    );
    write_script(&script, &text)?;
    Ok(script)
}
