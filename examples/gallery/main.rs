//! The gallery: the programs of the papers that tida grows from and some of those that structured grids are used for,
//! one a file, each compared with plain loops.
//!
//! `cargo run --release --example gallery -- gemm --verify` runs one, with the flags of all examples; `--small` makes
//! it small; `gallery all --small --verify` runs every one. `--indexes` counts what it reads, and what of that the
//! block alone decides.

mod adi;
mod adi3d;
mod backprop;
mod bfs;
mod cavity;
mod cg;
mod cylinder;
mod dam_break;
mod dyadic;
mod euler;
mod euler_plain;
mod fdtd2d;
mod gemm;
mod gemm_groups;
mod hotspot;
mod jacobi9;
mod lattice;
mod lattice_plain;
mod lbm2d;
mod matrix_add;
mod multigrid;
mod multigrid_plain;
mod nbody;
mod nbody_groups;
mod nearest_neighbour;
mod needleman_wunsch;
mod particles;
mod pathfinder;
mod plain;
mod poiseuille;
mod poisson;
mod ring;
mod seismic;
mod seismic_plain;
mod shallow_water;
mod sobel;
mod sod;
mod sor;
mod srad;
mod stencil1d;
mod summed_area;
mod tree_reduction;
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
    adi::PROGRAM,
    adi3d::PROGRAM,
    backprop::PROGRAM,
    bfs::PROGRAM,
    cavity::PROGRAM,
    cg::PROGRAM,
    cylinder::PROGRAM,
    dam_break::PROGRAM,
    dyadic::PROGRAM,
    euler::PROGRAM,
    fdtd2d::PROGRAM,
    gemm::PROGRAM,
    gemm_groups::PROGRAM,
    hotspot::PROGRAM,
    jacobi9::PROGRAM,
    lbm2d::PROGRAM,
    matrix_add::PROGRAM,
    multigrid::PROGRAM,
    multigrid::INJECTION,
    multigrid::RED_BLACK,
    nbody::PROGRAM,
    nbody_groups::PROGRAM,
    nearest_neighbour::PROGRAM,
    needleman_wunsch::PROGRAM,
    particles::PROGRAM,
    pathfinder::PROGRAM,
    poiseuille::PROGRAM,
    poisson::PROGRAM,
    ring::PROGRAM,
    seismic::PROGRAM,
    shallow_water::PROGRAM,
    sobel::PROGRAM,
    sod::PROGRAM,
    sor::PROGRAM,
    srad::PROGRAM,
    stencil1d::PROGRAM,
    summed_area::PROGRAM,
    tree_reduction::PROGRAM,
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
        let rest = words.iter().filter(|word| *word != "--small" && *word != "--indexes").cloned();
        let known: Vec<String> = tida::kernels().iter().map(tida::KernelReport::place).collect();
        let settings = self.example.settings_of(small.split_whitespace().map(OsString::from).chain(rest))?;
        if settings.flags.input.is_some() && !self.input {
            let name = self.example.name;
            return Err(format!(
                "tried to run {name} with --input; found a program that makes its own arrays; leave --input out"
            )
            .into());
        }
        (self.run)(&settings)?;
        if words.iter().any(|word| word == "--indexes") {
            let kernels = tida::kernels();
            let new = kernels.iter().filter(|kernel| !known.contains(&kernel.place()));
            println!("indexes of {}: {}", self.example.name, indexes(new));
        }
        Ok(())
    }
}

/// Says how far a result is from a published one, which is an error if it is farther than `most`.
fn at_most(settings: &Settings, what: &str, off: f64, most: f64) -> Result<()> {
    if settings.tells() {
        println!("  {what}: {off:.2e}");
    }
    if off.is_nan() || off > most {
        let name = settings.example.name;
        return Err(format!("tried to verify {name}; found {what}: {off:e}; it should be {most:e} at most").into());
    }
    Ok(())
}

/// How many arrays kernels take, how many reads they have, and which of those the block alone decides (Lashgar Fig.
/// 7.3, 7.4).
fn indexes<'a>(kernels: impl Iterator<Item = &'a tida::KernelReport>) -> String {
    let mut counts = [0; 8];
    for kernel in kernels {
        let of = kernel.reads();
        let more = [of.arrays, of.all, of.by_block, of.by_launch, of.induction, of.indirect, of.control, of.operator];
        counts.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
    let [arrays, reads, fixed, launch, induction, indirect, control, operator] = counts;
    format!(
        "{arrays} arrays, {reads} reads: {fixed} by the block, {launch} by the block and what a launch knows; not: {induction} \
         induction, {indirect} indirect, {control} control, {operator} operator"
    )
}

fn usage() {
    println!("Usage: gallery NAME|all [--small] [FLAGS]\n");
    for Program { example, .. } in PROGRAMS {
        println!("  {:<18} {}", example.name, example.about);
    }
    println!(
        "\n`gallery NAME --help` lists the flags. --small takes sizes and steps for a quick look,\n--indexes counts what kernels read."
    );
}
