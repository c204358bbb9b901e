//! With a part of the memory: the same bits.

use tida::prelude::*;
use tida_tests::with_limit;

use crate::grids::{Grid, Places, cycle, plain_cycle};

/// Bytes of all arrays of a grid, about: two of the finer one, two of the coarser.
fn bytes(grid: &Grid) -> u64 {
    let of = |shape: [usize; 3]| -> usize { (shape[0] + 4) * (shape[1] + 4) * (shape[2] + 4).next_multiple_of(16) * 8 };
    2 * (of(grid.shape) + of(grid.coarse_shape())) as u64
}

fn check(grid: &Grid, part: u64) {
    let expected = plain_cycle(grid);
    for look_ahead in [1, 12] {
        let Some(acc) = with_limit(bytes(grid) / part, look_ahead) else { return };
        let found = cycle(&acc, grid).unwrap_or_else(|error| panic!("{grid:?} 1/{part}: {error}"));
        assert!(found == expected, "{grid:?} 1/{part}");
        assert!(acc.stats().evictions > 0 || acc.stats().passes > 0, "{grid:?} 1/{part}: all was there at once");
    }
}

#[test]
fn regions_come_and_go() {
    for places in [Places::Cells, Places::Nodes, Places::NodesAsCells] {
        let one = usize::from(places != Places::Cells);
        for regions in [[8, 1, 1], [8, 2, 1]] {
            let shape = [64 + one, 16 + one, 16 + one];
            check(&Grid { shape, regions, boundary: Boundary::Fixed(0.5), places, cycles: 2 }, 4);
        }
    }
}
