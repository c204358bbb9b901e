//! Spelling of documents and sources.

use std::fs;

use crate::Result;
use crate::shell::{command, root, run};
use crate::wheel::Wheel;

/// Knows common misspellings; `.codespellrc` says which of them are looked for. The version is one, so that no day
/// brings new ones.
const CODESPELL: Wheel =
    Wheel { name: "codespell==2.4.3", folder: "codespell", file: "codespell_lib/data/dictionary.txt" };

/// Looks for misspelt words in all that is not hidden and not built.
pub fn check() -> Result<()> {
    CODESPELL.fetch("codespell")?;
    let mut codespell = command("python3 -m codespell_lib");
    codespell.env("PYTHONPATH", CODESPELL.path("")).current_dir(root());
    let listed = fs::read_dir(root()).map_err(|e| format!("tried to list the project's files; found: {e}"))?;
    for entry in listed {
        let name = entry.map_err(|e| format!("tried to list the project's files; found: {e}"))?.file_name();
        let hidden = name.to_string_lossy().starts_with('.');
        if !hidden && name != "target" {
            codespell.arg(name);
        }
    }
    run(&mut codespell).map_err(|_| {
        "tried to check the spelling; found what stands above; fix it, or list what is right in .codespellrc".to_owned()
    })
}
