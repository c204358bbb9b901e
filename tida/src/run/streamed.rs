//! What became of work over arrays that have no room as a whole: a report for each chain, with why it ended.

use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;

use super::chain::Chain;
use crate::device::counts::Tally;
use crate::device::timeline::Stats;
use crate::program::place::Kind;

/// Reports that are kept.
const KEPT: usize = 64;

/// Why a chain took no more work.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ended {
    /// The host waits for an array, for a value, or for all work.
    Waits(&'static Location<'static>),
    /// The program starts what it has recorded (`flush`).
    Flush(&'static Location<'static>),
    /// Work came that touches its arrays and can be no part of it.
    Beside { name: &'static str, recorded: &'static Location<'static>, why: &'static str },
    /// Nothing was recorded for a while.
    Pause,
    /// As much work waits as the look-ahead allows.
    LookAhead,
    /// It is long enough, and nothing else is under way.
    Long,
    /// The accelerator was dropped.
    Dropped,
}

impl Ended {
    /// Whether all that was recorded starts then.
    pub fn starts_all(self) -> bool {
        match self {
            Ended::Waits(_) | Ended::Flush(_) | Ended::Pause | Ended::LookAhead | Ended::Dropped => true,
            Ended::Beside { .. } | Ended::Long => false,
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Waits(place) => write!(f, "the host waits for its work at {place}"),
            Ended::Flush(place) => write!(f, "the program starts its work at {place}"),
            Ended::Beside { name, recorded, why } => write!(f, "{name} recorded at {recorded} {why}"),
            Ended::Pause => f.write_str("nothing more was recorded for a while (`patience`)"),
            Ended::LookAhead => f.write_str("as much work waits as `look_ahead` allows"),
            Ended::Long => f.write_str("it is long enough, and nothing else is under way"),
            Ended::Dropped => f.write_str("the accelerator was dropped"),
        }
    }
}

/// A number of things, in words.
pub(super) fn counted(n: u64, one: &str, more: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {more}") }
}

/// In which pieces arrays come and go while work over them runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamedBy {
    /// Planes of the first axis.
    Planes,
    /// Regions.
    Regions,
    /// Planes of arrays that come from the host and stay on the device.
    Arriving,
    /// Blocks that fit a processor's cache.
    Blocks,
}

/// Sweeps, ghost fills and reductions that ran together over arrays that stream: see
/// [`TileAcc::streamed`](crate::TileAcc::streamed).
///
/// Its text says all of it in one line.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Streamed {
    /// The pieces in which arrays came and went.
    pub by: StreamedBy,
    /// Sweeps among the work.
    pub sweeps: u64,
    /// Fills of ghosts among it.
    pub ghost_fills: u64,
    /// Reductions among it.
    pub reductions: u64,
    /// Passes over the arrays. Where arrays arrive and run as a whole, none.
    pub passes: u64,
    /// Bytes that were copied to the device meanwhile.
    pub h2d_bytes: u64,
    /// Bytes that were copied from the device meanwhile.
    pub d2h_bytes: u64,
    /// Bytes that were read meanwhile from files that have the values of arrays.
    pub file_read_bytes: u64,
    /// Bytes that were written to them meanwhile.
    pub file_written_bytes: u64,
    /// The lines that recorded the first and the last of the work.
    pub recorded: [&'static Location<'static>; 2],
    /// Why no more work could be a part of it, with the line that was the reason.
    pub ended: String,
}

impl fmt::Display for Streamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pieces = match self.by {
            StreamedBy::Planes => "planes",
            StreamedBy::Regions => "regions",
            StreamedBy::Arriving => "planes that stay",
            StreamedBy::Blocks => "blocks that fit a cache",
        };
        let [first, last] = self.recorded;
        let and = match self.reductions {
            0 => String::new(),
            n => format!(" and {}", counted(n, "reduction", "reductions")),
        };
        let files = match (self.file_read_bytes, self.file_written_bytes) {
            (0, 0) => String::new(),
            (read, written) => format!(", {read} bytes read from files, {written} bytes written to them"),
        };
        write!(
            f,
            "{} and {}{and}, recorded at {first} to {last}: {} by {pieces}, {} bytes to the device, {} bytes back\
             {files}; ended as {}",
            counted(self.sweeps, "sweep", "sweeps"),
            counted(self.ghost_fills, "ghost fill", "ghost fills"),
            counted(self.passes, "pass", "passes"),
            self.h2d_bytes,
            self.d2h_bytes,
            self.ended
        )
    }
}

/// The last reports, oldest first, with the numbers of their chains.
#[derive(Default)]
pub(crate) struct Reports(VecDeque<(Option<u64>, Streamed)>);

impl Reports {
    /// Adds what a chain did between two counts.
    pub fn add(&mut self, chain: &Chain, on_device: bool, [before, after]: [&Stats; 2]) {
        let (Some(first), Some(last), Some(ended)) = (chain.links.first(), chain.links.last(), chain.ended) else {
            return;
        };
        let by = match chain.kind {
            _ if !on_device => StreamedBy::Blocks,
            Kind::Planes => StreamedBy::Planes,
            Kind::Regions => StreamedBy::Regions,
            Kind::Arriving => StreamedBy::Arriving,
        };
        let (sweeps, reductions) = (chain.sweeps() as u64, chain.folds() as u64);
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        let streamed = Streamed {
            by,
            sweeps,
            ghost_fills: chain.links.len() as u64 - sweeps - reductions,
            reductions,
            passes: after.passes - before.passes,
            h2d_bytes: after.h2d_bytes - before.h2d_bytes,
            d2h_bytes: after.d2h_bytes - before.d2h_bytes,
            file_read_bytes: after.file_read_bytes - before.file_read_bytes,
            file_written_bytes: after.file_written_bytes - before.file_written_bytes,
            recorded: [first.node.recorded, last.node.recorded],
            ended: ended.to_string(),
        };
        self.0.push_back((first.node.chain, streamed));
    }

    /// A node of a chain has done this, which ran by itself.
    pub fn did(&mut self, chain: u64, what: Tally) {
        if let Some((_, of)) = self.0.iter_mut().rfind(|(number, _)| *number == Some(chain)) {
            of.h2d_bytes += what.uploaded;
            of.d2h_bytes += what.downloaded;
        }
    }

    pub fn all(&self) -> Vec<Streamed> {
        self.0.iter().map(|(_, streamed)| streamed.clone()).collect()
    }
}
