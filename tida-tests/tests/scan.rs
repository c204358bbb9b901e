//! Sums of all cells up to each one: the bits of plain loops in the same order, wherever they run and however arrays
//! are cut.

use tida::SimDevice;
use tida::prelude::*;
use tida_tests::several::accelerators;
use tida_tests::{everywhere, expect, on_a_device, unhurried, value, with_limit};

/// The order that `scan` promises.
fn plain<T: Number>(line: &[T]) -> Vec<T> {
    let mut sums = line.to_vec();
    for block in sums.chunks_mut(64) {
        for by in [1, 2, 4, 8, 16, 32] {
            let before = block.to_vec();
            (by..block.len()).for_each(|n| block[n] = before[n - by] + before[n]);
        }
    }
    if line.len() > 64 {
        let blocks: Vec<T> = sums.chunks_exact(64).map(|block| block[63]).collect();
        for (block, before) in sums.chunks_mut(64).skip(1).zip(plain(&blocks)) {
            block.iter_mut().for_each(|sum| *sum = before + *sum);
        }
    }
    sums
}

/// Of each row; `Exclusive` moves them by one.
fn rows<T: Number>(values: &[T], length: usize, kind: Scan) -> Vec<T> {
    let row = |row: &[T]| {
        let mut sums = plain(row);
        if kind == Scan::Exclusive {
            sums.insert(0, T::default());
            sums.pop();
        }
        sums
    };
    values.chunks(length).flat_map(row).collect()
}

fn both<A: tida::Summable>(to: &mut A, of: &A, mut check: impl FnMut(&A, Scan)) {
    for kind in [Scan::Inclusive, Scan::Exclusive] {
        scan(Sum, kind, to, of).unwrap();
        check(to, kind);
    }
}

#[test]
fn lines_have_the_bits_of_plain_loops() {
    for acc in everywhere() {
        let lines = [
            (1, 1),
            (64, 1),
            (65, 1),
            (200, 2),
            (4096, 3),
            (4097, 1),
            (5000, 7),
            (30_000, 1),
            (266_241, 2),
            (300_001, 1),
        ];
        for (n, regions) in lines {
            let values: Vec<f64> = (0..n).map(|i| value(3, [0, 0, i]) - 0.4).collect();
            let builder = TileArray::<f64, 1>::builder([n]).regions([regions]).ghost(1);
            let mut u = builder.build(&acc).unwrap();
            u.fill(|[i]| values[i]).unwrap();
            let mut sums = u.like().unwrap();
            both(&mut sums, &u, |sums, kind| {
                let found = sums.read_box(sums.domain()).unwrap();
                let wanted = rows(&values, n, kind);
                let same = found.iter().zip(&wanted).all(|(a, b)| a.to_bits() == b.to_bits() || *b == 0.0 && *a == 0.0);
                assert!(same, "{n} in {regions}, {kind:?}, on {:?}", acc.device());
            });
        }
    }
}

#[test]
fn rows_of_two_and_three_axes() {
    for acc in everywhere() {
        let values: Vec<i32> = (0..6 * 300).map(|n| (value(5, [0, 0, n]) * 1e9) as i32).collect();
        for regions in [[1, 1], [3, 2], [2, 4]] {
            let mut u = TileArray::<i32, 2>::builder([6, 300]).regions(regions).build(&acc).unwrap();
            u.fill(|[j, i]| values[j * 300 + i]).unwrap();
            let mut sums = u.like().unwrap();
            let plain = |kind| {
                let wide: Vec<i64> = values.iter().map(|x| i64::from(*x)).collect();
                rows(&wide, 300, kind).into_iter().map(|x| x as i32).collect::<Vec<_>>()
            };
            both(&mut sums, &u, |sums, kind| assert_eq!(sums.read_box(sums.domain()).unwrap(), plain(kind)));
        }
        let values: Vec<f32> = (0..3 * 4 * 130).map(|n| value(6, [0, 0, n]) as f32).collect();
        let mut u = TileArray::<f32, 3>::builder([4, 3, 130]).regions([2, 1, 2]).ghost(2).build(&acc).unwrap();
        u.fill(|[k, j, i]| values[(k * 3 + j) * 130 + i]).unwrap();
        let mut sums = u.like().unwrap();
        both(&mut sums, &u, |sums, kind| {
            assert_eq!(sums.read_box(sums.domain()).unwrap(), rows(&values, 130, kind));
        });
    }
}

/// Lines of one axis, of which places have parts, and rows, which places have whole.
#[test]
fn on_several_places() {
    for places in [2, 3] {
        for (name, acc) in accelerators(places, 3) {
            for n in [130, 5000, 20_001] {
                let values: Vec<f64> = (0..n).map(|i| value(3, [0, 0, i]) - 0.4).collect();
                let mut u = TileArray::<f64, 1>::builder([n]).build(&acc).unwrap();
                u.fill(|[i]| values[i]).unwrap();
                let mut sums = u.like().unwrap();
                both(&mut sums, &u, |sums, kind| {
                    let found = sums.read_box(sums.domain()).unwrap();
                    assert!(found == rows(&values, n, kind), "{n} on {places} of {name}, {kind:?}");
                });
            }
            let values: Vec<f32> = (0..7 * 5000).map(|n| value(6, [0, 0, n]) as f32).collect();
            let mut u = TileArray::<f32, 2>::builder([7, 5000]).build(&acc).unwrap();
            u.fill(|[j, i]| values[j * 5000 + i]).unwrap();
            let mut sums = u.like().unwrap();
            both(&mut sums, &u, |sums, kind| {
                let found = sums.read_box(sums.domain()).unwrap();
                assert!(found == rows(&values, 5000, kind), "rows on {places} of {name}, {kind:?}");
            });
        }
    }
}

/// Lines that are not cut are one piece of work, of which a second one moves nothing, however long they are.
#[test]
fn one_piece_of_work() {
    let sim = unhurried().simulate(SimDevice::new()).build().unwrap();
    for acc in [sim].into_iter().chain(on_a_device(unhurried())) {
        for n in [1000, 64 * 64 * 64 * 3] {
            let mut u = TileArray::<f32, 1>::builder([n]).build(&acc).unwrap();
            u.fill_value(1.0).unwrap();
            let mut sums = u.like().unwrap();
            let mut before = acc.stats();
            for turn in 0..3 {
                scan(Sum, Scan::Inclusive, &mut sums, &u).unwrap();
                acc.sync().unwrap();
                let now = acc.stats();
                if turn > 0 {
                    let moved = [now.h2d_bytes - before.h2d_bytes, now.d2h_bytes - before.d2h_bytes];
                    assert_eq!((now.launches - before.launches, moved, now.compiled - before.compiled), (1, [0; 2], 0));
                }
                before = now;
            }
            assert_eq!(sums.read_box(sums.domain()).unwrap()[n - 1], n as f32);
        }
    }
}

/// Rows of arrays that have no room on a device go by regions.
#[test]
fn out_of_core() {
    const CELLS: [usize; 2] = [32, 3000];
    let limit = (CELLS[0] * CELLS[1] * 8 / 2) as u64;
    let sim = TileAcc::builder().threads(1).simulate(SimDevice::new()).memory_limit(limit).build().unwrap();
    for acc in [sim].into_iter().chain(with_limit(limit, 64)) {
        let values: Vec<f64> = (0..CELLS[0] * CELLS[1]).map(|n| value(8, [0, 0, n]) - 0.9).collect();
        let mut u = TileArray::<f64, 2>::builder(CELLS).regions([8, 1]).build(&acc).unwrap();
        u.fill(|[j, i]| values[j * CELLS[1] + i]).unwrap();
        let mut sums = u.like().unwrap();
        both(&mut sums, &u, |sums, kind| {
            assert!(sums.read_box(sums.domain()).unwrap() == rows(&values, CELLS[1], kind), "{kind:?}");
        });
    }
}

/// Work before and after waits for it, as for any other.
#[test]
fn among_other_work() {
    for acc in everywhere() {
        let mut u = TileArray::<f32, 1>::builder([1000]).regions([3]).build(&acc).unwrap();
        u.fill_value(1.0).unwrap();
        let mut sums = u.like().unwrap();
        let mut values = vec![1.0f32; 1000];
        for _ in 0..3 {
            for tile in u.tiles() {
                compute(&tile, &mut u, kernel!(|u, at| u[at] *= 1.25)).unwrap();
            }
            scan(Sum, Scan::Inclusive, &mut sums, &u).unwrap();
            for tile in u.tiles() {
                compute(&tile, (&mut u, &sums), kernel!(|u, sums, at| u[at] = 0.001 * sums[at])).unwrap();
            }
            let scaled: Vec<f32> = values.iter().map(|x| x * 1.25).collect();
            values = plain(&scaled).into_iter().map(|x| 0.001 * x).collect();
        }
        assert_eq!(u.read_box(u.domain()).unwrap(), values);
    }
}

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

/// Scans, sums from lists, sweeps with an order and over colours, one after the other as they are drawn.
#[test]
fn random_programs() {
    for seed in 0..12 {
        for acc in everywhere() {
            let mut dice = Dice(seed);
            let shape = [2 + dice.below(9), 3 + dice.below(300)];
            let regions = [1 + dice.below(shape[0].min(3)), 1 + dice.below(3)];
            let builder = TileArray::<f64, 2>::builder(shape).regions_at_most(regions, [1, 1]).ghost(1);
            let (mut u, mut v) = (builder.build(&acc).unwrap(), builder.build(&acc).unwrap());
            let wide = shape[1];
            let mut plain_u: Vec<f64> = (0..shape[0] * wide).map(|n| value(seed, [0, 0, n]) - 1.0).collect();
            let mut plain_v = vec![0.0; plain_u.len()];
            u.fill(|[j, i]| plain_u[j * wide + i]).unwrap();
            v.fill_value(0.0).unwrap();
            for step in 0..10 {
                match dice.below(5) {
                    0 => {
                        let kind = [Scan::Inclusive, Scan::Exclusive][dice.below(2)];
                        scan(Sum, kind, &mut v, &u).unwrap();
                        plain_v = rows(&plain_u, wide, kind);
                    }
                    1 => {
                        let entries = 1 + dice.below(400);
                        let cells: Vec<[i64; 2]> = (0..entries).map(|_| shape.map(|n| dice.below(n) as i64)).collect();
                        let given: Vec<f64> = (0..entries).map(|n| value(seed, [step, 1, n])).collect();
                        let lists = CellLists::new(&u, cells.iter().copied()).unwrap();
                        let values = TileArray::<f64, 1>::builder([entries]).build_slice(&acc, &given).unwrap();
                        accumulate(u.tiles(), &mut u, &lists, &values).unwrap();
                        cells.iter().zip(given).for_each(|([j, i], x)| plain_u[*j as usize * wide + *i as usize] += x);
                    }
                    2 => {
                        // Ghosts of open faces stay 0.
                        sweep_along(
                            1,
                            Forward,
                            u.tiles(),
                            (&mut u, &v),
                            kernel!(|u, v, at| u[at] = 0.5 * u[at] + 0.25 * u[at - [0, 1]] + 1e-3 * v[at]),
                        )
                        .unwrap();
                        for n in 0..plain_u.len() {
                            let before = if n % wide > 0 { plain_u[n - 1] } else { 0.0 };
                            plain_u[n] = 0.5 * plain_u[n] + 0.25 * before + 1e-3 * plain_v[n];
                        }
                    }
                    3 => {
                        sweep_along(
                            0,
                            Backward,
                            v.tiles(),
                            (&mut v, &u),
                            kernel!(|v, u, at| v[at] = 0.25 * v[at] - 0.5 * v[at + [1, 0]] + u[at]),
                        )
                        .unwrap();
                        for n in (0..plain_v.len()).rev() {
                            let before = plain_v.get(n + wide).copied().unwrap_or(0.0);
                            plain_v[n] = 0.25 * plain_v[n] - 0.5 * before + plain_u[n];
                        }
                    }
                    _ => {
                        let colour = dice.below(2);
                        u.fill_ghosts().unwrap();
                        sweep_colour(
                            Colour::red_black(colour),
                            u.tiles().within([0, 1], [shape[0] as i64, wide as i64 - 1]),
                            &mut u,
                            kernel!(|u, at| u[at] = 0.5 * u[at] + 0.25 * (u[at - [0, 1]] + u[at + [0, 1]])),
                        )
                        .unwrap();
                        let before = plain_u.clone();
                        for n in (0..plain_u.len()).filter(|n| (1..wide - 1).contains(&(n % wide))) {
                            if (n / wide + n % wide) % 2 == colour {
                                plain_u[n] = 0.5 * before[n] + 0.25 * (before[n - 1] + before[n + 1]);
                            }
                        }
                    }
                }
            }
            let what = format!("seed {seed}: {shape:?} in {regions:?} on {:?}", acc.device());
            assert_eq!(u.read_box(u.domain()).unwrap(), plain_u, "{what}");
            assert_eq!(v.read_box(v.domain()).unwrap(), plain_v, "{what}");
        }
    }
}

#[test]
fn refused() {
    let acc = tida_tests::on_cpu();
    let [a, mut b] = [100, 101].map(|n| TileArray::<f64, 1>::builder([n]).build(&acc).unwrap());
    expect(scan(Sum, Scan::Inclusive, &mut b, &a), ErrorKind::Argument, &["[101]", "[100]", "one shape"]);
    // The sums of blocks are read as a whole.
    let sim = TileAcc::builder().threads(1).simulate(SimDevice::new()).memory_limit(60_000).build().unwrap();
    let mut u = TileArray::<f64, 1>::builder([16_384]).regions([16]).build(&sim).unwrap();
    u.fill_value(1.0).unwrap();
    let mut sums = u.like().unwrap();
    match scan(Sum, Scan::Inclusive, &mut sums, &u).and_then(|()| sums.read_box(sums.domain())) {
        Ok(found) => assert!((1..=16_384).zip(found).all(|(n, sum)| sum == f64::from(n))),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Memory, "{error}"),
    }
}
