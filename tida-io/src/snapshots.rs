//! Writing snapshots while the program goes on.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;

use serde_json::{Value, json};
use tida::array::{Field, Recorded};
use tida::{ErrorKind, TileAcc};

use crate::arrays::{Any, ArrayInfo, Cells, Source, Stored, parts};
use crate::ranks::{agree, one_acc};
use crate::sink::{Part, RegionSink, Snapshot};
use crate::writer::{Pending, Shared, abandoned};
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
/// ```
/// use tida::prelude::*;
/// use tida_io::zarr;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("tida-io-snapshots-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f64, 1>::builder([100]).build(&acc)?;
/// let snapshots = zarr::create(folder.join("u.zarr")).snapshot_every(10)?;
/// let mut snapshots = snapshots.budget(64 << 20).threads(2); // 64 MiB may wait for two threads
/// for step in 0..=20 {
///     u.fill_value(step as f64)?;
///     let taken = snapshots.step(step, 0.1 * step as f64, &[("u", &u)])?;
///     assert_eq!(taken, step % 10 == 0);
/// }
/// snapshots.take(23, 2.3, &[("u", &u)])?; // one more, whatever the number
/// assert_eq!(snapshots.finish()?.unwrap().step, 23);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(()) }
/// ```
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
    sink: Arc<dyn RegionSink>,
    shared: Shared,
    threads: Vec<JoinHandle<()>>,
    /// Values that are to be taken.
    taken: VecDeque<Recorded>,
    /// What this rank gives others, with its bytes.
    given: VecDeque<(Recorded, usize)>,
    acc: TileAcc,
    /// Each of several ranks writes what it has most of; otherwise the first one writes all.
    all_write: bool,
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

    /// Says that step `step` was done, at `time`, in the program's own unit. Records a snapshot of the arrays as they
    /// are now in the program, if `step` is a multiple of the number that the snapshots are made with, and greater than
    /// the step of the last snapshot. Gives whether it did.
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
        let accs = arrays.iter().map(|(_, array)| {
            let Any(array) = array.any();
            array.acc()
        });
        one_acc(accs, "write a snapshot")?;
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
            self.end(true);
            self.state = State::Ended(Some(e.clone()));
            return Err(e);
        }
        self.last = Some(Snapshot { index: self.last.map_or(0, |last| last.index + 1), step, time });
        Ok(true)
    }

    /// The last snapshot that was recorded, or was there before. What was there before is known after the first
    /// [`step`](Snapshots::step) that is to be a snapshot.
    pub fn last(&self) -> Option<Snapshot> {
        self.last
    }

    /// Waits until all snapshots are on the disk; gives the last.
    ///
    /// # Errors
    /// What the disk said; failed work that the values need.
    #[track_caller]
    pub fn finish(mut self) -> Result<Option<Snapshot>> {
        self.end(true);
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
            let begun = begin_on_ranks(&mut *sink, acc, arrays)?;
            let boxes = arrays.iter().zip(&begun.extents).map(|(array, extent)| parts(array, extent));
            Ok((boxes.collect::<Result<Vec<_>>>()?, begun))
        });
        let (boxes, begun) = match begun {
            Ok(begun) => begun,
            Err(e) => {
                // The next may do.
                self.state = State::Idle(sink);
                return Err(e);
            }
        };
        self.last = begun.last;
        let (shared, sink): (Shared, Arc<dyn RegionSink>) = (Shared::new(), Arc::from(sink));
        let threads = shared.start(acc, &sink, (self.threads, self.budget))?;
        self.state = State::Writing(Writing {
            arrays: arrays.to_vec(),
            boxes,
            sink,
            shared,
            threads,
            taken: VecDeque::new(),
            given: VecDeque::new(),
            acc: acc.clone(),
            all_write: begun.told.is_some(),
            next: self.last.map_or(0, |last| last.index + 1),
        });
        Ok(())
    }

    /// Waits for all that was recorded; `together` says that all ranks do so here.
    #[track_caller]
    fn end(&mut self, together: bool) {
        match std::mem::replace(&mut self.state, State::Ended(None)) {
            State::Writing(writing) => self.state = State::Ended(writing.end(together)),
            other => self.state = other,
        }
    }
}

impl Drop for Snapshots {
    fn drop(&mut self) {
        // A rank that fails may do so alone.
        self.end(false);
    }
}

impl Writing {
    #[track_caller]
    fn take(&mut self, step: u64, time: f64, arrays: &[(&str, &dyn Stored)], budget: usize) -> Result<()> {
        // All ranks go on, or none.
        let well = self.shared.check().and_then(|()| self.drain());
        agree(&self.acc, well.map(|()| Vec::new()))?;
        let (rank, ranks) = (self.acc.rank(), self.acc.ranks());
        let told = self.acc.told_later().filter(|_| ranks > 1);
        let snapshot = Snapshot { index: self.next, step, time };
        self.next += 1;
        let writes = |array: &dyn Source, cells: &Cells| if self.all_write { array.rank_of(cells) } else { 0 };
        let of = |((_, array), boxes): (&(&str, &dyn Stored), &Vec<Cells>)| {
            let Any(array) = array.any();
            boxes.iter().filter(|cells| writes(array, cells) == rank).count()
        };
        self.shared.begin(snapshot, arrays.iter().zip(&self.boxes).map(of).sum(), told);
        for (number, (_, array)) in arrays.iter().enumerate() {
            let Any(array) = array.any();
            let info = &self.arrays[number];
            for cells in &self.boxes[number] {
                let to = writes(array, cells);
                if to != rank {
                    let bytes = array.count_here(cells) * info.bytes();
                    make_room(&mut self.given, bytes, budget);
                    let given = array.take_later(to, cells, Box::new(|_| {}))?;
                    self.given.extend((bytes > 0).then_some((given, bytes)));
                    continue;
                }
                let flush = || array.acc().flush();
                let room = self.shared.room(cells.count() * info.bytes(), (budget, ranks > 1), flush)?;
                let pending = Pending::new(snapshot, room);
                let (cells_of, fields, shared) = (cells.clone(), info.fields.clone(), self.shared.clone());
                let recorded = array.take_later(
                    to,
                    cells,
                    Box::new(move |copy| pending.fill(|| copied(&shared, number, cells_of, &fields, copy))),
                )?;
                self.taken.push_back(recorded);
            }
        }
        Ok(())
    }

    /// Forgets what was taken, and what was given to others, who are told if that failed.
    #[track_caller]
    fn drain(&mut self) -> Result<()> {
        while self.given.front().is_some_and(|(given, _)| given.is_done()) {
            self.given.pop_front();
        }
        while self.taken.front().is_some_and(Recorded::is_done) {
            self.taken.pop_front().map_or(Ok(()), |taken| taken.wait())?;
        }
        Ok(())
    }

    /// Waits for what was recorded and for the threads; gives what failed, on any rank if all do so together.
    #[track_caller]
    fn end(self, together: bool) -> Option<Error> {
        let Writing { sink, shared, threads, taken, given, acc, .. } = self;
        // The first failure is told; the others come from it or are told by `sync`.
        let all = taken.iter().chain(given.iter().map(|(given, _)| given));
        let failed = all.filter_map(|taken| taken.wait().err()).next();
        shared.end();
        // Panics of sinks are failures.
        threads.into_iter().for_each(|thread| drop(thread.join()));
        let left = shared.close(&acc);
        if acc.rank() == 0 {
            left.iter().for_each(|snapshot| abandoned(&*sink, snapshot));
        }
        let failed = failed.map(Error::from).or_else(|| shared.check().err());
        if !together {
            return failed;
        }
        agree(&acc, failed.map_or(Ok(Vec::new()), Err)).err()
    }
}

/// Waits until what a rank has given others has room for so many bytes more. What failed is told by who takes it.
#[track_caller]
fn make_room(given: &mut VecDeque<(Recorded, usize)>, bytes: usize, budget: usize) {
    while given.iter().map(|(_, bytes)| bytes).sum::<usize>() + bytes > budget {
        let Some((first, _)) = given.pop_front() else { return };
        let _ = first.wait();
    }
}

/// What a sink says of the snapshots that are to come.
struct Begun {
    extents: Vec<Vec<usize>>,
    last: Option<Snapshot>,
    /// What the first rank has told the others, if all write.
    told: Option<String>,
}

/// Begins on the first rank, and has the others join it.
#[track_caller]
fn begin_on_ranks(sink: &mut dyn RegionSink, acc: &TileAcc, arrays: &[ArrayInfo]) -> Result<Begun> {
    if acc.ranks() == 1 {
        let extents = sink.begin(arrays)?;
        return Ok(Begun { extents, last: sink.last(), told: None });
    }
    let own = match acc.rank() {
        0 => sink.begin(arrays).map(|extents| {
            let last = sink.last().map(|last| (last.index, last.step, last.time.to_bits()));
            json!({"extents": extents, "last": last, "told": sink.shared()}).to_string().into_bytes()
        }),
        _ => Ok(Vec::new()),
    };
    let all = agree(acc, own)?;
    let said: Value = all.first().and_then(|said| serde_json::from_slice(said).ok()).unwrap_or_default();
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let extent = |value: &Value| value.as_array().into_iter().flatten().map(|n| number(n) as usize).collect();
    let begun = Begun {
        extents: said["extents"].as_array().into_iter().flatten().map(extent).collect(),
        last: said["last"].as_array().map(|last| {
            let [index, step, time] = [0, 1, 2].map(|n| last.get(n).map_or(0, number));
            Snapshot { index, step, time: f64::from_bits(time) }
        }),
        told: said["told"].as_str().map(str::to_owned),
    };
    let joined = match &begun.told {
        Some(told) if acc.rank() > 0 => sink.join(arrays, told),
        _ => Ok(()),
    };
    agree(acc, joined.map(|()| Vec::new()))?;
    Ok(begun)
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
