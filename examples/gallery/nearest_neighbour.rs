//! The five places nearest to a target: Lashgar §3.3.1 (Rodinia's NN).
//!
//! Distances are computed for all places in parallel, as in the paper. It then picks the five lowest on the host; here
//! each is a reduction, the lowest of those behind the one before it, so no more than five numbers leave the device.

use tida::prelude::*;
use tida_plot::Picture;
use tida_suite::Result;
use tida_suite::flags::{Dtype, Edge, Example, Look, Settings};

use crate::{Program, plain};

pub const PROGRAM: Program = Program {
    example: Example {
        name: "nearest_neighbour",
        about: "The five places that are nearest to a target; a step is a target",
        dims: &[1],
        size: [1 << 20, 0, 0],
        steps: 5,
        ghost: 0,
        dtypes: &[Dtype::F32],
        boundaries: &[Edge::Fixed],
        library: false,
        look: Look::viridis("distance").still(),
    },
    small: "--size 5000 --steps 2",
    input: false,
    run,
};

/// Degrees north and east.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Place {
    latitude: f32,
    longitude: f32,
}

/// How many are found.
const NEAREST: usize = 5;

fn place(i: usize) -> Place {
    let degrees = |draw: usize, range: f64| ((plain::random(draw) - 0.5) * range * 10.0).round() as f32 / 10.0;
    Place { latitude: degrees(2 * i, 180.0), longitude: degrees(2 * i + 1, 360.0) }
}

/// The target of a step.
fn target(step: u64) -> Place {
    place(usize::MAX / 4 - step as usize)
}

fn run(settings: &Settings) -> Result<()> {
    let acc = settings.accelerator(1 + NEAREST)?;
    let n = settings.shape[0];
    let mut places = settings.array::<Place, 1>(&acc, Boundary::Open)?;
    places.fill(|[i]| place(i))?;
    let mut distance = settings.array::<f32, 1>(&acc, Boundary::Open)?;
    let tile_size = settings.tile()?;

    let mut nearest = Vec::new();
    let clock = settings.clock()?;
    for step in 0..settings.steps {
        let Place { latitude, longitude } = target(step);
        for tile in TileIter::new(&distance).tile_size(tile_size) {
            compute(
                &tile,
                (&mut distance, &places),
                kernel!(|distance, places, at| {
                    let (dy, dx) = (places[at].latitude - latitude, places[at].longitude - longitude);
                    distance[at] = (dy * dy + dx * dx).sqrt();
                }),
            )?;
        }
        // Of places at one distance the first counts as nearer.
        let (mut last, mut last_at) = (-1.0f32, 0);
        for _ in 0..NEAREST.min(n) {
            let ([i], lowest) = reduce(
                &distance,
                ArgMin,
                kernel!(|distance, at| {
                    let d = distance[at];
                    if d > last || (d == last && at[0] > last_at) { d } else { f32::INFINITY }
                }),
            )?;
            (last, last_at) = (lowest, i as i64);
            nearest.push((i, lowest));
        }
        clock.step();
    }
    acc.sync()?;
    let seconds = clock.stop()?;

    settings.draw(settings.steps, || map(settings, &places, &distance))?;
    // Numbers of places are compared as two halves, which an `f32` holds exactly.
    let numbers = |nearest: Vec<(usize, f32)>| -> Vec<f32> {
        nearest.into_iter().flat_map(|(i, d)| [(i >> 20) as f32, (i & 0xf_ffff) as f32, d]).collect()
    };
    settings.finish_with(
        &distance,
        settings.steps,
        seconds,
        || Ok(numbers(nearest)),
        || numbers((0..settings.steps).flat_map(|step| sorted(n, target(step))).collect()),
    )
}

/// A map of how far the nearest place of each four by four degrees is from the last target.
fn map(settings: &Settings, places: &TileArray<Place, 1>, distance: &TileArray<f32, 1>) -> Result<Picture> {
    let mut nearest = vec![f64::NAN; 45 * 90];
    let places = places.read_box(places.domain())?;
    for (place, distance) in places.iter().zip(distance.read_box(distance.domain())?) {
        let row = ((place.latitude + 90.0) / 4.0).clamp(0.0, 44.0) as usize;
        let column = ((place.longitude + 180.0) / 4.0).clamp(0.0, 89.0) as usize;
        let cell = &mut nearest[row * 90 + column];
        *cell = cell.min(distance.into());
    }
    let picture = settings.map(Picture::values(45, 90, nearest)?);
    Ok(picture.extent([-90.0, 90.0], [-180.0, 180.0]).axes("latitude", "longitude").upwards())
}

/// The same by a plain sort.
fn sorted(n: usize, target: Place) -> Vec<(usize, f32)> {
    let distance = |i: usize| {
        let (dy, dx) = (place(i).latitude - target.latitude, place(i).longitude - target.longitude);
        (dy * dy + dx * dx).sqrt()
    };
    let mut all: Vec<(usize, f32)> = (0..n).map(|i| (i, distance(i))).collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    all.truncate(NEAREST);
    all
}
