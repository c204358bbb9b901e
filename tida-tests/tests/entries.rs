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
