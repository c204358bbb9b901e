//! Many programs on several threads, for `cargo xtask soak`.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tida::SimDevice;

use crate::configuration::{Configuration, Place};
use crate::draw;
use crate::program::Program;
use crate::run::{DONE, Outcome, run};
use crate::shrink::shrink;

/// The places that there are: those that `TIDA_DEVICE` names, if it names some.
pub fn places() -> Vec<Place> {
    let named = std::env::var("TIDA_DEVICE").unwrap_or_default();
    let is_there = |place: Place| {
        let here = Configuration { place, ..Configuration::default() };
        here.build(0, &SimDevice::new()).is_ok()
    };
    let all = Place::ALL.iter().filter(|(place, name)| {
        (named.is_empty() || *place == Place::Cpu || named.split(',').any(|n| n == *name)) && is_there(*place)
    });
    all.map(|(place, _)| *place).collect()
}

/// What `cargo xtask soak` asks for.
struct Asked {
    seed: u64,
    time: Duration,
    workers: usize,
    /// This program alone.
    only: Option<u64>,
    /// Programs on several places alone.
    several: bool,
    /// A file with the text of one.
    replay: Option<PathBuf>,
    /// Where the text of what runs lies meanwhile, and of what failed.
    folder: PathBuf,
}

impl Asked {
    fn read() -> Asked {
        let text = |name: &str| std::env::var(name).ok();
        let number = |name: &str| text(name).and_then(|text| text.parse::<u64>().ok());
        Asked {
            seed: number("TIDA_SOAK_SEED").unwrap_or(1),
            time: Duration::from_secs(number("TIDA_SOAK_SECONDS").unwrap_or(60)),
            workers: number("TIDA_SOAK_WORKERS").unwrap_or(2) as usize,
            only: number("TIDA_SOAK_PROGRAM"),
            several: text("TIDA_SOAK_PLACES").is_some(),
            replay: text("TIDA_SOAK_REPLAY").map(PathBuf::from),
            folder: text("TIDA_SOAK_FOLDER").map_or_else(std::env::temp_dir, PathBuf::from),
        }
    }
}

/// Runs programs until the time is over or one fails.
pub fn soak() {
    let asked = Asked::read();
    if let Some(file) = &asked.replay {
        let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let program: Program = text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        return replay(&program);
    }
    let places = places();
    println!("seed {}, on {}", asked.seed, places.iter().map(|place| place.name()).collect::<Vec<_>>().join(", "));
    if let Some(number) = asked.only {
        let program = draw::program(asked.seed, number, &places);
        println!("{program}");
        return replay(&program);
    }
    // Shrinking makes the same failure again and again.
    std::panic::set_hook(Box::new(|_| {}));
    let working = AtomicU64::new(asked.workers.max(1) as u64);
    let (next, failed, without_room, start) =
        (AtomicU64::new(0), AtomicBool::new(false), AtomicU64::new(0), Instant::now());
    // Programs that ran on each kind of place, and those of them on several.
    let on: [[AtomicU64; 2]; Place::ALL.len()] = Default::default();
    let busy: Vec<Mutex<Option<(Instant, u64)>>> = (0..asked.workers.max(1)).map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for (worker, busy) in busy.iter().enumerate() {
            let (asked, places, next, failed, without_room) = (&asked, &places, &next, &failed, &without_room);
            let (working, on) = (&working, &on);
            scope.spawn(move || {
                while start.elapsed() < asked.time && !failed.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let program = draw::program(asked.seed, number, places);
                    if asked.several && program.places() < 2 {
                        continue;
                    }
                    let file = asked.folder.join(format!("running-{worker}.txt"));
                    let _ = std::fs::write(&file, program.to_string());
                    *busy.lock().unwrap() = Some((Instant::now(), number));
                    match run(&program, &SimDevice::new()) {
                        Outcome::Same => {}
                        Outcome::NoRoom => drop(without_room.fetch_add(1, Ordering::Relaxed)),
                        Outcome::Wrong(what) => {
                            failed.store(true, Ordering::Relaxed);
                            *busy.lock().unwrap() = None;
                            tell(asked, number, &program, &what);
                        }
                    }
                    *busy.lock().unwrap() = None;
                    let _ = std::fs::remove_file(&file);
                    let place = Place::ALL.iter().position(|(place, _)| *place == program.configuration.place);
                    let counts = &on[place.unwrap_or(0)];
                    counts[0].fetch_add(1, Ordering::Relaxed);
                    counts[1].fetch_add(u64::from(program.places() > 1), Ordering::Relaxed);
                    if number % 1000 == 999 {
                        println!("{} programs, {:.0} s", number + 1, start.elapsed().as_secs_f64());
                    }
                }
                working.fetch_sub(1, Ordering::Relaxed);
            });
        }
        while working.load(Ordering::Relaxed) > 0 {
            std::thread::sleep(Duration::from_millis(200));
            busy.iter().for_each(|busy| end_if_stuck(asked.seed, *busy.lock().unwrap()));
        }
    });
    let (drawn, seconds) = (next.into_inner(), start.elapsed().as_secs_f64());
    let count: u64 = on.iter().map(|[all, _]| all.load(Ordering::Relaxed)).sum();
    println!(
        "{count} programs of {drawn} drawn in {seconds:.0} s, {:.0} a minute; {} had no room, as foretold",
        count as f64 * 60.0 / seconds,
        without_room.into_inner()
    );
    let [fused, joined, chains] = DONE.each_ref().map(|count| count.load(Ordering::Relaxed));
    for ((_, name), [all, several]) in Place::ALL.iter().zip(&on) {
        let [all, several] = [all, several].map(|count| count.load(Ordering::Relaxed));
        println!("on {name}: {all}, {several} of them on several places");
    }
    println!("{fused} had several steps in one launch, {joined} sweeps that ran as one, {chains} chains");
    assert!(!failed.into_inner(), "a program has not the bits of plain loops");
}

/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(180);

/// Ends all if a program takes too long: nothing can end it alone.
fn end_if_stuck(seed: u64, busy: Option<(Instant, u64)>) {
    if let Some((_, number)) = busy.filter(|(since, _)| since.elapsed() > PATIENCE) {
        println!("program {number} of seed {seed} has not ended for {} s", PATIENCE.as_secs());
        std::process::exit(1);
    }
}

/// How often a program is run before it is said not to fail.
const TRIES: usize = 3;

/// Shrinks a program and prints it.
fn tell(asked: &Asked, number: u64, program: &Program, what: &str) {
    println!("program {number} of seed {}: {what}\n{program}\nshrinking ..", asked.seed);
    let mut last = what.to_owned();
    let (short, tried) = shrink(program, 3000, &mut |program| {
        (0..TRIES).any(|_| match run(program, &SimDevice::new()) {
            Outcome::Wrong(what) => {
                last = what;
                true
            }
            _ => false,
        })
    });
    let file = asked.folder.join(format!("failed-{}-{number}.txt", asked.seed));
    let text = format!("# {}\n{short}", last.replace('\n', "\n# "));
    let _ = std::fs::write(&file, &text);
    println!("the shortest of {tried}, in {}:\n\n{text}", file.display());
}

fn replay(program: &Program) {
    for n in 0..20 {
        if let Outcome::Wrong(what) = run(program, &SimDevice::new()) {
            panic!("run {n}: {what}");
        }
    }
    println!("20 runs with the bits of plain loops");
}
