//! Zarr stores of version 3.
//!
//! A store is a folder that Python's `zarr` and `xarray`, and many other programs, open. An array of numbers is an
//! array of the store; complex numbers have Zarr's own types; `[T; N]` takes one axis more; a struct is a group, with
//! an array for each of its fields. In a store of snapshots each has a first axis `time`, beside it lie the times
//! (`time`) and the numbers of the steps (`step`).
//!
//! - [`create`] and [`append`] write snapshots while the program computes ([`Writer::snapshot_every`]), or one state
//!   ([`Writer::save`]).
//! - [`open`] reads stores, those of other programs too.
//!
//! ```
//! use tida::prelude::*;
//! use tida_io::zarr;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("tida-io-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let path = folder.join("heat.zarr");
//! let acc = TileAcc::auto()?;
//! let mut u = TileArray::<f64, 2>::builder([40, 60]).regions([2, 1]).ghost(1).build(&acc)?;
//! u.fill(|[j, i]| if j == 20 && i == 30 { 1.0 } else { 0.0 })?;
//! let mut next = u.like()?;
//!
//! let mut snapshots = zarr::create(&path).spacing(&[0.1, 0.1]).snapshot_every(10)?;
//! for step in 0..=50 {
//!     snapshots.step(step, step as f64 * 0.001, &[("u", &u)])?;
//!     u.fill_ghosts()?;
//!     for tile in u.tiles() {
//!         compute(&tile, (&mut next, &u), kernel!(|next, u, at| {
//!             next[at] = 0.25 * (u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]]);
//!         }))?;
//!     }
//!     std::mem::swap(&mut u, &mut next);
//! }
//! snapshots.finish()?;
//!
//! let store = zarr::open(&path)?;
//! let last = store.last().unwrap();
//! assert_eq!((last.index, last.step), (5, 50));
//! let mut again = TileArray::<f64, 2>::builder([40, 60]).ghost(2).build(&acc)?; // cut otherwise
//! store.read(last.index, &mut [("u", &mut again)])?;
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(()) }
//! ```

mod codec;
mod layout;
mod meta;
mod plan;
mod read;
mod sink;

use std::path::{Path, PathBuf};

use crate::Result;
use crate::arrays::Stored;
use crate::snapshots::Snapshots;
use crate::words::word_setters;
use meta::{Packing, Words};
use plan::Cutting;
pub use read::{Store, open};
use sink::{Mode, Sink};

/// A store that is to be written, and how. See [`create`] and [`append`].
#[derive(Clone, Debug)]
#[must_use = "nothing is written before `snapshot_every` or `save`"]
pub struct Writer {
    path: PathBuf,
    mode: Mode,
    words: Words,
    cutting: Cutting,
}

/// A new store. Nothing may be there yet.
///
/// ```
/// use tida::prelude::*;
/// use tida_io::zarr;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("tida-io-create-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("flow.zarr");
/// let acc = TileAcc::auto()?;
/// let p = TileArray::<f32, 2>::builder([64, 128]).regions([4, 1]).build(&acc)?;
/// let writer = zarr::create(&path)
///     .spacing(&[0.5, 0.25]) // of neighbouring cells, in metres
///     .axes(&["y", "x"])
///     .length_unit("m")
///     .unit("p", "Pa")
///     .attribute("title", "a flow")
///     .chunks(&[16, 32])
///     .shards_of_regions(); // four files for each snapshot
/// let mut snapshots = writer.snapshot_every(1)?;
/// snapshots.step(0, 0.0, &[("p", &p)])?;
/// snapshots.finish()?;
///
/// let store = zarr::open(&path)?;
/// assert_eq!(store.shape("p")?, [64, 128]);
/// assert_eq!(store.attribute("p", "units").unwrap(), "Pa");
/// assert_eq!(store.attribute("", "title").unwrap(), "a flow");
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(()) }
/// ```
pub fn create(path: impl AsRef<Path>) -> Writer {
    Writer::new(path.as_ref(), Mode::Create)
}

/// A store of tida's that snapshots are added to: a program that was started again goes on with it. What the store says
/// of chunks, axes and units stays.
///
/// ```
/// use tida::prelude::*;
/// use tida_io::zarr;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("tida-io-append-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("u.zarr");
/// let acc = TileAcc::auto()?;
/// let mut u = TileArray::<f64, 1>::builder([100]).build(&acc)?;
/// for last in [20, 40] {
///     // The second time, the program goes on with the last snapshot.
///     let (writer, first) = match zarr::open(&path) {
///         Ok(store) => {
///             let last = store.last().unwrap();
///             store.read(last.index, &mut [("u", &mut u)])?;
///             (zarr::append(&path), last.step)
///         }
///         Err(_) => (zarr::create(&path), 0),
///     };
///     let mut snapshots = writer.snapshot_every(10)?;
///     for step in first..=last {
///         u.fill_value(step as f64)?;
///         snapshots.step(step, step as f64, &[("u", &u)])?; // the store has that of `first` already
///     }
///     snapshots.finish()?;
/// }
/// let steps: Vec<u64> = zarr::open(&path)?.snapshots().iter().map(|snapshot| snapshot.step).collect();
/// assert_eq!(steps, [0, 10, 20, 30, 40]);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(()) }
/// ```
pub fn append(path: impl AsRef<Path>) -> Writer {
    Writer::new(path.as_ref(), Mode::Append)
}

word_setters!();

impl Writer {
    fn new(path: &Path, mode: Mode) -> Writer {
        let words = Words::default();
        let cutting = Cutting { chunk: None, shard: None, packing: Packing::Zstd(1) };
        Writer { path: path.to_owned(), mode, words, cutting }
    }

    /// Sets the extent of chunks in cells, for arrays of as many axes. Otherwise chunks are regions or parts of them:
    /// at most 16 MiB, or 1 MiB if they lie in shards. A part of an array that is written at once is a chunk, or a
    /// shard.
    pub fn chunks(mut self, extent: &[usize]) -> Writer {
        self.cutting.chunk = Some(extent.to_vec());
        self
    }

    /// Puts the chunks of a region into one file: a shard. Programs read single chunks of it.
    pub fn shards_of_regions(mut self) -> Writer {
        self.cutting.shard = Some(None);
        self
    }

    /// Puts chunks into shards of this extent in cells, a multiple of that of chunks, for arrays of as many axes.
    pub fn shards(mut self, extent: &[usize]) -> Writer {
        self.cutting.shard = Some(Some(extent.to_vec()));
        self
    }

    /// Packs values by zstd at this level, from 1 to 22: 1 otherwise.
    pub fn zstd(mut self, level: i32) -> Writer {
        self.cutting.packing = Packing::Zstd(level);
        self
    }

    /// Does not pack values; each chunk has a checksum.
    pub fn unpacked(mut self) -> Writer {
        self.cutting.packing = Packing::Raw;
        self
    }

    /// Snapshots of steps whose numbers are multiples of `every`. The first makes or opens the store.
    ///
    /// # Errors
    /// `every` is 0.
    pub fn snapshot_every(self, every: u64) -> Result<Snapshots> {
        Snapshots::every(every, self.sink(true))
    }

    /// Writes arrays as they are here in the program, without an axis of time; waits until that is done. The store is
    /// there whole or not at all.
    ///
    /// ```
    /// use tida::prelude::*;
    /// use tida_io::zarr;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("tida-io-save-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # let path = folder.join("u.zarr");
    /// let acc = TileAcc::auto()?;
    /// let u = TileArray::<f32, 1>::builder([3]).build_slice(&acc, &[1.0, 2.0, 3.0])?;
    /// zarr::create(&path).save(&[("u", &u)])?;
    /// assert_eq!(zarr::open(&path)?.shape("u")?, [3]);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Something that is there already; what the disk says; failed work that the values need.
    #[track_caller]
    pub fn save(self, arrays: &[(&str, &dyn Stored)]) -> Result<()> {
        let mut snapshots = Snapshots::every(1, self.sink(false))?;
        snapshots.step(0, 0.0, arrays)?;
        snapshots.finish().map(|_| ())
    }

    fn sink(self, in_time: bool) -> Sink {
        let Writer { path, mode, words, cutting } = self;
        // What holds one state is never added to.
        let mode = if in_time { mode } else { Mode::Create };
        Sink { path, words, cutting, mode, in_time, state: None }
    }
}
