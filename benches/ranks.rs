//! What a step costs on several ranks, beside the same heat by hand in C over MPI (`benches/reference/heat_mpi.c`).
//!
//! ```text
//! mpicc -O3 -march=native -ffp-contract=off -o target/heat_mpi benches/reference/heat_mpi.c
//! cargo bench --bench ranks --features mpi -- target/heat_mpi 2 256 20 7
//! ```
//!
//! starts both programs by `mpirun` (or what `TIDA_MPIRUN` says, with its flags), one after the other, seven times
//! each, and prints the medians; ranks are 2, cells 256 along each axis, each number is that of 20 steps. Both
//! programs have the same cells in the end, bit by bit. Heat is of 7 points in `f64`, one step a sweep: what is
//! computed between two exchanges. One rank of tida, which may do several steps a pass through its caches, is measured
//! too.
//!
//! Started by `mpirun` itself it measures one thing:
//!
//! ```text
//! mpirun --bind-to none -n 2 ranks heat fixed 256 256 50 5   # planes, cells along both other axes, steps, rounds
//! mpirun --bind-to none -n 2 ranks strip 512 200   # a fill of ghosts of 512² numbers each way, with its wait
//! ```
//!
//! Open MPI binds each of two ranks to one core if it is not told `--bind-to none`. On a device a rank has four threads
//! that wait for one another.
//!
//! Ranks begin each fill at once, by the clock of their host. With `parts` as the last argument it is also said how far
//! a fill is when, on the first rank.
//!
//! After the rounds may come how many planes of their neighbours ranks hold (`.overlap(..)`), which lets steps fuse.
//!
//! Each says how many bytes ranks took from one another's devices. With `host` as the last argument they go by way of
//! the host all the same; with `unopened` by messages in memory of devices, as between hosts, if MPI takes such memory.
//!
//! ```text
//! TIDA_DEVICE=cuda TIDA_MPIRUN="mpirun --bind-to none" ranks shared 256,512 1,2,4 4
//! ```
//!
//! compares what so many ranks take on one GPU, periodic heat of so many cells along each axis on each of them, with a
//! model: the rank's own steps one after the other, as the GPU goes from process to process, and a fill by itself. With
//! the last number ranks hold so many planes of one another, steps fuse, and each of so many steps has a fill.

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsStr;
use std::fmt::{Debug, Write as _};
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tida::Ranks;
use tida::acc::TileAccBuilder;
use tida::prelude::*;
use tida_suite::heat;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let done = match given.as_slice() {
        ["heat", numbers @ .., "host"] => heat(numbers, TileAcc::builder().apart()),
        ["heat", numbers @ .., "unopened"] => heat(numbers, TileAcc::builder().unopened()),
        ["heat", numbers @ ..] => heat(numbers, TileAcc::builder()),
        ["strip", side, rounds, "host"] => strip(side, rounds, TileAcc::builder().apart(), None),
        ["strip", side, rounds, "unopened"] => strip(side, rounds, TileAcc::builder().unopened(), None),
        ["strip", side, rounds, "parts"] => {
            let parts = Arc::new(Parts::default());
            tracing::subscriber::set_global_default(Told(parts.clone()))
                .map_err(Box::from)
                .and_then(|()| strip(side, rounds, TileAcc::builder(), Some(&parts)))
        }
        ["strip", side, rounds] => strip(side, rounds, TileAcc::builder(), None),
        ["shared", sizes, ranks, planes] => shared(sizes, ranks, planes),
        [by_hand, ranks, cells, steps, rounds] => beside(by_hand, ranks, cells, steps, rounds),
        // So that all benches can be run at once.
        [] => {
            println!("ranks: give it the program to compare with (see benches/ranks.rs)");
            Ok(())
        }
        _ => Err("usage: ranks PROGRAM RANKS CELLS STEPS ROUNDS".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Seconds a step, and the bits of all cells.
fn heat(numbers: &[&str], builder: TileAccBuilder) -> Result<()> {
    let [boundary, planes, cells, steps, rounds, overlap @ ..] = numbers else {
        return Err("usage: ranks heat fixed|periodic PLANES CELLS STEPS ROUNDS [OVERLAP]".into());
    };
    let overlap = overlap.first().map_or(Ok(0), |planes| planes.parse())?;
    let boundary = if *boundary == "periodic" { Boundary::Periodic } else { Boundary::Fixed(0.0) };
    let (planes, cells): (usize, usize) = (planes.parse()?, cells.parse()?);
    let (steps, rounds): (usize, usize) = (steps.parse()?, rounds.parse()?);
    let acc = builder.ranks(Ranks::Mpi).build()?;
    let builder = TileArray::<f64, 3>::builder([planes, cells, cells]).ghost(1).boundary(boundary);
    let mut u = builder.overlap(overlap).build(&acc)?;
    for tile in u.tiles() {
        compute(&tile, &mut u, kernel!(|u, at| u[at] = ((at[0] * 31 + at[1] * 17 + at[2] * 7) % 101) as f64 / 101.0))?;
    }
    let mut next = u.like()?;
    let mut seconds = Vec::new();
    for round in 0..=rounds {
        acc.exchange(Ok(Vec::new()))?;
        let start = Instant::now();
        (0..steps).try_for_each(|_| heat::step(&mut u, &mut next))?;
        acc.sync()?;
        acc.exchange(Ok(Vec::new()))?;
        if round > 0 {
            seconds.push(start.elapsed().as_secs_f64() / steps as f64);
        }
        while round == 0 && acc.warm_up()? > 0 {}
    }
    let mut bits = 0u64;
    for tile in u.tiles().filter(|tile| !tile.cells().is_empty()) {
        let cells = u.read_grown_box(tile.region(), tile.cells())?;
        bits = cells.iter().fold(bits, |sum, x| sum.wrapping_add(x.to_bits()));
    }
    let all = acc.exchange(Ok(bits.to_le_bytes().to_vec()))?;
    let number = |bytes: &Vec<u8>| bytes.as_slice().try_into().map_or(0, u64::from_le_bytes);
    let all = all.iter().map(number).fold(0u64, u64::wrapping_add);
    if acc.rank() == 0 {
        println!("{:.9} s a step, bits {all:016x}", median(seconds));
        println!("{} bytes taken from other ranks' devices", acc.stats().strip_bytes);
    }
    Ok(())
}

/// What was told during a fill, each with its time.
#[derive(Default)]
struct Parts(Mutex<Vec<(String, Instant)>>);

/// Seconds after the start of each fill, of what was told in it: by its words, and which time it is in the fill.
type Times = BTreeMap<(String, usize), Vec<f64>>;

/// Writes down what is told of strips.
struct Told(Arc<Parts>);

impl tracing::Subscriber for Told {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "tida::strips"
    }

    fn event(&self, event: &tracing::Event<'_>) {
        struct Message(String);
        impl tracing::field::Visit for Message {
            fn record_debug(&mut self, _: &tracing::field::Field, value: &dyn Debug) {
                let _ = write!(self.0, "{value:?}");
            }
        }
        let (now, mut message) = (Instant::now(), Message(String::new()));
        event.record(&mut message);
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).push((message.0, now));
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

impl Parts {
    fn take(&self) -> Vec<(String, Instant)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// All ranks of a host go on at one moment.
fn begin_at_once(acc: &TileAcc) -> Result<()> {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let all = acc.exchange(Ok((now().as_nanos() as u64).to_le_bytes().to_vec()))?;
    let last = all.iter().filter_map(|bytes| bytes.as_slice().try_into().ok()).map(u64::from_le_bytes).max();
    let at = Duration::from_nanos(last.unwrap_or(0)) + Duration::from_micros(500);
    while now() < at {
        std::hint::spin_loop();
    }
    Ok(())
}

/// Seconds of a fill of ghosts that gives and takes a plane of each neighbour, until it is done.
fn strip(side: &str, rounds: &str, builder: TileAccBuilder, parts: Option<&Parts>) -> Result<()> {
    let (side, rounds): (usize, usize) = (side.parse()?, rounds.parse()?);
    let acc = builder.ranks(Ranks::Mpi).build()?;
    let builder = TileArray::<f64, 3>::builder([8 * acc.ranks(), side, side]).ghost([[1, 1], [0, 0], [0, 0]]);
    let mut u = builder.build(&acc)?;
    let (mut seconds, mut told) = (Vec::new(), Times::new());
    for round in 0..rounds + 20 {
        for tile in u.tiles() {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = u[at] + at[0] as f64))?;
        }
        acc.sync()?;
        begin_at_once(&acc)?;
        parts.map(Parts::take);
        let start = Instant::now();
        u.fill_ghosts()?;
        let recorded = start.elapsed().as_secs_f64();
        acc.sync()?;
        if round < 20 {
            continue;
        }
        seconds.push(start.elapsed().as_secs_f64());
        let all = parts.map(Parts::take).unwrap_or_default().into_iter();
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        let since = all.map(|(what, at)| (what, at.saturating_duration_since(start).as_secs_f64()));
        for (what, at) in since.chain([("the call is over".to_owned(), recorded)]) {
            let time = times.entry(what.clone()).or_default();
            *time += 1;
            told.entry((what, *time)).or_default().push(at);
        }
    }
    // The ghosts are those of the neighbour.
    for tile in u.tiles() {
        let mut cells = tile.cells();
        let near = if cells.lo[0] > 0 { cells.lo[0] - 1 } else { cells.hi[0] };
        (cells.lo[0], cells.hi[0]) = (near, near + 1);
        let expected = ((rounds + 20) as i64 * near) as f64;
        if acc.ranks() > 1 && u.read_grown_box(tile.region(), cells)?.iter().any(|x| *x != expected) {
            return Err(format!("ghosts of plane {near} on rank {} are not {expected}", acc.rank()).into());
        }
    }
    if acc.rank() == 0 {
        seconds.sort_by(f64::total_cmp);
        let bytes = side * side * 8;
        let at = |part: usize| seconds[seconds.len() * part / 10] * 1e6;
        let mut parts: Vec<_> = told.into_iter().map(|(what, all)| (median(all), what)).collect();
        parts.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (at, (what, time)) in parts.iter().filter(|_| parts.len() > 1) {
            println!("  after {:6.1} us, median: {what} ({time})", at * 1e6);
        }
        println!("{bytes} bytes each way: {:.1} us a fill, median; {:.1} to {:.1} in the middle", at(5), at(1), at(9));
        println!("{} bytes taken from other ranks' devices", acc.stats().strip_bytes);
    }
    Ok(())
}

/// Runs a program on so many ranks, by `mpirun` or what `TIDA_MPIRUN` says; gives what it prints.
fn launched(ranks: &str, program: &OsStr, given: &[&str], fuse: Option<&str>) -> Result<String> {
    let mpirun = std::env::var("TIDA_MPIRUN").unwrap_or_else(|_| "mpirun --oversubscribe --allow-run-as-root".into());
    let mut words = mpirun.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("mpirun"));
    if let Some(fuse) = fuse {
        command.env("TIDA_FUSE", fuse);
    }
    let output = command.args(words).args(["-n", ranks]).arg(program).args(given).output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(said),
        false => Err(format!("{said}{}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// The seconds of a step that a program prints, and the bits of its cells.
fn step_of(said: &str) -> Result<(f64, String)> {
    let line = said.lines().find_map(|line| line.split_once(" s a step, bits "));
    let (seconds, bits) = line.ok_or_else(|| format!("no time of a step in:\n{said}"))?;
    Ok((seconds.parse()?, bits.to_owned()))
}

/// Runs both programs in turn.
fn beside(by_hand: &str, ranks: &str, cells: &str, steps: &str, rounds: &str) -> Result<()> {
    let own = std::env::current_exe()?;
    let run = |ranks, program, given: &[&str]| step_of(&launched(ranks, program, given, None)?);
    let of_tida = ["heat", "fixed", cells, cells, steps, "3"];
    let (mut tida, mut c, mut alone, mut c_alone) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let rounds: usize = rounds.parse()?;
    for _ in 0..rounds {
        let all = [
            (&mut c, run(ranks, by_hand.as_ref(), &[cells, steps, "3"])?),
            (&mut tida, run(ranks, own.as_os_str(), &of_tida)?),
            (&mut c_alone, run("1", by_hand.as_ref(), &[cells, steps, "3"])?),
            (&mut alone, run("1", own.as_os_str(), &of_tida)?),
        ];
        let bits = all[0].1.1.clone();
        for (of, (seconds, other)) in all {
            if other != bits {
                return Err(format!("cells are {other} by one program, {bits} by the other").into());
            }
            of.push(seconds);
        }
    }
    let ratios = |c: &[f64], tida: &[f64]| median(c.iter().zip(tida).map(|(c, tida)| c / tida).collect());
    let (two, one) = (ratios(&c, &tida), ratios(&c_alone, &alone));
    let ms = |of: Vec<f64>| median(of) * 1e3;
    println!("{ranks} ranks, {cells}^3: C {:.3} ms a step, tida {:.3} ms: {two:.3} of the speed of C", ms(c), ms(tida));
    println!("1 rank, {cells}^3: C {:.3} ms a step, tida {:.3} ms: {one:.3} of the speed of C", ms(c_alone), ms(alone));
    Ok(())
}

/// What ranks take that share a GPU, beside what a model says.
fn shared(sizes: &str, ranks: &str, planes: &str) -> Result<()> {
    let own = std::env::current_exe()?;
    let held: usize = planes.parse()?;
    for size in sizes.split(',') {
        let side: usize = size.parse()?;
        // Numbers of a plane are those of a square; so many planes have as many as a larger one.
        let mut cells = BTreeMap::new();
        let strips = [side, (side as f64 * (held as f64).sqrt()).round() as usize].map(|side| side.to_string());
        for (planes, fuse, strip) in [("0", "off", &strips[0]), (planes, "auto", &strips[1])] {
            let between: usize = planes.parse::<usize>()?.max(1);
            // As many in both forms, whose cells are compared.
            let steps = (1usize << 31 >> (3 * side.ilog2())).clamp(48, 480).next_multiple_of(held.max(1)).to_string();
            let run = |ranks: usize, planes: &str| {
                let all = (side * ranks).to_string();
                let given = ["heat", "periodic", &all, size, &steps, "5", planes];
                step_of(&launched(&ranks.to_string(), own.as_os_str(), &given, Some(fuse))?)
            };
            let (alone, _) = run(1, "0")?;
            println!("1 rank, {side}^3, {planes} planes held, fuse {fuse}: {:.4} ms a step", alone * 1e3);
            for ranks in ranks.split(',').filter(|ranks| *ranks != "1") {
                let said = launched(ranks, own.as_os_str(), &["strip", strip, "100"], None)?;
                let fill = said.split_once(" bytes each way: ").and_then(|(_, rest)| rest.split_once(" us a fill"));
                let fill = fill.ok_or("no time of a fill")?.0.parse::<f64>()? * 1e-6;
                let number: usize = ranks.parse()?;
                let (step, bits) = run(number, planes)?;
                if *cells.entry(number).or_insert_with(|| bits.clone()) != bits {
                    return Err(format!("{ranks} ranks that hold {planes} planes have other cells: {bits}").into());
                }
                // A sweep runs over all planes that a rank has.
                let more = 1.0 + 2.0 * planes.parse::<f64>()? / side as f64;
                let model = number as f64 * alone * more + fill / between as f64;
                println!(
                    "{ranks} ranks on one GPU, {side}^3 each, {planes} planes held: {:.4} ms a step, by the model {:.4} \
                     (a fill {:.1} us), efficiency {:.3}, by the model {:.3}",
                    step * 1e3,
                    model * 1e3,
                    fill * 1e6,
                    number as f64 * alone / step,
                    number as f64 * alone / model
                );
            }
        }
    }
    Ok(())
}
