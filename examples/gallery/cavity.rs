//! The flow in a square cavity under a lid that moves, by lattice Boltzmann, at Reynolds number 100, or 1000 with
//! `--reynolds 1000`.
//!
//! Walls and lid lie on the faces of the domain, which are open: kernels set the ghosts there. What flows out of a cell
//! comes back to it, from the lid with what the lid adds.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};

use crate::lattice::{CX, CY, Flow, Fluid, Lattice, OPPOSITE, W, velocity};
use crate::lattice_plain::Plain;
use crate::{Program, at_most};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "cavity",
        about: "Lattice Boltzmann (D2Q9): a cavity under a moving lid; --reynolds 100 or 1000",
        dims: &[2],
        size: [0, 48, 0],
        steps: 9600,
        ghost: 1,
        dtypes: &[Dtype::F64],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("speed"),
    },
    small: "--size 24 --steps 40",
    input: false,
    run,
};

/// Cells that the lid moves in a step.
const LID: f64 = 0.1;
/// How far the speed at a place of Ghia's table may be from the table, of the lid's speed. The lattice has an error of
/// the lid's speed over that of sound, squared, which is 0.03, and of the square of a cell.
const TOLERANCE: f64 = 0.02;

/// Places, and the speed along the lid on the line from the wall below the middle of the lid: Reynolds number 100 and
/// 1000. Ghia, Ghia and Shin, J. Comput. Phys. 48 (1982), table I.
const ALONG: [[f64; 3]; 15] = [
    [0.0547, -0.03717, -0.18109],
    [0.0625, -0.04192, -0.20196],
    [0.0703, -0.04775, -0.22220],
    [0.1016, -0.06434, -0.29730],
    [0.1719, -0.10150, -0.38289],
    [0.2813, -0.15662, -0.27805],
    [0.4531, -0.21090, -0.10648],
    [0.5, -0.20581, -0.06080],
    [0.6172, -0.13641, 0.05702],
    [0.7344, 0.00332, 0.18719],
    [0.8516, 0.23151, 0.33304],
    [0.9531, 0.68717, 0.46604],
    [0.9609, 0.73722, 0.51117],
    [0.9688, 0.78871, 0.57492],
    [0.9766, 0.84123, 0.65928],
];

/// The same of the speed towards the lid, on the line across (table II).
const TOWARDS: [[f64; 3]; 15] = [
    [0.0625, 0.09233, 0.27485],
    [0.0703, 0.10091, 0.29012],
    [0.0781, 0.10890, 0.30353],
    [0.0938, 0.12317, 0.32627],
    [0.1563, 0.16077, 0.37095],
    [0.2266, 0.17507, 0.33075],
    [0.2344, 0.17527, 0.32235],
    [0.5, 0.05454, 0.02526],
    [0.8047, -0.24533, -0.31966],
    [0.8594, -0.22445, -0.42665],
    [0.9063, -0.16914, -0.51550],
    [0.9453, -0.10313, -0.39188],
    [0.9531, -0.08864, -0.33714],
    [0.9609, -0.07391, -0.27669],
    [0.9688, -0.05906, -0.21388],
];

/// The column of the tables for a Reynolds number, and how often the lid passes the cavity until the flow is steady.
fn case(settings: &Settings) -> Result<(usize, f64)> {
    match settings.flags.reynolds.unwrap_or(100) {
        100 => Ok((1, 20.0)),
        1000 => Ok((2, 50.0)),
        other => {
            Err(format!("tried to run cavity with --reynolds {other}; found tables for 100 and 1000; give one of them")
                .into())
        }
    }
}

fn flow(settings: &Settings) -> Flow {
    Flow::of(LID * settings.shape[0] as f64 / settings.flags.reynolds.unwrap_or(100) as f64)
}

/// Sets the ghosts beyond walls and lid.
fn bounce_back(f: &mut Lattice) -> Result<()> {
    let last = f.shape()[0] as i64 - 1;
    for (side, wall) in [(Side::Low, 0), (Side::High, last)] {
        fill_ghosts_with(
            (1, side),
            &mut *f,
            kernel!(|f, at| {
                for q in 0..9 {
                    let row = (at[0] + CY[q]).clamp(0, last);
                    f[at][q] = f[[row, wall]][OPPOSITE[q]];
                }
            }),
        )?;
    }
    for (side, wall, speed) in [(Side::Low, 0, 0.0), (Side::High, last, LID)] {
        fill_ghosts_with(
            (0, side),
            &mut *f,
            kernel!(|f, at| {
                for q in 0..9 {
                    let column = (at[1] + CX[q]).clamp(0, last);
                    f[at][q] = f[[wall, column]][OPPOSITE[q]] + 6.0 * W[q] * speed * CX[q] as f64;
                }
            }),
        )?;
    }
    Ok(())
}

fn run(settings: &Settings) -> Result<()> {
    let (column, turns) = case(settings)?;
    let acc = settings.accelerator(1)?;
    let n = settings.shape[0];
    let mut fluid = Fluid::new(settings, &acc, &settings.builder(Boundary::Open)?, flow(settings), |_| W, |_| false)?;
    let mut clock = settings.clock()?;
    for _ in 0..settings.steps {
        fluid.f.fill_ghosts()?;
        bounce_back(&mut fluid.f)?;
        fluid.stream_and_collide()?;
        clock.step_drawn(&acc, || settings.drawing(&fluid.speed(settings)?))?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings
        .draw(settings.steps, || Ok(settings.map(tida_plot::Picture::middle(&fluid.speed(settings)?)?).upwards()))?;
    let found = || Ok(fluid.f.read_box(fluid.f.domain())?.concat());
    settings.finish_with(&fluid.f, settings.steps, seconds, found, || flowed(settings))?;
    let steady = settings.steps as f64 * LID >= turns * n as f64;
    if settings.verify && steady { as_in_the_table(settings, &fluid.f, column) } else { Ok(()) }
}

/// Whether the flow is that of the table.
fn as_in_the_table(settings: &Settings, f: &Lattice, column: usize) -> Result<()> {
    let n = settings.shape[0];
    let f = f.read_box(f.domain())?;
    let speed = |y: usize, x: usize, axis: usize| velocity(&f[y * n + x])[axis] / LID;
    // The line lies between two columns, or rows, or in one.
    let middle = [(n - 1) / 2, n / 2];
    let along: Vec<f64> = (0..n).map(|y| 0.5 * (speed(y, middle[0], 1) + speed(y, middle[1], 1))).collect();
    let towards: Vec<f64> = (0..n).map(|x| 0.5 * (speed(middle[0], x, 0) + speed(middle[1], x, 0))).collect();
    let rows = ALONG.iter().map(|row| (at(&along, [0.0, 1.0], row[0]), row[column]));
    let rows = rows.chain(TOWARDS.iter().map(|row| (at(&towards, [0.0; 2], row[0]), row[column])));
    let off = rows.map(|(found, table)| (found - table).abs()).fold(0.0, f64::max);
    at_most(settings, "a speed this far from Ghia's table, of the lid's", off, TOLERANCE)
}

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

/// The populations of all cells after the steps of plain loops.
fn flowed(settings: &Settings) -> Vec<f64> {
    let n = settings.shape[0] as i64;
    let flowed = Plain::new(n as usize, flow(settings), |_| W, |_| false).steps(settings.steps, |plain| {
        let ghosts = (0..n).flat_map(|y| [[y, -1], [y, n]]).chain((-1..=n).flat_map(|x| [[-1, x], [n, x]]));
        for [y, x] in ghosts {
            let speed = if y == n { LID } else { 0.0 };
            for q in 0..9 {
                // The cell that the population flows to, or the one beside it along the wall's end.
                let inside = [(y + CY[q]).clamp(0, n - 1), (x + CX[q]).clamp(0, n - 1)];
                let from =
                    if y < 0 || y == n { [y.clamp(0, n - 1), inside[1]] } else { [inside[0], x.clamp(0, n - 1)] };
                let (ghost, cell) = (plain.place(y, x), plain.place(from[0], from[1]));
                plain.f[ghost][q] = plain.f[cell][OPPOSITE[q]] + 6.0 * W[q] * speed * CX[q] as f64;
            }
        }
    });
    (0..n * n).flat_map(|cell| flowed.f[flowed.place(cell / n, cell % n)]).collect()
}
