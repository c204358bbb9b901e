//! Programs on several ranks, over the MPI of this machine.

use std::time::{Duration, Instant};

use crate::Result;
use crate::shell::{command, root, run, target};

/// Numbers of ranks, and how many programs each runs.
const BITS: &[(usize, usize)] = &[(1, 3), (2, 6), (3, 6), (5, 3), (8, 3)];

/// How one rank of three fails, and what is said of it.
const FAILS: &[(&str, &str)] = &[
    ("error", "a domain of 0..[24, 64]"),
    ("panic", "on purpose"),
    ("kill", "rank 1"),
    ("exit", "non-zero"),
    ("skip", "rank 1 ended"),
    ("check", "ghost width 1"),
    ("fault", "an integer division by zero"),
    ("slow", "TIDA_RANKS_TIMEOUT"),
];

/// Longest that ranks take to end after a failure of one, with their start.
const ENDS: Duration = Duration::from_secs(10);

fn mpirun(ranks: usize, program: &str) -> std::process::Command {
    let mut mpirun = command("mpirun --oversubscribe --allow-run-as-root -n");
    mpirun.arg(ranks.to_string()).arg(target().join("debug/examples").join(program));
    // In containers a process may not read the memory of another.
    mpirun.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    mpirun
}

/// When a rank is killed that writes files with others: which one, and after how many milliseconds.
const KILLS: &[(usize, usize)] = &[(1, 250), (0, 350), (2, 450), (1, 600), (0, 900)];

/// Random programs on some numbers of ranks give the bits of one process, an example runs as it is, files of three
/// ranks are read by others, and failures of one rank end all.
pub fn test(features: &str) -> Result<()> {
    let mut build =
        command("cargo build --workspace --quiet --example ranks --example heat --example ranks_files --features");
    run(build.arg(features).current_dir(root()))?;
    for (ranks, programs) in BITS {
        run(mpirun(*ranks, "ranks").arg("bits").arg(programs.to_string()))?;
    }
    let heat = "--dims 2 --size 130 --steps 20 --regions 2x2 --boundary periodic --device cpu --verify --threads 1";
    run(mpirun(4, "heat").args(heat.split(' ')).env("TIDA_RANKS", "mpi"))?;
    files()?;
    for (how, says) in FAILS {
        let mut ranks = mpirun(3, "ranks");
        if *how == "slow" {
            ranks.env("TIDA_RANKS_TIMEOUT", "2");
        }
        let start = Instant::now();
        let output = ranks.args(["fails", how]).output().map_err(|e| format!("tried to run mpirun; {e}"))?;
        let (seconds, text) = (start.elapsed(), String::from_utf8_lossy(&output.stderr));
        if output.status.success() || seconds > ENDS || !text.contains(says) {
            return Err(format!(
                "ranks of which one fails ({how}) ended after {seconds:?} with {}, where they should within {ENDS:?}, with \
                 a failure that says {says:?}:\n{text}",
                output.status
            ));
        }
        println!("{how}: all ranks ended after {:.1} s", seconds.as_secs_f64());
    }
    Ok(())
}

/// Three ranks write files that five and one read; where one rank is killed, whole snapshots alone count, and the next
/// program goes on after them.
fn files() -> Result<()> {
    let folder = target().join("tmp/ranks-files");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|e| format!("tried to make {}; {e}", folder.display()))?;
    let of = |ranks: usize, what: &[&str]| {
        let mut program = mpirun(ranks, "ranks_files");
        program.arg(what[0]).arg(&folder).args(&what[1..]);
        program
    };
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
