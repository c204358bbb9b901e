//! `cargo xtask bench`: tida against references written by hand.
//!
//! `cpu`: the heat sweep against the same sweep in C with OpenMP. Each measurement is one process that runs the sweeps once; the two sides take turns, so that a machine that
//! grows slower or faster meanwhile slows both. What counts is the median of the ratios of the pairs.
//!
//! `gpu`: runs `benches/gpu`, which measures both sides in one process.
//!
//! `ooc`: runs its other set of cases: arrays larger than the memory that tida may use, and the figures of TiDA-acc. The other
//! side is programs of `benches/reference`, compiled here if there is nvcc.
//!
//! `micro`: runs its third set: micro-benchmarks of the GPU's memory. `gallery`: its fourth: the gallery's programs and operations
//! one by one.

use std::process::Command;

use clap::Args;
use serde::Serialize;

use crate::Result;
use crate::shell::{command, read, root, run, target, works};

/// Flags of `cargo xtask bench cpu`.
#[derive(Args)]
pub struct Options {
    /// Pairs of measurements for each case
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Threads on both sides [default: one a core]
    #[arg(long)]
    threads: Option<usize>,
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

/// What was measured for one case, in cells per second.
#[derive(Serialize)]
struct Measured {
    case: String,
    #[serde(flatten)]
    flags: Case,
    tida: Vec<f64>,
    c: Vec<f64>,
    tida_median: f64,
    c_median: f64,
    ratio_median: f64,
    ratio_min: f64,
    ratio_max: f64,
}

/// What is written to `target/bench/cpu.json`.
#[derive(Serialize)]
struct Record {
    command: String,
    threads: usize,
    pairs: u32,
    cases: Vec<Measured>,
}

/// Builds both sides, measures every case, prints the table and writes it down.
pub fn cpu(options: &Options) -> Result<()> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.unwrap_or_else(cores);
    let folder = target().join("bench");
    std::fs::create_dir_all(&folder).map_err(|e| format!("tried to create {}; found: {e}", folder.display()))?;
    let reference = folder.join("heat_omp");
    run(command("gcc -O3 -march=native -fopenmp benches/reference/heat_omp.c -o").arg(&reference))?;
    run(&mut command("cargo build --release --quiet --example heat"))?;
    let heat = target().join("release/examples/heat");

    println!("heat, cells per second with {threads} threads, {} pairs; the ratio is tida / C", options.pairs);
    println!("{:<24} {:>10} {:>10} {:>7} {:>7} {:>7} {:>6}", "case", "tida", "C", "ratio", "min", "max", "goal");
    let mut cases = Vec::new();
    for case in CASES {
        let mut tida = Vec::new();
        let mut c = Vec::new();
        for _ in 0..options.pairs {
            tida.push(tida_once(Command::new(&heat), case, threads)?);
            c.push(c_once(Command::new(&reference), case, threads)?);
        }
        let measured = Measured::new(*case, tida, c);
        println!("{measured}");
        cases.push(measured);
    }

    let path = folder.join("cpu.json");
    let line = format!("cargo xtask bench cpu --pairs {} --threads {threads}", options.pairs);
    let record = Record { command: line, threads, pairs: options.pairs, cases };
    let text = serde_json::to_string_pretty(&record).map_err(|e| e.to_string())?;
    std::fs::write(&path, text).map_err(|e| format!("tried to write {}; found: {e}", path.display()))?;
    println!("written to {}", path.strip_prefix(root()).unwrap_or(&path).display());
    Ok(())
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
    fn new(flags: Case, tida: Vec<f64>, c: Vec<f64>) -> Measured {
        let ratios: Vec<f64> = tida.iter().zip(&c).map(|(a, b)| a / b).collect();
        let Case { dims, size, dtype, regions, .. } = flags;
        Measured {
            case: format!("{dims}-D {size} {dtype} regions {regions}"),
            flags,
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
        let Measured { case, tida_median, c_median, ratio_median, ratio_min, ratio_max, .. } = self;
        let goal = self.flags.goal;
        let verdict = if *ratio_median >= goal { "met" } else { "missed" };
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
        let measured = Measured::new(CASES[0], vec![1.0, 4.0, 9.0], vec![2.0, 2.0, 3.0]);
        assert_eq!((measured.ratio_min, measured.ratio_median, measured.ratio_max), (0.5, 2.0, 3.0));
        assert_eq!((measured.tida_median, measured.c_median), (4.0, 2.0));
    }
}
