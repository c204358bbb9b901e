//! Recorded work gives the bits of program order, for any cut, tile size, thread count and look-ahead.
#![cfg(feature = "ndarray")]

use proptest::prelude::*;
use tida::prelude::*;
use tida::{Sum, reduce, reduce_later};

fn acc(threads: usize, look_ahead: usize) -> TileAcc {
    TileAcc::builder().threads(threads).look_ahead(look_ahead).build().unwrap()
}

/// One step of a random program over four arrays.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// `a[to] = blend of neighbours of a[from]`.
    Blur {
        to: usize,
        from: usize,
    },
    /// `a[to] += a[from]` at the cell.
    Add {
        to: usize,
        from: usize,
    },
    /// In place.
    Scale {
        to: usize,
    },
    /// Only some cells of some rows, a partial write.
    Part {
        to: usize,
        from: usize,
    },
    /// Two kernels in one tile loop; the second reads what the first wrote.
    Two {
        to: usize,
        via: usize,
        from: usize,
    },
    /// Copies all.
    Copy {
        to: usize,
        from: usize,
    },
    /// Scales by a deferred sum.
    Deferred {
        to: usize,
        from: usize,
    },
    Swap {
        a: usize,
        b: usize,
    },
}

fn two_of(n: usize) -> impl Strategy<Value = (usize, usize)> {
    (0..n, 1..n).prop_map(move |(a, d)| (a, (a + d) % n))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        two_of(4).prop_map(|(to, from)| Step::Blur { to, from }),
        two_of(4).prop_map(|(to, from)| Step::Add { to, from }),
        (0..4usize).prop_map(|to| Step::Scale { to }),
        two_of(4).prop_map(|(to, from)| Step::Part { to, from }),
        (two_of(4), 1..3usize).prop_map(|((to, via), d)| {
            let from = (0..4).filter(|x| *x != to && *x != via).nth(d - 1).unwrap();
            Step::Two { to, via, from }
        }),
        two_of(4).prop_map(|(to, from)| Step::Copy { to, from }),
        two_of(4).prop_map(|(to, from)| Step::Deferred { to, from }),
        two_of(4).prop_map(|(a, b)| Step::Swap { a, b }),
    ]
}

type Plain = Vec<Vec<f64>>;

/// The program in plain loops, periodic, in program order. The sum is taken from tida, whose order has its own test.
fn plain(steps: &[Step], arrays: &mut [Plain], sums: &mut impl Iterator<Item = f64>) {
    let (n, m) = (arrays[0].len(), arrays[0][0].len());
    let blur = |u: &Plain, j: usize, i: usize| {
        let (up, down) = (u[(j + n - 1) % n][i], u[(j + 1) % n][i]);
        let (left, right) = (u[j][(i + m - 1) % m], u[j][(i + 1) % m]);
        0.5 * u[j][i] + 0.125 * (up + down + left + right)
    };
    for step in steps {
        let old = arrays.to_vec();
        let each = |a: &mut Plain, f: &dyn Fn(usize, usize, f64) -> f64| {
            for (j, row) in a.iter_mut().enumerate() {
                for (i, x) in row.iter_mut().enumerate() {
                    *x = f(j, i, *x);
                }
            }
        };
        match *step {
            Step::Blur { to, from } => each(&mut arrays[to], &|j, i, _| blur(&old[from], j, i)),
            Step::Add { to, from } => each(&mut arrays[to], &|j, i, x| 0.5 * x + 0.5 * old[from][j][i]),
            Step::Scale { to } => each(&mut arrays[to], &|_, i, x| 0.75 * x + 0.25 * i as f64),
            Step::Part { to, from } => each(&mut arrays[to], &|j, i, x| {
                if (i + j) % 3 == 0 { old[from][j][i] } else { x }
            }),
            Step::Two { to, via, from } => {
                each(&mut arrays[via], &|j, i, _| blur(&old[from], j, i));
                let mid = arrays[via].clone();
                each(&mut arrays[to], &|j, i, x| 0.5 * x + 0.5 * mid[j][i]);
            }
            Step::Copy { to, from } => arrays[to] = old[from].clone(),
            Step::Deferred { to, from } => {
                let s = sums.next().unwrap();
                each(&mut arrays[to], &|j, i, x| 0.5 * x + 0.5 * old[from][j][i] / (1.0 + s * s));
            }
            Step::Swap { a, b } => arrays.swap(a, b),
        }
    }
}

fn pair(arrays: &mut [TileArray<f64, 2>], to: usize, from: usize) -> (&mut TileArray<f64, 2>, &TileArray<f64, 2>) {
    let [a, b] = arrays.get_disjoint_mut([to, from]).unwrap();
    (a, b)
}

fn run(
    steps: &[Step],
    start: &[Plain],
    regions: [usize; 2],
    tile: [usize; 2],
    acc: &TileAcc,
) -> tida::Result<(Vec<ndarray::Array2<f64>>, Vec<f64>)> {
    let shape = [start[0].len(), start[0][0].len()];
    let mut arrays = Vec::new();
    for s in start {
        let mut a =
            TileArray::<f64, 2>::builder(shape).regions(regions).ghost(1).boundary(Boundary::Periodic).build(acc)?;
        a.fill(|[j, i]| s[j][i])?;
        arrays.push(a);
    }
    let mut sums = Vec::new();
    for step in steps {
        let tiles = TileIter::new(&arrays[0]).tile_size(tile);
        match *step {
            Step::Blur { to, from } => {
                arrays[from].fill_ghosts()?;
                let (to, from) = pair(&mut arrays, to, from);
                for tile in tiles {
                    compute(
                        &tile,
                        (&mut *to, from),
                        kernel!(|to, u, at| {
                            let cross = u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]];
                            to[at] = 0.5 * u[at] + 0.125 * cross;
                        }),
                    )?;
                }
            }
            Step::Add { to, from } => {
                let (to, from) = pair(&mut arrays, to, from);
                for tile in tiles {
                    compute(&tile, (&mut *to, from), kernel!(|to, u, at| to[at] = 0.5 * to[at] + 0.5 * u[at]))?;
                }
            }
            Step::Scale { to } => {
                for tile in tiles {
                    compute(&tile, &mut arrays[to], kernel!(|u, at| u[at] = 0.75 * u[at] + 0.25 * at[1] as f64))?;
                }
            }
            Step::Part { to, from } => {
                let (to, from) = pair(&mut arrays, to, from);
                for tile in tiles {
                    compute(
                        &tile,
                        (&mut *to, from),
                        kernel!(|to, u, at| {
                            if (at[0] + at[1]) % 3 == 0 {
                                to[at] = u[at];
                            }
                        }),
                    )?;
                }
            }
            Step::Two { to, via, from } => {
                arrays[from].fill_ghosts()?;
                let [to, via, from] = arrays.get_disjoint_mut([to, via, from]).unwrap();
                for tile in tiles {
                    compute(
                        &tile,
                        (&mut *via, &*from),
                        kernel!(|via, u, at| {
                            let cross = u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]];
                            via[at] = 0.5 * u[at] + 0.125 * cross;
                        }),
                    )?;
                    compute(&tile, (&mut *to, &*via), kernel!(|to, u, at| to[at] = 0.5 * to[at] + 0.5 * u[at]))?;
                }
            }
            Step::Copy { to, from } => {
                let (to, from) = pair(&mut arrays, to, from);
                to.copy_from(from)?;
            }
            Step::Deferred { to, from } => {
                let (to, from) = pair(&mut arrays, to, from);
                let s = reduce_later(from, Sum, kernel!(|u, at| u[at]))?;
                for tile in tiles {
                    compute(
                        &tile,
                        (&mut *to, from),
                        kernel!(|to, u, at| to[at] = 0.5 * to[at] + 0.5 * u[at] / (1.0 + s * s)),
                    )?;
                }
                sums.push(s);
            }
            Step::Swap { a, b } => arrays.swap(a, b),
        }
    }
    let sums = sums.iter().map(|s| s.get()).collect::<Result<_, _>>()?;
    Ok((arrays.iter().map(|a| a.to_ndarray()).collect::<Result<_, _>>()?, sums))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn random_programs_give_program_order(
        steps in prop::collection::vec(step(), 1..24),
        seed in any::<u32>(),
        regions in [1usize..4, 1usize..3],
        tile in [1usize..7, 1usize..140],
        threads in 1usize..4,
        look_ahead in prop_oneof![Just(1usize), 2usize..6, Just(256)],
    ) {
        let mut start: Vec<Plain> = (0..4u32).map(|a| (0..9u32).map(|j| (0..130u32).map(|i| {
            let x = seed ^ (a * 7919 + j * 104_729 + i * 1_299_709).wrapping_mul(2_654_435_761);
            (x % 1000) as f64 * 1e-3
        }).collect()).collect()).collect();
        let acc = acc(threads, look_ahead);
        let (got, sums) = run(&steps, &start, regions, tile, &acc).unwrap();
        plain(&steps, &mut start, &mut sums.into_iter());
        for (got, want) in got.iter().zip(&start) {
            for ((j, i), x) in got.indexed_iter() {
                prop_assert_eq!(x.to_bits(), want[j][i].to_bits(), "cell {} {}: {} for {}", j, i, x, want[j][i]);
            }
        }
    }
}

#[test]
fn the_same_tile_twice_runs_twice() {
    let acc = acc(2, 256);
    let mut u = TileArray::<i64, 1>::builder([256]).build(&acc).unwrap();
    for tile in TileIter::new(&u).tile_size([32]) {
        for _ in 0..5 {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = u[at] * 2 + 1)).unwrap();
        }
    }
    assert!(u.to_ndarray().unwrap().iter().all(|v| *v == 31));
}

#[test]
fn work_starts_when_the_recorder_pauses() {
    let acc = acc(1, 256);
    let mut u = TileArray::<f64, 1>::builder([64]).build(&acc).unwrap();
    let later = reduce_later(&u, Sum, kernel!(|u, at| u[at] + 1.0)).unwrap();
    for tile in TileIter::new(&u) {
        compute(&tile, &mut u, kernel!(|u, at| u[at] = 1.0)).unwrap();
    }
    let after = reduce_later(&u, Sum, kernel!(|u, at| u[at])).unwrap();
    // A device's kernels are compiled meanwhile.
    for _ in 0..60_000 {
        if after.try_get().is_some() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!((later.try_get(), after.try_get()), (Some(64.0), Some(64.0)));
}

#[test]
fn dropping_arrays_and_accelerator_leaves_nothing_behind() {
    let acc = acc(2, 256);
    let u = TileArray::<f64, 2>::builder([64, 64]).build(&acc).unwrap();
    let mut next = u.like().unwrap();
    for tile in TileIter::new(&u).tile_size([8, 64]) {
        compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at] + 1.0)).unwrap();
    }
    let total = reduce_later(&next, Sum, kernel!(|u, at| u[at])).unwrap();
    drop((u, next, acc));
    assert_eq!(total.get().unwrap(), 4096.0);
}

#[test]
fn several_threads_record_on_one_accelerator() {
    let acc = acc(2, 8);
    std::thread::scope(|scope| {
        for t in 0..4 {
            let acc = &acc;
            scope.spawn(move || {
                let mut u = TileArray::<f64, 1>::builder([1024]).regions([4]).build(acc).unwrap();
                for _ in 0..50 {
                    for tile in TileIter::new(&u) {
                        compute(&tile, &mut u, kernel!(|u, at| u[at] += t as f64)).unwrap();
                    }
                }
                assert_eq!(reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap(), 51200.0 * t as f64);
            });
        }
    });
}

#[test]
fn host_closures_may_read_other_arrays() {
    // Threads of the pool wait for work that the pool has to do: with one thread there is none to spare.
    for threads in [1, 2] {
        let acc = acc(threads, 256);
        let mut u = TileArray::<f64, 1>::builder([256]).build(&acc).unwrap();
        let mut v = u.like().unwrap();
        for tile in TileIter::new(&u).tile_size([16]) {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = at[0] as f64)).unwrap();
        }
        v.fill(|[i]| u.read_box(GridBox::new([i as i64], [i as i64 + 1])).unwrap()[0] * 2.0).unwrap();
        assert!(v.to_ndarray().unwrap().indexed_iter().all(|(i, x)| *x == 2.0 * i as f64));
    }
}

#[test]
fn a_failed_tile_leaves_other_regions_intact() {
    let acc = acc(2, 256);
    let mut u = TileArray::<i64, 1>::builder([256]).regions([4]).build(&acc).unwrap();
    let mut next = u.like().unwrap();
    u.fill(|[i]| i as i64 - 100).unwrap();
    // One sweep is one piece of work: a failure poisons all that the sweep wrote, and nothing else.
    for tile in TileIter::new(&u).within([0], [64]) {
        compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = 1000 / u[at])).unwrap();
    }
    acc.sync().unwrap();
    for tile in TileIter::new(&u).within([64], [128]) {
        compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = 1000 / u[at])).unwrap();
    }
    assert_eq!(next.read_box(GridBox::new([64], [128])).unwrap_err().kind(), ErrorKind::Division);
    assert_eq!(next.to_ndarray().unwrap_err().kind(), ErrorKind::Division);
    let low = next.read_box(GridBox::new([0], [64])).unwrap();
    assert!(low.iter().enumerate().all(|(i, v)| *v == 1000 / (i as i64 - 100)));
    assert_eq!(next.read_box(GridBox::new([128], [256])).unwrap(), vec![0; 128]);
}

/// Once wrong: the first kernel of a tile loop took a tile while the second was open, and what the second reads was
/// forgotten, so that the next loop overwrote it.
#[test]
fn a_sweep_that_grows_late_forgets_nothing() {
    let steps = [Step::Two { to: 3, via: 2, from: 1 }, Step::Scale { to: 1 }, Step::Two { to: 0, via: 2, from: 1 }];
    let cell = |a: usize, j: usize, i: usize| ((a * 7919 + j * 1047 + i * 1299) % 1000) as f64 * 1e-3;
    let start: Vec<Plain> =
        (0..4).map(|a| (0..9).map(|j| (0..130).map(|i| cell(a, j, i)).collect()).collect()).collect();
    let mut want = start.clone();
    plain(&steps, &mut want, &mut std::iter::empty());
    for round in 0..200 {
        let acc = acc(1 + round % 2, [5, 3, 256][round % 3]);
        let (got, _) = run(&steps, &start, [3, 1], [4, 72], &acc).unwrap();
        for (got, want) in got.iter().zip(&want) {
            assert!(got.indexed_iter().all(|((j, i), x)| x.to_bits() == want[j][i].to_bits()), "round {round}");
        }
    }
}
