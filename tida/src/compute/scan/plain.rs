//! The steps of lines that are summed level by level, as the CPU runs them: plain loops with the bits of the kernels
//! over groups that are recorded.

use super::BLOCK;
use super::whole::in_block;
use crate::backend::cpu;
use crate::compute::real::Number;
use crate::compute::view::{AllView, Proven, ReadView, View, ViewMut, get, set};
use crate::grid::GridBox;

/// The views of a step that sums blocks on top of what is before them: the sums, the cells, all sums of blocks, and
/// those up to each block.
type Blockwise<T, const D: usize> =
    (ViewMut<T, D, Proven>, View<T, D, Proven>, AllView<T, D, Proven>, AllView<T, D, Proven>);

/// The sums of whole blocks of 64 cells, of which `first` says where they begin.
pub(super) fn blocks<T: Number, const D: usize>(
    (blocks, of): &(ViewMut<T, D, Proven>, AllView<T, D, Proven>),
    cells: &GridBox<D>,
    first: i64,
) {
    cpu::vectorised(
        #[inline(always)]
        || {
            for row in cells.rows() {
                for number in cells.lo[D - 1]..cells.hi[D - 1] {
                    let at = |n: usize| {
                        let mut at = row;
                        at[D - 1] = BLOCK as i64 * number + n as i64;
                        at[0] += first;
                        at
                    };
                    let mut block = [T::ZERO; BLOCK];
                    match of.near(&[at(0), at(BLOCK - 1)]) {
                        Some(near) => (0..BLOCK).for_each(|n| block[n] = get(&near, at(n))),
                        None => (0..BLOCK).for_each(|n| block[n] = get(of, at(n))),
                    }
                    let mut to = row;
                    to[D - 1] = number;
                    set(blocks, to, sum_of(block));
                }
            }
        },
    );
}

/// The sum of a block, neighbours first: what its last cell comes to.
#[inline(always)]
fn sum_of<T: Number>(mut block: [T; BLOCK]) -> T {
    let mut left = BLOCK;
    while left > 1 {
        left /= 2;
        for n in 0..left {
            block[n] = block[2 * n].plus(block[2 * n + 1]);
        }
    }
    block[0]
}

/// Sums each block of 64 cells of a box, on top of what is before it.
pub(super) fn blockwise<T: Number, const D: usize>(
    (to, of, blocks, sums): &Blockwise<T, D>,
    cells: &GridBox<D>,
    (exclusive, first): (bool, i64),
) {
    cpu::vectorised(
        #[inline(always)]
        || {
            for row in cells.rows() {
                let mut from = cells.lo[D - 1];
                while from < cells.hi[D - 1] {
                    let count = (cells.hi[D - 1] - from).min(BLOCK as i64) as usize;
                    let at = |n: usize| {
                        let mut at = row;
                        at[D - 1] = from + n as i64;
                        at
                    };
                    let mut block = [T::ZERO; BLOCK];
                    (0..count).for_each(|n| block[n] = get(of, at(n)));
                    in_block(&mut block[..count]);
                    let number = from / BLOCK as i64;
                    let place = |number: i64| {
                        let mut place = row;
                        place[D - 1] = number;
                        place[0] -= first;
                        place
                    };
                    if exclusive {
                        block.copy_within(..BLOCK - 1, 1);
                    }
                    if number > 0 {
                        let before = get(sums, place(number - 1));
                        block.iter_mut().for_each(|sum| *sum = before.plus(*sum));
                    }
                    if exclusive {
                        block[0] = match number {
                            0 => T::ZERO,
                            1 => get(blocks, place(0)),
                            _ => get(sums, place(number - 2)).plus(get(blocks, place(number - 1))),
                        };
                    }
                    (0..count).for_each(|n| set(to, at(n), block[n]));
                    from += BLOCK as i64;
                }
            }
        },
    );
}
