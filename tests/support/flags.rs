//! The flags that all examples take.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use clap::{CommandFactory, FromArgMatches, Parser, ValueEnum};
use tida::acc::IntoBytes;

pub use crate::pictures::Look;
use crate::{Result, npy};

/// What an example can do, and what it does if not told.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// Its name.
    pub name: &'static str,
    /// What it computes, in a sentence.
    pub about: &'static str,
    /// Numbers of axes that it knows; the first is the default.
    pub dims: &'static [usize],
    /// Default cells along each axis, for 1, 2 and 3 axes.
    pub size: [usize; 3],
    /// Default number of steps.
    pub steps: u64,
    /// Default number of ghost cells on every side.
    pub ghost: usize,
    /// Element types that `--dtype` may name; the first is the default. Empty if its cells are of another type.
    pub dtypes: &'static [Dtype],
    /// Boundaries that it knows; the first is the default.
    pub boundaries: &'static [Edge],
    /// Whether it calls functions that are the device's own library, such as sines.
    pub library: bool,
    /// How pictures of its cells look.
    pub look: Look,
}

/// Element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Dtype {
    /// 64-bit floating point.
    F64,
    /// 32-bit floating point.
    F32,
}

/// What lies outside the domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Edge {
    /// The opposite side.
    Periodic,
    /// Zero.
    Fixed,
    /// The mirror image.
    Reflect,
}

/// Where to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceFlag {
    /// The best there is.
    Auto,
    /// The threads of this machine.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// An OpenCL device.
    Opencl,
    /// A simulated device.
    Sim,
    /// The CPU, and the device that `TIDA_DEVICE` names or the best there is, at once.
    Hybrid,
}

/// Regions along each axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Along the slowest axis only.
    Slowest(usize),
    /// Along every axis, slowest first.
    Each(Vec<usize>),
}

/// The flags as given.
#[derive(Clone, Debug, Parser)]
#[command(disable_version_flag = true)]
pub struct Flags {
    /// Start from this array (its shape decides the size)
    #[arg(long, value_name = "FILE.npy")]
    pub input: Option<PathBuf>,
    /// Write the result here
    #[arg(long, value_name = "FILE.npy")]
    pub output: Option<PathBuf>,
    /// Cells along each axis
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub size: Option<u64>,
    /// Number of steps
    #[arg(long, value_name = "S")]
    pub steps: Option<u64>,
    /// Number of axes
    #[arg(long, value_name = "D", value_parser = clap::value_parser!(u64).range(1..=4))]
    pub dims: Option<u64>,
    /// Element type
    #[arg(long)]
    pub dtype: Option<Dtype>,
    /// Regions: R along the slowest axis, or AxBxC along each
    #[arg(long, value_name = "R|AxBxC", value_parser = parse_cut)]
    pub regions: Option<Cut>,
    /// Cells of a tile along each axis [default: a tile is a region]
    #[arg(long, value_name = "AxBxC", value_parser = parse_product)]
    pub tile: Option<Product>,
    /// Ghost cells on every side
    #[arg(long, value_name = "G")]
    pub ghost: Option<usize>,
    /// What lies outside the domain
    #[arg(long)]
    pub boundary: Option<Edge>,
    /// Where to run
    #[arg(long, default_value = "auto")]
    pub device: DeviceFlag,
    /// Bytes that arrays may take on a device, or with --backed in memory, such as 2000000 or 2GiB
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub memory_limit: Option<u64>,
    /// Keep arrays in files of this folder, with --memory-limit for what is in memory of them
    #[arg(long, value_name = "FOLDER")]
    pub backed: Option<PathBuf>,
    /// Steps that may be recorded ahead of the work
    #[arg(long, alias = "lookahead", value_name = "STEPS", value_parser = clap::value_parser!(u64).range(1..))]
    pub look_ahead: Option<u64>,
    /// Threads: at most 1024, or four a core if that is more [default: one a core]
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u64).range(1..))]
    pub threads: Option<u64>,
    /// Reynolds number, for cavity: 100 (the default) or 1000
    #[arg(long, value_name = "RE")]
    pub reynolds: Option<u32>,
    /// Compare the result with plain loops (also done if no flag at all is given)
    #[arg(long)]
    pub verify: bool,
    /// Write a picture of the result (of its middle plane, if 3-D)
    #[arg(long, value_name = "FILE.png", value_parser = parse_picture)]
    pub png: Option<PathBuf>,
    /// Write an animation of some 40 of the steps (APNG)
    #[arg(long, value_name = "FILE.png", value_parser = parse_picture)]
    pub animate: Option<PathBuf>,
    /// Write what ran when: a picture (.svg), or a trace for Chrome's tracer or Perfetto (.json)
    #[arg(long, value_name = "FILE.svg|FILE.json", value_parser = parse_timeline)]
    pub timeline: Option<TimelineFile>,
    /// Print one JSON object instead of a summary
    #[arg(long)]
    pub json: bool,
}

/// Where to write what ran when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimelineFile {
    /// As a picture.
    Svg(PathBuf),
    /// As a trace.
    Chrome(PathBuf),
}

/// Numbers joined by `x`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product(pub Vec<usize>);

/// The flags checked against what the example can do, with its defaults.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The example.
    pub example: Example,
    /// The flags as given.
    pub flags: Flags,
    /// Cells along each axis, slowest first.
    pub shape: Vec<usize>,
    /// Number of steps.
    pub steps: u64,
    /// Element type (of no meaning if the example has none to choose).
    pub dtype: Dtype,
    /// Ghost cells on every side.
    pub ghost: usize,
    /// Boundary.
    pub edge: Edge,
    /// Regions along each axis, slowest first.
    pub regions: Vec<usize>,
    /// Cells of a tile along each axis, slowest first; more than a region has (faces too) if not asked for.
    pub tile: Vec<usize>,
    /// Whether to compare with plain loops.
    pub verify: bool,
    /// The number of this process among the ranks that run the example, once there is an accelerator.
    pub(crate) rank: OnceLock<usize>,
}

impl Example {
    /// The settings of this process's command line. Bad flags, `--help` too, end the process as clap does.
    pub fn settings(&self) -> Result<Settings> {
        self.settings_of(std::env::args_os().skip(1))
    }

    /// The settings of these words, which stand after the program's name. Bad flags end the process as clap does.
    pub fn settings_of(&self, words: impl IntoIterator<Item = OsString>) -> Result<Settings> {
        let words: Vec<OsString> = words.into_iter().collect();
        let none = words.is_empty();
        let command = Flags::command().name(self.name).about(self.about);
        let matches = command.get_matches_from(std::iter::once(self.name.into()).chain(words));
        let flags = Flags::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
        let mut settings = self.check(flags)?;
        settings.verify |= none;
        Ok(settings)
    }

    /// The settings of these flags, or what the example cannot do.
    pub fn check(&self, flags: Flags) -> Result<Settings> {
        let name = self.name;
        let shape = match &flags.input {
            Some(path) => npy::shape(path)?,
            None => {
                let dims = flags.dims.map_or(self.dims[0], |d| d as usize);
                let size = flags.size.map_or(self.size[dims.clamp(1, 3) - 1], |n| n as usize);
                vec![size; dims]
            }
        };
        let dims = shape.len();
        if flags.input.is_some() {
            if let Some(asked) = flags.dims.filter(|&d| d as usize != dims) {
                return Err(problem(
                    name,
                    format!("--dims {asked}"),
                    format!("an input of shape {shape:?}"),
                    "leave --dims out: the input decides it",
                ));
            }
            if let Some(size) = flags.size.filter(|&n| shape.iter().any(|&s| s as u64 != n)) {
                return Err(problem(
                    name,
                    format!("--size {size}"),
                    format!("an input of shape {shape:?}"),
                    "leave --size out: the input decides it",
                ));
            }
        }
        if !self.dims.contains(&dims) {
            return Err(problem(
                name,
                format!("{dims} axes"),
                format!("an example for {} axes", any_of(self.dims.iter())),
                "give --dims one of them",
            ));
        }
        let dtype = match flags.dtype {
            Some(asked) if !self.dtypes.contains(&asked) => {
                let known = any_of(self.dtypes.iter().map(|d| d.word()));
                let found = match known.as_str() {
                    "" => "an example whose cells have a type of their own".into(),
                    known => format!("an example for {known}"),
                };
                return Err(problem(name, format!("--dtype {}", asked.word()), found, "leave --dtype out"));
            }
            Some(asked) => asked,
            None => self.dtypes.first().copied().unwrap_or(Dtype::F64),
        };
        let edge = match flags.boundary {
            Some(asked) if !self.boundaries.contains(&asked) => {
                let known = any_of(self.boundaries.iter().map(|b| b.word()));
                return Err(problem(
                    name,
                    format!("--boundary {}", asked.word()),
                    format!("an example that is solved with {known}"),
                    "leave --boundary out or give one of these",
                ));
            }
            Some(asked) => asked,
            None => self.boundaries[0],
        };
        let regions = match &flags.regions {
            None => vec![1; dims],
            Some(Cut::Slowest(count)) => std::iter::once(*count).chain(vec![1; dims - 1]).collect(),
            Some(Cut::Each(counts)) => per_axis(name, "--regions", counts, dims)?,
        };
        let tile = match &flags.tile {
            None => shape.iter().map(|cells| cells.saturating_add(1)).collect(),
            Some(Product(cells)) => per_axis(name, "--tile", cells, dims)?,
        };
        if flags.animate.is_some() && !self.look.is_animated() {
            let found = "a program without steps to show".into();
            return Err(problem(name, "--animate".into(), found, "leave it out; --png draws the result"));
        }
        if let Some(asked) = flags.reynolds.filter(|_| self.name != "cavity") {
            let found = "a program that has none to choose".into();
            return Err(problem(name, format!("--reynolds {asked}"), found, "leave it out; cavity takes it"));
        }
        let steps = flags.steps.unwrap_or(self.steps);
        let ghost = flags.ghost.unwrap_or(self.ghost);
        let verify = flags.verify;
        Ok(Settings {
            example: *self,
            flags,
            shape,
            steps,
            dtype,
            ghost,
            edge,
            regions,
            tile,
            verify,
            rank: OnceLock::new(),
        })
    }
}

impl Dtype {
    /// The word that `--dtype` takes.
    pub fn word(self) -> &'static str {
        match self {
            Dtype::F64 => "f64",
            Dtype::F32 => "f32",
        }
    }
}

impl Edge {
    /// The word that `--boundary` takes.
    pub fn word(self) -> &'static str {
        match self {
            Edge::Periodic => "periodic",
            Edge::Fixed => "fixed",
            Edge::Reflect => "reflect",
        }
    }
}

fn problem(example: &str, tried: String, found: String, advice: &str) -> Box<dyn std::error::Error + Send + Sync> {
    format!("tried to run {example} with {tried}; found {found}; {advice}").into()
}

fn any_of<T: std::fmt::Display>(words: impl Iterator<Item = T>) -> String {
    words.map(|w| w.to_string()).collect::<Vec<_>>().join(" or ")
}

fn per_axis(example: &str, flag: &str, numbers: &[usize], dims: usize) -> Result<Vec<usize>> {
    if numbers.len() == dims {
        return Ok(numbers.to_vec());
    }
    let given = numbers.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
    let found = format!("{} numbers for {dims} axes", numbers.len());
    Err(problem(example, format!("{flag} {given}"), found, "give one number an axis, slowest first"))
}

fn parse_product(text: &str) -> Result<Product, String> {
    let number = |part: &str| match part.parse::<usize>() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err(format!("found {part:?}; give whole numbers above 0 joined by x, such as 64x64x64")),
    };
    Ok(Product(text.split(['x', 'X']).map(number).collect::<Result<_, _>>()?))
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    text.number_of_bytes().map_err(|error| format!("found {}; {}", error.found(), error.advice()))
}

fn parse_timeline(text: &str) -> Result<TimelineFile, String> {
    let path = PathBuf::from(text);
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => Ok(TimelineFile::Svg(path)),
        Some("json") => Ok(TimelineFile::Chrome(path)),
        _ => Err("found another ending; end the name in .svg for a picture, in .json for a trace".into()),
    }
}

fn parse_picture(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("png") => Ok(path),
        _ => Err("found another ending; end the name in .png".into()),
    }
}

fn parse_cut(text: &str) -> Result<Cut, String> {
    let Product(counts) = parse_product(text)?;
    Ok(if let [count] = counts[..] { Cut::Slowest(count) } else { Cut::Each(counts) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Example = Example {
        name: "all",
        about: "",
        dims: &[3, 1, 2],
        size: [1024, 64, 16],
        steps: 10,
        ghost: 1,
        dtypes: &[Dtype::F64, Dtype::F32],
        boundaries: &[Edge::Periodic, Edge::Fixed, Edge::Reflect],
        library: false,
        look: Look::viridis("value"),
    };

    fn check(example: &Example, line: &str) -> Result<Settings> {
        example.check(Flags::try_parse_from(line.split_whitespace())?)
    }

    fn says(example: &Example, line: &str, expected: &str) {
        let error = check(example, line).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn defaults_and_all_flags() -> Result<()> {
        let settings = check(&ALL, "x")?;
        assert_eq!((settings.shape, settings.steps), (vec![16; 3], 10));
        assert_eq!((settings.regions, settings.tile), (vec![1; 3], vec![17; 3]));
        assert!(!settings.verify);

        let settings = check(
            &ALL,
            "x --size 32 --steps 5 --dims 2 --dtype f32 --regions 4 --tile 8x16 --ghost 2 --boundary reflect \
             --device cpu --memory-limit 1MB --look-ahead 3 --threads 2 --verify --json --output o.npy --png o.png \
             --timeline t.svg --animate a.png --backed /tmp",
        )?;
        assert_eq!((settings.shape, settings.steps, settings.dtype), (vec![32; 2], 5, Dtype::F32));
        assert_eq!((settings.regions, settings.tile), (vec![4, 1], vec![8, 16]));
        assert_eq!((settings.edge, settings.ghost), (Edge::Reflect, 2));
        assert!(settings.verify && settings.flags.json);
        assert_eq!((settings.flags.memory_limit, settings.flags.look_ahead), (Some(1_000_000), Some(3)));
        assert_eq!(settings.flags.backed, Some("/tmp".into()));
        assert_eq!(check(&ALL, "x --lookahead 4")?.flags.look_ahead, Some(4));
        assert_eq!(settings.flags.timeline, Some(TimelineFile::Svg("t.svg".into())));
        let chrome = check(&ALL, "x --timeline a/t.json")?.flags.timeline;
        assert_eq!(chrome, Some(TimelineFile::Chrome("a/t.json".into())));

        assert_eq!(check(&ALL, "x --regions 2x3x4")?.regions, [2, 3, 4]);
        // What is too large, the array says.
        assert_eq!(check(&ALL, "x --size 18446744073709551615 --dims 1")?.tile, [usize::MAX]);
        Ok(())
    }

    #[test]
    fn what_an_example_cannot_do_is_said() {
        let life = Example { dims: &[2], dtypes: &[], boundaries: &[Edge::Periodic, Edge::Fixed], ..ALL };
        says(&life, "x --dims 3", "an example for 2 axes");
        says(&life, "x --dtype f32", "a type of their own");
        says(&life, "x --boundary reflect", "periodic or fixed");
        let still = Example { look: Look::viridis("value").still(), ..ALL };
        says(&still, "x --animate a.png", "tried to run all with --animate; found a program without steps to show");
        says(&ALL, "x --png a.jpg", "end the name in .png");
        says(&ALL, "x --animate a.gif", "end the name in .png");
        says(&ALL, "x --reynolds 100", "found a program that has none to choose");
        says(&ALL, "x --dims 4", "3 or 1 or 2 axes");
        says(&ALL, "x --regions 2x2", "2 numbers for 3 axes");
        says(&ALL, "x --tile 8", "1 numbers for 3 axes");
        says(&ALL, "x --regions 0", "whole numbers above 0");
        says(&ALL, "x --size 0", "0 is not in 1..");
        says(&ALL, "x --threads 0", "0 is not in 1..");
        says(&ALL, "x --memory-limit 2gigs", "found `2gigs`; give a number of bytes");
        says(&ALL, "x --timeline t.png", "end the name in .svg");
        says(&ALL, "x --input /nonexistent/u.npy", "tried to read the shape of /nonexistent/u.npy");
    }

    #[test]
    fn the_input_decides_the_shape() -> Result<()> {
        let path = std::env::temp_dir().join(format!("tida-flags-{}.npy", std::process::id()));
        let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n";
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        std::fs::write(&path, bytes)?;
        let path_text = path.display();
        assert_eq!(check(&ALL, &format!("x --input {path_text}"))?.shape, [2, 3]);
        says(&ALL, &format!("x --dims 3 --input {path_text}"), "leave --dims out");
        says(&ALL, &format!("x --size 3 --input {path_text}"), "leave --size out");
        std::fs::remove_file(&path)?;
        Ok(())
    }
}
