//! Whole lines as one step, which needs no array for the sums of blocks.

use super::BLOCK;
use crate::array::TileArray;
use crate::backend::cpu;
use crate::compute::real::Number;
use crate::compute::view::{Proven, View, ViewMut, get, set};
use crate::grid::GridBox;
use crate::launch::scanned::lines::fits;

/// Cells of a line that one thread of the CPU sums sooner than several do level by level.
const SHORT: usize = 1 << 15;

/// Whether the lines of these arrays are summed as one step: each lies in one region, as values, and what runs them has
/// enough of them, or they are short.
pub(super) fn fit<T: Number, const D: usize>(to: &TileArray<T, D>, of: &TileArray<T, D>) -> bool {
    let (layout, own) = (&to.layout, to.layout.owned.extent());
    let [lines, cells] = [own[..D - 1].iter().product::<usize>(), own[D - 1]];
    let is_cut = layout.cuts.regions()[D - 1] > 1 || cells != layout.shape[D - 1];
    let acc = to.acc();
    if is_cut || layout.coding.is_some() || of.layout.coding.is_some() || acc.is_hybrid() {
        return false;
    }
    match acc.core().device.as_ref().map(|device| device.backend().facts()) {
        Some(facts) => facts.native || fits(facts, lines, cells),
        None => cells <= SHORT || lines >= acc.threads(),
    }
}

/// Sums all lines of a box: see [`scan`](super::scan()) for the order.
pub(super) fn lines<T: Number, const D: usize, const EXCLUSIVE: bool>(
    (to, of): &(ViewMut<T, D, Proven>, View<T, D, Proven>),
    cells: &GridBox<D>,
) {
    let mut line = vec![T::ZERO; cells.extent()[D - 1]];
    let cell = |mut at: [i64; D], n: usize| {
        at[D - 1] += n as i64;
        at
    };
    for at in cells.rows() {
        cpu::vectorised(
            #[inline(always)]
            || line.iter_mut().enumerate().for_each(|(n, value)| *value = get(of, cell(at, n))),
        );
        sum(&mut line);
        if EXCLUSIVE {
            line.rotate_right(1);
            line[..1].fill(T::ZERO);
        }
        cpu::vectorised(
            #[inline(always)]
            || line.iter().enumerate().for_each(|(n, value)| set(to, cell(at, n), *value)),
        );
    }
}

/// Sums a line, level by level.
fn sum<T: Number>(line: &mut [T]) {
    cpu::vectorised(
        #[inline(always)]
        || line.chunks_mut(BLOCK).for_each(in_block),
    );
    if line.len() <= BLOCK {
        return;
    }
    let mut sums: Vec<T> = line.chunks_exact(BLOCK).map(|block| block[BLOCK - 1]).collect();
    sum(&mut sums);
    let rest = line.chunks_mut(BLOCK).skip(1).zip(sums);
    cpu::vectorised(
        #[inline(always)]
        || rest.for_each(|(block, before)| block.iter_mut().for_each(|sum| *sum = before.plus(*sum))),
    );
}

/// Each cell of a block, or of a part of one, adds what lies 1, 2, .. 32 cells before it.
#[inline(always)]
pub(super) fn in_block<T: Number>(block: &mut [T]) {
    let mut other = [T::ZERO; BLOCK];
    if let Ok(block) = <&mut [T; BLOCK]>::try_from(&mut *block) {
        add_before::<T, 1>(block, &mut other);
        add_before::<T, 2>(&other, block);
        add_before::<T, 4>(block, &mut other);
        add_before::<T, 8>(&other, block);
        add_before::<T, 16>(block, &mut other);
        return add_before::<T, 32>(&other, block);
    }
    for by in [1, 2, 4, 8, 16, 32] {
        // From the last one on: those before are still as the last step left them.
        for n in (by..block.len()).rev() {
            block[n] = block[n - by].plus(block[n]);
        }
    }
}

/// Each cell of a block with what lies `BY` cells before it.
#[inline(always)]
fn add_before<T: Number, const BY: usize>(from: &[T; BLOCK], to: &mut [T; BLOCK]) {
    to[..BY].copy_from_slice(&from[..BY]);
    for n in BY..BLOCK {
        to[n] = from[n - BY].plus(from[n]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the words of [`scan`](crate::scan()) say it.
    #[test]
    fn the_order_is_that_of_blocks() {
        let values: Vec<f32> = (0..5000).map(|n| ((n * 7919) % 1000) as f32 * 1e-3 - 0.3).collect();
        for length in [1, 2, 63, 64, 65, 128, 129, 4096, 4097, 5000] {
            let mut line = values[..length].to_vec();
            sum(&mut line);
            let mut levels = vec![values[..length].to_vec()];
            while let Some(last) = levels.last_mut() {
                let mut before = last.clone();
                for by in [1, 2, 4, 8, 16, 32] {
                    let add = |n: usize| if n % BLOCK >= by { before[n - by] + before[n] } else { before[n] };
                    before = (0..before.len()).map(add).collect();
                }
                let sums: Vec<f32> = before.chunks_exact(BLOCK).map(|block| block[BLOCK - 1]).collect();
                let is_last = before.len() <= BLOCK;
                *last = before;
                if is_last {
                    break;
                }
                levels.push(sums);
            }
            let mut up_to: Vec<f32> = Vec::new();
            for level in levels.iter().rev() {
                let on_top = |n: usize| if n < BLOCK { level[n] } else { up_to[n / BLOCK - 1] + level[n] };
                up_to = (0..level.len()).map(on_top).collect();
            }
            assert_eq!(line, up_to, "{length}");
        }
    }
}
