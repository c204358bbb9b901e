//! Kernels whose cells talk through shared memory: tida's groups beside its kernels of cells and beside CUDA by hand,
//! with and without channels (Lashgar Fig. 6.1 to 6.6). What it found is in `docs/papers/ipmacc.md`.
//!
//! All forms of a program start from the same values and are compared, bit by bit, before they are timed in turn.
//! Without a GPU there are tida's forms alone, and smaller sizes.

mod blocks;
mod lines;
mod plane;
mod walks;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use cudarc::driver::CudaModule;
use tida::TileAcc;
use tida::acc::Fuse;
use tida_suite::Result;

use crate::Bench;
use crate::cuda::{Flags, Gpu};
use crate::measure::{Effort, Output, Row, Side, Work, in_turn, median};

pub use blocks::{dyadic, tree};
pub use lines::{pathfinder, stencil};
pub use plane::hotspot;
pub use walks::{bodies, product};

/// A form of a program.
trait Form {
    /// Starts again.
    fn restart(&mut self) -> Result<()>;

    /// Runs the program so many times, from where it is, and waits.
    fn run(&mut self, times: usize) -> Result<()>;

    /// What it holds.
    fn found(&self) -> Result<Vec<u32>>;
}

/// What several forms work on.
type Shared<T> = Rc<RefCell<T>>;

fn shared<T>(value: T) -> Shared<T> {
    Rc::new(RefCell::new(value))
}

/// Kinds of forms, in the order of the table's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// By hand, a step a launch, through memory.
    Hand,
    /// By hand, with channels.
    HandChannel,
    /// tida's kernel of cells, a step a launch.
    Cells,
    /// The same as tida runs it if not told otherwise.
    Chosen,
    /// tida's kernel over groups.
    Groups,
}

const KINDS: [(Kind, &str); 5] = [
    (Kind::Hand, "by hand"),
    (Kind::HandChannel, "by hand, channels"),
    (Kind::Cells, "tida, cells"),
    (Kind::Chosen, "tida, cells as chosen"),
    (Kind::Groups, "tida, groups"),
];

/// A kind, what tells it from others of its kind, such as a halo and a block, and the form.
type Way<'a> = (Kind, String, Box<dyn Form + 'a>);

/// A table of one program, a line a size.
struct Table<'a> {
    bench: &'a Bench,
    output: &'a mut Output,
    program: &'static str,
    lines: Vec<String>,
    /// Of every way: size, kind, name, microseconds.
    sweep: Vec<(String, Kind, String, f64)>,
}

impl<'a> Table<'a> {
    fn new(bench: &'a Bench, output: &'a mut Output, program: &'static str) -> Table<'a> {
        Table { bench, output, program, lines: Vec::new(), sweep: Vec::new() }
    }

    /// Compares the forms at a size, and times them in turn. A run has so many steps of so many cells.
    fn size(&mut self, size: &str, [steps, cells]: [usize; 2], ways: Vec<Way<'_>>) -> Result<()> {
        let mut ways = ways;
        let mut expected: Option<Vec<u32>> = None;
        let mut check = "same bits";
        for (kind, name, form) in &mut ways {
            form.restart()?;
            form.run(1)?;
            let found = form.found()?;
            let expected = expected.get_or_insert_with(|| found.clone());
            if found != *expected {
                check = "OTHER BITS";
                let case = format!("{} {size}, {kind:?} {name}", self.program);
                self.output.checked(&case, false, check.into());
            }
        }
        let effort = self.bench.effort;
        let short = Effort { rounds: 5.min(effort.rounds), seconds: effort.seconds / 4.0 };
        let times = {
            let mut sides: Vec<Side<'_>> = Vec::new();
            for (_, _, form) in &mut ways {
                sides.push(Box::new(|times| form.run(times)));
            }
            in_turn(short, &mut sides)?
        };
        let best = |wanted: Kind| {
            let of = ways.iter().zip(&times).filter(|((kind, ..), _)| *kind == wanted);
            of.min_by(|a, b| median(a.1).total_cmp(&median(b.1))).map(|((_, name, _), times)| (name.as_str(), times))
        };
        let mut line = format!("| {size} |");
        for (kind, _) in KINDS {
            let text = best(kind).map_or("-".into(), |(name, times)| {
                let name = if name.is_empty() { String::new() } else { format!(" ({name})") };
                format!("{:.1}{name}", median(times) * 1e6)
            });
            line += &format!(" {text} |");
        }
        for against in [Kind::Hand, Kind::HandChannel, Kind::Cells] {
            let ratio = best(against).zip(best(Kind::Groups)).map(|((_, other), (_, own))| {
                let of_rounds: Vec<f64> = other.iter().zip(own).map(|(other, own)| other / own).collect();
                median(&of_rounds)
            });
            line += &ratio.map_or(" - |".into(), |ratio| format!(" {ratio:.2} |"));
        }
        if let Some((name, own)) = best(Kind::Groups) {
            let case = format!("{} {size}, groups {name}", self.program);
            let work = Work { case, check: check.into(), cells: steps * cells, bytes: 8 * cells };
            let other = best(Kind::HandChannel).or_else(|| best(Kind::Cells));
            self.output.row(&Row::new(&work, own, other.map(|(name, times)| (name, times.as_slice()))))?;
        }
        for ((kind, name, _), times) in ways.iter().zip(&times) {
            let micros = median(times) * 1e6;
            let values: Vec<f64> = times.iter().map(|seconds| seconds * 1e6).collect();
            self.output.point(
                (&format!("channels {}", self.program), size, &format!("{kind:?} {name}")),
                &values,
                "us",
            )?;
            self.sweep.push((size.to_owned(), *kind, name.clone(), micros));
        }
        self.lines.push(line);
        Ok(())
    }

    /// Prints the best of each kind, and all of those kinds of which there are several.
    fn print(self) {
        println!("\n{}: microseconds of a run, the best of each kind; speed of groups over others.\n", self.program);
        let heads = KINDS.map(|(_, name)| name).join(" | ");
        println!("| size | {heads} | of by hand | of channels by hand | of cells |\n|{}", "---|".repeat(9));
        self.lines.iter().for_each(|line| println!("{line}"));
        for (wanted, title) in [(Kind::HandChannel, "by hand, channels"), (Kind::Groups, "tida, groups")] {
            let mut names: Vec<&str> = Vec::new();
            for (_, kind, name, _) in &self.sweep {
                if *kind == wanted && !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
            if names.len() < 2 {
                continue;
            }
            let mut sizes: Vec<&str> = Vec::new();
            for (size, ..) in &self.sweep {
                if !sizes.contains(&size.as_str()) {
                    sizes.push(size);
                }
            }
            println!(
                "\n{title}, microseconds of a run.\n\n| | {} |\n|{}",
                sizes.join(" | "),
                "---|".repeat(sizes.len() + 1)
            );
            for name in names {
                let of = |size: &&str| {
                    let found = self.sweep.iter().find(|(of, kind, by, _)| of == size && *kind == wanted && by == name);
                    found.map_or("-".into(), |(.., micros)| format!("{micros:.1}"))
                };
                println!("| {name} | {} |", sizes.iter().map(of).collect::<Vec<_>>().join(" | "));
            }
        }
        println!();
    }
}

impl Bench {
    /// Accelerators: one step a launch, and as tida chooses.
    fn unfused_and_chosen(&self) -> Result<[TileAcc; 2]> {
        let build = |fuse| TileAcc::builder().device(self.device).compile(tida::Compile::Wait).fuse(fuse).build();
        Ok([build(Fuse::Off)?, build(Fuse::Auto)?])
    }

    /// Sizes, or the smallest where there is no GPU.
    fn sizes<T: Copy>(&self, sizes: &[T], small: T) -> Vec<T> {
        if self.gpu.is_some() { sizes.to_vec() } else { vec![small] }
    }
}

/// The programs by hand.
fn by_hand(gpu: &Gpu) -> Result<Arc<CudaModule>> {
    gpu.compile(include_str!("../../reference/channels.cu"), Flags::Exact, &[])
}

/// A hash, as that of `channels.cu`.
fn hash(i: usize) -> u32 {
    let mut i = i as u32;
    i = (i ^ (i >> 16)).wrapping_mul(0x7feb_352d);
    i = (i ^ (i >> 15)).wrapping_mul(0x846c_a68b);
    i ^ (i >> 16)
}

/// Where a cell outside a line of `n` is reflected to.
fn reflected(i: i64, n: i64) -> i64 {
    if i < 0 {
        -1 - i
    } else if i >= n {
        2 * n - 1 - i
    } else {
        i
    }
}

/// `1M`, `128K`.
fn short(n: usize) -> String {
    if n >= 1 << 20 { format!("{}M", n >> 20) } else { format!("{}K", n >> 10) }
}
