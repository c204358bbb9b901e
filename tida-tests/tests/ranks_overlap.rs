//! Ranks that hold planes of their neighbours as cells: the bits of one place, messages every so many steps, and an
//! error where ranks do not do the same.

use tida::SimDevice;
use tida::acc::FakeRank;
use tida::array::StripFault;
use tida::prelude::*;
use tida_tests::on_cpu;
use tida_tests::overlap::{cuts, heat, steps};
use tida_tests::ranks::{on_ranks, together};
use tida_tests::several::{Dice, bits};

/// How many random programs: `TIDA_RANKS_PROGRAMS` says more.
fn programs() -> u64 {
    std::env::var("TIDA_RANKS_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(8)
}

/// Places of a rank, and how ranks are built.
type Kind = (&'static str, usize, fn(tida::TileAccBuilder) -> tida::TileAccBuilder);

const KINDS: [Kind; 5] = [
    ("the CPU", 1, |of| of.devices(["cpu:1"])),
    ("the CPU, two places", 2, |of| of.devices(["cpu:2"])),
    ("a device", 1, |of| of.devices(["sim:1"]).fuse(Fuse::Steps(3))),
    ("a device, by way of the host", 1, |of| of.devices(["sim:1"]).apart()),
    ("two devices", 2, |of| of.devices(["sim:2"]).edges_from(0)),
];

#[test]
fn planes_as_cells_give_the_bits_of_one_place() {
    for seed in 0..programs() {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 91);
        let (ranks, overlap) = ([2, 3, 5, 8, 1][seed as usize % 5], 2 + dice.roll(7));
        let program = dice.roll(1 << 20) as u64;
        for (kind, places, build) in KINDS {
            let of = (ranks * places, overlap);
            let expected = steps(&on_cpu(), of, Dice(program));
            let what = format!("seed {seed}: {ranks} ranks of {kind} with {overlap} planes");
            let got = together(on_ranks(ranks, seed, build, |acc| steps(acc, of, Dice(program))), &what);
            assert!(got.shared == expected.shared, "{what}: other values than those of one place");
            assert!(got.regions == expected.regions, "{what}: other cells or ghosts than those of one place");
        }
    }
}

/// The same where ranks have room for the regions of a kernel alone.
#[test]
fn planes_as_cells_stream_with_the_bits_of_one_place() {
    let mut passes = 0;
    for seed in 0..programs() {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 92);
        let (ranks, overlap) = (2 + dice.roll(2), 2 + dice.roll(7));
        let program = dice.roll(1 << 20) as u64;
        let expected = steps(&on_cpu(), (ranks, overlap), Dice(program));
        let (regions, rows) = cuts(ranks, &mut Dice(program));
        // Three arrays, of which a sweep reads ghosts too; rows have 70 cells and two ghosts, and are aligned.
        let region = (rows.div_ceil(regions) + 2 * overlap + 5) * 112 * 8;
        let build = |of: tida::TileAccBuilder| {
            of.devices(["sim:1"]).simulate(SimDevice::new()).memory_limit(3 * region as u64).fuse(Fuse::Steps(3))
        };
        let got = on_ranks(ranks, seed, build, |acc| (steps(acc, (ranks, overlap), Dice(program)), acc.stats().passes));
        let (seen, of_ranks): (Vec<_>, Vec<_>) = got.into_iter().unzip();
        passes += of_ranks.iter().sum::<u64>();
        let what = format!("seed {seed}: {ranks} ranks with {overlap} planes");
        assert!(together(seen, &what) == expected, "{what} give other bits");
    }
    assert!(passes > 20, "{passes} passes");
}

/// What each of three ranks gives others in so many steps of heat, periodic or not: messages, and planes of 16 times 64
/// numbers of 8 bytes.
fn given(overlap: usize, of: (usize, bool)) -> Vec<[u64; 2]> {
    let expected = heat(&on_cpu(), 0, of);
    let expected = bits(&expected.read_box(expected.domain()).unwrap());
    let run = |rank: FakeRank| {
        let acc = TileAcc::builder().device(Device::Cpu).threads(1).fake_ranks(rank.clone()).build().unwrap();
        let before = rank.sent();
        let u = heat(&acc, overlap, of);
        // All has been sent that others wait for.
        acc.exchange(Ok(Vec::new())).unwrap();
        let after = rank.sent();
        assert!(bits(&u.read_box(u.domain()).unwrap()) == expected, "{overlap} planes, {of:?}");
        // The exchange is a message for each other rank.
        [after[0] - before[0] - 2, (after[1] - before[1]) / (16 * 64 * 8)]
    };
    let all = FakeRank::all(3, 21, 12);
    std::thread::scope(|scope| {
        let threads: Vec<_> = all.into_iter().map(|rank| scope.spawn(|| run(rank))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Strips of `k` planes go every `k` steps, and those of what is only read go once.
#[test]
fn strips_of_k_planes_go_every_k_steps() {
    // Two sides, or one at the ends of a domain that is not periodic.
    assert_eq!(given(0, (24, true)), [[48, 48]; 3]);
    assert_eq!(given(0, (24, false)), [[24, 24], [48, 48], [24, 24]]);
    for planes in [1, 2, 4, 6, 8] {
        let held = planes as u64;
        // Of each `held`-th step. The source has no ghosts, and so a place beyond each end.
        let of = |sides: u64| {
            let messages = sides * (24 / held) + 2;
            [messages, messages * held]
        };
        assert_eq!(given(planes, (24, true)), [of(2); 3], "{planes}");
        assert_eq!(given(planes, (24, false)), [of(1), of(2), of(1)], "{planes}");
    }
}

/// Planes that are taken for good when they are not are seen in the values.
#[test]
fn a_plane_too_many_is_found() {
    let run = |acc: &TileAcc| {
        let u = heat(acc, 4, (9, true));
        bits(&u.read_box(u.domain()).unwrap())
    };
    let expected = run(&on_cpu());
    for kind in ["cpu:1", "sim:1"] {
        let on = |fault: Option<StripFault>| {
            let build =
                |of: tida::TileAccBuilder| fault.into_iter().fold(of.devices([kind]), |of, f| of.plant_strips(f));
            on_ranks(3, 22, build, run)
        };
        assert!(on(None).iter().all(|got| *got == expected), "{kind}");
        for fault in [StripFault::Deep, StripFault::Shallow] {
            assert!(on(Some(fault)).iter().all(|got| *got != expected), "{fault:?} on {kind}");
        }
    }
}

/// Steps whose kernel has a captured value of the rank's own, where planes are held; what a read of the cells gives.
fn unlike(acc: &TileAcc, overlap: usize, value: impl Fn(usize, usize) -> f64) -> tida::Result<Vec<f64>> {
    let builder = TileArray::<f64, 2>::builder([24, 64]).ghost(1).boundary(Boundary::ReflectEven).overlap(overlap);
    let (mut u, mut next) = (builder.build(acc)?, builder.build(acc)?);
    u.fill(|[i, j]| (i * 7 + j) as f64)?;
    for step in 0..4 {
        u.fill_ghosts()?;
        let rate = value(acc.rank(), step);
        for tile in u.tiles() {
            compute(
                &tile,
                (&mut next, &u),
                kernel!(|next, u, at| next[at] = rate * (u[at - [1, 0]] + u[at + [1, 0]])),
            )?;
        }
        std::mem::swap(&mut u, &mut next);
    }
    let values = u.read_box(u.domain())?;
    // What ranks tell one another may come after values; at the latest before they end.
    (0..100).try_for_each(|_| acc.exchange(Ok(Vec::new())).map(drop))?;
    Ok(values)
}

/// Each rank takes its neighbour to have done as it did: where that is wrong, all are told, and nothing hangs.
#[test]
fn ranks_that_do_not_compute_the_same_are_told() {
    let build = |of: tida::TileAccBuilder| of.device(Device::Cpu);
    // Captured values that all have are no matter, nor those of each rank where planes are sent.
    let alike = on_ranks(3, 23, build, |acc| unlike(acc, 4, |_, step| 0.5 + step as f64).unwrap());
    assert!(alike[1..].iter().all(|got| *got == alike[0]));
    assert!(on_ranks(3, 24, build, |acc| unlike(acc, 0, |rank, _| rank as f64)).iter().all(Result::is_ok));
    for error in on_ranks(3, 25, build, |acc| unlike(acc, 4, |rank, _| 0.5 + (rank == 1) as u8 as f64).unwrap_err()) {
        assert_eq!(error.kind(), ErrorKind::Ranks);
        let says = ["other things beside the planes that they hold", "fill_ghosts of [[24, 64]]", "ranks_overlap.rs:"];
        assert!(says.iter().all(|says| error.found().contains(says)), "{error}");
    }
}

/// A value that recorded work gives is the same on all ranks.
#[test]
fn values_that_are_reduced_are_the_same_on_all_ranks() {
    let run = |acc: &TileAcc| {
        let builder = TileArray::<f64, 2>::builder([24, 64]).ghost(1).boundary(Boundary::Periodic).overlap(4);
        let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
        u.fill(|[i, j]| (i * 7 + j) as f64).unwrap();
        for _ in 0..6 {
            // Nodes have other numbers on a rank that has more to do.
            if acc.rank() == 1 {
                let mut own = TileArray::<f64, 1>::builder([4]).build(&acc.places()[0]).unwrap();
                for tile in own.tiles() {
                    compute(&tile, &mut own, kernel!(|own, at| own[at] = 1.0)).unwrap();
                }
            }
            let most = reduce_later(&u, Max, kernel!(|u, at| u[at])).unwrap();
            u.fill_ghosts().unwrap();
            for tile in u.tiles() {
                compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| next[at] = (u[at - [1, 0]] + u[at + [1, 0]]) / most),
                )
                .unwrap();
            }
            std::mem::swap(&mut u, &mut next);
        }
        bits(&u.read_box(u.domain()).unwrap())
    };
    let expected = run(&on_cpu());
    assert!(on_ranks(3, 26, |of| of.device(Device::Cpu), run).iter().all(|got| *got == expected));
}

/// A rank alone cannot change what others have copies of.
#[test]
fn a_view_that_writes_is_refused() {
    on_ranks(
        2,
        27,
        |of| of.device(Device::Cpu),
        |acc| {
            let mut u = TileArray::<f64, 2>::builder([16, 64]).ghost(1).overlap(3).build(acc).unwrap();
            let error = u.with_region_mut(acc.rank(), |mut view| view.fill(1.0)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Ranks);
            assert!(error.found().contains("overlap") && error.advice().contains("write_box"), "{error}");
            assert!(u.with_region(acc.rank(), |view| view.len()).is_ok());
            let mut u = TileArray::<f64, 2>::builder([16, 64]).ghost(1).build(acc).unwrap();
            assert!(u.with_region_mut(acc.rank(), |mut view| view.fill(1.0)).is_ok());
        },
    );
}

/// Where a rank has no part nobody holds planes, and the bits are the same.
#[test]
fn arrays_of_fewer_parts_than_ranks_hold_no_planes() {
    let run = |acc: &TileAcc| {
        let builder = TileArray::<f64, 2>::builder([9, 64]).ghost(1).overlap(2);
        let (mut u, mut next) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
        u.fill(|[i, j]| (i * 7 + j) as f64).unwrap();
        for _ in 0..5 {
            u.fill_ghosts().unwrap();
            for tile in u.tiles() {
                compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at - [1, 0]] + u[at + [1, 0]]))
                    .unwrap();
            }
            std::mem::swap(&mut u, &mut next);
        }
        bits(&u.read_box(u.domain()).unwrap())
    };
    let expected = run(&on_cpu());
    assert!(on_ranks(3, 28, |of| of.device(Device::Cpu), run).iter().all(|got| *got == expected));
}

/// All ranks find the same number of planes, whatever each has measured.
#[test]
fn ranks_measure_together() {
    let found = on_ranks(
        2,
        29,
        |of| of.device(Device::Cpu),
        |acc| {
            let builder = TileArray::<f64, 2>::builder([16, 64]).ghost(1).boundary(Boundary::Periodic);
            builder
                .measure_overlap(acc, |planes| {
                    let builder = builder.clone().overlap(planes);
                    let (mut u, mut next) = (builder.build(acc)?, builder.build(acc)?);
                    Ok(move || {
                        u.fill_ghosts()?;
                        for tile in u.tiles() {
                            compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = 0.5 * u[at - [1, 0]]))?;
                        }
                        std::mem::swap(&mut u, &mut next);
                        Ok(())
                    })
                })
                .unwrap()
        },
    );
    assert_eq!(found[0], found[1]);
    assert!(found[0].times().len() > 3, "{}", found[0]);
}
