//! Loops inside a cell that all cells of a block take together: the same values as plain loops, for any shape, cut and
//! tile, on every device. (On the CPU such a kernel runs in blocks of some rows of 256 cells and fewer: shapes here end
//! inside one.)
#![cfg(feature = "ndarray")]

use tida::ErrorKind;
use tida::prelude::*;
use tida_tests::{everywhere, expect, on_cpu, value};

/// Shapes, regions and tiles.
const CUTS: [([usize; 2], [usize; 2], [usize; 2]); 4] = [
    ([19, 530], [1, 1], [64, 1024]),
    ([19, 530], [3, 4], [4, 100]),
    ([1, 3], [1, 1], [1, 2]),
    ([70, 70], [2, 2], [9, 70]),
];

/// An array, filled.
fn array(acc: &TileAcc, seed: u64, shape: [usize; 2], regions: [usize; 2]) -> TileArray<f64, 2> {
    let regions = [regions[0].min(shape[0]), regions[1].min(shape[1].div_ceil(64))];
    let mut a =
        TileArray::<f64, 2>::builder(shape).regions(regions).ghost(1).boundary(Boundary::Periodic).build(acc).unwrap();
    a.fill(|[j, i]| value(seed, [j, i, 0])).unwrap();
    a.fill_ghosts().unwrap();
    a
}

#[track_caller]
fn same<const D: usize>(acc: &TileAcc, values: ndarray::ArrayD<f64>, want: impl Fn([usize; D]) -> f64) {
    for (index, got) in values.indexed_iter() {
        let at = std::array::from_fn(|d| index[d]);
        assert_eq!(got.to_bits(), want(at).to_bits(), "at {at:?} of {:?} on {acc}", values.shape());
    }
}

/// Each kernel over each cut on each device.
macro_rules! on_all {
    (|$u:ident, $acc:ident, $shape:ident, $regions:ident, $tile:ident| $record:expr, $want:expr) => {
        for acc in everywhere() {
            for (shape, regions, size) in CUTS {
                let $acc = &acc;
                let ($shape, $regions) = (shape, regions);
                let mut $u = array(&acc, 9, shape, regions);
                $u.fill_value(f64::NAN).unwrap();
                for $tile in TileIter::new(&$u).tile_size(size) {
                    $record.unwrap();
                }
                same(&acc, $u.to_ndarray().unwrap().into_dyn(), $want(shape));
            }
        }
    };
}

#[test]
fn products_of_matrices() {
    const LEN: usize = 75;
    let len = LEN as i64;
    for acc in everywhere() {
        for (shape, regions, size) in CUTS {
            let [rows, columns] = shape;
            let a = array(&acc, 1, [rows, LEN], regions);
            let b = array(&acc, 2, [LEN, columns], [regions[1], regions[0]]);
            let mut c = array(&acc, 3, shape, regions);
            let old = c.to_ndarray().unwrap();
            for tile in TileIter::new(&c).tile_size(size) {
                compute(
                    &tile,
                    (&mut c, all(&a), all(&b)),
                    kernel!(|c, a, b, at| {
                        let [i, j] = at;
                        let mut s = 0.25 * c[at];
                        for k in 0..len {
                            s += a[[i, k]] * b[[k, j]];
                        }
                        c[at] = s;
                    }),
                )
                .unwrap();
            }
            same(&acc, c.to_ndarray().unwrap().into_dyn(), |[i, j]| {
                let mut s = 0.25 * old[[i, j]];
                for k in 0..LEN {
                    s += value(1, [i, k, 0]) * value(2, [k, j, 0]);
                }
                s
            });
        }
    }
}

/// Loops in loops, with statements before, between and after, and values that go from one to the other.
/// Rows and columns of one array, which lie in different regions.
#[test]
fn an_array_read_in_two_ways() {
    const LEN: usize = 70;
    let len = LEN as i64;
    for acc in everywhere() {
        for (regions, tile) in [([1, 1], [16, 64]), ([2, 1], [64, 64]), ([2, 2], [9, 70])] {
            let a = array(&acc, 4, [LEN, LEN], regions);
            let (mut c, mut d) = (array(&acc, 5, [LEN, LEN], [1, 1]), array(&acc, 6, [LEN, LEN], [1, 1]));
            for tile in TileIter::new(&c).tile_size(tile) {
                compute(
                    &tile,
                    (&mut c, all(&a)),
                    kernel!(|c, a, at| {
                        let mut s = 0.0;
                        for k in 0..70 {
                            s += a[[at[0], k]] * a[[k, at[1]]] + a[[k, at[0]]];
                        }
                        c[at] = s;
                    }),
                )
                .unwrap();
                compute(
                    &tile,
                    (&mut d, all(&a)),
                    kernel!(|d, a, at| {
                        let mut s = 0.0;
                        for k in 0..len {
                            s += a[[at[0], k]] * a[[k, at[1]]] + a[[k, at[0]]];
                        }
                        d[at] = s;
                    }),
                )
                .unwrap();
            }
            let a = a.to_ndarray().unwrap();
            let want = |[i, j]: [usize; 2]| (0..LEN).fold(0.0, |s, k| s + (a[[i, k]] * a[[k, j]] + a[[k, i]]));
            same(&acc, c.to_ndarray().unwrap().into_dyn(), want);
            same(&acc, d.to_ndarray().unwrap().into_dyn(), want);
        }
    }
}

/// Short loops stand turn by turn in the native form.
#[test]
fn short_loops() {
    const WEIGHTS: [f64; 3] = [0.5, 0.3, 0.2];
    for acc in everywhere() {
        let u = array(&acc, 7, [20, 131], [2, 2]);
        let mut c = u.like().unwrap();
        for tile in TileIter::new(&c).tile_size([7, 131]) {
            compute(
                &tile,
                (&mut c, &u),
                kernel!(|c, u, at| {
                    let mut s = 0.0;
                    let mut turns = 0u32;
                    for j in -1..=1 {
                        for i in -1i64..2 {
                            if i * i + j * j < 2 {
                                s += WEIGHTS[(i * i + j * j) as usize] * u[at + [j, i]];
                            }
                            let mut s = turns;
                            s += 1;
                            turns = s;
                        }
                    }
                    for _ in 0..3 {
                        s *= 1.25;
                    }
                    for k in 3..2 {
                        s += k as f64;
                    }
                    for k in 0..5u8 {
                        if k == 3 && s > 1.0 {
                            break;
                        }
                        s += k as f64;
                    }
                    c[at] = s + turns as f64;
                }),
            )
            .unwrap();
        }
        let u = u.to_ndarray().unwrap();
        same(&acc, c.to_ndarray().unwrap().into_dyn(), |[j, i]| {
            let mut s = 0.0;
            let near = [(-1, 0), (0, -1), (0, 0), (0, 1), (1, 0)];
            for (dj, di) in near {
                let at = [(j as i64 + dj).rem_euclid(20) as usize, (i as i64 + di).rem_euclid(131) as usize];
                s += WEIGHTS[(di * di + dj * dj) as usize] * u[at];
            }
            for _ in 0..3 {
                s *= 1.25;
            }
            for k in 0..5 {
                if k == 3 && s > 1.0 {
                    break;
                }
                s += f64::from(k);
            }
            s + 9.0
        });
    }
}

/// A short loop inside a long one is a part of what a cell does in a turn; and what ends a turn may be an `if`.
#[test]
fn short_loops_within_a_long_one() {
    let (steps, dt) = (23, 0.01);
    macro_rules! steps {
        () => {
            kernel!(|c, u, at| {
                let mut p = [u[at], 0.5, at[1] as f64 * 0.25];
                let mut turns = 0;
                for step in 0..steps {
                    let d = [p[1] - p[0], p[0] * (3.0 - p[2]) - p[1], p[0] * p[1] - p[2]];
                    for k in 0..3 {
                        p[k as usize] += dt * d[k as usize];
                        if p[k as usize] > 2.0 {
                            p[k as usize] = 0.5 * p[k as usize] + k as f64;
                            turns += step;
                        }
                    }
                    for x in [0.5, 0.25] {
                        p[1] = p[1] * 0.75 + x;
                    }
                    if p[0] < p[1] {
                        p[2] += 0.125;
                    } else {
                        turns += 1;
                    }
                }
                c[at] = p[0] + p[1] * p[2] + turns as f64;
            })
        };
    }
    on_all!(
        |c, acc, shape, regions, tile| {
            let u = array(acc, 7, shape, regions);
            compute(&tile, (&mut c, &u), steps!())
        },
        |shape| {
            let u = array(acc, 7, shape, [1, 1]).to_ndarray().unwrap();
            move |[j, i]: [usize; 2]| {
                let (mut p, mut turns) = ([u[[j, i]], 0.5, i as f64 * 0.25], 0);
                for step in 0..steps {
                    let d = [p[1] - p[0], p[0] * (3.0 - p[2]) - p[1], p[0] * p[1] - p[2]];
                    for k in 0..3 {
                        p[k] += dt * d[k];
                        if p[k] > 2.0 {
                            p[k] = 0.5 * p[k] + k as f64;
                            turns += step;
                        }
                    }
                    for x in [0.5, 0.25] {
                        p[1] = p[1] * 0.75 + x;
                    }
                    if p[0] < p[1] {
                        p[2] += 0.125;
                    } else {
                        turns += 1;
                    }
                }
                p[0] + p[1] * p[2] + f64::from(turns)
            }
        }
    );
    let acc = on_cpu();
    let (u, mut c) = (array(&acc, 7, [8, 64], [1, 1]), array(&acc, 9, [8, 64], [1, 1]));
    let told = tida::explain((&mut c, &u), steps!()).unwrap().to_string();
    assert!(told.contains("cells side by side"), "{told}");
}

#[test]
fn loops_within_loops() {
    let (wide, deep) = (37i64, 5i64);
    let weights = [0.5, 0.25, 0.125];
    on_all!(
        |u, acc, _shape, _regions, tile| {
            let a = array(acc, 1, [8, 40], [2, 3]);
            compute(
                &tile,
                (&mut u, all(&a)),
                kernel!(|u, a, at| {
                    let start = at[1] % 3;
                    let half = wide / 2;
                    let mut s = weights[0];
                    let mut most = a[[0, start]];
                    for k in 0..deep {
                        let scale = 1.0 / (k + 1) as f64;
                        let mut part = s * weights[1];
                        for l in 0..=half {
                            let x = a[[k, l + start]];
                            if x > most {
                                most = x;
                                part -= weights[2];
                            }
                            part += x * scale;
                        }
                        s = s * 0.5 + part;
                        for l in half..wide {
                            s += a[[k, l]] * part;
                        }
                    }
                    for d in 0..3 {
                        s *= weights[d];
                    }
                    u[at] = s + most;
                }),
            )
        },
        |_: [usize; 2]| move |[_, i]: [usize; 2]| {
            let a = |k: i64, l: i64| value(1, [k as usize, l as usize, 0]);
            let start = i as i64 % 3;
            let half = wide / 2;
            let mut s = weights[0];
            let mut most = a(0, start);
            for k in 0..deep {
                let scale = 1.0 / (k + 1) as f64;
                let mut part = s * weights[1];
                for l in 0..=half {
                    let x = a(k, l + start);
                    if x > most {
                        most = x;
                        part -= weights[2];
                    }
                    part += x * scale;
                }
                s = s * 0.5 + part;
                for l in half..wide {
                    s += a(k, l) * part;
                }
            }
            for w in weights {
                s *= w;
            }
            s + most
        }
    );
}

/// A name that is bound again is another variable, before, in and after a loop; so is one that hides an argument or the
/// cell.
#[test]
fn names_that_hide_others() {
    let n = 41i64;
    on_all!(
        |u, acc, shape, regions, tile| {
            let mut v = array(acc, 4, shape, regions);
            v.fill_ghosts().unwrap();
            compute(
                &tile,
                (&mut u, &v),
                kernel!(|u, v, at| {
                    let x = v[at];
                    let mut s = x;
                    let i = at[1];
                    let x = v[at + [1, 0]] - x;
                    let mut last = 0.0;
                    for k in 0..n {
                        let i = (i + k) as f64;
                        let x = x * i;
                        s += x;
                        let at = at + [0, 0];
                        let at = at[1] as f64;
                        let s = x + s;
                        let mut x = s;
                        for l in 0..n {
                            x += (l * k) as f64;
                            let i = x;
                            last = i + at;
                        }
                    }
                    let v = s + x;
                    u[at] = v * i as f64 + last;
                }),
            )
        },
        |shape: [usize; 2]| move |[j, i]: [usize; 2]| {
            let v = |j: usize| value(4, [j % shape[0], i, 0]);
            let mut s = v(j);
            let x = v(j + 1) - v(j);
            let mut last = 0.0;
            for k in 0..n {
                s += x * (i as i64 + k) as f64;
                let mut y = x * (i as i64 + k) as f64 + s;
                for l in 0..n {
                    y += (l * k) as f64;
                    last = y + i as f64;
                }
            }
            (s + x) * i as f64 + last
        }
    );
}

/// Locals that hide others of the same kind, across the phases of a block.
#[test]
fn names_that_hide_their_like() {
    let n = 41i64;
    on_all!(
        |u, acc, shape, regions, tile| {
            let v = array(acc, 4, shape, regions);
            compute(
                &tile,
                (&mut u, &v),
                kernel!(|u, v, at| {
                    let x = v[at];
                    let mut s = x;
                    let x = v[at + [1, 0]] - x;
                    for k in 0..n {
                        let x = x * k as f64;
                        s += x;
                        let s = x + s;
                        let mut x = s;
                        for l in 0..n {
                            x += (l * k) as f64;
                        }
                        for l in 0..n {
                            x -= l as f64 * s;
                        }
                    }
                    u[at] = s + x;
                }),
            )
        },
        |shape: [usize; 2]| move |[j, i]: [usize; 2]| {
            let v = |j: usize| value(4, [j % shape[0], i, 0]);
            let x = v(j + 1) - v(j);
            (0..n).fold(v(j), |s, k| s + x * k as f64) + x
        }
    );
}

/// A loop's variable that hides what is made from the cell, and a local that hides what is the same for all cells:
/// other locals are made from these.
#[test]
fn names_that_hide_what_others_are_made_from() {
    let n = 41i64;
    on_all!(
        |u, acc, _shape, _regions, tile| {
            let a = array(acc, 1, [64, 600], [2, 2]);
            compute(
                &tile,
                (&mut u, all(&a)),
                kernel!(|u, a, at| {
                    let i = at[1];
                    let j = i + 1;
                    let mut s = 0.0;
                    for r#i in 0..n {
                        s += a[[i, j]];
                    }
                    let w = n - 40;
                    let q = at[1] + w;
                    let w = at[1] % 3;
                    for k in 0..n {
                        s += a[[k, q + 2]] * w as f64;
                    }
                    u[at] = s + i as f64;
                }),
            )
        },
        |_: [usize; 2]| move |[_, i]: [usize; 2]| {
            let a = |k: i64, l: usize| value(1, [k as usize, l, 0]);
            let s = (0..n).fold(0.0, |s, k| s + a(k, i + 1));
            let w = (i % 3) as f64;
            (0..n).fold(s, |s, k| s + a(k, i + 3) * w) + i as f64
        }
    );
}

/// Where a loop turns differently in each cell, or ends early, each cell takes it by itself.
#[test]
fn loops_that_differ_from_cell_to_cell() {
    let n = 50i64;
    on_all!(
        |u, acc, _shape, _regions, tile| {
            let a = array(acc, 1, [1, 64], [1, 1]);
            compute(
                &tile,
                (&mut u, all(&a)),
                kernel!(|u, a, at| {
                    let mut s = 0.0;
                    for k in 0..at[1] % 7 {
                        s += a[[0, k]];
                    }
                    for k in 0..n {
                        let x = a[[0, k]];
                        for l in k..n {
                            s += x * a[[0, l]];
                            if l > k + 3 {
                                break;
                            }
                        }
                        if s > 20.0 {
                            s -= 20.0;
                        } else {
                            let mut k = 0;
                            while k < 3 {
                                s += 0.5;
                                k += 1;
                            }
                        }
                    }
                    for k in 0..n {
                        if k == at[0] {
                            continue;
                        }
                        s += 1.0;
                    }
                    u[at] = s;
                }),
            )
        },
        |_: [usize; 2]| move |[j, i]: [usize; 2]| {
            let a = |k: i64| value(1, [0, k as usize, 0]);
            let mut s = 0.0;
            for k in 0..i as i64 % 7 {
                s += a(k);
            }
            for k in 0..n {
                let x = a(k);
                for l in k..n {
                    s += x * a(l);
                    if l > k + 3 {
                        break;
                    }
                }
                if s > 20.0 {
                    s -= 20.0;
                } else {
                    s += 1.5;
                }
            }
            for k in 0..n {
                if k != j as i64 {
                    s += 1.0;
                }
            }
            s
        }
    );
}

/// Points, tuples, lists and tables kept through loops; other axes than two; values of reductions.
#[test]
fn all_kinds_of_values_are_kept() {
    let n = 40usize;
    let w: Vec<f64> = (0..n).map(|k| 1.0 / (k + 1) as f64).collect();
    for acc in everywhere() {
        let mut line = TileArray::<f64, 1>::builder([1000])
            .regions([3])
            .ghost(1)
            .boundary(Boundary::Periodic)
            .build(&acc)
            .unwrap();
        line.fill(|[i]| value(5, [i, 0, 0])).unwrap();
        line.fill_ghosts().unwrap();
        let mut u = TileArray::<f64, 3>::builder([3, 5, 300]).regions([2, 1, 2]).build(&acc).unwrap();
        for tile in TileIter::new(&u).tile_size([2, 3, 128]) {
            compute(
                &tile,
                (&mut u, all(&line), table(&w)),
                kernel!(|u, line, w, at| {
                    let p = at + [0, 1, 0];
                    let mut q = at;
                    let (mut low, mut high) = (1.0, 0.0);
                    let mut sums = [0.0; 4];
                    for k in 0..n as i64 {
                        let x = line[[p[2] + k]] * w[k as usize];
                        low = x.min(low);
                        high = x.max(high);
                        sums[(k % 4) as usize] += x;
                        q += [0, 0, 2];
                    }
                    let mut all = low + high;
                    for k in 0..4 {
                        all += sums[k];
                    }
                    u[at] = all + (q[2] - p[1]) as f64;
                }),
            )
            .unwrap();
        }
        let want = |[_, j, i]: [usize; 3]| {
            let (mut low, mut high, mut sums) = (1.0f64, 0.0f64, [0.0; 4]);
            for k in 0..n {
                let x = value(5, [i + k, 0, 0]) * w[k];
                (low, high) = (x.min(low), x.max(high));
                sums[k % 4] += x;
            }
            sums.iter().fold(low + high, |all, x| all + x) + (i as i64 + 2 * n as i64 - j as i64 - 1) as f64
        };
        same(&acc, u.to_ndarray().unwrap().into_dyn(), want);
        let most = reduce(
            &line,
            ArgMax,
            kernel!(|line, at| {
                let mut s = line[at];
                for k in 0..n as i64 {
                    s = s * 0.75 + line[at] * k as f64;
                }
                s
            }),
        )
        .unwrap();
        let of = |i: usize| {
            let x = value(5, [i, 0, 0]);
            (0..n).fold(x, |s, k| s * 0.75 + x * k as f64)
        };
        let best = (0..1000).max_by(|a, b| of(*a).total_cmp(&of(*b))).unwrap();
        assert_eq!(most, ([best], of(best)), "on {acc}");
    }
}

/// The first cell that fails is told, though cells beside it run in the same block.
#[test]
fn the_first_cell_that_fails_is_told() {
    for acc in everywhere() {
        let mut u = TileArray::<i64, 2>::builder([20, 400]).build(&acc).unwrap();
        let bad = |[j, i]: [usize; 2]| [[7, 300], [7, 301], [8, 3]].contains(&[j, i]);
        u.fill(|[j, i]| if bad([j, i]) { (1000 * j + i) as i64 } else { 1 }).unwrap();
        let mut v = u.like().unwrap();
        let (n, w) = (100i64, [1i64, 2, 3]);
        for tile in TileIter::new(&v) {
            let recorded = compute(
                &tile,
                (&mut v, &u),
                kernel!(|v, u, at| {
                    let mut s = 0;
                    for k in 0..n {
                        s += k * w[u[at] as usize];
                    }
                    v[at] = s;
                }),
            );
            recorded.unwrap();
        }
        expect(v.to_ndarray().map(drop), ErrorKind::OutOfRange, &["entry 7300"]);
    }
}
