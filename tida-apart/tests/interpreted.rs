//! Views, rows, residence and the recorder on arrays of few cells: what Miri interprets in minutes.
#![cfg(feature = "ndarray")]

use ndarray::Array2;
use tida::prelude::*;
use tida::{SimDevice, all};

/// A device that is simulated, or the CPU.
fn acc(simulated: bool) -> TileAcc {
    let builder = TileAcc::builder().threads(2);
    let builder = if simulated { builder.simulate(SimDevice::default()) } else { builder.device(Device::Cpu) };
    builder.build().unwrap()
}

/// Rows of `columns` cells, in three regions one above the other, periodic.
fn numbered(acc: &TileAcc, columns: usize) -> TileArray<f64, 2> {
    let builder = TileArray::<f64, 2>::builder([6, columns]).regions([3, 1]).ghost(1).boundary(Boundary::Periodic);
    let mut u = builder.build(acc).unwrap();
    u.fill(|[j, i]| (j * columns + i) as f64).unwrap();
    u
}

#[test]
fn views_are_of_their_region_alone() {
    let mut u = numbered(&acc(false), 5);
    u.fill_ghosts().unwrap();
    for region in 0..3 {
        let first = (region * 2 * 5) as f64;
        let (owned, grown) = (
            u.with_region(region, |view| view.to_owned()).unwrap(),
            u.with_grown_region(region, |view| view.to_owned()).unwrap(),
        );
        assert_eq!(owned, Array2::from_shape_fn((2, 5), |(j, i)| first + (j * 5 + i) as f64));
        assert_eq!(grown.dim(), (4, 7));
        assert_eq!(grown[[1, 0]], first + 4.0);
        assert_eq!(grown[[0, 1]], (first + 25.0) % 30.0);
        u.with_region_mut(region, |mut view| view += 100.0).unwrap();
    }
    assert_eq!(u.to_ndarray().unwrap(), Array2::from_shape_fn((6, 5), |(j, i)| 100.0 + (j * 5 + i) as f64));
}

#[test]
fn rows_are_written_and_read_as_boxes() {
    let mut u = numbered(&acc(false), 9);
    let part = GridBox::new([1, 2], [5, 7]);
    let values: Vec<f64> = (0..20).map(f64::from).collect();
    u.write_box(part, &values).unwrap();
    assert_eq!(u.read_box(part).unwrap(), values);
    assert_eq!(u.read_box(GridBox::new([0, 0], [1, 9])).unwrap(), (0..9).map(f64::from).collect::<Vec<_>>());
    let mut v = u.like().unwrap();
    v.copy_from(&u).unwrap();
    assert_eq!(v.to_ndarray().unwrap(), u.to_ndarray().unwrap());
}

/// Blurs, sums that later kernels capture, and reads at any cell, over arrays that change places.
fn program(acc: &TileAcc) -> (Array2<f64>, f64) {
    let mut u = numbered(acc, 7);
    let mut next = u.like().unwrap();
    for step in 0..3i64 {
        u.fill_ghosts().unwrap();
        let total = reduce_later(&u, Sum, kernel!(|u, at| u[at])).unwrap();
        for tile in TileIter::new(&u).tile_size([1, 4]) {
            compute(
                &tile,
                (&mut next, &u, all(&u)),
                kernel!(|next, u, whole, at| {
                    let around = u[at + [1, 0]] + u[at - [1, 0]] + u[at + [0, 1]] + u[at - [0, 1]];
                    next[at] = 0.125 * around + 0.25 * whole[[(at[0] * 5 + step) % 6, at[1]]] + total / 1e3;
                }),
            )
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    let sum = reduce(&u, Sum, kernel!(|u, at| u[at] * u[at])).unwrap();
    (u.to_ndarray().unwrap(), sum)
}

/// The same as plain loops.
fn plainly() -> Array2<f64> {
    let mut u = Array2::from_shape_fn((6, 7), |(j, i)| (j * 7 + i) as f64);
    for step in 0..3 {
        let total: f64 = u.rows().into_iter().fold(0.0, |sum, row| row.iter().fold(sum, |sum, value| sum + value));
        u = Array2::from_shape_fn((6, 7), |(j, i)| {
            let around = u[[(j + 1) % 6, i]] + u[[(j + 5) % 6, i]] + u[[j, (i + 1) % 7]] + u[[j, (i + 6) % 7]];
            0.125 * around + 0.25 * u[[(j * 5 + step) % 6, i]] + total / 1e3
        });
    }
    u
}

#[test]
fn recorded_work_gives_what_plain_loops_give() {
    let (values, _) = program(&acc(false));
    // The order of a sum is tida's own.
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs();
    assert!(values.iter().zip(&plainly()).all(close));
}

#[test]
#[cfg_attr(miri, ignore = "Miri takes an hour for it")]
fn a_device_gives_the_same_bits() {
    assert_eq!(program(&acc(true)), program(&acc(false)));
}

/// To the device, and back to the host in between, region by region.
#[test]
fn regions_that_move_keep_their_values() {
    let mut u = numbered(&acc(true), 5);
    for region in [0, 2] {
        for tile in TileIter::new(&u) {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = 2.0 * u[at])).unwrap();
        }
        u.with_region_mut(region, |mut view| view += 1.0).unwrap();
    }
    let expected = |j: usize, i: usize| 4.0 * (j * 5 + i) as f64 + [2.0, 0.0, 1.0][j / 2];
    assert_eq!(u.to_ndarray().unwrap(), Array2::from_shape_fn((6, 5), |(j, i)| expected(j, i)));
}
