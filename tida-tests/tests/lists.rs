//! Adding values of a list to their cells: in the order of the list, wherever it runs and however arrays are cut.

use tida::SimDevice;
use tida::prelude::*;
use tida_tests::{everywhere, expect, on_cpu, value};

/// The cell of each entry: some cells have many, most have none.
fn cells(entries: usize, shape: [usize; 2]) -> Vec<[i64; 2]> {
    let draw = |n: usize, k: usize| value(k as u64, [n, 1, 2]) - 0.5;
    let near = |n: usize, k: usize, size: usize| (draw(n, k) * draw(n, k + 1) * size as f64) as i64;
    (0..entries).map(|n| [near(n, 1, shape[0]), near(n, 3, shape[1])]).collect()
}

fn plain<T: Copy + std::ops::AddAssign>(shape: [usize; 2], first: T, cells: &[[i64; 2]], values: &[T]) -> Vec<T> {
    let mut sums = vec![first; shape[0] * shape[1]];
    for ([j, i], value) in cells.iter().zip(values) {
        sums[*j as usize * shape[1] + *i as usize] += *value;
    }
    sums
}

#[test]
fn sums_are_in_the_order_of_the_list() {
    let shape = [13, 200];
    let cells = cells(3000, shape);
    let values: Vec<f32> = (0..3000).map(|n| value(7, [n, 0, 0]) as f32).collect();
    let wanted = plain(shape, 0.25, &cells, &values);
    // In another order sums have other bits.
    let (mut turned, mut of) = (cells.clone(), values.clone());
    turned.reverse();
    of.reverse();
    assert_ne!(plain(shape, 0.25, &turned, &of), wanted);
    for acc in everywhere() {
        for (regions, tile) in [([1, 1], [13, 200]), ([3, 2], [2, 70]), ([4, 1], [13, 64])] {
            let mut u = TileArray::<f32, 2>::builder(shape).regions(regions).ghost(1).build(&acc).unwrap();
            u.fill_value(0.25).unwrap();
            let lists = CellLists::new(&u, cells.iter().copied()).unwrap();
            let values = TileArray::<f32, 1>::builder([3000]).build_slice(&acc, &values).unwrap();
            accumulate(u.tiles().tile_size(tile), &mut u, &lists, &values).unwrap();
            assert_eq!(u.read_box(u.domain()).unwrap(), wanted);
            let counts = plain(shape, 0, &cells, &[1; 3000]);
            assert_eq!(lists.count().read_box(u.domain()).unwrap(), counts);
            assert_eq!(lists.entries(), 3000);
        }
    }
}

/// The grid does not have room; the list has.
#[test]
fn out_of_core() {
    let shape = [240, 128];
    let cells = cells(500, shape);
    let values: Vec<f64> = (0..500).map(|n| value(8, [n, 0, 0])).collect();
    let bytes = (shape[0] * shape[1] * 8) as u64;
    let sim = TileAcc::builder().threads(2).simulate(SimDevice::new()).memory_limit(bytes / 2 + 20_000);
    for acc in [on_cpu(), sim.build().unwrap()] {
        let mut u = TileArray::<f64, 2>::builder(shape).regions([8, 1]).build(&acc).unwrap();
        u.fill_value(1.0).unwrap();
        let lists = CellLists::new(&u, cells.iter().copied()).unwrap();
        let values = TileArray::<f64, 1>::builder([500]).build_slice(&acc, &values).unwrap();
        for _ in 0..2 {
            accumulate(u.tiles(), &mut u, &lists, &values).unwrap();
        }
        let once = plain(shape, 1.0, &cells, &values.read_box(values.domain()).unwrap());
        let mut twice = once;
        for ([j, i], value) in cells.iter().zip(values.read_box(values.domain()).unwrap()) {
            twice[*j as usize * shape[1] + *i as usize] += value;
        }
        assert_eq!(u.read_box(u.domain()).unwrap(), twice);
    }
}

/// A kernel of one's own, with values that recorded work makes and lists of values on faces.
#[test]
fn own_kernels() {
    for acc in everywhere() {
        let builder = TileArray::<i64, 2>::builder([5, 70]).centering([Centering::Face, Centering::Cell]);
        let mut most = builder.regions([2, 1]).build(&acc).unwrap();
        let lists = CellLists::new(&most, [[5, 69], [0, 0], [5, 69], [2, 3]]).unwrap();
        let mut sizes = TileArray::<i64, 1>::builder([4]).build(&acc).unwrap();
        for tile in sizes.tiles() {
            compute(&tile, &mut sizes, kernel!(|sizes, at| sizes[at] = 10 - 3 * at[0])).unwrap();
        }
        for tile in most.tiles() {
            compute(
                &tile,
                (&mut most, lists.first(), lists.count(), all(lists.order()), all(&sizes)),
                kernel!(|most, first, count, order, sizes, at| {
                    most[at] = -1;
                    for k in 0..count[at] {
                        let n = order[[(first[at] + k) as i64]] as i64;
                        most[at] = most[at].max(sizes[[n]]);
                    }
                }),
            )
            .unwrap();
        }
        let found = most.read_box(most.domain()).unwrap();
        assert_eq!([found[0], found[1], found[143], found[419]], [7, -1, 1, 10]);
    }
}

#[test]
fn what_cannot_be_is_said() {
    let acc = on_cpu();
    let mut u = TileArray::<f64, 2>::builder([4, 64]).regions([2, 1]).build(&acc).unwrap();
    let outside = CellLists::new(&u, [[0, 0], [4, 0]]).map(drop);
    expect(outside, ErrorKind::Argument, &["entry 1 in cell [4, 0]", "a domain of [4, 64] cells"]);
    let lists = CellLists::new(&u, [[0, 0], [3, 0]]).unwrap();
    let values = TileArray::<f64, 1>::builder([3]).build(&acc).unwrap();
    expect(accumulate(u.tiles(), &mut u, &lists, &values), ErrorKind::Argument, &["3 values for 2 entries"]);
    let mut other = TileArray::<f64, 2>::builder([4, 64]).build(&acc).unwrap();
    let values = TileArray::<f64, 1>::builder([2]).build(&acc).unwrap();
    expect(accumulate(other.tiles(), &mut other, &lists, &values), ErrorKind::Cuts, &["regions"]);
    // No entry at all.
    let none = CellLists::new(&u, std::iter::empty()).unwrap();
    accumulate(u.tiles(), &mut u, &none, &values).unwrap();
    assert_eq!(u.read_box(u.domain()).unwrap(), [0.0; 256]);
}
