//! Programs of arrays that hold planes of their neighbours (`.overlap(..)`), for places and ranks.

use tida::prelude::*;

use crate::ranks::Seen;
use crate::several::{Dice, bits, value};

/// Regions and rows of the arrays of [`steps`].
pub fn cuts(places: usize, dice: &mut Dice) -> (usize, usize) {
    let regions = places * (1 + dice.roll(2));
    (regions, 8 * regions + dice.roll(7))
}

/// A step of heat over a tile.
///
/// # Panics
/// If it cannot be recorded.
pub fn spread(tile: &Tile<2>, v: &mut TileArray<f64, 2>, u: &TileArray<f64, 2>) {
    compute(
        tile,
        (v, u),
        kernel!(|v, u, at| {
            let around = u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]];
            v[at] = u[at] + 0.1 * (around - 4.0 * u[at]);
        }),
    )
    .unwrap();
}

/// Steps of several kernels on arrays that have so many planes of their neighbours, with all that may tear these.
///
/// # Panics
/// If a step fails.
pub fn steps(acc: &TileAcc, (places, overlap): (usize, usize), mut dice: Dice) -> Seen {
    let (regions, rows) = cuts(places, &mut dice);
    let ends = dice.pick(&[Boundary::Periodic, Boundary::ReflectEven, Boundary::Fixed(0.5)]);
    let sides = dice.pick(&[Boundary::Periodic, Boundary::ReflectEven, Boundary::Extrapolate(1), Boundary::Open]);
    let builder = TileArray::<f64, 2>::builder([rows, 70]).regions([regions, 1]).ghost([2, 1]).overlap(overlap);
    let centering = [dice.pick(&[Centering::Cell, Centering::Face]), Centering::Cell];
    let builder = builder.boundary_axis(0, ends).boundary_axis(1, sides).centering(centering);
    let (mut u, mut v) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    let source = TileArray::<f64, 2>::builder([rows, 70]).regions([regions, 1]).centering(centering);
    let mut source = source.overlap(overlap).build(acc).unwrap();
    let salt = dice.roll(100);
    u.fill(|at| value(at, salt)).unwrap();
    source.fill(|at| value(at, salt + 1)).unwrap();
    let mut seen = Seen::default();
    for step in 0..14 + dice.roll(20) {
        let what = dice.roll(24);
        match what {
            0 => {
                let sum = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
                seen.shared.push(sum.to_bits());
            }
            1 => {
                let cells = GridBox::new([dice.roll(rows) as i64, 3], [rows as i64, 9]);
                let values: Vec<f64> = (0..cells.cells()).map(|n| value([n], step)).collect();
                u.write_box(cells, &values).unwrap();
            }
            2 => u = u.clone(),
            3 => {
                source.fill(|at| value(at, step)).unwrap();
                v.copy_from(&u).unwrap();
            }
            4 => {
                // One region alone.
                let number = dice.roll(regions);
                let cells = u.region_box(number).unwrap();
                let tiles: Vec<_> = match acc.ranks() {
                    1 => u.tiles().skip(number).take(1).collect(),
                    _ => u.tiles().within(cells.lo, cells.hi).collect(),
                };
                for tile in tiles {
                    compute(&tile, (&mut u, &source), kernel!(|u, s, at| u[at] = s[at] * 0.5)).unwrap();
                }
            }
            5 => {
                let last = dice.roll(rows - 1) as i64;
                for tile in u.tiles().within([0, 0], [last + 1, 70]) {
                    compute(&tile, &mut u, kernel!(|u, at| u[at] = 0.5 * u[at] + 1.0)).unwrap();
                }
            }
            6 => {
                for tile in u.tiles().tile_size([3, 70]) {
                    compute(&tile, (&mut u, &source), kernel!(|u, s, at| u[at] = s[at] + at[0] as f64)).unwrap();
                }
            }
            7 => {
                u.fill_ghosts().unwrap();
                sweep_along(0, Forward, u.tiles(), &mut u, kernel!(|u, at| u[at] = 0.5 * u[at] + 0.3 * u[at - [2, 0]]))
                    .unwrap();
            }
            8 => {
                u.fill_ghosts().unwrap();
                sweep_colour(
                    Colour::red_black(step % 2),
                    u.tiles(),
                    &mut u,
                    kernel!(|u, at| u[at] = 0.25 * (u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]])),
                )
                .unwrap();
            }
            9 => {
                let region = dice.roll(regions);
                let grown = u.grown_box(region).unwrap();
                let values: Vec<f64> = (0..grown.cells()).map(|n| value([n], step)).collect();
                u.write_grown_box(region, grown, &values).unwrap();
            }
            10 if sides == Boundary::Open => {
                u.fill_ghosts().unwrap();
                fill_ghosts_with((1, Side::Low), &mut u, kernel!(|u, at| u[at] = 0.5 * u[at + [0, 1]])).unwrap();
                let mut next = u.like().unwrap();
                for tile in next.tiles() {
                    compute(&tile, (&mut next, &u), kernel!(|n, u, at| n[at] = u[at - [1, 1]] + u[at + [2, 0]]))
                        .unwrap();
                }
                u = next;
            }
            11 => {
                // It computes with the coordinate.
                u.fill_ghosts().unwrap();
                for tile in v.tiles() {
                    compute(
                        &tile,
                        (&mut v, &u),
                        kernel!(|v, u, at| v[at] = 0.3 * (u[at - [1, 0]] + u[at + [1, 0]]) + 0.01 * at[0] as f64),
                    )
                    .unwrap();
                }
                std::mem::swap(&mut u, &mut v);
            }
            12 => {
                u.fill_ghosts().unwrap();
                for tile in v.tiles() {
                    compute(&tile, (&mut v, &u, &source), kernel!(|v, u, s, at| v[at] = u[at + [2, 1]] - 0.2 * s[at]))
                        .unwrap();
                }
                std::mem::swap(&mut u, &mut v);
            }
            _ => {
                u.fill_ghosts().unwrap();
                v.tiles().for_each(|tile| spread(&tile, &mut v, &u));
                std::mem::swap(&mut u, &mut v);
            }
        }
    }
    u.fill_ghosts().unwrap();
    for u in [&u, &v] {
        seen.shared.extend(bits(&u.read_box(u.domain()).unwrap()));
    }
    for region in u.tiles().map(|tile| tile.region()) {
        let grown = u.grown_box(region).unwrap();
        seen.regions.push((region, bits(&u.read_grown_box(region, grown).unwrap())));
    }
    seen
}

/// So many steps of heat in three axes, with a source.
///
/// # Panics
/// If a step fails.
pub fn heat(acc: &TileAcc, overlap: usize, (steps, periodic): (usize, bool)) -> TileArray<f64, 3> {
    let ends = if periodic { Boundary::Periodic } else { Boundary::ReflectEven };
    let shape = [48, 16, 64];
    let regions = if overlap == 0 { [12, 1, 1] } else { [4, 1, 1] };
    let builder = TileArray::<f64, 3>::builder(shape).regions(regions).ghost(1).boundary(ends).overlap(overlap);
    let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
    let mut source = TileArray::<f64, 3>::builder(shape).regions(regions).overlap(overlap).build(acc).unwrap();
    u.fill(|at| value(at, 4)).unwrap();
    source.fill(|at| value(at, 5)).unwrap();
    for _ in 0..steps {
        u.fill_ghosts().unwrap();
        for tile in next.tiles() {
            compute(
                &tile,
                (&mut next, &u, &source),
                kernel!(|next, u, s, at| {
                    let around = u[at - [1, 0, 0]] + u[at + [1, 0, 0]] + u[at - [0, 1, 0]] + u[at + [0, 1, 0]];
                    let around = around + u[at - [0, 0, 1]] + u[at + [0, 0, 1]];
                    next[at] = u[at] + 0.1 * (around - 6.0 * u[at]) + 0.001 * s[at];
                }),
            )
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    acc.sync().unwrap();
    u
}
