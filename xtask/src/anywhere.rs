//! That the library builds wherever Rust does: outside of this workspace, whatever CUDA toolkit is there, for other
//! systems, and with any of its features.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::shell::{command, read, root, run, target, works, write, write_script};

/// Versions of CUDA whose `nvcc` is on the path. No build may ask it.
const TOOLKITS: [&str; 4] = ["11.8", "12.2", "13.0", "13.9"];

/// Other systems that the library is checked for, where their standard library can be had.
const SYSTEMS: [&str; 2] = ["x86_64-pc-windows-msvc", "aarch64-apple-darwin"];

/// The version of all of them.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The oldest Rust that builds them.
const OLDEST: &str = env!("CARGO_PKG_RUST_VERSION");

/// Most packages of a build for the CPU alone, tida's own included.
const MOST_PACKAGES: usize = 25;

/// Variables that say where a toolkit is.
const TOOLKIT_VARIABLES: [&str; 5] =
    ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "CUDARC_CUDA_VERSION"];

/// A crate that calls the library by another name.
const RENAMED: &str = include_str!("anywhere/renamed.rs");

/// A library that has tida as a part of itself, and a program that knows that library alone.
const WRAPPER: &str = "pub use tida as grids;\n";
const REEXPORTED: &str = include_str!("anywhere/reexported.rs");

/// The packages that are published, each after those that it needs.
const PUBLISHED: [&str; 6] = ["tida-quote", "tida-kernels", "tida-derive", "tida", "tida-plot", "tida-io"];

/// Builds and runs crates outside of the workspace, with the library as it is published, beside several toolkits.
pub fn builds() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("tida-outside-{}", std::process::id()));
    let done = outside(&folder);
    // What is left of it is no failure.
    let _ = fs::remove_dir_all(&folder);
    done
}

/// Checks the library for other systems, and with the oldest Rust.
pub fn systems() -> Result<()> {
    SYSTEMS.iter().try_for_each(|system| other_system(system))?;
    oldest()
}

/// A crate of one file, with one dependency.
fn package(folder: &Path, name: &str, file: &str, text: &str, dependency: &str) -> Result<()> {
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependency}\n"
    );
    write(&folder.join(name).join("Cargo.toml"), &manifest)?;
    write(&folder.join(name).join("src").join(file), text)
}

/// The README's program.
fn program() -> Result<String> {
    let path = root().join("README.md");
    let text = fs::read_to_string(&path).map_err(|e| format!("tried to read {}; found: {e}", path.display()))?;
    let program = text.split_once("```rust\n").and_then(|(_, rest)| Some(rest.split_once("\n```")?.0.to_owned()));
    program.ok_or_else(|| "the README has no program".into())
}

/// Makes the packages that would be published and unpacks them. Gives the patches by which crates find them.
fn packages(folder: &Path) -> Result<String> {
    println!("the packages");
    let mut package = command("cargo package --quiet --no-verify --allow-dirty --target-dir");
    package.arg(target().join("anywhere"));
    PUBLISHED.iter().for_each(|name| {
        package.args(["--package", name]);
    });
    run(&mut package)?;
    let mut patches = String::from("[patch.crates-io]\n");
    for name in PUBLISHED {
        let file = target().join(format!("anywhere/package/{name}-{VERSION}.crate"));
        let unpacked = folder.join("packages");
        fs::create_dir_all(&unpacked).map_err(|e| format!("tried to make {}; found: {e}", unpacked.display()))?;
        run(command("tar -xzf").arg(&file).arg("-C").arg(&unpacked))?;
        let unpacked = unpacked.join(format!("{name}-{VERSION}"));
        for needed in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            if !unpacked.join(needed).is_file() {
                return Err(format!("the package {name} has no {needed}"));
            }
        }
        patches += &format!("{name} = {{ path = '{}' }}\n", unpacked.display());
    }
    Ok(patches)
}

/// What `cargo publish` would do, up to the upload. It asks the registry, so no step of the checks has a part in it;
/// what it would build is built by the step "builds anywhere", from the same packages.
pub fn publish() -> Result<()> {
    let mut publish = command("cargo publish --workspace --dry-run --no-verify --allow-dirty --target-dir");
    let output = publish.arg(target().join("anywhere/publish")).output();
    let output = output.map_err(|e| format!("tried to run cargo publish; found: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let left_out = PUBLISHED.iter().find(|name| !said.contains(&format!("Uploading {name} v{VERSION}")));
    match left_out {
        _ if !output.status.success() => Err(format!("cargo publish ended with {}:\n{said}", output.status)),
        Some(name) => Err(format!("cargo publish does not publish {name}:\n{said}")),
        None => {
            println!("{} packages of version {VERSION} can be published: {}", PUBLISHED.len(), PUBLISHED.join(", "));
            Ok(())
        }
    }
}

fn outside(folder: &Path) -> Result<()> {
    let patches = packages(folder)?;
    package(folder, "program", "main.rs", &program()?, "tida = \"*\"")?;
    package(folder, "renamed", "main.rs", RENAMED, "stencils = { package = \"tida\", version = \"*\" }")?;
    package(folder, "wrapper", "lib.rs", WRAPPER, "tida = \"*\"")?;
    package(folder, "reexported", "main.rs", REEXPORTED, "wrapper = { path = '../wrapper' }")?;
    let members =
        "[workspace]\nmembers = [\"program\", \"renamed\", \"wrapper\", \"reexported\"]\nresolver = \"3\"\n\n";
    write(&folder.join("Cargo.toml"), format!("{members}{patches}"))?;
    // The versions that everything else is tested with.
    let lock = root().join("Cargo.lock");
    fs::copy(&lock, folder.join("Cargo.lock")).map_err(|e| format!("tried to copy {}; found: {e}", lock.display()))?;

    let built = apart();
    fresh(&built)?;
    let log = folder.join("asked");
    // From empty beside the first. Nothing was asked, so it matters to none of the later builds, unless by a variable.
    for version in TOOLKITS {
        println!("a workspace of its own, beside nvcc {version}");
        let toolkit = toolkit(folder, version, &log)?;
        run(cargo(folder, &built, Some(&toolkit))?.args(["build", "--quiet", "--workspace"]))?;
        if log.exists() {
            return Err(format!("a build of tida has asked nvcc {version}: no toolkit should matter"));
        }
    }
    println!("the same without CUDA");
    run(cargo(folder, &built, None)?.args(["build", "--quiet", "--workspace"]))?;
    for name in ["program", "renamed", "reexported"] {
        let mut program = cargo(folder, &built, None)?;
        run(program.env("TIDA_DEVICE", "cpu").args(["run", "--quiet", "--package", name]))?;
    }
    Ok(())
}

/// The folder of all these builds, which is not that of the tests: they run beside others. What several of them are
/// made of is built once.
fn apart() -> PathBuf {
    target().join("anywhere/outside")
}

/// A call of cargo that builds there, without optimisation: what it builds is not run, or for a second.
fn builds_apart(line: &str) -> Command {
    let mut cargo = command(line);
    cargo.env("CARGO_TARGET_DIR", apart()).env("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "false");
    cargo
}

/// Makes sure that a build begins with nothing.
fn fresh(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("tried to empty {}; found: {e}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// A folder with an `nvcc` that says that it is of this version, and writes down that it was asked.
fn toolkit(folder: &Path, version: &str, log: &Path) -> Result<PathBuf> {
    let home = folder.join(format!("cuda-{version}"));
    let nvcc = home.join("bin/nvcc");
    let text = format!(
        "#!/bin/sh\necho {version} >> '{}'\ncat <<'END'\nnvcc: NVIDIA (R) Cuda compiler driver\n\
         Copyright (c) 2005-2025 NVIDIA Corporation\nBuilt on a day\nCuda compilation tools, release {version}, \
         V{version}.1\nEND\n",
        log.display()
    );
    write_script(&nvcc, &text)?;
    // The program itself, so that a log that stays empty says something.
    let said = read(&mut Command::new(&nvcc))?;
    if !said.contains(&format!("release {version},")) || fs::remove_file(log).is_err() {
        return Err(format!("{} does not do what it is there for: {said}", nvcc.display()));
    }
    Ok(home)
}

/// Cargo in a folder outside of the workspace, where of all toolkits only this one can be found.
fn cargo(folder: &Path, built: &Path, toolkit: Option<&Path>) -> Result<Command> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = toolkit.map(|home| home.join("bin")).into_iter().collect();
    folders.extend(std::env::split_paths(&path).filter(|folder| !folder.join("nvcc").exists()));
    let path = std::env::join_paths(folders).map_err(|e| format!("tried to set PATH; found: {e}"))?;
    let mut cargo = command("cargo");
    cargo.current_dir(folder).env("PATH", path).env("CARGO_TARGET_DIR", built).env("CARGO_PROFILE_DEV_DEBUG", "false");
    for variable in TOOLKIT_VARIABLES {
        cargo.env_remove(variable);
    }
    if let Some(home) = toolkit {
        cargo.env("CUDA_HOME", home).env("CUDA_PATH", home);
    }
    Ok(cargo)
}

/// Checks the library for another system.
fn other_system(system: &str) -> Result<()> {
    let there = read(command("rustc --print target-libdir --target").arg(system))
        .is_ok_and(|folder| Path::new(folder.trim()).is_dir());
    if !there && !works(command("rustup target add").arg(system)) {
        println!("SKIPPED: no standard library for {system}");
        return Ok(());
    }
    println!("{system}");
    let mut check = builds_apart("cargo check --quiet --package tida --target");
    // (Macros are built for this system, as they were for the features.)
    run(check.arg(system).env("RUSTFLAGS", "-D warnings"))
}

/// Checks the library with the oldest Rust that may build it, where that is another than the one at hand.
fn oldest() -> Result<()> {
    let here = read(&mut command("rustc --version"))?;
    if here.starts_with(&format!("rustc {OLDEST}.")) {
        println!("Rust {OLDEST}, the oldest, is the one at hand");
        return Ok(());
    }
    let toolchain = format!("{OLDEST}.0");
    let there = works(command("rustup run").args([&toolchain, "rustc", "--version"]));
    if !there && !works(command("rustup toolchain install --profile minimal --no-self-update").arg(&toolchain)) {
        println!("SKIPPED: no Rust {OLDEST}");
        return Ok(());
    }
    println!("Rust {OLDEST}");
    let mut check = command("rustup run");
    check.args([&toolchain, "cargo", "check", "--quiet", "--package", "tida"]);
    run(check.env("RUSTFLAGS", "-D warnings").env("CARGO_TARGET_DIR", target().join("anywhere/oldest")))
}

/// Checks half of the features without the others, and runs some tests without any.
pub fn features() -> Result<()> {
    let packages = count_packages()?;
    println!("a build for the CPU alone has {packages} packages");
    if packages > MOST_PACKAGES {
        return Err(format!(
            "a build for the CPU alone has {packages} packages; more than {MOST_PACKAGES} are too many"
        ));
    }
    println!("features: none");
    // What stands for what is left out has code of its own.
    run(&mut builds_apart("cargo clippy --quiet --package tida --no-default-features -- -D warnings"))?;
    // (Several at once, which have nothing to do with one another.)
    for feature in ["cuda,num-complex,ndarray", "opencl,mpi,npz"] {
        println!("features: {feature}");
        // Their code has had clippy's lints, with all of them. So these are the compiler's, in half the time.
        let check = "cargo rustc --profile check --quiet --package tida --lib --no-default-features --features";
        run(builds_apart(check).args([feature, "--", "-D", "warnings"]))?;
    }
    let tests = "cargo test --quiet --package tida-apart --no-default-features --test features --test settings";
    run(&mut builds_apart(tests))
}

/// Packages of a build for the CPU alone.
fn count_packages() -> Result<usize> {
    let tree =
        read(&mut command("cargo tree --package tida --no-default-features --edges normal,build --prefix none"))?;
    let mut names: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    names.sort_unstable();
    names.dedup();
    Ok(names.len())
}
