//! tida against CUDA written by hand, in one process and in turn. `cargo xtask bench gpu`, or `-- --help`.
//!
//! The references are in `benches/reference/*.cu`; they are compiled by NVRTC when this runs, and the fastest of several
//! block shapes and memory layouts counts. Results are compared before anything is timed. The ratio is that of the
//! speeds, tida over reference, in the median of the rounds.
//!
//! Without a GPU, `--device cpu` compares tida's results with plain loops and times tida alone.

mod cells;
mod cuda;
mod heat;
mod host;
mod measure;
mod ooc;

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
    /// Cases whose name holds one of these: heat3, heat2, sincos, sum, slabs, overhead, first, out [default: all but out, out of core]
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<String>,
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
    effort: Effort,
    size: usize,
    /// Along each axis of the cases that are larger than the memory they may use.
    large: usize,
}

impl Bench {
    /// An accelerator on the device asked for.
    fn accelerator(&self, math: Math) -> Result<TileAcc> {
        Ok(TileAcc::builder().device(self.device).math(math).build()?)
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
    let on_cpu = options.device == On::Cpu;
    let gpu = if on_cpu { None } else { Some(Gpu::open()?) };
    let effort = Effort { rounds: options.rounds as usize, seconds: f64::from(options.milliseconds) * 1e-3 };
    let size = options.size.unwrap_or(if on_cpu { 64 } else { 512 }) as usize;
    let large = options.size.unwrap_or(if on_cpu { 64 } else { 1024 }) as usize;
    let bench = Bench { device, gpu, effort, size, large };
    let mut output = Output::new(options.json.as_deref())?;
    let against = bench.gpu.as_ref().map_or("plain loops, for the results alone", |gpu| &gpu.name);
    println!("tida on {}, against {against}; {} rounds", device.name(), options.rounds);

    type Case = fn(&Bench, &mut Output) -> Result<()>;
    let cases: [(&str, Case); 10] = [
        ("heat3 f64", heat::heat3::<f64>),
        ("heat3 f32", heat::heat3::<f32>),
        ("heat2 f64", heat::heat2),
        ("heat3 f64 slabs", heat::slabs),
        ("sincos", cells::sincos),
        ("sum", cells::sum),
        ("overhead", host::overhead),
        ("first call", host::first_calls),
        ("out of core, many steps", ooc::skewed),
        ("out of core, one step", ooc::streamed),
    ];
    for (name, case) in cases {
        // Those take minutes, and programs that are compiled beside this one.
        if (options.cases.is_empty() && !name.starts_with("out of core"))
            || options.cases.iter().any(|wanted| name.contains(wanted.as_str()))
        {
            case(&bench, &mut output).map_err(|e| format!("{name}: {e}"))?;
        }
    }
    match output.wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("results that differ: {}", output.wrong.join("; ")).into()),
    }
}
