//! Scans on a device that runs text: kernels of their own, a thread of which has a block of cells in registers.
//!
//! Whole lines are one step ([`lines`]). Where lines are cut, steps over blocks do what the kernels over groups do that
//! are recorded ([`scan`](crate::scan()), in `compute/scan.rs`), which run where these cannot: natively, on arrays of
//! codes, on parts of arrays, and where a whole array is cut.

pub(crate) mod lines;

use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::element::{ElementType, ScalarType};
use tida_kernels::emit::scan::{THREADS, TILE};
use tida_kernels::plan::SEGMENT;

use super::device::{DeviceArg, DeviceArray, OnDevice};
use crate::backend::{Argument, Kernel, Memory};
use crate::device::compiler::Own;
use crate::error::Error;
use crate::grid::GridBox;
use crate::memory::layout::WideRegion;
use crate::memory::node::Queue;

/// What is left in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sums {
    /// The sum of a block: the arguments are the sums, and all cells.
    OfBlocks,
    /// The sum up to the cell: the arguments are the sums, the cells, all sums of blocks, and those up to each block.
    UpTo { exclusive: bool },
    /// All of a line up to the cell: the arguments are the sums and the cells, whose boxes have whole lines.
    OfLines { exclusive: bool },
}

/// A step of a scan of arrays of so many axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanned {
    pub axes: usize,
    /// The coordinate along the first axis at which the blocks begin.
    pub first: i64,
    pub sums: Sums,
}

/// An array: its memory, and the region that a box is in, with the number of its first value there.
struct Placed<'a> {
    memory: Arc<Memory>,
    region: &'a WideRegion,
    start: i64,
}

impl Placed<'_> {
    /// Where a cell is, and how far it is to the next one along the two axes before the last.
    fn line(&self, at: [i64; 4]) -> [i64; 3] {
        [self.start + self.region.position(at) as i64, self.region.strides[1], self.region.strides[2]]
    }
}

/// What a launch is told, in the order of [`scan`](tida_kernels::emit::scan)'s kernels.
#[derive(Clone, Copy, Debug, Default)]
struct Words {
    /// Parts of a row that have a block of threads, rows, and how many of these are along the inner axis.
    tiles: u64,
    rows: u64,
    inner: i64,
    cells: i64,
    of: [i64; 3],
    to: [i64; 3],
    before: [i64; 3],
    block: i64,
    exclusive: bool,
}

impl Words {
    /// Puts a launch into a stream, given this memory.
    ///
    /// # Errors
    /// What the device refuses.
    ///
    /// # Safety
    /// The memory is what the kernel asks for, of rows that lie as the words say, and lives until the launch is done.
    unsafe fn put(&self, queue: &Queue<'_>, kernel: &dyn Kernel, threads: u32, given: &[&Memory]) -> Result<(), Error> {
        let Words { tiles, rows, inner, cells, of, to, before, block, exclusive } = *self;
        let mut words = vec![tiles as i64, inner, cells];
        words.extend([of, to, before].concat());
        words.extend([block, i64::from(exclusive)]);
        let words: Vec<u8> = words.into_iter().flat_map(i64::to_ne_bytes).collect();
        let memories = given.iter().map(|memory| Argument::Memory(memory));
        let arguments: SmallVec<[Argument<'_>; 5]> = memories.chain([Argument::Bytes(&words)]).collect();
        let (blocks, threads) = ([(rows * tiles) as u32, 1, 1], [threads, 1, 1]);
        // SAFETY: the caller's promise; cells past a row's end are left out by the kernel.
        unsafe { queue.device.backend().launch(queue.stream, kernel, blocks, threads, &arguments) }
    }
}

/// The type of all arguments, if they are arrays of one.
fn scalar(args: &[OnDevice<'_>]) -> Option<ScalarType> {
    let of = |arg: &OnDevice<'_>| match &arg.0 {
        DeviceArg::Tiled(array) | DeviceArg::Whole(array, _) => match array.element {
            ElementType::Scalar(scalar) => Some(scalar),
            _ => None,
        },
        DeviceArg::Table(..) => None,
    };
    let first = of(args.first()?)?;
    args.iter().all(|arg| of(arg) == Some(first)).then_some(first)
}

impl Scanned {
    /// Puts the kernels over boxes of regions into a stream, and gives what must live until they are done; none if
    /// these arrays are not for them, and nothing was put there.
    ///
    /// # Errors
    /// Memory that the device does not have, and what it refuses.
    ///
    /// # Safety
    /// The arguments are those that [`Sums`] says, of shapes that fit; the data is on the device, for commands of
    /// `queue`; no one else touches it until they are done, and who calls keeps the arrays until then.
    pub unsafe fn enqueue(
        &self,
        queue: &Queue<'_>,
        args: &[OnDevice<'_>],
        boxes: &[(usize, GridBox<4>)],
    ) -> Result<Option<SmallVec<[Arc<Memory>; 4]>>, Error> {
        if let Sums::OfLines { exclusive } = self.sums {
            // SAFETY: handed on.
            return unsafe { lines::enqueue(queue, args, boxes, exclusive) };
        }
        let facts = queue.device.backend().facts();
        let Some(scalar) = scalar(args).filter(|_| !facts.native) else { return Ok(None) };
        let most = facts.grid[0].min(u32::MAX.into());
        if boxes.iter().any(|(_, cells)| self.parts(cells).is_none_or(|[rows, tiles]| rows * tiles > most)) {
            return Ok(None);
        }
        let mut launches = SmallVec::<[_; 4]>::new();
        for (region, cells) in boxes {
            let placed = args.iter().map(|arg| placed(queue, &arg.0, *region, scalar));
            match placed.collect::<Result<Option<SmallVec<[Placed<'_>; 4]>>, Error>>()? {
                Some(placed) => launches.push((placed, *cells)),
                None => return Ok(None),
            }
        }
        let kernel = queue.device.compiler().own(match self.sums {
            Sums::OfBlocks => Own::ScanSums(scalar),
            _ => Own::ScanCells(scalar),
        })?;
        queue.enqueue(|| {
            // SAFETY: handed on.
            launches.iter().try_for_each(|(placed, cells)| unsafe { self.put(queue, &*kernel, placed, cells) })
        })?;
        Ok(Some(launches.into_iter().flat_map(|(placed, _)| placed).map(|one| one.memory).collect()))
    }

    /// Rows of a box, and the parts of each that have a block of threads.
    fn parts(&self, cells: &GridBox<4>) -> Option<[u64; 2]> {
        let [_, outer, inner, last] = cells.extent().map(|n| n as i64);
        let of_row = match self.sums {
            Sums::OfBlocks => last.checked_mul(SEGMENT)?,
            _ => last,
        };
        Some([outer.checked_mul(inner)? as u64, (of_row as u64).div_ceil(TILE.into())])
    }

    /// Puts a launch into a stream.
    ///
    /// # Safety
    /// As [`Scanned::enqueue`].
    unsafe fn put(
        &self,
        queue: &Queue<'_>,
        kernel: &dyn Kernel,
        placed: &[Placed<'_>],
        cells: &GridBox<4>,
    ) -> Result<(), Error> {
        let Some([rows, tiles]) = self.parts(cells).filter(|_| !cells.is_empty()) else { return Ok(()) };
        let [_, _, inner, last] = cells.extent().map(|n| n as i64);
        let axis = 4 - self.axes;
        let mut other = cells.lo;
        let words = Words { tiles, rows, inner, ..Words::default() };
        // What is read comes first, and then what is written.
        let (words, given) = match (self.sums, placed) {
            (Sums::OfBlocks, [sums, of]) => {
                other[3] *= SEGMENT;
                other[axis] += self.first;
                let (of_first, before) = (of.line(other), sums.line(cells.lo));
                (Words { cells: last * SEGMENT, of: of_first, before, ..words }, vec![&of.memory, &sums.memory])
            }
            (Sums::UpTo { exclusive }, [to, of, blocks, sums]) => {
                let block = other[3] / SEGMENT;
                other[3] = 0;
                other[axis] -= self.first;
                let (of_first, to_first, before) = (of.line(cells.lo), to.line(cells.lo), blocks.line(other));
                let words = Words { cells: last, of: of_first, to: to_first, before, block, exclusive, ..words };
                (words, vec![&of.memory, &to.memory, &blocks.memory, &sums.memory])
            }
            _ => return Ok(()),
        };
        let given: SmallVec<[&Memory; 4]> = given.into_iter().map(|memory| &**memory).collect();
        // SAFETY: the caller's promise.
        unsafe { words.put(queue, kernel, THREADS, &given) }
    }
}

/// Where an argument is on the device; none if it is there in part, or is one to be read as a whole and cut.
fn placed<'a>(
    queue: &'a Queue<'_>,
    arg: &DeviceArg<'a>,
    region: usize,
    scalar: ScalarType,
) -> Result<Option<Placed<'a>>, Error> {
    let (array, whole): (DeviceArray<'a>, bool) = match arg {
        DeviceArg::Tiled(array) => (array.placed(queue), false),
        DeviceArg::Whole(array, _) if queue.ring(array.storage).is_none() => (*array, true),
        _ => return Ok(None),
    };
    let layout: &'a [WideRegion] = match (whole, array.storage.row()) {
        (true, Some(row)) => &row.whole.regions,
        _ => &array.layout.regions,
    };
    let number = if whole { 0 } else { region };
    let Some(region) = layout.get(number).filter(|_| !whole || layout.len() == 1) else { return Ok(None) };
    let start = (array.start(number) / scalar.size()) as i64;
    Ok(Some(Placed { memory: array.memory(queue.device)?, region, start }))
}
