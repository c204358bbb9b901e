//! NVRTC, the compiler of CUDA C++, so that emitted kernels are compiled in tests where there is no GPU.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::shell::{command, run, target};

/// As the Python package index names it: the library and its builtins, without the toolkit around them.
const WHEEL: &str = "nvidia-cuda-nvrtc==13.0.*";

/// Where the library lies in the wheel.
const LIBRARY: &str = "nvidia/cu13/lib/libnvrtc.so.13";

/// The variable that names the library, also for the tests.
const VARIABLE: &str = "TIDA_NVRTC";

fn folder() -> PathBuf {
    target().join("tools/nvrtc")
}

/// The library: the one that `TIDA_NVRTC` names, else the one that [`install`] fetches.
fn library() -> PathBuf {
    std::env::var_os(VARIABLE).map_or_else(|| folder().join(LIBRARY), PathBuf::from)
}

/// Fetches NVRTC, where it is not yet.
pub fn install() -> Result<()> {
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
    println!("fetching NVRTC ({WHEEL}) for the tests");
    // Unpacked elsewhere and then renamed: a folder that is there is whole.
    let fresh = folder().with_extension("part");
    let io = |done: std::io::Result<()>| done.map_err(|e| format!("tried to write {}; found: {e}", fresh.display()));
    if fresh.exists() {
        io(fs::remove_dir_all(&fresh))?;
    }
    io(fs::create_dir_all(&fresh))?;
    let pip = "python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest";
    run(command(pip).arg(&fresh).arg(WHEEL))?;
    let wheel = wheel_in(&fresh)?;
    run(command("python3 -m zipfile -e").arg(&wheel).arg(&fresh))?;
    io(fs::remove_file(&wheel))?;
    if folder().exists() {
        io(fs::remove_dir_all(folder()))?;
    }
    io(fs::rename(&fresh, folder()))?;
    match library.is_file() {
        true => Ok(()),
        false => Err(format!("{WHEEL} was fetched, but {} is not in it", library.display())),
    }
}

fn wheel_in(folder: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).map_err(|e| format!("tried to list {}; found: {e}", folder.display()))?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .find(|path| path.extension().is_some_and(|e| e == "whl"))
        .ok_or_else(|| format!("tried to fetch {WHEEL}; found no wheel in {}", folder.display()))
}

/// What tests find NVRTC by: its path, and its folder among those that libraries are loaded from, since it loads its
/// builtins from there.
pub fn environment() -> Vec<(&'static str, OsString)> {
    let library = library();
    let mut folders: Vec<PathBuf> = library.parent().map(Path::to_path_buf).into_iter().collect();
    let before = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&before).filter(|path| !path.as_os_str().is_empty()));
    let mut variables = vec![(VARIABLE, library.into_os_string())];
    variables.extend(std::env::join_paths(folders).map(|paths| ("LD_LIBRARY_PATH", paths)));
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
