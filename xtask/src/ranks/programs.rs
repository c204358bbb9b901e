//! Examples and programs of the gallery on ranks: what they print and write is what one process does.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::Value;

use super::mpirun_of;
use crate::Result;
use crate::shell::{command, root, run, target};
use crate::smoke::{RUNS, program_of};

/// Those that the checks run, with the number of ranks: one of each kind of call.
const FEW: [(&str, &str, usize); 8] = [
    ("lbm", "--size 12 --steps 10 --regions 3 --storage scaled", 3),
    ("gallery", "adi --small --regions 3x2", 2),
    ("gallery", "backprop --small --regions 3", 3),
    ("gallery", "bfs --small --regions 3", 2),
    ("gallery", "cylinder --small --regions 3", 2),
    ("gallery", "multigrid_red_black --small --regions 2x2x1", 3),
    ("gallery", "needleman_wunsch --small --regions 3x2", 5),
    ("gallery", "ring --small --regions 3", 3),
];

/// Longest that one run takes, where ranks have no core of their own.
const LONGEST: Duration = Duration::from_secs(60);

/// Flags of `cargo xtask ranks-programs`.
#[derive(Args)]
pub struct Options {
    /// Numbers of ranks
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 3, 5, 8])]
    ranks: Vec<usize>,
    /// One program alone, such as heat or gemm
    #[arg(long, value_name = "PROGRAM")]
    only: Option<String>,
}

/// Some of the programs, which are built.
pub fn some() -> Result<()> {
    FEW.iter().try_for_each(|(example, flags, ranks)| {
        let alone = start(example, flags, None)?;
        compare(example, flags, *ranks, &alone)
    })
}

/// Builds all and runs each small, as one process and on ranks.
pub fn all(options: &Options) -> Result<()> {
    run(command("cargo build --quiet --package tida-suite --examples --features mpi").current_dir(root()))?;
    let (mut same, mut wrong) = (0, Vec::new());
    for (example, flags) in RUNS {
        let name = program_of(example, flags);
        if options.only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        let alone = start(example, flags, None)?;
        for ranks in &options.ranks {
            match compare(example, flags, *ranks, &alone) {
                Ok(()) => same += 1,
                Err(error) => {
                    println!("{error}");
                    wrong.push(format!("{name} on {ranks}"));
                }
            }
        }
    }
    println!("{same} runs on ranks print and write what one process does");
    match wrong.as_slice() {
        [] if same == 0 => Err("tried to run programs on ranks; found none to run; see --only and --ranks".into()),
        [] => Ok(()),
        wrong => Err(format!("{} runs do not: {}", wrong.len(), wrong.join(", "))),
    }
}

/// What a run says and writes.
struct Found {
    /// The report, without what differs from run to run.
    report: Value,
    array: Vec<u8>,
    picture: Vec<u8>,
    seconds: f64,
}

fn compare(example: &str, flags: &str, ranks: usize, alone: &Found) -> Result<()> {
    let found = start(example, flags, Some(ranks))?;
    let said = format!("{example} {flags} on {ranks} ranks");
    let differs = |what: &str| Err(format!("{said}: {what} is not that of one process"));
    if found.report != alone.report {
        return Err(format!("{said}: the report is {}, that of one process {}", found.report, alone.report));
    }
    if found.array != alone.array {
        return differs("the array that it writes");
    }
    if found.picture != alone.picture {
        return differs("its picture");
    }
    println!("   {said}: as one process, {:.1} s", found.seconds);
    Ok(())
}

/// Runs a program on the CPU, compared with plain loops, on ranks or as a process alone.
fn start(example: &str, flags: &str, ranks: Option<usize>) -> Result<Found> {
    let folder = target().join("tmp/ranks-programs");
    std::fs::create_dir_all(&folder).map_err(|e| format!("tried to make {}; {e}", folder.display()))?;
    let files = ["npy", "png"].map(|ending| folder.join(format!("found.{ending}")));
    for file in &files {
        let _ = std::fs::remove_file(file);
    }
    let program = target().join("debug/examples").join(example);
    let mut program = ranks.map_or_else(|| std::process::Command::new(&program), |ranks| mpirun_of(ranks, &program));
    program.args(flags.split_whitespace()).args("--device cpu --verify --json --output".split(' '));
    program.arg(&files[0]).arg("--png").arg(&files[1]).current_dir(root());
    program.env("TIDA_THREADS", "1").env("TIDA_RANKS", if ranks.is_some() { "mpi" } else { "off" });
    program.env("TIDA_RANKS_TIMEOUT", LONGEST.as_secs().to_string());
    let begun = Instant::now();
    let output = program.stdin(Stdio::null()).output().map_err(|e| format!("tried to run {example}; found: {e}"))?;
    let seconds = begun.elapsed().as_secs_f64();
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let said =
        ranks.map_or_else(|| format!("{example} {flags}"), |ranks| format!("{example} {flags} on {ranks} ranks"));
    if !output.status.success() {
        return Err(format!("{said} ended with {}\n{out}{err}", output.status));
    }
    // One line: one of the ranks tells.
    let mut report =
        serde_json::from_str::<Value>(&out).map_err(|e| format!("{said} printed no report ({e}): {out}"))?;
    let fields = report.as_object_mut().ok_or_else(|| format!("{said} printed no object: {out}"))?;
    // Ranks cut arrays into more regions than a program asks for.
    for changing in ["cells_per_second", "seconds", "regions"] {
        fields.remove(changing);
    }
    let [array, picture] = [read(&files[0])?, read(&files[1])?];
    Ok(Found { report, array, picture, seconds })
}

fn read(file: &Path) -> Result<Vec<u8>> {
    std::fs::read(file).map_err(|e| format!("tried to read {}, which a program writes; {e}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_are_named_are_there() {
        let known = |name: &str| RUNS.iter().any(|(example, flags)| program_of(example, flags) == name);
        assert!(FEW.iter().all(|(example, flags, _)| known(program_of(example, flags))));
    }
}
