//! A reduction on the device: segments within blocks, then the tree, level by level (the two-level reduction of Lashgar
//! §3.3, in tida's fixed order).

use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::element::ScalarType;
use tida_kernels::emit::fold::{FOLD_GROUPS, FOLD_THREADS};
use tida_kernels::plan::{FoldOp, Goal, SEGMENT};

use crate::acc::compiler::Own;
use crate::acc::node::Queue;
use crate::array::GridBox;
use crate::array::layout::Layout;
use crate::backend::{Argument, Memory};
use crate::compute::cache::Hints;
use crate::compute::capture::Captures;
use crate::compute::device::{DeviceArg, DeviceArgs, DeviceLaunch, Line};
use crate::compute::geometry::segments;
use crate::compute::launched::Launched;
use crate::compute::prepare::Prepared;
use crate::error::{Error, ErrorKind};

/// A reduction to run on the device.
pub(super) struct DeviceFold<'a, const D: usize> {
    pub prepared: &'a Arc<Prepared>,
    pub captures: &'a Captures,
    pub args: DeviceArgs<'a>,
    pub checked: bool,
    pub valid_only: u16,
    pub layout: &'a Layout<D>,
    pub cells: GridBox<D>,
    pub scalar: ScalarType,
    pub op: FoldOp,
}

/// What a reduction leaves on the device.
#[derive(Debug)]
pub(super) struct Folded {
    launched: Launched,
    /// The lists, the last of one entry.
    lists: Vec<Memory>,
    value_bytes: usize,
    partial_bytes: usize,
}

impl<const D: usize> DeviceFold<'_, D> {
    /// Puts the kernels of the reduction into a stream. There is a cell at least.
    ///
    /// # Safety
    /// As [`DeviceLaunch::enqueue`], for all regions that have cells of the box.
    pub unsafe fn enqueue(self, queue: &Queue<'_>) -> Result<Folded, Error> {
        let mut lists = Vec::new();
        let arg = matches!(self.op, FoldOp::ArgMin | FoldOp::ArgMax);
        let value_bytes = self.scalar.size();
        let partial_bytes = if arg { 16 } else { value_bytes };
        // SAFETY: handed on.
        let launched = queue.enqueue(|| unsafe { self.put(queue, partial_bytes, &mut lists) })?;
        Ok(Folded { launched, lists, value_bytes, partial_bytes })
    }

    /// As [`DeviceFold::enqueue`]; memory that must live until the kernels are done goes into `lists`.
    ///
    /// # Safety
    /// As [`DeviceFold::enqueue`].
    unsafe fn put(self, queue: &Queue<'_>, partial_bytes: usize, lists: &mut Vec<Memory>) -> Result<Launched, Error> {
        let (whole, backend) = (self.cells.widen(), queue.device.backend());
        let boxes: SmallVec<[(usize, GridBox<4>); 8]> = self
            .layout
            .regions
            .iter()
            .enumerate()
            .map(|(number, r)| (number, r.valid.intersect(&self.cells)))
            .filter(|(_, part)| !part.is_empty())
            .map(|(number, part)| (number, part.widen()))
            .collect();
        // Cuts between regions may fall inside a segment: then the values are put side by side first.
        let between = |x: i64| x > whole.lo[3] && x % SEGMENT != 0;
        let split = boxes.iter().any(|(_, part)| between(part.lo[3]));
        let rows = (whole.cells() / whole.extent()[3]) as u64;
        let entries = rows * segments(&whole) as u64;

        // The list that the first kernel writes comes last, what it is made from before.
        if split {
            lists.push(Memory::new(backend, whole.cells() * self.scalar.size())?);
        }
        lists.push(Memory::new(backend, entries as usize * partial_bytes)?);
        let [out, ..] = lists.as_slice() else { return Err(no_list()) };
        let launch = DeviceLaunch {
            prepared: self.prepared,
            captures: self.captures,
            args: self.args.iter().map(DeviceArg::reborrow).collect(),
            goal: if split { Goal::Values } else { Goal::Segments(self.op) },
            checked: self.checked,
            valid_only: self.valid_only,
            block: None,
            march: None,
            cache: Hints::default(),
            fold: Some((Line { cells: whole }, out)),
            within: None,
            varied: None,
            without: queue.device.without(),
        };
        // SAFETY: the caller's promise; the list has room for every segment, the values for every cell.
        let launched = unsafe { launch.enqueue(queue, &boxes)? };
        drop(launch);
        if let [values, list] = lists.as_slice() {
            let arguments = [
                Argument::Memory(values),
                Argument::Memory(list),
                Argument::Bytes(&rows.to_ne_bytes()),
                Argument::Bytes(&(whole.hi[3] - whole.lo[3]).to_ne_bytes()),
                Argument::Bytes(&whole.lo[3].to_ne_bytes()),
            ];
            // SAFETY: both memories have the room that the kernel expects for so many rows and cells.
            unsafe { run(queue, Own::FoldValues(self.scalar, self.op), entries.div_ceil(FOLD_GROUPS), &arguments)? };
        }
        let tree = Own::FoldTree(self.scalar, self.op);
        let mut left = entries;
        while left > 1 {
            let next = left.div_ceil((SEGMENT * SEGMENT) as u64);
            lists.push(Memory::new(backend, next as usize * partial_bytes)?);
            if let [.., before, list] = lists.as_slice() {
                let arguments =
                    [Argument::Memory(before), Argument::Memory(list), Argument::Bytes(&left.to_ne_bytes())];
                // SAFETY: the list before has `left` entries, the new one has room for a 4096th.
                unsafe { run(queue, tree, next, &arguments)? };
            }
            left = next;
        }
        Ok(launched)
    }
}

fn no_list() -> Error {
    Error::new(ErrorKind::Memory, "reduce on the device", "no memory for its lists", "report this")
}

/// Launches a fold.
///
/// # Safety
/// The arguments are those of the kernel, and live until it is done.
unsafe fn run(queue: &Queue<'_>, own: Own, blocks: u64, arguments: &[Argument<'_>]) -> Result<(), Error> {
    let backend = queue.device.backend();
    let threads = [FOLD_THREADS, 1, 1];
    let kernel = queue.device.compiler().own(own)?;
    // SAFETY: the caller's promise; entries past the end are left out by the kernel.
    unsafe { backend.launch(queue.stream, &*kernel, [blocks as u32, 1, 1], threads, arguments) }
}

impl Folded {
    /// Once the device is done: the bits of the value, and its index if it has one.
    pub fn take(self, queue: &crate::acc::device::DeviceCore, prepared: &Prepared) -> Result<(u64, u64), Error> {
        self.launched.finish(queue, prepared)?;
        let mut bytes = [0u8; 16];
        if let Some(last) = self.lists.last() {
            // SAFETY: the list has an entry of so many bytes; the launch that wrote it is done.
            unsafe { queue.download_now(last, 0, bytes.as_mut_ptr(), self.partial_bytes)? };
        }
        let (value, index) = bytes.split_at(8);
        let mut bits = [0; 8];
        bits[..self.value_bytes].copy_from_slice(&value[..self.value_bytes]);
        let mut number = [0; 8];
        number.copy_from_slice(index);
        Ok((u64::from_ne_bytes(bits), u64::from_ne_bytes(number)))
    }
}
