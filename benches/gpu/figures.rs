//! The figures of TiDA-acc (§II, §VI): from values on the host to values on the host, transfers included.
//!
//! A round writes all values on the host, which makes copies on the device old, and starts the clock; it ends when a
//! cell of every region was read on the host. Memory is allocated and pinned by a round before. The hand-written
//! programs (`benches/reference/{heat,sincos}_host.cu`) do the same: they run before tida, and time themselves.

use std::hint::black_box;
use std::time::Instant;

use tida::Math;
use tida::prelude::*;
use tida_suite::Result;
use tida_suite::oracle;

use crate::Bench;
use crate::cells::{ITERATIONS, sincos_step};
use crate::heat::{OUTSIDE, noise, plain, step3};
use crate::measure::{Output, Row, Work};
use crate::programs::{self, Run};

/// Regions of an array, as in the paper.
const REGIONS: usize = 16;
/// Most cells of results that are also compared with plain loops.
const PLAIN: usize = 64 * 64 * 64;
/// Recorded operations that may wait: more than a run has, where memory is limited.
const LOOK_AHEAD: usize = 256;

/// An array and what a step does with it.
struct Solver {
    u: TileArray<f64, 3>,
    /// What a step of heat writes; sincos works in place.
    next: Option<TileArray<f64, 3>>,
}

impl Solver {
    fn sincos(acc: &TileAcc, n: usize, regions: usize) -> Result<Solver> {
        let u = TileArray::<f64, 3>::builder([n; 3]).regions([regions.min(n / 2), 1, 1]).build(acc)?;
        Ok(Solver { u, next: None })
    }

    fn heat(acc: &TileAcc, n: usize, regions: usize) -> Result<Solver> {
        let builder = TileArray::<f64, 3>::builder([n; 3]).regions([regions.min(n / 2), 1, 1]).ghost(1);
        let u = builder.boundary(Boundary::Fixed(OUTSIDE)).build(acc)?;
        let mut next = u.like()?;
        next.fill_value(0.0)?;
        Ok(Solver { u, next: Some(next) })
    }

    /// Seconds of so many steps, from values on the host to values on the host.
    fn run(&mut self, steps: usize) -> Result<f64> {
        let [_, ny, nx] = self.u.shape();
        self.u.fill(|[k, j, i]| noise((k * ny + j) * nx + i))?;
        self.u.acc().sync()?;
        let start = Instant::now();
        for _ in 0..steps {
            let Some(next) = &mut self.next else {
                sincos_step(&mut self.u)?;
                continue;
            };
            self.u.fill_ghosts()?;
            step3(&self.u, next)?;
            std::mem::swap(&mut self.u, next);
        }
        for region in 0..self.u.regions() {
            self.u.with_region(region, |cells| black_box(cells.first().copied()))?;
        }
        Ok(start.elapsed().as_secs_f64())
    }

    /// The result of plain loops, where that does not take long.
    fn plain(&self, steps: usize) -> Option<Vec<f64>> {
        let shape = self.u.shape();
        let cells = shape.iter().product();
        if cells > PLAIN || steps > 100 {
            return None;
        }
        let start: Vec<f64> = (0..cells).map(noise).collect();
        Some(match self.next {
            Some(_) => plain(&shape, steps),
            None => oracle::sincos(&start, steps as u64, ITERATIONS),
        })
    }
}

/// What is known of a result.
struct Sums {
    checksum: String,
    sum: f64,
}

/// tida's side of a case: seconds of the rounds, and the result.
fn tida(bench: &Bench, solver: &mut Solver, steps: usize) -> Result<(Vec<f64>, Sums)> {
    let mut seconds = Vec::new();
    // The first round pins memory and compiles.
    for _ in 0..=bench.few() {
        seconds.push(solver.run(steps)?);
    }
    seconds.remove(0);
    let (checksum, sum) = programs::checksum(&solver.u)?;
    Ok((seconds, Sums { checksum, sum }))
}

/// One side by hand: its name in plots, and its runs.
struct ByHand {
    name: String,
    runs: Vec<Run>,
    /// Whether it has to give tida's bits.
    exact: bool,
}

fn steps_word(steps: usize) -> String {
    if steps == 1 { "1 step".into() } else { format!("{steps} steps") }
}

/// Rows and points of one case against each side by hand.
struct Case<'a> {
    plot: &'a str,
    /// tida's name in the plot.
    series: &'a str,
    what: String,
    n: usize,
    steps: usize,
    goal: Option<f64>,
}

impl Case<'_> {
    fn report(
        &self,
        output: &mut Output,
        (seconds, sums): &(Vec<f64>, Sums),
        plain: Option<Vec<f64>>,
        found: &[f64],
        by_hand: &[ByHand],
    ) -> Result<()> {
        let group = steps_word(self.steps);
        let case = format!("{}: {}, {group}", self.plot, self.what);
        let mut work = Work {
            case: case.clone(),
            check: "not compared".into(),
            cells: self.n.pow(3) * self.steps,
            bytes: 2 * 8 * self.n.pow(3),
        };
        if let Some(plain) = plain {
            let largest = tida_suite::oracle::max_abs_error(found, &plain);
            // Only sines and cosines are of another library.
            let right = largest <= if self.what.contains("sincos") { 1e-9 } else { 0.0 };
            let words = if largest == 0.0 { "same bits as plain loops" } else { "close to plain loops" };
            work.check = output.checked(&case, right, if right { words.into() } else { format!("off by {largest:e}") });
        }
        output.point((self.plot, &group, self.series), seconds, "s")?;
        let mut alone = true;
        for side in by_hand {
            let Some(run) = side.runs.iter().find(|run| run.steps == self.steps) else { continue };
            let same = run.checksum == sums.checksum;
            let relative = ((run.sum - sums.sum) / sums.sum).abs();
            let words = match (same, side.exact) {
                (true, _) => "same bits".to_owned(),
                (false, true) => "OTHER BITS".to_owned(),
                (false, false) => format!("its sum differs by {relative:.1e} of it"),
            };
            work.check = output.checked(&case, same || (!side.exact && relative < 1e-9), words);
            output.point((self.plot, &group, &side.name), &run.seconds, "s")?;
            let name = format!("{} ({})", side.name, run.form);
            let row = Row::new(&work, seconds, Some((&name, &run.seconds)));
            output.row(&Row { goal: self.goal, ..row })?;
            alone = false;
        }
        if alone { output.row(&Row::new(&work, seconds, None)) } else { Ok(()) }
    }
}

/// The valid values, where they are few enough to compare with plain loops.
fn small(u: &TileArray<f64, 3>) -> Result<Vec<f64>> {
    Ok(if u.domain().cells() <= PLAIN { u.read_box(u.domain())? } else { Vec::new() })
}

fn list(steps: &[usize]) -> String {
    steps.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// Heat by hand with these kinds of memory.
fn heat_by_hand(bench: &Bench, n: usize, steps: &[usize], kinds: &[&str]) -> Result<Vec<ByHand>> {
    let by_hand = kinds.iter().map(|kind| {
        let flags = format!("--memory {kind} --size {n} --steps {} --rounds {}", list(steps), bench.few());
        Ok(ByHand { name: format!("CUDA, {kind}"), runs: programs::timed("heat_host", &flags)?, exact: true })
    });
    by_hand.collect()
}

/// Figure 1: heat, 100 steps, by kind of the host's memory.
pub fn figure_1(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = bench.size * 3 / 4;
    heat(bench, output, "figure 1", n, &[100], &["pageable", "pinned", "managed"])
}

/// Figure 5: heat, few steps to many, transfers included.
pub fn figure_5(bench: &Bench, output: &mut Output) -> Result<()> {
    heat(bench, output, "figure 5", bench.size, &[1, 10, 100, 1000], &["pageable", "pinned"])
}

fn heat(bench: &Bench, output: &mut Output, plot: &str, n: usize, steps: &[usize], kinds: &[&str]) -> Result<()> {
    let by_hand = heat_by_hand(bench, n, steps, kinds)?;
    let acc = bench.accelerator(Math::Exact)?;
    let mut solver = Solver::heat(&acc, n, REGIONS)?;
    for &steps in steps {
        let found = tida(bench, &mut solver, steps)?;
        let goal = (plot == "figure 5").then_some(if steps < 1000 { 1.0 } else { 0.97 });
        let what = format!("heat f64 {n}^3");
        let case = Case { plot, series: "tida, 16 regions", what, n, steps, goal };
        case.report(output, &found, solver.plain(steps), &small(&solver.u)?, &by_hand)?;
    }
    println!("    {}", acc.stats());
    Ok(())
}

/// Figure 6: sincos, transfers included, by kind of the host's memory and with fast math.
pub fn figure_6(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = bench.size;
    let steps = [1, 10, 100];
    let flags = |kind: &str| {
        let (steps, rounds) = (list(&steps), bench.few());
        format!("--memory {kind} --size {n} --steps {steps} --rounds {rounds} --iterations {ITERATIONS}")
    };
    let by_hand = |kind: &str, program: &str, word: &str, exact: bool| -> Result<ByHand> {
        Ok(ByHand { name: format!("CUDA, {kind}{word}"), runs: programs::timed(program, &flags(kind))?, exact })
    };
    let exact = bench.device == tida::Device::Cuda;
    let plain = [by_hand("pageable", "sincos_host", "", exact)?, by_hand("pinned", "sincos_host", "", exact)?];
    let fast = [by_hand("pinned", "sincos_host_fast", ", fast math", false)?];
    for (math, word, by_hand) in [(Math::Exact, "", &plain[..]), (Math::Fast, ", fast math", &fast[..])] {
        let acc = bench.accelerator(math)?;
        let mut solver = Solver::sincos(&acc, n, REGIONS)?;
        for steps in steps {
            let found = tida(bench, &mut solver, steps)?;
            let series = format!("tida, 16 regions{word}");
            let what = format!("sincos f64 {n}^3 x{ITERATIONS}{word}");
            let case = Case { plot: "figure 6", series: &series, what, n, steps, goal: None };
            case.report(output, &found, solver.plain(steps), &small(&solver.u)?, by_hand)?;
        }
        println!("    {}", acc.stats());
    }
    Ok(())
}

/// Figure 8: sincos with memory for two of 16 regions, against all of them and against one region.
pub fn figure_8(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = bench.size;
    let all = 8 * n.pow(3) as u64;
    let builder = || {
        TileAcc::builder().device(bench.device).compile(tida::Compile::Wait).math(Math::Exact).look_ahead(LOOK_AHEAD)
    };
    let accs = [builder().build()?, builder().build()?, builder().memory_limit(2 * all / REGIONS as u64).build()?];
    let names = ["16 regions", "1 region", "16 regions, memory for two"];
    let mut solvers =
        [Solver::sincos(&accs[0], n, REGIONS)?, Solver::sincos(&accs[1], n, 1)?, Solver::sincos(&accs[2], n, REGIONS)?];
    for steps in [1, 10, 100] {
        // In turn, since the goal is a ratio of two of them.
        let mut seconds = [const { Vec::new() }; 3];
        for round in 0..=bench.few() {
            for (solver, seconds) in solvers.iter_mut().zip(&mut seconds) {
                let took = solver.run(steps)?;
                if round > 0 {
                    seconds.push(took);
                }
            }
        }
        let checksums = solvers.iter().map(|solver| programs::checksum(&solver.u)).collect::<Result<Vec<_>>>()?;
        let group = steps_word(steps);
        for (name, seconds) in names.iter().zip(&seconds) {
            output.point(("figure 8", &group, &format!("tida, {name}")), seconds, "s")?;
        }
        for (side, goal) in [(1, None), (2, Some(0.97))] {
            let case = format!("figure 8: sincos f64 {n}^3 x{ITERATIONS}, {group}, {}", names[side]);
            let same = checksums[side].0 == checksums[0].0;
            let check = output.checked(&case, same, if same { "same bits" } else { "OTHER BITS" }.into());
            let work = Work { case, check, cells: n.pow(3) * steps, bytes: 16 * n.pow(3) };
            let row = Row::new(&work, &seconds[side], Some(("tida, 16 regions", &seconds[0])));
            output.row(&Row { goal, ..row })?;
        }
    }
    println!("    memory for two: {}", accs[2].stats());
    Ok(())
}
