//! References that are whole programs, compiled by `benches/reference/compile.sh`; and checksums to compare with
//! theirs.

use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;
use tida::prelude::*;
use tida_suite::Result;

use crate::measure::median;

/// Where the programs are, if they were compiled.
fn folder() -> Option<PathBuf> {
    std::env::var_os("TIDA_REFERENCES").map(PathBuf::from)
}

/// Whether they were compiled.
pub fn compiled() -> bool {
    folder().is_some()
}

/// What a program prints; nothing if the programs were not compiled.
pub fn printed(name: &str, arguments: &[String]) -> Result<Option<String>> {
    let Some(folder) = folder() else { return Ok(None) };
    let program = folder.join(name);
    let output = Command::new(&program)
        .args(arguments)
        .output()
        .map_err(|e| format!("tried to run {}; found: {e}", program.display()))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(format!("tried to run {name} {}; found: {}: {errors}", arguments.join(" "), output.status))?;
    }
    Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// Numbers that a program prints after a word, such as `skewed, .. : 175.0 Gcell-steps/s`.
pub fn numbers(name: &str, arguments: &[String], line: &str, before: &str) -> Result<Vec<f64>> {
    let text = printed(name, arguments)?.unwrap_or_default();
    let values = text.lines().filter(|found| found.contains(line)).filter_map(|found| {
        println!("    {found}");
        let end = found.find(before)?;
        found[..end].split([' ', ',']).rfind(|word| !word.is_empty())?.parse().ok()
    });
    Ok(values.collect())
}

/// What `heat_host` and `sincos_host` print for one form and number of steps.
#[derive(Clone, Debug, Deserialize)]
pub struct Run {
    pub form: String,
    pub steps: usize,
    /// [`checksum`] of the result, in hexadecimal.
    pub checksum: String,
    /// The cells' sum.
    pub sum: f64,
    /// One number a round, from values on the host to values on the host.
    pub seconds: Vec<f64>,
}

/// Runs such a program, which times itself, and takes its fastest form for each number of steps.
pub fn timed(name: &str, arguments: &str) -> Result<Vec<Run>> {
    let words: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
    let Some(text) = printed(name, &words)? else { return Ok(Vec::new()) };
    let mut best: Vec<Run> = Vec::new();
    for line in text.lines() {
        let run: Run = serde_json::from_str(line).map_err(|e| format!("{name} printed {line:?}: {e}"))?;
        match best.iter_mut().find(|best| best.steps == run.steps) {
            Some(best) if median(&run.seconds) < median(&best.seconds) => *best = run,
            Some(_) => {}
            None => best.push(run),
        }
    }
    Ok(best)
}

/// The marks of all cells, added up: equal for equal bits, and all but certainly different otherwise. Also their sum.
///
/// As `sums` in `benches/reference/host.h`.
pub fn checksum(u: &TileArray<f64, 3>) -> Result<(String, f64)> {
    let [_, ny, nx] = u.shape();
    let (mut marks, mut sum) = (0u64, 0.0);
    for region in 0..u.regions() {
        let Some(cells) = u.region_box(region) else { continue };
        let first = cells.lo.map(|x| x as usize);
        let (part, added) = u.with_region(region, |cells| {
            // Threads of one plane after the other.
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            let planes: Vec<_> = cells.outer_iter().enumerate().collect();
            let of = |planes: &[(usize, ndarray::ArrayView2<'_, f64>)]| {
                let (mut marks, mut sum) = (0u64, 0.0);
                for (k, plane) in planes {
                    for ((j, i), &value) in plane.indexed_iter() {
                        let cell = ((k + first[0]) * ny + j + first[1]) * nx + i + first[2];
                        marks = marks.wrapping_add(mark(cell as u64, value));
                        sum += value;
                    }
                }
                (marks, sum)
            };
            std::thread::scope(|scope| {
                let chunks = planes.chunks(planes.len().div_ceil(threads).max(1));
                let running: Vec<_> = chunks.map(|planes| scope.spawn(move || of(planes))).collect();
                let parts = running.into_iter().map(|thread| thread.join().unwrap_or_default());
                parts.fold((0u64, 0.0), |(marks, sum), (m, s)| (marks.wrapping_add(m), sum + s))
            })
        })?;
        marks = marks.wrapping_add(part);
        sum += added;
    }
    Ok((format!("{marks:016x}"), sum))
}

fn mark(cell: u64, value: f64) -> u64 {
    let mut z = value.to_bits() ^ cell.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
