//! Loops over the active blocks of a mask: on every road they have the bits of plain loops that leave the same cells
//! out, and what they leave out keeps its values.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one, and a simulated one.

use std::mem::swap;

use tida::prelude::*;
use tida::{SimDevice, TileAccBuilder};
use tida_tests::{expect, on_a_device, on_cpu, value};

const SHAPE: [usize; 2] = [48, 256];
const STEPS: usize = 5;
const REGIONS: [[usize; 2]; 4] = [[1, 1], [6, 1], [3, 2], [1, 4]];
/// Sizes of blocks; the last one is larger than regions.
const SIZES: [[usize; 2]; 4] = [[1, 1], [4, 16], [5, 7], [64, 512]];

/// Whether the mask leaves a cell out: outside of a ring, and of a few cells beyond it.
fn is_solid([j, i]: [usize; 2]) -> bool {
    let from = ((j as f64 - 24.0) * 3.0).hypot(i as f64 - 128.0);
    let is_open = (40.0..60.0).contains(&from) || (j == 3 && i > 240);
    !is_open
}

/// The blocks of a region of the plain loops: whether the one that a cell is in has an active cell.
fn active(regions: [usize; 2], size: [usize; 2]) -> Vec<bool> {
    let start = |d: usize, at: usize| {
        let cut = |n: usize| SHAPE[d] * n / regions[d];
        let lo = (0..regions[d]).map(cut).rfind(|lo| *lo <= at).unwrap();
        let hi = (1..=regions[d]).map(cut).find(|hi| *hi > at).unwrap();
        let lo = lo + (at - lo) / size[d] * size[d];
        lo..(lo + size[d]).min(hi)
    };
    let cells = (0..SHAPE[0]).flat_map(|j| (0..SHAPE[1]).map(move |i| [j, i]));
    cells.map(|[j, i]| start(0, j).any(|j| start(1, i).any(|i| !is_solid([j, i])))).collect()
}

/// A step writes all cells of a block, solid ones too.
fn run(acc: &TileAcc, regions: [usize; 2], size: [usize; 2], on: Option<Device>) -> [Vec<f64>; 2] {
    let mut solid =
        TileArray::<u8, 2>::builder(SHAPE).regions(regions).ghost(1).boundary(Boundary::Fixed(1)).build(acc).unwrap();
    solid.fill(|at| u8::from(is_solid(at))).unwrap();
    solid.fill_ghosts().unwrap();
    let blocks = ActiveBlocks::new(&solid, size, |solid| solid == 0).unwrap();
    let builder = TileArray::<f64, 2>::builder(SHAPE).regions(regions).ghost(1).boundary(Boundary::Fixed(0.5));
    let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    u.fill(|[j, i]| value(0, [j, i, 0])).unwrap();
    next.fill(|[j, i]| value(1, [j, i, 0])).unwrap();
    for _ in 0..STEPS {
        u.fill_ghosts().unwrap();
        let tiles = u.tiles().active(&blocks);
        for tile in on.map_or(tiles.clone(), |on| tiles.device(on)) {
            compute(
                &tile,
                (&mut next, &u, &solid),
                kernel!(|next, u, solid, at| {
                    let east = if solid[at + [0, 1]] == 1 { 0.25 } else { u[at + [0, 1]] };
                    let south = if solid[at + [1, 0]] == 1 { 0.75 } else { u[at + [1, 0]] };
                    next[at] = 0.25 * (u[at] + east + south + u[at - [1, 1]]);
                }),
            )
            .unwrap();
        }
        swap(&mut u, &mut next);
    }
    [u.read_box(u.domain()).unwrap(), next.read_box(u.domain()).unwrap()]
}

fn plain(regions: [usize; 2], size: [usize; 2]) -> [Vec<f64>; 2] {
    let active = active(regions, size);
    let [rows, columns] = SHAPE.map(|n| n as i64);
    let fill =
        |n: u64| (0..SHAPE[0] * SHAPE[1]).map(|c| value(n, [c / SHAPE[1], c % SHAPE[1], 0])).collect::<Vec<f64>>();
    let (mut u, mut next) = (fill(0), fill(1));
    for _ in 0..STEPS {
        for c in (0..u.len()).filter(|c| active[*c]) {
            let [j, i] = [c as i64 / columns, c as i64 % columns];
            let inside = |j: i64, i: i64| (0..rows).contains(&j) && (0..columns).contains(&i);
            let read = |j: i64, i: i64| if inside(j, i) { u[(j * columns + i) as usize] } else { 0.5 };
            let solid = |j: i64, i: i64| !inside(j, i) || is_solid([j as usize, i as usize]);
            let east = if solid(j, i + 1) { 0.25 } else { read(j, i + 1) };
            let south = if solid(j + 1, i) { 0.75 } else { read(j + 1, i) };
            next[c] = 0.25 * (u[c] + east + south + read(j - 1, i - 1));
        }
        swap(&mut u, &mut next);
    }
    [u, next]
}

fn same(acc: &TileAcc, on: Option<Device>, what: &str) {
    for regions in REGIONS {
        for size in SIZES {
            let (found, wanted) = (run(acc, regions, size, on), plain(regions, size));
            for (found, wanted) in found.iter().zip(&wanted) {
                let wrong = (0..wanted.len()).find(|n| found[*n].to_bits() != wanted[*n].to_bits());
                let at = wrong.map(|n| ([n / SHAPE[1], n % SHAPE[1]], found[n], wanted[n]));
                assert_eq!(at, None, "{regions:?} blocks of {size:?}, {what}");
            }
        }
    }
}

fn simulated() -> TileAccBuilder {
    TileAcc::builder().threads(2).simulate(SimDevice::new())
}

#[test]
fn on_the_cpu() {
    same(&on_cpu(), None, "on the CPU");
}

#[test]
fn on_a_device_with_room() {
    if let Some(acc) = on_a_device(TileAcc::builder()) {
        same(&acc, None, "in core");
    }
    same(&simulated().build().unwrap(), None, "simulated, in core");
}

#[test]
fn out_of_core() {
    let bytes = (SHAPE[0] * SHAPE[1] * 8) as u64;
    for limit in [bytes * 3 / 2, bytes] {
        if let Some(acc) = on_a_device(TileAcc::builder().memory_limit(limit)) {
            same(&acc, None, &format!("in {limit} bytes"));
        }
        same(&simulated().memory_limit(limit).build().unwrap(), None, &format!("simulated, in {limit} bytes"));
    }
}

#[test]
fn on_both_sides() {
    for acc in on_a_device(TileAcc::builder()).into_iter().chain([simulated().build().unwrap()]) {
        same(&acc, Some(Device::Hybrid), "on both sides");
    }
}

/// The table of a list is made once for each array that is written.
#[test]
fn tables_go_up_once() {
    let acc = on_a_device(TileAcc::builder()).unwrap_or_else(|| simulated().build().unwrap());
    let mut u = TileArray::<f64, 2>::builder(SHAPE).build(&acc).unwrap();
    u.fill(|at| f64::from(u8::from(is_solid(at)))).unwrap();
    let blocks = ActiveBlocks::new(&u, [1, 4], |solid| solid == 0.0).unwrap();
    let mut step = |time: f64| {
        for tile in u.tiles().active(&blocks) {
            compute(&tile, &mut u, kernel!(|u, at| u[at] += time)).unwrap();
        }
        acc.sync().unwrap();
        acc.stats().h2d_bytes
    };
    let first = step(1.0);
    assert!((2..6).all(|n| step(f64::from(n)) == first));
}

/// What `within` and the size of tiles leave of the blocks.
#[test]
fn parts_of_blocks() {
    for acc in on_a_device(TileAcc::builder()).into_iter().chain([on_cpu(), simulated().build().unwrap()]) {
        for regions in REGIONS {
            let mut u = TileArray::<i32, 2>::builder(SHAPE).regions(regions).build(&acc).unwrap();
            u.fill(|at| i32::from(is_solid(at))).unwrap();
            let size = [4, 16];
            let blocks = ActiveBlocks::new(&u, size, |solid| solid == 0).unwrap();
            u.fill_value(0).unwrap();
            let (lo, hi) = ([10, 30], [41, 111]);
            let tiles = u.tiles().within(lo, hi).tile_size([7, 50]).active(&blocks);
            assert_eq!(tiles.len(), tiles.clone().count());
            for tile in tiles {
                compute(&tile, &mut u, kernel!(|u, at| u[at] += 1)).unwrap();
            }
            let active = active(regions, size);
            for (n, found) in u.read_box(u.domain()).unwrap().into_iter().enumerate() {
                let at = [n / SHAPE[1], n % SHAPE[1]];
                let inside = (0..2).all(|d| (lo[d]..hi[d]).contains(&(at[d] as i64)));
                assert_eq!(found, i32::from(inside && active[n]), "{regions:?} {at:?}");
            }
        }
    }
}

#[test]
fn counts_and_refusals() {
    let acc = on_cpu();
    let mut u = TileArray::<f64, 2>::builder(SHAPE).regions([2, 1]).ghost(1).build(&acc).unwrap();
    u.fill(|at| f64::from(u8::from(is_solid(at)))).unwrap();
    let blocks = ActiveBlocks::new(&u, [4, 16], |solid| solid == 0.0).unwrap();
    let cells = active([2, 1], [4, 16]).into_iter().filter(|active| *active).count();
    assert_eq!((blocks.cells(), blocks.len()), (cells, cells / 64));
    let none = ActiveBlocks::new(&u, [4, 16], |_| false).unwrap();
    assert!(none.is_empty() && u.tiles().active(&none).len() == 2);
    for tile in u.tiles().active(&none) {
        assert!(tile.cells().is_empty());
        compute(&tile, &mut u, kernel!(|u, at| u[at] = 7.0)).unwrap();
    }
    assert_eq!(reduce(&u, Max, kernel!(|u, at| u[at])).unwrap(), 1.0);
    expect(ActiveBlocks::new(&u, [4, 0], |_| true).map(drop), ErrorKind::Argument, &["block size of 0 on axis 1"]);
    let mut other = TileArray::<f64, 2>::builder(SHAPE).build(&acc).unwrap();
    let tile = other.tiles().active(&blocks).next().unwrap();
    let computed = compute(&tile, &mut other, kernel!(|u, at| u[at] = 7.0));
    expect(computed, ErrorKind::Shape, &["cut in another way", "the shape and the regions"]);
    u.fill_ghosts().unwrap();
    let tiles = u.tiles().active(&blocks);
    let swept = sweep_along(0, Forward, tiles, &mut u, kernel!(|u, at| u[at] += u[at - [1, 0]]));
    expect(swept, ErrorKind::Argument, &["tiles of active blocks", "leave out `.active(..)`"]);
    // A loop over all of its box would read what it writes.
    let tile = u.tiles().active(&blocks).next().unwrap();
    let read = compute(&tile, &mut u, kernel!(|u, at| u[at] = u[at + [0, 1]]));
    expect(read, ErrorKind::Race, &["`u[at + [0, 1]]`"]);
}
