//! What a program's first steps cost with an empty folder of compiled kernels, and with a full one: waiting for the
//! device's compiler, and with what can wait compiled beside.
//!
//! Heat over 5 points on the device that `TIDA_DEVICE` names, in processes of their own that take turns. Each records
//! thirty steps and waits for them, again and again. Arguments: `--size` cells along an axis (1024), `--rounds` of all
//! four (3), `--loops` of thirty steps (20). On a device that is no GPU three steps run as one launch.

use std::process::Command;
use std::time::Instant;

use tida::acc::Fuse;
use tida::prelude::*;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Steps that are recorded before they are waited for.
const STEPS: usize = 30;

/// The number that follows this word on the command line.
fn asked(word: &str, usual: usize) -> Result<usize> {
    let mut words = std::env::args().skip_while(|one| one != word).skip(1);
    words.next().map_or(Ok(usual), |number| Ok(number.parse()?))
}

/// Seconds of each loop, and what was compiled.
fn child() -> Result<()> {
    let (size, loops) = (asked("--size", 1024)?, asked("--loops", 20)?);
    let mut builder = TileAcc::builder();
    if std::env::var("TIDA_DEVICE").is_ok_and(|device| device == "opencl") {
        builder = builder.fuse(Fuse::Steps(3));
    }
    let acc = builder.build()?;
    let mut u = TileArray::<f64, 2>::builder([size, size]).ghost(1).boundary(Boundary::Periodic).build(&acc)?;
    u.fill(|[j, i]| ((7 * j + 3 * i) % 32) as f64)?;
    let mut next = u.like()?;
    next.fill_value(0.0)?;
    acc.sync()?;
    let mut line = Vec::new();
    for _ in 0..loops {
        let start = Instant::now();
        for _ in 0..STEPS {
            u.fill_ghosts()?;
            for tile in TileIter::new(&u) {
                compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| {
                        let around = u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]];
                        next[at] = u[at] + 0.1 * (around - 4.0 * u[at]);
                    }),
                )?;
            }
            std::mem::swap(&mut u, &mut next);
        }
        acc.sync()?;
        line.push(start.elapsed().as_secs_f64());
    }
    let ends = Instant::now();
    let stats = acc.stats();
    drop((u, next, acc));
    let end = ends.elapsed().as_secs_f64();
    let words: Vec<String> = line.iter().map(f64::to_string).collect();
    println!("<{} {end} {} {} {}>", stats.fused, stats.compiled, stats.compile_seconds, words.join(" "));
    Ok(())
}

/// A process with this folder: what it counted, and the seconds of its loops.
fn run(how: &str, folder: &std::path::Path) -> Result<Vec<f64>> {
    let mut child = Command::new(std::env::current_exe()?);
    child.args(std::env::args().skip(1)).arg("--child").env("TIDA_COMPILE", how);
    child.env("TIDA_CACHE_DIR", folder.join("kernels")).env("POCL_CACHE_DIR", folder.join("pocl"));
    let output = child.env("CUDA_CACHE_PATH", folder.join("cuda")).output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = said.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map(|(words, _)| words);
    let words = words.ok_or_else(|| format!("{said}\n{}", String::from_utf8_lossy(&output.stderr)))?;
    Ok(words.split(' ').map(str::parse).collect::<std::result::Result<_, _>>()?)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> Result<()> {
    if std::env::args().any(|word| word == "--child") {
        return child();
    }
    let (rounds, loops) = (asked("--rounds", 3)?, asked("--loops", 20)?);
    let mut found: Vec<Vec<Vec<f64>>> = vec![Vec::new(); 4];
    for round in 0..rounds {
        for (n, how) in ["wait", "beside"].into_iter().enumerate() {
            let folder = std::env::temp_dir().join(format!("tida-bench-{}-{round}-{n}", std::process::id()));
            std::fs::create_dir_all(&folder)?;
            // Empty, then full.
            let ran = [run(how, &folder), run(how, &folder)];
            std::fs::remove_dir_all(&folder)?;
            for (full, ran) in ran.into_iter().enumerate() {
                found[2 * full + n].push(ran?);
            }
        }
    }
    println!("medians of {rounds}, ms of {STEPS} steps; {loops} times");
    println!(
        "{:<16} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8}",
        "", "first", "longest", "all", "last", "the end", "fused", "compiled"
    );
    for (name, runs) in ["empty, wait", "empty, beside", "full, wait", "full, beside"].iter().zip(&found) {
        let of = |value: &dyn Fn(&[f64]) -> f64| median(runs.iter().map(|run| value(run)).collect());
        let ms = |value: &dyn Fn(&[f64]) -> f64| 1e3 * of(&|run: &[f64]| value(&run[4..]));
        let longest = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
        println!(
            "{name:<16} {:>9.2} {:>9.2} {:>9.1} {:>9.3} {:>9.2} {:>8} {:>8}",
            ms(&|times| times[0]),
            ms(&longest),
            ms(&|times| times.iter().sum()),
            ms(&|times| times[times.len() - 1]),
            1e3 * of(&|run| run[1]),
            of(&|run| run[0]),
            of(&|run| run[2]),
        );
    }
    Ok(())
}
