//! The summed-area table of a picture: sums along its rows, then along its columns. With it, the sum over any rectangle
//! takes four reads.

use tida::prelude::*;
use tida_suite::Result;
use tida_suite::flags::{Edge, Example, Look, Settings};

use crate::Program;

pub const PROGRAM: Program = Program {
    example: Example {
        name: "summed_area",
        about: "The sums of a picture over all rectangles from its first corner; a step makes them once",
        dims: &[2],
        size: [0, 2048, 0],
        steps: 10,
        ghost: 1,
        dtypes: &[],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("sum").still(),
    },
    small: "--size 130 --steps 2",
    input: true,
    run,
};

/// Two discs on a dark ground.
fn pixel([y, x]: [f64; 2]) -> i32 {
    let disc = |cy: f64, cx: f64, r: f64| (y - cy).hypot(x - cx) < r;
    if disc(0.4, 0.35, 0.2) { 220 } else { 10 + 90 * i32::from(disc(0.65, 0.7, 0.15)) }
}

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(2)?;
    let mut picture = settings.array::<i32, 2>(&acc, settings.edge.boundary())?;
    settings.fill(&mut picture, pixel)?;
    // The ghosts before the first cells stay 0.
    let mut sums = settings.array::<i32, 2>(&acc, Boundary::Open)?;
    let start = settings.start(&picture)?;

    let clock = settings.clock()?;
    for _ in 0..settings.steps {
        sweep_along(
            1,
            Forward,
            sums.tiles(),
            (&mut sums, &picture),
            kernel!(|sums, picture, at| sums[at] = picture[at] + sums[at - [0, 1]]),
        )?;
        sweep_along(0, Forward, sums.tiles(), &mut sums, kernel!(|sums, at| sums[at] += sums[at - [1, 0]]))?;
        clock.step();
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.finish(&sums, settings.steps, seconds, || summed(&settings.shape, &start, settings.steps))
}

/// The same by plain loops. Without a step there are no sums.
fn summed(shape: &[usize], start: &[i32], steps: u64) -> Vec<i32> {
    if steps == 0 {
        return vec![0; start.len()];
    }
    let mut sums: Vec<i32> = Vec::with_capacity(start.len());
    for row in start.chunks(shape[1]) {
        let mut sum = 0i32;
        for pixel in row {
            sum = sum.wrapping_add(*pixel);
            let above = sums.len().checked_sub(shape[1]).map_or(0, |above| sums[above]);
            sums.push(sum.wrapping_add(above));
        }
    }
    sums
}
