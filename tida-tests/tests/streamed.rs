//! Reports of work over arrays that stream say in which pieces, in how many passes and with which bytes it ran, and
//! which line ended it.
#![cfg(feature = "ndarray")]

use tida::prelude::*;
use tida::{SimDevice, Streamed, StreamedBy, TileAccBuilder, all};

type Array = TileArray<f64, 2>;

fn builder() -> TileAccBuilder {
    TileAcc::builder().threads(2).simulate(SimDevice::new()).patience(std::time::Duration::from_secs(60))
}

fn two(acc: &TileAcc, regions: [usize; 2]) -> (Array, Array) {
    let mut u = Array::builder([64, 128]).regions(regions).ghost(1).boundary(Boundary::Periodic).build(acc).unwrap();
    u.fill(|[row, column]| (row * column) as f64).unwrap();
    let next = u.like().unwrap();
    (u, next)
}

/// The line of the last sweep.
fn steps(u: &mut Array, next: &mut Array, steps: usize) -> u32 {
    let mut line = 0;
    for _ in 0..steps {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(u) {
            line = line!() + 1;
            compute(&tile, (&mut *next, &*u), kernel!(|next, u, at| next[at] = 0.5 * (u[at - [1, 0]] + u[at])))
                .unwrap();
        }
        std::mem::swap(u, next);
    }
    line
}

/// Bytes of both arrays' cells.
const CELLS: u64 = 2 * 64 * 128 * 8;

fn said(report: &Streamed, wanted: &[&str]) {
    let text = report.to_string();
    assert!(wanted.iter().all(|part| text.contains(part)), "{wanted:?} in: {text}");
}

#[test]
fn planes_and_the_read_that_ends_them() {
    let acc = builder().memory_limit(CELLS / 2).build().unwrap();
    let (mut u, mut next) = two(&acc, [4, 1]);
    let step = steps(&mut u, &mut next, 5);
    let read = line!() + 1;
    u.read_box(u.domain()).unwrap();
    let all = acc.streamed();
    let [report] = &all[..] else { panic!("{all:?}") };
    assert_eq!((report.by, report.sweeps, report.ghost_fills), (StreamedBy::Planes, 5, 4));
    let stats = acc.stats();
    assert_eq!((report.passes, report.h2d_bytes, report.d2h_bytes), (stats.passes, stats.h2d_bytes, stats.d2h_bytes));
    assert!(report.passes > 0 && report.h2d_bytes > 0);
    // The first fill is done on the host, before there is a chain.
    assert_eq!(report.recorded.map(|place| place.line()), [step; 2]);
    said(report, &["5 sweeps and 4 ghost fills", "by planes", &format!("streamed.rs:{read}:"), "host waits"]);
}

#[test]
fn regions_and_a_sync() {
    let acc = builder().memory_limit(CELLS / 2).build().unwrap();
    let (mut u, mut next) = two(&acc, [4, 2]);
    steps(&mut u, &mut next, 2);
    let sync = line!() + 1;
    acc.sync().unwrap();
    let all = acc.streamed();
    let [report] = &all[..] else { panic!("{all:?}") };
    assert_eq!((report.by, report.sweeps), (StreamedBy::Regions, 2));
    said(report, &["by regions", &format!("streamed.rs:{sync}:")]);
}

/// The line is named that broke a loop's passes.
#[test]
fn work_that_cannot_stream_with_the_rest() {
    // `all` has room in half of it.
    let acc = builder().memory_limit(180_000u64).build().unwrap();
    let (mut u, mut next) = two(&acc, [4, 1]);
    let more = u.like().unwrap();
    let step = |u: &Array, next: &mut Array| {
        for tile in TileIter::new(u) {
            compute(&tile, (&mut *next, u, &more), kernel!(|next, u, m, at| next[at] = u[at] + m[at])).unwrap();
        }
    };
    step(&u, &mut next);
    let whole = line!() + 2;
    for tile in TileIter::new(&u) {
        compute(&tile, (&mut u, all(&next)), kernel!(|u, next, at| u[at] = next[[at[0], 0]])).unwrap();
    }
    acc.sync().unwrap();
    let copy = line!() + 2;
    step(&u, &mut next);
    u.copy_from(&next).unwrap();
    acc.sync().unwrap();
    let all = acc.streamed();
    said(&all[0], &[&format!("streamed.rs:{whole}:"), "as a whole"]);
    said(&all[all.len() - 1], &[&format!("streamed.rs:{copy}:"), "works on its arrays"]);
}

#[test]
fn the_look_ahead_and_silence() {
    let acc = builder().memory_limit(CELLS / 2).look_ahead(6).build().unwrap();
    let (mut u, mut next) = two(&acc, [4, 1]);
    steps(&mut u, &mut next, 6);
    acc.sync().unwrap();
    said(&acc.streamed()[0], &["look_ahead"]);
    let acc = builder().memory_limit(CELLS / 2).patience(std::time::Duration::from_millis(1)).build().unwrap();
    let (mut u, mut next) = two(&acc, [4, 1]);
    steps(&mut u, &mut next, 1);
    while acc.streamed().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    said(&acc.streamed()[0], &["patience"]);
}

/// Nothing is told of arrays that have room.
#[test]
fn nothing_of_what_has_room() {
    let acc = builder().build().unwrap();
    let (mut u, mut next) = two(&acc, [4, 1]);
    steps(&mut u, &mut next, 3);
    acc.sync().unwrap();
    assert!(acc.streamed().is_empty());
}
