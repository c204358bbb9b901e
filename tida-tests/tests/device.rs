//! Work on a device: the same results wherever a loop runs, what moves, and what fails.
//!
//! The device is what `TIDA_DEVICE` names, else OpenCL if there is one.
#![cfg(feature = "ndarray")]

use std::sync::atomic::{AtomicUsize, Ordering};

use tida::Math;
use tida::prelude::*;

use tida_tests::{on_a_device, unhurried};

fn start(acc: &TileAcc) -> TileArray<f64, 2> {
    let mut u = TileArray::<f64, 2>::builder([24, 128])
        .regions([3, 2])
        .ghost(1)
        .boundary(Boundary::Periodic)
        .build(acc)
        .unwrap();
    u.fill(|[j, i]| ((j * 131 + i * 17) % 97) as f64 / 97.0).unwrap();
    u
}

/// One step of the heat equation; region `n` of step `s` runs where `place(s, n)` says.
fn steps(acc: &TileAcc, count: usize, place: impl Fn(usize, usize) -> Option<Device>) -> Vec<f64> {
    let mut u = start(acc);
    let mut next = u.like().unwrap();
    let alpha = 0.2;
    for step in 0..count {
        u.fill_ghosts().unwrap();
        for device in [None, Some(Device::Cpu)] {
            let mut tiles = TileIter::new(&u);
            if let Some(device) = device {
                tiles = tiles.device(device);
            }
            for tile in tiles.filter(|tile| place(step, tile.region()) == device) {
                compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| {
                        let c = u[at];
                        let around = u[at + [0, 1]] + u[at - [0, 1]] + u[at + [1, 0]] + u[at - [1, 0]];
                        next[at] = c + alpha * (around - 4.0 * c);
                    }),
                )
                .unwrap();
            }
        }
        std::mem::swap(&mut u, &mut next);
    }
    u.read_box(u.domain()).unwrap()
}

#[test]
fn a_loop_may_move_to_the_cpu_and_back() {
    let cpu = TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap();
    let wanted = steps(&cpu, 7, |_, _| None);
    let Some(acc) = on_a_device(TileAcc::builder()) else { return };
    assert_eq!(steps(&acc, 7, |_, _| None), wanted);
    assert_eq!(steps(&acc, 7, |step, _| (step % 3 == 1).then_some(Device::Cpu)), wanted);
    // Some regions on each side, in every step.
    assert_eq!(steps(&acc, 7, |step, region| ((step + region) % 2 == 0).then_some(Device::Cpu)), wanted);
}

#[test]
fn only_what_is_stale_moves() {
    let Some(acc) = on_a_device(TileAcc::builder()) else { return };
    let mut u = start(&acc);
    let mut next = u.like().unwrap();
    let copied = |acc: &TileAcc| {
        acc.sync().unwrap();
        acc.bytes_copied()
    };
    let run = |next: &mut TileArray<f64, 2>, u: &TileArray<f64, 2>, device: Option<Device>, regions: usize| {
        let tiles = TileIter::new(u).filter(|tile| tile.region() < regions);
        for mut tile in tiles {
            if let Some(device) = device {
                tile = TileIter::new(u).device(device).nth(tile.region()).unwrap();
            }
            // What is there counts, or it would not move.
            compute(&tile, (&mut *next, u), kernel!(|next, u, at| next[at] = 0.0 * next[at] + 2.0 * u[at])).unwrap();
        }
    };
    run(&mut next, &u, None, 6);
    let (up, down) = copied(&acc);
    // All regions of `u` once; `next` is new and moves nowhere.
    assert!(up > 0 && down == 0, "{up} {down}");
    run(&mut next, &u, None, 6);
    assert_eq!(copied(&acc), (up, 0), "all is there already");
    // Two of six regions of `next` come back to be written over; `u` is on both sides.
    run(&mut next, &u, Some(Device::Cpu), 2);
    let (up_again, down) = copied(&acc);
    assert!(up_again == up && down > 0, "{up_again} {down}");
    let region = down / 2;
    run(&mut next, &u, None, 6);
    assert_eq!(copied(&acc), (up + 2 * region, down), "those two go to the device again");
    let values = next.read_box(next.domain()).unwrap();
    assert_eq!(copied(&acc), (up + 2 * region, down + 6 * region));
    let expected: Vec<f64> = u.read_box(u.domain()).unwrap().iter().map(|x| 2.0 * x).collect();
    assert_eq!(values, expected);
    assert_eq!(copied(&acc), (up + 2 * region, down + 6 * region), "the host's copy of `u` is new");
    u.fill_value(1.0).unwrap();
    run(&mut next, &u, None, 6);
    assert!(next.read_box(next.domain()).unwrap().iter().all(|x| *x == 2.0));
}

#[test]
fn an_array_that_does_not_fit_is_an_error_of_the_work_that_needs_it() {
    let Some(acc) = on_a_device(TileAcc::builder().memory_limit(256 << 10)) else { return };
    let small = start(&acc);
    // Not even two of its regions fit.
    let big = TileArray::<f64, 2>::builder([512, 512]).regions([2, 2]).build(&acc).unwrap();
    let (mut a, mut b) = (small.like().unwrap(), big.like().unwrap());
    for tile in TileIter::new(&big) {
        compute(&tile, (&mut b, &big), kernel!(|b, u, at| b[at] = u[at] + 1.0)).unwrap();
    }
    let error = b.read_box(b.domain()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory);
    assert!(error.found().contains("262144") && !error.advice().is_empty(), "{error}");
    acc.sync().unwrap();
    // What fits still runs, and the same loop runs on the CPU.
    for tile in TileIter::new(&small) {
        compute(&tile, (&mut a, &small), kernel!(|a, u, at| a[at] = u[at] + 1.0)).unwrap();
    }
    for tile in TileIter::new(&big).device(Device::Cpu) {
        compute(&tile, (&mut b, &big), kernel!(|b, u, at| b[at] = u[at] + 1.0)).unwrap();
    }
    assert!(b.read_box(b.domain()).unwrap().iter().all(|x| *x == 1.0));
    assert_eq!(a.read_box(a.domain()).unwrap()[0], 1.0);
}

#[test]
fn blocks_of_threads_change_nothing() {
    let Some(acc) = on_a_device(TileAcc::builder()) else { return };
    let u = start(&acc);
    let mut results = Vec::new();
    for block in [[1, 64], [4, 32], [16, 16], [3, 7], [1, 1]] {
        let mut next = u.like().unwrap();
        for tile in TileIter::new(&u).thread_block(block) {
            compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at] * u[at])).unwrap();
        }
        results.push(next.read_box(next.domain()).unwrap());
    }
    assert!(results.iter().all(|result| *result == results[0]));
}

#[test]
fn a_deferred_scalar_reaches_kernels_of_the_device() {
    let Some(acc) = on_a_device(TileAcc::builder()) else { return };
    let u = start(&acc);
    let total = reduce_later(&u, Sum, kernel!(|u, at| u[at])).unwrap();
    let mut next = u.like().unwrap();
    for tile in TileIter::new(&u) {
        compute(&tile, (&mut next, &u), kernel!(|next, u, at| next[at] = u[at] / total)).unwrap();
    }
    let total = total.get().unwrap();
    let expected: Vec<f64> = u.read_box(u.domain()).unwrap().iter().map(|x| x / total).collect();
    assert_eq!(next.read_box(next.domain()).unwrap(), expected);
}

/// Counts what is said about a machine without a GPU.
struct Listener;

static SAID: AtomicUsize = AtomicUsize::new(0);

impl tracing::Subscriber for Listener {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("tida::acc")
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {
        SAID.fetch_add(1, Ordering::SeqCst);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn falling_back_to_the_cpu_is_said_once() {
    if std::env::var("TIDA_DEVICE").is_ok_and(|name| !name.is_empty() && name != "auto") {
        return;
    }
    tracing::subscriber::set_global_default(Listener).unwrap();
    for _ in 0..3 {
        let acc = TileAcc::auto().unwrap();
        assert_eq!(SAID.load(Ordering::SeqCst), usize::from(acc.device() == Device::Cpu));
    }
}

/// What contraction and fast functions may change, cell by cell: `x * y + z`, `x * x - y` where `y` is the rounded
/// square, `x / z`, a root, a sine.
fn operations(acc: &TileAcc) -> Vec<[f64; 5]> {
    let mut u = TileArray::<[f64; 3], 1>::builder([4000]).build(acc).unwrap();
    u.fill(|[i]| {
        let x = 0.37 + (i * 7919 % 4001) as f64 / 997.0;
        [x, x * x, 1.0 / 3.0 + (i % 89) as f64]
    })
    .unwrap();
    let mut r = TileArray::<[f64; 5], 1>::builder([4000]).build(acc).unwrap();
    for tile in TileIter::new(&r) {
        compute(
            &tile,
            (&mut r, &u),
            kernel!(|r, u, at| {
                let (x, y, z) = (u[at][0], u[at][1], u[at][2]);
                r[at] = [x * y + z, x * x - y, x / z, x.sqrt(), x.sin()];
            }),
        )
        .unwrap();
    }
    r.read_box(r.domain()).unwrap()
}

#[test]
fn fast_math_differs_by_a_few_units_in_the_last_place_and_exact_math_by_none() {
    let (Some(exact), Some(fast)) = (on_a_device(TileAcc::builder()), on_a_device(TileAcc::builder().math(Math::Fast)))
    else {
        return;
    };
    let host = TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap();
    let [wanted, exact, fast] = [&host, &exact, &fast].map(operations);
    for ((wanted, exact), fast) in wanted.iter().zip(&exact).zip(&fast) {
        // The sine is the device's own.
        assert_eq!(
            wanted[..4].iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
            exact[..4].iter().map(|v| v.to_bits()).collect::<Vec<_>>()
        );
        assert_eq!(exact[1].to_bits(), 0);
        // The difference of two equal squares is as large as the rounding of one.
        let square = wanted[3].powi(4);
        for (n, size) in [wanted[0].abs(), square, wanted[2].abs(), wanted[3].abs(), 1.0].into_iter().enumerate() {
            for found in [fast[n], exact[n]] {
                assert!((found - wanted[n]).abs() <= 8.0 * f64::EPSILON * size, "{n}: {found}, not {}", wanted[n]);
            }
        }
    }
}

/// Steps that read another array, that read what they write, and that do so in a part of the array; on arrays that lie
/// in a row, or do not. The bits of all cells.
fn tried(acc: &TileAcc) -> Vec<u64> {
    let mut bits = Vec::new();
    for regions in [[2, 1], [2, 2]] {
        let cells = TileArray::<f64, 2>::builder([264, 170]).regions(regions).ghost(1).boundary(Boundary::Periodic);
        let mut u = cells.build(acc).unwrap();
        u.fill(|[j, i]| ((j * 131 + i * 17) % 97) as f64 / 97.0).unwrap();
        let mut next = u.like().unwrap();
        for _ in 0..2 {
            u.fill_ghosts().unwrap();
            for tile in TileIter::new(&u) {
                compute(
                    &tile,
                    (&mut next, &u),
                    kernel!(|next, u, at| next[at] = u[at + [0, 1]] - 0.5 * u[at - [1, 0]] + u[at + [1, 0]]),
                )
                .unwrap();
            }
            // Each plan is compiled: once is enough.
            let parts: &[bool] = if regions == [2, 1] { &[false, true] } else { &[] };
            for part in parts {
                for tile in TileIter::new(&next).filter(|tile| !*part || tile.region() == 0) {
                    compute(&tile, &mut next, kernel!(|next, at| next[at] = 0.75 * next[at] + 0.125)).unwrap();
                }
            }
            std::mem::swap(&mut u, &mut next);
        }
        bits.extend(u.to_ndarray().unwrap().iter().map(|x| x.to_bits()));
    }
    bits
}

/// An array after ten steps, and the one that it took turns with.
fn ten_steps<T: Element>(
    mut u: TileArray<T, 2>,
    step: impl Fn(&Tile<2>, &mut TileArray<T, 2>, &TileArray<T, 2>) -> tida::Result<()>,
) -> [TileArray<T, 2>; 2] {
    let mut next = u.like().unwrap();
    for _ in 0..10 {
        u.fill_ghosts().unwrap();
        for tile in TileIter::new(&u) {
            step(&tile, &mut next, &u).unwrap();
        }
        std::mem::swap(&mut u, &mut next);
    }
    [u, next]
}

/// Steps that run three at a time. The bits of all cells.
fn tried_together(acc: &TileAcc) -> Vec<u64> {
    let mut u = TileArray::<f64, 2>::builder([264, 170]).ghost(1).boundary(Boundary::Periodic).build(acc).unwrap();
    u.fill(|[j, i]| ((j * 131 + i * 17) % 97) as f64 / 97.0).unwrap();
    let both = ten_steps(u, |tile, next, u| {
        compute(
            tile,
            (next, u),
            kernel!(|next, u, at| next[at] = 0.5 * u[at] + 0.25 * (u[at - [1, 0]] + u[at + [0, 1]])),
        )
    });
    both.iter().flat_map(|array| array.to_ndarray().unwrap()).map(f64::to_bits).collect()
}

/// Steps of an array in fewer bits that count what saturates: the bits of all cells, and the counts.
fn tried_counted(acc: &TileAcc) -> (Vec<u64>, [u64; 2]) {
    let format = Format::Range { bits: 16, min: 0.0, max: 1.0 };
    let cells = TileArray::<f32, 2>::builder([264, 170]).ghost(1).boundary(Boundary::Periodic);
    let mut u = cells.storage(format).saturation(Saturation::Warn).build(acc).unwrap();
    u.fill(|[j, i]| ((j * 131 + i * 17) % 97) as f32 / 97.0).unwrap();
    let both = ten_steps(u, |tile, next, u| {
        compute(
            tile,
            (next, u),
            kernel!(|next, u, at| {
                let more = if (at[0] + 2 * at[1]) % 7 == 0 { 0.6 } else { -0.05 };
                next[at] = 0.5 * u[at] + 0.25 * (u[at - [1, 0]] + u[at + [0, 1]]) + more;
            }),
        )
    });
    let counts = both.each_ref().map(|array| array.storage_report().unwrap().saturated);
    let values = both.into_iter().flat_map(|array| array.to_ndarray().unwrap());
    (values.map(|x| x.to_bits().into()).collect(), counts)
}

/// A process of [`what_trials_found_is_kept`].
#[test]
fn a_process_with_trials() {
    let Some(tune) = std::env::var_os("TIDA_TEST_TRIALS") else { return };
    let acc = on_a_device(TileAcc::builder().tune(tune == "1").compile(tida::Compile::Wait)).unwrap();
    let cpu = TileAcc::builder().device(Device::Cpu).threads(2).build().unwrap();
    let wanted = tried(&cpu);
    assert!(tried(&acc) == wanted);
    // The device knows by now: but for sweeps of other sizes, as a recorder that is kept waiting cuts loops.
    let knows = |acc: &TileAcc| {
        (0..5).any(|_| {
            let before = acc.stats().trials;
            assert!(tried(acc) == wanted);
            acc.stats().trials == before
        })
    };
    assert!(knows(&acc));
    assert!(knows(&on_a_device(TileAcc::builder().tune(tune == "1").compile(tida::Compile::Wait)).unwrap()));
    // The kernel of `tried` in another line, for boxes of the same size.
    let u = TileArray::<f64, 2>::builder([264, 170]).ghost(1).build(&acc).unwrap();
    let mut next = u.like().unwrap();
    let text = tida::explain(
        (&mut next, &u),
        kernel!(|next, u, at| next[at] = u[at + [0, 1]] - 0.5 * u[at - [1, 0]] + u[at + [1, 0]]),
    );
    let text = text.unwrap().to_string();
    assert_eq!(text.contains("tuned: boxes of up to 512 x 256 cells, 65536 in all: "), tune == "1", "{text}");
    let together = on_a_device(unhurried().tune(tune == "1").fuse(Fuse::Steps(3))).unwrap();
    assert!(tried_together(&together) == tried_together(&cpu));
    let of_steps = together.stats().trials;
    assert!(together.stats().fused_steps >= 3, "{}", together.stats());
    assert!(tried_together(&together) == tried_together(&cpu));
    assert_eq!(together.stats().trials, of_steps);
    // What trials count is not kept.
    let counted = tried_counted(&cpu);
    assert!(counted.1.iter().all(|count| *count > 0), "{:?}", counted.1);
    for acc in [&acc, &together] {
        let found = tried_counted(acc);
        assert_eq!(found.1, counted.1);
        assert!(found.0 == counted.0);
    }
    println!("{} trials", acc.stats().trials + together.stats().trials);
}

#[test]
fn what_trials_found_is_kept() {
    let Some(acc) = on_a_device(TileAcc::builder()) else { return };
    if acc.simulated().is_some() || std::env::var_os("TIDA_TEST_TRIALS").is_some() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("tida-trials-{}", std::process::id()));
    let process = |tune: &str| -> u64 {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_process_with_trials", "--nocapture"])
            .envs([("TIDA_TEST_TRIALS", tune), ("TIDA_CACHE_DIR", folder.to_str().unwrap())])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        let line = text.lines().find_map(|line| line.strip_suffix(" trials"));
        line.and_then(|line| line.rsplit(' ').next()).unwrap().parse().unwrap()
    };
    let found = || -> Vec<_> {
        let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| std::fs::read(path).unwrap().windows(10).any(|part| part == b"tida trial")).collect()
    };
    assert_eq!(process("0"), 0, "no one asked for trials");
    assert_eq!(found(), Vec::<std::path::PathBuf>::new());
    assert!(process("1") > 0);
    // Two kernels over arrays in a row, one over others, steps that run together, and the step that is left of them;
    // steps that count, by themselves and together.
    let files = found();
    assert!(files.len() >= 7, "{files:?}");
    assert!((0..5).any(|_| process("1") == 0), "another process tries again");
    files.iter().for_each(|path| std::fs::write(path, "tida trials 2\nmarch 7").unwrap());
    assert!(process("1") > 0, "a file that is not what was written");
    std::fs::remove_dir_all(&folder).unwrap();
}
