//! Kernels that write many planes beside many reads, whose rows go through a buffer on the CPU: the same values as
//! plain loops, for any shape, cut and tile, on every device. (A stretch of a row is 128 cells: shapes here end inside
//! one.)

use tida::prelude::*;
use tida_tests::{everywhere, value};

/// Shapes, regions and tiles.
const CUTS: [([usize; 2], [usize; 2], [usize; 2]); 4] = [
    ([9, 530], [1, 1], [64, 1024]),
    ([9, 530], [3, 4], [4, 100]),
    ([1, 3], [1, 1], [1, 2]),
    ([70, 70], [2, 2], [9, 33]),
];

/// Cells along the axes that a population moves in a step, and the one that moves the other way.
const CY: [i64; 9] = [0, 0, 1, 0, -1, 1, 1, -1, -1];
static CX: [i64; 9] = [0, 1, 0, -1, 0, 1, -1, -1, 1];
const OPPOSITE: [usize; 9] = [0, 3, 4, 1, 2, 7, 8, 5, 6];

fn array<T: Element>(
    acc: &TileAcc,
    shape: [usize; 2],
    regions: [usize; 2],
    of: impl Fn([usize; 2]) -> T + Sync,
) -> TileArray<T, 2> {
    let regions = [regions[0].min(shape[0]), regions[1].min(shape[1].div_ceil(64))];
    let builder = TileArray::<T, 2>::builder(shape).regions(regions).ghost(1).boundary(Boundary::Periodic);
    let mut a = builder.build(acc).unwrap();
    a.fill(of).unwrap();
    a.fill_ghosts().unwrap();
    a
}

fn population(k: usize, [j, i]: [usize; 2]) -> f64 {
    value(5, [j, i, k])
}

/// What a cell pulls of a population: what comes along, or what it sent where a wall is: before the first row and
/// column, behind the last row.
fn pulled(k: usize, at: [usize; 2], shape: [usize; 2]) -> f64 {
    let [y, x] = [at[0] as i64 - CY[k], at[1] as i64 - CX[k]];
    if y < 0 || x < 0 || y == shape[0] as i64 {
        population(OPPOSITE[k], at)
    } else {
        population(k, [y as usize, x as usize % shape[1]])
    }
}

#[test]
fn all_of_a_cell_is_written() {
    for acc in everywhere() {
        for (shape, regions, size) in CUTS {
            let f = array(&acc, shape, regions, |at| std::array::from_fn::<_, 9, _>(|k| population(k, at)));
            let mut next = f.like().unwrap();
            let last = shape[0] as i64 - 1;
            for tile in TileIter::new(&f).tile_size(size) {
                compute(
                    &tile,
                    (&mut next, &f),
                    kernel!(|next, f, at| {
                        let [y, x] = at;
                        let f1 = if x == 0 { f[at][3] } else { f[at - [0, 1]][1] };
                        let f2 = if y == 0 { f[at][4] } else { f[at - [1, 0]][2] };
                        let f3 = f[at + [0, 1]][3];
                        let f4 = if y == last { f[at][2] } else { f[at + [1, 0]][4] };
                        let f5 = if x == 0 || y == 0 { f[at][7] } else { f[at - [1, 1]][5] };
                        let f6 = if y == 0 { f[at][8] } else { f[at - [1, -1]][6] };
                        let f7 = if y == last { f[at][5] } else { f[at + [1, 1]][7] };
                        let f8 = if x == 0 || y == last { f[at][6] } else { f[at + [1, -1]][8] };
                        let sum = f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
                        next[at] =
                            [sum, f1 - sum, f2 - sum, f3 - sum, f4 - sum, f5 - sum, f6 - sum, f7 - sum, f8 - sum];
                    }),
                )
                .unwrap();
            }
            let wanted = |at| {
                let f: [f64; 9] = std::array::from_fn(|k| pulled(k, at, shape));
                let sum = f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7] + f[8];
                std::array::from_fn::<f64, 9, _>(|k| if k == 0 { sum } else { f[k] - sum })
            };
            same(&acc, &next, wanted);
        }
    }
}

#[track_caller]
fn same<T: Element>(acc: &TileAcc, found: &TileArray<T, 2>, wanted: impl Fn([usize; 2]) -> T) {
    let columns = found.shape()[1];
    for (cell, found) in found.read_box(found.domain()).unwrap().into_iter().enumerate() {
        let at = [cell / columns, cell % columns];
        assert_eq!(found, wanted(at), "at {at:?} of {columns} columns on {acc}");
    }
}

#[test]
fn constant_tables_and_numbers() {
    for acc in everywhere() {
        for (shape, regions, size) in CUTS {
            let f = array(&acc, shape, regions, |at| std::array::from_fn::<_, 9, _>(|k| population(k, at)));
            let mut next = f.like().unwrap();
            // One of the numbers is a local variable, and changes.
            for (turn, last) in [(1.0, i64::MAX), (2.0, shape[0] as i64 - 1)] {
                for tile in TileIter::new(&f).tile_size(size) {
                    compute(
                        &tile,
                        (&mut next, &f),
                        kernel!(|next, f, at| {
                            let mut g = [0.0; 9];
                            let mut sum = 0.0;
                            for k in 0..9 {
                                let y = at[0] - CY[k];
                                let back = y < 0 || at[1] - CX[k] < 0 || y > last;
                                g[k] = if back { f[at][OPPOSITE[k]] } else { f[at - [CY[k], CX[k]]][k] };
                                sum += turn * g[k];
                            }
                            for k in 1..9 {
                                g[k] -= sum;
                            }
                            g[0] = sum;
                            next[at] = g;
                        }),
                    )
                    .unwrap();
                }
            }
            let wanted = |at| {
                let f: [f64; 9] = std::array::from_fn(|k| pulled(k, at, shape));
                let sum = f.iter().fold(0.0, |sum, f| sum + 2.0 * f);
                std::array::from_fn::<f64, 9, _>(|k| if k == 0 { sum } else { f[k] - sum })
            };
            same(&acc, &next, wanted);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Mixed {
    flag: bool,
    mass: f64,
    parts: [f32; 5],
    count: i32,
}

fn mixed([j, i]: [usize; 2]) -> Mixed {
    let parts = std::array::from_fn(|k| value(7, [j, i, k]) as f32);
    Mixed { flag: (i + j) % 3 == 0, mass: value(8, [j, i, 0]), parts, count: (17 * j + i) as i32 }
}

#[test]
fn what_is_not_written_keeps_its_value() {
    for acc in everywhere() {
        for (shape, regions, size) in CUTS {
            let mut a = array(&acc, shape, regions, mixed);
            let mut b = array(&acc, shape, regions, |at| [population(0, at), population(1, at)]);
            let f = array(&acc, shape, regions, |at| std::array::from_fn::<_, 9, _>(|k| population(k, at)));
            for tile in TileIter::new(&f).tile_size(size) {
                compute(
                    &tile,
                    (&mut a, &mut b, &f),
                    kernel!(|a, b, f, at| {
                        let near =
                            f[at][0] + f[at - [0, 1]][1] + f[at + [0, 1]][2] + f[at - [1, 0]][3] + f[at + [1, 0]][4];
                        let far = f[at - [1, 1]][5] + f[at + [1, 1]][6] + f[at][7] + f[at][8];
                        if a[at].flag {
                            a[at].mass += near;
                            a[at].parts[2] = a[at].parts[1] + 1.0;
                            a[at].count -= 1;
                        }
                        if at[1] % 2 == 0 {
                            b[at][1] = b[at][0] * far;
                        }
                    }),
                )
                .unwrap();
            }
            let around = |k: usize, [j, i]: [usize; 2], [dy, dx]: [i64; 2]| {
                let turned = |x: usize, by: i64, n: usize| (x as i64 + by).rem_euclid(n as i64) as usize;
                population(k, [turned(j, dy, shape[0]), turned(i, dx, shape[1])])
            };
            same(&acc, &a, |at| {
                let mut cell = mixed(at);
                if cell.flag {
                    let near = around(0, at, [0, 0]) + around(1, at, [0, -1]) + around(2, at, [0, 1]);
                    cell.mass += near + around(3, at, [-1, 0]) + around(4, at, [1, 0]);
                    cell.parts[2] = cell.parts[1] + 1.0;
                    cell.count -= 1;
                }
                cell
            });
            same(&acc, &b, |at| {
                let far = around(5, at, [-1, -1]) + around(6, at, [1, 1]) + population(7, at) + population(8, at);
                let first = population(0, at);
                [first, if at[1] % 2 == 0 { first * far } else { population(1, at) }]
            });
        }
    }
}
