//! How many steps run together, and how: what is asked for, and a model of what they cost.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::{Faces, Fused, Place, Steps, WARP};
use crate::plan::auto::Machine;

/// What is asked for: `auto`, `off`, a number of steps, or `depth=5,block=64x8,cells=2,planes=64,held=2,shuffle=off`
/// (any of them).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Asked {
    /// What a model of costs says.
    #[default]
    Auto,
    /// One step a launch.
    Off,
    /// These; the rest is chosen.
    Parts(Parts),
}

/// Parts of a plan that are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Parts {
    /// Steps of a launch.
    pub depth: Option<u32>,
    /// Threads of a block along x and y.
    pub block: Option<[u32; 2]>,
    /// Cells of a thread: along x and y, or along x (two axes) or y (three) alone.
    pub cells: Option<(u32, Option<u32>)>,
    /// Planes of a chunk.
    pub planes: Option<u32>,
    /// Blocks that a multiprocessor should have room for.
    pub held: Option<u32>,
    /// Whether threads of a warp tell each other by shuffles what they read.
    pub shuffled: Option<bool>,
}

impl Asked {
    /// Whether no steps are to run together.
    pub fn is_off(&self) -> bool {
        *self == Asked::Off
    }

    /// The parts that are asked for.
    pub fn parts(&self) -> Parts {
        match self {
            Asked::Parts(parts) => *parts,
            _ => Parts::default(),
        }
    }
}

/// Most steps, cells and threads that can be asked for.
const MOST: [u32; 3] = [LONGEST, 16, 1024];

/// Most steps of a launch.
pub const LONGEST: u32 = 31;

impl Chosen {
    /// The parts that a plan is found again by: its planes and the blocks that have room follow from them.
    pub fn parts(&self) -> Parts {
        let Fused { depth, cells: [y, x], shuffled, .. } = self.fused;
        Parts {
            depth: Some(depth.into()),
            block: Some([self.block[0], self.block[1]]),
            cells: Some((x.into(), Some(y.into()))),
            planes: None,
            held: None,
            shuffled: Some(shuffled),
        }
    }
}

impl fmt::Display for Parts {
    /// As [`Asked`] understands it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = Vec::new();
        all.extend(self.depth.map(|n| format!("depth={n}")));
        all.extend(self.block.map(|[x, y]| format!("block={x}x{y}")));
        all.extend(self.cells.map(|(x, y)| y.map_or(format!("cells={x}"), |y| format!("cells={x}x{y}"))));
        all.extend(self.planes.map(|n| format!("planes={n}")));
        all.extend(self.held.map(|n| format!("held={n}")));
        all.extend(self.shuffled.map(|on| format!("shuffle={}", if on { "on" } else { "off" })));
        f.write_str(&all.join(","))
    }
}

impl FromStr for Asked {
    /// What was found instead, and what is understood.
    type Err = String;

    fn from_str(text: &str) -> Result<Asked, String> {
        let within = |name: &str, text: &str, most: u32| match text.trim().parse::<u32>() {
            Ok(n) if (1..=most).contains(&n) => Ok(n),
            _ => Err(format!("`{text}` as {name}, which is a number from 1 to {most}")),
        };
        match text.trim() {
            "" | "auto" => return Ok(Asked::Auto),
            "off" | "1" => return Ok(Asked::Off),
            _ => {}
        }
        let mut parts = Parts::default();
        for part in text.split(',').map(str::trim) {
            match part.split_once('=').unwrap_or(("depth", part)) {
                ("depth", n) => parts.depth = Some(within("steps", n, MOST[0])?),
                ("cells", n) => {
                    let within = |n| within("cells of a thread", n, MOST[1]);
                    parts.cells = Some(match n.split_once('x') {
                        Some((x, y)) => (within(x)?, Some(within(y)?)),
                        None => (within(n)?, None),
                    });
                }
                ("shuffle", "on") => parts.shuffled = Some(true),
                ("shuffle", "off") => parts.shuffled = Some(false),
                ("planes", n) => parts.planes = Some(within("planes of a chunk", n, i32::MAX as u32 / 4)?),
                ("held", n) => parts.held = Some(within("blocks", n, 32)?),
                ("block", n) => {
                    let (x, y) = n.split_once('x').unwrap_or((n, "1"));
                    let (x, y) = (within("threads", x, MOST[2])?, within("threads", y, MOST[2])?);
                    parts.block = Some([x, y]).filter(|_| x * y <= MOST[2]);
                    parts.block.ok_or(format!("a block of {x} x {y} threads, which has at most {}", MOST[2]))?;
                }
                (name, _) => {
                    return Err(format!(
                        "`{name}`; `auto`, `off`, a number of steps or `depth=3,block=32x8,cells=2,planes=64,held=1,shuffle=on`"
                    ));
                }
            }
        }
        Ok(Asked::Parts(parts))
    }
}

/// Where steps are to run.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Cells of the box along the axes of the kernel.
    pub extent: &'a [i64],
    /// What lies around it.
    pub faces: &'a Faces,
    /// The device.
    pub machine: &'a Machine,
    /// Bytes that a block's threads may share.
    pub shared: u64,
    /// Most threads of a block.
    pub threads: u32,
    /// Operations of a step on a cell.
    pub work: u32,
    /// Bytes that a step reads of a cell of other arrays.
    pub others: u32,
    /// The compiler is told to write out planes that follow one another.
    pub unrolled: bool,
    /// Cycles from one launch to the next at least.
    pub launch: f64,
    /// Threads of a warp can tell each other what is in their registers.
    pub shuffles: bool,
}

/// How steps are to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// What the text follows from.
    pub fused: Fused,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Planes of a chunk.
    pub planes: u32,
    /// Cycles of a step over the box, as far as a model can tell.
    pub cycles: f64,
}

/// 32-bit registers of a multiprocessor, of a thread at most, and those that a thread has for other things, without and
/// with shuffles.
const REGISTERS: [u64; 4] = [65536, 255, 36, 48];
/// Bytes that the blocks of a multiprocessor share at most, threads that it has room for, and bytes that a block takes
/// by itself.
const TOGETHER: [u64; 3] = [228 << 10, 2048, 1 << 10];
/// Bytes of memory that a multiprocessor moves in a cycle: single steps and forms with shuffles in three axes, blocks
/// without shuffles, and warps with tiles of their own (two axes), which compute and move in turn.
const MOVED: [f64; 3] = [15.0, 13.5, 19.5];
/// Cycles of a multiprocessor for a cell of a form with shuffles in three axes beside its operations, of one warp: a
/// part, and one that the cells of a thread share.
const APART: [f64; 2] = [1.0, 11.0];
/// What a lone block takes more, as nothing else runs while it waits for its own threads (shuffles in three axes); and
/// what blocks of several warps with tiles of their own take more, as each lasts as long as its last one.
const LONE: [f64; 2] = [1.15, 1.1];
/// Most steps that are chosen: what those of a plane wait for one another adds up.
const DEEPEST: u32 = 7;
/// Most steps that are chosen of two axes with shuffles, where what is told is read of several rows.
const CORNERS: u64 = 5;
/// Cycles that a step of a plane takes at least: shared memory, a chain of operations.
const CHAIN: f64 = 90.0;

/// The best way that is known to run so many steps (or with `odd`, an odd number up to that); none if it is not worth
/// it or there is none.
pub fn choose(steps: &Steps, target: &Target<'_>, asked: &Parts, most: u32, odd: bool) -> Option<Chosen> {
    ways(steps, target, asked, most, odd).into_iter().min_by(|a, b| a.cycles.total_cmp(&b.cycles))
}

/// Ways to run an odd number of steps up to `most` that are worth a trial, the best first: of each number of steps,
/// with and without shuffles, the three that should be the fastest; 14 in all.
pub fn worth_a_trial(steps: &Steps, target: &Target<'_>, asked: &Parts, most: u32) -> Vec<Chosen> {
    let mut all = ways(steps, target, asked, most, true);
    all.sort_by(|a, b| a.cycles.total_cmp(&b.cycles));
    let mut found: Vec<Chosen> = Vec::new();
    for way in all {
        let alike =
            |other: &&Chosen| (other.fused.depth, other.fused.shuffled) == (way.fused.depth, way.fused.shuffled);
        if found.iter().filter(alike).count() < 3 && found.len() < 14 {
            found.push(way);
        }
    }
    found
}

/// Why steps run one by one there, if they do.
pub fn why_none(steps: &Steps, target: &Target<'_>, asked: &Parts) -> &'static str {
    if !steps.knows(target.faces, target.extent) {
        return "what stands for cells beyond a face is further away than what it reads, or has other coordinates";
    }
    match ways(steps, target, asked, LONGEST, true).is_empty() {
        true => "no block has room for what its threads keep of several steps: registers, or memory that they share",
        false => "several steps in a launch take as long as one by one, as a model counts",
    }
}

/// All ways to run so many steps, or with `odd` an odd number up to that.
fn ways(steps: &Steps, target: &Target<'_>, asked: &Parts, most: u32, odd: bool) -> Vec<Chosen> {
    let there = target.extent.len() == steps.rank && target.extent.iter().all(|n| *n > 0);
    if most < 2 || !there || !steps.knows(target.faces, target.extent) {
        return Vec::new();
    }
    let steps = &steps.between(target.faces);
    let depths: Vec<u32> = match (odd, asked.depth) {
        (false, _) => vec![most],
        (true, Some(depth)) => vec![(depth.min(most) - 1) | 1],
        (true, None) => (3..=most.min(DEEPEST)).step_by(2).collect(),
    };
    let forms: Vec<bool> = asked.shuffled.map_or_else(|| vec![false, true], |one| vec![one]);
    let told = steps.components() == 1 && SHUFFLED.contains(&steps.bytes());
    let can_shuffle = |form: &bool| !form || target.shuffles && told;
    let mut found = Vec::new();
    for depth in depths.into_iter().filter(|depth| (2..=MOST[0]).contains(depth)) {
        for shuffled in forms.iter().copied().filter(can_shuffle) {
            let usual = || blocks(steps.rank, shuffled, steps.components() > 1);
            for [x, y] in asked.block.map_or_else(usual, |block| vec![block]) {
                for cells in asked_cells(asked, steps.rank).unwrap_or_else(|| cells(steps.rank, shuffled)) {
                    let fused = Fused {
                        out: steps.pair.0 as u8,
                        inp: steps.pair.1 as u8,
                        depth: depth as u8,
                        cells,
                        shuffled,
                        faces: *target.faces,
                        reach: steps.reach(),
                        unrolled: target.unrolled,
                        held: 1,
                        varied: false,
                        kernels: 1,
                        computes: steps.computes,
                    };
                    let block = [x, if steps.rank == 2 { 1 } else { y }, 1];
                    let suits = fused.suits(steps.rank, block);
                    found.extend(suits.then(|| cost(steps, target, fused, block, asked)).flatten());
                }
            }
        }
    }
    found
}

/// Bytes of values that threads of a warp can tell each other, and that copies which no thread waits for bring.
const SHUFFLED: [usize; 2] = [4, 8];

/// Blocks that are worth a try; of cells of several components, small ones too, which share little.
fn blocks(rank: usize, shuffled: bool, several: bool) -> Vec<[u32; 2]> {
    match (rank, shuffled) {
        (2, false) if several => vec![[WARP, 1], [64, 1], [128, 1], [256, 1], [512, 1]],
        (2, true) => vec![[WARP, 1], [2 * WARP, 1], [4 * WARP, 1]],
        (2, false) => vec![[64, 1], [128, 1], [256, 1], [512, 1]],
        (_, true) => vec![[WARP, 8], [WARP, 12], [WARP, 16]],
        (_, false) => vec![[32, 4], [32, 8], [64, 4], [32, 16], [64, 8]],
    }
}

/// Cells of a thread along y and x that are worth a try.
fn cells(rank: usize, shuffled: bool) -> Vec<[u8; 2]> {
    match (rank, shuffled) {
        (2, true) => vec![[1, 2], [1, 4], [1, 8]],
        (2, false) => vec![[1, 1], [1, 2], [1, 4]],
        (_, true) => vec![[2, 1], [4, 1], [2, 2], [3, 2], [4, 2]],
        (_, false) => vec![[1, 1], [2, 1], [4, 1]],
    }
}

/// Those that are asked for.
fn asked_cells(asked: &Parts, rank: usize) -> Option<Vec<[u8; 2]>> {
    let cells = match asked.cells? {
        (x, Some(y)) => [y, x],
        (n, None) if rank == 2 => [1, n],
        (n, None) => [n, 1],
    };
    Some(vec![cells.map(|n| n as u8)])
}

/// Cycles from one launch to the next at least, of work that takes less, on a GPU that has room for the arrays: the
/// host and the driver take 7 to 8 µs (one H200). Where planes stream, the link takes longer. A CPU behind OpenCL is as
/// near as the host.
pub const LAUNCH: f64 = 14_000.0;

/// Cycles from a launch to the next, of work that takes so many.
fn launched(cycles: f64, target: &Target<'_>) -> f64 {
    // Of launches that take equally long, the one with less work is better.
    cycles.max(target.launch) + if target.launch > 0.0 { 1e-3 * cycles } else { 0.0 }
}

/// Cycles of a step that runs by itself.
pub fn single(steps: &Steps, target: &Target<'_>) -> f64 {
    let cells: f64 = target.extent.iter().map(|n| *n as f64).product();
    let bytes = 2.0 * steps.bytes() as f64 + f64::from(target.others);
    let moved = cells * bytes / MOVED[0] / f64::from(target.machine.multiprocessors.max(1));
    launched(moved, target)
}

/// A plan with what it costs; none if a block has no room for it.
fn cost(steps: &Steps, target: &Target<'_>, fused: Fused, block: [u32; 3], asked: &Parts) -> Option<Chosen> {
    let (rank, size) = (steps.rank, steps.bytes() as u64);
    let threads = u64::from(block[0]) * u64::from(block[1]);
    let (depth, cells) = (u64::from(fused.depth), fused.each().unsigned_abs());
    let stream = steps.stream(&fused);
    let shared = fused.shared(steps, block);
    let (words, value) = (size.div_ceil(4), (size / steps.components().max(1) as u64).div_ceil(4));
    let told = steps.shuffles(&fused);
    // Those of several planes are kept.
    let near: u64 = told.values().filter(|[lo, hi]| lo < hi).map(|[lo, hi]| (hi - lo) as u64).sum();
    let registers = match fused.shuffled {
        true => words * (depth * (cells * (stream.kept() as u64 - 1) + near) + 3 * cells) + REGISTERS[3],
        false => value * depth * cells * steps.kept(&fused) + words * 2 * cells + REGISTERS[2],
    };
    let tiles = fused.blocks(block, 1, target.extent)?;
    let [tile, core] =
        [fused.tile(rank, block), fused.core(rank, block)].map(|[y, x]| (y * x * i64::from(fused.tiles(block))) as f64);
    if threads > target.threads.into() || shared > target.shared || core < 1.0 {
        return None;
    }
    // With what is kept of the rows before, more steps were no faster.
    if rank == 2 && fused.shuffled && near > 0 && depth > CORNERS && asked.depth.is_none() {
        return None;
    }
    let room = |held: u64| {
        // A multiprocessor has four parts, and each of them its warps and their registers.
        let warps = (threads * held).div_ceil(WARP.into()).next_multiple_of(4);
        let own = (REGISTERS[0] / (warps * u64::from(WARP)) / 8 * 8).min(REGISTERS[1]);
        registers <= own && (shared + TOGETHER[2]) * held <= TOGETHER[0] && threads * held <= TOGETHER[1]
    };
    let most = (1..=16).take_while(|held| room(*held)).last();
    let held = asked.held.map(u64::from).or(most)?;
    let fused = Fused { held: held as u8, ..fused };
    // Cycles of a multiprocessor for a plane of all its blocks.
    let (rate, each) = (if steps.scalar.size() == 8 { 64.0 } else { 128.0 }, cells as f64);
    let (near, handed) = exchanged(steps, &fused);
    let shared = (near + handed) / each * size as f64 / 128.0;
    let work = f64::from(target.work);
    let issued = (work + (near + handed) / each + 5.0) / 128.0;
    // Threads of a warp reach for other arrays at cells that lie apart.
    let far = f64::from(target.others) / 4.0 * f64::from(fused.cells[1]) / 40.0;
    // Few warps do not hide what each waits for.
    let warps = (threads * held) as f64 / 32.0;
    // What a step reads of other arrays was read by the step before, not long ago: a warp's own rows are still near.
    let again = f64::from(target.others) * (1.0 + (depth - 1) as f64 / if fused.shuffled { 8.0 } else { 1.0 });
    let bytes = tile * (size as f64 + again) + core * size as f64;
    let steps_of = |cell: f64| tile * depth as f64 * cell;
    let all = held as f64
        * match (fused.shuffled, rank) {
            (true, 2) => {
                let uneven = if fused.tiles(block) > 1 { LONE[1] } else { 1.0 };
                (steps_of(work / rate + far) + bytes / MOVED[2]) * uneven
            }
            (true, _) => {
                let lone = if held == 1 { LONE[0] } else { 1.0 };
                let cell = work / rate + (APART[0] + APART[1] / each) / warps + far;
                steps_of(cell).max(bytes / MOVED[0]) * lone
            }
            (false, _) => {
                let cell = (work / rate).max(shared).max(issued) * 1.2 * (1.0 + 6.0 / warps);
                steps_of(cell).max(bytes / MOVED[1])
            }
        };
    // Barriers, those of blocks whose rows are long too.
    let waits = match (fused.shuffled, rank) {
        (true, _) => 1.0,
        (false, 2) => 1.25,
        (false, _) => 1.15,
    };
    let plane = all.max(depth as f64 * CHAIN + 60.0) * waits;
    let warm = (depth as i64 * (i64::from(fused.reach[4 - rank][0]) + stream.lag)) as f64;
    let across = (tiles[0] * tiles[1]) as f64;
    let whole = target.extent[0].max(1);
    let at_once = (u64::from(target.machine.multiprocessors.max(1)) * held) as f64;
    // Warps that wait for no other drift apart, and end apart if none come after them.
    let drift = if rank == 2 && fused.shuffled { 0.18 } else { 0.0 };
    let of = |planes: i64| {
        let chunks = ((whole + planes - 1) / planes) as f64;
        let rounds = across * chunks / at_once;
        rounds.ceil() * (planes as f64 + warm) * plane * (1.0 + drift / rounds.ceil())
    };
    let lengths = (1..=128).map(|chunks| (whole + chunks - 1) / chunks);
    let planes = match asked.planes {
        Some(planes) => i64::from(planes).min(whole),
        None => lengths.min_by(|a, b| of(*a).total_cmp(&of(*b)))?,
    };
    let cycles = launched(of(planes), target) / depth as f64;
    Some(Chosen { fused, block, planes: u32::try_from(planes).ok()?, cycles })
}

/// Values that a thread reads of other threads' cells in a step of a plane, and those that it hands to them.
fn exchanged(steps: &Steps, fused: &Fused) -> (f64, f64) {
    let near: BTreeSet<Place> = steps.places(fused).filter(|place| !fused.at_once(place)).collect();
    let handed: BTreeSet<i64> = near.iter().map(|place| place.cell).collect();
    (near.len() as f64, handed.len() as f64)
}
