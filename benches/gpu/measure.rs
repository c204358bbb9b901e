//! Timing sides in turn, and what is said of it.

use std::io::Write;
use std::time::Instant;

use serde::Serialize;
use tida_suite::Result;

/// One side of a comparison: does so many steps and waits for their end.
pub type Side<'a> = Box<dyn FnMut(usize) -> Result<()> + 'a>;

/// How long and how often to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub rounds: usize,
    /// Least seconds of one timing.
    pub seconds: f64,
}

/// Seconds of each step, one number a round, for each side in turn.
///
/// Every side is warmed up, and timed over steps enough for [`Effort::seconds`]. A round times each side once, so that
/// a clock that drifts drifts for all.
pub fn in_turn(effort: Effort, sides: &mut [Side<'_>]) -> Result<Vec<Vec<f64>>> {
    let steps = sides.iter_mut().map(|side| enough(side, effort.seconds)).collect::<Result<Vec<_>>>()?;
    let mut times = vec![Vec::with_capacity(effort.rounds); sides.len()];
    for _ in 0..effort.rounds {
        for ((side, &steps), times) in sides.iter_mut().zip(&steps).zip(&mut times) {
            times.push(seconds(side, steps)? / steps as f64);
        }
    }
    Ok(times)
}

/// The number of the fastest side, by the median of a few rounds.
pub fn fastest(effort: Effort, sides: &mut [Side<'_>]) -> Result<(usize, Vec<f64>)> {
    let few = Effort { rounds: 5.min(effort.rounds), ..effort };
    let medians: Vec<f64> = in_turn(few, sides)?.iter().map(|times| median(times)).collect();
    let best = (0..medians.len()).min_by(|&a, &b| medians[a].total_cmp(&medians[b]));
    Ok((best.ok_or("no side to measure")?, medians))
}

/// Steps that take so many seconds at least. A run that takes as long is timed once more, since it may have compiled a
/// kernel.
fn enough(side: &mut Side<'_>, least: f64) -> Result<usize> {
    side(2)?;
    let mut steps = 1;
    loop {
        let mut took = seconds(side, steps)?;
        if took >= least {
            took = took.min(seconds(side, steps)?);
        }
        if took >= least {
            return Ok(steps);
        }
        // A little more than the time just seen asks for, but at most ten times as many.
        let wanted = (steps as f64 * 1.1 * least / took.max(1e-9)).ceil() as usize;
        steps = wanted.clamp(steps + 1, 10 * steps);
    }
}

fn seconds(side: &mut Side<'_>, steps: usize) -> Result<f64> {
    let start = Instant::now();
    side(steps)?;
    Ok(start.elapsed().as_secs_f64())
}

/// The middle value, or the mean of the middle two.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n => (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0,
    }
}

/// What a comparison found. Rates are of medians; ratios are those of the rounds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    pub case: String,
    /// What tida was compared with; nothing without a reference.
    pub reference: Option<String>,
    /// Whether the results agree, in words.
    pub check: String,
    pub cells: usize,
    /// Bytes that have to be read and written for a step.
    pub bytes: usize,
    pub seconds: f64,
    pub gcells: f64,
    pub gbytes: f64,
    pub reference_seconds: Option<f64>,
    pub reference_gcells: Option<f64>,
    pub reference_gbytes: Option<f64>,
    /// Speed of tida over speed of the reference.
    pub ratio: Option<f64>,
    pub ratio_min: Option<f64>,
    pub ratio_max: Option<f64>,
    /// Least ratio that is good enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<f64>,
}

/// A bar or a mark of a plot: `cargo xtask plot` draws those of one plot together.
#[derive(Clone, Debug, Serialize)]
pub struct Point<'a> {
    pub plot: &'a str,
    /// Where it stands on the axis, such as a number of steps.
    pub group: &'a str,
    /// What was measured.
    pub series: &'a str,
    /// The median of the rounds, the lowest and the highest.
    pub value: f64,
    pub min: f64,
    pub max: f64,
    pub unit: &'a str,
}

/// What is measured in other units.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    pub case: String,
    pub value: f64,
    pub unit: &'static str,
}

/// What a step does, for the rates.
#[derive(Clone, Debug)]
pub struct Work {
    pub case: String,
    pub check: String,
    pub cells: usize,
    pub bytes: usize,
}

impl Row {
    /// From the seconds of the rounds, with the reference's where there is one.
    pub fn new(work: &Work, tida: &[f64], reference: Option<(&str, &[f64])>) -> Row {
        let rates = |seconds: f64| (work.cells as f64 / seconds / 1e9, work.bytes as f64 / seconds / 1e9);
        let middle = median(tida);
        let (gcells, gbytes) = rates(middle);
        let mut row = Row {
            case: work.case.clone(),
            check: work.check.clone(),
            cells: work.cells,
            bytes: work.bytes,
            seconds: middle,
            gcells,
            gbytes,
            ..Row::default()
        };
        if let Some((name, seconds)) = reference {
            let ratios: Vec<f64> = seconds.iter().zip(tida).map(|(reference, tida)| reference / tida).collect();
            let (gcells, gbytes) = rates(median(seconds));
            row.reference = Some(name.to_owned());
            row.reference_seconds = Some(median(seconds));
            row.reference_gcells = Some(gcells);
            row.reference_gbytes = Some(gbytes);
            row.ratio = Some(median(&ratios));
            row.ratio_min = Some(ratios.iter().copied().fold(f64::INFINITY, f64::min));
            row.ratio_max = Some(ratios.iter().copied().fold(0.0, f64::max));
        }
        row
    }
}

/// Where results go: a table on standard output, and lines of JSON.
#[derive(Debug)]
pub struct Output {
    json: Option<std::fs::File>,
    header: bool,
    /// Results that were not as they should be.
    pub wrong: Vec<String>,
}

impl Output {
    pub fn new(json: Option<&std::path::Path>) -> Result<Output> {
        let open = |path: &std::path::Path| {
            std::fs::File::create(path).map_err(|e| format!("tried to write {}; found: {e}", path.display()))
        };
        Ok(Output { json: json.map(open).transpose()?, header: false, wrong: Vec::new() })
    }

    pub fn row(&mut self, row: &Row) -> Result<()> {
        if !self.header {
            println!(
                "{:<42} {:>7} {:>7} {:>7} {:>7} {:>7} {:>15}  check; against",
                "case", "Gcell/s", "GB/s", "its Gc", "its GB", "ratio", "min to max"
            );
            self.header = true;
        }
        let or_dash = |value: Option<f64>, digits: usize| value.map_or("-".into(), |v| format!("{v:.digits$}"));
        let range = match (row.ratio_min, row.ratio_max) {
            (Some(min), Some(max)) => format!("{min:.3} to {max:.3}"),
            _ => "-".into(),
        };
        println!(
            "{:<42} {:>7.1} {:>7.0} {:>7} {:>7} {:>7} {:>15}  {}{}{}",
            row.case,
            row.gcells,
            row.gbytes,
            or_dash(row.reference_gcells, 1),
            or_dash(row.reference_gbytes, 0),
            or_dash(row.ratio, 3),
            range,
            row.check,
            row.reference.as_ref().map_or(String::new(), |name| format!("; {name}")),
            row.goal.zip(row.ratio).map_or(String::new(), |(goal, ratio)| {
                format!("; goal {goal}: {}", if ratio >= goal { "met" } else { "missed" })
            })
        );
        self.line(row)
    }

    pub fn figure(&mut self, case: &str, value: f64, unit: &'static str) -> Result<()> {
        println!("{case:<66} {value:>10.3} {unit}");
        self.line(&Figure { case: case.to_owned(), value, unit })
    }

    /// For a plot: the values of the rounds.
    pub fn point(&mut self, (plot, group, series): (&str, &str, &str), values: &[f64], unit: &str) -> Result<()> {
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.line(&Point { plot, group, series, value: median(values), min, max, unit })
    }

    /// A result that is not as it should be: measuring goes on, and ends with an error.
    pub fn checked(&mut self, case: &str, right: bool, check: String) -> String {
        if !right {
            self.wrong.push(format!("{case}: {check}"));
        }
        check
    }

    fn line(&mut self, value: &impl Serialize) -> Result<()> {
        if let Some(file) = &mut self.json {
            writeln!(file, "{}", serde_json::to_string(value)?)?;
        }
        Ok(())
    }
}
