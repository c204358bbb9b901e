//! Kernels that write ghosts run wherever arrays are: over tiles that are grown beyond the domain, they set boundaries
//! that no `Boundary` knows. Out of core they are parts of the passes of other work.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one, and a simulated one.
#![cfg(feature = "ndarray")]

use tida::prelude::*;
use tida::{SimDevice, TileAccBuilder};
use tida_tests::{on_a_device, on_cpu, value};

const ROWS: usize = 24;
const COLUMNS: usize = 256;

type Array = TileArray<f64, 2>;

/// How boundaries are set, and what is beyond the other faces.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Program {
    /// All four faces by kernels, before the fill.
    BeforeFill,
    /// Two faces by kernels, after the fill; the others are walls of fixed value and the nearest cells.
    AfterFill,
    /// Two faces by kernels; the first axis is periodic.
    Periodic,
    /// Kernels replace fixed values in every second step. They are put back by the next fill.
    OverFixed,
}

const PROGRAMS: [Program; 4] = [Program::BeforeFill, Program::AfterFill, Program::Periodic, Program::OverFixed];

impl Program {
    fn boundary(self) -> [[Boundary<f64>; 2]; 2] {
        match self {
            Program::BeforeFill => [[Boundary::Open; 2]; 2],
            Program::AfterFill => [[Boundary::Fixed(2.0), Boundary::Extrapolate(0)], [Boundary::Open; 2]],
            Program::Periodic => [[Boundary::Periodic; 2], [Boundary::Open; 2]],
            Program::OverFixed => [[Boundary::Fixed(0.5), Boundary::Extrapolate(0)], [Boundary::Fixed(1.5); 2]],
        }
    }

    /// The rows whose ghosts at the columns' ends kernels set: some set the corners too.
    fn sides(self) -> [i64; 2] {
        match self {
            Program::BeforeFill | Program::OverFixed => [-1, ROWS as i64 + 1],
            Program::AfterFill | Program::Periodic => [0, ROWS as i64],
        }
    }

    /// Sets ghosts beyond the low and the high columns, and beyond the rows of one program.
    fn set_faces(self, u: &mut Array, time: f64) {
        let [rows, columns] = [ROWS as i64, COLUMNS as i64];
        let tiles = |lo: [i64; 2], hi: [i64; 2]| TileIter::new(&*u).grown(1).within(lo, hi);
        let sides = self.sides();
        let low = tiles([sides[0], -1], [sides[1], 0]);
        let high = tiles([sides[0], columns], [sides[1], columns + 1]);
        let ends = [tiles([-1, 0], [0, columns]), tiles([rows, 0], [rows + 1, columns])];
        for tile in low {
            compute(&tile, &mut *u, kernel!(|u, at| u[at] = time + 0.01 * at[0] as f64)).unwrap();
        }
        for tile in high {
            compute(&tile, &mut *u, kernel!(|u, at| u[at] = 0.5 * u[at] + time)).unwrap();
        }
        for tiles in ends.into_iter().filter(|_| self == Program::BeforeFill) {
            for tile in tiles {
                compute(&tile, &mut *u, kernel!(|u, at| u[at] = time - 0.02 * at[1] as f64)).unwrap();
            }
        }
    }

    fn run(self, acc: &TileAcc, regions: [usize; 2], steps: usize) -> Vec<f64> {
        self.steps(acc, regions, steps, true)
    }

    /// The same; kernels set no ghosts unless they are to `set` them.
    fn steps(self, acc: &TileAcc, regions: [usize; 2], steps: usize, set: bool) -> Vec<f64> {
        let mut builder = Array::builder([ROWS, COLUMNS]).regions(regions).ghost(1);
        for (axis, faces) in self.boundary().into_iter().enumerate() {
            builder = builder.boundary_face(axis, Side::Low, faces[0]).boundary_face(axis, Side::High, faces[1]);
        }
        let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
        u.fill(|[row, column]| value(7, [row, column, 0])).unwrap();
        for array in [&mut u, &mut next] {
            // Every ghost has a value, whoever sets it.
            array.fill_ghosts().unwrap();
            let [lo, hi] = self.sides();
            for tile in TileIter::new(&*array).grown(1).within([lo, COLUMNS as i64], [hi, COLUMNS as i64 + 1]) {
                compute(&tile, &mut *array, kernel!(|u, at| u[at] = 0.125)).unwrap();
            }
        }
        for step in 0..steps {
            let time = 0.1 * step as f64;
            if set && (self == Program::BeforeFill || self == Program::Periodic) {
                self.set_faces(&mut u, time);
            }
            u.fill_ghosts().unwrap();
            if set && self == Program::AfterFill || (self == Program::OverFixed && step % 2 == 0) {
                // The cells are as old as before: no ghost is stale.
                self.set_faces(&mut u, time);
            }
            for tile in TileIter::new(&u) {
                compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| {
                        let mut sum = 0.0;
                        for i in -1..2 {
                            for j in -1..2 {
                                sum += u[at + [i, j]];
                            }
                        }
                        next[at] = sum / 9.0;
                    }),
                )
                .unwrap();
            }
            std::mem::swap(&mut u, &mut next);
        }
        u.read_box(u.domain()).unwrap()
    }

    /// The same by plain loops, over rows with a ghost at each side.
    fn plain(self, steps: usize) -> Vec<f64> {
        let [rows, columns] = [ROWS as i64, COLUMNS as i64];
        let width = COLUMNS + 2;
        let place = |row: i64, column: i64| (row + 1) as usize * width + (column + 1) as usize;
        let mut u = vec![0.0; (ROWS + 2) * width];
        let [lo, hi] = self.sides();
        for row in lo..hi {
            u[place(row, columns)] = 0.125;
        }
        let mut next = u.clone();
        for row in 0..rows {
            for column in 0..columns {
                u[place(row, column)] = value(7, [row as usize, column as usize, 0]);
            }
        }
        // What a fill sets, axis by axis from the last to the first.
        let fill = |u: &mut Vec<f64>| {
            let [first, last] = self.boundary();
            for side in 0..2 {
                for row in 0..rows {
                    let (ghost, cell) = ([-1, columns][side], [0, columns - 1][side]);
                    match last[side] {
                        Boundary::Fixed(value) => u[place(row, ghost)] = value,
                        Boundary::Extrapolate(0) => u[place(row, ghost)] = u[place(row, cell)],
                        _ => {}
                    }
                }
            }
            for side in 0..2 {
                for column in -1..=columns {
                    let (ghost, cell) = ([-1, rows][side], [0, rows - 1][side]);
                    match first[side] {
                        Boundary::Fixed(value) => u[place(ghost, column)] = value,
                        Boundary::Extrapolate(0) => u[place(ghost, column)] = u[place(cell, column)],
                        Boundary::Periodic => u[place(ghost, column)] = u[place(rows - 1 - cell, column)],
                        _ => {}
                    }
                }
            }
        };
        let set = |u: &mut Vec<f64>, time: f64| {
            let [lo, hi] = self.sides();
            for row in lo..hi {
                u[place(row, -1)] = time + 0.01 * row as f64;
                u[place(row, columns)] = 0.5 * u[place(row, columns)] + time;
            }
            for column in (0..columns).filter(|_| self == Program::BeforeFill) {
                u[place(-1, column)] = time - 0.02 * column as f64;
                u[place(rows, column)] = time - 0.02 * column as f64;
            }
        };
        for step in 0..steps {
            let time = 0.1 * step as f64;
            if self == Program::BeforeFill || self == Program::Periodic {
                set(&mut u, time);
            }
            fill(&mut u);
            if self == Program::AfterFill || (self == Program::OverFixed && step % 2 == 0) {
                set(&mut u, time);
            }
            for row in 0..rows {
                for column in 0..columns {
                    let mut sum = 0.0;
                    for i in -1..2 {
                        for j in -1..2 {
                            sum += u[place(row + i, column + j)];
                        }
                    }
                    next[place(row, column)] = sum / 9.0;
                }
            }
            std::mem::swap(&mut u, &mut next);
        }
        (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))).map(|(r, c)| u[place(r, c)]).collect()
    }
}

const CUTS: [[usize; 2]; 4] = [[1, 1], [6, 1], [4, 2], [1, 4]];

/// Bytes of one array.
const BYTES: u64 = ((ROWS + 2) * (COLUMNS + 2) * 8) as u64;

fn same(acc: &TileAcc, what: &str) {
    for program in PROGRAMS {
        for regions in CUTS {
            let (found, wanted) = (program.run(acc, regions, 7), program.plain(7));
            let wrong = (0..wanted.len()).find(|n| found[*n].to_bits() != wanted[*n].to_bits());
            let at = wrong.map(|n| ([n / COLUMNS, n % COLUMNS], found[n], wanted[n]));
            assert_eq!(at, None, "{program:?} {regions:?} {what}");
        }
    }
}

#[test]
fn on_the_cpu() {
    same(&on_cpu(), "on the CPU");
}

fn simulated() -> TileAccBuilder {
    TileAcc::builder().threads(2).simulate(SimDevice::new())
}

#[test]
fn on_a_device_with_room() {
    if let Some(acc) = on_a_device(TileAcc::builder()) {
        same(&acc, "in core");
    }
    same(&simulated().build().unwrap(), "simulated, in core");
}

#[test]
fn out_of_core() {
    for limit in [BYTES * 3 / 2, BYTES] {
        if let Some(acc) = on_a_device(TileAcc::builder().memory_limit(limit)) {
            same(&acc, "out of core");
        }
        same(&simulated().memory_limit(limit).build().unwrap(), "simulated, out of core");
    }
}

/// Kernels that write ghosts take part in the passes of the work beside them: no byte more crosses the link than where
/// faces have fixed values.
#[test]
fn passes_are_shared() {
    for (program, regions) in
        [(Program::BeforeFill, [1, 1]), (Program::Periodic, [1, 1]), (Program::BeforeFill, [4, 2])]
    {
        let counted = |set: bool| {
            let acc = simulated().memory_limit(BYTES).look_ahead(1000).build().unwrap();
            program.steps(&acc, regions, 6, set);
            let stats = acc.stats();
            [stats.passes, stats.h2d_bytes, stats.d2h_bytes]
        };
        let (with, without) = (counted(true), counted(false));
        // Ghosts that were set come home.
        let ghosts = 2 * 4 * (ROWS + COLUMNS + 2) as u64 * 64;
        if regions == [1, 1] {
            assert_eq!(with[..2], without[..2], "{program:?}");
            assert!(with[2] <= without[2] + ghosts, "{program:?}: {with:?} {without:?}");
        } else {
            assert!(with[0] <= without[0] + 1, "{program:?}: {with:?} {without:?}");
        }
    }
}

/// Faces of cells that are written by loops of their own stream with the rest too.
#[test]
fn faces_of_cells_share_passes() {
    let [rows, columns] = [ROWS as i64, COLUMNS as i64];
    let faces = [([0, 0], [1, columns]), ([rows - 1, 0], [rows, columns]), ([0, 0], [rows, 1])];
    let passes = |faces: &[([i64; 2], [i64; 2])]| {
        let acc = simulated().memory_limit(BYTES).look_ahead(1000).build().unwrap();
        let mut u = Array::builder([ROWS, COLUMNS]).ghost(1).boundary(Boundary::Open).build(&acc).unwrap();
        u.fill(|[row, column]| value(7, [row, column, 0])).unwrap();
        let mut next = u.like().unwrap();
        for _ in 0..6 {
            for tile in TileIter::new(&u) {
                compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = 0.5 * (u[at - [1, 0]] + u[at])))
                    .unwrap();
            }
            for (lo, hi) in faces {
                for tile in TileIter::new(&next).within(*lo, *hi) {
                    compute(&tile, &mut next, kernel!(|next, at| next[at] = 2.0)).unwrap();
                }
            }
            std::mem::swap(&mut u, &mut next);
        }
        u.read_box(u.domain()).unwrap();
        acc.stats().passes
    };
    assert_eq!(passes(&faces), passes(&[]));
}
