//! Writing snapshots while the program goes on.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;

use tida::array::{Field, Recorded};
use tida::{ErrorKind, TileAcc};

use crate::arrays::{Any, ArrayInfo, Cells, Stored, parts};
use crate::sink::{Part, RegionSink, Snapshot};
use crate::writer::{Pending, Shared};
use crate::{Error, Result};

/// Bytes of values that may wait to be written, unless the program says another number.
pub const BUDGET: usize = 256 << 20;

/// Threads that pack and write, at most, unless the program says another number: as many keep fast disks busy.
const THREADS: usize = 8;

/// Snapshots of arrays, written while the program computes.
///
/// [`step`](Snapshots::step) records that the values are taken, region by region as they are made, and returns;
/// threads of their own pack and write them. If more bytes wait than the budget allows, `step` waits until some are
/// written.
///
/// A snapshot counts when all of it is on the disk, and not before. If the disk fails, what counted before is still
/// there, and each later call gives the error. [`finish`](Snapshots::finish) waits for the rest; a value that is
/// dropped does the same, and says nothing of failures.
///
/// [`zarr::Writer::snapshot_every`](crate::zarr::Writer::snapshot_every) and
/// [`vtk::Writer::snapshot_every`](crate::vtk::Writer::snapshot_every) give one; [`zarr`](crate::zarr) has an example.
pub struct Snapshots {
    every: u64,
    budget: usize,
    threads: usize,
    last: Option<Snapshot>,
    state: State,
}

enum State {
    /// No snapshot was taken yet.
    Idle(Box<dyn RegionSink>),
    Writing(Writing),
    /// It has failed, or is finished.
    Ended(Option<Error>),
}

struct Writing {
    arrays: Vec<ArrayInfo>,
    /// The boxes that each comes by.
    boxes: Vec<Vec<Cells>>,
    shared: Shared,
    threads: Vec<JoinHandle<()>>,
    /// Values that are to be taken.
    taken: VecDeque<Recorded>,
    /// The number of the next snapshot.
    next: u64,
}

impl std::fmt::Debug for Snapshots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshots").field("every", &self.every).field("last", &self.last).finish_non_exhaustive()
    }
}

impl Snapshots {
    /// Snapshots of steps whose numbers are multiples of `every`, in the files of a sink.
    ///
    /// # Errors
    /// `every` is 0.
    pub fn every(every: u64, sink: impl RegionSink) -> Result<Snapshots> {
        if every == 0 {
            let tried = "take a snapshot every 0 steps";
            return Err(Error::new(ErrorKind::Argument, tried, "no step that is a multiple of 0", "give 1 or more"));
        }
        // Half of the processors: packing goes on beside the program. One thread packs while another one waits for the
        // disk.
        let threads = std::thread::available_parallelism().map_or(1, usize::from) / 2;
        let threads = threads.clamp(2, THREADS);
        Ok(Snapshots { every, budget: BUDGET, threads, last: None, state: State::Idle(Box::new(sink)) })
    }

    /// Sets how many bytes of values may wait to be written; a part that is larger is taken alone.
    pub fn budget(mut self, bytes: usize) -> Snapshots {
        self.budget = bytes;
        self
    }

    /// Sets how many threads pack and write: otherwise half as many as there are processors, from 2 to 8. They sleep
    /// while there is nothing to write. Each holds one part, packed, beside the bytes of the [budget](Self::budget).
    /// Files of NetCDF are written by one thread at a time, whatever the number, since their library can do no more.
    pub fn threads(mut self, threads: usize) -> Snapshots {
        self.threads = threads.max(1);
        self
    }

    /// Says that step `step` was done, at `time`. If `step` is a multiple of the number that the snapshots are made
    /// with, and lies after the last that is there already, records a snapshot of the arrays as they are here in the
    /// program; gives whether it did.
    ///
    /// Names and arrays are the same at each step. The first snapshot makes the files.
    ///
    /// # Errors
    /// Arrays that do not go with those of other snapshots; what the disk said of earlier ones; failed work that the
    /// values of earlier ones need.
    #[track_caller]
    pub fn step(&mut self, step: u64, time: f64, arrays: &[(&str, &dyn Stored)]) -> Result<bool> {
        if !step.is_multiple_of(self.every) {
            return Ok(false);
        }
        self.take(step, time, arrays)
    }

    /// As [`step`](Snapshots::step), whatever the number.
    ///
    /// # Errors
    /// As [`step`](Snapshots::step).
    #[track_caller]
    pub fn take(&mut self, step: u64, time: f64, arrays: &[(&str, &dyn Stored)]) -> Result<bool> {
        let all: Vec<ArrayInfo> = arrays
            .iter()
            .map(|(name, array)| {
                let Any(array) = array.any();
                array.info(name)
            })
            .collect();
        let Some((_, first)) = arrays.first() else { return check_arrays(&all).map(|()| false) };
        let Any(first) = first.any();
        self.begin(first.acc(), &all)?;
        if let State::Writing(writing) = &self.state {
            check_same(&writing.arrays, &all)?;
        }
        if self.last.is_some_and(|last| step <= last.step) {
            return Ok(false);
        }
        let taken = match &mut self.state {
            State::Writing(writing) => writing.take(step, time, arrays, self.budget),
            _ => Ok(()),
        };
        if let Err(e) = taken {
            self.end();
            self.state = State::Ended(Some(e.clone()));
            return Err(e);
        }
        self.last = Some(Snapshot { index: self.last.map_or(0, |last| last.index + 1), step, time });
        Ok(true)
    }

    /// The last snapshot that was recorded, or was there before.
    pub fn last(&self) -> Option<Snapshot> {
        self.last
    }

    /// Waits until all snapshots are on the disk; gives the last.
    ///
    /// # Errors
    /// What the disk said; failed work that the values need.
    #[track_caller]
    pub fn finish(mut self) -> Result<Option<Snapshot>> {
        self.end();
        match &self.state {
            State::Ended(Some(e)) => Err(e.clone()),
            _ => Ok(self.last),
        }
    }

    /// Makes sure that the writer runs.
    fn begin(&mut self, acc: &TileAcc, arrays: &[ArrayInfo]) -> Result<()> {
        let mut sink = match std::mem::replace(&mut self.state, State::Ended(None)) {
            State::Idle(sink) => sink,
            State::Ended(Some(e)) => {
                self.state = State::Ended(Some(e.clone()));
                return Err(e);
            }
            other => {
                self.state = other;
                return Ok(());
            }
        };
        let begun = check_arrays(arrays).and_then(|()| {
            let extents = sink.begin(arrays)?;
            arrays.iter().zip(&extents).map(|(array, extent)| parts(array, extent)).collect::<Result<Vec<_>>>()
        });
        let boxes = match begun {
            Ok(boxes) => boxes,
            Err(e) => {
                // The next may do.
                self.state = State::Idle(sink);
                return Err(e);
            }
        };
        self.last = sink.last();
        let shared = Shared::new();
        let threads = shared.start(acc, &Arc::from(sink), (self.threads, self.budget))?;
        let next = self.last.map_or(0, |last| last.index + 1);
        let arrays = arrays.to_vec();
        self.state = State::Writing(Writing { arrays, boxes, shared, threads, taken: VecDeque::new(), next });
        Ok(())
    }

    /// Waits for all that was recorded.
    fn end(&mut self) {
        match std::mem::replace(&mut self.state, State::Ended(None)) {
            State::Writing(writing) => self.state = State::Ended(writing.end()),
            other => self.state = other,
        }
    }
}

impl Drop for Snapshots {
    fn drop(&mut self) {
        self.end();
    }
}

impl Writing {
    #[track_caller]
    fn take(&mut self, step: u64, time: f64, arrays: &[(&str, &dyn Stored)], budget: usize) -> Result<()> {
        self.shared.check()?;
        while self.taken.front().is_some_and(Recorded::is_done) {
            self.taken.pop_front().map_or(Ok(()), |taken| taken.wait())?;
        }
        let snapshot = Snapshot { index: self.next, step, time };
        self.next += 1;
        let count = self.boxes.iter().map(Vec::len).sum();
        self.shared.begin(snapshot, count);
        for (number, (_, array)) in arrays.iter().enumerate() {
            let Any(array) = array.any();
            let (info, boxes) = (&self.arrays[number], &self.boxes[number]);
            for cells in boxes {
                let room = self.shared.room(cells.count() * info.bytes(), budget, || array.acc().flush())?;
                let pending = Pending::new(snapshot, room);
                let (cells_of, fields, shared) = (cells.clone(), info.fields.clone(), self.shared.clone());
                let recorded = array.take_later(
                    cells,
                    Box::new(move |copy| pending.fill(|| copied(&shared, number, cells_of, &fields, copy))),
                )?;
                self.taken.push_back(recorded);
            }
        }
        Ok(())
    }

    /// Waits for what was recorded and for the threads; gives what failed.
    fn end(self) -> Option<Error> {
        let Writing { shared, threads, taken, .. } = self;
        // The first failure is told; the others come from it or are told by `sync`.
        let failed = taken.iter().filter_map(|taken| taken.wait().err()).next();
        shared.end();
        // Panics of sinks are failures.
        threads.into_iter().for_each(|thread| drop(thread.join()));
        failed.map(Error::from).or_else(|| shared.check().err())
    }
}

/// Copies the fields of a box.
fn copied(
    shared: &Shared,
    array: usize,
    cells: Cells,
    fields: &[Field],
    copy: &dyn Fn(&Field, &mut [u8]) -> tida::Result<()>,
) -> Result<Part> {
    let of = |field: &Field| {
        let mut bytes = shared.memory(cells.count() * field.bytes())?;
        copy(field, &mut bytes)?;
        Ok(bytes)
    };
    let fields = fields.iter().map(of).collect::<Result<_>>()?;
    Ok(Part { array, cells, fields })
}

fn check_arrays(arrays: &[ArrayInfo]) -> Result<()> {
    let refuse = |found: String, advice| Err(Error::new(ErrorKind::Argument, "write a snapshot", found, advice));
    if arrays.is_empty() {
        return refuse("no arrays".into(), "give at least one");
    }
    for (number, array) in arrays.iter().enumerate() {
        let fits = |c: char| c.is_alphanumeric() || "_-".contains(c);
        if array.name.is_empty() || !array.name.chars().all(fits) {
            let found = format!("the array name {:?}", array.name);
            return refuse(found, "use letters, digits, `_` and `-`, which files and programs take");
        }
        if arrays[..number].iter().any(|other| other.name == array.name) {
            return refuse(format!("two arrays named {:?}", array.name), "give each a name of its own");
        }
        if array.bytes() == 0 || array.fields.iter().any(|field| field.bytes() == 0) {
            let found = format!("the array {:?}, whose elements hold no numbers", array.name);
            return refuse(found, "leave it out");
        }
    }
    Ok(())
}

fn check_same(first: &[ArrayInfo], now: &[ArrayInfo]) -> Result<()> {
    let same = |(a, b): (&ArrayInfo, &ArrayInfo)| a.name == b.name && a.shape == b.shape && a.fields == b.fields;
    if first.len() == now.len() && first.iter().zip(now).all(same) {
        return Ok(());
    }
    let list = |arrays: &[ArrayInfo]| {
        arrays.iter().map(|a| format!("{} {:?}", a.name, a.shape)).collect::<Vec<_>>().join(", ")
    };
    let found = format!("other arrays than in the first: {} instead of {}", list(now), list(first));
    let advice = "give the same names, shapes and element types at each step";
    Err(Error::new(ErrorKind::Argument, "write a snapshot", found, advice))
}
