//! Spelling of documents and sources, and where their links lead.

use crate::Result;
use crate::shell::{command, read, run};
use crate::wheel::Wheel;

/// Knows common misspellings; `.codespellrc` says which of them are looked for. The version is one, so that no day
/// brings new ones.
const CODESPELL: Wheel =
    Wheel { name: "codespell==2.4.3", folder: "codespell", file: "codespell_lib/data/dictionary.txt" };

/// Looks for misspelt words in what git tracks, and for links that lead nowhere.
pub fn check() -> Result<()> {
    CODESPELL.fetch("codespell")?;
    let files = read(&mut command("git ls-files --cached --others --exclude-standard -- *.md *.rs *.toml"))?;
    let mut codespell = command("python3 -m codespell_lib");
    run(codespell.env("PYTHONPATH", CODESPELL.path("")).args(files.lines())).map_err(|_| {
        "tried to check the spelling; found what stands above; mend it, or list what is right in .codespellrc"
            .to_owned()
    })?;
    run(&mut command("cargo test --quiet --package xtask --test tidy links"))
}
