//! Reads from tiles in shared memory: the same bits, whatever is cached how, and errors of hints that cannot be.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one.
#![cfg(feature = "ndarray")]

use tida::prelude::*;

use tida_tests::{on_a_device, on_cpu, value};

/// How the arguments of a kernel are cached, and the threads of its blocks.
type Hints<'a, const D: usize> = (&'a [(usize, Cache)], Option<[usize; D]>);

fn tiles<T: Element, const D: usize>(array: &TileArray<T, D>, (cached, block): Hints<'_, D>) -> TileIter<D> {
    let mut tiles = TileIter::new(array);
    for (argument, how) in cached {
        tiles = tiles.cache(*argument, *how);
    }
    match block {
        Some(threads) => tiles.thread_block(threads),
        None => tiles,
    }
}

fn random(n: usize, seed: u64) -> f32 {
    value(seed, [n, 0, 0]) as f32 - 1.0
}

fn gemm(acc: &TileAcc, n: usize, cuts: usize, hints: Hints<'_, 2>) -> Vec<u32> {
    let array = |cuts: usize| TileArray::<f32, 2>::builder([n, n]).regions([cuts, 1]).build(acc).unwrap();
    let (mut a, mut b, mut c) = (array(cuts), array(1), array(2));
    a.fill(|[j, i]| random(j * n + i, 0)).unwrap();
    b.fill(|[j, i]| random(j * n + i, 1)).unwrap();
    let length = n as i64;
    for tile in tiles(&c, hints) {
        compute(
            &tile,
            (&mut c, all(&a), all(&b)),
            kernel!(|c, a, b, at| {
                let [row, column] = at;
                let mut sum = 0.0;
                for k in 0..length {
                    sum += a[[row, k]] * b[[k, column]];
                }
                c[at] = sum;
            }),
        )
        .unwrap();
    }
    c.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Body {
    x: f32,
    y: f32,
    z: f32,
    mass: f32,
}

fn nbody(acc: &TileAcc, n: usize, hints: Hints<'_, 1>) -> Vec<u32> {
    let mut bodies = TileArray::<Body, 1>::builder([n]).build(acc).unwrap();
    let place = |i: usize, axis| random(3 * i + axis, 2);
    bodies.fill(|[i]| Body { x: place(i, 0), y: place(i, 1), z: place(i, 2), mass: 0.5 + place(i, 0) }).unwrap();
    let mut pull = TileArray::<[f32; 3], 1>::builder([n]).regions([2]).build(acc).unwrap();
    let count = n as i64;
    for tile in tiles(&pull, hints) {
        compute(
            &tile,
            (&mut pull, all(&bodies)),
            kernel!(|pull, bodies, at| {
                let own = bodies[at];
                let (mut x, mut y, mut z) = (0.0, 0.0, 0.0);
                for j in 0..count {
                    let other = bodies[[j]];
                    let (dx, dy, dz) = (other.x - own.x, other.y - own.y, other.z - own.z);
                    let square = dx * dx + dy * dy + dz * dz + 0.01;
                    let strength = other.mass / (square * square.sqrt());
                    x += strength * dx;
                    y += strength * dy;
                    z += strength * dz;
                }
                pull[at] = [x, y, z];
            }),
        )
        .unwrap();
    }
    pull.to_ndarray().unwrap().iter().flatten().map(|x| x.to_bits()).collect()
}

/// A step of heat, and one that reads further along a row by what another array holds.
fn heat(acc: &TileAcc, hints: Hints<'_, 3>) -> Vec<u64> {
    let shape = [9, 21, 37];
    let build = || TileArray::<f64, 3>::builder(shape).regions([2, 1, 1]).ghost(2).boundary(Boundary::Periodic);
    let (mut u, mut next) = (build().build(acc).unwrap(), build().build(acc).unwrap());
    let mut by = TileArray::<i32, 3>::builder(shape).regions([2, 1, 1]).ghost(2).build(acc).unwrap();
    u.fill(|at| value(3, at)).unwrap();
    by.fill(|at| (value(4, at) * 5.0) as i32 - 5).unwrap();
    for _ in 0..2 {
        u.fill_ghosts().unwrap();
        for tile in tiles(&u, hints) {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| {
                    let c = u[at];
                    let near = u[at + [1, 0, 0]] + u[at - [1, 0, 0]] + u[at + [0, 1, 0]] + u[at - [0, 2, 0]];
                    next[at] = c + 0.1 * (near + u[at + [0, 0, 1]] + u[at - [0, 0, 1]] - 6.0 * c);
                }),
            )
            .unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    u.fill_ghosts().unwrap();
    for tile in tiles(&u, hints) {
        compute(
            &tile,
            (&mut next, &u, &by),
            kernel!(|next, u, by, at| {
                let [k, j, i] = at;
                next[at] = u[at] + u[[k, j, i + by[at] as i64 % 3]];
            }),
        )
        .unwrap();
    }
    next.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect()
}

/// `y = A x + y`: each cell goes along a row.
fn rows(acc: &TileAcc, [rows, columns]: [usize; 2], hints: Hints<'_, 1>) -> Vec<u32> {
    let mut a = TileArray::<f32, 2>::builder([rows, columns]).ghost(1).build(acc).unwrap();
    let vector = |n: usize| TileArray::<f32, 1>::builder([n]).build(acc).unwrap();
    let (mut x, mut y) = (vector(columns), vector(rows));
    a.fill(|[j, i]| random(j * columns + i, 5)).unwrap();
    x.fill(|[i]| random(i, 6)).unwrap();
    y.fill(|[i]| random(i, 7)).unwrap();
    let length = columns as i64;
    for tile in tiles(&y, hints) {
        compute(
            &tile,
            (&mut y, all(&a), all(&x)),
            kernel!(|y, a, x, at| {
                let [row] = at;
                let mut sum = y[at];
                for k in 0..length {
                    sum += a[[row, k]] * x[[k]];
                }
                y[at] = sum;
            }),
        )
        .unwrap();
    }
    y.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect()
}

#[test]
fn cached_kernels_give_the_same_bits() {
    let Some(device) = on_a_device(TileAcc::builder()) else { return };
    let cpu = on_cpu();
    let n = 45;
    let sums = rows(&cpu, [150, 201], (&[], None));
    assert!(rows(&device, [150, 201], (&[], None)) == sums);
    let (product, pulls, cells) =
        (gemm(&cpu, n, 1, (&[], None)), nbody(&cpu, 300, (&[], None)), heat(&cpu, (&[], None)));
    for how in [Cache::None, Cache::Tile, Cache::CheckedTile, Cache::TaggedLines, Cache::Preload, Cache::Tma] {
        let both = [(1, how), (2, how)];
        assert!(gemm(&device, n, 1, (&both, None)) == product, "{how:?}");
        assert!(gemm(&device, n, 3, (&both[..1], Some([8, 16]))) == product, "{how:?} of one, 3 regions");
        assert!(nbody(&device, 300, (&both[..1], Some([48]))) == pulls, "{how:?}");
        if matches!(how, Cache::Preload | Cache::Tma) {
            assert!(rows(&device, [150, 201], (&both, None)) == sums, "{how:?}");
        }
        assert!(heat(&device, (&both[..1], Some([2, 4, 16]))) == cells, "{how:?}");
        // The CPU has no tiles.
        assert!(gemm(&cpu, n, 1, (&both, None)) == product);
    }
    assert!(gemm(&device, n, 1, (&[], None)) == product);
    assert!(nbody(&device, 300, (&[], None)) == pulls);
    // Boxes that are whole, that end in a block, and that do not fill their places in shared memory; planes of a
    // struct.
    if device.device() == Device::Cuda {
        let both = [(1, Cache::Tma), (2, Cache::Tma)];
        for (n, block) in [(64, [16, 32]), (75, [4, 16]), (33, [3, 7])] {
            assert!(gemm(&device, n, 1, (&both, Some(block))) == gemm(&cpu, n, 1, (&[], None)), "{n}, {block:?}");
        }
        assert!(nbody(&device, 300, (&both[..1], Some([64]))) == pulls);
    }
    // Blocks that tida chooses.
    assert!(nbody(&device, 300, (&[(1, Cache::Tile)], None)) == pulls);
    assert!(heat(&device, (&[(1, Cache::Tile)], None)) == cells);
    assert!(gemm(&device, n, 3, (&[(1, Cache::Tile), (2, Cache::Tile)], Some([8, 16]))) == product);
}

/// Blocks of cells in the registers of a thread, as `TIDA_PLAN` asks for them, over boxes that end within one.
#[test]
fn several_cells_of_a_thread_have_the_same_bits() {
    let cpu = on_cpu();
    let (product, pulls) = (gemm(&cpu, 45, 1, (&[], None)), nbody(&cpu, 300, (&[], None)));
    for plan in ["cells=2x4,block=4x8,strip=8", "cells=3x2,block=4x16,no-ahead", "cells=4", "no-cells"] {
        let Some(device) = on_a_device(TileAcc::builder().plan(plan, None)) else { return };
        for how in [Cache::Tile, Cache::Preload, Cache::Tma] {
            let both = [(1, how), (2, how)];
            assert!(gemm(&device, 45, 1, (&both, None)) == product, "{how:?}, {plan}");
            assert!(gemm(&device, 45, 3, (&both, None)) == product, "{how:?} of 3 regions, {plan}");
            assert!(nbody(&device, 300, (&both[..1], Some([32]))) == pulls, "{how:?}, {plan}");
        }
        assert!(gemm(&device, 45, 1, (&[], None)) == product, "{plan}");
    }
    // By itself a GPU takes them where there are blocks enough.
    let Some(device) = on_a_device(TileAcc::builder()) else { return };
    if device.device() == Device::Cuda {
        assert!(gemm(&device, 1030, 1, (&[], None)) == gemm(&cpu, 1030, 1, (&[], None)));
    }
}

#[test]
fn explain_says_how_many_cells_a_thread_has() {
    let acc = on_cpu();
    let text = |n: usize| {
        let build = || TileArray::<f64, 2>::builder([n, n]).build(&acc).unwrap();
        let (a, b, mut c) = (build(), build(), build());
        let length = n as i64;
        let product = tida::explain(
            (&mut c, all(&a), all(&b)),
            kernel!(|c, a, b, at| {
                let [row, column] = at;
                let mut sum = 0.0;
                for k in 0..length {
                    sum += a[[row, k]] * b[[k, column]];
                }
                c[at] = sum;
            }),
        );
        product.unwrap().to_string()
    };
    let large = text(1024);
    for words in [
        "mapping: blocks of 16 x 16 x 1 threads",
        "march: none\n",
        "cells: 4 x 4 a thread, 64 x 64 a block: a value of a tile is read once for several",
        "cache: `a`: 64 x 16 cells, 16384 bytes, for 16 iterations of `k` (Preload)",
        "cache: `b`: 16 x 64 cells, 16384 bytes, for 16 iterations of `k` (Preload)",
    ] {
        assert!(large.contains(words), "{words}\n{large}");
    }
    let small = text(96);
    assert!(small.contains("cells: one a thread: rows and columns are not shared, there would be too few"), "{small}");
}

#[test]
fn explain_says_what_is_cached() {
    // Without a device it shows what a GPU would get.
    let acc = on_cpu();
    let n = 256;
    let build = || TileArray::<f32, 2>::builder([n, n]).ghost(1).build(&acc).unwrap();
    let (a, b, mut c) = (build(), build(), build());
    let length = n as i64;
    let product = tida::explain(
        (&mut c, all(&a), all(&b)),
        kernel!(|c, a, b, at| {
            let [row, column] = at;
            let mut sum = 0.0;
            for k in 0..length {
                sum += a[[row, k]] * b[[k, column]];
            }
            c[at] = sum;
        }),
    );
    let text = product.unwrap().to_string();
    // Two strips of each.
    for words in ["`a`: 16 x 32 cells, 4096 bytes", "`b`: 32 x 32 cells, 8192 bytes"] {
        assert!(text.contains(&format!("cache: {words}, for 32 iterations of `k` (Preload)")), "{text}");
    }
    let column = || TileArray::<f32, 1>::builder([n]).build(&acc).unwrap();
    let (mut y, x) = (column(), column());
    let sums = tida::explain(
        (&mut y, all(&a), all(&x)),
        kernel!(|y, a, x, at| {
            let [row] = at;
            let mut sum = 0.0;
            for k in 0..length {
                sum += a[[row, k]] * x[[k]];
            }
            y[at] = sum;
        }),
    );
    let text = sums.unwrap().to_string();
    for words in [
        "cache: `a`: 64 x 64 cells, 34816 bytes, for 64 iterations of `k` (Preload), fetched along the rows that threads",
        "cache: `x`: 64 cells, 512 bytes, for 64 iterations of `k` (Preload)\n",
    ] {
        assert!(text.contains(words), "{text}");
    }
    let stencil = tida::explain((&mut c, &a), kernel!(|c, a, at| c[at] = a[at + [0, 1]] + a[at - [0, 1]]));
    let text = stencil.unwrap().to_string();
    assert!(text.contains("cache: `a`: no: reads around the cell are left to the device's own caches"), "{text}");
    let gather = tida::explain(
        (&mut c, &b, all(&a)),
        kernel!(|c, b, a, at| {
            let [j, _] = at;
            c[at] = a[[j, b[at] as i64]];
        }),
    );
    let text = gather.unwrap().to_string();
    assert!(text.contains("cache: `a`: no: some read is checked as it happens"), "{text}");
}

#[test]
fn explain_tile_shows_what_the_loop_asked_for() {
    let Some(acc) = on_a_device(TileAcc::builder()) else { return };
    let a = TileArray::<f32, 2>::builder([64, 64]).ghost(1).build(&acc).unwrap();
    let mut c = a.like().unwrap();
    let mut explained = |tiles: TileIter<2>| {
        let tile = tiles.tile_size([32, 64]).next().unwrap();
        tida::explain_tile(&tile, (&mut c, &a), kernel!(|c, a, at| c[at] = a[at + [0, 1]] + a[at - [0, 1]]))
    };
    let asked = TileIter::new(&a).thread_block([4, 16]).cache(1, Cache::Tile);
    let text = explained(asked).unwrap().to_string();
    assert!(text.contains("blocks of 16 x 4 x 1 threads"), "{text}");
    assert!(text.contains("cache: `a`: 4 x 18 cells, 288 bytes, for the cells of a block (Tile)"), "{text}");
    let text = explained(TileIter::new(&a).march(8)).unwrap().to_string();
    assert!(text.contains("march: 8 cells along axis 0 a thread"), "{text}");
    let error = explained(TileIter::new(&a).cache(7, Cache::Tile)).unwrap_err().to_string();
    assert!(error.contains("tried to cache argument 7"), "{error}");
    let error = explained(TileIter::new(&a).thread_block([0, 8])).unwrap_err().to_string();
    assert!(error.contains("found blocks of [0, 8] threads"), "{error}");
}

/// What a GPU would get: boxes of the array with one region, copies by threads of the one with two.
#[test]
fn explain_says_what_comes_by_tensor_maps() {
    let acc = on_cpu();
    let n = 128;
    let build = |cuts: usize| TileArray::<f32, 2>::builder([n, n]).regions([cuts, 1]).build(&acc).unwrap();
    let (a, b, mut c) = (build(2), build(1), build(1));
    let length = n as i64;
    let tile = TileIter::new(&c).cache(1, Cache::Tma).cache(2, Cache::Tma).next().unwrap();
    let product = tida::explain_tile(
        &tile,
        (&mut c, all(&a), all(&b)),
        kernel!(|c, a, b, at| {
            let [row, column] = at;
            let mut sum = 0.0;
            for k in 0..length {
                sum += a[[row, k]] * b[[k, column]];
            }
            c[at] = sum;
        }),
    );
    let text = product.unwrap().to_string();
    for words in [
        "cache: `a`: 16 x 32 cells, 4096 bytes, for 32 iterations of `k` (Preload)\n",
        "cache: `b`: 32 x 32 cells, 8320 bytes, for 32 iterations of `k` (Tma, by tensor maps)\n",
        "tida_map_box_2(&b_tile[(1 - k_half) * 1024], &b_map, ",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    // The planes of a struct are an axis of its map.
    let bodies = TileArray::<Body, 1>::builder([n]).build(&acc).unwrap();
    let mut masses = TileArray::<f32, 1>::builder([n]).build(&acc).unwrap();
    let tile = TileIter::new(&masses).cache(1, Cache::Tma).next().unwrap();
    let sums = tida::explain_tile(
        &tile,
        (&mut masses, all(&bodies)),
        kernel!(|masses, bodies, at| {
            let mut sum = 0.0;
            for j in 0..length {
                sum += bodies[[j]].mass;
            }
            masses[at] = sum;
        }),
    );
    let text = sums.unwrap().to_string();
    let words = "tida_map_box_2(&bodies_tile_mass[0], &bodies_map, (i32)(j_tile - bodies_origin0), 3, &j_filled[0]);";
    assert!(text.contains(words), "{text}");
}

#[test]
fn hints_that_cannot_be_are_errors() {
    let Some(acc) = on_a_device(TileAcc::builder()) else { return };
    let build = || TileArray::<f64, 2>::builder([64, 64]).ghost(1).build(&acc).unwrap();
    let (u, mut next) = (build(), build());
    let mut run = |tiles: TileIter<2>| {
        let mut result = Ok(());
        for tile in tiles {
            result = result.and(compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| next[at] = u[at + [0, 1]] - u[at - [1, 0]]),
            ));
        }
        result.map_err(|error| error.to_string())
    };
    let error = run(TileIter::new(&u).cache(2, Cache::Tile)).unwrap_err();
    assert!(
        error.contains("tried to cache argument 2 of the kernel") && error.contains("a kernel of 2 arguments"),
        "{error}"
    );
    let error = run(TileIter::new(&u).cache(99, Cache::Tile)).unwrap_err();
    assert!(error.contains("tried to cache argument 99 of the kernel"), "{error}");
    let error = run(TileIter::new(&u).cache(0, Cache::CheckedTile)).unwrap_err();
    assert!(error.contains("found that `next` is written"), "{error}");
    assert_eq!(run(TileIter::new(&u).cache(0, Cache::None).cache(1, Cache::Tile)), Ok(()));
}

#[test]
fn tiles_that_do_not_fit_are_an_error() {
    // A simulated device has the shared memory of a CUDA device, 48 KiB a block.
    let acc = TileAcc::builder().threads(1).simulate(tida::SimDevice::new()).build().unwrap();
    let build = || TileArray::<f64, 2>::builder([128, 128]).ghost(40).build(&acc).unwrap();
    let (u, mut next) = (build(), build());
    let mut run = |block: [usize; 2]| {
        let mut result = Ok(());
        for tile in TileIter::new(&u).cache(1, Cache::Tile).thread_block(block) {
            result = result.and(compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| next[at] = u[at + [40, 0]] - u[at - [40, 40]]),
            ));
        }
        result.map_err(|error| error.to_string())
    };
    let error = run([32, 32]).unwrap_err();
    assert!(error.contains("tiles of 64512 bytes for blocks of 32 x 32 x 1 threads"), "{error}");
    assert!(error.contains("49152 bytes of shared memory"), "{error}");
    assert_eq!(run([1, 2]), Ok(()));
}
