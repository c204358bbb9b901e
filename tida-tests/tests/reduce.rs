//! Reductions: the order that the documentation states, for any cut, tile and thread count.
#![cfg(feature = "ndarray")]

use proptest::prelude::*;
use tida::prelude::*;
use tida::{ArgMax, ArgMin, Max, Min, Product, Sum, reduce, reduce_over};

/// The stated order, in plain code: segments of 64 along the last axis, folded by halves, then a tree of 64s.
fn oracle<P: Copy>(rows: &[Vec<P>], first: i64, identity: P, combine: impl Fn(P, P) -> P + Copy) -> P {
    let halves = |mut v: Vec<P>| {
        v.resize(64, identity);
        let mut half = 32;
        while half > 0 {
            for i in 0..half {
                v[i] = combine(v[i], v[i + half]);
            }
            half /= 2;
        }
        v[0]
    };
    let mut list = Vec::new();
    for row in rows {
        let mut segment = vec![identity; first.rem_euclid(64) as usize];
        for x in row {
            segment.push(*x);
            if segment.len() == 64 {
                list.push(halves(std::mem::take(&mut segment)));
            }
        }
        if !segment.is_empty() {
            list.push(halves(segment));
        }
    }
    while list.len() > 1 {
        list = list.chunks(64).map(|c| halves(c.to_vec())).collect();
    }
    list[0]
}

fn value(seed: u64, n: usize) -> f64 {
    let x = (seed ^ n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((x >> 11) as f64 / (1u64 << 53) as f64 - 0.5) * 10f64.powi((x % 7) as i32)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn any_cut_gives_the_stated_order(
        shape in [1usize..6, 1usize..9, 1usize..3000],
        regions in [1usize..3, 1usize..3, 1usize..4],
        threads in 1usize..4,
        seed in any::<u64>(),
        face in any::<bool>(),
        part in prop::array::uniform3((0.0f64..1.0, 0.0f64..1.0)),
    ) {
        let regions: [usize; 3] = std::array::from_fn(|d| {
            regions[d].min(if d == 2 { shape[d].div_ceil(64) } else { shape[d] })
        });
        let acc = TileAcc::builder().threads(threads).build().unwrap();
        let last = if face { Centering::Face } else { Centering::Cell };
        let mut u = TileArray::<f64, 3>::builder(shape)
            .regions(regions)
            .centering([Centering::Cell, Centering::Cell, last])
            .build(&acc)
            .unwrap();
        let n = shape[2] + usize::from(face);
        let at = |k: usize, j: usize, i: usize| value(seed, (k * shape[1] + j) * n + i);
        u.fill(|[k, j, i]| at(k, j, i)).unwrap();
        let ends = [shape[0], shape[1], n];
        let lo: [usize; 3] = std::array::from_fn(|d| (part[d].0 * ends[d] as f64) as usize);
        let hi: [usize; 3] = std::array::from_fn(|d| lo[d] + 1 + (part[d].1 * (ends[d] - lo[d] - 1) as f64) as usize);
        let rows = |lo: [usize; 3], hi: [usize; 3]| -> Vec<Vec<f64>> {
            (lo[0]..hi[0])
                .flat_map(|k| (lo[1]..hi[1]).map(move |j| (k, j)))
                .map(|(k, j)| (lo[2]..hi[2]).map(|i| at(k, j, i)).collect())
                .collect()
        };
        let cells = GridBox::new(lo.map(|x| x as i64), hi.map(|x| x as i64));
        let sum = reduce_over(cells, &u, Sum, kernel!(|u, at| u[at])).unwrap();
        prop_assert_eq!(sum.to_bits(), oracle(&rows(lo, hi), cells.lo[2], -0.0, |a, b| a + b).to_bits());
        let sum = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
        let all = rows([0; 3], ends);
        prop_assert_eq!(sum.to_bits(), oracle(&all, 0, -0.0, |a, b| a + b).to_bits());
        let highest = reduce(&u, Max, kernel!(|u, at| u[at])).unwrap();
        let want = all.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
        prop_assert_eq!(highest, want);
        let (place, v) = reduce(&u, ArgMin, kernel!(|u, at| u[at])).unwrap();
        let lowest = all.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        prop_assert_eq!(v, lowest);
        let first = all.iter().flatten().position(|x| *x == lowest).unwrap();
        prop_assert_eq!((place[0] * shape[1] + place[1]) * n + place[2], first);
    }
}

/// Rows of whole segments, which are folded many at once, and boxes that start or end inside of one; enough cells for
/// pieces that fold groups of the tree, and for some that cannot.
#[test]
fn whole_segments_give_the_stated_order() {
    for (shape, regions) in [
        ([3, 40, 64], [1, 1, 1]),
        ([5, 33, 128], [1, 1, 1]),
        ([64, 128, 128], [1, 1, 1]),
        ([33, 100, 320], [2, 1, 1]),
        ([40, 64, 64], [2, 2, 1]),
        ([2, 70, 1152], [1, 1, 2]),
        ([2, 3, 40_000], [1, 1, 1]),
    ] {
        let acc = TileAcc::builder().threads(1 + shape[1] % 2).build().unwrap();
        let mut u = TileArray::<f64, 3>::builder(shape).regions(regions).build(&acc).unwrap();
        let at = |k: usize, j: usize, i: usize| value(7, (k * shape[1] + j) * shape[2] + i);
        u.fill(|[k, j, i]| at(k, j, i)).unwrap();
        let end = shape.map(|n| n as i64);
        for (lo, hi) in [([0; 3], end), ([1, 2, 32], [end[0], end[1] - 1, end[2] - 32]), ([0, 1, 0], [2, end[1], 64])] {
            let values = |k: i64, j: i64| (lo[2]..hi[2]).map(move |i| at(k as usize, j as usize, i as usize));
            let rows = || (lo[0]..hi[0]).flat_map(|k| (lo[1]..hi[1]).map(move |j| (k, j)));
            let doubles: Vec<Vec<f64>> = rows().map(|(k, j)| values(k, j).collect()).collect();
            let cells = GridBox::new(lo, hi);
            if cells.is_empty() {
                continue;
            }
            let sum = reduce_over(cells, &u, Sum, kernel!(|u, at| u[at])).unwrap();
            assert_eq!(sum.to_bits(), oracle(&doubles, lo[2], -0.0, |a, b| a + b).to_bits(), "{shape:?} {cells:?}");
            let floats: Vec<Vec<f32>> = doubles.iter().map(|row| row.iter().map(|x| *x as f32).collect()).collect();
            let sum = reduce_over(cells, &u, Sum, kernel!(|u, at| u[at] as f32)).unwrap();
            assert_eq!(sum.to_bits(), oracle(&floats, lo[2], -0.0f32, |a, b| a + b).to_bits(), "{shape:?} {cells:?}");
            let product = reduce_over(cells, &u, Product, kernel!(|u, at| 1.0 + u[at] * 1e-9)).unwrap();
            let factors: Vec<Vec<f64>> =
                doubles.iter().map(|row| row.iter().map(|x| 1.0 + x * 1e-9).collect()).collect();
            assert_eq!(product.to_bits(), oracle(&factors, lo[2], 1.0, |a, b| a * b).to_bits(), "{shape:?} {cells:?}");
            let (place, highest) = reduce_over(cells, &u, ArgMax, kernel!(|u, at| u[at])).unwrap();
            let want = doubles.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
            let first = rows().find_map(|(k, j)| {
                values(k, j).position(|x| x == want).map(|i| [k as usize, j as usize, lo[2] as usize + i])
            });
            assert_eq!((Some(place), highest), (first, want), "{shape:?} {cells:?}");
        }
    }
}

#[test]
fn every_tile_of_a_region_sums_to_the_region() {
    let acc = TileAcc::builder().threads(2).build().unwrap();
    let mut u = TileArray::<u64, 2>::builder([20, 300]).regions([2, 2]).build(&acc).unwrap();
    u.fill(|[j, i]| (j * 1000 + i) as u64).unwrap();
    let total = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
    let mut parts = 0;
    for tile in TileIter::new(&u).tile_size([3, 50]) {
        parts += reduce_over(&tile, &u, Sum, kernel!(|u, at| u[at])).unwrap();
    }
    assert_eq!(parts, total);
    assert_eq!(total, (0..20u64).map(|j| (0..300u64).map(|i| j * 1000 + i).sum::<u64>()).sum());
}

#[test]
fn of_several_arrays_and_of_other_types() {
    let acc = TileAcc::builder().threads(2).build().unwrap();
    let mut a =
        TileArray::<f32, 1>::builder([1000]).regions([3]).ghost(1).boundary(Boundary::Periodic).build(&acc).unwrap();
    let mut b = a.like().unwrap();
    a.fill(|[i]| i as f32).unwrap();
    b.fill(|[i]| (i % 10) as f32).unwrap();
    a.fill_ghosts().unwrap();
    let dot = reduce((&a, &b), Sum, kernel!(|a, b, at| (a[at] * b[at]) as f64)).unwrap();
    assert_eq!(dot, (0..1000).map(|i| (i * (i % 10)) as f64).sum::<f64>());
    let count = reduce(&a, Sum, kernel!(|a, at| if a[at + [1]] > a[at] { 1u64 } else { 0 })).unwrap();
    assert_eq!(count, 999);
    let product = reduce_over(GridBox::new([1], [11]), &b, Product, kernel!(|b, at| b[at] as i64 + 1)).unwrap();
    assert_eq!(product, 3_628_800);
}

/// No cell reads nothing, whatever the kernel would read.
#[test]
fn of_no_cells() {
    let acc = TileAcc::auto().unwrap();
    let u = TileArray::<f64, 1>::builder([8]).build(&acc).unwrap();
    let none = GridBox::new([0], [0]);
    let sum: f64 = reduce_over(none, &u, Sum, kernel!(|u, at| u[at - [1]] + u[at + [1]])).unwrap();
    let product: f64 =
        reduce_over(none, (&u, all(&u)), Product, kernel!(|u, w, at| u[at] * w[[at[0] * at[0]]])).unwrap();
    assert_eq!((sum.to_bits(), product), (0, 1.0));
}

#[test]
fn nan_and_ties() {
    let acc = TileAcc::builder().threads(2).build().unwrap();
    let mut u = TileArray::<f64, 1>::builder([500]).regions([4]).build(&acc).unwrap();
    u.fill(|[i]| (i % 7) as f64).unwrap();
    assert_eq!(reduce(&u, ArgMax, kernel!(|u, at| u[at])).unwrap(), ([6], 6.0));
    assert_eq!(reduce(&u, ArgMin, kernel!(|u, at| u[at])).unwrap(), ([0], 0.0));
    u.fill(|[i]| if i == 321 || i == 77 { f64::NAN } else { i as f64 }).unwrap();
    assert!(reduce(&u, Min, kernel!(|u, at| u[at])).unwrap().is_nan());
    assert!(reduce(&u, Max, kernel!(|u, at| u[at])).unwrap().is_nan());
    assert!(reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap().is_nan());
    assert_eq!(reduce(&u, ArgMin, kernel!(|u, at| u[at])).unwrap().0, [77]);
    u.fill(|[i]| if i % 2 == 0 { 0.0 } else { -0.0 }).unwrap();
    assert_eq!(reduce(&u, Min, kernel!(|u, at| u[at])).unwrap().to_bits(), (-0.0f64).to_bits());
    assert_eq!(reduce(&u, Max, kernel!(|u, at| u[at])).unwrap().to_bits(), 0.0f64.to_bits());
}

#[test]
fn vector_operations() {
    let acc = TileAcc::builder().threads(2).build().unwrap();
    let mut x = TileArray::<f64, 2>::builder([30, 70]).regions([3, 1]).build(&acc).unwrap();
    let mut y = x.like().unwrap();
    x.fill(|[j, i]| (j + i) as f64).unwrap();
    y.fill(|[j, i]| (j * i) as f64).unwrap();
    axpy(3.0, &x, &mut y).unwrap();
    let want = |j: usize, i: usize| (3 * (j + i) + j * i) as f64;
    assert!(y.to_ndarray().unwrap().indexed_iter().all(|((j, i), v)| *v == want(j, i)));
    let cells = || (0..30usize).flat_map(|j| (0..70usize).map(move |i| (j, i)));
    assert_eq!(dot(&x, &y).unwrap(), cells().map(|(j, i)| (j + i) as f64 * want(j, i)).sum::<f64>());
    assert_eq!(norm(&x).unwrap(), cells().map(|(j, i)| ((j + i) * (j + i)) as f64).sum::<f64>().sqrt());
}
