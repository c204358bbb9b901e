//! What ranks give one another of an array on several: the values of boxes, for the host and for files.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::panic::Location;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::TileArray;
use super::files::{write_whole, writing_failed};
use super::host::reserve;
use super::later::BoxValues;
use crate::acc::TileAcc;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::memory::element::{Element, Place};
use crate::memory::node::{Node, Work};
use crate::ranks::{Bytes, Slot, World};

/// Bytes of an array that go to a file at once.
const BAND: usize = 16 << 20;

/// Values as bytes: plane by plane of components.
fn bytes_of<T: Element>(values: &[T]) -> Bytes {
    let mut bytes = Bytes::new(values.len() * T::TYPE.bytes());
    let (start, count) = (bytes.start(), values.len());
    for (n, value) in values.iter().enumerate() {
        // SAFETY: there is room for so many elements, aligned as 16 bytes are, which nobody else has.
        unsafe { T::place(start, count, n).store(*value) };
    }
    bytes
}

/// The values that bytes are of, as [`bytes_of`] makes them, which another rank has done: so many.
fn values_of<T: Element>(bytes: &mut Bytes, count: usize) -> impl Iterator<Item = T> {
    let start = bytes.start();
    // SAFETY: so many elements were stored there by the rank that has them; the bytes stay borrowed.
    (0..count).map(move |n| unsafe { T::place(start, count, n).load() })
}

/// The values that each rank has, those of all in the order of the ranks, in a call of this number that all make; its
/// own without ranks.
///
/// # Errors
/// What failed, here or on another rank.
pub(crate) fn gathered<T: Element>(
    call: Option<(&World, u64)>,
    own: Result<Vec<T>, Error>,
    recorded: (&'static str, &'static Location<'static>),
) -> Result<Vec<T>, Error> {
    let Some((world, call)) = call else { return own };
    let mut all = world.gather(call, own.map(|values| bytes_of(&values)), recorded)?;
    let of = |bytes: &mut Bytes| {
        let count = bytes.as_slice().len() / T::TYPE.bytes();
        values_of::<T>(bytes, count).collect::<Vec<T>>()
    };
    Ok(all.iter_mut().flat_map(of).collect())
}

/// What another rank gives of a box that is read later.
pub(super) struct Given<T> {
    pub rank: usize,
    /// Ends when it is there.
    pub node: Arc<Node>,
    values: Arc<OnceLock<Vec<T>>>,
}

impl<T: Element> Given<T> {
    /// Adds the values, once they are there.
    pub fn append(&self, to: &mut Vec<T>) {
        to.extend_from_slice(self.values.get().map_or(&[], Vec::as_slice));
    }
}

impl<T: Element, const D: usize> TileArray<T, D> {
    /// Records that all other ranks are given what this one has of a box, or why they are not, and that it takes what
    /// they have, on this place; gives that in the order of ranks.
    #[track_caller]
    pub(super) fn exchange_later(
        &self,
        (world, call): (&Arc<World>, u64),
        home: &TileAcc,
        cells: &GridBox<D>,
        own: Result<&Vec<BoxValues<T>>, Error>,
    ) -> Vec<Given<T>> {
        const NAME: &str = "read_box_later";
        let (recorded, here) = (Location::caller(), world.rank());
        let with_some = |rank: &usize| !self.of_rank(*rank, cells).is_empty();
        let slot = |rank: usize| Slot { call, lane: rank as u64 };
        let others = move |ranks: usize| (0..ranks).filter(move |rank| *rank != here);
        let ranks = world.ranks();
        match own {
            Err(error) if with_some(&here) => others(ranks).for_each(|to| world.fail(to, slot(here), &error)),
            Ok(parts) if with_some(&here) => {
                let nodes: Vec<Arc<Node>> = parts.iter().map(|part| part.node().clone()).collect();
                let (world, core, parts) = (world.clone(), home.core().clone(), parts.clone());
                let slot = slot(here);
                let work = Work::Sends(Box::new(move |node, failure| {
                    let values: Vec<T> = parts.iter().filter_map(BoxValues::try_get).flatten().copied().collect();
                    others(ranks).for_each(|to| match &failure {
                        Some(error) => world.fail(to, slot, error),
                        None => world.send(to, slot, vec![Box::new(bytes_of(&values))]),
                    });
                    core.finish(node, failure.map_or(Ok(()), Err))
                }));
                home.record_node("read_box_later: send", recorded, &[], &nodes, work);
            }
            _ => {}
        }
        let take = |rank: usize| {
            let values = Arc::<OnceLock<Vec<T>>>::default();
            let (to, count) = (values.clone(), self.of_rank(rank, cells).cells());
            let sizes = vec![Some(count * T::TYPE.bytes())];
            let node = world.expect(home.core(), (rank, slot(rank)), sizes, (NAME, recorded), move |mut pieces| {
                let mut bytes = pieces.pop().unwrap_or_default();
                let _ = to.set(values_of::<T>(&mut bytes, count).collect());
                Ok(())
            });
            Given { rank, node, values }
        };
        others(ranks).filter(with_some).map(take).collect()
    }

    /// The values of a box that lies on several ranks, each of which makes this call.
    ///
    /// # Errors
    /// What failed, here or on another rank.
    #[track_caller]
    pub(super) fn read_ranks(
        &self,
        world: &World,
        call: u64,
        cells: &GridBox<D>,
        count: usize,
    ) -> Result<Vec<T>, Error> {
        let recorded = Location::caller();
        let own = self.read_here(cells, count).map(|values| bytes_of(&values));
        let mut all = world.gather(call, own, ("read_box", recorded))?;
        let mut values: Vec<T> = Vec::new();
        reserve(&mut values, count)?;
        for (rank, bytes) in all.iter_mut().enumerate() {
            let part = self.of_rank(rank, cells);
            let count = if part.is_empty() { 0 } else { part.cells() };
            if bytes.as_slice().len() != count * T::TYPE.bytes() {
                let found = format!("{} bytes of rank {rank} for {count} values", bytes.as_slice().len());
                return Err(Error::new(ErrorKind::Ranks, "read a box", found, "have every rank read the same box"));
            }
            values.extend(values_of::<T>(bytes, count));
        }
        Ok(values)
    }

    /// Writes the values of an array on several ranks, each of which makes this call: the first rank writes, and goes
    /// on taking what the others give if it cannot, or could not begin. `write` writes a box of an array on one place.
    ///
    /// # Errors
    /// What failed here, or on a rank that had values to give.
    pub(super) fn write_ranks(
        &self,
        world: &World,
        begun: Result<(), Error>,
        (file, tried): (&mut dyn Write, &str),
        write: impl Fn(&TileArray<T, D>, &GridBox<D>, &mut dyn Write) -> io::Result<()>,
        recorded: &'static Location<'static>,
    ) -> Result<(), Error> {
        let mut done = begun;
        for (number, part) in self.owners().iter().enumerate() {
            let owner = self.acc.rank_of(number);
            let held = part.layout.owned;
            let plane = (held.cells() / held.extent()[0].max(1)).saturating_mul(size_of::<T>()).max(1);
            let thick = (BAND / plane).max(1) as i64;
            let mut band = held;
            while band.lo[0] < held.hi[0] {
                band.hi[0] = held.hi[0].min(band.lo[0] + thick);
                let slot = Slot { call: world.next(), lane: 0 };
                let written = match (owner == world.rank(), world.rank() == 0) {
                    (true, true) => write(part, &band, file).map_err(|e| writing_failed(tried, &e)),
                    (true, false) => {
                        let mut bytes = Vec::new();
                        let packed = write(part, &band, &mut bytes).map_err(|e| writing_failed(tried, &e));
                        match &packed {
                            Ok(()) => world.send(0, slot, vec![Box::new(Bytes::of(&bytes))]),
                            Err(error) => world.fail(0, slot, error),
                        }
                        packed
                    }
                    (false, true) => world.wait_for((owner, slot), ("save", recorded)).and_then(|bytes| {
                        // After a failure nothing more is written.
                        let bytes = if done.is_ok() { bytes.as_slice() } else { &[] };
                        file.write_all(bytes).map_err(|e| writing_failed(tried, &e))
                    }),
                    (false, false) => Ok(()),
                };
                done = done.and(written);
                band.lo[0] = band.hi[0];
            }
        }
        done
    }
}

/// Finds out whether a call has gone well on all ranks, each of which asks.
///
/// # Errors
/// What failed, here or on another rank.
pub(super) fn agree(world: &World, own: Result<(), Error>, recorded: &'static Location<'static>) -> Result<(), Error> {
    let own = own.map(|()| Bytes::default());
    world.gather(world.next(), own, ("save", recorded)).map(|_| ())
}

/// Writes a file whole or not at all, of which every rank has a part: the first one writes it. `write` writes its
/// contents, and `no_file` gives what this rank has of them to the first one, or takes it though there is no file.
///
/// # Errors
/// What failed, here or on another rank; no rank has written a file then.
pub(super) fn write_shared(
    world: &World,
    ready: Result<(), Error>,
    (path, tried): (&Path, &str),
    (write, no_file): (impl FnOnce(&mut BufWriter<&File>) -> Result<(), Error>, impl Fn() -> Result<(), Error>),
    recorded: &'static Location<'static>,
) -> Result<(), Error> {
    agree(world, ready, recorded)?;
    if world.rank() > 0 {
        return agree(world, no_file(), recorded);
    }
    let mut begun = false;
    let written = write_whole(path, tried, |file| {
        begun = true;
        write(file)
    });
    if !begun {
        // What went wrong is known.
        let _ = no_file();
    }
    agree(world, written, recorded)
}
