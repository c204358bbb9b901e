//! Programs as users write them (`benches/programs`), each beside the same program in C (`benches/reference/programs`).
//!
//! A program runs once and then again for a second; its fastest run counts. What it prints of its first result must be
//! that of the other side, but for rounding: C may fuse products and sums, and adds up in another order.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::{Measured, Options, heading};
use crate::Result;
use crate::shell::{command, read, run};

/// One line of the table.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Row {
    name: &'static str,
    /// The row of `benches/programs` that is measured.
    #[serde(skip)]
    tida: &'static str,
    /// The row of `benches/reference/programs` that it is compared with.
    #[serde(skip)]
    c: &'static str,
    /// What one run does, in millions of `unit`.
    #[serde(skip)]
    work: f64,
    unit: &'static str,
    /// Least median ratio that is good enough.
    #[serde(skip)]
    goal: f64,
    /// How much results may differ, of the mean size of their values.
    apart: f64,
}

/// What most rows have: the same name on both sides, and `f64`.
const fn row(name: &'static str, work: f64, unit: &'static str) -> Row {
    Row { name, tida: name, c: name, work, unit, goal: 0.95, apart: 1e-9 }
}

const CUBE_128: f64 = 128.0 * 128.0 * 128.0 * 1e-6;
const CUBE_160: f64 = 160.0 * 160.0 * 160.0 * 1e-6;
const CUBE_256: f64 = 8.0 * CUBE_128;
const CUBE_640: f64 = 125.0 * CUBE_128;
const CUBE_1024: f64 = 512.0 * CUBE_128;
const SQUARE_64: f64 = 64.0 * 64.0 * 1e-6;
const SQUARE_1024: f64 = CUBE_128 / 2.0;
const SQUARE_2048: f64 = 2.0 * CUBE_128;
const SQUARE_4096: f64 = 4.0 * SQUARE_2048;

const ROWS: &[Row] = &[
    row("gemm", CUBE_1024, "terms"),
    Row { name: "gemm/blocked", c: "gemm-blocked", goal: 0.5, ..row("gemm", CUBE_1024, "terms") },
    Row { c: "gemm", ..row("gemm-2x2", CUBE_1024, "terms") },
    Row { name: "gemm-2x2/blocked", c: "gemm-blocked", goal: 0.5, ..row("gemm-2x2", CUBE_1024, "terms") },
    row("covariance", CUBE_1024, "terms"),
    Row { name: "covariance/half", c: "covariance-half", goal: 0.5, ..row("covariance", CUBE_1024, "terms") },
    row("2mm", 2.0 * CUBE_1024, "terms"),
    row("correlation", CUBE_1024, "terms"),
    row("prolong", CUBE_256, "cells"),
    Row { c: "prolong", ..row("prolong-2x2", CUBE_256, "cells") },
    row("dot-128", 10.0 * CUBE_128, "cells"),
    row("dot-256", 10.0 * CUBE_256, "cells"),
    row("norm-128", 10.0 * CUBE_128, "cells"),
    row("norm-256", 10.0 * CUBE_256, "cells"),
    row("polynomial", SQUARE_1024, "cells"),
    Row { name: "polynomial/unfused", c: "polynomial-unfused", ..row("polynomial", SQUARE_1024, "cells") },
    Row { name: "polynomial-fma", c: "polynomial", ..row("polynomial-fma", SQUARE_1024, "cells") },
    row("cg", 50.0 * CUBE_128, "cells"),
    Row { name: "cg/joined", c: "cg-joined", ..row("cg", 50.0 * CUBE_128, "cells") },
    row("thomas-0", CUBE_160, "cells"),
    row("thomas-1", CUBE_160, "cells"),
    row("thomas-2", CUBE_160, "cells"),
    row("adi", 3.0 * CUBE_160, "cells"),
    row("sums-0", SQUARE_2048, "cells"),
    row("sums-1", SQUARE_2048, "cells"),
    Row { c: "sums-1", ..row("scan-rows", SQUARE_2048, "cells") },
    row("scan-line", SQUARE_2048, "cells"),
    row("sor-2d", SQUARE_2048, "cells"),
    row("sor-3d", CUBE_160, "cells"),
    row("lbm-f64", 5.0 * SQUARE_2048, "cells"),
    Row { apart: 1e-5, ..row("lbm-f32", 5.0 * SQUARE_2048, "cells") },
    Row { c: "lbm-f64", ..row("lbm-table-f64", 5.0 * SQUARE_2048, "cells") },
    Row { c: "lbm-f32", apart: 1e-5, ..row("lbm-table-f32", 5.0 * SQUARE_2048, "cells") },
    Row { c: "lbm-f64", ..row("lbm-nine-f64", 5.0 * SQUARE_2048, "cells") },
    Row { c: "lbm-f32", apart: 1e-5, ..row("lbm-nine-f32", 5.0 * SQUARE_2048, "cells") },
    row("lbm-cavity", 5.0 * SQUARE_2048, "cells"),
    row("lbm-solid", 5.0 * SQUARE_2048, "cells"),
    row("shallow", 10.0 * SQUARE_1024, "cells"),
    row("gray-scott", 10.0 * CUBE_128, "cells"),
    row("euler-faces", 4.0 * SQUARE_1024, "cells"),
    row("euler-one", 4.0 * SQUARE_1024, "cells"),
    row("multigrid-3d", 2.0 * CUBE_128, "cells"),
    Row { c: "multigrid-3d", ..row("multigrid-3d-loops", 2.0 * CUBE_128, "cells") },
    row("multigrid-2d", 2.0 * SQUARE_1024, "cells"),
    Row { c: "multigrid-2d", ..row("multigrid-2d-loops", 2.0 * SQUARE_1024, "cells") },
    // The goals are for one thread (`--threads 1`).
    Row { goal: 0.5, ..row("small-64", 1000.0 * SQUARE_64, "cells") },
    Row { goal: 0.75, ..row("small-128", 4000.0 * SQUARE_64, "cells") },
    Row { goal: 1.8, ..row("jacobi-2d", 4.0 * SQUARE_4096, "cells") },
    Row { goal: 1.8, ..row("heat-3d", 4.0 * CUBE_256, "cells") },
    // Beyond third-level caches of 300 MiB too.
    Row { goal: 1.8, ..row("heat-3d-640", 4.0 * CUBE_640, "cells") },
    Row { goal: 1.8, ..row("fdtd-2d", 4.0 * SQUARE_4096, "cells") },
    row("material", 4.0 * SQUARE_1024, "cells"),
    row("maxwell", 4.0 * CUBE_128, "cells"),
    Row { apart: 1e-5, ..row("taps", SQUARE_2048, "cells") },
    Row { apart: 1e-5, ..row("windows", SQUARE_2048, "cells") },
    row("escape", SQUARE_1024 / 4.0, "cells"),
    row("automaton-u8", 4.0 * SQUARE_2048, "cells"),
    row("automaton-i32", 4.0 * SQUARE_2048, "cells"),
    row("star-2-f64", 4.0 * CUBE_256, "cells"),
    Row { apart: 1e-5, ..row("star-2-f32", 4.0 * CUBE_256, "cells") },
    row("star-4-f64", 4.0 * CUBE_256, "cells"),
    Row { apart: 1e-5, ..row("star-4-f32", 4.0 * CUBE_256, "cells") },
];

/// The rows whose names start so; all of them for `programs`.
pub fn named(start: &str) -> Vec<Row> {
    let start = if start == "programs" { "" } else { start };
    ROWS.iter().filter(|row| row.name.starts_with(start)).copied().collect()
}

/// All names, for a person.
pub fn names() -> String {
    std::iter::once("heat").chain(ROWS.iter().map(|row| row.name)).collect::<Vec<_>>().join(", ")
}

/// A row, and what was measured.
#[derive(Serialize)]
pub struct Found {
    #[serde(flatten)]
    row: Row,
    #[serde(flatten)]
    measured: Measured,
}

/// What a program prints.
#[derive(Debug, Deserialize)]
struct Printed {
    seconds: f64,
    check: Vec<f64>,
}

/// Builds both sides, measures the rows and prints the table.
pub fn measure(rows: &[Row], options: &Options, threads: usize, folder: &Path) -> Result<Vec<Found>> {
    let Options { pairs, seconds, .. } = *options;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let reference = folder.join("programs");
    let sources = [
        "main",
        "dense",
        "grids",
        "conjugate",
        "lattice",
        "walls",
        "flows",
        "euler",
        "multigrid",
        "small",
        "stencils",
        "lines",
        "colours",
        "users",
    ];
    let sources = sources.map(|name| format!("benches/reference/programs/{name}.c"));
    run(command("gcc -O3 -march=native -fno-math-errno -fopenmp").args(sources).args(["-lm", "-o"]).arg(&reference))?;
    let programs = built()?;

    println!(
        "programs, cells or terms of sums per second with {threads} threads, {pairs} pairs; the ratio is tida / C"
    );
    println!("{}", heading("row"));
    let mut found = Vec::new();
    for row in rows {
        let checks = RefCell::new((Vec::new(), Vec::new()));
        let tida = || {
            let printed = once(&programs, row.tida, threads, seconds)?;
            checks.borrow_mut().0 = printed.check;
            Ok(row.work * 1e6 / printed.seconds)
        };
        let c = || {
            let printed = once(&reference, row.c, threads, seconds)?;
            checks.borrow_mut().1 = printed.check;
            let (tida, c) = &*checks.borrow();
            same(row, tida, c)?;
            Ok(row.work * 1e6 / printed.seconds)
        };
        let measured = Measured::in_turn(row.name.into(), row.goal, pairs, tida, c)?;
        println!("{measured}");
        found.push(Found { row: *row, measured });
    }
    Ok(found)
}

/// Builds the bench, and says where it is.
fn built() -> Result<PathBuf> {
    let text =
        read(&mut command("cargo build --release --quiet --bench programs --message-format json-render-diagnostics"))?;
    let messages = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut of_it = messages.filter(|message| message["target"]["name"] == "programs");
    let path = of_it.find_map(|message| message["executable"].as_str().map(PathBuf::from));
    path.ok_or_else(|| format!("cargo built no program: {text}"))
}

fn once(program: &Path, row: &str, threads: usize, seconds: f64) -> Result<Printed> {
    let text = read(Command::new(program).arg(row).arg(threads.to_string()).arg(seconds.to_string()))?;
    serde_json::from_str(&text).map_err(|e| format!("{} {row} printed {text:?}: {e}", program.display()))
}

/// Whether both sides computed the same. The first of the numbers is the mean size of the values.
fn same(row: &Row, tida: &[f64], c: &[f64]) -> Result<()> {
    let size = c.first().map_or(f64::NAN, |x| x.abs());
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= row.apart * size.max(b.abs());
    if tida.len() == c.len() && size > 0.0 && tida.iter().zip(c).all(close) {
        return Ok(());
    }
    Err(format!("tried to compare {} with C; found {tida:?} and {c:?}, which differ by more than rounding", row.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_differ_by_rounding_alone() {
        let row = row("a", 1.0, "cells");
        assert!(same(&row, &[2.0, 1e-12], &[2.0 + 1e-12, 0.0]).is_ok());
        assert!(same(&row, &[2.0, 1e-6], &[2.0, 0.0]).is_err());
        assert!(same(&row, &[2.0], &[2.0, 0.0]).is_err());
        assert!(same(&row, &[f64::NAN], &[f64::NAN]).is_err());
        assert!(same(&row, &[0.0], &[0.0]).is_err());
        assert!(same(&row, &[1.0, f64::NAN], &[1.0, 1.0]).is_err());
    }

    #[test]
    fn rows_have_names_of_their_own() {
        let mut names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(named("gemm-2x2").len(), 2);
        assert!(named("no-such").is_empty());
        assert_eq!(named("programs").len(), ROWS.len());
    }
}
