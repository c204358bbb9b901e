//! Python imports the module, and its script passes.
//!
//! NumPy lies in the folder that `TIDA_PYTHON` names; without it the test is skipped, unless `TIDA_REQUIRE_PYTHON` is
//! set.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::Path;
use std::process::Command;

#[test]
fn python_imports_it() {
    let Some(packages) = std::env::var_os("TIDA_PYTHON") else {
        assert!(std::env::var_os("TIDA_REQUIRE_PYTHON").is_none(), "no packages of Python: set TIDA_PYTHON");
        return;
    };
    // Cargo has put it beside this program.
    let built = std::env::current_exe().unwrap().with_file_name(format!("{DLL_PREFIX}heat2d{DLL_SUFFIX}"));
    let folder = std::env::temp_dir().join(format!("tida-heat2d-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(&built, folder.join("heat2d.abi3.so")).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("test.py");
    let mut python = Command::new("python3");
    python.arg("-B").arg(&script).env("PYTHONPATH", std::env::join_paths([folder.clone(), packages.into()]).unwrap());
    let output = python.output().unwrap();
    let _ = std::fs::remove_dir_all(&folder);
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} ended with {}:\n{text}", script.display(), output.status);
}
