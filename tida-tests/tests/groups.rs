//! Kernels over groups: the bits of plain loops on the CPU and on a device, and what is refused.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one.
#![cfg(feature = "ndarray")]

use proptest::prelude::*;
use tida::prelude::*;

use tida_tests::{expect, on_a_device, on_cpu, value};

/// The CPU, and a device if there is one.
fn accelerators() -> Vec<TileAcc> {
    [Some(on_cpu()), on_a_device(TileAcc::builder())].into_iter().flatten().collect()
}

fn line(acc: &TileAcc, n: usize, regions: usize, ghost: usize) -> TileArray<f64, 1> {
    let mut u = TileArray::builder([n]).region_size([n.div_ceil(regions).next_multiple_of(64)]).ghost(ghost);
    u = u.boundary(Boundary::Periodic);
    let mut u = u.build(acc).unwrap();
    u.fill(|[i]| value(7, [0, 0, i])).unwrap();
    u.fill_ghosts().unwrap();
    u
}

fn bits(u: &TileArray<f64, 1>) -> Vec<u64> {
    u.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect()
}

/// The Walsh-Hadamard transform of each 64 cells (dyadic, Lashgar §6.4), ordered as the thesis does.
fn dyadic(acc: &TileAcc, n: usize, regions: usize) -> Vec<u64> {
    let a = line(acc, n, regions, 0);
    let mut b = a.like().unwrap();
    for tile in TileIter::new(&a) {
        compute_groups(
            &tile,
            [64],
            (&mut b, &a),
            group_kernel!(|b, a, group| {
                let s = group.fetch(a, [0], [0]);
                let x = group.private(0.0);
                let mut h = 1;
                while h < 64 {
                    group.each(|t| {
                        let low = t[0] & h == 0;
                        let other = s[t + [if low { h } else { -h }]];
                        x = if low { s[t] + other } else { other - s[t] };
                    });
                    group.each(|t| {
                        s[t] = x;
                    });
                    h *= 2;
                }
                group.each(|t| b[t.at()] = s[t]);
            }),
        )
        .unwrap();
    }
    bits(&b)
}

/// Regions that the device has no room for at once come and go; groups stay whole.
#[test]
fn groups_of_arrays_that_do_not_fit() {
    let wanted = plain_dyadic((0..512).map(|i| value(7, [0, 0, i])).collect());
    let sim = TileAcc::builder().device(Device::Sim).memory_limit(5000).build().unwrap();
    for acc in [Some(sim), tida_tests::with_limit(5000, 4)].into_iter().flatten() {
        assert_eq!(dyadic(&acc, 512, 8), wanted, "{:?}", acc.device());
    }
}

fn plain_dyadic(mut x: Vec<f64>) -> Vec<u64> {
    for group in x.chunks_mut(64) {
        let mut h = 1;
        while h < 64 {
            for i in (0..64).filter(|i| i & h == 0) {
                (group[i], group[i + h]) = (group[i] + group[i + h], group[i] - group[i + h]);
            }
            h *= 2;
        }
    }
    x.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn transforms_of_groups_are_those_of_plain_loops() {
    let wanted = plain_dyadic((0..512).map(|i| value(7, [0, 0, i])).collect());
    for acc in accelerators() {
        for regions in [1, 3] {
            assert_eq!(dyadic(&acc, 512, regions), wanted, "{regions} regions on {:?}", acc.device());
        }
    }
}

/// Sums of 128 cells as a tree, at the first cell of each (Lashgar §6.4); the last group is smaller.
#[test]
fn a_tree_sums_groups() {
    let n = 300;
    let x = |i: usize| (value(3, [0, 0, i]) * 1000.0) as i32;
    let wanted: Vec<i32> = (0..n).map(|i| if i % 128 == 0 { (i..n.min(i + 128)).map(x).sum() } else { -1 }).collect();
    for acc in accelerators() {
        let mut a = TileArray::<i32, 1>::builder([n]).build(&acc).unwrap();
        a.fill(|[i]| x(i)).unwrap();
        let mut b = a.like().unwrap();
        b.fill_value(-1).unwrap();
        for tile in TileIter::new(&a) {
            compute_groups(
                &tile,
                [128],
                (&mut b, &a),
                group_kernel!(|b, a, group| {
                    let c = group.shared::<i32>([128]);
                    let sum = group.private(0);
                    group.each(|t| {
                        c[t] = a[t.at()];
                        sum = c[t];
                    });
                    for level in 0..7 {
                        let half = 64 >> level;
                        // Slots that no cell has written are zeros.
                        group.each(|t| {
                            if t[0] < half {
                                sum += c[t + [half]];
                            }
                        });
                        group.each(|t| {
                            if t[0] < half {
                                c[t] = sum;
                            }
                        });
                    }
                    group.each(|t| {
                        if t[0] == 0 {
                            b[t.at()] = c[t];
                        }
                    });
                }),
            )
            .unwrap();
        }
        assert_eq!(b.to_ndarray().unwrap().into_raw_vec_and_offset().0, wanted, "{:?}", acc.device());
    }
}

#[derive(Clone, Debug)]
struct Plane {
    shape: [usize; 2],
    rows: usize,
    tile: [usize; 2],
    seed: u64,
}

fn plane() -> impl Strategy<Value = Plane> {
    (1usize..40, 1usize..70, 1usize..4, 1usize..4, 1usize..4, any::<u64>()).prop_map(|(h, w, rows, j, i, seed)| Plane {
        shape: [h, w],
        rows: rows * 8,
        tile: [j * 8, i * 16],
        seed,
    })
}

/// Two steps of a stencil in one launch: the ghost zone of a group is computed by the group itself (Lashgar §6.3).
fn two_steps(acc: &TileAcc, case: &Plane) -> Vec<u64> {
    let [h, w] = case.shape.map(|n| n as i64);
    let u = TileArray::<f64, 2>::builder(case.shape).region_size([case.rows.max(2), case.shape[1]]).ghost(2);
    // A region is no thinner than its ghosts.
    let u = if case.shape[0] % case.rows == 1 || case.shape.iter().any(|n| *n < 2) {
        TileArray::<f64, 2>::builder(case.shape.map(|n| n.max(2))).ghost(2)
    } else {
        u
    };
    let mut u = u.boundary(Boundary::Fixed(0.5)).build(acc).unwrap();
    u.fill(|[j, i]| value(case.seed, [0, j, i])).unwrap();
    u.fill_ghosts().unwrap();
    let [h, w] = if u.shape() == case.shape { [h, w] } else { u.shape().map(|n| n as i64) };
    let mut next = u.like().unwrap();
    let k = 0.1;
    for tile in TileIter::new(&u).tile_size(case.tile) {
        compute_groups(
            &tile,
            [8, 16],
            (&mut next, &u),
            group_kernel!(|next, u, group| {
                let s = group.fetch(u, [2, 2], [2, 2]);
                let c = group.channel::<f64>([1, 1], [1, 1]);
                group.each_around([1, 1], [1, 1], |t| {
                    let [j, i] = t.at();
                    let inside = j >= 0 && j < h && i >= 0 && i < w;
                    let around = s[t - [1, 0]] + s[t + [1, 0]] + s[t - [0, 1]] + s[t + [0, 1]];
                    c[t] = if inside { s[t] + k * (around - 4.0 * s[t]) } else { s[t] };
                });
                group.each(|t| {
                    let around = c[t - [1, 0]] + c[t + [1, 0]] + c[t - [0, 1]] + c[t + [0, 1]];
                    next[t.at()] = c[t] + k * (around - 4.0 * c[t]);
                });
            }),
        )
        .unwrap();
    }
    next.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect()
}

fn plain_steps(case: &Plane) -> Vec<u64> {
    let small = case.shape.iter().any(|n| *n < 2);
    let [h, w] = if small { case.shape.map(|n| n.max(2)) } else { case.shape }.map(|n| n as i64);
    let mut u: Vec<f64> = (0..h * w).map(|p| value(case.seed, [0, (p / w) as usize, (p % w) as usize])).collect();
    for _ in 0..2 {
        let at = |j: i64, i: i64| if j < 0 || j >= h || i < 0 || i >= w { 0.5 } else { u[(j * w + i) as usize] };
        let cell = |p: i64| {
            let (j, i) = (p / w, p % w);
            let around = at(j - 1, i) + at(j + 1, i) + at(j, i - 1) + at(j, i + 1);
            at(j, i) + 0.1 * (around - 4.0 * at(j, i))
        };
        u = (0..h * w).map(cell).collect();
    }
    u.iter().map(|x| x.to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(10) })]
    #[test]
    fn steps_of_a_group_are_those_of_plain_loops(case in plane()) {
        let wanted = plain_steps(&case);
        for acc in accelerators() {
            prop_assert_eq!(&two_steps(&acc, &case), &wanted, "{:?}", acc.device());
        }
    }
}

/// Rows of slots, one a thread: each thread reads what the thread before it wrote in the turn before, in one phase a
/// turn. In place: the array is fetched and written back. Groups that an array's end cuts, with values that threads
/// keep over phases, in loops and beside the group.
fn cut_groups(acc: &TileAcc, shape: [usize; 2], extent: [usize; 2]) -> Vec<u64> {
    let mut u = TileArray::<f64, 2>::builder(shape).ghost(1).boundary(Boundary::Extrapolate(0)).build(acc).unwrap();
    u.fill(|[j, i]| value(3, [0, j, i])).unwrap();
    u.fill_ghosts().unwrap();
    let mut v = u.like().unwrap();
    let more = 3i64;
    for tile in TileIter::new(&v) {
        compute_groups(
            &tile,
            extent,
            (&mut v, &u),
            group_kernel!(|v, u, g| {
                let a = g.fetch(u, [1, 1], [1, 1]);
                let c = g.channel::<f64>([1, 1], [1, 1]);
                let sums = g.shared::<f64>([8, 64, 3]);
                let x = g.private(0.5);
                g.each_around([1, 1], [1, 1], |t| c[t] = a[t] * 2.0);
                g.each(|t| x += c[t + [1, 0]] - c[t - [0, 1]]);
                for i in 0i64..3 {
                    g.each(|t| {
                        if t[1] % 2 == i % 2 {
                            sums[[t[0], t[1], i]] = x + i as f64;
                        }
                    });
                    g.each(|t| {
                        let n = g.len();
                        x += if t[0] > 0 { sums[[t[0] - 1, t[1], i]] } else { n[1] as f64 };
                    });
                }
                if more > 2 {
                    g.each(|t| x = x * 0.5);
                }
                g.each(|t| a[t] = x);
                g.each(|t| v[t.at()] = a[t]);
            }),
        )
        .unwrap();
    }
    v.to_ndarray().unwrap().iter().map(|x| x.to_bits()).collect()
}

#[test]
fn groups_at_an_end_have_the_same_bits() {
    let all = accelerators();
    for (shape, extent) in [
        ([2, 6], [2, 8]),
        ([5, 6], [2, 8]),
        ([7, 33], [4, 16]),
        ([3, 17], [8, 16]),
        ([9, 64], [8, 64]),
        ([16, 63], [8, 32]),
        ([1, 1], [4, 4]),
        ([13, 50], [4, 32]),
    ] {
        let wanted = cut_groups(&all[0], shape, extent);
        for acc in &all[1..] {
            assert!(cut_groups(acc, shape, extent) == wanted, "{shape:?} in groups of {extent:?} on {acc}");
        }
    }
}

#[test]
fn rows_of_slots_and_arrays_in_place() {
    let wanted: Vec<f64> = (0..100)
        .map(|i: usize| {
            let first = i / 32 * 32;
            // Each of four turns adds what the thread before had.
            let mut row: Vec<f64> = (first..100.min(first + 32)).map(|i| value(1, [0, 0, i])).collect();
            for _ in 0..4 {
                row = (0..row.len()).map(|t| row[t] + if t == 0 { 0.0 } else { row[t - 1] }).collect();
            }
            row[i - first]
        })
        .collect();
    for acc in accelerators() {
        let mut b = TileArray::<f64, 1>::builder([100]).build(&acc).unwrap();
        b.fill(|[i]| value(1, [0, 0, i])).unwrap();
        for tile in TileIter::new(&b) {
            compute_groups(
                &tile,
                [32],
                &mut b,
                group_kernel!(|b, group| {
                    let s = group.fetch(b, [0], [0]);
                    let c = group.shared::<f64>([32, 5]);
                    let [n] = group.len();
                    group.each(|t| c[[t[0], 0]] = s[t]);
                    for turn in 1..5 {
                        group.each(|t| {
                            let before = if t[0] > 0 && t[0] < n { c[[t[0] - 1, turn - 1]] } else { 0.0 };
                            c[[t[0], turn]] = c[[t[0], turn - 1]] + before;
                        });
                    }
                    group.each(|t| s[t] = c[[t[0], 4]]);
                    group.each(|t| b[t.at()] = s[t]);
                }),
            )
            .unwrap();
        }
        assert_eq!(b.read_box(b.domain()).unwrap(), wanted, "{:?}", acc.device());
    }
}

/// Cells of a group below; the last one of a line of 300 is smaller.
const WIDE: i64 = 64;

/// Runs a kernel over groups of a line, tile by tile, and compares with what plain loops say of each cell: they are
/// given the values, periodic, and the cells of the cell's group.
fn same_as_plain(
    run: impl Fn(&Tile<1>, &mut TileArray<f64, 1>, &TileArray<f64, 1>) -> tida::Result<()>,
    plain: impl Fn(&dyn Fn(i64) -> f64, std::ops::Range<i64>, i64) -> f64,
) {
    let n = 300;
    let a = |i: i64| value(7, [0, 0, i.rem_euclid(n) as usize]);
    let wanted: Vec<u64> =
        (0..n).map(|i| plain(&a, i / WIDE * WIDE..n.min((i / WIDE + 1) * WIDE), i).to_bits()).collect();
    for acc in accelerators() {
        for regions in [1, 2] {
            let u = line(&acc, n as usize, regions, 2);
            let mut b = u.like().unwrap();
            b.copy_from(&u).unwrap();
            for tile in TileIter::new(&u) {
                run(&tile, &mut b, &u).unwrap();
            }
            assert_eq!(bits(&b), wanted, "{regions} regions on {:?}", acc.device());
        }
    }
}

/// The pivot `s[t]`, with two cells before and one after (Lashgar §6.2, Table 6.1).
#[test]
fn fetch_only() {
    let run = |tile: &Tile<1>, b: &mut TileArray<f64, 1>, a: &TileArray<f64, 1>| {
        compute_groups(
            tile,
            [64],
            (b, a),
            group_kernel!(|b, a, group| {
                let s = group.fetch(a, [2], [1]);
                group.each(|t| b[t.at()] = s[t - [2]] + 2.0 * s[t] - s[t + [1]]);
            }),
        )
    };
    same_as_plain(run, |a, _, i| a(i - 2) + 2.0 * a(i) - a(i + 1));
}

/// A channel that starts with zeros, with a slot before and two after.
#[test]
fn channel_only() {
    let run = |tile: &Tile<1>, b: &mut TileArray<f64, 1>, a: &TileArray<f64, 1>| {
        compute_groups(
            tile,
            [64],
            (b, a),
            group_kernel!(|b, a, group| {
                let c = group.channel::<f64>([1], [2]);
                group.each_around([1], [1], |t| {
                    let [i] = t.at();
                    c[t] = i as f64 * 0.5;
                });
                group.each(|t| b[t.at()] = a[t.at()] * c[t] + c[t - [1]] - c[t + [2]]);
            }),
        )
    };
    // Nobody writes the slot two after the group's last cell.
    let c = |group: &std::ops::Range<i64>, i: i64| if i > group.end { 0.0 } else { i as f64 * 0.5 };
    same_as_plain(run, |a, group, i| a(i) * c(&group, i) + c(&group, i - 1) - c(&group, i + 2));
}

/// What is fetched is written, and read by others.
#[test]
fn fetch_channel() {
    let run = |tile: &Tile<1>, b: &mut TileArray<f64, 1>, a: &TileArray<f64, 1>| {
        compute_groups(
            tile,
            [64],
            (b, a),
            group_kernel!(|b, a, group| {
                let s = group.fetch(a, [1], [2]);
                group.each(|t| s[t] = 0.25 * s[t]);
                group.each(|t| b[t.at()] = s[t - [1]] - s[t] + s[t + [2]]);
            }),
        )
    };
    // Cells beside the group are as they were fetched.
    same_as_plain(run, |a, group, i| {
        let s = |i| if group.contains(&i) { 0.25 * a(i) } else { a(i) };
        s(i - 1) - s(i) + s(i + 2)
    });
}

/// A channel whose values go back to an array.
#[test]
fn channel_wb() {
    let run = |tile: &Tile<1>, b: &mut TileArray<f64, 1>, a: &TileArray<f64, 1>| {
        compute_groups(
            tile,
            [64],
            (b, a),
            group_kernel!(|b, a, group| {
                let c = group.channel::<f64>([0], [1]);
                let x = group.private(0.0);
                group.each(|t| c[t] = a[t.at()]);
                group.each(|t| x = c[t] - c[t + [1]]);
                group.each(|t| c[t] = x);
                group.each(|t| b[t.at()] = c[t]);
            }),
        )
    };
    same_as_plain(run, |a, group, i| a(i) - if group.contains(&(i + 1)) { a(i + 1) } else { 0.0 });
}

/// An array is fetched, its values are exchanged, and go back to it.
#[test]
fn fetch_channel_wb() {
    let run = |tile: &Tile<1>, b: &mut TileArray<f64, 1>, _: &TileArray<f64, 1>| {
        compute_groups(
            tile,
            [64],
            b,
            group_kernel!(|b, group| {
                let s = group.fetch(b, [0], [0]);
                let x = group.private(0.0);
                for by in 1..3 {
                    group.each(|t| x = if t[0] >= by { s[t] + s[t - [by]] } else { s[t] });
                    group.each(|t| s[t] = x);
                }
                group.each(|t| b[t.at()] = s[t]);
            }),
        )
    };
    same_as_plain(run, |a, group, i| {
        let once = |i: i64| if i > group.start { a(i) + a(i - 1) } else { a(i) };
        if i >= group.start + 2 { once(i) + once(i - 2) } else { once(i) }
    });
}

fn first(u: &TileArray<f64, 1>) -> Tile<1> {
    TileIter::new(u).next().unwrap()
}

#[test]
fn threads_that_would_meet() {
    let acc = on_cpu();
    let a = line(&acc, 128, 1, 1);
    let mut b = a.like().unwrap();
    let result = compute_groups(
        &first(&a),
        [64],
        (&mut b, &a),
        group_kernel!(|b, a, group| {
            let s = group.fetch(a, [1], [1]);
            group.each(|t| s[t] = 0.5 * (s[t - [1]] + s[t]));
            group.each(|t| b[t.at()] = s[t]);
        }),
    );
    expect(result, ErrorKind::Race, &["read of `s` at [t0 - 1]", "writes it at [t0]", "group.private", "groups.rs"]);
    let result = compute_groups(
        &first(&a),
        [64],
        (&mut b, &a),
        group_kernel!(|b, a, group| {
            let c = group.shared::<f64>([64]);
            group.each(|t| c[[63 - t[0]]] = a[t.at()]);
            group.each(|t| b[t.at()] = c[t]);
        }),
    );
    expect(result, ErrorKind::Race, &["write of `c` at [-t0 + 63]", "`c[t]`"]);
    let result = compute_groups(
        &first(&a),
        [64],
        (&mut b, &a),
        group_kernel!(|b, a, group| group.each(|t| b[t.at() + [1]] = a[t.at()])),
    );
    expect(result, ErrorKind::Race, &["write of `b[at + [1]]`"]);
    let result = compute_groups(
        &first(&b),
        [64],
        &mut b,
        group_kernel!(|b, group| {
            let s = group.fetch(b, [1], [0]);
            group.each(|t| b[t.at()] = s[t - [1]]);
        }),
    );
    expect(result, ErrorKind::Race, &["read of `b[at + [-1]]`"]);
    let result = compute_groups(
        &first(&a),
        [64],
        (&mut b, &a),
        group_kernel!(|b, a, group| {
            let c = group.channel::<f64>([1], [1]);
            group.each_around([1], [1], |t| c[t] = a[t.at()]);
            group.each(|t| b[t.at()] = c[t + [1]]);
        }),
    );
    expect(result, ErrorKind::Race, &["`a` in a phase around the group", "fetch it"]);
}

#[test]
fn indexes_outside_a_group() {
    for acc in accelerators() {
        let a = line(&acc, 128, 1, 1);
        let mut b = a.like().unwrap();
        let result = compute_groups(
            &first(&a),
            [64],
            (&mut b, &a),
            group_kernel!(|b, a, group| {
                let s = group.fetch(a, [1], [0]);
                group.each(|t| b[t.at()] = s[t + [1]]);
            }),
        );
        expect(result, ErrorKind::OutOfRange, &["read of `s` at [t0 + 1]", "[1..=64]", "[-1..=63]"]);
        // What only running shows.
        let far = 60;
        let mut h = 1i64;
        while h < far {
            h *= 2;
        }
        compute_groups(
            &first(&a),
            [64],
            (&mut b, &a),
            group_kernel!(|b, a, group| {
                let s = group.fetch(a, [1], [0]);
                group.each(|t| b[t.at()] = s[t + [h]]);
            }),
        )
        .unwrap();
        let error = b.to_ndarray().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange);
        assert!(error.found().contains("read of `s` at ["), "{error}");
        compute_groups(
            &first(&a),
            [64],
            (&mut b, &a),
            group_kernel!(|b, a, group| {
                let s = group.fetch(a, [1], [0]);
                group.each(|t| {
                    if t[0] + h < 64 {
                        b[t.at()] = s[t + [h]];
                    } else {
                        b[t.at()] = 0.25;
                    }
                });
            }),
        )
        .unwrap();
        assert_eq!(b.to_ndarray().unwrap()[0], 0.25, "h is 64");
    }
}

#[test]
fn groups_that_cannot_be() {
    let acc = on_cpu();
    let a = line(&acc, 128, 1, 0);
    let mut b = a.like().unwrap();
    let mut run = |tile: &Tile<1>, extent: usize| {
        compute_groups(tile, [extent], (&mut b, &a), group_kernel!(|b, a, group| group.each(|t| b[t.at()] = a[t.at()])))
    };
    expect(run(&first(&a), 2048), ErrorKind::Kernel, &["groups of [2048] cells", "1024"]);
    expect(run(&first(&a), 0), ErrorKind::Kernel, &["groups of [0] cells"]);
    let tile = TileIter::new(&a).tile_size([40]).next().unwrap();
    expect(run(&tile, 64), ErrorKind::Argument, &["a tile from 0 to 40 along axis 0", "`.cut_at_multiples([64])`"]);
    let result = compute_groups(
        &first(&a),
        [64],
        (&mut b, &a),
        group_kernel!(|b, a, group| {
            let s = group.fetch(a, [1], [1]);
            group.each(|t| b[t.at()] = s[t]);
        }),
    );
    expect(result, ErrorKind::Ghost, &["read of `a[at + [-1]]`", "ghost width 0", ".ghost(1)"]);
}

#[test]
fn more_than_a_block_can_share() {
    let acc = TileAcc::builder().device(Device::Sim).build().unwrap();
    let a = line(&acc, 2048, 1, 0);
    let mut b = a.like().unwrap();
    let mut run = |tile: &Tile<1>| {
        compute_groups(
            tile,
            [512],
            (&mut b, &a),
            group_kernel!(|b, a, group| {
                let c = group.shared::<f64>([512, 64]);
                group.each(|t| c[[t[0], 63]] = a[t.at()]);
                group.each(|t| b[t.at()] = c[[t[0], 63]]);
            }),
        )
    };
    expect(run(&first(&a)), ErrorKind::Memory, &["262144 bytes", "groups of [512] cells", "smaller groups"]);
    run(&TileIter::new(&a).device(Device::Cpu).next().unwrap()).unwrap();
    assert_eq!(bits(&b), bits(&a));
}

#[test]
fn kernels_over_groups_are_listed() {
    let acc = on_cpu();
    let a = line(&acc, 128, 1, 1);
    let mut b = a.like().unwrap();
    compute_groups(
        &first(&a),
        [32],
        (&mut b, &a),
        group_kernel!(|b, a, group| {
            let s = group.fetch(a, [1], [1]);
            let c = group.channel::<f64>([0], [0]);
            group.each(|t| c[t] = s[t - [1]] + s[t + [1]]);
            group.each(|t| b[t.at()] = 0.125 * c[t]);
        }),
    )
    .unwrap();
    let listed: Vec<String> = tida::kernels().iter().map(ToString::to_string).collect();
    // Of 34 and of 32 slots of 8 bytes.
    let parts = ["groups.rs", "threads: 32 x 1 x 1", "2 phases, 528 bytes shared"];
    assert!(listed.iter().any(|text| parts.iter().all(|part| text.contains(part))), "{listed:?}");
}
