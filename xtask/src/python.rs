//! Packages of Python that read and write files of arrays: tests compare with them.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use crate::Result;
use crate::shell::{command, run, target};

/// Zarr, xarray, NetCDF, HDF5 and VTK with what they need. The versions are these, so that no day brings new ones.
const PACKAGES: [&str; 17] = [
    "certifi==2026.10.19.post1",
    "cftime==1.6.6.1",
    "donfig==0.8.1.post1",
    "google_crc32c==1.9.0",
    "h5py==3.16.0",
    "netCDF4==1.7.5.1.post1",
    "numcodecs==0.16.6",
    "numpy==2.4.6",
    "packaging==26.4",
    "pandas==3.1.1",
    "python_dateutil==4.0.0",
    "pyyaml==6.0.4",
    "typing_extensions==4.16.0",
    "tzdata==2026.6",
    "vtk==9.7.2",
    "xarray==2026.9.0",
    "zarr==3.1.6",
];

/// The variable that names the folder of the packages, also for the tests.
const VARIABLE: &str = "TIDA_PYTHON";

/// Where they lie.
fn folder() -> PathBuf {
    std::env::var_os(VARIABLE).map_or_else(|| target().join("tools/python"), PathBuf::from)
}

/// A file in it that lists what it holds.
const LIST: &str = "packages.txt";

/// Whether they are there.
fn is_there() -> bool {
    std::env::var_os(VARIABLE).is_some()
        || fs::read_to_string(folder().join(LIST)).is_ok_and(|list| list == PACKAGES.join("\n"))
}

/// Fetches them where they are not there yet. Where the package index cannot be reached, says so: the tests that need
/// them are skipped.
pub fn install() -> Result<()> {
    if is_there() {
        return Ok(());
    }
    println!("fetching Python's packages for files of arrays ({} of them)", PACKAGES.len());
    let fresh = target().join("tools/python.part");
    let io = |done: std::io::Result<()>| done.map_err(|e| format!("tried to write {}; found: {e}", fresh.display()));
    // Installed elsewhere and then renamed: a folder that is there is whole.
    if fresh.exists() {
        io(fs::remove_dir_all(&fresh))?;
    }
    let mut pip = command("python3 -m pip install --quiet --disable-pip-version-check --no-deps --no-compile");
    pip.args(["--root-user-action=ignore", "--only-binary=:all:", "--target"]).arg(&fresh).args(PACKAGES);
    if let Err(e) = run(&mut pip) {
        println!("Python's packages are not to be had here, and tests that compare with them are skipped: {e}");
        return Ok(());
    }
    io(fs::write(fresh.join(LIST), PACKAGES.join("\n")))?;
    let folder = folder();
    if folder.exists() {
        io(fs::remove_dir_all(&folder))?;
    }
    io(fs::rename(&fresh, &folder))
}

/// What tests find them by, and that they must; nothing where they are not to be had.
pub fn environment() -> Vec<(&'static str, OsString)> {
    match is_there() {
        true => vec![(VARIABLE, folder().into_os_string()), ("TIDA_REQUIRE_PYTHON", "1".into())],
        false => Vec::new(),
    }
}
