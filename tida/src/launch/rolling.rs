//! A reduction whose cells come plane by plane: groups of its tree are folded as soon as they are whole, so that what
//! is kept of each reduction is small.

use std::sync::{Arc, Mutex, PoisonError};

use super::folded::{TWICE, run};
use crate::backend::{Argument, Kernel, Memory};
use crate::device::core::DeviceCore;
use crate::error::{Error, ErrorKind};
use crate::memory::node::Queue;

/// Bytes of an entry, at most.
const ENTRY: u64 = 8;

/// Where the first kernel puts what it finds in some planes, until that is folded: the reductions of a chain, whose
/// commands are in one stream, have one in common.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// What is found.
    found: Memory,
    /// The same from the first whole group on.
    groups: Memory,
    folded: Memory,
    /// Entries that there is room for.
    pub entries: u64,
}

/// What is kept of one reduction.
#[derive(Debug)]
pub(crate) struct RollingFold {
    scratch: Arc<Scratch>,
    /// Groups of which a part has come: that at hand, and one that the first planes begin in, if these are not the
    /// first of the box.
    edges: Mutex<[Edge; 2]>,
}

#[derive(Debug)]
struct Edge {
    memory: Memory,
    group: Option<u64>,
    /// Entries that have come.
    filled: u64,
}

impl Scratch {
    /// Bytes of one of so many entries.
    pub fn bytes(entries: u64) -> u64 {
        (2 * entries + entries.div_ceil(TWICE)) * ENTRY
    }

    /// One of so many entries.
    ///
    /// # Errors
    /// Memory that the device does not have.
    pub fn new(device: &DeviceCore, entries: u64) -> Result<Scratch, Error> {
        let memory = |entries: u64| Memory::new(device.backend(), (entries * ENTRY) as usize);
        Ok(Scratch {
            found: memory(entries)?,
            groups: memory(entries)?,
            folded: memory(entries.div_ceil(TWICE))?,
            entries,
        })
    }
}

impl RollingFold {
    /// Bytes of what is kept of a reduction, besides its list of groups.
    pub const BYTES: u64 = 2 * TWICE * ENTRY;

    /// Of a reduction of which nothing has come.
    ///
    /// # Errors
    /// Memory that the device does not have.
    pub fn new(device: &DeviceCore, scratch: &Arc<Scratch>) -> Result<RollingFold, Error> {
        let edge = || -> Result<Edge, Error> {
            let memory = Memory::new(device.backend(), (TWICE * ENTRY) as usize)?;
            Ok(Edge { memory, group: None, filled: 0 })
        };
        Ok(RollingFold { scratch: scratch.clone(), edges: Mutex::new([edge()?, edge()?]) })
    }

    /// Where the first kernel puts what it finds.
    pub fn found(&self) -> &Memory {
        &self.scratch.found
    }

    /// Entries that one launch may find.
    pub fn most(&self) -> u64 {
        self.scratch.entries
    }

    /// Folds what the first kernel has found, of some of all entries, each of `size` bytes, to the list of groups.
    ///
    /// # Errors
    /// What the device refuses.
    ///
    /// # Safety
    /// What was found lies there once what comes before in the stream is done; the kernel folds entries of so many
    /// bytes; the list has room for all groups.
    pub unsafe fn fold(
        &self,
        queue: &Queue<'_>,
        (kernel, list): (&dyn Kernel, &Memory),
        (entries, all, size): (std::ops::Range<u64>, u64, usize),
    ) -> Result<(), Error> {
        let Scratch { found, groups, folded, .. } = &*self.scratch;
        let copy = |from: (&Memory, u64), to: (&Memory, u64), count: u64| {
            let at = |(memory, entry): (_, u64)| (memory, entry as usize * size);
            let (from, to): ((&Memory, usize), (&Memory, usize)) = (at(from), at(to));
            // SAFETY: entries lie in memories that have room for them, each of which lives as long as this.
            unsafe { queue.device.backend().copy(queue.stream, from, to, count as usize * size) }
        };
        // So many entries become those of groups from `first` on.
        let fold = |from: &Memory, count: u64, first: u64| {
            let arguments = [Argument::Memory(from), Argument::Memory(folded), Argument::Bytes(&count.to_ne_bytes())];
            // SAFETY: `from` has so many entries, and what they are folded to has room for a 4096th.
            unsafe { run(queue, kernel, count.div_ceil(TWICE), &arguments)? };
            copy((folded, 0), (list, first), count.div_ceil(TWICE))
        };
        let mut edges = self.edges.lock().unwrap_or_else(PoisonError::into_inner);
        let mut at = entries.start;
        while at < entries.end {
            let group = at / TWICE;
            let (start, end) = (group * TWICE, ((group + 1) * TWICE).min(all));
            if at == start && end <= entries.end {
                let end = if entries.end == all { all } else { entries.end / TWICE * TWICE };
                if at > entries.start {
                    copy((found, at - entries.start), (groups, 0), end - at)?;
                }
                fold(if at > entries.start { groups } else { found }, end - at, group)?;
                at = end;
                continue;
            }
            let known = edges.iter().position(|edge| edge.group == Some(group));
            let place = known.or_else(|| edges.iter().position(|edge| edge.group.is_none())).ok_or_else(no_edge)?;
            let (edge, end_here) = (&mut edges[place], end.min(entries.end));
            copy((found, at - entries.start), (&edge.memory, at - start), end_here - at)?;
            edge.group = Some(group);
            edge.filled += end_here - at;
            if edge.filled == end - start {
                fold(&edge.memory, end - start, group)?;
                (edge.group, edge.filled) = (None, 0);
            }
            at = end_here;
        }
        Ok(())
    }
}

fn no_edge() -> Error {
    Error::new(
        ErrorKind::Kernel,
        "reduce on the device",
        "planes that do not follow one another",
        "report this as a bug of tida",
    )
}
