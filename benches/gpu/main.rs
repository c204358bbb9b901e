//! tida against CUDA written by hand, in one process and in turn. `cargo xtask bench gpu`, or `-- --help`.
//!
//! The references are in `benches/reference/*.cu`; they are compiled by NVRTC when this runs, and the fastest of
//! several block shapes and memory layouts counts. Results are compared before anything is timed. The ratio is that of
//! the speeds, tida over reference, in the median of the rounds.
//!
//! Without a GPU, `--device cpu` compares tida's results with plain loops and times tida alone.
//!
//! `--ooc` is another set of cases (`cargo xtask bench ooc`): arrays larger than the memory that tida may use, and the
//! figures of TiDA-acc, against whole programs. What it found is in `docs/papers/tida-acc.md`.
//!
//! `--micro` is a third one (`cargo xtask bench micro`): micro-benchmarks of the GPU's memory, without tida.

mod boundaries;
mod cells;
mod channels;
mod cuda;
mod exceed;
mod figures;
mod fused;
mod gallery;
mod generic;
mod heat;
mod host;
mod mapping;
mod masks;
mod measure;
mod micro;
mod ooc;
mod programs;
mod registers;
mod storage;
mod turns;
mod users;
mod walks;
mod walls;

use std::cell::Cell;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use tida::{Device, Math, TileAcc};
use tida_suite::Result;

use cuda::Gpu;
use measure::{Effort, Output};

/// Flags of the bench.
#[derive(Parser, Debug)]
#[command(about = "tida against CUDA written by hand")]
struct Options {
    /// Where tida runs; the references run on the first NVIDIA GPU, and not at all beside `cpu`
    #[arg(long, value_enum, default_value_t = On::Cuda)]
    device: On,
    /// Cases whose name holds one of these: heat3, heat2, boundaries, sincos, sum, slabs, gemm, matvec, nbody,
    /// overhead, first, mapping, seismic, sweep, writes, fused, turns, generic, storage, storage-micro,
    /// storage-programs, storage-flushed, storage-whole, stars, acoustic, fdtd, lattice, prolong, conjugate, euler,
    /// gemm64, multigrid, solve, masks, boxes, channels (with hotspot, pathfinder, stencil, dyadic, tree, product,
    /// bodies); and of the set that `--ooc` chooses: many, periodic, pass, exceed, figure; and of that of `--micro`:
    /// loads, banks, latency
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<String>,
    /// Takes the cases of arrays larger than memory and of TiDA-acc's figures, which take minutes, instead of the
    /// others; programs to compare with are those in the folder that TIDA_REFERENCES names
    #[arg(long)]
    ooc: bool,
    /// Takes the cases of the gallery's programs and of Lashgar's figures instead: operations, stencils, programs,
    /// sharing, breakdown
    #[arg(long, conflicts_with = "ooc")]
    gallery: bool,
    /// Takes micro-benchmarks of the GPU's memory instead of the others
    #[arg(long, conflicts_with_all = ["ooc", "gallery"])]
    micro: bool,
    /// Bytes that the case `exceed` takes for the device's memory [default: what the device has]
    #[arg(long)]
    memory: Option<u64>,
    /// Bytes that the case `exceed` takes for the host's free memory, of machines whose memory grows as it is used
    /// [default: what /proc/meminfo says]
    #[arg(long)]
    host_memory: Option<u64>,
    /// Cells along each axis of the 3-D cases; 2-D ones have 16 times as many [default: 512, on the CPU 64]
    #[arg(long, value_parser = clap::value_parser!(u32).range(8..=1024))]
    size: Option<u32>,
    /// Times that each side is timed
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Least milliseconds of a timing
    #[arg(long, default_value_t = 20)]
    milliseconds: u32,
    /// File for the results, one JSON object a line
    #[arg(long)]
    json: Option<PathBuf>,
    /// Runs one program of the case `mapping` once and times nothing, for a profiler: its name, its block, cells a
    /// thread
    #[arg(long, value_name = "WAY")]
    once: Option<String>,
    /// Times a first call and prints it: what the case `first` runs in processes of its own
    #[arg(long, hide = true)]
    first_call: bool,
    /// What `cargo bench` passes
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum On {
    Cuda,
    Opencl,
    Cpu,
}

/// What every case needs.
#[derive(Debug)]
struct Bench {
    device: Device,
    /// For the references; none beside the CPU.
    gpu: Option<Gpu>,
    /// Whether accelerators take down what runs when.
    timeline: Cell<bool>,
    effort: Effort,
    size: usize,
    /// Along each axis of the cases that are larger than the memory they may use.
    large: usize,
    /// What counts as the device's memory, if that is said.
    memory: Option<u64>,
    /// What counts as the host's free memory, if that is said.
    host_memory: Option<u64>,
}

impl Bench {
    /// An accelerator on the device asked for. What is timed is what runs in the end, so each launch waits for its
    /// kernel.
    fn accelerator(&self, math: Math) -> Result<TileAcc> {
        Ok(TileAcc::builder()
            .device(self.device)
            .compile(tida::Compile::Wait)
            .math(math)
            .timeline(self.timeline.get())
            .build()?)
    }

    /// As [`Bench::accelerator`], with plans found by timed trials.
    fn tuned(&self) -> Result<TileAcc> {
        Ok(TileAcc::builder().device(self.device).compile(tida::Compile::Wait).tune(true).build()?)
    }

    /// Rounds of cases that take long, or whose other side is a program that times itself.
    fn few(&self) -> usize {
        self.effort.rounds.min(3)
    }
}

fn main() -> ExitCode {
    tida_suite::exit(run())
}

fn run() -> Result<()> {
    let options = Options::parse();
    let device = match options.device {
        On::Cuda => Device::Cuda,
        On::Opencl => Device::OpenCl,
        On::Cpu => Device::Cpu,
    };
    if options.first_call {
        return host::first_call(device);
    }
    type Case = fn(&Bench, &mut Output) -> Result<()>;
    let in_process: [(&str, Case); 48] = [
        ("heat3 f64", heat::heat3::<f64>),
        ("heat3 f32", heat::heat3::<f32>),
        ("heat2 f64", heat::heat2),
        ("heat3 f64 slabs", heat::slabs),
        ("boundaries", boundaries::boundaries),
        ("boundaries of programs", walls::walls),
        ("sincos", cells::sincos),
        ("sum", cells::sum),
        ("gemm", walks::gemm),
        ("matvec", walks::matvec),
        ("nbody", walks::nbody),
        ("overhead", host::overhead),
        ("first call", host::first_calls),
        ("mapping", mapping::mapping),
        ("seismic", registers::seismic),
        ("sweep", registers::sweeps),
        ("writes", registers::writes),
        ("fused 7 points f64", fused::heat3_f64),
        ("fused 7 points f32", fused::heat3_f32),
        ("fused 5 points", fused::heat2),
        ("fused 9 points", fused::nine),
        ("fused chip", fused::chip),
        ("turns", turns::turns),
        ("generic", generic::generic),
        ("channels: hotspot", channels::hotspot),
        ("channels: pathfinder", channels::pathfinder),
        ("channels: stencil", channels::stencil),
        ("channels: dyadic", channels::dyadic),
        ("channels: tree", channels::tree),
        ("channels: product", channels::product),
        ("channels: bodies", channels::bodies),
        ("storage", storage::storage),
        ("storage-micro", storage::micro),
        ("storage-programs", storage::programs),
        ("storage-flushed", storage::flushed),
        ("storage-whole", storage::whole),
        ("stars", users::stars),
        ("acoustic", users::acoustic),
        ("fdtd", users::fdtd),
        ("lattice", users::lattice),
        ("prolong", users::prolong),
        ("conjugate", users::conjugate),
        ("euler", users::euler),
        ("gemm64", users::gemm64),
        ("multigrid", users::multigrid),
        ("solve", users::solve),
        ("masks", masks::masks),
        ("boxes", masks::boxes),
    ];
    let ooc: [(&str, Case); 11] = [
        ("figure 1", figures::figure_1),
        ("figure 5", figures::figure_5),
        ("figure 6", figures::figure_6),
        ("figure 8", figures::figure_8),
        ("out of core, one step a pass", ooc::streamed),
        ("out of core, many steps", ooc::skewed),
        ("out of core, periodic", ooc::periodic),
        ("out of core, steps together", ooc::together),
        ("out of core, fewer bits", ooc::coded),
        ("out of core, packed", ooc::packed),
        ("exceed", exceed::exceed),
    ];
    let of_gallery: [(&str, Case); 5] = [
        ("operations", gallery::operations),
        ("stencils", gallery::stencils),
        ("programs", gallery::programs),
        ("sharing", gallery::sharing),
        ("breakdown", gallery::breakdown),
    ];
    let micro: [(&str, Case); 3] = [("latency", micro::latency), ("banks", micro::banks), ("loads", micro::loads)];
    let cases: &[(&str, Case)] = match options {
        Options { ooc: true, .. } => &ooc,
        Options { gallery: true, .. } => &of_gallery,
        Options { micro: true, .. } => &micro,
        _ => &in_process,
    };

    let on_cpu = options.device == On::Cpu;
    // The other set compares with programs of their own.
    let gpu = match options.device {
        On::Cpu => None,
        _ if options.ooc => None,
        // OpenCL may run on what is no GPU.
        On::Opencl => Gpu::open().ok(),
        On::Cuda => Some(Gpu::open()?),
    };
    let effort = Effort { rounds: options.rounds as usize, seconds: f64::from(options.milliseconds) * 1e-3 };
    let size = options.size.unwrap_or(if on_cpu { 64 } else { 512 }) as usize;
    let large = options.size.unwrap_or(if on_cpu { 64 } else { 1024 }) as usize;
    let (memory, host_memory) = (options.memory, options.host_memory);
    let bench = Bench { device, gpu, timeline: Cell::new(false), effort, size, large, memory, host_memory };
    if let Some(way) = &options.once {
        return mapping::once(&bench, way);
    }
    let mut output = Output::new(options.json.as_deref())?;
    let against = match &bench.gpu {
        Some(gpu) => &gpu.name,
        None if options.ooc && programs::compiled() => "hand-written programs",
        None => "nothing but its own results",
    };
    match options.micro {
        true => println!("{against}; at most {} rounds", options.rounds),
        false => println!("tida on {}, against {against}; at most {} rounds", device.name(), options.rounds),
    }

    let wanted = |name: &str| options.cases.is_empty() || options.cases.iter().any(|part| name.contains(part.as_str()));
    if !cases.iter().any(|(name, _)| wanted(name)) {
        let names = cases.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("; ");
        Err(format!("tried to run the cases {:?}; found none; the cases are: {names}", options.cases))?;
    }
    for (name, case) in cases {
        if wanted(name) {
            case(&bench, &mut output).map_err(|e| format!("{name}: {e}"))?;
        }
    }
    match output.wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("results that differ: {}", output.wrong.join("; ")).into()),
    }
}
