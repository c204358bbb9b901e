//! `cargo xtask bench`: tida against references written by hand.
//!
//! `cpu`: the heat sweep against the same sweep in C with OpenMP, and programs as users write them (`programs`). Each
//! measurement is one process; the two sides take turns, so that a machine that grows slower or faster meanwhile slows
//! both. What counts is the median of the ratios of the pairs.
//!
//! `gpu`: runs `benches/gpu`, which measures both sides in one process.
//!
//! `ooc`: runs its other set of cases: arrays larger than the memory that tida may use, and the figures of TiDA-acc.
//! The other side is programs of `benches/reference`, compiled here if there is nvcc.
//!
//! `micro`: runs its third set: micro-benchmarks of the GPU's memory. `gallery`: its fourth: the gallery's programs and
//! operations one by one.

mod programs;

use std::path::Path;
use std::process::Command;

use clap::Args;
use serde::Serialize;

use crate::Result;
use crate::shell::{command, read, root, run, target, works, write};

/// Flags of `cargo xtask bench cpu`.
#[derive(Args)]
pub struct Options {
    /// Pairs of measurements for each case
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Threads on both sides [default: one a core]
    #[arg(long)]
    threads: Option<usize>,
    /// How long each process of a program runs, in seconds
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Only `heat`, only `programs`, or the programs whose names start like this
    #[arg(long)]
    only: Option<String>,
}

/// Flags of `cargo xtask bench gpu`.
#[derive(Args)]
pub struct GpuOptions {
    /// Flags of the bench itself: `-- --help` lists them
    #[arg(last = true)]
    flags: Vec<String>,
}

/// Runs the bench on the GPU; it says itself what it lacks where there is none.
pub fn gpu(options: &GpuOptions) -> Result<()> {
    run(command("cargo bench --quiet --bench gpu --").args(&options.flags))
}

/// Runs the gallery's programs.
pub fn gallery(options: &GpuOptions) -> Result<()> {
    run(command("cargo bench --quiet --bench gpu -- --gallery").args(&options.flags))
}

/// Runs its micro-benchmarks.
pub fn micro(options: &GpuOptions) -> Result<()> {
    run(command("cargo bench --quiet --bench gpu -- --micro").args(&options.flags))
}

/// Compiles the programs to compare with, and runs the bench.
pub fn ooc(options: &GpuOptions) -> Result<()> {
    let mut bench = command("cargo bench --quiet --bench gpu -- --ooc");
    bench.args(&options.flags);
    if works(&mut command("nvcc --version")) {
        let folder = target().join("bench/references");
        run(command("bash benches/reference/compile.sh").arg(&folder))?;
        bench.env("TIDA_REFERENCES", &folder);
    } else if std::env::var_os("TIDA_REFERENCES").is_none() {
        println!("no nvcc: nothing to compare with; put CUDA's compiler on the PATH");
    }
    run(&mut bench)
}

/// One line of the table.
#[derive(Clone, Copy, Serialize)]
struct Case {
    dims: u32,
    size: u32,
    dtype: &'static str,
    regions: u32,
    steps: u32,
    /// Least median ratio that is good enough.
    #[serde(skip)]
    goal: f64,
}

const CASES: &[Case] = &[
    Case { dims: 3, size: 256, dtype: "f64", regions: 1, steps: 200, goal: 0.95 },
    Case { dims: 3, size: 256, dtype: "f64", regions: 8, steps: 200, goal: 0.90 },
    Case { dims: 3, size: 256, dtype: "f32", regions: 1, steps: 400, goal: 0.95 },
    Case { dims: 3, size: 384, dtype: "f64", regions: 1, steps: 50, goal: 1.50 },
    Case { dims: 2, size: 4096, dtype: "f64", regions: 1, steps: 200, goal: 0.95 },
    Case { dims: 2, size: 4096, dtype: "f32", regions: 1, steps: 400, goal: 0.95 },
    Case { dims: 2, size: 8192, dtype: "f64", regions: 1, steps: 50, goal: 2.00 },
];

/// What was measured for one case or row, in cells (or what it counts) per second.
#[derive(Serialize)]
struct Measured {
    case: String,
    /// Least median ratio that is good enough.
    goal: f64,
    tida: Vec<f64>,
    c: Vec<f64>,
    tida_median: f64,
    c_median: f64,
    ratio_median: f64,
    ratio_min: f64,
    ratio_max: f64,
}

/// A case of heat, and what was measured.
#[derive(Serialize)]
struct Heat {
    #[serde(flatten)]
    flags: Case,
    #[serde(flatten)]
    measured: Measured,
}

/// What is written to `target/bench/cpu.json`.
#[derive(Serialize)]
struct Record {
    command: String,
    threads: usize,
    pairs: u32,
    cases: Vec<Heat>,
    programs: Vec<programs::Found>,
}

/// Builds both sides, measures every case, prints the table and writes it down.
pub fn cpu(options: &Options) -> Result<()> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.unwrap_or_else(cores);
    let only = options.only.as_deref().unwrap_or_default();
    let rows = programs::named(only);
    if rows.is_empty() && !"heat".starts_with(only) {
        return Err(format!("tried to measure {only}; found no such row; the rows are {}", programs::names()));
    }
    let folder = target().join("bench");
    std::fs::create_dir_all(&folder).map_err(|e| format!("tried to create {}; found: {e}", folder.display()))?;

    let cases = if "heat".starts_with(only) { heat(options.pairs, threads, &folder)? } else { Vec::new() };
    let programs = programs::measure(&rows, options, threads, &folder)?;

    let path = folder.join("cpu.json");
    let mut command = format!("cargo xtask bench cpu --pairs {} --threads {threads}", options.pairs);
    if options.seconds != 1.0 {
        command += &format!(" --seconds {}", options.seconds);
    }
    if !only.is_empty() {
        command += &format!(" --only {only}");
    }
    let record = Record { command, threads, pairs: options.pairs, cases, programs };
    let text = serde_json::to_string_pretty(&record).map_err(|e| e.to_string())?;
    write(&path, text)?;
    println!("written to {}", path.strip_prefix(root()).unwrap_or(&path).display());
    Ok(())
}

/// Measures the heat sweep.
fn heat(pairs: u32, threads: usize, folder: &Path) -> Result<Vec<Heat>> {
    let reference = folder.join("heat_omp");
    run(command("gcc -O3 -march=native -fopenmp benches/reference/heat_omp.c -o").arg(&reference))?;
    run(&mut command("cargo build --release --quiet --example heat"))?;
    let heat = target().join("release/examples/heat");

    println!("heat, cells per second with {threads} threads, {pairs} pairs; the ratio is tida / C");
    println!("{}", heading("case"));
    let mut cases = Vec::new();
    for case in CASES {
        let tida = || tida_once(Command::new(&heat), case, threads);
        let c = || c_once(Command::new(&reference), case, threads);
        let Case { dims, size, dtype, regions, goal, .. } = case;
        let name = format!("{dims}-D {size} {dtype} regions {regions}");
        let measured = Measured::in_turn(name, *goal, pairs, tida, c)?;
        println!("{measured}");
        cases.push(Heat { flags: *case, measured });
    }
    Ok(cases)
}

/// The line above a table.
fn heading(what: &str) -> String {
    format!("{what:<24} {:>10} {:>10} {:>7} {:>7} {:>7} {:>6}", "tida", "C", "ratio", "min", "max", "goal")
}

fn tida_once(mut heat: Command, case: &Case, threads: usize) -> Result<f64> {
    let Case { dims, size, dtype, regions, steps, .. } = case;
    let flags = format!(
        "--size {size} --steps {steps} --dims {dims} --dtype {dtype} --regions {regions} --threads {threads} \
         --device cpu --boundary fixed --json"
    );
    let text = read(heat.args(flags.split_whitespace()))?;
    let object: serde_json::Value = serde_json::from_str(&text).map_err(|e| format!("heat --json: {e}: {text}"))?;
    object["cells_per_second"].as_f64().ok_or_else(|| format!("heat --json has no cells_per_second: {text}"))
}

fn c_once(mut reference: Command, case: &Case, threads: usize) -> Result<f64> {
    let Case { dims, size, dtype, steps, .. } = case;
    let arguments = format!("{size} {steps} {dims} {dtype} 1");
    let text = read(reference.args(arguments.split_whitespace()).env("OMP_NUM_THREADS", threads.to_string()))?;
    text.trim().parse().map_err(|e| format!("heat_omp {arguments} printed {text:?}: {e}"))
}

impl Measured {
    /// Both sides so many times, in turn.
    fn in_turn(
        case: String,
        goal: f64,
        pairs: u32,
        mut tida_once: impl FnMut() -> Result<f64>,
        mut c_once: impl FnMut() -> Result<f64>,
    ) -> Result<Measured> {
        let (mut tida, mut c) = (Vec::new(), Vec::new());
        for _ in 0..pairs {
            tida.push(tida_once()?);
            c.push(c_once()?);
        }
        Ok(Measured::new(case, goal, tida, c))
    }

    fn new(case: String, goal: f64, tida: Vec<f64>, c: Vec<f64>) -> Measured {
        let ratios: Vec<f64> = tida.iter().zip(&c).map(|(a, b)| a / b).collect();
        Measured {
            case,
            goal,
            tida_median: median(&tida),
            c_median: median(&c),
            ratio_median: median(&ratios),
            ratio_min: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            ratio_max: ratios.iter().copied().fold(0.0, f64::max),
            tida,
            c,
        }
    }
}

impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Measured { case, goal, tida_median, c_median, ratio_median, ratio_min, ratio_max, .. } = self;
        let verdict = if ratio_median >= goal { "met" } else { "missed" };
        write!(
            f,
            "{case:<24} {tida_median:>10.3e} {c_median:>10.3e} {ratio_median:>7.3} {ratio_min:>7.3} {ratio_max:>7.3} \
             {goal:>6.2} {verdict}"
        )
    }
}

/// The middle value, or the mean of the middle two.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    match n {
        0 => f64::NAN,
        _ => (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn the_ratio_is_the_median_of_the_pairs_not_of_the_sides() {
        let measured = Measured::new("a".into(), 1.0, vec![1.0, 4.0, 9.0], vec![2.0, 2.0, 3.0]);
        assert_eq!((measured.ratio_min, measured.ratio_median, measured.ratio_max), (0.5, 2.0, 3.0));
        assert_eq!((measured.tida_median, measured.c_median), (4.0, 2.0));
    }
}
