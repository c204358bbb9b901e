//! A reduction on the device: segments within blocks, then the tree, level by level (the two-level reduction of Lashgar
//! §3.3, in tida's fixed order).

use smallvec::SmallVec;
use tida_kernels::element::ScalarType;
use tida_kernels::emit::fold::{FOLD_GROUPS, FOLD_THREADS};
use tida_kernels::plan::{FoldOp, Goal, SEGMENT};

use super::device::{DeviceLaunch, Line};
use super::geometry::segments;
use super::launched::Launched;
use super::prepare::Prepared;
use crate::backend::{Argument, Kernel, Memory};
use crate::device::answers::Answer;
use crate::device::compiler::Own;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::memory::layout::Layout;
use crate::memory::node::Queue;

/// The cells of a reduction, and how their values are folded. There is a cell at least.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    /// Those of each region that has some.
    pub boxes: SmallVec<[(usize, GridBox<4>); 8]>,
    whole: GridBox<4>,
    scalar: ScalarType,
    op: FoldOp,
}

/// Entries of a list that a block of the tree makes one of.
const TWICE: u64 = (SEGMENT * SEGMENT) as u64;

/// What a reduction leaves on the device.
#[derive(Debug)]
pub(crate) struct Folded {
    launched: Launched,
    /// The lists, the last of one entry.
    lists: Vec<Memory>,
    /// Where that entry is instead, if the host has a place for it.
    answer: Option<Answer>,
    value_bytes: usize,
    partial_bytes: usize,
}

impl Cells {
    pub fn new<const D: usize>(layout: &Layout<D>, cells: &GridBox<D>, (scalar, op): (ScalarType, FoldOp)) -> Cells {
        let parts = layout.regions.iter().enumerate().map(|(number, region)| (number, region.valid.intersect(cells)));
        let boxes = parts.filter(|(_, part)| !part.is_empty()).map(|(number, part)| (number, part.widen()));
        Cells { boxes: boxes.collect(), whole: cells.widen(), scalar, op }
    }

    /// Whether a cut between regions falls inside a segment: then the values are put side by side first.
    pub fn is_split(&self) -> bool {
        self.boxes.iter().any(|(_, part)| part.lo[3] > self.whole.lo[3] && part.lo[3] % SEGMENT != 0)
    }

    fn partial_bytes(&self) -> usize {
        if matches!(self.op, FoldOp::ArgMin | FoldOp::ArgMax) { 16 } else { self.scalar.size() }
    }

    /// What the first kernel is for.
    pub fn goal(&self) -> Goal {
        if self.is_split() { Goal::Values } else { Goal::Segments(self.op) }
    }

    /// Puts the kernels of the reduction into a stream: `launch`, whose goal and room for what it finds are set here,
    /// and those that fold that.
    ///
    /// # Safety
    /// As [`DeviceLaunch::enqueue`], for all regions that have cells of the box.
    pub unsafe fn enqueue(&self, queue: &Queue<'_>, launch: DeviceLaunch<'_>) -> Result<Folded, Error> {
        let mut lists = Vec::new();
        let mut answer = None;
        // SAFETY: handed on.
        let launched = queue.enqueue(|| unsafe { self.put(queue, launch, &mut lists, &mut answer) })?;
        Ok(Folded { launched, lists, answer, value_bytes: self.scalar.size(), partial_bytes: self.partial_bytes() })
    }

    /// As [`Cells::enqueue`]; what must live until the kernels are done goes into `lists` and `answer`.
    ///
    /// # Safety
    /// As [`Cells::enqueue`].
    unsafe fn put(
        &self,
        queue: &Queue<'_>,
        launch: DeviceLaunch<'_>,
        lists: &mut Vec<Memory>,
        answer: &mut Option<Answer>,
    ) -> Result<Launched, Error> {
        let whole = &self.whole;
        if queue.device.backend().facts().native {
            // SAFETY: handed on.
            return unsafe { DeviceLaunch { goal: self.goal(), ..launch }.enqueue(queue, &self.boxes) };
        }
        let (partial_bytes, split) = (self.partial_bytes(), self.is_split());
        let rows = (whole.cells() / whole.extent()[3]) as u64;
        let entries = rows * segments(whole) as u64;

        // Memory and kernels first: once something is launched nothing is missing any more.
        let compiler = queue.device.compiler();
        let of_values = split.then(|| compiler.own(Own::FoldValues(self.scalar, self.op))).transpose()?;
        let tree = (entries > 1).then(|| compiler.own(Own::FoldTree(self.scalar, self.op))).transpose()?;
        if split {
            lists.push(queue.device.table(whole.cells() * self.scalar.size())?);
        }
        let mut left = entries;
        lists.push(queue.device.table(left as usize * partial_bytes)?);
        while left > 1 {
            left = left.div_ceil(TWICE);
            *answer = if left == 1 { queue.device.answer() } else { None };
            if answer.is_none() {
                lists.push(queue.device.table(left as usize * partial_bytes)?);
            }
        }
        let address = answer.as_ref().map(|answer| answer.address().to_ne_bytes());
        let last = address.as_ref().map(|address| Argument::Bytes(address));
        let mut places = lists.iter().map(Argument::Memory).chain(last);
        let mut next = || places.next().ok_or_else(no_list);

        let out = lists.first().ok_or_else(no_list)?;
        let fold = Some((Line { cells: *whole }, out));
        let launch = DeviceLaunch { goal: self.goal(), fold, ..launch.reborrow() };
        // SAFETY: the caller's promise; the list has room for every segment, the values for every cell.
        let launched = unsafe { launch.enqueue(queue, &self.boxes)? };
        let mut from = next()?;
        if let Some(kernel) = of_values {
            let to = next()?;
            let (rows, cells, lo) =
                (rows.to_ne_bytes(), (whole.hi[3] - whole.lo[3]).to_ne_bytes(), whole.lo[3].to_ne_bytes());
            let arguments = [from, to, Argument::Bytes(&rows), Argument::Bytes(&cells), Argument::Bytes(&lo)];
            // SAFETY: both memories have the room that the kernel expects for so many rows and cells.
            unsafe { run(queue, &*kernel, entries.div_ceil(FOLD_GROUPS), &arguments)? };
            from = to;
        }
        let mut left = entries;
        while let Some(kernel) = tree.as_ref().filter(|_| left > 1) {
            let (to, blocks) = (next()?, left.div_ceil(TWICE));
            let arguments = [from, to, Argument::Bytes(&left.to_ne_bytes())];
            // SAFETY: the list before has `left` entries, the new one has room for a 4096th: the host's place for one.
            unsafe { run(queue, &**kernel, blocks, &arguments)? };
            (left, from) = (blocks, to);
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
unsafe fn run(queue: &Queue<'_>, kernel: &dyn Kernel, blocks: u64, arguments: &[Argument<'_>]) -> Result<(), Error> {
    let threads = [FOLD_THREADS, 1, 1];
    // SAFETY: the caller's promise; entries past the end are left out by the kernel.
    unsafe { queue.device.backend().launch(queue.stream, kernel, [blocks as u32, 1, 1], threads, arguments) }
}

impl Folded {
    /// Once the device is done: the bits of the value, and its index if it has one; none of a native form, which keeps
    /// its value itself.
    pub fn take(
        self,
        queue: &crate::device::core::DeviceCore,
        prepared: &Prepared,
    ) -> Result<Option<(u64, u64)>, Error> {
        self.launched.finish(queue, prepared)?;
        let mut bytes = [0u8; 16];
        if let Some(answer) = &self.answer {
            queue.count_download(self.partial_bytes);
            bytes = answer.read();
        } else if let Some(last) = self.lists.last() {
            // SAFETY: the list has an entry of so many bytes; the launch that wrote it is done.
            unsafe { queue.download_now(last, 0, bytes.as_mut_ptr(), self.partial_bytes)? };
        } else {
            return Ok(None);
        }
        let (value, index) = bytes.split_at(8);
        let mut bits = [0; 8];
        bits[..self.value_bytes].copy_from_slice(&value[..self.value_bytes]);
        let mut number = [0; 8];
        number.copy_from_slice(index);
        Ok(Some((u64::from_ne_bytes(bits), u64::from_ne_bytes(number))))
    }
}
