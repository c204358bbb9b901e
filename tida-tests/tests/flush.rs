//! `TileAcc::flush` starts what waits for more of its kind, does not wait for it, and makes batches the same each time.
#![cfg(feature = "ndarray")]

use std::time::Duration;

use tida::acc::TileAccBuilder;
use tida::prelude::*;
use tida::{Fuse, SimDevice, SimReport, Stats};

/// Nothing starts by itself: the recorder is never silent for long enough.
fn still(builder: TileAccBuilder) -> TileAcc {
    let for_ever = Duration::from_secs(3600);
    builder.threads(2).pause(for_ever).patience(for_ever).build().unwrap()
}

fn simulated(fuse: Fuse) -> TileAccBuilder {
    TileAcc::builder().simulate(SimDevice::new()).fuse(fuse)
}

fn arrays(acc: &TileAcc) -> [TileArray<f64, 2>; 2] {
    let builder = TileArray::<f64, 2>::builder([64, 64]).regions([4, 1]).ghost(1).boundary(Boundary::Periodic);
    let mut u = builder.build(acc).unwrap();
    u.fill(|[j, i]| (j * 64 + i) as f64).unwrap();
    [u.like().unwrap(), u]
}

fn steps(both: &mut [TileArray<f64, 2>; 2], count: usize) {
    steps_with(both, count, || ());
}

/// The same, with something between any two calls.
fn steps_with([next, u]: &mut [TileArray<f64, 2>; 2], count: usize, mut between: impl FnMut()) {
    for _ in 0..count {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(u) {
            between();
            compute(
                &tile,
                (&mut *next, &*u),
                kernel!(|next, u, at| next[at] = 0.5 * (u[at + [1, 0]] + u[at - [0, 1]])),
            )
            .unwrap();
        }
        std::mem::swap(next, u);
    }
}

/// Waits until so many kernels have been launched and steps or passes done, by nothing that this thread asks for.
fn reaches(acc: &TileAcc, done: impl Fn(&Stats, &SimReport) -> bool) -> bool {
    (0..20_000).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        done(&acc.stats(), &acc.simulated().unwrap())
    })
}

#[test]
fn an_open_sweep_runs_after_a_flush_and_not_before() {
    let acc = still(simulated(Fuse::Off));
    let mut both = arrays(&acc);
    steps(&mut both, 1);
    std::thread::sleep(Duration::from_millis(50));
    // Ghosts are filled by now.
    assert!(acc.simulated().unwrap().cells < 64 * 64);
    acc.flush().unwrap();
    assert!(reaches(&acc, |_, report| report.cells >= 64 * 64));
}

#[test]
fn steps_that_are_held_back_run_after_a_flush() {
    let acc = still(simulated(Fuse::Steps(3)));
    let mut both = arrays(&acc);
    steps(&mut both, 9);
    assert_eq!(acc.stats().fused, 0);
    acc.flush().unwrap();
    assert!(reaches(&acc, |stats, report| stats.fused >= 2 && report.cells >= 9 * 64 * 64));
}

#[test]
fn a_chain_runs_after_a_flush() {
    // Room for a part of the two arrays: they stream.
    let acc = still(simulated(Fuse::Off).memory_limit(32 << 10));
    let mut both = arrays(&acc);
    steps(&mut both, 4);
    assert_eq!(acc.stats().passes, 0);
    acc.flush().unwrap();
    assert!(reaches(&acc, |stats, _| stats.passes > 0));
}

#[test]
fn a_flush_of_nothing_does_nothing() {
    let acc = TileAcc::builder().device(Device::Cpu).threads(1).build().unwrap();
    acc.flush().unwrap();
    acc.flush().unwrap();
    acc.sync().unwrap();
}

/// Several batches, as many bits and steps each time that they are flushed at the same places.
#[test]
fn the_same_calls_give_the_same_launches() {
    let run = |limit: Option<u64>| {
        let mut builder = simulated(Fuse::Steps(3));
        if let Some(limit) = limit {
            builder = builder.memory_limit(limit);
        }
        let acc = still(builder);
        let mut both = arrays(&acc);
        for count in [5, 1, 8, 3] {
            steps(&mut both, count);
            acc.flush().unwrap();
        }
        acc.sync().unwrap();
        let (stats, report) = (acc.stats(), acc.simulated().unwrap());
        let values = both[1].read_box(both[1].domain()).unwrap();
        let counted = (stats.launches, stats.fused, stats.fused_steps, stats.passes, stats.h2d_bytes, stats.d2h_bytes);
        (counted, report.kernels, report.uploaded, report.downloaded, values)
    };
    for limit in [None, Some(32 << 10)] {
        let first = run(limit);
        assert!(limit.is_some() || first.0.1 > 0, "{:?}", first.0);
        (0..10).for_each(|_| assert_eq!(run(limit), first));
    }
}

/// The recorder may be silent anywhere, for longer than a sweep stays open: what moves, which chains there are and how
/// often they pass over the link is the same, and the steps of chains too.
#[test]
fn pauses_move_nothing() {
    let run = |limit: Option<u64>, seed: u64| {
        let mut builder = simulated(Fuse::Steps(3)).threads(2).patience(Duration::from_secs(3600));
        if let Some(limit) = limit {
            builder = builder.memory_limit(limit);
        }
        let acc = builder.build().unwrap();
        let mut both = arrays(&acc);
        let mut random = seed;
        let mut pause = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed);
            let long = Duration::from_micros(random >> 40 & 511);
            if long > Duration::from_micros(250) {
                std::thread::sleep(long);
            }
        };
        for count in [5, 1, 8, 3] {
            steps_with(&mut both, count, &mut pause);
            acc.sync().unwrap();
        }
        let stats = acc.stats();
        let chained = limit.map(|_| (stats.launches, stats.fused, stats.fused_steps));
        let values = both[1].read_box(both[1].domain()).unwrap();
        (stats.passes, stats.h2d_bytes, stats.d2h_bytes, acc.streamed().len(), chained, values)
    };
    for limit in [None, Some(32 << 10)] {
        let first = run(limit, 0);
        assert_eq!(limit.is_some(), first.0 > 0);
        (1..6).for_each(|seed| assert_eq!(run(limit, 2 * seed + 1), first));
    }
}
