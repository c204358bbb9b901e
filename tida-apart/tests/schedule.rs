//! When recorded work runs, and what of it fails. That it gives the bits of program order is tested by random programs
//! (`soak`).
#![cfg(feature = "ndarray")]

use tida::prelude::*;
use tida::{Sum, reduce, reduce_later};

fn acc(threads: usize, look_ahead: usize) -> TileAcc {
    TileAcc::builder().threads(threads).look_ahead(look_ahead).build().unwrap()
}

#[test]
fn the_same_tile_twice_runs_twice() {
    let acc = acc(2, 256);
    let mut u = TileArray::<i64, 1>::builder([256]).build(&acc).unwrap();
    for tile in TileIter::new(&u).tile_size([32]) {
        for _ in 0..5 {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = u[at] * 2 + 1)).unwrap();
        }
    }
    assert!(u.to_ndarray().unwrap().iter().all(|v| *v == 31));
}

#[test]
fn work_starts_when_the_recorder_pauses() {
    let acc = acc(1, 256);
    let mut u = TileArray::<f64, 1>::builder([64]).build(&acc).unwrap();
    let later = reduce_later(&u, Sum, kernel!(|u, at| u[at] + 1.0)).unwrap();
    for tile in TileIter::new(&u) {
        compute(&tile, &mut u, kernel!(|u, at| u[at] = 1.0)).unwrap();
    }
    let after = reduce_later(&u, Sum, kernel!(|u, at| u[at])).unwrap();
    // A device's kernels are compiled meanwhile.
    for _ in 0..60_000 {
        if after.try_get().is_some() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!((later.try_get(), after.try_get()), (Some(64.0), Some(64.0)));
}

#[test]
fn dropping_arrays_and_accelerator_leaves_nothing_behind() {
    let acc = acc(2, 256);
    let u = TileArray::<f64, 2>::builder([64, 64]).build(&acc).unwrap();
    let mut next = u.like().unwrap();
    for tile in TileIter::new(&u).tile_size([8, 64]) {
        compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at] + 1.0)).unwrap();
    }
    let total = reduce_later(&next, Sum, kernel!(|u, at| u[at])).unwrap();
    drop((u, next, acc));
    assert_eq!(total.get().unwrap(), 4096.0);
}

#[test]
fn several_threads_record_on_one_accelerator() {
    let acc = acc(2, 8);
    std::thread::scope(|scope| {
        for t in 0..4 {
            let acc = &acc;
            scope.spawn(move || {
                let mut u = TileArray::<f64, 1>::builder([1024]).regions([4]).build(acc).unwrap();
                for _ in 0..50 {
                    for tile in TileIter::new(&u) {
                        compute(&tile, &mut u, kernel!(|u, at| u[at] += t as f64)).unwrap();
                    }
                }
                assert_eq!(reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap(), 51200.0 * t as f64);
            });
        }
    });
}

#[test]
fn host_closures_may_read_other_arrays() {
    // Threads of the pool wait for work that the pool has to do: with one thread there is none to spare.
    for threads in [1, 2] {
        let acc = acc(threads, 256);
        let mut u = TileArray::<f64, 1>::builder([256]).build(&acc).unwrap();
        let mut v = u.like().unwrap();
        for tile in TileIter::new(&u).tile_size([16]) {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = at[0] as f64)).unwrap();
        }
        v.fill(|[i]| u.read_box(GridBox::new([i as i64], [i as i64 + 1])).unwrap()[0] * 2.0).unwrap();
        assert!(v.to_ndarray().unwrap().indexed_iter().all(|(i, x)| *x == 2.0 * i as f64));
    }
}

#[test]
fn a_failed_tile_leaves_other_regions_intact() {
    let acc = acc(2, 256);
    let mut u = TileArray::<i64, 1>::builder([256]).regions([4]).build(&acc).unwrap();
    let mut next = u.like().unwrap();
    u.fill(|[i]| i as i64 - 100).unwrap();
    // One sweep is one piece of work: a failure poisons all that the sweep wrote, and nothing else.
    for tile in TileIter::new(&u).within([0], [64]) {
        compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = 1000 / u[at])).unwrap();
    }
    acc.sync().unwrap();
    for tile in TileIter::new(&u).within([64], [128]) {
        compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = 1000 / u[at])).unwrap();
    }
    assert_eq!(next.read_box(GridBox::new([64], [128])).unwrap_err().kind(), ErrorKind::Division);
    assert_eq!(next.to_ndarray().unwrap_err().kind(), ErrorKind::Division);
    let low = next.read_box(GridBox::new([0], [64])).unwrap();
    assert!(low.iter().enumerate().all(|(i, v)| *v == 1000 / (i as i64 - 100)));
    assert_eq!(next.read_box(GridBox::new([128], [256])).unwrap(), vec![0; 128]);
}
