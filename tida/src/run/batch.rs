//! What became of recorded work, batch by batch: how many launches it took, what ran together, and why no more did.

use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;

use super::streamed::{Ended, counted};
use crate::device::counts::Tally;

/// Batches that are kept, and parts of a batch that ran together.
const KEPT: usize = 64;

/// A line of the program.
type Line = &'static Location<'static>;

/// What was recorded until something started all of it: the host waited, the program called
/// [`flush`](crate::TileAcc::flush), or nothing was recorded for a while. See
/// [`TileAcc::batches`](crate::TileAcc::batches).
///
/// Its text says all of it, with a line for each part that ran together.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Batch {
    /// Sweeps over arrays that have room. Those that streamed are in [`Streamed`](crate::Streamed).
    pub sweeps: u64,
    /// Fills of their ghosts.
    pub ghost_fills: u64,
    /// Other work on them: reductions, copies, fills of cells.
    pub others: u64,
    /// Launches on the device that this work took.
    pub launches: u64,
    /// Sweeps, reductions and kernels that set ghosts that ran as one with the sweep before them.
    pub joined: u64,
    /// Bytes that were copied to the device for this work.
    pub h2d_bytes: u64,
    /// Bytes that were copied from the device for it, and for the host to read after it.
    pub d2h_bytes: u64,
    /// What ran together: the last 64 such parts, in the order in which they ended.
    pub parts: Vec<BatchPart>,
    /// Why sweeps that repeat on two arrays in turn did not run as steps of one launch, with the line of the kernel
    /// that is the reason: each once, the first 64. Whether steps together gain something is another question: see
    /// [`TileAccBuilder::fuse`](crate::TileAccBuilder::fuse).
    pub apart: Vec<String>,
    /// The lines that recorded the first and the last of the work.
    pub recorded: [&'static Location<'static>; 2],
    /// What started all of it, with the line.
    pub ended: String,
}

/// Sweeps that ran together, or were held back to run together: see [`Batch::parts`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BatchPart {
    /// Sweeps of the program.
    pub sweeps: u64,
    /// Launches that they were planned as: fewer, if several steps are one launch or several sweeps are one. Sweeps
    /// that are one kernel run by themselves until that is compiled.
    pub launches: u64,
    /// The lines that recorded the first and the last of them.
    pub recorded: [&'static Location<'static>; 2],
    /// Why no more work could be a part of it, with the line that was the reason.
    pub ended: String,
}

/// A part that ran together.
#[derive(Clone, Copy, Debug)]
struct Part {
    sweeps: u64,
    launches: u64,
    recorded: [Line; 2],
    ended: Ended,
}

/// What was recorded so far.
#[derive(Debug, Default)]
pub(crate) struct OpenBatch {
    sweeps: u64,
    fills: u64,
    others: u64,
    recorded: Option<[Line; 2]>,
    together: VecDeque<Part>,
    /// What was held back and has started, while more may come.
    held: Option<(u64, u64, [Line; 2])>,
    /// What is going on: the reason if something ends now.
    now: Option<Ended>,
    /// See [`Batch::apart`].
    pub apart: Vec<String>,
}

impl OpenBatch {
    /// Whatever ends from now on does so for this reason.
    pub fn ends_by(&mut self, now: Ended) {
        self.now = Some(now);
    }

    fn recorded(&mut self, line: Line) {
        self.recorded.get_or_insert([line; 2])[1] = line;
    }

    /// A sweep was recorded.
    pub fn sweep(&mut self, line: Line) {
        self.sweeps += 1;
        self.recorded(line);
    }

    /// A sweep was recorded; those of a chain are told of elsewhere.
    pub fn sweep_of(&mut self, chain: Option<u64>, line: Line) {
        if chain.is_none() {
            self.sweep(line);
        }
    }

    /// A fill of ghosts was recorded.
    pub fn fill(&mut self, line: Line) {
        self.fills += 1;
        self.recorded(line);
    }

    /// Other work was recorded.
    pub fn other(&mut self, line: Line) {
        self.others += 1;
        self.recorded(line);
    }

    /// Some sweeps that were held back start in so many launches. More may follow.
    pub fn starts(&mut self, (sweeps, launches): (u64, u64), lines: [Line; 2]) {
        if sweeps > 0 {
            let held = self.held.get_or_insert((0, 0, lines));
            *held = (held.0 + sweeps, held.1 + launches, [held.2[0], lines[1]]);
        }
    }

    /// Nothing more follows what was held back.
    pub fn no_more(&mut self) {
        if let Some((sweeps, launches, lines)) = self.held.take() {
            self.ran((sweeps, launches), lines);
        }
    }

    /// These sweeps run together, and no more.
    pub fn ran(&mut self, (sweeps, launches): (u64, u64), recorded: [Line; 2]) {
        if let Some(ended) = self.now.filter(|_| sweeps > 1) {
            if self.together.len() == KEPT {
                self.together.pop_front();
            }
            self.together.push_back(Part { sweeps, launches, recorded, ended });
        }
    }
}

/// A batch that has ended: its nodes have the numbers from `first` on and before `end`.
struct EndedBatch {
    first: u64,
    end: u64,
    batch: OpenBatch,
    lines: [Line; 2],
    ended: Ended,
    tally: Tally,
}

/// The last batches, oldest first.
#[derive(Default)]
pub(crate) struct Batches {
    done: VecDeque<EndedBatch>,
    /// Where the numbers of nodes start of what is recorded now, and what these have done so far.
    first: u64,
    tally: Tally,
}

impl Batches {
    /// What was recorded has ended; later nodes have the number `end` or a higher one.
    pub fn end(&mut self, batch: OpenBatch, ended: Ended, end: u64) {
        let Some(lines) = batch.recorded else { return };
        if self.done.len() == KEPT {
            self.done.pop_front();
        }
        let (first, tally) = (self.first, std::mem::take(&mut self.tally));
        self.done.push_back(EndedBatch { first, end, batch, lines, ended, tally });
        self.first = end;
    }

    /// A node has done this.
    pub fn did(&mut self, node: u64, what: Tally) {
        if node >= self.first {
            self.tally.add(&what);
        } else if let Some(of) = self.done.iter_mut().rfind(|of| (of.first..of.end).contains(&node)) {
            of.tally.add(&what);
        }
    }

    /// The host has done this to read what a batch left.
    pub fn host_did(&mut self, what: Tally) {
        self.done.back_mut().map_or(&mut self.tally, |last| &mut last.tally).add(&what);
    }

    pub fn all(&self) -> Vec<Batch> {
        self.done.iter().map(Batch::of).collect()
    }
}

impl Batch {
    fn of(EndedBatch { batch, lines, ended, tally, .. }: &EndedBatch) -> Batch {
        let part = |part: &Part| BatchPart {
            sweeps: part.sweeps,
            launches: part.launches,
            recorded: part.recorded,
            ended: part.ended.to_string(),
        };
        Batch {
            sweeps: batch.sweeps,
            ghost_fills: batch.fills,
            others: batch.others,
            launches: tally.launches,
            joined: tally.joined,
            h2d_bytes: tally.uploaded,
            d2h_bytes: tally.downloaded,
            parts: batch.together.iter().map(part).collect(),
            apart: batch.apart.clone(),
            recorded: *lines,
            ended: ended.to_string(),
        }
    }
}

impl fmt::Display for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, last] = self.recorded;
        let sweeps = counted(self.sweeps, "sweep", "sweeps");
        let fills = counted(self.ghost_fills, "ghost fill", "ghost fills");
        let others = counted(self.others, "other piece of work", "other pieces of work");
        write!(f, "{sweeps}, {fills} and {others}, recorded at {first} to {last}: ")?;
        let launches = counted(self.launches, "launch", "launches");
        write!(f, "{launches}, {} bytes to the device, {} bytes back", self.h2d_bytes, self.d2h_bytes)?;
        if self.joined > 0 {
            write!(f, ", {} as one with the sweep before", self.joined)?;
        }
        write!(f, "; ended as {}", self.ended)?;
        self.parts.iter().try_for_each(|part| write!(f, "\n  {part}"))?;
        self.apart.iter().try_for_each(|why| write!(f, "\n  one step a launch: {why}"))
    }
}

impl fmt::Display for BatchPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, last] = self.recorded;
        let (sweeps, launches) = (self.sweeps, counted(self.launches, "launch", "launches"));
        write!(f, "{sweeps} sweeps recorded at {first} to {last} in {launches}; ended as {}", self.ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> [Line; 2] {
        [Location::caller(), Location::caller()]
    }

    #[test]
    fn what_nodes_do_is_their_batches() {
        let mut batches = Batches::default();
        let tally = |launches| Tally { launches, ..Tally::default() };
        let end = |batches: &mut Batches, end| {
            let mut open = OpenBatch::default();
            open.sweep(lines()[0]);
            batches.end(open, Ended::Pause, end);
        };
        batches.did(3, tally(1));
        end(&mut batches, 10);
        // It was recorded before the end, and runs after it.
        batches.did(9, tally(2));
        batches.did(10, tally(4));
        end(&mut batches, 20);
        let launches = |batches: &Batches| batches.all().iter().map(|batch| batch.launches).collect::<Vec<_>>();
        assert_eq!(launches(&batches), [3, 4]);
        // What ran too late for a report that is gone is no other batch's.
        (0..KEPT as u64).for_each(|n| end(&mut batches, 30 + n));
        batches.did(9, tally(1));
        assert_eq!(launches(&batches), [0; KEPT]);
        batches.host_did(Tally { downloaded: 7, ..Tally::default() });
        assert_eq!(batches.all().last().map(|batch| batch.d2h_bytes), Some(7));
    }

    #[test]
    fn what_was_held_back_goes_on_until_something_ends_it() {
        let (mut open, [first, last]) = (OpenBatch::default(), lines());
        open.ends_by(Ended::Pause);
        open.no_more();
        open.starts((3, 1), [first; 2]);
        open.starts((2, 2), [last; 2]);
        open.no_more();
        // One alone runs with nothing.
        open.starts((1, 1), [last; 2]);
        open.no_more();
        let parts: Vec<_> = open.together.iter().map(|part| (part.sweeps, part.launches, part.recorded)).collect();
        assert_eq!(parts, [(5, 3, [first, last])]);
    }
}
