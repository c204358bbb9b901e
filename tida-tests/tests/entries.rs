//! Loops over the entries of fixed-size arrays, in a kernel and in a function: the values of plain Rust, and the text
//! for devices of the entries written out.
#![forbid(unsafe_code)]

use tida::prelude::*;
use tida_tests::{everywhere, on_cpu};

/// The sum of a list with its numbers, by a function.
#[kernel_fn]
fn weighed(weights: [f64; 4], by: f64) -> f64 {
    let mut sum = 0.0;
    for (k, &w) in weights.iter().enumerate() {
        sum += w * by + k as f64;
    }
    sum
}

/// Loops over the entries of local and captured arrays, in each way in which Rust writes them.
#[test]
fn arrays_are_taken_entry_by_entry() {
    let weights = [0.5, 0.25, -1.0, 3.0];
    let rows = [[1i64, 2, 3], [4, 5, 6]];
    struct Held {
        offsets: [i64; 3],
    }
    let held = Held { offsets: [-1, 0, 2] };
    for acc in everywhere() {
        let mut u = TileArray::<f64, 1>::builder([90]).ghost(2).boundary(Boundary::Periodic).build(&acc).unwrap();
        u.fill(|[i]| (i * i % 37) as f64).unwrap();
        u.fill_ghosts().unwrap();
        let mut r = TileArray::<[f64; 6], 1>::builder([90]).build(&acc).unwrap();
        for tile in TileIter::new(&u) {
            compute(
                &tile,
                (&mut r, &u),
                kernel!(|r, u, at| {
                    let x = u[at];
                    let mut sum = [0.0; 6];
                    for w in weights {
                        sum[0] += w * x;
                    }
                    let mut own = [x, 1.0, x + 2.0];
                    for w in &own {
                        sum[1] = sum[1] * 0.5 + w;
                    }
                    // The loop has the entries that were there at its start.
                    for w in own {
                        own[2] = 100.0;
                        if w == 1.0 {
                            continue;
                        }
                        sum[2] += w + own[2];
                    }
                    for (k, row) in rows.iter().enumerate() {
                        for &n in row.iter() {
                            sum[3] += (n * (k as i64 + 1)) as f64;
                        }
                    }
                    for s in held.offsets {
                        sum[4] = 0.5 * sum[4] + u[at + [s]];
                    }
                    sum[5] = weighed(weights, x);
                    r[at] = sum;
                }),
            )
            .unwrap();
        }
        for (i, found) in r.read_box(r.domain()).unwrap().into_iter().enumerate() {
            let at = |i: usize| (i % 90 * (i % 90) % 37) as f64;
            let x = at(i);
            let mut sum = [0.0; 6];
            for w in weights {
                sum[0] += w * x;
            }
            for w in &[x, 1.0, x + 2.0] {
                sum[1] = sum[1] * 0.5 + w;
            }
            for w in [x, 1.0, x + 2.0] {
                if w == 1.0 {
                    continue;
                }
                sum[2] += w + 100.0;
            }
            sum[3] = 6.0 + 30.0;
            for s in [89, 0, 2] {
                sum[4] = 0.5 * sum[4] + at(i + s);
            }
            for (k, w) in weights.iter().enumerate() {
                sum[5] += w * x + k as f64;
            }
            assert_eq!(found, sum, "cell {i} on {acc}");
        }
    }
}

/// Loops whose turns change entries of an array, with bounds that the loops around give: upwards, down to them, and by
/// two; short ones, which are written out, and one that is not.
#[test]
fn arrays_are_sorted_entry_by_entry() {
    for acc in everywhere() {
        let mut u = TileArray::<u8, 2>::builder([11, 150]).ghost(1).boundary(Boundary::Periodic).build(&acc).unwrap();
        u.fill(|[j, i]| ((j * 37 + i * i * 11) % 251) as u8).unwrap();
        u.fill_ghosts().unwrap();
        let mut r = TileArray::<[u8; 4], 2>::builder([11, 150]).build(&acc).unwrap();
        for tile in TileIter::new(&r).tile_size([4, 70]) {
            compute(
                &tile,
                (&mut r, &u),
                kernel!(|r, u, at| {
                    let mut around = [0u8; 9];
                    for y in 0..3 {
                        for x in 0..3 {
                            around[(3 * y + x) as usize] = u[at + [y - 1, x - 1]];
                        }
                    }
                    let (mut least, mut twos, mut turned) = (around, around, around);
                    for first in 0..5 {
                        for other in first + 1..9 {
                            let (a, b) = (least[first as usize], least[other as usize]);
                            least[first as usize] = a.min(b);
                            least[other as usize] = a.max(b);
                        }
                    }
                    for end in (1..9).rev() {
                        for k in (0..end).step_by(2) {
                            let (a, b) = (twos[k as usize], twos[end as usize]);
                            twos[k as usize] = a.min(b);
                            twos[end as usize] = a.max(b);
                        }
                    }
                    for turn in 0..20 {
                        for k in 0..8 {
                            turned[k as usize] = turned[(k + 1) as usize] ^ (turn as u8);
                        }
                    }
                    r[at] = [least[4], twos[7], turned[0], turned[3]];
                }),
            )
            .unwrap();
        }
        let cell = |j: i64, i: i64| ((j.rem_euclid(11) * 37 + i.rem_euclid(150).pow(2) * 11) % 251) as u8;
        for (n, found) in r.read_box(r.domain()).unwrap().into_iter().enumerate() {
            let (j, i) = ((n / 150) as i64, (n % 150) as i64);
            let around: [u8; 9] = std::array::from_fn(|k| cell(j + k as i64 / 3 - 1, i + k as i64 % 3 - 1));
            let (mut least, mut twos, mut turned) = (around, around, around);
            least.sort_unstable();
            for end in (1..9).rev() {
                for k in (0..end).step_by(2) {
                    (twos[k], twos[end]) = (twos[k].min(twos[end]), twos[k].max(twos[end]));
                }
            }
            for turn in 0..20 {
                (0..8).for_each(|k| turned[k] = turned[k + 1] ^ turn);
            }
            assert_eq!(found, [least[4], twos[7], turned[0], turned[3]], "cell {j}, {i} on {acc}");
        }
    }
}

/// Devices get reads at the entries of a local array of numbers written out, as those of a list; reads at captured ones
/// are proven.
#[test]
fn offsets_are_written_out_or_proven() {
    let acc = on_cpu();
    let u = TileArray::<f64, 2>::builder([8, 70]).ghost(2).build(&acc).unwrap();
    let mut next = u.like().unwrap();
    let of_local = tida::explain(
        (&mut next, &u),
        kernel!(|next, u, at| {
            let offsets = [-1, 0, 2];
            let mut sum = 0.0;
            for r in offsets {
                sum += u[at + [0, r]];
            }
            next[at] = sum;
        }),
    )
    .unwrap();
    assert!(!of_local.source().contains("for ("), "{}", of_local.source());
    let (offsets, weights) = ([-1i64, 0, 2], [0.25, 0.5, 0.125]);
    let captured = tida::explain(
        (&mut next, &u),
        kernel!(|next, u, at| {
            let mut sum = 0.0;
            for (k, w) in weights.iter().enumerate() {
                sum += w * u[at + [0, offsets[k]]];
            }
            next[at] = sum;
        }),
    )
    .unwrap();
    for explained in [of_local, captured] {
        let text = explained.to_string();
        assert!(text.contains("checks: none needed"), "{text}");
    }
}
