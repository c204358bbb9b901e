//! NVRTC, the compiler of CUDA C++, so that emitted kernels are compiled in tests where there is no GPU; and the
//! headers of the driver and of NVRTC, which the tests compare tida's own declarations with.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::wheel::Wheel;

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
