//! Arguments of half and double the resolution (`coarse`, `fine`): the values of plain loops, on every device, for
//! cells and nodes, odd sizes, several regions and boundaries, and with a part of the memory.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one.

mod grids;
mod refused;
mod streams;

use grids::{Grid, Places, cycle, plain_cycle};
use tida::explain;
use tida::prelude::*;
use tida_tests::everywhere;

/// Compares with plain loops, everywhere.
fn check(grid: &Grid) {
    let expected = plain_cycle(grid);
    for acc in everywhere() {
        let found = cycle(&acc, grid).unwrap_or_else(|error| panic!("{grid:?}: {error}"));
        assert!(found == expected, "{grid:?} on {}", acc.device().name());
    }
}

#[test]
fn cells_of_even_and_odd_sizes() {
    for (shape, regions) in [
        ([8, 8, 8], [1, 1, 1]),
        ([12, 16, 10], [2, 1, 1]),
        ([13, 9, 11], [1, 1, 1]),
        ([17, 15, 7], [2, 3, 1]),
        ([16, 6, 256], [4, 1, 2]),
        ([5, 3, 4], [1, 1, 1]),
    ] {
        for boundary in [Boundary::Fixed(0.5), Boundary::ReflectEven] {
            check(&Grid { shape, regions, boundary, places: Places::Cells, cycles: 2 });
        }
    }
    // Periodic sizes are even.
    for (shape, regions) in [([12, 8, 10], [1, 1, 1]), ([24, 8, 6], [3, 2, 1])] {
        check(&Grid { shape, regions, boundary: Boundary::Periodic, places: Places::Cells, cycles: 2 });
    }
}

#[test]
fn nodes() {
    for places in [Places::Nodes, Places::NodesAsCells] {
        for (shape, regions) in
            [([9, 9, 9], [1, 1, 1]), ([17, 13, 9], [2, 1, 1]), ([33, 17, 5], [4, 2, 1]), ([9, 5, 257], [2, 1, 2])]
        {
            check(&Grid { shape, regions, boundary: Boundary::Fixed(0.25), places, cycles: 2 });
        }
    }
}

#[test]
fn on_both_sides_at_once() {
    let sim = || TileAcc::builder().device(Device::Hybrid).threads(2).simulate(tida::SimDevice::new());
    for (places, shape) in [(Places::Cells, [24, 10, 12]), (Places::Nodes, [33, 9, 9])] {
        let grid = Grid { shape, regions: [4, 1, 1], boundary: Boundary::Fixed(0.5), places, cycles: 3 };
        for share in [0.3, 0.7] {
            let found = cycle(&sim().hybrid_share(share).build().unwrap(), &grid).unwrap();
            assert!(found == plain_cycle(&grid), "{grid:?} {share}");
        }
    }
}

#[test]
fn an_axis_may_keep_its_resolution() {
    let expected: Vec<f64> = (0..6 * 4).map(|n| (n / 4 / 2 * 10 + n % 4) as f64).collect();
    for acc in everywhere() {
        let mut c = TileArray::<f64, 2>::builder([3, 4]).build(&acc).unwrap();
        c.fill(|[row, column]| (row * 10 + column) as f64).unwrap();
        let mut u = TileArray::<f64, 2>::builder([6, 4]).build(&acc).unwrap();
        for tile in TileIter::new(&u) {
            compute(&tile, (&mut u, coarse(&c)), kernel!(|u, c, at| u[at] = c[[at[0] / 2, at[1]]])).unwrap();
        }
        assert_eq!(u.read_box(u.domain()).unwrap(), expected);
    }
}

#[test]
fn reductions_read_other_levels() {
    for acc in everywhere() {
        let mut u = TileArray::<f64, 1>::builder([256]).regions([2]).build(&acc).unwrap();
        u.fill(|[i]| i as f64).unwrap();
        let mut c = TileArray::<f64, 1>::builder([128]).regions([2]).build(&acc).unwrap();
        c.fill(|[i]| (2 * i) as f64).unwrap();
        // What odd cells are more than the even ones before them.
        let found = reduce((&u, coarse(&c)), Sum, kernel!(|u, c, at| u[at] - c[[at[0] / 2]])).unwrap();
        assert_eq!(found, 128.0);
        let found = reduce((fine(&u), &c), Sum, kernel!(|u, c, at| u[[2 * at[0] + 1]] - c[at])).unwrap();
        assert_eq!(found, 128.0);
    }
}

#[test]
fn levels_in_fewer_bits() {
    let run = |acc: &TileAcc, regions: usize| -> Vec<f32> {
        let build = |shape: [usize; 2]| {
            let builder = TileArray::<f32, 2>::builder(shape).regions([regions, 1]).ghost(1);
            builder.boundary(Boundary::ReflectEven).storage(Format::Half).build(acc).unwrap()
        };
        let (mut u, mut c) = (build([16, 12]), build([8, 6]));
        u.fill(|[j, i]| (j * 12 + i) as f32 / 16.0).unwrap();
        for tile in TileIter::new(&c) {
            let args = (&mut c, fine(&u));
            compute(&tile, args, kernel!(|c, u, at| c[at] = u[[2 * at[0], 2 * at[1] + 1]] + 1.0f32)).unwrap();
        }
        c.fill_ghosts().unwrap();
        for tile in TileIter::new(&u) {
            let args = (&mut u, coarse(&c));
            compute(&tile, args, kernel!(|u, c, at| u[at] += c[[(at[0] - 1).div_euclid(2), (at[1] + 1) / 2]])).unwrap();
        }
        u.read_box(u.domain()).unwrap()
    };
    let expected = run(&tida_tests::on_cpu(), 1);
    for acc in everywhere() {
        assert_eq!(run(&acc, 1), expected, "{}", acc.device().name());
        assert_eq!(run(&acc, 4), expected, "{}", acc.device().name());
    }
}

/// What CUDA devices are given; NVRTC compiles it where it has to be there.
#[test]
fn kernels_are_emitted() {
    let acc = tida_tests::on_cpu();
    let build = |n: usize| TileArray::<f64, 2>::builder([n, n]).regions([2, 1]).ghost(1).build(&acc).unwrap();
    let (mut u, mut c) = (build(64), build(32));
    let down = explain(
        (&mut c, fine(&u)),
        kernel!(|c, u, at| {
            let mut sum = 0.0;
            for j in 0..2 {
                for i in 0..2 {
                    sum += u[[2 * at[0] + j, 2 * at[1] + i]];
                }
            }
            c[at] = sum / 4.0;
        }),
    );
    let up = explain(
        (&mut u, coarse(&c)),
        kernel!(|u, c, at| {
            let (j, i) = (at[0] / 2, at[1] / 2);
            let (y, x) = (j + 2 * (at[0] % 2) - 1, (at[1] - 1).div_euclid(2));
            u[at] += (9.0 * c[[j, i]] + 3.0 * (c[[y, i]] + c[[j, x]]) + c[[y, x]]) / 16.0;
        }),
    );
    for explained in [down.unwrap(), up.unwrap()] {
        assert!(explained.source().contains("__global__"), "{}", explained.source());
        if std::env::var_os("TIDA_REQUIRE_NVRTC").is_some() {
            explained.compile().unwrap();
        }
    }
}
