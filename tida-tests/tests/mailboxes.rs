//! What ranks of one host give one another in memory of their devices.

use std::sync::{Mutex, mpsc};

use tida::SimDevice;
use tida::array::StripFault;
use tida::prelude::*;
use tida_tests::ranks::{alone, on_ranks, program, together};

/// How many programs: `TIDA_RANKS_PROGRAMS` says more.
fn programs() -> u64 {
    std::env::var("TIDA_RANKS_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(8)
}

/// How ranks are built, and whether they are to have used mailboxes.
type Kind = (&'static str, fn(tida::TileAccBuilder) -> tida::TileAccBuilder, Option<bool>);

/// Planes that are computed first, devices of which some have no room for all arrays, mailboxes that other ranks do not
/// open, and ranks without mailboxes.
const KINDS: [Kind; 6] = [
    ("edges first", |of| of.devices(["sim:1"]).edges_from(0), Some(true)),
    ("two places, edges first", |of| of.devices(["sim:2"]).edges_from(0), Some(true)),
    ("little memory", |of| of.devices(["sim:1"]).simulate(SimDevice::new()).memory_limit(256 << 10), None),
    ("unopened", |of| of.devices(["sim:2"]).unopened().edges_from(0), Some(true)),
    ("unopened, little memory", |of| of.simulate(SimDevice::new()).memory_limit(256 << 10).unopened(), None),
    ("apart", |of| of.devices(["sim:1"]).apart(), Some(false)),
];

#[test]
fn programs_give_the_bits_of_one_place() {
    for (kind, build, uses) in KINDS {
        let mut taken = 0;
        for seed in 0..programs() {
            let ranks = [2, 3, 5, 8][seed as usize % 4];
            let got =
                on_ranks(ranks, seed, build, |acc| (program(acc, seed).unwrap(), acc.stats(), acc.places().len()));
            let places = got[0].2;
            let mut expected = alone(ranks * places, seed).unwrap();
            expected.regions.sort();
            taken += got.iter().map(|(_, stats, _)| stats.strip_bytes).sum::<u64>();
            let what = format!("seed {seed}, {ranks} ranks, {kind}");
            let got = together(got.into_iter().map(|(seen, ..)| seen).collect(), &what);
            assert!(got.shared == expected.shared, "{what}: other values than those of one process");
            assert!(got.regions == expected.regions, "{what}: other cells or ghosts than those of one process");
        }
        assert!(uses.is_none_or(|uses| uses == (taken > 0)), "{kind}: {taken} bytes in mailboxes");
    }
}

/// Steps in which each plane needs the one before it alone, so that the first rank needs nothing of the second one.
/// Gives the cells, and the bytes that this rank took from mailboxes.
fn downwards(acc: &TileAcc, steps: usize, meet: impl Fn(bool)) -> (Vec<u64>, u64) {
    let builder = TileArray::<f64, 2>::builder([16, 64]).ghost([[1, 0], [0, 0]]).boundary(Boundary::Fixed(0.5));
    let mut u = builder.build(acc).unwrap();
    u.fill(|[i, j]| (i * 64 + j) as f64).unwrap();
    let mut next = u.like().unwrap();
    meet(false);
    for _ in 0..steps {
        u.fill_ghosts().unwrap();
        for tile in u.tiles() {
            compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = 0.5 * u[at] + u[at - [1, 0]])).unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    acc.sync().unwrap();
    meet(true);
    let taken = acc.stats().strip_bytes;
    (u.read_box(u.domain()).unwrap().into_iter().map(f64::to_bits).collect(), taken)
}

/// The second of two ranks begins its steps once the first one has done all of its own.
fn behind(build: impl Fn(tida::TileAccBuilder) -> tida::TileAccBuilder + Sync, steps: usize) -> Vec<(Vec<u64>, u64)> {
    let (say, hear) = mpsc::channel();
    let (say, hear) = (Mutex::new(say), Mutex::new(hear));
    on_ranks(
        2,
        21,
        |of| build(of.devices(["sim:1"])),
        |acc| {
            let meet = |done: bool| match (acc.rank(), done) {
                (0, true) => say.lock().unwrap().send(()).unwrap(),
                (1, false) => hear.lock().unwrap().recv().unwrap(),
                _ => {}
            };
            downwards(acc, steps, meet)
        },
    )
}

/// A rank that is ahead writes over nothing that is not read: after eight messages it gives by way of the host.
#[test]
fn a_rank_that_is_ahead_leaves_what_is_not_read() {
    let one = TileAcc::builder().device(Device::Cpu).ranks(tida::Ranks::Off).threads(1).build().unwrap();
    let (expected, _) = downwards(&one, 20, |_| {});
    for edges in [0, u64::MAX] {
        let got = behind(|of| of.edges_from(edges), 20);
        assert!(got.iter().all(|(cells, _)| *cells == expected), "edges from {edges}");
        assert_eq!([got[0].1, got[1].1], [0, 8 * 64 * 8], "bytes in mailboxes");
    }
    // One whose mailboxes are not opened, too: what is given then waits in memory of who takes, and of the host.
    let got = behind(|of| of.unopened(), 20);
    assert!(got.iter().all(|(cells, _)| *cells == expected) && got[1].1 >= 8 * 64 * 8, "{} bytes", got[1].1);
    // A mistake would be seen.
    let got = behind(|of| of.plant_strips(StripFault::ReusedEarly), 20);
    assert!(got[1].0 != expected, "what was written over changed nothing");
}

/// A sweep that fails after its planes were given is a failure of who took them.
#[test]
fn a_failure_after_planes_are_given_is_that_of_who_took_them() {
    let errors = on_ranks(
        3,
        22,
        |of| of.devices(["sim:1"]).edges_from(0),
        |acc| {
            let builder = TileArray::<i32, 2>::builder([36, 64]).ghost(1).boundary(Boundary::Fixed(1));
            let mut u = builder.build(acc).unwrap();
            let mut next = u.like().unwrap();
            u.fill_value(3).unwrap();
            let mut line = 0;
            // Of the first rank, and far from its border: in the last step.
            for row in [-1, -1, 5] {
                u.fill_ghosts().unwrap();
                line = line!() + 2;
                for tile in next.tiles() {
                    compute(
                        &tile,
                        (&mut next, &u),
                        kernel!(|next, u, at| next[at] = 12 / (at[0] as i32 - row) + u[at - [1, 0]]),
                    )
                    .unwrap();
                }
                std::mem::swap(&mut u, &mut next);
            }
            u.fill_ghosts().unwrap();
            for tile in next.tiles() {
                compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at - [1, 0]])).unwrap();
            }
            let own = acc.sync();
            let read = next.read_box(next.domain()).unwrap_err();
            // The next work is well again.
            u.fill_value(2).unwrap();
            u.fill_ghosts().unwrap();
            for tile in next.tiles() {
                compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at - [1, 0]])).unwrap();
            }
            assert_eq!(reduce(&next, Sum, kernel!(|u, at| u[at])).unwrap(), 2 * 35 * 64 + 64);
            (own, read, line, acc.stats().strip_bytes)
        },
    );
    for (rank, (own, read, line, taken)) in errors.iter().enumerate() {
        // The first rank has failed, the second one needs its cells, the third one does not.
        assert_eq!(own.is_err(), rank < 2, "rank {rank}: {own:?}");
        assert_eq!(read.kind(), ErrorKind::Division, "rank {rank}: {read}");
        assert!(read.to_string().contains("mailboxes.rs:"), "rank {rank}, line {line}: {read}");
        assert!(*taken > 0, "rank {rank}");
    }
}
