//! A reduction on the device: segments within blocks, then the tree, level by level (the two-level reduction of Lashgar
//! §3.3, in tida's fixed order).

pub(crate) mod runs;

use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::element::ScalarType;
use tida_kernels::emit::fold::{FOLD_GROUPS, FOLD_THREADS};
use tida_kernels::plan::{FoldOp, Goal, SEGMENT};

use super::device::{DeviceLaunch, Line};
use super::geometry::segments;
use super::launched::Launched;
use super::prepare::Prepared;
use super::rolling::{RollingFold, Scratch};
use crate::backend::{Argument, Kernel, Memory};
use crate::device::answers::Answer;
use crate::device::compiler::Own;
use crate::device::core::DeviceCore;
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
pub(super) const TWICE: u64 = (SEGMENT * SEGMENT) as u64;

/// Where a reduction puts what it finds, and the kernels that fold that: all that it needs before it is launched, so
/// that nothing is missing any more once something is.
#[derive(Debug)]
pub(crate) struct Lists {
    /// Each is folded to the next: the values, if cuts split them, then segments. The last has one entry.
    lists: Vec<Memory>,
    /// Where that entry is instead, if the host has a place for it.
    answer: Option<Answer>,
    /// Nothing is kept of the first of these lists but what is not yet folded.
    rolling: Option<RollingFold>,
    of_values: Option<Arc<dyn Kernel>>,
    tree: Option<Arc<dyn Kernel>>,
    value_bytes: usize,
    partial_bytes: usize,
}

/// Entries up to which a list is kept whole: eight times what is kept of any.
const MANY: u64 = 16 * TWICE;

/// Entries that one launch finds, mostly.
const AT_ONCE: u64 = 16 * TWICE;

/// What a reduction leaves on the device.
#[derive(Debug)]
pub(crate) struct Folded {
    launched: Launched,
    /// None of a native form.
    lists: Option<Lists>,
}

impl Cells {
    pub fn new<const D: usize>(layout: &Layout<D>, cells: &GridBox<D>, (scalar, op): (ScalarType, FoldOp)) -> Cells {
        let parts = (0..layout.regions.len()).map(|number| (number, layout.own(number).intersect(cells)));
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

    /// Rows of the box, and segments of all of them.
    fn entries(&self) -> (u64, u64) {
        let rows = (self.whole.cells() / self.whole.extent()[3]) as u64;
        (rows, rows * segments(&self.whole) as u64)
    }

    /// Bytes of the list of segments, beside which the others are small; or of what is kept of it where planes come one
    /// after the other.
    pub fn list_bytes(&self, by_planes: bool) -> u64 {
        let (_, entries) = self.entries();
        match by_planes && self.rolls() {
            true => entries.div_ceil(TWICE) * self.partial_bytes() as u64 + RollingFold::BYTES,
            false => entries * self.partial_bytes() as u64,
        }
    }

    /// Whether groups of the tree are worth folding before all of them are there. What has places has to know where it
    /// is in the whole.
    fn rolls(&self) -> bool {
        let (_, entries) = self.entries();
        !self.is_split() && self.partial_bytes() <= 8 && entries > MANY && self.planes().1 > 1
    }

    /// The first axis along which the box has several cells, and how many.
    fn planes(&self) -> (usize, u64) {
        let extent = self.whole.extent();
        let axis = (0..3).find(|axis| extent[*axis] > 1).unwrap_or(0);
        (axis, extent[axis] as u64)
    }

    /// Entries that one launch finds at most, if groups are folded before all are there.
    pub fn scratch(&self) -> Option<u64> {
        let (_, entries) = self.entries();
        self.rolls().then(|| entries.min(AT_ONCE.max(entries / self.planes().1)))
    }

    /// Memory and kernels of the reduction: with a `scratch`, of one whose planes come one after the other.
    ///
    /// # Errors
    /// Memory that the device does not have, and what its compiler refuses.
    pub fn lists(&self, device: &DeviceCore, scratch: Option<&Arc<Scratch>>) -> Result<Lists, Error> {
        let (compiler, (_, entries)) = (device.compiler(), self.entries());
        let (partial_bytes, split) = (self.partial_bytes(), self.is_split());
        let of_values = split.then(|| compiler.own(Own::FoldValues(self.scalar, self.op))).transpose()?;
        let tree = (entries > 1).then(|| compiler.own(Own::FoldTree(self.scalar, self.op))).transpose()?;
        let (mut lists, mut answer) = (Vec::new(), None);
        if split {
            lists.push(device.table(self.whole.cells() * self.scalar.size())?);
        }
        let scratch = scratch.filter(|_| self.rolls());
        let rolling = scratch.map(|scratch| RollingFold::new(device, scratch)).transpose()?;
        let mut left = entries;
        if rolling.is_none() {
            lists.push(device.table(left as usize * partial_bytes)?);
        }
        while left > 1 {
            left = left.div_ceil(TWICE);
            answer = if left == 1 { device.answer() } else { None };
            if answer.is_none() {
                lists.push(device.table(left as usize * partial_bytes)?);
            }
        }
        Ok(Lists { lists, answer, rolling, of_values, tree, value_bytes: self.scalar.size(), partial_bytes })
    }

    /// Puts the kernels of the reduction into a stream: `launch`, whose goal and room for what it finds are set here,
    /// and those that fold that.
    ///
    /// # Errors
    /// As [`Cells::lists`], and what the device refuses.
    ///
    /// # Safety
    /// As [`DeviceLaunch::enqueue`], for all regions that have cells of the box.
    pub unsafe fn enqueue(&self, queue: &Queue<'_>, launch: DeviceLaunch<'_>) -> Result<Folded, Error> {
        let mut launched = None;
        if queue.device.backend().facts().native {
            let launch = DeviceLaunch { goal: self.goal(), ..launch };
            // SAFETY: handed on.
            queue.enqueue(|| unsafe { launch.enqueue(queue, &self.boxes).map(|done| launched = Some(done)) })?;
            return Ok(Folded { launched: launched.unwrap_or_default(), lists: None });
        }
        let lists = self.lists(queue.device, None)?;
        queue.enqueue(|| {
            // SAFETY: handed on.
            launched = Some(unsafe { self.first(queue, launch, &self.boxes, &lists)? });
            // SAFETY: the first kernel has all cells; the lists live as long as what is given here.
            unsafe { self.rest(queue, &lists) }
        })?;
        Ok(Folded { launched: launched.unwrap_or_default(), lists: Some(lists) })
    }

    /// Puts the first kernel of the reduction into a stream, for some of its cells.
    ///
    /// # Errors
    /// What the device refuses.
    ///
    /// # Safety
    /// As [`DeviceLaunch::enqueue`]; the lists are this reduction's, and live until the kernel is done.
    pub unsafe fn first(
        &self,
        queue: &Queue<'_>,
        launch: DeviceLaunch<'_>,
        boxes: &[(usize, GridBox<4>)],
        lists: &Lists,
    ) -> Result<Launched, Error> {
        let out = lists.lists.first().ok_or_else(no_list)?;
        let fold = Some((Line { cells: self.whole }, out));
        let launch = DeviceLaunch { goal: self.goal(), fold, ..launch.reborrow() };
        // SAFETY: the caller's promise; the list has room for every segment, the values for every cell.
        unsafe { launch.enqueue(queue, boxes) }
    }

    /// As [`Cells::first`] for planes of the box that follow those before, in parts as large as there is room for; what
    /// is found is folded as far as it can be.
    ///
    /// # Errors
    /// As [`Cells::first`].
    ///
    /// # Safety
    /// As [`Cells::first`]. All is in one stream.
    pub unsafe fn pieces(
        &self,
        queue: &Queue<'_>,
        launch: &DeviceLaunch<'_>,
        boxes: &[(usize, GridBox<4>)],
        lists: &Lists,
        launched: &mut Vec<Launched>,
    ) -> Result<(), Error> {
        let (Some(rolling), Some(tree)) = (&lists.rolling, &lists.tree) else {
            // SAFETY: handed on.
            launched.push(unsafe { self.first(queue, launch.reborrow(), boxes, lists)? });
            return Ok(());
        };
        let list = lists.lists.first().ok_or_else(no_list)?;
        let ((axis, planes), (_, all)) = (self.planes(), self.entries());
        let of_plane = all / planes;
        let most = (rolling.most() / of_plane).max(1) as i64;
        for (region, cells) in boxes {
            let mut part = *cells;
            while part.lo[axis] < cells.hi[axis] {
                part.hi[axis] = (part.lo[axis] + most).min(cells.hi[axis]);
                // What is found is that of these planes alone.
                let mut line = self.whole;
                (line.lo[axis], line.hi[axis]) = (part.lo[axis], part.hi[axis]);
                let fold = Some((Line { cells: line }, rolling.found()));
                let launch = DeviceLaunch { goal: self.goal(), fold, ..launch.reborrow() };
                // SAFETY: the caller's promise; there is room for the segments of so many planes.
                launched.push(unsafe { launch.enqueue(queue, &[(*region, part)])? });
                let entry = |plane: i64| (plane - self.whole.lo[axis]) as u64 * of_plane;
                let entries = (entry(part.lo[axis])..entry(part.hi[axis]), all, self.partial_bytes());
                // SAFETY: the launch before has found these; the list is that of this reduction's groups.
                unsafe { rolling.fold(queue, (&**tree, list), entries)? };
                part.lo[axis] = part.hi[axis];
            }
        }
        Ok(())
    }

    /// Puts the kernels into a stream that fold what the first has found in all cells.
    ///
    /// # Errors
    /// What the device refuses.
    ///
    /// # Safety
    /// The lists are this reduction's, the first kernel has run or runs before in the stream, and they live until these
    /// kernels are done.
    pub unsafe fn rest(&self, queue: &Queue<'_>, lists: &Lists) -> Result<(), Error> {
        let (whole, (rows, entries)) = (&self.whole, self.entries());
        let address = lists.answer.as_ref().map(|answer| answer.address().to_ne_bytes());
        let last = address.as_ref().map(|address| Argument::Bytes(address));
        let mut places = lists.lists.iter().map(Argument::Memory).chain(last);
        let mut next = || places.next().ok_or_else(no_list);
        let mut from = next()?;
        if let Some(kernel) = &lists.of_values {
            let to = next()?;
            let (rows, cells, lo) =
                (rows.to_ne_bytes(), (whole.hi[3] - whole.lo[3]).to_ne_bytes(), whole.lo[3].to_ne_bytes());
            let arguments = [from, to, Argument::Bytes(&rows), Argument::Bytes(&cells), Argument::Bytes(&lo)];
            // SAFETY: both memories have the room that the kernel expects for so many rows and cells.
            unsafe { run(queue, &**kernel, entries.div_ceil(FOLD_GROUPS), &arguments)? };
            from = to;
        }
        let mut left = if lists.rolling.is_some() { entries.div_ceil(TWICE) } else { entries };
        while let Some(kernel) = lists.tree.as_ref().filter(|_| left > 1) {
            let (to, blocks) = (next()?, left.div_ceil(TWICE));
            let arguments = [from, to, Argument::Bytes(&left.to_ne_bytes())];
            // SAFETY: the list before has `left` entries, the new one has room for a 4096th: the host's place for one.
            unsafe { run(queue, &**kernel, blocks, &arguments)? };
            (left, from) = (blocks, to);
        }
        Ok(())
    }
}

fn no_list() -> Error {
    Error::new(ErrorKind::Memory, "reduce on the device", "no memory for its lists", "report this as a bug of tida")
}

/// Launches a fold.
///
/// # Safety
/// The arguments are those of the kernel, and live until it is done.
pub(super) unsafe fn run(
    queue: &Queue<'_>,
    kernel: &dyn Kernel,
    blocks: u64,
    arguments: &[Argument<'_>],
) -> Result<(), Error> {
    let threads = [FOLD_THREADS, 1, 1];
    // SAFETY: the caller's promise; entries past the end are left out by the kernel.
    unsafe { queue.device.backend().launch(queue.stream, kernel, [blocks as u32, 1, 1], threads, arguments) }
}

impl Folded {
    /// Once the device is done: the bits of the value, and its index if it has one; none of a native form, which keeps
    /// its value itself.
    pub fn take(self, device: &DeviceCore, prepared: &Prepared) -> Result<Option<(u64, u64)>, Error> {
        self.launched.finish(device, prepared)?;
        self.lists.map(|lists| lists.take(device)).transpose()
    }
}

impl Lists {
    /// Once the device is done: the bits of the value, and its index if it has one.
    ///
    /// # Errors
    /// What the driver reports.
    pub fn take(&self, device: &DeviceCore) -> Result<(u64, u64), Error> {
        let mut bytes = [0u8; 16];
        if let Some(answer) = &self.answer {
            device.counts.download(self.partial_bytes);
            bytes = answer.read();
        } else if let Some(last) = self.lists.last() {
            // SAFETY: the list has an entry of so many bytes; the launch that wrote it is done.
            unsafe { device.download_now(last, 0, bytes.as_mut_ptr(), self.partial_bytes)? };
        }
        let (value, index) = bytes.split_at(8);
        let mut bits = [0; 8];
        bits[..self.value_bytes].copy_from_slice(&value[..self.value_bytes]);
        let mut number = [0; 8];
        number.copy_from_slice(index);
        Ok((u64::from_ne_bytes(bits), u64::from_ne_bytes(number)))
    }
}
