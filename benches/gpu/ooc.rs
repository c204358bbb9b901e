//! Arrays larger than the memory that tida may use, against pipelines written by hand.
//!
//! The references are `benches/reference/{skew,ooc}.cu`, whole programs: `run.sh` compiles them with nvcc, and each side
//! runs in turn.

use std::process::Command;
use std::time::Instant;

use tida::Math;
use tida::prelude::*;
use tida_suite::Result;

use crate::Bench;
use crate::heat::{Cell, noise};
use crate::measure::{Output, Row, Work, median};

/// Steps of a run.
const STEPS: usize = 200;
/// Regions of an array.
const REGIONS: usize = 16;

/// An accelerator that may use this part of the memory of two arrays.
fn limited(bench: &Bench, n: usize, part: Option<f64>, look_ahead: usize) -> Result<TileAcc> {
    let builder = TileAcc::builder().device(bench.device).math(Math::Exact).look_ahead(look_ahead);
    Ok(match part {
        Some(part) => builder.memory_limit((part * 2.0 * (n * n * n) as f64 * 8.0) as u64).build()?,
        None => builder.build()?,
    })
}

struct Pair {
    acc: TileAcc,
    u: TileArray<f64, 3>,
    next: TileArray<f64, 3>,
}

impl Pair {
    fn new(acc: &TileAcc, n: usize, regions: usize, boundary: Boundary<f64>) -> Result<Pair> {
        let builder = TileArray::<f64, 3>::builder([n; 3]).regions([regions, 1, 1]).ghost(1).boundary(boundary);
        let mut u = builder.build(acc)?;
        u.fill(|[k, j, i]| noise((k * n + j) * n + i))?;
        let mut next = u.like()?;
        next.fill_value(0.0)?;
        Ok(Pair { acc: acc.clone(), u, next })
    }

    /// Seconds of so many steps, from values on the host to values on the host or wherever the library keeps them.
    fn run(&mut self, steps: usize) -> Result<f64> {
        self.acc.sync()?;
        let start = Instant::now();
        for _ in 0..steps {
            self.u.fill_ghosts()?;
            f64::step3(&self.u, &mut self.next)?;
            std::mem::swap(&mut self.u, &mut self.next);
        }
        self.acc.sync()?;
        Ok(start.elapsed().as_secs_f64())
    }
}

/// Numbers that a reference prints after a word, such as `skewed, .. : 175.0 Gcell-steps/s`.
fn reference(name: &str, arguments: &[String], line: &str, before: &str) -> Result<Vec<f64>> {
    let Some(folder) = std::env::var_os("TIDA_REFERENCES") else { return Ok(Vec::new()) };
    let program = std::path::Path::new(&folder).join(name);
    let output = Command::new(&program)
        .args(arguments)
        .output()
        .map_err(|e| format!("tried to run {}; found: {e}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let values = text.lines().filter(|found| found.contains(line)).filter_map(|found| {
        println!("    {found}");
        let end = found.find(before)?;
        found[..end].split([' ', ',']).rfind(|word| !word.is_empty())?.parse().ok()
    });
    Ok(values.collect())
}

fn best(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

/// Heat over many steps: the window follows the steps (`skew.cu`).
pub fn skewed(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = bench.large;
    let cells = n * n * n * STEPS;
    let rounds = 3.min(bench.effort.rounds);
    let mut whole = None;
    let mut in_core = 0.0;
    for (name, part, boundary) in [
        ("all of the arrays", None, Boundary::Fixed(0.5)),
        ("a quarter", Some(0.25), Boundary::Fixed(0.5)),
        ("an eighth", Some(0.125), Boundary::Fixed(0.5)),
    ] {
        let acc = limited(bench, n, part, 256)?;
        let mut pair = Pair::new(&acc, n, if part.is_none() { 1 } else { REGIONS }, boundary)?;
        let mut seconds = Vec::new();
        let mut theirs = Vec::new();
        for round in 0..=rounds {
            seconds.push(pair.run(STEPS)?);
            // It takes the best of several runs and forms by itself: once is enough.
            if let (Some(part), 1) = (part, round) {
                let arguments = [n.to_string(), part.to_string(), STEPS.to_string()];
                let found = reference("skew", &arguments, "skewed,", "Gcell-steps/s")?;
                theirs.extend(best(&found).map(|gcells| cells as f64 / gcells / 1e9));
            }
        }
        println!("    {}", acc.stats());
        seconds.remove(0);
        let (u, _) = (pair.u.to_ndarray()?, drop(pair.next));
        let same = whole.as_ref().is_none_or(|whole| *whole == u);
        let case = format!("heat {n}^3 f64, {STEPS} steps, memory for {name}");
        let check = output.checked(&case, same, if same { "same bits".into() } else { "other bits".into() });
        let work = Work { case: case.clone(), check, cells, bytes: 0 };
        let theirs: Option<Vec<f64>> = theirs.first().map(|best| vec![*best; seconds.len()]);
        let row = Row::new(&work, &seconds, theirs.as_ref().map(|theirs| ("skew.cu", &theirs[..])));
        output.row(&row)?;
        if part.is_none() {
            in_core = median(&seconds);
        } else {
            output.figure(&format!("{case}: of in-core"), in_core / median(&seconds), "x")?;
        }
        whole.get_or_insert(u);
    }
    Ok(())
}

/// Heat with one step a pass over the link (`ooc.cu`).
pub fn streamed(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = bench.large;
    let acc = limited(bench, n, Some(0.25), 1)?;
    let mut pair = Pair::new(&acc, n, REGIONS, Boundary::Fixed(0.5))?;
    let (mut seconds, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..=3.min(bench.effort.rounds) {
        seconds.push(pair.run(4)? / 4.0);
        if round != 1 {
            continue;
        }
        let found = reference("ooc", &[], "fused 1:", "GB/s")?;
        theirs.extend(best(&found).map(|gbytes| 2.0 * 8.0 * (1u64 << 30) as f64 / gbytes / 1e9));
    }
    println!("    {}", acc.stats());
    let cells = n * n * n;
    let work = Work {
        case: format!("heat {n}^3 f64, one step a pass"),
        check: "checked with the others".into(),
        cells,
        bytes: 16 * cells,
    };
    let seconds = &seconds[1..];
    let theirs: Option<Vec<f64>> = theirs.first().map(|best| vec![*best; seconds.len()]);
    let row = Row::new(&work, seconds, theirs.as_ref().map(|theirs| ("ooc.cu", &theirs[..])));
    output.row(&row)
}
