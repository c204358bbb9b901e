//! Programs on several ranks, over the MPI of this machine.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;

pub mod programs;

use crate::Result;
use crate::bundle::mpi;
use crate::shell::{command, root, run, target};

/// Numbers of ranks, and how many programs each runs.
const BITS: &[(usize, usize)] = &[(1, 3), (2, 6), (3, 6), (5, 3), (8, 3)];

/// How one rank of three fails, or all do at once, and what is said of it.
const FAILS: &[(&str, &str)] = &[
    ("error", "a domain of 0..[24, 64]"),
    ("panic", "on purpose"),
    ("kill", "rank 1"),
    ("exit", "non-zero"),
    ("skip", "rank 1 ended"),
    ("check", "ghost width 1"),
    ("fault", "an integer division by zero"),
    ("slow", "TIDA_RANKS_TIMEOUT"),
    ("early", "a domain of 0..[24, 64]"),
    ("all-error", "a domain of 0..[24, 64]"),
    ("all-panic", "on purpose"),
    ("all-kill", "signal"),
    ("all-exit", "non-zero"),
    ("all-differ", "different programs"),
    ("all-fault", "an integer division by zero"),
];

/// Some of these over MPICH, whose launcher has other words.
const FAILS_OF_MPICH: &[(&str, &str)] = &[
    ("error", "a domain of 0..[24, 64]"),
    ("kill", "BAD TERMINATION"),
    ("all-panic", "on purpose"),
    ("all-differ", "different programs"),
];

/// Longest that ranks take to end after a failure of one, with their start.
const ENDS: Duration = Duration::from_secs(10);

fn mpirun(ranks: usize, program: &str) -> std::process::Command {
    mpirun_of(ranks, &target().join("debug/examples").join(program))
}

fn mpirun_of(ranks: usize, program: &Path) -> std::process::Command {
    let mut mpirun = command("mpirun --oversubscribe --allow-run-as-root -n");
    mpirun.arg(ranks.to_string()).arg(program);
    // In containers a process may not read the memory of another.
    mpirun.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    mpirun
}

/// The launcher of MPICH, which loads its own library.
fn mpirun_of_mpich(ranks: usize) -> std::process::Command {
    let mut mpirun = command("mpirun.mpich -n");
    mpirun.arg(ranks.to_string()).arg(target().join("debug/examples/ranks"));
    mpirun
}

/// When a rank is killed that writes files with others: which one, and after how many milliseconds.
const KILLS: &[(usize, usize)] = &[(1, 250), (0, 350), (2, 450), (1, 600), (0, 900)];

/// Random programs on some numbers of ranks give the bits of one process, programs print and write what one process
/// does, files of three ranks are read by others, and failures of one rank end all.
pub fn test(features: &str) -> Result<()> {
    let mut build = command("cargo build --workspace --quiet");
    for example in ["ranks", "ranks_files", "heat", "lbm", "gallery"] {
        build.args(["--example", example]);
    }
    run(build.arg("--features").arg(features).current_dir(root()))?;
    for (ranks, programs) in BITS {
        run(mpirun(*ranks, "ranks").arg("bits").arg(programs.to_string()))?;
    }
    let heat = "--dims 2 --size 130 --steps 20 --regions 2x2 --boundary periodic --device cpu --verify --threads 1";
    run(mpirun(4, "heat").args(heat.split(' ')).env("TIDA_RANKS", "mpi"))?;
    programs::some()?;
    files()?;
    for (how, says) in FAILS {
        let time = fail_by(mpirun(3, "ranks"), how, says)?;
        println!("{how}: all ranks ended after {:.1} s", time.as_secs_f64());
    }
    over_mpich()?;
    by_carried_mpi()
}

/// The same program by the MPI that a bundle for other machines carries, where there is no other.
fn by_carried_mpi() -> Result<()> {
    let mpi = target().join("tmp/carried-mpi");
    let _ = std::fs::remove_dir_all(&mpi);
    mpi::carry(&mpi)?;
    match mpi::runs_alone(&mpi, &target().join("debug/examples/ranks"), &target().join("tmp/bare-root"))? {
        true => println!("ranks run by the MPI that a bundle carries, in a root without any other"),
        false => println!("a root of its own cannot be had here: the MPI that a bundle carries was not tried"),
    }
    Ok(())
}

/// The same program over MPICH: the library is found when it runs.
fn over_mpich() -> Result<()> {
    run(mpirun_of_mpich(3).args(["bits", "2"]))?;
    for (how, says) in FAILS_OF_MPICH {
        let time = fail_by(mpirun_of_mpich(3), how, says)?;
        println!("{how}, over MPICH: all ranks ended after {:.1} s", time.as_secs_f64());
    }
    Ok(())
}

/// Runs three ranks that fail; gives how long they took to end.
fn fail_by(mut ranks: std::process::Command, how: &str, says: &str) -> Result<Duration> {
    if how == "slow" {
        ranks.env("TIDA_RANKS_TIMEOUT", "2");
    }
    let start = Instant::now();
    let output = ranks.args(["fails", how]).output().map_err(|e| format!("tried to run mpirun; {e}"))?;
    // The launcher of MPICH says what ended on its standard output.
    let (time, text) = (start.elapsed(), [output.stderr, output.stdout].concat());
    let text = String::from_utf8_lossy(&text);
    if output.status.success() || time > ENDS || !text.contains(says) {
        return Err(format!(
            "ranks that fail ({how}) ended after {time:?} with {}, where they should within {ENDS:?}, with a \
             failure that says {says:?}:\n{text}",
            output.status
        ));
    }
    Ok(time)
}

/// Flags of `cargo xtask ranks-fail`.
#[derive(Args)]
pub struct Options {
    /// How often each kind of failure is tried
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// How many run at once [default: one for three cores]
    #[arg(long)]
    at_once: Option<usize>,
    /// Only failures of this kind
    #[arg(long)]
    only: Option<String>,
    /// The program that fails, where it is built already
    #[arg(long)]
    program: Option<PathBuf>,
}

/// Tries each kind of failure many times, prints how long the ranks took to end, and fails if some did not.
pub fn fail_often(options: &Options) -> Result<()> {
    if options.program.is_none() {
        run(command("cargo build --quiet --package tida-tests --example ranks --features mpi").current_dir(root()))?;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let at_once = options.at_once.unwrap_or(cores / 3).max(1);
    let kinds = FAILS.iter().filter(|(how, _)| options.only.as_deref().is_none_or(|only| only == *how));
    let mut wrong = 0;
    for (how, says) in kinds {
        let (next, found) = (AtomicU32::new(0), Mutex::new((Vec::new(), Vec::new())));
        std::thread::scope(|scope| {
            for _ in 0..at_once {
                scope.spawn(|| {
                    while next.fetch_add(1, Ordering::Relaxed) < options.runs {
                        let program = options.program.as_deref();
                        let ranks = program.map_or_else(|| mpirun(3, "ranks"), |program| mpirun_of(3, program));
                        let ended = fail_by(ranks, how, says);
                        let (times, errors) = &mut *found.lock().unwrap_or_else(PoisonError::into_inner);
                        match ended {
                            Ok(time) => times.push(time.as_secs_f64()),
                            Err(error) => errors.push(error),
                        }
                    }
                });
            }
        });
        let (mut times, errors) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        times.sort_by(f64::total_cmp);
        let middle = times.get(times.len() / 2).copied().unwrap_or_default();
        let most = times.last().copied().unwrap_or_default();
        println!(
            "{how}: {} of {} runs ended all ranks; median {middle:.1} s, most {most:.1} s",
            times.len(),
            options.runs
        );
        errors.iter().take(1).for_each(|error| println!("  {error}"));
        wrong += errors.len();
    }
    if wrong > 0 { Err(format!("{wrong} runs did not end as they should")) } else { Ok(()) }
}

/// Three ranks write a checkpoint and stores that five and one read; where one rank is killed, whole snapshots alone
/// count, and the next program goes on after them.
fn files() -> Result<()> {
    let folder = target().join("tmp/ranks-files");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|e| format!("tried to make {}; {e}", folder.display()))?;
    let of = |ranks: usize, what: &[&str]| {
        let mut program = mpirun(ranks, "ranks_files");
        program.arg(what[0]).arg(&folder).args(&what[1..]);
        program
    };
    let checkpoint = |ranks: usize, what: &str| {
        let mut program = mpirun(ranks, "ranks");
        program.arg(what).arg(folder.join("checkpoint.npz"));
        program
    };
    run(&mut checkpoint(3, "save"))?;
    [5, 1].into_iter().try_for_each(|ranks| run(&mut checkpoint(ranks, "restore")))?;
    run(&mut of(3, &["write", "10"]))?;
    [5, 1].into_iter().try_for_each(|ranks| run(&mut of(ranks, &["read"])))?;
    for (rank, time) in KILLS {
        let output = of(3, &["write", "1000000", &rank.to_string(), &time.to_string()]).output();
        let output = output.map_err(|e| format!("tried to run mpirun; {e}"))?;
        if output.status.success() {
            return Err(format!("ranks of which number {rank} was killed ended as if nothing was wrong"));
        }
        run(&mut of(2, &["read"]))?;
    }
    std::fs::remove_dir_all(&folder).map_err(|e| format!("tried to remove {}; {e}", folder.display()))
}
