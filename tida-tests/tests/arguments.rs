//! Kernels of many arguments.
#![cfg(feature = "ndarray")]

use tida::prelude::*;
use tida_tests::{everywhere, value};

/// As many arguments as a kernel may have, of which some are written.
#[test]
fn sixteen_arguments() {
    for acc in everywhere() {
        let mut make = |n: u64| {
            let mut a = TileArray::<f64, 2>::builder([9, 130]).regions([2, 2]).build(&acc).unwrap();
            a.fill(move |[j, i]| value(n, [j, i, 0])).unwrap();
            a
        };
        let [mut p, mut q, mut r]: [TileArray<f64, 2>; 3] = std::array::from_fn(|_| make(0));
        let all: Vec<_> = (1..=12).map(&mut make).collect();
        let [a, b, c, d, e, f, g, h, i, j, k, l] = all.as_slice() else { panic!("twelve of them") };
        let w = [0.5, 0.25];
        for tile in TileIter::new(&p) {
            compute(
                &tile,
                (&mut p, &mut q, &mut r, a, b, c, d, e, f, g, h, i, j, k, l, table(&w)),
                kernel!(|p, q, r, a, b, c, d, e, f, g, h, i, j, k, l, w, at| {
                    let s = a[at] + b[at] * c[at] + d[at] * e[at] + f[at];
                    let t = g[at] - h[at] * i[at] + j[at] * w[1];
                    p[at] = s;
                    q[at] = t + k[at];
                    r[at] = s * w[0] + t * l[at];
                }),
            )
            .unwrap();
        }
        let (p, q, r) = (p.to_ndarray().unwrap(), q.to_ndarray().unwrap(), r.to_ndarray().unwrap());
        for ((j, i), p) in p.indexed_iter() {
            let [_, a, b, c, d, e, f, g, h, m, n, k, l]: [f64; 13] =
                std::array::from_fn(|seed| value(seed as u64, [j, i, 0]));
            let s = a + b * c + d * e + f;
            let t = g - h * m + n * 0.25;
            let want = [s, t + k, s * 0.5 + t * l];
            assert_eq!([*p, q[[j, i]], r[[j, i]]].map(f64::to_bits), want.map(f64::to_bits), "at {j}, {i} on {acc}");
        }
    }
}
