//! Sweeps over the cells of one colour, and over the active blocks of a mask, on arrays that lie in files: the bits
//! that they have in memory.

use std::path::Path;

use tida::SimDevice;
use tida::acc::TileAccBuilder;
use tida::prelude::*;
use tida_tests::folder::Folder;

const SHAPE: [usize; 3] = [48, 24, 40];
const KIB: u64 = 1 << 10;

/// Bytes for arrays, of which each takes about 600 KiB: a few planes, most of one, room for one and not for two, and
/// for all.
const ROOM: [u64; 5] = [256 * KIB, 512 * KIB, 800 * KIB, 1500 * KIB, 8192 * KIB];

fn backed(folder: &Path) -> TileAccBuilder {
    TileAcc::builder().threads(2).backed_by(folder)
}

fn in_memory() -> TileAcc {
    TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap()
}

/// What runs arrays in files: the CPU, a simulated device, and OpenCL where it is.
fn in_files(folder: &Path, memory: u64) -> Vec<TileAcc> {
    let cpu = backed(folder).device(Device::Cpu).memory_limit(memory).build().ok();
    let sim = backed(folder).simulate(SimDevice::new()).memory_limit(memory).build().ok();
    let opencl = backed(folder).device(Device::OpenCl).memory_limit(memory).build().ok();
    [cpu, sim, opencl].into_iter().flatten().collect()
}

fn value([i, j, k]: [usize; 3]) -> f64 {
    ((i * 31 + j * 17 + k * 7) % 101) as f64 / 101.0
}

fn cube(acc: &TileAcc, regions: usize) -> tida::Result<TileArray<f64, 3>> {
    let builder = TileArray::<f64, 3>::builder(SHAPE).regions([regions, 1, 1]).ghost(1);
    builder.boundary(Boundary::Fixed(0.25)).build(acc)
}

fn all(array: &TileArray<f64, 3>) -> tida::Result<Vec<f64>> {
    array.read_box(array.domain())
}

/// Compares a program with itself in memory, with every amount of room.
fn compare(what: &str, run: impl Fn(&TileAcc, usize) -> tida::Result<Vec<f64>>) {
    let folder = Folder::new();
    for regions in [1, 4] {
        let wanted = run(&in_memory(), regions).unwrap();
        for memory in ROOM {
            for acc in in_files(&folder.0, memory) {
                let found = run(&acc, regions);
                let found = found.unwrap_or_else(|e| panic!("{what}, {acc}, {regions} regions, {memory} bytes: {e}"));
                assert!(found == wanted, "{what}, {acc}, {regions} regions, {memory} bytes");
            }
        }
    }
}

/// Two rounds over all colours; ghosts are filled before each.
fn relax(
    colours: &[Colour<3>],
    (u, heat): (&mut TileArray<f64, 3>, Option<&TileArray<f64, 3>>),
    rounds: usize,
) -> tida::Result<()> {
    for _ in 0..rounds {
        for colour in colours {
            u.fill_ghosts()?;
            match heat {
                None => sweep_colour(
                    *colour,
                    u.tiles(),
                    &mut *u,
                    kernel!(|u, at| {
                        let around = u[at - [1, 0, 0]] + u[at + [1, 0, 0]] + u[at - [0, 1, 0]] + u[at + [0, 0, 1]];
                        u[at] += 0.5 * (0.25 * around - u[at]);
                    }),
                )?,
                Some(heat) => sweep_colour(
                    *colour,
                    u.tiles(),
                    (&mut *u, heat),
                    kernel!(|u, heat, at| {
                        let around = u[at - [1, 0, 0]] + u[at + [1, 0, 0]] + u[at - [0, 1, 0]] + u[at + [0, 0, 1]];
                        u[at] += 0.5 * (0.25 * around + heat[at] - u[at]);
                    }),
                )?,
            }
        }
    }
    Ok(())
}

#[test]
fn colours_of_one_array_have_the_bits_of_memory() {
    let red_black = [0, 1].map(Colour::red_black);
    compare("red and black", |acc, regions| {
        let mut u = cube(acc, regions)?;
        u.fill(value)?;
        relax(&red_black, (&mut u, None), 3)?;
        all(&u)
    });
}

#[test]
fn colours_of_two_arrays_have_the_bits_of_memory() {
    let red_black = [0, 1].map(Colour::red_black);
    compare("red and black, two arrays", |acc, regions| {
        let (mut u, mut heat) = (cube(acc, regions)?, cube(acc, regions)?);
        u.fill(value)?;
        heat.fill(|[i, j, k]| value([k, i, j]))?;
        relax(&red_black, (&mut u, Some(&heat)), 3)?;
        all(&u)
    });
}

#[test]
fn colours_of_axes_have_the_bits_of_memory() {
    let eight: Vec<Colour<3>> = (0..8).map(|n| Colour::of_axes([n & 1, n >> 1 & 1, n >> 2], [2; 3])).collect();
    compare("eight colours", |acc, regions| {
        let (mut u, mut heat) = (cube(acc, regions)?, cube(acc, regions)?);
        u.fill(value)?;
        heat.fill(|[i, j, k]| value([k, i, j]))?;
        relax(&eight, (&mut u, Some(&heat)), 2)?;
        all(&u)
    });
}

#[test]
fn a_colour_between_other_sweeps_has_the_bits_of_memory() {
    compare("a smoother and its rest", |acc, regions| {
        let (mut u, mut heat) = (cube(acc, regions)?, cube(acc, regions)?);
        u.fill(value)?;
        heat.fill(|[i, j, k]| value([k, i, j]))?;
        let mut found = Vec::new();
        for _ in 0..2 {
            relax(&[0, 1].map(Colour::red_black), (&mut u, Some(&heat)), 1)?;
            u.fill_ghosts()?;
            for tile in heat.tiles() {
                compute(
                    &tile,
                    (&mut heat, &u),
                    kernel!(|heat, u, at| heat[at] = 0.5 * heat[at] + 0.25 * (u[at + [1, 0, 0]] - u[at - [0, 1, 0]])),
                )?;
            }
            found.push(reduce(&heat, Sum, kernel!(|heat, at| heat[at]))?);
        }
        found.extend(all(&heat)?);
        Ok(found)
    });
}

#[test]
fn active_blocks_have_the_bits_of_memory() {
    for size in [[1, 4, 8], [5, 7, 9], [64, 8, 64]] {
        compare(&format!("blocks of {size:?}"), |acc, regions| {
            let mut solid = cube(acc, regions)?;
            solid.fill(|[i, j, k]| f64::from(u8::from((i + 2 * j) % 24 < 8 || k > 30)))?;
            let blocks = ActiveBlocks::new(&solid, size, |solid| solid == 0.0)?;
            let (mut u, mut next) = (cube(acc, regions)?, cube(acc, regions)?);
            u.fill(value)?;
            next.fill(|[i, j, k]| value([k, i, j]))?;
            for _ in 0..4 {
                u.fill_ghosts()?;
                for tile in u.tiles().active(&blocks) {
                    compute(
                        &tile,
                        (&mut next, &u, &solid),
                        kernel!(|next, u, solid, at| {
                            let around = u[at - [1, 0, 0]] + u[at + [1, 0, 0]] + u[at - [0, 1, 0]] + u[at + [0, 0, 1]];
                            next[at] = if solid[at] == 1.0 { u[at] } else { 0.25 * around };
                        }),
                    )?;
                }
                std::mem::swap(&mut u, &mut next);
            }
            Ok([all(&u)?, all(&next)?].concat())
        });
    }
}
