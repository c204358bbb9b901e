//! What cuts an array for ranks, and what goes over parts of it: groups, active blocks, other resolutions, boxes that
//! are read later. On ranks that are threads of one process, with the bits of one place.

use tida::prelude::*;
use tida_tests::on_cpu;
use tida_tests::ranks::on_ranks;
use tida_tests::several::{Dice, bits};

/// Programs of each test: `TIDA_RANKS_PROGRAMS` says more.
fn seeds() -> impl Iterator<Item = (u64, usize)> {
    let programs = std::env::var("TIDA_RANKS_PROGRAMS").ok().and_then(|count| count.parse().ok());
    (0..programs.unwrap_or(10)).map(|seed| (seed, [1, 2, 3, 5, 8][seed as usize % 5]))
}

/// Runs on one place, and on so many ranks in three ways: all give the same.
fn same<R: Send + PartialEq>((seed, ranks): (u64, usize), run: impl Fn(&TileAcc, Dice) -> R + Sync) {
    let dice = || Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
    let expected = run(&on_cpu(), dice());
    for kind in ["cpu:1", "sim:1", "sim:2"] {
        let found = on_ranks(ranks, seed, |of| of.devices([kind]), |acc| run(acc, dice()));
        for (rank, found) in found.iter().enumerate() {
            assert!(*found == expected, "seed {seed}, rank {rank} of {ranks} of {kind}: other bits");
        }
    }
}

fn first<const D: usize>(at: [usize; D]) -> f64 {
    (at.iter().fold(3, |n: usize, x| n.wrapping_mul(1009).wrapping_add(x + 7)) % 100_003) as f64 / 256.0
}

/// No part of an array is cut inside a group, however few planes there are for the ranks.
#[test]
fn groups_run_on_any_number_of_ranks() {
    for of in seeds() {
        same(of, |acc, mut dice| {
            let cells = [1 + dice.roll(120), 1 + dice.roll(150)];
            let mut u = TileArray::<f64, 2>::builder(cells).cut_at_multiples([16, 16]).build(acc).unwrap();
            u.fill(first).unwrap();
            let mut sums = u.like().unwrap();
            let mut line = TileArray::<f64, 1>::builder([1 + dice.roll(3000)]).cut_at_multiples([256]);
            line = line.regions([1]);
            let mut v = line.build(acc).unwrap();
            v.fill(first).unwrap();
            let mut turned = v.like().unwrap();
            for tile in u.tiles() {
                compute_groups(
                    &tile,
                    [16, 16],
                    (&mut sums, &u),
                    group_kernel!(|sums, u, group| {
                        let of_row = group.shared::<f64>([16, 16]);
                        let sum = group.private(0.0);
                        group.each(|t| of_row[t] = u[t.at()]);
                        group.each(|t| {
                            for k in 0..16 {
                                sum += of_row[[k, t[1]]];
                            }
                        });
                        group.each(|t| sums[t.at()] = sum);
                    }),
                )
                .unwrap();
            }
            for tile in v.tiles() {
                compute_groups(
                    &tile,
                    [256],
                    (&mut turned, &v),
                    group_kernel!(|turned, v, group| {
                        let all = group.shared::<f64>([256]);
                        group.each(|t| all[t] = v[t.at()]);
                        group.each(|t| turned[t.at()] = all[[255 - t[0]]]);
                    }),
                )
                .unwrap();
            }
            let of = |array: &TileArray<f64, 2>| bits(&array.read_box(array.domain()).unwrap());
            (of(&sums), bits(&turned.read_box(turned.domain()).unwrap()))
        });
    }
}

/// Without a word, parts of long arrays end between groups too; those of short ones are an error that says what to do.
#[test]
fn long_arrays_are_cut_between_groups() {
    on_ranks(
        3,
        31,
        |of| of.device(Device::Cpu),
        |acc| {
            let run = |cells: usize| {
                let mut u = TileArray::<f64, 2>::builder([cells, 64]).build(acc).unwrap();
                let mut tiles = u.tiles();
                tiles.try_for_each(|tile| {
                    compute_groups(
                        &tile,
                        [16, 16],
                        &mut u,
                        group_kernel!(|u, group| group.each(|t| u[t.at()] = t[0] as f64)),
                    )
                })
            };
            run(1540).unwrap();
            let error = run(100).unwrap_err();
            assert!(error.advice().contains(".cut_at_multiples([16, 16])"), "{error}");
            let builder = TileArray::<f64, 2>::builder([100, 64]).cut_at_multiples([16, 1]);
            let error = builder.clone().distribute([40, 60]).build(acc).unwrap_err();
            assert!(error.advice().contains("a multiple of 16"), "{error}");
            let error = builder.regions([8, 1]).build(acc).unwrap_err();
            assert!(error.advice().contains("every 16 cells"), "{error}");
            let none = TileArray::<f64, 2>::builder([100, 64]).cut_at_multiples([0, 1]).build(acc);
            assert_eq!(none.unwrap_err().kind(), ErrorKind::Shape);
        },
    );
}

/// Each rank has the blocks of its own regions, and all know how many there are.
#[test]
fn active_blocks_are_those_of_one_place() {
    for of in seeds() {
        same(of, |acc, mut dice| {
            let cells = [4 + dice.roll(60), 1 + dice.roll(140)];
            let regions = [1 + dice.roll(4.min(cells[0])), 1];
            let builder =
                || TileArray::<f64, 2>::builder(cells).regions(regions).ghost(1).boundary(Boundary::Fixed(0.5));
            let mut solid = builder().build(acc).unwrap();
            let (modulus, size) = (2 + dice.roll(9), [1 + dice.roll(7), 1 + dice.roll(40)]);
            // On some ranks nothing is open.
            let open = dice.roll(cells[0]);
            solid.fill(|[j, i]| if j > open && (j * 3 + i / 5) % modulus == 0 { 0.0 } else { 1.0 }).unwrap();
            solid.fill_ghosts().unwrap();
            let blocks = ActiveBlocks::new(&solid, size, |solid| solid == 0.0).unwrap();
            let (mut u, mut next) = (builder().build(acc).unwrap(), builder().build(acc).unwrap());
            u.fill(first).unwrap();
            next.fill(|[j, i]| first([i, j])).unwrap();
            let within = dice.roll(2) == 0;
            for _ in 0..3 {
                u.fill_ghosts().unwrap();
                let mut tiles = u.tiles().active(&blocks);
                if within {
                    tiles = tiles.within([1, 1], [open as i64 + 3, 90]).tile_size([5, 64]);
                }
                for tile in tiles {
                    compute(
                        &tile,
                        (&mut next, &u, &solid),
                        kernel!(|next, u, solid, at| {
                            if solid[at] == 0.0 {
                                let east = if solid[at + [0, 1]] == 1.0 { 0.25 } else { u[at + [0, 1]] };
                                next[at] = 0.25 * (u[at] + east + u[at - [1, 0]] + u[at + [1, 0]]);
                            }
                        }),
                    )
                    .unwrap();
                }
                std::mem::swap(&mut u, &mut next);
            }
            let seen = [&u, &next].map(|of| bits(&of.read_box(of.domain()).unwrap()));
            let sum = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
            (seen, blocks.is_empty(), sum.to_bits())
        });
    }
}

#[test]
fn all_ranks_count_the_blocks_of_all() {
    let counts = on_ranks(
        3,
        32,
        |of| of.device(Device::Cpu),
        |acc| {
            let mut mask = TileArray::<bool, 2>::builder([12, 64]).build(acc).unwrap();
            mask.fill(|[j, i]| j >= 4 && i < 20).unwrap();
            let blocks = ActiveBlocks::new(&mask, [2, 16], |open| open).unwrap();
            assert!(!blocks.is_empty());
            let here: usize = mask.tiles().active(&blocks).map(|tile| tile.cells().cells()).sum();
            // A read that fails on one rank fails on all.
            let mut failing = TileArray::<i32, 2>::builder([12, 64]).build(acc).unwrap();
            for tile in failing.tiles() {
                compute(&tile, &mut failing, kernel!(|u, at| u[at] = 12 / (at[0] as i32 - 5))).unwrap();
            }
            let error = ActiveBlocks::new(&failing, [2, 16], |n| n > 0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Division);
            (blocks.len(), blocks.cells(), here)
        },
    );
    assert_eq!(counts, [(8, 256, 0), (8, 256, 128), (8, 256, 128)]);
}

/// Blocks are counted from the low corners of regions, of which ranks may have more than one process. Where these begin
/// at multiples of a block, the number of ranks is no matter.
#[test]
fn blocks_at_multiples_are_counted_alike_on_any_ranks() {
    let count = |acc: &TileAcc, at_multiples: bool| {
        let builder = TileArray::<bool, 2>::builder([42, 64]);
        let builder = if at_multiples { builder.cut_at_multiples([4, 16]) } else { builder };
        let mut mask = builder.build(acc).unwrap();
        mask.fill(|[j, i]| (j * 5 + i / 16) % 7 == 0).unwrap();
        let blocks = ActiveBlocks::new(&mask, [4, 16], |open| open).unwrap();
        (blocks.len(), blocks.cells())
    };
    let alone = count(&on_cpu(), true);
    assert_eq!(alone, count(&on_cpu(), false));
    let on = |ranks: usize, at_multiples: bool| {
        let mut counts = on_ranks(ranks, 33, |of| of.device(Device::Cpu), |acc| count(acc, at_multiples));
        counts.dedup();
        assert_eq!(counts.len(), 1, "{ranks} ranks: {counts:?}");
        counts[0]
    };
    let all = [1, 2, 3, 5, 8];
    assert!(all.iter().all(|ranks| on(*ranks, true) == alone));
    // Without that they are the same on all ranks, and not on any number of them.
    assert!(all.iter().any(|ranks| on(*ranks, false) != alone));
}

/// Grids of half the nodes, each beside the finer one as long as it can be: down by full weighting, up by means.
#[test]
fn grids_lie_beside_one_another_on_ranks() {
    for of in seeds() {
        same(of, |acc, mut dice| {
            let nodes = [9, 17, 33, 65][dice.roll(4)];
            let cut = [1 + dice.roll(3), 1];
            let mut fine_grid = TileArray::<f64, 2>::builder([nodes, 67])
                .regions(cut)
                .ghost(1)
                .boundary(Boundary::Fixed(0.0))
                .build(acc)
                .unwrap();
            fine_grid.fill(first).unwrap();
            let mut seen = Vec::new();
            for _ in 0..3 {
                let shape = [fine_grid.shape()[0] / 2 + 1, 67];
                let builder = TileArray::<f64, 2>::builder(shape).ghost(1).boundary(Boundary::Fixed(0.0));
                let beside = builder.clone().cut_beside(&fine_grid).build(acc);
                let (mut grid, mut from) = match beside {
                    Ok(grid) => (grid, None),
                    Err(error) => {
                        assert!([ErrorKind::Cuts, ErrorKind::Ghost].contains(&error.kind()), "{error}");
                        let grid = builder.build(acc).unwrap();
                        let between = TileArray::<f64, 2>::builder(fine_grid.shape()).cut_beside(&grid).ghost(1);
                        let mut between = between.boundary(Boundary::Fixed(0.0)).build(acc).unwrap();
                        between.copy_from(&fine_grid).unwrap();
                        (grid, Some(between))
                    }
                };
                let from = from.as_mut().unwrap_or(&mut fine_grid);
                from.fill_ghosts().unwrap();
                for tile in grid.tiles() {
                    compute(
                        &tile,
                        (&mut grid, fine(&*from)),
                        kernel!(|c, f, at| {
                            let row = 2 * at[0];
                            c[at] = 0.25 * (f[[row - 1, at[1]]] + f[[row + 1, at[1]]]) + 0.5 * f[[row, at[1]]];
                        }),
                    )
                    .unwrap();
                }
                grid.fill_ghosts().unwrap();
                for tile in from.tiles() {
                    compute(
                        &tile,
                        (&mut *from, coarse(&grid)),
                        kernel!(|f, c, at| {
                            f[at] = 0.5 * f[at] + 0.25 * (c[[at[0] / 2, at[1]]] + c[[(at[0] + 1) / 2, at[1]]]);
                        }),
                    )
                    .unwrap();
                }
                seen.push(bits(&from.read_box(from.domain()).unwrap()));
                fine_grid = grid;
            }
            seen
        });
    }
}

#[test]
fn grids_that_cannot_lie_beside_one_another_are_refused() {
    let acc = TileAcc::builder().devices(["cpu:3"]).build().unwrap();
    let build = |cells: [usize; 2], other: &TileArray<f64, 2>| {
        TileArray::<u8, 2>::builder(cells)
            .cut_beside(other)
            .build(&acc)
            .map(|made| (0..made.regions()).map(|n| made.region_box(n).unwrap().hi).collect::<Vec<_>>())
    };
    let array = |builder: tida::array::TileArrayBuilder<f64, 2>| builder.build(&acc).unwrap();
    let u = array(TileArray::builder([33, 64]).distribute([7, 13, 13]));
    assert_eq!(build([17, 64], &u).unwrap(), [[4, 64], [10, 64], [17, 64]]);
    assert_eq!(build([33, 32], &u).unwrap(), [[7, 32], [20, 32], [33, 32]]);
    assert_eq!(build([65, 128], &u).unwrap(), [[14, 128], [40, 128], [65, 128]]);
    let found = |cells: [usize; 2], other: &TileArray<f64, 2>| {
        let error = build(cells, other).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cuts);
        error.found().to_owned()
    };
    assert!(found([100, 64], &u).contains("100 cells on axis 0, beside an array of 33"));
    let thin = array(TileArray::builder([6, 64]).distribute([1, 1, 4]));
    assert!(found([3, 64], &thin).contains("a region without cells on axis 0"));
    let cut = array(TileArray::builder([6, 256]).regions([1, 4]));
    assert!(found([6, 128], &cut).contains("a cut at 32 on axis 1, which is cut at multiples of 64"));
    let both = TileArray::<u8, 2>::builder([17, 64]).cut_beside(&u).distribute([8, 9]).build(&acc);
    assert_eq!(both.unwrap_err().kind(), ErrorKind::Argument);
}

/// Boxes that are read later come to all ranks, as they were when they were recorded.
#[test]
fn boxes_of_several_ranks_are_read_later() {
    for of in seeds() {
        same(of, |acc, mut dice| {
            let cells = [1 + dice.roll(40), 1 + dice.roll(100)];
            let mut u = TileArray::<[f64; 2], 2>::builder(cells).build(acc).unwrap();
            u.fill(|at| [first(at), at[0] as f64]).unwrap();
            let mut later = Vec::new();
            for _ in 0..6 {
                let (a, b) = (cells.map(|n| dice.roll(n + 1) as i64), cells.map(|n| dice.roll(n + 1) as i64));
                let cells = GridBox::new([a[0].min(b[0]), a[1].min(b[1])], [a[0].max(b[0]), a[1].max(b[1])]);
                later.push(u.read_box_later(cells).unwrap());
                for tile in u.tiles() {
                    compute(&tile, &mut u, kernel!(|u, at| u[at] = [u[at][0] * 0.5 + u[at][1], u[at][1] + 1.0]))
                        .unwrap();
                }
                // The first rank alone waits.
                if acc.rank() == 0 && dice.clone().roll(2) == 0 {
                    later[0].get().unwrap();
                }
            }
            later
                .iter()
                .map(|later| later.get().unwrap().iter().flatten().map(|x| x.to_bits()).collect())
                .collect::<Vec<Vec<u64>>>()
        });
    }
}

#[test]
fn a_box_that_cannot_be_read_is_an_error_of_all_ranks() {
    let errors = on_ranks(
        3,
        33,
        |of| of.device(Device::Cpu),
        |acc| {
            let mut u = TileArray::<i32, 2>::builder([12, 64]).build(acc).unwrap();
            for tile in u.tiles() {
                compute(&tile, &mut u, kernel!(|u, at| u[at] = 12 / (at[0] as i32 - 5))).unwrap();
            }
            let [all, first] = [12, 4].map(|rows| u.read_box_later(GridBox::new([0, 0], [rows, 64])).unwrap());
            assert_eq!(first.get().unwrap()[..64], [-2; 64]);
            all.get().map(drop).unwrap_err()
        },
    );
    for (rank, error) in errors.iter().enumerate() {
        assert_eq!(error.kind(), ErrorKind::Division, "{error}");
        assert_eq!(error.found().contains("on rank 1"), rank != 1, "{error}");
    }
}
