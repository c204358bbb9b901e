//! With a part of the memory: the same bits.

use proptest::prelude::*;
use tida::acc::StreamedBy;
use tida::prelude::*;
use tida_tests::{on_a_device, unhurried, with_limit};

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
fn planes_and_regions_come_and_go() {
    for places in [Places::Cells, Places::Nodes, Places::NodesAsCells] {
        let one = usize::from(places != Places::Cells);
        for regions in [[8, 1, 1], [8, 2, 1]] {
            let shape = [64 + one, 16 + one, 16 + one];
            check(&Grid { shape, regions, boundary: Boundary::Fixed(0.5), places, cycles: 2 }, 4);
        }
    }
}

#[test]
fn cycles_over_both_grids_share_a_pass() {
    for (places, shape) in [(Places::Cells, [131, 12, 10]), (Places::Nodes, [129, 13, 9])] {
        let grid = Grid { shape, regions: [5, 1, 1], boundary: Boundary::Fixed(0.5), places, cycles: 2 };
        let Some(acc) = on_a_device(unhurried().memory_limit(bytes(&grid) / 3)) else { return };
        assert!(cycle(&acc, &grid).unwrap() == plain_cycle(&grid), "{grid:?}");
        // The first fill finds its ghosts on the host.
        let [all] = &acc.streamed()[..] else { panic!("{:?}", acc.streamed()) };
        assert_eq!((all.by, all.sweeps, all.ghost_fills, all.passes), (StreamedBy::Planes, 8, 7, 1), "{all}");
    }
}

#[test]
fn grids_that_arrive() {
    let grid = Grid {
        shape: [96, 12, 10],
        regions: [3, 1, 1],
        boundary: Boundary::ReflectEven,
        places: Places::Cells,
        cycles: 2,
    };
    let Some(acc) = on_a_device(unhurried()) else { return };
    assert!(cycle(&acc, &grid).unwrap() == plain_cycle(&grid));
}

/// A chain takes so many resolutions; what comes after it has its bits all the same.
#[test]
fn four_resolutions() {
    let shapes = [128usize, 64, 32, 16].map(|n| [n, n / 8, n / 8]);
    let run = |acc: &TileAcc| -> tida::Result<Vec<u64>> {
        let build = |shape: [usize; 3]| TileArray::<f64, 3>::builder(shape).regions([4, 1, 1]).build(acc);
        let mut grids = shapes.map(build).into_iter().collect::<tida::Result<Vec<_>>>()?;
        grids[0].fill(|at| tida_tests::value(3, at))?;
        for _ in 0..2 {
            for level in 1..4 {
                let (finer, coarser) = grids.split_at_mut(level);
                for tile in TileIter::new(&coarser[0]) {
                    compute(
                        &tile,
                        (&mut coarser[0], fine(&finer[level - 1])),
                        kernel!(|c, f, at| {
                            let (k, j, i) = (2 * at[0], 2 * at[1], 2 * at[2]);
                            c[at] = 0.5 * (f[[k, j, i]] + f[[k + 1, j + 1, i + 1]]);
                        }),
                    )?;
                }
            }
            for level in (0..3).rev() {
                let (finer, coarser) = grids.split_at_mut(level + 1);
                for tile in TileIter::new(&finer[level]) {
                    let args = (&mut finer[level], coarse(&coarser[0]));
                    compute(&tile, args, kernel!(|f, c, at| f[at] -= 0.5 * c[[at[0] / 2, at[1] / 2, at[2] / 2]]))?;
                }
            }
        }
        let all = grids.iter().map(|grid| grid.read_box(grid.domain())).collect::<tida::Result<Vec<_>>>()?;
        Ok(all.concat().into_iter().map(f64::to_bits).collect())
    };
    let expected = run(&tida_tests::on_cpu()).unwrap();
    for limit in [80_000, 50_000] {
        let Some(acc) = on_a_device(unhurried().memory_limit(limit)) else { return };
        assert!(run(&acc).unwrap() == expected, "{limit}");
        let reports = acc.streamed();
        assert!(reports[0].by == StreamedBy::Planes && reports[0].ended.contains("resolution"), "{reports:?}");
    }
}

#[test]
fn what_does_not_move_along_goes_by_regions() {
    let build = |acc: &TileAcc, n: usize| TileArray::<f64, 2>::builder([n, 64]).regions([4, 1]).ghost(1).build(acc);
    let run = |acc: &TileAcc| -> tida::Result<Vec<f64>> {
        let (mut u, mut c) = (build(acc, 256)?, build(acc, 128)?);
        c.fill(|[j, i]| (j * 64 + i) as f64)?;
        c.fill_ghosts()?;
        for tile in TileIter::new(&u) {
            let args = (&mut u, coarse(&c));
            compute(&tile, args, kernel!(|u, c, at| u[at] = c[[((at[0] + 1) / 2).min(127), at[1] / 2]]))?;
        }
        u.read_box(u.domain())
    };
    let expected = run(&tida_tests::on_cpu()).unwrap();
    let Some(acc) = on_a_device(unhurried().memory_limit(80_000)) else { return };
    assert!(run(&acc).unwrap() == expected);
    assert!(acc.streamed().iter().all(|report| report.by == StreamedBy::Regions), "{:?}", acc.streamed());
    let Some(acc) = on_a_device(unhurried().memory_limit(30_000)) else { return };
    let found = run(&acc).map(drop);
    tida_tests::expect(found, ErrorKind::Memory, &["`c`, an array of another resolution", "planes stream"]);
}

prop_compose! {
    fn any_grid()(
        shape in [24usize..80, 4usize..20, 4usize..12],
        regions in [1usize..5, 1usize..3],
        along_one in any::<bool>(),
        boundary in 0usize..3,
        places in 0usize..3,
        cycles in 1usize..4,
    ) -> Grid {
        let places = [Places::Cells, Places::Nodes, Places::NodesAsCells][places];
        let boundary = [Boundary::Fixed(0.5), Boundary::ReflectEven, Boundary::Periodic][boundary];
        let boundary = if places == Places::Cells { boundary } else { Boundary::Fixed(0.25) };
        let shape = shape.map(|n| match (places, boundary) {
            (Places::Cells, Boundary::Periodic) => n / 2 * 2,
            (Places::Cells, _) => n,
            _ => n / 2 * 2 + 1,
        });
        // Ghosts are two cells wide.
        let most = [0, 1].map(|axis| (shape[axis] / 2 / 2 / 2).max(1));
        let regions = [regions[0].min(most[0]), if along_one { 1 } else { regions[1].min(most[1]) }, 1];
        Grid { shape, regions, boundary, places, cycles }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn random_grids_have_the_bits_of_plain_loops(grid in any_grid(), part in 1u64..7, look_ahead in 1usize..30) {
        let expected = plain_cycle(&grid);
        if let Some(acc) = with_limit(bytes(&grid) / part, look_ahead) {
            match cycle(&acc, &grid) {
                Ok(found) => prop_assert!(found == expected),
                // A few planes of each array are needed at least, and these have few.
                Err(error) => prop_assert!(error.kind() == ErrorKind::Memory && part > 1, "{}", error),
            }
        }
    }
}
