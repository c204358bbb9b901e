//! Sums: what moved, and how busy everything was.

use std::fmt;

use super::{Span, SpanKind};

/// What an accelerator did so far, from [`TileAcc::stats`](crate::TileAcc::stats). Sizes are in bytes, times in
/// seconds.
///
/// Printed with `{}` it is the summary that the examples print.
///
/// ```
/// use tida::prelude::*;
/// # fn main() -> tida::Result<()> {
/// let acc = TileAcc::builder().simulate(tida::SimDevice::new()).build()?;
/// let mut u = TileArray::<f64, 1>::builder([4]).build(&acc)?;
/// u.fill_value(1.0)?;
/// for tile in TileIter::new(&u) {
///     compute(&tile, &mut u, kernel!(|u, at| u[at] = u[at] + 1.0))?;
/// }
/// assert_eq!(u.read_box(u.domain())?, [2.0; 4]);
/// let stats = acc.stats();
/// assert_eq!((stats.launches, stats.evictions), (1, 0));
/// assert!(stats.h2d_bytes >= 32 && stats.d2h_bytes >= 32);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes copied to the device.
    pub h2d_bytes: u64,
    /// Bytes copied from the device.
    pub d2h_bytes: u64,
    /// Bytes that the devices of [places](crate::TileAcc::places) took from one another, and from those of other ranks
    /// of their host, without the host's memory in between: cells beside the borders of parts.
    pub strip_bytes: u64,
    /// Sweeps, reductions, ghost fills and copies launched on the device.
    pub launches: u64,
    /// Times that data left the device's memory to make room.
    pub evictions: u64,
    /// Passes over arrays that do not fit the device: data came in, was swept, and left. Where kernels run on the CPU,
    /// those of several sweeps over arrays that do not fit its caches.
    pub passes: u64,
    /// Steps done in all these passes.
    pub steps: u64,
    /// Launches on the device that did several steps at once: see
    /// [`TileAccBuilder::fuse`](crate::TileAccBuilder::fuse). On arrays that do not fit, those of all planes count
    /// as one.
    pub fused: u64,
    /// Steps done in all these launches.
    pub fused_steps: u64,
    /// Sweeps, reductions and kernels that set ghosts ([`fill_ghosts_with`](crate::fill_ghosts_with())) that ran as one
    /// with the sweep before them: see [`TileAccBuilder::join`](crate::TileAccBuilder::join).
    pub joined: u64,
    /// Rounds of a program that repeats itself, each of which started at once: see
    /// [`TileAccBuilder::rounds`](crate::TileAccBuilder::rounds). What they launch is counted above as always.
    pub rounds: u64,
    /// Runs of kernels that were timed to choose a plan: see
    /// [`TileAccBuilder::tune`](crate::TileAccBuilder::tune).
    pub trials: u64,
    /// Kernels that the device's compiler made, in the program's loop or beside it. Those that were found on disk do
    /// not count.
    pub compiled: u64,
    /// Seconds that compiling took, all kernels together. What is compiled beside the program stops nothing: see
    /// [`TileAccBuilder::compile`](crate::TileAccBuilder::compile).
    pub compile_seconds: f64,
    /// Bytes read from files that have the values of arrays: see
    /// [`TileAccBuilder::backed_by`](crate::TileAccBuilder::backed_by).
    pub file_read_bytes: u64,
    /// Bytes written to them.
    pub file_written_bytes: u64,
    /// How busy everything was, of the work that is done; `None` without a
    /// [timeline](crate::TileAccBuilder::timeline).
    pub busy: Option<Busy>,
}

impl Stats {
    /// The sums of both, of two places.
    pub(crate) fn and(&self, other: &Stats) -> Stats {
        Stats {
            h2d_bytes: self.h2d_bytes + other.h2d_bytes,
            d2h_bytes: self.d2h_bytes + other.d2h_bytes,
            strip_bytes: self.strip_bytes + other.strip_bytes,
            launches: self.launches + other.launches,
            evictions: self.evictions + other.evictions,
            passes: self.passes + other.passes,
            steps: self.steps + other.steps,
            fused: self.fused + other.fused,
            fused_steps: self.fused_steps + other.fused_steps,
            joined: self.joined + other.joined,
            rounds: self.rounds + other.rounds,
            trials: self.trials + other.trials,
            compiled: self.compiled + other.compiled,
            compile_seconds: self.compile_seconds + other.compile_seconds,
            file_read_bytes: self.file_read_bytes + other.file_read_bytes,
            file_written_bytes: self.file_written_bytes + other.file_written_bytes,
            busy: None,
        }
    }

    /// Steps that were done each time that data was on the device, on average; `None` if all of it stayed there.
    pub fn steps_per_residency(&self) -> Option<f64> {
        (self.passes > 0).then(|| self.steps as f64 / self.passes as f64)
    }
}

/// Parts of the time, 0 to 1, from the first span to the last.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Busy {
    /// Seconds from the start of the first span to the end of the last.
    pub seconds: f64,
    /// Part in which the link copied to the device.
    pub h2d: f64,
    /// Part in which the link copied from the device.
    pub d2h: f64,
    /// Part in which the device computed, ghosts included.
    pub kernels: f64,
    /// Part in which the host computed.
    pub cpu: f64,
    /// Part of the time that the link was busy in which the device computed too; `None` if the link was never busy.
    pub overlap: Option<f64>,
    /// Part of the time that the link was busy in which it was so in both directions; `None` as above.
    pub both_ways: Option<f64>,
    /// Part in which files were written or read.
    pub files: f64,
    /// Part of that time in which the device or the host computed too; `None` if there was none.
    pub files_overlap: Option<f64>,
}

impl Busy {
    pub(super) fn of(spans: &[Span]) -> Option<Busy> {
        let first = spans.iter().map(|span| span.start).min_by(f64::total_cmp)?;
        let last = spans.iter().map(|span| span.end).max_by(f64::total_cmp)?;
        let when = |kinds: &[SpanKind]| {
            union(spans.iter().filter(|span| kinds.contains(&span.kind)).map(|span| (span.start, span.end)).collect())
        };
        let (h2d, d2h) = (when(&[SpanKind::H2d]), when(&[SpanKind::D2h]));
        let (kernels, cpu) = (when(&[SpanKind::Kernel, SpanKind::Ghost]), when(&[SpanKind::Cpu]));
        let link = when(&[SpanKind::H2d, SpanKind::D2h]);
        let files = when(&[SpanKind::Files]);
        let computing = when(&[SpanKind::Kernel, SpanKind::Ghost, SpanKind::Cpu]);
        let part = |some: f64, all: f64| if all > 0.0 { some / all } else { 0.0 };
        let (seconds, link_seconds) = (last - first, length(&link));
        let of_link = |some: f64| (link_seconds > 0.0).then(|| some / link_seconds);
        Some(Busy {
            seconds,
            h2d: part(length(&h2d), seconds),
            d2h: part(length(&d2h), seconds),
            kernels: part(length(&kernels), seconds),
            cpu: part(length(&cpu), seconds),
            overlap: of_link(common(&link, &kernels)),
            both_ways: of_link(common(&h2d, &d2h)),
            files: part(length(&files), seconds),
            files_overlap: (length(&files) > 0.0).then(|| common(&files, &computing) / length(&files)),
        })
    }
}

/// Intervals that do not touch, in order, with the same points.
pub(super) fn union(mut intervals: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    intervals.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut apart: Vec<(f64, f64)> = Vec::new();
    for (start, end) in intervals {
        match apart.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => apart.push((start, end)),
        }
    }
    apart
}

/// Length of intervals that do not overlap.
pub(super) fn length(intervals: &[(f64, f64)]) -> f64 {
    // The sum of no floats is -0.
    intervals.iter().map(|(start, end)| end - start).fold(0.0, |sum, part| sum + part)
}

/// Length of what two lists have in common, each of intervals in order that do not overlap.
pub(super) fn common(a: &[(f64, f64)], b: &[(f64, f64)]) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        sum += (x.1.min(y.1) - x.0.max(y.0)).max(0.0);
        if x.1 < y.1 { i += 1 } else { j += 1 }
    }
    sum
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stats { launches, evictions, .. } = self;
        let s = |n: u64| if n == 1 { "" } else { "s" };
        write!(f, "{} to the device, {} from it", Bytes(self.h2d_bytes), Bytes(self.d2h_bytes))?;
        write!(f, "; {launches} launch{}", if *launches == 1 { "" } else { "es" })?;
        write!(f, ", {evictions} eviction{}", s(*evictions))?;
        if let Some(steps) = self.steps_per_residency() {
            write!(f, ", {steps:.1} steps a pass in {} pass{}", self.passes, if self.passes == 1 { "" } else { "es" })?;
        }
        if self.fused > 0 {
            let steps = self.fused_steps as f64 / self.fused as f64;
            write!(f, ", {steps:.1} steps in each of {} of the launches", self.fused)?;
        }
        if self.joined > 0 {
            write!(f, ", {} sweep{} joined", self.joined, s(self.joined))?;
        }
        if self.rounds > 0 {
            write!(f, ", {} round{}", self.rounds, s(self.rounds))?;
        }
        if self.trials > 0 {
            write!(f, ", {} trial{}", self.trials, s(self.trials))?;
        }
        if self.compiled > 0 {
            write!(f, ", {} kernel{} compiled in {:.2} s", self.compiled, s(self.compiled), self.compile_seconds)?;
        }
        let Some(busy) = self.busy else { return Ok(()) };
        let percent = |part: f64| format!("{:.0} %", 100.0 * part);
        write!(
            f,
            "\nbusy in {:.3} s: kernels {}, the host {}",
            busy.seconds,
            percent(busy.kernels),
            percent(busy.cpu)
        )?;
        write!(f, ", the link {} to the device, {} from it", percent(busy.h2d), percent(busy.d2h))?;
        if let (Some(overlap), Some(both)) = (busy.overlap, busy.both_ways) {
            write!(f, "\nof the link's busy time: {} beside kernels, {} both ways", percent(overlap), percent(both))?;
        }
        if let Some(beside) = busy.files_overlap {
            let files = percent(busy.files);
            write!(
                f,
                "\nfiles were written or read in {files} of the time, {} of that beside computing",
                percent(beside)
            )?;
        }
        Ok(())
    }
}

/// A number of bytes, to read.
pub(super) struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        match self.0 {
            0..1_000 => write!(f, "{} B", self.0),
            1_000..1_000_000 => write!(f, "{:.1} kB", bytes / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.1} MB", bytes / 1e6),
            _ => write!(f, "{:.1} GB", bytes / 1e9),
        }
    }
}
