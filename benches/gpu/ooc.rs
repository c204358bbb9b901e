//! Arrays larger than the memory that tida may use, against pipelines written by hand.
//!
//! The references are `benches/reference/{skew,ooc}.cu`, whole programs that take the best of their forms: each runs
//! once, between tida's rounds.

use std::time::Instant;

use tida::prelude::*;
use tida::{Fuse, Math};
use tida_suite::Result;

use crate::Bench;
use crate::heat::{OUTSIDE, noise, step3};
use crate::measure::{Output, Row, Work, median};
use crate::programs;

/// Steps of a run.
const STEPS: usize = 200;
/// Regions of an array.
const REGIONS: usize = 16;
/// Times that tida is timed, at most.
const ROUNDS: usize = 3;
/// Recorded operations that may wait: more than the fills and sweeps of a run.
const LOOK_AHEAD: usize = 512;

/// An accelerator that may use this part of the memory of two arrays. Arrays that fit have one step a launch: the rate
/// that others are compared with.
fn limited(bench: &Bench, n: usize, part: Option<f64>, look_ahead: usize) -> Result<TileAcc> {
    let fuse = if part.is_none() { Fuse::Off } else { Fuse::Auto };
    limited_to(bench, n, part, look_ahead, fuse)
}

/// The same with so many steps a launch.
fn limited_to(bench: &Bench, n: usize, part: Option<f64>, look_ahead: usize, fuse: Fuse) -> Result<TileAcc> {
    let builder = TileAcc::builder()
        .device(bench.device)
        .compile(tida::Compile::Wait)
        .math(Math::Exact)
        .look_ahead(look_ahead)
        .fuse(fuse);
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
        Pair::kept(acc, n, regions, boundary, Format::Raw)
    }

    /// The same with values in a format.
    fn kept(acc: &TileAcc, n: usize, regions: usize, boundary: Boundary<f64>, format: Format) -> Result<Pair> {
        let random = |[k, j, i]: [usize; 3]| noise((k * n + j) * n + i);
        Pair::of(acc, n, regions, boundary, (format, Compress::Device), random)
    }

    /// The same with values of choice.
    fn of(
        acc: &TileAcc,
        n: usize,
        regions: usize,
        boundary: Boundary<f64>,
        (format, compress): (Format, Compress),
        values: impl Fn([usize; 3]) -> f64 + Sync,
    ) -> Result<Pair> {
        let builder = TileArray::<f64, 3>::builder([n; 3]).regions([regions, 1, 1]).ghost(1).boundary(boundary);
        let mut u = builder.storage(format).compress(compress).saturation(Saturation::Ignore).build(acc)?;
        u.fill(values)?;
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
            step3(&self.u, &mut self.next)?;
            std::mem::swap(&mut self.u, &mut self.next);
        }
        self.acc.sync()?;
        Ok(start.elapsed().as_secs_f64())
    }
}

fn best(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

/// Part of the arrays' memory, and the goals: of the speed of `skew.cu`, and of tida's own in core.
#[derive(Clone, Copy)]
struct Part {
    name: &'static str,
    part: Option<f64>,
    /// Of `skew.cu`, which has fixed boundaries.
    of_skew: Option<f64>,
    of_in_core: Option<f64>,
}

const WHOLE: Part = Part { name: "all of the arrays", part: None, of_skew: None, of_in_core: None };
const QUARTER: Part = Part { name: "a quarter", part: Some(0.25), of_skew: Some(0.97), of_in_core: Some(0.85) };
const EIGHTH: Part = Part { name: "an eighth", part: Some(0.125), of_skew: None, of_in_core: Some(0.8) };

/// Heat over many steps: the window follows the steps (`skew.cu`).
pub fn skewed(bench: &Bench, output: &mut Output) -> Result<()> {
    many(bench, output, "fixed", Boundary::Fixed(OUTSIDE), STEPS, &[WHOLE, QUARTER, EIGHTH])
}

/// The same with a periodic boundary, whose first planes need the last ones: they come and go twice.
pub fn periodic(bench: &Bench, output: &mut Output) -> Result<()> {
    let quarter = Part { of_skew: None, of_in_core: None, ..QUARTER };
    many(bench, output, "periodic", Boundary::Periodic, STEPS, &[WHOLE, quarter])
}

fn many(
    bench: &Bench,
    output: &mut Output,
    edge: &str,
    boundary: Boundary<f64>,
    steps: usize,
    parts: &[Part],
) -> Result<()> {
    let n = bench.large;
    let cells = n * n * n * steps;
    let gcells = |seconds: &[f64]| seconds.iter().map(|seconds| cells as f64 / seconds / 1e9).collect::<Vec<_>>();
    let mut whole = None;
    let mut in_core = 0.0;
    for &Part { name, part, of_skew, of_in_core } in parts {
        let acc = limited(bench, n, part, LOOK_AHEAD)?;
        let mut pair = Pair::new(&acc, n, if part.is_none() { 1 } else { REGIONS }, boundary)?;
        let mut seconds = Vec::new();
        let mut theirs = Vec::new();
        for round in 0..=ROUNDS.min(bench.effort.rounds) {
            seconds.push(pair.run(steps)?);
            if let (Some(part), 1, "fixed") = (part, round, edge) {
                let arguments = [n.to_string(), part.to_string(), steps.to_string()];
                let found = programs::numbers("skew", &arguments, "skewed,", "Gcell-steps/s")?;
                theirs.extend(best(&found));
            }
        }
        println!("    {}", acc.stats());
        seconds.remove(0);
        let (checksum, _) = programs::checksum(&pair.u)?;
        drop(pair);
        let same = whole.as_ref().is_none_or(|whole| *whole == checksum);
        let words = match (&whole, same) {
            (None, _) => "compared with the next",
            (_, true) => "same bits",
            (_, false) => "OTHER BITS",
        };
        let case = format!("heat {n}^3 f64, {edge}, {steps} steps, memory for {name}");
        let check = output.checked(&case, same, words.into());
        let work = Work { case: case.clone(), check, cells, bytes: 0 };
        let group = format!("{edge}, {name}");
        output.point(("many steps", &group, "tida"), &gcells(&seconds), "Gcell-steps/s")?;
        match theirs.first() {
            None => output.row(&Row::new(&work, &seconds, None))?,
            Some(&rate) => {
                output.point(("many steps", &group, "skew.cu"), &[rate], "Gcell-steps/s")?;
                let theirs = vec![cells as f64 / rate / 1e9; seconds.len()];
                let row = Row::new(&work, &seconds, Some(("skew.cu", &theirs)));
                output.row(&Row { goal: of_skew, ..row })?;
            }
        }
        match part {
            None => in_core = median(&seconds),
            Some(_) => {
                let ratio = in_core / median(&seconds);
                let goal = of_in_core.map_or(String::new(), |goal| format!(" (goal {goal})"));
                output.figure(&format!("{case}: of in-core{goal}"), ratio, "x")?;
            }
        }
        whole.get_or_insert(checksum);
    }
    Ok(())
}

/// Heat over many steps in a quarter of the arrays' memory, with several steps a launch and with one, beside one step a
/// launch on arrays that fit: in turns.
pub fn together(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = bench.large;
    let cells = n * n * n * STEPS;
    let ways = [
        ("all of the arrays, one step a launch", None, Fuse::Off),
        ("a quarter, one step a launch", QUARTER.part, Fuse::Off),
        ("a quarter, several steps a launch", QUARTER.part, Fuse::Auto),
    ];
    let regions = |part: Option<f64>| if part.is_none() { 1 } else { REGIONS };
    let mut pairs = Vec::new();
    for (_, part, fuse) in ways {
        let acc = limited_to(bench, n, part, LOOK_AHEAD, fuse)?;
        pairs.push(Pair::new(&acc, n, regions(part), Boundary::Fixed(OUTSIDE))?);
    }
    let mut seconds = vec![Vec::new(); ways.len()];
    for round in 0..=ROUNDS.min(bench.effort.rounds) {
        for (pair, seconds) in pairs.iter_mut().zip(&mut seconds) {
            let taken = pair.run(STEPS)?;
            // The first round compiles kernels and pins memory.
            seconds.extend(Some(taken).filter(|_| round > 0));
        }
    }
    let sums = pairs.iter().map(|pair| Ok(programs::checksum(&pair.u)?.0)).collect::<Result<Vec<_>>>()?;
    for (number, (way, _, fuse)) in ways.iter().enumerate() {
        println!("    {way}: {}", pairs[number].acc.stats());
        let same = sums[number] == sums[0];
        let case = format!("heat {n}^3 f64, {STEPS} steps, memory for {way}");
        let check = output.checked(&case, same, if same { "same bits" } else { "OTHER BITS" }.into());
        let work = Work { case: case.clone(), check, cells, bytes: 0 };
        let row = Row::new(&work, &seconds[number], (number > 0).then_some(("in core", &seconds[0])));
        output.row(&Row { goal: (*fuse == Fuse::Auto).then_some(1.0), ..row })?;
    }
    Ok(())
}

/// Heat with one step a pass over the link (`ooc.cu`).
pub fn streamed(bench: &Bench, output: &mut Output) -> Result<()> {
    let n = bench.large;
    let cells = n * n * n;
    let rounds = ROUNDS.min(bench.effort.rounds);
    let mut pair = Pair::new(&limited(bench, n, Some(0.25), 1)?, n, REGIONS, Boundary::Fixed(OUTSIDE))?;
    let (mut seconds, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        seconds.push(pair.run(4)? / 4.0);
        if round == 1 {
            // It has 1024^3 cells.
            let found = programs::numbers("ooc", &[], "fused 1:", "GB/s")?;
            theirs.extend(best(&found).map(|gbytes| 16.0 * cells as f64 / gbytes / 1e9));
        }
    }
    println!("    {}", pair.acc.stats());
    let found = programs::checksum(&pair.u)?.0;
    drop(pair);
    let mut whole = Pair::new(&limited(bench, n, None, LOOK_AHEAD)?, n, 1, Boundary::Fixed(OUTSIDE))?;
    whole.run(4 * (rounds + 1))?;
    let same = found == programs::checksum(&whole.u)?.0;
    drop(whole);

    let case = format!("heat {n}^3 f64, one step a pass");
    let check = output.checked(&case, same, if same { "same bits" } else { "OTHER BITS" }.into());
    let work = Work { case, check, cells, bytes: 16 * cells };
    let seconds = &seconds[1..];
    let gbytes = |seconds: &[f64]| seconds.iter().map(|s| 16.0 * cells as f64 / s / 1e9).collect::<Vec<_>>();
    output.point(("one step a pass", "both ways", "tida"), &gbytes(seconds), "GB/s")?;
    let Some(&best) = theirs.first() else { return output.row(&Row::new(&work, seconds, None)) };
    let theirs = vec![best; seconds.len()];
    output.point(("one step a pass", "both ways", "ooc.cu"), &gbytes(&theirs), "GB/s")?;
    let row = Row::new(&work, seconds, Some(("ooc.cu", &theirs)));
    output.row(&Row { goal: Some(0.98), ..row })
}

/// Heat with one step a pass over the link, raw and in half as many bits: in turns.
pub fn coded(bench: &Bench, output: &mut Output) -> Result<()> {
    const PASSES: usize = 4;
    let n = bench.large;
    let cells = n * n * n;
    let range = Format::Range { bits: 32, min: -1.0, max: 3.0 };
    let formats = [("raw", Format::Raw), ("f32", Format::F32), ("32 bits of a range", range)];
    let rounds = ROUNDS.min(bench.effort.rounds);
    let mut pairs = Vec::new();
    for (_, format) in formats {
        let acc = limited(bench, n, Some(0.125), 1)?;
        pairs.push(Pair::kept(&acc, n, REGIONS, Boundary::Fixed(OUTSIDE), format)?);
    }
    let mut seconds = vec![Vec::new(); formats.len()];
    for round in 0..=rounds {
        for (pair, seconds) in pairs.iter_mut().zip(&mut seconds) {
            let taken = pair.run(PASSES)? / PASSES as f64;
            seconds.extend(Some(taken).filter(|_| round > 0));
        }
    }
    for (number, (name, format)) in formats.into_iter().enumerate() {
        let pair = &pairs[number];
        println!("    {name}: {}", pair.acc.stats());
        let mut whole = Pair::kept(&limited(bench, n, None, LOOK_AHEAD)?, n, 1, Boundary::Fixed(OUTSIDE), format)?;
        whole.run(PASSES * (rounds + 1))?;
        let same = programs::checksum(&pair.u)?.0 == programs::checksum(&whole.u)?.0;
        let case = format!("heat {n}^3 f64, one step a pass, {name}");
        let check = output.checked(&case, same, if same { "same bits" } else { "OTHER BITS" }.into());
        let work = Work { case, check, cells, bytes: 16 * cells };
        let row = Row::new(&work, &seconds[number], (number > 0).then_some(("raw", &seconds[0])));
        output.row(&Row { goal: (number > 0).then_some(1.8), ..row })?;
    }
    Ok(())
}

/// Heat with one step a pass over the link, packed for the link alone: without loss, smooth values and random ones, and
/// as `f32`.
pub fn packed(bench: &Bench, output: &mut Output) -> Result<()> {
    const PASSES: usize = 4;
    let n = bench.large;
    let cells = n * n * n;
    let wave = |x: usize, waves: f64| (waves * std::f64::consts::TAU * x as f64 / n as f64).sin();
    let smooth = |[k, j, i]: [usize; 3]| 1.0 + 0.4 * wave(k, 1.0) * wave(j, 2.0) * wave(i, 2.0);
    // All bits of the fraction are random.
    let random = |[k, j, i]: [usize; 3]| {
        let at = (k * n + j) * n + i;
        1.0 + noise(at) + noise(at + cells) / f64::from(1 << 24)
    };
    // Each with the one before that it is compared with, and the goal.
    let ways = [
        ("raw, smooth", Format::Raw, Compress::Device, true, None),
        ("without loss, smooth", Format::Raw, Compress::Link, true, Some((0, 1.2))),
        ("raw, random", Format::Raw, Compress::Device, false, None),
        ("without loss, random", Format::Raw, Compress::Link, false, Some((2, 0.98))),
        ("f32 in memory", Format::F32, Compress::Device, false, Some((2, 1.8))),
        ("f32 on the link", Format::F32, Compress::Link, false, Some((2, 1.8))),
    ];
    let rounds = ROUNDS.min(bench.effort.rounds);
    let mut pairs = Vec::new();
    for (_, format, compress, is_smooth, _) in ways {
        let acc = limited(bench, n, Some(0.125), 1)?;
        let value = |at| if is_smooth { smooth(at) } else { random(at) };
        pairs.push(Pair::of(&acc, n, REGIONS, Boundary::Fixed(OUTSIDE), (format, compress), value)?);
    }
    let mut seconds = vec![Vec::new(); ways.len()];
    for round in 0..=rounds {
        for (pair, seconds) in pairs.iter_mut().zip(&mut seconds) {
            let taken = pair.run(PASSES)? / PASSES as f64;
            seconds.extend(Some(taken).filter(|_| round > 0));
        }
    }
    let sums = pairs.iter().map(|pair| Ok(programs::checksum(&pair.u)?.0)).collect::<Result<Vec<_>>>()?;
    for (number, (name, format, compress, _, against)) in ways.into_iter().enumerate() {
        println!("    {name}: {}", pairs[number].acc.stats());
        // What moves packed has the values of what does not.
        let of = if compress == Compress::Link { number - 1 } else { number };
        let same = sums[number] == sums[of];
        let case = format!("heat {n}^3 f64, one step a pass, {name}");
        let words = match (of == number, same) {
            (true, _) => {
                if format == Format::Raw {
                    "compared with the next"
                } else {
                    "compared with the last"
                }
            }
            (_, true) => "same bits",
            (_, false) => "OTHER BITS",
        };
        let check = output.checked(&case, same, words.into());
        let work = Work { case, check, cells, bytes: 16 * cells };
        let against = against.map(|(raw, goal): (usize, f64)| (("raw", &seconds[raw][..]), goal));
        let row = Row::new(&work, &seconds[number], against.map(|(raw, _)| raw));
        output.row(&Row { goal: against.map(|(_, goal)| goal), ..row })?;
    }
    Ok(())
}
