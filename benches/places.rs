//! What a step costs on one device and on several places: weak scaling, so many cells on each place.
//!
//! Heat of 7 points, and two fields that react and spread, both in `f64`, periodic, one step a launch. Beside it runs
//! `benches/reference/heat_two.cu`, the same heat by hand on two GPUs, if its program is given:
//!
//! ```text
//! benches/reference/compile.sh target/references
//! cargo bench --bench places -- target/references/heat_two "cuda:0;cuda:0,0;cuda:0,1" 128,256,512
//! ```
//!
//! The second argument names devices, as `TileAccBuilder::devices` takes them: each is compared with the first. With
//! `cuda:0,1@8` places have 8 planes of their neighbours as cells (`TileArrayBuilder::overlap`), and steps may fuse. The
//! third one lists cells along each axis of a place; with `=512` it is so many in all, on one place or several. Values
//! are compared before anything is timed. `TIDA_PLACES_ROOM=0.25` gives places room for such a part of the two arrays
//! of heat, which then stream; reactions are left out. `TIDA_PLACES_TIMELINE=FOLDER` writes what ran when of each
//! device and size into a file there, in the JSON format of Chrome's tracer; times are then somewhat longer.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use tida::prelude::*;
use tida::{Fuse, fill_ghosts};
use tida_suite::heat;

type Field = TileArray<f64, 3>;

/// One sweep writes both fields, and reads ghosts of both.
fn react(fields: &mut [Field; 2], next: &mut [Field; 2]) -> tida::Result<()> {
    let ([u, v], [un, vn]) = (&mut *fields, &mut *next);
    fill_ghosts((&mut *u, &mut *v))?;
    for tile in un.tiles() {
        compute(
            &tile,
            (&mut *un, &mut *vn, &*u, &*v),
            kernel!(|un, vn, u, v, at| {
                let around = u[at - [1, 0, 0]] + u[at + [1, 0, 0]] + u[at - [0, 1, 0]] + u[at + [0, 1, 0]];
                let spread = around + u[at - [0, 0, 1]] + u[at + [0, 0, 1]] - 6.0 * u[at];
                let around = v[at - [1, 0, 0]] + v[at + [1, 0, 0]] + v[at - [0, 1, 0]] + v[at + [0, 1, 0]];
                let other = around + v[at - [0, 0, 1]] + v[at + [0, 0, 1]] - 6.0 * v[at];
                let both = u[at] * v[at] * v[at];
                un[at] = u[at] + 0.1 * spread - both + 0.03 * (1.0 - u[at]);
                vn[at] = v[at] + 0.05 * other + both - 0.09 * v[at];
            }),
        )?;
    }
    std::mem::swap(fields, next);
    Ok(())
}

/// A field of values that are the same wherever the array lies.
fn field(acc: &TileAcc, cells: [usize; 3], overlap: usize) -> tida::Result<Field> {
    let builder = TileArray::<f64, 3>::builder(cells).ghost(1).boundary(Boundary::Periodic);
    let mut u = builder.overlap(overlap).build(acc)?;
    for tile in u.tiles() {
        compute(&tile, &mut u, kernel!(|u, at| u[at] = ((at[0] * 31 + at[1] * 17 + at[2] * 7) % 101) as f64 / 101.0))?;
    }
    Ok(u)
}

/// The devices that a name stands for, and planes of neighbours.
fn devices_of(names: &str) -> (&str, Option<usize>) {
    let parts = names.split_once('@').and_then(|(devices, planes)| Some((devices, planes.parse().ok()?)));
    parts.map_or((names, None), |(devices, planes)| (devices, Some(planes)))
}

/// Some cells of both programs after a few steps on few cells, as bits.
fn seen(acc: &TileAcc, overlap: usize) -> tida::Result<Vec<u64>> {
    let cells = [24, 20, 70];
    let (mut u, mut v) = (field(acc, cells, overlap)?, field(acc, cells, overlap)?);
    let mut next = [u.like()?, v.like()?];
    (0..4).try_for_each(|_| heat::step(&mut v, &mut next[1]))?;
    let mut all = v.read_box(v.domain())?;
    let mut fields = [u.clone(), v];
    (0..4).try_for_each(|_| react(&mut fields, &mut next))?;
    all.extend(fields[0].read_box(u.domain())?);
    u.fill_ghosts()?;
    Ok(all.into_iter().map(f64::to_bits).collect())
}

/// Steps before any is timed. As those that are timed they divide by 3, 4, 6 and 12: planes are given at the same steps
/// of each run.
const WARM_UP: usize = 12;

/// Steps that are timed of arrays that stream, in one run, about: a multiple of the planes of neighbours, as there are
/// before any is timed. So planes are given at the first of them, and no chain has fewer steps than planes.
const STREAMED: usize = 192;

/// Seconds a step, the best of three runs, once all is compiled; of arrays that stream it is one run.
fn seconds(
    acc: &TileAcc,
    (cells, streams): (usize, Option<usize>),
    mut step: impl FnMut() -> tida::Result<()>,
) -> tida::Result<f64> {
    let overlap = streams.filter(|planes| *planes > 0);
    let warm_up = overlap.unwrap_or(WARM_UP);
    (0..warm_up).try_for_each(|_| step())?;
    while acc.warm_up()? > 0 {
        (0..warm_up).try_for_each(|_| step())?;
    }
    let steps = (1u64 << 33 >> cells.ilog2()).clamp(192, 1000).next_multiple_of(48) as u32;
    let streamed = STREAMED / overlap.unwrap_or(1) * overlap.unwrap_or(1);
    let steps = if streams.is_some() { streamed as u32 } else { steps };
    let mut best = f64::INFINITY;
    for _ in 0..if streams.is_some() { 1 } else { 3 } {
        let start = Instant::now();
        (0..steps).try_for_each(|_| step())?;
        acc.sync()?;
        best = best.min(start.elapsed().as_secs_f64() / f64::from(steps));
    }
    Ok(best)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let get = |n: usize, other: &str| given.get(n).cloned().unwrap_or_else(|| other.to_owned());
    let (by_hand, devices, sizes) = (get(0, ""), get(1, "cpu:1;cpu:2"), get(2, "48"));
    let devices: Vec<&str> = devices.split(';').collect();
    // From how many bytes of arrays on sweeps compute their edges first.
    let edges = std::env::var("TIDA_PLACES_EDGES").ok().and_then(|bytes| bytes.parse().ok());
    // Room for such a part of both arrays of heat, on all places together.
    let room = std::env::var("TIDA_PLACES_ROOM").ok().and_then(|part| part.parse::<f64>().ok());
    let folder = std::env::var_os("TIDA_PLACES_TIMELINE").map(PathBuf::from);
    let accelerator = |names: &str, of: Option<(usize, usize)>| {
        let (names, overlap) = devices_of(names);
        let fuse = if overlap.is_some() { Fuse::Auto } else { Fuse::Off };
        let mut builder = TileAcc::builder().devices([names]).fuse(fuse).timeline(folder.is_some() && of.is_some());
        if let Some(((bytes, places), part)) = of.zip(room) {
            builder = builder.memory_limit((bytes as f64 * part) as u64 / places as u64);
        }
        if let Some(bytes) = edges { builder.edges_from(bytes) } else { builder }.build()
    };
    let expected = seen(&accelerator(devices[0], None)?, 0)?;
    for names in &devices {
        let (names, overlap) = devices_of(names);
        let builder = TileAcc::builder().devices([names]).edges_from(0);
        // No more than the thinnest part has.
        if seen(&builder.build()?, overlap.unwrap_or(0).min(4))? != expected {
            return Err(format!("{names} gives other bits than {}", devices[0]).into());
        }
    }
    let mut number = 0;
    for size in sizes.split(',') {
        let (in_all, size) = size.strip_prefix('=').map_or((false, size), |size| (true, size));
        let size: usize = size.parse()?;
        if !by_hand.is_empty() {
            let cells = size.to_string();
            let steps = (1usize << 33 >> (3 * size.ilog2())).clamp(50, 2000).to_string();
            let output = Command::new(&by_hand).args([&cells, &cells, &cells, &steps]).output()?;
            let said = String::from_utf8_lossy(&output.stdout);
            let of_steps = |line: &&str| line.contains("Gcell");
            said.lines().filter(of_steps).for_each(|line| println!("by hand, {size}^3: {line}"));
        }
        let mut first = [None; 2];
        for names in &devices {
            let places = accelerator(names, None)?.places().len();
            let cells = [if in_all { size } else { size * places }, size, size];
            let acc = accelerator(names, Some((cells.iter().product::<usize>() * 16, places)))?;
            let each = cells.iter().product::<usize>() / places;
            let of = if in_all { "in all" } else { "a place" };
            let mut said = |name: &str, kind: usize, seconds: f64| {
                // In all, or of a place, as what is compared.
                let rate = if in_all { each * places } else { each } as f64 / seconds / 1e9;
                let scaling = rate / *first[kind].get_or_insert(rate);
                let all = (each * places) as f64 / seconds / 1e9;
                let stats = acc.stats();
                let [fused, strips, host] =
                    [stats.fused_steps, stats.strip_bytes >> 20, (stats.h2d_bytes + stats.d2h_bytes) >> 20];
                println!(
                    "{names}, {size}^3 {of}, {name}: {:.4} ms, {all:.1} Gcell/s, {scaling:.3} ({} launches, {fused} \
                     fused steps, {strips} MiB of strips, {host} MiB by the host)",
                    seconds * 1e3,
                    stats.launches
                );
            };
            let overlap = devices_of(names).1.unwrap_or(0);
            let mut u = field(&acc, cells, overlap)?;
            let mut next = u.like()?;
            said("heat", 0, seconds(&acc, (each, room.map(|_| overlap)), || heat::step(&mut u, &mut next))?);
            if let Some(folder) = &folder {
                acc.timeline()?.write_chrome(folder.join(format!("{number}.json")))?;
                number += 1;
            }
            if room.is_some() {
                acc.streamed().iter().rev().take(2).for_each(|pass| println!("    {pass}"));
                continue;
            }
            // It has twice as many arrays.
            if size > 512 {
                continue;
            }
            let mut fields = [u, next];
            let mut next = [fields[0].like()?, fields[0].like()?];
            said("reaction", 1, seconds(&acc, (each, None), || react(&mut fields, &mut next))?);
        }
    }
    Ok(())
}
