//! The gallery: the programs of the papers that tida grows from, one a file, each compared with plain loops.
//!
//! `cargo run --release --example gallery -- gemm --verify` runs one, with the flags of all examples; `--small` makes it
//! small; `gallery all --small --verify` runs every one.

mod backprop;
mod bfs;
mod fdtd2d;
mod gemm;
mod jacobi9;
mod matrix_add;
mod nbody;
mod nearest_neighbour;
mod plain;
mod poisson;
mod seismic;
mod seismic_plain;
mod sobel;
mod srad;
mod vector_product;

use std::ffi::OsString;
use std::process::ExitCode;

use tida_suite::Result;
use tida_suite::flags::{Example, Settings};

/// One program.
struct Program {
    example: Example,
    /// What `--small` stands for.
    small: &'static str,
    /// Whether `--input` gives the array that it starts from. Others make all of their arrays.
    input: bool,
    run: fn(&Settings) -> Result<()>,
}

const PROGRAMS: &[Program] = &[
    backprop::PROGRAM,
    bfs::PROGRAM,
    fdtd2d::PROGRAM,
    gemm::PROGRAM,
    jacobi9::PROGRAM,
    matrix_add::PROGRAM,
    nbody::PROGRAM,
    nearest_neighbour::PROGRAM,
    poisson::PROGRAM,
    seismic::PROGRAM,
    sobel::PROGRAM,
    srad::PROGRAM,
    vector_product::PROGRAM,
];

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let name = words.next().unwrap_or_default();
    let words: Vec<OsString> = words.collect();
    tida_suite::exit(match PROGRAMS.iter().find(|program| name == program.example.name) {
        Some(program) => program.start(&words),
        None if name == "all" => PROGRAMS.iter().try_for_each(|program| program.start(&words)),
        None if name == "--help" || name == "-h" => {
            usage();
            Ok(())
        }
        None => {
            let found = if name.is_empty() { "no name".into() } else { format!("{name:?}") };
            Err(format!("tried to run a program of the gallery; found {found}; `gallery --help` lists the names")
                .into())
        }
    })
}

impl Program {
    /// Runs it with the words that stand after its name.
    fn start(&self, words: &[OsString]) -> Result<()> {
        let small = if words.iter().any(|word| word == "--small") { self.small } else { "" };
        let rest = words.iter().filter(|word| *word != "--small").cloned();
        let settings = self.example.settings_of(small.split_whitespace().map(OsString::from).chain(rest))?;
        if settings.flags.input.is_some() && !self.input {
            let name = self.example.name;
            return Err(format!(
                "tried to run {name} with --input; found a program that makes its own arrays; leave --input out"
            )
            .into());
        }
        (self.run)(&settings)
    }
}

fn usage() {
    println!("Usage: gallery NAME|all [--small] [FLAGS]\n");
    for Program { example, .. } in PROGRAMS {
        println!("  {:<18} {}", example.name, example.about);
    }
    println!("\n`gallery NAME --help` lists the flags. --small takes sizes and steps for a quick look.");
}
