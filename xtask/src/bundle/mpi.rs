//! The MPI that a bundle carries: Open MPI of this machine, with all that it loads, for ranks of one host.
//!
//! It is moved by variables of Open MPI and PMIx (`env.sh`). Modules for networks and for launchers of clusters are
//! left out, and files of MPI's own reading and writing, which tida does not use.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{copy, files, make_folder_of};
use crate::Result;
use crate::shell::{self, command, read, run, works};

/// Words in the names of modules that are left out.
const LEFT_OUT: [&str; 13] = [
    "_ofi", "_openib", "_ucx", "_uct", "_psm", "_portals", "_io_", "_fs_", "_fbtl_", "_fcoll_", "_slurm", "_flux",
    "_tm.",
];

/// Libraries that every machine with a C library has, of which programs of the bundle take that machine's.
const OF_SYSTEM: [&str; 9] = [
    "ld-linux",
    "libc.so",
    "libm.so",
    "libgcc_s.so",
    "libpthread.so",
    "libdl.so",
    "librt.so",
    "libutil.so",
    "libresolv.so",
];

/// What a shell reads before it starts ranks, written for a folder that may be anywhere.
const ENVIRONMENT: &str = r#"# Has the MPI of this folder started by `mpirun`, and found by tida. To be read by a shell: `. mpi/env.sh`.
mpi=$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")" && pwd)
export PATH="$mpi/bin:$PATH" LD_LIBRARY_PATH="$mpi/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export TIDA_MPI="$mpi/lib/NAME"
export OPAL_PREFIX="$mpi" OPAL_BINDIR="$mpi/bin" OPAL_LIBDIR="$mpi/lib" OPAL_PKGLIBDIR="$mpi/lib/openmpi"
export OPAL_DATADIR="$mpi/share" OPAL_PKGDATADIR="$mpi/share/openmpi" OPAL_SYSCONFDIR="$mpi/etc"
export PMIX_PREFIX="$mpi" PMIX_PKGLIBDIR="$mpi/lib/pmix"
# All ranks are on this host. PMIx does not start for a user without a home.
export OMPI_MCA_plm=isolated HOME="${HOME:-/tmp}"
"#;

/// Where Open MPI of this machine has its parts.
struct Installed {
    programs: PathBuf,
    modules: PathBuf,
    texts: PathBuf,
    settings: PathBuf,
    library: PathBuf,
}

impl Installed {
    /// # Errors
    /// No Open MPI, or one that does not say where its parts are.
    fn find() -> Result<Installed> {
        if !works(command("ompi_info --version").arg("--parsable")) {
            return Err(
                "tried to pack MPI; found no Open MPI (`ompi_info`); install it, as CONTRIBUTING.md says".into()
            );
        }
        let said = read(&mut command("ompi_info --parsable --path all"))?;
        let path = |name: &str| path_of(&said, name);
        let programs = path("bindir")?;
        let launcher = programs.join("orterun");
        let launcher = if launcher.exists() { launcher } else { programs.join("mpirun") };
        // What the launcher loads lies beside MPI itself.
        let loaded = libraries(&launcher)?;
        let beside = loaded.iter().find(|path| name_of(path).starts_with("libopen-pal"));
        let folder = beside.and_then(|path| path.parent()).ok_or("tried to find MPI; found no libopen-pal")?;
        let named = files(folder, &|path| name_of(path).starts_with("libmpi.so."))?;
        let library = named.into_iter().min_by_key(|path| name_of(path).len());
        let library = library.ok_or_else(|| format!("tried to find MPI; found no libmpi in {}", folder.display()))?;
        let [modules, texts, settings] = [path("pkglibdir")?, path("pkgdatadir")?, path("sysconfdir")?];
        Ok(Installed { programs, modules, texts, settings, library })
    }
}

/// The path of this name among what `ompi_info` says.
fn path_of(said: &str, name: &str) -> Result<PathBuf> {
    let start = format!("path:{name}:");
    let found = said.lines().find_map(|line| line.strip_prefix(&start));
    found.map(PathBuf::from).ok_or_else(|| format!("tried to find MPI; found no {name} in what `ompi_info` says"))
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The libraries that a program or a library loads, but for those of the system.
fn libraries(of: &Path) -> Result<BTreeSet<PathBuf>> {
    let said = read(command("ldd").arg(of))?;
    if let Some(line) = said.lines().find(|line| line.contains("not found")) {
        return Err(format!("tried to pack {}; found that it does not load here: {line}", of.display()));
    }
    Ok(loaded(&said))
}

/// The same, of what `ldd` says.
fn loaded(said: &str) -> BTreeSet<PathBuf> {
    let path = |line: &str| line.split_whitespace().nth(2).filter(|path| path.starts_with('/')).map(PathBuf::from);
    let of_system = |path: &PathBuf| OF_SYSTEM.iter().any(|name| name_of(path).starts_with(name));
    said.lines().filter_map(path).filter(|path| !of_system(path)).collect()
}

/// Whether ranks of one host may need a module.
fn is_wanted(module: &Path) -> bool {
    let name = name_of(module);
    name.starts_with("mca_") && name.ends_with(".so") && !LEFT_OUT.iter().any(|word| name.contains(word))
}

/// Copies MPI into a folder.
///
/// # Errors
/// No Open MPI here, or files that cannot be copied.
pub fn carry(folder: &Path) -> Result<()> {
    let installed = Installed::find()?;
    let launcher = ["orterun", "mpirun"].map(|name| installed.programs.join(name));
    let launcher = launcher.iter().find(|path| path.exists()).ok_or("tried to pack MPI; found no launcher of it")?;
    // What loads libraries: where it goes to, from where.
    let mut parts = vec![("bin/mpirun".into(), launcher.clone()), (lib(&installed.library), installed.library.clone())];
    let daemon = installed.programs.join("orted");
    parts.extend(daemon.exists().then(|| ("bin/orted".into(), daemon)));
    for module in files(&installed.modules, &is_wanted)? {
        parts.push((format!("lib/openmpi/{}", name_of(&module)), module));
    }
    let mut all = BTreeSet::new();
    for (_, from) in &parts {
        all.extend(libraries(from)?);
    }
    // Plugins of PMIx lie below its library's folder.
    let pmix = all.iter().find(|path| name_of(path).starts_with("libpmix.so")).and_then(|path| path.parent());
    let pmix = pmix.map(Path::to_path_buf);
    for plugins in pmix.into_iter().flat_map(|beside| ["pmix2/lib/pmix", "pmix"].map(|below| beside.join(below))) {
        let wanted = |path: &Path| name_of(path).ends_with(".so") && !name_of(path).contains("_slurm");
        for plugin in if plugins.is_dir() { files(&plugins, &wanted)? } else { Vec::new() } {
            all.extend(libraries(&plugin)?);
            parts.push((format!("lib/pmix/{}", name_of(&plugin)), plugin));
        }
    }
    parts.extend(all.into_iter().map(|from| (lib(&from), from)));
    for (folder, name) in [(&installed.texts, "share/openmpi"), (&installed.settings, "etc")] {
        for file in files(folder, &|path| name_of(path).ends_with(".txt") || name_of(path).ends_with(".conf"))? {
            parts.push((format!("{name}/{}", name_of(&file)), file));
        }
    }
    for (to, from) in &parts {
        let to = folder.join(to);
        copy(from, &to)?;
        if from.extension().is_none_or(|ending| ending != "txt" && ending != "conf") {
            run(command("strip --strip-unneeded").arg(&to))?;
        }
    }
    shell::write(&folder.join("env.sh"), ENVIRONMENT.replace("NAME", &name_of(&installed.library)))
}

/// Where a library goes to.
fn lib(path: &Path) -> String {
    format!("lib/{}", name_of(path))
}

/// Runs ranks by the MPI of a folder in a root that has nothing else but the C library: so nothing of this machine's
/// MPI is found. Says whether that could be tried here.
///
/// # Errors
/// Ranks that do not run there.
pub fn runs_alone(mpi: &Path, program: &Path, root: &Path) -> Result<bool> {
    if root.exists() {
        fs::remove_dir_all(root).map_err(|e| format!("tried to remove {}; found: {e}", root.display()))?;
    }
    let everything = files(mpi, &|_| true)?;
    for file in &everything {
        let below = file.strip_prefix(mpi).map_err(|e| e.to_string())?;
        copy(file, &root.join("mpi").join(below))?;
    }
    copy(program, &root.join("ranks"))?;
    for folder in ["tmp/x", "dev/null"] {
        make_folder_of(&root.join(folder))?;
    }
    shell::write(&root.join("dev/null"), "")?;
    // The shell reads the variables; it and its libraries are the system's.
    let shell = PathBuf::from("/bin/bash");
    copy(&shell, &root.join("bin/bash"))?;
    copy(&PathBuf::from("/usr/bin/dirname"), &root.join("bin/dirname"))?;
    let mut of_system = BTreeSet::new();
    for of in [&shell, &PathBuf::from("/usr/bin/dirname"), &program.to_path_buf(), &mpi.join("bin/mpirun")] {
        let said = read(command("ldd").arg(of).env("LD_LIBRARY_PATH", mpi.join("lib")))?;
        let words = said.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from);
        of_system.extend(words.filter(|path| !path.starts_with(mpi)));
    }
    for library in of_system {
        copy(&library, &root.join(library.strip_prefix("/").map_err(|e| e.to_string())?))?;
    }
    let chroot = || {
        let is_root = read(&mut command("id -u")).is_ok_and(|user| user.trim() == "0");
        let mut chroot = command(if is_root { "chroot" } else { "unshare --map-root-user chroot" });
        chroot.arg(root).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        chroot
    };
    if !works(chroot().args(["/bin/bash", "-c", "true"])) {
        return Ok(false);
    }
    let ranks = |count: usize, what: &str| -> Command {
        let mut started = chroot();
        started.args(["/bin/bash", "-c"]).arg(format!(
            "PATH=/bin; . /mpi/env.sh; exec mpirun --oversubscribe --allow-run-as-root -n {count} /ranks {what}"
        ));
        started.env("TIDA_DEVICE", "cpu").env("TIDA_RANKS_TIMEOUT", "60");
        started.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
        started
    };
    run(&mut ranks(3, "bits 2"))?;
    shell::fails(&mut ranks(3, "fails panic"), "on purpose")?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_in_what_programs_say() {
        let said = "path:prefix:/usr\npath:bindir:/usr/bin\npath:pkglibdir:/usr/lib/openmpi3\n";
        assert_eq!(path_of(said, "bindir").unwrap(), Path::new("/usr/bin"));
        assert!(path_of(said, "libdir").unwrap_err().contains("no libdir"));
        let said = "\tlinux-vdso.so.1 (0x00007ffc)\n\tlibopen-pal.so.40 => /lib/x/libopen-pal.so.40 (0x00007f)\n\
                    \tlibc.so.6 => /lib/x/libc.so.6 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        assert_eq!(loaded(said).into_iter().collect::<Vec<_>>(), [Path::new("/lib/x/libopen-pal.so.40")]);
    }

    #[test]
    fn modules_for_networks_and_files_are_left_out() {
        let wanted = |name: &str| is_wanted(&Path::new("/m").join(name));
        assert!(
            ["mca_btl_vader.so", "mca_pml_ob1.so", "mca_pmix_ext3x.so", "mca_io_base.txt"].map(wanted)[..3]
                .iter()
                .all(|wanted| *wanted)
        );
        assert!(
            !["mca_btl_openib.so", "mca_mtl_psm2.so", "mca_io_ompio.so", "mca_fs_ufs.so", "mca_pml_ob1.la"]
                .map(wanted)
                .contains(&true)
        );
    }
}
