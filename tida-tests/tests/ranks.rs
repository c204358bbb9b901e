//! Ranks that are threads of one process give the bits of one process, however late their messages are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tida::acc::FakeRank;
use tida::prelude::*;
use tida_tests::calls::calls;
use tida_tests::ranks::{alone, on_ranks, program, together};
use tida_tests::several::Dice;
use tida_tests::{on_a_device, on_cpu};

/// How many programs: `TIDA_RANKS_PROGRAMS` says more.
fn programs() -> u64 {
    std::env::var("TIDA_RANKS_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(10)
}

#[test]
fn programs_give_the_bits_of_one_process() {
    // In the last one a rank has none of a box that is written.
    for seed in (0..programs()).chain([62]) {
        let ranks = [1, 2, 3, 5, 8][seed as usize % 5];
        for (places, kind) in [(1, "cpu:1"), (1, "sim:1"), (2, "cpu:2"), (2, "sim:2")] {
            let mut expected = alone(ranks * places, seed).unwrap();
            expected.regions.sort();
            let got = on_ranks(ranks, seed, |of| of.devices([kind]), |acc| program(acc, seed).unwrap());
            let what = format!("seed {seed}, {ranks} ranks of {kind}");
            let got = together(got, &what);
            assert!(got.shared == expected.shared, "{what}: other values than those of one process");
            assert!(got.regions == expected.regions, "{what}: other cells or ghosts than those of one process");
        }
    }
}

/// Tables, sweeps in order along the first axis, other resolutions, lists, sums of lines.
#[test]
fn calls_of_all_ranks_give_the_bits_of_one_place() {
    for seed in 0..programs() {
        let ranks = [1, 2, 3, 5, 8][seed as usize % 5];
        for (places, kind) in [(1, "cpu:1"), (1, "sim:1"), (2, "sim:2")] {
            let run =
                |acc: &TileAcc| calls(acc, ranks * places, Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))).unwrap();
            let expected = run(&on_cpu());
            for (rank, got) in on_ranks(ranks, seed, |of| of.devices([kind]), run).into_iter().enumerate() {
                let at = got.iter().zip(&expected).position(|(got, expected)| got != expected);
                let length = expected.len();
                assert!(
                    got == expected,
                    "seed {seed}, rank {rank} of {ranks} of {kind}: other bits at {at:?} of {length}"
                );
            }
        }
    }
}

/// Each rank reads by itself what is everywhere; all write it, and files have it once.
#[test]
fn what_is_everywhere_each_rank_has() {
    let path = std::env::temp_dir().join(format!("tida-everywhere-ranks-{}", std::process::id()));
    on_ranks(
        3,
        14,
        |of| of.devices(["cpu:2"]),
        |acc| {
            let mut table = TileArray::<i32, 2>::builder([16, 4]).regions([2, 1]).everywhere().build(acc).unwrap();
            table.fill(|[i, j]| (4 * i + j) as i32).unwrap();
            if acc.rank() == 1 {
                // No call of all.
                assert_eq!(table.read_box(GridBox::new([15, 2], [16, 4])).unwrap(), [62, 63]);
                assert_eq!(table.with_region(1, |view| view[[0, 0]]).unwrap(), 32);
                let later = table.read_box_later(GridBox::new([1, 0], [2, 2])).unwrap();
                assert_eq!(later.get().unwrap(), [4, 5]);
            }
            assert_eq!((table.cells_here(), table.rank_of(table.domain())), (table.domain(), 0));
            table.with_region_mut(1, |mut view| view[[0, 0]] = -1).unwrap();
            let tile = table.tiles().next().unwrap();
            let error = compute(&tile, &mut table, kernel!(|t, at| t[at] = 1)).unwrap_err();
            assert!(error.found().contains("everywhere"), "{error}");
            assert_eq!(table.tiles().count(), 2);
            table.save_npy(&path).unwrap();
            let mut other = table.like().unwrap();
            other.load_npy(&path).unwrap();
            assert_eq!(reduce(&other, Sum, kernel!(|t, at| t[at])).unwrap(), 63 * 32 - 33);
            let (say, hear) = std::sync::mpsc::channel();
            let taken = table.with_box_later_on(2, table.domain(), move |_| say.send(()).unwrap()).unwrap();
            taken.wait().unwrap();
            assert_eq!(hear.try_recv().is_ok(), acc.rank() == 2);
        },
    );
    std::fs::remove_file(&path).unwrap();
}

/// A rank whose part of a sweep in order is refused tells those after it why they get nothing.
#[test]
fn a_sweep_in_order_that_fails_on_one_rank_fails_on_those_after_it() {
    let errors = on_ranks(
        3,
        15,
        |of| of.device(Device::Cpu),
        |acc| {
            // What the second rank has of these is cut in unlike ways.
            let builder = TileArray::<f64, 2>::builder([24, 64]).ghost(1).boundary(Boundary::Fixed(0.0));
            let mut u = builder.clone().distribute([8, 8, 8]).build(acc).unwrap();
            let v = builder.regions([2, 1]).distribute([8, 8, 8]).build(acc).unwrap();
            u.fill_value(1.0).unwrap();
            u.fill_ghosts().unwrap();
            let swept =
                sweep_along(0, Forward, u.tiles(), (&mut u, &v), kernel!(|u, v, at| u[at] += v[at] + u[at - [1, 0]]));
            let synced = acc.sync();
            (swept, synced)
        },
    );
    for (rank, (swept, synced)) in errors.iter().enumerate() {
        assert_eq!((swept.is_err(), synced.is_err()), (rank == 1, rank == 2), "rank {rank}: {swept:?}, {synced:?}");
    }
}

fn heat(acc: &TileAcc) -> tida::Result<TileArray<f64, 2>> {
    let mut u = TileArray::<f64, 2>::builder([24, 64]).ghost(1).boundary(Boundary::Periodic).build(acc)?;
    u.fill(|[i, j]| (i * 7 + j) as f64)?;
    let mut next = u.like()?;
    for _ in 0..5 {
        u.fill_ghosts()?;
        for tile in u.tiles() {
            compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = 0.5 * (u[at - [1, 0]] + u[at + [0, 1]])))?;
        }
        std::mem::swap(&mut u, &mut next);
    }
    Ok(u)
}

#[test]
fn a_rank_has_its_own_tiles_and_regions() {
    let tiles = on_ranks(
        3,
        1,
        |of| of.device(Device::Cpu),
        |acc| {
            let mut u = heat(acc).unwrap();
            let rows: Vec<_> = u.tiles().map(|tile| (tile.cells().lo[0], tile.cells().hi[0])).collect();
            // Two ranks have none of these, and an empty tile for them.
            let (lo, hi) = ([0, 0], [3, 64]);
            let few: Vec<_> = u.tiles().within(lo, hi).map(|tile| tile.cells().is_empty()).collect();
            assert_eq!((few.len(), u.tiles().within(lo, hi).len()), (1, 1));
            assert_eq!(few[0], acc.rank() != 0);
            assert_eq!(u.tiles().within(lo, lo).count(), 0);
            u.fill_ghosts().unwrap();
            for tile in u.tiles().within(lo, hi) {
                compute(&tile, &mut u, kernel!(|u, at| u[at] = 0.0)).unwrap();
            }
            // A rank that has written nothing knows that its ghosts are old: written by a kernel, or by the host.
            let mut next = u.like().unwrap();
            let mut is_old = |u: &TileArray<f64, 2>| {
                for tile in u.tiles() {
                    let error =
                        compute(&tile, (&mut next, u), kernel!(|next, u, at| next[at] = u[at - [1, 0]])).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::StaleGhost);
                }
            };
            is_old(&u);
            u.fill_ghosts().unwrap();
            u.write_box(GridBox::new([0, 0], [2, 1]), &[1.0, 2.0]).unwrap();
            is_old(&u);
            u.fill_ghosts().unwrap();
            let source = u.clone();
            u.copy_box_from(&source, GridBox::new([0, 0], [2, 1])).unwrap();
            is_old(&u);
            let other = (acc.rank() + 1) % 3;
            let error = u.with_region(other, |view| view[[0, 0]]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Ranks);
            assert!(error.found().contains(&format!("rank {other}")), "{error}");
            assert!(u.with_region(acc.rank(), |view| view.len()).is_ok());
            assert!(u.read_grown_box(other, u.grown_box(other).unwrap()).is_err());
            (acc.rank(), acc.ranks(), rows)
        },
    );
    assert_eq!(tiles, [(0, 3, vec![(0, 8)]), (1, 3, vec![(8, 16)]), (2, 3, vec![(16, 24)])]);
}

/// A rank whose neighbour's planes are there sends its own before its only thread goes on with them.
#[test]
fn what_is_sent_goes_before_what_is_computed_next() {
    let goes_on = Arc::new(AtomicBool::new(false));
    let seen = on_ranks(
        2,
        5,
        |of| of.device(Device::Cpu),
        |acc| {
            let mut u = TileArray::<f64, 2>::builder([8, 8]).ghost(1).build(acc).unwrap();
            u.fill(|[i, j]| (8 * i + j) as f64).unwrap();
            acc.sync().unwrap();
            let (goes_on, (say, hear)) = (goes_on.clone(), std::sync::mpsc::channel());
            let is_first = acc.rank() == 0;
            // On the second rank the thread is busy until the planes of the first one are there.
            let other = TileArray::<f64, 2>::builder([8, 8]).build(acc).unwrap();
            let busy = Duration::from_millis(if is_first { 0 } else { 300 });
            let busy = other.with_box_later(other.cells_here(), move |_| std::thread::sleep(busy)).unwrap();
            u.fill_ghosts().unwrap();
            let next = u.with_box_later(u.cells_here(), move |_| {
                let start = Instant::now();
                goes_on.fetch_or(is_first, Relaxed);
                while !goes_on.load(Relaxed) && start.elapsed() < Duration::from_secs(5) {
                    std::thread::yield_now();
                }
                say.send(goes_on.load(Relaxed)).unwrap();
            });
            next.unwrap().wait().unwrap();
            busy.wait().unwrap();
            hear.recv().unwrap()
        },
    );
    assert_eq!(seen, [true, true], "the second rank computes before it sends");
}

/// Where the thread that sends has no core of its own, nothing is computed with planes of neighbours before a rank's
/// own are sent.
#[test]
fn planes_are_taken_once_those_of_a_rank_are_sent() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let ranks = FakeRank::all(2, 16, 0).into_iter().map(|rank| rank.slow_sends(500));
    let seen = std::thread::scope(|scope| {
        let of = |rank: FakeRank| {
            scope.spawn(move || {
                let sends = rank.clone();
                let acc = TileAcc::builder().device(Device::Cpu).threads(threads).fake_ranks(rank).build().unwrap();
                let mut u = TileArray::<f64, 2>::builder([8, 8]).ghost(1).build(&acc).unwrap();
                u.fill(|[i, j]| (8 * i + j) as f64).unwrap();
                let mut seen = Vec::new();
                for _ in 0..4 {
                    let (say, hear) = std::sync::mpsc::channel();
                    let sends = sends.clone();
                    u.fill_ghosts().unwrap();
                    u.with_box_later(u.cells_here(), move |_| say.send(sends.being_sent()).unwrap()).unwrap();
                    acc.sync().unwrap();
                    seen.push(hear.recv().unwrap());
                }
                seen
            })
        };
        let threads: Vec<_> = ranks.map(of).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(seen, [[0; 4]; 2], "messages are still being sent when the next work begins");
}

/// Ranks of one host take its devices in turn, and those on one device share its memory.
#[test]
fn ranks_of_a_host_share_its_devices() {
    let Some(alone) = on_a_device(TileAcc::builder().ranks(tida::Ranks::Off)) else { return };
    let whole = alone.shares()[0].1;
    let kind = alone.device();
    drop(alone);
    // Two hosts, of which the second has one rank alone.
    let ranks = FakeRank::all(3, 12, 12).into_iter().map(|rank| rank.hosts_of(2));
    let shares = std::thread::scope(|scope| {
        let of = |rank: FakeRank| {
            scope.spawn(move || {
                let acc = TileAcc::builder().device(kind).threads(1).fake_ranks(rank).build().unwrap();
                // A limit that is asked for stays.
                acc.shares().remove(0)
            })
        };
        let threads: Vec<_> = ranks.map(of).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let devices: Vec<Option<String>> = shares.iter().map(|(device, _)| device.clone()).collect();
    assert_eq!(devices[0], devices[2], "the first rank of each host has the first device");
    assert!(devices[0].is_some());
    if devices[0] == devices[1] {
        let [one, two] = [shares[0].1, shares[1].1];
        assert!(one == two && one <= whole / 2 && one > whole / 4, "{one} and {two} of {whole}");
    }
    // Places of one rank on one device share it too.
    let named = match kind {
        Device::Cuda => "cuda:0,0",
        _ => "opencl:0,0",
    };
    let alone = TileAcc::builder().devices([named]).ranks(tida::Ranks::Off).build().unwrap().shares();
    assert!(alone[0] == alone[1] && alone[0].1 <= whole / 2, "{alone:?} of {whole}");
    // One that limits itself has no more than that.
    let limited = on_ranks(2, 13, |of| of.device(kind).memory_limit(1 << 20), |acc| acc.shares()[0].1);
    assert_eq!(limited, [1 << 20; 2]);
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
struct Pair {
    x: f32,
    n: u8,
}

#[test]
fn files_are_those_of_one_process() {
    let folder = std::env::temp_dir().join(format!("tida-ranks-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let at = |name: &str| folder.join(name);
    let read = |name: &str| std::fs::read(at(name)).unwrap();
    let save = |acc: &TileAcc, name: &str| {
        let u = heat(acc).unwrap();
        let mut pairs = TileArray::<Pair, 2>::builder([9, 70]).build(acc).unwrap();
        pairs.fill(|[i, j]| Pair { x: i as f32 + 0.5, n: j as u8 }).unwrap();
        u.save_npy(at(&format!("{name}.npy"))).unwrap();
        // It is there for all when the call is over.
        let mut again = u.like().unwrap();
        again.load_npy(at(&format!("{name}.npy"))).unwrap();
        assert_eq!(again.read_box(u.domain()).unwrap(), u.read_box(u.domain()).unwrap());
        tida::save(at(&format!("{name}.npz")), &[("u", &u), ("pairs", &pairs)]).unwrap();
    };
    save(&TileAcc::builder().device(Device::Cpu).ranks(tida::Ranks::Off).build().unwrap(), "one");
    for ranks in [2, 3, 5] {
        on_ranks(ranks, 3, |of| of.device(Device::Cpu), |acc| save(acc, &format!("of{ranks}")));
        assert!(read(&format!("of{ranks}.npy")) == read("one.npy"), "{ranks} ranks");
        assert!(read(&format!("of{ranks}.npz")) == read("one.npz"), "{ranks} ranks");
    }
    // A checkpoint of 3 ranks goes on with 5, and with one.
    for ranks in [5, 1] {
        on_ranks(
            ranks,
            4,
            |of| of.device(Device::Cpu),
            |acc| {
                let mut u = TileArray::<f64, 2>::builder([24, 64]).build(acc).unwrap();
                tida::restore(at("of3.npz"), &mut [("u", &mut u)]).unwrap();
                assert_eq!(u.read_box(u.domain()).unwrap(), heat(acc).unwrap().read_box(u.domain()).unwrap());
            },
        );
    }
    // A file that cannot be written is an error of all ranks, and they go on.
    on_ranks(
        3,
        5,
        |of| of.device(Device::Cpu),
        |acc| {
            let u = heat(acc).unwrap();
            for path in [folder.join("no/such/folder.npy"), folder.join("no/such/folder.npz")] {
                let saved = match path.extension().is_some_and(|of| of == "npy") {
                    true => u.save_npy(&path),
                    false => tida::save(&path, &[("u", &u)]),
                };
                assert_eq!(saved.unwrap_err().kind(), ErrorKind::Io);
            }
            assert!(reduce(&u, Sum, kernel!(|u, at| u[at])).is_ok());
        },
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn ranks_that_run_different_programs_are_told_both_lines() {
    let lines = Arc::new(std::sync::Mutex::new([0, 0]));
    let errors = on_ranks(
        3,
        6,
        |of| of.device(Device::Cpu),
        |acc| {
            let mut u = heat(acc).unwrap();
            if acc.rank() == 1 {
                lines.lock().unwrap()[1] = line!() + 1;
                reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap_err()
            } else {
                lines.lock().unwrap()[0] = line!() + 1;
                u.fill_ghosts().unwrap();
                u.read_box(u.domain()).unwrap_err()
            }
        },
    );
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Ranks);
        let lines = *lines.lock().unwrap();
        let names = |line: u32| error.found().contains(&format!("ranks.rs:{line}:"));
        assert!(lines.into_iter().all(names), "{lines:?}: {error}");
    }
}

#[test]
fn a_fill_that_one_rank_leaves_out_is_an_error_of_all() {
    let errors = on_ranks(
        2,
        7,
        |of| of.device(Device::Cpu),
        |acc| {
            let mut u = heat(acc).unwrap();
            if acc.rank() == 0 {
                u.fill_ghosts().unwrap();
            }
            // The other one ends.
            if acc.rank() == 0 { acc.sync().and_then(|()| u.read_box(u.domain()).map(|_| ())) } else { Ok(()) }
        },
    );
    let error = errors[0].as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Ranks);
    assert!(error.found().contains("rank 1 ended"), "{error}");
}

#[test]
fn a_failure_on_one_rank_is_that_of_what_needs_it() {
    let errors = on_ranks(
        3,
        8,
        |of| of.device(Device::Cpu),
        |acc| {
            let mut u =
                TileArray::<i32, 2>::builder([12, 64]).ghost(1).boundary(Boundary::Fixed(1)).build(acc).unwrap();
            let mut next = u.like().unwrap();
            for tile in u.tiles() {
                compute(&tile, &mut u, kernel!(|u, at| u[at] = 12 / (at[0] as i32 - 1))).unwrap(); // of the first rank
            }
            let line = line!() - 2;
            u.fill_ghosts().unwrap();
            for tile in next.tiles() {
                compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at - [1, 0]])).unwrap();
            }
            let own = acc.sync();
            let read = next.read_box(next.domain()).unwrap_err();
            let sum = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap_err();
            // The next work is well again.
            u.fill_value(2).unwrap();
            assert_eq!(reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap(), 2 * 12 * 64);
            (own, read, sum, line)
        },
    );
    for (rank, (own, read, sum, line)) in errors.iter().enumerate() {
        // The first rank has failed, the second one needs its cells, the third one does not.
        assert_eq!(own.is_err(), rank < 2, "rank {rank}: {own:?}");
        for error in [read, sum] {
            assert_eq!(error.kind(), ErrorKind::Division, "rank {rank}: {error}");
            assert!(error.to_string().contains(&format!("ranks.rs:{line}:")), "rank {rank}: {error}");
        }
        assert!(rank == 0 || sum.found().contains("on rank 0"), "{sum}");
    }
}

/// Sweeps of colours and in order are made on each rank, over what it has.
#[test]
fn sweeps_in_place_give_the_bits_of_one_process() {
    let run = |acc: &TileAcc| {
        let mut u = TileArray::<f64, 2>::builder([24, 70]).ghost(1).boundary(Boundary::Periodic).build(acc).unwrap();
        u.fill(|[i, j]| ((i * 31 + j * 17) % 101) as f64).unwrap();
        for _ in 0..3 {
            for colour in [0, 1].map(Colour::red_black) {
                u.fill_ghosts().unwrap();
                sweep_colour(
                    colour,
                    u.tiles(),
                    &mut u,
                    kernel!(|u, at| {
                        u[at] = 0.25 * (u[at - [1, 0]] + u[at + [1, 0]] + u[at - [0, 1]] + u[at + [0, 1]])
                    }),
                )
                .unwrap();
            }
            u.fill_ghosts().unwrap();
            // Of one rank's rows alone.
            let few = u.tiles().within([1, 0], [4, 70]);
            sweep_along(1, Forward, few, &mut u, kernel!(|u, at| u[at] = u[at] + 0.5 * u[at - [0, 1]])).unwrap();
        }
        let cells = u.read_box(u.domain()).unwrap().into_iter().map(f64::to_bits).collect::<Vec<_>>();
        (cells, reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap().to_bits())
    };
    let expected = run(&TileAcc::builder().device(Device::Cpu).ranks(tida::Ranks::Off).build().unwrap());
    for (ranks, kind) in [(1, "cpu:1"), (3, "cpu:1"), (3, "sim:1"), (2, "sim:2")] {
        for got in on_ranks(ranks, 9, |of| of.devices([kind]), run) {
            assert!(got == expected, "{ranks} ranks of {kind}");
        }
    }
}

/// Devices fold whole groups of long lists, whose values go between ranks.
#[test]
fn devices_fold_long_reductions() {
    let run = |acc: &TileAcc| {
        let mut u = TileArray::<f64, 2>::builder([6000, 256]).build(acc).unwrap();
        for tile in u.tiles() {
            compute(&tile, &mut u, kernel!(|u, at| u[at] = 1.0 / (1 + at[0] * 256 + at[1]) as f64)).unwrap();
        }
        let mut inner = u.domain();
        (inner.lo, inner.hi[1]) = ([7, 3], 255);
        let sum = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
        let part = reduce_over(inner, &u, Sum, kernel!(|u, at| u[at])).unwrap();
        let (at, most) = reduce_over(inner, &u, ArgMax, kernel!(|u, at| u[at])).unwrap();
        // The array stays where it is.
        assert!(acc.bytes_copied().1 < 1 << 20, "{} bytes came from devices", acc.bytes_copied().1);
        (sum.to_bits(), part.to_bits(), at, most.to_bits())
    };
    let expected = run(&TileAcc::builder().device(Device::Cpu).ranks(tida::Ranks::Off).build().unwrap());
    for (ranks, kind) in [(1, "sim:1"), (2, "sim:1"), (3, "sim:1"), (2, "sim:2"), (3, "cpu:1")] {
        for got in on_ranks(ranks, 10, |of| of.devices([kind]), run) {
            assert_eq!(got, expected, "{ranks} ranks of {kind}");
        }
    }
}

#[test]
fn what_ranks_do_not_do_is_refused_on_all() {
    on_ranks(
        3,
        11,
        |of| of.device(Device::Cpu),
        |acc| {
            let rank = acc.rank();
            let builder = TileArray::<f64, 2>::builder([24, 64]).ghost(1);
            let (mut u, other) = (builder.build(acc).unwrap(), builder.build(acc).unwrap());
            u.fill(|[i, j]| (i + j) as f64).unwrap();
            u.fill_ghosts().unwrap();
            // Ranks that have none of a loop say so too.
            for tile in u.tiles().within([0, 0], [2, 64]) {
                let whole = compute(&tile, (&mut u, all(&other)), kernel!(|u, other, at| u[at] = other[[0, at[1]]]));
                let error = whole.unwrap_err();
                assert!(error.advice().contains("everywhere"), "rank {rank}: {error}");
            }
            // Nothing has changed; and a table can be built on each rank.
            let sum = reduce(&u, Sum, kernel!(|u, at| u[at])).unwrap();
            assert_eq!(sum, (0..24 * 64).map(|n| (n / 64 + n % 64) as f64).sum::<f64>());
            let mut table = TileArray::<f64, 1>::builder([64]).build(&acc.places()[0]).unwrap();
            table.fill(|[j]| j as f64).unwrap();
            for tile in u.tiles() {
                compute(&tile, (&mut u, all(&table)), kernel!(|u, table, at| u[at] = table[[63 - at[1]]])).unwrap();
            }
            assert_eq!(u.read_box(GridBox::new([20, 60], [21, 62])).unwrap(), [3.0, 2.0]);
        },
    );
}
