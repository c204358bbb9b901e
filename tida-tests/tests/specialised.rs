//! Stars whose radius is a constant with a name, which a kernel captures: the bits of plain loops on every device, for
//! more radii than kernels are specialised for.
#![cfg(feature = "ndarray")]

use tida::prelude::*;
use tida_tests::{everywhere, value};

const C: [f64; 8] = [-2.5, 1.6, -0.2, 0.025, -0.0018, 0.5, 0.25, 0.125];
const SHAPE: [usize; 2] = [24, 40];

#[test]
fn stars_of_captured_radius_have_the_bits_of_plain_loops() {
    for acc in everywhere() {
        let start = |at: [usize; 2]| value(7, [0, at[0], at[1]]);
        let mut u = TileArray::<f64, 2>::builder(SHAPE)
            .regions([2, 1])
            .ghost(7)
            .boundary(Boundary::Periodic)
            .build(&acc)
            .unwrap();
        u.fill(start).unwrap();
        u.fill_ghosts().unwrap();
        let mut next = u.like().unwrap();
        for radius in [1i64, 4, 2, 3, 5, 6, 7, 4, 0, -3] {
            for tile in TileIter::new(&u) {
                compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| {
                        let mut sum = C[0] * u[at];
                        for r in 1..radius + 1 {
                            sum += C[r as usize] * (u[at + [r, 0]] + u[at - [r, 0]] + u[at + [0, r]] + u[at - [0, r]]);
                        }
                        next[at] = sum;
                    }),
                )
                .unwrap();
            }
            let found = next.to_ndarray().unwrap();
            let at = |i: i64, j: i64| {
                start([i.rem_euclid(SHAPE[0] as i64) as usize, j.rem_euclid(SHAPE[1] as i64) as usize])
            };
            for (n, found) in found.iter().enumerate() {
                let (i, j) = ((n / SHAPE[1]) as i64, (n % SHAPE[1]) as i64);
                let mut sum = C[0] * at(i, j);
                for r in 1..radius + 1 {
                    sum += C[r as usize] * (at(i + r, j) + at(i - r, j) + at(i, j + r) + at(i, j - r));
                }
                assert_eq!(found.to_bits(), sum.to_bits(), "{} radius {radius} at {i} {j}", acc.device().name());
            }
        }
    }
}
