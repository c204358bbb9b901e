//! Reductions right after a sweep that wrote what they read: on a device they run with it, with the bits that they have
//! by themselves.
#![cfg(feature = "ndarray")]

use tida::acc::{Compile, TileAccBuilder};
use tida::prelude::*;
use tida_tests::{on_a_device, on_cpu, unhurried, value};

type Cube = TileArray<f64, 3>;

fn cubes(acc: &TileAcc, shape: [usize; 3], regions: [usize; 3]) -> [Cube; 4] {
    [0, 1, 2, 3].map(|n| {
        let builder = TileArray::builder(shape).ghost(1).regions(regions).boundary(Boundary::Fixed(0.25));
        let mut array = builder.build(acc).unwrap();
        array.fill(|at| value(n, at) - 0.5).unwrap();
        array
    })
}

/// Iterations like those of conjugate gradients, with folds of several sorts; what they gave and what the arrays are
/// then.
fn program(acc: &TileAcc, (shape, regions): ([usize; 3], [usize; 3]), steps: usize) -> tida::Result<Vec<u64>> {
    let [mut x, mut r, mut p, mut q] = cubes(acc, shape, regions);
    let mut given = Vec::new();
    let mut rr: f64 = reduce(&r, Sum, kernel!(|r, at| r[at] * r[at]))?;
    for _ in 0..steps {
        p.fill_ghosts()?;
        for tile in TileIter::new(&q).tile_size([3, 4, 70]) {
            compute(
                &tile,
                (&mut q, &p),
                kernel!(|q, p, at| {
                    q[at] = 6.0 * p[at] - p[at - [0, 0, 1]] - p[at + [0, 0, 1]] - p[at - [1, 0, 0]] - p[at + [0, 1, 0]];
                }),
            )?;
        }
        let pq: f64 = reduce((&p, &q), Sum, kernel!(|p, q, at| p[at] * q[at]))?;
        let alpha = rr / pq;
        for tile in TileIter::new(&x) {
            compute(&tile, (&mut x, &p), kernel!(|x, p, at| x[at] = x[at] + alpha * p[at]))?;
        }
        for tile in TileIter::new(&r) {
            compute(&tile, (&mut r, &q), kernel!(|r, q, at| r[at] = r[at] - alpha * q[at]))?;
        }
        // Once more, without a sweep between.
        let (scale, next) = (rr, reduce(&r, Sum, kernel!(|r, at| r[at] * r[at]))?);
        let largest: f64 = reduce(&r, Max, kernel!(|r, at| r[at] / scale))?;
        rr = next;
        for tile in TileIter::new(&p) {
            compute(&tile, (&mut p, &r), kernel!(|p, r, at| p[at] = 0.5 * (r[at] + largest * p[at])))?;
        }
        let (place, least) = reduce(&p, ArgMin, kernel!(|p, at| p[at]))?;
        given.extend([pq, rr, largest, least].map(f64::to_bits));
        given.extend(place.map(|n| n as u64));
    }
    for array in [&x, &r, &p, &q] {
        given.extend(array.to_ndarray()?.iter().map(|value| value.to_bits()));
    }
    acc.sync()?;
    Ok(given)
}

fn check(builder: TileAccBuilder, place: ([usize; 3], [usize; 3]), steps: usize) -> Option<tida::acc::Stats> {
    let case = format!("{builder:?}, {place:?}");
    let acc = on_a_device(builder)?;
    let (found, expected) = (program(&acc, place, steps).unwrap(), program(&on_cpu(), place, steps).unwrap());
    let first = found.iter().zip(&expected).position(|(a, b)| a != b);
    assert_eq!((first, found.len()), (None, expected.len()), "{case}");
    Some(acc.stats())
}

const PLACES: [([usize; 3], [usize; 3]); 5] = [
    ([9, 10, 130], [1, 1, 1]),
    ([6, 17, 64], [2, 1, 1]),
    ([7, 9, 256], [1, 2, 2]),
    // Cuts inside of segments.
    ([5, 6, 100], [1, 1, 2]),
    ([1, 1, 7], [1, 1, 1]),
];

#[test]
fn reductions_run_with_the_sweep_before_them() {
    for place in PLACES {
        let steps = 3;
        let run = |join| check(unhurried().join(join), place, steps);
        let (Some(one), Some(apart)) = (run(true), run(false)) else { return };
        // Those of `q`, of `r` and of `p`; the one that follows another one runs by itself.
        assert_eq!((one.joined, apart.joined), (3 * steps as u64, 0), "{place:?}");
    }
}

#[test]
fn kernels_that_are_compiled_beside_give_the_same_bits() {
    for place in PLACES {
        if check(TileAcc::builder().compile(Compile::Beside), place, 5).is_none() {
            return;
        }
    }
}

/// A sweep over all cells, and something else that is recorded before or is reduced.
fn joined(what: impl Fn(&TileAcc, &mut [Cube; 4]) -> f64) -> Option<u64> {
    let run = |acc: &TileAcc| {
        let mut all = cubes(acc, [6, 7, 90], [2, 1, 1]);
        all.iter_mut().for_each(|array| array.fill_ghosts().unwrap());
        let given = what(acc, &mut all);
        let cells: Vec<u64> = all[0].to_ndarray().unwrap().iter().map(|value| value.to_bits()).collect();
        (given.to_bits(), cells, acc.stats().joined)
    };
    let (found, expected) = (run(&on_a_device(unhurried())?), run(&on_cpu()));
    assert_eq!((found.0, found.1), (expected.0, expected.1));
    Some(found.2)
}

fn add(out: &mut Cube, a: &Cube, tiles: TileIter<3>) {
    for tile in tiles {
        compute(&tile, (&mut *out, a), kernel!(|out, a, at| out[at] = out[at] + a[at])).unwrap();
    }
}

#[test]
fn what_waits_for_more_runs_by_itself() {
    // Of neighbours.
    let around = |_: &TileAcc, [x, a, ..]: &mut [Cube; 4]| {
        add(x, a, TileIter::new(x));
        reduce((&*x, &*a), Sum, kernel!(|x, a, at| x[at] * a[at + [0, 0, 1]])).unwrap()
    };
    // Of an array that the sweep does not touch.
    let other = |_: &TileAcc, [x, a, b, _]: &mut [Cube; 4]| {
        add(b, a, TileIter::new(b));
        add(x, a, TileIter::new(x));
        reduce((&*x, &*b), Sum, kernel!(|x, b, at| x[at] * b[at])).unwrap()
    };
    // Of a part of the cells; after a sweep over a part.
    let part = |_: &TileAcc, [x, a, ..]: &mut [Cube; 4]| {
        add(x, a, TileIter::new(x));
        reduce_over(GridBox::new([1, 0, 3], [5, 7, 80]), &*x, Sum, kernel!(|x, at| x[at])).unwrap()
    };
    let after = |_: &TileAcc, [x, a, ..]: &mut [Cube; 4]| {
        add(x, a, TileIter::new(x).within([1, 0, 0], [6, 7, 90]));
        reduce(&*x, Sum, kernel!(|x, at| x[at])).unwrap()
    };
    // A value that is not there yet.
    let deferred = |_: &TileAcc, [x, a, ..]: &mut [Cube; 4]| {
        let sum = reduce_later(&*a, Sum, kernel!(|a, at| a[at])).unwrap();
        add(x, a, TileIter::new(x));
        reduce(&*x, Sum, kernel!(|x, at| x[at] * sum)).unwrap()
    };
    // Several joined sweeps: of these only the last one, which the reduction reads, has it.
    let last = |_: &TileAcc, [x, a, b, _]: &mut [Cube; 4]| {
        add(b, a, TileIter::new(b));
        add(x, a, TileIter::new(x));
        reduce(&*x, Sum, kernel!(|x, at| x[at])).unwrap()
    };
    for (number, (found, joined)) in [
        (joined(around), 0),
        (joined(other), 1),
        (joined(part), 0),
        (joined(after), 0),
        (joined(deferred), 0),
        (joined(last), 1),
    ]
    .into_iter()
    .enumerate()
    {
        let Some(found) = found else { return };
        assert_eq!(found, joined, "case {number}");
    }
}
