//! Small grids on a device, where launches take longer than cells: dependent sweeps, Hotspot and multigrid.
//!
//! Each sweep reads what the one before it has left. Beside them: the same by hand, one launch a step, and multigrid's
//! bytes at the rate of a copy. Results are compared first. For each case: µs a step, µs a step that the calls alone
//! take, launches a step, and what each thread ran in µs a step (threads that poll count as running).
//!
//! `TIDA_DEVICE` chooses the device; what is by hand is timed on CUDA alone. `-- NAME ..` chooses cases.

mod hand;
mod multigrid;
mod sweeps;
mod threads;

use std::process::ExitCode;
use std::time::Instant;

use tida::TileAcc;
use tida::acc::Fuse;
use tida_suite::Result;

use hand::Hand;
use threads::Ran;

/// Times that a case is timed; the median counts.
const ROUNDS: usize = 7;

/// What is timed.
trait Case {
    /// Records so many steps.
    fn record(&mut self, steps: usize) -> tida::Result<()>;
    fn acc(&self) -> &TileAcc;
    /// Whether a few steps gave what plain loops give.
    fn is_right(&mut self) -> tida::Result<bool>;
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Times a case, and prints what it takes a step.
fn timed(name: &str, steps: usize, case: &mut dyn Case) -> Result<f64> {
    if !case.is_right()? {
        Err(format!("{name}: tried to compare with plain loops; found other values; nothing is timed"))?;
    }
    let acc = case.acc().clone();
    let (mut all, mut calls, mut ran) = (Vec::new(), Vec::new(), Ran::default());
    case.record(steps)?;
    acc.sync()?;
    let before = acc.stats();
    for _ in 0..ROUNDS {
        let threads = threads::now();
        let start = Instant::now();
        case.record(steps)?;
        let recorded = start.elapsed();
        acc.sync()?;
        all.push(start.elapsed().as_secs_f64() * 1e6 / steps as f64);
        calls.push(recorded.as_secs_f64() * 1e6 / steps as f64);
        ran.add(&threads, &threads::now());
    }
    let after = acc.stats();
    let launches = (after.launches - before.launches) as f64 / (ROUNDS * steps) as f64;
    let (least, most) = (all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(0.0, f64::max));
    let middle = median(all);
    println!(
        "{name:<34} {middle:>8.2} ({least:.2} to {most:.2}), calls {:.2}, launches {launches:.2}; {}",
        median(calls),
        ran.per_step(ROUNDS * steps)
    );
    Ok(middle)
}

fn run() -> Result<()> {
    let chosen: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |name: &str| chosen.is_empty() || chosen.iter().any(|part| name.contains(part.as_str()));
    let build = |fuse| TileAcc::builder().compile(tida::Compile::Wait).fuse(fuse).build();
    let (single, fused) = (build(Fuse::Off)?, build(Fuse::Auto)?);
    let hand = Hand::open();
    println!("µs a step");
    for n in [64, 128, 256, 512, 1024] {
        if !wanted("sweep") {
            break;
        }
        if let Ok(hand) = &hand {
            println!("{:<34} {:>8.2}", format!("sweep {n}^2, by hand"), hand.jacobi(n, 1000)?);
        }
        for (how, acc) in [("one a launch", &single), ("as chosen", &fused)] {
            timed(&format!("sweep {n}^2, {how}"), 1000, &mut sweeps::Jacobi::new(acc, n)?)?;
        }
    }
    if wanted("hotspot") {
        if let Ok(hand) = &hand {
            println!("{:<34} {:>8.2}", "hotspot 512^2, by hand", hand.hotspot(512, 240)?);
        }
        for (how, acc) in [("one a launch", &single), ("as chosen", &fused)] {
            timed(&format!("hotspot 512^2, {how}"), 240, &mut sweeps::Hotspot::new(acc, 512)?)?;
        }
    }
    for (name, on) in [("multigrid 2-D", [2, 2048]), ("multigrid 3-D", [3, 256])] {
        if !wanted(name) {
            continue;
        }
        let n = if hand.is_ok() { on[1] } else { on[1] / 8 };
        let (took, bytes) = match on[0] {
            2 => (timed(name, 20, &mut multigrid::SQUARE.on(&fused, n)?)?, multigrid::SQUARE.bytes(n)),
            _ => (timed(name, 20, &mut multigrid::CUBE.on(&fused, n)?)?, multigrid::CUBE.bytes(n)),
        };
        if let Ok(hand) = &hand {
            let least = bytes as f64 / hand.copied(1 << 28)? * 1e6;
            println!("{:<34} {least:>8.2}: {:.2} times", format!("{name}, its bytes at a copy's rate"), took / least);
        }
    }
    if let Err(error) = hand {
        println!("nothing by hand: {error}");
    }
    Ok(())
}

fn main() -> ExitCode {
    tida_suite::exit(run())
}
