//! A part of a reduction on a device: a run of the segments of all, the others being on other places.
//!
//! The device folds the groups of the tree that it has whole, two levels of them. What is left at both ends goes to who
//! folds what all have found.

use std::ops::Range;
use std::sync::Arc;

use super::{Cells, FOLD_GROUPS, TWICE, no_list, run};
use crate::backend::{Argument, Kernel, Memory};
use crate::device::compiler::Own;
use crate::device::core::DeviceCore;
use crate::error::Error;
use crate::grid::GridBox;
use crate::launch::device::{DeviceLaunch, Line};
use crate::launch::launched::Launched;
use crate::launch::prepare::Prepared;
use crate::memory::node::Queue;

/// Bits of values, each with the index that goes with it, if there is one.
pub(crate) type Values = Vec<(u64, u64)>;

/// What a device has found of a run: its first segments, whole groups of the tree, and its last segments.
#[derive(Debug, Default)]
pub(crate) struct RunValues {
    pub head: Values,
    pub groups: Values,
    pub rest: Values,
}

/// Which segments a device has, in a list that starts at a multiple of the groups' size among all segments, or at its
/// own.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub own: Range<u64>,
    /// Whether the list starts so that its groups are those of all.
    pub groups: bool,
    /// Whether its last segment is the last of all: the last group may have fewer.
    pub ends: bool,
}

/// What a run leaves on the device.
#[derive(Debug)]
pub(crate) struct FoldedRun {
    launched: Launched,
    /// The list of segments, and that of groups; none of a native form. The values, if cuts split segments, are held.
    lists: Option<RunLists>,
    run: Run,
    sizes: (usize, usize),
}

#[derive(Debug)]
struct RunLists {
    values: Option<Memory>,
    segments: Memory,
    groups: Option<Memory>,
}

impl Run {
    /// The groups that the device has whole.
    fn whole(&self) -> Range<u64> {
        let (first, end) = (self.own.start.div_ceil(TWICE), self.own.end);
        let last = if self.ends { end.div_ceil(TWICE) } else { end / TWICE };
        if self.groups && first < last { first..last } else { 0..0 }
    }
}

impl Cells {
    /// The same cells as a run of the segments of this box, which has them and whole planes before them.
    pub fn in_line(self, line: GridBox<4>) -> Cells {
        Cells { whole: line, ..self }
    }

    /// Puts the kernels that fold a run into a stream.
    ///
    /// # Errors
    /// Memory that the device does not have, what its compiler refuses, and what the device does.
    ///
    /// # Safety
    /// As [`Cells::enqueue`].
    pub unsafe fn enqueue_run(
        &self,
        queue: &Queue<'_>,
        launch: DeviceLaunch<'_>,
        of: &Run,
    ) -> Result<FoldedRun, Error> {
        let (device, sizes) = (queue.device, (self.scalar.size(), self.partial_bytes()));
        let folded = |launched: Option<Launched>, lists| FoldedRun {
            launched: launched.unwrap_or_default(),
            lists,
            run: of.clone(),
            sizes,
        };
        let mut launched = None;
        if device.backend().facts().native {
            let launch = DeviceLaunch { goal: self.goal(), ..launch };
            // SAFETY: handed on.
            queue.enqueue(|| unsafe { launch.enqueue(queue, &self.boxes).map(|done| launched = Some(done)) })?;
            return Ok(folded(launched, None));
        }
        let (compiler, split, groups) = (device.compiler(), self.is_split(), !of.whole().is_empty());
        let of_values = split.then(|| compiler.own(Own::FoldValues(self.scalar, self.op))).transpose()?;
        let tree = groups.then(|| compiler.own(Own::FoldTree(self.scalar, self.op))).transpose()?;
        let (_, entries) = self.entries();
        let list = |entries: u64| device.table(entries as usize * self.partial_bytes());
        let lists = RunLists {
            values: split.then(|| device.table(self.whole.cells() * self.scalar.size())).transpose()?,
            segments: list(entries)?,
            groups: groups.then(|| list(entries.div_ceil(TWICE))).transpose()?,
        };
        queue.enqueue(|| {
            let out = lists.values.as_ref().unwrap_or(&lists.segments);
            let fold = Some((Line { cells: self.whole }, out));
            let launch = DeviceLaunch { goal: self.goal(), fold, ..launch.reborrow() };
            // SAFETY: the caller's promise; the list has room for every segment of the line, the values for every cell.
            launched = Some(unsafe { launch.enqueue(queue, &self.boxes)? });
            // SAFETY: the lists live as long as what is given here.
            unsafe { self.fold_run(queue, &lists, [of_values.as_ref(), tree.as_ref()]) }
        })?;
        Ok(folded(launched, Some(lists)))
    }

    /// Puts the kernels into a stream that fold what the first has found.
    ///
    /// # Errors
    /// What the device refuses.
    ///
    /// # Safety
    /// The first kernel runs before in the stream, and the lists live until these are done.
    unsafe fn fold_run(
        &self,
        queue: &Queue<'_>,
        lists: &RunLists,
        [of_values, tree]: [Option<&Arc<dyn Kernel>>; 2],
    ) -> Result<(), Error> {
        let (whole, (rows, entries)) = (&self.whole, self.entries());
        if let (Some(kernel), Some(values)) = (of_values, &lists.values) {
            let (rows, cells, lo) =
                (rows.to_ne_bytes(), (whole.hi[3] - whole.lo[3]).to_ne_bytes(), whole.lo[3].to_ne_bytes());
            let places = [Argument::Memory(values), Argument::Memory(&lists.segments)];
            let arguments =
                [places[0], places[1], Argument::Bytes(&rows), Argument::Bytes(&cells), Argument::Bytes(&lo)];
            // SAFETY: both memories have the room that the kernel expects for so many rows and cells.
            unsafe { run(queue, &**kernel, entries.div_ceil(FOLD_GROUPS), &arguments)? };
        }
        if let Some(kernel) = tree {
            let groups = lists.groups.as_ref().ok_or_else(no_list)?;
            let count = entries.to_ne_bytes();
            let arguments = [Argument::Memory(&lists.segments), Argument::Memory(groups), Argument::Bytes(&count)];
            // SAFETY: the list before has so many entries, the other one room for a 4096th.
            unsafe { run(queue, &**kernel, entries.div_ceil(TWICE), &arguments)? };
        }
        Ok(())
    }
}

impl FoldedRun {
    /// Once the device is done: what it has found; none of a native form, which keeps that itself.
    ///
    /// # Errors
    /// What the driver reports, and what cells have raised.
    pub fn take(self, device: &DeviceCore, prepared: &Prepared) -> Result<Option<RunValues>, Error> {
        self.launched.finish(device, prepared)?;
        let Some(lists) = &self.lists else { return Ok(None) };
        let (own, whole) = (self.run.own.clone(), self.run.whole());
        let get = |memory: &Memory, of: Range<u64>| values(device, memory, of, self.sizes);
        let Some(groups) = lists.groups.as_ref().filter(|_| !whole.is_empty()) else {
            return Ok(Some(RunValues { head: get(&lists.segments, own)?, ..RunValues::default() }));
        };
        Ok(Some(RunValues {
            head: get(&lists.segments, own.start..whole.start * TWICE)?,
            groups: get(groups, whole.clone())?,
            rest: get(&lists.segments, (whole.end * TWICE).min(own.end)..own.end)?,
        }))
    }
}

/// Entries of a list on a device, whose values have so many bytes, of so many.
fn values(
    device: &DeviceCore,
    memory: &Memory,
    of: Range<u64>,
    (value, partial): (usize, usize),
) -> Result<Values, Error> {
    let mut bytes = vec![0u8; (of.end - of.start) as usize * partial];
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    // SAFETY: the list has these entries; the launch that wrote them is done.
    unsafe { device.download_now(memory, of.start as usize * partial, bytes.as_mut_ptr(), bytes.len())? };
    let number = |bytes: &[u8]| {
        let mut all = [0; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        u64::from_ne_bytes(all)
    };
    let entry = |entry: &[u8]| (number(&entry[..value]), number(entry.get(8..16).unwrap_or_default()));
    Ok(bytes.chunks_exact(partial).map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_whole_or_the_last() {
        let whole = |own: Range<u64>, ends| Run { own, groups: true, ends }.whole();
        assert_eq!(whole(0..TWICE, false), 0..1);
        assert_eq!(whole(1..TWICE, false), 0..0);
        assert_eq!(whole(1..3 * TWICE - 1, false), 1..2);
        assert_eq!(whole(1..3 * TWICE - 1, true), 1..3);
        assert_eq!(whole(7..9, true), 0..0);
        assert_eq!(Run { own: 0..TWICE, groups: false, ends: true }.whole(), 0..0);
    }
}
