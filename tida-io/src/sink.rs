//! What writers of snapshots and readers of stores are to the rest of the crate.

use std::ops::{Deref, DerefMut};

use crate::Result;
use crate::arrays::{ArrayInfo, Cells};
use crate::disk::BLOCK;

/// The state of a program at one time, as files keep it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Which it is in the store, counted from 0.
    pub index: u64,
    /// The number of the step after which it was taken.
    pub step: u64,
    /// The time of the simulation, in the program's own unit.
    pub time: f64,
}

impl Snapshot {
    /// A snapshot.
    pub fn new(index: u64, step: u64, time: f64) -> Snapshot {
        Snapshot { index, step, time }
    }
}

/// One part of a snapshot: all fields of a box of one array.
#[derive(Debug)]
#[non_exhaustive]
pub struct Part {
    /// Which array, in the order of [`RegionSink::begin`].
    pub array: usize,
    /// The box.
    pub cells: Cells,
    /// The values of each field: row-major, the field's own axes last, numbers in this machine's byte order.
    pub fields: Vec<Values>,
}

/// Values of a part of a snapshot, as bytes. In memory they start at a multiple of 4096 bytes, so that a disk can take
/// them from there.
pub struct Values {
    memory: Vec<u8>,
    start: usize,
    bytes: usize,
}

impl Values {
    /// So many bytes, which hold anything, in memory that is used again if it is large enough; nothing where the system
    /// has no more.
    pub(crate) fn with(mut memory: Vec<u8>, bytes: usize) -> Option<Values> {
        let all = bytes.checked_add(BLOCK)?;
        memory.try_reserve_exact(all.saturating_sub(memory.len())).ok()?;
        memory.resize(all, 0);
        let start = memory.as_ptr().align_offset(BLOCK).min(BLOCK);
        Some(Values { memory, start, bytes })
    }

    /// Their memory, for others.
    pub(crate) fn into_memory(self) -> Vec<u8> {
        self.memory
    }
}

impl Deref for Values {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..][..self.bytes]
    }
}

impl DerefMut for Values {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..self.bytes]
    }
}

impl std::fmt::Debug for Values {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Values").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// A form of files that snapshots are written in.
///
/// After `begin` several threads call it at once, which are not those of the program: a call may take its time. What
/// the sink changes lies behind locks or is atomic. Parts of several snapshots may come in any order. Snapshots are
/// committed in theirs, one at a time, while parts of later ones may be written. What fails ends the writing: of that
/// snapshot and of later ones the sink gets no call more but, once all others have returned, `abandon` of each that has
/// begun and is not committed. Earlier snapshots are written to their ends.
///
/// A sink that can do one thing at a time takes a lock in each call, or is used with
/// [`threads(1)`](crate::Snapshots::threads).
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::Mutex;
/// use std::sync::mpsc::{Sender, channel};
/// use tida::prelude::*;
/// use tida_io::{ArrayInfo, Part, RegionSink, Result, Snapshot, Snapshots};
///
/// /// Sends the largest value of each snapshot of an array of `f32` to someone who shows it.
/// struct Largest {
///     to: Sender<(f64, f32)>,
///     /// Of each snapshot that is under way.
///     found: Mutex<BTreeMap<u64, f32>>,
/// }
///
/// impl RegionSink for Largest {
///     fn begin(&mut self, arrays: &[ArrayInfo]) -> Result<Vec<Vec<usize>>> {
///         Ok(arrays.iter().map(|array| array.region.clone()).collect()) // a region at a time
///     }
///     fn last(&self) -> Option<Snapshot> {
///         None
///     }
///     fn write(&self, snapshot: &Snapshot, part: &Part) -> Result<()> {
///         let values = part.fields[0].chunks_exact(4).filter_map(|bytes| bytes.try_into().ok());
///         let largest = values.map(f32::from_ne_bytes).fold(f32::MIN, f32::max);
///         let mut found = self.found.lock().unwrap();
///         let found = found.entry(snapshot.index).or_insert(largest);
///         *found = found.max(largest);
///         Ok(())
///     }
///     fn commit(&self, snapshot: &Snapshot) -> Result<()> {
///         if let Some(largest) = self.found.lock().unwrap().remove(&snapshot.index) {
///             let _ = self.to.send((snapshot.time, largest));
///         }
///         Ok(())
///     }
///     fn abandon(&self, _: &Snapshot) {}
/// }
///
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f32, 2>::builder([8, 8]).regions([2, 1]).build(&acc)?;
/// let (to, largest) = channel();
/// let mut snapshots = Snapshots::every(1, Largest { to, found: Mutex::default() })?;
/// for step in 0..3 {
///     for tile in u.tiles() {
///         compute(&tile, &mut u, kernel!(|u, at| u[at] = u[at] + at[0] as f32))?;
///     }
///     snapshots.step(step, step as f64, &[("u", &u)])?;
/// }
/// snapshots.finish()?;
/// assert_eq!(largest.iter().collect::<Vec<_>>(), [(0.0, 7.0), (1.0, 14.0), (2.0, 21.0)]);
/// # Ok(()) }
/// ```
pub trait RegionSink: Send + Sync + 'static {
    /// Learns what each snapshot holds, before the first. Gives for each array the extent of the parts that it wants:
    /// the array comes cut into boxes that start at multiples of it.
    ///
    /// # Errors
    /// Arrays that it cannot write, or that do not go with what is there already.
    fn begin(&mut self, arrays: &[ArrayInfo]) -> Result<Vec<Vec<usize>>>;

    /// The last snapshot that is there already, after [`begin`](RegionSink::begin).
    fn last(&self) -> Option<Snapshot>;

    /// Packs a part and writes it. It must not change what a reader finds.
    ///
    /// # Errors
    /// What the disk says.
    fn write(&self, snapshot: &Snapshot, part: &Part) -> Result<()>;

    /// Makes a snapshot count of which all parts were written: at once, and whatever ends the program.
    ///
    /// # Errors
    /// What the disk says. The snapshot does not count then.
    fn commit(&self, snapshot: &Snapshot) -> Result<()>;

    /// Removes what was written of a snapshot that does not count, as well as it can.
    fn abandon(&self, snapshot: &Snapshot);

    /// On several ranks: what the first rank, on which `begin` was called, tells the others so that they write parts
    /// too. Nothing if the first rank is to write all of them: it gets the values of the others then.
    fn shared(&self) -> Option<String> {
        None
    }

    /// On the other ranks, in place of `begin`: learns what each snapshot holds, and what the first rank has told.
    /// `last`, `commit` and `abandon` are calls of the first rank.
    ///
    /// # Errors
    /// Files of the first rank that are not found here.
    fn join(&mut self, _arrays: &[ArrayInfo], _told: &str) -> Result<()> {
        Ok(())
    }

    /// On the other ranks, in place of `commit`: puts onto the disk what this rank has written of a snapshot. The first
    /// rank makes it count once all have done so.
    ///
    /// # Errors
    /// What the disk says.
    fn settle(&self, _snapshot: &Snapshot) -> Result<()> {
        Ok(())
    }
}

/// A form of files that arrays are read from.
pub trait RegionSource: Sync {
    /// What it is, for messages.
    fn name(&self) -> String;

    /// Checks that it has an array that looks like this, in a snapshot or without any. Gives the extent of the parts
    /// that are best read at once.
    ///
    /// # Errors
    /// No such array, or one of another shape or type.
    fn check(&self, array: &ArrayInfo, snapshot: Option<u64>) -> Result<Vec<usize>>;

    /// The values of one field, by its number, in a box: row-major, the field's own axes last, numbers in this
    /// machine's byte order.
    ///
    /// # Errors
    /// What is missing or damaged.
    fn read(&self, array: &ArrayInfo, field: usize, snapshot: Option<u64>, cells: &Cells) -> Result<Vec<u8>>;
}
