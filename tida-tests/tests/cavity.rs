//! The flow in a square cavity under a lid that moves, at Reynolds number 100, against the table of Ghia, Ghia and Shin
//! (J. Comput. Phys. 48, 1982): lattice Boltzmann on D2Q9, whose walls and lid bounce populations back by kernels.

use std::mem::swap;

use tida::prelude::*;
use tida_tests::on_cpu;

const N: usize = 48;
const LAST: i64 = N as i64 - 1;
const LID: f64 = 0.1;
const REYNOLDS: f64 = 100.0;
/// The lid passes the cavity so often.
const TURNS: f64 = 20.0;
/// Of the lid's speed.
const TOLERANCE: f64 = 0.02;

/// Along rows and columns.
const WAYS: [[i64; 2]; 9] = [[0, 0], [0, 1], [1, 0], [0, -1], [-1, 0], [1, 1], [1, -1], [-1, -1], [-1, 1]];
const BACK: [usize; 9] = [0, 3, 4, 1, 2, 7, 8, 5, 6];
const WEIGHTS: [f64; 9] =
    [4.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0];

type Lattice = TileArray<[f64; 9], 2>;

/// What flows out of a cell comes back to it: from the lid with what that adds.
fn bounce_back(f: &mut Lattice) -> tida::Result<()> {
    for (side, wall) in [(Side::Low, 0), (Side::High, LAST)] {
        fill_ghosts_with(
            (1, side),
            &mut *f,
            kernel!(|f, at| {
                for n in 0..9 {
                    let row = (at[0] + WAYS[n][0]).clamp(0, LAST);
                    f[at][n] = f[[row, wall]][BACK[n]];
                }
            }),
        )?;
    }
    for (side, wall, speed) in [(Side::Low, 0, 0.0), (Side::High, LAST, LID)] {
        fill_ghosts_with(
            (0, side),
            &mut *f,
            kernel!(|f, at| {
                for n in 0..9 {
                    let column = (at[1] + WAYS[n][1]).clamp(0, LAST);
                    f[at][n] = f[[wall, column]][BACK[n]] + 6.0 * WEIGHTS[n] * speed * WAYS[n][1] as f64;
                }
            }),
        )?;
    }
    Ok(())
}

/// The lattice after so many steps.
fn flow(acc: &TileAcc, regions: [usize; 2], steps: usize) -> tida::Result<Vec<[f64; 9]>> {
    let relax = 1.0 / (3.0 * LID * N as f64 / REYNOLDS + 0.5);
    let mut f = Lattice::builder([N, N]).regions(regions).ghost(1).build(acc)?;
    f.fill_value(WEIGHTS)?;
    let mut next = f.like()?;
    for _ in 0..steps {
        f.fill_ghosts()?;
        bounce_back(&mut f)?;
        for tile in TileIter::new(&f) {
            compute(
                &tile,
                (&mut next, &f),
                kernel!(|next, f, at| {
                    let mut density = 0.0;
                    let mut flow = [0.0; 2];
                    for n in 0..9 {
                        let came = f[at - WAYS[n]][n];
                        density += came;
                        flow[0] += came * WAYS[n][0] as f64;
                        flow[1] += came * WAYS[n][1] as f64;
                    }
                    let square = (flow[0] * flow[0] + flow[1] * flow[1]) / density;
                    for n in 0..9 {
                        let along = flow[0] * WAYS[n][0] as f64 + flow[1] * WAYS[n][1] as f64;
                        let rest = WEIGHTS[n] * (density + 3.0 * along + 4.5 * along * along / density - 1.5 * square);
                        let came = f[at - WAYS[n]][n];
                        next[at][n] = came - relax * (came - rest);
                    }
                }),
            )?;
        }
        swap(&mut f, &mut next);
    }
    f.read_box(f.domain())
}

/// Where, and the speed along the lid on the line from the wall below the middle of the lid.
const ALONG: [[f64; 2]; 15] = [
    [0.0547, -0.03717],
    [0.0625, -0.04192],
    [0.0703, -0.04775],
    [0.1016, -0.06434],
    [0.1719, -0.10150],
    [0.2813, -0.15662],
    [0.4531, -0.21090],
    [0.5, -0.20581],
    [0.6172, -0.13641],
    [0.7344, 0.00332],
    [0.8516, 0.23151],
    [0.9531, 0.68717],
    [0.9609, 0.73722],
    [0.9688, 0.78871],
    [0.9766, 0.84123],
];

/// The same of the speed towards the lid, on the line across.
const TOWARDS: [[f64; 2]; 15] = [
    [0.0625, 0.09233],
    [0.0703, 0.10091],
    [0.0781, 0.10890],
    [0.0938, 0.12317],
    [0.1563, 0.16077],
    [0.2266, 0.17507],
    [0.2344, 0.17527],
    [0.5, 0.05454],
    [0.8047, -0.24533],
    [0.8594, -0.22445],
    [0.9063, -0.16914],
    [0.9453, -0.10313],
    [0.9531, -0.08864],
    [0.9609, -0.07391],
    [0.9688, -0.05906],
];

/// The value at a place of a line whose values are at the middle of cells, with those at its ends.
fn at(line: &[f64], [low, high]: [f64; 2], place: f64) -> f64 {
    let there = |n: i64| match n {
        -1 => (0.0, low),
        n if n == line.len() as i64 => (1.0, high),
        n => ((n as f64 + 0.5) / line.len() as f64, line[n as usize]),
    };
    let n = (place * line.len() as f64 - 0.5).floor() as i64;
    let ((a, from), (b, to)) = (there(n), there(n + 1));
    from + (to - from) * (place - a) / (b - a)
}

#[test]
fn the_table_of_ghia() {
    let steps = (TURNS * N as f64 / LID) as usize;
    let f = flow(&on_cpu(), [1, 1], steps).unwrap();
    let speed = |row: usize, column: usize, axis: usize| {
        let f = f[row * N + column];
        (0..9).map(|n| f[n] * WAYS[n][axis] as f64).sum::<f64>() / f.iter().sum::<f64>() / LID
    };
    // The line lies between two columns, or rows.
    let along: Vec<f64> = (0..N).map(|row| 0.5 * (speed(row, N / 2 - 1, 1) + speed(row, N / 2, 1))).collect();
    let towards: Vec<f64> =
        (0..N).map(|column| 0.5 * (speed(N / 2 - 1, column, 0) + speed(N / 2, column, 0))).collect();
    let table =
        ALONG.iter().map(|row| (row, &along, [0.0, 1.0])).chain(TOWARDS.iter().map(|row| (row, &towards, [0.0; 2])));
    for ([place, expected], line, ends) in table {
        let found = at(line, ends, *place);
        assert!((found - expected).abs() < TOLERANCE, "at {place}: {found:.5}, where the table has {expected}");
    }
}

#[test]
fn cuts_and_devices_give_the_same_bits() {
    let wanted = flow(&on_cpu(), [1, 1], 40).unwrap();
    for acc in tida_tests::everywhere() {
        for regions in [[1, 1], [4, 1], [3, 1]] {
            let found = flow(&acc, regions, 40).unwrap();
            let bits = |f: &[[f64; 9]]| f.iter().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert!(bits(&found) == bits(&wanted), "{regions:?} {:?}", acc.device());
        }
    }
}
