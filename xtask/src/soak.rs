//! `cargo xtask soak`: random programs for a while, each compared with plain loops.

use std::fs;
use std::path::PathBuf;

use crate::Result;
use crate::shell::{command, run, target};

#[derive(clap::Args)]
pub struct Options {
    /// How long
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Seed of the programs; without it, another one each time
    #[arg(long)]
    seed: Option<u64>,
    /// This program of the seed alone, 20 times
    #[arg(long, requires = "seed")]
    program: Option<u64>,
    /// The program in this file alone, 20 times
    #[arg(long, conflicts_with = "program")]
    replay: Option<PathBuf>,
    /// Devices to run on, such as `sim,opencl`, beside the CPU; all that there are if nothing is said
    #[arg(long)]
    device: Option<String>,
    /// Programs on several places alone
    #[arg(long)]
    places: bool,
    /// Programs that run at once
    #[arg(long, default_value_t = 2)]
    workers: usize,
}

/// Runs programs until the time is over or one fails.
pub fn soak(options: &Options) -> Result<()> {
    let folder = target().join("soak");
    fs::create_dir_all(&folder).map_err(|e| format!("tried to make {}; found: {e}", folder.display()))?;
    let clock = || std::time::UNIX_EPOCH.elapsed().map_or(1, |time| time.as_millis() as u64);
    let seed = options.seed.unwrap_or_else(clock);
    let mut soak = command("cargo test -p tida-tests --test soak");
    soak.args(["--", "--ignored", "--exact", "soak_for_a_while", "--nocapture"]);
    soak.env("TIDA_SOAK_SEED", seed.to_string())
        .env("TIDA_SOAK_SECONDS", (options.minutes * 60.0).ceil().to_string())
        .env("TIDA_SOAK_WORKERS", options.workers.to_string())
        .env("TIDA_SOAK_FOLDER", &folder);
    if let Some(program) = options.program {
        soak.env("TIDA_SOAK_PROGRAM", program.to_string());
    }
    if options.places {
        soak.env("TIDA_SOAK_PLACES", "several");
    }
    if let Some(file) = &options.replay {
        let file = fs::canonicalize(file).map_err(|e| format!("tried to find {}; found: {e}", file.display()))?;
        soak.env("TIDA_SOAK_REPLAY", file);
    }
    if let Some(device) = &options.device {
        soak.env("TIDA_DEVICE", device);
    }
    run(&mut soak).map_err(|error| match running(&folder) {
        files if files.is_empty() => error,
        files => format!("{error}\nIt ended while these programs ran: {}", files.join(", ")),
    })
}

/// Files of programs that had not ended.
fn running(folder: &PathBuf) -> Vec<String> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = files.map(|file| file.path().display().to_string());
    paths.filter(|path| path.contains("running-")).collect()
}
