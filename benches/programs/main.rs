//! Programs as users write them. `cargo xtask bench cpu` runs each beside the same program in C
//! (`benches/reference/programs`).
//!
//! `programs ROW THREADS` runs a row and prints one line of JSON: the seconds of its fastest run, and some numbers made
//! from the result of its first, which those of C have to match. `programs ROW THREADS SECONDS` runs it for so long
//! instead of a second; `programs ROW THREADS 1 kernels` shows what tida found out about its kernels too.

mod colours;
mod conjugate;
mod dense;
mod euler;
mod flows;
mod grids;
mod lattice;
mod lines;
mod multigrid;
mod populations;
mod small;
mod stencils;
mod users;
mod walls;

use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Instant;

use tida::prelude::*;

type Run = fn(&TileAcc) -> tida::Result<Outcome>;

/// Every row, and the function that runs it.
const ROWS: &[(&str, Run)] = &[
    ("gemm", |acc| dense::gemm(acc, [1, 1])),
    ("gemm-2x2", |acc| dense::gemm(acc, [2, 2])),
    ("covariance", dense::covariance),
    ("2mm", dense::two_products),
    ("correlation", dense::correlation),
    ("prolong", |acc| grids::prolong(acc, [1; 3])),
    ("prolong-2x2", |acc| grids::prolong(acc, [2, 2, 1])),
    ("dot-128", |acc| grids::dots(acc, 128)),
    ("dot-256", |acc| grids::dots(acc, 256)),
    ("norm-128", |acc| grids::norms(acc, 128)),
    ("norm-256", |acc| grids::norms(acc, 256)),
    ("polynomial", grids::polynomial),
    ("polynomial-fma", grids::polynomial_fma),
    ("cg", conjugate::gradients),
    ("thomas-0", lines::thomas::<0>),
    ("thomas-1", lines::thomas::<1>),
    ("thomas-2", lines::thomas::<2>),
    ("adi", lines::adi),
    ("sums-0", lines::sums::<0>),
    ("sums-1", lines::sums::<1>),
    ("scan-rows", |acc| lines::scans(acc, 2048)),
    ("scan-line", |acc| lines::scans(acc, 2048 * 2048)),
    ("sor-2d", colours::sor),
    ("sor-3d", colours::cube),
    ("lbm-f64", lattice::written_out::<f64>),
    ("lbm-f32", lattice::written_out::<f32>),
    ("lbm-table-f64", lattice::from_tables::<f64>),
    ("lbm-table-f32", lattice::from_tables::<f32>),
    ("lbm-nine-f64", populations::nine_arrays::<f64>),
    ("lbm-nine-f32", populations::nine_arrays::<f32>),
    ("lbm-cavity", walls::cavity),
    ("lbm-solid", walls::solid),
    ("shallow", flows::shallow_water),
    ("gray-scott", flows::gray_scott),
    ("euler-faces", euler::by_faces),
    ("euler-one", euler::in_one_kernel),
    ("multigrid-3d", multigrid::cube_written_out),
    ("multigrid-3d-loops", multigrid::cube_by_loops),
    ("multigrid-2d", multigrid::square_written_out),
    ("multigrid-2d-loops", multigrid::square_by_loops),
    ("small-64", |acc| small::jacobi(acc, 64)),
    ("small-128", |acc| small::jacobi(acc, 128)),
    ("jacobi-2d", stencils::jacobi),
    ("heat-3d", |acc| stencils::heat(acc, 256)),
    ("heat-3d-640", |acc| stencils::heat(acc, 640)),
    ("fdtd-2d", stencils::fdtd),
    ("material", users::material),
    ("maxwell", users::maxwell),
    ("taps", users::taps),
    ("windows", users::windows),
    ("escape", users::escape),
    ("automaton-u8", users::automaton_u8),
    ("automaton-i32", users::automaton_i32),
    ("star-2-f64", stencils::star::<f64, 2>),
    ("star-2-f32", stencils::star::<f32, 2>),
    ("star-4-f64", stencils::star::<f64, 4>),
    ("star-4-f32", stencils::star::<f32, 4>),
];

/// What a row prints.
#[derive(Debug)]
pub struct Outcome {
    /// Of the fastest run.
    seconds: f64,
    /// Made from the result of the first run.
    check: [f64; 5],
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [row, threads, more @ ..] = &words[..] else {
        let names: Vec<&str> = ROWS.iter().map(|(name, _)| *name).collect();
        println!("programs ROW THREADS [SECONDS [kernels]]; the rows are {}", names.join(", "));
        return ExitCode::SUCCESS;
    };
    match run(row, threads, more.first()) {
        Ok(Outcome { seconds, check }) => {
            if more.get(1).is_some_and(|word| word == "kernels") {
                tida::kernels().iter().for_each(|kernel| println!("{kernel}"));
            }
            println!("{{\"seconds\": {seconds:e}, \"check\": {check:?}}}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("programs {row}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// How long a program runs, in seconds.
static SECONDS: OnceLock<f64> = OnceLock::new();

fn run(row: &str, threads: &str, seconds: Option<&String>) -> Result<Outcome, Box<dyn std::error::Error>> {
    if let Some(seconds) = seconds {
        let seconds = seconds.parse()?;
        SECONDS.get_or_init(|| seconds);
    }
    let (_, run) = ROWS.iter().find(|(name, _)| *name == row).ok_or("there is no such row")?;
    let acc = TileAcc::builder().device(Device::Cpu).threads(threads.parse()?).build()?;
    Ok(run(&acc)?)
}

/// Runs a program on its state once, and takes its result; then runs it for [`SECONDS`], three times at least. A run
/// ends when all that it recorded has run.
pub fn measured<S>(
    acc: &TileAcc,
    mut state: S,
    run: impl Fn(&mut S) -> tida::Result<()>,
    result: impl FnOnce(&S) -> tida::Result<Vec<f64>>,
) -> tida::Result<Outcome> {
    run(&mut state)?;
    let check = checked(&result(&state)?);
    let (mut best, mut runs, begin) = (f64::INFINITY, 0, Instant::now());
    let seconds = SECONDS.get().copied().unwrap_or(1.0);
    while runs < 3 || begin.elapsed().as_secs_f64() < seconds {
        let clock = Instant::now();
        run(&mut state)?;
        acc.sync()?;
        best = best.min(clock.elapsed().as_secs_f64());
        runs += 1;
    }
    Ok(Outcome { seconds: best, check })
}

/// The mean size of the values, their mean by weights that tell places apart, and three of them.
fn checked(values: &[f64]) -> [f64; 5] {
    let n = values.len();
    let size: f64 = values.iter().map(|x| x.abs()).sum();
    let weighted: f64 = values.iter().enumerate().map(|(i, x)| x * random(i)).sum();
    [size / n as f64, weighted / n as f64, values[n / 3], values[n / 2], values[n - 1]]
}

/// A number in `0..1` for each place, the same in C.
pub fn random(place: usize) -> f64 {
    (place as u64 * 2_654_435_761 % 1000) as f64 * 1e-3
}

/// All values of an array.
pub fn values<const D: usize>(u: &TileArray<f64, D>) -> tida::Result<Vec<f64>> {
    u.read_box(u.domain())
}
