//! Reads at quotients, remainders, shifts, masks and bounds of the cell, and at entries of constant and captured
//! arrays: proven, and the same values as by plain loops, on every device.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one; the CPU and a simulated device too.
#![cfg(feature = "ndarray")]

use tida::prelude::*;
use tida::{Explanation, SimDevice};
use tida_tests::{everywhere, on_a_device, on_cpu, value};

const SHAPE: [usize; 2] = [24, 130];
/// Neighbours, itself last.
const DOWN: [i64; 5] = [-1, 1, 0, 0, 0];
const RIGHT: [i64; 5] = [0, 0, -2, 2, 0];

/// Nothing of it is checked as it runs.
#[track_caller]
fn proven(explained: tida::Result<Explanation>) {
    let text = explained.unwrap().to_string();
    assert!(text.contains("checks: none needed"), "{text}");
}

fn coarse(acc: &TileAcc, regions: [usize; 2]) -> TileArray<f64, 2> {
    let mut e = TileArray::<f64, 2>::builder([12, 65]).regions(regions).build(acc).unwrap();
    e.fill(|[j, i]| value(3, [j, i, 0])).unwrap();
    e
}

#[test]
fn fine_cells_read_coarse_ones() {
    for acc in everywhere() {
        for regions in [[1, 1], [3, 2]] {
            let e = coarse(&acc, regions);
            let mut u = TileArray::<f64, 2>::builder(SHAPE).regions(regions).build(&acc).unwrap();
            u.fill_value(f64::NAN).unwrap();
            macro_rules! prolong {
                () => {
                    kernel!(|u, e, at| {
                        let (j, i) = (at[0] / 2, at[1] >> 1);
                        let next = [(j + at[0] % 2).min(11), (i + (at[1] & 1)).min(64)];
                        let before = [((at[0] - 1).div_euclid(2)).max(0), at[1].rem_euclid(65)];
                        u[at] = 0.5 * e[[j, i]] + 0.25 * e[next] + 0.25 * e[before];
                    })
                };
            }
            proven(tida::explain((&mut u, all(&e)), prolong!()));
            for tile in TileIter::new(&u).tile_size([5, 64]) {
                compute(&tile, (&mut u, all(&e)), prolong!()).unwrap();
            }
            let (got, e) = (u.to_ndarray().unwrap(), e.to_ndarray().unwrap());
            for ((j, i), got) in got.indexed_iter() {
                let next = [(j / 2 + j % 2).min(11), (i / 2 + i % 2).min(64)];
                let before = [j.saturating_sub(1) / 2, i % 65];
                let want = 0.5 * e[[j / 2, i / 2]] + 0.25 * e[next] + 0.25 * e[before];
                assert_eq!(got.to_bits(), want.to_bits(), "at {j}, {i} on {acc}");
            }
        }
    }
}

/// Cells side by side of a fine grid read the same cells of the coarse one: a thread of a GPU takes them together,
/// reads once, and stores them at once.
#[test]
fn a_prolongation_takes_cells_side_by_side() {
    let acc = on_cpu();
    let said = |shift: i64| {
        let coarse = TileArray::<f64, 3>::builder([128; 3]).build(&acc).unwrap();
        let mut fine = TileArray::<f64, 3>::builder([256; 3]).build(&acc).unwrap();
        let told = match shift {
            0 => tida::explain(
                (&mut fine, all(&coarse)),
                kernel!(|u, e, at| u[at] = e[[at[0] / 2, at[1] / 2, at[2] / 2]]),
            ),
            // Neighbours read cells of their own.
            _ => tida::explain(
                (&mut fine, all(&coarse)),
                kernel!(|u, e, at| u[at] = e[[at[0] / 2, at[1] / 2, at[2] % 128]]),
            ),
        };
        told.unwrap().to_string()
    };
    let together = "2 side by side, which are stored at once and share what they read of whole arrays";
    assert!(said(0).contains(together), "{}", said(0));
    assert!(!said(1).contains("side by side, which are stored"), "{}", said(1));
}

/// What part of a tile reads one region of a whole array, what part several, is not seen in the values.
/// Neighbours that read at half of their place run in pairs: rows of any length from any cell, in sweeps and sums.
#[test]
fn pairs_begin_and_end_anywhere() {
    let acc = on_cpu();
    let e = coarse(&acc, [1, 1]);
    let plain = e.to_ndarray().unwrap();
    for (first, last) in
        (0..5).flat_map(|first| (first + 1..first + 8).map(move |last| (first, last))).chain([(3, 130)])
    {
        let mut u = TileArray::<f64, 2>::builder(SHAPE).build(&acc).unwrap();
        u.fill_value(0.25).unwrap();
        let cells = GridBox::new([1, first], [4, last]);
        for tile in u.tiles().within(cells.lo, cells.hi) {
            compute(
                &tile,
                (&mut u, all(&e)),
                kernel!(|u, e, at| {
                    let [j, i] = at;
                    let (left, right) = (i / 2, (i + 1) >> 1);
                    u[at] += e[[j / 2, left]] - 3.0 * e[[(j + 1).div_euclid(2), right.min(64)]] * i as f64;
                }),
            )
            .unwrap();
        }
        let value = |[j, i]: [usize; 2]| {
            0.25 + (plain[[j / 2, i / 2]] - 3.0 * plain[[j.div_ceil(2), i.div_ceil(2).min(64)]] * i as f64)
        };
        let inside = |j: usize, i: usize| (1..4).contains(&j) && (first as usize..last as usize).contains(&i);
        for ((j, i), got) in u.to_ndarray().unwrap().indexed_iter() {
            let want = if inside(j, i) { value([j, i]) } else { 0.25 };
            assert_eq!(got.to_bits(), want.to_bits(), "at {j}, {i} of {first}..{last}");
        }
        let most = reduce_over(cells, (&u, all(&e)), Max, kernel!(|u, e, at| u[at] + e[[at[0] / 2, at[1] / 2]]));
        let all = (1..4).flat_map(|j| (first as usize..last as usize).map(move |i| [j, i]));
        let want = all.map(|[j, i]| value([j, i]) + plain[[j / 2, i / 2]]).fold(f64::NEG_INFINITY, f64::max);
        assert_eq!(most.unwrap().to_bits(), want.to_bits(), "{first}..{last}");
    }
}

#[test]
fn restriction_reads_any_regions() {
    const FINE: [usize; 2] = [48, 130];
    let step = |n: i64, end: usize| usize::try_from(n.clamp(0, end as i64 - 1)).unwrap();
    for acc in everywhere() {
        for (fine, coarse, cut) in [
            ([1, 1], [1, 1], [24, 65]),
            ([2, 1], [1, 1], [24, 65]),
            ([1, 3], [2, 2], [24, 65]),
            ([5, 3], [1, 2], [7, 64]),
            ([48, 2], [3, 1], [24, 65]),
        ] {
            let mut f = TileArray::<f64, 2>::builder(FINE).regions(fine).build(&acc).unwrap();
            f.fill(|[j, i]| value(7, [j, i, 0])).unwrap();
            let mut c = TileArray::<f64, 2>::builder([24, 65]).regions(coarse).build(&acc).unwrap();
            c.fill_value(f64::NAN).unwrap();
            macro_rules! restrict {
                () => {
                    kernel!(|c, f, at| {
                        let mut sum = 0.25 * f[[at[0] / 3, 2 * at[1]]];
                        for j in -1..=1 {
                            for i in -1..=1 {
                                sum += f[[(2 * at[0] + j).clamp(0, 47), (2 * at[1] + i).clamp(0, 129)]];
                            }
                        }
                        c[at] = sum;
                    })
                };
            }
            proven(tida::explain((&mut c, all(&f)), restrict!()));
            for tile in TileIter::new(&c).tile_size(cut) {
                compute(&tile, (&mut c, all(&f)), restrict!()).unwrap();
            }
            let (got, f) = (c.to_ndarray().unwrap(), f.to_ndarray().unwrap());
            for ((y, x), got) in got.indexed_iter() {
                let mut sum = 0.25 * f[[y / 3, 2 * x]];
                for j in -1..=1 {
                    for i in -1..=1 {
                        sum += f[[step(2 * y as i64 + j, FINE[0]), step(2 * x as i64 + i, FINE[1])]];
                    }
                }
                assert_eq!(got.to_bits(), sum.to_bits(), "at {y}, {x} of {fine:?} on {acc}");
            }
        }
    }
}

/// What a value of an array says is proven where it is bounded, of whole arrays, of tables and around the cell.
#[test]
fn values_that_are_bounded_tell_where_to_read() {
    let curve: Vec<f64> = (0..16).map(|n| f64::from(n * n)).collect();
    for acc in everywhere() {
        for regions in [[1, 1], [3, 2]] {
            let e = coarse(&acc, regions);
            let mut u = TileArray::<f64, 2>::builder(SHAPE)
                .regions(regions)
                .ghost(1)
                .boundary(Boundary::Periodic)
                .build(&acc)
                .unwrap();
            u.fill(|[j, i]| 40.0 * value(5, [j, i, 0]) - 7.0).unwrap();
            u.fill_ghosts().unwrap();
            let mut v = u.like().unwrap();
            v.fill_value(f64::NAN).unwrap();
            macro_rules! looked_up {
                ($last:literal) => {
                    kernel!(|v, u, e, curve, at| {
                        let told = u[at] as i64;
                        let by = told.rem_euclid(3) - 1;
                        let mut s = e[[told.clamp(0, $last), (told & 63).max(at[1] / 2)]];
                        s += curve[told.max(0).min(15) as usize] + curve[(u[at] as u64).min(15) as usize];
                        v[at] = s + u[at + [by, 0]] - u[at + [0, -by]];
                    })
                };
            }
            proven(tida::explain((&mut v, &u, all(&e), table(&curve)), looked_up!(11)));
            for tile in TileIter::new(&v).tile_size([5, 64]) {
                compute(&tile, (&mut v, &u, all(&e), table(&curve)), looked_up!(11)).unwrap();
            }
            let (got, u, e) = (v.to_ndarray().unwrap(), u.to_ndarray().unwrap(), e.to_ndarray().unwrap());
            let [rows, columns] = SHAPE;
            for ((j, i), got) in got.indexed_iter() {
                let told = u[[j, i]] as i64;
                let by = told.rem_euclid(3) - 1;
                let near =
                    |j: i64, i: i64| u[[j.rem_euclid(rows as i64) as usize, i.rem_euclid(columns as i64) as usize]];
                let row = told.clamp(0, 11) as usize;
                let mut want = e[[row, (told & 63).max(i as i64 / 2) as usize]];
                want += curve[told.clamp(0, 15) as usize] + curve[(u[[j, i]] as u64).min(15) as usize];
                want = want + near(j as i64 + by, i as i64) - near(j as i64, i as i64 - by);
                assert_eq!(got.to_bits(), want.to_bits(), "at {j}, {i} of {regions:?} on {acc}");
            }
        }
    }
}

/// A value of a type with few numbers says where to read as it is: an image's grey in a table of 256, a mask's `bool`.
#[test]
fn values_of_few_numbers_tell_where_to_read() {
    for acc in everywhere() {
        let builder = TileArray::<u8, 2>::builder(SHAPE).regions([3, 2]).ghost(1);
        let mut grey = builder.build(&acc).unwrap();
        let mut mask = TileArray::<bool, 2>::builder(SHAPE).regions([3, 2]).ghost(1).build(&acc).unwrap();
        let mut curve = TileArray::<f32, 1>::builder([256]).build(&acc).unwrap();
        let mut near = TileArray::<i8, 2>::builder([2, 256]).build(&acc).unwrap();
        let (g, m) = (|[j, i]: [usize; 2]| (j * 37 + i * 11) as u8, |[j, i]: [usize; 2]| (j * i) % 3 == 1);
        let (c, n) = (|[k]: [usize; 1]| (k * k) as f32, |[j, i]: [usize; 2]| (i / 2) as i8 - j as i8);
        grey.fill(g).unwrap();
        mask.fill(m).unwrap();
        curve.fill(c).unwrap();
        near.fill(n).unwrap();
        let mut v = TileArray::<f32, 2>::builder(SHAPE).regions([3, 2]).build(&acc).unwrap();
        macro_rules! looked_up {
            () => {
                kernel!(|v, grey, mask, curve, near, at| {
                    // (A sum of `u8` is one, which wraps.)
                    let next = grey[at] + 200;
                    let other = near[[mask[at] as i64, next as i64]];
                    v[at] = curve[[grey[at] as i64]] + curve[[(other as i64 + 128).min(255)]] + other as f32;
                })
            };
        }
        proven(tida::explain((&mut v, &grey, &mask, all(&curve), all(&near)), looked_up!()));
        for tile in TileIter::new(&v).tile_size([5, 64]) {
            compute(&tile, (&mut v, &grey, &mask, all(&curve), all(&near)), looked_up!()).unwrap();
        }
        for ((j, i), got) in v.to_ndarray().unwrap().indexed_iter() {
            let other = n([m([j, i]) as usize, g([j, i]).wrapping_add(200) as usize]);
            let want = c([g([j, i]) as usize]) + c([(other as i64 + 128) as usize]) + other as f32;
            assert_eq!(got.to_bits(), want.to_bits(), "at {j}, {i} on {acc}");
        }
    }
}

/// Of a table that is shorter than the type has numbers, each cell looks whether its number is there.
#[test]
fn values_of_few_numbers_may_lead_outside() {
    for acc in everywhere() {
        let mut grey = TileArray::<u8, 1>::builder([300]).build(&acc).unwrap();
        let mut curve = TileArray::<f32, 1>::builder([200]).build(&acc).unwrap();
        let mut v = TileArray::<f32, 1>::builder([300]).build(&acc).unwrap();
        curve.fill(|[k]| k as f32).unwrap();
        for most in [200, 256] {
            grey.fill(|[i]| (i % most) as u8).unwrap();
            for tile in TileIter::new(&v) {
                compute(
                    &tile,
                    (&mut v, &grey, all(&curve)),
                    kernel!(|v, grey, curve, at| v[at] = curve[[grey[at] as i64]]),
                )
                .unwrap();
            }
            let found = v.read_box(v.domain());
            if most == 200 {
                let want: Vec<f32> = (0..300).map(|i| (i % most) as f32).collect();
                assert_eq!(found.unwrap(), want, "on {acc}");
            } else {
                let told = found.unwrap_err().to_string();
                assert!(told.contains("`curve`") && told.contains("outside"), "{told} on {acc}");
            }
        }
    }
}

/// A condition keeps reads inside, or chooses between values that are read. Without ghosts these reads are checked, and
/// cells read nothing that the condition spares them; with ghosts they are proven, and cells may read all.
#[test]
fn conditions_spare_reads() {
    macro_rules! guarded {
        () => {
            kernel!(|v, u, heat, at| {
                let inside = at[1] > 0 && at[1] < 129;
                let (low, high) =
                    (inside && u[at - [0, 1]] < 90, at[1] == 129 || u[at + [0, 1]] > 60 || heat[at] > 0.5);
                let side = if inside && heat[at] < 0.25 { u[at + [0, 1]] } else { u[at] };
                let both = match u[at] {
                    x if x < 40 => {
                        let sum = if at[1] > 0 { u[at - [0, 1]] + x } else { x };
                        (sum, 3)
                    }
                    x if x > 200 && inside => (u[at + [0, 1]], u[at - [0, 1]]),
                    x => (x, x & 1),
                };
                v[at] = (if low && high { side } else { both.0 }) ^ both.1;
            })
        };
    }
    for acc in everywhere() {
        for (regions, ghost) in [([1, 1], 0), ([3, 1], 1), ([3, 2], 1)] {
            let mut u = TileArray::<u8, 2>::builder(SHAPE).regions(regions).ghost(ghost).build(&acc).unwrap();
            let mut heat = TileArray::<f32, 2>::builder(SHAPE).regions(regions).ghost(ghost).build(&acc).unwrap();
            let (f, h) = (|j: usize, i: usize| (j * 53 + i * 29) as u8, |j, i| value(4, [j, i, 0]) as f32);
            u.fill(|[j, i]| f(j, i)).unwrap();
            heat.fill(|[j, i]| h(j, i)).unwrap();
            u.fill_ghosts().unwrap();
            let mut v = u.like().unwrap();
            if ghost == 1 {
                proven(tida::explain((&mut v, &u, &heat), guarded!()));
            }
            for tile in TileIter::new(&v).tile_size([5, 64]) {
                compute(&tile, (&mut v, &u, &heat), guarded!()).unwrap();
            }
            for ((j, i), got) in v.to_ndarray().unwrap().indexed_iter() {
                let (x, inside) = (f(j, i), i > 0 && i < 129);
                let (low, high) = (inside && f(j, i - 1) < 90, i == 129 || f(j, i + 1) > 60 || h(j, i) > 0.5);
                let side = if inside && h(j, i) < 0.25 { f(j, i + 1) } else { x };
                let both = match x {
                    x if x < 40 => (if i > 0 { f(j, i - 1).wrapping_add(x) } else { x }, 3),
                    x if x > 200 && inside => (f(j, i + 1), f(j, i - 1)),
                    x => (x, x & 1),
                };
                let want = (if low && high { side } else { both.0 }) ^ both.1;
                assert_eq!(*got, want, "at {j}, {i} of {regions:?} on {acc}");
            }
        }
    }
}

/// Where the bounds allow more than there is, each cell looks: a value that stays inside is no error.
#[test]
fn values_that_could_lead_outside_are_checked() {
    for acc in everywhere() {
        let mut u = TileArray::<f64, 2>::builder([8, 64]).ghost(1).build(&acc).unwrap();
        u.fill(|[j, i]| ((j + i) % 3) as f64).unwrap();
        u.fill_ghosts().unwrap();
        let mut v = u.like().unwrap();
        let mut run = |most: f64| {
            for tile in TileIter::new(&v) {
                compute(
                    &tile,
                    (&mut v, &u),
                    kernel!(|v, u, at| {
                        let by = (u[at] * most) as i64;
                        v[at] = u[at + [0, by.clamp(-9, 9)]];
                    }),
                )?;
            }
            v.read_box(GridBox::new([0, 0], [8, 62]))
        };
        let [zero, far] = [run(0.0), run(4.0)];
        assert_eq!(zero.unwrap()[..4], [0.0, 1.0, 2.0, 0.0], "on {acc}");
        let told = far.unwrap_err().to_string();
        assert!(told.contains("`u`") && told.contains("outside"), "{told} on {acc}");
    }
}

/// Ghosts of grown tiles have coordinates below 0.
#[test]
fn ghosts_are_divided_as_they_are_counted() {
    for acc in everywhere() {
        let mut u =
            TileArray::<i64, 1>::builder([256]).regions([4]).ghost(3).boundary(Boundary::Fixed(7)).build(&acc).unwrap();
        u.fill_ghosts().unwrap();
        let w: Vec<i64> = (0..200).map(|n| n * n).collect();
        for tile in TileIter::new(&u).grown(3) {
            compute(
                &tile,
                (&mut u, table(&w)),
                kernel!(|u, w, at| {
                    let rounded = w[(at[0] / 2 + 4) as usize] - 1000 * w[(at[0] % 4 + 5) as usize];
                    u[at] = rounded + w[((at[0] >> 1) + 9) as usize] * w[(at[0] & 3) as usize];
                }),
            )
            .unwrap();
        }
        acc.sync().unwrap();
        for r in 0..4 {
            let got = u.with_grown_region(r, |view| view.iter().copied().collect::<Vec<i64>>()).unwrap();
            let first = u.grown_box(r).unwrap().lo[0];
            for (n, got) in got.into_iter().enumerate() {
                let at = first + n as i64;
                let of = |n: i64| w[usize::try_from(n).unwrap()];
                let want = of(at / 2 + 4) - 1000 * of(at % 4 + 5) + of((at >> 1) + 9) * of(at & 3);
                assert_eq!(got, want, "at {at} on {acc}");
            }
        }
    }
}

/// What constants and captured arrays say of neighbours.
fn stepped(acc: &TileAcc, steps: usize) -> tida::Result<Vec<f64>> {
    let shape = [96, 256];
    let mut u = TileArray::<f64, 2>::builder(shape).ghost(2).boundary(Boundary::Periodic).build(acc)?;
    u.fill(|[j, i]| value(5, [j, i, 0]))?;
    let mut next = u.like()?;
    let weight = [0.125, 0.125, 0.125, 0.125, 0.5];
    let twice = [2i64, -2];
    macro_rules! sweep {
        () => {
            kernel!(|next, u, at| {
                let mut sum = 0.0;
                for k in 0..5 {
                    sum += weight[k] * u[at + [DOWN[k], RIGHT[k]]];
                }
                for k in 0..2 {
                    sum += 0.25 * (u[at + [twice[k], 0]] - u[at - [twice[k], 0]]);
                }
                next[at] = sum;
            })
        };
    }
    proven(tida::explain((&mut next, &u), sweep!()));
    for _ in 0..steps {
        u.fill_ghosts()?;
        for tile in TileIter::new(&u).tile_size([16, 256]) {
            compute(&tile, (&mut next, &u), sweep!())?;
        }
        std::mem::swap(&mut u, &mut next);
    }
    Ok(u.to_ndarray()?.into_raw_vec_and_offset().0)
}

#[test]
fn offsets_out_of_tables_are_proven() {
    let want = stepped(&on_cpu(), 4).unwrap();
    let mut plain: Vec<f64> = (0..96 * 256).map(|n| value(5, [n / 256, n % 256, 0])).collect();
    for _ in 0..4 {
        let at = |j: i64, i: i64| plain[(j.rem_euclid(96) * 256 + i.rem_euclid(256)) as usize];
        plain = (0..96 * 256)
            .map(|n| {
                let (j, i) = (n / 256, n % 256);
                let mut sum = 0.0;
                for (k, weight) in [0.125, 0.125, 0.125, 0.125, 0.5].into_iter().enumerate() {
                    sum += weight * at(j + DOWN[k], i + RIGHT[k]);
                }
                for k in [2, -2] {
                    sum += 0.25 * (at(j + k, i) - at(j - k, i));
                }
                sum
            })
            .collect();
    }
    assert_eq!(want, plain);
    for acc in everywhere() {
        assert_eq!(stepped(&acc, 4).unwrap(), want, "{acc}");
    }
}

/// One region that does not fit streams by planes: what reads at such offsets moves evenly with the cell.
#[test]
fn offsets_out_of_tables_stream() {
    let want = stepped(&on_cpu(), 3).unwrap();
    let limited = |builder: tida::acc::TileAccBuilder| builder.memory_limit(150_000);
    let sim = limited(TileAcc::builder().simulate(SimDevice::new()).threads(2)).build().unwrap();
    for acc in [sim].into_iter().chain(on_a_device(limited(TileAcc::builder()))) {
        assert_eq!(stepped(&acc, 3).unwrap(), want, "{acc}");
    }
}

/// What moves unevenly streams by regions, or is told.
#[test]
fn what_moves_unevenly_does_not_stream_by_planes() {
    let run = |acc: &TileAcc, steps: usize| -> tida::Result<Vec<f64>> {
        let mut u = TileArray::<f64, 2>::builder([64, 256]).regions([8, 1]).build(acc)?;
        u.fill(|[j, i]| value(9, [j, i, 0]))?;
        let mut next = u.like()?;
        for _ in 0..steps {
            for tile in TileIter::new(&u) {
                compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| next[at] = u[[at[0] / 8 * 8 + (at[0] + 3) % 8, at[1]]]),
                )?;
            }
            std::mem::swap(&mut u, &mut next);
        }
        Ok(u.to_ndarray()?.into_raw_vec_and_offset().0)
    };
    let want = run(&on_cpu(), 3).unwrap();
    assert_eq!(want[0], value(9, [1, 0, 0]));
    let limited = |builder: tida::acc::TileAccBuilder| builder.memory_limit(120_000);
    let sim = limited(TileAcc::builder().simulate(SimDevice::new()).threads(2)).build().unwrap();
    for acc in [sim].into_iter().chain(on_a_device(limited(TileAcc::builder()))) {
        assert_eq!(run(&acc, 3).unwrap(), want, "{acc}");
    }
}

/// An entry at a place that is known is a captured number: nothing is checked, and the box of what is read is exact.
#[test]
fn entries_at_known_places_are_exact() {
    let (offsets, pairs) = ([-40i64, 40, 1], [[0i64, 2], [-1, -2]]);
    for acc in everywhere() {
        let ghosted = TileArray::<f64, 2>::builder([8, 130]).regions([2, 1]).ghost(2).boundary(Boundary::Periodic);
        let mut u = ghosted.build(&acc).unwrap();
        u.fill(|[j, i]| value(4, [j, i, 0])).unwrap();
        u.fill_ghosts().unwrap();
        let mut next = u.like().unwrap();
        macro_rules! sweep {
            ($offsets:ident) => {
                kernel!(|next, u, at| {
                    let pair = pairs[1];
                    next[at] = u[at + [$offsets[2], pairs[0][1]]] + u[at + [pair[0], pair[1]]] + u[at + pair];
                })
            };
        }
        proven(tida::explain((&mut next, &u), sweep!(offsets)));
        for tile in TileIter::new(&u) {
            compute(&tile, (&mut next, &u), sweep!(offsets)).unwrap();
        }
        let got = next.to_ndarray().unwrap();
        for ((j, i), got) in got.indexed_iter() {
            let at = |j: usize, i: usize| value(4, [j % 8, i % 130, 0]);
            let want = at(j + 1, i + 2) + at(j + 7, i + 128) + at(j + 7, i + 128);
            assert_eq!(*got, want, "at {j}, {i} on {acc}");
        }
        // (The other entries would reach far outside of the ghosts.)
        let far = [0i64, 0, 40];
        let tile = TileIter::new(&u).next().unwrap();
        let refused = compute(&tile, (&mut next, &u), sweep!(far)).unwrap_err();
        assert!(refused.to_string().contains('u'), "{refused}");
    }
}

/// Reads of a whole array where captured numbers say, and where bits of a cell's number, powers of two and values do:
/// the same from one region, which runs as rows, and from several.
#[test]
fn whole_arrays_are_read_where_captures_and_bits_say() {
    let (through, bit, size) = (5i64, 2i64, 12i64);
    for acc in everywhere() {
        for regions in [[1, 1], [3, 2]] {
            let e = coarse(&acc, regions);
            let mut u = TileArray::<f64, 2>::builder([12, 65]).regions(regions).build(&acc).unwrap();
            u.fill_value(f64::NAN).unwrap();
            for tile in TileIter::new(&u).tile_size([5, 64]) {
                compute(
                    &tile,
                    (&mut u, all(&e)),
                    kernel!(|u, e, at| {
                        let other = (at[0] ^ bit) % size;
                        let x = (e[at] * 7.0).floor() as i64;
                        let near = e[[at[0], through]] + e[[through, at[1]]];
                        // The cell itself, of which the ranges of its parts say more than is so.
                        let same = e[[at[0] / through * through + at[0] % through, at[1]]];
                        let told = e[[x.rem_euclid(size), (at[1] / bit) & (size - 1)]];
                        u[at] = near * e[[other, at[1] & !bit]] + told * same;
                    }),
                )
                .unwrap();
            }
            let (got, e) = (u.to_ndarray().unwrap(), e.to_ndarray().unwrap());
            for ((j, i), got) in got.indexed_iter() {
                let x = ((e[[j, i]] * 7.0).floor() as i64).rem_euclid(12) as usize;
                let near = e[[j, 5]] + e[[5, i]];
                let want = near * e[[(j ^ 2) % 12, i & !2]] + e[[x, (i / 2) & 11]] * e[[j, i]];
                assert_eq!(got.to_bits(), want.to_bits(), "at {j}, {i} on {acc}");
            }
        }
    }
}
