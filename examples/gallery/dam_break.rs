//! A dam between deep and shallow water breaks: water falls to the left of it, and a bore runs right. Stoker has the
//! exact solution.
//!
//! The fluxes are those of `shallow_water` along one axis. A step is 0.05 of a cell's width.

use tida::prelude::*;
use tida_plot::Lines;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};

use crate::shallow_water::{GRAVITY, RATIO, flux, through};
use crate::{Program, at_most};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "dam_break",
        about: "A dam between deep and shallow water breaks",
        dims: &[1],
        size: [1000, 0, 0],
        steps: 1000,
        ghost: 1,
        dtypes: &[Dtype::F32],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("height"),
    },
    small: "--size 400 --steps 400",
    input: false,
    run,
};

/// The height on both sides at first. A fifth on the right is the case of SWASHES (Delestre and others, 2013,
/// doi:10.1002/fld.3741, section 4.1.1).
const DEEP: f32 = 1.0;
const SHALLOW: f32 = 0.2;
/// How far the height may be from Stoker's solution, on average, with 400 cells or more. The scheme is of first order:
/// it spreads the bore over some cells, and rounds the ends of the slope off.
const TOLERANCE: f64 = 0.01;
/// Number of cells from which on that holds.
const ENOUGH: usize = 400;
/// No wave reaches an end before that time.
const LATEST: f64 = 0.1;

fn start(n: usize, x: usize) -> f32 {
    if 2 * x < n { DEEP } else { SHALLOW }
}

/// Stoker's solution (Water Waves, 1957, as in SWASHES): the height at a speed, a place from the dam over the time.
fn height(speed: f64) -> f64 {
    let [gravity, shallow] = [GRAVITY, SHALLOW].map(f64::from);
    let (deep, bed) = ((gravity * f64::from(DEEP)).sqrt(), gravity * shallow);
    // The wave speed between the slope and the bore, by halving.
    let (mut low, mut high) = (bed.sqrt(), deep);
    for _ in 0..60 {
        let c = 0.5 * (low + high);
        let over = (c * c - bed).powi(2) * (c * c + bed) - 8.0 * bed * c * c * (deep - c).powi(2);
        if over < 0.0 { low = c } else { high = c }
    }
    let c = 0.5 * (low + high);
    let (tail, bore) = (2.0 * deep - 3.0 * c, 2.0 * c * c * (deep - c) / (c * c - bed));
    if speed < -deep {
        f64::from(DEEP)
    } else if speed < tail {
        4.0 / (9.0 * gravity) * (deep - 0.5 * speed).powi(2)
    } else if speed < bore {
        c * c / gravity
    } else {
        shallow
    }
}

type Cells = TileArray<f32, 1>;

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(1)?;
    let n = settings.shape[0];
    let mut h = settings.array::<f32, 1>(&acc, Boundary::Extrapolate(0))?;
    h.fill(|[x]| start(n, x))?;
    let mut q = h.like()?;
    let (mut next_h, mut next_q) = (h.like()?, h.like()?);
    let tile_size = settings.tile()?;
    let mut clock = settings.clock()?;
    for step in 1..=settings.steps {
        fill_ghosts((&mut h, &mut q))?;
        for tile in TileIter::new(&h).tile_size(tile_size) {
            compute(
                &tile,
                (&mut next_h, &mut next_q, &h, &q),
                kernel!(|next_h, next_q, h, q, at| {
                    let (west, east) = (at - [1], at + [1]);
                    let from_west = through([h[west], q[west], 0.0], [h[at], q[at], 0.0], GRAVITY);
                    let to_east = through([h[at], q[at], 0.0], [h[east], q[east], 0.0], GRAVITY);
                    next_h[at] = h[at] - RATIO * (to_east[0] - from_west[0]);
                    next_q[at] = q[at] - RATIO * (to_east[1] - from_west[1]);
                }),
            )?;
        }
        std::mem::swap(&mut h, &mut next_h);
        std::mem::swap(&mut q, &mut next_q);
        clock.step_drawn(&acc, || drawing(n, step, &h))?;
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.draw(settings.steps, || drawing(n, settings.steps, &h))?;
    let found = || Ok([h.read_box(h.domain())?, q.read_box(q.domain())?].concat());
    settings.finish_with(&h, settings.steps, seconds, found, || flowed(n, settings.steps))?;
    if !settings.verify || n < ENOUGH || time(n, settings.steps) > LATEST {
        return Ok(());
    }
    let off = profile(n, settings.steps, &h)?.iter().map(|[_, found, exact]| (found - exact).abs()).sum::<f64>();
    at_most(settings, "a height this far from Stoker's solution, on average", off / n as f64, TOLERANCE)
}

fn time(n: usize, steps: u64) -> f64 {
    f64::from(RATIO) * steps as f64 / n as f64
}

/// Along the water: the place, the height, and that of the exact solution.
fn profile(n: usize, steps: u64, h: &Cells) -> Result<Vec<[f64; 3]>> {
    let row = |(x, h): (usize, &f32)| {
        let place = (x as f64 + 0.5) / n as f64;
        [place, f64::from(*h), height((place - 0.5) / time(n, steps))]
    };
    Ok(h.read_box(h.domain())?.iter().enumerate().map(row).collect())
}

fn drawing(n: usize, steps: u64, h: &Cells) -> Result<Lines> {
    let profile = profile(n, steps, h)?;
    let lines = Lines::new().points("Stoker", profile.iter().map(|[place, _, exact]| (*place, *exact)));
    let lines = lines.points("found", profile.iter().map(|[place, found, _]| (*place, *found)));
    Ok(lines.axes("x", "height"))
}

/// Height and discharge of each cell after the steps of plain loops.
fn flowed(n: usize, steps: u64) -> Vec<f32> {
    // With a ghost at both ends.
    let mut h: Vec<f32> = (0..n + 2).map(|x| start(n, x.saturating_sub(1).min(n - 1))).collect();
    let (mut q, still) = (vec![0.0; n + 2], vec![0.0; n + 2]);
    for _ in 0..steps {
        for field in [&mut h, &mut q] {
            (field[0], field[n + 1]) = (field[1], field[n]);
        }
        let flows: Vec<[f32; 3]> = (0..=n).map(|face| flux([&h, &q, &still], face, face + 1)).collect();
        for x in 1..=n {
            h[x] -= RATIO * (flows[x][0] - flows[x - 1][0]);
            q[x] -= RATIO * (flows[x][1] - flows[x - 1][1]);
        }
    }
    [&h[1..=n], &q[1..=n]].concat()
}
