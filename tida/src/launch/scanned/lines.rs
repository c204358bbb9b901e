//! Whole lines as one step: lines that are not too long by one launch, others level by level.
//!
//! The sums of the blocks of a level are the cells of the next one. What they come to is nobody's but the step's: it is
//! in tables beside arrays, which the device's backend keeps for the next step.

use std::sync::Arc;

use smallvec::SmallVec;
use tida_kernels::emit::scan::{LINE_THREADS, LONGEST, THREADS, TILE};
use tida_kernels::plan::SEGMENT;

use super::{Placed, Words, placed, scalar};
use crate::backend::{Facts, Kernel, Memory};
use crate::device::compiler::Own;
use crate::error::{Error, ErrorKind};
use crate::grid::GridBox;
use crate::launch::device::OnDevice;
use crate::memory::node::Queue;

/// Cells of a line up to which one block of threads is as soon done as several launches.
const SHORT: i64 = 1 << 15;

/// Lines from which on each has a block of threads, if one can take it: enough blocks for a whole device.
const MANY: i64 = 256;

/// Cells of a line on each level, the first one's own first. The last ones are summed by one launch.
fn levels(rows: i64, cells: i64) -> SmallVec<[i64; 6]> {
    let short = if rows >= MANY { LONGEST } else { SHORT };
    let mut levels = SmallVec::from_slice(&[cells]);
    let mut last = cells;
    while last > short {
        last /= SEGMENT;
        levels.push(last);
    }
    levels
}

/// Whether a device that runs text sums so many lines of so many cells as one step.
pub(crate) fn fits(facts: &Facts, lines: usize, cells: usize) -> bool {
    // A tile of the widest values, and the sums of its blocks.
    let shared = (LINE_THREADS as usize * 65 + 14 * 64 + 2) * 8;
    let blocks = (lines as u64).checked_mul((cells as u64).div_ceil(TILE.into()));
    shared as u64 <= facts.shared && blocks.is_some_and(|blocks| blocks <= facts.grid[0].min(u32::MAX.into()))
}

/// The kernels of a scan.
struct Kernels {
    sums: Arc<dyn Kernel>,
    lines: Arc<dyn Kernel>,
    cells: Arc<dyn Kernel>,
}

/// Where the lines of a level are: their memory, the first cell's place there, and how far it is to the next line along
/// the outer and the inner axis.
#[derive(Clone, Copy)]
struct Level<'a> {
    memory: &'a Memory,
    line: [i64; 3],
    cells: i64,
}

/// Puts the kernels over boxes of regions into a stream, and gives what must live until they are done; none on a
/// device that runs native forms.
///
/// # Errors
/// Memory that the device does not have, and what it refuses; arrays that have no such kernels.
///
/// # Safety
/// As [`Scanned::enqueue`](super::Scanned::enqueue), for boxes of whole lines.
pub(super) unsafe fn enqueue(
    queue: &Queue<'_>,
    args: &[OnDevice<'_>],
    boxes: &[(usize, GridBox<4>)],
    exclusive: bool,
) -> Result<Option<SmallVec<[Arc<Memory>; 4]>>, Error> {
    if queue.device.backend().facts().native {
        return Ok(None);
    }
    let (Some(scalar), [to, of]) = (scalar(args), args) else { return Err(no_kernel()) };
    let own = |own| queue.device.compiler().own(own);
    let kernels = Kernels {
        sums: own(Own::ScanSums(scalar))?,
        lines: own(Own::ScanLines(scalar))?,
        cells: own(Own::ScanCells(scalar))?,
    };
    let mut held = SmallVec::new();
    for (region, cells) in boxes.iter().filter(|(_, cells)| !cells.is_empty()) {
        let [to, of] = [to, of].map(|arg| placed(queue, &arg.0, *region, scalar));
        let (Some(to), Some(of)) = (to?, of?) else { return Err(no_kernel()) };
        let [_, outer, inner, last] = cells.extent().map(|n| n as i64);
        let levels = levels(outer * inner, last);
        let between: i64 = levels[1..].iter().sum::<i64>() * outer * inner;
        let table = || queue.device.table(between as usize * scalar.size()).map(Arc::new);
        let tables = if between > 0 { Some([table()?, table()?]) } else { None };
        let rows = [outer, inner];
        queue.enqueue(|| {
            // SAFETY: the caller's promise; the tables have room for all levels but the first, and are held.
            unsafe { put(queue, &kernels, (&levels, rows), [&of, &to], (tables.as_ref(), cells.lo, exclusive)) }
        })?;
        held.extend([to.memory, of.memory]);
        held.extend(tables.into_iter().flatten());
    }
    Ok(Some(held))
}

/// Puts the launches over one box into a stream.
///
/// # Safety
/// As [`enqueue`]; the tables have room for all levels but the first.
unsafe fn put(
    queue: &Queue<'_>,
    kernels: &Kernels,
    (levels, [outer, inner]): (&[i64], [i64; 2]),
    arrays: [&Placed<'_>; 2],
    (tables, lo, exclusive): (Option<&[Arc<Memory>; 2]>, [i64; 4], bool),
) -> Result<(), Error> {
    let rows = (outer * inner) as u64;
    // What is summed on each level, and where the sums go.
    let sides = [0, 1].map(|side: usize| {
        let mut first = 0;
        let mut all: SmallVec<[Level<'_>; 6]> = SmallVec::new();
        let array = Level { memory: &arrays[side].memory, line: arrays[side].line(lo), cells: levels[0] };
        all.push(array);
        for cells in &levels[1..] {
            let Some(tables) = tables else { break };
            all.push(Level { memory: &tables[side], line: [first, inner * cells, *cells], cells: *cells });
            first += outer * inner * cells;
        }
        all
    });
    let [of, to] = &sides;
    let words = |level: &Level<'_>, tiles: u64| Words {
        tiles,
        rows,
        inner,
        cells: level.cells,
        of: level.line,
        ..Words::default()
    };
    let tiles = |level: &Level<'_>| (level.cells as u64).div_ceil(TILE.into());
    let top = of.len() - 1;
    for (level, next) in of.iter().zip(&of[1..]) {
        let words = Words { before: next.line, ..words(level, tiles(level)) };
        // SAFETY: the caller's promise.
        unsafe { words.put(queue, &*kernels.sums, THREADS, &[level.memory, next.memory])? };
    }
    let words_of_top = Words { to: to[top].line, exclusive: exclusive && top == 0, ..words(&of[top], 1) };
    // SAFETY: as above.
    unsafe { words_of_top.put(queue, &*kernels.lines, LINE_THREADS, &[of[top].memory, to[top].memory])? };
    for level in (0..top).rev() {
        let (given, next) = ([of[level].memory, to[level].memory, of[level + 1].memory], &to[level + 1]);
        let exclusive = exclusive && level == 0;
        let words = words(&of[level], tiles(&of[level]));
        let words = Words { to: to[level].line, before: next.line, exclusive, ..words };
        // SAFETY: as above.
        unsafe { words.put(queue, &*kernels.cells, THREADS, &[given[0], given[1], given[2], next.memory])? };
    }
    Ok(())
}

fn no_kernel() -> Error {
    let found = "arrays of which it has no values there, or not of one type of numbers";
    let advice = "report this as a bug of tida, with the arrays and the device; on the CPU (`Device::Cpu`) it runs";
    Error::new(ErrorKind::Device, "sum lines on a device", found, advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_take_few_launches() {
        let launches = |rows, cells| 2 * levels(rows, cells).len() - 1;
        assert_eq!([1, 1000, SHORT].map(|cells| launches(1, cells)), [1; 3]);
        assert_eq!([SHORT + 1, SHORT * SEGMENT].map(|cells| launches(1, cells)), [3; 2]);
        assert_eq!(launches(1, 448 * 448 * 448), 5);
        assert_eq!([448, 9472, LONGEST].map(|cells| launches(MANY, cells)), [1; 3]);
        assert_eq!(launches(MANY, LONGEST + 1), 3);
    }
}
