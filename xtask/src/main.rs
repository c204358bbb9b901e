//! The project's own commands: `cargo xtask test`, `cargo xtask bench`, `cargo xtask plot`, `cargo xtask gpu-bundle`,
//! `cargo xtask guide`, `cargo xtask pictures`, `cargo xtask sanitize`, `cargo xtask corpus`, `cargo xtask soak`,
//! `cargo xtask advisories`, `cargo xtask semver`.

mod anywhere;
mod bench;
mod bundle;
mod corpus;
mod deny;
mod docs;
mod guide;
mod interface;
mod native;
mod nvrtc;
mod pictures;
mod plot;
mod programs;
mod python;
mod ranks;
mod sanitize;
mod semver;
mod shell;
mod smoke;
mod soak;
mod steps;
mod times;
mod tools;
mod wheel;
mod words;

use clap::{Parser, Subcommand};

/// What went wrong, to be read by a person.
type Result<T, E = String> = std::result::Result<T, E>;

#[derive(Parser)]
#[command(bin_name = "cargo xtask", about = "The project's own commands")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install what is missing, then run every check
    Test(steps::Options),
    /// Run tests under AddressSanitizer, ThreadSanitizer and Miri, and models of the scheduler under loom
    Sanitize(sanitize::Options),
    /// Do all that publishing the packages does but for the upload; asks crates.io
    Publish,
    /// Build the guide with mdBook, run its code, and check the links of its pages
    Guide,
    /// Rewrite the random kernels that tests run natively and interpreted
    Corpus(corpus::Options),
    /// Run random programs for a while, and compare each with plain loops
    Soak(soak::Options),
    /// Have one of three ranks fail, in each way many times, and see that all end
    RanksFail(ranks::Options),
    /// Run the examples and the gallery on ranks, and compare what each prints and writes with one process
    RanksPrograms(ranks::programs::Options),
    /// Clippy's lints, of tests too
    Lints,
    /// Keep each value of f32 in fewer bits, and see that it is the nearest code
    EveryF32,
    /// Ask RustSec's list, which is fetched from GitHub, what is known of the versions in use
    Advisories,
    /// Compare the public interface with that of an earlier commit, by cargo-semver-checks
    Semver(semver::Options),
    /// Pack tests, examples and benches into target/gpu-bundle, for a machine with a GPU and without Rust
    GpuBundle,
    /// Draw what `bench ooc` or `bench micro` found (`-- --json FILE`), as SVG
    Plot(plot::Options),
    /// Make the pictures of docs/images and the page that shows them, docs/GALLERY.md
    Pictures(pictures::Options),
    /// Measure against hand-written references
    Bench {
        #[command(subcommand)]
        what: Bench,
    },
}

#[derive(Subcommand)]
enum Bench {
    /// The heat sweep on the CPU against C with OpenMP
    Cpu(bench::Options),
    /// tida against hand-written CUDA, on a machine with an NVIDIA GPU
    Gpu(bench::GpuOptions),
    /// Arrays larger than memory and the figures of TiDA-acc, against hand-written programs, on such a machine
    Ooc(bench::GpuOptions),
    /// Latencies and banks of a GPU's memory, on such a machine
    Micro(bench::GpuOptions),
    /// The gallery's programs and operations one by one, against CUDA by hand, on such a machine
    Gallery(bench::GpuOptions),
}

fn main() -> std::process::ExitCode {
    let done = match Cli::parse().command {
        Command::Test(options) => steps::test(&options),
        Command::Sanitize(options) => sanitize::sanitize(&options),
        Command::Corpus(options) => corpus::write(&options),
        Command::Soak(options) => soak::soak(&options),
        Command::RanksFail(options) => ranks::fail_often(&options),
        Command::RanksPrograms(options) => ranks::programs::all(&options),
        Command::Lints => steps::all_lints(),
        Command::EveryF32 => steps::every_f32(),
        Command::Advisories => deny::advisories(),
        Command::Semver(options) => semver::check(&options),
        Command::Publish => anywhere::publish(),
        Command::Guide => guide::build(),
        Command::GpuBundle => bundle::write(),
        Command::Plot(options) => plot::write(&options),
        Command::Pictures(options) => pictures::make(&options),
        Command::Bench { what: Bench::Cpu(options) } => bench::cpu(&options),
        Command::Bench { what: Bench::Gpu(options) } => bench::gpu(&options),
        Command::Bench { what: Bench::Ooc(options) } => bench::ooc(&options),
        Command::Bench { what: Bench::Micro(options) } => bench::micro(&options),
        Command::Bench { what: Bench::Gallery(options) } => bench::gallery(&options),
    };
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("\nerror: {message}");
            std::process::ExitCode::FAILURE
        }
    }
}
