//! Reports of work over arrays that have room say how many launches it took and how many bytes moved, which sweeps ran
//! together, and which line ended that.
#![cfg(feature = "ndarray")]

use std::time::Duration;

use tida::acc::TileAccBuilder;
use tida::prelude::*;
use tida::{Batch, Fuse, SimDevice, Stats};

type Array = TileArray<f64, 2>;

/// Nothing starts by itself, and nothing runs in rounds.
fn still() -> TileAccBuilder {
    let for_ever = Duration::from_secs(600);
    TileAcc::builder().threads(2).pause(for_ever).patience(for_ever).rounds(false).join(true)
}

fn simulated() -> TileAccBuilder {
    still().simulate(SimDevice::new()).fuse(Fuse::Steps(3))
}

fn two(acc: &TileAcc) -> [Array; 2] {
    let mut u = Array::builder([64, 64]).ghost(1).boundary(Boundary::Periodic).build(acc).unwrap();
    u.fill(|[row, column]| (row * column) as f64).unwrap();
    [u.like().unwrap(), u]
}

/// The line of the sweeps.
fn steps([next, u]: &mut [Array; 2], count: usize) -> u32 {
    for _ in 0..count {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(u) {
            compute(&tile, (&mut *next, &*u), kernel!(|next, u, at| next[at] = 0.5 * (u[at - [1, 0]] + u[at])))
                .unwrap();
        }
        std::mem::swap(next, u);
    }
    line!() - 5
}

/// The report of what was recorded last, and what the accelerator has counted since.
fn last(acc: &TileAcc, before: &Stats) -> Batch {
    acc.sync().unwrap();
    let (batch, after) = (acc.batches().pop().unwrap(), acc.stats());
    let bytes = (after.h2d_bytes - before.h2d_bytes, after.d2h_bytes - before.d2h_bytes);
    assert_eq!(batch.launches, after.launches - before.launches, "{batch}");
    assert_eq!((batch.h2d_bytes, batch.d2h_bytes), bytes, "{batch}");
    assert_eq!(batch.joined, after.joined - before.joined, "{batch}");
    batch
}

fn says(text: &str, line: u32, words: &str) {
    assert!(text.contains(&format!("batches.rs:{line}:")) && text.contains(words), "{line}, {words} in: {text}");
}

#[test]
fn steps_that_share_launches_and_the_read_that_ends_them() {
    let acc = simulated().build().unwrap();
    let mut both = two(&acc);
    let before = acc.stats();
    let step = steps(&mut both, 11);
    let read = line!() + 1;
    both[1].read_box(both[1].domain()).unwrap();
    let batch = last(&acc, &before);
    assert_eq!((batch.sweeps, batch.ghost_fills, batch.others), (11, 11, 0), "{batch}");
    says(&batch.ended, read, "the host waits");
    let [part] = &batch.parts[..] else { panic!("{batch}") };
    // A step is known by the one before it; the last one leaves the other array as the program did.
    let alone = 11 - part.sweeps;
    assert!(part.sweeps >= 9 && part.launches < part.sweeps && batch.launches >= part.launches + alone, "{batch}");
    assert_eq!(acc.stats().fused, (part.sweeps - part.launches) / 2, "each launch of three saves two: {batch}");
    assert_eq!(part.recorded.map(|place| place.line()), [step; 2]);
    says(&part.ended, read, "the host waits");
    says(&batch.to_string(), step, "to the device");
}

#[test]
fn other_work_on_the_arrays_ends_steps() {
    let acc = simulated().build().unwrap();
    let mut both = two(&acc);
    let mut more = both[0].like().unwrap();
    let before = acc.stats();
    steps(&mut both, 8);
    let copy = line!() + 1;
    more.copy_from(&both[1]).unwrap();
    steps(&mut both, 8);
    let sweep = line!() + 2;
    for tile in TileIter::new(&more) {
        compute(&tile, (&mut more, &both[1]), kernel!(|more, u, at| more[at] = more[at] + u[at])).unwrap();
    }
    let flush = line!() + 1;
    acc.flush().unwrap();
    let batch = last(&acc, &before);
    assert_eq!((batch.sweeps, batch.others), (17, 1), "{batch}");
    let [first, second] = &batch.parts[..] else { panic!("{batch}") };
    says(&first.ended, copy, "works on its arrays");
    says(&second.ended, sweep, "cannot run with it");
    says(&batch.ended, flush, "the program starts its work");
}

#[test]
fn sweeps_that_are_one() {
    for acc in [simulated().build().unwrap(), still().device(Device::Cpu).build().unwrap()] {
        let [mut v, u] = two(&acc);
        let mut w = u.like().unwrap();
        acc.sync().unwrap();
        let before = acc.stats();
        for tile in TileIter::new(&u) {
            compute(&tile, (&mut v, &u), kernel!(|v, u, at| v[at] = u[at] + 1.0)).unwrap();
            compute(&tile, (&mut w, &u), kernel!(|w, u, at| w[at] = u[at] * 2.0)).unwrap();
        }
        let sync = line!() + 1;
        acc.sync().unwrap();
        let mut batch = acc.batches().pop().unwrap();
        let on_device = u64::from(acc.device() != Device::Cpu);
        assert_eq!((batch.sweeps, batch.launches, batch.joined), (2, on_device, on_device), "{batch}");
        assert_eq!(acc.stats().joined - before.joined, 1);
        let part = batch.parts.pop().unwrap();
        assert_eq!((part.sweeps, part.launches), (2, 1), "{batch}");
        says(&part.ended, sync, "the host waits");
    }
}

#[test]
fn a_loop_that_goes_on_in_rounds() {
    let acc = simulated().fuse(Fuse::Off).rounds(true).build().unwrap();
    let mut both = two(&acc);
    let before = acc.stats();
    steps(&mut both, 200);
    let batch = last(&acc, &before);
    assert_eq!((batch.sweeps, batch.ghost_fills), (200, 200), "{batch}");
    assert!(acc.stats().rounds > 0);
    let last = batch.parts.last().unwrap();
    assert!(last.sweeps > 100 && last.launches == last.sweeps, "{batch}");
}

#[test]
fn silence_and_the_look_ahead() {
    let silent = simulated().pause(Duration::from_micros(200)).build().unwrap();
    steps(&mut two(&silent), 1);
    while silent.batches().is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(silent.batches()[0].ended.contains("nothing more was recorded"));
    let full = simulated().look_ahead(6).build().unwrap();
    steps(&mut two(&full), 20);
    full.sync().unwrap();
    let batches = full.batches();
    assert!(batches.iter().any(|batch| batch.ended.contains("look_ahead")), "{batches:?}");
    assert_eq!(batches.iter().map(|batch| batch.sweeps).sum::<u64>(), 20);
}

#[test]
fn both_sides() {
    let acc = still().simulate(SimDevice::new()).hybrid_share(0.5).build().unwrap();
    let mut u = Array::builder([64, 64]).regions([4, 1]).build(&acc).unwrap();
    u.fill(|[row, _]| row as f64).unwrap();
    let before = acc.stats();
    for tile in TileIter::new(&u).device(Device::Hybrid) {
        compute(&tile, &mut u, kernel!(|u, at| u[at] = u[at] + 1.0)).unwrap();
    }
    let batch = last(&acc, &before);
    // One on each side.
    assert_eq!((batch.sweeps, batch.launches, batch.h2d_bytes), (2, 1, 32 * 64 * 8), "{batch}");
}

/// Work that streams is told of by `TileAcc::streamed`.
#[test]
fn nothing_of_what_streams() {
    let acc = simulated().memory_limit(40_000u64).build().unwrap();
    let mut both = two(&acc);
    acc.sync().unwrap();
    let before: u64 = acc.batches().iter().map(|batch| batch.sweeps).sum();
    steps(&mut both, 4);
    acc.sync().unwrap();
    assert_eq!(acc.batches().iter().map(|batch| batch.sweeps).sum::<u64>(), before);
    assert_eq!(acc.streamed().iter().map(|report| report.sweeps).sum::<u64>(), 4);
}

/// Why steps that repeat on two arrays run one by one, with the line of the kernel that is the reason.
#[test]
fn what_keeps_steps_apart_is_said() {
    type Step = fn(&mut Array, &mut Array) -> u32;
    let cases: [(Step, &str); 3] = [
        (
            // The face's kernel.
            |next, u| {
                u.fill_ghosts().unwrap();
                fill_ghosts_with((1, Side::Low), &mut *u, kernel!(|u, at| u[at] = u[at + [0, 3]])).unwrap();
                let line = line!() - 1;
                for tile in TileIter::new(u) {
                    compute(&tile, (&mut *next, &*u), kernel!(|next, u, at| next[at] = u[at - [0, 1]] + u[at]))
                        .unwrap();
                }
                line
            },
            "nearest two inwards",
        ),
        (
            // The step: how far it reads is known when it runs.
            |next, u| {
                u.fill_ghosts().unwrap();
                let by = 1_i64;
                for tile in TileIter::new(u) {
                    compute(&tile, (&mut *next, &*u), kernel!(|next, u, at| next[at] = u[at - [by, 0]])).unwrap();
                }
                line!() - 2
            },
            "no constant from the cell",
        ),
        (
            // Face and step: the face's kernel reads a cell that the step does not reach.
            |next, u| {
                u.fill_ghosts().unwrap();
                fill_ghosts_with((1, Side::Low), &mut *u, kernel!(|u, at| u[at] = u[at + [0, 2]])).unwrap();
                for tile in TileIter::new(u) {
                    compute(&tile, (&mut *next, &*u), kernel!(|next, u, at| next[at] = u[at - [1, 1]] + u[at]))
                        .unwrap();
                }
                line!() - 3
            },
            "further inwards",
        ),
    ];
    for (step, words) in cases {
        let acc = simulated().build().unwrap();
        let builder = Array::builder([64, 64]).ghost(1).boundary_axis(0, Boundary::Periodic);
        let mut u = builder.boundary_face(1, Side::Low, Boundary::Open).build(&acc).unwrap();
        u.fill(|[row, column]| (row * column) as f64).unwrap();
        let (mut next, mut line) = (u.like().unwrap(), 0);
        for _ in 0..6 {
            line = step(&mut next, &mut u);
            std::mem::swap(&mut next, &mut u);
        }
        acc.sync().unwrap();
        let batch = acc.batches().pop().unwrap();
        let [why] = &batch.apart[..] else { panic!("one reason, {batch}") };
        says(why, line, words);
        assert!(batch.to_string().contains(why), "{batch}");
    }
    // What runs together is told of no more.
    let acc = simulated().build().unwrap();
    steps(&mut two(&acc), 9);
    acc.sync().unwrap();
    assert!(acc.batches().pop().unwrap().apart.is_empty());
}
