//! Blocks of cells: the native form of kernels with inner loops, which all cells of a block take together.
//!
//! `kernel!` writes such a form where the turns of a loop are the same for all cells (`tida-derive/src/body/lanes.rs`).
//! Vectors are then made of cells, whatever the loop does. What a cell keeps while the loop turns has a lane.

use std::mem::MaybeUninit;

use tida_kernels::element::ScalarType;

use super::ask::{Pass, Run, copied};
use super::view::ReadView;
use crate::grid::GridBox;
use crate::launch::capture::CapturedParam;

/// Cells that run together: some rows of some cells.
#[derive(Clone, Copy, Debug)]
pub struct Cells<const D: usize> {
    first: [i64; D],
    rows: usize,
    columns: usize,
}

/// How many rows.
#[inline(always)]
pub fn rows<const D: usize>(cells: &Cells<D>) -> usize {
    cells.rows
}

/// How many cells in each.
#[inline(always)]
pub fn columns<const D: usize>(cells: &Cells<D>) -> usize {
    cells.columns
}

/// One of them.
#[inline(always)]
pub fn cell<const D: usize>(cells: &Cells<D>, row: usize, column: usize) -> [i64; D] {
    let mut at = cells.first;
    at[D - 1] += column as i64;
    if D > 1 {
        at[D - 2] += row as i64;
    }
    at
}

/// What each cell of a block keeps of one local variable.
#[derive(Debug)]
pub struct Lanes<T, const N: usize>([MaybeUninit<T>; N]);

/// Room for it.
#[inline(always)]
pub fn lanes<T, const N: usize>() -> Lanes<T, N> {
    Lanes([const { MaybeUninit::uninit() }; N])
}

/// What a cell has kept.
///
/// # Safety
/// `n` is below `N`, and a value was put there.
#[inline(always)]
pub unsafe fn lane<T: Copy, const N: usize>(lanes: &Lanes<T, N>, n: usize) -> T {
    // SAFETY: the caller's promise.
    unsafe { lanes.0.get_unchecked(n).assume_init() }
}

/// Keeps a value.
///
/// # Safety
/// `n` is below `N`.
#[inline(always)]
pub unsafe fn put_lane<T: Copy, const N: usize>(lanes: &mut Lanes<T, N>, n: usize, value: T) {
    // SAFETY: the caller's promise.
    unsafe { lanes.0.get_unchecked_mut(n).write(value) };
}

/// Where the values of the cells of a block go.
#[derive(Debug)]
pub struct Out<R> {
    first: *mut R,
    /// From one row to the next.
    row: usize,
}

/// Puts the value of a cell there.
///
/// # Safety
/// The cell is one of the block.
#[inline(always)]
pub unsafe fn put<R>(out: &Out<R>, row: usize, column: usize, value: R) {
    // SAFETY: `Run::new` asked for room for every cell of the box.
    unsafe { out.first.add(row * out.row + column).write(value) };
}

/// The first and the last cell of a row.
#[inline(always)]
fn ends<const D: usize>(cells: &Cells<D>, row: usize) -> [[i64; D]; 2] {
    [cell(cells, row, 0), cell(cells, row, cells.columns - 1)]
}

/// What finds all cells that a row reads of a view at `indexes`, if it can find them at once. An index changes evenly
/// along a row, so that what has those of its ends has all.
#[inline(always)]
pub fn near_row<'v, V: ReadView, const D: usize, const S: usize>(
    view: &'v V,
    cells: &Cells<D>,
    row: usize,
    indexes: impl Fn([i64; D]) -> [V::Index; S],
) -> Option<V::Near<'v>> {
    view.near(ends(cells, row).map(indexes).as_flattened())
}

/// The same for a block, of which it asks the corners.
#[inline(always)]
pub fn near_block<'v, V: ReadView, const D: usize, const S: usize>(
    view: &'v V,
    cells: &Cells<D>,
    _: usize,
    indexes: impl Fn([i64; D]) -> [V::Index; S],
) -> Option<V::Near<'v>> {
    view.near(
        [ends(cells, 0), ends(cells, cells.rows - 1)].map(|ends| ends.map(&indexes)).as_flattened().as_flattened(),
    )
}

/// Turns of a loop that run at once.
const TURNS: usize = 4;

/// The next turns of a loop, and how many there are.
#[inline(always)]
pub fn turns<I: Iterator<Item: Copy + Default>>(range: &mut I) -> ([I::Item; TURNS], usize) {
    let mut turns = [I::Item::default(); TURNS];
    let mut count = 0;
    for turn in &mut turns {
        let Some(next) = range.next() else { break };
        *turn = next;
        count += 1;
    }
    (turns, count)
}

/// As [`near_block`] for some turns of a loop.
#[inline(always)]
pub fn near_turns<'v, V: ReadView, T: Copy, const D: usize, const S: usize>(
    view: &'v V,
    cells: &Cells<D>,
    turns: [T; TURNS],
    indexes: impl Fn(T, [i64; D]) -> [V::Index; S],
) -> Option<V::Near<'v>> {
    let corners = [ends(cells, 0), ends(cells, cells.rows - 1)];
    let all = turns.map(|turn| corners.map(|ends| ends.map(|at| indexes(turn, at))));
    view.near(all.as_flattened().as_flattened().as_flattened())
}

/// A box of cells with the form of the kernel for blocks of at most `shape` cells.
pub struct RunBlocks<'b, V, R, const D: usize, F> {
    run: Run<'b, V, R, D>,
    shape: [usize; 2],
    block: F,
}

/// Takes the body of a kernel. Nothing runs yet, so that the user's tokens stand in no `unsafe` block.
#[inline(always)]
pub fn blocks<'b, V, R, const D: usize, F: Fn(&V, &Cells<D>, &Out<R>)>(
    run: Run<'b, V, R, D>,
    shape: [usize; 2],
    block: F,
) -> RunBlocks<'b, V, R, D, F> {
    RunBlocks { run, shape, block }
}

/// As [`each`](super::ask::each), block by block.
///
/// # Safety
/// As [`each`](super::ask::each); the body gives every cell of a block a value.
#[inline(always)]
pub unsafe fn each_block<M: 'static, V, R, const D: usize, F: Fn(&V, &Cells<D>, &Out<R>)>(
    body: RunBlocks<'_, V, R, D, F>,
    _marker: M,
    captures: &[&dyn CapturedParam],
    numbers: &[ScalarType],
) {
    let RunBlocks { run, shape, block } = body;
    let (views, cells, out, pass) = run.parts();
    if out.is_null() || !pass.admits::<M>(captures, numbers) {
        return;
    }
    if !cells.is_empty() {
        let views = &*copied(views);
        walk(
            cells,
            shape,
            out,
            pass,
            #[inline(always)]
            |cells, out| block(views, cells, out),
        );
    }
    pass.has_run();
}

/// Cuts a box into blocks. A column of blocks is run from end to end, so that what its cells read of a whole array's
/// columns stays in the cache.
#[inline(always)]
fn walk<R, const D: usize>(
    cells: GridBox<D>,
    [rows, columns]: [usize; 2],
    out: *mut R,
    pass: &Pass<'_>,
    block: impl Fn(&Cells<D>, &Out<R>),
) {
    // Which cell raised a fault is known where each runs by itself.
    let [rows, columns] = if pass.may_fault() || pass.is_coloured() { [1, 1] } else { [rows as i64, columns as i64] };
    let (lo, hi) = (cells.lo, cells.hi);
    let extent = cells.extent();
    let rows = if D > 1 { rows } else { 1 };
    // Cells that run one after the other are in no block together.
    let rows = if D > 1 && pass.axis() == Some(D.saturating_sub(2)) { 1 } else { rows };
    let columns = if pass.axis() == Some(D - 1) { 1 } else { columns };
    let mut at = lo;
    loop {
        let first = pass.turned(at, &cells);
        let mut number = 0;
        for d in 0..D {
            number = number * extent[d] + (first[d] - lo[d]) as usize;
        }
        let left = |axis: usize, most: i64| (hi[axis] - at[axis]).min(most) as usize;
        let part = Cells {
            first,
            rows: if D > 1 { left(D.saturating_sub(2), rows) } else { 1 },
            columns: left(D - 1, columns),
        };
        // SAFETY: the number of a cell of the box, for which `Run::new` asked for room.
        let start = unsafe { out.add(number) };
        if pass.runs(part.first) {
            block(&part, &Out { first: start, row: extent[D - 1] });
        }
        pass.watch(part.first);
        // The axis before the last runs fastest, then the last, then the others.
        let mut moved = false;
        for axis in (0..D.saturating_sub(1)).rev().take(1).chain([D - 1]).chain((0..D.saturating_sub(2)).rev()) {
            at[axis] += if axis + 1 == D {
                columns
            } else if axis + 2 == D {
                rows
            } else {
                1
            };
            if at[axis] < hi[axis] {
                moved = true;
                break;
            }
            at[axis] = lo[axis];
        }
        if !moved {
            return;
        }
    }
}

impl<V, R, const D: usize, F> std::fmt::Debug for RunBlocks<'_, V, R, D, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunBlocks").field("shape", &self.shape).finish_non_exhaustive()
    }
}
